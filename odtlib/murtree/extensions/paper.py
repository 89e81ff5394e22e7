"""The search as the paper prints it, for those who rerun its tables (``MurTreeSearch.paper()``)."""

from __future__ import annotations

from functools import partial
from math import ceil

import numpy as np
from sklearn.utils import check_random_state

from odtlib._numba.warm import warm_up
from odtlib.report import Clock
from odtlib.trees import penalised_errors

from ..options import MurTreeSearch
from ..preparation import Problem, prepare
from . import _paper_kernel as K
from .fronts import DepthwiseRun

SLICE = 5e7             # work of the kernel between two looks at the clock
CHILD_ORDERS = {"dynamic": K.DYNAMIC, "post-order": K.POST_ORDER, "gap": K.BY_GAP}


class PaperSearch:
    """The stack, the cache, and what is stored of data sets and counters.

    The cache stays from one subproblem to the next (Section 4.5.5).
    """

    def __init__(self, problem, max_depth, max_nodes, search):
        X, sizes = problem.rows, problem.class_sizes
        (n_rows, p), n_classes, levels = X.shape, len(sizes), max_depth + 1
        of_class = np.repeat(np.arange(n_classes), sizes)
        random = np.random.default_rng(4)
        row_keys, self.literals = (random.integers(1, 2 ** 64, size=size, dtype=np.uint64)
                                   for size in ((n_rows, 2), (p, 2, 2)))
        self.X, self.class_start = X, np.concatenate([[0], np.cumsum(sizes)])
        self.options = np.zeros(K.N_OPTIONS, np.int64)
        self.options[[K.BRANCHES, K.SIMILARITY, K.REFINE, K.BUDGET_BOUNDS, K.PROPAGATE,
                      K.INCREMENTAL, K.BUFFER, K.FEATURE_ORDER, K.CHILD_ORDER]] = (
            search.cache == "branch", search.similarity_bound, search.refined_bound,
            search.budget_bounds, search.propagate_optima, search.incremental_counts,
            search.lookup_buffer, search.feature_order == "gini",
            CHILD_ORDERS[search.child_order])
        order = np.arange(p)
        if search.feature_order == "random":
            order = check_random_state(search.random_state).permutation(p)
        self.margin = 4 * (max_nodes + 1) * levels
        self.control = np.zeros(K.N_CONTROL, np.int64)
        self.frame = np.zeros((levels + 1, K.N_FRAME), np.int64)
        self.rows = np.zeros((levels + 1, 2, n_rows + 1), np.int64)
        self.starts = np.zeros((levels + 1, 2, n_classes + 1), np.int64)
        self.branches = np.zeros((levels + 1, 2, 2), np.uint64)
        self.keys = np.zeros((levels + 1, 2, 2), np.uint64)
        self.counters = np.zeros(len(K.COUNTER_NAMES), np.int64)
        self.cache = (np.zeros(0, np.int64), np.zeros((0, 2), np.uint64), np.zeros(0, np.int64),
                      np.zeros((0, K.N_ENTRY), np.int64))
        self._grow()
        places = max(n_rows, levels) + 1
        ones_start = np.concatenate([[0], np.cumsum(X.sum(axis=1, dtype=np.int64))])
        self.fixed = dict(
            order=np.tile(order, (levels, 1)), X=X, of_class=of_class, ones=np.nonzero(X)[1].copy(),
            ones_start=ones_start, row_keys=row_keys, literals=self.literals)
        self.stored = dict(
            buffer=(np.zeros((places, 2, 2), np.uint64), np.full((places, 2), -1)),
            stored_rows=np.zeros((levels + 1, 2, n_rows), np.int64),
            stored=np.zeros((levels + 1, 2, 2), np.int64),
            counted_rows=np.zeros((2, n_rows), np.int64), n_counted=np.zeros(2, np.int64),
            pair_counts=np.zeros((2, n_classes, p, p), np.int32),
            singles=np.zeros((n_classes, p), np.int64), cells=np.zeros((4, p), np.int64),
            found=np.zeros((4, 4), np.int64), gini=np.zeros(p))

    def _grow(self):
        """Double what is almost full of the cache."""
        slots, keys, first, entries = self.cache
        subtrees, used = self.control[[K.N_SUBTREES, K.N_ENTRIES]]
        if subtrees + self.margin >= len(keys):
            room = 2 * max(len(keys), self.margin, 512)
            keys, first = (np.concatenate([old, np.zeros((room - len(old), *old.shape[1:]),
                                                         old.dtype)]) for old in (keys, first))
            slots = np.full(2 ** (2 * room).bit_length(), -1)
            K.rebuild_slots(slots, keys, subtrees)
        if used + self.margin >= len(entries):
            more = max(len(entries), 2 * self.margin, 2048)
            entries = np.concatenate([entries, np.zeros((more, K.N_ENTRY), np.int64)])
        self.cache = slots, keys, first, entries

    def solve(self, depth, nodes, upper=K.LARGE, rows=None, branch=(0, 0), clock=None):
        """Find the best tree with at most ``upper`` errors.

        Returns errors, feature (-1 for a leaf), and nodes of child 0 and child 1; or None.
        """
        clock = Clock() if clock is None else clock
        rows = np.arange(len(self.X)) if rows is None else rows
        self.rows[0, 0, :len(rows)] = rows
        self.starts[0, 0] = np.searchsorted(rows, self.class_start)
        self.branches[0, 0], self.keys[0, 0] = branch, 0
        frame = self.frame[0]
        frame[[K.SIDE, K.DEPTH, K.NODES, K.UPPER, K.PHASE]] = (0, min(depth, nodes), nodes, upper,
                                                               K.ENTER)
        if self.control[K.LEVEL] >= 0:       # the last search was ended, perhaps while it counted
            self.stored["n_counted"][:] = 0
        self.control[K.LEVEL] = 0
        while self.control[K.LEVEL] >= 0:
            clock.check()
            self._grow()
            self.run_kernel(SLICE)
        found = self.control[[K.VALUE, K.FEATURE, K.SIZE_0, K.SIZE_1]].tolist()
        return None if found[0] == K.INFEASIBLE else found

    def run_kernel(self, work):
        """Search until all is done, the work is used up, or the cache is full."""
        K.search(
            int(work), self.margin, self.control, self.options, self.frame, self.fixed["order"],
            self.fixed["X"], self.fixed["of_class"], self.fixed["ones"], self.fixed["ones_start"],
            self.fixed["row_keys"], self.literals, self.rows, self.starts, self.branches,
            self.keys, self.cache, self.stored["buffer"], self.stored["stored_rows"],
            self.stored["stored"], self.stored["counted_rows"], self.stored["n_counted"],
            self.stored["pair_counts"], self.stored["singles"], self.stored["cells"],
            self.stored["found"], self.stored["gini"], self.counters)

    def tree(self, columns, depth, nodes, rows=None, branch=(0, 0)):
        """Rebuild an optimal tree from the cache as nested tuples (Section 4.5.6)."""
        rows = np.arange(len(self.X)) if rows is None else rows
        _, feature, *sizes = self.solve(depth, nodes, rows=rows, branch=branch)
        if feature < 0:
            return int(np.argmax(np.diff(np.searchsorted(rows, self.class_start))))
        zero, one = (self.tree(columns, min(depth - 1, size), size,
                               rows[self.X[rows, feature] == side],
                               np.asarray(branch, np.uint64) + self.literals[feature, side])
                     for side, size in enumerate(sizes))
        return int(columns[feature]), zero, one


class PaperRun(DepthwiseRun):
    """One fit by the search of the paper: one node budget after another, with one cache."""

    refused = ("start", "n_jobs", "memory_limit")

    def __init__(self, model, columns, y, sample_weight, clock, what, *, path):
        super().__init__(model, columns, y, sample_weight, clock, what)
        if model.min_samples_leaf > 1:
            raise ValueError(f"{what} cannot be combined with min_samples_leaf; leave it at 1.")
        self.options, self.penalty, self.path = model.search, model.split_penalty, path
        self.problem = prepare(columns, y, self.n_classes, sample_weight,
                               merge_rows=self.options.merge_rows, merge_columns=False,
                               clock=clock)
        if self.problem.kernel == "weights":
            raise ValueError(f"{what} counts rows; give weights that are small whole numbers, or "
                             "another search.")
        self.search = PaperSearch(self.problem, max(1, self.depth), max(1, self.nodes),
                                  self.options)
        self.entries, self.work = {}, {}

    def counters(self, tree):
        return {**self.problem.counters, **self.work}

    def evaluate(self):
        return partial(penalised_errors, split_penalty=self.penalty)

    def errors_below(self, cost, nodes):
        """Return the largest number of errors with which so many nodes cost less (Algorithm 6)."""
        return ceil(cost - self.penalty * nodes - self.problem.offset) - 1

    def solve(self, depth, nodes):
        if depth < self.depth and not self.options.deepening:
            return
        one_budget = not self.path and self.penalty == 0
        for n in range(nodes if one_budget else 1, nodes + 1):
            upper = self.errors_below(self.best[0], n)
            if self.search.solve(depth, n, upper, clock=self.clock) is not None:
                self.accept(depth, n)
            self.entries[n] = self.best
        n = self.best[1].n_splits - 1
        while self.options.minimise_nodes and n > 0:                         # Algorithm 7
            upper = self.errors_below(np.nextafter(self.best[0], np.inf), n)
            if self.search.solve(depth, n, upper, clock=self.clock) is None:
                break
            self.accept(depth, n)
            n = min(n, self.best[1].n_splits) - 1
        names = K.COUNTER_NAMES
        self.work = {**dict(zip(names, self.search.counters.tolist(), strict=True)),
                     "cache_entries": int(self.search.control[K.N_SUBTREES])}

    def accept(self, depth, nodes):
        """Take the tree that was found, which is better or smaller."""
        tree = self.built(self.search.tree(self.problem.columns, depth, nodes))
        self.update_incumbent(tree, f"{nodes} feature nodes")
        if self.judge(tree) == self.best[0]:
            self.best = self.best[0], tree

    def answer(self):
        """Return how the run ended, and ``(nodes, cost, tree)`` for every node budget."""
        best = min(((self.judge(tree), tree) for tree in self.constants()), key=lambda x: x[0])
        found = []
        for n in range(self.nodes + 1):
            best = self.entries.get(n, best)
            found.append((n, *best))
        return self.ended, found


def warm_up_paper():
    """Compile the kernel; return the seconds that it took."""
    def run():
        problem = Problem(np.array([[0], [1]], np.uint8), np.array([1, 1]), np.arange(1),
                          np.ones((2, 3)), "classes, 16 bits", 0.0, 2.0, {})
        PaperSearch(problem, 1, 1, MurTreeSearch.paper()).run_kernel(0)

    return warm_up("the search of the MurTree paper", K.search, run)
