"""The public estimator: optimal regression trees by the search of MurTree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils._param_validation import HasMethods, StrOptions

from odtlib.estimator import BinarisingMixin, SingleTargetRegressor
from odtlib.heuristics.start import checked_start, warm_up_start
from odtlib.report import Clock
from odtlib.tolerance import PROOF, ROUNDING
from odtlib.tree import DecisionTree
from odtlib.trees import build

from . import _search as S
from ._regression_kernels import ABSOLUTE, N_SUMS
from .certificate import CertifiedColumns
from .columns import BudgetPathMixin
from .greedy import with_thresholds
from .options import DEFAULT, MurTreeSearch
from .preparation import (
    Problem,
    _distinct_columns,
    grouped_rows,
    packed_rows,
    varying_columns,
)
from .run import Run
from .solver import Solver, warm_up_search
from .weighting import Rows

# Weights of one are counted in words of bits: faster, while so few rows more are there for it.
MAX_COPIED = 0.25


def leaf_value(y, weight, absolute):
    """Return the mean of targets, or their weighted median: the middle where it is an interval."""
    if not absolute:
        low, total = y.min(), weight.sum()
        mean = low + weight @ (y - low) / total
        return float(mean + weight @ (y - mean) / total)        # exact at a heavy row
    order = np.argsort(y, kind="stable")
    reached = np.cumsum(weight[order])
    half = 0.5 * reached[-1]
    first = min(int(np.searchsorted(reached, half, side="left")), len(y) - 1)
    second = min(int(np.searchsorted(reached, half, side="right")), len(y) - 1)
    low, high = y[order[first]], y[order[second]]
    return float(low + 0.5 * (high - low))


def loss_of(y, predicted, weight, absolute):
    """Return the weighted absolute or squared error."""
    error = np.abs(y - predicted)
    return float((weight * (error if absolute else error * error)).sum())


def within_groups(y, weight, groups):
    """Return the absolute error of all groups around their medians; groups and targets in order."""
    reached = np.cumsum(weight)
    first = np.flatnonzero(np.diff(groups, prepend=-1))
    number = np.diff(first, append=len(y))
    before = np.repeat(reached[first] - weight[first], number)
    half = np.repeat(0.5 * np.add.reduceat(weight, first), number)
    lower_half = np.clip(half - (reached - weight - before), 0.0, weight)
    y = y - np.repeat(y[first], number)
    return max(0.0, float((weight * y).sum() - 2 * (lower_half * y).sum()))


def prepare_regression(X, y, weight, *, absolute, merge_columns=True, clock=None):
    """Reduce a regression problem to what the search must see.

    Rows of 0/1 columns are put in the order of their targets, which are centred and scaled so that
    a single leaf costs 1.  Rows with equal columns become one; the squared error among them, which
    every tree has, is the offset.  For absolute error only rows with equal targets too become one;
    what the others cost at the least (equivalent points) is ``least``.  With ``merge_columns`` one
    of several columns is kept that split the rows identically.
    """
    with np.errstate(all="ignore"):
        target = y - leaf_value(y, weight, absolute)
        scale = np.abs(target).max()
        target = target / scale if scale > 0 else target
        cost = loss_of(target, 0.0, weight, absolute)
        unit = cost * scale * (1.0 if absolute else scale) if scale > 0 else 1.0
    if not np.isfinite(unit) or (scale > 0 and unit == 0):
        raise ValueError("the loss of y is too large or too small for floating point; divide y, or "
                         "the weights, by a constant.")
    if scale > 0:
        target = target / (cost if absolute else np.sqrt(cost))
    groups, first = grouped_rows(X)
    offset = lower = 0.0
    if absolute:
        order = np.lexsort((target, groups))
        lower = within_groups(target[order], weight[order], groups[order])
        new = np.ones(len(order), bool)
        new[1:] = (np.diff(groups[order]) != 0) | (np.diff(target[order]) != 0)
        groups[order] = np.cumsum(new) - 1
        first = order[new]
    n_groups = len(first)
    total = np.bincount(groups, weights=weight, minlength=n_groups)
    mean = np.bincount(groups, weights=weight * target, minlength=n_groups) / total
    number = np.bincount(groups, minlength=n_groups)
    if absolute:
        mean = target[first]
    else:
        offset = loss_of(target, mean[groups], weight, False)
    order = np.argsort(mean, kind="stable")
    merged = len(X) - n_groups
    if (weight == 1).all() and merged <= MAX_COPIED * n_groups:
        order, total = np.repeat(order, number[order]), np.ones(n_groups)
        number = total
    columns = _distinct_columns(X, clock) if merge_columns else varying_columns(X)
    return Problem(
        packed_rows(X, rows=first[order], columns=columns), np.array([len(order)]), columns,
        np.stack([total, mean, number], axis=1)[order], "sums", offset, 1.0,
        {"rows_merged": merged, "columns_merged": X.shape[1] - len(columns)},
        float(unit), lower, absolute)


class RegressionSolver(Solver):
    """The search of MurTree on sums of targets; see :class:`odtlib.murtree.solver.Solver`."""

    def __init__(self, problem, max_depth, max_nodes, *, search=None, **options):
        self.absolute = absolute = problem.absolute
        weight, self.target, number = np.ascontiguousarray(problem.weights.T)
        weighted = not np.array_equal(weight, number)
        # By about this share of the root's cost a difference of sums is off: in the weight of a
        # leaf with the farthest target, or in the product of the lightest leaf.
        farthest = np.abs(self.target).max() ** (1 if absolute else 2)
        rounding = np.finfo(float).eps * max(100 * weight.sum() * farthest,
                                             2 * np.sqrt(weight.sum() / weight.min()))
        self.uneven = weighted and rounding > PROOF
        if self.uneven:
            search = replace(search or DEFAULT, similarity_bound=False,
                             specialised_depth_two=False)
        super().__init__(problem, max_depth, max_nodes, search=search, **options)
        self.space.shape[N_SUMS] = 3 if weighted else 1 if (weight == 1).all() else 2
        self.space.shape[ABSOLUTE] = absolute
        self.least = 0.0 if self.uneven else problem.least
        if absolute:
            self.longest_step *= 2

    def solve(self, depth, nodes, *, lower=None, rows=None, **options):
        """Find the best trees with cost below ``upper``; see the solver of classification."""
        if lower is None:
            lower = ROUNDING + (self.least if rows is None else 0.0)
        return super().solve(depth, nodes, lower=lower, rows=rows, **options)

    def bound(self):
        """Return a lower bound for the largest budget; see the solver of classification."""
        bound = super().bound()          # of an open search perhaps where a tree would end it
        return bound if self.control[S.MODE] == S.DONE else max(0.0, bound - ROUNDING)

    @property
    def amounts(self):
        """What the leaves of CART should be pure in: weight times target."""
        return (self.row_weight * self.target)[:, None]

    def _leaf(self, rows):
        y, weight = self.target[rows], self.row_weight[rows]
        value = leaf_value(y, weight, self.absolute)
        return loss_of(y, value, weight, self.absolute), [value]


class MurTreeRegressor(CertifiedColumns, BudgetPathMixin, BinarisingMixin, SingleTargetRegressor):
    """Find the regression tree with the least training error within limits on depth and size.

    The search of :class:`odtlib.MurTreeClassifier` on sums of targets (Demirović et al., 2022,
    Section 4.8.2): dynamic programming over depth and node budget, a cache of solved subproblems,
    and depth-two trees from pairwise sums.  Two bounds hold for regression.  Rows that agree in all
    columns cost at least their error around a common prediction (equivalent points).  And a data
    set that lacks some rows of a similar one costs less by at most what these rows can cost within
    the range of the targets.

    Parameters
    ----------
    max_depth : int or None, default=3
        Maximum depth of the tree.  None for no limit.  Each further level multiplies the time by
        about the number of 0/1 columns.
    max_nodes : int, optional
        Maximum number of feature nodes; None for no limit.
    max_leaf_nodes : int, optional
        Maximum number of leaves; None for no limit.
    loss : {"squared_error", "absolute_error"}, default="squared_error"
        What is minimised, summed over the rows; leaves predict means or medians.  Absolute error
        takes several times longer, as medians do not follow from sums.
    min_samples_leaf : int or float, default=1
        Minimum number of samples per leaf.  A float is a share of the training rows.  Above 1 the
        similarity bound does not hold and is not used, so the search takes longer.
    split_penalty : float, default=0.0
        Cost of one split, in the unit of ``report_.objective``.  Here that is the loss (Eq. 19).
    binarizer : {"quantile", "all"}, transformer or None, default="quantile"
        How features that are not 0/1 become 0/1 columns; see :class:`odtlib.MurTreeClassifier`.
        The tree is optimal for the columns that it makes.
    search : MurTreeSearch, optional
        Options of the search; None means ``MurTreeSearch()``.  Not available for regression, and
        refused, are the closure cache, ``merge_rows=False``, ``deepening`` and
        ``discrepancy_search``.
    start : {None, "cart"}, DecisionTree or fitted estimator, default=None
        Warm start: None, a word, a :class:`DecisionTree` or a fitted tree estimator.  A
        DecisionTree is one over the 0/1 columns; the thresholds of an estimator are moved to the
        nearest column.  Only better trees are searched for.
    time_limit : float, optional
        Time limit in seconds; None for no limit.  The best tree found so far is then returned (CART
        at worst).  Where the time does not suffice for the columns, the binariser leaves the last
        features uncut or makes evenly fewer columns, and no bound but zero is known.
    n_jobs : int, optional
        Number of threads; None means 1 and -1 all processors.  They share the splits of the root.
    random_state : int, RandomState or None, default=None
        Seed of the random choices.  They are a ``start`` by "cart" and a random feature order; a
        fit without them draws nothing.
    verbose : int, default=0
        Verbosity: 0 is silent, 1 shows progress.

    Attributes
    ----------
    tree_ : DecisionTree
        The tree, in the original features where columns are thresholds.
    report_ : SolveReport
        Status, loss, lower bound, counters and the anytime trace.
    binarizer_ : transformer or None
        What made the columns; None if the features were 0/1.

    Notes
    -----
    Sums are floating point.  Targets are centred and scaled first, so that rounding stays below
    1e-12 of the loss of a single leaf; trees closer than that count as equal, and "optimal" is said
    within 1e-9 of it.

    Examples
    --------
    >>> from odtlib import MurTreeRegressor
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> model = MurTreeRegressor(max_depth=2).fit(X, [1.0, 2.0, 2.0, 4.0])
    >>> model.report_.objective
    0.0
    """

    _parameter_constraints = {
        **SingleTargetRegressor._parameter_constraints,
        "loss": [StrOptions({"squared_error", "absolute_error"})],
        "binarizer": [StrOptions({"quantile", "all"}), HasMethods(["fit", "transform"]),
                      None],
        "search": [MurTreeSearch, None],
        "start": [StrOptions({"cart"}), HasMethods("predict"), None],
    }

    def __init__(self, max_depth: int | None = 3, max_nodes: int | None = None, *,
                 max_leaf_nodes: int | None = None, loss: str = "squared_error",
                 min_samples_leaf: float = 1, split_penalty: float = 0.0,
                 binarizer: str | BaseEstimator | None = "quantile",
                 search: MurTreeSearch | None = None,
                 start: str | DecisionTree | BaseEstimator | None = None,
                 time_limit: float | None = None, n_jobs: int | None = None,
                 random_state: int | np.random.RandomState | None = None, verbose: int = 0) -> None:
        self.max_depth = max_depth
        self.max_nodes = max_nodes
        self.max_leaf_nodes = max_leaf_nodes
        self.loss = loss
        self.min_samples_leaf = min_samples_leaf
        self.split_penalty = split_penalty
        self.binarizer = binarizer
        self.search = search
        self.start = start
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _warm_up(self, X, y, sample_weight, task=None):
        return warm_up_start(self.start) + warm_up_search("sums")

    _certified_options = (("loss", "squared_error", "a proof for 'squared_error' alone is known"),)

    def _proof_solver(self, data, columns, weight, options):
        problem = prepare_regression(columns, data.label, weight, absolute=False)
        solver = RegressionSolver(problem, *options, split_penalty=data.price / problem.unit,
                                  min_samples_leaf=data.least)
        return solver, problem.unit, 4 * ROUNDING * problem.unit + 8 * data.slop + 8

    def _solve(self, X, y, sample_weight, task=None):
        clock = Clock(self.time_limit)
        search = DEFAULT if self.search is None else self.search
        for name, value in (("cache", "closure"), ("merge_rows", False), ("deepening", True),
                            ("discrepancy_search", True)):
            if getattr(search, name) == value:
                raise ValueError(f"search has {name}={value!r}, which MurTreeRegressor does not "
                                 "have; choose another value.")
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        columns = self._columns(X, y, sample_weight, clock)
        return self._outcome(_RegressionRun(self, Rows(columns, y, weight), clock, search,
                                            path=task == "path"), task)


class _RegressionRun(Run):
    """One fit of a regressor; costs are in shares of the cost of a single leaf."""

    solver_type, takes_turns = RegressionSolver, False

    def __init__(self, model, *data, path):
        self.absolute, self.costs = model.loss == "absolute_error", {}
        super().__init__(model, *data, path=path)

    def prepared(self):
        """Return the reduced problem."""
        return prepare_regression(self.columns, self.y, self.sample_weight, absolute=self.absolute,
                                  merge_columns=self.options.merge_columns, clock=self.clock)

    def started(self, start):
        """Return the tree that a start gives, with the values of the rows."""
        if not isinstance(start, str):
            return checked_start(start, "regression", self.columns, self.depth,
                                 self.model.min_samples_leaf, self.valued)
        if self.safe_depth == 0:
            return self.valued(DecisionTree.from_nested([0.0], kind="regression"))
        cart = DecisionTreeRegressor(
            criterion=self.model.loss, max_depth=self.safe_depth,
            min_samples_leaf=self.model.min_samples_leaf, random_state=self.model.random_state)
        return self.valued(DecisionTree.from_sklearn(
            cart.fit(self.columns, self.y, self.sample_weight)))

    def valued(self, tree):
        """Give every node the mean or median of its rows and drop what has none."""
        def split(node, rows):
            while (feature := tree.feature[node]) >= 0:
                goes_left = self.columns[rows, feature] <= tree.threshold[node]
                left, right = tree.left[node], tree.right[node]
                if goes_left.any() and not goes_left.all():
                    return feature, tree.threshold[node], goes_left, left, right
                node = left if goes_left.all() else right
            return None

        *nodes, members = build(0, len(self.y), split)
        parts = [(self.y[rows], self.sample_weight[rows]) for rows in members]
        values = [leaf_value(y, weight, self.absolute) for y, weight in parts]
        loss = sum(loss_of(y, value, weight, self.absolute) for (y, weight), value, feature
                   in zip(parts, values, nodes[0], strict=True) if feature < 0)
        tree = DecisionTree(*nodes, values, kind="regression",
                            n_features=self.columns.shape[1]).pruned()
        self.costs[tree] = float(loss + self.model.split_penalty * tree.n_splits) / self.unit
        return tree

    def cost(self, tree):
        """Return the objective of a tree as a share of the cost of a single leaf."""
        return self.costs[tree]

    def checked(self, nested, claim):
        """Turn the solver's nested tuples into a tree over the columns that costs as claimed."""
        tree = self.valued(DecisionTree.from_nested(
            with_thresholds(nested, self.problem.columns), kind="regression",
            n_features=self.columns.shape[1]))
        if self.cost(tree) > claim + PROOF:
            raise RuntimeError(f"the tree has cost {self.unit * self.cost(tree):g}, the search "
                               f"counted {self.unit * claim:g}; please report this as a bug of "
                               "odtlib.")
        return tree
