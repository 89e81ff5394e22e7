"""Training rows as columns of ranks, and the way back from cuts between ranks to thresholds.

How a tree divides the training rows depends on the order of the values alone.  Working on ranks
makes that exact at any scale: values one unit in the last place apart are as distinct as any.
"""

from __future__ import annotations

import numpy as np

from odtlib.report import Clock
from odtlib.tree import DecisionTree, midpoint
from odtlib.trees import build, class_weights, separating_threshold


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
        self.values = []
        self.ranks = np.empty(X.shape[::-1], np.int32)
        for f, column in enumerate(X.T):
            self.clock.check()
            values, self.ranks[f] = np.unique(column, return_inverse=True)
            self.values.append(values)
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
        def split(line, rows):
            feature, cut, left, right = nodes[line].tolist()
            if feature < 0:
                return None
            ranks, values = self.ranks[feature, rows], self.values[feature]
            low = ranks <= cut
            if 0 < np.count_nonzero(low) < len(low):
                threshold = separating_threshold(values[ranks], low)
            else:                       # no rows on one side: any two neighbours will do
                last = min(cut, len(values) - 2)
                threshold = midpoint(values[last], values[last + 1])
            return feature, threshold, low, left, right

        *table, members = build(0, self.n_rows, split)
        value = class_weights(members, self.labels, self.n_classes, self.weights)
        return DecisionTree(*table, value, n_features=len(self.values))
