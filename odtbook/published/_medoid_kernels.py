"""Kernels: splits by the medoids of the code that Birbil et al. released (private)."""

from __future__ import annotations

import numpy as np

from odtlib._numba.compiler import njit


@njit(cache=True, nogil=True)
def euclidean_medoids(order, targets, sample_weight, start, end, feature, position, n_side,
                      sums_left, sums, plain, weights, low):
    """Fill the squared error of every child about its row of least total Euclidean distance.

    The totals are kept while a row moves from right to left: linear time per row and feature.
    ``order``, (n_features, n_rows) int32, has the rows of the node from ``start`` to ``end``,
    sorted by each feature; ``targets`` are (n_rows, n_targets) float64, ``sample_weight``,
    (n_rows,), is empty where all weigh one, and ``weights``, (n_targets,), are those of the
    targets.  The candidates have ``feature`` and ``position`` (the last row on the left),
    (n_candidates,) int64, ``n_side``, (n_candidates, 2), the weight of both sides, ``sums_left``,
    (n_candidates, n_targets), of the targets, whose ``sums``, (n_targets,), are the node's, and
    ``plain``, (n_candidates, 2), the costs about the means.  ``low``, (n_candidates, 2), is filled.
    """
    k = sums.size
    total, to_left = np.zeros(targets.shape[0]), np.empty(targets.shape[0])
    for i in range(start, end):
        _add_distances(order[0], start, end, order[0, i], targets, sample_weight, weights, total)
    c = 0
    while c < feature.size:
        segment, f, i = order[feature[c]], feature[c], start
        to_left[:] = 0.0
        while c < feature.size and feature[c] == f:
            while i <= position[c]:
                _add_distances(segment, start, end, segment[i], targets, sample_weight, weights,
                               to_left)
                i += 1
            for side in range(2):
                medoid, least = -1, np.inf
                for r in segment[start:i] if side == 0 else segment[i:end]:
                    distance = to_left[r] if side == 0 else total[r] - to_left[r]
                    if distance < least:
                        medoid, least = r, distance
                off = 0.0
                for j in range(k):
                    s = sums_left[c, j] if side == 0 else sums[j] - sums_left[c, j]
                    off += weights[j] * (targets[medoid, j] - s / n_side[c, side]) ** 2
                low[c, side] = plain[c, side] + n_side[c, side] * off
            c += 1


@njit(cache=True, nogil=True)
def _add_distances(segment, start, end, row, targets, sample_weight, weights, total):
    """Add to ``total``, (n_rows,), the distances of rows to ``row``, times its weight.

    The rows are those of ``segment``, (n_rows,) int32, from ``start`` to ``end``; ``targets``,
    ``sample_weight`` and ``weights`` are those of `euclidean_medoids`.
    """
    w = sample_weight[row] if sample_weight.size > 0 else 1.0
    for other in segment[start:end]:
        distance = 0.0
        for j in range(weights.size):
            distance += weights[j] * (targets[row, j] - targets[other, j]) ** 2
        total[other] += w * np.sqrt(distance)
