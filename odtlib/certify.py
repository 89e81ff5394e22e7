"""Recompute an objective from a tree and the parameters of the fit as they were given.

It shares nothing with the searches: rows go down the tree one node at a time, every term is written
out from its definition, and sums are exact up to one rounding (``math.fsum``).
"""

from __future__ import annotations

from copy import deepcopy
from math import fsum

import numpy as np

TERMS = "split_penalty", "class_weight", "objective", "loss", "criterion", "target_weights"


class Certificate:
    """The objective that the parameters of an estimator define, as a function of a tree.

    Parameters
    ----------
    parameters : dict
        Parameters of the estimator, as given.
    costs : array, shape (n_rows, n_classes), optional
        Cost of predicting each class for each training row.
    """

    def __init__(self, parameters, costs=None, names=None):
        self.terms = {name: deepcopy(parameters[name]) for name in TERMS if name in parameters}
        self.costs, self.names = costs, names

    @property
    def additive(self):
        """The loss or objective, which may be an additive one: its targets have any shape."""
        return self.terms.get("loss", self.terms.get("objective"))

    def __call__(self, tree, X, y, sample_weight=None, given=None):
        """Return the objective of a tree on the training rows, with their given weights.

        ``given`` are the rows before a binariser, where the tree tests columns that one made.
        """
        y = np.asarray(y)
        weight = np.ones(len(y)) if sample_weight is None else np.array(sample_weight, float)
        if self.costs is not None and len(self.costs) != len(y):
            raise ValueError(f"the fit had costs of {len(self.costs)} rows and these are {len(y)}; "
                             "verify with the rows of the fit.")
        used = np.flatnonzero(weight > 0)
        if tree.kind == "classification":       # a class of weight zero was left out of the fit
            weight[used] *= self._class_weights(y[used])
            used = used[weight[used] > 0]
        rows = np.asarray(X.iloc[used] if hasattr(X, "iloc") else np.asarray(X)[used])
        if rows.dtype != np.uint8:
            rows = rows.astype(float)
        leaf, depth = leaves_of(tree, rows)
        if hasattr(self.additive, "_cost_of_leaves"):
            given = X if given is None else given
            if tree.kind == "classification":
                y = np.searchsorted(tree.classes, y)
            elif y.dtype.names is None:
                y = y.astype(float)
            frame = hasattr(given, "iloc") and not all(hasattr(kind, "kind") and kind.kind in "biuf"
                                                       for kind in given.dtypes)
            given = given.iloc[used] if frame else np.asarray(given)[used]
            return (self.additive._cost_of_leaves(leaf, given, y[used], weight[used], self.names)
                    + self._split_costs(depth[tree.feature >= 0]))
        error = self._label_errors if tree.kind == "classification" else self._target_errors
        return (error(tree, leaf, y[used], weight[used], used)
                + self._split_costs(depth[tree.feature >= 0]))

    def _split_costs(self, depths):
        """Return the penalty of all splits, each by its level where levels have their own."""
        penalty = self.terms.get("split_penalty", 0.0)
        if np.ndim(penalty) == 0:
            return float(penalty) * len(depths)
        return fsum(float(penalty[d]) for d in depths)

    def _label_errors(self, tree, leaf, y, weight, used):
        label, classes = tree.label[leaf], tree.classes
        wrong = classes[label] != y
        kind = self.terms.get("objective", "errors")
        if kind in ("entropy", "gini"):     # log loss and Brier score of the leaves' shares
            shares = (tree.value / np.maximum(tree.value.sum(axis=1), 1e-300)[:, None])[leaf]
            hit = classes == y[:, None]
            if kind == "gini":
                return fsum(weight * ((shares - hit) ** 2).sum(axis=1))
            # The logarithm of a share close to one keeps its digits in terms of the others.
            others = np.where(hit, 0.0, shares).sum(axis=1)
            return fsum(-weight * np.where(others < 0.5, np.log1p(-np.minimum(others, 0.5)),
                                           np.log(shares[hit])))
        if self.costs is not None:
            return fsum(weight * np.asarray(self.costs)[used, label])
        if kind == "balanced-accuracy":
            present = np.unique(y)
            return fsum(fsum(weight[wrong & (y == c)]) / fsum(weight[y == c])
                        for c in present) / len(present)
        if kind == "f1":
            hits, errors = fsum(weight[~wrong & (y == classes[1])]), fsum(weight[wrong])
            return errors / (2 * hits + errors) if hits or errors else 1.0
        return fsum(weight[wrong])

    def _class_weights(self, y):
        """Return the weight that its class gives to each row."""
        given = self.terms.get("class_weight")
        if given is None:
            return np.ones(len(y))
        labels, position, count = np.unique(y, return_inverse=True, return_counts=True)
        if isinstance(given, str):      # "balanced"
            return (len(y) / (len(labels) * count))[position.ravel()]
        return np.array([given.get(label, 1.0) for label in labels.tolist()], float)[
            position.ravel()]

    def _target_errors(self, tree, leaf, y, weight, used):
        Y = np.asarray(y, float).reshape(len(y), -1)
        given = np.asarray(tree.value, float).reshape(tree.n_nodes, -1)[leaf]
        kind = self.terms.get("criterion", self.terms.get("loss", "squared_error"))
        if kind == "absolute_error":
            each = np.abs(Y - given)
        elif kind == "poisson":         # half the deviance; 0 log 0 is 0
            with np.errstate(divide="ignore", invalid="ignore"):
                each = np.where(Y > 0, Y * np.log(Y / given), 0.0) - Y + given
            each[given < 0] = np.inf
        else:
            each = (Y - given) ** 2
        return fsum((weight[:, None] * self._target_weights(Y, weight) * each).ravel())

    def _target_weights(self, Y, weight):
        """Return the weight of each target."""
        given = self.terms.get("target_weights")
        if given is None:
            return np.ones(Y.shape[1])
        if not isinstance(given, str):
            return np.asarray(given, float)
        variance = [np.average((one - np.average(one, weights=weight)) ** 2, weights=weight)
                    for one in Y.T]     # "standardize"
        return np.array([1.0 / v if v > 0 else 1.0 for v in variance])


def leaves_of(tree, X):
    """Return the leaf that each row reaches, and the depth of each node."""
    leaf, depth = np.zeros(len(X), np.int64), np.zeros(tree.n_nodes, np.int64)
    nodes = [(0, np.arange(len(X)), 0)]
    while nodes:
        node, rows, level = nodes.pop()
        depth[node] = level
        if tree.feature[node] < 0:
            leaf[rows] = node
            continue
        value = X[rows, tree.feature[node]]
        goes_left = value <= tree.threshold[node]
        missing = np.isnan(value)
        if missing.any():
            if tree.missing_left is None or tree.missing_left[node] < 0:
                raise ValueError(f"feature {tree.feature_name(tree.feature[node])} is missing in a "
                                 "row, and in no row of the fit; verify with the rows of the fit.")
            goes_left |= missing & (tree.missing_left[node] == 1)
        nodes += [(int(tree.left[node]), rows[goes_left], level + 1),
                  (int(tree.right[node]), rows[~goes_left], level + 1)]
    return leaf, depth
