"""What the default makes of a table, and what a fit says of it."""

import warnings

import numpy as np
import pandas as pd
import pytest

from odtlib import MurTreeClassifier
from odtlib.binarize import MDLPBinarizer


def together(seed, n=300, swap=False):
    """Return rows whose label is (age > 50) xor male, one in ten wrong."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.integers(18, 90, n), "dose": rng.normal(5, 2, n),
                      "sex": rng.choice(["male", "female"], n)})
    truth = (X["age"] > 50) ^ (X["sex"] == "male")
    return X, truth, truth ^ (rng.random(n) < 0.1)


@pytest.mark.parametrize("depth", [2, 3, 4])
@pytest.mark.parametrize("seed", range(5))
def test_the_default_finds_what_only_pays_together(seed, depth):
    X, truth, y = together(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MurTreeClassifier(depth).fit(X, y)
    assert model.report_.objective <= (truth != y).sum() + 10
    new, truth, _ = together(seed + 100, 2000)
    assert np.mean(model.predict(new) == truth) > 0.85


@pytest.mark.parametrize("seed", range(5))
def test_the_default_finds_an_exclusive_or_of_two_numbers(seed):
    rng = np.random.default_rng(seed)
    X = rng.random((400, 6))
    y = (X[:, 0] > 0.5) ^ (X[:, 1] > 0.3)
    wrong = MurTreeClassifier(2).fit(X, y).report_.objective
    assert wrong <= 0.06 * len(y)       # the cuts lie within 1/20 of the true ones


def test_columns_that_are_lost_are_named():
    X, _, y = together(0)
    with pytest.warns(UserWarning, match=r"no column of 2 of 3 features \(age, dose\)") as seen:
        MurTreeClassifier(3, binarizer="mdlp").fit(X, y)
    assert len(seen) == 1 and seen[0].filename == __file__
    numbers = X[["age", "dose"]]
    for given, names in ((numbers, "age, dose"), (numbers.to_numpy(), "0, 1")):
        with pytest.warns(UserWarning, match=rf"no column of 2 of 2 features \({names}\)"):
            MurTreeClassifier(3, binarizer=MDLPBinarizer()).fit(given, y)


def test_many_categories_are_named():
    X, _, y = together(0)
    X["id"] = [f"c{i}" for i in range(300)]
    with pytest.warns(UserWarning, match="feature id has 300 categories") as seen:
        MurTreeClassifier(1).fit(X, y)
    assert len(seen) == 1


def test_a_category_that_the_fit_did_not_see_is_named_and_counts_as_none():
    X, _, y = together(0)
    X["town"] = np.where(np.arange(300) % 3, "Bern", np.where(y, "Ulm", "Genf"))
    model = MurTreeClassifier(3).fit(X, y)
    new = X.head(2).assign(town="Rome")
    with pytest.warns(UserWarning, match="category 'Rome' in row 0.*count as none of its"):
        found = model.predict(new)
    np.testing.assert_array_equal(found, model.tree_.predict(
        model.binarizer_.set_params(handle_unknown="ignore").transform(new)))


def test_the_report_says_what_the_tree_leaves_out():
    X, _, y = together(0)
    report = MurTreeClassifier(2).fit(X[["age", "dose"]], X["age"] > 50).report_
    assert report.notes == ["uses 1 of 2 features: age"]
    rare = np.arange(300) % 100 == 0
    report = MurTreeClassifier(2, split_penalty=5).fit(X, rare).report_
    assert report.notes == ["one leaf: no tree within the limits costs less"]
    assert str(report).endswith("; one leaf: no tree within the limits costs less")
