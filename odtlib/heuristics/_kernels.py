"""Compiled local search over decision trees (private: no validation).

A row goes left at a node when its rank is at most the node's cut.  A tree is a table with one line
per node, whose line 0 is the root.  Arguments that mean the same in all kernels:

- ``ranks``: (n_features, n_rows) int32, the dense rank of each row in each feature.
- ``sorted_rows``: (n_features, n_rows) int32, the rows of each feature by rank; those of the node
  at hand are ``low:high`` (int) of each line.  ``rows`` is one such line.
- ``table``: the :class:`Rows`; ``limits``: the :class:`Limits`, of which some kernels take
  ``min_leaf`` (int), the least members of a leaf, by itself.
- ``nodes``: (capacity, 4) int64, the tree: feature (-1 at a leaf, -2 where unused), cut, left,
  right of each line.  ``unused``: (capacity + 1,) int64, the stack of lines that are not in use,
  ``unused[1:unused[0] + 1]``.
- ``node``: int, a line of ``nodes``.
- ``random``: (1,) uint64, the state of the generator, which each draw advances.
- ``scratch``: the :class:`Scratch`; ``leaves``: its :class:`Leaves`.
"""

from typing import NamedTuple

import numpy as np

from odtlib._numba.compiler import INNER, OPTIONS, njit
from odtlib.tolerance import ROUNDING

LEAF, UNUSED = -1, -2
FEATURE, CUT, LEFT, RIGHT = 0, 1, 2, 3

# Where the search stands between two slices: places in the integer array ``state`` ...
HEIGHT, FROZEN, FAILURES, KICKS, SWEEPS, FINISHED, N_STATE = range(7)
# ... and in ``correct``, weights of correct rows.
THIS_SWEEP, LAST_SWEEP, BEST, N_CORRECT = range(4)


class Rows(NamedTuple):
    """The rows of a search, which nothing changes; ``signed_weights`` are negative for class 0."""

    ranks: np.ndarray               # (n_features, n_rows)
    labels: np.ndarray
    weights: np.ndarray
    signed_weights: np.ndarray
    members: np.ndarray             # rows of the table that each stands for


class Limits(NamedTuple):
    """The limits of a search; ``depth_two_work`` rows may be read for a tree of depth two."""

    max_depth: int
    min_leaf: int
    depth_two_work: int


class Leaves(NamedTuple):
    """Scratch for the leaves below a node: of the node as it was, and while rows move."""

    weight: np.ndarray              # (2, n_leaves, n_classes)
    largest: np.ndarray             # (2, n_leaves)
    held: np.ndarray


class Known(NamedTuple):
    """What the best trees of depth two reach; a later set of rows takes the place of one before.

    The key of a set is the sum of the random words of its rows.
    """

    word: np.ndarray                # (n_rows,) uint64
    key: np.ndarray                 # (n_places,) uint64, n_places a power of two
    correct: np.ndarray             # (n_places,): the weight of correct rows


class Scratch(NamedTuple):
    """Work of a visit; nothing in it outlives a visit but the ``stack`` and what is ``known``."""

    stack: np.ndarray               # of nodes to visit: node, low, high, depth
    node_slot: np.ndarray           # (capacity,)
    walk: np.ndarray                # (capacity + 1,)
    left_slot: np.ndarray           # (n_rows,)
    right_slot: np.ndarray
    leaves: Leaves
    goes_left: np.ndarray           # (n_rows,)
    buffer: np.ndarray
    side_weight: np.ndarray         # (5, n_classes)
    side_correct: np.ndarray        # (2,)
    side_numbers: np.ndarray        # (5, 2)
    known: Known


@njit(**INNER)
def _copy(source, target):
    """Copy numbers; an assignment of slices would make a third array, in case two overlap.

    ``source``, (n,), is read; ``target``, at least as long and of any type, is written.
    """
    for k in range(len(source)):
        target[k] = source[k]


@njit(**INNER)
def _copy_lines(source, target):
    """Copy a table.

    ``source``, (n, m), is read; ``target``, (n, m), is written.
    """
    for k in range(len(source)):
        _copy(source[k], target[k])


@njit(**INNER)
def _largest(row):
    """Return the largest entry of a short vector, ``row`` (n,), n at least 1."""
    value = row[0]
    for c in range(1, len(row)):
        value = max(value, row[c])
    return value


@njit(**INNER)
def _draw(random, below):
    """Return a number in 0 .. ``below`` - 1 and advance the xorshift64* generator.

    ``random`` is that of the module's docstring; ``below`` is a positive int.
    """
    x = random[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    random[0] = x
    return np.int64((x * np.uint64(2685821657736338717)) >> np.uint64(33)) % below


@njit(**INNER)
def _split_leaf(nodes, unused, node, feature, cut):
    """Give a leaf two unused lines as its leaves.

    ``nodes``, ``unused`` and ``node``, the leaf, are those of the module's docstring; ``feature``
    and ``cut`` (int) are its new split.
    """
    nodes[node, FEATURE], nodes[node, CUT] = feature, cut
    for side in (LEFT, RIGHT):
        nodes[node, side] = unused[unused[0]]
        nodes[unused[unused[0]], FEATURE] = LEAF
        unused[0] -= 1


@njit(**INNER)
def _release(nodes, unused, node):
    """Give back ``node`` and all lines below it.

    ``nodes`` and ``unused`` are those of the module's docstring; both are written.
    """
    first = unused[0] + 1
    unused[0] += 1
    unused[first] = node
    while first <= unused[0]:     # the part of the stack not yet expanded is the work list
        node = unused[first]
        first += 1
        if nodes[node, FEATURE] >= 0:
            unused[unused[0] + 1] = nodes[node, LEFT]
            unused[unused[0] + 2] = nodes[node, RIGHT]
            unused[0] += 2
        nodes[node, FEATURE] = UNUSED


@njit(**INNER)
def _make_leaf(nodes, unused, node):
    """Cut off everything below ``node``, a feature node, which becomes a leaf.

    ``nodes`` and ``unused`` are those of the module's docstring; both are written.
    """
    _release(nodes, unused, nodes[node, LEFT])
    _release(nodes, unused, nodes[node, RIGHT])
    nodes[node, FEATURE] = LEAF


@njit(**INNER)
def _lift(nodes, unused, node, side):
    """Replace ``node``, a feature node, by its child on ``side`` (LEFT or RIGHT).

    ``nodes`` and ``unused`` are those of the module's docstring; both are written.
    """
    child = nodes[node, side]
    _release(nodes, unused, nodes[node, LEFT + RIGHT - side])
    _copy(nodes[child], nodes[node])
    nodes[child, FEATURE] = LEAF   # its own children live on
    _release(nodes, unused, child)


@njit(**INNER)
def _leaf_of(nodes, ranks, node, row):
    """Return the line of the leaf that ``row`` (int, a column of ``ranks``) reaches from ``node``.

    ``nodes`` and ``ranks`` are those of the module's docstring.
    """
    while nodes[node, FEATURE] >= 0:
        if ranks[nodes[node, FEATURE], row] <= nodes[node, CUT]:
            node = nodes[node, LEFT]
        else:
            node = nodes[node, RIGHT]
    return node


@njit(**INNER)
def _fill_slots(nodes, node, rows, low, high, ranks, slot, count, scratch):
    """Number the leaves below ``node`` from ``count`` on and write which one each row reaches.

    ``slot``, (n_rows,) int64, receives it for the rows ``rows[low:high]``.  The other arguments are
    those of the module's docstring.  Returns the first number that is not in use.
    """
    walk, node_slot = scratch.walk, scratch.node_slot
    walk[0] = node
    top = 1
    while top > 0:
        top -= 1
        at = walk[top]
        if nodes[at, FEATURE] >= 0:
            walk[top], walk[top + 1] = nodes[at, RIGHT], nodes[at, LEFT]
            top += 2
        else:
            node_slot[at] = count
            count += 1
    for k in range(low, high):
        slot[rows[k]] = node_slot[_leaf_of(nodes, ranks, node, rows[k])]
    return count


@njit(**INNER)
def _count_correct(rows, low, high, table, slot, n_slots, min_leaf, leaves):
    """Fill the class weights, largest weight and members of every leaf slot.

    ``slot``, (n_rows,) int64, has the leaf of each of ``rows[low:high]``, one of ``n_slots``; the
    first line of each array of ``leaves`` is written.  The other arguments are those of the
    module's docstring.

    Returns the weight of correct rows, the whole weight, and the number of leaves that hold some
    members but fewer than ``min_leaf``.
    """
    labels, weights, members = table.labels, table.weights, table.members
    weight, largest, held = leaves.weight[0], leaves.largest[0], leaves.held[0]
    n_classes = weight.shape[1]
    for s in range(n_slots):
        largest[s] = 0.0
        held[s] = 0
        for c in range(n_classes):
            weight[s, c] = 0.0
    for k in range(low, high):
        row = rows[k]
        s = slot[row]
        weight[s, labels[row]] += weights[row]
        held[s] += members[row]
    correct = 0.0
    total = 0.0
    short = 0
    for s in range(n_slots):
        for c in range(n_classes):
            total += weight[s, c]
            if weight[s, c] > largest[s]:
                largest[s] = weight[s, c]
        correct += largest[s]
        if 0 < held[s] < min_leaf:
            short += 1
    return correct, total, short


@njit(**INNER)
def _count_as_it_is(nodes, node, rows, low, high, table, min_leaf, scratch):
    """Return what ``_count_correct`` does for the tree below ``node`` as it is.

    The arguments, ``nodes``, ``node``, ``rows``, ``low``, ``high``, ``table``, ``min_leaf`` and
    ``scratch``, are those of the module's docstring.
    """
    slot = scratch.left_slot
    n_slots = _fill_slots(nodes, node, rows, low, high, table.ranks, slot, 0, scratch)
    return _count_correct(rows, low, high, table, slot, n_slots, min_leaf, scratch.leaves)


@njit(**INNER)
def _move_members(held, source, target, count, min_leaf):
    """Move rows between two leaves; return by how much the number of too small leaves grows.

    ``held``, (n_slots,) int64, has the members of each leaf and is updated; ``count`` (int) members
    go from slot ``source`` to slot ``target``.  A leaf with some but fewer than ``min_leaf`` is too
    small.
    """
    change = 0
    for sign in (-1, 1):
        if 0 < held[source] < min_leaf:
            change += sign
        if 0 < held[target] < min_leaf:
            change += sign
        if sign < 0:
            held[source] -= count
            held[target] += count
    return change


@njit(**OPTIONS)
def best_split(sorted_rows, low, high, table, left_slot, right_slot, n_slots, min_leaf, random,
               leaves):
    """Find the best split of a node when the splits below it stay and their leaves are relabelled.

    Each row would reach leaf ``left_slot[row]`` when sent left and ``right_slot[row]`` when sent
    right, (n_rows,) int64 both: disjoint ranges of the ``n_slots`` slots.  The other arguments are
    those of the module's docstring.  Every cut between two different ranks is tried: rows move from
    right to left one after the other, and the weight of correct rows is kept up to date.  Among
    equally good cuts one is drawn.

    Of two classes a leaf is one number, its weight of class 1 minus that of class 0: the weight of
    correct rows is half of the whole weight plus half of the sum of their absolute values.  That
    takes half the time.

    Returns the weight of correct rows, the feature and the cut; feature -1 where no cut leaves
    every non-empty leaf with ``min_leaf`` members.
    """
    ranks, labels, weights, signed_weights, members = table
    weight, largest, held = leaves.weight[1], leaves.largest[1], leaves.held[1]
    start_weight, start_largest, start_held = leaves.weight[0], leaves.largest[0], leaves.held[0]
    start_correct, total, start_short = _count_correct(
        sorted_rows[0], low, high, table, right_slot, n_slots, min_leaf, leaves)
    two_classes = weight.shape[1] == 2
    if two_classes:
        for s in range(n_slots):
            start_largest[s] = start_weight[s, 1] - start_weight[s, 0]
    tolerance = ROUNDING * total
    best, best_feature, best_cut, ties = -1.0, -1, 0, 0
    for feature in range(sorted_rows.shape[0]):
        rows = sorted_rows[feature]
        rank = ranks[feature]
        here = rank[rows[low]]
        if here == rank[rows[high - 1]]:
            continue
        for s in range(n_slots):
            largest[s] = start_largest[s]
            held[s] = start_held[s]
            if not two_classes:
                _copy(start_weight[s], weight[s])
        correct, short = start_correct, start_short
        for k in range(low, high - 1):
            row = rows[k]
            a, b = left_slot[row], right_slot[row]
            if two_classes:
                w = signed_weights[row]
                joined, left = largest[a] + w, largest[b] - w
                correct += 0.5 * ((abs(joined) - abs(largest[a])) + (abs(left) - abs(largest[b])))
            else:
                c, w = labels[row], weights[row]
                weight[a, c] += w
                weight[b, c] -= w
                joined, left = max(weight[a, c], largest[a]), _largest(weight[b])
                correct += (left - largest[b]) + (joined - largest[a])
            largest[a], largest[b] = joined, left
            if min_leaf > 1:
                short += _move_members(held, b, a, members[row], min_leaf)
            there = rank[rows[k + 1]]
            if here == there:
                continue
            if correct >= best - tolerance and short == 0:
                ties = 1 if correct > best + tolerance else ties + 1
                if _draw(random, ties) == 0:
                    best, best_feature, best_cut = correct, feature, (here + there) // 2
            here = there
    return best, best_feature, best_cut


@njit(**OPTIONS)
def best_stump(sorted_rows, low, high, table, min_leaf, errors_first, random, whole, held, left,
               right):
    """Find the split of a leaf that leaves the purest children (smallest Gini impurity).

    The leaf has the class weights ``whole``, (n_classes,) float64, and ``held`` (int) members.
    With ``errors_first`` (bool) the weight of correct rows counts first and impurity decides
    between equals; that is right where the children stay leaves.  ``left`` and ``right``,
    (n_classes,) float64, are room.  The other arguments are those of the module's docstring.

    Returns the feature (-1 for none) and the cut.
    """
    ranks, labels, weights, members = table.ranks, table.labels, table.weights, table.members
    total, squares = 0.0, 0.0
    for c in range(len(whole)):
        total += whole[c]
        squares += whole[c] * whole[c]
    tolerance = ROUNDING * total
    best, best_purity, best_feature, best_cut, ties = -1.0, -1.0, -1, 0, 0
    for feature in range(sorted_rows.shape[0]):
        rows = sorted_rows[feature]
        rank = ranks[feature]
        if rank[rows[low]] == rank[rows[high - 1]]:
            continue
        left[:] = 0.0
        _copy(whole, right)
        square_left, square_right = 0.0, squares
        gone = 0.0
        sent = 0
        for k in range(low, high - 1):
            row = rows[k]
            c, w = labels[row], weights[row]
            square_left += w * (2.0 * left[c] + w)
            square_right -= w * (2.0 * right[c] - w)
            left[c] += w
            right[c] -= w
            gone += w
            sent += members[row]
            here, there = rank[row], rank[rows[k + 1]]
            if here == there or sent < min_leaf or held - sent < min_leaf:
                continue
            purity = square_left / gone
            if total > gone:         # else rounding has lost the light rows on the right
                purity += square_right / (total - gone)
            correct = 0.0
            if errors_first:
                correct = _largest(left) + _largest(right)
                if correct < best - tolerance:
                    continue
            if correct > best + tolerance or purity > best_purity + tolerance:
                ties = 1
                best, best_purity, best_feature = correct, purity, feature
                best_cut = (here + there) // 2
            elif purity >= best_purity - tolerance:
                ties += 1
                if _draw(random, ties) == 0:
                    best_feature, best_cut = feature, (here + there) // 2
    return best_feature, best_cut


@njit(**OPTIONS)
def count_cuts(sorted_rows, low, high, ranks):
    """Return the number of cuts between different ranks of the node's rows, over all features.

    ``sorted_rows``, ``low``, ``high`` and ``ranks`` are those of the module's docstring.
    """
    cuts = 0
    for feature in range(sorted_rows.shape[0]):
        for k in range(low, high - 1):
            cuts += (ranks[feature, sorted_rows[feature, k]]
                     != ranks[feature, sorted_rows[feature, k + 1]])
    return cuts


@njit(**INNER)
def _best_stumps(sorted_rows, low, high, table, side, whole, held, min_leaf, tolerance, passed,
                 seen, last, best, feature, cut):
    """Find the best split of either side of a divided node at once, or none where none is better.

    ``side``, (n_rows,) bool, says on which side each row is; ``whole``, (2, n_classes) float64, and
    ``held``, (2,) int64, are the class weights and members of the sides.  Weights that differ by at
    most ``tolerance`` are equal.  Fills, (2,) each, ``best`` (the weight of correct rows, float64),
    ``feature`` (-1: none) and ``cut`` (int64).  ``passed``, like ``whole``, and ``seen`` and
    ``last``, like ``held``, are room.  The other arguments are those of the module's docstring.
    """
    ranks, labels, weights, members = table.ranks, table.labels, table.weights, table.members
    n_classes = whole.shape[1]
    for s in range(2):
        best[s], feature[s], cut[s] = _largest(whole[s]), LEAF, 0
    for f in range(sorted_rows.shape[0]):
        rows = sorted_rows[f]
        rank = ranks[f]
        passed[:] = 0.0
        seen[:] = 0
        last[:] = -1
        for k in range(low, high):
            row = rows[k]
            s = np.int64(side[row])
            here = rank[row]
            if here != last[s]:
                if seen[s] >= min_leaf and held[s] - seen[s] >= min_leaf:
                    left = passed[s, 0]
                    right = whole[s, 0] - passed[s, 0]
                    for c in range(1, n_classes):
                        left = max(left, passed[s, c])
                        right = max(right, whole[s, c] - passed[s, c])
                    if left + right > best[s] + tolerance:
                        best[s], feature[s], cut[s] = left + right, f, (last[s] + here) // 2
                last[s] = here
            passed[s, labels[row]] += weights[row]
            seen[s] += members[row]


@njit(**OPTIONS)
def best_depth_two(sorted_rows, low, high, table, min_leaf, random, side, chosen_feature,
                   chosen_cut, side_weight, value, side_numbers):
    """Find the best tree of depth two over all cuts, by trying every root.

    Fills ``chosen_feature`` and ``chosen_cut``, (3,) int32 (root, left, right; feature -1 at a
    leaf), and returns the weight of correct rows; among equally good roots one is drawn.  ``side``,
    (n_rows,) bool, ``side_weight``, (5, n_classes) float64, ``value``, (2,) float64, and
    ``side_numbers``, (5, 2) int64, are room.  The other arguments are those of the module's
    docstring.
    """
    ranks, labels, weights, members = table.ranks, table.labels, table.weights, table.members
    whole, passed, start = side_weight[:2], side_weight[2:4], side_weight[4]
    held, seen, last, feature, cut = (side_numbers[0], side_numbers[1], side_numbers[2],
                                      side_numbers[3], side_numbers[4])
    start[:] = 0.0
    total = 0.0
    all_members = 0
    for k in range(low, high):
        row = sorted_rows[0, k]
        start[labels[row]] += weights[row]
        total += weights[row]
        all_members += members[row]
    tolerance = ROUNDING * total
    best, ties = _largest(start), 1       # a leaf, until a split is better
    chosen_feature[:] = LEAF
    for f in range(sorted_rows.shape[0]):
        rows = sorted_rows[f]
        whole[0] = 0.0
        _copy(start, whole[1])
        held[0], held[1] = 0, all_members
        for k in range(low, high):
            side[rows[k]] = True
        for k in range(low, high - 1):
            row = rows[k]
            side[row] = False
            whole[0, labels[row]] += weights[row]
            whole[1, labels[row]] -= weights[row]
            held[0] += members[row]
            held[1] -= members[row]
            here, there = ranks[f, row], ranks[f, rows[k + 1]]
            if here == there or held[0] < min_leaf or held[1] < min_leaf:
                continue
            _best_stumps(sorted_rows, low, high, table, side, whole, held, min_leaf, tolerance,
                         passed, seen, last, value, feature, cut)
            if value[0] + value[1] < best - tolerance:
                continue
            ties = 1 if value[0] + value[1] > best + tolerance else ties + 1
            if _draw(random, ties) == 0:
                best = value[0] + value[1]
                chosen_feature[0], chosen_cut[0] = f, (here + there) // 2
                _copy(feature, chosen_feature[1:])
                _copy(cut, chosen_cut[1:])
    return best


@njit(**OPTIONS)
def _partition(sorted_rows, low, high, ranks, feature, cut, goes_left, buffer):
    """Put the rows that go left first in every feature's order, stably; return where they end.

    ``feature`` and ``cut`` (int) are the split; ``goes_left``, (n_rows,) bool, and ``buffer``,
    (n_rows,) int32, are room.  The other arguments are those of the module's docstring;
    ``low:high`` of ``sorted_rows`` is written.
    """
    n_left = 0
    for k in range(low, high):
        row = sorted_rows[feature, k]
        goes_left[row] = ranks[feature, row] <= cut
        n_left += goes_left[row]
    for f in range(sorted_rows.shape[0]):
        rows = sorted_rows[f]
        put, kept = low, 0
        for k in range(low, high):
            row = rows[k]
            if goes_left[row]:
                rows[put] = row
                put += 1
            else:
                buffer[kept] = row
                kept += 1
        _copy(buffer[:kept], rows[put:high])
    return low + n_left


@njit(**INNER)
def _push(stack, top, node, low, high, depth):
    """Put a node with its segment of rows on the work stack and return the new height.

    ``stack``, (height, 4) int64, has ``top`` entries of ``node``, ``low``, ``high`` and ``depth``
    (int, of the node; 0 at the root); see the module's docstring.
    """
    stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3] = node, low, high, depth
    return top + 1


@njit(**INNER)
def _plant(nodes, unused, node, feature, cut):
    """Put a tree of depth two in place of ``node``.

    ``feature`` and ``cut``, (3,) int32, are the splits of its root, left and right child; feature
    -1 at a leaf.  ``nodes`` and ``unused`` are those of the module's docstring.
    """
    if nodes[node, FEATURE] >= 0:
        _make_leaf(nodes, unused, node)
    for k in range(3):
        if feature[k] >= 0:
            _split_leaf(nodes, unused, node if k == 0 else nodes[node, LEFT + k - 1], feature[k],
                        cut[k])
        elif k == 0:
            return


@njit(**INNER)
def visit(top, frozen, nodes, unused, sorted_rows, table, limits, random, scratch):
    """Give the node on top of the stack its best split and push its children.

    ``top`` (int, at least 1) is the height of ``scratch.stack``, and ``frozen`` the line of a node
    that keeps its split where that is allowed (-1: none).  The other arguments are those of the
    module's docstring; ``nodes``, ``unused``, and the segments of ``sorted_rows`` are changed.

    A leaf above ``max_depth`` grows a split where that makes it purer; a feature node takes its
    best split, or gives way to a child that does as well alone.  A node with two levels left gets
    its best tree of depth two where finding it reads at most ``depth_two_work`` rows.

    Returns the new stack height, the weight of correct rows where the leaves below are final (0
    where the children will be visited), and the work done in rows read.
    """
    ranks = table.ranks
    max_depth, min_leaf, depth_two_work = limits
    stack, left_slot, right_slot, leaves = (scratch.stack, scratch.left_slot, scratch.right_slot,
                                            scratch.leaves)
    chosen_feature, chosen_cut = scratch.buffer[:3], scratch.buffer[3:6]
    known = scratch.known
    top -= 1
    node, low, high, depth = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3]
    n_features = sorted_rows.shape[0]
    rows = sorted_rows[0]
    size = high - low
    work = size
    if depth + 2 == max_depth and node != frozen and n_features * size <= depth_two_work:
        key = np.uint64(0)
        for k in range(low, high):
            key += known.word[rows[k]]
        at = key & np.uint64(len(known.key) - 1)
        correct, total, short = _count_as_it_is(nodes, node, rows, low, high, table, min_leaf,
                                                scratch)
        enough = correct + ROUNDING * total if short == 0 else -1.0
        if known.key[at] != key or known.correct[at] > enough:
            cuts = count_cuts(sorted_rows, low, high, ranks)
            if cuts * n_features * size <= depth_two_work:
                work += (cuts + 1) * n_features * size
                best = best_depth_two(
                    sorted_rows, low, high, table, min_leaf, random, scratch.goes_left,
                    chosen_feature, chosen_cut, scratch.side_weight, scratch.side_correct,
                    scratch.side_numbers)
                known.key[at], known.correct[at] = key, best
                if best > enough:
                    _plant(nodes, unused, node, chosen_feature, chosen_cut)
                    return top, best, work
    stays = False       # a frozen split that uses both sides and leaves no leaf too small
    if node == frozen and nodes[node, FEATURE] >= 0:
        there, rank = sorted_rows[nodes[node, FEATURE]], ranks[nodes[node, FEATURE]]
        stays = (rank[there[low]] <= nodes[node, CUT] < rank[there[high - 1]] and _count_as_it_is(
            nodes, node, rows, low, high, table, min_leaf, scratch)[2] == 0)
    if nodes[node, FEATURE] >= 0 and not stays:
        n_left = _fill_slots(nodes, nodes[node, LEFT], rows, low, high, ranks, left_slot, 0,
                             scratch)
        n_slots = _fill_slots(nodes, nodes[node, RIGHT], rows, low, high, ranks, right_slot,
                              n_left, scratch)
        work += n_features * size
        best, feature, cut = best_split(sorted_rows, low, high, table, left_slot, right_slot,
                                        n_slots, min_leaf, random, leaves)
        if feature < 0:
            _make_leaf(nodes, unused, node)
        else:
            nodes[node, FEATURE], nodes[node, CUT] = feature, cut
            for side in (LEFT, RIGHT):
                correct, total, short = _count_correct(
                    rows, low, high, table, left_slot if side == LEFT else right_slot, n_slots,
                    min_leaf, leaves)
                if short == 0 and correct >= best - ROUNDING * total:
                    _lift(nodes, unused, node, side)   # a level becomes free below
                    return _push(stack, top, node, low, high, depth), 0.0, work
            if depth + 1 == max_depth:
                return top, best, work
    if nodes[node, FEATURE] == LEAF:
        correct, total, _ = _count_as_it_is(nodes, node, rows, low, high, table, 1, scratch)
        held = leaves.held[0, 0]
        if (depth == max_depth or correct >= total - ROUNDING * total or held < 2 * min_leaf):
            return top, correct, work
        work += n_features * size
        feature, cut = best_stump(
            sorted_rows, low, high, table, min_leaf, depth + 1 == max_depth, random,
            leaves.weight[0, 0], held, leaves.weight[1, 0], leaves.weight[1, 1])
        if feature < 0:
            return top, correct, work
        _split_leaf(nodes, unused, node, feature, cut)
    middle = _partition(sorted_rows, low, high, ranks, nodes[node, FEATURE], nodes[node, CUT],
                        scratch.goes_left, scratch.buffer)
    work += n_features * size
    top = _push(stack, top, nodes[node, RIGHT], middle, high, depth + 1)
    return _push(stack, top, nodes[node, LEFT], low, middle, depth + 1), 0.0, work


@njit(**INNER)
def _kick(nodes, unused, ranks, random):
    """Change one random split at random, and return the node that must not be mended at once.

    That is -1 where a subtree was cut off or lifted, or the tree is a leaf.  ``nodes``, ``unused``,
    ``ranks`` and ``random`` are those of the module's docstring.
    """
    node, seen = -1, 0
    for k in range(nodes.shape[0]):
        if nodes[k, FEATURE] >= 0:
            seen += 1
            if _draw(random, seen) == 0:
                node = k
    if node < 0:
        return -1
    way = _draw(random, 4)
    if way == 0:
        _make_leaf(nodes, unused, node)
        return -1
    if way == 1:
        _lift(nodes, unused, node, LEFT + _draw(random, 2))
        return -1
    feature = _draw(random, ranks.shape[0])
    nodes[node, FEATURE] = feature
    nodes[node, CUT] = ranks[feature, _draw(random, ranks.shape[1])]
    return node


@njit(**OPTIONS)
def search(budget, sorted_rows, table, limits, max_failures, attainable, nodes, unused, kept,
           kept_unused, state, correct, random, orders, scratch):
    """Improve ``nodes`` until ``max_failures`` kicks in a row bring nothing or ``budget`` is spent.

    One slice of the search: called again with the same arrays it goes on where it stopped.
    ``budget`` (int) is in rows read, and ``attainable`` (float) the weight of correct rows that no
    tree exceeds.  The best tree stands in ``kept`` and ``kept_unused``, which are like ``nodes``
    and ``unused``.  ``state``, (N_STATE,) int64, and ``correct``, (N_CORRECT,) float64, say where
    the search stands; the weight of the best tree is ``correct[BEST]``, and ``state[FINISHED]``
    says that the search has ended.  ``orders``, like ``sorted_rows``, which stays, is what nodes
    divide.  The other arguments are those of the module's docstring.
    """
    ranks = table.ranks
    tolerance = ROUNDING * table.weights.sum()
    work = 0
    while work < budget and state[FINISHED] == 0:
        if state[HEIGHT] == 0:            # begin a sweep over the tree
            _copy_lines(sorted_rows, orders)
            state[HEIGHT] = _push(scratch.stack, 0, 0, 0, ranks.shape[1], 0)
            correct[THIS_SWEEP] = 0.0
        state[HEIGHT], done, read = visit(
            state[HEIGHT], state[FROZEN], nodes, unused, orders, table, limits, random, scratch)
        work += read
        correct[THIS_SWEEP] += done
        if state[HEIGHT] > 0:
            continue
        state[SWEEPS] += 1
        state[FROZEN] = -1
        better = correct[THIS_SWEEP] > correct[LAST_SWEEP] + tolerance
        correct[LAST_SWEEP] = correct[THIS_SWEEP]
        if better and correct[THIS_SWEEP] < attainable - tolerance:
            continue
        # a local optimum
        if correct[THIS_SWEEP] > correct[BEST] + tolerance:
            state[FAILURES] = 0
        else:
            state[FAILURES] += 1
        if correct[THIS_SWEEP] >= correct[BEST] - tolerance:
            _copy_lines(nodes, kept)
            _copy(unused, kept_unused)
            correct[BEST] = correct[THIS_SWEEP]
        else:
            _copy_lines(kept, nodes)
            _copy(kept_unused, unused)
        if state[FAILURES] > max_failures or correct[BEST] >= attainable - tolerance:
            state[FINISHED] = 1
        else:
            state[KICKS] += 1
            state[FROZEN] = _kick(nodes, unused, ranks, random)
            correct[LAST_SWEEP] = -1.0
