"""Regression trees: against brute force, on nasty numbers, with limits, starts and weights."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import BaggingRegressor
from sklearn.tree import DecisionTreeRegressor

from odtlib import DecisionTree, MurTreeClassifier, MurTreeRegressor, MurTreeSearch, SurvivalTree
from odtlib.murtree.additive import AdditiveSolver
from odtlib.murtree.objectives.absolute_error import AbsoluteError
from odtlib.murtree.objectives.additive import FittedObjective
from odtlib.murtree.objectives.squared_error import SquaredError
from odtlib.murtree.solver import Solver
from tests.murtree.building import build
from tests.naive import best_cost

LOSSES = ("squared_error", "absolute_error")


def fitted(X, y, weight, absolute):
    """Return the objective on some rows."""
    return AbsoluteError(y, weight) if absolute else FittedObjective(SquaredError(), X, y, weight)


def leaf_loss(y, weight, absolute):
    """Return the loss of the best constant: of the mean, or of the best of all targets."""
    if absolute:
        return min((weight * np.abs(y - value)).sum() for value in y)
    return float((weight * (y - np.average(y, weights=weight)) ** 2).sum())


def best_loss(X, y, weight, absolute, *limits):
    """Return the least loss plus penalty over all trees, by trying them all."""
    return best_cost(X, lambda rows: leaf_loss(y[rows], weight[rows], absolute), *limits)


def instance(rng):
    """Return a small instance: ties, equal rows, constant columns and targets, huge numbers."""
    n_rows, n_columns = int(rng.integers(1, 22)), int(rng.integers(1, 5))
    X = (rng.random((n_rows, n_columns)) < rng.choice([0.2, 0.5, 0.9])).astype(np.uint8)
    if n_columns > 1 and rng.random() < 0.3:
        X[:, 1] = 1 - X[:, 0]
    kind = rng.integers(5)
    if kind == 0:
        y = rng.integers(0, 3, n_rows).astype(float)
    elif kind == 1:
        y = rng.normal(size=n_rows)
    elif kind == 2:
        y = 1e8 + rng.integers(0, 5, n_rows)
    elif kind == 3:
        y = np.exp(rng.normal(0, 4, n_rows))            # a few rows outweigh all others
    else:
        y = X @ rng.normal(size=n_columns) + 0.1 * rng.normal(size=n_rows)
    depth = int(rng.integers(1, 5 if n_columns < 3 else 4))
    nodes = int(rng.integers(0, min(2 ** depth, 6)))
    weight = [np.ones(n_rows), rng.integers(1, 4, n_rows).astype(float),
              10.0 ** rng.uniform(-3, 3, n_rows)][rng.integers(3)]
    return X, y, depth, nodes, weight


@pytest.mark.parametrize("absolute", [False, True], ids=LOSSES)
@pytest.mark.parametrize("seed", range(4))
def test_optimum_equals_brute_force(seed, absolute):
    rng = np.random.default_rng(100 * absolute + seed)
    for _ in range(520):
        X, y, depth, nodes, weight = instance(rng)
        min_leaf = int(rng.choice([1, 1, 1, 2, 3]))
        whole = leaf_loss(y, weight, absolute)
        penalty = float(rng.choice([0.0, 0.0, 0.02, 0.2])) * whole
        expected = best_loss(X, y, weight, absolute, depth, nodes, min_leaf, penalty)
        problem = fitted(X, y, weight, absolute).prepared(X, min_samples_leaf=min_leaf)
        solver = build(
            AdditiveSolver, problem, depth, nodes, split_penalty=penalty,
            min_samples_leaf=min_leaf, similarity_bound=bool(rng.integers(2)),
            cache=[None, "dataset", "dataset", "branch"][rng.integers(4)],
            child_order=["dynamic", "post-order", "gap"][rng.integers(3)],
            feature_order=["depth-two", "in-order", "gini"][rng.integers(3)])
        assert solver.solve(depth, nodes)
        # Rounding stays small against the loss of a single leaf (and the reference rounds too).
        rounding = 1e-11 * whole + 1e-28 * (weight * y * y).sum()
        assert solver.value() + problem.offset == pytest.approx(
            expected, rel=1e-9, abs=rounding)
        assert problem.least + problem.offset <= expected + rounding


def numbers(seed=0, n_rows=150, n_columns=12):
    rng = np.random.default_rng(seed)
    X = (rng.random((n_rows, n_columns)) < 0.5).astype(np.uint8)
    y = (3 * X[:, 0] + 2 * (X[:, 1] & X[:, 2]) + (X[:, 3] ^ X[:, 4]) * X[:, 0]
         + 0.3 * rng.normal(size=n_rows))
    return X, y


@pytest.mark.parametrize("loss", LOSSES)
def test_never_worse_than_cart_and_every_leaf_large_enough(loss):
    X, y = numbers()
    for min_leaf in (1, 7):
        cart = DecisionTreeRegressor(max_depth=3, min_samples_leaf=min_leaf, criterion=loss,
                                     random_state=0).fit(X, y)
        model = MurTreeRegressor(3, loss=loss, min_samples_leaf=min_leaf).fit(X, y)
        error = y - cart.predict(X)
        reached = (np.abs(error) if loss == "absolute_error" else error ** 2).sum()
        assert model.report_.objective <= reached + 1e-9
        assert np.unique(model.apply(X), return_counts=True)[1].min() >= min_leaf


@pytest.mark.parametrize("loss", LOSSES)
def test_the_similarity_bound_saves_work_and_nothing_else(loss):
    rng = np.random.default_rng(3)
    position = rng.random((160, 3))
    X = np.concatenate([position <= t for t in (0.2, 0.4, 0.45, 0.6, 0.8)], axis=1)
    y = np.sin(6 * position[:, 0]) + position[:, 1] * position[:, 2]
    with_it, without = (build(MurTreeRegressor, 4, loss=loss, similarity_bound=on).fit(X, y).report_
                        for on in (True, False))
    assert with_it.objective == pytest.approx(without.objective)
    assert with_it.counters["similarity_updates"] > 0 == without.counters["similarity_updates"]
    assert with_it.counters["depth_two_pairs"] < without.counters["depth_two_pairs"]


@pytest.mark.parametrize("loss", LOSSES)
def test_path_is_monotone_and_agrees_with_separate_fits(loss):
    X, y = numbers(n_columns=8)
    entries = MurTreeRegressor(3, loss=loss).path(X, y)
    assert [entry.max_nodes for entry in entries] == list(range(8))
    for entry in entries:
        single = MurTreeRegressor(3, entry.max_nodes, loss=loss).fit(X, y)
        assert entry.objective == pytest.approx(single.report_.objective)
        assert entry.tree.n_splits <= entry.max_nodes
    assert np.all(np.diff([entry.objective for entry in entries]) <= 1e-9)


def test_split_penalty_and_fewest_nodes():
    X, y = numbers()
    whole = MurTreeRegressor(0).fit(X, y).report_.objective
    sizes = [MurTreeRegressor(3, split_penalty=s).fit(X, y).tree_.n_splits
             for s in (0.0, 0.02 * whole, 0.3 * whole, whole)]
    assert sizes == sorted(sizes, reverse=True) and sizes[-1] == 0 < sizes[1]
    step = np.where(X[:, 0] == 1, 2.0, 5.0)
    model = build(MurTreeRegressor, 3, minimise_nodes=True)
    assert model.fit(X, step).tree_.n_splits == 1


def test_huge_targets_and_weights():
    X, y = numbers(n_columns=8)
    plain = MurTreeRegressor(3).fit(X, y)
    for factor, shift in ((1e8, 0.0), (1e-8, 0.0), (1.0, 1e8), (1e99, 0.0)):
        model = MurTreeRegressor(3).fit(X, factor * y + shift)
        assert model.report_.objective == pytest.approx(factor ** 2 * plain.report_.objective,
                                                        rel=1e-5)
    heavy = MurTreeRegressor(3).fit(X, y, np.full(len(y), 1e8))
    assert heavy.report_.objective == pytest.approx(1e8 * plain.report_.objective)
    with pytest.raises(ValueError, match="none exceeds 1e[+]100"):
        MurTreeRegressor(1).fit(X, 1e200 * y)
    with pytest.raises(ValueError, match="some reach 1e-100"):
        MurTreeRegressor(1).fit(X, 1e-200 * y)
    with pytest.raises(ValueError, match="too large or too small"):
        MurTreeRegressor(1).fit(X, 1e-99 * (1 + 1e-14 * y), np.full(len(y), 1e-99))


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_equal_repeated_rows_and_zero_drops_a_row(loss):
    rng = np.random.default_rng(5)
    X, y = numbers(n_rows=60, n_columns=7)
    weight = rng.integers(0, 4, len(y))
    model = MurTreeRegressor(3, loss=loss).fit(X, y, weight)
    repeated = MurTreeRegressor(3, loss=loss).fit(np.repeat(X, weight, axis=0),
                                                  np.repeat(y, weight))
    assert model.report_.objective == pytest.approx(repeated.report_.objective)


def test_medians_are_those_of_numpy():
    X, y = numbers()
    tree = MurTreeRegressor(2, loss="absolute_error").fit(X, y).tree_
    leaves = tree.apply(X.astype(float))
    for leaf in np.unique(leaves):
        assert tree.value[leaf, 0] == pytest.approx(np.median(y[leaves == leaf]))


@pytest.mark.parametrize("loss", LOSSES)
def test_starts(loss):
    X, y = numbers()
    best = MurTreeRegressor(3, loss=loss).fit(X, y)
    for start in ("cart", best.tree_):
        again = MurTreeRegressor(3, loss=loss, start=start).fit(X, y)
        assert again.report_.objective == pytest.approx(best.report_.objective)
        assert again.report_.start == ("cart" if start == "cart" else "tree")
    with pytest.raises(ValueError, match="give a shallower tree"):
        MurTreeRegressor(1, loss=loss, start=best.tree_).fit(X, y)
    with pytest.raises(ValueError, match="give a regression tree"):
        classes = MurTreeClassifier(1).fit(X, y > 2).tree_
        MurTreeRegressor(1, loss=loss, start=classes).fit(X, y)


@pytest.mark.parametrize("loss", LOSSES)
def test_limits(loss, monkeypatch):
    X, y = numbers(n_rows=400, n_columns=120)
    model = MurTreeRegressor(5, loss=loss, time_limit=0.3).fit(X, y)
    assert model.report_.status == "time_limit"
    assert model.report_.lower_bound <= model.report_.objective
    cart = DecisionTreeRegressor(max_depth=5, random_state=0).fit(X, y)
    if loss == "squared_error":
        assert model.report_.objective <= ((y - cart.predict(X)) ** 2).sum()
    small = MurTreeRegressor(3, loss=loss, search=MurTreeSearch(memory_limit=0.004))
    small.fit(X[:, :15], y)
    free = MurTreeRegressor(3, loss=loss).fit(X[:, :15], y)
    assert small.report_.objective == pytest.approx(free.report_.objective)
    slices = []

    def interrupt(self):
        slices.append(1)
        if len(slices) == 2:
            raise KeyboardInterrupt
        return one_slice(self)

    one_slice = Solver._slice
    monkeypatch.setattr(Solver, "_slice", interrupt)
    monkeypatch.setattr("odtlib.fit.FIRST_SLICE", 1000)
    stopped = MurTreeRegressor(4, loss=loss, start="cart").fit(X, y)
    assert stopped.report_.status == "interrupted" and stopped.tree_.n_splits > 0


@pytest.mark.parametrize("min_leaf", [1, 5])
@pytest.mark.parametrize("loss", LOSSES)
def test_threads_find_the_same_optima(loss, min_leaf, monkeypatch):
    """Also for all node budgets at once, and with slices so short that all threads have work."""
    monkeypatch.setattr("odtlib.fit.FIRST_SLICE", 1000)
    monkeypatch.setattr("odtlib.fit.LONGEST_SLICE", 0.002)
    taken, absolute = 0, loss == "absolute_error"
    for seed in range(4):
        X, y = numbers(seed, n_rows=90)
        weight = np.random.default_rng(seed).integers(1, 4, len(y)) if seed % 2 else np.ones(90)
        problem = fitted(X, y, weight.astype(float), absolute).prepared(
            X, min_samples_leaf=min_leaf)
        alone, together = (
            build(AdditiveSolver, problem, 4, 15, min_samples_leaf=min_leaf,
                  split_penalty=0.01 * problem.scale * (seed > 1), n_jobs=n_jobs)
            for n_jobs in (1, 3))
        for smallest in (15, 0):
            assert alone.solve(4, 15, smallest=smallest)
            assert together.solve(4, 15, smallest=smallest)
            for nodes in range(smallest, 16):
                assert together.value(nodes) == pytest.approx(
                    alone.value(nodes), abs=1e-12 * problem.scale)
        taken += sum(int(worker.shared[1][:, 0].sum()) for worker in together._workers)
        model = MurTreeRegressor(4, loss=loss, min_samples_leaf=min_leaf, n_jobs=2)
        model.fit(X, y, weight)
        assert model.report_.status == "optimal" and (np.diff(model.report_.trace["incumbent"])
                                                      <= 1e-12).all()
        assert model.verify(X, y, weight) == pytest.approx(MurTreeRegressor(
            4, loss=loss, min_samples_leaf=min_leaf).fit(X, y, weight).report_.objective)
    assert taken > 100


def test_bad_input_is_refused():
    X, y = numbers()
    for options, match in (({"loss": "huber"}, "loss"), ({"binarizer": "mdlp"}, "binarizer"),
                           ({"split_penalty": -1}, "split_penalty"), ({"n_jobs": 0}, "n_jobs")):
        with pytest.raises(ValueError, match=match):
            MurTreeRegressor(**options).fit(X, y)
    with pytest.raises(ValueError, match="at least one non-zero"):
        MurTreeRegressor().fit(X, y, np.zeros(len(y)))
    with pytest.raises(ValueError, match="needs features that are 0 or 1"):
        MurTreeRegressor(binarizer=None).fit(X + 0.5, y)
    with pytest.raises(ValueError, match="give one target, or another loss"):
        MurTreeRegressor(loss="absolute_error").fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError):
        MurTreeRegressor().fit(X, np.where(X[:, 0] == 1, np.nan, y))


def test_frames_and_bagging():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"size": rng.random(90), "colour": rng.choice(["red", "blue"], 90)})
    y = np.where(frame["colour"] == "red", 3.0, 0.0) + (frame["size"] > 0.5)
    model = MurTreeRegressor(2).fit(frame, y)
    assert "colour" in str(model.tree_) and np.isfinite(model.predict(frame)).all()
    X, y = numbers(n_columns=6)
    forest = BaggingRegressor(MurTreeRegressor(2), n_estimators=5, random_state=0).fit(X, y)
    assert forest.score(X, y) > 0.5
    start = DecisionTree.from_nested((0, 0.5, [0.0], [1.0]), kind="regression")
    assert MurTreeRegressor(1, start=start).fit(X, y).tree_.n_splits == 1


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
@pytest.mark.parametrize("weights", ["one", "copies", "whole", "real"])
@pytest.mark.parametrize("n_columns", [33, 72, 101])
def test_pairs_of_many_columns(loss, weights, n_columns):
    """Sums over pairs, in vectors of 8, 32 and 64 columns, give the tree that splitting gives."""
    rng = np.random.default_rng(n_columns)
    X = (rng.random((150, n_columns)) < rng.uniform(0.05, 0.95, n_columns)).astype(np.uint8)
    y = X[:, :3] @ [1.0, -2.0, 1.5] + rng.normal(size=150)
    w = {"whole": rng.integers(1, 4, 150), "real": rng.uniform(0.5, 2.0, 150)}.get(weights)
    if weights == "copies":                      # rows that become one with a weight of two
        X[:10], X[20:25] = X[10:20], X[30]
    for min_samples_leaf in (1, 9):
        model = MurTreeRegressor(2, loss=loss, min_samples_leaf=min_samples_leaf)
        fast = model.fit(X, y, w).report_.objective
        slow = model.set_params(search=MurTreeSearch(specialised_depth_two=False))
        assert fast == pytest.approx(slow.fit(X, y, w).report_.objective, rel=1e-9)


@pytest.mark.parametrize("kind", [MurTreeRegressor, SurvivalTree])
def test_trees_of_budgets_and_good_trees_know_the_weights_of_their_nodes(kind):
    """Without them a value that is missing only in new rows went elsewhere than in the fit."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = np.column_stack([rng.random(80) < 0.7, np.exp(X[:, 0] + X[:, 1])])
    y = y if kind is SurvivalTree else y[:, 1]
    weight = rng.uniform(0.5, 2.0, 80)
    model = kind(2)
    last = model.path(X, y, weight)[-1].tree
    assert last == model.tree_ == model.fit(X, y, weight).tree_
    assert model.tree_.weight[0] == pytest.approx(weight.sum())
    first = model.good_trees(X, y, weight, tolerance=0.0)[0]
    assert first == model.tree_
    assert np.array_equal(first.feature_importances(), model.feature_importances_)
