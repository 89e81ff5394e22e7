"""Runs of models that the caller has built, and what a child process loads."""

import subprocess
import sys

import highspy
import numpy as np
import pytest
from interrupt import ctrl_c
from ortools.sat.python import cp_model

from odtlib.mip import run_cp_sat, run_highs


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
    code = ("import sys, odtlib.mip.child, odtlib.mip.engines; "
            "print([name for name in ('sklearn', 'scipy', 'numba', 'pandas') "
            "if name in sys.modules])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
