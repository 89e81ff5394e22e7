"""Questions beyond a fit: fronts, paths, all optimal and all good trees, tuning."""

import contextlib
import io
from collections import Counter

import numpy as np
from fuzz.judging import Case, classifier_case, demand
from fuzz.programs import program
from fuzz.registry import fuzz
from fuzz.regressors import regressor_case
from fuzz.searches import two_classes
from naive import (
    as_tuples,
    class_leaves,
    features_of,
    labelled_trees,
    least_costs,
    priced_trees,
    sides,
    square_leaves,
    written_trees,
)

import odtlib
from odtbook.check_certificate import check
from odtbook.formulations import OCTClassifier


class Question(Case):
    """A case whose method is not ``fit``; ``ask(model, X, y, **weights)`` calls and judges it."""

    def __init__(self, ask, case):
        self.__dict__ |= case.__dict__
        self.ask, self.case = ask, case

    def run(self, draw):
        """Ask, and judge the tree that is fitted besides."""
        problem, model = self.problem, self.model
        extra = {} if problem.weight is None else {"sample_weight": problem.weight}
        limited = draw.chance(0.1)
        limit = draw.pick(0.1, 1e-3, 1e-5)
        if limited:
            model.set_params(time_limit=limit)
        with contextlib.suppress(TimeoutError) if limited else contextlib.nullcontext():
            self.ask(model, problem, extra, limited)
        if self.true is not None and hasattr(model, "report_"):
            self.judge(problem.y, extra, limited)


def errors(tree, problem):
    """Return the misclassified weight."""
    return problem.kept[tree.predict(problem.rows) != problem.labels].sum()


def check_path(entries, found, cost, scale, limited, noise=0.0):
    """Check the entries ``(nodes, cost, tree)`` of a path against the least costs."""
    nodes = [entry[0] for entry in entries]
    demand(nodes == list(range(len(entries))), "the budgets are", nodes)
    values = [entry[1] for entry in entries]
    for entry, least in zip(entries, found):
        size, value, tree = entry[0], entry[1], entry[-1]
        if tree is None:
            demand(limited, "no tree for", size, "feature nodes")
            continue
        demand(tree.n_splits <= size, tree.n_splits, "feature nodes exceed", size)
        allowed = 1e-9 * scale + noise
        demand(abs(cost(tree) - value) <= allowed, "the path says", value, "the tree costs",
               cost(tree))
        demand(value >= least - allowed and (limited or value <= least + allowed),
               "the path says", value, "for", size, "feature nodes, the optimum is", least)
    demand(all(a >= b - 1e-9 * scale for a, b in zip(values, values[1:])), "costs rise:", values)


@fuzz(4, "MurTreeClassifier.path")
def classifier_path(draw):
    """The best tree for every number of feature nodes."""
    problem = draw.classified(features=3)
    depth, min_leaf = draw.pick(2, 0, 1, 3), draw.pick(1, 1, 2)
    balanced = draw.chance(0.3)
    weight = problem.kept
    if balanced:
        total = {c: weight[problem.labels == c].sum() for c in np.unique(problem.labels)}
        weight = np.array([w / total[c] / len(total) for w, c in zip(weight, problem.labels)])
    found = least_costs(class_leaves(problem.labels, weight), sides(problem.rows),
                        len(problem.rows), depth, list(range(2**depth)), min_leaf)
    model = odtlib.MurTreeClassifier(
        depth, binarizer="all", min_samples_leaf=min_leaf,
        objective="balanced-accuracy" if balanced else "errors")

    def ask(model, problem, extra, limited):
        def cost(tree):
            return weight[tree.predict(problem.rows) != problem.labels].sum()

        entries = model.path(problem.X, problem.y, **extra)
        check_path(entries, found, cost, weight.sum(), limited)

    return Question(ask, classifier_case(model, depth, problem, min_leaf=min_leaf, weight=weight))


@fuzz(3, "MurTreeRegressor.path")
def regressor_path(draw):
    """The same for regression."""
    problem = draw.measured(features=3)
    depth, min_leaf, absolute = draw.pick(2, 0, 1, 3), draw.pick(1, 1, 2), draw.chance(0.4)
    model = odtlib.MurTreeRegressor(
        depth, binarizer="all", min_samples_leaf=min_leaf,
        loss="absolute_error" if absolute else "squared_error")
    case = regressor_case(model, depth, problem, absolute=absolute, min_leaf=min_leaf)

    def ask(model, problem, extra, limited):
        def cost(tree):
            return case.true(tree, tree.apply(problem.rows))

        check_path(model.path(problem.X, problem.y, **extra), case.found, cost, case.scale,
                   limited, case.allowed)

    return Question(ask, case)


@fuzz(3, "MurTreeClassifier.regularisation_path")
def regularisation_path(draw):
    """The best tree for every price of a split."""
    problem = draw.classified(features=3)
    depth, min_leaf = draw.pick(2, 0, 1, 3), draw.pick(1, 1, 2)
    found = np.array(least_costs(class_leaves(problem.labels, problem.kept), sides(problem.rows),
                                 len(problem.rows), depth, list(range(2**depth)), min_leaf))
    model = odtlib.MurTreeClassifier(depth, binarizer="all", min_samples_leaf=min_leaf)
    scale = problem.kept.sum()
    shares = [draw.pick(0.0, 0.01, 0.05, 0.1, 0.2, 1 / 3, 0.5, 1.0, 2.0) for _ in range(4)]

    def ask(model, problem, extra, limited):
        entries = model.regularisation_path(problem.X, problem.y, **extra)
        demand(entries[0].high == np.inf and (limited or entries[-1].low == 0),
               "the path goes from", entries[-1].low, "to", entries[0].high)
        for entry, following in zip(entries, entries[1:]):
            demand(abs(entry.low - following.high) <= 1e-9 * scale, "a hole in the path")
        for entry in entries:
            demand(abs(errors(entry.tree, problem) - entry.errors) <= 1e-9 * scale
                   and entry.tree.n_splits == entry.n_splits, "a tree is not what is said of it")
        if not limited:
            for price in [*(scale * np.array(shares)), *(entry.low for entry in entries)]:
                least = (found + price * np.arange(len(found))).min()
                best = [e for e in entries if e.low <= price <= e.high]
                demand(best and all(abs(e.errors + price * e.n_splits - least) <= 1e-8 * scale
                                    for e in best), "the tree at", price, "is not the best")

    return Question(ask, classifier_case(model, depth, problem, min_leaf=min_leaf))


@fuzz(4, "MurTreeClassifier.pareto_front")
def pareto_front(draw):
    """All undominated pairs of errors, rows of weight zero and classes of one included."""
    problem, depth, min_leaf, budget, nodes = two_classes(draw)
    positive, kept = problem.labels == np.unique(problem.y)[1], problem.kept
    points = {(kept[said & ~positive].sum(), kept[~said & positive].sum()) for said in (
        np.array(said, bool) for said, _ in labelled_trees(problem.rows, 2, depth, nodes,
                                                           min_leaf))}
    front = sorted(p for p in points if not any(
        q != p and q[0] <= p[0] and q[1] <= p[1] for q in points))
    model = odtlib.MurTreeClassifier(
        depth, budget, binarizer="all", min_samples_leaf=min_leaf)

    def ask(model, problem, extra, limited):
        entries = model.pareto_front(problem.X, problem.y, **extra)
        said = [tuple(map(float, entry.errors)) for entry in entries]
        for entry, pair in zip(entries, said):
            wrong = entry.tree.predict(problem.rows) != problem.labels
            demand(pair == (kept[wrong & ~positive].sum(), kept[wrong & positive].sum()),
                   "a tree does not have the errors", pair)
            demand(entry.tree.n_splits <= nodes and entry.tree.depth <= depth, "too large a tree")
            held = np.unique(entry.tree.apply(problem.rows), return_counts=True)[1]
            demand(len(held) == entry.tree.n_leaves and (
                len(held) == 1 or held.min() >= min_leaf), "leaves hold", held, "rows")
        demand(said == sorted(set(said)) and not any(
            q != p and q[0] <= p[0] and q[1] <= p[1] for p in said for q in said),
            "a point of the front is dominated:", said)
        if all(entry.optimal for entry in entries):
            demand(said == front, "the front is", said, "and should be", front)
        else:
            demand(limited, "the front is not optimal")

    return Question(ask, classifier_case(model, depth, problem, budget=budget, min_leaf=min_leaf))


def binary_problem(draw):
    """Draw 0/1 columns and labels as codes, whole weights."""
    return draw.classified(rows=10, features=4, classes=3, binary=True, whole=True, named=False)


def every_tree(draw, priced):
    """Draw a case and write all its trees: ``(case, unit, {tree: (cost, feature nodes)})``.

    The case costs ``unit`` times as much as the trees.
    """
    problem = binary_problem(draw)
    if draw.chance(0.15):
        problem = draw.problem(problem.X, problem.y, draw.left(draw.values.random(draw.n)))
    depth, min_leaf = draw.pick(1, 0, 2, 3), draw.pick(1, 1, 2)
    budget = draw.budget(depth) if depth < 3 or problem.X.shape[1] < 4 else draw.number(0, 4)
    nodes = 2**depth - 1 if budget is None else budget
    price = draw.pick(0.0, 0.0, 0.3, 0.5, 1.0, 2.0) if priced else 0.0
    classes, codes = np.unique(problem.y, return_inverse=True)
    trees = written_trees(problem.rows, codes[problem.used], problem.kept, len(classes), depth,
                          nodes, min_leaf)
    unit = draw.pick(1.0, 1.0, 0.1, 0.3, 1 / 3, 3e-11, 7e30)
    if unit != 1:
        problem = draw.problem(problem.X, problem.y, unit * (
            np.ones(len(problem.X)) if problem.weight is None else problem.weight))
    model = odtlib.MurTreeClassifier(depth, budget, binarizer=None, min_samples_leaf=min_leaf,
                                     split_penalty=unit * price)
    case = classifier_case(model, depth, problem, budget=budget, min_leaf=min_leaf,
                           price=unit * price)
    return case, unit, {tree: (errors + price * size, size)
                        for tree, (size, errors) in trees.items()}


@fuzz(3, "MurTreeClassifier.optimal_trees")
def optimal_trees(draw):
    """All trees with the fewest errors, counted and listed."""
    case, unit, trees = every_tree(draw, priced=False)
    least = min(trees.values())[0]
    best = {tree for tree, (errors, _) in trees.items() if errors <= least + 1e-9}
    limit = draw.pick(10**6, 3, 1)

    def ask(model, problem, extra, limited):
        answer = model.optimal_trees(problem.X, problem.y, limit=limit, **extra)
        if not answer.complete:
            demand(limited, "the list is not complete")
            return
        listed = [as_tuples(tree.to_nested()) for tree in answer.trees]
        demand(answer.count == len(best) and len(listed) == min(limit, len(best)),
               answer.count, "optimal trees,", len(listed), "listed, and there are", len(best))
        demand(len(set(listed)) == len(listed) and set(listed) <= best, "not all are optimal")
        demand(abs(answer.errors - unit * least) <= 1e-14 * case.scale,
               "errors are", answer.errors, "and should be", unit * least)
        demand(model.report_.objective == answer.errors, "the report has another objective")

    return Question(ask, case)


@fuzz(4, "MurTreeClassifier.good_trees", "GoodTrees.sizes", "GoodTrees.sample",
      "GoodTrees.importance", "GoodTrees.roots", "GoodTrees.n_features")
def good_trees(draw):
    """All trees within a tolerance, in their order, with the shares of features."""
    case, unit, trees = every_tree(draw, priced=True)
    tolerance, least = draw.pick(0.0, 0.5, 1.0, 1.7, 3.0, 20.0), min(trees.values())[0]
    good = {tree for tree, (cost, _) in trees.items() if cost <= least + tolerance + 1e-9}

    def ask(model, problem, extra, limited):
        answer = model.good_trees(problem.X, problem.y, tolerance=unit * tolerance, **extra)
        demand(answer.count == len(good) == len(answer), answer.count, "good trees, and there are",
               len(good))
        demand(sum(size.count for size in answer.sizes()) == answer.count, "sizes do not add up")
        demand(abs(answer.optimum / unit - least) <= 1e-9, "the optimum is", answer.optimum)
        demand(answer.n_features == problem.X.shape[1], "n_features is", answer.n_features)
        drawn = [as_tuples(tree.to_nested()) for tree in answer.sample(3, random_state=0)]
        demand(set(drawn) <= good, "sample draws a tree that is not good")
        if len(good) > 400:
            return
        listed = [as_tuples(tree.to_nested()) for tree in answer]
        demand(len(set(listed)) == len(listed) and set(listed) == good, "other trees are listed")
        order = [(round(trees[tree][0], 6), trees[tree][1]) for tree in listed]
        demand(order == sorted(order), "the trees are not in order")
        sizes = [(round(size.objective / unit, 6), size.n_splits) for size in answer.sizes()
                 for _ in range(size.count)]
        demand(sizes == order, "the sizes are", sizes, "and those of the trees", order)
        shares = [np.mean([j in features_of(tree) for tree in listed])
                  for j in range(problem.X.shape[1])]
        demand(np.allclose(answer.importance(), shares, 1e-6), "importance is",
               answer.importance(), "and should be", shares)
        roots = {root.feature: root.count for root in answer.roots()}
        demand(roots == Counter(map(asked, listed)), "roots are", roots)
        for root in answer.roots():
            for side, said in ((1, root.left), (2, root.right)):
                below = [asked(tree[side]) for tree in listed if isinstance(tree, tuple)
                         and tree[0] == root.feature]
                demand(said == Counter(below), "below", root.feature, "are", said)

    return Question(ask, case)


def asked(tree):
    """Return the feature at the root of nested tuples, None for a leaf."""
    return tree[0] if isinstance(tree, tuple) else None


@fuzz(4, "CertifiedMixin.certificate", "OptimalityCertificate.save")
def certificate(draw):
    """A proof of the optimum, which passes the checker and claims what enumeration finds."""
    problem = binary_problem(draw)
    depth, min_leaf, price = draw.pick(3, 2, 1, 0, 4), draw.pick(1, 1, 2), draw.pick(0.0, 0.5, 0.3)
    budget = draw.budget(depth)
    nodes = 2**depth - 1 if budget is None else budget
    least = least_costs(class_leaves(problem.labels, problem.kept), sides(problem.rows),
                        len(problem.rows), depth, [nodes], min_leaf, price)[0]
    kind, options = draw.pick((odtlib.MurTreeClassifier, {"binarizer": None}),
                              (odtlib.ContinuousTreeClassifier, {}))
    model = kind(max_depth=depth, max_nodes=budget, min_samples_leaf=min_leaf,
                 split_penalty=price, **options)

    def ask(model, problem, extra, limited):
        model.fit(problem.X, problem.y, **extra)
        proof, file = model.certificate(problem.X, problem.y, **extra), io.BytesIO()
        np.savez(file, **proof.arrays)
        file.seek(0)
        claim = check(file, problem.X, problem.y, **extra)
        demand(claim == proof.claim, "the certificate says", proof.claim, "and proves", claim)
        scale = 1e-12 * (problem.kept.sum() + price)
        demand(proof.lower_bound <= least + scale and (
            limited or proof.lower_bound >= least - scale),
            "the bound is", proof.lower_bound, "and the optimum", least)

    return Question(ask, classifier_case(model, depth, problem, budget=budget, min_leaf=min_leaf,
                                         price=price))


@fuzz(0.5, "OCTClassifier.path", "OCTClassifier.tune")
def oct_path_and_tune(draw):
    """A program for every budget; the budget that is best for rows held back."""
    problem = draw.classified(rows=6, features=2, classes=3, whole=True)
    depth, solver = draw.pick(1, 2), draw.pick("highs", "cp-sat")
    found = least_costs(class_leaves(problem.labels, problem.kept), sides(problem.rows),
                        len(problem.rows), depth, list(range(2**depth)))
    other = draw.left(draw.values.permutation(draw.n)) % len(problem.X)
    X_other, y_other, tuned = problem.X[other], problem.y[other[::-1]], draw.chance(0.5)
    model = program(OCTClassifier, depth, solver=solver)

    def ask(model, problem, extra, limited):
        if not tuned:
            entries = model.path(problem.X, problem.y, **extra)
            check_path(entries, found, lambda tree: errors(tree, problem), problem.kept.sum(),
                       limited, 1e-6 * problem.kept.sum())
            return
        model.tune(problem.X, problem.y, X_other, y_other, **extra)
        if limited:
            return
        size, chosen = model.tree_.n_splits, model.split_penalty_
        value = errors(model.tree_, problem) + chosen * size
        least = min(cost + chosen * k for k, cost in enumerate(found))
        demand(abs(value - least) <= 1e-6 * problem.kept.sum(), "the tree costs", value, "at",
               chosen, "and the best", least)
        worst = min(np.sum(y_other != label) for label in np.unique(problem.labels))
        demand(np.sum(model.predict(X_other) != y_other) <= max(worst, len(y_other) - 1),
               "more errors on the rows held back than a leaf")

    case = classifier_case(model, depth, problem, within=1e-6)
    if tuned:
        case.exact, case.optimum = False, None
    return Question(ask, case)


@fuzz(3, "MurTreeRegressor.good_trees", "MurTreeRegressor.optimal_trees")
def good_trees_of_sums(draw):
    """All trees whose squared error is within a tolerance of the least."""
    problem = draw.measured(rows=9, features=4, binary=True)
    depth, min_leaf = draw.pick(2, 0, 1, 3), draw.pick(1, 1, 2)
    budget, share = draw.budget(depth), draw.pick(0.0, 0.0, 0.01, 0.1)
    model = odtlib.MurTreeRegressor(depth, budget, binarizer=None, min_samples_leaf=min_leaf)
    case = regressor_case(model, depth, problem, budget=budget, min_leaf=min_leaf, share=share)
    leaf, nodes = square_leaves(problem.labels, problem.kept), case.nodes
    rows, least = list(range(len(problem.rows))), case.optimum
    tolerance = draw.pick(0.0, 0.02, 0.2, 1.0) * case.scale

    def count(near):
        trees = priced_trees(problem.rows, leaf, rows, depth, nodes, min_leaf, near)
        return sum(cost + share * case.scale * size <= least + tolerance - near
                   for size, cost in trees.values())

    few, many = count(2 * case.allowed), count(-2 * case.allowed)

    def ask(model, problem, extra, limited):
        answer = model.good_trees(problem.X, problem.y, tolerance=tolerance, **extra)
        demand(few <= answer.count <= many, answer.count, "good trees and not", few, "to", many)
        demand(sum(size.count for size in answer.sizes()) == answer.count, "sizes do not add up")
        for size, tree in zip(answer.sizes()[:1], answer):
            demand(abs(size.objective - answer.optimum) <= 2 * case.allowed, "the first costs",
                   size.objective, "and the best", answer.optimum)
            demand(tree.n_splits == size.n_splits, "another first tree")
        best = model.optimal_trees(problem.X, problem.y, limit=2, **extra)
        demand(not best.complete or 1 <= best.count <= answer.count, best.count, "optimal trees")

    return Question(ask, case)
