"""Forests, projected regressors and the classifier by combinations."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.class_weight import compute_sample_weight

from odtbook.published import paper_model
from odtlib import MurTreeClassifier
from odtlib.constrained import (
    ConstrainedForestRegressor,
    ConstrainedTreeClassifier,
    ConstrainedTreeRegressor,
    ProjectedRegressor,
    sets,
)

RNG = np.random.default_rng(5)
X = RNG.normal(size=(120, 4))
Y = np.clip(30 + 20 * X[:, :3] + RNG.normal(0, 5, (120, 3)), 0, 100)
QUERIES = RNG.normal(size=(300, 4)) * 2
NONCONVEX = [sets.AtMostKNonzero(2, 0, 100), sets.SparseSimplex(2, 60, integer=True),
             paper_model("scores")]


@pytest.mark.parametrize("feasible", NONCONVEX, ids=["two", "integer", "scores"])
def test_every_prediction_is_feasible(feasible):
    models = [
        ConstrainedForestRegressor(feasible, n_estimators=10, random_state=0,
                                   on_infeasible_targets="keep"),
        ConstrainedForestRegressor(feasible, n_estimators=10, split="exact", max_features=0.5,
                                   random_state=0, on_infeasible_targets="project"),
        ProjectedRegressor(LinearRegression(), feasible),
        ProjectedRegressor(constraints=feasible),
    ]
    for model in models:
        assert feasible.contains(model.fit(X, Y).predict(QUERIES)).all()


def test_averaging_feasible_trees_is_feasible_for_convex_sets_only():
    options = dict(n_estimators=20, aggregate="average", random_state=0, max_depth=4,
                   on_infeasible_targets="keep")
    convex, other = sets.Simplex(90.0), sets.AtMostKNonzero(2, 0, 100)
    assert convex.contains(ConstrainedForestRegressor(convex, **options).fit(X, Y)
                           .predict(QUERIES)).all()
    assert not other.contains(ConstrainedForestRegressor(other, **options).fit(X, Y)
                              .predict(QUERIES)).all()


def test_the_forest_is_the_projection_of_its_trees_average():
    forest = ConstrainedForestRegressor(NONCONVEX[0], n_estimators=7, random_state=3,
                                        on_infeasible_targets="keep").fit(X, Y)
    average = np.mean([tree.predict(QUERIES) for tree in forest.estimators_], axis=0)
    np.testing.assert_allclose(forest.predict(QUERIES), NONCONVEX[0].project(average))
    samples = {tuple(tree.tree_.threshold[:1]) for tree in forest.estimators_}
    assert len(samples) > 1, "trees must see different rows"


def test_forest_of_one_tree_without_bootstrap_is_the_tree():
    forest = ConstrainedForestRegressor(NONCONVEX[0], n_estimators=1, bootstrap=False, max_depth=4,
                                        on_infeasible_targets="keep").fit(X, Y)
    tree = ConstrainedTreeRegressor(NONCONVEX[0], max_depth=4,
                                    on_infeasible_targets="keep").fit(X, Y)
    np.testing.assert_allclose(forest.predict(QUERIES), tree.predict(QUERIES))


def test_an_interrupted_tree_ends_the_forest(monkeypatch):
    class Interrupted(ConstrainedTreeRegressor):
        def fit(self, X, y, sample_weight=None):
            super().fit(X, y, sample_weight)
            fitted.append(self)
            self.report_.ended = "interrupted"       # the status of a pure tree is "optimal"
            return self

    fitted = []
    monkeypatch.setattr("odtlib.constrained.ensemble.ConstrainedTreeRegressor", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        ConstrainedForestRegressor(sets.Box(0, 100), n_estimators=5).fit(X, np.abs(X[:, :2]))
    assert len(fitted) == 1


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_time_limit_leaves_the_trees_grown_by_then_and_says_so(n_jobs):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(300, 4)), rng.random((300, 2))
    options = {"constraints": sets.Box(0, 1), "random_state": 0, "n_jobs": n_jobs}
    with pytest.warns(UserWarning, match=r"after \d+ of 20000 trees"):
        forest = ConstrainedForestRegressor(n_estimators=20_000, time_limit=0.2, **options)
        forest.fit(X, Y)
    grown = len(forest.estimators_)
    assert 0 < grown < 20_000
    if n_jobs is None:      # they are the first
        first = ConstrainedForestRegressor(n_estimators=grown, time_limit=1e6, **options)
        assert grown == 1 or np.array_equal(first.fit(X, Y).predict(X), forest.predict(X))


def test_forest_is_as_good_as_the_one_people_use():
    """On unconstrained targets our forest and scikit-learn's differ by chance only."""
    rows, targets = RNG.normal(size=(400, 4)), None
    targets = np.c_[rows[:, 0] * rows[:, 1], rows[:, 2]] + RNG.normal(0, 0.1, (400, 2))
    ours = ConstrainedForestRegressor(n_estimators=50, random_state=0).fit(rows[:200],
                                                                           targets[:200])
    theirs = RandomForestRegressor(50, random_state=0).fit(rows[:200], targets[:200])
    a, b = (((m.predict(rows[200:]) - targets[200:]) ** 2).mean() for m in (ours, theirs))
    assert a < 1.15 * b and b < 1.15 * a


def test_classifier_predicts_feasible_combinations_only():
    rows = RNG.normal(size=(200, 3))
    flags = (rows + RNG.normal(0, 0.3, rows.shape) > 0).astype(int)
    flags[flags.sum(axis=1) > 2, 0] = 0
    at_most_two = sets.AtMostKNonzero(2, 0, 1)
    for constraints in (at_most_two, lambda c: sum(c) <= 2):
        model = ConstrainedTreeClassifier(constraints).fit(rows, flags)
        assert model.predict(rows).sum(axis=1).max() <= 2 and model.score(rows, flags) == 1.0
    flags[0] = 1
    with pytest.raises(ValueError, match=r"1 of 200 .* first is row 0: \[1, 1, 1\]"):
        model.fit(rows, flags)
    model.set_params(on_infeasible_targets="drop").fit(rows, flags)
    assert model.predict(rows).sum(axis=1).max() <= 2
    words = np.array(["no", "yes"])[flags[1:]]
    with pytest.raises(ValueError, match="numeric targets"):
        ConstrainedTreeClassifier(at_most_two).fit(rows[1:], words)
    by_word = ConstrainedTreeClassifier(lambda c: list(c).count("yes") <= 2).fit(rows[1:], words)
    assert ((by_word.predict(rows) == "yes").sum(axis=1) <= 2).all()


@pytest.mark.parametrize("make", [
    lambda: ConstrainedForestRegressor(n_estimators=3, random_state=0),
    lambda: ProjectedRegressor(),
])
def test_a_row_of_weight_zero_is_a_row_that_is_not_there(make):
    rng = np.random.default_rng(0)
    X, Y, w = rng.normal(size=(30, 2)), rng.normal(size=(30, 2)), rng.integers(0, 3, 30) * 1.0
    used = w > 0
    np.testing.assert_array_equal(make().fit(X, Y, w).predict(X),
                                  make().fit(X[used], Y[used], w[used]).predict(X))


def test_a_combination_of_weight_zero_is_no_label():
    model = ConstrainedTreeClassifier().fit([[0], [1], [2]], [[0, 0], [0, 1], [1, 1]], [1, 0, 1])
    assert model.combinations_.tolist() == [[0, 0], [1, 1]]


X_FLAGS = np.array([[0.0, 5], [1, 2], [2, 7], [3, 1], [4, 8], [5, 3]])
Y_FLAGS = np.array([["no", "maybe"], ["no", "yes"]])[[0, 0, 1, 1, 0, 1]]


def random_flags(rng):
    """Return rows with many ties and two targets, of two and three classes."""
    X = rng.integers(0, 4, (int(rng.integers(6, 30)), 2)).astype(float)
    y = np.column_stack([rng.integers(0, 2, len(X)), rng.integers(0, 3, len(X))])
    y[:2] = [0, 0], [1, 1]
    return X, y


def test_class_weights_multiply_and_are_repeated_rows():
    rng = np.random.default_rng(1)
    changed = 0
    for _ in range(60):
        X, y = random_flags(rng)
        first, second = rng.integers(1, 4, 2), rng.integers(0, 4, 3)
        second[:2] += 1
        given = [dict(enumerate(first.tolist())), dict(enumerate(second.tolist()))]
        weight = first[y[:, 0]] * second[y[:, 1]]
        rows = rng.integers(0, 3, len(X))
        rows[:2] = 1
        for estimator in (DecisionTreeClassifier(max_depth=2, random_state=0),
                          MurTreeClassifier(1, binarizer="all")):
            model = ConstrainedTreeClassifier(estimator=estimator, class_weight=given)
            again = ConstrainedTreeClassifier(estimator=estimator)
            for number in (np.ones(len(X), int), rows):
                model.fit(X, y, number)
                again.fit(np.repeat(X, number * weight, axis=0),
                          np.repeat(y, number * weight, axis=0))
                assert np.array_equal(model.combinations_, again.combinations_)
                if estimator.max_depth == 2:
                    assert np.array_equal(model.predict(X), again.predict(X))
            changed += not np.array_equal(again.fit(X, y).predict(X), model.predict(X))
        # Against every tree of one split: the weight of the rows whose combination is wrong.
        total, code = rows * weight, 3 * y[:, 0] + y[:, 1]
        best = min(sum(total[side].sum() - np.bincount(code[side], total[side]).max(initial=0)
                       for side in (X[:, f] <= cut, X[:, f] > cut))
                   for f in range(2) for cut in range(4))
        assert model.estimator_.report_.objective == best
    assert changed > 20


def test_balanced_classes_count_the_rows_that_train():
    rng = np.random.default_rng(2)
    tree = DecisionTreeClassifier(max_depth=1, random_state=0)
    for _ in range(20):
        X, y = random_flags(rng)
        feasible = y.sum(axis=1) < 3
        weight = compute_sample_weight("balanced", y[feasible])
        options = dict(constraints=lambda c: sum(c) < 3, on_infeasible_targets="drop")
        model = ConstrainedTreeClassifier(estimator=tree, class_weight="balanced", **options)
        same = ConstrainedTreeClassifier(estimator=tree).fit(X[feasible], y[feasible], weight)
        assert np.array_equal(model.fit(X, y).predict(X), same.predict(X))
    one = ConstrainedTreeClassifier(estimator=tree, class_weight={0: 1, 1: 0, 2: 3})
    assert one.fit(X, y[:, 1]).classes_.tolist() == [0, 2]


@pytest.mark.parametrize("estimator", [
    DecisionTreeClassifier(max_depth=2, random_state=0), MurTreeClassifier(2, binarizer="all")])
def test_probabilities_are_sums_over_combinations(estimator):
    rng = np.random.default_rng(3)
    for _ in range(20):
        X, y = random_flags(rng)
        words = np.array(["no", "maybe", "yes"])[y]
        for targets in (y, words, words.astype(object)):
            model = ConstrainedTreeClassifier(estimator=estimator).fit(X, targets)
            share = model.estimator_.predict_proba(X)
            assert model.n_classes_ == [len(np.unique(targets[:, j])) for j in range(2)]
            for j, found in enumerate(model.predict_proba(X)):
                expected = [[sum(p for p, c in zip(row, model.combinations_) if c[j] == label)
                             for label in model.classes_[j]] for row in share]
                assert found == pytest.approx(np.array(expected))
                with np.errstate(divide="ignore"):
                    assert np.array_equal(model.predict_log_proba(X)[j], np.log(found))
        one = ConstrainedTreeClassifier(estimator=estimator).fit(X, words[:, 1])
        plain = clone(estimator).fit(X, words[:, 1])
        assert one.n_classes_ == len(plain.classes_)
        assert np.array_equal(one.predict_proba(X), plain.predict_proba(X))
        assert one.get_depth() == plain.get_depth() and one.get_n_leaves() == plain.get_n_leaves()
        assert np.array_equal(one.feature_importances_, plain.feature_importances_)


def test_a_drawing_names_combinations_and_features():
    X, y = pd.DataFrame(X_FLAGS, columns=["age", "height"]), Y_FLAGS
    for estimator in (None, *(MurTreeClassifier(2, binarizer=b) for b in ("quantile", "all"))):
        model = ConstrainedTreeClassifier(estimator=estimator).fit(X, y)
        texts = " ".join(text.get_text() for text in model.plot().texts)
        assert "no, maybe" in texts and ("age" in texts or "height" in texts)
        plt.close("all")
    with pytest.raises(ValueError, match="model is a KNeighborsClassifier"):
        ConstrainedTreeClassifier(estimator=KNeighborsClassifier(1)).fit(X, y).plot()


def test_what_the_estimator_lacks_is_lacking():
    classifier = ConstrainedTreeClassifier(estimator=KNeighborsClassifier(1))
    regressor = ProjectedRegressor(LinearRegression())
    for model, y in ((classifier, Y_FLAGS), (regressor, np.zeros((6, 2)))):
        for fitted in (model, model.fit(X_FLAGS, y)):
            for name in ("get_depth", "get_n_leaves", "feature_importances_"):
                assert not hasattr(fitted, name)
    assert hasattr(classifier, "predict_proba")
    assert not hasattr(ConstrainedTreeClassifier(estimator=RidgeClassifier()), "predict_proba")
    for model in (ConstrainedTreeClassifier(), ProjectedRegressor()):
        with pytest.raises(NotFittedError):
            model.get_depth()


def test_importances_of_a_forest_are_those_of_scikit_learn():
    """On unconstrained targets, for the trees of its own."""
    forest = ConstrainedForestRegressor(n_estimators=5, max_depth=3, random_state=0).fit(X, Y)
    theirs = RandomForestRegressor(5, max_depth=3).fit(X, Y)
    theirs.estimators_ = [tree.to_sklearn() for tree in forest.estimators_]
    assert forest.feature_importances_ == pytest.approx(theirs.feature_importances_)
    assert forest.feature_importances_.sum() == pytest.approx(1.0)
    leaf = ConstrainedForestRegressor(n_estimators=2).fit(X, np.ones((120, 3)))
    assert leaf.feature_importances_.tolist() == [0.0] * 4


@pytest.mark.parametrize(("options", "match"), [
    ({"class_weight": "even"}, "'class_weight' parameter"),
    ({"class_weight": [{0: -1.0}, {}]}, "class_weight holds a negative number"),
    ({"class_weight": {0: 2.0}}, "list of dicts"),
    ({"class_weight": [{0: 2.0}]}, "number of elements in class_weight should match"),
    ({"class_weight": [1, 2]}, "give a dict of weights for each target"),
    ({"class_weight": "balanced", "estimator": KNeighborsClassifier()},
     "takes sample_weight, and that of KNeighborsClassifier does not"),
    ({"class_weight": "balanced", "on_infeasible_targets": "drop", "constraints": lambda c: False},
     "no training row with a weight above zero has a feasible combination"),
])
def test_class_weights_that_cannot_be_used_are_refused(options, match):
    with pytest.raises(ValueError, match=match):
        ConstrainedTreeClassifier(**options).fit([[0], [1], [2]], [[0, 0], [0, 1], [1, 1]])


def test_a_forest_refuses_weights_whose_squares_overflow():
    with pytest.raises(ValueError, match="multiply all by one number"):
        ConstrainedForestRegressor(n_estimators=2).fit([[0], [1]], [0, 1], [1e300, 1e-300])


@pytest.mark.parametrize("column", [0, 1])
def test_every_target_of_the_classifier_needs_labels(column):
    """Only the first was looked at."""
    y = np.ones((4, 2))
    y[:, column] = [0.5, 1.25, 2.0, 3.0]
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        ConstrainedTreeClassifier().fit(np.arange(4.0)[:, None], y)
