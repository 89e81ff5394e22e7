"""Data frames of polars are rows like those of pandas, for every estimator."""

import numpy as np
import pandas as pd
import pytest

import odtlib
from odtbook.compile_command import options_of
from odtbook.estimators import NAMES, class_of

ESTIMATORS = NAMES


@pytest.fixture
def pl(tool):
    return tool("polars")


def small_estimator(name):
    estimator = class_of(name)(**options_of(name))
    wanted = {"max_depth": 2, "time_limit": 5.0, "random_state": 0}
    known = estimator.get_params()
    return estimator.set_params(**{key: wanted[key] for key in wanted if key in known})


def small_table(name):
    """Return 40 rows and their labels or targets, as one estimator takes them."""
    random = np.random.default_rng(0)
    X = random.integers(0, 4, (40, 3)).astype(float)
    if "Constrained" in name or "Projected" in name:
        labels = name == "ConstrainedTreeClassifier"
        return X, random.integers(0, 2, 40) if labels else random.random((40, 2))
    return X, X[:, 0] > X[:, 1] if name.endswith("Classifier") else random.random(40)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_fit_to_polars_is_a_fit_to_pandas(pl, name):
    X, y = small_table(name)
    weight = np.arange(40) % 3          # rows of weight zero are left out
    one, other = pd.DataFrame(X, columns=["a", "b", "c"]), pl.DataFrame(X, schema=["a", "b", "c"])
    expected = small_estimator(name).fit(one, y, sample_weight=weight)
    found = small_estimator(name).fit(other, y, sample_weight=pl.Series(weight))
    assert list(found.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_array_equal(found.predict(other), expected.predict(one))
    with pytest.raises(ValueError, match="feature names should match"):
        found.predict(other.rename({"a": "d"}))


@pytest.mark.parametrize("kind", ["String", "Categorical"])
def test_text_is_categories_where_an_estimator_takes_them(pl, kind):
    colours = ["red", "blue", "green", "blue"] * 10
    frame = pl.DataFrame({"colour": pl.Series(colours, dtype=getattr(pl, kind)),
                          "flag": [True, False] * 20})
    y = pl.Series([colour == "green" for colour in colours])
    model = odtlib.MurTreeClassifier(max_depth=1).fit(frame, y)
    assert model.report_.objective == 0
    np.testing.assert_array_equal(model.predict(frame), y)
    assert "green" in str(model.tree_)


def test_text_is_refused_by_the_name_of_its_column_elsewhere(pl):
    frame = pl.DataFrame({"colour": ["red", "blue"] * 10, "size": range(20)})
    with pytest.raises(ValueError, match="column 'colour' of X holds text .'red'.; encode it"):
        odtlib.CARTClassifier().fit(frame, [0, 1] * 10)


def test_missing_values_are_taken_or_refused(pl):
    frame, y = pl.DataFrame({"size": [1, None, 3, 4] * 5}), [0, 1, 0, 0] * 5
    model = odtlib.CARTClassifier().fit(frame, y)
    assert model.predict(frame).tolist() == y and "missing" in str(model.tree_)
    with pytest.raises(ValueError, match="NaN"):
        odtlib.RestrictedTreeClassifier().fit(frame, y)


def test_labels_of_polars_keep_their_type(pl):
    y = pl.Series(["late", "on time"] * 10)
    model = odtlib.CARTClassifier().fit(pl.DataFrame({"size": range(20)}), y)
    assert list(model.classes_) == ["late", "on time"]
