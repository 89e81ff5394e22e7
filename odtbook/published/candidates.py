"""Generate candidate splits: from few to the proved optimum over all thresholds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import ArrayLike

from odtbook.published import _candidate_kernels as kernels
from odtlib._numba.warm import SECONDS, warm_up
from odtlib.column_generation import ThresholdSampling
from odtlib.column_generation.paths import RestrictedProblem, check_size
from odtlib.column_generation.restricted import (
    CandidateFit,
    CandidateTreeClassifier,
    DynamicProgram,
)
from odtlib.fit import Fit, TooLarge
from odtlib.report import Clock, TimeUp
from odtlib.tolerance import PROOF
from odtlib.tree import midpoint

NODE_BYTES = 80         # of a row's feature, on one level of prefixes
STEPS = 20_000_000      # of a kernel between two looks at the clock: some 30 ms
SECONDS["generated splits"] = 2


class CandidateGeneration:
    """Price new splits over all thresholds, and generate the one that promises most.

    In the prefix form of the master the dual of the linking row of a prefix (the splits of all
    nodes above) is the value of the best subtree known below it.  A split that the master does not
    have is priced by an upper bound of the subtree that it heads, less this value.  The bound comes
    from the splits of the same feature that have already been generated there: the rows left of a
    lower threshold are a subset and cannot be worth more, and adding the rows in between raises
    their value by at most the weight of these rows.  A sweep over all thresholds prices all of
    them.  The one of the highest price is generated, which solves the problems of its two children
    in the same way, and the bounds of its neighbours shrink.  Where no price is positive, the
    subtree is proved optimal.  At the nodes above the leaves a sweep over the rows finds the best
    split itself.

    Parameters
    ----------
    X : array of float64, shape (n_rows, n_features)
        Training rows.
    y : array of int, shape (n_rows,)
        Class indices.
    n_classes : int
        Number of classes.
    weight : array of float, shape (n_rows,)
        Weight of each row.
    clock : Clock
        TimeUp is raised when it has expired.
    tolerance : float
        Trees whose values differ by at most this are equally good.

    Attributes
    ----------
    n_generated : int
        Splits generated, over all prefixes; those of the last nodes are swept and not counted.
    """

    def __init__(self, X: ArrayLike, y: ArrayLike, n_classes: int, weight: ArrayLike, clock: Clock,
                 tolerance: float) -> None:
        self.X, self.y, self.n_classes, self.weight = X, y, n_classes, weight
        self.clock, self.tolerance = clock, tolerance
        self.rank = np.array([np.unique(column, return_inverse=True)[1].reshape(-1)
                              for column in X.T])
        self.n_generated = 0

    def run(self, depth: int, value: float,
            watch: Callable | None = None) -> tuple[float, list | None]:
        """Find a tree that is worth more than a known one, or prove that there is none.

        Parameters
        ----------
        depth : int
            Maximum depth, at least 1.
        value : float
            Weight of the rows that the known tree predicts correctly.
        watch : callable, optional
            Called with value, upper bound and splits of the best tree found so far, which are None
            while no better one is known, after each split of the root.

        Returns
        -------
        value : float
            Value of the best tree.
        splits : list of (int, float) or None
            Its splits in level order, None where a node has none; None if no tree is worth more.
        """
        found = [value, None]

        def see(best, upper, subtree):
            if subtree is not None and best > found[0]:
                found[:] = best, self._level_order(subtree, depth)
            if watch is not None:
                watch(found[0], max(found[0], upper), found[1])

        order = np.argsort(self.rank, axis=1, kind="stable")
        best, _, subtree = self._solve(order, depth, value, see)
        see(best, best, subtree)
        return tuple(found)

    def _solve(self, order, depth, known, see=None):
        """Return value and subtree of the best worth more than ``known``, and an upper bound.

        ``order`` holds the rows of the prefix sorted by each feature.  Without such a subtree the
        value is ``known`` and the subtree None; the bound is then at most ``known``.
        """
        if depth == 1:
            inside = np.zeros(len(self.y), bool)
            inside[order[0]] = True
            value, split = self._last(order, inside)
            better = value > known + self.tolerance
            return (value, value, (split, None, None)) if better else (known, value, None)
        n_features, n_rows = order.shape
        cumulated = np.zeros((n_features, n_rows + 1))
        np.cumsum(self.weight[order], axis=1, out=cumulated[:, 1:])
        total = cumulated[0, -1]
        ranks = np.take_along_axis(self.rank, order, axis=1)
        # upper bounds of both sides of the split behind the first p rows
        left, right = cumulated.copy(), total - cumulated
        closed = np.ones(left.shape, bool)
        closed[:, 1:-1] = ranks[:, 1:] == ranks[:, :-1]
        left[closed] = -np.inf
        leaf = np.bincount(self.y[order[0]], self.weight[order[0]], self.n_classes).max()
        if leaf > known + self.tolerance:
            best, subtree = leaf, (None, None, None)
        else:
            best, subtree = known, None
        at = np.zeros(2, np.int64)
        if depth == 2:
            best, subtree = self._two_levels(order, cumulated, left, right, closed, best, subtree,
                                             at, see)
            return best, self._bound(left, right, leaf), subtree
        while True:
            upper = kernels.highest_bound(left, right, closed, at)
            if see is not None:
                see(best, upper, subtree)
            if upper <= best + self.tolerance:
                return best, self._bound(left, right, leaf), subtree
            if self.clock.expired:
                raise TimeUp
            f, p = at
            self.n_generated += 1
            inside = np.zeros(len(self.y), bool)
            inside[order[f, :p]] = True
            on_left = inside[order]
            value, bound, one = self._solve(order[on_left].reshape(n_features, p), depth - 1,
                                            best - right[f, p])
            bounds = [min(bound, left[f, p]), right[f, p]]
            if one is not None:
                other_value, bound, other = self._solve(
                    order[~on_left].reshape(n_features, n_rows - p), depth - 1, best - value)
                bounds[1] = min(bound, bounds[1])
                if other is not None and value + other_value > best + self.tolerance:
                    best, subtree = value + other_value, (self._split(order, f, p), one, other)
            kernels.tighten(cumulated, f, p, *bounds, left, right, closed)

    def _two_levels(self, order, cumulated, left, right, closed, best, subtree, at, see):
        """Do the work of :meth:`_solve` at the nodes above the last, in slices of a kernel."""
        state, rows = np.array([best]), np.zeros((3, 3), np.int64)
        rows[0, 0] = -2
        most = max(1, STEPS // (4 * order.size))
        while True:
            n = kernels.two_levels(order, self.rank, self.y, self.weight, self.n_classes, cumulated,
                                   left, right, closed, self.tolerance, most, at, state, rows)
            self.n_generated += n
            best = float(state[0])
            if rows[0, 0] >= 0:
                subtree = (self._split(order, *rows[0, :2]),
                           *((self._between(row), None, None) for row in rows[1:]))
            upper = kernels.highest_bound(left, right, closed, at)
            if see is not None:
                see(best, upper, subtree)
            if n < most:
                return best, subtree
            if self.clock.expired:
                raise TimeUp

    @staticmethod
    def _bound(left, right, leaf):
        """Return a bound of the subtree's value: those of the splits generated are there, too."""
        return max(leaf, float((left + right)[:, 1:-1].max(initial=-np.inf)))

    def _last(self, order, inside):
        """Return the value of the best single split for some rows, and the split."""
        row = np.zeros(3, np.int64)
        value = kernels.last_split(order, self.rank, self.y, self.weight, inside, True,
                                   np.zeros((2, self.n_classes)), row)
        return value, self._between(row)

    def _between(self, row):
        """Return the split of a feature between two rows, None for no feature."""
        f, low, high = row
        return None if f < 0 else (int(f), float(midpoint(self.X[low, f], self.X[high, f])))

    def _split(self, order, f, p):
        return self._between((f, order[f, p - 1], order[f, p]))

    @staticmethod
    def _level_order(subtree, depth):
        splits = [None] * (2 ** depth - 1)

        def put(node, subtree):
            if subtree is not None and subtree[0] is not None:
                splits[node] = subtree[0]
                put(2 * node + 1, subtree[1])
                put(2 * node + 2, subtree[2])

        put(0, subtree)
        return splits


@dataclass(eq=False, repr=False)
class GeneratedSplitsClassifier(CandidateTreeClassifier):
    """Begin with the best tree of sampled candidates, and generate splits until it is optimal.

    It begins where the papers' methods end.  Splits over all thresholds are generated, see
    :class:`CandidateGeneration`, until none can improve the tree: it is then proved optimal.

    Parameters
    ----------
    max_depth : int or None, default=4
        Maximum depth of the tree.  None for no limit.
    sampling : ThresholdSampling or None, default=None
        How candidates are sampled; None takes the defaults of :class:`ThresholdSampling`.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn.
    time_limit : float or None, default=None
        Time limit in seconds; None for no limit.  Sampling takes at most a third of it.
    memory_limit : float or None, default=None
        Memory limit in megabytes; None for no limit.
    n_jobs : int or None, default=None
        Number of threads; None means 1 and -1 all processors.  Only the sampling uses several.
    random_state : int, RandomState or None, default=0
        Seed of the random choices.
    verbose : int, default=0
        Verbosity: 0 is silent, 1 shows progress.

    Attributes
    ----------
    tree_ : DecisionTree
        The tree found.
    report_ : SolveReport
        ``counters``: sampled ``splits``, ``candidates_optimum`` (cost of their best tree) and the
        number of splits ``generated``, over all prefixes.
    cart_ : DecisionTree or None
        The CART of all rows; the tree is never worse.
    iterations_ : list of dict
        A line for each split of the root; ``pandas.DataFrame(model.iterations_)`` shows it.
    problem_ : RestrictedProblem
        The sampled candidates; missing where no split was found.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from odtbook.published import GeneratedSplitsClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GeneratedSplitsClassifier(max_depth=2).fit(X, y)
    >>> model.report_.status, model.report_.objective
    ('optimal', 6.0)
    """

    splits = None

    max_depth: int | None = 4
    _: KW_ONLY
    sampling: ThresholdSampling | None = None
    class_weight: dict | str | None = None
    time_limit: float | None = None
    memory_limit: float | None = None
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = 0
    verbose: int = 0

    def _warm_up(self, X, y, sample_weight):
        def run():
            X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0])
            for depth in (2, 3):
                CandidateGeneration(X, y, 2, np.ones(3), Clock(), PROOF).run(depth, 0.0)

        return super()._warm_up(X, y, sample_weight) + warm_up(
            "generated splits", kernels.two_levels, run)

    def _solve(self, X, y, sample_weight):
        fit = CandidateFit(self, X, y, sample_weight, self._depth_within(len(X)))
        self.cart_, self.iterations_ = None, []
        if fit.depth == 0:
            fit.proof = "optimal without a split"
            fit.offer(fit.leaf())
            fit.finish()
            return fit.outcome()
        fit.start, fit.proof = "cart", f"optimal over all thresholds at depth {fit.depth}"
        with fit.stops():
            self._generate(fit)
            fit.finish()
        fit.fall_back()
        return fit.outcome()

    def _generate(self, fit):
        """Solve the problem over sampled candidates, then generate more of them to the end."""
        check_size(2 ** fit.depth - 1, 0, len(fit.X))
        splits, cart, fit.counters, _ = self._candidates(fit)
        self.cart_ = fit.tree_of(cart).replace(classes=self.classes_)
        fit.offer(min(fit.tree_of(cart), fit.leaf(), key=fit.judge), event="start")
        if splits[0]:
            self.problem_ = RestrictedProblem(
                fit.X, fit.y, fit.n_classes, splits, fit.weight, max_bytes=fit.max_bytes,
                clock=fit.clock)
            found = Fit(fit.clock)
            found.work(DynamicProgram(self.problem_, self.problem_.choose(cart)))
            fit.offer(found.tree)
        known = fit.objective
        fit.counters = {**fit.counters, "splits": sum(map(len, splits)),
                        "candidates_optimum": known}
        fit.note("candidates")
        if NODE_BYTES * fit.depth * fit.X.size > fit.max_bytes:
            raise TooLarge("the bounds of all thresholds do not fit into the memory limit.")
        weight = np.ones(len(fit.y)) if fit.weight is None else fit.weight
        generation = CandidateGeneration(fit.X, fit.y, fit.n_classes, weight, fit.clock,
                                         PROOF * fit.total)

        def watch(value, upper, found):
            if fit.total - value < fit.objective - PROOF * fit.total:
                fit.offer(fit.tree_of(found))
            fit.learn(min(fit.total - upper, fit.objective))
            fit.counters["generated"] = generation.n_generated
            self.iterations_.append({"seconds": fit.clock.elapsed, "objective": fit.objective,
                                     "bound": fit.bound, "generated": generation.n_generated})
            if fit.trace[-1][1:3] != (fit.objective, fit.bound):
                fit.note("new split")

        generation.run(fit.depth, fit.total - known, watch)
