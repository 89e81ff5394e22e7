"""Entropy and Gini impurity: trees for probabilities instead of labels."""

from __future__ import annotations

import numpy as np

from .additive import AdditiveObjective

LIGHT = 0.01        # share of all but the heaviest class below which differences lose digits


class _Shares(AdditiveObjective):
    """An objective whose numbers are the weight of a row in each class."""

    def statistics(self, X, y, sample_weight):
        """Return the weight of each row in the column of its class; ``y`` are class indices."""
        if y.dtype.kind not in "iu":
            raise ValueError(f"{self!r} is for classes; give it to MurTreeClassifier, or another "
                             "objective.")
        return np.eye(int(y.max()) + 1)[y] * sample_weight[:, None]


class Entropy(_Shares):
    """Log loss of the shares of the classes in each leaf: ``objective="entropy"``.

    A leaf costs ``-sum_k s_k log(s_k / s)``, with ``s_k`` the weight of class ``k`` and ``s`` that
    of all: its rows' log loss where their shares are the probabilities.
    """

    criterion = certified = "entropy"       # of the impurities of a tree's nodes, and of proofs

    @staticmethod
    def leaf_cost(sums):
        total, largest, rest, cost = 0.0, 0.0, 0.0, 0.0
        for k in range(len(sums)):
            if sums[k] > 0:
                total += sums[k]
                rest += min(largest, sums[k])
                largest = max(largest, sums[k])
                cost -= sums[k] * np.log(sums[k])
        if rest > LIGHT * total:
            return cost + total * np.log(total)
        # As a difference it would lose light classes: each adds a positive term.
        cost = largest * np.log1p(rest / largest) if rest > 0 else 0.0
        for k in range(len(sums)):
            if 0 < sums[k] < largest:
                cost += sums[k] * np.log(total / sums[k])
        return cost


class Gini(_Shares):
    """Brier score of the shares of the classes in each leaf: ``objective="gini"``.

    A leaf costs ``s - sum_k s_k^2 / s``: its rows' squared error, over all classes, where their
    shares are the probabilities.  A row costs at most twice its weight.
    """

    certified = "gini"

    @staticmethod
    def leaf_cost(sums):
        total, largest, squares, cost = 0.0, 0.0, 0.0, 0.0
        for k in range(len(sums)):
            total += sums[k]
            largest = max(largest, sums[k])
            squares += sums[k] * sums[k]
        if total - largest > LIGHT * total:
            return total - squares / total
        # As a difference it would lose light classes: pairs of classes are positive terms.
        before = 0.0
        for k in range(len(sums)):
            cost += before * (sums[k] / max(total, 1e-300))
            before += sums[k]
        return 2.0 * cost

    @staticmethod
    def row_bound(row, low, high):
        total = 0.0
        for k in range(len(row)):
            total += row[k]
        return 2.0 * total
