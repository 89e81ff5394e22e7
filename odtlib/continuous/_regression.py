"""Squared error: the last two levels of a tree, for a batch of root thresholds at once.

Lanes 0 .. LANES - 1 hold the left children of the batch's thresholds, lanes LANES .. 2 LANES - 1
the right ones.  A row whose value lies above ``b`` thresholds of the batch, its *bucket*, belongs
to the left children of thresholds b and above and to the right children of those below b: to the
LANES neighbouring lanes from b on.

With sums S of targets and W of weights in a child, and s and w in a prefix, the split after the
prefix saves (s W - w S)^2 / (W w (W - w)).  The largest is kept as a fraction, and fractions are
compared by multiplying out: there is no division in the loop.

The difference W - w loses its digits where the rest is much lighter than the prefix.  With uneven
weights two sweeps share the work, one from each end of the columns, and each compares only splits
whose prefix has at most a given share of the weight.

A minimum number of rows per leaf breaks the bounds between thresholds, because a subset of the rows
may not allow the splits of the set.  They are taken from the *relaxed* problem, the same without
this minimum, whose best splits a second fraction per lane keeps.

Arguments that several kernels share, with n_rows rows in all, and costs in scaled units:

- ``target``: (n_rows,) float64, centred and scaled targets times weights; ``weight``: (n_rows,)
  float64, scaled weights
- ``node``: `Node`; ``lanes``: (LANE_ARRAY,) float64, the blocks from SUM to ALLOWED_UNDER
- ``budget``: splits of a tree of depth two, 2 or 3; ``penalty``: cost of a split
- ``least``: smallest number of rows of a leaf; ``share``: the largest share of a child's weight in
  a prefix that is compared
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from odtlib._numba.compiler import INNER, OPTIONS, njit
from odtlib._numba.vector import read

LANES = 16
WIDTH = 2 * LANES
# blocks of the work array; the last four for a minimum number of rows per leaf
(SUM, MASS, TOTAL, WHOLE, LIMIT, OVER, UNDER, COUNT, ROWS, ALLOWED_OVER,
 ALLOWED_UNDER) = (block * WIDTH for block in range(11))
LANE_ARRAY = 11 * WIDTH

LEFT, RIGHT, ALLOWED_LEFT, ALLOWED_RIGHT = range(4)     # what a sweep returns of each threshold

# progress of a depth-two solve: its best split, and what it has done
FEATURE, THRESHOLD, BATCHES, SWEPT, N_PROGRESS = range(5)


class Node(NamedTuple):
    """The rows of a node sorted by every feature, its thresholds, and what is known of these."""

    orders: np.ndarray          # (sweeps, n_features, n_rows)
    tie_states: np.ndarray
    cuts: np.ndarray            # rows on the left of each threshold
    last_ids: np.ndarray        # id of their largest value
    n_cuts: np.ndarray          # (n_features,)
    leaves: np.ndarray          # (2, n_features, n_thresholds): what both sides cost as leaves
    lower: np.ndarray           # bounds of the relaxed costs of both sides,
    swept: np.ndarray           # exact where this is true
    hints: np.ndarray           # per feature, the best threshold so far,
    promise: np.ndarray         # what that costs, -1 before the first batch,
    bounds: np.ndarray          # a lower bound,
    n_open: np.ndarray          # and how many thresholds are open
    progress: np.ndarray
    leaf: float = 0.0           # the cost of one leaf

    @property
    def n_rows(self):
        """Number of rows."""
        return self.orders.shape[2]

    @property
    def known(self):
        """Which thresholds were swept (feature, id), and the relaxed costs of both sides."""
        features, places = map(np.ascontiguousarray, np.nonzero(self.swept))
        return (features, self.last_ids[features, places],
                self.lower[LEFT, features, places], self.lower[RIGHT, features, places])


class Batch(NamedTuple):
    """Work of a batch of thresholds."""

    bucket: np.ndarray          # (n_rows,)
    lanes: np.ndarray           # (LANE_ARRAY,)
    saved: np.ndarray           # (4, LANES)
    chosen: np.ndarray          # (LANES,)
    places: np.ndarray


@njit(**INNER)
def extend(lanes, first, target, weight):
    """Add a row to LANES prefixes, and compare the splits after them.

    ``lanes``: see the top of the module, changed; ``first``: the first of the neighbouring lanes;
    ``target``, ``weight``: of the row.
    """
    for y in range(LANES):
        x = first + y
        s = lanes[SUM + x] + target
        w = lanes[MASS + x] + weight
        lanes[SUM + x] = s
        lanes[MASS + x] = w
        over = s * lanes[WHOLE + x] - w * lanes[TOTAL + x]
        over *= over
        under = w * (lanes[WHOLE + x] - w) if w <= lanes[LIMIT + x] else 0.0
        better = over * lanes[UNDER + x] > lanes[OVER + x] * under
        lanes[OVER + x] = over if better and under > 0.0 else lanes[OVER + x]
        lanes[UNDER + x] = under if better and under > 0.0 else lanes[UNDER + x]


@njit(**INNER)
def compare_allowed(lanes, first, least):
    """Compare the splits after LANES prefixes that leave enough rows on both sides.

    The arguments are those of the module's docstring; ``first``: the first of the neighbouring
    lanes.
    """
    for y in range(LANES):
        x = first + y
        s = lanes[SUM + x]
        w = lanes[MASS + x]
        smaller = min(lanes[COUNT + x], lanes[ROWS + x] - lanes[COUNT + x])
        over = s * lanes[WHOLE + x] - w * lanes[TOTAL + x]
        over *= over
        under = w * (lanes[WHOLE + x] - w) if w <= lanes[LIMIT + x] else 0.0
        under = under if smaller >= least else 0.0
        better = over * lanes[ALLOWED_UNDER + x] > lanes[ALLOWED_OVER + x] * under
        lanes[ALLOWED_OVER + x] = over if better and under > 0.0 else lanes[ALLOWED_OVER + x]
        lanes[ALLOWED_UNDER + x] = under if better and under > 0.0 else lanes[ALLOWED_UNDER + x]


@njit(**OPTIONS)
def sweep_squares(order, tie_state, target, weight, root, cuts, share, least, bucket, lanes,
                  saved):
    """Raise ``saved`` to what the best split saves in both children of each threshold of a batch.

    The arguments are those of the module's docstring.  Beside these, with n rows in the node:

    - ``order``: (n_features, n) int32, the rows by value
    - ``tie_state``: (n_features, n) uint8, 1 if the value at that place is its own, 0 within a tie,
      2 at the end of a tie
    - ``root``: (n,) int32, the rows by the values of the root feature; ``cuts``: (LANES,) int64,
      rows on the left of each threshold, in increasing order
    - ``bucket``: (n_rows,) uint8, work
    - ``saved``: (4, LANES) float64, the result: the lines LEFT and RIGHT of all splits, the other
      two of those that leave ``least`` rows on both sides, where that is more than one
    """
    p, n = order.shape
    i = 0
    total = 0.0
    mass = 0.0
    for x in range(LANES + 1):
        end = cuts[x] if x < LANES else n
        while i < end:
            row = read(root, i)
            bucket[row] = x
            total += target[row]
            mass += weight[row]
            i += 1
        if x < LANES:
            lanes[TOTAL + x] = total
            lanes[WHOLE + x] = mass
            lanes[ROWS + x] = end
            lanes[ROWS + LANES + x] = n - end
    total = 0.0
    mass = 0.0
    for x in range(LANES - 1, -1, -1):
        while i > cuts[x]:
            i -= 1
            row = read(root, i)
            total += target[row]
            mass += weight[row]
        lanes[TOTAL + LANES + x] = total
        lanes[WHOLE + LANES + x] = mass
    for x in range(WIDTH):
        lanes[OVER + x] = 0.0
        lanes[UNDER + x] = 1.0
        lanes[ALLOWED_OVER + x] = 0.0
        lanes[ALLOWED_UNDER + x] = 1.0
        lanes[LIMIT + x] = share * lanes[WHOLE + x]
    for g in range(p):
        for x in range(WIDTH):
            lanes[SUM + x] = 0.0
            lanes[MASS + x] = 0.0
            lanes[COUNT + x] = 0.0
        for i in range(n):
            row = read(order[g], i)
            first = read(bucket, row)
            tie = read(tie_state[g], i)
            if least > 1:
                for y in range(LANES):
                    lanes[COUNT + first + y] += 1.0
            if tie == 1:
                extend(lanes, first, target[row], weight[row])
                if least > 1:
                    compare_allowed(lanes, first, least)
                continue
            t = target[row]
            m = weight[row]
            for y in range(LANES):
                lanes[SUM + first + y] += t
                lanes[MASS + first + y] += m
            if tie == 2:
                for side in range(2):
                    extend(lanes, side * LANES, 0.0, 0.0)
                    if least > 1:
                        compare_allowed(lanes, side * LANES, least)
    for x in range(WIDTH):
        side = x // LANES
        lane = x % LANES
        if lanes[WHOLE + x] > 0.0:
            best = lanes[OVER + x] / (lanes[UNDER + x] * lanes[WHOLE + x])
            saved[side, lane] = max(saved[side, lane], best)
            best = lanes[ALLOWED_OVER + x] / (lanes[ALLOWED_UNDER + x] * lanes[WHOLE + x])
            saved[ALLOWED_LEFT + side, lane] = max(saved[ALLOWED_LEFT + side, lane], best)


@njit(**OPTIONS)
def index_rows(parent, inside, ids, target, weight, node):
    """Sort the rows ``inside`` by every feature as their parent does, and list the thresholds.

    The arguments are those of the module's docstring.  Beside these, ``parent``:
    (n_features, rows of the parent) int32, these by value; ``inside``: (n_rows,) bool; ``ids``:
    (n_features, n_rows) int32, the rank of each row's value.

    Fills the arrays of ``node`` that describe columns and thresholds, ``orders`` and ``tie_states``
    forwards and, if their length is two, backwards.
    """
    orders, tie_states, cuts, leaves = node.orders, node.tie_states, node.cuts, node.leaves
    n = orders.shape[2]
    for g in range(parent.shape[0]):
        column = orders[0, g]
        i = 0
        for k in range(parent.shape[1]):
            row = parent[g, k]
            if inside[row]:
                column[i] = row
                i += 1
        here = 0
        first = True
        mass, total, square = 0.0, 0.0, 0.0
        for i in range(n):
            row = column[i]
            last = i == n - 1 or ids[g, column[i + 1]] != ids[g, row]
            tie_states[0, g, i] = (1 if first else 2) if last else 0
            if len(orders) > 1:
                orders[1, g, n - 1 - i] = row
                tie_states[1, g, n - 1 - i] = (1 if last else 2) if first else 0
            mass += weight[row]
            total += target[row]
            square += target[row] * target[row] / weight[row]
            if last and i < n - 1:
                cuts[g, here] = i + 1
                node.last_ids[g, here] = ids[g, row]
                leaves[LEFT, g, here] = max(0.0, square - total * total / mass)
                here += 1
            first = last
        node.n_cuts[g] = here
        node.n_open[g] = here
        node.bounds[g] = 0.0 if here > 0 else np.inf
        mass, total, square = 0.0, 0.0, 0.0
        for i in range(n - 1, 0, -1):
            row = column[i]
            mass += weight[row]
            total += target[row]
            square += target[row] * target[row] / weight[row]
            if here > 0 and cuts[g, here - 1] == i:
                here -= 1
                leaves[RIGHT, g, here] = max(0.0, square - total * total / mass)


@njit(**OPTIONS)
def inherit(features, ids, left, right, node):
    """Take over the costs of both sides of thresholds in a subset of the rows, as lower bounds.

    Of each threshold, (n_known,): ``features``, int64; ``ids``, int32, the rank of the largest
    value on its left; ``left``, ``right``, float64, the costs.  They are what ``node.known`` of the
    subset returns; ``node.lower`` of this ``node`` is raised.
    """
    last_ids, n_cuts, lower = node.last_ids, node.n_cuts, node.lower
    for q in range(len(features)):
        g = features[q]
        low = np.searchsorted(last_ids[g, :n_cuts[g]], ids[q])
        if low < n_cuts[g]:        # its left side holds that of the subset
            lower[LEFT, g, low] = max(lower[LEFT, g, low], left[q])
            low += last_ids[g, low] == ids[q]
        if low > 0:
            lower[RIGHT, g, low - 1] = max(lower[RIGHT, g, low - 1], right[q])


@njit(**INNER)
def cost_of_pair(left, right, left_leaf, right_leaf, budget, penalty):
    """Return the cost of a root split whose children have at most ``budget - 1`` splits.

    ``left``, ``right``: what the children cost with at most one split; ``left_leaf``,
    ``right_leaf``: what they cost as leaves; ``budget``, ``penalty``: see the top of the module.
    """
    if budget > 2:
        return left + right + penalty
    return min(left + right_leaf, left_leaf + right) + penalty


@njit(**INNER)
def close(lower, leaves, swept, n, budget, penalty, limit, chosen):
    """Spread at most LANES thresholds over those that may cost less than ``limit``.

    Of one feature with ``n`` thresholds: ``lower``: at least (2, n) float64, bounds of the relaxed
    costs of both sides, which are raised where neighbours allow it; ``leaves``: likewise, their
    costs as leaves; ``swept``: at least (n,) bool; ``chosen``: (LANES,) int64, the numbers of the
    thresholds, a result; ``budget``, ``penalty``: see the top of the module.

    Returns how many are open, and a lower bound of the relaxed cost of all thresholds.
    """
    left, right = lower[LEFT], lower[RIGHT]
    for k in range(1, n):
        left[k] = max(left[k], left[k - 1])
        right[n - 1 - k] = max(right[n - 1 - k], right[n - k])
    n_open = 0
    proved = np.inf
    for k in range(n):
        here = cost_of_pair(left[k], right[k], leaves[LEFT, k], leaves[RIGHT, k], budget, penalty)
        proved = min(proved, here)
        n_open += not swept[k] and here < limit
    wanted = 0
    seen = 0
    for k in range(n):
        here = cost_of_pair(left[k], right[k], leaves[LEFT, k], leaves[RIGHT, k], budget, penalty)
        if not swept[k] and here < limit:
            if n_open <= LANES or seen == (2 * wanted + 1) * n_open // (2 * LANES):
                chosen[wanted] = k
                wanted += 1
            seen += 1
    return n_open, proved


@njit(**OPTIONS)
def solve_pair(node, target, weight, share, budget, penalty, least, cap, tolerance, work, batch,
               best):
    """Find the best tree of two or three splits if it costs less than ``cap``, else bound it.

    The arguments are those of the module's docstring.  Beside these, ``tolerance``: trees that are
    better by no more count as equal; ``work``: row visits that may be spent; ``batch``: `Batch`,
    work; ``best``: (1,) float64, the cost of the best tree known, whose root is
    ``progress[FEATURE]`` and ``progress[THRESHOLD]``.

    Returns False when ``work`` is spent, and called again, it goes on; True once it is done.
    """
    (orders, tie_states, cuts, _, n_cuts, leaves, lower, swept, hints, promise, bounds, n_open,
     progress, _) = node
    bucket, lanes, saved, chosen, places = batch
    p, n = orders.shape[1:]
    while True:
        g = -1
        for h in range(p):      # every feature once, then the most promising first
            if n_open[h] > 0 and (g < 0 or promise[h] < promise[g]):
                g = h
        if g < 0:
            return True
        limit = min(best[0], cap) - tolerance
        n_open[g], bounds[g] = close(lower[:, g], leaves[:, g], swept[g], n_cuts[g], budget,
                                     penalty, limit, chosen)
        if n_open[g] == 0:
            continue
        if work <= 0:
            return False
        work -= p * n * len(orders) * (2 if least > 1 else 1)
        k = min(n_open[g], LANES)
        for x in range(LANES):
            places[x] = cuts[g, chosen[x]] if x < k else n
            for line in range(4):
                saved[line, x] = 0.0
        for s in range(len(orders)):
            sweep_squares(orders[s], tie_states[s], target, weight, orders[0, g], places, share,
                          least, bucket, lanes, saved)
        progress[BATCHES] += 1
        progress[SWEPT] += k
        for x in range(k):
            t = chosen[x]
            left_leaf, right_leaf = leaves[LEFT, g, t], leaves[RIGHT, g, t]
            left = left_leaf - max(0.0, saved[LEFT, x] - penalty)
            right = right_leaf - max(0.0, saved[RIGHT, x] - penalty)
            swept[g, t] = True
            lower[LEFT, g, t] = max(lower[LEFT, g, t], left)
            lower[RIGHT, g, t] = max(lower[RIGHT, g, t], right)
            if least > 1:
                if min(places[x], n - places[x]) < least:
                    continue
                left = left_leaf - max(0.0, saved[ALLOWED_LEFT, x] - penalty)
                right = right_leaf - max(0.0, saved[ALLOWED_RIGHT, x] - penalty)
            cost = cost_of_pair(left, right, left_leaf, right_leaf, budget, penalty)
            if promise[g] < 0.0 or cost < promise[g]:
                promise[g] = max(0.0, cost)
                hints[g] = t
            if cost < best[0]:
                best[0] = cost
                progress[FEATURE] = g
                progress[THRESHOLD] = t
        if promise[g] < 0.0:        # no threshold of the batch is allowed
            promise[g] = 1e300
        n_open[g] -= k
        if n_open[g] == 0:
            n_open[g] = 1           # to bring its bound up to date
