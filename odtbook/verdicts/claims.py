"""Claims: what each table and figure of the papers is for, in the papers' words, and who answers.

The words stand in ``data/published/claims.csv``: a line is a statement, quoted, with its place.
The statements on one table or figure make a claim, and each has an answer of its own.
"""

from __future__ import annotations

import csv
import functools
from collections.abc import Callable
from dataclasses import dataclass, field

from odtbook.experiments.book import book_root
from odtbook.experiments.results import unrecorded

from .evidence import Missing
from .rules import Part, combine, not_run, whole


@dataclass(frozen=True)
class Plan:
    """Runs that would decide a claim: an experiment, a part of its grid, and a word on both."""

    experiment: str
    only: dict = field(default_factory=dict)
    what: str = ""

    @property
    def command(self):
        """The command that makes the runs, one at a time and in any number of attempts."""
        only = "".join(f" --only {name}={value}" for name, value in self.only.items())
        return f"odt run {self.experiment}{only} --resume"

    def __str__(self):
        left = unrecorded(self.experiment, **self.only)
        if not len(left):
            return ""
        hours = float((left["time_limit"] * left.get("n_jobs", 1)).sum()) / 3600
        what = f"{self.what}: " if self.what else ""
        return (f"{what}`{self.command}`, {len(left)} runs, at most {hours:.1f} hours on an idle "
                "core")


@functools.cache
def words():
    """Return the statements of the papers, one line of ``claims.csv`` each."""
    path = book_root() / "data" / "published" / "claims.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@dataclass(frozen=True)
class Claim:
    """What one table or figure is for: the statements on it.

    ``paper`` is its key in the bibliography, ``item`` its table or figure, ``statements`` its lines
    of ``claims.csv``, ``answers`` maps a half ("a") to the function of the records that returns its
    parts, ``digits`` is half a unit of the last digit of its cells, ``plan`` what would decide what
    is open.
    """

    paper: str
    authors: str
    item: str
    statements: tuple
    answers: dict
    digits: float = 0.05
    plan: Plan | str = ""

    @property
    def label(self):
        """Its table or figure: "Table 7"."""
        return {"T": "Table", "F": "Figure", "S": "Statement"}[self.item[0]] + " " + self.item[1:]

    @property
    def link(self):
        """The section of the replication page that has its evidence."""
        return self.statements[0]["link"]


class Paper:
    """A paper: its key in the bibliography, its name, its claims and the cells of its tables."""

    def __init__(self, key, name):
        self.key, self.name, self.cells, self._claims = key, name, {}, {}

    def table(self, label):
        """Register the function of the records that returns the cells of a table."""
        return functools.partial(self.cells.setdefault, label)

    def claim(self, item, halves="", **further):
        """Register the function of the records that returns what some statements rest on.

        That is a part, or several.  ``further`` are ``digits`` and ``plan`` of the claim.
        """
        def register(function: Callable) -> Callable:
            answers, known = self._claims.setdefault(item, ({}, {}))
            answers.update(dict.fromkeys(halves or [""], function))
            known.update(further)
            return function
        return register

    @property
    def claims(self):
        """The claims, in the order of ``claims.csv``."""
        lines = [line for line in words() if line["paper"] == self.key]
        return [Claim(self.key, self.name, item, tuple(
            line for line in lines if line["item"] == item), self._claims[item][0],
            **self._claims[item][1]) for item in dict.fromkeys(line["item"] for line in lines)]


@dataclass
class Statement:
    """A statement of a paper with its name ("C4a"), its words, its parts and their answer."""

    name: str
    words: dict
    parts: list
    answer: str

    @property
    def reasons(self):
        """Why the answer is what it is: the notes of the parts that stand against it."""
        against = [part for part in self.parts if part.counts and (
            part.answer == self.answer or self.answer == "undecided"
            and part.answer == "not run")]
        return list(dict.fromkeys(part.note for part in against if part.note))

    @property
    def first(self):
        """The part that the answer rests on."""
        return ([part for part in self.parts if part.counts and part.answer == self.answer]
                or [part for part in self.parts if part.counts] or self.parts)[0]


@dataclass
class Judged:
    """A claim with its number, its statements and the answer that they give."""

    name: str
    claim: Claim
    statements: list
    experiments: tuple

    @property
    def answer(self):
        """The answer to the claim: "in part" where those to its statements differ."""
        return whole([one.answer for one in self.statements])

    @property
    def parts(self):
        """All parts of its statements."""
        return [part for one in self.statements for part in one.parts]


def judge_claim(name, claim, records):
    """Judge one claim by some records."""
    records.used.clear()
    found = []
    for line in claim.statements:
        try:
            parts = claim.answers[line["half"]](records)
        except Missing as error:
            parts = not_run(line["quote"], line["kind"], str(error))
        parts = [parts] if isinstance(parts, Part) else list(parts)
        found.append(Statement(name + line["half"], line, parts, combine(parts)))
    return Judged(name, claim, found, tuple(sorted(records.used)))
