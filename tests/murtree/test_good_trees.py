"""All trees within a tolerance of the optimum, against a list of all trees."""

import copy
import pickle
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from naive import as_tuples, features_of, priced_trees, written_trees

from odtlib import MurTreeClassifier, MurTreeRegressor, MurTreeSearch
from odtlib.murtree.extensions import good_trees
from odtlib.murtree.preparation import MANY_ROWS
from odtlib.objectives import AdditiveObjective, LinearLeaves
from odtlib.report import Clock, TimeUp
from tests.murtree.test_objectives import OBJECTIVES, OWN, columns, weights
from tests.murtree.test_search import blobs
from tests.scale import SCALE


@pytest.mark.parametrize("tolerance", [0, 1, 2])
@pytest.mark.parametrize("depth, nodes", [(2, 1), (2, 2), (2, 3), (3, 1), (3, 2)])
def test_a_node_budget_below_the_depth_hides_the_exclusive_or(depth, nodes, tolerance):
    """The optimum of the depth has one error; with fewer than three nodes none comes near it."""
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 2 + [[0, 1]])
    y = np.append(X[:8, 0] ^ X[:8, 1], 0)
    known = written_trees(X, y, np.ones(9), 2, depth, nodes, 1)
    least = min(errors for _, errors in known.values())
    good = MurTreeClassifier(depth, nodes).good_trees(X, y, tolerance=tolerance)
    assert good.optimum == least == {1: 4, 2: 2, 3: 1}[nodes]
    assert {as_tuples(tree.to_nested()) for tree in good} == {
        tree for tree, (_, errors) in known.items() if errors <= least + tolerance}


def test_good_trees_of_balanced_accuracy_equal_enumeration():
    rng = np.random.default_rng(0)
    for _ in range(100 * SCALE):
        n_rows, depth = int(rng.integers(5, 14)), int(rng.integers(0, 4))
        X, (_, y) = rng.integers(0, 2, (n_rows, 3)), np.unique(rng.integers(0, 3, n_rows),
                                                               return_inverse=True)
        sizes = np.bincount(y)
        unit = float(np.lcm.reduce(sizes))               # so that ties are ties
        known = written_trees(X, y, unit / sizes[y], len(sizes), depth, 2 ** depth - 1, 1)
        errors = {tree: cost / unit / len(sizes) for tree, (_, cost) in known.items()}
        tolerance, least = float(rng.choice([0, 0.03, 0.1, 0.3])), min(errors.values())
        good = MurTreeClassifier(depth, objective="balanced-accuracy").good_trees(
            X, y, tolerance=tolerance)
        expected = {tree for tree in known if errors[tree] <= least + tolerance + 1e-9}
        assert good.optimum == pytest.approx(least) and good.count == len(expected)
        assert {as_tuples(tree.to_nested()) for tree in good} == expected
        assert good.sizes()[0].objective == good.optimum


def test_large_sets_are_counted_exactly():
    X, y = blobs(n_columns=9)
    model = MurTreeClassifier(4)
    good = model.good_trees(X, y, tolerance=8)
    best = model.optimal_trees(X, y, limit=1)
    assert good.sizes()[0].objective == best.errors
    assert sum(size.count for size in good.sizes() if size.objective == best.errors) == best.count
    assert good.count > 10 ** 6
    assert repr(good) == f"<GoodTrees: {good.count:,} within 8 of {best.errors:g}>"
    for rank in (0, 1, good.count // 2, good.count - 1, -1):
        tree = good[rank]
        wrong = (tree.predict(X.astype(float)) != y).sum()
        assert wrong <= good.optimum + 8 and tree.depth <= 4
    assert (good[-1].predict(X.astype(float)) != y).sum() == good.sizes()[-1].objective
    with pytest.raises(IndexError):
        good[good.count]
    for odd in (1.5, "1"):
        with pytest.raises(TypeError):
            good[odd]


def test_the_last_of_more_trees_than_a_sequence_can_have_are_sliced():
    X, y = blobs(n_columns=9)
    good = MurTreeClassifier(5).good_trees(X, y, tolerance=40)
    assert good.count > sys.maxsize
    assert good[-2:] == [good[good.count - 2], good[-1]]
    assert good[good.count - 1:] == [good[-1]] and good[good.count:] == []


@pytest.mark.parametrize("min_leaf", [1, 9])
def test_many_equal_rows_count_as_weights_do(min_leaf):
    rng = np.random.default_rng(min_leaf)
    X, y = rng.integers(0, 2, (40, 6)), rng.integers(0, 3, 40)
    often = rng.integers(1, 90, 40)
    model = MurTreeClassifier(3, 5, min_samples_leaf=min_leaf, split_penalty=2)
    many = model.good_trees(np.repeat(X, often, axis=0), np.repeat(y, often), tolerance=40)
    assert 2000 > often.sum() > MANY_ROWS and many.count > 10
    if min_leaf == 1:
        assert many.sizes() == model.good_trees(X, y, often, tolerance=40).sizes()
    known = written_trees(np.repeat(X, often, axis=0), np.repeat(y, often), np.ones(often.sum()),
                          3, 2, 3, min_leaf)
    least = min(errors + 2 * size for size, errors in known.values())
    model = MurTreeClassifier(2, min_samples_leaf=min_leaf, split_penalty=2)
    found = model.good_trees(np.repeat(X, often, axis=0), np.repeat(y, often), tolerance=40)
    assert found.count == sum(errors + 2 * size <= least + 40 for size, errors in known.values())


def test_samples_are_uniform():
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 2, (30, 4)), rng.integers(0, 2, 30)
    good = MurTreeClassifier(2).good_trees(X, y, tolerance=2)
    places = {as_tuples(tree.to_nested()): k for k, tree in enumerate(good)}
    assert 5 < good.count < 200 and good.count & (good.count - 1)    # no power of two
    n = 40 * good.count
    drawn = np.bincount([places[as_tuples(tree.to_nested())] for tree in good.sample(n, 0)],
                        minlength=good.count)
    statistic = ((drawn - 40) ** 2 / 40).sum()
    freedom = good.count - 1
    assert abs(statistic - freedom) < 3 * np.sqrt(2 * freedom)


def test_limits_labels_and_messages():
    X, y = blobs(n_columns=8)
    named = MurTreeClassifier(2).good_trees(X + 0.0, np.array(["a", "b"])[y], tolerance=1)
    assert set(named[0].classes) == {"a", "b"}
    continuous = np.random.default_rng(0).normal(size=(60, 3))
    labels = (continuous[:, 1] > 0).astype(int)
    good = MurTreeClassifier(2, binarizer="mdlp").good_trees(continuous, labels, tolerance=0)
    assert good.importance()[1] == 1.0 and good.roots()[0].feature == 1
    assert MurTreeClassifier(0).good_trees(X[:3], [0, 1, 1], tolerance=0).count == 1
    assert MurTreeClassifier(0).good_trees(X[:2], [0, 1], tolerance=0).count == 2
    halves = MurTreeClassifier(2).good_trees(X, y, np.full(len(y), 0.5), tolerance=1)
    little = MurTreeSearch(memory_limit=1e-3)
    whole = MurTreeClassifier(2, search=little).good_trees(X, y, tolerance=2)
    assert [(2 * size.objective, *size[1:]) for size in halves.sizes()] == whole.sizes()
    with pytest.raises(ValueError, match="at least 0"):
        MurTreeClassifier(2).good_trees(X, y, tolerance=-1)
    with pytest.raises(ValueError, match="at least 0"):
        MurTreeClassifier(2).good_trees(X, y, tolerance=10 ** 400)
    with pytest.raises(ValueError, match="cannot be combined"):
        MurTreeClassifier(2, objective="f1").good_trees(X, y, tolerance=1)
    with pytest.raises(ValueError, match="optimal_trees cannot be combined with loss='absolute"):
        MurTreeRegressor(2, loss="absolute_error").optimal_trees(X, y)
    with pytest.raises(ValueError, match="good_trees cannot be combined with start"):
        MurTreeRegressor(2, start="cart").good_trees(X, y, tolerance=1)
    limited = MurTreeClassifier(4, time_limit=1e-9)
    with pytest.raises(TimeoutError, match="more time"):
        limited.good_trees(X, y, tolerance=1)
    assert limited.report_.status == "time_limit"


@pytest.mark.parametrize(("end", "raised", "status"), [
    (TimeUp, TimeoutError, "time_limit"), (KeyboardInterrupt, KeyboardInterrupt, "interrupted")])
def test_a_count_that_is_cut_short_says_so(monkeypatch, end, raised, status):
    def stop(*_):
        raise end

    X, y = blobs(n_columns=8)
    model = MurTreeClassifier(3)
    monkeypatch.setattr(good_trees._Counting, "product", stop)
    with pytest.raises(raised, match="before all trees were counted" if end is TimeUp else ""):
        model.good_trees(X, y, tolerance=1)
    assert model.report_.ended == status and model.tree_.n_nodes > 0
    assert model.report_.status == "optimal"         # of the tree, which was known before


def splits_of(tree):
    return (tree[0], *map(splits_of, tree[1:])) if isinstance(tree, tuple) else 0


@pytest.mark.parametrize(("most", "limit", "ended"), [
    (10, None, "memory_limit"), (100_000, None, "memory_limit"), (2 ** 24, 0.3, "time_limit")])
def test_a_count_of_too_many_costs_ends_at_a_limit(monkeypatch, most, limit, ended):
    monkeypatch.setattr(good_trees, "MOST_ENTRIES", most)
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (300, 20)), rng.normal(size=300)
    model = MurTreeRegressor(3, time_limit=limit)
    with pytest.raises(TimeoutError, match="give a smaller tolerance"):
        model.good_trees(X, y, tolerance=60.0)
    assert model.report_.ended == ended
    assert model.verify(X, y) == pytest.approx(model.report_.objective)


@pytest.mark.parametrize("few", [False, True])
def test_products_of_long_histograms_are_exact_and_end_at_a_limit(monkeypatch, few):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (20, 3)), rng.normal(size=20)
    counting = MurTreeRegressor(3).good_trees(X, y, tolerance=0)._counting
    monkeypatch.setattr(good_trees, "MOST_FOUND", 10_000)
    monkeypatch.setattr(good_trees, "LONGEST", 1000)

    def side(entries, span):
        return {(int(m), int(e)): int(n) for m, e, n in zip(
            rng.integers(0, 3, entries), rng.integers(0, span, entries),
            rng.integers(1, 99, entries), strict=True)}

    pairs = [(side(80, 100), side(80, 100)) for _ in range(3)]
    expected = Counter()
    for one, zero in pairs:
        for (m_1, e_1), n_1 in one.items():
            for (m_0, e_0), n_0 in zero.items():
                expected[m_1 + m_0 + 1, e_1 + e_0] += n_1 * n_0
    budget = np.full(6, np.inf)
    assert counting.product(pairs, budget) == expected
    assert counting.product_of_few(pairs, budget, object if few else np.int64) == expected
    many = [(side(3000, 100_000), side(3000, 100_000)) for _ in range(2 if few else 20)]
    if not few:          # so dense that numbers are multiplied
        monkeypatch.setattr(good_trees, "PAIRS_AT_ONCE", 0)
    counting.clock, begin = Clock(0.2), time.perf_counter()
    with pytest.raises(TimeUp):
        counting.product(many, budget)
    assert time.perf_counter() - begin < 1.2


@pytest.mark.parametrize("kind", ["number", "several", "own"])
def test_trees_stay_when_the_targets_change(kind):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (20, 3)), rng.normal(size=20)
    y = np.column_stack([y, -y ** 2]) if kind == "several" else y
    good = MurTreeRegressor(2, loss=OWN["stock"][0] if kind == "own" else "squared_error"
                            ).good_trees(X, y, tolerance=5.0)
    before = [tree.value.copy() for tree in good]
    y[:] = 7.0
    assert good.count > 1
    for tree, value in zip(good, before, strict=True):
        assert np.array_equal(tree.value, value)


@pytest.mark.parametrize("model", [MurTreeRegressor(3), MurTreeClassifier(3)])
def test_threads_may_ask_for_trees_together(model):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (500, 12))
    y = X[:, 0] + rng.integers(0, 2, 500)
    alone, shared = (model.good_trees(X, y, tolerance=2.0) for _ in range(2))
    expected = [str(tree.to_nested()) for tree in alone[:100]], alone.roots()

    def ask(_):
        return [str(tree.to_nested()) for tree in shared[:100]], shared.roots()

    with ThreadPoolExecutor(4) as pool:
        assert all(answer == expected for answer in pool.map(ask, range(4)))


@pytest.mark.parametrize("copied", [pickle.dumps, copy.deepcopy])
def test_trees_are_pickled_and_copied_as_a_list(copied):
    good = MurTreeClassifier(1).good_trees([[0], [1], [1]], [0, 1, 1], tolerance=1)
    with pytest.raises(TypeError, match="pickle the trees themselves"):
        copied(good)
    again = pickle.loads(pickle.dumps(good[:100]))
    assert [tree.to_nested() for tree in again] == [tree.to_nested() for tree in good]


@pytest.mark.parametrize("model", [MurTreeRegressor(None), MurTreeClassifier(50)])
def test_roots_of_deep_trees_take_no_memory(model):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (60, 3)), rng.integers(0, 2, 60)
    good = model.good_trees(X, y, tolerance=1)
    shallow = model.set_params(max_depth=3).good_trees(X, y, tolerance=1)
    assert good.roots() == shallow.roots() and good.count == shallow.count


def test_the_size_of_an_objective_does_not_matter():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (40, 5)), rng.normal(size=40)

    def count(unit, constant=0.0):
        own = AdditiveObjective(
            lambda X, y, weight: (unit * np.column_stack([y, np.abs(y)]), constant),
            lambda sums: sums[1] - abs(sums[0]), lambda sums: 0.0)
        return MurTreeRegressor(2, loss=own).good_trees(X, y, tolerance=9 * unit).count

    assert count(1.0) > 5
    for unit, constant in ((1e-306, 0.0), (1e300, 0.0), (1.0, 1e18), (1.0, -1e18)):
        assert count(unit, constant) == count(1.0)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_good_trees_of_every_objective_equal_enumeration(name):
    estimator, options, draw, leaves = OBJECTIVES[name]
    options = {key: value for key, value in options.items() if key != "binarizer"}
    some = 0
    for seed in range(30 * SCALE):
        rng = np.random.default_rng(seed)
        n_rows = int(rng.integers(4, 10))
        X, y, weight = columns(rng, n_rows), draw(rng, n_rows), weights(rng, n_rows)
        X = np.column_stack([X, X[:, 0] ^ rng.integers(0, 2, n_rows)]).astype(np.uint8)
        given = np.ones(n_rows) if weight is None else weight
        lines = isinstance(options.get("loss"), LinearLeaves)
        cost = np.maximum((leaves(X, y, given) if lines else leaves(y, given)).astype(float), 0.0)
        whole = float(cost[-1])
        depth, nodes, min_leaf = int(rng.choice([0, 1, 2, 3, 3])), int(rng.integers(0, 8)), int(
            rng.choice([1, 1, 2]))
        price = whole * float(rng.choice([0.0, 0.01, 0.1]))
        tolerance = whole * float(rng.choice([0.0, 0.05, 0.3, 0.8]))
        every = priced_trees(X, cost, list(range(n_rows)), depth, min(nodes, 2 ** depth - 1),
                             min_leaf, 1e-10 * whole)
        costs = {tree: of + price * size for tree, (size, of) in every.items()}
        least = min(costs.values())
        expected = {tree for tree in costs if costs[tree] <= least + tolerance + 1e-9 * whole}
        model = estimator(depth, nodes, min_samples_leaf=min_leaf, split_penalty=price, **options)
        good = model.good_trees(X, y, weight, tolerance=tolerance)
        assert good.optimum == pytest.approx(least, rel=1e-9, abs=1e-9 * whole + 1e-12)
        assert good.count == len(expected) == sum(size.count for size in good.sizes())
        trees = [splits_of(as_tuples(tree.to_nested())) for tree in good[:200]]
        assert len(set(trees)) == len(trees) and set(trees) <= expected
        order = [costs[tree] for tree in trees]
        assert (np.diff(order) >= -2e-9 * model.report_.scale).all()
        written = [size.objective for size in good.sizes() for _ in range(size.count)]
        assert written[:200] == pytest.approx(order, rel=1e-9, abs=1e-9 * model.report_.scale)
        assert model.verify(X, y, weight) == pytest.approx(good.optimum, abs=1e-9 * whole + 1e-12)
        assert good.sizes()[0].objective == good.optimum
        some += len(expected) > 3
        if len(trees) == good.count:
            shares = [np.mean([j in features_of(tree) for tree in trees])
                      for j in range(X.shape[1])]
            assert good.importance() == pytest.approx(shares)
            assert Counter({root.feature: root.count for root in good.roots()}) == Counter(
                tree[0] if isinstance(tree, tuple) else None for tree in trees)
    assert some >= 4 * SCALE
