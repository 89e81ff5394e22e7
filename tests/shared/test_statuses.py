"""The status of every solver at every stop: it follows from the objective and the bound."""

import numpy as np
import pytest

import odtlib
from odtbook import formulations, published
from odtbook.published import PaperSearch
from odtlib import ColumnGenerationSearch, MurTreeSearch
from odtlib.binarize import ThresholdBinarizer
from odtlib.column_generation import ThresholdSampling
from odtlib.constrained import sets
from odtlib.report import Clock
from odtlib.tolerance import PROOF

ALL = {"binarizer": "all"}
BOX = {"constraints": sets.Box(0.0, 9.0)}
CASES = {
    "cart": ("CARTClassifier", {}),
    "tuned": ("TunedCARTClassifier", {"cv": 2}),
    "local search": ("LocalSearchTreeClassifier", {"max_restarts": 3}),
    "murtree": ("MurTreeClassifier", ALL),
    "penalty": ("MurTreeClassifier", {**ALL, "split_penalty": 0.5}),
    "per level": ("MurTreeClassifier", {**ALL, "split_penalty": [0.5, 0.4, 0.3]}),
    "f1": ("MurTreeClassifier", {**ALL, "objective": "f1"}),
    "balanced": ("MurTreeClassifier", {**ALL, "objective": "balanced-accuracy"}),
    "look-ahead": ("MurTreeClassifier", {**ALL, "search": MurTreeSearch(lookahead=2)}),
    "paper": ("MurTreeClassifier", {**ALL, "search": PaperSearch()}),
    "fewest": ("MurTreeClassifier", {**ALL, "search": MurTreeSearch(minimise_nodes=True)}),
    "regression": ("MurTreeRegressor", ALL),
    "absolute error": ("MurTreeRegressor", {**ALL, "loss": "absolute_error"}),
    "continuous": ("ContinuousTreeClassifier", {}),
    "gap": ("ContinuousTreeClassifier", {"max_gap": 0.1}),
    "continuous regression": ("ContinuousTreeRegressor", {}),
    "column generation": ("ColumnGenerationClassifier",
                          {"sampling": ThresholdSampling(n_trees=10)}),
    "branch and price": ("ColumnGenerationClassifier", {
        "sampling": ThresholdSampling(n_trees=10),
        "search": ColumnGenerationSearch(integer="branch-and-price")}),
    "generated splits": ("GeneratedSplitsClassifier", {}),
    "restricted": ("RestrictedTreeClassifier", {"sampling": ThresholdSampling(n_trees=10)}),
    "constrained": ("ConstrainedTreeRegressor", BOX),
    "exact splits": ("ConstrainedTreeRegressor", {**BOX, "split": "exact"}),
    "optimal constrained": ("OptimalConstrainedTreeRegressor", BOX),
    "OCT": ("OCTClassifier", {}),
    "FlowOCT": ("FlowOCTClassifier", {"binarizer": "all"}),
    "BinOCT": ("BinOCTClassifier", {}),
    "neighbourhoods": ("BinOCTClassifier", {"solver": "lns"}),
}
KINDS = ("hard", "easy")


def rows(kind, name):
    """Return rows with noise, or rows that depth two fits without an error."""
    random = np.random.default_rng(3)
    X = random.integers(0, 5, (24, 3)).astype(float)
    y = (X[:, 0] > 2) * (X[:, 1] > 1)
    if kind == "hard":
        y = (y + random.integers(0, 2, 24)) % 2
    return X, (y + 1.0 if name.endswith("Regressor") else y)


def made(name, options, **more):
    home = next(home for home in (odtlib, formulations, published) if name in home.__all__)
    return getattr(home, name)(
        **{"max_depth": 2 if name in formulations.__all__ or "Regressor" in name else 3,
           **options, **more})


def limited(name):
    """Return a time limit that no fit reaches, where the estimator has one."""
    return {"time_limit": 1e3} if hasattr(made(name, {}), "time_limit") else {}


def check(report):
    """Hold the status against objective and bound."""
    met = report.objective - report.lower_bound <= PROOF * report.scale
    assert (report.status == "optimal") == met
    assert report.lower_bound <= report.objective
    assert report.gap == report.objective - report.lower_bound or report.lower_bound == -np.inf
    assert report.events[-1][1:] == (report.objective, report.lower_bound, report.status)
    assert bool(report.proof) == met


def stop_at(monkeypatch, looks, error=None):
    """Let the time be over at a look at the clock, or raise there."""
    seen = 0

    def remaining(clock):
        nonlocal seen
        if clock.time_limit is None:
            return np.inf
        seen += 1
        if seen <= looks:
            return 1e3
        if error is not None and seen == looks + 1:
            raise error
        return 1e3 if error is not None else 0.0

    monkeypatch.setattr(Clock, "remaining", property(remaining))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES)
def test_the_status_follows_from_objective_and_bound_at_every_stop(case, kind, monkeypatch):
    name, options = CASES[case]
    X, y = rows(kind, name)
    best = made(name, options).fit(X, y).report_
    check(best)
    for looks in (0, 1, 2, 3, 5, 8, 13, 21, 34):
        for error in (None, KeyboardInterrupt()):
            with monkeypatch.context() as patch:
                stop_at(patch, looks, error)
                model = made(name, options, **limited(name))
                try:
                    model.fit(X, y)
                except KeyboardInterrupt:       # before there was a tree, or after the fit
                    continue
            check(model.report_)
            model.verify(X, y)
            if best.status == "optimal" and model.report_.proof == best.proof:
                assert model.report_.objective == pytest.approx(best.objective, abs=1e-9)


@pytest.mark.parametrize("task", ["path", "regularisation_path", "pareto_front", "optimal_trees"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_other_questions_call_optimal_is_optimal(task, kind, monkeypatch):
    X, y = rows(kind, "MurTreeClassifier")
    X = ThresholdBinarizer().fit_transform(X, y)        # no binariser whom time could run out
    whole = getattr(made("MurTreeClassifier", ALL), task)(X, y)
    for looks in (0, 1, 2, 3, 5, 8, 13, 21):
        model = made("MurTreeClassifier", ALL, time_limit=1e3)
        with monkeypatch.context() as patch:
            stop_at(patch, looks)
            found = getattr(model, task)(X, y)
        check(model.report_)
        if task == "optimal_trees":
            assert not found.complete or found.count == whole.count
        elif task == "path":
            assert all(entry.objective == other.objective for entry, other
                       in zip(found, whole, strict=True) if entry.optimal)
        else:
            assert all(entry.errors in [other.errors for other in whole] for entry in found
                       if entry.optimal)


def test_a_limit_that_comes_after_the_proof_leaves_it_standing():
    X = np.random.default_rng(1).normal(size=(1001, 3))
    y = np.r_[1, np.zeros(1000)]
    binarizer = ThresholdBinarizer(max_thresholds_per_feature=400)
    for limit in (0.01, 0.05, 0.2):
        report = odtlib.MurTreeClassifier(2, binarizer=binarizer, time_limit=limit).fit(
            X, y).report_
        check(report)
        assert report.objective or report.status == "optimal"
