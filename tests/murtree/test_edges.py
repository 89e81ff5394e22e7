"""Data and limits at the edge: rows of weight zero, no columns, extreme depths, no compiler."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.base import clone

from odtlib import MurTreeClassifier, MurTreeRegressor
from odtlib._numba import warm as _warm
from odtlib.murtree._objectives import kernel_addresses
from odtlib.murtree.preparation import likely_kernel, prepare, whole_weights
from tests.murtree.building import build


def numbers(seed=0, n_rows=60):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 2))
    y = (X[:, 0] > 0).astype(int)
    y[n_rows // 2:] = 1 - y[n_rows // 2:]          # half of the rows contradict the others
    return X, y


def same_fit(make, X, y, weight, **data):
    """Rows of weight zero change nothing."""
    used = weight > 0
    whole = make().fit(X, y, weight, **data)
    part = make().fit(X[used], y[used], weight[used],
                      **{name: value[used] for name, value in data.items()})
    assert whole.report_.objective == part.report_.objective
    assert whole.tree_ == part.tree_
    assert whole.verify(X, y, weight) == pytest.approx(whole.report_.objective)
    return whole


@pytest.mark.parametrize("weight", [1.0, 100.0, 0.7])
@pytest.mark.parametrize("options", [{}, {"binarizer": "quantile"}, {"binarizer": "all"},
                                     {"min_samples_leaf": 5}, {"minimise_nodes": True},
                                     {"objective": "balanced-accuracy"}])
def test_rows_of_weight_zero_are_not_there(options, weight):
    for seed in range(3):
        X, y = numbers(seed)
        weights = np.where(np.arange(len(y)) < 30, weight, 0.0)
        model = same_fit(lambda: build(MurTreeClassifier, 2, **options), X, y, weights)
        if not options:
            assert model.report_.objective == 0.0


def test_rows_of_weight_zero_are_not_there_in_0_1_columns():
    X, y = np.array([[0], [0], [1], [1], [1]]), np.array([0, 0, 1, 1, 1])
    weight = np.array([1.0, 0, 1, 1, 1])
    model = same_fit(lambda: MurTreeClassifier(1, min_samples_leaf=2, binarizer=None), X, y,
                     weight)
    assert model.report_.objective == 1.0 and model.tree_.n_splits == 0


def test_rows_of_weight_zero_are_in_no_group_and_no_front():
    X, y = numbers()
    X = (X > 0).astype(int)
    weight = np.where(np.arange(60) < 40, 1.0, 0.0)
    group = np.random.default_rng(1).integers(0, 2, 60).astype(str)
    group[50:] = "a third one"
    same_fit(lambda: MurTreeClassifier(2, max_disparity=0.1), X, y, weight, protected=group)
    same_fit(lambda: MurTreeClassifier(2, objective="f1"), X, y, weight)
    same_fit(lambda: MurTreeClassifier(2, split_penalty=[1.0, 0.5]), X, y, weight)
    assert MurTreeClassifier(2).optimal_trees(X, y, weight).count == MurTreeClassifier(
        2).optimal_trees(X[:40], y[:40]).count


@pytest.mark.parametrize("options", [{}, {"loss": "absolute_error"}, {"min_samples_leaf": 4},
                                     {"binarizer": "all"}])
def test_rows_of_weight_zero_are_not_there_in_regression(options):
    X, y = numbers()
    target = y + 0.1 * X[:, 1]
    for weight in (1.0, 100.0, 0.7):
        weights = np.where(np.arange(60) < 30, weight, 0.0)
        same_fit(lambda: build(MurTreeRegressor, 2, **options), X, target, weights)


@pytest.mark.parametrize("start", ["cart", "local-search"])
def test_a_start_without_columns(start):
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = MurTreeClassifier(2, start=start, binarizer="mdlp").fit(X, np.arange(60) % 2)
    assert model.tree_.n_splits == 0 and model.report_.objective == 30
    assert model.report_.status == "optimal"
    constant = MurTreeRegressor(2, start="cart").fit(3 * np.ones((6, 2)), np.arange(6.0))
    assert constant.tree_.n_splits == 0 and constant.report_.objective == pytest.approx(17.5)


def test_fewer_rows_than_a_leaf_needs():
    X, y = np.array([[0], [0], [1], [1], [1], [0]]), np.array([1.0, 2, 3, 4, 5, 6])
    model = MurTreeRegressor(start="cart", min_samples_leaf=10).fit(X, y)
    assert model.tree_.n_splits == 0 and model.report_.status == "optimal"


@pytest.mark.parametrize("depth", [np.int8(3), np.uint8(3), np.int64(3)])
@pytest.mark.parametrize("model", [MurTreeClassifier, MurTreeRegressor])
def test_depths_of_any_integer_type(model, depth):
    X, y = numbers()
    X = np.column_stack([X > 0, X > 0.5, X > -0.5]).astype(int)
    fits = [model(d).fit(X, y).report_ for d in (depth, 3)]
    assert fits[0].objective == fits[1].objective
    assert fits[0].proof == fits[1].proof


@pytest.mark.parametrize("model", [
    MurTreeClassifier(), MurTreeRegressor(), MurTreeClassifier(objective="f1"),
    build(MurTreeClassifier, deepening=True), MurTreeClassifier(start="cart")])
def test_a_huge_depth_is_the_depth_that_the_rows_reach(model):
    rng = np.random.default_rng(0)
    X = (rng.random((12, 4)) < 0.5).astype(int)
    y = rng.integers(0, 2, 12)
    reports = [model.set_params(max_depth=depth).fit(X, y).report_ for depth in (11, 10 ** 9)]
    assert reports[0].objective == reports[1].objective
    assert reports[0].counters == reports[1].counters


def test_depths_above_31_fit_into_the_cache():
    """A path of 40 tests: each column cuts one row off, of the other class each time."""
    n = 40
    X = np.tril(np.ones((n + 1, n), int), -1)
    y = np.arange(n + 1) % 2
    model = build(MurTreeClassifier, n, max_nodes=n, merge_columns=False).fit(X, y)
    assert model.report_.status == "optimal" and model.report_.objective == 0
    assert model.verify(X, y) == 0


def test_no_compiler():
    code = ("from odtlib import MurTreeClassifier as M\n"
            "try: M(2).fit([[0, 1], [1, 0], [1, 1]], [0, 1, 1])\n"
            "except RuntimeError as error: print(error)\n")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                         env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, check=False)
    assert "unset NUMBA_DISABLE_JIT" in run.stdout, run.stderr


@pytest.mark.parametrize("model, question", [
    (MurTreeClassifier(3), "fit"), (build(MurTreeClassifier, 3, cache="closure"), "fit"),
    (MurTreeClassifier(3, objective="balanced-accuracy"), "path"),
    (MurTreeClassifier(3, objective="f1"), "fit"),
    (MurTreeClassifier(3, min_samples_leaf=2), "optimal_trees"), (MurTreeRegressor(3), "path"),
    (MurTreeRegressor(3, loss="absolute_error"), "fit")])
@pytest.mark.parametrize("weight", [None, 1, 1000, 0.5])
def test_compiling_takes_nothing_from_the_time_limit(model, question, weight, monkeypatch):
    """By a clock that jumps a thousand seconds whenever kernels are compiled."""
    X, y = numbers()
    X, passed, clock, addresses = (X > 0).astype(int), 0.0, time.perf_counter, kernel_addresses
    data = [X, y]
    if weight is not None and (model.search is None or model.search.cache != "closure") \
            and not (weight == 0.5 and getattr(model, "objective", "") == "f1"):
        data.append(weight * (1 + np.arange(60) % 2))
    compiled = set()

    def slow(name):
        nonlocal passed
        passed += 1000.0 * (name not in compiled)
        compiled.add(name)
        return addresses(name)

    monkeypatch.setattr("odtlib.murtree.solver.kernel_addresses", slow)
    monkeypatch.setattr(time, "perf_counter", lambda: clock() + passed)
    monkeypatch.setattr(_warm, "_warm", set())
    model = clone(model).set_params(time_limit=500)
    reports = []
    for _ in range(2):
        getattr(model, question)(*data)
        reports.append(model.report_)
    assert reports[0].compile_seconds >= 1000 * len(compiled) > 0 and reports[0].seconds < 500
    assert reports[1].compile_seconds == 0 and reports[0].status == reports[1].status == "optimal"


def test_the_kernel_that_is_chosen_is_the_likely_one():
    """But where equal rows cancel out, or become one."""
    rng, other = np.random.default_rng(0), 0
    for _ in range(200):
        n, n_classes = int(rng.integers(2, 400)), int(rng.integers(2, 4))
        X, y = rng.integers(0, 2, (n, 9)), rng.integers(0, n_classes, n)
        weight = [None, rng.integers(1, 5, n), rng.integers(1, 40, n), rng.random(n) + 0.1,
                  (n / (1 + np.bincount(y)))[y], rng.integers(1, 9, n_classes)[y]][rng.integers(6)]
        min_leaf, whole = int(rng.integers(1, 3)), weight
        if weight is not None and (numbers := whole_weights(weight)) is not None:
            whole = numbers[0]
        kernel = prepare(X, y, n_classes, whole, min_samples_leaf=min_leaf).kernel
        other += kernel != likely_kernel(y, n_classes, min_leaf, weight, False)
    assert other < 20
    many = np.repeat([0, 1], [40_000, 10])
    assert likely_kernel(many, 2, 1, None, False) == "two classes, 32 bits"
    assert likely_kernel(many, 2, 1, None, True) == "two weighted classes, 32 bits"
