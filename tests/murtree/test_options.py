"""The options of the search: values, presets, and what scikit-learn does with them."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import GridSearchCV

from odtbook.published import PaperSearch, dl85_search
from odtlib import (
    ColumnGenerationClassifier,
    ColumnGenerationSearch,
    MurTreeClassifier,
    MurTreeRegressor,
    MurTreeSearch,
)
from odtlib.column_generation import ThresholdSampling
from tests.murtree.test_search import blobs


@pytest.mark.parametrize("search", [None, MurTreeSearch(), PaperSearch(),
                                    dl85_search(), dl85_search(cache="dataset")])
@pytest.mark.parametrize("estimator", [MurTreeClassifier, MurTreeRegressor])
def test_presets_give_the_same_optimum_and_survive_clone_and_pickle(estimator, search):
    X, y = blobs(n_rows=80, n_columns=6)
    if estimator is MurTreeRegressor and search is not None:
        if isinstance(search, PaperSearch):
            with pytest.raises(ValueError, match="'search' parameter of MurTreeRegressor must be"):
                estimator(3, search=search).fit(X, y)
            return
        search = replace(search, merge_rows=True)
    best = estimator(3).fit(X, y)
    model = clone(estimator(3, search=search)).fit(X, y)
    assert model.search == search
    assert model.report_.objective == pytest.approx(best.report_.objective)
    again = pickle.loads(pickle.dumps(model))
    assert again.search == search and np.array_equal(again.predict(X), model.predict(X))


def test_a_grid_search_goes_over_options():
    X, y = blobs(n_rows=60, n_columns=5)
    grid = GridSearchCV(MurTreeClassifier(2), {"search": [PaperSearch(), dl85_search()]}, cv=2)
    assert grid.fit(X, y).best_params_["search"] in grid.param_grid["search"]
    grid = GridSearchCV(MurTreeClassifier(2, search=PaperSearch()),
                        {"search__cache": ["dataset", "branch"]}, cv=2)
    assert grid.fit(X, y).best_params_["search__cache"] in ("dataset", "branch")


@pytest.mark.parametrize("wrong", [
    {"cache": "none"}, {"similarity_bound": "earlier"}, {"feature_order": "best"},
    {"child_order": None}, {"deepening": "yes"}, {"merge_rows": 1}, {"n_exact_children": -1},
    {"n_exact_children": 1.5}])
def test_values_that_do_not_exist_are_refused(wrong):
    with pytest.raises(ValueError, match=f"'{next(iter(wrong))}' parameter of MurTreeSearch"):
        MurTreeSearch(**wrong)


@pytest.mark.parametrize(("made", "text", "wrong", "message"), [
    (MurTreeSearch(lookahead=3), "MurTreeSearch(lookahead=3)", {"cache": "all"}, "Got 'all'"),
    (MurTreeSearch(), "MurTreeSearch()", {"deepening": True, "lookahead": 2}, "choose one of them"),
    (ThresholdSampling(n_trees=7), "ThresholdSampling(n_trees=7)", {"stopping": "never"},
     "'stopping' parameter of ThresholdSampling"),
])
def test_options_are_cloned_changed_and_printed_as_estimators_are(made, text, wrong, message):
    before = made.get_params()
    assert repr(made) == text and clone(made) == made and clone(made) is not made
    with pytest.raises(ValueError, match=message):
        made.set_params(**wrong)
    assert made.get_params() == before
    with pytest.raises(ValueError, match="Invalid parameter 'depth'"):
        made.set_params(depth=3)
    name = "memory_limit" if "memory_limit" in before else "n_trees"
    assert made.set_params(**{name: 5}) is made and made.get_params() == {**before, name: 5}


@pytest.mark.parametrize(("model", "grid"), [
    (MurTreeClassifier(3, search=MurTreeSearch()), {"search__lookahead": [2, None]}),
    (MurTreeRegressor(3, search=MurTreeSearch()), {"search__minimise_nodes": [False, True]}),
    (ColumnGenerationClassifier(2, search=ColumnGenerationSearch()),
     {"search__link": ["node", "prefix"]}),
])
def test_options_of_a_search_are_tuned(model, grid):
    X, y = blobs(n_rows=60, n_columns=5)
    search = GridSearchCV(model, grid, cv=2, refit=True).fit(X, y)
    (name, values), = grid.items()
    assert search.best_params_[name] in values
    assert getattr(search.best_estimator_.search, name.split("__")[1]) == search.best_params_[name]
    assert model.search == type(model.search)()        # the one given is left alone


@pytest.mark.parametrize("options", [{"cache": "closure"}, {"merge_rows": False},
                                     {"deepening": True}, {"discrepancy_search": True}])
def test_the_regressor_refuses_what_it_does_not_have(options):
    X, y = blobs(n_rows=30, n_columns=5)
    with pytest.raises(ValueError, match="which MurTreeRegressor does not have"):
        MurTreeRegressor(2, search=MurTreeSearch(**options)).fit(X, y)


@pytest.mark.parametrize("options", [
    {"cache": None}, {"cache": "branch"}, {"similarity_bound": False}, {"n_exact_children": 0},
    {"refined_bound": False}, {"incremental_counts": False}, {"specialised_depth_two": False},
    {"feature_order": "gini"}, {"feature_order": "in-order"},
    {"feature_order": "random"},
    {"child_order": "gap"}, {"child_order": "post-order"}, {"merge_columns": False},
    {"minimise_nodes": True}])
def test_no_option_changes_the_optimum_of_regression(options):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (70, 7)), rng.random(70)
    best = MurTreeRegressor(4, 9).fit(X, y).report_
    other = MurTreeRegressor(4, 9, search=MurTreeSearch(**options)).fit(X, y).report_
    assert other.status == "optimal" and other.objective == pytest.approx(best.objective)


def test_class_weights_multiply_sample_weights():
    X, y = blobs(n_rows=90, n_columns=6)
    weight = np.where(y == 1, 3.0, 1.0)
    weighted = MurTreeClassifier(3).fit(X, y, weight)
    model = MurTreeClassifier(3, class_weight={0: 1.0, 1: 3.0}).fit(X, y)
    assert model.report_.objective == weighted.report_.objective == model.verify(X, y)


def test_a_path_refuses_a_start():
    X, y = blobs(n_rows=30, n_columns=5)
    with pytest.raises(ValueError, match="leave start at None"):
        MurTreeClassifier(2, start="cart").path(X, y)


@pytest.mark.parametrize("option", ["deepening", "discrepancy_search"])
def test_a_path_refuses_a_search_in_several_rounds(option):
    X, y = blobs(n_rows=30, n_columns=5)
    with pytest.raises(ValueError, match=f"search has {option}=True, which path does not have"):
        MurTreeClassifier(2, search=MurTreeSearch(**{option: True})).path(X, y)


def test_trees_of_a_path_have_no_more_nodes_than_their_errors_need():
    X, y = blobs(n_rows=80, n_columns=6)
    entries = MurTreeClassifier(3).path(X, y)
    for entry in entries:
        least = min(e.max_nodes for e in entries if e.objective == entry.objective)
        assert entry.tree.n_splits == least


def test_the_random_order_of_columns_follows_its_seed():
    X, y = blobs(n_rows=80, n_columns=8)
    nodes = [MurTreeClassifier(4, random_state=seed, search=MurTreeSearch(feature_order="random"))
             .fit(X, y).report_ for seed in range(4)]
    assert len({report.objective for report in nodes}) == 1
    assert len({str(report.counters) for report in nodes}) > 1
    assert str(nodes[0].counters) == str(MurTreeClassifier(
        4, random_state=0, search=MurTreeSearch(feature_order="random")).fit(X, y).report_.counters)


@pytest.mark.parametrize("estimator, start", [
    (MurTreeClassifier, "local-search"), (MurTreeClassifier, "cart"), (MurTreeRegressor, "cart")])
def test_random_state_seeds_what_is_drawn_as_in_scikit_learn(estimator, start):
    X, y = blobs(n_rows=80, n_columns=8)
    model = estimator(4, start=start, search=MurTreeSearch(feature_order="random"))
    work = {}
    for seed in (0, 1, np.random.RandomState(0), np.random.RandomState(1), None):
        report = clone(model).set_params(random_state=seed).fit(X, y).report_
        work.setdefault(str(report.counters), report.objective)
    assert len(work) > 1 and len(set(work.values())) == 1
    first, again = (clone(model).set_params(random_state=3).fit(X, y) for _ in range(2))
    assert str(first.report_.counters) == str(again.report_.counters)
    assert first.tree_.to_json() == again.tree_.to_json()
    with pytest.raises(ValueError, match="'random_state' parameter"):
        estimator(3, random_state="now").fit(X, y)


def test_an_ensemble_of_scikit_learn_seeds_its_trees():
    X, y = blobs(n_rows=80, n_columns=8)
    bag = BaggingClassifier(MurTreeClassifier(2, start="cart"), n_estimators=4, random_state=0)
    seeds = [tree.random_state for tree in bag.fit(X, y).estimators_]
    assert len(set(seeds)) == 4
    again = clone(bag).fit(X, y)
    assert [tree.random_state for tree in again.estimators_] == seeds
    np.testing.assert_array_equal(again.predict(X), bag.predict(X))


def test_without_a_draw_every_seed_gives_the_same_fit():
    X, y = blobs(n_rows=80, n_columns=8)
    fits = [MurTreeClassifier(3, random_state=seed).fit(X, y) for seed in (None, 0, 1)]
    assert len({str(model.report_.counters) + model.tree_.to_json() for model in fits}) == 1
