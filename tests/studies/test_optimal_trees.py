"""The range of testing accuracy over optimal trees, against all trees and classes of leaves."""

import itertools

import numpy as np
import pytest

from odtbook.studies.optimal_trees import testing_range as range_of
from odtlib.column_generation import optimum
from odtlib.column_generation.paths import RestrictedProblem


def leaves_of(problem, choices, X):
    """The leaf of each row, by walking down the full tree."""
    found = []
    for row in X:
        node = 0
        while node < problem.n_nodes:
            feature, threshold = problem.splits[node][choices[node]]
            node = 2 * node + (1 if row[feature] <= threshold else 2)
        found.append(node - problem.n_nodes)
    return np.array(found)


@pytest.mark.parametrize("seed", range(40))
def test_the_range_equals_that_of_all_optimal_trees(seed):
    random = np.random.RandomState(seed)
    n_classes = 2 + seed % 2
    X, X_test = random.randint(0, 3, (9, 3)).astype(float), random.randint(0, 3, (7, 3)) * 1.0
    y, y_test = random.randint(0, n_classes, 9), random.randint(0, n_classes, 7)
    splits = [[(int(random.randint(3)), 0.5 + random.randint(2)) for _ in range(3)]
              for _ in range(3)]
    weight = random.randint(1, 4, 9) if seed % 4 == 3 else np.ones(9)
    problem = RestrictedProblem(X, y, n_classes, splits, weight)
    accuracies, best = [], weight.sum()
    for choices in itertools.product(*(range(len(node)) for node in splits)):
        leaf, leaf_test = (leaves_of(problem, choices, rows) for rows in (X, X_test))
        for label in itertools.product(range(n_classes), repeat=4):
            errors = weight[np.array(label)[leaf] != y].sum()
            if errors < best:
                accuracies, best = [], errors
            if errors == best:
                accuracies.append(np.mean(np.array(label)[leaf_test] == y_test))
    assert best == optimum(problem)
    assert range_of(problem, X_test, y_test) == pytest.approx((min(accuracies), max(accuracies)))


def test_a_problem_with_limits_is_refused():
    X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    problem = RestrictedProblem(X, y, 2, [[(0, 0.5)]], split_penalty=0.5)
    with pytest.raises(ValueError, match="limits its trees"):
        range_of(problem, X, y)
