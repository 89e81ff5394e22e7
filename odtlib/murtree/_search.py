"""The search over trees of any depth and size: Eq. 1 of the MurTree paper on an explicit stack.

A *level* of the stack is a node under study: its rows, how deep and how large its tree may be, the
score to beat, and what is known about the children of each split.  Kernels do all the counting
(:mod:`odtlib.murtree._kernels`); the search only sees scores and bounds, so it is the same for
counts of 16 or 32 bits and for weighted sums.  It runs in slices: after a given amount of work it
returns, and the same call goes on from the same arrays.
"""

from __future__ import annotations

import numpy as np

from odtlib._numba.compiler import INNER, OPTIONS, njit
from odtlib._numba.vector import call_at, fetch_add, read

from ._cache import find, is_exact, pack_details, prefetch_entries, problem_key, store_entry
from ._kernels import (
    IMPURITY,
    KEYS_FROM_ROWS,
    LEAF_0,
    LEAF_1,
    N_CLASSES,
    N_COLUMNS,
    SPLIT_0,
    SPLIT_1,
)

# Columns of ``state``: integers that a level remembers.  A level answers for all node budgets from
# LOW to HIGH at once; those of its children go from CHILD_LOW to CHILD_HIGH.
(DEPTH, LOW, HIGH, CHILD_LOW, CHILD_HIGH, N_CANDIDATES, N_ACTIVE, WIDTH, POSITION, STEP, FIRST_SIDE,
 CHILD_SIDE, N_EARLIER, KEYED, N_STATE) = range(15)
# Rows of ``cost``, per level and node budget.  TARGET is the cost to beat: BEST, or minus infinity
# where nothing better is wanted.
UPPER, LOWER, BEST, TARGET, REFINED, VALUE, BEST_VALUE_1, BEST_VALUE_0, N_COST = range(9)
# Rows of ``choice``, per level and node budget: the root of the best tree, and the node budgets of
# its children; whether VALUE is the optimum.
FEATURE, BUDGET_1, BUDGET_0, EXACT, N_CHOICE = range(5)
# Entries of ``control``.
LEVEL, MODE, SIMILARITY, CACHE, FEATURE_ORDER, CHILD_ORDER, SHARE_SIZES, REFINE, ADDRESS_OPEN, \
    ADDRESS_PREPARE, ADDRESS_CHILDREN, ADDRESS_SIMILARITY, ADDRESS_EARLIER, ADDRESS_CLOSURE, \
    FILLED, SPECIALISED, INCREMENTAL, N_EXACT_CHILDREN, THREAD, N_THREADS, EARLIER_NODES, ROOM, \
    FIRST_LEVEL, BY_LEVEL, N_CONTROL = range(25)
ENTER, ADVANCE, RECEIVE, FINISH, DONE = range(5)
BY_DEPTH_TWO, IN_ORDER, BY_GINI, AT_RANDOM = range(4)
DYNAMIC, POST_ORDER, BY_GAP = range(3)
DATASET, BRANCH, CLOSURE = 1, 2, 3
# Entries of ``counters``.
(NODES, DEPTH_TWO_PAIRS, CACHE_HITS, PRUNED_BY_BOUND, PRUNED_BY_CACHE, SIMILARITY_UPDATES,
 COLUMNS_DROPPED, CACHE_ENTRIES, BOUNDS_REFINED, DATA_SETS_COUNTED, CHILDREN_PROBED,
 EARLIER_BOUNDS, N_COUNTERS) = range(13)
COUNTER_NAMES = ("nodes", "depth_two_pairs", "cache_hits", "pruned_by_bound", "pruned_by_cache",
                 "similarity_updates", "columns_dropped", "cache_entries", "bounds_refined",
                 "data_sets_counted", "children_probed", "earlier_nodes_used")

UNKNOWN, NO_SPLIT = -2, -1
MAX_FULL_DEPTH = 12        # a full tree of this depth has as many nodes as any search may use


@njit(**INNER)
def split_rows(row_bits, row_bytes, rows, class_start, n_classes, feature, side, child_rows,
               child_start):
    """Copy the rows on one side of a split, class by class."""
    byte, bit = feature >> 3, feature & 7
    found = 0
    for c in range(n_classes):
        child_start[c] = found
        for r in range(class_start[c], class_start[c + 1]):
            row = read(rows, r)
            child_rows[found] = row
            found += (read(row_bits, row * row_bytes + byte) >> bit & 1) == side
    child_start[n_classes] = found


@njit(**INNER)
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


@njit(**INNER)
def set_incumbent(choice, cost, n, value, feature, budget_1, budget_0, value_1, value_0):
    """Make a tree the best one with at most ``n`` feature nodes."""
    cost[BEST, n] = value
    cost[TARGET, n] = value if value > cost[LOWER, n] else -np.inf
    choice[FEATURE, n] = feature
    choice[BUDGET_1, n], choice[BUDGET_0, n] = budget_1, budget_0
    cost[BEST_VALUE_1, n], cost[BEST_VALUE_0, n] = value_1, value_0


@njit(**INNER)
def try_shallow_trees(side_cost, n_active, depth, low, high, penalty, below, key, choice, cost):
    """Take the best trees of depth at most two, given the scores of both sides of each split.

    The first split costs ``penalty``, another ``below``.  Leaves in ``key`` the cost of the best
    such tree under each root, and in REFINED the least cost for each node budget.
    """
    for k in range(n_active):
        leaf_0, leaf_1 = side_cost[LEAF_0, k], side_cost[LEAF_1, k]
        value_0, value_1, size_0, size_1 = leaf_0, leaf_1, 0, 0
        largest = min(high, 3 if depth >= 2 else 1)
        for n in range(1, largest + 1):
            if n >= 2:
                split_0 = side_cost[SPLIT_0, k] + below
                split_1 = side_cost[SPLIT_1, k] + below
                value_0, value_1, size_0, size_1 = leaf_0, leaf_1, 0, 0
                if split_0 < leaf_0 and (n == 3 or split_0 - leaf_0 < split_1 - leaf_1):
                    value_0, size_0 = split_0, 1
                if split_1 < leaf_1 and (n == 3 or size_0 == 0):
                    value_1, size_1 = split_1, 1
            key[k] = penalty + value_0 + value_1
            for m in range(max(low, n), (high if n == largest else n) + 1):
                cost[REFINED, m] = min(cost[REFINED, m], key[k])
                if key[k] < cost[TARGET, m]:
                    set_incumbent(choice, cost, m, key[k], k, size_1, size_0, value_1, value_0)


@njit(**INNER)
def combine(bound_1, bound_0, exact, k, low, high, child_low, child_high, penalty, choice, cost,
            accept):
    """Go through all node budgets of the children of split ``k``; tell if one may be better.

    With ``accept``, trees whose two children are solved are taken where they are better; all that
    is not taken enters REFINED (Eq. 15).
    """
    open_ = False
    for a in range(child_low, child_high + 1):
        for b in range(max(child_low, low - 1 - a), min(child_high, high - 1 - a) + 1):
            n = a + b + 1
            value = penalty + bound_1[a, k] + bound_0[b, k]
            if value < cost[TARGET, n]:
                open_ = True
                if accept and exact[1, a] and exact[0, b]:
                    set_incumbent(choice, cost, n, value, k, a, b, bound_1[a, k], bound_0[b, k])
                    continue
            if accept:
                cost[REFINED, n] = min(cost[REFINED, n], value)
    return open_


@njit(**INNER)
def nothing_open(cost, low, high):
    """Tell whether no node budget is left for which a better tree is wanted."""
    for n in range(low, high + 1):
        if cost[TARGET, n] > -np.inf:
            return False
    return True


@njit(**INNER)
def penalised(best_by_size, penalty, below):
    """Turn scores with 0..3 feature nodes into costs with at most so many, both children."""
    for place in (0, 4):
        for size in range(1, 4):
            spent = penalty + below * (size - 1)
            best_by_size[place + size] = min(best_by_size[place + size - 1],
                                             best_by_size[place + size] + spent)


@njit(**INNER)
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


@njit(**INNER)
def subtract_keys(name, keyed, parent_keys, column_keys):
    """Make the keys of a node those of its parent less those of its sibling, if these are there.

    ``name`` tells the split of the parent and the side of it that the node is, ``keyed`` whose keys
    ``column_keys`` holds.  Return whether they are now the node's.
    """
    if keyed == (name ^ 1):
        for place in range(len(column_keys)):
            column_keys[place] = parent_keys[place] - column_keys[place]
    return keyed >> 1 == name >> 1


@njit(**INNER)
def look_up(table, values, low, high, depth, budget, level, counters):
    """Return the bound that the cache has, and whether it is the optimum."""
    budget = min(budget, (1 << min(depth, MAX_FULL_DEPTH)) - 1)
    key_low, key_high = problem_key(low, high, min(depth, budget), budget, level)
    value, word = find(table, values, key_low, key_high)
    if word != np.uint64(0):
        counters[CACHE_HITS] += 1
        if is_exact(word):
            return value, 1
    return value, 0


@njit(**INNER)
def prefetch_children(table, column_keys, width, active, n_active, budget, level, bound_1, bound_0,
                      upper):
    """Ask for the cache's memory of all children of depth two that will be looked up.

    It is scattered and slow to come; the pairs of the first splits are counted meanwhile.
    """
    depth, size = min(np.int64(2), budget), width + 32
    for k in range(n_active):
        if bound_1[k] + bound_0[k] < upper:
            low, high = column_keys[active[k]], column_keys[size + active[k]]
            other_low, other_high = column_keys[width] - low, column_keys[size + width] - high
            low, high = problem_key(low, high, depth, budget, level)
            prefetch_entries(table, low)
            low, high = problem_key(other_low, other_high, depth, budget, level)
            prefetch_entries(table, low)


@njit(**INNER)
def remember(table, values, low, high, depth, budget, level, value, exact, feature, budget_1,
             size):
    """Enter the result for a subproblem into the cache; return 1 if the table grew."""
    budget = min(budget, (1 << min(depth, MAX_FULL_DEPTH)) - 1)
    depth = min(depth, budget)
    key_low, key_high = problem_key(low, high, depth, budget, level)
    return store_entry(table, values, key_low, key_high, value,
                       pack_details(exact, depth, feature, budget_1, size))


@njit(**INNER)
def store_node(name, side, bound_1, bound_0, first, last, n_active, parent_index, parent, known,
                 earlier_ids):
    """Keep what a finished node knows of its children for those that its parent opens later.

    The node is one ``side`` of the split ``name``.  ``known``, (n_budgets, most kept, 2, width),
    has bounds on child 0 and child 1 of every split by its number in the parent, ``parent_index``;
    ``earlier_ids``, (most kept, 2 + n_budgets), the name and side of each node that is kept, and
    for which budgets it has bounds.
    """
    at = parent[N_EARLIER] % len(earlier_ids)
    for p in range(min(parent[N_EARLIER], len(earlier_ids))):
        if earlier_ids[p, 0] == name and earlier_ids[p, 1] == side:
            at = p                               # studied before, for other budgets
    if earlier_ids[at, 0] != name or earlier_ids[at, 1] != side or parent[N_EARLIER] <= at:
        parent[N_EARLIER] += 1
        earlier_ids[at] = 0
        earlier_ids[at, 0], earlier_ids[at, 1] = name, side
    for n in range(first, last + 1):
        earlier_ids[at, 2 + n] = 1
        for i in range(parent[N_ACTIVE]):
            known[n, at, 0, i] = known[n, at, 1, i] = 0.0
        for k in range(n_active):
            known[n, at, 1, parent_index[k]] = bound_1[n, k]
            known[n, at, 0, parent_index[k]] = bound_0[n, k]


@njit(**INNER)
def bound_by_earlier_nodes(name, side, first, last, above, n_above, n_active, active, parent_index,
                           local_index, known, earlier_ids, n_names, similarity, earlier, totals,
                           width, parent, bound_1, bound_0, counters):
    """Bound the children of a node by what other splits of its parent led to before.

    A child is split ``name`` of the parent and split ``k`` here.  What was found for split ``k``
    of the other node ``d`` holds for it but for the rows that ``name`` cuts off; and if split
    ``d`` of the other node ``k`` led to the same rows, for child ``d`` as it is, and by similarity
    for all.
    """
    for i in range(n_above):
        local_index[i] = -1
    i = 0
    for k in range(n_active):
        while above[i] != active[k]:
            i += 1
        parent_index[k] = i
        local_index[i] = k
    for p in range(n_names):
        other, other_side = earlier_ids[p, 0], earlier_ids[p, 1]
        k = local_index[other]
        for n in range(first, last + 1):
            if earlier_ids[p, 2 + n] == 0:
                continue
            if other == name and other_side == side:
                counters[EARLIER_BOUNDS] += 1
                for j in range(n_active):
                    bound_1[n, j] = max(bound_1[n, j], known[n, p, 1, parent_index[j]])
                    bound_0[n, j] = max(bound_0[n, j], known[n, p, 0, parent_index[j]])
            elif other != name and k >= 0:
                counters[EARLIER_BOUNDS] += 1
                value = known[n, p, side, name]
                if value > (bound_1[n, k] if other_side == 1 else bound_0[n, k]):
                    call_at(similarity, (k, totals, n_active, width,
                                         value if other_side == 1 else 0.0,
                                         0.0 if other_side == 1 else value, bound_1[n],
                                         bound_0[n]))
                call_at(earlier, (other, other_side, *parent, k, totals, n_active, width,
                                  parent_index, known[n, p, 1], known[n, p, 0], bound_1[n],
                                  bound_0[n]))


@njit(**INNER)
def publish_root_split(shared, me, k, position, low, high, first, last, bound_1, bound_0, cost):
    """Publish the bounds and the incumbents of a finished root split.

    Each thread writes its own entries only.  Whoever reads them half written sees zeros: a bound
    that is weaker, never one that is wrong.
    """
    _, finished, known, incumbents, _ = shared
    for n in range(first, last + 1):
        known[0, n, k], known[1, n, k] = bound_1[n, k], bound_0[n, k]
    finished[me, 1 + finished[me, 0]] = k
    finished[me, 0] += 1
    for n in range(low, high + 1):
        if cost[BEST, n] < incumbents[me, 0, n]:
            incumbents[me, 1, n] = position
            incumbents[me, 0, n] = cost[BEST, n]


@njit(**INNER)
def import_incumbents(shared, me, n_threads, position, low, high, cost):
    """Import the incumbents of the other threads as upper bounds.

    Of equal trees the one whose root comes first in the order wins, so that the tree does not
    depend on which thread was quicker.
    """
    incumbents = shared[3]
    for other in range(n_threads):
        for n in range(low, high + 1):
            value = incumbents[other, 0, n]
            if other != me and value < cost[TARGET, n]:
                if incumbents[other, 1, n] > position:
                    cost[TARGET, n] = min(cost[TARGET, n], np.nextafter(value, np.inf))
                else:
                    cost[TARGET, n] = value if value > cost[LOWER, n] else -np.inf


@njit(**OPTIONS)
def search(work, control, penalties, state, cost, choice, leaf, exact, keys, rows, class_start,
           active, order, key, bound_1, bound_0, leaf_cost, side_cost, best_by_size, found,
           shared_arrays, count_arrays, totals, column_keys, table, values, counters, shuffle,
           literals, child_key, shared, earlier):
    """Work on the stack until it is empty (``control[MODE] == DONE``) or ``work`` is used up.

    Also stops when the cache has ``control[ROOM]`` entries, for a larger one.  ``work`` counts
    units of some nanoseconds; ``control`` holds where the search stands, its options and the
    addresses of its kernels; ``penalties`` are the costs of a feature node by its depth (Eq. 19).

    The first axis of ``state``, ``cost``, ``choice`` (see the names of their columns), ``leaf``,
    ``keys`` and of the arrays from ``rows`` to ``column_keys`` is the level.  Bounds on the
    children have a second axis for the node budget of the child; ``exact`` tells which of those of
    the current split are optima, and ``child_key`` has the keys of its two children.  ``table`` and
    ``values`` are the cache, as integers and as numbers.

    ``shared`` is what threads share that divide the splits of the root among them: the next split,
    the finished ones of each thread and the bounds that they gave, the best trees; and how many
    finished splits of each thread this one has seen.  ``earlier`` holds bounds that finished
    children left for the others, and whose they are (first axis: level less one), and what number
    each split has one level above, and the reverse.
    """
    shape, row_bits = shared_arrays[0], shared_arrays[1]
    n_classes, n_columns = shape[N_CLASSES], shape[N_COLUMNS]
    row_bytes = n_columns // 8
    use_cache, similar = control[CACHE] > 0, control[SIMILARITY] > 0
    share = control[SHARE_SIZES] > 0
    earlier_bounds, earlier_ids, parent_index, local_index = earlier
    me, n_threads = control[THREAD], control[N_THREADS]
    # Trees of this depth are solved without splitting the rows.
    terminal = 2 if control[SPECIALISED] else 1
    pairwise = 3 if control[SPECIALISED] else 0      # depth whose children the kernel solves
    # Literals as arguments would compile the callee once more for each.
    nothing, one, two, unknown = np.int64(0), np.int64(1), np.int64(2), np.int64(UNKNOWN)
    t, mode = control[LEVEL], control[MODE]

    while work > 0 and mode != DONE and control[FILLED] <= control[ROOM]:
        st, co, ch, starts = state[t], cost[t], choice[t], class_start[t]
        n_rows = starts[n_classes]
        depth, low, high = st[DEPTH], st[LOW], st[HIGH]
        level = control[FIRST_LEVEL] + t
        penalty, below, third = penalties[level], penalties[level + 1], penalties[level + 2]
        # Where all levels cost alike the cache does not tell them apart.
        level *= control[BY_LEVEL]
        # From TERMINAL on a tree has a split in each level; of a child, and of the node:
        deep = below + (third if terminal == 2 else 0.0)

        if mode == ENTER:
            counters[NODES] += 1
            st[N_ACTIVE], st[POSITION], st[STEP], st[N_EARLIER] = 0, 0, 0, 0
            for n in range(low, high + 1):
                co[BEST, n], co[REFINED, n] = co[UPPER, n], np.inf
                ch[FEATURE, n], ch[EXACT, n] = UNKNOWN, 0
                if leaf[t] < co[BEST, n]:
                    co[BEST, n] = leaf[t]
                    ch[FEATURE, n] = NO_SPLIT
                co[TARGET, n] = -np.inf
                if n == 0:
                    ch[EXACT, n] = 1
                    co[VALUE, n] = leaf[t]
                elif co[BEST, n] > co[LOWER, n]:
                    co[TARGET, n] = co[BEST, n]
            mode = FINISH
            if nothing_open(co, low, high):
                continue
            keys_from_rows = shape[KEYS_FROM_ROWS]
            if t > 0 and keys_from_rows:
                name = 2 * order[t - 1, state[t - 1, POSITION]] + state[t - 1, CHILD_SIDE]
                if subtract_keys(name, st[KEYED], column_keys[t - 1], column_keys[t]):
                    keys_from_rows = nothing
                st[KEYED] = name
            state[t + 1, KEYED] = UNKNOWN
            call_at(control[ADDRESS_OPEN],
                    (rows[t], starts, active[t], st[N_CANDIDATES], keys_from_rows, shared_arrays,
                     count_arrays, active[t + 1], column_keys[t], found))
            call_at(control[ADDRESS_PREPARE],
                    (starts, shared_arrays, count_arrays, totals[t], side_cost, best_by_size,
                    found))
            n_active, width = found[0], found[1]
            work -= 50 + n_rows * width // 64 + n_rows * width * width // 4096
            st[N_ACTIVE], st[WIDTH] = n_active, width
            counters[COLUMNS_DROPPED] += st[N_CANDIDATES] - n_active
            try_shallow_trees(side_cost, n_active, min(depth, terminal), low, high, penalty, below,
                              key, ch, co)
            if share and terminal == 2:
                penalised(best_by_size, penalty, below)
                for n in range(1, min(3, high) + 1):
                    control[FILLED] += remember(table, values, keys[t, 0], keys[t, 1],
                                                min(two, n), n, level, best_by_size[n], one,
                                                unknown, nothing, n)
            for n in range(low, high + 1):           # all trees of such a size have been seen
                if depth <= terminal or n <= terminal or n_active == 0:
                    ch[EXACT, n] = 1
                    co[VALUE, n] = min(leaf[t], co[REFINED, n])
                    co[TARGET, n] = -np.inf
                elif co[BEST, n] <= penalty + deep:
                    co[TARGET, n] = -np.inf          # the other trees have so many splits
            if nothing_open(co, low, high):
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
            largest = (1 << min(depth - 1, MAX_FULL_DEPTH)) - 1
            st[CHILD_LOW], st[CHILD_HIGH] = max(0, low - 1 - largest), min(high - 1, largest)
            for b in range(st[CHILD_LOW], st[CHILD_HIGH] + 1):
                # Below TERMINAL the pair counts tell the optimum of a child; from it on, trees that
                # they do not tell have so many splits.
                others = deep if b >= terminal else np.inf
                for k in range(n_active):
                    bound_1[t, b, k] = min(side_cost[LEAF_1, k], others)
                    bound_0[t, b, k] = min(side_cost[LEAF_0, k], others)
                    if b >= 1 and terminal == 2:
                        bound_1[t, b, k] = min(bound_1[t, b, k], side_cost[SPLIT_1, k] + below)
                        bound_0[t, b, k] = min(bound_0[t, b, k], side_cost[SPLIT_0, k] + below)
            if (0 < t <= earlier_bounds.shape[0] and control[EARLIER_NODES]
                    and st[CHILD_HIGH] < earlier_bounds.shape[1]):
                bound_by_earlier_nodes(
                    order[t - 1, state[t - 1, POSITION]], state[t - 1, CHILD_SIDE],
                    max(st[CHILD_LOW], terminal), st[CHILD_HIGH], active[t],
                    state[t - 1, N_ACTIVE], n_active, active[t + 1], parent_index[t],
                    local_index, earlier_bounds[t - 1], earlier_ids[t - 1],
                    min(state[t - 1, N_EARLIER], earlier_ids.shape[1]),
                    control[ADDRESS_SIMILARITY], control[ADDRESS_EARLIER], totals[t], width,
                    (totals[t - 1], state[t - 1, N_ACTIVE], state[t - 1, WIDTH]), bound_1[t],
                    bound_0[t], counters)
            if control[CACHE] == DATASET and depth == pairwise:
                n = st[CHILD_HIGH]
                prefetch_children(table, column_keys[t], n_columns, active[t + 1], n_active, n,
                                  level + control[BY_LEVEL], bound_1[t, n], bound_0[t, n],
                                  co[TARGET, high] - penalty)
            mode = ADVANCE
            continue

        n_active, width = st[N_ACTIVE], st[WIDTH]
        first, last = st[CHILD_LOW], st[CHILD_HIGH]
        bounds_1, bounds_0, solved, made = bound_1[t], bound_0[t], exact[t], child_key[t]

        if mode == RECEIVE:                          # the child on level t + 1 is finished
            k, side = order[t, st[POSITION]], st[CHILD_SIDE]
            bounds = bounds_1 if side == 1 else bounds_0
            for n in range(state[t + 1, LOW], state[t + 1, HIGH] + 1):
                bounds[n, k] = max(bounds[n, k], cost[t + 1, VALUE, n])
                solved[side, n] |= choice[t + 1, EXACT, n]
            # Fewer nodes cannot do better, so a bound holds for smaller budgets too (Eq. 18).
            for n in range(last - 1, first - 1, -1):
                bounds[n, k] = max(bounds[n, k], bounds[n + 1, k])
            mode = ADVANCE

        while mode == ADVANCE:
            if work <= 0 or control[FILLED] > control[ROOM]:
                break
            if st[STEP] == 0:
                # The next split, and what is known about its children.
                if t == 0 and n_threads > 1:
                    st[POSITION] = min(fetch_add(shared[0]), n_active)
                    import_incumbents(shared, me, n_threads, st[POSITION], low, high, co)
                    for other in range(n_threads):
                        while other != me and shared[4][other] < shared[1][other, 0]:
                            shared[4][other] += 1
                            k = shared[1][other, shared[4][other]]
                            for n in range(first, last + 1):
                                bounds_1[n, k] = max(bounds_1[n, k], shared[2][0, n, k])
                                bounds_0[n, k] = max(bounds_0[n, k], shared[2][1, n, k])
                                if similar:
                                    call_at(control[ADDRESS_SIMILARITY],
                                            (k, totals[t], n_active, width, shared[2][0, n, k],
                                             shared[2][1, n, k], bounds_1[n], bounds_0[n]))
                if st[POSITION] >= n_active or nothing_open(co, low, high):
                    mode = FINISH
                    break
                work -= 1
                k = order[t, st[POSITION]]
                if not combine(bounds_1, bounds_0, solved, k, low, high, first, last, penalty, ch,
                               co, False):
                    counters[PRUNED_BY_BOUND] += 1
                    for n in range(first, last + 1):
                        solved[0, n], solved[1, n] = 0, 0
                    combine(bounds_1, bounds_0, solved, k, low, high, first, last, penalty, ch, co,
                            True)
                    st[POSITION] += 1
                    continue
                all_solved = use_cache or last < terminal
                for n in range(first, last + 1):
                    solved[0, n] = solved[1, n] = n < terminal
                if use_cache:
                    if control[CACHE] == CLOSURE:
                        call_at(control[ADDRESS_CLOSURE],
                                (k, totals[t], n_active, width, active[t + 1], literals, made))
                    child_keys(control[CACHE], keys[t], active[t + 1, k], column_keys[t],
                               n_columns, literals, made)
                    for n in range(last, max(first, terminal) - 1, -1):
                        value, known = look_up(table, values, made[0], made[1], depth - 1, n,
                                               level + control[BY_LEVEL], counters)
                        bounds_1[n, k] = max(bounds_1[n, k], value)
                        solved[1, n] = known
                        value, other_known = look_up(table, values, made[2], made[3], depth - 1,
                                                     n, level + control[BY_LEVEL], counters)
                        bounds_0[n, k] = max(bounds_0[n, k], value)
                        solved[0, n] = other_known
                        all_solved = all_solved and known + other_known == 2
                        if depth == pairwise and known + other_known == 0:
                            break                # all their budgets are entered together
                st[STEP] = 3
                if not all_solved and not combine(bounds_1, bounds_0, solved, k, low, high, first,
                                                  last, penalty, ch, co, False):
                    counters[PRUNED_BY_CACHE] += 1
                elif not all_solved and depth == pairwise:
                    # Both children have depth two: one kernel call solves them for all budgets.
                    # The smaller child (-1) is counted, or, one after the other, both.
                    for side in range(-1, 0) if control[INCREMENTAL] else range(2):
                        call_at(control[ADDRESS_CHILDREN],
                                (k, side, starts, n_active, width, shared_arrays, count_arrays,
                                 best_by_size))
                        counters[DATA_SETS_COUNTED] += 1
                    counters[DEPTH_TWO_PAIRS] += 1
                    work -= 10 + width * width // 64 + n_rows * width * width // 16384
                    penalised(best_by_size, below, third)
                    for n in range(first, last + 1):
                        bounds_1[n, k], bounds_0[n, k] = best_by_size[n], best_by_size[4 + n]
                        solved[1, n], solved[0, n] = 1, 1
                    if use_cache:
                        for n in range(1 if share else max(first, terminal),
                                       (3 if share else last) + 1):
                            for place in range(2):
                                control[FILLED] += remember(
                                    table, values, made[2 * place], made[2 * place + 1], two, n,
                                    level + control[BY_LEVEL], best_by_size[4 * place + n], one,
                                    unknown, nothing, n)
                elif not all_solved:
                    st[STEP] = 1
                    st[FIRST_SIDE] = 0
                    if control[CHILD_ORDER] == DYNAMIC:
                        st[FIRST_SIDE] = 1 if leaf_cost[t, 1, k] >= leaf_cost[t, 0, k] else 0
                    elif control[CHILD_ORDER] == BY_GAP:
                        gap_1 = leaf_cost[t, 1, k] - bounds_1[last, k]
                        gap_0 = leaf_cost[t, 0, k] - bounds_0[last, k]
                        st[FIRST_SIDE] = 1 if gap_1 >= gap_0 else 0

            k = order[t, st[POSITION]]
            if st[STEP] < 3:
                # Solve a child for the node budgets that may still give a better tree.
                side = st[FIRST_SIDE] if st[STEP] == 1 else 1 - st[FIRST_SIDE]
                st[STEP] += 1
                mine = bounds_1 if side == 1 else bounds_0
                other = bounds_0 if side == 1 else bounds_1
                child_low, child_high = last + 1, -1
                for a in range(first, last + 1):
                    upper = -np.inf
                    for b in range(max(first, low - 1 - a), min(last, high - 1 - a) + 1):
                        upper = max(upper, co[TARGET, a + b + 1] - penalty - other[b, k])
                    cost[t + 1, LOWER, a] = mine[a, k]
                    cost[t + 1, UPPER, a] = mine[a, k]
                    if solved[side, a] == 0 and mine[a, k] < upper:
                        cost[t + 1, UPPER, a] = upper
                        child_low, child_high = min(child_low, a), max(child_high, a)
                if child_high < 0:
                    continue
                st[CHILD_SIDE] = side
                state[t + 1, DEPTH] = min(depth - 1, child_high)
                state[t + 1, LOW], state[t + 1, HIGH] = child_low, child_high
                state[t + 1, N_CANDIDATES] = n_active
                leaf[t + 1] = leaf_cost[t, side, k]
                keys[t + 1, 0], keys[t + 1, 1] = made[2 - 2 * side], made[3 - 2 * side]
                split_rows(row_bits, row_bytes, rows[t], starts, n_classes, active[t + 1, k], side,
                           rows[t + 1], class_start[t + 1])
                work -= 10 + n_rows // 16
                if (st[POSITION] < control[N_EXACT_CHILDREN] and depth > 3
                        and 2 * class_start[t + 1, n_classes] >= n_rows):
                    # An optimum bounds more of the other splits than a bound just good enough.
                    counters[CHILDREN_PROBED] += 1
                    for a in range(child_low, child_high + 1):
                        if cost[t + 1, UPPER, a] > cost[t + 1, LOWER, a]:
                            cost[t + 1, UPPER, a] = np.inf
                mode = ENTER
                t += 1
                break

            combine(bounds_1, bounds_0, solved, k, low, high, first, last, penalty, ch, co, True)
            if similar:
                counters[SIMILARITY_UPDATES] += 1
                for n in range(max(first, terminal), last + 1):
                    call_at(control[ADDRESS_SIMILARITY],
                            (k, totals[t], n_active, width, bounds_1[n, k], bounds_0[n, k],
                             bounds_1[n], bounds_0[n]))
            if t == 0 and n_threads > 1:
                publish_root_split(shared, me, k, st[POSITION], low, high, first, last, bounds_1,
                               bounds_0, co)
            st[STEP] = 0
            st[POSITION] += 1

        if mode == FINISH:
            for n in range(low, high + 1):
                if co[BEST, n] < co[UPPER, n]:
                    ch[EXACT, n] = 1
                    co[VALUE, n] = co[BEST, n]
                elif ch[EXACT, n]:                       # VALUE is known already
                    pass
                elif co[UPPER, n] <= co[LOWER, n]:       # was not asked for
                    co[VALUE, n] = co[LOWER, n]
                    continue
                else:
                    co[VALUE, n] = co[UPPER, n]
                    if control[REFINE]:                  # Eq. 17
                        refined = min(leaf[t], co[REFINED, n])
                        if refined > co[UPPER, n]:
                            counters[BOUNDS_REFINED] += 1
                            co[VALUE, n] = refined
                if use_cache and t > 0 and n > 0:
                    feature = unknown if ch[FEATURE, n] == UNKNOWN else np.int64(NO_SPLIT)
                    if ch[FEATURE, n] >= 0:
                        feature = active[t + 1, ch[FEATURE, n]]
                    control[FILLED] += remember(
                        table, values, keys[t, 0], keys[t, 1], st[DEPTH], n, level, co[VALUE, n],
                        ch[EXACT, n], feature, ch[BUDGET_1, n], n)
            if t == 0:
                mode = DONE
            else:
                if (control[EARLIER_NODES] and st[N_ACTIVE] > 0 and st[POSITION] + st[STEP] > 0
                        and t <= earlier_bounds.shape[0]
                        and st[CHILD_HIGH] < earlier_bounds.shape[1]):
                    store_node(
                        order[t - 1, state[t - 1, POSITION]], state[t - 1, CHILD_SIDE], bound_1[t],
                        bound_0[t], max(st[CHILD_LOW], terminal), st[CHILD_HIGH], st[N_ACTIVE],
                        parent_index[t], state[t - 1], earlier_bounds[t - 1], earlier_ids[t - 1])
                t -= 1
                mode = RECEIVE
    control[LEVEL], control[MODE] = t, mode
    counters[CACHE_ENTRIES] = control[FILLED]
