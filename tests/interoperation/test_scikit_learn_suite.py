"""scikit-learn's own tests of its trees, with our estimators in the place of its classes.

The file ``sklearn/tree/tests/test_tree.py`` of the installed scikit-learn is run with
``DecisionTreeClassifier`` and ``ExtraTreeClassifier`` replaced by MurTree, and the regressors by
MurTree's regressor, whose ``loss`` is their ``criterion``. Parameters that ours do not have are
dropped. What fails on purpose stands in ``scikit_learn_differences.toml`` with the reason;
everything else has to pass, and a difference that has gone has to leave the list.
"""

from __future__ import annotations

import inspect
import os
import re
import tomllib
from pathlib import Path
from unittest import mock

import pytest
import sklearn.tree
import sklearn.tree._classes

from odtlib import MurTreeClassifier, MurTreeRegressor

SUITE = Path(sklearn.tree.__file__).parent / "tests" / "test_tree.py"
DIFFERENCES = Path(__file__).with_name("scikit_learn_differences.toml")


def in_the_place_of(name, model, **settings):
    """Return a function that is called like one of scikit-learn's classes and makes ours."""
    known = set(inspect.signature(model).parameters)

    def make(criterion=None, **given):
        if criterion in ("squared_error", "absolute_error"):
            given["loss"] = criterion
        used = {key: value for key, value in given.items() if key in known and value is not None}
        return model(**{**settings, **used})

    make.__name__ = name
    return make


REPLACED = {
    "DecisionTreeClassifier": (MurTreeClassifier, {"max_depth": 3, "binarizer": "all"}),
    "ExtraTreeClassifier": (MurTreeClassifier, {"max_depth": 3, "binarizer": "quantile"}),
    "DecisionTreeRegressor": (MurTreeRegressor, {"max_depth": 3}),
    "ExtraTreeRegressor": (MurTreeRegressor, {"max_depth": 3}),
}


def made_with_ours():
    """Return the test functions of scikit-learn's file, made with our estimators."""
    ours = {name: in_the_place_of(name, model, time_limit=2, **settings)
            for name, (model, settings) in REPLACED.items()}
    scope = {"__name__": "sklearn.tree.tests.test_tree", "__file__": str(SUITE)}
    with mock.patch.multiple(sklearn.tree, **ours), \
            mock.patch.multiple(sklearn.tree._classes, **ours):
        exec(compile(SUITE.read_text(encoding="utf-8"), SUITE, "exec"), scope)
    return {name: value for name, value in scope.items() if name.startswith("test_")}


# More than a minute: in the job of its own, `make test-interoperation`.
if SUITE.exists() and os.environ.get("ODT_INTEROPERATION"):
    globals().update(made_with_ours())


@pytest.fixture
def global_random_seed():
    return 42


@pytest.fixture(autouse=True)
def expected_difference(request):
    """Mark what fails on purpose; a pattern is matched with the whole name of the test."""
    for reason, patterns in tomllib.loads(DIFFERENCES.read_text(encoding="utf-8")).items():
        if any(re.fullmatch(pattern, request.node.name) for pattern in patterns):
            request.applymarker(pytest.mark.xfail(reason=reason, strict=True))
