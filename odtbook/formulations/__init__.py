"""Integer programs for trees: BinOCT, OCT and the flow model, for HiGHS and CP-SAT.

Names are loaded on first use: the child process that runs a solver needs only its engine.
"""

from __future__ import annotations

import importlib

_HOME = {
    "BinOCTClassifier": "odtbook.formulations.binoct",
    "BinOCTSearch": "odtbook.formulations.binoct",
    "FlowOCTClassifier": "odtbook.formulations.flow",
    "Model": "odtbook.formulations.model",
    "OCTClassifier": "odtbook.formulations.oct",
}

__all__ = list(_HOME)


def __getattr__(name):
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'odtbook.formulations' has no attribute {name!r}")


def __dir__():
    return sorted(__all__)
