"""The study of survival trees: its Brier score, by hand and without censoring."""

import numpy as np
import pytest

from odtbook.studies.survival import (
    MADE,
    at,
    brier_score,
    censored_at,
    kaplan_meier,
    leaf_curves,
    numbers,
    survival_table,
)


def known(*rows):
    return np.array(list(rows), [("event", bool), ("time", float)])


def test_curves_of_five_rows():
    y = known((True, 1.0), (True, 2.0), (False, 2.0), (True, 4.0), (False, 5.0))
    times, alive = kaplan_meier(y)
    assert times.tolist() == [1, 2, 4, 5] and alive == pytest.approx([0.8, 0.6, 0.3, 0.3])
    # at time two one of the three that are left after the event is censored
    _, followed = kaplan_meier(y, censoring=True)
    assert followed == pytest.approx([1, 2 / 3, 2 / 3, 0])
    assert at(times, alive, [0.5, 1, 3, 9]) == pytest.approx([1, 0.8, 0.6, 0.3])
    assert at(times, alive, [1, 2, 4.5], before=True) == pytest.approx([1, 0.8, 0.3])
    early = censored_at(y, 2.0)
    assert early["event"].tolist() == [True, True, False, False, False]
    assert early["time"].max() == 2


def test_brier_score_by_hand():
    """Three rows: one event, one censored between the points, one followed to the end."""
    train = known((True, 1.0), (False, 2.0), (True, 3.0), (True, 6.0))
    test = known((True, 1.5), (False, 2.5), (True, 5.0))
    survival = np.array([[0.9, 0.4], [0.8, 0.5], [0.7, 0.6]])
    points = np.array([1.0, 3.0])
    # censoring: one of three at time two, so that 2/3 are followed from there on
    first = (0.1 ** 2 + 0.2 ** 2 + 0.3 ** 2) / 3
    second = (0.4 ** 2 / 1.0 + 0.0 + 0.4 ** 2 / (2 / 3)) / 3
    assert brier_score(train, test, survival, points) == pytest.approx((first + second) / 2)


def test_without_censoring_it_is_the_mean_square():
    rng = np.random.default_rng(0)
    y = known(*((True, time) for time in rng.uniform(1, 9, 40)))
    points, survival = np.linspace(2, 8, 7), rng.random((40, 7))
    square = ((y["time"][:, None] > points) - survival) ** 2
    assert brier_score(y, y, survival, points) == pytest.approx(
        np.trapezoid(square.mean(axis=0), points) / 6)


def test_a_table_without_packages():
    X, y = survival_table(MADE)
    rows, others = numbers(X[:200], X[200:])
    assert rows.shape == (200, 4) and others.shape == (100, 4) and y["event"].any()
    leaves = rows[:, 0]
    curves = leaf_curves(leaves, y[:200], np.array([0.0, 1.0]), [5.0])
    assert curves[0, 0] == pytest.approx(at(*kaplan_meier(y[:200][leaves == 0]), 5.0))
