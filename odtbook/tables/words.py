"""Sentences: what a report says, and how it counts and lists."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from html import escape

#: Signs that steer a terminal, and those that turn the direction of a line.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
LONGEST = 60        # of a cell that may be a number, and of one that is listed


def printable(text: str) -> str:
    """Return text with the signs that steer a terminal or a line's direction written as escapes."""
    return CONTROL.sub(lambda sign: sign[0].encode("unicode_escape").decode(), text)


def one_line(text: str) -> str:
    """Return printable text in which the end of a line is an escape, too."""
    return printable(text).replace("\n", r"\n")


class Lines(list):
    """Sentences, which a notebook shows as a list and a terminal one below the other.

    A notebook shows the first ``large`` of them in large letters.
    """

    def __init__(self, lines: Iterable[str] = (), *, large: int = 0) -> None:
        super().__init__(map(one_line, lines))
        self.large = large

    def __repr__(self):
        return "\n".join(f"- {line}" for line in self)

    def _repr_html_(self):
        first, rest = self[:self.large], self[self.large:]
        return "".join(f'<p class="large"><big>{escape(line)}</big></p>' for line in first) + (
            "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in rest) + "</ul>") * bool(rest)


class Unusable(ValueError):
    """No tree can be learned from a table."""


@dataclass(repr=False)
class Report:
    """What was done to a table and why, one sentence after the other.

    Attributes
    ----------
    lines : list of str
        The sentences; those of a column begin with its name in quotes.
    columns : dict of str to str
        What became of each column of the source: "target", "number", "category", "date",
        or "dropped".
    unusable : str
        Why no tree can be learned from the table; empty where one can.
    together : list of str
        Columns that may say which rows belong together.
    """

    lines: list[str] = field(default_factory=list)
    columns: dict[str, str] = field(default_factory=dict)
    unusable: str = ""
    together: list[str] = field(default_factory=list)

    def say(self, sentence: str, column: str | None = None) -> None:
        """Add a sentence, about a column if one is named."""
        self.lines.append(sentence if column is None else f"{column!r} {sentence}")

    def leave_out(self, number: int, thing: str, which: str, where: str = "") -> None:
        """Say how many things are left out and which, if any are."""
        if number:
            self.say(f"{count(number, thing)} {which} {be(number)} left out{where}.")

    def __repr__(self) -> str:
        return repr(Lines(self.lines))

    def _repr_html_(self):
        return Lines(self.lines)._repr_html_()


def count(number, thing, things=None):
    """Return a number and what it counts, 3 rows."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def be(number):
    """Return the verb of so many."""
    return "is" if number == 1 else "are"


def listed(values, most=3):
    """Return the first values in quotes, and how many there are more."""
    shown = ", ".join(repr(value if len(str(value)) <= LONGEST else f"{value[:LONGEST]}…")
                      for value in values[:most])
    return shown + (f" and {len(values) - most} more" if len(values) > most else "")


def suggestion(name, known):
    """Return " (did you mean ...?)" for the closest known name, or nothing."""
    spelt = {str(one).casefold(): str(one) for one in known}
    close = get_close_matches(str(name).casefold(), spelt, n=1)
    return f" (did you mean {spelt[close[0]]!r}?)" if close else ""
