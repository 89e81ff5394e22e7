"""A record says what the fit did, on rows that it names, with compilation apart."""

import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from sklearn.base import BaseEstimator
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from odtbook import experiments
from odtbook.experiments import measure
from odtbook.experiments.records import COLUMNS
from odtlib import DecisionTree, SolveReport
from odtlib.estimator import TreeClassifier
from tests.estimators import OneLevel


class OneSplit(OneLevel, TreeClassifier):
    """Split once, at zero."""

    fits = []

    def _solve(self, X, y, sample_weight):
        self.fits.append(len(y))
        left = X[:, 0] <= 0
        tree = DecisionTree.from_nested((0, 0.0, int(np.argmax(np.bincount(y[left]))),
                                         int(np.argmax(np.bincount(y[~left])))),
                                        n_classes=len(self.classes_)).with_counts(
                                            X, y, len(self.classes_))
        errors = float((tree.predict_codes(X) != y).sum())
        return tree, SolveReport("optimal", errors, errors, 0.0, start="cart",
                                 counters={"nodes": np.int64(3)}, proof="optimal for one split")


class Foreign(DecisionTreeClassifier):
    """An estimator of another library; the first fit of a process is slow, as if it compiled."""

    fits = []

    def fit(self, X, y):
        if not self.fits:
            time.sleep(0.2)
        self.fits.append(len(y))
        return super().fit(X, y)


@pytest.fixture
def data():
    chance = np.random.default_rng(0)
    X = chance.normal(size=(200, 2))
    y = np.where(X[:, 0] > 0, "b", "a")
    y[:20] = np.where(y[:20] == "a", "b", "a")
    return SimpleNamespace(X=X, y=y, feature_names=["first", "second"])


def test_a_record_holds_the_fit_the_tree_and_the_machine(data):
    OneSplit.fits.clear()
    model = OneSplit(max_depth=1)
    train, test = np.arange(100), np.arange(100, 200)
    record = experiments.run(model, data, (train, test))
    assert list(record) == list(COLUMNS)
    assert OneSplit.fits == [100] and record["compile_seconds"] == 0.0
    assert record["wall_seconds"] > 0
    facts = {name: record[name] for name in (
        "status", "started_from", "objective", "bound", "train_accuracy", "test_accuracy",
        "depth", "leaves", "splits", "rows", "features", "classes", "counters", "measures")}
    assert facts == {
        "status": "optimal", "started_from": "cart", "objective": 20.0, "bound": 20.0,
        "train_accuracy": 0.8, "test_accuracy": 1.0, "depth": 1, "leaves": 2, "splits": 1,
        "rows": 100, "features": 2, "classes": 2, "counters": {"nodes": 3}, "measures": {}}
    assert record["versions"]["numpy"] == np.__version__
    assert record["processor"] and record["cores"] >= 1
    assert list(model.feature_names_in_) == ["first", "second"]


def test_a_foreign_estimator_is_fitted_on_a_few_rows_first(data):
    measure._warm.clear()
    Foreign.fits.clear()
    parts = np.arange(100), np.arange(100, 200)
    record = experiments.run(Foreign(max_depth=1), data, parts)
    assert Foreign.fits == [20, 100]    # ten rows of each class, then the training rows
    assert record["compile_seconds"] >= 0.2 > record["wall_seconds"] > 0
    assert record["cpu_seconds"] < record["compile_seconds"]
    again = experiments.run(Foreign(max_depth=1), data, parts)
    assert Foreign.fits == [20, 100, 100] and again["compile_seconds"] == 0.0


def test_an_estimator_of_ours_compiles_without_a_fit(data):
    class Warmed(OneSplit):
        def _compile_kernels(self, X, y):
            return 3.5

    OneSplit.fits.clear()
    record = experiments.run(Warmed(max_depth=1), data, (np.arange(100), np.arange(100, 200)))
    assert OneSplit.fits == [100]
    assert record["compile_seconds"] == 3.5


def test_all_rows_train_where_no_split_is_given(data):
    record = experiments.run(DecisionTreeClassifier(max_depth=1), data)
    assert record["rows"] == 200
    assert record["test_accuracy"] is None
    assert record["status"] == "heuristic"
    assert record["objective"] is None


def test_measures_are_taken_on_both_parts_and_regression_has_no_accuracy(data):
    data.y = 3.0 * data.X
    parts = (np.arange(150), np.arange(150, 200))
    model = DecisionTreeRegressor(max_depth=3)

    def errors(model, X, y):
        return {"mse": np.mean((model.predict(X) - y) ** 2), "rows": len(y)}

    record = experiments.run(model, data, parts, measures=errors)
    assert record["train_accuracy"] is record["test_accuracy"] is record["classes"] is None
    assert record["measures"]["test"]["rows"] == 50
    wanted = float(np.mean((model.predict(pd.DataFrame(data.X[:150], columns=data.feature_names))
                            - data.y[:150]) ** 2))
    assert record["measures"]["train"]["mse"] == pytest.approx(wanted, rel=1e-12)


def test_the_fit_gets_the_weights_of_its_rows(data):
    data.y = data.X[:, 0]
    weight = np.arange(200.0)
    rows = np.random.default_rng(1).permutation(200)
    model = DecisionTreeRegressor(max_depth=1)
    experiments.run(model, data, (rows[:50], rows[50:]), sample_weight=weight)
    by_hand = DecisionTreeRegressor(max_depth=1).fit(
        data.X[rows[:50]], data.y[rows[:50]], weight[rows[:50]])
    assert np.array_equal(model.tree_.value, by_hand.tree_.value)


def test_known_data_sets_use_the_splits_of_the_papers():
    from odtbook.datasets import load, splits
    record = experiments.run(DecisionTreeClassifier(max_depth=2, random_state=0), "iris", 1)
    train, test, _ = splits("iris")[1]
    data = load("iris")
    by_hand = DecisionTreeClassifier(max_depth=2, random_state=0).fit(data.X[train],
                                                                      data.y[train])
    assert record["rows"] == len(train)
    assert record["test_accuracy"] == by_hand.score(data.X[test], data.y[test])


def test_a_csv_file_trains_on_half_and_tests_on_a_quarter(tmp_path):
    path = tmp_path / "my.csv"
    pd.DataFrame({"x": [*range(20), *range(30, 50)],
                  "colour": ["red", "blue"] * 20,
                  "label": ["yes"] * 20 + ["no"] * 20}).to_csv(path, index=False)
    model = DecisionTreeClassifier(max_depth=2)
    record = experiments.run(model, str(path), 0)
    assert (record["rows"], record["features"]) == (20, 2)
    assert list(model.feature_names_in_) == ["x", "colour = red"]
    assert record["train_accuracy"] == 1.0


def test_an_estimator_that_spends_a_childs_time_is_charged_for_it():
    class ByChild(BaseEstimator):
        def fit(self, X, y):
            import subprocess
            import sys
            subprocess.run([sys.executable, "-c", "sum(i for i in range(3_000_000))"], check=True)
            return self

        def predict(self, X):
            return np.zeros(len(X))

    data = SimpleNamespace(X=np.ones((4, 1)), y=np.zeros(4))
    record = experiments.run(ByChild(), data)
    assert record["cpu_seconds"] > 0.02


def test_emit_shows_one_line_and_carries_the_record():
    InteractiveShell.instance()
    record = experiments.record(status="time_limit", objective=12, train_accuracy=0.98765)
    with capture_output() as captured:
        experiments.emit(record)
    (output,) = captured.outputs
    assert output.data[measure.MIME] == record
    assert output.data["text/plain"] == "time limit, objective 12, train accuracy 0.9877"
