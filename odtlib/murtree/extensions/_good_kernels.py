"""The numbers of trees of depth at most two, by feature nodes and errors.

What kernels share:

- ``leaves``: a :class:`Leaves`; ``room``: a :class:`Room`; ``side``: int, 0 or 1.
- ``pairs[:, r, j]``, ``single[j]`` and ``total``: (width,) float64, the sums over the rows with
  features ``roots[r]`` and ``j``, with ``j``, and over all, as ``leaves`` says.
- ``roots``: (n_roots,) int64, the only columns that may be the first split.
- ``min_leaf``: float, the least number of rows of a leaf; ``depth``: int, the most levels of a
  tree; ``penalty``: float, what each split costs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from odtlib._numba.compiler import INNER, OPTIONS, njit

from .._additive import cost_rows
from .._sums import LEAVES

ROUNDED = 2         # units by which a sum of two rounded costs may be off a third one


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
def add_pairs(bits, amounts, rows, pairs, single, total, ones):
    """Write the sums of amounts over some rows: by pair of columns, by column, and of all.

    ``bits``, (n_rows, n_columns) float64, are zeros and ones, ``amounts``, (n_rows, width) float64,
    what is summed up; ``rows``, (n,) int64, are the numbers of those that count.  ``pairs``,
    (width, n_columns, n_columns) float64, and ``total``, (width,) float64, are zeros and are
    written, as is ``single``, (n_columns, width) float64; ``ones``, (n_columns + 1,) int64, is
    room.
    """
    p, width = bits.shape[1], amounts.shape[1]
    for r in range(len(rows)):
        row, n = rows[r], 0
        for j in range(p):                       # without a branch, as it would be a coin's toss
            ones[n] = j
            n += bits[row, j] > 0
        for k in range(width):
            amount = amounts[row, k]
            if amount != 0:
                total[k] += amount
                for i in range(n):
                    one = ones[i]
                    for j in range(p):
                        pairs[k, one, j] += amount * bits[row, j]
    for k in range(width):
        for j in range(p):
            single[j, k] = pairs[k, j, j]


def all_pairs(bits, amounts, rows):
    """Return what :func:`add_pairs` writes."""
    p, width = bits.shape[1], amounts.shape[1]
    sums = np.zeros((width, p, p)), np.empty((p, width)), np.zeros(width)
    add_pairs(bits, amounts, rows, *sums, np.empty(p + 1, np.int64))
    return sums


class Room(NamedTuple):
    """Room for leaves: of two sides, the leaf first, then the two leaves of each split.

    ``sums``, (2, n_leaves, width) float64, and ``cost`` and ``labels``, (2, n_leaves) int64, are
    the sums over their rows, what they cost and how many labels each may have.  ``given``,
    (n_leaves * n_sums,), ``of_rows``, (n_leaves,), and ``of_some``, (32 * (n_sums + 1),) float64,
    are for an objective.  With the two leaves of a split as one, ``error`` and ``number``, (2,
    n_splits + 1) int64, are what they cost, and in how many ways.
    """

    sums: np.ndarray
    cost: np.ndarray
    labels: np.ndarray
    given: np.ndarray
    of_rows: np.ndarray
    of_some: np.ndarray
    error: np.ndarray
    number: np.ndarray


def room_for(leaves, sums):
    """Return the room for leaves with given sums, (2, n_leaves, width) float64."""
    n, n_sums = sums.shape[1], leaves.n_sums
    return Room(sums, *np.empty((2, 2, n), np.int64), np.empty(n * n_sums), np.empty(n),
                np.empty(LEAVES * (n_sums + 1)), *np.empty((2, 2, n // 2 + 1), np.int64))


@njit(**OPTIONS)
def judge_leaves(leaves, room, side, n):
    """Write what the first ``n`` leaves of a ``side`` cost, in whole units, and their labels.

    The arguments are those of the module's docstring.
    """
    sums, cost, labels = room.sums, room.cost, room.labels
    n_sums, last = leaves.n_sums, sums.shape[2] - 1
    if leaves.address != 0:
        for leaf in range(n):
            for k in range(n_sums):
                room.given[leaf * n_sums + k] = sums[side, leaf, k] if k < last - 1 else 0.0
        cost_rows(leaves.address, room.given, n_sums, n, room.of_some, room.of_rows)
        for leaf in range(n):
            units = (room.of_rows[leaf] + sums[side, leaf, last - 1]) / leaves.unit
            cost[side, leaf], labels[side, leaf] = np.int64(np.rint(max(0.0, units))), 1
        return
    for leaf in range(n):
        largest_weight, total, ties = 0.0, 0.0, 0
        for k in range(last):
            total += sums[side, leaf, k]
            largest_weight = max(largest_weight, sums[side, leaf, k])
        for k in range(last):
            ties += sums[side, leaf, k] >= largest_weight - leaves.tie
        cost[side, leaf], labels[side, leaf] = np.int64(total - largest_weight), ties


@njit(**INNER)
def alike(leaves, room, side_1, one, side_0, zero, whole):
    """Return of how many pairs of labels of two leaves a single leaf takes the place.

    The leaves are ``one`` of ``side_1`` and ``zero`` of ``side_0`` (int), and a single leaf with
    all their rows costs ``whole`` (int).  The other arguments are those of the module's docstring.
    """
    if leaves.address != 0:
        return np.int64(room.cost[side_1, one] + room.cost[side_0, zero] >= whole - ROUNDED)
    sums, last, n = room.sums, room.sums.shape[2] - 1, 0
    least_1, least_0 = 0.0, 0.0
    for k in range(last):
        least_1 = max(least_1, sums[side_1, one, k])
        least_0 = max(least_0, sums[side_0, zero, k])
    for k in range(last):
        n += (sums[side_1, one, k] >= least_1 - leaves.tie
              and sums[side_0, zero, k] >= least_0 - leaves.tie)
    return np.int64(n)


@njit(**INNER)
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


@njit(**INNER)
def read_side(pairs, single, r, leaves, room, side, min_leaf, depth, penalty):
    """Write what a side of root ``r`` costs as a leaf and split once.

    Return the number of these trees, and what the cheapest of them costs.  ``r`` (int) is the
    place of the root; the other arguments are those of the module's docstring.
    """
    sums, cost, p, width, n = room.sums, room.cost, len(single), single.shape[1], 1
    for j in range(p if depth == 2 else 0):
        for k in range(width):
            one = pairs[k, r, j]
            one = one if side == 1 else single[j, k] - one
            sums[side, n, k], sums[side, n + 1, k] = one, sums[side, 0, k] - one
        if sums[side, n, width - 1] >= min_leaf and sums[side, n + 1, width - 1] >= min_leaf:
            n += 2
    judge_leaves(leaves, room, side, n)
    room.error[side, 0], room.number[side, 0] = cost[side, 0], room.labels[side, 0]
    least = cost[side, 0] * leaves.unit
    for a in range(1, n // 2 + 1):
        room.error[side, a] = cost[side, 2 * a - 1] + cost[side, 2 * a]
        least = min(least, room.error[side, a] * leaves.unit + penalty)
    return n // 2 + 1, least


@njit(**INNER)
def few_splits(leaves, room, side, n, penalty, top):
    """Keep the splits of a side that may be on a tree that is counted; return their number.

    Of the ``n`` trees of :func:`read_side` the leaf stays in any case; the side may cost ``top``
    less ``penalty`` for the root.  The other arguments are those of the module's docstring.
    """
    cost, labels, kept = room.cost, room.labels, 1
    for a in range(1, n):
        if room.error[side, a] * leaves.unit + 2 * penalty > top:
            continue
        b = 2 * a - 1
        ways = labels[side, b] * labels[side, b + 1] - alike(leaves, room, side, b, side, b + 1,
                                                             cost[side, 0])
        if ways > 0:
            room.error[side, kept], room.number[side, kept] = room.error[side, a], ways
            kept += 1
    return kept


@njit(**OPTIONS)
def count_two(pairs, single, roots, total, leaves, room, min_leaf, depth, penalty, budget, first,
              slice_work, names, counts):
    """Count the trees with ``m`` splits that cost at most ``budget[m]``, by size and errors.

    ``budget`` is (4,) float64.  ``counts`` are those of the entries of ``names``, which hold ``4 *
    errors + m``; -1 is a free one; both are (power of two,) int64.  Begins where ``first`` says
    (-1: with the leaf), stops after about ``slice_work`` pairs of subtrees or when half of the
    entries are used, and returns where to go on (-1: all is done).

    ``room`` is for ``2 * n_columns + 1`` leaves.  The other arguments are those of the module's
    docstring.
    """
    p, last, top, used, work = len(single), len(total) - 1, -np.inf, 0, 0
    unit, sums, cost, labels = leaves.unit, room.sums, room.cost, room.labels
    error, number = room.error, room.number
    for m in range(len(budget)):
        top = max(top, budget[m])
    for k in range(last + 1):
        sums[0, 0, k] = total[k]
    judge_leaves(leaves, room, 0, 1)
    whole = cost[0, 0]
    if first < 0 and whole * unit <= budget[0]:
        used += add(names, counts, 0, whole, labels[0, 0])
    first = max(first, 0)
    for r in range(first // (p + 1), len(roots)):
        if work > slice_work:
            return r * (p + 1)
        work += 2 * p * last
        for k in range(last + 1):
            sums[1, 0, k] = single[roots[r], k]
            sums[0, 0, k] = total[k] - sums[1, 0, k]
        if sums[0, 0, last] < min_leaf or sums[1, 0, last] < min_leaf:
            continue
        n_0, least_0 = read_side(pairs, single, r, leaves, room, 0, min_leaf, depth, penalty)
        n_1, least_1 = read_side(pairs, single, r, leaves, room, 1, min_leaf, depth, penalty)
        if least_0 + least_1 + penalty > top:
            continue
        n_0 = few_splits(leaves, room, 0, n_0, penalty, top - least_1)
        n_1 = few_splits(leaves, room, 1, n_1, penalty, top - least_0)
        for a in range(first % (p + 1) if r == first // (p + 1) else 0, n_0):
            if error[0, a] * unit + penalty * (1 + (a > 0)) + least_1 > top:
                continue
            if 2 * (used + n_1) > len(names):
                return r * (p + 1) + a
            work += n_1
            for b in range(n_1):
                m, errors = 1 + (a > 0) + (b > 0), error[0, a] + error[1, b]
                if errors * unit + penalty * m <= budget[m]:
                    ways = number[0, a] * number[1, b]
                    if a == b == 0:
                        ways -= alike(leaves, room, 0, 0, 1, 0, whole)
                    if ways > 0:
                        used += add(names, counts, m, errors, ways)
    return -1
