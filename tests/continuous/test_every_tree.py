"""What all trees say of small instances: cases of tests/fuzz, with fixed seeds."""

import pytest
from fuzz.running import agree
from scale import SCALE

from odtlib.continuous import solver


@pytest.mark.parametrize("wide", [False, True])
def test_all_trees_agree_on_classes(wide, monkeypatch):
    monkeypatch.setattr(solver, "NARROW_ROWS", 0 if wide else solver.NARROW_ROWS)
    statuses = agree("continuous_classifier", (100 if wide else 800) * SCALE, seed=int(wide))
    assert {"optimal", "heuristic"} <= set(statuses)


def test_all_trees_agree_on_numbers():
    assert len(agree("continuous_regressor", 300 * SCALE)) > 150
