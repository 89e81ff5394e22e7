"""MurTree's search as the paper prints it, and that of DL8.5, for those who rerun their tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions

from odtbook.published import _murtree_kernel as K
from odtlib import MurTreeSearch
from odtlib._numba.warm import SECONDS, warm_up
from odtlib.fit import Pace
from odtlib.murtree.extensions.fronts import DepthwiseRun
from odtlib.murtree.options import SearchOptions
from odtlib.murtree.preparation import Problem, packed_rows, prepare
from odtlib.report import Clock

CHILD_ORDERS = {"dynamic": K.DYNAMIC, "post-order": K.POST_ORDER, "gap": K.BY_GAP}
SECONDS[METHOD := "the search of the MurTree paper"] = 5


@dataclass(repr=False)
class PaperSearch(SearchOptions):
    """Choose the techniques of Algorithms 1 to 4, which run as the paper prints them.

    ``search`` of :class:`odtlib.MurTreeClassifier` takes it: a plain search of its own, many times
    slower than that of the library.  It counts rows only, and refuses weights that are not small
    whole numbers, ``min_samples_leaf`` above 1, ``start`` and ``n_jobs``.

    Parameters
    ----------
    cache : {"dataset", "branch"}, default="dataset"
        What identifies a solved subproblem (Section 4.5): its rows, or the tests on the path to it.
    similarity_bound : bool, default=True
        Whether each data set is compared with two stored ones of its depth (Proposition 9), and
        takes over all that is known where one of them equals it (Section 4.4).
    refined_bound : bool, default=True
        Whether a failed search stores the refined bound of Eq. 17, or only that of DL8.5.
    budget_bounds : bool, default=True
        Whether the bound of a tree with more feature nodes is looked up for one with fewer
        (Proposition 11).
    propagate_optima : bool, default=True
        Whether an optimum with fewer feature nodes than allowed is stored for the budgets in
        between too (Proposition 10).
    incremental_counts : bool, default=True
        Whether two counters are stored, and the nearer one is updated by the rows in which the new
        data set differs (Section 4.3.3); with False each data set is counted from scratch.
    lookup_buffer : bool, default=True
        Whether the last two subtrees found are looked up before the hash table, for each size of
        data set or length of branch (Section 4.5.2).
    feature_order : {"in-order", "gini", "random"}, default="in-order"
        Which split is tried first: the first column, the one of least Gini impurity, or a random
        one.
    child_order : {"dynamic", "post-order", "gap"}, default="dynamic"
        Which child is solved first: the one with more errors as a leaf, child 0, or the one with
        the larger gap between leaf and bound (Section 4.6).
    merge_rows : bool, default=False
        Whether equal rows that show every class are cancelled against each other beforehand.
    deepening : bool, default=False
        Whether the best trees of smaller depth are found first (Section 4.8.5), with the same cache
        (Section 4.5.5).
    minimise_nodes : bool, default=False
        Whether, among the trees of least cost, one with the fewest feature nodes is returned
        (Algorithm 7), by a second search in the filled cache.

    Raises
    ------
    ValueError
        If an option has a value that does not exist.

    Examples
    --------
    >>> from odtbook.published import PaperSearch
    >>> from odtlib import MurTreeClassifier
    >>> model = MurTreeClassifier(max_depth=3, search=PaperSearch(cache="branch"))
    """

    _parameter_constraints = {
        "cache": [StrOptions({"dataset", "branch"})],
        "feature_order": [StrOptions({"in-order", "gini", "random"})],
        "child_order": [StrOptions(set(CHILD_ORDERS))],
        **dict.fromkeys(("similarity_bound", "refined_bound", "budget_bounds", "propagate_optima",
                         "incremental_counts", "lookup_buffer", "merge_rows", "deepening",
                         "minimise_nodes"), ["boolean"])}

    cache: str = "dataset"
    similarity_bound: bool = True
    refined_bound: bool = True
    budget_bounds: bool = True
    propagate_optima: bool = True
    incremental_counts: bool = True
    lookup_buffer: bool = True
    feature_order: str = "in-order"
    child_order: str = "dynamic"
    merge_rows: bool = False
    deepening: bool = False
    minimise_nodes: bool = False

    def warm_up(self) -> float:
        """Compile the kernel; return the seconds that it took."""
        def run():
            rows = packed_rows(np.array([[0], [1]], np.uint8), 32)
            problem = Problem(rows, np.array([1, 1]), np.arange(1), np.ones((2, 3)),
                              "classes, 16 bits", 0.0, 2.0, {})
            PaperSolver(problem, 1, 1, PaperSearch()).run_kernel(0)

        return warm_up(METHOD, K.search, run)

    def run_of(self, *data: Any, path: bool) -> PaperRun:
        """Return the run of a fit: ``run`` gives tree and report, ``answer`` the path."""
        return PaperRun(*data, path=path)


def dl85_search(**changes: Any) -> MurTreeSearch:
    """Return the search of DL8.5 (Aglin et al., 2020), a baseline of the paper.

    Subproblems are branches, children are solved in a fixed order, columns are tried in their given
    order, only the bound of DL8.5 is used, and depth two is not specialised.

    Parameters
    ----------
    **changes
        Options that differ from it.

    Returns
    -------
    MurTreeSearch
    """
    options = MurTreeSearch(
        cache="branch", similarity_bound=False, n_exact_children=0, refined_bound=False,
        incremental_counts=False, specialised_depth_two=False, feature_order="in-order",
        child_order="post-order", merge_rows=False, merge_columns=False)
    return replace(options, **changes)


class PaperSolver:
    """The stack, the cache, and what is stored of data sets and counters.

    The cache stays from one subproblem to the next (Section 4.5.5).
    """

    def __init__(self, problem, max_depth, max_nodes, search, random_state=None):
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
            order = check_random_state(random_state).permutation(p)
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
        pace = Pace()
        while self.control[K.LEVEL] >= 0:
            clock.check()
            self._grow()
            pace.slice(self.run_kernel, lambda _: self.control[K.LEVEL] < 0)
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

    refused = ("start", "n_jobs")

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
        self.search = PaperSolver(self.problem, max(1, self.depth), max(1, self.nodes),
                                  self.options, model.random_state)
        self.entries, self.work = {}, {}

    def counters(self, tree):
        return {**self.problem.counters, **self.work}

    def errors_below(self, cost, nodes):
        """Return the largest number of errors with which so many nodes cost less (Algorithm 6)."""
        return ceil(cost - self.penalty * nodes - self.problem.offset) - 1

    def solve(self, depth, nodes):
        if depth < self.depth and not self.options.deepening:
            return
        one_budget = not self.path and self.penalty == 0
        for n in range(nodes if one_budget else 1, nodes + 1):
            upper = self.errors_below(self.fit.objective, n)
            if self.search.solve(depth, n, upper, clock=self.clock) is not None:
                self.accept(depth, n)
            self.entries[n] = self.fit.objective, self.fit.tree
        n = self.fit.tree.n_splits - 1
        while self.options.minimise_nodes and n > 0:                         # Algorithm 7
            upper = self.errors_below(np.nextafter(self.fit.objective, np.inf), n)
            if self.search.solve(depth, n, upper, clock=self.clock) is None:
                break
            self.accept(depth, n)
            n = min(n, self.fit.tree.n_splits) - 1
        names = K.COUNTER_NAMES
        self.work = {**dict(zip(names, self.search.counters.tolist(), strict=True)),
                     "cache_entries": int(self.search.control[K.N_SUBTREES])}

    def accept(self, depth, nodes):
        """Take the tree that was found, which is better or smaller."""
        tree = self.built(self.search.tree(self.problem.columns, depth, nodes))
        self.fit.offer(tree, equal=True)
        self.fit.note(f"{nodes} feature nodes")

    def answer(self):
        """Return how the run ended, and ``(nodes, cost, tree)`` for every node budget."""
        best = min(((self.judge(tree), tree) for tree in self.constants()), key=lambda x: x[0])
        found = []
        for n in range(self.nodes + 1):
            best = self.entries.get(n, best)
            found.append((n, *best))
        return self.fit.ended, found
