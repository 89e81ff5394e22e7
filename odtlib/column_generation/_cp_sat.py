"""CP-SAT, called so that Ctrl-C stays Python's."""

from __future__ import annotations

import threading

import numpy as np


def run(model, watch, seconds):
    """Solve a model with one worker.

    CP-SAT's own handler of Ctrl-C would not give Python's back: the next Ctrl-C would end the
    process.  So it is switched off, and the solver works in a thread while this one listens.

    Parameters
    ----------
    model : CpModel
        The model.
    watch : CpSolverSolutionCallback
        Called with every solution.
    seconds : float
        Time limit; may be ``inf``.

    Returns
    -------
    solver : CpSolver
        Knows the bound.
    status : int
        CP-SAT's word for how it ended.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C, once the solver has stopped.
    """
    from ortools.sat.python import cp_model

    solver, outcome = cp_model.CpSolver(), []
    solver.parameters.num_workers = 1
    solver.parameters.catch_sigint_signal = False
    if np.isfinite(seconds):
        solver.parameters.max_time_in_seconds = max(0.01, seconds)

    def work():
        try:
            outcome.append(solver.Solve(model, watch))
        except Exception as error:
            outcome.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(0.5)        # some systems deliver Ctrl-C only between short waits
    except KeyboardInterrupt:
        while thread.is_alive():    # a stop that comes before the start is forgotten
            solver.StopSearch()
            thread.join(0.05)
        raise
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    return solver, outcome[0]
