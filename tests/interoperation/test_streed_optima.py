"""The optima of STreeD's survival trees and trees with lines, on drawn 0/1 columns."""

from __future__ import annotations

import numpy as np
import pytest

from odtlib import MurTreeRegressor, SurvivalTree
from odtlib.binarize import QuantileBinarizer
from odtlib.objectives import LinearLeaves

CASES = 100


def drawn(seed):
    """Return a generator, a depth, 0/1 columns, and two regressors."""
    rng = np.random.default_rng([57, seed])
    n, m = int(rng.integers(20, 120)), int(rng.integers(2, 7))
    x = rng.normal(size=(n, 2)).round(2)
    columns = rng.random((n, m)) < rng.uniform(0.2, 0.8, m)
    return rng, int(rng.integers(1, 4)), columns.astype(np.int32), x


def test_survival_trees(tool):
    streed = tool("pystreed")

    class Tree(streed.STreeDSurvivalAnalysis):
        def _compute_baseline_cumulative_hazard_function(self, events, times):
            return super()._compute_baseline_cumulative_hazard_function(events.astype(int), times)

    for seed in range(CASES):
        rng, depth, X, _ = drawn(seed)
        y = np.empty(len(X), [("event", bool), ("time", float)])
        y["event"] = rng.random(len(X)) < rng.uniform(0.3, 1.0)
        y["time"] = rng.exponential(np.where(X[:, 0] == X[:, 1], 9.0, 3.0)).round(1) + 0.1
        y["event"][0] = True
        theirs = Tree(max_depth=depth, max_num_nodes=2**depth - 1, time_limit=60).fit(X, y)
        _, leaves = np.unique(theirs.predict(X), return_inverse=True)
        ours = SurvivalTree(depth).fit(X, y).report_
        assert ours.status == "optimal"
        assert ours.objective == pytest.approx(SurvivalTree.loss._cost_of_leaves(
            leaves, X, y, np.ones(len(y))), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("single", [True, False])
def test_lines(tool, single):
    """With several regressors STreeD's lines are iterated, and not quite the best."""
    streed = tool("pystreed")
    for seed in range(CASES):
        rng, depth, X, x = drawn(seed)
        y = x @ rng.normal(size=2) * np.where(X[:, 0], 1.0, -1.0) + rng.normal(size=len(x)) * 0.3
        table = np.column_stack([x, X])
        model = MurTreeRegressor(depth, min_samples_leaf=5, binarizer=QuantileBinarizer(3),
                                 loss=LinearLeaves([0, 1], single=single)).fit(table, y)
        columns = model.binarizer_.transform(table).astype(np.int32)
        theirs = streed.STreeDPiecewiseLinearRegressor(
            simple=single, max_depth=depth, max_num_nodes=2**depth - 1, cost_complexity=0.0,
            min_leaf_node_size=5, time_limit=60).fit(columns, y, x)
        least = float(((theirs.predict(columns, x) - y) ** 2).sum())
        assert model.report_.status == "optimal"
        assert model.report_.objective <= least * (1 + 1e-9)
        assert not single or model.report_.objective == pytest.approx(least)
