"""BinOCT against enumeration: every form, both solvers, and the search over pairs of nodes."""

from __future__ import annotations

import os
import pickle
import signal
from itertools import product

import numpy as np
import pytest
from interrupt import ctrl_c
from milp.reference import boundary, fair_optimum, instance, midpoints, optimum
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from odtlib import BinOCTClassifier, CARTClassifier, ContinuousTreeClassifier, DecisionTree
from odtlib.datasets import load
from odtlib.heuristics._ranks import RankedRows
from odtlib.milp import binoct_model
from odtlib.milp.binoct_model import FORMS, BinOCTModel, bins, read_bits, threshold_bits
from odtlib.milp.lns import NeighbourhoodSearch
from odtlib.milp.thresholds import candidate_cuts, cut_below, heap_of
from odtlib.mip import run as _run
from odtlib.report import Clock

# rows (features | class) of which boundary thresholds lose one
EIGHT = np.array([[3, 0, 1, 1, 0], [2, 0, 0, 0, 0], [4, 1, 1, 1, 0], [1, 1, 1, 1, 1],
                  [4, 0, 1, 0, 0], [4, 0, 0, 1, 1], [2, 0, 0, 0, 0], [1, 1, 1, 0, 0]])


def draw(random, depths=(1, 1, 2)):
    depth = int(random.choice(depths))
    n_rows = int(random.integers(2, 13 if depth == 1 else 9))
    n_features = int(random.integers(1, 4 if depth == 1 else 3))
    return depth, *instance(random, n_rows, n_features, int(random.integers(2, 4)),
                            5 if depth == 1 else 4)


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


def random_heap(random, model):
    usable = np.flatnonzero(model.n_cuts)
    feature = random.choice(usable, model.n_nodes)
    return np.column_stack([feature, [random.integers(model.n_cuts[f]) for f in feature]])


@pytest.mark.parametrize("solver", ["highs", "cp-sat"])
@pytest.mark.parametrize("rows", FORMS)
@pytest.mark.parametrize("thresholds", ["all", "boundary"])
def test_equals_enumeration(solver, rows, thresholds):
    random = np.random.default_rng(FORMS.index(rows))
    for _ in range(45):
        depth, X, y = draw(random)
        own = midpoints(X) if thresholds == "all" else boundary(X, y)
        if not any(map(len, own)):
            own = midpoints(X)
        best = optimum(X, y, np.ones(len(y)), own, depth)
        model = BinOCTClassifier(depth, solver=solver, rows=rows, thresholds=thresholds,
                                 add_thresholds=False, start=None)
        check(model, X, y, best)


@pytest.mark.parametrize("solver", ["highs", "cp-sat"])
@pytest.mark.parametrize("rows", FORMS)
def test_depth_three_equals_the_continuous_solver(solver, rows):
    random = np.random.default_rng(10 + FORMS.index(rows))
    for _ in range(2):
        X, y = instance(random, 7, 2, 3, 3)
        best = ContinuousTreeClassifier(3).fit(X, y).report_.objective
        check(BinOCTClassifier(3, solver=solver, rows=rows, start="cart"), X, y, best)


@pytest.mark.parametrize("solver", ["highs", "cp-sat"])
@pytest.mark.parametrize("rows", FORMS)
def test_weights_and_costs_equal_enumeration(solver, rows):
    random = np.random.default_rng(20 + FORMS.index(rows))
    for i in range(12):
        depth, X, y = draw(random)
        weight = random.integers(0, 4, len(y)).astype(float)
        weight[:2] += 1
        weight *= [1.0, 0.5, 0.1][i % 3]
        costs = {int(c): float(random.integers(1, 4)) for c in np.unique(y)}
        cost = weight * np.array([costs[c] for c in y])
        best = optimum(X, y, cost, midpoints(X), depth)
        model = BinOCTClassifier(depth, solver=solver, rows=rows, class_costs=costs)
        check(model, X, y, best, weight)


def test_any_weights_equal_enumeration_with_highs():
    random = np.random.default_rng(30)
    for _ in range(25):
        depth, X, y = draw(random)
        weight = random.random(len(y))
        best = optimum(X, y, weight, midpoints(X), depth)
        model = BinOCTClassifier(depth, start=None).fit(X, y, weight)
        assert model.report_.objective == pytest.approx(best, rel=1e-6)
        assert model.report_.lower_bound <= best + 1e-6
        model.verify(X, y, weight)
    with pytest.raises(ValueError, match="no small common denominator, which CP-SAT needs"):
        BinOCTClassifier(solver="cp-sat").fit(X, y, weight)


@pytest.mark.parametrize("solver", ["highs", "cp-sat"])
def test_equal_treatment_equals_enumeration(solver):
    random = np.random.default_rng(40)
    for _ in range(6):
        X = np.column_stack([random.integers(0, 3, 8), np.arange(8) % 2]).astype(float)
        y = np.array([0, 1, *random.integers(0, 2, 6)])
        price = float(random.choice([0.25, 0.5, 2.0]))
        model = BinOCTClassifier(2, solver=solver, group_feature=1, group_price=price)
        best = fair_optimum(X, y, midpoints(X), X[:, 1].astype(int), price * len(y))
        model.fit(X, y)
        assert model.report_.status == "optimal"
        assert model.report_.objective == pytest.approx(best, abs=1e-6)
        assert model.verify(X, y) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("rows", FORMS)
def test_every_tree_is_a_solution_with_its_errors(rows):
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
        model = BinOCTModel(ranked, cuts, depth, rows)
        heap = random_heap(random, model)
        label = random.integers(0, y.max() + 1, model.n_leaves)
        x = model.encode(heap, label)
        assert model.model.violated(x) is None
        assert model.model.evaluate(x) == model.objective(heap, label)
        again = model.decode(x + random.uniform(-1e-6, 1e-6, len(x)))
        assert np.array_equal(again[0], heap)
        assert np.array_equal(again[1], label)
        tree = model.tree(heap, label)
        assert (tree.predict(X) != y).sum() == model.objective(heap, label)
        # and back: what the tree says is what its full form says
        full = model.heap(tree)
        assert model.objective(*full) == model.objective(heap, label)


def test_a_row_in_a_wrong_leaf_is_no_solution():
    random = np.random.default_rng(60)
    for rows in ("summed", "per_row", "ordered"):
        for _ in range(20):
            X, y = instance(random, 9, 3, 2)
            ranked = RankedRows(X, y, 2)
            cuts = candidate_cuts(ranked, "all", max_depth=2)
            if not any(map(len, cuts)):
                continue
            model = BinOCTModel(ranked, cuts, 2, rows)
            heap = random_heap(random, model)
            x = model.encode(heap, model.best_labels(heap))
            row, leaf = random.integers(9), random.integers(4)
            if leaf == model.route(heap)[row]:
                continue
            x[model.l[row]] = 0
            x[model.l[row, leaf]] = 1
            # so that only routing can be violated
            x[model.e] = np.minimum(9, model.model.arrays()["upper"][model.e])
            assert model.model.violated(x).startswith(
                ("upper", "lower", "outside", "left", "right"))


def test_the_relaxation_and_threads_are_reported_and_used():
    X, y = EIGHT[:, :4], EIGHT[:, 4]
    best = optimum(X, y, np.ones(8), midpoints(X), 1)
    report = check(BinOCTClassifier(1, relaxation=True, threads=2), X, y, best)
    assert report.counters["lp_bound"] == pytest.approx(0, abs=1e-6)
    assert report.counters["solver_bound"] == best
    three = np.arange(8) % 3
    report = BinOCTClassifier(1, relaxation=True).fit(X, three).report_
    assert 0 < report.counters["lp_bound"] <= report.objective


def test_search_tree_over_thresholds():
    for n in range(1, 40):
        found = bins(0, n - 1)
        assert len(found) == n - 1
        assert max((len(path) + 1 for path, _, _ in found), default=0) == int(
            np.ceil(np.log2(n)))
        for position in range(n):
            code = threshold_bits(position, n)
            assert read_bits(code + [0, 1], n) == position
            assert len(code) <= 1 + int(np.log2(n))
    assert bins(0, 1) == [((), (0, 0), (1, 1))]
    assert bins(0, 2) == [((), (0, 1), (2, 2)), ((0,), (0, 0), (1, 1))]


def test_counts_are_those_of_the_formulation():
    X = np.random.default_rng(0).integers(0, 9, (60, 5)).astype(float)
    y = np.random.default_rng(1).integers(0, 3, 60)
    for depth in (1, 2, 3):
        built = BinOCTClassifier(depth).formulate(X, y)
        many, nodes, leaves = np.array([8] * 5), 2**depth - 1, 2**depth
        sizes = built.model.sizes()
        binaries = nodes * (5 + 1 + 3) + leaves * 3
        assert sizes["integer"] - leaves * 3 == binaries        # e is declared integer, too
        assert sizes["continuous"] == 60 * leaves
        assert sizes["rows"] == 60 + 2 * nodes * 35 + nodes * 5 + nodes + leaves + leaves * 3
        assert many.sum() == built.n_cuts.sum()


def test_linear_relaxation_is_zero_where_leaves_suffice():
    X, y = load("monk1_full").X, load("monk1_full").y
    for rows in FORMS:
        assert BinOCTClassifier(1, rows=rows).formulate(X, y).model.relax(
            ).objective == pytest.approx(0, abs=1e-6)
    three = np.arange(len(y)) % 3
    assert BinOCTClassifier(1).formulate(X, three).model.relax().objective > 1


@pytest.mark.parametrize("solver", ["highs", "cp-sat"])
def test_boundary_thresholds_lose_the_optimum_at_depth_two(solver):
    X, y = EIGHT[:, :4], EIGHT[:, 4]
    options = dict(solver=solver, add_thresholds=False, start=None)
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
                               add_thresholds=False).fit(X, y)
    assert snapped.report_.objective == 0                     # the start itself comes back
    with pytest.raises(ValueError, match="start is a tree of depth 2 and max_depth is 1"):
        BinOCTClassifier(1, start=best).fit(X, y)
    # a feature that separates nothing but rows of one class has no candidate
    X = np.array([[0.0, 0], [1, 0], [2, 1], [3, 1], [3, 0]])
    y = np.array([1, 1, 1, 1, 0])
    odd = DecisionTree.from_nested((0, 0.5, 0, (1, 0.5, 0, 1)), n_classes=2)
    with pytest.raises(ValueError, match="start tests feature 0, which has no candidate"):
        heap_of(odd, RankedRows(X, y, 2), [np.zeros(0, int), np.array([0])], 2)


@pytest.mark.parametrize("rows", FORMS)
def test_nasty_features(rows):
    # one threshold, none, and values that float32 cannot tell apart
    X = np.array([[0.0, 7, 1 + 1e-12], [0, 7, 1 + 2e-12], [1, 7, 1], [1, 7, 1 + 3e-12]])
    y = np.array(["b", "a", "a", "b"])
    for solver in ("highs", "cp-sat"):
        model = BinOCTClassifier(2, rows=rows, solver=solver).fit(X, y)
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
    alike = BinOCTClassifier(0, group_feature=0, group_price=9.0).fit([[0], [1], [1]], [0, 1, 1])
    assert (alike.report_.objective, alike.report_.status) == (1, "optimal")
    with pytest.raises(ValueError, match="no model is needed"):
        BinOCTClassifier(1).formulate(np.ones((5, 2)), [0, 1, 1, 0, 1])


def test_branching_priorities():
    X, y = EIGHT[:, :4], EIGHT[:, 4]
    check(BinOCTClassifier(2, solver="cp-sat", priorities=True), X, y, 0)
    priorities = BinOCTClassifier(2).formulate(X, y).priorities()
    built = BinOCTClassifier(2).formulate(X, y)
    assert priorities[built.f[0]].tolist() == [101] * 4
    assert priorities[built.t[1:]].max() == priorities[built.t[1:]].min() == 98
    assert (priorities[built.p] == 10).all()
    assert not priorities[built.l].any()
    with pytest.raises(ValueError, match="branching priorities need solver='cp-sat'"):
        BinOCTClassifier(2, priorities=True).fit(X, y)


def hard(n=300):
    random = np.random.default_rng(0)
    return random.normal(size=(n, 8)), random.integers(0, 3, n)


@pytest.mark.parametrize("solver", ["highs", "cp-sat", "lns"])
def test_time_limit_returns_the_best_so_far(solver):
    X, y = hard()
    model = BinOCTClassifier(3, solver=solver, time_limit=1.0, random_state=0).fit(X, y)
    assert model.report_.status == "time_limit"
    assert model.report_.objective <= CARTClassifier(3, random_state=0).fit(
        X, y).report_.objective
    assert 0 <= model.report_.lower_bound <= model.report_.objective
    model.verify(X, y)
    trace = model.report_.trace
    assert trace.incumbent.is_monotonic_decreasing
    assert trace.bound.is_monotonic_increasing


def test_without_a_solution_cart_comes_back():
    X, y = hard()
    model = BinOCTClassifier(3, start=None, time_limit=0.02, random_state=0).fit(X, y)
    assert model.report_.status == "time_limit"
    assert model.report_.start is None
    assert model.report_.counters["fallback"] == 1
    assert "cart, as the solver found no tree" in list(model.report_.trace.event)
    assert model.report_.objective == CARTClassifier(3, random_state=0).fit(
        X, y).report_.objective


def test_killed_solver_leaves_the_start(monkeypatch):
    class Killed(_run.InChild):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            os.kill(self.process.pid, signal.SIGKILL)

    monkeypatch.setattr(_run, "InChild", Killed)
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


@pytest.mark.parametrize("solver", ["highs", "cp-sat", "lns"])
def test_interrupt_returns_the_best_so_far(solver, monkeypatch):
    X, y = hard()
    with ctrl_c() as timer:
        def pressing(kind):
            class Pressed(kind):
                def __init__(self, *arguments):
                    super().__init__(*arguments)
                    if timer.ident is None:         # once, while the first solver works
                        timer.start()
            return Pressed

        for name in ("InThread", "InChild"):
            monkeypatch.setattr(_run, name, pressing(getattr(_run, name)))
        model = BinOCTClassifier(3, solver=solver, time_limit=60.0).fit(X, y)
    assert model.report_.status == "interrupted"
    model.verify(X, y)


def test_no_pair_of_nodes_is_left_that_improves():
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
        value = model.objective(search.heap, search.label)
        assert value <= start.report_.objective
        assert (len(found) > 0) == (value < start.report_.objective)
        splits = [(f, s) for f, own in enumerate(cuts) for s in range(len(own))]
        for below in (1, 2):
            for one, other in product(splits, repeat=2):
                heap = search.heap.copy()
                heap[0], heap[below] = one, other
                assert model.objective(heap, model.best_labels(heap)) >= value


@pytest.mark.parametrize("group", [None, 0])
def test_search_over_pairs(group):
    random = np.random.default_rng(81)
    X = np.column_stack([np.arange(40) % 2, random.normal(size=(40, 3)).round(1)])
    y = random.integers(0, 2, 40)
    model = BinOCTClassifier(3, solver="lns", group_feature=group, group_price=0.5, time_limit=4,
                             random_state=0).fit(X, y)
    assert model.report_.counters["gain"] > 0
    assert model.report_.counters["neighbourhoods"] > 0
    assert model.report_.status in ("heuristic", "time_limit")
    model.verify(X, y)
    with pytest.raises(ValueError, match="solver='lns' improves a tree; give a start"):
        BinOCTClassifier(2, solver="lns", start=None).fit(X, y)


def test_errors_say_what_to_do(monkeypatch):
    X, y = hard(30)
    with pytest.raises(ValueError, match="class_costs has -1 for 0"):
        BinOCTClassifier(class_costs={0: -1}).fit(X, y)
    with pytest.raises(ValueError, match="class_costs names 9, which is no class of y"):
        BinOCTClassifier(class_costs={9: 1}).fit(X, y)
    with pytest.raises(ValueError, match="all weights or costs are zero"):
        BinOCTClassifier(class_costs={0: 0, 1: 0, 2: 0}).fit(X, y)
    with pytest.raises(ValueError, match="group_feature is 8 and X has 8 columns"):
        BinOCTClassifier(group_feature=8, group_price=1.0).fit(X, y > 0)
    with pytest.raises(ValueError, match="group_feature is 99 and X has 8 columns"):
        BinOCTClassifier(group_feature=99).fit(X, y > 0)
    with pytest.raises(ValueError, match="class_costs has 'a' for 0; give a number"):
        BinOCTClassifier(class_costs={0: "a"}).fit(X, y)
    with pytest.raises(ValueError, match="group_feature needs a column with two values"):
        BinOCTClassifier(group_feature=1, group_price=1.0).fit(X, y > 0)
    with pytest.raises(ValueError, match="HiGHS has no option 'speed'"):
        BinOCTClassifier(1, settings={"speed": 1}).fit(X, y)
    monkeypatch.setattr(binoct_model, "LARGEST", 1000)
    with pytest.raises(ValueError, match="the form rows='summed' needs 0 million nonzeros"):
        BinOCTClassifier(2).fit(X, y)


def test_verbose_prints_better_trees(capsys):
    X, y = EIGHT[:, :4], EIGHT[:, 4]
    BinOCTClassifier(2, verbose=1).fit(X, y)
    assert "objective 0" in capsys.readouterr().out


def test_string_labels_pickle_and_clone():
    X, y = EIGHT[:, :4], np.array(["no", "yes"])[EIGHT[:, 4]]
    model = BinOCTClassifier(2, class_costs={"yes": 2}).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    assert copy.tree_ == model.tree_
    assert copy.verify(X, y) == model.report_.objective == 0
    assert clone(model).get_params() == model.get_params()


def test_scikit_learn_checks():
    # the interface is what these look at, so the solver only checks the start
    check_estimator(BinOCTClassifier(2, settings={"mip_max_nodes": 0}))
