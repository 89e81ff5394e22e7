"""Exact search over all thresholds: sorted columns, depth-two trees, and the levels above them.

Objectives are integers: ``unit`` per misclassified row, or integer weights.  The *mass* of a set of
rows is what it would cost to get all of them wrong.  Thresholds of a feature in a node are numbered
in increasing order; a threshold is told to the outside as (feature, a row with the largest value on
its left).

Interval bounds.  Let a < t < b be thresholds of one feature, L and R the optimal objectives of the
left and the right child, and ``m`` the mass on the left.  Adding rows never makes a tree cheaper,
and costs at most their mass, hence

    L_t >= max(L_a, L_b - (m_b - m_t))   and   R_t >= max(R_b, R_a - (m_t - m_a)),

which closes the interval (a, b), or shrinks it from both ends, once L_t + R_t cannot be below the
incumbent.  With a smallest leaf size the first terms do not hold (a subset may forbid a split), so
they are taken as zero; the second terms do.

With a budget of splits the two children share what the root leaves, which can be divided in several
ways.  All bounds hold for trees of a fixed budget, so a feature of the root is searched once for
each division, as if it were several features: *candidate* ``f * n_divisions + division``.  Without
a budget there is one division, and a candidate is a feature.

Kernels work in slices: ``search`` returns once ``state[WORK]`` has passed ``state[LIMIT]`` and goes
on from the same arrays when it is called again.

Arguments that several kernels share:

- ``columns``: `Columns`, the sorted columns; ``slot``: that of the node; ``rows``: how many it has
- ``keys``: (n_features, n_rows) int32 or int64, key of each row in each column (see ``_columns``)
- ``labels``: (n_rows,) uint16, classes; ``weight``: (n_rows,) int64, what getting each row wrong
  costs, or None where each costs ``unit``
- ``problem``: (6,) int64, the constants UNIT to ALLOWED_GAP
- ``table_two``, ``table_many``: tables of the sweeps; with weights the first is None and the second
  that of `sweep_weighted`
- ``pair``, ``levels``, ``cache``: `Pair`, `Levels` and `Cache`; ``tally``: (4, N_CLASSES) int64,
  work
- ``state``: (STATE_SIZE,) int64, what the slices share, WORK to HITS
- ``level``: that of the node, 0 at the root; ``frame``: (FRAME_SIZE,) int64, its line of ``frames``
- ``budget``: splits that the tree may have, or UNLIMITED
- ``monotone``: whether leaves may have any size, so that more rows never make a tree cheaper
- ``n_classes``: classes of the node, whose numbers are compact
- ``two``: whether `sweep_two` evaluates the batch; ``half``: thresholds that half of it holds;
  ``parts``: how many candidates it has
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from odtlib._numba.compiler import INNER, OPTIONS, njit
from odtlib._numba.vector import (
    LANES,
    add_where,
    largest,
    load32,
    read,
    spread_like,
    store,
    write,
)
from odtlib.continuous._columns import Columns as Columns
from odtlib.continuous._columns import split_node
from odtlib.continuous._sweep import (
    BUCKETS_MANY,
    BUCKETS_TWO,
    CLASS_SHIFT,
    HALF_MANY,
    HALF_TWO,
    WIDTH_TWO,
    sweep_many,
    sweep_two,
    sweep_weighted,
)

INFINITE = 1 << 60

# state: what the slices of one search share
WORK, LIMIT, LEVEL, RESULT = 0, 1, 2, 3
PAIR_ROOT, PAIR_VALUE = 4, 5                       # root split of the last depth-two solve
PAIR_PHASE, PAIR_STEP, PAIR_STUMP, PAIR_BEST, PAIR_CLASSES, PAIR_MASS = range(6, 12)
NODES, PAIRS, BATCHES, EVALUATED, STORED, HITS = range(12, 18)      # counters, to the end
STATE_SIZE = 18

LEAF, STUMP = -1, -2       # roots of a depth-two solution that is smaller than depth two

# an interval between two evaluated thresholds a and b: thresholds LOW .. HIGH - 1 are open
LOW, HIGH, MASS_A, LEFT_A, RIGHT_A, MASS_B, LEFT_B, RIGHT_B = range(8)

# per half of a batch: candidate, its feature, its thresholds, and what the children may spend
CANDIDATE, HALF_FEATURE, HALF_SIZE, LEFT_BUDGET, RIGHT_BUDGET = range(5)

# per feature, in a depth-two solve
ERROR, INDEX, CLOSED, INTERVALS, OPEN = range(5)

# problem: constants of one search
UNIT, PENALTY, MIN_LEAF, N_CLASSES, DEPTH, ALLOWED_GAP = range(6)
NO_BUDGET = 3       # splits that a tree of depth two may have anyway
UNLIMITED = 1 << 31     # a budget that no tree exhausts, because there are fewer rows


class Pair(NamedTuple):
    """Work of a depth-two solve, which a slice may interrupt."""

    vectors: np.ndarray         # (5, lanes)
    buckets: np.ndarray         # (n_rows + LANES,)
    code: np.ndarray            # (n_rows,): class and bucket
    classes: np.ndarray         # (2, n_classes): compact numbers, and weights
    errors: np.ndarray          # (4, 2 * HALF_TWO)
    chosen: np.ndarray          # thresholds of a batch
    halves: np.ndarray          # (2, 5)
    intervals: np.ndarray       # (n_candidates, intervals, 8)
    spare: np.ndarray           # (intervals, 8)
    features: np.ndarray        # (n_candidates, 5)


class Levels(NamedTuple):
    """What each level of the search above depth two holds; the root is level 0.

    The shapes are those of ``search_arrays`` in ``solver``.
    """

    frames: np.ndarray
    probes: np.ndarray          # (n_candidates, 4), of the root
    profiles: np.ndarray
    lower: np.ndarray           # lower bound per candidate
    feature_order: np.ndarray
    seed_threshold: np.ndarray
    archive: np.ndarray
    similar: np.ndarray
    solved: np.ndarray
    sides: np.ndarray
    trees: np.ndarray
    child_trees: np.ndarray
    members: np.ndarray         # the rows of both children as bit sets


class Cache(NamedTuple):
    """What was proved for subsets of the rows: rows are compared bit by bit, no hash misleads.

    ``table``: (a power of two,) int32, one more than the number of an entry, or 0; ``entries``:
    (n_entries, 3) int64, HASH to AT_LEAST; ``sets``: (n_entries, words) int64, their rows as bit
    sets.
    """

    table: np.ndarray
    entries: np.ndarray
    sets: np.ndarray


@njit(**INNER)
def best_stumps(order, cut, count, rows, labels, weight, problem, feature, left_rows, budgets,
                target, side_of, tally, result):
    """Find the best splits of the first ``left_rows`` rows of a column, and of the others.

    The slow way, for the trees that are kept; it ends once both sides together cost ``target``.

    The arguments are those of the module's docstring.  Beside these, ``order``:
    (n_features, n_rows) rows by value; ``cut``: (n_features, n_rows + 1), rows on the left of each
    threshold; ``count``: (n_features, 3), how many there are; ``feature``: the column; ``budgets``:
    splits of both sides, where one without is a leaf; ``side_of``: (n_rows,) unsigned, work.

    ``result``, at least (2, 5) int64, gets a line for each side: objective, feature (or LEAF), row
    with the largest value on the left; the rest of it is work.
    """
    n_classes = problem[N_CLASSES]
    least = problem[MIN_LEAF]
    tally[:] = 0
    for i in range(rows):
        row = read(order[feature], i)
        s = np.int64(i >= left_rows)
        side_of[row] = s
        tally[s, read(labels, row)] += problem[UNIT] if weight is None else weight[row]
    for s in range(2):
        most = 0
        mass = 0
        for c in range(n_classes):
            most = max(most, tally[s, c])
            mass += tally[s, c]
        result[s, 0] = mass - most
        result[s, 1] = LEAF
    for g in range(order.shape[0]):
        if result[0, 0] + result[1, 0] <= target:
            return
        tally[2:] = 0
        result[:2, 3:5] = 0           # rows seen, and rows seen at the last threshold
        i = 0
        for k in range(count[g, 0]):
            while i < cut[g, k]:
                row = read(order[g], i)
                s = read(side_of, row)
                tally[2 + s, read(labels, row)] += problem[UNIT] if weight is None else weight[row]
                result[s, 3] += 1
                i += 1
            for s in range(2):
                seen = result[s, 3]
                rest = (left_rows if s == 0 else rows - left_rows) - seen
                if seen == result[s, 4] or min(seen, rest) < least or budgets[s] == 0:
                    continue
                result[s, 4] = seen
                cost = problem[PENALTY]
                low = 0
                high = 0
                for c in range(n_classes):
                    cost += tally[s, c]
                    low = max(low, tally[2 + s, c])
                    high = max(high, tally[s, c] - tally[2 + s, c])
                cost -= low + high
                if cost < result[s, 0]:
                    result[s, 0] = cost
                    result[s, 1] = g
                    result[s, 2] = read(order[g], i - 1)


def divide_budget(depth, budget):
    """Return how many ways to divide a budget between two children exist, and the first left share.

    ``depth``: levels of splits that the node may have; ``budget``: splits that it may have.  The
    left share grows by one split from division to division; the right child gets the others.
    """
    if budget == UNLIMITED:
        return 1, UNLIMITED
    most = (1 << min(depth - 1, 30)) - 1
    if budget > 2 * most:
        return 1, most
    first = max(0, budget - 1 - most)
    return max(1, min(most, budget - 1) - first + 1), first


_divide_budget = njit(**INNER)(divide_budget)


@njit(**INNER)
def child_budgets(depth, budget, candidate):
    """Return the feature of a candidate and the budgets of the left and the right child.

    ``depth``, ``budget``: as in `divide_budget`; ``candidate``: see the top of the module.
    """
    n_divisions, first = _divide_budget(depth, budget)
    left = first + candidate % n_divisions
    right = left if budget == UNLIMITED else min((1 << min(depth - 1, 30)) - 1, budget - 1 - left)
    return candidate // n_divisions, (left, right)


# ------------------------------------------------------------------ intervals


@njit(**INNER)
def allowed_thresholds(cut, n_cuts, rows, least):
    """Return the first threshold that leaves ``least`` rows on both sides, and the end of these.

    ``cut``: (n_rows + 1,), rows on the left of each threshold of a feature, of which there are
    ``n_cuts``; ``rows``: rows of the node.
    """
    low = 0
    high = n_cuts
    if least > 1:
        while low < high and cut[low] < least:
            low += 1
        while low < high and rows - cut[high - 1] < least:
            high -= 1
    return low, high


@njit(**INNER)
def mass_at(cut, mass, weight, unit, threshold):
    """Return the mass on the left of a threshold.

    ``cut``, ``mass``: (n_rows + 1,), rows and weight on the left of each threshold of a feature,
    where ``mass`` is empty without weights; ``weight``: None without weights; ``unit``: what a row
    costs then; ``threshold``: its number.
    """
    return np.int64(cut[threshold]) * unit if weight is None else mass[threshold]


@njit(**INNER)
def first_at_least(cut, mass, weight, unit, low, high, target):
    """Return the first threshold in low .. high - 1 with that much mass on its left, else high.

    ``cut``, ``mass``, ``weight``, ``unit``: as in `mass_at`; ``low``, ``high``: thresholds;
    ``target``: the mass.
    """
    while low < high:
        middle = (low + high) >> 1
        if mass_at(cut, mass, weight, unit, middle) < target:
            low = middle + 1
        else:
            high = middle
    return low


@njit(**INNER)
def interval_bounds(mass_a, left_a, right_a, mass_b, left_b, right_b):
    """Return lower bounds of L + R anywhere between two evaluated thresholds.

    ``mass_a``, ``mass_b``: mass on the left of the thresholds a and b; ``left_a``, ``right_a``,
    ``left_b``, ``right_b``: lower bounds of the objectives of their children.  The first bound is
    that of the ends alone, the second at least as large.
    """
    between = mass_b - mass_a
    flat = max(left_a + right_b, left_b + right_a - between)
    return flat, max(flat, (left_a + right_a + left_b + right_b - between + 1) >> 1)


@njit(**INNER)
def shrink(cut, mass, weight, unit, bound, low, high, mass_a, left_a, right_a, mass_b, left_b,
           right_b):
    """Shrink an interval to the thresholds that may give less than ``bound``.

    ``cut``, ``mass``, ``weight``, ``unit``: as in `mass_at`; ``low``, ``high``: first threshold of
    the interval, and end; ``mass_a``, ``left_a``, ``right_a``, ``mass_b``, ``left_b``, ``right_b``:
    as in `interval_bounds`, of the thresholds next to it.

    Returns the first of the thresholds, their end, and a lower bound for the whole interval.
    """
    flat, proved = interval_bounds(mass_a, left_a, right_a, mass_b, left_b, right_b)
    if flat >= bound:
        return high, high, proved
    over = left_a + right_a - bound
    if over >= 0:
        low = first_at_least(cut, mass, weight, unit, low, high, mass_a + over + 1)
    over = left_b + right_b - bound
    if over >= 0:
        high = first_at_least(cut, mass, weight, unit, low, high, mass_b - over)
    return low, high, proved


@njit(**INNER)
def choose(intervals, n_intervals, cut, mass, weight, unit, bound, want, chosen, feature_state):
    """Shrink the intervals to what may give less than ``bound`` and spread thresholds over them.

    ``intervals``: (room, 8) int64, those of a candidate, LOW to RIGHT_B, the first ``n_intervals``
    of which are in use; ``cut``, ``mass``, ``weight``, ``unit``: as in `mass_at`; ``want``:
    thresholds sought; ``chosen``: at least (want,) int64, their numbers, the result;
    ``feature_state``: (5,) int64, ERROR to OPEN of the candidate.

    Closed intervals leave; what they prove goes to ``feature_state[CLOSED]``.  Returns how many
    thresholds are in ``chosen``.
    """
    left = 0
    n_open = 0
    for j in range(n_intervals):
        here = intervals[j]
        low, high, proved = shrink(
            cut, mass, weight, unit, bound, here[LOW], here[HIGH], here[MASS_A], here[LEFT_A],
            here[RIGHT_A], here[MASS_B], here[LEFT_B], here[RIGHT_B])
        if low >= high:
            feature_state[CLOSED] = min(feature_state[CLOSED], max(proved, bound))
            continue
        if low > here[LOW] or high < here[HIGH]:
            feature_state[CLOSED] = min(feature_state[CLOSED], bound)
        if left < j:
            for q in range(MASS_A, RIGHT_B + 1):
                intervals[left, q] = here[q]
        intervals[left, LOW] = low
        intervals[left, HIGH] = high
        left += 1
        n_open += high - low
    feature_state[INTERVALS] = left
    if left == 0:
        return 0
    if left + want + 2 > intervals.shape[0]:     # no room for more: take thresholds from the first
        k = min(want, intervals[0, HIGH] - intervals[0, LOW])
        for x in range(k):
            chosen[x] = intervals[0, LOW] + x
        return k
    k = 0
    fed = min(left, want)
    spare = want - fed
    for j in range(fed):
        low = intervals[j, LOW]
        size = intervals[j, HIGH] - low
        share = min(size, 1 + spare * size // n_open)
        step = (size << 20) // share         # in fixed point, for one division
        for x in range(share):
            chosen[k] = low + ((step * x + (step >> 1)) >> 20)
            k += 1
    return k


@njit(**INNER)
def refine(intervals, spare, cut, mass, weight, unit, monotone, bound, chosen, k, errors,
           feature_state):
    """Split the intervals at the thresholds that were evaluated, and drop what is closed now.

    ``intervals``, ``cut``, ``mass``, ``weight``, ``unit``, ``bound``, ``feature_state``: as in
    `choose`; ``spare``: (room, 8) int64, work; ``monotone``: see the top of the module; ``chosen``:
    the evaluated thresholds, ``k`` of them; ``errors``: at least (2, k) int64, the objectives of
    their children.
    """
    n_intervals = feature_state[INTERVALS]
    for j in range(n_intervals):
        for q in range(8):
            spare[j, q] = intervals[j, q]
    w = 0
    x = 0
    for j in range(n_intervals):
        old = spare[j]
        low, mass_a, left_a, right_a = old[LOW], old[MASS_A], old[LEFT_A], old[RIGHT_A]
        more = True
        while more:
            more = x < k and chosen[x] < old[HIGH]
            if more:
                high = chosen[x]
                mass_b = mass_at(cut, mass, weight, unit, high)
                left_b, right_b = errors[0, x], errors[1, x]
                x += 1
            else:
                high, mass_b, left_b, right_b = old[HIGH], old[MASS_B], old[LEFT_B], old[RIGHT_B]
            least_b = right_b if monotone or not more else 0     # right of what lies before b
            if low < high:
                flat, proved = interval_bounds(mass_a, left_a, right_a, mass_b, left_b, least_b)
                if flat >= bound:
                    feature_state[CLOSED] = min(feature_state[CLOSED], proved)
                else:
                    here = intervals[w]
                    (here[LOW], here[HIGH], here[MASS_A], here[LEFT_A], here[RIGHT_A],
                     here[MASS_B], here[LEFT_B], here[RIGHT_B]) = (
                         low, high, mass_a, left_a, right_a, mass_b, left_b, least_b)
                    w += 1
            low, mass_a, left_a, right_a = high + 1, mass_b, left_b if monotone else 0, right_b
    feature_state[INTERVALS] = w


# ------------------------------------------------------------------ depth two


@njit(**INNER)
def bucket_column(cuts, chosen, first, k, rows, buckets):
    """Write the bucket of each place of a column: how many chosen thresholds lie before it.

    ``cuts``: (n_rows + 1,), rows on the left of each threshold; ``chosen``: int64, thresholds, of
    which the ``k`` from place ``first`` on count; ``rows``: rows of the node; ``buckets``:
    (n_rows + LANES,) unsigned, the result.
    """
    i = 0
    for x in range(k + 1):       # whole vectors, of which the next bucket overwrites some
        end = np.int64(cuts[chosen[first + x]]) if x < k else rows
        filled = spread_like(load32(buckets, 0), x)
        while i < end:
            store(buckets, i, filled)
            i += LANES
        i = end


@njit(**INNER)
def code_two_classes(column, labels, classes, relabel, h, rows, buckets, code):
    """Write class and buckets of each row, for a node of two classes whose leaves need no count.

    ``column``: (n_rows,), rows by value, of which the first ``rows`` count; ``labels``: (n_rows,)
    uint16, classes; ``classes``: (2, N_CLASSES) int64, whose first line renumbers them if
    ``relabel`` is true; ``h``: half of the batch, 0 or 1; ``buckets``: of the places; ``code``:
    (n_rows,) unsigned, the result, to which the second half adds.
    """
    for i in range(rows):
        row = read(column, i)
        x = read(buckets, i)
        if h == 1:
            write(code, row, read(code, row) + x)
        else:
            c = read(labels, row)
            if relabel:
                c = read(classes[0], c)
            write(code, row, (c * BUCKETS_TWO + x) * BUCKETS_TWO)


@njit(**INNER)
def code_and_count(column, cuts, labels, weight, two, n_classes, h, half, size, rows, pair):
    """Write class and buckets of each row, and count what one leaf on either side would hold.

    The arguments are those of the module's docstring.  Beside these, ``column``: (n_rows,), rows by
    value; ``cuts``: (n_rows + 1,), rows on the left of each threshold of this feature; ``h``: half
    of the batch, 0 or 1; ``size``: how many thresholds are in it.

    Fills ``pair.code``, the totals of each lane and class (``vectors[1]``), the lanes of
    ``vectors[0]`` and ``vectors[4]``, and ``errors[2:]``: the largest class on the left and on the
    right.
    """
    best, total, classes, code = pair.vectors[0], pair.vectors[1], pair.classes, pair.code
    width, first = 4 * half, h * half
    lane = 2 * first                     # of the left child at the first threshold
    for c in range(n_classes):
        for x in range(half + 1):
            total[c * width + lane + x] = 0
    for i in range(rows):
        row = read(column, i)
        x = read(pair.buckets, i)
        c = read(classes[0], read(labels, row))
        total[c * width + lane + x] += 1 if weight is None else weight[row]
        if h == 1:
            write(code, row, read(code, row) + x)
        elif two:
            write(code, row, (c * BUCKETS_TWO + x) * BUCKETS_TWO)
        else:
            write(code, row, (c << CLASS_SHIFT) + x * BUCKETS_MANY)
    for c in range(n_classes):
        for x in range(lane, lane + half):
            total[c * width + x + 1] += total[c * width + x]
        classes[1, c] = total[c * width + lane + half]
    for x in range(half):
        most = 0
        rest = 0
        for c in range(n_classes):
            left = np.int64(total[c * width + lane + x])
            total[c * width + lane + half + x] = classes[1, c] - left
            most = max(most, left)
            rest = max(rest, classes[1, c] - left)
        pair.errors[2, first + x] = most
        pair.errors[3, first + x] = rest
        best[lane + x] = -rows if two else most
        best[lane + half + x] = -rows if two else rest
        if weight is not None:
            end = np.int64(cuts[pair.chosen[first + x]]) if x < size else rows
            pair.vectors[4, lane + x] = end
            pair.vectors[4, lane + half + x] = rows - end


@njit(**INNER)
def batch_errors(cut, rows, weight, problem, n_classes, two, half, pair):
    """Turn what the sweeps have found into the objectives of both children of each threshold.

    The arguments are those of the module's docstring.  Beside these, ``cut``:
    (n_features, n_rows + 1), rows on the left of each threshold.  Fills the first two lines of
    ``pair.errors``.
    """
    best, total, halves, errors = pair.vectors[0], pair.vectors[1], pair.halves, pair.errors
    unit, penalty, width = problem[UNIT], problem[PENALTY], 4 * half
    mass = rows
    if weight is not None:
        mass = 0
        for c in range(n_classes):
            mass += pair.classes[1, c]
    for y in range(2 * half):
        h = np.int64(y >= half)
        x = y - h * half
        lane = y + h * half
        held = x < halves[h, HALF_SIZE]
        left = rows
        if weight is not None:
            left = 0
            for c in range(n_classes):
                left += total[c * width + lane]
        elif held:
            left = np.int64(cut[halves[h, HALF_FEATURE], pair.chosen[y]])
        for side in range(2):
            weighs = mass - left if side else left
            error = weighs - best[lane + side * half]
            error = (error >> 1 if two else error) * unit
            leaf = (weighs - errors[2 + side, y]) * unit
            if penalty > 0:
                error = min(error + penalty, leaf)
            if halves[h, LEFT_BUDGET + side] == 0 and (held or side == 1):
                error = leaf
            errors[side, y] = error


@njit(**INNER)
def evaluate(columns, slot, rows, labels, weight, problem, n_classes, table_two, table_many, pair):
    """Compute the optimal stumps of both children for a batch of thresholds.

    The arguments are those of the module's docstring.

    ``pair.halves``: what each half of the batch holds; ``chosen`` and the columns of ``errors`` are
    divided likewise.  ``errors[0]`` and ``errors[1]``, the result: objectives of the left and the
    right child; where a half has no further threshold the left child has all rows.  A child without
    a budget is a leaf.  ``classes[0]``: compact class numbers.
    """
    order, cut = columns.order[slot], columns.cut[slot]
    segment, counts = columns.segment[slot], columns.count[slot]
    vectors, code, halves = pair.vectors, pair.code, pair.halves
    best = vectors[0]
    two = table_two is not None and n_classes == 2
    half = HALF_TWO if two else HALF_MANY
    leaves = problem[PENALTY] > 0
    for h in range(2):
        leaves = leaves or halves[h, LEFT_BUDGET] == 0 or halves[h, RIGHT_BUDGET] == 0
    if two and not leaves:
        best[:WIDTH_TWO] = -rows
    for h in range(2):
        feature, size = halves[h, HALF_FEATURE], halves[h, HALF_SIZE]
        bucket_column(cut[feature], pair.chosen, h * half, size, rows, pair.buckets)
        if two and not leaves:      # a node may hold two of many classes
            code_two_classes(order[feature], labels, pair.classes, problem[N_CLASSES] > 2, h, rows,
                             pair.buckets, code)
        else:
            code_and_count(order[feature], cut[feature], labels, weight, two, n_classes, h, half,
                           size, rows, pair)
    for g in range(order.shape[0]):
        if counts[g, 0] == 0:
            continue
        if weight is not None:
            sweep_weighted(order[g], segment[g], counts[g, 1], code, table_many, best, n_classes,
                           vectors[1], vectors[2], vectors[3], weight, problem[MIN_LEAF],
                           vectors[4])
        if table_two is not None:
            if two:
                sweep_two(order[g], segment[g], counts[g, 1], code, table_two, best)
            else:
                sweep_many(order[g], segment[g], counts[g, 1], code, table_many, best, n_classes,
                           vectors[1], vectors[2], vectors[3])
    batch_errors(cut, rows, weight, problem, n_classes, two, half, pair)


@njit(**INNER)
def begin_pair(columns, slot, rows, labels, weight, problem, n_divisions, pair, state):
    """Begin a depth-two solve: the classes of the node, its leaf, one interval for each candidate.

    The arguments are those of the module's docstring.  Beside these, ``n_divisions``: candidates of
    each feature.  Fills ``pair`` and ``state``.
    """
    cut, counts = columns.cut[slot], columns.count[slot]
    classes, intervals, features = pair.classes, pair.intervals, pair.features
    state[PAIRS] += 1
    classes[1] = 0
    for i in range(rows):
        row = read(columns.order[slot, 0], i)
        classes[1, labels[row]] += problem[UNIT] if weight is None else weight[row]
    total = 0
    largest = 0
    present = 0
    for c in range(problem[N_CLASSES]):
        classes[0, c] = present
        if classes[1, c] > 0 or problem[N_CLASSES] == 2:
            present += 1
        total += classes[1, c]
        largest = max(largest, classes[1, c])
    state[PAIR_BEST] = total - largest
    state[PAIR_MASS] = total
    state[PAIR_CLASSES] = present
    state[PAIR_ROOT] = LEAF
    state[PAIR_STUMP] = -1
    state[PAIR_STEP] = 0
    for v in range(cut.shape[0] * n_divisions):
        f = v // n_divisions
        low, high = allowed_thresholds(cut[f], counts[f, 0], rows, problem[MIN_LEAF])
        features[v, ERROR] = INFINITE
        features[v, INDEX] = -1
        features[v, CLOSED] = INFINITE
        features[v, OPEN] = 0
        features[v, INTERVALS] = low < high
        intervals[v, 0] = 0
        intervals[v, 0, LOW] = low
        intervals[v, 0, HIGH] = high
        intervals[v, 0, MASS_B] = total
    state[PAIR_PHASE] = 1


@njit(**INNER)
def next_candidate(lower, bound, candidates, parts, pair, state):
    """Return the next candidate for a batch: each once in order, then the most promising; or -1.

    The arguments are those of the module's docstring.  Beside these, ``candidates``: how many there
    are; ``lower``: (candidates,) int64, their lower bounds, where those of at least ``bound`` are
    left out; ``parts`` counts the candidates that the batch has already.
    """
    features, intervals = pair.features, pair.intervals
    stump = state[PAIR_STUMP]
    while state[PAIR_STEP] < candidates:
        v = state[PAIR_STEP]
        state[PAIR_STEP] += 1
        if features[v, INTERVALS] > 0 and lower[v] < bound:
            if stump >= 0:
                intervals[v, 0, RIGHT_A] = stump
                intervals[v, 0, LEFT_B] = stump
            return v
    v = -1
    for other in range(candidates):
        if (features[other, OPEN] and (parts == 0 or other != pair.halves[0, CANDIDATE])
                and (v < 0 or features[other, ERROR] < features[v, ERROR])):
            v = other
    return v


@njit(**INNER)
def fill_batch(cut, mass, weight, problem, budget, bound, half, lower, candidates, pair, state):
    """Choose the thresholds of a batch, of two candidates or of one; return how many candidates.

    The arguments are those of the module's docstring.  Beside these, ``cut``, ``mass``:
    (n_features, n_rows + 1), rows and weight on the left of each threshold; ``bound``: what a tree
    must cost less than; ``lower``, ``candidates``: as in `next_candidate`.  Fills ``pair.halves``
    and ``pair.chosen``.
    """
    halves, chosen, features, intervals = pair.halves, pair.chosen, pair.features, pair.intervals
    unit, children = problem[UNIT], bound - problem[PENALTY]
    first_batch = state[PAIR_STUMP] < 0      # its last lane is free: the left child has all rows
    parts = 0
    while parts < 2:
        v = next_candidate(lower, bound, candidates, parts, pair, state)
        if v < 0:
            break
        f, budgets = child_budgets(2, budget, v)
        k = choose(intervals[v], features[v, INTERVALS], cut[f], mass[f], weight, unit, children,
                   half - np.int64(first_batch and parts == 1), chosen[parts * half:],
                   features[v])
        features[v, OPEN] = k > 0
        if k > 0:
            halves[parts, CANDIDATE] = v
            halves[parts, HALF_FEATURE] = f
            halves[parts, HALF_SIZE] = k
            halves[parts, LEFT_BUDGET], halves[parts, RIGHT_BUDGET] = budgets
            parts += 1
    if parts == 1:               # one candidate has both halves
        v = halves[0, CANDIDATE]
        f = halves[0, HALF_FEATURE]
        k = choose(intervals[v], features[v, INTERVALS], cut[f], mass[f], weight, unit, children,
                   2 * half - np.int64(first_batch), chosen, features[v])
        for q in range(5):
            halves[1, q] = halves[0, q]
        halves[0, HALF_SIZE] = min(k, half)
        halves[1, HALF_SIZE] = k - halves[0, HALF_SIZE]
    return parts


@njit(**INNER)
def note_batch(cut, mass, weight, problem, cap, half, parts, pair, state):
    """Keep what a batch has found: the best split, and the intervals that stay open.

    The arguments are those of the module's docstring.  Beside these, ``cut``, ``mass``: as in
    `fill_batch`; ``cap``: what the tree must cost less than.  Changes ``pair`` and ``state``.
    """
    halves, chosen, errors, features = pair.halves, pair.chosen, pair.errors, pair.features
    unit, penalty, monotone = problem[UNIT], problem[PENALTY], problem[MIN_LEAF] == 1
    if state[PAIR_STUMP] < 0:
        stump = errors[0, 2 * half - 1]
        state[PAIR_STUMP] = stump
        if stump < state[PAIR_BEST]:
            state[PAIR_BEST] = stump
            state[PAIR_ROOT] = STUMP
        for h in range(parts):
            v = halves[h, CANDIDATE]
            pair.intervals[v, 0, RIGHT_A] = stump
            pair.intervals[v, features[v, INTERVALS] - 1, LEFT_B] = stump
    if parts == 1:
        halves[0, HALF_SIZE] += halves[1, HALF_SIZE]
    for h in range(parts):
        v = halves[h, CANDIDATE]
        first = h * half
        for x in range(first, first + halves[h, HALF_SIZE]):
            error = errors[0, x] + errors[1, x]
            if error < features[v, ERROR]:
                features[v, ERROR] = error
                features[v, INDEX] = chosen[x]
        if features[v, ERROR] + penalty < state[PAIR_BEST]:
            state[PAIR_BEST] = features[v, ERROR] + penalty
            state[PAIR_ROOT] = v
            state[PAIR_VALUE] = features[v, INDEX]
    for h in range(parts):
        v = halves[h, CANDIDATE]
        f = halves[h, HALF_FEATURE]
        first = h * half
        refine(pair.intervals[v], pair.spare, cut[f], mass[f], weight, unit, monotone,
               min(state[PAIR_BEST], cap) - penalty, chosen[first:], halves[h, HALF_SIZE],
               errors[:, first:], features[v])
        features[v, OPEN] = features[v, INTERVALS] > 0


@njit(**INNER)
def depth_two(columns, slot, rows, labels, weight, problem, budget, cap, lower, table_two,
              table_many, pair, state):
    """Find the best tree of depth two if its objective is below ``cap``, else bound it.

    The arguments are those of the module's docstring.  Beside these, ``lower``: (n_candidates,)
    int64, in and out, lower bounds when the root uses each candidate.

    Returns False when the slice ends first; otherwise ``state[RESULT]`` is the optimum if below
    ``cap``, else a bound of at least ``cap``, and ``state[PAIR_ROOT]``, ``state[PAIR_VALUE]`` the
    root's candidate (or LEAF, STUMP) and threshold number.
    """
    cut, mass, halves, features = columns.cut[slot], columns.mass[slot], pair.halves, pair.features
    p = cut.shape[0]
    n_divisions, _ = _divide_budget(2, budget)
    candidates = p * n_divisions
    penalty = problem[PENALTY]
    if state[PAIR_PHASE] == 0:
        begin_pair(columns, slot, rows, labels, weight, problem, n_divisions, pair, state)
    n_classes = state[PAIR_CLASSES]
    half = HALF_TWO if table_two is not None and n_classes <= 2 else HALF_MANY
    scale = 1 if n_classes <= 2 else 4
    if weight is not None:
        scale = 10 * n_classes
    known = budget == 0       # whether the optimum is
    while state[PAIR_BEST] > penalty and not known:       # no split can pay otherwise
        if state[WORK] >= state[LIMIT]:
            return False
        parts = fill_batch(cut, mass, weight, problem, budget, min(state[PAIR_BEST], cap), half,
                           lower, candidates, pair, state)
        if parts == 0:
            break
        evaluate(columns, slot, rows, labels, weight, problem, n_classes, table_two, table_many,
                 pair)
        state[WORK] += scale * p * rows + 100
        state[BATCHES] += 1
        state[EVALUATED] += halves[0, HALF_SIZE] + halves[1, HALF_SIZE]
        known = budget == 1 and state[PAIR_STUMP] < 0
        note_batch(cut, mass, weight, problem, cap, half, parts, pair, state)
    state[PAIR_PHASE] = 0
    best = state[PAIR_BEST]
    bound = best
    for v in range(0 if known else candidates):
        proved = min(features[v, ERROR], features[v, CLOSED])
        if features[v, INTERVALS] == 0:
            if proved == INFINITE:      # the feature has no threshold
                continue
            lower[v] = max(lower[v], proved + penalty)
        bound = min(bound, lower[v])
    state[RESULT] = best if best < cap else max(bound, cap)
    return True


@njit(**OPTIONS)
def rebuild_pair(columns, slot, rows, labels, weight, problem, budget, root, threshold, cost,
                 side_of, tally, result, tree):
    """Write the tree of a depth-two solution that costs ``cost``: its nodes in preorder.

    The arguments are those of the module's docstring.  Beside these, ``root``: the candidate of its
    root, LEAF or STUMP; ``threshold``: the number of its threshold; ``side_of``, ``result``: work,
    as in `best_stumps`; ``tree``: at least (7, 2) int64, or (3, 2) for a stump, the result, where a
    node is a feature, or LEAF, and the row with the largest value that goes left.
    """
    order, cut, count = columns.order[slot], columns.cut[slot], columns.count[slot]
    tree[0, 0] = LEAF
    if root == LEAF:
        return
    at = 0
    feature = 0
    left_rows = rows
    budgets = 1, 0
    if root >= 0:
        feature, budgets = child_budgets(2, budget, root)
        left_rows = np.int64(cut[feature, threshold])
        tree[0, 0] = feature
        tree[0, 1] = read(order[feature], left_rows - 1)
        cost -= problem[PENALTY]
        at = 1
    best_stumps(order, cut, count, rows, labels, weight, problem, feature, left_rows, budgets,
                cost, side_of, tally, result)
    for side in range(2 if root >= 0 else 1):
        tree[at, 0] = LEAF
        if result[side, 1] >= 0:
            tree[at, 0] = result[side, 1]
            tree[at, 1] = result[side, 2]
            tree[at + 1, 0] = LEAF
            tree[at + 2, 0] = LEAF
            at += 2
        at += 1


@njit(**INNER)
def copy_tree(source, target, at):
    """Copy a tree in preorder to place ``at`` of another and return the place after it.

    ``source``, ``target``: (n_nodes, 2) int64, nodes as in `rebuild_pair`.
    """
    q = 0
    missing = 1
    while missing > 0:
        target[at, 0] = source[q, 0]
        target[at, 1] = source[q, 1]
        missing += 1 if source[q, 0] >= 0 else -1
        q += 1
        at += 1
    return at


# ------------------------------------------------------------------ depth three and more

# frame: one level of the search
# (of what is kept for each side, LEFT comes first and the right one after it)
(PHASE, SLOT, ROWS, MASS, CAP, BEST, POSITION, FEATURE, THRESHOLD, CUT_ROWS, CUT_MASS, INTERVAL,
 LEFT, RIGHT, HALF, TURN, SIZE, KEPT, SEEN, FIRST, SIDE, LEFT_ROOT, RIGHT_ROOT, LEFT_VALUE,
 RIGHT_VALUE, BOUND, COMPARED, PROBING, BUDGET, DIVISIONS, LEFT_HASH, RIGHT_HASH) = range(32)
FRAME_SIZE = 32

# phases
START, NEXT_FEATURE, OPEN_FEATURE, NEXT_THRESHOLD, CHILD, RETURNED, FINISHED = range(7)

# what a slice ends with
RUNNING, WANTS_FEATURE, IMPROVED, DONE = range(4)

# profile: the evaluated thresholds of the current feature, with both ends
AT, AT_MASS, AT_LEFT, AT_RIGHT, AT_ARCHIVE = range(5)

SOLVED = 32     # thresholds of a node that similarity bounds look at: bits of a row's `sides`


@njit(**INNER)
def widest_interval(profile, size, cut, mass, weight, unit, monotone, bound, similar, use_similar,
                    frame):
    """Find the widest stretch of thresholds that may still give less than ``bound``.

    ``profile``: (5, n_rows + 2) int64, AT to AT_ARCHIVE, of which the first ``size`` entries hold;
    ``cut``, ``mass``, ``weight``, ``unit``: as in `mass_at`; ``monotone``, ``frame``: see the top
    of the module; ``similar``: (2, n_rows + 1) int64, that of `measure_similarity`, which counts if
    ``use_similar`` is true.

    Returns its profile entry (or -1), first threshold, and end; keeps in ``frame[BOUND]`` what the
    closed intervals and the evaluated thresholds prove.
    """
    entry = -1
    widest = 0
    first = 0
    last = 0
    proved = INFINITE
    for j in range(size - 1):
        left_a = profile[AT_LEFT, j] if monotone else 0
        right_a = profile[AT_RIGHT, j]
        if j > 0:
            proved = min(proved, profile[AT_LEFT, j] + right_a)
        low = profile[AT, j] + 1
        high = profile[AT, j + 1]
        if low >= high:
            continue
        left_b = profile[AT_LEFT, j + 1]
        right_b = profile[AT_RIGHT, j + 1] if monotone else 0
        low, high, here = shrink(cut, mass, weight, unit, bound, low, high, profile[AT_MASS, j],
                                 left_a, right_a, profile[AT_MASS, j + 1], left_b, right_b)
        if use_similar:
            while low < high and (max(similar[0, cut[low]], left_a)
                                  + max(similar[1, cut[low]], right_b) >= bound):
                low += 1
            while low < high and (max(similar[0, cut[high - 1]], left_a)
                                  + max(similar[1, cut[high - 1]], right_b) >= bound):
                high -= 1
        if low >= high:
            here = max(here, bound)
        elif cut[high - 1] - cut[low] + 1 > widest:
            entry = j
            widest = cut[high - 1] - cut[low] + 1
            first = low
            last = high
        proved = min(proved, here)
    frame[BOUND] = proved
    return entry, first, last


@njit(**INNER)
def note_evaluated(profile, size, k, threshold, mass, left, right, archived, monotone):
    """Insert a threshold at place k of a profile that has ``size`` entries.

    ``profile``: as in `widest_interval`; ``k``: the place; ``threshold``: its number; ``mass``:
    that on its left; ``left``, ``right``: lower bounds of its children; ``archived``: the line of
    the archive that keeps bounds of its children; ``monotone``: see the top of the module.
    """
    for q in range(5):
        for x in range(size, k, -1):
            profile[q, x] = profile[q, x - 1]
    profile[AT, k] = threshold
    profile[AT_MASS, k] = mass
    profile[AT_LEFT, k] = left
    profile[AT_RIGHT, k] = right
    profile[AT_ARCHIVE, k] = archived
    if monotone:
        for x in range(k + 1, size + 1):
            profile[AT_LEFT, x] = max(profile[AT_LEFT, x], left)
        for x in range(k):
            profile[AT_RIGHT, x] = max(profile[AT_RIGHT, x], right)


@njit(**INNER)
def note_solved(solved, sides, q, order, left_rows, left, right, unit):
    """Keep a solved threshold for similarity bounds.

    ``solved``: (2, SOLVED), what the children cost, in lanes of the sweeps' type; ``sides``:
    (n_rows,) uint32, a bit for each solved threshold that has the row on its left; both are
    written, at place ``q``.  ``order``: (n_rows,), rows by value, the first ``left_rows`` of which
    go left; ``left``: what the left child costs at least, less the mass of that child; ``right``:
    what the right child costs at least; ``unit``: what a row costs.
    """
    solved[0, q] = left // unit
    solved[1, q] = right // unit
    bit = 1 << q
    for i in range(left_rows):
        row = read(order, i)
        write(sides, row, read(sides, row) | bit)


@njit(**INNER)
def measure_similarity(solved, sides, order, rows, weight, unit, similar):
    """Bound both children of every prefix of a column by thresholds solved for other features.

    ``solved``, ``sides``, ``unit``: as in `note_solved`; ``order``: (n_rows,), rows by value, those
    of the node, ``rows`` many, first; ``weight``: (n_rows,) int64, or None; ``similar``:
    (2, n_rows + 1) int64, the result: ``similar[0, i]`` bounds the first i rows, ``similar[1, i]``
    the others.

    A child that holds all but mass d of a solved set costs at least that set's optimum less d.  One
    lane per solved threshold.
    """
    left = load32(solved, 0)
    right = load32(solved, SOLVED)
    term = spread_like(left, 1)
    passed = 0
    for i in range(rows + 1):
        similar[0, i] = largest(left) * unit
        similar[1, i] = (largest(right) - passed) * unit
        if i < rows:
            row = read(order, i)
            if weight is None:
                passed += 1
            else:
                term = spread_like(left, weight[row])
                passed += weight[row]
            left = add_where(left, sides, row, term)
            right = add_where(right, sides, row, term)


# an entry of the subset cache; its rows are a bit set of their own
HASH, TAG, AT_LEAST = range(3)
NEIGHBOURS = 4      # places of the table where an entry may be noted


@njit(**INNER)
def write_rows(order, rows, tag, members):
    """Write rows as a bit set and return its hash.

    ``order``: at least (rows,), the rows, of which the first ``rows`` count; ``tag``: what the hash
    begins with, int64; ``members``: (words,) int64, the result.
    """
    members[:] = 0
    for i in range(rows):
        row = read(order, i)
        members[row >> 6] |= 1 << (row & 63)
    mixed = tag
    for w in range(len(members)):
        mixed = (mixed ^ members[w]) * -7046029254386353131
        mixed ^= mixed >> 29
    return mixed


@njit(**INNER)
def find_entry(table, entries, sets, mixed, tag, members):
    """Return the entry of these very rows and tag, or -1.

    ``table``, ``entries``, ``sets``: see `Cache`; ``mixed``: the hash; ``tag``: levels, and the
    budget from bit 31 on; ``members``: (words,) int64, the rows as a bit set.
    """
    for q in range(NEIGHBOURS):
        e = np.int64(table[(mixed + q) & (len(table) - 1)]) - 1
        if e >= 0 and entries[e, HASH] == mixed and entries[e, TAG] == tag:
            same = True
            for w in range(len(members)):
                if sets[e, w] != members[w]:
                    same = False
                    break
            if same:
                return e
    return -1


@njit(**INNER)
def store_entry(table, entries, sets, mixed, tag, members, bound, state):
    """Keep a lower bound for a set of rows.  A full cache is emptied.

    ``table``, ``entries``, ``sets``, ``mixed``, ``tag``, ``members``: as in `find_entry`;
    ``bound``: the lower bound; ``state``: what the slices share, whose STORED is written.
    """
    e = find_entry(table, entries, sets, mixed, tag, members)
    if e >= 0:
        entries[e, AT_LEAST] = max(entries[e, AT_LEAST], bound)
        return
    e = state[STORED] % len(entries)
    if e == 0 and state[STORED] > 0:
        table[:] = 0
    state[STORED] += 1
    entries[e, HASH] = mixed
    entries[e, TAG] = tag
    entries[e, AT_LEAST] = bound
    for w in range(len(members)):
        sets[e, w] = members[w]
    place = mixed & (len(table) - 1)
    for q in range(NEIGHBOURS):
        free = (mixed + q) & (len(table) - 1)
        if table[free] == 0:
            place = free
            break
    table[place] = e + 1


@njit(**INNER)
def children_bound(problem, frame, level):
    """Return what the two children of a split of a frame must cost less than.

    The arguments are those of the module's docstring.
    """
    allowed = problem[ALLOWED_GAP] if level == 0 else 0
    return min(frame[BEST] - allowed, frame[CAP]) - problem[PENALTY]


@njit(**INNER)
def current_child(problem, frame, level):
    """Return side, rows, budget and cap of the child whose turn it is; the larger comes first.

    The arguments are those of the module's docstring.
    """
    rows, left_rows, turn = frame[ROWS], frame[CUT_ROWS], frame[TURN]
    side = np.int64((left_rows >= rows - left_rows) != (turn == 0))
    _, budgets = child_budgets(problem[DEPTH] - level, frame[BUDGET], frame[FEATURE])
    cap = (children_bound(problem, frame, level) - frame[RIGHT - side]
           + (frame[HALF] if turn == 1 else 0))
    return side, rows - left_rows if side else left_rows, budgets[side], cap


@njit(**INNER)
def open_node(columns, slot, rows, labels, weight, problem, budget, pair, levels, tally, state):
    """Begin a node with its best tree of depth two, and order its candidates by what they gave.

    The arguments are those of the module's docstring; ``budget``: what the depth-two tree might
    spend.
    """
    level, best, features = state[LEVEL], state[RESULT], pair.features
    frame, order, solved = levels.frames[level], levels.feature_order[level], levels.solved[level]
    depth = problem[DEPTH] - level
    if best < frame[BEST]:
        frame[BEST] = best
        rebuild_pair(columns, slot, rows, labels, weight, problem, budget, state[PAIR_ROOT],
                     state[PAIR_VALUE], best, pair.code, tally, pair.errors, levels.trees[level])
    for candidate in range(columns.order.shape[1] * frame[DIVISIONS]):
        g = candidate // frame[DIVISIONS]
        levels.seed_threshold[level, g] = features[g, INDEX]
        q = candidate
        while q > 0 and features[order[q - 1] // frame[DIVISIONS], ERROR] > features[g, ERROR]:
            order[q] = order[q - 1]
            q -= 1
        order[q] = candidate
    frame[MASS] = state[PAIR_MASS]
    frame[POSITION] = -1
    frame[SEEN] = 0
    levels.sides[level] = 0
    for q in range(SOLVED):      # bounds that stay below zero for every prefix
        solved[0, q] = -1 - state[PAIR_MASS] // problem[UNIT]
        solved[1, q] = -1
    finished = depth == 2 or best <= problem[PENALTY] or frame[BUDGET] < NO_BUDGET
    frame[PHASE] = FINISHED if finished else NEXT_FEATURE


@njit(**INNER)
def solve_pair(columns, labels, weight, problem, table_two, table_many, pair, levels, tally, state):
    """Solve the depth-two problem of a node that begins, or of a child with two levels left.

    The one place where these are solved.  The arguments are those of the module's docstring.
    Returns False when the slice ends first.
    """
    level = state[LEVEL]
    frame = levels.frames[level]
    starting = frame[PHASE] == START
    side, rows, budget, cap = current_child(problem, frame, level)
    slot, lower = 2 * level + 1 + side, levels.archive[level, side, frame[KEPT]]
    if starting:
        slot, rows, budget = frame[SLOT], frame[ROWS], min(NO_BUDGET, frame[BUDGET])
        lower, cap = levels.lower[level + 1], INFINITE
        if state[PAIR_PHASE] == 0:
            lower[:] = 0
    if not depth_two(columns, slot, rows, labels, weight, problem, budget, cap, lower, table_two,
                     table_many, pair, state):
        return False
    if starting:
        open_node(columns, slot, rows, labels, weight, problem, budget, pair, levels, tally, state)
    else:
        frame[PHASE] = RETURNED
        frame[LEFT_ROOT + side] = state[PAIR_ROOT]
        frame[LEFT_VALUE + side] = state[PAIR_VALUE]
    return True


@njit(**INNER)
def open_feature(columns, weight, problem, levels, state):
    """Begin the current candidate of a node: both ends of its thresholds, and similarity bounds.

    The arguments are those of the module's docstring.
    """
    level = state[LEVEL]
    frame, profile = levels.frames[level], levels.profiles[level]
    slot, rows, v = frame[SLOT], frame[ROWS], frame[FEATURE]
    f = v // frame[DIVISIONS]
    n_cuts, monotone = columns.count[slot, f, 0], problem[MIN_LEAF] == 1
    frame[PHASE] = NEXT_FEATURE
    if n_cuts == 0 or (levels.lower[level, v]
                       >= children_bound(problem, frame, level) + problem[PENALTY]):
        return
    frame[COMPARED] = monotone and frame[SEEN] > 0 and frame[DIVISIONS] == 1
    if frame[COMPARED]:
        measure_similarity(levels.solved[level], levels.sides[level], columns.order[slot, f], rows,
                           weight, problem[UNIT], levels.similar[level])
        state[WORK] += 10 * rows
    low, high = allowed_thresholds(columns.cut[slot, f], n_cuts, rows, problem[MIN_LEAF])
    note_evaluated(profile, 0, 0, low - 1, 0, 0, 0, 0, False)
    note_evaluated(profile, 1, 1, high, frame[MASS], 0, 0, 1, False)
    frame[SIZE] = 2
    probe = levels.probes[v]
    if level == 0 and probe[0] >= 0:       # it keeps no bounds per feature
        note_evaluated(profile, 2, 1, probe[0], probe[1], probe[2], probe[3], 0, monotone)
        frame[SIZE] = 3
    levels.archive[level, :, :2] = 0
    frame[KEPT] = 2
    frame[FIRST] = 1
    frame[PHASE] = NEXT_THRESHOLD


@njit(**INNER)
def choose_threshold(columns, weight, problem, levels, state):
    """Choose the next threshold of the current candidate; False if none may be better.

    The arguments are those of the module's docstring.
    """
    level = state[LEVEL]
    frame, lower = levels.frames[level], levels.lower[level]
    slot, v, unit = frame[SLOT], frame[FEATURE], problem[UNIT]
    f = v // frame[DIVISIONS]
    cuts, mass = columns.cut[slot, f], columns.mass[slot, f]
    j, low, high = widest_interval(
        levels.profiles[level], frame[SIZE], cuts, mass, weight, unit, problem[MIN_LEAF] == 1,
        children_bound(problem, frame, level), levels.similar[level], frame[COMPARED], frame)
    state[WORK] += 10 * frame[SIZE]
    lower[v] = max(lower[v], frame[BOUND] + problem[PENALTY])
    if j < 0:
        frame[PHASE] = NEXT_FEATURE
        return False
    t = levels.seed_threshold[level, f]
    if not (frame[FIRST] and low <= t < high):
        t = first_at_least(cuts, mass, None, 1, low, high,
                           (cuts[low] + cuts[high - 1] + 1) >> 1)
        t = min(t, high - 1)
    here = mass_at(cuts, mass, weight, unit, t)
    frame[FIRST] = 0
    frame[THRESHOLD] = t
    frame[CUT_ROWS] = np.int64(cuts[t])
    frame[CUT_MASS] = here
    frame[INTERVAL] = j
    frame[HALF] = max(mass_at(cuts, mass, weight, unit, high - 1) - here,
                      here - mass_at(cuts, mass, weight, unit, low))
    frame[TURN] = 0
    return True


@njit(**INNER)
def bound_child(columns, problem, levels, cache, state, side):
    """Bound a child by the thresholds next to its own, whose child is a subset, and a superset.

    The arguments are those of the module's docstring; ``side``: 0 for the left child, else 1.
    """
    level = state[LEVEL]
    frame, profile, archive = (levels.frames[level], levels.profiles[level],
                               levels.archive[level, side])
    j, left_rows = frame[INTERVAL], frame[CUT_ROWS]
    inner, outer = profile[:, j + side], profile[:, j + 1 - side]
    less = abs(outer[AT_MASS] - frame[CUT_MASS])
    known = max(0, outer[AT_LEFT + side] - less)
    inherited, bounds = archive[frame[KEPT]], archive[outer[AT_ARCHIVE]]
    for g in range(len(inherited)):
        inherited[g] = max(0, bounds[g] - less)
    if problem[MIN_LEAF] == 1:
        known = max(known, inner[AT_LEFT + side])
        bounds = archive[inner[AT_ARCHIVE]]
        for g in range(len(inherited)):
            inherited[g] = max(inherited[g], bounds[g])
        if frame[COMPARED]:
            known = max(known, levels.similar[level, side, left_rows])
    if level > 0 and len(cache.entries) > 0:
        depth, members = problem[DEPTH] - level, levels.members[level, side]
        _, budgets = child_budgets(depth, frame[BUDGET], frame[FEATURE])
        tag = depth + (budgets[side] << 31)
        mixed = write_rows(columns.order[2 * level + 1 + side, 0],
                           frame[ROWS] - left_rows if side else left_rows, tag, members)
        frame[LEFT_HASH + side] = mixed
        e = find_entry(cache.table, cache.entries, cache.sets, mixed, tag, members)
        if e >= 0:
            state[HITS] += cache.entries[e, AT_LEAST] > known
            known = max(known, cache.entries[e, AT_LEAST])
    frame[LEFT + side] = known


@njit(**INNER)
def split_at_threshold(columns, keys, weight, problem, code, levels, cache, state):
    """Sort the rows of a node into both children of the chosen threshold, and bound these.

    The arguments are those of the module's docstring; ``code``: (n_rows,) unsigned, work.
    """
    level = state[LEVEL]
    frame = levels.frames[level]
    state[NODES] += 1
    split_node(columns, frame[SLOT], frame[ROWS], keys, weight, problem[MIN_LEAF] > 1,
               frame[FEATURE] // frame[DIVISIONS], frame[CUT_ROWS], code, 2 * level + 1)
    state[WORK] += 3 * columns.order.shape[1] * frame[ROWS]
    for side in range(2):
        bound_child(columns, problem, levels, cache, state, side)
    frame[PHASE] = CHILD


@njit(**INNER)
def enter_child(problem, levels, state):
    """Pass over a child that is bounded well enough, or go down to one with three levels or more.

    The arguments are those of the module's docstring.  Returns False for a child with two levels.
    """
    level = state[LEVEL]
    frame = levels.frames[level]
    side, rows, budget, cap = current_child(problem, frame, level)
    if state[PAIR_PHASE] == 0 and cap <= frame[LEFT + side]:
        frame[PHASE] = RETURNED
        state[RESULT] = frame[LEFT + side]
        return True
    if problem[DEPTH] - level == 3:
        return False
    child, lower = levels.frames[level + 1], levels.lower[level + 1]
    inherited = levels.archive[level, side, frame[KEPT]]
    child[PHASE] = START
    child[SLOT] = 2 * level + 1 + side
    child[ROWS] = rows
    child[CAP] = cap
    child[BEST] = INFINITE
    child[SIDE] = side
    child[BUDGET] = budget
    child[DIVISIONS], _ = _divide_budget(problem[DEPTH] - level - 1, budget)
    for g in range(len(lower)):
        lower[g] = inherited[g]
    state[LEVEL] = level + 1
    return True


@njit(**INNER)
def leave_child(problem, levels, cache, state):
    """Keep what is proved of a child, and turn to its sibling; True once both are done.

    The arguments are those of the module's docstring.
    """
    level = state[LEVEL]
    frame = levels.frames[level]
    side, _, budget, _ = current_child(problem, frame, level)
    if state[RESULT] > frame[LEFT + side]:
        frame[LEFT + side] = state[RESULT]
        if level > 0 and len(cache.entries) > 0:
            store_entry(cache.table, cache.entries, cache.sets, frame[LEFT_HASH + side],
                        problem[DEPTH] - level + (budget << 31), levels.members[level, side],
                        state[RESULT], state)
    frame[TURN] += 1
    frame[PHASE] = CHILD if frame[TURN] == 1 else NEXT_THRESHOLD
    return frame[TURN] == 2


@njit(**INNER)
def keep_split(columns, labels, weight, problem, pair, levels, tally, level):
    """Keep a split that is better than what was known, with its tree.

    The arguments are those of the module's docstring.
    """
    frame, tree = levels.frames[level], levels.trees[level]
    depth, slot = problem[DEPTH] - level, frame[SLOT]
    f, budgets = child_budgets(depth, frame[BUDGET], frame[FEATURE])
    left_rows = frame[CUT_ROWS]
    frame[BEST] = frame[LEFT] + frame[RIGHT] + problem[PENALTY]
    for side in range(2 if depth == 3 else 0):
        rebuild_pair(columns, 2 * level + 1 + side,
                     frame[ROWS] - left_rows if side else left_rows, labels, weight, problem,
                     budgets[side], frame[LEFT_ROOT + side], frame[LEFT_VALUE + side],
                     frame[LEFT + side], pair.code, tally, pair.errors,
                     levels.child_trees[level, side])
    tree[0, 0] = f
    tree[0, 1] = read(columns.order[slot, f], left_rows - 1)
    end = copy_tree(levels.child_trees[level, 0], tree, 1)
    copy_tree(levels.child_trees[level, 1], tree, end)


@njit(**INNER)
def close_threshold(columns, problem, levels, state):
    """Keep the bounds of both children of a threshold for those that come after it.

    The arguments are those of the module's docstring.
    """
    level = state[LEVEL]
    frame, profile = levels.frames[level], levels.profiles[level]
    v, left, right = frame[FEATURE], frame[LEFT], frame[RIGHT]
    monotone = problem[MIN_LEAF] == 1
    if monotone and frame[SEEN] < SOLVED:
        note_solved(levels.solved[level], levels.sides[level], frame[SEEN],
                    columns.order[frame[SLOT], v // frame[DIVISIONS]], frame[CUT_ROWS],
                    left - frame[CUT_MASS], right, problem[UNIT])
        frame[SEEN] += 1
    k = frame[INTERVAL] + 1
    room = frame[KEPT] + 1 < levels.archive.shape[2]     # else later ones inherit nothing from it
    note_evaluated(profile, frame[SIZE], k, frame[THRESHOLD], frame[CUT_MASS], left, right,
                   frame[KEPT] if room else 0, monotone)
    frame[SIZE] += 1
    frame[KEPT] += room
    if level == 0 and frame[PROBING]:
        for q in range(4):
            levels.probes[v, q] = profile[q, k]
        if monotone:
            levels.lower[0, v] = max(levels.lower[0, v], min(left, right) + problem[PENALTY])
        frame[PHASE] = NEXT_FEATURE
    if frame[BEST] <= problem[PENALTY]:
        frame[PHASE] = FINISHED


@njit(**INNER)
def leave_node(count, problem, levels, state):
    """Hand the optimum of a node, or what bounds it, to its parent.

    The arguments are those of the module's docstring; ``count``: (slots, n_features, 3), that of
    the columns.
    """
    level = state[LEVEL]
    frame, parent, lower = levels.frames[level], levels.frames[level - 1], levels.lower[level]
    bound = frame[BEST]
    if bound >= frame[CAP] and frame[BUDGET] >= NO_BUDGET:
        for g in range(count.shape[1] * frame[DIVISIONS]):
            if count[frame[SLOT], g // frame[DIVISIONS], 0] > 0:
                bound = min(bound, lower[g])
        bound = max(bound, frame[CAP])
    state[RESULT] = bound
    state[LEVEL] = level - 1
    parent[PHASE] = RETURNED
    inherited = levels.archive[level - 1, frame[SIDE], parent[KEPT]]
    for g in range(len(lower)):
        inherited[g] = lower[g]
    copy_tree(levels.trees[level], levels.child_trees[level - 1, frame[SIDE]], 0)


@njit(**OPTIONS)
def search(columns, keys, labels, weight, problem, table_two, table_many, pair, levels, cache,
           tally, state):
    """Search for one slice and return RUNNING, WANTS_FEATURE, IMPROVED or DONE.

    The arguments are those of the module's docstring.

    Level l of the search is a node with ``DEPTH - l >= 3`` levels of splits left (the root of a
    tree of depth two also starts here).  Its children live in slots ``2 l + 1`` and ``2 l + 2``.
    After WANTS_FEATURE the caller puts a root candidate in ``frames[0, FEATURE]`` and sets the
    phase OPEN_FEATURE.  With ``frames[0, PROBING]`` only its most promising threshold is solved,
    and kept in ``probes[v]``: threshold, mass on its left, objectives of both children.

    Below the root's children the same rows may come back by another way; the ``cache`` then has
    what was proved for them.
    """
    while state[WORK] < state[LIMIT]:
        level = state[LEVEL]
        frame = levels.frames[level]
        phase = frame[PHASE]
        if phase == NEXT_FEATURE:
            if level == 0:
                return WANTS_FEATURE
            frame[POSITION] += 1
            if frame[POSITION] == columns.order.shape[1] * frame[DIVISIONS]:
                frame[PHASE] = FINISHED
            else:
                frame[FEATURE] = levels.feature_order[level, frame[POSITION]]
                frame[PHASE] = OPEN_FEATURE
        elif phase == OPEN_FEATURE:
            open_feature(columns, weight, problem, levels, state)
        elif phase == NEXT_THRESHOLD:
            if choose_threshold(columns, weight, problem, levels, state):
                split_at_threshold(columns, keys, weight, problem, pair.code, levels, cache, state)
        elif phase == RETURNED:
            if leave_child(problem, levels, cache, state):
                improved = (frame[LEFT] + frame[RIGHT]      # both are exact then: see the caps
                            < children_bound(problem, frame, level))
                if improved:
                    keep_split(columns, labels, weight, problem, pair, levels, tally, level)
                close_threshold(columns, problem, levels, state)
                if improved and level == 0:
                    return IMPROVED
        elif phase == FINISHED:
            if level == 0:
                return DONE
            leave_node(columns.count, problem, levels, state)
        elif phase == START or not enter_child(problem, levels, state):
            if not solve_pair(columns, labels, weight, problem, table_two, table_many, pair,
                              levels, tally, state):
                return RUNNING
            if phase == START and level == 0:
                return DONE if frame[PHASE] == FINISHED else IMPROVED
    return RUNNING
