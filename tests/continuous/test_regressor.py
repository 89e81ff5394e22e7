"""ContinuousTreeRegressor against enumeration, its own certificate, and CART."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
from continuous.reference import instance
from interrupt import ctrl_c
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import check_estimator

from odtlib import ContinuousTreeRegressor
from odtlib.continuous import regressor as door
from odtlib.continuous._regression import LANE_ARRAY, LANES, sweep_squares
from odtlib.datasets import load


def leaf(y, weight):
    return float((weight * (y - np.average(y, weights=weight)) ** 2).sum())


def optimum(X, y, weight, depth, nodes=3, penalty=0.0):
    """Return the least squared error of a tree plus ``penalty`` per split, split by split."""
    best = leaf(y, weight)
    if depth > 0 and nodes > 0:
        for f in range(X.shape[1]):
            for value in np.unique(X[:, f])[:-1]:
                left = X[:, f] <= value
                for share in range(nodes):
                    sides = ((left, share), (~left, nodes - 1 - share))
                    best = min(best, penalty + sum(
                        optimum(X[side], y[side], weight[side], depth - 1, its, penalty)
                        for side, its in sides))
    return best


def targets(random, n_rows):
    """Draw targets of very different sizes, with ties."""
    y = random.normal(size=n_rows) if random.random() < 0.5 else random.integers(0, 4, n_rows)
    return y * random.choice([1.0, 1e-9, 1e9]) + random.choice([0.0, 1000.0])


@pytest.mark.parametrize("seed", range(6))
def test_equals_enumeration(seed):
    random = np.random.default_rng(seed)
    for _ in range(30):
        depth = int(random.choice([0, 1, 2, 2, 2, 2]))
        n_rows = int(random.integers(2, 18))
        X, _ = instance(random, n_rows, int(random.integers(1, 4)), 2)
        y = targets(random, n_rows)
        weight = random.integers(1, 4, n_rows) * 0.7 if random.random() < 0.5 else None
        ones = np.ones(n_rows) if weight is None else weight
        nodes = int(random.choice([0, 1, 2, 2, 3]))
        limit = [{}, {"max_nodes": nodes}, {"max_leaf_nodes": nodes + 1}][random.integers(3)]
        nodes = nodes if limit else 3
        penalty = float(random.choice([0, 0, 0.001, 0.03, 0.2, 2.0]) * leaf(y, ones))
        start = [None, "cart", DecisionTreeRegressor(max_depth=min(depth, nodes) or 1)][
            random.integers(3)]
        if isinstance(start, DecisionTreeRegressor):
            start = "cart" if min(depth, nodes) == 0 else start.fit(X.clip(-1e30, 1e30), y)
            if start != "cart" and start.get_n_leaves() > nodes + 1:
                start = "cart"
        model = ContinuousTreeRegressor(depth, **limit, split_penalty=penalty, start=start)
        report = model.fit(X, y, weight).report_
        mean_rounding = 1e-15 * np.abs(y).max()
        allowed = 1e-9 * leaf(y, ones) + ones.sum() * mean_rounding ** 2
        assert report.status == "optimal" and report.lower_bound == report.objective
        assert abs(report.objective - optimum(X, y, ones, depth, nodes, penalty)) <= allowed
        assert model.tree_.n_splits <= nodes
        assert model.verify(X, y, weight) == pytest.approx(report.objective)
        assert model.tree_.depth <= depth
        leaves = model.apply(X)
        for number in np.unique(leaves):      # a leaf predicts its mean
            rows = leaves == number
            assert model.predict(X[rows])[0] == pytest.approx(
                np.average(y[rows], weights=ones[rows]))


@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_sweep_equals_one_split_at_a_time(seed, uneven):
    random = np.random.default_rng(50 + seed)
    n_rows, p = int(random.integers(40, 300)), 3
    X = random.integers(0, random.choice([4, 1000]), (n_rows, p)).astype(float)
    weight = random.random(n_rows) + 0.1
    weight[random.integers(n_rows)] *= 1e10 if uneven else 1.0
    rows = door._Rows(X, targets(random, n_rows), weight)
    rows.sort(door.Clock())
    cuts = np.full(LANES, n_rows)
    chosen = np.sort(random.permutation(rows.cuts[0])[:LANES - 1])
    cuts[:len(chosen)] = chosen
    saved = np.zeros((2, LANES))
    sweeps, share = rows.sweeps()
    assert (len(sweeps), share) == ((2, 0.75) if uneven else (1, 1.0))
    for order, places in sweeps:
        sweep_squares(order, places, rows.mass * rows.target, rows.mass, rows.order[0], cuts,
                      share, np.empty(n_rows, np.uint8), np.empty(LANE_ARRAY), saved)
    for lane, cut in enumerate(cuts):
        for side, part in enumerate((rows.order[0, :cut], rows.order[0, cut:])):
            inside = np.isin(np.arange(n_rows), part)
            expected = rows.best_split(inside, door.Clock())[0] if len(part) else 0.0
            assert saved[side, lane] == pytest.approx(expected, rel=1e-9, abs=1e-12)


def exact_optimum(X, y, weight, depth):
    """Return the least squared error of a tree in rational numbers."""
    mass, total = sum(weight), sum(w * t for w, t in zip(weight, y, strict=True))
    best = sum(w * t * t for w, t in zip(weight, y, strict=True)) - total * total / mass
    for f in range(X.shape[1] if depth else 0):
        for value in np.unique(X[:, f])[:-1]:
            left = X[:, f] <= value
            best = min(best, sum(exact_optimum(X[side], y[side], weight[side], depth - 1)
                                 for side in (left, ~left)))
    return best


@pytest.mark.parametrize("seed", range(4))
def test_uneven_weights_lose_no_digits(seed):
    random = np.random.default_rng(65 + seed)
    for _ in range(12):
        n_rows = int(random.integers(4, 11))
        X = random.integers(0, 8, (n_rows, 2)).astype(float)
        y = random.integers(0, 4, n_rows) * random.choice([1.0, 0.01])
        weight = 10.0 ** random.uniform(-12, 13, n_rows)
        as_fractions = [np.array([Fraction(v) for v in values]) for values in (y, weight)]
        expected = float(exact_optimum(X, *as_fractions, 2))
        scale = float(exact_optimum(X, *as_fractions, 0))
        report = ContinuousTreeRegressor().fit(X, y, weight).report_
        assert report.status == "optimal"
        assert abs(report.objective - expected) <= 1e-9 * scale


def test_closing_thresholds_loses_nothing(monkeypatch):
    random = np.random.default_rng(60)
    for _ in range(10):
        X = random.normal(size=(150, 3)).round(1)
        y = X[:, 0] * (X[:, 1] > 0) + random.normal(size=150) * random.choice([0.1, 1])
        pruned = ContinuousTreeRegressor().fit(X, y)
        counters = pruned.report_.counters
        assert counters["thresholds"] <= counters["candidates"]
        monkeypatch.setattr(door._Feature, "shrink", lambda self, limit: len(self.open) > 0)
        monkeypatch.setattr(door._Feature, "bound", 0.0, raising=False)
        every = ContinuousTreeRegressor().fit(X, y)
        monkeypatch.undo()
        assert every.report_.counters["thresholds"] == counters["candidates"]
        assert pruned.report_.objective == pytest.approx(every.report_.objective, rel=1e-9)


def test_never_worse_than_cart():
    data = load("diabetes") if "diabetes" in _names() else None
    random = np.random.default_rng(70)
    X = random.normal(size=(400, 6)) if data is None else np.asarray(data.X, float)
    y = np.sin(3 * X[:, 0]) * X[:, 1] if data is None else np.asarray(data.y, float)
    exact = ContinuousTreeRegressor().fit(X, y)
    cart = DecisionTreeRegressor(max_depth=2).fit(X, y)
    assert exact.report_.objective <= ((cart.predict(X) - y) ** 2).sum() * (1 + 1e-9)


def _names():
    from odtlib.datasets import available
    return set(available())


def hard():
    random = np.random.default_rng(0)
    return random.normal(size=(4000, 10)), random.normal(size=4000)


def test_time_limit_returns_the_best_tree_so_far():
    X, y = hard()
    ContinuousTreeRegressor().fit(X[:50], y[:50])
    greedy = leaf(y, np.ones(len(y)))
    for limit in (1e-9, 0.3):
        model = ContinuousTreeRegressor(time_limit=limit).fit(X, y)
        report = model.report_
        assert report.status == "time_limit"
        assert report.lower_bound < report.objective < greedy
        assert model.verify(X, y) == pytest.approx(report.objective)
        assert (np.diff(report.trace["incumbent"]) <= 1e-9).all()


@pytest.mark.parametrize(("looks", "splits"), [(0, False), (3, False), (9, False), (12, True),
                                               (25, True), (45, True)])
def test_time_may_end_between_any_two_features(monkeypatch, looks, splits):
    X, y = hard()            # ten features, sorted and then searched one after the other
    X, y = X[:200], y[:200]
    ContinuousTreeRegressor().fit(X, y)
    clock = door.Clock(1.0)

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
    model = ContinuousTreeRegressor(np.int8(2), time_limit=60)
    model._compile_kernels(X[:50], y[:50])
    compiled = list(sweep_squares.signatures)
    model.fit(X[:50], y[:50])
    assert sweep_squares.signatures == compiled and model.report_.status == "optimal"


def test_interrupt_returns_the_best_tree_so_far():
    X, y = hard()
    ContinuousTreeRegressor().fit(X[:50], y[:50])
    with ctrl_c(0.4) as timer:
        timer.start()
        model = ContinuousTreeRegressor().fit(X, y)
    assert model.report_.status == "interrupted"
    assert model.verify(X, y) == pytest.approx(model.report_.objective)


def test_scikit_learn_checks():
    check_estimator(ContinuousTreeRegressor())


def test_pickle():
    X, y = hard()
    model = ContinuousTreeRegressor().fit(X[:100], y[:100])
    assert pickle.loads(pickle.dumps(model)).tree_ == model.tree_


@pytest.mark.parametrize(("start", "limits", "message"), [
    (DecisionTreeRegressor(max_depth=2), {"max_depth": 1}, "depth 2 and max_depth is 1"),
    (DecisionTreeRegressor(max_depth=2), {"max_nodes": 2}, "3 splits and the limit is 2"),
    ("local-search", {}, "start")])
def test_starts_that_do_not_fit_are_refused(start, limits, message):
    X, y = hard()
    X, y = X[:50], y[:50]
    if start != "local-search":
        start.fit(X, y)
    with pytest.raises(ValueError, match=message):
        ContinuousTreeRegressor(start=start, **limits).fit(X, y)


@pytest.mark.parametrize("depth", [-1, 3])
def test_other_depths_are_refused(depth):
    with pytest.raises(ValueError, match="max_depth"):
        ContinuousTreeRegressor(depth).fit([[0.0], [1.0]], [0.0, 1.0])
