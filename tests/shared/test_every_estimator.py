"""What every estimator leaves behind: a report that can be verified, saved and exported."""

import functools
import pickle
import re
import types

import numpy as np
import pandas as pd
import pytest
from estimators import on_a_slow_computer
from matplotlib import pyplot as plt
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_text, plot_tree

import odtlib
from odtbook.estimators import NAMES as ESTIMATORS
from odtbook.estimators import class_of
from odtlib.column_generation import ThresholdSampling
from odtlib.constrained import sets

CONSTRAINED = {"constraints": sets.Box(0.0, 9.0)}
CASES = [
    ("CARTClassifier", {}),
    ("TunedCARTClassifier", {"cv": 2}),
    ("LocalSearchTreeClassifier", {}),
    ("OCTClassifier", {}),
    ("FlowOCTClassifier", {"split_penalty": 0.1}),
    ("BinOCTClassifier", {}),
    ("ColumnGenerationClassifier", {"sampling": ThresholdSampling(n_trees=10)}),
    ("RestrictedTreeClassifier", {"split_penalty": 0.1}),
    ("MurTreeClassifier", {"binarizer": "all", "split_penalty": 0.1}),
    ("MurTreeClassifier", {"binarizer": "all", "objective": "f1"}),
    ("MurTreeClassifier", {"binarizer": "all", "objective": "balanced-accuracy"}),
    ("MurTreeClassifier", {"binarizer": "all", "split_penalty": [0.1, 0.2]}),
    ("MurTreeClassifier", {"binarizer": "quantile"}),
    ("ContinuousTreeClassifier", {"split_penalty": 1.5}),
    ("MurTreeRegressor", {"binarizer": "all"}),
    ("MurTreeRegressor", {"binarizer": "quantile", "loss": "absolute_error"}),
    ("ContinuousTreeRegressor", {}),
    ("ConstrainedTreeRegressor", CONSTRAINED),
    ("OptimalConstrainedTreeRegressor", CONSTRAINED),
]
IDS = [f"{name}-{'-'.join(map(str, options.values()))}" for name, options in CASES]


@functools.cache
def rows(kind):
    random = np.random.default_rng(0)
    X = random.integers(0, 5, (30, 3)).astype(float)
    y = X[:, 0] + X[:, 1] % 2 + random.normal(scale=0.1, size=30) + 1
    return X, y if kind == "regressor" else np.where(y > 3, "yes", "no")


def fitted(name, options, y=None):
    X, targets = rows("classifier" if name.endswith("Classifier") else "regressor")
    y = targets if y is None else y
    return class_of(name)(max_depth=2, **options).fit(X, y), X, y


def parts_of(thing):
    """Return what a serialiser that follows attributes goes into, for any object."""
    if isinstance(thing, dict):
        return [*thing.keys(), *thing.values()]
    if isinstance(thing, list | tuple | set | frozenset):
        return list(thing)
    if isinstance(thing, functools.partial):
        return [thing.func, thing.args, thing.keywords]
    if isinstance(thing, types.MethodType):
        return [thing.__self__]
    if isinstance(thing, types.FunctionType):
        assert "<" not in thing.__qualname__, f"{thing.__qualname__} cannot be found by its name"
        return []
    if isinstance(thing, np.ndarray):
        return thing.tolist() if thing.dtype == object else []
    if thing is None or isinstance(thing, type | str | bytes | int | float | np.generic):
        return []
    return [thing.__getstate__()] if type(thing).__module__.startswith("odtlib") else []


def cycle_from(thing, above=()):
    """Return a path of types that leads from an object back to itself, or None."""
    if id(thing) in above:
        return [type(thing).__name__]
    for part in parts_of(thing):
        found = cycle_from(part, (*above, id(thing)))
        if found:
            return [type(thing).__name__, *found]
    return None


def test_the_search_for_cycles_finds_one():
    report = odtlib.SolveReport("heuristic", 1, 0, 0.0)
    report.evaluate = report.verify
    assert cycle_from(report) == ["SolveReport", "dict", "method", "SolveReport"]


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_a_fitted_estimator_holds_no_cycle_and_survives_pickle_and_clone(name, options):
    model, X, y = fitted(name, options)
    assert cycle_from(model) is None
    copy = pickle.loads(pickle.dumps(model))
    assert copy.tree_ == model.tree_
    assert np.array_equal(copy.predict(X), model.predict(X))
    assert copy.verify(X, y) == model.verify(X, y) == pytest.approx(model.report_.objective)
    assert str(clone(model).get_params()) == str(model.get_params())


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_without_a_limit_no_fit_depends_on_the_speed_of_the_computer(name, options, monkeypatch):
    seed = {"random_state": 0} if "random_state" in class_of(name)._get_param_names() else {}
    quick, X, y = fitted(name, seed | options)
    on_a_slow_computer(monkeypatch)
    slow = clone(quick).fit(X, y)
    assert slow.tree_ == quick.tree_
    assert slow.report_.lower_bound == quick.report_.lower_bound


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_verify_refuses_other_rows_in_one_sentence(name, options):
    model, X, y = fitted(name, options)
    with pytest.raises(ValueError, match=r"y has shape \(29,\) and X has 30 rows; verify with"):
        model.verify(X, y[:29])
    with pytest.raises(ValueError, match=r"sample_weight has shape \(3,\) and X has 30 rows"):
        model.verify(X, y, np.ones(3))
    with pytest.raises(ValueError, match=r"y has shape \(\) and X has 30 rows"):
        model.verify(X, 1.0)


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_a_table_without_a_column_that_varies_makes_a_leaf(name, options):
    _, y = rows("classifier" if name.endswith("Classifier") else "regressor")
    X = pd.DataFrame({"word": ["same"] * len(y)})
    model = class_of(name)(max_depth=2, **options).fit(X, y)
    assert model.get_n_leaves() == 1 and len(set(model.predict(X))) == 1
    assert model.verify(X, y) == pytest.approx(model.report_.objective)
    assert model.tree_.from_json(model.tree_.to_json()).predict(X)[0] == model.predict(X)[0]
    assert model.feature_importances_.tolist() == [0.0]
    with pytest.raises(ValueError, match="has no feature"):
        model.to_sklearn()


@pytest.mark.parametrize(("name", "options"),
                         [case for case in CASES if case[0].endswith("Classifier")],
                         ids=IDS[:sum(name.endswith("Classifier") for name, _ in CASES)])
def test_labels_may_be_dates(name, options):
    days = np.array(["2020-01-01", "2021-06-30"], "datetime64[D]")
    _, labels = rows("classifier")
    model, X, y = fitted(name, options, days[(labels == "yes").astype(int)])
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.predict(X), model.predict(X))
    assert odtlib.DecisionTree.from_json(model.tree_.to_json()) == model.tree_
    assert copy.classes_.dtype == days.dtype


@pytest.mark.parametrize(("name", "options"),
                         [case for case in CASES if case[0].endswith("Regressor")],
                         ids=IDS[sum(name.endswith("Classifier") for name, _ in CASES):])
def test_regression_trees_carry_the_weights_of_their_rows(name, options):
    X, y = rows("regressor")
    weight = np.arange(30) % 4.0
    model = class_of(name)(max_depth=2, **options).fit(X, y, weight)
    columns = model.binarizer_.transform(X) if model._tree_over_columns else X
    leaves, tree = model.apply(X), model.tree_.to_sklearn().tree_
    assert tree.weighted_n_node_samples[0] == weight.sum()
    for leaf in np.unique(leaves):
        here = leaves == leaf
        mean = np.average(y[here], weights=weight[here]) if weight[here].any() else 0.0
        assert model.tree_.weight[leaf] == pytest.approx(weight[here].sum())
        assert model.tree_.impurity[leaf] * weight[here].sum() == pytest.approx(
            (weight[here] * (y[here] - mean) ** 2).sum(), abs=1e-9)
    assert columns.shape[1] == tree.n_features
    assert model.tree_.to_sklearn().feature_importances_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_what_a_user_of_scikit_learn_tries_first(name, options):
    model, X, y = fitted(name, options)
    assert model.get_depth() == model.tree_.depth <= 2
    assert model.get_n_leaves() == model.tree_.n_leaves == len(np.unique(model.apply(X)))
    assert model.feature_importances_.shape == (model.n_features_in_,)
    theirs = model.to_sklearn(X)
    assert np.array_equal(theirs.predict(X), model.predict(X))
    if model._tree_over_columns:
        tree = theirs["tree"]
        assert export_text(tree).count("\n") >= model.get_n_leaves() and plot_tree(tree)
    else:
        assert model.feature_importances_ == pytest.approx(theirs.feature_importances_, abs=1e-12)
    if name.endswith("Classifier"):
        assert model.n_classes_ == 2
        with np.errstate(divide="ignore"):
            expected = np.log(model.predict_proba(X))
        assert np.array_equal(model.predict_log_proba(X), expected)
    assert model.plot().get_figure() is not None
    plt.close("all")


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_html_diagram_shows_the_text_of_every_parameter(name):
    if 'class="param-doc-description"' not in DecisionTreeClassifier()._repr_html_():
        pytest.skip("this scikit-learn shows no texts")
    model = class_of(name)()
    shown = re.findall(r'<a class="param-doc-link"[^>]*>\s*(\w+)\s*<span class="param-doc-desc',
                       model._repr_html_())
    assert sorted(shown) == sorted(model.get_params(deep=False))


# Estimators around others, and what they leave out of that for a reason.
AROUND_OTHERS = {
    "ConstrainedForestRegressor": ({**CONSTRAINED, "n_estimators": 3, "max_depth": 2}, {
        "get_depth": "a forest has many trees; scikit-learn's has no such method either",
        "get_n_leaves": "a forest has many trees",
        "to_sklearn": "the average of trees is projected",
        "plot": "a forest has many trees"}),
    "ProjectedRegressor": ({**CONSTRAINED, "estimator": DecisionTreeRegressor(max_depth=2)}, {
        "to_sklearn": "what the tree predicts is projected",
        "plot": "what the tree predicts is projected"}),
    "ConstrainedTreeClassifier": ({"estimator": DecisionTreeClassifier(max_depth=2)}, {
        "to_sklearn": "scikit-learn's trees of several targets know no combinations"}),
}
TRIED_FIRST = ["get_depth", "get_n_leaves", "feature_importances_", "to_sklearn", "plot"]
ONLY_CLASSIFIERS = ["n_classes_", "predict_proba", "predict_log_proba"]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_what_is_missing_is_missing_for_a_reason(name):
    options, left_out = AROUND_OTHERS.get(name) or (
        {"max_depth": 2, **next(options for case, options in CASES if case == name)}, {})
    X, y = rows("classifier" if name.endswith("Classifier") else "regressor")
    model = class_of(name)(**options).fit(X, y)
    for method in TRIED_FIRST:
        assert hasattr(model, method) == (method not in left_out), method
    for method in ONLY_CLASSIFIERS:
        assert hasattr(model, method) == name.endswith("Classifier"), method
    if hasattr(model, "estimator_"):
        assert model.get_depth() == 2 and model.get_n_leaves() in (3, 4)
    importances = model.feature_importances_
    assert importances.shape == (3,) and importances.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
@pytest.mark.parametrize("options", [{}, {"max_leaf_nodes": 4}, {"min_samples_leaf": 20}])
def test_trees_of_scikit_learn_come_back(kind, options):
    X, y = rows(kind)
    weight = np.arange(1.0, 31.0)
    theirs = (DecisionTreeClassifier if kind == "classifier" else DecisionTreeRegressor)(
        random_state=0, **{"max_depth": 3, **options})
    theirs.fit(pd.DataFrame(X, columns=["a", "b", "c"]), y, weight)
    tree = odtlib.DecisionTree.from_sklearn(theirs)
    assert np.array_equal(tree.predict(X), theirs.predict(X.copy()))
    assert np.array_equal(tree.apply(X), theirs.tree_.apply(X.astype(np.float32)))
    assert tree.feature_names == ("a", "b", "c")
    assert tree.feature_importances() == pytest.approx(theirs.feature_importances_, abs=1e-12)
    if kind == "classifier":
        assert tree.predict_proba(X) == pytest.approx(theirs.tree_.predict(
            X.astype(np.float32)).reshape(30, 2))
    assert np.array_equal(tree.to_sklearn().predict(pd.DataFrame(X, columns=["a", "b", "c"])),
                          tree.predict(X))


def test_trees_of_scikit_learn_that_cannot_come_are_refused():
    X, y = rows("classifier")
    with pytest.raises(ValueError, match="is not fitted"):
        odtlib.DecisionTree.from_sklearn(DecisionTreeClassifier())
    with pytest.raises(ValueError, match="model is a str"):
        odtlib.DecisionTree.from_sklearn("cart")
    two = DecisionTreeClassifier().fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="2 outputs"):
        odtlib.DecisionTree.from_sklearn(two)
    without_weights = odtlib.DecisionTree.from_nested((0, 1.0, 0.0, 1.0), kind="regression")
    with pytest.raises(ValueError, match="with_weights"):
        without_weights.feature_importances()
