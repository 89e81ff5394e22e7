"""A penalty per level of the tree: dynamic programming where equal rows may cost differently.

A subproblem is here known by its level too, so the search of :mod:`odtlib.murtree.solver`, whose
cache does not tell levels apart, cannot be used.  Depth two is solved on pairwise counts with
numpy; above it Eq. 1 is evaluated with a cache and one bound: the child that is solved first.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from odtlib.report import default_objective

from ..preparation import _distinct_columns, pair_sums, set_name
from .fronts import DepthwiseRun


def level_objective(tree, X, y, sample_weight=None, *, penalties):
    """Return errors plus the penalties of the feature nodes by their depth."""
    spent = penalties[tree.node_depth[tree.feature >= 0]].sum() if tree.n_splits else 0.0
    return default_objective(tree, X, y, sample_weight) + float(spent)


class LevelRun(DepthwiseRun):
    """One fit with a penalty for each level."""

    def __init__(self, model, columns, y, sample_weight, clock, what):
        super().__init__(model, columns, y, sample_weight, clock, what)
        self.penalties = np.asarray(model.split_penalty, np.float64)
        if model.max_depth is None:
            raise ValueError("split_penalty per level needs a max_depth; give a number.")
        if self.penalties.shape != (model.max_depth,) or not np.all(self.penalties >= 0):
            raise ValueError(f"split_penalty has shape {self.penalties.shape}; give one "
                             f"number, or one for each of the "
                             f"{model.max_depth} levels, none negative.")
        self.distinct = _distinct_columns(self.columns)
        self.bits = self.columns[:, self.distinct].astype(np.float64)
        self.classes = np.eye(self.n_classes)[self.y] * self.weight[:, None]
        self.known, self.memory = {}, 0
        self.work = {"depth_two": 0, "cache_hits": 0, "pruned_by_bound": 0}

    def counters(self, tree):
        return {**self.work, "cache_bytes": self.memory}

    def evaluate(self):
        return partial(level_objective, penalties=self.penalties)

    def solve(self, depth, nodes):
        cost, nested = self.best_tree(np.arange(len(self.y)), depth, 0, nodes, np.inf)
        self.update_incumbent(self.built(nested), f"depth {depth}")

    def best_tree(self, rows, depth, level, nodes, upper):
        """Return cost and nested tuples of the best tree; None if it does not cost below upper."""
        nodes = min(nodes, 2 ** depth - 1)
        depth = min(depth, nodes)
        if depth <= 2:
            return self.depth_two(rows, level, nodes if depth == 2 else min(nodes, 1))
        name = set_name(rows, len(self.y)), depth, level, nodes
        if name in self.known and (self.known[name][1] is not None
                                   or self.known[name][0] >= upper):
            self.work["cache_hits"] += 1
            return self.known[name]
        sums = self.classes[rows].sum(axis=0)
        best = float(sums.sum() - sums.max()), int(np.argmax(sums))
        if best[0] >= upper:
            best = upper, None
        largest = 2 ** (depth - 1) - 1
        for column in range(self.bits.shape[1]):
            self.clock.check()
            has = self.bits[rows, column] == 1
            one, zero = rows[has], rows[~has]
            if min(len(one), len(zero)) < self.model.min_samples_leaf:
                continue
            for a in range(max(0, nodes - 1 - largest), min(largest, nodes - 1) + 1):
                spent = self.penalties[level]
                first, tree_1 = self.best_tree(one, depth - 1, level + 1, a, best[0] - spent)
                if tree_1 is None or spent + first >= best[0]:
                    self.work["pruned_by_bound"] += 1
                    continue
                second, tree_0 = self.best_tree(zero, depth - 1, level + 1, nodes - 1 - a,
                                                best[0] - spent - first)
                if tree_0 is not None and spent + first + second < best[0]:
                    best = (spent + first + second,
                            (int(self.distinct[column]), tree_0, tree_1))
        size = len(name[0]) + 500
        if self.memory + size <= 1e6 * (self.model.memory_limit or np.inf):
            self.known[name] = best
            self.memory += size
        return best

    def depth_two(self, rows, level, nodes):
        """Return cost and nested tuples of the best tree of depth at most two."""
        self.work["depth_two"] += 1
        bits, classes = self.bits[rows], self.classes[rows]
        total = classes.sum(axis=0)
        leaf = float(total.sum() - total.max()), int(np.argmax(total))
        if nodes == 0 or bits.shape[1] == 0:
            return leaf
        spent = self.penalties[level]
        single = classes.T @ bits
        number = bits.sum(axis=0)
        min_leaf = self.model.min_samples_leaf
        if nodes > 1:
            pairs = pair_sums(bits, classes, self.clock)
            together = bits.T @ bits

        others = total[:, None] - single
        leaf_1, leaf_0 = (whole.sum(axis=0) - whole.max(axis=0) for whole in (single, others))
        split_1 = split_0 = np.full(len(leaf_1), np.inf)
        second_1 = second_0 = np.zeros(len(leaf_1), int)
        if nodes > 1:
            def split(whole, counts, too_small):
                """Return the least cost of one side of every column when split, and by what."""
                rest = whole[:, :, None] - counts
                cost = (whole.sum(axis=0)[:, None] - counts.max(axis=0) - rest.max(axis=0)
                        + self.penalties[level + 1])
                cost[too_small] = np.inf
                return cost.min(axis=1, initial=np.inf), cost.argmin(axis=1)

            alone = number[None, :] - together
            split_1, second_1 = split(single, pairs, (together < min_leaf)
                                      | (number[:, None] - together < min_leaf))
            split_0, second_0 = split(others, single[:, None, :] - pairs,
                                      (alone < min_leaf)
                                      | (len(rows) - number[:, None] - alone < min_leaf))
        best_1, best_0 = np.minimum(leaf_1, split_1), np.minimum(leaf_0, split_0)
        ways = {1: [(leaf_1, leaf_0)], 2: [(best_1, leaf_0), (leaf_1, best_0)],
                3: [(best_1, best_0)]}[nodes]
        allowed = (number >= min_leaf) & (len(rows) - number >= min_leaf)
        best = leaf

        def nested(value, leaves, whole, second, counts, i):
            if value[i] >= leaves[i]:
                return int(np.argmax(whole[:, i]))
            j = int(second[i])
            one = counts(i, j)
            return (int(self.distinct[j]), int(np.argmax(whole[:, i] - one)),
                    int(np.argmax(one)))

        for value_1, value_0 in ways:
            cost = np.where(allowed, spent + value_1 + value_0, np.inf)
            if cost.min(initial=np.inf) < best[0]:
                i = int(cost.argmin())
                tree_1 = nested(value_1, leaf_1, single, second_1, lambda i, j: pairs[:, i, j], i)
                tree_0 = nested(value_0, leaf_0, others, second_0,
                                lambda i, j: single[:, j] - pairs[:, i, j], i)
                best = float(cost[i]), (int(self.distinct[i]), tree_0, tree_1)
        return best
