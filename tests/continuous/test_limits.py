"""A budget of nodes under a time limit: small depths are among what is looked at."""

import numpy as np
import pytest

from odtlib import ContinuousTreeClassifier, ContinuousTreeRegressor
from odtlib.heuristics.subtrees import SubtreeSearch


@pytest.fixture
def in_stages(monkeypatch, time_left):
    """Let time be over after the small depths, to which the deep search gives way."""
    monkeypatch.setattr(SubtreeSearch, "run", lambda *_: time_left.__setitem__(0, 0.0))


@pytest.mark.parametrize("kind", [ContinuousTreeClassifier, ContinuousTreeRegressor])
@pytest.mark.parametrize("seed", range(3))
def test_a_deep_fit_is_not_behind_the_optimum_of_a_small_depth(kind, seed, in_stages):
    """CART and local search see no gain in the first of two splits that pay together."""
    rng = np.random.default_rng(seed)
    shape, values = ((300, 12), 12) if kind is ContinuousTreeClassifier else ((200, 6), 6)
    X = rng.integers(0, values, shape) / values
    y = np.where(X[:, 2] > 0.5, (X[:, 0] > 0.5) ^ (X[:, 1] > 0.4), X[:, 3] > 0.6)
    y = y ^ (rng.random(len(y)) < 0.25)
    y = y.astype(int) if kind is ContinuousTreeClassifier else y + 0.5 * X[:, 4]
    small = kind(3, max_leaf_nodes=6).fit(X, y).report_
    assert small.status == "optimal"
    deep = kind(4, max_leaf_nodes=6, time_limit=1.0).fit(X, y)
    assert deep.report_.status == "time_limit"
    assert deep.tree_.n_leaves <= 6
    assert deep.report_.objective <= small.objective * (1 + 1e-9)
