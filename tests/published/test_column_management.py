"""Columns that leave the master: the relaxation stays, and so do the master's own lists."""

import numpy as np
import pytest

from odtbook.published import ManagedColumns
from odtlib.column_generation.generation import ColumnGeneration
from odtlib.column_generation.master import Master
from odtlib.column_generation.paths import RestrictedProblem
from odtlib.column_generation.pricing import Enumeration
from odtlib.report import Clock


def solved(kind, seed, link, row_cuts, **options):
    random = np.random.default_rng(seed)
    X = random.integers(0, 8, (40, 4)).astype(float)
    y = random.integers(0, 3, 40)
    splits = [(f, t + 0.5) for f in range(4) for t in range(7)]
    problem = RestrictedProblem(X, y, 3, [splits[k % 3::3] for k in range(7)])
    master = Master(problem, link)
    master.add_tree(np.zeros(7, np.int64))
    generation = kind(master, [Enumeration()], Clock(), row_cuts=row_cuts, **options)
    return generation, generation.solve()


@pytest.mark.parametrize("link, row_cuts", [("node", "none"), ("node", "upper"), ("node", "equal"),
                                            ("prefix", "none")])
def test_the_relaxation_is_the_same_without_the_columns_that_left(link, row_cuts):
    dropped = 0
    for seed in range(6):
        _, plain = solved(ColumnGeneration, seed, link, row_cuts)
        managed, found = solved(ManagedColumns, seed, link, row_cuts, least=0.2)
        assert found.converged and plain.converged
        assert found.relaxation.value == pytest.approx(plain.relaxation.value, abs=1e-6)
        assert found.bound == pytest.approx(plain.bound, abs=1e-6)
        master = managed.master
        assert len(found.relaxation.x) == len(master.leaf) == len(master.path)
        assert master.lp.getNumCol() == master.first_path + master.n_columns
        assert [len(numbers) for numbers in master.known] == np.bincount(
            master.leaf, minlength=len(master.known)).tolist()
        use = master.split_values(found.relaxation)
        assert all(values.sum() == pytest.approx(1.0) for values in use)
        dropped += managed.n_dropped
    assert dropped > 0


def test_used_columns_gain_nothing_by_one_more_and_the_first_ones_stay():
    generation, found = solved(ColumnGeneration, 1, "node", "upper")
    reduced = generation.master.reduced_costs()
    assert reduced.shape == found.relaxation.x.shape and reduced.max() < 1e-6
    assert reduced[found.relaxation.x > 1e-6] == pytest.approx(0.0, abs=1e-6)
    managed, _ = solved(ManagedColumns, 1, "node", "upper", least=0.0)
    start = managed.master.problem.path_number(np.arange(8), np.zeros(7, np.int64))
    assert managed.master.path[:8].tolist() == start.tolist()
