"""The numbers of trees of depth at most two, by feature nodes and errors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from odtlib._numba.compiler import njit

from .._additive import cost_rows
from .._sums import LEAVES

ROUNDED = 2         # units by which a sum of two rounded costs may be off a third one
OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}


class Leaves(NamedTuple):
    """What leaves cost, given the sums over their rows.

    With an ``address`` of 0 the sums are weights of classes, in units of ``unit``, and last a
    number of rows; classes tie where their weights differ by at most ``tie``.  Otherwise they are
    numbers of an objective, of which the kernel there takes ``n_sums`` (0 for a last one that the
    sums do not have), what the rows cost beside it, and last a number of rows.
    """

    address: int
    n_sums: int
    unit: float
    tie: float


@njit(**OPTIONS)
def all_pairs(bits, amounts, rows):
    """Return the sums of amounts over some rows: by pair of columns, by column, and of all.

    ``bits``, (n_rows, n_columns) float64, are zeros and ones, ``amounts``, (n_rows, width) float64,
    what is summed up; ``rows``, (n,) int64, are the numbers of those that count.
    """
    p, width = bits.shape[1], amounts.shape[1]
    pairs, single = np.zeros((width, p, p)), np.zeros((p, width))
    total, ones = np.zeros(width), np.zeros(p + 1, np.int64)
    for row in rows:
        mine, n = bits[row], 0
        for j in range(p):                       # without a branch, as it would be a coin's toss
            ones[n] = j
            n += bits[row, j] > 0
        for k in range(width):
            amount = amounts[row, k]
            if amount != 0:
                total[k] += amount
                for i in range(n):
                    sums = pairs[k, ones[i]]
                    for j in range(p):
                        sums[j] += amount * mine[j]
    for k in range(width):
        for j in range(p):
            single[j, k] = pairs[k, j, j]
    return pairs, single, total


@njit(**OPTIONS)
def judge_leaves(leaves, sums, n, errors, ways):
    """Write what leaves cost, in whole units, and how many labels each of them may have.

    ``leaves`` is a :class:`Leaves`; of ``sums``, (n_leaves, width) float64, the first ``n`` count.
    ``errors`` and ``ways``, (n_leaves,) int64, are written.
    """
    if leaves.address != 0:
        n_free, n_sums = sums.shape[1] - 2, leaves.n_sums
        given, costs = np.zeros(n * n_sums), np.empty(n)
        for leaf in range(n):
            for k in range(n_free):
                given[leaf * n_sums + k] = sums[leaf, k]
        cost_rows(leaves.address, given, n_sums, np.empty(LEAVES * (n_sums + 1)), costs)
        for leaf in range(n):
            errors[leaf] = max(0, np.rint((costs[leaf] + sums[leaf, n_free]) / leaves.unit))
            ways[leaf] = 1
        return
    for leaf in range(n):
        largest_weight, total, ties = 0.0, 0.0, 0
        for k in range(sums.shape[1] - 1):
            total += sums[leaf, k]
            largest_weight = max(largest_weight, sums[leaf, k])
        for k in range(sums.shape[1] - 1):
            ties += sums[leaf, k] >= largest_weight - leaves.tie
        errors[leaf], ways[leaf] = total - largest_weight, ties


@njit(**OPTIONS)
def alike(leaves, one, zero, errors_1, errors_0, errors):
    """Return of how many pairs of labels of two leaves a single leaf takes the place.

    ``leaves`` is a :class:`Leaves`; ``one`` and ``zero``, (width,) float64, are the sums of the two
    leaves, ``errors_1`` and ``errors_0`` (int) what they cost, and ``errors`` what one leaf with
    all their rows does.
    """
    if leaves.address != 0:
        return np.int64(errors_1 + errors_0 >= errors - ROUNDED)
    n_classes, n = len(one) - 1, 0
    least_1, least_0 = one[:n_classes].max() - leaves.tie, zero[:n_classes].max() - leaves.tie
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
def count_two(pairs, single, roots, total, leaves, min_leaf, depth, penalty, budget, first,
              slice_work, names, counts):
    """Count the trees with ``m`` splits that cost at most ``budget[m]``, by size and errors.

    ``budget`` is (4,) float64.  ``counts`` are those of the entries of ``names``, which hold ``4 *
    errors + m``; -1 is a free one; both are (power of two,) int64.  Begins where ``first`` says
    (-1: with the leaf), stops after about ``slice_work`` pairs of subtrees or when half of the
    entries are used, and returns where to go on (-1: all is done).

    ``pairs[:, r, j]``, ``single[j]`` and ``total``, (width,) float64, are the sums over the rows
    with features ``roots[r]`` and ``j``, with ``j``, and over all, as ``leaves`` (a
    :class:`Leaves`) says.  Only ``roots``, (n_roots,) int64, may be the first split.  A leaf has at
    least ``min_leaf`` rows, a tree at most ``depth`` levels, and each split costs ``penalty``.
    """
    p, last, top, used, work, unit = len(single), len(total) - 1, budget.max(), 0, 0, leaves.unit
    # For both sides of a column: the leaf first, then the two leaves of each split.
    sums = np.zeros((2, 2 * p + 1, last + 1))
    cost, labels = np.zeros((2, 2 * p + 1), np.int64), np.zeros((2, 2 * p + 1), np.int64)
    # The same with the splits as one: what they cost, and in how many ways.
    error, number = np.zeros((2, p + 1), np.int64), np.zeros((2, p + 1), np.int64)
    size, least = np.zeros(2, np.int64), np.zeros(2)
    sums[0, 0] = total
    judge_leaves(leaves, sums[0], 1, cost[0], labels[0])
    whole = cost[0, 0]
    if first < 0 and whole * unit <= budget[0]:
        used += add(names, counts, 0, whole, labels[0, 0])
    first = max(first, 0)
    for r in range(first // (p + 1), len(roots)):
        if work > slice_work:
            return r * (p + 1)
        work += 2 * p * last
        sums[0, 0], sums[1, 0] = total - single[roots[r]], single[roots[r]]
        if sums[0, 0, last] < min_leaf or sums[1, 0, last] < min_leaf:
            continue
        for side in range(2):
            n = 1
            for j in range(p if depth == 2 else 0):
                for k in range(last + 1):
                    one = pairs[k, r, j]
                    one = one if side == 1 else single[j, k] - one
                    sums[side, n, k], sums[side, n + 1, k] = one, sums[side, 0, k] - one
                if sums[side, n, last] >= min_leaf and sums[side, n + 1, last] >= min_leaf:
                    n += 2
            judge_leaves(leaves, sums[side], n, cost[side], labels[side])
            error[side, 0], number[side, 0] = cost[side, 0], labels[side, 0]
            size[side], least[side] = n // 2 + 1, cost[side, 0] * unit
            for a in range(1, size[side]):
                error[side, a] = cost[side, 2 * a - 1] + cost[side, 2 * a]
                least[side] = min(least[side], error[side, a] * unit + penalty)
        if least[0] + least[1] + penalty > top:
            continue
        for side in range(2):                # few are left to count
            n = 1
            for a in range(1, size[side]):
                if error[side, a] * unit + 2 * penalty + least[1 - side] > top:
                    continue
                b = 2 * a - 1
                ways = labels[side, b] * labels[side, b + 1] - alike(
                    leaves, sums[side, b], sums[side, b + 1], cost[side, b], cost[side, b + 1],
                    cost[side, 0])
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
                        ways -= alike(leaves, sums[0, 0], sums[1, 0], cost[0, 0], cost[1, 0],
                                      whole)
                    if ways > 0:
                        used += add(names, counts, m, errors, ways)
    return -1
