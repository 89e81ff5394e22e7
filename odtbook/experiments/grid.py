"""Read the grid of an experiment and expand it into runs."""

from __future__ import annotations

import ast
import itertools
import math
import tomllib
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

from odtbook.tables import is_file
from odtbook.tables.words import suggestion
from odtlib.schema import ANY, brief, check

from .book import changed_place, locate, values_of
from .records import key, read_csv, renamed
from .templates import Template

MOST_RUNS = 100_000     # of a grid
SCHEMA = {"title": str, "template": str, "notes": (str, None), "seconds": (int, None),
          "fixed": ({str: ANY}, None), "grid": ([{str: ANY}], {str: ANY}, None),
          "quick": ({str: ANY}, None)}


class Experiment:
    """An experiment: a template and the grid of parameters to run it with.

    The grid file reads ::

        title = "What the experiment asks"
        template = "murtree"           # a template of the book, or a notebook beside this file
        notes = "three hours, idle"    # for whoever runs it
        seconds = 1800                 # a run fails after so many (default: 300, and three times
                                       # its time_limit, which is too few for a run of many fits)

        [fixed]                        # the same for every run
        time_limit = 60.0

        [grid]                         # every combination is a run
        dataset = ["iris", "wine"]
        max_depth = [2, 3]

        [quick]                        # replaces values of the same name under --quick
        dataset = ["iris"]

    Several ``[[grid]]`` tables are united.  A value that is not a list counts as a list of one.

    Parameters
    ----------
    name : str or pathlib.Path
        As in :func:`~odtbook.experiments.book.locate`.
    changes : iterable of str, default=()
        ``"max_depth=3"``: the parameter has this value in every run, whatever the grid says;
        several values for one parameter make one run each.  Changed experiments have records of
        their own (:func:`~odtbook.experiments.book.changed_place`).
    apart : bool, default=False
        Whether the records are its own also without changes.

    Raises
    ------
    ValueError
        If the file or any parameter in it is wrong; nothing has run by then.
    """

    def __init__(self, name: str | Path, changes: Iterable[str] = (), *,
                 apart: bool = False) -> None:
        self.place = locate(name)
        self.name = self.place.name
        try:
            text = tomllib.loads(self.place.grid.read_text(encoding="utf-8"))
        except (RecursionError, ValueError) as error:
            raise ValueError(f"{self.place.grid.name} is not valid TOML: {error}.") from None
        try:
            check(text, SCHEMA, "")
        except ValueError as error:
            raise ValueError(f"{self.place.grid.name} must hold title and template, and may hold "
                             f"notes, seconds, [fixed], [grid] and [quick]: {error}.") from None
        self.title, self.seconds = text["title"], text.get("seconds")
        if self.seconds is not None and self.seconds < 1:
            raise ValueError(f"{self.place.grid.name}: no run ends within {self.seconds} seconds; "
                             f"give 1 or more, or leave seconds out.")
        self.template = Template(text["template"], beside=self.place.grid.parent)
        fixed, grid = text.get("fixed", {}), text.get("grid", {})
        grids = grid if isinstance(grid, list) else [grid]
        self._quick = text.get("quick", {})
        self._tables = [{**fixed, **table} for table in grids]
        self._changes = parse_changes(changes, self.template)
        given = self._changes.get("dataset", ())
        if any(map(is_file, given if isinstance(given, list) else [given] if given else ())) and \
                "binarizer" in self.template.defaults:
            # The book's grid cuts the paper's sets as the paper did, which is not for all tables.
            self._changes.setdefault("binarizer", self.template.defaults["binarizer"])
        if self._changes or apart:
            self.place = changed_place(self.place, changes)
        self.points()
        self.points(quick=True)

    def points(self, quick: bool = False) -> list[dict[str, Any]]:
        """Return the parameters of every run, in the order of the file, without duplicates."""
        shrunk = self._quick if quick else {}
        points = expand([{**table, **shrunk, **self._changes} for table in self._tables],
                        self.template)
        return list({key(point): point for point in points}.values())

    @cached_property
    def varied(self) -> list[str]:
        """The parameters that have several values in the grid."""
        points = [*self.points(), *self.points(quick=True)]
        return [name for name in self.template.defaults
                if len({key({name: point[name]}) for point in points}) > 1]

    def records(self, further: Iterable[dict[str, Any]] = ()) -> dict[str, dict[str, Any]]:
        """Return the records of this experiment by key."""
        records = {}
        for record in [*read_csv(self.place.records), *further]:
            record = {**record, "parameters": self.current(record["parameters"])}
            records[key(record["parameters"])] = record
        return records

    def current(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """Return recorded parameters as the template would give them now.

        A parameter that was renamed has its new name (:data:`~.records.RENAMED`); one that the
        template has gained since counts as having had its default.  With a parameter that the
        template has lost they stay as they are, so that no grid declares their key.
        """
        defaults = self.template.defaults
        parameters = renamed(parameters, self.template.path.stem, defaults)
        if set(parameters) <= set(defaults):
            return {**defaults, **parameters}
        return parameters

    def declared(self) -> list[str]:
        """Return the keys of all runs, quick and full, in the order of the file."""
        return list(dict.fromkeys(map(key, [*self.points(), *self.points(quick=True)])))


def expand(tables, template):
    """Return every combination of the values that each table lists, checked and completed."""
    grids = [_axes(table, template) for table in tables]
    n_runs = sum(math.prod(map(len, axes)) for axes in grids)
    if n_runs > MOST_RUNS:
        raise ValueError(f"the grid has {n_runs:,} runs, more than {MOST_RUNS:,}; shorten its "
                         "lists, or make several grids of it.")
    return [{**template.defaults, **dict(point)} for axes in grids
            for point in itertools.product(*axes)]


def _axes(table, template):
    """Return for each parameter its name with each of its values."""
    axes = []
    for name, values in table.items():
        is_list = isinstance(template.defaults.get(name), list)
        several = isinstance(values, list) and (
            not is_list or (values and all(isinstance(v, list) for v in values)))
        if several and not values:
            raise ValueError(f"{name} = [] leaves nothing to run; give it a value, or leave it "
                             "out for its default.")
        axes.append([(name, template.complete({name: value})[name])
                     for value in (values if several else [values])])
    return axes


def parse_changes(changes, template):
    """Return the new values of the parameters that ``"max_depth=3"``, as in ``--set``, change.

    Values are Python literals or plain text; several for one parameter become a list.  What comes
    back is a table for :func:`expand`, which checks it.
    """
    values = {}
    for change in changes:
        name, equals, text = change.partition("=")
        if not equals:
            raise ValueError(f"--set {brief(change)} is not key=value; the keys are "
                             f"{', '.join(template.defaults)}.")
        value = literal(text)
        if isinstance(template.defaults.get(name), str) and not isinstance(value, str | list) \
                and value not in template.choices.get(name, ()):
            value = text
        values.setdefault(name, []).append(value)
    return {name: found if len(found) > 1 else found[0] for name, found in values.items()}


def literal(text):
    """Return the Python value that a text spells, or the text itself."""
    try:
        return ast.literal_eval({"true": "True", "false": "False"}.get(text, text))
    except (MemoryError, RecursionError, SyntaxError, ValueError):
        return text     # also where the parser gives up, on brackets or signs without end


def select(points, conditions, defaults):
    """Keep the points that meet every ``key=value`` condition."""
    for condition in conditions:
        name = condition.partition("=")[0]
        if "=" not in condition or name not in defaults:
            raise ValueError(f"--only {condition} is not key=value with a known key"
                             f"{suggestion(name, defaults)}; the keys are {', '.join(defaults)}.")
    wanted = values_of(conditions)
    kept = [point for point in points
            if all(text_of(point[name]) & {*values} for name, values in wanted.items())]
    if wanted and not kept:
        raise ValueError(f"no run of the grid has {' and '.join(conditions)}; --set changes a "
                         "parameter to a value that the grid does not have.")
    return kept


def text_of(value):
    """Return how a value may be written on the command line: 60.0 as 60, True as true."""
    texts = {str(value), str(value).lower()}
    if isinstance(value, float) and value.is_integer():
        texts.add(str(int(value)))
    return texts
