"""Certificates of optimality: lines of a proof that a program of a page checks without odtlib.

The writer proves a bound line by line.  It asks a search for the best tree of a side of a split
only where the lines so far do not bound that split; what the search says decides which lines are
written, and every bound is taken from the lines themselves.
"""

from __future__ import annotations

import hashlib
from collections import namedtuple
from copy import copy
from functools import partial
from io import BytesIO
from os import PathLike

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from odtlib._numba.compiler import INNER, OPTIONS, njit
from odtlib._numba.vector import pack, popcount
from odtlib._numba.warm import warm_up
from odtlib.arrays import distinct_rows
from odtlib.report import Clock
from odtlib.text import number_text
from odtlib.tolerance import PROOF

VERSION = 3
ANY_DEPTH = 2**31 - 1
COUNTED, NOTHING = -1, -1       # the reason of a line; that nothing is referred to
FINEST = 2.0**49                # units in the total cost: sums of whole numbers below are exact
LEAST_NUMBER = 1e-150           # products of smaller ones may be lost
LEAST_UNIT = 1000               # powers of one half
MOST_NODES = 64                 # of a limit on feature nodes: a line has a bound for each number
NO_SPLIT = 2.0**60              # the cost where one side has too few rows
MOST_STEPS = 16                 # of a check, for each byte of the file
HEADER = 256                    # bytes of an array in it, at the most
MOST_CELLS = 2**27              # distinct rows times distinct splits
NAMES = {"gini": "Brier score", "entropy": "log loss", "poisson": "half the Poisson deviance",
         "survival": "log likelihood of survival",
         "given": "the leaf costs given, up to rounding,"}     # of what trees minimise, in a claim


class OptimalityCertificate:
    """A lower bound on the objective of every tree within the limits, with its proof.

    ``odtbook.check_certificate.check`` reads the file and proves the claim again, or names the
    first line that does not follow; its text says what the arrays mean.

    Parameters
    ----------
    arrays : dict of arrays
        The lines of the proof and its claim, as they are saved.
    lower_bound : float
        What is claimed.
    steps : int, default=0
        How many steps a checker takes that tries all trees.  It allows a few for each byte of the
        file, which is packed less where it takes more.

    Attributes
    ----------
    claim : str
        The claim in words.
    lower_bound : float
        No tree within the limits has a smaller objective.
    """

    def __init__(self, arrays: dict[str, np.ndarray], lower_bound: float, steps: int = 0) -> None:
        self.arrays, self.lower_bound, self.steps = arrays, lower_bound, steps
        self.claim = str(arrays["claim"])

    def save(self, path: str | PathLike) -> None:
        """Write the certificate to a file.

        Parameters
        ----------
        path : str or path-like
            The file, replaced where it exists; compressed arrays, in the format of ``numpy.savez``.
        """
        arrays = {name: narrowed(array) for name, array in self.arrays.items()}
        file, steps = BytesIO(), max(self.steps, sum(array.nbytes for array in arrays.values()))
        np.savez_compressed(file, **arrays)
        if MOST_STEPS * file.tell() < steps + HEADER * len(arrays):
            file = BytesIO()            # the checker would fear a trap
            np.savez(file, **arrays)
        with open(path, "wb") as target:
            target.write(file.getbuffer())

    def __len__(self):
        return len(self.arrays.get("bound", ()))

    def __repr__(self):
        return f"<OptimalityCertificate: {self.claim}; {len(self)} lines>"


class CertifiedMixin:
    """The certificate of an estimator, which says how to search within some rows."""

    def certificate(self, X: ArrayLike, y: ArrayLike,
                    sample_weight: ArrayLike | None = None) -> OptimalityCertificate:
        """Write down a proof that no tree within the limits is better.

        A program of a page, ``odtbook.check_certificate``, checks it without odtlib.  It proves the
        lower bound of the report, over the features or 0/1 columns that the search saw: ``X``, or
        ``binarizer_.transform(X)``; after ``set_params``, that of the new parameters.  Weights that
        are no multiples of one power of two are rounded down by parts in 1e14 of their sum, and the
        bound with them; a bound on a squared error is lowered by at most some parts in 1e9 of the
        error of a single leaf and the penalty, which allows for rounding.

        For entropy, Gini, the Poisson deviance and survival the checker knows the cost of a leaf;
        the bound is lowered by some parts in 1e10 of the weights or counts (and is zero where these
        leave the range of 1e-150 to 1e150).  For an objective of your own (also ``LinearLeaves``,
        several targets, an exposure) it is given ``leaf_cost``, and as ``y`` what ``statistics``
        returns for the rows; as nobody knows how that cost rounds, the claim says "up to rounding",
        and the bound is lowered by parts in 1e9 of a single leaf.  Many splits of many rows are
        checked sooner with ``numba.njit(leaf_cost)``.

        Where each node has a list of candidate splits, the certificate is the lists and the claim;
        the checker tries all trees, and the bound is lowered by 1e-9 of the weights unless these
        and the penalty are whole.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            The training rows.
        y : array, shape (n_rows,)
            Their labels or targets.
        sample_weight : array, shape (n_rows,), optional
            Their weights.

        Returns
        -------
        OptimalityCertificate
            With ``save(path)``.  Where the fit was ended early, or ``time_limit`` ends the search
            for the proof, it proves what bound is known.

        Raises
        ------
        ValueError
            If these are not the rows of the fit, or the objective has no certificate.
        """
        check_is_fitted(self, "tree_")
        for name, kept, instead in self._certified_options:
            if getattr(self, name, kept) != kept:
                raise ValueError(f"certificate has no proof for {name}={getattr(self, name)!r}; "
                                 f"{instead}.")
        if np.ndim(self.split_penalty):
            raise ValueError("certificate needs one split_penalty for all levels; give a number.")
        if self.report_.evaluate.costs is not None:
            raise ValueError("certificate has no proof for costs of labels; fit without them, or "
                             "say them by an AdditiveObjective.")
        self.verify(X, y, sample_weight)
        copied, X, y, weight = self._plain_data(X, y, sample_weight)
        fitted = copied._certified_objective(X, y, weight)
        columns = copied._certified_columns(X)
        if np.isnan(np.asarray(columns, np.float64)).any():
            raise ValueError("certificate needs rows without missing values; fill them and fit "
                             "again.")
        return copied._write_certificate(columns, y, weight, fitted)

    def _write_certificate(self, X, y, weight, fitted=None):
        """Return a certificate that is proved line by line."""
        self._warm_up(X, y, weight)
        warm_up("certificates", next_side, partial(warm_up_writer, self))
        return Writer(self, Data(self, X, y, weight, fitted)).certificate()

    def _certified_objective(self, X, y, weight):
        """Return the objective of the fit where it is neither errors nor squares."""
        return None

    # What an option has to be, and what to do instead.
    _certified_options: tuple[tuple[str, object, str], ...] = (
        ("class_weight", None, "give these weights as sample_weight"),)

    def _certified_columns(self, X):
        """Return what the search saw of the rows."""
        return X

    def _proof_search(self, data, depth, nodes, clock):
        """Return a function that bounds the best trees over some rows, by a fit to these."""
        estimator = copy(self)
        estimator.split_penalty, estimator.max_leaf_nodes = float(data.price), None
        estimator.start, estimator.verbose, estimator.max_gap = None, 0, 0.0

        def best(mask, depth, sizes, upper):
            X, y, weight = data.items(mask)
            lower_bounds = np.zeros(len(sizes))
            estimator.max_depth = depth
            margin = data.sums * (2 * PROOF * data.leaf(mask) + 8 * data.slop + 8) - data.spare
            for i, size in enumerate(sizes):
                estimator.max_nodes = None if size >= 2**depth - 1 else int(size)
                estimator.time_limit = None if clock.time_limit is None else clock.remaining
                if clock.expired:
                    break
                lower_bounds[i] = estimator._solve(X, y, weight)[1].lower_bound
            return np.floor(lower_bounds - margin), None

        return best


def narrowed(array):
    """Return whole numbers in their smallest type, which is packed sooner."""
    if array.dtype.kind != "i":
        return array
    return array.astype(np.min_scalar_type(min(array.min(initial=0), -1 - array.max(initial=0))))


def unit_of(weight, penalty):
    """Return the largest power of two that divides all weights and the penalty.

    Where that is too small for exact sums, a larger one; weights are then rounded down.
    """
    amounts = np.append(np.unique(weight), penalty)
    unit = 2.0 ** np.ceil(np.log2((weight.sum() + penalty) / FINEST))
    if np.any(amounts % unit):
        return unit
    bits = int(np.bitwise_or.reduce((amounts / unit).astype(np.int64)))
    return unit * (bits & -bits)


def splits_of(X):
    """Return whether each row is beyond each threshold between neighbouring values of a feature."""
    if np.all((X == 0) | (X == 1)):
        return X[:, np.ptp(X, axis=0) > 0] > 0
    values = [np.unique(column) for column in X.T]
    if len(X) * sum(map(len, values)) > MOST_CELLS:
        raise ValueError("certificate compares all splits, and these features have too many "
                         "thresholds; it takes some 2**27 rows times thresholds.")
    return np.concatenate([X[:, [c]] > v[:-1] for c, v in enumerate(values)], axis=1)


def exact_parts(numbers):
    """Return numbers as three parts, (n_rows, 3 K), each of which adds up exactly.

    Each is a multiple of a power of two, column by column.
    """
    parts = []
    for _ in range(3):
        total = np.maximum(np.abs(numbers).sum(axis=0), 1e-280)
        grid = 2.0 ** np.ceil(np.log2(total) - 52)
        parts.append(np.floor(numbers / grid) * grid)
        numbers = numbers - parts[-1]
    return np.concatenate(parts, axis=1)


class Data:
    """The rows as the checker sees them: equal rows are one, and costs are whole numbers.

    ``x`` says on which side of each split a row is, ``amount`` what it weighs: by class, or its
    weight and the sums of its targets and of their squares, or the numbers of another objective;
    then its number where leaves need some or rows are counted, and what it can cost.  A search is
    given *items*: the row, label, weight of each.

    ``fitted`` is an objective that is neither errors nor squares.  ``within`` is then what the rows
    that became one cost at the least where that is known, and likewise for squares.
    """

    def __init__(self, model, X, y, weight, fitted=None):
        self.X, self.y, self.fitted = np.asarray(X, np.float64), y, fitted
        self.weight = weight = np.ones(len(y)) if weight is None else weight
        self.penalty, self.least = float(model.split_penalty), int(model.min_samples_leaf)
        self.sums = fitted is None and not hasattr(model, "classes_")
        self.objective = fitted and (fitted.objective.certified or "given")
        self.base, self.constant, self.slop, self.spare = 0.0, 0.0, 0.0, 0.0
        self.centre, self.scale = 0.0, 1.0
        rows = splits_of(self.X)
        _, first, self.member = distinct_rows(np.packbits(rows, axis=1))
        rows = rows[first]
        each, largest_cost = (self._squares if self.sums else
                              self._numbers if fitted else self._errors)(y, weight)
        self.n_sums = each.shape[1]
        single = float(self.costs(each.sum(axis=0)[:, None])[0]) if fitted else np.ceil(
            largest_cost.sum())
        self.price = min(np.floor(self.penalty / self.unit), single)
        amount = np.zeros((len(rows), self.n_sums))
        np.add.at(amount, self.member, each)
        largest_cost = np.bincount(self.member, np.ceil(largest_cost))
        self.within = np.zeros(len(rows))
        if self.least == 1 and not (self.sums or fitted):
            common = amount.min(axis=1, keepdims=True)
            self.base = float((self.n_sums - 1) * common.sum())
            used = (amount > common).any(axis=1)
            rows, first, amount = rows[used], first[used], (amount - common)[used]
            self.within = self.within[used]
            self.member, self.label = np.nonzero(amount)
            self.item_weight, largest_cost = amount[self.member, self.label], amount.sum(axis=1)
        elif self.sums:
            self.within = np.maximum(0, amount[:, 2] - amount[:, 1]**2 / np.maximum(amount[:, 0],
                                                                                    1))
        elif fitted and not fitted.objective.ill_conditioned:
            self.within = self._fitted_costs(amount.T)
        number = [np.bincount(self.member)] * bool(self.least > 1 or fitted)
        self.amount = np.column_stack([amount, *number, largest_cost])
        self.x, self.rows = np.ascontiguousarray(rows), self.X[first]

    def _whole_weights(self, weight):
        """Set what rows weigh in the search; return their weights in units."""
        whole = np.floor(weight / self.unit)
        # A row of less than a unit is a row for leaf sizes.  All of these weigh a quarter in the
        # search, whose costs are rounded down: ``spare`` keeps sums near a whole number above it.
        self.item_weight = np.where(whole > 0, whole, 0.25 / len(whole))
        self.spare = 0.25 * bool(np.any(whole == 0))
        return whole

    def _errors(self, y, weight):
        """Return the weight of each row in its class, and what it can cost at the most."""
        # No tree pays for a split that costs more than all rows can.
        self.unit = unit_of(weight, min(self.penalty, float(weight.sum())))
        self.y = self.label = np.unique(y, return_inverse=True)[1].ravel()
        whole = self._whole_weights(weight)
        return whole[:, None] * (self.label[:, None] == np.arange(self.label.max() + 1)), whole

    def _squares(self, y, weight):
        """Return weight, target and square of each row, and what it can cost at the most."""
        self.unit = unit_of(weight, 0.0)
        whole = self._whole_weights(weight)
        self.centre = float(y.min() + np.mean(y - y.min()))
        total = whole.sum() * np.ptp(y)**2
        total += min(self.penalty / self.unit, total)
        if total > 0:
            self.scale = float(2.0 ** min(np.floor((48 - np.log2(total)) / 2),
                                          np.floor((LEAST_UNIT + np.log2(self.unit)) / 2)))
        self.unit /= self.scale**2
        self.label = (y - self.centre) * self.scale
        farthest = np.maximum(self.label - self.label.min(), self.label.max() - self.label)
        each = whole[:, None] * self.label[:, None] ** np.arange(3)
        # More cautious than the checker, whose sums may be rounded in another way.
        self.slop = 2.0**-46 * len(y) * np.abs(self.label).max() * np.abs(each[:, 1]).sum()
        return each, (1 + 2e-12) * whole * farthest**2

    def _numbers(self, y, weight):
        """Return the numbers of another objective, and what a row can cost, or one.

        Then no more is known than what all rows cost as one leaf.
        """
        fitted, known = self.fitted, self.objective == "gini"
        if self.objective in ("gini", "entropy"):
            self.y = np.unique(y, return_inverse=True)[1].ravel()
        numbers = fitted.numbers
        sizes, total = np.abs(numbers[numbers != 0]), np.abs(numbers).sum(axis=0)
        root = float(fitted.costs(numbers.sum(axis=0)[None])[0])
        most = float(2 * weight.sum()) if known else max(0.0, root)
        self.unit = float(2.0 ** max(-LEAST_UNIT, np.ceil(np.log2(max(
            most + min(self.penalty, most), 1e-300))) - 46))
        # As in ``odtbook.check_costs``, and twice or four times as much, as sums and costs may be
        # rounded in another way there.
        if self.objective == "given":
            slop = 2 * max(2.0**-30 * root, fitted.change)
        else:
            digits = 4 + np.log(total.max() / sizes.min()) if len(sizes) else 0.0
            slop = 4 * total.sum() * digits * 2.0**-50 * (16 + len(total))
            if not np.all((sizes > LEAST_NUMBER) & (sizes < 1 / LEAST_NUMBER)):
                slop = np.inf
        self.slop, self.constant = slop / self.unit, fitted.constant
        return exact_parts(numbers), 2 * weight / self.unit if known else np.ones(len(y))

    @property
    def similar(self):
        """Whether a bound for some rows bounds others, less what the rows that these lack cost."""
        return self.least == 1 and self.objective in (None, "gini")

    def _fitted_costs(self, sums):
        """Return what leaves cost by the objective, in units, given the sums of the parts."""
        large, middle, small = np.split(sums, 3)
        return self.fitted.costs((large + (middle + small)).T) / self.unit

    def costs(self, sums):
        """Return what leaves cost, given their sums, (n_amounts, n)."""
        sums = sums[:self.n_sums]
        if self.fitted:
            cost = self._fitted_costs(sums) - self.slop
        elif self.sums:
            cost = sums[2] - sums[1] ** 2 / np.maximum(sums[0], 1.0) - self.slop
        else:
            cost = sums.sum(axis=0) - sums.max(axis=0)
        return np.floor(np.maximum(0.0, cost))

    def too_small(self, sums):
        """Return whether leaves with some sums have too few rows."""
        if self.fitted or self.least > 1:
            return sums[self.n_sums] < self.least
        return sums[:1 if self.sums else self.n_sums].sum(axis=0) == 0

    def leaf(self, mask):
        """Return the cost of a leaf with some rows."""
        return float(self.costs(self.amount[mask].sum(axis=0)[:, None])[0])

    def items(self, mask):
        """Return rows, labels and weights (None if all weigh one) of the items of some rows."""
        items = np.flatnonzero(mask[self.member])
        weight = self.item_weight[items]
        return (self.rows[self.member[items]], self.label[items],
                None if np.all(self.item_weight == 1) else weight)


def fingerprint(X, y, weight):
    """Return a hash of rows, labels (codes or targets) and weights."""
    mark = hashlib.sha256(f"{X.shape[0]} {X.shape[1]}".encode())
    for array in (X, y, weight):
        mark.update(np.ascontiguousarray(array, "<f8"))
    return np.frombuffer(mark.digest(), np.uint8)


class Writer:
    """Prove a bound line by line."""

    def __init__(self, model, data):
        self.model, self.data, n_rows = model, data, len(data.y)
        most = max(0, n_rows // data.least - 1)         # so many splits make leaves of enough rows
        self.depth = min(model._depth_within(n_rows), most)
        full, self.nodes = min(2**self.depth - 1, most), model._node_budget(n_rows)
        self.limited, self.nodes = self.nodes < full, min(self.nodes, full)
        self.depth = min(self.depth, self.nodes)
        if self.limited and self.nodes > MOST_NODES:
            raise ValueError("certificate writes a bound for each number of feature nodes, and the "
                             f"limits leave {self.nodes}; it takes at most {MOST_NODES}, or as "
                             "many as there can be.")
        if self.depth * self.nodes * (1 + data.x.shape[1]) > MOST_CELLS:
            raise ValueError("certificate needs too much memory for trees of any depth over these "
                             "rows; give max_depth.")
        self.sizes = np.arange(1, max(1, self.nodes) + 1) if self.limited else np.array([full])
        # Which bounds of the sides of a split bound a tree: its position in ``sizes``, and theirs.
        self.parts = np.array([(n, a, n - a) for n in range(self.nodes) for a in range(n + 1)]
                              if self.limited else [(0, 1, 1)], np.int64).reshape(-1, 3)
        # Of each line: its tests, the depth that is left, its reason; its bounds; its rows as bits.
        self.lines, self.n_lines = np.zeros((0, self.depth + 2), np.int32), 0
        self.bounds, self.tables = np.zeros((0, len(self.sizes))), []
        self.sets, self.slots = np.zeros((0, -(-len(data.x) // 64)), np.uint64), None
        largest_cost = data.amount[:, -1].astype(np.int64)
        powers = np.arange(int(largest_cost.max(initial=0)).bit_length())
        self.rows = (data.x.view(np.uint8), data.amount, np.ascontiguousarray(pack(data.x.T).T),
                     2.0**powers, pack(largest_cost >> powers[:, None] & 1))

    def prove(self, rows, path, depth, wanted, trusted=False):
        """Write lines that prove what is wanted of some rows, where it holds; return the last.

        ``rows`` are bits.  With ``trusted`` the search has said that it holds.
        """
        self.make_room(1)
        data, hints, price = self.data, None, 3 * self.data.price
        counted = depth <= 2 or wanted.max() <= price
        line = self.slots[find(rows, depth, self.lines, self.sets, self.slots)]
        if line >= 0:
            if trusted and counted and self.lines[line, -1] == COUNTED:
                np.maximum(self.bounds[line], wanted, out=self.bounds[line])
            if np.all(self.bounds[line] >= wanted):
                return line
        value, reason = wanted.copy(), COUNTED
        mask = np.unpackbits(rows.view(np.uint8), count=len(data.x), bitorder="little").view(bool)
        if data.x.size == 0 or depth == 0:
            value[:] = data.leaf(mask)
            if depth > 2:       # no split was forgotten
                self.tables.append(np.full((data.x.shape[1], 2), NOTHING, np.int32))
                reason = len(self.tables) - 1
        elif not (counted and trusted) and wanted.max() > 0:
            least = min(depth, 2) if counted else depth
            nodes = np.minimum(self.sizes, 2**min(least, 62) - 1)
            lower_bounds, hints = self.search(mask, least, nodes,
                                              wanted + np.inf if counted else wanted)
            value = np.maximum(lower_bounds, 0.0)
            if not counted:
                value = np.minimum(value, wanted)
            if counted and depth > 2:
                value[self.sizes > 2] = np.minimum(value, price)[self.sizes > 2]
            if not (counted or value.max() <= price):
                value, reason = self.every_split(rows, path, depth, value, hints)
        self.make_room(1)
        line, self.n_lines = self.n_lines, self.n_lines + 1
        self.lines[line] = *path, *[0] * depth, depth, reason
        self.bounds[line], self.sets[line] = value, rows
        enter(line, line + 1, self.lines, self.sets, self.slots)
        return line

    def make_room(self, more):
        """Lengthen the arrays of lines where they have no room for more."""
        if self.n_lines + more > len(self.bounds):
            more = (0, max(1024, len(self.bounds) + more)), (0, 0)
            self.lines, self.bounds, self.sets = (
                np.pad(array, more) for array in (self.lines, self.bounds, self.sets))
            self.slots = np.full(2 << len(self.lines).bit_length(), NOTHING, np.int64)
            enter(0, self.n_lines, self.lines, self.sets, self.slots)

    def every_split(self, rows, path, depth, wanted, hints):
        """Prove bounds on the sides of all splits; return what follows, and which lines say so."""
        n_splits, price = self.data.x.shape[1], self.data.price
        sums = np.zeros((2, self.data.amount.shape[1], n_splits))
        free = np.empty((2, n_splits, len(wanted) + 1))
        table = np.full((n_splits, 2), NOTHING, np.int32)
        open_line(rows, self.rows, sums)
        wanted = np.minimum(wanted, self.data.costs(sums[:, :, :1].sum(axis=0)))
        for side in range(2):
            cost, few = self.data.costs(sums[side]), self.data.too_small(sums[side])
            free[side, :, 0] = np.where(few, NO_SPLIT, cost)
            free[side, :, 1:] = np.where(few, NO_SPLIT, np.minimum(cost, price))[:, None]
        order, hint = hints or (np.argsort(free[:, :, 0].sum(axis=0), kind="stable"),
                                np.zeros(free.shape))
        node = Node(rows, self.rows, sums, order, hint, free, free.copy(), table,
                    np.zeros((2, n_splits), bool), np.zeros(n_splits))
        similar, position = self.data.similar, 0
        while position < n_splits:
            first = self.n_lines
            self.make_room(2 * n_splits)
            position, side, trusted, self.n_lines = next_side(
                position, depth, len(path), similar, self.parts, self.data.price, wanted, node,
                first, self.bounds, self.lines, self.sets, self.slots)
            self.lines[first:self.n_lines, :len(path)] = path
            if position < n_splits:
                k = order[position]
                needed = hint[side, k].copy()
                if not trusted:         # given what the other side costs
                    n, *parts = self.parts.T
                    needed[:] = 0
                    np.maximum.at(needed, parts[side], wanted[n] - self.data.price
                                  - node.below[1 - side, k][parts[1 - side]])
                beyond = self.rows[2][:, k]
                line = self.prove(rows & (beyond if side else ~beyond), (*path, 2 * k + side),
                                  depth - 1, needed[1:], trusted)
                settle(k, side, line, self.bounds[line], position, similar, node)
        self.tables.append(table)
        return wanted, len(self.tables) - 1

    def certificate(self):
        """Return the certificate."""
        data, model, report = self.data, self.model, self.model.report_
        self.search = model._proof_search(data, self.depth, self.nodes, Clock(model.time_limit))
        least = min(report.objective, report.lower_bound) - data.constant
        wanted = np.floor(least / data.unit - data.base)
        wanted = min(wanted, data.leaf(slice(None)))
        self.prove(pack(np.ones(len(data.x)))[0], (), self.depth,
                   np.full(len(self.sizes), max(0.0, wanted)))
        lines, bound = self.lines[:self.n_lines], self.bounds[:self.n_lines].astype(np.int64)
        used = self.depth - lines[:, -2]
        value = data.constant + data.unit * float(data.base + bound[-1, -1])
        max_depth = ANY_DEPTH if model.max_depth is None else min(int(model.max_depth), ANY_DEPTH)
        claim = words(data, max_depth, self.nodes if self.limited else None, value)
        return OptimalityCertificate({
            "claim": np.array(claim), "fingerprint": fingerprint(
                data.X, data.y[:0] if data.objective == "given" else data.y, data.weight),
            **({"objective": np.array(data.objective)} if data.objective else {}),
            "units": np.array([data.unit, data.penalty] + [data.centre, data.scale] * data.sums),
            "limits": np.array([VERSION, max_depth, self.nodes, data.least]),
            "tests": lines[:, :-2][np.arange(self.depth) < used[:, None]],
            "depth": lines[:, -2], "bound": bound, "table": lines[:, -1],
            "reference": np.array(self.tables, np.int32).reshape(
                len(self.tables), data.x.shape[1], 2),
        }, value)


# Of some rows, by side, split, number of feature nodes: what needs no line (``free``), is proved
# (``below``), or was found by the search (``hint``).  ``proved`` says by side and split what was
# asked for; ``sums`` has what the sides weigh.  ``all_rows`` are those of the writer: sides,
# amounts, sides as bits (word, split), powers of two and the rows that have one in what they can
# cost.  ``shared`` is room.
Node = namedtuple("Node", "rows all_rows sums order hint free below table proved shared")


@njit(**OPTIONS)
def open_line(rows, all_rows, sums):
    """Write what is on both sides of all splits of some rows.

    ``rows``, (n_words,) uint64, are the rows as bits, 64 in a word; ``all_rows`` is that of
    :class:`Node`.  ``sums``, (2, n_amounts, n_splits) float64, comes in as zeros and receives the
    amounts of each side.
    """
    x, amounts, bits = all_rows[:3]
    n_words, n_splits = bits.shape
    for word in range(n_words):
        left = rows[word]
        while left:
            row = 64 * word + popcount((left & -left) - np.uint64(1))
            left &= left - np.uint64(1)
            for c in range(amounts.shape[1]):
                amount = amounts[row, c]
                if amount:
                    sums[0, c, 0] += amount
                    for k in range(n_splits):
                        sums[1, c, k] += amount * x[row, k]
    for c in range(amounts.shape[1]):
        total = sums[0, c, 0]
        for k in range(n_splits):
            sums[0, c, k] = total - sums[1, c, k]


@njit(**OPTIONS)
def find(rows, depth, lines, sets, slots):
    """Return the slot of the line about some rows with a depth left, or that where it belongs.

    ``rows``, (n_words,) uint64, are the rows as bits, ``depth`` (int) is that of their trees.
    Lines are (n_lines, longest path + 2) int32 in ``lines`` (tests, depth, reason), and their rows
    (n_lines, n_words) uint64 in ``sets``.  ``slots`` is a hash table of lines: (power of two,)
    int64, -1 where free.
    """
    mixed = np.uint64(depth)
    for word in rows:
        mixed = (mixed ^ word) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    slot = np.int64(mixed & np.uint64(len(slots) - 1))
    while slots[slot] >= 0:
        line = slots[slot]
        same = lines[line, -2] == depth
        for i in range(len(rows)):
            same &= sets[line, i] == rows[i]
        if same:
            break
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@njit(**OPTIONS)
def enter(first, stop, lines, sets, slots):
    """Let the lines ``first`` to ``stop`` - 1 be found, the last ones about their rows.

    ``lines``, ``sets`` and ``slots``, which is written, are those of ``find``.
    """
    for line in range(first, stop):
        slots[find(sets[line], lines[line, -2], lines, sets, slots)] = line


@njit(**INNER)
def enough(k, one, zero, parts, price, wanted):
    """Tell whether bounds on both sides of a split prove what is wanted of all sizes.

    ``k`` (int) is the split.  Of ``one`` and ``zero``, (2, n_splits, n_sizes + 1) float64 bounds by
    side, split and size, side 1 of the first and side 0 of the second count.  ``parts``, (n, 3)
    int64, has all pairs of sizes: the position of that of the tree in ``wanted``, (n_sizes,)
    float64, and those of side 0 and side 1.  ``price`` (float) is the penalty in units.
    """
    for i in range(len(parts)):
        n, a, b = parts[i, 0], parts[i, 1], parts[i, 2]
        if price + zero[0, k, a] + one[1, k, b] < wanted[n]:
            return False
    return True


@njit(**OPTIONS)
def settle(k, side, line, bound, position, similar, node):
    """Let a line bound its side, and all sides of later splits that it bounds better.

    ``line`` (int) is about ``side`` (0 or 1) of split ``k`` (int) and proves ``bound``, (n_sizes,)
    float64, by the number of feature nodes.  ``node``, a :class:`Node`, is updated.  Only with
    ``similar`` (bool), where any leaf is allowed, does it bound sides of others: those from
    ``position`` (int) on in the order of the node.
    """
    node.proved[side, k], node.table[k, side] = True, line
    for n in range(len(bound)):
        node.below[side, k, n + 1] = max(bound[n], node.free[side, k, n + 1])
    if not similar:         # it counts for its own rows only
        return
    weight, shared, (bits, powers, has_power) = node.sums[:, -1], node.shared, node.all_rows[2:]
    if not node.proved[1 - side, k]:
        shared[:] = 0
        for word in range(len(bits)):
            for i in range(len(powers)):
                both = node.rows[word] & bits[word, k] & has_power[i, word]
                if both:
                    for j in range(len(shared)):
                        shared[j] += powers[i] * popcount(both & bits[word, j])
    for j in node.order[position:]:
        for other in range(2):
            rows = shared[j] if side else weight[1, j] - shared[j]
            lacks = weight[side, k] - rows if other else rows
            gain = 0.0
            for n in range(len(bound)):
                gain += max(bound[n] - lacks, node.free[other, j, n + 1]) - (
                    node.below[other, j, n + 1])
            if gain > 0:
                node.table[j, other] = line
                for n in range(len(bound)):
                    node.below[other, j, n + 1] = max(bound[n] - lacks, node.free[other, j, n + 1])


@njit(**OPTIONS)
def next_side(position, depth, test, similar, parts, price, wanted, node, n_lines, bounds, lines,
              sets, slots):
    """Return the next side to prove, whether the search has said it, and the number of lines.

    As ``(position, side, trusted, n_lines)``: the split is ``node.order[position]``, and all are
    proved where ``position`` is at its end.  Comes in with where to go on (``position``), and goes
    through the splits of ``node``, a :class:`Node` with ``depth`` levels left; ``parts``, ``price``
    and ``wanted`` are those of ``enough``, ``similar`` is that of ``settle``.  What is wanted is
    lowered to what both sides prove.

    A side that is counted and that the search has bounded becomes a line here, but for its path:
    ``n_lines`` (int) lines are in ``bounds``, (room, n_sizes) float64, and in ``lines``, ``sets``
    and ``slots``, which are those of ``find``; ``test`` (int) is where its last test belongs.
    """
    below, hint, bits = node.below, node.hint, node.all_rows[2]
    while position < len(node.order):
        k = node.order[position]
        if enough(k, below, below, parts, price, wanted):
            position += 1
            continue
        if node.proved[0, k] and node.proved[1, k]:
            for i in range(len(parts)):
                n, a, b = parts[i, 0], parts[i, 1], parts[i, 2]
                wanted[n] = min(wanted[n], price + below[0, k, a] + below[1, k, b])
            continue
        side, trusted = int(node.sums[1, -1, k] > node.sums[0, -1, k]), True
        if not node.proved[1, k] and enough(k, hint, below, parts, price, wanted):
            side = 1
        elif not node.proved[0, k] and enough(k, below, hint, parts, price, wanted):
            side = 0
        else:
            side = 1 - side if node.proved[side, k] else side
            trusted = enough(k, hint, hint, parts, price, wanted)
        if not trusted or depth > 3:
            return position, side, trusted, n_lines
        for word in range(len(bits)):
            sets[n_lines, word] = node.rows[word] & (bits[word, k] if side else ~bits[word, k])
        slot, hinted_bounds = find(sets[n_lines], 2, lines, sets, slots), hint[side, k, 1:]
        line = slots[slot]
        if line < 0:
            line = slots[slot] = n_lines
            lines[line, test], lines[line, -2], lines[line, -1] = 2 * k + side, 2, COUNTED
            n_lines += 1
        for n in range(len(hinted_bounds)):
            bounds[line, n] = max(bounds[line, n], hinted_bounds[n])
        settle(k, side, line, bounds[line], position, similar, node)
    return position, 0, False, n_lines


def warm_up_writer(model):
    """Compile the kernels of the writer, by a line about two rows."""
    data, rows = Data(model, np.eye(2), np.arange(2.0), None), np.ones(2, bool)
    writer = Writer(model, data)
    writer.make_room(1)
    writer.every_split(pack(rows)[0], (), 1, np.zeros(len(writer.sizes)), None)


def words(data, max_depth, max_nodes, value, over=None):
    """Say a claim in words; ``max_nodes`` is None where it is no limit beside the depth.

    ``over`` says which splits there are, if they are not all of the rows.
    """
    over = over or ("these {} columns" if np.all((data.X == 0) | (data.X == 1)) else
                    "all thresholds of these {} features").format(data.X.shape[1])
    value, priced = number_text(value), f", at {number_text(data.penalty)} a split,"
    weighted = " by weight" * bool(np.any(data.weight != 1))
    if data.objective:
        by = NAMES[data.objective]
        what = f"costs less than {value}{priced * bool(data.penalty)} by {by}{weighted}"
    elif data.penalty:
        what = f"costs less than {value}{priced}"
    else:
        what = (f"has a squared error of less than {value}" if data.sums else
                f"makes fewer than {value} errors") + weighted
    return (f"no tree of {'any depth' if max_depth == ANY_DEPTH else f'depth {max_depth}'}"
            + (f" and {max_nodes} feature nodes" if max_nodes is not None else "")
            + (f" with at least {data.least} rows in a leaf" if data.least > 1 else "")
            + f" over {over} {what} on these {len(data.X)} rows")
