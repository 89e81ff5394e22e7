"""The specialised depth-two algorithm for regression: sums of targets instead of counts (4.8.2).

Every row has a weight ``w``, a target ``y`` and the number of given rows behind it; the rows of a
node stand in the order of their targets.  ``pairs[c, i, j]`` is a sum over the rows that have
features ``i`` and ``j``: of ``w``, of ``w y`` and, where it is not the same as ``w``, of the
number.  Where every weight is one, rows are counted, 64 at a time.  As in classification only the
smaller child of a split is summed up from its rows.

Squared error: a leaf costs ``sum(w y^2) - sum(w y)^2 / sum(w)``, so pairwise sums are enough.

Absolute error: a leaf costs ``sum(w y) - 2 low``, where ``low`` is the sum of ``w y`` over the
lower half of its weight.  The rows of a node are read in order, once for every root; each gives its
weight to the leaf that it falls into until half of that leaf's weight is reached.  A depth-two
problem so takes ``n p^2`` steps like pairwise sums do, on vectors of leaves.

Similar data sets: every tree over the rows of a node predicts, wherever it matters, a value between
the least and the greatest target of the node, so a row that is missing in a similar data set
explains at most its loss at the farther of the two.  The sum of these takes the place of the
number of rows in Proposition 9.

What is left of a sum when a larger one is subtracted may be rounding only, where weights are very
uneven.  Without pairwise sums (``COUNT_PAIRS``) nothing is subtracted: each leaf is summed up from
its own rows, and the search splits the rows down to depth one.

All functions take arrays and fill arrays; nothing is checked.
"""

from __future__ import annotations

import numpy as np

from odtlib._numba.compiler import ADDRESSED, INNER, njit
from odtlib._numba.vector import (
    add,
    add_where,
    bitwise_and,
    divide,
    keep_where_enough,
    largest_float,
    load8,
    load32,
    load64,
    lowest_bit,
    maximum,
    minimum,
    multiply,
    popcount,
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
    SPLIT_0,
    SPLIT_1,
    best_sizes,
    pack_rows,
)
from ._weights import open_rows

# Entries of ``shape`` in place of the weights of classes.  N_SUMS: how many of the first lines
# below are summed up for pairs; 1 where every weight is one.
N_SUMS, ABSOLUTE = 6, 7
# Lines of ``amounts``, with a number for each row of a node, and, but for the last, of ``singles``.
WEIGHT, PRODUCT, NUMBER, SQUARE, WORST, TARGET = range(6)
N_LINES = 5
# Vectors of ``sides`` that take the place of extremes: remaining weights and lower halves.
REMAINING_1, REMAINING_0, LOW_1, LOW_0 = 5, 7, 9, 11
NOTHING = 1e-13                              # costs below this share of the root's are rounding


@njit(**ADDRESSED)
def open_sums(rows, starts, candidates, n_candidates, keys_from_rows, shared_arrays, count_arrays,
              active, column_keys, node_shape):
    """Choose the features of a node and lay out its rows as bits and numbers."""
    n_rows, numbers, local_bits = starts[1], shared_arrays[3], shared_arrays[6]
    blocks, amounts, lists = count_arrays[0], count_arrays[1], count_arrays[5]
    open_rows(rows, n_rows, np.int64(3), candidates, n_candidates, keys_from_rows, shared_arrays,
              active, column_keys, node_shape)
    for r in range(n_rows):
        row = np.int64(rows[r])
        weight, target = numbers[3 * row], numbers[3 * row + 1]
        amounts[WEIGHT * n_rows + r] = weight
        amounts[PRODUCT * n_rows + r] = weight * target
        amounts[NUMBER * n_rows + r] = numbers[3 * row + 2]
        amounts[SQUARE * n_rows + r] = weight * target * target
        amounts[TARGET * n_rows + r] = target
        lists[r] = r
    width = node_shape[1]
    pack_rows(local_bits, width // 8, lists, np.int64(0), n_rows, blocks, width, np.int64(0))


@njit(**INNER)
def list_bits(words, first_word, n_words, lists, start):
    """List the positions of the set bits of some words; return the end of the list."""
    for word in range(n_words):
        bits = read(words, first_word + word)
        while bits != 0:
            lists[start] = 64 * word + lowest_bit(bits)
            start += 1
            bits &= bits - 1
    return start


@njit(**INNER)
def list_members(blocks, width, n_rows, feature, side, lists):
    """List the rows on one side of ``feature`` (-1: all rows); return how many there are.

    ``lists`` has room for two lists of rows; behind them come the bits of the members.
    """
    for word in range((n_rows + 63) // 64):
        size = n_rows - 64 * word
        bits = (np.int64(1) << size) - 1 if size < 64 else np.int64(-1)
        if feature >= 0:
            bits &= read(blocks, word * width + feature) ^ np.int64(side - 1)
        lists[2 * n_rows + word] = bits
    return list_bits(lists, 2 * n_rows, (n_rows + 63) // 64, lists, np.int64(0))


@njit(**INNER)
def list_common(blocks, width, n_rows, i, lists, start):
    """List the members with column ``i``, or those without it if they are fewer.

    Return the end of the list, and whether it has those without.  Behind the bits of the members
    come those of the members with the column.
    """
    n_words, inside, ones = (n_rows + 63) // 64, 2 * n_rows, np.int64(0)
    common = inside + n_words
    for word in range(n_words):
        bits = read(lists, inside + word) & read(blocks, word * width + i)
        lists[common + word] = bits
        ones += popcount(np.uint64(bits))
    if 2 * ones <= start:
        return list_bits(lists, common, n_words, lists, start), False
    for word in range(n_words):
        lists[common + n_words + word] = read(lists, common + word) ^ read(lists, inside + word)
    return list_bits(lists, common + n_words, n_words, lists, start), True


@njit(**INNER)
def sum_listed(zero, local_bits, amounts, line, lists, start, stop, first, width):
    """Return the sums of a line of amounts over listed rows, for the columns from ``first`` on."""
    total, row_bytes, byte = zero, np.int64(width // 8), np.int64(first // 8)
    for k in range(start, stop):
        row = read(lists, k)
        total = add_where(total, local_bits, row * row_bytes + byte,
                          spread_like(zero, read(amounts, line + row)))
    return total


@njit(**INNER)
def count_members(blocks, lists, first_word, n_rows, first, width):
    """Count the rows of a bit set, for 32 columns from ``first`` on."""
    count = zeros_like(load32(blocks, 0))
    for word in range((n_rows + 63) // 64):
        count = add(count, population_count(bitwise_and(
            spread_like(count, read(lists, first_word + word)),
            load32(blocks, word * width + first))))
    return to_floats(count)


@njit(**INNER)
def add_singles(local_bits, blocks, amounts, n_rows, begin, end, counted, lists, n_members, width,
                singles):
    """Sum up some lines of amounts over the members, for each column and in all.

    ``counted`` tells that weight and number are one for every row.
    """
    zero = zeros_like(load32(singles, 0))
    for c in range(begin, end):
        total = 0.0
        for m in range(n_members):
            total += read(amounts, c * n_rows + read(lists, m))
        singles[N_LINES * width + c] = total
        for first in range(0, width, 32):
            if counted and (c == WEIGHT or c == NUMBER):
                sums = count_members(blocks, lists, 2 * n_rows, n_rows, first, width)
            else:
                sums = sum_listed(zero, local_bits, amounts, c * n_rows, lists, np.int64(0),
                                  n_members, first, width)
            store(singles, c * width + first, sums)


@njit(**INNER)
def add_pairs(local_bits, blocks, amounts, n_rows, begin, end, counted, lists, n_members, n_active,
              width, singles, pairs):
    """Sum up some lines of amounts over the members, for each pair of columns.

    Of each line of ``pairs`` the part ``j >= i`` of every row ``i`` is written.  With ``counted``
    the line of the weights is not summed up but counted.
    """
    square, right = n_active * width, (n_active + 7) // 8 * 8
    zero, zero64 = zeros_like(load32(singles, 0)), zeros_like(load64(singles, 0))
    for i in range(n_active):
        stop, without = list_common(blocks, width, n_rows, i, lists, n_members)
        for c in range(begin, end):
            base = (c - begin) * square + i * width
            first = right
            while first > i:
                if counted and c == WEIGHT:
                    first = max(first - 32, 0)
                    common = 2 * n_rows + (n_rows + 63) // 64
                    store(pairs, base + first,
                          count_members(blocks, lists, common, n_rows, first, width))
                elif first - i > 32 and first >= 64:
                    first -= 64
                    total = sum_listed(zero64, local_bits, amounts, c * n_rows, lists, n_members,
                                       stop, first, width)
                    if without:
                        total = subtract(load64(singles, c * width + first), total)
                    store(pairs, base + first, total)
                else:
                    first = max(first - 32, 0)
                    total = sum_listed(zero, local_bits, amounts, c * n_rows, lists, n_members,
                                       stop, first, width)
                    if without:
                        total = subtract(load32(singles, c * width + first), total)
                    store(pairs, base + first, total)


@njit(**INNER)
def add_rows(shape, local_bits, blocks, amounts, n_rows, lists, n_members, n_active, width, pairs,
             singles):
    """Sum up the members: what their leaves cost comes from ``pairs`` and ``singles``."""
    counted = shape[N_SUMS] == 1
    add_singles(local_bits, blocks, amounts, n_rows, WEIGHT, WORST, counted, lists, n_members,
                width, singles)
    add_pairs(local_bits, blocks, amounts, n_rows, WEIGHT, max(shape[N_SUMS], 2), counted, lists,
              n_members, n_active, width, singles, pairs)


@njit(**INNER)
def mirror(pairs, n_sums, n_active, width):
    """Fill in the part ``j < i`` of sums that are symmetric."""
    for c in range(n_sums):
        for i in range(n_active):
            for j in range(i):
                offset = c * n_active * width
                pairs[offset + i * width + j] = pairs[offset + j * width + i]


@njit(**INNER)
def squared_error(weight, product, square):
    """Return the squared error of a leaf at its mean."""
    cost = square - product * product / max(weight, 1e-300)
    return cost if cost > NOTHING else 0.0


@njit(**INNER)
def cost_squared(pairs, singles, n_active, width, counted, min_leaf, sides):
    """Write the squared error of both sides of every root, as leaves and split once.

    Two columns have the same four leaves whichever comes first, so column ``i`` is compared with
    those from ``i`` on, eight at a time.  What a leaf saves is its product, squared, by its weight.
    """
    square, last = n_active * width, N_LINES * width
    weight, product, number = singles[last], singles[last + 1], singles[last + 2]
    best_1, best_0 = SPLIT_1 * width, SPLIT_0 * width
    zero = zeros_like(load8(pairs, 0))
    tiny, bound = spread_like(zero, 1e-300), spread_like(zero, np.float64(min_leaf))
    for k in range(0, width, 8):
        store(sides, best_1 + k, zero)
        store(sides, best_0 + k, zero)
    for i in range(n_active):
        w1, y1 = spread_like(zero, singles[i]), spread_like(zero, singles[width + i])
        w0 = spread_like(zero, weight - singles[i])
        y0 = spread_like(zero, product - singles[width + i])
        n1 = spread_like(zero, singles[2 * width + i])
        n0 = spread_like(zero, number - singles[2 * width + i])
        mine_1, mine_0 = zero, zero
        for k in range(i // 8 * 8, n_active, 8):
            offset = i * width + k
            w11, y11 = load8(pairs, offset), load8(pairs, square + offset)
            n11 = load8(pairs, counted * square + offset)
            w10, y10, n10 = subtract(w1, w11), subtract(y1, y11), subtract(n1, n11)
            w01 = subtract(load8(singles, k), w11)
            y01 = subtract(load8(singles, width + k), y11)
            n01 = subtract(load8(singles, 2 * width + k), n11)
            w00, y00, n00 = subtract(w0, w01), subtract(y0, y01), subtract(n0, n01)
            g11 = divide(multiply(y11, y11), maximum(w11, tiny))
            g10 = divide(multiply(y10, y10), maximum(w10, tiny))
            g01 = divide(multiply(y01, y01), maximum(w01, tiny))
            g00 = divide(multiply(y00, y00), maximum(w00, tiny))
            mine_1 = maximum(mine_1, keep_where_enough(add(g11, g10), n11, n10, bound))
            mine_0 = maximum(mine_0, keep_where_enough(add(g01, g00), n01, n00, bound))
            store(sides, best_1 + k, maximum(load8(sides, best_1 + k), keep_where_enough(
                add(g11, g01), n11, n01, bound)))
            store(sides, best_0 + k, maximum(load8(sides, best_0 + k), keep_where_enough(
                add(g10, g00), n10, n00, bound)))
        sides[best_1 + i] = max(sides[best_1 + i], largest_float(mine_1))
        sides[best_0 + i] = max(sides[best_0 + i], largest_float(mine_0))
    for i in range(n_active):
        inside = singles[3 * width + i]
        outside = singles[last + 3] - inside
        leaf_1 = squared_error(singles[i], singles[width + i], inside)
        leaf_0 = squared_error(weight - singles[i], product - singles[width + i], outside)
        split_1, split_0 = inside - sides[best_1 + i], outside - sides[best_0 + i]
        sides[LEAF_1 * width + i], sides[LEAF_0 * width + i] = leaf_1, leaf_0
        sides[best_1 + i] = min(leaf_1, split_1 if split_1 > NOTHING else 0.0)
        sides[best_0 + i] = min(leaf_0, split_0 if split_0 > NOTHING else 0.0)
    return squared_error(weight, product, singles[last + 3])


@njit(**INNER)
def take_lower_half(local_bits, byte, weight, target, sides, with_offset, without_offset, width):
    """Let a row give its weight to eight leaves with its features, and to eight without.

    Each takes no more than what remains of its half, and adds it up in its lower half.
    """
    zero, low = zeros_like(load8(sides, with_offset)), (LOW_1 - REMAINING_1) * width
    inside = add_where(zero, local_bits, byte, spread_like(zero, weight))
    outside, target_of_all = subtract(spread_like(zero, weight), inside), spread_like(zero, target)
    rest = load8(sides, with_offset)
    share = minimum(inside, rest)
    store(sides, with_offset, subtract(rest, share))
    store(sides, with_offset + low, add(load8(sides, with_offset + low),
                                        multiply(share, target_of_all)))
    rest = load8(sides, without_offset)
    share = minimum(outside, rest)
    store(sides, without_offset, subtract(rest, share))
    store(sides, without_offset + low, add(load8(sides, without_offset + low),
                                           multiply(share, target_of_all)))


@njit(**INNER)
def cost_absolute(local_bits, amounts, n_rows, lists, n_members, pairs, singles, n_active, width,
                  counted, min_leaf, sides):
    """Write the absolute error of both sides of every root, as leaves and split once."""
    square, last = n_active * width, N_LINES * width
    weight, product, number = singles[last], singles[last + 1], singles[last + 2]
    half, whole = 0.5 * weight, product
    for k in range(width):
        sides[REMAINING_1 * width + k] = 0.5 * singles[k]
        sides[REMAINING_0 * width + k] = 0.5 * (weight - singles[k])
        sides[LOW_1 * width + k] = sides[LOW_0 * width + k] = 0.0
    for m in range(n_members):
        r = read(lists, m)
        weight_r, target_r = read(amounts, r), read(amounts, TARGET * n_rows + r)
        share = min(half, weight_r)
        half -= share
        whole -= 2 * share * target_r
        for k in range(0, n_active, 8):
            take_lower_half(local_bits, r * (width // 8) + k // 8, weight_r, target_r, sides,
                            REMAINING_1 * width + k, REMAINING_0 * width + k, width)
    for i in range(n_active):
        leaf_1 = singles[width + i] - 2 * sides[LOW_1 * width + i]
        leaf_0 = product - singles[width + i] - 2 * sides[LOW_0 * width + i]
        sides[LEAF_1 * width + i] = leaf_1 if leaf_1 > NOTHING else 0.0
        sides[LEAF_0 * width + i] = leaf_0 if leaf_0 > NOTHING else 0.0
    for i in range(n_active):
        # Both halves of the vectors, for the rows with feature i and for those without.
        for k in range(width):
            both = pairs[i * width + k]
            sides[REMAINING_1 * width + k] = 0.5 * (singles[k] - both)
            sides[(REMAINING_1 + 1) * width + k] = 0.5 * both
            sides[REMAINING_0 * width + k] = 0.5 * (weight - singles[i] - singles[k] + both)
            sides[(REMAINING_0 + 1) * width + k] = 0.5 * (singles[i] - both)
            sides[LOW_1 * width + k] = sides[(LOW_1 + 1) * width + k] = 0.0
            sides[LOW_0 * width + k] = sides[(LOW_0 + 1) * width + k] = 0.0
        for m in range(n_members):
            r = read(lists, m)
            row = r * (width // 8)
            side = read(local_bits, row + i // 8) >> (i & 7) & 1
            for k in range(0, n_active, 8):
                take_lower_half(local_bits, row + k // 8, read(amounts, r),
                                read(amounts, TARGET * n_rows + r), sides,
                                (REMAINING_1 + side) * width + k,
                                (REMAINING_0 + side) * width + k, width)
        number_i, product_i = singles[2 * width + i], singles[width + i]
        split_1, split_0 = sides[LEAF_1 * width + i], sides[LEAF_0 * width + i]
        for j in range(n_active):
            n11 = pairs[counted * square + i * width + j]
            n01 = singles[2 * width + j] - n11
            low_1 = sides[(LOW_1 + 1) * width + j] + sides[(LOW_0 + 1) * width + j]
            low_0 = sides[LOW_1 * width + j] + sides[LOW_0 * width + j]
            if n11 >= min_leaf and number_i - n11 >= min_leaf:
                split_1 = min(split_1, product_i - 2 * low_1)
            if n01 >= min_leaf and number - number_i - n01 >= min_leaf:
                split_0 = min(split_0, product - product_i - 2 * low_0)
        sides[SPLIT_1 * width + i] = split_1 if split_1 > NOTHING else 0.0
        sides[SPLIT_0 * width + i] = split_0 if split_0 > NOTHING else 0.0
    return whole if whole > NOTHING else 0.0


@njit(**INNER)
def score(shape, local_bits, amounts, n_rows, lists, n_members, pairs, singles, n_active, width,
          sides, best_by_size, child_offset):
    """Write the costs of both sides of every root, as leaves and split once, and the least ones."""
    counted, min_leaf = NUMBER if shape[N_SUMS] == 3 else WEIGHT, shape[MIN_LEAF]
    if shape[ABSOLUTE]:
        mirror(pairs, shape[N_SUMS], n_active, width)
        leaf = cost_absolute(local_bits, amounts, n_rows, lists, n_members, pairs, singles,
                             n_active, width, counted, min_leaf, sides)
    else:
        leaf = cost_squared(pairs, singles, n_active, width, counted, min_leaf, sides)
    best_sizes(leaf, sides, singles, NUMBER * width, singles[N_LINES * width + NUMBER], n_active,
               width, min_leaf, best_by_size, child_offset)


@njit(**INNER)
def cost_of_leaf(amounts, n_rows, lists, n_members, absolute):
    """Return what a leaf with the listed rows costs, from those rows alone."""
    weight, product, reached, cost = 0.0, 0.0, 0.0, 0.0
    for m in range(n_members):
        r = lists[m]
        weight += amounts[r]
        product += amounts[r] * amounts[TARGET * n_rows + r]
    centre = product / max(weight, 1e-300)
    for m in range(n_members if absolute else 0):
        r = lists[m]
        centre = amounts[TARGET * n_rows + r]
        reached += amounts[r]
        if 2 * reached >= weight:
            break
    for m in range(n_members):
        r = lists[m]
        distance = abs(amounts[TARGET * n_rows + r] - centre)
        cost += amounts[r] * (distance if absolute else distance * distance)
    return cost


@njit(**ADDRESSED)
def prepare_sums(starts, shared_arrays, count_arrays, totals, side_cost, best_by_size, node_shape):
    """Sum up an open node; the form of ``_kernels.prepare_classes`` for regression."""
    shape, local_bits = shared_arrays[0], shared_arrays[6]
    blocks, amounts, pairs, singles, sides, lists, _, _ = count_arrays
    kept, width, n_rows = node_shape[0], node_shape[1], starts[1]
    absolute = shape[ABSOLUTE]
    if shape[COUNT_PAIRS] == 0:
        for j in range(kept):
            for side in range(2):
                n_members = list_members(blocks, width, n_rows, j, side, lists)
                side_cost[LEAF_1 if side == 1 else LEAF_0, j] = cost_of_leaf(
                    amounts, n_rows, lists, n_members, absolute)
            side_cost[IMPURITY, j] = side_cost[LEAF_0, j] + side_cost[LEAF_1, j]
        return
    # What a row can cost at the most, in the place of weights, for the similarity bound.
    least, greatest = amounts[TARGET * n_rows], amounts[TARGET * n_rows + n_rows - 1]
    for r in range(n_rows):
        target = amounts[TARGET * n_rows + r]
        distance = max(target - least, greatest - target)
        amounts[WORST * n_rows + r] = amounts[r] * (distance if absolute else distance * distance)
    n_members = list_members(blocks, width, n_rows, np.int64(-1), np.int64(1), lists)
    add_singles(local_bits, blocks, amounts, n_rows, WORST, TARGET, False, lists, n_members, width,
                singles)
    add_pairs(local_bits, blocks, amounts, n_rows, WORST, TARGET, False, lists, n_members, kept,
              width, singles, totals)
    mirror(totals, np.int64(1), kept, width)
    for j in range(kept):
        totals[kept * width + j] = singles[WORST * width + j]
    totals[kept * width + width] = singles[N_LINES * width + WORST]
    add_rows(shape, local_bits, blocks, amounts, n_rows, lists, n_members, kept, width, pairs,
             singles)
    score(shape, local_bits, amounts, n_rows, lists, n_members, pairs, singles, kept, width, sides,
          best_by_size, np.int64(0))
    for kind in (LEAF_0, LEAF_1, SPLIT_0, SPLIT_1):
        for j in range(kept):
            side_cost[kind, j] = sides[kind * width + j]
    for j in range(kept):
        side_cost[IMPURITY, j] = side_cost[LEAF_0, j] + side_cost[LEAF_1, j]


@njit(**ADDRESSED)
def children_sums(feature, side, starts, n_active, width, shared_arrays, count_arrays,
                  best_by_size):
    """Solve both children of ``feature`` to depth two; see ``_kernels.children_classes``."""
    shape, local_bits = shared_arrays[0], shared_arrays[6]
    blocks, amounts, pairs, singles, sides, lists, child_pairs, child_singles = count_arrays
    n_rows = starts[1]
    if side < 0:
        small = 2 * singles[NUMBER * width + feature] <= singles[N_LINES * width + NUMBER]
        side = 1 if small else 0
    n_members = list_members(blocks, width, n_rows, feature, side, lists)
    add_rows(shape, local_bits, blocks, amounts, n_rows, lists, n_members, n_active, width,
             child_pairs, child_singles)
    child_offset = np.int64(0 if side == 1 else 4)
    for turn in range(2):
        score(shape, local_bits, amounts, n_rows, lists, n_members, child_pairs, child_singles,
              n_active, width, sides, best_by_size, child_offset)
        if turn == 1:
            break
        child_offset = 4 - child_offset
        for p in range(0, max(shape[N_SUMS], 2) * n_active * width, 32):
            store(child_pairs, p, subtract(load32(pairs, p), load32(child_pairs, p)))
        for p in range(N_LINES * width + N_LINES):
            child_singles[p] = singles[p] - child_singles[p]
        if shape[ABSOLUTE]:
            n_members = list_members(blocks, width, n_rows, feature, 1 - side, lists)
