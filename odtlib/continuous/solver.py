"""The search over all thresholds, slice by slice: preparation, limits, incumbents, threads."""

from __future__ import annotations

import threading
from copy import copy
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from odtlib._numba.vector import LANES
from odtlib._tree_kernels import sum_nodes
from odtlib.arrays import aligned
from odtlib.continuous import _kernels as k
from odtlib.continuous._columns import pack_column, sort_column
from odtlib.continuous._sweep import (
    CLASS_SHIFT,
    HALF_TWO,
    WIDTH_MANY,
    WIDTH_TWO,
    bucket_table,
    two_class_table,
)
from odtlib.fit import MOST_WORK, Pace
from odtlib.heuristics.subtrees import TURN
from odtlib.report import TimeUp
from odtlib.solver_threads import Flag, in_threads
from odtlib.tree import LEAF, DecisionTree, midpoint

NARROW_ROWS = 32_767      # 16-bit counters and ranks hold this many rows
NARROW_CLASSES = 1 << (16 - CLASS_SHIFT)      # and 16-bit codes this many classes
SHORT = 20_000_000        # row visits of a search that is too short to want a start: some 30 ms
# and for each value of the table, since CART takes as long as some 200: a tenth of the search
VISITS_FOR_START = 2_000
MAX_INTERVALS = 1024           # open intervals kept per feature of a depth-two problem
MAX_KEPT = 1024           # evaluated thresholds whose bounds per feature are inherited
CACHE_BYTES = 1 << 26     # what the subset cache may take
CACHED_THRESHOLDS = 32    # thresholds per feature, on average, above which subsets hardly come back
COLUMN_ARRAYS = ("order", "keys", "labels", "cut", "segment", "mass", "count")
CONSTANT_ARRAYS = ("keys", "labels", "weight", "problem", "table_two", "table_many")
MAX_CLASSES = 1000        # more labels than that are a numeric target


class SortedColumns:
    """The rows sorted by each feature, and the thresholds; the preparation raises TimeUp.

    ``arrays`` come from :func:`search_arrays`.  A search keeps the columns of its nodes in slots;
    those of the root are slot 0.
    """

    def __init__(self, X, y, cost, arrays, clock):
        n, p = X.shape
        self.order, self.keys, self.labels, self.cut, self.segment, self.mass, self.count = (
            np.empty(*arrays[name]) for name in COLUMN_ARRAYS)
        self.labels[:] = y
        self.count[...] = 0
        column, packed = np.empty(n), np.empty(n, np.int64)
        placed = np.empty(n, self.keys.dtype)
        row_bits = max(1, n - 1).bit_length()
        packed_bits = row_bits + (cost.n_classes - 1).bit_length()

        def sort(values, feature, f, most_moves):
            pack_column(values, feature, self.labels, row_bits, packed_bits, column, packed)
            packed.sort()      # integers sort three times as fast as an argsort of floats
            return sort_column(column, packed, row_bits, packed_bits, most_moves, cost.weight,
                               cost.min_samples_leaf > 1, self.order[0, f], self.keys[f], placed,
                               self.cut[0, f], self.segment[0, f], self.mass[0, f],
                               self.count[0, f])

        for f in range(p):
            clock.check()
            if not sort(X, f, f, 4 * n):       # the leading bits of ranks do differ
                ranks = np.unique(X[:, f], return_inverse=True)[1].astype(float)
                sort(ranks[:, None], 0, f, n * n)
        self.n_thresholds = int(self.count[0, :, 0].sum())

    def best_stump(self, cost):
        """Return the optimal tree of at most one split as an array of nodes (see ``decode``)."""
        nodes = np.empty((3, 2), np.int64)
        n = len(self.labels)
        columns = k.Columns(self.order, self.cut, self.segment, self.mass, self.count)
        k.rebuild_pair(columns, 0, n, self.labels, cost.weight, _problem(cost, 1, 0), 1, k.STUMP,
                       0, 0, np.empty(n, np.uint16), np.empty((4, cost.n_classes), np.int64),
                       np.empty((2, 5), np.int64), nodes)
        return nodes


def decode(nodes, X, y, cost, sample_weight=None):
    """Return the tree of some nodes, without splits that change no prediction.

    ``nodes`` holds one line per node in preorder: the feature, or -1 for a leaf, and a row with the
    largest value that goes left.
    """
    left, right, waiting = [], [], []       # waiting: for their right child
    for node, f in enumerate(nodes[:, 0].tolist(), 1):
        left.append(node if f >= 0 else LEAF)
        right.append(LEAF)
        if f >= 0:
            waiting.append(node - 1)
        elif waiting:
            right[waiting.pop()] = node
        else:
            break
    n_nodes, n_classes = len(left), cost.n_classes
    feature, last = nodes[:n_nodes].T.copy()
    inner = np.flatnonzero(feature >= 0)
    cut, low, high = (np.full(n_nodes, end) for end in (np.nan, -np.inf, np.inf))
    cut[inner] = X[last[inner], feature[inner]]
    where = feature, cut, np.array(left), np.array(right)
    weight = costs = np.zeros((n_nodes, n_classes))
    sum_nodes(X.T, y, np.ones(len(y)) if sample_weight is None else sample_weight, *where, weight,
              low, high)
    if cost.weight is not None:
        costs = np.zeros((n_nodes, n_classes), np.int64)
        sum_nodes(X.T, y, cost.weight, *where, costs, low, high)
    cut[inner] = midpoint(low[inner], high[inner])
    return DecisionTree(feature, cut, left, right, weight, label=np.argmax(costs, axis=1),
                        n_features=X.shape[1]).pruned()


def _problem(cost, max_depth, allowed_gap):
    unit = cost.unit if cost.weight is None else 1
    return np.array([unit, cost.penalty, cost.min_samples_leaf, cost.n_classes, max_depth,
                     allowed_gap], np.int64)


def wide_numbers(n, n_classes, weighted):
    """Return whether a search needs the larger types of integers."""
    return n > NARROW_ROWS or n_classes > NARROW_CLASSES or weighted


def search_arrays(n, p, cost, max_depth, wide, max_nodes=None):
    """Return shape and type of every large array of a search, but for those of its cache."""
    levels = max(1, max_depth - 2)
    most = 2 ** min(max_depth, 30) - 1
    limited = max_nodes is not None and max_nodes < most
    n_divisions = max(1, min(max_nodes, (most + 1) // 2)) if limited else 1
    candidates = p * n_divisions
    pair_candidates = p * min(2, n_divisions)
    slots = 2 * levels + 1 if max_depth > 2 else 1
    nodes = max(7, 2 * min(n - 1, max_nodes if limited else most) + 1)
    weighted = cost.weight is not None
    intervals = min(n // 2 + 3, MAX_INTERVALS) + 2 * HALF_TWO + 2
    unsigned = np.uint32 if wide else np.uint16
    lane = np.int64 if weighted else np.int32 if wide else np.int16
    kinds = {
        "order": unsigned, "keys": np.int64 if wide else np.int32, "labels": np.uint16,
        "cut": np.int32, "segment": np.int32, "vectors": lane, "buckets": unsigned,
        "code": unsigned, "solved": lane, "sides": np.uint32}
    shapes = {
        "order": (slots, p, n), "keys": (p, n if max_depth > 2 else 0), "labels": (n,),
        "cut": (slots, p, n + 1), "segment": (slots, p, n + 1),
        "mass": (slots, p, n + 1 if weighted else 0), "count": (slots, p, 3),
        "vectors": (5, max(2 * WIDTH_TWO, WIDTH_MANY * cost.n_classes)),
        "buckets": (n + LANES,), "code": (n,), "classes": (2, cost.n_classes),
        "tally": (4, cost.n_classes), "errors": (4, 2 * HALF_TWO), "chosen": (2 * HALF_TWO,),
        "halves": (2, 5), "intervals": (pair_candidates, intervals, 8), "spare": (intervals, 8),
        "features": (pair_candidates, 5), "state": (k.STATE_SIZE,),
        "frames": (levels, k.FRAME_SIZE), "probes": (candidates, 4),
        "profiles": (levels, 5, n + 2), "lower": (levels + 1, candidates),
        "feature_order": (levels, candidates), "seed_threshold": (levels, p),
        "archive": (levels, 2, min(n + 3, MAX_KEPT), candidates), "similar": (levels, 2, n + 1),
        "solved": (levels, 2, k.SOLVED), "sides": (levels, n if max_depth > 2 else 0),
        "trees": (levels, nodes, 2), "child_trees": (levels, 2, nodes, 2),
        "members": (levels, 2, -(-n // 64))}
    return {name: (shape, kinds.get(name, np.int64)) for name, shape in shapes.items()}


def bytes_needed(arrays):
    """Return the bytes that arrays of such shapes and types take."""
    return sum(int(np.prod(shape)) * np.dtype(kind).itemsize for shape, kind in arrays.values())


class ThresholdSearch:
    """Search for an optimal tree over all thresholds, resumable after every slice of work.

    ``max_depth`` is at least 2 and ``max_nodes``, if given, at least ``max_depth``; ``arrays`` come
    from :func:`search_arrays` for these or larger ones.  Trees that are better by no more than
    ``allowed_gap`` are not looked for.  The cache of subsets, which takes at most ``cache_bytes``,
    is used from depth four on.
    """

    def __init__(self, columns, cost, max_depth, arrays, *, allowed_gap=0, max_nodes=None,
                 cache_bytes=0):
        p, n = columns.order.shape[1:]
        limited = max_nodes is not None and max_nodes < 2 ** min(max_depth, 30) - 1
        budget = max_nodes if limited else k.UNLIMITED
        recur = max_depth > 3 and columns.count[0, :, 0].mean() <= CACHED_THRESHOLDS
        a = {name: getattr(columns, name) if name in COLUMN_ARRAYS else np.empty(*spec)
             for name, spec in arrays.items()}
        words = -(-n // 64)
        entries = cache_bytes // (8 * words + 40) if recur else 0
        places = 1 << (2 * entries - 1).bit_length() - 1 if entries else 0
        a["table"] = np.zeros(places, np.int32)       # zeros: pages come when needed
        a["entries"], a["sets"] = (np.zeros((entries, size), np.int64) for size in (3, words))
        for name in ("errors", "chosen", "state", "frames", "lower"):
            a[name][...] = 0
        a["probes"][...] = -1
        a["vectors"] = _in_lines(a["vectors"])
        frame = a["frames"][0]
        frame[k.ROWS] = n
        frame[k.CAP] = frame[k.BEST] = k.INFINITE
        frame[k.BUDGET] = budget
        # which root candidates exist: each feature with a threshold, once per division
        frame[k.DIVISIONS], _ = k.divide_budget(max_depth, budget)
        every = np.repeat(columns.count[0, :, 0] > 0, frame[k.DIVISIONS])
        self.candidates = np.zeros(a["lower"].shape[1], bool)
        self.candidates[:len(every)] = every
        self._n_candidates = len(every)
        self._bind({
            **a, "weight": cost.weight, "problem": _problem(cost, max_depth, allowed_gap),
            **_tables(a["vectors"].dtype, cost.weight is not None)})

    def _bind(self, arrays):
        """Work on these arrays from now on."""
        self.arrays, self.current = arrays, None
        self.state, self.frame = arrays["state"], arrays["frames"][0]
        columns, *others = (kind(*map(arrays.get, kind._fields))
                            for kind in (k.Columns, k.Pair, k.Levels, k.Cache))
        self._arguments = (columns, *map(arrays.get, CONSTANT_ARRAYS), *others, arrays["tally"],
                           self.state)

    def clone(self):
        """Return a copy that goes on from the same point, sharing what is never written."""
        other = copy(self)
        other._bind({name: array if name in CONSTANT_ARRAYS
                     else np.zeros_like(array) if name in k.Cache._fields else array.copy()
                     for name, array in self.arrays.items()})
        return other

    def advance(self, work):
        """Search for so many row visits; see :func:`odtlib.continuous._kernels.search`."""
        self.state[k.LIMIT] = self.state[k.WORK] + work
        return k.search(*self._arguments)

    def salvage(self):
        """Adopt what a depth-two solve at the root has found when a limit cut it short."""
        state, frame = self.state, self.frame
        unfinished = frame[k.PHASE] == k.START and state[k.PAIR_PHASE] == 1
        if unfinished and state[k.PAIR_BEST] < frame[k.BEST]:
            frame[k.BEST] = state[k.PAIR_BEST]
            a = self.arrays
            k.rebuild_pair(self._arguments[0], 0, frame[k.ROWS], a["labels"], a["weight"],
                           a["problem"], min(k.NO_BUDGET, frame[k.BUDGET]), state[k.PAIR_ROOT],
                           state[k.PAIR_VALUE], frame[k.BEST], a["code"], a["tally"], a["errors"],
                           a["trees"][0])
        return unfinished

    @property
    def best(self):
        """Objective of the best tree that is known."""
        return int(self.frame[k.BEST])

    def feature_order(self):
        """Return the root candidates, the most promising first: by their probes where these are."""
        order = self.arrays["feature_order"][0, :self._n_candidates]
        order = order[self.candidates[order]]
        probes = self.arrays["probes"][order]
        value = np.where(probes[:, 0] >= 0, probes[:, 2:].sum(axis=1), k.INFINITE)
        return order[np.argsort(value, kind="stable")]


@cache
def _tables(lane, weighted):
    """Return the tables of the sweeps."""
    return {"table_two": None if weighted else _in_lines(two_class_table()),
            "table_many": _in_lines(bucket_table(lane, -1 if weighted else 1))}


def _in_lines(array):
    """Copy an array to the start of a cache line, for whole-register loads."""
    copy = aligned(array.nbytes, array.dtype)[:array.size].reshape(array.shape)
    copy[:] = array
    return copy


class Found(NamedTuple):
    """What a search has found: the nodes of a tree, or None, its cost, a bound, and counters."""

    tree: np.ndarray | None
    cost: int
    bound: int
    counters: dict


def run_search(search, fit, n_jobs=1, start=None, watch=lambda *event: None, start_seconds=0.0,
               improve=None):
    """Run a search to its end or to a limit, on ``n_jobs`` threads that share the root features.

    The tree that it has found is None where it is that of ``start``.
    ``start()`` returns the cost of a known tree, in about ``start_seconds``.  It is called after a
    number of row visits, so that no tree depends on the speed of the computer, or when the limit is
    near.  ``watch(event, cost, bound)`` is called after every incumbent and after every closed
    root feature.  Once ``TURN`` of the time limit is over, ``improve(nodes, closed)`` gets the
    nodes of the best tree, None where it is the start, and the number of features of the root that
    are closed, and returns the cost of the best tree that it knows.
    """
    shared = _Shared(search, fit.clock, start, start_seconds, watch, improve)
    with fit.stops():
        try:
            shared.work(search, [])      # the root's depth-two tree
            for probe in (True, False):     # one threshold per feature, then features in that order
                if shared.stop.is_set():
                    break
                queue = [(f, probe) for f in search.feature_order()]
                copies = [] if probe else [search.clone()
                                           for _ in range(min(n_jobs, len(queue)) - 1)]
                shared.searches += copies
                if copies:
                    in_threads([partial(shared.work, part, queue) for part in shared.searches],
                               shared.stop.set, shared.give_way)
                else:
                    shared.work(search, queue)
        finally:
            shared.stop.set()
        if shared.timed_out:
            raise TimeUp
    if search.salvage() and search.best < shared.best:
        shared.best, shared.tree = search.best, search.arrays["trees"][0].copy()
    names = "nodes", "depth_two", "batches", "thresholds", "cache_stored", "cache_hits"
    totals = np.sum([part.state for part in shared.searches], axis=0)[k.NODES:].tolist()
    return Found(shared.tree, shared.best, shared.bound(not fit.stopped),
                 dict(zip(names, totals, strict=True)))


class _Shared:
    """What the threads of a run share: the incumbent, and when to stop."""

    def __init__(self, search, clock, start, start_seconds, watch, improve=None):
        self.searches, self.closed = [search], 0
        self.clock, self.start, self.watch = clock, start, watch
        self.improve, self.start_seconds = improve, start_seconds
        self.start_work = max(SHORT, VISITS_FOR_START * search.arrays["order"][0].size)
        self.best, self.tree = search.best, None
        self.lock, self.stop, self.timed_out = threading.Lock(), Flag(), False

    def bound(self, finished=False):
        """Return what no tree costs less than."""
        problem = self.searches[0].arrays["problem"]
        if self.best <= problem[k.PENALTY]:
            return self.best
        if problem[k.DEPTH] == 2:
            return self.best if finished else 0
        lower = np.max([search.arrays["lower"][0] for search in self.searches], axis=0)
        return min(self.best, int(lower[self.searches[0].candidates].min(initial=self.best)))

    def start_is_due(self, done):
        """Tell whether the starting tree is cheap beside the search, or the time nearly over."""
        return done >= self.start_work or (
            done > SHORT and self.clock.remaining <= 2 * self.start_seconds)

    def adopt(self, cost, event):
        """Take over the cost of a tree that was found elsewhere."""
        if cost < self.best:
            self.best, self.tree = cost, None
            self.watch(event, self.best, self.bound())

    def give_way(self):
        """Let quicker methods look for a tree, once, when it is time; searches may go on."""
        if self.improve is None or self.clock.elapsed < TURN * self.clock.time_limit:
            return
        improve, self.improve = self.improve, None
        cost = improve(self.tree, self.closed)
        with self.lock:
            self.adopt(cost, "subtrees")

    def work(self, search, queue):
        """Search, and take root features off the queue, until it is empty or a limit is reached."""
        pace = Pace()
        while not self.stop.is_set():
            ahead = self.start_work - int(search.state[k.WORK])
            most = ahead if self.start is not None and ahead > 0 else MOST_WORK
            # a slice ends where the start is due
            outcome = pace.slice(search.advance, lambda outcome: outcome != k.RUNNING, most)
            with self.lock:
                if search.best < self.best:
                    self.best, self.tree = search.best, search.arrays["trees"][0].copy()
                    self.watch("improved", self.best, self.bound())
                if (outcome != k.DONE and self.start is not None
                        and self.start_is_due(search.state[k.WORK]) and not self.clock.expired):
                    start, self.start = self.start, None
                    self.adopt(start(), "start")
                search.frame[k.BEST] = self.best
                if outcome == k.DONE or self.best <= search.arrays["problem"][k.PENALTY]:
                    self.stop.set()     # without errors, or with one split, nothing is better
                    return
                if outcome == k.WANTS_FEATURE:
                    if search.current is not None:
                        self.closed += 1
                        self.watch("feature closed", self.best, self.bound())
                    if not queue:
                        return
                    candidate, probe = queue.pop(0)
                    search.current = None if probe else candidate
                    search.frame[k.FEATURE], search.frame[k.PROBING] = candidate, probe
                    search.frame[k.PHASE] = k.OPEN_FEATURE
            if len(self.searches) == 1:     # else the main thread does so
                self.give_way()
            if self.clock.expired:
                self.timed_out = True
                self.stop.set()
