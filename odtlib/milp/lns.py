"""BinOCT-LNS: CP-SAT solves BinOCT's model for two nodes at a time while all others stay."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from odtlib._tolerance import ROUNDING
from odtlib.heuristics._ranks import RankedRows
from odtlib.milp.binoct_model import BinOCTModel, cost_of, route
from odtlib.milp.thresholds import ancestors, heap_of

NONZEROS = 60_000       # of a neighbourhood's model, about; a second to build and solve
FORM = "ordered"
SECONDS = 4.0           # that CP-SAT may spend on one
VAIN_ROUNDS = 5         # after which a search without a time limit ends


class NeighbourhoodSearch:
    """Improve a tree by freeing one node and another above it.

    Two nodes that are not above each other divide different rows and are best chosen one by one, so
    these are all pairs that matter; with a single node left free the local search of
    :mod:`odtlib.heuristics` would do the same faster.

    Parameters
    ----------
    rows : RankedRows
        Training rows; their weights are costs.
    cuts : list of array of int
        Candidate cuts of every feature.
    depth : int
        Depth of the full tree.
    groups, price
        As for :class:`BinOCTModel`.

    Attributes
    ----------
    heap, label : array
        The best splits and classes of leaves.
    counters : dict
        ``neighbourhoods`` solved, ``proved`` to optimality, and those that ``improved`` the tree.
    """

    def __init__(self, rows, cuts, depth, groups=None, price=0.0):
        self.rows, self.cuts, self.depth = rows, cuts, depth
        self.groups, self.price = groups, price
        self.n_nodes = 2**depth - 1
        self.place = np.array([np.searchsorted(own, ranks) for own, ranks
                               in zip(cuts, rows.ranks, strict=True)])
        self.n_cuts = np.array([len(own) for own in cuts])
        self.counters = {"neighbourhoods": 0, "proved": 0, "improved": 0}

    def run(self, start, clock, found, *, floor=0.0, unit=None, workers=2, random_state=None,
            settings=None):
        """Search until time is over, or no pair of nodes brings anything.

        Parameters
        ----------
        start : DecisionTree
            Where to begin.
        clock : Clock
            The limit.
        found : callable
            ``found(heap, label, event)`` is called with every better tree.
        floor : float, default=0.0
            An objective that no tree is below: the search ends there.
        unit, settings
            As for :meth:`Model.solve`.
        workers : int, default=2
            Workers of CP-SAT.
        random_state : int, RandomState or None, default=None
            Seed of the order of pairs and of the features offered.

        Returns
        -------
        str
            ``time_limit``, or ``heuristic`` where the search came to an end.
        """
        random = check_random_state(random_state)
        heap, label = heap_of(start, self.rows, self.cuts, self.depth)
        self.heap, self.label = heap, label
        best, vain = self.objective(heap, label), 0
        rounding = ROUNDING * (self.rows.weights.sum() + self.price)
        pairs = [(above, node) for node in range(1, self.n_nodes) for above in ancestors(node)]
        pairs = pairs or [(0,)]
        while best > floor + rounding:
            before, settled = best, True
            for i in random.permutation(len(pairs)):
                if clock.expired:
                    return "time_limit"
                solved = self._solve(heap, label, pairs[i], clock, unit, workers, random, settings)
                settled &= solved is not None and solved[2]
                if solved is None:
                    continue
                value = self.objective(*solved[:2])
                if value > best + rounding:
                    continue
                heap, label = solved[:2]    # equals are taken too: they lead elsewhere
                self.heap, self.label = heap, label
                if value < best - rounding:
                    best = value
                    self.counters["improved"] += 1
                    found(heap, label, f"nodes {', '.join(map(str, pairs[i]))}")
            vain = 0 if best < before else vain + 1
            if vain and (settled or (clock.time_limit is None and vain == VAIN_ROUNDS)):
                break
        return "heuristic"

    def objective(self, heap, label):
        """Return the objective of a full tree.

        Parameters
        ----------
        heap, label : array
            Splits and classes of leaves.

        Returns
        -------
        float
        """
        return cost_of(self.rows, label[route(heap, self.place)], self.groups, self.price)

    def _solve(self, heap, label, nodes, clock, unit, workers, random, settings):
        """Return splits, classes, and whether nothing else for these nodes is better."""
        possible = self._possible(heap, nodes)
        several = possible.sum(axis=1) > 1
        if not several.any():
            return None
        # rows that cannot move count only where groups are compared
        members = np.arange(len(several)) if self.groups is not None else np.flatnonzero(several)
        features = self._features(heap, nodes, members, random)
        part = BinOCTModel(
            _subset(self.rows, members), self.cuts, self.depth, FORM, free=nodes,
            possible=possible[members], features=features, price=self.price,
            groups=None if self.groups is None else self.groups[members])
        solution = part.model.solve(
            "cp-sat", start=part.encode(heap, label), unit=unit, threads=workers,
            time_limit=min(SECONDS, max(0.01, clock.remaining)), settings=settings,
            random_state=int(random.randint(2**31 - 1)), apart=False)
        if solution.status == "interrupted":
            raise KeyboardInterrupt
        self.counters["neighbourhoods"] += 1
        self.counters["proved"] += solution.status == "optimal"
        new, classes = part.decode(solution.values, heap)
        there = possible[members].any(axis=0)
        return (new, np.where(there, classes, label),
                solution.status == "optimal" and bool(features.all()))

    def _possible(self, heap, nodes):
        """Return the leaves that every row can reach when some nodes are free."""
        reached = np.zeros((self.rows.n_rows, 2 * self.n_nodes + 1), bool)
        reached[:, 0] = True
        for node in range(self.n_nodes):
            feature, position = heap[node]
            right = self.place[feature] > position
            free = node in nodes
            reached[:, 2 * node + 1] = reached[:, node] & (free | ~right)
            reached[:, 2 * node + 2] = reached[:, node] & (free | right)
        return reached[:, self.n_nodes:]

    def _features(self, heap, nodes, members, random):
        """Return the features to offer: all, or as many at random as the model may have."""
        size = len(members) * len(nodes) * 3 * (1 + np.log2(np.maximum(1, self.n_cuts)))
        size = np.where(self.n_cuts > 0, size, 0.0)
        if size.sum() <= NONZEROS:
            return np.ones(len(size), bool)
        chosen = np.zeros(len(size), bool)
        chosen[[heap[node][0] for node in nodes]] = True
        for feature in random.permutation(len(size)):
            if size[chosen].sum() + size[feature] <= NONZEROS:
                chosen[feature] = True
        return chosen


def _subset(rows, members):
    part = object.__new__(RankedRows)
    part.values, part.n_classes = rows.values, rows.n_classes
    part.ranks, part.labels = rows.ranks[:, members], rows.labels[members]
    part.weights, part.members = rows.weights[members], rows.members[members]
    return part
