"""ContinuousTreeRegressor against enumeration, its own certificate, and CART."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from naive import best_cost, cuts
from sklearn.tree import DecisionTreeRegressor

from odtbook.datasets import load
from odtlib import ContinuousTreeRegressor
from odtlib.continuous import regressor as module
from odtlib.continuous._regression import (
    LANE_ARRAY,
    LANES,
    index_rows,
    inherit,
    solve_pair,
    sweep_squares,
)


def leaf(y, weight):
    return float((weight * (y - np.average(y, weights=weight)) ** 2).sum())


def optimum(X, y, weight, depth, nodes=1000, penalty=0.0, least=1):
    """Return the least squared error of a tree plus ``penalty`` per split, by enumeration."""
    return best_cost(cuts(X), lambda rows: leaf(y[rows], weight[rows]), depth, nodes, least,
                     penalty, floor=0)


def targets(random, n_rows):
    """Draw targets of very different sizes, with ties."""
    y = random.normal(size=n_rows) if random.random() < 0.5 else random.integers(0, 4, n_rows)
    return y * random.choice([1.0, 1e-9, 1e9]) + random.choice([0.0, 1000.0])


@pytest.mark.parametrize("least", [1, 12])
@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_sweep_equals_one_split_at_a_time(seed, uneven, least):
    random = np.random.default_rng(50 + seed)
    n_rows, p = int(random.integers(40, 300)), 3
    X = random.integers(0, random.choice([4, 1000]), (n_rows, p)).astype(float)
    weight = random.random(n_rows) + 0.1
    weight[random.integers(n_rows)] *= 1e10 if uneven else 1.0
    rows = module._Rows(X, targets(random, n_rows), weight)
    rows.sort(module.Clock())
    assert (rows.n_sweeps, rows.share) == ((2, 0.75) if uneven else (1, 1.0))
    inside = random.random(n_rows) < 0.8
    chosen = np.flatnonzero(inside)
    node = rows.node(rows.order, inside, len(chosen))
    orders, tie_states, cuts = node.orders, node.tie_states, node.cuts
    n_cuts, leaves = node.n_cuts, node.leaves
    places = np.full(LANES, len(chosen))
    some = np.sort(random.permutation(n_cuts[0])[:LANES - 1])
    places[:len(some)] = cuts[0, some]
    saved = np.zeros((4, LANES))
    for order, states in zip(orders, tie_states, strict=True):
        sweep_squares(order, states, rows.product, rows.mass, orders[0, 0], places, rows.share,
                      least, np.empty(n_rows, np.uint8), np.empty(LANE_ARRAY), saved)
    for lane, cut in enumerate(places):
        for side, part in enumerate((orders[0, 0, :cut], orders[0, 0, cut:])):
            for line, limit in ((side, 1), (2 + side, least)):
                expected = rows.best_split(part, limit)[0] if len(part) else 0.0
                assert line > 1 and least == 1 or saved[line, lane] == pytest.approx(
                    expected, rel=1e-9, abs=1e-12)
    for k, cut in enumerate(cuts[0, :n_cuts[0]]):
        for side, part in enumerate((orders[0, 0, :cut], orders[0, 0, cut:])):
            assert leaves[side, 0, k] == pytest.approx(rows.leaf_cost(part), rel=1e-9, abs=1e-12)


def swept(rows, inside):
    """Return the node of some rows after every threshold was swept."""
    node = rows.node(rows.order, inside, np.count_nonzero(inside))
    search = module._Search(rows, 2, 3, 0.0, 1, module.Clock())
    search.tolerance = -np.inf                 # nothing is closed unseen
    search.solve_pair(node, 3, node.leaf, np.inf, None)
    return node


def test_costs_of_a_subset_are_bounds_for_the_set():
    random = np.random.default_rng(58)
    for _ in range(30):
        n_rows = int(random.integers(6, 60))
        X = random.integers(0, random.choice([3, 50]), (n_rows, 2)).astype(float)
        rows = module._Rows(X, random.normal(size=n_rows), np.ones(n_rows))
        rows.sort(module.Clock())
        every, inside = np.ones(n_rows, bool), random.random(n_rows) < 0.7
        inside[:2] = True
        exact, heir = swept(rows, every), rows.node(rows.order, every, n_rows)
        inherit(*swept(rows, inside).known, heir)
        for g, n in enumerate(exact.n_cuts):
            assert (heir.lower[:, g, :n] <= exact.lower[:, g, :n] + 1e-9).all()


def exact_optimum(X, y, weight, depth):
    """Return the least squared error of a tree in rational numbers."""
    def cost(rows):
        mass, total = weight[rows].sum(), weight[rows] @ y[rows]
        return weight[rows] @ y[rows]**2 - total * total / mass

    return best_cost(cuts(X), cost, depth, floor=0)


@pytest.mark.parametrize("seed", range(4))
def test_uneven_weights_lose_no_digits(seed):
    random = np.random.default_rng(65 + seed)
    for _ in range(12):
        depth = int(random.choice([2, 2, 3]))
        n_rows = int(random.integers(4, 11 if depth == 2 else 8))
        X = random.integers(0, 8, (n_rows, 2)).astype(float)
        y = random.integers(0, 4, n_rows) * random.choice([1.0, 0.01])
        weight = 10.0 ** random.uniform(-12, 13, n_rows)
        as_fractions = [np.array([Fraction(v) for v in values]) for values in (y, weight)]
        expected = float(exact_optimum(X, *as_fractions, depth))
        scale = float(exact_optimum(X, *as_fractions, 0))
        report = ContinuousTreeRegressor(depth).fit(X, y, weight).report_
        assert report.status == "optimal"
        assert abs(report.objective - expected) <= 1e-9 * scale


def test_closing_thresholds_loses_nothing():
    random = np.random.default_rng(60)
    for _ in range(6):
        X = random.normal(size=(150, 3)).round(1)
        y = X[:, 0] * (X[:, 1] > 0) + random.normal(size=150) * random.choice([0.1, 1])
        report = ContinuousTreeRegressor().fit(X, y).report_
        assert report.counters["thresholds"] < report.counters["candidates"]
        rows = module._Rows(X, y, np.ones(150))
        rows.sort(module.Clock())
        every = min(sum(rows.leaf_cost(side) - rows.best_split(np.flatnonzero(side))[0]
                        for side in (X[:, f] <= value, X[:, f] > value))
                    for f in range(3) for value in np.unique(X[:, f])[:-1])
        assert report.objective == pytest.approx(every * rows.unit, rel=1e-9)


@pytest.mark.parametrize("options", [
    {}, {"min_samples_leaf": 4}, {"split_penalty": 0.5}, {"max_nodes": 5},
    {"start": None}])
def test_bound_holds_wherever_depth_three_is_cut_short(options, monkeypatch):
    random = np.random.default_rng(61)
    X, y = random.normal(size=(50, 3)), random.normal(size=50)
    best = ContinuousTreeRegressor(3, **options).fit(X, y).report_
    assert best.status == "optimal"
    bounds = []
    for looks in (8, 12, 20, 30, 60):
        left = [looks]

        def remaining(self, left=left):
            left[0] -= 1
            return float(left[0] >= 0)

        with monkeypatch.context() as patch:
            patch.setattr(module.Clock, "remaining", property(remaining))
            report = ContinuousTreeRegressor(3, time_limit=1.0, **options).fit(X, y).report_
        assert report.status == "time_limit"
        assert report.lower_bound <= best.objective * (1 + 1e-9)
        assert report.objective >= best.objective * (1 - 1e-9)
        bounds.append(report.lower_bound)
    assert bounds == sorted(bounds) and (options or bounds[-1] > 0)


def test_never_worse_than_cart():
    data = load("diabetes") if "diabetes" in _names() else None
    random = np.random.default_rng(70)
    X = random.normal(size=(400, 6)) if data is None else np.asarray(data.X, float)
    y = np.sin(3 * X[:, 0]) * X[:, 1] if data is None else np.asarray(data.y, float)
    exact = ContinuousTreeRegressor().fit(X, y)
    cart = DecisionTreeRegressor(max_depth=2).fit(X, y)
    assert exact.report_.objective <= ((cart.predict(X) - y) ** 2).sum() * (1 + 1e-9)


def _names():
    from odtbook.datasets import available
    return set(available())


def hard():
    random = np.random.default_rng(0)
    return random.normal(size=(4000, 10)), random.normal(size=4000)


@pytest.mark.parametrize(("looks", "splits"), [(0, False), (3, False), (9, False), (12, True),
                                               (25, True), (33, True)])
def test_time_may_end_between_any_two_features(monkeypatch, looks, splits):
    X, y = hard()            # ten features, sorted and then searched one after the other
    X, y = X[:200], y[:200]
    ContinuousTreeRegressor().fit(X, y)
    clock = module.Clock(1.0)

    def remaining(self):
        nonlocal looks
        looks -= 1
        return float(looks >= 0)

    monkeypatch.setattr(type(clock), "remaining", property(remaining))
    model = ContinuousTreeRegressor(time_limit=1.0).fit(X, y)
    assert model.report_.status == "time_limit" and model.report_.lower_bound == 0.0
    assert model.verify(X, y) == pytest.approx(model.report_.objective)
    assert model.report_.objective <= leaf(y, np.ones(len(y))) * (1 + 1e-12)
    assert (model.tree_.n_splits > 0) == splits


def test_light_rows_beside_heavy_ones_count():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    y, weight = np.array([5.0, 5.0, 1.0, 0.0]), np.array([1e12, 1e-12, 1e-12, 1e-12])
    assert ContinuousTreeRegressor(1).fit(X, y, weight).report_.objective == pytest.approx(
        optimum(X, y, weight, 1), rel=1e-6)


def test_kernel_is_compiled_before_the_clock_starts():
    X, y = hard()
    model = ContinuousTreeRegressor(np.int8(3), time_limit=60)
    model._compile_kernels(X[:50], y[:50])
    kernels = (solve_pair, inherit, index_rows)
    compiled = [list(kernel.signatures) for kernel in kernels]
    model.fit(X[:50], y[:50])
    assert all(compiled) and [kernel.signatures for kernel in kernels] == compiled
    assert model.report_.status == "optimal"


@pytest.mark.parametrize(("start", "limits", "message"), [
    (DecisionTreeRegressor(max_depth=2), {"max_depth": 1}, "depth 2 and max_depth is 1"),
    (DecisionTreeRegressor(max_depth=2), {"max_nodes": 2}, "3 splits and the limit is 2"),
    (DecisionTreeRegressor(max_depth=2), {"min_samples_leaf": 40}, "min_samples_leaf is 40"),
    ("local-search", {}, "start")])
def test_starts_that_do_not_fit_are_refused(start, limits, message):
    X, y = hard()
    X, y = X[:50], y[:50]
    if start != "local-search":
        start.fit(X, y)
    with pytest.raises(ValueError, match=message):
        ContinuousTreeRegressor(start=start, **limits).fit(X, y)


@pytest.mark.parametrize("depth", [-1, 6])
def test_other_depths_are_refused(depth):
    with pytest.raises(ValueError, match="max_depth"):
        ContinuousTreeRegressor(depth).fit([[0.0], [1.0]], [0.0, 1.0])
