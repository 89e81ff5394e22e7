"""Poisson deviance of counts, with the exposure that they were counted in."""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from .additive import AdditiveObjective
from .logarithm import log_ratio


def counted(at_risk, events):
    """Return the numbers of rows with some exposures and events, both times their weights."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(events > 0, events / at_risk, 1.0)
    return np.column_stack([at_risk, events, xlogy(events, ratio)])


class Poisson(AdditiveObjective):
    """Half the Poisson deviance of counts: ``loss="poisson"``.

    A leaf predicts the rate ``theta = sum(y) / sum(e)``, events per unit of exposure, and a row
    costs ``y log(y / (theta e)) - y + theta e``, times its weight.  Its numbers are ``w e``,
    ``w y`` and ``w y log(y / e)``.  scikit-learn's ``criterion="poisson"`` is the same without
    exposure.  Rates as targets and exposures as sample weights give the same trees.

    Parameters
    ----------
    exposure : int or str, optional
        The feature that holds the exposure of each row, by position or, for a data frame, by name
        (default: one for each row).  Trees may split it like any other.
    """

    of_quantities = True
    adds_last = True

    def __init__(self, exposure=None):
        super().__init__()
        self.exposure = exposure

    def statistics(self, X, y, sample_weight):
        """Return the numbers of each row, with counts ``y`` (n_rows,) of at least zero."""
        if np.ndim(y) != 1 or (y < 0).any():
            raise ValueError("the Poisson loss is for one target of counts or rates; y has "
                             "negative values, or several columns.")
        exposure = np.ones(len(y)) if self.exposure is None else self._feature(X, self.exposure)
        if (exposure < 0).any() or (y[exposure == 0] > 0).any():
            raise ValueError(f"the exposure, feature {self.exposure!r}, is negative, or zero in a "
                             "row with events; give positive ones.")
        at_risk, events = sample_weight * exposure, sample_weight * y
        # In the unit of the whole rate logarithms are small, and little of them rounds off.
        self.rate_ = events.sum() / at_risk.sum() if events.any() else 1.0
        return counted(at_risk * self.rate_, events)

    @property
    def certified(self):
        """What proofs call it; with an exposure of its own, numbers are given."""
        return "poisson" if self.exposure is None else None

    @staticmethod
    def leaf_cost(sums):
        events = sums[1] if sums[1] > 0.0 else 0.0
        return sums[2] - events * log_ratio(events, sums[0] if sums[0] > 0.0 else events)

    def leaf_value(self, sums):
        """Return the rate."""
        return self.rate_ * sums[1] / sums[0] if sums[0] > 0 else 0.0
