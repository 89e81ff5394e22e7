"""Runs of models that the caller has built, and what a child process loads."""

import re
import subprocess
import sys
from pathlib import Path

import highspy
import pytest

from odtbook.formulations.model import Model
from odtbook.formulations.run import CHILD
from odtbook.published.programs import solutions
from odtlib import ColumnGenerationClassifier
from odtlib.solver_threads import run_highs


def test_both_solvers_find_the_optimum():
    model = Model()
    model.add_variables("x", cost=-1.0, kind="integer")
    for solver in ("cp-sat", "milp"):
        found, bound = solutions(model, solver, 10.0)
        assert found[-1] == [1.0] and bound == -1.0
    highs = highspy.Highs()
    highs.silent()
    highs.addVar(0, 1)
    highs.changeColCost(0, -1.0)
    run_highs(highs)
    assert highs.getInfo().objective_function_value == -1


@pytest.mark.parametrize("order", ["highspy first", "OR-Tools first"])
def test_both_solvers_live_in_one_process(order):
    """Each brings a HiGHS of its own; with highspy 1.15 the second could not be loaded."""
    script = """
if {highs_first}:
    import highspy
from ortools.math_opt.python import mathopt
from ortools.sat.python import cp_model
import highspy

sizes, worth, room = (3, 5, 7), (2, 4, 5), 31
for turn in range(2):
    highs = highspy.Highs()
    highs.silent()
    taken = [highs.addIntegral(0, 10) for _ in sizes]
    highs.addConstr(sum(size * x for size, x in zip(sizes, taken)) <= room)
    highs.maximize(sum(value * x for value, x in zip(worth, taken)))
    sat = cp_model.CpModel()
    taken = [sat.new_int_var(0, 10, "") for _ in sizes]
    sat.add(sum(size * x for size, x in zip(sizes, taken)) <= room)
    sat.maximize(sum(value * x for value, x in zip(worth, taken)))
    solver = cp_model.CpSolver()
    solver.solve(sat)
    model = mathopt.Model()
    taken = [model.add_integer_variable(lb=0, ub=10) for _ in sizes]
    model.add_linear_constraint(sum(size * x for size, x in zip(sizes, taken)) <= room)
    model.maximize(sum(value * x for value, x in zip(worth, taken)))
    theirs = mathopt.solve(model, mathopt.SolverType.HIGHS)
    print(highs.getObjectiveValue(), solver.objective_value, theirs.objective_value())

from odtbook.formulations import BinOCTClassifier
from odtlib import ColumnGenerationClassifier
X, y = [[0, 0], [0, 1], [1, 0], [1, 1], [2, 1]], [0, 1, 1, 0, 1]
for model in (BinOCTClassifier(2, solver="highs"), BinOCTClassifier(2, solver="cp-sat"),
              ColumnGenerationClassifier(2)):
    print(model.fit(X, y).report_.lower_bound)
""".replace("{highs_first}", str(order == "highspy first"))
    printed = subprocess.run([sys.executable, "-c", script], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    numbers = re.findall(r"^\d+\.\d+(?: \d+\.\d+)*$", printed, re.MULTILINE)
    assert [float(number) for line in numbers for number in line.split()] == [24.0] * 6 + [1.0] * 3


def test_fits_print_nothing():
    """HiGHS 1.16 greets at the first object, whatever its options, unless it is made silent."""
    script = """
from odtbook.formulations import BinOCTClassifier
from odtlib import ColumnGenerationClassifier
X, y = [[0, 0], [0, 1], [1, 0], [1, 1], [2, 1]], [0, 1, 1, 0, 1]
BinOCTClassifier(1, solver="highs").fit(X, y)
ColumnGenerationClassifier(1).fit(X, y)
"""
    printed = subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.PIPE)
    assert printed.stdout == b""


def test_a_thread_in_which_highs_ran_with_more_workers_can_still_generate_columns():
    """HiGHS refuses another number of workers there, by an error and no result."""
    highs = highspy.Highs()
    highs.silent()
    highs.setOptionValue("threads", 2)
    highs.addIntegral(0, 10)
    highs.run()
    fitted = ColumnGenerationClassifier(1).fit([[0], [1], [1], [2]], [0, 1, 1, 0])
    assert fitted.report_.status == "optimal"


def test_errors_of_the_solver_are_raised():
    with pytest.raises(AttributeError):
        run_highs(object())


def test_the_child_process_loads_nothing_heavy():
    code = ("import sys, odtbook.formulations.run; "
            "print([name for name in ('sklearn', 'scipy', 'numba', 'pandas') "
            "if name in sys.modules])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_child_that_is_sent_no_model_says_nothing():
    """Ctrl-C came before; what it says is shown in the terminal of its parent."""
    for sent in (b"", b"\x80\x05"):
        done = subprocess.run([sys.executable, "-c", CHILD], input=sent, capture_output=True)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


ABANDONED = """
import sys, time
sys.path[:0] = {path!r}
from test_model import hard
from odtbook.formulations import run
model = hard()[0]
arrays = model.arrays() if {solver!r} == "highs" else model.to_integer()
run.InThread({solver!r}, arrays, dict(n_jobs=1, settings={{}}, unit=1.0, start=None, seed=0,
                                      priorities=None, seconds=60.0)).start()
time.sleep(1.0)
"""


@pytest.mark.parametrize("solver", ["highs", "cp-sat"])
def test_python_ends_while_a_solver_works(solver):
    """As after a Ctrl-C that comes before anybody waits; HiGHS used to abort the process."""
    path = [str(Path(__file__).parent), str(Path(__file__).parents[1]), *sys.path]
    done = subprocess.run([sys.executable, "-c", ABANDONED.format(path=path, solver=solver)],
                          capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
