"""What a user of scikit-learn takes for granted, of every public estimator."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning

from odtlib import (
    ConstrainedTreeClassifier,
    MurTreeClassifier,
    SurvivalTree,
    TunedCARTClassifier,
)
from tests.estimators import CLASSIFIERS, PUBLIC, class_of, made, rows

TREES = [name for name in PUBLIC if "max_depth" in class_of(name)._get_param_names()
         and name != "ConstrainedForestRegressor"]
# What has no depth without a limit, in one sentence.
LIMITED = {"ContinuousTreeRegressor": r"'max_depth' parameter of .* range \[0, 5\]"}


@pytest.mark.parametrize("label", ["one", 7, True])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_single_class_makes_a_constant_tree(name, label):
    X, _ = rows(name)
    y = [label] * len(X)
    model = made(name).fit(X, y)
    assert model.classes_.tolist() == [label] and model.n_classes_ == 1
    assert model.predict(X).tolist() == y and model.predict_proba(X).tolist() == [[1.0]] * len(X)
    assert model.get_depth() == 0 and model.get_n_leaves() == 1 and model.score(X, y) == 1.0
    if hasattr(model, "report_"):
        report = model.report_
        assert (report.status, report.objective, report.lower_bound) == ("optimal", 0.0, 0.0)
        assert model.verify(X, y) == 0.0


def test_other_questions_about_a_single_class():
    X, _ = rows("MurTreeClassifier")
    y = np.zeros(len(X))
    model = MurTreeClassifier(2, binarizer="all")
    assert [entry.objective for entry in model.path(X, y)] == [0.0] * 4
    assert model.optimal_trees(X, y).count == len(model.good_trees(X, y, tolerance=0)) == 1
    assert model.set_params(objective="balanced-accuracy").fit(X, y).report_.objective == 0.0
    with pytest.raises(ValueError, match="needs two classes and y has 1"):
        model.set_params(objective="f1").fit(X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@pytest.mark.parametrize("name", PUBLIC)
def test_targets_in_a_column_are_taken_wherever_fit_takes_them(name):
    X, y = rows(name)
    for column in (y[:, None], pd.DataFrame({"target": y})):
        model, flat = made(name).fit(X, column), made(name).fit(X, y)
        assert np.array_equal(np.ravel(model.predict(X)), flat.predict(X))
        assert model.score(X, column) == pytest.approx(flat.score(X, y))
        if hasattr(model, "verify"):
            assert model.verify(X, column) == flat.verify(X, y) == flat.verify(X, column)
            assert model.report_.verify(X, column) == pytest.approx(model.report_.objective)


def test_other_questions_take_a_column():
    X, y = rows("MurTreeClassifier")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataConversionWarning)
        for ask in (lambda model, y: model.pareto_front(X, y), lambda model, y: model.path(X, y),
                    lambda model, y: model.optimal_trees(X, y),
                    lambda model, y: len(model.good_trees(X, y, tolerance=1))):
            model = MurTreeClassifier(2, binarizer="all")
            assert str(ask(model, y[:, None])) == str(ask(model, y))
            assert model.verify(X, y[:, None]) == model.report_.objective


@pytest.mark.parametrize("name", [name for name in PUBLIC if hasattr(class_of(name), "verify")])
def test_targets_of_another_shape_are_no_targets_to_verify(name):
    X, y = rows(name)
    model = made(name).fit(X, y)
    for other in (np.column_stack([y, y]), np.zeros((len(y), 1, 2))):
        with pytest.raises(ValueError, match=r"y has shape .* tree predicts 1 in each row"):
            model.verify(X, other)
    with pytest.raises(ValueError, match=r"y is sparse; give y.toarray\(\)"):
        model.verify(X, csr_array(np.ones((len(y), 1))))


@pytest.mark.parametrize("name", PUBLIC)
def test_what_is_missing_sparse_or_twice_is_refused_in_one_sentence(name):
    X, y = rows(name)
    gaps = [value if row else None for row, value in enumerate(y.tolist())]
    twice = pd.DataFrame(X, columns=["a", "b", "a"])
    for options, message in (
            ({"X": X, "y": gaps}, r"row 0 of y holds a missing value \(None\); replace it or"),
            ({"X": X, "y": pd.Series(gaps, dtype="string" if gaps[1] in ("yes", "no") else
                                     "Float64")}, r"row 0 of y holds (NaN|a missing value)"),
            ({"X": X, "y": csr_array(np.ones((len(X), 1)))}, r"y is sparse; give y\.toarray\(\)"),
            ({"X": twice, "y": y}, r"X has two columns named 'a'; rename one of them")):
        with pytest.raises(ValueError, match=message) as refusal:
            made(name).fit(**options)
        assert str(refusal.value).count("\n") == 0
    frame = pd.DataFrame(X, columns=list("abc")).astype(object)
    frame.iloc[1, 0] = pd.NA
    try:
        made(name).fit(frame, y)
    except (TypeError, ValueError) as refusal:
        assert "holds a missing value (<NA>)" in str(refusal) or "categor" in str(refusal)


@pytest.mark.parametrize("name", PUBLIC)
def test_transformers_that_make_frames_change_nothing(name):
    X, y = rows(name)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    if name not in ("ConstrainedTreeClassifier", "ConstrainedForestRegressor",
                    "ProjectedRegressor"):      # they take numbers only
        frame["b"] = np.array(list("wxyz"))[frame["b"].astype(int)]
    plain = made(name).fit(frame, y)
    with config_context(transform_output="pandas"):
        model = made(name).fit(frame, y)
        assert np.array_equal(model.predict(frame), plain.predict(frame))
        if hasattr(model, "verify"):
            assert model.verify(frame, y) == pytest.approx(plain.report_.objective)
            assert np.array_equal(model.to_sklearn().predict(frame), plain.predict(frame))


def test_a_score_of_other_rows_or_weights_is_refused():
    X, y = rows("CARTClassifier")
    times = np.column_stack([np.ones(len(X)), 1.0 + np.arange(len(X))])
    for model, given in ((ConstrainedTreeClassifier(), y), (SurvivalTree(1), times)):
        model.fit(X, given)
        for other in (given[:-1], np.concatenate([given, given]), None):
            with pytest.raises(ValueError, match="samples|y has shape|y needs two fields"):
                model.score(X, other)
    model = ConstrainedTreeClassifier().fit(X, y)
    for weight in (np.ones(3), np.zeros(len(X)), np.full(len(X), np.nan)):
        with pytest.raises(ValueError, match="sample_weight|Sample weights"):
            model.score(X, y, weight)


def test_targets_the_other_way_round_have_no_score():
    X, _ = rows("CARTClassifier")
    targets = (X[:, :2] > 1).astype(int)
    model = ConstrainedTreeClassifier().fit(X, targets)
    assert model.score(X, targets) == model.score(X.tolist(), targets.tolist()) > 0.9
    for other in (targets.T, targets.ravel(), targets[:, 0]):
        with pytest.raises(ValueError, match="give the true classes of these rows"):
            model.score(X, other)


@pytest.mark.parametrize(("model", "message"), [
    (TunedCARTClassifier(cv=[]), "cv makes no folds"),
    (ConstrainedTreeClassifier(class_weight=[1]), "give a dict of weights for each target"),
])
def test_parameters_of_meta_estimators_that_cannot_be_used(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(*rows("CARTClassifier"))


@pytest.mark.parametrize("name", TREES)
def test_no_limit_on_depth(name):
    X, y = rows(name)
    timed = "time_limit" in class_of(name)._get_param_names()
    options = {"time_limit": 0.5} if timed else {}      # at any depth an exact search may be long
    model = made(name, max_depth=None, **options)
    if name in LIMITED:
        with pytest.raises(ValueError, match=LIMITED[name]):
            model.fit(X, y)
        return
    model.fit(X, y)
    assert "None" not in model.report_.proof and model.get_params()["max_depth"] is None
    cart = made("CARTClassifier", max_depth=None).fit(X, y).report_
    assert name.endswith("Regressor") or name == "TunedCARTClassifier" or \
        model.report_.objective <= cart.objective


@pytest.mark.parametrize("share", [0.04, 0.17, 0.3, 0.49])
@pytest.mark.parametrize("name", [name for name in PUBLIC if "min_samples_leaf" in
                                  class_of(name)._get_param_names()
                                  and name != "TunedCARTClassifier"])
def test_a_share_of_the_rows_as_smallest_leaf(name, share):
    X, y = rows(name)
    used = np.arange(len(X)) > 2        # rows of weight zero are not there
    number = int(np.ceil(share * used.sum()))
    by_share = made(name, min_samples_leaf=share).fit(X, y, used.astype(float))
    by_number = made(name, min_samples_leaf=number).fit(X, y, used.astype(float))
    assert np.array_equal(by_share.predict(X), by_number.predict(X))
    assert clone(by_share).min_samples_leaf == by_share.min_samples_leaf == share
    if hasattr(by_share, "tree_"):
        assert by_share.tree_ == by_number.tree_
        assert by_share.report_.proof == by_number.report_.proof
        assert np.unique(by_share.apply(X[used]), return_counts=True)[1].min() >= number


@pytest.mark.parametrize("name", [name for name in TREES if "min_samples_leaf" in
                                  class_of(name)._get_param_names()])
def test_more_rows_a_leaf_than_there_are_make_one_leaf(name):
    X, y = rows(name)
    model = made(name, min_samples_leaf=len(y) + 1).fit(X, y)
    assert model.get_n_leaves() == 1 and model.predict(X).shape == y.shape
    greedy = name in ("CARTClassifier", "TunedCARTClassifier", "LocalSearchTreeClassifier",
                      "ConstrainedTreeRegressor")
    assert (model.report_.status == "optimal") != greedy
