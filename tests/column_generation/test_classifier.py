"""ColumnGenerationClassifier: every choice runs, and none contradicts the exact optimum."""

import pickle
import time

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from odtlib import (
    ColumnGenerationClassifier,
    ContinuousTreeClassifier,
    RestrictedTreeClassifier,
)
from odtlib.column_generation.restricted import optimum


def data(seed=0, n_rows=80, n_classes=3):
    random = np.random.RandomState(seed)
    X = np.floor(random.rand(n_rows, 4) * 10)
    y = ((X[:, 0] > 4) + (X[:, 1] * random.rand(n_rows) > 3)).astype(int) % n_classes
    return X, y


def check(model, X, y, weight=None):
    """Fit and check what every answer must satisfy."""
    model.fit(X, y, weight)
    report, best = model.report_, optimum(model.problem_)
    assert report.objective >= best - 1e-6
    assert report.lower_bound <= best + 1e-6
    assert (report.status == "optimal") == (report.gap < 1e-6)
    assert model.verify(X, y, weight) == pytest.approx(report.objective)
    assert report.objective <= report.trace["incumbent"][0] + 1e-9   # CART at worst
    assert model.tree_.depth <= model.max_depth
    return model


def test_the_estimator_passes_scikit_learns_checks():
    check_estimator(ColumnGenerationClassifier(max_depth=2, n_trees=10))


CHOICES = [
    *({"row_cuts": cuts} for cuts in ("none", "lower", "upper", "equal", "all", "extra")),
    {"row_cuts": "extra", "separation": "milp"},
    {"row_cuts": "equal", "cut_schedule": "published", "heuristic_pricing": "random"},
    {"heuristic_pricing": "pool"}, {"start_columns": "sampled"}, {"link": "prefix",
                                                                  "row_cuts": "none"},
    {"integer": "diving", "row_cuts": "none"}, {"integer": "branch-and-price", "row_cuts": "none"},
    {"integer": "branch-and-price"}, {"heuristic_pricing": "pool", "pricing": None},
    {"sampling": "sklearn"}, {"stopping": "no-new-root", "n_trees": 20},
    {"root_candidates": "all", "node_candidates": 2},
]


@pytest.mark.parametrize("choice", CHOICES, ids=str)
@pytest.mark.parametrize("depth", [1, 3])
def test_every_choice_stays_within_the_optimum(choice, depth):
    X, y = data()
    settings = {"n_trees": 40, **choice}
    model = check(ColumnGenerationClassifier(depth, **settings), X, y)
    counters = model.report_.counters
    assert counters["columns"] >= 2 ** depth and len(model.iterations_) == counters["iterations"]
    if choice.get("integer") == "branch-and-price" or choice.get("link") == "prefix":
        assert model.report_.status == "optimal"
    if choice.get("pricing", "enumeration") is None:
        assert model.report_.lower_bound == 0 and model.report_.status != "optimal"
    if choice.get("row_cuts") in ("none", "lower"):
        assert (counters["cuts"] == 0) == (choice["row_cuts"] == "none" or counters["cuts"] == 0)


@pytest.mark.parametrize("choice", [
    {"pricing": "cp-sat"}, {"pricing": "milp"}, {"pricing": "cp-sat", "subproblems": "per-class"},
    {"pricing": "milp", "subproblems": "per-class", "heuristic_pricing": "pool"}], ids=str)
def test_integer_pricing_gives_the_relaxation_of_enumeration(choice):
    X, y = data(n_rows=40)
    settings = dict(n_trees=20, node_candidates=3, root_candidates=3)
    model = check(ColumnGenerationClassifier(2, **settings, **choice), X, y)
    plain = check(ColumnGenerationClassifier(2, **settings), X, y)
    tolerance = 1e-4 if choice["pricing"] == "cp-sat" else 1e-6
    assert model.report_.counters["converged"]
    assert model.report_.counters["relaxation"] == pytest.approx(
        plain.report_.counters["relaxation"], abs=tolerance)


@pytest.mark.parametrize("kind", ["integers", "floats"])
def test_weights(kind):
    X, y = data(3)
    random = np.random.RandomState(0)
    weight = random.randint(0, 4, len(y)).astype(float) if kind == "integers" else random.rand(80)
    check(ColumnGenerationClassifier(2, n_trees=30), X, y, weight)
    model = check(ColumnGenerationClassifier(2, n_trees=30, integer="branch-and-price",
                                             row_cuts="none"), X, y, weight)
    assert model.report_.objective == pytest.approx(optimum(model.problem_), abs=1e-6)


def test_costs_of_false_negatives_are_sample_weights():
    X, y = data(4, n_classes=2)
    costly = np.where(y == 1, 5.0, 1.0)
    plain = RestrictedTreeClassifier(2).fit(X, y)
    careful = RestrictedTreeClassifier(2).fit(X, y, costly)
    missed = [np.sum((model.predict(X) == 0) & (y == 1)) for model in (plain, careful)]
    assert missed[1] <= missed[0]
    check(ColumnGenerationClassifier(2), X, y, costly)


@pytest.mark.parametrize("limit", [1e-6, 0.3])
def test_a_time_limit_holds_and_a_tree_comes_back(limit):
    random = np.random.RandomState(0)
    X, y = random.rand(1500, 12), random.randint(0, 3, 1500)
    ColumnGenerationClassifier(2, n_trees=5).fit(X, y)   # compiled before the clock runs
    model = ColumnGenerationClassifier(4, sample_share=0.5, time_limit=limit)
    begin = time.perf_counter()
    model.fit(X, y)
    assert time.perf_counter() - begin < limit + 5   # generous: a shared machine
    assert model.report_.status == "time_limit"
    assert model.verify(X, y) == model.report_.objective


def test_an_interrupt_returns_a_tree(monkeypatch):
    from odtlib.column_generation import pricing

    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(pricing.Enumeration, "__call__", interrupt)
    X, y = data()
    model = ColumnGenerationClassifier(3, n_trees=20).fit(X, y)
    assert model.report_.status == "interrupted"
    assert model.verify(X, y) == model.report_.objective


def test_choices_that_cannot_work_are_refused():
    X, y = data()
    for settings, message in (
            ({"pricing": None}, "nothing would ever find"),
            ({"pricing": None, "heuristic_pricing": "pool", "integer": "branch-and-price"},
             "needs exact pricing"),
            ({"pricing": "milp", "link": "prefix"}, "papers' form only")):
        with pytest.raises(ValueError, match=message):
            ColumnGenerationClassifier(2, n_trees=5, **settings).fit(X, y)
    with pytest.raises(ValueError, match="more than column generation can enumerate"):
        ColumnGenerationClassifier(
            4, splits=[[(0, t / 10) for t in range(60)]] * 15).fit(X, y)


def test_the_same_seed_gives_the_same_run():
    X, y = data(7)
    runs = [ColumnGenerationClassifier(3, n_trees=30, heuristic_pricing="pool",
                                       random_state=3).fit(X, y) for _ in range(2)]
    assert runs[0].tree_ == runs[1].tree_
    assert runs[0].report_.counters["columns"] == runs[1].report_.counters["columns"]
    assert pickle.loads(pickle.dumps(runs[0])).predict(X).tolist() == runs[0].predict(X).tolist()
    assert clone(runs[0]).get_params() == runs[0].get_params()


def test_verbose_prints_a_line_an_iteration(capsys):
    X, y = data()
    model = ColumnGenerationClassifier(2, n_trees=10, verbose=1).fit(X, y)
    assert capsys.readouterr().out.count("bound") == len(model.iterations_)


@pytest.mark.parametrize("seed", range(4))
def test_all_thresholds_at_depth_two_equal_the_solver_over_all_thresholds(seed):
    random = np.random.RandomState(seed)
    X, y = np.floor(random.rand(60, 3) * 15), random.randint(0, 2 + seed % 2, 60)
    values = [np.unique(column) for column in X.T]
    splits = [(f, float(t)) for f, v in enumerate(values) for t in (v[1:] + v[:-1]) / 2]
    model = ColumnGenerationClassifier(2, splits=[splits] * 3, integer="branch-and-price")
    model.fit(X, y)
    assert model.report_.status == "optimal"
    assert model.report_.objective == ContinuousTreeClassifier(2).fit(X, y).report_.objective
