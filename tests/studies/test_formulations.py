"""The hierarchy of formulations: its theorem, on random instances, and its counterexamples."""

import numpy as np
import pytest

from odtbook.studies.formulations import hierarchy, random_problem, relaxation
from odtlib.column_generation import optimum
from odtlib.column_generation.cuts import violated_rows
from odtlib.column_generation.generation import ColumnGeneration
from odtlib.column_generation.master import Master
from odtlib.column_generation.pricing import Enumeration
from odtlib.report import Clock


@pytest.mark.parametrize("seed", range(8))
def test_longer_windows_and_larger_columns_are_never_weaker(seed):
    depth = 2 + seed % 2
    problem = random_problem(seed, n_rows=9, n_features=4, n_candidates=3, depth=depth, n_classes=3)
    best = problem.total - optimum(problem)
    value = {(h, w): relaxation(problem, h, w)["value"]
             for h in range(depth + 1 - seed % 2) for w in range(1, depth + 1)}
    for (h, w), z in value.items():
        assert z >= best - 1e-7
        assert z >= value.get((h, w + 1), -np.inf) - 1e-7
        assert z >= value.get((h + 1, w), -np.inf) - 1e-7
        if w >= depth - h:
            assert z == pytest.approx(best, abs=1e-7)


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_leaf_columns_linked_node_by_node_are_the_master(seed, rows):
    problem = random_problem(seed, n_rows=12, n_features=4, n_candidates=3)
    master = Master(problem)
    master.add_tree(np.zeros(problem.n_nodes, int))
    generation = ColumnGeneration(master, [Enumeration()], Clock(),
                                  row_cuts="upper" if rows else "none")
    found = generation.solve().relaxation
    assert relaxation(problem, 0, 1, rows)["value"] == pytest.approx(found.value, abs=1e-6)
    assert not rows or len(violated_rows(master, found.x, "upper")) == 0


def test_the_order_of_windows_and_columns_has_counterexamples_both_ways():
    a, b = ({form: relaxation(random_problem(seed, 3, 3, 2), *form)["value"]
             for form in ((0, 1), (0, 2), (1, 1), (2, 1))} for seed in (1, 10))
    assert a[0, 2] > a[1, 1] + 0.9 and a[1, 1] == pytest.approx(a[2, 1])
    assert b[0, 1] > b[1, 1] + 0.9 and b[1, 1] > b[0, 2] + 0.4 and b[0, 2] > b[2, 1] + 0.9


def test_the_table_measures_the_gap():
    lines = hierarchy([random_problem(3, 10, 4, 2)], [(0, 1, False), (2, 1, False)])
    assert lines["gap"].iloc[0] > 0 and lines["gap"].iloc[1] == pytest.approx(0, abs=1e-7)
    assert lines["columns"].tolist() == [8 * 2 ** 3, 2 * 2 ** 4]
    assert lines["links"].tolist() == [8 * 6, 2 * 2]
