"""Generated candidates must give the optimum over all thresholds, and valid bounds on the way."""

import numpy as np
import pytest
from naive import best_tree_cost, cuts

from odtbook.published import GeneratedSplitsClassifier
from odtbook.published import _candidate_kernels as _kernels
from odtbook.published.candidates import CandidateGeneration
from odtlib import ContinuousTreeClassifier
from odtlib.column_generation import ThresholdSampling
from odtlib.report import Clock, TimeUp
from odtlib.tolerance import PROOF

WEIGHTS = ("none", "whole", "real", "extreme")


def instance(seed, max_rows):
    """Rows with ties, duplicates of different labels and constant columns, and weights."""
    random = np.random.RandomState(seed)
    n_rows, n_features = random.randint(2, max_rows), random.randint(1, 4)
    X = random.randint(0, random.randint(1, 8) + 1, (n_rows, n_features)).astype(float)
    X[:, random.randint(n_features)] *= random.choice([0.0, 1.0, -1e-9, 1e9])
    y = random.randint(0, random.randint(2, 4), n_rows)
    y[:2] = 0, 1
    kind = WEIGHTS[seed % len(WEIGHTS)]
    weight = {"none": np.ones(n_rows), "whole": random.randint(1, 5, n_rows).astype(float),
              "real": random.rand(n_rows) + 0.01,
              "extreme": 10.0 ** random.randint(-6, 7, n_rows)}[kind]
    return X, np.unique(y, return_inverse=True)[1].reshape(-1), weight


@pytest.mark.parametrize("part", range(4))
def test_generation_equals_enumeration_and_its_bounds_hold(part):
    improved = 0
    for seed in range(75 * part, 75 * (part + 1)):
        X, y, weight = instance(seed, 13)
        depth = 1 + seed // 4 % 3
        total = weight.sum()
        truth = total - best_tree_cost(cuts(X), y, weight, y.max() + 1, depth)
        seen = []
        generation = CandidateGeneration(X, y, y.max() + 1, weight, Clock(), PROOF * total)
        known = np.bincount(y, weight).max()
        value, splits = generation.run(depth, known, lambda *line, seen=seen: seen.append(line[:2]))
        assert value == pytest.approx(truth, abs=2e-9 * total)
        assert (splits is None) == (truth <= known + PROOF * total)
        for lower, upper in seen:
            assert lower <= truth + 2e-9 * total
            assert upper >= truth - 2e-9 * total
        improved += splits is not None
        # given the optimum, it proves that there is nothing better
        assert generation.run(depth, truth + 1e-9 * total) == (truth + 1e-9 * total, None)
    assert improved > 30


@pytest.mark.parametrize("part", range(4))
def test_the_estimator_equals_the_search_over_all_thresholds(part):
    better = 0
    for seed in range(1000 + 50 * part, 1050 + 50 * part):
        X, y, weight = instance(seed, 40)
        depth = 1 + seed // 4 % 4
        model = GeneratedSplitsClassifier(depth, sampling=ThresholdSampling(n_trees=5))
        model.fit(X, y, weight)
        other = ContinuousTreeClassifier(depth).fit(X, y, weight)
        scale = weight.sum()
        assert model.report_.status == "optimal"
        assert model.report_.objective == pytest.approx(other.report_.objective, abs=2e-9 * scale)
        assert weight[model.predict(X) != y].sum() == pytest.approx(
            model.report_.objective, abs=1e-9 * scale)
        better += (model.report_.counters["candidates_optimum"]
                   > model.report_.objective + 1e-6 * scale)
    assert better > 0       # the sampled candidates alone were not enough


def test_the_way_to_the_proof_only_improves():
    random = np.random.RandomState(3)
    X, y = random.rand(120, 3), random.randint(0, 2, 120)
    model = GeneratedSplitsClassifier(3).fit(X, y)
    lines = model.iterations_
    assert all(a["objective"] >= b["objective"] and a["bound"] <= b["bound"]
               for a, b in zip(lines, lines[1:], strict=False))
    assert lines[-1]["objective"] == lines[-1]["bound"] == model.report_.objective
    assert lines[-1]["generated"] == model.report_.counters["generated"] > 0
    assert model.report_.proof == "optimal over all thresholds at depth 3"
    assert model.report_.objective < model.report_.counters["candidates_optimum"]


def test_out_of_time_it_returns_the_best_so_far_and_a_bound():
    random = np.random.RandomState(4)
    X, y = random.rand(3000, 12), random.randint(0, 3, 3000)
    model = GeneratedSplitsClassifier(4, time_limit=1.0).fit(X, y)
    assert model.report_.status == "time_limit"
    assert 0.0 <= model.report_.lower_bound <= model.report_.objective
    assert model.report_.objective <= model.report_.counters.get("candidates_optimum", np.inf)
    clock = Clock(0.0)
    with pytest.raises(TimeUp):
        CandidateGeneration(X, y, 3, np.ones(3000), clock, PROOF * 3000).run(3, 0.0)


def test_memory_that_does_not_suffice_gives_the_best_of_the_candidates():
    random = np.random.RandomState(5)
    X, y = random.rand(400, 4), random.randint(0, 2, 400)
    model = GeneratedSplitsClassifier(3, memory_limit=0.2).fit(X, y)
    assert model.report_.status == "memory_limit"
    assert model.report_.objective < 200


def test_an_interrupt_returns_the_best_so_far(monkeypatch):
    random = np.random.RandomState(6)
    X, y = random.rand(80, 3), random.randint(0, 2, 80)
    whole = GeneratedSplitsClassifier(3).fit(X, y)

    class Interrupted(CandidateGeneration):
        def run(self, depth, value, watch):
            def see(*line):
                watch(*line)
                if self.n_generated > whole.report_.counters["generated"] // 2:
                    raise KeyboardInterrupt
            return super().run(depth, value, see)

    monkeypatch.setattr("odtbook.published.candidates.CandidateGeneration", Interrupted)
    model = GeneratedSplitsClassifier(3).fit(X, y)
    assert model.report_.status == "interrupted"
    assert model.report_.lower_bound < whole.report_.objective <= model.report_.objective
    assert model.report_.objective <= model.report_.counters["candidates_optimum"]


def test_columns_without_thresholds_and_budget_zero():
    X, y = np.zeros((5, 2)), np.array([0, 1, 1, 0, 1])
    for depth in (0, 1, 3):
        model = GeneratedSplitsClassifier(depth).fit(X, y)
        assert model.report_.status == "optimal"
        assert model.report_.objective == 2.0
        assert model.tree_.n_leaves == 1


@pytest.mark.parametrize("seed", range(30))
def test_the_split_tried_next_has_the_highest_bound_and_divides_most_evenly(seed):
    random = np.random.default_rng(seed)
    n_features, n_rows = random.integers(1, 4), int(random.integers(2, 9))
    left, right = random.integers(0, 3, (2, n_features, n_rows + 1)).astype(float)
    closed = random.random(left.shape) < 0.3
    at = np.zeros(2, np.int64)
    best = _kernels.highest_bound(left, right, closed, at)
    among = [(left[f, p] + right[f, p], min(p, n_rows - p), -f, -p) for f in range(n_features)
             for p in range(1, n_rows) if not closed[f, p]]
    if among:
        bound, _, f, p = max(among)
        assert (best, *at) == (bound, -f, -p)
    else:
        assert best == -np.inf


@pytest.mark.parametrize("seed", range(20))
def test_a_known_split_bounds_the_others_of_its_feature_by_the_rows_between(seed):
    """A side that gets more rows gains their weight at most; one that loses rows, nothing."""
    random = np.random.default_rng(seed)
    n_rows = int(random.integers(3, 9))
    cumulated = np.append(0, np.cumsum(random.integers(1, 9, (2, n_rows)), axis=1, dtype=float)[0])
    cumulated = np.stack([cumulated, cumulated + 1])
    left, right = random.integers(5, 30, (2, 2, n_rows + 1)).astype(float)
    closed = np.zeros(left.shape, bool)
    before, p = (left.copy(), right.copy()), int(random.integers(1, n_rows))
    _kernels.tighten(cumulated, 1, p, 7.0, 4.0, left, right, closed)
    assert np.argwhere(closed).tolist() == [[1, p]]
    for q in range(n_rows + 1):
        assert left[0, q] == before[0][0, q] and right[0, q] == before[1][0, q]
        if 1 <= q < n_rows:
            between = sum(cumulated[1, i + 1] - cumulated[1, i]
                          for i in range(min(p, q), max(p, q)))
            assert left[1, q] == min(before[0][1, q], 7 + between if q > p else 7)
            assert right[1, q] == min(before[1][1, q], 4 + between if q < p else 4)
        else:
            assert left[1, q] == before[0][1, q] and right[1, q] == before[1][1, q]
