"""The base class of all estimators, tested through the smallest that use it."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn import get_config, set_config
from sklearn.compose import make_column_transformer
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, OneHotEncoder
from sklearn.utils.estimator_checks import check_estimator

from odtbook.formulations import FlowOCTClassifier
from odtlib import (
    CARTClassifier,
    DecisionTree,
    MurTreeClassifier,
    MurTreeRegressor,
    SolveReport,
    SurvivalTree,
)
from odtlib._numba import warm as _warm
from odtlib.binarize import QuantileBinarizer
from odtlib.estimator import TreeClassifier, TreeRegressor
from tests.estimators import OneLevel


class StumpClassifier(OneLevel, TreeClassifier):
    """Split the first feature that varies in the middle of its range."""

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


class MeanRegressor(OneLevel, TreeRegressor):
    """Predict the mean."""

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


def test_kernels_are_warmed_up_once_and_announced_only_when_compiled(capsys, monkeypatch):
    import numba

    monkeypatch.setitem(_warm.SECONDS, "a test", 1)
    kernel = numba.njit(lambda value: value + 1)   # never cached on disk
    calls = []

    def run():
        calls.append(kernel(1))

    assert _warm.warm_up("a test", kernel, run) > 0.0
    assert "compiling a test once" in capsys.readouterr().err
    assert _warm.warm_up("a test", kernel, run) == 0.0 and calls == [2]
    assert _warm.warm_up("a test", kernel, run, variant="another type") > 0.0
    assert calls == [2, 2] and capsys.readouterr().err == ""


class Recorder(StumpClassifier):
    """Remember what arrives at ``_solve``."""

    def _warm_up(self, X, y, sample_weight):
        return 7.0

    def _solve(self, X, y, sample_weight):
        self.arrived = X, y, sample_weight
        return super()._solve(X, y, sample_weight)


def test_compilation_is_reported_apart():
    model = Recorder().fit(X, LABELS)
    assert model.report_.compile_seconds == 7.0 and model.report_.seconds == 0.0


def test_rows_of_weight_zero_are_not_there():
    model = Recorder().fit(X, LABELS, [1.0, 0.0, 2.0, 1.0])
    rows, labels, weight = model.arrived
    assert rows.tolist() == X[[0, 2, 3]].tolist() and labels.tolist() == [0, 1, 0]
    assert weight.tolist() == [1.0, 2.0, 1.0]
    assert model.fit(X, LABELS, [1.0, 0.0, 1.0, 1.0]).arrived[2] is None
    model.fit(X, LABELS, [1.0, 1.0, 0.0, 1.0])
    assert model.classes_.tolist() == ["no", "yes"] and set(model.predict(X)) == {"no"}
    frame = pd.DataFrame(X)
    assert Recorder().fit(frame, LABELS, [0.0, 1.0, 1.0, 1.0]).arrived[0].shape == (3, 2)


def test_text_in_an_array_names_its_column():
    data = np.array([[0, "red"], [1, "blue"]], dtype=object)
    with pytest.raises(ValueError, match="column 1 of X holds text .'red'."):
        StumpClassifier().fit(data, [0, 1])


def test_text_in_a_frame_is_categories():
    model = StumpClassifier().fit(pd.DataFrame({"a": [0.0, 1], "b": ["1", "2"]}), [0, 1])
    assert model.tree_.feature_names == ("a", "b = 1")
    with pytest.warns(UserWarning, match="Feature 'b' has the category 'big' in row 0, which fit"):
        model.predict(pd.DataFrame({"a": [0.0, 1], "b": ["big", "2"]}))


DATES = np.array([["2020-01-01", "2020-01-02"]] * 4, "datetime64[D]")
FRAME = pd.DataFrame({"size": [0.0, 1, 2, 3], "width": [1.0, np.nan, 0, 0]})


@pytest.mark.parametrize("change, message", [
    (dict(X=None), r"X is of type NoneType; give rows of numbers, in an array"),
    (dict(X={"a": 1}), r"X is of type dict; give rows of numbers"),
    (dict(X="rows"), r"X is of type str; give rows of numbers"),
    (dict(X=[[1, 2], [3]]), r"the rows of X differ in length"),
    (dict(X=np.empty((0, 2)), y=[]), "0 sample"),
    (dict(X=X[:, 0]),
     r"Expected 2D array, .* X has shape \(4,\)\. Reshape your data with X.reshape\(-1, 1\)"),
    (dict(X=X[None]), r"got 3D array instead: X has shape \(1, 4, 2\); give it one row per sample"),
    (dict(X=X + 1j), r"Complex data not supported: X holds complex numbers; give their real"),
    (dict(X=DATES), r"X holds dates or times; turn them into numbers first"),
    (dict(X=pd.DataFrame(DATES)), r"X holds dates or times; turn them into numbers first"),
    (dict(X=[[0, object()]] * 4), r"row 0, column 1 of X holds an object of type object"),
    (dict(X=np.where(X > 2, np.nan, X)), r"row 3, column 0 of X holds NaN; replace it or leave"),
    (dict(X=np.where(X > 2, -np.inf, X)), r"row 3, column 0 of X holds infinity \(inf\); replace"),
    (dict(X=FRAME), r"row 1, column 'width' of X holds NaN; replace it or"),
    (dict(y=LABELS[:3]), r"X and y have inconsistent numbers of samples, 4 and 3; give one label"),
    (dict(y=None), "requires y"),
    (dict(y=[0.5, 1.5, 0.2, 0.1]), "continuous"),
    (dict(y=[0.0, 1, np.nan, 1]), r"row 2 of y holds NaN; replace it or leave such rows out"),
    (dict(y=np.array([0, "a", 2.5, 1], object)), r"y mixes labels of type float, int, str"),
    (dict(y=["a", 1, "a", 1]), r"y mixes labels of type int, str; give labels of one type"),
    (dict(X=pd.DataFrame({"day": pd.period_range("2026", periods=4), "b": 0})),
     r"row 0, column 'day' of X holds an object of type Period.* turn the column into numbers"),
    (dict(y=np.array([0, "a", None, 1], object)), r"row 2 of y holds a missing value \(None\)"),
    (dict(y=["a", "b", np.nan, "a"]), r"row 2 of y holds NaN; replace it or leave"),
    (dict(y=pd.Series(["a", None, "b", "a"], dtype="string")),
     r"row 1 of y holds a missing value \(<NA>\); replace it or leave such rows out"),
    (dict(y=pd.array([1, 0, 1, None], dtype="Int64")), r"row 3 of y holds (NaN|a miss)"),
    (dict(y=pd.Series([True, None, True, False], dtype="boolean")), r"row 1 of y holds a missing"),
    (dict(y=pd.Categorical(["a", None, "b", "a"])), r"row 1 of y holds (NaN|a missing value)"),
    (dict(y=csr_array([[0], [1], [0], [1]])), r"y is sparse; give y\.toarray\(\)"),
    (dict(X=pd.DataFrame(X, columns=["a", "a"])), r"X has two columns named 'a'; rename one of"),
    (dict(X=pd.DataFrame({"a": [1, pd.NA, 2, 3], "b": 0})),
     r"row 1, column 'a' of X holds a missing value \(<NA>\); replace it or leave such rows out"),
    (dict(X=pd.DataFrame({"a": pd.array([1, None, 2, 3], dtype="Int64"), "b": 0})),
     r"row 1, column 'a' of X holds (NaN|a missing value)"),
    (dict(sample_weight=[1, 1, -1, 1]), r"row 2 of sample_weight holds -1; .* not negative"),
    (dict(sample_weight=[np.nan, 0, 0, 1]), r"row 0 of sample_weight holds NaN"),
    (dict(sample_weight=[1, np.nan, 0, 1]), r"row 1 of sample_weight holds NaN"),
    (dict(sample_weight=["a"] * 4), r"row 0 of sample_weight holds text \('a'\); give finite"),
    (dict(sample_weight=["1", "2", "a", "1"]), r"row 2 of sample_weight holds text \('a'\)"),
    (dict(sample_weight=["1", "2", "-1", "1"]), r"row 2 of sample_weight holds -1; .* negative"),
    (dict(sample_weight=[1, None, 1, 1]), r"row 1 of sample_weight holds NaN"),
    (dict(sample_weight=[1, 10 ** 400, 1, 1]), r"row 1 of .* holds a number larger than 1e308"),
    (dict(sample_weight=[1, 1, 1]), r"sample_weight.shape is \(3,\) and X has 4 rows"),
    (dict(sample_weight=np.ones((4, 1))), r"sample_weight.shape is \(4, 1\) and X has 4 rows"),
    (dict(sample_weight=[0, 0, 0, 0]), "at least one non-zero"),
    (dict(sample_weight=0.0), r"sample_weight is zero for every row; give at least one"),
])
def test_bad_input_is_described_with_its_place_and_a_remedy(change, message):
    with pytest.raises((TypeError, ValueError), match=message) as refusal:
        StumpClassifier().fit(**{"X": X, "y": LABELS, **change})
    assert str(refusal.value).count("\n") == 0


def test_a_frame_with_words_is_asked_for_again():
    """Words that are encoded anew would not be those of the fit."""
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "word": ["u", "v", "u", "v"]})
    model = CARTClassifier(1).fit(frame, LABELS)
    for rows in (frame.to_numpy(), frame.to_dict("records")):
        with pytest.raises(ValueError, match="was fitted on a data frame with categories; pass"):
            model.predict(rows)
    with pytest.raises(ValueError, match="X has no rows; give at least one"):
        model.predict(frame[:0])


def test_a_start_of_other_columns_is_refused():
    frame = pd.DataFrame({"a": [1, 2, 3, 4], "b": [4, 3, 1, 2], "word": ["u", "v", "u", "w"]})
    numbers = frame[["a", "b"]]
    start = CARTClassifier(2).fit(numbers[["b", "a"]], LABELS)
    with pytest.raises(ValueError,
                       match=r"fitted to the columns \['b', 'a'\] and X has \['a', 'b'\]"):
        MurTreeClassifier(2, start=start).fit(numbers, LABELS)
    for start in (CARTClassifier(2).fit(frame, LABELS), MurTreeClassifier(2).fit(frame, LABELS)):
        assert MurTreeClassifier(2, start=start).fit(frame, LABELS).report_.status == "optimal"


@pytest.mark.parametrize("y, message", [
    ([0.0, 1, None, 2], r"row 2 of y holds a missing value \(None\)"),
    (pd.array([1.0, None, 2, 3], dtype="Float64"), r"row 1 of y holds"),
    (["a", "b", "c", "d"], r"row 0 of y holds text \('a'\); a regressor needs numbers"),
    ([0.0, 1, 2, np.inf], r"row 3 of y holds infinity \(inf\); replace it or leave such rows out"),
    ([0.0, 1, 2], r"inconsistent numbers of samples, 4 and 3; give one label or target per row"),
    ([[0, 1], [2]], r"the rows of y differ in length"),
])
def test_bad_targets_are_described_with_their_place(y, message):
    with pytest.raises((TypeError, ValueError), match=message):
        MeanRegressor().fit(X, y)


def test_rows_to_predict_are_checked_in_the_same_words():
    model = StumpClassifier().fit(X, LABELS)
    with pytest.raises(ValueError, match=r"row 0, column 1 of X holds NaN; replace it or"):
        model.predict([[0.0, np.nan]])
    with pytest.raises(ValueError, match=r"X has shape \(2,\)\. Reshape your data"):
        model.predict(X[0])
    with pytest.raises(ValueError, match="X has 1 features, but StumpClassifier is expecting 2"):
        model.predict(X[:, :1])


def test_weights_and_targets_whose_squares_overflow_are_refused():
    for bad in ([1e300, 1, 1, 1], [1e-300, 1, 1, 1], [5e-324, 1, 1, 1]):
        with pytest.raises(ValueError, match="multiply all by one number"):
            StumpClassifier().fit(X, LABELS, bad)
    with pytest.raises(ValueError, match="divide it by a number"):
        MeanRegressor().fit(X, [0.0, 1, 2, 1e200])


def test_depth_is_a_python_integer_that_the_rows_can_reach():
    assert StumpClassifier(np.int8(3))._depth_within(50) == 3
    assert StumpClassifier(10**9)._depth_within(50) == 49
    assert type(StumpClassifier(np.uint8(3))._depth_within(50)) is int
    assert StumpClassifier(0)._depth_within(0) == 0


def test_a_report_without_the_estimator_is_small():
    import pickle

    model = StumpClassifier().fit(X, LABELS)
    model.ballast = np.zeros(100_000)
    assert len(pickle.dumps(model.report_)) < 5_000


def test_names_of_an_earlier_fit_are_forgotten():
    model = StumpClassifier().fit(pd.DataFrame(X, columns=["a", "b"]), LABELS)
    assert model.tree_.feature_names == ("a", "b")
    model.fit(X, LABELS)
    assert not hasattr(model, "feature_names_in_") and model.tree_.feature_names is None


def test_ctrl_c_leaves_the_configuration_of_scikit_learn(monkeypatch):
    def interrupted(self, *data, **options):
        set_config(skip_parameter_validation=True)      # as within a fit of scikit-learn
        raise KeyboardInterrupt

    monkeypatch.setattr(StumpClassifier, "_solve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        StumpClassifier().fit(X, LABELS)
    assert not get_config()["skip_parameter_validation"]


def bins(**options):
    """Return scikit-learn's discretiser, which asks for its method by name."""
    return KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf", **options)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("binarizer", [
    bins(encode="onehot-dense"), OneHotEncoder(sparse_output=False, handle_unknown="ignore"),
    FunctionTransformer(lambda X: np.asarray(X) > 4),       # without names of its columns
    bins(encode="onehot-dense").set_output(transform="pandas"),
    make_column_transformer((bins(encode="onehot-dense"), ["age"])), QuantileBinarizer(3)],
    ids=["bins", "values", "no names", "pandas", "chosen by name", "of odtlib"])
@pytest.mark.parametrize("kind", [MurTreeClassifier, MurTreeRegressor, SurvivalTree,
                                  FlowOCTClassifier])
def test_transformers_make_columns_of_frames_and_arrays(kind, binarizer):
    frame = pd.DataFrame({"age": np.arange(40) % 9, "size": np.arange(40) % 7 // 2 * 2.0})
    y = (frame["age"] > 4).to_numpy() ^ (frame["size"] == 2).to_numpy()
    y = y if kind in (MurTreeClassifier, FlowOCTClassifier) else y * 1.0
    y = np.column_stack([y, 1.0 + np.arange(40)]) if kind is SurvivalTree else y
    weight = np.arange(40) % 3
    named = hasattr(binarizer, "transformers")
    for X in (frame, frame.to_numpy())[:1 if named else 2]:
        model = kind(2, binarizer=binarizer).fit(X, y, weight)
        columns = np.asarray(model.binarizer_.transform(X), int)
        alone = kind(2, binarizer=None).fit(columns, y, weight)
        assert model.report_.objective == alone.report_.objective
        np.testing.assert_array_equal(model.to_sklearn().predict(X), model.predict(X))
        assert model.verify(X, y, weight) == pytest.approx(model.report_.objective)
        if hasattr(model, "certificate"):
            assert model.certificate(X, y, weight).claim
        if X is frame and hasattr(model.binarizer_, "get_feature_names_out"):
            names = " ".join(model.binarizer_.get_feature_names_out())
            for words in (model.tree_.to_text(), names):
                assert any(name in words for name in ("age", "size"))


def test_a_binarizer_that_makes_a_sparse_table_is_refused():
    for binarizer in (bins(), OneHotEncoder()):
        with pytest.raises(ValueError, match="made a sparse table; give one that makes an array"):
            MurTreeClassifier(1, binarizer=binarizer).fit([[1], [2], [3], [4]], [0, 0, 1, 1])
