"""Penalties by level, the regularisation path, all optimal trees, and a forest."""

import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier

from odtlib import MurTreeClassifier, MurTreeSearch
from tests.murtree.test_search import blobs
from tests.naive import best_tree_cost


def test_optimal_trees_of_a_larger_set():
    X, y = blobs(n_columns=10)
    model = MurTreeClassifier(3, search=MurTreeSearch(minimise_nodes=True)).fit(X, y)
    fewest = model.tree_.n_splits
    found = MurTreeClassifier(3, fewest).optimal_trees(X, y, limit=5)
    assert len(found.trees) == min(5, found.count) and found.complete
    for tree in found.trees:
        assert (tree.predict(X.astype(float)) != y).sum() == model.report_.objective
        assert tree.n_splits == fewest
    labelled = MurTreeClassifier(3, fewest).optimal_trees(X + 0.0, np.array(["a", "b"])[y])
    assert labelled.count == found.count and set(labelled.trees[0].classes) == {"a", "b"}
    with pytest.raises(ValueError, match="at least one tree"):
        MurTreeClassifier(2).optimal_trees(X, y, limit=0)
    cut = MurTreeClassifier(4, time_limit=1e-9).optimal_trees(X, y)
    assert not cut.complete and len(cut.trees) == 1


def test_equal_penalties_are_the_sparse_objective():
    X, y = blobs(n_columns=10)
    for depth, penalty in ((3, 1.5), (4, 4.0)):
        levels = MurTreeClassifier(depth, split_penalty=[penalty] * depth).fit(X, y)
        assert levels.report_.objective == pytest.approx(
            MurTreeClassifier(depth, split_penalty=penalty).fit(X, y).report_.objective)
    short = MurTreeClassifier(4, split_penalty=[1.0] * 4,
                              search=MurTreeSearch(memory_limit=0.0005)).fit(X, y)
    assert short.report_.counters["cache_bytes"] <= 500
    X, y = blobs(n_rows=600, n_columns=70)
    cut = MurTreeClassifier(6, split_penalty=[1.0, 0.5, 2, 1, 1, 1], time_limit=0.05).fit(X, y)
    assert cut.report_.status == "time_limit"
    assert cut.verify(X, y) == pytest.approx(cut.report_.objective)
    for wrong in ([1.0], [1.0, -1.0, 0.0], [[1.0, 2.0, 3.0]]):
        with pytest.raises(ValueError, match="give one number, or one for each of the 3 levels"):
            MurTreeClassifier(3, split_penalty=wrong).fit(X, y)
    for search in MurTreeSearch(lookahead=2), MurTreeSearch(discrepancy_search=True):
        with pytest.raises(ValueError, match="per level cannot be combined with"):
            MurTreeClassifier(3, split_penalty=[1.0] * 3, search=search).fit(X, y)


@pytest.mark.parametrize("seed", range(4))
def test_deep_trees_with_penalties_by_level_equal_brute_force(seed):
    rng = np.random.default_rng(seed)
    for _ in range(12):
        n_rows = int(rng.integers(10, 40))
        X, y = rng.integers(0, 2, (n_rows, 4)).astype(np.uint8), rng.integers(0, 3, n_rows)
        y[:2] = 0, 1
        classes, codes = np.unique(y, return_inverse=True)
        depth, nodes = 4, int(rng.choice([15, 15, 4, 7]))
        penalties = rng.choice([0.0, 0.25, 1.0, 2.0], depth)
        model = MurTreeClassifier(depth, nodes, split_penalty=penalties)
        path = model.path(X, y)
        for budget in (nodes, nodes // 2, 2):
            expected = best_tree_cost(X, codes, np.ones(n_rows), len(classes), depth, budget, 1,
                                      penalties)
            assert path[budget].optimal and path[budget].objective == pytest.approx(expected)
            fit = MurTreeClassifier(depth, budget, split_penalty=penalties, start="cart").fit(X, y)
            assert fit.report_.objective == pytest.approx(expected) == fit.verify(X, y)
    whole = MurTreeClassifier(4, split_penalty=penalties).fit(X, y).report_.objective
    many = MurTreeClassifier(4, split_penalty=50 * penalties)
    many.fit(np.tile(X, (50, 1)), np.tile(y, 50))
    assert many.report_.objective == pytest.approx(50 * whole)


@pytest.mark.parametrize("seed", [0, 30, 36, 44])
def test_a_path_leaves_its_last_tree(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 2, (8, 3)).astype(np.uint8), rng.integers(0, 2, 8)
    y[:2] = 0, 1
    for options in {"objective": "balanced-accuracy"}, {"split_penalty": [0.1, 0]}:
        model = MurTreeClassifier(2, **options)
        last = model.path(X, y, rng.random(8))[-1]
        assert model.tree_ is model.report_.tree is last.tree


@pytest.mark.parametrize("n_classes", [2, 3])
def test_regularisation_path_agrees_with_separate_runs(n_classes):
    X, y = blobs(n_classes=n_classes, n_columns=9)
    path = MurTreeClassifier(3).regularisation_path(X, y)
    assert path[0].high == np.inf and path[0].n_splits == 0 and path[-1].low == 0.0
    assert [a.low for a in path[:-1]] == [b.high for b in path[1:]]
    for entry in path:
        assert entry.optimal and entry.low < entry.high
        assert (entry.tree.predict(X.astype(float)) != y).sum() == entry.errors
        middle = min(entry.high, entry.low + 2.0) / 2 + entry.low / 2
        for split_penalty in (entry.low, middle, min(entry.high, 1e6)):
            single = MurTreeClassifier(3, split_penalty=split_penalty).fit(X, y)
            assert single.report_.objective == pytest.approx(
                entry.errors + split_penalty * entry.n_splits)
    with pytest.raises(ValueError, match="leave split_penalty at 0"):
        MurTreeClassifier(3, split_penalty=1.0).regularisation_path(X, y)


def test_a_bagged_forest_of_optimal_trees():
    X, y = blobs(n_rows=200, n_columns=12)
    forest = BaggingClassifier(MurTreeClassifier(3), n_estimators=8, max_features=0.7,
                               random_state=0).fit(X, y)
    assert forest.predict_proba(X).shape == (200, 2)
    assert all(tree.report_.status == "optimal" for tree in forest.estimators_)
    assert forest.score(X, y) > max(np.mean(y), 1 - np.mean(y))
