"""scikit-learn's tests of its trees with MurTree; parameters that it does not have are dropped."""

from __future__ import annotations

import inspect

import pytest

from odtlib import MurTreeClassifier, MurTreeRegressor
from odtlib.binarize import QuantileBinarizer
from tests.interoperation.scikit_learn_suite import mark_difference, suite_with


def in_the_place_of(model, **settings):
    """Return a function that is called like one of scikit-learn's classes and makes ours."""
    known = set(inspect.signature(model).parameters)

    def make(criterion=None, **given):
        if criterion in ("squared_error", "absolute_error"):
            given["loss"] = criterion
        used = {key: value for key, value in given.items() if key in known and value is not None}
        return model(**{"max_depth": 3, "time_limit": 6, **settings, **used})

    return make


# All thresholds where values are few; all of thousands would be 67,562 columns and 36 gigabytes.
MANY = QuantileBinarizer(n_bins=128)

globals().update(suite_with({
    "DecisionTreeClassifier": in_the_place_of(MurTreeClassifier, binarizer=MANY),
    "ExtraTreeClassifier": in_the_place_of(MurTreeClassifier, binarizer="quantile"),
    "DecisionTreeRegressor": in_the_place_of(MurTreeRegressor),
    "ExtraTreeRegressor": in_the_place_of(MurTreeRegressor)}))


@pytest.fixture(autouse=True)
def expected_difference(request):
    mark_difference(request, "MurTree")
