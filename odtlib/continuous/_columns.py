"""Sorted columns: sort the rows by every feature, list the thresholds, and split a node's columns.

A row's *key* in a column is ``(value id << 16) + class``: equal values share an id, and ids
increase with the values.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from odtlib._numba.compiler import INNER, OPTIONS, njit
from odtlib._numba.vector import read, write


class Columns(NamedTuple):
    """The rows sorted by each feature, and the thresholds, of the nodes in each slot."""

    order: np.ndarray           # (slots, n_features, n_rows)
    cut: np.ndarray             # rows on the left of each threshold
    segment: np.ndarray
    mass: np.ndarray            # weight on the left of each threshold; empty without weights
    count: np.ndarray           # (slots, n_features, 3), see `index_column`


@njit(**OPTIONS)
def pack_column(X, feature, labels, row_bits, packed_bits, column, packed):
    """Copy a feature, and write integers that sort its rows almost by value, then by class.

    Each holds the leading bits of the value, then the class, then the row number.

    ``X``: (n_rows, n_features) float64; ``feature``: which column of it; ``labels``: (n_rows,)
    uint16, classes; ``row_bits``: bits of a row number; ``packed_bits``: bits of class and row.
    Results: ``column``: (n_rows,) float64, the values; ``packed``: (n_rows,) int64.
    """
    bits = column.view(np.int64)
    low = (1 << packed_bits) - 1
    for i in range(len(column)):
        column[i] = X[i, feature] + 0.0                  # both zeros are one value
        value = bits[i] ^ ((bits[i] >> 63) & 0x7FFFFFFFFFFFFFFF)    # negatives sort backwards
        packed[i] = (value & ~low) | (np.int64(labels[i]) << row_bits) | i


@njit(**OPTIONS)
def sort_column(column, packed, row_bits, packed_bits, most_moves, weight, strict, order, keys,
                placed, cut, segment, mass, counts):
    """Turn sorted packed integers into a sorted column with its thresholds (`index_column`).

    ``column``, ``packed``, ``row_bits``, ``packed_bits``: as in `pack_column`, ``packed`` in
    increasing order; ``most_moves``: moves by one place that sorting by whole values may take;
    ``weight``, ``strict``, ``cut``, ``segment``, ``mass``, ``counts``: as in `index_column`;
    ``placed``: (n_rows,) of the type of the keys, work.  Results beside those of `index_column`:
    ``order``: (n_rows,) uint16 or uint32, the rows by value, then by class; ``keys``: (n_rows,)
    int32 or int64, the key of each row, or an empty array.

    Returns False if too many values share their leading bits.
    """
    n = len(column)
    rows = (1 << row_bits) - 1
    moves = 0
    for i in range(1, n):        # by insertion, where leading bits agree
        here = packed[i]
        j = i
        while j > 0 and (packed[j - 1] ^ here) >> packed_bits == 0:
            x = column[here & rows]
            before = column[packed[j - 1] & rows]
            if before < x or (before == x and packed[j - 1] < here):
                break
            packed[j] = packed[j - 1]
            j -= 1
            moves += 1
        packed[j] = here
        if moves > most_moves:
            return False
    classes = (1 << (packed_bits - row_bits)) - 1
    before = packed[0]
    key = 0
    for i in range(n):
        here = packed[i]
        row = here & rows
        if ((here ^ before) >> packed_bits != 0
                or (here != before and column[row] != column[before & rows])):
            key += 1 << 16
        before = here
        order[i] = row
        placed[i] = key + ((here >> row_bits) & classes)
    if len(keys) > 0:
        for i in range(n):
            keys[order[i]] = placed[i]
    index_column(order, n, placed, False, weight, strict, cut, segment, mass, counts)
    counts[2] = counts[0] == n - 1
    return True


@njit(**INNER)
def index_column(order, rows, keys, by_row, weight, strict, cut, segment, mass, counts):
    """List the thresholds of a sorted column and its segments (see ``_sweep``).

    ``order``: uint16 or uint32, the rows of the node by value, the first ``rows`` places of it;
    ``keys``: int32 or int64, the key at each place or, if ``by_row`` is true, of each row;
    ``weight``: (n_rows,) int64, what each row costs, or None; ``strict``: whether nothing may be
    taken within a tie, whatever its classes.

    Results: ``cut``: (n_rows + 1,) int32, rows on the left of each threshold; ``segment``:
    (n_rows + 1,) int32; ``mass``: (n_rows + 1,) int64, weight on the left of each threshold, or an
    empty array without weights; ``counts``: (3,) int64, thresholds, segments, and whether all
    values are distinct, which the caller writes and children inherit: ``cut[i] = i + 1``.
    """
    n_cuts = 0
    n_segments = 0
    done = 0             # rows that segments cover so far
    mixed = False        # whether the current tie holds several classes
    key = read(keys, read(order, 0) if by_row else 0)
    for i in range(1, rows):
        before = key
        key = read(keys, read(order, i) if by_row else i)
        new = (key >> 16) != (before >> 16)
        if mixed and new:
            segment[n_segments] = 2 * i
            n_segments += 1
            done = i
            mixed = False
        elif not new and (strict or key != before) and not mixed:
            mixed = True
            begin = np.int64(cut[n_cuts - 1]) if n_cuts > 0 else 0
            if begin > done:
                segment[n_segments] = 2 * begin + 1
                n_segments += 1
        write(cut, n_cuts, i)
        n_cuts += np.int64(new)
    if mixed or rows > done:
        segment[n_segments] = 2 * rows + (0 if mixed else 1)
        n_segments += 1
    counts[0] = n_cuts
    counts[1] = n_segments
    if weight is not None:
        total = 0
        i = 0
        for k in range(n_cuts):
            while i < cut[k]:
                total += weight[order[i]]
                i += 1
            mass[k] = total


@njit(**INNER)
def split_node(columns, slot, rows, keys, weight, strict, feature, left_rows, side, left):
    """Split the sorted columns of a slot at a threshold and index those of both children.

    ``columns``: `Columns`; ``slot``: that of the node; ``rows``: how many rows the node has;
    ``keys``: (n_features, n_rows) int32 or int64, the key of each row; ``weight``, ``strict``: as
    in `index_column`; ``feature``: that of the threshold; ``left_rows``: how many of its rows go
    left; ``side``: (n_rows,) unsigned, work; ``left``: slot of the left child, the right one takes
    the next.  The results are the slots of the children.
    """
    orders, cut, segment, mass, count = columns
    order, counts = orders[slot], count[slot]
    for i in range(rows):
        write(side, read(order[feature], i), np.int64(i < left_rows))
    for g in range(order.shape[0]):
        column = order[g]
        to_left = orders[left, g]
        to_right = orders[left + 1, g]
        a = 0
        b = 0
        for i in range(rows):
            row = read(column, i)
            write(to_left, a, row)
            write(to_right, b, row)
            goes_left = read(side, row)
            a += goes_left
            b += 1 - goes_left
        for child in range(left, left + 2):
            n = left_rows if child == left else rows - left_rows
            if counts[g, 2] and weight is None:
                if count[child, g, 2] == 0:       # the first split into this slot
                    for i in range(cut.shape[2]):
                        cut[child, g, i] = i + 1
                    count[child, g, 2] = 1
                count[child, g, 0] = n - 1
                count[child, g, 1] = 1
                segment[child, g, 0] = 2 * n + 1
            else:
                index_column(orders[child, g], n, keys[g], True, weight, strict, cut[child, g],
                             segment[child, g], mass[child, g], count[child, g])
