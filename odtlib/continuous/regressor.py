"""The estimator: optimal regression trees over all thresholds of numeric features."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from odtlib._numba.warm import warm_up
from odtlib.certificate import CertifiedMixin
from odtlib.continuous._regression import (
    BATCHES,
    FEATURE,
    LANE_ARRAY,
    LANES,
    N_PROGRESS,
    SWEPT,
    Batch,
    Node,
    index_rows,
    inherit,
    solve_pair,
)
from odtlib.continuous.costs import check_splits, proof_of
from odtlib.estimator import SingleTargetRegressor
from odtlib.fit import Fit, Pace
from odtlib.heuristics.cart import patient_clock
from odtlib.heuristics.start import checked_start, warm_up_start
from odtlib.heuristics.subtrees import DEEP, HORIZON, LOOKS, TURN, SubtreeSearch
from odtlib.intervals import IntervalSearch, Solution
from odtlib.report import Clock, TimeUp, default_objective
from odtlib.tolerance import PROOF, ROUNDING, rounding_of_means
from odtlib.tree import DecisionTree, midpoint
from odtlib.trees import build, cut_back, plan_of

NO_LIMIT = Clock()


@dataclass(eq=False, repr=False)
class ContinuousTreeRegressor(CertifiedMixin, SingleTargetRegressor):
    """Find the regression tree with the least squared error over all thresholds.

    No binarisation: every midpoint between neighbouring values of every feature is a candidate,
    compared exactly in float64.  Missing values (NaN) go to the better side of each test, exactly,
    and whether a value is missing is a test, too.

    Parameters
    ----------
    max_depth : int, default=2
        Maximum depth of the tree.  It is at most 5.  Depth 2 takes a fraction of a second and
        depth 3 seconds on thousands of rows, where the features explain the targets; deeper trees
        and targets that are noise take far longer.
    max_nodes : int, optional
        Maximum number of feature nodes; None for no limit.
    max_leaf_nodes : int, optional
        Maximum number of leaves; None for no limit.  The same limit as
        ``max_nodes = max_leaf_nodes - 1``.
    min_samples_leaf : int or float, default=1
        Minimum number of samples per leaf.  A float is a share of the training rows.  Above 1 the
        search takes longer: the best tree of a subset of the rows is then no lower bound for the
        set, and the bounds are those of the problem without this minimum.
    split_penalty : float, default=0.0
        Cost of one split, in the unit of ``report_.objective``.  The objective is the weighted
        squared error plus ``split_penalty`` per split: a split stays only if it saves more.
    start : "cart", None, DecisionTree or fitted estimator, default="cart"
        Warm start: None, a word, a :class:`DecisionTree` or a fitted tree estimator.  The search
        begins with that tree, its leaves grown further where the limits allow it.
    time_limit : float, optional
        Time limit in seconds; None for no limit.  The best tree found so far is then returned with
        status ``time_limit``.  From depth 4 on the search has a tenth of the limit at first; then
        exact subtrees of depth two improve the best tree for two fifths of the rest, or for nine
        tenths where a search of depth 5 or more has achieved nothing yet.
    verbose : int, default=0
        Verbosity: 0 is silent, 1 shows progress.

    Attributes
    ----------
    tree_ : DecisionTree
        The best tree found.
    report_ : SolveReport
        Status, bounds and counters: ``candidates``, the thresholds of the root; ``depth_two``
        problems solved, ``batches`` of thresholds swept and ``thresholds`` evaluated in them; above
        these, ``subproblems`` split and ``splits_evaluated``.

    Notes
    -----
    The problem is that of Quant-BnB (Mazumder, Meng, Wang, ICML 2022) and RS-ORT.  With ``L`` and
    ``R`` the least costs on the left and the right of a threshold, thresholds between a and b cost
    at least ``L_a + R_b``.  On the last two levels those that may still win are swept, sixteen at a
    time, as chapter 8 of the book explains; above, the interval with the least bound is halved, and
    both children are solved as far as it takes to close it.

    Sums are floating point.  Targets are centred and scaled first; trees whose squared errors
    differ by less than 1e-12 of the error of a single leaf count as equal, and "optimal" is said
    up to that.

    Examples
    --------
    >>> from odtlib import ContinuousTreeRegressor
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0]]
    >>> model = ContinuousTreeRegressor().fit(X, [1.0, 5.0, 5.0, 2.0, 3.0])
    >>> model.report_.status, model.report_.objective
    ('optimal', 0.0)
    """

    _certified_options = ()
    _parameter_constraints = {
        **SingleTargetRegressor._parameter_constraints,
        "max_depth": [Interval(Integral, 0, 5, closed="both")],
        "start": [StrOptions({"cart"}), HasMethods("predict"), None],
    }

    _accepts_missing = _doubles_missing = True

    max_depth: int = 2
    _: KW_ONLY
    max_nodes: int | None = None
    max_leaf_nodes: int | None = None
    min_samples_leaf: float = 1
    split_penalty: float = 0.0
    start: str | DecisionTree | BaseEstimator | None = "cart"
    time_limit: float | None = None
    verbose: int = 0

    def _warm_up(self, X, y, sample_weight):
        def run():
            rows = _Rows(np.arange(6.0)[:, None], np.array([0.0, 1, 0, 1, 0, 2]), np.ones(6))
            search = _Search(rows, 3, 7, 0.0, 1, NO_LIMIT)
            search.run(Fit(NO_LIMIT), *search.tree(None, 0), None, NO_LIMIT)
            node = rows.node(rows.order, np.ones(6, bool), 6)
            inherit(*node.known, node)

        return warm_up_start(None) + warm_up("the regression sweep", solve_pair, run)

    def _solve(self, X, y, sample_weight):
        fit = Fit(Clock(self.time_limit), start=self._start_word(), verbose=self.verbose)
        preparation = patient_clock(self.time_limit)
        rows = _Rows(X, y, np.ones(len(y)) if sample_weight is None else sample_weight)
        nodes, limit = self._node_budget(len(y)), self._split_limit
        start = self._given_start()
        if isinstance(start, DecisionTree):
            least = self.min_samples_leaf if start.n_splits else 1      # a single leaf may be small
            start = checked_start(start, "regression", X, self.max_depth, least, lambda tree: tree)
            check_splits(start, limit)
        search = _Search(rows, min(self._depth_within(len(y)), nodes), nodes,
                         self.split_penalty / rows.unit, int(self.min_samples_leaf), fit.clock)
        fit.proof = proof_of(self, len(y), limit, ", up to rounding")
        fit.scale, fit.counters = rows.whole * rows.unit, search.counters
        tree, cost = search.tree(None, 0)
        if nodes > 0 and cost > search.penalty + search.tolerance:
            tree, cost = search.run(fit, tree, cost, start, preparation)
        cost *= rows.unit
        objective = default_objective(tree, X, y, sample_weight, float(self.split_penalty))
        rounded = rounding_of_means(y, rows.weight.sum(), 4)
        if abs(objective - cost) > PROOF * fit.scale + rounded:
            raise RuntimeError(f"the tree costs {objective}, the search counted {cost}: please "
                               "report this data set as a bug of odtlib.")
        fit.offer(tree, objective)
        if not fit.stopped:
            fit.finish()
        return tree, fit.report()


class _Rows:
    """Rows with centred and scaled targets; ``order`` holds the columns sorted, ``ids`` the ranks.

    ``unit``: one scaled unit of cost in units of the objective; ``whole``: the cost of one leaf.
    """

    def __init__(self, X, y, weight):
        self.X, self.y, self.weight = X, y, weight
        target = y - np.average(y, weights=weight)
        largest = np.abs(target).max()
        # a power of two changes no digit
        scale = 2.0 ** np.frexp(largest)[1] if largest > 0 else 1.0
        heaviest = 2.0 ** np.frexp(weight.max())[1]
        self.mass = weight / heaviest
        self.target = target / scale
        self.product = self.mass * self.target
        self.unit = scale * scale * heaviest
        self.whole = self.leaf_cost(slice(None))
        # One sweep will do where the weight of every set of rows is exact, or exact enough.
        exact = np.all(weight % 1 == 0) and weight.sum() < 2 ** 53
        rounding = 4 * len(y) * np.finfo(float).eps * self.mass.sum()
        even = exact or rounding <= PROOF * self.whole
        self.n_sweeps, self.share = (1, 1.0) if even else (2, 0.75)

    def sort(self, clock):
        """Sort every column; raises TimeUp."""
        self.order, self.ids = np.empty((2, *self.X.shape[::-1]), np.int32)
        for f in range(self.X.shape[1]):
            clock.check()
            column = np.ascontiguousarray(self.X[:, f])
            self.order[f] = np.argsort(column)
            column = column[self.order[f]]
            self.ids[f, self.order[f]] = np.cumsum(np.append(False, column[1:] != column[:-1]))
        self.n_thresholds = int(self.ids.max(axis=1).sum())

    def node(self, parent, inside, n):
        """Return the node of the ``n`` rows inside, in the order of their parent's columns."""
        p = len(parent)
        node = Node(
            np.empty((self.n_sweeps, p, n), np.int32), np.empty((self.n_sweeps, p, n), np.uint8),
            *np.empty((2, p, n), np.int32), np.empty(p, np.int64), np.empty((2, p, n)),
            np.zeros((2, p, n)), np.zeros((p, n), bool), np.zeros(p, np.int64), np.full(p, -1.0),
            np.empty(p), np.empty(p, np.int64), np.zeros(N_PROGRESS, np.int64))
        index_rows(parent, inside, self.ids, self.product, self.mass, node)
        return node._replace(leaf=self.leaf_cost(node.orders[0, 0]))

    def threshold(self, node, f, k):
        """Return threshold ``k`` of a feature in a node as a number."""
        cut = node.cuts[f, k]
        return midpoint(*self.X[node.orders[0, f, cut - 1:cut + 1], f])

    def leaf_cost(self, rows):
        """Return the squared error of a leaf."""
        mass, target = self.mass[rows], self.target[rows]
        return float((mass * (target - np.average(target, weights=mass)) ** 2).sum())

    def best_split(self, rows, least=1, clock=NO_LIMIT):
        """Return what the best split of some rows saves, its feature and threshold (None: none).

        When time is up, it is the best of those seen.
        """
        best, feature, threshold = 0.0, None, None
        inside = np.zeros(len(self.y), bool)
        inside[rows] = True
        for f, order in enumerate(self.order):
            if clock.expired:
                break
            by_value = order[inside[order]]
            ids = self.ids[f, by_value]
            ends = np.flatnonzero(ids[1:] != ids[:-1])
            ends = ends[(ends + 1 >= least) & (len(ids) - ends - 1 >= least)]
            if len(ends):
                mass, target = self.mass[by_value], self.product[by_value]
                # sums from both ends: a difference would lose light rows beside heavy ones
                w, s = np.cumsum(mass)[ends], np.cumsum(target)[ends]
                v, t = (np.cumsum(part[::-1])[-2 - ends] for part in (mass, target))
                saved = (s * v - w * t) ** 2 / (w * v * (w + v))
                if saved.max() > best:
                    at = ends[np.argmax(saved)]
                    best, feature = saved.max(), f
                    threshold = midpoint(*self.X[by_value[at:at + 2], f])
        return best, feature, threshold


class _Search(IntervalSearch):
    """Find the best tree.  Costs are in scaled units."""

    horizon = HORIZON

    def __init__(self, rows, depth, max_nodes, penalty, least, clock):
        n = len(rows.y)
        super().__init__(n, penalty, least, ROUNDING * rows.whole, clock)
        self.rows, self.depth, self.max_nodes = rows, depth, max_nodes
        self.pace = Pace()
        self.counters.update(depth_two=0, batches=0, thresholds=0, candidates=0)
        self.batch = Batch(np.empty(n, np.uint8), np.empty(LANE_ARRAY), np.empty((4, LANES)),
                           *np.empty((2, LANES), np.int64))

    def tree(self, plan, depth, clock=NO_LIMIT):
        """Return a tree within the limits, and its cost.

        ``plan`` is None or (feature, threshold, left plan, right plan); what it leaves open is
        grown greedily down to ``depth``.  Then the best subtree is taken.
        """
        data = self.rows

        def split(node, rows):
            plan, levels = node
            if plan is None:
                if levels == 0:
                    return None
                _, feature, threshold = data.best_split(rows, self.least, clock)
                plan = feature, threshold, None, None
            feature, threshold, left, right = plan
            if feature is None:
                return None
            goes_left = data.X[rows, feature] <= threshold
            if goes_left.all() or not goes_left.any():
                return split((left if goes_left.all() else right, levels - 1), rows)
            return feature, threshold, goes_left, (left, levels - 1), (right, levels - 1)

        *table, members = build((plan, depth), len(data.y), split)
        value = [[np.average(data.y[rows], weights=data.weight[rows])] for rows in members]
        cost = np.array([data.leaf_cost(rows) for rows in members])
        tree = DecisionTree(*table, value, kind="regression", n_features=data.X.shape[1])
        tree = cut_back(tree, self.max_nodes, self.penalty, cost)
        leaf = tree.apply(data.X)
        cost = sum(data.leaf_cost(leaf == number) for number in np.flatnonzero(tree.feature < 0))
        return tree, cost + self.penalty * tree.n_splits

    def run(self, fit, tree, best, start, preparation):
        """Sort the rows and search, from a known tree or the start, to the end or to a limit.

        Return the best tree and its cost.
        """
        rows = self.rows

        def watch(plan, cost, lower):
            nonlocal tree, best
            if cost < best - self.tolerance:
                better, cost = self.tree(plan, self.depth)
                if cost < best:
                    tree, best = better, cost
            fit.learn(min(best, lower) * rows.unit)
            fit.note("searched", best * rows.unit)

        def keep(better, cost):
            nonlocal tree, best
            tree, best = better, cost
            fit.note("subtrees", best * rows.unit)

        def answer(root):
            solution = self.solve(root, self.depth, self.max_nodes, best, watch)
            watch(solution.plan, solution.cost, np.inf)

        with fit.stops():
            rows.sort(preparation)
            if start is not None:
                plan = plan_of(start) if start != "cart" else None
                better, cost = self.tree(plan, self.depth, preparation)
                if cost < best:
                    tree, best = better, cost
            preparation.check()
            inside = np.ones(len(rows.y), bool)
            root = rows.node(rows.order, inside, len(inside))
            self.counters["candidates"] = int(root.n_cuts.sum())
            limit = fit.clock.time_limit
            if limit is not None and min(self.depth, self.max_nodes) > HORIZON + 1:
                self.clock = Clock(min(TURN * limit, fit.clock.remaining))
                try:
                    answer(root)
                    return tree, best
                except TimeUp:
                    hopeless = self.depth > DEEP and self.n_root_splits < len(rows.order)
                    looking = Clock(LOOKS[hopeless] * fit.clock.remaining)
                    if self.max_nodes < 2**self.depth - 1:
                        self.shallower(best, watch, looking)
                    self.improve(tree, best, keep, looking)
                root, self.clock = rows.node(rows.order, inside, len(inside)), fit.clock
            answer(root)
        return tree, best

    def shallower(self, cap, watch, clock):
        """Search smaller depths, which leave more of a budget of nodes to each split.

        ``watch`` hears of trees that cost less than ``cap``; they bound no deeper ones.
        """
        def hear(plan, cost, _):
            watch(plan, cost, 0.0)

        for levels in range(HORIZON, self.depth):
            small = _Search(self.rows, levels, self.max_nodes, self.penalty, self.least,
                            Clock(clock.remaining / 2))
            root = self.rows.node(self.rows.order, np.ones(len(self.rows.y), bool),
                                  len(self.rows.y))
            try:
                solution = small.solve(root, levels, self.max_nodes, cap, hear)
            except TimeUp:
                break
            hear(solution.plan, solution.cost, 0.0)

    def improve(self, tree, cost, keep, clock):
        """Look for better subtrees of a tree; ``keep(tree, cost)`` hears of every better tree."""
        rows, least = self.rows, self.least
        small = _Search(rows, HORIZON, 3, self.penalty, least, clock)

        def split(some):
            saved, *best = rows.best_split(some, least)
            return (*best, None, None) if saved > self.penalty else None

        def solve(some, levels):
            if levels < HORIZON:
                return split(some)
            inside = np.zeros(len(rows.y), bool)
            inside[some] = True
            plan = small.solve(rows.node(rows.order, inside, len(some)), levels, 3, np.inf).plan
            if plan is None:
                return None
            left = rows.X[some, plan[0]] <= plan[1]
            return (*plan[:2], split(some[left]), split(some[~left]))

        def loss(inside, asked):
            if len(inside) < least:
                return np.full(len(asked), np.inf)
            mean = np.average(rows.target[inside], weights=rows.mass[inside])
            return rows.mass[asked] * (rows.target[asked] - mean) ** 2

        SubtreeSearch(rows.X, self.depth, solve, loss, lambda plan: self.tree(plan, self.depth),
                      self.penalty, clock, np.random.RandomState(0)).run(tree, cost, keep)

    def child(self, node, inside, n, known):
        child = self.rows.node(node.orders[0], inside, n)
        if known is not None:
            inherit(*known, child)
        return child

    def threshold(self, node, f, k):
        return self.rows.threshold(node, f, k)

    def solve_shallow(self, node, depth, max_nodes, cap, watch):
        leaf = node.leaf if watch or node.n_rows >= self.least else np.inf
        if depth == 0 or node.leaf <= self.penalty:
            return Solution(leaf, node.leaf)
        if depth == 1:
            return self.solve_stump(node, leaf)
        return self.solve_pair(node, min(max_nodes, 3), leaf, cap, watch)

    def solve_stump(self, node, leaf):
        """Return the solution of a node with one split left."""
        rows = node.orders[0, 0]
        saved, *split = self.rows.best_split(rows)
        relaxed = node.leaf - max(0.0, saved - self.penalty)
        if self.least > 1:
            saved, *split = self.rows.best_split(rows, self.least)
        if saved <= self.penalty:
            return Solution(leaf, relaxed)
        return Solution(node.leaf - saved + self.penalty, relaxed, (*split, None, None))

    def solve_pair(self, node, max_nodes, leaf, cap, watch):
        """Return the solution of a node with two levels or two splits left."""
        best, rows = np.array([leaf]), self.rows
        node.progress[FEATURE] = -1
        finished = False
        while not finished:
            finished = self.pace.slice(lambda work: solve_pair(
                node, rows.product, rows.mass, rows.share, max_nodes, self.penalty, self.least,
                cap, self.tolerance, work, self.batch, best))
            f, k = node.progress[:2].tolist()
            plan = (f, rows.threshold(node, f, k), None, None) if f >= 0 else None
            for name, at in (("batches", BATCHES), ("thresholds", SWEPT)):
                self.counters[name] += int(node.progress[at])
                node.progress[at] = 0
            if watch:
                watch(plan, best[0], node.bounds.min())
            if not finished:
                self.clock.check()
        self.counters["depth_two"] += 1
        relaxed = min(node.leaf, float(node.bounds.min()))
        cost = float(best[0])
        return Solution(cost if cost < cap else max(cap, relaxed), relaxed, plan, node.known)
