"""Slow, obvious references for the exact search over all thresholds, and nasty instances."""

from __future__ import annotations

import numpy as np
from naive import best_tree_cost, cuts


def optimum(X, y, depth, weight=None, min_samples_leaf=1, penalty=0, max_nodes=None):
    """Return the smallest misclassified weight plus ``penalty`` per split, by enumeration."""
    classes, labels = np.unique(y, return_inverse=True)
    return best_tree_cost(cuts(X), labels, np.ones(len(y)) if weight is None else weight,
                          len(classes), depth, max_nodes, min_samples_leaf, penalty)


def instance(random, n_rows, n_features, n_classes):
    """Draw a small problem with ties, contradictions, constants, and values hard to tell apart."""
    columns = []
    for _ in range(n_features):
        kind = random.integers(7)
        few = random.integers(0, max(2, n_rows // 2), n_rows)
        if kind == 0:
            column = random.normal(size=n_rows)
        elif kind == 1:
            column = few.astype(float)
        elif kind == 2:
            column = np.full(n_rows, 3.25)
        elif kind == 3:          # one unit in the last place apart
            column = 1.0 + few * np.spacing(1.0)
        elif kind == 4:          # neighbours near 1e8
            column = 1e8 + few * np.spacing(1e8)
        elif kind == 5:          # tiny and huge, both signs, and both zeros
            pool = np.array([-1e308, -5e-324, -0.0, 0.0, 5e-324, 1e-300, 1.0, 1e308])
            column = pool[random.integers(0, len(pool), n_rows)]
        else:
            column = random.integers(0, 2, n_rows).astype(float)
        columns.append(column)
    X = np.column_stack(columns)
    y = random.integers(0, n_classes, n_rows)
    if random.random() < 0.3 and n_rows > 3:      # contradictory duplicates
        X[: n_rows // 2] = X[n_rows - n_rows // 2:]
    if random.random() < 0.5:                     # labels that a shallow tree nearly explains
        y = (y + (X[:, 0] > np.median(X[:, 0])) * (random.random(n_rows) < 0.8)) % n_classes
    return X, y
