"""Paths and the dynamic program against enumeration."""

import sys

import numpy as np
import pytest
from column_generation.reference import (
    all_choices,
    draw_problem,
    errors,
    least_cost,
    path_table,
    reopened,
)

from odtlib import RestrictedTreeClassifier
from odtlib.column_generation import ThresholdSampling, _kernels, paths
from odtlib.column_generation.paths import RestrictedProblem
from odtlib.column_generation.restricted import DynamicProgram, optimum
from odtlib.report import TimeUp

FOUR_ROWS = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 1], [0, 1, 0, 0]], float)
FOUR_LABELS = [0, 1, 1, 1]
REPEATED = [[(f, 0.5) for f in node] for node in ([1, 2], [1], [1], [3], [3], [3], [0])]


@pytest.mark.parametrize("distinct", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_optimum_equals_enumeration(seed, distinct):
    random = np.random.RandomState(seed + 200 * distinct)
    problem = draw_problem(random, weights=(None, "integers", "floats")[seed % 3],
                           limits=seed % 2 == 1)
    expected = least_cost(problem, distinct)
    if np.isinf(expected):
        with pytest.raises(ValueError, match="no tree .* distinct splits"):
            optimum(problem, distinct_splits=True)
        return
    assert optimum(problem, distinct_splits=distinct) == pytest.approx(
        expected, rel=1e-9, abs=1e-9)
    known = np.array([random.randint(n) for n in np.diff(problem.start)])
    program = DynamicProgram(problem, known, distinct_splits=distinct)
    while not program.done:
        program.step(1)   # the smallest slices
    assert not distinct or problem.has_distinct_splits(program.choices)
    assert program.lower_bound == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert errors(problem, program.choices) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_deep_trees_equal_enumeration(seed):
    random = np.random.RandomState(100 + seed)
    problem = draw_problem(random, depth=4 + seed % 2, candidates=2, most_rows=60)
    assert optimum(problem) == least_cost(problem)


def test_distinct_splits_cost_a_row_at_depth_three():
    """Chapter 3: the rule can make the best tree worse from depth three on."""
    fit = {rule: RestrictedTreeClassifier(3, splits=REPEATED, distinct_splits=rule).fit(
        FOUR_ROWS, FOUR_LABELS) for rule in (False, True)}
    assert fit[False].report_.objective == 0
    assert fit[True].report_.objective == 1
    assert fit[True].report_.status == "optimal"


def test_distinct_splits_equal_any_at_depth_two():
    """Above the leaves a repeated split can be replaced by any other of the node."""
    for seed in range(40):
        problem = draw_problem(np.random.RandomState(seed), depth=2)
        if np.isfinite(least_cost(problem, distinct=True)):
            assert optimum(problem, distinct_splits=True) == optimum(problem)


def test_where_no_full_tree_has_distinct_splits_a_path_ends_early():
    splits = [[(0, 0.5)]] * 3
    problem = RestrictedProblem(FOUR_ROWS, np.array(FOUR_LABELS), 2, splits)
    with pytest.raises(ValueError, match="give more splits, lower max_depth, or set"):
        optimum(problem, distinct_splits=True)
    model = RestrictedTreeClassifier(2, splits=splits, distinct_splits=True)
    assert model.fit(FOUR_ROWS, FOUR_LABELS).report_.objective == 1


def test_many_words_and_many_candidates():
    random = np.random.RandomState(5)
    X = random.rand(700, 4)
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0.8).astype(int) + (X[:, 3] > 0.9)
    pool = [(f, float(t)) for f in range(4) for t in np.linspace(0.1, 0.9, 9)]
    problem = RestrictedProblem(X, y, 3, [pool] * 3)
    assert optimum(problem) == least_cost(problem)


@pytest.mark.parametrize("seed", range(20))
def test_paths_hold_the_rows_and_values_of_their_definition(seed):
    random = np.random.RandomState(seed)
    plain = draw_problem(random, weights=(None, "floats")[seed % 2])
    problem = RestrictedProblem(plain.X, plain.y, plain.n_classes, plain.splits, plain.weights,
                                max_leaves=(None, 1)[seed % 2])
    value, effects = problem.paths
    for leaf in range(problem.n_leaves):
        table = list(path_table(problem, leaf))
        assert len(table) == len(value[leaf])
        choices = problem.choices(leaf, np.arange(len(table)))
        for number, (expected, rows) in enumerate(table):
            assert tuple(choices[number]) == expected
            assert np.array_equal(problem.path_contains(leaf, number, problem.goes_left), rows)
            sums = np.bincount(problem.y[rows], problem.weights[rows], problem.n_classes)
            least = problem.limits[2] * reopened(problem, leaf, expected)
            assert value[leaf][number] == pytest.approx(sums.max() - least, rel=1e-9, abs=1e-12)
            assert effects[leaf][:, number].tolist() == [rows.any()] * (seed % 2)


@pytest.mark.parametrize("seed", range(20))
def test_choices_make_trees_with_the_errors_counted(seed):
    random = np.random.RandomState(seed)
    problem = draw_problem(random, limits=seed % 2 == 1)
    _, penalty, forbidden = problem.limits
    for choices in list(all_choices(problem))[:60]:
        tree = problem.tree(choices)
        wrong = problem.weights[tree.predict_codes(problem.X) != problem.y].sum()
        expected = errors(problem, choices)
        assert tree.depth <= problem.depth
        if np.isinf(expected):   # a leaf with too few rows costs more than any tree without one
            assert problem.cost(choices) > forbidden - 1e-9
            continue
        assert problem.cost(choices) == pytest.approx(expected)
        # leaves that predict the same are merged
        assert wrong + penalty * tree.n_splits <= expected + 1e-9
        assert wrong == pytest.approx(expected) or problem.limited


@pytest.mark.parametrize("seed", range(20))
def test_merged_rows_take_the_same_way_through_every_tree(seed):
    problem = draw_problem(np.random.RandomState(seed), depth=2)
    ways = []
    for leaf in range(problem.n_leaves):
        ways += [rows for _, rows in path_table(problem, leaf)]
    ways = np.array(ways).T
    same = problem.signature[:, None] == problem.signature[None]
    assert np.array_equal(same, (ways[:, None] == ways[None]).all(axis=2))


@pytest.mark.parametrize("weighted", [False, True])
def test_report_and_tree_agree(weighted):
    random = np.random.RandomState(1)
    X, y = random.rand(200, 4), random.randint(0, 3, 200)
    weight = random.rand(200) if weighted else None
    model = RestrictedTreeClassifier(2, sampling=ThresholdSampling(n_trees=30)).fit(X, y, weight)
    assert model.report_.status == "optimal"
    assert model.verify(X, y, weight) == pytest.approx(model.report_.objective)
    assert model.report_.objective <= model.report_.trace["incumbent"][0] + 1e-9
    assert model.report_.objective == pytest.approx(least_cost(model.problem_))


def test_given_splits_are_used():
    X = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    y = np.array([0, 1, 1, 0])
    model = RestrictedTreeClassifier(2, splits=[[(0, 0.5)], [(1, 0.5)], [(1, 0.5)]]).fit(X, y)
    assert model.report_.objective == 0 and model.predict(X).tolist() == y.tolist()
    with pytest.raises(ValueError, match="splits has 1 lists; a tree of depth 2 has 3"):
        RestrictedTreeClassifier(2, splits=[[(0, 0.5)]]).fit(X, y)
    with pytest.raises(ValueError, match="tests feature 7; X has 2"):
        RestrictedTreeClassifier(1, splits=[[(7, 0.5)]]).fit(X, y)
    with pytest.raises(ValueError, match="not empty"):
        RestrictedTreeClassifier(1, splits=[[]]).fit(X, y)


def test_the_report_says_that_the_time_limit_cut_the_sample_short():
    X, y = np.random.default_rng(0).random((40, 3)), np.arange(40) % 2
    endless = ThresholdSampling(n_trees=10**7)
    report = RestrictedTreeClassifier(1, time_limit=1.0, sampling=endless).fit(X, y).report_
    trees = report.counters["trees"]
    assert report.status == "optimal" and 0 < trees < 10**7
    assert report.proof.endswith(f", of a sample that the time limit ended after {trees} trees")
    assert "sample" not in RestrictedTreeClassifier(1).fit(X, y).report_.proof


def test_the_splits_of_cart_may_be_added_to_those_kept():
    """The rule of the papers' texts: never fewer candidates, never a worse tree."""
    more = 0
    for seed in range(8):
        random = np.random.RandomState(seed)
        X, y = random.rand(40, 3), random.randint(0, 2, 40)
        added, counted = (RestrictedTreeClassifier(2, sampling=ThresholdSampling(
            n_trees=20, sample_share=0.5, root_candidates=2, node_candidates=2,
            add_cart=add)).fit(X, y) for add in (True, False))
        for kept, fewer in zip(added.problem_.splits, counted.problem_.splits, strict=True):
            assert set(kept) >= set(fewer)
            more += len(kept) - len(fewer)
        assert added.report_.objective <= counted.report_.objective
    assert more > 0


def test_a_time_limit_returns_a_tree_and_no_proof():
    random = np.random.RandomState(0)
    X, y = random.rand(3000, 10), random.randint(0, 2, 3000)
    model = RestrictedTreeClassifier(6, time_limit=1.0, sampling=ThresholdSampling(
        sample_share=0.5, root_candidates="all", node_candidates="all")).fit(X, y)
    assert model.report_.status == "time_limit"
    assert model.report_.lower_bound < model.report_.objective
    assert model.verify(X, y) == model.report_.objective


def test_depth_zero():
    model = RestrictedTreeClassifier(0).fit(np.arange(5.0)[:, None], list("abbab"))
    assert model.predict([[3.0]]).tolist() == ["b"] and model.report_.status == "optimal"


@pytest.mark.parametrize("error, status", [
    (KeyboardInterrupt, "interrupted"), (TimeUp, "time_limit")])
def test_before_any_split_with_distinct_splits_is_tried_the_answer_is_a_leaf(
        monkeypatch, error, status):
    def stop(program, work):
        raise error

    splits = [[(0, 0.5)], [(0, 0.5), (1, 0.5)], [(0, 0.5), (1, 0.5)]]
    model = RestrictedTreeClassifier(2, splits=splits, distinct_splits=True)
    X = np.tile(list(np.ndindex(2, 2)), (2, 1)).astype(float)
    y = X[:, 0] != X[:, 1]
    model.fit(X, y)     # compiles
    monkeypatch.setattr(DynamicProgram, "step", stop)
    model.fit(X, y)
    assert model.report_.status == status and model.tree_.n_leaves == 1
    assert model.verify(X, y) == model.report_.objective


def test_the_similarity_bound_equals_its_definition_whatever_was_kept():
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n_words, size, n_nodes = rng.integers(1, 9), rng.integers(1, 6), 3
        weight = rng.integers(1, 4, n_words).astype(float)
        kept = rng.random((n_nodes, size, 64 * n_words)) < rng.choice([0.05, 0.5])
        rows = rng.random(64 * n_words) < rng.choice([0.5, 0.95])
        bound = rng.integers(0, 200, (n_nodes, size)).astype(float)
        n_kept = rng.integers(0, 2 * size + 1, n_nodes)
        node = int(rng.integers(n_nodes))
        expected = max([0.0] + [
            bound[node, i] - np.repeat(weight, 64)[kept[node, i] & ~rows].sum()
            for i in range(min(size, n_kept[node]))])
        packed, packed_rows = (np.packbits(a, axis=-1, bitorder="little").view(np.uint64)
                               for a in (kept, rows))
        found = _kernels._similarity_bound(packed_rows, node, (packed, bound, n_kept), weight,
                                           np.inf)
        assert found == expected, seed


def test_the_clock_is_asked_before_each_part_of_a_problem(monkeypatch):
    monkeypatch.setattr(paths, "FLAGS_PER_LOOK", 1)                 # 64 splits a part
    X = np.random.default_rng(0).random((9, 300))
    splits = [[(feature, 0.5) for feature in range(300)]] * 3
    asked = []

    class Asked:
        def check(self):
            asked.append(sys._getframe(2).f_code.co_name)

    problem = RestrictedProblem(X, np.arange(9) % 2, 2, splits, clock=Asked())
    parts = len(problem._parts())
    assert parts == 15
    assert [asked.count(name) for name in ("__init__", "_groups", "_pack")] == [
        1 + parts, problem.n_nodes + parts, parts]
