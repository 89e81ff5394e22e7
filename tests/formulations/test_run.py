"""Runs of models that the caller has built, and what a child process loads."""

import subprocess
import sys
from pathlib import Path

import highspy
import numpy as np
import pytest
from interrupt import ctrl_c
from ortools.sat.python import cp_model

from odtbook.formulations.run import run_cp_sat
from odtlib.solver_threads import run_highs


def market_split(rows=6, columns=50):
    """Sums that no choice meets exactly: small, and out of reach of any solver."""
    random, model = np.random.default_rng(0), cp_model.CpModel()
    chosen = [model.new_bool_var("") for _ in range(columns)]
    for weight in random.integers(0, 100, (rows, columns)):
        model.add(cp_model.LinearExpr.weighted_sum(chosen, weight.tolist())
                  == int(weight.sum()) // 2)
    return model


def test_both_solvers_find_the_optimum():
    model = cp_model.CpModel()
    model.maximize(model.new_bool_var("x"))
    solver, status = run_cp_sat(model, None, 10.0)
    assert status == cp_model.OPTIMAL and solver.objective_value == 1
    highs = highspy.Highs()
    highs.silent()
    highs.addVar(0, 1)
    highs.changeColCost(0, -1.0)
    run_highs(highs)
    assert highs.getInfo().objective_function_value == -1


def test_ctrl_c_ends_cp_sat():
    with ctrl_c() as timer, pytest.raises(KeyboardInterrupt):
        timer.start()
        run_cp_sat(market_split(), None, 60.0)


def test_errors_of_the_solver_are_raised():
    with pytest.raises(AttributeError):
        run_highs(object())


def test_the_child_process_loads_nothing_heavy():
    code = ("import sys, odtbook.formulations.run; "
            "print([name for name in ('sklearn', 'scipy', 'numba', 'pandas') "
            "if name in sys.modules])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


ABANDONED = """
import sys, time
sys.path[:0] = {path!r}
from test_model import hard
from odtbook.formulations import run
model = hard()[0]
arrays = model.arrays() if {solver!r} == "highs" else model.to_integer()
run.InThread({solver!r}, arrays, dict(n_jobs=1, settings={{}}, unit=1.0, start=None, seed=0,
                                      priorities=None, seconds=60.0))
time.sleep(1.0)
"""


@pytest.mark.parametrize("solver", ["highs", "cp-sat"])
def test_python_ends_while_a_solver_works(solver):
    """As after a Ctrl-C that comes before anybody waits; HiGHS used to abort the process."""
    path = [str(Path(__file__).parent), str(Path(__file__).parents[1]), *sys.path]
    done = subprocess.run([sys.executable, "-c", ABANDONED.format(path=path, solver=solver)],
                          capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
