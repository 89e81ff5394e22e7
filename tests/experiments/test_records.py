"""The schema holds what it says, files round-trip, and the committed records obey it."""

import random
import tempfile
from pathlib import Path

import pytest
from experiments.conftest import GRID
from experiments.runner_fakes import PARAMETERS, RUN

from odtbook import experiments
from odtbook.cli import main
from odtbook.experiments import book, overview
from odtbook.experiments import records as records_module
from odtbook.experiments.grid import Experiment
from odtbook.experiments.records import (
    RENAMED,
    Journal,
    key,
    problems,
    read_csv,
    renamed,
    write_csv,
)
from odtbook.experiments.templates import Template
from odtbook.verdicts.evidence import Records


def valid(**values):
    record = experiments.record(status="optimal", objective=3, bound=3, train_accuracy=0.97,
                                depth=2, cpu_seconds=0.25, counters={"nodes": 12, "gap": 0.5})
    record.update(parameters={"dataset": "iris", "seed": 1, "text": 'a,"b"\nc é'},
                  date="2026-01-02T03:04:05+00:00", commit="0" * 40, dirty=False)
    return {**record, **values}


def test_a_valid_record_has_no_problems():
    assert problems(valid()) == []


@pytest.mark.parametrize(("values", "says"), [
    ({"extra": 1}, "columns"),
    ({"status": "solved"}, "status 'solved'"),
    ({"depth": 2.0}, "depth = 2.0 is not a whole number"),
    ({"depth": True}, "depth = True is not a whole number"),
    ({"objective": "3"}, "is not a number"),
    ({"objective": float("inf")}, "not finite"),
    ({"counters": None}, "counters = None is not a table"),
    ({"cpu_seconds": -1.0}, "negative"),
    ({"train_accuracy": 97.0}, "between 0 and 1"),
    ({"bound": 4.0}, "above the objective"),
    ({"bound": 2.0}, "optimal, but the bound"),
    ({"bound": None}, "an optimal run has"),
    ({"status": "failed"}, "only a failed run"),
    ({"error": "boom"}, "only a failed run"),
    ({"date": "yesterday"}, "not ISO 8601"),
])
def test_what_is_wrong_with_a_record_is_found(values, says):
    assert says in problems(valid(**values))[0]


def test_records_round_trip_through_csv(tmp_path):
    records = [valid(), valid(status="failed", error="no, never", objective=None, bound=None,
                              dirty=None, commit=None, cores=None)]
    write_csv(tmp_path / "new" / "r.csv", records)
    assert read_csv(tmp_path / "new" / "r.csv") == records
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["r.csv"]


def test_an_edited_csv_is_refused(tmp_path):
    path = tmp_path / "r.csv"
    write_csv(path, [valid()])
    path.write_text(path.read_text().replace("0.97", "97"))
    with pytest.raises(ValueError, match="r.csv, line 2: train_accuracy = 97.0"):
        read_csv(path)


@pytest.mark.parametrize("values", [
    {"measures": {"a": float("nan")}}, {"counters": {"a": [1, {"b": float("inf")}]}},
    {"measures": {"a": {1: 2}}}, {"measures": {"text": "\ud800"}},
    {"measures": {"long": "x" * 100_001}}, {"parameters": {"a": {1, 2}}}])
def test_what_no_cell_can_hold_is_found(values):
    (problem,) = problems(valid(**values))
    assert next(iter(values)) in problem or "surrogates" in problem


@pytest.mark.parametrize("content", [b"", b"\0" * 5000, b"\n", b"a,b\n1,2\n", b"\xff\xfe\n"])
def test_a_file_without_the_header_is_no_empty_table(tmp_path, content):
    path = tmp_path / "r.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="r.csv is no table of records .*; restore it from git, "
                       "or move it away"):         # it may be somebody's own table
        read_csv(path)


def changed_bytes(rng, raw):
    """Change bytes as disks, editors and power losses do."""
    raw, at = bytearray(raw), rng.randrange(len(raw))
    end = min(len(raw), at + rng.choice([1, 1, 2, 20, 500]))
    way = rng.randrange(5)
    if way == 0:
        raw[at] = rng.choice(b'\0\n\r",{}0129.eE-NI\xff\x80 ')
    elif way == 1:
        raw[at:end] = b"\0" * (end - at)
    elif way == 2:
        del raw[at:end]
    elif way == 3:
        del raw[at:]
    else:
        raw[at:at] = raw[at:end]
    return bytes(raw)


@pytest.mark.parametrize("seed", range(300))
def test_a_damaged_csv_is_read_as_it_stands_or_refused(seed):
    """What is read is what the file says: written again, it is the same file."""
    rng = random.Random(seed)
    records = [valid(parameters={"seed": k, "x": k / 3}, measures={"a": [k, "b"]})
               for k in range(3)]
    whole = records_module._table(records).encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r.csv"
        for _ in range(4):
            path.write_bytes(changed_bytes(rng, whole))
            try:
                found = read_csv(path)
            except ValueError as error:
                assert "r.csv" in str(error) and len(str(error)) < 600 and "\n" not in str(error)
            else:
                text = path.read_bytes().replace(b"\r\n", b"\n")    # as Windows checks it out
                assert records_module._table(found).encode() == text


@pytest.mark.parametrize("seed", range(100))
def test_a_damaged_journal_gives_whole_records_or_is_refused(seed):
    rng = random.Random(seed)
    records = [valid(parameters={"seed": k}, measures={"a": k / 7}) for k in range(3)]
    asked = {"asked": [key(record["parameters"]) for record in records]}
    whole = b"".join(map(records_module._line, [asked, *records]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        for _ in range(4):
            path.write_bytes(changed_bytes(rng, whole))
            try:
                finished = Journal(path).finished.values()
            except ValueError as error:
                assert "journal.jsonl" in str(error) and "\n" not in str(error)
            else:
                assert all(problems(record) == [] for record in finished)


def test_numbers_that_are_not_finite_become_empty():
    record = experiments.record(bound=float("-inf"), counters={"gap": float("nan"), "n": 1})
    assert record["bound"] is None
    assert record["counters"] == {"gap": None, "n": 1}
    with pytest.raises(ValueError, match="no column mse"):
        experiments.record(mse=1.0)


def test_a_journal_torn_at_any_byte_keeps_what_was_whole(tmp_path):
    path = tmp_path / "journal.jsonl"
    journal = Journal(path)
    records = [valid(parameters={"seed": seed}) for seed in range(3)]
    journal.begin([key(record["parameters"]) for record in records])
    start, ends = path.stat().st_size, []
    for record in records:
        journal.append(record)
        ends.append(path.stat().st_size)
    whole = path.read_bytes()
    edges = {end - back for end in ends for back in range(4)}
    for cut in sorted({*range(start, len(whole) + 1, 23), *edges}):
        path.write_bytes(whole[:cut])
        torn = Journal(path)
        finished = sum(cut >= end - 1 for end in ends)   # the last newline may be missing
        assert list(torn.finished.values()) == records[:finished]
        assert len(torn.open) == 3 - finished
        torn.append(records[min(finished, 2)])
        assert len(Journal(path).finished) == min(finished + 1, 3)


def test_records_load_as_a_table_with_their_provenance(toy):
    grid = toy()
    points = Experiment(grid).points()
    with pytest.raises(ValueError, match="no records yet"):
        experiments.load_records(grid)
    facts = {"versions": {"odtlib": "0.1.0", "numpy": "2.4", "numba": "0.68"},
             "processor": "Slow CPU", "cores": 2}
    write_csv(grid.with_suffix(".csv"), [valid(parameters=point, **facts) for point in points])
    table = experiments.load_records(grid)
    assert list(table.columns[:4]) == ["a", "b", "mode", "note"]
    assert len(table) == 8
    assert table["objective"].dtype == float
    assert list(table["counters"].str.get("nodes")) == [12] * 8
    assert table.attrs["provenance"] == experiments.provenance(table) == (
        "Records of 2026-01-02, odtlib 0.1.0 (0000000), 8 runs on Slow CPU, 2 cores, "
        "numpy 2.4, numba 0.68.")
    table.loc[0, "date"] = "2026-01-05T00:00:00+00:00"
    table.loc[0, "dirty"] = True
    assert experiments.provenance(table[:2]).startswith(
        "Records of 2026-01-02 to 2026-01-05, odtlib 0.1.0 "
        "(0000000 with changes and 0000000), 2 runs")


def test_records_made_without_git_load_and_say_so(toy):
    grid = toy()
    write_csv(grid.with_suffix(".csv"), [valid(parameters=point, commit=None, dirty=None)
                                         for point in Experiment(grid).points()])
    table = experiments.load_records(grid)
    assert "(no commit), 8 runs" in table.attrs["provenance"]


def test_records_made_by_changed_code_do_not_count(toy):
    grid = toy()
    points = Experiment(grid).points()
    path = grid.with_suffix(".csv")
    write_csv(path, [valid(parameters=point, dirty=place < 3) for place, point in
                     enumerate(points)])
    table = experiments.load_records(grid)
    assert len(table) == 5 and table.attrs["refused"] == 3
    assert not table["dirty"].any()
    assert "; 3 more, made by changed code, left out." in table.attrs["provenance"]
    every = experiments.load_records(grid, changed=True)
    assert len(every) == 8 and every.attrs["refused"] == 0
    write_csv(path, [valid(parameters=point, dirty=True) for point in points])
    with pytest.raises(ValueError, match="all 8 records of experiment .* made by changed code"):
        experiments.load_records(grid)


def test_the_report_uses_no_record_of_changed_code_and_says_so(toy, monkeypatch, capsys):
    grid = toy()
    points = Experiment(grid).points()
    write_csv(grid.with_suffix(".csv"), [valid(parameters=point, dirty=place < 3)
                                         for place, point in enumerate(points)])
    monkeypatch.setattr(overview, "names", lambda: [str(grid)])
    assert len(Records(experiments=[str(grid)]).of("*toy*")) == 5
    assert main(["report", "--experiments"]) == 0
    captured = capsys.readouterr()
    assert "toy: 3 records were made by changed code and do not count" in captured.err
    assert captured.out.splitlines()[1].split()[:4] == ["toy", "8", "5", "3"]


@pytest.mark.parametrize("line", ["null", "123", "[1]", '"text"', '{"parameters": {"a": 1}}', "{}"])
def test_a_journal_of_something_else_is_refused_in_one_sentence(tmp_path, line):
    path = tmp_path / "journal.jsonl"
    Journal(path).begin(["a"])
    with path.open("a") as file:
        file.write(f"\n{line}\n")
    with pytest.raises(ValueError, match="journal.jsonl holds a record that is not valid"):
        Journal(path)
    path.write_text(f"{line}\n")
    with pytest.raises(ValueError, match="journal.jsonl does not begin with the runs asked for"):
        Journal(path)


def test_a_file_that_is_no_table_is_refused(tmp_path):
    path = tmp_path / "r.csv"
    for text in (b"parameters\n\xff\xfe\n", b"parameters\n" + b"1" * 200_000 + b"\n"):
        path.write_bytes(text)
        with pytest.raises(ValueError, match="r.csv is no table of records"):
            read_csv(path)


@pytest.mark.parametrize("path", sorted((book.book_root() / "data" / "results").glob("*.csv")),
                         ids=lambda path: path.stem)
def test_committed_records_obey_the_schema_and_their_grid(path):
    records = read_csv(path)
    keys = [key(record["parameters"]) for record in records]
    assert len(keys) == len(set(keys))
    experiment = Experiment(path.stem)
    assert set(experiment.records()) <= set(experiment.declared())
    assert [r["error"] for r in records if r["status"] == "failed"] == []


def test_renamed_parameters_are_read_by_their_new_names(toy, monkeypatch):
    monkeypatch.setitem(records_module.RENAMED, "toy", {"old": "a"})
    grid = toy()
    points = Experiment(grid).points()
    was = [{("old" if name == "a" else name): value for name, value in point.items()}
           for point in points]
    write_csv(grid.with_suffix(".csv"), [valid(parameters=point) for point in was])
    assert set(Experiment(grid).records()) == set(map(key, points))     # nothing is to be run again
    table = experiments.load_records(grid)
    assert "old" not in table and list(table["a"]) == [point["a"] for point in points]
    # as long as the template has the old name, runs keep it, and tables speak the new one
    toy(parameters=PARAMETERS.replace("a = 1", "old = 1"), run=RUN.replace("a ", "old "),
        grid=GRID.replace("a = [", "old = ["))
    assert set(Experiment(grid).records()) == set(map(key, was)) == set(Experiment(grid).declared())
    assert "old" not in experiments.load_records(grid)


def test_a_parameter_that_the_table_of_names_does_not_know_stays():
    assert renamed({"a": 1, "sparsity": 0.0}, "murtree") == {"a": 1, "split_penalty": 0.0}
    assert renamed({"sparsity": 0.0}, "elsewhere") == {"sparsity": 0.0}
    assert renamed({"sparsity": 0.0}, "murtree", ["sparsity"]) == {"sparsity": 0.0}
    assert renamed({"sparsity": 0.0}, "murtree", ["split_penalty"]) == {"split_penalty": 0.0}


@pytest.mark.parametrize("template", RENAMED)
def test_the_names_of_today_are_parameters_or_will_be(template):
    """A name in the table is one of the template, the old one or the new one, and not both."""
    known = Template(template).defaults
    for old, new in RENAMED[template].items():
        assert (old in known) != (new in known)
