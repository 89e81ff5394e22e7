"""Each program against all trees: weights, prices, limits on nodes and leaves, both solvers."""

import numpy as np
import pytest
from formulations.reference import check, instance
from naive import best_tree_cost, cuts, tree_cost
from scale import instances

from odtbook.formulations import BinOCTClassifier, FlowOCTClassifier, OCTClassifier
from odtbook.formulations.binoct_model import FORMS
from odtbook.formulations.flow import FlowModel
from odtbook.formulations.oct import OCTModel
from odtlib import ContinuousTreeClassifier, MurTreeClassifier

KINDS = {"flow": (FlowOCTClassifier, {}),
         **{f"oct {form}": (OCTClassifier, {"constraint_form": form})
            for form in ("per_node", "per_leaf")},
         **{f"binoct {form}": (BinOCTClassifier, {"constraint_form": form}) for form in FORMS}}


@pytest.mark.parametrize("solver", ["highs", "cp-sat"])
@pytest.mark.parametrize("name", KINDS)
def test_the_optimum_is_that_of_all_trees(name, solver):
    kind, options = KINDS[name]
    random = np.random.default_rng(list(KINDS).index(name))
    small = kind is BinOCTClassifier
    for number in range(instances(60 if small or solver == "cp-sat" else 200)):
        depth = 1 + number % 2
        X, y = instance(random, int(random.integers(2, 14 - 3 * depth)),
                        int(random.integers(1, 5 - small * depth)), int(random.integers(2, 4)),
                        int(random.integers(2, 6)))
        if name == "flow":
            X = (X == X.min(axis=0)).astype(float)
        weight = np.ones(len(y)) if random.random() < 0.5 else \
            random.integers(1, 4, len(y)) / random.choice([1, 2])
        weight[2:] *= random.random(len(y) - 2) > random.choice([0.0, 0.0, 0.3])
        share = random.choice([0.0, 0.0, 0.0, 0.05, 0.1, 0.25, 0.5, 1.0])
        price = float(share * (weight.sum() - np.bincount(y, weight).max()))
        nodes, min_leaf = random.choice([None, None, 0, 1, 2, 3]), int(random.choice([1, 1, 2, 3]))
        limit = {} if nodes is None else {"max_nodes": nodes} if random.random() < 0.5 else \
            {"max_leaf_nodes": nodes + 1}
        model = kind(depth, solver=solver, split_penalty=price, min_samples_leaf=min_leaf,
                     start=None if number % 3 else "cart", **limit, **options)
        report, used = check(model, X, y, weight), weight > 0
        best = best_tree_cost(cuts(X[used]), y[used], weight[used], y.max() + 1, depth, nodes,
                              min_leaf, price)
        assert report.status == "optimal" and report.lower_bound == report.objective
        assert report.objective == pytest.approx(best, abs=1e-5 if price and not small else 1e-9)
        assert nodes is None or model.tree_.n_splits <= nodes


@pytest.mark.parametrize("solver", ["highs", "cp-sat"])
@pytest.mark.parametrize("name", KINDS)
def test_depth_three_agrees_with_the_exact_solver(name, solver):
    kind, options = KINDS[name]
    random = np.random.default_rng(10 + list(KINDS).index(name))
    for _ in range(4):
        X, y = instance(random, 7, 2, 3, 3)
        if name == "flow":
            X, y = random.integers(0, 2, (12, 4)).astype(float), random.integers(0, 2, 12)
        exact = ContinuousTreeClassifier(3).fit(X, y).report_.objective
        report = check(kind(3, solver=solver, **options), X, y)
        assert report.status == "optimal" and report.objective == report.lower_bound == exact


@pytest.mark.parametrize("kind", [OCTModel, FlowModel])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_every_tree_is_a_solution_and_is_read_back(kind, depth):
    random = np.random.default_rng(depth)
    for _ in range(30):
        X, y = instance(random, int(random.integers(2, 11)), int(random.integers(1, 5)),
                        int(random.integers(2, 4)))
        if kind is FlowModel:
            X = (X == X.min(axis=0)).astype(float)
        weight = random.integers(1, 4, len(y)).astype(float)
        tree = MurTreeClassifier(int(random.integers(0, depth + 1)), binarizer="all").fit(
            X, y, weight).tree_
        model = kind(X, y, y.max() + 1, weight, depth)
        values = model.start(tree)
        assert model.model.violated(values) is None
        assert model.model.evaluate(values) == pytest.approx(tree_cost(tree, X, y, weight))
        np.testing.assert_array_equal(model.tree(values).predict(X), tree.predict(X))
