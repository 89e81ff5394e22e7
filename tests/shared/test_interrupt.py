"""Ctrl-C stays Python's where the solvers of others have run."""

import subprocess
import sys
import time

import numpy as np
import pytest
from interrupt import ctrl_c

AFTER_A_FIT = """
import os, signal, time
import numpy as np
import odtlib
random = np.random.default_rng(0)
X, y = random.integers(0, 4, (30, 3)), random.integers(0, 2, 30)
{model}.fit(X, y)
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(5)
except KeyboardInterrupt:
    print("caught")
"""


@pytest.mark.parametrize("model", [
    "odtlib.BinOCTClassifier(1, solver='highs')",
    "odtlib.BinOCTClassifier(1, solver='cp-sat')",
    "odtlib.ColumnGenerationClassifier(2, n_trees=5, pricing='cp-sat')",
    "odtlib.ColumnGenerationClassifier(2, n_trees=5, pricing='milp')",
    "odtlib.ColumnGenerationClassifier(2, n_trees=5, row_cuts='extra')",
    "odtlib.ColumnGenerationClassifier(2, n_trees=5, row_cuts='extra', separation='milp')"])
def test_after_a_fit(model):
    """A process of its own: where the handler is gone, Ctrl-C ends it."""
    run = subprocess.run([sys.executable, "-c", AFTER_A_FIT.format(model=model)],
                         capture_output=True, text=True, check=False)
    assert run.stdout == "caught\n", (run.returncode, run.stderr)


def test_cp_sat_stops():
    from ortools.sat.python import cp_model

    from odtlib.column_generation import _cp_sat

    class Watch(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self):
            pass

    random = np.random.default_rng(1)
    model, rows = cp_model.CpModel(), random.integers(0, 100, (6, 60))
    x = [model.new_bool_var("") for _ in range(60)]
    miss = [model.new_int_var(0, 10_000, "") for _ in rows]
    for row, slack in zip(rows, miss, strict=True):    # market split: no solver ends in seconds
        model.add_abs_equality(slack, sum(int(w) * v for w, v in zip(row, x, strict=True))
                               - int(row.sum()) // 2)
    model.minimize(sum(miss))
    begin = time.perf_counter()
    with ctrl_c() as timer, pytest.raises(KeyboardInterrupt):
        timer.start()
        _cp_sat.run(model, Watch(), np.inf)
    assert time.perf_counter() - begin < 30.0
