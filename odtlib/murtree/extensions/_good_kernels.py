"""The numbers of trees of depth at most two, by feature nodes and errors."""

from __future__ import annotations

import numpy as np

from odtlib._numba.compiler import njit

OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(**OPTIONS)
def all_pairs(bits, classes, rows):
    """Return the sums of the classes over some rows: by pair of columns, by column, and of all.

    ``bits``, (n_rows, n_columns) float64, are zeros and ones, ``classes``, (n_rows, n_classes + 1)
    float64, the weight of each row in its class, and last 1; ``rows``, (n,) int64, are the numbers
    of those that count.
    """
    p, n_classes = bits.shape[1], classes.shape[1]
    pairs, single = np.zeros((n_classes, p, p)), np.zeros((p, n_classes))
    total, ones = np.zeros(n_classes), np.zeros(p + 1, np.int64)
    for row in rows:
        mine, n = bits[row], 0
        for j in range(p):                       # without a branch, as it would be a coin's toss
            ones[n] = j
            n += bits[row, j] > 0
        for k in range(n_classes):
            weight = classes[row, k]
            if weight > 0:
                total[k] += weight
                for i in range(n):
                    sums = pairs[k, ones[i]]
                    for j in range(p):
                        sums[j] += weight * mine[j]
    for k in range(n_classes):
        for j in range(p):
            single[j, k] = pairs[k, j, j]
    return pairs, single, total


@njit(**OPTIONS)
def leaf_of(sums, n_classes, tie):
    """Return the errors of a leaf, as int64, and how many classes it may predict.

    ``sums``, (n_classes + 1,) float64, begin with the weights of ``n_classes``; those within
    ``tie`` of the largest tie.
    """
    largest_weight, total, ties = 0.0, 0.0, 0
    for k in range(n_classes):
        total += sums[k]
        largest_weight = max(largest_weight, sums[k])
    for k in range(n_classes):
        ties += sums[k] >= largest_weight - tie
    return np.int64(total - largest_weight), ties


@njit(**OPTIONS)
def divide(pairs, single, whole, side, r, j, one, zero):
    """Divide a side of root ``r`` by column ``j``: write the sums of the classes of both parts.

    ``pairs`` and ``single`` are those of `count_two`; ``whole``, (2, n_classes + 1) float64, has
    the sums of both sides, and ``side`` is 1 for that with the root's feature.  ``one`` and
    ``zero``, (n_classes + 1,) float64, are written.
    """
    for k in range(len(one)):
        one[k] = pairs[k, r, j] if side == 1 else single[j, k] - pairs[k, r, j]
        zero[k] = whole[side, k] - one[k]


@njit(**OPTIONS)
def shared_classes(one, zero, n_classes, tie):
    """Return how many classes both of two leaves may predict.

    ``one`` and ``zero`` are the sums of the leaves, ``n_classes`` and ``tie`` as in `leaf_of`.
    """
    least_1, least_0, n = one[:n_classes].max() - tie, zero[:n_classes].max() - tie, 0
    for k in range(n_classes):
        n += one[k] >= least_1 and zero[k] >= least_0
    return n


@njit(**OPTIONS)
def add(names, counts, size, errors, count):
    """Add to the count of a size and errors in a table; return 1 if they are new there, else 0.

    ``names`` and ``counts`` are those of `count_two`; ``count`` more trees have ``size`` splits and
    these ``errors`` (int64).
    """
    name = 4 * errors + size
    slot = (name * 0x9E3779B97F4A7C1 >> 20) & (len(names) - 1)
    while names[slot] >= 0 and names[slot] != name:
        slot = (slot + 1) & (len(names) - 1)
    new = names[slot] < 0
    if new:
        names[slot], counts[slot] = name, 0
    counts[slot] += count
    return np.int64(new)


@njit(**OPTIONS)
def count_two(pairs, single, roots, total, min_leaf, depth, unit, penalty, budget, tie, first,
              slice_work, names, counts):
    """Count the trees with ``m`` splits that cost at most ``budget[m]``, by size and errors.

    ``budget`` is (4,) float64.  ``counts`` are those of the entries of ``names``, which hold ``4 *
    errors + m``; -1 is a free one; both are (power of two,) int64.  Begins where ``first`` says
    (-1: with the leaf), stops after about ``slice_work`` pairs of subtrees or when half of the
    entries are used, and returns where to go on (-1: all is done).

    ``pairs[:, r, j]``, ``single[j]`` and ``total``, (n_classes + 1,) float64, hold the weight of
    each class, in units of ``unit``, among the rows with features ``roots[r]`` and ``j``, with
    ``j``, and among all, and last the number of rows.  Only ``roots``, (n_roots,) int64, may be the
    first split.  Classes of a leaf tie where their weights differ by at most ``tie``.  A leaf has
    at least ``min_leaf`` rows, a tree at most ``depth`` levels, and each split costs ``penalty``.
    """
    p, n_classes, top, used, work = len(single), len(total) - 1, budget.max(), 0, 0
    errors, ties = leaf_of(total, n_classes, tie)
    if first < 0 and errors * unit <= budget[0]:
        used += add(names, counts, 0, errors, ties)
    first = max(first, 0)
    # For both sides of a column: the leaf first, then the splits.
    error, number = np.zeros((2, p + 1), np.int64), np.zeros((2, p + 1), np.int64)
    column = np.zeros((2, p + 1), np.int64)
    size, least = np.zeros(2, np.int64), np.zeros(2)
    whole, one, zero = np.zeros((2, n_classes + 1)), np.zeros(n_classes + 1), total.copy()
    for r in range(first // (p + 1), len(roots)):
        if work > slice_work:
            return r * (p + 1)
        work += 2 * p * n_classes
        whole[0], whole[1] = total - single[roots[r]], single[roots[r]]
        if whole[0, n_classes] < min_leaf or whole[1, n_classes] < min_leaf:
            continue
        for side in range(2):
            error[side, 0], number[side, 0] = leaf_of(whole[side], n_classes, tie)
            size[side], least[side] = 1, error[side, 0] * unit
            for j in range(p if depth == 2 else 0):
                divide(pairs, single, whole, side, r, j, one, zero)
                if one[n_classes] < min_leaf or zero[n_classes] < min_leaf:
                    continue
                n = size[side]
                error[side, n] = (leaf_of(one, n_classes, tie)[0]
                                  + leaf_of(zero, n_classes, tie)[0])
                column[side, n] = j
                least[side] = min(least[side], error[side, n] * unit + penalty)
                size[side] += 1
        if least[0] + least[1] + penalty > top:
            continue
        for side in range(2):                # few are left to count
            n = 1
            for a in range(1, size[side]):
                if error[side, a] * unit + 2 * penalty + least[1 - side] > top:
                    continue
                divide(pairs, single, whole, side, r, column[side, a], one, zero)
                ways = (leaf_of(one, n_classes, tie)[1] * leaf_of(zero, n_classes, tie)[1]
                        - shared_classes(one, zero, n_classes, tie))
                if ways > 0:
                    error[side, n], number[side, n] = error[side, a], ways
                    n += 1
            size[side] = n
        for a in range(first % (p + 1) if r == first // (p + 1) else 0, size[0]):
            if error[0, a] * unit + penalty * (1 + (a > 0)) + least[1] > top:
                continue
            if 2 * (used + size[1]) > len(names):
                return r * (p + 1) + a
            work += size[1]
            for b in range(size[1]):
                m, errors = 1 + (a > 0) + (b > 0), error[0, a] + error[1, b]
                if errors * unit + penalty * m <= budget[m]:
                    ways = number[0, a] * number[1, b]
                    if a == b == 0:
                        ways -= shared_classes(whole[0], whole[1], n_classes, tie)
                    if ways > 0:
                        used += add(names, counts, m, errors, ways)
    return -1
