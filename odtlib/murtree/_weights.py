"""The specialised depth-two algorithm on sums of weights.

Frequency counts become sums: ``pairs[c, i, j]`` is the weight of the rows of class ``c`` that have
features ``i`` and ``j``; a last channel counts rows, for the minimum leaf size.  The sums are
collected row by row over the features that the row has (Proposition 4), and again only for the
smaller child.  Integer weights give exact sums as long as they stay below 2^53.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from odtlib._numba.compiler import ADDRESSED, INNER

from ._kernels import (
    IMPURITY,
    LEAF_0,
    LEAF_1,
    MERGE_COLUMNS,
    MIN_LEAF,
    N_CLASSES,
    N_COLUMNS,
    SPLIT_0,
    SPLIT_1,
    choose_columns,
    sum_keys,
)


@njit(**INNER)
def add_rows(local_bits, local_weights, class_start, n_active, width, n_classes, feature, side,
             pairs, singles, present):
    """Sum weights and row counts over the rows on one side of ``feature`` (-1: over all rows)."""
    row_bytes = width // 8
    square = n_active * width
    for p in range((n_classes + 1) * square):
        pairs[p] = 0.0
    for p in range((n_classes + 1) * width + n_classes + 1):
        singles[p] = 0.0
    last = (n_classes + 1) * width               # singles[last + c]: all weight of class c
    for c in range(n_classes):
        for r in range(class_start[c], class_start[c + 1]):
            if feature >= 0:
                bit = np.int64(local_bits[r * row_bytes + (feature >> 3)]) >> (feature & 7) & 1
                if bit != side:
                    continue
            weight, count = local_weights[2 * r], local_weights[2 * r + 1]
            n_present = 0
            for k in range(n_active):
                present[n_present] = k
                n_present += np.int64(local_bits[r * row_bytes + (k >> 3)]) >> (k & 7) & 1
            singles[last + c] += weight
            singles[last + n_classes] += count
            for a in range(n_present):
                i = present[a]
                singles[c * width + i] += weight
                singles[n_classes * width + i] += count
                for b in range(n_present):
                    pairs[c * square + i * width + present[b]] += weight
                    pairs[n_classes * square + i * width + present[b]] += count


@njit(**INNER)
def best_sides(j, pairs, singles, n_active, width, n_classes, min_leaf):
    """Return the best correct weight of both sides of root ``j``, as leaves and split once."""
    square, last = n_active * width, (n_classes + 1) * width
    leaf_1, leaf_0 = 0.0, 0.0
    for c in range(n_classes):
        x = singles[c * width + j]
        leaf_1, leaf_0 = max(leaf_1, x), max(leaf_0, singles[last + c] - x)
    split_1, split_0 = leaf_1, leaf_0
    rows, rows_j = singles[last + n_classes], singles[n_classes * width + j]
    for i in range(n_active):
        rows_i = singles[n_classes * width + i]
        both = pairs[n_classes * square + i * width + j]
        m11, m10, m01, m00 = 0.0, 0.0, 0.0, 0.0
        for c in range(n_classes):
            x, y = singles[c * width + j], singles[c * width + i]
            count = pairs[c * square + i * width + j]
            m11, m10 = max(m11, count), max(m10, x - count)
            m01, m00 = max(m01, y - count), max(m00, singles[last + c] - x - y + count)
        if both >= min_leaf and rows_j - both >= min_leaf:
            split_1 = max(split_1, m11 + m10)
        if rows_i - both >= min_leaf and rows - rows_i - rows_j + both >= min_leaf:
            split_0 = max(split_0, m01 + m00)
    return leaf_1, leaf_0, split_1, split_0


@njit(**INNER)
def best_sizes(pairs, singles, n_active, width, n_classes, min_leaf, best_by_size, place):
    """Write the best scores with 0, 1, 2 and 3 feature nodes."""
    last = (n_classes + 1) * width
    total, most = 0.0, 0.0
    for c in range(n_classes):
        total += singles[last + c]
        most = max(most, singles[last + c])
    one, two, three = most, most, most
    rows = singles[last + n_classes]
    for j in range(n_active):
        rows_j = singles[n_classes * width + j]
        if rows_j < min_leaf or rows - rows_j < min_leaf:
            continue
        leaf_1, leaf_0, split_1, split_0 = best_sides(j, pairs, singles, n_active, width,
                                                      n_classes, min_leaf)
        one = max(one, leaf_1 + leaf_0)
        two = max(two, max(split_1 + leaf_0, leaf_1 + split_0))
        three = max(three, split_1 + split_0)
    best_by_size[place], best_by_size[place + 1] = total - most, total - one
    best_by_size[place + 2], best_by_size[place + 3] = total - two, total - three


@njit(**ADDRESSED)
def open_node(rows, class_start, candidates, n_candidates, shared_arrays, count_arrays, active,
              column_keys, found):
    """Choose the features of a node; the form of ``_kernels.open_node`` for weights.

    The weights are those of every distinct row, each with its number of original rows.
    """
    shape, row_bits, row_keys, row_weights, counts, slots, local_bits, _, _, _ = shared_arrays
    _, local_weights, _, _, _, _, _, _ = count_arrays
    n_classes, n_columns, min_leaf = shape[N_CLASSES], shape[N_COLUMNS], shape[MIN_LEAF]
    row_bytes = n_columns // 8
    n_rows = class_start[n_classes]
    sum_keys(row_bits, row_bytes, rows, n_rows, row_keys, n_columns, column_keys)
    n_original = np.int64(0)
    for feature in range(n_columns):
        counts[feature] = 0
    for r in range(n_rows):
        row = np.int64(rows[r])
        local_weights[2 * r], local_weights[2 * r + 1] = (row_weights[2 * row],
                                                          row_weights[2 * row + 1])
        number = np.int64(row_weights[2 * row + 1])
        n_original += number
        for feature in range(n_columns):
            bit = np.int64(row_bits[row * row_bytes + (feature >> 3)]) >> (feature & 7) & 1
            counts[feature] += number * bit
    kept = choose_columns(candidates, n_candidates, counts, n_original, min_leaf,
                          shape[MERGE_COLUMNS], column_keys, n_columns, slots, active)
    width = (kept + 31) // 32 * 32
    found[0], found[1] = kept, width
    for r in range(n_rows):
        row = np.int64(rows[r])
        for byte in range(width // 8):
            bits = 0
            for k in range(8 * byte, min(8 * byte + 8, kept)):
                feature = active[k]
                bits |= (np.int64(row_bits[row * row_bytes + (feature >> 3)]) >> (feature & 7)
                         & 1) << (k & 7)
            local_bits[r * (width // 8) + byte] = bits


@njit(**ADDRESSED)
def prepare(class_start, shared_arrays, count_arrays, totals, side_cost, best_by_size, found):
    """Sum up an open node; the weighted form of ``_kernels.prepare_classes``."""
    shape, _, _, _, counts, _, local_bits, _, _, _ = shared_arrays
    _, local_weights, pairs, singles, _, _, _, _ = count_arrays
    n_classes, min_leaf = shape[N_CLASSES], shape[MIN_LEAF]
    kept, width = found[0], found[1]
    add_rows(local_bits, local_weights, class_start, kept, width, n_classes, -1, 1, pairs,
             singles, counts)
    square, last = kept * width, (n_classes + 1) * width
    weight = 0.0
    for c in range(n_classes):
        weight += singles[last + c]
    for p in range(square):
        total = 0.0
        for c in range(n_classes):
            total += pairs[c * square + p]
        totals[p] = total
    for j in range(kept):
        total, square_1, square_0 = 0.0, 0.0, 0.0
        for c in range(n_classes):
            x = singles[c * width + j]
            total += x
            square_1 += x * x
            square_0 += (singles[last + c] - x) ** 2
        totals[square + j] = total
        leaf_1, leaf_0, split_1, split_0 = best_sides(j, pairs, singles, kept, width, n_classes,
                                                      min_leaf)
        side_cost[LEAF_1, j], side_cost[LEAF_0, j] = total - leaf_1, weight - total - leaf_0
        side_cost[SPLIT_1, j], side_cost[SPLIT_0, j] = total - split_1, weight - total - split_0
        side_cost[IMPURITY, j] = (weight - square_1 / max(total, 1e-300)
                                  - square_0 / max(weight - total, 1e-300))
    totals[square + width] = weight
    best_sizes(pairs, singles, kept, width, n_classes, min_leaf, best_by_size, 0)


@njit(**ADDRESSED)
def children(feature, side, class_start, n_active, width, shared_arrays, count_arrays,
best_by_size):
    """Solve both children of ``feature`` to depth two; see ``children_classes``."""
    shape, _, _, _, counts, _, local_bits, _, _, _ = shared_arrays
    _, local_weights, pairs, singles, _, _, child_pairs, child_singles = count_arrays
    n_classes, min_leaf = shape[N_CLASSES], shape[MIN_LEAF]
    last = (n_classes + 1) * width
    if side < 0:
        side = 1 if 2 * singles[n_classes * width + feature] <= singles[last + n_classes] else 0
    add_rows(local_bits, local_weights, class_start, n_active, width, n_classes, feature, side,
             child_pairs, child_singles, counts)
    place = 0 if side == 1 else 4
    best_sizes(child_pairs, child_singles, n_active, width, n_classes, min_leaf, best_by_size,
               place)
    for p in range((n_classes + 1) * n_active * width):
        child_pairs[p] = pairs[p] - child_pairs[p]
    for p in range(last + n_classes + 1):
        child_singles[p] = singles[p] - child_singles[p]
    best_sizes(child_pairs, child_singles, n_active, width, n_classes, min_leaf, best_by_size,
               4 - place)
