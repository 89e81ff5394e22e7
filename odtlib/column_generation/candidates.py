"""Generate candidate splits: from few to the proved optimum over all thresholds."""

from __future__ import annotations

import numpy as np

from odtlib.column_generation import _kernels as kernels
from odtlib.report import TimeUp
from odtlib.tree import midpoint

NODE_BYTES = 80         # of a row's feature, on one level of prefixes
STEPS = 20_000_000      # of a kernel between two looks at the clock: some 30 ms


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

    def __init__(self, X, y, n_classes, weight, clock, tolerance):
        self.X, self.y, self.n_classes, self.weight = X, y, n_classes, weight
        self.clock, self.tolerance = clock, tolerance
        self.rank = np.array([np.unique(column, return_inverse=True)[1].reshape(-1)
                              for column in X.T])
        self.n_generated = 0

    def run(self, depth, value, watch=None):
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
