"""A budget of features, each paid once per tree, against enumeration of feature sets."""

import itertools

import numpy as np
import pandas as pd
import pytest
from column_generation.reference import column_generation, draw_problem, least_costs

from odtbook.datasets import load
from odtbook.published import Sweep


def least_cost_within(problem, costs, budget, max_leaves=None):
    """Least cost over all sets of features within the budget, by trying each split of each node."""
    n_features, rows = len(costs), np.arange(problem.n_rows)
    return min(cost - problem.limits[1]
               for size in range(n_features + 1)
               for features in itertools.combinations(range(n_features), size)
               if sum(costs[f] for f in features) <= budget
               for n_leaves, cost in least_costs(problem, 0, rows, features=features).items()
               if max_leaves is None or n_leaves <= max_leaves)


FORMS = [{}, {"integer": "milp", "row_cuts": "all"}, {"pricing": Sweep()}, {"row_cuts": "none"},
         {"heuristic_pricing": "pool", "merge_rows": False}, {"integer": "diving"},
         {"pricing": "cp-sat", "row_cuts": "equal"}, {"row_cuts": "extra"}]
SLOW = 2    # of them, tried on fewer instances


@pytest.mark.parametrize("seed", range(250))
def test_a_budget_of_features_equals_enumeration(seed):
    random = np.random.RandomState(seed)
    depth = 3 if seed % 10 == 9 else 2
    plain = draw_problem(random, depth=depth, most_rows=18, candidates=4 if depth == 2 else 2,
                         weights=(None, "integers", "floats")[seed % 3])
    costs, budget = random.randint(0, 4, 3), int(random.randint(0, 7))
    if seed % 4 == 0:
        costs, budget = np.ones(3, int), int(random.randint(0, 3))
    penalty, min_leaf = float(random.choice([0.0, 0.0, 0.7])), int(random.choice([1, 1, 2]))
    max_leaves = random.choice([None, None, 2, 3])
    forms = FORMS[-SLOW:] if seed % 25 == 3 else FORMS[:-SLOW]
    form = dict(forms[(seed // 4) % len(forms)])
    exact = "integer" not in form
    form.setdefault("integer", "branch-and-price")
    model = column_generation(
        depth, splits=plain.splits, max_feature_cost=budget,
        feature_costs=None if seed % 4 == 0 else costs, split_penalty=penalty,
        min_samples_leaf=min_leaf, max_leaf_nodes=max_leaves, **form)
    model.fit(plain.X, plain.y, sample_weight=plain.weights)
    plain.limits = np.array([min_leaf, penalty, np.inf])
    expected = least_cost_within(plain, costs, budget, max_leaves)
    used = np.unique(model.tree_.feature[model.tree_.feature >= 0])
    assert costs[used].sum() <= budget
    assert model.verify(plain.X, plain.y, sample_weight=plain.weights) == pytest.approx(
        model.report_.objective, abs=1e-7)
    assert model.report_.lower_bound <= expected + 1e-6
    if exact:
        assert model.report_.status == "optimal"
        assert model.report_.objective == pytest.approx(expected, abs=1e-6)
    else:
        assert model.report_.objective >= expected - 1e-6


def test_sampled_candidates_of_a_data_set():
    data = load("iris_uci")
    objective = []
    for budget in (0, 1, 2, None):
        model = column_generation(2, max_feature_cost=budget, n_trees=20,
                                  integer="branch-and-price").fit(data.X, data.y)
        assert model.report_.status == "optimal"
        used = np.unique(model.tree_.feature[model.tree_.feature >= 0])
        assert budget is None or len(used) <= budget
        objective.append(model.report_.objective)
    assert objective[0] == 100 and np.all(np.diff(objective) <= 0)


@pytest.mark.parametrize("seed", range(12))
def test_a_feature_of_words_is_paid_once_for_all_its_columns(seed):
    """Each category was a feature of its own, with a cost to be given and to be paid."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.choice(list("uvw"), 40), "n": rng.integers(0, 2, 40),
                          "b": rng.choice(list("pqr"), 40)})
    y = (frame["a"] != "u").to_numpy() ^ (frame["b"] == rng.choice(list("pqr"))).to_numpy()
    y ^= rng.random(40) < 0.1
    columns = pd.get_dummies(frame)[["a_u", "a_v", "a_w", "n", "b_p", "b_q", "b_r"]]
    feature_of, costs = np.array([0, 0, 0, 1, 2, 2, 2]), np.array([2, 1, 3])
    for budget, paid in ((1, None), (2, None), (3, costs), (4, costs)):
        splits = [[(k, 0.5) for k in range(7)]] * 3
        model = column_generation(2, splits=splits, max_feature_cost=budget, feature_costs=paid,
                                  integer="branch-and-price").fit(frame, y)
        assert model.report_.status == "optimal"
        expected = min(
            column_generation(2, splits=[[(k, 0.5) for k in np.flatnonzero(
                np.isin(feature_of, some))]] * 3).fit(columns.to_numpy(float), y).report_.objective
            for size in (1, 2, 3) for some in itertools.combinations(range(3), size)
            if (np.ones(3) if paid is None else costs)[list(some)].sum() <= budget)
        assert model.report_.objective == expected
    with pytest.raises(ValueError, match="3 whole numbers, one per feature"):
        column_generation(2, max_feature_cost=1, feature_costs=np.ones(7)).fit(frame, y)


def test_german_credit_at_depth_three_is_proved():
    data = load("murtree/german-credit")
    model = column_generation(3, max_feature_cost=3, integer="branch-and-price")
    model.fit(data.X, data.y)
    assert model.report_.status == "optimal"
    assert "features that cost at most 3" in model.report_.proof
    assert len(np.unique(model.tree_.feature[model.tree_.feature >= 0])) <= 3


@pytest.mark.parametrize("options, message", [
    ({"feature_costs": [1, 1]}, "no effect without max_feature_cost"),
    ({"feature_costs": [1], "max_feature_cost": 1}, "2 whole numbers"),
    ({"feature_costs": [0.5, 1], "max_feature_cost": 1}, "2 whole numbers"),
    ({"feature_costs": [-1, 1], "max_feature_cost": 1}, "2 whole numbers")])
def test_costs_that_cannot_be_used_are_refused(options, message):
    X, y = np.array([[0, 0], [1, 0], [0, 1.0]]), [0, 1, 1]
    with pytest.raises(ValueError, match=message):
        column_generation(1, **options).fit(X, y)


def test_the_prefix_form_has_no_budget_of_features():
    X, y = np.array([[0, 0], [1, 0], [0, 1.0], [1, 1]]), [0, 1, 1, 0]
    with pytest.raises(ValueError, match="use link='node'"):
        column_generation(2, link="prefix", max_feature_cost=1).fit(X, y)
