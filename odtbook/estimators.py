"""All estimators of the project, by name: the solvers of odtlib and the integer programs."""

from __future__ import annotations

import importlib

import odtlib

_HOME = {name: "odtlib" for name in odtlib.__all__ if name.endswith(("Classifier", "Regressor"))}
_HOME |= dict.fromkeys(("OCTClassifier", "FlowOCTClassifier", "BinOCTClassifier"),
                       "odtbook.formulations")
NAMES = tuple(_HOME)


def class_of(name: str) -> type:
    """Return the class of an estimator; its package is loaded on first use."""
    return getattr(importlib.import_module(_HOME[name]), name)
