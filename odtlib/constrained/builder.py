"""Grow one tree: the compiled builder for closed forms, the lazy one for everything else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from odtlib._numba.warm import warm_up
from odtlib.constrained import _growth, _lazy, _projections
from odtlib.constrained._losses import LOSSES
from odtlib.constrained.sets import Box, Polyhedron
from odtlib.report import Clock
from odtlib.tolerance import ROUNDING
from odtlib.tree import DecisionTree

SLICE = 20_000_000   # additions, or so, between two looks at the clock
LAZY_SLICE = 200_000  # the same for 20 per projection, of whatever set, or per row of a medoid
PROJECTION = 10      # additions for each target of a point that is projected
FREE = Box()


@dataclass
class Rules:
    """When growth stops; ``min_decrease`` is in units of the weighted loss."""

    max_depth: int
    min_samples_split: int
    min_samples_leaf: int
    min_decrease: float
    max_features: int
    seed: int


class Growth(NamedTuple):
    """A tree that predicts means, the weight of each of its nodes, and how it came about."""

    tree: DecisionTree
    weight: np.ndarray
    status: str
    counters: dict


class _State:
    """The arrays that both builders share."""

    def __init__(self, X, Y, w, rules):
        n, p = X.shape
        self.columns = np.ascontiguousarray(X.T)
        order = np.argsort(self.columns, axis=1)
        self.values = np.take_along_axis(self.columns, order, axis=1)
        self.order = order.astype(np.int32)
        self.targets = np.array(Y, order="C")   # a copy is writable: one signature
        self.sample_weight = np.empty(0) if w is None else np.array(w)
        size = int(min(2.0 * n, 2.0 ** min(rules.max_depth + 1, 60)))
        self.stack = np.zeros((max(n, 2) + 2, 5), np.int64)
        self.stack[0] = 0, n, 0, -1, 0
        self.progress = np.array([0, 1, 0, -1, 0, -1, 0], np.int64)
        feature, left, right = np.full((3, size), -1, np.int64)
        threshold, weight = np.full((2, size), np.nan)
        self.nodes = _growth.Nodes(feature, threshold, left, right, weight,
                                   np.zeros((size, Y.shape[1])))

    def table(self, values):
        """Return the rows as kernels take them."""
        return _growth.Table(self.order, values, self.targets, self.sample_weight)

    def scratch(self, code, weights):
        """Allocate the work of a tree; ``code`` is None where nothing is projected in kernels."""
        k = len(weights)
        room = _projections.make_room(k) if code is None else _projections.room_for(code, weights)
        return _growth.make_scratch(len(self.targets), k, room)

    def growth(self, status, counters, origin):
        """Cut the arrays to size."""
        count = self.progress[0]
        *table, weight, sums = (array[:count] for array in self.nodes)
        tree = DecisionTree(*table, sums / weight[:, None] + origin, n_features=len(self.columns),
                            kind="regression")
        return Growth(tree, weight, status, {"nodes": int(count), **counters})


def grow_tree(X, Y, w, loss, split, feasible, penalty_rate, rules, clock):
    """Return the Growth of a tree; ``penalty_rate`` is inf but for splits by a penalty."""
    if split == "mean":
        feasible = FREE
    code, closed = _encode(loss, split, feasible)
    if closed:
        return _grow_closed(X, Y, w, _origin(Y, w, loss), loss, code, penalty_rate, rules, clock)
    return LazyBuilder(X, Y, w, loss, split, feasible, penalty_rate, code, rules, clock).run()


def _origin(Y, w, loss):
    """Return from where targets are measured, so that rounding is relative to the root's cost."""
    if loss.name == "squared_error":
        return np.average(Y, axis=0, weights=w)
    return np.zeros(Y.shape[1])


def _encode(loss, split, feasible):
    """Return the set as kernels take it, or None, and whether its splits have closed forms."""
    k = len(loss.weights)
    code = FREE.encode(k, loss.weights) if split == "mean" else None
    if split in ("exact", "penalty"):
        code = feasible.encode(k, loss.weights)
    if code is None or loss.name == "absolute_error":
        return code, False
    if loss.name == "squared_error":
        return code, _projections.is_closed(code, loss.weights)
    if code[0] == _projections.SEPARABLE and code[1][1] == 1:
        return None, False
    return code, code[0] in (_projections.SEPARABLE, _projections.SIMPLEX)


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
    X, Y, loss = np.arange(8.0).reshape(-1, 1), np.tile(np.eye(2), (4, 1)), \
        make_loss(criterion, np.ones(2))
    tree = grow_tree(X, Y, None, loss, "exact", feasible, np.inf,
                     Rules(1, 2, 1, 0.0, 1, 0), Clock()).tree
    feasible.project(tree.value)
    tree.apply(X)


def _grow_closed(X, Y, w, origin, loss, code, penalty_rate, rules, clock):
    state = _State(X, Y - origin, w, rules)
    criterion = _growth.POISSON if loss.name == "poisson" else _growth.SQUARED
    random = np.array([rules.seed], np.uint64)
    status, budget = "heuristic", SLICE
    price = _growth.Price(criterion, *code, penalty_rate, loss.weights, origin)
    limits = _growth.Limits(rules.max_depth, rules.min_samples_split, rules.min_samples_leaf,
                            rules.min_decrease, rules.max_features)
    visit = Y.shape[1] * (1 if code[0] == _projections.SEPARABLE else PROJECTION)
    node = np.empty(1), np.arange(X.shape[1]), np.arange(X.shape[1])
    scratch = state.scratch(code, loss.weights)
    while state.progress[1] > 0:
        try:
            _growth.grow(state.table(state.values), price, limits, visit, budget, state.progress,
                         *node, random, state.stack, state.nodes, scratch)
        except KeyboardInterrupt:
            status, budget = "interrupted", -1
        if clock.expired and state.progress[1] > 0 and budget > 0:
            status, budget = "time_limit", -1
    return state.growth(status, {"candidate_rows": int(state.progress[2])}, origin)


class LazyBuilder:
    """Grow node by node in Python; bound all candidates in a kernel, evaluate few of them."""

    def __init__(self, X, Y, w, loss, split, feasible, penalty_rate, code, rules, clock):
        origin = _origin(Y, w, loss)
        self.state = _State(X, Y - origin, w, rules)
        self.origin = origin
        self.loss, self.split, self.feasible, self.code = loss, split, feasible, code
        self.penalty_rate, self.rules, self.clock = penalty_rate, rules, clock
        self.w = np.ones(len(Y)) if w is None else w
        self.Y, self.scratch = Y, self.state.scratch(code, loss.weights)
        n, p, k = len(Y), X.shape[1], Y.shape[1]
        self.row_constant = loss.row_constant(self.state.targets)
        self.table, self.listed = self.state.table(self.state.columns), \
            _lazy.empty_candidates(n * p, k)
        self.random = np.random.RandomState(rules.seed % 2**32)
        lower, upper = self._outer_bounds(k)
        self.outer = (np.array([k, 0], np.int64),
                      np.concatenate([lower - origin, upper - origin]))
        self.absolute = loss.name == "absolute_error"
        self.refine = _lazy.PLAIN
        if split != "medoid":
            squared = loss.name == "squared_error"
            self.refine = _lazy.PARTS if not squared else (
                _lazy.DISTANCE if penalty_rate == np.inf else _lazy.SQUARES)
        self.kernel = loss.name == "squared_error" and (code is not None or split == "medoid")
        self.candidates = self.children = 0

    def _outer_bounds(self, k):
        pieces = self.feasible.pieces(k) if self.split == "exact" else None
        if pieces is None:
            return np.full(k, -np.inf), np.full(k, np.inf)
        return (np.min([p.lower for p in pieces], axis=0),
                np.max([p.upper for p in pieces], axis=0))

    def run(self):
        """Grow the tree."""
        state, rules, nodes = self.state, self.rules, self.state.nodes
        stack = [(0, len(self.Y), 0, -1, False, None)]
        buffers = self.scratch.goes_left, self.scratch.index_buffer, self.scratch.value_buffer
        status = "heuristic"
        while stack:
            start, end, depth, parent, is_left, distance = stack.pop()
            node = state.progress[0]
            state.progress[0] += 1
            if parent >= 0:
                (nodes.left if is_left else nodes.right)[parent] = node
            rows = state.order[0, start:end]
            targets = state.targets[rows]
            nodes.weight[node], nodes.sums[node] = self.w[rows].sum(), self.w[rows] @ targets
            if (status != "heuristic" or depth >= rules.max_depth
                    or end - start < max(rules.min_samples_split, 2 * rules.min_samples_leaf)
                    or np.all(targets == targets[0])):
                continue
            try:
                best = self._best_split(start, end, nodes.weight[node], nodes.sums[node], distance)
                if self.clock.expired:
                    status = "time_limit"   # the node in work is split by the best so far
            except KeyboardInterrupt:
                status, best = "interrupted", None
            if best is None:
                continue
            feature, cut, middle, cost, distances = best
            if rules.min_decrease > 0 and \
                    self._node_cost(rows) - cost < rules.min_decrease:
                continue
            nodes.feature[node], nodes.threshold[node] = feature, cut
            _growth.partition(state.order, state.values, start, end, feature, middle, *buffers)
            stack.append((middle, end, depth + 1, node, False, distances[1]))
            stack.append((start, middle, depth + 1, node, True, distances[0]))
        return state.growth(status, {"candidates": self.candidates,
                                     "children_evaluated": self.children}, self.origin)

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

    def _features(self, start, end):
        values = self.state.values
        varies = np.flatnonzero(values[:, start] != values[:, end - 1])
        if self.rules.max_features < len(varies):
            varies = np.sort(self.random.permutation(varies)[:self.rules.max_features])
        return varies

    def _best_split(self, start, end, n, sums, distance):
        """Return feature, cut, first row on the right, cost, and the children's distances."""
        state, loss = self.state, self.loss
        rows = state.order[0, start:end]
        q = float(self.w[rows] @ self.row_constant[rows])
        criterion = _growth.POISSON if loss.name == "poisson" else _growth.SQUARED
        outer_floats = np.repeat([-np.inf, np.inf], len(sums)) if self.absolute else self.outer[1]
        listed = self.listed
        if self.refine != _lazy.DISTANCE:
            distance = 0.0
        elif distance is None:           # of the root; a parent knows those of its children
            distance = self.feasible.distance(sums / n + self.origin, loss.weights)
        node = _lazy.Node(start, end, n, sums, distance)
        count = _lazy.list_candidates(
            self.table, self.row_constant, node, q, self._features(start, end),
            self.rules.min_samples_leaf, criterion, outer_floats, loss.weights, listed,
            self.scratch)
        if count == 0:
            return None
        self.candidates += count
        exact, count = self._raise_bounds(start, end, rows, sums, count)
        low, cost = listed.low[:count], listed.cost[:count]
        cost[:] = np.nan
        first_bound = low.sum(axis=1)
        tolerance = ROUNDING * max(
            abs(q), first_bound.max(where=np.isfinite(first_bound), initial=0))
        if exact:   # the bounds are the costs
            best = first_bound.min()
            if not np.isfinite(best):
                return None
            chosen = int(np.flatnonzero(first_bound <= best + tolerance)[0])
            return self._split(chosen, best, tolerance)
        rank = np.argsort(first_bound, kind="stable")
        progress = np.array([0, -1, 0], np.int64)
        best = np.inf
        if self.kernel:
            price = _growth.Price(criterion, *(self.code or (_projections.SEPARABLE, *self.outer)),
                                  self.penalty_rate, loss.weights, self.origin)
            done = False
            while not done and not (self.clock.expired and progress[1] >= 0):
                best, done = _lazy.search(
                    self.table, price, node, self.split == "medoid", LAZY_SLICE, rank, first_bound,
                    progress, best, self.refine, tolerance, listed, self.scratch)
        else:
            while not (self.clock.expired and progress[1] >= 0):
                c = _lazy.next_candidate(rank, first_bound, progress, best, self.refine, tolerance,
                                         listed, node, loss.weights)
                if c < 0:
                    break
                segment, middle = state.order[listed.feature[c]], listed.position[c] + 1
                for side, part in enumerate((segment[start:middle], segment[middle:end])):
                    cost[c, side] = low[c, side] = max(low[c, side], self._node_cost(part))
                    progress[2] += 1
                    if low[c].sum() > best + tolerance:
                        break
                else:
                    if _lazy.is_better(low[c].sum(), c, best, progress[1], tolerance):
                        best, progress[1] = low[c].sum(), c
        self.children += int(progress[2])
        chosen = progress[1]
        if chosen < 0:
            return None
        return self._split(chosen, best, tolerance)

    def _split(self, chosen, cost, tolerance):
        listed = self.listed
        # less what rounding may have added: a child's own costs may be far smaller
        outside = np.maximum(0.0, listed.cost[chosen] - listed.plain[chosen] - tolerance)
        return (int(listed.feature[chosen]), float(listed.cut[chosen]),
                int(listed.position[chosen]) + 1, float(cost),
                np.sqrt(outside / listed.n_side[chosen]).tolist())

    def _raise_bounds(self, start, end, rows, sums, count):
        """Raise the bounds by more; return whether they are exact, and how many there are."""
        if not self.absolute:
            return False, count
        weights, listed = self.loss.weights, self.listed
        k = len(weights)
        code = self.feasible.encode(k, np.ones(k)) if self.split == "exact" else None
        separable = code is not None and code[0] == _projections.SEPARABLE
        if self.split == "mean":
            ints, floats = self.outer[0], np.repeat([-np.inf, np.inf], k)
        elif separable:
            ints, floats = code[1], code[2]
        else:
            ints, floats = self.outer
        floats = floats * np.concatenate([weights, weights])
        scaled = self.Y * weights
        values, ranks = [], np.zeros((len(self.Y), k), np.int64)
        for j in range(k):
            distinct, ranks[rows, j] = np.unique(scaled[rows, j], return_inverse=True)
            values.append(distinct)
        offsets = np.concatenate([[0], np.cumsum([len(v) for v in values])])
        values, losses = np.concatenate(values), np.empty((2, 2, k, end - start))
        done = self._by_feature(count, lambda same: _lazy.absolute_bounds(
            self.state.order, ranks, values, offsets, scaled, self.state.sample_weight, start, end,
            listed.feature[same], listed.position[same], ints, floats, listed.low[same], losses,
            self.scratch))
        return self.split == "mean" or separable, done

    def _by_feature(self, count, fill):
        """Fill the costs of the candidates of one feature after the other; return how many."""
        done, feature = 0, self.listed.feature[:count]
        while done < count and not (self.clock.expired and done > 0):
            same = slice(done, np.searchsorted(feature, feature[done], "right"))
            fill(same)
            done = same.stop
        return done


def make_loss(criterion, weights):
    """Return the loss of that name in the metric of the weights."""
    return LOSSES[criterion](weights)
