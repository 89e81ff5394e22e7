"""Kernels of the optimal small trees: totals and best stumps."""

from __future__ import annotations

import numpy as np

from odtlib._numba.compiler import njit
from odtlib.constrained._growth import SQUARED, best_split, gain, midpoint
from odtlib.tolerance import ROUNDING


@njit(cache=True, nogil=True)
def totals(rows, targets, sample_weight, row_constant, sums):
    """Fill the weighted sum of the targets; return the weight and the total of squares."""
    sums[:] = 0.0
    n, q = 0.0, 0.0
    weighted = sample_weight.size > 0
    for i in range(rows.size):
        w = sample_weight[rows[i]] if weighted else 1.0
        n += w
        q += w * row_constant[rows[i]]
        for j in range(sums.size):
            sums[j] += w * targets[rows[i], j]
    return n, q


@njit(cache=True, nogil=True)
def best_stump(table, row_constant, min_leaf, split_too, penalty, price):
    """Return the cost of the best tree of depth one (or zero), its feature (-1) and threshold."""
    order, values, targets, sample_weight = table
    _, kind, ints, floats, _, weights, origin = price
    k = targets.shape[1]
    scratch = np.empty((4, k))
    sums = np.empty(k)
    rows = order[0]
    n, q = totals(rows, targets, sample_weight, row_constant, sums)
    best = gain(SQUARED, kind, ints, floats, np.inf, n, sums, weights, origin, scratch[2],
                scratch[3])
    if not split_too or rows.size < 2 * min_leaf:
        return max(0.0, q - best), -1, np.nan
    two, f, i = best_split(table, price, 0, rows.size, np.arange(order.shape[0]), min_leaf, n, sums,
                           scratch, -np.inf, -1, 0)
    if f < 0 or two - penalty <= best + ROUNDING * q:
        return max(0.0, q - best), -1, np.nan
    return max(0.0, q - two) + penalty, f, midpoint(values[f, i], values[f, i + 1])
