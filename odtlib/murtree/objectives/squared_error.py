"""Squared error around the mean, of one target or several (Section 4.8.2 of the MurTree paper)."""

from __future__ import annotations

import numpy as np

from .additive import AdditiveObjective


class SquaredError(AdditiveObjective):
    """Squared error around the mean, summed over rows and targets: ``loss="squared_error"``.

    The numbers of a row are ``w, w y_1, ..., w y_m, w |y|^2``, and a leaf costs
    ``sum(w |y|^2) - sum_t sum(w y_t)^2 / sum(w)``.  Targets are centred first.
    """

    of_quantities = True
    adds_last = True

    def statistics(self, X, y, sample_weight):
        """Return the numbers of each row, with targets ``y`` (n_rows,) or (n_rows, m)."""
        y, weight = np.asarray(y, float).reshape(len(y), -1), sample_weight[:, None]
        low = y.min(axis=0)
        mean = low + (weight * (y - low)).sum(axis=0) / weight.sum()
        self.targets_ = y
        self.centre_ = mean + (weight * (y - mean)).sum(axis=0) / weight.sum()
        y = y - self.centre_
        with np.errstate(all="ignore"):
            square = (weight * y * y).sum(axis=1)
        if not np.isfinite(square.sum()) or (y.any() and square.sum() == 0):
            raise ValueError("the loss of y is too large or too small for floating point; divide "
                             "y, or the weights, by a constant.")
        return np.column_stack([weight, weight * y, square])

    @staticmethod
    def leaf_cost(sums):
        cost, weight = sums[-1], max(sums[0], 1e-300)
        for k in range(1, len(sums) - 1):
            cost -= sums[k] / weight * sums[k]
        return cost

    def leaf_value(self, sums):
        """Return the means of the targets."""
        return self.centre_ + sums[1:-1] / sums[0]

    def _value(self, sums, rows):
        y = self.targets_[rows]         # rounding takes a mean beyond equal targets
        return np.clip(self.leaf_value(sums), y.min(axis=0), y.max(axis=0))

    @staticmethod
    def row_bound(row, low, high):
        bound = row[-1]
        for k in range(1, len(row) - 1):
            y = row[k] / row[0]
            distance = max(y - low[k], high[k] - y)
            bound += row[0] * (distance * distance - y * y)
        return bound
