"""HiGHS and CP-SAT behind one form: arrays in, messages out.

An engine is a function ``engine(arrays, options, send, stop)``.  It works in a thread of this
process or in a process of its own, sends every incumbent and bound at once, and
ends when ``stop`` is set.  Messages are ``("incumbent", objective, values)``, ``("bound", bound)``
and, last, ``("done", status, objective, bound, values, counters)``.
"""

from __future__ import annotations

import time
from functools import partial

import numpy as np

from odtlib.requirements import needs
from odtlib.solver_threads import silent_highs


def library(solver):
    """Import the library of a solver, or say how to install it."""
    module = "ortools.sat.python.cp_model" if solver in ("cp-sat", "lns") else "highspy"
    return needs(module, "solvers", f"solver={solver!r}")


def load(arrays, relaxed=False):
    """Return a HiGHS object that holds a model, passed in one call."""
    highspy = library("highs")
    highs = silent_highs(highspy)
    a = arrays
    integrality = np.zeros(len(a["cost"]), np.int32)
    if not relaxed:
        integrality[a["kind"] == 1] = 1
    status = highs.passModel(
        len(a["cost"]), len(a["row_lower"]), len(a["index"]), 2, 1, a["offset"], a["cost"],
        a["lower"], a["upper"], a["row_lower"], a["row_upper"], a["start"], a["index"],
        a["value"], integrality)
    if status == highspy.HighsStatus.kError:
        raise RuntimeError("HiGHS refused the model: a coefficient is no number, or too large.")
    return highs


def highs(arrays, options, send, stop, relaxed=False):
    """Solve a mixed-integer program, or its linear relaxation, with HiGHS."""
    highspy = library("highs")
    solver, best = load(arrays, relaxed), [-np.inf]
    # an incumbent that is less than one unit above the bound is optimal
    unit = options["unit"]
    settings = {"threads": options["n_jobs"], "random_seed": options["seed"], "mip_rel_gap": 0.0,
                "mip_abs_gap": 0.999 * unit if unit else 1e-9, **options["settings"]}
    if np.isfinite(options["seconds"]):
        settings = {"time_limit": max(0.0, options["seconds"]), **settings}
    for name, value in settings.items():
        try:
            taken = str(solver.setOptionValue(name, value)) == "HighsStatus.kOk"
        except TypeError:
            taken = False
        if not taken:
            raise ValueError(f"HiGHS has no option {name!r} with a value {value!r}.")

    def improved(event):
        send(("incumbent", event.data_out.objective_function_value,
              np.array(event.data_out.mip_solution)))

    def look(event):
        if not relaxed and event.data_out.mip_dual_bound > best[0]:
            best[0] = event.data_out.mip_dual_bound
            send(("bound", best[0]))
        if stop.is_set():
            event.interrupt()

    if relaxed:
        solver.cbSimplexInterrupt.subscribe(look)
    else:
        solver.cbMipImprovingSolution.subscribe(improved)
        solver.cbMipInterrupt.subscribe(look)
    start = options["start"]
    if start is not None:
        known = np.flatnonzero(~np.isnan(start)).astype(np.int32)
        solver.setSolution(len(known), known, start[known])
    solver.run()
    status, info = solver.getModelStatus(), solver.getInfo()
    words = {highspy.HighsModelStatus.kOptimal: "optimal",
             highspy.HighsModelStatus.kInfeasible: "infeasible",
             highspy.HighsModelStatus.kTimeLimit: "time_limit",
             highspy.HighsModelStatus.kSolutionLimit: "node_limit",
             highspy.HighsModelStatus.kInterrupt: "interrupted"}
    word = words.get(status, solver.modelStatusToString(status))
    found = info.primal_solution_status == highspy.kSolutionStatusFeasible
    counters = {"simplex_iterations": max(0, int(info.simplex_iteration_count))}
    if relaxed:         # only an optimum of the relaxation bounds anything
        found = word == "optimal"
        bound = info.objective_function_value if found else -np.inf
    else:
        bound, counters["nodes"] = info.mip_dual_bound, max(0, int(info.mip_node_count))
    send(("done", word, info.objective_function_value if found else np.inf, bound,
          np.array(solver.getSolution().col_value) if found else None, counters))


def load_cp_sat(arrays, start=None):
    """Return a ``CpModel`` that holds a model of whole numbers, and its variables."""
    cp_model = library("cp-sat")
    a, model = arrays, cp_model.CpModel()
    if np.all(a["lower"] == 0) and np.all(a["upper"] == 1):
        columns = [model.new_bool_var("") for _ in a["cost"]]
    else:
        columns = [model.new_int_var(low, high, "") for low, high
                   in zip(a["lower"].tolist(), a["upper"].tolist(), strict=True)]
    first_of, index, value = a["start"].tolist(), a["index"].tolist(), a["value"].tolist()
    infinite = 1 << 60
    for row, (low, high) in enumerate(zip(a["row_lower"].tolist(), a["row_upper"].tolist(),
                                          strict=True)):
        first, last = first_of[row], first_of[row + 1]
        if first == last and low <= 0 <= high:
            continue
        terms = cp_model.LinearExpr.weighted_sum([columns[j] for j in index[first:last]],
                                                 value[first:last])
        if low == high:
            model.add(terms == low)
        elif low <= -infinite:
            model.add(terms <= high)
        elif high >= infinite:
            model.add(terms >= low)
        else:
            model.add_linear_constraint(terms, low, high)
    costly = np.flatnonzero(a["cost"])
    model.minimize(cp_model.LinearExpr.weighted_sum([columns[j] for j in costly],
                                                    a["cost"][costly].tolist()))
    if start is not None:
        for j in np.flatnonzero(~np.isnan(start)):
            model.add_hint(columns[j], int(round(start[j])))
    return model, columns


def cp_sat(arrays, options, send, stop):
    """Solve a program whose coefficients are whole numbers with CP-SAT."""
    cp_model = library("cp-sat")
    begin = time.perf_counter()
    a, scale = arrays, arrays["scale"]
    model, columns = load_cp_sat(arrays, options["start"])
    priorities = options["priorities"]
    if priorities is not None:
        for level in np.unique(priorities[priorities > 0])[::-1]:
            model.add_decision_strategy(
                [columns[j] for j in np.flatnonzero(priorities == level)],
                cp_model.CHOOSE_FIRST, cp_model.SELECT_MAX_VALUE)

    def of(objective):
        return objective / scale + a["offset"]

    class Watch(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self):
            send(("incumbent", of(self.objective_value),
                  np.array(self.response_proto.solution, float)))

    solver = cp_model.CpSolver()
    solver.parameters.num_workers = options["n_jobs"]
    solver.parameters.random_seed = options["seed"]
    solver.parameters.catch_sigint_signal = False   # it would not give Python its handler back
    if np.isfinite(options["seconds"]):
        left = options["seconds"] - (time.perf_counter() - begin)
        solver.parameters.max_time_in_seconds = max(0.0, left)
    for name, setting in options["settings"].items():
        try:
            setattr(solver.parameters, name, setting)
        except (AttributeError, TypeError, ValueError):
            raise ValueError(f"CP-SAT has no parameter {name!r} with a value {setting!r}."
                             ) from None
    solver.best_bound_callback = lambda bound: send(("bound", of(bound)))
    stop.on_set(solver.stop_search)
    status = solver.solve(model, Watch())
    found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    word = {cp_model.OPTIMAL: "optimal", cp_model.INFEASIBLE: "infeasible"}.get(status,
                                                                                "time_limit")
    if status == cp_model.MODEL_INVALID:
        raise RuntimeError(f"CP-SAT refused the model: {model.validate()}")
    send(("done", word, of(solver.objective_value) if found else np.inf,
          of(solver.best_objective_bound) if word != "infeasible" else np.inf,
          np.array(solver.response_proto.solution, float) if found else None,
          {"branches": int(solver.num_branches), "conflicts": int(solver.num_conflicts)}))


ENGINES = {"highs": highs, "relaxation": partial(highs, relaxed=True), "cp-sat": cp_sat}
