"""Absolute error, whose leaves do not follow from sums: medians from the rows in their order.

A leaf costs ``sum(w y) - 2 low``, where ``low`` is the sum of ``w y`` over the lower half of its
weight.  The rows of a node stand in the order of their targets and are read once for every root;
each gives its weight to the leaf that it falls into until half of that leaf's weight is reached.  A
depth-two problem so takes ``n p^2`` steps like pairwise sums do, on vectors of leaves.

The numbers of a row are its weight and its weight times target; its target stands where other
objectives have the rows' own costs.  Arguments are those of :mod:`odtlib.murtree._sums`, where more
is said of them; arrays are flat:

- ``shape`` (int64): the constants of the search.
- ``n_rows``: int, the rows of the node; ``n_members``: int, those that count, the first ones of
  ``lists`` (int64), in the order of their targets.
- ``local_bits`` (uint8): the features of each row, ``width`` / 8 bytes; ``amounts`` (float64,
  n_lines + 2, n_rows): their lines, targets, and what each can cost at the most.
- ``n_active``, ``width``: int, the columns of the node, and the length of a line of them.
- ``pairs`` (float64, n_lines, n_active, width) and ``singles`` (float64, n_lines + 2, width; then
  the sums over all rows): the sums of the members.
- ``sides`` (float64): lines of ``width``: the costs of both sides of each root, then remaining
  weights and lower halves.
"""

from __future__ import annotations

from odtlib._numba.compiler import ADDRESSED, INNER, njit
from odtlib._numba.vector import (
    add,
    add_where,
    load8,
    minimum,
    multiply,
    read,
    spread_like,
    store,
    subtract,
    zeros_like,
)

from ._kernels import LEAF_0, LEAF_1, MIN_LEAF, SPLIT_0, SPLIT_1
from ._sums import COST, LINE_OF, N_LINES, NOTHING, NUMBER, behind, mirror

# Vectors of ``sides`` behind the costs: remaining weights and lower halves.
REMAINING_1, REMAINING_0, LOW_1, LOW_0 = 5, 7, 9, 11


@njit(**INNER)
def take_lower_half(local_bits, byte, weight, target, sides, with_offset, without_offset, width):
    """Let a row give its weight to eight leaves with its features, and to eight without.

    The features are the bits of byte ``byte`` (int) of ``local_bits``, and ``weight`` and
    ``target`` (float64) are the row's.  What remains of the leaves' halves is in ``sides`` from
    ``with_offset`` and from ``without_offset`` (int) on.  Each takes no more than that, and adds it
    up in its lower half.  ``local_bits``, ``sides`` and ``width`` are those of the module's
    docstring.
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
def cost_leaves(shape, local_bits, amounts, n_rows, lists, n_members, singles, n_active, width,
                sides):
    """Write what both sides of every root cost as leaves, and what all members cost together.

    The arguments are those of the module's docstring; ``sides`` is written.
    """
    weights, products = shape[LINE_OF], shape[LINE_OF + 1]
    last, target = (shape[N_LINES] + 2) * width, shape[N_LINES]
    weight, product = singles[last + weights], singles[last + products]
    half, whole, tiny = 0.5 * weight, product, sides[behind(shape) + NOTHING]
    for k in range(width):
        sides[REMAINING_1 * width + k] = 0.5 * singles[weights * width + k]
        sides[REMAINING_0 * width + k] = 0.5 * (weight - singles[weights * width + k])
        sides[LOW_1 * width + k] = sides[LOW_0 * width + k] = 0.0
    for m in range(n_members):
        r = read(lists, m)
        weight_r, target_r = read(amounts, weights * n_rows + r), read(amounts, target * n_rows + r)
        share = min(half, weight_r)
        half -= share
        whole -= 2 * share * target_r
        for k in range(0, n_active, 8):
            take_lower_half(local_bits, r * (width // 8) + k // 8, weight_r, target_r, sides,
                            REMAINING_1 * width + k, REMAINING_0 * width + k, width)
    for i in range(n_active):
        one = singles[products * width + i]
        leaf_1, leaf_0 = (one - 2 * sides[LOW_1 * width + i],
                          product - one - 2 * sides[LOW_0 * width + i])
        sides[LEAF_1 * width + i] = leaf_1 if leaf_1 > tiny else 0.0
        sides[LEAF_0 * width + i] = leaf_0 if leaf_0 > tiny else 0.0
    sides[behind(shape) + COST] = whole if whole > tiny else 0.0


@njit(**ADDRESSED)
def score(shape, local_bits, amounts, n_rows, lists, n_members, pairs, singles, n_active, width,
          sides):
    """Write the absolute error of both sides of every root, as leaves and split once.

    The arguments are those of the module's docstring; ``sides`` is written, and the part ``j < i``
    of each line of ``pairs``.
    """
    mirror(pairs, shape[N_LINES], n_active, width)
    cost_leaves(shape, local_bits, amounts, n_rows, lists, n_members, singles, n_active, width,
                sides)
    weights, products, numbers = shape[LINE_OF], shape[LINE_OF + 1], shape[NUMBER]
    square, last, min_leaf = n_active * width, (shape[N_LINES] + 2) * width, shape[MIN_LEAF]
    weight, product, number = (singles[last + weights], singles[last + products],
                               singles[last + numbers])
    target, tiny = shape[N_LINES] * n_rows, sides[behind(shape) + NOTHING]
    for i in range(n_active):
        weight_i = singles[weights * width + i]
        # Both halves of the vectors, for the rows with feature i and for those without.
        for k in range(width):
            both, one = pairs[weights * square + i * width + k], singles[weights * width + k]
            sides[REMAINING_1 * width + k] = 0.5 * (one - both)
            sides[(REMAINING_1 + 1) * width + k] = 0.5 * both
            sides[REMAINING_0 * width + k] = 0.5 * (weight - weight_i - one + both)
            sides[(REMAINING_0 + 1) * width + k] = 0.5 * (weight_i - both)
            sides[LOW_1 * width + k] = sides[(LOW_1 + 1) * width + k] = 0.0
            sides[LOW_0 * width + k] = sides[(LOW_0 + 1) * width + k] = 0.0
        for m in range(n_members):
            r = read(lists, m)
            row = r * (width // 8)
            side = read(local_bits, row + i // 8) >> (i & 7) & 1
            for k in range(0, n_active, 8):
                take_lower_half(local_bits, row + k // 8, read(amounts, weights * n_rows + r),
                                read(amounts, target + r), sides,
                                (REMAINING_1 + side) * width + k,
                                (REMAINING_0 + side) * width + k, width)
        number_i, product_i = singles[numbers * width + i], singles[products * width + i]
        split_1, split_0 = sides[LEAF_1 * width + i], sides[LEAF_0 * width + i]
        for j in range(n_active):
            n11 = pairs[numbers * square + i * width + j]
            n01 = singles[numbers * width + j] - n11
            low_1 = sides[(LOW_1 + 1) * width + j] + sides[(LOW_0 + 1) * width + j]
            low_0 = sides[LOW_1 * width + j] + sides[LOW_0 * width + j]
            if n11 >= min_leaf and number_i - n11 >= min_leaf:
                split_1 = min(split_1, product_i - 2 * low_1)
            if n01 >= min_leaf and number - number_i - n01 >= min_leaf:
                split_0 = min(split_0, product - product_i - 2 * low_0)
        sides[SPLIT_1 * width + i] = split_1 if split_1 > tiny else 0.0
        sides[SPLIT_0 * width + i] = split_0 if split_0 > tiny else 0.0


@njit(**ADDRESSED)
def cost_of_leaf(shape, amounts, n_rows, lists, n_members, sides):
    """Write what a leaf with the listed rows costs, from those rows alone.

    That stands behind the lines of ``sides``.  The arguments are those of the module's docstring.
    """
    weights, target = shape[LINE_OF] * n_rows, shape[N_LINES] * n_rows
    weight, reached, centre, cost = 0.0, 0.0, 0.0, 0.0
    for m in range(n_members):
        weight += amounts[weights + lists[m]]
    for m in range(n_members):
        centre = amounts[target + lists[m]]
        reached += amounts[weights + lists[m]]
        if 2 * reached >= weight:
            break
    for m in range(n_members):
        cost += amounts[weights + lists[m]] * abs(amounts[target + lists[m]] - centre)
    sides[behind(shape) + COST] = cost


@njit(**ADDRESSED)
def bound_rows(shape, amounts, n_rows, lists, n_members, sides):
    """Write what each row costs at the most where the node's targets are predicted.

    That goes into ``amounts``.  The arguments are those of the module's docstring; all rows of the
    node count.
    """
    weights, target = shape[LINE_OF] * n_rows, shape[N_LINES] * n_rows
    least, greatest = amounts[target], amounts[target + n_rows - 1]
    for r in range(n_rows):
        y = amounts[target + r]
        amounts[target + n_rows + r] = amounts[weights + r] * max(y - least, greatest - y)
