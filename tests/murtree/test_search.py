"""The search: slices, threads, bounds and caches change its work and not what it finds."""

from itertools import product

import numpy as np
import pytest
from numba import njit

from odtlib import MurTreeClassifier
from odtlib.murtree import _search as S
from odtlib.murtree._cache import find, pack_details, store_entry
from odtlib.murtree._kernels import bound_by_earlier_node, bound_by_similarity
from odtlib.murtree.preparation import MAX_EARLIER_NODES, prepare
from odtlib.murtree.solver import Solver
from odtlib.report import Clock
from tests.murtree.building import build
from tests.naive import rows_with


def cost_of(nested, problem, X, y, weight, penalty):
    """Return cost, size, depth and smallest leaf of nested tuples."""
    def go(part, rows):
        if not isinstance(part, tuple):
            return weight[rows][y[rows] != part].sum(), 0, 0, len(rows)
        one = X[rows, problem.columns[part[0]]] == 1
        zero_side, one_side = go(part[1], rows[~one]), go(part[2], rows[one])
        return (zero_side[0] + one_side[0], zero_side[1] + one_side[1] + 1,
                max(zero_side[2], one_side[2]) + 1, min(zero_side[3], one_side[3]))
    errors, size, depth, leaf = go(nested, np.arange(len(y)))
    return errors + penalty * size, size, depth, leaf


def weights(kind, seed, y):
    """Return weights of rows, or of classes, or none, as the name of a kind of data says."""
    rng = np.random.default_rng(seed)
    return (rng.random(len(y)) if kind == "weights" else
            rng.integers(1, 3000, 2)[y] if kind == "class weights" else None)


def blobs(seed=0, n_rows=120, n_columns=14, n_classes=2):
    rng = np.random.default_rng(seed)
    X = (rng.random((n_rows, n_columns)) < 0.5).astype(np.uint8)
    y = (X[:, 0] + (X[:, 1] & X[:, 2]) + (X[:, 3] ^ X[:, 4]) + (rng.random(n_rows) < 0.15))
    return X, y.astype(np.int64) % n_classes


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("depth, nodes", [(4, 15), (4, 8), (5, 9)])
def test_slices_of_any_length_give_the_same(n_classes, depth, nodes):
    X, y = blobs(n_classes=n_classes, n_columns=10)
    problem = prepare(X, y, n_classes)
    whole = build(Solver, problem, depth, nodes)
    whole.solve(depth, nodes)
    sliced = build(Solver, problem, depth, nodes)
    sliced._open(np.arange(len(problem.rows), dtype=np.int32), depth, nodes, nodes, np.inf, 0.0)
    n_slices, bounds = 0, []
    while sliced.control[S.MODE] != S.DONE:
        sliced._run_kernel(1)
        sliced._grow()
        n_slices += 1
        bounds.append(sliced.bound())
        assert sliced.bound() <= whole.value() <= sliced.incumbent()
    assert n_slices > 20 and (np.diff(bounds) >= 0).all() and len(set(bounds)) > 2
    assert sliced.incumbent() == whole.value()
    assert sliced.counters.tolist() == whole.counters.tolist()


def test_a_slice_counts_the_node_budgets_of_a_split_as_work():
    """A split has all pairs of budgets of its children: a slice took a hundred times as long."""
    X, _ = blobs(n_rows=200)
    y = np.random.default_rng(1).integers(0, 2, len(X))
    problem, work = prepare(X, y, 2), 200_000
    nodes = len(problem.rows) - 1
    solver = build(Solver, problem, nodes, nodes)
    solver._open(np.arange(nodes + 1, dtype=np.int32), nodes, nodes, nodes, np.inf, 0.0)
    while solver.control[S.LEVEL] < 2:          # there every number of nodes is asked for
        solver._run_kernel(1)
        solver._grow()
    before, solver.control[S.ROOM] = solver.counters[S.NODES], 2 ** 40
    solver._run_kernel(work)
    entered = solver.counters[S.NODES] - before
    assert solver.control[S.MODE] != S.DONE and 0 < entered * nodes ** 2 // 2 < 50 * work


def stairs(seed=1, n_rows=150):
    """Thresholds of a few numbers: neighbouring columns are similar, as in real data."""
    rng = np.random.default_rng(seed)
    numbers = rng.random((n_rows, 4))
    X = np.concatenate([numbers <= t for t in (0.2, 0.4, 0.45, 0.6, 0.8)], axis=1).astype(np.uint8)
    y = (numbers[:, 0] > 0.5) ^ (numbers[:, 1] > 0.42) ^ (rng.random(n_rows) < 0.15)
    return np.hstack([X, X[:, :1]]), y.astype(np.int64)


@pytest.mark.parametrize("depth", [3, 4])
def test_the_similarity_bound_cuts_no_optimum(depth):
    """On data where it prunes much; all node budgets, alone and at once."""
    rng = np.random.default_rng(depth)
    for seed in range(60):
        X, y = stairs(seed, n_rows=int(rng.integers(10, 60)))
        X = X[:, rng.permutation(21)[:6]]
        problem = prepare(X, y, 2)
        largest = 2 ** depth - 1
        every = build(Solver, problem, depth, largest)
        assert every.solve(depth, largest, smallest=0)
        for nodes in range(largest + 1):
            alone = build(Solver, problem, depth, nodes, similarity_bound=bool(seed % 2))
            assert alone.solve(depth, nodes)
            plain = build(Solver, problem, depth, nodes, similarity_bound=False, cache=None)
            assert plain.solve(depth, nodes)
            assert every.value(nodes) == alone.value() == plain.value()


@pytest.mark.parametrize("depth, kind", [(4, "counts"), (5, "counts"), (4, "weights"),
                                         (4, "class weights"), (4, "penalty"), (4, "classes")])
def test_the_bounds_of_earlier_nodes_cut_no_optimum(depth, kind):
    """More of them than are kept, and nodes that are studied again for other budgets."""
    used = most = 0
    for seed in range(12):
        X, y = stairs(seed, n_rows=70)
        if kind == "classes":
            y = (y + (np.random.default_rng(seed).random(len(y)) < 0.3)).astype(np.int64)
        weight = weights(kind, seed, y)
        problem = prepare(X, y, int(y.max()) + 1, weight)
        penalty, largest = 0.6 if kind == "penalty" else 0.0, 2 ** depth - 1
        with_them, without = (build(Solver, problem, depth, largest, split_penalty=penalty,
                                    similarity_bound=bound)
                              for bound in (True, "siblings"))
        assert with_them.solve(depth, largest, smallest=0)
        assert without.solve(depth, largest, smallest=0)
        for nodes in range(largest + 1):
            assert with_them.value(nodes) == pytest.approx(without.value(nodes), rel=1e-12)
        used += with_them.counters[S.EARLIER_BOUNDS]
        most = max(most, with_them.state[0, S.N_EARLIER])
    assert used > 1000 and most > MAX_EARLIER_NODES


@njit
def by_earlier_node(*arguments):
    bound_by_earlier_node(*arguments)


@njit
def by_similarity(*arguments):
    bound_by_similarity(*arguments)


def counts_of(X, width):
    """Return how many rows have two columns, one, and any, laid out like the totals of a node."""
    n = X.shape[1]
    totals = np.zeros((n + 1, width), np.uint16)
    totals[:n, :n], totals[n, :n] = X.T @ X, X.sum(axis=0)
    return np.append(totals, np.uint16(len(X)))


def test_bounds_from_other_data_sets_equal_those_from_lists_of_rows():
    rng = np.random.default_rng(8)
    for _ in range(300):
        n_rows, n_columns = int(rng.integers(1, 40)), int(rng.integers(2, 9))
        X = (rng.random((n_rows, n_columns)) < rng.random()).astype(np.int64)
        feature, values = int(rng.integers(n_columns)), rng.integers(0, 20, 2).astype(float)
        start = rng.integers(0, 4, (2, n_columns)).astype(float)
        found = start.copy()
        by_similarity(feature, counts_of(X, 32), n_columns, 32, values[1], values[0], found[1],
                      found[0])
        for j, side in product(range(n_columns), (0, 1)):
            child = rows_with(X, (j, side))
            expected = max(start[side, j], *(
                values[other] - len(rows_with(X, (feature, other)) - child) for other in (0, 1)))
            assert found[side, j] == expected
        # The node is one side of a split of the parent; it has lost some columns, but not FEATURE.
        name, side, other_side = int(rng.integers(n_columns)), *map(int, rng.integers(0, 2, 2))
        own = np.flatnonzero((rng.random(n_columns) < 0.7) | (np.arange(n_columns) == feature))
        known, found = rng.integers(0, 20, (2, n_columns)).astype(float), start[:, own]
        inside = X[:, name] == side
        by_earlier_node(feature, other_side, counts_of(X, 32), n_columns, 32,
                    int(np.flatnonzero(own == feature)[0]), counts_of(X[inside][:, own], 32),
                    len(own), 32, own, known[1], known[0], found[1], found[0])
        for (j, column), child in product(enumerate(own), (0, 1)):
            lost = (rows_with(X, (feature, other_side), (column, child))
                    - rows_with(X, (name, side)))
            assert found[child, j] == max(start[child, column], known[child, column] - len(lost))


@pytest.mark.parametrize("n_jobs", [2, 3])
@pytest.mark.parametrize("kind", ["two classes", "classes", "weights", "penalty", "no cache"])
def test_threads_find_the_same_trees(monkeypatch, kind, n_jobs):
    """Also for all node budgets at once, and with slices so short that all threads have work."""
    monkeypatch.setattr("odtlib.fit.FIRST_SLICE", 3000)
    monkeypatch.setattr("odtlib.fit.LONGEST_SLICE", 0.002)
    settings = {"split_penalty": 0.7} if kind == "penalty" else (
        {"cache": None} if kind == "no cache" else {})
    taken = 0
    for seed in range(6):
        X, y = blobs(seed, n_classes=3 if kind == "classes" else 2)
        weight = weights(kind, seed, y)
        problem = prepare(X, y, 3 if kind == "classes" else 2, weight)
        alone = build(Solver, problem, 4, 15, **settings)
        together = build(Solver, problem, 4, 15, n_jobs=n_jobs, **settings)
        for smallest in (15, 0):
            assert alone.solve(4, 15, smallest=smallest)
            assert together.solve(4, 15, smallest=smallest)
            budgets = range(smallest, 16)
            for nodes in budgets:
                assert together.value(nodes) == pytest.approx(alone.value(nodes), rel=1e-12)
            if kind != "weights":            # sums of floats depend on their order
                assert together.trees(4, budgets) == alone.trees(4, budgets)
        taken += sum(int(worker.shared[1][:, 0].sum()) for worker in together._workers)
    assert taken > 100


def test_threads_prove_that_nothing_is_below_an_upper_bound(monkeypatch):
    monkeypatch.setattr("odtlib.fit.FIRST_SLICE", 3000)
    X, y = blobs(5)
    problem = prepare(X, y, 2)
    alone, together = build(Solver, problem, 4, 15), build(Solver, problem, 4, 15, n_jobs=2)
    assert alone.solve(4, 15)
    assert together.solve(4, 15, upper=alone.value())
    assert together.incumbent() == np.inf and together.value() == alone.value()


@njit
def enter(table, values, low, high, value, feature):
    """Keep an entry and find it again; kernels are for compiled callers only."""
    word = pack_details(1, 3, feature, 4, 7)
    return store_entry(table, values, low, high, value, word), find(table, values, low, high), word


@njit
def look_for(table, values, low, high):
    return find(table, values, low, high)


def test_an_entry_written_by_two_threads_at_once_is_no_entry():
    """Any mixture of the words of two entries is found under neither key."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        entries = []
        for value in (float(rng.integers(1, 9)), float(rng.integers(9, 20))):
            table = np.zeros(32, np.uint64)
            key = rng.integers(0, 2 ** 63, 2, dtype=np.uint64)
            kept, found, word = enter(table, table.view(np.float64), key[0], key[1], value,
                                      int(rng.integers(0, 50)))
            assert kept == 1 and found == (value, word)
            entries.append((key, table[:4].copy(), word))
        (_, old, _), (_, new, _) = entries
        for mixture in range(1, 15):
            words = [(old, new)[mixture >> k & 1][k] for k in range(4)]
            for key, own, word in entries:
                table = np.zeros(32, np.uint64)
                table[:4] = words
                found = look_for(table, table.view(np.float64), key[0], key[1])[1]
                assert found == 0 or (found == word and words == own.tolist())


@pytest.mark.parametrize("probes", [0, 1, 8, 100])
def test_exact_children_change_the_work_only(probes):
    for seed in range(4):
        X, y = stairs(seed, n_rows=100)
        problem = prepare(X, y, 2)
        plain, other = (build(Solver, problem, 5, 31, n_exact_children=n) for n in (0, probes))
        assert plain.solve(5, 31, smallest=0) and other.solve(5, 31, smallest=0)
        assert [other.value(n) for n in range(32)] == [plain.value(n) for n in range(32)]
        assert (other.counters[S.CHILDREN_PROBED] > 0) == (probes > 0)


def test_departures_from_the_first_choice_never_lose_and_reach_the_optimum():
    for seed in range(5):
        X, y = stairs(seed, n_rows=80)
        problem = prepare(X[:, :9], y, 2)
        solver = build(Solver, problem, 5, 31)
        solver.solve(5, 31)
        optimum, costs, known = solver.value(), [], {}
        for allowed in range(20):
            cost, nested = solver.discrepancy_tree(5, allowed, Clock(), known)
            assert cost == solver.discrepancy_tree(5, allowed, Clock(), {})[0]
            assert cost_of(nested, problem, X[:, :9], y, np.ones(len(y)), 0.0)[0] \
                == cost + problem.offset
            costs.append(cost)
        assert costs == sorted(costs, reverse=True) and costs[-1] == optimum
        # a call that the clock ends returns the best tree that is known
        assert solver.discrepancy_tree(5, 30, Clock(0.0), known)[0] == optimum
        assert solver.discrepancy_tree(5, 3, Clock(0.0), {})[0] == solver._leaf(
            np.arange(len(problem.bits)))[0]


def test_looking_ahead_goes_on_with_two_levels_when_the_time_is_over():
    X, y = stairs(1, n_rows=120)
    problem = prepare(X[:, :9], y, 2)

    def cost(horizon, clock):
        nested, _, ended = build(Solver, problem, 6, 63).lookahead_tree(6, horizon, clock, 600)
        return cost_of(nested, problem, X[:, :9], y, np.ones(len(y)), 0.0)[0], ended

    assert cost(4, Clock(0.0)) == (cost(2, Clock())[0], "time_limit")


def test_a_tiny_cache_is_only_slower():
    X, y = blobs(3, n_rows=200, n_columns=18)
    problem = prepare(X, y, 2)
    large, small = build(Solver, problem, 5, 31), build(Solver, problem, 5, 31, memory_limit=0.002)
    large.solve(5, 31)
    small.solve(5, 31)
    assert small.value() == large.value()
    assert small.space.table.nbytes <= 2000
    assert small.counters[S.DEPTH_TWO_PAIRS] > large.counters[S.DEPTH_TWO_PAIRS]
    optimum = small.value() + problem.offset
    assert cost_of(small.tree(5), problem, X, y, np.ones(200), 0.0)[0] == optimum


def test_the_cache_grows():
    X, y = blobs(4, n_rows=300, n_columns=24)
    problem = prepare(X, y, 2)
    solver = build(Solver, problem, 5, 31, memory_limit=0.00205)
    assert len(solver.space.table) == 4 * 64
    solver.memory_limit = np.inf
    solver.pace.work = 1000
    solver.solve(5, 31)
    assert len(solver.space.table) > 4 * 64


def test_an_upper_bound_below_the_optimum_gives_a_bound():
    X, y = blobs(5)
    problem = prepare(X, y, 2)
    solver = build(Solver, problem, 3, 7)
    solver.solve(3, 7)
    optimum = solver.value()
    assert optimum > 2
    again = build(Solver, problem, 3, 7)
    assert again.solve(3, 7, upper=optimum)
    assert again.incumbent() == np.inf
    assert again.value() == optimum               # a bound that the refined rule makes tight
    assert build(Solver, problem, 3, 7).solve(3, 7, upper=optimum + 1)


@pytest.mark.parametrize("n_rows", [1, 7, 63, 64, 65, 1023, 1024, 1025, 2100])
def test_columns_that_split_alike_are_found_whatever_the_number_of_rows(n_rows):
    rng = np.random.default_rng(n_rows)
    X = rng.integers(0, 2, (n_rows, 6)).astype(np.uint8)
    late = X[:, 0].copy()
    late[-1] ^= 1                                   # differs from the first column in one row
    X = np.column_stack([X, X[:, 2], 1 - X[:, 3], late, np.ones(n_rows, np.uint8)])
    alike = {}
    for j, column in enumerate(X.T):
        if column.min() != column.max():
            alike.setdefault(tuple(column ^ column[0]), j)
    problem = prepare(X, np.arange(n_rows) % 2, 2, merge_rows=False)
    assert problem.columns.tolist() == sorted(alike.values())
    by_class = np.argsort(np.arange(n_rows) % 2, kind="stable")
    assert np.array_equal(problem.rows, X[np.ix_(by_class, problem.columns)])


def test_a_penalty_closes_subproblems_whose_better_trees_have_too_many_splits():
    """Without the penalty in the bounds of children the second search enters 41,833 nodes."""
    X, y = blobs(n_rows=300)
    problem = prepare(X, y, 2)
    costs = []
    for depth in (4, 8):
        solver = build(Solver, problem, depth, 2 ** depth - 1, split_penalty=6.0)
        assert solver.solve(depth, 2 ** depth - 1)
        costs.append(solver.value())
    assert costs[1] == costs[0]
    assert solver.counted()["nodes"] < 5_000


@pytest.mark.parametrize("n_columns", [992, 1000, 1024, 1025])
def test_lines_that_would_share_the_sets_of_a_cache_are_counted_as_others(n_columns):
    rng = np.random.default_rng(n_columns)
    X, y = rng.integers(0, 2, (60, n_columns)).astype(np.uint8), rng.integers(0, 2, 60)
    best = 0
    for first in (X == 0, X == 1):           # errors of the best stump on each side of each root
        below = [[(first * (y == c)[:, None]).astype(float).T @ second for c in range(2)]
                 for second in (X == 0, X == 1)]
        best = best + sum(np.minimum(*counts) for counts in below).min(axis=1)
    for weight in (None, np.full(60, 0.37)):
        found = MurTreeClassifier(2).fit(X, y, weight).report_
        assert found.objective == pytest.approx(best.min() * (1 if weight is None else 0.37))
