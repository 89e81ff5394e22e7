"""Slow, obvious references: what the solvers must agree with on small instances."""

from __future__ import annotations

import numpy as np


def best_tree_cost(X, y, weight, n_classes, depth, nodes, min_leaf=1, penalty=0.0):
    """Return the least cost of a tree over 0/1 columns, by trying all trees (Eq. 1).

    The cost is the weight of the misclassified rows plus ``penalty`` for each feature node; a tree
    has at most ``nodes`` of these, no more than ``depth`` on a path, and ``min_leaf`` rows or more
    in every leaf.
    """
    sums = np.array([weight[y == c].sum() for c in range(n_classes)])
    best = sums.sum() - sums.max()
    if depth == 0 or nodes == 0:
        return best
    for j in range(X.shape[1]):
        right = X[:, j] == 1
        if right.sum() < min_leaf or (~right).sum() < min_leaf:
            continue
        for left_nodes in range(nodes):
            best = min(best, penalty
                       + best_tree_cost(X[~right], y[~right], weight[~right], n_classes,
                                        depth - 1, left_nodes, min_leaf, penalty)
                       + best_tree_cost(X[right], y[right], weight[right], n_classes,
                                        depth - 1, nodes - 1 - left_nodes, min_leaf, penalty))
    return best


def rows_with(X, *literals):
    """Return the numbers of the rows whose columns have the given values, as a set."""
    return {row for row in range(len(X)) if all(X[row, j] == side for j, side in literals)}


def tree_cost(tree, X, y, weight, penalty=0.0):
    """Return weighted errors plus ``penalty`` per feature node of a ``DecisionTree`` over codes."""
    wrong = tree.predict(X) != y
    return float(weight[wrong].sum() + penalty * tree.n_splits)
