"""The form of an objective: the numbers of a row, the cost of a leaf from their sums, its value."""

from __future__ import annotations

import time
from collections.abc import Hashable
from copy import copy
from functools import lru_cache
from inspect import getclosurevars, isfunction, ismethod
from itertools import product
from math import fsum
from numbers import Integral
from types import ModuleType
from typing import Any

import numpy as np
from numba.core.errors import NumbaError

from odtlib._numba.vector import address_of
from odtlib.tolerance import PROOF, ROUNDING

from .. import _additive
from .._objectives import cost_addresses
from .._sums import LEAVES
from ..preparation import NOTHING, prepare_sums

MAKE = {"leaf_cost": _additive.costing, "row_bound": _additive.bounding}
DRAWS = 200             # pairs of sets of rows that are drawn to check a cost
AS_WRITTEN = 20         # of these sets, whose cost is asked of the function before it is compiled
CHECKED_ROWS = 500      # of so many rows
EQUAL_ROWS = 3          # that come as one where a bound is tried
ROUNDINGS = 45          # of a sum and its logarithm, in the cost of a leaf


class AdditiveObjective:
    """Say what is minimised: any cost of a leaf that follows from sums over its rows.

    Each row has K numbers, and a leaf costs ``leaf_cost`` of their sums.  From that follow the
    depth-two trees, the cache, all lower bounds, and what else the search does.  Write a subclass
    with ``statistics``, ``leaf_cost`` and ``leaf_value``, or give these as functions:

    >>> import numpy as np
    >>> from odtlib import MurTreeRegressor
    >>> from odtlib.objectives import AdditiveObjective
    >>> def statistics(X, y, weight):        # squared error, written once more
    ...     return np.column_stack([weight, weight * y, weight * y ** 2])
    >>> def leaf_cost(sums):
    ...     return sums[2] - sums[1] ** 2 / sums[0] if sums[0] > 0 else 0.0
    >>> def leaf_value(sums):
    ...     return sums[1] / sums[0]
    >>> mine = AdditiveObjective(statistics, leaf_cost, leaf_value)
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [1.0, 2.0, 2.0, 4.0]
    >>> float(MurTreeRegressor(1, loss=mine).fit(X, y).report_.objective)
    2.5

    The optimum is proved where the cost satisfies these conditions, which ``fit`` checks on sums
    that it draws.  They hold for every cost that is the least, over what a leaf may predict, of a
    sum of losses of its rows, none of them negative:

    - ``leaf_cost`` of zeros is zero, and of no sums negative;
    - a leaf costs at least as much as its parts together:
      ``leaf_cost(a + b) >= leaf_cost(a) + leaf_cost(b)``;
    - a row adds at most its ``row_bound`` to the cost of a leaf, where one is given.

    Parameters
    ----------
    statistics : callable
        ``statistics(X, y, sample_weight)`` returns the numbers of the rows, (n_rows, K), or these
        and what every tree costs anyway.  ``X`` is as given to ``fit``, checked; ``y`` the targets,
        or the positions of the labels among ``classes_``; weights are one where none are given.
        Attributes that it sets are there for ``leaf_value``; what it writes to ``y`` and the
        weights is lost.
    leaf_cost : callable
        ``leaf_cost(sums)`` returns what a leaf costs, given the sums of the numbers of its rows,
        (K,).  It is compiled by numba, so it uses numbers and functions of NumPy only, and globals
        as they are when ``fit`` begins.  What it writes to ``sums`` is lost.
    leaf_value : callable, optional
        ``leaf_value(sums)`` returns what a leaf predicts: a number or several; with a classifier
        the position of a label (default: the one of largest weight).
    row_bound : callable, optional
        ``row_bound(row, low, high)`` returns what a row with the numbers ``row`` may cost at the
        most in a leaf, of trees over rows whose numbers, divided by their first, lie between
        ``low`` and ``high``.  It is compiled, and bounds subproblems by similar ones.  Rows with
        equal columns come added up as one, so it must hold for such sums of rows too, and be
        finite.  None, the default, where nothing is known: the search does without.
    adds_last : bool, default=False
        Whether the last sum enters the cost as it is, as in ``sums[-1] + f(sums[:-1])``, and
        likewise the bound of a row.  The search then takes less time.

    An objective whose cost divides by small differences of sums, as lines do, sets the attribute
    ``ill_conditioned`` to True.  Then sums keep more digits, which takes up to twice the time, and
    equal rows tell nothing of what a tree costs at the least.

    Raises
    ------
    ValueError
        At ``fit``, if a function does not compile, or a condition fails; with a counterexample.
    """

    statistics: Any = None
    leaf_cost: Any = None
    leaf_value: Any = None
    row_bound: Any = None
    adds_last: bool = False
    certified: str | None = None        # what proofs call it; None where its costs are given
    of_quantities = False               # whether targets are numbers, and no classes
    ill_conditioned = False             # whether a leaf's cost needs digits that plain sums lose
    feature_names_: Any = None

    def __init__(self, statistics=None, leaf_cost=None, leaf_value=None, row_bound=None, *,
                 adds_last=None):
        given = {"statistics": statistics, "leaf_cost": leaf_cost, "leaf_value": leaf_value,
                 "row_bound": row_bound, "adds_last": adds_last}
        vars(self).update({name: value for name, value in given.items() if value is not None})

    def __repr__(self):
        shown = ", ".join(f"{name}={getattr(value, '__name__', value)}"
                          for name, value in vars(self).items() if not name.endswith("_"))
        return f"{type(self).__name__}({shown})"

    def _numbers(self, X, y, weight):
        """Return the numbers of the rows and what every tree costs anyway; refuse other things."""
        for name in ("statistics", "leaf_cost"):
            if getattr(self, name) is None:
                raise ValueError(f"{self!r} has no {name}; write it as a method, or give a "
                                 "function.")
        made = self.statistics(X, np.array(y), np.ones(len(y)) if weight is None else
                               np.array(weight))    # copies: what it writes to them is lost
        try:
            numbers, constant = made if isinstance(made, tuple) else (made, 0.0)
            numbers, constant = np.array(numbers, np.float64, ndmin=1), float(constant)
        except (TypeError, ValueError):
            raise ValueError(f"statistics of {self!r} returned neither an array of numbers nor a "
                             "pair of one and a number; return one row of numbers for each row, "
                             "with what every tree costs anyway or without.") from None
        if numbers.ndim != 2 or len(numbers) != len(y) or numbers.shape[1] == 0:
            raise ValueError(f"statistics of {self!r} returned shape {numbers.shape} for {len(y)} "
                             "rows; return one row of numbers for each.")
        if not (np.isfinite(numbers).all() and np.isfinite(constant)):
            raise ValueError(f"statistics of {self!r} returned a number that is not finite; scale "
                             "the data, or leave such rows out.")
        return numbers, constant

    def _value(self, sums, rows):
        """Return what a leaf with some rows predicts, given their sums."""
        return self.leaf_value(sums)

    def _feature(self, X, feature):
        """Return the numbers of a feature of all rows, given its position or name, a text."""
        names = getattr(X, "columns", self.feature_names_)
        names = [] if names is None else list(names)
        named = isinstance(feature, str) and feature in names
        position = names.index(feature) if named else feature
        if (isinstance(position, bool) or not isinstance(position, Integral)
                or not 0 <= position < np.shape(X)[1]):
            raise ValueError(f"{self!r} names the feature {feature!r}, which X does not have; give "
                             "a position, or the name of a column of a data frame.")
        column = X.iloc[:, position] if hasattr(X, "iloc") else X[:, position]
        try:
            column = np.asarray(column, float)
        except (TypeError, ValueError):
            raise ValueError(f"feature {feature!r} holds text, and {self!r} needs numbers; name "
                             "another feature.") from None
        if not np.isfinite(column).all():
            raise ValueError(f"feature {feature!r} misses values, and {self!r} needs them; fill "
                             "them in or leave such rows out.")
        return column

    def _cost_of_leaves(self, leaf, X, y, weight, names=None):
        """Return what the leaves with these rows cost, by the functions as they are written."""
        objective = copy(self)
        objective.feature_names_ = names
        numbers, constant = objective._numbers(X, y, weight)
        costs = [objective.leaf_cost(np.array([fsum(column) for column in numbers[leaf == k].T]))
                 for k in np.unique(leaf)]
        return fsum([constant, *costs])


@lru_cache(1000)
def own_address(make, function, n_sums, outside):
    """Compile or load a kernel made for a function; return it, as it must live, and its address.

    ``outside`` is the code of the function and what it reads beside its arguments.
    """
    kernel = _additive.compiled(make, function, n_sums)
    return kernel, address_of(kernel, _additive.OWN)


def _outside(function):
    """Return the code of a function, and what it reads beside its arguments, as they are now."""
    function = getattr(function, "py_func", function)
    if not isfunction(function):
        return ()
    held, names = getclosurevars(function), function.__code__.co_names
    return function.__code__, *((name, _as_it_is(value, names)) for name, value
                                in {**held.globals, **held.nonlocals}.items())


def _as_it_is(value, names):
    """Return what tells a value from others, also where it is changed; of a module some names."""
    if isinstance(value, ModuleType):
        return tuple(_as_it_is(getattr(value, name, None), ()) for name in names)
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    return type(value), value if isinstance(value, Hashable) else id(value)


def _compilations():
    """Return how often code of an objective was compiled or loaded in this process."""
    return own_address.cache_info().misses + cost_addresses.cache_info().misses


class FittedObjective:
    """An objective and the numbers of the rows of one fit.

    ``numbers`` are (n_rows, K); ``scale`` is what a single leaf costs, one where that is nothing,
    and ``change`` the rounding of that cost.
    """

    def __init__(self, objective, X, y, weight, names=None):
        self.objective = objective = copy(objective)
        objective.feature_names_ = names
        self.numbers, self.constant = objective._numbers(X, y, weight)
        n_sums, begin = self.numbers.shape[1], time.perf_counter()
        self.adds_last, compiled = bool(objective.adds_last), _compilations()
        self._code = [self._compiled(name, n_sums) for name in ("leaf_cost", "row_bound")]
        score, leaf, bound = cost_addresses()
        own = [address for _, address in self._code]
        self.kernels = (score, leaf, bound if own[1] else 0, *own)
        new = _compilations() > compiled
        self.compile_seconds = time.perf_counter() - begin if new else 0.0
        sums, sizes = self.numbers.sum(axis=0), np.abs(self.numbers).sum(axis=0)
        cost = float(self.costs(sums[None])[0])
        # Sums of terms that cancel out leave so much rounding, and a cost's own terms as much.
        self.change = change = self._rounding(sums, sizes)
        # The last number may be a cost: a part may cost that much, and other terms lose as much.
        most = sizes[-1] if objective.ill_conditioned and self.adds_last else 0.0
        sizes = sizes[-1:] if self.adds_last and sizes[-1] > 0 else sizes[sizes > 0]
        floor = 0.1 * NOTHING * sizes.min(initial=np.inf) if len(sizes) else 0.0
        self.scale = cost if cost > floor else floor / NOTHING or 1.0
        self.scale = float(max(self.scale, change / PROOF, most))
        if not objective.leaf_cost.__module__.startswith("odtlib."):
            self._check(cost)
        self.n_values = None
        self.n_values = len(self.leaves([np.arange(len(y))])[1][0])

    def _compiled(self, name, n_sums):
        """Compile one of the functions; return the code and its address, 0 where there is none."""
        function, make = getattr(self.objective, name), MAKE[name]
        if function is None:
            return None, 0
        if ismethod(function):
            raise ValueError(f"{name} of {self.objective!r} is a method with self; make it a "
                             "staticmethod: compiled code sees the sums alone.")
        try:
            return own_address(make, function, n_sums, _outside(function))
        except (NumbaError, TypeError) as error:    # or no function of the sums alone
            lines = [line.strip(" >") for line in str(error).splitlines() if line.strip(" >")]
            lines = lines[lines[0].startswith("Failed"):]
            reason = " ".join(lines[:1 + lines[0].endswith(":")])
            raise ValueError(f"{name} of {self.objective!r} does not compile ({reason}); use "
                             "numbers, ifs, loops and functions of NumPy, and return one "
                             "number.") from error

    def _rounding(self, sums, sizes):
        """Return how much the cost at some sums changes where sums of such sizes round, (K,) both.

        A step is no rounding: from there on another change of the same size adds nothing.
        """
        moves = ROUNDINGS * np.finfo(float).eps * np.diag(sizes)
        moved = np.array([-2, -1, 0, 1, 2])[:, None, None] * moves + sums
        costs = self.costs(moved.reshape(-1, len(sums))).reshape(5, -1)
        costs[~np.isfinite(costs)] = np.nan
        change = np.abs(np.diff(costs, axis=0))
        return np.nanmax(np.minimum(change[[0, 3]], change[[1, 2]]), initial=0.0)

    @property
    def predicts(self):
        """Whether leaves predict what the objective says, and not the heaviest class."""
        return self.objective.leaf_value is not None

    def prepared(self, X, **options):
        """Return the problem for the search, given the 0/1 columns of the rows."""
        return prepare_sums(X, self, **options)

    def costs(self, sums):
        """Return what leaves cost, given their sums, (n, K)."""
        result, n_sums = np.empty(len(sums)), self.numbers.shape[1]
        _additive.cost_rows(self.kernels[3], np.ascontiguousarray(sums, np.float64).ravel(), n_sums,
                            len(sums), np.empty(LEAVES * (n_sums + 1)), result)
        return result

    def leaves(self, members):
        """Return costs, and values, each a list of numbers, of leaves with some rows each."""
        sums = np.array([self.numbers[rows].sum(axis=0) for rows in members])
        costs, values = self.costs(sums), []
        for one, rows in zip(sums, members, strict=True):
            value = np.ravel(self.objective._value(one, rows)) if self.predicts else np.zeros(1)
            if (value.dtype.kind not in "biuf" or not np.isfinite(value).all()
                    or len(value) != (self.n_values or len(value))):
                raise ValueError(f"leaf_value of {self.objective!r} is {value.tolist()} for a leaf "
                                 f"of {len(rows)} rows; return a finite number, or as many for "
                                 "each leaf.")
            values.append(value.tolist())
        return np.where(costs > ROUNDING * self.scale, costs, 0.0).tolist(), values

    def _check(self, every):
        """Raise a ValueError that shows a counterexample where the cost breaks a condition.

        ``every`` is what all rows cost as one leaf.
        """
        rng, name = np.random.default_rng(0), repr(self.objective)
        some = self.numbers[rng.permutation(len(self.numbers))[:CHECKED_ROWS]]
        # Sets of one row to all of them, each cut in two.
        drawn, share = rng.random((DRAWS, len(some)), np.float32), len(some) ** -rng.random(DRAWS)
        cut = (share * rng.random(DRAWS))[:, None]
        first = (drawn < cut) @ some
        second = ((drawn >= cut) & (drawn < share[:, None])) @ some
        whole = first + second
        for sums in (np.zeros(first.shape[1]), *first[:AS_WRITTEN], self.numbers.sum(axis=0)):
            self._as_written("leaf_cost", sums.copy())
        one, other, both = map(self.costs, (first, second, whole))
        slack = PROOF * (self.scale + np.abs(both))
        costs = np.concatenate([one, other, both])
        with np.errstate(over="ignore"):
            coarse = np.array_equal(costs, costs.astype(np.float32)) and np.any(costs % 1)
        hint = " Its values are of float32, which rounds too much: compute in float64."

        def refuse(wrong, fault):
            for k in np.flatnonzero(wrong)[:1]:
                a, b = np.array2string(first[k], threshold=9), np.array2string(second[k],
                                                                               threshold=9)
                raise ValueError(f"leaf_cost of {name} {fault(k, a, b)}{hint * bool(coarse)}")

        nothing = float(self.costs(np.zeros((1, first.shape[1])))[0])
        if not abs(nothing) <= PROOF * self.scale:
            raise ValueError(f"leaf_cost of {name} is {nothing:g} for sums of zero; a leaf without "
                             "rows must cost nothing.")
        if not np.isfinite(every):
            raise ValueError(f"leaf_cost of {name} is {every:g} for the sums of all rows; it must "
                             "be finite for all sums of rows.")
        refuse(~np.isfinite(one), lambda k, a, b: f"is {one[k]:g} for sums {a}; it must be finite "
               "for all sums of rows.")
        refuse(~np.isfinite(both), lambda k, a, b: f"is {both[k]:g} for the sums {a} and {b} "
               "together; it must be finite for all sums of rows.")
        refuse(one < -slack, lambda k, a, b: f"is {one[k]:g} for sums {a}; a cost must not be "
               "negative: let each row add a number that makes up for it.")
        refuse(both < one + other - slack, lambda k, a, b: f"is {both[k]:g} for the sums {a} and "
               f"{b} together, and {one[k]:g} and {other[k]:g} for each; a leaf must cost at least "
               "as much as its parts, or no search can prune.")
        if self.objective.row_bound is not None:
            self._check_row_bound(some, drawn < share[:, None], drawn.argmin(axis=1))
        if self.adds_last:
            shifted = whole.copy()
            shifted[:, -1] += self.scale
            refuse(np.abs(self.costs(shifted) - both - self.scale) > slack, lambda k, a, b:
                   f"does not add the last of its sums as it is, at {a}; leave adds_last at False.")

    def _as_written(self, name, *arguments):
        """Return what a function returns before it is compiled; refuse one that raises."""
        try:
            with np.errstate(all="ignore"):
                return getattr(self.objective, name)(*arguments)
        except Exception as error:
            raise ValueError(
                f"{name} of {self.objective!r} ends in {type(error).__name__} ({error}) for "
                f"{np.array2string(arguments[0], threshold=9)}, where compiled code goes on with "
                "any number; let it return one for all rows.") from error

    def _check_row_bound(self, some, sets, last):
        """Raise a ValueError where a row costs more in a leaf than its bound says.

        ``some`` are numbers of rows, ``sets`` (n, n_some) which of them are in each leaf, and
        ``last`` (n,) a row of it, where it has any.
        """
        for k, n_equal in product(np.flatnonzero(sets.any(axis=1)), (1, EQUAL_ROWS)):
            # rows with equal features come as one: so do the first of these, with the last
            inside = sets[k].copy()
            inside[last[k]] = False
            others = inside.nonzero()[0]
            row = some[last[k]] + some[others[:n_equal - 1]].sum(axis=0)
            others = some[others[n_equal - 1:]]
            numbers = np.vstack([row, others])
            with np.errstate(divide="ignore", invalid="ignore"):
                share = numbers / numbers[:, :1]
            bound = self._as_written("row_bound", row, share.min(axis=0), share.max(axis=0))
            without, cost = self.costs(np.array([others.sum(axis=0), numbers.sum(axis=0)]))
            if not cost - without <= bound + PROOF * (self.scale + abs(cost)) < np.inf:
                rows = "the row" if n_equal == 1 else f"a sum of up to {n_equal} rows"
                raise ValueError(
                    f"row_bound of {self.objective!r} is {bound:g} for {rows} "
                    f"{np.array2string(row, threshold=9)}, which adds {cost - without:g} to what a "
                    "leaf costs; return the most that it can cost in any leaf.")
