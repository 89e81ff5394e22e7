"""The costs of a mistake and of a split as integers, so that the search compares exactly."""

from __future__ import annotations

import numpy as np

BITS = 57       # of the cost of all rows where costs are no whole numbers; the search adds up four


class Costs:
    """Costs of mistakes and splits as integers.

    Whole numbers stay what they are.  Others are rounded down to units of a power of two, some
    2**-57 of the total weight, so that no tree costs more in units than in truth; a weight of less
    than a unit counts as one, for which ``excess`` allows.

    ``scale`` units stand for a weight of one.  In units: ``weight`` (the cost of each row; None
    where every row costs ``unit``), ``penalty`` (of a split), ``total`` (of all rows) and
    ``of_classes`` (of the rows of each class).  As weights: ``split_penalty``, and ``excess``, by
    which the cost of a tree in units can exceed the true cost.
    """

    def __init__(self, y, n_classes, sample_weight, split_penalty, min_samples_leaf):
        self.n_classes = n_classes
        self.min_samples_leaf = min_samples_leaf
        self.split_penalty = split_penalty
        weight = np.ones(1) if sample_weight is None else sample_weight
        total = float(len(y) if sample_weight is None else weight.sum())
        whole = split_penalty.is_integer() and np.all(weight == np.floor(weight))
        bits = int(np.ceil(np.log2(total)))
        self.scale = 1.0 if whole and bits <= BITS else 2.0 ** (BITS - bits)
        cost = np.maximum(1, np.floor(weight * self.scale))
        self.excess = float(np.maximum(cost / self.scale - weight, 0.0).sum())
        self.unit = int(cost[0])
        # No tree pays for a split that costs more than all rows.
        self.penalty = int(min(split_penalty, 2.0 * total) * self.scale)
        if sample_weight is None and min_samples_leaf == 1:
            self.weight = None
            self.of_classes = np.bincount(y, minlength=n_classes) * self.unit
        else:
            self.weight = np.empty(len(y), np.int64)
            self.weight[:] = cost
            self.of_classes = np.zeros(n_classes, np.int64)
            np.add.at(self.of_classes, y, self.weight)
        self.total = int(self.of_classes.sum())

    def of(self, wrong, tree):
        """Return the cost of a tree that misclassifies the rows marked in ``wrong``."""
        mistakes = (np.count_nonzero(wrong) * self.unit if self.weight is None
                    else int(self.weight[wrong].sum()))
        return mistakes + self.penalty * tree.n_splits

    def bound(self, cost):
        """Return, as a weight, the lower bound that ``cost`` in units stands for."""
        return max(0.0, cost / self.scale - self.excess)


def check_splits(start, max_nodes):
    """Refuse a start that has more feature nodes than the limit allows."""
    if max_nodes is not None and start.n_splits > max_nodes:
        raise ValueError(f"start has {start.n_splits} splits and the limit is {max_nodes}; give a "
                         "smaller tree or raise max_nodes or max_leaf_nodes.")


def proof_of(model, n_rows, max_nodes, note=""):
    """Return what the tree of an estimator is optimal for, should it prove to be."""
    limit = "" if max_nodes is None else f" with at most {max_nodes} splits"
    return (f"optimal over all thresholds of {model.n_features_in_} features on {n_rows} rows at "
            f"{model._depth_in_words()}{limit}{note}")
