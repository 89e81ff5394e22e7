"""Solve a model that the caller has built for HiGHS or CP-SAT, so that Ctrl-C ends it."""

from __future__ import annotations

import threading

import numpy as np

from odtlib.mip.engines import library


def run_highs(highs):
    """Solve the model that a ``highspy.Highs`` object holds; Ctrl-C raises KeyboardInterrupt."""
    stop = threading.Event()

    def interrupt(event):
        if stop.is_set():
            event.interrupt()

    highs.cbMipInterrupt.subscribe(interrupt)
    highs.cbSimplexInterrupt.subscribe(interrupt)
    _in_thread(highs.run, stop.set)


def run_cp_sat(model, watch, seconds=np.inf, n_jobs=1):
    """Solve a ``CpModel``; return the ``CpSolver`` and its status.  Ctrl-C is passed on.

    ``watch`` is a ``CpSolverSolutionCallback`` or None.
    """
    solver = library("cp-sat").CpSolver()
    solver.parameters.num_workers = n_jobs
    # CP-SAT's own handler of Ctrl-C would not give Python's back: the next one ends the process
    solver.parameters.catch_sigint_signal = False
    if np.isfinite(seconds):
        solver.parameters.max_time_in_seconds = max(0.01, seconds)
    return solver, _in_thread(lambda: solver.solve(model, watch), solver.stop_search)


def _in_thread(work, stop):
    """Return the result of ``work``, done in a thread; on Ctrl-C call ``stop`` until it ends."""
    outcome, errors = [], []

    def call():
        try:
            outcome.append(work())
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(0.5)        # some systems deliver Ctrl-C only between short waits
    except KeyboardInterrupt:
        while thread.is_alive():    # a solver forgets a stop that comes before its start
            stop()
            thread.join(0.05)
        raise
    if errors:
        raise errors[0]
    return outcome[0]
