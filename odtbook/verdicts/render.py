"""Show judged claims: as text for the command, as HTML and pictures for the book."""

from __future__ import annotations

import textwrap
from html import escape
from typing import TYPE_CHECKING

from .rules import ITSELF

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKS = {"confirmed": "✓", "in part": "½", "contradicted": "✗", "undecided": "?", "not run": "–",
         ITSELF: "≠", "": "·"}
TINTS = {"confirmed": "#1b7f4d", "in part": "#2f6690", "contradicted": "#b3261e",
         "undecided": "#8a6100", "not run": "#5f6368", ITSELF: "#5f6368"}
# where a dot lies -> its mark, and its colour in odtlib.plotting.COLORS
PLACES = {"in the band": ("o", 2), "outside, by chance or rounding": ("s", 0), "outside": ("^", 1)}
# kind -> title, what is drawn to the right, upwards, the band, the ticks from edge to edge
PANELS = {
    "statistical": ("accuracies", "published accuracy, %", "ours minus published,\npoints",
                    (-1, 1), (-5, 5)),
    "timing": ("times", "published time, seconds", "our time / published,\nafter the size model",
               (0.5, 2), (0.1, 0.5, 1, 2, 10)),
    "exact": ("counts, sizes and errors", "published number", "ours / published", (0.96, 1.04),
              (0.5, 0.8, 1, 1.25, 2))}


def sentence(self) -> str:
    """Return the counts of all answers in one sentence."""
    counts = self.counts()
    return (f"Of the {len(self.claims)} claims that the papers make by a table, a figure or in an "
            f"abstract, our own runs confirm {counts['confirmed']} and contradict "
            f"{counts['contradicted']}; {counts['in part']} are confirmed in part, "
            f"{counts['undecided']} undecided and {counts['not run']} not run.")


def beside(cells):
    """Return cells by row and column: published, ours, and a column per method beside."""
    import pandas as pd
    found = cells.set_index(["row", "column"])[["published", "ours"]]
    others = pd.DataFrame([other if isinstance(other, dict) else {} for other in cells["beside"]],
                          index=found.index)
    return pd.concat([found, others.dropna(axis="columns", how="all")], axis="columns")


def shown_cells(cells):
    """Return coloured cells as they are shown: published, ours, difference, colour, others."""
    found = beside(cells)
    further = {"difference": cells["difference"], "color": cells["color"]}
    if (cells["scaled"] - cells["ours"]).abs().max() > 1e-9:
        further = {"ours, scaled": cells["scaled"], **further}
    if cells["noise"].notna().any():
        further["noise"] = cells["noise"]
    for place, (name, values) in enumerate(further.items(), start=2):
        found.insert(place, name, values.to_numpy())
    return found.round(3)


def _papers(self):
    """Return the claims by paper: (name, claims) each."""
    names = dict.fromkeys(one.claim.authors for one in self.claims)
    return [(name, [one for one in self.claims if one.claim.authors == name]) for name in names]


def _open_ones(self):
    """Return claim and statement where our runs contradict, then where they do not decide."""
    return [(one, statement) for answers in (("contradicted",), ("undecided", "not run"))
            for one in self.claims for statement in one.statements if statement.answer in answers]


def _said(statement):
    """Return what the answer to a statement rests on, in one sentence."""
    part = statement.first
    sides = [f"{title} {value}" for title, value in (
        ("paper", part.published), ("ours", part.ours), ("", part.interval)) if value]
    return "; ".join([f"{part.says}: {statement.answer}", *(side.strip() for side in sides),
                      *statement.reasons[:1]]) + "."


def text(self) -> str:
    """Return the report as plain text: the count, the claims by paper, what is open, the rows."""
    lines = [self.sentence(), ""]
    for name, claims in _papers(self):
        lines += textwrap.wrap(f"{name}: " + ", ".join(
            f"{one.name}\xa0{MARKS[one.answer]}\xa0{one.answer.replace(' ', chr(160))}"
            for one in claims), 98, subsequent_indent="    ")
    lines.append("")
    for one, statement in _open_ones(self):
        lines += textwrap.wrap(
            f"{MARKS[statement.answer]} {statement.name}, {one.claim.authors}, {one.claim.label}: "
            f"“{statement.words['quote']}”. {_said(statement)}", 98, subsequent_indent="    ")
    for one in self.claims:
        lines += ["", f"{one.name:4} {MARKS[one.answer]} {one.answer:12} {one.claim.authors}, "
                  f"{one.claim.label}"]
        for statement in one.statements:
            lines += textwrap.wrap(
                f"{MARKS[statement.answer]} {statement.name}: “{statement.words['quote']}” "
                f"({statement.words['where']}): {statement.answer}", 94,
                initial_indent=" " * 4, subsequent_indent=" " * 6)
        lines += textwrap.wrap(_open(one), 94, initial_indent=" " * 4, subsequent_indent=" " * 6)
    lines += ["", "`odt report --claim C4` shows everything behind a claim."]
    return "\n".join(lines).replace("\xa0", " ")


def describe(self, name: str) -> str:
    """Return everything behind one claim as text: parts, intervals, cells, records, command."""
    one = self.find(name)
    lines = [f"{one.name}: {one.claim.authors}, {one.claim.label}: {one.answer}"]
    for statement in one.statements:
        words = statement.words
        lines += ["", *textwrap.wrap(f"{statement.name}: “{words['quote']}” ({words['where']}, "
                                     f"{words['kind']}): {statement.answer}", 98)]
        for part in statement.parts:
            lines.append(f"{MARKS[part.answer]} {part.says}: {_word(part)}")
            for title, value in _sides(part, ("published", "ours", "evidence", "note", "power")):
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
    plan = str(one.claim.plan)
    if plan:
        lines += textwrap.wrap(f"open: {plan}", 98)
    lines.append(f"page: chapters/{one.claim.link}")
    return "\n".join(lines)


def _sides(part, titles):
    """Return the titles of what a part has to show, with the values."""
    power = "" if part.test is None or not part.counts else (
        f"were the paper right, {part.test.chance():.0%} of such tests would confirm it")
    values = part.published, part.ours, part.interval, part.note, power
    return [(title, value) for title, value in zip(titles, values, strict=True) if value]


def _badge(answer, words, style=""):
    return (f'<span style="color: #fff; background: {TINTS[answer]}; border-radius: 3px; '
            f'padding: 0 0.4em; white-space: nowrap{style}">{words}</span>')


def squares(self) -> str:
    """Return a coloured square with a word for each claim, by paper, as HTML."""
    found = []
    for name, claims in _papers(self):
        one = "".join(
            f'<a href="#{one.name.lower()}" title="{escape(one.claim.label)}" style="color: #fff; '
            f"background: {TINTS[one.answer]}; width: 6.2em; padding: 0.3em 0; border-radius: 4px; "
            f'text-align: center; text-decoration: none; line-height: 1.25"><b>{one.name}</b><br>'
            f"<small>{one.answer}<br>"
            f"{' '.join(MARKS[half.answer] for half in one.statements)}</small></a>"
            for one in claims)
        found.append(f'<p style="margin: 0.6em 0 0.2em">{escape(name)}</p><div style="display: '
                     f'flex; flex-wrap: wrap; gap: 4px">{one}</div>')
    return f'<div class="odt-plain">{"".join(found)}</div>'


def unsettled(self) -> str:
    """Return the statements that are contradicted, and those undecided, a sentence each, as HTML.
    """
    found = "".join(
        f"<li>{_badge(statement.answer, statement.answer)} <a href=\"#{one.name.lower()}\">"
        f"{statement.name}</a>, {escape(one.claim.authors)}, {one.claim.label}: "
        f"“{escape(statement.words['quote'])}”. {_code(_said(statement))}</li>"
        for one, statement in _open_ones(self))
    return f'<ul class="odt-plain" style="overflow-wrap: anywhere">{found}</ul>'


def html(self, paper: str, root: str = "../") -> str:
    """Return the claims of a paper with their statements; ``root`` leads to ``chapters/``.

    Blocks and not a table: on a narrow screen the verdict stays in sight.
    """
    rows = []
    for one in (one for one in self.claims if one.claim.paper == paper):
        halves = []
        for half in one.statements:
            page, _, section = half.words["link"].partition("#")
            inner = "".join(
                f"<li>{MARKS[part.answer]} {escape(part.says)}: <i>{escape(_word(part))}</i>"
                + "".join(f"; {title} {_code(value)}".replace("  ", " ") for title, value in _sides(
                    part, ("paper", "ours", "", "", "power:"))) + "</li>" for part in half.parts)
            first = "; ".join(f"{title} <b>{escape(value)}</b>" for title, value in (
                ("paper", half.first.published), ("ours", half.first.ours)) if value)
            halves.append(
                f"<p>{_badge(half.answer, f'{MARKS[half.answer]} {half.answer}')} "
                f"<b>{half.name}</b> “{escape(half.words['quote'])}” ({half.words['where']}, "
                f'<a href="{root}{page}.html#{section}">{one.claim.label}</a>). {first}</p>'
                f"<details><summary>why</summary><ul>{inner}</ul></details>")
        plan = f"<p><i>{_code(_open(one))}</i></p>" if _open(one) else ""
        rows.append(f'<section id="{one.name.lower()}" class="odt-plain" '
                    'style="border-top: 1px solid; '
                    f'overflow-wrap: anywhere">{"".join(halves)}{plan}</section>')
    return "".join(rows)


def panels(self) -> Figure:
    """Draw how far ours is from every published cell, a panel per kind, with a band.

    Upwards stands the difference of accuracies, with a band of one point; the ratio of times after
    the size model, with a band of a factor of two; the ratio of counts, sizes and errors, with a
    band of 4 %.  What lies outside the axes is put on their edge.  A dot outside the band is there
    by chance or rounding if ours has the digits printed, or is within two standard deviations of a
    draw.  A kind of which no cell has both numbers has no panel.
    """
    import matplotlib.pyplot as plt

    from odtlib import plotting
    panels = {kind: cells for kind in PANELS if len(cells := _drawn(self, kind))}
    if not panels:
        raise ValueError("no cell of these claims has a published number and one of ours: judge "
                         "other papers, or run their experiments first.")
    fig, axes = plt.subplots(len(panels), figsize=(5.2, .5 + 2.7 * len(panels)),
                             layout="constrained", squeeze=False)
    axes, said = axes[:, 0], []
    for ax, (kind, cells) in zip(axes, panels.items(), strict=True):
        (title, x, y, band, ticks), points = PANELS[kind], kind == "statistical"
        ours = (cells["difference"] if points else cells["scaled"] / cells["published"]).clip(
            ticks[0], ticks[-1])
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
        accuracy = one.claim.paper in ("firat2020", "patel2023") and one.claim.item not in (
            "T4", "T5") and not cells["column"].str.startswith("|").any()
        of = np.where(cells["group"] == "seconds", "timing",
                      "statistical" if accuracy else "exact")
        found.append(cells[of == kind])
    cells = pd.concat(found) if found else pd.DataFrame(
        columns=["published", "scaled", "difference", "color"], dtype=float)
    both = cells[["published", "scaled"]].astype(float)
    return cells[np.isfinite(both).all(axis=1) & (both > 0).all(axis=1)]


def _open(one):
    """Return what would decide a claim that is not decided."""
    return str(one.claim.plan) if one.answer not in ("confirmed", "contradicted") else ""


def _word(part):
    answer = part.label or part.answer or "a remark"
    return answer if part.counts or not part.answer else f"{answer}, beside the claim"


def _code(words):
    """Return text as HTML, with what stands between backticks as code."""
    pieces = escape(words).split("`")
    return "".join(f'<code style="white-space: normal">{piece}</code>' if place % 2 else piece
                   for place, piece in enumerate(pieces))

