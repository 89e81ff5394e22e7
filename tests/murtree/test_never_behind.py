"""Under a time limit no answer is behind that of a quick method for the same question."""

import numpy as np
import pytest
from sklearn.metrics import f1_score
from sklearn.tree import DecisionTreeClassifier

from odtlib import MurTreeClassifier, MurTreeSearch
from odtlib.murtree import run as module
from odtlib.murtree.extensions import fronts
from odtlib.report import Clock


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


def stop(self, *_):
    """Let nothing more be found."""
    self.clock.time_limit = 1e-9


def test_f1_begins_with_the_trees_of_the_errors(monkeypatch):
    real = module.Run.search
    X, y = table(5, 150, 12)
    errors = MurTreeClassifier(4).fit(X, y)
    monkeypatch.setattr(module.Run, "search", lambda self: (stop(self), real(self)))
    model = MurTreeClassifier(4, objective="f1", time_limit=600).fit(X, y)
    assert model.report_.status == "time_limit"
    assert model.report_.objective <= 1 - f1_score(y, errors.predict(X)) + 1e-12
    assert model.report_.objective == pytest.approx(1 - f1_score(y, model.predict(X)))


@pytest.mark.parametrize("depth, nodes", [(5, None), (6, 25)])
@pytest.mark.parametrize("objective", ["balanced-accuracy", "costs"])
def test_a_hopeless_search_of_weighted_rows_begins_with_the_trees_of_the_errors(
        monkeypatch, objective, depth, nodes):
    X, y = table(9, 300, 14)
    costs = np.zeros((len(y), 2))
    costs[np.arange(len(y)), 1 - y] = np.random.default_rng(7).integers(1, 30, len(y))
    options, data = ({}, {"costs": costs}) if objective == "costs" else (
        {"objective": objective}, {})
    ahead, explore = module.Run.try_lookahead, module.Run.explore

    def only_for_errors(look):
        return lambda self, share: (look if self.rows.errors is None else stop)(self, share)

    monkeypatch.setattr(module, "HOPELESS", -1)
    monkeypatch.setattr(module.Run, "explore", only_for_errors(explore))
    monkeypatch.setattr(module.Run, "try_lookahead", stop)
    without = MurTreeClassifier(depth, nodes, time_limit=600, **options).fit(X, y, **data)
    monkeypatch.setattr(module.Run, "try_lookahead", only_for_errors(ahead))
    model = MurTreeClassifier(depth, nodes, time_limit=600, **options).fit(X, y, **data)
    assert model.report_.objective < without.report_.objective
    assert model.verify(X, y) == pytest.approx(model.report_.objective)
    if nodes is None:
        errors = MurTreeClassifier(depth, search=MurTreeSearch(lookahead=4)).fit(X, y)
        code = errors.predict(X)
        judged = costs[np.arange(len(y)), code].sum() if data else 1 - np.mean(
            [(code[y == k] == k).mean() for k in range(2)])
        assert model.report_.objective <= judged + 1e-12


@pytest.mark.parametrize("n_groups", [2, 3])
def test_a_fair_tree_begins_with_the_trees_of_the_errors(monkeypatch, n_groups):
    X, y = table(8, 300, 14)
    group = (X[:, 0] + X[:, 1]) % n_groups
    limits = {"max_disparity": 0.05, "time_limit": 600}
    monkeypatch.setattr(module, "HOPELESS", -1)
    monkeypatch.setattr(fronts.FairRun, "solve",
                        lambda self, depth, nodes: (stop(self), self.clock.check()))
    model = MurTreeClassifier(6, **limits).fit(X, y, protected=group)
    shares = [model.predict(X)[group == k].mean() for k in range(n_groups)]
    assert np.ptp(shares) <= 0.05 + 1e-9
    assert model.report_.objective == np.count_nonzero(model.predict(X) != y) < y.sum() / 2


def test_labels_become_fair_at_little_cost():
    X, y = table(9, 200, 9)
    group, counts = X[:, 0], MurTreeClassifier(4).fit(X, y)
    run = fronts.FairRun(MurTreeClassifier(4, max_disparity=0.1).fit(X, y, protected=group),
                         X, y, None, Clock(), "max_disparity", group)
    tree = run.with_fair_labels(counts.tree_)
    assert run.disparity(run.measured(tree)[1]) <= 0.1 + 1e-9
    assert run.judge(tree) < np.inf
    fair = run.with_fair_labels(tree)
    assert fair.to_nested() == tree.to_nested()


@pytest.mark.parametrize("weighted", [False, True])
def test_a_limit_that_is_not_reached_changes_no_f1(weighted):
    X, y = table(6, 80, 9)
    weight = np.random.default_rng(6).integers(1, 4, len(y)) if weighted else None
    for depth in (2, 3, 4):
        free = MurTreeClassifier(depth, objective="f1").fit(X, y, weight)
        limited = MurTreeClassifier(depth, objective="f1", time_limit=600).fit(X, y, weight)
        assert free.report_.objective == limited.report_.objective
        assert free.report_.status == limited.report_.status == "optimal"


@pytest.mark.parametrize("limit", [1e-6, 0.2])
@pytest.mark.parametrize("options", [{"objective": "f1"}, {"max_disparity": 0.2},
                                     {"objective": "balanced-accuracy"}])
def test_trees_that_are_heard_on_the_way_keep_the_node_budget(options, limit):
    """A larger one was once the answer, and called optimal."""
    random = np.random.default_rng(0)
    X = random.integers(0, 2, (400, 30))
    y = (X[:, :5].sum(axis=1) + (X[:, 5] & X[:, 6])) % 2
    given = {"protected": X[:, 7]} if "max_disparity" in options else {}
    model = MurTreeClassifier(5, 6, time_limit=limit, **options).fit(X, y, **given)
    assert model.tree_.n_splits <= 6
