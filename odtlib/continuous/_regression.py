"""The sweep for squared error: best last splits of both children for a batch of root thresholds.

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
"""

from __future__ import annotations

from numba import njit

from odtlib._numba.vector import read

LANES = 16
WIDTH = 2 * LANES
# blocks of the work array
SUM, MASS, TOTAL, WHOLE, LIMIT, OVER, UNDER = (block * WIDTH for block in range(7))
LANE_ARRAY = 7 * WIDTH


@njit(cache=True, nogil=True, error_model="numpy")
def sweep_squares(order, tie_state, target, weight, root, cuts, share, bucket, lanes, saved):
    """Raise ``saved`` to what the best split saves in both children of each threshold of a batch.

    ``tie_state[g, i]``: 1 if the value at place i of column g is its own, 0 within a tie, 2 at the
    end of a tie.  ``target``: times weight; ``root``: the rows by the values of the root
    feature; ``cuts``: rows on the left of each of LANES thresholds, in increasing order.
    ``share``: the largest share of a child's weight in a prefix that is compared.
    ``saved[side, lane]``: for each child.
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
        lanes[LIMIT + x] = share * lanes[WHOLE + x]
    for g in range(p):
        for x in range(2 * WIDTH):
            lanes[x] = 0.0
        for i in range(n):
            row = read(order[g], i)
            first = read(bucket, row)
            t = target[row]
            m = weight[row]
            if read(tie_state[g], i) == 1:
                for y in range(LANES):
                    x = first + y
                    s = lanes[SUM + x] + t
                    w = lanes[MASS + x] + m
                    lanes[SUM + x] = s
                    lanes[MASS + x] = w
                    over = s * lanes[WHOLE + x] - w * lanes[TOTAL + x]
                    over *= over
                    under = w * (lanes[WHOLE + x] - w) if w <= lanes[LIMIT + x] else 0.0
                    better = over * lanes[UNDER + x] > lanes[OVER + x] * under
                    lanes[OVER + x] = over if better and under > 0.0 else lanes[OVER + x]
                    lanes[UNDER + x] = under if better and under > 0.0 else lanes[UNDER + x]
                continue
            for y in range(LANES):
                x = first + y
                lanes[SUM + x] += t
                lanes[MASS + x] += m
            if read(tie_state[g], i) == 2:
                for x in range(WIDTH):
                    s = lanes[SUM + x]
                    w = lanes[MASS + x]
                    over = s * lanes[WHOLE + x] - w * lanes[TOTAL + x]
                    over *= over
                    under = w * (lanes[WHOLE + x] - w) if w <= lanes[LIMIT + x] else 0.0
                    better = over * lanes[UNDER + x] > lanes[OVER + x] * under
                    lanes[OVER + x] = over if better and under > 0.0 else lanes[OVER + x]
                    lanes[UNDER + x] = under if better and under > 0.0 else lanes[UNDER + x]
    for x in range(LANES):
        for side in range(2):
            lane = side * LANES + x
            if lanes[WHOLE + lane] > 0.0:
                best = lanes[OVER + lane] / (lanes[UNDER + lane] * lanes[WHOLE + lane])
                saved[side, x] = max(saved[side, x], best)
