"""The specialised depth-two algorithm on frequency counts (Section 4.3 of the MurTree paper).

How a node is laid out.  Every row is a string of bits, one per feature.  The rows of a node are
turned into *blocks*: word ``(w, j)`` holds feature ``j`` of 16 (or 32) rows of one class, so that
one vector holds 32 features of those rows, and ``popcount(block & broadcast(word of feature i))``
adds to 32 frequency counts ``FQ(i, j)`` at once.  The element type of the block arrays, ``uint16``
or ``uint32``, fixes how many rows a word holds and how far a count can go.

A node is *prepared* once: its pairwise counts, and the best depth-two tree under each root.  Then
every feature asks for its two *children*: only the smaller child is counted, the counts of the
larger one are those of the node minus those.  For each child the kernel returns ``best_by_size``:
the misclassification score of the best trees with 0, 1, 2 and 3 feature nodes and depth at most
two.

With two classes only differences matter.  Let ``d`` be the count of class 0 minus that of class 1
in a leaf; a leaf with ``m`` rows classifies ``(m + |d|) / 2`` of them correctly, and as ``|a| + |b|
= max(|a + b|, |a - b|)``, the best second split under root ``j`` needs no more than the smallest
and the largest ``d`` over the second features.

Rows with whole weights are counted in *groups*, each of rows of one class, whose counts are
multiplied by a factor once they are complete; the rest does not change.  Where all rows of a class
weigh the same, it is one group.  Else there is a group for each bit of a weight, and a row is in
all groups of its class whose bits it has: in few, where weights are small.  A minimum leaf size
needs the numbers of rows as well, which come from groups in the same way.

All functions take arrays and fill arrays; nothing is checked.  Other modules call some of them for
sums of weights, with float64 in place of counts and 64 rows in a word.  Arguments that mean the
same in all kernels; arrays are flat where no shape is given, and N is the width of a line of all
columns:

- ``shared``, ``node``: the ``SharedArrays`` and the ``CountArrays`` below; ``shape``: (8 or more,)
  int64, the constants in them.
- ``factors``: (2 * n_groups,) int64, by what the counts of each group are multiplied for its class,
  then for the number of rows; ``lines``: (n_classes + 3,) int64, where the groups of each class
  begin and the last ones end, then where those for the number of rows begin and end.  Both are None
  where all rows weigh one, and classes take the place of groups.
- ``starts``, ``words``: (n_groups + 1,) int64, where each group begins among the rows and among
  the words of a node or child; the second half of ``words`` tells how often rows of each count.
- ``rows``: int32, numbers of rows, class by class; ``class_start``: (n_classes + 1,) int64, where
  each class begins among those of the node, and their number.
- ``row_bits``: uint8, the features of each row as ``row_bytes`` (int) bytes, the lowest bit first.
- ``width``: int, the length of a line with an entry for each column: a multiple of 32, whose last
  entries may be empty.  ``n_active``: int, the columns of the node.  ``node_shape``: (2,) int64,
  the ``n_active`` and ``width`` of a node.
- ``blocks``: the words, in lines of ``width``; ``word``: int, the number of a line.
- ``n_classes``, ``min_leaf``: int, the number of classes, and the least rows of a leaf.
- ``feature``: int, a split of the node, by its place among the node's columns; ``side``: int, 1 for
  the rows with the feature, 0 for those without.
- ``candidates``: int64, the columns to choose from, the first ``n_candidates`` (int) of the array;
  ``keys_from_rows``: int, as a bool, whether to sum up ``column_keys``; else they are there, or not
  wanted.  ``active``: (N,) int64, which of all columns the node's are.
- ``column_keys``: (2 * (N + 32),) uint64, a line of N + 32 for the first and one for the second
  words of keys: sums over the rows that have each column and, at N, over all rows.
- ``totals``: unsigned, by pair of columns (line ``i``, column ``j``), by column (line
  ``n_active``), and then of all rows together: how many they are, or what they weigh.
- ``side_cost``: (5, N) float64, lines LEAF_0 to IMPURITY for each split of the node.
- ``best_by_size``: (8,) float64, the least costs with at most depth two and 0, 1, 2 and 3 feature
  nodes: of child 1, then of child 0; of a node itself in the first four.  ``child_offset``: int, 0
  or 4.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from odtlib._numba.compiler import ADDRESSED, INLINED, INNER, njit
from odtlib._numba.vector import (
    add,
    add_where,
    bitwise_and,
    count_in_bytes,
    element_bits,
    interleave_high,
    interleave_low,
    keep_where_enough,
    load32,
    lowest_bit,
    maximum,
    maximum_unsigned,
    minimum,
    population_count,
    read,
    spread_like,
    store,
    store_lane_bits,
    subtract,
    sum_of_bytes,
    times,
    zeros_like,
)

WORDS_PER_BYTE = 16          # a byte holds the number of set bits of so many bytes, and of more
STRIP_WORDS = 48             # so few are counted strip by strip, without transposed copies
# Entries of ``shape``, the integers that stay the same during a search.
(N_CLASSES, N_COLUMNS, MIN_LEAF, MERGE_COLUMNS, KEYS_FROM_ROWS, COUNT_PAIRS, N_GROUPS,
 GROUPS) = range(8)      # the last is the first of the arrays of groups, one behind the other
# Rows of ``side_cost``: score of side 0 and 1 of each split, as a leaf and after one more split,
# and the Gini impurity of both sides together.
LEAF_0, LEAF_1, SPLIT_0, SPLIT_1, IMPURITY = range(5)

# What all kernels share: ``shape``, the constants above; the features of all rows as bits
# (``row_bits``), two random words (``row_keys``) and the ``numbers`` of each row; the ``counts`` of
# the columns of a node, the ``slots`` in which equal ones are found, and its rows as bits
# (``local_bits``); of a child its ``rows``, and where its groups start among them (``starts``) and
# among its words (``words``, of the node until its first child is counted).
SharedArrays = namedtuple("SharedArrays", "shape row_bits row_keys numbers counts slots local_bits "
                                          "rows starts words")
# What the kernels on counts keep of a node: its words in all columns and in its own, counts of
# pairs, counts of columns, and costs or extremes; the same of a child.
CountArrays = namedtuple("CountArrays", "all_blocks blocks pairs singles sides child_blocks "
                                        "child_pairs child_singles")


@njit(**INNER)
def ends_of_groups(shape):
    """Return where ``factors`` and ``lines`` end in ``shape``; see the module's docstring."""
    end = GROUPS + 2 * shape[N_GROUPS]
    return end, end + shape[N_CLASSES] + 3


@njit(**INNER)
def first_group(lines, c):
    """Return the first group of class ``c`` (int); ``lines`` is that of the module's docstring."""
    return np.int64(c) if lines is None else lines[c]


@njit(**INNER)
def weigh(factors, starts, begin, end):
    """Return what the rows of groups ``begin:end`` (int) weigh; see the module's docstring."""
    total = np.int64(0)
    for g in range(begin, end):
        total += times(factors, g, starts[g + 1] - starts[g])
    return total


@njit(**INNER)
def weigh_words(factors, lines, words, g, n_groups, n_classes):
    """Write how often the rows of the words of group ``g`` (int) count, for :func:`count_common`.

    ``n_groups`` is int; the other arguments are those of the module's docstring.
    """
    factor = factors[g] if g < lines[n_classes] else factors[n_groups + g]
    for w in range(words[g], words[g + 1]):
        words[len(words) // 2 + w] = factor


@njit(**INNER)
def one_each(begin, middle, end):
    """Tell whether ``begin:middle`` and ``middle:end`` are one group each, or none."""
    return middle - begin < 2 and end - middle < 2


@njit(**INNER)
def list_groups(factors, lines, starts, rows, class_start, n_classes, numbers, listed):
    """List the rows of a node group by group, and write where groups begin.

    ``numbers``, (2 * all rows,) float64, are the weight of each row and how many given rows it is,
    whole numbers; ``listed``, int32, receives the list.  The other arguments are those of the
    module's docstring.
    """
    n_listed, n_groups = 0, len(starts) - 1
    for c in range(n_classes + 1):
        last = c == n_classes                    # the groups that are for the number of rows only
        first, stop = (0, class_start[c]) if last else (class_start[c], class_start[c + 1])
        for g in range(lines[c], n_groups if last else lines[c + 1]):
            starts[g] = n_listed
            bits = factors[n_groups + g] if last else factors[g]
            for r in range(first, stop):
                row = read(rows, r)
                listed[n_listed] = row
                n_listed += np.int64(numbers[2 * row + last]) & bits == bits
    starts[n_groups] = n_listed


@njit(**INNER)
def pack_rows(row_bits, row_bytes, rows, start, stop, blocks, width, word):
    """Turn rows ``start:stop`` of ``rows`` into blocks from ``word`` on; return the next word.

    ``start`` and ``stop`` are int, and other arguments those of the module's docstring.
    """
    per_word = element_bits(blocks)
    n_words = (stop - start + per_word - 1) // per_word
    zero = zeros_like(load32(blocks, 0))
    one = spread_like(zero, 1)
    for first in range(0, width, 32):
        for w in range(n_words):
            position = start + w * per_word
            block, bit = zero, one
            for r in range(position, min(position + per_word, stop)):
                block = add_where(block, row_bits, read(rows, r) * row_bytes + first // 8, bit)
                bit = add(bit, bit)
            store(blocks, (word + w) * width + first, block)
    return word + n_words


@njit(**INNER)
def sum_words(row_bits, row_bytes, rows, n_rows, row_keys, word, width, column_keys, offset):
    """Sum one word of the keys of the rows that have each feature, and of all rows.

    ``row_keys``, (2 * all rows,) uint64, has two words for each row, of which ``word`` (0 or 1) is
    taken; ``n_rows`` (int) of ``rows`` count, and ``column_keys`` is written from ``offset`` (int)
    on.  The other arguments are those of the module's docstring.
    """
    zero = zeros_like(load32(column_keys, 0))
    for first in range(0, width, 32):
        total = zero
        for r in range(n_rows):
            row = read(rows, r)
            total = add_where(total, row_bits, row * row_bytes + first // 8,
                              spread_like(zero, read(row_keys, 2 * row + word)))
        store(column_keys, offset + first, total)
    everything = np.uint64(0)
    for r in range(n_rows):
        everything += row_keys[2 * rows[r] + word]
    column_keys[offset + width] = everything


@njit(**INNER)
def sum_keys(row_bits, row_bytes, rows, n_rows, row_keys, width, column_keys):
    """Sum the 128-bit keys of the rows that have each feature; the last entry gets all rows.

    One word after the other, as the sums of both do not fit the registers.  ``row_keys``, (2 * all
    rows,) uint64, has two words for each row; ``n_rows`` (int) of ``rows`` count.  The other
    arguments are those of the module's docstring; ``column_keys`` is written.
    """
    nothing, one = np.int64(0), np.int64(1)
    sum_words(row_bits, row_bytes, rows, n_rows, row_keys, nothing, width, column_keys, nothing)
    sum_words(row_bits, row_bytes, rows, n_rows, row_keys, one, width, column_keys, width + 32)


@njit(**INNER)
def line_width(n_columns):
    """Return the length of a line of counts for ``n_columns`` (int) columns, in whole words.

    Not a multiple of 1,024, where all lines would fall into the same few sets of the cache.
    """
    width = (n_columns + 31) // 32 * 32
    return width + 32 if width > 0 and width % 1024 == 0 else width


@njit(**INNER)
def choose_columns(candidates, n_candidates, counts, n_rows, min_leaf, merge, column_keys, width,
                   slots, active):
    """Write the features worth a split to ``active``; return how many.

    A feature that does not split the rows, or leaves fewer than ``min_leaf`` on one side, goes;
    with ``merge`` (int, as a bool) so do all but one of the features that split the rows alike,
    which their keys tell, as the complement of a feature has the key of all rows minus its own.

    ``candidates``, int64, are the columns to choose from, the first ``n_candidates`` (int) of the
    array; ``counts``, (N,) int64, how many of the ``n_rows`` (int) rows have each column.
    ``slots``, (power of two,) int64, is room.  The other arguments are those of the module's
    docstring.
    """
    size = width + 32
    low_sum, high_sum = column_keys[width], column_keys[size + width]
    mask = len(slots) - 1
    if merge:
        for s in range(len(slots)):
            slots[s] = -1
    kept = 0
    for c in range(n_candidates):
        feature = candidates[c]
        if counts[feature] < min_leaf or n_rows - counts[feature] < min_leaf:
            continue
        low, high = column_keys[feature], column_keys[size + feature]
        if merge:
            if low_sum - low < low:
                low, high = low_sum - low, high_sum - high
            slot = np.int64((low * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)) & mask
            is_duplicate = False
            while slots[slot] >= 0:
                other = active[slots[slot]]
                other_low, other_high = column_keys[other], column_keys[size + other]
                if ((other_low == low and other_high == high)
                        or (low_sum - other_low == low and high_sum - other_high == high)):
                    is_duplicate = True
                    break
                slot = (slot + 1) & mask
            if is_duplicate:
                continue
            slots[slot] = kept
        active[kept] = feature
        kept += 1
    return kept


@njit(**INNER)
def count_singles(factors, blocks, width, words, begin, end, singles, offset):
    """Count the rows of groups ``begin:end`` that have each feature: ``FQ(i)``.

    ``singles``, counts, receives a line of ``width`` of them from ``offset`` on (all int).  The
    other arguments are those of the module's docstring.
    """
    zero = zeros_like(load32(blocks, 0))
    for first in range(0, width, 32):
        total = zero
        for g in range(begin, end):
            count = zero
            for w in range(words[g], words[g + 1]):
                count = add(count, population_count(load32(blocks, w * width + first)))
            total = add(total, times(factors, g, count))
        store(singles, offset + first, total)


@njit(**INNER)
def count_lines(factors, lines, blocks, width, words, n_classes, n_lines, singles):
    """Count the rows of each class that have each feature, then all rows, if so many lines.

    ``singles``, counts, receives ``n_lines`` (int) lines.  The other arguments are those of the
    module's docstring.
    """
    for c in range(n_classes):
        count_singles(factors, blocks, width, words, first_group(lines, c),
                      first_group(lines, c + 1), singles, c * width)
    if n_lines > n_classes:
        if lines is None:
            for first in range(0, width, 32):
                total = load32(singles, first)
                for c in range(1, n_classes):
                    total = add(total, load32(singles, c * width + first))
                store(singles, n_classes * width + first, total)
        else:
            count_singles(factors[len(factors) // 2:], blocks, width, words, lines[n_classes + 1],
                          lines[n_classes + 2], singles, n_classes * width)


@njit(**INNER)
def lay_out(factors, lines, starts, listed, rows, n_rows, candidates, n_candidates,
            keys_from_rows, shared, node, active, column_keys, node_shape):
    """Pack a node and choose its features; see :func:`open_node`.

    ``listed``, int32, are the rows group by group, and ``n_rows`` (int) how many ``rows`` there
    are.  The other arguments are those of the module's docstring.
    """
    shape, row_bits, row_keys, counts = (shared.shape, shared.row_bits, shared.row_keys,
                                         shared.counts)
    slots, local_bits, words = shared.slots, shared.local_bits, shared.words
    all_blocks, blocks, singles = node.all_blocks, node.blocks, node.singles
    n_classes, n_columns = shape[N_CLASSES], shape[N_COLUMNS]
    row_bytes, per_word, n_groups = n_columns // 8, element_bits(blocks), len(starts) - 1
    if keys_from_rows:
        sum_keys(row_bits, row_bytes, rows, n_rows, row_keys, n_columns, column_keys)
    if lines is not None:
        n_rows = weigh(factors[n_groups:], starts, np.int64(0), n_groups)
    words[0] = 0
    for feature in range(n_columns):
        counts[feature] = 0
    for g in range(n_groups):
        words[g + 1] = pack_rows(row_bits, row_bytes, listed, starts[g], starts[g + 1],
                                 all_blocks, n_columns, words[g])
        if factors is not None:
            weigh_words(factors, lines, words, g, n_groups, n_classes)
        count_singles(None, all_blocks, n_columns, words, g, g + 1, singles, np.int64(0))
        for feature in range(n_columns):
            if lines is None:
                counts[feature] += singles[feature]
            else:
                counts[feature] += np.int64(singles[feature]) * factors[n_groups + g]
    kept = choose_columns(candidates, n_candidates, counts, n_rows, shape[MIN_LEAF],
                          shape[MERGE_COLUMNS], column_keys, n_columns, slots, active)
    width = line_width(kept)
    node_shape[0], node_shape[1] = kept, width
    for w in range(words[n_groups]):
        for k in range(kept):
            blocks[w * width + k] = all_blocks[w * n_columns + active[k]]
        for k in range(kept, width):
            blocks[w * width + k] = 0
    for g in range(n_groups):
        size = starts[g + 1] - starts[g]
        for w in range(words[g + 1] - words[g]):
            row = starts[g] + w * per_word
            for first in range(0, width, 32):
                block = load32(blocks, (words[g] + w) * width + first)
                for bit in range(min(per_word, size - w * per_word)):
                    store_lane_bits(local_bits, ((row + bit) * width + first) // 8, block, bit)
    count_lines(factors, lines, blocks, width, words, n_classes, n_classes + 1, singles)


@njit(**ADDRESSED)
def open_node(rows, class_start, candidates, n_candidates, keys_from_rows, shared,
              node, active, column_keys, node_shape):
    """Pack a node, choose its features, and lay out blocks and rows of those features only.

    The arguments are those of the module's docstring; ``active``, ``node_shape`` and arrays of
    ``node`` are written.
    """
    lay_out(None, None, class_start, rows, rows, class_start[len(class_start) - 1], candidates,
            n_candidates, keys_from_rows, shared, node, active, column_keys, node_shape)


@njit(**ADDRESSED)
def open_groups(rows, class_start, candidates, n_candidates, keys_from_rows, shared,
                node, active, column_keys, node_shape):
    """Lay out a node whose rows have whole weights; see :func:`open_node`.

    The arguments are those of the module's docstring.
    """
    shape, n_classes = shared.shape, shared.shape[N_CLASSES]
    a, b = ends_of_groups(shape)
    factors, lines, starts = shape[GROUPS:a], shape[a:b], shape[b:]
    list_groups(factors, lines, starts, rows, class_start, n_classes, shared.numbers, shared.rows)
    lay_out(factors, lines, starts, shared.rows, rows, class_start[n_classes], candidates,
            n_candidates, keys_from_rows, shared, node, active, column_keys, node_shape)


@njit(**INNER)
def list_side(blocks, width, class_start, n_classes, feature, side, rows, starts):
    """List the rows of a node on one side of a feature, class by class, or group by group.

    ``rows`` receives their places among the node's rows, and ``starts``, (n_classes + 1,) int64,
    where each class begins.  The other arguments are those of the module's docstring.
    """
    per_word = element_bits(blocks)
    n_child_rows, word = 0, 0
    starts[0] = 0
    for c in range(n_classes):
        row, stop = class_start[c], class_start[c + 1]
        while row < stop:
            # 64 rows at a time: the end of each inner loop is a branch that is hard to predict.
            size, bits = min(stop - row, 64), np.int64(0)
            for first in range(0, size, per_word):
                bits |= np.int64(read(blocks, word * width + feature)) << first
                word += 1
            if side == 0:
                bits = ~bits & (np.int64(-1) if size == 64 else (np.int64(1) << size) - 1)
            while bits != 0:
                rows[n_child_rows] = row + lowest_bit(bits)
                n_child_rows += 1
                bits &= bits - 1
            row += 64
        starts[c + 1] = n_child_rows


@njit(**INLINED)
def pack_child(factors, lines, starts, feature, side, width, n_lines, shared, node):
    """Pack one child of ``feature``, group by group, and count its columns; return its side.

    ``side`` may be -1, for the child that weighs less.  Of its counts ``n_lines`` (int) lines are
    written, as in :func:`count_lines`.  The other arguments are those of the module's docstring.
    """
    shape, child_rows, child_start, words = (shared.shape, shared.rows, shared.starts,
                                             shared.words)
    n_classes, n_groups = shape[N_CLASSES], len(starts) - 1
    if side < 0:
        ones, whole = 0, weigh(factors, starts, first_group(lines, 0),
                               first_group(lines, n_classes))
        for c in range(n_classes):
            ones += np.int64(node.singles[c * width + feature])
        side = 1 if 2 * ones <= whole else 0
    list_side(node.blocks, width, starts, n_groups, feature, side, child_rows, child_start)
    words[0] = 0
    for g in range(n_groups):
        words[g + 1] = pack_rows(shared.local_bits, width // 8, child_rows, child_start[g],
                                 child_start[g + 1], node.child_blocks, width, words[g])
        if factors is not None:
            weigh_words(factors, lines, words, g, n_groups, n_classes)
    count_lines(factors, lines, node.child_blocks, width, words, n_classes, n_lines,
                node.child_singles)
    return side


# Phase one: pairwise frequency counts ----------------------------------------------------------


@njit(**INNER)
def interleave_rows(counts, source, source_width, target, target_width):
    """Interleave rows ``k`` and ``k + 16`` of a 32 x 32 block; five times transposes it.

    Each time the ten bits of the address of an element, five of the row and five of the column,
    turn by one place.  ``source`` and ``target`` (int) are where the block begins in ``counts``,
    numbers of any type, and its copy; ``source_width`` and ``target_width`` (int) how far their
    rows are apart.
    """
    for k in range(16):
        first = load32(counts, source + k * source_width)
        second = load32(counts, source + (k + 16) * source_width)
        store(counts, target + 2 * k * target_width, interleave_low(first, second))
        store(counts, target + (2 * k + 1) * target_width, interleave_high(first, second))


@njit(**INNER)
def transpose(counts, source, target, width, scratch):
    """Write the transposed copy of a 32 x 32 block of a matrix to another place of it.

    The block begins at ``source`` of ``counts``, numbers of any type with ``width`` in a line, and
    the copy at ``target``; from ``scratch`` on (all int) there is room for 2,048 numbers.
    """
    other = scratch + 1024
    interleave_rows(counts, source, width, scratch, 32)
    interleave_rows(counts, scratch, 32, other, 32)
    interleave_rows(counts, other, 32, scratch, 32)
    interleave_rows(counts, scratch, 32, other, 32)
    interleave_rows(counts, other, 32, target, width)


@njit(**INNER)
def count_common(often, blocks, width, i, first, start, stop):
    """Return how many rows of the words ``start:stop`` have column ``i`` and each of 32 others.

    These are from ``first`` on (all int).  Where ``often``, int64, is not None, the rows of
    each word count as often as it says.  The other arguments are those of the module's docstring.
    """
    count = zeros_like(load32(blocks, 0))
    zero = count
    for w in range(start, stop):
        count = add(count, times(often, w, population_count(bitwise_and(
            spread_like(zero, read(blocks, w * width + i)), load32(blocks, w * width + first)))))
    return count


@njit(**INNER)
def count_bytes(blocks, width, i, first, start, stop):
    """Return the same as :func:`count_common`, for many words whose rows all count once.

    The arguments are those of it and of the module's docstring; ``i``, ``first``, ``start`` and
    ``stop`` are int.  The bits are counted in bytes, which are widened to counts once in
    ``WORDS_PER_BYTE`` words.
    """
    zero = zeros_like(load32(blocks, 0))
    total, some = zero, zero
    for w in range(start, stop):
        some = add(some, count_in_bytes(bitwise_and(
            spread_like(zero, read(blocks, w * width + i)), load32(blocks, w * width + first))))
        if (w - start) % WORDS_PER_BYTE == WORDS_PER_BYTE - 1:
            total = add(total, sum_of_bytes(some))
            some = zero
    return add(total, sum_of_bytes(some))


@njit(**INNER)
def count_pairs(factors, blocks, width, n_active, words, begin, middle, end, counts, base, scratch):
    """Count ``FQ(i, j)`` over the groups ``begin:middle``, minus those of ``middle:end``.

    ``counts[base + i * width + j]``, unsigned, receives it.  ``begin``, ``middle``, ``end`` and
    ``base`` are int; from ``scratch`` on ``counts`` has room for 2,048 numbers.  The other
    arguments are those of the module's docstring.

    As it is symmetric, the 32 x 32 blocks below the diagonal are transposed copies, unless there
    are so few words that counting is quicker.
    """
    zero, start, half, stop = (zeros_like(load32(counts, base)), words[begin], words[middle],
                               words[end])
    copies, often = stop - start >= 6, words[len(words) // 2:]
    for row in range(0, width, 32):
        for first in range(row if copies else 0, width, 32):
            for i in range(row, row + 32):
                count = zero
                if i < n_active and (factors is None or one_each(begin, middle, end)):
                    plus = count_bytes(blocks, width, i, first, start, half)
                    less = count_bytes(blocks, width, i, first, half, stop)
                    count = subtract(times(factors, begin, plus), times(factors, end - 1, less))
                elif i < n_active:
                    count = subtract(count_common(often, blocks, width, i, first, start, half),
                                     count_common(often, blocks, width, i, first, half, stop))
                store(counts, base + i * width + first, count)
            if copies and first > row:
                transpose(counts, base + row * width + first, base + first * width + row, width,
                          scratch)


@njit(**INNER)
def count_strip(factors, blocks, width, n_active, words, begin, middle, end, first, counts, base):
    """Count 32 columns of ``FQ``, from ``first`` (int) on, over few words; see :func:`count_pairs`.

    ``counts[base + 32 * i + j]`` receives ``FQ(i, first + j)``.  Read at once, a strip is still in
    the processor's cache.  ``begin``, ``middle``, ``end`` and ``base`` are as there; the other
    arguments are those of the module's docstring.
    """
    start, half, stop = words[begin], words[middle], words[end]
    if factors is None or one_each(begin, middle, end):
        for i in range(n_active):
            plus = count_common(None, blocks, width, i, first, start, half)
            less = count_common(None, blocks, width, i, first, half, stop)
            store(counts, base + 32 * i,
                  subtract(times(factors, begin, plus), times(factors, end - 1, less)))
    else:
        often = words[len(words) // 2:]
        for i in range(n_active):
            store(counts, base + 32 * i, subtract(
                count_common(often, blocks, width, i, first, start, half),
                count_common(often, blocks, width, i, first, half, stop)))


# Phase two for two classes: differences of counts, and their extremes --------------------------


@njit(**INNER)
def score_two_classes(extremes, base, width, n_active, differences, offset, difference, n_rows,
                      best_by_size, child_offset):
    """Write the best scores of a node or child with 0, 1, 2 and 3 feature nodes.

    ``extremes``, signed, has four lines from ``base`` (int) on: for each root the largest and the
    smallest difference among the rows of side 1 that have some second feature, then among those of
    side 0; ``differences``, signed, has from ``offset`` (int) on those of the rows with each
    feature.  ``difference`` (int) is that of all rows, and ``n_rows`` (int) their number or
    weight.  The other arguments are those of the module's docstring.
    """
    one, two, three = np.int64(0), np.int64(0), np.int64(0)
    for j in range(n_active):
        x = read(differences, offset + j)
        y = difference - x
        leaf_1, leaf_0 = abs(x), abs(y)
        split_1 = max(2 * read(extremes, base + j) - x, x - 2 * read(extremes, base + width + j))
        split_0 = max(2 * read(extremes, base + 2 * width + j) - y,
                      y - 2 * read(extremes, base + 3 * width + j))
        one = max(one, leaf_1 + leaf_0)
        two = max(two, max(split_1 + leaf_0, leaf_1 + split_0))
        three = max(three, split_1 + split_0)
    zero = abs(difference)
    best_by_size[child_offset] = (n_rows - zero) // 2
    best_by_size[child_offset + 1] = (n_rows - max(zero, one)) // 2
    best_by_size[child_offset + 2] = (n_rows - max(zero, two)) // 2
    best_by_size[child_offset + 3] = (n_rows - max(zero, three)) // 2


@njit(**INNER)
def prepare_two(factors, lines, starts, shared, node, totals, side_cost, best_by_size, node_shape):
    """Count an open node with two classes; see :func:`prepare_classes`.

    ``pairs`` of the node receives ``FQ`` of class 0 minus ``FQ`` of class 1, one strip of 32
    columns after the other.  The arguments are those of the module's docstring.
    """
    shape, words = shared.shape, shared.words
    blocks, pairs, singles, extremes = node.blocks, node.pairs, node.singles, node.sides
    child_pairs = node.child_pairs
    n_active, width = node_shape[0], node_shape[1]
    begin, middle, end = (first_group(lines, 0), first_group(lines, 1), first_group(lines, 2))
    size_0, size_1 = weigh(factors, starts, begin, middle), weigh(factors, starts, middle, end)
    whole, difference = size_0 + size_1, size_0 - size_1
    totals[(n_active + 1) * width] = whole
    zero = zeros_like(load32(blocks, 0))
    for first in range(0, width, 32):
        x, y = load32(singles, first), load32(singles, width + first)
        store(totals, n_active * width + first, add(x, y))
        store(singles, 2 * width + first, subtract(x, y))
    in_strips = words[end] <= STRIP_WORDS
    if shape[COUNT_PAIRS] and not in_strips:
        square = width * width
        count_pairs(factors, blocks, width, n_active, words, begin, middle, middle, child_pairs,
                    np.int64(0), 2 * square)
        count_pairs(factors, blocks, width, n_active, words, middle, end, end, child_pairs, square,
                    2 * square)
    for first in range(0, width if shape[COUNT_PAIRS] else 0, 32):
        offset_0, offset_1, line = first, width * width + first, width
        if in_strips:
            offset_0, offset_1, line = 0, 32 * width, 32
            count_strip(factors, blocks, width, n_active, words, begin, middle, middle, first,
                        child_pairs, np.int64(0))
            count_strip(factors, blocks, width, n_active, words, middle, end, end, first,
                        child_pairs, 32 * width)
        most_1, least_1, most_0, least_0 = zero, zero, zero, zero
        for i in range(n_active):
            count_0 = load32(child_pairs, offset_0 + i * line)
            count_1 = load32(child_pairs, offset_1 + i * line)
            inside = subtract(count_0, count_1)
            store(pairs, first * width + 32 * i, inside)
            store(totals, i * width + first, add(count_0, count_1))
            outside = subtract(spread_like(zero, read(singles, 2 * width + i)), inside)
            most_1, least_1 = maximum(most_1, inside), minimum(least_1, inside)
            most_0, least_0 = maximum(most_0, outside), minimum(least_0, outside)
        store(extremes, first, most_1)
        store(extremes, width + first, least_1)
        store(extremes, 2 * width + first, most_0)
        store(extremes, 3 * width + first, least_0)
    differences = singles
    score_two_classes(extremes, np.int64(0), width, n_active, differences, 2 * width, difference,
                      whole, best_by_size, np.int64(0))
    for j in range(n_active):
        x = read(differences, 2 * width + j)
        y = difference - x
        all_1 = np.int64(totals[n_active * width + j])
        all_0 = whole - all_1
        split_1 = max(2 * read(extremes, j) - x, x - 2 * read(extremes, width + j))
        split_0 = max(2 * read(extremes, 2 * width + j) - y,
                      y - 2 * read(extremes, 3 * width + j))
        side_cost[LEAF_0, j] = (all_0 - abs(y)) // 2
        side_cost[LEAF_1, j] = (all_1 - abs(x)) // 2
        side_cost[SPLIT_0, j] = (all_0 - split_0) // 2
        side_cost[SPLIT_1, j] = (all_1 - split_1) // 2
        side_cost[IMPURITY, j] = 0.5 * ((all_0 * all_0 - y * y) / max(1, all_0)
                                        + (all_1 * all_1 - x * x) / max(1, all_1))


@njit(**INLINED)
def children_two(factors, lines, starts, feature, side, n_active, width, shared, node,
                 best_by_size):
    """Solve both children of ``feature`` to depth two; see :func:`children_classes`.

    The arguments are those of the module's docstring.
    """
    child_start, words = shared.starts, shared.words
    blocks, pairs, singles, extremes = node.blocks, node.pairs, node.singles, node.sides
    child_blocks, child_pairs = node.child_blocks, node.child_pairs
    child_singles = node.child_singles
    begin, middle, end = (first_group(lines, 0), first_group(lines, 1), first_group(lines, 2))
    side = pack_child(factors, lines, starts, feature, side, width, np.int64(2), shared, node)
    zero = zeros_like(load32(blocks, 0))
    x, y = 2 * width, 3 * width      # differences of the smaller and of the larger child
    for first in range(0, width, 32):
        small = subtract(load32(child_singles, first), load32(child_singles, width + first))
        store(child_singles, x + first, small)
        store(child_singles, y + first, subtract(load32(singles, 2 * width + first), small))
    in_strips = words[end] <= STRIP_WORDS
    if not in_strips:
        count_pairs(factors, child_blocks, width, n_active, words, begin, middle, end, child_pairs,
                    np.int64(0), width * width)
    for first in range(0, width, 32):
        if in_strips:
            count_strip(factors, child_blocks, width, n_active, words, begin, middle, end, first,
                        child_pairs, np.int64(0))
        offset, line = (0, 32) if in_strips else (first, width)
        most_1, least_1, most_0, least_0 = zero, zero, zero, zero
        large_most_1, large_least_1, large_most_0, large_least_0 = zero, zero, zero, zero
        for i in range(n_active):
            inside = load32(child_pairs, offset + i * line)
            outside = subtract(spread_like(zero, read(child_singles, x + i)), inside)
            most_1, least_1 = maximum(most_1, inside), minimum(least_1, inside)
            most_0, least_0 = maximum(most_0, outside), minimum(least_0, outside)
            inside = subtract(load32(pairs, first * width + 32 * i), inside)
            outside = subtract(spread_like(zero, read(child_singles, y + i)), inside)
            large_most_1, large_least_1 = (maximum(large_most_1, inside),
                                           minimum(large_least_1, inside))
            large_most_0, large_least_0 = (maximum(large_most_0, outside),
                                           minimum(large_least_0, outside))
        store(extremes, first, most_1)
        store(extremes, width + first, least_1)
        store(extremes, 2 * width + first, most_0)
        store(extremes, 3 * width + first, least_0)
        store(extremes, 4 * width + first, large_most_1)
        store(extremes, 5 * width + first, large_least_1)
        store(extremes, 6 * width + first, large_most_0)
        store(extremes, 7 * width + first, large_least_0)
    small_0, small_1 = (weigh(factors, child_start, begin, middle),
                        weigh(factors, child_start, middle, end))
    large_0 = weigh(factors, starts, begin, middle) - small_0
    large_1 = weigh(factors, starts, middle, end) - small_1
    child_offset = 0 if side == 1 else 4
    score_two_classes(extremes, np.int64(0), width, n_active, child_singles, x, small_0 - small_1,
                      small_0 + small_1, best_by_size, child_offset)
    score_two_classes(extremes, 4 * width, width, n_active, child_singles, y, large_0 - large_1,
                      large_0 + large_1, best_by_size, 4 - child_offset)


@njit(**ADDRESSED)
def prepare_two_classes(class_start, shared, node, totals, side_cost, best_by_size,
                        node_shape):
    """Count an open node of two classes whose rows all weigh one; see :func:`prepare_classes`.

    The arguments are those of the module's docstring.
    """
    prepare_two(None, None, class_start, shared, node, totals, side_cost, best_by_size, node_shape)


@njit(**ADDRESSED)
def children_two_classes(feature, side, class_start, n_active, width, shared, node,
                         best_by_size):
    """Solve both children of ``feature`` to depth two, of rows that all weigh one.

    The arguments are those of the module's docstring; see :func:`children_classes`.
    """
    children_two(None, None, class_start, feature, side, n_active, width, shared, node,
                 best_by_size)


@njit(**ADDRESSED)
def prepare_two_weighted_classes(class_start, shared, node, totals, side_cost, best_by_size,
                                 node_shape):
    """Count an open node of two classes with whole weights; see :func:`prepare_classes`.

    The arguments are those of the module's docstring.
    """
    shape = shared.shape
    a, b = ends_of_groups(shape)
    prepare_two(shape[GROUPS:a], shape[a:b], shape[b:], shared, node, totals, side_cost,
                best_by_size, node_shape)


@njit(**ADDRESSED)
def children_two_weighted_classes(feature, side, class_start, n_active, width, shared, node,
                                  best_by_size):
    """Solve both children of ``feature`` to depth two, of two classes with whole weights.

    The arguments are those of the module's docstring; see :func:`children_classes`.
    """
    shape = shared.shape
    a, b = ends_of_groups(shape)
    children_two(shape[GROUPS:a], shape[a:b], shape[b:], feature, side, n_active, width, shared,
                 node, best_by_size)


# Phase two for any number of classes, and a minimum leaf size ---------------------------------


@njit(**INNER)
def best_sizes(leaf, sides, singles, number, whole, n_active, width, min_leaf, best_by_size,
               child_offset):
    """Write the least costs with 0, 1, 2 and 3 feature nodes, from ``child_offset`` on.

    ``leaf`` (float64) is what one leaf costs, and ``sides`` has the lines LEAF_0 to SPLIT_1, of
    counts or float64, for each root.  ``number`` (int) is where ``singles`` has the numbers of rows
    with each feature (-1: each root is allowed), ``whole`` that of all rows.  The other arguments
    are those of the module's docstring.
    """
    one, two, three = leaf, leaf, leaf
    for i in range(n_active):
        if number >= 0 and (singles[number + i] < min_leaf
                            or whole - singles[number + i] < min_leaf):
            continue
        leaf_1, leaf_0 = (np.float64(sides[LEAF_1 * width + i]),
                          np.float64(sides[LEAF_0 * width + i]))
        split_1, split_0 = (np.float64(sides[SPLIT_1 * width + i]),
                            np.float64(sides[SPLIT_0 * width + i]))
        one = min(one, leaf_1 + leaf_0)
        two = min(two, min(split_1 + leaf_0, leaf_1 + split_0))
        three = min(three, split_1 + split_0)
    best_by_size[child_offset], best_by_size[child_offset + 1] = leaf, one
    best_by_size[child_offset + 2], best_by_size[child_offset + 3] = two, three


@njit(**INNER)
def score_classes(pairs, singles, counted, n_active, width, n_classes, min_leaf, sides,
                  best_by_size, child_offset):
    """Write the costs of both sides of every root, as leaves and split once, and the least ones.

    ``sides`` receives the lines LEAF_0 to SPLIT_1.  ``singles``, of integers or float64, has a line
    for each class and one of the numbers of rows, then the same of all rows together.  ``pairs``
    has a square of ``width`` lines for each class.  ``counted`` (bool) says that both count rows.
    Sums of weights do not tell numbers of rows: with a minimum leaf size ``pairs`` has those in a
    square of their own, else there are none.  The other arguments are those of the module's
    docstring.
    """
    square, last, number = width * width, (n_classes + 1) * width, n_classes * width
    zero = zeros_like(load32(pairs, 0))
    bound = spread_like(zero, min_leaf)
    total, largest_weight = 0.0, 0.0
    for c in range(n_classes):
        total += singles[last + c]
        largest_weight = max(largest_weight, np.float64(singles[last + c]))
    for first in range(0, width, 32):
        weight_1, leaf_1, leaf_0 = zero, zero, zero
        for c in range(n_classes):
            x = load32(singles, c * width + first)
            weight_1, leaf_1 = add(weight_1, x), maximum_unsigned(leaf_1, x)
            leaf_0 = maximum_unsigned(leaf_0, subtract(
                spread_like(zero, read(singles, last + c)), x))
        split_1, split_0 = leaf_1, leaf_0
        for i in range(n_active):
            m11, m10, m01, m00, number_11 = zero, zero, zero, zero, zero
            for c in range(n_classes):
                both = load32(pairs, c * square + i * width + first)
                only_j = subtract(load32(singles, c * width + first), both)
                ones = read(singles, c * width + i)
                rest = spread_like(zero, read(singles, last + c) - ones)
                number_11 = add(number_11, both)
                m11, m10 = maximum_unsigned(m11, both), maximum_unsigned(m10, only_j)
                m01 = maximum_unsigned(m01, subtract(spread_like(zero, ones), both))
                m00 = maximum_unsigned(m00, subtract(rest, only_j))
            inner_1, inner_0 = add(m11, m10), add(m01, m00)
            if min_leaf > 1:
                if not counted:
                    number_11 = load32(pairs, n_classes * square + i * width + first)
                only_j = subtract(load32(singles, number + first), number_11)
                ones = read(singles, number + i)
                rest = spread_like(zero, read(singles, last + n_classes) - ones)
                inner_1 = keep_where_enough(inner_1, number_11, only_j, bound, zero)
                inner_0 = keep_where_enough(inner_0, subtract(spread_like(zero, ones), number_11),
                                            subtract(rest, only_j), bound, zero)
            split_1 = maximum_unsigned(split_1, inner_1)
            split_0 = maximum_unsigned(split_0, inner_0)
        weight_0 = zero
        for c in range(n_classes):
            weight_0 = add(weight_0, spread_like(zero, read(singles, last + c)))
        weight_0 = subtract(weight_0, weight_1)
        store(sides, LEAF_1 * width + first, subtract(weight_1, leaf_1))
        store(sides, LEAF_0 * width + first, subtract(weight_0, leaf_0))
        store(sides, SPLIT_1 * width + first, subtract(weight_1, split_1))
        store(sides, SPLIT_0 * width + first, subtract(weight_0, split_0))
    best_sizes(total - largest_weight, sides, singles, number if min_leaf > 1 else np.int64(-1),
               singles[last + n_classes], n_active, width, min_leaf, best_by_size, child_offset)


@njit(**INNER)
def write_costs(pairs, singles, n_pairs, n_active, width, n_classes, sides, totals, side_cost):
    """Write what a scored node leaves for the search: sums over the classes, and costs of splits.

    ``pairs``, ``singles`` and ``sides`` are those of :func:`score_classes`; ``n_pairs`` (int) is
    the number of columns that have sums with others.  ``totals`` and ``side_cost`` are written;
    they and the other arguments are those of the module's docstring.
    """
    square, last = width * width, (n_classes + 1) * width
    zero, whole = zeros_like(load32(pairs, 0)), 0.0
    for i in range(n_pairs + 1):
        for first in range(0, width, 32):
            total = zero
            for c in range(n_classes):
                total = add(total, load32(pairs, c * square + i * width + first) if i < n_pairs
                            else load32(singles, c * width + first))
            store(totals, (i if i < n_pairs else n_active) * width + first, total)
    for c in range(n_classes):
        whole += singles[last + c]
    totals[(n_active + 1) * width] = whole
    for j in range(n_active):
        for kind in (LEAF_0, LEAF_1, SPLIT_0, SPLIT_1):
            side_cost[kind, j] = sides[kind * width + j]
        total, square_1, square_0 = np.float64(totals[n_active * width + j]), 0.0, 0.0
        for c in range(n_classes):
            x = np.float64(singles[c * width + j])
            y = singles[last + c] - x
            square_1 += x * x
            square_0 += y * y
        side_cost[IMPURITY, j] = (whole - square_0 / max(whole - total, 1e-300)
                                  - square_1 / max(total, 1e-300))


@njit(**INNER)
def score_children(pairs, singles, child_pairs, child_singles, counted, n_active, width, n_classes,
                   min_leaf, sides, best_by_size, child_offset):
    """Score the child that was summed up, and the other, whose sums are those of the node less.

    ``pairs`` and ``singles`` of the node, ``counted`` and ``sides`` are those of
    :func:`score_classes`, and ``child_pairs`` and ``child_singles`` the same of the child, which
    become those of the other.  ``child_offset`` is of the first child; it and the other arguments
    are those of the module's docstring.
    """
    score_classes(child_pairs, child_singles, counted, n_active, width, n_classes, min_leaf, sides,
                  best_by_size, child_offset)
    for c in range(n_classes + (min_leaf > 1 and not counted)):
        for p in range(c * width * width, c * width * width + n_active * width, 32):
            store(child_pairs, p, subtract(load32(pairs, p), load32(child_pairs, p)))
    for p in range((n_classes + 1) * (width + 1)):
        child_singles[p] = singles[p] - child_singles[p]
    score_classes(child_pairs, child_singles, counted, n_active, width, n_classes, min_leaf, sides,
                  best_by_size, 4 - child_offset)


@njit(**INNER)
def count_classes(factors, lines, starts, words, blocks, width, n_active, n_classes, min_leaf,
                  pairs, singles):
    """Count the pairs of columns of each class, and the rows of all classes together.

    ``pairs`` and ``singles``, which has the counts of each column, are those of
    :func:`score_classes`, and written.  The other arguments are those of the module's docstring.
    """
    square, last = width * width, (n_classes + 1) * width
    scratch = n_classes * square
    if lines is None:
        singles[last + n_classes] = starts[n_classes]
    else:
        scratch += square
        begin, end = lines[n_classes + 1], lines[n_classes + 2]
        numbers = factors[len(factors) // 2:]
        singles[last + n_classes] = weigh(numbers, starts, begin, end)
        if min_leaf > 1 and n_active > 0 and begin == 0:
            count_pairs(None, blocks, width, n_active, words, begin, end, end, pairs,
                        n_classes * square, scratch)
        elif min_leaf > 1 and n_active > 0:
            count_pairs(numbers, blocks, width, n_active, words, begin, end, end, pairs,
                        n_classes * square, scratch)
    for c in range(n_classes):
        begin, end = first_group(lines, c), first_group(lines, c + 1)
        if n_active > 0:
            count_pairs(factors, blocks, width, n_active, words, begin, end, end, pairs,
                        c * square, scratch)
        singles[last + c] = weigh(factors, starts, begin, end)


@njit(**INNER)
def prepare_counts(factors, lines, starts, shared, node, totals, side_cost, best_by_size,
                   node_shape):
    """Count an open node; see :func:`prepare_classes`.

    The arguments are those of the module's docstring.
    """
    shape, pairs, singles, sides = shared.shape, node.pairs, node.singles, node.sides
    n_classes, min_leaf = shape[N_CLASSES], shape[MIN_LEAF]
    kept, width = node_shape[0], node_shape[1]
    n_pairs = kept if shape[COUNT_PAIRS] else np.int64(0)
    count_classes(factors, lines, starts, shared.words, node.blocks, width, n_pairs, n_classes,
                  min_leaf, pairs, singles)
    score_classes(pairs, singles, lines is None, n_pairs, width, n_classes, min_leaf, sides,
                  best_by_size, np.int64(0))
    write_costs(pairs, singles, n_pairs, kept, width, n_classes, sides, totals, side_cost)


@njit(**INLINED)
def children_counts(factors, lines, starts, feature, side, n_active, width, shared, node,
                    best_by_size):
    """Solve both children of ``feature`` to depth two; see :func:`children_classes`.

    The arguments are those of the module's docstring.
    """
    shape, child_pairs, child_singles = shared.shape, node.child_pairs, node.child_singles
    n_classes, min_leaf = shape[N_CLASSES], shape[MIN_LEAF]
    side = pack_child(factors, lines, starts, feature, side, width, n_classes + 1, shared, node)
    count_classes(factors, lines, shared.starts, shared.words, node.child_blocks, width, n_active,
                  n_classes, min_leaf, child_pairs, child_singles)
    score_children(node.pairs, node.singles, child_pairs, child_singles, lines is None, n_active,
                   width, n_classes, min_leaf, node.sides, best_by_size,
                   np.int64(0 if side == 1 else 4))


@njit(**ADDRESSED)
def prepare_classes(class_start, shared, node, totals, side_cost, best_by_size,
                    node_shape):
    """Count an open node: pairwise frequencies and the best depth-two tree under each root.

    The arguments are those of the module's docstring; all but ``class_start`` and ``node_shape``
    are written.
    """
    prepare_counts(None, None, class_start, shared, node, totals, side_cost, best_by_size,
                   node_shape)


@njit(**ADDRESSED)
def children_classes(feature, side, class_start, n_active, width, shared, node,
                     best_by_size):
    """Solve both children of ``feature`` to depth two, from the counts of a prepared node.

    The child ``side`` is counted (-1: that with fewer rows), the other follows by subtraction.  The
    arguments are those of the module's docstring; ``best_by_size`` receives the best scores of both
    children.
    """
    children_counts(None, None, class_start, feature, side, n_active, width, shared, node,
                    best_by_size)


@njit(**ADDRESSED)
def prepare_weighted_classes(class_start, shared, node, totals, side_cost, best_by_size,
                             node_shape):
    """Count an open node of rows with whole weights; see :func:`prepare_classes`.

    The arguments are those of the module's docstring.
    """
    shape = shared.shape
    a, b = ends_of_groups(shape)
    prepare_counts(shape[GROUPS:a], shape[a:b], shape[b:], shared, node, totals, side_cost,
                   best_by_size, node_shape)


@njit(**ADDRESSED)
def children_weighted_classes(feature, side, class_start, n_active, width, shared, node,
                              best_by_size):
    """Solve both children of ``feature`` to depth two, of rows with whole weights.

    The arguments are those of the module's docstring; see :func:`children_classes`.
    """
    shape = shared.shape
    a, b = ends_of_groups(shape)
    children_counts(shape[GROUPS:a], shape[a:b], shape[b:], feature, side, n_active, width, shared,
                    node, best_by_size)


@njit(**ADDRESSED)
def add_closure(feature, totals, n_active, width, active, literals, sums):
    """Sum the keys of all literals that hold in each child of ``feature``.

    A literal is a feature with a value; ``literals``, (4 * N,) uint64, has for each column two
    words for rows without it, then two for those with it.  ``sums``, (4,) uint64, receives two
    words for child 1, two for child 0.  The other arguments are those of the module's docstring.
    """
    sums[:] = 0
    last = n_active * width
    n_rows, rows_1 = np.float64(totals[last + width]), np.float64(totals[last + feature])
    for j in range(n_active):
        both, rows_j = np.float64(totals[feature * width + j]), np.float64(totals[last + j])
        for side in range(2):
            inside, size = (both, rows_1) if side == 1 else (rows_j - both, n_rows - rows_1)
            if inside == 0 or inside == size:
                first_word = 4 * active[j] + (2 if inside == size else 0)
                sums[2 * (1 - side)] += literals[first_word]
                sums[2 * (1 - side) + 1] += literals[first_word + 1]


@njit(**ADDRESSED)
def bound_by_similarity(feature, totals, n_active, width, value_1, value_0, bound_1, bound_0):
    """Bound the children of all features by those of ``feature`` (Proposition 9).

    ``value_1`` and ``value_0`` (float64) are what its children 1 and 0 cost at least; ``bound_1``
    and ``bound_0``, (N,) float64, those of every feature, are raised.  The other arguments are
    those of the module's docstring.
    """
    last = n_active * width
    n_rows, alone = np.float64(totals[last + width]), np.float64(totals[last + feature])
    # Slices, as an index that might be negative keeps the loop from being vectorised.
    pairs, ones = totals[feature * width:(feature + 1) * width], totals[last:last + width]
    for j in range(n_active):
        both, rows_j = np.float64(pairs[j]), np.float64(ones[j])
        only_i, only_j = alone - both, rows_j - both
        neither = n_rows - alone - only_j
        bound_1[j] = max(bound_1[j], max(value_1 - only_i, value_0 - neither))
        bound_0[j] = max(bound_0[j], max(value_1 - both, value_0 - only_j))


@njit(**ADDRESSED)
def weigh_children(totals, n_active, width, weight):
    """Write what the rows of both children of each split can cost at the most.

    ``weight``, (2, N) float64, receives it by side and split; the other arguments are those of the
    module's docstring.
    """
    last = n_active * width
    whole = np.float64(totals[last + width])
    for k in range(n_active):
        weight[1, k] = np.float64(totals[last + k])
        weight[0, k] = whole - weight[1, k]


@njit(**ADDRESSED)
def bound_by_earlier_node(other, side, parent, parent_active, parent_width, feature, totals,
                          n_active, width, parent_index, other_bound_1, other_bound_0, bound_1,
                          bound_0):
    """Bound the children of a node by those of the node that another split of its parent made.

    The other node is one ``side`` of the parent's split ``other`` (int), which is split ``feature``
    here.  ``parent``, ``parent_active`` and ``parent_width`` are ``totals``, ``n_active`` and
    ``width`` of the parent, and ``parent_index``, (n_active,) int64, has the number there of each
    split.  ``other_bound_1`` and ``other_bound_0``, (N,) float64, have lower bounds on the other's
    children by that number; ``bound_1`` and ``bound_0``, (N,) float64, are raised to them less the
    weight of the rows that only the other node has.  The other arguments are those of the module's
    docstring.
    """
    last, parent_last = n_active * width, parent_active * parent_width
    cut = np.float64(parent[parent_last + other]) - np.float64(totals[last + feature])
    if side == 0:
        cut = (np.float64(parent[parent_last + parent_width]) - np.float64(totals[last + width])
               - cut)
    pairs, ones = totals[feature * width:(feature + 1) * width], totals[last:last + width]
    above = parent[other * parent_width:(other + 1) * parent_width]
    ones_above = parent[parent_last:parent_last + parent_width]
    for j in range(n_active):
        i = parent_index[j]
        cut_1 = np.float64(above[i]) - np.float64(pairs[j])
        if side == 0:
            cut_1 = np.float64(ones_above[i]) - np.float64(ones[j]) - cut_1
        bound_1[j] = max(bound_1[j], other_bound_1[i] - cut_1)
        bound_0[j] = max(bound_0[j], other_bound_0[i] - (cut - cut_1))
