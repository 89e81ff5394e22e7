"""Candidate thresholds of BinOCT, as cuts between neighbouring values."""

from __future__ import annotations

import numpy as np

from odtlib.tree import LEAF, DecisionTree, midpoint


def candidate_cuts(rows, which, *, max_depth, forest_size=20, random_state=None, trees=()):
    """Return the cuts that a node may use.

    Cut ``k`` of a feature lies between its distinct values ``k`` and ``k + 1``.

    Parameters
    ----------
    rows : RankedRows
        Training rows.
    which : {"all", "boundary", "forest"}
        "all": every cut.  "boundary": a cut between two values goes if all rows with either value
        are of one class (exact for one split, not for a tree).  "forest": the cuts of a random
        forest.
    max_depth : int
        Depth of the trees of the forest.
    forest_size : int, default=20
        Their number.
    random_state : int, RandomState or None, default=None
        Seed of the forest.
    trees : sequence of DecisionTree, default=()
        Their thresholds are added.

    Returns
    -------
    list of array of int
        Sorted cuts of every feature.
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


def heap_of(tree, rows, cuts, depth):
    """Write a tree as a full one over candidate cuts; ones it lacks give way to the nearest.

    Parameters
    ----------
    tree : DecisionTree
        At most ``depth`` deep.
    rows : RankedRows
        Training rows.
    cuts : list of array of int
        Candidates of every feature.
    depth : int
        Depth of the full tree.

    Returns
    -------
    heap : array of int, shape (2**depth - 1, 2)
        Feature and position in its list of cuts; below a leaf of the tree any split.
    label : array of int, shape (2**depth,)
        Class of every leaf.

    Raises
    ------
    ValueError
        If the tree tests a feature without candidates.
    """
    any_feature = next(f for f, own in enumerate(cuts) if len(own))
    n_nodes = 2**depth - 1
    heap = np.tile([any_feature, 0], (n_nodes, 1))
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
        heap[at] = feature, int(np.argmin(np.abs(own - cut)))
        stack += [(2 * at + 1, tree.left[node]), (2 * at + 2, tree.right[node])]
    return heap, label


def tree_of(heap, label, rows, cuts):
    """Turn a full tree over candidate cuts into a tree over the features.

    Splits that send no row to one side, or change no prediction, are dropped; a threshold is the
    midpoint of the two values among the node's own rows that it separates.

    Parameters
    ----------
    heap, label : array
        As from :func:`heap_of`.
    rows : RankedRows
        Training rows.
    cuts : list of array of int
        Candidates of every feature.

    Returns
    -------
    DecisionTree
        With the class weights of ``rows``.
    """
    table, value, labels = [], [], []

    def add(at, members):
        while at < len(heap):
            feature, position = heap[at]
            ranks = rows.ranks[feature, members]
            low = ranks <= cuts[feature][position]
            if 0 < low.sum() < len(members):
                break
            at = 2 * at + (1 if low.all() else 2)
        index = len(table)
        table.append([LEAF, np.nan, LEAF, LEAF])
        value.append(np.bincount(rows.labels[members], rows.weights[members], rows.n_classes))
        labels.append(label[at - len(heap)] if at >= len(heap) else np.argmax(value[-1]))
        if at < len(heap):
            values = rows.values[feature]
            threshold = midpoint(values[ranks[low].max()], values[ranks[~low].min()])
            left, right = add(2 * at + 1, members[low]), add(2 * at + 2, members[~low])
            table[index] = [feature, threshold, left, right]
        return index

    add(0, np.arange(rows.n_rows))
    return DecisionTree(*np.array(table).T, np.array(value), label=labels,
                        n_features=len(rows.values)).pruned()


def ancestors(node):
    """Return the nodes above a node in heap order.

    Parameters
    ----------
    node : int
        Number of the node, the root is 0.

    Returns
    -------
    list of int
    """
    above = []
    while node > 0:
        node = (node - 1) // 2
        above.append(node)
    return above
