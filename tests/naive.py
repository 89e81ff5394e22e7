"""Slow, obvious references: what the solvers must agree with on small instances."""

from __future__ import annotations

from functools import cache

import numpy as np


def best_tree_cost(X, y, weight, n_classes, depth, nodes, min_leaf=1, penalty=0.0):
    """Return the least cost of a tree over 0/1 columns, by trying all trees (Eq. 1).

    The cost is the weight of the misclassified rows plus ``penalty`` for each feature node, one
    number or one for each level; a tree has at most ``nodes`` of these, no more than ``depth`` on a
    path, and ``min_leaf`` rows or more in every leaf.
    """
    n_rows, weights = len(y), np.asarray(weight).tolist()
    prices = np.broadcast_to(penalty, depth).tolist()

    def rows_where(condition):
        """The rows of a condition as the bits of a whole number."""
        return sum(1 << row for row in range(n_rows) if condition[row])

    columns = [rows_where(X[:, j] == 1) for j in range(X.shape[1])]
    classes = [rows_where(y == c) for c in range(n_classes)]

    @cache                      # the same rows come back in another order of the tests
    def least_cost(rows, level, nodes):
        sums = [sum(weights[row] for row in range(n_rows) if rows >> row & members >> row & 1)
                for members in classes]
        best = sum(sums) - max(sums)
        for column in columns if level < depth and nodes > 0 else ():
            left, right = rows & ~column, rows & column
            if min(left.bit_count(), right.bit_count()) < min_leaf:
                continue
            for left_nodes in range(nodes):
                best = min(best, prices[level] + least_cost(left, level + 1, left_nodes)
                           + least_cost(right, level + 1, nodes - 1 - left_nodes))
        return best

    return least_cost((1 << n_rows) - 1, 0, nodes)


def rows_with(X, *literals):
    """Return the numbers of the rows whose columns have the given values, as a set."""
    return {row for row in range(len(X)) if all(X[row, j] == side for j, side in literals)}


def tree_cost(tree, X, y, weight, penalty=0.0):
    """Return weighted errors plus ``penalty`` per feature node of a ``DecisionTree`` over codes."""
    wrong = tree.predict(X) != y
    return float(weight[wrong].sum() + penalty * tree.n_splits)
