"""The page "Does it pay?": its template keeps the protocol, its tables say what was recorded."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp

from odtbook import experiments
from odtbook.datasets import available, load
from odtbook.experiments.grid import Experiment
from odtbook.statistics import corrected_interval
from odtbook.studies import does_it_pay

METHODS = set(does_it_pay.NAMES)


def records(scores):
    """Return records as the template emits them, from {(data set, method, depth): accuracies}."""
    return pd.DataFrame([{
        "dataset": dataset, "method": method, "max_depth": depth, "rows": 100, "classes": 3,
        "status": "executed", "counters": {"stopped": 1},
        "measures": {name: list(values) for name in does_it_pay.MEASURED}}
        for (dataset, method, depth), values in scores.items()])


@pytest.fixture(scope="module")
def both():
    """The same folds with CART and with exact trees of the same depth."""
    runs = experiments.execute("does_it_pay", dataset="monk1_full", max_depth=3, max_rows=200,
                               method=["cart", "exact", "tuned-exact"])
    return {run["parameters"]["method"]: run for run in runs}


def test_an_exact_tree_is_never_behind_cart_on_training_rows(both):
    greedy, best = (np.array(both[name]["measures"]["train_accuracy"])
                    for name in ("cart", "exact"))     # few values: all thresholds are columns
    assert len(greedy) == 5
    assert (best >= greedy).all() and (best > greedy).any()


def test_a_choice_stays_within_the_candidates_and_says_what_it_chose(both):
    run = both["tuned-exact"]
    assert run["rows"] == 200 and run["counters"]["stopped"] == 0
    assert {1, 2, 3} >= {choice["max_depth"] for choice in run["measures"]["chosen"]}
    assert {0, 4} >= {choice["split_penalty"] for choice in run["measures"]["chosen"]}
    assert both["exact"]["measures"]["chosen"] == [{}] * 5
    for name in does_it_pay.MEASURED:
        assert len(run["measures"][name]) == 5
    assert run["test_accuracy"] == pytest.approx(np.mean(run["measures"]["test_accuracy"]))
    train = np.array(run["measures"]["train_accuracy"])
    assert (train <= np.array(both["exact"]["measures"]["train_accuracy"]) + 1e-12).all()


def test_the_template_draws_the_same_rows_for_every_method(both):
    table = does_it_pay.fold_table(pd.DataFrame([
        {**run["parameters"], **{k: v for k, v in run.items() if k != "parameters"}}
        for run in both.values()]))
    assert len(table) == 15 and set(table["rows"]) == {200}
    assert set(table["method"]) == {"CART", "exact", "tuned exact"}


def test_the_grid_has_every_method_once_on_every_data_set():
    points = pd.DataFrame(Experiment("does_it_pay").points())
    assert set(points["method"]) == METHODS
    deepest = points[points["max_depth"] == points["max_depth"].max()]
    assert (deepest.groupby("dataset")["method"].nunique() == len(METHODS)).all()
    assert not points.duplicated(["dataset", "method", "max_depth"]).any()
    names = set(points["dataset"])
    assert names <= set(available("shipped", "classification"))
    assert set(does_it_pay.RULES) <= names


def test_folds_stand_one_per_row():
    table = does_it_pay.fold_table(records({("a", "cart", 4): [0.5, 0.75],
                                            ("b", "new method", 2): [1.0, 0.0]}))
    assert table["method"].tolist() == ["CART", "CART", "new method", "new method"]
    assert table["fold"].tolist() == [0, 1, 0, 1]
    assert table["test_accuracy"].tolist() == [0.5, 0.75, 1.0, 0.0]
    assert table["leaves"].dtype == float


def test_a_forest_has_no_number_of_leaves_and_a_failed_run_no_row():
    runs = records({("a", "forest", 4): [0.5, 0.5], ("a", "cart", 4): [0.5, 0.5]})
    runs.at[0, "measures"] = {**runs.at[0, "measures"], "leaves": [None, None]}
    runs.at[1, "status"] = "failed"
    table = does_it_pay.fold_table(runs)
    assert set(table["method"]) == {"forest"} and table["leaves"].isna().all()


def test_what_is_unfinished_is_left_out():
    runs = {(name, method, depth): [0.5, 0.5] for name in "abc"
            for method in ("cart", "exact", "forest") for depth in (2, 4)}
    del runs["b", "exact", 4], runs["c", "forest", 4]
    table = does_it_pay.fold_table(records(runs))
    kept = does_it_pay.chosen(table, ["CART"])           # every method but CART lacks a set
    assert set(kept["dataset"]) == set("abc") and set(kept["max_depth"]) == {4}
    assert kept["method"].cat.categories.tolist() == ["CART"]
    kept = does_it_pay.chosen(table, ["exact", "CART"])  # b lacks one that is needed
    assert set(kept["dataset"]) == set("ac")
    assert kept["method"].cat.categories.tolist() == ["CART", "exact"]
    assert does_it_pay.chosen(table, ["tuned exact"]).empty


def test_differences_are_taken_fold_by_fold():
    one, other = [0.6, 0.7, 0.9, 0.5, 0.8], [0.5, 0.7, 0.6, 0.6, 0.8]
    table = does_it_pay.chosen(does_it_pay.fold_table(records({
        ("monk3", "exact", 4): one, ("monk3", "cart", 4): other,
        ("wine", "exact", 4): other, ("wine", "cart", 4): one})), ["exact", "CART"])
    found = does_it_pay.differences(table, "exact", "CART")
    apart = 100 * (np.array(one) - other)
    assert found.loc["monk3", "difference"] == pytest.approx(apart.mean())
    assert tuple(found.loc["monk3", ["low", "high"]]) == pytest.approx(
        corrected_interval(apart, 0.2))
    assert found.loc["wine", "difference"] == pytest.approx(-apart.mean())
    assert found["rule"].to_dict() == {"monk3": True, "wine": False}
    assert set(found["rows"]) == {100} and set(found["classes"]) == {3}


def test_the_interval_over_data_sets_is_that_of_student():
    values = pd.Series(np.random.default_rng(0).normal(1, 3, 20))
    mean, low, high = does_it_pay.over_sets(values, 0.9)
    expected = ttest_1samp(values, 0).confidence_interval(0.9)
    assert (mean, low, high) == pytest.approx((values.mean(), expected.low, expected.high))


def has_a_rare_class(name):
    y = np.asarray(load(name).y)
    if len(y) > 1000:
        y = y[np.sort(np.random.default_rng(0).permutation(len(y))[:1000])]
    sizes = np.unique(y, return_counts=True)[1]
    return len(sizes) == 2 and sizes.min() < 0.2 * len(y)


def test_trees_of_one_size_are_grown_on_the_same_sets_and_the_proved_ones_fit_best():
    pay, leaves = (Experiment(name).points() for name in ("does_it_pay", "leaves"))
    assert {point["dataset"] for point in pay} == {point["dataset"] for point in leaves}
    assert {point["method"] for point in leaves} == set(does_it_pay.BY_LEAVES)
    rare = Experiment("leaves_rare").points()
    assert {point["dataset"] for point in rare} == {
        name for name in {point["dataset"] for point in leaves} if has_a_rare_class(name)}
    runs = experiments.execute("leaves", dataset="monk1_full", sizes=[[2, 5]], max_rows=150,
                               method=list(does_it_pay.BY_LEAVES), time_limit=60.0)
    table = does_it_pay.leaf_table(pd.DataFrame([{**run["parameters"], **run} for run in runs]))
    assert len(table) == 3 * 2 * 5 and (table["leaves"] <= table["size"]).all()
    fitted = table.set_index(["size", "fold", "method"])[["train_accuracy", "proved"]].unstack()
    assert fitted["proved", "exact"].all() and not fitted["proved"][["CART", "pruned CART"]].any(
        axis=None)
    for name in ("CART", "pruned CART"):
        assert (fitted["train_accuracy", "exact"] >= fitted["train_accuracy", name]).all()


def test_a_set_without_all_methods_is_left_out():
    found = {"train_accuracy": [0.9, 0.8], "test_accuracy": [0.7, 0.6], "leaves": [2, 1],
             "proved": [False, False]}
    runs = pd.DataFrame([{"dataset": dataset, "method": method, "status": status, "rows": 100,
                          "classes": 2, "measures": {"2": found, "16": found}}
                         for dataset, status in (("a", "executed"), ("b", "failed"))
                         for method in does_it_pay.BY_LEAVES])
    runs.loc[len(runs)] = {**runs.loc[0].to_dict(), "dataset": "c"}      # of one method
    table = does_it_pay.leaf_table(runs)
    assert set(table["dataset"]) == {"a"} and len(table) == 3 * 2 * 2
    assert table["test_accuracy"].tolist() == [0.7, 0.6] * 6


def test_gains_are_differences_of_means_at_one_number_of_leaves():
    def run(dataset, method, train, test):
        found = {"train_accuracy": [train, train], "test_accuracy": [test, test - 0.1],
                 "leaves": [8, 8], "proved": [True, False]}
        other = {**found, "test_accuracy": [0.0, 0.0]}
        return {"dataset": dataset, "method": method, "status": "executed", "rows": 50,
                "classes": 6, "measures": {"8": found, "16": other}}
    runs = [run("monk1_full", "exact", 0.9, 0.8), run("monk1_full", "cart", 0.8, 0.5),
            run("monk1_full", "pruned-cart", 0.7, 0.9), run("wine", "exact", 1.0, 0.6),
            run("wine", "cart", 1.0, 0.6), run("wine", "pruned-cart", 1.0, 0.6)]
    found = does_it_pay.gains(does_it_pay.leaf_table(pd.DataFrame(runs)))
    assert found.loc["monk1_full", ["training", "test", "pruned"]].tolist() == pytest.approx(
        [10, 30, -10])
    assert found.loc["wine", ["training", "test", "pruned"]].tolist() == pytest.approx([0, 0, 0])
    assert found["rule"].tolist() == [True, False] and found["classes"].tolist() == [6, 6]
    assert does_it_pay.kinds(found)["five classes or more"].tolist() == [False, True]
    gap = does_it_pay.exact_minus(does_it_pay.leaf_table(pd.DataFrame(runs)), "CART")
    assert gap.loc[8].tolist() == pytest.approx(does_it_pay.over_sets(pd.Series([30.0, 0.0])))
    assert gap.loc[16].tolist() == [0, 0, 0]
    both = does_it_pay.gains(does_it_pay.leaf_table(pd.DataFrame(runs)), 16)
    assert both["test"].tolist() == [0, 0]
