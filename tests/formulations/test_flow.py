"""FlowOCTClassifier: the optimum of brute force over its columns, bounds, options and limits."""

import numpy as np
import pytest
from formulations.reference import check, instance, optimum
from sklearn.preprocessing import KBinsDiscretizer

from odtbook.datasets import load
from odtbook.formulations import FlowOCTClassifier
from odtbook.formulations.flow import FlowModel, ancestors
from odtbook.formulations.oct import OCTModel
from odtlib import MurTreeClassifier
from odtlib.binarize import ThresholdBinarizer
from tests.naive import best_tree_cost


@pytest.mark.parametrize("binarizer", ["mdlp", "quantile", "all", KBinsDiscretizer(
    3, encode="onehot-dense", quantile_method="averaged_inverted_cdf")])
def test_optimal_for_the_columns_of_its_binariser(binarizer):
    data = load("iris")
    model = FlowOCTClassifier(1, binarizer=binarizer, random_state=0)
    report = check(model, np.asarray(data.X, float), np.asarray(data.y))
    columns = model.binarizer_.transform(data.X)
    weight = np.ones(len(data.y))
    assert report.status == "optimal"
    assert report.objective == best_tree_cost(columns, np.asarray(data.y), weight, 3, 1, 1)
    original = model.tree_.n_features == data.X.shape[1]
    assert original == isinstance(binarizer, str)
    assert f"these {columns.shape[1]} predicates at depth 1" in str(report)


def test_no_column_leaves_a_leaf():
    X, y = np.arange(6.0)[:, None], np.array([0, 1, 0, 1, 0, 1])
    model = FlowOCTClassifier(2).fit(X, y)      # MDLP accepts no cut
    assert model.tree_.n_leaves == 1 and model.report_.status == "optimal"


def test_relaxation_is_a_bound_and_not_below_that_of_oct():
    random = np.random.default_rng(11)
    stronger = 0
    for _ in range(40):
        X, y = instance(random, int(random.integers(2, 11)), int(random.integers(1, 5)),
                        int(random.integers(2, 4)))
        X, weight = (X == X.min(axis=0)).astype(float), random.integers(1, 4, len(y)) * 1.0
        flow = FlowModel(X, y, y.max() + 1, weight, 1).model.relax().objective
        leaves = OCTModel(X, y, y.max() + 1, weight, 1).model.relax().objective
        assert leaves - 1e-6 <= flow <= optimum(X, y, weight, None, 1) + 1e-6
        stronger += flow > leaves + 1e-6
    assert stronger > 5


def test_equal_rows_share_their_flow():
    X, y = np.array([[0.0], [0], [0], [1], [1]]), np.array([0, 0, 1, 1, 1])
    model = FlowModel(X, y, 2, np.ones(5), 1)
    assert model.z.shape == (3, 3) and sorted(model.weight) == [1, 2, 2]
    assert model.model.solve().objective == pytest.approx(1)


def test_size_is_known_before():
    for depth in (1, 2, 3):
        X = (np.random.RandomState(0).rand(200, 12) < 0.5).astype(float)
        sizes = FlowModel(X, np.arange(200) % 2, 2, np.ones(200), depth).model.sizes()
        guess = FlowModel.n_nonzeros(200, 12, depth)
        assert sizes["nonzeros"] <= 1.3 * guess and guess <= 1.8 * sizes["nonzeros"]


def test_starts_and_limits():
    data = load("tic-tac-toe")
    X, y = np.asarray(data.X, float), np.unique(data.y, return_inverse=True)[1]
    report = check(FlowOCTClassifier(4, time_limit=1.0, random_state=0), X, y)
    assert report.status == "time_limit" and report.start == "cart"
    best = MurTreeClassifier(3).fit(X, y)
    report = check(FlowOCTClassifier(3, start=best.tree_, time_limit=0.5), X, y)
    assert report.start == "tree" and report.objective == best.report_.objective
    assert report.status == "time_limit" and report.lower_bound < report.objective


def test_all_thresholds_give_the_optimum_over_all_thresholds():
    random = np.random.RandomState(6)
    for _ in range(10):
        X, y = random.randint(0, 5, (9, 2)).astype(float), random.randint(0, 2, 9)
        y[:2] = 0, 1
        columns = ThresholdBinarizer().fit(X).transform(X)
        report = check(FlowOCTClassifier(2, binarizer="all"), X, y)
        assert report.objective == optimum(columns, y, np.ones(9), None, 2)


def test_ancestors():
    assert ancestors(0) == [] and ancestors(1) == [0] and ancestors(12) == [5, 2, 0]


def test_refuses_what_it_cannot_use():
    with pytest.raises(ValueError, match="binarizer=None needs features that are 0 or 1"):
        FlowOCTClassifier(binarizer=None).fit([[0.5], [2.0]], [0, 1])
    with pytest.raises(ValueError, match="'binarizer' parameter"):
        FlowOCTClassifier(binarizer="entropy").fit([[0.5], [2.0]], [0, 1])


def test_a_warning_names_the_line_of_the_caller():
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2
    with pytest.warns(UserWarning, match="made no column of") as seen:
        FlowOCTClassifier(1, binarizer="mdlp").fit(X, y)
    assert [one.filename for one in seen] == [__file__]
