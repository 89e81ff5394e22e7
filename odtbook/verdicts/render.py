"""Show verdicts: as tables, as text for the command, as HTML and a picture for the book."""

from __future__ import annotations

import json
import math
import re
import textwrap
from html import escape
from typing import TYPE_CHECKING

from odtbook.experiments.book import book_root

from .papers import name_of
from .rules import VERDICTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

MARKS = dict(zip(VERDICTS, "✓≈≠–", strict=True))


def counts(self, which: str = "items") -> dict[str, int]:
    """Return how often each verdict was given, in their order."""
    return {verdict: sum(result.verdict == verdict for result in getattr(self, which))
            for verdict in VERDICTS}


def _said(self, which):
    return ", ".join(f"{n} {verdict}" for verdict, n in self.counts(which).items())


def table(self, paper: str | None = None) -> DataFrame:
    """Return the items as a table: verdict, cells that agree, reason; of one paper or of all."""
    import pandas as pd
    return pd.DataFrame([{
        "item": f"{name_of(r.paper)}, {r.label}", "shows": r.title, "verdict": r.verdict,
        "agree": f"{r.judgement.agreeing} of {r.judgement.printed}",
        "with a counterpart": r.judgement.compared, "because": r.because}
        for r in self.items if paper in (None, r.paper)]).set_index("item")


def claims(self, paper: str | None = None) -> DataFrame:
    """Return the statements as a table, of one paper or of all."""
    import pandas as pd
    return pd.DataFrame([{
        "claim": r.key, "section": r.label, "says": r.title, "published": r.published,
        "by its own tables": r.by_tables, "ours": r.ours, "by a substitute": r.beside,
        "verdict": r.verdict, "because": r.because} for r in self.statements
        if paper in (None, r.paper)]).set_index("claim")


def missing(self) -> DataFrame:
    """Return the items with cells, or statements, that no record of ours answers."""
    import pandas as pd
    lines = []
    for result in self.items:
        judged = result.judgement
        if judged.compared < judged.printed:
            where = ""
            if result.cells is not None:
                gaps = result.cells[result.cells["ours"].isna()]
                where = "; ".join(dict.fromkeys(gaps["column"]))
                if gaps["row"].nunique() < result.cells["row"].nunique() / 2:
                    where += " of " + ", ".join(dict.fromkeys(gaps["row"]))
            lines.append({"item": f"{name_of(result.paper)}, {result.label}",
                          "without a counterpart": judged.printed - judged.compared,
                          "of": judged.printed, "where": where})
    return pd.DataFrame(lines, columns=[
        "item", "without a counterpart", "of", "where"]).set_index("item")


def beside(cells):
    """Return cells by row and column: published, ours, and a column per method beside."""
    found = cells.set_index(["row", "column"])[["published", "ours"]]
    others = [other if isinstance(other, dict) else {} for other in cells["beside"]]
    for name in dict.fromkeys(name for other in others for name in other):
        values = [other.get(name, math.nan) for other in others]
        if not all(math.isnan(value) for value in values):
            found[name] = values
    return found


def shown_cells(result, *, agreeing=False):
    """Return the cells of an item as they are shown: published, ours, difference, others beside."""
    cells = result.cells
    found = beside(cells)
    found.insert(2, "difference", cells["difference"].to_numpy())
    if result.judgement.scale != 1:
        found.insert(2, "ours, scaled", cells["scaled"].to_numpy())
    if cells["spread"].notna().any():
        found.insert(list(found).index("difference") + 1, "spread of seeds",
                     cells["spread"].to_numpy())
    found.insert(list(found).index("difference") + 1, "agrees", cells["agrees"].to_numpy())
    found = found.round(3)
    return found if agreeing else found[found["agrees"] != "yes"]


def describe(self, name: str) -> str:
    """Return one item cell by cell, or one claim, as text; ``name`` as for ``find``."""
    result = self.find(name)
    lines = [f"{name_of(result.paper)}, {result.label}: {result.title}",
             f"{result.verdict}, {result.judgement.agreeing} of {result.judgement.printed}"]
    if result.because:
        lines.append(f"because: {result.because}")
    if result.cells is not None:
        lines += [f"tolerance: {result.tolerance}",
                  shown_cells(result, agreeing=True).to_string(na_rep="")]
    for other in self.statements:
        if f"{other.paper} {other.item}" == result.key or other is result:
            lines.append(f"{other.key}: {other.title}; paper {other.published or '-'}, by its "
                         f"own tables {other.by_tables or '-'}, ours {other.ours or '-'}, by a "
                         f"substitute {other.beside or '-'}: {other.verdict}")
    return "\n".join(lines)


def text(self, *, claims: bool = False) -> str:
    """Return the report as plain text: the counts, then a line per item, and per claim if asked."""
    lines = []
    for title, which in (("tables and figures", "items"),
                         ("statements of the texts", "statements")):
        results = getattr(self, which)
        lines.append(f"{len(results)} {title}: {_said(self, which)}")
        if which == "statements" and not claims:
            continue
        for result in results:
            judged = result.judgement
            name = f"{name_of(result.paper)}, {result.label}" if which == "items" else result.key
            said = f"{judged.agreeing} of {judged.printed}" if which == "items" else "; ".join(
                filter(None, (result.title, result.published and f"paper {result.published}",
                              result.ours and f"ours {result.ours}",
                              result.beside and f"by a substitute {result.beside}")))
            lines.append(f"  {name:32} {result.verdict:12} {said}")
            if result.because:
                lines += textwrap.wrap(result.because, 96, initial_indent=" " * 8,
                                       subsequent_indent=" " * 8)
    lines.append(f"{len(self.listed)} settings, quotations, formulas and open questions are listed "
                 "in data/published/claims.csv without a verdict")
    return "\n".join(lines)


# ------------------------------------------------------------------ for the book


def picture(self, paper: str) -> Axes:
    """Draw all cells of a paper, published against ours, one dot per cell, by verdict.

    The unit is the range of the published column, so that accuracies, times and counts fit one
    picture; times are scaled as they are judged, and dots outside are put on the edge.  Cells
    without a counterpart stand in a line below.
    """
    import numpy as np
    import pandas as pd

    from odtlib import plotting
    columns = ["table", "column", "published", "scaled", "agrees"]
    parts = [result.cells.assign(table=result.label)[columns]
             for result in self.items if result.paper == paper and result.cells is not None]
    if not parts:
        return None
    cells = pd.concat(parts, ignore_index=True)
    cells = cells[np.isfinite(cells["published"])]
    of = cells.groupby(["table", cells["column"]])["published"]
    least, most = of.transform("min"), of.transform("max")
    unit = (most - least).where(most > least, 2 * most.where(most > 0, 1.0))
    least = least.where(most > least, 0.0)
    x, y = (cells["published"] - least) / unit, (cells["scaled"] - least) / unit
    ax = plotting.new_axes((5.2, 4.2))
    colors = {"yes": plotting.COLORS[2], "within noise": plotting.COLORS[5],
              "no": plotting.COLORS[4], "no counterpart": plotting.COLORS[7]}
    ax.plot([0, 1], [0, 1], lw=0.8, color=plotting.ink_of(ax), zorder=0)
    said = []
    for verdict, color in colors.items():
        those = cells["agrees"] == verdict
        height = y[those].replace(math.inf, 9.0).clip(-0.15, 1.2)
        if verdict == "no counterpart":
            height = height.fillna(-0.22)
        label = {"yes": "agrees", "no": "differs"}.get(verdict, verdict)
        ax.scatter(x[those], height, s=12, color=color, alpha=0.7, lw=0,
                   label=f"{label} ({those.sum()})")
        said.append(f"{those.sum()} {label}")
    ax.set(xlabel="published, from the least to the most of its column", ylabel="ours, same unit",
           xlim=(-0.05, 1.05), ylim=(-0.27, 1.25))
    ax.legend(fontsize=9.5, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
    ax.alt = (f"All {len(cells)} printed cells of {name_of(paper)}, published against ours as "
              f"published: {', '.join(said)}. Cells on the diagonal agree.")
    return ax


def html(self, paper: str) -> str:
    """Return the items of a paper as HTML: a line each that unfolds to cells and statements.

    Links are relative to a page in ``chapters/appendices``.
    """
    parts = []
    for result in (r for r in self.items if r.paper == paper):
        said = [r for r in self.statements if f"{r.paper} {r.item}" == result.key]
        inner = [f'<p>Our counterpart: <a href="../{result.page}.html">'
                 f"{escape(_title(result.page))}</a>.</p>"]
        if result.because:
            inner.append(f"<p>{_code(escape(_sentence(result.because)))}</p>")
        if result.cells is not None:
            cells = shown_cells(result)
            inner.append(f"<p>Tolerance of a cell: {escape(str(result.tolerance))}. "
                         + ("The cell that does not agree:</p>" if len(cells) == 1 else
                            f"The {len(cells)} cells that do not agree or have no counterpart:</p>"
                            if len(cells) else "All cells agree.</p>"))
            if len(cells):
                inner.append(_html_table(cells.reset_index()))
        if said:
            inner += ["<p>What the text says of it:</p>", _html_table(_statement_table(said))]
        judged = result.judgement
        what = "cells" if result.cells is not None else "statements"
        parts.append(_folded(
            f"<strong>{result.label}</strong>, {escape(result.title)}: "
            f"<em>{MARKS[result.verdict]} {result.verdict}</em>, "
            f"{judged.agreeing} of {judged.printed} {what}", "".join(inner)))
    shown = {item.key for item in self.items}
    rest = [r for r in self.statements if r.paper == paper and f"{r.paper} {r.item}" not in shown]
    if rest:
        parts.append(_folded(f"<strong>Other statements</strong>: {len(rest)}",
                             _html_table(_statement_table(rest))))
    listed = self.listed[self.listed["paper"] == paper]
    if len(listed):
        columns = ["section", "kind", "wording", "value", "unit"]
        parts.append(_folded(f"<strong>Without a verdict</strong>: {len(listed)} settings, "
                             "quotations, formulas and open questions",
                             _html_table(listed[columns].fillna(""))))
    return "\n".join(parts)


def markdown(self) -> str:
    """Return the whole report as Markdown: counts, items, cells that differ, statements."""
    lines = ["# Reproduction report", "",
             f"**Tables and figures:** {_said(self, 'items')}.", "",
             f"**Statements:** {_said(self, 'statements')}.", ""]
    for title, of in (("Tables and figures", self.table()), ("Statements", self.claims())):
        lines += [f"## {title}", "", *_markdown_table(of), ""]
    for result in self.items:
        if result.cells is not None:
            lines += [f"## {name_of(result.paper)}, {result.label}", "",
                      *_markdown_table(shown_cells(result, agreeing=True)), ""]
    return "\n".join(lines)


def _title(page):
    """Return the heading of a page of the book, by its file; the name where there is no file."""
    file = book_root() / "chapters" / f"{page}.ipynb"
    if not file.exists():
        return page
    lines = "".join(json.loads(file.read_text(encoding="utf-8"))["cells"][0]["source"]).splitlines()
    return next(line[2:] for line in lines if line.startswith("# "))


def _sentence(reason):
    return reason[0].upper() + reason[1:] + ("" if reason.endswith(".") else ".")


def _statement_table(results):
    import pandas as pd
    return pd.DataFrame([{
        "section": r.label, "the text says": r.title, "paper": r.published,
        "by its own tables": r.by_tables, "ours": r.ours, "by a substitute": r.beside,
        "verdict": f"{MARKS[r.verdict]} {r.verdict}", "because": r.because} for r in results])


def _html_table(frame):
    import pandas as pd
    with pd.option_context("display.max_colwidth", None):
        table = frame.to_html(index=False, na_rep="", border=0)
    # A dash, as papers print it, where a time limit left no number.
    table = re.sub(r">\s*inf<", ">—<", _code(table))
    return f'<div style="overflow-x: auto">{table}</div>'


def _code(text):
    """Mark what stands between backticks as code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", text)


def _folded(summary, inner):
    return (f'<details style="margin: 0.4em 0"><summary>{summary}</summary>'
            f'<div style="padding-left: 1em">{inner}</div></details>')


def _markdown_table(frame):
    frame = frame.reset_index()
    rows = [list(map(str, frame.columns)), ["---"] * frame.shape[1],
            *([_plain(value) for value in line] for line in frame.to_numpy(object))]
    return ["| " + " | ".join(line) + " |" for line in rows]


def _plain(value):
    if isinstance(value, float):
        return "" if math.isnan(value) else "—" if math.isinf(value) else f"{value:g}"
    return str(value).replace("|", "\\|")
