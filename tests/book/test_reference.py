"""Every public name has its entry on one page of the reference, and pages exist for all modules."""

import importlib
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from book.test_taught import MODULES

import odtlib

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def pages():
    sys.path.insert(0, str(ROOT / "_ext"))
    return importlib.import_module("book_pages")


def entries(pages, module):
    return re.findall(r"^\.\. auto\w+:: (\S+)$", pages.reference_page(module), re.MULTILINE)


def test_every_public_name_is_on_one_page(pages):
    found = [name for module in pages.REFERENCE for name in entries(pages, module)]
    assert len(found) == len(set(found))
    public = {f"odtlib.{name}" for name in odtlib._HOME}
    for module in set(MODULES) - {"odtlib"}:
        home = importlib.import_module(module)
        public |= {f"{module}.{name}" for name in home.__all__
                   if name not in odtlib._HOME and not isinstance(getattr(home, name), type(re))}
    assert public <= set(found), public - set(found)
    assert {"odtbook.tables.read_table", "odtbook.check_certificate.NotProved",
            "odtlib.certificate.OptimalityCertificate", "odtbook.exercises.check"} <= set(found)
    for name in found:
        module, _, attribute = name.rpartition(".")
        assert getattr(importlib.import_module(module), attribute) is not None


def test_the_pages_are_written_and_stay_out_of_the_menu(pages, tmp_path):
    folder = tmp_path / pages.PAGES
    folder.mkdir(parents=True)
    folder.with_suffix(".md").write_text("")
    (folder / "gone.md").write_text("")
    config = SimpleNamespace(exclude_patterns=[f"{pages.PAGES}/odtlib.tree.md", "kept.md"])
    pages.write_reference(SimpleNamespace(srcdir=tmp_path), config)
    assert {path.stem for path in folder.iterdir()} == set(pages.REFERENCE)
    assert config.exclude_patterns == ["kept.md"]
    assert all(path.read_text().startswith("---\norphan: true") for path in folder.iterdir())
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    pages.write_reference(SimpleNamespace(srcdir=tmp_path), config)
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before
    assert "api/" not in (ROOT / "_toc.yml").read_text()


def test_the_first_mention_on_a_page_leads_to_the_reference(pages):
    from docutils import nodes
    from docutils.utils import new_document
    from sphinx import addnodes
    doctree = new_document("page")
    title = nodes.title("", "", nodes.literal(text="MurTreeClassifier"))
    linked = nodes.reference("", "", nodes.literal(text="MurTreeClassifier"), refuri="x")
    words = ["MurTreeClassifier", "odtlib.MurTreeClassifier", "max_depth", "SolveReport",
             "odtbook.tables.read_table"]
    doctree += [title, nodes.paragraph("", "", linked), *(
        nodes.paragraph("", "", nodes.literal(text=word)) for word in words)]
    app = SimpleNamespace(env=SimpleNamespace(docname="chapters/05_murtree"))
    pages.link_names(app, doctree)
    found = [(link["reftarget"], link.astext()) for link in doctree.findall(addnodes.pending_xref)]
    assert found == [("odtlib.MurTreeClassifier", "MurTreeClassifier"),
                     ("odtlib.SolveReport", "SolveReport"),
                     ("odtbook.tables.read_table", "odtbook.tables.read_table")]
    assert set(pages.entries().values()) == {name for module in pages.REFERENCE
                                             for name in entries(pages, module)}
