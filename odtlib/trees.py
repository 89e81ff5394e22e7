"""What several solvers do with trees: build them from splits, cut them back, compare them."""

from __future__ import annotations

import numpy as np

from odtlib._tolerance import ROUNDING
from odtlib.report import default_objective
from odtlib.tree import LEAF, midpoint


def build(root, n_rows, split):
    """Build a tree from the root down, together with the rows that reach each node.

    Parameters
    ----------
    root : object
        What the solver knows about the root, such as its position in a table.
    n_rows : int
        Number of training rows.
    split : callable
        ``split(node, rows)`` returns None at a leaf, else ``(feature, threshold, goes_left, left,
        right)``: ``goes_left`` is True for the rows that go left, and ``left`` and ``right`` are
        what the solver knows about the children.

    Returns
    -------
    feature, threshold, left, right : array, shape (n_nodes,)
        In preorder, as :class:`~odtlib.DecisionTree` takes them.
    rows : list of array of int
        The rows that reach each node.
    """
    table, members, stack = [], [], [(root, np.arange(n_rows), None)]
    while stack:
        node, rows, parent = stack.pop()
        if parent is not None:
            table[parent[0]][parent[1]] = len(table)
        entry = [LEAF, np.nan, LEAF, LEAF]
        found = split(node, rows)
        if found is not None:
            entry[0], entry[1], goes_left, left, right = found
            stack.append((right, rows[~goes_left], (len(table), 3)))
            stack.append((left, rows[goes_left], (len(table), 2)))
        table.append(entry)
        members.append(rows)
    return (*np.array(table, dtype=np.float64).T, members)


def separating_threshold(values, goes_left):
    """Return the midpoint of the two neighbouring values that a split separates."""
    return midpoint(values[goes_left].max(), values[~goes_left].min())


def class_weights(members, y, n_classes, sample_weight=None):
    """Return the weight of each class at each node, shape (n_nodes, n_classes).

    ``members`` holds the rows of each node, as :func:`build` returns them.
    """
    return np.array([np.bincount(y[rows], None if sample_weight is None else sample_weight[rows],
                                 n_classes) for rows in members], dtype=np.float64)


def without_empty_splits(tree, X):
    """Drop the splits of a classification tree that send all rows to one side; thresholds stay.

    Labels stay, too; class weights are zeros where a split was dropped.
    """
    kept = []

    def split(node, rows):
        while (feature := tree.feature[node]) >= 0:
            goes_left = X[rows, feature] <= tree.threshold[node]
            left, right = tree.left[node], tree.right[node]
            if goes_left.any() and not goes_left.all():
                kept.append(node)
                return feature, tree.threshold[node], goes_left, left, right
            node = left if goes_left.all() else right
        kept.append(node)
        return None

    *nodes, _ = build(0, len(X), split)
    if len(kept) == tree.n_nodes:
        return tree
    return tree.replace(**dict(zip(("feature", "threshold", "left", "right"), nodes)),
                        value=np.zeros((len(kept), tree.value.shape[1])), label=tree.label[kept])


def cut_back(tree, max_nodes, split_penalty=0.0, cost=None):
    """Return the best subtree with the same root: cost of the leaves plus a penalty per split.

    Parameters
    ----------
    tree : DecisionTree
        A classification tree with the class weights of the rows at every node, or a regression
        tree together with ``cost``.
    max_nodes : int
        Maximum number of splits.
    split_penalty : float, default=0.0
        Cost of one split.
    cost : array of float, shape (n_nodes,), optional
        Cost of each node as a leaf (default: the weight of its rows outside the largest class,
        which it then predicts).  Where it is given, a leaf predicts the node's label or value.

    Returns
    -------
    DecisionTree
        Of several best subtrees one with the fewest splits; an exact minimum for every budget.
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
    feature = np.full(tree.n_nodes, LEAF)
    stack = [(0, int(np.argmin(best[0])))]
    kept = []
    while stack:
        node, at = stack.pop()
        kept.append(node)
        choice = chosen[node][at]
        if choice is not None:
            feature[node] = tree.feature[node]
            stack += [(tree.right[node], choice[1]), (tree.left[node], choice[0])]
    position = {node: k for k, node in enumerate(kept)}
    inner = feature[kept] >= 0
    left, right = (np.array([position[side[node]] if split else LEAF
                             for node, split in zip(kept, inner)])
                   for side in (tree.left, tree.right))
    label = None if label is None else label[kept]
    rest = {name: getattr(tree, name)[kept] for name in ("threshold", "value", "weight", "impurity",
                                                     "missing_left")
            if getattr(tree, name) is not None}
    return tree.replace(feature=feature[kept], left=left, right=right, label=label, **rest)


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


def penalised_errors(tree, X, y, sample_weight=None, *, split_penalty):
    """Return the weight of misclassified rows plus ``split_penalty`` per split.

    With ``functools.partial`` it is the ``evaluate`` of a :class:`~odtlib.SolveReport`.
    """
    return default_objective(tree, X, y, sample_weight) + split_penalty * tree.n_splits
