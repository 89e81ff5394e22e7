"""Tolerances, in one place.

Each is a share of the problem's *scale*, the largest cost that a tree can have: the total weight of
the rows for classification, the cost of a single leaf for regression.  Nothing is compared with an
absolute tolerance, so that the answer does not depend on the unit of weights and targets.
"""

import numpy as np

ROUNDING = 1e-12    # costs of the same rows, added up in another order, differ by less
PROOF = 1e-9        # a bound that is so near the objective proves it optimal


def rounding_of_means(y, weight, ulps=1):
    """Return what means that are off by so many units in the last place cost at the most.

    ``weight`` is that of all rows together.  It matters where targets hardly differ.
    """
    return weight * (ulps * np.finfo(float).eps * np.abs(y).max()) ** 2
