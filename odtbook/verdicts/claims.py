"""Claims: what each table and figure of the papers is for, in one sentence, and who answers it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field

from odtbook.experiments.results import unrecorded

from .evidence import Missing, attempt
from .rules import combine, not_run


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


@dataclass(frozen=True)
class Claim:
    """What one table or figure is for.

    ``paper`` is its key in the bibliography, ``says`` one sentence, ``source`` where the paper
    states it, ``kind`` the evidence that decides it, ``link`` the section of the replication page,
    ``answers`` the function of the records that returns its parts, ``digits`` half a unit of the
    last digit of its cells, ``plan`` what would decide what is open.
    """

    paper: str
    authors: str
    item: str
    kind: str
    says: str
    source: str
    link: str
    answers: Callable
    digits: float = 0.05
    plan: Plan | str = ""

    @property
    def label(self):
        """Its table or figure: "Table 7"."""
        return {"T": "Table", "F": "Figure"}[self.item[0]] + " " + self.item[1:]


class Paper:
    """A paper: its key in the bibliography, its name, its claims and the cells of its tables."""

    def __init__(self, key, name, page):
        self.key, self.name, self.page = key, name, page
        self.claims, self.cells = [], {}

    def table(self, label):
        """Register the function of the records that returns the cells of a table."""
        return functools.partial(self.cells.setdefault, label)

    def claim(self, item, kind, source, section, says, **further):
        """Register the function of the records that returns the parts of a claim."""
        def register(function):
            page = further.pop("page", self.page)
            self.claims.append(Claim(self.key, self.name, item, kind, says, source,
                                     f"{page}#{section}", function, **further))
            return function
        return register


@dataclass
class Judged:
    """A claim with its number, its parts and the answer that they give."""

    name: str
    claim: Claim
    parts: list
    answer: str
    experiments: tuple

    @property
    def reasons(self):
        """Why the answer is what it is: the notes of the parts that stand against the claim."""
        against = [part for part in self.parts if part.counts and part.answer == self.answer]
        if self.answer == "confirmed":
            against = [part for part in self.parts if part.counts]
        return list(dict.fromkeys(part.note for part in against if part.note))


def judge_claim(name, claim, records):
    """Judge one claim by some records."""
    records.used.clear()
    parts = []
    for part in attempt(claim.answers, records) or [
            not_run(claim.says, claim.kind, _missing(claim, records))]:
        parts.append(part)
    return Judged(name, claim, parts, combine(parts), tuple(sorted(records.used)))


def _missing(claim, records):
    try:
        claim.answers(records)
    except Missing as error:
        return str(error)
    return "nothing to judge"
