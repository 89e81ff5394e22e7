"""The specialised depth-two algorithm for regression: sums of targets instead of counts (4.8.2).

Every row has a weight ``w``, a target ``y`` and the number of given rows behind it; the rows of a
node stand in the order of their targets.  ``pairs[c, i, j]`` is a sum over the rows that have
features ``i`` and ``j``: of ``w``, of ``w y`` and, where it is not the same as ``w``, of the
number.  As in classification only the smaller child of a split is summed up from its rows.

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
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from odtlib._numba.compiler import ADDRESSED, INNER
from odtlib._numba.vector import (
    _address,
    _spread,
    add_where_byte,
    load32,
    spread_like,
    store,
    zeros_like,
)

from ._kernels import (
    COUNT_PAIRS,
    IMPURITY,
    LEAF_0,
    LEAF_1,
    MERGE_COLUMNS,
    MIN_LEAF,
    N_COLUMNS,
    SPLIT_0,
    SPLIT_1,
    choose_columns,
    sum_keys,
)

N_SUMS, ABSOLUTE = 6, 7                      # further entries of ``shape``
WEIGHT, PRODUCT, NUMBER, SQUARE = range(4)   # what is summed up; of pairs, the first two or three
N_LINES = 4
# Vectors of ``sides`` that take the place of extremes: remaining weights and lower halves.
REMAINING_1, REMAINING_0, LOW_1, LOW_0 = 0, 2, 4, 6
NOTHING = 1e-13                              # costs below this share of the root's are rounding
LANES = 8
NUMBERS = ir.VectorType(ir.DoubleType(), LANES)


def _place(context, builder, signature, args, k, kind=NUMBERS):
    """Return the address of ``LANES`` elements from argument ``k``, an array, at the next one."""
    address = _address(context, builder, signature.args[k], args[k], args[k + 1])
    return builder.bitcast(address, kind.as_pointer())


@intrinsic
def take_lower_half(typing, bits, start, weight, target, remaining, at, low, low_at, without):
    """Let a row give its weight to eight leaves, up to what remains of their half.

    Leaves with the features of the row get it, or, if ``without``, those without them.
    """
    def generate(context, builder, signature, args):
        source = _place(context, builder, signature, args, 0, ir.VectorType(ir.IntType(8), LANES))
        flag = builder.trunc(args[8], ir.IntType(8))
        bytes_ = builder.xor(builder.load(source, align=1),
                             _spread(builder, flag, ir.VectorType(ir.IntType(8), LANES)))
        mask = builder.uitofp(bytes_, NUMBERS)
        given = builder.fmul(mask, _spread(builder, args[2], NUMBERS))
        place = _place(context, builder, signature, args, 4)
        rest = builder.load(place, align=8)
        share = builder.select(builder.fcmp_ordered("<", given, rest), given, rest)
        builder.store(builder.fsub(rest, share), place, align=8)
        place = _place(context, builder, signature, args, 6)
        spent = builder.fmul(share, _spread(builder, args[3], NUMBERS))
        builder.store(builder.fadd(builder.load(place, align=8), spent), place, align=8)
        return context.get_dummy_value()
    return types.void(bits, types.intp, types.float64, types.float64, remaining, types.intp, low,
                      types.intp, types.int64), generate


@njit(**ADDRESSED)
def open_sums(rows, starts, candidates, n_candidates, shared_arrays, count_arrays, active,
              column_keys, found):
    """Choose the features of a node and lay out its rows as bytes and numbers."""
    shape, row_bits, row_keys = shared_arrays[0], shared_arrays[1], shared_arrays[2]
    numbers, counts, slots = shared_arrays[3], shared_arrays[4], shared_arrays[5]
    bits, values = count_arrays[0].view(np.uint8), count_arrays[1]
    n_rows, n_columns = starts[1], shape[N_COLUMNS]
    row_bytes = n_columns // 8
    sum_keys(row_bits, row_bytes, rows, n_rows, row_keys, n_columns, column_keys)
    n_given = np.int64(0)
    for feature in range(n_columns):
        counts[feature] = 0
    for r in range(n_rows):
        row = np.int64(rows[r])
        for c in range(3):
            values[3 * r + c] = numbers[3 * row + c]
        number = np.int64(numbers[3 * row + NUMBER])
        n_given += number
        for feature in range(n_columns):
            bit = np.int64(row_bits[row * row_bytes + (feature >> 3)]) >> (feature & 7) & 1
            counts[feature] += number * bit
    kept = choose_columns(candidates, n_candidates, counts, n_given, shape[MIN_LEAF],
                          shape[MERGE_COLUMNS], column_keys, n_columns, slots, active)
    width = (kept + 31) // 32 * 32
    found[0], found[1] = kept, width
    for r in range(n_rows):
        row = np.int64(rows[r])
        line = bits[r * width:(r + 1) * width]
        for k in range(width):
            line[k] = 0
        for k in range(kept):
            feature = active[k]
            line[k] = row_bits[row * row_bytes + (feature >> 3)] >> (feature & 7) & 1


@njit(**INNER)
def add_columns(bits, values, rows, n_rows, start, width, kind, sums, first_at, second_at):
    """Sum up two amounts of some rows in registers, for the 32 columns from ``start`` on.

    ``kind`` WEIGHT: weight and product, NUMBER: number and square.  The second sum is dropped if
    ``second_at`` is negative.
    """
    zero = zeros_like(load32(sums, first_at))
    a, b = zero, zero
    for k in range(n_rows):
        r = np.int64(rows[k])
        weight, target = values[3 * r], values[3 * r + 1]
        first, second = weight, weight * target
        if kind == NUMBER:
            first, second = values[3 * r + 2], second * target
        at = r * width + start
        a = add_where_byte(a, bits, at, spread_like(zero, first))
        b = add_where_byte(b, bits, at, spread_like(zero, second))
    store(sums, first_at, a)
    if second_at >= 0:
        store(sums, second_at, b)


@njit(**INNER)
def add_rows(bits, values, n_rows, n_active, width, n_sums, feature, side, pairs, singles, chosen,
             members):
    """Sum up the rows on one side of ``feature`` (-1: all rows); return how many there are.

    ``members`` gets their positions, ``chosen`` is scratch.  Of ``pairs`` the part ``j >= i`` of
    every row ``i`` is written.
    """
    square, last = n_active * width, N_LINES * width
    for c in range(N_LINES):
        singles[last + c] = 0.0
    n_members = 0
    for r in range(n_rows):
        if feature >= 0 and bits[r * width + feature] != side:
            continue
        members[n_members] = r
        n_members += 1
        weight, target = values[3 * r], values[3 * r + 1]
        singles[last + WEIGHT] += weight
        singles[last + PRODUCT] += weight * target
        singles[last + NUMBER] += values[3 * r + 2]
        singles[last + SQUARE] += weight * target * target
    for k in range(0, width, 32):
        for kind in (WEIGHT, NUMBER):
            add_columns(bits, values, members, n_members, k, width, kind, singles,
                        kind * width + k, (kind + 1) * width + k)
    for i in range(n_active):
        n_chosen = 0
        for m in range(n_members):
            r = np.int64(members[m])
            chosen[n_chosen] = r
            n_chosen += np.int64(bits[r * width + i])
        for k in range(i // 32 * 32, n_active, 32):
            at = i * width + k
            add_columns(bits, values, chosen, n_chosen, k, width, WEIGHT, pairs, at,
                        square + at if n_sums > 1 else -1)
            if n_sums > 2:
                add_columns(bits, values, chosen, n_chosen, k, width, NUMBER, pairs,
                            2 * square + at, -1)
    return n_members


@njit(**INNER)
def mirror(pairs, n_sums, n_active, width):
    """Fill in the part ``j < i`` of sums that are symmetric."""
    for c in range(n_sums):
        for i in range(n_active):
            for j in range(i):
                at = c * n_active * width
                pairs[at + i * width + j] = pairs[at + j * width + i]


@njit(**INNER)
def squared_error(weight, product, square):
    """Return the squared error of a leaf at its mean."""
    cost = square - product * product / max(weight, 1e-300)
    return cost if cost > NOTHING else 0.0


@njit(**INNER, fastmath={"nnan", "nsz"})
def gains_of_root(weights, products, numbers, weight_of, product_of, number_of, weight_i, product_i,
                  number_i, weight, product, number, min_leaf, best_1, best_0, n):
    """Compare root ``i`` with each of ``n`` other columns; return its best gains on both sides.

    ``best_1`` and ``best_0`` are those of the others, which ``i`` may improve: the four leaves of
    two columns are the same, whichever comes first.
    """
    mine_1, mine_0 = -1.0, -1.0
    for j in range(n):
        w11, y11 = weights[j], products[j]
        w10, y10 = weight_i - w11, product_i - y11
        w01, y01 = weight_of[j] - w11, product_of[j] - y11
        w00, y00 = weight - weight_i - w01, product - product_i - y01
        n11 = numbers[j]
        n10, n01 = number_i - n11, number_of[j] - n11
        n00 = number - number_i - n01
        g11, g10 = y11 * y11 / max(w11, 1e-300), y10 * y10 / max(w10, 1e-300)
        g01, g00 = y01 * y01 / max(w01, 1e-300), y00 * y00 / max(w00, 1e-300)
        mine_1 = max(mine_1, g11 + g10 if min(n11, n10) >= min_leaf else -1.0)
        mine_0 = max(mine_0, g01 + g00 if min(n01, n00) >= min_leaf else -1.0)
        best_1[j] = max(best_1[j], g11 + g01 if min(n11, n01) >= min_leaf else -1.0)
        best_0[j] = max(best_0[j], g10 + g00 if min(n10, n00) >= min_leaf else -1.0)
    return mine_1, mine_0


@njit(**INNER)
def cost_squared(pairs, singles, n_active, width, counted, min_leaf, sides):
    """Write the squared error of both sides of every root, as leaves and split once."""
    square, last = n_active * width, N_LINES * width
    weight, product, number = singles[last], singles[last + 1], singles[last + 2]
    best_1, best_0 = sides[SPLIT_1 * width:][:width], sides[SPLIT_0 * width:][:width]
    for i in range(n_active):
        best_1[i], best_0[i] = -1.0, -1.0
    for i in range(n_active):
        first, n = i * width + i + 1, n_active - i - 1
        mine_1, mine_0 = gains_of_root(
            pairs[first:], pairs[square + first:], pairs[counted * square + first:],
            singles[i + 1:], singles[width + i + 1:], singles[2 * width + i + 1:], singles[i],
            singles[width + i], singles[2 * width + i], weight, product, number,
            np.float64(min_leaf), best_1[i + 1:], best_0[i + 1:], n)
        gain_1, gain_0 = max(best_1[i], mine_1), max(best_0[i], mine_0)
        local_index = singles[3 * width + i]
        rest = singles[last + 3] - local_index
        leaf_1 = squared_error(singles[i], singles[width + i], local_index)
        leaf_0 = squared_error(weight - singles[i], product - singles[width + i], rest)
        split_1 = local_index - gain_1 if gain_1 >= 0 else leaf_1
        split_0 = rest - gain_0 if gain_0 >= 0 else leaf_0
        sides[LEAF_1 * width + i], sides[LEAF_0 * width + i] = leaf_1, leaf_0
        best_1[i] = min(leaf_1, split_1 if split_1 > NOTHING else 0.0)
        best_0[i] = min(leaf_0, split_0 if split_0 > NOTHING else 0.0)
    return squared_error(weight, product, singles[last + 3])


@njit(**INNER)
def cost_absolute(bits, values, members, n_members, pairs, singles, n_active, width, counted,
                  min_leaf, vectors, sides):
    """Write the absolute error of both sides of every root, as leaves and split once."""
    square, last = n_active * width, N_LINES * width
    weight, product, number = singles[last], singles[last + 1], singles[last + 2]
    half, whole = 0.5 * weight, product
    for k in range(width):
        vectors[REMAINING_1 * width + k] = 0.5 * singles[k]
        vectors[REMAINING_0 * width + k] = 0.5 * (weight - singles[k])
        vectors[LOW_1 * width + k] = 0.0
        vectors[LOW_0 * width + k] = 0.0
    for m in range(n_members):
        r = np.int64(members[m])
        share = min(half, values[3 * r])
        half -= share
        whole -= 2 * share * values[3 * r + 1]
        for k in range(0, n_active, LANES):
            for without in range(2):
                take_lower_half(bits, r * width + k, values[3 * r], values[3 * r + 1], vectors,
                                (REMAINING_1 + 2 * without) * width + k, vectors,
                                (LOW_1 + 2 * without) * width + k, without)
    for i in range(n_active):
        leaf_1 = singles[width + i] - 2 * vectors[LOW_1 * width + i]
        leaf_0 = product - singles[width + i] - 2 * vectors[LOW_0 * width + i]
        sides[LEAF_1 * width + i] = leaf_1 if leaf_1 > NOTHING else 0.0
        sides[LEAF_0 * width + i] = leaf_0 if leaf_0 > NOTHING else 0.0
    for i in range(n_active):
        # Both halves of the vectors, for the rows with feature i and for those without.
        for k in range(width):
            both = pairs[i * width + k]
            vectors[REMAINING_1 * width + k] = 0.5 * (singles[k] - both)
            vectors[(REMAINING_1 + 1) * width + k] = 0.5 * both
            vectors[REMAINING_0 * width + k] = 0.5 * (weight - singles[i] - singles[k] + both)
            vectors[(REMAINING_0 + 1) * width + k] = 0.5 * (singles[i] - both)
            vectors[LOW_1 * width + k], vectors[(LOW_1 + 1) * width + k] = 0.0, 0.0
        for m in range(n_members):
            r = np.int64(members[m])
            side = np.int64(bits[r * width + i])
            weight_r, target_r = values[3 * r], values[3 * r + 1]
            for k in range(0, n_active, LANES):
                low_at = (LOW_1 + side) * width + k
                take_lower_half(bits, r * width + k, weight_r, target_r, vectors,
                                (REMAINING_1 + side) * width + k, vectors, low_at, 0)
                take_lower_half(bits, r * width + k, weight_r, target_r, vectors,
                                (REMAINING_0 + side) * width + k, vectors, low_at, 1)
        number_i, product_i = singles[2 * width + i], singles[width + i]
        split_1, split_0 = sides[LEAF_1 * width + i], sides[LEAF_0 * width + i]
        for j in range(n_active):
            n11 = pairs[counted * square + i * width + j]
            n01 = singles[2 * width + j] - n11
            if n11 >= min_leaf and number_i - n11 >= min_leaf:
                split_1 = min(split_1, product_i - 2 * vectors[(LOW_1 + 1) * width + j])
            if n01 >= min_leaf and number - number_i - n01 >= min_leaf:
                split_0 = min(split_0, product - product_i - 2 * vectors[LOW_1 * width + j])
        sides[SPLIT_1 * width + i] = split_1 if split_1 > NOTHING else 0.0
        sides[SPLIT_0 * width + i] = split_0 if split_0 > NOTHING else 0.0
    return whole if whole > NOTHING else 0.0


@njit(**INNER)
def best_sizes(leaf, sides, singles, n_active, width, min_leaf, best_by_size, place):
    """Write the least costs with 0, 1, 2 and 3 feature nodes."""
    one, two, three = leaf, leaf, leaf
    number = singles[N_LINES * width + NUMBER]
    for i in range(n_active):
        number_i = singles[NUMBER * width + i]
        if number_i < min_leaf or number - number_i < min_leaf:
            continue
        leaf_1, leaf_0 = sides[LEAF_1 * width + i], sides[LEAF_0 * width + i]
        split_1, split_0 = sides[SPLIT_1 * width + i], sides[SPLIT_0 * width + i]
        one = min(one, leaf_1 + leaf_0)
        two = min(two, min(split_1 + leaf_0, leaf_1 + split_0))
        three = min(three, split_1 + split_0)
    best_by_size[place], best_by_size[place + 1] = leaf, min(leaf, one)
    best_by_size[place + 2], best_by_size[place + 3] = min(leaf, two), min(leaf, three)


@njit(**INNER)
def cost_of_sides(shape, bits, values, members, n_members, pairs, singles, n_active, width,
                  sides):
    """Write the costs of both sides of every root; return the cost of a leaf."""
    counted = NUMBER if shape[N_SUMS] == 3 else WEIGHT
    vectors = sides[5 * width:]
    if shape[ABSOLUTE]:
        return cost_absolute(bits, values, members, n_members, pairs, singles, n_active, width,
                             counted, shape[MIN_LEAF], vectors, sides)
    return cost_squared(pairs, singles, n_active, width, counted, shape[MIN_LEAF], sides)


@njit(**INNER)
def cost_of_leaf(bits, values, n_rows, width, feature, side, absolute):
    """Return what a leaf with the rows on one side of a feature costs, from those rows alone."""
    weight, product, reached, cost = 0.0, 0.0, 0.0, 0.0
    for r in range(n_rows):
        if bits[r * width + feature] == side:
            weight += values[3 * r]
            product += values[3 * r] * values[3 * r + 1]
    centre = product / max(weight, 1e-300)
    for r in range(n_rows if absolute else 0):
        if bits[r * width + feature] == side:
            centre = values[3 * r + 1]
            reached += values[3 * r]
            if 2 * reached >= weight:
                break
    for r in range(n_rows):
        if bits[r * width + feature] == side:
            distance = abs(values[3 * r + 1] - centre)
            cost += values[3 * r] * (distance if absolute else distance * distance)
    return cost


@njit(**ADDRESSED)
def prepare_sums(starts, shared_arrays, count_arrays, totals, side_cost, best_by_size, found):
    """Sum up an open node; the form of ``_kernels.prepare_classes`` for regression."""
    shape, chosen, members = shared_arrays[0], shared_arrays[6].view(np.int32), shared_arrays[7]
    words, values, pairs, singles, sides, worst, _, _ = count_arrays
    bits = words.view(np.uint8)
    kept, width, n_rows = found[0], found[1], starts[1]
    square = kept * width
    if shape[COUNT_PAIRS] == 0:
        for j in range(kept):
            side_cost[LEAF_1, j] = cost_of_leaf(bits, values, n_rows, width, j, 1, shape[ABSOLUTE])
            side_cost[LEAF_0, j] = cost_of_leaf(bits, values, n_rows, width, j, 0, shape[ABSOLUTE])
            side_cost[IMPURITY, j] = side_cost[LEAF_0, j] + side_cost[LEAF_1, j]
        return
    # What a row can cost at the most, in the place of weights, for the similarity bound.
    least, greatest = values[1], values[3 * (n_rows - 1) + 1]
    for r in range(n_rows):
        distance = max(values[3 * r + 1] - least, greatest - values[3 * r + 1])
        loss = distance if shape[ABSOLUTE] else distance * distance
        worst[3 * r], worst[3 * r + 1], worst[3 * r + 2] = values[3 * r] * loss, 0.0, 0.0
    add_rows(bits, worst, n_rows, kept, width, 1, -1, 1, pairs, singles, chosen, members)
    mirror(pairs, 1, kept, width)
    for p in range(square):
        totals[p] = pairs[p]
    for j in range(kept):
        totals[square + j] = singles[j]
    totals[square + width] = singles[N_LINES * width]
    n_members = add_rows(bits, values, n_rows, kept, width, shape[N_SUMS], -1, 1, pairs, singles,
                         chosen, members)
    if shape[ABSOLUTE]:
        mirror(pairs, shape[N_SUMS], kept, width)
    leaf = cost_of_sides(shape, bits, values, members, n_members, pairs, singles, kept, width,
                         sides)
    for kind in (LEAF_0, LEAF_1, SPLIT_0, SPLIT_1):
        for j in range(kept):
            side_cost[kind, j] = sides[kind * width + j]
    for j in range(kept):
        side_cost[IMPURITY, j] = side_cost[LEAF_0, j] + side_cost[LEAF_1, j]
    best_sizes(leaf, sides, singles, kept, width, shape[MIN_LEAF], best_by_size, 0)


@njit(**ADDRESSED)
def children_sums(feature, side, starts, n_active, width, shared_arrays, count_arrays,
best_by_size):
    """Solve both children of ``feature`` to depth two; see ``_kernels.children_classes``."""
    shape, chosen, members = shared_arrays[0], shared_arrays[6].view(np.int32), shared_arrays[7]
    words, values, pairs, singles, sides, _, child_pairs, child_singles = count_arrays
    bits = words.view(np.uint8)
    n_rows, n_sums = starts[1], shape[N_SUMS]
    if side < 0:
        small = 2 * singles[NUMBER * width + feature] <= singles[N_LINES * width + NUMBER]
        side = 1 if small else 0
    n_members = add_rows(bits, values, n_rows, n_active, width, n_sums, feature, side, child_pairs,
                         child_singles, chosen, members)
    if shape[ABSOLUTE]:
        mirror(child_pairs, n_sums, n_active, width)
    place = 0 if side == 1 else 4
    for turn in range(2):
        leaf = cost_of_sides(shape, bits, values, members, n_members, child_pairs, child_singles,
                             n_active, width, sides)
        best_sizes(leaf, sides, child_singles, n_active, width, shape[MIN_LEAF], best_by_size,
                   place)
        if turn == 1:
            break
        place, n_members = 4 - place, 0
        for p in range(n_sums * n_active * width):
            child_pairs[p] = pairs[p] - child_pairs[p]
        for p in range(N_LINES * width + N_LINES):
            child_singles[p] = singles[p] - child_singles[p]
        for r in range(n_rows):
            members[n_members] = r
            n_members += bits[r * width + feature] != side
