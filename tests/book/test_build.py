"""The book's build: outputs are never stale, a failing cell fails it, words stand on the left."""

import importlib.util
import re
import subprocess
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_notebook, new_output

ROOT = Path(__file__).resolve().parents[2]


def module_at(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def build_book():
    return module_at(ROOT / "scripts" / "build_book.py")


@pytest.fixture
def checkout(tmp_path, build_book, monkeypatch):
    """A folder like a checkout, under git, with one file that outputs depend on."""
    (tmp_path / "odtlib").mkdir()
    (tmp_path / "odtlib" / "tree.py").write_text("depth = 1\n")
    (tmp_path / "constraints.txt").write_text("numpy==2\n")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    monkeypatch.setattr(build_book, "ROOT", tmp_path)
    return tmp_path


@pytest.mark.parametrize("under_git", [True, False])
def test_inputs_change_with_the_library_and_the_lock(checkout, build_book, under_git):
    if not under_git:
        (checkout / ".git").rename(checkout / "no-git")
    seen = [build_book.hash_of_inputs(), build_book.hash_of_inputs()]
    assert seen[0] == seen[1]
    for file, text in [("odtlib/tree.py", "depth = 2\n"), ("odtlib/new.py", ""),
                       ("constraints.txt", "numpy==3\n")]:
        (checkout / file).write_text(text)
        seen.append(build_book.hash_of_inputs())
    assert len(set(seen)) == 4


def test_inputs_do_not_change_with_compiled_files(checkout, build_book):
    (checkout / ".gitignore").write_text("__pycache__/\n")
    before = build_book.hash_of_inputs()
    (checkout / "odtlib" / "__pycache__").mkdir()
    (checkout / "odtlib" / "__pycache__" / "tree.nbc").write_bytes(b"machine code")
    assert build_book.hash_of_inputs() == before


def test_a_failing_cell_fails_the_build(tmp_path, build_book, capfd):
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    paths = [tmp_path / "good.ipynb", tmp_path / "bad.ipynb"]
    for path, code in zip(paths, ["1 + 1", "raise ValueError('no such split')"], strict=True):
        nbformat.write(new_notebook(cells=[new_code_cell(code)], metadata=kernel), path)
    assert build_book.execute(paths[:1], tmp_path / "cache", jobs=1)
    said = capfd.readouterr()
    assert re.fullmatch(r"good\.ipynb: \d+ s\n", said.out) and not said.err   # the kernel is silent
    assert not build_book.execute(paths, tmp_path / "cache", jobs=2)
    assert "no such split" in capfd.readouterr().err
    assert build_book.execute(paths[:1], tmp_path / "cache", jobs=1)
    assert not capfd.readouterr().out       # the cache holds it


def test_a_notebook_finds_nothing_of_the_one_before(tmp_path, build_book, capfd):
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    codes = {"one/first": "import os\nleft, process = 1, os.getpid()\nprint(process)",
             "two/second": "import os\nassert 'left' not in globals()\nprint(os.getpid())\n"
                           "assert os.path.basename(os.getcwd()) == 'two'",
             "two/fails": "left = 1\nraise ValueError",
             "one/drawn": "import matplotlib.pyplot as plt\nassert 'left' not in globals()\n"
                          "plt.plot([1, 2]);"}
    paths = [tmp_path / f"{name}.ipynb" for name in codes]
    for path, code in zip(paths, codes.values(), strict=True):
        path.parent.mkdir(exist_ok=True)
        nbformat.write(new_notebook(cells=[new_code_cell(code)], metadata=kernel), path)
    done = {}
    build_book.work(iter(paths), lambda found: done.update({found[0].stem: found[1:]}))
    assert [bool(failure) for _, _, failure in done.values()] == [False, False, True, False]
    first, second, _, drawn = (notebook.cells[0].outputs for notebook, *_ in done.values())
    assert first[0].text == second[0].text      # one kernel for both
    assert "image/png" in drawn[0].data
    assert not capfd.readouterr().err


def test_a_line_printed_in_pieces_stays_one_line(build_book):
    pieces = [("stdout", "rank 0:"), ("stdout", " 3 errors\n"), ("stderr", "slow\n"),
              ("stdout", "  and"), ("stdout", " more\n")]
    cell = new_code_cell("show()", outputs=[
        *(new_output("stream", name=name, text=text) for name, text in pieces[:2]),
        new_output("execute_result", data={"text/plain": "3"}),
        *(new_output("stream", name=name, text=text) for name, text in pieces[2:])])
    notebook = new_notebook(cells=[cell])
    build_book.join_streams(notebook)
    assert [output.get("text") for output in notebook.cells[0].outputs] == [
        "rank 0: 3 errors\n", None, "slow\n", "  and more\n"]


def test_a_claim_that_does_not_hold_is_reported(tmp_path, build_book, monkeypatch, capfd):
    monkeypatch.setattr(build_book, "ROOT", tmp_path)
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    path, cache = tmp_path / "claims.ipynb", tmp_path / "cache"
    code = "import sys\nprint('4 errors')\nprint('compiling', file=sys.stderr)\n1 + 1"
    for stored, holds in [("4 errors\n", True), ("3 errors\n", False)]:
        cell = new_code_cell(code, id="errors", metadata={"tags": ["nbval-check-output"]}, outputs=[
            new_output("stream", name="stdout", text=stored),
            new_output("execute_result", data={"text/plain": "2"})])
        other = new_code_cell("print(1)", outputs=[new_output("stream", name="stdout", text="2")])
        nbformat.write(new_notebook(cells=[cell, other], metadata=kernel), path)
        assert build_book.execute([path], cache, jobs=1)
        assert build_book.claims_hold([path], cache) is holds
    message = capfd.readouterr().err
    assert "claims.ipynb, cell errors" in message
    assert "-3 errors\n+4 errors" in message


@pytest.mark.parametrize("index, columns, words", [
    (None, ["name", "share", "runs", "none"], {"name", "w"}),
    (["name", "w"], ["share", "runs"], {"name", "w"}),
    (None, pd.MultiIndex.from_tuples([("paper", "name"), ("paper", "share")]), {"paper", "name"}),
])
def test_columns_of_words_are_marked(index, columns, words):
    values = {"name": ["CART", "12 trees", "Gini"], "share": [0.5, -1, 12], "w": ["x", "y", "z"],
              "runs": ["3 of 4", "—", "× 2"], "none": [None, float("nan"), None]}
    if index:
        table = pd.DataFrame(values).set_index(index)[columns]
    elif isinstance(columns, pd.MultiIndex):
        table = pd.DataFrame({pair: values[pair[1]] for pair in columns})
    else:
        table = pd.DataFrame({name: values[name] for name in [*columns, "w"]})
    html = BeautifulSoup(table.to_html(), "html.parser")
    module_at(ROOT / "_ext" / "book_pages.py").mark_words(html.table)
    marked = html.select("thead .word")
    assert {cell.text for cell in marked} - {""} == words
    for row in html.select("tbody tr"):
        cells = [cell.text in values["name"] + values["w"] for cell in row.find_all("td")]
        assert [cell.has_attr("class") for cell in row.find_all("td")] == cells
