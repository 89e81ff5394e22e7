"""Say under each figure, and each table made from records, how a reader makes it again.

Which records a cell depends on stands in its metadata (see :mod:`odtbook.figure_code`).
"""

from __future__ import annotations

import json
import posixpath
import tomllib
from functools import cache
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.util import logging

from odtbook import figure_code, figure_command
from odtbook.experiments.runner import KERNEL_SECONDS, duration, seconds_of_runs

ROOT = Path(__file__).resolve().parents[1]
EXPERIMENTS = ROOT / "chapters" / "experiments"
logger = logging.getLogger(__name__)


def shows(container):
    """Return "figure" or "table" for what the output of a cell holds, else None."""
    for output in container.findall(nodes.container):
        if output.get("nb_element") != "cell_code_output":
            continue
        if any(output.findall(nodes.image)):
            return "figure"
        for raw in output.findall(nodes.raw):
            if "<table" in raw.astext():
                return "table"
    return None


@cache
def seconds_anew(experiment):
    """Return how long all recorded runs of an experiment took: one stands behind many figures."""
    return sum(seconds_of_runs(experiment).values())


def lines_of(figure, taken):
    """Return the commands that make a figure, each with what it takes; a test runs them.

    ``taken`` has the seconds of figures by name. The last line starts a kernel besides.
    """
    drawing = taken.get(figure.name)
    own = "" if drawing is None else f"# {duration(drawing + KERNEL_SECONDS)}"
    lines = [(f"odt figure {figure.number}", own)]
    if figure.experiments:
        whole = sum(map(seconds_anew, figure.experiments))
        lines.append((f"odt figure {figure.number} --rerun",
                      f"# {duration(whole)}: the records anew"))
    kernel = "" if drawing is None else f"# {duration(drawing + KERNEL_SECONDS)}"
    lines += [(f"odt new mine --from figure:{figure.number}", "# 1 s"), ("odt run mine", kernel)]
    width = max(len(command) for command, _ in lines)
    return [f"{command:{width}}  {said}".rstrip() for command, said in lines]


def fold(kind, page, cell, found, figure=None, taken=()):
    """Return the fold, as HTML, that says how a figure or table is made."""
    name = posixpath.basename(page)
    above = "../" * page.count("/")
    about, anew = [], []
    items = {name for name in found if figure_code.ITEM.fullmatch(name)}
    for experiment in sorted(found - items):
        grid = tomllib.loads((EXPERIMENTS / f"{experiment}.toml").read_text(encoding="utf-8"))
        row = f"running.html#template-{grid['template']}".replace("_", "-")
        table = posixpath.relpath("chapters/experiments", posixpath.dirname(page))
        about.append(f'<a href="{table}/{row}">'
                     f"{escape(experiment)}</a>")
        anew.append(f"odt run {experiment}")
    lines = [f'odt report --claim "{item}"' for item in sorted(items)]
    if figure is not None:
        lines, anew = lines_of(figure, taken) + lines, []
    records = (f", from the records of the experiment{'s' * (len(about) > 1)} {', '.join(about)}"
               if about else "")
    if figure is not None and not found:
        records = ", which computes what it shows"
    commands = f"<pre>{escape(chr(10).join(lines))}</pre>" if lines else ""
    if anew:
        commands += ("<p>The records are in the repository. These commands make others in "
                     "<code>odt-results</code>, and say beforehand how long that takes:</p>"
                     f"<pre>{escape(chr(10).join(anew))}</pre>")
    return (f'<details class="odt-source"><summary>How this {kind} is made</summary>'
            f'<p>By the cell <code>{escape(cell)}</code> of <a href="{above}_sources/{page}.ipynb">'
            f"{escape(name)}.ipynb</a>{records}.</p>{commands}</details>")


def add_folds(app, doctree):
    """Put a fold below each figure, and below each table that depends on records."""
    page = app.env.docname
    file = ROOT / f"{page}.ipynb"
    if not file.exists():
        return
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    figures = {figure.cell: figure for figure in figure_code.figures() if figure.page == file}
    taken = figure_command.seconds()
    for container in doctree.findall(nodes.container):
        if container.get("nb_element") == "cell_code":
            at, kind = container["cell_index"], shows(container)
            if not kind:
                continue
            cell = cells[at]["id"]
            found = set(cells[at]["metadata"].get("odt", {}).get("records", ()))
            if kind == "figure" or found:
                container += nodes.raw("", fold(kind, page, cell, found, figures.get(cell), taken),
                                       format="html")


def compare_numbers(app, env):
    """Warn of a figure that the book numbers in another way than ``odt figure``."""
    for figure in figure_code.figures():
        page = figure.page.relative_to(ROOT).with_suffix("").as_posix()
        here = env.toc_fignumbers.get(page, {}).get("figure", {}).get(nodes.make_id(figure.name))
        if here and ".".join(map(str, here)) != figure.number:
            logger.warning("figure %s: odt figure has the number %s", figure.name, figure.number,
                           location=page)


def setup(app):
    app.connect("env-check-consistency", compare_numbers)
    app.connect("doctree-read", add_folds)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
