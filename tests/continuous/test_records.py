"""The yardstick: the records of the optimum over all thresholds."""

from __future__ import annotations

import numpy as np
import pytest

from odtbook import experiments
from odtbook.datasets import load, splits
from odtlib import ContinuousTreeClassifier, ContinuousTreeRegressor


def test_yardstick_is_complete_at_depths_two_and_three():
    optimum = experiments.yardstick()
    assert optimum.index.is_unique
    assert ((optimum > 0) & (optimum <= 1)).all()
    wide = optimum.unstack("max_depth")
    assert len(wide.index.unique("dataset")) == 19       # those of the papers
    assert (wide.groupby("dataset").size() == 5).all()
    assert wide[[2, 3]].notna().all(axis=None)
    assert (wide[3] >= wide[2]).all()


@pytest.mark.parametrize(("name", "split", "depth"), [
    ("iris_uci", 0, 2), ("wine", 3, 2), ("monk1", 1, 3), ("balance-scale", 4, 3),
    ("balance-scale", 2, 4)])
def test_yardstick_is_what_the_solver_finds(name, split, depth):
    data = load(name)
    rows = splits(name)[split][0]
    X, y = np.asarray(data.X, float)[rows], np.asarray(data.y)[rows]
    model = ContinuousTreeClassifier(depth).fit(X, y)
    assert model.report_.status == "optimal"
    assert experiments.yardstick()[name, split, depth] == pytest.approx(model.score(X, y))


def test_no_recorded_tree_beats_the_yardstick():
    optimum = experiments.yardstick()
    for name in ("continuous", "heuristics"):
        records = experiments.load_records(name)
        records = records[records["split"].notna() & records["train_accuracy"].notna()]
        compared = 0
        for row in records.itertuples():
            key = row.dataset, int(row.split), row.max_depth
            if key in optimum.index:
                compared += 1
                assert row.train_accuracy <= optimum[key] + 1e-12, key
        assert compared > 100


@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize("name", ["concrete", "fish", "qsar"])
def test_regression_optima_are_those_of_quant_bnb(name, depth):
    data = load(f"quantbnb/{name}")
    y = data.y.ravel()
    model = ContinuousTreeRegressor(depth).fit(data.X, y)
    published = experiments.published("bos2025_quantbnb").set_index("max_depth", append=True)
    assert model.report_.status == "optimal"
    assert model.score(data.X, y) == pytest.approx(
        published.loc[(name, depth), "train_score"], rel=1e-9)


def test_recorded_regression_trees_are_proved_and_never_worse_than_cart():
    records = experiments.load_records("continuous_regression")
    assert len(records) == 136
    assert (records["status"] == "optimal").all()
    for row in records[records["split_penalty"] == 0].itertuples():
        scores = row.measures["train"]
        assert scores["r2"] >= scores["r2_cart"] - 1e-12, row.dataset
