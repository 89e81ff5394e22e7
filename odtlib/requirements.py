"""Packages that only some methods and commands need: import one, or say how to get it."""

from __future__ import annotations

import importlib
from types import ModuleType

DISTRIBUTION = "optimal-decision-trees"   # the name that pip knows


def needs(module: str, extra: str, what: str) -> ModuleType:
    """Import a package that not every installation has, such as ``highspy``, or say how to get it.

    ``extra`` is the extra of this distribution that brings it, and ``what``, with which the message
    of the ModuleNotFoundError begins, says what needs it.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise   # installed, but one of its own requirements is missing
        raise ModuleNotFoundError(f"{what} needs {package}, which is not installed; "
                                  f"{install(extra)} brings it.", name=package) from None


def install(extra: str) -> str:
    """Return the command that installs an extra."""
    return f'pip install "{DISTRIBUTION}[{extra}]"'
