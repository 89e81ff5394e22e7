"""Row constraints of points outside the data, and the schedule of the published program."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from odtbook.formulations.engines import library
from odtbook.formulations.model import Model
from odtbook.published.programs import solutions
from odtlib._numba.vector import pack
from odtlib.arrays import distinct_rows
from odtlib.column_generation.cuts import TOLERANCE, RowCuts, row_cuts_of, violated_rows
from odtlib.column_generation.master import Master


class PublishedCuts(RowCuts):
    """Separate as the published program does, or also points outside the data.

    Parameters
    ----------
    sides : {"lower", "upper", "equal"}, default="equal"
        See :class:`odtlib.column_generation.cuts.RowCuts`.
    points : bool, default=False
        Add points outside the data, too, once no training row is violated (Patel et al. 2023,
        Section 3.3).
    every_tenth : bool, default=False
        Add ten rows at a time, up to ten times, in each tenth iteration, and never at the end, as
        the public program does.  Otherwise all violated rows in each iteration, until there are
        none.
    solver : {"cp-sat", "milp"}, default="cp-sat"
        Solver of the model for points outside the data.
    """

    def __init__(self, sides: str = "equal", points: bool = False, every_tenth: bool = False,
                 solver: str = "cp-sat") -> None:
        super().__init__(sides)
        if points:
            library(solver)     # which may not be installed
        self.points, self.every_tenth, self.solver = points, every_tenth, solver
        self.until_none = not every_tenth

    def rounds(self, iteration: int) -> int:
        """Return 1, or 10 in each tenth iteration."""
        return 10 * (iteration % 10 == 0) if self.every_tenth else 1

    def add(self, master: Master, x: NDArray[np.float64], rows: NDArray[np.int_], seconds: float,
            last: bool = False) -> int:
        """Add violated constraints of rows, or else of points, and return their number."""
        problem = master.problem
        wrong = violated_rows(master, x, self.sides, rows)[:10 if self.every_tenth else None]
        branches = problem.goes_left[:, wrong]
        if len(wrong) == 0 and self.points and (last or self.every_tenth):
            found, _ = violated_point(master, x, self.solver, seconds)
            branches = problem.branches(found)
            branches = distinct_rows(branches.T)[0].T if len(found) else branches
        master.add_cuts(branches, self.sides)
        return branches.shape[1]


def row_cuts(kind: str, schedule: str = "thorough", solver: str = "cp-sat") -> RowCuts:
    """Return the row constraints of a variant of Patel et al. (2023).

    Parameters
    ----------
    kind : {"none", "lower", "upper", "equal", "all", "extra"}
        Their variants; "extra" adds points outside the data.
    schedule : {"thorough", "published"}, default="thorough"
        When constraints are looked for, see ``every_tenth`` of :class:`PublishedCuts`.
    solver : {"cp-sat", "milp"}, default="cp-sat"
        Solver of the model for points outside the data.

    Returns
    -------
    odtlib.column_generation.cuts.RowCuts
    """
    if kind in ("none", "all") or (kind != "extra" and schedule == "thorough"):
        return row_cuts_of(kind)
    return PublishedCuts("equal" if kind == "extra" else kind, kind == "extra",
                         schedule == "published", solver)


def violated_point(master: Master, x: NDArray[np.float64], solver: str = "cp-sat",
                   seconds: float = np.inf) -> tuple[NDArray[np.float64], bool]:
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
    for column in np.flatnonzero(x > 1e-9):
        path = []
        for s, left in zip(master.splits[column], master.turns[column], strict=True):
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
        sums = master.row_sums(x, pack(problem.branches(points)), np.arange(len(points)))
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
