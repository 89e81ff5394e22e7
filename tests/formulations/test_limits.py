"""Depths, sizes, clocks and missing solvers: one rule for programs and path methods."""

import sys
import time
from functools import partial

import numpy as np
import pytest
from scale import SCALE

from odtbook.formulations import BinOCTClassifier, FlowOCTClassifier, OCTClassifier
from odtbook.formulations.binoct_model import BinOCTModel
from odtbook.formulations.thresholds import candidate_cuts
from odtbook.published import Sweep, pricing, row_cuts
from odtlib import (
    ColumnGenerationClassifier,
    ColumnGenerationSearch,
    DecisionTree,
    RestrictedTreeClassifier,
)
from odtlib._numba import warm as _warm
from odtlib.column_generation import _kernels as kernels
from odtlib.column_generation import paths
from odtlib.column_generation.master import Master
from odtlib.column_generation.pricing import Enumeration
from odtlib.heuristics.ranks import RankedRows
from odtlib.report import Clock, TimeUp

MODELS = [BinOCTClassifier, OCTClassifier, FlowOCTClassifier, RestrictedTreeClassifier,
          ColumnGenerationClassifier]


def noise(n_rows=60, n_features=4):
    random = np.random.RandomState(0)
    return random.normal(size=(n_rows, n_features)), random.randint(0, 2, n_rows)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_small_integers_are_depths(model, kind):
    X, y = noise(9)
    report = model(kind(8), time_limit=5.0).fit(X, y).report_
    assert report.objective == model(8, time_limit=5.0).fit(X, y).report_.objective


@pytest.mark.parametrize("model", MODELS)
def test_a_depth_that_no_row_reaches_is_not_built(model):
    X, y = noise(50)
    deep, enough = (model(depth).fit(X, y) for depth in (10**9, 49))
    assert deep.report_.status == enough.report_.status
    assert deep.report_.objective == enough.report_.objective
    assert deep.tree_.depth <= 49


@pytest.mark.parametrize("settings", [{}, {"splits": "all"}])
@pytest.mark.parametrize("model", [RestrictedTreeClassifier, ColumnGenerationClassifier])
def test_too_many_splits_leave_cart(model, settings, monkeypatch):
    X, y = noise()
    monkeypatch.setattr(paths, "MAX_FLAGS", 100)
    report = model(2, **settings).fit(X, y).report_
    assert report.status == "memory_limit" and report.start == "cart"
    assert report.lower_bound == 0 < report.objective


def test_too_many_leaves_leave_the_start():
    X, y = noise(400)
    for solver in ("highs", "lns"):
        report = BinOCTClassifier(16, solver=solver, random_state=0).fit(X, y).report_
        assert report.status in ("memory_limit", "optimal")
        assert report.objective == report.counters["start_objective"]
    assert BinOCTClassifier(16, random_state=0).fit(X[:, :1], y).report_.status == "memory_limit"


@pytest.mark.parametrize("model", [RestrictedTreeClassifier, ColumnGenerationClassifier])
def test_time_that_ends_during_preparation_leaves_cart(model, monkeypatch):
    X, y = noise(300)
    monkeypatch.setattr(Clock, "expired", True)
    report = model(3, splits="all").fit(X, y).report_
    assert report.status == "time_limit" and report.start == "cart"
    assert report.lower_bound == 0 < report.objective


def problem_of(X, y):
    splits = [[(0, -0.5), (0, 0.5), (1, 0.0)]] * 3
    return paths.RestrictedProblem(X, y, 2, splits)


@pytest.mark.parametrize("price", [Enumeration(), Sweep()])
def test_pricing_stops_when_time_is_over(price):
    master = Master(problem_of(*noise()), "prefix")
    master.add_tree(np.zeros(3, np.int64))
    leaf, _, best = price(master, master.solve(), np.ones(9, bool), 0.0)
    assert best is None and len(leaf) == 0


def test_a_sweep_in_small_steps_finds_the_same_paths(monkeypatch):
    master = Master(problem_of(*noise()), "prefix")
    master.add_tree(np.zeros(3, np.int64))
    found = [Sweep()(master, master.solve(), np.ones(9, bool))]
    monkeypatch.setattr("odtbook.published.sweep.STEPS", 1)
    monkeypatch.setattr("odtbook.published.sweep.MAX_PREFIXES", 2)
    found.append(Sweep()(master, master.solve(), np.ones(9, bool)))
    for whole, steps in zip(*found, strict=True):
        assert np.array_equal(whole, steps)


def test_a_master_is_not_built_when_time_is_over():
    with pytest.raises(TimeUp):
        Master(problem_of(*noise()), clock=Clock(1e-9))


@pytest.mark.parametrize("model", [RestrictedTreeClassifier, ColumnGenerationClassifier])
def test_kernels_are_compiled_before_the_clock_starts(model, monkeypatch):
    monkeypatch.setattr(_warm, "_warm", set())
    X, y = noise()
    names = [name for name in vars(kernels) if hasattr(vars(kernels)[name], "signatures")]
    settings = {} if model is RestrictedTreeClassifier else {
        "search": ColumnGenerationSearch(pricing=Sweep())}
    estimator = model(2, **settings)
    assert estimator._compile_kernels(X, y) > 0
    before = {name: len(vars(kernels)[name].signatures) for name in names}
    estimator.fit(X, y)
    assert before == {name: len(vars(kernels)[name].signatures) for name in names}


@pytest.mark.parametrize(("model", "module"), [
    (OCTClassifier(), "highspy"), (FlowOCTClassifier(), "highspy"), (BinOCTClassifier(), "highspy"),
    (OCTClassifier(solver="cp-sat"), "ortools.sat.python.cp_model"),
    (BinOCTClassifier(solver="lns"), "ortools.sat.python.cp_model"),
    (ColumnGenerationClassifier(), "highspy")])
def test_a_missing_solver_is_named_before_anything_is_compiled(model, module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(_warm, "_warm", set())
    with pytest.raises(ImportError, match=r'pip install "optimal-decision-trees\[solvers\]"'):
        model.fit(*noise())
    assert not _warm._warm


@pytest.mark.parametrize("make", [partial(pricing, "cp-sat"), partial(row_cuts, "extra")])
def test_a_missing_solver_of_a_published_variant_is_named_at_once(make, monkeypatch):
    monkeypatch.setitem(sys.modules, "ortools.sat.python.cp_model", None)
    with pytest.raises(ImportError, match=r'pip install "optimal-decision-trees\[solvers\]"'):
        make()


@pytest.mark.parametrize(("splits", "message"), [
    ([[("a", 0.5)]], r"splits has \('a', 0.5\) for node 0"),
    ([[(0, "b")]], r"splits has \(0, 'b'\) for node 0"), ([[3]], "splits has 3 for node 0")])
def test_splits_that_are_none_are_named(splits, message):
    with pytest.raises(ValueError, match=message):
        RestrictedTreeClassifier(1, splits=splits).fit(*noise())


INTERRUPTED = """
import numpy as np
from odtlib import *; from odtbook.formulations import *
from odtbook.published import Sweep, pricing
random = np.random.default_rng(0)
X, y = random.normal(size=({rows}, 8)), random.integers(0, 3, {rows})
model = {model}
model.set_params(time_limit=300.0)
model._compile_kernels(X, y)
print("ready", flush=True)
print(model.fit(X, y).report_.status, flush=True)
"""


@pytest.mark.parametrize("seconds", [0.5] if SCALE == 1 else [0.0, 0.1, 0.5, 1.5, 5.0])
@pytest.mark.parametrize("model", [
    "OCTClassifier(3)", "OCTClassifier(3, solver='cp-sat')",
    "FlowOCTClassifier(3, binarizer='all')", "BinOCTClassifier(3)",
    "BinOCTClassifier(3, solver='cp-sat')", "BinOCTClassifier(4, solver='lns')",
    "RestrictedTreeClassifier(3, splits='all')",
    "ColumnGenerationClassifier(4, search=ColumnGenerationSearch(integer='branch-and-price'))",
    "ColumnGenerationClassifier(4, search=ColumnGenerationSearch(pricing=pricing('milp')))",
    "ColumnGenerationClassifier(4, search=ColumnGenerationSearch(pricing=pricing('cp-sat')))",
    "ColumnGenerationClassifier(4, search=ColumnGenerationSearch(row_cuts='none', integer='milp'))",
    "ColumnGenerationClassifier(2, splits='all', "
    "search=ColumnGenerationSearch(pricing=Sweep(), link='prefix'))"])
def test_ctrl_c_ends_every_solver(model, seconds, child):
    """In a process of its own, in whichever phase it comes."""
    rows = 5000 if "splits='all'" in model else 400      # a fit must not end before Ctrl-C
    child.run(INTERRUPTED.format(model=model, rows=rows))
    assert child.read() == "ready"
    time.sleep(seconds)
    child.interrupt()
    assert child.read() == "interrupted"


def test_time_that_ends_while_conditions_are_counted_leaves_the_model_incomplete():
    X, y = noise()
    looks = []

    class Ending(Clock):
        def check(self):
            looks.append(1)
            if len(looks) == last:
                raise TimeUp

    rows = RankedRows(np.asarray(X, float), np.asarray(y), len(np.unique(y))).merged()
    cuts = candidate_cuts(rows, "all", max_depth=2)
    for last in range(1, len(cuts) + 3):    # once per feature, then once per half
        looks.clear()
        assert not BinOCTModel(rows, cuts, 2, clock=Ending()).complete
        assert len(looks) == last
    last = 0
    assert BinOCTModel(rows, cuts, 2, clock=Ending()).complete


def test_a_neighbourhood_that_is_too_large_with_any_feature_is_left_out(monkeypatch):
    monkeypatch.setattr("odtbook.formulations.lns.NONZEROS", 1)
    X = np.random.default_rng(0).normal(size=(30, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    leaf = DecisionTree.from_nested(0, n_classes=2, n_features=3)
    report = BinOCTClassifier(2, solver="lns", start=leaf, time_limit=0.5).fit(X, y).report_
    assert report.status == "time_limit" and report.counters["neighbourhoods"] == 0
    assert report.objective == min(y.sum(), len(y) - y.sum())
