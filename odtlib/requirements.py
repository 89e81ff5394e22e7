"""Packages that only some methods and commands need: import one, or say how to get it."""

from __future__ import annotations

import importlib
from types import ModuleType

DISTRIBUTION = "optimal-decision-trees"   # the name that pip knows


def needs(module: str, extra: str, what: str) -> ModuleType:
    """Import a package that not every installation has.

    Parameters
    ----------
    module : str
        Name to import, ``highspy`` or ``distributed``.
    extra : str
        The extra of this package that brings it.
    what : str
        What needs the package; the message begins with these words.

    Returns
    -------
    module

    Raises
    ------
    ModuleNotFoundError
        If it is not installed; the message says what to install.
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
