"""The figures of the book: where each stands, and the cells of its page that draw it.

A cell of a notebook says in its metadata, under ``odt``, by the ids of cells what it ``needs`` of
those above it, and the ``records`` that it shows: experiments, and published tables and figures.
"""

from __future__ import annotations

import ast
import contextlib
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from odtbook.experiments.book import book_root
from odtbook.experiments.records import COLUMNS
from odtbook.experiments.templates import code_cell, read_notebook
from odtbook.tables.words import suggestion

PLAIN = (bool, int, float, str)
ITEM = re.compile(r"[a-z]+\d{4} [TF]\d+\w*")     # a published table or figure: "firat2020 T7"


@dataclass(frozen=True)
class Figure:
    """A figure of the book: the cell of a notebook that draws it.

    ``number`` is that of the built book, as in "Fig. 5.4", or "Fig. 3" outside its chapters.
    """

    name: str
    number: str
    page: Path
    cell: str
    caption: str
    needs: tuple[str, ...]
    sources: frozenset[str]

    @cached_property
    def cells(self):
        """The cells that draw it, its own last."""
        wanted = {*self.needs, self.cell}
        return [cell for cell in read_notebook(self.page)["cells"] if cell["id"] in wanted]

    @property
    def experiments(self):
        """The experiments whose records it is drawn from, sorted."""
        return sorted(name for name in self.sources if not ITEM.fullmatch(name))

    @cached_property
    def parameters(self):
        """The plain values that its cells give a name once, and read, by that name."""
        trees = list(map(_parsed, self.cells))
        names = [part for tree in trees for part in ast.walk(tree) if isinstance(part, ast.Name)]
        stored = [name.id for name in names if isinstance(name.ctx, ast.Store)]
        read = {name.id for name in names if isinstance(name.ctx, ast.Load)}
        return {_assigned(s): ast.literal_eval(s.value) for tree in trees for s in tree.body
                if _assigned(s) in read - {*COLUMNS} and stored.count(_assigned(s)) == 1}

    def notebook(self):
        """Return a notebook that draws it: a cell of its parameters, and the cells of the page."""
        cells = []
        for cell in self.cells:
            lines = "".join(cell["source"]).splitlines()
            for statement in _parsed(cell).body:
                if _assigned(statement) in self.parameters:
                    lines[statement.lineno - 1:statement.end_lineno] = [
                        None for _ in range(statement.lineno, statement.end_lineno + 1)]
            if source := "\n".join(line for line in lines if line is not None).strip():
                cells.append(code_cell(cell["id"], source))
        about = {"cell_type": "markdown", "id": "title", "metadata": {}, "source":
                 f"# Figure {self.number}\n\n{self.caption}\n\nFrom `{self.page.name}`."}
        values = "\n".join(f"{name} = {value!r}" for name, value in self.parameters.items())
        return {**read_notebook(self.page), "cells": [
            about, code_cell("figure-parameters", values or "seed = 0", ["parameters"]), *cells]}


def _parsed(cell):
    """Return the statements of a cell, whose magics count as empty lines."""
    return ast.parse(re.sub(r"(?m)^[%!].*", "", "".join(cell["source"])))


def _assigned(statement):
    """Return the one name to which a statement assigns a plain value, or None."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        with contextlib.suppress(AttributeError, ValueError):
            if isinstance(ast.literal_eval(statement.value), PLAIN):
                return statement.targets[0].id
    return None


def figures():
    """Return the figures of the book, in its order.

    The order is that of the menu, ``_toc.yml``. A figure has the number of its chapter's file and
    its place in the chapter and the pages that follow it; outside chapters, its place alone.
    """
    found, counts = [], {}
    for chapter, page in pages():
        for cell in read_notebook(page)["cells"]:
            figure = cell["metadata"].get("mystnb", {}).get("figure")
            if figure:
                counts[chapter] = counts.get(chapter, 0) + 1
                number = f"{chapter}.{counts[chapter]}" if chapter else f"{counts[chapter]}"
                about = cell["metadata"].get("odt", {})
                found.append(Figure(figure["name"], number, page, cell["id"], figure["caption"],
                                    tuple(about.get("needs", ())),
                                    frozenset(about.get("records", ()))))
    return found


def pages():
    """Return pairs (number of the chapter or None, notebook) in the order of the menu.

    A page without a number counts with the chapter before it in the same part.
    """
    root, found, chapter = book_root(), [], None
    for line in (root / "_toc.yml").read_text(encoding="utf-8").splitlines():
        match = re.match(r"(root: | +- file: | +- caption: )(\S+)", line)
        if match and "caption" in match[1]:
            chapter = None
        elif match:
            own = re.match(r"chapters/(\d+)_", match[2])
            chapter = int(own[1]) if own else chapter
            file = root / f"{match[2]}.ipynb"
            if file.is_file():
                found.append((chapter, file))
    return found


def find(wanted):
    """Return the figure with a number ("5.4") or name ("fig-ch5-switches", or "ch5-switches")."""
    known = {key: figure for figure in figures()
             for key in (figure.number, figure.name, figure.name.removeprefix("fig-"))}
    figure = known.get(re.sub(r"(?i)^fig(ure)?[. ]+", "", wanted))
    if figure is None:
        raise ValueError(f"the book has no figure {wanted!r}{suggestion(wanted, known)}; "
                         "`odt figure` lists all.")
    return figure
