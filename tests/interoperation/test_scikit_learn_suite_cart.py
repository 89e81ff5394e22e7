"""scikit-learn's tests of its trees with CARTClassifier, grown without a limit as they are."""

from __future__ import annotations

import pytest

from odtlib import CARTClassifier
from tests.interoperation.scikit_learn_suite import mark_difference, suite_with


def make(**given):
    return CARTClassifier(**{"max_depth": None, **given})


def make_random(**given):
    return make(**{"splitter": "random", "max_features": "sqrt", **given})


globals().update(suite_with({"DecisionTreeClassifier": make, "ExtraTreeClassifier": make_random}))


@pytest.fixture(autouse=True)
def expected_difference(request):
    mark_difference(request, "CARTClassifier")
