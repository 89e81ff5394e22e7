"""Costs of treatments: the formulas by hand, and a policy that is known."""

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression

from odtlib import MurTreeClassifier
from odtlib.policy import policy_costs


def trial(rng, n_rows=3000):
    """Return a randomised trial in which treatment "b" helps where the first feature is 1."""
    X = rng.integers(0, 2, (n_rows, 4)).astype(float)
    treatment = rng.choice(["a", "b", "c"], n_rows, p=[0.5, 0.3, 0.2])
    effect = np.where(treatment == "b", 2 * X[:, 0] - 1, np.where(treatment == "c", -0.2, 0.0))
    return X, treatment, 3 * X[:, 1] + effect + rng.normal(size=n_rows)


def test_inverse_propensity_is_the_formula():
    costs = policy_costs(np.zeros((6, 1)), [0, 1] * 3, np.arange(6.0), cv=2,
                         method="inverse-propensity", propensity=np.full((6, 2), 0.25))
    np.testing.assert_allclose(costs, [[-0.0, 0], [0, -4], [-8, 0], [0, -12], [-16, 0], [0, -20]])


def test_estimates_come_from_the_other_folds():
    outcome = np.array([10.0, 20.0, 30.0, 40.0])
    costs = policy_costs(np.zeros((4, 1)), [0, 1, 0, 1], outcome, cv=2, method="direct",
                         outcome_model=DummyRegressor(), random_state=0)
    for row, other in ((0, 2), (2, 0)):
        assert -costs[row, 0] == outcome[other]
    robust = policy_costs(np.zeros((4, 1)), [0, 1, 0, 1], outcome, cv=2, random_state=0,
                          outcome_model=DummyRegressor(), propensity=np.full((4, 2), 0.5))
    assert -robust[0, 0] == 30 + (10 - 30) / 0.5
    np.testing.assert_allclose(robust[[0, 2], 1], costs[[0, 2], 1])


@pytest.mark.parametrize("method", ["direct", "inverse-propensity", "doubly-robust"])
def test_costs_are_right_on_average_and_find_the_policy(method):
    X, treatment, outcome = trial(np.random.default_rng(0))
    costs = policy_costs(X, treatment, outcome, method=method, random_state=0,
                         propensity=np.tile([0.5, 0.3, 0.2], (len(X), 1)),
                         outcome_model=LinearRegression())
    for first in (0, 1):
        rows = X[:, 0] == first
        effects = costs[rows, 0].mean() - costs[rows, 1:].mean(axis=0)
        np.testing.assert_allclose(effects, [2 * first - 1, -0.2], atol=0.35)
    policy = MurTreeClassifier(1).fit(X, treatment, costs=costs)
    np.testing.assert_array_equal(policy.predict(X), np.where(X[:, 0] == 1, "b", "a"))


def test_estimated_propensities_correct_a_selection():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, (6000, 2)).astype(float)
    treatment = (rng.random(6000) < np.where(X[:, 0] == 1, 0.9, 0.1)).astype(int)
    outcome = 5 * X[:, 0] - treatment        # the treated do better and the treatment harms
    assert outcome[treatment == 1].mean() > outcome[treatment == 0].mean()
    costs = policy_costs(X, treatment, outcome, random_state=0, outcome_model=DummyRegressor())
    np.testing.assert_allclose(costs[:, 1].mean() - costs[:, 0].mean(), 1.0, atol=0.2)


@pytest.mark.parametrize(("options", "message"), [
    ({"method": "magic"}, "use one of direct"),
    ({"outcome": np.ones((6, 2))}, "^outcome has shape"),
    ({"treatment": np.ones((6, 2))}, "^treatment has shape"),
    ({"cv": 4}, "has 3 rows and there are 4 folds"),
    ({"min_propensity": 0}, "above 0"),
    ({"propensity": np.ones((6, 3))}, "one column per treatment"),
    ({"propensity": pd.DataFrame(np.full((6, 2), 0.5), columns=[1, 0])}, "columns of propensity"),
])
def test_what_cannot_be_used_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        policy_costs(**{"X": np.zeros((6, 1)), "treatment": [0, 1] * 3, "outcome": np.arange(6.0),
                        "cv": 2, **options})
