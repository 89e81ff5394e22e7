"""CARTClassifier hands its parameters to scikit-learn's tree, and grows what that grows."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from odtlib import CARTClassifier

OPTIONS = [
    {"criterion": "log_loss"}, {"max_features": 2}, {"max_features": "sqrt"}, {"max_features": 0.7},
    {"max_leaf_nodes": 5}, {"max_leaf_nodes": 2}, {"min_impurity_decrease": 0.02},
    {"min_samples_split": 1.0}, {"min_weight_fraction_leaf": 0.1},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("seed", range(5))
def test_the_tree_is_the_one_of_scikit_learn(seed, options):
    rng = np.random.default_rng(seed)
    X = rng.integers(-40, 40, (150, 4)) / 8.0
    y = (X[:, 0] + X[:, 1] - X[:, 2] + rng.normal(size=150) > 0).astype(int)
    weight = rng.integers(1, 4, 150).astype(float)
    ours = CARTClassifier(4, random_state=1, **options).fit(X, y, weight)
    theirs = DecisionTreeClassifier(max_depth=4, random_state=1, **options).fit(X, y, weight)
    assert ours.tree_.node_count == theirs.tree_.node_count > 1
    assert np.array_equal(ours.predict_proba(X), theirs.predict_proba(X))
    again = CARTClassifier(4, random_state=1, **options).cost_complexity_pruning_path(X, y, weight)
    path = theirs.cost_complexity_pruning_path(X, y, weight)
    np.testing.assert_allclose(again.ccp_alphas, path.ccp_alphas, atol=1e-12)


def test_random_thresholds_differ_by_seed_and_not_within_it():
    X = np.random.default_rng(0).normal(size=(200, 5))
    y = (X.sum(axis=1) > 0).astype(int)
    trees = [CARTClassifier(3, splitter="random", random_state=seed).fit(X, y).tree_
             for seed in (0, 0, 1)]
    assert trees[0] == trees[1] != trees[2]


def test_a_budget_of_one_leaf_and_wrong_words():
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 0]
    assert CARTClassifier(max_leaf_nodes=1).fit(X, y).get_n_leaves() == 1
    for wrong in ({"splitter": "worst"}, {"max_features": 0}, {"min_samples_split": 1},
                  {"min_impurity_decrease": -1.0}, {"criterion": "squared_error"}):
        with pytest.raises(ValueError, match=f"'{next(iter(wrong))}' parameter"):
            CARTClassifier(**wrong).fit(X, y)
    path = CARTClassifier(None).cost_complexity_pruning_path([[0.0], [np.nan], [2.0]], y)
    assert path.ccp_alphas[0] == 0
    for model in CARTClassifier(0), CARTClassifier(max_leaf_nodes=1):
        path = model.cost_complexity_pruning_path(X, y)
        assert path.ccp_alphas.tolist() == [0] and path.impurities == pytest.approx([4 / 9])
