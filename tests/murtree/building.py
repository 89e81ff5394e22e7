"""Estimators and solvers with options of the search given beside their parameters."""

from dataclasses import fields

from odtlib import MurTreeSearch

OPTIONS = {field.name for field in fields(MurTreeSearch)}


def build(what, *arguments, **options):
    """Call a class with its parameters; the options of the search become ``search``."""
    chosen = {name: value for name, value in options.items() if name in OPTIONS}
    others = {name: value for name, value in options.items() if name not in OPTIONS}
    return what(*arguments, search=MurTreeSearch(**chosen), **others)
