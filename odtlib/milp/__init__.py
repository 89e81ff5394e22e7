"""Integer programs for trees: BinOCT, OCT, the flow model, and the layer that they are built on.

Names are loaded on first use: the child process that runs a solver needs none of the estimators.
"""

from __future__ import annotations

import importlib

_HOME = {
    "BinOCTClassifier": "odtlib.milp.binoct",
    "FlowOCTClassifier": "odtlib.milp.flow",
    "Model": "odtlib.mip.model",
    "OCTClassifier": "odtlib.milp.oct",
}

__all__ = list(_HOME)


def __getattr__(name):
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'odtlib.milp' has no attribute {name!r}")


def __dir__():
    return sorted(__all__)
