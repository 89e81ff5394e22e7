"""Show judged claims: as text for the command, as HTML and pictures for the book."""

from __future__ import annotations

import math
import textwrap
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKS = {"confirmed": "✓", "contradicted": "✗", "undecided": "?", "not run": "–", "": "·"}
TINTS = {"confirmed": "#1b7f4d", "contradicted": "#b3261e", "undecided": "#8a6100",
         "not run": "#5f6368"}
# where a dot lies -> its mark, and its colour in odtlib.plotting.COLORS
PLACES = {"in the band": ("o", 2), "outside, by chance or rounding": ("s", 0), "outside": ("^", 1)}
# kind -> title, what is drawn to the right, upwards, the band
PANELS = {
    "statistical": ("accuracies", "published accuracy, %", "ours minus published,\npoints",
                    (-1, 1)),
    "timing": ("times", "published time, seconds", "our time / published,\nafter the size model",
               (0.5, 2)),
    "exact": ("counts, sizes and errors", "published number", "ours / published", (0.96, 1.04))}


def sentence(self) -> str:
    """Return the counts of all answers in one sentence."""
    counts = self.counts()
    known = sum(bool(one.reasons) for one in self.claims if one.answer == "contradicted")
    cause = f", {known} of them with a cause" if known else ""
    return (f"Of the {len(self.claims)} claims that the papers' tables and figures make, our own "
            f"artefacts confirm {counts['confirmed']} and contradict {counts['contradicted']}"
            f"{cause}; {counts['undecided']} are undecided and {counts['not run']} not run.")


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
        lines.append(f"{one.name:4} {MARKS[one.answer]} {one.answer:12} {one.claim.authors}, "
                     f"{one.claim.label} ({one.claim.kind})")
        said = [one.claim.says]
        if one.answer != "confirmed":
            said += [*one.reasons, _open(one)]
        for paragraph in said:
            lines += textwrap.wrap(paragraph, 94, initial_indent=" " * 5,
                                   subsequent_indent=" " * 5)
    lines += ["", "`odt report --claim C4` shows everything behind a claim."]
    return "\n".join(lines)


def describe(self, name: str) -> str:
    """Return everything behind one claim as text: parts, intervals, cells, records, command."""
    one = self.find(name)
    claim = one.claim
    lines = [f"{one.name}: {one.claim.authors}, {claim.label}, {claim.source}",
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
        against = [*(one.reasons if one.answer != "confirmed" else ()), _open(one)]
        plan = "".join(f"<div><i>{_code(reason)}</i></div>" for reason in against if reason)
        rows.append(
            f'<tr id="{one.name.lower()}"><td><b>{one.name}</b><br>'
            f'<a href="{root}{page}.html#{section}">{one.claim.label}</a></td>'
            f"<td>{escape(one.claim.says)}{plan}<details><summary>why</summary><ul>{inner}</ul>"
            f"</details></td><td>{numbers}</td>"
            f'<td style="color: #fff; background: {TINTS[one.answer]}; white-space: nowrap">'
            f"{MARKS[one.answer]} {one.answer}</td></tr>")
    rows = "".join(rows).replace("<td", '<td class="word" valign="top"').replace(
        "<tr", '<tr style="border-top: 1px solid"')
    head = "".join(f'<th style="width: {width}%">{title}</th>' for title, width in (
        ("claim", 11), ("what it says", 44), ("paper and ours", 28), ("verdict", 17)))
    # fixed widths, so that a long command wraps; narrower than a screen the table scrolls
    return ('<div style="overflow-x: auto"><table class="dataframe" cellpadding="6" '
            'style="table-layout: fixed; width: 100%; min-width: 40em; overflow-wrap: anywhere">'
            f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>")


def panels(self) -> Figure:
    """Draw how far ours is from every published cell, a panel per kind, with a band.

    Upwards stands the difference of accuracies, with a band of one point; the ratio of times after
    the size model, with a band of a factor of two; the ratio of counts, sizes and errors, with a
    band of 4 %.  What lies outside the axes is put on their edge.  A dot outside the band is there
    by chance or rounding if ours has the digits printed, or is within two standard deviations of a
    draw.
    """
    import matplotlib.pyplot as plt

    from odtlib import plotting
    fig, axes = plt.subplots(3, figsize=(5.2, 8.6), layout="constrained")
    said = []
    for ax, (kind, (title, x, y, band)) in zip(axes, PANELS.items(), strict=True):
        cells, points = _drawn(self, kind), kind == "statistical"
        ours = (cells["difference"] if points else cells["scaled"] / cells["published"]).clip(
            *((-5, 5) if points else (0.1, 10) if kind == "timing" else (0.5, 2)))
        inside = ours.between(*band)
        ink = plotting.ink_of(ax)
        ax.axhspan(*band, color=ink, alpha=0.12, lw=0)
        ax.axhline(0 if points else 1, color=ink, lw=0.8)
        chance = ~inside & (cells["color"] != "far")
        for those, (place, (mark, color)) in zip(
                (inside, chance, ~inside & ~chance), PLACES.items(), strict=True):
            ax.scatter(cells["published"][those], ours[those], s=16, alpha=0.7, lw=0, marker=mark,
                       color=plotting.COLORS[color], label=place)
        ax.set(title=f"{title}: {inside.sum()} of {len(cells)} in the band", xlabel=x, ylabel=y)
        if not points:
            ax.set(xscale="log", yscale="log")
            ticks = (0.1, 0.5, 1, 2, 10) if kind == "timing" else (0.5, 0.8, 1, 1.25, 2)
            ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
            ax.minorticks_off()
        said.append(f"{title}: {inside.sum()} of {len(cells)}")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2,
               frameon=False)
    fig.alt = ("How far our numbers are from the published ones, a dot per cell, one panel per "
               "kind, with the band in which both agree. In the band: " + "; ".join(said) + ".")
    return fig


def _drawn(self, kind):
    """Return the cells of one panel that are finite and positive on both sides."""
    import numpy as np
    import pandas as pd
    found = []
    for one in self.claims:
        cells = self.cells(one)
        # Figure 1 of Firat et al. repeats means, a gain is a difference of two other cells, and
        # Table 1 and Figure 3 of Birbil et al. print limits and p-values
        if cells is None or f"{one.claim.paper} {one.claim.item}" in (
                "firat2020 F1", "birbil2024 T1", "birbil2024 F3"):
            continue
        cells = cells[~cells["column"].str.contains("Gain") & ~cells["quoted"]]
        accuracy = one.claim.kind == "statistical" and one.claim.paper in (
            "firat2020", "patel2023")
        of = np.where(cells["group"] == "seconds", "timing",
                      "statistical" if accuracy else "exact")
        found.append(cells[of == kind])
    cells = pd.concat(found) if found else pd.DataFrame(
        columns=["published", "scaled", "difference", "color"], dtype=float)
    both = cells[["published", "scaled"]].astype(float)
    return cells[np.isfinite(both).all(axis=1) & (both > 0).all(axis=1)]


def _open(one):
    """Return what would decide a claim that is not decided."""
    return str(one.claim.plan) if one.answer in ("undecided", "not run") else ""


def _word(part):
    answer = part.label or part.answer or "a remark"
    return answer if part.counts or not part.answer else f"{answer}, beside the claim"


def _code(words):
    """Return text as HTML, with what stands between backticks as code."""
    pieces = escape(words).split("`")
    return "".join(f'<code style="white-space: normal">{piece}</code>' if place % 2 else piece
                   for place, piece in enumerate(pieces))

