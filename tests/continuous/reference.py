"""Slow, obvious references for the exact search over all thresholds, and nasty instances."""

from __future__ import annotations

import numpy as np


def optimum(X, y, depth, weight=None, min_samples_leaf=1, penalty=0, max_nodes=1000, leaf=None):
    """Return the smallest misclassified weight plus ``penalty`` per split, by enumeration.

    ``leaf`` computes another cost of a set of rows, a bit mask.
    """
    n, p = X.shape
    weight = [1] * n if weight is None else list(weight)
    splits = set()
    for f in range(p):
        for value in np.unique(X[:, f])[:-1]:
            splits.add(sum(1 << i for i in range(n) if X[i, f] <= value))
    splits = sorted(splits)
    classes = [sum(1 << i for i in range(n) if y[i] == c) for c in np.unique(y)]
    known = {}

    def mass(rows):
        total = 0
        while rows:
            lowest = rows & -rows
            total += weight[lowest.bit_length() - 1]
            rows ^= lowest
        return total

    def errors(rows):
        return mass(rows) - max(mass(rows & members) for members in classes)

    def solve(rows, levels, nodes):
        nodes = min(nodes, 2 ** levels - 1)
        key = rows, levels, nodes
        if key not in known:
            best = errors(rows) if leaf is None else leaf(rows)
            if nodes > 0 and best > 0:
                for split in splits:
                    left, right = rows & split, rows & ~split
                    if min(left.bit_count(), right.bit_count()) < min_samples_leaf:
                        continue
                    most = min(nodes - 1, 2 ** (levels - 1) - 1)
                    for share in range(nodes - 1 - most, most + 1):
                        cost = solve(left, levels - 1, share)
                        if cost + penalty < best:
                            best = min(best, cost + penalty
                                       + solve(right, levels - 1, nodes - 1 - share))
            known[key] = best
        return known[key]

    return solve((1 << n) - 1, depth, max_nodes)


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
