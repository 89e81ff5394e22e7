"""Master, pricing, cuts and branch-and-price against definitions, linprog and the optimum."""

import itertools

import numpy as np
import pytest
from column_generation.reference import all_choices, draw_problem, errors, path_table, reopened
from scipy.optimize import linprog

from odtbook.published import PathPool, RandomPaths, Sweep
from odtbook.published.random_paths import some_reduced_costs
from odtbook.published.separation import row_cuts, violated_point
from odtbook.published.subproblems import Subproblems, build
from odtlib.column_generation.branch_and_price import BranchAndPrice, dive
from odtlib.column_generation.cuts import violated_rows
from odtlib.column_generation.generation import ColumnGeneration
from odtlib.column_generation.master import LINK_BYTES, Master, Relaxation
from odtlib.column_generation.pricing import Enumeration, all_reduced_costs
from odtlib.column_generation.restricted import optimum
from odtlib.fit import TooLarge
from odtlib.report import Clock


def first_tree(problem):
    return np.zeros(problem.n_nodes, np.int64)


def generate(problem, pricing=None, link="node", **options):
    """Run column generation from the first tree; return it and its outcome."""
    master = Master(problem, link)
    master.add_tree(first_tree(problem))
    generation = ColumnGeneration(master, pricing or [Enumeration()], Clock(), **options)
    return generation, generation.solve()


def full_relaxation(problem, rows=None, cut_points=None):
    """Value of Eqs. (1) to (4) over all paths, x >= 0, by scipy from the definition.

    ``rows``: None, "upper", "lower" or "equal" constraints for all training rows and for
    ``cut_points``, an array of branches.
    """
    n_rho = problem.n_splits
    columns, members = [], []
    points = np.concatenate([problem.goes_left, cut_points], axis=1) if cut_points is not None \
        else problem.goes_left
    for leaf in range(problem.n_leaves):
        nodes, to_left = problem.path_nodes(leaf)
        for choices, inside in path_table(problem, leaf):
            value = max(problem.weights[inside & (problem.y == c)].sum()
                        for c in range(problem.n_classes))
            columns.append((leaf, choices, value))
            follow = np.ones(points.shape[1], bool)
            for node, side, choice in zip(nodes, to_left, choices, strict=True):
                follow &= points[problem.start[node] + choice] == side
            members.append(follow)
    n = n_rho + len(columns)
    equalities, right = [], []
    for leaf in range(problem.n_leaves):
        line = np.zeros(n)
        line[[n_rho + i for i, c in enumerate(columns) if c[0] == leaf]] = 1
        equalities.append(line)
        right.append(1.0)
        for level, node in enumerate(problem.path_nodes(leaf)[0]):
            for a in range(problem.start[node + 1] - problem.start[node]):
                line = np.zeros(n)
                line[[n_rho + i for i, c in enumerate(columns)
                      if c[0] == leaf and c[1][level] == a]] = 1
                line[problem.start[node] + a] = -1
                equalities.append(line)
                right.append(0.0)
    member = np.zeros((points.shape[1], n))
    member[:, n_rho:] = np.array(members).T
    one = np.ones(len(member))
    upper = {None: (None, None), "upper": (member, one), "lower": (-member, -one),
             "equal": (np.concatenate([member, -member]), np.concatenate([one, -one]))}[rows]
    cost = np.concatenate([np.zeros(n_rho), [c[2] for c in columns]])
    answer = linprog(-cost, upper[0], upper[1], np.array(equalities), right)
    assert answer.status == 0
    return -answer.fun


def path_value(problem, inside):
    """What a path is worth by its definition; minus infinity where it has too few rows."""
    fewest, penalty, _ = problem.limits
    if 0 < inside.sum() < fewest:
        return -np.inf
    return max(problem.weights[inside & (problem.y == c)].sum()
               for c in range(problem.n_classes)) - (penalty if inside.any() else 0.0)


def random_duals(master, random):
    """Duals that no linear program produced, to price against."""
    return Relaxation(0.0, np.zeros(master.n_columns), [],
                      random.normal(size=len(master.ends)),
                      [random.normal(size=s[-1]) for s in master.level_start],
                      random.normal(size=master.n_cuts),
                      np.abs(random.normal(size=len(master.limit_rows))))


def column_table(problem, leaf, link):
    """List (choices, sets of rows) of the columns at a leaf: one path, or those of two siblings."""
    one = path_table(problem, leaf)
    if link == "node":
        return [(choices, [inside]) for choices, inside in one]
    return [(choices, [left, right])
            for (choices, left), (_, right) in zip(one, path_table(problem, leaf + 1), strict=True)]


@pytest.mark.parametrize("link", ["node", "prefix"])
@pytest.mark.parametrize("seed", range(18))
def test_reduced_costs_follow_their_definition(seed, link):
    random = np.random.RandomState(seed)
    problem = draw_problem(random, weights=(None, "floats")[seed % 2], limits=seed % 3 == 2)
    master = Master(problem, link)
    master.add_tree(first_tree(problem))
    branches = problem.branches(random.randint(-1, 7, (random.randint(1, 90), 3)).astype(float))
    master.add_cuts(branches, "equal")
    duals = random_duals(master, random)
    allowed = random.rand(problem.n_splits) < 0.8
    sizes = np.diff(problem.start)
    swept = Sweep()(master, duals, allowed)[2]
    for end, leaf in enumerate(master.ends):
        nodes, to_left = problem.path_nodes(leaf)
        costs = all_reduced_costs(master, duals, leaf, allowed)
        plain = all_reduced_costs(master, duals, leaf, np.ones(problem.n_splits, bool))
        levels = problem.depth - (link == "prefix")
        for number, (choices, paths) in enumerate(column_table(problem, leaf, link)):
            parts = [path_value(problem, inside) for inside in paths]
            expected = sum(parts) - duals.alpha[end]
            at, prefix = 0, 0
            for level, node in enumerate(nodes[:levels]):
                prefix = prefix * sizes[node] + choices[level]
                way = prefix if link == "prefix" else choices[level]
                expected -= duals.gamma[leaf][at + way]
                at += master.rho_sizes[node]
            splits = problem.start[nodes] + choices
            follow = np.all(branches[splits[:levels]] == to_left[:levels, None], axis=0)
            expected -= duals.beta[follow].sum()
            expected -= duals.delta.sum() * sum(inside.any() for inside in paths)
            if min(parts) == -np.inf or reopened(problem, leaf, choices):
                expected = -np.inf
            assert plain[number] == pytest.approx(expected, abs=1e-9)
            assert costs[number] == (plain[number] if allowed[splits].all() else -np.inf)
        every = np.arange(len(plain))
        some = some_reduced_costs(master, duals, np.full(len(every), leaf), every)
        assert some == pytest.approx(plain, abs=1e-9)
        if max(swept[end], costs.max()) > 1e-6:   # the sweep proves more than it computes
            assert swept[end] == pytest.approx(costs.max(), abs=1e-9)


@pytest.mark.parametrize("link", ["node", "prefix"])
@pytest.mark.parametrize("seed", range(12))
def test_the_sweep_finds_the_best_path_below_every_prefix(seed, link):
    random = np.random.RandomState(seed)
    problem = draw_problem(random, limits=seed % 2 == 1)
    master = Master(problem, link)
    master.add_tree(first_tree(problem))
    master.add_cuts(problem.goes_left[:, :3], "equal")
    duals = random_duals(master, random)
    duals.alpha[:] -= 60.0   # every path improves
    allowed = np.ones(problem.n_splits, bool)
    leaves, paths, _ = Sweep()(master, duals, allowed)
    assert "paths" not in problem.__dict__   # it needs no list of all paths
    some = some_reduced_costs(master, duals, leaves, paths)
    for leaf in master.ends:
        n_last = np.diff(problem.start)[problem.above[leaf][-1]]
        best = all_reduced_costs(master, duals, leaf, allowed).reshape(-1, n_last).max(axis=1)
        found = dict(zip(paths[leaves == leaf] // n_last, some[leaves == leaf], strict=True))
        assert found == pytest.approx({i: v for i, v in enumerate(best) if v > 0}, abs=1e-9)


@pytest.mark.parametrize("cuts", ["none", "lower", "upper", "equal", "all"])
@pytest.mark.parametrize("seed", range(8))
def test_relaxation_equals_the_one_over_all_paths(seed, cuts):
    random = np.random.RandomState(seed)
    problem = draw_problem(random, weights=(None, "floats")[seed % 2])
    generation, outcome = generate(problem, row_cuts=cuts)
    rows = {"none": None, "all": "equal"}.get(cuts, cuts)
    assert outcome.converged
    assert outcome.relaxation.value == pytest.approx(full_relaxation(problem, rows), abs=1e-6)
    assert outcome.bound == pytest.approx(outcome.relaxation.value, abs=1e-4)
    assert outcome.bound >= problem.total - optimum(problem) - 1e-6


def test_no_clock_cuts_a_master_without_a_limit():
    """Where a program went on from such a cut, it found another vertex, and the fit other trees."""
    generation, outcome = generate(draw_problem(np.random.RandomState(0), depth=2))
    lp = generation.master.lp
    assert outcome.converged and lp.getOptionValue("time_limit")[1] == np.inf
    assert not lp.cbSimplexInterrupt.callbacks      # none is left for the next program


@pytest.mark.parametrize("link", ["node", "prefix"])
@pytest.mark.parametrize("seed", range(10))
def test_duals_prove_the_value(seed, link):
    problem = draw_problem(np.random.RandomState(50 + seed))
    generation, outcome = generate(problem, row_cuts="upper" if link == "node" else "none",
                                   link=link)
    duals, master = outcome.relaxation, generation.master
    assert duals.value == pytest.approx(duals.alpha.sum() + duals.beta.sum(), abs=1e-6)
    assert np.all(duals.beta >= -1e-7)
    for leaf in master.ends:
        costs = all_reduced_costs(master, duals, leaf, np.ones(problem.n_splits, bool))
        assert costs.max() <= 1e-6
        mine = master.leaf == leaf
        assert np.all(costs[master.path[mine]] * duals.x[mine] >= -1e-6)   # slackness
    total = [np.zeros(n) for n in master.rho_sizes]   # a split pays the links of all its leaves
    for leaf in master.ends:
        for level, node in enumerate(problem.above[leaf][:master.n_linked]):
            start = master.level_start[leaf]
            total[node] += duals.gamma[leaf][start[level]:start[level + 1]]
    assert max([t.max() for t in total], default=0.0) <= 1e-6


@pytest.mark.parametrize("seed", range(30))
def test_prefix_links_need_no_row_constraints(seed):
    problem = draw_problem(np.random.RandomState(200 + seed), limits=seed % 4 == 3,
                           weights=(None, "integers", "floats")[seed % 3])
    generation, outcome = generate(problem, link="prefix")
    _, swept = generate(problem, [Sweep()], link="prefix")
    use = generation.master.split_values(outcome.relaxation)
    assert [v.sum() for v in use] == pytest.approx(np.ones(problem.n_nodes))
    assert swept.relaxation.value == pytest.approx(outcome.relaxation.value, abs=1e-6)
    assert outcome.relaxation.value == pytest.approx(problem.total - optimum(problem), abs=1e-6)


PRICINGS = {
    "random": lambda r: [RandomPaths(r), Enumeration()],
    "pool": lambda r: [PathPool(r), Enumeration()],
    "one a leaf": lambda r: [Enumeration(1)],
    "sweep": lambda r: [Sweep()],
    "cp-sat merged": lambda r: [Subproblems("cp-sat")],
    "cp-sat per class": lambda r: [Subproblems("cp-sat", False)],
    "milp merged": lambda r: [Subproblems("milp")],
    "milp per class": lambda r: [Subproblems("milp", False, first_only=False)],
    "no merging": lambda r: [Subproblems("milp", merge_rows=False)],
    "random, then cp-sat": lambda r: [RandomPaths(r, 10), Subproblems("cp-sat", warm_start=False)],
}


@pytest.mark.parametrize("name", PRICINGS)
@pytest.mark.parametrize("seed", range(3))
def test_relaxations_do_not_depend_on_the_pricing(seed, name):
    random = np.random.RandomState(seed)
    problem = draw_problem(random, depth=2, candidates=3, most_rows=16,
                           weights=(None, "floats")[seed % 2])
    for cuts in ("none", "equal"):
        _, expected = generate(problem, row_cuts=cuts)
        generation, outcome = generate(problem, PRICINGS[name](random), row_cuts=cuts)
        assert outcome.converged
        assert outcome.relaxation.value == pytest.approx(expected.relaxation.value, abs=1e-4 if
                                                         "cp-sat" in name else 1e-6)
        assert outcome.bound >= expected.relaxation.value - 1e-6
        assert generation.exact_calls >= 1


@pytest.mark.parametrize("solver", ["cp-sat", "milp"])
@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize("merged", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_subproblems_find_the_best_path_of_every_leaf(seed, merged, separate, solver):
    random = np.random.RandomState(70 + seed)
    problem = draw_problem(random, depth=2, most_rows=14, limits=seed == 4)
    master = Master(problem)
    master.add_tree(first_tree(problem))
    master.add_cuts(problem.branches(random.randint(-1, 7, (6, 3)).astype(float)), "equal")
    master.add_cuts(problem.goes_left[:, problem.representatives], "equal")
    duals = random_duals(master, random)
    duals.alpha[:] -= 30.0   # every leaf has improving paths
    allowed = np.ones(problem.n_splits, bool)
    _, _, expected = Enumeration()(master, duals, allowed)
    price = Subproblems(solver, merged, first_only=False, separate_duals=separate)
    leaf, path, best = price(master, duals, allowed)
    assert best == pytest.approx(expected, abs=1e-2 if solver == "cp-sat" else 1e-5)
    assert np.all(best >= expected - 1e-6)
    cost = some_reduced_costs(master, duals, leaf, path)
    for at in range(problem.n_leaves):
        assert cost[leaf == at].max() == pytest.approx(expected[at], abs=1e-3)
    again = price(master, duals, allowed)   # from the paths found before
    assert again[2] == pytest.approx(best, abs=1e-2 if solver == "cp-sat" else 1e-5)


def test_a_row_has_one_variable_as_printed():
    """Model (3) of Patel et al.: y and z of each row, u of each split, w of each class."""
    random = np.random.RandomState(3)
    problem = draw_problem(random, depth=2, most_rows=14)
    master = Master(problem)
    master.add_tree(first_tree(problem))
    master.add_cuts(problem.goes_left, "equal")
    duals, allowed = random_duals(master, random), np.ones(problem.n_splits, bool)
    n_splits = int(np.diff(problem.start)[problem.above[0]].sum())
    sizes = [build(master, duals, 0, allowed, merge_rows=False, separate_duals=separate)[0]
             .n_columns - n_splits - problem.n_classes for separate in (False, True)]
    assert sizes == [2 * problem.n_rows, 3 * problem.n_rows]


def test_distinct_splits_can_make_a_leaf_infeasible():
    problem = draw_problem(np.random.RandomState(0), depth=2)
    problem.__init__(problem.X, problem.y, problem.n_classes, [[(0, 1.5)]] * 3)
    _, outcome = generate(problem, [Subproblems("milp")])
    assert outcome.converged
    price = Subproblems("milp", distinct=True, first_only=False)
    generation, _ = generate(problem)
    relaxation = generation.master.solve()
    leaf, _, best = price(generation.master, relaxation, np.ones(problem.n_splits, bool))
    assert len(leaf) == 0 and np.all(best == -np.inf)


@pytest.mark.parametrize("solver", ["cp-sat", "milp"])
@pytest.mark.parametrize("seed", range(10))
def test_separation_finds_points_on_more_than_one_path(seed, solver):
    random = np.random.RandomState(300 + seed)
    problem = draw_problem(random, depth=3, most_rows=12)
    generation, outcome = generate(problem)
    master, x = generation.master, outcome.relaxation.x
    grid = [np.unique([*problem.threshold[problem.feature == f], 1e3]) for f in range(3)]
    cells = np.array(list(itertools.product(*grid)))   # a point of every cell
    branches = problem.branches(cells)
    sums = np.zeros(len(cells))
    for leaf, path, value in zip(master.leaf, master.path, x, strict=True):
        sums += value * problem.path_contains(leaf, path, branches)
    points, proved = violated_point(master, x, solver)
    assert proved and (len(points) > 0) == (sums.max() > 1 + 1e-6)
    found = []
    for point in points:
        one = problem.branches(point[None])
        found.append(sum(value * problem.path_contains(leaf, path, one)[0]
                         for leaf, path, value in zip(master.leaf, master.path, x, strict=True)))
        assert found[-1] > 1 + 1e-6
    if found:
        assert max(found) == pytest.approx(sums.max(), abs=1e-4)


@pytest.mark.parametrize("seed", range(10))
def test_violated_rows_follow_their_definition(seed):
    problem = draw_problem(np.random.RandomState(seed), depth=3)
    generation, outcome = generate(problem)
    master, x = generation.master, outcome.relaxation.x
    sums = np.zeros(problem.n_rows)
    for leaf, path, value in zip(master.leaf, master.path, x, strict=True):
        sums += value * problem.path_contains(leaf, path, problem.goes_left)
    for sides, wrong in (("upper", sums > 1 + 1e-6), ("lower", sums < 1 - 1e-6),
                         ("equal", np.abs(sums - 1) > 1e-6)):
        found = violated_rows(master, x, sides)
        assert set(problem.signature[found]) == set(problem.signature[wrong])
        assert len(set(problem.signature[found])) == len(found)


@pytest.mark.parametrize("seed", range(10))
def test_extra_cuts_end_with_no_point_on_more_than_one_path(seed):
    problem = draw_problem(np.random.RandomState(300 + seed), depth=3, most_rows=10)
    generation, outcome = generate(problem, row_cuts=row_cuts("extra"))
    points, proved = violated_point(generation.master, outcome.relaxation.x)
    assert outcome.converged and proved and len(points) == 0
    _, weaker = generate(problem, row_cuts="equal")
    assert outcome.relaxation.value <= weaker.relaxation.value + 1e-6
    assert outcome.bound >= problem.total - optimum(problem) - 1e-6


@pytest.mark.parametrize("seed", range(6))
def test_published_schedule_cuts_every_tenth_iteration_only(seed):
    problem = draw_problem(np.random.RandomState(400 + seed), depth=3)
    generation, outcome = generate(problem, [Enumeration(1)],
                                   row_cuts=row_cuts("upper", "published"))
    lines = generation.iterations
    assert all(line["new_cuts"] == 0 or line["iteration"] % 10 == 0 for line in lines)
    assert all(line["new_cuts"] <= 100 for line in lines)
    assert outcome.bound >= problem.total - optimum(problem) - 1e-6


# ------------------------------------------------------------------ Theorem 3.2


@pytest.mark.parametrize("seed", range(10))
def test_integer_solutions_send_every_row_down_one_path(seed):
    """Theorem 3.2 (Patel et al. 2023): integral splits imply the row constraints."""
    problem = draw_problem(np.random.RandomState(seed), depth=2)
    numbers = [range(int(np.prod(np.diff(problem.start)[problem.path_nodes(leaf)[0]])))
               for leaf in range(problem.n_leaves)]
    trees = 0
    for paths in itertools.islice(itertools.product(*numbers), 3000):
        used = {}
        agree = all(used.setdefault(node, choice) == choice
                    for leaf, path in enumerate(paths)
                    for node, choice in zip(problem.above[leaf],
                                            problem.choices(leaf, [path])[0], strict=True))
        sums = sum(problem.path_contains(leaf, path, problem.goes_left).astype(int)
                   for leaf, path in enumerate(paths))
        if agree:
            trees += 1
            assert np.all(sums == 1)
    assert trees > 0


def test_a_fractional_solution_sends_a_row_down_more_than_one_path():
    for seed in range(50):
        problem = draw_problem(np.random.RandomState(300 + seed), depth=2)
        generation, outcome = generate(problem)
        rows = violated_rows(generation.master, outcome.relaxation.x, "upper")
        if len(rows):
            assert not all(v.max() > 1 - 1e-6
                           for v in generation.master.split_values(outcome.relaxation))
            assert outcome.relaxation.value > problem.total - optimum(problem) - 1e-6
            return
    raise AssertionError("no relaxation violates a row constraint")


# ------------------------------------------------------------- integer solutions


@pytest.mark.parametrize("cuts", ["none", "upper", "extra"])
@pytest.mark.parametrize("seed", range(12))
def test_the_integer_master_never_beats_the_optimum(seed, cuts):
    problem = draw_problem(np.random.RandomState(500 + seed), weights=(None, "floats")[seed % 2])
    generation, outcome = generate(problem, row_cuts=row_cuts(cuts))
    choices, proved = generation.master.solve_integer(choices=first_tree(problem))
    best = optimum(problem)
    assert proved
    assert errors(problem, choices) >= best - 1e-9
    again = generation.master.best_tree()
    assert errors(problem, again) == pytest.approx(errors(problem, choices), abs=1e-9)
    if all(v.max() > 1 - 1e-6 for v in generation.master.split_values(outcome.relaxation)):
        assert errors(problem, choices) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("link", ["node", "prefix"])
@pytest.mark.parametrize("seed", range(6))
def test_the_integer_master_over_all_paths_is_the_optimum(seed, link):
    problem = draw_problem(np.random.RandomState(600 + seed), depth=2)
    master = Master(problem, link)
    for leaf, values in enumerate(problem.paths[0]):
        master.add_columns([leaf] * len(values), range(len(values)))   # pairs once
    assert len(set(zip(master.leaf, master.path, strict=True))) == master.n_columns
    choices, proved = master.solve_integer()
    assert proved and errors(problem, choices) == optimum(problem)
    assert errors(problem, master.best_tree()) == optimum(problem)


@pytest.mark.parametrize("link", ["node", "prefix"])
@pytest.mark.parametrize("seed", range(20))
def test_the_best_tree_of_some_paths_uses_these_alone(seed, link):
    random = np.random.RandomState(650 + seed)
    problem = draw_problem(random, depth=1 + seed % 3, limits=seed % 4 == 3)
    master = Master(problem, link)
    master.add_tree(first_tree(problem))
    for leaf in range(problem.n_leaves):
        n_paths = np.prod(np.diff(problem.start)[problem.path_nodes(leaf)[0]])
        master.add_columns([leaf] * 6, random.randint(n_paths, size=6))
    found = master.best_tree()
    known = set(zip(master.leaf.tolist(), master.path.tolist(), strict=True))
    best = np.inf
    for choices in all_choices(problem):
        if all((leaf, problem.path_number(leaf, choices)) in known for leaf in master.ends):
            best = min(best, problem.cost(choices))
    assert all((leaf, problem.path_number(leaf, found)) in known for leaf in master.ends)
    assert problem.cost(found) == pytest.approx(best, abs=1e-9)


def test_branch_and_price_equals_the_optimum_where_it_branches():
    branched = 0
    for seed in range(400):
        random = np.random.RandomState(1000 + seed)
        problem = draw_problem(random, depth=2 + seed % 2, most_rows=40, candidates=4,
                               weights=(None, "floats")[seed % 5 == 0])
        master = Master(problem)
        master.add_tree(first_tree(problem))
        generation = ColumnGeneration(master, [Enumeration()], Clock())
        search = BranchAndPrice(generation, first_tree(problem))
        search.run()
        best = optimum(problem)
        assert search.proved
        assert problem.total - search.best == pytest.approx(best, abs=1e-6)
        assert errors(problem, search.choices) == pytest.approx(best, abs=1e-6)
        assert search.bound == pytest.approx(search.best)
        branched += search.n_solved > 1
        if branched == 60:
            return
    raise AssertionError(f"only {branched} instances needed more than one node")


@pytest.mark.parametrize("seed", range(15))
def test_restricted_relaxations_use_allowed_splits_only(seed):
    random = np.random.RandomState(seed)
    problem = draw_problem(random)
    generation, _ = generate(problem)
    allowed = random.rand(problem.n_splits) < 0.6
    for node in range(problem.n_nodes):
        if not allowed[problem.start[node]:problem.start[node + 1]].any():
            allowed[problem.start[node]] = True
    search = BranchAndPrice(generation, first_tree(problem))
    search._make_feasible(allowed)
    generation.master.restrict(allowed)
    outcome = generation.solve(allowed)
    use = np.concatenate(generation.master.split_values(outcome.relaxation))
    assert np.all(use[~allowed] < 1e-9)
    best = min(errors(problem, choices) for choices in all_choices(problem)
               if allowed[problem.start[:-1] + choices].all())
    assert outcome.bound >= problem.total - best - 1e-6


@pytest.mark.parametrize("seed", range(15))
def test_diving_returns_a_tree_and_leaves_the_master_free(seed):
    problem = draw_problem(np.random.RandomState(700 + seed))
    generation, outcome = generate(problem)
    found = dive(generation, first_tree(problem))
    assert errors(problem, found) >= optimum(problem) - 1e-9
    again = generation.solve()
    assert again.relaxation.value == pytest.approx(outcome.relaxation.value, abs=1e-6)


def test_linking_rows_beyond_the_memory_limit_are_refused():
    problem = draw_problem(np.random.RandomState(1), depth=3)
    rows = Master(problem).first_cut                    # without limits all others are links
    problem.max_bytes = problem.goes_left.size + LINK_BYTES * rows
    assert Master(problem).first_cut == rows
    problem.max_bytes -= 1
    with pytest.raises(TooLarge, match=f"make {rows} linking rows"):
        Master(problem)
