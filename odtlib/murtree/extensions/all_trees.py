"""All trees with the fewest errors: the subproblems that lie on an optimal tree, and their counts.

The search of MurTree gives the optimum of a subproblem for all numbers of feature nodes.  A split
lies on an optimal tree with exactly ``m`` feature nodes if the optima of its children, for ``a``
and ``m - 1 - a`` nodes, add up to that for at most ``m``; were a child's errors more than its
optimum, a better tree would exist.  Only such splits are followed, so the work grows with the
number of different subproblems on optimal trees, and counts multiply where trees would be listed.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from odtlib.report import TimeUp

from ..preparation import prepare, set_name
from ..solver import Solver
from .fronts import DepthwiseRun

OptimalTrees = namedtuple("OptimalTrees", "count trees errors complete")


class AllTreesRun(DepthwiseRun):
    """One fit that counts all optimal trees and can list them."""

    refused = (*DepthwiseRun.refused, "split_penalty")

    def __init__(self, model, columns, y, sample_weight, clock, what):
        super().__init__(model, columns, y, sample_weight, clock, what)
        self.problem = prepare(self.columns, self.y, self.n_classes,
                               None if sample_weight is None else self.weight,
                               min_samples_leaf=model.min_samples_leaf, merge_rows=False,
                               merge_columns=False)
        self.solver = Solver(self.problem, max(1, self.depth), max(1, self.nodes),
                             min_samples_leaf=model.min_samples_leaf,
                             memory_limit=model.memory_limit)
        self.optima, self.numbers, self.options = {}, {}, {}
        self.count, self.complete = 0, False

    def counters(self, tree):
        return {**self.solver.counted(), "subproblems": len(self.numbers)}

    def name(self, rows, depth):
        """Return a subproblem as a key that no other one has."""
        return set_name(rows, len(self.problem.rows)), depth

    def optimum(self, rows, depth):
        """Return the least errors with at most 0, 1, 2 ... feature nodes."""
        name = self.name(rows, depth)
        if name not in self.optima:
            nodes = min(self.nodes, 2 ** depth - 1)
            if nodes == 0:
                self.optima[name] = np.array([self.solver._leaf(rows)[0]])
            else:
                if not self.solver.solve(depth, nodes, smallest=0, rows=rows, clock=self.clock):
                    raise TimeUp
                self.optima[name] = np.array([self.solver.value(n) for n in range(nodes + 1)])
        return self.optima[name]

    def classes_of_leaf(self, rows):
        """Return the classes that a leaf may predict."""
        sums = np.bincount(self.solver.row_class[rows], weights=self.solver.row_weight[rows],
                           minlength=self.n_classes)
        return np.flatnonzero(sums >= sums.max() - self.solver.slack)

    def splits(self, rows, depth, m):
        """Return ``(column, rows 1, rows 0, a, b)`` of all splits on optimal trees of size m."""
        name = (*self.name(rows, depth), m)
        if name in self.options:
            return self.options[name]
        goal, found = self.optimum(rows, depth)[m], []
        numbers = self.problem.weights[:, 1]
        for column in range(self.problem.rows.shape[1]):
            self.clock.check()
            has = self.problem.rows[rows, column] == 1
            one, zero = rows[has], rows[~has]
            if (len(one) == 0 or len(zero) == 0 or min(numbers[one].sum(), numbers[zero].sum())
                    < self.model.min_samples_leaf):
                continue
            best_1, best_0 = self.optimum(one, depth - 1), self.optimum(zero, depth - 1)
            for a in range(max(0, m - len(best_0)), min(len(best_1), m)):
                if best_1[a] + best_0[m - 1 - a] <= goal + self.solver.slack:
                    found.append((column, one, zero, a, m - 1 - a))
        self.options[name] = found
        return found

    def number(self, rows, depth, m):
        """Return how many optimal trees with exactly ``m`` feature nodes there are."""
        if m == 0:
            return len(self.classes_of_leaf(rows))
        name = (*self.name(rows, depth), m)
        if name not in self.numbers:
            total = 0
            for _, one, zero, a, b in self.splits(rows, depth, m):
                total += self.number(one, depth - 1, a) * self.number(zero, depth - 1, b)
                if a == b == 0:                  # two leaves of one class
                    total -= len(np.intersect1d(self.classes_of_leaf(one),
                                                self.classes_of_leaf(zero)))
            self.numbers[name] = total
        return self.numbers[name]

    def trees(self, rows, depth, m):
        """Yield the optimal trees with exactly ``m`` feature nodes as nested tuples."""
        if m == 0:
            yield from map(int, self.classes_of_leaf(rows))
            return
        if self.number(rows, depth, m) == 0:
            return
        for column, one, zero, a, b in self.splits(rows, depth, m):
            if self.number(one, depth - 1, a) == 0:
                continue
            for tree_0 in self.trees(zero, depth - 1, b):
                for tree_1 in self.trees(one, depth - 1, a):
                    if a == b == 0 and tree_0 == tree_1:
                        continue
                    yield int(self.problem.columns[column]), tree_0, tree_1

    def sizes(self):
        """Return the numbers of feature nodes with which the optimum is reached."""
        optimum = self.optimum(np.arange(len(self.problem.rows)), self.depth)
        return [m for m in range(len(optimum)) if optimum[m] <= optimum[-1] + self.solver.slack]

    def solve(self, depth, nodes):
        if depth < self.depth:
            return
        rows = np.arange(len(self.problem.rows))
        sizes = self.sizes()
        first = next(tree for m in sizes for tree in self.trees(rows, depth, m))
        self.update_incumbent(self.built(first), "one tree")
        for m in sizes:
            self.count += self.number(rows, depth, m)
        self.complete = True

    def answer(self):
        """Return the number of trees, an iterator over them, and whether that is all."""
        if not self.complete or self.depth == 0:
            if self.depth == 0:
                rows = np.arange(len(self.problem.rows))
                trees = [self.built(tree) for tree in self.trees(rows, 0, 0)]
                return len(trees), iter(trees), True
            return 1, iter([self.best[1]]), False
        rows = np.arange(len(self.problem.rows))
        return self.count, (self.built(tree) for m in self.sizes()
                            for tree in self.trees(rows, self.depth, m)), True
