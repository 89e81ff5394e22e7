"""Deep trees by looking ahead: against brute force, and against what is promised of every node."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from odtlib import CARTClassifier, MurTreeClassifier, MurTreeSearch
from odtlib.murtree.preparation import prepare
from odtlib.murtree.solver import Solver
from odtlib.report import Clock
from tests.murtree.test_search import blobs
from tests.naive import best_tree_cost


def deep_instance(rng):
    """Return a nasty instance, a depth, a look-ahead, a smallest leaf and a penalty.

    There are ties, contradictions, constant columns, one row, and weights of rows or classes.
    """
    n_rows, n_columns = int(rng.integers(1, 25)), int(rng.integers(1, 5))
    n_classes = int(rng.integers(2, 5))
    X = (rng.random((n_rows, n_columns)) < rng.choice([0.2, 0.5, 0.9])).astype(np.uint8)
    if n_columns > 1 and rng.random() < 0.3:
        X[:, 1] = 1 - X[:, 0]                       # a complement
    y = rng.integers(0, n_classes, n_rows)
    if rng.random() < 0.5:
        a, b = rng.integers(0, n_columns, 2)
        y = ((X[:, a] ^ X[:, b]) + (rng.random(n_rows) < 0.2)) % n_classes
    of_rows = rng.integers(1, rng.choice([5, 60, 10 ** 6]), n_rows).astype(float)
    of_classes = rng.integers(1, rng.choice([3000, 2 ** 40]), n_classes)[y].astype(float)
    weight = [np.ones(n_rows), of_rows, rng.random(n_rows) * 1e3, of_classes][rng.integers(0, 4)]
    depth = int(rng.integers(3, 5))
    return (X, y.astype(np.int64), n_classes, weight, depth, int(rng.integers(2, depth)),
            int(rng.choice([1, 1, 1, 2, 3])), float(rng.choice([0.0, 0.0, 0.3, 1.0, 2.5])))


@pytest.mark.parametrize("seed", range(4))
def test_every_node_is_as_good_as_a_tree_of_the_lookahead(seed):
    rng = np.random.default_rng(seed)
    for _ in range(30):
        X, y, n_classes, weight, depth, horizon, min_leaf, penalty = deep_instance(rng)
        problem = prepare(X, y, n_classes, weight, min_samples_leaf=min_leaf)
        solver = Solver(problem, horizon, 2 ** horizon - 1, split_penalty=penalty,
                        min_samples_leaf=min_leaf)
        nested, first, status = solver.lookahead_tree(depth, horizon, Clock(), 1.0)
        assert status == "heuristic"

        def check(part, rows, depth, horizon=horizon, min_leaf=min_leaf, penalty=penalty,
                  data=(X, y, weight), n_classes=n_classes, columns=problem.columns):
            """Return the cost of a subtree; compare it with the best of the look-ahead."""
            X, y, weight = (array[rows] for array in data)
            if isinstance(part, tuple):
                has = X[:, columns[part[0]]] == 1
                assert depth > 0 and min(has.sum(), (~has).sum()) >= min_leaf
                cost = penalty + check(part[1], rows[~has], depth - 1) + check(
                    part[2], rows[has], depth - 1)
            else:
                cost = weight[y != part].sum()
            best = best_tree_cost(X, y, weight, n_classes, min(depth, horizon), None, min_leaf,
                                  penalty)
            assert cost <= best + 1e-9 * weight.sum()
            if depth <= horizon:
                assert cost == pytest.approx(best, rel=1e-9, abs=1e-9)
            return cost

        check(nested, np.arange(len(y)), depth)
        if first is not None:
            assert first + problem.offset == pytest.approx(best_tree_cost(
                X, y, weight, n_classes, horizon, None, min_leaf, penalty), rel=1e-9, abs=1e-9)


def test_a_penalty_proves_that_no_deeper_tree_is_better():
    X = np.random.default_rng(0).integers(0, 2, (200, 8))
    y = X[:, 0] | (X[:, 1] & X[:, 2])
    y[:3] ^= 1
    exact = MurTreeClassifier(3, split_penalty=5).fit(X, y).report_
    report = MurTreeClassifier(9, split_penalty=5, search=MurTreeSearch(lookahead=3)).fit(
        X, y).report_
    assert exact.objective <= 4 * 5
    assert report.status == "optimal" and report.objective == exact.objective
    assert "at any depth" in report.proof


def test_any_depth_is_said_only_where_no_depth_gives_a_better_tree():
    rng, said = np.random.default_rng(5), {True: 0, False: 0}
    for _ in range(150):
        X, y, n_classes, weight, _, _, min_leaf, penalty = deep_instance(rng)
        if len(np.unique(y)) < 2:
            continue
        depth = int(rng.integers(1, 4))
        report = MurTreeClassifier(depth, min_samples_leaf=min_leaf, split_penalty=penalty).fit(
            X, y, weight).report_
        best = best_tree_cost(X, y, weight, n_classes, X.shape[1], None, min_leaf, penalty)
        slack = 1e-9 * weight.sum()
        assert best <= report.objective + slack
        if "any depth" in report.proof:
            assert penalty > 0 and report.objective == pytest.approx(best, abs=slack)
            said[True] += 1
        else:
            said[False] += report.objective > best + slack
    assert min(said.values()) > 5


@pytest.mark.parametrize("lookahead", [2, 3])
def test_no_worse_than_its_start_and_than_smaller_depth(lookahead):
    for seed in range(6):
        X, y = blobs(seed, n_rows=300, n_columns=10, n_classes=2 + seed % 3)
        search = MurTreeSearch(lookahead=lookahead)
        least = MurTreeClassifier(lookahead).fit(X, y).report_.objective
        cart = CARTClassifier(max_depth=6, random_state=0).fit(X, y)
        model = MurTreeClassifier(6, search=search).fit(X, y)
        assert model.report_.objective <= least
        started = MurTreeClassifier(6, search=search, start=cart).fit(X, y)
        assert started.report_.objective <= min(cart.report_.objective, model.report_.objective)
        best = MurTreeClassifier(6, start=model).fit(X, y)           # the exact search goes on
        again = MurTreeClassifier(6, search=search, start=best).fit(X, y)
        assert again.report_.objective == best.report_.objective <= model.report_.objective


def test_parity_is_found_below_a_split_that_gains_nothing():
    """Where a leaf is the best tree of the look-ahead the purest split leads on."""
    X = np.array([[i >> b & 1 for b in range(4)] for i in range(16)] * 3)
    y = X.sum(axis=1) % 2
    model = MurTreeClassifier(4, search=MurTreeSearch(lookahead=2)).fit(X, y)
    assert model.report_.status == "optimal" and model.report_.objective == 0
    assert model.get_depth() == 4


def test_deep_trees_are_better_than_cart_and_the_same_each_time():
    X, y = blobs(3, n_rows=2000, n_columns=24)
    y[np.random.default_rng(0).random(len(y)) < 0.2] ^= 1
    errors = [MurTreeClassifier(8, search=MurTreeSearch(lookahead=k)).fit(X, y).report_.objective
              for k in (2, 3, 3)]
    cart = DecisionTreeClassifier(max_depth=8, random_state=0).fit(X, y)
    assert errors[1] == errors[2] <= errors[0] < (cart.predict(X) != y).sum()


@pytest.mark.parametrize("options", [{"objective": "balanced-accuracy"}, {"objective": "f1"},
                                     {"class_weight": {0: 1.0, 1: 2.5}}, {"costs": True}])
def test_other_objectives(options):
    rng = np.random.default_rng(0)
    for seed in range(4):
        X, y = blobs(seed, n_rows=60, n_columns=5)
        fitted = {"costs": rng.normal(size=(len(y), 2))} if "costs" in options else {}
        chosen = {} if fitted else options
        exact = MurTreeClassifier(4, **chosen).fit(X, y, **fitted).report_
        model = MurTreeClassifier(4, search=MurTreeSearch(lookahead=2), **chosen)
        report = model.fit(X, y, **fitted).report_
        smaller = MurTreeClassifier(2, **chosen).fit(X, y, **fitted).report_
        assert exact.status == "optimal"
        assert report.lower_bound - 1e-9 <= exact.objective <= report.objective + 1e-9
        assert report.objective <= smaller.objective + 1e-9
        assert report.objective == pytest.approx(model.verify(X, y))
        if report.status == "optimal":
            assert report.objective == pytest.approx(exact.objective)


@pytest.mark.parametrize("ending", ["time_limit", "interrupted"])
@pytest.mark.parametrize("at", [1, 2, 5])
def test_a_search_that_is_cut_short_ends_in_a_whole_tree(ending, at, monkeypatch):
    X, y = blobs(n_rows=300)
    calls, solve = [], Solver.solve

    def cut(self, depth, nodes, *, clock=None, **options):
        if clock is not None:                        # one of the look-ahead
            calls.append(depth)
            if len(calls) == at:
                if ending == "interrupted":
                    raise KeyboardInterrupt
                return False
        return solve(self, depth, nodes, clock=clock, **options)

    monkeypatch.setattr(Solver, "solve", cut)
    model = MurTreeClassifier(6, split_penalty=0.5, search=MurTreeSearch(lookahead=3)).fit(X, y)
    report = model.report_
    assert report.status == ending and len(calls) >= at and set(calls[at:]) <= {1, 2}
    assert report.lower_bound <= report.objective == model.verify(X, y)
    cart = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y)
    assert report.objective <= (cart.predict(X) != y).sum() + 0.5 * (cart.tree_.node_count // 2)


def test_without_time_the_tree_is_greedy():
    X, y = blobs(n_rows=300)
    report = MurTreeClassifier(6, time_limit=1e-9, binarizer=None,
                               search=MurTreeSearch(lookahead=3)).fit(X, y).report_
    assert report.status == "time_limit" and report.lower_bound == 0 < report.objective


@pytest.mark.parametrize("value", [1, 0, -3, 2.5, "3", True])
def test_values_that_do_not_exist_are_refused(value):
    with pytest.raises(ValueError, match="'lookahead' parameter of MurTreeSearch"):
        MurTreeSearch(lookahead=value)


@pytest.mark.parametrize("option", ["deepening", "discrepancy_search", "minimise_nodes"])
def test_options_of_the_whole_depth_are_refused(option):
    with pytest.raises(ValueError, match=f"lookahead=3 and {option}=True; choose one"):
        MurTreeSearch(lookahead=3, **{option: True})


def test_limits_on_nodes_are_refused():
    X, y = blobs(n_rows=40, n_columns=5)
    search = MurTreeSearch(lookahead=2)
    for options in ({"max_nodes": 5}, {"max_leaf_nodes": 4}):
        with pytest.raises(ValueError, match="lookahead needs the full node budget"):
            MurTreeClassifier(3, search=search, **options).fit(X, y)
    whole = MurTreeClassifier(3, 7, search=search).fit(X, y).report_
    assert whole.objective == MurTreeClassifier(3, search=search).fit(X, y).report_.objective
    with pytest.raises(ValueError, match="search has lookahead=2, which path does not have"):
        MurTreeClassifier(3, search=search).path(X, y)
