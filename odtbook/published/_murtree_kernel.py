"""The search as the MurTree paper prints it: Algorithms 1 to 4, on an explicit stack.

Nothing here is faster than it must be; the search of the library is :mod:`odtlib.murtree._search`.
A *level* of the stack is a node under study.  Its rows are ``rows[level, side]``, those that the
split above sent to that side, sorted; they are split into ``rows[level + 1]``.  A *subtree* of the
cache is a data set or a branch, with a list of *entries*: what is known for a depth and a number
of feature nodes.

Arguments that several kernels share, with N rows in all, p features, and d as the depth of the
tree; what is not said to be otherwise is int64:

- ``t``, ``side``: level and side of a data set; ``depth``, ``nodes``: how deep its tree may be, and
  how many feature nodes it may have
- ``X``: (N, p) uint8, 0 or 1; ``of_class``: (N,), classes; ``ones``: the features that are 1 in
  each row, row after row, those of row r from ``ones_start[r]`` on; ``ones_start``: (N + 1,)
- ``subtree``: its number, or NOTHING; ``key``: (2,) uint64, what finds it in the cache
- ``cache``: ``slots``, (a power of two,), a hash table with the numbers of subtrees or -1;
  ``subtree_keys``, (room, 2) uint64; the first entry of each subtree, (room,); ``entries``,
  (room, N_ENTRY)
- ``feature``, ``size_0``, ``size_1``: root of a tree, negative for a leaf, and the feature nodes of
  child 0 and child 1
- ``control``: (N_CONTROL,); ``options``: (N_OPTIONS,); ``counters``: one for each of COUNTER_NAMES
- ``buffer``: the last branches found for each size or length, (places, 2, 2) uint64, and their
  subtrees, (places, 2)
- ``counted_rows``: (2, N), the data sets that were counted, of ``n_counted``, (2,), rows;
  ``pair_counts``: (2, n_classes, p, p) int32, in how many rows of a class two features are 1
- ``stored_rows``: (d + 2, 2, N), the data sets for similarity; ``stored``: (d + 2, 2, 2), their
  size and subtree
- ``singles``: (n_classes, p), and ``cells``: (4, p), work; ``found``: (4, 4), see
  `best_of_depth_two`
"""

from __future__ import annotations

import numpy as np

from odtlib._numba.compiler import INNER, OPTIONS, njit

# Columns of ``frame``: what a level remembers.
(SIDE, DEPTH, NODES, UPPER, PHASE, POSITION, NODES_0, LEAST, MOST, FIRST, FIRST_VALUE, FIRST_SIZE,
 BEST, BEST_FEATURE, BEST_0, BEST_1, REFINED, LOWER, N_FRAME) = range(19)
ENTER, COUNT, NEXT_FEATURE, NEXT_SHARE, FIRST_SOLVED, SECOND_SOLVED, LEAVE = range(7)
# Entries of ``control``: where the search stands, the root of the tree that was found last, and
# which counter is updated: how many rows of its data set and of the new one are done.
(LEVEL, VALUE, FEATURE, SIZE_0, SIZE_1, N_SUBTREES, N_ENTRIES, COUNTER, OLD_DONE, NEW_DONE,
 N_CONTROL) = range(11)
# Entries of ``options``.
(BRANCHES, SIMILARITY, REFINE, BUDGET_BOUNDS, PROPAGATE, INCREMENTAL, BUFFER, FEATURE_ORDER,
 CHILD_ORDER, N_OPTIONS) = range(10)
IN_ORDER, BY_GINI = range(2)
DYNAMIC, POST_ORDER, BY_GAP = range(3)
# Columns of ``entries``.
NEXT, OF_DEPTH, OF_NODES, BOUND, EXACT, ROOT, LEFT, RIGHT, N_ENTRY = range(9)
# Entries of ``counters``.
COUNTER_NAMES = ("nodes", "depth_two_problems", "rows_counted", "cache_hits", "buffer_hits",
                 "similarity_bounds", "entries_transferred", "bounds_refined")
(STUDIED, DEPTH_TWO, ROWS_COUNTED, CACHE_HITS, BUFFER_HITS, SIMILARITY_BOUNDS, TRANSFERRED,
 REFINEMENTS) = range(8)
INFEASIBLE, NOTHING, LARGE = -1, -1, 1 << 40


@njit(**INNER)
def leaf_errors(starts):
    """Return the rows outside the largest class.

    ``starts``: (n_classes + 1,) int64, where the rows of each class begin, and the end.
    """
    largest = 0
    for c in range(len(starts) - 1):
        largest = max(largest, starts[c + 1] - starts[c])
    return starts[-1] - largest


@njit(**INNER)
def split(X, feature, rows, starts, child_rows, child_starts):
    """Send the rows of a node to the two sides of a split, class by class.

    ``X``: (N, p) uint8; ``feature``: that of the split; ``rows``: int64, the rows of the node, and
    ``starts``: (n_classes + 1,) int64, where those of each class begin, and the end.  Results:
    ``child_rows``: (2, N + 1) int64, ``child_starts``: (2, n_classes + 1) int64, likewise for both
    sides.
    """
    for side in range(2):
        found = 0
        for c in range(len(starts) - 1):
            child_starts[side, c] = found
            for r in range(starts[c], starts[c + 1]):
                child_rows[side, found] = rows[r]
                found += X[rows[r], feature] == side
        child_starts[side, len(starts) - 1] = found


@njit(**INNER)
def differences(old, n_old, new, n_new):
    """Return how many rows only the first data set has, and only the second (Proposition 7).

    ``old``, ``new``: int64, sorted rows, ``n_old`` and ``n_new`` of them.
    """
    a, b, common = 0, 0, 0
    while a < n_old and b < n_new:
        x, y = old[a], new[b]
        common += x == y
        a += x <= y
        b += y <= x
    return n_old - common, n_new - common


# The cache (Section 4.5) ------------------------------------------------------------------------

@njit(**INNER)
def find_slot(slots, subtree_keys, key):
    """Return the slot of a key, or the free one where it belongs.

    The arguments are those of the module's docstring.
    """
    mask = len(slots) - 1
    at = np.int64(key[0] & np.uint64(mask))
    while slots[at] >= 0 and (subtree_keys[slots[at], 0] != key[0]
                              or subtree_keys[slots[at], 1] != key[1]):
        at = (at + 1) & mask
    return at


@njit(**OPTIONS)
def rebuild_slots(slots, subtree_keys, n_subtrees):
    """Enter all subtrees into an empty table of another size.

    The arguments are those of the module's docstring; ``slots`` is filled; ``n_subtrees``: how many
    there are.
    """
    for subtree in range(n_subtrees):
        slots[find_slot(slots, subtree_keys, subtree_keys[subtree])] = subtree


@njit(**INNER)
def find_subtree(t, side, options, rows, starts, row_keys, branches, keys, cache, buffer,
                 counters):
    """Return the number of a subtree in the cache, or NOTHING; leaves its key in ``keys``.

    The arguments are those of the module's docstring; ``rows``, ``starts``, ``row_keys``,
    ``branches`` and ``keys``: as in `search`.

    The last two subtrees found among data sets of this size, or branches of this length, are looked
    at first: they are told by their branch, without a key (Section 4.5.2).
    """
    slots, subtree_keys = cache[0], cache[1]
    buffered_branch, buffered = buffer
    n_rows = starts[t, side, -1]
    place = t if options[BRANCHES] else n_rows
    branch, key = branches[t, side], keys[t, side]
    if options[BUFFER]:
        for k in range(2):
            if (buffered[place, k] >= 0 and buffered_branch[place, k, 0] == branch[0]
                    and buffered_branch[place, k, 1] == branch[1]):
                counters[BUFFER_HITS] += 1
                return buffered[place, k]
    if options[BRANCHES]:
        key[0], key[1] = branch[0], branch[1]
    elif key[0] == 0 and key[1] == 0:
        for r in range(n_rows):
            key[0] += row_keys[rows[t, side, r], 0]
            key[1] += row_keys[rows[t, side, r], 1]
    subtree = slots[find_slot(slots, subtree_keys, key)]
    if subtree >= 0 and options[BUFFER]:
        buffered[place, 1] = buffered[place, 0]
        buffered_branch[place, 1, 0] = buffered_branch[place, 0, 0]
        buffered_branch[place, 1, 1] = buffered_branch[place, 0, 1]
        buffered[place, 0] = subtree
        buffered_branch[place, 0, 0], buffered_branch[place, 0, 1] = branch[0], branch[1]
    return subtree


@njit(**INNER)
def add_subtree(key, control, cache):
    """Add a subtree to the cache; return its number.

    The arguments are those of the module's docstring.
    """
    slots, subtree_keys, first_entry = cache[0], cache[1], cache[2]
    subtree = control[N_SUBTREES]
    slots[find_slot(slots, subtree_keys, key)] = subtree
    subtree_keys[subtree, 0], subtree_keys[subtree, 1] = key[0], key[1]
    first_entry[subtree] = NOTHING
    control[N_SUBTREES] += 1
    return subtree


@njit(**INNER)
def find_entry(subtree, depth, nodes, cache):
    """Return the entry of a subtree for these limits, or NOTHING.

    The arguments are those of the module's docstring.
    """
    if subtree < 0:
        return NOTHING
    entries = cache[3]
    entry = cache[2][subtree]
    while entry >= 0 and not (entries[entry, OF_DEPTH] == depth
                              and entries[entry, OF_NODES] == nodes):
        entry = entries[entry, NEXT]
    return entry


@njit(**INNER)
def lower_bound(subtree, depth, nodes, options, cache):
    """Return the best lower bound, from larger trees too (Proposition 11, Eq. 18).

    The arguments are those of the module's docstring.
    """
    if subtree < 0:
        return 0
    entries, bound = cache[3], 0
    entry = cache[2][subtree]
    while entry >= 0:
        larger = nodes <= entries[entry, OF_NODES] and depth <= entries[entry, OF_DEPTH]
        equal = nodes == entries[entry, OF_NODES] and depth == entries[entry, OF_DEPTH]
        if equal or (larger and options[BUDGET_BOUNDS]):
            bound = max(bound, entries[entry, BOUND])
        entry = entries[entry, NEXT]
    return bound


@njit(**INNER)
def store(subtree, depth, nodes, bound, exact, feature, size_0, size_1, control, cache):
    """Store a lower bound or an optimum, where it says more than what is known.

    The arguments are those of the module's docstring; ``bound``: the number of errors; ``exact``:
    whether it is that of an optimum.
    """
    entries = cache[3]
    entry = find_entry(subtree, depth, nodes, cache)
    if entry < 0:
        entry = control[N_ENTRIES]
        control[N_ENTRIES] += 1
        entries[entry, NEXT] = cache[2][subtree]
        cache[2][subtree] = entry
        entries[entry, OF_DEPTH], entries[entry, OF_NODES] = depth, nodes
        entries[entry, BOUND], entries[entry, EXACT] = 0, 0
    if entries[entry, EXACT] == 0 and (exact or bound > entries[entry, BOUND]):
        entries[entry, BOUND], entries[entry, EXACT] = bound, exact
        entries[entry, ROOT] = feature
        entries[entry, LEFT], entries[entry, RIGHT] = size_0, size_1


@njit(**INNER)
def store_optimum(subtree, depth, nodes, value, feature, size_0, size_1, options, control, cache):
    """Store an optimum, also for the limits in between that it respects (Proposition 10).

    The arguments are those of the module's docstring; ``value``: the number of errors.
    """
    size = 0 if feature < 0 else 1 + size_0 + size_1
    store(subtree, depth, nodes, value, 1, feature, size_0, size_1, control, cache)
    if options[PROPAGATE]:
        for fewer in range(max(size, 1), nodes + 1):
            for lower in range(max(1, min(depth, size)), min(depth, fewer) + 1):
                store(subtree, lower, fewer, value, 1, feature, size_0, size_1, control, cache)


# Depth two (Section 4.3) ------------------------------------------------------------------------

@njit(**INNER)
def count_row(row, sign, counts, of_class, ones, ones_start):
    """Add a row to the counts of pairs of features of its class, or take it away.

    The arguments are those of the module's docstring; ``row``: its number; ``sign``: 1 or -1;
    ``counts``: (n_classes, p, p) int32, changed.  Returns the number of pairs.
    """
    first, last = ones_start[row], ones_start[row + 1]
    table = counts[of_class[row]]
    for a in range(first, last):
        for b in range(first, last):
            table[ones[a], ones[b]] += sign
    return (last - first) * (last - first)


@njit(**INNER)
def begin_count(rows, n_rows, options, control, counted_rows, n_counted, pair_counts, counters):
    """Choose the nearer of two stored counters (Section 4.3.3), or count from scratch.

    The arguments are those of the module's docstring; ``rows``: int64, the data set, sorted,
    ``n_rows`` of them.
    """
    removed, added = differences(counted_rows[0], n_counted[0], rows, n_rows)
    nearer = 0
    if options[INCREMENTAL]:
        other_removed, other_added = differences(counted_rows[1], n_counted[1], rows, n_rows)
        if other_removed + other_added <= removed + added:
            nearer, removed, added = 1, other_removed, other_added
    control[COUNTER], control[OLD_DONE], control[NEW_DONE] = nearer, 0, 0
    if options[INCREMENTAL] and removed + added < n_rows:
        counters[ROWS_COUNTED] += removed + added
    else:
        counters[ROWS_COUNTED] += n_rows
        pair_counts[nearer][:] = 0
        n_counted[nearer] = 0


@njit(**INNER)
def count(work, rows, n_rows, control, of_class, ones, ones_start, counted_rows, n_counted,
          pair_counts):
    """Go on counting pairs of features; return the work that is left (none: not yet done).

    The arguments are those of the module's docstring; ``work``: pairs that may be counted;
    ``rows``: int64, the data set, sorted, ``n_rows`` of them.
    """
    nearer, a, b = control[COUNTER], control[OLD_DONE], control[NEW_DONE]
    counts, old, n_old = pair_counts[nearer], counted_rows[nearer], n_counted[nearer]
    while work > 0 and (a < n_old or b < n_rows):
        if b == n_rows or (a < n_old and old[a] < rows[b]):
            work -= count_row(old[a], -1, counts, of_class, ones, ones_start)
            a += 1
        elif a == n_old or rows[b] < old[a]:
            work -= count_row(rows[b], 1, counts, of_class, ones, ones_start)
            b += 1
        else:
            a += 1
            b += 1
    control[OLD_DONE], control[NEW_DONE] = a, b
    if a == n_old and b == n_rows:
        for r in range(n_rows):
            old[r] = rows[r]
        n_counted[nearer] = n_rows
        return max(work, 1)
    return 0


@njit(**INNER)
def best_of_depth_two(counts, starts, singles, cells, found):
    """Find the best trees of depth two with at most 0 to 3 feature nodes (Algorithm 4).

    The arguments are those of the module's docstring; ``counts``: (n_classes, p, p) int32;
    ``starts``: (n_classes + 1,), where the rows of each class begin, and the end.

    Fills ``found``: for each number of nodes the errors, the root (-1 for a leaf) and the nodes of
    child 0 and child 1.
    """
    n_classes, p = counts.shape[0], counts.shape[1]
    n_rows, leaf = starts[-1], leaf_errors(starts)
    for n in range(4):
        found[n, 0], found[n, 1], found[n, 2], found[n, 3] = leaf, NOTHING, 0, 0
    for c in range(n_classes):
        for j in range(p):
            singles[c, j] = counts[c, j, j]
    for i in range(p):
        n_1, largest_1, largest_0 = 0, 0, 0
        for c in range(n_classes):
            ones = np.int64(singles[c, i])
            n_1 += ones
            largest_1 = max(largest_1, ones)
            largest_0 = max(largest_0, starts[c + 1] - starts[c] - ones)
        if n_1 == 0 or n_1 == n_rows:                    # degenerate (Proposition 2)
            continue
        cells[:] = 0
        for c in range(n_classes):
            size, ones = starts[c + 1] - starts[c], np.int64(singles[c, i])
            row, single = counts[c, i], singles[c]
            both, only_i, only_j, neither = cells[0], cells[1], cells[2], cells[3]
            for j in range(p):                           # Eq. 2 to 5
                common = np.int64(row[j])
                rest = np.int64(single[j]) - common
                both[j] = max(both[j], common)
                only_i[j] = max(only_i[j], ones - common)
                only_j[j] = max(only_j[j], rest)
                neither[j] = max(neither[j], size - ones - rest)
        right_1, right_0 = 0, 0                          # rows that a further split gets right
        for j in range(p):
            right_1 = max(right_1, cells[0, j] + cells[1, j])
            right_0 = max(right_0, cells[2, j] + cells[3, j])
        leaf_1, leaf_0 = n_1 - largest_1, n_rows - n_1 - largest_0
        split_1, split_0 = n_1 - right_1, n_rows - n_1 - right_0
        for size_0 in range(2):
            for size_1 in range(2):
                value = (split_0 if size_0 else leaf_0) + (split_1 if size_1 else leaf_1)
                for n in range(1 + size_0 + size_1, 4):
                    if value < found[n, 0]:
                        found[n, 0], found[n, 1] = value, i
                        found[n, 2], found[n, 3] = size_0, size_1


# Similarity (Section 4.4) -----------------------------------------------------------------------

@njit(**INNER)
def bound_by_similarity(rows, n_rows, depth, nodes, subtree, key, options, control, cache,
                        stored_rows, stored, counters):
    """Improve the lower bound by the two stored data sets of this depth (Proposition 9).

    The arguments are those of the module's docstring; ``rows``: int64, the data set, sorted,
    ``n_rows`` of them.

    Where one of them equals this data set, all that is known of it is transferred: branches may
    differ in that case.  Returns the subtree, which is new where there was none.
    """
    entries, best = cache[3], 0
    for k in range(2):
        n_stored, other = stored[depth, k, 0], stored[depth, k, 1]
        if n_stored == 0:
            continue
        bound = lower_bound(other, depth, nodes, options, cache)
        if n_stored - n_rows >= bound and n_stored != n_rows:
            continue
        removed, added = differences(stored_rows[depth, k], n_stored, rows, n_rows)
        best = max(best, bound - removed)
        if removed + added == 0 and other != subtree:
            if subtree < 0:
                subtree = add_subtree(key, control, cache)
            entry = cache[2][other]
            while entry >= 0:
                counters[TRANSFERRED] += 1
                store(subtree, entries[entry, OF_DEPTH], entries[entry, OF_NODES],
                      entries[entry, BOUND], entries[entry, EXACT], entries[entry, ROOT],
                      entries[entry, LEFT], entries[entry, RIGHT], control, cache)
                entry = entries[entry, NEXT]
    if best > lower_bound(subtree, depth, nodes, options, cache):
        counters[SIMILARITY_BOUNDS] += 1
    if best > 0:
        if subtree < 0:
            subtree = add_subtree(key, control, cache)
        store(subtree, depth, nodes, best, 0, NOTHING, 0, 0, control, cache)
    return subtree


@njit(**INNER)
def remember_data_set(rows, n_rows, depth, subtree, stored_rows, stored):
    """Replace the most similar of the two stored data sets of a depth.

    The arguments are those of the module's docstring; ``rows``: int64, the data set, sorted,
    ``n_rows`` of them.
    """
    place, least = 0, LARGE
    for k in range(2):
        if stored[depth, k, 0] == 0:
            place = k
            break
        removed, added = differences(stored_rows[depth, k], stored[depth, k, 0], rows, n_rows)
        if removed + added < least:
            place, least = k, removed + added
    stored[depth, place, 0], stored[depth, place, 1] = n_rows, subtree
    for r in range(n_rows):
        stored_rows[depth, place, r] = rows[r]


@njit(**INNER)
def sort_by_key(order, key, n):
    """Sort ``order[:n]`` by ``key``; equal ones stay in their order.

    ``order``: int64, changed; ``key``: float64, that of each number which ``order`` may hold;
    ``n``: how many are sorted.
    """
    for a in range(1, n):
        item, b = order[a], a
        while b > 0 and key[order[b - 1]] > key[item]:
            order[b] = order[b - 1]
            b -= 1
        order[b] = item


@njit(**INNER)
def order_by_gini(rows, starts, p, ones, ones_start, singles, key, order):
    """Sort the features by the Gini impurity of their split (Section 4.7).

    The arguments are those of the module's docstring.  Beside these, ``rows``: int64, the data set,
    and ``starts``: (n_classes + 1,), where the rows of each class begin, and the end; ``p``: number
    of features; ``key``: (p,) float64, the impurities; ``order``: (p,), the result.
    """
    n_classes, n_rows = len(starts) - 1, starts[-1]
    singles[:] = 0
    for c in range(n_classes):
        for r in range(starts[c], starts[c + 1]):
            for a in range(ones_start[rows[r]], ones_start[rows[r] + 1]):
                singles[c, ones[a]] += 1
    for j in range(p):
        n_1, squares_1, squares_0 = 0.0, 0.0, 0.0
        for c in range(n_classes):
            in_1 = np.float64(singles[c, j])
            in_0 = starts[c + 1] - starts[c] - in_1
            n_1 += in_1
            squares_1 += in_1 * in_1
            squares_0 += in_0 * in_0
        key[j] = n_rows - squares_1 / max(n_1, 1.0) - squares_0 / max(n_rows - n_1, 1.0)
        order[j] = j
    sort_by_key(order, key, p)


# The search (Section 4.2) -----------------------------------------------------------------------

@njit(**OPTIONS)
def search(work, margin, control, options, frame, order, X, of_class, ones, ones_start, row_keys,
           literals, rows, starts, branches, keys, cache, buffer, stored_rows, stored, counted_rows,
           n_counted, pair_counts, singles, cells, found, gini, counters):
    """Work on the stack until it is empty (``control[LEVEL] == -1``) or ``work`` is used up.

    The arguments are those of the module's docstring.  Beside these:

    - ``work``: steps that may be taken; ``margin``: subtrees and entries that must have room in the
      cache, where it stops otherwise
    - ``frame``: (d + 2, N_FRAME); ``order``: (d + 1, p), the features in the order in which each
      level tries them; ``gini``: (p,) float64, work
    - ``row_keys``: (N, 2) uint64, and ``literals``: (p, 2, 2) uint64, random numbers for each row
      and for each side of a split: the key of a data set, or of a branch, is their sum
    - ``rows``: (d + 2, 2, N + 1), the data sets, class by class; ``starts``:
      (d + 2, 2, n_classes + 1), where the rows of each class begin, and the end; ``branches``,
      ``keys``: (d + 2, 2, 2) uint64, their branches, and their keys once these are known
    """
    entries = cache[3]
    p = X.shape[1]
    t = control[LEVEL]
    while (t >= 0 and work > 0 and control[N_SUBTREES] + margin < len(cache[1])
           and control[N_ENTRIES] + margin < len(entries)):
        fr = frame[t]
        side, depth, nodes, upper = fr[SIDE], fr[DEPTH], fr[NODES], fr[UPPER]
        here, here_starts = rows[t, side], starts[t, side]
        n_rows = here_starts[-1]
        # The value to return, and its root; set wherever the phase becomes LEAVE.
        value, feature, size_0, size_1 = INFEASIBLE, NOTHING, 0, 0

        if fr[PHASE] == ENTER:                           # Algorithm 1
            counters[STUDIED] += 1
            work -= 1 + n_rows
            leaf = leaf_errors(here_starts)
            fr[PHASE] = LEAVE
            subtree = NOTHING
            known = NOTHING
            if upper >= 0 and nodes > 0:
                subtree = find_subtree(t, side, options, rows, starts, row_keys, branches, keys,
                                       cache, buffer, counters)
                known = find_entry(subtree, depth, nodes, cache)
                if (known < 0 or entries[known, EXACT] == 0) and options[SIMILARITY]:
                    subtree = bound_by_similarity(
                        here, n_rows, depth, nodes, subtree, keys[t, side], options, control,
                        cache, stored_rows, stored, counters)
                    known = find_entry(subtree, depth, nodes, cache)
            if upper < 0:
                pass
            elif nodes == 0:
                value = leaf
            elif known >= 0 and entries[known, EXACT]:
                counters[CACHE_HITS] += 1
                value, feature = entries[known, BOUND], entries[known, ROOT]
                size_0, size_1 = entries[known, LEFT], entries[known, RIGHT]
            else:
                bound = lower_bound(subtree, depth, nodes, options, cache)
                if bound > upper:
                    pass
                elif bound == leaf:
                    value = leaf
                elif depth <= 2:                         # Algorithm 4
                    counters[DEPTH_TWO] += 1
                    begin_count(here, n_rows, options, control, counted_rows, n_counted,
                                pair_counts, counters)
                    fr[PHASE], fr[FIRST] = COUNT, subtree
                    continue
                else:
                    fr[PHASE], fr[POSITION], fr[LOWER], fr[REFINED] = NEXT_FEATURE, 0, bound, LARGE
                    fr[MOST] = min((1 << (depth - 1)) - 1, nodes - 1)
                    fr[LEAST] = nodes - 1 - fr[MOST]
                    fr[BEST] = leaf if leaf <= upper else LARGE
                    fr[BEST_FEATURE], fr[BEST_0], fr[BEST_1] = NOTHING, 0, 0
                    if options[FEATURE_ORDER] == BY_GINI:
                        order_by_gini(here, here_starts, p, ones, ones_start, singles, gini,
                                      order[t])
            if value > upper:
                value = INFEASIBLE

        elif fr[PHASE] == COUNT:
            work = count(work, here, n_rows, control, of_class, ones, ones_start, counted_rows,
                         n_counted, pair_counts)
            if work == 0:
                continue
            best_of_depth_two(pair_counts[control[COUNTER]], here_starts, singles, cells, found)
            work -= 4 * p * p * len(singles)
            subtree = fr[FIRST]
            if subtree < 0:
                subtree = add_subtree(keys[t, side], control, cache)
            for n in range(1, 4):                        # all budgets are stored
                store_optimum(subtree, min(n, 2), n, found[n, 0], found[n, 1], found[n, 2],
                              found[n, 3], options, control, cache)
            if options[SIMILARITY]:
                remember_data_set(here, n_rows, depth, subtree, stored_rows, stored)
            if found[nodes, 0] <= upper:
                value, feature = found[nodes, 0], found[nodes, 1]
                size_0, size_1 = found[nodes, 2], found[nodes, 3]
            fr[PHASE] = LEAVE

        elif fr[PHASE] == NEXT_FEATURE:                  # Algorithm 2
            if fr[POSITION] < p and fr[BEST] != fr[LOWER]:
                j = order[t, fr[POSITION]]
                split(X, j, here, here_starts, rows[t + 1], starts[t + 1])
                work -= n_rows
                if starts[t + 1, 0, -1] == 0 or starts[t + 1, 1, -1] == 0:
                    fr[POSITION] += 1                    # degenerate (Proposition 2)
                    continue
                for s in range(2):
                    for word in range(2):
                        branches[t + 1, s, word] = branches[t, side, word] + literals[j, s, word]
                        keys[t + 1, s, word] = 0
                fr[NODES_0], fr[PHASE] = fr[LEAST], NEXT_SHARE
                continue
            subtree = find_subtree(t, side, options, rows, starts, row_keys, branches, keys,
                                   cache, buffer, counters)
            if subtree < 0:
                subtree = add_subtree(keys[t, side], control, cache)
            if fr[BEST] < LARGE:
                value, feature = fr[BEST], fr[BEST_FEATURE]
                size_0, size_1 = fr[BEST_0], fr[BEST_1]
                store_optimum(subtree, depth, nodes, value, feature, size_0, size_1, options,
                              control, cache)
            else:
                bound = upper + 1
                if options[REFINE] and bound < fr[REFINED] < LARGE:          # Eq. 17
                    counters[REFINEMENTS] += 1
                    bound = fr[REFINED]
                store(subtree, depth, nodes, max(bound, fr[LOWER]), 0, NOTHING, 0, 0, control,
                      cache)
            if options[SIMILARITY]:
                remember_data_set(here, n_rows, depth, subtree, stored_rows, stored)
            fr[PHASE] = LEAVE

        else:                                            # Algorithm 3
            nodes_0 = fr[NODES_0]
            nodes_1 = nodes - 1 - nodes_0
            phase = fr[PHASE]
            if phase == NEXT_SHARE and (nodes_0 > fr[MOST] or fr[BEST] == fr[LOWER]):
                fr[PHASE] = NEXT_FEATURE
                fr[POSITION] += 1
                continue
            depth_0, depth_1 = min(depth - 1, nodes_0), min(depth - 1, nodes_1)
            solved, solved_size = control[VALUE], NOTHING
            if phase != NEXT_SHARE and solved >= 0:
                solved_size = 0 if control[FEATURE] < 0 else (1 + control[SIZE_0]
                                                              + control[SIZE_1])
            limit = min(fr[BEST] - 1, upper)
            if phase == SECOND_SOLVED and solved >= 0:
                value_of_split = fr[FIRST_VALUE] + solved
                if value_of_split < fr[BEST]:
                    fr[BEST], fr[BEST_FEATURE] = value_of_split, order[t, fr[POSITION]]
                    fr[BEST_0] = fr[FIRST_SIZE] if fr[FIRST] == 0 else solved_size
                    fr[BEST_1] = fr[FIRST_SIZE] if fr[FIRST] == 1 else solved_size
                fr[PHASE], fr[NODES_0] = NEXT_SHARE, nodes_0 + 1
                continue
            if phase == FIRST_SOLVED and solved >= 0:
                fr[FIRST_VALUE], fr[FIRST_SIZE], fr[PHASE] = solved, solved_size, SECOND_SOLVED
                child, child_upper = 1 - fr[FIRST], limit - solved
            else:
                subtree_0 = find_subtree(t + 1, 0, options, rows, starts, row_keys, branches, keys,
                                         cache, buffer, counters)
                subtree_1 = find_subtree(t + 1, 1, options, rows, starts, row_keys, branches, keys,
                                         cache, buffer, counters)
                bound_0 = lower_bound(subtree_0, depth_0, nodes_0, options, cache)
                bound_1 = lower_bound(subtree_1, depth_1, nodes_1, options, cache)
                if phase != NEXT_SHARE:                  # a child was not solved (Eq. 15)
                    fr[REFINED] = min(fr[REFINED], bound_0 + bound_1)
                    fr[PHASE], fr[NODES_0] = NEXT_SHARE, nodes_0 + 1
                    continue
                gap_0, gap_1 = leaf_errors(starts[t + 1, 0]), leaf_errors(starts[t + 1, 1])
                if options[CHILD_ORDER] == BY_GAP:
                    gap_0 -= bound_0
                    gap_1 -= bound_1
                first_0 = options[CHILD_ORDER] == POST_ORDER or gap_0 > gap_1
                child = 0 if first_0 else 1
                child_upper = limit - (bound_1 if first_0 else bound_0)
                fr[FIRST], fr[PHASE] = child, FIRST_SOLVED
            t += 1
            frame[t, SIDE], frame[t, PHASE], frame[t, UPPER] = child, ENTER, child_upper
            frame[t, DEPTH] = depth_0 if child == 0 else depth_1
            frame[t, NODES] = nodes_0 if child == 0 else nodes_1
            continue

        if fr[PHASE] == LEAVE:
            control[VALUE], control[FEATURE] = value, feature
            control[SIZE_0], control[SIZE_1] = size_0, size_1
            t -= 1
    control[LEVEL] = t
