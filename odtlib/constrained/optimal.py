"""Exact optimal trees of small depth whose leaves are projected: the paper's future work."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property, partial

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
from odtlib.intervals import IntervalSearch, Solution
from odtlib.report import Clock
from odtlib.tolerance import PROOF, ROUNDING
from odtlib.tree import DecisionTree
from odtlib.trees import build_plan, cut_back


class _Node:
    """The rows of a node, and the values of every feature, in the order of these."""

    def __init__(self, order, values, search):
        self.orders, self.values, self.search = order[None], values, search
        self.n_rows = order.shape[1]
        self.promise = np.zeros(len(order))

    @cached_property
    def leaf(self):
        """What it costs as a leaf."""
        return self.search.stump(self.orders[0, :1], self.values[:1], 1, False)[0]

    @cached_property
    def cuts(self):
        """How many rows each threshold of every feature has on the left."""
        return [1 + np.flatnonzero(column[:-1] < column[1:]) for column in self.values]

    @cached_property
    def n_cuts(self):
        """Number of thresholds of every feature."""
        return np.array([len(some) for some in self.cuts])

    @property
    def hints(self):
        """The threshold of every feature to begin with."""
        return self.n_cuts // 2


class _Search(IntervalSearch):
    """Find the best tree whose leaves are projected.  Costs are those of the loss."""

    def __init__(self, table, origin, loss, least, code, penalty, tolerance, clock):
        super().__init__(len(table.targets), penalty, least, tolerance, clock)
        self.table, self.row_constant = table, loss.row_constant(table.targets)
        self.price = _growth.Price(_growth.SQUARED, *code, np.inf, loss.weights, origin)
        self.closed = is_closed(code, loss.weights)
        self.features, self.sums = np.arange(len(table.order)), np.empty(len(origin))
        self.scratch = _growth.make_scratch(len(table.targets), len(origin),
                                            room_for(code, loss.weights))
        self.root = _Node(table.order, table.values, self)

    def child(self, node, inside, n, known):
        order, = node.orders
        places = np.flatnonzero(inside[order]).reshape(-1, n)
        return _Node(order.take(places), node.values.take(places), self)

    def threshold(self, node, f, k):
        cut = node.cuts[f][k]
        return float(_growth.midpoint(*node.values[f, cut - 1:cut + 1]))

    def solve_shallow(self, node, depth, max_nodes, cap, watch):
        relaxed, plan = self.stump(node.orders[0], node.values, 1, depth == 1)
        if self.least == 1:
            return Solution(relaxed, relaxed, plan)
        if node.n_rows < self.least and not watch:
            return Solution(np.inf, relaxed)
        cost, plan = self.stump(node.orders[0], node.values, self.least, depth == 1)
        return Solution(cost, relaxed, plan)

    def stump(self, order, values, min_leaf, split_too):
        """Return the cost of the best tree of depth one, or of the leaf, and its plan."""
        best, plan = np.inf, None
        step = max(1, int(FIRST_SLICE) // order.shape[1])   # features between two looks
        for first in range(0, len(order), step):
            if first > 0:
                self.clock.check()
            table = _growth.Table(order[first:first + step], values[first:first + step],
                                  self.table.targets, self.table.sample_weight)
            if self.closed:
                cost, f, cut = _growth.best_stump(
                    table, self.row_constant, self.features[:len(table.order)], min_leaf,
                    split_too, self.penalty, self.price, self.sums, self.scratch)
            else:
                cost, f, cut = self.lazy_stump(table, min_leaf, split_too)
            if cost < best - self.tolerance:
                best, plan = cost, (None if f < 0 else (first + f, cut, None, None))
        return best, plan

    def lazy_stump(self, table, min_leaf, split_too):
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
        if not split_too or n_rows < 2 * min_leaf:
            return leaf, -1, np.nan
        node = _lazy.Node(0, n_rows, n, sums, np.sqrt(distance))
        listed = _lazy.empty_candidates(order.size, k)
        count = _lazy.list_candidates(
            table, self.row_constant, node, q, self.features[:p], min_leaf, criterion,
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
                             ROUNDING * scale, clock)
            fit.counters = search.counters

            def watch(plan, cost, lower):
                if cost < best - search.tolerance:
                    fit.offer(partial(self._wrap, plan, X, Y, w, feasible, loss), cost, "searched")
                fit.learn(min(fit.objective, lower))

            best = fit.objective    # only trees better by more than rounding replace the greedy one
            solution = search.solve(search.root, depth, budget, best - search.tolerance, watch)
            watch(solution.plan, solution.cost, 0.0)
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
        *nodes, members = build_plan(found, X)
        return DecisionTree(*nodes, [loss.best(Y[rows], w[rows], feasible) for rows in members],
                            n_features=X.shape[1], kind="regression")
