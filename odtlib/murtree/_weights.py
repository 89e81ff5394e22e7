"""The specialised depth-two algorithm on sums of weights.

Frequency counts become sums: ``pairs[c, i, j]`` is the weight of the rows of class ``c`` that have
features ``i`` and ``j``; with a minimum leaf size a last channel counts rows.  The sums of a node
are collected once, and again only for the smaller child of each split.  Sums of whole weights are
integers of 16 or 32 bits where these hold them, which is two to four times as fast; else all are
float64, exact for whole weights as long as they stay below 2^53.  Small whole weights come here
only where rows are few: :mod:`odtlib.murtree._kernels` counts them bit by bit.

Arguments mean what they do in :mod:`odtlib.murtree._kernels`, where more is said of them; arrays
are flat where no shape is given, and N is the width of a line of all columns:

- ``shared``, ``node``: its ``SharedArrays``, whose ``numbers`` are the weight of each row and how
  many given rows it is, and the ``WeightArrays`` below.
- ``class_start``: (n_classes + 1,) int64, where each class begins among the rows of the node, and
  their number.
- ``local_bits``: uint8, the features of each row of the node in ``width`` bits, the lowest first;
  ``local_weights``: (2 * n_rows,), weight and number of each.  They, ``pairs``, ``singles`` and
  ``totals`` are of one type.
- ``n_active``, ``width``: int, the columns of the node, and the length of a line of them, a
  multiple of 32; ``node_shape``: (2,) int64, has both.
- ``blocks``: int64, in lines of ``width``, each with the features of 64 rows of a class; one more
  is room.
- ``pairs``: a square of ``width`` lines for each class, and for numbers of rows where
  there is a minimum leaf size; ``singles``: a line for each class and for numbers, then
  the sums of all rows, by class and their number.
- ``n_classes``, ``min_leaf``: int, the number of classes, and the least rows of a leaf.
- ``candidates``: int64, the columns to choose from, the first ``n_candidates`` (int) of the array;
  ``keys_from_rows``: int, whether to sum up ``column_keys``, (2 * (N + 32),) uint64; ``active``:
  (N,) int64, receives the columns of the node.
- ``totals``, and, float64, ``side_cost`` (5, N) and ``best_by_size`` (8,): what a node leaves for
  the search.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from odtlib._numba.compiler import ADDRESSED, INNER, njit
from odtlib._numba.vector import (
    add,
    add_where,
    keep_where_at_least,
    load32,
    lowest_bit,
    popcount,
    population_count,
    read,
    spread_like,
    store,
    store_lane_bits,
    subtract,
    zeros_like,
)

from ._kernels import (
    MERGE_COLUMNS,
    MIN_LEAF,
    N_CLASSES,
    N_COLUMNS,
    choose_columns,
    line_width,
    list_side,
    pack_rows,
    score_children,
    score_classes,
    sum_keys,
    transpose,
    write_costs,
)

# What the kernels on weights keep of a node: its words, weight and number of each row, sums of
# pairs and of columns, costs; the same of a child.
WeightArrays = namedtuple("WeightArrays", "blocks row_weights pairs singles sides child_blocks "
                                          "child_pairs child_singles")


@njit(**INNER)
def mark_frequent(blocks, word, end, width, n_rows):
    """Write into line ``end`` -1 for each column that more than half of the rows have, else 0.

    ``n_rows`` are packed in the lines of ``blocks`` from ``word`` to ``end`` (all int).  The other
    arguments are those of the module's docstring.
    """
    half = spread_like(load32(blocks, 0), n_rows // 2)
    for first in range(0, width, 32):
        ones = zeros_like(half)
        for w in range(word, end):
            ones = add(ones, population_count(load32(blocks, w * width + first)))
        store(blocks, end * width + first, keep_where_at_least(
            zeros_like(half), half, ones, spread_like(half, -1)))


@njit(**INNER)
def sum_pairs(local_bits, numbers, origin, stride, rows, start, stop, blocks, word, n_active, width,
              adds, pairs, base, room, scratch):
    """Sum up one number of some rows for each pair of columns.

    That of row ``r`` is ``numbers[origin + stride * r]``; ``rows``, int, are places among the
    node's rows, of which ``start:stop`` count.  Their columns stand in ``blocks`` from line
    ``word`` on, and the line behind them says, as :func:`mark_frequent` does, of which columns the
    rows without it are summed up and subtracted.  The square of ``pairs`` from ``base`` on, where
    ``j >= i``, is written, or added to if ``adds``.  In ``room`` 2,048 places from ``scratch`` on
    take what each row of a word adds to 32 columns, which stays in the cache while the rows pass
    that have column ``i``.  All these are int, ``room`` is of the type of ``pairs``, and the other
    arguments are those of the module's docstring.
    """
    row_bytes, zero = np.int64(width // 8), zeros_like(load32(pairs, base))
    frequent = (word + (stop - start + 63) // 64) * width
    for first in range(0, width, 32):
        end, of_all = min(n_active, first + 32), zero
        for position in range(start, stop, 64):
            size, line = min(stop - position, 64), (word + ((position - start) >> 6)) * width
            for r in range(size):
                row = np.int64(read(rows, position + r))
                term = add_where(zero, local_bits, row * row_bytes + first // 8,
                                 spread_like(zero, read(numbers, origin + stride * row)))
                store(room, scratch + 32 * r, term)
                of_all = add(of_all, term)
            whole = (np.int64(1) << size) - 1 if size < 64 else np.int64(-1)
            for i in range(end):
                total = (zero if position == start and not adds else
                         load32(pairs, base + i * width + first))
                bits, without = read(blocks, line + i), read(blocks, frequent + i)
                if without != 0:
                    bits = ~bits & whole
                    while bits != 0:
                        total = subtract(total, load32(room, scratch + 32 * lowest_bit(bits)))
                        bits &= bits - 1
                else:
                    while bits != 0:
                        total = add(total, load32(room, scratch + 32 * lowest_bit(bits)))
                        bits &= bits - 1
                store(pairs, base + i * width + first, total)
        for i in range(end):
            if read(blocks, frequent + i) != 0:
                store(pairs, base + i * width + first,
                      add(load32(pairs, base + i * width + first), of_all))


@njit(**INNER)
def sum_up(local_bits, local_weights, rows, starts, n_active, width, n_classes, min_leaf, blocks,
           pairs, singles):
    """Sum up rows: their weights by class, and their numbers where ``min_leaf`` asks for them.

    ``rows``, int32, are places among the node's rows, with class ``c`` at ``starts[c]:starts[c +
    1]`` (int64).  ``blocks``, ``pairs`` and ``singles`` are written; they and the other arguments
    are those of the module's docstring.
    """
    square, last = width * width, (n_classes + 1) * width
    number = n_classes if min_leaf > 1 else -1
    word, scratch = np.int64(0), (n_classes + 1) * square
    zero, n_rows = zeros_like(load32(pairs, 0)), 0.0
    for p in range(0, max(n_classes, number + 1) * square, 32):     # a class may have no rows
        store(pairs, p, zero)
    for c in range(n_classes):
        start, stop = starts[c], starts[c + 1]
        next_word = pack_rows(local_bits, width // 8, rows, start, stop, blocks, width, word)
        mark_frequent(blocks, word, next_word, width, stop - start)
        sum_pairs(local_bits, local_weights, 0, 2, rows, start, stop, blocks, word, n_active, width,
                  True, pairs, c * square, pairs, scratch)
        if number >= 0:
            sum_pairs(local_bits, local_weights, 1, 2, rows, start, stop, blocks, word, n_active,
                      width, True, pairs, number * square, pairs, scratch)
        word, weight = next_word, 0.0
        for k in range(start, stop):
            row = 2 * read(rows, k)
            weight += read(local_weights, row)
            n_rows += read(local_weights, row + 1)
        singles[last + c] = weight
    singles[last + n_classes] = n_rows
    for c in range(max(n_classes, number + 1)):
        for row in range(0, width, 32):
            for first in range(row + 32, width, 32):
                transpose(pairs, c * square + row * width + first, c * square + first * width + row,
                          width, scratch)
        for i in range(n_active):
            singles[c * width + i] = pairs[c * square + i * width + i]


@njit(**INNER)
def open_rows(rows, n_rows, per_row, candidates, n_candidates, keys_from_rows, shared,
              all_blocks, blocks, active, column_keys, node_shape):
    """Choose the features of a node and pack those of its rows.

    ``rows``, int32, are the first ``n_rows`` (int) of the array.  Every distinct row has
    ``per_row`` (int) numbers, the last of them how many original rows it is.  ``all_blocks``,
    int64, is room for words of all columns.  ``blocks``, ``active``, ``column_keys``,
    ``node_shape`` and the ``local_bits`` of ``shared`` are written; they and the other arguments
    are those of the module's docstring.
    """
    shape, row_bits, row_keys, numbers = (shared.shape, shared.row_bits, shared.row_keys,
                                          shared.numbers)
    counts, slots, local_bits = shared.counts, shared.slots, shared.local_bits
    n_columns, n_words = shape[N_COLUMNS], (n_rows + 63) // 64
    row_bytes = n_columns // 8
    if keys_from_rows:
        sum_keys(row_bits, row_bytes, rows, n_rows, row_keys, n_columns, column_keys)
    n_original, zero = np.int64(0), zeros_like(load32(counts, 0))
    for r in range(n_rows):
        n_original += np.int64(numbers[per_row * np.int64(rows[r]) + per_row - 1])
    for first in range(0, n_columns, 32):
        total = zero
        for r in range(n_rows):
            row = np.int64(rows[r])
            total = add_where(total, row_bits, row * row_bytes + first // 8, spread_like(
                zero, np.int64(numbers[per_row * row + per_row - 1])))
        store(counts, first, total)
    kept = choose_columns(candidates, n_candidates, counts, n_original, shape[MIN_LEAF],
                          shape[MERGE_COLUMNS], column_keys, n_columns, slots, active)
    width = line_width(kept)
    node_shape[0], node_shape[1] = kept, width
    pack_rows(row_bits, row_bytes, rows, np.int64(0), n_rows, all_blocks, n_columns, np.int64(0))
    for w in range(n_words):
        for k in range(width):
            blocks[w * width + k] = all_blocks[w * n_columns + active[k]] if k < kept else 0
        for first in range(0, width, 32):
            block = load32(blocks, w * width + first)
            for r in range(64 * w, min(64 * w + 64, n_rows)):
                store_lane_bits(local_bits, (r * width + first) // 8, block, np.int64(r & 63))


@njit(**ADDRESSED)
def open_node(rows, class_start, candidates, n_candidates, keys_from_rows, shared,
              node, active, column_keys, node_shape):
    """Choose the features of a node; the form of ``_kernels.open_node`` for weights.

    ``rows``, int32, are the rows of the node, class by class.  The other arguments are those of the
    module's docstring.
    """
    row_weights, local_weights = shared.numbers, node.row_weights
    n_rows = class_start[shared.shape[N_CLASSES]]
    open_rows(rows, n_rows, np.int64(2), candidates, n_candidates, keys_from_rows, shared,
              node.child_blocks, node.blocks, active, column_keys, node_shape)
    for r in range(n_rows):
        row = np.int64(rows[r])
        local_weights[2 * r], local_weights[2 * r + 1] = (row_weights[2 * row],
                                                          row_weights[2 * row + 1])


@njit(**ADDRESSED)
def prepare(class_start, shared, node, totals, side_cost, best_by_size, node_shape):
    """Sum up an open node; the weighted form of ``_kernels.prepare_classes``.

    The arguments are those of the module's docstring.
    """
    shape, local_bits, rows = shared.shape, shared.local_bits, shared.rows
    blocks, local_weights, pairs = node.blocks, node.row_weights, node.pairs
    singles, sides = node.singles, node.sides
    n_classes, min_leaf = shape[N_CLASSES], shape[MIN_LEAF]
    kept, width = node_shape[0], node_shape[1]
    for r in range(class_start[n_classes]):
        rows[r] = r
    sum_up(local_bits, local_weights, rows, class_start, kept, width, n_classes, min_leaf, blocks,
           pairs, singles)
    score_classes(pairs, singles, False, kept, width, n_classes, min_leaf, sides, best_by_size,
                  np.int64(0))
    write_costs(pairs, singles, kept, kept, width, n_classes, sides, totals, side_cost)


@njit(**ADDRESSED)
def children(feature, side, class_start, n_active, width, shared, node,
             best_by_size):
    """Solve both children of ``feature`` to depth two; see ``_kernels.children_classes``.

    ``feature`` (int) is a split of the node, and ``side`` (int) the child that is summed up, -1
    that with fewer rows.  The other arguments are those of the module's docstring.
    """
    shape, local_bits, rows, starts = shared.shape, shared.local_bits, shared.rows, shared.starts
    blocks, local_weights, pairs = node.blocks, node.row_weights, node.pairs
    singles, sides, child_blocks = node.singles, node.sides, node.child_blocks
    child_pairs, child_singles = node.child_pairs, node.child_singles
    n_classes, min_leaf = shape[N_CLASSES], shape[MIN_LEAF]
    if side < 0:
        ones, words = 0, 0
        for c in range(n_classes):
            words += (class_start[c + 1] - class_start[c] + 63) // 64
        for w in range(words):
            ones += popcount(np.uint64(blocks[w * width + feature]))
        side = 1 if 2 * ones <= class_start[n_classes] else 0
    list_side(blocks, width, class_start, n_classes, feature, side, rows, starts)
    sum_up(local_bits, local_weights, rows, starts, n_active, width, n_classes, min_leaf,
           child_blocks, child_pairs, child_singles)
    score_children(pairs, singles, child_pairs, child_singles, False, n_active, width, n_classes,
                   min_leaf, sides, best_by_size, np.int64(0 if side == 1 else 4))
