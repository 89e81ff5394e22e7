"""The study: its variants, the released code's builder, and what the records say."""

import numpy as np
import pandas as pd
import pytest
from constrained import reference

from odtbook import experiments
from odtbook.studies import constrained as study
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
    model = ConstrainedTreeRegressor(sets.paper_model("class"), max_depth=3).fit(X, Y)
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
