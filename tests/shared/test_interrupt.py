"""Ctrl-C stays Python's where the solvers of others have run."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from interrupt import ctrl_c

import odtlib
from odtbook import formulations
from odtbook.formulations import run
from odtlib import solver_threads
from odtlib.constrained import optimal, sets
from odtlib.heuristics import start
from odtlib.murtree import solver

AFTER_A_FIT = """
import os, signal, time
import numpy as np
import odtlib
import odtbook.formulations
from odtbook import published
random = np.random.default_rng(0)
X, y = random.integers(0, 4, (30, 3)), random.integers(0, 2, 30)
{model}.fit(X, y)
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(5)
    print("ignored", flush=True)
except KeyboardInterrupt:
    print("caught", flush=True)
"""


@pytest.mark.parametrize("model", [
    "odtbook.formulations.BinOCTClassifier(1, solver='highs')",
    "odtbook.formulations.BinOCTClassifier(1, solver='cp-sat')",
    *(f"odtlib.ColumnGenerationClassifier(2, search=odtlib.ColumnGenerationSearch({steps}))"
      for steps in ("pricing=published.pricing('cp-sat')", "pricing=published.pricing('milp')",
                    "row_cuts=published.row_cuts('extra')",
                    "row_cuts=published.row_cuts('extra', solver='milp')"))])
def test_after_a_fit(model, child):
    """In another process: where the handler is gone, Ctrl-C ends it."""
    child.run(AFTER_A_FIT.format(model=model))
    assert child.read() == "caught"


@pytest.mark.parametrize("solver", ["cp-sat", "milp"])
def test_a_program_stops(solver):
    from odtbook.formulations.program import add_terms
    from odtbook.published.programs import solutions

    model, size = formulations.Model(), np.random.default_rng(1).integers(0, 100, (6, 60))
    x = model.add_variables("x", 60, kind="integer")
    miss = model.add_variables("miss", 6, upper=10_000, cost=1.0, kind="integer")
    row, half = np.arange(6), size.sum(axis=1) // 2     # market split: no solver ends in seconds
    add_terms(model, "most", 6, (row[:, None], x, size), (row, miss, -1.0), upper=half)
    add_terms(model, "least", 6, (row[:, None], x, size), (row, miss, 1.0), lower=half)
    begin = time.perf_counter()
    with ctrl_c() as timer, pytest.raises(KeyboardInterrupt):
        timer.start()
        solutions(model, solver)
    assert time.perf_counter() - begin < 30.0


def table():
    random = np.random.default_rng(0)
    X = random.integers(0, 2, (40, 6)).astype(float)
    return X, (X[:, 0] + X[:, 1] * X[:, 2] + random.integers(0, 2, 40) > 1).astype(int)


@pytest.mark.parametrize("model", [
    odtlib.MurTreeClassifier(3, start="local-search"),
    formulations.OCTClassifier(2, start="local-search"),
    formulations.BinOCTClassifier(2, start="local-search")], ids=lambda model: type(model).__name__)
def test_ctrl_c_during_the_start_ends_the_fit(model, monkeypatch):
    def interrupted(*arguments, **options):
        tree, report = search(*arguments, **options)
        report.status = "interrupted"
        return tree, report

    search = start.search_trees
    monkeypatch.setattr(start, "search_trees", interrupted)
    try:
        assert model.fit(*table()).report_.status == "interrupted"
    except KeyboardInterrupt:
        pass


def test_ctrl_c_during_the_greedy_tree_ends_the_optimal_constrained_fit(monkeypatch):
    class Interrupted(odtlib.ConstrainedTreeRegressor):
        def fit(self, X, y, sample_weight=None):
            super().fit(X, y, sample_weight)
            self.report_.status = "interrupted"
            return self

    monkeypatch.setattr(optimal, "ConstrainedTreeRegressor", Interrupted)
    X, y = table()
    report = odtlib.OptimalConstrainedTreeRegressor(
        sets.Box(0.0, 1.0), max_depth=2).fit(X, np.column_stack([y, 1 - y])).report_
    assert report.status == "interrupted"
    assert report.counters["splits_evaluated"] == 0


@pytest.mark.parametrize("model", [
    odtlib.ContinuousTreeClassifier(4, start=None),
    odtlib.ContinuousTreeClassifier(4, start=None, n_jobs=2), odtlib.ContinuousTreeRegressor(4)])
def test_ctrl_c_returns_the_best_tree_so_far(model):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(4000, 8)), random.integers(0, 3, 4000)
    model._compile_kernels(X, y)
    with ctrl_c() as timer:
        timer.start()
        model.fit(X, y)
    assert model.report_.status == "interrupted"
    assert model.verify(X, y) == pytest.approx(model.report_.objective, rel=1e-9)


@pytest.mark.parametrize("estimator", [odtlib.MurTreeClassifier, odtlib.MurTreeRegressor])
def test_ctrl_c_does_not_wait_for_a_step_of_the_search(estimator, monkeypatch):
    def endless(self, work):
        if not begun.is_set():          # before, on a busy machine, there may be no tree yet
            begun.set()
            timer.start()
        finish.wait()
        compiled(self, work)            # writes to the arrays that the fit has left to it

    X, y = table()
    y = np.random.default_rng(1).integers(0, 2, 40)     # the start is not optimal by itself
    model = estimator(3)
    model._compile_kernels(X, y)
    begun, finish, compiled = threading.Event(), threading.Event(), solver.Solver._run_kernel
    monkeypatch.setattr(solver, "SECONDS_PER_PAIR", dict.fromkeys((2, 4, 8), (1e3, 1e3)))
    monkeypatch.setattr(solver.Solver, "_run_kernel", endless)
    with ctrl_c(0.2) as timer:
        model.fit(X, y)
        assert begun.is_set() and not finish.is_set()
    finish.set()
    report = model.report_
    assert report.status == "interrupted"
    assert report.lower_bound <= report.objective == pytest.approx(model.verify(X, y))


def test_an_engine_is_told_to_stop_until_it_stops(monkeypatch):
    """CP-SAT forgets a stop that reaches it before it has started."""
    def forgetful(arrays, options, send, stop):
        stop.on_set(calls.append)
        while len(calls) < 3:
            time.sleep(0.01)

    class Calls(list):
        def append(self, call=None):
            super().append(call)

    calls = Calls()
    monkeypatch.setitem(run.ENGINES, "forgetful", forgetful)
    engine = run.InThread("forgetful", None, {})
    engine.start()
    engine.end()
    assert len(calls) == 3 and not engine.is_alive()


@pytest.mark.parametrize("before", [False, True])
def test_ctrl_c_while_a_thread_starts_leaves_no_thread(before, monkeypatch):
    """On a busy machine a start takes long, and Ctrl-C finds it waiting."""
    threads, stop, start = [], threading.Event(), threading.Thread.start

    def pressed(thread):
        threads.append(thread)
        if not before:
            start(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", pressed)
    with pytest.raises(KeyboardInterrupt):
        solver_threads.in_thread(lambda: stop.wait(60), stop.set)
    monkeypatch.undo()
    if before:                          # the start that was interrupted goes on
        threads[0].start()
        threads[0].join(30)
    assert len(threads) == 1 and not threads[0].is_alive()
    assert stop.is_set() != before


@pytest.mark.parametrize("number", [1, 3])
def test_a_real_ctrl_c_while_threads_work_waits_for_all_of_them(number):
    """In Python 3.11 a thread whose ``join`` it interrupts counts as ended, while it works on."""
    stop, ended = solver_threads.Flag(), []

    def work():
        for _ in range(400):
            if stop.is_set():
                break
            time.sleep(0.05)
        time.sleep(0.3)                 # a solver takes a while to stop
        ended.append(stop.is_set())

    with ctrl_c(0.25) as timer, pytest.raises(KeyboardInterrupt):
        timer.start()
        solver_threads.in_threads([work] * number, stop.set)
    assert ended == [True] * number


def test_ctrl_c_between_smaller_depths_leaves_no_bound_of_a_smaller_depth(monkeypatch):
    def pressed(self, depth, nodes, **options):
        done = solve(self, depth, nodes, **options)
        if depth == 3 and options["clock"].remaining > 0:
            raise KeyboardInterrupt
        return done

    random = np.random.default_rng(0)
    X, y = random.integers(0, 2, (80, 7)), random.integers(0, 2, 80)
    best, solve = odtlib.MurTreeClassifier(4).fit(X, y).report_.objective, solver.Solver.solve
    monkeypatch.setattr(solver.Solver, "solve", pressed)
    report = odtlib.MurTreeClassifier(4, search=odtlib.MurTreeSearch(deepening=True)).fit(
        X, y).report_
    assert report.status == "interrupted"
    assert report.lower_bound <= best < report.objective


MARKET_SPLIT = """
import os, signal, threading, time
import highspy
import numpy as np
from odtlib import solver_threads
random, highs = np.random.default_rng(1), solver_threads.silent_highs(highspy)
x = [highs.addBinary() for _ in range(60)]
for row in random.integers(0, 100, (4, 60)):        # no solver ends in seconds
    over, under = (highs.addVariable(0.0, 1e4, 1.0) for _ in range(2))
    sides = sum(int(w) * v for w, v in zip(row, x)) + over - under
    highs.addConstr(sides == int(row.sum()) // 2)
"""
KEPT_PRESSING = MARKET_SPLIT + """
highs.setOptionValue("time_limit", 3.0)
for number in range(3):
    press = threading.Timer(0.3 * number + 0.3, signal.raise_signal, [signal.SIGINT])
    press.daemon = True
    press.start()
solver_threads.in_thread(highs.run, lambda: time.sleep(0.5))
"""
PRESSED_TWICE = MARKET_SPLIT + """
class Waits(solver_threads.Flag):
    def set(self):
        super().set()
        if not pressed:                 # the second Ctrl-C, as HiGHS is told to stop
            pressed.append(True)
            raise KeyboardInterrupt

pressed, solver_threads.Flag = [], Waits
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
solver_threads.run_highs(highs)
"""


def test_ctrl_c_again_and_again_does_not_abort_python():
    """The last comes while Python ends, which must wait for HiGHS all the same."""
    ended = subprocess.run([sys.executable, "-c", KEPT_PRESSING], stderr=subprocess.PIPE, text=True)
    assert "KeyboardInterrupt" in ended.stderr and "terminate" not in ended.stderr
    assert ended.returncode != -signal.SIGABRT


def test_highs_hears_the_first_ctrl_c_where_a_second_has_left_it_working():
    ended = subprocess.run([sys.executable, "-c", PRESSED_TWICE], stderr=subprocess.PIPE, text=True,
                           timeout=60)
    assert "KeyboardInterrupt" in ended.stderr and ended.returncode != -signal.SIGABRT


FORKED = """
import os, signal, time
from odtlib.solver_threads import Flag, SolverThread
stop = Flag()

def work():
    while not stop.is_set():
        time.sleep(0.01)

SolverThread(work, stop.set).start()
child = os.fork()
if not child:
    signal.alarm(60)
print(os.waitpid(child, 0)[1] if child else "child", flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows does not fork")
def test_a_forked_process_ends_without_the_threads_of_its_parent():
    ended = subprocess.run([sys.executable, "-c", FORKED], stdout=subprocess.PIPE, text=True)
    assert ended.stdout.split() == ["child", "0"]


def test_a_thread_whose_end_ctrl_c_cut_short_holds_nothing_of_its_solver(monkeypatch):
    def pressed(self):
        raise KeyboardInterrupt

    class Solver:
        pass

    held = Solver()
    kept = weakref.ref(held)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(solver_threads.SolverThread, "end", pressed)
        solver_threads.in_thread(partial(bool, held), lambda: None)
    del held
    gc.collect()
    assert kept() is None


def test_no_solver_starts_while_python_ends(monkeypatch):
    monkeypatch.setattr(solver_threads.SolverThread, "_exit", True)
    with pytest.raises(RuntimeError, match="Python is ending"):
        solver_threads.in_thread(lambda: None, lambda: None)


PRESSED_ANYWHERE = """
import sys, time
from functools import partial
sys.path.insert(0, sys.argv[1])
from interrupt import calls_within, press_at
from odtlib.solver_threads import Flag, in_threads

def ask():
    stop = Flag()
    def work(number):
        time.sleep(0.002 * number)
        return number
    return in_threads([partial(work, number) for number in range(3)], stop.set, lambda: None)

for kind, times in calls_within(ask).items():
    for number in range(1, times + 1):
        found = press_at(ask, kind, number)
        if isinstance(found, RuntimeError):     # of threading, where Ctrl-C came within it
            found = found.__context__
        assert found in (None, [0, 1, 2]) or isinstance(found, KeyboardInterrupt), found
assert ask() == [0, 1, 2]
"""


def test_no_call_while_threads_work_waits_for_ever_after_a_ctrl_c():
    subprocess.run([sys.executable, "-c", PRESSED_ANYWHERE, str(Path(__file__).parents[1])],
                   check=True, timeout=60)


def test_a_failure_in_one_thread_stops_the_others():
    stop = solver_threads.Flag()

    def wait():
        while not stop.is_set():
            time.sleep(0.001)

    with pytest.raises(ZeroDivisionError):
        solver_threads.in_threads([wait, lambda: 1 / 0, wait], stop.set)
