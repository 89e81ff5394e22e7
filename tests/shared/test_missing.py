"""Missing values in searches over thresholds: against trying every test and both sides."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.fixes import parse_version

from odtlib import (
    CARTClassifier,
    ContinuousTreeClassifier,
    ContinuousTreeRegressor,
    DecisionTree,
    LocalSearchTreeClassifier,
    MurTreeClassifier,
    TunedCARTClassifier,
)
from odtlib.missing import DoubledColumns
from tests.naive import best_over, members, same_everywhere, sides


def instance(rng):
    """Return rows with ties, constant, missing and all-missing columns, and some weights."""
    n_rows, n_columns = int(rng.integers(4, 14)), int(rng.integers(1, 4))
    X = rng.integers(0, int(rng.choice([2, 3, 5])), (n_rows, n_columns)).astype(float)
    if rng.random() < 0.2:
        X[:, 0] = 7.0
    X[rng.random(X.shape) < rng.choice([0.0, 0.1, 0.4, 0.9])] = np.nan
    if rng.random() < 0.2:
        X[:, int(rng.integers(n_columns))] = np.nan
    weight = np.ones(n_rows) if rng.random() < 0.5 else rng.integers(1, 4, n_rows).astype(float)
    return X, weight


def gini(y, side):
    """Return the weighted impurity of both children."""
    return sum(part.size * (1 - (np.bincount(part) ** 2).sum() / part.size**2)
               for part in (y[side], y[~side]))


def two_classes(seed):
    """Return rows with gaps, their labels, and the least errors of a tree of each depth."""
    rng = np.random.default_rng(seed)
    X, _ = instance(rng)
    y = rng.integers(0, 2, len(X))
    y[:2] = 0, 1
    return X, y, partial(best_over, sides(X), len(X),
                         lambda rows: len(rows) - np.bincount(y[rows]).max())


@pytest.mark.parametrize("seed", range(40))
def test_cart_splits_as_well_as_any_test_and_as_scikit_learn(seed):
    X, y, least_errors = two_classes(5000 + seed)
    model = CARTClassifier(1, random_state=0).fit(X, y)
    if not sides(X):
        assert model.tree_.n_splits == 0
        return
    least_impurity = min(gini(y, np.isin(np.arange(len(y)), members(side)))
                         for side in sides(X))
    leaves = [model.apply(X)]
    if parse_version(sklearn.__version__) >= parse_version("1.8"):  # before, it missed splits
        theirs = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y).tree_
        leaves.append(theirs.apply(X.astype(np.float32)))
    for leaf in leaves:
        assert gini(y, leaf == 1) == pytest.approx(least_impurity)
    model = CARTClassifier(None, random_state=0).fit(X, y)
    assert model.report_.objective <= least_errors(3)
    assert same_everywhere(model, X)
    assert same_everywhere(LocalSearchTreeClassifier(2, random_state=0).fit(X, y), X)


@pytest.mark.parametrize("seed", range(40))
def test_local_search_reaches_the_optimum_of_small_problems(seed):
    X, y, least_errors = two_classes(6000 + seed)
    model = LocalSearchTreeClassifier(2, random_state=0).fit(X, y)
    assert model.report_.objective == least_errors(2) == model.verify(X, y)


@pytest.mark.parametrize("seed", range(30))
def test_a_tree_goes_over_to_the_columns_and_back(seed):
    rng = np.random.default_rng(seed)
    X, _ = instance(rng)
    X[0] = np.nan
    y = rng.integers(0, 2, len(X))
    model = ContinuousTreeClassifier(3, start=None).fit(X, y)
    columns = DoubledColumns(X)
    again = columns.folded(columns.widened(model.tree_))
    assert np.array_equal(again.apply(X), model.apply(X))
    assert again == model.tree_
    warm = ContinuousTreeClassifier(3, start=model).fit(X, y)
    assert warm.report_.start == "tree"
    assert warm.report_.objective == model.report_.objective
    filled = np.nan_to_num(X, nan=9.0)
    assert ContinuousTreeClassifier(3, start=model).fit(filled, y).report_.status == "optimal"
    worst = DecisionTree.from_nested((X.shape[1], 0.5, 0, 1))
    with pytest.raises(ValueError, match="give a tree fitted on the same columns"):
        ContinuousTreeClassifier(3, start=worst).fit(X, y)


@pytest.mark.parametrize("largest", [1.0, np.finfo(float).max])
def test_extreme_values_stay_apart_from_missing_ones(largest):
    X = np.array([[largest], [-largest], [np.nan]] * 2)
    y = [0, 0, 1, 0, 0, 1]
    for model in (ContinuousTreeClassifier(1), CARTClassifier(1), LocalSearchTreeClassifier(1),
                  ContinuousTreeRegressor(1)):
        model.fit(X, y)
        assert model.report_.objective == 0
        assert model.predict(X).tolist() == y
        assert "missing" in str(model.tree_)


def test_what_is_said_of_missing_values():
    X = np.array([[1.0, 5], [2, 5], [3, 5], [np.nan, 5], [np.nan, 6]])
    model = ContinuousTreeClassifier(2).fit(X, ["a", "a", "b", "a", "a"])
    assert model.tree_.rules() == ["if (x0 <= 2.5 or missing) then a  [4 0]",
                                   "if x0 > 2.5 then b  [0 1]"]
    assert "of 2 features on 5 rows" in model.report_.proof
    frame = pd.DataFrame(X, columns=["dose", "age"])
    frame["dose"] = frame["dose"].astype("Float64")
    model = ContinuousTreeClassifier(2).fit(frame, ["a", "a", "a", "b", "b"])
    assert model.tree_.rules() == ["if dose is not missing then a  [3 0]",
                                   "if dose is missing then b  [0 2]"]
    assert model.feature_importances_.tolist() == [1.0, 0.0]


def test_missing_only_in_new_rows_goes_with_the_larger_part():
    X, y = np.array([[1.0], [2], [3], [9]]), [0, 0, 0, 1]
    for kind in (ContinuousTreeClassifier, CARTClassifier, LocalSearchTreeClassifier,
                 ContinuousTreeRegressor):
        model = kind(1).fit(X, y)
        assert model.predict([[np.nan], [9.0]]).tolist() == [0, 1]


def test_tuned_cart_and_limits_take_missing_values():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 3))
    X[rng.random(X.shape) < 0.2] = np.nan
    y = (np.nan_to_num(X[:, 0], nan=1.0) > 0).astype(int)
    tuned = TunedCARTClassifier(random_state=0, cv=3).fit(X, y)
    assert tuned.report_.objective == tuned.verify(X, y) == 0
    stopped = ContinuousTreeClassifier(3, time_limit=1e-6).fit(X, rng.permutation(y))
    assert len(stopped.predict(X)) == 80
    few = ContinuousTreeClassifier(3, max_nodes=2, n_jobs=2).fit(X, rng.permutation(y))
    assert few.tree_.n_splits <= 2
    start = MurTreeClassifier(2, binarizer="all").fit(X, y)
    assert ContinuousTreeClassifier(2, start=start).fit(X, y).report_.objective == 0
