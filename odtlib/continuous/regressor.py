"""The estimator: optimal regression trees of depth two over all thresholds of numeric features."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from odtlib._numba.warm import warm_up
from odtlib._tolerance import PROOF, ROUNDING
from odtlib.continuous._regression import LANE_ARRAY, LANES, sweep_squares
from odtlib.continuous.costs import Objective, node_limit
from odtlib.continuous.progress import Progress
from odtlib.estimator import SingleTargetRegressor
from odtlib.heuristics import warm_up_start
from odtlib.heuristics.cart import patient_clock
from odtlib.report import Clock, SolveReport, TimeUp
from odtlib.tree import DecisionTree, midpoint


class ContinuousTreeRegressor(SingleTargetRegressor):
    """Find the regression tree of depth two with the least squared error over all thresholds.

    No binarisation: every midpoint between neighbouring values of every feature is a candidate,
    compared exactly in float64.

    Parameters
    ----------
    max_depth : int, default=2
        Maximum depth of the tree.  It is 0, 1 or 2.  Depth 2 takes a few seconds on ten thousand
        rows; the time grows with the square of rows times features.
    max_nodes : int, optional
        Maximum number of feature nodes; None for no limit.
    max_leaf_nodes : int, optional
        Maximum number of leaves; None for no limit.  The same limit as
        ``max_nodes = max_leaf_nodes - 1``.
    split_penalty : float, default=0.0
        Cost of one split, in the unit of ``report_.objective``.  The objective is the weighted
        squared error plus ``split_penalty`` per split: a split stays only if it saves more.
    start : "cart", None, DecisionTree or fitted estimator, default="cart"
        Warm start: None, a word, a :class:`DecisionTree` or a fitted tree estimator.  The search
        begins with the root split of that tree, completed optimally.
    time_limit : float, optional
        Time limit in seconds; None for no limit.  The best tree found so far is then returned with
        status ``time_limit``.
    verbose : int, default=0
        Verbosity: 0 is silent, 1 shows progress.

    Attributes
    ----------
    tree_ : DecisionTree
        The best tree found.
    report_ : SolveReport
        Status, bounds and counters: ``batches`` of thresholds swept, ``thresholds`` evaluated and
        ``candidates`` that there are at the root.

    Notes
    -----
    The problem is that of Quant-BnB (Mazumder, Meng, Wang, ICML 2022) at depth two.  The search
    begins with the greedy tree.  With ``L`` and ``R`` the least costs on the left and the right of
    a threshold, thresholds between a and b cost at least ``L_a + R_b``; those that may still win
    are swept, sixteen at a time, as chapter 8 of the book explains.  A minimum number of samples
    per leaf is not offered: the best tree of a subset of the rows would no longer be a lower bound
    for the set, and no threshold could be closed.

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

    _parameter_constraints = {
        **SingleTargetRegressor._parameter_constraints,
        "max_depth": [Interval(Integral, 0, 2, closed="both")],
        "max_nodes": [Interval(Integral, 0, None, closed="left"), None],
        "max_leaf_nodes": [Interval(Integral, 1, None, closed="left"), None],
        "split_penalty": [Interval(Real, 0, None, closed="left")],
        "start": [StrOptions({"cart"}), HasMethods("predict"), None],
    }

    def __init__(self, max_depth: int = 2, *, max_nodes: int | None = None,
                 max_leaf_nodes: int | None = None, split_penalty: float = 0.0,
                 start: str | DecisionTree | BaseEstimator | None = "cart",
                 time_limit: float | None = None, verbose: int = 0) -> None:
        self.max_depth = max_depth
        self.max_nodes = max_nodes
        self.max_leaf_nodes = max_leaf_nodes
        self.split_penalty = split_penalty
        self.start = start
        self.time_limit = time_limit
        self.verbose = verbose

    def _warm_up(self, X, y, sample_weight):
        def run():
            rows = _Rows(np.arange(6.0)[:, None], np.array([0.0, 1, 0, 1, 0, 2]), np.ones(6))
            _Search(rows, 3, 0.0, Clock(), 0)(2, "cart")

        return warm_up_start(None) + warm_up("the regression sweep", sweep_squares, run)

    def _solve(self, X, y, sample_weight):
        clock = Clock(self.time_limit)
        rows = _Rows(X, y, np.ones(len(y)) if sample_weight is None else sample_weight)
        depth = self._depth_within(len(y))
        limit = node_limit(self.max_nodes, self.max_leaf_nodes)
        nodes = 2**depth - 1 if limit is None else min(limit, 2**depth - 1)
        start = self._given_start()
        if isinstance(start, DecisionTree):
            _check_start(start, X, self.max_depth, limit)
        search = _Search(rows, nodes, self.split_penalty / rows.unit, clock, self.verbose)
        status = search(min(depth, nodes), start)
        tree = rows.tree(search.nested)
        evaluate = Objective(float(self.split_penalty))
        objective = evaluate(tree, X, y, sample_weight)
        scale = rows.whole * rows.unit
        # a leaf's mean is rounded like the targets, which matters where they hardly differ
        rounded = 4 * np.finfo(float).eps * np.abs(y).max()
        if abs(objective - search.best * rows.unit) > (PROOF * scale
                                                       + rows.weight.sum() * rounded ** 2):
            raise RuntimeError(f"the tree costs {objective}, the search counted "
                               f"{search.best * rows.unit}: please report this data set as a bug "
                               "of odtlib.")
        bound = objective if status == "optimal" else min(objective, search.bound * rows.unit)
        search.trace.append((clock.elapsed, objective, bound, status))
        proof = (f"optimal over all thresholds of {X.shape[1]} features on {len(y)} rows at "
                 f"depth {self.max_depth}{'' if limit is None else f' with at most {limit} splits'}"
                 ", up to rounding")
        report = SolveReport(status, objective, bound, clock.elapsed, counters=search.counters,
                             trace=search.trace, proof=proof, start=self._start_word(),
                             evaluate=evaluate, scale=scale)
        return tree, report


def _check_start(tree, X, max_depth, max_nodes):
    """Refuse a tree that cannot be what the search begins with."""
    if tree.kind != "regression":
        raise ValueError(f"start is a {tree.kind} tree; give a regression tree.")
    if tree.feature.max() >= X.shape[1]:
        raise ValueError(f"start is a tree over {tree.n_features} features and X has "
                         f"{X.shape[1]}; give a tree fitted on the same columns.")
    if tree.depth > max_depth:
        raise ValueError(f"start is a tree of depth {tree.depth} and max_depth is {max_depth}; "
                         "give a shallower tree or raise max_depth.")
    if max_nodes is not None and tree.n_splits > max_nodes:
        raise ValueError(f"start has {tree.n_splits} splits and the limit is {max_nodes}; give a "
                         "smaller tree or raise max_nodes or max_leaf_nodes.")


class _Rows:
    """Rows, scaled targets, and the columns in sorted order."""

    def __init__(self, X, y, weight):
        self.X, self.y, self.weight = X, y, weight
        target = y - np.average(y, weights=weight)
        largest = np.abs(target).max()
        # a power of two changes no digit
        scale = 2.0 ** np.frexp(largest)[1] if largest > 0 else 1.0
        heaviest = 2.0 ** np.frexp(weight.max())[1]
        self.mass = weight / heaviest
        self.target = target / scale
        self.unit = scale * scale * heaviest
        self.whole = float((self.mass * self.target ** 2).sum())

    def sort(self, clock):
        """Sort every column and find its thresholds; raises TimeUp."""
        n, p = self.X.shape
        self.columns = np.empty((p, n))
        self.order = np.empty((p, n), np.int32)
        self.tie_state = np.empty((p, n), np.uint8)
        self.cuts = []      # numbers of rows on the left
        for f in range(p):
            clock.check()
            self.columns[f] = self.X[:, f]
            self.order[f] = np.argsort(self.columns[f])
            column = self.columns[f, self.order[f]]
            ends = np.append(column[1:] != column[:-1], True)
            self.tie_state[f] = _places_in_ties(np.insert(ends[:-1], 0, True), ends)
            self.cuts.append(np.flatnonzero(ends[:-1]) + 1)

    def sweeps(self):
        """Return the (order, places in ties) of each sweep and the share of weight that it covers.

        One sweep will do where the weight of every set of rows is exact, or exact enough.
        """
        n, total = len(self.mass), self.mass.sum()
        whole = np.all(self.weight % 1 == 0) and self.weight.sum() < 2 ** 53
        if whole or 4 * n * np.finfo(float).eps * total <= PROOF * self.whole:
            return [(self.order, self.tie_state)], 1.0
        last = self.tie_state > 0
        first = np.insert(last[:, :-1], 0, True, axis=1)
        backwards = np.ascontiguousarray(self.order[:, ::-1])
        return [(self.order, self.tie_state),
                (backwards, _places_in_ties(last[:, ::-1], first[:, ::-1]))], 0.75

    def error(self, rows):
        """Squared error of a leaf."""
        target, mass = self.target[rows], self.mass[rows]
        return float((mass * (target - np.average(target, weights=mass)) ** 2).sum())

    def best_split(self, inside, clock):
        """Return saving, feature and number of rows on the left of the best split of some rows.

        When time is up, it is the best of those seen.
        """
        best, feature, cut = 0.0, None, 0
        for f, order in enumerate(self.order):
            if clock.expired:
                break
            by_value = order[inside[order]]
            column = self.columns[f, by_value]
            ends = np.flatnonzero(column[1:] != column[:-1])
            if len(ends):
                mass = self.mass[by_value]
                target = mass * self.target[by_value]
                # sums from both ends: a difference would lose light rows beside heavy ones
                w, s = np.cumsum(mass)[ends], np.cumsum(target)[ends]
                v, t = (np.cumsum(part[::-1])[-2 - ends] for part in (mass, target))
                saved = (s * v - w * t) ** 2 / (w * v * (w + v))
                if saved.max() > best:
                    best, feature, cut = saved.max(), f, ends[np.argmax(saved)] + 1
        return best, feature, cut

    def grow(self, inside, levels, nodes, penalty, clock, root=None):
        """Return a nested tree of at most ``nodes`` splits, and its cost.

        It is grown from the best split, or from ``root``: a feature and the rows on its left.
        """
        leaf = [np.average(self.y[inside], weights=self.weight[inside])], self.error(inside)
        feature = None
        if root is not None:
            feature, cut = root
        elif min(levels, nodes) > 0:
            _, feature, cut = self.best_split(inside, clock)
        if feature is None:
            return leaf
        order, column = self.order[feature], self.columns[feature]
        by_value = order[inside[order]]
        low, high = column[by_value[cut - 1]], column[by_value[cut]]
        left, right = inside & (column <= low), inside & (column >= high)
        full = 2 ** (levels - 1) - 1        # a child has at most so many splits
        divisions = {(share, min(full, nodes - 1 - share))
                     for share in range(max(0, nodes - 1 - full), min(full, nodes - 1) + 1)}
        best = leaf
        for shares in sorted(divisions, reverse=True):
            (first, error), (second, other) = (
                self.grow(part, levels - 1, share, penalty, clock)
                for part, share in zip((left, right), shares, strict=True))
            if error + other + penalty < best[1]:
                best = (feature, midpoint(low, high), first, second), error + other + penalty
        return best

    def tree(self, nested):
        """Return the tree with the mean target in every node."""
        tree = DecisionTree.from_nested(nested, kind="regression", n_features=self.X.shape[1])
        path = tree.decision_path(self.X)
        value = (path.T @ (self.weight * self.y)) / (path.T @ self.weight)
        return tree.replace(value=value[:, None])


def _places_in_ties(first, last):
    """Return 1 for a value of its own, 2 for the last place of a tie, 0 for the others."""
    return np.where(last, np.where(first, 1, 2), 0).astype(np.uint8)


class _Search:
    """Sweep root thresholds in batches until none can win; errors are in scaled units."""

    def __init__(self, rows, max_nodes, penalty, clock, verbose):
        self.rows, self.max_nodes, self.penalty = rows, max_nodes, penalty
        self.clock, self.verbose = clock, verbose
        self.nested, self.best = [np.average(rows.y, weights=rows.weight)], rows.whole
        self.every = np.ones(len(rows.y), bool)
        self.bound, self.trace, self.counters = 0.0, [], {}

    def __call__(self, depth, start):
        """Search; return the status."""
        rows = self.rows
        if depth == 0 or rows.whole == 0:
            return "optimal"
        try:
            preparation = patient_clock(self.clock.time_limit)
            rows.sort(preparation)
            root = None
            if isinstance(start, DecisionTree) and start.n_splits and depth > 1:
                feature, threshold = int(start.feature[0]), start.threshold[0]
                root = feature, np.count_nonzero(rows.X[:, feature] <= threshold)
                if not 0 < root[1] < len(rows.y):
                    root = None
            if start is not None or depth == 1:
                self.nested, self.best = rows.grow(self.every, depth, self.max_nodes, self.penalty,
                                                   preparation, root)
            preparation.check()
            if depth == 1 or self.best <= self.penalty + ROUNDING * rows.whole:
                return "optimal"
            self._sweep()
            return "optimal"
        except TimeUp:
            return "time_limit"
        except KeyboardInterrupt:
            return "interrupted"

    def _sweep(self):
        """Close every threshold; raises TimeUp."""
        rows = self.rows
        p, n = rows.order.shape
        candidates = sum(map(len, rows.cuts))
        self.counters = {"batches": 0, "thresholds": 0, "candidates": candidates}
        state = []
        for f in range(p):
            self.clock.check()
            if len(rows.cuts[f]):
                state.append(_Feature(rows, f, self.max_nodes, self.penalty))
        work = np.empty(n, np.uint8), np.empty(LANE_ARRAY)
        weighted = rows.mass * rows.target
        chosen, saved = np.empty(LANES, np.int64), np.empty((2, LANES))
        sweeps, share = rows.sweeps()
        with Progress(self.verbose, candidates, "threshold", rows.unit) as progress:
            while True:
                limit = self.best - ROUNDING * rows.whole
                state = [feature for feature in state if feature.shrink(limit)]
                self.bound = min([self.best, *(feature.bound for feature in state)])
                self.trace.append((self.clock.elapsed, self.best * rows.unit,
                                   self.bound * rows.unit, "swept"))
                progress.show(self.best, self.bound,
                              candidates - sum(len(feature.open) for feature in state))
                if not state:
                    return
                self.clock.check()
                # every feature once, then the most promising first
                feature = min(state, key=lambda feature: feature.least)
                places = feature.spread(LANES)
                chosen[:] = n
                chosen[:len(places)] = feature.cuts[places]
                saved[:] = 0.0
                for order, tie_state in sweeps:
                    sweep_squares(order, tie_state, weighted, rows.mass, rows.order[feature.number],
                                  chosen, share, *work, saved)
                self.counters["batches"] += 1
                self.counters["thresholds"] += len(places)
                error, place = feature.note(places, saved[:, :len(places)])
                if error < limit:
                    found = rows.grow(self.every, 2, self.max_nodes, self.penalty, self.clock,
                                      (feature.number, feature.cuts[place]))
                    if found[1] < self.best:
                        self.nested, self.best = found


class _Feature:
    """The thresholds of one root feature: what is known of them, and which are open."""

    def __init__(self, rows, number, max_nodes, penalty):
        self.number, self.cuts = number, rows.cuts[number]
        self.max_nodes, self.penalty = max_nodes, penalty
        order = rows.order[number]
        mass, target = rows.mass[order], rows.target[order]
        leaves = []
        for part in (slice(None), slice(None, None, -1)):      # leaves on the left, on the right
            m, s, q = (np.cumsum(a[part]) for a in (mass, mass * target, mass * target ** 2))
            leaves.append(np.maximum(q - s * s / m, 0.0))
        self.leaves = leaves[0][self.cuts - 1], leaves[1][::-1][self.cuts]
        self.left = np.zeros(len(self.cuts))       # lower bounds of both children
        self.right = np.zeros(len(self.cuts))
        self.open = np.arange(len(self.cuts))
        self.least = -1.0

    def shrink(self, limit):
        """Close thresholds that cannot get below a limit; say whether any are left."""
        self.left = np.maximum.accumulate(self.left)
        self.right = np.maximum.accumulate(self.right[::-1])[::-1]
        lower = self.cost(self.left[self.open], self.right[self.open], self.open)
        self.open = self.open[lower < limit]
        self.bound = lower.min() if len(self.open) else np.inf
        return len(self.open) > 0

    def spread(self, count):
        """Return thresholds spread evenly over the open ones."""
        if len(self.open) <= count:
            return self.open
        return self.open[(np.arange(count) * 2 + 1) * len(self.open) // (2 * count)]

    def cost(self, left, right, places):
        """Return the cost of trees split at some thresholds from the costs of their children."""
        if self.max_nodes > 2:
            return left + right + self.penalty
        return np.minimum(left + self.leaves[1][places],
                          self.leaves[0][places] + right) + self.penalty

    def note(self, places, saved):
        """Keep the costs of the children; return the least cost of a tree and its threshold."""
        left, right = (leaves[places] - np.maximum(0.0, part - self.penalty)
                       for leaves, part in zip(self.leaves, saved, strict=True))
        self.left[places] = np.maximum(self.left[places], left)
        self.right[places] = np.maximum(self.right[places], right)
        self.open = np.setdiff1d(self.open, places, assume_unique=True)
        cost = self.cost(left, right, places)
        best = int(np.argmin(cost))
        self.least = max(0.0, cost[best]) if self.least < 0 else min(self.least, cost[best])
        return cost[best], places[best]
