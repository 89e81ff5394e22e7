"""What holds for every additive objective: limits, threads, starts, forms, and clear refusals."""

import pickle
from functools import partial
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss, mean_poisson_deviance
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from odtlib import DecisionTree, MurTreeClassifier, MurTreeRegressor, MurTreeSearch, SurvivalTree
from odtlib.binarize import QuantileBinarizer, ThresholdBinarizer
from odtlib.murtree.objectives import survival
from odtlib.murtree.objectives.survival import StepFunction
from odtlib.objectives import (
    AdditiveObjective,
    Entropy,
    Gini,
    LinearLeaves,
    Poisson,
    SquaredError,
)
from tests.murtree.test_objectives import CAPPED, GRID, QuantileGrid, Stock, known

OF_NUMBERS = {"squared error": "squared_error", "poisson": "poisson", "line": LinearLeaves([0]),
              "stock": Stock(GRID), "capped": CAPPED, "quantile": QuantileGrid(0.3, GRID)}


def table(n_rows=150, n_columns=10, seed=0):
    rng = np.random.default_rng(seed)
    X = (rng.random((n_rows, n_columns)) < 0.5).astype(np.uint8)
    return X, rng.poisson(0.5 + X[:, 0] + 2.0 * (X[:, 1] & X[:, 2])).astype(float)


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_path_threads_penalty_and_starts(name, monkeypatch):
    monkeypatch.setattr("odtlib.fit.FIRST_SLICE", 1000)
    X, y = table()
    make = MurTreeRegressor(3, loss=OF_NUMBERS[name])
    best = make.fit(X, y).report_.objective
    entries = clone(make).path(X, y)
    assert entries[-1].objective == pytest.approx(best)
    assert (np.diff([entry.objective for entry in entries]) <= 1e-9 * best).all()
    small = clone(make).set_params(max_nodes=3).fit(X, y)
    assert small.report_.objective == pytest.approx(entries[3].objective)
    for options in ({"n_jobs": 2}, {"start": "cart"}, {"start": small.tree_}):
        if name == "line" and "start" in options and options["start"] != "cart":
            options = {"start": small.tree_.replace(slopes=None)}
        again = clone(make).set_params(**options).fit(X, y)
        assert again.report_.objective == pytest.approx(best)
        assert again.verify(X, y) == pytest.approx(best)
    assert clone(make).set_params(split_penalty=best).fit(X, y).tree_.n_splits == 0
    fewest = clone(make).set_params(search=MurTreeSearch(minimise_nodes=True)).fit(X, y)
    assert fewest.report_.objective == pytest.approx(best)


@pytest.mark.parametrize("name", ["poisson", "capped"])
def test_a_time_limit_leaves_a_tree_and_a_bound(name):
    X, y = table(600, 150)
    model = MurTreeRegressor(5, loss=OF_NUMBERS[name], time_limit=0.05).fit(X, y)
    report = model.report_
    assert report.status == "time_limit" and report.lower_bound <= report.objective
    assert model.verify(X, y) == pytest.approx(report.objective)
    depth_two = MurTreeRegressor(2, loss=OF_NUMBERS[name]).fit(X, y)
    assert report.objective <= depth_two.report_.objective + 1e-9
    ahead = MurTreeRegressor(5, loss=OF_NUMBERS[name], search=MurTreeSearch(lookahead=2))
    assert ahead.fit(X, y).report_.objective <= depth_two.report_.objective + 1e-9


def test_a_bound_of_rows_saves_work_and_nothing_else():
    rng = np.random.default_rng(3)
    position = rng.random((160, 3))
    X = np.concatenate([position <= t for t in (0.2, 0.4, 0.45, 0.6, 0.8)], axis=1)
    y = 2 * np.sin(6 * position[:, 0]) + position[:, 1] * position[:, 2]
    for loss in (SquaredError(), QuantileGrid(0.3, GRID)):
        with_it, without = (MurTreeRegressor(4, loss=loss, search=MurTreeSearch(
            similarity_bound=on)).fit(X, y).report_ for on in (True, False))
        assert with_it.objective == pytest.approx(without.objective)
        assert with_it.counters["depth_two_pairs"] < without.counters["depth_two_pairs"]


def test_poisson_is_the_deviance_and_knows_exposure():
    X, y = table()
    model = MurTreeRegressor(2, loss="poisson").fit(X, y)
    deviance = mean_poisson_deviance(y, np.maximum(model.predict(X), 1e-12)) * len(y) / 2
    assert model.report_.objective == pytest.approx(deviance)
    cart = DecisionTreeRegressor(criterion="poisson", max_depth=2, random_state=0).fit(X, y)
    assert deviance <= mean_poisson_deviance(y, np.maximum(cart.predict(X), 1e-12)) * len(y) / 2
    exposure = np.random.default_rng(0).uniform(0.2, 3.0, len(y))
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]).assign(years=exposure)
    rates = MurTreeRegressor(2, loss="poisson").fit(X, y / exposure, exposure)
    named = MurTreeRegressor(2, loss=Poisson("years"), binarizer="all", min_samples_leaf=20)
    named.fit(frame, y)
    assert named.verify(frame, y) == pytest.approx(named.report_.objective)
    limited = MurTreeRegressor(0, loss=Poisson("years")).fit(frame, y)
    assert limited.predict(frame[:1])[0] == pytest.approx(y.sum() / exposure.sum())
    assert limited.report_.objective >= rates.report_.objective
    for wrong, match in (("month", "which X does not have"), (0, "zero in a row with events")):
        with pytest.raises(ValueError, match=match):
            MurTreeRegressor(1, loss=Poisson(wrong)).fit(frame, y)
    with pytest.raises(ValueError, match="negative values"):
        MurTreeRegressor(1, loss="poisson").fit(X, y - 1)


def test_entropy_and_gini_are_those_of_the_probabilities():
    X, y = table()
    y = np.minimum(y, 2).astype(int)
    for objective in ("entropy", "gini"):
        model = MurTreeClassifier(2, objective=objective, min_samples_leaf=5).fit(X, y)
        share = model.predict_proba(X)
        expected = log_loss(y, share, normalize=False) if objective == "entropy" else (
            (share - np.eye(3)[y]) ** 2).sum()
        assert model.report_.objective == pytest.approx(expected)
        assert model.verify(X, y) == pytest.approx(expected)
        cart = DecisionTreeClassifier(criterion=objective, max_depth=2, min_samples_leaf=5,
                                      random_state=0).fit(X, y).predict_proba(X)
        reached = log_loss(y, cart, normalize=False) if objective == "entropy" else (
            (cart - np.eye(3)[y]) ** 2).sum()
        assert expected <= reached + 1e-9
    with pytest.raises(ValueError, match="choose one of them"):
        MurTreeClassifier(2, objective="gini").pareto_front(X, y > 0)


def test_an_objective_may_choose_labels():
    """Costs of actions: what a leaf predicts is the cheapest, and the costs are its own."""
    X, y = table()
    labels, costs = np.minimum(y, 2).astype(int), np.random.default_rng(1).random((len(y), 3))
    cheapest = AdditiveObjective(lambda X, y, weight: weight[:, None] * costs,
                                 lambda sums: sums.min(), lambda sums: np.argmin(sums))
    model = MurTreeClassifier(2, objective=cheapest).fit(X, labels)
    assert model.report_.objective == pytest.approx(
        MurTreeClassifier(2).fit(X, labels, costs=costs).report_.objective)
    assert costs[np.arange(len(y)), model.predict(X)].sum() == pytest.approx(
        model.report_.objective)


def test_lines_are_predicted_written_and_read():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 3)), columns=["a", "b", "c"])
    y = np.where(frame["a"] > 0, 2 * frame["b"] - frame["c"], 3 - frame["b"])
    model = MurTreeRegressor(1, loss=LinearLeaves(["b", "c"]), binarizer="all").fit(frame, y)
    assert model.report_.objective == pytest.approx(0, abs=1e-9)
    assert model.predict(frame) == pytest.approx(y)
    text = str(model.tree_)
    assert "2 b - 1 c" in text and model.tree_.feature_names == ("a", "b", "c")
    again = DecisionTree.from_json(model.tree_.to_json())
    assert again == model.tree_ and again.predict(frame.to_numpy()) == pytest.approx(y)
    assert pickle.loads(pickle.dumps(model)).predict(frame) == pytest.approx(y)
    for form in (model.tree_.to_sklearn, model.tree_.to_python, model.tree_.to_sql):
        with pytest.raises(ValueError, match="lines in|have lines"):
            form()
    ridge = MurTreeRegressor(1, loss=LinearLeaves([1, 2], 0.5), binarizer="all").fit(frame, y)
    x, weight = frame.to_numpy(), 0.5
    error = ((ridge.predict(frame) - y) ** 2).sum() + sum(
        weight * (ridge.apply(frame) == leaf).sum() * (ridge.tree_.slopes[leaf] ** 2).sum()
        for leaf in np.unique(ridge.apply(frame)))
    assert ridge.report_.objective == pytest.approx(error)
    assert ridge.verify(x, y) == pytest.approx(error)
    with pytest.raises(ValueError, match="encode categories first"):
        MurTreeRegressor(1, loss=LinearLeaves(["b"])).fit(frame.assign(d="x"), y)
    with pytest.raises(ValueError, match="give a position"):
        MurTreeRegressor(1, loss=LinearLeaves(["z"])).fit(frame, y)


def test_several_targets_predict_their_means():
    X, y = table()
    Y = np.column_stack([y, 10 * X[:, 3] - y])
    model = MurTreeRegressor(2).fit(X, Y)
    leaves = model.apply(X)
    assert model.predict(X) == pytest.approx(
        np.array([Y[leaves == leaf].mean(axis=0) for leaf in leaves]))
    assert model.verify(X, Y) == pytest.approx(((model.predict(X) - Y) ** 2).sum())


def test_an_objective_is_cloned_searched_and_of_the_reader_alone():
    X, y = table()
    quick = AdditiveObjective(lambda X, y, w: np.column_stack([w, w * y, w * y ** 2]),
                              lambda s: s[2] - s[1] ** 2 / s[0] if s[0] > 0 else 0.0,
                              lambda s: s[1] / s[0])
    model = MurTreeRegressor(3, loss=quick).fit(X, y)
    plain = MurTreeRegressor(3).fit(X, y)
    assert model.report_.objective == pytest.approx(plain.report_.objective)
    assert np.array_equal(model.tree_.feature, plain.tree_.feature)
    assert model.predict(X) == pytest.approx(plain.predict(X))
    grid = GridSearchCV(MurTreeRegressor(2), {"loss": ["squared_error", quick, Stock(GRID)]}, cv=2)
    assert grid.fit(X, y).best_params_["loss"] is not None
    assert vars(Stock(GRID)).keys() == vars(clone(MurTreeRegressor(loss=Stock(GRID))).loss).keys()


def fails_below_six(sums):
    if 0 < sums[0] < 6:
        raise ValueError("too few")
    return sums[2]


def own(cost, **others):
    return AdditiveObjective(lambda X, y, w: np.column_stack([w, w * y, w * y ** 2]), cost,
                             lambda sums: 0.0, **others)


@pytest.mark.parametrize(("objective", "match"), [
    (own(lambda s: s.unknown()), "does not compile .*unknown"),
    (own(lambda s: "much"), "does not compile .it returns"),
    (own(min), "does not compile .*not a function"),
    (own(np.min), "does not compile .*not a function"),
    (own(partial(max, 1.0)), "does not compile .*not a function"),
    (own(lambda s, power=2: s[2]), "does not compile .*takes 2 arguments"),
    (own(lambda s: -s[0]), "must not be negative"),
    (own(lambda s: 1.0 + s[0]), "is 1 for sums of zero"),
    (own(lambda s: np.sqrt(s[0])), r"for the sums \[.*\] and \[.*\] together"),
    (own(lambda s: s[2] / (s[0] - 3.0)), "must be finite|must not be negative|together"),
    (own(lambda s: 2.0 * s[2], adds_last=True), "leave adds_last at False"),
    (own(None), "has no leaf_cost"),
    (AdditiveObjective(lambda X, y, w: w, lambda s: s[0], lambda s: 0.0), "returned shape"),
    (AdditiveObjective(lambda X, y, w: (w[:, None], 0.0, 0.0), lambda s: s[0], lambda s: 0.0),
     "a pair of one and a number"),
    (AdditiveObjective(lambda X, y, w: (w[:, None], w[:2]), lambda s: s[0], lambda s: 0.0),
     "a pair of one and a number"),
    (AdditiveObjective(lambda X, y, w: w[:, None] * np.nan, lambda s: s[0], lambda s: 0.0),
     "not finite"),
    (own(lambda s: s[2] + 0.0 * s[5]), "leaf_cost .* ends in IndexError"),
    (own(fails_below_six), "leaf_cost .* ends in ValueError .too few. for"),
    (own(lambda s: s[2], row_bound=lambda row, low, high: 0.9 * row[2]), "row_bound .* adds"),
    (own(lambda s: s[2], row_bound=lambda row, low, high: np.nan), "row_bound .* is nan"),
    (own(lambda s: s[2], row_bound=lambda row, low, high: np.inf), "row_bound .* is inf"),
    (own(lambda s: s[2], row_bound=lambda row, low, high: row[7]), "row_bound .* IndexError"),
    # right for each row; equal rows come added up, and what they cost beside their mean is missing
    (own(lambda s: s[2] - s[1] ** 2 / s[0] if s[0] > 0 else 0.0, row_bound=lambda row, low, high:
         row[0] * max((row[1] / row[0] - low[1]) ** 2, (high[1] - row[1] / row[0]) ** 2)),
     "row_bound .* for a sum of up to 3 rows .* adds"),
    (AdditiveObjective(lambda X, y, w: w[:, None] * y[:, None], lambda s: s[0]),
     "has no leaf_value"),
    *((AdditiveObjective(lambda X, y, w: w[:, None] * y[:, None] ** 2, lambda s: s[0], value),
       "leaf_value .* for a leaf of .* rows; return a finite number") for value in (
        lambda s: None, lambda s: "much", lambda s: np.nan, lambda s: 1j, lambda s: [1.0, np.inf])),
    (AdditiveObjective(lambda X, y, w: np.column_stack([w, w * y, w * y ** 2]),
                       lambda s: s[2] - s[1] ** 2 / s[0] if s[0] > 0 else 0.0,
                       lambda s: [0.0] * int(1 + s[0] % 3)), "leaf_value .* for a leaf of"),
])
def test_what_is_wrong_with_an_objective_is_said_in_one_sentence(objective, match):
    X, y = table(60, 4)
    with pytest.raises(ValueError, match=match):
        MurTreeRegressor(2, loss=objective).fit(X, y)


PRICE = 1.0


def constant_cost(sums):
    return sums[2]


def test_code_is_compiled_again_where_what_it_reads_has_changed(monkeypatch):
    """The same function over other globals once minimised the cost of the first fit."""
    X, y = table(60, 4)
    factor = np.ones(2)

    def square(sums):
        return PRICE * factor[1] * (sums[2] - sums[1] ** 2 / sums[0] if sums[0] > 0 else 0.0)

    model = MurTreeRegressor(2, loss=own(square))
    first = model.fit(X, y).report_.objective
    monkeypatch.setitem(globals(), "PRICE", 3.0)
    assert model.fit(X, y).report_.objective == pytest.approx(3 * first)
    factor[1] = 2.0
    assert model.fit(X, y).report_.objective == pytest.approx(6 * first)
    assert model.verify(X, y) == pytest.approx(6 * first)
    settings = ModuleType("settings")
    settings.price = 1.0
    priced = MurTreeRegressor(0, loss=own(lambda sums: settings.price * sums[2]))
    first = priced.fit(X, y).report_.objective
    settings.price = 5.0
    assert priced.fit(X, y).report_.objective == 5 * first
    cost = constant_cost
    once = MurTreeRegressor(2, loss=own(cost)).fit(X, y).report_.objective
    monkeypatch.setattr(cost, "__code__", (lambda sums: 2.0 * sums[2]).__code__)   # autoreload
    assert MurTreeRegressor(2, loss=own(cost)).fit(X, y).report_.objective == 2 * once


def test_what_statistics_writes_to_its_arguments_is_lost():
    """The caller's targets were centred, and the tree had three times the weight."""
    def centred(X, y, weight):
        y -= y.mean()
        weight *= 3
        return np.column_stack([weight, weight * y, weight * y ** 2])

    X, y = table(60, 4)
    given, weight = y.copy(), np.full(60, 2.0)
    mine = AdditiveObjective(centred, lambda s: s[2] - s[1] ** 2 / s[0] if s[0] > 0 else 0.0,
                             lambda s: s[1] / s[0])
    model = MurTreeRegressor(2, loss=mine).fit(X, y, weight)
    assert model.verify(X, y, weight) == pytest.approx(model.report_.objective)
    assert np.array_equal(y, given) and np.array_equal(weight, np.full(60, 2.0))
    assert model.tree_.weight[0] == 120


@pytest.mark.parametrize("label", [0.5, 7])
def test_a_leaf_predicts_the_position_of_a_label(label):
    X, y = table(60, 4)
    mine = AdditiveObjective(lambda X, y, w: w[:, None], lambda s: s[0], lambda s: label)
    with pytest.raises(ValueError, match="label (needs one class index|holds .* no whole number)"):
        MurTreeClassifier(1, objective=mine).fit(X, y > 1)


def test_a_method_with_self_is_refused():
    class Mine(Stock):
        def leaf_cost(self, sums):
            return sums.min()

    with pytest.raises(ValueError, match="make it a staticmethod"):
        MurTreeRegressor(1, loss=Mine(GRID)).fit(*table(30, 3))


def test_survival_functions_are_those_of_the_model():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(120, 3)), known(rng, 120)
    model = SurvivalTree(2, min_samples_leaf=10).fit(X, y)
    hazard = model.predict_cumulative_hazard_function(X, return_array=True)
    assert hazard.shape == (120, len(model.unique_times_))
    assert model.predict_survival_function(X, return_array=True) == pytest.approx(np.exp(-hazard))
    one = model.predict_survival_function(X)[3]
    assert one(model.unique_times_) == pytest.approx(np.exp(-hazard[3]))
    step = StepFunction(np.array([1.0, 4.0]), np.array([0.5, 0.2]))
    assert step([0.0, 1.0, 3.9, 4.0]).tolist() == [0.5, 0.5, 0.5, 0.2]
    with pytest.raises(ValueError, match="within"):
        step(5.0)
    order = model.predict(X)
    pairs = [(order[j] < order[i]) + 0.5 * (order[j] == order[i]) for i in range(120)
             for j in range(120) if y["event"][i] and (
                 y["time"][j] > y["time"][i]
                 or (y["time"][j] == y["time"][i] and not y["event"][j]))]
    assert model.score(X, y) == pytest.approx(np.mean(pairs))
    assert model.verify(X, y) == pytest.approx(model.report_.objective)
    twice = SurvivalTree(2).fit(X, y, np.full(120, 2.0))
    assert twice.report_.objective == pytest.approx(2 * SurvivalTree(2).fit(X, y).report_.objective)
    censored = y.copy()
    censored["event"] = False
    table = pd.DataFrame({"event": y["event"], "time": y["time"]})
    late = table.assign(time=table.time.where(table.index != 7))
    for wrong, match in ((censored, "censored"), (y["time"], "two fields"), (y[:5], "samples"),
                         (table[["time", "event"]], "^row . of y holds .* first whether"),
                         (late, "^row 7 of y holds .*, nan.; y needs two"),
                         (table.assign(time=pd.to_timedelta(y["time"], unit="D")), "y holds dates"),
                         (y.astype([("e", bool), ("t", "M8[s]")]), "y holds dates or times"),
                         (y.astype([("e", bool), ("t", "m8[s]")]), "y holds dates or times"),
                         (y.astype([("e", bool), ("t", complex)]), "y holds complex numbers"),
                         (np.ma.masked_array(y, y["event"]), "y has masked entries")):
        with pytest.raises(ValueError, match=match):
            SurvivalTree().fit(X, wrong)
    with pytest.raises(ValueError, match="censored"):
        SurvivalTree().fit(X, y, np.where(y["event"], 0.0, 1.0))    # as without these rows
    same = SurvivalTree(2).fit(X, y, 2.0)
    assert same.tree_ == twice.tree_
    assert same.verify(X, y, 2.0) == pytest.approx(twice.report_.objective)
    assert np.array_equal(same.cumulated_hazard_, twice.cumulated_hazard_)


@pytest.mark.parametrize("seed", range(100))
def test_concordance_counts_pairs(seed, monkeypatch):
    """Rows are compared in blocks, as all pairs of 50,000 rows took 13 seconds."""
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(survival, "AT_ONCE", int(rng.integers(1, 12)))
    n = int(rng.integers(2, 40))
    event, risk = rng.random(n) < rng.choice([0.3, 0.6, 1.0]), rng.integers(0, 5, n) / 2
    time = rng.integers(0, 6, n) * 1.0 if seed % 2 else rng.random(n)
    event[0], time[0] = True, -1.0      # before all others
    pairs = [(risk[j] < risk[i]) + 0.5 * (risk[j] == risk[i]) for i in np.flatnonzero(event)
             for j in range(n) if time[j] > time[i] or time[j] == time[i] and not event[j]]
    assert survival.concordance(np.column_stack([event, time]), risk) == pytest.approx(
        np.mean(pairs))


def test_the_impurity_of_a_survival_tree_is_its_likelihood_in_any_unit_of_time():
    rng = np.random.default_rng(5)
    X, y = rng.integers(0, 2, (80, 4)), known(rng, 80)
    weight = rng.uniform(0.5, 2.0, 80)
    model = SurvivalTree(2).fit(X, y, weight)
    tree, missing = model.tree_, model.tree_.impurity * model.tree_.weight
    assert missing[tree.feature < 0].sum() == pytest.approx(model.report_.objective)
    assert missing[0] == pytest.approx(SurvivalTree(0).fit(X, y, weight).report_.objective)
    days = y.copy()
    days["time"] *= 365.0
    assert np.array_equal(SurvivalTree(2).fit(X, days, weight).feature_importances_,
                          model.feature_importances_)


def test_a_survival_tree_orders_categories_in_any_unit_of_time():
    rng = np.random.default_rng(1)
    y = known(rng, 120)
    X = pd.DataFrame({"ward": rng.choice(list("abcdefgh"), 120), "age": rng.integers(0, 9, 120)})
    names = []
    for unit in (1e-3, 1.0, 365.0):
        times = y.copy()
        times["time"] *= unit
        model = SurvivalTree(2, binarizer=ThresholdBinarizer(ordered_categories=True)).fit(X, times)
        names.append(model.binarizer_.get_feature_names_out().tolist())
        assert model.verify(X, times) == pytest.approx(model.report_.objective)
    assert names[0] == names[1] == names[2]


@pytest.mark.parametrize("loss", ["squared_error", LinearLeaves([0, 1], 0.1)], ids=["mean", "line"])
@pytest.mark.parametrize(("digits", "subtracts"), [(12, True), (40, False)])
def test_uneven_weights_are_summed_up_in_two_parts_or_without_subtraction(loss, digits, subtracts):
    rng = np.random.default_rng(0)
    X, y = table(60, 6)
    for _ in range(5):
        weight = 10.0 ** rng.uniform(-digits, digits, len(y))
        model, of_one_leaf = MurTreeRegressor(3, loss=loss).fit(X, y, weight), weight @ y ** 2
        assert model.verify(X, y, weight) == pytest.approx(model.report_.objective,
                                                           abs=1e-9 * of_one_leaf)
        assert (model.report_.counters["data_sets_counted"] > 0) == subtracts
        from_its_rows = MurTreeSearch(specialised_depth_two=False, similarity_bound=False)
        other = MurTreeRegressor(3, loss=loss, search=from_its_rows).fit(X, y, weight)
        assert other.report_.counters["data_sets_counted"] == 0
        assert other.report_.objective == pytest.approx(model.report_.objective, rel=1e-9,
                                                        abs=1e-9 * of_one_leaf)


@pytest.mark.parametrize("seed", range(12))
def test_a_line_through_rows_near_each_other_costs_what_its_tree_costs(seed):
    """Its slope is a quotient of small differences: a search counted 4 % less than the tree."""
    rng, n = np.random.default_rng(seed), 500
    x, column, near = rng.normal(size=n), rng.integers(0, 2, (n, 4)), rng.choice(n, 2, False)
    x[near[1]] = x[near[0]] + 10.0 ** rng.uniform(-5, -2)
    y = 2 * x + 0.01 * rng.normal(size=n)
    y[near], column[:, 0] = (100, -100), 0
    column[near, 0] = 1
    X = np.column_stack([column, x])
    for single in (True, False):
        model = MurTreeRegressor(3, binarizer=QuantileBinarizer(3),
                                 loss=LinearLeaves([4], single=single)).fit(X, y)
        assert model.verify(X, y) == pytest.approx(model.report_.objective, abs=1e-9 * (y @ y))
        assert ((y - model.predict(X)) ** 2).sum() == pytest.approx(
            model.report_.objective, abs=1e-9 * (y @ y))


@pytest.mark.parametrize("seed", range(40))
def test_lines_on_skewed_rows_equal_a_search_without_sums_of_pairs(seed):
    """Equal rows whose regressor hardly varies cost more alone than in a leaf with others."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([20, 64, 130]))
    x, column = rng.lognormal(0, 3, (n, 2)), rng.integers(0, 2, (n, 3))
    y = x[:, 0] * column[:, 0] + 10.0 ** rng.uniform(-3, 1) * rng.normal(size=n)
    X, weight = np.column_stack([column, x]), 10.0 ** rng.uniform(-3, 3, n)
    of_one_leaf = weight @ (y - np.average(y, weights=weight)) ** 2
    slow = MurTreeSearch(specialised_depth_two=False, similarity_bound=False)
    for single in (True, False):
        options = {"binarizer": QuantileBinarizer(2), "loss": LinearLeaves([3, 4], single=single)}
        found, wanted = (MurTreeRegressor(2, search=search, **options).fit(X, y, weight).report_
                         for search in (None, slow))
        assert found.objective == pytest.approx(wanted.objective, rel=0, abs=1e-9 * of_one_leaf)


@pytest.mark.parametrize("seed", range(12))
def test_lines_that_all_rows_nearly_lie_on_are_found_again_in_other_sums(seed):
    """What is left of the squares is less than their rounding in sums: a subtree became a leaf."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([65, 130, 300]))
    column = rng.integers(0, 2, (n, 4))
    x = rng.integers(-3, 4, n) + 1e-5 * rng.normal(size=n)
    y = 10.0 ** rng.uniform(3, 4.5) * x + rng.normal(size=n) + column @ [1, 2, -1, 0.5]
    X = np.column_stack([column, x])
    for nodes in range(5, 14):
        model = MurTreeRegressor(4, max_nodes=nodes, binarizer=QuantileBinarizer(2),
                                 loss=LinearLeaves([4], single=True)).fit(X, y)
        assert model.verify(X, y) == pytest.approx(model.report_.objective, rel=1e-3)


def test_lines_are_searched_by_pairs_though_a_row_is_as_the_mean_of_all():
    """The regressor of that row is rounding, of which no leaf's cost may be made."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=99)
    x = np.append(x, x.mean())
    X, y = np.column_stack([rng.integers(0, 2, (100, 3)), x]), x ** 2 + rng.normal(size=100)
    options = {"loss": LinearLeaves([3]), "binarizer": QuantileBinarizer(3)}
    model = MurTreeRegressor(3, **options).fit(X, y)
    assert model.report_.counters["data_sets_counted"] > 0
    slow = MurTreeSearch(specialised_depth_two=False, similarity_bound=False)
    assert MurTreeRegressor(3, search=slow, **options).fit(X, y).report_.objective == pytest.approx(
        model.report_.objective, rel=1e-9)


@pytest.mark.parametrize("objective", [SquaredError(), Poisson(), LinearLeaves([0])])
def test_objectives_of_quantities_are_not_for_classes(objective):
    """They would sum the positions of the labels, whose order means nothing."""
    with pytest.raises(ValueError, match="for targets that are numbers; give it to MurTreeRegr"):
        MurTreeClassifier(1, objective=objective).fit([[0], [1]], ["no", "yes"])


@pytest.mark.parametrize("loss", [Gini(), Entropy()])
def test_objectives_of_classes_are_not_for_quantities(loss):
    with pytest.raises(ValueError, match="is for classes; give it to MurTreeClassifier"):
        MurTreeRegressor(1, loss=loss).fit([[0], [1]], [0.0, 1.0])


def test_a_number_is_the_position_of_a_feature_whatever_its_name():
    """In a frame with words it was a name first, and in one without a position."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(1, 9, (40, 3)), columns=[5, 2, 1])
    plain = MurTreeRegressor(0, loss=Poisson(1)).fit(frame, frame[2])
    words = MurTreeRegressor(0, loss=Poisson(1)).fit(frame.assign(word="u").set_axis(
        [5, 2, 1, 0], axis=1), frame[2])
    assert plain.report_.objective == words.report_.objective == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(("loss", "match"), [
    (LinearLeaves("ab"), "a list of at least one feature"),
    (LinearLeaves([]), "a list of at least one feature"),
    (LinearLeaves(["a"], alpha="1"), "an alpha of at least 0"),
    (LinearLeaves([True]), "names the feature True"),
    (Poisson(False), "names the feature False"),
])
def test_features_that_are_none_are_refused(loss, match):
    frame = pd.DataFrame({"a": [0.0, 1.0], "b": [1.0, 2.0]})
    with pytest.raises(ValueError, match=match):
        MurTreeRegressor(1, loss=loss).fit(frame, [0.0, 1.0])


def test_a_line_on_words_is_refused():
    frame = pd.DataFrame({"word": ["u", "v"], "x": [0.0, 1.0]})
    with pytest.raises(ValueError, match="feature 'word' holds text"):
        MurTreeRegressor(1, loss=LinearLeaves(["word"])).fit(frame, [0.0, 1.0])


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("unit", [1e-300, 1e-200, 1e154, 1e300])
def test_lines_on_numbers_whose_squares_no_float_holds(single, unit):
    """They had no slopes, and the tree was called optimal."""
    rng = np.random.default_rng(0)
    column, x = rng.integers(0, 2, (60, 2)), rng.normal(size=(60, 2)) + 3
    y = x[:, 0] * (1 + column[:, 0]) + rng.normal(size=60)
    given, scaled = (MurTreeRegressor(2, loss=LinearLeaves([2, 3], single=single)) for _ in "ab")
    given.fit(np.column_stack([column, x]), y)
    X = np.column_stack([column, unit * x])
    scaled.fit(X, y)
    assert scaled.report_.objective == pytest.approx(given.report_.objective)
    assert ((y - scaled.predict(X)) ** 2).sum() == pytest.approx(given.report_.objective)
