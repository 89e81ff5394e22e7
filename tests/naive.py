"""Slow, obvious references: what the solvers must agree with on small instances."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np


def best_over(sides, n_rows, leaf, depth, nodes=None, min_leaf=1, penalty=0.0, allowed=None,
              floor=-np.inf):
    """Return the least cost of a tree, by trying all trees (Eq. 1).

    A test sends one of ``sides`` one way, a set of rows, and all others the other way.  The cost is
    what its leaves cost, ``leaf(rows)`` of a list of their rows, plus ``penalty`` for each test,
    one number or one for each level; a tree has at most ``nodes`` of these, no more than ``depth``
    on a path, and ``min_leaf`` rows or more in every leaf.  ``allowed(path)`` tells whether the
    tests of a path, by their places in ``sides`` from the root on, may stand on it (default: all).
    It saves time to say what no leaf costs less than, ``floor``.
    """
    prices = np.broadcast_to(penalty, depth).tolist()

    @cache                      # the same rows come back in another order of the tests
    def best(rows, level, nodes, path):
        least = leaf(members(rows))
        below = 2 ** (depth - level - 1) - 1 if nodes else 0        # as many as fit on one side
        for test, side in enumerate(sides) if nodes and least > floor else ():
            one, other = rows & ~side, rows & side
            path_below = path if allowed is None else (*path, test)
            if min(one.bit_count(), other.bit_count()) < min_leaf or not (
                    allowed is None or allowed(path_below)):
                continue
            most = min(nodes - 1, below)
            for share in range(nodes - 1 - most, most + 1):
                first = prices[level] + best(one, level + 1, share, path_below)
                if first + floor < least:
                    least = min(least, first + best(other, level + 1, nodes - 1 - share,
                                                    path_below))
        return least

    full = 2 ** depth - 1
    return best((1 << n_rows) - 1, 0, full if nodes is None else min(nodes, full), ())


def best_over_lists(lists, n_rows, leaf, nodes=None, min_leaf=1, penalty=0.0, distinct=False):
    """Return the least cost of a tree whose nodes have candidate splits, by trying all trees.

    ``lists[node]`` is ``{split: the set of rows that it sends left}`` of a node, whose children are
    ``2 * node + 1`` and ``2 * node + 2``.  A split that divides no rows costs nothing.  No split
    stands twice on a path if they are to be ``distinct``; all else is as in :func:`best_over`, but
    that ``leaf`` is given a set.
    """
    everything = (1 << n_rows) - 1

    @cache
    def best(node, rows, nodes, above):
        least = leaf(rows) if rows == everything or rows.bit_count() >= min_leaf else np.inf
        for split, side in lists.get(node, {}).items():
            one, other = rows & side, rows & ~side
            path = (*above, split) if distinct else ()
            if split in above:
                continue
            if not (one and other):
                least = min(least, best(2 * node + 1 + (not one), rows, nodes, path))
            else:
                least = min([least, *(penalty + best(2 * node + 1, one, n, path)
                                      + best(2 * node + 2, other, nodes - 1 - n, path)
                                      for n in range(nodes))])
        return least

    return best(0, everything, len(lists) if nodes is None else min(nodes, len(lists)), ())


def best_cost(X, *arguments, **limits):
    """Return the least cost of a tree over 0/1 columns; see :func:`best_over`."""
    return best_over([as_set(column == 1) for column in X.T], len(X), *arguments, **limits)


def best_tree_cost(X, y, weight, n_classes, depth, nodes=None, min_leaf=1, penalty=0.0,
                   allowed=None):
    """Return the least weight of misclassified rows plus penalties; see :func:`best_cost`."""
    weights, labels = np.asarray(weight).tolist(), np.asarray(y).tolist()

    def errors(rows):
        sums = [0] * n_classes
        for row in rows:
            sums[labels[row]] += weights[row]
        return sum(sums) - max(sums)

    return best_cost(X, errors, depth, nodes, min_leaf, penalty, allowed, floor=0)


def cuts(X, thresholds=None):
    """Return a 0/1 column for each test ``x <= t``, of all values or of a feature's thresholds."""
    values = [np.unique(x)[:-1] for x in X.T] if thresholds is None else thresholds
    return np.array([x <= t for x, some in zip(X.T, values, strict=True) for t in some],
                    bool).reshape(-1, len(X)).T


def rows_with(X, *literals):
    """Return the numbers of the rows whose columns have the given values, as a set."""
    return {row for row in range(len(X)) if all(X[row, j] == side for j, side in literals)}


def tree_cost(tree, X, y, weight, penalty=0.0):
    """Return weighted errors plus ``penalty`` per feature node of a ``DecisionTree`` over codes."""
    wrong = tree.predict(X) != y
    return float(weight[wrong].sum() + penalty * tree.n_splits)


# The functions below hold one number for every set of rows; bit i of its index stands for row i.

def subset_sums(values):
    """Return the sum of the values of every set of rows."""
    sums = np.zeros(1, np.longdouble)
    for value in values:
        sums = np.concatenate([sums, sums + np.longdouble(value)])
    return sums


def as_set(chosen):
    """Return the rows that are marked in a vector of booleans as the bits of a whole number."""
    return sum(1 << row for row in np.flatnonzero(chosen).tolist())


def members(rows):
    """Return the rows of a set as a list."""
    return [row for row in range(rows.bit_length()) if rows >> row & 1]


def sides(X, missing=True):
    """Return the sets of rows that a test can send left: every threshold, missing on either side.

    Without ``missing`` they always go right.
    """
    found = set()
    for column in np.asarray(X, float).T:
        for value in [*np.unique(column[~np.isnan(column)]), np.inf]:
            left = column <= value
            found |= {as_set(left), as_set(left | np.isnan(column)) if missing else 0}
    return sorted(found - {0, (1 << len(X)) - 1})


def class_sums(y, weight):
    """Return the weight of each class in every set of rows."""
    return np.array([subset_sums(weight * (y == label)) for label in np.unique(y)])


def class_leaves(y, weight):
    """Return the misclassified weight of every set of rows."""
    sums = class_sums(y, weight)
    return sums.sum(axis=0) - sums.max(axis=0)


def least_of_sums(numbers):
    """Return the least sum of a column of numbers for every set of rows."""
    return np.min([subset_sums(column) for column in numbers.T], axis=0)


def square_leaves(y, weight, outputs=None):
    """Return the squared error about the mean of every set of rows, outputs weighted."""
    Y = np.asarray(y, np.longdouble).reshape(len(y), -1)
    w = np.asarray(weight, np.longdouble)
    mass, total = subset_sums(w), 0
    for target, factor in zip(Y.T, np.ones(Y.shape[1]) if outputs is None else outputs):
        target = target - (w @ target) / w.sum()
        first, second = subset_sums(w * target), subset_sums(w * target**2)
        total = total + factor * np.maximum(second - first**2 / np.where(mass > 0, mass, 1), 0)
    return total


def absolute_leaves(y, weight):
    """Return the absolute error about the median of every set of rows."""
    return np.min([subset_sums(np.asarray(weight, np.longdouble) * np.abs(
        np.asarray(y, np.longdouble) - value)) for value in y], axis=0)


def log_term(numerator, denominator):
    """Return ``a log(a / b)`` of every set of rows, zero where a is."""
    used = numerator > 0
    ratio = np.where(used, numerator, 1) / np.where(used, denominator, 1)
    return np.where(used, numerator * np.log(ratio), 0)


def poisson_leaves(y, weight, exposure):
    """Return half the Poisson deviance of every set of rows, of counts with some exposure."""
    each = np.where(y > 0, y * np.log(np.where(y > 0, y / np.where(y > 0, exposure, 1), 1)), 0.0)
    return subset_sums(weight * each) - log_term(subset_sums(weight * y),
                                                 subset_sums(weight * exposure))


def survival_leaves(event, time, weight):
    """Return the loss of every set of rows, with the hazard of all rows written out."""
    hazard = [sum((weight * event)[time == s].sum() / weight[time >= s].sum()
                  for s in np.unique(time) if s <= t) for t in time]
    return poisson_leaves(np.asarray(event, float), weight, np.array(hazard))


def line_leaves(X, y, weight, features, alpha):
    """Return the least ridge error of a line through every set of rows, by least squares."""
    costs = np.zeros(1 << len(y))
    for rows in range(1, len(costs)):
        member = (rows >> np.arange(len(y)) & 1).astype(bool)
        w, x = weight[member], X[member][:, features]
        design = np.sqrt(w)[:, None] * np.column_stack([np.ones(len(w)), x])
        ridge = np.sqrt(alpha * w.sum()) * np.eye(1 + len(features))[1:]
        target = np.r_[np.sqrt(w) * y[member], np.zeros(len(features))]
        design = np.concatenate([design, ridge])
        line = np.linalg.lstsq(design, target)[0]
        costs[rows] = ((target - design @ line) ** 2).sum()
    return costs


def entropy_leaves(y, weight):
    """Return the log loss of the shares of classes of every set of rows."""
    sums = class_sums(y, weight)
    return -sum(log_term(one, sums.sum(axis=0)) for one in sums)


def gini_leaves(y, weight):
    """Return the Brier score of the shares of classes of every set of rows."""
    sums = class_sums(y, weight)
    whole = sums.sum(axis=0)
    return whole - (sums ** 2).sum(axis=0) / np.where(whole > 0, whole, 1)


def least_costs(leaf, splits, n_rows, depth, budgets, min_leaf=1, prices=0.0):
    """Return the least cost of a tree for each budget of feature nodes.

    ``leaf`` holds the cost of every set of rows as a leaf, ``prices`` that of a feature node, one
    number or one for each depth.
    """
    prices = np.broadcast_to(prices, depth)
    every = np.arange(1 << n_rows)
    # one leaf is allowed however few rows there are
    leaf = np.where((np.bitwise_count(every) < min_leaf) & (every < every[-1]), np.inf, leaf)
    splits = np.array(splits, np.int64)
    whole = budgets == [2**depth - 1]           # no other size is asked for
    tables = [leaf]                             # for at most 0, 1, 2 ... feature nodes
    for level in range(depth - 1, -1, -1):
        rows = every[-1:] if level == 0 else every
        left, right = splits[:, None] & rows, ~splits[:, None] & rows
        most = min(max(budgets), 2 ** (depth - level) - 1)
        new = [leaf[rows]]
        for size in [most] if whole else range(1, most + 1):
            best = new[-1]
            for low in [len(tables) - 1] if whole else range(size):
                high = low if whole else size - 1 - low
                if len(splits) and max(low, high) < len(tables):
                    best = np.minimum(best, (tables[low][left] + tables[high][right]).min(axis=0)
                                      + prices[level])
            new.append(best)
        tables = new
    return [float(tables[min(budget, len(tables) - 1)][-1]) for budget in budgets]


def labelled_trees(X, n_classes, depth, nodes, min_leaf=1):
    """Return what trees with any label in any leaf can say: ``{(labels, features): splits}``.

    ``labels`` are those of the rows, ``features`` the set of those tested; with the fewest splits.
    """
    everything = (1 << len(X)) - 1
    tests = [(j, side) for j in range(X.shape[1]) for side in sides(X[:, [j]])]

    @cache
    def below(rows, depth, nodes):
        found = {(tuple(label if rows >> row & 1 else -1 for row in range(len(X))), frozenset()): 0
                 for label in range(n_classes)}
        for j, side in tests if depth and nodes else ():
            left, right = rows & side, rows & ~side
            if min(left.bit_count(), right.bit_count()) < min_leaf:
                continue
            for share in range(nodes):
                for (a, some), few in below(left, depth - 1, share).items():
                    for (b, others), more in below(right, depth - 1, nodes - 1 - share).items():
                        key = tuple(map(max, a, b)), some | others | {j}
                        found[key] = min(found.get(key, nodes), few + more + 1)
        return found

    return below(everything, depth, min(nodes, 2**depth - 1))


def as_tuples(nested):
    """Return a tree of ``to_nested`` over 0/1 columns as nested tuples, without thresholds."""
    return (nested[0], as_tuples(nested[2]), as_tuples(nested[3])) \
        if isinstance(nested, tuple) else nested


def same_everywhere(model, X):
    """Return whether a tree says the same in each of its forms, also where other values miss."""
    rng = np.random.default_rng(len(X))
    new = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    tree, expected = model.tree_, model.predict(new)
    read = type(tree).from_json(tree.to_json())
    others = [read, pickle.loads(pickle.dumps(model)), tree.pruned()]
    if not model._tree_over_columns and np.array_equal(X.astype(np.float32), X, equal_nan=True):
        others.append(model.to_sklearn(new))
    return read == tree and all((tree.to_text(), tree.rules(), tree.to_dot())) and all(
        np.array_equal(other.predict(new), expected) for other in others)


def features_of(tree):
    """Return the features that a tree of nested tuples tests."""
    return {tree[0]} | features_of(tree[1]) | features_of(tree[2]) if isinstance(tree, tuple) \
        else set()


def all_trees(X, leaves, pays, rows, depth, nodes, min_leaf):
    """Return ``{tree as nested tuples: (feature nodes, cost)}`` over 0/1 columns.

    ``leaves(rows)`` gives the cost of each leaf that some rows may have; two leaves are put below
    a split if ``pays(one, other, rows, cost of both)``.
    """
    trees = {leaf: (0, cost) for leaf, cost in leaves(rows).items()}
    for j in range(X.shape[1]) if depth and nodes else ():
        parts = [[row for row in rows if X[row, j] == side] for side in (0, 1)]
        if min(map(len, parts)) < min_leaf:
            continue
        zeros, ones = (all_trees(X, leaves, pays, part, depth - 1, nodes - 1, min_leaf)
                       for part in parts)
        for a, (size_a, cost_a) in zeros.items():
            for b, (size_b, cost_b) in ones.items():
                size, cost = size_a + size_b, cost_a + cost_b
                if size < nodes and (size > 0 or pays(a, b, rows, cost)):
                    trees[j, a, b] = size + 1, cost
    return trees


def written_trees(X, y, weight, n_classes, depth, nodes, min_leaf):
    """Return all trees with their errors, see :func:`all_trees`.

    Leaves predict a class of largest weight, every one where classes tie.
    """
    def leaves(rows):
        sums = np.array([weight[rows][y[rows] == c].sum() for c in range(n_classes)])
        return dict.fromkeys(np.flatnonzero(sums == sums.max()).tolist(), sums.sum() - sums.max())

    return all_trees(X, leaves, lambda a, b, *_: a != b, list(range(len(X))), depth, nodes,
                     min_leaf)


def priced_trees(X, cost, rows, depth, nodes, min_leaf, tie):
    """Return all trees, whose leaves are 0, with their costs, see :func:`all_trees`.

    ``cost`` has every set of rows.  A split of a leaf must save more than ``tie``.
    """
    def of(rows):
        return cost[sum(1 << row for row in rows)]

    return all_trees(X, lambda rows: {0: of(rows)},
                     lambda a, b, rows, below: below < of(rows) - tie, rows, depth, nodes, min_leaf)
