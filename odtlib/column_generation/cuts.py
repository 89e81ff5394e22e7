"""Row constraints as cutting planes: which rows a relaxation sends down more or less than one path.

A row need not be in the data: every point of the feature space follows one path of a tree, whatever
its label (Patel et al. 2023, Section 3.3).
"""

from __future__ import annotations

import numpy as np

from odtlib._numba.vector import pack
from odtlib.column_generation._programs import solutions
from odtlib.mip import Model

TOLERANCE = 1e-6


def violated_rows(master, x, sides, rows=None):
    """Return the training rows whose constraint (1c) a relaxation violates on some side.

    ``rows`` are those to look at (default: one of each group that branches alike).
    """
    problem = master.problem
    rows = problem.representatives if rows is None else rows
    sums = master.row_sums(x, problem.packed_rows, rows)
    wrong = np.zeros(len(rows), bool)
    if sides != "lower":
        wrong |= sums > 1.0 + TOLERANCE
    if sides != "upper":
        wrong |= sums < 1.0 - TOLERANCE
    return rows[wrong]


def violated_point(master, x, solver="cp-sat", seconds=np.inf):
    """Find points of the feature space that a relaxation sends down more than one path in all.

    Patel et al. (2023), model (8): choose a branch for each split, consistent between thresholds of
    one feature, so that the paths followed weigh most; ``x`` holds the value of each path.

    Returns the points whose constraint is violated, shape (n_points, n_features), and whether it is
    proved that there is none, or that the best is among them.  CP-SAT returns each solution above
    one that it meets on the way, HiGHS ("milp") only the best.
    """
    problem = master.problem
    tests = {}           # (feature, threshold) -> number
    paths, value = [], []   # of each column that points can follow: (test, goes right)
    levels = slice(master.n_linked)
    for column in np.flatnonzero(x > 1e-9):
        leaf = master.leaf[column]
        choices = problem.choices(leaf, master.path[[column]])[0]
        splits = (problem.start[master.nodes[leaf]] + choices[:problem.depth])[levels]
        path = []
        for s, left in zip(splits, master.to_left[leaf][levels], strict=True):
            if np.isfinite(problem.threshold[s]):
                test = int(problem.feature[s]), float(problem.threshold[s])
                path.append((tests.setdefault(test, len(tests)), not left))
            elif left != (problem.threshold[s] > 0):   # without a split all go one way
                break
        else:
            paths.append(path)
            value.append(x[column])
    order = sorted(tests)
    chain = [(tests[a], tests[b]) for a, b in zip(order[:-1], order[1:], strict=True)
             if a[0] == b[0]]
    model, right = _separation(len(tests), paths, value, chain)
    found, bound = solutions(model, solver, seconds, scale=1e6)
    points = np.array([_point(problem, tests, values[right] > 0.5) for values in found])
    points = points.reshape(-1, problem.X.shape[1])
    if len(points):
        left = pack(problem.branches(points))
        sums = master.row_sums(x, left, np.arange(len(points)))
        points = points[sums > 1.0 + TOLERANCE]
    return points, bound is not None


def _separation(n_tests, paths, value, chain):
    """Return the model, to be minimised, and its variables that say which tests go right.

    A path that is followed is worth its value, so that nothing needs to force it.
    """
    model = Model("separation")
    right = model.add_variables("right", n_tests, kind="integer")
    follows = model.add_variables("follows", len(paths), cost=-np.array(value), kind="implied")
    # left at the lower threshold, then left at the higher
    rows = [((right[high], right[low]), (1.0, -1.0), 0.0) for low, high in chain]
    for follow, path in zip(follows, paths, strict=True):
        rows += [((follow, right[test]), (1.0, -1.0 if side else 1.0), 0.0 if side else 1.0)
                 for test, side in path]
    column, sign, upper = ([row[part] for row in rows] for part in range(3))
    model.add_rows("way", len(rows), np.repeat(np.arange(len(rows)), 2), column, np.ravel(sign),
                   upper=upper)
    return model, right


def _point(problem, tests, right):
    """Return a point that takes the branches given for some tests."""
    point = problem.X[0].copy()
    for feature in {f for f, _ in tests}:
        mine = [(t, right[i]) for (f, t), i in tests.items() if f == feature]
        above = max((t for t, side in mine if side), default=-np.inf)
        below = min((t for t, side in mine if not side), default=np.inf)
        if below < np.inf:
            point[feature] = below
        else:
            point[feature] = above + 1.0 if above + 1.0 > above else np.nextafter(above, np.inf)
    return point
