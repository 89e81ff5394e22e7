"""What the committed records say about column generation must agree with theory."""

from functools import cache

import pytest

from odtbook.experiments.book import locate
from odtbook.experiments.records import read_csv

NAMES = ("column_generation", "column_generation_large", "column_generation_published",
         "column_generation_solvers", "column_generation_subproblems", "column_generation_variants",
         "column_generation_variants_large")


@cache
def recorded(name):
    """Return the records of an experiment; read when a test runs, not when tests are collected."""
    return [(name, record) for record in read_csv(locate(name).records)
            if record["status"] != "failed"]


def all_records():
    return [entry for name in NAMES for entry in recorded(name)]


def runs(record):
    """Yield (row cuts, result) of the one or six runs that a record holds."""
    variants = record["measures"].get("variants")
    if variants is None:
        yield record["parameters"]["row_cuts"], {
            **record, **record["counters"], "bound": record["bound"]}
    else:
        yield from variants.items()


def test_there_are_records():
    assert len(all_records()) > 300


@pytest.mark.parametrize("name", NAMES)
def test_no_integer_master_beats_the_dynamic_program(name):
    for _, record in recorded(name):
        optimum = record["measures"]["train"]["optimum"]
        for _, result in runs(record):
            assert result["objective"] >= optimum - 1e-6
            assert result["bound"] <= optimum + 1e-6
            if result["status"] == "optimal":
                assert result["objective"] == pytest.approx(optimum, abs=1e-6)
            if result["converged"] and result["relaxation"] is not None:
                assert result["relaxation"] >= record["rows"] - optimum - 1e-5


def test_exact_relaxations_reach_the_optimum_wherever_they_end():
    checked = 0
    for _, record in all_records():
        if record["parameters"]["link"] != "prefix" or record["status"] == "time_limit":
            continue
        assert record["status"] == "optimal"
        assert record["objective"] == record["measures"]["train"]["optimum"]
        checked += 1
    assert checked > 250


def test_relaxations_of_the_variants_are_ordered():
    """More constraints give smaller relaxations; those of equal constraints are equal."""
    for name, record in all_records():
        if name != "column_generation_variants":
            continue
        value = {cuts: result["relaxation"] for cuts, result in runs(record)
                 if result["converged"]}
        for weak, strong in (("none", "lower"), ("none", "upper"), ("lower", "equal"),
                             ("upper", "equal"), ("equal", "extra")):
            if weak in value and strong in value:
                assert value[weak] >= value[strong] - 1e-5
        if "equal" in value and "all" in value:
            assert value["equal"] == pytest.approx(value["all"], abs=1e-5)


def test_the_verdicts_see_every_variant():
    from odtbook.verdicts.evidence import Records
    runs = Records().of("column_generation_variants", link="node")
    held = [record for name, record in all_records() if name == "column_generation_variants"]
    assert len(runs) == 6 * len(held)
    for row_cuts in ("none", "extra"):
        row = runs[runs["row_cuts"] == row_cuts].iloc[0]
        variant = row["measures"]["variants"][row_cuts]
        assert row["objective"] == variant["objective"]
        assert row["counters"]["relaxation"] == variant["relaxation"]
