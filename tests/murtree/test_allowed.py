"""Limits on splits: which features the root tests, and which stand together on a path."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from naive import best_cost, best_tree_cost
from scale import SCALE
from sklearn.base import clone

from odtlib import MurTreeClassifier, MurTreeRegressor, MurTreeSearch, SurvivalTree
from odtlib.murtree.allowed import AllowedSearch
from odtlib.report import TimeUp


class Rule:
    """Drawn limits: the options of the search, and what a path of features may be."""

    def __init__(self, random, n_features):
        everything = range(n_features)
        self.options, self.sets = {}, [set(everything)]
        self.first = set(everything)
        if random.random() < 0.4:
            chosen = sorted(random.choice(n_features, random.integers(1, n_features + 1), False))
            self.options["first_features"], self.first = chosen, set(chosen)
        if random.random() < 0.3:
            banned = int(random.integers(n_features))
            self.options["not_first_features"], self.first = [banned], self.first - {banned}
        kind = random.integers(4)
        if kind == 1:
            self.options["interaction_cst"] = "no_interactions"
            self.sets = [{j} for j in everything]
        elif kind == 2:
            self.options["interaction_cst"] = "pairwise"
            self.sets = [set(pair) for pair in combinations(everything, 2)] or [{0}]
        elif kind == 3:
            sets = [set(random.choice(n_features, random.integers(1, n_features + 1),
                                      False).tolist()) for _ in range(random.integers(1, 4))]
            self.options["interaction_cst"] = [sorted(one) for one in sets]
            self.sets = [*sets, set(everything).difference(*sets)]

    def allows(self, path):
        return path[0] in self.first and any(set(path) <= one for one in self.sets)

    def allows_tree(self, tree, node=0, path=(), feature=range(1000)):
        if tree.feature[node] < 0:
            return True
        path = (*path, int(feature[tree.feature[node]]))
        return self.allows(path) and all(self.allows_tree(tree, child, path, feature) for child in (
            tree.left[node], tree.right[node]))


def drawn(seed, rows=16, columns=6):
    random = np.random.default_rng(seed)
    X = (random.random((random.integers(4, rows), random.integers(1, columns + 1)))
         < random.uniform(0.3, 0.6)).astype(np.uint8)
    if random.random() < 0.3:
        X[:, -1] = X[:, 0]          # another feature that splits the rows alike
    return random, X, Rule(random, X.shape[1])


@pytest.mark.parametrize("seed", range(60))
def test_squared_errors_and_a_price_for_each_level(seed):
    random, X, rule = drawn(500 + seed)
    y, depth = random.integers(0, 4, len(X)).astype(float), int(random.integers(1, 5))
    model = MurTreeRegressor(depth, search=MurTreeSearch(**rule.options), binarizer=None).fit(X, y)
    least = best_cost(X, lambda rows: len(rows) * np.var(y[rows]), depth, allowed=rule.allows)
    assert model.report_.objective == pytest.approx(least, abs=1e-9)
    assert model.report_.status == "optimal" and rule.allows_tree(model.tree_)
    prices = random.uniform(0, 1, depth)
    priced = MurTreeClassifier(depth, split_penalty=prices, binarizer=None,
                               search=MurTreeSearch(**rule.options)).fit(X, y.astype(int))
    assert priced.report_.objective == pytest.approx(best_tree_cost(
        X, y.astype(int), np.ones(len(y)), 4, depth, penalty=prices, allowed=rule.allows))


def test_the_price_of_a_level_below_bounds_the_splits_there():
    rows = "0001 1011 1111 1100 0001 1010 1101 0101 0111 1101 0110"
    X = np.array([list(row) for row in rows.split()]).astype(np.uint8)
    y = np.array([0, 1, 0, 0, 0, 1, 0, 1, 0, 1, 1])
    prices, sets = [0.2, 1.5, 0.2], [[2, 3], [0, 1, 2], [0, 2, 3]]
    search = MurTreeSearch(interaction_cst=sets)
    model = MurTreeClassifier(3, split_penalty=prices, binarizer=None, search=search).fit(X, y)
    assert model.report_.objective == pytest.approx(best_tree_cost(
        X, y, np.ones(len(y)), 2, 3, penalty=prices,
        allowed=lambda path: any(set(path) <= set(one) for one in sets)))


def test_a_split_of_rows_that_cancel_out_may_lead_to_a_cheaper_level():
    X = np.array([[0, 1, 0], [0, 1, 1], [0, 0, 1], [0, 0, 0], [1, 0, 0], [1, 0, 0]], np.uint8)
    for search in (None, MurTreeSearch(interaction_cst=[[0, 1, 2]])):
        model = MurTreeClassifier(3, split_penalty=[0.0, 1.2, 0.0], binarizer=None, search=search)
        assert model.fit(X, [0, 1, 0, 1, 0, 1]).report_.objective == pytest.approx(2.2)


def test_a_similar_data_set_is_no_bound_where_deeper_levels_are_cheaper():
    random = np.random.default_rng(1305)
    random.integers(6, 18), random.integers(3, 6), random.integers(3, 6)
    X, y = (random.random((13, 5)) < 0.5).astype(np.uint8), random.integers(0, 2, 13)
    y[:2] = 0, 1
    random.choice(7, 5)
    weight, prices = random.integers(1, 3, 13).astype(float), [0.0, 0.2, 0.5, 0.0, 1.2]
    model = MurTreeClassifier(5, split_penalty=prices, binarizer=None).fit(X, y, weight)
    assert model.report_.objective == pytest.approx(best_tree_cost(
        X, y, weight, 2, 5, penalty=prices))


@pytest.mark.parametrize("objective", ["entropy", "balanced-accuracy", "costs", "survival"])
def test_other_objectives_keep_to_the_limits_and_are_at_least_the_unlimited_optimum(objective):
    for seed in range(8 * SCALE):
        random, X, rule = drawn(900 + seed, rows=40)
        y, extra, kind = random.integers(0, 2, len(X)), {}, MurTreeClassifier
        y[:2] = 0, 1
        options = {"objective": objective} if "-" in objective or objective == "entropy" else {}
        if objective == "costs":
            extra["costs"] = random.uniform(0, 2, (len(X), 2))
        if objective == "survival":
            kind = SurvivalTree
            y = np.array([(bool(one), time) for one, time in zip(y, random.integers(1, 9, len(X)))],
                         dtype=[("event", bool), ("time", float)])
        free = kind(3, binarizer=None, **options).fit(X, y, **extra)
        model = kind(3, binarizer=None, search=MurTreeSearch(**rule.options), **options)
        model.fit(X, y, **extra)
        assert model.report_.status == "optimal" and rule.allows_tree(model.tree_)
        assert model.report_.objective >= free.report_.objective - 1e-9
        if rule.allows_tree(free.tree_):
            assert model.report_.objective == pytest.approx(free.report_.objective)


def test_features_are_those_of_the_table_by_name_or_number_under_every_binariser():
    random = np.random.default_rng(3)
    table = pd.DataFrame({"age": random.normal(size=90), "pay": random.normal(size=90),
                          "town": random.choice(["a", "b", "c"], 90),
                          "days": random.normal(size=90)})
    table.loc[::11, "pay"] = np.nan
    y = (table["age"] > 0) ^ (table["pay"] > 0) ^ (table["town"] == "a")
    for named, numbered in ((["town"], [2]), (["days", "age"], [3, 0])):
        sets = [["age", "town"], ["pay", "days", "town"]]
        trees = [MurTreeClassifier(3, search=MurTreeSearch(
                     first_features=first, interaction_cst=cst)).fit(table, y)
                 for first, cst in ((named, sets), (numbered, [[0, 2], np.array([1, 3, 2])]))]
        assert trees[0].tree_ == trees[1].tree_
        rule = Rule(np.random.default_rng(0), 4)
        rule.first, rule.sets = set(numbered), [{0, 2}, {1, 2, 3}]
        assert rule.allows_tree(trees[0].tree_, feature=trees[0].binarizer_.feature_)
        as_sets = MurTreeSearch(first_features=set(numbered), interaction_cst=[{0, 2}, {1, 2, 3}])
        assert MurTreeClassifier(3, search=as_sets).fit(table, y).tree_ == trees[0].tree_
        assert trees[0].report_.proof.endswith("within first_features, interaction_cst")
    numbers = table[["age", "pay", "days"]].fillna(0).to_numpy()
    model = MurTreeClassifier(3, binarizer="quantile", search=MurTreeSearch(
        interaction_cst="no_interactions")).fit(numbers, y)
    rule.first, rule.sets = {0, 1, 2}, [{0}, {1}, {2}]
    assert rule.allows_tree(model.tree_) and model.tree_.n_splits > 1


def test_the_tree_of_each_budget_keeps_to_the_limits():
    random, X, rule = drawn(4, rows=40)
    rule.options = {"interaction_cst": [[0, 1], [1, 2, 3]]}
    y = random.integers(0, 2, len(X))
    model = MurTreeClassifier(3, binarizer=None, search=MurTreeSearch(**rule.options))
    for entry in model.path(X, y):
        alone = clone(model).set_params(max_nodes=entry.max_nodes).fit(X, y)
        assert entry.objective == alone.report_.objective and entry.optimal


def test_a_path_that_is_cut_short_has_a_bound_for_all_budgets(monkeypatch):
    random = np.random.default_rng(7)
    X = (random.random((600, 14)) < 0.5).astype(np.uint8)
    y = X[:, 0] ^ (X[:, 1] & X[:, 2]) ^ (random.random(600) < 0.2)
    search = MurTreeSearch(first_features=[0, 1, 3],
                           interaction_cst=[list(range(8)), list(range(4, 14))])
    model = MurTreeClassifier(4, 7, binarizer=None, search=search)
    whole, best = model.path(X, y), AllowedSearch.best

    def until(last):
        def cut(self, rows, depth, nodes, *given):
            if nodes == last and len(given) == 1:
                raise TimeUp
            return best(self, rows, depth, nodes, *given)

        return cut

    for last in range(1, 8):
        monkeypatch.setattr(AllowedSearch, "best", until(last))
        entries = model.path(X, y)
        assert model.report_.lower_bound <= whole[-1].objective
        for entry, optimum in zip(entries, whole, strict=True):
            assert not entry.optimal or entry.objective == optimum.objective


def test_a_time_limit_leaves_an_allowed_tree_and_a_true_bound():
    random = np.random.default_rng(1)
    X, y = (random.random((3000, 60)) < 0.5).astype(np.uint8), random.integers(0, 2, 3000)
    rule = Rule(random, 60)
    rule.first, rule.sets = {1, 2, 3}, [set(range(20)), set(range(10, 40)), set(range(30, 60))]
    search = MurTreeSearch(first_features=[1, 2, 3], interaction_cst=list(map(sorted, rule.sets)))
    for limit in (1e-5, 0.3):
        model = MurTreeClassifier(6, binarizer=None, search=search, time_limit=limit).fit(X, y)
        report = model.report_
        assert report.status == "time_limit" and rule.allows_tree(model.tree_)
        assert 0 <= report.lower_bound <= report.objective
    assert model.tree_.n_splits > 1


def test_a_start_is_kept_or_refused():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 3, np.uint8)
    y = X[:, 0] ^ X[:, 1]
    start = MurTreeClassifier(2, binarizer=None).fit(X, y)
    alone = MurTreeSearch(interaction_cst="no_interactions")
    with pytest.raises(ValueError, match="start has splits that are not allowed"):
        MurTreeClassifier(2, binarizer=None, search=alone, start=start).fit(X, y)
    with pytest.raises(ValueError, match="start='cart' grew splits that are not allowed"):
        MurTreeClassifier(1, binarizer=None, start="cart",
                          search=MurTreeSearch(not_first_features=[0])).fit(X, X[:, 0])
    together = MurTreeSearch(interaction_cst=[[0, 1]])
    model = MurTreeClassifier(2, binarizer=None, search=together, start=start).fit(X, y)
    assert model.report_.objective == 0 and model.report_.status == "optimal"
    assert MurTreeClassifier(2, binarizer=None, search=alone).fit(X, y).report_.objective == 6


@pytest.mark.parametrize("options, message", [
    ({"first_features": ["x"]}, "first_features names the feature 'x', which X does not have"),
    ({"first_features": [2]}, "numbers from 0 to 1"),
    ({"not_first_features": [True]}, "names the feature True"),
    ({"interaction_cst": [[0], [1.5]]}, "names the feature 1.5"),
    ({"interaction_cst": [0, 1]}, "interaction_cst is a list of sets of features"),
    ({"interaction_cst": "none"}, "'interaction_cst' parameter of MurTreeSearch .* Got 'none'"),
    ({"first_features": []}, "first_features is empty"),
    ({"first_features": [0], "minimise_nodes": True}, "leave minimise_nodes at its default"),
    ({"first_features": [0], "cache": "branch"}, "leave cache at its default"),
])
def test_what_makes_no_sense_is_refused_in_a_sentence(options, message):
    with pytest.raises(ValueError, match=message):
        MurTreeClassifier(2, search=MurTreeSearch(**options)).fit([[0, 1], [1, 0]], [0, 1])


def test_pairs_of_too_many_features_are_refused():
    X = np.eye(600, dtype=np.uint8)[:4]
    with pytest.raises(ValueError, match="too many sets of 600 features; give at most 500"):
        MurTreeClassifier(2, binarizer=None, search=MurTreeSearch(interaction_cst="pairwise")).fit(
            X, [0, 1, 0, 1])


def test_questions_without_an_answer_are_refused():
    X, y = np.array([[0, 1], [1, 0], [1, 1]] * 4), [0, 1, 1] * 4
    search = MurTreeSearch(first_features=[0])
    model = MurTreeClassifier(2, binarizer=None, search=search).fit(X, y)
    with pytest.raises(ValueError, match="certificate has no proof for limits on splits"):
        model.certificate(X, y)
    for question in (lambda: model.good_trees(X, y, tolerance=1),
                     lambda: model.pareto_front(X, y),
                     lambda: clone(model).set_params(objective="f1").fit(X, y)):
        with pytest.raises(ValueError, match="cannot be combined with limits on splits"):
            question()
    with pytest.raises(ValueError, match="need a max_depth"):
        clone(model).set_params(max_depth=None).fit(np.tile(X, (2, 1)), np.tile(y, 2))
