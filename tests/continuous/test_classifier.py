"""ContinuousTreeClassifier against enumeration, known optima, and its own certificates."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from continuous.reference import instance, optimum
from estimators import in_small_slices, on_a_slow_computer

from odtbook.datasets import load
from odtlib import ContinuousTreeClassifier
from odtlib._tree_kernels import apply, sum_nodes
from odtlib.continuous import _columns, _kernels, solver
from odtlib.continuous import classifier as module
from odtlib.heuristics._kernels import search
from odtlib.heuristics.start import starting_tree
from odtlib.report import Clock, TimeUp
from odtlib.tolerance import PROOF, ROUNDING

KERNELS = [_kernels.search, _kernels.rebuild_pair, _columns.pack_column, _columns.sort_column,
           apply, sum_nodes, search]

# errors of the best tree, from two other solvers (ConTree 1.0.8 and a prototype)
KNOWN = {
    2: {"bank": 100, "raisin": 109, "wilt": 138, "rice": 257, "segment": 990, "bidding": 113,
        "fault": 803, "page": 253, "occupancy": 208, "room": 559, "htru": 369, "magic": 3746,
        "eeg": 4956, "avila": 9617},
    3: {"bank": 23, "wilt": 88, "raisin": 94, "room": 80, "segment": 278, "bidding": 50,
        "page": 168, "rice": 243, "occupancy": 185},
    4: {"bank": 0, "wilt": 50},
}


def draw(random, depths=(2, 3, 4)):
    """Draw an instance whose size enumeration can manage at the drawn depth."""
    depth = int(random.choice(depths))
    n_rows = int(random.integers(2, {0: 40, 1: 40, 2: 40, 3: 22, 4: 14}[depth]))
    n_features = int(random.integers(1, 5 if depth < 4 else 4))
    X, y = instance(random, n_rows, n_features, int(random.integers(2, 6)))
    y[:2] = 0, 1
    return depth, X, y


def check(model, X, y, expected, weight=None):
    """Fit and compare: the objective, the tree's own errors, the shape of the tree."""
    model.fit(X, y, weight)
    report = model.report_
    assert report.status == "optimal"
    assert report.objective == report.lower_bound
    assert report.objective == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert model.verify(X, y, weight) == pytest.approx(report.objective, rel=1e-12)
    assert model.tree_.depth <= model.max_depth
    if weight is None:
        leaves = np.unique(model.apply(X), return_counts=True)[1]
        assert leaves.min() >= min(model.min_samples_leaf, len(y))
        assert len(leaves) == model.tree_.n_leaves


@pytest.mark.parametrize("seed", range(4))
def test_batches_of_one_and_of_two_features_equal_enumeration(seed):
    """More rows than a batch has thresholds: several rounds, with one feature left in the last."""
    random = np.random.default_rng(70 + seed)
    for _ in range(6):
        X, y = instance(random, int(random.integers(60, 130)), int(random.integers(1, 4)),
                        int(random.integers(2, 4)))
        y[:2] = 0, 1
        check(ContinuousTreeClassifier(2, start=None), X, y, optimum(X, y, 2))


@pytest.mark.parametrize("n_classes", [512, 513])
def test_more_classes_than_narrow_codes_hold(n_classes):
    X = np.random.default_rng(80).permutation(n_classes + 30)
    y = np.minimum(X, n_classes - 1)      # one leaf holds the last class, three get one row right
    check(ContinuousTreeClassifier(2, start=None), X[:, None].astype(float), y, n_classes - 4)


@pytest.mark.parametrize("wide", [False, True])
def test_sorted_columns_equal_a_sort_by_value_and_class(wide):
    random = np.random.default_rng(50)
    for round_ in range(200):
        X, y = instance(random, int(random.integers(2, 60)), 3, int(random.integers(2, 6)))
        y[:2] = 0, 1
        if round_ % 2:            # leading bits tell nothing: the column is sorted by its ranks
            X[:, 0] = 1.0 + random.permutation(len(y)) * np.spacing(1.0)
        cost = module.Costs(y, int(y.max()) + 1, None, 0.0, 1)
        arrays = solver.search_arrays(*X.shape, cost, 3, wide)
        columns = solver.SortedColumns(X, y, cost, arrays, module.Clock())
        for f, column in enumerate(X.T):
            order = np.lexsort((y, column))
            ids = np.unique(column, return_inverse=True)[1]
            assert (columns.order[0, f] == order).all()
            assert (columns.keys[f] == (ids << 16) + y).all()
            ends = np.flatnonzero(np.diff(ids[order])) + 1
            assert (columns.cut[0, f, :columns.count[0, f, 0]] == ends).all()


@pytest.mark.parametrize("weight", [None, [0.1, 0.1], [1e-12, 1e-12], [1e12, 1e12]])
@pytest.mark.parametrize("share", [0.1, 0.05, 1 / 3])
def test_objective_is_the_true_cost_and_the_bound_holds(weight, share):
    X, y = [[0.0], [1.0]], [0, 1]
    penalty = share * (2 if weight is None else sum(weight))
    report = ContinuousTreeClassifier(1, split_penalty=penalty).fit(X, y, weight).report_
    assert report.objective == report.lower_bound == penalty


def draw_weights(random, n_rows):
    """Draw weights of one of five kinds: from 1e-12 to 1e12, in one set or all of one size."""
    kind = random.integers(5)
    if kind == 0:
        return 10.0 ** random.uniform(-12, 12, n_rows)
    if kind == 1:
        return 10.0 ** random.choice([-12, -6, 0, 12], n_rows)
    size = [1.0, 1e-12, 1e12][kind - 2]
    return size * (random.random(n_rows) + 0.01 if random.random() < 0.5
                   else random.integers(1, 5, n_rows))


@pytest.mark.parametrize("seed", range(6))
def test_any_weights_and_prices_equal_exact_enumeration(seed):
    random = np.random.default_rng(470 + seed)
    for _ in range(40):
        depth, X, y = draw(random, (1, 2, 3))
        X, y = X[:16], y[:16]
        weight = draw_weights(random, len(y))
        exact = [Fraction(value) for value in weight.tolist()]
        total = float(sum(exact))
        penalty = float(random.choice([0, 0, 1e-10, 0.01, 0.1]) * weight.sum())
        least = int(random.choice([1, 1, 3]))
        max_nodes = random.choice([None, None, 2])
        price = Fraction(penalty)
        start = random.choice([None, "cart"])
        model = ContinuousTreeClassifier(
            depth, split_penalty=penalty, min_samples_leaf=least, max_nodes=max_nodes,
            start=start, random_state=0).fit(X, y, weight)
        report = model.report_
        best = optimum(X, y, depth, exact, least, price, max_nodes or 1000)
        wrong = np.flatnonzero(model.predict(X) != y)
        true = sum((exact[row] for row in wrong), price * model.tree_.n_splits)
        assert report.status == "optimal"
        assert report.objective == pytest.approx(float(true), rel=1e-12, abs=0)
        assert report.lower_bound <= float(best) + ROUNDING * total
        assert float(best) * (1 - 1e-12) <= report.objective <= float(best) + PROOF * total
        assert model.verify(X, y, weight) == pytest.approx(float(true), rel=5e-16, abs=0)


def test_node_budget_and_depth_meet():
    random = np.random.default_rng(460)
    X, y = random.normal(size=(150, 4)).round(1), random.integers(0, 2, 150)
    free = ContinuousTreeClassifier(3, start=None).fit(X, y)
    errors = [ContinuousTreeClassifier(3, max_nodes=nodes).fit(X, y).report_.objective
              for nodes in range(9)]
    assert (np.diff(errors) <= 0).all() and errors[7] == errors[8] == free.report_.objective
    assert errors[1] == ContinuousTreeClassifier(1).fit(X, y).report_.objective
    threads = ContinuousTreeClassifier(3, max_nodes=5, n_jobs=2).fit(X, y)
    assert threads.report_.status == "optimal" and threads.report_.objective == errors[5]
    assert "at most 5 splits" in threads.report_.proof


@pytest.mark.parametrize("start", ["cart", "local-search"])
def test_a_limited_start_keeps_the_node_budget(start, monkeypatch):
    monkeypatch.setattr("odtlib.heuristics.cart.MOMENT", np.inf)    # a slow machine grows CART too
    X, y = hard(300)
    model = ContinuousTreeClassifier(4, max_nodes=6, start=start, time_limit=1e-9).fit(X, y)
    assert model.report_.status == "time_limit"
    assert 0 < model.tree_.n_splits <= 6
    assert model.verify(X, y) == model.report_.objective < min(np.bincount(y))
    larger = ContinuousTreeClassifier(3, start=start, time_limit=1e-9).fit(X, y).tree_
    with pytest.raises(ValueError, match="raise max_nodes"):
        ContinuousTreeClassifier(3, max_nodes=2, start=larger).fit(X, y)


@pytest.mark.parametrize("seed", range(3))
def test_cache_does_not_change_the_optimum(seed, monkeypatch):
    monkeypatch.setattr(solver, "CACHED_THRESHOLDS", 1000)
    random = np.random.default_rng(650 + seed)
    hits = 0
    for round_ in range(12):
        n_rows = int(random.integers(12, 14 if round_ < 6 else 200))
        X = random.integers(0, 3, (n_rows, 4)) + (random.random((n_rows, 4)) < 0.1) * 0.5
        y = random.integers(0, 3, n_rows)
        y[:2] = 0, 1
        depth = int(random.integers(4, 6))
        options = {"start": None, "max_nodes": random.choice([None, 6]),
                   "min_samples_leaf": int(random.choice([1, 2]))}
        if round_ % 3 == 0:      # so small that it is emptied again and again
            monkeypatch.setattr(module, "CACHE_BYTES", 5000)
        with_cache = ContinuousTreeClassifier(depth, **options).fit(X, y)
        without = ContinuousTreeClassifier(depth, cache=False, **options).fit(X, y)
        monkeypatch.undo()
        monkeypatch.setattr(solver, "CACHED_THRESHOLDS", 1000)
        assert with_cache.report_.status == without.report_.status == "optimal"
        assert with_cache.report_.objective == without.report_.objective
        assert without.report_.counters["cache_stored"] == 0
        hits += with_cache.report_.counters["cache_hits"]
        if round_ < 6:
            assert with_cache.report_.objective == optimum(
                X, y, depth, min_samples_leaf=options["min_samples_leaf"],
                max_nodes=options["max_nodes"] or 1000)
    assert hits > 100


def test_cache_stays_within_its_limits():
    random = np.random.default_rng(660)
    few = random.integers(0, 3, (200, 6)).astype(float)
    many = random.normal(size=(60, 3))
    y = random.integers(0, 2, 200)
    cached = ContinuousTreeClassifier(4, start=None).fit(few, y)
    assert cached.report_.counters["cache_stored"] > 0
    assert ContinuousTreeClassifier(4, start=None).fit(
        many, y[:60]).report_.counters["cache_stored"] == 0      # subsets hardly come back
    cost = module.Costs(y, 2, None, 0.0, 1)
    exactly = solver.bytes_needed(solver.search_arrays(200, 6, cost, 4, False)) / 1e6
    tight = ContinuousTreeClassifier(4, start=None, memory_limit=exactly).fit(few, y)
    assert tight.report_.counters["cache_stored"] == 0
    assert tight.report_.objective == cached.report_.objective


def test_memory_grows_with_rows_times_features():
    for depth, wide in ((2, False), (3, False), (4, True)):
        cost = module.Costs(np.arange(5000) % 3, 3, None, 0.0, 1)
        sizes = [[solver.bytes_needed(solver.search_arrays(n, p, cost, depth, wide))
                  for n in (5000, 10_000, 20_000)] for p in (10, 20)]
        for small, middle, large in sizes:      # no more than twice as many for twice the rows
            assert middle < 2 * small and large < 2 * middle
        assert all(double < 2 * one for one, double in zip(*sizes, strict=True))
    random = np.random.default_rng(661)         # and that is what a search allocates
    X, y = random.normal(size=(3000, 6)), random.integers(0, 2, 3000)
    cost = module.Costs(y, 2, None, 0.0, 1)
    arrays = solver.search_arrays(3000, 6, cost, 4, False)
    columns = solver.SortedColumns(X, y, cost, arrays, module.Clock())
    search = solver.ThresholdSearch(columns, cost, 4, arrays)
    held = sum(array.nbytes for array in search.arrays.values() if array is not None)
    assert 0.9 * held < solver.bytes_needed(arrays) < 1.1 * held


@pytest.mark.parametrize("options", [{}, {"min_samples_leaf": 8}, {"split_penalty": 2.0},
                                     {"max_nodes": 3}])
def test_depth_and_memory_end_with_what_the_rows_can_reach(options):
    random = np.random.default_rng(662)
    X, y = random.integers(0, 4, (50, 3)).astype(float), random.integers(0, 2, 50)
    fits = [ContinuousTreeClassifier(depth, random_state=0, **options).fit(X, y)
            for depth in (49, 100, 10**9, np.int8(49))]
    for model in fits:
        assert model.report_.status == "optimal"
        assert model.tree_ == fits[0].tree_
        assert model.report_.counters == fits[0].report_.counters
    assert model.verify(X, y) == model.report_.objective


def test_memory_of_deep_trees_is_bounded_by_rows():
    cost = module.Costs(np.arange(50) % 2, 2, None, 0.0, 1)
    sizes = [solver.bytes_needed(solver.search_arrays(50, 10, cost, depth, False))
             for depth in (12, 24, 48)]
    assert sizes[1] < 2.2 * sizes[0] and sizes[2] < 2.2 * sizes[1]


def test_node_budget_of_deep_trees_equals_enumeration():
    random = np.random.default_rng(663)
    for _ in range(10):
        X, y = random.integers(0, 6, (14, 3)).astype(float), random.integers(0, 2, 14)
        y[:2] = 0, 1
        for nodes in (4, 5, 8):
            model = ContinuousTreeClassifier(10**9, max_nodes=nodes, start=None).fit(X, y)
            assert model.report_.objective == optimum(X, y, 13, max_nodes=nodes)


def test_want_of_memory_returns_the_start(monkeypatch):
    def exhausted(*arguments, **options):
        raise MemoryError

    X, y = hard(100)
    monkeypatch.setattr(module, "ThresholdSearch", exhausted)
    model = ContinuousTreeClassifier(4)
    monkeypatch.setattr(model, "_warm_up", lambda *data: 0.0, raising=False)
    report = model.fit(X, y).report_
    assert report.status == "memory_limit" and report.objective < min(np.bincount(y))


@pytest.mark.parametrize("n_jobs", [1, 2, 3, -1])
def test_threads_find_the_same_optimum(n_jobs):
    random = np.random.default_rng(700)
    for _ in range(10):
        X = random.normal(size=(120, 5)).round(1)
        y = random.integers(0, 3, 120)
        one = ContinuousTreeClassifier(3, start=None).fit(X, y)
        more = ContinuousTreeClassifier(3, start=None, n_jobs=n_jobs).fit(X, y)
        assert more.report_.status == "optimal"
        assert more.report_.objective == one.report_.objective


def test_a_start_waits_until_it_is_cheap_or_the_limit_is_near():
    clock = SimpleNamespace(remaining=np.inf)
    search = SimpleNamespace(best=0, candidates=None, arrays={"order": np.zeros((1, 300, 100))})
    shared = solver._Shared(search, clock, None, 2.0, None)
    for millions, remaining, due in ((59.9, np.inf, False), (60.0, np.inf, True),
                                     (30.0, 4.1, False), (30.0, 3.9, True), (19.0, 3.9, False)):
        clock.remaining = remaining
        assert shared.start_is_due(1e6 * millions) == due


@pytest.mark.parametrize(("depth", "name"), [(d, name) for d in KNOWN for name in KNOWN[d]])
def test_known_optima(depth, name):
    data = load(f"continuous/{name}")
    model = ContinuousTreeClassifier(depth).fit(data.X, data.y)
    assert model.report_.status == "optimal"
    assert model.verify(data.X, data.y) == KNOWN[depth][name]


def test_large_values_that_other_solvers_confuse():
    data = load("continuous/raisin")
    X = 1e8 + data.X / np.abs(data.X).max(axis=0)
    ranks = np.column_stack([np.unique(column, return_inverse=True)[1] for column in X.T])
    shifted = ContinuousTreeClassifier(2).fit(X, data.y)
    assert shifted.report_.objective == ContinuousTreeClassifier(2).fit(
        ranks, data.y).report_.objective


# ------------------------------------------------------------------ limits


def hard(n_rows=1500):
    """Return labels that no shallow tree explains: depth 4 takes far longer than a test."""
    random = np.random.default_rng(0)
    return random.normal(size=(n_rows, 8)), random.integers(0, 2, n_rows)


def test_time_limit_before_anything_was_solved():
    X, y = hard()
    for start in ("cart", None):
        model = ContinuousTreeClassifier(4, time_limit=1e-9, start=start).fit(X, y)
        assert model.report_.status == "time_limit"
        assert model.verify(X, y) == model.report_.objective <= len(y) / 2


def test_memory_limit_returns_the_start():
    X, y = hard()
    model = ContinuousTreeClassifier(4, memory_limit=0.01).fit(X, y)
    assert model.report_.status == "memory_limit"
    assert model.verify(X, y) == model.report_.objective == model.report_.trace["incumbent"][0]


def test_a_start_without_errors_is_optimal_whatever_ends_the_fit():
    X, y = hard(300)
    report = ContinuousTreeClassifier(10**9, memory_limit=0.01).fit(X, y).report_
    assert (report.status, report.objective, report.lower_bound) == ("optimal", 0.0, 0.0)


class Countdown(Clock):
    """A clock whose limit passes, or at which Ctrl-C arrives, at a look: the first, the second."""

    def __init__(self, looks, ending):
        super().__init__()
        self.looks, self.ending = looks, ending

    def check(self):
        self.looks -= 1
        if self.looks < 0:
            raise self.ending


@pytest.mark.parametrize(("ending", "status"), [(TimeUp, "time_limit"),
                                                (KeyboardInterrupt, "interrupted")])
@pytest.mark.parametrize("looks", [0, 1, 3, 5, 6, 7])
def test_preparation_may_end_between_any_two_features(monkeypatch, looks, ending, status):
    X, y = hard(300)            # eight features
    ContinuousTreeClassifier(3).fit(X, y)
    monkeypatch.setattr(module, "Clock", lambda limit: Countdown(looks, ending))
    model = ContinuousTreeClassifier(3).fit(X, y)
    assert model.report_.status == status
    assert model.verify(X, y) == model.report_.objective
    assert (model.tree_.n_splits > 0) == (ending is TimeUp)     # no CART after Ctrl-C


def test_kernels_are_compiled_before_the_clock_starts(monkeypatch):
    begun = []
    X, y = hard(100)
    real = module.Clock
    monkeypatch.setattr(module, "Clock", lambda *limit: begun.append(len(begun)) or real(*limit))
    for weight, options in ((None, {}), (np.full(100, 0.5), {}), (None, {"min_samples_leaf": 5})):
        model = ContinuousTreeClassifier(2, start="local-search", **options)
        model._compile_kernels(X, y, weight)
        compiled = [list(kernel.signatures) for kernel in KERNELS]
        begun.clear()
        model.fit(X, y, weight)
        assert begun == [0]                 # what was compiled before needs no clock again
        assert [kernel.signatures for kernel in KERNELS] == compiled


def test_a_cut_depth_two_solve_is_used(monkeypatch):
    X, y = hard()
    fit = module.Fit(module.Clock(1e-9))
    cost = module.Costs(y, 2, None, 0.0, 1)
    arrays = solver.search_arrays(*X.shape, cost, 4, False)
    columns = solver.SortedColumns(X, y, cost, arrays, module.Clock())
    search = solver.ThresholdSearch(columns, cost, 4, arrays)
    in_small_slices(monkeypatch)
    run = solver.run_search(search, fit)
    assert fit.ended == "time_limit"
    tree = solver.decode(run.tree, X, y, cost)
    assert cost.of(tree.predict_codes(X) != y, tree) == run.cost < min(np.bincount(y))


def test_slices_do_not_change_the_search(monkeypatch):
    random = np.random.default_rng(900)
    X, y = random.normal(size=(60, 4)).round(1), random.integers(0, 3, 60)
    whole = ContinuousTreeClassifier(4, start=None).fit(X, y)
    in_small_slices(monkeypatch)
    cut = ContinuousTreeClassifier(4, start=None).fit(X, y)
    assert cut.tree_ == whole.tree_
    assert cut.report_.counters == whole.report_.counters


@pytest.mark.parametrize("start", [None, "cart"])
def test_neither_slices_nor_a_slow_computer_change_the_search(monkeypatch, start):
    """Also where a gap makes the tree depend on when that of CART is known."""
    random = np.random.default_rng(900)
    monkeypatch.setattr(solver, "SHORT", 30)
    monkeypatch.setattr(solver, "VISITS_FOR_START", 0)
    grown = []
    monkeypatch.setattr(module, "starting_tree", lambda *given: grown.append(
        starting_tree(*given)) or grown[-1])
    for _ in range(10):
        X, y = random.normal(size=(60, 4)).round(1), random.integers(0, 3, 60)
        reports, trees = [], []
        for slow in (False, True):
            with monkeypatch.context() as patch:
                if slow:
                    on_a_slow_computer(patch)
                model = ContinuousTreeClassifier(
                    3, max_gap=0.1, start=start, random_state=0).fit(X, y)
            reports.append(model.report_)
            trees.append(model.tree_)
        assert trees[0] == trees[1]
        assert reports[0].counters == reports[1].counters
        assert reports[0].lower_bound == reports[1].lower_bound
    assert len(grown) == (0 if start is None else 20)


# ------------------------------------------------------------------ what all estimators promise


def test_same_data_same_tree():
    random = np.random.default_rng(1)
    X, y = random.integers(0, 5, (100, 4)).astype(float), random.integers(0, 2, 100)
    trees = [ContinuousTreeClassifier(3).fit(X, y).tree_ for _ in range(2)]
    assert trees[0] == trees[1]


@pytest.mark.parametrize(("options", "message"), [
    ({"max_depth": -1}, "max_depth"), ({"min_samples_leaf": 0}, "min_samples_leaf"),
    ({"split_penalty": -0.1}, "split_penalty"), ({"max_gap": 2}, "max_gap"),
    ({"start": "best"}, "start"),
    ({"n_jobs": 0}, "n_jobs"), ({"max_nodes": -1}, "max_nodes"), ({"cache": "all"}, "cache"),
    ({"memory_limit": 0}, "memory_limit"), ({"max_leaf_nodes": 0}, "max_leaf_nodes"),
    ({"class_weight": "even"}, "class_weight"),
])
def test_bad_options_are_named(options, message):
    X, y = hard(20)
    with pytest.raises(ValueError, match=message):
        ContinuousTreeClassifier(**options).fit(X, y)


def test_class_weights_multiply_sample_weights():
    random = np.random.default_rng(2)
    for _ in range(10):
        depth, X, y = draw(random)
        weight = random.integers(1, 4, len(y)).astype(float)
        costs = {label: float(label + 1) for label in np.unique(y).tolist()}
        model = ContinuousTreeClassifier(depth, class_weight=costs, start=None).fit(X, y, weight)
        assert model.report_.objective == optimum(X, y, depth, weight * (y + 1))
        assert model.verify(X, y, weight) == model.report_.objective


def test_too_many_classes_are_refused():
    with pytest.raises(ValueError, match="at most 1000"):
        ContinuousTreeClassifier().fit(np.arange(1200.0).reshape(-1, 1), np.arange(1200))


def test_progress_and_trace(capsys):
    X, y = hard(80)
    model = ContinuousTreeClassifier(3, start=None, verbose=1).fit(X, y)
    assert (model.report_.trace["event"] == "feature closed").sum() == X.shape[1]
    assert capsys.readouterr().out.count("feature closed") == X.shape[1]
    assert model.report_.trace["bound"].iloc[-1] == model.report_.objective
    assert set(model.report_.counters) == {"nodes", "depth_two", "batches", "thresholds",
                                           "cache_stored", "cache_hits"}


def test_a_search_that_is_cut_short_with_nothing_better_leaves_cart(monkeypatch):
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 3))
    y = (X[:, 0] > 0) ^ (random.random(60) < 0.1)

    def run_search(search, fit, *others):
        fit.ended = "time_limit"
        return SimpleNamespace(tree=None, cost=60, bound=0, counters={})

    monkeypatch.setattr(module, "run_search", run_search)
    report = ContinuousTreeClassifier(3, time_limit=100).fit(X, y).report_
    assert (report.status, report.lower_bound) == ("time_limit", 0)
    assert report.tree.n_splits > 0
    assert report.verify(X, y) == report.objective < min(np.bincount(y))
