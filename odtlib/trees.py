"""What several solvers do with trees: build them from splits, cut them back, compare them."""

from __future__ import annotations

import numpy as np

from odtlib.tolerance import ROUNDING
from odtlib.tree import LEAF, DecisionTree, midpoint


def build(root, n_rows, split):
    """Build a tree from the root down, together with the rows that reach each node.

    ``root`` is what the solver knows about the root, such as its position in a table.
    ``split(node, rows)`` returns None at a leaf, else feature, threshold, for each of the rows
    whether it goes left, and what the solver knows about both children.  The result is feature,
    threshold, left and right in preorder, as :class:`~odtlib.DecisionTree` takes them, and a list
    of the rows that reach each node.
    """
    table, members, stack = [], [], [(root, np.arange(n_rows), None)]
    while stack:
        node, rows, parent = stack.pop()
        if parent is not None:
            table[parent[0]][parent[1]] = len(table)
        entry = [LEAF, np.nan, LEAF, LEAF]
        node_split = split(node, rows)
        if node_split is not None:
            entry[0], entry[1], goes_left, left, right = node_split
            stack.append((right, rows[~goes_left], (len(table), 3)))
            stack.append((left, rows[goes_left], (len(table), 2)))
        table.append(entry)
        members.append(rows)
    return (*np.array(table, dtype=np.float64).T, members)


def plan_of(tree):
    """Return the splits of a tree as (feature, threshold, left plan, right plan); None: a leaf."""
    plans = [None] * tree.n_nodes
    for node in reversed(range(tree.n_nodes)):      # children stand behind their parent
        if tree.feature[node] >= 0:
            plans[node] = (int(tree.feature[node]), float(tree.threshold[node]),
                           plans[tree.left[node]], plans[tree.right[node]])
    return plans[0]


def build_plan(plan, X):
    """Return what :func:`build` returns for a plan, without splits that send all rows one way."""
    def split(plan, rows):
        while plan is not None:
            goes_left = X[rows, plan[0]] <= plan[1]
            if goes_left.any() and not goes_left.all():
                return (*plan[:2], goes_left, *plan[2:])
            plan = plan[2 if goes_left.all() else 3]
        return None

    return build(plan, len(X), split)


def separating_threshold(values, goes_left):
    """Return the midpoint of the two neighbouring values that a split separates."""
    return midpoint(values[goes_left].max(), values[~goes_left].min())


def class_weights(members, y, n_classes, sample_weight=None):
    """Return the weight of each class at each node, shape (n_nodes, n_classes).

    ``members`` holds the rows of each node, as :func:`build` returns them.
    """
    return np.array([np.bincount(y[rows], None if sample_weight is None else sample_weight[rows],
                                 n_classes) for rows in members], dtype=np.float64)


def classifier_of(plan, X, y, n_classes, sample_weight=None):
    """Return the classification tree of a plan, without splits that send all rows one way.

    ``y`` holds class indices; the class of largest weight is predicted.
    """
    *table, members = build_plan(plan, X)
    return DecisionTree(*table, class_weights(members, y, n_classes, sample_weight),
                        n_features=X.shape[1])


def cut_back(tree, max_nodes, split_penalty=0.0, cost=None):
    """Return the best subtree with the same root and at most ``max_nodes`` splits.

    Best is the least cost of the leaves plus ``split_penalty`` per split; of several one with the
    fewest splits is returned, an exact minimum for every budget.  ``cost`` is that of each node as
    a leaf, which then predicts the node's label or value; without it, in a tree with the class
    weights of its rows, a leaf costs the weight outside the largest class, which it predicts.
    """
    label = np.argmax(tree.value, axis=1) if cost is None else tree.label
    leaf_cost = tree.value.sum(axis=1) - tree.value.max(axis=1) if cost is None else cost
    # With a budget that does not bind, the least cost of each node is enough.
    limited = max_nodes < tree.n_splits
    best, chosen = [None] * tree.n_nodes, [None] * tree.n_nodes
    for node in range(tree.n_nodes - 1, -1, -1):        # children stand behind their parent
        costs, choices = [float(leaf_cost[node])], [None]
        if tree.feature[node] >= 0 and max_nodes > 0:
            left, right = best[tree.left[node]], best[tree.right[node]]
            if limited:
                for n in range(1, min(max_nodes, len(left) + len(right) - 1) + 1):
                    low = range(max(0, n - len(right)), min(n, len(left)))
                    k = min(low, key=lambda k: left[k] + right[n - 1 - k])
                    costs.append(left[k] + right[n - 1 - k] + split_penalty)
                    choices.append((k, n - 1 - k))
            elif left[0] + right[0] + split_penalty < costs[0]:
                costs, choices = [left[0] + right[0] + split_penalty], [(0, 0)]
        best[node], chosen[node] = costs, choices
    # a table's position is the number of splits used, so that min takes the fewest of the best
    kept = []

    def split(state, rows):
        node, n_splits = state
        kept.append(node)
        if (choice := chosen[node][n_splits]) is None:
            return None
        return (tree.feature[node], tree.threshold[node], np.zeros(0, bool),
                (tree.left[node], choice[0]), (tree.right[node], choice[1]))

    *nodes, _ = build((0, int(np.argmin(best[0]))), 0, split)
    return tree.replace(**dict(zip(("feature", "threshold", "left", "right"), nodes)),
                        label=None if label is None else label[kept],
                        **tree._at("value", "weight", "impurity", "missing_left", nodes=kept))


def lower_hull(points):
    """Return which trees are best for some penalty of a split, the smallest first.

    ``points`` are (number of splits, cost) of each tree, in order of growing size; the result lists
    positions on their lower convex hull.
    """
    def saving(a, b):
        return (points[a][1] - points[b][1]) / (points[b][0] - points[a][0])

    hull = []
    for k, (splits, cost) in enumerate(points):
        if hull and cost >= points[hull[-1]][1]:
            continue
        while hull and splits <= points[hull[-1]][0]:
            hull.pop()
        while len(hull) > 1 and (saving(hull[-2], hull[-1])
                                 <= saving(hull[-2], k) * (1 + ROUNDING)):
            hull.pop()
        hull.append(k)
    return hull
