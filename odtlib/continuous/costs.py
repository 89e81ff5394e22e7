"""What a mistake and a split cost, in integers, so that the search compares exactly."""

from __future__ import annotations

import numpy as np

from odtlib.report import default_objective

FRACTION = 1 << 20      # units per row where the price of a split is no whole number of rows
WEIGHT_BITS = 50        # weights that are not whole numbers are rounded to this share of their sum


class Costs:
    """Costs of mistakes and splits as integers.

    Parameters
    ----------
    y : array of int64, shape (n_rows,)
        Class indices.
    n_classes : int
        Number of classes.
    sample_weight : array of float64, shape (n_rows,), or None
        Positive weights.
    sparsity : float
        Price of a split as a share of the total weight.
    min_samples_leaf : int
        Smallest number of rows in a leaf.

    Attributes
    ----------
    scale : float
        Units that stand for a weight of one.
    unit : int
        Cost of a row where ``weight`` is None.
    weight : array of int64, shape (n_rows,), or None
        Cost of each row; given wherever the search has to look at single rows.
    penalty : int
        Cost of a split.
    total : int
        Cost of all rows.
    of_classes : array, shape (n_classes,)
        Cost of the rows of each class.
    """

    def __init__(self, y, n_classes, sample_weight, sparsity, min_samples_leaf):
        self.n_classes = n_classes
        self.min_samples_leaf = min_samples_leaf
        self.unit = self.scale = 1
        self.weight = None
        share = sparsity * (len(y) if sample_weight is None else sample_weight.sum())
        if sample_weight is None:
            if share != int(share):
                self.unit = self.scale = FRACTION
            if min_samples_leaf > 1:
                self.weight = np.full(len(y), self.unit)
        else:
            total = sample_weight.sum()
            whole = np.all(sample_weight == np.floor(sample_weight)) and share == int(share)
            if not whole or total > 2.0**WEIGHT_BITS:
                self.scale = 2.0 ** (WEIGHT_BITS - int(np.ceil(np.log2(total))))
            self.weight = np.maximum(1, np.rint(sample_weight * self.scale)).astype(np.int64)
        self.penalty = int(round(share * self.scale))
        if self.weight is None:
            self.of_classes = np.bincount(y, minlength=n_classes) * self.unit
        else:
            self.of_classes = np.bincount(y, self.weight, n_classes)
        self.total = int(self.of_classes.sum())

    def of(self, wrong, tree):
        """Return the cost of a tree that gets the rows marked in ``wrong`` wrong."""
        mistakes = (np.count_nonzero(wrong) * self.unit if self.weight is None
                    else int(self.weight[wrong].sum()))
        return mistakes + self.penalty * tree.n_splits

    def exact(self, wrong, tree, sample_weight):
        """Return the objective of that tree without rounding."""
        mistakes = np.count_nonzero(wrong) if sample_weight is None else sample_weight[wrong].sum()
        return float(mistakes + self.penalty / self.scale * tree.n_splits)


class Objective:
    """Recompute an objective from a tree alone; a class, so that reports can be pickled."""

    def __init__(self, penalty):
        self.penalty = penalty

    def __call__(self, tree, X, y, sample_weight=None):
        return default_objective(tree, X, y, sample_weight) + self.penalty * tree.n_splits
