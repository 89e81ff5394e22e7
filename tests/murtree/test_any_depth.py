"""Trees without a limit on depth: small depths come first."""

import numpy as np
import pytest
from scale import SCALE

from odtlib import MurTreeClassifier, MurTreeRegressor, MurTreeSearch
from odtlib.murtree import columns, run


def noisy(seed, n_rows=40, n_columns=6):
    random = np.random.default_rng(seed)
    X = random.integers(0, 2, (n_rows, n_columns))
    return X, (X[:, 0] ^ X[:, 1] ^ (random.random(n_rows) < 0.2)).astype(int)


@pytest.mark.parametrize("kind", [MurTreeClassifier, MurTreeRegressor])
@pytest.mark.parametrize("seed", range(6 * SCALE))
def test_the_optimum_is_that_of_the_largest_depth(seed, kind):
    X, y = noisy(seed)
    penalty = [0.0, 0.3, 1.0, 3.0][seed % 4]
    free = kind(None, split_penalty=penalty).fit(X, y)
    deep = kind(6, split_penalty=penalty).fit(X, y)       # no path tests a column twice
    assert free.report_.status == deep.report_.status == "optimal"
    assert free.report_.objective == pytest.approx(deep.report_.objective)
    assert "any depth" in free.report_.proof
    assert free.verify(X, y) == pytest.approx(free.report_.objective)
    bounds = [bound for _, _, bound, _ in free.report_.events]
    assert bounds == sorted(bounds)


def test_the_splits_of_deeper_trees_alone_cost_as_much():
    X, y = noisy(0, 300, 12)
    free = MurTreeClassifier(None, split_penalty=15.0).fit(X, y)
    shallow = MurTreeClassifier(3, split_penalty=15.0).fit(X, y)
    assert free.report_.objective == shallow.report_.objective
    assert free.report_.proof == ("optimal for these 12 predicates at any depth, "
                                  "split penalty 15")


@pytest.mark.parametrize("options", [{}, {"split_penalty": 5.0}, {"max_nodes": 9},
                                     {"search": MurTreeSearch(minimise_nodes=True)}])
def test_what_no_memory_holds_leaves_the_best_tree_of_small_depths(options):
    random = np.random.default_rng(0)
    X = random.integers(0, 2, (2000, 400))
    y = (X[:, :3].sum(axis=1) + random.normal(size=2000) > 1.5).astype(int)
    model = MurTreeClassifier(None, time_limit=0.05, **options).fit(X, y)
    assert model.report_.status in ("time_limit", "optimal")    # a deep CART may have no errors
    assert model.verify(X, y) == model.report_.objective < min(np.bincount(y))
    assert model.report_.lower_bound <= model.report_.objective


@pytest.mark.parametrize("kind", [MurTreeClassifier, MurTreeRegressor])
@pytest.mark.parametrize("seed", range(6 * SCALE))
def test_looks_ahead_leave_optimum_and_bounds_right(seed, kind, monkeypatch):
    """The search rests until the looks have gone as far ahead as any tree is deep."""
    monkeypatch.setattr(run, "AT_ANY_DEPTH", 0.0)
    monkeypatch.setattr(run, "LOOKS", {False: (0.9, 0.9)})
    X, y = noisy(seed, 80, 6)
    penalty = (0.4, 1.0)[seed % 2]
    looked = kind(None, binarizer=None, split_penalty=penalty, time_limit=1e4).fit(X, y)
    expected = kind(6, binarizer=None, split_penalty=penalty).fit(X, y).report_.objective
    assert looked.report_.status == "optimal"
    assert looked.report_.objective == pytest.approx(expected) == looked.verify(X, y)
    events = looked.report_.events
    assert all(bound <= expected + 1e-9 for _, _, bound, _ in events)
    assert [bound for _, _, bound, _ in events] == sorted(bound for _, _, bound, _ in events)


def test_a_tree_deeper_than_any_full_one_is_found_and_proved():
    """A chain of twenty splits: no depth of the stages before holds it."""
    X = np.tril(np.ones((21, 20), int), -1)[:, ::-1]
    y = np.arange(21) % 2
    weight = 3.0 ** np.minimum(np.arange(21), 12)
    model = MurTreeClassifier(None, binarizer=None, split_penalty=0.5).fit(X, y, weight)
    assert (model.report_.status, model.report_.objective) == ("optimal", 10.0)
    assert model.get_n_leaves() == 21


@pytest.mark.parametrize("kind", [MurTreeClassifier, MurTreeRegressor])
@pytest.mark.parametrize("penalty", [5e-324, 1e-300, 1e-9])
def test_a_tiny_price_limits_nothing(kind, penalty):
    X, y = noisy(3)
    tiny, free = (kind(None, split_penalty=price).fit(X, y).report_ for price in (penalty, 0.0))
    assert tiny.status == "optimal"
    assert tiny.objective == pytest.approx(free.objective)


@pytest.mark.parametrize("limit", [None, 3e-3, 0.03])
@pytest.mark.parametrize(("kind", "objective"), [
    (MurTreeClassifier, "errors"), (MurTreeClassifier, "gini"), (MurTreeRegressor, None)])
def test_a_large_depth_is_bounded_by_what_any_depth_costs(kind, objective, limit, monkeypatch):
    """Trees of five levels: the search without a depth finds one of them, or a bound for them."""
    options, proofs = {} if objective is None else {"objective": objective}, set()
    for seed in range(6 * SCALE):
        random = np.random.default_rng(seed)
        X = random.integers(0, 2, (60, 8))
        y = X[:, :4 + seed % 2].sum(axis=1) % 2 ^ (random.random(60) < 0.1)
        options["split_penalty"] = (2.0, 0.02)[seed % 2] * (kind is MurTreeClassifier or 0.2)
        monkeypatch.setattr(columns, "LARGE_DEPTH", 99)
        least = kind(5, **options).fit(X, y).report_.objective
        monkeypatch.setattr(columns, "LARGE_DEPTH", 5)
        model = kind(5, time_limit=limit, **options).fit(X, y)
        report, scale = model.report_, model.report_.scale
        proofs.add("any depth" in report.proof)
        assert model.tree_.depth <= 5
        assert report.lower_bound <= least + 1e-9 * scale
        assert report.objective >= least - 1e-9 * scale
        assert limit is not None or report.objective == pytest.approx(least)
        assert model.verify(X, y) == pytest.approx(report.objective)
        costs = [cost for _, cost, _, _ in report.events]
        assert max(np.diff(costs)) <= 1e-9 * scale and min(costs) >= report.objective - 1e-9 * scale
    assert limit is not None or proofs == {True, False}


def test_more_rows_than_a_search_keeps_nodes(monkeypatch):
    monkeypatch.setattr(columns, "LARGE_DEPTH", 9)
    random = np.random.default_rng(1)
    X = random.integers(0, 2, (6000, 8))
    y = (X[:, 0] ^ X[:, 1] ^ (random.random(6000) < 0.1)).astype(int)
    model = MurTreeClassifier(None, split_penalty=20.0).fit(X, y)
    deep = MurTreeClassifier(8, split_penalty=20.0).fit(X, y)
    assert model.report_.objective == deep.report_.objective
    assert model.report_.proof.endswith("8 predicates at any depth, split penalty 20")
    limited = MurTreeClassifier(None, time_limit=0.5).fit(X, y)      # no price ends the search
    assert limited.report_.lower_bound <= limited.report_.objective == limited.verify(X, y)


@pytest.mark.parametrize("options", [{}, {"split_penalty": 0.05}])
@pytest.mark.parametrize("limit", [1e-6, 3e-3, 0.03])
@pytest.mark.parametrize(("kind", "objective"), [
    (MurTreeClassifier, {}), (MurTreeClassifier, {"objective": "gini"}), (MurTreeRegressor, {}),
    (MurTreeRegressor, {"loss": "absolute_error"})])
def test_a_limit_in_the_small_depths_leaves_deep_cart(kind, objective, limit, options):
    """Trees of quick methods are as large as the model allows, not as what was searched."""
    random = np.random.default_rng(0)
    X = random.integers(0, 2, (400, 12))
    y = (X[:, :4].sum(axis=1) + (X[:, 5] & X[:, 6])) % 3
    model = kind(None, time_limit=limit, **objective, **options).fit(X, y)
    leaf = kind(0, **objective).fit(X, y)
    assert model.report_.objective < 0.1 * leaf.report_.objective
    assert model.verify(X, y) == pytest.approx(model.report_.objective)


@pytest.mark.parametrize("penalty", [0.0, 0.5])
@pytest.mark.parametrize("kind", [MurTreeClassifier, MurTreeRegressor])
def test_a_start_larger_than_the_small_depths_has_the_fewest_nodes_in_the_end(kind, penalty):
    random = np.random.default_rng(0)
    X = random.integers(0, 2, (60, 6))
    y = X[:, 0] ^ X[:, 1] ^ X[:, 2] ^ (random.random(60) < 0.1)
    search = MurTreeSearch(minimise_nodes=True)
    begun, free = (kind(None, split_penalty=penalty, search=search, start=start).fit(X, y)
                   for start in ("cart", None))
    assert begun.report_.status == "optimal" and "fewest" in begun.report_.proof
    assert begun.report_.objective == pytest.approx(free.report_.objective)
    assert begun.tree_.n_splits == free.tree_.n_splits
