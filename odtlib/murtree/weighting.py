"""Objectives as errors of weighted rows: which rows a run sees, and F1 by several runs."""

from __future__ import annotations

from math import gcd, lcm

import numpy as np

from odtlib.arrays import LARGEST
from odtlib.fit import Fit
from odtlib.heuristics.cart import single_leaf
from odtlib.report import pluralised
from odtlib.trees import cut_back

from .options import check_counts
from .preparation import MANY_ROWS, grouped_rows, rounded_weights, whole_weights
from .run import Rows, Run


def error_rows(model, columns, y, weight, clock, search):
    """Return the rows for the errors; of equal ones with equal labels one, where they are many.

    Weights become whole numbers where they are multiples of one number, or one for each class.
    """
    merges = model.min_samples_leaf == 1 and search.merge_rows and not clock.expired
    groups = grouped_rows(columns) if merges and len(y) >= MANY_ROWS else None
    given = Rows(columns, y, weight, groups=groups)
    whole, factors = (None, 1.0) if weight is None else whole_weights(weight), None
    if whole is None and (whole := rounded_weights(y, weight, len(model.classes_))) is not None:
        factors = np.ones(len(model.classes_))
        factors[y] = weight / whole[1] / whole[0]
    if whole is None or np.max(model.split_penalty) > LARGEST * whole[1]:
        return given
    weights, unit = whole
    kept = slice(None)
    if groups is not None:
        n_classes, n_groups = len(model.classes_), len(groups[1])
        cells = groups[0] * np.int64(n_classes) + y
        totals = np.bincount(cells, weights, n_groups * n_classes)
        used = np.flatnonzero(totals)
        if 2 * len(used) <= len(y):
            first = np.zeros(len(totals), np.int64)
            first[cells] = np.arange(len(y))
            kept, weights, group = first[used], totals[used], used // n_classes
            groups = group, np.searchsorted(group, np.arange(n_groups))
    if unit == 1 and isinstance(kept, slice):
        return given
    if weights is not None and (weights == 1).all():
        weights = None
    return Rows(columns[kept], y[kept], weights, unit, groups=groups, factors=factors,
                as_given=lambda tree: tree._with(value=unit * tree.value)
                if unit % 1 == 0 and factors is None else
                tree.with_counts(columns, y, len(model.classes_), weight, relabel=False))


def balanced_rows(model, columns, y, weight, clock, search):
    """Return the rows for balanced accuracy: they weigh as much as makes all classes equal."""
    balanced, unit = balanced_weights(y, weight)
    rows = error_rows(model, columns, y, balanced, clock, search)
    return rows._replace(
        unit=rows.unit * unit, errors=(columns, y, weight), words=", balanced accuracy",
        as_given=lambda tree: tree.with_counts(columns, y, len(model.classes_), weight,
                                               relabel=False))


def balanced_weights(y, weight):
    """Return weights by which each class has as much as the others, whole ones if there are such.

    With them, what share of the whole a weight of one is.
    """
    totals = np.bincount(y, weights=weight)
    present = totals[totals > 0]
    scale = float(len(y))
    if np.all(present == np.floor(present)):        # whole numbers keep the search exact
        common = lcm(*map(int, present))
        scale = float(common) if common * len(present) < 2 ** 50 else scale
    factor = scale / np.where(totals > 0, totals, 1.0)
    return factor[y] if weight is None else weight * factor[y], 1.0 / (scale * len(present))


def cost_rows(model, columns, y, weight, costs):
    """Return the rows for costs, as errors of weighted rows.

    A row with costs c stands for a row of each label k, of weight max(c) - c[k].  To predict k is
    then wrong by the weights of the other labels: c[k] plus a number that no tree changes.
    """
    n_classes = len(model.classes_)
    if costs.shape[1] != n_classes:
        raise ValueError(f"costs has {costs.shape[1]} columns and y has {n_classes} labels; give "
                         "one column per label.")
    if weight is not None:
        costs = costs * weight[:, None]
    largest_cost = costs.max(axis=1)
    saved = largest_cost[:, None] - costs
    equal = ~saved.any(axis=1)
    # each row is a sample of its leaf, in the unit of the costs
    saved[equal] = saved.max() or np.abs(costs).max() or 1.0
    if saved.max() > LARGEST:
        raise ValueError(f"costs, times weights, differ by up to {saved.max():g} in a row; divide "
                         f"them by a number so that none exceeds {LARGEST:g}.")
    shift = float((largest_cost - saved.sum(axis=1)).sum() + saved[equal, 0].sum())
    row, label = np.nonzero(saved)
    best = saved.argmax(axis=1)
    return Rows(columns[row], label, saved[row, label], shift=shift,
                counts=np.diff(row, prepend=-1) > 0,
                # a starting tree is grown for the label that saves most
                start=(columns, best, saved.max(axis=1)), errors=(columns, best, None),
                words=", costs of rows",
                as_given=lambda tree: tree.with_counts(columns, y, n_classes, weight,
                                                       relabel=False))


def errors_by_class(tree):
    """Return the weight of the misclassified rows of both classes of a tree."""
    leaves = tree.feature < 0
    return tuple(int(tree.value[leaves & (tree.label != c), c].sum()) for c in range(2))


def with_best_labels(tree):
    """Return a tree with the weights of two classes whose leaves have the labels of best F1.

    Class 1 is predicted where its share is above some number.
    """
    leaves, label = np.flatnonzero(tree.feature < 0), tree.label.copy()
    weight, positive = tree.value[leaves].sum(axis=1), tree.value[leaves, 1]
    order = np.argsort(-positive / np.maximum(weight, 1), kind="stable")
    found = np.cumsum(positive[order])
    n_chosen = 1 + np.argmax(found / (np.cumsum(weight[order]) + found[-1]))
    label[leaves] = 0
    label[leaves[order[:n_chosen]]] = 1
    return tree._with(label=label)


def f1_tree(model, columns, y, sample_weight, clock, search):
    """Return the tree of best F1 and its report, by searches over weighted rows.

    With e0 and e1 errors of the classes and P rows of class 1, one minus F1 is (e0 + e1) /
    (2 P - e1 + e0).  It is below a / b exactly where (b - a) e0 + (b + a) e1 < 2 P a: a cost of
    weighted rows, in whole numbers.  A search that finds no such tree proves a / b.
    """
    given = np.ones(len(y)) if sample_weight is None else sample_weight
    check_counts("objective='f1'", model.classes_, given, 2 ** 25.5)
    positives = int(given[y == 1].sum())

    def loss_of(tree):
        errors_0, errors_1 = errors_by_class(tree)
        a, b = errors_0 + errors_1, 2 * positives - errors_1 + errors_0
        return (a, b) if positives else (1, 1)      # without a positive row F1 is zero

    fit = Fit(clock, lambda tree: np.divide(*loss_of(tree)), scale=1.0,
              start=model._start_word(), verbose=model.verbose)
    fit.proof = (f"optimal for {pluralised(columns.shape[1], 'predicate')} at "
                 f"{model._limits(len(y))}, F1")
    groups, problem = grouped_rows(columns), None
    factors, most_nodes = np.array([1, 1]), model._nodes(len(y), most=True)

    def heard(tree):
        if tree.n_splits > most_nodes:      # quick methods grow larger ones, to be cut back
            tree = cut_back(tree, most_nodes)
        fit.offer(with_best_labels(tree._with(value=tree.value / factors)), equal=rounds > 0)

    ended, counters, rounds = "optimal", {}, 0
    heard(single_leaf(columns, y, 2, given, 0))
    fit.note("one leaf")
    with fit.stops():
        if clock.time_limit is not None:    # rows are counted quickly, and F1 begins near its best
            run = Run(model, Rows(columns, y, sample_weight, groups=groups), clock, search,
                      hear=heard)
            try:
                run.glance()
            except KeyboardInterrupt:
                run.quick(fit.finishing())
                raise
            fit.note("errors")
        while True:
            before, (a, b) = fit.objective, loss_of(fit.tree)
            if not 0 < a < b:
                break
            common = gcd(a, b)
            a, b = a // common, b // common
            factors = np.array([b - a, b + a])
            problem = problem.reweighted(factors) if problem and sample_weight is None else None
            run = Run(model, Rows(columns, y, given * factors[y], groups=groups, problem=problem),
                      clock, search, hear=heard)
            problem = run.problem
            run.begin_from(fit.tree._with(value=fit.tree.value * factors))
            tree, report = run.run()
            heard(tree)
            rounds += 1
            fit.note(f"search {rounds}")
            for name, count in run.fit.counters.items():
                counters[name] = counters.get(name, 0) + count
            ended = report.status
            # for every tree a' b - a b' is at least this, and b' at least the rows of class 1
            lead = report.lower_bound - 2 * positives * a
            if np.isfinite(lead):
                fit.learn(a / b + min(0.0, lead) / (b * positives))
            if ended not in ("optimal", "heuristic") or fit.objective == before:
                break
        fit.ended = ended
    fit.counters = {**counters, "searches": rounds}
    if fit.ended == "optimal":
        fit.finish()
    return fit.tree.pruned(), fit.report()
