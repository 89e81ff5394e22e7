"""Running the search: slices, limits, the anytime record, and the tree at the end."""

from __future__ import annotations

import numpy as np

from odtlib.report import Clock

from . import _search as S
from ._cache import ENTRY, find_problem, move_entries
from ._kernels import N_CLASSES
from ._objectives import closure_address, kernel_addresses
from .preparation import Workspace, budgets_of_children

CACHES = {None: 0, "dataset": S.DATASET, "branch": S.BRANCH, "closure": S.CLOSURE}
FEATURE_ORDERS = {"depth-two": S.BY_DEPTH_TWO, "in-order": S.IN_ORDER, "gini": S.BY_GINI,
                  "random": S.AT_RANDOM}
CHILD_ORDERS = {"dynamic": S.DYNAMIC, "post-order": S.POST_ORDER, "gap": S.BY_GAP}
FIRST_CACHE_ENTRIES = 1 << 14
FIRST_SLICE, LONGEST_SLICE = 2e5, 0.1       # work of the first slice; seconds that one may take


class Solver:
    """Search one data set for optimal trees; the cache stays for the next question.

    Parameters
    ----------
    problem : Problem
        From :func:`odtlib.murtree.preparation.prepare`.
    max_depth, max_nodes : int
        The largest tree that will be asked for.
    penalty : float, default=0.0
        Cost of a feature node.
    similarity, cache, feature_order, child_order, refine_bounds, infer_bounds, merge_columns
        Techniques of the paper; see :class:`odtlib.murtree.MurTreeClassifier`.
    share_sizes : bool, default=False
        Keep depth-two solutions with one, two and three nodes, for questions with other budgets.
    memory_limit : float, optional
        Bytes that the cache may take.
    """

    def __init__(self, problem, max_depth, max_nodes, *, penalty=0.0, min_samples_leaf=1,
                 similarity=True, cache="dataset", feature_order="depth-two",
                 child_order="dynamic", refine_bounds=True, infer_bounds=False,
                 share_sizes=False, merge_columns=True, specialised=True, incremental=True,
                 memory_limit=None, random_state=None):
        self.problem = problem
        self.penalty = float(penalty)
        if cache == "closure":
            merge_columns = False            # a closure names all columns
            if problem.kernel == "weights":
                raise ValueError("the closure cache works on counts; choose another cache for "
                                 "weights that are not small integers.")
        self.memory_limit = np.inf if memory_limit is None else float(memory_limit)
        max_nodes = min(max_nodes, 2 ** max_depth - 1)
        entries = FIRST_CACHE_ENTRIES
        while entries > 8 and 8 * ENTRY * entries > self.memory_limit:
            entries //= 2
        self.space = space = Workspace(
            problem, max(1, min(max_depth, max_nodes)), max_nodes,
            min_samples_leaf=min_samples_leaf, merge_columns=merge_columns,
            keys_from_rows=cache == "dataset" or merge_columns, cache_entries=entries,
            any_budget=share_sizes, count_pairs=specialised or similarity or cache == "closure")
        levels = len(space.rows)
        self.state = np.zeros((levels, S.N_STATE), np.int64)
        self.cost = np.zeros((levels, S.N_COST))
        self.keys = np.zeros((levels, 2), np.uint64)
        self.control = np.zeros(S.N_CONTROL, np.int64)
        self.counters = np.zeros(S.N_COUNTERS, np.int64)
        # With a minimum leaf size a tree of one data set may be no tree of a similar one.
        self.control[S.SIMILARITY] = similarity and min_samples_leaf == 1
        self.control[S.CACHE] = CACHES[cache]
        self.control[S.FEATURE_ORDER] = FEATURE_ORDERS[feature_order]
        self.control[S.CHILD_ORDER] = CHILD_ORDERS[child_order]
        self.control[S.REFINE] = refine_bounds
        self.control[S.INFER] = infer_bounds
        self.control[S.SHARE_SIZES] = share_sizes
        self.control[S.SPECIALISED], self.control[S.INCREMENTAL] = specialised, incremental
        if feature_order == "random":
            space.shuffle[:] = np.random.default_rng(random_state).random(len(space.shuffle))
        self.memory_full = False
        self._work = FIRST_SLICE
        clock = Clock()
        self.control[S.ADDRESS_PREPARE:S.ADDRESS_SIMILARITY + 1] = kernel_addresses(problem.kernel)
        if cache == "closure":
            self.control[S.ADDRESS_CLOSURE] = closure_address(problem.kernel)
        self._search(0)                       # no work: compiles the search, or loads it
        self.compile_seconds = clock.elapsed

    # One question --------------------------------------------------------------------------

    def _open(self, rows, depth, budget, upper, lower):
        """Put a subproblem on the stack; ``rows`` are grouped by class."""
        space = self.space
        budget = min(budget, 2 ** depth - 1)
        depth = min(depth, budget)
        n_classes = space.shape[N_CLASSES]
        space.rows[0, :len(rows)] = rows
        starts = np.searchsorted(rows, np.concatenate([[0], np.cumsum(self.problem.class_sizes)]))
        space.class_start[0] = starts
        state, cost = self.state[0], self.cost[0]
        state[:] = 0
        state[S.DEPTH], state[S.BUDGET], state[S.N_CANDIDATES] = depth, budget, space.n_columns
        state[S.BEST_FEATURE] = S.UNKNOWN
        cost[S.UPPER], cost[S.LOWER] = upper, lower
        cost[S.BEST], cost[S.REFINED] = upper, np.inf
        cost[S.LEAF] = self._leaf_cost(rows, starts, n_classes)
        self.keys[0] = self._key(rows)       # branches and closures are told apart by it too
        self.control[S.LEVEL], self.control[S.MODE] = 0, S.ENTER

    def _leaf_cost(self, rows, starts, n_classes):
        weight = self.problem.weights[rows, 0]
        sums = [weight[starts[c]:starts[c + 1]].sum() for c in range(n_classes)]
        return float(sum(sums) - max(sums)) if sums else 0.0

    def _key(self, rows):
        row_keys = self.space.data[2]
        return np.array([row_keys[2 * rows].sum(dtype=np.uint64),
                         row_keys[2 * rows + 1].sum(dtype=np.uint64)])

    def _search(self, work):
        space = self.space
        S.search(work, self.control, self.penalty, self.state, self.cost, self.keys,
                 space.rows, space.class_start, space.active, space.order, space.key,
                 space.bound_1, space.bound_0, space.leaf_cost, space.side_cost, space.front,
                 space.found, space.data, space.native, space.totals, space.column_keys,
                 space.table, space.table.view(np.float64), self.counters, space.shuffle,
                 space.literals, space.child_key)

    def _slice(self, clock):
        """Do one slice of work; adapt the next one to the time that it took."""
        before = clock.elapsed
        self._search(int(self._work))
        taken = max(clock.elapsed - before, 1e-6)
        if self.control[S.MODE] != S.DONE:
            self._work = max(1.0, min(4.0, 0.5 * LONGEST_SLICE / taken) * self._work)
        self._grow()

    def _grow(self):
        """Enlarge a cache that is half full, while memory allows."""
        space = self.space
        if 2 * self.control[S.FILLED] * ENTRY < len(space.table):
            return
        if 4 * space.table.nbytes > self.memory_limit:
            self.memory_full = True
            return
        table = np.zeros(4 * len(space.table), np.uint64)
        self.control[S.FILLED] = move_entries(space.table, space.table.view(np.float64), table,
                                              table.view(np.float64))
        space.table = table

    def solve(self, depth, budget, *, upper=np.inf, lower=0.0, rows=None, clock=None, watch=None):
        """Find the best tree with cost below ``upper``.

        Parameters
        ----------
        depth, budget : int
            Limits on depth and feature nodes.
        upper, lower : float
            Only trees cheaper than ``upper`` count; one that costs ``lower`` ends the search.
        rows : array of int, optional
            Rows of the problem (default: all).
        clock : Clock, optional
            Ends the search early.
        watch : callable, optional
            Called with the solver after every slice.

        Returns
        -------
        bool
            Whether the search was finished.  Then ``value`` is the optimum if ``found``, else a
            lower bound; without, it is the best cost so far if ``found``.
        """
        if budgets_of_children(depth, budget) > self.space.bound_1.shape[1]:
            raise ValueError(f"this solver was not made for {budget} feature nodes at depth "
                             f"{depth}; make it with share_sizes=True.")
        clock = Clock() if clock is None else clock
        rows = np.arange(len(self.problem.rows), dtype=np.int32) if rows is None else rows
        self._open(rows, depth, budget, upper, lower)
        while True:
            self._slice(clock)
            if self.control[S.MODE] == S.DONE:
                break
            if watch is not None:
                watch(self)
            if clock.expired:
                break
        finished = self.control[S.MODE] == S.DONE
        self.found = bool(self.state[0, S.BEST_FEATURE] != S.UNKNOWN)
        self.value = float(self.cost[0, S.VALUE if finished else S.BEST])
        return bool(finished)

    @property
    def incumbent(self):
        """Cost of the best tree of the last question; infinite if none was found."""
        return float(self.cost[0, S.BEST]) if self.state[0, S.BEST_FEATURE] != S.UNKNOWN else np.inf

    @property
    def bound(self):
        """Lower bound on the cost, from what is known about the children of each root split."""
        state, cost, space = self.state[0], self.cost[0], self.space
        if self.control[S.MODE] == S.DONE:
            return float(cost[S.VALUE])
        best = min(float(cost[S.BEST]), float(cost[S.LEAF]), float(cost[S.REFINED]))
        n_active, last = state[S.N_ACTIVE], state[S.BUDGET] - 1 - 2 * state[S.LOWEST]
        if n_active == 0 or state[S.DEPTH] < 3:
            return float(cost[S.LOWER])
        open_features = space.order[0, state[S.POSITION]:n_active]
        for a in range(last + 1):
            below = space.bound_1[0, a, open_features] + space.bound_0[0, last - a, open_features]
            best = min(best, self.penalty + below.min(initial=np.inf))
        return max(best, float(cost[S.LOWER]))

    def root(self):
        """Return column, (budget, cost) of child 1, the same of child 0; or None for a leaf."""
        state, cost = self.state[0], self.cost[0]
        if state[S.BEST_FEATURE] < 0:
            return None
        column = int(self.space.active[1, state[S.BEST_FEATURE]])
        return (column, (int(state[S.BEST_BUDGET_1]), float(cost[S.BEST_VALUE_1])),
                (int(state[S.BEST_BUDGET_0]), float(cost[S.BEST_VALUE_0])))

    # The tree ------------------------------------------------------------------------------

    def tree(self, depth):
        """Build the best tree found by the last :meth:`solve` as nested tuples.

        Returns
        -------
        tuple or int
            ``(column, child 0, child 1)`` in columns of the problem, or the class of a leaf.
        """
        rows = np.arange(len(self.problem.rows), dtype=np.int32)
        return self._build(rows, self.root(), depth)

    def _build(self, rows, root, depth):
        sums = np.bincount(
            np.searchsorted(np.cumsum(self.problem.class_sizes), rows, side="right"),
            weights=self.problem.weights[rows, 0], minlength=len(self.problem.class_sizes))
        leaf = int(np.argmax(sums))
        if root is None:
            return leaf
        column, *children = root
        has = self.problem.rows[rows, column] == 1
        built = []
        for (budget, value), part in zip(children, (rows[has], rows[~has]), strict=True):
            built.append(self._rebuild(part, depth - 1, budget, value))
        return column, built[1], built[0]

    def _rebuild(self, rows, depth, budget, value):
        """Find a tree of known cost again; the cache remembers most of it."""
        if budget == 0:
            return self._build(rows, None, depth)
        root = self._remembered(rows, depth, budget)
        if root is None:
            # Sums of floats may differ in the last digits from those of the first search.
            slack = 1e-9 * max(1.0, abs(value))
            self.solve(depth, budget, upper=value + slack, lower=value, rows=rows)
            root = self.root()
        return self._build(rows, root, min(depth, budget))

    def _remembered(self, rows, depth, budget):
        """Return the root split of a solved subproblem if the cache has it and both children."""
        entry = self.cached(rows, depth, budget)
        if entry is None or not entry[1] & 1:
            return None
        column = (entry[1] >> 6 & 0x3FFFFFF) - 2
        if column < 0:
            return None
        depth = min(depth, budget)
        budget_1 = entry[1] >> 32 & 0x3FFF
        budget_0 = min(budget, 2 ** depth - 1) - 1 - budget_1
        has = self.problem.rows[rows, column] == 1
        children = []
        for part, nodes in ((rows[has], budget_1), (rows[~has], budget_0)):
            known = (0.0, 1) if nodes == 0 else self.cached(part, depth - 1, nodes)
            if known is None or not known[1] & 1:
                return None
            children.append((nodes, known[0]))
        return column, *children

    def cached(self, rows, depth, budget):
        """Return the cached entry of a subproblem as ``(value, details)``, or None."""
        if self.control[S.CACHE] != S.DATASET:
            return None
        budget = min(budget, 2 ** depth - 1)
        table = self.space.table
        place = find_problem(table, self._key(rows), min(depth, budget), budget)
        if place < 0:
            return None
        return float(table.view(np.float64)[place + 2]), int(table[place + 3])
