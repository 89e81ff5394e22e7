"""What a limit of time leaves: a tree that costs what is said, a bound below it, and a trace."""

import numpy as np
import pytest

from odtbook.estimators import class_of
from odtlib import CARTClassifier
from odtlib.column_generation import ThresholdSampling

SAMPLED = {"max_depth": 4, "sampling": ThresholdSampling(n_trees=5, sample_share=0.5)}


@pytest.mark.parametrize(("name", "n_rows", "seconds", "options"), [
    ("MurTreeClassifier", 2000, 0.3, {"max_depth": 7}),
    ("ContinuousTreeClassifier", 1500, 0.4, {"max_depth": 4}),
    ("ContinuousTreeClassifier", 1500, 0.4, {"max_depth": 4, "n_jobs": 2}),
    ("ContinuousTreeRegressor", 4000, 1e-9, {"max_depth": 3}),
    ("ContinuousTreeRegressor", 4000, 0.3, {"max_depth": 3}),
    ("ColumnGenerationClassifier", 1500, 1e-6, SAMPLED),
    ("ColumnGenerationClassifier", 1500, 0.3, SAMPLED),
    ("BinOCTClassifier", 300, 1.0, {"max_depth": 3, "random_state": 0}),
    ("BinOCTClassifier", 300, 1.0, {"max_depth": 3, "random_state": 0, "solver": "cp-sat"}),
    ("BinOCTClassifier", 300, 1.0, {"max_depth": 3, "random_state": 0, "solver": "lns"})])
def test_the_best_tree_so_far_and_what_is_known_of_it_come_back(name, n_rows, seconds, options,
                                                                 monkeypatch):
    monkeypatch.setattr("odtlib.heuristics.cart.MOMENT", np.inf)    # a slow machine grows CART too
    random = np.random.default_rng(0)
    X, classes = random.normal(size=(n_rows, 8)), name.endswith("Classifier")
    y = random.integers(0, 3, n_rows) if classes else random.normal(size=n_rows)
    model = class_of(name)(time_limit=seconds, **options)
    model._compile_kernels(X, y)
    report = model.fit(X, y).report_
    assert report.status == "time_limit" and 0 <= report.lower_bound < report.objective
    incumbents = report.trace["incumbent"]
    assert (np.diff(incumbents) <= 1e-9).all() and (np.diff(report.trace["bound"]) >= 0).all()
    if classes:
        assert model.verify(X, y) == report.objective <= incumbents.iloc[0]
        cart = CARTClassifier(options["max_depth"], random_state=0).fit(X, y)
        assert report.objective <= cart.report_.objective
    else:
        assert model.verify(X, y) == pytest.approx(report.objective)
        assert report.objective < ((y - y.mean()) ** 2).sum()
