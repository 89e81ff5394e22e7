"""The estimator: optimal regression trees of depth two over all thresholds of numeric features."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from sklearn.utils._param_validation import Interval

from odtlib._numba.warm import warm_up
from odtlib._tolerance import PROOF, ROUNDING
from odtlib.continuous._regression import LANE_ARRAY, LANES, sweep_squares
from odtlib.continuous.progress import Progress
from odtlib.estimator import SingleTargetRegressor
from odtlib.heuristics import warm_up_start
from odtlib.heuristics.cart import patient_clock
from odtlib.report import Clock, SolveReport, TimeUp, default_objective
from odtlib.tree import DecisionTree, midpoint


class ContinuousTreeRegressor(SingleTargetRegressor):
    """Find the regression tree of depth two with the least squared error over all thresholds.

    No binarisation: every midpoint between neighbouring values of every feature is a candidate,
    compared exactly in float64.

    Parameters
    ----------
    max_depth : int, default=2
        Largest number of splits on a path: 0, 1 or 2.  Depth 2 takes a few seconds on ten thousand
        rows; the time grows with the square of rows times features.
    time_limit : float, default=None
        Seconds after which the best tree so far is returned with status ``time_limit``.
    verbose : int, default=0
        1 shows a progress bar over root thresholds.

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
    begins with the greedy tree.  With ``L`` and ``R`` the least squared errors on the left and the
    right of a threshold, thresholds between a and b cost at least ``L_a + R_b``; those that may
    still win are swept, sixteen at a time, as chapter 8 of the book explains.

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
    }

    def __init__(self, max_depth=2, *, time_limit=None, verbose=0):
        self.max_depth = max_depth
        self.time_limit = time_limit
        self.verbose = verbose

    def _warm_up(self, X, y, sample_weight):
        def run():
            rows = _Rows(np.arange(6.0)[:, None], np.array([0.0, 1, 0, 1, 0, 2]), np.ones(6))
            _Search(rows, 2, Clock(), 0)()

        return warm_up_start(None) + warm_up("the regression sweep", sweep_squares, run)

    def _solve(self, X, y, sample_weight):
        clock = Clock(self.time_limit)
        rows = _Rows(X, y, np.ones(len(y)) if sample_weight is None else sample_weight)
        search = _Search(rows, self._depth_within(len(y)), clock, self.verbose)
        status = search()
        tree = rows.tree(search.nested)
        objective = default_objective(tree, X, y, sample_weight)
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
                 f"depth {self.max_depth}, up to rounding")
        report = SolveReport(status, objective, bound, clock.elapsed, counters=search.counters,
                             trace=search.trace, proof=proof, start="cart", scale=scale)
        return tree, report


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
        self.alone = np.empty((p, n), np.uint8)
        self.cuts = []      # numbers of rows on the left
        for f in range(p):
            clock.check()
            self.columns[f] = self.X[:, f]
            self.order[f] = np.argsort(self.columns[f])
            column = self.columns[f, self.order[f]]
            ends = np.append(column[1:] != column[:-1], True)
            self.alone[f] = _places_in_ties(np.insert(ends[:-1], 0, True), ends)
            self.cuts.append(np.flatnonzero(ends[:-1]) + 1)

    def sweeps(self):
        """Return the (order, places in ties) of each sweep and the share of weight that it covers.

        One sweep will do where the weight of every set of rows is exact, or exact enough.
        """
        n, total = len(self.mass), self.mass.sum()
        whole = np.all(self.weight % 1 == 0) and self.weight.sum() < 2 ** 53
        if whole or 4 * n * np.finfo(float).eps * total <= PROOF * self.whole:
            return [(self.order, self.alone)], 1.0
        last = self.alone > 0
        first = np.insert(last[:, :-1], 0, True, axis=1)
        backwards = np.ascontiguousarray(self.order[:, ::-1])
        return [(self.order, self.alone),
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

    def grow(self, inside, levels, clock, root=None):
        """Return a nested tree and its error: the best split first, or ``root`` (feature, cut)."""
        feature = None
        if root is not None:
            feature, cut = root
        elif levels > 0:
            _, feature, cut = self.best_split(inside, clock)
        if feature is None:
            return [np.average(self.y[inside], weights=self.weight[inside])], self.error(inside)
        order, column = self.order[feature], self.columns[feature]
        by_value = order[inside[order]]
        low, high = column[by_value[cut - 1]], column[by_value[cut]]
        left, right = inside & (column <= low), inside & (column >= high)
        first, error = self.grow(left, levels - 1, clock)
        second, other = self.grow(right, levels - 1, clock)
        return (feature, midpoint(low, high), first, second), error + other

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

    def __init__(self, rows, max_depth, clock, verbose):
        self.rows, self.max_depth, self.clock, self.verbose = rows, max_depth, clock, verbose
        self.nested, self.best = [np.average(rows.y, weights=rows.weight)], rows.whole
        self.every = np.ones(len(rows.y), bool)
        self.bound, self.trace, self.counters = 0.0, [], {}

    def __call__(self):
        """Search; return the status."""
        rows = self.rows
        if self.max_depth == 0 or rows.whole == 0:
            return "optimal"
        try:
            preparation = patient_clock(self.clock.time_limit)
            rows.sort(preparation)
            self.nested, self.best = rows.grow(self.every, self.max_depth, preparation)
            preparation.check()
            if self.max_depth == 1 or self.best <= ROUNDING * rows.whole:
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
                state.append(_Feature(rows, f))
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
                for order, alone in sweeps:
                    sweep_squares(order, alone, weighted, rows.mass, rows.order[feature.number],
                                  chosen, share, *work, saved)
                self.counters["batches"] += 1
                self.counters["thresholds"] += len(places)
                error, place = feature.note(places, saved[:, :len(places)])
                if error < limit:
                    found = rows.grow(self.every, 2, self.clock,
                                      (feature.number, feature.cuts[place]))
                    if found[1] < self.best:
                        self.nested, self.best = found


class _Feature:
    """The thresholds of one root feature: what is known of them, and which are open."""

    def __init__(self, rows, number):
        self.number, self.cuts = number, rows.cuts[number]
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
        lower = self.left[self.open] + self.right[self.open]
        self.open = self.open[lower < limit]
        self.bound = lower.min() if len(self.open) else np.inf
        return len(self.open) > 0

    def spread(self, count):
        """Return thresholds spread evenly over the open ones."""
        if len(self.open) <= count:
            return self.open
        return self.open[(np.arange(count) * 2 + 1) * len(self.open) // (2 * count)]

    def note(self, places, saved):
        """Keep the errors of the children; return the least of their sums and its threshold."""
        left, right = self.leaves[0][places] - saved[0], self.leaves[1][places] - saved[1]
        self.left[places] = np.maximum(self.left[places], left)
        self.right[places] = np.maximum(self.right[places], right)
        self.open = np.setdiff1d(self.open, places, assume_unique=True)
        best = int(np.argmin(left + right))
        self.least = max(0.0, (left + right)[best]) if self.least < 0 else min(
            self.least, (left + right)[best])
        return (left + right)[best], places[best]
