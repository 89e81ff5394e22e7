"""The search over trees of any depth and size: Eq. 1 of the MurTree paper on an explicit stack.

A *level* of the stack is a node under study: its rows, how deep and how large its tree may be, the
score to beat, and what is known about the children of each split.  :func:`enter` begins with a
node, :func:`advance` goes through its splits, :func:`receive` takes over what a child found, and
:func:`finish` ends the node.  Kernels do all the counting (:mod:`odtlib.murtree._kernels`); the
search only sees scores and bounds, so it is the same for counts of 16 or 32 bits and for weighted
sums.  It runs in slices: after a given amount of work it returns, and the same call goes on from
the same arrays.

Arguments that mean the same in all kernels; N is the width of a line of all columns, and B and C
the numbers of node budgets, from 0 on, of a node and of its children:

- ``t``: int, the level at hand, 0 for the root; ``levels``: the ``Levels`` below, all arrays by
  level; ``scratch``: the ``Scratch``.
- ``st``: (N_STATE,) int64, ``levels.state[t]``; ``cost`` or ``co``: (N_COST, B) float64 and
  ``choice`` or ``ch``: (N_CHOICE, B) int64, those of a level.
- ``control``: (N_CONTROL,) int64; ``counters``: (N_COUNTERS,) int64.
- ``k``: int, a split, by its place among the ``n_active`` (int) columns of the node; ``side``: int,
  1 for the rows that have its column, 0 for the others.
- ``active``: (N,) int64, which of all columns the node's are; ``order``: (N,) int64, its splits in
  the order of trial.
- ``bound``: (2, C, N) float64, what a child costs at least, by side, its node budget, and split;
  ``leaf_cost``: (2, N) float64, what it costs as a leaf; ``limit``: (2, N) float64, what it costs
  less than in any tree whose splits all pay, see :func:`limit_children`.
- ``side_cost``: (5, N) float64, lines LEAF_0 to IMPURITY of each split, from the kernels;
  ``best_by_size``: (8,) float64, the least costs with 0 to 3 feature nodes of child 1, then of
  child 0.
- ``terminal``: int, the depth of trees that are solved without splitting rows: 2 with the
  specialised algorithm, else 1.
- ``penalties``: float64, the cost of a feature node by its depth, for at least two levels more than
  there are; ``penalty``, ``below``, ``third``: float, of a node and of the next two levels.
- ``level``: int, the depth of a subproblem in the whole tree, as the cache tells it apart.
- ``table``, (4 * entries,) uint64, and ``values``, the same memory as float64: the cache
  (:mod:`odtlib.murtree._cache`); ``cache``: both.
- ``column_keys``: (2 * (N + 32),) uint64, a line of N + 32 for the first and one for the second
  words of keys: sums over the rows of a node that have each column and, at N, over all.
- ``literals``: (4 * N,) uint64, two words for rows without each column, two for those with it.
- ``shape``: int64, ``row_bits``: uint8: those of the kernels' ``SharedArrays``.
- ``shared``: what threads share, see :func:`search`; ``earlier``: what finished children left, see
  :func:`store_node`.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from odtlib._numba.compiler import INNER, OPTIONS, njit
from odtlib._numba.vector import call_at, fetch_add, read

from ._cache import find, is_exact, pack_details, prefetch_entries, problem_key, store_entry
from ._kernels import (
    COUNT_PAIRS,
    IMPURITY,
    KEYS_FROM_ROWS,
    LEAF_0,
    LEAF_1,
    MERGE_COLUMNS,
    N_CLASSES,
    N_COLUMNS,
    SPLIT_0,
    SPLIT_1,
)

# Columns of ``state``: integers that a level remembers.  A level answers for all node budgets from
# LOW to HIGH at once; those of its children go from CHILD_LOW to CHILD_HIGH.  The cache knows it by
# the depth ASKED, which may be more than DEPTH where so many splits cost too much.
(DEPTH, LOW, HIGH, CHILD_LOW, CHILD_HIGH, N_CANDIDATES, N_ACTIVE, WIDTH, POSITION, STEP, FIRST_SIDE,
 CHILD_SIDE, N_EARLIER, KEYED, ASKED, N_STATE) = range(16)
# Rows of ``cost``, per level and node budget.  TARGET is the cost to beat: BEST, or minus infinity
# where nothing better is wanted.
UPPER, LOWER, BEST, TARGET, REFINED, VALUE, BEST_VALUE_1, BEST_VALUE_0, N_COST = range(9)
# Rows of ``choice``, per level and node budget: the root of the best tree, and the node budgets of
# its children; whether VALUE is the optimum.
FEATURE, BUDGET_1, BUDGET_0, EXACT, N_CHOICE = range(5)
# Entries of ``control``.
LEVEL, MODE, SIMILARITY, CACHE, FEATURE_ORDER, CHILD_ORDER, SHARE_SIZES, REFINE, ADDRESS_OPEN, \
    ADDRESS_PREPARE, ADDRESS_CHILDREN, ADDRESS_SIMILARITY, ADDRESS_EARLIER, ADDRESS_WEIGHTS, \
    ADDRESS_CLOSURE, FILLED, SPECIALISED, INCREMENTAL, N_EXACT_CHILDREN, THREAD, N_THREADS, \
    EARLIER_NODES, ROOM, FIRST_LEVEL, BY_LEVEL, READ, ALL_SPLITS, SPLITS_PAY, FAMILY, \
    N_CONTROL = range(30)
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

# The stack; the first axis of each array is the level.  ``leaf`` is the cost of the node as a leaf,
# ``leaf_cost`` those of both children of each split.  ``bound``, by side, node budget of the child
# and split, is for the children of each split; ``exact`` tells which of those of the current split
# are optima, and ``child_key`` has the keys of its two children.  ``active`` are the columns of the
# level above, ``order`` is that of the splits, and ``totals`` has the weights of pairs of columns.
Levels = namedtuple("Levels", "state cost choice exact leaf keys child_key rows class_start active "
                              "order bound leaf_cost limit totals column_keys")
# What is used from one node to the next: sort keys and costs of the splits, best scores of both
# children by size, the shape of a node (number of columns and width); a random number for each
# column, two keys for each test of a column, and the arrays of the kernels, ``SharedArrays`` and
# those of the open node (``_kernels``); ``read`` is what :func:`read_children` found.
Scratch = namedtuple("Scratch", "key side_cost best_by_size node_shape shuffle literals "
                                "shared node read")

UNKNOWN, NO_SPLIT = -2, -1
MAX_FULL_DEPTH = 12        # a full tree of this depth has as many nodes as any search may use
# Depth and node budget of a tree without limits, and of its children: a depth that no other search
# has, and the number of the budget in the arrays.
ANY_DEPTH, ANY_NODES = 4000, 7
PROBED_LEVELS = 12         # whose children may be solved although they are known to be too dear


@njit(**INNER)
def split_rows(row_bits, row_bytes, rows, class_start, n_classes, feature, side, child_rows,
               child_start):
    """Copy the rows on one side of a split, class by class.

    ``rows``, int32, are numbers of rows, those of class ``c`` at ``class_start[c]:class_start[c +
    1]``, (n_classes + 1,) int64; ``n_classes`` is int.  ``feature`` (int) is one of all columns,
    and ``row_bytes`` (int) the bytes of ``row_bits`` for each row.  ``child_rows`` and
    ``child_start``, which are like ``rows`` and ``class_start``, are written.  ``row_bits`` and
    ``side`` are those of the module's docstring.
    """
    byte, bit = feature >> 3, feature & 7
    n_child_rows = 0
    for c in range(n_classes):
        child_start[c] = n_child_rows
        for r in range(class_start[c], class_start[c + 1]):
            row = read(rows, r)
            child_rows[n_child_rows] = row
            n_child_rows += (read(row_bits, row * row_bytes + byte) >> bit & 1) == side
    child_start[n_classes] = n_child_rows


@njit(**INNER)
def sort_by_key(order, key, n):
    """Sort ``order[:n]``, int64, by ``key[order]``, float64, upwards (Shell's method).

    ``n`` is int; equal ones may change places.
    """
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


def child_depth(depth, budget):
    """Return the depth of a child with node budget ``budget`` (int) in a tree of ``depth`` (int).
    """
    return depth if depth == ANY_DEPTH and budget == ANY_NODES else min(depth - 1, budget)


def root_takes(depth):
    """Return what the root of a tree of ``depth`` (int) takes from the node budget.

    The budgets of both children and this number are the budget of the tree.
    """
    return -ANY_NODES if depth == ANY_DEPTH else 1


def limits_of(depth, budget):
    """Return what a tree can use of ``depth`` and node ``budget`` (int); the cache knows it so."""
    if depth == ANY_DEPTH:
        return depth, budget
    budget = min(budget, (1 << min(depth, MAX_FULL_DEPTH)) - 1)
    return min(depth, budget), budget


_child_depth, _root_takes, _limits_of = map(njit(**INNER), (child_depth, root_takes, limits_of))


@njit(**INNER)
def set_incumbent(choice, cost, n, value, feature, budget_1, budget_0, value_1, value_0):
    """Make a tree the best one with at most ``n`` feature nodes.

    It costs ``value`` (float); ``feature`` (int) is its root, by place among the node's columns,
    ``budget_1`` and ``budget_0`` (int) are the node budgets of its children, and ``value_1`` and
    ``value_0`` (float) their costs.  ``choice`` and ``cost``, which are written, are those of the
    module's docstring; ``n`` is int.
    """
    cost[BEST, n] = value
    cost[TARGET, n] = value if value > cost[LOWER, n] else -np.inf
    choice[FEATURE, n] = feature
    choice[BUDGET_1, n], choice[BUDGET_0, n] = budget_1, budget_0
    cost[BEST_VALUE_1, n], cost[BEST_VALUE_0, n] = value_1, value_0


@njit(**INNER)
def try_shallow_trees(side_cost, n_active, depth, low, high, penalty, below, key, choice, cost):
    """Take the best trees of depth at most two, given the scores of both sides of each split.

    ``depth`` (int) is that of the trees, at most 2, and ``low`` to ``high`` (int) are the node
    budgets.  The first split costs ``penalty``, another ``below``.  Leaves in ``key``, (N,)
    float64, the cost of the best such tree under each root, and in REFINED the least cost for each
    node budget.  The other arguments are those of the module's docstring.
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
def combine(bound, limit, exact, k, taken, low, high, child_low, child_high, penalty, choice,
            cost, accept):
    """Go through all node budgets of the children of split ``k``; tell if one may be better.

    ``taken`` (int) is what the root takes from them, see :func:`root_takes`;
    ``low`` to ``high`` (int) are the node budgets of the node, ``child_low`` to ``child_high``
    those of its children; ``exact``, (2, B) int64, tells by side and budget whether ``bound`` is
    the optimum.  With ``accept`` (bool), trees whose two children are solved are taken where they
    are better; all that is not taken enters REFINED (Eq. 15).  The other arguments are those of the
    module's docstring.
    """
    open_ = False
    for a in range(child_low, child_high + 1):
        for b in range(max(child_low, low - taken - a), min(child_high, high - taken - a) + 1):
            if bound[1, a, k] >= limit[1, k] or bound[0, b, k] >= limit[0, k]:
                continue
            n = a + b + taken
            value = penalty + bound[1, a, k] + bound[0, b, k]
            if value < cost[TARGET, n]:
                open_ = True
                if accept and exact[1, a] and exact[0, b]:
                    set_incumbent(choice, cost, n, value, k, a, b, bound[1, a, k], bound[0, b, k])
                    continue
            if accept:
                cost[REFINED, n] = min(cost[REFINED, n], value)
    return open_


@njit(**INNER)
def nothing_open(cost, low, high):
    """Tell whether no node budget is left for which a better tree is wanted.

    ``low`` to ``high`` (int) are the budgets; ``cost`` is that of the module's docstring.
    """
    for n in range(low, high + 1):
        if cost[TARGET, n] > -np.inf:
            return False
    return True


@njit(**INNER)
def keep_open(t, control, st, cost):
    """Want all splits of the root that may cost less than UPPER, with ALL_SPLITS; tell if so.

    ``t``, ``control``, ``st`` and ``cost``, which is written, are those of the module's docstring.
    """
    wanted = t == 0 and control[ALL_SPLITS] > 0
    if wanted:
        for n in range(st[LOW], st[HIGH] + 1):
            cost[TARGET, n] = cost[UPPER, n]
    return wanted


@njit(**INNER)
def penalised(best_by_size, penalty, below):
    """Turn scores with 0..3 feature nodes into costs with at most so many, both children.

    The root of each costs ``penalty``, another split ``below`` (float).  ``best_by_size``, which is
    written, is that of the module's docstring.
    """
    for child_offset in (0, 4):
        for size in range(1, 4):
            spent = penalty + below * (size - 1)
            best_by_size[child_offset + size] = min(best_by_size[child_offset + size - 1],
                                                    best_by_size[child_offset + size] + spent)


@njit(**INNER)
def child_keys(kind, key, column, column_keys, width, literals, child_key):
    """Write the keys of both children of a split: two words for child 1, two for child 0.

    A data set is known by the sum of its rows' keys, a branch by the sum of its literals' keys; for
    closures ``child_key``, (4,) uint64, comes in with the sums of the literals that the split
    adds.  ``kind`` (int) is DATASET, BRANCH or CLOSURE, ``key``, (2,) uint64, that of the node,
    ``column`` (int) one of all, and ``width`` is N.  ``column_keys`` and ``literals`` are those of
    the module's docstring.
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

    ``name`` (int, 2 * split + side) tells the split of the parent and the side of it that the node
    is, ``keyed`` (int) in the same way whose keys ``column_keys`` holds; ``parent_keys`` has those
    of the parent, both as in the module's docstring.  Return whether they are now the node's.
    """
    if keyed == (name ^ 1):
        for word in range(len(column_keys)):
            column_keys[word] = parent_keys[word] - column_keys[word]
    return keyed >> 1 == name >> 1


@njit(**INNER)
def look_up(table, values, low, high, depth, budget, level, counters):
    """Return the bound that the cache has, and whether it is the optimum.

    ``low`` and ``high`` (uint64) are the key of the rows, and ``depth`` and ``budget`` (int) what
    their tree may have.  ``table``, ``values``, ``level`` and ``counters`` are those of the
    module's docstring.
    """
    depth, budget = _limits_of(depth, budget)
    key_low, key_high = problem_key(low, high, depth, budget, level)
    value, word = find(table, values, key_low, key_high)
    if word != np.uint64(0):
        counters[CACHE_HITS] += 1
        if is_exact(word):
            return value, 1
    return value, 0


@njit(**INNER)
def prefetch_children(table, column_keys, width, active, n_active, budget, level, bound, upper):
    """Ask for the cache's memory of all children of depth two that will be looked up.

    It is scattered and slow to come; the pairs of the first splits are counted meanwhile.
    ``width`` (int) is N, ``budget`` (int) the node budget of the children, ``level`` theirs, and
    ``upper`` (float) what both together have to cost less than.  The other arguments are those of
    the module's docstring.
    """
    depth, size = min(np.int64(2), budget), width + 32
    for k in range(n_active):
        if bound[1, budget, k] + bound[0, budget, k] < upper:
            low, high = column_keys[active[k]], column_keys[size + active[k]]
            other_low, other_high = column_keys[width] - low, column_keys[size + width] - high
            low, high = problem_key(low, high, depth, budget, level)
            prefetch_entries(table, low)
            low, high = problem_key(other_low, other_high, depth, budget, level)
            prefetch_entries(table, low)


@njit(**INNER)
def remember(table, values, low, high, depth, budget, level, value, exact, feature, budget_1,
             size):
    """Enter the result for a subproblem into the cache; return 1 if the table grew, else 0.

    ``low`` and ``high`` (uint64) are the key of the rows, and ``depth`` and ``budget`` (int) what
    their tree may have.  ``value`` (float) is a lower bound, or the optimum with ``exact`` (1, else
    0); ``feature`` (int) the column of the root, of all (NO_SPLIT, UNKNOWN); ``budget_1`` (int) the
    node budget of its child 1, and ``size`` (int) that of the tree.  ``table``, ``values`` and
    ``level`` are those of the module's docstring.
    """
    depth, budget = _limits_of(depth, budget)
    key_low, key_high = problem_key(low, high, depth, budget, level)
    return store_entry(table, values, key_low, key_high, value,
                       pack_details(exact, depth, feature, budget_1, size))


@njit(**INNER)
def passes_bounds_on(t, control, st, known_bounds):
    """Tell whether bounds on the children of a node go to those that its parent opens later.

    ``known_bounds`` is the first of ``earlier``; ``t``, ``control`` and ``st`` are those of the
    module's docstring.
    """
    return (control[EARLIER_NODES] > 0 and 0 < t <= known_bounds.shape[0]
            and st[CHILD_HIGH] < known_bounds.shape[1])


@njit(**INNER)
def store_node(t, terminal, levels, earlier):
    """Keep what a finished node knows of its children for those that its parent opens later.

    ``earlier`` begins with bounds on child 0 and child 1 of every split by its number in the
    parent, (level less one, n_budgets, most kept, 2, N) float64, and, (level less one, most kept, 2
    + n_budgets) int64, with the split and the side of each node that is kept, and for which budgets
    it has bounds.  Then come the number that each split has one level above, (level, N) int64, and
    the reverse for the level at hand, (N,) int64.  ``t``, ``terminal`` and ``levels`` are those of
    the module's docstring.
    """
    known_bounds, kept_ids, parent_index = earlier[0][t - 1], earlier[1][t - 1], earlier[2][t]
    st, parent, bound = levels.state[t], levels.state[t - 1], levels.bound[t]
    name, side = levels.order[t - 1, parent[POSITION]], parent[CHILD_SIDE]
    slot = parent[N_EARLIER] % len(kept_ids)
    for p in range(min(parent[N_EARLIER], len(kept_ids))):
        if kept_ids[p, 0] == name and kept_ids[p, 1] == side:
            slot = p                             # studied before, for other budgets
    if kept_ids[slot, 0] != name or kept_ids[slot, 1] != side or parent[N_EARLIER] <= slot:
        parent[N_EARLIER] += 1
        kept_ids[slot] = 0
        kept_ids[slot, 0], kept_ids[slot, 1] = name, side
    for n in range(max(st[CHILD_LOW], terminal), st[CHILD_HIGH] + 1):
        kept_ids[slot, 2 + n] = 1
        for s in range(2):
            for i in range(parent[N_ACTIVE]):
                known_bounds[n, slot, s, i] = 0.0
            for k in range(st[N_ACTIVE]):
                known_bounds[n, slot, s, parent_index[k]] = bound[s, n, k]


@njit(**INNER)
def bound_by_earlier_nodes(t, terminal, control, counters, levels, earlier):
    """Bound the children of a node by what other splits of its parent led to before.

    A child is split ``name`` of the parent and split ``k`` here.  What was found for split ``k`` of
    the other node ``d`` holds for it but for the rows that ``name`` cuts off; and if split ``d`` of
    the other node ``k`` led to the same rows, for child ``d`` as it is, and by similarity for all.

    The arguments, ``t``, ``terminal``, ``control``, ``counters``, ``levels`` and ``earlier``, are
    those of the module's docstring.
    """
    known_bounds, kept_ids, parent_index = earlier[0][t - 1], earlier[1][t - 1], earlier[2][t]
    local_index = earlier[3]
    st, parent, totals = levels.state[t], levels.state[t - 1], levels.totals[t]
    bound, above, active = levels.bound[t], levels.active[t], levels.active[t + 1]
    n_active, width = st[N_ACTIVE], st[WIDTH]
    name, side = levels.order[t - 1, parent[POSITION]], parent[CHILD_SIDE]
    for i in range(parent[N_ACTIVE]):
        local_index[i] = -1
    i = 0
    for k in range(n_active):
        while above[i] != active[k]:
            i += 1
        parent_index[k] = i
        local_index[i] = k
    for p in range(min(parent[N_EARLIER], len(kept_ids))):
        other, other_side = kept_ids[p, 0], kept_ids[p, 1]
        k = local_index[other]
        for n in range(max(st[CHILD_LOW], terminal), st[CHILD_HIGH] + 1):
            if kept_ids[p, 2 + n] == 0:
                continue
            if other == name and other_side == side:
                counters[EARLIER_BOUNDS] += 1
                for s in range(2):
                    for j in range(n_active):
                        bound[s, n, j] = max(bound[s, n, j], known_bounds[n, p, s, parent_index[j]])
            elif other != name and k >= 0:
                counters[EARLIER_BOUNDS] += 1
                value = known_bounds[n, p, side, name]
                if value > bound[other_side, n, k]:
                    call_at(control[ADDRESS_SIMILARITY],
                            (k, totals, n_active, width, value if other_side == 1 else 0.0,
                             0.0 if other_side == 1 else value, bound[1, n], bound[0, n]))
                call_at(control[ADDRESS_EARLIER],
                        (other, other_side, levels.totals[t - 1], parent[N_ACTIVE], parent[WIDTH],
                         k, totals, n_active, width, parent_index, known_bounds[n, p, 1],
                         known_bounds[n, p, 0], bound[1, n], bound[0, n]))


# Several threads share the splits of the root --------------------------------------------------


@njit(**INNER)
def publish_root_split(k, control, levels, shared):
    """Publish the bounds and the incumbents of a finished root split.

    Each thread writes its own entries only.  Whoever reads them half written sees zeros: a bound
    that is weaker, never one that is wrong.  ``k``, ``control``, ``levels`` and ``shared`` are
    those of the module's docstring.
    """
    _, finished, known_bounds, incumbents, _ = shared
    me, st, cost, bound = control[THREAD], levels.state[0], levels.cost[0], levels.bound[0]
    for n in range(st[CHILD_LOW], st[CHILD_HIGH] + 1):
        known_bounds[1, n, k], known_bounds[0, n, k] = bound[1, n, k], bound[0, n, k]
    finished[me, 1 + finished[me, 0]] = k
    finished[me, 0] += 1
    for n in range(st[LOW], st[HIGH] + 1):
        if cost[BEST, n] < incumbents[me, 0, n]:
            incumbents[me, 1, n] = st[POSITION]
            incumbents[me, 0, n] = cost[BEST, n]


@njit(**INNER)
def import_incumbents(control, st, cost, incumbents):
    """Import the incumbents of the other threads as upper bounds.

    Of equal trees the one whose root comes first in the order wins, so that the tree does not
    depend on which thread was quicker.  ``incumbents`` is that of :func:`search`; ``control``,
    ``st`` and ``cost``, which is written, are those of the module's docstring.
    """
    for other in range(control[N_THREADS]):
        for n in range(st[LOW], st[HIGH] + 1):
            value = incumbents[other, 0, n]
            if other != control[THREAD] and value < cost[TARGET, n]:
                if incumbents[other, 1, n] > st[POSITION]:
                    cost[TARGET, n] = min(cost[TARGET, n], np.nextafter(value, np.inf))
                else:
                    cost[TARGET, n] = value if value > cost[LOWER, n] else -np.inf


@njit(**INNER)
def take_root_split(control, levels, shared):
    """Take the next split of the root, and what the other threads have found since the last.

    ``control``, ``levels`` and ``shared`` are those of the module's docstring.
    """
    next_split, finished, known_bounds, incumbents, seen = shared
    st, bound = levels.state[0], levels.bound[0]
    st[POSITION] = min(fetch_add(next_split), st[N_ACTIVE])
    import_incumbents(control, st, levels.cost[0], incumbents)
    for other in range(control[N_THREADS]):
        while other != control[THREAD] and seen[other] < finished[other, 0]:
            seen[other] += 1
            k = finished[other, seen[other]]
            for n in range(st[CHILD_LOW], st[CHILD_HIGH] + 1):
                for side in range(2):
                    bound[side, n, k] = max(bound[side, n, k], known_bounds[side, n, k])
                if control[SIMILARITY]:
                    call_at(control[ADDRESS_SIMILARITY],
                            (k, levels.totals[0], st[N_ACTIVE], st[WIDTH], known_bounds[1, n, k],
                             known_bounds[0, n, k], bound[1, n], bound[0, n]))


# The modes of the search -----------------------------------------------------------------------


@njit(**INNER)
def costs_from(t, control, penalties):
    """Return the level for the cache, and what a split costs on it and on the next two.

    Where all levels cost alike the cache does not tell them apart; it does trees over other columns
    (FAMILY).  ``t``, ``control`` and ``penalties`` are those of the module's docstring.
    """
    level = control[FIRST_LEVEL] + t
    return (level * control[BY_LEVEL] + control[FAMILY], penalties[level], penalties[level + 1],
            penalties[level + 2])


@njit(**INNER)
def begin_with_leaf(st, co, ch, leaf):
    """Make the leaf the incumbent where it costs less than UPPER; set what is to be beaten.

    ``leaf`` (float) is what it costs; ``st``, ``co`` and ``ch``, which are written, are those of
    the module's docstring.
    """
    st[N_ACTIVE], st[POSITION], st[STEP], st[N_EARLIER] = 0, 0, 0, 0
    for n in range(st[LOW], st[HIGH] + 1):
        co[BEST, n], co[REFINED, n] = co[UPPER, n], np.inf
        ch[FEATURE, n], ch[EXACT, n] = UNKNOWN, 0
        if leaf < co[BEST, n]:
            co[BEST, n] = leaf
            ch[FEATURE, n] = NO_SPLIT
        co[TARGET, n] = -np.inf
        if n == 0:
            ch[EXACT, n] = 1
            co[VALUE, n] = leaf
        elif co[BEST, n] > co[LOWER, n]:
            co[TARGET, n] = co[BEST, n]


@njit(**INNER)
def count_node(t, control, counters, levels, scratch):
    """Choose the columns of a node and count it; return how much work that was.

    ``t``, ``control``, ``counters``, ``levels`` and ``scratch`` are those of the module's
    docstring.
    """
    st, starts, node_shape = levels.state[t], levels.class_start[t], scratch.node_shape
    shape = scratch.shared.shape
    keys_from_rows, n_rows = shape[KEYS_FROM_ROWS], starts[shape[N_CLASSES]]
    if t > 0 and keys_from_rows:
        parent = levels.state[t - 1]
        name = 2 * levels.order[t - 1, parent[POSITION]] + parent[CHILD_SIDE]
        if subtract_keys(name, st[KEYED], levels.column_keys[t - 1], levels.column_keys[t]):
            keys_from_rows = np.int64(0)
        st[KEYED] = name
    levels.state[t + 1, KEYED] = UNKNOWN
    call_at(control[ADDRESS_OPEN],
            (levels.rows[t], starts, levels.active[t], st[N_CANDIDATES], keys_from_rows,
             scratch.shared, scratch.node, levels.active[t + 1],
             levels.column_keys[t], node_shape))
    call_at(control[ADDRESS_PREPARE],
            (starts, scratch.shared, scratch.node, levels.totals[t],
             scratch.side_cost, scratch.best_by_size, node_shape))
    st[N_ACTIVE], st[WIDTH] = node_shape[0], node_shape[1]
    counters[COLUMNS_DROPPED] += st[N_CANDIDATES] - node_shape[0]
    width = node_shape[1]
    return 50 + n_rows * width // 64 + n_rows * width * width // 4096


@njit(**INNER)
def order_splits(control, order, key, n_active, active, side_cost, shuffle):
    """Put the splits of a node in the order in which they are tried.

    ``key``, (N,) float64, comes in with the costs of trees of depth two, and ``shuffle``, (N,)
    float64, has a random number for each of all columns.  The other arguments are those of the
    module's docstring; ``order`` is written.
    """
    for k in range(n_active):
        order[k] = k
        if control[FEATURE_ORDER] == BY_GINI:
            key[k] = side_cost[IMPURITY, k]
        elif control[FEATURE_ORDER] == AT_RANDOM:
            key[k] = shuffle[active[k]]
    if control[FEATURE_ORDER] != IN_ORDER:
        sort_by_key(order, key, n_active)


@njit(**INNER)
def bound_children(st, terminal, below, deep, side_cost, leaf_cost, bound):
    """Bound the children of all splits of a node by what was counted, for all node budgets.

    Below ``terminal`` feature nodes it tells the optimum of a child; from there on, trees that it
    does not tell have so many splits that these alone cost ``deep`` (float).  The other arguments
    are those of the module's docstring; ``st``, ``leaf_cost`` and ``bound`` are written.
    """
    largest = ANY_NODES if st[DEPTH] == ANY_DEPTH else (1 << min(st[DEPTH] - 1, MAX_FULL_DEPTH)) - 1
    taken = _root_takes(st[DEPTH])
    st[CHILD_LOW] = max(0, st[LOW] - taken - largest)
    st[CHILD_HIGH] = min(st[HIGH] - taken, largest)
    for side, leaf, split in ((0, LEAF_0, SPLIT_0), (1, LEAF_1, SPLIT_1)):
        for k in range(st[N_ACTIVE]):
            leaf_cost[side, k] = side_cost[leaf, k]
        for b in range(st[CHILD_LOW], st[CHILD_HIGH] + 1):
            others = deep if b >= terminal else np.inf
            for k in range(st[N_ACTIVE]):
                bound[side, b, k] = min(leaf_cost[side, k], others)
                if b >= 1 and terminal == 2:
                    bound[side, b, k] = min(bound[side, b, k], side_cost[split, k] + below)


@njit(**INNER)
def limit_children(t, control, penalty, levels):
    """Limit what the children of all splits may cost, where a split has a price.

    Without the split, the tree of one child takes all rows.  That saves ``penalty`` (float) and the
    cost of the other child, and adds at most what the rows of that child can cost at all.  So in
    some best tree each child costs less than this, less the penalty (the leaf-support bound of
    GOSDT, for trees of any size).  The other arguments are those of the module's docstring.
    """
    st, limit = levels.state[t], levels.limit[t]
    if control[SPLITS_PAY] == 0:
        return                                   # it is infinite from the beginning
    if t == 0 and control[ALL_SPLITS]:
        limit[:] = np.inf
        return
    call_at(control[ADDRESS_WEIGHTS], (levels.totals[t], st[N_ACTIVE], st[WIDTH], limit))
    for side in range(2):
        for k in range(st[N_ACTIVE]):
            limit[side, k] -= penalty


@njit(**INNER)
def cost_of_larger_trees(control, st, penalty, deep, side_cost, limit):
    """Return what a tree costs at least that is larger than those of `try_shallow_trees`.

    Its root costs ``penalty`` and its other splits at least ``deep`` (float).  With three splits it
    is a chain, and one child of the root is a leaf.  The other arguments are those of the module's
    docstring.
    """
    if control[SPLITS_PAY] == 0 or control[SPECIALISED] == 0:
        return penalty + deep
    least = penalty
    for k in range(st[N_ACTIVE]):
        if side_cost[LEAF_0, k] < limit[0, k]:
            least = min(least, side_cost[LEAF_0, k])
        if side_cost[LEAF_1, k] < limit[1, k]:
            least = min(least, side_cost[LEAF_1, k])
    return penalty + deep + least


@njit(**INNER)
def enter(t, control, penalties, counters, levels, scratch, cache, earlier):
    """Begin with a node: count it, take its shallow trees, order its splits, bound their children.

    Return the mode that follows, FINISH where no better tree is wanted, and how much work it was.
    The arguments are those of the module's docstring.
    """
    table, values = cache
    st, co, ch = levels.state[t], levels.cost[t], levels.choice[t]
    depth, low, high = st[DEPTH], st[LOW], st[HIGH]
    level, penalty, below, third = costs_from(t, control, penalties)
    # Trees of this depth are solved without splitting the rows; others have a split in each level.
    terminal = 2 if control[SPECIALISED] else 1
    deep = below + (third if terminal == 2 else 0.0)
    counters[NODES] += 1
    begin_with_leaf(st, co, ch, levels.leaf[t])
    more = high - low                            # node budgets, but for one
    if nothing_open(co, low, high):
        return FINISH, 2 * more
    few = depth == ANY_DEPTH and t > 0 and terminal == 2 and co[TARGET, high] <= 4 * penalty
    if few:
        depth = st[DEPTH] = 3                    # more than three splits cost too much
    shape = scratch.shared.shape
    merged = shape[MERGE_COLUMNS]
    if t == 0 and control[ALL_SPLITS]:           # also of columns that split the rows alike
        shape[MERGE_COLUMNS] = 0
    work = count_node(t, control, counters, levels, scratch) + 2 * more
    shape[MERGE_COLUMNS] = merged
    n_active, best_by_size, side_cost = st[N_ACTIVE], scratch.best_by_size, scratch.side_cost
    try_shallow_trees(side_cost, n_active, min(depth, terminal), low, high, penalty, below,
                      scratch.key, ch, co)
    if control[SHARE_SIZES] and terminal == 2:
        penalised(best_by_size, penalty, below)
        for n in range(1, min(3, high) + 1):
            control[FILLED] += remember(table, values, levels.keys[t, 0], levels.keys[t, 1],
                                        min(np.int64(2), n), n, level, best_by_size[n],
                                        np.int64(1), np.int64(UNKNOWN), np.int64(0), n)
    limit_children(t, control, penalty, levels)
    larger = cost_of_larger_trees(control, st, penalty, deep, side_cost, levels.limit[t])
    for n in range(low, high + 1):               # all trees of such a size have been seen
        if depth <= terminal or n <= terminal or n_active == 0:
            ch[EXACT, n] = 1
            co[VALUE, n] = min(levels.leaf[t], co[REFINED, n])
            co[TARGET, n] = -np.inf
        elif co[BEST, n] <= larger:
            co[TARGET, n] = -np.inf
            co[REFINED, n] = min(co[REFINED, n], larger)
        elif few:
            co[REFINED, n] = min(co[REFINED, n], 4 * penalty)
    if not keep_open(t, control, st, co) and nothing_open(co, low, high):
        return FINISH, work
    order_splits(control, levels.order[t], scratch.key, n_active, levels.active[t + 1], side_cost,
                 scratch.shuffle)
    bound_children(st, terminal, below, deep, side_cost, levels.leaf_cost[t], levels.bound[t])
    work += (more + st[CHILD_HIGH] - st[CHILD_LOW]) * n_active // 32
    if passes_bounds_on(t, control, st, earlier[0]):
        bound_by_earlier_nodes(t, terminal, control, counters, levels, earlier)
    if control[CACHE] == DATASET and depth == 3 and terminal == 2:
        n_columns = scratch.shared.shape[N_COLUMNS]
        prefetch_children(table, levels.column_keys[t], n_columns, levels.active[t + 1], n_active,
                          st[CHILD_HIGH], level + control[BY_LEVEL], levels.bound[t],
                          co[TARGET, high] - penalty)
    return ADVANCE, work


@njit(**INNER)
def receive(t, levels):
    """Take over what the child on the next level has found.

    ``t``, the level of its parent, and ``levels`` are those of the module's docstring.
    """
    st, child, k = levels.state[t], levels.state[t + 1], levels.order[t, levels.state[t, POSITION]]
    bounds = levels.bound[t, st[CHILD_SIDE]]
    for n in range(child[LOW], child[HIGH] + 1):
        bounds[n, k] = max(bounds[n, k], levels.cost[t + 1, VALUE, n])
        levels.exact[t, st[CHILD_SIDE], n] |= levels.choice[t + 1, EXACT, n]
    # Fewer nodes cannot do better, so a bound holds for smaller budgets too (Eq. 18).
    for n in range(st[CHILD_HIGH] - 1, st[CHILD_LOW] - 1, -1):
        bounds[n, k] = max(bounds[n, k], bounds[n + 1, k])


@njit(**INNER)
def look_up_children(t, k, terminal, level, control, counters, levels, n_columns, literals, cache):
    """Look up both children of a split; tell whether they are solved for all node budgets.

    ``level`` is that of the children, and ``n_columns`` (int) is N.  The other arguments are those
    of the module's docstring.
    """
    table, values = cache
    st, made, solved = levels.state[t], levels.child_key[t], levels.exact[t]
    bound = levels.bound[t]
    depth, first, last = st[DEPTH], st[CHILD_LOW], st[CHILD_HIGH]
    active, column_keys = levels.active[t + 1], levels.column_keys[t]
    for n in range(first, last + 1):
        solved[0, n] = solved[1, n] = n < terminal
    if control[CACHE] == 0:
        return last < terminal
    if control[CACHE] == CLOSURE:
        call_at(control[ADDRESS_CLOSURE],
                (k, levels.totals[t], st[N_ACTIVE], st[WIDTH], active, literals, made))
    child_keys(control[CACHE], levels.keys[t], active[k], column_keys, n_columns, literals, made)
    all_solved = True
    for n in range(last, max(first, terminal) - 1, -1):
        for side in range(2):
            value, solved[side, n] = look_up(table, values, made[2 - 2 * side],
                                             made[3 - 2 * side], _child_depth(depth, n), n, level,
                                             counters)
            bound[side, n, k] = max(bound[side, n, k], value)
        all_solved = all_solved and solved[1, n] + solved[0, n] == 2
        if depth == 3 and terminal == 2 and solved[1, n] + solved[0, n] == 0:
            break                                # all their budgets are entered together
    return all_solved


@njit(**INNER)
def solve_children(t, k, terminal, level, below, third, control, counters, levels, scratch, cache):
    """Solve both children of depth two for all node budgets by the kernel; return the work.

    The smaller child (-1) is counted, or, one after the other, both.  ``level`` is that of the
    children.  The arguments are those of the module's docstring.
    """
    table, values = cache
    st, made, solved = levels.state[t], levels.child_key[t], levels.exact[t]
    starts, best_by_size, width = levels.class_start[t], scratch.best_by_size, st[WIDTH]
    bound, first, last = levels.bound[t], st[CHILD_LOW], st[CHILD_HIGH]
    for side in range(-1, 0) if control[INCREMENTAL] else range(2):
        call_at(control[ADDRESS_CHILDREN],
                (k, side, starts, st[N_ACTIVE], width, scratch.shared,
                 scratch.node, best_by_size))
        counters[DATA_SETS_COUNTED] += 1
    counters[DEPTH_TWO_PAIRS] += 1
    penalised(best_by_size, below, third)
    for n in range(first, last + 1):
        bound[1, n, k], bound[0, n, k] = best_by_size[n], best_by_size[4 + n]
        solved[1, n], solved[0, n] = 1, 1
    if control[CACHE]:
        share = control[SHARE_SIZES] > 0
        for n in range(1 if share else max(first, terminal), (3 if share else last) + 1):
            for position in range(2):
                control[FILLED] += remember(
                    table, values, made[2 * position], made[2 * position + 1], np.int64(2), n,
                    level, best_by_size[4 * position + n], np.int64(1), np.int64(UNKNOWN),
                    np.int64(0), n)
    n_rows = starts[scratch.shared.shape[N_CLASSES]]
    return 10 + width * width // 64 + n_rows * width * width // 16384


@njit(**INNER)
def first_side(t, k, control, levels):
    """Return which child of a split is solved first, 1 or 0.

    ``t``, ``k``, ``control`` and ``levels`` are those of the module's docstring.
    """
    leaf_1, leaf_0 = levels.leaf_cost[t, 1, k], levels.leaf_cost[t, 0, k]
    if control[CHILD_ORDER] == BY_GAP:
        last = levels.state[t, CHILD_HIGH]
        leaf_1 -= levels.bound[t, 1, last, k]
        leaf_0 -= levels.bound[t, 0, last, k]
    return 1 if control[CHILD_ORDER] != POST_ORDER and leaf_1 >= leaf_0 else 0


@njit(**INNER)
def open_child(t, k, side, penalty, control, counters, levels, shape, row_bits):
    """Put a child on the next level, for the node budgets that may still give a better tree.

    Tell whether there are any.  The child is ``side`` of split ``k``; the arguments are those of
    the module's docstring.
    """
    st, child, solved = levels.state[t], levels.state[t + 1], levels.exact[t]
    target, child_cost = levels.cost[t, TARGET], levels.cost[t + 1]
    mine, other = levels.bound[t, side], levels.bound[t, 1 - side]
    limit, limit_of_other = levels.limit[t, side, k], levels.limit[t, 1 - side, k]
    low, high, first, last = st[LOW], st[HIGH], st[CHILD_LOW], st[CHILD_HIGH]
    child_low, child_high, taken = last + 1, -1, _root_takes(st[DEPTH])
    for a in range(first, last + 1):
        upper = -np.inf
        for b in range(max(first, low - taken - a), min(last, high - taken - a) + 1):
            if other[b, k] < limit_of_other:
                upper = max(upper, target[a + b + taken] - penalty - other[b, k])
        upper = min(upper, limit)
        child_cost[LOWER, a] = child_cost[UPPER, a] = mine[a, k]
        if solved[side, a] == 0 and mine[a, k] < upper:
            child_cost[UPPER, a] = upper
            child_low, child_high = min(child_low, a), max(child_high, a)
    if child_high < 0:
        return False
    st[CHILD_SIDE] = side
    child[DEPTH] = child[ASKED] = _child_depth(st[DEPTH], child_high)
    child[LOW], child[HIGH], child[N_CANDIDATES] = child_low, child_high, st[N_ACTIVE]
    levels.leaf[t + 1] = levels.leaf_cost[t, side, k]
    for word in range(2):
        levels.keys[t + 1, word] = levels.child_key[t, 2 - 2 * side + word]
    n_classes = shape[N_CLASSES]
    split_rows(row_bits, shape[N_COLUMNS] // 8, levels.rows[t], levels.class_start[t], n_classes,
               levels.active[t + 1, k], side, levels.rows[t + 1], levels.class_start[t + 1])
    if (st[POSITION] < control[N_EXACT_CHILDREN] and st[DEPTH] > 3 and t < PROBED_LEVELS
            and 2 * levels.class_start[t + 1, n_classes] >= levels.class_start[t, n_classes]):
        # An optimum bounds more of the other splits than a bound just good enough.
        counters[CHILDREN_PROBED] += 1
        for a in range(child_low, child_high + 1):
            if child_cost[UPPER, a] > child_cost[LOWER, a]:
                child_cost[UPPER, a] = np.inf
    return True


@njit(**INNER)
def advance(t, work, control, penalties, counters, levels, scratch, cache, shared):
    """Go through the splits of a node; return the mode that follows and the work that is left.

    The mode is ENTER where a child is to be solved, on the next level; FINISH after the last split;
    and ADVANCE where the work is used up or the cache is full.  ``work`` (int) is what may be done,
    in the unit of :func:`search`.  The other arguments are those of the module's docstring.
    """
    st, co, ch = levels.state[t], levels.cost[t], levels.choice[t]
    order, solved, totals = levels.order[t], levels.exact[t], levels.totals[t]
    bound, limit = levels.bound[t], levels.limit[t]
    depth, low, high, n_active = st[DEPTH], st[LOW], st[HIGH], st[N_ACTIVE]
    first, last, taken = st[CHILD_LOW], st[CHILD_HIGH], _root_takes(depth)
    level, penalty, below, third = costs_from(t, control, penalties)
    level += control[BY_LEVEL]                   # of the children
    shape, row_bits = scratch.shared.shape, scratch.shared.row_bits
    terminal = 2 if control[SPECIALISED] else 1
    of_a_split = 1 + (last - first) * (2 + n_active // 16 + (high - low) // 8)
    while work > 0 and control[FILLED] <= control[ROOM]:
        if st[STEP] == 0:
            if t == 0 and control[N_THREADS] > 1:
                take_root_split(control, levels, shared)
            keep_open(t, control, st, co)
            if st[POSITION] >= n_active or nothing_open(co, low, high):
                return FINISH, work
            work -= of_a_split
            k = order[st[POSITION]]
            if not combine(bound, limit, solved, k, taken, low, high, first, last, penalty, ch, co,
                           False):
                counters[PRUNED_BY_BOUND] += 1
                for n in range(first, last + 1):
                    solved[0, n], solved[1, n] = 0, 0
                combine(bound, limit, solved, k, taken, low, high, first, last, penalty, ch, co,
                        True)
                st[POSITION] += 1
                continue
            st[STEP] = 3
            if not look_up_children(t, k, terminal, level, control, counters, levels,
                                    shape[N_COLUMNS], scratch.literals, cache):
                if not combine(bound, limit, solved, k, taken, low, high, first, last, penalty, ch,
                               co, False):
                    counters[PRUNED_BY_CACHE] += 1
                elif depth == 3 and terminal == 2:
                    work -= solve_children(t, k, terminal, level, below, third, control, counters,
                                           levels, scratch, cache)
                else:
                    st[STEP], st[FIRST_SIDE] = 1, first_side(t, k, control, levels)
        k = order[st[POSITION]]
        if st[STEP] < 3:
            side = st[FIRST_SIDE] if st[STEP] == 1 else 1 - st[FIRST_SIDE]
            st[STEP] += 1
            if open_child(t, k, side, penalty, control, counters, levels, shape, row_bits):
                n_rows = levels.class_start[t, shape[N_CLASSES]]
                return ENTER, work - 10 - n_rows // 16
            continue
        combine(bound, limit, solved, k, taken, low, high, first, last, penalty, ch, co, True)
        if control[SIMILARITY]:
            counters[SIMILARITY_UPDATES] += 1
            for n in range(max(first, terminal), last + 1):
                call_at(control[ADDRESS_SIMILARITY],
                        (k, totals, n_active, st[WIDTH], bound[1, n, k], bound[0, n, k],
                         bound[1, n], bound[0, n]))
        if t == 0 and control[N_THREADS] > 1:
            publish_root_split(k, control, levels, shared)
        st[STEP] = 0
        st[POSITION] += 1
    return ADVANCE, work


@njit(**INNER)
def finish(t, control, penalties, counters, levels, cache, earlier):
    """Set the values of a node whose splits are done, and keep what is known of it.

    The arguments are those of the module's docstring.
    """
    table, values = cache
    st, co, ch = levels.state[t], levels.cost[t], levels.choice[t]
    level, _, _, _ = costs_from(t, control, penalties)
    for n in range(st[LOW], st[HIGH] + 1):
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
                refined = min(levels.leaf[t], co[REFINED, n])
                if refined > co[UPPER, n]:
                    counters[BOUNDS_REFINED] += 1
                    co[VALUE, n] = refined
        if control[CACHE] and t > 0 and n > 0:
            feature = ch[FEATURE, n]
            if feature >= 0:
                feature = levels.active[t + 1, feature]
            control[FILLED] += remember(
                table, values, levels.keys[t, 0], levels.keys[t, 1], st[ASKED], n, level,
                co[VALUE, n], ch[EXACT, n], feature, ch[BUDGET_1, n], n)
    if (passes_bounds_on(t, control, st, earlier[0]) and st[N_ACTIVE] > 0
            and st[POSITION] + st[STEP] > 0):
        store_node(t, 2 if control[SPECIALISED] else 1, levels, earlier)


@njit(**INNER)
def read_children(control, levels, scratch):
    """Write both children of the root of a solved tree of depth two at most, child 0 first.

    Each is a column, or -1 for a leaf, and the classes of its leaves, child 0 first; a leaf itself
    has its class in both places.  They go into ``scratch.read``, (2, 3) int64; ``control``,
    ``levels`` and ``scratch`` are those of the module's docstring.
    """
    st, choice, active, rows = levels.state[0], levels.choice[0], levels.active[1], levels.rows[1]
    starts, shape, row_bits = levels.class_start[1], scratch.shared.shape, \
        scratch.shared.row_bits
    weights, n_classes, row_bytes = scratch.shared.numbers, shape[N_CLASSES], \
        shape[N_COLUMNS] // 8
    n, side_cost, node_shape = st[HIGH], scratch.side_cost, scratch.node_shape
    for side in range(2 if choice[FEATURE, n] >= 0 else 0):
        split_rows(row_bits, row_bytes, levels.rows[0], levels.class_start[0], n_classes,
                   active[choice[FEATURE, n]], side, rows, starts)
        column = np.int64(-1)
        if choice[BUDGET_1 if side == 1 else BUDGET_0, n] > 0:
            merged, paired = shape[MERGE_COLUMNS], shape[COUNT_PAIRS]
            shape[MERGE_COLUMNS] = 0
            if n_classes > 1:                    # sums of targets are exact by pairs alone
                shape[COUNT_PAIRS] = 0
            call_at(control[ADDRESS_OPEN],
                    (rows, starts, active, st[N_ACTIVE], np.int64(0), scratch.shared,
                     scratch.node, levels.active[2], levels.column_keys[1], node_shape))
            call_at(control[ADDRESS_PREPARE],
                    (starts, scratch.shared, scratch.node, levels.totals[1],
                     side_cost, scratch.best_by_size, node_shape))
            shape[MERGE_COLUMNS], shape[COUNT_PAIRS] = merged, paired
            least = np.inf
            for k in range(node_shape[0]):
                if side_cost[LEAF_0, k] + side_cost[LEAF_1, k] < least:
                    least = side_cost[LEAF_0, k] + side_cost[LEAF_1, k]
                    column = levels.active[2, k]
        scratch.read[side, 0] = column
        for bit in range(2):
            largest_weight = -1.0
            for c in range(n_classes):
                total = 0.0
                for r in range(starts[c], starts[c + 1]):
                    row = read(rows, r)
                    if column < 0 or (read(row_bits, row * row_bytes + (column >> 3))
                                      >> (column & 7) & 1) == bit:
                        total += weights[2 * row]
                if total > largest_weight:
                    largest_weight, scratch.read[side, 1 + bit] = total, c


@njit(**OPTIONS)
def search(work, control, penalties, counters, levels, scratch, cache, shared, earlier):
    """Work on the stack until it is empty (``control[MODE] == DONE``) or ``work`` is used up.

    Also stops when the cache has ``control[ROOM]`` entries, for a larger one.  ``work`` (int)
    counts units of some nanoseconds; ``control`` holds where the search stands, its options and the
    addresses of its kernels; ``penalties`` are the costs of a feature node by its depth (Eq. 19);
    ``cache`` is the table of the cache, as integers and as numbers; ``earlier`` is that of
    :func:`store_node`.

    ``shared`` is what threads share that divide the splits of the root among them: the next split,
    (1,) int64; the finished ones of each thread, their number first, (threads, 1 + splits) int64;
    the bounds that they gave, (2, C, splits) float64 by side and node budget; the best trees
    (``incumbents``), (threads, 2, B) float64, cost and place of the root in the order; and how many
    finished splits of each thread this one has seen, (threads,) int64.  The other arguments are
    those of the module's docstring.
    """
    t, mode = control[LEVEL], control[MODE]
    while work > 0 and mode != DONE and control[FILLED] <= control[ROOM]:
        if mode == ENTER:
            mode, done = enter(t, control, penalties, counters, levels, scratch, cache, earlier)
            work -= done
        elif mode == FINISH:
            finish(t, control, penalties, counters, levels, cache, earlier)
            if t == 0 and control[READ]:
                read_children(control, levels, scratch)
            mode = RECEIVE if t > 0 else DONE
            t = max(0, t - 1)
        else:
            if mode == RECEIVE:
                receive(t, levels)
            mode, work = advance(t, work, control, penalties, counters, levels, scratch, cache,
                                 shared)
            if mode == ENTER:
                t += 1
    control[LEVEL], control[MODE] = t, mode
    counters[CACHE_ENTRIES] = control[FILLED]
