"""Regression trees: MurTree with both losses, and all thresholds."""

import numpy as np
from fuzz.drawing import need
from fuzz.judging import Case, check_size, demand, exact_sum
from fuzz.parts import Part
from fuzz.registry import fuzz
from fuzz.searches import any_depth, no_gap, with_categories
from naive import absolute_leaves, least_costs, poisson_leaves, sides, square_leaves
from sklearn.tree import DecisionTreeRegressor

import odtlib
from odtlib.binarize import ThresholdBinarizer


def regressor_case(model, depth, problem, *, absolute=False, budget=None, min_leaf=1, share=0.0,
                   fewest=False, missing=False, splits=None, **options):
    """Make the case of a regressor; ``share`` is the price of a node as one of the root's cost."""
    targets, kept = problem.labels, problem.kept
    leaf = (absolute_leaves if absolute else square_leaves)(targets, kept)
    scale = float(leaf[-1])
    # means are rounded like targets, which matters where these hardly differ
    digits = 8 * np.finfo(float).eps * np.abs(targets).max()
    noise = float(kept.sum() * (digits if absolute else digits**2))
    price = share * scale
    if share:
        model.set_params(split_penalty=price)
    nodes = 2**depth - 1 if budget is None else budget
    found = least_costs(leaf, sides(problem.rows, missing) if splits is None else splits,
                        len(targets), depth, list(range(nodes + 1)), min_leaf, price)

    def true(tree, leaves):
        off = np.asarray(targets, np.longdouble) - tree.value[leaves, 0]
        cost = exact_sum(kept * (np.abs(off) if absolute else off**2))
        return float(cost + np.longdouble(price) * tree.n_splits)

    def finished(model, predicted):
        check_size(model.tree_.n_splits, found, scale, noise)

    case = Case(model, problem, true, found[-1], scale, depth=depth, nodes=nodes,
                min_leaf=min_leaf, noise=noise, finished=finished if fewest else None, **options)
    case.found = found
    return case


@fuzz(14, "MurTreeRegressor.fit")
def murtree_regressor(draw):
    """Squared and absolute error."""
    free, missing = draw.chance(0.1), draw.chance(0.2)
    problem = draw.measured(features=6, binary=True) if free else draw.measured(missing=missing)
    depth, min_leaf = draw.pick(2, 0, 1, 2, 3), draw.pick(1, 1, 1, 2, 3)
    budget, absolute, fewest = draw.budget(depth), draw.chance(0.4), draw.chance(0.3)
    if free:                                    # no path tests a column twice
        depth, budget, fewest = problem.X.shape[1], None, False
    model = odtlib.MurTreeRegressor(
        None if free else depth, budget, binarizer="all", min_samples_leaf=min_leaf,
        loss="absolute_error" if absolute else "squared_error", search=odtlib.MurTreeSearch(
            minimise_nodes=fewest, similarity_bound=draw.pick(True, True, False, "siblings"),
            cache=draw.pick("dataset", "dataset", "branch", None), n_exact_children=draw.pick(2, 0),
            child_order=draw.pick("dynamic", "post-order", "gap"),
            incremental_counts=not draw.chance(0.2),
            specialised_depth_two=not draw.chance(0.2)), random_state=0,
        start=draw.pick(None, None, "cart"), n_jobs=draw.pick(1, 1, 2))
    share = draw.pick(0.01, 0.05, 0.1) if free else draw.pick(0, 0, 0.01, 0.1)
    return regressor_case(model, depth, problem, absolute=absolute, budget=budget,
                          min_leaf=min_leaf, share=share, fewest=fewest,
                          missing=missing and not free, check=any_depth if free else None)


@fuzz(2, "MurTreeRegressor.fit")
def regressor_lookahead(draw):
    """A receding horizon: between the optimum of the depth and that of the horizon."""
    problem = draw.measured(rows=10, features=3)
    depth, min_leaf, absolute = draw.pick(3, 4), draw.pick(1, 2), draw.chance(0.3)
    model = odtlib.MurTreeRegressor(
        depth, binarizer="all", min_samples_leaf=min_leaf, search=odtlib.MurTreeSearch(lookahead=2),
        loss="absolute_error" if absolute else "squared_error")
    case, shallow = (regressor_case(model, d, problem, absolute=absolute, min_leaf=min_leaf,
                                    exact=False) for d in (depth, 2))

    def check(model, predicted):
        if model.report_.status in ("heuristic", "optimal"):
            demand(model.report_.objective <= shallow.optimum + case.allowed, "the tree costs",
                   model.report_.objective, "and one of the horizon's depth", shallow.optimum)

    case.check = check
    return case


@fuzz(4, "MurTreeRegressor.fit")
def regressor_categories(draw):
    """Text columns, in the order of the mean target or not."""
    problem = draw.measured(features=2)
    ordered = draw.chance(0.6)
    frame, splits = with_categories(draw, draw.n, problem.y, problem.weight, ordered)
    depth, min_leaf, absolute = draw.pick(1, 2, 3), draw.pick(1, 1, 2), draw.chance(0.3)
    model = odtlib.MurTreeRegressor(
        depth, binarizer=ThresholdBinarizer(handle_unknown="ignore", ordered_categories=ordered),
        min_samples_leaf=min_leaf, loss="absolute_error" if absolute else "squared_error")
    return regressor_case(model, depth, problem, absolute=absolute, min_leaf=min_leaf,
                          splits=splits, frame=frame)


@fuzz(2, *(f"SurvivalTree.{name}" for name in (
    "fit", "path", "predict_cumulative_hazard_function", "predict_survival_function", "score")))
def survival_tree(draw):
    """The tree of the least deviance, and the hazards that it predicts."""
    problem = draw.measured(rows=8, features=3)
    X, n, depth, min_leaf = problem.X, len(problem.X), draw.pick(1, 0, 2, 3), draw.pick(1, 1, 2)
    event, time = draw.values.random(n) < 0.6, draw.values.integers(1, 5, n).astype(float)
    event[0] = True
    times = np.unique(time)
    steps = [(event & (time == t)).sum() / (time >= t).sum() for t in times]
    hazard = np.cumsum(steps)[np.searchsorted(times, time)]

    def look(model):
        leaf = poisson_leaves(event.astype(float), np.ones(n), hazard)
        best = least_costs(np.maximum(leaf, 0), sides(X, missing=False), n, depth,
                           list(range(2 ** depth)), min_leaf)
        model.fit(X, np.column_stack([event, time]))
        found = model.report_.objective
        demand(abs(found - best[-1]) <= 1e-8 * (1 + float(leaf[-1])), "objective", found,
               "and by enumeration", best[-1])
        path = model.path(X, np.array([*zip(event, time)], [("event", bool), ("time", float)]))
        demand(abs(path[-1].objective - best[-1]) <= 1e-8 * (1 + float(leaf[-1])), "path",
               path[-1].objective, "and by enumeration", best[-1])
        leaves = model.apply(X)
        for k in np.unique(leaves):
            inside = leaves == k
            factor = event[inside].sum() / hazard[inside].sum() if hazard[inside].sum() else 0.0
            for row, alive in zip(
                    model.predict_cumulative_hazard_function(X[inside], return_array=True),
                    model.predict_survival_function(X[inside], return_array=True), strict=True):
                demand(np.allclose(row, factor * np.cumsum(steps)), "hazard", row, "of", factor)
                demand(np.allclose(alive, np.exp(-row)), "share alive", alive, "of", row)

    model = odtlib.SurvivalTree(depth, binarizer="all", min_samples_leaf=min_leaf)
    return Part(model, look, X=X, event=event, time=time)


@fuzz(10, "ContinuousTreeRegressor.fit")
def continuous_regressor(draw):
    """Squared error over all thresholds."""
    depth, min_leaf = draw.pick(2, 0, 1, 2, 3, 3, 4), draw.pick(1, 1, 1, 2, 3)
    missing = draw.chance(0.2)
    problem = draw.measured(rows=12 if depth < 3 else 10, missing=missing)
    budget, start = draw.budget(depth), draw.pick("cart", None, "cart" if missing else "a tree")
    if start == "a tree":
        leaves = 2**depth if budget is None else budget + 1
        start = DecisionTreeRegressor(
            max_depth=max(depth, 1), min_samples_leaf=min_leaf, max_leaf_nodes=max(leaves, 2),
            random_state=0).fit(np.clip(problem.rows, -1e30, 1e30), problem.labels)
        need(start.get_depth() <= depth and start.get_n_leaves() <= leaves)

    def check(model, predicted):
        no_gap(0.0, model, predicted)
        leaves = model.apply(problem.rows)
        for leaf in np.unique(leaves):
            inside = leaves == leaf
            mean = np.average(problem.labels[inside], weights=problem.kept[inside])
            demand(np.isclose(model.tree_.value[leaf, 0], mean, 1e-6, 1e-12), "a leaf says",
                   model.tree_.value[leaf], "where the mean is", mean)

    model = odtlib.ContinuousTreeRegressor(depth, max_nodes=budget, min_samples_leaf=min_leaf,
                                           start=start)
    return regressor_case(model, depth, problem, budget=budget, min_leaf=min_leaf,
                          share=draw.pick(0, 0, 0.001, 0.01, 0.1, 2.0), missing=missing,
                          check=check)
