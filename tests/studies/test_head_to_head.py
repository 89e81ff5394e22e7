"""The runs that chapter 7 compares: complete, of one kind each, and never above the optimum."""

import numpy as np
import pytest

from odtbook import experiments
from odtbook.studies import head_to_head


@pytest.fixture(scope="module")
def runs():
    return head_to_head.all_runs()


def test_every_method_has_one_run_per_data_set_split_and_depth(runs):
    kept = head_to_head.complete(runs)
    assert not kept.duplicated(["method", *head_to_head.KEY]).any()
    assert kept.groupby(["method", "max_depth"], observed=True).size().eq(14 * 5).all()
    assert set(kept["method"]) <= set(head_to_head.NAMES.values())
    assert set(runs.attrs["provenance"]) == {
        "head_to_head", "heuristics", "column_generation_variants", "milp"}


def test_integer_programs_have_the_same_solver_and_clock(runs):
    programs = runs[runs["method"].isin(["OCT", "BinOCT"])]
    assert set(programs["method"]) == {"OCT", "BinOCT"}
    for column in ("solver", "n_jobs", "time_limit", "start"):
        assert programs[column].nunique(dropna=False) == 1


def test_no_run_is_better_than_the_proven_optimum(runs):
    assert runs["gap"].min() > -1e-9
    proved = runs[(runs["method"] == "all thresholds") & (runs["status"] == "optimal")]
    assert np.allclose(proved["gap"].dropna(), 0)


def test_what_cart_loses_is_the_same_in_chapters_1_7_and_8(runs):
    """Chapter 1 joins the yardstick, chapter 8 takes the records that it is made of."""
    cart = experiments.load_records("heuristics").query("method == 'cart'").set_index(
        head_to_head.KEY)["train_accuracy"]
    exact = experiments.load_records("continuous").pivot_table(
        index=head_to_head.KEY, columns="thresholds", values="train_accuracy", aggfunc="first")
    lost = [(best - cart).dropna().groupby("max_depth").mean() * 100
            for best in (experiments.yardstick(), exact.dropna()["all"])]
    mine = runs[runs["method"] == "CART"].dropna(subset=["gap"]).groupby("max_depth")["gap"].mean()
    for other in lost:
        assert np.allclose(mine, other)


def test_a_method_with_a_missing_run_is_left_out(runs):
    assert "CART" in set(head_to_head.complete(runs)["method"])
    first = runs.index[runs["method"] == "CART"][0]
    assert "CART" not in set(head_to_head.complete(runs.drop(first))["method"])


def test_the_time_of_sampling_is_part_of_column_generation():
    raw = experiments.load_records("column_generation_variants")
    table = head_to_head.column_generation_runs("all")
    alone = [run["variants"]["all"]["cpu_seconds"] for run in raw["measures"]]
    assert (table["cpu_seconds"].to_numpy() > alone).all()


def test_means_weigh_data_sets_equally(runs):
    table = head_to_head.means(runs, "test_accuracy")
    part = runs[(runs["method"] == "OCT") & (runs["max_depth"] == 3)]
    by_set = [100 * group.mean() for _, group in part.groupby("dataset")["test_accuracy"]]
    assert table.loc["OCT", 3] == pytest.approx(np.mean(by_set))
