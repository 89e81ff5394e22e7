"""What tests of pictures share: figures are closed, no setting changes, and random trees."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pytest


@pytest.fixture(autouse=True)
def close_figures():
    before = dict(matplotlib.rcParams)
    yield
    assert dict(matplotlib.rcParams) == before
    plt.close("all")


def grown(rng, depth, n_features, n_classes, full=False):
    if depth == 0 or (not full and rng.random() < 0.2):
        return int(rng.integers(n_classes))
    return (int(rng.integers(n_features)), float(rng.normal()),
            grown(rng, depth - 1, n_features, n_classes, full),
            grown(rng, depth - 1, n_features, n_classes, full))
