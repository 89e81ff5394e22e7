"""The three models of Birbil et al. (2024)."""

from __future__ import annotations

import numpy as np

from odtlib.constrained.sets.base import FeasibleSet
from odtlib.constrained.sets.logic import Implication, Indicator, MixedBinary
from odtlib.constrained.sets.shapes import AtMostKNonzero, Box


def paper_model(name: str, version: str = "corrected", max_courses: int | None = None,
                n_targets: int | None = None) -> FeasibleSet:
    """Return one of the three models of Birbil et al. (2024), as printed or as corrected.

    Parameters
    ----------
    name : {"class", "scores", "cars"}
        Data set.
    version : {"corrected", "printed"}, default="corrected"
        The printed scores model swaps targets in its third line, the printed cars model has one
        target only, and the printed class model allows one course although the data has two.
    max_courses : int, optional
        For class: maximum number of courses (default: 2 corrected, 1 printed).
    n_targets : int, optional
        For class: number of courses on offer (default: any).

    Returns
    -------
    FeasibleSet
        With ``linear_penalty`` set, the signed residuals of equation 5.
    """
    if version not in ("corrected", "printed"):
        raise ValueError(f"version must be 'corrected' or 'printed', got {version!r}.")
    printed = version == "printed"
    if name == "class":
        model = AtMostKNonzero(max_courses or (1 if printed else 2), 0.0,
                               110.0 if printed else 100.0, n_targets)
        model.linear_penalty = (1.0, 0.0, 100.0)
    elif name == "scores" and printed:
        # y_j <= 110 b_j, y_2 >= 50 b_3, y_1 + y_2 >= 110 b_1 (the paper counts from one)
        A = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, -1, 0], [-1, -1, 0]]
        B = [[-110, 0, 0], [0, -110, 0], [0, 0, -110], [0, 0, 50], [110, 0, 0]]
        model = MixedBinary(A, B, np.zeros(5), lower=0.0, upper=110.0)
        model.linear_penalty = ([1.0, -1.0, 0.0], 0.0, 100.0)
    elif name == "scores":
        model = (Box(0.0, 100.0, 3) & Implication(({1: 1.0}, 50.0), [2], 3)
                 & Implication(({1: 1.0, 2: 1.0}, 110.0), [0], 3))
        model.linear_penalty = ([1.0, -1.0, 0.0], 0.0, 100.0)
    elif name == "cars" and printed:
        model = AtMostKNonzero(1, 1.0, 100_000.0, n_targets=1)
    elif name == "cars":
        model = Indicator(0, 1, 1.0, 110_000.0)
        model.linear_penalty = (0.0, 0.0, [0.0, np.inf])
    else:
        raise ValueError(f"name must be 'class', 'scores' or 'cars', got {name!r}.")
    return model
