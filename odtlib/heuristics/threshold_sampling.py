"""Threshold sampling: the splits that CART uses most often on random parts of the rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral
from threading import local

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_random_state

from odtlib._numba.warm import warm_up
from odtlib.heuristics import _sampling_kernels as kernels
from odtlib.heuristics.cart import cart_nodes, patient_clock
from odtlib.heuristics.ranks import RankedRows
from odtlib.report import Clock, TimeUp
from odtlib.solver_threads import Flag, in_threads
from odtlib.tree import midpoint
from odtlib.trees import classifier_of

SKLEARN_SEED = 99   # of the published program, which takes it for every tree
CHUNK = 32          # trees that are asked for at once


@dataclass(frozen=True)
class SampledSplits:
    """Hold the candidate splits of every node of a full binary tree.

    Nodes are numbered as in a heap: the root is 0, the children of ``j`` are ``2j + 1`` (left)
    and ``2j + 2``.

    Parameters
    ----------
    max_depth : int
        Depth of the tree, at least 1.
    splits : list of list of (int, float)
        For each of the ``2 ** max_depth - 1`` feature nodes its splits (feature, threshold), the
        most frequent first; all lists are empty where CART never splits at all.
    counts : list of list of int
        In how many of the sampled trees the node has this split.
    cart : list of (int, float) or None
        The split of every node in the CART of all rows, None where that tree has a leaf or
        nothing.
    n_trees : int
        Trees that were grown on parts of the rows.
    seconds : float
        Wall time that it took.
    complete : bool, default=True
        False where the time limit ended the sampling.
    """

    max_depth: int
    splits: list
    counts: list
    cart: list
    n_trees: int
    seconds: float
    complete: bool = field(default=True)


def spawned(seed, *child):
    """Return a generator that shares no draw with one of another seed or another child."""
    return np.random.RandomState(np.random.MT19937(
        np.random.SeedSequence(int(seed), spawn_key=child)))


class TreeSampler:
    """Grow depth-limited CARTs on random parts of the same rows.

    The backend "sklearn" grows each tree by scikit-learn with the same seed, as the published
    program does, and is the reference.  "compiled" sorts once and is many times faster; it chooses
    the same split wherever one split is better than all others.  Among equally good splits it
    takes the smallest feature, then the smallest threshold; scikit-learn takes the first in an
    order of features that its seed draws.

    ``seed`` 0 draws as the published program does: tree ``i`` from numpy's seed ``i``.  Every other
    seed spawns a stream of its own for each tree, so that two seeds have no part in common.
    """

    def __init__(self, X, y, n_classes, sample_weight=None, max_depth=4, backend="compiled",
                 clock=None, seed=0):
        if backend not in ("compiled", "sklearn"):
            raise ValueError(f"backend is {backend!r}; use 'compiled' or 'sklearn'.")
        self.rows = RankedRows(X, y, n_classes, sample_weight, clock)
        self.max_depth, self.backend, self.seed = int(max_depth), backend, seed
        self.splits = {}        # by feature and the ranks on both sides; most trees have few others
        self.own = local()      # every thread has its own scratch, and its own generator
        if backend == "compiled":
            self.sorted = kernels.presorted(self.rows)

    def part(self, share, tree):
        """Draw a share of the rows for a tree as ``train_test_split(test_size=1 - share)`` does."""
        n_rows = self.rows.n_rows
        left_out = min(n_rows - 1, int(np.ceil(round(1.0 - share, 12) * n_rows)))
        if self.seed != 0:
            return spawned(self.seed, tree).permutation(n_rows)[left_out:]
        if not hasattr(self.own, "random"):
            self.own.random = np.random.RandomState()       # takes far longer than a new seed
        self.own.random.seed(tree)
        return self.own.random.permutation(n_rows)[left_out:]

    def grow(self, chosen=None):
        """Grow a tree on the rows ``chosen``; return its splits in heap order, None at leaves."""
        chosen = np.arange(self.rows.n_rows) if chosen is None else chosen
        table = self._compiled(chosen) if self.backend == "compiled" else self._sklearn(chosen)
        return [None if split[0] < 0 else self.splits.get(split) or self._made(*split)
                for split in map(tuple, table.tolist())]

    def _made(self, f, low, high):
        values = self.rows.values[f]
        split = self.splits[f, low, high] = f, float(midpoint(values[low], values[high]))
        return split

    def _compiled(self, chosen):
        if not hasattr(self.own, "scratch"):
            self.own.scratch = kernels.make_scratch(self.rows.n_rows, self.sorted[4],
                                                    self.max_depth)
        node, split = self.own.scratch[:2]
        node[:] = -1
        node[chosen] = 0
        kernels.grow(*self.sorted, self.max_depth, *self.own.scratch)
        return split

    def _sklearn(self, chosen):
        nodes = cart_nodes(self.rows, SKLEARN_SEED if self.seed == 0 else spawned(self.seed),
                           chosen, max_depth=self.max_depth)
        table = np.full((2 ** self.max_depth - 1, 3), -1)
        stack = [(0, 0, chosen)]
        while stack:
            line, heap, members = stack.pop()
            feature, cut, left, right = nodes[line]
            if feature < 0:
                continue
            ranks = self.rows.ranks[feature, members]
            low = ranks <= cut
            table[heap] = feature, ranks[low].max(), ranks[~low].min()
            stack += [(left, 2 * heap + 1, members[low]), (right, 2 * heap + 2, members[~low])]
        return table


def sample_splits(X, y, n_classes, sample_weight=None, *, max_depth=4, n_trees=300,
                  sample_share=0.9, stopping="fixed", root_candidates=None, node_candidates=None,
                  add_cart=False, backend="compiled", n_jobs=1, random_state=0, time_limit=None):
    """Sample candidate splits for every node from CARTs on random parts of the rows.

    Parameters
    ----------
    X : array of float64, shape (n_rows, n_features)
        Training rows, validated.
    y : array of int, shape (n_rows,)
        Class indices.
    n_classes : int
        Number of classes.
    sample_weight : array of float, shape (n_rows,), optional
        Positive weight of every row (default: one).
    max_depth : int, default=4
        Depth of the trees, at least 1.
    n_trees, sample_share, stopping, root_candidates, node_candidates, add_cart
        As in :class:`odtlib.column_generation.ThresholdSampling`.
    backend : {"compiled", "sklearn"}, default="compiled"
        What grows the trees, see :class:`TreeSampler`.
    n_jobs : int or None, default=1
        Number of threads; None means 1 and -1 all processors.  The result does not depend on it.
    random_state : int, RandomState or None, default=0
        Seed of the parts, see :class:`TreeSampler`: 0 draws those of the published program, and
        two seeds have none in common.
    time_limit : float, optional
        Seconds; then the splits found so far are used, none where not even the rows were sorted.

    Returns
    -------
    SampledSplits

    Notes
    -----
    Firat et al. (2020), Algorithm 1 and Section 5; Patel et al. (2023), steps 1 to 3.  As in the
    program of the latter, the splits of the CART of all rows come before all others, the split
    found later wins between equally frequent ones, two thresholds that divide the rows identically
    are different splits, and a node that no tree splits takes the first split that was found
    anywhere.
    """
    clock = Clock(time_limit)
    seed = int(random_state) if isinstance(random_state, Integral) else \
        check_random_state(random_state).randint(1, 2 ** 31 - 1)
    max_depth, n_trees, sample_share = int(max_depth), int(n_trees), float(sample_share)
    n_nodes, n_jobs = 2 ** max_depth - 1, effective_n_jobs(n_jobs)
    try:
        sampler = TreeSampler(X, y, n_classes, sample_weight, max_depth, backend,
                              patient_clock(time_limit), seed)
    except TimeUp:
        nothing = [[] for _ in range(n_nodes)]
        return SampledSplits(max_depth, nothing, nothing, [None] * n_nodes, 0, clock.elapsed,
                             False)

    counts, grown, complete = _counted(sampler, clock, n_trees, sample_share, stopping, n_jobs)
    cart = sampler.grow()
    splits = _kept(counts, cart, root_candidates, node_candidates, add_cart)
    kept_counts = [[counts[node].get(split, 0) for split in kept]
                   for node, kept in enumerate(splits)]
    return SampledSplits(max_depth, splits, kept_counts, cart, grown, clock.elapsed, complete)


def _grow_all(grow, numbers, n_jobs):
    """Return what ``grow`` gives for each number; each of ``n_jobs`` threads takes the next one."""
    stop, left, trees = Flag(), iter(numbers), {}

    def work():
        for i in left:
            if stop.is_set():
                break
            trees[i] = grow(i)

    in_threads([work] * n_jobs, stop.set)
    return [trees[i] for i in numbers]


def _counted(sampler, clock, n_trees, sample_share, stopping, n_jobs):
    """Return how often each node has each split, the number of trees, and whether they are all.

    Splits stand in the order in which they were found first.
    """
    def grow(i):
        return None if clock.expired else sampler.grow(sampler.part(sample_share, i))

    counts = [{} for _ in range(2 ** sampler.max_depth - 1)]
    grown = without_new = 0
    complete = False
    while not (complete or clock.expired):
        wanted = n_trees - (grown if stopping == "fixed" else without_new)
        for tree in _grow_all(grow, range(grown, grown + min(CHUNK, wanted)), n_jobs):
            if tree is None:
                break
            new_root = tree[0] is not None and tree[0] not in counts[0]
            grown += 1
            without_new = 0 if new_root else without_new + 1
            for node, split in enumerate(tree):
                if split is not None:
                    counts[node][split] = counts[node].get(split, 0) + 1
            complete = (grown if stopping == "fixed" else without_new) >= n_trees
            if complete:
                break
    return counts, grown, complete


def _kept(counts, cart, root_candidates, node_candidates, add_cart):
    """Return the splits of each node that are kept: the CART's, then the most frequent.

    A node without any takes the first split that was found anywhere.
    """
    splits = []
    for node, count_of in enumerate(counts):
        wanted = root_candidates if node == 0 else node_candidates
        if wanted is None:
            wanted = max(1, (150 if node == 0 else 100) // len(counts))
        found = {split: (count, at) for at, (split, count) in enumerate(count_of.items())}
        most = sorted(found, key=found.get, reverse=True)
        own = [] if cart[node] is None else [cart[node]]
        if wanted != "all" and add_cart:
            most = most[:wanted]
        kept = own + [split for split in most if split not in own]
        splits.append(kept if wanted == "all" or add_cart else kept[:wanted])
    # A tree that splits at all splits its root.
    first = next((split for split in [*counts[0], *cart] if split is not None), None)
    return [kept or ([first] if first else []) for kept in splits]


def warm_up_sampling():
    """Compile the kernel of :func:`sample_splits`; return the seconds that it took."""
    X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    return warm_up("threshold sampling", kernels.grow,
                   lambda: TreeSampler(X, y, 2, max_depth=1).grow())


def tree_of_splits(splits, X, y, n_classes, sample_weight=None):
    """Return the tree with given splits, (feature, threshold) or None in heap order.

    Its leaves predict the class of largest weight; splits that send all rows one way, or change no
    prediction, are dropped.
    """
    plans = [None] * (2 * len(splits) + 1)
    for at in reversed(range(len(splits))):
        if splits[at] is not None:
            plans[at] = (*splits[at], plans[2 * at + 1], plans[2 * at + 2])
    return classifier_of(plans[0], X, y, n_classes, sample_weight).pruned()
