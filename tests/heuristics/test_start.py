"""Starting trees."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from odtlib import (
    CARTClassifier,
    ContinuousTreeClassifier,
    ContinuousTreeRegressor,
    DecisionTree,
    MurTreeClassifier,
    MurTreeRegressor,
)
from odtlib.heuristics.start import starting_tree

X, Y = load_iris(return_X_y=True)


def errors(tree):
    return np.count_nonzero(tree.predict_codes(X) != Y)


def test_none_starts_from_nothing():
    assert starting_tree(None, X, Y, 3) is None


@pytest.mark.parametrize("depth, min_leaf", [(0, 1), (2, 1), (3, 8)])
def test_cart_and_local_search(depth, min_leaf):
    options = dict(max_depth=depth, min_samples_leaf=min_leaf, random_state=0)
    cart = starting_tree("cart", X, Y, 3, **options)
    searched = starting_tree("local-search", X, Y, 3, **options)
    reference = CARTClassifier(random_state=np.random.RandomState(0), max_depth=depth,
                               min_samples_leaf=min_leaf).fit(X, Y)
    assert errors(cart) == reference.report_.objective >= errors(searched)
    for tree in (cart, searched):
        assert tree.depth <= depth and tree.n_features == 4
        assert np.unique(tree.apply(X), return_counts=True)[1].min() >= min_leaf
        assert tree.value[0].tolist() == [50, 50, 50]


def test_weights_are_used():
    weight = np.where(Y == 2, 1e-3, 1.0)
    tree = starting_tree("cart", X, Y, 3, sample_weight=weight, max_depth=1, random_state=0)
    assert tree.value[0] == pytest.approx([50, 50, 0.05]) and errors(tree) == 50


@pytest.mark.parametrize("start", ["cart", "local-search", DecisionTree.from_nested(0)])
def test_without_features_a_start_is_one_leaf(start):
    tree = starting_tree(start, np.empty((5, 0)), np.array([0, 1, 1, 0, 1]), 2, random_state=0)
    assert tree.n_nodes == 1 and tree.label[0] == 1 and tree.value[0].tolist() == [2, 3]


def test_a_given_tree_is_relabelled_and_cleaned():
    given = DecisionTree.from_nested((2, 2.45, 2, (2, 2.0, 0, (3, 1.75, 0, (0, 99.0, 1, 1)))))
    tree = starting_tree(given, X, Y, 3, max_depth=2)
    assert tree.to_nested() == (2, 2.45, 0, (3, 1.75, 1, 2))
    assert tree.n_features == 4 and errors(tree) == 6
    fitted = CARTClassifier(2, random_state=0).fit(X, np.array(["a", "b", "c"])[Y]).tree_
    again = starting_tree(fitted, X, Y, 3, max_depth=2)
    assert again.classes.tolist() == [0, 1, 2] and errors(again) == 6


@pytest.mark.parametrize("start, options, message", [
    ("best", {}, "use None, 'cart', 'local-search' or a DecisionTree"),
    (3, {}, "use None, 'cart', 'local-search' or a DecisionTree"),
    ((0, 1.0, 0, (1, 3.0, 0, 1)), {}, "shallower tree or raise max_depth"),
    ((7, 1.0, 0, 1), {}, "over 8 features and X has 4"),
    ((2, 2.45, 0, 1), {"min_samples_leaf": 60}, "larger leaves"),
])
def test_what_cannot_be_a_start_is_refused(start, options, message):
    if isinstance(start, tuple):
        if start[0] == 0:   # two levels that both divide the rows
            start = (2, 2.45, 0, (3, 1.75, 1, 2))
        start = DecisionTree.from_nested(start)
    with pytest.raises(ValueError, match=message):
        starting_tree(start, X, Y, 3, **{"max_depth": 1, **options})


@pytest.mark.parametrize("kind", [MurTreeClassifier, MurTreeRegressor, ContinuousTreeClassifier,
                                  ContinuousTreeRegressor])
def test_what_a_fit_of_too_few_rows_returns_is_a_start(kind):
    x, y = [[0, 1], [1, 0], [1, 1]], [0, 1, 1]
    first = kind(min_samples_leaf=5).fit(x, y)
    again = kind(min_samples_leaf=5, start=first.tree_).fit(x, y)
    assert first.tree_.n_nodes == again.tree_.n_nodes == 1
    assert again.report_.objective == first.report_.objective > 0


def test_trees_of_another_kind_or_other_columns_are_refused():
    regression = DecisionTree.from_nested((0, 5.0, [1.0], [2.0]), kind="regression")
    with pytest.raises(ValueError, match="give a classification tree"):
        starting_tree(regression, X, Y, 3)
    other = DecisionTree.from_nested((0, 5.0, 0, 1), feature_names=["a", "b"])
    with pytest.raises(ValueError, match="fitted on the same columns"):
        starting_tree(other, X, Y, 3)
