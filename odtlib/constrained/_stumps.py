"""Kernels of the optimal small trees: totals and best stumps."""

from __future__ import annotations

import numpy as np

from odtlib._numba.compiler import OPTIONS, njit
from odtlib.constrained._growth import best_split, gain, midpoint
from odtlib.tolerance import ROUNDING


@njit(**OPTIONS)
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


@njit(**OPTIONS)
def best_stump(table, row_constant, features, min_leaf, split_too, penalty, price, sums, scratch):
    """Return the cost of the best tree of depth one (or zero), its feature (-1) and threshold."""
    order, values, targets, sample_weight = table
    rows = order[0]
    n, q = totals(rows, targets, sample_weight, row_constant, sums)
    best = gain(price, n, sums, scratch)
    if not split_too or rows.size < 2 * min_leaf:
        return max(0.0, q - best), -1, np.nan
    two, f, i = best_split(table, price, 0, rows.size, features, min_leaf, n, sums, scratch,
                           -np.inf, -1, 0)
    if f < 0 or two - penalty <= best + ROUNDING * q:
        return max(0.0, q - best), -1, np.nan
    return max(0.0, q - two) + penalty, f, midpoint(values[f, i], values[f, i + 1])
