"""Show judged claims: as text for the command, as HTML and pictures for the book."""

from __future__ import annotations

import math
import textwrap
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

MARKS = {"confirmed": "✓", "contradicted": "✗", "undecided": "?", "not run": "–", "": "·"}
TINTS = {"confirmed": "#1b7f4d", "contradicted": "#b3261e", "undecided": "#8a6100",
         "not run": "#5f6368"}
COLORS = {"equal": 2, "near": 5, "far": 4}
PANELS = {"statistical": ("accuracies", "published, %", "ours, %"),
          "timing": ("times", "published, seconds", "ours after the size model, seconds"),
          "exact": ("counts and sizes", "published", "ours")}


def sentence(self) -> str:
    """Return the counts of all answers in one sentence."""
    counts = self.counts()
    known = sum(bool(one.reasons) for one in self.claims if one.answer == "contradicted")
    cause = (" (with its cause)" if known == counts["contradicted"] == 1 else
             f" ({known} with a cause)" if known else "")
    return (f"Of the {len(self.claims)} claims that the papers' tables and figures make, our own "
            f"artefacts confirm {counts['confirmed']} and contradict {counts['contradicted']}"
            f"{cause}; {counts['undecided']} are undecided and {counts['not run']} not run.")


def table(self) -> DataFrame:
    """Return the claims as a table, a line each."""
    import pandas as pd
    return pd.DataFrame([{
        "claim": one.name, "paper": _name(one), "item": one.claim.label, "says": one.claim.says,
        "kind": one.claim.kind, "verdict": one.answer, "why": "; ".join(one.reasons)}
        for one in self.claims]).set_index("claim")


def beside(cells):
    """Return cells by row and column: published, ours, and a column per method beside."""
    found = cells.set_index(["row", "column"])[["published", "ours"]]
    others = [other if isinstance(other, dict) else {} for other in cells["beside"]]
    for name in dict.fromkeys(name for other in others for name in other):
        values = [other.get(name, math.nan) for other in others]
        if not all(math.isnan(value) for value in values):
            found[name] = values
    return found


def shown_cells(cells):
    """Return coloured cells as they are shown: published, ours, difference, colour, others."""
    found = beside(cells)
    place = 2
    if (cells["scaled"] - cells["ours"]).abs().max() > 1e-9:
        found.insert(place, "ours, scaled", cells["scaled"].to_numpy())
        place += 1
    found.insert(place, "difference", cells["difference"].to_numpy())
    found.insert(place + 1, "color", cells["color"].to_numpy())
    if cells["noise"].notna().any():
        found.insert(place + 2, "noise", cells["noise"].to_numpy())
    return found.round(3)


def text(self) -> str:
    """Return the report as plain text: the count, then a line per claim."""
    lines = [self.sentence(), ""]
    for one in self.claims:
        lines.append(f"{one.name:4} {MARKS[one.answer]} {one.answer:12} {_name(one)}, "
                     f"{one.claim.label} ({one.claim.kind})")
        said = [one.claim.says]
        if one.answer != "confirmed":
            said += one.reasons
            said.append(str(one.claim.plan))
        for paragraph in said:
            lines += textwrap.wrap(paragraph, 94, initial_indent=" " * 5,
                                   subsequent_indent=" " * 5)
    lines += ["", "`odt report --claim C4` shows everything behind a claim."]
    return "\n".join(lines)


def describe(self, name: str) -> str:
    """Return everything behind one claim as text: parts, intervals, cells, records, command."""
    one = self.find(name)
    claim = one.claim
    lines = [f"{one.name}: {_name(one)}, {claim.label}, {claim.source}",
             *textwrap.wrap(claim.says, 98), f"{claim.kind}: {one.answer}", ""]
    for part in one.parts:
        lines.append(f"{MARKS[part.answer]} {part.says}: {_word(part)}")
        for title, value in (("published", part.published), ("ours", part.ours),
                             ("evidence", part.interval), ("note", part.note)):
            if value:
                lines += textwrap.wrap(f"{title}: {value}", 94, initial_indent=" " * 4,
                                       subsequent_indent=" " * 8)
    cells = self.cells(one)
    if cells is not None:
        counts = cells["color"].value_counts()
        lines += ["", "cells, coloured and not counted: " + ", ".join(
            f"{n} {color}" for color, n in counts.items()), shown_cells(cells).to_string(na_rep="")]
        seeds = cells["df"].dropna()
        if len(seeds):
            lines.append(f"draws behind each cell: {int(seeds.min()) + 1} to "
                         f"{int(min(seeds.max(), 1e3)) + 1}")
    lines += ["", "records: " + (", ".join(one.experiments) or "none"),
              *(f"`odt run {name} --resume`" for name in one.experiments)]
    plan = str(claim.plan)
    if plan:
        lines += textwrap.wrap(f"open: {plan}", 98)
    lines.append(f"page: chapters/{claim.link}")
    return "\n".join(lines)


def html(self, paper: str, root: str = "../") -> str:
    """Return the claims of a paper as an HTML table; ``root`` leads to ``chapters/``."""
    rows = []
    for one in (one for one in self.claims if one.claim.paper == paper):
        page, _, section = one.claim.link.partition("#")
        counted = [part for part in one.parts if part.counts]
        shown = [part for part in counted if part.answer == one.answer] or counted
        first = shown[0]
        numbers = "".join(
            f"<div><b>{title}</b> {escape(value)}</div>" for title, value in (
                ("paper", first.published), ("ours", first.ours), ("", first.interval)) if value)
        inner = "".join(
            f"<li>{MARKS[part.answer]} {escape(part.says)}: <i>{escape(_word(part))}</i>"
            + "".join(f"; {title} {escape(value)}" for title, value in (
                ("paper", part.published), ("ours", part.ours), ("", part.interval)) if value)
            + (f". {_code(part.note)}" if part.note else "") + "</li>" for part in one.parts)
        plan = f"<p>{_code(str(one.claim.plan))}</p>" if one.answer != "confirmed" else ""
        rows.append(
            f'<tr id="{one.name.lower()}"><td><b>{one.name}</b><br>'
            f'<a href="{root}{page}.html#{section}">{one.claim.label}</a></td>'
            f"<td>{escape(one.claim.says)}<details><summary>why</summary><ul>{inner}</ul>{plan}"
            f"</details></td><td>{numbers}</td>"
            f'<td style="color: #fff; background: {TINTS[one.answer]}; white-space: nowrap">'
            f"{MARKS[one.answer]} {one.answer}</td></tr>")
    return ('<div style="overflow-x: auto"><table class="claims"><thead><tr><th>claim</th>'
            "<th>what it says</th><th>first evidence</th><th>verdict</th></tr></thead><tbody>"
            + "".join(rows) + "</tbody></table></div>")


def panels(self) -> Figure:
    """Draw all cells, published against ours, a panel per kind, with the band in which they agree.

    Accuracies in per cent with a band of one point; times in seconds with a band of a factor of
    two, after the size model; counts and sizes on logarithmic axes, where the band is the diagonal.
    """
    import matplotlib.pyplot as plt
    import numpy as np

    from odtlib import plotting
    fig, axes = plt.subplots(3, figsize=(5.2, 11.5), layout="constrained")
    said = []
    for ax, (kind, (title, x, y)) in zip(axes, PANELS.items(), strict=True):
        cells = _drawn(self, kind)
        ink, log = plotting.ink_of(ax), kind != "statistical"
        for color, place in COLORS.items():
            those = cells[cells["color"] == color]
            ax.scatter(those["published"], those["scaled"], s=12, alpha=0.7, lw=0,
                       color=plotting.COLORS[place], label=f"{color} ({len(those)})")
        if len(cells):
            ends = np.array([cells[["published", "scaled"]].min().min(),
                             cells[["published", "scaled"]].max().max()])
            line = np.geomspace(*ends, 50) if log else np.linspace(*ends, 50)
            low, high = ((line / 2, line * 2) if kind == "timing" else
                         (line - 1, line + 1) if kind == "statistical" else (line, line))
            ax.fill_between(line, low, high, color=ink, alpha=0.12, lw=0)
            ax.plot(line, line, color=ink, lw=0.8, zorder=0)
        if log:
            ax.set(xscale="log", yscale="log")
        ax.set(title=title, xlabel=x, ylabel=y)
        ax.legend(fontsize=9.5, frameon=False, loc="upper left")
        counts = cells["color"].value_counts()
        said.append(f"{title}: " + ", ".join(f"{counts.get(c, 0)} {c}" for c in COLORS))
    fig.alt = ("Published numbers against ours, a dot per cell, one panel per kind, with the "
               "diagonal and the band in which both agree. " + "; ".join(said) + ".")
    return fig


def _drawn(self, kind):
    """Return the cells of one panel that are finite and positive on both sides."""
    import numpy as np
    import pandas as pd
    found = []
    for one in self.claims:
        cells = self.cells(one)
        if cells is None or one.claim.item == "F1":     # F1 repeats the means of other tables
            continue
        accuracy = cells["row"].notna() & (one.claim.kind == "statistical") & (
            one.claim.paper in ("firat2020", "patel2023")) & ~cells["column"].str.contains("Gain")
        of = np.where(accuracy, "statistical", np.where(cells["group"] == "seconds", "timing",
                                                        "exact"))
        found.append(cells[of == kind])
    cells = pd.concat(found) if found else pd.DataFrame(
        columns=["published", "scaled", "color"], dtype=float)
    both = cells[["published", "scaled"]].astype(float)
    kept = np.isfinite(both).all(axis=1) & (~cells["quoted"].astype(bool) if len(cells) else True)
    return cells[kept & ((both > 0).all(axis=1))]


def markdown(self) -> str:
    """Return the whole report as Markdown: the count, the claims, and all behind them."""
    lines = ["# Replication report", "", self.sentence(), "", *_markdown_table(self.table()), ""]
    for one in self.claims:
        lines += [f"## {one.name}", "", "```", self.describe(one.name), "```", ""]
    return "\n".join(lines)


def _name(one):
    from .report import PAPERS
    return PAPERS[one.claim.paper].name


def _word(part):
    answer = part.label or part.answer or "a remark"
    return answer if part.counts or not part.answer else f"{answer}, beside the claim"


def _code(words):
    """Return text as HTML, with what stands between backticks as code."""
    pieces = escape(words).split("`")
    return "".join(f"<code>{piece}</code>" if place % 2 else piece
                   for place, piece in enumerate(pieces))


def _markdown_table(frame):
    frame = frame.reset_index()
    rows = [list(map(str, frame.columns)), ["---"] * frame.shape[1],
            *([str(value).replace("|", "\\|") for value in line]
              for line in frame.to_numpy(object))]
    return ["| " + " | ".join(line) + " |" for line in rows]


