"""Judge every table, figure and statement of the five papers by our records.

What a verdict means stands in :mod:`.rules`, what words mean in :mod:`.words`; how a cell or a
statement is computed in one module per paper; tolerances, reasons and needed hours in
``data/published/<paper>.toml``.  :mod:`.render` shows the result.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from odtbook.experiments.book import suggestion
from odtbook.experiments.published import published

from . import render
from .evidence import Missing, Records, Side, hours, method_runs
from .papers import PAPERS
from .rules import Judgement, Tolerance, judge_cells, judge_figure, judge_statement

if TYPE_CHECKING:
    from pandas import DataFrame

UNKNOWN = "We do not know why."
SEEDS = "the difference is within the spread of the recorded seeds"


@dataclass
class Result:
    """What became of an item or a statement.

    Statements have ``published`` numbers, ``ours``, what a substitute says (``beside``), what the
    paper's own tables give, and the ``item`` that they speak of; tables have judged ``cells``.
    """

    key: str
    paper: str
    label: str
    title: str
    judgement: Judgement
    because: str = ""
    cells: object = None
    published: str = ""
    ours: str = ""
    beside: str = ""
    by_tables: str = ""
    item: str = ""
    page: str = ""
    tolerance: Tolerance | None = None

    @property
    def verdict(self) -> str:
        """One of :data:`~odtbook.verdicts.rules.VERDICTS`."""
        return self.judgement.verdict


@dataclass
class Reproduction:
    """The verdicts on all items and statements, each in the order of the papers.

    ``listed`` has the claims without a verdict: settings, quotations, formulas, open questions.
    """

    items: list = field(default_factory=list)
    statements: list = field(default_factory=list)
    listed: object = None

    def find(self, name: str) -> Result:
        """Return an item by its key or label within a paper, "firat2020 T7", or a claim."""
        for result in [*self.items, *self.statements]:
            if str(name).lower() in (result.key.lower(), f"{result.paper} {result.label}".lower()):
                return result
        known = [f"{key} {label}" for key, paper in PAPERS.items() for label in paper.data["items"]]
        alike = [item for item in known if item.lower().endswith(f" {str(name).lower()}")]
        meant = f" (did you mean {' or '.join(alike)}?)" if alike else suggestion(name, known)
        raise ValueError(f"there is no table, figure or claim {str(name)!r}{meant}; use one of "
                         f"{', '.join(known)}, or a name from data/published/claims.csv.")

    counts = render.counts
    table = render.table
    claims = render.claims
    missing = render.missing
    describe = render.describe
    text = render.text
    html = render.html
    picture = render.picture
    markdown = render.markdown


class _Judge:
    """Cells, judged once, and both sides of the statements."""

    def __init__(self, records):
        self.records = records

        @functools.cache
        def cells(key):
            paper, _, label = key.partition(" ")
            return PAPERS[paper].cells[label](records)
        self.cells = cells
        self.theirs, self.ours = Side(cells), Side(cells, records)
        self.substitutes = Side(cells, records, lenient=True)

    @functools.cached_property
    def seeds(self):
        """One side per recorded seed."""
        return [Side(self.cells, self.records, seed) for seed in range(number_of_seeds(
            self.records))]

    def not_run(self, paper, data):
        """Say how long it would take to run what is missing."""
        name = data.get("unmade")
        return "" if name is None else hours(self.records, paper.data["unmade"][name])

    def item(self, paper, label, verdicts, reasons):
        """Judge a table by its cells, a figure without any by the verdicts on its statements."""
        data, table, tolerance = paper.data["items"][label], None, None
        if label in paper.cells:
            reasons = ()
            tolerance = Tolerance(**data.get("tolerance", {}))
            table = self.cells(f"{paper.key} {label}")
            judgement, table = judge_cells(table[~table["quoted"]], tolerance)
        else:
            judgement = judge_figure(verdicts)
        because = data.get("because") or "; ".join(dict.fromkeys(reasons)) or UNKNOWN
        unmade = self.not_run(paper, data)
        if judgement.verdict == "reproduced":
            because = ""
        elif judgement.verdict == "within noise":
            because = SEEDS
        elif judgement.verdict == "not run":
            because = unmade or because
        elif unmade and judgement.compared < judgement.printed:
            because = f"{because.rstrip('.')}. Of the cells without a counterpart: {unmade}"
        number = {"T": "Table", "F": "Figure"}[label[0]] + " " + label[1:]
        return Result(f"{paper.key} {label}", paper.key, number, data["title"], judgement, because,
                      table, page=data["page"], tolerance=tolerance)

    def claim(self, name, claim):
        """Judge one statement: by the published method's records alone."""
        paper = PAPERS[claim["paper"]]
        data = paper.data.get("statements", {}).get(name.removeprefix(f"{paper.key}-"), {})
        function, values = paper.answers.get(name), numbers(claim["value"])
        said = beside = by_tables = ""
        because = data.get("because", UNKNOWN)
        if function is None:
            judgement, because = Judgement("not run", 1), self.not_run(paper, data)
        else:
            theirs, by_tables = _shown(function, self.theirs)
            try:
                answer, said = shown(function(self.ours))
                judgement = judge_statement(values, answer, self._spreads(function, answer),
                                            theirs if isinstance(theirs, list) else None)
            except Missing as error:
                judgement, beside = Judgement("not run", 1), _shown(function, self.substitutes)[1]
                because = self.not_run(paper, data) or str(error)
        if judgement.verdict in ("reproduced", "within noise"):
            because = SEEDS if judgement.verdict == "within noise" else ""
        value, unit = (claim[name] if isinstance(claim[name], str) else ""
                       for name in ("value", "unit"))
        return Result(name, claim["paper"], str(claim["section"]), claim["wording"], judgement,
                      because, published=_with_units(value, unit), ours=said, beside=beside,
                      by_tables=by_tables,
                      item=claim["item"] if isinstance(claim["item"], str) else "")

    def _spreads(self, function, answer):
        """Spread of each number of a statement over the recorded seeds."""
        if isinstance(answer, bool) or not self.seeds:
            return None
        by_seed = np.array([shown(function(side))[0] for side in self.seeds], float)
        return list(by_seed.max(axis=0) - by_seed.min(axis=0))


def number_of_seeds(records):
    """Return how many seeds the experiments ``seeds*`` have recorded for each split."""
    try:
        runs = records.of("seeds*")
    except Missing:
        return 0
    return min(len(values[0]) for values in runs["measures"].str["train"])


def reproduce(records: Records | None = None,
              papers: Sequence[str] | None = None) -> Reproduction:
    """Judge every item and statement of some papers, by their keys, or of all.

    ``records`` are ours; by default those of the book.
    """
    papers = tuple(PAPERS) if papers is None else tuple(papers)
    unknown = set(papers) - set(PAPERS)
    if unknown:
        raise ValueError(f"there is no paper {sorted(unknown)[0]!r}; use one of "
                         f"{', '.join(PAPERS)}.")
    judge = _Judge(Records() if records is None else records)
    claims = published("claims")
    claims = claims[claims["paper"].isin(papers)]
    found = Reproduction(listed=claims[claims["kind"] != "result"])
    of_item = {}
    for name, claim in claims[claims["kind"] == "result"].iterrows():
        result = judge.claim(name, claim)
        found.statements.append(result)
        of_item.setdefault(f"{claim['paper']} {claim['item']}", []).append(result)
    for key in papers:
        for label in PAPERS[key].data["items"]:
            of = of_item.get(f"{key} {label}", ())
            found.items.append(judge.item(
                PAPERS[key], label, [r.verdict for r in of],
                [r.because for r in of if r.because and r.verdict != "not run"]))
    return found


def verdict_on(name, records):
    """Judge one item, "firat2020 T7", or one claim, by some records."""
    judge = _Judge(records)
    claims = published("claims")
    if name in claims.index:
        return judge.claim(name, claims.loc[name])
    key, _, label = name.partition(" ")
    of = claims[(claims["kind"] == "result") & (claims["paper"] == key)
                & (claims["item"] == label)]
    verdicts = [judge.claim(claim, line).verdict for claim, line in of.iterrows()]
    return judge.item(PAPERS[key], label, verdicts, [])


def cells_of(name: str, records: Records | None = None, *, printed: bool = True) -> DataFrame:
    """Return the cells of a table such as "firat2020 T7": published, ours, and others beside.

    Chapters show tables with this function, the report with the same.  With ``printed`` the cells
    without a published number are left out, and the others judged.  Rows and columns are those of
    :func:`~odtbook.verdicts.render.shown_cells`.
    """
    judge = _Judge(Records() if records is None else records)
    key, _, label = name.partition(" ")
    if not printed:
        return render.beside(judge.cells(name))
    return render.shown_cells(judge.item(PAPERS[key], label, (), ()), agreeing=True)


def side_by_side(tables: str | dict[int, str], substitute: str = "substitute",
                 records: Records | None = None) -> DataFrame:
    """Return tables of accuracies as chapters print them: paper, ours, substitute.

    ``tables`` is such as "firat2020 T7", whose columns name the depth, or ``{2: "firat2020 T8"}``;
    the cells are those that the report judges.  Index data set and k; columns in two levels:
    "paper", "ours" and the first method beside, by the name ``substitute``; below them the methods.
    """
    import pandas as pd
    judge, rows = _Judge(Records() if records is None else records), {}
    for depth, name in (tables if isinstance(tables, dict) else {None: tables}).items():
        for cell in judge.cells(name).itertuples():
            line, method, k = cell.row, cell.column, depth
            if method.startswith("k = "):
                k, _, method = method[4:].partition(", ")
            elif ", k = " in line:
                line, _, k = line.partition(", k = ")
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
    return method_runs(Records() if records is None else records, method)


def _with_units(value, unit):
    """Return printed numbers with their units: "5; 6" and "sets; of" become "5 of 6 sets"."""
    parts, units = value.split("; "), unit.split("; ")
    if len(parts) == 2 and units[1:] == ["of"]:
        return f"{parts[0]} of {parts[1]} {units[0]}"
    if len(parts) == 2 and units[1:] == ["to"] and units[0].endswith(" from"):
        return f"{parts[0]} to {parts[1]} {units[0].removesuffix(' from')}"
    if len(parts) == len(units) > 1:
        return ", ".join(" ".join(pair).strip() for pair in zip(parts, units, strict=True))
    return f"{value} {unit}".strip()


def numbers(value):
    """Return the printed numbers of a claim's value: "0.9; 2.7; 1.3" as three texts."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(";") if part.strip()]
    return [] if value != value else [f"{value:g}"]


def _shown(function, side):
    """Return what a side answers, or nothing where it has no table or record."""
    try:
        return shown(function(side))
    except (Missing, KeyError, ZeroDivisionError):
        return None, ""


def shown(answer):
    """Return an answer as (truth or numbers, text)."""
    if isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], str):
        return bool(answer[0]), f"{'yes' if answer[0] else 'no'}: {answer[1]}"
    if isinstance(answer, bool | np.bool_):
        return bool(answer), "yes" if answer else "no"
    answer = [float(value) for value in np.atleast_1d(answer)]
    if any(math.isnan(value) for value in answer):
        raise Missing("not all data sets have records of the published method")
    return answer, "; ".join(f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
                             for value in answer)
