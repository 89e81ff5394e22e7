"""The local search as an estimator."""

import math

import numpy as np
import pandas as pd
import pytest
from heuristics import reference
from naive import best_tree_cost, cuts
from sklearn.datasets import load_breast_cancer, load_wine, make_blobs

from odtbook.datasets import load
from odtlib import CARTClassifier, LocalSearchTreeClassifier
from odtlib.heuristics import _kernels, local_search
from odtlib.heuristics.local_search import _Search
from odtlib.report import TimeUp


def test_class_weight_is_a_weight_of_rows():
    X, y = make_blobs(n_samples=90, cluster_std=4, random_state=1)
    by_class = LocalSearchTreeClassifier(2, class_weight={0: 5, 1: 1, 2: 2}, random_state=0)
    by_row = LocalSearchTreeClassifier(2, random_state=0).fit(X, y, np.array([5.0, 1, 2])[y])
    by_class.fit(X, y)
    assert by_class.tree_ == by_row.tree_
    assert by_class.report_.objective == by_row.report_.objective == by_class.verify(X, y)


def test_exclusive_or_is_found():
    # the third feature agrees with two rows of three: greedy growth takes it first, and is lost
    X = np.array([[0.0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]] * 3)
    X[:4, 2] = 1 - X[:4, 2]
    y = np.array(["no", "yes", "yes", "no"] * 3)
    model = LocalSearchTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    assert model.predict(X).tolist() == y.tolist()
    assert model.report_.status == "optimal" and model.report_.objective == 0
    assert CARTClassifier(max_depth=2, random_state=0).fit(X, y).score(X, y) < 1


def test_between_cart_and_the_optimum():
    random = np.random.RandomState(0)
    reached = 0
    for k in range(150):
        n_classes = random.randint(2, 4)
        X, y, weight = reference.random_rows(random, 25, 3, 6, n_classes,
                                             ["ones", "integers", "floats"][k % 3])
        model = LocalSearchTreeClassifier(2, max_restarts=5, random_state=k).fit(X, y, weight)
        cart = CARTClassifier(2, random_state=k).fit(X, y, weight)
        optimum = best_tree_cost(cuts(X), y, weight, n_classes, 2)
        report = model.report_
        assert model.verify(X, y, weight) == report.objective
        assert report.lower_bound <= optimum + 1e-9 <= report.objective + 2e-9
        assert report.objective <= cart.report_.objective + 1e-9
        reached += report.objective <= optimum + 1e-9
    assert reached >= 145


@pytest.mark.parametrize("name, depth, optimum", [("monk1_full", 3, 48), ("monk3_full", 3, 0)])
def test_depth_two_steps_escape_where_single_splits_do_not(name, depth, optimum):
    data = load(name)
    found = {steps: LocalSearchTreeClassifier(depth, depth_two=steps, random_state=0)
             .fit(data.X, data.y).report_.objective for steps in (False, True)}
    assert found[True] == optimum < found[False]


def test_repeated_weighted_and_shuffled_rows_give_the_same_tree():
    random = np.random.RandomState(1)
    for k in range(20):
        X, y, weight = reference.random_rows(random, 30, 3, 5, 3, "integers")
        times, order = weight.astype(int), random.permutation(30)
        fit = LocalSearchTreeClassifier(3, max_restarts=3, random_state=k).fit
        one = fit(X, y, weight).tree_.to_json()
        assert fit(X[order], y[order], weight[order]).tree_.to_json() == one
        assert fit(X.repeat(times, 0), y.repeat(times)).tree_.to_json() == one


@pytest.mark.parametrize("min_samples_leaf", [1, 3, 10, 40])
def test_smallest_leaf(min_samples_leaf):
    X, y = load_wine(return_X_y=True)
    model = LocalSearchTreeClassifier(4, min_samples_leaf=min_samples_leaf, max_restarts=2,
                                      random_state=0).fit(X, y)
    assert np.unique(model.apply(X), return_counts=True)[1].min() >= min_samples_leaf
    cart = CARTClassifier(4, min_samples_leaf=min_samples_leaf, random_state=0).fit(X, y)
    assert model.report_.objective <= cart.report_.objective


@pytest.mark.parametrize("scale, shift", [(1.0, 0.0), (2.0**-52, 1.0), (1e-300, 0.0), (1e305, 0.0)])
def test_the_scale_of_the_values_does_not_matter(scale, shift):
    random = np.random.RandomState(2)
    X, y, _ = reference.random_rows(random, 40, 2, 12, 2)
    plain = LocalSearchTreeClassifier(3, max_restarts=2, random_state=0).fit(X, y)
    other = LocalSearchTreeClassifier(3, max_restarts=2, random_state=0).fit(X * scale + shift, y)
    assert np.array_equal(plain.predict(X), other.predict(X * scale + shift))


def test_contradictory_rows_bound_the_objective():
    X, y = np.array([[0.0], [0], [0], [1], [1]]), np.array([0, 0, 1, 1, 1])
    report = LocalSearchTreeClassifier(1).fit(X, y, [1.0, 2.0, 2.5, 1.0, 1.0]).report_
    assert (report.status, report.objective, report.lower_bound) == ("optimal", 2.5, 2.5)
    assert "any depth" in report.proof


@pytest.mark.parametrize("depth, leaves", [(0, 1), (1, 2), (40, None)])
def test_any_depth(depth, leaves):
    random = np.random.RandomState(3)
    X, y, _ = reference.random_rows(random, 80, 2, 50, 3)
    model = LocalSearchTreeClassifier(depth, max_restarts=1, patience=3, random_state=0).fit(X, y)
    assert model.tree_.depth <= depth
    if leaves is None:
        assert model.report_.objective == model.report_.lower_bound
    else:
        assert model.tree_.n_leaves == leaves


def test_the_same_seed_gives_the_same_tree():
    X, y = load_breast_cancer(return_X_y=True)
    trees = [LocalSearchTreeClassifier(4, max_restarts=2, random_state=seed).fit(X, y).tree_
             for seed in (7, 7, 8)]
    assert trees[0].to_json() == trees[1].to_json() != trees[2].to_json()


def test_time_limit_ends_restarts(monkeypatch):
    monkeypatch.setattr("odtlib.heuristics.cart.MOMENT", np.inf)    # a slow machine grows CART too
    X, y = load_breast_cancer(return_X_y=True)
    model = LocalSearchTreeClassifier(3, max_restarts=None, time_limit=0.2, random_state=0)
    report = model.fit(X, y).report_
    assert report.status == "time_limit"
    incumbents = report.trace["incumbent"]
    assert incumbents.is_monotonic_decreasing and incumbents.iloc[-1] == report.objective
    tiny = LocalSearchTreeClassifier(3, time_limit=1e-9, random_state=0).fit(X, y)
    cart = CARTClassifier(3, random_state=np.random.RandomState(0)).fit(X, y)
    assert tiny.report_.status == "time_limit"
    assert tiny.report_.objective == cart.report_.objective


@pytest.mark.parametrize("slices", [0, 1])
def test_interruption_returns_the_best_tree_so_far(monkeypatch, slices):
    step, calls = _Search.step, []

    def interrupted(self, work):
        calls.append(1)
        if len(calls) > slices:
            raise KeyboardInterrupt
        return step(self, 20 * work)

    X, y = load_breast_cancer(return_X_y=True)
    LocalSearchTreeClassifier(1, max_restarts=1).fit(X, y)
    monkeypatch.setattr(_Search, "step", interrupted)
    model = LocalSearchTreeClassifier(4, random_state=0).fit(X, y)
    assert model.report_.status == "interrupted"
    cart = CARTClassifier(4, random_state=np.random.RandomState(0)).fit(X, y)
    assert model.report_.objective <= cart.report_.objective - slices


def test_without_any_end():
    with pytest.raises(ValueError, match="max_restarts and time_limit are both None"):
        LocalSearchTreeClassifier(max_restarts=None).fit([[0.0], [1.0]], [0, 1])


def test_feature_names_reach_the_tree():
    frame = pd.DataFrame({"width": [1.0, 2, 3, 4], "height": [0.0, 0, 0, 0]})
    model = LocalSearchTreeClassifier(1, random_state=0).fit(frame, ["s", "s", "t", "t"])
    assert "width <= 2.5" in str(model.tree_)


def test_better_trees_are_printed_if_asked(capsys):
    for verbose in (0, 1):
        model = LocalSearchTreeClassifier(1, verbose=verbose).fit([[0.0], [1.0]], [0, 1])
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == verbose * (len(model.report_.events) - 1)


def test_uneven_weights_are_told_within_the_tolerance_of_their_sum():
    model = LocalSearchTreeClassifier().fit([[1.0], [1.0]], [0, 1], [1e-6, 1e8])
    report = model.report_
    assert (report.status, report.objective, report.lower_bound) == ("optimal", 1e-6, 1e-6)
    assert report.scale == pytest.approx(1e8)


def test_light_rows_beside_heavy_ones_divide_by_nothing():
    random = np.random.RandomState(5)
    for seed in range(60):
        X, y, _ = reference.random_rows(random, 12, 2, 8, 3)
        weight = 10.0 ** random.choice([-12, 0, 12], 12)
        model = LocalSearchTreeClassifier(3, max_restarts=2, random_state=seed).fit(X, y, weight)
        assert model.verify(X, y, weight) == model.report_.objective


def test_the_bound_never_exceeds_the_objective():
    random = np.random.RandomState(4)
    for seed in range(100):
        X, y, _ = reference.random_rows(random, 15, 2, 4, 3)
        weight = 10.0 ** random.uniform(-8, 8, 15)
        model = LocalSearchTreeClassifier(random.randint(4), max_restarts=2,
                                          random_state=seed).fit(X, y, weight)
        report = model.report_
        assert report.lower_bound <= report.objective == model.verify(X, y, weight)
        points = np.unique(X, axis=0, return_inverse=True)[1].ravel()
        forced = sum(math.fsum(weight[points == point]) - max(
            math.fsum(weight[(points == point) & (y == c)]) for c in range(3))
            for point in np.unique(points))
        assert report.lower_bound <= forced + 1e-12 * weight.sum()


class Countdown:
    """A clock whose limit passes at a look: at the first, the second ..."""

    def __init__(self, looks):
        self.looks, self.elapsed, self.time_limit = looks, 0.0, 1.0

    @property
    def remaining(self):
        self.looks -= 1
        return 1.0 if self.looks >= 0 else 0.0

    @property
    def expired(self):
        return self.remaining <= 0.0

    def check(self):
        if self.expired:
            raise TimeUp


@pytest.mark.parametrize("looks", range(12))
def test_time_may_end_between_any_two_features(monkeypatch, looks):
    X, y = load_wine(return_X_y=True)
    X = X[:, :3]
    monkeypatch.setattr(local_search, "patient_clock", lambda limit: Countdown(looks))
    model = LocalSearchTreeClassifier(3, max_restarts=1, random_state=0).fit(X, y)
    assert model.verify(X, y) == model.report_.objective
    if looks < 9:         # ranking, merging and sorting look at the clock at every feature
        assert model.report_.status == "time_limit" and model.tree_.n_nodes == 1


def test_a_search_without_cart_begins_with_a_leaf(monkeypatch):
    def late(limit):
        clock = Countdown(10**9)
        clock.elapsed = 1.0
        return clock

    X, y = load_wine(return_X_y=True)
    monkeypatch.setattr(local_search, "patient_clock", late)
    monkeypatch.setattr(local_search, "cart_nodes", None)
    report = LocalSearchTreeClassifier(3, max_restarts=1, random_state=0).fit(X, y).report_
    assert "cart" not in set(report.trace["event"]) and report.objective <= 4
    step = _Search.step

    def stopped(self, work):     # one node is visited, then Ctrl-C
        step(self, 1)
        raise KeyboardInterrupt

    monkeypatch.setattr(_Search, "step", stopped)
    model = LocalSearchTreeClassifier(3, random_state=0).fit(X, y)
    assert model.report_.status == "interrupted" and model.tree_.n_splits == 1
    assert model.verify(X, y) == model.report_.objective


@pytest.mark.parametrize("depth", [np.int8(3), np.uint8(3)])
def test_small_integers_of_numpy_compile_nothing_new(depth):
    X, y = load_wine(return_X_y=True)
    plain = LocalSearchTreeClassifier(3, max_restarts=1, random_state=0).fit(X, y)
    signatures = list(_kernels.search.signatures)
    other = LocalSearchTreeClassifier(depth, min_samples_leaf=np.int8(1), patience=np.int8(20),
                                      max_restarts=1, random_state=0).fit(X, y)
    assert other.tree_ == plain.tree_ and _kernels.search.signatures == signatures
