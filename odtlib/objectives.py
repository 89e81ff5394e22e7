"""Objectives: what a tree minimises, and the form of the reader's own, with a fast logarithm.

They are the ``loss`` of :class:`odtlib.MurTreeRegressor` and the ``objective`` of
:class:`odtlib.MurTreeClassifier`, and are loaded on first use.
"""

from __future__ import annotations

import importlib

_HOME = {
    "AdditiveObjective": "additive",
    "SquaredError": "squared_error",
    "Poisson": "poisson",
    "Entropy": "shares",
    "Gini": "shares",
    "LinearLeaves": "linear",
    "log_ratio": "logarithm",
}

__all__ = list(_HOME)


def __getattr__(name):
    if name in _HOME:
        return getattr(importlib.import_module(f"odtlib.murtree.objectives.{_HOME[name]}"), name)
    raise AttributeError(f"module 'odtlib.objectives' has no attribute {name!r}")


def __dir__():
    return sorted(__all__)
