"""Running the search: slices, limits, the anytime record, and the tree at the end."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from odtlib.report import Clock

from . import _search as S
from ._cache import ENTRY, find_problem, move_entries
from ._kernels import IMPURITY
from ._objectives import closure_address, kernel_addresses
from .preparation import Workspace

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
        sizes = problem.class_sizes
        self.class_start = np.concatenate([[0], np.cumsum(sizes)])
        self.row_class = np.repeat(np.arange(len(sizes)), sizes)
        self.row_weight = np.ascontiguousarray(problem.weights[:, 0])
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
            count_pairs=specialised or similarity or cache == "closure")
        self.row_keys = space.data[2].reshape(-1, 2)
        levels = len(space.rows)
        self.state = np.zeros((levels, S.N_STATE), np.int64)
        self.cost = np.zeros((levels, S.N_COST, max_nodes + 1))
        self.choice = np.zeros((levels, S.N_CHOICE, max_nodes + 1), np.int64)
        self.exact = np.zeros((levels, 2, max_nodes + 1), np.int64)
        self.leaf = np.zeros(levels)
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
            space.shuffle[:] = check_random_state(random_state).random_sample(
                len(space.shuffle))
        self.memory_full = False
        self._work = FIRST_SLICE
        clock = Clock()
        self.control[S.ADDRESS_OPEN:S.ADDRESS_SIMILARITY + 1] = kernel_addresses(problem.kernel)
        if cache == "closure":
            self.control[S.ADDRESS_CLOSURE] = closure_address(problem.kernel)
        self._search(0)                       # no work: compiles the search, or loads it
        self.compile_seconds = clock.elapsed

    # One question --------------------------------------------------------------------------

    def _open(self, rows, depth, low, high, upper, lower):
        """Put a subproblem on the stack; ``rows`` are grouped by class."""
        space = self.space
        high = min(high, 2 ** depth - 1)
        low = min(low, high)
        space.rows[0, :len(rows)] = rows
        space.class_start[0] = np.searchsorted(rows, self.class_start)
        state, cost = self.state[0], self.cost[0]
        state[:] = 0
        state[S.DEPTH], state[S.N_CANDIDATES] = min(depth, high), space.n_columns
        state[S.LOW], state[S.HIGH] = low, high
        self.choice[0, S.FEATURE] = S.UNKNOWN
        cost[S.UPPER], cost[S.LOWER] = upper, lower
        cost[S.BEST], cost[S.REFINED] = upper, np.inf
        sums = self._class_weights(rows)
        self.leaf[0] = sums.sum() - sums.max()
        self.keys[0] = self._key(rows)       # branches and closures are told apart by it too
        self.control[S.LEVEL], self.control[S.MODE] = 0, S.ENTER

    def _class_weights(self, rows):
        return np.bincount(self.row_class[rows], weights=self.row_weight[rows],
                           minlength=len(self.class_start) - 1)

    def _key(self, rows):
        return self.row_keys[rows].sum(axis=0, dtype=np.uint64)

    def _search(self, work):
        space = self.space
        S.search(work, self.control, self.penalty, self.state, self.cost, self.choice, self.leaf,
                 self.exact, self.keys, space.rows, space.class_start, space.active, space.order,
                 space.key, space.bound_1, space.bound_0, space.leaf_cost, space.side_cost,
                 space.front, space.found, space.data, space.native, space.totals,
                 space.column_keys, space.table, space.table.view(np.float64), self.counters,
                 space.shuffle, space.literals, space.child_key)

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

    def solve(self, depth, nodes, *, smallest=None, upper=np.inf, lower=0.0, rows=None, clock=None,
              watch=None):
        """Find the best trees with cost below ``upper``.

        Parameters
        ----------
        depth, nodes : int
            Limits on depth and feature nodes.
        smallest : int, optional
            Answer for all node budgets from ``smallest`` to ``nodes`` (default: for ``nodes``).
        upper, lower : float or array
            Only trees cheaper than ``upper`` count; one that costs ``lower`` ends the search.
            Arrays give one number for each node budget from 0 on.
        rows : array of int, optional
            Rows of the problem (default: all).
        clock : Clock, optional
            Ends the search early.
        watch : callable, optional
            Called with the solver after every slice.

        Returns
        -------
        bool
            Whether the search was finished.
        """
        clock = Clock() if clock is None else clock
        rows = np.arange(len(self.problem.rows), dtype=np.int32) if rows is None else rows
        self._open(rows, depth, nodes if smallest is None else smallest, nodes, upper, lower)
        while True:
            self._slice(clock)
            if self.control[S.MODE] == S.DONE:
                return True
            if watch is not None:
                watch(self)
            if clock.expired:
                return False

    @property
    def nodes(self):
        """The largest node budget of the last question."""
        return int(self.state[0, S.HIGH])

    def value(self, nodes=None):
        """Return the optimum found for a node budget, or the lower bound if none is below upper."""
        return float(self.cost[0, S.VALUE, self.nodes if nodes is None else nodes])

    def incumbent(self, nodes=None):
        """Return the cost of the best tree of the last question; infinite if none was found."""
        nodes = self.nodes if nodes is None else nodes
        found = self.choice[0, S.FEATURE, nodes] != S.UNKNOWN
        return float(self.cost[0, S.BEST, nodes]) if found else np.inf

    def bound(self):
        """Return a lower bound for the largest budget, from the children of each root split."""
        state, cost, space, nodes = self.state[0], self.cost[0], self.space, self.nodes
        if self.control[S.MODE] == S.DONE:
            return self.value()
        n_active = state[S.N_ACTIVE]
        if n_active == 0 or state[S.DEPTH] < 3:
            return float(cost[S.LOWER, nodes])
        best = min(float(cost[S.BEST, nodes]), float(self.leaf[0]), float(cost[S.REFINED, nodes]))
        open_features = space.order[0, state[S.POSITION]:n_active]
        for a in range(state[S.CHILD_LOW], state[S.CHILD_HIGH] + 1):
            if state[S.CHILD_LOW] <= nodes - 1 - a <= state[S.CHILD_HIGH]:
                below = (space.bound_1[0, a, open_features]
                         + space.bound_0[0, nodes - 1 - a, open_features])
                best = min(best, self.penalty + below.min(initial=np.inf))
        return max(best, float(cost[S.LOWER, nodes]))

    def counted(self):
        """Return the counters of all questions so far by name."""
        return dict(zip(S.COUNTER_NAMES, self.counters.tolist(), strict=True))

    def root(self, nodes=None):
        """Return column, (budget, cost) of child 1, the same of child 0; or None for a leaf."""
        nodes = self.nodes if nodes is None else nodes
        choice, cost = self.choice[0, :, nodes], self.cost[0, :, nodes]
        if choice[S.FEATURE] < 0:
            return None
        column = int(self.space.active[1, choice[S.FEATURE]])
        return (column, (int(choice[S.BUDGET_1]), float(cost[S.BEST_VALUE_1])),
                (int(choice[S.BUDGET_0]), float(cost[S.BEST_VALUE_0])))

    # The tree ------------------------------------------------------------------------------

    def trees(self, depth, budgets):
        """Build the best trees found by the last :meth:`solve` as nested tuples.

        Returns
        -------
        list of (tuple or int)
            For each of ``budgets`` ``(column, child 0, child 1)`` in columns of the problem, or
            the class of a leaf.
        """
        rows = np.arange(len(self.problem.rows), dtype=np.int32)
        roots = [self.root(nodes) for nodes in budgets]      # building asks new questions
        return [self._build(rows, root, min(depth, max(nodes, 1)))
                for root, nodes in zip(roots, budgets, strict=True)]

    def tree(self, depth):
        """Build the best tree for the largest node budget; see :meth:`trees`."""
        return self.trees(depth, [self.nodes])[0]

    def _build(self, rows, root, depth):
        leaf = int(np.argmax(self._class_weights(rows)))
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

    def greedy_tree(self, depth, rows=None):
        """Grow a CART above optimal trees of depth two; nested tuples.

        The upper splits have the least Gini impurity.  The counts come from the kernels of the
        search, so it is quick for a million rows too.
        """
        rows = np.arange(len(self.problem.rows), dtype=np.int32) if rows is None else rows
        self.solve(min(depth, 2), 3, rows=rows)
        n_active = self.state[0, S.N_ACTIVE]
        if depth <= 2 or n_active == 0:
            return self._build(rows, self.root(), min(depth, 2))
        best = int(np.argmin(self.space.side_cost[IMPURITY, :n_active]))
        column = int(self.space.active[1, best])
        has = self.problem.rows[rows, column] == 1
        zero, one = (self.greedy_tree(depth - 1, part) for part in (rows[~has], rows[has]))
        return zero if zero == one else (column, zero, one)

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
