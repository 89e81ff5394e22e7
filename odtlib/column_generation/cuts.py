"""Row constraints as cutting planes: which rows a relaxation sends down more or less than one path.

A row need not be in the data: every point of the feature space follows one path of a tree, whatever
its label (Patel et al. 2023, Section 3.3).
"""

from __future__ import annotations

import numpy as np

from odtlib._numba.vector import pack
from odtlib.mip import run_cp_sat, run_highs
from odtlib.requirements import needs

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
    model = {"cp-sat": _by_cp_sat, "milp": _by_milp}[solver]
    answers, proved = model(len(tests), paths, np.array(value), chain, seconds)
    points = np.array([_point(problem, tests, right) for right in answers])
    points = points.reshape(-1, problem.X.shape[1])
    if len(points):
        left = pack(problem.branches(points))
        sums = master.row_sums(x, left, np.arange(len(points)))
        points = points[sums > 1.0 + TOLERANCE]
    return points, proved


def _by_cp_sat(n_tests, paths, value, chain, seconds):
    cp_model = needs("ortools.sat.python.cp_model", "solvers", "separation='cp-sat'")

    class Collector(cp_model.CpSolverSolutionCallback):
        def __init__(self, variables):
            super().__init__()
            self.variables, self.found = variables, []

        def on_solution_callback(self):
            if self.ObjectiveValue() > 1e6 * (1.0 + TOLERANCE):
                self.found.append([bool(self.Value(v)) for v in self.variables])

    model = cp_model.CpModel()
    right = [model.NewBoolVar(f"right_{i}") for i in range(n_tests)]
    follows = [model.NewBoolVar(f"follows_{p}") for p in range(len(paths))]
    for follow, path in zip(follows, paths, strict=True):
        literals = [right[test] if side else right[test].Not() for test, side in path]
        model.AddBoolAnd(literals).OnlyEnforceIf(follow)
        model.AddBoolOr([follow, *[literal.Not() for literal in literals]])
    for low, high in chain:      # left at the lower threshold, then left at the higher
        model.AddImplication(right[low].Not(), right[high].Not())
    model.Maximize(sum(int(v) * f for v, f in zip(np.floor(1e6 * value), follows, strict=True)))
    collector = Collector(right)
    _, status = run_cp_sat(model, collector, seconds)
    return collector.found, status == cp_model.OPTIMAL


def _by_milp(n_tests, paths, value, chain, seconds):
    highspy = needs("highspy", "solvers", "separation='milp'")
    lp = highspy.Highs()
    lp.silent()
    if np.isfinite(seconds):
        lp.setOptionValue("time_limit", max(0.01, seconds))
    right = [lp.addBinary() for _ in range(n_tests)]
    # a path that is followed is worth its value, so nothing needs to force it
    follows = [lp.addVariable(lb=0.0, ub=1.0, obj=-float(v)) for v in value]
    for follow, path in zip(follows, paths, strict=True):
        for test, side in path:
            lp.addConstr(follow <= right[test] if side else follow + right[test] <= 1)
    for low, high in chain:
        lp.addConstr(right[high] <= right[low])
    lp.setOptionValue("mip_rel_gap", 0.0)
    run_highs(lp)
    proved = lp.getModelStatus() == highspy.HighsModelStatus.kOptimal
    if lp.getInfo().primal_solution_status != highspy.kSolutionStatusFeasible:
        return [], False
    return [[lp.val(v) > 0.5 for v in right]], proved


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
