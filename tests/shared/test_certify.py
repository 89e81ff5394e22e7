"""Verification from the parameters as given: every term against a plain sum, by hand."""

import ast
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import odtlib.certify
from odtbook.formulations import BinOCTClassifier, FlowOCTClassifier, OCTClassifier
from odtlib import (
    CARTClassifier,
    ColumnGenerationClassifier,
    ConstrainedTreeRegressor,
    ContinuousTreeClassifier,
    ContinuousTreeRegressor,
    LocalSearchTreeClassifier,
    MurTreeClassifier,
    MurTreeRegressor,
    OptimalConstrainedTreeRegressor,
    RestrictedTreeClassifier,
)
from odtlib.binarize import ThresholdBinarizer
from odtlib.certify import Certificate
from odtlib.constrained import sets
from odtlib.objectives import AdditiveObjective, Poisson
from odtlib.tree import DecisionTree

# x0 <= 0.5 -> "n", else (x1 <= 0.5, missing left -> "p", else "n")
TREE = DecisionTree.from_nested((0, 0.5, 0, (1, 0.5, 1, 0)), n_classes=2).replace(
    classes=np.array(["n", "p"]), missing_left=[-1, -1, 1, -1, -1])
X = np.array([[0, 0], [0, 1], [1, 0], [1, np.nan], [1, 1], [1, 1]], float)
LABELS = np.array(["n", "p", "n", "p", "p", "n"])       # rows 1, 2 and 4 are wrong
WEIGHT = np.array([1.0, 0.25, 3.0, 0.0, 1e-9, 7.0])


def cost(weight=None, costs=None, **parameters):
    return Certificate(parameters, costs)(TREE, X, LABELS, weight)


def test_errors_penalties_and_weights_of_classes():
    assert cost() == 3 and cost(WEIGHT) == 3.25 + 1e-9
    assert cost(split_penalty=0.25) == 3.5
    assert cost(split_penalty=[0.25, 2.0, 8.0]) == 3 + 0.25 + 2.0
    assert cost(class_weight={"p": 10}) == 1 + 20
    assert cost(WEIGHT, class_weight={"p": 4, "n": 0}) == 1.0 + 4e-9
    assert cost(class_weight="balanced") == 3
    # without the row of weight zero, five rows: three of "n", two of "p"
    assert cost(WEIGHT, class_weight="balanced") == pytest.approx(
        3.0 * 5 / 6 + (0.25 + 1e-9) * 5 / 4, rel=1e-15)


def test_measures_that_are_no_sum_of_errors():
    assert cost(objective="balanced-accuracy") == pytest.approx((1 / 3 + 2 / 3) / 2)
    assert cost(objective="f1") == pytest.approx(1 - 2 * 1 / (2 * 1 + 1 + 2))
    costs = np.arange(12.0).reshape(6, 2) ** 2
    assert cost(costs=costs, split_penalty=1) == 0 + 4 + 25 + 49 + 64 + 100 + 2
    assert cost(WEIGHT, costs=costs) == pytest.approx(0 + 1 + 75 + 64e-9 + 700, rel=1e-15)


def test_losses_of_several_targets():
    tree = DecisionTree([0, -1, -1], [0.5, 0, 0], [1, -1, -1], [2, -1, -1],
                        [[0, 0], [1.0, 2.0], [4.0, 0.5]], kind="regression")
    rows, Y = np.array([[0.0], [1.0], [1.0]]), np.array([[0.0, 2.0], [6.0, 0.5], [4.0, 1.5]])
    weight, w = np.array([2.0, 1.0, 0.5]), np.array([3.0, 0.25])

    def loss(**parameters):
        return Certificate(parameters)(tree, rows, Y, weight)

    assert loss() == 2 * 1 + 4 + 0.5 * 1
    assert loss(criterion="absolute_error", target_weights=w) == 2 * 3 + 2 * 3 + 0.5 * 0.25
    assert loss(loss="absolute_error", split_penalty=0.5) == 2 + 2 + 0.5 + 0.5
    assert loss(criterion="poisson") == pytest.approx(
        2 * 1 + (6 * np.log(1.5) - 2) + 0.5 * (1.5 * np.log(3) - 1))
    variance = [np.average((y - np.average(y, weights=weight)) ** 2, weights=weight) for y in Y.T]
    assert loss(target_weights="standardize") == pytest.approx(
        6 / variance[0] + 0.5 / variance[1])


def test_sums_have_one_rounding():
    rng = np.random.default_rng(0)
    weight = 10.0 ** rng.uniform(-12, 12, 4000)
    rows, labels = rng.integers(0, 2, (4000, 2)).astype(float), rng.choice(["n", "p"], 4000)
    found = Certificate({"split_penalty": 1 / 3})(TREE, rows, labels, weight)
    wrong = TREE.predict(rows) != labels
    exact = sum(map(Fraction, weight[wrong].tolist())) + 2 * Fraction(1 / 3)
    assert abs(Fraction(found) - exact) <= Fraction(2.0**-52) * exact


def test_it_knows_nothing_of_any_solver():
    tree = ast.parse(Path(odtlib.certify.__file__).read_text(encoding="utf-8"))
    imported = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import)
                for name in node.names}
    imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported == {"__future__", "copy", "math", "numpy"}


BOX = sets.Box(0, 1)
MODELS = {
    "cart": CARTClassifier(2, class_weight={0: 2.5}),
    "local search": LocalSearchTreeClassifier(2, class_weight="balanced", random_state=0),
    "murtree": MurTreeClassifier(2, class_weight={0: 3, 1: 0.5}, split_penalty=1 / 3),
    "levels": MurTreeClassifier(2, split_penalty=[0.3, 0.1]),
    "balanced": MurTreeClassifier(2, objective="balanced-accuracy"),
    "f1": MurTreeClassifier(2, objective="f1"),
    "fair": MurTreeClassifier(2, max_disparity=0.5, disparity="equal-opportunity"),
    "fair program": BinOCTClassifier(1, max_disparity=0.5),
    "continuous": ContinuousTreeClassifier(2, split_penalty=0.2, class_weight={1: 0}),
    "restricted": RestrictedTreeClassifier(2, split_penalty=0.2, class_weight="balanced"),
    "paths": ColumnGenerationClassifier(2, class_weight={0: 2}),
    "binoct": BinOCTClassifier(1, split_penalty=1 / 3, solver="cp-sat", class_weight="balanced"),
    "oct": OCTClassifier(1, split_penalty=np.pi, class_weight={1: 7}),
    "flow": FlowOCTClassifier(1, split_penalty=1e-7, binarizer="all"),
    "squares": MurTreeRegressor(2, split_penalty=0.1),
    "absolute": MurTreeRegressor(2, loss="absolute_error", split_penalty=0.1),
    "regression": ContinuousTreeRegressor(2, split_penalty=0.1),
    "constrained": ConstrainedTreeRegressor(BOX, max_depth=2, target_weights="standardize"),
    "poisson": ConstrainedTreeRegressor(BOX, max_depth=2, criterion="poisson"),
    "medians": ConstrainedTreeRegressor(BOX, max_depth=2, criterion="absolute_error"),
    "optimal constrained": OptimalConstrainedTreeRegressor(BOX, max_depth=2, split_penalty=0.01,
                                                           target_weights=[2.0]),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("column", [False, True])
def test_every_fit_verifies_with_the_rows_and_weights_as_given(name, column):
    rng = np.random.default_rng(len(name))
    model, n_rows = clone(MODELS[name]), 40
    if "binarizer" in model.get_params():
        model.set_params(binarizer="all")
    rows = rng.integers(0, 3, (n_rows, 3)).astype(float)
    if name == "constrained" or "Regressor" in type(model).__name__:
        y = rng.random(n_rows)
    else:
        y = rng.integers(0, 2 if name in ("f1", "fair", "fair program") else 3, n_rows)
    weight = rng.integers(0, 4, n_rows)         # some zero
    weight[-1] = 0
    more = {"protected": rng.integers(0, 2, n_rows)} if "fair" in name else {}
    shown = y[:, None] if column else y
    model.fit(rows, y, weight, **more)
    scale = model.report_.scale
    for found in (model.verify(rows, shown, weight), model.report_.verify(rows, shown, weight)):
        assert found == pytest.approx(model.report_.objective, abs=1e-10 * scale)
    changed = model.report_.objective
    model.report_.objective = changed + 1e-6 * scale
    with pytest.raises(ValueError, match="the report says"):
        model.verify(rows, y, weight)
    model.report_.objective = changed
    model.set_params(**{"class_weight": {0: 99}} if hasattr(model, "class_weight") else {})
    assert model.verify(rows, y, weight) == pytest.approx(changed, abs=1e-10 * scale)


def test_categories_gaps_costs_and_levels_verify_through_the_binariser():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"shop": rng.choice(["a", "b", "c", None], 60),
                          "age": np.where(rng.random(60) < 0.2, np.nan, rng.integers(0, 9, 60))})
    y, weight = rng.choice(["in", "out", "by"], 60), rng.random(60) * (rng.random(60) < 0.8)
    binarizer = ThresholdBinarizer(ordered_categories=True)
    for penalty, costs in ((0.3, None), ([0.2, 0.1], None), (0.1, rng.random((60, 3)))):
        model = MurTreeClassifier(2, binarizer=binarizer, split_penalty=penalty)
        model.fit(frame, y, weight, **({} if costs is None else {"costs": costs}))
        given, label = model.predict(frame), model.classes_
        spent = penalty * model.tree_.n_splits if costs is not None or penalty == 0.3 else sum(
            penalty[d] for d in model.tree_.node_depth[model.tree_.feature >= 0])
        paid = weight @ (given != y) if costs is None else weight @ costs[
            np.arange(60), np.searchsorted(label, given)]
        assert model.verify(frame, y, weight) == pytest.approx(paid + spent, rel=1e-12)
        assert model.report_.objective == pytest.approx(paid + spent, rel=1e-9)


@pytest.mark.parametrize("model", [
    MurTreeClassifier(2, binarizer="all"), ContinuousTreeClassifier(2)])
def test_rows_of_a_class_without_weight_may_miss_what_no_other_row_misses(model):
    X = np.array([[0, 0], [1, 0], [2, 1], [3, 1], [np.nan, 1], [np.nan, 0]])
    y = np.array([0, 0, 1, 1, 2, 2])
    model = clone(model).set_params(class_weight={0: 1.0, 1: 1.0, 2: 0.0}).fit(X, y)
    assert model.verify(X, y) == model.report_.objective == 0.0


def squares(sums):
    return sums[2] - sums[1] ** 2 / sums[0] if sums[0] > 0 else 0.0


@pytest.mark.parametrize("kind", ["u1", "f2", "g", object])
def test_an_objective_sees_the_same_targets_when_it_is_verified_as_in_the_fit(kind):
    """Numbers of one byte wrapped around, and extended precision ended in an error of ours."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(1, 9, (40, 3)), rng.integers(0, 255, 40)
    mine = AdditiveObjective(lambda X, y, weight: np.column_stack(
        [weight, weight * -y, weight * y ** 2]), squares, lambda sums: -sums[1] / sums[0])
    for loss in (mine, Poisson(0), "squared_error"):
        model = MurTreeRegressor(2, loss=loss).fit(X, y.astype(kind))
        assert model.report_.objective == MurTreeRegressor(2, loss=loss).fit(X, y).report_.objective
        assert model.verify(X, y.astype(kind)) == pytest.approx(model.report_.objective)
        assert model.verify(X, y[:, None].astype(kind)) == model.verify(X, y)
