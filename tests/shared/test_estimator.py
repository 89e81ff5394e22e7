"""The common door, tested through the smallest estimators that use it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import check_estimator

from odtlib import DecisionTree, SolveReport
from odtlib.estimator import TreeClassifier, TreeRegressor, announce_compilation


class StumpClassifier(TreeClassifier):
    """Split the first feature that varies in the middle of its range."""

    def __init__(self, max_depth=1, *, time_limit=None, random_state=None, verbose=0):
        self.max_depth = max_depth
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose

    def _solve(self, X, y, sample_weight):
        assert X.dtype == np.float64 and X.flags.c_contiguous and y.dtype == np.int64
        used = X if sample_weight is None else X[sample_weight > 0]
        feature = int(np.argmax(np.ptp(used, axis=0) > 0))
        middle = (used[:, feature].min() + used[:, feature].max()) / 2
        tree = DecisionTree.from_nested((feature, float(middle), 0, 0),
                                        len(self.classes_), n_features=X.shape[1])
        tree = tree.with_counts(X, y, len(self.classes_), sample_weight).pruned()
        wrong = tree.predict_codes(X) != y
        errors = wrong.sum() if sample_weight is None else sample_weight[wrong].sum()
        return tree, SolveReport("heuristic", errors, 0, 0.0)

    def __sklearn_tags__(self):   # one split cannot tell three classes apart
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags


class MeanRegressor(TreeRegressor):
    """Predict the mean."""

    def __init__(self, max_depth=1, *, time_limit=None, random_state=None, verbose=0):
        self.max_depth = max_depth
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose

    def _solve(self, X, y, sample_weight):
        mean = np.average(y, axis=0, weights=sample_weight)
        tree = DecisionTree.from_nested(mean, kind="regression", n_features=X.shape[1])
        loss = np.sum(((y - mean) ** 2).T * (1 if sample_weight is None else sample_weight))
        return tree, SolveReport("heuristic", loss, 0, 0.0)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


@pytest.mark.parametrize("estimator", [StumpClassifier(), MeanRegressor()])
def test_scikit_learns_own_checks(estimator):
    check_estimator(estimator)


X = np.array([[0.0, 1], [1, 1], [2, 0], [3, 0]])
LABELS = np.array(["no", "no", "yes", "no"])


def test_labels_names_and_report_come_back():
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = StumpClassifier().fit(frame, LABELS, sample_weight=[1, 1, 2, 1])
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.predict(frame).tolist() == ["no", "no", "yes", "yes"]
    assert model.tree_.feature_names == ("a", "b") and "a <= 1.5" in str(model.tree_)
    assert model.report_.objective == 1 and model.verify(frame, LABELS, [1, 1, 2, 1]) == 1
    assert model.predict_proba(frame)[3].tolist() == pytest.approx([1 / 3, 2 / 3])
    assert model.apply(frame).tolist() == [1, 1, 2, 2]
    assert model.decision_path(frame).shape == (4, 3)


@pytest.mark.parametrize("change, message", [
    (dict(X=np.where(X > 2, np.nan, X)), "NaN"),
    (dict(X=np.empty((0, 2)), y=[]), "0 sample"),
    (dict(y=["no"] * 4), "one class only"),
    (dict(X=X[:, 0]), "Expected 2D array"),
    (dict(y=LABELS[:3]), "inconsistent numbers of samples"),
    (dict(y=[0.5, 1.5, 0.2, 0.1]), "continuous"),
    (dict(y=None), "requires y"),
    (dict(sample_weight=[1, 1, -1, 1]), "[Nn]egative"),
    (dict(sample_weight=[0, 0, 0, 0]), "at least one non-zero"),
    (dict(sample_weight=[1, 1, 1]), "sample_weight.shape"),
])
def test_bad_input_gets_one_clear_sentence(change, message):
    with pytest.raises(ValueError, match=message):
        StumpClassifier().fit(**{"X": X, "y": LABELS, **change})


def test_bad_parameters_are_refused_at_fit():
    for bad in (dict(max_depth=-1), dict(max_depth="deep"), dict(time_limit=0),
                dict(random_state="x"), dict(verbose=-2)):
        with pytest.raises(ValueError, match=next(iter(bad))):
            StumpClassifier(**bad).fit(X, LABELS)
    with pytest.raises(TypeError):
        StumpClassifier(depth=3)


def test_regression_keeps_one_and_several_targets():
    flat = MeanRegressor().fit(X, [1.0, 2, 3, 4])
    assert flat.predict(X).tolist() == [2.5] * 4 and flat.verify(X, [1.0, 2, 3, 4]) == 5.0
    two = MeanRegressor().fit(X, np.c_[[1.0, 2, 3, 4], [0, 0, 0, 1.0]])
    assert two.predict(X).shape == (4, 2) and two.n_outputs_ == 2


def test_compilation_is_announced_once_and_only_when_it_happens(capsys, tmp_path, monkeypatch):
    import numba

    kernel = numba.njit(lambda value: value + 1)   # never cached on disk
    assert announce_compilation(kernel, "a test kernel", 1)
    assert "compiling a test kernel once" in capsys.readouterr().err
    assert not announce_compilation(kernel, "a test kernel", 1)
    kernel(1)
    assert not announce_compilation(kernel, "an already compiled kernel", 1)
    assert capsys.readouterr().err == ""
