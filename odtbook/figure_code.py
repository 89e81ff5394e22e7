"""The figures of the book: where each stands, and the program that draws it."""

from __future__ import annotations

import ast
import contextlib
import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from odtbook.dependence import ITEM, Program, code_of
from odtbook.experiments.book import book_root, suggestion

PLAIN = (bool, int, float, str)


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

    @cached_property
    def notebook(self):
        """Its page as it is stored."""
        return json.loads(self.page.read_text(encoding="utf-8"))

    @cached_property
    def code(self):
        """The cells of its notebook."""
        return code_of(self.notebook)

    @cached_property
    def at(self):
        """The number of its cell."""
        return [cell.get("id") for cell in self.notebook["cells"]].index(self.cell)

    @cached_property
    def program(self):
        """Pairs (number of the cell, statement): what draws it."""
        return Program(self.code).behind(self.at)

    @cached_property
    def sources(self):
        """The experiments and published tables that it is drawn from."""
        return Program(self.code).sources(self.at)

    @property
    def experiments(self):
        """The experiments whose records it is drawn from, sorted."""
        return sorted(name for name in self.sources if not ITEM.fullmatch(name))

    @cached_property
    def parameters(self):
        """The plain values that its program gives a name once, by that name."""
        found, seen = {}, []
        for _, statement in self.program:
            seen += [part.id for part in ast.walk(statement)
                     if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]
            name = assigned(statement)
            if name:
                with contextlib.suppress(ValueError):
                    value = ast.literal_eval(statement.value)
                    if isinstance(value, PLAIN):
                        found[name] = value
        return {name: value for name, value in found.items() if seen.count(name) == 1}


def assigned(statement):
    """Return the one name that a statement assigns to, or None."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 \
            and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    return None


def figures():
    """Return the figures of the book, in its order.

    The order is that of the menu, ``_toc.yml``. A figure has the number of its chapter's file and
    its place in the chapter and the pages below it; outside chapters, its place alone.
    """
    found, counts = [], {}
    for page in pages():
        chapter = page[0]
        for cell in json.loads(page[1].read_text(encoding="utf-8"))["cells"]:
            figure = cell["metadata"].get("mystnb", {}).get("figure")
            if figure:
                counts[chapter] = counts.get(chapter, 0) + 1
                number = f"{chapter}.{counts[chapter]}" if chapter else f"{counts[chapter]}"
                found.append(Figure(figure["name"], number, page[1], cell["id"],
                                    figure["caption"]))
    return found


def pages():
    """Return pairs (number of the chapter or None, notebook) in the order of the menu."""
    root, found, chapter = book_root(), [], None
    for line in (root / "_toc.yml").read_text(encoding="utf-8").splitlines():
        match = re.match(r"(root: | +- file: )(\S+)", line)
        if match:
            own = re.match(r"chapters/(\d+)_", match[2])
            below = match[1].startswith(" " * 10)
            chapter = int(own[1]) if own else chapter if below else None
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
