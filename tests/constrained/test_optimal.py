"""Optimal constrained trees: against brute force over all trees, and their certificates."""

import numpy as np
import pytest
from constrained import reference
from naive import best_cost, cuts

from odtbook.published import paper_model
from odtlib.constrained import ConstrainedTreeRegressor, OptimalConstrainedTreeRegressor, sets

RNG = np.random.default_rng(11)
SETS = {
    "free": sets.Box(),
    "one": sets.AtMostKNonzero(1, 0, 90),
    "simplex": sets.Simplex(100.0),
    "scores": paper_model("scores"),
    "polyhedron": sets.Polyhedron([[1, 1, 1], [-1, 2, 0]], [90, 10], lower=0),
}


def table(n, p=2):
    X = RNG.normal(size=(n, p))
    X[:, 0] = np.round(X[:, 0] * 2)
    X[-1] = X[0]
    return X, np.clip(50 + 30 * np.sign(X[:, :1]) * np.array([1, -1, 1])
                      + RNG.normal(0, 20, (n, 3)), 0, 100)


def brute_force(feasible, X, Y, w, depth, min_leaf, budget=None, penalty=0.0):
    return best_cost(cuts(X), lambda rows: reference.squared_cost(feasible, Y[rows], w[rows]),
                     depth, budget, min_leaf, penalty)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_matches_brute_force(name, depth):
    for n, min_leaf in ((2, 1), (9, 1), (12, 2)) if depth == 3 else ((2, 1), (14, 1), (25, 3)):
        X, Y = table(n)
        w = RNG.integers(1, 4, n).astype(float)
        model = OptimalConstrainedTreeRegressor(SETS[name], max_depth=depth,
                                                min_samples_leaf=min_leaf,
                                                on_infeasible_targets="keep").fit(X, Y, w)
        best = brute_force(SETS[name], X, Y, w, depth, min_leaf)
        assert model.report_.status == "optimal"
        assert model.report_.objective == pytest.approx(best, rel=1e-9, abs=1e-6)
        assert model.report_.lower_bound == pytest.approx(best, rel=1e-9, abs=1e-6)
        assert model.verify(X, Y, w) == pytest.approx(model.report_.objective, rel=1e-13)
        assert model.tree_.depth <= depth
        for rows, value in zip(model.decision_path(X).toarray().T == 1, model.tree_.value,
                               strict=True):        # those of inner nodes are of their rows, too
            assert reference.squared_cost(SETS[name], Y[rows], w[rows]) == pytest.approx(
                (w[rows, None] * (Y[rows] - value) ** 2).sum(), rel=1e-9, abs=1e-6)
        counts = np.bincount(model.apply(X))
        assert counts[counts > 0].min() >= min_leaf or model.tree_.n_leaves == 1
        assert SETS[name].contains(model.predict(RNG.normal(size=(30, 2)))).all()


FIVE_HUNDRED = {
    **SETS,
    "hierarchy": sets.Hierarchy([[1, 1], [1, 0], [0, 1]]),
    "whole numbers": sets.SparseSimplex(2, 9, integer=True),
    "either box": sets.UnionOf([sets.Box(0, 20), sets.Box(50, 90)]),
    "two courses": paper_model("class", max_courses=2) & sets.Box(0, [80, 60, 40]),
    "flag": sets.Indicator(0, 2, 5, 60, n_targets=3),
}


@pytest.mark.parametrize("name", FIVE_HUNDRED)
def test_five_hundred_trees_of_depth_two_match_enumeration(name):
    random, feasible = np.random.default_rng(500), FIVE_HUNDRED[name]
    for number in range(500 // len(FIVE_HUNDRED)):
        n, min_leaf = int(random.integers(1, 11)), int(random.integers(1, 4))
        X = random.integers(0, 5, (n, 2)).astype(float)
        Y = random.integers(0, 4, (n, 3)) * 25.0 if number % 2 else random.uniform(-20, 100, (n, 3))
        w = 10.0 ** random.integers(-6, 7, n) if number % 3 == 0 else np.ones(n)
        model = OptimalConstrainedTreeRegressor(
            feasible, max_depth=2, min_samples_leaf=min_leaf,
            on_infeasible_targets="keep").fit(X, Y, w)
        best = brute_force(feasible, X, Y, w, 2, min_leaf)
        assert model.report_.status == "optimal"
        for found in (model.report_.objective, (w @ (model.predict(X) - Y) ** 2).sum()):
            assert found == pytest.approx(
                best, rel=1e-9, abs=1e-12 * w.sum() * (Y**2).max(initial=1.0))
        assert feasible.contains(model.predict(X)).all()


@pytest.mark.parametrize("name", ["one", "polyhedron"])
@pytest.mark.parametrize("depth, budget", [(1, 0), (1, 1), (2, 2), (2, 3), (3, 2), (3, 3)])
@pytest.mark.parametrize("penalty", [0.0, 700.0])
def test_budget_and_penalty_match_brute_force(name, depth, budget, penalty):
    for n, min_leaf in ((7, 1), (9, 2)):
        X, Y = table(n)
        w = RNG.integers(1, 4, n).astype(float)
        options = {"max_nodes": budget} if n == 7 else {"max_leaf_nodes": budget + 1}
        model = OptimalConstrainedTreeRegressor(
            SETS[name], max_depth=depth, min_samples_leaf=min_leaf, split_penalty=penalty,
            on_infeasible_targets="keep", **options).fit(X, Y, w)
        best = brute_force(SETS[name], X, Y, w, depth, min_leaf, budget, penalty)
        assert model.report_.objective == pytest.approx(best, rel=1e-9)
        assert model.report_.lower_bound == pytest.approx(best, rel=1e-9)
        assert model.verify(X, Y, w) == pytest.approx(model.report_.objective, rel=1e-13)
        assert model.tree_.n_splits <= budget


@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize("seed", [304, 316, 376, 511, 610, 693, 1050, 1085, 1148, 1150])
def test_a_smallest_leaf_does_not_mislead_the_bounds(seed, depth):
    """Few rows may allow no tree that more rows allow: these ten of 1,200 problems showed it."""
    random = np.random.default_rng(seed)
    n = int(random.integers(6, 10))
    X, Y = random.integers(0, 3, (n, 2)).astype(float), random.random((n, 2))
    box = sets.Box(0, 1)
    model = OptimalConstrainedTreeRegressor(box, max_depth=depth, min_samples_leaf=2).fit(X, Y)
    best = brute_force(box, X, Y, np.ones(n), depth, 2)
    assert model.report_.objective == pytest.approx(best, rel=1e-9)


def test_never_worse_than_greedy_and_sometimes_better():
    better = 0
    for _ in range(10):
        X, Y = table(60, 3)
        options = dict(max_depth=2, min_samples_leaf=2, on_infeasible_targets="keep")
        optimal = OptimalConstrainedTreeRegressor(SETS["one"], **options).fit(X, Y)
        greedy = ConstrainedTreeRegressor(SETS["one"], split="exact", **options).fit(X, Y)
        assert optimal.report_.objective <= greedy.report_.objective * (1 + 1e-12)
        better += optimal.report_.objective < 0.999 * greedy.report_.objective
    assert better > 0


def test_a_time_limit_returns_a_tree_and_a_valid_bound():
    X, Y = RNG.normal(size=(1500, 6)), RNG.uniform(0, 100, (1500, 3))
    model = OptimalConstrainedTreeRegressor(SETS["one"], max_depth=3, time_limit=0.5,
                                            on_infeasible_targets="keep").fit(X, Y)
    report = model.report_
    assert report.status == "time_limit"
    assert report.lower_bound <= report.objective
    assert SETS["one"].contains(model.predict(X)).all()


def test_projected_training_targets():
    X, Y = table(30)
    model = OptimalConstrainedTreeRegressor(SETS["one"], on_infeasible_targets="project").fit(X, Y)
    assert model.report_.status == "optimal"
    assert model.verify(X, Y) == pytest.approx(model.report_.objective, rel=1e-13)


def test_custom_sets_are_refused():
    with pytest.raises(ValueError, match="no compiled projection"):
        OptimalConstrainedTreeRegressor(sets.Custom(lambda y, w: y)).fit([[0.0], [1.0]], [0.0, 1.0])


@pytest.mark.parametrize("seed", range(8))
def test_a_bound_of_one_side_is_no_tree_where_rounding_puts_the_sum_below_the_limit(seed):
    random = np.random.default_rng(seed)
    x = random.integers(0, 14, 16)[:, None] * 1.0
    y = np.where(x > 6, 2.0, random.integers(-3, 3, 16)[:, None])       # one side costs nothing
    w = random.integers(1, 4, 16) * 1.0
    for penalty in 0.1 * np.arange(1, 10):
        model = OptimalConstrainedTreeRegressor(max_depth=3, min_samples_leaf=2,
                                                split_penalty=penalty).fit(x, y, w)
        best = brute_force(sets.Box(), x, y, w, 3, 2, penalty=penalty)
        assert model.report_.objective == pytest.approx(best, rel=1e-9)
        assert model.report_.lower_bound == pytest.approx(best, rel=1e-9)
