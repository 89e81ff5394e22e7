"""Under a time limit no answer is behind that of a quick method for the same question."""

import threading

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from odtlib import CARTClassifier, MurTreeClassifier, MurTreeRegressor, MurTreeSearch
from odtlib.binarize import AutoBinarizer, QuantileBinarizer
from odtlib.murtree import columns as columns_module
from odtlib.murtree import run as module
from odtlib.murtree.extensions import fronts
from odtlib.objectives import SquaredError
from odtlib.report import Clock


def table(seed, n=400, columns=30):
    random = np.random.default_rng(seed)
    X = random.integers(0, 2, (n, columns))
    score = X[:, :6] @ random.normal(size=6) + (X[:, 6] ^ X[:, 7]) * 1.5
    return X, (score + random.normal(scale=0.5, size=n) > np.quantile(score, 0.75)).astype(int)


def budget_of_cart(X, y, depth, nodes, **options):
    tree = DecisionTreeClassifier(max_depth=depth, max_leaf_nodes=nodes + 1, random_state=0,
                                  **options).fit(X, y)
    return np.count_nonzero(tree.predict(X) != y)


@pytest.mark.parametrize("limit", [1e-9, 0.3])
@pytest.mark.parametrize("options", [{}, {"min_samples_leaf": 6}])
@pytest.mark.parametrize(("depth", "nodes"), [(6, 12), (8, 25)])
def test_a_node_budget_is_not_behind_best_first_cart(depth, nodes, options, limit):
    for seed in range(3):
        X, y = table(seed)
        model = MurTreeClassifier(depth, nodes, time_limit=limit, **options).fit(X, y)
        assert model.report_.objective <= budget_of_cart(X, y, depth, nodes, **options)
        assert model.verify(X, y) == model.report_.objective
        assert model.tree_.n_splits <= nodes and model.tree_.depth <= depth


def test_a_search_under_a_node_budget_looks_ahead_and_cuts_back(monkeypatch):
    real, asked = module.Run.solver_of, []
    monkeypatch.setattr(module, "TURNS", (0.0, 0.0))
    monkeypatch.setattr(module.Run, "solver_of", lambda self, depth, nodes: (
        asked.append((depth, nodes)) or real(self, depth, nodes)))
    X, y = table(3)
    model = MurTreeClassifier(7, 20, time_limit=1.0).fit(X, y)
    assert asked[:2] == [(7, 20), (2, 3)]
    assert model.report_.objective <= budget_of_cart(X, y, 7, 20)
    assert model.tree_.n_splits <= 20


def test_without_a_limit_a_budget_is_searched_as_before():
    X, y = table(4, 60, 8)
    free = MurTreeClassifier(4, 6).fit(X, y)
    limited = MurTreeClassifier(4, 6, time_limit=600).fit(X, y)
    assert free.report_.status == limited.report_.status == "optimal"
    assert free.report_.objective == limited.report_.objective


def stop(self, *_):
    """Let nothing more be found."""
    self.clock.time_limit = 1e-9


def test_f1_begins_with_the_trees_of_the_errors(monkeypatch):
    real = module.Run.search
    X, y = table(5, 150, 12)
    errors = MurTreeClassifier(4).fit(X, y)
    monkeypatch.setattr(module.Run, "search", lambda self: (stop(self), real(self)))
    model = MurTreeClassifier(4, objective="f1", time_limit=600).fit(X, y)
    assert model.report_.status == "time_limit"
    assert model.report_.objective <= 1 - f1_score(y, errors.predict(X)) + 1e-12
    assert model.report_.objective == pytest.approx(1 - f1_score(y, model.predict(X)))


@pytest.mark.parametrize("depth, nodes", [(5, None), (6, 25)])
@pytest.mark.parametrize("objective", ["balanced-accuracy", "costs"])
def test_a_hopeless_search_of_weighted_rows_begins_with_the_trees_of_the_errors(
        monkeypatch, objective, depth, nodes):
    X, y = table(9, 300, 14)
    costs = np.zeros((len(y), 2))
    costs[np.arange(len(y)), 1 - y] = np.random.default_rng(7).integers(1, 30, len(y))
    options, data = ({}, {"costs": costs}) if objective == "costs" else (
        {"objective": objective}, {})
    ahead, explore = module.Run.try_lookahead, module.Run.explore

    def only_for_errors(look):
        return lambda self, share: (look if self.rows.errors is None else stop)(self, share)

    monkeypatch.setattr(module, "HOPELESS", -1)
    monkeypatch.setattr(module.Run, "explore", only_for_errors(explore))
    monkeypatch.setattr(module.Run, "try_lookahead", stop)
    without = MurTreeClassifier(depth, nodes, time_limit=600, **options).fit(X, y, **data)
    monkeypatch.setattr(module.Run, "try_lookahead", only_for_errors(ahead))
    model = MurTreeClassifier(depth, nodes, time_limit=600, **options).fit(X, y, **data)
    assert model.report_.objective < without.report_.objective
    assert model.verify(X, y) == pytest.approx(model.report_.objective)
    if nodes is None:
        errors = MurTreeClassifier(depth, search=MurTreeSearch(lookahead=4)).fit(X, y)
        code = errors.predict(X)
        judged = costs[np.arange(len(y)), code].sum() if data else 1 - np.mean(
            [(code[y == k] == k).mean() for k in range(2)])
        assert model.report_.objective <= judged + 1e-12


@pytest.mark.parametrize("n_groups", [2, 3])
def test_a_fair_tree_begins_with_the_trees_of_the_errors(monkeypatch, n_groups):
    X, y = table(8, 300, 14)
    group = (X[:, 0] + X[:, 1]) % n_groups
    limits = {"max_disparity": 0.05, "time_limit": 600}
    monkeypatch.setattr(module, "HOPELESS", -1)
    monkeypatch.setattr(fronts.FairRun, "solve",
                        lambda self, depth, nodes: (stop(self), self.clock.check()))
    model = MurTreeClassifier(6, **limits).fit(X, y, protected=group)
    shares = [model.predict(X)[group == k].mean() for k in range(n_groups)]
    assert np.ptp(shares) <= 0.05 + 1e-9
    assert model.report_.objective == np.count_nonzero(model.predict(X) != y) < y.sum() / 2


def test_labels_become_fair_at_little_cost():
    X, y = table(9, 200, 9)
    group, counts = X[:, 0], MurTreeClassifier(4).fit(X, y)
    run = fronts.FairRun(MurTreeClassifier(4, max_disparity=0.1).fit(X, y, protected=group),
                         X, y, None, Clock(), "max_disparity", group)
    tree = run.with_fair_labels(counts.tree_)
    assert run.disparity(run.measured(tree)[1]) <= 0.1 + 1e-9
    assert run.judge(tree) < np.inf
    fair = run.with_fair_labels(tree)
    assert fair.to_nested() == tree.to_nested()


@pytest.mark.parametrize("weighted", [False, True])
def test_a_limit_that_is_not_reached_changes_no_f1(weighted):
    X, y = table(6, 80, 9)
    weight = np.random.default_rng(6).integers(1, 4, len(y)) if weighted else None
    for depth in (2, 3, 4):
        free = MurTreeClassifier(depth, objective="f1").fit(X, y, weight)
        limited = MurTreeClassifier(depth, objective="f1", time_limit=600).fit(X, y, weight)
        assert free.report_.objective == limited.report_.objective
        assert free.report_.status == limited.report_.status == "optimal"


@pytest.mark.parametrize("limit", [1e-6, 0.2])
@pytest.mark.parametrize("options", [{"objective": "f1"}, {"max_disparity": 0.2},
                                     {"objective": "balanced-accuracy"}])
def test_trees_that_are_heard_on_the_way_keep_the_node_budget(options, limit):
    """A larger one was once the answer, and called optimal."""
    random = np.random.default_rng(0)
    X = random.integers(0, 2, (400, 30))
    y = (X[:, :5].sum(axis=1) + (X[:, 5] & X[:, 6])) % 2
    given = {"protected": X[:, 7]} if "max_disparity" in options else {}
    model = MurTreeClassifier(5, 6, time_limit=limit, **options).fit(X, y, **given)
    assert model.tree_.n_splits <= 6


def steps(seed, n=700, levels=16):
    """Return numbers whose label changes at uneven thresholds, which no even cuts hit."""
    random = np.random.default_rng(seed)
    X = random.exponential(size=(n, 4))
    edges = np.sort(random.choice(X[:, 0], levels - 1, replace=False))
    return X, np.searchsorted(edges, X[:, 0]), random


def wait_for_cart_alone(monkeypatch):
    """Let the binariser make no columns without time, and CART grow however long it takes."""
    monkeypatch.setattr(columns_module, "FINISHING", 600)
    monkeypatch.setattr("odtlib.binarize.MOMENT_CELLS", 479)


def cart_with_the_weight(X, y, depth, weight=None, **options):
    return DecisionTreeClassifier(max_depth=depth, random_state=0, **options).fit(
        X, y, weight).predict(X)


@pytest.mark.parametrize("case", ["errors", "weights", "floats", "class_weight", "costs",
                                  "max_nodes", "min_samples_leaf", "any depth", "f1",
                                  "balanced-accuracy", "gini"])
def test_without_time_a_table_of_numbers_has_the_tree_of_cart(case, monkeypatch):
    wait_for_cart_alone(monkeypatch)
    X, step, random = steps(2)
    y, depth = step % 2 if case == "f1" else step % 3, 4
    weight = {"weights": random.integers(1, 9, len(y)), "floats": random.random(len(y)) + 0.1}.get(
        case)
    costs, given = random.random((len(y), 3)) + 1, {}
    costs[np.arange(len(y)), y % 3] = 0
    options = {"max_nodes": {"max_nodes": 6}, "min_samples_leaf": {"min_samples_leaf": 9},
               "class_weight": {"class_weight": "balanced"}}.get(case, {})
    grown = {"max_leaf_nodes": 7} if case == "max_nodes" else options
    predicted = cart_with_the_weight(X, y, depth, weight, **grown)
    if case == "costs":
        given["costs"] = costs
    elif case in ("f1", "balanced-accuracy", "gini"):
        options = {"objective": case}
    model = MurTreeClassifier(None if case == "any depth" else depth, time_limit=1e-9, **options)
    model.fit(X, y, weight, **given)
    if case == "gini":
        shares = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X, y).predict_proba(X)
        judged = (1 - (shares ** 2).sum(axis=1)).sum()
    elif case == "costs":
        judged = costs[np.arange(len(y)), predicted].sum()
    elif case == "f1":
        judged = 1 - f1_score(y, predicted)
    elif case == "balanced-accuracy":
        judged = 1 - np.mean([(predicted[y == k] == k).mean() for k in range(3)])
    else:
        amounts = np.ones(len(y)) if weight is None else weight
        if case == "class_weight":
            amounts = (len(y) / 3 / np.bincount(y))[y]
        judged = amounts[predicted != y].sum()
    assert model.report_.objective <= judged * (1 + 1e-9)
    assert model.verify(X, y, weight) == pytest.approx(model.report_.objective)
    assert model.report_.start == "cart" and model.tree_.n_features == 4
    assert case != "max_nodes" or model.tree_.n_splits <= 6
    assert model.report_.lower_bound <= model.report_.objective


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "poisson", "two targets"])
def test_without_time_a_regression_has_the_tree_of_cart(loss, monkeypatch):
    wait_for_cart_alone(monkeypatch)
    X, step, random = steps(3)
    y = (step * 7 % 16).astype(float)
    y = np.column_stack([y, -y]) if loss == "two targets" else y
    fitted = {} if loss == "two targets" else {"loss": loss}
    model = MurTreeRegressor(4, time_limit=1e-9, **fitted).fit(X, y)
    leaf = DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, y).apply(X)
    centre = np.median if loss == "absolute_error" else np.mean
    judged = 0.0
    for one in np.unique(leaf):
        inside, value = y[leaf == one], centre(y[leaf == one], axis=0)
        if loss == "poisson":
            logs = inside * np.log(np.where(inside > 0, inside, 1) / max(value, 1e-300))
            judged += (logs - inside + value).sum()
        else:
            judged += (np.abs(inside - value) ** (1 if loss == "absolute_error" else 2)).sum()
    assert model.report_.objective <= judged + 1e-6
    assert model.verify(X, y) == pytest.approx(model.report_.objective)
    assert model.report_.start == "cart"


def test_without_time_a_table_with_gaps_and_words_has_the_tree_of_cart(monkeypatch):
    wait_for_cart_alone(monkeypatch)
    X, step, random = steps(4)
    X[random.random(X.shape) < 0.1] = np.nan
    frame = pd.DataFrame(X, columns=list("abcd")).assign(
        town=np.where(random.random(len(X)) < 0.5, "Bern", np.where(step < 8, "Ulm", "Genf")))
    y = (step + (frame["town"] == "Bern").to_numpy()) % 3
    for rows in (X, frame):
        model = MurTreeClassifier(5, time_limit=1e-9).fit(rows, y)
        judged = CARTClassifier(max_depth=5, random_state=0).fit(rows, y).report_.objective
        assert model.report_.objective <= judged
        assert model.verify(rows, y) == model.report_.objective == np.count_nonzero(
            model.predict(rows) != y)
        assert model.report_.start == "cart"


def test_a_search_that_ends_gives_the_better_of_its_columns_and_those_of_cart():
    X, step, _ = steps(5, levels=8)
    y = (step * 5 % 8).astype(float)
    free = MurTreeRegressor(3).fit(X, y)
    limited = MurTreeRegressor(3, time_limit=600).fit(X, y)
    grown = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, y)
    judged = ((grown.predict(X) - y) ** 2).sum()
    assert free.report_.objective > judged >= limited.report_.objective - 1e-6
    assert limited.report_.status == "optimal" and limited.report_.start == "cart"
    tested = set(grown.tree_.threshold[grown.tree_.feature >= 0])
    np.testing.assert_allclose(limited.binarizer_.threshold_, sorted(tested), rtol=1e-6)
    given = MurTreeRegressor(3, binarizer=QuantileBinarizer(), time_limit=600).fit(X, y)
    assert given.report_.objective == free.report_.objective        # the columns are given


def test_the_columns_of_cart_are_taken_without_a_warning(recwarn):
    """The names of a frame, which its numbers have no more, are those of the columns."""
    X, step, _ = steps(5, levels=8)
    X = pd.DataFrame(X).add_prefix("x")
    model = MurTreeRegressor(3, time_limit=600).fit(X, step * 5 % 8)
    assert model.report_.start == "cart" and model.tree_.split_text(0)[0] == "x"
    assert model.binarizer_.get_feature_names_out()[0].startswith("x0 <=")
    assert len(model.predict(X)) == len(X) and not recwarn.list


def test_the_optimum_over_the_tests_of_cart_is_none_over_columns_that_were_not_searched(
        monkeypatch):
    X, step, _ = steps(5, levels=8)
    y, real, ended = (step * 5 % 8).astype(float), MurTreeRegressor._solve_over, []

    def first_without_time(self, columns, X, y, weight, clock, *given):
        outcome = real(self, columns, X, y, weight, clock if ended else Clock(1e-9), *given)
        ended.append(outcome.report.status)
        return outcome

    monkeypatch.setattr(MurTreeRegressor, "_solve_over", first_without_time)
    report = MurTreeRegressor(3, time_limit=600).fit(X, y).report_
    assert ended[0] == "time_limit" and ended[-1] == "optimal" and report.start == "cart"
    assert report.status == report.ended == "time_limit"
    assert report.lower_bound == 0 and report.proof == ""


def test_a_limit_that_is_not_reached_keeps_the_columns_where_cart_is_worse():
    random = np.random.default_rng(6)
    X = random.random((300, 3))
    y = (X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)
    free, limited = (MurTreeClassifier(2, time_limit=limit).fit(X, y) for limit in (None, 600))
    assert limited.report_.objective == free.report_.objective < cart_errors(X, y, 2)
    assert limited.report_.proof == free.report_.proof and limited.report_.start is None
    assert type(limited.binarizer_) is AutoBinarizer


def cart_errors(X, y, depth):
    return np.count_nonzero(cart_with_the_weight(X, y, depth) != y)


@pytest.mark.parametrize("objective", ["errors", "gini", "f1"])
def test_many_columns_are_first_looked_at_by_halves(objective, monkeypatch):
    monkeypatch.setattr(module, "FEW_COLUMNS", 10)
    real, seen = module.Run.solver_of, []

    def watched(self, depth, nodes):
        solver = real(self, depth, nodes)
        see = solver.see
        solver.see = lambda columns, family: (seen.append(len(columns)), see(columns, family))
        return solver

    X, y = table(7, 150, 44)
    free = MurTreeClassifier(3, objective=objective).fit(X, y)
    monkeypatch.setattr(module.Run, "solver_of", watched)
    model = MurTreeClassifier(3, objective=objective, time_limit=600).fit(X, y)
    assert seen[:2] == [11, 22]
    assert model.report_.status == "optimal"
    assert model.report_.objective == pytest.approx(free.report_.objective)


def test_the_trees_over_few_columns_are_there_when_time_is_over(monkeypatch):
    monkeypatch.setattr(module, "FEW_COLUMNS", 10)
    real = module.Run.look_at_few
    X, y = table(8, 300, 44)
    monkeypatch.setattr(module.Run, "quick", lambda self, clock: [])
    monkeypatch.setattr(module.Run, "look_at_few", lambda self: (real(self), stop(self)))
    for depth, options in ((5, {}), (6, {"max_nodes": 9}), (5, {"min_samples_leaf": 4})):
        model = MurTreeClassifier(depth, time_limit=600, **options).fit(X, y)
        assert "look-ahead 2 over 11 columns" in set(model.report_.trace["event"])
        assert model.report_.objective < y.sum()
        assert model.report_.status == "time_limit" and model.report_.lower_bound == 0
        assert model.verify(X, y) == model.report_.objective


def test_a_search_that_found_no_pair_in_its_first_turn_leaves_half_of_the_time_to_looks(
        monkeypatch):
    shares, real = [], module.Run.look_safely
    monkeypatch.setattr(module, "TURNS", (0.0, 0.0))
    monkeypatch.setattr(module.Run, "look_safely", lambda self, look, *share: (
        shares.append(share), real(self, look, *share)))
    X, y = table(9, 100, 12)
    MurTreeClassifier(5, time_limit=600).fit(X, y)
    assert shares == [(0.5,), (0.5,)]


@pytest.mark.parametrize("options", [{"max_nodes": 0}, {"max_depth": 0}, {"max_leaf_nodes": 2}])
def test_limits_below_those_of_any_split_hold_beside_cart(options, monkeypatch):
    wait_for_cart_alone(monkeypatch)
    X, step, _ = steps(8)
    model = MurTreeClassifier(time_limit=1e-9, **options).fit(X, step % 3)
    assert model.tree_.n_splits == (1 if "max_leaf_nodes" in options else 0)


def test_ctrl_c_while_cart_grows_leaves_what_was_found(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 4)), rng.integers(0, 2, 200)

    def wait(seconds):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(MurTreeClassifier, "_growing_cart", lambda self, *rows: wait)
        model = MurTreeClassifier(2, time_limit=600).fit(X, y)
    assert model.report_.status == "optimal"
    assert model.report_.objective == MurTreeClassifier(2).fit(X, y).report_.objective


@pytest.mark.parametrize("at", ["first search", "columns"])
def test_ctrl_c_beside_the_tests_of_cart_ends_the_fit(at, monkeypatch):
    X, step, _ = steps(5, levels=8)
    y, real, calls = (step * 5 % 8).astype(float), MurTreeRegressor._solve_over, []

    def interrupted(*given):
        raise KeyboardInterrupt

    def solve(*given):
        outcome = real(*given)
        calls.append(outcome)
        if len(calls) == 2:
            outcome.report.ended = "interrupted"
        return outcome

    monkeypatch.setattr(MurTreeRegressor, "_solve_over", solve)
    if at == "columns":
        monkeypatch.setattr(columns_module._GivenCuts, "fit", interrupted)
    model = MurTreeRegressor(3, time_limit=600).fit(X, y)
    assert len(calls) == (2 if at == "first search" else 1)
    assert model.report_ is calls[-1].report
    assert model.verify(X, y) == pytest.approx(model.report_.objective)


def test_penalties_of_more_levels_than_the_tree_of_cart_has(monkeypatch):
    wait_for_cart_alone(monkeypatch)
    X, step, _ = steps(2)
    price = np.linspace(0.1, 0.5, 14).tolist()
    model = MurTreeClassifier(14, 6, split_penalty=price, time_limit=1e-9).fit(X, step % 3)
    assert model.report_.start == "cart" and model.tree_.n_splits > 0
    inner = model.tree_.feature >= 0
    errors = np.count_nonzero(model.predict(X) != step % 3)
    assert model.report_.objective == pytest.approx(
        errors + np.take(price, model.tree_.node_depth[inner]).sum())


def test_looking_ahead_is_no_time_limit_where_cart_is_better():
    X, step, _ = steps(5, levels=8)
    model = MurTreeRegressor(5, split_penalty=0.1, search=MurTreeSearch(lookahead=2),
                             time_limit=600).fit(X, (step * 5 % 8).astype(float))
    assert model.report_.start == "cart"
    assert model.report_.status == model.report_.ended == "heuristic"


def test_what_every_tree_costs_anyway_may_be_less_than_nothing(monkeypatch):
    wait_for_cart_alone(monkeypatch)
    X, step, _ = steps(7, levels=30)
    y = (step * 7 % 30).astype(float)

    class Credit(SquaredError):
        certified = None

        def statistics(self, X, y, sample_weight):
            return super().statistics(X, y, sample_weight), -40_000.0

    report = MurTreeRegressor(3, loss=Credit(), time_limit=1e-9).fit(X, y).report_
    assert report.objective < 0 and report.start == "cart"
    assert report.status == "time_limit" and report.lower_bound == -40_000

    rows, label = np.arange(64.0)[:, None], np.arange(64) // 8 % 2
    monkeypatch.setattr("odtlib.binarize.MOMENT_CELLS", 63)
    gains = np.where(label[:, None] == [0, 1], -1.0, 1.0)       # one leaf costs nothing
    report = MurTreeClassifier(4, time_limit=1e-9).fit(rows, label, costs=gains).report_
    assert report.lower_bound == -64 < report.objective < 0
    assert report.status == "time_limit" and report.start == "cart"


@pytest.mark.parametrize("words", [False, True])
def test_a_tree_of_cart_that_cannot_be_better_is_not_grown(words, monkeypatch):
    grown, real = [], columns_module.cart_tree
    monkeypatch.setattr(columns_module, "cart_tree",
                        lambda *given, **limits: (grown.append(given), real(*given, **limits))[1])
    random = np.random.default_rng(0)
    X, y = random.integers(0, 4, (200, 4)), random.integers(0, 2, 200)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(word=np.take(["no", "yes"], X[:, 0] % 2))
    model = MurTreeClassifier(2, time_limit=600).fit(frame if words else X, y)
    assert model.report_.status == "optimal" and model.report_.objective > 0 and not grown
    MurTreeClassifier(2, time_limit=600).fit(random.random((200, 4)), y)
    assert len(grown) == 1


def test_words_are_read_for_cart_beside_the_columns_of_the_search(monkeypatch):
    threads, real = [], columns_module._WordColumns.fit
    monkeypatch.setattr(columns_module._WordColumns, "fit", lambda self, *given: (
        threads.append(threading.current_thread()), real(self, *given))[1])
    X, step, _ = steps(4)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(town=np.take(["Bern", "Ulm"], step % 2))
    MurTreeClassifier(2, time_limit=600).fit(frame, step % 3)
    assert threads and threading.main_thread() not in threads
