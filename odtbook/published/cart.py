"""The tuned CART of Firat et al. (2020), CART*."""

from typing import Any

from odtlib import TunedCARTClassifier


def cart_star(max_depth: int | None = 3, **parameters: Any) -> TunedCARTClassifier:
    """Return CART* (Firat et al. 2020, Table 5), which compares 80 combinations at one depth.

    The table's ``min_samples_leaf`` of 1 is read as one row: as the share 1.0 it would always give
    a tree without splits.

    Parameters
    ----------
    max_depth : int or None, default=3
        Maximum depth of the tree.
    **parameters
        Those of :class:`odtlib.TunedCARTClassifier`, but for ``grid``.

    Returns
    -------
    TunedCARTClassifier
        Not fitted.
    """
    return TunedCARTClassifier(max_depth, grid={
        "criterion": ["gini", "entropy"],
        "min_samples_split": [0.02, 0.05, 0.1, 0.2],
        "class_weight": [None, "balanced"],
        "min_samples_leaf": [0.01, 0.05, 0.1, 0.2, 1],
    }, **parameters)
