"""Better subtrees of a tree: never worse, within the limits, and better than CART's."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from odtlib import (
    CARTClassifier,
    ContinuousTreeClassifier,
    ContinuousTreeRegressor,
    LocalSearchTreeClassifier,
)
from odtlib.heuristics import subtrees

DEPTH = 5
OPTIONS = [{}, {"min_samples_leaf": 7}, {"split_penalty": 1.5}, {"max_leaf_nodes": 12}]


def table(seed, n=250):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4)).round(1)
    y = np.sin(3 * X[:, 0]) * X[:, 1] + np.abs(X[:, 2]) + random.normal(scale=0.3, size=n)
    return X, y, random.integers(1, 4, n).astype(float) if seed else None


@pytest.fixture
def in_sweeps(monkeypatch, time_left):
    """Time that passes only with sweeps: an exact search gives way at once and goes on no more.

    Called, it begins anew.
    """
    run = subtrees.SubtreeSearch.run

    def short(self, tree, cost, keep):
        run(self, tree, cost, keep, sweeps=6)
        time_left[0] = 0.0

    monkeypatch.setattr(subtrees.SubtreeSearch, "run", short)
    for owner in ("classifier._Start", "regressor._Search"):     # exact searches, too
        monkeypatch.setattr(f"odtlib.continuous.{owner}.shallower", lambda *_: None)

    def begin():
        time_left[0] = 1e5
    return begin


def check(model, X, y, weight, options):
    report = model.report_
    assert report.status == "time_limit" and report.lower_bound <= report.objective
    assert model.verify(X, y, weight) == pytest.approx(report.objective)
    assert "subtrees" in list(report.trace["event"])
    sizes = np.unique(model.tree_.apply(X), return_counts=True)[1]
    assert sizes.min() >= options.get("min_samples_leaf", 1)
    assert len(sizes) <= options.get("max_leaf_nodes", len(X)) and model.tree_.depth <= DEPTH
    assert (np.diff(report.trace["incumbent"]) <= 1e-9).all()


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("seed", [0, 1])
def test_classes_cost_less_than_in_the_tree_of_cart_and_of_the_start(in_sweeps, seed, options):
    X, y, weight = table(seed)
    y = np.digitize(y, [0.2, 1.2])
    limits = {name: value for name, value in options.items() if name != "split_penalty"}
    cart = CARTClassifier(DEPTH, random_state=0, **limits).fit(X, y, weight)
    price = options.get("split_penalty", 0.0)
    model = ContinuousTreeClassifier(DEPTH, time_limit=50.0, random_state=0, **options)
    model.fit(X, y, weight)
    check(model, X, y, weight, options)
    assert model.report_.objective < cart.report_.objective + price * cart.tree_.n_splits
    if "max_leaf_nodes" not in options:
        local = LocalSearchTreeClassifier(DEPTH, max_restarts=1, random_state=0, **{
            name: limits[name] for name in limits}).fit(X, y, weight)
        in_sweeps()
        again = model.set_params(start=local).fit(X, y, weight)
        assert again.report_.objective <= (local.report_.objective
                                           + price * local.tree_.n_splits)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("seed", [0, 1])
def test_squared_errors_are_less_than_in_the_tree_of_cart(in_sweeps, seed, options):
    X, y, weight = table(seed)
    limits = {name: value for name, value in options.items() if name != "split_penalty"}
    cart = DecisionTreeRegressor(max_depth=DEPTH, random_state=0, **limits).fit(X, y, weight)
    price = options.get("split_penalty", 0.0)
    model = ContinuousTreeRegressor(DEPTH, time_limit=50.0, **options).fit(X, y, weight)
    check(model, X, y, weight, options)
    error = (cart.predict(X) - y) ** 2 @ (np.ones(len(y)) if weight is None else weight)
    assert model.report_.objective < error + price * (cart.get_n_leaves() - 1)


def test_without_a_limit_nothing_else_searches(monkeypatch):
    monkeypatch.setattr(subtrees.SubtreeSearch, "run", None)
    X, y, _ = table(0, 40)
    assert ContinuousTreeClassifier(4).fit(X, y > 0).report_.status == "optimal"
