"""odt data list, check and fetch."""

from __future__ import annotations

import argparse
import gzip

import pytest

from odtbook import data_command
from odtbook.datasets import available, catalogue, loading
from odtbook.datasets.tables import DataError


def run(*arguments) -> int:
    parser = argparse.ArgumentParser(prog="odt")
    data_command.add_parser(parser.add_subparsers(required=True))
    options = parser.parse_args(["data", *arguments])
    return options.command(options)


def test_list(nothing_at_hand, capsys):
    assert run("list") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == available()
    places = {line.split()[0]: line.split()[-1] for line in lines[1:]}
    assert places["monk1_full"] == "generated"
    assert places["monk1"] == "archive.ics.uci.edu"
    assert places["scores"] == "raw.githubusercontent.com"
    assert places["hand_posture"] == "nowhere"
    assert run("list", "--kind", "small") == 0
    assert len(capsys.readouterr().out.splitlines()) == 15
    with pytest.raises(SystemExit):
        run("list", "--kind", "tiny")


def test_check_of_what_is_at_hand(nothing_at_hand, capsys):
    assert run("check") == 0
    out = capsys.readouterr().out
    assert "right    monk1_full (generated)" in out
    assert "missing  monk1 (archive.ics.uci.edu)\n" in out
    assert run("check", "monk1") == 1
    assert run("check", "iris") == 0


def test_what_is_not_at_hand_comes_with_what_to_do(nothing_at_hand, capsys):
    fetchable = "run `odt data fetch monk1`, or set the environment variable ODTLIB_DATA"
    folder = "set the environment variable ODTLIB_DATA"
    run("check", "monk1", "hand_posture")
    errors = capsys.readouterr().err.splitlines()
    assert errors[0].startswith(f"odt: monk1: {fetchable}")
    assert errors[1].startswith(f"odt: hand_posture: {folder}")
    for command in ("check", "list"):
        run(command)
        errors = capsys.readouterr().err.splitlines()
        assert len(errors) == 2 and "run `odt data fetch NAME`." in errors[0]
        assert "cg_splits/hand_posture.csv.gz" in errors[1] and "monk1" not in errors[1]
    run("list", "--kind", "generated")
    assert capsys.readouterr().err == ""


def test_no_fetch_is_advised_where_there_is_no_source(nothing_at_hand):
    for name, entry in catalogue.entries().items():
        if entry.make is None:
            assert entry.file
            assert ("odt data fetch" in loading.advice(entry)) == bool(entry.downloads), name


def test_list_of_what_is_shipped(only_shipped, capsys):
    assert run("list", "--kind", "shipped") == 0
    places = [line.split()[-1] for line in capsys.readouterr().out.splitlines()[1:]]
    assert set(places) == {"generated", "shipped"}
    assert places.count("generated") == len(available("generated"))


def test_check_of_a_wrong_file(nothing_at_hand, tmp_path, monkeypatch, capsys):
    (tmp_path / "cg_splits").mkdir()
    (tmp_path / "cg_splits/monk1.csv.gz").write_bytes(gzip.compress(b"a1,target\n1,0\n"))
    monkeypatch.setenv("ODTLIB_DATA", str(tmp_path))
    assert run("check", "iris", "monk1") == 1
    out = capsys.readouterr().out
    assert "right    iris" in out and "wrong    monk1" in out


def test_check_of_everything(only_shipped, capsys):
    assert run("check") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines.count("right    monk1 (shipped)") == 1
    assert [line.split()[1] for line in lines if line.startswith("right ")] == available("shipped")
    assert sum(line.startswith("missing ") for line in lines) == (
        len(available()) - len(available("shipped")))


def test_fetch(nothing_at_hand, monkeypatch, capsys):
    fetched = []

    def fetch_table(entry):
        if entry.name == "monk2":
            raise DataError("it is cut short")
        fetched.append(entry.name)

    monkeypatch.setattr(loading, "fetch_table", fetch_table)
    assert run("fetch") == 2
    assert run("fetch", "monk1", "iris", "monk1") == 0
    assert fetched == ["monk1"]
    assert run("fetch", "monk2", "monk3") == 1
    assert fetched == ["monk1", "monk3"]
    captured = capsys.readouterr()
    assert "at hand  iris (generated)" in captured.out
    assert "failed   monk2: it is cut short" in captured.err
    fetched.clear()
    assert run("fetch", "--kind", "continuous") == 0
    assert fetched == available("continuous")


def test_fetch_leaves_alone_what_is_at_hand(only_shipped, monkeypatch, capsys):
    fetched = []
    monkeypatch.setattr(loading, "fetch_table", lambda entry: fetched.append(entry.name))
    assert run("fetch", "monk1") == 0
    assert fetched == [] and "at hand  monk1 (shipped)" in capsys.readouterr().out
    assert run("fetch", "monk1", "iris", "--force") == 0
    assert fetched == ["monk1"]


def test_the_command_line_of_odt_has_data(capsys):
    from odtbook.cli import main

    assert main(["data", "check", "iris"]) == 0
    assert main(["data", "check", "irys"]) == 2
    assert "did you mean iris" in capsys.readouterr().err


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="there is no data set"):
        run("fetch", "no-such-set")
    assert "no-such-set" not in catalogue.entries()
