"""Kernels that grow constrained regression trees from presorted rows, and find best stumps.

The rows of a node are one segment ``[start, end)`` in every row of ``order``, sorted by that
feature; a split partitions every segment stably, so that nothing is sorted twice.

A node's *gain* is the part of the weighted sum of squares ``q = sum w_i |y_i|^2`` that its
prediction explains: its cost is ``q - gain`` (for Poisson deviance, up to a constant of the node's
rows).  The gain depends only on the weight ``n`` and the weighted sum ``s`` of the targets.

For squared error targets are measured from an ``origin``, the mean of the root: the sums then stay
as small as the cost of the root, and rounding errors with them, whatever the weights.

Arguments that several kernels share, with n_rows rows and k targets:

- ``table``: `Table`; ``price``: `Price`; ``scratch``: `Scratch`
- ``n``: weight of some rows; ``s`` and ``sums``: (k,) float64, the weighted sum of their targets
- ``kind``, ``floats``: an encoded set, see ``_projections``; ``weights``: (k,) float64, of the
  targets; ``origin``: (k,) float64, from where targets are measured
- ``targets``: (n_rows, k) float64; ``sample_weight``: (n_rows,) float64, empty where all are one;
  ``row_constant``: (n_rows,) float64, what each row adds to ``q`` per unit of its weight
- ``order``: (n_features, n_rows) int32, rows by value; ``values``: likewise, float64, their values;
  ``start``, ``end``: the segment of the node
- ``features``: int64, those that may be split; ``min_leaf``: smallest number of rows of a leaf
- ``rest``, ``goes_left``, ``index_buffer``, ``value_buffer``: arrays of `Scratch`
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from odtlib._numba.compiler import INNER, OPTIONS, njit
from odtlib.constrained._projections import SEPARABLE, SIMPLEX, Room, project_closed
from odtlib.tolerance import ROUNDING

SQUARED, POISSON = 0, 1


class Table(NamedTuple):
    """The rows of a tree, in every feature's order."""

    order: np.ndarray               # (n_features, n_rows)
    values: np.ndarray              # of the features, in that order
    targets: np.ndarray             # (n_rows, n_targets)
    sample_weight: np.ndarray       # empty where all weights are one


class Price(NamedTuple):
    """What a prediction costs: the loss, the set as kernels take it, and the metric."""

    criterion: int
    kind: int
    ints: np.ndarray
    floats: np.ndarray
    penalty_rate: float             # inf for a hard constraint
    weights: np.ndarray             # of the targets
    origin: np.ndarray              # from which targets are measured


class Limits(NamedTuple):
    """When growth stops, and what decides which features are drawn."""

    max_depth: int
    min_split: int
    min_leaf: int
    max_features: int
    seed: int


class Nodes(NamedTuple):
    """The nodes of a growing tree."""

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    weight: np.ndarray
    sums: np.ndarray                # (n_nodes, n_targets), weighted


class Scratch(NamedTuple):
    """Work of a node; nothing in it outlives the node."""

    left: np.ndarray                # (n_targets,)
    right: np.ndarray
    mean: np.ndarray
    point: np.ndarray
    pairs: np.ndarray               # (2 * n_targets,)
    rest: np.ndarray                # (n_rows,)
    goes_left: np.ndarray
    index_buffer: np.ndarray
    value_buffer: np.ndarray
    room: Room


def make_scratch(n_rows, k, room):
    """Allocate the work of one tree."""
    return Scratch(*np.empty((4, k)), np.empty(2 * k), np.empty(n_rows),
                   np.empty(n_rows, np.bool_), np.empty(n_rows, np.int32), np.empty(n_rows),
                   room)


@njit(**INNER)
def poisson_gain(kind, floats, n, s):
    """Return minus the least sum_j n y_j - s_j log y_j over a box or the simplex.

    The arguments are those of the module's docstring; ``kind``: SIMPLEX, or any other for a box.
    """
    k = s.size
    total = 0.0
    if kind == SIMPLEX:
        everything = s.sum()
        for j in range(k):
            if s[j] > 0.0:
                total += s[j] * np.log(floats[0] * s[j] / everything)
        return total - n * floats[0]
    for j in range(k):
        value = min(max(s[j] / n, floats[j]), floats[k + j])
        total -= n * value
        if s[j] > 0.0:
            total += s[j] * np.log(value) if value > 0.0 else -np.inf
    return total


@njit(**INNER)
def box_gain(floats, n, s, weights):
    """Return what the best prediction in a box explains of the squares.

    The arguments are those of the module's docstring; ``floats``: (2 k,), lower and upper bounds,
    measured as the targets are.
    """
    k = s.size
    total = 0.0
    for j in range(k):
        value = min(max(s[j] / n, floats[j]), floats[k + j])
        total += weights[j] * value * (2.0 * s[j] - n * value)
    return total


@njit(**INNER)
def huber(distance, penalty_rate):
    """Return the Huber function of a distance: the least penalised cost of a unit of weight.

    ``distance``: the squared distance of a mean to the set; ``penalty_rate``: cost of a unit of
    distance.
    """
    root = np.sqrt(distance)
    return distance if root <= 0.5 * penalty_rate else penalty_rate * (root - 0.25 * penalty_rate)


@njit(**INNER)
def gain(price, n, s, scratch):
    """Return what the best prediction of rows explains.

    The arguments are those of the module's docstring.
    """
    criterion, kind, ints, floats, penalty_rate, weights, origin = price
    mean, point = scratch.mean, scratch.point
    if criterion == POISSON:
        return poisson_gain(kind, floats, n, s)
    total = 0.0
    for j in range(s.size):
        mean[j] = s[j] / n
        total += weights[j] * s[j] * mean[j]
        mean[j] += origin[j]
    distance = project_closed(kind, ints, floats, mean, weights, scratch.room, point)
    return total - n * (huber(distance, penalty_rate) if penalty_rate < np.inf else distance)


@njit(**OPTIONS)
def partition(order, values, start, end, feature, middle, goes_left, index_buffer, value_buffer):
    """Split every feature's segment stably: the rows before ``middle`` of ``feature`` go left.

    The arguments are those of the module's docstring; ``order`` and ``values`` are changed.
    """
    for i in range(start, end):
        goes_left[order[feature, i]] = i < middle
    for f in range(order.shape[0]):
        if f == feature:
            continue
        segment, column = order[f], values[f]
        left, right = start, 0
        for i in range(start, end):   # both writes, one of them kept: no branch to mispredict
            row, value = segment[i], column[i]
            segment[left], column[left] = row, value
            index_buffer[right], value_buffer[right] = row, value
            is_left = np.int64(goes_left[row])
            left += is_left
            right += 1 - is_left
        for i in range(right):
            segment[left + i], column[left + i] = index_buffer[i], value_buffer[i]


@njit(**INNER)
def weights_after(segment, start, end, sample_weight, rest):
    """Fill the weight of the rows after each; the total less those before may round to zero.

    The arguments are those of the module's docstring; ``segment``: (n_rows,) int32, a line of
    ``order``; ``rest``, from 0 on, is the result.
    """
    total = 0.0
    for i in range(end - 1, start - 1, -1):
        rest[i - start] = total
        total += sample_weight[segment[i]]


@njit(**OPTIONS)
def midpoint(low, high):
    """Return a value x with ``low`` <= x < ``high``, two float64, halfway."""
    value = low + 0.5 * (high - low)
    return low if value >= high or value < low else value


@njit(**INNER)
def _target_gain(s, n, inverse, origin, low, high):
    """Return what the best value within bounds explains of one target, and zero would lose of it.

    All are numbers: ``s`` the weighted sum of the target over rows of weight ``n``, ``inverse`` one
    over ``n``, ``origin`` from where the target is measured, ``low`` and ``high`` the bounds.
    """
    mean = s * inverse
    explained, mean = s * mean, mean + origin
    value = min(max(mean, low), high)
    return explained - n * (value - mean) ** 2, n * value * (2.0 * mean - value)


@njit(**INNER)
def _two_gains(left, sums, n_left, n_right, free, allow_zero, kept, floats, weights, origin, top):
    """Return the gains of both children for squared error and a separable set, in one pass.

    The arguments are those of the module's docstring.  Beside these, ``left``: (k,) float64, the
    sums of the left child; ``n_left``, ``n_right``: the weights of both; ``free``: whether there
    are no bounds; ``allow_zero``: whether a target may be zero whatever its bounds; ``kept``: how
    many may be nonzero then; ``top``: at least (2 ``kept``,) float64, work.
    """
    k = sums.size
    inverse_left, inverse_right = 1.0 / n_left, 1.0 / n_right
    gain_left = gain_right = 0.0     # apart: an addition waits for the one before
    if free:
        for j in range(k):
            a = left[j]
            b = sums[j] - a
            gain_left += weights[j] * (a * a)
            gain_right += weights[j] * (b * b)
        return gain_left * inverse_left + gain_right * inverse_right
    select = allow_zero and kept < k
    if select:
        top[:2 * kept] = 0.0
    for j in range(k):
        w, low, high = weights[j], floats[j], floats[k + j]
        a, lost_left = _target_gain(left[j], n_left, inverse_left, origin[j], low, high)
        b, lost_right = _target_gain(sums[j] - left[j], n_right, inverse_right, origin[j], low,
                                     high)
        lost_left, lost_right = w * lost_left, w * lost_right
        if select:   # the largest so far stay, the least of them falls out
            for t in range(0, 2 * kept, 2):
                lost_left, top[t] = min(lost_left, top[t]), max(lost_left, top[t])
                lost_right, top[t + 1] = min(lost_right, top[t + 1]), max(lost_right, top[t + 1])
        elif allow_zero:
            lost_left, lost_right = min(lost_left, 0.0), min(lost_right, 0.0)
        else:
            lost_left = lost_right = 0.0
        gain_left += w * a - lost_left
        gain_right += w * b - lost_right
    return gain_left + gain_right


@njit(**INNER)
def best_split(table, price, start, end, features, min_leaf, n, sums, scratch, best, best_feature,
               best_position):
    """Scan more features for the largest total gain of two children; the first wins ties.

    The arguments are those of the module's docstring.  ``best``, ``best_feature``,
    ``best_position``: the gain of the best split so far, its feature, -1 for none, and the place in
    ``order`` of the last row on its left.  Returns these three anew.
    """
    order, values, targets, sample_weight = table
    criterion, kind, ints, floats, penalty_rate, weights, origin = price
    k = targets.shape[1]
    left, right, top, rest = scratch.left, scratch.right, scratch.pairs, scratch.rest
    separable = (kind == SEPARABLE and penalty_rate == np.inf and criterion == SQUARED
                 and ints[0] > 0)
    allow_zero, kept = ints[-1] == 1, ints[0]
    free = separable and not allow_zero
    if free:
        for j in range(k):
            free = free and floats[j] == -np.inf and floats[k + j] == np.inf
    to_beat, scale = -np.inf, 0.0
    for j in range(k):
        scale += weights[j] * sums[j] * sums[j] / n
    if best_feature >= 0:
        to_beat = best + ROUNDING * max(abs(best), scale)
    weighted = sample_weight.size > 0
    for f in features:
        column, segment = values[f], order[f]
        if column[start] == column[end - 1]:
            continue
        left[:] = 0.0
        n_left = 0.0
        if weighted:
            weights_after(segment, start, end, sample_weight, rest)
        for i in range(start, end - min_leaf):
            row = segment[i]
            if weighted:
                w = sample_weight[row]
                n_left += w
                for j in range(k):
                    left[j] += w * targets[row, j]
            else:
                n_left += 1.0
                for j in range(k):
                    left[j] += targets[row, j]
            if column[i] == column[i + 1] or i + 1 - start < min_leaf:
                continue
            n_right = rest[i - start] if weighted else n - n_left
            if separable:
                total = _two_gains(left, sums, n_left, n_right, free, allow_zero, kept, floats,
                                   weights, origin, top)
            else:
                if criterion == SQUARED:   # constraints cannot explain more than the means do
                    total = _two_gains(left, sums, n_left, n_right, True, False, k, floats,
                                       weights, origin, top)
                    if total <= to_beat:
                        continue
                for j in range(k):
                    right[j] = sums[j] - left[j]
                total = gain(price, n_left, left, scratch) + gain(price, n_right, right, scratch)
            if total > to_beat:
                best, best_feature, best_position = total, f, i
                # Rounding must not decide between equals.
                to_beat = best + ROUNDING * max(abs(best), scale)
    return best, best_feature, best_position


@njit(**INNER)
def _draw_features(state, permutation, values, start, end, count, chosen):
    """Draw features without replacement until ``count`` vary in the node, in ascending order.

    The arguments are those of the module's docstring.  Beside these, ``state``: uint64, of the
    random numbers; ``permutation``: (n_features,) int64, changed; ``chosen``: (n_features,) int64,
    the result.  Returns the new state, and how many were found.
    """
    p = permutation.size
    found = 0
    chosen[:] = 0
    for i in range(p):
        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        other = i + np.int64((state >> np.uint64(33)) % np.uint64(p - i))
        permutation[i], permutation[other] = permutation[other], permutation[i]
        f = permutation[i]
        if values[f, start] != values[f, end - 1]:
            chosen[f] = 1
            found += 1
            if found == count:
                break
    place = 0
    for f in range(p):     # the marks become the features; a place never lies after its mark
        if chosen[f] == 1:
            chosen[place] = f
            place += 1
    return state, found


@njit(**OPTIONS)
def grow(table, price, limits, visit, budget, progress, best, chosen, permutation, random, stack,
         nodes, scratch):
    """Grow nodes in preorder until the stack is empty or the budget is spent.

    The arguments are those of the module's docstring.  Beside these:

    - ``limits``: `Limits`; ``nodes``: `Nodes`, the result
    - ``visit``: the cost of moving a row from one child to the other; ``budget``: such costs that
      may be spent, where a negative one makes leaves of all waiting nodes
    - ``progress``: (7,) int64, the number of nodes, the size of the stack, the candidates
      evaluated, and of the node in work the next feature (-1 for none), the number of features, the
      best of them and its position
    - ``best``: (1,) float64, the gain of the best split of the node in work
    - ``chosen``, ``permutation``: (n_features,) int64, features to try, and all of them;
      ``random``: (1,) uint64, the state of the random numbers
    - ``stack``: (n_rows + 2, 5) int64, start, end, depth, parent, whether left
    """
    order, values, targets, sample_weight = table
    max_depth, min_split, min_leaf, max_features, _ = limits
    feature, threshold, left, right, node_weight, node_sums = nodes
    n_features, k = order.shape[0], targets.shape[1]
    weighted = sample_weight.size > 0
    draining = budget < 0
    spent = 0
    while progress[1] > 0 and (draining or spent < budget):
        waiting = stack[progress[1] - 1]
        start, end, depth, parent, is_left = (waiting[0], waiting[1], waiting[2], waiting[3],
                                              waiting[4])
        if progress[3] < 0:
            node = progress[0]
            progress[0] += 1
            if parent >= 0:
                if is_left:
                    left[parent] = node
                else:
                    right[parent] = node
            segment = order[0]
            n = 0.0
            sums = node_sums[node]
            sums[:] = 0.0
            pure = True
            first = segment[start]
            for i in range(start, end):
                row = segment[i]
                w = sample_weight[row] if weighted else 1.0
                n += w
                for j in range(k):
                    sums[j] += w * targets[row, j]
                    pure = pure and targets[row, j] == targets[first, j]
            node_weight[node] = n
            feature[node] = left[node] = right[node] = -1
            threshold[node] = np.nan
            if (draining or pure or depth >= max_depth or end - start < min_split
                    or end - start < 2 * min_leaf):
                progress[1] -= 1
                continue
            count = n_features
            if max_features < n_features:
                random[0], count = _draw_features(random[0], permutation, values, start, end,
                                                  max_features, chosen)
            best[0] = -np.inf
            progress[3], progress[4], progress[5] = 0, count, -1
        elif draining:   # the node in work is split by the best so far
            progress[3] = progress[4]
        node = progress[0] - 1
        n, sums = node_weight[node], node_sums[node]
        per_feature = (end - start) * visit
        after = min(progress[4], progress[3] + max(1, (budget - spent) // per_feature))
        best[0], progress[5], progress[6] = best_split(
            table, price, start, end, chosen[progress[3]:after], min_leaf, n, sums, scratch,
            best[0], progress[5], progress[6])
        spent += (after - progress[3]) * per_feature
        progress[2] += (after - progress[3]) * (end - start)
        progress[3] = after
        if after < progress[4]:
            continue
        progress[1], progress[3] = progress[1] - 1, -1
        f, position = progress[5], progress[6]
        if f < 0:
            continue
        spent += (end - start) * n_features
        middle = position + 1
        feature[node] = f
        threshold[node] = midpoint(values[f, position], values[f, middle])
        partition(order, values, start, end, f, middle, scratch.goes_left, scratch.index_buffer,
                  scratch.value_buffer)
        for side in range(2):   # the left child is taken first
            entry = stack[progress[1]]
            entry[0], entry[1] = (middle, end) if side == 0 else (start, middle)
            entry[2], entry[3], entry[4] = depth + 1, node, side
            progress[1] += 1


@njit(**OPTIONS)
def totals(rows, targets, sample_weight, row_constant, sums):
    """Fill the weighted sum of the targets; return the weight and the total of squares.

    The arguments are those of the module's docstring; ``rows``: int32, the rows; ``sums`` is
    filled.
    """
    sums[:] = 0.0
    n, q = 0.0, 0.0
    weighted = sample_weight.size > 0
    for i in range(rows.size):
        w = sample_weight[rows[i]] if weighted else 1.0
        n += w
        q += w * row_constant[rows[i]]
        for j in range(sums.size):
            sums[j] += w * targets[rows[i], j]
    return n, q


@njit(**OPTIONS)
def best_stump(table, row_constant, features, min_leaf, split_too, penalty, price, sums, scratch):
    """Return the cost of the best tree of depth one (or zero), its feature (-1) and threshold.

    The arguments are those of the module's docstring.  Beside these, ``split_too``: whether it may
    have a split; ``penalty``: what that costs; ``sums``: work.
    """
    order, values, targets, sample_weight = table
    rows = order[0]
    n, q = totals(rows, targets, sample_weight, row_constant, sums)
    best = gain(price, n, sums, scratch)
    if not split_too or rows.size < 2 * min_leaf:
        return max(0.0, q - best), -1, np.nan
    two, f, i = best_split(table, price, 0, rows.size, features, min_leaf, n, sums, scratch,
                           -np.inf, -1, 0)
    if f < 0 or two - penalty <= best + ROUNDING * q:
        return max(0.0, q - best), -1, np.nan
    return max(0.0, q - two) + penalty, f, midpoint(values[f, i], values[f, i + 1])
