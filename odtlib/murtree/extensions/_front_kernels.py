"""Fronts of trees of depth two, and how fronts of two children make that of their parent.

A tree is a point ``(key, error)``, the sum of those of its leaves: a leaf that predicts class 0
adds ``(0, errors if 0)`` and one that predicts class 1 adds ``(key, errors if 1)``.  A front holds
the least error for every key.  Arguments that mean the same in all kernels:

- ``best``: (n_keys,) int64, over all keys the least error so far, -1 where there is none.
- ``choices``: (n_keys,) int64, how the best tree of each key begins, in parts of an integer: its
  root, and for depth two the codes of both sides (:func:`side_points`), for deeper trees the
  feature nodes of child 1 and its key; root 0 is a leaf, and the last part its class.
- ``touched``: (n_keys,) int64, of which the first ``n`` (int) are the keys that ``best`` has, so
  that clearing is cheap.
- ``limit``: int, the errors that a tree may have at most.
- ``sums``: (4, p, p) float64, of whole numbers; ``sums[c, i, j]`` is the sum over the rows with
  features ``i`` and ``j`` of key, errors if class 1 is predicted, errors if class 0 is, and number
  of rows.  ``single``: (4, p) float64, over the rows with one feature; ``total``: (4,) float64,
  over all rows.
- ``min_leaf``: int, the least rows of a leaf; ``pareto``: bool, whether a tree may be left out
  where another has no more key and errors.
- ``first``, ``budget``: int, where to begin, and after about how many points to stop.
"""

from __future__ import annotations

import numpy as np

from odtlib._numba.compiler import njit

OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}
KEY, IF_1, IF_0, NUMBER = range(4)
# Where the parts of a choice begin, above its last one: the root plus 1, and one part more.
ROOT, FIRST = 42, 22


@njit(**OPTIONS)
def insert(key, error, choice, limit, best, choices, touched, n):
    """Enter a point that is within the limit and better than the last with its key.

    ``key`` (int64, below n_keys), ``error`` (int64) and ``choice`` (int64) are the point and how
    its tree begins.  ``limit``, ``best``, ``choices``, ``touched`` and ``n`` are those of the
    module's docstring.  Returns the new ``n``.
    """
    if error <= limit:
        if best[key] < 0:
            touched[n] = key
            n += 1
            best[key], choices[key] = error, choice
        elif error < best[key]:
            best[key], choices[key] = error, choice
    return n


@njit(**OPTIONS)
def merge(keys_1, errors_1, keys_0, errors_0, column, nodes, first, budget, limit, best, choices,
          touched, n):
    """Add every tree of one child to every tree of the other, from ``first`` on.

    ``keys_1`` and ``errors_1``, (n_1,) int64, are the points of child 1, and ``keys_0`` and
    ``errors_0``, (n_0,), those of child 0; ``first`` counts those of child 1.  ``column`` (int) is
    the root, and ``nodes`` (int) the feature nodes of child 1.  The other arguments, ``budget``,
    ``limit``, ``best``, ``choices``, ``touched`` and ``n``, are those of the module's docstring.

    Stops after about ``budget`` points; returns how many keys there are, and where to go on (-1:
    all is done).
    """
    step = max(1, budget // max(1, len(keys_0)))
    last = min(len(keys_1), first + step)
    for a in range(first, last):
        choice = (column + 1) << ROOT | nodes << FIRST | keys_1[a]
        for b in range(len(keys_0)):
            n = insert(keys_1[a] + keys_0[b], errors_1[a] + errors_0[b], choice, limit, best,
                       choices, touched, n)
    return n, last if last < len(keys_1) else -1


@njit(**OPTIONS)
def clear(best, touched, n):
    """Forget all points: ``best`` is -1 again at the ``n`` keys of ``touched``.

    They are those of the module's docstring.
    """
    for t in range(n):
        best[touched[t]] = -1


@njit(**OPTIONS)
def side_points(sums, single, total, i, side, split, min_leaf, pareto, limit, keys, errors, codes):
    """List the trees with at most one feature node on one side of ``i``; return how many.

    ``i`` (int) is the root and ``side`` (int) 1 for the rows with that feature, 0 for the others;
    with ``split`` (bool) there may be a feature node.  ``keys``, ``errors`` and ``codes``, (2 p +
    2,) int64, are written.  ``codes`` tells each tree: 0 and 1 are leaves of these classes, ``2 + 2
    j`` predicts class 1 for the rows with feature ``j`` and ``3 + 2 j`` for those without.  With
    ``pareto``, trees that another is as good as are left out.  The other arguments, ``sums``,
    ``single``, ``total``, ``min_leaf`` and ``limit``, are those of the module's docstring.
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
                        keys[kept], errors[kept], codes[kept] = keys[a], errors[a], codes[a]
                        kept += 1
                n = kept
            keys[n], errors[n] = np.int64(key), np.int64(error)
            codes[n] = turn if j < 0 else 2 + 2 * j + turn
            n += 1
    return n


@njit(**OPTIONS)
def front_two(sums, single, total, nodes, min_leaf, pareto, first, budget, limit, best, choices,
              touched, n):
    """Collect the front of the trees of depth at most two, from root ``first`` on (-1: the leaves).

    ``nodes`` (int, 0 to 3) are the feature nodes that a tree may have.  The other arguments are
    those of the module's docstring.

    Stops after about ``budget`` points; returns how many keys there are, and where to go on (-1:
    all is done).
    """
    p, work = sums.shape[1], 0
    size = 2 * p + 2
    keys_1, errors_1, codes_1 = (np.empty(size, np.int64), np.empty(size, np.int64),
                                 np.empty(size, np.int64))
    keys_0, errors_0, codes_0 = (np.empty(size, np.int64), np.empty(size, np.int64),
                                 np.empty(size, np.int64))
    one, zero = np.int64(1), np.int64(0)      # literals would compile the callee once more for each
    if first < 0:
        n = insert(zero, np.int64(total[IF_0]), zero, limit, best, choices, touched, n)
        n = insert(np.int64(total[KEY]), np.int64(total[IF_1]), one, limit, best, choices,
                   touched, n)
    for i in range(max(first, 0), p if nodes > 0 else 0):
        if single[NUMBER, i] < min_leaf or total[NUMBER] - single[NUMBER, i] < min_leaf:
            continue
        if work > budget:
            return n, i
        for turn in range(2 if nodes == 2 else 1):       # the second node is on side 1, or on 0
            n_1 = side_points(sums, single, total, i, one,
                              nodes == 3 or (nodes == 2 and turn == 0), min_leaf, pareto, limit,
                              keys_1, errors_1, codes_1)
            n_0 = side_points(sums, single, total, i, zero,
                              nodes == 3 or (nodes == 2 and turn == 1), min_leaf, pareto, limit,
                              keys_0, errors_0, codes_0)
            work += n_1 * n_0 + p * (n_1 + n_0 if pareto else 1)
            for a in range(n_1):
                choice = (i + 1) << ROOT | codes_1[a] << FIRST
                for b in range(n_0):
                    n = insert(keys_1[a] + keys_0[b], errors_1[a] + errors_0[b],
                               choice | codes_0[b], limit, best, choices, touched, n)
    return n, -1
