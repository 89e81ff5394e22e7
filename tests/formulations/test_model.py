"""The modelling layer: what it says about a model, and what it gets back from solvers."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from formulations.reference import kill_the_solver
from interrupt import ctrl_c

from odtbook.formulations.model import Model


def knapsack(random, n=8, rows=2, scale=1.0):
    model = Model("knapsack")
    value, weight = random.integers(1, 20, n), random.integers(1, 20, (rows, n))
    x = model.add_variables("x", n, cost=-value * scale, kind="integer")
    row = np.repeat(np.arange(rows), n)
    model.add_rows("weight", rows, row, np.tile(x, rows), weight.ravel() * scale,
                   upper=weight.sum(axis=1) // 2 * scale)
    return model, value, weight


def enumerated(value, weight):
    points = np.array(np.meshgrid(*[[0, 1]] * len(value))).reshape(len(value), -1)
    fits = (weight @ points <= (weight.sum(axis=1) // 2)[:, None]).all(axis=0)
    return -float((value @ points)[fits].max())


def hard(n=60, seed=1):
    """Return a market-split problem, which no solver finishes in a second."""
    random = np.random.default_rng(seed)
    model = Model()
    weight = random.integers(0, 100, (6, n))
    x = model.add_variables("x", n, kind="integer")
    more = model.add_variables("more", (6, 2), upper=1e4, cost=1.0, kind="integer")
    row = np.arange(6)
    model.add_rows("split", 6, np.concatenate([np.repeat(row, n), row, row]),
                   np.concatenate([np.tile(x, 6), more[:, 0], more[:, 1]]),
                   np.concatenate([weight.ravel(), np.ones(6), -np.ones(6)]),
                   lower=weight.sum(axis=1) // 2, upper=weight.sum(axis=1) // 2)
    start = np.zeros(model.n_columns)
    start[more[:, 0]] = weight.sum(axis=1) // 2
    return model, start


@pytest.mark.parametrize("solver", ["highs", "cp-sat"])
@pytest.mark.parametrize("in_subprocess", [False, True])
def test_optimum_equals_enumeration(solver, in_subprocess):
    random = np.random.default_rng(0)
    for _ in range(2 if in_subprocess else 15):
        scale = float(random.choice([1.0, 0.1, 0.25]))
        model, value, weight = knapsack(random, scale=scale)
        solution = model.solve(solver, unit=scale, in_subprocess=in_subprocess)
        assert solution.status == "optimal"
        assert solution.objective == pytest.approx(scale * enumerated(value, weight))
        assert solution.bound == solution.objective
        assert model.violated(solution.values) is None
        assert model.evaluate(solution.values) == pytest.approx(solution.objective)


def test_relaxation_is_a_bound():
    random = np.random.default_rng(1)
    for _ in range(10):
        model, value, weight = knapsack(random)
        relaxed = model.relax()
        assert relaxed.status == "optimal"
        assert relaxed.objective <= enumerated(value, weight) + 1e-9
        assert (weight @ relaxed.values <= weight.sum(axis=1) // 2 + 1e-6).all()


@pytest.mark.parametrize("solver", ["highs", "cp-sat"])
def test_start_is_kept_and_bounds_are_valid(solver):
    model, start = hard()
    solution = model.solve(solver, start=start, time_limit=1.0, unit=1.0)
    assert solution.status == "time_limit"
    assert solution.events[0] == (0.0, model.evaluate(start), -np.inf, "start")
    assert solution.objective <= model.evaluate(start)
    assert solution.bound <= solution.objective
    assert model.violated(solution.values) is None
    incumbents = [event[1] for event in solution.events]
    assert incumbents == sorted(incumbents, reverse=True)


def test_a_start_that_violates_a_row_is_refused():
    model, _, weight = knapsack(np.random.default_rng(2))
    with pytest.raises(ValueError, match=r"the start violates weight\(0\): .* left side"):
        model.solve(start=np.ones(weight.shape[1]))
    with pytest.raises(ValueError, match=r"the start violates x\(0\) = 0.5"):
        model.solve(start=np.full(weight.shape[1], 0.5))


def test_part_of_a_start_is_completed():
    random = np.random.default_rng(3)
    model, value, weight = knapsack(random)
    start = np.full(len(value), np.nan)
    start[0] = 0.0
    for solver in ("highs", "cp-sat"):
        assert model.solve(solver, start=start).objective == enumerated(value, weight)


def test_killed_process_leaves_the_start(monkeypatch):
    model, start = hard()
    kill_the_solver(monkeypatch)
    solution = model.solve(start=start, in_subprocess=True, time_limit=60.0)
    assert solution.status == "died"
    assert solution.events[-1][-1] == "the solver's process ended with -9"
    assert np.array_equal(solution.values, start)
    assert model.solve(in_subprocess=True, time_limit=60.0).values is None


@pytest.mark.parametrize("in_subprocess", [False, True])
def test_interrupt_leaves_the_incumbent(in_subprocess):
    model, start = hard()
    with ctrl_c(1.0) as timer:
        timer.start()
        solution = model.solve(start=start, in_subprocess=in_subprocess, time_limit=60.0)
    assert solution.status == "interrupted"
    assert solution.objective <= model.evaluate(start)
    assert solution.seconds < 30.0


@pytest.mark.parametrize("solver", ["highs", "cp-sat"])
def test_time_limit_ends_a_process(solver):
    model, start = hard()
    solution = model.solve(solver, start=start, in_subprocess=True, time_limit=0.001)
    assert solution.status == "time_limit"      # not even Python has started by then
    assert np.array_equal(solution.values, start)


def test_views():
    model = Model("toy")
    x = model.add_variables("x", (2, 2), kind="integer", cost=[[1, 0], [0, -2]])
    z = model.add_variables("z", upper=10, kind="implied")
    model.add_rows("pair", 2, [0, 0, 1, 1, 1], [x[0, 0], x[0, 1], x[1, 0], x[1, 1], z],
                   [1, 1, 2, -1, -0.5], lower=[1, -np.inf], upper=[1, 0])
    model.add_rows("all", (), np.zeros(5, int), [*x.ravel(), z], 1, lower=1, upper=12)
    model.offset = 3
    assert model.row("pair", 0) == "pair(0): x(0,0) + x(0,1) = 1"
    assert model.row("pair", 1) == "pair(1): 2 x(1,0) - x(1,1) - 0.5 z <= 0"
    assert model.row("all") == "all: 1 <= x(0,0) + x(0,1) + x(1,0) + x(1,1) + z <= 12"
    assert model.row(2) == model.row("all")
    assert model.sizes() == {"integer": 4, "continuous": 1, "rows": 3, "nonzeros": 10}
    assert list(model.table()["count"]) == [4, 1, 2, 1]
    assert list(model.table()["nonzeros"]) == [0, 0, 5, 5]
    assert model.matrix.toarray()[1].tolist() == [0, 0, 2, -1, -0.5]
    assert repr(model) == "<toy: 4 integer, 1 continuous, 3 rows, 10 nonzeros>"
    with pytest.raises(ValueError, match=r"the rows 'pair' have the shape \(2,\); \(2,\) is no"):
        model.row("pair", 2)
    with pytest.raises(ValueError, match="there are no rows 'pairs'; the model has pair, all"):
        model.row("pairs")


def test_entries_for_one_place_are_added_up():
    model = Model()
    x = model.add_variables("x", 2)
    model.add_rows("r", 1, [0, 0, 0], [x[0], x[0], x[1]], [1, 2, 1], upper=1)
    assert model.row("r") == "r: 3 x(0) + x(1) <= 1"


def test_infeasible_and_empty_models():
    model = Model()
    x = model.add_variables("x", 2, kind="integer")
    model.add_rows("r", 1, [0, 0], x, 1, lower=3)
    for solver in ("highs", "cp-sat"):
        solution = model.solve(solver)
        assert solution.status == "infeasible"
        assert solution.values is None


def test_the_objective_of_a_point_has_the_offset():
    model = Model()
    x = model.add_variables("x", 2, cost=[3.0, -1.0], kind="integer", upper=2)
    model.add_rows("r", 1, [0, 0], x, 1, lower=1)
    model.offset = 2.5
    assert model.evaluate([2.0, 1.0]) == 7.5
    for solver in ("highs", "cp-sat"):
        solution = model.solve(solver)
        assert solution.objective == model.evaluate(solution.values) == 0.5


def test_a_row_without_a_limit_on_one_side_has_one_beyond_reach_in_whole_numbers():
    model = Model()
    x = model.add_variables("x", 2, kind="integer", upper=1)
    model.add_rows("at least", 1, [0, 0], x, 1, lower=-5)
    model.add_rows("at most", 1, [0, 0], x, [0.5, 1], upper=5)
    arrays = model.to_integer()
    assert arrays["row_lower"].tolist() == [-5, -2**61]
    assert arrays["row_upper"].tolist() == [2**61, 10]


def test_a_model_can_grow_after_it_was_solved():
    model = Model()
    x = model.add_variables("x", 3, cost=-1, kind="integer")
    assert model.solve().objective == -3
    model.add_rows("r", 1, [0, 0, 0], x, 1, upper=2)
    assert model.solve().objective == -2
    y = model.add_variables("y", cost=-5, kind="integer")
    model.add_rows("s", 1, [0, 0], [x[0], y[()]], 1, upper=1)
    assert model.solve().objective == -7
    assert model.row("r") == "r: x(0) + x(1) + x(2) <= 2"
    assert model.row("s") == "s: x(0) + y <= 1"


def test_errors_say_what_to_do():
    model = Model()
    x = model.add_variables("x", 2)
    with pytest.raises(ValueError, match="the name 'x' is taken"):
        model.add_variables("x")
    with pytest.raises(ValueError, match="an entry of the rows 'r' lies outside the 1 rows"):
        model.add_rows("r", 1, [1], x[:1], 1)
    model.add_rows("r", 1, [0, 0], x, 1, upper=1)      # a failed attempt leaves the name free
    with pytest.raises(ValueError, match="kind is 'boolean'; use one of continuous, integer"):
        model.add_variables("b", kind="boolean")
    with pytest.raises(ValueError, match=r"CP-SAT has no continuous variables, and x\(0\) is one"):
        model.solve("cp-sat")
    with pytest.raises(ValueError, match="HiGHS offers no branching priorities"):
        model.solve(priorities=[1, 1])
    with pytest.raises(ValueError, match="solver is 'cplex'; use 'highs' or 'cp-sat'"):
        model.solve("cplex")
    for in_subprocess in (False, True):
        with pytest.raises(ValueError, match="HiGHS has no option 'speed' with a value 3"):
            model.solve(settings={"speed": 3}, in_subprocess=in_subprocess)
    whole = Model()
    z = whole.add_variables("z", 2, kind="integer")
    whole.add_rows("r", 1, [0, 0], z, [np.pi, 1], upper=1)
    with pytest.raises(ValueError, match=r"CP-SAT needs whole coefficients, and r has 3\.14"):
        whole.solve("cp-sat")
    with pytest.raises(ValueError, match="CP-SAT has no parameter 'speed' with a value 3"):
        knapsack(np.random.default_rng(0))[0].solve("cp-sat", settings={"speed": 3})
    wide = Model()
    wide.add_variables("w", upper=np.inf, kind="integer")
    with pytest.raises(ValueError, match="CP-SAT needs finite whole bounds, and w has inf"):
        wide.solve("cp-sat")


@pytest.mark.parametrize(("solver", "module"), [
    ("highs", "highspy"), ("cp-sat", "ortools.sat.python.cp_model")])
def test_a_missing_library_is_named(monkeypatch, solver, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf"solver='{solver}' needs .*\[solvers\]"):
        knapsack(np.random.default_rng(0))[0].solve(solver)
