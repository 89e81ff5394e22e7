"""Grow one tree: the compiled builder for closed forms, the lazy one for everything else."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from odtlib._numba.warm import warm_up
from odtlib.constrained import _growth, _lazy, _projections
from odtlib.constrained._losses import LOSSES
from odtlib.constrained.sets import Box, Polyhedron
from odtlib.fit import FIRST_SLICE, Fit, Pace
from odtlib.report import Clock
from odtlib.tolerance import ROUNDING
from odtlib.tree import DecisionTree

AT_LEAST = 20        # times a first slice is grown whatever the limit: some 0.2 s
ROWS_AT_ONCE = 500_000          # times features whose candidates are listed: some 0.2 s
PROJECTION = 10      # additions for each target of a point that is projected
FREE = Box()


class Growth(NamedTuple):
    """A tree that predicts means, and the weight of each of its nodes."""

    tree: DecisionTree
    weight: np.ndarray


def presorted(X, Y, w):
    """Return the rows as kernels take them."""
    columns = np.ascontiguousarray(X.T)
    order = np.argsort(columns, axis=1)
    return _growth.Table(order.astype(np.int32), np.take_along_axis(columns, order, axis=1), Y,
                         np.empty(0) if w is None else np.array(w))


def grow_tree(X, Y, w, loss, split, feasible, penalty_rate, limits, fit):
    """Return the Growth of a tree; ``penalty_rate`` is inf but for splits by a penalty."""
    if split == "mean":
        split, feasible = "exact", FREE
    code, closed = _encode(loss, split, feasible)
    builder = Builder if closed else LazyBuilder
    return builder(X, Y, w, loss, split, feasible, penalty_rate, code, limits, fit).run()


def _encode(loss, split, feasible):
    """Return the set as kernels take it, or None, and whether its splits have closed forms."""
    if split == "medoid":
        return None, False
    code = (FREE if split == "mean" else feasible).encode(len(loss.weights), loss.weights)
    if code is None or loss.name == "absolute_error":
        return code, False
    if loss.name == "squared_error":
        return code, _projections.is_closed(code, loss.weights)
    kind, ints, _ = code
    return code, kind == _projections.SIMPLEX or (kind == _projections.SEPARABLE and not ints[1])


def compile_growth(loss, split, feasible):
    """Compile what :func:`grow_tree` calls for such splits; return the seconds that it took."""
    if _encode(loss, split, feasible)[1]:
        return warm_up("constrained trees", _growth.grow,
                       lambda: _grow_small("squared_error", Box(0.0, 1.0)))

    def run():
        for name in ("squared_error", "absolute_error"):
            _grow_small(name, Polyhedron([[1.0, 1.0]], [1.0]))

    return warm_up("constrained trees by lazy search", _lazy.search, run)


def _grow_small(criterion, feasible):
    """Grow a tree of one split, and do with it what a fit does."""
    X, Y = np.arange(8.0).reshape(-1, 1), np.tile(np.eye(2), (4, 1))
    tree = grow_tree(X, Y, None, make_loss(criterion, np.ones(2)), "exact", feasible, np.inf,
                     _growth.Limits(1, 2, 1, 1, 0), Fit(Clock())).tree
    feasible.project(tree.value)
    tree.apply(X)


class Builder:
    """Grow a tree, of splits with closed forms, in a kernel."""

    def __init__(self, X, Y, w, loss, split, feasible, penalty_rate, code, limits, fit):
        n, k = Y.shape
        self.loss, self.split, self.feasible, self.code = loss, split, feasible, code
        self.penalty_rate, self.limits, self.fit = penalty_rate, limits, fit
        # from where targets are measured, so that rounding is relative to the root's cost
        self.origin = np.average(Y, axis=0, weights=w) if loss.name == "squared_error" else \
            np.zeros(k)
        self.table = presorted(X, Y - self.origin, w)
        size = int(min(2.0 * n, 2.0 ** min(limits.max_depth + 1, 60)))
        self.progress = np.array([0, 1, 0, -1, 0, -1, 0], np.int64)
        feature, left, right = np.full((3, size), -1, np.int64)
        threshold, weight = np.full((2, size), np.nan)
        self.nodes = _growth.Nodes(feature, threshold, left, right, weight, np.zeros((size, k)))
        code = code or FREE.encode(k, loss.weights)
        self.price = _growth.Price(
            _growth.POISSON if loss.name == "poisson" else _growth.SQUARED, *code, penalty_rate,
            loss.weights, self.origin)
        self.scratch = _growth.make_scratch(n, k, _projections.room_for(code, loss.weights))

    def growth(self, **counters):
        """Cut the arrays to size."""
        count = int(self.progress[0])
        self.fit.counters = {"nodes": count, **counters}
        *table, weight, sums = (array[:count] for array in self.nodes)
        tree = DecisionTree(*table, sums / weight[:, None] + self.origin,
                            n_features=len(self.table.order), kind="regression")
        return Growth(tree, weight)

    def run(self):
        """Grow the tree."""
        (p, n), k = self.table.order.shape, len(self.origin)
        stack = np.zeros((max(n, 2) + 2, 5), np.int64)
        stack[0] = 0, n, 0, -1, 0
        random = np.array([self.limits.seed], np.uint64)
        visit = k * (1 if self.code[0] == _projections.SEPARABLE else PROJECTION)
        node = np.empty(1), np.arange(p), np.arange(p)

        def grow(work):
            _growth.grow(self.table, self.price, self.limits, visit, work, self.progress, *node,
                         random, stack, self.nodes, self.scratch)

        pace = Pace(AT_LEAST * FIRST_SLICE)
        with self.fit.stops():
            pace.slice(grow)
            while self.progress[1] > 0:
                self.fit.clock.check()
                pace.slice(grow)
        while self.progress[1] > 0:
            grow(-1)                    # what is left becomes leaves
        return self.growth(candidate_rows=int(self.progress[2]))


class LazyBuilder(Builder):
    """Grow node by node in Python; bound all candidates in a kernel, evaluate few of them."""

    def __init__(self, X, Y, w, loss, split, feasible, penalty_rate, code, limits, fit):
        super().__init__(X, Y, w, loss, split, feasible, penalty_rate, code, limits, fit)
        n, k = Y.shape
        self.Y, self.w = Y, np.ones(n) if w is None else w
        self.row_constant = loss.row_constant(self.table.targets)
        self.listed = _lazy.empty_candidates(n * X.shape[1], k)
        self.random = np.random.RandomState(limits.seed)
        pieces = (feasible.pieces(k) if split == "exact" else None) or FREE.pieces(k)
        self.outer = np.array([k, 0], np.int64), np.concatenate([
            np.min([p.lower for p in pieces], axis=0) - self.origin,
            np.max([p.upper for p in pieces], axis=0) - self.origin])
        self.absolute, squared = (loss.name == name for name in ("absolute_error",
                                                                 "squared_error"))
        self.refine = _lazy.PLAIN if split == "medoid" else _lazy.PARTS if not squared else \
            _lazy.DISTANCE if penalty_rate == np.inf else _lazy.SQUARES
        self.kernel = squared and (code is not None or split == "medoid")
        self.candidates, self.children, self.pace = 0, 0, Pace()

    def run(self):
        """Grow the tree."""
        limits, nodes, (order, values, targets, _) = self.limits, self.nodes, self.table
        stack = [(0, len(targets), 0, -1, None, None)]
        buffers = self.scratch.goes_left, self.scratch.index_buffer, self.scratch.value_buffer
        while stack:
            start, end, depth, parent, children, distance = stack.pop()
            node = self.progress[0]
            self.progress[0] += 1
            if parent >= 0:
                children[parent] = node
            rows = order[0, start:end]
            inside = targets[rows]
            nodes.weight[node], nodes.sums[node] = self.w[rows].sum(), self.w[rows] @ inside
            if (self.fit.stopped or depth >= limits.max_depth
                    or end - start < max(limits.min_split, 2 * limits.min_leaf)
                    or np.all(inside == inside[0])):
                continue
            best = None
            with self.fit.stops():
                best = self._best_split(start, end, nodes.weight[node], nodes.sums[node], distance)
                self.fit.clock.check()      # the node in work is split by the best so far
            if best is None:
                continue
            feature, cut, middle, distances = best
            nodes.feature[node], nodes.threshold[node] = feature, cut
            _growth.partition(order, values, start, end, feature, middle, *buffers)
            stack.append((middle, end, depth + 1, node, nodes.right, distances[1]))
            stack.append((start, middle, depth + 1, node, nodes.left, distances[0]))
        return self.growth(candidates=self.candidates, children_evaluated=self.children)

    def _node_cost(self, rows):
        Y, w = self.Y[rows], self.w[rows]
        if self.split == "medoid":
            return self.loss.cost(Y, w, self.loss.medoid(Y, w, Y))
        if self.penalty_rate < np.inf:
            mean = w @ Y / w.sum()
            distance = self.feasible.distance(mean, self.loss.weights)
            moved = min(distance, 0.5 * self.penalty_rate)      # towards the set
            penalty = moved**2 + self.penalty_rate * (distance - moved)
            return self.loss.cost(Y, w, mean) + w.sum() * penalty
        return self.loss.cost(Y, w, self.loss.best(Y, w, self.feasible))

    def _best_split(self, start, end, n, sums, distance):
        """Return feature, cut, first row on the right, and the children's distances, or None."""
        order, loss, listed = self.table.order, self.loss, self.listed
        rows = order[0, start:end]
        q = float(self.w[rows] @ self.row_constant[rows])
        outer = np.repeat([-np.inf, np.inf], len(sums)) if self.absolute else self.outer[1]
        if self.refine != _lazy.DISTANCE:
            distance = 0.0
        elif distance is None:           # of the root; a parent knows those of its children
            distance = self.feasible.distance(sums / n + self.origin, loss.weights)
        values = self.table.values
        features = np.flatnonzero(values[:, start] != values[:, end - 1])
        if self.limits.max_features < len(features):
            features = np.sort(self.random.permutation(features)[:self.limits.max_features])
        node = _lazy.Node(start, end, n, sums, distance)
        count, some = 0, max(1, ROWS_AT_ONCE // (end - start))
        for first in range(0, len(features), some):     # few features, where time is over
            count += _lazy.list_candidates(
                self.table, self.row_constant, node, q, features[first:first + some],
                self.limits.min_leaf, self.price.criterion, outer, loss.weights,
                _lazy.Candidates(*(part[count:] for part in listed)), self.scratch)
            if count and self.fit.clock.expired:
                break
        if count == 0:
            return None
        self.candidates += count
        exact, count = self._raise_bounds(start, end, rows, sums, count)
        low, cost = listed.low[:count], listed.cost[:count]
        cost[:], first_bound = np.nan, low.sum(axis=1)
        tolerance = ROUNDING * max(
            abs(q), first_bound.max(where=np.isfinite(first_bound), initial=0))
        if exact:   # the bounds are the costs
            best = first_bound.min()
            return None if not np.isfinite(best) else \
                self._split(int(np.argmax(first_bound <= best + tolerance)), tolerance)
        rank, progress = np.argsort(first_bound, kind="stable"), np.array([0, -1, 0], np.int64)
        best, done = np.inf, False
        while not done and not (self.fit.clock.expired and progress[1] >= 0):
            if self.kernel:
                best, done = self.pace.slice(
                    lambda work, best=best: _lazy.search(
                        self.table, self.price, node, self.split == "medoid", work, rank,
                        first_bound, progress, best, self.refine, tolerance, listed, self.scratch),
                    lambda answer: answer[1])
                continue
            c = _lazy.next_candidate(rank, first_bound, progress, best, self.refine, tolerance,
                                     listed, node, loss.weights)
            if c < 0:
                break
            segment, middle = order[listed.feature[c]], listed.position[c] + 1
            for side, part in enumerate((segment[start:middle], segment[middle:end])):
                cost[c, side] = low[c, side] = max(low[c, side], self._node_cost(part))
                progress[2] += 1
                if low[c].sum() > best + tolerance:
                    break
            else:
                if _lazy.is_better(low[c].sum(), c, best, progress[1], tolerance):
                    best, progress[1] = low[c].sum(), c
        self.children += int(progress[2])
        return None if progress[1] < 0 else self._split(progress[1], tolerance)

    def _split(self, chosen, tolerance):
        listed = self.listed
        # less what rounding may have added: a child's own costs may be far smaller
        outside = np.maximum(0.0, listed.cost[chosen] - listed.plain[chosen] - tolerance)
        return (int(listed.feature[chosen]), float(listed.cut[chosen]),
                int(listed.position[chosen]) + 1,
                np.sqrt(outside / listed.n_side[chosen]).tolist())

    def _raise_bounds(self, start, end, rows, sums, count):
        """Raise the bounds by more; return whether they are exact, and how many there are."""
        if not self.absolute:
            return False, count
        weights, listed, table = self.loss.weights, self.listed, self.table
        k = len(weights)
        exact = self.code is not None and self.code[0] == _projections.SEPARABLE
        ints, floats = self.code[1:] if exact else self.outer
        floats = floats * np.concatenate([weights, weights])
        scaled = self.Y * weights
        values, ranks = [], np.zeros((len(self.Y), k), np.int64)
        for j in range(k):
            distinct, ranks[rows, j] = np.unique(scaled[rows, j], return_inverse=True)
            values.append(distinct)
        offsets = np.concatenate([[0], np.cumsum([len(v) for v in values])])
        values, losses = np.concatenate(values), np.empty((2, k, end - start))
        return exact, self._by_feature(count, lambda same: _lazy.absolute_bounds(
            table.order, ranks, values, offsets, scaled, table.sample_weight, start, end,
            listed.feature[same.start], listed.position[same], ints, floats, listed.low[same],
            losses, self.scratch))

    def _by_feature(self, count, fill):
        """Fill the costs of the candidates of one feature after the other; return how many."""
        done, feature = 0, self.listed.feature[:count]
        while done < count and not (self.fit.clock.expired and done > 0):
            same = slice(done, np.searchsorted(feature, feature[done], "right"))
            fill(same)
            done = same.stop
        return done


def make_loss(criterion, weights):
    """Return the loss of that name in the metric of the weights."""
    return LOSSES[criterion](weights)
