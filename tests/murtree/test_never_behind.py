"""Under a time limit no answer is behind that of a quick method for the same question."""

import numpy as np
import pytest
from sklearn.metrics import f1_score
from sklearn.tree import DecisionTreeClassifier

from odtlib import MurTreeClassifier
from odtlib.murtree import run as module


def table(seed, n=400, columns=30):
    random = np.random.default_rng(seed)
    X = random.integers(0, 2, (n, columns))
    score = X[:, :6] @ random.normal(size=6) + (X[:, 6] ^ X[:, 7]) * 1.5
    return X, (score + random.normal(scale=0.5, size=n) > np.quantile(score, 0.75)).astype(int)


def budget_of_cart(X, y, depth, nodes, **options):
    tree = DecisionTreeClassifier(max_depth=depth, max_leaf_nodes=nodes + 1, random_state=0,
                                  **options).fit(X, y)
    return np.count_nonzero(tree.predict(X) != y)


@pytest.mark.parametrize("limit", [1e-9, 0.3])
@pytest.mark.parametrize("options", [{}, {"min_samples_leaf": 6}])
@pytest.mark.parametrize(("depth", "nodes"), [(6, 12), (8, 25)])
def test_a_node_budget_is_not_behind_best_first_cart(depth, nodes, options, limit):
    for seed in range(3):
        X, y = table(seed)
        model = MurTreeClassifier(depth, nodes, time_limit=limit, **options).fit(X, y)
        assert model.report_.objective <= budget_of_cart(X, y, depth, nodes, **options)
        assert model.verify(X, y) == model.report_.objective
        assert model.tree_.n_splits <= nodes and model.tree_.depth <= depth


def test_a_search_under_a_node_budget_looks_ahead_and_cuts_back(monkeypatch):
    real, asked = module.Run.solver_of, []
    monkeypatch.setattr(module, "TURNS", (0.0, 0.0))
    monkeypatch.setattr(module.Run, "solver_of", lambda self, depth, nodes: (
        asked.append((depth, nodes)) or real(self, depth, nodes)))
    X, y = table(3)
    model = MurTreeClassifier(7, 20, time_limit=1.0).fit(X, y)
    assert asked[:2] == [(7, 20), (2, 3)]
    assert model.report_.objective <= budget_of_cart(X, y, 7, 20)
    assert model.tree_.n_splits <= 20


def test_without_a_limit_a_budget_is_searched_as_before():
    X, y = table(4, 60, 8)
    free = MurTreeClassifier(4, 6).fit(X, y)
    limited = MurTreeClassifier(4, 6, time_limit=600).fit(X, y)
    assert free.report_.status == limited.report_.status == "optimal"
    assert free.report_.objective == limited.report_.objective


def test_f1_begins_with_the_tree_of_the_errors(monkeypatch):
    real, asked = module.Run.search, []

    def stopped(self):
        """Let the first search finish, and no other begin."""
        asked.append(self.sample_weight)
        if len(asked) > 1:
            self.clock.time_limit = 1e-9
        real(self)

    monkeypatch.setattr(module.Run, "search", stopped)
    X, y = table(5, 150, 12)
    errors = MurTreeClassifier(4).fit(X, y)
    asked.clear()
    model = MurTreeClassifier(4, objective="f1", time_limit=600).fit(X, y)
    assert asked[0] is None and len(asked) > 1
    assert model.report_.objective <= 1 - f1_score(y, errors.predict(X)) + 1e-12
    assert model.report_.objective == pytest.approx(1 - f1_score(y, model.predict(X)))


@pytest.mark.parametrize("weighted", [False, True])
def test_a_limit_that_is_not_reached_changes_no_f1(weighted):
    X, y = table(6, 80, 9)
    weight = np.random.default_rng(6).integers(1, 4, len(y)) if weighted else None
    for depth in (2, 3, 4):
        free = MurTreeClassifier(depth, objective="f1").fit(X, y, weight)
        limited = MurTreeClassifier(depth, objective="f1", time_limit=600).fit(X, y, weight)
        assert free.report_.objective == limited.report_.objective
        assert free.report_.status == limited.report_.status == "optimal"
