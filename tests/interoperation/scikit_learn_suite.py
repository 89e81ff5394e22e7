"""scikit-learn's own tests of its trees, made with our estimators in the place of its classes.

The file ``sklearn/tree/tests/test_tree.py`` of the installed scikit-learn is run with its classes
replaced.  Where it reads the arrays of a fitted tree, it gets those of ``to_sklearn()``.  What
fails on purpose stands in ``scikit_learn_differences.toml`` with the reason; everything else has to
pass, and a difference that has gone has to leave the list.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from unittest import mock

import pytest
import sklearn.tree
import sklearn.tree._classes

SUITE = Path(sklearn.tree.__file__).parent / "tests" / "test_tree.py"
DIFFERENCES = Path(__file__).with_name("scikit_learn_differences.toml")


def scikit_learn_tree(model):
    """Return the fitted tree of an estimator of ours or of scikit-learn, in the form of that."""
    return model.to_sklearn().tree_ if hasattr(model, "to_sklearn") else model.tree_


def suite_with(makers):
    """Return the test functions of scikit-learn's file, with ``makers`` in the place of classes.

    They take more than a minute, and come only to the job of their own, `make test-interoperation`.
    """
    if not (SUITE.exists() and os.environ.get("ODT_INTEROPERATION")):
        return {}
    for name, make in makers.items():
        make.__name__ = name
    text = re.sub(r"getattr\((.*)\.tree_,", r"getattr(scikit_learn_tree(\1),", re.sub(
        r"\b(\w+)\.tree_\b", r"scikit_learn_tree(\1)", SUITE.read_text(encoding="utf-8")))
    scope = {"__name__": "sklearn.tree.tests.test_tree", "__file__": str(SUITE),
             "scikit_learn_tree": scikit_learn_tree}
    with mock.patch.multiple(sklearn.tree, **makers), \
            mock.patch.multiple(sklearn.tree._classes, **makers):
        exec(compile(text, SUITE, "exec"), scope)
    return {name: value for name, value in scope.items() if name.startswith("test_")}


def mark_difference(request, section):
    """Mark what fails on purpose; a pattern is matched with the whole name of the test."""
    differences = tomllib.loads(DIFFERENCES.read_text(encoding="utf-8"))[section]
    for reason, patterns in differences.items():
        if any(re.fullmatch(pattern, request.node.name) for pattern in patterns):
            request.applymarker(pytest.mark.xfail(reason=reason, strict=True))
