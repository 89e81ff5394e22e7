"""A limit never enlarges the space: each option, added, never gives a better objective."""

import numpy as np
import pytest
from certificates.test_candidates import optimum

from odtlib import ColumnGenerationClassifier, RestrictedTreeClassifier
from odtlib.column_generation import ColumnGenerationSearch, TreeLimits

LIMITS = {"min_samples_leaf": 2, "split_penalty": 0.5, "max_leaf_nodes": 3, "max_nodes": 4,
          "max_depth": 1}
OVER_THE_TREE = {"max_feature_cost": 2, "min_recall": {0: 0.7}, "min_precision": {0: 0.7},
                 "max_disparity": 0.3}
PROVED = {"search": ColumnGenerationSearch(integer="branch-and-price")}


def draw(seed):
    """Draw rows of two classes and candidates at each node, some of which divide no rows."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 16))
    X, y = rng.integers(0, 4, (n, 3)).astype(float), np.arange(n) % 2
    depth = 2 + seed % 2
    return X, y, [[(int(rng.integers(3)), float(rng.integers(-1, 4) + 0.5))
                   for _ in range(rng.integers(1, 4))] for _ in range(2**depth - 1)]


@pytest.mark.parametrize("limit", [*LIMITS, *OVER_THE_TREE])
def test_column_generation_with_a_limit_is_never_better(limit):
    for seed in range(12):
        X, y, splits = draw(seed)
        free = ColumnGenerationClassifier(None, splits=splits, **PROVED).fit(X, y).report_
        assert free.objective == optimum(X, y, None, splits)
        groups = {"protected": np.arange(len(y)) % 3 > 0} if limit == "max_disparity" else {}
        more = {limit: LIMITS[limit]} if limit in LIMITS else {
            "limits": TreeLimits(**{limit: OVER_THE_TREE[limit]})}
        if limit == "max_depth":
            more["splits"] = splits[:1]
        held = ColumnGenerationClassifier(**{"max_depth": None, "splits": splits, **PROVED, **more})
        try:
            objective = held.fit(X, y, **groups).report_.objective
        except ValueError as error:         # no tree keeps it
            assert "no tree of these candidate splits has" in str(error)
            continue
        assert objective >= free.objective
        if limit in LIMITS and limit != "max_depth":
            name, value = ("max_leaf_nodes", 5) if limit == "max_nodes" else (limit, more[limit])
            assert objective == optimum(X, y, None, splits, **{name: value})


@pytest.mark.parametrize("distinct", [False, True])
@pytest.mark.parametrize("limit", LIMITS)
def test_the_dynamic_program_with_a_limit_is_never_better(limit, distinct):
    for seed in range(25):
        X, y, splits = draw(seed)
        some = {"max_depth": None, "splits": splits, "distinct_splits": distinct}
        free = RestrictedTreeClassifier(**some).fit(X, y).report_.objective
        more = {limit: LIMITS[limit], **({"splits": splits[:1]} if limit == "max_depth" else {})}
        assert RestrictedTreeClassifier(**{**some, **more}).fit(X, y).report_.objective >= free
        assert free >= optimum(X, y, None, splits)


def test_a_split_with_an_infinite_threshold_divides_nothing_and_is_left_out():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1, 1, 0, 0])
    for limit in ({}, {"min_samples_leaf": 2}, {"max_leaf_nodes": 2}, {"distinct_splits": True}):
        for threshold, child in ((np.inf, 1), (-np.inf, 2)):
            splits = [[(0, 0.5)]] * 3
            splits[0], splits[child] = [(0, threshold)], [(0, 1.5)]
            tree = RestrictedTreeClassifier(2, splits=splits, **limit).fit(X, y).tree_
            assert tree.threshold[tree.feature >= 0].tolist() == [1.5]
            assert tree.predict_codes(X).tolist() == y.tolist()
    tree = RestrictedTreeClassifier(1, splits=[[(0, np.inf)]]).fit(X, y).tree_
    assert tree.n_leaves == 1
