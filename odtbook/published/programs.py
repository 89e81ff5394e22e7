"""The integer programs of pricing and separation, solved by HiGHS or CP-SAT."""

from __future__ import annotations

import numpy as np

from odtbook.formulations.engines import library, load, load_cp_sat
from odtbook.formulations.run import run_cp_sat
from odtlib.solver_threads import run_highs

ABSOLUTE_GAP = 1e-7


def solutions(model, solver, seconds=np.inf, *, scale=1.0, start=None):
    """Solve a model; return the solutions that were met, and a lower bound of the objective.

    HiGHS ("milp") returns the best solution only.  CP-SAT takes costs multiplied by ``scale`` and
    rounded, which the bound accounts for.  ``start`` holds known values, NaN for others.  The bound
    is infinite where there is no solution, and None where time ran out.
    """
    if solver == "cp-sat":
        return _cp_sat(model, seconds, scale, start)
    highspy, highs = library("highs"), load(model.arrays())
    options = {"mip_rel_gap": 0.0, "mip_abs_gap": ABSOLUTE_GAP, "threads": 1}
    if np.isfinite(seconds):
        options["time_limit"] = max(0.01, seconds)
    for name, value in options.items():
        highs.setOptionValue(name, value)
    if start is not None:
        known = np.flatnonzero(~np.isnan(start)).astype(np.int32)
        highs.setSolution(len(known), known, start[known])
    run_highs(highs)
    status, info = highs.getModelStatus(), highs.getInfo()
    if status == highspy.HighsModelStatus.kInfeasible:
        return [], np.inf
    if info.primal_solution_status != highspy.kSolutionStatusFeasible:
        return [], None
    proved = status == highspy.HighsModelStatus.kOptimal
    return [np.array(highs.getSolution().col_value)], (
        min(info.mip_dual_bound, info.objective_function_value) if proved else None)


def _cp_sat(model, seconds, scale, start):
    cp_model = library("cp-sat")

    class Collector(cp_model.CpSolverSolutionCallback):
        def __init__(self):
            super().__init__()
            self.found = []

        def on_solution_callback(self):
            self.found.append(np.array(self.response_proto.solution))

    whole, collector = model.to_integer(scale), Collector()
    solver, status = run_cp_sat(load_cp_sat(whole, start)[0], collector, seconds)
    if status == cp_model.INFEASIBLE:
        return [], np.inf
    rounding = np.abs(scale * model.arrays()["cost"] - whole["cost"]).sum()
    return collector.found, (
        (solver.best_objective_bound - rounding) / scale if status == cp_model.OPTIMAL else None)
