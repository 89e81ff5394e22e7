"""The integer programs of pricing and separation, solved by HiGHS or CP-SAT."""

from __future__ import annotations

import numpy as np

from odtbook.formulations.run import run
from odtlib.report import Clock

ABSOLUTE_GAP = 1e-7


def solutions(model, solver, seconds=np.inf, *, scale=1.0, start=None):
    """Solve a model; return the solutions that were met, and a lower bound of the objective.

    HiGHS ("milp") returns the best solution only.  CP-SAT takes costs multiplied by ``scale`` and
    rounded, which the bound accounts for.  ``start`` holds known values, NaN for others.  The bound
    is infinite where there is no solution, and None where time ran out.
    """
    whole, messages = solver == "cp-sat", []
    arrays = model.to_integer(scale) if whole else model.arrays()
    clock = Clock(None if np.isinf(seconds) else max(0.01, seconds))
    ended = run(
        "cp-sat" if whole else "highs", arrays,
        {"n_jobs": 1, "unit": None, "start": start, "priorities": None, "seed": int(whole),
         "settings": {} if whole else {"mip_abs_gap": ABSOLUTE_GAP}},
        clock, False, messages.append)
    if ended == "interrupted":
        raise KeyboardInterrupt
    found = [message[2] for message in messages if message[0] == "incumbent"]
    if ended != "done":
        return found if whole else found[-1:], None
    _, status, objective, bound, values, _ = messages[-1]
    if status == "infeasible":
        return [], np.inf
    if not whole:
        found = [] if values is None else [values]
        cost = model.evaluate(values) if found else objective
        # with a part of a solution as its start, HiGHS 1.16 can claim a cost that is too low
        if start is not None and cost > objective + 1e-6 * (1 + abs(objective)):
            return solutions(model, solver, clock.remaining)
    lost = np.abs(scale * model.arrays()["cost"] - arrays["cost"]).sum() / scale if whole else 0.0
    return found, min(bound, objective) - lost if status == "optimal" else None
