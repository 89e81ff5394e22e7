"""Random fits of every estimator against brute force: the optimum, the bound, and the report.

    python benchmarks/fuzz.py [N] [--seed S] [--workers W] [--only NAME ...] [--show]

Each fit has a seed of its own, S, S + 1 ..., from which the estimator, its parameters and a small
problem are drawn: ties, duplicates, constants, neighbouring floats, values up to 1.7e308; weights
of zero, of one, whole, fractional, from 1e-12 to 1e12.  Checked are

* the objective, recomputed from the arrays of the tree, against the report and ``verify``;
* the optimum of a slow reference that shares no code with odtlib, and the lower bound;
* depth, number of feature nodes and rows in each leaf; feasibility of constrained predictions;
* now and then, that the rows of weight zero make no difference.

The end is a table of counts per estimator and one line for each disagreement, which says how to
repeat it.  The exit status is 1 if there was a disagreement.
"""

import argparse
import itertools
import multiprocessing
import os
import sys
import time
import traceback
import warnings
from collections import Counter
from itertools import chain
from multiprocessing.connection import wait

import numpy as np
from sklearn.base import is_regressor

import odtlib
from odtbook import formulations
from odtbook.lifetime import end_with
from odtlib.column_generation import ThresholdSampling
from odtlib.constrained import sets

PROOF = 1e-9            # of the scale: what "optimal" may leave open
SOLVERS = 1e-6          # the same for integer programs
PATIENCE = 60           # seconds after which a fit counts as hanging
EXPECTED = ("every class has a single row", "finds no threshold", "rows have weight")


class Disagreement(Exception):
    """The estimator and the reference do not say the same."""


# ------------------------------------------------------------------------- problems

def pick(random, *values):
    return values[int(random.integers(len(values)))]


def draw_features(random, n, p, binary):
    """Return features with ties, constants, and values that are hard to tell apart."""
    extreme = np.array([-1.7e308, -1.0, -1e-300, -5e-324, -0.0, 0.0, 5e-324, 1.0, 1.7e308])

    def draw(kind):
        few = random.integers(0, max(2, n // 2), n)
        return {"normal": random.normal(size=n), "few": few.astype(float),
                "constant": np.full(n, 3.25), "one ulp": 1.0 + few * np.spacing(1.0),
                "far from zero": 1e8 + few * 1e-3, "binary": few % 2.0,
                "extreme": extreme[random.integers(0, len(extreme), n)]}[kind]

    kinds = ["binary"] if binary else ["normal", "few", "constant", "one ulp", "far from zero",
                                       "binary", "extreme"]
    columns = [draw(pick(random, *kinds)) for _ in range(p)]
    X = np.column_stack(columns)
    if n > 3 and random.random() < 0.3:                     # rows that are there twice
        X[:n // 2] = X[n - n // 2:]
    return X


def draw_weights(random, n):
    """Return weights of one of many kinds, or None."""
    if random.random() < 0.2:
        return None
    weight = pick(random, np.ones(n), random.integers(1, 6, n).astype(float),
                  random.integers(1, 10**6, n).astype(float), random.random(n) + 0.01,
                  10.0 ** random.uniform(-12, 12, n))
    if random.random() < 0.3:
        weight *= 10.0 ** random.integers(-12, 13)
    if random.random() < 0.4:
        weight[random.random(n) < 0.3] = 0.0
        weight[random.integers(n)] = 1.0
    return weight


def draw_labels(random, X, most):
    """Return labels that a shallow tree nearly explains, or any."""
    n = len(X)
    classes = int(random.integers(2, most + 1))
    y = random.integers(0, classes, n)
    if random.random() < 0.5:
        y = (y * (random.random(n) < 0.3) + (X[:, 0] > np.median(X[:, 0]))) % classes
    y[:2] = 0, 1                                            # one class only is refused
    return y


def draw_targets(random, X, outputs=None):
    """Return targets of one of several sizes, some of them far from the others."""
    shape = len(X) if outputs is None else (len(X), outputs)
    y = pick(random, random.normal(size=shape), random.integers(0, 4, shape).astype(float),
             10.0 ** random.integers(-4, 5, shape), 1e6 + random.normal(size=shape),
             np.full(shape, 0.1))
    if random.random() < 0.3:
        y = y + 2 * (X[:, 0] > np.median(X[:, 0])).reshape(-1, *[1] * (np.ndim(y) - 1))
    return y * 10.0 ** random.integers(-6, 7) if random.random() < 0.2 else y


# ------------------------------------------------------------------------ reference

def subset_sums(values):
    """Return the sum of every subset of rows; bit i of its number stands for row i."""
    sums = np.zeros(1, np.longdouble)
    for value in values:
        sums = np.concatenate([sums, sums + np.longdouble(value)])
    return sums


def cuts(X):
    """Return the sets of rows that a test can send left, as bit masks."""
    return sorted({sum(1 << i for i in np.flatnonzero(column <= value).tolist())
                   for column in X.T for value in np.unique(column)[:-1]})


def class_leaves(y, weight):
    """Return the misclassified weight of every set of rows."""
    sums = np.array([subset_sums(weight * (y == label)) for label in np.unique(y)])
    return sums.sum(axis=0) - sums.max(axis=0)


def square_leaves(y, weight):
    """Return the squared error about the mean of every set of rows."""
    Y = np.asarray(y, np.longdouble).reshape(len(y), -1)
    w = np.asarray(weight, np.longdouble)
    mass, total = subset_sums(w), 0
    for target in Y.T:
        target = target - (w @ target) / w.sum()
        first, second = subset_sums(w * target), subset_sums(w * target**2)
        total = total + np.maximum(second - first**2 / np.where(mass > 0, mass, 1), 0)
    return total


def absolute_leaves(y, weight):
    """Return the absolute error about the median of every set of rows."""
    return np.min([subset_sums(np.asarray(weight, np.longdouble) * np.abs(
        np.asarray(y, np.longdouble) - value)) for value in y], axis=0)


def least_costs(leaf, splits, n, depth, budgets, min_leaf=1, prices=None):
    """Return the least cost of a tree for each budget of feature nodes.

    ``leaf`` holds the cost of every set of rows as a leaf, ``prices`` that of a feature node at
    each depth.
    """
    prices = np.zeros(depth) if prices is None else prices
    every = np.arange(1 << n)
    # one leaf is allowed however few rows there are
    leaf = np.where((np.bitwise_count(every) < min_leaf) & (every < every[-1]), np.inf, leaf)
    splits = np.array(splits, np.int64)
    whole = budgets == [2**depth - 1]           # no other size is asked for
    tables = [leaf]                             # for at most 0, 1, 2 ... feature nodes
    for level in range(depth - 1, -1, -1):
        rows = every[-1:] if level == 0 else every
        left, right = splits[:, None] & rows, ~splits[:, None] & rows
        most = min(max(budgets), 2 ** (depth - level) - 1)
        new = [leaf[rows]]
        for size in [most] if whole else range(1, most + 1):
            best = new[-1]
            for low in [len(tables) - 1] if whole else range(size):
                high = low if whole else size - 1 - low
                if len(splits) and max(low, high) < len(tables):
                    best = np.minimum(best, (tables[low][left] + tables[high][right]).min(axis=0)
                                      + prices[level])
            new.append(best)
        tables = new
    return [tables[min(budget, len(tables) - 1)][-1] for budget in budgets]


def outcomes(splits, n, depth, nodes, min_leaf):
    """Return every set of rows for which some tree predicts the second class."""
    known = {}

    def below(rows, depth, nodes):
        key = rows, depth, nodes = rows, depth, min(nodes, 2**depth - 1)
        if key not in known:
            found = {0, rows}         # a set of too few rows is not asked for
            for split in splits if nodes > 0 else ():
                left, right = rows & split, rows & ~split
                if left.bit_count() >= min_leaf and right.bit_count() >= min_leaf:
                    for share in range(nodes):
                        found |= {a | b for a in below(left, depth - 1, share)
                                  for b in below(right, depth - 1, nodes - 1 - share)}
            known[key] = found
        return known[key]

    return below((1 << n) - 1, depth, nodes)


def nearest(point, kind, k, total):
    """Return the squared distance of a point to Box(0, 1), Simplex or AtMostKNonzero(k, 0, 1)."""
    point = np.asarray(point, np.longdouble)
    if kind == "box":
        return float(((point - np.clip(point, 0, 1)) ** 2).sum())
    best = np.inf
    for size in range(len(point) + 1 if kind == "simplex" else k + 1):
        for chosen in itertools.combinations(range(len(point)), size):
            y, chosen = np.zeros_like(point), list(chosen)
            if kind == "simplex":
                if not size:
                    continue
                y[chosen] = point[chosen] - (point[chosen].sum() - total) / size
                if y.min() < 0:
                    continue
            else:
                y[chosen] = np.clip(point[chosen], 0, 1)
            best = min(best, float(((point - y) ** 2).sum()))
    return best


# ---------------------------------------------------------------------------- checks

def route(tree, X):
    """Return the leaf of every row, by the arrays of the tree alone."""
    leaves = []
    for row in X:
        node = 0
        while tree.feature[node] >= 0:
            left = row[tree.feature[node]] <= tree.threshold[node]
            node = (tree.left if left else tree.right)[node]
        leaves.append(int(node))
    return np.array(leaves)


def depth_of(tree, node=0):
    if tree.feature[node] < 0:
        return 0
    return 1 + max(depth_of(tree, tree.left[node]), depth_of(tree, tree.right[node]))


def exact_sum(values):
    return np.asarray(values, np.longdouble).sum()


class Case:
    """One problem, one estimator, and what is known of the answer.

    ``true`` recomputes the objective from a tree, and ``optimum`` is its least value; a tree is
    exact if the report must say "optimal", and ``bounded`` if the bound holds for the optimum.
    """

    def __init__(self, model, X, y, weight, true, optimum, scale, *, depth=None, nodes=None,
                 min_leaf=1, exact=True, bounded=True, within=PROOF, noise=0.0, reach=None,
                 fit=None, check=None):
        self.model, self.X, self.y, self.weight = model, X, y, weight
        self.true, self.optimum, self.scale = true, optimum, scale
        self.depth, self.nodes, self.min_leaf = depth, nodes, min_leaf
        self.exact, self.bounded, self.check = exact, bounded, check
        self.allowed = within * float(scale) + noise
        self.reach = self.allowed if reach is None else reach   # above the optimum
        self.fit = fit or {}

    def run(self, random):
        used = np.ones(len(self.X), bool) if self.weight is None else self.weight > 0
        extra = {} if self.weight is None else {"sample_weight": self.weight}
        model = self.model.fit(self.X, self.y, **extra, **self.fit)
        predicted = model.predict(self.X)
        if len(predicted) != len(self.X):
            raise Disagreement("predict returns another number of rows")
        if self.true is not None:
            self.judge(model.tree_, model.report_, used, extra)
        if self.check is not None:
            self.check(model, predicted)
        # with fewer classes, another of several optimal trees may be found
        left = np.unique(self.y[used], axis=0)
        if (not used.all() and random.random() < 0.3 and len(left) > 1
                and (is_regressor(model) or len(left) == len(np.unique(self.y, axis=0)))):
            self.without_them(predicted, used)

    def judge(self, tree, report, used, extra):
        X = self.X[used]
        leaves = route(tree, X)
        if not np.array_equal(leaves, tree.apply(X)):
            raise Disagreement("apply does not lead where the arrays lead")
        true = self.true(tree, leaves)
        if not abs(report.objective - true) <= self.allowed:
            raise Disagreement(f"the report says {report.objective!r}, the tree costs {true!r}")
        if not abs(self.model.verify(self.X, self.y, **extra) - true) <= self.allowed:
            raise Disagreement("verify returns another objective")
        if self.depth is not None and depth_of(tree) > self.depth:
            raise Disagreement(f"depth {depth_of(tree)} exceeds {self.depth}")
        if self.nodes is not None and tree.n_splits > self.nodes:
            raise Disagreement(f"{tree.n_splits} feature nodes exceed {self.nodes}")
        fewest = np.bincount(leaves, minlength=tree.n_nodes)[tree.feature < 0].min()
        if tree.n_splits and fewest < self.min_leaf:
            raise Disagreement(f"a leaf holds {fewest} rows, fewer than {self.min_leaf}")
        if self.optimum is None:
            return
        if true < self.optimum - self.allowed:
            raise Disagreement(f"the tree costs {true!r}, less than the optimum {self.optimum!r}: "
                               "the reference is wrong")
        if self.exact and report.status != "optimal":
            raise Disagreement(f"the status is {report.status!r}")
        if (self.exact is not False or report.status == "optimal" and self.bounded) \
                and true > self.optimum + self.reach:
            raise Disagreement(f"the tree costs {true!r}, the optimum is {self.optimum!r} "
                               f"({report.status})")
        if self.bounded and report.lower_bound > self.optimum + self.allowed:
            raise Disagreement(f"the bound {report.lower_bound!r} exceeds the optimum "
                               f"{self.optimum!r}")

    def without_them(self, predicted, used):
        part = {name: value[used] for name, value in self.fit.items()}
        other = type(self.model)(**self.model.get_params(deep=False))
        other.fit(self.X[used], self.y[used], sample_weight=self.weight[used], **part)
        if not np.array_equal(predicted, other.predict(self.X)):
            raise Disagreement("rows of weight zero change the predictions")


def size_limits(random, depth):
    """Return a budget of feature nodes, or None for the full tree."""
    full = 2**depth - 1
    return int(random.integers(0, full + 1)) if random.random() < 0.3 else None


def classified(random, most_rows=12, most_features=4, most_classes=5, binary=None):
    """Draw a classification problem; return it, and its rows of positive weight."""
    n, p = int(random.integers(2, most_rows + 1)), int(random.integers(1, most_features + 1))
    X = draw_features(random, n, p, random.random() < 0.25 if binary is None else binary)
    y = draw_labels(random, X, most_classes)
    weight = draw_weights(random, n)
    used = np.ones(n, bool) if weight is None else weight > 0
    return X, y, weight, X[used], y[used], np.ones(used.sum()) if weight is None else weight[used]


def errors_of(y, weight, price=0.0):
    """Return the function that recomputes errors plus a price of feature nodes."""
    def true(tree, leaves):
        labels = tree.classes[tree.label[leaves]]
        return float(exact_sum(weight[labels != y]) + np.longdouble(price) * tree.n_splits)
    return true


def classifier_case(build, depth, data, *, nodes=None, min_leaf=1, price=0.0,
                    fewest=False, relative=None, costs=None, budget=None, **options):
    """Make the case of a classifier that minimises errors plus a price of feature nodes."""
    X, y, weight, rows, labels, kept = data
    n = len(rows)
    if costs is not None:
        kept = kept * np.array([costs.get(int(label), 1.0) for label in labels])
    full = 2**depth - 1
    budget = full if budget is None else budget
    leaf = class_leaves(labels, kept)
    if relative is not None:                    # a price in shares of the best leaf's errors
        price = relative * leaf[-1]
    splits = cuts(rows)
    prices = np.full(depth, np.longdouble(price)) if depth else np.zeros(0)
    scale = kept.sum()
    wanted = list(range(budget + 1)) if fewest else [budget]
    found = least_costs(leaf, splits, n, depth, wanted, min_leaf, prices)
    optimum, check = float(found[-1]), None
    if fewest:
        def check(model, predicted):
            size = model.tree_.n_splits
            most = next(k for k in wanted if found[k] <= found[-1] + 1e-16 * scale)
            least = next(k for k in wanted if found[k] <= found[-1] + PROOF * scale)
            if not least <= size <= most:
                raise Disagreement(f"{size} feature nodes where {most} are enough")
    return Case(build, X, y, weight, errors_of(labels, kept, float(price)), optimum, scale,
                depth=depth, nodes=budget, min_leaf=min_leaf, check=check, **options)


# ------------------------------------------------------------------------ estimators

def murtree_classifier(random):
    data = classified(random)
    total = data[5].sum()
    depth = int(pick(random, 0, 1, 2, 2, 2, 3, 3))
    nodes = size_limits(random, depth)
    min_leaf = int(pick(random, 1, 1, 1, 2, 3))
    price = float(pick(random, 0, 0, 0, 0.02, 0.1)) * total
    fewest = random.random() < 0.3
    search = odtlib.MurTreeSearch(**{
        "cache": pick(random, "dataset", "dataset", "branch", None,
                      *(["closure"] if data[2] is None else [])),
        "similarity_bound": pick(random, True, True, False, "siblings"),
        "n_exact_children": int(pick(random, 2, 2, 0, 5)),
        "refined_bound": bool(random.random() < 0.7),
        "incremental_counts": bool(random.random() < 0.7),
        "specialised_depth_two": bool(random.random() < 0.7),
        "feature_order": pick(random, "depth-two", "in-order", "gini", "random"),
        "child_order": pick(random, "dynamic", "post-order", "gap"),
        "merge_rows": bool(random.random() < 0.7), "merge_columns": bool(random.random() < 0.7),
        "deepening": bool(random.random() < 0.2),
        "discrepancy_search": nodes is None and bool(random.random() < 0.2),
        "minimise_nodes": bool(fewest), "random_state": 0})
    options = {
        "start": pick(random, None, None, None, "cart", "local-search"),
        "n_jobs": pick(random, None, None, None, None, 2)}
    model = odtlib.MurTreeClassifier(
        depth, nodes, binarizer="all", min_samples_leaf=min_leaf, split_penalty=price,
        search=search, **options)
    return classifier_case(model, depth, data, budget=nodes, min_leaf=min_leaf,
                           price=price, fewest=fewest)


def murtree_objectives(random):
    """Draw one of MurTree's other objectives."""
    kind = pick(random, "balanced", "levels", "f1", "fair")
    X, y, weight, rows, labels, kept = classified(
        random, most_rows=8 if kind in ("f1", "fair") else 12, most_features=3,
        most_classes=2 if kind in ("f1", "fair") else 4)
    depth = int(pick(random, 1, 2, 2, 3) if kind in ("balanced", "levels") else pick(random, 1, 2))
    if kind in ("f1", "fair"):
        if weight is not None:                  # these take whole weights
            weight = np.minimum(np.ceil(weight), 5)
            kept = weight[weight > 0]
    budget, min_leaf = size_limits(random, depth), int(pick(random, 1, 1, 2))
    options = {"binarizer": "all", "min_samples_leaf": min_leaf, "max_nodes": budget}
    limits = {"depth": depth, "nodes": budget, "min_leaf": min_leaf}
    splits, n = cuts(rows), len(rows)
    nodes = 2**depth - 1 if budget is None else budget
    if kind == "balanced":
        totals = {label: kept[labels == label].sum() for label in np.unique(labels)}
        share = np.array([w / np.longdouble(totals[label]) / len(totals)
                          for w, label in zip(kept, labels, strict=True)])
        best, = least_costs(class_leaves(labels, share), splits, n, depth, [nodes], min_leaf)
        model = odtlib.MurTreeClassifier(depth, objective="balanced-accuracy", **options)
        return Case(model, X, y, weight, errors_of(labels, share), float(best), 1.0, **limits)
    if kind == "levels":
        prices = [float(p) * kept.sum() for p in random.choice([0, 0.01, 0.05, 0.2], depth)]
        best, = least_costs(class_leaves(labels, kept), splits, n, depth, [nodes], min_leaf, prices)
        free = errors_of(labels, kept)

        def true(tree, leaves):
            level, spent = {0: 0}, 0.0
            for node in range(tree.n_nodes):
                if tree.feature[node] >= 0:
                    level[tree.left[node]] = level[tree.right[node]] = level[node] + 1
                    spent += prices[level[node]]
            return free(tree, leaves) + spent

        model = odtlib.MurTreeClassifier(depth, split_penalty=prices, **options)
        return Case(model, X, y, weight, true, float(best), kept.sum(), **limits)
    positive = labels == 1
    every = outcomes(splits, n, depth, nodes, min_leaf)
    marks = [np.array([mask >> i & 1 for i in range(n)], bool) for mask in every]
    if kind == "f1":
        def loss(chosen):
            right = kept[chosen & positive].sum()
            whole = kept[chosen].sum() + kept[positive].sum()
            return 1.0 - 2 * right / whole if whole else 0.0

        if not positive.any():
            return None                         # what F1 means then is a matter of taste
        model = odtlib.MurTreeClassifier(depth, objective="f1", **options)
        return Case(model, X, y, weight,
                    lambda tree, leaves: float(loss(tree.label[leaves] == 1)),
                    float(min(map(loss, marks))), 1.0, **limits)
    notion = pick(random, "demographic-parity", "equal-opportunity")
    group = random.integers(0, int(pick(random, 2, 3)), len(X))
    group[:2] = 0, 1
    inside = group if weight is None else group[weight > 0]
    counted = np.ones(n, bool) if notion == "demographic-parity" else positive
    groups = np.unique(inside)
    if len(groups) < 2 or len(np.unique(inside[counted])) < len(groups):
        return None
    most = float(pick(random, 0.0, 0.1, 0.3, 0.6))

    def disparity(chosen):
        parts = [counted & (inside == g) for g in groups]
        return np.ptp([kept[chosen & part].sum() / kept[part].sum() for part in parts])

    best = min(kept[chosen != positive].sum() for chosen in marks
               if disparity(chosen) <= most + 1e-12)

    def check(model, predicted):
        chosen = predicted if weight is None else predicted[weight > 0]
        if disparity(chosen == 1) > most + 1e-9:
            raise Disagreement("the disparity exceeds max_disparity")

    model = odtlib.MurTreeClassifier(depth, max_disparity=most, disparity=notion, **options)
    return Case(model, X, y, weight, errors_of(labels, kept), float(best), kept.sum(),
                fit={"protected": group}, check=check, **limits)


def continuous_classifier(random):
    data = classified(random)
    depth = int(pick(random, 0, 1, 2, 2, 3, 3))
    budget, min_leaf = size_limits(random, depth), int(pick(random, 1, 1, 1, 2, 3))
    price = float(pick(random, 0, 0, 0, 0.05, 0.1, 1 / 3) * data[5].sum())
    gap = float(pick(random, 0, 0, 0, 0, 0.05))
    model = odtlib.ContinuousTreeClassifier(
        depth, max_nodes=budget, min_samples_leaf=min_leaf, split_penalty=price, max_gap=gap,
        start=pick(random, "cart", "cart", None, "local-search"), cache=bool(random.random() < .7),
        n_jobs=int(pick(random, 1, 1, 1, 2)), random_state=0)
    case = classifier_case(model, depth, data, budget=budget, min_leaf=min_leaf,
                           price=price, exact=gap == 0)
    if gap:
        case.exact, case.reach = None, case.allowed + gap * data[5].sum()
    return case


def local_search(random):
    data = classified(random)
    depth, min_leaf = int(pick(random, 0, 1, 2, 3)), int(pick(random, 1, 1, 2))
    model = odtlib.LocalSearchTreeClassifier(
        depth, min_samples_leaf=min_leaf, max_restarts=int(pick(random, 1, 3)),
        patience=int(pick(random, 0, 5)), depth_two=bool(random.random() < 0.7), random_state=0)
    return classifier_case(model, depth, data, min_leaf=min_leaf, exact=False)


def balanced(data):
    """Return what ``class_weight="balanced"`` makes a row of each class cost."""
    labels, counts = np.unique(data[4], return_counts=True)
    return {int(label): counts.sum() / (len(labels) * count)
            for label, count in zip(labels, counts, strict=True)}


def cart(random):
    data = classified(random)
    depth, min_leaf = int(pick(random, 0, 1, 2, 3)), int(pick(random, 1, 1, 2))
    model = odtlib.CARTClassifier(
        depth, criterion=pick(random, "gini", "entropy"), min_samples_leaf=min_leaf,
        class_weight=pick(random, None, None, "balanced"),
        ccp_alpha=float(pick(random, 0, 0, 0.01)), random_state=0)
    costs = balanced(data) if model.class_weight else None
    return classifier_case(model, depth, data, costs=costs, min_leaf=min_leaf, exact=False)


def tuned_cart(random):
    data = classified(random, most_classes=2)
    depth = int(pick(random, 1, 2))
    model = odtlib.TunedCARTClassifier(depth, cv=2, random_state=0)
    return classifier_case(model, depth, data, exact=False)


def restricted_options(random, data):
    total = data[5].sum()
    present = data[4][data[5] > 0]
    costs = {int(present.min()): 0.5, int(present.max()): 2.0} if random.random() < 0.2 else None
    price = float(pick(random, 0, 0, 0, 0.02, 0.1)) * total
    min_leaf = int(pick(random, 1, 1, 2, 3))
    return costs, price, min_leaf


def over_candidates(random, name, most_rows, depths, **fixed):
    """Make the case of an estimator over all thresholds as candidates, or over sampled ones."""
    data = classified(random, most_rows=most_rows)
    depth = int(pick(random, *depths))
    costs, price, min_leaf = restricted_options(random, data)
    every = random.random() < 0.85
    full = 2**depth - 1
    budget = int(random.integers(0, full + 1)) if random.random() < 0.3 else None
    by_leaves = budget is not None and random.random() < 0.5
    model = getattr(odtlib, name)(
        depth, splits="all" if every else None, class_weight=costs, split_penalty=price,
        min_samples_leaf=min_leaf, max_nodes=None if by_leaves else budget,
        max_leaf_nodes=budget + 1 if by_leaves and budget else None, **fixed)
    if by_leaves and not budget:
        budget = None
    case = classifier_case(model, depth, data, costs=costs, price=price, min_leaf=min_leaf,
                           budget=budget)
    if not every:
        case.exact, case.bounded = False, False
    return case


def restricted(random):
    return over_candidates(random, "RestrictedTreeClassifier", 12, (0, 1, 2, 2, 3),
                           sampling=ThresholdSampling(n_trees=20))


def column_generation(random):
    integer = pick(random, "branch-and-price", "branch-and-price", "master", "milp", "diving")
    case = over_candidates(
        random, "ColumnGenerationClassifier", 8, (1, 2, 2),
        sampling=ThresholdSampling(n_trees=20), search=odtlib.ColumnGenerationSearch(
            row_cuts=pick(random, "none", "upper", "equal", "all"),
            pricing=pick(random, "enumeration", "sweep"), integer=integer,
            link=pick(random, "node", "prefix"),
            heuristic_pricing=pick(random, None, None, "pool", "random"),
            merge_rows=bool(random.random() < 0.7)))
    if integer != "branch-and-price":
        case.exact = False
    return case


def program_limits(random):
    """Return depth, price of a split and budget of an integer program."""
    depth = int(pick(random, 0, 1, 1, 2))
    return depth, float(pick(random, 0, 0, 0.05, 0.3)), size_limits(random, depth)


def whole_solver(random, data):
    """Return a solver that takes the weights."""
    weight = data[5]
    whole = np.all(weight == np.rint(weight)) and weight.sum() < 1e6
    return pick(random, "highs", "cp-sat") if whole else "highs"


def oct_program(random):
    data = classified(random, most_rows=7, most_features=3, most_classes=3)
    depth, share, budget = program_limits(random)
    min_leaf = int(pick(random, 1, 1, 2))
    price = share * data[5].sum()
    model = formulations.OCTClassifier(
        depth, split_penalty=price, max_nodes=budget, min_samples_leaf=min_leaf,
        constraint_form=pick(random, "per_node", "per_leaf"), solver=whole_solver(random, data),
        start=pick(random, None, "cart", "local-search"), random_state=0)
    return classifier_case(model, depth, data, budget=budget, min_leaf=min_leaf,
                           price=price, within=SOLVERS)


def flow_program(random):
    data = classified(random, most_rows=7, most_features=3, most_classes=3)
    depth, share, budget = program_limits(random)
    price, min_leaf = share * data[5].sum(), int(pick(random, 1, 1, 2))
    model = formulations.FlowOCTClassifier(
        depth, split_penalty=price, max_nodes=budget, min_samples_leaf=min_leaf, binarizer="all",
        solver=whole_solver(random, data), start=pick(random, None, "cart", "local-search"),
        random_state=0)
    return classifier_case(model, depth, data, budget=budget, min_leaf=min_leaf, price=price,
                           within=SOLVERS)


def binoct_program(random):
    data = classified(random, most_rows=7, most_features=3, most_classes=3)
    depth, share, budget = program_limits(random)
    min_leaf, price = int(pick(random, 1, 1, 2)), share * data[5].sum()
    model = formulations.BinOCTClassifier(
        depth, solver=whole_solver(random, data), split_penalty=price, max_nodes=budget,
        min_samples_leaf=min_leaf, random_state=0,
        constraint_form=pick(random, "summed", "per_row", "ordered"),
        start=pick(random, None, "cart", "local-search"))
    return classifier_case(model, depth, data, budget=budget, min_leaf=min_leaf, price=price,
                           within=SOLVERS)


def measured(random, most_rows=12, most_features=4):
    """Draw a regression problem; return it, and its rows of positive weight."""
    n, p = int(random.integers(2, most_rows + 1)), int(random.integers(1, most_features + 1))
    X = draw_features(random, n, p, random.random() < 0.25)
    y, weight = draw_targets(random, X), draw_weights(random, n)
    used = np.ones(n, bool) if weight is None else weight > 0
    return X, y, weight, X[used], y[used], np.ones(used.sum()) if weight is None else weight[used]


def regressor_case(build, depth, data, *, absolute=False, budget=None, min_leaf=1,
                   share=0.0, fewest=False, **options):
    """Make the case of a regressor; ``share`` is the price of a node as one of the root's cost."""
    X, y, weight, rows, targets, kept = data
    n = len(rows)
    leaf = (absolute_leaves if absolute else square_leaves)(targets, kept)
    scale = float(leaf[-1])
    # means are rounded like targets, which matters where these hardly differ
    digits = 8 * np.finfo(float).eps * np.abs(targets).max()
    noise = float(kept.sum() * (digits if absolute else digits**2))
    price = share * scale
    if share:
        build.set_params(split_penalty=price)
    nodes = 2**depth - 1 if budget is None else budget
    wanted = list(range(nodes + 1)) if fewest else [nodes]
    found = least_costs(leaf, cuts(rows), n, depth, wanted, min_leaf, np.full(depth, price))

    def true(tree, leaves):
        off = np.asarray(targets, np.longdouble) - tree.value[leaves, 0]
        cost = exact_sum(kept * (np.abs(off) if absolute else off**2))
        return float(cost + np.longdouble(price) * tree.n_splits)

    def check(model, predicted):
        size = model.tree_.n_splits
        most = next(k for k in wanted if found[k] <= found[-1] + 1e-16 * scale)
        least = next(k for k in wanted if found[k] <= found[-1] + PROOF * scale + noise)
        if not least <= size <= most:
            raise Disagreement(f"{size} feature nodes where {most} are enough")

    return Case(build, X, y, weight, true, float(found[-1]), scale, depth=depth, nodes=budget,
                min_leaf=min_leaf, noise=noise, check=check if fewest else None, **options)


def murtree_regressor(random):
    data = measured(random)
    depth = int(pick(random, 0, 1, 2, 2, 3))
    budget, min_leaf = size_limits(random, depth), int(pick(random, 1, 1, 1, 2, 3))
    absolute, fewest = bool(random.random() < 0.4), bool(random.random() < 0.3)
    model = odtlib.MurTreeRegressor(
        depth, budget, loss="absolute_error" if absolute else "squared_error", binarizer="all",
        min_samples_leaf=min_leaf, search=odtlib.MurTreeSearch(
            minimise_nodes=fewest, similarity_bound=bool(random.random() < 0.7), random_state=0),
        start=pick(random, None, None, "cart"))
    return regressor_case(model, depth, data, absolute=absolute, budget=budget,
                          min_leaf=min_leaf, share=float(pick(random, 0, 0, 0.01, 0.1)),
                          fewest=fewest)


def continuous_regressor(random):
    depth = int(pick(random, 0, 1, 2, 2, 3, 3))
    data = measured(random, most_rows=10 if depth == 3 else 12)
    budget, min_leaf = size_limits(random, depth), int(pick(random, 1, 1, 1, 2, 3))
    model = odtlib.ContinuousTreeRegressor(
        depth, max_nodes=budget, min_samples_leaf=min_leaf, start=pick(random, "cart", None))
    return regressor_case(model, depth, data, budget=budget, min_leaf=min_leaf,
                          share=float(pick(random, 0, 0, 0.01, 0.1)))


def constrained_data(random, most_rows, binary=False):
    n, p = int(random.integers(2, most_rows + 1)), int(random.integers(1, 4))
    outputs = int(random.integers(1, 4))
    X = draw_features(random, n, p, binary)
    Y = random.random((n, outputs)) if random.random() < 0.7 else draw_targets(random, X, outputs)
    if random.random() < 0.3:
        Y[random.random(Y.shape) < 0.4] = 0.0
    kind, k = pick(random, "box", "simplex", "few", "none"), int(random.integers(1, outputs + 1))
    feasible = {"box": lambda: sets.Box(0.0, 1.0), "simplex": lambda: sets.Simplex(1.0),
                "few": lambda: sets.AtMostKNonzero(k, 0.0, 1.0), "none": lambda: None}[kind]()
    weight = draw_weights(random, n)
    used = np.ones(n, bool) if weight is None else weight > 0
    kept = np.ones(used.sum()) if weight is None else weight[used]
    return X, Y, weight, used, kept, feasible, kind, k


def constrained_case(build, depth, data, *, min_leaf=1, budget=None, penalty=0.0, **options):
    X, Y, weight, used, kept, feasible, kind, k = data
    rows, targets, n = X[used], Y[used], int(used.sum())
    leaf, splits = square_leaves(targets, kept), cuts(rows)
    mass = subset_sums(kept)
    sums = np.array([subset_sums(kept * target) for target in targets.T])
    if kind != "none":
        sets_asked = range(1, 1 << n)
        if depth < 2:                           # only the root and its children are leaves
            whole = (1 << n) - 1
            sets_asked = {whole, *splits, *(whole & ~split for split in splits)}
        for rows_of in sets_asked:
            leaf[rows_of] += mass[rows_of] * nearest(sums[:, rows_of] / mass[rows_of], kind, k, 1.0)
    scale = float(leaf[-1])
    # targets are not centred before their squares are added up
    noise = float(32 * np.finfo(float).eps * (kept[:, None] * np.maximum(targets**2, 1)).sum())
    nodes = 2**depth - 1 if budget is None else budget
    best, = least_costs(leaf, splits, n, depth, [nodes], min_leaf, np.full(depth, penalty))

    def true(tree, leaves):
        off = np.asarray(targets, np.longdouble) - tree.value[leaves]
        return float(exact_sum(kept[:, None] * off**2)) + penalty * tree.n_splits

    def check(model, predicted):
        predicted = np.asarray(predicted).reshape(len(X), -1)
        if feasible is not None and not feasible.contains(predicted).all():
            raise Disagreement("a prediction is not feasible")

    return Case(build, X, Y[:, 0] if Y.shape[1] == 1 else Y, weight, true, float(best), scale,
                depth=depth, nodes=budget, min_leaf=min_leaf, noise=noise, check=check, **options)


def constrained_tree(random):
    data = constrained_data(random, 12)
    split = pick(random, "exact", "exact", "exact", "mean", "medoid", "penalty")
    depth = int(pick(random, 0, 1, 1) if split == "exact" else pick(random, 1, 1, 2))
    if depth == 2:
        data = constrained_data(random, 7)
    min_leaf = int(pick(random, 1, 1, 2))
    model = odtlib.ConstrainedTreeRegressor(
        data[5], split=split, leaf="project", max_depth=depth, min_samples_leaf=min_leaf,
        on_infeasible_targets="keep", random_state=0)
    # exact splits make the best tree of depth one, which the report does not claim
    return constrained_case(model, depth, data, min_leaf=min_leaf,
                            exact=None if split == "exact" and depth < 2 else False)


def optimal_constrained(random):
    depth = int(pick(random, 0, 1, 1, 2))
    data = constrained_data(random, 7 if depth == 2 else 12)
    min_leaf, budget = int(pick(random, 1, 1, 2)), size_limits(random, depth)
    penalty = float(pick(random, 0, 0, 0.05))
    model = odtlib.OptimalConstrainedTreeRegressor(
        data[5], max_depth=depth, max_nodes=budget, min_samples_leaf=min_leaf,
        split_penalty=penalty, on_infeasible_targets="keep")
    return constrained_case(model, depth, data, min_leaf=min_leaf, budget=budget, penalty=penalty)


def constrained_others(random):
    """Draw a model without a report: its predictions must be feasible."""
    # scikit-learn's trees, which these build on, take no values beyond float32
    X, Y, weight, used, kept, feasible, *_ = constrained_data(random, 12, binary=True)
    feasible = sets.Box(0.0, 1.0) if feasible is None else feasible
    kind = pick(random, "forest", "projected", "classifier")
    if kind == "classifier":
        Y = random.integers(0, 3, (len(X), 2))
        Y[:2] = (0, 1), (1, 0)

        def allowed(combination):
            return combination[0] != combination[1]

        def check(model, predicted):
            if not all(allowed(row) for row in predicted):
                raise Disagreement("a prediction is not allowed")

        model = odtlib.ConstrainedTreeClassifier(allowed, on_infeasible_targets="drop")
        return Case(model, X, Y, None, None, None, 1.0, check=check)

    def check(model, predicted):
        if not feasible.contains(np.asarray(predicted).reshape(len(X), -1)).all():
            raise Disagreement("a prediction is not feasible")

    model = odtlib.ProjectedRegressor(constraints=feasible) if kind == "projected" else \
        odtlib.ConstrainedForestRegressor(feasible, n_estimators=3, random_state=0,
                                          on_infeasible_targets="keep")
    Y = Y[:, 0] if Y.shape[1] == 1 else Y
    if weight is not None:                      # a forest draws from other rows without them
        X, Y, weight = X[used], Y[used], weight[used]
    return Case(model, X, Y, weight, None, None, 1.0, check=check)


DRAWN = {       # how often each is drawn: integer programs and cross-validation take long
    "MurTreeClassifier": (murtree_classifier, 20),
    "MurTreeObjectives": (murtree_objectives, 6),
    "MurTreeRegressor": (murtree_regressor, 14),
    "ContinuousTreeClassifier": (continuous_classifier, 14),
    "ContinuousTreeRegressor": (continuous_regressor, 10),
    "LocalSearchTreeClassifier": (local_search, 8),
    "CARTClassifier": (cart, 5),
    "TunedCARTClassifier": (tuned_cart, 0.5),
    "RestrictedTreeClassifier": (restricted, 8),
    "ColumnGenerationClassifier": (column_generation, 3),
    "OCTClassifier": (oct_program, 1),
    "FlowOCTClassifier": (flow_program, 1),
    "BinOCTClassifier": (binoct_program, 1),
    "ConstrainedTreeRegressor": (constrained_tree, 7),
    "OptimalConstrainedTreeRegressor": (optimal_constrained, 4),
    "ConstrainedOthers": (constrained_others, 1),
}


# --------------------------------------------------------------------------- running

def drawn(seed, names):
    """Return the name of the estimator that belongs to a seed."""
    share = np.array([DRAWN[name][1] for name in names], float)
    return names[np.random.default_rng([seed, 0]).choice(len(names), p=share / share.sum())]


def fit_one(seed, names, show=False):
    """Do one fit; return the estimator, the outcome and, where it disagrees, why."""
    name = drawn(seed, names)
    random = np.random.default_rng([seed, 1])
    case = None
    while case is None:
        case = DRAWN[name][0](random)
    if show:
        print(f"{case.model!r}\nX = {case.X.tolist()}\ny = {case.y.tolist()}\nweight = "
              f"{None if case.weight is None else case.weight.tolist()}\noptimum = {case.optimum}")
    try:
        case.run(random)
    except Disagreement as found:
        return name, "disagree", str(found)
    except Exception as error:
        if isinstance(error, ValueError) and any(text in str(error) for text in EXPECTED):
            return name, "refused", ""
        where = traceback.extract_tb(error.__traceback__)[-1]
        if show:
            traceback.print_exc()
        return name, "disagree", (f"{type(error).__name__}: {' '.join(str(error).split())[:150]} "
                                  f"({where.filename.rsplit('/', 1)[-1]}:{where.lineno})")
    return name, "agree", ""


def fit_many(seeds, names, answers):
    """Do the fits of a range of seeds in this process, and send what came of each."""
    end_with(os.getppid())
    warnings.simplefilter("ignore")
    for seed in seeds:
        answers.send((seed, None))
        began = sum(os.times()[:4])
        answers.send((seed, (*fit_one(seed, names), sum(os.times()[:4]) - began)))


class Worker:
    """A process that does every so many seeds, and a new one where it dies or hangs."""

    def __init__(self, seeds, names):
        self.seeds, self.names = seeds, names
        self.begin()

    def begin(self):
        self.answers, theirs = multiprocessing.Pipe(duplex=False)
        self.process = multiprocessing.Process(
            target=fit_many, args=(self.seeds, self.names, theirs))
        self.process.start()
        theirs.close()
        self.seed, self.since = None, time.monotonic()

    def receive(self):
        """Return what the process has found out since, as ``(seed, name, outcome, why, spent)``."""
        found = []
        try:
            while self.answers.poll():
                self.seed, answer = self.answers.recv()
                self.since = time.monotonic()
                if answer is not None:
                    found.append((self.seed, *answer))
                    self.seeds = self.seeds[1:]
        except EOFError:
            self.process.join()
            if self.seeds:
                found.append(self.lost(f"the process died ({self.process.exitcode})"))
        if self.seed is not None and time.monotonic() - self.since > PATIENCE:
            self.process.kill()
            self.process.join()
            found.append(self.lost(f"the fit had not returned after {PATIENCE} s"))
        return found

    def lost(self, why):
        """Give up the fit under way and do the others in a new process."""
        seed, self.seeds = self.seeds[0], self.seeds[1:]
        if self.seeds:
            self.begin()
        return seed, drawn(seed, self.names), "disagree", why, 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("fits", type=int, nargs="?", default=10_000, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", nargs="+", choices=DRAWN, metavar="NAME",
                        help=f"some of {', '.join(DRAWN)}")
    parser.add_argument("--show", action="store_true",
                        help="print the problem, in this process: to repeat one fit")
    options = parser.parse_args()
    names = options.only or list(DRAWN)
    counts, seconds, found = Counter(), Counter(), []
    began, last = time.perf_counter(), options.seed + options.fits
    if options.show:
        warnings.simplefilter("ignore")
        for seed in range(options.seed, last):
            print(seed, *fit_one(seed, names, show=True))
        return 0
    multiprocessing.set_start_method("spawn")
    workers = [Worker(range(options.seed + k, last, options.workers), names)
               for k in range(min(options.workers, options.fits))]
    while any(worker.seeds for worker in workers):
        wait([worker.answers for worker in workers if worker.seeds], timeout=1.0)
        for seed, name, outcome, why, spent in chain.from_iterable(
                worker.receive() for worker in workers if worker.seeds):
            counts[name, outcome] += 1
            seconds[name] += spent
            if outcome == "disagree":
                found.append((seed, name, why))
                print(f"--only {name} --seed {seed} --show 1    {why}", file=sys.stderr,
                      flush=True)
    print(f"| estimator | fits | agree | refused | disagree | CPU seconds |\n|{' --- |' * 6}")
    for name in [*names, "all"]:
        row = [sum(n for (who, what), n in counts.items()
                   if name in (who, "all") and outcome in (what, "all"))
               for outcome in ("all", "agree", "refused", "disagree")]
        spent = sum(s for who, s in seconds.items() if name in (who, "all"))
        print(f"| {name} | {' | '.join(f'{n:,}' for n in row)} | {spent:.0f} |")
    print(f"\nseeds {options.seed} to {last - 1}, {time.perf_counter() - began:.0f} s of wall, "
          f"{f'{len(found)} disagreements:' if found else 'no disagreement'}")
    for seed, name, why in sorted(found):
        print(f"  --only {name} --seed {seed} --show 1    {why}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
