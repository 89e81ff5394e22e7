"""Trees without a limit on depth: small depths come first."""

import numpy as np
import pytest
from scale import SCALE

from odtlib import MurTreeClassifier, MurTreeRegressor, MurTreeSearch


def noisy(seed, n_rows=40, n_columns=6):
    random = np.random.default_rng(seed)
    X = random.integers(0, 2, (n_rows, n_columns))
    return X, (X[:, 0] ^ X[:, 1] ^ (random.random(n_rows) < 0.2)).astype(int)


@pytest.mark.parametrize("kind", [MurTreeClassifier, MurTreeRegressor])
@pytest.mark.parametrize("seed", range(6 * SCALE))
def test_the_optimum_is_that_of_the_largest_depth(seed, kind):
    X, y = noisy(seed)
    penalty = [0.0, 0.3, 1.0, 3.0][seed % 4]
    free = kind(None, split_penalty=penalty).fit(X, y)
    deep = kind(6, split_penalty=penalty).fit(X, y)       # no path tests a column twice
    assert free.report_.status == deep.report_.status == "optimal"
    assert free.report_.objective == pytest.approx(deep.report_.objective)
    assert "any depth" in free.report_.proof
    assert free.verify(X, y) == pytest.approx(free.report_.objective)
    bounds = [bound for _, _, bound, _ in free.report_.events]
    assert bounds == sorted(bounds)


def test_the_splits_of_deeper_trees_alone_cost_as_much():
    X, y = noisy(0, 300, 12)
    free = MurTreeClassifier(None, split_penalty=15.0).fit(X, y)
    shallow = MurTreeClassifier(3, split_penalty=15.0).fit(X, y)
    assert free.report_.objective == shallow.report_.objective
    assert free.report_.proof == ("optimal for these 12 predicates at any depth, "
                                  "split penalty 15")


@pytest.mark.parametrize("options", [{}, {"split_penalty": 5.0}, {"max_nodes": 9},
                                     {"search": MurTreeSearch(minimise_nodes=True)}])
def test_what_no_memory_holds_leaves_the_best_tree_of_small_depths(options):
    random = np.random.default_rng(0)
    X = random.integers(0, 2, (2000, 400))
    y = (X[:, :3].sum(axis=1) + random.normal(size=2000) > 1.5).astype(int)
    model = MurTreeClassifier(None, time_limit=0.05, **options).fit(X, y)
    assert model.report_.status in ("time_limit", "optimal")    # a deep CART may have no errors
    assert model.verify(X, y) == model.report_.objective < min(np.bincount(y))
    assert model.report_.lower_bound <= model.report_.objective
