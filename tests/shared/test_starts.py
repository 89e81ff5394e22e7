"""A warm start is a word, a tree, or a fitted estimator, and means the same in every solver."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import odtlib
from odtbook import formulations
from odtlib.binarize import ThresholdBinarizer, _WordColumns
from odtlib.objectives import LinearLeaves

SOLVERS = [
    (odtlib.MurTreeClassifier, {"binarizer": "all"}),
    (odtlib.ContinuousTreeClassifier, {}),
    (formulations.OCTClassifier, {"time_limit": 600}),
    (formulations.FlowOCTClassifier, {"binarizer": "all", "time_limit": 600}),
    (formulations.BinOCTClassifier, {"time_limit": 600}),
]
each_solver = pytest.mark.parametrize(("solver", "options"), SOLVERS,
                                      ids=[solver.__name__ for solver, _ in SOLVERS])


def problem(seed=0, n_rows=30):
    random = np.random.default_rng(seed)
    X = random.integers(0, 6, (n_rows, 3)).astype(float)
    y = np.where((X[:, 0] > 2) ^ (X[:, 1] > 3) ^ (random.random(n_rows) < 0.1), "b", "a")
    return X, y


@each_solver
def test_a_start_changes_the_report_only(solver, options):
    X, y = problem(n_rows=20)
    optimum = solver(2, **options).fit(X, y).report_.objective
    ours = odtlib.MurTreeClassifier(2, binarizer="all").fit(X, y)
    theirs = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    for start in (ours, theirs, ours.tree_, "cart", "local-search", None):
        report = solver(2, start=start, **options).fit(X, y).report_
        assert report.objective == optimum
        assert report.status == "optimal"
        assert report.start == (start if start is None or isinstance(start, str) else "tree")


@each_solver
def test_what_is_no_start_is_refused_in_one_sentence(solver, options):
    X, y = problem()
    for start, message in [
            (DecisionTreeClassifier(), "DecisionTreeClassifier; use None, a word"),
            (RandomForestClassifier(2).fit(X, y), "RandomForestClassifier; use None, a word"),
            (DecisionTreeRegressor(max_depth=1).fit(X, X[:, 0]), "regression tree"),
            (odtlib.CARTClassifier(), "is not fitted")]:
        with pytest.raises(ValueError, match=message):
            solver(2, start=start, **options).fit(X, y)
    with pytest.raises(ValueError, match="'start' parameter"):
        solver(2, start="best", **options).fit(X, y)


def test_regression_trees_start_the_regression_search():
    X, _ = problem()
    y = X[:, 0] + 2 * (X[:, 1] > 2)
    optimum = odtlib.MurTreeRegressor(2, binarizer="all").fit(X, y).report_
    for start in (DecisionTreeRegressor(max_depth=2).fit(X, y),
                  odtlib.ContinuousTreeRegressor(2).fit(X, y),
                  odtlib.MurTreeRegressor(2, loss=LinearLeaves([0])).fit(X, y)):
        report = odtlib.MurTreeRegressor(2, binarizer="all", start=start).fit(X, y).report_
        assert report.start == "tree"
        assert report.objective == pytest.approx(optimum.objective)


def test_trees_go_to_the_columns_and_back():
    for seed in range(20):
        X, y = problem(seed)
        binarizer = ThresholdBinarizer().fit(X, y)
        tree = odtlib.ContinuousTreeClassifier(3).fit(X, y).tree_
        over_columns = binarizer.to_columns(tree)
        assert np.array_equal(over_columns.predict(binarizer.transform(X)), tree.predict(X))
        back = binarizer.to_original(over_columns)
        assert np.array_equal(back.predict(X), tree.predict(X))
        assert binarizer.to_columns(back) == over_columns


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_a_tree_over_words_starts_every_search_over_the_same_table(seed, gaps):
    """Whatever columns it was grown over: the questions about the table are the same."""
    random = np.random.default_rng(seed)
    X = pd.DataFrame({"a": random.integers(0, 5, 60).astype(float), "b": random.integers(0, 2, 60),
                      "w": random.choice(["p", "q", "r"], 60), "v": random.choice(["s", "t"], 60)})
    y = (X["a"] > 2) ^ (X["w"] == "q") ^ (X["v"] == "t") & (X["b"] > 0)
    X = X.mask(random.random(X.shape) < 0.1) if gaps else X
    starts = [kind.fit(X, y) for kind in (
        odtlib.CARTClassifier(3), odtlib.ContinuousTreeClassifier(3, time_limit=5),
        odtlib.MurTreeClassifier(3), odtlib.MurTreeClassifier(3, binarizer="all"))]
    for start in starts:
        for made in (ThresholdBinarizer().fit(X, y), _WordColumns().fit(X, y)):
            rows = made.transform(X)
            found = made.to_columns(start.tree_).predict(rows)
            assert np.array_equal(found, start.predict(X)) or start is starts[2]    # fewer cuts
    for given in [*starts, *(start.tree_ for start in starts), "cart", "local-search"]:
        for solver in (odtlib.MurTreeClassifier(3, binarizer="all", start=given),
                       odtlib.ContinuousTreeClassifier(3, start=given)):
            report = solver.fit(X, y).report_
            assert report.start == (given if isinstance(given, str) else "tree")
            assert report.status == "optimal"
            assert report.objective == starts[3].report_.objective
    other = X.rename(columns={"a": "c"})
    for given in (starts[0], starts[0].tree_):
        with pytest.raises(ValueError, match="start (was fitted to the columns|is a DecisionTree)"):
            odtlib.MurTreeClassifier(3, start=given).fit(other, y)
    with pytest.raises(ValueError, match="for which the binariser made no threshold"):
        ThresholdBinarizer().fit(X.assign(w=X["a"], v=X["a"]), y).to_columns(starts[3].tree_)


def test_the_nearest_threshold_stands_in_for_one_that_is_no_column():
    X, y = problem()
    binarizer = ThresholdBinarizer().fit(X, y)
    over_columns = binarizer.to_columns(odtlib.DecisionTree.from_nested((1, 2.7, 0, 1)))
    assert binarizer.to_original(over_columns).threshold[0] == 2.5
    constant = np.column_stack([X[:, 0], np.ones(len(X))])
    with pytest.raises(ValueError, match="the tree splits x1, for which the binariser made no"):
        ThresholdBinarizer().fit(constant, y).to_columns(
            odtlib.DecisionTree.from_nested((1, 2.7, 0, 1)))


def test_a_tree_over_columns_starts_only_a_search_over_the_same_columns():
    X, y = problem()
    made = odtlib.MurTreeClassifier(2, binarizer="quantile").fit(X, y)
    if made._tree_over_columns:
        with pytest.raises(ValueError, match="give one whose tree tests features"):
            odtlib.ContinuousTreeClassifier(2, start=made).fit(X, y)
    again = odtlib.MurTreeClassifier(3, binarizer="quantile", start=made).fit(X, y).report_
    assert again.status == "optimal" and again.objective <= made.report_.objective
