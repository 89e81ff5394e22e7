"""Compiled depth-limited CART on part of presorted rows (private: no validation)."""

from typing import NamedTuple

import numpy as np

from odtlib._numba.compiler import njit

TIE = 1e-12   # purities that differ by less, relatively, are equal up to rounding
OPEN, LAST = 0, 1


class Sorted(NamedTuple):
    """The rows by their rank in each feature, upwards or downwards.

    The last group of equal ranks begins at ``length[f]`` and is never visited, because what is on
    its side follows from the whole.
    """

    order: np.ndarray           # (n_features, n_rows)
    ranks: np.ndarray           # of these rows
    length: np.ndarray          # (n_features,)


class Scratch(NamedTuple):
    """Work of a tree: per row, per class and node, and per node of a level."""

    code: np.ndarray            # (n_rows,): node and class of the row
    total: np.ndarray           # weight of each class at each node
    swept: np.ndarray           # of it, what the sweep has passed
    size: np.ndarray            # weight at each node
    state: np.ndarray           # (width, 2): whether the node is open, the last rank seen
    purity: np.ndarray          # of the node's best cut


@njit(cache=True, nogil=True)
def grow(by_rank, ranks, labels, weights, shift, n_classes, max_depth, node, split, scratch):
    """Grow one tree by Gini impurity on the rows with ``node[row] == 0``, level by level.

    One pass over the rows ``by_rank``, a :class:`Sorted`, evaluates every cut of a feature at all
    nodes of a level.  Rows have ``ranks``, (n_features, n_rows) int32; ``labels``, (n_rows,) int32,
    one of ``n_classes`` each; and ``weights``, (n_rows,) int64, so that sums are exact.  ``shift``
    is the number of bits of a class in the ``scratch``, a :class:`Scratch`, and ``max_depth`` that
    of the tree, at least 1. ``node``, (n_rows,) int32, says which node of the current level,
    counted from the left, a row is in, or -1.  ``split[j]``, (2 ** max_depth - 1, 3) int64,
    receives, for node ``j`` in heap order, the feature and the two neighbouring ranks that the cut
    separates; feature -1 where the node is a leaf.  Of equally pure cuts the one with the smallest
    feature, then the smallest rank, is kept.
    """
    order, sorted_ranks, length = by_rank
    code, total, swept, size, state, best = scratch
    n_features, n_rows = ranks.shape
    split[:, 0] = -1
    for depth in range(max_depth):
        width = 1 << depth
        first = width - 1
        total[:width << shift] = 0
        size[:width] = 0
        for row in range(n_rows):
            if node[row] >= 0:
                total[(node[row] << shift) + labels[row]] += weights[row]
                size[node[row]] += weights[row]
        any_open = False
        for m in range(width):
            best[m] = 0.0
            largest = total[m << shift]
            for c in range(1, n_classes):
                largest = max(largest, total[(m << shift) + c])
            state[m, OPEN] = largest < size[m]      # a pure node stays a leaf
            any_open = any_open or largest < size[m]
        if not any_open:
            return
        for row in range(n_rows):
            if node[row] >= 0 and state[node[row], OPEN] == 0:
                node[row] = -1
            code[row] = (node[row] << shift) + labels[row] if node[row] >= 0 else -1
        for f in range(n_features):
            if length[f] == 0:
                continue
            swept[:width << shift] = 0
            for m in range(width):
                state[m, LAST] = -1
            upwards = sorted_ranks[f, 0] < sorted_ranks[f, n_rows - 1]
            # after the rows, one step per node for the cut before the last group
            for i in range(length[f] + width):
                if i < length[f]:
                    row = order[f, i]
                    at = code[row]
                    if at < 0:
                        continue
                    m = at >> shift
                    rank = sorted_ranks[f, i]
                else:
                    row, at, m = -1, -1, i - length[f]
                    rank = sorted_ranks[f, n_rows - 1]
                last = state[m, LAST]
                if last != rank:
                    if last >= 0:
                        here, here_squares, rest_squares = 0.0, 0.0, 0.0
                        for c in range(m << shift, (m << shift) + n_classes):
                            a, b = float(swept[c]), float(total[c] - swept[c])
                            here += a
                            here_squares += a * a
                            rest_squares += b * b
                        rest = size[m] - here
                        if rest > 0.0:
                            purity = here_squares / here + rest_squares / rest
                            same = split[first + m, 0] == f and not upwards
                            if (purity > best[m] * (1.0 + TIE)
                                    or (same and purity >= best[m] * (1.0 - TIE))):
                                best[m] = purity
                                split[first + m, 0] = f
                                split[first + m, 1] = min(last, rank)
                                split[first + m, 2] = max(last, rank)
                    state[m, LAST] = rank
                if at >= 0:
                    swept[at] += weights[row]
        for row in range(n_rows):
            m = node[row]
            if m >= 0:
                f = split[first + m, 0]
                if f < 0:
                    node[row] = -1
                elif ranks[f, row] <= split[first + m, 1]:
                    node[row] = 2 * m
                else:
                    node[row] = 2 * m + 1


def presorted(rows):
    """Return what ``grow`` reads; fractional weights are rounded to 2**-50 of their sum."""
    ranks, labels, weights, n_classes = rows.ranks, rows.labels, rows.weights, rows.n_classes
    if not np.all(weights == np.rint(weights)) or weights.sum() >= 2 ** 53:
        weights = np.maximum(1.0, np.rint(weights / weights.sum() * 2.0 ** 50))
    order = rows.sorted_rows()
    length = np.empty(len(ranks), np.int64)
    for f, column in enumerate(ranks):
        rows.clock.check()
        held = np.bincount(column)
        if held[0] > held[-1]:   # leave the larger of the two outer groups unvisited
            order[f] = order[f, ::-1]
        length[f] = rows.n_rows - max(held[0], held[-1])
    return (Sorted(order, np.take_along_axis(ranks, order, axis=1), length), ranks,
            labels.astype(np.int32), weights.astype(np.int64),
            max(0, int(n_classes - 1).bit_length()), n_classes)


def make_scratch(n_rows, shift, max_depth):
    """Allocate the arrays of one call of ``grow``, from ``node`` on; depth at least 1."""
    width = 1 << (max_depth - 1)
    sums = width << shift
    return (np.empty(n_rows, np.int32), np.empty((2 ** max_depth - 1, 3), np.int64),
            Scratch(np.empty(n_rows, np.int32), np.empty(sums, np.int64),
                    np.empty(sums, np.int64), np.empty(width, np.int64),
                    np.empty((width, 2), np.int64), np.empty(width)))
