"""The specialised depth-two algorithm on sums of numbers, for any additive objective (4.8.2).

Every row has a few numbers, the *lines*; what a leaf costs follows from their sums over its rows.
``pairs[c, i, j]`` is the sum of line ``c`` over the rows of a node that have features ``i`` and
``j``; the four leaves of two splits follow from it by subtraction.  Lines of zeros and ones are not
summed up but counted, 64 rows at a time.  As in classification only the smaller child of a split is
summed up from its rows.

What a leaf costs is the objective's own: its kernel is called by its address, and so is the one
that says how much a row can cost at the most, which takes the place of the number of rows in
Proposition 9.  To each leaf's cost come the rows' *own* costs: what is in the cost as a mere sum
needs no pairs.  Rows with equal features cost at least what they cost as a leaf of their own; with
that, below zero, among their own costs, every bound of the search counts from there.

What is left of a sum when a larger one is subtracted may be rounding only, where weights are very
uneven, or where a cost divides by a small difference of sums.  Such numbers have two lines: leading
digits, whose sums are exact, and the rest.  Where that is not enough there are no pairwise sums
(``COUNT_PAIRS``) and nothing is subtracted: each leaf is summed up from its own rows, and the
search splits the rows down to depth one.

All functions take arrays and fill arrays; nothing is checked.  Arguments that mean the same in all
kernels; arrays are flat, and N is the width of a line of all columns:

- ``shape`` (int64): the constants of the search, see below.
- ``shared``, ``node``: the ``SharedArrays`` of ``_kernels`` and the ``SumArrays`` below.
- ``n_rows``: int, the rows of the node; ``starts`` (2,) int64: zero and their number.
- ``n_active``, ``width``: int, the columns of the node, and the length of a line of them, a
  multiple of 32; ``node_shape`` (2,) int64 has both.  ``first``: int, a column, from which on a
  vector has so many as it has lanes.
- ``blocks`` (int64): word ``w * width + j`` has feature ``j`` of 64 rows.
- ``local_bits`` (uint8, n_rows x width / 8): the features of each row, the lowest bit first.
- ``amounts`` (float64, n_lines + 2, n_rows): the lines, the own costs, and what a row can cost at
  the most.
- ``lists`` (int64): the members, a list of rows, and what :func:`pack_members` makes of them.
- ``n_members``: int, the rows that are summed up: a leaf, a child, or all.
- ``pairs`` (float64, n_lines, n_active, width), ``singles`` (float64, n_lines + 2, width) and,
  behind these, the sums over all rows (n_lines + 2).
- ``sides`` (float64): room for 13 lines of N, of which ``width`` are used, then ``SPARE`` numbers:
  the costs of both sides of each root in the lines that ``_kernels`` names, and what the kernels of
  an objective need.
- ``best_by_size`` (8,) float64: the least costs with 0, 1, 2, 3 feature nodes of child 1, then of
  child 0; ``child_offset``: int, 0 or 4.
- ``feature``: int, a split of the node; ``side``: int, 1 for the rows with the feature, else 0.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from odtlib._numba.compiler import ADDRESSED, INNER, njit
from odtlib._numba.vector import (
    add,
    add_where,
    bitwise_and,
    call_at,
    load32,
    lowest_bit,
    population_count,
    read,
    spread_like,
    store,
    subtract,
    to_floats,
    zeros_like,
)

from ._kernels import (
    COUNT_PAIRS,
    IMPURITY,
    LEAF_0,
    LEAF_1,
    MIN_LEAF,
    N_COLUMNS,
    SPLIT_0,
    SPLIT_1,
    best_sizes,
    pack_rows,
)
from ._weights import mark_frequent, open_rows, sum_pairs

# Entries of ``shape`` in place of the weights of classes, and behind: how many lines there are, how
# many of the first of them are counted, which has the number of rows; the addresses of the kernels
# that write the costs of sides, that of one leaf, and what rows can cost (0: not known).  Of an
# additive objective, the addresses of its own two kernels, how many numbers it has, whether the
# last is added as it is; from LINE_OF on, the line of each, then that of its last digits or -1.
(N_LINES, N_COUNTED, NUMBER, SCORE, LEAF, BOUND, COSTS, ROW_BOUND, N_SUMS, ADDS_LAST,
 LINE_OF) = range(6, 17)
# Behind the lines of ``sides``: costs below the first are rounding; the cost of a leaf, as the
# kernels of an objective leave it; from the third on, room for sums.
NOTHING, COST, SPARE = 0, 1, 8
N_SIDES = 13
LEAVES = 32      # whose costs an objective tells together: the four of eight pairs of columns

# What the kernels on sums keep of a node and of a child.
SumArrays = namedtuple("SumArrays", "blocks amounts pairs singles sides lists child_pairs "
                                    "child_singles")


@njit(**INNER)
def behind(shape):
    """Return where the lines of ``sides`` end, by the ``shape`` of the module's docstring."""
    return N_SIDES * shape[N_COLUMNS]


@njit(**INNER)
def room_behind(shape):
    """Return where the room of :func:`sum_pairs` begins behind the pairs of a child.

    ``shape`` is that of the module's docstring.
    """
    return shape[N_LINES] * shape[N_COLUMNS] * shape[N_COLUMNS]


@njit(**ADDRESSED)
def open_sums(rows, starts, candidates, n_candidates, keys_from_rows, shared, node, active,
              column_keys, node_shape):
    """Choose the features of a node and lay out its rows as bits and numbers.

    ``rows`` (int32) are its rows; ``candidates`` (int64) has ``n_candidates`` (int) features of its
    parent; ``active`` (N,) int64 receives those that are kept.  ``column_keys`` (2 * (N + 32),)
    uint64 is written with ``keys_from_rows`` (int), as in ``_kernels.open_node``.  The other
    arguments are those of the module's docstring.
    """
    shape, numbers, amounts, lists = shared.shape, shared.numbers, node.amounts, node.lists
    n_rows, per_row = starts[1], shape[N_LINES] + 2
    open_rows(rows, n_rows, per_row, candidates, n_candidates, keys_from_rows, shared, lists,
              node.blocks, active, column_keys, node_shape)
    for line in range(per_row - 1):
        for r in range(n_rows):
            amounts[line * n_rows + r] = numbers[per_row * np.int64(rows[r]) + line]


@njit(**INNER)
def list_members(blocks, width, n_rows, feature, side, lists):
    """List the rows on one side of ``feature`` (-1: all rows); return how many there are.

    The arguments are those of the module's docstring; ``lists`` receives the list.  ``side`` does
    not count for all rows.
    """
    n_members = np.int64(0)
    for word in range((n_rows + 63) // 64):
        size = n_rows - 64 * word
        bits = (np.int64(1) << size) - 1 if size < 64 else np.int64(-1)
        if feature >= 0:
            bits &= read(blocks, word * width + feature) ^ np.int64(side - 1)
        while bits != 0:
            lists[n_members] = 64 * word + lowest_bit(bits)
            n_members += 1
            bits &= bits - 1
    return n_members


@njit(**INNER)
def packed_at(n_rows, width):
    """Return the first line of ``lists``, of ``width`` words, behind the list of members.

    ``n_rows`` is that of the module's docstring.
    """
    return (n_rows + width - 1) // max(width, 1)


@njit(**INNER)
def pack_members(local_bits, amounts, n_rows, n_counted, lists, n_members, width):
    """Pack the members behind their list, in lines of ``width`` from :func:`packed_at` on.

    That is a line for 64 rows; one that has -1 for each column of more than half of them, else 0;
    and, for each of ``n_counted`` (int) counted lines, words of the members that it counts.  The
    other arguments are those of the module's docstring; ``lists`` is written.
    """
    first_word = packed_at(n_rows, width)
    last_word = pack_rows(local_bits, width // 8, lists, np.int64(0), n_members, lists, width,
                          first_word)
    mark_frequent(lists, first_word, last_word, width, n_members)
    counted = (last_word + 1) * width
    for c in range(n_counted):
        for start in range(0, n_members, 64):
            bits = np.int64(0)
            for m in range(start, min(start + 64, n_members)):
                bits |= np.int64(read(amounts, c * n_rows + read(lists, m))) << (m & 63)
            lists[counted] = bits
            counted += 1


@njit(**INNER)
def count_line(lists, first_word, counted, n_words, n_active, width, pairs, base):
    """Count for each pair of columns the members of a line that counts.

    ``first_word`` (int) is where the packed members begin, in lines of ``width``, ``n_words`` (int)
    of them; ``counted`` (int) is where the bits of the line begin.  The square of ``pairs`` from
    ``base`` (int) on, where ``j >= i``, is written.  The other arguments are those of the module's
    docstring.
    """
    for i in range(n_active):
        for first in range(i // 32 * 32, width, 32):
            count = zeros_like(load32(lists, 0))
            for w in range(n_words):
                line = (first_word + w) * width
                count = add(count, population_count(bitwise_and(
                    spread_like(count, read(lists, line + i) & read(lists, counted + w)),
                    load32(lists, line + first))))
            store(pairs, base + i * width + first, to_floats(count))


@njit(**INNER)
def add_pairs(local_bits, amounts, n_rows, begin, end, n_counted, lists, n_members, n_active, width,
              singles, pairs, room, start):
    """Sum up the lines ``begin:end`` over the packed members, for pairs of columns and for each.

    Of each line of ``pairs``, the first for ``begin``, the part ``j >= i`` is written.  The first
    ``n_counted`` lines are counted (all int).  ``room`` and ``start`` are those of
    :func:`sum_pairs`, and the other arguments those of the module's docstring; ``singles`` receives
    the sums of the lines.
    """
    square, n_words = n_active * width, (n_members + 63) // 64
    first_word = packed_at(n_rows, width)
    counted = (first_word + n_words + 1) * width
    for c in range(begin, end):
        base = (c - begin) * square
        if c < n_counted:
            count_line(lists, first_word, counted + c * n_words, n_words, n_active, width, pairs,
                       base)
        else:
            sum_pairs(local_bits, amounts, c * n_rows, 1, lists, np.int64(0), n_members, lists,
                      first_word, n_active, width, False, pairs, base, room, start)
        for i in range(width):
            singles[c * width + i] = pairs[base + i * width + i] if i < n_active else 0.0


@njit(**INNER)
def total_up(amounts, n_rows, begin, end, lists, n_members, totals, first):
    """Write the sums of the lines ``begin:end`` over all members from ``first`` on (all int).

    ``totals``, float64, is written; the other arguments are those of the module's docstring.
    """
    for c in range(begin, end):
        total = 0.0
        for m in range(n_members):
            total += read(amounts, c * n_rows + read(lists, m))
        totals[first + c] = total


@njit(**INNER)
def add_rows(shape, local_bits, amounts, n_rows, lists, n_members, n_active, width, pairs, singles,
             room, start):
    """Sum up the members: what their leaves cost comes from ``pairs`` and ``singles``.

    ``room`` and ``start`` are those of :func:`sum_pairs`; the other arguments are those of the
    module's docstring.
    """
    n_lines, n_counted = shape[N_LINES], shape[N_COUNTED]
    row_bytes, zero = np.int64(width // 8), zeros_like(load32(singles, 0))
    total_up(amounts, n_rows, np.int64(0), n_lines + 1, lists, n_members, singles,
             (n_lines + 2) * width)
    if n_active == 0:
        return
    pack_members(local_bits, amounts, n_rows, n_counted, lists, n_members, width)
    for first in range(0, width, 32):
        total = zero
        for m in range(n_members):
            row = read(lists, m)
            total = add_where(total, local_bits, row * row_bytes + first // 8,
                              spread_like(zero, read(amounts, n_lines * n_rows + row)))
        store(singles, n_lines * width + first, total)
    add_pairs(local_bits, amounts, n_rows, np.int64(0), n_lines, n_counted, lists, n_members,
              n_active, width, singles, pairs, room, start)


@njit(**INNER)
def mirror(pairs, n_sums, n_active, width):
    """Fill in the part ``j < i`` of the first ``n_sums`` (int) lines, which are symmetric.

    ``pairs``, ``n_active`` and ``width`` are those of the module's docstring.
    """
    for c in range(n_sums):
        for i in range(n_active):
            for j in range(i):
                offset = c * n_active * width
                pairs[offset + i * width + j] = pairs[offset + j * width + i]


@njit(**INNER)
def score(shape, local_bits, amounts, n_rows, lists, n_members, pairs, singles, n_active, width,
          sides, best_by_size, child_offset):
    """Write the costs of both sides of every root, as leaves and split once, and the least ones.

    The arguments are those of the module's docstring.  ``sides`` is written, and four costs of
    ``best_by_size`` from ``child_offset`` on.
    """
    call_at(shape[SCORE], (shape, local_bits, amounts, n_rows, lists, n_members, pairs, singles,
                           n_active, width, sides))
    number, last = shape[NUMBER], (shape[N_LINES] + 2) * width
    best_sizes(sides[behind(shape) + COST], sides, singles, number * width, singles[last + number],
               n_active, width, shape[MIN_LEAF], best_by_size, child_offset)


@njit(**ADDRESSED)
def prepare_sums(starts, shared, node, totals, side_cost, best_by_size, node_shape):
    """Sum up an open node; the form of ``_kernels.prepare_classes`` for sums.

    ``totals`` (float64) receives the sums of what rows can cost at the most, (n_active, width) for
    pairs, (width,) for columns, and that of all; ``side_cost`` (5, N) float64 the costs of both
    sides.  The other arguments are those of the module's docstring.
    """
    shape, local_bits = shared.shape, shared.local_bits
    blocks, amounts, pairs, singles = node.blocks, node.amounts, node.pairs, node.singles
    sides, lists = node.sides, node.lists
    kept, width, n_rows = node_shape[0], node_shape[1], starts[1]
    if shape[COUNT_PAIRS] == 0:
        for j in range(kept):
            for side in range(2):
                n_members = list_members(blocks, width, n_rows, j, side, lists)
                call_at(shape[LEAF], (shape, amounts, n_rows, lists, n_members, sides))
                side_cost[LEAF_1 if side == 1 else LEAF_0, j] = sides[behind(shape) + COST]
            side_cost[IMPURITY, j] = side_cost[LEAF_0, j] + side_cost[LEAF_1, j]
        return
    n_members = list_members(blocks, width, n_rows, np.int64(-1), np.int64(1), lists)
    start = room_behind(shape)
    if shape[BOUND] != 0:
        worst, last = shape[N_LINES] + 1, kept * width
        call_at(shape[BOUND], (shape, amounts, n_rows, lists, n_members, sides))
        total_up(amounts, n_rows, worst, worst + 1, lists, n_members, singles, (worst + 1) * width)
        pack_members(local_bits, amounts, n_rows, np.int64(0), lists, n_members, width)
        add_pairs(local_bits, amounts, n_rows, worst, worst + 1, np.int64(0), lists, n_members,
                  kept, width, singles, totals, node.child_pairs, start)
        mirror(totals, np.int64(1), kept, width)
        for j in range(kept):
            totals[last + j] = singles[worst * width + j]
        totals[last + width] = singles[(worst + 1) * width + worst]
    add_rows(shape, local_bits, amounts, n_rows, lists, n_members, kept, width, pairs, singles,
             node.child_pairs, start)
    score(shape, local_bits, amounts, n_rows, lists, n_members, pairs, singles, kept, width, sides,
          best_by_size, np.int64(0))
    for kind in (LEAF_0, LEAF_1, SPLIT_0, SPLIT_1):
        for j in range(kept):
            side_cost[kind, j] = sides[kind * width + j]
    for j in range(kept):
        side_cost[IMPURITY, j] = side_cost[LEAF_0, j] + side_cost[LEAF_1, j]


@njit(**ADDRESSED)
def children_sums(feature, side, starts, n_active, width, shared, node, best_by_size):
    """Solve both children of ``feature`` to depth two; see ``_kernels.children_classes``.

    ``side`` is the child that is summed up, -1 that with fewer rows.  The arguments are those of
    the module's docstring; ``best_by_size`` is written.
    """
    shape, local_bits, lists = shared.shape, shared.local_bits, node.lists
    amounts, pairs, singles, sides = node.amounts, node.pairs, node.singles, node.sides
    child_pairs, child_singles = node.child_pairs, node.child_singles
    n_rows, n_lines, number = starts[1], shape[N_LINES], shape[NUMBER]
    start = room_behind(shape)
    if side < 0:
        whole = singles[(n_lines + 2) * width + number]
        side = 1 if 2 * singles[number * width + feature] <= whole else 0
    n_members = list_members(node.blocks, width, n_rows, feature, side, lists)
    add_rows(shape, local_bits, amounts, n_rows, lists, n_members, n_active, width, child_pairs,
             child_singles, child_pairs, start)
    child_offset = np.int64(0 if side == 1 else 4)
    for turn in range(2):
        score(shape, local_bits, amounts, n_rows, lists, n_members, child_pairs, child_singles,
              n_active, width, sides, best_by_size, child_offset)
        if turn == 1:
            break
        child_offset = 4 - child_offset
        for p in range(0, n_lines * n_active * width, 32):
            store(child_pairs, p, subtract(load32(pairs, p), load32(child_pairs, p)))
        for p in range((n_lines + 2) * (width + 1)):
            child_singles[p] = singles[p] - child_singles[p]
        n_members = list_members(node.blocks, width, n_rows, feature, 1 - side, lists)
