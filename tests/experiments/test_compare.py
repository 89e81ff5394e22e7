"""``odt compare``: the differences of records run by run, with intervals."""

import statistics
import subprocess

import pytest
from scipy.stats import t

from odtbook import experiments
from odtbook.cli import main
from odtbook.compare_command import compared, records_of
from odtbook.experiments.records import write_csv


def record(test_accuracy, **parameters):
    made = experiments.record(status="heuristic", objective=3, test_accuracy=test_accuracy,
                              measures={"tests": {"train": 2.5 * test_accuracy}, "seconds": 3.0})
    state = {"parameters": parameters, "commit": None, "dirty": None,
             "date": "2026-01-02T03:04:05+00:00", "notebook_seconds": 1.0}
    return {name: {**made, **state}[name] for name in experiments.records.COLUMNS}


@pytest.fixture
def two(tmp_path, monkeypatch):
    """Two files of records: six runs, of which the second has one less, and runs of its own."""
    monkeypatch.chdir(tmp_path)
    old = [record(0.5 + k / 100, dataset="ab"[k % 2], split=k // 2) for k in range(6)]
    new = [record(0.5 + k / 50, dataset="ab"[k % 2], split=k // 2, flavour="x") for k in range(5)]
    write_csv("old.csv", old)
    write_csv("new.csv", [*new, record(0.9, dataset="c", split=0, flavour="x")])
    return tmp_path


def test_the_table_has_differences_and_intervals_of_pairs(two, capsys):
    assert main(["compare", "old.csv", "new.csv"]) == 0
    table = compared(records_of("old.csv"), records_of("new.csv"))
    assert list(table.index) == ["all", "dataset = a", "dataset = b", "split = 0", "split = 1",
                                 "split = 2"]
    differences = [k / 100 for k in range(5)]
    row = table.loc["all"]
    half = t.ppf(0.975, 4) * statistics.stdev(differences) / 5 ** 0.5
    assert row["pairs"] == 5 and row["difference"] == pytest.approx(0.02)
    assert (row["low"], row["high"]) == (pytest.approx(0.02 - half), pytest.approx(0.02 + half))
    assert table.loc["dataset = b", "first"] == pytest.approx(0.52)
    assert table.loc["dataset = b", "second"] == pytest.approx(0.54)
    said = capsys.readouterr().out
    assert said.startswith("test_accuracy: the first is old.csv") and "dataset = a" in said
    assert "runs of the same dataset, split; an interval" in said
    (picture,) = two.glob("*.png")
    assert f"picture: {picture.name}" in said


def test_a_measure_is_any_number_that_both_have(two, capsys):
    assert main(["compare", "old.csv", "new.csv", "--measure", "tests.train"]) == 0
    assert "0.05" in capsys.readouterr().out
    assert main(["compare", "old.csv", "new.csv", "--measure", "seconds"]) == 2
    assert "no number of both" in capsys.readouterr().err
    write_csv("none.csv", [record(0.9, dataset="c", split=9)])
    assert main(["compare", "old.csv", "none.csv"]) == 2
    assert "no run with the same dataset" in capsys.readouterr().err
    assert main(["compare", "murtree_rows", "murtree_rows@no-such-commit"]) == 2
    assert "git has no murtree_rows.csv at no-such-commit" in capsys.readouterr().err
    assert main(["compare", "murtree_rows"]) == 2
    assert "name what to compare murtree_rows with" in capsys.readouterr().err


def test_a_parameter_that_never_agrees_is_what_the_two_differ_in(two):
    for name, limit in (("one.csv", 1), ("two.csv", 60)):
        write_csv(name, [record(limit / 100 + k / 10, dataset="ab"[k], time_limit=limit)
                         for k in range(2)])
    table = compared(records_of("one.csv"), records_of("two.csv"))
    assert table.attrs["paired"] == ["dataset"] and table.loc["all", "pairs"] == 2
    assert table.loc["all", "difference"] == pytest.approx(0.59)


def test_own_runs_and_those_of_a_commit_stand_beside_the_book(two, capsys):
    shown = subprocess.run(["git", "-C", str(experiments.book_root()), "rev-parse", "HEAD"],
                           capture_output=True, text=True)
    assert main(["compare", "murtree_rows@HEAD"]) == 2
    assert "run it: `odt run murtree_rows`." in capsys.readouterr().err
    own = two / "odt-results" / "murtree_rows.csv"
    own.parent.mkdir()
    own.write_bytes((experiments.book_root() / "data" / "results" / "murtree_rows.csv"
                     ).read_bytes())
    others = ["", *["murtree_rows@HEAD"] * (shown.returncode == 0)]
    for other in others:
        assert main(["compare", "murtree_rows", *other.split()]) == 0
        assert "all" in capsys.readouterr().out
