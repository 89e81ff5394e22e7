"""Integer programs for trees: BinOCT, OCT and the flow model.

Names are loaded on first use.
"""

from __future__ import annotations

import importlib

_MODULES = {
    "BinOCTClassifier": "odtlib.milp.binoct",
    "FlowOCTClassifier": "odtlib.milp.flow",
    "OCTClassifier": "odtlib.milp.oct",
}

__all__ = list(_MODULES)


def __getattr__(name):
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'odtlib.milp' has no attribute {name!r}")


def __dir__():
    return sorted(__all__)
