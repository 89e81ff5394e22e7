"""The book's build: outputs are never stale, a failing cell fails it, words stand on the left."""

import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from jupyter_cache.cache.db import NbCacheRecord
from nbformat.v4 import new_code_cell, new_notebook, new_output

ROOT = Path(__file__).resolve().parents[2]


KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}


NOTEBOOKS = [ROOT / "intro.ipynb", *sorted((ROOT / "chapters").rglob("*.ipynb"))]


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A book of its own, whose notebooks are written by name and code, and executed."""
    monkeypatch.syspath_prepend(ROOT / "scripts")
    build = importlib.import_module("build_book")
    monkeypatch.setattr(build, "ROOT", tmp_path)
    monkeypatch.setattr(build, "BUILD", tmp_path / "_build")
    monkeypatch.setenv("IPYTHONDIR", "")
    monkeypatch.setenv("ODT_TRACE", "")
    (tmp_path / "_toc.yml").write_text("root: intro\n")
    (tmp_path / "constraints.txt").write_text("numpy==2\n")

    def write(**codes):
        paths = [tmp_path / "chapters" / f"{name}.ipynb" for name in codes]
        for path, code in zip(paths, codes.values(), strict=True):
            path.parent.mkdir(exist_ok=True)
            nbformat.write(new_notebook(cells=[new_code_cell(code)], metadata=KERNEL), path)
        return paths

    def execute(paths):
        good = build.execute(paths)
        cache = build.get_cache(tmp_path / "_build" / ".jupyter_cache")
        known = [path for path in paths if cache.get_cached_project_nb(str(path))]
        return good, [cache.merge_match_into_notebook(nbformat.read(path, as_version=4))[1].cells[0]
                      .outputs for path in known]
    return SimpleNamespace(folder=tmp_path, write=write, execute=execute)


def test_a_kernel_that_is_traced_can_be_reset(tmp_path):
    """``%reset`` empties the namespace in which IPython has run the script."""
    code = f"""
import os, sys, types
sys.path.insert(0, {str(ROOT / "scripts")!r})
hooks = []
kernel = types.SimpleNamespace(events=types.SimpleNamespace(
    register=lambda event, hook: hooks.append(hook)))
space = {{"get_ipython": lambda: kernel}}
exec(open(sys.path[0] + "/trace_kernel.py").read(), space)
space.clear()
open({str(ROOT / "_toc.yml")!r}).close()
hooks[0]()
print(open(os.environ["ODT_TRACE"]).read())
"""
    trace = tmp_path / "read.txt"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True,
                         env={**os.environ, "ODT_TRACE": str(trace)}, check=True)
    assert " _toc.yml" in run.stdout


def test_a_notebook_is_executed_again_when_what_it_read_changed_and_only_then(book):
    (book.folder / "helper.py").write_text("factor = 2\n")
    (book.folder / "data").mkdir()
    (book.folder / "data" / "runs.csv").write_text("3")
    paths = book.write(
        reads="import os, sys, time\nsys.path.insert(0, '..')\nimport helper\n"
              "print(helper.factor * int(open('../data/runs.csv').read()), time.time_ns())",
        lists="import os, time\nprint(len(os.listdir('../data')), time.time_ns())",
        child="import subprocess, sys, time\nprint(time.time_ns())")

    def printed():
        good, outputs = book.execute(paths)
        assert good
        return [output[0]["text"] for output in outputs]

    first = printed()
    assert first[0].startswith("6 ") and first[1].startswith("1 ")
    assert printed() == first
    (book.folder / "unrelated.py").write_text("")
    assert printed() == first
    (book.folder / "data" / "runs.csv").write_text("4")
    second = printed()
    assert second[0].startswith("8 ") and second[1:] == first[1:]
    (book.folder / "helper.py").write_text("factor = 10\n")
    third = printed()
    assert third[0].startswith("40 ") and third[1:] == first[1:]
    (book.folder / "data" / "more.csv").write_text("")
    fourth = printed()
    assert fourth[1].startswith("2 ") and (fourth[0], fourth[2]) == (third[0], first[2])
    (book.folder / "constraints.txt").write_text("numpy==3\n")
    assert not set(printed()) & set(fourth)


def test_what_one_process_stores_is_not_removed_by_another(book, monkeypatch):
    """jupyter-cache asks twice what it holds, and removes what came between as too old."""
    here = os.getpid()

    def between(keep, database):
        return [] if os.getpid() == here else [r.pk for r in NbCacheRecord.records_all(database)]

    monkeypatch.setattr(NbCacheRecord, "records_to_delete", between)
    good, outputs = book.execute(book.write(one="print(1)", two="print(2)"))
    assert good and [output[0]["text"] for output in outputs] == ["1\n", "2\n"]


def test_a_failing_cell_fails_the_build(book, capfd):
    good, bad = paths = book.write(good="1 + 1", bad="raise ValueError('no such split')")
    assert book.execute([good])[0]
    said = capfd.readouterr().err
    assert "Executing" in said and "WARNING" not in said      # the kernel is silent
    executed, outputs = book.execute(paths)
    assert not executed and len(outputs) == 1
    assert "no such split" in capfd.readouterr().err
    assert book.execute([good])[0]
    assert "Executing" not in capfd.readouterr().err          # the cache holds it
    assert not book.execute([bad])[0]


def test_a_page_whose_notebook_is_new_is_read_again(book):
    paths = book.write(one="1", two="2")
    trees = [book.folder / "_build/.doctrees/chapters" / f"{path.stem}.doctree" for path in paths]
    trees[0].parent.mkdir(parents=True)
    for tree in trees:
        tree.write_text("")
    book.execute(paths[:1])
    assert [tree.exists() for tree in trees] == [False, True]


def test_a_line_printed_in_pieces_stays_one_line(book):
    (path,) = book.write(pieces="import sys\nfor word in ('rank 0:', ' 3 errors'):\n"
                                "    print(word, end='', flush=True)\nprint(flush=True)\n"
                                "print('slow', file=sys.stderr, flush=True)\nprint('more')")
    _, (outputs,) = book.execute([path])
    assert sorted((output.name, output.text) for output in outputs) == [
        ("stderr", "slow\n"), ("stdout", "rank 0: 3 errors\nmore\n")]


def test_nbval_reports_a_claim_that_does_not_hold(tmp_path):
    """With the stored outputs of nbstripout, and without what is written to the standard error."""
    shutil.copy(ROOT / "conftest.py", tmp_path)
    code = "import sys\nprint('4 errors')\nprint('compiling', file=sys.stderr)\n1 + 1"
    for stored, holds in [("4 errors\n", True), ("3 errors\n", False)]:
        cell = new_code_cell(code, id="errors", metadata={"tags": ["nbval-check-output"]}, outputs=[
            new_output("stream", name="stdout", text=stored),
            new_output("execute_result", data={"text/plain": "2"})])
        other = new_code_cell("print(1)", outputs=[new_output("stream", name="stdout", text="2")])
        path = tmp_path / "claims.ipynb"
        nbformat.write(new_notebook(cells=[cell, other], metadata=KERNEL), path)
        run = subprocess.run([sys.executable, "-m", "pytest", "--nbval-lax", "-q", path.name],
                             cwd=tmp_path, capture_output=True, text=True)
        assert (run.returncode == 0) == holds, run.stdout
    assert "3 errors" in run.stdout and "4 errors" in run.stdout


@pytest.mark.parametrize("index, columns, words", [
    (None, ["name", "share", "runs", "none"], {"name", "w"}),
    (["name", "w"], ["share", "runs"], {"name", "w"}),
    (None, pd.MultiIndex.from_tuples([("paper", "name"), ("paper", "share")]), {"paper", "name"}),
])
def test_columns_of_words_are_marked(monkeypatch, index, columns, words):
    values = {"name": ["CART", "12 trees", "Gini"], "share": [0.5, -1, 12], "w": ["x", "y", "z"],
              "runs": ["3 of 4", "—", "× 2"], "none": [None, float("nan"), None]}
    if index:
        table = pd.DataFrame(values).set_index(index)[columns]
    elif isinstance(columns, pd.MultiIndex):
        table = pd.DataFrame({pair: values[pair[1]] for pair in columns})
    else:
        table = pd.DataFrame({name: values[name] for name in [*columns, "w"]})
    html = BeautifulSoup(table.to_html(), "html.parser")
    monkeypatch.syspath_prepend(ROOT / "_ext")
    importlib.import_module("book_pages").mark_words(html.table)
    marked = html.select("thead .word")
    assert {cell.text for cell in marked} - {""} == words
    for row in html.select("tbody tr"):
        cells = [cell.text in values["name"] + values["w"] for cell in row.find_all("td")]
        assert [cell.has_attr("class") for cell in row.find_all("td")] == cells


def test_links_to_labels_and_terms_become_roles_and_all_else_stays(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "_ext")
    pages, terms = importlib.import_module("book_pages"), 0
    glossary = (ROOT / "chapters" / "appendices" / "glossary.md").read_text(encoding="utf-8")
    for path in NOTEBOOKS:
        given = path.read_text(encoding="utf-8")
        source = [given]
        pages.read_links(None, path.stem, source)
        for before, after in zip(nbformat.reads(given, 4).cells, nbformat.reads(source[0], 4).cells,
                                 strict=True):
            if before.source == after.source:
                continue
            assert after.cell_type == "markdown"
            for term in re.findall(r"\{term\}`[^`<]+ <([^`]+)>`", after.source):
                assert f"\n{term}\n  " in glossary, term
                terms += 1
        assert not re.search(r"glossary\.md#term-|\]\([\w./]*#(eq|fig|alg|thm?|ex)-", source[0])
    assert terms > 0


def test_plain_sphinx_reads_the_settings_and_extensions_without_jupyter_book(book, monkeypatch):
    build = importlib.import_module("build_book")
    for name in ("_config.yml", "references.bib"):
        shutil.copy(ROOT / name, book.folder)
    (book.folder / "_static").mkdir()
    (book.folder / "intro.md").write_text(
        "# A book\n\n{cite:t}`aghaei2019` has $x^2$.\n\n```{bibliography}\n```\n")
    build.write_conf(folder := book.folder / "_build" / "sphinx")
    settings = (folder / "conf.py").read_text(encoding="utf-8")
    assert not [name for name in build.ITS_OWN if name in settings]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "_ext")]))
    built = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-c", folder, book.folder,
         folder / "html"], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    page = (folder / "html" / "intro.html").read_text(encoding="utf-8")
    assert "Search the book" in page and "et al." in page
