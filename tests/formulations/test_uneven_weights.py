"""Weights and penalties of any size against enumeration: no answer depends on their unit."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from formulations.reference import optimum
from naive import best_cost

from odtbook.formulations import BinOCTClassifier, FlowOCTClassifier, OCTClassifier
from odtbook.formulations.model import Model, Solution
from odtlib import (
    ColumnGenerationClassifier,
    ColumnGenerationSearch,
    MurTreeClassifier,
    RestrictedTreeClassifier,
)
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


def test_no_bound_of_highs_is_taken_where_it_errs():
    # It called trees optimal that cost 21,955,581 and 6,670,355; by ulps of weights others failed.
    for X, y, weight, cost in (
            ([[1, 1, 0], [1, 1, 0], [0, 1, 1], [1, 1, 1], [1, 0, 0], [0, 0, 0]],
             [0, 1, 0, 0, 1, 1], [4, 4126798, 228158871, 3156152, 7735818, 18799425], 4),
            ([[1, 1, 0], [0, 1, 1], [1, 0, 0], [0, 1, 1], [0, 0, 0], [0, 0, 0], [0, 0, 1],
              [0, 0, 1], [1, 1, 0], [0, 1, 1], [1, 1, 0]], [0, 1, 0, 1, 0, 1, 1, 0, 1, 1, 1],
             [1, 44, 1445, 6315, 6662100, 908061, 367, 51940289, 36, 83, 206142235], 908429)):
        report = OCTClassifier(1, start=None).fit(X, y, weight).report_
        assert report.objective == cost and report.status == "heuristic"
        assert report.lower_bound == 0 and (report.trace.bound <= 0).all()
        report = OCTClassifier(1, start=None, solver="cp-sat").fit(X, y, weight).report_
        assert report.objective == cost and report.status == "optimal"


def test_a_program_that_the_solver_calls_infeasible_leaves_the_stand_in(monkeypatch):
    # Found by random fits: the bound was infinite, and no tree was kept.
    X, y = UNEVEN
    weight = np.linspace(1.1, 2.3, 7) ** 9
    nothing = Solution("infeasible", bound=np.inf)
    monkeypatch.setattr(Model, "solve", lambda *arguments, **options: nothing)
    model = OCTClassifier(start=None).fit(X, y, weight)
    assert model.report_.objective == 0.0 and model.report_.counters["fallback"] == 1


PENALTIES = [0.0, 1e-7, 1 / 3, 0.1, np.pi / 10, 1.0, 2.0, np.sqrt(2) * 1e3]
WEIGHTS = {
    "ones": lambda random, n: np.ones(n), "threes": lambda random, n: np.full(n, 3.0),
    "huge": lambda random, n: random.randint(1, 9, n) * 1e11,
    "tiny": lambda random, n: random.randint(1, 9, n) * 1e-9,
    "thirds": lambda random, n: random.randint(1, 9, n) / 3,
    "irrational": lambda random, n: random.random_sample(n) + 0.1,
    "mixed": lambda random, n: 10.0 ** random.uniform(-6, 3, n),
    "zero": lambda random, n: np.where(np.arange(n) < n - 3, 2.5, 0.0)}


def exact_cost(tree, X, y, weight, penalty):
    """Errors and penalties of a tree in fractions, from the parameters as they were given."""
    wrong = np.flatnonzero(tree.predict(X) != y)
    return (sum((Fraction(float(weight[i])) for i in wrong), Fraction(0))
            + Fraction(float(penalty)) * tree.n_splits)


def least_cost(X, y, weight, penalty, depth):
    """Return the least errors plus penalties over all trees of 0/1 columns, in fractions."""
    kept = np.flatnonzero(weight > 0)

    def errors(rows):
        sums = [sum((Fraction(float(weight[i])) for i in kept[rows] if y[i] == k), Fraction(0))
                for k in set(y)]
        return sum(sums) - max(sums)

    return best_cost(X[kept], errors, depth, penalty=Fraction(float(penalty)))


@pytest.mark.parametrize("solver", ["highs", "cp-sat"])
@pytest.mark.parametrize("name", ["binoct", "oct", "flow"])
def test_objective_and_bound_hold_for_any_penalty_and_weight(name, solver):
    random = np.random.RandomState(17 + len(name))
    for kind, penalty in product(WEIGHTS, PENALTIES):
        X, y = instance(random)
        weight = WEIGHTS[kind](random, len(y))
        if random.random_sample() < 0.5:        # penalties in the weights' own unit
            penalty = penalty * float(weight.max())
        depth, start = random.randint(1, 3), [None, "cart"][random.randint(2)]
        model = MODELS[name].__class__(depth, solver=solver, split_penalty=penalty, start=start)
        if name == "flow":
            model.set_params(binarizer=None)
        report = model.fit(X, y, weight).report_
        near = PROOF * (weight.sum() + penalty)
        cost, best = exact_cost(model.tree_, X, y, weight, penalty), least_cost(
            X, y, weight, penalty, depth)
        assert abs(report.objective - cost) <= 1e-3 * near, (kind, penalty)
        assert abs(model.verify(X, y, weight) - cost) <= 1e-3 * near
        assert report.lower_bound <= best + near * 1e-3 or report.status == "optimal"
        assert report.lower_bound <= best + near, (kind, penalty, report, float(best))
        assert cost >= best - Fraction(1, 10**20) * best
        assert (report.status == "optimal") == (report.objective - report.lower_bound <= near)
        if kind != "mixed" or solver == "cp-sat":
            assert report.status == "optimal", (kind, penalty, report)


def test_penalties_finer_than_a_millionth_of_the_unit_count_with_cp_sat():
    X, y = [[0], [0], [1], [1], [0], [1]], [0, 0, 1, 1, 1, 1]
    for weight, penalty, cost in ((3.0, 2.0, 5.0), (7.0, 1.0, 8.0), (1000.0, 5e-4, 1000.0005)):
        report = BinOCTClassifier(1, solver="cp-sat", split_penalty=penalty).fit(
            X, y, [weight] * 6).report_
        assert report.status == "optimal"
        assert report.objective == pytest.approx(cost, abs=1e-12)
        assert report.lower_bound == report.objective


def test_whole_costs_are_exact_where_they_can_be_and_never_above_the_cost():
    random = np.random.default_rng(8)
    for _ in range(300):
        n = int(random.integers(1, 12))
        cost = [random.integers(0, 50, n) / 12, random.random(n) * 10.0 ** random.integers(-9, 9),
                10.0 ** random.uniform(-12, 12, n)][random.integers(3)]
        upper = random.integers(1, 1000, n).astype(float)
        model = Model()
        model.add_variables("x", n, cost=cost, upper=upper, kind="integer")
        whole = model.to_integer()
        lost = [Fraction(float(c)) - Fraction(int(w)) / Fraction(whole["scale"])
                for c, w in zip(cost, whole["cost"], strict=True)]
        slack = 1e-14 * max(cost.max(), 1e-300)         # of thirds and other fractions, as floats
        assert all(-slack <= one for one in lost)
        assert sum(float(one) * u for one, u in zip(lost, upper, strict=True)) \
            <= 2e-11 * float(cost @ upper)


def test_cp_sat_does_not_presolve_numbers_whose_squares_have_no_place():
    """Four rows of weight 3e12: its presolve made two errors of one."""
    X = [[2.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 1.0, 0.0]]
    for weight in (1.0, 3e12, 1e10):
        model = BinOCTClassifier(1, solver="cp-sat", start=None, random_state=0)
        model.fit(X, ["yes", "no", "yes", "maybe"], [weight] * 4)
        assert model.report_.status == "optimal" and model.report_.objective == weight


@pytest.mark.parametrize("seed", range(3))
def test_cp_sat_is_right_at_any_scale(seed):
    """With its presolve one fit in twenty was wrong at 2**35, and more at larger scales."""
    random = np.random.default_rng(seed)
    for exponent in random.uniform(26, 45, 25):
        X, y = random.integers(0, 3, (6, 3)).astype(float), random.integers(0, 3, 6)
        weight = np.floor(2.0 ** exponent * (random.random(6) + 0.1))
        depth, penalty = int(random.integers(1, 3)), random.choice([0.0, 0.3]) * weight.mean()
        model = BinOCTClassifier(depth, solver="cp-sat", start=None, random_state=0,
                                 split_penalty=penalty).fit(X, y, weight)
        least = MurTreeClassifier(depth, binarizer="all", split_penalty=penalty).fit(X, y, weight)
        assert model.report_.status == "optimal"
        assert model.report_.objective == pytest.approx(least.report_.objective, rel=1e-9)
