"""Optimal decision trees: exact solvers and fast heuristics, compiled by numba.

Public names are loaded on first use, so that ``import odtlib`` stays cheap and compiles nothing.
"""

from __future__ import annotations

import importlib

__version__ = "1.0.0"

_HOME = {
    "DecisionTree": "odtlib.tree",
    "SolveReport": "odtlib.report",
    "CARTClassifier": "odtlib.heuristics",
    "TunedCARTClassifier": "odtlib.heuristics",
    "LocalSearchTreeClassifier": "odtlib.heuristics",
    "ColumnGenerationClassifier": "odtlib.column_generation",
    "ColumnGenerationSearch": "odtlib.column_generation",
    "RestrictedTreeClassifier": "odtlib.column_generation",
    "MurTreeClassifier": "odtlib.murtree",
    "MurTreeRegressor": "odtlib.murtree",
    "MurTreeSearch": "odtlib.murtree",
    "SurvivalTree": "odtlib.murtree",
    "ContinuousTreeClassifier": "odtlib.continuous",
    "ContinuousTreeRegressor": "odtlib.continuous",
    "ConstrainedTreeRegressor": "odtlib.constrained",
    "ConstrainedTreeClassifier": "odtlib.constrained",
    "ConstrainedForestRegressor": "odtlib.constrained",
    "ProjectedRegressor": "odtlib.constrained",
    "OptimalConstrainedTreeRegressor": "odtlib.constrained",
}

__all__ = [*_HOME, "__version__"]


def __getattr__(name):
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'odtlib' has no attribute {name!r}")


def __dir__():
    return sorted(__all__)
