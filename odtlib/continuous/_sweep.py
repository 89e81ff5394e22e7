"""Sweeps: the best last split of both children, for a batch of root thresholds at once.

A batch has two halves.  Each holds up to ``HALF_TWO`` or ``HALF_MANY`` thresholds of one root
feature, in increasing order; the two features may differ.  A row's *bucket* in a half is the number
of thresholds of that half that leave it on the right.  ``code[row]`` combines the class of a row
with its two buckets, and ``table[code]`` is what the row adds to a prefix of the left child and to
one of the right child for every threshold of the batch: one pass over a sorted column then
evaluates all splits of both children at that column, for all thresholds at once.

Lanes of a vector: the left children of the first half, its right ones, then those of the second.

``segment`` describes the column: each entry is ``2 * end + free``.  In a free segment every prefix
may be taken as a split: where equal values share one class, what the inner prefixes of a tie give
lies between its ends.  In the other segments, ties of several classes, only the end may be taken.

Arguments of the kernels:

- ``order``: (n_rows,) uint16 or uint32, rows by their value in the column, those of the node first
- ``segment``: (n_rows + 1,) int32, of which the first ``n_segments`` hold
- ``code``: (n_rows,) of the type of ``order``, class and buckets of each row
- ``table``: flat; that of `two_class_table`, int8, or of `bucket_table`, of the type of the lanes
- ``best``: int16, int32 or, with weights, int64 lanes, WIDTH_TWO or WIDTH_MANY of them; the result
- ``n_classes``: classes of the node
- ``total``, ``prefix``, ``suffix``: lanes per class, class c from ``c * WIDTH_MANY`` on; the rows,
  or their weight, in each child, and as work those before and behind the current place
"""

from __future__ import annotations

import numpy as np

from odtlib._numba.compiler import INNER, njit
from odtlib._numba.vector import (
    add,
    any_above,
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

HALF_TWO = 16      # thresholds per half with two classes: a batch fills 64 lanes of 8 bits
HALF_MANY = 8      # with more classes, or with weights: 32 wider lanes
WIDTH_TWO = 4 * HALF_TWO        # lanes of a batch
WIDTH_MANY = 4 * HALF_MANY
BUCKETS_TWO = HALF_TWO + 1      # of each half
BUCKETS_MANY = HALF_MANY + 1
CLASS_SHIFT = 7    # with more classes, bits of a code below its class: both buckets
BOTH_BUCKETS = (1 << CLASS_SHIFT) - 1
FEW_CLASSES = 5    # up to so many it costs less to seek the largest than to ask whether to
BLOCK = 120        # rows that an 8-bit lane can count before it is widened


def two_class_table():
    """Return the table of ``sweep_two``: +1 for the second class, -1 for the first."""
    table = bucket_table(np.int8, 1, HALF_TWO)
    return np.concatenate([-table, table])


def bucket_table(dtype, value, half=HALF_MANY):
    """Return the table of ``sweep_many`` (value 1) or ``sweep_weighted`` (value -1, a mask)."""
    table = np.zeros((half + 1, half + 1, 2, 2, half), dtype)
    for bucket in range(half + 1):
        table[bucket, :, 0, 0, bucket:] = value
        table[bucket, :, 0, 1, :bucket] = value
        table[:, bucket, 1, 0, bucket:] = value
        table[:, bucket, 1, 1, :bucket] = value
    return table.ravel()


@njit(**INNER)
def sweep_two(order, segment, n_segments, code, table, best):
    """Raise ``best[lane]`` to the largest ``2 * correct - rows`` of a split, for two classes.

    The arguments are those of the module's docstring.

    With d the surplus of the second class in a prefix and D in all rows, a split gets
    ``(rows + |d| + |D - d|) / 2`` rows right, and |d| + |D - d| is the largest of D, -D, 2d - D and
    D - 2d: the extremes of d over all prefixes suffice.
    """
    nothing = zeros_like(load64(table, 0))
    surplus = zeros_like(load64(best, 0))
    lowest = surplus
    highest = surplus
    i = 0
    for s in range(n_segments):
        end = read(segment, s)
        free = end & 1
        end >>= 1
        while i < end:
            if free:      # two blocks side by side: one sum alone would wait for itself
                count = min(BLOCK, (end - i + 1) >> 1)
                block = nothing
                low = nothing
                high = nothing
                later = nothing
                later_low = nothing
                later_high = nothing
                middle = i + count
                while i < middle - 1:
                    at = read(code, read(order, i)) * WIDTH_TWO
                    block = add(block, load64(table, at))
                    at = read(code, read(order, i + count)) * WIDTH_TWO
                    later = add(later, load64(table, at))
                    low = minimum(low, block)
                    later_low = minimum(later_low, later)
                    high = maximum(high, block)
                    later_high = maximum(later_high, later)
                    i += 1
                block = add(block, load64(table, read(code, read(order, i)) * WIDTH_TWO))
                low = minimum(low, block)
                high = maximum(high, block)
                if i + count < end:
                    at = read(code, read(order, i + count)) * WIDTH_TWO
                    later = add(later, load64(table, at))
                    later_low = minimum(later_low, later)
                    later_high = maximum(later_high, later)
                i = min(middle + count, end)
                lowest = minimum(lowest, add(surplus, widen_like(surplus, low)))
                highest = maximum(highest, add(surplus, widen_like(surplus, high)))
                surplus = add(surplus, widen_like(surplus, block))
                lowest = minimum(lowest, add(surplus, widen_like(surplus, later_low)))
                highest = maximum(highest, add(surplus, widen_like(surplus, later_high)))
                surplus = add(surplus, widen_like(surplus, later))
            else:
                stop = min(i + BLOCK, end)
                block = nothing
                while i < stop:
                    block = add(block, load64(table, read(code, read(order, i)) * WIDTH_TWO))
                    i += 1
                surplus = add(surplus, widen_like(surplus, block))
        if not free:
            lowest = minimum(lowest, surplus)
            highest = maximum(highest, surplus)
    gain = maximum(subtract(add(highest, highest), surplus),
                   subtract(surplus, add(lowest, lowest)))
    store(best, 0, maximum(load64(best, 0), gain))


@njit(**INNER)
def largest_class(suffix, n_classes):
    """Return the rows, or the weight, of the largest class in each lane, as a vector.

    The arguments are those of the module's docstring.
    """
    largest = load32(suffix, 0)
    for c in range(1, n_classes):
        largest = maximum(largest, load32(suffix, c * WIDTH_MANY))
    return largest


@njit(**INNER)
def sweep_many(order, segment, n_segments, code, table, best, n_classes, total, prefix, suffix):
    """Raise ``best[lane]`` to the most rows that a split gets right, for any number of classes.

    The arguments are those of the module's docstring.

    Runs of one class are taken together.  The largest class of a prefix never shrinks, so it is a
    running maximum.  That of the rest never grows: an old one is an upper bound, and with many
    classes a new one is sought only if a split might then be best.
    """
    found = load32(best, 0)
    top = zeros_like(found)
    for c in range(n_classes):
        store(prefix, c * WIDTH_MANY, top)
        store(suffix, c * WIDTH_MANY, load32(total, c * WIDTH_MANY))
    rest = largest_class(suffix, n_classes)
    few = n_classes <= FEW_CLASSES
    i = 0
    for s in range(n_segments):
        end = read(segment, s)
        free = end & 1
        end >>= 1
        while i < end:
            at = read(code, read(order, i))
            label = at >> CLASS_SHIFT
            run = load32(table, (at & BOTH_BUCKETS) * WIDTH_MANY)
            i += 1
            while i < end:
                at = read(code, read(order, i))
                if at >> CLASS_SHIFT != label:
                    break
                run = add(run, load32(table, (at & BOTH_BUCKETS) * WIDTH_MANY))
                i += 1
            at = label * WIDTH_MANY
            store(suffix, at, subtract(load32(suffix, at), run))
            run = add(load32(prefix, at), run)
            store(prefix, at, run)
            top = maximum(top, run)
            if (free or i == end) and (few or any_above(add(top, rest), found)):
                rest = largest_class(suffix, n_classes)
                found = maximum(found, add(top, rest))
    store(best, 0, found)


@njit(**INNER)
def sweep_weighted(order, segment, n_segments, code, table, best, n_classes, total, prefix, suffix,
                   weight, min_leaf, rows):
    """Raise ``best[lane]`` to the most weight that a split with enough rows per leaf gets right.

    The arguments are those of the module's docstring, for any number of classes; ``table`` holds
    masks of 64 bits; ``weight``: (n_rows,) int64; ``min_leaf``: rows that both sides of a split
    must have; ``rows``: WIDTH_MANY lanes of int64, the rows of each child.
    """
    found = load32(best, 0)
    nothing = zeros_like(found)
    for c in range(n_classes):
        store(prefix, c * WIDTH_MANY, nothing)
        store(suffix, c * WIDTH_MANY, load32(total, c * WIDTH_MANY))
    rest = largest_class(suffix, n_classes)
    top = nothing
    taken = nothing
    least = spread_like(nothing, min_leaf)
    members = load32(rows, 0)
    i = 0
    for s in range(n_segments):
        end = read(segment, s)
        free = end & 1
        end >>= 1
        while i < end:
            row = read(order, i)
            at = read(code, row)
            mask = load32(table, (at & BOTH_BUCKETS) * WIDTH_MANY)
            taken = subtract(taken, mask)
            gain = bitwise_and(mask, spread_like(mask, read(weight, row)))
            at = (at >> CLASS_SHIFT) * WIDTH_MANY
            store(suffix, at, subtract(load32(suffix, at), gain))
            gain = add(load32(prefix, at), gain)
            store(prefix, at, gain)
            top = maximum(top, gain)
            i += 1
            if free or i == end:
                smaller = minimum(taken, subtract(members, taken))
                right = keep_where_at_least(add(top, rest), smaller, least, nothing)
                if any_above(right, found):
                    rest = largest_class(suffix, n_classes)
                    right = keep_where_at_least(add(top, rest), smaller, least, nothing)
                    found = maximum(found, right)
    store(best, 0, found)
