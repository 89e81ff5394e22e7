"""F1, balanced accuracy, the Pareto front and fairness: limits, prices, and what is refused."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score

from odtbook.published import PaperSearch
from odtlib import MurTreeClassifier, MurTreeSearch
from odtlib.murtree.extensions import fronts
from odtlib.report import Clock, TimeUp


def blobs(n_rows=220, n_columns=14, seed=0):
    rng = np.random.default_rng(seed)
    X = (rng.random((n_rows, n_columns)) < 0.5).astype(np.uint8)
    y = (X[:, 0] & X[:, 1]) ^ (X[:, 2] & X[:, 3]) ^ (rng.random(n_rows) < 0.15)
    group = X[:, 0] ^ (rng.random(n_rows) < 0.2)
    return X, y.astype(int), group.astype(int)


@pytest.mark.parametrize("disparity", ["demographic-parity", "equal-opportunity"])
@pytest.mark.parametrize("seed", range(4))
def test_prices_change_no_optimum_and_bound_it_from_below(disparity, seed, monkeypatch):
    """Without prices it is the front of plain errors that is searched."""
    rng = np.random.default_rng(seed)
    searched, raise_limit, exact = [], fronts.FairRun.raise_limit, fronts.EXACT

    def noted(run, depth, nodes, least, allowed):
        searched.append((run.prices[1], run.fit.objective - least))
        raise_limit(run, depth, nodes, least, allowed)
        assert run.fit.objective >= least

    monkeypatch.setattr(fronts.FairRun, "raise_limit", noted)
    for _ in range(6):
        n_rows, depth = int(rng.integers(40, 160)), int(rng.integers(2, 5))
        X, y, group = blobs(n_rows, 7 if depth < 4 else 5, int(rng.integers(1000)))
        group[rng.random(n_rows) < rng.choice([0.0, 0.2])] = 2
        weight = rng.integers(1, rng.choice([2, 4]), n_rows)
        options = {"max_disparity": float(rng.choice([0.0, 0.01, 0.05, 0.2])),
                   "max_nodes": int(rng.integers(2, 2 ** depth)),
                   "min_samples_leaf": int(rng.choice([1, 1, 4])), "disparity": disparity}
        found = []
        for most in (exact, 0):
            monkeypatch.setattr(fronts, "EXACT", most)
            model = MurTreeClassifier(depth, **options).fit(X, y, weight, protected=group)
            assert model.report_.status == "optimal"
            assert model.verify(X, y, weight) == model.report_.objective
            assert model.report_.counters["disparity"] <= options["max_disparity"] + 1e-9
            found.append(model.report_.objective)
        assert found[0] == found[1]
    assert any(price > 0 and gap > 0 for price, gap in searched)
    assert any(price == 0 for price, _ in searched)


def test_fairness_costs_errors_and_no_limit_costs_none():
    X, y, group = blobs()
    errors = [MurTreeClassifier(3, max_disparity=d).fit(X, y, protected=group).report_.objective
              for d in (0.0, 0.02, 0.1, 1.0)]
    assert errors == sorted(errors, reverse=True) and errors[0] > errors[-1]
    assert errors[-1] == MurTreeClassifier(3).fit(X, y).report_.objective


def test_the_front_holds_the_optimum_for_any_weights_of_the_classes():
    X, y, _ = blobs()
    front = MurTreeClassifier(3).pareto_front(X, y)
    for factor in (1, 3):
        weight = np.where(y == 1, factor, 1)
        best = MurTreeClassifier(3).fit(X, y, weight).report_.objective
        assert min(a + factor * b for a, b in (entry.errors for entry in front)) == best


def test_depth_four_remembers_fronts_and_memory_may_be_short():
    X, y, _ = blobs(n_rows=100, n_columns=7)
    free, small = (MurTreeClassifier(4, search=MurTreeSearch(memory_limit=limit))
                   for limit in (None, 1e-6))
    for model in (free, small):
        model.pareto_front(X, y)
    assert free.report_.objective == small.report_.objective
    assert free.report_.counters["cache_hits"] > 0 == small.report_.counters["cache_hits"]
    assert small.report_.counters["cache_bytes"] == 0


def test_slices_of_the_search_change_nothing(monkeypatch):
    X, y, group = blobs(n_rows=80, n_columns=6)

    def answers():
        found = [(entry.errors, str(entry.tree)) for depth in (1, 2, 3)
                 for entry in MurTreeClassifier(depth).pareto_front(X, y)]
        fair = MurTreeClassifier(3, max_nodes=4, max_disparity=0.05).fit(X, y, protected=group)
        good = MurTreeClassifier(2).good_trees(X, y, tolerance=4)
        return found, str(fair.tree_), good.count, good.sizes()

    whole = answers()
    monkeypatch.setattr("odtlib.fit.FIRST_SLICE", 1)
    assert answers() == whole


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_no_point_is_dominated_where_a_class_has_rows_of_weight_zero_only(depth):
    X, y = [[0, 1, 0], [0, 0, 1], [1, 1, 1]], [1, 0, 0]
    for weight, errors in (([2, 0, 0], (0.0, 0.0)), ([0, 1, 3], (0.0, 0.0))):
        front = MurTreeClassifier(depth).pareto_front(X, y, weight)
        assert [(entry.errors, entry.optimal) for entry in front] == [(errors, True)]


def test_a_front_without_time_for_its_trees_says_so(monkeypatch):
    X, y, _ = blobs(n_rows=80, n_columns=6)
    whole = MurTreeClassifier(2).pareto_front(X, y)
    monkeypatch.setattr(fronts, "FINISHING", -1000.0)
    part = MurTreeClassifier(2, time_limit=100).pareto_front(X, y)
    assert len(whole) > 1 and all(entry.optimal for entry in whole)
    assert [entry.errors for entry in part] == [whole[0].errors] and not part[0].optimal


@pytest.mark.parametrize("options", [{"objective": "f1"}, {"max_disparity": 0.01}])
def test_limits(options, monkeypatch):
    X, y, group = blobs(n_rows=800, n_columns=40)
    extra = {"protected": group} if "max_disparity" in options else {}
    model = MurTreeClassifier(7, time_limit=0.3, **options).fit(X, y, **extra)
    assert model.report_.status == "time_limit"
    assert model.report_.lower_bound <= model.report_.objective
    assert model.verify(X, y) == pytest.approx(model.report_.objective)
    monkeypatch.setattr(Clock, "expired", property(lambda self: interrupt()))

    def interrupt():
        raise KeyboardInterrupt

    stopped = MurTreeClassifier(3, **options).fit(X, y, **extra)
    assert stopped.report_.status == "interrupted"
    assert stopped.verify(X, y) == pytest.approx(stopped.report_.objective)


def test_what_cannot_be_combined_is_refused():
    X, y, group = blobs()
    three = np.where(group, 2, y)
    for options, data, match in [
            ({"objective": "f1"}, {"y": three}, "needs two classes"),
            ({"objective": "f1", "split_penalty": 1.0}, {"y": y},
             "cannot be combined with split_penalty"),
            ({"max_disparity": 0.1, "start": "cart"}, {"y": y, "protected": group},
             "cannot be combined with start"),
            ({"objective": "f1"}, {"y": y, "sample_weight": y + 0.5}, "whole sample weights"),
            ({"objective": "f1"}, {"y": y, "sample_weight": 1e8 * (y + 1)}, "smaller weights"),
            ({"objective": "f1", "max_disparity": 0.1}, {"y": y, "protected": group},
             "cannot be combined with max_disparity"),
            ({"max_disparity": 0.1}, {"y": y}, "belongs together"),
            ({}, {"y": y, "protected": group}, "belongs together"),
            ({"max_disparity": 0.1}, {"y": y, "protected": 0 * y}, "at least two groups."),
            ({"max_disparity": 0.1, "disparity": "equal-opportunity"}, {"y": y, "protected": three},
             "3 distinct values; .* each with rows of class 1"),
            ({"max_disparity": 0.1}, {"y": y, "protected": np.arange(len(y))}, "fewer rows"),
            ({"max_disparity": 0.1, "disparity": "parity"}, {"y": y, "protected": group},
             "disparity"),
            ({"max_disparity": 0.1}, {"y": y, "protected": group[:5]}, "inconsistent numbers"),
            ({"max_disparity": 1.5}, {"y": y, "protected": group}, "max_disparity"),
            ({"max_disparity": 0.1, "class_weight": {0: 1, 1: 2}},
             {"y": y, "protected": group}, "cannot be combined with class_weight"),
            ({"max_disparity": 0.1, "n_jobs": 2}, {"y": y, "protected": group},
             "cannot be combined with n_jobs"),
            ({"objective": "f1", "search": PaperSearch()}, {"y": y},
             "cannot be combined with search=PaperSearch"),
            ({"objective": "balanced-accuracy", "split_penalty": 1.0}, {"y": y},
             "objective='balanced-accuracy' cannot be combined with split_penalty"),
            ({"objective": "auc"}, {"y": y}, "objective")]:
        with pytest.raises(ValueError, match=match):
            MurTreeClassifier(2, **options).fit(X, **data)
    for weight, match in ((1e15 * (y + 1), "exact for less than 2e.15"), (y + 0.5, "whole sample")):
        with pytest.raises(ValueError, match=match):
            MurTreeClassifier(2).pareto_front(X, y, weight)
        with pytest.raises(ValueError, match=match):
            MurTreeClassifier(2, max_disparity=0.1).fit(X, y, weight, protected=group)
    with pytest.raises(ValueError, match="cannot be combined with"):
        MurTreeClassifier(2, objective="f1").path(X, y)
    with pytest.raises(ValueError, match="objective='f1' cannot be combined with pareto_front"):
        MurTreeClassifier(2, objective="f1").pareto_front(X, y)


def test_balanced_path_and_labels_of_few_rows():
    X, y, _ = blobs(n_columns=8)
    path = MurTreeClassifier(3, objective="balanced-accuracy").path(X, y)
    for entry in path:
        predicted = entry.tree.predict(X.astype(float))
        assert entry.objective == pytest.approx(1 - balanced_accuracy_score(y, predicted))
    assert np.all(np.diff([entry.objective for entry in path]) <= 1e-12)
    assert path[-1].tree.value[0].tolist() == np.bincount(y).tolist()
    for objective, value in (("f1", 1.0), ("balanced-accuracy", 0.0)):
        model = MurTreeClassifier(2, objective=objective).fit(X, y, 1.0 - y)   # no positive row
        assert model.report_.objective == value


def test_a_front_without_a_limit_of_memory_is_refused():
    columns = np.zeros((2, 1), np.uint8)
    with pytest.raises(ValueError, match="use fewer rows or smaller weights"):
        fronts.FrontSearch(columns, np.zeros((2, 4), int), 2 ** 40, pareto=False, min_leaf=1,
                           clock=Clock())


@pytest.mark.parametrize("options", [
    {}, {"max_nodes": 5}, {"min_samples_leaf": 7}, {"start": "cart"}, {"n_jobs": 2},
    {"search": MurTreeSearch(cache=None)}, {"search": MurTreeSearch(minimise_nodes=True)}])
def test_f1_by_weighted_searches_equals_the_front(options):
    limits = {k: v for k, v in options.items() if k in ("max_nodes", "min_samples_leaf")}
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 2, (90, 7))
        y = ((X[:, 0] & X[:, 1] | X[:, 2]) ^ (rng.random(90) < 0.2)).astype(int)
        y[:2] = 0, 1
        weight = rng.integers(1, 4, 90) if seed % 2 else np.where(y == 1, 1, 40_000)
        front = MurTreeClassifier(3, **limits).pareto_front(X, y, weight)
        positives = weight[y == 1].sum()
        model = MurTreeClassifier(3, objective="f1", **options).fit(X, y, weight)
        least = min(1 - 2 * (positives - b) / (2 * (positives - b) + a + b)
                    for a, b in (entry.errors for entry in front))
        assert model.report_.objective == pytest.approx(least, rel=1e-14)
        assert model.verify(X, y, weight) == pytest.approx(model.report_.objective)


def test_the_bound_of_f1_holds_when_time_runs_out():
    X, y, _ = blobs(n_rows=400, n_columns=30)
    best = MurTreeClassifier(3, objective="f1").fit(X, y).report_.objective
    for limit in (1e-9, 1e-3, 3e-3, 1e-2, 3e-2, 0.1):
        model = MurTreeClassifier(3, objective="f1", time_limit=limit).fit(X, y)
        report = model.report_
        assert report.lower_bound <= best + 1e-12 <= report.objective + 2e-12
        assert model.verify(X, y) == pytest.approx(report.objective)


def test_a_fit_that_ends_early_knows_that_no_tree_errs_less(monkeypatch):
    """The least errors without the limit on disparity bound those with it."""
    X, y, group = blobs()

    free = MurTreeClassifier(1, max_disparity=1.0).fit(X, y, protected=group).report_

    def out_of_time(*arguments):
        raise TimeUp

    monkeypatch.setattr(fronts.FrontSearch, "front", out_of_time)
    report = MurTreeClassifier(1, max_disparity=0.0).fit(X, y, protected=group).report_
    assert report.status == "time_limit" and report.lower_bound == free.objective > 0
