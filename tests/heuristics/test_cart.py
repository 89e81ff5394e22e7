"""CART and tuned CART against scikit-learn."""

import threading
import warnings

import numpy as np
import pytest
from heuristics import reference
from interrupt import ctrl_c
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.model_selection import GridSearchCV, ParameterGrid, PredefinedSplit, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.class_weight import compute_sample_weight

from odtbook.published import cart_star
from odtlib import CARTClassifier, TunedCARTClassifier
from odtlib.heuristics import cart
from odtlib.heuristics.start import starting_tree


@pytest.mark.parametrize("options", [
    {}, dict(criterion="entropy"), dict(min_samples_leaf=4), dict(min_samples_leaf=0.1),
    dict(min_samples_split=0.2), dict(class_weight="balanced"), dict(ccp_alpha=0.02),
    dict(min_weight_fraction_leaf=0.15),
    dict(class_weight={0: 3.0, 1: 1.0, 2: 0.5}), dict(max_depth=None)])
def test_same_tree_as_scikit_learn(options):
    random = np.random.RandomState(0)
    for seed in range(25):
        X, y, weight = reference.random_rows(random, 60, 4, 9, 3, "integers")
        options = {"max_depth": 4, "random_state": seed, **options}
        ours = CARTClassifier(**options).fit(X, y, weight)
        theirs = DecisionTreeClassifier(**options).fit(X, y, weight)
        assert np.array_equal(ours.tree_.feature, np.where(theirs.tree_.children_left < 0, -1,
                                                           theirs.tree_.feature))
        inner = ours.tree_.feature >= 0
        assert np.array_equal(ours.tree_.threshold[inner], theirs.tree_.threshold[inner])
        assert np.array_equal(ours.predict(X), theirs.predict(X))
        assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X))
        wrong = theirs.predict(X) != y
        costs = weight * compute_sample_weight(options.get("class_weight"), y)
        assert ours.report_.objective == pytest.approx(costs[wrong].sum(), rel=1e-12)
        assert ours.verify(X, y, weight) == ours.report_.objective
        assert ours.report_.status == ("heuristic" if wrong.any() else "optimal")


def test_real_data_divide_as_in_scikit_learn():
    for load in (load_breast_cancer, load_wine):
        X, y = load(return_X_y=True)
        X = X.astype(np.float32).astype(float)
        for depth in (1, 3, 6):
            ours = CARTClassifier(depth, random_state=1).fit(X, y)
            theirs = DecisionTreeClassifier(max_depth=depth, random_state=1).fit(X, y)
            assert np.array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("low, high", [
    (1.0, np.nextafter(1.0, 2.0)), (np.nextafter(1.0, 0.0), 1.0), (1e8, 1e8 + 1e-7),
    (1e-300, 2e-300), (0.0, 5e-324), (-1.7e308, 1.7e308), (1e39, 1e40)])
def test_any_two_floats_are_separated(low, high):
    X = np.array([[low], [high], [low], [high]])
    model = CARTClassifier(max_depth=1).fit(X, [0, 1, 0, 1])
    assert model.predict(X).tolist() == [0, 1, 0, 1]
    assert low <= model.tree_.threshold[0] < high


def test_thresholds_are_midpoints_of_the_rows_of_their_node():
    X = np.array([[0.0, 0.0], [0.0, 10.0], [1.0, 4.0], [1.0, 6.0]])
    tree = CARTClassifier(max_depth=2, random_state=0).fit(X, [0, 0, 1, 2]).tree_
    assert tree.to_nested() == (0, 0.5, 0, (1, 5.0, 1, 2))


def test_rows_of_weight_zero_do_not_count():
    X, y = np.array([[0.0], [1], [2], [3]]), [0, 1, 1, 0]
    model = CARTClassifier(max_depth=None).fit(X, y, sample_weight=[1, 1, 1, 0])
    assert model.tree_.to_nested() == (0, 0.5, 0, 1)
    assert model.report_.objective == 0


def test_depth_zero_and_constant_features_give_a_leaf():
    X, y = np.ones((5, 2)), ["b", "a", "b", "b", "a"]
    for model in (CARTClassifier(0), CARTClassifier(3), TunedCARTClassifier(3, cv=2)):
        assert model.fit(X, y).tree_.n_nodes == 1
        assert model.predict(X).tolist() == ["b"] * 5


def test_the_grid_of_the_paper():
    sizes = {name: len(values) for name, values in cart_star().grid.items()}
    assert np.prod(list(sizes.values())) == 80
    assert sizes == {"criterion": 2, "min_samples_split": 4, "class_weight": 2,
                     "min_samples_leaf": 5}


def test_same_choice_as_a_grid_search():
    X, y = load_wine(return_X_y=True)
    X, y = np.round(X, 2).astype(np.float32).astype(float)[::2], y[::2]
    ours = cart_star(3, cv=4, random_state=0).fit(X, y)
    seed = np.random.RandomState(0).randint(2**31 - 1)
    theirs = GridSearchCV(DecisionTreeClassifier(max_depth=3, random_state=seed), cart_star().grid,
                          cv=4).fit(X, y)
    assert ours.best_score_ == pytest.approx(theirs.best_score_, abs=1e-12)
    assert ours.best_params_ == theirs.best_params_
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    assert ours.report_.counters == {"folds": 4, "combinations": 80, "fits": 321}


@pytest.mark.parametrize(("least_leaf", "class_weight"), [
    (1, {0: 1, 1: 5, 2: 0.2}), (7, None), (0.15, {0: 0, 1: 3, 2: 1}), (0.3, "balanced")])
def test_tuning_with_class_weights_and_a_smallest_leaf(least_leaf, class_weight):
    """The reference weighs rows by hand and fits scikit-learn's tree 240 times."""
    X, y = load_wine(return_X_y=True)
    X, y = np.round(X, 2).astype(np.float32).astype(float)[::2, 2:8], y[::2]
    weight = compute_sample_weight(class_weight, y)
    model = cart_star(2, min_samples_leaf=least_leaf, cv=3, class_weight=class_weight,
                      random_state=0).fit(X, y)
    by_rows = cart_star(2, min_samples_leaf=least_leaf, cv=3, random_state=0)
    assert by_rows.fit(X, y, weight).tree_ == model.tree_
    assert model.verify(X, y) == pytest.approx(weight[model.predict(X) != y].sum())

    X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
    folds = list(StratifiedKFold(3).split(X, y))
    seed = np.random.RandomState(0).randint(2**31 - 1)

    def tree(rows, min_samples_leaf, **options):
        leaf = max(limit if isinstance(limit, int) else int(np.ceil(limit * len(rows)))
                   for limit in (min_samples_leaf, least_leaf))
        return DecisionTreeClassifier(max_depth=2, random_state=seed, min_samples_leaf=leaf,
                                      **options).fit(X[rows], y[rows], weight[rows])

    combinations = list(ParameterGrid(cart_star().grid))
    scores = [np.mean([np.average(tree(train, **options).predict(X[test]) == y[test],
                                  weights=weight[test]) for train, test in folds])
              for options in combinations]
    assert model.best_score_ == pytest.approx(max(scores), abs=1e-12)
    assert model.best_params_ == combinations[int(np.argmax(np.round(scores, 12)))]
    chosen = tree(np.arange(len(X)), **model.best_params_)
    assert np.array_equal(model.predict(X), chosen.predict(X))
    assert np.bincount(model.apply(X)).max() < len(X)        # the tree has splits
    smallest = np.unique(model.apply(X), return_counts=True)[1].min()
    assert smallest >= (least_leaf if isinstance(least_leaf, int) else least_leaf * len(X))


@pytest.mark.parametrize("max_depth", [None, 0, 3, 40])
def test_without_a_grid_depth_and_pruning_are_chosen(max_depth):
    X, y = load_wine(return_X_y=True)
    X, y = np.round(X, 2).astype(np.float32).astype(float)[::2], y[::2]
    ours = TunedCARTClassifier(max_depth, cv=4, random_state=0).fit(X, y)
    grid = {"ccp_alpha": [0.01, 0.003, 0.0]}
    if max_depth is not None:
        grid["max_depth"] = {0: [0], 3: [1, 2, 3], 40: [*range(1, 11), 40]}[max_depth]
    assert ours.report_.counters["combinations"] == len(ParameterGrid(grid))
    if max_depth == 0:          # of which scikit-learn makes no tree
        assert ours.tree_.n_leaves == 1
        return
    seed = np.random.RandomState(0).randint(2**31 - 1)
    theirs = GridSearchCV(DecisionTreeClassifier(random_state=seed), grid, cv=4).fit(X, y)
    assert ours.best_score_ == pytest.approx(theirs.best_score_, abs=1e-12)
    assert ours.best_params_ == theirs.best_params_
    assert np.array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize(("grid", "message"), [
    ({"depth": [1]}, "grid has 'depth', which is none of ccp_alpha, class_weight, criterion"),
    ({"max_depth": 2}, "grid is no grid"), ({"max_depth": [-1]}, "max_depth"),
    ([], "grid"), ({"random_state": [0]}, "grid has 'random_state'")])
def test_what_is_no_grid_is_refused(grid, message):
    with pytest.raises(ValueError, match=message):
        TunedCARTClassifier(grid=grid).fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])


def test_tuning_with_little_time_still_gives_a_tree():
    X, y = load_wine(return_X_y=True)
    model = cart_star(time_limit=1e-9, random_state=0).fit(X, y)
    assert model.report_.status == "time_limit" and model.report_.counters["fits"] == 1
    assert model.best_params_["criterion"] == "gini" and np.isnan(model.best_score_)
    assert model.score(X, y) > 0.8


def test_tuning_can_be_interrupted(monkeypatch):
    grow, calls = cart._Grower.__call__, []

    def interrupted(self, **parameters):
        calls.append(parameters)
        if len(calls) == 100:
            raise KeyboardInterrupt
        return grow(self, **parameters)

    monkeypatch.setattr(cart._Grower, "__call__", interrupted)
    X, y = load_wine(return_X_y=True)
    model = cart_star(random_state=0).fit(X, y)
    assert model.report_.status == "interrupted" and model.report_.counters["fits"] == 100
    # compared on the one fold that all 80 combinations have seen
    assert model.best_score_ == pytest.approx(np.round(model.best_score_ * 18) / 18)


def never_grown(monkeypatch):
    """Let scikit-learn grow trees until the end of the test, as on large data."""
    monkeypatch.setattr(cart, "FEW_CELLS", 0)
    released = threading.Event()
    monkeypatch.setattr(cart.DecisionTreeClassifier, "fit",
                        lambda self, *data, **options: released.wait(60))
    return released


def test_a_tree_that_takes_too_long_gives_way_to_a_leaf(monkeypatch):
    X, y = load_wine(return_X_y=True)
    released = never_grown(monkeypatch)
    try:
        model = TunedCARTClassifier(time_limit=0.01, random_state=0).fit(X, y)
        tree = starting_tree("cart", X, y, 3, time_limit=0.01)
    finally:
        released.set()
    assert model.report_.status == "time_limit" and model.tree_.n_nodes == tree.n_nodes == 1
    assert model.verify(X, y) == model.report_.objective == len(y) - max(np.bincount(y))


def test_interrupt_does_not_wait_for_scikit_learn(monkeypatch):
    X, y = load_wine(return_X_y=True)
    CARTClassifier().fit(X, y)
    released = never_grown(monkeypatch)
    try:
        with pytest.raises(AssertionError, match="Ctrl-C"), ctrl_c(0.1) as timer:
            timer.start()
            CARTClassifier().fit(X, y)
    finally:
        released.set()


def test_errors_of_scikit_learn_are_passed_on():
    X, y = load_wine(return_X_y=True)
    with pytest.raises(ValueError, match="class_weight"):
        CARTClassifier(class_weight={7: 1.0}).fit(X, y)


def test_reports_know_the_weight_of_all_rows():
    X, y = load_wine(return_X_y=True)
    weight = np.linspace(1e-12, 1e12, len(y))
    for model in (CARTClassifier(1), TunedCARTClassifier(1, cv=2)):
        model.fit(X, y, weight)
        assert model.report_.scale == pytest.approx(weight.sum())


def test_too_few_rows_to_cross_validate():
    with pytest.raises(ValueError, match="use CARTClassifier"):
        TunedCARTClassifier().fit([[0.0], [1.0]], [0, 1])
    model = TunedCARTClassifier().fit([[0.0], [1.0], [2.0]], [0, 0, 1])
    assert model.report_.counters["folds"] == 2


@pytest.mark.parametrize(("model", "message"), [
    (CARTClassifier(class_weight="even"), "class_weight"),
    (CARTClassifier(ccp_alpha=-1.0), "ccp_alpha"),
    (CARTClassifier(random_state="one"), "random_state"),
    (TunedCARTClassifier(time_limit=0), "time_limit"),
    (TunedCARTClassifier(max_depth=-1), "max_depth"),
    (TunedCARTClassifier(class_weight="even"), "class_weight"),
    (TunedCARTClassifier(min_samples_leaf=0), "min_samples_leaf"),
    (TunedCARTClassifier(min_samples_leaf=1.0), "min_samples_leaf"),
])
def test_parameters_are_validated(model, message):
    with pytest.raises(ValueError, match=f"'{message}' parameter"):
        model.fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("options", [{}, {"max_depth": None}, {"class_weight": "balanced"},
                                     {"min_samples_leaf": 0.1}, {"criterion": "entropy"}])
def test_the_path_of_pruning_is_that_of_scikit_learn(options):
    X, y, weight = reference.random_rows(np.random.RandomState(1), 60, 4, 9, 3, "integers")
    options = {"max_depth": 4, "random_state": 0, **options}
    ours = CARTClassifier(**options).cost_complexity_pruning_path(X, y, weight)
    theirs = DecisionTreeClassifier(**options).cost_complexity_pruning_path(X, y, weight)
    assert ours.ccp_alphas == pytest.approx(theirs.ccp_alphas, abs=1e-12)
    assert ours.impurities == pytest.approx(theirs.impurities, abs=1e-12)


def test_folds_number_the_rows_that_were_given():
    """They once numbered those that have weight: other rows, or none."""
    rng = np.random.default_rng(0)
    X, fold, weight = rng.normal(size=(60, 3)), rng.integers(0, 3, 60), rng.integers(0, 3, 60)
    y = (X[:, 0] > 0) ^ (rng.random(60) < 0.2)
    used = weight > 0
    expected = TunedCARTClassifier(cv=PredefinedSplit(fold[used]), random_state=0).fit(
        X[used], y[used], weight[used])
    pairs = [(fold != k, fold == k) for k in range(3)]
    numbers = [tuple(map(np.flatnonzero, pair)) for pair in pairs]
    for cv in (PredefinedSplit(fold), pairs, numbers):
        model = TunedCARTClassifier(cv=cv, random_state=0).fit(X, y, weight)
        assert model.best_score_ == expected.best_score_ and model.tree_ == expected.tree_


@pytest.mark.parametrize("cv", [[], iter(()), [([0, 1], [])], PredefinedSplit([0, -1, -1, 1])])
def test_no_folds_are_refused(cv):
    with pytest.raises(ValueError, match="cv makes no folds.* give a number of folds"):
        TunedCARTClassifier(cv=cv).fit([[0], [1], [2], [3]], [0, 1, 0, 1], [1, 1, 1, 0])


@pytest.mark.parametrize("criterion", ["gini", "entropy", "log_loss"])
def test_impurities_and_importances_are_those_of_the_criterion(criterion):
    X, y = load_iris(return_X_y=True)
    options = {"max_depth": 3, "criterion": criterion, "class_weight": {0: 1, 1: 2.5, 2: 1},
               "random_state": 0}
    ours, theirs = CARTClassifier(**options).fit(X, y), DecisionTreeClassifier(**options).fit(X, y)
    exported = ours.to_sklearn(X)
    assert exported.criterion == criterion
    np.testing.assert_allclose(np.sort(exported.tree_.impurity), np.sort(theirs.tree_.impurity),
                               atol=1e-12)
    assert ours.feature_importances_ == pytest.approx(exported.feature_importances_)
    assert ours.feature_importances_.sum() == pytest.approx(1.0)


def test_importances_say_nothing_of_an_export():
    X = np.array([[-1e300], [1e300]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert CARTClassifier().fit(X, [0, 1]).feature_importances_ == [1.0]


@pytest.mark.parametrize("max_features", [None, 1, 3, 0.01, 0.5, 1.0, "sqrt", "log2"])
def test_the_number_of_features_drawn_is_that_of_scikit_learn(max_features):
    X, y = load_iris(return_X_y=True)
    theirs = DecisionTreeClassifier(max_features=max_features).fit(X, y)
    assert CARTClassifier(max_features=max_features).fit(X, y).max_features_ == theirs.max_features_


def test_folds_are_judged_by_the_tree_that_cart_grows_on_them():
    """Missing values were filled in for all rows at once, with other thresholds and sides."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:10, 1] = np.nan                      # in the first fold alone
    X[10:, 1] = np.nan_to_num(X[10:, 1])
    folds = [(np.arange(20, 60), np.arange(20)), (np.arange(40), np.arange(40, 60))]
    model = TunedCARTClassifier(3, grid={"max_depth": [3]}, cv=folds, random_state=0).fit(X, y)
    seed = np.random.RandomState(0).randint(2**31 - 1)
    expected = [CARTClassifier(3, random_state=seed).fit(X[train], y[train]).score(X[test], y[test])
                for train, test in folds]
    assert model.best_score_ == pytest.approx(np.mean(expected))
