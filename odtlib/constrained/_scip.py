"""Projection by a mixed-integer quadratic program, for sets of too many pieces to enumerate.

OR-Tools MathOpt with SCIP takes a convex quadratic objective together with binaries (HiGHS does
not).  SCIP is accurate to about 1e-6 in the objective, hence to about 1e-3 in the point.
"""

from __future__ import annotations

import numpy as np

from odtlib.requirements import needs


def project(feasible_set, point, weights):
    """Return the nearest point of a set that defines ``_formulate``, and its binaries."""
    mathopt = needs("ortools.math_opt.python.mathopt", "milp",
                    f"{feasible_set}, which has too many pieces to enumerate,")
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
