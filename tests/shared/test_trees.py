"""What several solvers do with trees: budgets, hulls, empty splits."""

from itertools import product

import numpy as np
import pytest

from odtlib import CARTClassifier, DecisionTree
from odtlib.estimator import TreeClassifier
from odtlib.report import default_objective
from odtlib.trees import (
    build,
    class_weights,
    classifier_of,
    cut_back,
    lower_hull,
    plan_of,
    separating_threshold,
)


def subtrees(tree, node=0):
    """Yield (splits, errors) of every subtree with the same root."""
    value = tree.value[node]
    yield 0, value.sum() - value.max()
    if tree.feature[node] >= 0:
        for (n, a), (m, b) in product(subtrees(tree, tree.left[node]),
                                      list(subtrees(tree, tree.right[node]))):
            yield n + m + 1, a + b


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("split_penalty", [0.0, 1.5])
def test_cut_back_is_best_for_every_budget(seed, split_penalty):
    random = np.random.default_rng(seed)
    X, y = random.integers(0, 6, (40, 3)).astype(float), random.integers(0, 3, 40)
    tree = CARTClassifier(max_depth=3, random_state=seed).fit(X, y).tree_
    for budget in range(tree.n_splits + 2):
        small = cut_back(tree, budget, split_penalty)
        expected = min((errors + split_penalty * n, n)
                       for n, errors in subtrees(tree) if n <= budget)
        found = default_objective(small, X, y, split_penalty=split_penalty)
        assert (found, small.n_splits) == pytest.approx(expected)
        assert np.array_equal(small.with_counts(X, y).value, small.value)


def test_cut_back_with_costs_of_its_own_keeps_the_labels():
    tree = DecisionTree.from_nested((0, 0.5, [3.0, 1.0], [1.0, 4.0])).replace(label=[0, 0, 1])
    small = cut_back(tree, 0, cost=np.array([5.0, 1.0, 1.0]))
    assert small.to_nested() == 0
    assert cut_back(tree, 0).to_nested() == 1


def test_lower_hull_is_what_some_penalty_chooses():
    random = np.random.default_rng(0)
    for _ in range(50):
        costs = random.integers(0, 30, 8)
        points = list(enumerate(np.sort(costs)[::-1].tolist()))
        hull = lower_hull(points)
        for penalty in np.arange(0.01, 40, 0.37):
            assert (min(points[k][1] + penalty * points[k][0] for k in hull)
                    == min(cost + penalty * n for n, cost in points))
        chosen = {min(range(8), key=lambda k: (points[k][1] + penalty * k, k))
                  for penalty in np.arange(0.001, 40, 0.00917)}
        assert chosen <= set(hull)
    assert lower_hull([(0, 5.0), (2, 4.0), (2, 3.0), (3, 3.0)]) == [0, 2]


def test_build_gives_preorder_and_the_rows_of_each_node():
    X, y = np.array([[0.0], [1.0], [4.0], [9.0]]), np.array([0, 1, 1, 0])

    def split(depth, rows):
        if depth == 2 or len(rows) < 2:
            return None
        goes_left = X[rows, 0] < np.median(X[rows, 0])
        return 0, separating_threshold(X[rows, 0], goes_left), goes_left, depth + 1, depth + 1

    *table, members = build(0, 4, split)
    tree = DecisionTree(*table, class_weights(members, y, 2))
    assert tree.threshold[tree.feature >= 0].tolist() == [2.5, 0.5, 6.5]
    assert [rows.tolist() for rows in members] == [[0, 1, 2, 3], [0, 1], [0], [1], [2, 3], [2], [3]]
    assert tree.with_counts(X, y) == tree


def test_empty_splits_are_dropped():
    X = np.array([[0.0], [1.0], [2.0]])
    tree = DecisionTree.from_nested((0, 5.0, (0, -1.0, 0, (0, 0.5, 0, 1)), 1))
    assert classifier_of(plan_of(tree), X, np.array([0, 1, 1]), 2).to_nested() == (0, 0.5, 0, 1)
    whole = DecisionTree.from_nested((0, 0.5, 0, (0, 1.5, 1, 0)))
    again = classifier_of(plan_of(whole), X, np.array([0, 1, 0]), 2)
    assert again.to_nested() == whole.to_nested()


class Limited(TreeClassifier):
    """Have the parameters that limit the number of nodes."""

    def __init__(self, max_depth=3, max_nodes=None, max_leaf_nodes=None):
        self.max_depth = max_depth
        self.max_nodes = max_nodes
        self.max_leaf_nodes = max_leaf_nodes


@pytest.mark.parametrize(("limits", "n_rows", "budget"), [
    ({}, 100, 7), ({}, 8, 7), ({}, 5, 4), ({}, 1, 0), ({"max_depth": 0}, 9, 0),
    ({"max_depth": 10**6}, 100, 99), ({"max_nodes": 4}, 100, 4), ({"max_nodes": 0}, 100, 0),
    ({"max_leaf_nodes": 4}, 100, 3), ({"max_leaf_nodes": 1}, 100, 0),
    ({"max_nodes": 2, "max_leaf_nodes": 6}, 100, 2), ({"max_nodes": 50}, 100, 7),
])
def test_node_budget(limits, n_rows, budget):
    assert Limited(**limits)._node_budget(n_rows) == budget
