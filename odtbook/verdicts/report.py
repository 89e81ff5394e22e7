"""Judge the claims of the papers by our records, and show the cells behind them.

The rules stand in :mod:`.rules`; the claims and the cells of their tables in one module per paper;
:mod:`.render` shows the result.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from odtbook.experiments.book import need_name
from odtbook.tables.words import suggestion

from . import birbil2024, demirovic2022, firat2020, patel2023, render, verwer2019
from .claims import Judged, judge_claim
from .evidence import Records, method_runs
from .rules import WHOLE, color_cells

if TYPE_CHECKING:
    from pandas import DataFrame

PAPERS = {module.paper.key: module.paper
          for module in (firat2020, patel2023, birbil2024, demirovic2022, verwer2019)}


@dataclass
class Report:
    """The claims of the papers, judged, in the order of the papers."""

    claims: list = field(default_factory=list)
    records: Records | None = None

    def counts(self) -> dict[str, int]:
        """Return how often each answer was given, in their order."""
        return {answer: sum(one.answer == answer for one in self.claims) for answer in WHOLE}

    def find(self, name: str) -> Judged:
        """Return a claim by its name, "C4" (or "C4a"), or by its item, "firat2020 T7"."""
        return self.claims[_place(name, [(one.name, one.claim) for one in self.claims])]

    def cells(self, one: Judged) -> DataFrame | None:
        """Return the coloured cells of the table behind a claim, if it has one."""
        function = PAPERS[one.claim.paper].cells.get(one.claim.item)
        return None if function is None else color_cells(function(self.records), one.claim.digits)

    sentence = render.sentence
    text = render.text
    describe = render.describe
    html = render.html
    squares = render.squares
    unsettled = render.unsettled
    panels = render.panels


def judge(papers: Sequence[str] | None = None, records: Records | None = None,
          only: str | None = None) -> Report:
    """Judge the claims of some papers, by their keys in the bibliography, or of all.

    ``records`` are ours; by default those of the book.  ``only`` names a single claim to judge, as
    for :meth:`Report.find`.
    """
    for paper in papers or ():
        need_name("paper", paper, PAPERS)
    records = Records() if records is None else records
    claims = [claim for paper in PAPERS.values() for claim in paper.claims]
    named = [(f"C{number}", claim) for number, claim in enumerate(claims, start=1)
             if papers is None or claim.paper in papers]
    if only is not None:
        named = [named[_place(only, named)]]
    return Report([judge_claim(name, claim, records) for name, claim in named], records)


def _place(name, named):
    """Return where a claim stands in a list of names and claims."""
    known = [(key, f"{claim.paper} {claim.item}") for key, claim in named]
    for place, (names, (_, claim)) in enumerate(zip(known, named, strict=True)):
        if str(name).lower() in (names[0].lower(), names[1].lower(), *(
                names[0].lower() + line["half"] for line in claim.statements)):
            return place
    alike = [item for _, item in known if item.lower().endswith(f" {str(name).lower()}")]
    meant = (f" (did you mean {' or '.join(alike)}?)" if alike else
             suggestion(name, [one for names in known for one in names]))
    raise ValueError(f"there is no claim {str(name)!r}{meant}; `odt report` lists them.")


def count_sentence(records: Records | None = None) -> str:
    """Return the count of all answers in one sentence, for the landing page."""
    return judge(records=records).sentence()


@functools.cache
def _records():
    return Records()


def _table(name, records):
    """Return the cells of a table such as "firat2020 T7", and the digits that the paper prints."""
    records = _records() if records is None else records
    tables = {f"{key} {label}": function for key, paper in PAPERS.items()
              for label, function in paper.cells.items()}
    need_name("table", name, tables)
    key, _, label = name.partition(" ")
    digits = next(claim.digits for claim in PAPERS[key].claims if claim.item == label)
    return tables[name](records), digits


def cells_of(name: str, records: Records | None = None, *, printed: bool = True) -> DataFrame:
    """Return the cells of a table such as "firat2020 T7": published, ours, and others beside.

    With ``printed`` the cells without a published number are left out and the others coloured
    (:func:`~odtbook.verdicts.rules.color_cells`).  Index row and column of the table; a column per
    method beside.
    """
    cells, digits = _table(name, records)
    if not printed:
        return render.beside(cells)
    return render.shown_cells(color_cells(cells[~cells["quoted"]], digits))


def side_by_side(tables: str | dict[int, str], substitute: str = "substitute",
                 records: Records | None = None) -> DataFrame:
    """Return tables of accuracies as chapters print them: paper, ours, substitute.

    ``tables`` is such as "firat2020 T7", whose columns name the depth, or ``{2: "firat2020 T8"}``.
    Index data set and k; columns in two levels: "paper", "ours" and the first method beside, by the
    name ``substitute``; below them the methods.
    """
    import pandas as pd
    rows = {}
    for depth, name in (tables if isinstance(tables, dict) else {None: tables}).items():
        for cell in _table(name, records)[0].itertuples():
            line, method, k = cell.row, cell.column, depth
            if method.startswith("k = "):
                k, _, method = method[4:].partition(", ")
            elif ", k = " in line:
                line, _, k = line.partition(", k = ")
            if k is None:
                raise ValueError(f"the columns of {name!r} name no depth: give it, as in "
                                 f"{{2: {name!r}}}.")
            found = rows.setdefault((line, int(k)), {})
            found["paper", method], found["ours", method] = cell.published, cell.ours
            for value in (cell.beside or {}).values():
                found[substitute, method] = value
    found = pd.DataFrame.from_dict(rows, orient="index").rename_axis(["data set", "k"])
    found.columns = pd.MultiIndex.from_tuples(found.columns)
    return found.sort_index(axis=1).sort_index()


def runs_of(method: str, records: Records | None = None) -> DataFrame:
    """Return the runs that stand for a method of ``methods.toml``, with its accuracies in per cent.
    """
    return method_runs(_records() if records is None else records, method)


