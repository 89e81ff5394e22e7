"""The study: its variants, the released code's builder, and what the records say."""

import numpy as np
import pandas as pd
import pytest
from constrained import reference
from naive import best_cost, cuts

from odtbook import experiments
from odtbook.published import paper_model, solve_courses
from odtbook.studies import constrained as study
from odtbook.verdicts import corners
from odtbook.verdicts.evidence import Records
from odtlib.constrained import ConstrainedTreeRegressor, sets


def test_variants_are_the_nine_of_the_paper_and_the_baseline():
    found = study.compare_variants("class_500_3", 3, 2)
    assert list(found) == [*study.VARIANTS, *study.RELEASED]
    for name, folds in found.items():
        assert {len(values) for values in folds.values()} == {5}
        assert all(folds["outside"]) if name.endswith("L(A)") else not any(folds["outside"])


def test_under_one_course_the_papers_medoids_are_not_feasible():
    found = study.compare_variants("class_500_3", 3, 1, ["S(A):L(M)", "S(A):L(O)"])
    assert all(found["S(A):L(M)"]["outside"]) and not any(found["S(A):L(M)"]["infeasible"])
    assert not any(found["S(A):L(O)"]["outside"])


def test_any_medoid_is_the_best_row_of_the_leaf():
    X, Y = study.table("class_500_3")
    model = ConstrainedTreeRegressor(paper_model("class"), max_depth=3).fit(X, Y)
    value = study.any_medoids(model, X, Y)(X)
    for leaf in np.unique(model.apply(X)):
        rows = Y[model.apply(X) == leaf]
        found = value[model.apply(X) == leaf][0]
        least = min(((rows - y) ** 2).sum() for y in rows)
        assert ((rows - found) ** 2).sum() == pytest.approx(least)


def test_the_released_builder_evaluates_one_row_off():
    rng = np.random.default_rng(0)
    X, Y = np.sort(rng.normal(size=(20, 1)), axis=0), rng.normal(size=(20, 2))
    side_cost = study.child_cost("A", sets.Box().project, "criterion")
    tree, _ = study.released_tree(X, Y, side_cost, 1, min_leaf=2, min_split=4)

    def cost(i):   # rows before i on the left
        return reference.squared_cost(sets.Box(), Y[:i]) + reference.squared_cost(sets.Box(), Y[i:])

    best = min(range(2, 17), key=cost)
    assert tree.threshold[0] == X[best, 0]           # a value, not a midpoint
    assert np.sum(X[:, 0] <= tree.threshold[0]) == best + 1


@pytest.mark.parametrize("strength", [None, 10.0, 60.0, 1500.0])
def test_the_programs_of_the_paper_predict_what_the_closed_forms_do(strength):
    rng = np.random.default_rng(5)
    for courses, n_targets in ((1, 3), (2, 5)):
        feasible = paper_model("class", max_courses=courses)
        means = rng.uniform(0, 100, (6, n_targets)) * (rng.random((6, n_targets)) < 0.6)
        found = np.array([solve_courses(mean, courses, strength) for mean in means])
        expected = feasible.project(means) if strength is None else np.clip(
            means - strength / 2, 0, 100)
        assert found == pytest.approx(expected, abs=0.05)


def test_trees_by_programs_are_those_of_the_released_code(monkeypatch):
    X, Y = study.table("class_500_3")
    monkeypatch.setattr(study, "table", lambda dataset: (X[:60, :2], Y[:60]))
    found = study.compare_variants("class_500_3", 2, 1, builder="programs")
    closed = study.compare_variants("class_500_3", 2, 1, study.PROGRAMS, builder="released")
    assert list(found) == list(study.PROGRAMS)
    for name, folds in found.items():
        assert len(folds["mse"]) == 1 < len(closed[name]["mse"])
        assert folds["mse"][0] == pytest.approx(closed[name]["mse"][0], rel=1e-5)
        assert folds["leaves"][0] == closed[name]["leaves"][0]


def test_ensembles_and_tidy():
    measures = study.compare_ensembles("class_500_3", n_estimators=3)
    frame = study.tidy(pd.DataFrame([{"dataset": "class_500_3", "max_courses": 2, "max_depth": 5,
                                      "measures": measures}]))
    assert len(frame) == 5 * len(measures)
    outside = frame.groupby("variant")["outside"].sum()
    assert outside["forest, average projected"] == 0 < outside["raw forest"]


def test_records_agree_with_the_published_scikit_learn_rows():
    runs = study.tidy(experiments.load_records("constrained"))
    base = runs[runs["variant"] == "S(A):L(A)"]
    printed = experiments.published("birbil2024_figure4")
    deep = base[base["dataset"].str.startswith("class") & (base["max_depth"] == 15)
                & (base["max_courses"] == 1)]
    assert len(deep) == 45
    assert deep["mse"].mean() == pytest.approx(printed.loc["S(A):L(A)", "MSE"], abs=1e-4)
    assert deep["infeasible"].mean() == pytest.approx(printed.loc["S(A):L(A)", "infeasible"],
                                                      abs=0.005)
    others = experiments.published("birbil2024_figure2")
    scores = base[base["dataset"] == "scores"]
    assert scores["mse"].mean() == pytest.approx(others.loc["S(A):L(A)", "scores, MSE"], abs=1e-3)
    assert scores["infeasible"].mean() == others.loc["S(A):L(A)", "scores, infeasible"]
    cars = base[base["dataset"] == "cars"]
    assert cars["mse"].mean() == pytest.approx(others.loc["S(A):L(A)", "cars, MSE"], rel=1e-6)


def test_records_hold_every_exact_leaf_feasible():
    runs = study.tidy(experiments.load_records("constrained"))
    assert not runs.loc[runs["variant"].str.endswith("L(O)"), "outside"].any()


@pytest.mark.parametrize("split, leaf", [("mean", "mean"), ("exact", "project")])
def test_a_tree_that_is_cut_is_the_tree_of_a_smaller_depth(split, leaf):
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(150, 3)).round(1), rng.uniform(0, 9, (150, 3))
    for feasible in (sets.AtMostKNonzero(2, 0, 9), sets.Polyhedron([[1, 1, 1]], [9], lower=0)):
        options = dict(split=split, leaf=leaf, min_samples_leaf=3, on_infeasible_targets="keep")
        deep = ConstrainedTreeRegressor(feasible, max_depth=6, **options).fit(X, Y)
        found = study.predict_by_depth(deep, X)
        assert len(found) == deep.tree_.depth + 1
        for depth, predicted in enumerate(found):
            small = ConstrainedTreeRegressor(feasible, max_depth=depth, **options).fit(X, Y)
            assert np.array_equal(predicted, small.predict(X))


def test_a_depth_is_chosen_on_the_training_rows_alone(monkeypatch):
    """The choice of an outer fold does not change with the targets of its test rows."""
    X, Y = study.table("class_500_3")
    before = study.choose_depth("class_500_3", 5, variants=["S(A):L(O)"])["S(A):L(O)"]
    test = next(study.KFold(5, shuffle=True, random_state=0).split(X))[1]
    other = Y.copy()
    other[test] = 0
    monkeypatch.setattr(study, "table", lambda dataset: (X, other))
    after = study.choose_depth("class_500_3", 5, variants=["S(A):L(O)"])["S(A):L(O)"]
    assert after["depth"][0] == before["depth"][0] and after["mse"][0] != before["mse"][0]
    assert before["outside"] == [0] * 5 and len(before["depth"]) == 5
    # by scikit-learn's own search over the same folds
    from sklearn.model_selection import GridSearchCV
    folds = study.KFold(5, shuffle=True, random_state=0)
    model = ConstrainedTreeRegressor(study.model_for("class_500_3"), min_samples_split=10,
                                     min_samples_leaf=5)
    for (train, test), depth, mse in zip(folds.split(X), before["depth"], before["mse"],
                                         strict=True):
        search = GridSearchCV(model, {"max_depth": range(6)}, cv=folds,
                              scoring="neg_mean_squared_error").fit(X[train], Y[train])
        assert search.best_params_["max_depth"] == depth
        assert np.mean((search.predict(X[test]) - Y[test]) ** 2) == pytest.approx(mse)


@pytest.mark.parametrize("feasible", [sets.AtMostKNonzero(1, 0, 9), sets.Simplex(9.0),
                                      sets.Polyhedron([[1, 1, 1]], [9], lower=0)])
def test_the_check_of_splits_and_the_enumeration_are_those_of_the_slow_reference(feasible):
    rng = np.random.default_rng(5)
    X, Y = rng.integers(0, 6, (40, 2)).astype(float), rng.uniform(0, 9, (40, 3))
    options = dict(max_depth=2, min_samples_leaf=2, on_infeasible_targets="keep")
    exact = ConstrainedTreeRegressor(feasible, split="exact", **options).fit(X, Y)
    splits, candidates, excess = study.check_splits(exact, X, Y)
    rows = [np.isin(exact.apply(X), leaves) for leaves in
            [np.flatnonzero(exact.tree_.feature < 0)]
            + [np.flatnonzero(exact.tree_.feature < 0)[part] for part in (slice(2), slice(2, 4))]]
    assert splits == 3 and excess < 1e-12
    assert candidates == sum(len(list(reference.splits(X[part], 2))) for part in rows)
    exact.fit(X, Y[::-1])                   # splits for other targets
    assert study.check_splits(exact, X, Y)[2] > 1e-6

    for depth in range(3):
        assert study.enumerate_trees(feasible, X, Y, depth, 2) == pytest.approx(
            best_cost(cuts(X), lambda rows: reference.squared_cost(feasible, Y[rows]), depth,
                      min_leaf=2))


def test_the_corners_of_builder_and_medoid_stand_beside_the_published_errors():
    def load(name):
        if name == "constrained":
            return experiments.load_records(name)
        return pd.DataFrame([
            {"dataset": "cars", "status": "executed", "max_courses": 2, "max_depth": depth,
             "builder": "released",
             "medoid": "euclidean", "measures": {"S(M):L(M)": {"mse": [1.2e7, 1.3e7]}}}
            for depth in (3, 6)])

    records = Records(load, ["constrained", "constrained_medoids"])
    found = corners.corners(records)
    assert found.loc[("cars", "S(M):L(M)"), "published"] == 12710000
    assert found.loc[("cars", "S(M):L(M)"), "released, Euclidean"] == 1.25e7
    assert found.loc[("scores", "S(A):L(A)"), "correct, squared"] == pytest.approx(499.834)
    assert len(found) == 30 and found["correct, squared"].notna().all()
    assert "released, Euclidean: 1 of 1" in corners.describe_corners(records)

    missing = Records(experiments=["constrained"])
    assert corners.corners(missing) is None
    assert corners.describe_corners(missing).startswith("not run")


def test_jobs_add_up_and_medians_of_them_do_not():
    """A mean of coherent rows is coherent; a median of each target is not, a projected one is."""
    _, Y = study.table("us_employment")
    feasible = study.model_for("us_employment")
    assert Y.shape == (116, 14)
    assert (Y[:, 0] == Y[:, 3:].sum(1)).all() and (Y[:, 1] == Y[:, 3:6].sum(1)).all()
    assert (Y[:, 2] == Y[:, 6:13].sum(1)).all() and feasible.contains(Y).all()
    squared = study.compare_variants("us_employment", 4, variants=["S(A):L(A)"])
    assert sum(squared["S(A):L(A)"]["outside"]) == 0 and "mse" in squared["S(A):L(A)"]
    found = study.compare_variants("us_employment", 4, criterion="absolute_error")
    assert list(found) == [v for v in study.VARIANTS if "R" not in v]
    for variant, folds in found.items():
        share = sum(folds["outside"]) / len(Y)
        assert share > 0.9 if variant == "S(A):L(A)" else share == 0
        assert all(value > 0 for value in folds["mae"]) and "mse" not in folds
