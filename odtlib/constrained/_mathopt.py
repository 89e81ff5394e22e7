"""Projection by a mixed-integer quadratic program: the slow reference, and the oracle for sets
with too many pieces.

OR-Tools MathOpt with SCIP takes a convex quadratic objective together with binaries (HiGHS does
not).  SCIP is accurate to about 1e-6 in the objective, hence to about 1e-3 in the point.
"""

from __future__ import annotations

import numpy as np

from odtlib.requirements import needs


def project(feasible_set, point, weights):
    """Return the nearest point of a set that can write itself as a mixed-integer program.

    Parameters
    ----------
    feasible_set : FeasibleSet
        A set that defines ``_formulate``.
    point : array, shape (n_targets,)
        Where to project from.
    weights : array, shape (n_targets,)
        Positive weight of each target in the squared distance.

    Returns
    -------
    (array, array)
        The point, and the values of the binaries that ``_formulate`` returned.

    Raises
    ------
    ImportError
        If OR-Tools is not installed.
    ValueError
        If the set is empty.
    RuntimeError
        If SCIP proves neither.
    """
    mathopt = needs("ortools.math_opt.python.mathopt", "solvers",
                    "a set with too many pieces to enumerate")
    model = mathopt.Model()
    y = [model.add_variable() for _ in point]
    binaries = feasible_set._formulate(model, y) or []
    model.minimize_quadratic_objective(
        sum(w * (v - p) * (v - p) for v, p, w in zip(y, point, weights, strict=True)))
    parameters = mathopt.SolveParameters(relative_gap_tolerance=1e-9, absolute_gap_tolerance=1e-9)
    result = mathopt.solve(model, mathopt.SolverType.GSCIP, params=parameters)
    reason = result.termination.reason
    if reason == mathopt.TerminationReason.INFEASIBLE:
        raise ValueError(f"{feasible_set} is empty: no target vector satisfies its constraints.")
    if reason != mathopt.TerminationReason.OPTIMAL:
        raise RuntimeError(f"SCIP ended with {reason.name} while projecting on {feasible_set}.")
    return np.array(result.variable_values(y)), np.array(result.variable_values(binaries))


def indicator(model, row, rhs, variables, flag):
    """Add ``flag = 1 implies row . variables <= rhs``."""
    expression = sum(a * v for a, v in zip(row, variables, strict=True) if a != 0)
    model.add_indicator_constraint(indicator=flag, implied_constraint=expression <= rhs)
