"""Weights of any size against enumeration: the answer does not depend on their unit."""

import numpy as np
import pytest
from formulations.reference import optimum

from odtbook.formulations import BinOCTClassifier, FlowOCTClassifier, OCTClassifier
from odtbook.formulations.model import Model, Solution
from odtlib import ColumnGenerationClassifier, ColumnGenerationSearch, RestrictedTreeClassifier
from odtlib.tolerance import PROOF

SPLITS = {"splits": [[(j, 0.5) for j in range(3)]] * 3}
MODELS = {
    "oct": OCTClassifier(2), "oct without a start": OCTClassifier(2, start=None),
    "flow": FlowOCTClassifier(2, binarizer=None),
    "flow without a start": FlowOCTClassifier(2, binarizer=None, start=None),
    "binoct": BinOCTClassifier(2), "restricted": RestrictedTreeClassifier(2, **SPLITS),
    "paths": ColumnGenerationClassifier(
        2, **SPLITS, search=ColumnGenerationSearch(integer="branch-and-price")),
    "pairs of paths": ColumnGenerationClassifier(
        2, **SPLITS, search=ColumnGenerationSearch(link="prefix", row_cuts="none"))}


def instance(random):
    n = random.randint(6, 12)
    X, y = random.randint(0, 2, (n, 3)).astype(float), random.randint(0, 2, n)
    y[:2] = 0, 1
    return X, y


def checked(model, X, y, weight):
    """Fit; the bound must hold, and so must a claim of optimality. Return the report."""
    report, total = model.fit(X, y, weight).report_, weight.sum()
    best = optimum(X, y, weight, [[0.5]] * 3, 2)
    assert report.lower_bound <= best + PROOF * total
    assert report.objective >= best - PROOF * total
    assert model.verify(X, y, weight) == pytest.approx(report.objective, abs=PROOF * total)
    if report.status == "optimal":
        assert report.objective <= best + PROOF * total
    return report


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("unit", [1e-12, 1e-3, 1.0, 1e12])
def test_the_unit_of_weights_changes_nothing(name, unit):
    random = np.random.RandomState(3)
    for whole in (True, False):
        X, y = instance(random)
        weight = random.randint(1, 5, len(y)) if whole else random.random(len(y)) + 0.01
        assert checked(MODELS[name], X, y, weight * unit).status == "optimal"


@pytest.mark.parametrize("name", MODELS)
def test_weights_too_uneven_to_be_resolved_end_in_a_bound_that_holds(name):
    random = np.random.RandomState(4)
    for _ in range(8):
        X, y = instance(random)
        checked(MODELS[name], X, y, 10.0 ** random.uniform(-12, 12, len(y)))


def test_prices_do_not_depend_on_the_unit_of_weights():
    X, y = instance(np.random.RandomState(5))
    plain = OCTClassifier(2, split_penalty=0.3).fit(X, y).report_
    small = OCTClassifier(2, split_penalty=0.3e-12).fit(X, y, np.full(len(y), 1e-12)).report_
    assert small.objective == pytest.approx(plain.objective * 1e-12)
    assert small.status == plain.status == "optimal"


def test_columns_that_are_all_alike_leave_a_leaf():
    X, y = np.ones((7, 1)), [0, 1, 0, 0, 0, 0, 0]
    weight = [6553.0, 4.8e11, 3.8e9, 4.8e-4, 2.2e5, 6.1, 6.6e6]
    for model in (OCTClassifier(1, split_penalty=0.05), FlowOCTClassifier(1)):
        report = model.fit(X, y, weight).report_
        assert report.status == "optimal"
        assert report.objective == pytest.approx(sum(weight) - 4.8e11, rel=1e-9)


UNEVEN = np.array([[0.0], [2.0], [0.0], [2.0], [1.0], [0.0], [1.0]]), [0, 1, 0, 1, 0, 0, 0]


@pytest.mark.parametrize("constraint_form", ["per_leaf", "per_node"])
def test_a_proof_holds_where_weights_span_eleven_orders_of_magnitude(constraint_form):
    # HiGHS called a tree with an error of 1023.6 optimal; one split classifies every row.
    X, y = UNEVEN
    weight = np.array([4.9e-4, 10992.55, 6e-8, 1e-6, 1023.6, 7e-8, 7.1e-4])
    model = OCTClassifier(constraint_form=constraint_form, start=None).fit(X, y, weight)
    assert model.report_.objective == 0.0 and model.tree_.predict(X).tolist() == y


def test_a_program_that_the_solver_calls_infeasible_leaves_the_stand_in(monkeypatch):
    # Found by benchmarks/fuzz.py, seed 72113802: the bound was infinite, and no tree was kept.
    X, y = UNEVEN
    weight = np.linspace(1.1, 2.3, 7) ** 9
    nothing = Solution("infeasible", bound=np.inf)
    monkeypatch.setattr(Model, "solve", lambda *arguments, **options: nothing)
    model = OCTClassifier(start=None).fit(X, y, weight)
    assert model.report_.objective == 0.0 and model.report_.counters["fallback"] == 1
