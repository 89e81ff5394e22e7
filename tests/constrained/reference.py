"""Slow, obvious references for the constrained package."""

import itertools

import numpy as np


def project_on_rows(A, b, A_eq, b_eq, point, weights):
    """Nearest point of a polyhedron: try every set of active rows, keep the best feasible one."""
    k = len(point)
    best, nearest = np.inf, None
    for size in range(min(k, len(A)) + 1):
        for active in itertools.combinations(range(len(A)), size):
            rows = np.vstack([A_eq, A[list(active)]])
            rhs = np.concatenate([b_eq, b[list(active)]])
            inverse = 1.0 / weights
            gram = (rows * inverse) @ rows.T
            multipliers = np.linalg.pinv(gram, rcond=1e-11) @ (rows @ point - rhs)
            y = point - inverse * (rows.T @ multipliers)
            feasible = np.all(A @ y <= b + 1e-8) and np.allclose(A_eq @ y, b_eq, atol=1e-8)
            if feasible and (weights * (y - point) ** 2).sum() < best - 1e-13:
                best, nearest = (weights * (y - point) ** 2).sum(), y
    return nearest


def project_at_most(count, lower, upper, point, weights):
    """Try every support."""
    options = []
    for size in range(count + 1):
        for support in itertools.combinations(range(len(point)), size):
            y = np.zeros(len(point))
            on = list(support)
            y[on] = np.clip(point[on], lower[on], upper[on])
            options.append(y)
    return min(options, key=lambda y: (weights * (y - point) ** 2).sum())


def project_sparse_simplex(count, total, integer, point, weights):
    """Try every support, and on each every active set (or every vector of whole numbers)."""
    k = len(point)
    best, nearest = np.inf, None
    for support in itertools.combinations(range(k), min(count, k)):
        if integer:
            options = [np.bincount(np.array(support)[list(units)], minlength=k).astype(float)
                       for units in itertools.combinations_with_replacement(
                           range(len(support)), int(total))]
        else:
            off = np.array([j not in support for j in range(k)])
            y = project_on_rows(-np.eye(k), np.zeros(k),
                                np.vstack([np.ones(k), np.eye(k)[off]]),
                                np.concatenate([[total], np.zeros(off.sum())]), point, weights)
            options = [y]
        for y in options:
            cost = (weights * (y - point) ** 2).sum()
            if cost < best - 1e-13:
                best, nearest = cost, y
    return nearest


def squared_cost(feasible_set, Y, sample_weight=None, weights=None):
    """Squared error of the best feasible prediction for some rows."""
    w = np.ones(len(Y)) if sample_weight is None else sample_weight
    weights = np.ones(Y.shape[1]) if weights is None else weights
    mean = (w[:, None] * Y).sum(0) / w.sum()
    y = feasible_set.project(mean, weights)
    return float((w[:, None] * weights * (Y - y) ** 2).sum())


def splits(X, min_leaf=1):
    """Every split of the rows: feature, threshold (midpoint), mask of the left rows."""
    for j in range(X.shape[1]):
        values = np.unique(X[:, j])
        for a, b in itertools.pairwise(values):
            left = X[:, j] <= a
            if min_leaf <= left.sum() <= len(X) - min_leaf:
                yield j, a + (b - a) / 2, left
