"""Sweeps: the best last split of both children, for a batch of root thresholds at once.

A batch holds ``lanes`` thresholds of one root feature, in increasing order.  ``code[row]``
combines the class of a row with the number of thresholds of the batch that leave it on the right,
its *bucket*.  ``table[code]`` is what the row adds to a prefix of the left child and to one of the
right child, for every threshold of the batch: one pass over a sorted column of the children then
evaluates all their splits at that column, for all thresholds at once.

``segment`` describes the column: each entry is ``2 * end + free``.  In a free segment every prefix
may be taken as a split: where equal values share one class, what the inner prefixes of a tie give
lies between its ends.  In the other segments, ties of several classes, only the end may be taken.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from odtlib._simd import (
    add,
    bitwise_and,
    keep_where_at_least,
    load32,
    load64,
    maximum,
    minimum,
    read,
    spread_like,
    store,
    subtract,
    widen_like,
    zeros_like,
)

OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}
LANES_TWO = 64     # thresholds a batch with two classes
LANES_MANY = 32    # thresholds a batch with more classes, or with weights
BLOCK = 120        # rows that an 8-bit lane can count before it is widened


def two_class_table():
    """Return the table of ``sweep_two``: +1 for the second class, -1 for the first."""
    table = np.zeros((2, LANES_TWO + 1, 2, LANES_TWO), np.int8)
    for bucket in range(LANES_TWO + 1):
        table[1, bucket, 0, bucket:] = 1
        table[1, bucket, 1, :bucket] = 1
    table[0] = -table[1]
    return table.ravel()


def bucket_table(dtype, value):
    """Return the table of ``sweep_many`` (value 1) or ``sweep_weighted`` (value -1, a mask)."""
    table = np.zeros((LANES_MANY + 1, 2, LANES_MANY), dtype)
    for bucket in range(LANES_MANY + 1):
        table[bucket, 0, bucket:] = value
        table[bucket, 1, :bucket] = value
    return table.ravel()


@njit(**OPTIONS)
def sweep_two(order, segment, n_segments, code, table, best):
    """Two classes.  ``best[lane]``: largest ``2 * correct - rows`` so far, left child then right.

    With d the surplus of the second class in a prefix and D in all rows, a split gets
    ``(rows + |d| + |D - d|) / 2`` rows right, and |d| + |D - d| is the largest of D, -D, 2d - D and
    D - 2d: the extremes of d over all prefixes suffice.
    """
    nothing = zeros_like(load64(table, 0))
    nothing_wide = zeros_like(load64(best, 0))
    left = nothing_wide
    right = nothing_wide
    left_low = nothing_wide
    left_high = nothing_wide
    right_low = nothing_wide
    right_high = nothing_wide
    i = 0
    for s in range(n_segments):
        end = read(segment, s)
        free = end & 1
        end >>= 1
        while i < end:
            stop = min(i + BLOCK, end)
            block_left = nothing
            block_right = nothing
            if free:
                low_left = nothing
                high_left = nothing
                low_right = nothing
                high_right = nothing
                while i < stop:
                    at = read(code, read(order, i)) * (2 * LANES_TWO)
                    block_left = add(block_left, load64(table, at))
                    block_right = add(block_right, load64(table, at + LANES_TWO))
                    low_left = minimum(low_left, block_left)
                    high_left = maximum(high_left, block_left)
                    low_right = minimum(low_right, block_right)
                    high_right = maximum(high_right, block_right)
                    i += 1
                left_low = minimum(left_low, add(left, widen_like(left, low_left)))
                left_high = maximum(left_high, add(left, widen_like(left, high_left)))
                right_low = minimum(right_low, add(right, widen_like(right, low_right)))
                right_high = maximum(right_high, add(right, widen_like(right, high_right)))
            else:
                while i < stop:
                    at = read(code, read(order, i)) * (2 * LANES_TWO)
                    block_left = add(block_left, load64(table, at))
                    block_right = add(block_right, load64(table, at + LANES_TWO))
                    i += 1
            left = add(left, widen_like(left, block_left))
            right = add(right, widen_like(right, block_right))
        if not free:
            left_low = minimum(left_low, left)
            left_high = maximum(left_high, left)
            right_low = minimum(right_low, right)
            right_high = maximum(right_high, right)
    gain = maximum(subtract(add(left_high, left_high), left),
                   subtract(left, add(left_low, left_low)))
    store(best, 0, maximum(load64(best, 0), gain))
    gain = maximum(subtract(add(right_high, right_high), right),
                   subtract(right, add(right_low, right_low)))
    store(best, LANES_TWO, maximum(load64(best, LANES_TWO), gain))


@njit(**OPTIONS)
def sweep_many(order, segment, n_segments, code, table, best, n_classes, total, prefix, suffix):
    """Any number of classes.  ``best[lane]``: most rows right so far, left child then right.

    ``total``, ``prefix`` and ``suffix`` hold rows per class, child and lane.  The largest prefix
    count never falls, so it is a running maximum; the largest suffix count is sought anew.
    """
    nothing = zeros_like(load32(best, 0))
    for c in range(2 * n_classes):
        store(prefix, c * LANES_MANY, nothing)
        store(suffix, c * LANES_MANY, load32(total, c * LANES_MANY))
    top_left = nothing
    top_right = nothing
    best_left = load32(best, 0)
    best_right = load32(best, LANES_MANY)
    i = 0
    for s in range(n_segments):
        end = read(segment, s)
        free = end & 1
        end >>= 1
        while i < end:
            at = read(code, read(order, i))
            label = at >> 6
            at = (at & 63) * (2 * LANES_MANY)
            left = load32(table, at)
            right = load32(table, at + LANES_MANY)
            i += 1
            while i < end:      # a run of one class counts as one row
                at = read(code, read(order, i))
                if at >> 6 != label:
                    break
                at = (at & 63) * (2 * LANES_MANY)
                left = add(left, load32(table, at))
                right = add(right, load32(table, at + LANES_MANY))
                i += 1
            at = label * (2 * LANES_MANY)
            here = add(load32(prefix, at), left)
            store(prefix, at, here)
            top_left = maximum(top_left, here)
            store(suffix, at, subtract(load32(suffix, at), left))
            at += LANES_MANY
            here = add(load32(prefix, at), right)
            store(prefix, at, here)
            top_right = maximum(top_right, here)
            store(suffix, at, subtract(load32(suffix, at), right))
            if free or i == end:
                rest_left = load32(suffix, 0)
                rest_right = load32(suffix, LANES_MANY)
                for c in range(1, n_classes):
                    at = c * (2 * LANES_MANY)
                    rest_left = maximum(rest_left, load32(suffix, at))
                    rest_right = maximum(rest_right, load32(suffix, at + LANES_MANY))
                best_left = maximum(best_left, add(top_left, rest_left))
                best_right = maximum(best_right, add(top_right, rest_right))
    store(best, 0, best_left)
    store(best, LANES_MANY, best_right)


@njit(**OPTIONS)
def sweep_weighted(order, segment, n_segments, code, table, best, n_classes, total, prefix, suffix,
                   weight, min_leaf, rows):
    """Integer weights and a smallest number of rows a leaf, any number of classes.

    ``best[lane]``: largest weight right so far, left child then right; ``rows`` likewise: the rows
    of each child.  ``table`` holds masks of 64 bits.
    """
    for child in range(2):
        half = child * LANES_MANY
        best_here = load32(best, half)
        nothing = zeros_like(best_here)
        for c in range(n_classes):
            at = c * (2 * LANES_MANY) + half
            store(prefix, at, nothing)
            store(suffix, at, load32(total, at))
        top = nothing
        taken = nothing
        least = spread_like(nothing, min_leaf)
        rows_here = load32(rows, half)
        i = 0
        for s in range(n_segments):
            end = read(segment, s)
            free = end & 1
            end >>= 1
            while i < end:
                row = read(order, i)
                at = read(code, row)
                mask = load32(table, (at & 63) * (2 * LANES_MANY) + half)
                taken = subtract(taken, mask)
                gain = bitwise_and(mask, spread_like(mask, read(weight, row)))
                at = (at >> 6) * (2 * LANES_MANY) + half
                after = add(load32(prefix, at), gain)
                store(prefix, at, after)
                store(suffix, at, subtract(load32(suffix, at), gain))
                top = maximum(top, after)
                i += 1
                if free or i == end:
                    rest = load32(suffix, half)
                    for c in range(1, n_classes):
                        rest = maximum(rest, load32(suffix, c * (2 * LANES_MANY) + half))
                    smaller = minimum(taken, subtract(rows_here, taken))
                    value = keep_where_at_least(add(top, rest), smaller, least, nothing)
                    best_here = maximum(best_here, value)
        store(best, half, best_here)
