"""Compiled enumeration of paths and the dynamic program over candidate splits (private).

Rows are bit sets.  Every word holds rows of one class and one weight, so that a popcount times a
weight is the class weight of a set, and times ``word_count`` its number of rows.  Nodes are
numbered as in a heap, and the candidate splits of node ``j`` are the lines
``start[j]:start[j + 1]`` of ``left``, the sets of rows that they send left.  ``limits`` holds the
fewest rows of a leaf that is not empty, the penalty of such a leaf, and what fewer rows cost.  No
validation.
"""

import numpy as np
from numba import njit

from odtlib._numba.vector import lowest_bit, popcount


@njit(cache=True, nogil=True)
def _leaf_cost(n_rows, limits):
    """What a leaf costs besides its errors."""
    if n_rows == 0:
        return 0.0
    return limits[1] + (limits[2] if n_rows < limits[0] else 0.0)


@njit(cache=True, nogil=True)
def path_values(nodes, to_left, start, left, whole, word_class, word_weight, word_count, n_classes,
                limits, value, target):
    """Write the class weight and the class that each path to one leaf predicts best.

    ``nodes`` are the feature nodes on the way to the leaf and ``to_left`` the sides taken.  Paths
    are numbered like the digits of a number, the root's split first.  The first of equally heavy
    classes is the target.
    """
    depth, n_words = len(nodes), len(whole)
    rows = np.empty((depth + 1, n_words), np.uint64)
    rows[0] = whole
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
        best = 0
        for c in range(1, n_classes):
            if weight[c] > weight[best]:
                best = c
        value[path], target[path] = weight[best] - _leaf_cost(n_rows, limits), best
        path += 1


@njit(cache=True, nogil=True)
def reduced_costs(nodes, to_left, start, allowed, left, whole, beta, gamma, level_start, together,
                  alpha, value, cost):
    """Write the reduced cost of every path to one leaf (Firat et al. 2020, Eq. 7).

    ``left`` and ``whole`` are sets of constrained rows here, with duals ``beta`` in the order of
    their bits.  ``gamma[level_start[h] + i]`` is the dual of the linking row at level ``h``, where
    ``i`` is the choice at this level.  ``together``: a path stands for itself and its sibling, so
    that the last split neither pays nor parts the rows, and ``i`` is the number of the choices so
    far.  Paths through a split that is not ``allowed`` cost minus infinity.
    """
    depth, n_words = len(nodes), len(whole)
    rows = np.empty((depth + 1, n_words), np.uint64)
    rows[0] = whole
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
        parts = not together or level + 1 < depth
        if parts:
            index = number[level + 1] if together else choice[level]
            so_far[level + 1] -= gamma[level_start[level] + index]
        if not allowed[split]:
            so_far[level + 1] = -np.inf
        flip = np.uint64(0) if to_left[level] else ~np.uint64(0)
        for w in range(n_words):
            rows[level + 1, w] = rows[level, w]
            if parts:
                rows[level + 1, w] &= left[split, w] ^ flip
        if level + 1 < depth:
            level += 1
            continue
        total = value[path] + so_far[depth]
        for w in range(n_words):
            word = rows[depth, w]
            while word:
                total -= beta[64 * w + lowest_bit(word)]
                word &= word - np.uint64(1)
        cost[path] = total
        path += 1


@njit(cache=True, nogil=True)
def path_rows(nodes, to_left, start, left, choices, constrained, member):
    """Tell which constrained rows each of some paths to one leaf holds."""
    for p in range(choices.shape[0]):
        for i in range(len(constrained)):
            word, bit = constrained[i] >> 6, np.uint64(constrained[i] & 63)
            inside = True
            for h in range(len(nodes)):
                split = start[nodes[h]] + choices[p, h]
                goes_left = (left[split, word] >> bit) & np.uint64(1)
                inside = inside and (goes_left == 1) == to_left[h]
            member[p, i] = inside


@njit(cache=True, nogil=True)
def sweep(nodes, to_left, start, allowed, left, group, sorted_split, order, enter, label, weight,
          count, beta, gamma, level_start, together, n_classes, limits, tolerance, choice, number,
          so_far, inside, best, path, budget):
    """Write the best reduced cost, and its path, for every way of splitting all but the last node.

    The sweep is resumable: ``choice``, ``number``, ``so_far`` and ``inside`` keep the place, level
    by level, and ``choice[-1]`` the level itself, -1 at the end.  It returns how many ways were
    done when ``best`` and ``path`` are full or about ``budget`` steps were taken.

    The last node's splits are swept feature by feature: ``sorted_split[group[g]:group[g + 1]]``
    are those of one feature by rising threshold, and ``order[g]`` lists the rows, ordinary ones
    and those of constraints, by the first of them that sends the row left, ``enter[g]``.  ``left``
    are truth values here.  Rows of constraints weigh nothing and have a ``beta``.  Where no path
    can cost more than ``tolerance``, ``best`` is a bound below it and ``path`` is -1.
    """
    depth, n_rows = len(nodes), len(label)
    total, here = np.empty(n_classes), np.empty(n_classes)
    last = nodes[depth - 1]
    n_last = start[last + 1] - start[last]
    cheapest = 0.0
    if not together:
        cheapest = np.inf
        for i in range(n_last):
            cheapest = min(cheapest, gamma[level_start[depth - 1] + i])
    at, level, work = 0, choice[depth], 0
    while level >= 0 and at < len(best) and work < budget:
        if level < depth - 1:
            choice[level] += 1
            size = start[nodes[level] + 1] - start[nodes[level]]
            if choice[level] == size:
                choice[level] = -1
                level -= 1
                continue
            split = start[nodes[level]] + choice[level]
            number[level + 1] = number[level] * size + choice[level]
            index = number[level + 1] if together else choice[level]
            so_far[level + 1] = so_far[level] - gamma[level_start[level] + index]
            if not allowed[split]:
                so_far[level + 1] = -np.inf
            for r in range(n_rows):
                inside[level + 1, r] = inside[level, r] and left[split, r] == to_left[level]
            work += n_rows
            level += 1
            continue
        work += n_rows * n_classes
        total[:] = 0.0
        paid, gained, n_inside = 0.0, 0.0, 0
        for r in range(n_rows):
            if inside[level, r]:
                total[label[r]] += weight[r]
                n_inside += count[r]
                paid += beta[r]
                gained -= min(0.0, beta[r])
        most = total.sum() - paid if together else total.max() + gained - cheapest
        best[at], path[at] = so_far[level] + most, -1
        if best[at] > tolerance:
            best[at] = -np.inf
            work += (len(group) - 1) * n_rows + 4 * n_last * n_classes
            for g in range(len(group) - 1):
                here[:] = 0.0
                n_here, paid_here, r = 0, 0.0, 0
                for i in range(group[g], group[g + 1]):
                    while r < n_rows and enter[g, r] <= i - group[g]:
                        row = order[g, r]
                        if inside[level, row]:
                            here[label[row]] += weight[row]
                            n_here += count[row]
                            paid_here += beta[row]
                        r += 1
                    split = sorted_split[i]
                    if not allowed[start[last] + split]:
                        continue
                    most_left, most_right = 0.0, 0.0
                    for c in range(n_classes):
                        most_left = max(most_left, here[c])
                        most_right = max(most_right, total[c] - here[c])
                    few_left = 0 < n_here < limits[0]
                    few_right = 0 < n_inside - n_here < limits[0]
                    if n_here > 0:
                        most_left -= limits[1]
                    if n_inside > n_here:
                        most_right -= limits[1]
                    if together:
                        cost = most_left + most_right - paid
                        few = few_left or few_right
                    elif to_left[level]:
                        cost = most_left - paid_here - gamma[level_start[level] + split]
                        few = few_left
                    else:
                        cost = most_right - (paid - paid_here) - gamma[level_start[level] + split]
                        few = few_right
                    if not few and so_far[level] + cost > best[at]:
                        best[at] = so_far[level] + cost
                        path[at] = number[level] * n_last + split
        at += 1
        level -= 1
    choice[depth] = level
    return at


# ------------------------------------------------------------- the dynamic program

ENTER, NEXT, LEFT_BACK, RIGHT_BACK, DONE = range(5)
# integers of the search
LEVEL, PHASE, FOUND, SUBPROBLEMS, BOTTOMS, BOUNDED, N_STATE = range(7)
# integers and reals of a frame
NODE, POSITION, N_FRAME = range(3)
BELOW, BEST, LEFT_ERRORS, RIGHT_BOUND, N_REAL = range(5)


@njit(cache=True, nogil=True)
def _weight(rows, word_weight):
    total = 0.0
    for w in range(len(rows)):
        if rows[w]:
            total += popcount(rows[w]) * word_weight[w]
    return total


@njit(cache=True, nogil=True)
def _one_split_errors(rows, first, last, left, word_class, word_weight, word_count, n_classes,
                      limits, active, weight, errors):
    """Write the errors that a single split leaves, for the splits ``first`` to ``last - 1``."""
    n_active, n_rows, n_left = 0, 0, 0
    weight[0] = 0.0
    limited = limits[0] > 1 or limits[1] > 0
    for w in range(len(rows)):
        if rows[w]:
            active[n_active] = w
            n_active += 1
            held = popcount(rows[w])
            weight[0, word_class[w]] += held * word_weight[w]
            n_rows += held * word_count[w]
    for split in range(first, last):
        weight[1] = 0.0
        for i in range(n_active):
            w = active[i]
            weight[1, word_class[w]] += popcount(rows[w] & left[split, w]) * word_weight[w]
        on_left, most_left, on_right, most_right = 0.0, 0.0, 0.0, 0.0
        for c in range(n_classes):
            a = weight[1, c]
            b = weight[0, c] - a
            on_left += a
            on_right += b
            most_left = max(most_left, a)
            most_right = max(most_right, b)
        errors[split - first] = (on_left - most_left) + (on_right - most_right)
        if limited:
            n_left = 0
            for i in range(n_active):
                w = active[i]
                n_left += popcount(rows[w] & left[split, w]) * word_count[w]
            errors[split - first] += _leaf_cost(n_left, limits)
            errors[split - first] += _leaf_cost(n_rows - n_left, limits)


@njit(cache=True, nogil=True)
def _similar_bound(rows, node, kept_rows, kept_bound, n_kept, word_weight, enough):
    """Bound the errors at a node from those of row sets that it was solved for before.

    The best tree for ``rows`` makes at most as many errors on an earlier set as on ``rows`` plus
    the weight of the rows that only the earlier set has.
    """
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
def search(budget, depth, start, left, word_class, word_weight, word_count, n_classes, limits,
           twins, tolerance, state, frame, real, rows, order, tree, left_tree, kept_rows,
           kept_bound, n_kept, active, weight, errors):
    """Find splits with fewer errors than ``real[0, BELOW]``, in slices of about ``budget`` words.

    A depth-first search: ``best(j, R) = min over a in S_j of best(2j + 1, R and left of a) +
    best(2j + 2, R and right of a)``.  Frame ``h`` looks for the best subtree of a node at level
    ``h`` for ``rows[h]``.  ``twins`` are rows that no candidate separates from a heavier class.
    When ``state[PHASE]`` is DONE, ``tree[0]`` holds the best splits in heap order if
    ``state[FOUND]``, and ``real[0, BEST]`` their errors.
    """
    n_words = rows.shape[1]
    work = 0
    while work < budget:
        h = state[LEVEL]
        node = frame[h, NODE]
        first, last = start[node], start[node + 1]
        leave = False
        phase = state[PHASE]
        if phase == ENTER:
            work += n_words
            state[SUBPROBLEMS] += 1
            lower = 0.0
            for w in range(n_words):
                word = rows[h, w] & twins[w]
                if word:
                    lower += popcount(word) * word_weight[w]
            real[h, BEST] = real[h, BELOW]
            state[FOUND] = 0
            if lower >= real[h, BELOW] - tolerance:
                leave = True
            else:
                _one_split_errors(rows[h], first, last, left, word_class, word_weight, word_count,
                                  n_classes, limits, active, weight, errors)
                work += n_words * (last - first)
                if h == depth - 1:
                    state[BOTTOMS] += last - first
                    best = 0
                    for i in range(1, last - first):
                        if errors[i] < errors[best]:
                            best = i
                    if errors[best] < real[h, BELOW] - tolerance:
                        state[FOUND] = 1
                        real[h, BEST] = errors[best]
                        tree[h, 0] = best
                    leave = True
                else:
                    # the most promising split first
                    order[h, :last - first] = np.argsort(errors[:last - first], kind="mergesort")
                    work += 16 * (last - first)
                    frame[h, POSITION] = -1
                    tree[h, 0] = -1
                    state[PHASE] = NEXT
        elif phase == NEXT:
            frame[h, POSITION] += 1
            if frame[h, POSITION] == last - first:
                state[FOUND] = tree[h, 0] >= 0
                leave = True
            else:
                split = first + order[h, frame[h, POSITION]]
                child = 2 * node + 1
                on_right = 0.0
                for w in range(n_words):
                    right = rows[h, w] & ~left[split, w]
                    rows[h + 1, w] = right
                    word = right & twins[w]
                    if word:
                        on_right += popcount(word) * word_weight[w]
                enough = real[h, BEST] - tolerance
                bottom = h + 1 == depth - 1
                if not bottom:
                    on_right = max(on_right, _similar_bound(
                        rows[h + 1], child + 1, kept_rows, kept_bound, n_kept, word_weight, enough))
                for w in range(n_words):
                    rows[h + 1, w] = rows[h, w] & left[split, w]
                on_left = 0.0
                if not bottom and on_right < enough:
                    on_left = _similar_bound(rows[h + 1], child, kept_rows, kept_bound, n_kept,
                                             word_weight, enough - on_right)
                    work += n_words * (2 * kept_rows.shape[1])
                work += 2 * n_words
                if on_left + on_right >= enough:
                    state[BOUNDED] += 1
                else:
                    real[h, RIGHT_BOUND] = on_right
                    frame[h + 1, NODE] = child
                    real[h + 1, BELOW] = real[h, BEST] - on_right
                    state[LEVEL], state[PHASE] = h + 1, ENTER
        elif phase == LEFT_BACK:
            if not state[FOUND]:
                state[PHASE] = NEXT
            else:
                size = (1 << (depth - h - 1)) - 1
                left_tree[h, :size] = tree[h + 1, :size]
                real[h, LEFT_ERRORS] = real[h + 1, BEST]
                split = first + order[h, frame[h, POSITION]]
                for w in range(n_words):
                    rows[h + 1, w] = rows[h, w] & ~left[split, w]
                frame[h + 1, NODE] = 2 * node + 2
                real[h + 1, BELOW] = real[h, BEST] - real[h, LEFT_ERRORS]
                state[LEVEL], state[PHASE] = h + 1, ENTER
        elif phase == RIGHT_BACK:
            if state[FOUND]:
                real[h, BEST] = real[h, LEFT_ERRORS] + real[h + 1, BEST]
                tree[h, 0] = order[h, frame[h, POSITION]]
                # put both subtrees below it, level by level
                for d in range(depth - h - 1):
                    width = 1 << d
                    for i in range(width):
                        tree[h, 2 * width - 1 + i] = left_tree[h, width - 1 + i]
                        tree[h, 3 * width - 1 + i] = tree[h + 1, width - 1 + i]
            state[PHASE] = NEXT
        else:
            return
        if leave:
            if h == 0:
                state[PHASE] = DONE
                return
            # remember the set: its errors, or a bound that it reached
            if h < depth - 1 and kept_rows.shape[1] > 0:
                at = n_kept[node] % kept_rows.shape[1]
                n_kept[node] += 1
                kept_bound[node, at] = real[h, BEST]
                kept_rows[node, at] = rows[h]
            state[LEVEL] = h - 1
            state[PHASE] = LEFT_BACK if node % 2 == 1 else RIGHT_BACK
