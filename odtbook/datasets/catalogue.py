"""The catalogue: every data set, where it comes from, and how to make, read or fetch it.

It stands in ``data/catalogue.toml``; this module makes objects of its entries.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from pathlib import Path

from odtbook.datasets import constrained_generators, generators, tables
from odtbook.datasets.fetch import Delimited, OpenML, Rows
from odtbook.datasets.manifest import data_path, facts
from odtbook.datasets.tables import LARGEST, Table

KINDS = {
    "shipped": "comes with the project: generated, or a file of its folder data/sets",
    "generated": "needs no file: made by rule, or part of scikit-learn",
    "small": "the 14 small tables of Verwer & Zhang, Firat et al. and Patel et al.",
    "large": "the 6 large tables of Firat et al. and Patel et al.",
    "uci": "further tables that MurTree's sets were made from",
    "murtree": "the 0/1 tables of Demirović et al. (MurTree)",
    "continuous": "the tables of Briţa et al. (ConTree)",
    "quantbnb": "regression tables of Mazumder et al. (Quant-BnB)",
    "constrained": "the tables of Birbil et al. (output-constrained trees)",
}
TASKS = ("classification", "regression")
LEAST_LIMIT, CELL = 2**24, 64   # bytes of a file to fetch: these, and as many for each cell


@dataclass(frozen=True)
class Entry:
    """One data set of the catalogue."""

    name: str
    kinds: tuple[str, ...]
    description: str
    source: str
    licence: str
    citation: str
    make: Callable[[], Table] | None = None  # generated sets
    file: str | None = None  # in data/sets where it is shipped, and in the folder of ODTLIB_DATA
    read: Callable[[Path], Table] | None = None
    downloads: tuple = ()  # tried in order
    task: str = "classification"
    target_names: tuple[str, ...] | None = None  # where the file does not name its classes
    splits: str = "rule"  # or "published rule", "published rows", "missing"
    aliases: tuple[str, ...] = ()


def _filled(value, texts: dict):
    """Replace the names in braces, in every string of a value of the file."""
    if isinstance(value, dict):
        return {key: _filled(item, texts) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, texts) for item in value]
    if not isinstance(value, str) or "{" not in value:
        return value
    alone = value[1:-1]  # "{rows}" alone keeps the type of what it stands for
    return texts[alone] if alone in texts else value.format_map(texts)


def _written() -> list[dict]:
    """Return the entries as they are written, those of a group one by one."""
    with data_path("catalogue.toml").open("rb") as file:
        document = tomllib.load(file)
    written = []
    for entry in document["sets"]:
        each, notes = entry.pop("each", {}), entry.pop("notes", {})
        for values in product(*each.values()):
            one = _filled(entry, document["texts"] | dict(zip(each, values, strict=True)))
            if one["name"] in notes:
                one["description"] += f" {notes[one['name']]}"
            written.append(one)
    return written


def _function(recipe, *modules) -> Callable:
    """Return the function that a recipe names, with the arguments that it gives."""
    if isinstance(recipe, str):
        recipe = {"function": recipe}
    if "rows" in recipe:
        return partial(tables.from_rows, read=_function(recipe["rows"], tables))
    name = recipe.pop("function")
    found = next(getattr(module, name) for module in modules if hasattr(module, name))
    return partial(found, **recipe) if recipe else found


def _source(recipe: dict, name: str):
    """Return a source to fetch from, as one of the classes of ``fetch``."""
    if "openml" in recipe:
        return OpenML(recipe["openml"], recipe["classes"])
    if "rows" in recipe:
        return Rows(recipe["url"], _function(recipe["rows"], tables))
    if recipe.get("delimiter") == "spaces":
        recipe["delimiter"] = None
    if "levels" in recipe:
        recipe["levels"] = {int(column): letters for column, letters in recipe["levels"].items()}
    cells = facts()[name]["rows"] * (facts()[name]["features"] + 1)
    recipe["limit"] = min(LARGEST, LEAST_LIMIT + CELL * cells)
    if "one_hot" in recipe:
        recipe["feature_names"] = tuple(facts()[name]["feature_names"])
    return Delimited(**{key: tuple(value) if isinstance(value, list) else value
                        for key, value in recipe.items()})


def _entry(written: dict) -> Entry:
    """Make an entry of what is written of it."""
    made = {key: tuple(value) if isinstance(value, list) else value
            for key, value in written.items()}
    if "make" in made:
        made["make"] = _function(made["make"], generators, constrained_generators)
    if "read" in made:
        made["read"] = _function(made["read"], tables)
    made["downloads"] = tuple(_source(recipe, made["name"]) for recipe in made.get("downloads", ()))
    return Entry(**made)


@cache
def entries() -> dict[str, Entry]:
    """Every data set by its name, in the order of the catalogue."""
    return {written["name"]: _entry(written) for written in _written()}


@cache
def _spellings() -> dict[str, str]:
    """Lower-case names and other names, each with the name in the catalogue."""
    names = {}
    for entry in entries().values():
        for spelling in (*entry.aliases, entry.name):
            names[spelling.lower()] = entry.name
    return names


def find(name: str) -> Entry:
    """Find a data set by its name; case does not matter."""
    if not isinstance(name, str):
        raise TypeError(f"the name of a data set is a string, not {type(name).__name__}")
    known = _spellings()
    if name.lower() in known:
        return entries()[known[name.lower()]]
    import difflib

    wanted = name.lower()
    close = [known[key] for key in known if wanted and wanted in key]
    close += [known[key] for key in difflib.get_close_matches(wanted, known, n=5)]
    close = list(dict.fromkeys(close))[:5]
    hint = (f"did you mean {', '.join(close)}?" if close else
            "`odt data list` and available() list the names.")
    raise ValueError(f"there is no data set {name!r}; {hint}")
