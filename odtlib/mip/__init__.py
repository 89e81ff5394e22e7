"""Mixed-integer programs for HiGHS and CP-SAT: models, solver runs, units of weights.

Names are loaded on first use: the child process that runs a solver needs only its engine.
"""

from __future__ import annotations

import importlib

_MODULES = {
    "Model": "odtlib.mip.model",
    "run_cp_sat": "odtlib.mip.run",
    "run_highs": "odtlib.mip.run",
}

__all__ = list(_MODULES)


def __getattr__(name):
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'odtlib.mip' has no attribute {name!r}")


def __dir__():
    return sorted(__all__)
