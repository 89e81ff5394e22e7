"""Kernels of the lazy exact split search: bound every candidate cheaply, evaluate few exactly.

A child's *cost* is the least loss of one feasible prediction for its rows.  Four facts give lower
bounds, so that candidates whose bound exceeds the best split need no projection:

* a larger (outer) set has no larger cost, so a closed-form outer set bounds every candidate;
* cost is superadditive: the rows between two candidates of one feature add at least their own
  cost, so evaluated neighbours bound the candidates between them;
* the distance to a set is 1-Lipschitz: a child whose mean is close to that of an evaluated one is
  about as far from the set;
* the same holds from the mean of the parent, whose distance is known.

Candidates are taken in ascending order of their first bound.  Among equal splits the first feature
and the lowest threshold win.

Arguments that several kernels share, with n_rows rows and k targets:

- ``table``, ``price``, ``scratch``: see ``_growth``; ``node``: `Node`; ``candidates``: `Candidates`
- ``weights``: (k,) float64, of the targets; ``sums``: (k,) float64, the weighted sum of those of
  the node
- ``sample_weight``: (n_rows,) float64, empty where all are one
- ``refine``: what may raise bounds, PLAIN to DISTANCE; ``tolerance``: costs that differ by no more
  are equal; ``best``: the cost of the best split so far
- ``rank``: (n_candidates,) int64, the candidates by their first bound; ``first_bound``:
  (n_candidates,) float64, this bound of each
- ``state``: (3,) int64, the position in ``rank``, the best candidate so far (-1 for none), and the
  number of children evaluated; ``c``: the number of a candidate
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from odtlib._numba.compiler import INNER, OPTIONS, njit
from odtlib.constrained._growth import (
    SQUARED,
    box_gain,
    huber,
    midpoint,
    poisson_gain,
    weights_after,
)
from odtlib.constrained._projections import SEPARABLE, project
from odtlib.tolerance import ROUNDING

# What may be used to raise bounds: nothing; superadditivity; also the squares of the rows between
# two candidates; also the distance to the set.
PLAIN, PARTS, SQUARES, DISTANCE = range(4)


class Candidates(NamedTuple):
    """The candidate splits of a node, with two children each, the left one first."""

    feature: np.ndarray         # (n_candidates,)
    position: np.ndarray        # last row on the left
    cut: np.ndarray
    n_side: np.ndarray          # (n_candidates, 2): weight
    q_left: np.ndarray          # squares on the left
    sums_left: np.ndarray       # (n_candidates, n_targets)
    plain: np.ndarray           # (n_candidates, 2): cost without constraints
    low: np.ndarray             # lower bound of the cost with them
    cost: np.ndarray            # the cost, where it is known


class Node(NamedTuple):
    """The rows of a node, their totals, and how far their mean is from the set."""

    start: int
    end: int
    n: float
    sums: np.ndarray
    distance: float


def empty_candidates(size, k):
    """Return room for so many candidates, of ``k`` targets."""
    integers, numbers = np.empty((2, size), np.int64), np.empty((2, size))
    n_side, plain, low, cost = np.empty((4, size, 2))
    return Candidates(*integers, numbers[0], n_side, numbers[1], np.empty((size, k)), plain, low,
                      cost)


@njit(**OPTIONS)
def list_candidates(table, row_constant, node, q, features, min_leaf, criterion, outer, weights,
                    candidates, scratch):
    """Fill one entry per candidate, but for its cost; return how many there are.

    The arguments are those of the module's docstring.  Beside these, ``q``: the total of the node
    to which a row adds its ``row_constant``, (n_rows,) float64, times its weight; ``features``:
    int64, those that may be split; ``min_leaf``: smallest number of rows of a leaf; ``criterion``:
    SQUARED or POISSON; ``outer``: (2 k,) float64, the lower, then the upper bounds of a box that
    contains the set, measured as the targets are.
    """
    order, values, targets, sample_weight = table
    start, end, n, sums, _ = node
    feature, position, cut, n_side, q_left, sums_left, plain, low, _ = candidates
    k = targets.shape[1]
    left, right, free, rest = scratch.left, scratch.right, scratch.pairs, scratch.rest
    free[:k], free[k:] = -np.inf, np.inf
    count = 0
    weighted = sample_weight.size > 0
    for f in features:
        column, segment = values[f], order[f]
        if weighted:
            weights_after(segment, start, end, sample_weight, rest)
        left[:] = 0.0
        weight, constant = 0.0, 0.0
        for i in range(start, end - min_leaf):
            row = segment[i]
            w = sample_weight[row] if weighted else 1.0
            weight += w
            constant += w * row_constant[row]
            for j in range(k):
                left[j] += w * targets[row, j]
            if column[i] == column[i + 1] or i + 1 - start < min_leaf:
                continue
            for j in range(k):
                right[j] = sums[j] - left[j]
                sums_left[count, j] = left[j]
            feature[count], position[count] = f, i
            cut[count] = midpoint(column[i], column[i + 1])
            q_left[count] = constant
            n_side[count, 0] = weight
            n_side[count, 1] = rest[i - start] if weighted else n - weight
            for side in range(2):
                m = n_side[count, side]
                total = constant if side == 0 else q - constant
                s = left if side == 0 else right
                plain[count, side] = 0.0
                if criterion == SQUARED:
                    plain[count, side] = max(0.0, total - box_gain(free, m, s, weights))
                    bound = total - box_gain(outer, m, s, weights)
                else:
                    bound = total - poisson_gain(SEPARABLE, outer, m, s)
                low[count, side] = max(plain[count, side], bound)
            count += 1
    return count


@njit(**INNER)
def _mean_step(a, b, side, candidates, sums, weights):
    """Return the distance between the means of one child under two candidates.

    The arguments are those of the module's docstring; ``a``, ``b``: the numbers of the candidates;
    ``side``: 0 for the left child, else 1.
    """
    n_side, sums_left = candidates.n_side, candidates.sums_left
    total = 0.0
    for j in range(sums.size):
        if side == 0:
            step = sums_left[a, j] / n_side[a, 0] - sums_left[b, j] / n_side[b, 0]
        else:
            step = (sums[j] - sums_left[a, j]) / n_side[a, 1] \
                - (sums[j] - sums_left[b, j]) / n_side[b, 1]
        total += weights[j] * step * step
    return np.sqrt(total)


@njit(**INNER)
def _tighten(c, n_candidates, refine, candidates, node, weights):
    """Raise the bounds of a candidate from its evaluated neighbours and from the parent.

    The arguments are those of the module's docstring; ``n_candidates``: how many there are.
    """
    feature, _, _, n_side, q_left, sums_left, plain, low, cost = candidates
    _, _, n, sums, parent_distance = node
    k = sums.size
    lipschitz = refine == DISTANCE
    for side in range(2):
        m = n_side[c, side]
        if lipschitz:
            step = 0.0
            for j in range(k):
                s = sums_left[c, j] if side == 0 else sums[j] - sums_left[c, j]
                step += weights[j] * (s / m - sums[j] / n) ** 2
            rest = parent_distance - np.sqrt(step)
            if rest > 0.0:
                low[c, side] = max(low[c, side], plain[c, side] + m * rest * rest)
        for direction in (-1, 1):
            other = c + direction
            while (0 <= other < n_candidates and feature[other] == feature[c]
                   and np.isnan(cost[other, side])):
                other += direction
            if not (0 <= other < n_candidates and feature[other] == feature[c]):
                continue
            if lipschitz:
                outside = max(0.0, cost[other, side] - plain[other, side])
                rest = np.sqrt(outside / n_side[other, side]) \
                    - _mean_step(c, other, side, candidates, sums, weights)
                if rest > 0.0:
                    low[c, side] = max(low[c, side], plain[c, side] + m * rest * rest)
            if (direction == -1) == (side == 0):   # the neighbour's child is part of this one
                between = 0.0
                size = abs(n_side[c, 0] - n_side[other, 0])
                if refine >= SQUARES and size > ROUNDING**0.5 * n:   # what the rows between add
                    between = abs(q_left[c] - q_left[other])
                    for j in range(k):
                        between -= weights[j] * (sums_left[c, j] - sums_left[other, j])**2 / size
                low[c, side] = max(low[c, side], cost[other, side] + max(0.0, between))


@njit(**OPTIONS)
def next_candidate(rank, first_bound, state, best, refine, tolerance, candidates, node, weights):
    """Return the next candidate that may be the best split, or -1.

    The arguments are those of the module's docstring; ``state`` and the bounds of ``candidates``
    are changed.
    """
    count, low = rank.size, candidates.low
    while state[0] < count:
        c = rank[state[0]]
        if first_bound[c] > best + tolerance:
            state[0] = count
            break
        state[0] += 1
        lost = False
        for attempt in range(2):
            bound = low[c, 0] + low[c, 1]
            lost = bound > best + tolerance or (bound >= best - tolerance and c > state[1] >= 0)
            if lost or attempt == 1 or refine == PLAIN:
                break
            _tighten(c, count, refine, candidates, node, weights)
        if not lost:
            return c
    return -1


@njit(**OPTIONS)
def is_better(total, c, best, incumbent, tolerance):
    """Return whether a candidate replaces the best one; the first of equals wins.

    The arguments are those of the module's docstring; ``total``: what the candidate costs;
    ``incumbent``: the number of the best one.
    """
    return total < best - tolerance or (total <= best + tolerance and c < incumbent)


@njit(**INNER)
def _medoid_cost(segment, first, last, targets, n, s, plain, weights):
    """Return the plain cost plus the squared distance of the mean to the nearest row.

    ``segment``: (n_rows,) int32, rows, of which those from place ``first`` to ``last - 1`` are the
    child's; ``targets``: (n_rows, k) float64; ``n``: weight of the child; ``s``: (k,) float64,
    weighted sum of its targets; ``plain``: its cost without constraints; ``weights``: (k,) float64,
    of the targets.
    """
    k = s.size
    nearest = np.inf
    for i in range(first, last):
        distance = 0.0
        for j in range(k):
            distance += weights[j] * (targets[segment[i], j] - s[j] / n) ** 2
        nearest = min(nearest, distance)
    return plain + n * nearest


@njit(**OPTIONS)
def search(table, price, node, medoid, budget, rank, first_bound, state, best, refine, tolerance,
           candidates, scratch):
    """Evaluate candidates; return the cost of the best split and whether the search is over.

    The arguments are those of the module's docstring; ``medoid``: whether predictions are medoids;
    ``budget``: steps that may be taken.  Changes ``state``, and bounds and costs of ``candidates``.
    """
    order, targets = table.order, table.targets
    _, kind, ints, floats, penalty_rate, weights, origin = price
    start, end, _, sums, _ = node
    feature, position, _, n_side, _, sums_left, plain, low, cost = candidates
    k = sums.size
    s, mean = scratch.left, scratch.mean
    while budget > 0:
        c = next_candidate(rank, first_bound, state, best, refine, tolerance, candidates, node,
                           weights)
        if c < 0:
            return best, True
        for side in range(2):
            m = n_side[c, side]
            for j in range(k):
                s[j] = sums_left[c, j] if side == 0 else sums[j] - sums_left[c, j]
            if medoid:
                first = start if side == 0 else position[c] + 1
                last = position[c] + 1 if side == 0 else end
                value = _medoid_cost(order[feature[c]], first, last, targets, m, s,
                                     plain[c, side], weights)
                budget -= last - first
            else:
                for j in range(k):
                    mean[j] = s[j] / m + origin[j]
                distance = project(kind, ints, floats, mean, weights, scratch.room, scratch.point)
                if distance < 0.0:   # did not converge: no reason to take this split
                    distance = np.inf
                elif penalty_rate < np.inf:
                    distance = huber(distance, penalty_rate)
                value = max(low[c, side], plain[c, side] + m * distance)
                budget -= 20
            cost[c, side] = low[c, side] = value
            state[2] += 1
            bound = low[c, 0] + low[c, 1]
            if bound > best + tolerance:
                break
        else:
            if is_better(bound, c, best, state[1], tolerance):
                best, state[1] = bound, c
    return best, False


@njit(**OPTIONS)
def absolute_bounds(order, ranks, sorted_values, start_of_target, targets, sample_weight, start,
                    end, feature, position, ints, floats, low, losses, scratch):
    """Fill the exact cost of the children of one feature: absolute error, a separable set.

    The arguments are those of the module's docstring.  Beside these:

    - ``order``: (n_features, n_rows) int32, rows by value; ``start``, ``end``: the segment of the
      node
    - ``targets``: (n_rows, k) float64, times the weights of the targets; ``ranks``: (n_rows, k)
      int64, of their values; ``sorted_values``: float64, the distinct values of all targets in the
      node, one target after the other, those of target j from ``start_of_target[j]`` on;
      ``start_of_target``: (k + 1,) int64
    - ``feature``: the feature; ``position``: (n_splits,) int64, the place of the last row on the
      left
    - ``ints``, ``floats``: the set, see ``_projections``, its bounds also times the weights
    - ``low``: (n_splits, 2) float64, the result; ``losses``: (2, k, rows of the node) float64, work
    """
    k, n = targets.shape[1], end - start
    best, zero = losses[0], losses[1]
    rows, gains = scratch.index_buffer[:n], scratch.left
    for side in range(2):
        for i in range(n):
            rows[i] = order[feature, start + i if side == 0 else end - 1 - i]
        for j in range(k):
            _prefix_losses(rows, targets[:, j], ranks[:, j],
                           sorted_values[start_of_target[j]:start_of_target[j + 1]],
                           sample_weight, floats[j], floats[k + j], best[j], zero[j], scratch.rest)
        for c in range(position.size):
            last = position[c] - start if side == 0 else end - position[c] - 2
            cost = 0.0
            for j in range(k):
                gains[j] = 0.0
                cost += best[j, last]
                if ints[1] == 1:
                    gains[j] = max(0.0, zero[j, last] - best[j, last])
                    cost += zero[j, last] - best[j, last]
            for _ in range(min(ints[0], k)):
                largest = 0
                for j in range(1, k):
                    largest = j if gains[j] > gains[largest] else largest
                cost -= gains[largest]
                gains[largest] = 0.0
            low[c, side] = max(0.0, cost)


@njit(**INNER)
def _prefix_losses(rows, values, ranks, distinct, sample_weight, lower, upper, best, zero, at):
    """Fill the absolute error of the best value within bounds, and of zero, for every prefix.

    ``rows``: (n,) int32; of one target, ``values``: (n_rows,) float64; ``ranks``: (n_rows,) int64;
    ``distinct``: (n_distinct,) float64, the values in increasing order; ``lower``, ``upper``: the
    bounds; ``sample_weight``: (n_rows,) float64, empty where all are one; ``at``: at least
    (n_distinct,) float64, work.  Results: ``best`` and ``zero``, float64, at least (n,).
    """
    at[:distinct.size] = 0.0                     # weight of the rows with each value
    median, below, below_sum = 0, 0.0, 0.0       # position of the median, totals before it
    weight = total = at_lower = at_upper = at_zero = 0.0
    for i in range(rows.size):
        y, rank = values[rows[i]], ranks[rows[i]]
        w = sample_weight[rows[i]] if sample_weight.size > 0 else 1.0
        at[rank] += w
        weight, total, at_zero = weight + w, total + w * y, at_zero + w * abs(y)
        at_lower, at_upper = at_lower + w * abs(y - lower), at_upper + w * abs(y - upper)
        if rank < median:
            below, below_sum = below + w, below_sum + w * y
        while median < distinct.size - 1 and below + at[median] < 0.5 * weight:
            below, below_sum = below + at[median], below_sum + at[median] * distinct[median]
            median += 1
        while median > 0 and below >= 0.5 * weight:
            median -= 1
            below, below_sum = below - at[median], below_sum - at[median] * distinct[median]
        value = distinct[median]
        best[i] = value * (2.0 * below - weight) + total - 2.0 * below_sum
        if value < lower or value > upper:
            best[i] = at_lower if value < lower else at_upper
        zero[i] = at_zero
