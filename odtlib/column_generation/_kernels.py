"""Compiled enumeration of paths and the dynamic program over candidate splits (private).

Rows are bit sets, of uint64.  Each word holds rows of one class and one weight, so that a popcount
times a weight is the class weight of a set, and times ``word_count`` its number of rows.  Nodes are
numbered in level order, and the candidate splits of node ``j`` are the rows
``start[j]:start[j + 1]`` of ``left``, the sets of rows that they send left.  No validation.

Arguments that several kernels share:

- ``start``: int64, at least (n_nodes + 1,); ``left``: (n_splits, n_words) uint64
- ``word_class``: (n_words,) int64; ``word_weight``: (n_words,) float64, the weight of each row;
  ``word_count``: (n_words,) int64, how many training rows each row stands for
- ``n_classes``: number of classes; ``limits``: (3,) float64, the minimum number of rows of a leaf
  that is not empty, the penalty of such a leaf, and the cost of fewer rows
- ``depth``: levels of splits; ``splits``, ``words``, ``frames``, ``kept``, ``scratch``: `Splits`,
  `Words`, `Frames`, `Kept` and `Scratch`
- ``max_leaves``: (depth,) int64, the largest budget of leaves below a node of each level, 0 without
  a limit; ``state``: (N_STATE,) int64, what slices share
- ``tolerance``: costs that differ by less are equal
"""

from typing import NamedTuple

import numpy as np

from odtlib._numba.compiler import njit
from odtlib._numba.vector import lowest_bit, popcount


@njit(cache=True, nogil=True)
def _leaf_cost(n_rows, limits):
    """Return what a leaf of ``n_rows`` rows costs besides its errors.

    The arguments are those of the module's docstring.
    """
    if n_rows == 0:
        return 0.0
    return limits[1] + (limits[2] if n_rows < limits[0] else 0.0)


@njit(cache=True, nogil=True)
def path_values(nodes, to_left, start, left, all_rows, word_class, word_weight, word_count,
                n_classes, limits, value, active):
    """Write the value of each path to one leaf that takes the best class, and if it has rows.

    The arguments are those of the module's docstring.  Beside these, ``nodes``: (depth,) int64, the
    feature nodes on the way to the leaf, and ``to_left``: (depth,) bool, the sides taken;
    ``all_rows``: (n_words,) uint64.  Results: ``value``: (n_paths,) float64, and ``active``:
    (n_paths,) bool.  Paths are numbered like the digits of a number, the root's split first.
    """
    depth, n_words = len(nodes), len(all_rows)
    rows = np.empty((depth + 1, n_words), np.uint64)
    rows[0] = all_rows
    choice = np.full(depth, -1)
    weight = np.zeros(n_classes)
    path, level = 0, 0
    while level >= 0:
        choice[level] += 1
        split = start[nodes[level]] + choice[level]
        if split == start[nodes[level] + 1]:
            choice[level] = -1
            level -= 1
            continue
        flip = np.uint64(0) if to_left[level] else ~np.uint64(0)
        for w in range(n_words):
            rows[level + 1, w] = rows[level, w] & (left[split, w] ^ flip)
        if level + 1 < depth:
            level += 1
            continue
        weight[:] = 0.0
        n_rows = 0
        for w in range(n_words):
            if rows[depth, w]:
                held = popcount(rows[depth, w])
                weight[word_class[w]] += held * word_weight[w]
                n_rows += held * word_count[w]
        value[path] = weight.max() - _leaf_cost(n_rows, limits)
        active[path] = n_rows > 0
        path += 1


@njit(cache=True, nogil=True)
def reduced_costs(nodes, to_left, start, allowed, left, all_rows, beta, gamma, level_start, paired,
                  alpha, cost):
    """Write the reduced cost of every path to one leaf, less its value (Firat et al., Eq. 7).

    The arguments are those of the module's docstring.  Beside these:

    - ``nodes``, ``to_left``: as in `path_values`
    - ``left`` and ``all_rows``: (n_words,) uint64, are sets of constrained rows here, with duals
      ``beta``, (n_constrained,) float64, in the order of their bits
    - ``gamma``, float64, and ``level_start``, (n_linked + 1,) int64: ``gamma[level_start[h] + i]``
      is the dual of the linking row at level ``h``, where ``i`` is the choice at this level
    - ``paired``: whether a path stands for itself and its sibling, so that the last split neither
      pays nor divides the rows, and ``i`` is the number of the choices so far
    - ``allowed``: bool, at least (n_splits,); paths through other splits cost minus infinity
    - ``alpha``: the dual of the constraint that the leaf has one path
    - ``cost``: (n_paths,) float64, the result, numbered as in `path_values`
    """
    depth, n_words = len(nodes), len(all_rows)
    rows = np.empty((depth + 1, n_words), np.uint64)
    rows[0] = all_rows
    so_far = np.full(depth + 1, -alpha)
    choice = np.full(depth, -1)
    number = np.zeros(depth + 1, np.int64)
    path, level = 0, 0
    while level >= 0:
        choice[level] += 1
        first = start[nodes[level]]
        size = start[nodes[level] + 1] - first
        if choice[level] == size:
            choice[level] = -1
            level -= 1
            continue
        split = first + choice[level]
        number[level + 1] = number[level] * size + choice[level]
        so_far[level + 1] = so_far[level]
        divides = not paired or level + 1 < depth
        if divides:
            index = number[level + 1] if paired else choice[level]
            so_far[level + 1] -= gamma[level_start[level] + index]
        if not allowed[split]:
            so_far[level + 1] = -np.inf
        flip = np.uint64(0) if to_left[level] else ~np.uint64(0)
        for w in range(n_words):
            rows[level + 1, w] = rows[level, w]
            if divides:
                rows[level + 1, w] &= left[split, w] ^ flip
        if level + 1 < depth:
            level += 1
            continue
        total = so_far[depth]
        for w in range(n_words):
            word = rows[depth, w]
            while word:
                total -= beta[64 * w + lowest_bit(word)]
                word &= word - np.uint64(1)
        cost[path] = total
        path += 1


@njit(cache=True, nogil=True)
def path_rows(splits, to_left, left, constrained, member):
    """Write which of the constrained rows each of some paths contains.

    ``splits``: (n_paths, n_levels) int64, the numbers of a path's splits; ``to_left``: likewise,
    bool, whether it goes left there; ``left``: (n_splits, n_words) uint64, the rows that splits
    send left; ``constrained``: (n_constrained,) int64, positions in these; ``member``:
    (n_paths, n_constrained) bool, the result.
    """
    for p in range(splits.shape[0]):
        for i in range(len(constrained)):
            word, bit = constrained[i] >> 6, np.uint64(constrained[i] & 63)
            inside = True
            for h in range(splits.shape[1]):
                goes_left = (left[splits[p, h], word] >> bit) & np.uint64(1)
                inside = inside and (goes_left == 1) == to_left[p, h]
            member[p, i] = inside


# ------------------------------------------------------------- the dynamic program

ENTER, NEXT, LEFT_BACK, RIGHT_BACK, DONE = range(5)
# integers of the search
LEVEL, PHASE, SUBPROBLEMS, BOTTOMS, BOUNDED, N_STATE = range(6)
# integers of a frame
NODE, POSITION, N_FRAME = range(3)


class Splits(NamedTuple):
    """The candidate splits of all nodes; ``identity`` tells which are the same split.

    With ``early`` the last of each node is none: rows go left, and the nodes below have none.
    """

    early: bool
    start: np.ndarray           # of each node's splits
    left: np.ndarray            # (n_splits, n_words): rows that go left
    identity: np.ndarray        # negative where it does not matter


class Words(NamedTuple):
    """What the rows of each word are; ``minority`` are rows that no candidate separates."""

    label: np.ndarray
    weight: np.ndarray
    count: np.ndarray
    minority: np.ndarray        # of them and a heavier class


class Frames(NamedTuple):
    """The search at each level, from the root down."""

    frame: np.ndarray           # (depth, N_FRAME)
    best: np.ndarray            # (depth, n_budgets)
    left_best: np.ndarray
    rows: np.ndarray            # (depth + 1, n_words)
    order: np.ndarray           # (depth, n_splits of a node)
    tree: np.ndarray            # (depth, n_budgets, n_nodes)
    left_tree: np.ndarray


class Kept(NamedTuple):
    """Row sets for which a node was solved before, with what that proves."""

    rows: np.ndarray            # (n_nodes, n_sets, n_words)
    bound: np.ndarray
    n: np.ndarray               # (n_nodes,)


class Scratch(NamedTuple):
    """Work on the splits of a node."""

    active: np.ndarray          # (n_words,)
    weight: np.ndarray          # (2, n_classes)
    errors: np.ndarray          # (n_splits of a node,)
    n_leaves: np.ndarray


@njit(cache=True, nogil=True)
def set_weight(rows, word_weight):
    """Return the weight of a set of rows.

    ``rows``: (n_words,) uint64; ``word_weight``: (n_words,) float64, the weight of each row.
    """
    total = 0.0
    for w in range(len(rows)):
        if rows[w]:
            total += popcount(rows[w]) * word_weight[w]
    return total


@njit(cache=True, nogil=True)
def _one_split_errors(rows, first, last, left, words, n_classes, limits, count_leaves, scratch):
    """Write the errors that a single split leaves, for the splits ``first`` to ``last - 1``.

    The arguments are those of the module's docstring.  Beside these, ``rows``: (n_words,) uint64,
    the rows of the node; ``count_leaves``: whether to count sides with rows.  Fills
    ``scratch.errors`` and ``scratch.n_leaves``, the number of these sides, 0 without
    ``count_leaves``.
    """
    word_class, word_weight, word_count, _ = words
    active, weight, errors, n_leaves = scratch
    n_active, n_rows, n_left = 0, 0, 0
    weight[0] = 0.0
    limited = limits[0] > 1 or limits[1] > 0 or count_leaves
    for w in range(len(rows)):
        if rows[w]:
            active[n_active] = w
            n_active += 1
            n_bits = popcount(rows[w])
            weight[0, word_class[w]] += n_bits * word_weight[w]
            n_rows += n_bits * word_count[w]
    for split in range(first, last):
        weight[1] = 0.0
        for i in range(n_active):
            w = active[i]
            weight[1, word_class[w]] += popcount(rows[w] & left[split, w]) * word_weight[w]
        on_left, max_left, on_right, max_right = 0.0, 0.0, 0.0, 0.0
        for c in range(n_classes):
            a = weight[1, c]
            b = weight[0, c] - a
            on_left += a
            on_right += b
            max_left = max(max_left, a)
            max_right = max(max_right, b)
        errors[split - first] = (on_left - max_left) + (on_right - max_right)
        n_leaves[split - first] = 0
        if limited:
            n_left = 0
            for i in range(n_active):
                w = active[i]
                n_left += popcount(rows[w] & left[split, w]) * word_count[w]
            errors[split - first] += _leaf_cost(n_left, limits)
            errors[split - first] += _leaf_cost(n_rows - n_left, limits)
            if count_leaves:
                n_leaves[split - first] = (n_left > 0) + (n_left < n_rows)


@njit(cache=True, nogil=True)
def _similarity_bound(rows, node, kept, word_weight, enough):
    """Return a lower bound of the errors at a node from the row sets it was solved for before.

    ``rows``: (n_words,) uint64, the rows of the node; ``node``: its number; ``kept``: `Kept`;
    ``word_weight``: (n_words,) float64, the weight of each row; ``enough``: a bound that ends the
    search for better ones.

    The best tree for ``rows`` makes at most as many errors on an earlier set as on ``rows`` plus
    the weight of the rows that only the earlier set has.
    """
    kept_rows, kept_bound, n_kept = kept
    best = 0.0
    for i in range(min(n_kept[node], kept_rows.shape[1])):
        bound = kept_bound[node, i]
        if bound <= best:
            continue
        for w in range(len(rows)):
            only = kept_rows[node, i, w] & ~rows[w]
            if only:
                bound -= popcount(only) * word_weight[w]
                if bound <= best:
                    break
        if bound > best:
            best = bound
            if best >= enough:
                break
    return best


@njit(cache=True, nogil=True)
def _used_above(split, level, start, identity, frame, order):
    """Return whether a split is the current one of a node above, of those with an ``identity``.

    ``split``: its number among all; ``level``: that of its node; ``start``, ``identity``: those of
    `Splits`; ``frame``, ``order``: those of `Frames`.
    """
    for above in range(level if identity[split] >= 0 else 0):
        other = start[frame[above, NODE]] + order[above, frame[above, POSITION]]
        if identity[other] == identity[split]:
            return True
    return False


@njit(cache=True, nogil=True)
def _enter_node(depth, splits, words, n_classes, limits, tolerance, max_leaves, state, frames,
                scratch):
    """Begin a node: bound it, take the best single split of a last one, else order its splits.

    The arguments are those of the module's docstring.  Returns whether the node is done, and the
    work.
    """
    frame, best, order, tree = frames.frame, frames.best, frames.order, frames.tree
    h = state[LEVEL]
    node, largest, n_words = frame[h, NODE], max_leaves[h], frames.rows.shape[1]
    first, last = splits.start[node], splits.start[node + 1]
    n_tried = last - first - splits.early
    errors, n_leaves = scratch.errors, scratch.n_leaves
    state[SUBPROBLEMS] += 1
    lower = 0.0
    for w in range(n_words):
        word = frames.rows[h, w] & words.minority[w]
        if word:
            lower += popcount(word) * words.weight[w]
    for b in range(largest + 1):
        tree[h, b, 0] = -1
    if lower >= best[h, :largest + 1].max() - tolerance:
        return True, n_words
    _one_split_errors(frames.rows[h], first, last, splits.left, words, n_classes, limits,
                      max_leaves[0] > 0, scratch)
    for i in range(last - first):
        if _used_above(first + i, h, splits.start, splits.identity, frame, order):
            errors[i] = np.inf
    work = n_words * (last - first + 1)
    if h < depth - 1:            # the most promising split first
        order[h, :n_tried] = np.argsort(errors[:n_tried], kind="mergesort")
        frame[h, POSITION] = -1
        state[PHASE] = NEXT
        for b in range(n_leaves[n_tried] if splits.early else largest + 1, largest + 1):
            if errors[n_tried] < best[h, b] - tolerance:
                best[h, b] = errors[n_tried]
                for d in range(depth - h):
                    for i in range(1 << d):
                        below = ((node + 1) << d) - 1 + i
                        tree[h, b, (1 << d) - 1 + i] = (
                            splits.start[below + 1] - splits.start[below] - 1)
        return False, work + 16 * (last - first)
    state[BOTTOMS] += last - first
    for b in range(largest + 1):
        cheapest = -1
        for i in range(last - first):
            if n_leaves[i] <= b and (cheapest < 0 or errors[i] < errors[cheapest]):
                cheapest = i
        if cheapest >= 0 and errors[cheapest] < best[h, b] - tolerance:
            best[h, b] = errors[cheapest]
            tree[h, b, 0] = cheapest
    return True, work


@njit(cache=True, nogil=True)
def _try_split(split, depth, left, words, tolerance, max_leaves, state, frames, kept):
    """Bound both children of a split, and go down to the left one if the split may be better.

    The arguments are those of the module's docstring; ``split``: its number among all.  Returns the
    work.
    """
    rows, best, weight = frames.rows, frames.best, words.weight
    h = state[LEVEL]
    child, largest, below = 2 * frames.frame[h, NODE] + 1, max_leaves[h], max_leaves[h + 1]
    n_words, budgeted, bottom = rows.shape[1], max_leaves[0] > 0, h + 1 == depth - 1
    on_right, on_left = 0.0, 0.0
    right_active, left_active = 0, 0
    work = 2 * n_words
    for w in range(n_words):
        right = rows[h, w] & ~left[split, w]
        rows[h + 1, w] = right
        if right:
            right_active = 1
        word = right & words.minority[w]
        if word:
            on_right += popcount(word) * weight[w]
    enough = best[h, :largest + 1].max() - tolerance
    if not bottom:
        on_right = max(on_right, _similarity_bound(rows[h + 1], child + 1, kept, weight, enough))
    for w in range(n_words):
        rows[h + 1, w] = rows[h, w] & left[split, w]
        if rows[h + 1, w]:
            left_active = 1
    if not bottom and on_right < enough:
        on_left = _similarity_bound(rows[h + 1], child, kept, weight, enough - on_right)
        work += n_words * (2 * kept.rows.shape[1])
    for j in range(below + 1):
        best[h + 1, j] = -np.inf
        if not budgeted:
            best[h + 1, j] = best[h, 0] - on_right
        elif j >= left_active:           # without rows a side needs no leaf
            for b in range(j + right_active, min(largest, j + below) + 1):
                best[h + 1, j] = max(best[h + 1, j], best[h, b] - on_right)
    if on_left >= best[h + 1, :below + 1].max() - tolerance:
        state[BOUNDED] += 1
    else:
        frames.frame[h + 1, NODE] = child
        state[LEVEL], state[PHASE] = h + 1, ENTER
    return work


@njit(cache=True, nogil=True)
def _take_left(split, depth, left, max_leaves, state, frames):
    """Keep the best left subtrees of a split, and go down to its right child if there are any.

    The arguments are those of the module's docstring; ``split``: its number among all.
    """
    best, rows, tree = frames.best, frames.rows, frames.tree
    h = state[LEVEL]
    size, below = (1 << (depth - h - 1)) - 1, max_leaves[h + 1]
    has_left_tree = False
    for j in range(below + 1):
        frames.left_best[h, j] = np.inf
        if tree[h + 1, j, 0] >= 0:
            has_left_tree = True
            frames.left_best[h, j] = best[h + 1, j]
            frames.left_tree[h, j, :size] = tree[h + 1, j, :size]
    state[PHASE] = NEXT
    if not has_left_tree:
        return
    for w in range(rows.shape[1]):
        rows[h + 1, w] = rows[h, w] & ~left[split, w]
    for k in range(below + 1):
        best[h + 1, k] = -np.inf
        for j in range(min(below, max_leaves[h] - k) + 1):
            best[h + 1, k] = max(best[h + 1, k], best[h, j + k] - frames.left_best[h, j])
    frames.frame[h + 1, NODE] = 2 * frames.frame[h, NODE] + 2
    state[LEVEL], state[PHASE] = h + 1, ENTER


@njit(cache=True, nogil=True)
def _take_right(choice, depth, tolerance, max_leaves, state, frames):
    """Join the best subtrees on both sides of a split where that is better than what is known.

    The arguments are those of the module's docstring; ``choice``: the number of the split at its
    node.
    """
    best, tree = frames.best, frames.tree
    h = state[LEVEL]
    below, largest = max_leaves[h + 1], max_leaves[h]
    for j in range(below + 1):
        for k in range(min(below, largest - j) + 1):
            if tree[h + 1, k, 0] < 0:
                continue
            cost = frames.left_best[h, j] + best[h + 1, k]
            if cost < best[h, j + k] - 0.5 * tolerance:
                best[h, j + k] = cost
                tree[h, j + k, 0] = choice
                for d in range(depth - h - 1):           # both subtrees below it, by level
                    width = 1 << d
                    for i in range(width):
                        tree[h, j + k, 2 * width - 1 + i] = frames.left_tree[h, j, width - 1 + i]
                        tree[h, j + k, 3 * width - 1 + i] = tree[h + 1, k, width - 1 + i]
    state[PHASE] = NEXT


@njit(cache=True, nogil=True)
def _leave_node(depth, state, frames, kept):
    """Remember the rows of a node with its errors, or a bound that it reached, and go up.

    The arguments are those of the module's docstring.
    """
    h = state[LEVEL]
    node = frames.frame[h, NODE]
    if h < depth - 1 and kept.rows.shape[1] > 0:
        slot = kept.n[node] % kept.rows.shape[1]
        kept.n[node] += 1
        kept.bound[node, slot] = frames.best[h, 0]
        kept.rows[node, slot] = frames.rows[h]
    state[LEVEL] = h - 1
    state[PHASE] = LEFT_BACK if node % 2 == 1 else RIGHT_BACK


@njit(cache=True, nogil=True)
def search(max_work, depth, splits, words, n_classes, limits, tolerance, max_leaves, state, frames,
           kept, scratch):
    """Find splits that cost less than ``best[0]``, in slices of about ``max_work`` words.

    The arguments are those of the module's docstring.

    A depth-first search: ``best(j, R) = min over a in S_j of best(2j + 1, R and left of a) +
    best(2j + 2, R and right of a)``.  Frame ``h`` looks for the best subtrees of a node at level
    ``h`` for ``rows[h]``: entry ``b`` of ``best[h]`` for at most ``b`` leaves with rows, where
    ``max_leaves[h]`` is the largest ``b``.  Without a budget that is 0, and the only entry counts
    any number of leaves.  A parent sets ``best`` of its child to costs that must be undercut;
    ``tree[h, b, 0]`` is -1 where none was.  No path has two splits of one ``identity``, unless it
    is negative.  When ``state[PHASE]`` is DONE, the last entry of ``tree[0]`` and ``best[0]`` hold
    the best splits in level order and their cost.
    """
    frame, order = frames.frame, frames.order
    work = 0
    while work < max_work:
        h, phase = state[LEVEL], state[PHASE]
        first, last = splits.start[frame[h, NODE]], splits.start[frame[h, NODE] + 1]
        leave = False
        if phase == ENTER:
            leave, taken = _enter_node(depth, splits, words, n_classes, limits, tolerance,
                                       max_leaves, state, frames, scratch)
            work += taken
        elif phase == NEXT:
            frame[h, POSITION] += 1
            leave = frame[h, POSITION] == last - first - splits.early
            if not leave:
                split = first + order[h, frame[h, POSITION]]
                if not _used_above(split, h, splits.start, splits.identity, frame, order):
                    work += _try_split(split, depth, splits.left, words, tolerance, max_leaves,
                                       state, frames, kept)
        elif phase == LEFT_BACK:
            _take_left(first + order[h, frame[h, POSITION]], depth, splits.left, max_leaves, state,
                       frames)
        elif phase == RIGHT_BACK:
            _take_right(order[h, frame[h, POSITION]], depth, tolerance, max_leaves, state, frames)
        else:
            return
        if leave and h == 0:
            state[PHASE] = DONE
            return
        if leave:
            _leave_node(depth, state, frames, kept)
