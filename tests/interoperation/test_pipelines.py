"""Tools made for scikit-learn read the pipeline of binariser and tree that `to_sklearn` returns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import export_text, plot_tree

from odtlib import MurTreeClassifier, MurTreeRegressor


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"age": rng.integers(18, 80, 200).astype(float),
                      "town": rng.choice(["Bern", "Ulm", "Bonn"], 200), "sex": rng.choice(
                          ["f", "m"], 200)})
    X.loc[rng.random(200) < 0.2, "age"] = np.nan
    return X


@pytest.fixture(scope="module", params=["classifier", "regressor"])
def fitted(request, frame):
    """Each kind of exact tree, over columns of categories."""
    old = frame["age"].fillna(60) > 50
    if request.param == "classifier":
        return MurTreeClassifier(3).fit(frame, np.where(old ^ (frame["town"] == "Ulm"), "a", "b"))
    return MurTreeRegressor(3).fit(frame, 2.0 * old + (frame["sex"] == "m"))


@pytest.fixture(scope="module")
def columns(fitted, frame):
    return fitted.to_sklearn()[:-1].transform(frame)


def test_pipeline_predicts_the_same(fitted, frame):
    np.testing.assert_array_equal(fitted.to_sklearn().predict(frame), fitted.predict(frame))


def test_scikit_learn_draws_and_writes_the_tree(fitted, columns):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    tree = fitted.to_sklearn()["tree"]
    names = list(columns.columns)
    text = export_text(tree, feature_names=names)
    used = {names[j] for j in tree.tree_.feature if j >= 0}
    assert used and all(name in text for name in used)
    drawn = plot_tree(tree, feature_names=names)
    assert len(drawn) >= tree.tree_.node_count
    matplotlib.pyplot.close("all")


def test_shap_explains_the_columns(tool, fitted, frame, columns):
    explainer = tool("shap").TreeExplainer(fitted.to_sklearn()["tree"])
    total = explainer.expected_value + np.asarray(explainer.shap_values(columns)).sum(axis=1)
    expected = fitted.predict_proba(frame) if hasattr(fitted, "classes_") else fitted.predict(frame)
    np.testing.assert_allclose(total, expected, atol=1e-6)


def test_skops_keeps_the_pipeline(tool, fitted, frame):
    skops = tool("skops.io")
    text = skops.dumps(fitted.to_sklearn())
    loaded = skops.loads(text, trusted=skops.get_untrusted_types(data=text))
    np.testing.assert_array_equal(loaded.predict(frame), fitted.predict(frame))


def test_onnx_runs_the_tree_on_the_columns(tool, fitted, frame, columns):
    skl2onnx, runtime = tool("skl2onnx"), tool("onnxruntime")
    tree = fitted.to_sklearn()["tree"]
    rows = columns.to_numpy(np.float32)
    options = {id(tree): {"zipmap": False}} if hasattr(tree, "classes_") else None
    session = runtime.InferenceSession(
        skl2onnx.to_onnx(tree, rows[:1], options=options).SerializeToString(),
        providers=["CPUExecutionProvider"])
    np.testing.assert_array_equal(np.ravel(session.run(None, {"X": rows})[0]),
                                  fitted.predict(frame).astype(
                                      object if hasattr(tree, "classes_") else np.float32))
