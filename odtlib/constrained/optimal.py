"""Exact optimal trees of small depth whose leaves are projected: the paper's future work."""

from __future__ import annotations

import heapq
from dataclasses import KW_ONLY, dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from odtlib._numba.warm import warm_up
from odtlib.constrained import _growth, _lazy, sets
from odtlib.constrained._projections import is_closed, project_rows, room_for
from odtlib.constrained.builder import presorted
from odtlib.constrained.regressor import (
    SHARED,
    ConstrainedTreeRegressor,
    node_costs,
    prepare_targets,
    stated_problem,
)
from odtlib.estimator import TreeRegressor
from odtlib.fit import FIRST_SLICE, Fit
from odtlib.report import Clock
from odtlib.tolerance import PROOF, ROUNDING
from odtlib.tree import DecisionTree
from odtlib.trees import build, cut_back


class _Search:
    """Branch and bound over the thresholds of one feature after the other.

    The least cost of a tree is monotone in its rows (the same tree does no better on more rows).
    As a threshold moves right the left child grows and the right child shrinks; so for every
    threshold between two evaluated ones, a < b, the cost is at least that of the left child at a
    plus that of the right child at b.  Whole intervals are discarded by that bound.  Where the
    budget of nodes binds, each way to share it between the children has intervals of its own.

    A minimum number of samples per leaf breaks the monotony: a tree that more rows allow may have
    too small a leaf on fewer.  Then the bounds are those of ``unlimited``, a search without it.
    """

    def __init__(self, table, origin, loss, min_leaf, code, penalty, tolerance, fit):
        self.table, self.row_constant = table, loss.row_constant(table.targets)
        self.price = _growth.Price(_growth.SQUARED, *code, np.inf, loss.weights, origin)
        self.min_leaf, self.penalty = min_leaf, penalty
        self.tolerance, self.fit = tolerance, fit
        self.closed = is_closed(code, loss.weights)
        self.features, self.sums = np.arange(len(table.order)), np.empty(len(origin))
        self.scratch = _growth.make_scratch(len(table.targets), len(origin),
                                            room_for(code, loss.weights))
        self.evaluated = self.nodes = 0
        self.unlimited = None if min_leaf == 1 else _Search(table, origin, loss, 1, code, penalty,
                                                            tolerance, fit)

    def stump(self, order, values, split_too):
        """Return the cost of the best tree of depth one, or of the leaf, and the tree."""
        best, tree = np.inf, None
        step = max(1, int(FIRST_SLICE) // order.shape[1])   # features between two looks
        for first in range(0, len(order), step):
            if first > 0:
                self.fit.clock.check()
            table = _growth.Table(order[first:first + step], values[first:first + step],
                                  self.table.targets, self.table.sample_weight)
            if self.closed:
                cost, f, cut = _growth.best_stump(
                    table, self.row_constant, self.features[:len(table.order)], self.min_leaf,
                    split_too, self.penalty, self.price, self.sums, self.scratch)
            else:
                cost, f, cut = self.lazy_stump(table, split_too)
            if cost < best - self.tolerance:
                best, tree = cost, (None if f < 0 else (first + f, cut, None, None))
        return best, tree

    def lazy_stump(self, table, split_too):
        """Do the same for a set without a closed form, by the lazy search."""
        order, _, targets, sample_weight = table
        criterion, *code, _, weights, origin = self.price
        (p, n_rows), k = order.shape, len(origin)
        sums, distance = self.sums, np.empty(1)
        n, q = _growth.totals(order[0], targets, sample_weight, self.row_constant, sums)
        project_rows(*code, (sums / n + origin)[None], weights, self.scratch.room,
                     self.scratch.point[None], distance)
        distance = float(distance[0])
        leaf = max(0.0, q - (weights * sums**2).sum() / n + n * distance)
        if not split_too or n_rows < 2 * self.min_leaf:
            return leaf, -1, np.nan
        node = _lazy.Node(0, n_rows, n, sums, np.sqrt(distance))
        listed = _lazy.empty_candidates(order.size, k)
        count = _lazy.list_candidates(
            table, self.row_constant, node, q, self.features[:p], self.min_leaf, criterion,
            np.repeat([-np.inf, np.inf], k), weights, listed, self.scratch)
        first, state = listed.low[:count].sum(axis=1), np.array([0, -1, 0], np.int64)
        listed.cost[:] = np.nan
        rank = np.argsort(first, kind="stable")
        two, _ = _lazy.search(
            table, self.price, node, False, np.iinfo(np.int64).max, rank, first, state,
            leaf - self.penalty, _lazy.DISTANCE, ROUNDING * q, listed, self.scratch)
        if state[1] < 0:
            return leaf, -1, np.nan
        chosen = state[1]
        return max(0.0, two) + self.penalty, int(listed.feature[chosen]), float(listed.cut[chosen])

    def children(self, order, values, feature, middle):
        """Return the sorted rows and values of both children."""
        order, values, n = order.copy(), values.copy(), order.shape[1]
        _growth.partition(order, values, 0, n, feature, middle, self.scratch.goes_left,
                          self.scratch.index_buffer, self.scratch.value_buffer)
        return [[np.ascontiguousarray(part[:, side]) for part in (order, values)]
                for side in (slice(middle), slice(middle, n))]

    def shares(self, n_rows, depth, budget):
        """List the budgets of both children between which a split can choose."""
        if budget >= min(2**depth - 1, n_rows - 1):   # it does not bind
            return [(budget, budget)]
        most = 2 ** (depth - 1) - 1
        return [(k, budget - 1 - k)
                for k in range(max(0, budget - 1 - most), min(budget - 1, most) + 1)]

    def solve(self, order, values, depth, budget, cutoff, built=None):
        """Return a lower bound and a tree: the optimal one if its cost is below ``cutoff``.

        A tree is None (a leaf) or (feature, threshold, left, right) with at most ``budget``
        splits.  Where no tree below the cutoff exists the second part is False and the first still
        a valid bound.  Of the whole problem the fit is told what is known; ``built`` then makes a
        tree of it.
        """
        if min(depth, budget) <= 1:
            cost, tree = self.stump(order, values, min(depth, budget) == 1)
            return cost, (tree if cost < cutoff else False)
        self.nodes += 1
        best, tree = self.stump(order, values, True)
        if best >= cutoff:
            best, tree = cutoff, False
        elif built:
            self.fit.offer(partial(built, tree), best)
        heap = []
        positions = []
        shares = self.shares(values.shape[1], depth, budget)
        for f in range(len(values)):
            cuts = np.flatnonzero(values[f, :-1] < values[f, 1:])
            cuts = cuts[(cuts + 1 >= self.min_leaf) & (values.shape[1] - cuts - 1 >= self.min_leaf)]
            positions.append(cuts)
            if len(cuts):
                for share in range(len(shares)):
                    heapq.heappush(heap, (self.penalty, f, share, 0, len(cuts), 0.0, 0.0))
        while heap:
            bound, f, share, first, last, low_left, low_right = heapq.heappop(heap)
            if built:       # the popped bound is the smallest that is left
                self.fit.learn(min(bound, best))
            if bound >= best - self.tolerance:
                break
            self.fit.clock.check()
            middle = (first + last) // 2
            cut = positions[f][middle]
            sides = [(*side, depth - 1, budget) for side, budget in zip(
                self.children(order, values, f, cut + 1), shares[share], strict=True)]
            self.evaluated += 1
            below = best - self.penalty
            left, left_tree = self.solve(*sides[0], below - low_right)
            left = max(left, low_left)
            right, right_tree = self.solve(*sides[1], below - left)
            right = max(right, low_right)
            left_bound, right_bound = left, right
            if self.unlimited is not None:
                left_bound, right_bound = (
                    self.unlimited.solve(*side, below - low)[0]
                    for side, low in zip(sides, (low_right, low_left), strict=True))
            if left_tree is not False and right_tree is not False and left + right < below:
                best = left + right + self.penalty
                low, high = values[f, cut], values[f, cut + 1]
                tree = (f, _growth.midpoint(low, high), left_tree, right_tree)
                if built:
                    self.fit.offer(partial(built, tree), best, "better tree")
            for a, b, x, y in ((first, middle, low_left, right_bound),
                               (middle + 1, last, left_bound, low_right)):
                bound = x + y + self.penalty
                if a < b and bound < best - self.tolerance:
                    heapq.heappush(heap, (bound, f, share, a, b, x, y))
        return (best, tree)


@dataclass(eq=False, repr=False)
class OptimalConstrainedTreeRegressor(TreeRegressor):
    """Find the best tree of small depth whose leaves are feasible predictions.

    Every threshold of every feature is considered; the loss is squared error.

    Parameters
    ----------
    constraints : FeasibleSet, optional
        A set of :mod:`odtlib.constrained.sets` with a compiled projection (all but ``Custom``);
        None allows every vector.
    max_depth : int or None, default=2
        Maximum depth of the tree.  None for no limit.  Depth 2 takes seconds for thousands of rows,
        depth 3 for hundreds.
    max_nodes : int, optional
        Maximum number of feature nodes; None for no limit.
    max_leaf_nodes : int, optional
        Maximum number of leaves; None for no limit.
    min_samples_leaf : int or float, default=1
        Minimum number of samples per leaf.  A float is a share of the training rows.
    split_penalty : float, default=0.0
        Cost of one split, in the unit of ``report_.objective``.
    target_weights : None, "standardize" or array of shape (n_targets,), default=None
        Weight of each target in the loss.
    on_infeasible_targets : {"raise", "project", "keep"}, default="raise"
        What to do with training targets outside the set.
    tol : float, default=1e-6
        Tolerance of the feasibility checks.
    time_limit : float, optional
        Time limit in seconds; None for no limit.  The best tree found by then is returned, at
        worst the greedy exact tree.
    random_state : int, RandomState instance, optional
        Seed of the random choices.  Not used: the search is deterministic.
    verbose : int, default=0
        Verbosity: 0 is silent, 1 shows progress.

    Attributes
    ----------
    tree_ : DecisionTree
    report_ : SolveReport
        ``objective`` is the training loss plus ``split_penalty`` per split; status "optimal" comes
        with the bound.
    target_weights_ : array, shape (n_targets,)
    """

    _parameter_constraints = {**TreeRegressor._parameter_constraints, **SHARED}

    constraints: sets.FeasibleSet | None = None
    _: KW_ONLY
    max_depth: int | None = 2
    max_nodes: int | None = None
    max_leaf_nodes: int | None = None
    min_samples_leaf: float = 1
    split_penalty: float = 0.0
    target_weights: str | ArrayLike | None = None
    on_infeasible_targets: str = "raise"
    tol: float = 1e-6
    time_limit: float | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

    def _solve(self, X, Y, sample_weight):
        clock, original = Clock(self.time_limit), Y
        feasible, loss, code, w = self._problem(Y, sample_weight)
        depth, budget = self._depth_within(len(X)), self._node_budget(len(X))
        penalty = float(self.split_penalty)
        Y, _ = prepare_targets(self, Y, feasible, loss.weights)

        def evaluate(tree, Y):
            return loss.cost(Y, w, tree.value[tree.apply(X)]) + penalty * tree.n_splits

        scale = loss.cost(Y, w, loss.best(Y, w, feasible))   # of a single leaf
        fit = Fit(clock, partial(evaluate, Y=Y), scale=scale, start="greedy exact tree",
                  verbose=self.verbose)
        fit.proof = (f"optimal among all trees of {self._depth_in_words()} and at most {budget} "
                     f"splits over all thresholds, with at least {self.min_samples_leaf} samples "
                     "per leaf, for the targets trained on")
        begun = ConstrainedTreeRegressor(
            self.constraints, split="exact", max_depth=depth,
            min_samples_leaf=self.min_samples_leaf, target_weights=loss.weights, tol=self.tol,
            on_infeasible_targets="keep", time_limit=self.time_limit,
        ).fit(X, Y, sample_weight)
        fit.offer(cut_back(begun.tree_, budget, penalty,
                           node_costs(begun.tree_, X, Y, w, loss)), event="greedy tree")
        fit.counters.update(splits_evaluated=0, subproblems=0)
        with fit.stops():
            if begun.report_.status == "interrupted":
                raise KeyboardInterrupt
            clock.check()
            origin = np.average(Y, axis=0, weights=sample_weight)
            table = presorted(X, Y - origin, sample_weight)   # rounding: of the root's cost
            search = _Search(table, origin, loss, int(self.min_samples_leaf), code, penalty,
                             ROUNDING * scale, fit)
            try:
                # Only trees better by more than rounding replace the greedy one.
                cost, found = search.solve(
                    table.order, table.values, depth, budget, fit.objective - ROUNDING * scale,
                    built := partial(self._wrap, X=X, Y=Y, w=w, feasible=feasible, loss=loss))
            finally:
                fit.counters.update(splits_evaluated=search.evaluated, subproblems=search.nodes)
            if found is not False:
                fit.offer(partial(built, found), cost)
            fit.finish()
        trained, fit.objective = evaluate(fit.tree, Y), evaluate(fit.tree, original)
        if fit.ended == "optimal" or trained - fit.bound <= PROOF * scale:
            fit.finish()
        elif trained != fit.objective:      # targets were projected
            fit.bound = -np.inf
        self.target_weights_ = loss.weights
        return fit.tree, fit.report()

    def _warm_up(self, X, Y, sample_weight):
        _, loss, code, _ = self._problem(Y, sample_weight)
        closed = is_closed(code, loss.weights)
        small = OptimalConstrainedTreeRegressor(
            sets.Box(0.0, 1.0) if closed else sets.Polyhedron([[1.0, 1.0]], [1.0]),
            on_infeasible_targets="keep")
        return warm_up("optimal constrained trees", _growth.best_stump if closed else _lazy.search,
                       lambda: small._solve(np.arange(16.0).reshape(8, 2),
                                            np.tile([[1.0, 0.0], [0.0, 3.0]], (4, 1)), None),
                       closed)

    def _problem(self, Y, sample_weight):
        """Return the set, the loss, the set as kernels take it, and the weights of the rows."""
        feasible, loss, w = stated_problem(self, Y, sample_weight)
        code = feasible.encode(Y.shape[1], loss.weights)
        if code is None:
            raise ValueError(f"{feasible} has no compiled projection; use "
                             "ConstrainedTreeRegressor(split='exact'), which takes any set.")
        return feasible, loss, code, w

    def _wrap(self, found, X, Y, w, feasible, loss):
        """Fill the shape of a tree with the best feasible prediction of every node."""
        def split(node, rows):
            if node is None:
                return None
            feature, cut, left, right = node
            return feature, cut, X[rows, feature] <= cut, left, right

        *nodes, members = build(found, len(X), split)
        return DecisionTree(*nodes, [loss.best(Y[rows], w[rows], feasible) for rows in members],
                            n_features=X.shape[1], kind="regression")
