"""BinOCT-LNS: CP-SAT solves BinOCT's model for two or three nodes while all others stay."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from odtbook.formulations.binoct_model import BinOCTModel, cost_of, cut_positions
from odtbook.formulations.thresholds import ancestors, to_full_tree
from odtlib.heuristics.ranks import RankedRows
from odtlib.tolerance import ROUNDING

NONZEROS = 60_000       # of a neighbourhood's model, about; a second to build and solve
FORM = "ordered"
SECONDS = 4.0           # that CP-SAT may spend on one
VAIN_ROUNDS = 10        # after which a search without a time limit ends


class NeighbourhoodSearch:
    """Improve a tree by freeing a node and another above it, or a node and both children.

    Two nodes that are not above each other divide different rows and are best chosen one by one, so
    these are all pairs that matter; with a single node left free the local search of
    :mod:`odtlib.heuristics` would do the same faster.  A node and its children make larger programs
    and are freed only when no pair improves the tree.

    Rows, cuts, depth and limits are those of :class:`BinOCTModel`; weights are costs.  ``splits``
    and ``label`` are the best tree, ``counters`` the numbers of neighbourhoods solved, ``proved``
    to optimality, and those that ``improved`` the tree.
    """

    def __init__(self, rows, cuts, depth, **limits):
        self.rows, self.cuts, self.depth, self.limits = rows, cuts, depth, limits
        self.n_nodes = 2**depth - 1
        self.positions = cut_positions(rows, cuts)
        self.n_cuts = np.array([len(own) for own in cuts])
        self.counters = {"neighbourhoods": 0, "proved": 0, "improved": 0}

    def run(self, start, clock, found, *, floor=0.0, unit=None, n_jobs=1, random_state=None):
        """Search until time is over or no neighbourhood improves the tree; return the status.

        ``found(splits, label, event)`` is called with each better tree; the search ends at an
        objective of ``floor``, a lower bound for all trees.
        """
        random = check_random_state(random_state)
        splits, label = to_full_tree(start, self.rows, self.cuts, self.depth)
        self.splits, self.label = splits, label
        best = self.objective(splits, label)
        rounding = ROUNDING * (self.rows.weights.sum()
                               + self.limits.get("split_penalty", 0.0))
        pairs = [(above, node) for node in range(1, self.n_nodes) for above in ancestors(node)]
        families = [(node, 2 * node + 1, 2 * node + 2) for node in range(self.n_nodes // 2)]
        kinds = [pairs, families] if pairs else [[(0,)]]
        kind = vain = 0
        closed = []         # sets of nodes that cannot improve the tree, the others being fixed

        def is_closed(nodes):
            return any(known.issuperset(nodes) for known in closed)

        while best > floor + rounding and not all(map(is_closed, sum(kinds, []))):
            before = best
            for i in random.permutation(len(kinds[kind])):
                nodes = kinds[kind][i]
                if is_closed(nodes):
                    continue
                if clock.expired:
                    return "time_limit"
                *solved, proved = self._solve(splits, label, nodes, clock, unit, n_jobs, random)
                value = self.objective(*solved)
                if value <= best + rounding:    # equals are taken too: they lead elsewhere
                    self.splits, self.label = splits, label = solved
                if value < best - rounding:
                    best = value
                    closed.clear()
                    self.counters["improved"] += 1
                    found(splits, label, f"nodes {', '.join(map(str, nodes))}")
                if proved:
                    closed.append(set(nodes))
            kind, vain = (0, 0) if best < before else ((kind + 1) % len(kinds), vain + 1)
            if clock.time_limit is None and vain == VAIN_ROUNDS:
                break
        return "heuristic"

    def objective(self, splits, label):
        """Return the objective of a full tree."""
        return cost_of(self.rows, splits, label, self.positions,
                       self.limits.get("split_penalty", 0.0))

    def _solve(self, splits, label, nodes, clock, unit, n_jobs, random):
        """Return splits, classes, and whether nothing else for these nodes is better."""
        possible = self._possible(splits, nodes)
        several = possible.sum(axis=1) > 1
        if not several.any():       # no row gets to these nodes
            return splits, label, True
        limits = dict(self.limits)
        if limits.get("max_splits") is not None:
            fixed = np.delete(splits[:, 0], nodes)
            limits["max_splits"] -= np.count_nonzero(fixed >= 0)
        # rows that cannot move count only for leaf sizes and where groups are compared
        groups = limits.get("groups")
        complete = groups is not None or limits.get("min_samples_leaf", 1) > 1
        members = np.arange(len(several)) if complete else np.flatnonzero(several)
        if groups is not None:
            limits["groups"] = groups[members]
        features = self._features(splits, nodes, members, random)
        if not (self.n_cuts[features] > 0).any():       # the model of a single one is too large
            return splits, label, False
        part = BinOCTModel(_subset(self.rows, members), self.cuts, self.depth, FORM, free=nodes,
                           possible=possible[members], features=features, **limits)
        start = part.encode(splits, label)
        if groups is not None and part.model.violated(start):
            start = None        # a split in place of none sent rows to leaves of other classes
        solution = part.model.solve(
            "cp-sat", start=start, unit=unit, n_jobs=n_jobs,
            time_limit=min(SECONDS, max(0.01, clock.remaining)),
            random_state=int(random.randint(2**31 - 1)), in_subprocess=False)
        if solution.status == "interrupted":
            raise KeyboardInterrupt
        self.counters["neighbourhoods"] += 1
        if solution.values is None:
            return splits, label, False
        self.counters["proved"] += solution.status == "optimal"
        new, classes = part.decode(solution.values, splits)
        there = possible[members].any(axis=0)
        return (new, np.where(there, classes, label),
                solution.status == "optimal" and bool(features.all()))

    def _possible(self, splits, nodes):
        """Return the leaves that each row can reach when some nodes are free."""
        reached = np.zeros((self.rows.n_rows, 2 * self.n_nodes + 1), bool)
        reached[:, 0] = True
        for node in range(self.n_nodes):
            feature, cut = splits[node]
            right = (self.positions[feature] > cut) & (feature >= 0)
            free = node in nodes
            reached[:, 2 * node + 1] = reached[:, node] & (free | ~right)
            reached[:, 2 * node + 2] = reached[:, node] & (free | right)
        return reached[:, self.n_nodes:]

    def _features(self, splits, nodes, members, random):
        """Return the features to offer: all, or as many at random as the model may have."""
        size = len(members) * len(nodes) * 3 * (1 + np.log2(np.maximum(1, self.n_cuts)))
        size = np.where(self.n_cuts > 0, size, 0.0)
        if size.sum() <= NONZEROS:
            return np.ones(len(size), bool)
        chosen = np.zeros(len(size), bool)
        chosen[[splits[node][0] for node in nodes if splits[node][0] >= 0]] = True
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
