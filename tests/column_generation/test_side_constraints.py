"""Limits on recall, precision and disparity, against enumeration and against other solvers."""

import itertools

import numpy as np
import pytest
from column_generation.reference import column_generation, draw_problem, path_table, reopened
from column_generation.test_generation import random_duals

from odtbook.datasets import load
from odtbook.formulations import BinOCTClassifier
from odtbook.published import Sweep
from odtbook.published.random_paths import some_reduced_costs
from odtlib import ColumnGenerationClassifier, MurTreeClassifier
from odtlib.column_generation import TreeLimits
from odtlib.column_generation.master import Master
from odtlib.column_generation.paths import NO_SPLIT, RestrictedProblem
from odtlib.column_generation.pricing import all_reduced_costs
from odtlib.column_generation.side_constraints import side_constraints

KINDS = ("recall", "precision", "both", "demographic-parity", "equal-opportunity")


def draw_limits(random, kind, y):
    """Draw parameters of a kind, and groups or None."""
    share = {int(c): float(random.choice([0.0, 0.3, 0.5, 2 / 3, 0.9, 1.0])) for c in np.unique(y)}
    some = dict(list(share.items())[:random.randint(1, 1 + len(share))])
    if kind in ("recall", "precision"):
        return {f"min_{kind}": some}, None
    if kind == "both":
        return {"min_recall": {1: share[1]}, "min_precision": {1: float(random.rand())}}, None
    n_groups = int(random.randint(2, 4))
    groups = np.arange(len(y)) % n_groups
    if kind == "equal-opportunity":
        y[:n_groups], y[-1] = 1, 0
    limit = float(random.choice([0.0, 0.1, 0.25, 0.5]))
    return {"max_disparity": limit, "disparity": kind}, groups


def keeps(limits, groups, y, weight, predicted):
    """Whether predictions keep the limits, by their definition; shape (n_trees,)."""
    fine = np.ones(len(predicted), bool)
    for label, share in limits.get("min_recall", {}).items():
        found = (weight * (predicted == label))[:, y == label].sum(axis=1)
        fine &= found >= share * weight[y == label].sum() - 1e-9
    for label, share in limits.get("min_precision", {}).items():
        given = weight * (predicted == label)
        fine &= given[:, y == label].sum(axis=1) >= share * given.sum(axis=1) - 1e-9
    if groups is not None:
        counted = np.ones(len(y), bool) if limits["disparity"] == "demographic-parity" else y == 1
        shares = [(weight * (predicted == 1))[:, counted & (groups == g)].sum(axis=1)
                  / weight[counted & (groups == g)].sum() for g in np.unique(groups)]
        fine &= np.max(shares, axis=0) - np.min(shares, axis=0) <= limits["max_disparity"] + 1e-9
    return fine


def least_cost(problem, splits, limits, groups):
    """Least cost over all splits of nodes and classes of leaves; infinity if none keeps the limits.

    Where leaves are limited, a node may have no split, if those below have none either.
    """
    y, weight, best = problem.y, problem.weights, np.inf
    least_rows, penalty, _ = problem.limits
    labels = np.array(list(itertools.product(range(problem.n_classes), repeat=problem.n_leaves)))
    for tree in itertools.product(*([*node, *[NO_SPLIT] * problem.limited] for node in splits)):
        if any(here != NO_SPLIT and tree[(at - 1) // 2] == NO_SPLIT
               for at, here in enumerate(tree) if at):
            continue
        node = np.zeros(len(y), int)
        for _ in range(problem.depth):
            left = [problem.X[r, tree[n][0]] <= tree[n][1] for r, n in enumerate(node)]
            node = 2 * node + np.where(left, 1, 2)
        leaf = node - problem.n_nodes
        counts = np.bincount(leaf)
        active = counts[counts > 0]
        if min(active) < least_rows or (problem.max_leaves or 99) < len(active):
            continue
        predicted = labels[:, leaf]
        errors = (weight * (predicted != y)).sum(axis=1) + penalty * (len(active) - 1)
        errors[~keeps(limits, groups, y, weight, predicted)] = np.inf
        best = min(best, errors.min())
    return best


FORMS = [{}, {"row_cuts": "all"}, {"row_cuts": "none"}, {"heuristic_pricing": "pool"},
         {"integer": "milp"}, {"integer": "master", "merge_rows": False}, {"integer": "diving"},
         {"row_cuts": "equal", "heuristic_pricing": "random"}]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(50))
def test_every_kind_equals_enumeration(seed, kind):
    random = np.random.RandomState(seed)
    depth, n_classes = 2, 2 if "-" in kind or seed % 3 else 3
    if seed % 25 == 24:
        depth, n_classes = 3, 2
    plain = None
    while plain is None or len(plain.y) < 4:
        plain = draw_problem(random, depth, n_classes, (None, "integers", "floats")[seed % 3],
                             most_rows=14, candidates=3 if depth == 2 else 1,
                             limits=seed % 4 == 3)
    X, y, weight = plain.X, plain.y, plain.weights
    limits, groups = draw_limits(random, kind, y)
    splits = plain.splits
    form = dict(FORMS[seed // 3 % len(FORMS)])
    exact = "integer" not in form
    form.setdefault("integer", "branch-and-price")
    model = column_generation(
        depth, splits=splits, split_penalty=float(plain.limits[1]),
        min_samples_leaf=int(plain.limits[0]),
        max_leaf_nodes=plain.max_leaves, **limits, **form)
    expected = least_cost(plain, splits, limits, groups)
    if not np.isfinite(expected):
        with pytest.raises(ValueError, match="no tree .*weaken"):
            model.fit(X, y, weight, protected=groups)
        return
    try:
        model.fit(X, y, weight, protected=groups)
    except ValueError as error:     # a heuristic may find none
        assert not exact and "was found" in str(error)
        return
    report, predicted = model.report_, model.predict(X)
    assert keeps(limits, groups, y, weight, predicted[None])[0]
    assert model.verify(X, y, weight) == pytest.approx(report.objective, abs=1e-7)
    assert report.lower_bound <= expected + 1e-6
    assert report.objective >= expected - 1e-6
    if exact:
        assert report.status == "optimal"
        assert report.objective == pytest.approx(expected, abs=1e-6)
    if groups is not None:
        assert report.counters["disparity"] <= limits["max_disparity"] + 1e-9


@pytest.mark.parametrize("seed", range(12))
def test_reduced_costs_of_paths_with_classes(seed):
    random = np.random.RandomState(seed)
    plain = draw_problem(random, n_classes=int(random.randint(2, 4)), weights="floats")
    side = side_constraints(plain.y, plain.weights, np.arange(plain.n_classes),
                            min_recall={0: 0.4}, min_precision={1: 0.5, 0: 0.2})
    max_leaves = random.choice([None, 2])
    problem = RestrictedProblem(plain.X, plain.y, plain.n_classes, plain.splits, plain.weights,
                                side=side, max_leaves=max_leaves, split_penalty=0.3)
    master = Master(problem)
    master.add_tree(problem.choose([None] * problem.n_nodes))
    master.add_cuts(problem.goes_left[:, :5], "equal")
    duals = random_duals(master, random)
    allowed = random.rand(problem.start[-1]) < 0.8
    of_all = problem.weights.sum() / problem.weights[problem.y == 0].sum()    # as shares of all
    for leaf in master.ends:
        nodes, _ = problem.path_nodes(leaf)
        costs = all_reduced_costs(master, duals, leaf, allowed)
        plain_costs = all_reduced_costs(master, duals, leaf, np.ones(len(allowed), bool))
        number = 0
        for choices, inside in path_table(problem, leaf):
            for label in range(problem.n_classes):
                mine, right = problem.weights * inside, problem.y == label
                effects = [] if problem.max_leaves is None else [inside.any()]
                effects += [mine[problem.y == 0].sum() * (label == 0) * of_all]
                effects += [(mine[right].sum() - share * mine.sum()) * (label == c)
                            for c, share in ((1, 0.5), (0, 0.2))]
                expected = (mine[right].sum() - 0.3 * inside.any() - duals.alpha[leaf]
                            - duals.delta @ np.array(effects, float)
                            - duals.beta[inside[:5]].sum())
                at = 0
                for level, node in enumerate(nodes):
                    expected -= duals.gamma[leaf][at + choices[level]]
                    at += problem.sizes[node]
                if reopened(problem, leaf, choices):
                    expected = -np.inf
                assert plain_costs[number] == pytest.approx(expected, abs=1e-9)
                splits = problem.start[nodes] + choices
                usable = (allowed[splits].all()
                          and allowed[problem.start[problem.n_nodes + leaf] + label])
                assert costs[number] == (plain_costs[number] if usable else -np.inf)
                number += 1
        every = np.arange(number)
        assert some_reduced_costs(master, duals, np.full(number, leaf), every) == pytest.approx(
            plain_costs, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_parity_equals_the_integer_program_and_murtree(seed):
    random = np.random.default_rng(seed)
    X, y = random.integers(0, 2, (20, 3)).astype(float), random.integers(0, 2, 20)
    group, limit = random.integers(0, 2, 20), (0.0, 0.1, 0.3)[seed % 3]
    found = []
    for model in (column_generation(2, splits="all", integer="branch-and-price",
                                    max_disparity=limit),
                  BinOCTClassifier(2, max_disparity=limit),
                  MurTreeClassifier(2, max_disparity=limit)):
        report = model.fit(X, y, protected=group).report_
        assert report.status == "optimal"
        found.append((report.objective, report.lower_bound))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("limits", [
    {"min_recall": {0: 0.7}}, {"min_precision": {0: 0.75}}, {"max_disparity": 0.02},
    {"max_disparity": 0.02, "disparity": "equal-opportunity"}], ids=str)
def test_german_credit_at_depth_three_is_proved(limits):
    data = load("murtree/german-credit")
    groups = data.X[:, :1] if "max_disparity" in limits else None
    model = column_generation(3, integer="branch-and-price", **limits)
    model.fit(data.X, data.y, protected=None if groups is None else groups[:, 0])
    free = column_generation(3, integer="branch-and-price").fit(data.X, data.y)
    assert model.report_.status == free.report_.status == "optimal"
    assert model.report_.objective > free.report_.objective     # the limit binds
    assert next(iter(limits)).split("_")[1] in model.report_.proof
    assert keeps({"disparity": "demographic-parity", **limits},
                 None if groups is None else groups[:, 0], data.y, np.ones(len(data.y)),
                 model.predict(data.X)[None])[0]


def test_labels_may_be_words_and_weights_count():
    X = np.array([[0], [0], [0], [1], [1], [1.0]])
    y = np.array(["no", "no", "yes", "yes", "no", "no"])
    weight = np.array([1, 1, 1, 5, 1, 1.0])
    model = column_generation(1, splits=[[(0, 0.5)]], integer="branch-and-price")
    assert model.fit(X, y, weight).report_.objective == 3
    model.set_params(limits=TreeLimits(min_recall={"yes": 1.0})).fit(X, y, weight)
    assert np.all(model.predict(X) == "yes") and model.report_.objective == 4
    model.set_params(limits__min_recall={"yes": 5 / 6}).fit(X, y, weight)
    assert model.report_.objective == 3
    model.set_params(limits__min_recall={"no": 1.0}, max_depth=0, splits=None).fit(X, y, weight)
    assert np.all(model.predict(X) == "no") and model.report_.status == "optimal"


def test_limits_that_no_tree_keeps_are_refused():
    X, y = np.zeros((4, 1)), [0, 1, 0, 1]
    limits = dict(min_recall={1: 1.0}, min_precision={1: 0.9})
    for depth, splits in ((0, None), (1, [[(0, 0.5)]])):
        with pytest.raises(ValueError, match="recall of 1 at least 1 and precision of 1"):
            column_generation(depth, splits=splits, integer="branch-and-price", **limits).fit(X, y)


@pytest.mark.parametrize("options, message", [
    ({"min_recall": {7: 0.5}}, "min_recall has 7: 0.5; give labels of y"),
    ({"min_precision": {1: 1.5}}, "min_precision has 1: 1.5; give labels of y"),
    ({"max_disparity": 0.1}, "max_disparity and protected belong together"),
    ({"min_recall": {1: 0.5}, "pricing": Sweep()}, "set pricing='enumeration'"),
    ({"min_recall": {1: 0.5}, "search": "prefix"}, "use link='node'")])
def test_limits_that_cannot_be_used_are_refused(options, message):
    X, y = np.array([[0, 0], [1, 0], [0, 1.0], [1, 1]]), [0, 1, 1, 0]
    if options.get("search"):
        options = {"min_recall": {1: 0.5}, "link": "prefix"}
    with pytest.raises(ValueError, match=message):
        column_generation(1, **options).fit(X, y)


def test_groups_that_cannot_be_compared_are_refused():
    X, y = np.array([[0, 0], [1, 0], [0, 1.0], [1, 1]]), np.array([0, 1, 1, 0])
    model = column_generation(1, max_disparity=0.1)
    with pytest.raises(ValueError, match="protected has 1 distinct values"):
        model.fit(X, y, protected=np.zeros(4))
    with pytest.raises(ValueError, match="protected has 2 distinct values and y 3 classes"):
        model.fit(X, [0, 1, 2, 0], protected=[0, 0, 1, 1])
    with pytest.raises(ValueError, match="each with rows of class 1"):
        model.set_params(limits__disparity="equal-opportunity").fit(X, y, protected=[0, 1, 1, 0])


def test_a_search_without_time_gives_the_leaf_that_keeps_the_limits():
    X, y, groups = np.arange(9.0)[:, None], np.array([0] * 5 + [1] * 4), np.arange(9) % 2
    for limits, protected, errors in (({"max_disparity": 0.0}, groups, 4.0),
                                      ({"min_recall": {1: 1.0}}, None, 5.0)):
        model = ColumnGenerationClassifier(2, limits=TreeLimits(**limits), time_limit=1e-9)
        report = model.fit(X, y, protected=protected).report_
        assert (report.status, report.objective, model.get_n_leaves()) == ("time_limit", errors, 1)
    with pytest.raises(ValueError, match="was found without a split"):
        ColumnGenerationClassifier(2, limits=TreeLimits(min_recall={0: 1.0, 1: 1.0}),
                                   time_limit=1e-9).fit(X, y)


def test_the_recall_of_a_class_that_weighs_next_to_nothing_is_kept():
    X, y, weight = [[0.0], [0.0], [1.0]], [0, 1, 1], [5e2, 7e-10, 1e-11]
    for share, errors, first in ((0.01, 7e-10, 0), (0.5, 5e2, 1)):
        limits = TreeLimits(min_recall={1: share})
        model = ColumnGenerationClassifier(1, splits="all", limits=limits).fit(X, y, weight)
        assert model.report_.objective == pytest.approx(errors, abs=1e-11)
        assert model.predict(X)[1] == first
    model.set_params(limits=TreeLimits(min_recall={0: 0.9, 1: 0.5}))
    with pytest.raises(ValueError, match="no tree of these candidate splits has recall of 0"):
        model.fit(X, y, weight)


@pytest.mark.parametrize("integer", ["branch-and-price", "master"])
def test_limits_may_be_given_where_all_labels_are_equal(integer):
    X = np.arange(6.0)[:, None]
    for limits in ({"min_recall": {3: 1.0}}, {"min_precision": {3: 0.5}}):
        model = column_generation(2, splits="all", integer=integer, **limits).fit(X, [3] * 6)
        assert model.report_.status == "optimal" and model.report_.objective == 0
