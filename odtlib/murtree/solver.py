"""Running the search: slices, limits, the anytime record, and the tree at the end."""

from __future__ import annotations

import copy
from functools import cached_property, partial
from threading import Lock, Thread

import numpy as np
from sklearn.utils import check_random_state

from odtlib import fit
from odtlib._numba.warm import warm_up
from odtlib.report import Clock
from odtlib.solver_threads import Flag, in_threads
from odtlib.tolerance import ROUNDING

from . import _search as S
from ._cache import ENTRY, find_problem, move_entries, root_of
from ._kernels import IMPURITY
from ._objectives import ADDING, ELEMENT, closure_address, cost_addresses, kernel_addresses
from .greedy import cart, gini, sum_columns
from .options import DEFAULT, MurTreeSearch
from .preparation import Problem, Sums, Workspace, grouped_rows, packed_rows

CACHES = {None: 0, "dataset": S.DATASET, "branch": S.BRANCH, "closure": S.CLOSURE}
FEATURE_ORDERS = {"depth-two": S.BY_DEPTH_TWO, "in-order": S.IN_ORDER, "gini": S.BY_GINI,
                  "random": S.AT_RANDOM}
CHILD_ORDERS = {"dynamic": S.DYNAMIC, "post-order": S.POST_ORDER, "gap": S.BY_GAP}
FIRST_CACHE_ENTRIES = 1 << 10
NO_LIMIT = 1 << 60
FAMILY_STEP = 1 << 12   # more levels than there are
LONG_STEP = 0.2         # seconds of a step that a Ctrl-C does not wait for
# Seconds that a depth-two problem takes per pair of columns: for each row, and for each class.
SECONDS_PER_PAIR = {2: (4e-12, 8e-9), 4: (8e-12, 1.6e-8), 8: (1.6e-11, 1.6e-8)}
SECONDS_PER_BYTE = 6e-11     # of a sum to which a row is added


class Solver:
    """Search one data set for optimal trees; the cache stays for the next subproblem.

    ``max_depth`` and ``max_nodes`` are of the largest tree that will be asked for.  With
    ``any_depth`` subproblems have ``ANY_DEPTH`` and ``ANY_NODES``, and no tree that is wanted is
    deeper than ``max_depth``.  Once a search has taken a slice of time, ``n_jobs`` threads share
    the splits of the root.
    """

    def __init__(self, problem, max_depth, max_nodes, *, any_depth=False, split_penalty=0.0,
                 min_samples_leaf=1, search=None, n_jobs=1, random_state=None):
        search = DEFAULT if search is None else search
        cache, merge_columns = search.cache, search.merge_columns
        specialised = search.specialised_depth_two
        self.problem = problem
        if any_depth:
            max_depth = max(max_depth, 4)        # whose children have room for ANY_NODES
        sizes = problem.class_sizes
        self.class_start = np.concatenate([[0], np.cumsum(sizes)])
        levels = np.atleast_1d(np.asarray(split_penalty, np.float64))
        self.penalties = np.full(len(levels) + max_depth + 3, levels[-1])
        self.penalties[:len(levels)] = levels
        self.penalty, self.least = float(levels[0]), problem.least
        self.nodes = 0                       # the largest budget of the last subproblem
        if cache == "closure":
            merge_columns = False            # a closure names all columns
            if problem.kernel == "weights":
                raise ValueError("the closure cache works on counts; choose another cache for "
                                 "weights that are not small integers.")
        limit = search.memory_limit
        self.memory_limit = np.inf if limit is None else 1e6 * float(limit)
        # Costs that differ by so little are equal; whole numbers are added up exactly.
        self.rounding = ROUNDING * problem.scale + problem.lost
        exact = (problem.lost == 0 and problem.scale < 2 ** 53 and problem.kernel != "sums"
                 and not (levels % 1).any()
                 and (problem.kernel != "weights" or not (self.row_weight % 1).any()))
        self.slack = 0.0 if exact else self.rounding
        per_row, per_class = SECONDS_PER_PAIR[ELEMENT[problem.kernel]]
        if "weighted" in problem.kernel and problem.class_weights is None:   # a row for each bit
            per_row *= 1 + int(self.row_weight.max(initial=0)).bit_length() / 2
        if problem.kernel in ADDING:
            per_row = SECONDS_PER_BYTE * ELEMENT[problem.kernel]
        self.seconds_per_pair = per_row * len(problem.bits) + per_class * len(sizes)
        self.visible = None              # the columns that trees may test; None for all
        shared = not any_depth and max_nodes < 2 ** max_depth - 1   # by the children of a split
        max_nodes = min(max_nodes, 2 ** max_depth - 1)
        entries = FIRST_CACHE_ENTRIES
        while entries > 8 and 8 * ENTRY * entries > self.memory_limit:
            entries //= 2
        if not any_depth:
            max_depth = max(1, min(max_depth, max_nodes))
        # With a minimum leaf size a tree of one data set may be no tree of a similar one; and where
        # deeper splits are cheaper, a tree without its empty leaves may cost more.
        similar = (bool(search.similarity_bound) and min_samples_leaf == 1
                   and bool((np.diff(levels) >= 0).all()))
        use_earlier = similar and search.similarity_bound != "siblings"
        self._sizes = dict(
            max_depth=max_depth, max_nodes=max_nodes,
            min_samples_leaf=min_samples_leaf, merge_columns=merge_columns,
            keys_from_rows=cache == "dataset" or merge_columns, cache_entries=entries,
            count_pairs=specialised or bool(search.similarity_bound) or cache == "closure",
            # They are kept between the root and the trees that are solved without a search.
            earlier_levels=max(0, max_depth - (3 if specialised else 2))
            if use_earlier and not any_depth else 0)
        self._allocate()
        self.control = np.zeros(S.N_CONTROL, np.int64)
        self.control[S.N_THREADS] = 1
        self.n_jobs, self._workers, self._lock = n_jobs, [], Lock()
        self._main = None                # of a worker: whose splits it takes
        self.control[S.SIMILARITY], self.control[S.EARLIER_NODES] = similar, use_earlier
        self.control[S.CACHE] = CACHES[cache]
        self.control[S.FEATURE_ORDER] = FEATURE_ORDERS[search.feature_order]
        self.control[S.CHILD_ORDER] = CHILD_ORDERS[search.child_order]
        self.control[S.REFINE] = search.refined_bound
        self.control[S.SHARE_SIZES] = search.minimise_nodes
        self.control[S.BY_LEVEL] = len(set(levels.tolist())) > 1
        self.control[S.SPLITS_PAY] = self.penalty > 0 and not self.control[S.BY_LEVEL]
        self.control[S.SPECIALISED] = specialised
        self.control[S.INCREMENTAL] = search.incremental_counts
        self.control[S.N_EXACT_CHILDREN] = (
            search.n_exact_children if similar and not any_depth else 0)
        if search.feature_order == "random":
            shuffle = self.scratch.shuffle
            shuffle[:] = check_random_state(random_state).random_sample(len(shuffle))
        self.memory_full = False
        self._grow()
        # As the kernel counts work; where a step takes long, the first slice has few of them.
        n_rows, width = len(problem.bits), self.levels.active.shape[1]
        steps = fit.FIRST_SLICE / (10 + width * width * (1 / 64 + n_rows / 16384))
        self._first_slice = fit.FIRST_SLICE * min(
            1.0, fit.LONGEST_SLICE / max(1e-9, steps * self.longest_step))
        if shared:                       # each way to share them takes its time
            self._first_slice /= max(1, max_nodes)
        self.pace = fit.Pace(self._first_slice)
        self.control[S.ADDRESS_OPEN:S.ADDRESS_WEIGHTS + 1] = kernel_addresses(problem.kernel)
        if cache == "closure":
            self.control[S.ADDRESS_CLOSURE] = closure_address(problem.kernel)

    @property
    def longest_step(self):
        """Seconds of the longest step: a problem of depth two over all rows."""
        some = self.problem.columns if self.visible is None else self.visible
        return len(some) ** 2 * self.seconds_per_pair

    @cached_property
    def row_class(self):
        """The class of each row."""
        return np.repeat(np.arange(len(self.class_start) - 1), self.problem.class_sizes)

    @cached_property
    def row_weight(self):
        """The weight of each row."""
        return np.ascontiguousarray(self.problem.weights[:, 0])

    def _allocate(self):
        """Make the arrays that a search writes to."""
        try:
            self.space = Workspace(self.problem, **self._sizes)
        except MemoryError:
            raise MemoryError(
                f"the arrays of a search of depth {self._sizes['max_depth']} over "
                f"{len(self.problem.columns)} columns do not fit into memory; give a smaller "
                "max_depth or max_nodes, or a binarizer with fewer cuts.") from None
        self.levels, self.scratch = self.space.levels, self.space.scratch
        self.state, self.cost, self.choice = self.levels[:3]
        self.counters = np.zeros(S.N_COUNTERS, np.int64)
        self.shared = (np.zeros(1, np.int64), np.zeros((1, 1), np.int64), np.zeros((2, 1, 1)),
                     np.zeros((1, 2, 1)), np.zeros(1, np.int64))

    # One subproblem --------------------------------------------------------------------------

    def _open(self, rows, depth, low, high, upper, lower):
        """Put a subproblem on the stack; ``rows`` are grouped by class."""
        depth, high = S.limits_of(depth, high)
        low = min(low, high)
        self.levels.rows[0, :len(rows)] = rows
        self.levels.class_start[0] = rows.searchsorted(self.class_start)
        state, cost = self.state[0], self.cost[0]
        state[:] = 0
        state[S.DEPTH], state[S.N_CANDIDATES] = depth, len(self.problem.columns)
        if self.visible is not None:
            state[S.N_CANDIDATES] = len(self.visible)
            self.levels.active[0, :len(self.visible)] = self.visible
        state[S.LOW], state[S.HIGH], self.nodes = low, high, high
        self.choice[0, S.FEATURE] = S.UNKNOWN
        cost[S.UPPER], cost[S.LOWER] = upper, lower
        cost[S.BEST], cost[S.REFINED] = upper, np.inf
        self.levels.leaf[0] = self._leaf(rows)[0]
        if self.control[S.CACHE] != S.DATASET or self.control[S.SHARE_SIZES]:
            self.levels.keys[0] = self._key(rows)    # tells branches and closures apart too
        self.control[S.LEVEL], self.control[S.MODE] = 0, S.ENTER

    def _leaf(self, rows):
        """Return cost and prediction of a leaf."""
        if "weight" in self.problem.kernel:
            sums = np.bincount(self.row_class[rows], weights=self.row_weight[rows],
                               minlength=len(self.class_start) - 1).tolist()
        else:
            sums = np.diff(rows.searchsorted(self.class_start)).tolist()
        return sum(sums) - max(sums), sums.index(max(sums))

    def _key(self, rows):
        return self.space.row_keys[rows].sum(axis=0, dtype=np.uint64)

    def _run_beside(self, work):
        """Search beside this thread, since a single step may outlast a Ctrl-C."""
        thread = Thread(target=self._run_kernel, args=(work,), daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(0.05)

    def _renew(self):
        """Leave the arrays to the thread that still writes to them, and take others."""
        counters = self.counters.copy()
        self._allocate()
        self.counters, self.control = counters, self.control.copy()
        self.control[S.FILLED] = 0
        self._grow()

    def _run_kernel(self, work):
        table = self.space.table
        S.search(work, self.control, self.penalties, self.counters, self.levels, self.scratch,
                 (table, table.view(np.float64)), self.shared, self.space.earlier)

    def _slice(self):
        """Do one slice of work; adapt the next one to the time that it took."""
        search = self._run_kernel if self.longest_step < LONG_STEP else self._run_beside

        def work(units):
            search(units)
            return (self.control[S.MODE] == S.DONE
                    or self.control[S.FILLED] > self.control[S.ROOM])

        self.pace.slice(work)
        self._grow()                     # another thread may have enlarged the cache

    def _grow(self):
        """Enlarge a cache that is half full, while memory allows."""
        main = self._main or self
        with main._lock:
            space = main.space
            solvers = (main, *main._workers)
            filled = sum(int(solver.control[S.FILLED]) for solver in solvers)
            if 2 * filled * ENTRY >= len(space.table):
                main.memory_full = 4 * space.table.nbytes > self.memory_limit
                if not main.memory_full:
                    # Threads that still write to the old table lose these entries, no more.
                    table = np.zeros(4 * len(space.table), np.uint64)
                    moved = move_entries(space.table, space.table.view(np.float64), table,
                                         table.view(np.float64))
                    main.control[S.FILLED] += moved - filled
                    filled, space.table = moved, table
            self.space.table = space.table
            room = NO_LIMIT if main.memory_full else len(space.table) // (2 * ENTRY) - filled
            self.control[S.ROOM] = self.control[S.FILLED] + room // len(solvers)

    def solve(self, depth, nodes, *, smallest=None, upper=np.inf, lower=0.0, rows=None, clock=None,
              watch=None, level=0):
        """Find the best trees for all node budgets from ``smallest`` to ``nodes``.

        Only trees cheaper than ``upper`` count; one that costs ``lower`` ends the search.  Arrays
        give one such number for each node budget from 0 on.  ``watch`` is called with the solver
        after every slice; ``level`` is the depth of the root in a larger tree.  Return whether the
        search was finished.
        """
        clock = Clock() if clock is None else clock
        together = rows is None and self.n_jobs > 1
        rows = np.arange(len(self.problem.bits), dtype=np.int32) if rows is None else rows
        subproblem = (rows, depth, nodes if smallest is None else smallest, nodes, upper, lower)
        self.control[S.FIRST_LEVEL] = level
        self._open(*subproblem)
        while self._has_time(clock):
            try:
                self._slice()
            except KeyboardInterrupt:
                if self.longest_step >= LONG_STEP:
                    self._renew()
                    self._open(*subproblem)
                raise
            if self.control[S.MODE] == S.DONE:
                return True
            if watch is not None:
                watch(self)
            if together and self.state[0, S.N_ACTIVE]:
                return self._solve_together(subproblem, clock, watch)
        return False

    def _has_time(self, clock):
        """Tell whether a clock leaves the time of the longest step, which nothing interrupts."""
        return clock.remaining > self.longest_step

    def see(self, columns, family):
        """Let trees test some columns only, in increasing order; None for all.

        The cache tells them apart by ``family``, another number for other columns; 0 for all.
        """
        self.visible, self.control[S.FAMILY] = columns, family * FAMILY_STEP
        if columns is None:
            n_columns = len(self.problem.columns)
            self.levels.active[0, :n_columns] = np.arange(n_columns)

    def promising_columns(self, rows, alike=False):
        """Return the columns that may split the rows, that of the best tree of depth two first.

        Of those that split them alike it is one, or with ``alike`` all.
        """
        self.control[S.ALL_SPLITS] = alike
        try:
            self.solve(min(2, self._sizes["max_depth"]), min(3, self._sizes["max_nodes"]),
                       rows=rows)
        finally:
            self.control[S.ALL_SPLITS] = 0
        n_active = int(self.state[0, S.N_ACTIVE])
        sides = self.scratch.side_cost[:, :n_active]
        keys = sum(np.minimum(sides[leaf], sides[split] + self.penalty)
                   for leaf, split in ((S.LEAF_0, S.SPLIT_0), (S.LEAF_1, S.SPLIT_1)))
        return self.levels.active[1, np.argsort(keys, kind="stable")]

    # Several threads -------------------------------------------------------------------------

    def _solve_together(self, subproblem, clock, watch):
        """Continue a subproblem in several threads; each takes the next split of the root.

        This solver has begun and rests from now on; it shows what its workers have found.
        """
        state, levels, n_threads = self.state[0], self.levels, self.n_jobs + 1
        n_active, budgets = int(state[S.N_ACTIVE]), levels.bound.shape[2]
        finished = np.zeros((n_threads, n_active + 1), np.int64)
        known_bounds = np.zeros((2, budgets, n_active))
        incumbents = np.full((n_threads, 2, self.cost.shape[2]), np.inf)
        begun = int(state[S.POSITION])
        seen = levels.order[0, :begun]
        finished[0, 0], finished[0, 1:begun + 1] = begun, seen
        known_bounds[:, :, seen] = levels.bound[0][:, :, seen]
        has_tree = self.choice[0, S.FEATURE] != S.UNKNOWN
        incumbents[0, 0][has_tree], incumbents[0, 1][has_tree] = self.cost[0, S.BEST][has_tree], -1
        shared = (np.array([begun], np.int64), finished, known_bounds, incumbents)
        while len(self._workers) < self.n_jobs:
            self._workers.append(self._worker(len(self._workers) + 1))
        stop = Flag()
        for worker in self._workers:
            worker.shared = (*shared, np.zeros(n_threads, np.int64))
            worker.pace, worker.space.table = fit.Pace(self._first_slice), self.space.table
            worker.control[S.N_THREADS] = n_threads
            worker.visible, worker.control[S.FAMILY] = self.visible, self.control[S.FAMILY]
            worker._open(*subproblem)

        def show():
            if watch is not None:
                self._gather(incumbents)
                watch(self)

        try:
            ended = in_threads([partial(worker._work_until, stop, clock)
                                for worker in self._workers], stop.set, show)
        finally:
            self._gather(incumbents)
            for worker in self._workers:
                self.counters += worker.counters
                worker.counters[:] = 0
            self.counters[S.CACHE_ENTRIES] = sum(
                int(solver.control[S.FILLED]) for solver in (self, *self._workers))
        if all(ended):
            self._conclude()
        return all(ended)

    def _worker(self, number):
        """Return a solver that works on the same subproblems with arrays of its own."""
        worker = copy.copy(self)
        worker._main = self
        worker._allocate()
        worker.space.shape[:], worker.scratch.shuffle[:] = self.space.shape, self.scratch.shuffle
        worker.control = self.control.copy()
        worker.control[S.FILLED], worker.control[S.THREAD] = 0, number
        return worker

    def _work_until(self, stop, clock):
        """Do slices until the search is done; tell whether it is."""
        while self.control[S.MODE] != S.DONE:
            if stop.is_set() or not self._has_time(clock):
                return False
            self._slice()
        return True

    def _gather(self, incumbents):
        """Merge the workers' incumbents, bounds and positions into this solver."""
        if not all(worker.state[0, S.N_ACTIVE] for worker in self._workers):
            return                                       # some have not seen the root yet
        cost, choice, levels = self.cost[0], self.choice[0], self.levels
        self.state[0, S.POSITION] = max(self.state[0, S.POSITION], min(
            int(worker.state[0, S.POSITION]) for worker in self._workers))
        for worker in self._workers:
            np.maximum(levels.bound[0], worker.levels.bound[0], out=levels.bound[0])
            np.minimum(cost[S.REFINED], worker.cost[0, S.REFINED], out=cost[S.REFINED])
        for n in range(int(self.state[0, S.LOW]), self.nodes + 1):
            best = min(range(len(incumbents)), key=lambda i: tuple(incumbents[i, :, n]))
            if best > 0 and incumbents[best, 0, n] < np.inf:
                worker = self._workers[best - 1]
                for row in (S.BEST, S.BEST_VALUE_1, S.BEST_VALUE_0):
                    cost[row, n] = worker.cost[0, row, n]
                for row in (S.FEATURE, S.BUDGET_1, S.BUDGET_0):
                    choice[row, n] = worker.choice[0, row, n]

    def _conclude(self):
        """End a subproblem whose splits are all finished, as the search does at its end."""
        cost, choice = self.cost[0], self.choice[0]
        for n in range(int(self.state[0, S.LOW]), self.nodes + 1):
            if cost[S.BEST, n] < cost[S.UPPER, n]:
                choice[S.EXACT, n], cost[S.VALUE, n] = 1, cost[S.BEST, n]
            elif not choice[S.EXACT, n]:
                refined = min(self.levels.leaf[0], cost[S.REFINED, n]) * self.control[S.REFINE]
                cost[S.VALUE, n] = max(cost[S.UPPER, n], refined)
        self.control[S.LEVEL], self.control[S.MODE] = 0, S.DONE

    def just_above(self, cost):
        """Return the least number that no cost equal to this one reaches."""
        return float(np.nextafter(cost + self.slack, np.inf))

    def value(self, nodes=None):
        """Return the optimum found for a node budget, or the lower bound if none is below upper."""
        return float(self.cost[0, S.VALUE, self.nodes if nodes is None else nodes])

    def incumbent(self, nodes=None):
        """Return the cost of the best tree of the last subproblem; infinite if none was found."""
        nodes = self.nodes if nodes is None else nodes
        has_tree = self.choice[0, S.FEATURE, nodes] != S.UNKNOWN
        return float(self.cost[0, S.BEST, nodes]) if has_tree else np.inf

    def bound(self):
        """Return a lower bound for the largest budget, from the children of each root split."""
        state, cost, levels, nodes = self.state[0], self.cost[0], self.levels, self.nodes
        if self.control[S.MODE] == S.DONE:
            return self.value()
        n_active = state[S.N_ACTIVE]
        if n_active == 0 or state[S.DEPTH] < 3:
            return float(cost[S.LOWER, nodes])
        best = min(float(cost[S.BEST, nodes]), float(levels.leaf[0]), float(cost[S.REFINED, nodes]))
        open_features = levels.order[0, state[S.POSITION]:n_active]
        shared = nodes - S.root_takes(state[S.DEPTH])
        for a in range(state[S.CHILD_LOW], state[S.CHILD_HIGH] + 1):
            if state[S.CHILD_LOW] <= shared - a <= state[S.CHILD_HIGH]:
                sides = levels.bound[0, [[1], [0]], [[a], [shared - a]], open_features]
                pays = (sides < levels.limit[0, ::-1][:, open_features]).all(axis=0)
                below = sides.sum(axis=0)[pays]
                best = min(best, self.penalty + below.min(initial=np.inf))
        return max(best, float(cost[S.LOWER, nodes]))

    def split_bounds(self):
        """Return what both children of each split of the solved root cost at least, by column.

        Columns that the search left out have 0.
        """
        state, levels, below = self.state[0], self.levels, np.zeros(len(self.problem.columns))
        n_active, largest = state[S.N_ACTIVE], state[S.CHILD_HIGH]
        if state[S.POSITION] > 0:
            least = levels.bound[0, :, largest, :n_active].sum(axis=0)
        else:                                    # no split was needed: all is known of depth two
            sides, depth = self.scratch.side_cost[:, :n_active], state[S.DEPTH]
            below_it = self.penalties[self.control[S.FIRST_LEVEL] + 1:]
            others = below_it[:2].sum() if depth > 2 else np.inf
            split = below_it[0] if depth > 1 else np.inf
            least = sum(np.minimum(np.minimum(sides[leaf], sides[grown] + split), others)
                        for leaf, grown in ((S.LEAF_1, S.SPLIT_1), (S.LEAF_0, S.SPLIT_0)))
        below[levels.active[1, :n_active]] = least
        return below

    def child_bounds(self, depth, nodes, upper, *, smallest, rows, clock):
        """Return what each child of each split costs at least, (2, columns, budgets): 1, then 0.

        Solve both where the tree may cost less than ``upper``, as in :meth:`solve`; return None
        when the clock has expired.  Columns that the search left out have 0.
        """
        self.control[S.ALL_SPLITS] = 1
        try:
            if not self.solve(depth, nodes, smallest=smallest, upper=upper, lower=-np.inf,
                              rows=rows, clock=clock):
                return None
        finally:
            self.control[S.ALL_SPLITS] = 0
        state, levels = self.state[0], self.levels
        n_active, budgets = state[S.N_ACTIVE], slice(state[S.CHILD_LOW], state[S.CHILD_HIGH] + 1)
        least = np.zeros((2, len(self.problem.columns), budgets.stop - budgets.start))
        for position, side in enumerate((1, 0)):
            bound = levels.bound[0, side, budgets, :n_active]
            least[position, levels.active[1, :n_active]] = bound.T
        return least

    def counted(self):
        """Return the counters of all subproblems so far by name."""
        return dict(zip(S.COUNTER_NAMES, self.counters.tolist(), strict=True))

    def root(self, nodes=None):
        """Return column, (budget, cost) of child 1, the same of child 0; or None for a leaf."""
        nodes = self.nodes if nodes is None else nodes
        choice, cost = self.choice[0, :, nodes], self.cost[0, :, nodes]
        if choice[S.FEATURE] < 0:
            return None
        column = int(self.levels.active[1, choice[S.FEATURE]])
        return (column, (int(choice[S.BUDGET_1]), float(cost[S.BEST_VALUE_1])),
                (int(choice[S.BUDGET_0]), float(cost[S.BEST_VALUE_0])))

    # The tree ------------------------------------------------------------------------------

    def trees(self, depth, budgets, clock=None):
        """Build the best trees found by the last :meth:`solve` as nested tuples.

        For each of ``budgets`` of feature nodes ``(column, child 0, child 1)`` in columns of the
        problem, or the class of a leaf.  When the clock has expired, what is missing is grown by
        CART.
        """
        rows = np.arange(len(self.problem.bits), dtype=np.int32)
        solved_trees = {} if len(budgets) > 1 else None
        roots = [self.root(nodes) for nodes in budgets]      # building solves new subproblems
        return [self._tree(rows, S.limits_of(depth, nodes)[0], root, clock or Clock(), solved_trees)
                for root, nodes in zip(roots, budgets, strict=True)]

    def tree(self, depth):
        """Build the best tree for the largest node budget; see :meth:`trees`."""
        return self.trees(depth, [self.nodes])[0]

    def _tree(self, rows, depth, root, clock, solved_trees, level=0):
        """Build the tree with a root; ``solved_trees``, if not None, has those that trees share."""
        if root is None:
            return self._leaf(rows)[1]
        column, *children = root
        zero, one = self.problem.parts(rows, column)
        one, zero = (self._subtree(child_rows, S.child_depth(depth, child[0]), *child, clock,
                                   solved_trees, level + 1)
                     for child_rows, child in zip((one, zero), children, strict=True))
        return column, zero, one

    def _subtree(self, rows, depth, budget, value, clock, solved_trees, level):
        """Find a tree of known cost: its splits are in the cache, but for depth two."""
        if budget == 0:
            return self._leaf(rows)[1]
        shallow = depth <= 2 and self.control[S.SPECIALISED]
        key = name = None
        if solved_trees is not None or not shallow:
            key = self._key(rows)
            name = (*key.tolist(), depth, budget, level)
        if solved_trees is not None and name in solved_trees:
            return solved_trees[name]
        if not self._has_time(clock):
            return self.cart(rows, depth, budget, clock)
        if shallow:
            tree = self._shallow_tree(rows, depth, budget, level)
        else:
            root = self._remembered(rows, key, depth, budget, level) if depth > 2 else None
            if root is None:
                limits = {} if depth <= 2 else {
                    "upper": self.just_above(value), "lower": value, "clock": clock}
                if not self.solve(depth, budget, rows=rows, level=level, **limits):
                    return self.cart(rows, depth, budget, clock)
                root = self.root()
            tree = self._tree(rows, depth, root, clock, solved_trees, level)
        if solved_trees is not None:
            solved_trees[name] = tree
        return tree

    def _shallow_tree(self, rows, depth, budget, level):
        """Solve a subproblem of depth two at most; the search reads the tree."""
        self.control[S.READ] = 1
        try:
            self.solve(depth, budget, rows=rows, level=level)
        finally:
            self.control[S.READ] = 0
        root = self.choice[0, S.FEATURE, self.nodes]
        if root < 0:
            return self._leaf(rows)[1]
        zero, one = (first if column < 0 else (column, first, second)
                     for column, first, second in self.scratch.read.tolist())
        return int(self.levels.active[1, root]), zero, one

    def _remembered(self, rows, key, depth, budget, level):
        """Return the root split of a solved subproblem if the cache has it and both children."""
        entry = self._cached(key, depth, budget, level)
        if entry is None or not entry[1] & 1:
            return None
        column, budget_1 = root_of(entry[1])
        if column < 0:
            return None
        depth, budget = S.limits_of(depth, budget)
        budget_0 = budget - S.root_takes(depth) - budget_1
        key_1 = self._key(self.problem.parts(rows, column)[1])
        children = []
        for child_key, nodes in (key_1, budget_1), (key - key_1, budget_0):
            child_entry = (0.0, 1) if nodes == 0 else self._cached(
                child_key, S.child_depth(depth, nodes), nodes, level + 1)
            if child_entry is None or not child_entry[1] & 1:
                return None
            children.append((nodes, child_entry[0]))
        return column, *children

    @property
    def amounts(self):
        """What the leaves of CART should be pure in: the weight of each class."""
        return np.eye(len(self.class_start) - 1)[self.row_class] * self.row_weight[:, None]

    @property
    def impurity(self):
        """What both sides of a split should have little of, given their sums of ``amounts``."""
        return gini

    def cart(self, rows, depth, budget, clock=None):
        """Grow a CART as deep as any tree fits the node budget; nested tuples."""
        depth = min(depth, int(np.log2(budget + 1)))
        columns = self.problem.rows
        if self.visible is not None:        # the others are as good as constant
            columns = columns * np.isin(np.arange(columns.shape[1]), self.visible)
        return cart(columns, self.amounts, self.problem.weights[:, -1], depth,
                    self._sizes["min_samples_leaf"], self._leaf, rows, clock, self.impurity)

    def greedy_tree(self, depth, clock, rows=None):
        """Grow a CART above optimal trees of depth two; nested tuples.

        The upper splits have the least Gini impurity.  The counts come from the kernels of the
        search, so it is quick for a million rows too; when the time is over it is all CART.
        """
        rows = np.arange(len(self.problem.bits), dtype=np.int32) if rows is None else rows
        if not self._has_time(clock):
            return self.cart(rows, depth, 2 ** depth - 1, clock)
        column = self._purest(rows, depth)
        if depth <= 2 or column is None:
            return self._tree(rows, min(depth, 2), self.root(), clock, None)
        zero, one = (self.greedy_tree(depth - 1, clock, child_rows)
                     for child_rows in self.problem.parts(rows, column))
        return zero if zero == one and not isinstance(zero, tuple) else (column, zero, one)

    def _purest(self, rows, depth):
        """Solve depth two; return the column of least impurity, None if none splits the rows."""
        self.solve(min(depth, 2), 3, rows=rows)
        n_active = self.state[0, S.N_ACTIVE]
        if n_active == 0:
            return None
        impurity = self.scratch.side_cost[IMPURITY, :n_active]
        return int(self.levels.active[1, np.argmin(impurity)])

    def lookahead_tree(self, depth, horizon, clock, seconds):
        """Grow a tree whose splits are the first ones of optimal trees of depth ``horizon``.

        No tree below a node costs more than the optimal one seen from its parent, so the tree costs
        no more than the best one of depth ``horizon``, and often much less.  A subtree that is
        certain to be optimal at any depth is taken whole.  When the time is over, or at a Ctrl-C,
        what is missing is grown by CART above optimal trees of depth two, within ``seconds``.

        Return the tree as nested tuples, the cost of the best tree of depth ``horizon`` (None where
        it was not solved), and "heuristic", "time_limit" or "interrupted".
        """
        first, status, finishing = None, "heuristic", None

        def grow(rows, depth):
            nonlocal first, status, finishing
            cost, leaf = self._leaf(rows)
            if depth == 0 or cost <= self.penalty:
                return cost, leaf
            column = None
            try:
                within = min(depth, horizon if finishing is None else 2)
                nodes = min(2 ** within - 1, self._sizes["max_nodes"])
                if self.solve(within, nodes, clock=finishing or clock,
                              rows=None if len(rows) == len(self.problem.bits) else rows):
                    value, root = self.value(), self.root()
                    if finishing is None and first is None:
                        first = value
                    # A deeper tree has more than ``within`` splits.
                    if depth <= within or value <= (within + 1) * self.penalty:
                        return value, self._tree(rows, within, root, Clock(), None)
                    column = self._purest(rows, depth) if root is None else root[0]
                elif finishing is None:
                    status, finishing = "time_limit", Clock(seconds)
                    return grow(rows, depth)
                else:
                    return self._collapsed(self.greedy_tree(depth, finishing, rows), rows)
            except KeyboardInterrupt:
                status, finishing = "interrupted", Clock(seconds)
                return grow(rows, depth)
            if column is None:
                return cost, leaf
            (cost_0, zero), (cost_1, one) = (grow(child_rows, depth - 1)
                                             for child_rows in self.problem.parts(rows, column))
            below = self.penalty + cost_0 + cost_1
            return (cost, leaf) if below >= cost else (below, (column, zero, one))

        tree = grow(np.arange(len(self.problem.bits), dtype=np.int32), depth)[1]
        return tree, first, status

    def _collapsed(self, nested, rows):
        """Return cost and tree without the splits that are not worth their penalty."""
        cost, leaf = self._leaf(rows)
        if not isinstance(nested, tuple):
            return cost, leaf
        column, *children = nested
        parts = self.problem.parts(rows, column)
        (cost_0, zero), (cost_1, one) = map(self._collapsed, children, parts)
        below = self.penalty + cost_0 + cost_1
        return (cost, leaf) if below >= cost else (below, (column, zero, one))

    def discrepancy_tree(self, depth, allowed, clock, known):
        """Find the best tree that departs from the first choice at most ``allowed`` times.

        A node above depth three tries its splits in the order of their best depth-two trees; the
        ``i``-th one uses up ``i`` departures.  Below, trees of depth three are optimal.  ``known``
        keeps the best trees of all parts from one call to the next, so that a call that the clock
        ends returns what it has improved.  Return cost and tree.
        """
        def best(rows, depth, allowed):
            """Return cost and (column, children), (root of an optimal tree,) or a leaf."""
            name = *self._key(rows).tolist(), depth
            done, incumbent = known.get(name) or (-1, self._leaf(rows))
            if done >= allowed or clock.expired:
                return incumbent
            if depth <= 3:
                if self.solve(depth, 2 ** depth - 1, rows=rows, clock=clock):
                    known[name] = np.inf, (self.value(), (self.root(),))
                return known.get(name, (-1, incumbent))[1]
            columns = self.promising_columns(rows)[:allowed + 1]
            for used, column in enumerate(columns.tolist()):
                (cost_0, zero), (cost_1, one) = (best(child_rows, depth - 1, allowed - used)
                                                 for child_rows in self.problem.parts(rows, column))
                cost = self.penalty + cost_0 + cost_1
                if cost < incumbent[0]:
                    incumbent = cost, (column, zero, one)
            known[name] = done if clock.expired else allowed, incumbent
            return incumbent

        def built(nested, rows, depth):
            if not isinstance(nested, tuple):
                return nested
            if len(nested) == 1:
                return self._tree(rows, depth, *nested, Clock(), None)
            column, *children = nested
            return column, *map(built, children, self.problem.parts(rows, column),
                                (depth - 1, depth - 1))

        rows = np.arange(len(self.problem.bits), dtype=np.int32)
        cost, nested = best(rows, depth, allowed)
        return cost, built(nested, rows, depth)

    def _cached(self, key, depth, budget, level):
        """Return value and details of a subproblem in the cache, or None."""
        if self.control[S.CACHE] != S.DATASET:
            return None
        table = self.space.table
        value, word = find_problem(table, table.view(np.float64), key, *S.limits_of(depth, budget),
                                   level * int(self.control[S.BY_LEVEL])
                                   + int(self.control[S.FAMILY]))
        return (float(value), int(word)) if word else None


def warm_up_search(kernel, search=None):
    """Compile the search and the kernels of an objective; return the seconds that it took."""
    closure = search is not None and search.cache == "closure" and kernel != "weights"

    def run():
        rows = packed_rows(np.array([[0], [1]], np.uint8))
        sums = Sums(1, 0, 0, np.zeros((2, 1), np.int64), 5 * (0,), 1, False, None, None, False)
        solver = Solver(Problem(rows, np.array([1, 1]), np.arange(1), np.ones((2, 3)), kernel,
                                0.0, 2.0, {}, sums=sums if kernel == "sums" else None),
                        1, 1, search=MurTreeSearch(cache="closure" if closure else "dataset"))
        table = solver.space.table
        values = table.view(np.float64)
        solver._run_kernel(0)
        if kernel == "sums":
            cost_addresses()
        grouped_rows(solver.problem.rows)
        sum_columns(solver.problem.rows, np.ones((2, 1)), np.arange(2), np.zeros((1, 1)))
        find_problem(table, values, np.zeros(2, np.uint64), 1, 1, 0)
        move_entries(table, values, table.copy(), values.copy())

    return warm_up("MurTree", S.search, run, (kernel, closure))
