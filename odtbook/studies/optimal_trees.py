"""How much the trees that are optimal on the training rows differ on other rows."""

from __future__ import annotations

import numpy as np

from odtlib.column_generation import optimum
from odtlib.column_generation.paths import RestrictedProblem


def testing_range(problem, X, y):
    """Return the least and the largest accuracy of optimal trees on rows outside the training.

    The trees are all those of a restricted problem with the fewest errors on its rows; a leaf takes
    any class that is best for its training rows, and one without training rows any class at all.
    Testing rows join the training rows with so small a weight that only ties are decided by them:
    with their classes, and once more with all wrong classes.

    Parameters
    ----------
    problem : RestrictedProblem
        Training rows and candidate splits, without limits on trees.
    X : array of float64, shape (n_rows, n_features)
        Testing rows.
    y : array of int, shape (n_rows,)
        Class indices.

    Returns
    -------
    tuple of (float, float)
        Shares of correct rows.

    Raises
    ------
    ValueError
        If the problem has limits.
    """
    if problem.limited or problem.side is not None:
        raise ValueError("the problem limits its trees; give one with rows and splits only.")
    n, n_classes = len(y), problem.n_classes
    scale = n * (n_classes - 1) + 1     # more than all testing rows weigh

    def wrong(rows, labels):
        """Return the least number of errors of an optimal tree on labelled testing rows."""
        both = RestrictedProblem(
            np.concatenate([problem.X, X[rows]]), np.concatenate([problem.y, labels]), n_classes,
            problem.splits, np.concatenate([scale * problem.weights, np.ones(len(rows))]))
        return optimum(both) - scale * optimum(problem)

    row, label = np.nonzero(np.arange(n_classes) != y[:, None])
    fewest = wrong(np.arange(n), y)
    # a row is given its n_classes - 1 wrong classes: all are missed where it is right
    most = n * (n_classes - 1) - wrong(row, label)
    return 1 - most / n, 1 - fewest / n
