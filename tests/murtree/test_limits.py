"""Limits and interruptions: nothing long begins without time, and a valid tree comes back."""

import gc

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from odtlib import DecisionTree, MurTreeClassifier, MurTreeRegressor
from odtlib.binarize import MDLPBinarizer, QuantileBinarizer, ThresholdBinarizer
from odtlib.certify import Certificate
from odtlib.murtree.greedy import cart, sum_columns
from odtlib.murtree.preparation import Workspace, prepare
from odtlib.murtree.solver import Solver
from odtlib.report import Clock
from tests.murtree.test_regressor import LOSSES, numbers
from tests.murtree.test_search import blobs


class Ticking(Clock):
    """A clock whose limit passes after so many looks at it."""

    def __init__(self, looks):
        super().__init__()
        self.looks = looks

    @property
    def remaining(self):
        self.looks -= 1
        return np.inf if self.looks >= 0 else 0.0


def wide(n_rows=60, n_columns=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n_rows, n_columns))
    return X, (X[:, 0] ^ X[:, 1]) | X[:, 2]


@pytest.mark.parametrize("binarizer", [MDLPBinarizer(), QuantileBinarizer(),
                                       ThresholdBinarizer()])
def test_a_binariser_of_many_cells_stops_when_the_clock_has_expired(binarizer, monkeypatch):
    monkeypatch.setattr("odtlib.binarize.MOMENT_CELLS", 479)
    X = np.random.default_rng(0).normal(size=(80, 6))
    y = (X.sum(axis=1) > 0).astype(int)
    whole = set(binarizer.fit(X, y).get_feature_names_out())
    some = binarizer._fit_until(Ticking(2), X, y)
    assert set(some.get_feature_names_out()) < whole
    assert some.transform(X).shape == (80, len(some.feature_))
    assert binarizer._fit_until(Ticking(0), X, y).transform(X).shape == (80, 0)


def test_evenly_fewer_columns_where_all_take_too_long(monkeypatch):
    X = np.random.default_rng(0).normal(size=(80, 6))
    monkeypatch.setattr("odtlib.binarize.CELLS_AT_A_TIME", 80 * 30)
    whole, some = (ThresholdBinarizer().fit(X) for _ in range(2))
    assert np.array_equal(whole._encode_until(Clock(), X), whole.transform(X)) and whole.complete_
    columns = some._encode_until(Clock(0.0), X)
    assert not some.complete_ and columns.shape == (80, 30) == some.transform(X).shape
    assert np.array_equal(columns, some.transform(X))
    assert set(some.column_names_) < set(whole.column_names_)
    assert np.bincount(some.feature_).tolist() == [5] * 6


@pytest.mark.parametrize("binarizer", ["mdlp", QuantileBinarizer(), ThresholdBinarizer()])
def test_no_time_for_a_given_binariser_leaves_a_leaf(binarizer, monkeypatch):
    monkeypatch.setattr("odtlib.binarize.MOMENT_CELLS", 479)
    X = np.random.default_rng(0).normal(size=(80, 6))
    y = (X[:, 0] > 0).astype(int)
    model = MurTreeClassifier(2, binarizer=binarizer, time_limit=1e-9).fit(X, y)
    assert model.report_.status == "time_limit" and model.tree_.n_splits == 0
    assert model.report_.lower_bound == 0 == model.report_.objective - min(y.sum(), 80 - y.sum())
    assert model.predict(X).shape == (80,)


@pytest.mark.parametrize("min_samples_leaf", [1, 8])
@pytest.mark.parametrize("make", [
    lambda **o: MurTreeClassifier(3, **o), lambda **o: MurTreeRegressor(3, **o),
    lambda **o: MurTreeRegressor(3, loss="absolute_error", **o)])
def test_a_step_that_is_too_long_is_not_begun(make, min_samples_leaf, monkeypatch):
    X, y = wide()
    optimum = make(min_samples_leaf=min_samples_leaf).fit(X[:, :20], y).report_.objective
    slices, one_slice = [], Solver._slice
    monkeypatch.setattr(Solver, "_slice", lambda *data: slices.append(1) or one_slice(*data))
    monkeypatch.setattr("odtlib.murtree.solver.SECONDS_PER_PAIR",
                        dict.fromkeys((2, 4, 8), (1.0, 1.0)))
    model = make(min_samples_leaf=min_samples_leaf, time_limit=100).fit(X, y)
    assert not slices and model.report_.status == "time_limit"
    assert 0 < model.tree_.n_splits and model.tree_.depth <= 3
    assert model.report_.lower_bound <= optimum
    assert model.verify(X, y) == pytest.approx(model.report_.objective)
    leaves = np.unique(model.apply(X), return_counts=True)[1]
    assert leaves.min() >= min_samples_leaf
    model.set_params(time_limit=None).fit(X[:, :20], y)
    assert slices and model.report_.status == "optimal"


def test_what_is_missing_of_a_tree_is_grown_by_cart():
    X, y = wide(200, 30)
    problem = prepare(X, y, 2)
    solver = Solver(problem, 4, 15)

    def tree(looks):
        solver.solve(4, 15)
        return solver.trees(4, [15], Ticking(looks))[0]

    full, part, none = tree(1000), tree(2), tree(0)
    assert full[0] == part[0] == none[0]               # the root is known in any case
    assert none[1:] == tuple(
        solver.cart(np.flatnonzero(problem.rows[:, full[0]] == side), 3, 7) for side in (0, 1))


@pytest.mark.parametrize("n, columns, sums", [(1, 1, 1), (70, 33, 4), (200, 130, 2)])
def test_sums_of_columns_are_products(n, columns, sums):
    random = np.random.default_rng(n)
    X, table = random.integers(0, 2, (n, columns), np.uint8), random.normal(size=(n, sums))
    table[random.random(table.shape) < 0.5] = 0
    rows, inside = random.permutation(n)[:n // 2 + 1], np.ones((sums, columns))
    sum_columns(X, table, rows, inside)
    np.testing.assert_allclose(inside, 1 + table[rows].T @ X[rows], atol=1e-12)


def test_cart_takes_the_purest_split():
    X, _ = wide(200, 12)
    y = X[:, 3] ^ (np.arange(200) % 4 == 0)
    weight = np.random.default_rng(1).random(200)
    classes = np.eye(2)[y] * weight[:, None]

    def leaf(rows):
        sums = classes[rows].sum(axis=0)
        return sums.min(), int(sums.argmax())

    root, zero, one = cart(X, classes, np.ones(200), 1, 5, leaf, np.arange(200))
    purity = [sum((classes[side].sum(axis=0) ** 2).sum() / weight[side].sum()
                  for side in (X[:, j] == 1, X[:, j] == 0)) for j in range(12)]
    assert root == np.argmax(purity)
    assert (zero, one) == tuple(leaf(np.flatnonzero(X[:, root] == side))[1] for side in (0, 1))
    assert not isinstance(cart(X, classes, np.ones(200), 3, 101, leaf, np.arange(200)), tuple)


BUDGETED = {"errors": {}, "gini": {"objective": "gini"}, "entropy": {"objective": "entropy"},
            "squared_error": {"loss": "squared_error"}, "poisson": {"loss": "poisson"}}


@pytest.mark.parametrize("kind", BUDGETED)
@pytest.mark.parametrize("leaves", [5, 8])
def test_a_budget_of_leaves_without_time_is_never_behind_best_first_cart(kind, leaves):
    """scikit-learn's tree of so many leaves, by the same criterion, costs no less."""
    rng = np.random.default_rng(leaves)
    X, weight = rng.integers(0, 2, (600, 14)), rng.random(600) + 0.5        # no ties
    score = X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] * X[:, 4] + (X[:, 5] > X[:, 6])
    if kind in ("squared_error", "poisson"):
        y = rng.poisson(0.5 + score) * 1.0
        model = MurTreeRegressor(7, max_leaf_nodes=leaves, time_limit=1e-9, **BUDGETED[kind])
        peer = DecisionTreeRegressor(criterion=kind, max_depth=7, max_leaf_nodes=leaves)
    else:
        y = (score + rng.normal(size=600) > 1).astype(int)
        model = MurTreeClassifier(7, max_leaf_nodes=leaves, time_limit=1e-9, **BUDGETED[kind])
        peer = DecisionTreeClassifier(criterion="entropy" if kind == "entropy" else "gini",
                                      max_depth=7, max_leaf_nodes=leaves)
    model.fit(X, y, weight)
    peer.fit(X, y, weight)
    ours = Certificate(model.get_params())(model.tree_, X, y, weight)
    theirs = Certificate(model.get_params())(DecisionTree.from_sklearn(peer), X, y, weight)
    assert model.tree_.n_leaves <= leaves and model.report_.status == "time_limit"
    assert ours == pytest.approx(model.report_.objective)
    assert ours <= theirs * (1 + 1e-9)


@pytest.mark.parametrize("loss", ["squared_error", "poisson", "absolute_error"])
def test_a_budget_under_a_limit_is_not_behind_the_optimum_of_a_small_depth(loss):
    """Depth eight with eight leaves, in less than the search takes, has the tree of depth four."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, (1500, 30))
    y = 2.0 * (X[:, 0] ^ X[:, 1]) + (X[:, 2] & X[:, 3] & X[:, 4]) + rng.poisson(1, 1500)
    small = MurTreeRegressor(3, loss=loss, max_leaf_nodes=8).fit(X, y)
    assert small.report_.status == "optimal"
    deep = MurTreeRegressor(9, loss=loss, max_leaf_nodes=8,
                            time_limit=max(1.0, 20 * small.report_.seconds)).fit(X, y)
    assert deep.tree_.n_leaves <= 8
    assert deep.report_.objective <= small.report_.objective * (1 + 1e-9)


@pytest.mark.parametrize("options", [{"objective": "f1"}, {"split_penalty": [1.0] * 4},
                                     {"max_disparity": 0.2}])
def test_fronts_and_levels_without_time(options):
    X, y = wide(60, 10)
    extra = {"protected": X[:, 5]} if "max_disparity" in options else {}
    model = MurTreeClassifier(4, time_limit=1e-9, **options).fit(X, y, **extra)
    assert model.report_.status == ("time_limit" if model.report_.gap else "optimal")
    assert model.verify(X, y) == pytest.approx(model.report_.objective)
    nothing = MurTreeClassifier(4, time_limit=1e-9, **options).fit(0 * X, y, **extra)
    assert nothing.tree_.n_splits == 0


@pytest.mark.parametrize("phase", ["odtlib.binarize.AutoBinarizer._cuts",
                                   "odtlib.murtree.run.prepare"])
def test_an_interruption_before_the_search_ends_the_fit(phase, monkeypatch):
    def interrupt(*data, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(phase, interrupt)
    X = np.random.default_rng(0).normal(size=(80, 3))
    with pytest.raises(KeyboardInterrupt):
        MurTreeClassifier(2).fit(X, (X[:, 0] > 0).astype(int))


@pytest.mark.parametrize("model", [MurTreeClassifier(3), MurTreeClassifier(3, objective="f1"),
                                   MurTreeRegressor(3)])
def test_the_arrays_of_a_search_are_freed_at_once(model):
    """Not only when Python looks for circles: by then others may have been made."""
    X = np.random.default_rng(0).integers(0, 2, (90, 9))
    gc.collect()
    gc.disable()
    try:
        model.fit(X, X[:, 0] ^ X[:, 1] & X[:, 2])
        assert not any(type(thing) is Workspace for thing in gc.get_objects())
    finally:
        gc.enable()


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_a_small_table_is_cut_and_cart_grows_however_little_time_there_is(kind):
    rng = np.random.default_rng(4)
    X = rng.integers(0, 6, (300, 5)).astype(float)
    y = (X[:, 0] > 2) + (X[:, 1] > X[:, 2]) * 1
    model, cart = (MurTreeClassifier, DecisionTreeClassifier) if kind == "classes" else (
        MurTreeRegressor, DecisionTreeRegressor)
    found = model(3, time_limit=1e-9).fit(X, y)
    grown = cart(max_depth=3).fit(X, y)
    assert not found.binarizer_.complete_
    assert found.score(X, y) >= grown.score(X, y) > 0.3


@pytest.mark.parametrize("ending", ["time", "interrupt"])
@pytest.mark.parametrize("model", [MurTreeClassifier(6), *(MurTreeRegressor(5, loss=loss)
                                                           for loss in LOSSES)], ids=str)
def test_threads_keep_limits(model, ending, monkeypatch):
    X, y = (blobs(n_rows=500, n_columns=60) if isinstance(model, MurTreeClassifier) else
            numbers(n_rows=400, n_columns=100))     # many times what the limit allows
    monkeypatch.setattr("odtlib.fit.FIRST_SLICE", 1000)
    gather, calls = Solver._gather, []

    def interrupted(self, incumbents):
        gather(self, incumbents)
        calls.append(1)
        if len(calls) == 2 and ending == "interrupt":
            raise KeyboardInterrupt

    monkeypatch.setattr(Solver, "_gather", interrupted)
    model.set_params(n_jobs=2, time_limit=0.6 if ending == "time" else None)
    report = model.fit(X, y).report_
    assert report.status == {"time": "time_limit", "interrupt": "interrupted"}[ending]
    assert report.lower_bound <= report.objective == pytest.approx(model.verify(X, y), rel=1e-9)
