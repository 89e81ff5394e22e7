"""Costs of labels for each row: against brute force, and where they are errors."""

import numpy as np
import pandas as pd
import pytest

from odtlib import CARTClassifier, MurTreeClassifier
from tests.naive import best_cost
from tests.scale import instances


def least_cost(X, costs, *limits):
    """Return the least cost of a tree, by trying all of them."""
    return best_cost(X, lambda rows: costs[rows].sum(axis=0).min(), *limits)


@pytest.mark.parametrize("seed", range(instances(300)))
def test_what_equal_rows_cancel_leaves_them_samples_of_a_leaf(seed):
    rng = np.random.default_rng(seed)
    n_rows, n_classes = int(rng.integers(3, 8)), int(rng.integers(3, 5))
    X = rng.integers(0, 2, (n_rows, int(rng.integers(1, 3)))).astype(float)     # many equal rows
    y = np.append(np.arange(3), rng.integers(0, n_classes, n_rows - 3))
    costs = rng.integers(-3, 4, (n_rows, len(np.unique(y)))) / 3    # no whole numbers
    model = MurTreeClassifier(2, binarizer=None).fit(X, y, costs=costs)
    expected = least_cost(X, costs, 2, 3, 1, 0.0)
    assert model.report_.status == "optimal"
    assert model.report_.objective == pytest.approx(expected, abs=1e-9)


def test_costs_of_one_are_errors():
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 2, (300, 8)), rng.integers(0, 3, 300)
    plain = MurTreeClassifier(3).fit(X, y)
    costs = MurTreeClassifier(3).fit(X, y, costs=1.0 - np.eye(3)[y])
    assert costs.report_.objective == plain.report_.objective


def test_a_start_is_the_tree_to_beat():
    rng = np.random.default_rng(4)
    X, y = rng.integers(0, 2, (200, 12)), rng.integers(0, 2, 200)
    costs = rng.normal(size=(200, 2))
    cart = CARTClassifier(max_depth=3).fit(X, y)
    model = MurTreeClassifier(3, start=cart).fit(X, y, costs=costs)
    assert model.report_.objective == pytest.approx(
        MurTreeClassifier(3).fit(X, y, costs=costs).report_.objective)
    assert np.isfinite(model.report_.events[0][1])


def test_a_limit_leaves_a_bound_below_the_objective():
    rng = np.random.default_rng(5)
    X, y = rng.integers(0, 2, (2000, 150)), rng.integers(0, 2, 2000)
    costs = rng.normal(size=(2000, 2))
    report = MurTreeClassifier(5, time_limit=0.2).fit(X, y, costs=costs).report_
    assert report.status == "time_limit" and report.lower_bound < report.objective
    assert report.objective < costs.sum(axis=0).min()


@pytest.mark.parametrize(("options", "costs", "message"), [
    ({}, np.zeros((4, 3)), "one column per label"),
    ({}, np.zeros((3, 2)), "inconsistent numbers of samples"),
    ({}, np.full((4, 2), np.nan), "NaN"),
    ({}, np.array([[0, 1e200]] * 4), "divide them by a number"),
    ({"objective": "f1"}, np.zeros((4, 2)), "cannot be combined"),
    ({"objective": "balanced-accuracy"}, np.zeros((4, 2)), "cannot be combined"),
    ({"split_penalty": [1.0, 1.0]}, np.zeros((4, 2)), "cannot be combined"),
])
def test_wrong_costs_are_refused(options, costs, message):
    X, y = [[0], [1], [0], [1]], [0, 1, 1, 0]
    with pytest.raises(ValueError, match=message):
        MurTreeClassifier(2, **options).fit(X, y, costs=costs)


def test_other_rows_do_not_verify():
    X, y = [[0], [1], [0], [1]], [0, 1, 1, 0]
    model = MurTreeClassifier(1).fit(X, y, costs=np.eye(4, 2))
    with pytest.raises(ValueError, match="costs of 4 rows"):
        model.report_.verify(X[:3], y[:3])


def test_a_frame_of_costs_names_the_labels_in_their_order():
    """Its columns in another order once gave the tree that is wrong in every row."""
    X, y = [[0], [1]] * 5, ["no", "yes"] * 5
    costs = {"no": [0.0, 1.0] * 5, "yes": [1.0, 0.0] * 5}
    model = MurTreeClassifier(1).fit(X, y, costs=pd.DataFrame(costs))
    assert model.predict(X).tolist() == y
    with pytest.raises(ValueError, match="columns of costs are .'yes', 'no'. and the labels .'no'"):
        model.fit(X, y, costs=pd.DataFrame(costs)[["yes", "no"]])
    other = pd.DataFrame({"cost of no": costs["no"], "cost of yes": costs["yes"]})
    assert model.fit(X, y, costs=other).predict(X).tolist() == y
