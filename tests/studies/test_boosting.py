"""Boosted trees, projected."""

import numpy as np

from odtbook.studies.boosting import BoostedTrees
from odtlib import ProjectedRegressor
from odtlib.constrained import sets


def test_boosting_learns_and_is_projected_last():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(120, 4))
    Y = np.clip(30 + 20 * X[:, :3] + rng.normal(0, 5, (120, 3)), 0, 100)
    feasible = sets.AtMostKNonzero(2, 0, 100)
    boosted = BoostedTrees(60, learning_rate=0.2)
    model, raw = ProjectedRegressor(boosted, feasible).fit(X, Y), boosted.fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), feasible.project(raw.predict(X)))
    assert ((raw.predict(X) - Y) ** 2).mean() < 0.1 * Y.var()


def test_weight_zero_is_no_row_and_one_target_stays_one_column():
    rng = np.random.default_rng(0)
    X, Y, w = rng.normal(size=(30, 2)), rng.normal(size=30), rng.integers(0, 3, 30) * 1.0
    used = w > 0
    found = [ProjectedRegressor(BoostedTrees(3)).fit(X[rows], Y[rows], w[rows]).predict(X)
             for rows in (slice(None), used)]
    np.testing.assert_array_equal(*found)
    assert found[0].shape == (30,)
