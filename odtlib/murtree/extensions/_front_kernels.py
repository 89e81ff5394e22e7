"""Fronts of trees of depth two, and how fronts of two children make that of their parent.

A tree is a point ``(key, error)``, the sum of those of its leaves: a leaf that predicts class 0
adds ``(0, errors if 0)`` and one that predicts class 1 adds ``(key, errors if 1)``.  A front holds
the least error for every key.  ``best`` is an array over all keys with the least error so far (-1
where there is none) and ``touched`` lists the keys that it has, so that clearing is cheap.

``sums[c, i, j]`` is the sum over the rows with features ``i`` and ``j`` of key, errors if class 1
is predicted, errors if class 0 is, and number of rows; ``single[c, i]`` and ``total[c]`` are those
over the rows with feature ``i`` and over all rows.
"""

from __future__ import annotations

import numpy as np

from odtlib._numba.compiler import njit

OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}
KEY, IF_1, IF_0, NUMBER = range(4)


@njit(**OPTIONS)
def insert(key, error, limit, best, touched, n):
    """Enter a point that is within the limit and better than the last with its key."""
    if error <= limit:
        if best[key] < 0:
            touched[n] = key
            n += 1
            best[key] = error
        elif error < best[key]:
            best[key] = error
    return n


@njit(**OPTIONS)
def merge(keys_1, errors_1, keys_0, errors_0, limit, best, touched, n):
    """Add every tree of one child to every tree of the other; return how many keys there are."""
    for a in range(len(keys_1)):
        for b in range(len(keys_0)):
            n = insert(keys_1[a] + keys_0[b], errors_1[a] + errors_0[b], limit, best, touched, n)
    return n


@njit(**OPTIONS)
def clear(best, touched, n):
    """Forget all points."""
    for t in range(n):
        best[touched[t]] = -1


@njit(**OPTIONS)
def side_points(sums, single, total, i, side, split, min_leaf, pareto, limit, keys, errors,
                features):
    """List the trees with at most one feature node on one side of ``i``; return how many.

    ``features`` tells each one's feature, negative ``-2 - j`` if class 1 is predicted without it,
    and -1 for leaves.  With ``pareto``, those that another is as good as are left out.
    """
    n = 0
    whole = np.empty(4)
    for c in range(4):
        whole[c] = single[c, i] if side == 1 else total[c] - single[c, i]
    for j in range(-1, sums.shape[1] if split else 0):
        if j < 0:
            key_0, error_0, key_1, error_1 = 0.0, whole[IF_0], whole[KEY], whole[IF_1]
        else:
            number = sums[NUMBER, i, j] if side == 1 else single[NUMBER, j] - sums[NUMBER, i, j]
            if number < min_leaf or whole[NUMBER] - number < min_leaf:
                continue
            key_0, error_0 = sums[KEY, i, j], sums[IF_1, i, j]
            rest = sums[IF_0, i, j]
            if side == 0:
                key_0 = single[KEY, j] - key_0
                error_0, rest = single[IF_1, j] - error_0, single[IF_0, j] - rest
            key_1 = whole[KEY] - key_0
            error_1 = whole[IF_1] - error_0 + rest
            error_0 += whole[IF_0] - rest
        for turn in range(2):
            key, error = (key_0, error_0) if turn == 0 else (key_1, error_1)
            if error > limit:
                continue
            dominated = False
            if pareto:
                for a in range(n):
                    if keys[a] <= key and errors[a] <= error:
                        dominated = True
                        break
            if dominated:
                continue
            if pareto:
                kept = 0
                for a in range(n):
                    if keys[a] < key or errors[a] < error:
                        keys[kept], errors[kept], features[kept] = keys[a], errors[a], features[a]
                        kept += 1
                n = kept
            keys[n], errors[n] = np.int64(key), np.int64(error)
            features[n] = -1 if j < 0 else (j if turn == 0 else -2 - j)
            n += 1
    return n


@njit(**OPTIONS)
def both_sides(sums, single, total, i, nodes, turn, min_leaf, pareto, limit, keys_1, errors_1,
               features_1, keys_0, errors_0, features_0):
    """Collect the points of both sides of a root; return how many each has.

    With two nodes the second one is on side 1 in turn 0, and on side 0 in turn 1.
    """
    one, zero = np.int64(1), np.int64(0)      # literals would compile the callee once more for each
    n_1 = side_points(sums, single, total, i, one, nodes == 3 or (nodes == 2 and turn == 0),
                      min_leaf, pareto, limit, keys_1, errors_1, features_1)
    n_0 = side_points(sums, single, total, i, zero, nodes == 3 or (nodes == 2 and turn == 1),
                      min_leaf, pareto, limit, keys_0, errors_0, features_0)
    return n_1, n_0


@njit(**OPTIONS)
def front_two(sums, single, total, nodes, min_leaf, pareto, limit, best, touched):
    """Collect the front of the trees of depth at most two; return how many keys it has."""
    p = sums.shape[1]
    size = 2 * p + 2
    keys_1, errors_1 = np.empty(size, np.int64), np.empty(size, np.int64)
    keys_0, errors_0 = np.empty(size, np.int64), np.empty(size, np.int64)
    features = np.empty(size, np.int64)
    zero = np.int64(0)                        # no literal, as above
    n = insert(np.int64(0), np.int64(total[IF_0]), limit, best, touched, zero)
    n = insert(np.int64(total[KEY]), np.int64(total[IF_1]), limit, best, touched, n)
    for i in range(p if nodes > 0 else 0):
        if single[NUMBER, i] < min_leaf or total[NUMBER] - single[NUMBER, i] < min_leaf:
            continue
        for turn in range(2 if nodes == 2 else 1):
            n_1, n_0 = both_sides(sums, single, total, i, nodes, turn, min_leaf, pareto, limit,
                                  keys_1, errors_1, features, keys_0, errors_0, features)
            n = merge(keys_1[:n_1], errors_1[:n_1], keys_0[:n_0], errors_0[:n_0], limit, best,
                      touched, n)
    return n


@njit(**OPTIONS)
def class_with(feature, error, leaf_error, key):
    """Return the class of the rows that have the feature of a side's tree, or of its leaf."""
    if feature == -1:
        return 0 if key == 0 and error == leaf_error else 1
    return 1 if feature >= 0 else 0


@njit(**OPTIONS)
def find_two(sums, single, total, nodes, min_leaf, key, error, found):
    """Find a tree of depth two with a given point; return whether there is one.

    ``found`` gets the root (-1: a leaf) and, for both sides, feature and class of the rows that
    have it (those of a leaf: -1 and its class).
    """
    p = sums.shape[1]
    size = 2 * p + 2
    keys_1, errors_1 = np.empty(size, np.int64), np.empty(size, np.int64)
    keys_0, errors_0 = np.empty(size, np.int64), np.empty(size, np.int64)
    features_1, features_0 = np.empty(size, np.int64), np.empty(size, np.int64)
    pareto = np.bool_(False)                  # no literal, as above
    found[0] = -1
    for label in range(2):
        if key == label * total[KEY] and error == total[IF_1 if label else IF_0]:
            found[1], found[2] = -1, label
            return True
    for i in range(p if nodes > 0 else 0):
        if single[NUMBER, i] < min_leaf or total[NUMBER] - single[NUMBER, i] < min_leaf:
            continue
        for turn in range(2 if nodes == 2 else 1):
            n_1, n_0 = both_sides(sums, single, total, i, nodes, turn, min_leaf, pareto, error,
                                  keys_1, errors_1, features_1, keys_0, errors_0, features_0)
            for a in range(n_1):
                for b in range(n_0):
                    if keys_1[a] + keys_0[b] == key and errors_1[a] + errors_0[b] == error:
                        found[0] = i
                        found[1], found[3] = features_1[a], features_0[b]
                        found[2] = class_with(features_1[a], errors_1[a], single[IF_0, i],
                                              keys_1[a])
                        found[4] = class_with(features_0[b], errors_0[b],
                                              total[IF_0] - single[IF_0, i], keys_0[b])
                        found[1] = max(found[1], -2 - found[1])
                        found[3] = max(found[3], -2 - found[3])
                        return True
    return False
