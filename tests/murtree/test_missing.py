"""Missing values and categories: in columns, rules, starts, paths and pipelines."""

import numpy as np
import pandas as pd
import pytest

from odtlib import ContinuousTreeClassifier, DecisionTree, MurTreeClassifier, MurTreeRegressor
from odtlib.binarize import MDLPBinarizer, QuantileBinarizer, ThresholdBinarizer


def test_a_value_that_only_new_rows_miss_goes_to_the_heavier_child():
    X, y = np.array([[1.0, 0], [2, 0], [3, 0], [9, 1]]), [0, 0, 0, 1]
    for rows in (X[:, :1], X[:, 1:], pd.DataFrame(X[:, :1], columns=["a"])):
        model = MurTreeClassifier(1, binarizer="all").fit(rows, y)
        assert np.array_equal(model.tree_.missing_left < 0, np.ones(3, bool))
        new = rows * np.nan
        assert model.predict(new).tolist() == [0] * 4
        heavy = MurTreeClassifier(1, binarizer="all").fit(rows, y, [1, 1, 1, 9])
        assert heavy.predict(new).tolist() == [1] * 4
        assert heavy.to_sklearn().predict(new).tolist() == [1] * 4
    frame = pd.DataFrame({"c": list("aabbb"), "d": list("uvuvu")})
    model = MurTreeClassifier(1).fit(frame, [0, 0, 1, 1, 1])
    assert "c = a" in str(model.tree_) and "missing" not in str(model.tree_)
    assert model.predict(pd.DataFrame({"c": [None, "a"], "d": ["u", None]})).tolist() == [1, 0]
    twice = MurTreeRegressor(1).fit(frame, [0.0, 0, 1, 1, 1])
    assert twice.predict(pd.DataFrame({"c": [None], "d": ["u"]})).tolist() == [1.0]


def test_missing_that_tells_the_class_is_a_test_of_its_own():
    X = np.array([[1.0], [2], [3], [np.nan], [np.nan]])
    model = MurTreeClassifier(1).fit(X, ["in", "in", "in", "out", "out"])
    assert model.report_.objective == 0
    assert model.tree_.rules() == ["if x0 is not missing then in  [3 0]",
                                   "if x0 is missing then out  [0 2]"]
    assert "x0 is not missing" in str(model.tree_)
    model = MurTreeClassifier(1, binarizer="all").fit(X, ["a", "a", "b", "a", "a"])
    assert model.tree_.rules() == ["if (x0 <= 2.5 or missing) then a  [4 0]",
                                   "if x0 > 2.5 then b  [0 1]"]
    frame = pd.DataFrame({"f": X[:, 0], "g": list("vwvvw")})
    columns = MurTreeClassifier(1, binarizer="all").fit(frame, ["a", "a", "b", "a", "a"])
    assert columns.tree_.rules() == ["if (f <= 2.5 or missing) then a  [4 0]",
                                     "if not (f <= 2.5 or missing) then b  [0 1]"]
    assert model.plot() is not None


def test_starts_and_paths_know_missing_values():
    rng = np.random.default_rng(5)
    X = rng.integers(0, 6, (60, 3)).astype(float)
    X[rng.random(X.shape) < 0.3] = np.nan
    y = (np.nan_to_num(X[:, 0], nan=5) + rng.normal(size=60) > 2).astype(int)
    model = MurTreeClassifier(2, binarizer="all").fit(X, y)
    again = MurTreeClassifier(2, binarizer="all", start=model, time_limit=60).fit(X, y)
    assert again.report_.objective == again.report_.events[0][1] == model.report_.objective
    path = MurTreeClassifier(2, binarizer="all").path(X, y)
    assert path[-1].objective == model.report_.objective
    assert np.sum(path[-1].tree.predict(X) != y) == model.report_.objective
    filled = np.nan_to_num(X, nan=9.0)
    assert ContinuousTreeClassifier(2).fit(X, y).report_.objective == model.report_.objective
    whole = MurTreeClassifier(2, binarizer="all").fit(filled, y)
    assert ContinuousTreeClassifier(2, start=whole).fit(filled, y).report_.objective \
        == whole.report_.objective


def test_columns_of_a_feature_with_missing_values():
    X = np.array([[1.0, 0], [3, 1], [np.nan, 1], [np.nan, np.nan]])
    binarizer = ThresholdBinarizer().fit(X)
    assert binarizer.get_feature_names_out().tolist() == [
        "x0 <= 2", "x0 <= 2 or missing", "x0 is missing", "x1", "x1 or missing", "x1 is missing"]
    assert binarizer.transform(X).tolist() == [[1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 0],
                                               [0, 1, 1, 1, 1, 0], [0, 1, 1, 0, 1, 1]]
    assert binarizer.missing_.tolist() == [0, 1, 1, 0, 1, 1]
    with pytest.raises(ValueError, match="Feature 0 has NaN in row 1 and had none in fit"):
        ThresholdBinarizer().fit(X[:2]).transform([[1.0, 0], [np.nan, 0]])
    ignoring = ThresholdBinarizer(handle_unknown="ignore").fit(X[:2])
    assert ignoring.transform([[np.nan, 0]]).tolist() == [[0, 0]]
    with pytest.raises(ValueError, match="needs y, by whose mean"):
        QuantileBinarizer(ordered_categories=True).fit(pd.DataFrame({"a": list("xyz")}))
    frame = pd.DataFrame({"a": list("vwxyzvwxyz")})
    y = [1, 0, 0, 1, 0, 1, 0, 1, 0, 0]
    assert MDLPBinarizer(ordered_categories=True).fit(frame, y).get_feature_names_out().tolist() \
        == ["a = w", "a = z", "a = x", "a = y", "a = v", "a in (w, z)", "a in (y, v)"]


@pytest.mark.parametrize("model", [MurTreeClassifier(max_depth=2), MurTreeRegressor(max_depth=2)])
def test_scikit_learn_is_told(model):
    assert model.__sklearn_tags__().input_tags.allow_nan
    assert model.__sklearn_tags__().input_tags.categorical


def test_trees_that_know_missing_values():
    nested = DecisionTree([0, -1, -1], [np.inf, 0, 0], [1, -1, -1], [2, -1, -1],
                          [[1, 1], [1, 0], [0, 1]], missing_left=[0, -1, -1])
    assert nested.predict([[5.0], [np.nan]]).tolist() == [0, 1]
    with pytest.raises(ValueError, match="or an infinite one with missing_left 0"):
        nested.replace(missing_left=[1, -1, -1])
    with pytest.raises(ValueError, match="one number per node"):
        nested.replace(missing_left=[0])
    # Here the second test of the feature is not idle: only missing values go to its right.
    deep = DecisionTree([0, 0, -1, -1, -1], [2.0, 3.0, 0, 0, 0], [1, 2, -1, -1, -1],
                        [4, 3, -1, -1, -1], [[2, 2], [1, 1], [1, 0], [0, 1], [1, 0]],
                        missing_left=[1, 0, -1, -1, -1])
    assert deep.pruned() == deep
    assert deep.predict([[1.0], [np.nan], [9.0]]).tolist() == [0, 1, 0]
    idle = deep.replace(missing_left=[0, 0, -1, -1, -1], label=[0, 0, 0, 1, 1])
    assert idle.pruned().n_splits == 1
    assert idle.pruned().predict([[1.0], [np.nan]]).tolist() == [0, 1]


@pytest.mark.parametrize("seed", range(5))
def test_a_tree_over_categories_becomes_a_pipeline_for_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"size": rng.normal(size=120), "town": rng.choice(list("abcd"), 120)})
    X.loc[rng.random(120) < 0.2, "size"] = np.nan
    y = np.where((X["size"] > 0) ^ X["town"].isin(["a", "c"]), "yes", "no")
    model = MurTreeClassifier(3).fit(X, y)
    pipeline = model.to_sklearn(X)
    np.testing.assert_array_equal(pipeline.predict(X), model.predict(X))
    np.testing.assert_allclose(pipeline.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(pipeline.classes_, model.classes_)
