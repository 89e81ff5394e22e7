"""The reader's own data through every method; the book's notebooks in the reader's own folder."""

import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from odtbook import experiments
from odtbook.cli import main
from odtbook.experiments import book, comparison
from odtbook.experiments.templates import Template


@pytest.fixture
def my_csv(tmp_path):
    chance = np.random.default_rng(1)
    frame = pd.DataFrame({"age": chance.integers(20, 60, 120), "colour": ["red", "blue"] * 60})
    frame["label"] = np.where((frame["age"] > 40) == (frame["colour"] == "red"), "yes", "no")
    path = tmp_path / "my.csv"
    frame[["label", "age", "colour"]].to_csv(path, index=False)
    return path


def test_a_csv_goes_through_every_method_that_exists(my_csv):
    table = experiments.compare(my_csv, target="label", max_depth=2, time_limit=10)
    assert list(table.index) == list(comparison.METHODS)
    assert {"CART", "tuned CART", "local search"} <= set(table.index)
    assert list(table.columns) == ["train_accuracy", "test_accuracy", "depth", "leaves",
                                   "wall_seconds", "status"]
    assert table["train_accuracy"].between(0.5, 1).all()
    assert (table["depth"] <= 2).all()
    assert table.loc["all thresholds", "status"] == "optimal"
    assert (table["train_accuracy"] <= table.loc["all thresholds", "train_accuracy"]).all()


def test_what_cannot_be_compared_is_refused(my_csv):
    frame = pd.read_csv(my_csv)
    frame["label"] = np.linspace(0.0, 1.0, len(frame))   # not classes
    with pytest.raises(ValueError, match="quantity.*odt try"):
        experiments.compare(frame, target="label", methods=["CART"])
    with pytest.raises(ValueError, match="there is no method 'CHAID'; use one of CART"):
        experiments.compare(my_csv, methods=["CHAID"])


@pytest.mark.parametrize(("fault", "status", "says"), [
    (ModuleNotFoundError("OCT needs highspy; pip install it", name="highspy"), "left out", "pip"),
    (ValueError("too many classes"), "failed", "^too many classes"),
    (RuntimeError("solver fell over"), "failed", "^RuntimeError: solver fell over"),
    (KeyboardInterrupt(), "interrupted", "Ctrl-C"),
])
def test_finished_rows_are_kept_whatever_a_method_dies_of(my_csv, monkeypatch, fault, status, says):
    def run(estimator, dataset, parts):
        if type(estimator).__name__ == "LocalSearchTreeClassifier":
            raise fault
        return {"train_accuracy": 0.5, "status": "optimal"}

    monkeypatch.setattr(comparison, "run", run)
    table = experiments.compare(my_csv, target="label", methods=["CART", "local search", "MurTree"])
    assert table.loc["CART", "status"] == "optimal" and table.loc["CART", "error"] == ""
    assert table.loc["local search", "status"] == status
    assert pd.Series(table.loc["local search", "error"]).str.contains(says).all()
    assert table.loc["MurTree", "status"] == (
        "interrupted" if status == "interrupted" else "optimal")


def test_more_classes_than_testing_rows_are_drawn_without_shares():
    train, test = comparison._split(np.arange(100) // 2, 0.25, 0)
    assert len(test) == 25 and len(set(train) | set(test)) == 100


def test_gaps_words_and_rare_levels_go_through_every_fast_method(my_csv, capsys):
    frame = pd.read_csv(my_csv)
    frame.loc[::7, "age"] = np.nan
    frame.loc[3:5, "colour"] = None
    frame["town"] = ["Bern"] * 119 + ["Ulm"]
    table = experiments.compare(frame, target="label", max_depth=2, time_limit=5, methods=[
        "CART", "tuned CART", "local search", "MurTree", "all thresholds"])
    assert "error" not in table.columns, table["error"].tolist()
    assert "'age' has 18 gaps" in capsys.readouterr().out


def test_a_template_is_forked_run_and_tested(tmp_path, monkeypatch, toy, capsys):
    template = toy().parent / "toy.ipynb"
    monkeypatch.chdir(tmp_path)
    assert main(["new", "mine", "--from", str(template)]) == 0
    folder = tmp_path / "mine"
    assert sorted(path.name for path in folder.iterdir()) == ["mine.ipynb", "mine.toml",
                                                              "test_mine.py"]
    assert Template(folder / "mine").defaults == Template(template).defaults
    # the test that came with it is the end-to-end check: grid, papermill, records
    result = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                             "--rootdir", str(folder), str(folder)], capture_output=True,
                            text=True, env=with_odtlib(book.PACKAGE.parent))
    assert result.returncode == 0, result.stdout
    (record,) = experiments.load_records(folder, changed=True)["measures"]
    assert record == {"sum": 1.5}
    assert (folder / ".runs" / folder.name / "notebooks").is_dir()
    assert main(["run", "mine", "--resume"]) == 0
    assert "1 run, 1 finished" in capsys.readouterr().out


def test_a_chapter_is_forked_with_a_record_to_fill_in(tmp_path):
    cells = [{"cell_type": "markdown", "id": "text", "metadata": {}, "source": "# A chapter"},
             {"cell_type": "code", "id": "sum", "metadata": {}, "execution_count": 3,
              "outputs": [{"output_type": "stream", "name": "stdout", "text": "2"}],
              "source": "print(1 + 1)"}]
    chapter = tmp_path / "01_sums.ipynb"
    chapter.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4,
                                   "nbformat_minor": 5}))
    folder = experiments.new("sums", chapter, tmp_path)
    notebook = json.loads((folder / "sums.ipynb").read_text())
    assert [cell.get("outputs", []) for cell in notebook["cells"]] == [[], [], [], []]
    assert [cell["id"] for cell in notebook["cells"]] == ["parameters", "text", "sum", "record"]
    (record,) = experiments.run_experiment(folder, quick=True, say=lambda line: None)
    assert record["status"] == "executed"
    assert record["parameters"] == {"seed": 0}


@pytest.mark.parametrize("name", ["", "a b", "../up", "9", "x" * 300])
def test_a_fork_needs_a_usable_name(name, toy, tmp_path):
    with pytest.raises(ValueError, match="cannot name an experiment"):
        experiments.new(name, toy().parent / "toy.ipynb", tmp_path)


def test_a_fork_overwrites_nothing(toy, tmp_path):
    template = toy().parent / "toy.ipynb"
    experiments.new("mine", template, tmp_path)
    with pytest.raises(ValueError, match="is there already"):
        experiments.new("mine", template, tmp_path)
    with pytest.raises(ValueError, match="no template or chapter") as refused:
        experiments.new("other", "murtre", tmp_path)
    assert str(refused.value).count(" does_it_pay,") == 1      # a chapter and a template
    assert not (tmp_path / "other").exists()


def test_an_installed_package_forks_and_runs_from_its_own_copy_of_the_book(tmp_path, toy):
    """The layout of a wheel: two packages with the book inside, and no checkout around them."""
    site = tmp_path / "site"
    for package in ("odtlib", "odtbook"):
        shutil.copytree(book.PACKAGE.parent / package, site / package,
                        ignore=shutil.ignore_patterns("__pycache__", "_book"))
    inside = site / "odtbook" / "_book" / "chapters" / "experiments"
    inside.mkdir(parents=True)
    shutil.copy(toy().parent / "toy.ipynb", inside / "toy.ipynb")
    grid = (toy().parent / "toy.toml").read_text()
    (inside / "tiny.toml").write_text(grid.replace("[1, 2, 3, 4]", "1").replace("[0.5, 1]", "1"))
    published = site / "odtbook" / "_book" / "data" / "published"
    shutil.copytree(book.PACKAGE.parent / "data" / "published", published)
    before = sorted(path for path in site.rglob("*") if "__pycache__" not in path.parts)

    script = """
from odtbook.cli import main
assert main(["new", "mine", "--from", "toy"]) == 0
assert main(["run", "mine", "--quick"]) == 0
assert main(["run", "tiny"]) == 0
assert main(["report", "--experiments"]) == 0
"""
    result = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, text=True,
                            env=with_odtlib(site), capture_output=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1].split()[:5] == ["tiny", "1", "1", "0", "0"]
    assert (tmp_path / "mine" / "mine.csv").exists()
    assert (tmp_path / "odt-results" / "tiny.csv").exists()
    assert sorted(p for p in site.rglob("*") if "__pycache__" not in p.parts) == before


def with_odtlib(folder):
    return {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}


def test_report_lists_the_experiments(capsys):
    assert main(["report", "--experiments"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["experiment", "runs", "recorded", "refused", "failed", "last",
                                "run", "question"]
    assert [line.split()[0] for line in lines[1:]] == book.names()


def test_the_fork_that_the_page_works_through_gives_its_figure(tmp_path, monkeypatch):
    """Its blocks are carried out as the page says, in their order."""
    text = (book.book_root() / "chapters/experiments/running.md").read_text(encoding="utf-8")
    part = text.partition("## Make it your own")[2]
    blocks = re.findall(r"^```(\w+)\n(.+?)^```", part, re.MULTILINE | re.DOTALL)[:5]
    (fork, measure, grid, run, figure) = (block for _, block in blocks)
    assert [kind for kind, _ in blocks] == ["bash", "python", "toml", "bash", "python"]
    monkeypatch.chdir(tmp_path)
    assert main(fork.split()[1:]) == 0
    notebook, file = tmp_path / "mine/mine.ipynb", tmp_path / "mine/mine.toml"
    cells = json.loads(notebook.read_text(encoding="utf-8"))
    (cell,) = [cell for cell in cells["cells"] if cell["id"] == "run"]
    cell["source"] = "\n".join("".join(cell["source"]).splitlines()[:-2]) + "\n" + measure
    notebook.write_text(json.dumps(cells), encoding="utf-8")
    before, _, after = file.read_text(encoding="utf-8").partition("[grid]")
    file.write_text(f"{before}{grid}\n[quick]{after.partition('[quick]')[2]}", encoding="utf-8")
    assert main(run.split()[1:]) == 0
    names = {}
    exec(figure, names)
    assert (tmp_path / "tests.png").stat().st_size > 5000
    assert (names["wide"].to_numpy() > 0).all() and names["wide"].shape == (3, 2)
    assert (names["wide"].loc[1] == 1).all()
    executed = {path.name for path in (tmp_path / "mine/.runs/mine/notebooks").iterdir()}
    assert {f"dataset-{name}-max_depth-{k}.ipynb" for name in ("monk1_full", "iris_uci")
            for k in (1, 2, 3)} == executed
