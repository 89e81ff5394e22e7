"""Splits that have a price: the bounds that it gives, against all trees."""

import numpy as np
import pytest
from naive import best_cost, best_tree_cost

from odtlib import MurTreeClassifier, MurTreeRegressor, MurTreeSearch

# What is left out, so that a fault in one bound is not hidden by another.
SEARCHES = ({}, {"specialised_depth_two": False}, {"similarity_bound": False},
            {"merge_columns": False, "merge_rows": False}, {"cache": "branch"},
            {"feature_order": "in-order"}, {"n_exact_children": 0})


def drawn(seed, most_rows=60, most_columns=8):
    random = np.random.default_rng(seed)
    shape = random.integers(8, most_rows), random.integers(3, most_columns + 1)
    X = (random.random(shape) < random.uniform(0.2, 0.6)).astype(np.uint8)
    return random, X


def test_a_node_that_cannot_pay_is_not_bounded_by_its_small_trees_alone():
    rows = ["0000 1", "0000 0", "0000 1", "0000 0", "0000 1", "0100 0", "1100 1", "1100 1",
            "0010 0", "0010 0", "0010 0", "1010 1", "0001 0", "0001 0", "0101 0", "1101 0"]
    X, y = (np.array([[int(cell) for cell in row.split()[part]] for row in rows])
            for part in range(2))
    search = MurTreeSearch(specialised_depth_two=False)
    report = MurTreeClassifier(4, split_penalty=0.3, search=search).fit(X, y.ravel()).report_
    assert report.objective == pytest.approx(2 + 4 * 0.3)


@pytest.mark.parametrize("seed", range(60))
def test_errors_and_a_price_are_those_of_all_trees(seed):
    random, X = drawn(seed)
    n_classes = int(random.integers(2, 4))
    y = random.choice(n_classes, len(X), p=[0.5, *[0.5 / (n_classes - 1)] * (n_classes - 1)])
    y[:n_classes] = range(n_classes)
    weight = (np.ones(len(X)), random.integers(1, 5, len(X)), random.uniform(0.1, 2, len(X)))[
        random.integers(3)].astype(float)
    depth, min_leaf = int(random.integers(2, 6)), int(random.choice([1, 1, 3]))
    nodes = int(random.integers(1, 8)) if random.random() < 0.3 else None
    price = float(random.choice([0.1, 0.168, 0.3, 0.5, 1.0, 2.5]))
    least = best_tree_cost(X, y, weight, n_classes, depth, nodes, min_leaf, price)
    for options in SEARCHES if nodes is None else SEARCHES[:4]:
        if options.get("cache") and len(X) > 30:
            continue
        model = MurTreeClassifier(depth, nodes, split_penalty=price, min_samples_leaf=min_leaf,
                                  search=MurTreeSearch(**options)).fit(X, y, weight)
        assert model.report_.status == "optimal"
        assert model.report_.objective == pytest.approx(least), options


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "poisson"])
def test_losses_and_a_price_are_those_of_all_trees(loss, seed):
    random, X = drawn(1000 + seed, 40, 6)
    y = np.maximum(0, random.integers(0, 4, len(X)) * (1 + X[:, 0]) + X[:, 1]).astype(float)

    def cost(rows):
        part = y[rows]
        if loss == "squared_error":
            return float(((part - part.mean()) ** 2).sum())
        if loss == "absolute_error":
            return float(np.abs(part - np.median(part)).sum())
        logs = part[part > 0]
        return float((logs * np.log(logs / part.mean())).sum()) if len(logs) else 0.0

    depth, price = int(random.integers(2, 5)), float(random.choice([0.1, 0.3, 1.0, 4.0]))
    model = MurTreeRegressor(depth, loss=loss, split_penalty=price).fit(X, y)
    least = best_cost(X, cost, depth, penalty=price)
    assert model.report_.status == "optimal"
    assert model.report_.objective == pytest.approx(least, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("n_columns", [0, 1, 2, 3])
@pytest.mark.parametrize("merge_rows", [True, False])
def test_any_depth_over_few_columns(n_columns, merge_rows):
    y = np.array([0, 0, 0, 1, 0, 1, 1, 0])
    X = np.arange(8)[:, None] >> np.arange(3) & 1
    X[:, n_columns:] = 0                # the search sees columns that differ
    weight = 1.5 * np.arange(1, 9)
    search = MurTreeSearch(merge_rows=merge_rows)
    model = MurTreeClassifier(None, split_penalty=0.1, search=search).fit(X, y, weight)
    assert model.report_.objective == pytest.approx(
        best_tree_cost(X, y, weight, 2, 3, penalty=0.1))
