"""ColumnGenerationClassifier: each choice runs, and none contradicts the exact optimum."""

import numpy as np
import pytest
from column_generation.reference import column_generation

from odtbook.published import PathPool, RandomPaths, Subproblems, Sweep
from odtlib import (
    ContinuousTreeClassifier,
    RestrictedTreeClassifier,
)
from odtlib.column_generation.pricing import Enumeration
from odtlib.column_generation.restricted import optimum
from odtlib.heuristics.threshold_sampling import SampledSplits


def data(seed=0, n_rows=80, n_classes=3):
    random = np.random.RandomState(seed)
    X = np.floor(random.rand(n_rows, 4) * 10)
    y = ((X[:, 0] > 4) + (X[:, 1] * random.rand(n_rows) > 3)).astype(int) % n_classes
    return X, y


def check(model, X, y, weight=None):
    """Fit and check what every answer must satisfy."""
    model.fit(X, y, weight)
    report = model.report_
    if not hasattr(model, "problem_"):       # the penalty alone says that no split pays
        assert model.tree_.n_leaves == 1 and report.status == "optimal" and report.gap == 0
        assert model.verify(X, y, weight) == pytest.approx(report.objective)
        return model
    best = optimum(model.problem_)
    assert report.objective >= best - 1e-6
    assert report.lower_bound <= best + 1e-6
    assert (report.status == "optimal") == (report.gap < 1e-6)
    assert model.verify(X, y, weight) == pytest.approx(report.objective)
    assert report.objective <= report.trace["incumbent"][0] + 1e-9   # CART at worst
    assert model.tree_.depth <= model.max_depth
    return model


CHOICES = [
    *({"row_cuts": cuts} for cuts in ("none", "lower", "upper", "equal", "all", "extra")),
    {"row_cuts": "extra", "solver": "milp"},
    {"row_cuts": "equal", "schedule": "published", "heuristic_pricing": "random"},
    {"heuristic_pricing": "pool"}, {"start_columns": "sampled"}, {"link": "prefix",
                                                                  "row_cuts": "none"},
    {"integer": "milp"}, {"integer": "diving", "row_cuts": "none"},
    {"integer": "branch-and-price", "row_cuts": "none"},
    {"integer": "branch-and-price"}, {"heuristic_pricing": "pool", "pricing": None},
    {"backend": "sklearn"}, {"stopping": "no-new-root", "n_trees": 20},
    {"root_candidates": "all", "node_candidates": 2},
    {"add_cart": True, "root_candidates": 1, "node_candidates": 1},
]


@pytest.mark.parametrize("choice", CHOICES, ids=str)
@pytest.mark.parametrize("depth", [1, 3])
def test_every_choice_stays_within_the_optimum(choice, depth):
    X, y = data()
    settings = {"n_trees": 40, **choice}
    model = check(column_generation(depth, **settings), X, y)
    counters = model.report_.counters
    ends = 2 ** (depth - (choice.get("link") == "prefix"))
    assert counters["columns"] >= ends and len(model.iterations_) == counters["iterations"]
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
    model = check(column_generation(2, **settings, **choice), X, y)
    plain = check(column_generation(2, **settings), X, y)
    tolerance = 1e-4 if choice["pricing"] == "cp-sat" else 1e-6
    assert model.report_.counters["converged"]
    assert model.report_.counters["relaxation"] == pytest.approx(
        plain.report_.counters["relaxation"], abs=tolerance)


@pytest.mark.parametrize("kind", ["integers", "floats"])
def test_weights(kind):
    X, y = data(3)
    random = np.random.RandomState(0)
    weight = random.randint(0, 4, len(y)).astype(float) if kind == "integers" else random.rand(80)
    check(column_generation(2, n_trees=30), X, y, weight)
    model = check(column_generation(2, n_trees=30, integer="branch-and-price",
                                             row_cuts="none"), X, y, weight)
    assert model.report_.objective == pytest.approx(optimum(model.problem_), abs=1e-6)


def test_costs_of_false_negatives_are_sample_weights():
    X, y = data(4, n_classes=2)
    costly = np.where(y == 1, 5.0, 1.0)
    plain = RestrictedTreeClassifier(2).fit(X, y)
    careful = RestrictedTreeClassifier(2).fit(X, y, costly)
    named = RestrictedTreeClassifier(2, class_weight={1: 5}).fit(X, y)
    missed = [np.sum((model.predict(X) == 0) & (y == 1)) for model in (plain, careful)]
    assert missed[1] <= missed[0]
    assert named.tree_ == careful.tree_ and named.verify(X, y) == careful.verify(X, y, costly)
    check(column_generation(2), X, y, costly)
    assert column_generation(2, class_weight={1: 5}).fit(X, y).report_.objective \
        == named.report_.objective
    labels = np.array(["no", "yes"])[y]
    assert RestrictedTreeClassifier(2, class_weight={"yes": 5}).fit(X, labels).report_.objective \
        == named.report_.objective


LIMITS = [{"min_samples_leaf": 9}, {"split_penalty": 2.0}, {"split_penalty": 0.7},
          {"split_penalty": 1.0, "min_samples_leaf": 4}, {"split_penalty": 100.0},
          {"max_leaf_nodes": 5}, {"max_nodes": 2},
          {"max_leaf_nodes": 3, "min_samples_leaf": 8, "split_penalty": 0.5}]


@pytest.mark.parametrize("form", [
    {}, {"link": "prefix", "row_cuts": "none"}, {"row_cuts": "extra"},
    {"integer": "branch-and-price"}, {"heuristic_pricing": "pool"}, {"integer": "diving"},
    {"link": "prefix", "row_cuts": "none", "pricing": Sweep()},
    {"pricing": "milp", "max_depth": 2, "root_candidates": 3, "node_candidates": 3}], ids=str)
@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_penalties_and_limits(limits, form):
    X, y = data(2, n_rows=70)
    model = check(column_generation(**{"max_depth": 3, "n_trees": 20, **limits, **form}),
                  X, y)
    rows = np.bincount(np.unique(model.apply(X), return_inverse=True)[1])
    assert len(rows) == model.tree_.n_leaves
    assert rows.min() >= limits.get("min_samples_leaf", 1)
    if "split_penalty" in limits:
        assert model.report_.objective == pytest.approx(
            np.sum(model.predict(X) != y) + limits["split_penalty"] * (len(rows) - 1))
    assert len(rows) <= limits.get("max_leaf_nodes", 8)
    assert model.tree_.n_splits <= limits.get("max_nodes", 7)
    if limits.get("split_penalty") == 100.0:
        assert model.tree_.n_leaves == 1


RANDOM = np.random.RandomState(0)


@pytest.mark.parametrize("settings", [
    {"heuristic_pricing": PathPool(RANDOM)},
    {"heuristic_pricing": RandomPaths(RANDOM, n_paths=20), "pricing": Enumeration(3),
     "merge_rows": False},
    {"pricing": Subproblems("cp-sat", distinct=True, scale=1e6, warm_start=False,
                            first_only=False),
     "max_depth": 2, "node_candidates": 3}], ids=("pool", "random", "programs"))
def test_pricing_methods_with_choices_of_their_own(settings):
    X, y = data()
    model = column_generation(**{"max_depth": 3, "n_trees": 20, **settings})
    first = check(model, X, y).report_.counters["columns"]
    assert check(model, X, y).report_.counters["columns"] == first   # a fit leaves them as given


def test_without_time_for_a_sample_cart_comes_back(monkeypatch):
    from odtlib.column_generation import restricted

    X, y = data()
    model = column_generation(2, time_limit=60.0)
    model._compile_kernels(X, y)                        # which takes a sample as well
    nothing = SampledSplits(2, [[]] * 3, [[]] * 3, [None] * 3, 0, 0.1, False)
    monkeypatch.setattr(restricted, "sample_splits", lambda *rows, **options: nothing)
    model.fit(X, y)
    assert model.report_.status == "time_limit"
    assert model.score(X, y) > np.bincount(y).max() / len(y)    # better than a leaf


def test_choices_that_cannot_work_are_refused():
    X, y = data()
    for settings, message in (
            ({"pricing": None}, "nothing would ever find"),
            ({"pricing": None, "heuristic_pricing": "pool", "integer": "branch-and-price"},
             "needs exact pricing"),
            ({"pricing": "milp", "link": "prefix"}, "papers' form only")):
        with pytest.raises(ValueError, match=message):
            column_generation(2, n_trees=5, **settings).fit(X, y)
    with pytest.raises(ValueError, match="more than column generation can enumerate"):
        column_generation(
            4, splits=[[(0, t / 10) for t in range(60)]] * 15).fit(X, y)


@pytest.mark.parametrize("integer", ["branch-and-price", "master", "diving"])
def test_a_start_without_an_error_is_proved_at_once(integer):
    X, y = data()
    y = ((X[:, 0] > 4) & (X[:, 1] > 3)).astype(int)
    model = column_generation(2, splits="all", integer=integer)
    check(model, X, y)
    assert model.report_.status == "optimal" and model.report_.objective == 0
    assert model.report_.counters["iterations"] == len(model.iterations_) == 0
    assert model.report_.counters["converged"] and model.report_.counters["integral"]
    loose, tight = (column_generation(2, splits="all", row_cuts=cuts).fit(X, y).report_.counters
                    for cuts in ("none", "all"))     # rows on two paths count twice
    assert tight["relaxation"] == len(y) < loose["relaxation"]


def test_the_same_seed_gives_the_same_run():
    X, y = data(7)
    runs = [column_generation(3, n_trees=30, heuristic_pricing="pool",
                                       random_state=3).fit(X, y) for _ in range(2)]
    assert runs[0].tree_ == runs[1].tree_
    assert runs[0].report_.counters["columns"] == runs[1].report_.counters["columns"]


def test_verbose_prints_a_line_an_iteration(capsys):
    X, y = data()
    model = column_generation(2, n_trees=10, verbose=1).fit(X, y)
    assert capsys.readouterr().out.count("iteration") == len(model.iterations_)


SWEEP = {"splits": "all", "pricing": Sweep(), "link": "prefix", "row_cuts": "none"}


@pytest.mark.parametrize("seed", range(8))
def test_all_thresholds_at_depth_two_equal_the_solver_over_all_thresholds(seed):
    random = np.random.RandomState(seed)
    if seed < 4:
        X, y = np.floor(random.rand(60, 3) * 15), random.randint(0, 2 + seed % 2, 60)
    else:
        X, y = random.rand(150, 4), random.randint(0, 2 + seed % 2, 150)
    exact = ContinuousTreeClassifier(2).fit(X, y).report_.objective
    choices = [SWEEP]
    if seed < 4:   # the papers' form needs to branch
        choices.append({"splits": "all", "integer": "branch-and-price"})
        choices.append({"splits": "all", "integer": "branch-and-price", "pricing": Sweep()})
    for choice in choices:
        model = column_generation(2, **choice).fit(X, y)
        assert model.report_.status == "optimal"
        assert model.report_.objective == exact == model.verify(X, y)
        assert model.report_.objective <= model.report_.trace["incumbent"][0]
    assert RestrictedTreeClassifier(2, splits="all").fit(X, y).report_.objective == exact


def test_all_thresholds_of_a_data_set_of_the_papers():
    from odtbook.datasets import load, splits
    data = load("IndiansDiabetes")
    rows = splits("IndiansDiabetes")[0][0]
    X, y = np.asarray(data.X, float)[rows], np.asarray(data.y)[rows]
    model = column_generation(2, **SWEEP).fit(X, y)
    assert model.report_.status == "optimal" and model.problem_.n_splits > 2500
    assert model.report_.objective == ContinuousTreeClassifier(2).fit(X, y).report_.objective


def test_a_heuristic_that_finds_known_paths_does_not_end_the_proof():
    X = np.array([[3, 1, 0, 0], [3, 0, 1, 0], [0, 1, 2, 0], [3, 1, 1, 0], [0, 1, 3, 0],
                  [1, 1, 0, 0], [2, 2, 1, 0], [2, 2, 1, 0]], float)
    y = [0, 1, 0, 0, 2, 0, 2, 2]
    model = column_generation(2, splits="all", heuristic_pricing="pool", row_cuts="none",
                                       integer="branch-and-price", merge_rows=False)
    report = model.fit(X, y).report_
    assert (report.status, report.objective) == ("optimal", 1.0)


def test_the_integer_master_ends_where_presolve_would_not():
    one, two = 1.0000000000000002, 1.0000000000000004
    X = [[-1.1231602393381728, one, 0, 1], [-0.10211688438545341, two, 2, two],
         [-0.1755123836991068, 1, 1, two], [0, 0, 0, 0]]
    model = column_generation(2, splits="all", integer="milp", row_cuts="equal",
                                       min_samples_leaf=2, split_penalty=20000.100000000002,
                                       n_trees=20)
    report = model.fit(X, [0, 0, 0, 1], [1.0, 1e5, 1e5, 0.0]).report_
    assert (report.status, report.objective) == ("optimal", 0.0)
