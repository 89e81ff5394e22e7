"""Searches for classification trees: MurTree, all thresholds, CART, local search, candidates."""

from functools import partial

import numpy as np
import pandas as pd
from fuzz.drawing import Problem, need
from fuzz.judging import PROOF, Case, classifier_case, demand, errors_of
from fuzz.registry import fuzz
from naive import (
    as_set,
    best_over_lists,
    best_tree_cost,
    class_leaves,
    labelled_trees,
    least_costs,
    least_of_sums,
    sides,
)
from sklearn.base import BaseEstimator
from sklearn.metrics import balanced_accuracy_score, f1_score

import odtlib
from odtbook.published import (
    GeneratedSplitsClassifier,
    PaperSearch,
    SampledColumns,
    Sweep,
    cart_star,
    dl85_search,
    heuristic_pricing,
)
from odtlib.binarize import QuantileBinarizer, ThresholdBinarizer
from odtlib.column_generation.options import ThresholdSampling, TreeLimits
from odtlib.policy import policy_costs


def murtree_search(draw, problem, **options):
    """Draw options of MurTree's search that all find an optimal tree."""
    cache = draw.pick("dataset", "branch", None, "closure")
    if cache == "closure" and problem.weight is not None:
        cache = "dataset"
    return odtlib.MurTreeSearch(**{
        "cache": cache, "similarity_bound": draw.pick(True, True, False, "siblings"),
        "n_exact_children": draw.pick(2, 0, 5), "refined_bound": not draw.chance(0.3),
        "incremental_counts": not draw.chance(0.3), "specialised_depth_two": not draw.chance(0.3),
        "feature_order": draw.pick("depth-two", "in-order", "gini", "random"),
        "child_order": draw.pick("dynamic", "post-order", "gap"),
        "merge_rows": not draw.chance(0.3), "merge_columns": not draw.chance(0.3),
        **options})


@fuzz(20, "MurTreeClassifier.fit")
def murtree_errors(draw):
    """Errors and a price of splits, with every option of the search."""
    missing, more = draw.chance(0.2), draw.chance(0.3)
    problem = draw.classified(24, 5, binary=True) if more else draw.classified(missing=missing)
    if draw.chance(0.15):                           # a weight for each class
        weight = draw.values.integers(1, draw.value(3000, 2**40), 5).astype(float)
        given = np.unique(problem.y, return_inverse=True)[1]
        problem = draw.problem(problem.X, problem.y, weight[given])
    depth, min_leaf = draw.pick(2, 0, 1, 2, 2, 3, 3, 4), draw.pick(1, 1, 1, 2, 3)
    budget, price = draw.budget(depth), draw.price(problem, 0, 0, 0.02, 0.1)
    fewest = draw.chance(0.3)
    search = murtree_search(draw, problem, minimise_nodes=fewest, deepening=draw.chance(0.2),
                            discrepancy_search=draw.chance(0.2) and budget is None)
    model = odtlib.MurTreeClassifier(
        depth, budget, binarizer="all", min_samples_leaf=min_leaf, split_penalty=price,
        search=search, start=draw.pick(None, None, "cart", "local-search"), random_state=0,
        n_jobs=draw.pick(None, None, None, 2))
    return classifier_case(model, depth, problem, budget=budget, min_leaf=min_leaf, price=price,
                           fewest=fewest, missing=missing)


@fuzz(5, "MurTreeClassifier.fit")
def murtree_deep(draw):
    """More rows and deeper trees, with a price below or above what a row costs."""
    problem = draw.classified(rows=60, features=7, classes=3, binary=True)
    depth, least = draw.pick(4, 2, 3, 5, problem.X.shape[1]), problem.kept.min()
    free = depth == problem.X.shape[1] and draw.chance(0.7)       # no path tests a column twice
    price = float(draw.pick(0.168, 0.1, 0.3, 0.5, 1.0, 1.06, 2.2, 4.0) * least)
    limited = draw.pick(None, None, draw.number(1, min(7, 2**depth - 1)))
    budget = None if free else limited
    min_leaf = draw.pick(1, 1, 2, 3)
    model = odtlib.MurTreeClassifier(
        None if free else depth, budget, binarizer="all", min_samples_leaf=min_leaf,
        split_penalty=price, search=murtree_search(draw, problem), random_state=0,
        n_jobs=draw.pick(1, 1, 2))
    return classifier_case(model, depth, problem, budget=budget, min_leaf=min_leaf, price=price,
                           check=any_depth if free else None)


def any_depth(model, predicted):
    """Demand that the proof of a tree without a limit on depth is one at any depth."""
    demand(model.report_.status != "optimal" or "any depth" in model.report_.proof,
           "the proof says", model.report_.proof)


@fuzz(4, "MurTreeClassifier.fit")
def murtree_allowed(draw):
    """Limits on the features of the root and of each path."""
    problem = draw.classified(rows=16, features=6, classes=3, binary=True, missing=False)
    depth, min_leaf = draw.pick(1, 0, 2, 3, 4), draw.pick(1, 1, 2)
    budget = draw.budget(depth)
    nodes = 2**depth - 1 if budget is None else budget
    price, everything = draw.price(problem, 0, 0, 0.05, 0.3), range(problem.rows.shape[1])
    some = lambda: [j for j in everything if draw.chance(0.5)] or [0]  # noqa: E731
    first = some() if draw.chance(0.5) else None
    sets = [some() for _ in range(draw.pick(1, 2, 3))] if draw.chance(0.7) else None
    every_set = [set(everything)] if sets is None else [
        *map(set, sets), set(everything).difference(*sets)]
    classes, codes = np.unique(problem.labels, return_inverse=True)

    def allowed(path):
        return (first is None or path[0] in first) and any(
            one.issuperset(path) for one in every_set)

    optimum = best_tree_cost(problem.rows, codes, problem.kept, len(classes), depth, nodes,
                             min_leaf, price, allowed)
    model = odtlib.MurTreeClassifier(
        depth, budget, binarizer="all", min_samples_leaf=min_leaf, split_penalty=price,
        n_jobs=draw.pick(1, 2), random_state=0,
        search=odtlib.MurTreeSearch(
            first_features=first, interaction_cst=sets, merge_rows=not draw.chance(0.3),
            cache=draw.pick("dataset", "dataset", None),
            similarity_bound=not draw.chance(0.3), specialised_depth_two=not draw.chance(0.3)))

    def check(model, predicted):
        for passed in model.decision_path(problem.X).toarray().astype(bool):
            path = [j for j in model.tree_.feature[passed].tolist() if j >= 0]
            demand(not path or allowed(path), "the path", path, "is not allowed")

    return Case(model, problem, errors_of(problem, problem.kept, price), optimum,
                problem.kept.sum(), depth=depth, nodes=nodes, min_leaf=min_leaf, check=check)


@fuzz(2, "MurTreeClassifier.fit")
def murtree_as_published(draw):
    """The search as in the paper's program, and DL8.5 in it."""
    problem = draw.classified(rows=12)
    problem = Problem(problem.X, problem.y, None, problem.X, problem.y, np.ones(len(problem.X)))
    depth = draw.pick(1, 2, 3)
    kind = draw.pick(PaperSearch, dl85_search)
    model = odtlib.MurTreeClassifier(depth, binarizer="all", search=kind())
    return classifier_case(model, depth, problem)


@fuzz(3, "MurTreeClassifier.fit")
def murtree_lookahead(draw):
    """A receding horizon: between the optimum of the depth and that of the horizon."""
    more = draw.chance(0.6)
    problem = draw.classified(24, 5, 4, binary=True) if more else draw.classified(classes=3)
    depth, horizon, min_leaf = draw.pick(3, 4), draw.pick(2, 3), draw.pick(1, 1, 2, 3)
    price = draw.price(problem, 0, 0, 0.05, 0.2)
    model = odtlib.MurTreeClassifier(
        depth, binarizer="all", min_samples_leaf=min_leaf, split_penalty=price,
        search=murtree_search(draw, problem, lookahead=horizon), random_state=0)
    case = classifier_case(model, depth, problem, min_leaf=min_leaf, price=price,
                           exact=depth == horizon)
    shallow = classifier_case(model, horizon, problem, min_leaf=min_leaf, price=price).optimum

    def check(model, predicted):
        if model.report_.status in ("heuristic", "optimal"):
            demand(model.report_.objective <= shallow + case.allowed, "the tree costs",
                   model.report_.objective, "and one of the horizon's depth", shallow)

    case.check = check
    return case


@fuzz(4, "MurTreeClassifier.fit")
def murtree_balanced(draw):
    """Balanced accuracy."""
    problem = draw.classified(features=3, classes=4, named=False)
    depth, min_leaf = draw.pick(2, 1, 3), draw.pick(1, 1, 2)
    budget = draw.budget(depth)
    totals = {label: problem.kept[problem.labels == label].sum()
              for label in np.unique(problem.labels)}
    share = np.array([w / np.longdouble(totals[label]) / len(totals)
                      for w, label in zip(problem.kept, problem.labels)])
    model = odtlib.MurTreeClassifier(depth, budget, objective="balanced-accuracy",
                                     binarizer="all", min_samples_leaf=min_leaf)

    def check(model, predicted):
        score = balanced_accuracy_score(problem.labels, predicted[problem.used],
                                        sample_weight=problem.kept)
        demand(abs(1 - score - model.report_.objective) <= 1e-9, "balanced accuracy is", score)

    return classifier_case(model, depth, problem, budget=budget, min_leaf=min_leaf, weight=share,
                           scale=1.0, check=check)


@fuzz(4, "MurTreeClassifier.fit")
def murtree_levels(draw):
    """A penalty for each level."""
    more = draw.chance(0.6)
    problem = draw.classified(24, 5, 4, binary=True) if more else draw.classified(features=3)
    depth, min_leaf = draw.pick(2, 1, 3, 3, 4), draw.pick(1, 1, 2)
    budget = draw.budget(depth)
    prices = [draw.price(problem, 0, 0.02, 0.05, 0.1) for _ in range(depth)]
    search = murtree_search(draw, problem, minimise_nodes=draw.chance(0.1),
                            deepening=draw.chance(0.1))
    model = odtlib.MurTreeClassifier(depth, budget, split_penalty=prices, binarizer="all",
                                     min_samples_leaf=min_leaf, search=search, random_state=0,
                                     n_jobs=draw.pick(1, 1, 2))
    return classifier_case(model, depth, problem, budget=budget, min_leaf=min_leaf, price=prices)


@fuzz(4, "MurTreeClassifier.fit")
def murtree_costs(draw):
    """A cost of each label for each row, negative ones included."""
    problem = draw.classified(features=3, classes=3)
    labels, n = np.unique(problem.y), draw.n
    need(len(labels) >= 2)
    normal, few = draw.values.normal(size=(n, len(labels))), draw.values.integers(
        -3, 4, (n, len(labels)))
    costs = draw.value(abs(few) + 0.0, normal, few / 3, 1e9 + few, normal[:, :1] + 0 * few,
                       normal * 10.0 ** draw.values.integers(-12, 13, (n, 1)))
    costs = np.where(draw.values.random((n, 1)) < draw.value(0.0, 0.2), costs[:1], costs)
    given = np.searchsorted(labels, problem.y)
    if draw.chance(0.2) and np.bincount(given).min() >= 2:
        outcome = draw.left(draw.values.integers(-3, 4, n).astype(float))
        odds = draw.left(draw.values.random((n, len(labels))) + 0.1)
        odds /= odds.sum(axis=1, keepdims=True)
        costs = policy_costs(problem.X, problem.y, outcome, method="inverse-propensity",
                             propensity=odds, cv=2)
        wanted = np.zeros_like(costs)
        for row, treatment in enumerate(given):
            wanted[row, treatment] = -outcome[row] / max(odds[row, treatment], 0.01)
        demand(np.allclose(costs, wanted), "the costs of a policy are", costs, "not", wanted)
    else:
        costs = draw.left(costs)
    depth, min_leaf = draw.pick(2, 1, 3), draw.pick(1, 1, 2)
    budget, price = draw.budget(depth), draw.pick(0.0, 0.0, 0.5)
    used = costs[problem.used]
    leaf = least_of_sums(problem.kept[:, None] * used)
    nodes = 2**depth - 1 if budget is None else budget
    best, = least_costs(leaf, sides(problem.rows), len(used), depth, [nodes], min_leaf, price)

    def true(tree, leaves):
        label = np.searchsorted(labels, tree.classes[tree.label[leaves]])
        spent = (problem.kept * used[np.arange(len(used)), label]).astype(np.longdouble).sum()
        return float(spent + np.longdouble(price) * tree.n_splits)

    def check(model, predicted):
        shares = np.bincount(np.searchsorted(labels, problem.y), problem.weight, len(labels))
        demand(np.allclose(model.tree_.value[0], shares, rtol=1e-7), "the root has another weight")

    model = odtlib.MurTreeClassifier(depth, budget, binarizer="all", split_penalty=price,
                                     min_samples_leaf=min_leaf,
                                     start=draw.pick(None, "cart", "local-search"),
                                     random_state=0)
    return Case(model, problem, true, best, (problem.kept[:, None] * abs(used)).sum() + price,
                depth=depth, nodes=nodes, min_leaf=min_leaf, fit={"costs": costs}, check=check)


def two_classes(draw):
    """Draw rows of two classes and limits: ``(problem, depth, min_leaf, budget, nodes)``.

    Three levels have few splits over few columns, as every tree with any labels is tried.
    """
    depth, min_leaf = draw.pick(2, 0, 1, 3, 3, 3), draw.pick(1, 1, 2, 3)
    problem = draw.classified(14 if depth == 3 else 10, 3, 2, whole=True,
                              binary=True if depth == 3 else None)
    need(len(np.unique(problem.y)) == 2)
    budget = draw.number(0, 4) if depth == 3 else draw.budget(depth)
    return problem, depth, min_leaf, budget, 2**depth - 1 if budget is None else budget


@fuzz(2, "MurTreeClassifier.fit")
def murtree_f1(draw):
    """The F1 score of the second class, whole weights."""
    problem, depth, min_leaf, budget, nodes = two_classes(draw)
    positive, kept = problem.labels == np.unique(problem.y)[1], problem.kept
    need(positive.any())                    # what F1 means otherwise is a matter of taste

    def loss(chosen):
        right = kept[chosen & positive].sum()
        return 1.0 - 2 * right / (kept[chosen].sum() + kept[positive].sum())

    best = min(loss(np.array(said, bool)) for said, _ in labelled_trees(
        problem.rows, 2, depth, nodes, min_leaf))
    model = odtlib.MurTreeClassifier(depth, budget, objective="f1", binarizer="all",
                                     min_samples_leaf=min_leaf)

    def check(model, predicted):
        said = predicted[problem.used] == np.unique(problem.y)[1]
        score = f1_score(positive, said, sample_weight=kept)
        demand(abs(1 - score - model.report_.objective) <= 1e-9, "F1 is", score)

    return Case(model, problem, lambda tree, leaves: float(loss(tree.label[leaves] == 1)), best,
                depth=depth, nodes=nodes, min_leaf=min_leaf, check=check)


def groups_of(draw, problem, most, counted=None):
    """Return the group of each row; every group must have a row that counts."""
    group = draw.left(draw.values.integers(0, draw.value(*range(2, most + 1)), draw.n))
    inside = group[problem.used]
    present = np.unique(group[problem.used])
    counted = np.ones(len(inside), bool) if counted is None else counted
    need(len(np.unique(inside[counted])) == len(present) >= 2)
    return group


def gap_between(said, group, weight):
    """Return the largest difference in the shares of rows of a group that are chosen."""
    return np.ptp([weight[said & (group == g)].sum() / weight[group == g].sum()
                   for g in np.unique(group)])


@fuzz(3, "MurTreeClassifier.fit")
def murtree_fair(draw):
    """A limit on disparity; two notions, up to three groups."""
    problem, depth, min_leaf, budget, nodes = two_classes(draw)
    need(len(np.unique(problem.labels)) == 2)
    notion = draw.pick("demographic-parity", "equal-opportunity")
    positive, kept = problem.labels == np.unique(problem.y)[1], problem.kept
    counted = positive if notion == "equal-opportunity" else np.ones(len(positive), bool)
    group = groups_of(draw, problem, 4, counted)
    most = draw.pick(0.0, 0.1, 0.3, 0.6)
    inside = group[problem.used][counted]

    def gap(said):
        return gap_between(said[counted], inside, kept[counted])

    best = np.inf
    for labels, _ in labelled_trees(problem.rows, 2, depth, nodes, min_leaf):
        said = np.array(labels, bool)
        if gap(said) <= most + 1e-12:
            best = min(best, kept[said != positive].sum())

    def check(model, predicted):
        said = (predicted == np.unique(problem.y)[1])[problem.used]
        demand(gap(said) <= most + 1e-12, "the disparity exceeds max_disparity")
        demand(abs(model.report_.counters["disparity"] - gap(said)) <= 1e-9,
               "the report has another disparity")

    model = odtlib.MurTreeClassifier(
        depth, budget, max_disparity=most, disparity=notion, binarizer="all",
        min_samples_leaf=min_leaf)
    return Case(model, problem, errors_of(problem), best, kept.sum(), depth=depth, nodes=nodes,
                min_leaf=min_leaf, fit={"protected": np.array(["n", "e", "s", "w"])[group]},
                check=check)


def with_categories(draw, n, y, weight, ordered):
    """Draw a data frame with a column of text and one of numbers, and the sides of its tests.

    A test asks for one category against the rest, or, where categories are ordered by the mean of
    ``y``, also for the first few of them; missing values take either side.
    """
    names = draw.left(np.array(["red", "green", "blue", "{grey}"], object)
                      [draw.values.integers(0, 4, n)])
    number = draw.left(draw.values.integers(0, 4, n).astype(float))
    if draw.chance(0.4):
        missing = draw.left(draw.values.random(n) < 0.3)
        names[missing] = None
    frame = pd.DataFrame({"colour": names, "number": number})
    if draw.chance(0.5):
        frame["colour"] = frame["colour"].astype("category")
    used = np.ones(len(y), bool) if weight is None else weight > 0
    names, seen_y = names[used], y[used]
    count = np.ones(used.sum()) if weight is None else weight[used]
    absent = np.array([name is None for name in names], bool)
    found = set()
    present = sorted(set(names[~absent]))
    asked = [[name] for name in present]
    if ordered:
        means = [np.average(seen_y[names == name], weights=count[names == name])
                 for name in present]
        order = [present[k] for k in np.argsort(means, kind="stable")]
        asked += [order[:k] for k in range(1, len(order))]
    for some in asked:
        chosen = np.isin(names.astype(str), some) & ~absent
        found |= {as_set(chosen), as_set(chosen | absent)}
    found.add(as_set(absent))
    whole = (1 << int(used.sum())) - 1
    found |= set(sides(number[used][:, None]))
    return frame, sorted(found - {0, whole})


@fuzz(5, "MurTreeClassifier.fit")
def murtree_categories(draw):
    """Text columns, in the order of the mean or not, with missing values."""
    problem = draw.classified(rows=12, features=2, classes=2, named=False, whole=draw.chance(0.7))
    codes = np.unique(problem.y, return_inverse=True)[1].astype(float)
    ordered = draw.chance(0.5)
    frame, splits = with_categories(draw, draw.n, codes, problem.weight, ordered)
    depth, min_leaf = draw.pick(1, 2, 3), draw.pick(1, 1, 2)
    model = odtlib.MurTreeClassifier(
        depth, binarizer=ThresholdBinarizer(
            handle_unknown="ignore", ordered_categories=ordered), min_samples_leaf=min_leaf)
    best, = least_costs(class_leaves(problem.labels, problem.kept), splits, len(problem.rows),
                        depth, [2**depth - 1], min_leaf)
    return Case(model, problem, errors_of(problem), best, problem.kept.sum(), depth=depth,
                min_leaf=min_leaf, frame=frame)


@fuzz(2, "MurTreeClassifier.fit", "FlowOCTClassifier.fit")
def murtree_binarised(draw):
    """Columns by entropy, by quantiles: never better than all thresholds, and as reported."""
    problem = draw.classified()
    depth, min_leaf = draw.pick(2, 1, 3), draw.pick(1, 2)
    model = odtlib.MurTreeClassifier(
        depth, binarizer=draw.pick("auto", "mdlp", "quantile", QuantileBinarizer(2)),
        min_samples_leaf=min_leaf)
    return classifier_case(model, depth, problem, min_leaf=min_leaf, exact=False, bounded=False)


@fuzz(14, "ContinuousTreeClassifier.fit")
def continuous_classifier(draw):
    """Optimal trees over all thresholds, with and without a gap."""
    missing = draw.chance(0.2)
    problem = draw.classified(missing=missing)
    depth, min_leaf = draw.pick(2, 0, 1, 2, 3, 3, 4), draw.pick(1, 1, 1, 2, 3, 4, 5)
    budget, price = draw.budget(depth), draw.price(problem, 0, 0, 0, 0.05, 0.1, 1 / 3)
    gap = draw.pick(0.0, 0.0, 0.0, 0.0, 0.02, 0.15, 0.5)
    model = odtlib.ContinuousTreeClassifier(
        depth, max_nodes=budget, min_samples_leaf=min_leaf, split_penalty=price, max_gap=gap,
        start=draw.pick("cart", None, "local-search"), cache=not draw.chance(0.3),
        n_jobs=draw.pick(1, 1, 2), random_state=0)
    return classifier_case(model, depth, problem, budget=budget, min_leaf=min_leaf, price=price,
                           exact=gap == 0, reach=gap * problem.kept.sum(), missing=missing,
                           check=partial(no_gap, gap * problem.kept.sum()))


def no_gap(most, model, predicted):
    """Demand that "optimal" leaves no gap, and "heuristic" no larger one than was allowed."""
    gap, status = model.report_.gap, model.report_.status
    demand(status != "optimal" or gap == 0, "the gap of an optimal tree is", gap)
    demand(status != "heuristic" or 0 < gap <= most * (1 + 1e-9), "the gap is", gap)
    demand(status not in ("optimal", "heuristic") or isinstance(model.start, BaseEstimator)
           or model.time_limit or model.report_.start == model.start, "another start")


@fuzz(6, "LocalSearchTreeClassifier.fit")
def local_search(draw):
    """Local search: a tree within the limits, and no claim."""
    problem = draw.classified()
    depth, min_leaf = draw.pick(2, 0, 1, 3), draw.pick(1, 1, 2)
    model = odtlib.LocalSearchTreeClassifier(
        depth, min_samples_leaf=min_leaf, max_restarts=draw.pick(1, 3),
        patience=draw.pick(0, 5), depth_two=not draw.chance(0.3), random_state=0)
    return classifier_case(model, depth, problem, min_leaf=min_leaf, exact=False)


def balanced(problem):
    """Return the weights under ``class_weight="balanced"``."""
    labels, codes, counts = np.unique(problem.labels, return_inverse=True, return_counts=True)
    return problem.kept * (len(codes) / (len(labels) * counts))[codes]


@fuzz(4, "CARTClassifier.fit")
def cart(draw):
    """CART by scikit-learn."""
    problem = draw.classified()
    depth, min_leaf = draw.pick(2, 0, 1, 3), draw.pick(1, 1, 2)
    model = odtlib.CARTClassifier(
        depth, criterion=draw.pick("gini", "entropy"), min_samples_leaf=min_leaf,
        class_weight=draw.pick(None, None, "balanced"), ccp_alpha=draw.pick(0.0, 0.0, 0.01),
        random_state=0)
    return classifier_case(model, depth, problem, min_leaf=min_leaf, exact=False,
                           weight=balanced(problem) if model.class_weight else None)


@fuzz(0.5, "TunedCARTClassifier.fit")
def tuned_cart(draw):
    """CART with parameters chosen by cross-validation."""
    problem = draw.classified(classes=2)
    depth = draw.pick(1, 2)
    model = odtlib.TunedCARTClassifier(depth, grid=draw.pick(None, cart_star().grid), cv=2,
                                       random_state=0)
    return classifier_case(model, depth, problem, exact=False)


def over_candidates(draw, kind, problem, depth, **fixed):
    """Make the case of an estimator over all thresholds as candidates, or over sampled ones."""
    present = np.unique(problem.labels)
    costs = {present[0].item(): 0.5, present[-1].item(): 2.0} if draw.chance(0.2) else None
    weight = problem.kept if costs is None else problem.kept * np.array(
        [costs.get(label, 1.0) for label in problem.labels.tolist()])
    price, min_leaf = draw.price(problem, 0, 0, 0.02, 0.1), draw.pick(1, 1, 2, 3)
    every, budget, by_leaves = not draw.chance(0.15), draw.budget(depth), draw.chance(0.5)
    options = {} if budget is None else {"max_leaf_nodes": budget + 1} if by_leaves else \
        {"max_nodes": budget}
    model = kind(depth, splits="all" if every else None, class_weight=costs, split_penalty=price,
                 min_samples_leaf=min_leaf, sampling=ThresholdSampling(n_trees=20), **options,
                 **fixed)
    return classifier_case(model, depth, problem, weight=weight, price=price, min_leaf=min_leaf,
                           budget=budget, exact=every, bounded=every, within=PROOF)


@fuzz(8, "RestrictedTreeClassifier.fit")
def restricted(draw):
    """The dynamic program over candidate splits."""
    problem = draw.classified()
    depth = draw.pick(2, 0, 1, 2, 3)
    return over_candidates(draw, odtlib.RestrictedTreeClassifier, problem, depth)


@fuzz(3, "RestrictedTreeClassifier.fit")
def listed_candidates(draw):
    """A list of candidate splits for each node, no split twice on a path or any."""
    problem = draw.classified(rows=10, features=3)
    depth, distinct = draw.pick(1, 2, 3), draw.chance(0.4)
    finite = np.clip(problem.X, -1e300, 1e300)
    lists = []
    for _ in range(2**depth - 1):
        splits = {}
        for _ in range(draw.value(1, 2, 3, 3)):
            j = int(draw.values.integers(problem.X.shape[1]))
            splits[j, float(finite[int(draw.values.integers(len(finite))), j])] = None
        lists.append(list(splits))
    leaf = class_leaves(problem.labels, problem.kept)
    best = float(best_over_lists(
        {node: {(j, t): as_set(problem.rows[:, j] <= t) for j, t in splits}
         for node, splits in enumerate(lists)},
        len(problem.rows), leaf.__getitem__, distinct=distinct))
    model = odtlib.RestrictedTreeClassifier(depth, splits=lists, distinct_splits=distinct)
    scale = problem.kept.sum()

    def check(model, predicted):                # a limit leaves CART, which is not among them
        if model.time_limit is None and model.memory_limit is None:
            demand(abs(model.report_.objective - best) <= 1e-9 * scale, "the tree costs",
                   model.report_.objective, "and the best", best)

    return Case(model, problem, errors_of(problem), None, scale, depth=depth, min_leaf=0,
                check=check)


@fuzz(3, "ColumnGenerationClassifier.fit")
def column_generation(draw):
    """Column generation; branch-and-price proves the optimum."""
    problem = draw.classified(rows=8)
    integer = draw.pick("branch-and-price", "branch-and-price", "master", "milp", "diving")
    link = draw.pick("node", "prefix")
    search = odtlib.ColumnGenerationSearch(
        integer=integer, link=link, pricing=draw.pick("enumeration", Sweep()),
        heuristic_pricing=heuristic_pricing(draw.pick("none", "none", "pool", "random")),
        row_cuts=draw.pick("none", "upper", "lower", "equal", "all"),
        start_columns=draw.pick(None, SampledColumns()), merge_rows=not draw.chance(0.3))
    case = over_candidates(draw, odtlib.ColumnGenerationClassifier, problem, draw.pick(2, 1, 2),
                           search=search)
    case.exact = case.exact and integer == "branch-and-price"
    return case


@fuzz(1, "ColumnGenerationClassifier.fit")
def generated_splits(draw):
    """Splits generated until none can improve the tree: optimal over all thresholds."""
    problem = draw.classified(rows=10, features=3)
    depth = draw.pick(1, 2, 3)
    model = GeneratedSplitsClassifier(depth, sampling=ThresholdSampling(n_trees=5))
    return classifier_case(model, depth, problem, within=PROOF)


@fuzz(3, "ColumnGenerationClassifier.fit")
def limits_over_the_tree(draw):
    """Costs of features, recall, precision, disparity: limits over the whole tree."""
    problem = draw.classified(rows=7, features=3, classes=3, named=False)
    labels, weight = np.unique(problem.y), problem.kept
    need(len(labels) == len(np.unique(problem.labels)) >= 2)
    codes, group = problem.classes, None
    kind = draw.pick("features", "recall", "precision", "disparity")
    limits, shares = {}, (0.0, 0.3, 0.5, 2 / 3, 0.9, 1.0)
    if kind == "features":
        prices = draw.pick(None, [1, 2, 3], [0, 1, 0])
        limits["max_feature_cost"] = most = draw.number(0, 3)
        paid = np.ones(problem.X.shape[1], int) if prices is None else \
            np.array(prices)[:problem.X.shape[1]]
        if prices is not None:
            limits["feature_costs"] = paid
    elif kind == "disparity":
        notion, most = draw.pick("demographic-parity", "equal-opportunity"), draw.pick(
            0.1, 0.0, 0.25, 0.5)
        counted = codes == 1 if notion == "equal-opportunity" else np.ones(len(codes), bool)
        group = groups_of(draw, problem, 3, counted)
        need(len(labels) == 2)
        limits.update(max_disparity=most, disparity=notion)
        inside = group[problem.used]
    else:
        wanted = {code: draw.pick(*shares) for code in range(draw.number(1, len(labels)))}
        limits["min_" + kind] = {labels[code].item(): share for code, share in wanted.items()}

    def keeps(said, features):
        if kind == "features":
            return paid[list(features)].sum() <= most
        if kind == "disparity":
            return gap_between((said == 1)[counted], inside[counted],
                               weight[counted]) <= most + 1e-12
        whole = said if kind == "precision" else codes
        for c, share in wanted.items():
            size = weight[whole == c].sum()
            slack = 1e-12 * (weight.sum() if kind == "precision" else size)
            if weight[(said == c) & (codes == c)].sum() < share * size - slack:
                return False
        return True

    depth, min_leaf = draw.pick(2, 1), draw.pick(1, 1, 2)
    budget, price = draw.budget(depth), draw.price(problem, 0, 0, 0.05)
    nodes, best = 2**depth - 1 if budget is None else budget, np.inf
    for (said, features), size in labelled_trees(problem.rows, len(labels), depth, nodes,
                                                 min_leaf).items():
        said = np.array(said)
        if keeps(said, features):
            best = min(best, weight[said != codes].sum() + price * size)

    def check(model, predicted):
        said = np.searchsorted(labels, predicted)[problem.used]
        tested = model.tree_.feature[model.tree_.feature >= 0]
        demand(keeps(said, set(tested.tolist())), "the tree breaks the limit", limits)

    model = odtlib.ColumnGenerationClassifier(
        depth, splits="all", search=odtlib.ColumnGenerationSearch(integer="branch-and-price"),
        limits=TreeLimits(**limits), max_nodes=budget, split_penalty=price,
        min_samples_leaf=min_leaf)
    return Case(model, problem, errors_of(problem, price=price), best, weight.sum(), depth=depth,
                nodes=nodes, min_leaf=min_leaf, check=check,
                fit={} if group is None else {"protected": group})
