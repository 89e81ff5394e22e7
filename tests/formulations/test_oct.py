"""OCTClassifier: the optimum of brute force, its options, limits, and the chosen price."""

import numpy as np
import pytest
from formulations.reference import check, instance, optimum

from odtbook.datasets import load
from odtbook.formulations import OCTClassifier
from odtbook.formulations.oct import OCTModel, leaves_below
from odtlib import ContinuousTreeClassifier


def test_neighbours_of_a_threshold_are_told_apart():
    # huge, tiny and nearly equal values: only their ranks enter the program
    for low, high in ((1e-300, 2e-300), (1.0, np.nextafter(1.0, 2)), (1e15, 1e15 + 0.125)):
        X = np.array([[low], [high], [low], [high]])
        report = check(OCTClassifier(1, start=None), X, np.array([0, 1, 0, 1]))
        assert report.objective == 0


def test_features_with_one_threshold_or_none():
    X = np.column_stack([np.zeros(6), [0, 0, 0, 1, 1, 1], [0, 1, 2, 3, 4, 5]]).astype(float)
    y = np.array([0, 0, 0, 1, 1, 1])
    model = OCTClassifier(1, start=None).fit(X[:, :2], y)
    assert model.report_.objective == 0 and model.tree_.threshold[0] == 0.5
    model = OCTClassifier(2, start=None).fit(X[:, :1], y)
    assert model.report_.status == "optimal" and model.report_.objective == 3


def test_unsplit_nodes_must_be_told_where_rows_go():
    # equal rows of two classes: no tree can tell them apart, the usual form of the model can
    X, y = np.zeros((6, 1)), np.array([0, 1, 0, 1, 0, 1])
    usual = OCTModel(X, y, 2, np.ones(6), 1, repaired=False)
    assert usual.model.solve().objective == pytest.approx(0)
    assert OCTModel(X, y, 2, np.ones(6), 1).model.solve().objective == pytest.approx(3)


def test_relaxation_is_a_bound_and_never_weaker_per_node():
    random = np.random.default_rng(11)
    for _ in range(30):
        X, y = instance(random, int(random.integers(2, 9)), int(random.integers(1, 4)),
                        int(random.integers(2, 4)), int(random.integers(2, 6)))
        weight = random.integers(1, 4, len(y)).astype(float)
        values = {form: OCTModel(X, y, y.max() + 1, weight, 2,
                                 constraint_form=form).model.relax().objective
                  for form in ("per_node", "per_leaf")}
        assert values["per_leaf"] <= values["per_node"] + 1e-6
        assert values["per_node"] <= optimum(X, y, weight, None, 2) + 1e-6


def test_size_is_known_before():
    for depth in (1, 2, 3):
        for rows in ("per_node", "per_leaf"):
            X, y = np.random.RandomState(0).rand(40, 5), np.arange(40) % 3
            model = OCTModel(X, y, 3, np.ones(40), depth, constraint_form=rows).model
            guess = OCTModel.n_nonzeros(40, 5, 3, depth, rows)
            assert model.sizes()["nonzeros"] <= 1.3 * guess
            assert guess <= 1.6 * model.sizes()["nonzeros"]


def test_leaves_below():
    assert leaves_below(0, 3) == (0, 4, 8)
    assert leaves_below(2, 3) == (4, 6, 8)
    assert leaves_below(4, 3) == (2, 3, 4)


def test_weight_zero_is_absence_and_weight_two_a_copy():
    random = np.random.RandomState(2)
    X, y, _ = random.randint(0, 5, (8, 2)).astype(float), random.randint(0, 2, 8), None
    y[:3] = 0, 1, 1
    weight = np.array([1, 2, 1, 0, 1, 2, 1, 1.0])
    copies = np.repeat(np.arange(8), weight.astype(int))
    weighted = check(OCTClassifier(2), X, y, weight)
    copied = check(OCTClassifier(2), X[copies], y[copies])
    assert weighted.objective == copied.objective
    check(OCTClassifier(1, solver="cp-sat"), X, y, weight + random.random(8))
    assert check(OCTClassifier(2, solver="cp-sat"), X, y, weight / 3).objective == pytest.approx(
        copied.objective / 3)
    assert check(OCTClassifier(2), X, y, weight / 4).objective == copied.objective / 4


def test_starts():
    random = np.random.RandomState(4)
    X, y = random.randint(0, 6, (40, 3)).astype(float), random.randint(0, 2, 40)
    for start in ("cart", "local-search"):
        report = check(OCTClassifier(2, start=start, time_limit=0.3, random_state=0), X, y)
        assert report.start == start and report.status in ("time_limit", "optimal")
    best = ContinuousTreeClassifier(2).fit(X, y)
    report = check(OCTClassifier(2, start=best.tree_, time_limit=0.3), X, y)
    assert report.start == "tree" and report.objective == best.report_.objective
    nothing = OCTClassifier(2, start=None, time_limit=0.3).fit(X, y).report_
    assert nothing.start is None and nothing.trace["incumbent"].iloc[0] == np.inf
    with pytest.raises(ValueError, match="tree of depth 2 and max_depth is 1"):
        OCTClassifier(1, start=best.tree_).fit(X, y)


def test_time_limit_leaves_the_start():
    data = load("breast_cancer")
    model = OCTClassifier(5, time_limit=1.0, random_state=0).fit(data.X, data.y)
    report = model.report_
    assert report.status == "time_limit" and 0 <= report.lower_bound < report.objective
    assert model.score(data.X, data.y) > 0.95
    assert report.counters["gain"] == report.counters["start_objective"] - report.objective


def test_too_large_a_model_is_not_built(monkeypatch):
    monkeypatch.setattr("odtbook.formulations.program.MAX_NONZEROS", 1000)
    data = load("breast_cancer")
    report = OCTClassifier(3).fit(data.X, data.y).report_
    assert report.status == "memory_limit" and report.lower_bound == 0
    assert "rows" not in report.counters


def test_an_interruption_ends_the_path_and_not_one_budget(monkeypatch):
    def interrupted(*arguments, **settings):
        calls.append(1)
        raise KeyboardInterrupt

    calls = []
    monkeypatch.setattr("odtbook.formulations.model.Model.solve", interrupted)
    X = np.random.default_rng(0).normal(size=(30, 2))
    path = OCTClassifier(2).path(X, X[:, 0] * X[:, 1] > 0)
    assert [entry.status for entry in path] == ["optimal"] + ["interrupted"] * 3
    assert len(calls) == 1


def test_an_interruption_leaves_the_start(monkeypatch):
    def interrupted(*arguments, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr("odtbook.formulations.model.Model.solve", interrupted)
    data = load("iris")
    report = check(OCTClassifier(2, start="cart", random_state=0), np.asarray(data.X, float),
                   np.asarray(data.y))
    assert report.status == "interrupted" and report.lower_bound == 0
    assert report.objective == report.counters["start_objective"]


def test_path_and_tuning():
    random = np.random.RandomState(1)
    X = random.randint(0, 5, (14, 2)).astype(float)
    y = np.where((X[:, 0] > 2) ^ (random.rand(14) < 0.3), "yes", "no")
    codes = np.unique(y, return_inverse=True)[1]
    model = OCTClassifier(2, random_state=0)
    entries = model.path(X, y)
    assert [entry.max_nodes for entry in entries] == [0, 1, 2, 3]
    for entry in entries:
        assert entry.status == "optimal" and entry.tree.n_splits <= entry.max_nodes
        assert entry.objective == optimum(X, codes, np.ones(14), None, 2, entry.max_nodes)
    assert model.report_.objective == entries[-1].objective
    assert set(model.predict(X)) <= {"yes", "no"}
    model.tune(X, y, X[:8], y[:8])
    fewest = min(np.sum(entry.tree.predict(X[:8]) != y[:8]) for entry in entries)
    assert np.sum(model.predict(X[:8]) != y[:8]) >= fewest
    # at the price chosen, the tree is as good as any
    price = model.split_penalty_
    priced = OCTClassifier(2, split_penalty=price).fit(X, y).report_
    assert model.report_.objective + price * model.tree_.n_splits == pytest.approx(
        priced.objective, abs=1e-5)
    with pytest.raises(ValueError, match="set split_penalty=0"):
        OCTClassifier(2, split_penalty=0.1).path(X, y)


def test_refuses_what_it_cannot_use():
    X, y = [[0.0], [1.0]], [0, 1]
    with pytest.raises(ValueError, match="'constraint_form' parameter"):
        OCTClassifier(constraint_form="summed").fit(X, y)
    with pytest.raises(ValueError, match="'split_penalty' parameter"):
        OCTClassifier(split_penalty=-1.0).fit(X, y)
