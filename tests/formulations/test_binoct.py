"""BinOCT against enumeration: every form, both solvers, and the search over pairs of nodes."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from formulations.reference import (
    boundary,
    fair_optimum,
    instance,
    kill_the_solver,
    midpoints,
    optimum,
)
from scale import instances

from odtbook.datasets import load
from odtbook.formulations import BinOCTClassifier, BinOCTSearch, binoct_model
from odtbook.formulations import run as _run
from odtbook.formulations.binoct_model import (
    FORMS,
    BinOCTModel,
    cost_of,
    read_bits,
    route,
    threshold_bits,
    threshold_tree_nodes,
)
from odtbook.formulations.lns import NeighbourhoodSearch
from odtbook.formulations.model import Model, Solution
from odtbook.formulations.thresholds import candidate_cuts, cut_below, from_full_tree, to_full_tree
from odtlib import CARTClassifier, ContinuousTreeClassifier, DecisionTree, MurTreeClassifier
from odtlib.heuristics.ranks import RankedRows
from odtlib.report import Clock
from odtlib.tolerance import PROOF

OWN = BinOCTSearch(add_thresholds=False)     # no candidates but those of the rows

# rows (features | class) of which boundary thresholds lose one
EIGHT = np.array([[3, 0, 1, 1, 0], [2, 0, 0, 0, 0], [4, 1, 1, 1, 0], [1, 1, 1, 1, 1],
                  [4, 0, 1, 0, 0], [4, 0, 0, 1, 1], [2, 0, 0, 0, 0], [1, 1, 1, 0, 0]])


def draw(random, depths=(1, 1, 2)):
    depth = int(random.choice(depths))
    n_rows = int(random.integers(2, 13 if depth == 1 else 9))
    n_features = int(random.integers(1, 4 if depth == 1 else 3))
    return depth, *instance(random, n_rows, n_features, int(random.integers(2, 4)),
                            5 if depth == 1 else 4)


def objective(model, splits, label):
    return cost_of(model.rows, splits, label, model.positions)


def check(model, X, y, expected, weight=None):
    """Fit and compare: the objective, the tree's own errors, the shape, the proof."""
    model.fit(X, y, weight)
    report = model.report_
    assert report.status == "optimal", (report, X, y)
    assert report.objective == pytest.approx(expected, abs=1e-9), (X, y)
    assert report.lower_bound == report.objective
    assert model.verify(X, y, weight) == pytest.approx(report.objective)
    assert model.tree_.depth <= model.max_depth
    return report


def random_splits(random, model):
    usable = np.flatnonzero(model.n_cuts)
    feature = random.choice(usable, model.n_nodes)
    return np.column_stack([feature, [random.integers(model.n_cuts[f]) for f in feature]])


def best_labels(model, splits):
    """Return the class that costs least in each leaf of a full tree."""
    value = np.zeros((model.n_leaves, model.rows.n_classes))
    np.add.at(value, (route(splits, model.positions), model.rows.labels), model.rows.weights)
    return value.argmax(axis=1)


@pytest.mark.parametrize("solver", ["highs", "cp-sat"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("thresholds", ["all", "boundary"])
def test_equals_enumeration(solver, form, thresholds):
    random = np.random.default_rng(FORMS.index(form))
    for _ in range(instances(45)):
        depth, X, y = draw(random)
        own = midpoints(X) if thresholds == "all" else boundary(X, y)
        if not any(map(len, own)):
            own = midpoints(X)
        best = optimum(X, y, np.ones(len(y)), own, depth)
        model = BinOCTClassifier(depth, solver=solver, constraint_form=form, thresholds=thresholds,
                                 search=OWN, start=None)
        check(model, X, y, best)


@pytest.mark.parametrize("solver", ["highs", "cp-sat"])
@pytest.mark.parametrize("form", FORMS)
def test_weights_and_costs_equal_enumeration(solver, form):
    random = np.random.default_rng(20 + FORMS.index(form))
    for i in range(instances(12)):
        depth, X, y = draw(random)
        weight = random.integers(0, 4, len(y)).astype(float)
        weight[:2] += 1
        weight *= [1.0, 0.5, 0.1][i % 3]
        costs = {int(c): float(random.integers(1, 4)) for c in np.unique(y)}
        cost = weight * np.array([costs[c] for c in y])
        best = optimum(X, y, cost, midpoints(X), depth)
        model = BinOCTClassifier(depth, solver=solver, constraint_form=form, class_weight=costs)
        check(model, X, y, best, weight)


def test_any_weights_equal_enumeration_with_highs():
    random = np.random.default_rng(30)
    for _ in range(instances(25)):
        depth, X, y = draw(random)
        weight = random.random(len(y))
        best = optimum(X, y, weight, midpoints(X), depth)
        model = BinOCTClassifier(depth, start=None).fit(X, y, weight)
        assert model.report_.objective == pytest.approx(best, rel=1e-6)
        assert model.report_.lower_bound <= best + 1e-6
        model.verify(X, y, weight)
    with pytest.raises(ValueError, match="no small common denominator"):
        BinOCTClassifier(solver="cp-sat", max_disparity=0.5).fit(X, y, weight, y)


@pytest.mark.parametrize("solver", ["highs", "cp-sat"])
def test_a_limit_on_disparity_equals_enumeration_at_any_weight(solver):
    random = np.random.default_rng(5)
    for number in range(20):
        X = np.column_stack([random.integers(0, 3, 8), np.arange(8) % 2]).astype(float)
        y, group = np.array([0, 1, *random.integers(0, 2, 6)]), X[:, 1].astype(int)
        few = random.integers(1, 4, 8)
        weight = [np.ones(8), few * 1.0, few / 3, random.integers(1, 9, 8) * 1e9][number % 4]
        limit = [0.25, 0.5, 0.0, 0.1][number // 4 % 4]
        model = BinOCTClassifier(2, solver=solver, max_disparity=limit,
                                 constraint_form=FORMS[number % 3])
        best = fair_optimum(X, y, midpoints(X), group, limit, weight)
        report = model.fit(X, y, weight, protected=np.array(["a", "b"])[group]).report_
        near, exact = PROOF * weight.sum(), model.verify(X, y, weight)
        assert abs(exact - report.objective) <= 1e-3 * near
        assert report.lower_bound - near <= best <= report.objective + near
        assert (report.status == "optimal") == (report.objective - report.lower_bound <= near)
        if number % 4 < 2:
            assert report.status == "optimal"
            assert report.objective == pytest.approx(best, abs=1e-6)
            assert exact == pytest.approx(best, abs=1e-6)
        given = model.predict(X) == 1
        shares = [np.average(given[group == g], weights=weight[group == g]) for g in (0, 1)]
        assert report.counters["disparity"] == pytest.approx(abs(shares[0] - shares[1]))


def test_the_limit_on_disparity_is_that_of_murtree():
    random = np.random.default_rng(41)
    for limit in (0.0, 0.1, 0.3):
        X, y = random.integers(0, 2, (16, 3)).astype(float), random.integers(0, 2, 16)
        group = random.integers(0, 2, 16)
        fair = MurTreeClassifier(2, max_disparity=limit).fit(X, y, protected=group).report_
        report = BinOCTClassifier(2, max_disparity=limit).fit(X, y, protected=group).report_
        assert report.status == fair.status == "optimal"
        assert report.objective == fair.objective


def test_the_neighbourhood_search_keeps_the_limits():
    random = np.random.default_rng(46)
    X, y = random.normal(size=(60, 4)).round(1), random.integers(0, 2, 60)
    model = BinOCTClassifier(3, solver="lns", max_nodes=4, min_samples_leaf=5, split_penalty=0.5,
                             time_limit=3, random_state=0).fit(X, y)
    assert model.tree_.n_splits <= 4
    assert np.unique(model.apply(X), return_counts=True)[1].min() >= 5
    assert model.report_.counters["gain"] >= 0
    assert model.verify(X, y) == pytest.approx(model.report_.objective)


@pytest.mark.parametrize("form", FORMS)
def test_every_tree_is_a_solution_with_its_errors(form):
    random = np.random.default_rng(50)
    for _ in range(40):
        X, y = instance(random, int(random.integers(2, 30)), int(random.integers(1, 5)), 3,
                        int(random.integers(2, 12)))
        if not any(map(len, midpoints(X))):
            continue
        depth = int(random.integers(1, 4))
        ranked = RankedRows(X, y, y.max() + 1)
        which = random.choice(["all", "boundary"])
        cuts = candidate_cuts(ranked, which, max_depth=depth)
        if not any(map(len, cuts)):
            continue
        model = BinOCTModel(ranked, cuts, depth, form)
        splits = random_splits(random, model)
        label = random.integers(0, y.max() + 1, model.n_leaves)
        x = model.encode(splits, label)
        assert model.model.violated(x) is None
        assert model.model.evaluate(x) == objective(model, splits, label)
        again = model.decode(x + random.uniform(-1e-6, 1e-6, len(x)))
        assert np.array_equal(again[0], splits)
        assert np.array_equal(again[1], label)
        tree = from_full_tree(splits, label, ranked, cuts)
        assert (tree.predict(X) != y).sum() == objective(model, splits, label)
        # and back: what the tree says is what its full form says
        full = to_full_tree(tree, ranked, cuts, depth)
        assert objective(model, *full) == objective(model, splits, label)


def test_a_row_in_a_wrong_leaf_is_no_solution():
    random = np.random.default_rng(60)
    for form in ("summed", "per_row", "ordered"):
        for _ in range(20):
            X, y = instance(random, 9, 3, 2)
            ranked = RankedRows(X, y, 2)
            cuts = candidate_cuts(ranked, "all", max_depth=2)
            if not any(map(len, cuts)):
                continue
            model = BinOCTModel(ranked, cuts, 2, form)
            splits = random_splits(random, model)
            x = model.encode(splits, best_labels(model, splits))
            row, leaf = random.integers(9), random.integers(4)
            if leaf == route(splits, model.positions)[row]:
                continue
            x[model.l[row]] = 0
            x[model.l[row, leaf]] = 1
            # so that only routing can be violated
            x[model.e] = np.minimum(9, model.model.arrays()["upper"][model.e])
            assert model.model.violated(x).startswith(
                ("upper", "lower", "outside", "left", "right"))


def test_n_jobs_is_used_and_the_solvers_bound_reported():
    X, y = EIGHT[:, :4], EIGHT[:, 4]
    best = optimum(X, y, np.ones(8), midpoints(X), 1)
    report = check(BinOCTClassifier(1, n_jobs=2), X, y, best)
    assert report.counters["solver_bound"] == best


def test_search_tree_over_thresholds():
    for n in range(1, 40):
        found = threshold_tree_nodes(0, n - 1)
        assert len(found) == n - 1
        assert max((len(path) + 1 for path, _, _ in found), default=0) == int(
            np.ceil(np.log2(n)))
        for position in range(n):
            code = threshold_bits(position, n)
            assert read_bits(code + [0, 1], n) == position
            assert len(code) <= np.ceil(np.log2(n))
    assert threshold_tree_nodes(0, 1) == [((), (0, 0), (1, 1))]
    assert threshold_tree_nodes(0, 2) == [((), (0, 1), (2, 2)), ((0,), (0, 0), (1, 1))]


def test_counts_are_those_of_the_formulation():
    X = np.random.default_rng(0).integers(0, 9, (60, 5)).astype(float)
    y = np.random.default_rng(1).integers(0, 3, 60)
    for depth in (1, 2, 3):
        built = BinOCTClassifier(depth).formulate(X, y)
        many, nodes, leaves = np.array([8] * 5), 2**depth - 1, 2**depth
        sizes = built.model.sizes()
        binaries = nodes * (5 + 3) + leaves * 3        # three bits number eight thresholds
        assert sizes["integer"] - leaves * 3 == binaries        # e is declared integer, too
        assert sizes["continuous"] == 60 * leaves
        assert sizes["rows"] == 60 + 2 * nodes * 35 + nodes * 5 + nodes + leaves + leaves * 3
        assert many.sum() == built.n_cuts.sum()


@pytest.mark.parametrize("n_thresholds", [1, 2, 3, 4, 5, 8, 9, 16])
def test_no_bit_is_idle(n_thresholds):
    """As many bits as it takes to number the thresholds, and each of them is in a constraint."""
    X = np.arange(n_thresholds + 1.0)[:, None]
    y = np.arange(n_thresholds + 1) % 2
    for form in ("summed", "per_row"):
        model = BinOCTClassifier(1, search=OWN, constraint_form=form)
        built = model.formulate(X, y)
        assert built.t.shape == (1, int(np.ceil(np.log2(n_thresholds))))
        assert set(built.t.ravel()) <= set(built.model.matrix.indices)
        best = optimum(X, y, np.ones(len(y)), midpoints(X), 1)
        for solver in ("highs", "cp-sat"):
            check(model.set_params(solver=solver), X, y, best)


def test_linear_relaxation_is_zero_where_leaves_suffice():
    X, y = load("monk1_full").X, load("monk1_full").y
    for form in FORMS:
        assert BinOCTClassifier(1, constraint_form=form).formulate(X, y).model.relax(
            ).objective == pytest.approx(0, abs=1e-6)
    three = np.arange(len(y)) % 3
    assert BinOCTClassifier(1).formulate(X, three).model.relax().objective > 1


@pytest.mark.parametrize("solver", ["highs", "cp-sat"])
def test_boundary_thresholds_lose_the_optimum_at_depth_two(solver):
    X, y = EIGHT[:, :4], EIGHT[:, 4]
    options = dict(solver=solver, search=OWN, start=None)
    report = check(BinOCTClassifier(2, **options), X, y, 0)
    assert report.proof == "optimal for the 6 thresholds at depth 2"
    report = check(BinOCTClassifier(2, thresholds="boundary", **options), X, y, 1)
    assert report.proof == "optimal for the 5 boundary thresholds at depth 2"


def test_candidates():
    ranked = RankedRows(EIGHT[:, :4].astype(float), EIGHT[:, 4], 2)
    assert [list(c) for c in candidate_cuts(ranked, "all", max_depth=2)] == [
        [0, 1, 2], [0], [0], [0]]
    assert [list(c) for c in candidate_cuts(ranked, "boundary", max_depth=2)] == [
        [0, 2], [0], [0], [0]]
    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, 3)) * 1e-9 + 1.0, random.integers(0, 2, 60)
    ranked = RankedRows(X, y, 2)
    forest = candidate_cuts(ranked, "forest", max_depth=2, random_state=0)
    assert 0 < sum(map(len, forest)) <= 60
    assert all(0 <= c.min() and c.max() < 59 for c in forest if len(c))
    tree = CARTClassifier(2, random_state=0).fit(X, y).tree_
    more = candidate_cuts(ranked, "forest", max_depth=2, random_state=0, trees=[tree])
    for f, t in zip(tree.feature, tree.threshold, strict=True):
        assert f < 0 or cut_below(ranked, f, t) in more[f]


@pytest.mark.parametrize("solver", ["highs", "cp-sat", "lns"])
@pytest.mark.parametrize("start", ["cart", "local-search"])
@pytest.mark.parametrize("thresholds", ["boundary", "forest"])
def test_never_worse_than_the_start(solver, start, thresholds):
    random = np.random.default_rng(70)
    X, y = random.normal(size=(60, 4)).round(1), random.integers(0, 3, 60)
    model = BinOCTClassifier(2, solver=solver, start=start, thresholds=thresholds,
                             time_limit=0.5, random_state=0).fit(X, y)
    counters = model.report_.counters
    assert model.report_.start == start
    assert counters["gain"] == counters["start_objective"] - model.report_.objective >= 0
    assert model.report_.events[0][1] >= counters["start_objective"]    # filled up since
    known = CARTClassifier(2, random_state=0).fit(X, y).report_.objective
    assert counters["start_objective"] <= known
    assert model.verify(X, y) == model.report_.objective
    best = ContinuousTreeClassifier(2).fit(X, y).report_.objective
    assert model.report_.lower_bound <= best <= model.report_.objective


def test_a_given_tree_is_the_start():
    X, y = EIGHT[:, :4].astype(float), EIGHT[:, 4]
    best = BinOCTClassifier(2).fit(X, y).tree_
    model = BinOCTClassifier(2, start=best, thresholds="boundary").fit(X, y)
    assert model.report_.start == "tree"
    assert model.report_.counters["start_objective"] == 0     # its thresholds are added
    snapped = BinOCTClassifier(2, start=best, thresholds="boundary",
                               search=OWN).fit(X, y)
    assert snapped.report_.objective == 0                     # the start itself comes back
    with pytest.raises(ValueError, match="start is a tree of depth 2 and max_depth is 1"):
        BinOCTClassifier(1, start=best).fit(X, y)
    # a feature that separates nothing but rows of one class has no candidate
    X = np.array([[0.0, 0], [1, 0], [2, 1], [3, 1], [3, 0]])
    y = np.array([1, 1, 1, 1, 0])
    odd = DecisionTree.from_nested((0, 0.5, 0, (1, 0.5, 0, 1)), n_classes=2)
    with pytest.raises(ValueError, match="start tests feature 0, which has no candidate"):
        to_full_tree(odd, RankedRows(X, y, 2), [np.zeros(0, int), np.array([0])], 2)


@pytest.mark.parametrize("form", FORMS)
def test_nasty_features(form):
    # one threshold, none, and values that float32 cannot tell apart
    X = np.array([[0.0, 7, 1 + 1e-12], [0, 7, 1 + 2e-12], [1, 7, 1], [1, 7, 1 + 3e-12]])
    y = np.array(["b", "a", "a", "b"])
    for solver in ("highs", "cp-sat"):
        model = BinOCTClassifier(2, constraint_form=form, solver=solver).fit(X, y)
        assert model.report_.objective == 0
        assert list(model.predict(X)) == list(y)
        values = np.unique(X[:, 2])
        for t in model.tree_.threshold[model.tree_.feature == 2]:
            below = np.searchsorted(values, t, side="right")
            assert t == 0.5 * values[below - 1] + 0.5 * values[below]


def test_no_split_is_possible():
    for solver in ("highs", "cp-sat", "lns"):
        for depth, X in ((2, np.ones((5, 2))), (0, np.arange(10.0).reshape(5, 2))):
            model = BinOCTClassifier(depth, solver=solver).fit(X, [0, 1, 1, 0, 1])
            assert model.report_.status == "optimal"
            assert model.report_.objective == 2
            assert model.tree_.n_nodes == 1
    alike = BinOCTClassifier(0, max_disparity=0.5).fit(
        [[0], [1], [1]], [0, 1, 1], protected=[0, 1, 1])
    assert (alike.report_.objective, alike.report_.status) == (1, "optimal")
    with pytest.raises(ValueError, match="no model is needed"):
        BinOCTClassifier(1).formulate(np.ones((5, 2)), [0, 1, 1, 0, 1])


def test_branching_priorities():
    X, y = EIGHT[:, :4], EIGHT[:, 4]
    check(BinOCTClassifier(2, solver="cp-sat"), X, y, 0)
    priorities = BinOCTClassifier(2).formulate(X, y).priorities()
    built = BinOCTClassifier(2).formulate(X, y)
    assert priorities[built.f[0]].tolist() == [101] * 4
    assert priorities[built.t[1:]].max() == priorities[built.t[1:]].min() == 98
    assert (priorities[built.p] == 10).all()
    assert not priorities[built.l].any()


def hard(n=300):
    random = np.random.default_rng(0)
    return random.normal(size=(n, 8)), random.integers(0, 3, n)


def test_without_a_solution_cart_comes_back():
    X, y = hard()
    model = BinOCTClassifier(3, start=None, time_limit=0.02, random_state=0).fit(X, y)
    assert model.report_.status == "time_limit"
    assert model.report_.start is None
    assert model.report_.counters["fallback"] == 1
    assert "cart, as the solver found no tree" in list(model.report_.trace.event)
    assert model.report_.objective == CARTClassifier(3, random_state=0).fit(
        X, y).report_.objective


def test_a_tree_that_costs_less_than_the_solver_said_is_the_solver_s(monkeypatch):
    # On a page "87, CART's" stood where CART makes 91 errors: leaves are labelled anew.
    solve = Model.solve

    def early(self, *arguments, **options):
        found = solve(self, *arguments, **options)
        return Solution("time_limit", found.values, found.objective + 1,
                        events=[(0.0, found.objective + 1, 0.0, "incumbent")])

    monkeypatch.setattr(Model, "solve", early)
    X, y = EIGHT[:, :4], EIGHT[:, 4]
    report = BinOCTClassifier(2, start=None).fit(X, y).report_
    assert report.objective == 0 < CARTClassifier(2).fit(X, y).report_.objective
    assert "fallback" not in report.counters
    assert not report.trace.event.str.startswith("cart").any()


def test_killed_solver_leaves_the_start(monkeypatch):
    kill_the_solver(monkeypatch)
    X, y = hard()
    model = BinOCTClassifier(3, time_limit=60.0).fit(X, y)
    assert model.report_.status == "memory_limit"
    assert model.report_.counters["gain"] == 0
    assert "the solver's process ended with -9" in list(model.report_.trace.event)


def test_a_solver_that_fails_leaves_the_start(monkeypatch):
    def fails(arrays, options, send, stop):
        send(("done", "Solve error", np.inf, -np.inf, None, {}))

    monkeypatch.setitem(_run.ENGINES, "highs", fails)
    X, y = EIGHT[:, :4], EIGHT[:, 4]
    model = BinOCTClassifier(1).fit(X, y)
    assert model.report_.status == "heuristic"
    assert "Solve error" in list(model.report_.trace.event)
    assert model.report_.objective == CARTClassifier(1).fit(X, y).report_.objective


def test_no_choice_for_a_node_and_its_children_improves():
    random = np.random.default_rng(80)
    for _ in range(8):
        X, y = instance(random, 20, 3, 2, 6)
        rows = RankedRows(X, y, 2)
        cuts = candidate_cuts(rows, "all", max_depth=2)
        start = CARTClassifier(2, random_state=0).fit(X, y)
        search, found = NeighbourhoodSearch(rows, cuts, 2), []
        search.run(start.tree_, Clock(), lambda *tree, found=found: found.append(tree),
                   random_state=0)
        model = BinOCTModel(rows, cuts, 2)
        value = objective(model, search.splits, search.label)
        assert value <= start.report_.objective
        assert (len(found) > 0) == (value < start.report_.objective)
        splits = [(f, s) for f, own in enumerate(cuts) for s in range(len(own))]
        for nodes in product(splits, repeat=3):
            tree = np.array(nodes)
            assert objective(model, tree, best_labels(model, tree)) >= value


@pytest.mark.parametrize("group", [None, 0])
def test_neighbourhood_search(group):
    random = np.random.default_rng(81)
    X = np.column_stack([np.arange(40) % 2, random.normal(size=(40, 3)).round(1)])
    y = random.integers(0, 2, 40)
    model = BinOCTClassifier(3, solver="lns", max_disparity=None if group is None else 0.2,
                             time_limit=4, random_state=0).fit(
        X, y, protected=None if group is None else X[:, group])
    assert model.report_.counters["gain"] > 0
    assert model.report_.counters["neighbourhoods"] > 0
    assert model.report_.status in ("heuristic", "time_limit")
    model.verify(X, y)
    with pytest.raises(ValueError, match="solver='lns' improves a tree; give a start"):
        BinOCTClassifier(2, solver="lns", start=None).fit(X, y)


def test_errors_say_what_to_do(monkeypatch):
    X, y = hard(30)
    with pytest.raises(ValueError, match="class_weight holds a negative number"):
        BinOCTClassifier(class_weight={0: -1}).fit(X, y)
    with pytest.raises(ValueError, match="protected belong together"):
        BinOCTClassifier(max_disparity=0.1).fit(X, y > 0)
    with pytest.raises(ValueError, match="protected belong together"):
        BinOCTClassifier().fit(X, y > 0, protected=X[:, 0] > 0)
    with pytest.raises(ValueError, match="protected has 30 distinct values and y 2 classes"):
        BinOCTClassifier(max_disparity=0.5).fit(X, y > 0, protected=X[:, 0])
    monkeypatch.setattr(binoct_model, "MAX_NONZEROS", 1000)
    with pytest.raises(ValueError, match="constraint_form='summed' needs 0 million nonzeros"):
        BinOCTClassifier(2).fit(X, y)


def test_verbose_prints_better_trees(capsys):
    X, y = EIGHT[:, :4], EIGHT[:, 4]
    BinOCTClassifier(2, verbose=1).fit(X, y)
    assert "objective 0" in capsys.readouterr().out
