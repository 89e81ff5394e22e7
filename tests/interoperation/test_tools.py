"""Tools made for scikit-learn's trees read the tree of `to_sklearn` and predict the same."""

from __future__ import annotations

import numpy as np
import pytest


def test_shap_values_add_up_to_the_probabilities(tool, classifier, rows):
    explainer = tool("shap").TreeExplainer(classifier.to_sklearn())
    values = np.asarray(explainer.shap_values(rows))
    total = explainer.expected_value + values.sum(axis=1)
    np.testing.assert_allclose(total, classifier.predict_proba(rows), atol=1e-6)


def test_shap_values_add_up_to_the_prediction(tool, regressor, rows):
    explainer = tool("shap").TreeExplainer(regressor.to_sklearn())
    total = explainer.expected_value + explainer.shap_values(rows).sum(axis=1)
    np.testing.assert_allclose(total, regressor.predict(rows), rtol=1e-6)
    # what is expected of a row at random is the mean of the rows of the fit
    np.testing.assert_allclose(explainer.expected_value, regressor.predict(rows).mean())


def test_dtreeviz_draws_a_classifier(tool, classifier, rows):
    dtreeviz = tool("dtreeviz")     # it takes labels that are whole numbers, text it refuses
    codes = np.searchsorted(classifier.classes_, classifier.predict(rows))
    over_codes = classifier.tree_.replace(classes=None)
    model = dtreeviz.model(over_codes.to_sklearn(), rows, codes,
                           feature_names=[f"x{j}" for j in range(rows.shape[1])],
                           target_name="class", class_names=list(map(str, classifier.classes_)))
    nodes = [node for node in model.shadow_tree.leaves if node.isleaf()]
    assert len(nodes) == classifier.get_n_leaves()
    found = model.shadow_tree.get_leaf_sample_counts()[1]
    assert found.sum() == len(rows)
    model.ctree_leaf_distributions()


def test_dtreeviz_reads_a_regressor(tool, regressor, rows):
    dtreeviz = tool("dtreeviz")
    model = dtreeviz.model(regressor.to_sklearn(), rows, regressor.predict(rows),
                           feature_names=[f"x{j}" for j in range(rows.shape[1])],
                           target_name="target")
    means = [leaf.prediction() for leaf in model.shadow_tree.leaves]
    assert sorted(means) == pytest.approx(sorted(set(regressor.predict(rows))))
    model.rtree_leaf_distributions()


@pytest.mark.parametrize("whole", [True, False], ids=["estimator", "to_sklearn"])
def test_skops_keeps_an_estimator(tool, classifier, regressor, rows, whole):
    skops = tool("skops.io")
    for given in (classifier, regressor):
        text = skops.dumps(given if whole else given.to_sklearn())
        loaded = skops.loads(text, trusted=skops.get_untrusted_types(data=text))
        np.testing.assert_array_equal(loaded.predict(rows), given.predict(rows))
        if given is classifier:
            np.testing.assert_array_equal(loaded.predict_proba(rows), given.predict_proba(rows))


def onnx_session(tool, model, rows):
    """Convert to ONNX and return what runs it."""
    skl2onnx, runtime = tool("skl2onnx"), tool("onnxruntime")
    options = {id(model): {"zipmap": False}} if hasattr(model, "classes_") else None
    converted = skl2onnx.to_onnx(model, rows[:1].astype(np.float32), options=options)
    return runtime.InferenceSession(converted.SerializeToString(),
                                    providers=["CPUExecutionProvider"])


def test_onnx_classifies_the_same(tool, classifier, rows):
    session = onnx_session(tool, classifier.to_sklearn(), rows)
    labels, shares = session.run(None, {"X": rows.astype(np.float32)})
    np.testing.assert_array_equal(labels, classifier.predict(rows))
    np.testing.assert_allclose(shares, classifier.predict_proba(rows), atol=1e-6)


def test_onnx_predicts_the_same(tool, regressor, rows):
    session = onnx_session(tool, regressor.to_sklearn(), rows)
    (values,) = session.run(None, {"X": rows.astype(np.float32)})
    np.testing.assert_allclose(values.ravel(), regressor.predict(rows), rtol=1e-6)
