"""Optional tools: skipped where they are missing, unless the job of their own runs."""

from __future__ import annotations

import importlib
import os

import numpy as np
import pytest

from odtlib import ContinuousTreeRegressor, MurTreeClassifier, MurTreeRegressor

# Halves and quarters are the same numbers in float32, in which most of the tools compare.
N_ROWS, N_FEATURES = 120, 4


@pytest.fixture
def tool():
    """Import a tool, or skip the test; `make test-interoperation` fails instead."""
    def load(name):
        if os.environ.get("ODT_INTEROPERATION"):
            return importlib.import_module(name)
        return pytest.importorskip(name, exc_type=ImportError)

    return load


@pytest.fixture
def global_random_seed():
    """The seed of scikit-learn's own tests."""
    return 42


@pytest.fixture(scope="session")
def rows():
    """Feature values that float32 holds exactly."""
    return np.random.default_rng(5).integers(-8, 9, (N_ROWS, N_FEATURES)) / 4


@pytest.fixture(scope="session")
def two_classes(rows):
    """A fitted classifier with two classes."""
    y = np.where((rows[:, 0] > 0.3) ^ (rows[:, 2] < -0.2), "yes", "no")
    y[::11] = "no"
    return MurTreeClassifier(max_depth=3, binarizer="all").fit(rows, y)


@pytest.fixture(scope="session")
def three_classes(rows):
    """A fitted classifier with three classes."""
    y = np.digitize(rows[:, 1] + rows[:, 3], [-0.6, 0.9])
    return MurTreeClassifier(max_depth=3, binarizer="all").fit(rows, y)


@pytest.fixture(scope="session", params=["two_classes", "three_classes"])
def classifier(request):
    """Each fitted classifier."""
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="session", params=[MurTreeRegressor, ContinuousTreeRegressor],
                ids=lambda model: model.__name__)
def regressor(request, rows):
    """Each kind of exact regression tree, fitted."""
    y = 50 + 10 * (rows[:, 0] > 0.3) - 7 * (rows[:, 3] > 1.1) + rows[:, 1]
    return request.param(max_depth=2).fit(rows, y)
