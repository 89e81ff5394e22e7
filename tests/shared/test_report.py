"""The solve report: what it claims, what it refuses to claim, and its integral."""

import numpy as np
import pytest

from odtlib import DecisionTree, SolveReport
from odtlib.report import STATUSES, Clock, default_objective


def test_optimal_needs_a_proof_and_a_bound_that_carries_it():
    with pytest.raises(ValueError, match="for what"):
        SolveReport("optimal", 3, 3, 0.1)
    with pytest.raises(ValueError, match="below the objective"):
        SolveReport("optimal", 3, 2, 0.1, proof="optimal for 4 predicates at depth 2")
    with pytest.raises(ValueError, match="not one of"):
        SolveReport("done", 3, 2, 0.1)
    report = SolveReport("optimal", 3, 3, 0.1, proof="optimal for 4 predicates at depth 2")
    assert report.gap == 0
    assert "4 predicates" in str(report)


@pytest.mark.parametrize("ended", STATUSES)
def test_where_bound_and_objective_meet_it_is_optimal_whatever_ended_the_run(ended):
    report = SolveReport(ended, 3, 3, 0.1, proof="these")
    assert report.status == report.events[-1][-1] == "optimal" and report.proof == "these"
    assert SolveReport(ended, 0, 0, 0.1).proof == "optimal at any depth"
    above = SolveReport(ended, 3, 4, 0.1, proof="these")    # a tree from outside the search space
    assert (above.status, above.lower_bound, above.gap) == ("optimal", 3, 0)
    if ended != "optimal":
        report = SolveReport(ended, 3, 2, 0.1, proof="these")
        assert report.status == report.events[-1][-1] == ended and report.proof == ""


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_tolerances_follow_the_scale(unit):
    SolveReport("optimal", 3 * unit, 3 * unit * (1 - 1e-10), 0.1, proof="these")
    SolveReport("optimal", unit * 1e-10, 0, 0.1, proof="these", scale=unit)
    for objective, bound in ((3 * unit, 2 * unit), (unit * 1e-10, 0)):
        with pytest.raises(ValueError, match="below the objective"):
            SolveReport("optimal", objective, bound, 0.1, proof="these")
    report = SolveReport("heuristic", 0.0, 0, 0.1, scale=2 * unit)
    report.tree = DecisionTree.from_nested((0, 0.5, 0, 1))
    X = [[0.0], [1.0], [1.0]]
    report.verify(X, [0, 1, 0], [unit, unit, unit * 1e-12])
    with pytest.raises(ValueError, match="the report says 0"):
        report.verify(X, [0, 1, 0], [unit, unit, unit * 1e-6])


def test_gap_and_trace():
    events = [(0.0, 9.0, 0.0, "cart"), (0.5, 4.0, 2.0, "search"), (1.0, 4.0, 3.0, "end")]
    report = SolveReport("time_limit", 4, 3, 1.0, trace=events)
    assert report.gap == 1
    assert report.trace.columns.tolist() == ["seconds", "incumbent", "bound", "event"]
    assert report.trace.values.tolist() == [*map(list, events), [1.0, 4.0, 3.0, "time_limit"]]
    # 0.5 s at gap 5/9, then nothing
    assert report.primal_integral() == pytest.approx(0.5 * 5 / 9)
    assert report.primal_integral(best=2) == pytest.approx(0.5 * 7 / 9 + 0.5 * 0.5)
    assert report.primal_integral(horizon=0.25) == pytest.approx(0.25 * 5 / 9)
    assert report.primal_integral(best=2, horizon=2) == pytest.approx(0.5 * 7 / 9 + 1.5 * 0.5)


def test_integral_counts_the_time_before_the_first_tree():
    report = SolveReport("heuristic", 0, -np.inf, 2.0,
                         trace=[(1.0, np.inf, 0.0, "nothing"), (2.0, 0.0, 0.0, "tree")])
    assert report.primal_integral() == pytest.approx(2.0)


def test_verify_recomputes_from_the_tree_alone():
    tree = DecisionTree.from_nested((0, 0.5, 0, 1))
    X, y, weight = [[0.0], [1.0], [1.0]], [0, 1, 0], [1.0, 1.0, 2.5]
    report = SolveReport("heuristic", 2.5, 0, 0.1)
    with pytest.raises(ValueError, match="belongs to no tree"):
        report.verify(X, y, weight)
    report.tree = tree
    assert report.verify(X, y, weight) == 2.5
    with pytest.raises(ValueError, match="scores 1 on these rows, the report says 2.5"):
        report.verify(X, y)


def test_default_objective_of_regression_is_squared_error():
    tree = DecisionTree.from_nested((0, 0.5, [1.0, 2.0], [3.0, 4.0]), kind="regression")
    y = np.array([[1.0, 1.0], [5.0, 4.0]])
    assert default_objective(tree, [[0.0], [1.0]], y) == 1.0 + 4.0
    assert default_objective(tree, [[0.0], [1.0]], y, [2.0, 0.5]) == 2.0 + 2.0


def test_clock():
    assert Clock().remaining == np.inf and not Clock().expired
    clock = Clock(1e-9)
    assert clock.expired and clock.remaining == 0.0 and clock.elapsed > 0


@pytest.mark.parametrize("status, bound, words", [
    ("heuristic", 0.0, "no better tree was found"),
    ("optimal", 1.0, "no tree within the limits costs less")])
def test_notes_say_which_features_a_tree_uses_or_that_it_is_one_leaf(status, bound, words):
    report = SolveReport(status, 1.0, bound, 0.1, proof="optimal at depth 2")
    assert report.notes == []
    report.tree = DecisionTree.from_nested(0, n_features=3)
    assert report.notes == ["one leaf: " + words]
    report.tree = DecisionTree.from_nested((1, 0.5, 0, 1), n_features=3)
    assert report.notes == ["uses 1 of 3 features: x1"]
    report.tree = report.tree.replace(feature_names=("a", "b", "c"))
    assert report.notes == ["uses 1 of 3 features: b"]
    report.tree = DecisionTree.from_nested((0, 0.5, 0, 1), n_features=1)
    assert report.notes == []
