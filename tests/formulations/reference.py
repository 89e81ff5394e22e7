"""Slow, obvious references for BinOCT: all trees over given cuts."""

from __future__ import annotations

from itertools import product

import numpy as np


def instance(random, n_rows, n_features, n_classes, n_values=4):
    """Draw rows with ties, repeated rows and, now and then, a constant or 0/1 feature."""
    X = random.integers(0, n_values, (n_rows, n_features)).astype(float)
    for j in range(n_features):
        kind = random.random()
        if kind < 0.15:
            X[:, j] = 1.0
        elif kind < 0.4:
            X[:, j] = X[:, j] > 0
    if random.random() < 0.3:
        X = X * 1e-7 + 5
    y = random.integers(0, n_classes, n_rows)
    y[:2] = 0, 1
    return X, np.unique(y, return_inverse=True)[1]


def midpoints(X):
    """Return all thresholds of every feature."""
    return [(v[:-1] + v[1:]) / 2 for v in map(np.unique, X.T)]


def boundary(X, y):
    """Return the thresholds that are not between two values of one and the same class."""
    found = []
    for column in X.T:
        values = np.unique(column)
        classes = [set(y[column == v]) for v in values]
        found.append([(a + b) / 2 for a, b, here, there in zip(
            values, values[1:], classes, classes[1:], strict=False)
            if not (len(here) == 1 and here == there)])
    return found


def optimum(X, y, cost, thresholds, depth, n_classes=None):
    """Return the least cost of a tree over the thresholds."""
    n_classes = y.max() + 1 if n_classes is None else n_classes
    best = cost.sum() - np.bincount(y, cost, n_classes).max()
    if depth == 0 or best == 0:
        return best
    for j, own in enumerate(thresholds):
        for t in own:
            left = X[:, j] <= t
            if 0 < left.sum() < len(y):
                best = min(best, sum(
                    optimum(X[side], y[side], cost[side], thresholds, depth - 1, n_classes)
                    for side in (left, ~left)))
    return best


def fair_optimum(X, y, thresholds, group, limit, weight):
    """Return the least errors within the limit on disparity, over trees of depth two."""
    best = np.inf
    splits = [X[:, j] <= t for j, own in enumerate(thresholds) for t in own]
    splits.append(np.ones(len(y), bool))
    for root, left, right in product(splits, repeat=3):
        leaf = np.where(root, np.where(left, 0, 1), np.where(right, 2, 3))
        for labels in product((0, 1), repeat=4):
            given = np.array(labels)[leaf]
            gap = abs(np.average(given[group == 0], weights=weight[group == 0])
                      - np.average(given[group == 1], weights=weight[group == 1]))
            if gap <= limit + 1e-9:
                best = min(best, weight[given != y].sum())
    return best
