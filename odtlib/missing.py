"""Missing values in searches over thresholds: each goes to the better side of every test."""

from __future__ import annotations

import numpy as np

from odtlib.tree import LEAF
from odtlib.trees import build, separating_threshold


class DoubledColumns:
    """Rows in which a feature with missing values stands twice: as its lowest and as its highest.

    A search over the thresholds of ``rows`` then tries each test of such a feature with the missing
    values on the left and on the right, and whether the value is missing.  Both columns hold ranks:
    1, 2, ... for the values, and 0 or the next rank where they are missing.

    Parameters
    ----------
    X : array, shape (n_rows, n_features)
        Training rows with missing values (NaN).
    """

    def __init__(self, X):
        self.X = X
        p = X.shape[1]
        self.gaps = np.flatnonzero(np.isnan(X).any(axis=0))
        self.feature = np.append(np.arange(p), self.gaps)       # behind each column
        self.rows, self.values = X.take(self.feature, axis=1), {}
        for column, f in enumerate(self.gaps.tolist(), p):
            missing = np.isnan(X[:, f])
            self.values[f] = values = np.unique(X[~missing, f])
            ranks = np.searchsorted(values, X[:, f]) + 1.0
            self.rows[:, f] = np.where(missing, 0.0, ranks)
            self.rows[:, column] = np.where(missing, len(values) + 1.0, ranks)

    def widened(self, tree):
        """Write a tree over the features as one over the columns."""
        p = self.X.shape[1]
        if tree.feature.max() >= p:
            raise ValueError(f"start is a tree over {tree.n_features} features and X has {p}; give "
                             "a tree fitted on the same columns.")
        if tree.missing_left is None:
            tree = tree.replace(missing_left=np.full(tree.n_nodes, LEAF))
        feature, threshold = tree.feature.copy(), tree.threshold.copy()
        for node in np.flatnonzero(np.isin(feature, self.gaps)):
            f = int(feature[node])
            if not tree._missing_goes_left()[node]:
                feature[node] = p + np.searchsorted(self.gaps, f)
            threshold[node] = np.searchsorted(self.values[f], threshold[node], "right") + 0.5
        return tree.replace(feature=feature, threshold=threshold, missing_left=None,
                            columns=None, feature_names=None, n_features=len(self.feature))

    def folded(self, tree):
        """Write a tree over the columns as one over the features, without idle splits.

        A node that no row misses leaves open where missing values go (-1).
        """
        kept, sides = [], []

        def split(node, rows):
            while (column := tree.feature[node]) >= 0:
                goes_left = self.rows[rows, column] <= tree.threshold[node]
                if goes_left.any() and not goes_left.all():
                    break
                node = tree.left[node] if goes_left.any() else tree.right[node]
            kept.append(node)
            sides.append(-1)
            if column < 0:
                return None
            feature, threshold = self.feature[column], tree.threshold[node]
            below = [tree.left[node], tree.right[node]]
            if feature in self.values:
                x = self.X[rows, feature]
                present = ~np.isnan(x)
                if not goes_left[present].any():        # a test of missing values asks for others
                    goes_left = ~goes_left
                    below.reverse()
                if not present.all():
                    sides[-1] = int(goes_left[~present][0])
                threshold = np.inf if goes_left[present].all() else \
                    separating_threshold(x[present], goes_left[present])
            return feature, threshold, goes_left, *below

        *nodes, _ = build(0, len(self.X), split)
        return tree.replace(**dict(zip(("feature", "threshold", "left", "right"), nodes)),
                            **tree._at("value", "label", "weight", "impurity", nodes=kept),
                            n_features=self.X.shape[1], missing_left=sides)
