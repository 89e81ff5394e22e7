"""The search over trees of any depth and size: Eq. 1 of the MurTree paper on an explicit stack.

A *level* of the stack is a node under study: its rows, how deep and how large its tree may be, the
score to beat, and what is known about the children of each split.  Kernels do all the counting
(:mod:`odtlib.murtree._kernels`); the search only sees scores and bounds, so it is the same for
counts of 16 or 32 bits and for weighted sums.  It runs in slices: after a given amount of work it
returns, and the same call goes on from the same arrays.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ._cache import details, find, is_exact, keep, problem_key
from ._kernels import (
    IMPURITY,
    LEAF_0,
    LEAF_1,
    N_CLASSES,
    N_COLUMNS,
    OPTIONS,
    SPLIT_0,
    SPLIT_1,
)
from .simd import call_at

# Columns of ``state``: integers that a level remembers.
(DEPTH, BUDGET, N_CANDIDATES, N_ACTIVE, WIDTH, POSITION, ALLOCATION, STEP, FIRST_SIDE, SOLVED,
 BEST_FEATURE, BEST_BUDGET_1, BEST_BUDGET_0, SIZE, EXACT, TOUCHED, CHILD_SIDE, LOWEST,
 N_STATE) = range(19)
# Columns of ``cost``: scores that a level remembers.
UPPER, LOWER, BEST, REFINED, LEAF, VALUE, BEST_VALUE_1, BEST_VALUE_0, N_COST = range(9)
# Entries of ``control``.
LEVEL, MODE, SIMILARITY, CACHE, FEATURE_ORDER, CHILD_ORDER, SHARE_SIZES, REFINE, INFER, \
    ADDRESS_PREPARE, ADDRESS_CHILDREN, ADDRESS_SIMILARITY, ADDRESS_CLOSURE, FILLED, SPECIALISED, \
    INCREMENTAL, N_CONTROL = range(17)
ENTER, ADVANCE, RECEIVE, FINISH, DONE = range(5)
BY_DEPTH_TWO, IN_ORDER, BY_GINI, AT_RANDOM = range(4)
DYNAMIC, POST_ORDER, BY_GAP = range(3)
DATASET, BRANCH, CLOSURE = 1, 2, 3
# Entries of ``counters``.
(NODES, DEPTH_TWO_PAIRS, CACHE_HITS, PRUNED_BY_BOUND, PRUNED_BY_CACHE, SIMILARITY_UPDATES,
 COLUMNS_DROPPED, CACHE_ENTRIES, BOUNDS_INFERRED, BOUNDS_REFINED, DATA_SETS_COUNTED,
 N_COUNTERS) = range(12)
COUNTER_NAMES = ("nodes", "depth_two_pairs", "cache_hits", "pruned_by_bound", "pruned_by_cache",
                 "similarity_updates", "columns_dropped", "cache_entries", "bounds_inferred",
                 "bounds_refined", "data_sets_counted")

UNKNOWN, NO_SPLIT = -2, -1


@njit(**OPTIONS)
def split_rows(row_bits, row_bytes, rows, class_start, n_classes, feature, side, child_rows,
               child_start):
    """Copy the rows on one side of a split, class by class."""
    byte, bit = feature >> 3, feature & 7
    found = 0
    for c in range(n_classes):
        child_start[c] = found
        for r in range(class_start[c], class_start[c + 1]):
            row = rows[r]
            child_rows[found] = row
            found += (np.int64(row_bits[np.int64(row) * row_bytes + byte]) >> bit & 1) == side
    child_start[n_classes] = found


@njit(**OPTIONS)
def sort_by_key(order, key, n):
    """Sort ``order[:n]`` by ``key`` (Shell's method)."""
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for a in range(gap, n):
            item = order[a]
            value = key[item]
            b = a
            while b >= gap and key[order[b - gap]] > value:
                order[b] = order[b - gap]
                b -= gap
            order[b] = item
        gap //= 3


@njit(**OPTIONS)
def best_shallow_tree(side_cost, n_active, depth, budget, penalty, key, state, cost):
    """Take the best tree of depth at most two, given the scores of both sides of each split."""
    for k in range(n_active):
        leaf_0, leaf_1 = side_cost[LEAF_0, k], side_cost[LEAF_1, k]
        value_0, value_1 = leaf_0, leaf_1
        size_0, size_1 = 0, 0
        if depth >= 2 and budget >= 2:
            split_0, split_1 = side_cost[SPLIT_0, k] + penalty, side_cost[SPLIT_1, k] + penalty
            if budget >= 3:
                if split_0 < leaf_0:
                    value_0, size_0 = split_0, 1
                if split_1 < leaf_1:
                    value_1, size_1 = split_1, 1
            elif split_0 - leaf_0 < min(0.0, split_1 - leaf_1):
                value_0, size_0 = split_0, 1
            elif split_1 < leaf_1:
                value_1, size_1 = split_1, 1
        value = penalty + value_0 + value_1
        key[k] = value
        if value < cost[BEST]:
            cost[BEST] = value
            state[BEST_FEATURE] = k
            state[BEST_BUDGET_0], state[BEST_BUDGET_1] = size_0, size_1
            cost[BEST_VALUE_0], cost[BEST_VALUE_1] = value_0, value_1
            state[SIZE] = 1 + size_0 + size_1


@njit(**OPTIONS)
def penalised(front, penalty):
    """Turn scores with 0..3 feature nodes into costs with at most so many, both children."""
    for place in (0, 4):
        for size in range(1, 4):
            front[place + size] = min(front[place + size - 1],
                                      front[place + size] + penalty * size)


@njit(**OPTIONS)
def child_keys(kind, key, column, column_keys, width, literals, child_key):
    """Write the keys of both children of a split: two words for child 1, two for child 0.

    A data set is known by the sum of its rows' keys, a branch by the sum of its literals' keys;
    for closures ``child_key`` comes in with the sums of the literals that the split adds.
    """
    size = width + 32
    if kind == DATASET:
        child_key[0], child_key[1] = column_keys[column], column_keys[size + column]
        child_key[2] = column_keys[width] - child_key[0]
        child_key[3] = column_keys[size + width] - child_key[1]
    else:
        if kind == BRANCH:
            child_key[0], child_key[1] = literals[4 * column + 2], literals[4 * column + 3]
            child_key[2], child_key[3] = literals[4 * column], literals[4 * column + 1]
        for word in range(4):
            child_key[word] += key[word & 1]


@njit(**OPTIONS)
def look_up(table, values, low, high, depth, budget, infer, counters):
    """Return the best bound that the cache has, and whether it is the optimum.

    With ``infer``, a tree with more feature nodes bounds one with fewer (Proposition 11).
    """
    largest = (1 << depth) - 1
    budget = min(budget, largest)
    key_low, key_high = problem_key(low, high, min(depth, budget), budget)
    place = find(table, key_low, key_high)
    value = 0.0
    if place >= 0:
        counters[CACHE_HITS] += 1
        value = values[place + 2]
        if is_exact(table[place + 3]):
            return value, 1
    if infer:
        for more in range(budget + 1, largest + 1):
            key_low, key_high = problem_key(low, high, min(depth, more), more)
            place = find(table, key_low, key_high)
            if place >= 0 and values[place + 2] > value:
                counters[BOUNDS_INFERRED] += 1
                value = values[place + 2]
    return value, 0


@njit(**OPTIONS)
def remember(table, values, low, high, depth, budget, value, exact, feature, budget_1, size):
    """Enter the result for a subproblem into the cache; return 1 if the table grew."""
    budget = min(budget, (1 << depth) - 1)
    depth = min(depth, budget)
    key_low, key_high = problem_key(low, high, depth, budget)
    return keep(table, values, key_low, key_high, value,
                details(exact, depth, feature, budget_1, size))


@njit(**OPTIONS)
def search(work, control, penalty, state, cost, keys, rows, class_start, active, order, key,
           bound_1, bound_0, leaf_cost, side_cost, front, found, data, native, totals,
           column_keys, table, values, counters, shuffle, literals,
           child_key):
    """Work on the stack until it is empty (``control[MODE] == DONE``) or ``work`` is used up.

    Parameters
    ----------
    work : int
        How much to do, in units of some nanoseconds.
    control : array
        Where the search stands, its options and the addresses of its kernels.
    penalty : float
        Cost of a feature node (the sparse objective, Eq. 19).
    state, cost, keys : arrays, (levels, ...)
        What each level remembers; see the names of their columns.
    rows, class_start, active, order, bound_1, bound_0, leaf_cost, totals, column_keys : arrays
        First axis: level.  Bounds have a second axis for the node budget of the child.
    data, native : tuples
        Handed on to the kernels.
    table, values : arrays
        The cache, as integers and as numbers.
    """
    shape, row_bits = data[0], data[1]
    n_classes, n_columns = shape[N_CLASSES], shape[N_COLUMNS]
    row_bytes = n_columns // 8
    use_cache, similar = control[CACHE] > 0, control[SIMILARITY] > 0
    infer, share = control[INFER] > 0, control[SHARE_SIZES] > 0
    # Trees of this depth are solved without splitting the rows.
    terminal = 2 if control[SPECIALISED] else 1
    pairwise = 3 if control[SPECIALISED] else 0      # depth whose children the kernel solves
    t = control[LEVEL]
    mode = control[MODE]
    # Literals as arguments would compile the callee once more for each.
    nothing, one, two, unknown = np.int64(0), np.int64(1), np.int64(2), np.int64(UNKNOWN)
    while work > 0 and mode != DONE:
        st, co, starts = state[t], cost[t], class_start[t]
        n_rows = starts[n_classes]
        depth, budget = st[DEPTH], st[BUDGET]

        if mode == ENTER:
            counters[NODES] += 1
            st[EXACT], st[SIZE], st[N_ACTIVE], st[POSITION] = 0, 0, 0, 0
            st[ALLOCATION], st[STEP], st[TOUCHED] = 0, 0, 0
            st[BEST_FEATURE] = UNKNOWN
            co[BEST], co[REFINED] = co[UPPER], np.inf
            if co[LEAF] < co[BEST]:
                co[BEST] = co[LEAF]
                st[BEST_FEATURE] = NO_SPLIT
            mode = FINISH
            if co[BEST] <= co[LOWER] or budget == 0:
                continue
            call_at(control[ADDRESS_PREPARE],
                    (rows[t], starts, active[t], st[N_CANDIDATES], data, native, totals[t],
                     active[t + 1], column_keys[t], side_cost, front, found))
            n_active, width = found[0], found[1]
            work -= 50 + n_rows * width // 64 + n_rows * width * width // 4096
            st[N_ACTIVE], st[WIDTH] = n_active, width
            counters[COLUMNS_DROPPED] += st[N_CANDIDATES] - n_active
            best_shallow_tree(side_cost, n_active, min(depth, terminal), budget, penalty, key,
                              st, co)
            if share and terminal == 2:
                penalised(front, penalty)
                low, high = keys[t, 0], keys[t, 1]
                for some in range(1, min(3, budget) + 1):
                    control[FILLED] += remember(table, values, low, high, min(2, some), some,
                                                front[some], one, unknown, nothing, some)
            if depth <= terminal or n_active == 0:      # all trees have been seen
                for k in range(n_active):
                    co[REFINED] = min(co[REFINED], key[k])
                st[EXACT] = 1
                continue
            if co[BEST] <= co[LOWER]:
                continue
            for k in range(n_active):
                order[t, k] = k
                leaf_cost[t, 0, k] = side_cost[LEAF_0, k]
                leaf_cost[t, 1, k] = side_cost[LEAF_1, k]
            if control[FEATURE_ORDER] == BY_GINI:
                for k in range(n_active):
                    key[k] = side_cost[IMPURITY, k]
            elif control[FEATURE_ORDER] == AT_RANDOM:
                for k in range(n_active):
                    key[k] = shuffle[active[t + 1, k]]
            if control[FEATURE_ORDER] != IN_ORDER:
                sort_by_key(order[t], key, n_active)
            largest = (1 << (depth - 1)) - 1
            st[LOWEST] = max(0, budget - 1 - largest)
            for b in range(min(budget - 1, largest) - st[LOWEST] + 1):
                for k in range(n_active):
                    bound_1[t, b, k] = 0.0
                    bound_0[t, b, k] = 0.0
            mode = ADVANCE
            continue

        n_active, width, lowest = st[N_ACTIVE], st[WIDTH], st[LOWEST]
        last = budget - 1 - 2 * lowest       # allocations 0..last: child 1 gets lowest + a nodes

        if mode == RECEIVE:                  # the child on level t + 1 is finished
            child, child_cost = state[t + 1], cost[t + 1]
            k, a = order[t, st[POSITION]], st[ALLOCATION]
            value = child_cost[VALUE]
            # Fewer nodes cannot do better, so the bound holds for smaller budgets too.
            if st[CHILD_SIDE] == 1:
                for b in range(a + 1):
                    bound_1[t, b, k] = max(bound_1[t, b, k], value)
            else:
                for b in range(last - a + 1):
                    bound_0[t, b, k] = max(bound_0[t, b, k], value)
            if child[EXACT]:
                st[SOLVED] |= 1 << st[CHILD_SIDE]
            else:
                st[STEP] = 3
            mode = ADVANCE

        if mode == ADVANCE and depth == pairwise:
            # Both children have depth two: one kernel call solves them for every budget.
            mode = FINISH
            while st[POSITION] < n_active and co[BEST] > co[LOWER]:
                if work <= 0:
                    mode = ADVANCE
                    break
                k = order[t, st[POSITION]]
                st[POSITION] += 1
                least = np.inf
                for a in range(last + 1):
                    least = min(least, bound_1[t, a, k] + bound_0[t, last - a, k])
                if penalty + least >= co[BEST]:
                    counters[PRUNED_BY_BOUND] += 1
                    co[REFINED] = min(co[REFINED], penalty + least)
                    continue
                solved = use_cache
                if use_cache:
                    if control[CACHE] == CLOSURE:
                        call_at(control[ADDRESS_CLOSURE],
                                (k, totals[t], n_active, width, starts, data, active[t + 1],
                                 literals, child_key))
                    child_keys(control[CACHE], keys[t], active[t + 1, k], column_keys[t],
                               n_columns, literals, child_key)
                    for b in range(last + 1):
                        if lowest + b == 0:
                            bound_1[t, b, k] = leaf_cost[t, 1, k]
                            bound_0[t, b, k] = leaf_cost[t, 0, k]
                            continue
                        value, exact = look_up(table, values, child_key[0], child_key[1], two,
                                               lowest + b, infer, counters)
                        bound_1[t, b, k] = max(bound_1[t, b, k], value)
                        solved = solved and exact == 1
                        value, exact = look_up(table, values, child_key[2], child_key[3], two,
                                               lowest + b, infer, counters)
                        bound_0[t, b, k] = max(bound_0[t, b, k], value)
                        solved = solved and exact == 1
                    if not solved:
                        least = np.inf
                        for a in range(last + 1):
                            least = min(least, bound_1[t, a, k] + bound_0[t, last - a, k])
                        if penalty + least >= co[BEST]:
                            counters[PRUNED_BY_CACHE] += 1
                            co[REFINED] = min(co[REFINED], penalty + least)
                            solved = True
                if not solved:
                    side = -1 if control[INCREMENTAL] else 1
                    call_at(control[ADDRESS_CHILDREN],
                            (k, side, starts, n_active, width, data, native, front))
                    counters[DATA_SETS_COUNTED] += 1
                    if side == 1:            # count the other child from scratch as well
                        call_at(control[ADDRESS_CHILDREN],
                                (k, nothing, starts, n_active, width, data, native, front))
                        counters[DATA_SETS_COUNTED] += 1
                    counters[DEPTH_TWO_PAIRS] += 1
                    work -= 10 + width * width // 64 + n_rows * width * width // 16384
                    penalised(front, penalty)
                    for b in range(last + 1):
                        bound_1[t, b, k] = front[lowest + b]
                        bound_0[t, b, k] = front[4 + lowest + b]
                    if use_cache:
                        for b in range(1 if share else max(lowest, 1),
                                       (3 if share else lowest + last) + 1):
                            control[FILLED] += remember(
                                table, values, child_key[0], child_key[1], two, b, front[b],
                                one, unknown, nothing, b)
                            control[FILLED] += remember(
                                table, values, child_key[2], child_key[3], two, b,
                                front[4 + b], one, unknown, nothing, b)
                for a in range(last + 1):
                    value = penalty + bound_1[t, a, k] + bound_0[t, last - a, k]
                    if value < co[BEST]:
                        co[BEST] = value
                        st[BEST_FEATURE] = k
                        st[BEST_BUDGET_1], st[BEST_BUDGET_0] = lowest + a, lowest + last - a
                        co[BEST_VALUE_1] = bound_1[t, a, k]
                        co[BEST_VALUE_0] = bound_0[t, last - a, k]
                        st[SIZE] = budget
                    else:
                        co[REFINED] = min(co[REFINED], value)
                if similar:
                    counters[SIMILARITY_UPDATES] += 1
                    for b in range(last + 1):
                        call_at(control[ADDRESS_SIMILARITY],
                                (k, totals[t], n_active, width, starts, data, bound_1[t, b, k],
                                 bound_0[t, b, k], bound_1[t, b], bound_0[t, b]))

        while mode == ADVANCE and depth != pairwise:
            if st[STEP] == 0:
                if st[POSITION] >= n_active or co[BEST] <= co[LOWER]:
                    mode = FINISH
                    break
                k, a = order[t, st[POSITION]], st[ALLOCATION]
                if a > last:                     # all allocations of this feature are done
                    if similar and st[TOUCHED]:
                        counters[SIMILARITY_UPDATES] += 1
                        for b in range(last + 1):
                            call_at(control[ADDRESS_SIMILARITY],
                                    (k, totals[t], n_active, width, starts, data,
                                     bound_1[t, b, k], bound_0[t, b, k], bound_1[t, b],
                                     bound_0[t, b]))
                    st[POSITION] += 1
                    st[ALLOCATION], st[TOUCHED] = 0, 0
                    continue
                least = penalty + bound_1[t, a, k] + bound_0[t, last - a, k]
                if least >= co[BEST]:
                    counters[PRUNED_BY_BOUND] += 1
                    co[REFINED] = min(co[REFINED], least)
                    st[ALLOCATION] += 1
                    continue
                st[TOUCHED], st[SOLVED] = 1, 0
                column = active[t + 1, k]
                if use_cache:
                    if control[CACHE] == CLOSURE:
                        call_at(control[ADDRESS_CLOSURE],
                                (k, totals[t], n_active, width, starts, data, active[t + 1],
                                 literals, child_key))
                    child_keys(control[CACHE], keys[t], column, column_keys[t], n_columns,
                               literals, child_key)
                if lowest + a == 0:
                    bound_1[t, a, k] = leaf_cost[t, 1, k]
                    st[SOLVED] |= 2
                elif use_cache:
                    value, exact = look_up(table, values, child_key[0], child_key[1],
                                           depth - 1, lowest + a, infer, counters)
                    bound_1[t, a, k] = max(bound_1[t, a, k], value)
                    st[SOLVED] |= 2 * exact
                if lowest + last - a == 0:
                    bound_0[t, last - a, k] = leaf_cost[t, 0, k]
                    st[SOLVED] |= 1
                elif use_cache:
                    value, exact = look_up(table, values, child_key[2], child_key[3],
                                           depth - 1, lowest + last - a, infer, counters)
                    bound_0[t, last - a, k] = max(bound_0[t, last - a, k], value)
                    st[SOLVED] |= exact
                least = penalty + bound_1[t, a, k] + bound_0[t, last - a, k]
                if least >= co[BEST] and st[SOLVED] != 3:
                    counters[PRUNED_BY_CACHE] += 1
                    co[REFINED] = min(co[REFINED], least)
                    st[ALLOCATION] += 1
                    continue
                st[STEP] = 1
                st[FIRST_SIDE] = 0
                if control[CHILD_ORDER] == DYNAMIC:
                    st[FIRST_SIDE] = 1 if leaf_cost[t, 1, k] >= leaf_cost[t, 0, k] else 0
                elif control[CHILD_ORDER] == BY_GAP:
                    gap_1 = leaf_cost[t, 1, k] - bound_1[t, a, k]
                    gap_0 = leaf_cost[t, 0, k] - bound_0[t, last - a, k]
                    st[FIRST_SIDE] = 1 if gap_1 >= gap_0 else 0
            k, a = order[t, st[POSITION]], st[ALLOCATION]
            if st[STEP] < 3:
                side = st[FIRST_SIDE] if st[STEP] == 1 else 1 - st[FIRST_SIDE]
                st[STEP] += 1
                if st[SOLVED] >> side & 1:
                    continue
                if side == 1:
                    other, mine, nodes = bound_0[t, last - a, k], bound_1[t, a, k], lowest + a
                else:
                    other, mine = bound_1[t, a, k], bound_0[t, last - a, k]
                    nodes = lowest + last - a
                upper = co[BEST] - penalty - other
                if mine >= upper:
                    st[STEP] = 3
                    continue
                st[CHILD_SIDE] = side
                child, child_cost = state[t + 1], cost[t + 1]
                child[DEPTH] = min(depth - 1, nodes)
                child[BUDGET] = min(nodes, (1 << child[DEPTH]) - 1)
                child[N_CANDIDATES] = n_active
                child_cost[UPPER], child_cost[LOWER] = upper, mine
                child_cost[LEAF] = leaf_cost[t, side, k]
                column = active[t + 1, k]
                if use_cache:                # the other child may have been solved in between
                    if control[CACHE] == CLOSURE:
                        call_at(control[ADDRESS_CLOSURE],
                                (k, totals[t], n_active, width, starts, data, active[t + 1],
                                 literals, child_key))
                    child_keys(control[CACHE], keys[t], column, column_keys[t], n_columns,
                               literals, child_key)
                    keys[t + 1, 0] = child_key[2 - 2 * side]
                    keys[t + 1, 1] = child_key[3 - 2 * side]
                split_rows(row_bits, row_bytes, rows[t], starts, n_classes, column, side,
                           rows[t + 1], class_start[t + 1])
                work -= 10 + n_rows // 16
                mode = ENTER
                t += 1
                break
            value = penalty + bound_1[t, a, k] + bound_0[t, last - a, k]
            if st[SOLVED] == 3 and value < co[BEST]:
                co[BEST] = value
                st[BEST_FEATURE] = k
                st[BEST_BUDGET_1], st[BEST_BUDGET_0] = lowest + a, lowest + last - a
                co[BEST_VALUE_1] = bound_1[t, a, k]
                co[BEST_VALUE_0] = bound_0[t, last - a, k]
                st[SIZE] = budget
            else:
                co[REFINED] = min(co[REFINED], value)
            st[STEP] = 0
            st[ALLOCATION] += 1

        if mode == FINISH:
            st, co = state[t], cost[t]
            if co[BEST] < co[UPPER]:
                st[EXACT] = 1
                co[VALUE] = co[BEST]
            elif st[EXACT]:
                co[VALUE] = min(co[LEAF], co[REFINED])
            elif control[REFINE]:                # Eq. 17
                co[VALUE] = min(co[LEAF], co[REFINED])
                if co[VALUE] > co[UPPER]:
                    counters[BOUNDS_REFINED] += 1
                co[VALUE] = max(co[UPPER], co[VALUE])
            else:
                co[VALUE] = co[UPPER]
            if use_cache and t > 0:
                feature = NO_SPLIT
                if st[BEST_FEATURE] >= 0:
                    feature = active[t + 1, st[BEST_FEATURE]]
                control[FILLED] += remember(
                    table, values, keys[t, 0], keys[t, 1], st[DEPTH], st[BUDGET], co[VALUE],
                    st[EXACT], feature, st[BEST_BUDGET_1], st[SIZE])
            if t == 0:
                mode = DONE
            else:
                t -= 1
                mode = RECEIVE
    control[LEVEL], control[MODE] = t, mode
    counters[CACHE_ENTRIES] = control[FILLED]
