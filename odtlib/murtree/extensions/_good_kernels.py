"""The numbers of trees of depth at most two, by feature nodes and errors."""

from __future__ import annotations

import numpy as np

from odtlib._numba.compiler import njit

OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(**OPTIONS)
def leaf_of(sums, n_classes):
    """Return the errors of a leaf and how many classes it may predict."""
    most, total, ties = -1.0, 0.0, 0
    for k in range(n_classes):
        total += sums[k]
        if sums[k] > most:
            most, ties = sums[k], 1
        elif sums[k] == most:
            ties += 1
    return np.int64(total - most), ties


@njit(**OPTIONS)
def shared_classes(one, zero, n_classes):
    """Return how many classes both of two leaves may predict."""
    most_1, most_0, n = one[:n_classes].max(), zero[:n_classes].max(), 0
    for k in range(n_classes):
        n += one[k] == most_1 and zero[k] == most_0
    return n


@njit(**OPTIONS)
def count_two(pairs, single, total, min_leaf, depth, penalty, budget, base, first, slice_work,
              counts):
    """Count the trees that cost at most ``budget``; ``counts[m, e]`` are those of ``base + e``.

    Begins with root ``first`` (-1: with the leaves), stops after about ``slice_work`` pairs of
    subtrees, and returns where to go on (-1: all is done).

    ``pairs[i, j]``, ``single[i]`` and ``total`` hold the weight of each class among the rows with
    features ``i`` and ``j``, with ``i``, and among all, and last the number of rows.
    """
    p, n_classes = len(single), len(total) - 1
    errors, ties = leaf_of(total, n_classes)
    if first < 0 and errors <= budget:
        counts[0, errors - base] = ties
    # For both sides of a column: the leaf first, then the splits.
    error, number = np.zeros((2, p + 1), np.int64), np.zeros((2, p + 1), np.int64)
    size, least = np.zeros(2, np.int64), np.zeros(2)
    whole, one, zero = np.zeros((2, n_classes + 1)), np.zeros(n_classes + 1), total.copy()
    work = 0
    for i in range(max(first, 0), p):
        if work > slice_work:
            return i
        work += 2 * p * n_classes
        whole[0], whole[1] = total - single[i], single[i]
        if whole[0, n_classes] < min_leaf or whole[1, n_classes] < min_leaf:
            continue
        for side in range(2):
            error[side, 0], number[side, 0] = leaf_of(whole[side], n_classes)
            size[side], least[side] = 1, error[side, 0]
            for j in range(p if depth == 2 else 0):
                for k in range(n_classes + 1):
                    one[k] = pairs[i, j, k] if side == 1 else single[j, k] - pairs[i, j, k]
                    zero[k] = whole[side, k] - one[k]
                if one[n_classes] < min_leaf or zero[n_classes] < min_leaf:
                    continue
                errors_1, ties_1 = leaf_of(one, n_classes)
                errors_0, ties_0 = leaf_of(zero, n_classes)
                ways = ties_1 * ties_0 - shared_classes(one, zero, n_classes)
                if ways > 0:
                    n = size[side]
                    error[side, n], number[side, n] = errors_1 + errors_0, ways
                    least[side] = min(least[side], errors_1 + errors_0 + penalty)
                    size[side] += 1
        if least[0] + least[1] + penalty > budget:
            continue
        for a in range(size[0]):
            cost = error[0, a] + penalty * (1 + (a > 0))
            if cost + least[1] > budget:
                continue
            work += size[1]
            for b in range(size[1]):
                if cost + error[1, b] + penalty * (b > 0) <= budget:
                    ways = number[0, a] * number[1, b]
                    if a == b == 0:
                        ways -= shared_classes(whole[0], whole[1], n_classes)
                    counts[1 + (a > 0) + (b > 0), error[0, a] + error[1, b] - base] += ways
    return -1
