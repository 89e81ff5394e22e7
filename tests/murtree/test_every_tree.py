"""What all trees say of small instances: cases of tests/fuzz, with fixed seeds."""

import pytest
from fuzz.running import agree
from scale import SCALE

FITS = {"murtree_errors": 1200, "murtree_deep": 300, "murtree_levels": 1000, "murtree_costs": 300,
        "murtree_allowed": 300, "murtree_categories": 120, "murtree_f1": 800,
        "murtree_balanced": 300, "murtree_fair": 3000, "murtree_regressor": 300,
        "pareto_front": 1000, "optimal_trees": 1000, "good_trees": 600}


@pytest.mark.parametrize("name", FITS)
def test_all_trees_agree(name):
    assert len(agree(name, FITS[name] * SCALE)) > FITS[name] / 3


@pytest.mark.parametrize("name", ["murtree_lookahead", "regressor_lookahead"])
def test_looking_ahead_may_prove_the_optimum_or_not(name):
    assert {"optimal", "heuristic"} <= set(agree(name, 200 * SCALE))
