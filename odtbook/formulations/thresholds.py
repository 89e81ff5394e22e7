"""Candidate thresholds of BinOCT, as cuts between neighbouring values."""

from __future__ import annotations

import numpy as np

from odtlib.tree import DecisionTree
from odtlib.trees import build, class_weights, separating_threshold


def candidate_cuts(rows, which, *, max_depth, forest_size=20, random_state=None, trees=()):
    """Return the sorted cuts of each feature that a node may use.

    Cut ``k`` of a feature lies between its distinct values ``k`` and ``k + 1``.  ``which`` is
    "all", "boundary" (a cut between two values goes if all rows with either value are of one
    class: exact for one split, not for a tree) or "forest" (the cuts of a random forest of
    ``forest_size`` trees); the thresholds of ``trees`` are added.
    """
    n_cuts = [len(values) - 1 for values in rows.values]
    if which == "all":
        cuts = [np.arange(n) for n in n_cuts]
    elif which == "boundary":
        cuts = [_boundary(ranks, rows.labels, rows.n_classes) for ranks in rows.ranks]
    else:
        cuts = _forest(rows, max_depth, forest_size, random_state)
    for tree in trees:
        inner = tree.feature >= 0
        for feature, threshold in zip(tree.feature[inner], tree.threshold[inner], strict=True):
            cut = cut_below(rows, feature, threshold)
            if 0 <= cut < n_cuts[feature]:
                cuts[feature] = np.union1d(cuts[feature], cut)
    return cuts


def cut_below(rows, feature, threshold):
    """Return the number of the last value that a threshold sends left (-1: none)."""
    return int(np.searchsorted(rows.values[feature], threshold, side="right")) - 1


def _boundary(ranks, labels, n_classes):
    table = np.zeros((int(ranks.max()) + 1, n_classes), bool)
    table[ranks, labels] = True
    pure = table.sum(axis=1) == 1
    same = (table[:-1] == table[1:]).all(axis=1)
    return np.flatnonzero(~(pure[:-1] & pure[1:] & same))


def _forest(rows, max_depth, size, random_state):
    from sklearn.ensemble import RandomForestClassifier
    # on ranks: a forest works in float32, where close values are one
    forest = RandomForestClassifier(size, max_depth=max_depth, random_state=random_state)
    forest.fit(rows.ranks.T, rows.labels, rows.weights)
    cuts = [set() for _ in rows.values]
    for member in forest.estimators_:
        inner = member.tree_.feature >= 0
        for feature, threshold in zip(member.tree_.feature[inner], member.tree_.threshold[inner],
                                      strict=True):
            cuts[feature].add(int(np.floor(threshold)))
    return [np.array(sorted(found), np.int64) for found in cuts]


def to_full_tree(tree, rows, cuts, depth):
    """Write a tree as a full one over candidate cuts; ones it lacks give way to the nearest.

    Return feature and position in its list of cuts for each node, -1 twice without a split, and
    the class of each leaf; ValueError if the tree tests a feature without candidates.
    """
    n_nodes = 2**depth - 1
    splits = np.full((n_nodes, 2), -1)
    label = np.zeros(n_nodes + 1, np.int64)
    stack = [(0, 0)]
    while stack:
        at, node = stack.pop()
        if at >= n_nodes:
            label[at - n_nodes] = tree.label[node]
            continue
        feature = tree.feature[node]
        if feature < 0:                 # both branches predict the same
            stack += [(2 * at + 1, node), (2 * at + 2, node)]
            continue
        own = cuts[feature]
        if len(own) == 0:
            raise ValueError(f"start tests feature {feature}, which has no candidate threshold; "
                             "use thresholds='all' or add_thresholds=True.")
        cut = cut_below(rows, feature, tree.threshold[node])
        splits[at] = feature, int(np.argmin(np.abs(own - cut)))
        stack += [(2 * at + 1, tree.left[node]), (2 * at + 2, tree.right[node])]
    return splits, label


def from_full_tree(splits, label, rows, cuts):
    """Turn a full tree over candidate cuts into a tree over the features.

    Splits that send no row to one side, or change no prediction, are dropped; a threshold is the
    midpoint of the two values among the node's own rows that it separates.
    """
    labels = []

    def split(at, members):
        while at < len(splits):
            feature, position = splits[at]
            left, right = 2 * at + 1, 2 * at + 2
            if feature < 0:             # a node without a split sends its rows left
                at = left
                continue
            ranks = rows.ranks[feature, members]
            low = ranks <= cuts[feature][position]
            if low.any() and not low.all():
                labels.append(0)
                threshold = separating_threshold(rows.values[feature][ranks], low)
                return feature, threshold, low, left, right
            at = left if low.all() else right
        labels.append(label[at - len(splits)])
        return None

    *nodes, members = build(0, rows.n_rows, split)
    value = class_weights(members, rows.labels, rows.n_classes, rows.weights)
    return DecisionTree(*nodes, value, label=labels, n_features=len(rows.values)).pruned()


def ancestors(node):
    """Return the nodes above a node of a full tree, numbered level by level from 0."""
    above = []
    while node > 0:
        node = (node - 1) // 2
        above.append(node)
    return above
