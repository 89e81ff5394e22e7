"""Training rows as columns of ranks, and the way back from cuts between ranks to thresholds.

How a tree divides the training rows depends on the order of the values alone.  Working on ranks
makes that exact at any scale: values one unit in the last place apart are as distinct as any.
"""

from __future__ import annotations

import numpy as np

from odtlib._tree_kernels import sum_nodes
from odtlib.report import Clock
from odtlib.tree import LEAF, DecisionTree, in_preorder, midpoint

NO_RANK = 2 ** 31       # above all ranks


def sorting_order(ranks):
    """Return the stable order of non-negative integers below 2**31, several times faster."""
    packed = (ranks.astype(np.int64) << 32) | np.arange(len(ranks))
    packed.sort()
    return packed & 0xFFFFFFFF


class RankedRows:
    """Training rows with every feature replaced by dense ranks.

    ``values`` holds the sorted distinct values of each feature, and ``ranks``, shape (n_features,
    n_rows), the position of each row's value among them.  ``labels``, ``weights`` and ``members``
    are class, weight and number of training rows behind each row (one until they are merged).
    The clock is checked between features and raises TimeUp.
    """

    clock = Clock()

    def __init__(self, X, y, n_classes, sample_weight=None, clock=None):
        if clock is not None:
            self.clock = clock
        self.clock.check()
        low, high = X.min(axis=0), X.max(axis=0)
        highest = X == high
        two = ((X == low) | highest).all(axis=0) & (low < high)     # values: no sorting
        self.values = list(np.column_stack([low, high]))
        self.ranks = highest.T.astype(np.int32, order="C")
        for f in np.flatnonzero(~two):
            self.clock.check()
            self.values[f], self.ranks[f] = np.unique(X[:, f], return_inverse=True)
        self.labels = y
        self.weights = np.ones(len(X)) if sample_weight is None else sample_weight
        self.members = np.ones(len(self.labels), np.int64)
        self.n_classes = n_classes

    def sorted_rows(self):
        """Return the rows in the order of every feature, shape (n_features, n_rows)."""
        order = np.empty(self.ranks.shape, np.int32)
        for f, column in enumerate(self.ranks):
            self.clock.check()
            order[f] = sorting_order(column)
        return order

    @property
    def n_rows(self):
        """Number of rows."""
        return len(self.labels)

    def merged(self):
        """Merge rows that agree in all features and in the class, in lexicographic order.

        A search on the result depends neither on the order of the rows nor on whether a row is
        repeated or weighted.  Its ``forced`` is the weight of errors that no tree avoids, because
        rows that agree in all features get the same label; ``attainable`` is the remaining weight.
        """
        # features after one whose values are all distinct decide nothing
        decisive = next((f + 1 for f, values in enumerate(self.values)
                         if len(values) == self.n_rows), len(self.values))
        order = sorting_order(self.labels)
        for column in self.ranks[:decisive][::-1]:
            self.clock.check()
            order = order[sorting_order(column[order])]
        new_point = np.zeros(len(order), bool)
        new_point[0] = True
        for column in self.ranks[:decisive]:
            self.clock.check()
            new_point[1:] |= np.diff(column[order]) != 0
        labels = self.labels[order]
        new_row = new_point.copy()
        new_row[1:] |= labels[1:] != labels[:-1]
        group = np.cumsum(new_row) - 1
        rows = object.__new__(RankedRows)
        rows.values, rows.n_classes, rows.clock = self.values, self.n_classes, self.clock
        rows.ranks = np.empty((len(self.ranks), np.count_nonzero(new_row)), np.int32)
        for f, column in enumerate(self.ranks):
            self.clock.check()
            rows.ranks[f] = column[order[new_row]]
        rows.labels = labels[new_row]
        rows.weights = np.bincount(group, self.weights[order])
        rows.members = np.bincount(group, self.members[order]).astype(np.int64)
        point = np.cumsum(new_point[new_row])
        by_weight = np.lexsort((rows.weights, point))
        heaviest = np.zeros(rows.n_rows, bool)
        heaviest[by_weight[np.diff(point, append=len(point) + 1) > 0]] = True
        rows.attainable = float(rows.weights[heaviest].sum())
        rows.forced = float(rows.weights[~heaviest].sum())
        return rows

    def tree(self, nodes):
        """Turn a table of nodes over ranks into a tree over the features, with class weights.

        A line of ``nodes`` holds feature (negative at a leaf), cut, left and right; line 0 is the
        root, and a row goes left when its rank is at most the cut.  A threshold is the midpoint of
        the two values among the node's own rows that the cut separates.
        """
        order, left, right = in_preorder(nodes[:, 0] >= 0, *nodes[:, 2:].T)
        feature, cut = np.ascontiguousarray(nodes[order, :2].T)
        inner, n = feature >= 0, len(order)
        # the ranks on both sides of each cut; without rows on one side any two neighbours will do
        low, high = np.full(n, -1), np.full(n, NO_RANK)
        value = np.zeros((n, self.n_classes))
        sum_nodes(self.ranks, self.labels.astype(np.int64, copy=False),
                  self.weights.astype(np.float64, copy=False), feature, cut, left, right, value,
                  low, high)
        split, low, high = feature[inner], low[inner], high[inner]
        sizes = np.array([len(values) for values in self.values], int)
        one_sided = (low < 0) | (high == NO_RANK)
        low = np.where(one_sided, np.minimum(cut[inner], sizes[split] - 2), low)
        high = np.where(one_sided, low + 1, high)
        values, first = np.concatenate([[], *self.values]), (np.cumsum(sizes) - sizes)[split]
        threshold = np.full(n, np.nan)
        threshold[inner] = midpoint(values[first + low], values[first + high])
        return DecisionTree._of_parts(
            feature=np.where(inner, feature, LEAF), threshold=threshold, left=left, right=right,
            value=value, label=np.argmax(value, axis=1), classes=np.arange(self.n_classes),
            n_features=len(sizes), kind="classification")
