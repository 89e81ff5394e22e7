"""Kernels that generate candidate splits over all thresholds (private: no validation)."""

import numpy as np

from odtlib._numba.compiler import njit


@njit(cache=True, nogil=True)
def last_split(order, rank, label, weight, inside, side, counts, row):
    """Return the value of the best single split of the rows where ``inside`` equals ``side``.

    ``order`` and ``rank``, (n_features, n_rows) int64, are the rows sorted by each feature, and the
    rank of each; ``label``, int64, and ``weight``, float64, their classes and weights, and
    ``inside``, bool, have an entry for each row; ``side`` is one of True and False.  ``row``, (3,)
    int64, gets the feature of the split, -1 for none, and the two rows that it lies between;
    ``counts`` is working space, shape (2, n_classes) float64.
    """
    n_features, n_rows = order.shape
    total, here = counts[0], counts[1]
    total[:] = 0.0
    for i in range(n_rows):
        r = order[0, i]
        if inside[r] == side:
            total[label[r]] += weight[r]
    best = total.max()
    row[0] = -1
    for f in range(n_features):
        here[:] = 0.0
        before = -1
        for i in range(n_rows):
            r = order[f, i]
            if inside[r] != side:
                continue
            if before >= 0 and rank[f, r] != rank[f, before]:
                on_left, on_right = 0.0, 0.0
                for c in range(len(here)):
                    on_left = max(on_left, here[c])
                    on_right = max(on_right, total[c] - here[c])
                if on_left + on_right > best:
                    best = on_left + on_right
                    row[0], row[1], row[2] = f, before, r
            here[label[r]] += weight[r]
            before = r
    return best


@njit(cache=True, nogil=True)
def highest_bound(left, right, closed, at):
    """Return the largest sum of the bounds of both sides over open splits, and write where.

    ``left`` and ``right``, (n_features, n_rows + 1) float64, bound the sides of the split after so
    many rows; ``closed``, likewise, bool, says which splits are done.  ``at``, (2,) int64, gets
    feature and position.  Of splits with the same bound it is one that divides the rows most
    evenly.
    """
    best, smaller, n_rows = -np.inf, 0, left.shape[1] - 1
    for f in range(left.shape[0]):
        for p in range(1, n_rows):
            bound = left[f, p] + right[f, p]
            if not closed[f, p] and (bound > best or (
                    bound == best and min(p, n_rows - p) > smaller)):
                best, smaller = bound, min(p, n_rows - p)
                at[0], at[1] = f, p
    return best


@njit(cache=True, nogil=True)
def tighten(cumulated, f, p, on_left, on_right, left, right, closed):
    """Close a split, given bounds of its two sides, and tighten those of its feature's others.

    The split is that of feature ``f`` after ``p`` rows, with the bounds ``on_left`` and
    ``on_right``; ``cumulated``, (n_features, n_rows + 1) float64, is the weight of so many rows.
    ``left``, ``right`` and ``closed`` are those of `highest_bound`.
    """
    closed[f, p] = True
    for q in range(1, left.shape[1] - 1):
        between = abs(cumulated[f, q] - cumulated[f, p])
        left[f, q] = min(left[f, q], on_left + (between if q > p else 0.0))
        right[f, q] = min(right[f, q], on_right + (between if q < p else 0.0))


@njit(cache=True, nogil=True)
def two_levels(order, rank, label, weight, n_classes, cumulated, left, right, closed, tolerance,
               most, at, best, rows):
    """Generate splits of a node whose children are the last nodes; return how many.

    It ends after ``most`` of them, or where no open split has a bound above ``best[0]`` by more
    than ``tolerance``.  ``order``, ``rank``, ``label`` and ``weight`` are those of `last_split`,
    the labels below ``n_classes``; ``cumulated``, ``left``, ``right``, ``closed`` and ``at`` those
    of `tighten` and `highest_bound`.  ``best``, (1,) float64, is the value of the best one;
    ``rows``, (3, 3) int64, gets its feature and position, and the splits of both children as
    :func:`last_split` writes them.
    """
    inside = np.zeros(len(label), np.bool_)
    counts = np.zeros((2, n_classes))
    children = np.zeros((2, 3), np.int64)
    n = 0
    while n < most and highest_bound(left, right, closed, at) > best[0] + tolerance:
        f, p = at[0], at[1]
        for i in range(order.shape[1]):
            inside[order[f, i]] = i < p
        on_left = last_split(order, rank, label, weight, inside, True, counts, children[0])
        on_right = last_split(order, rank, label, weight, inside, False, counts, children[1])
        if on_left + on_right > best[0] + tolerance:
            best[0] = on_left + on_right
            rows[0, 0], rows[0, 1] = f, p
            rows[1:] = children
        tighten(cumulated, f, p, on_left, on_right, left, right, closed)
        n += 1
    return n
