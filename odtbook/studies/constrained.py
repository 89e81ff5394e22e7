"""The study of Birbil et al. (2024): ten variants, five folds, three kinds of data."""

from __future__ import annotations

import time
from functools import partial

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils._param_validation import StrOptions, validate_params

from odtbook.datasets import available
from odtbook.published import PaperTreeRegressor, paper_model
from odtbook.published.constrained import (
    MEDOID,
    RELEASED_PENALTY,
    euclidean_medoid,
    has_signed_residuals,
    solve_courses,
)
from odtbook.studies.boosting import BoostedTrees
from odtlib import ConstrainedForestRegressor, ConstrainedTreeRegressor, ProjectedRegressor
from odtlib.constrained import make_loss, sets
from odtlib.tree import DecisionTree
from odtlib.trees import build

SPLITS = {"A": "mean", "O": "exact", "M": "medoid", "R": "penalty"}
LEAVES = {"A": "mean", "O": "project", "M": "medoid", "R": "penalty"}
VARIANTS = ("S(A):L(A)", "S(A):L(M)", "S(A):L(O)", "S(M):L(M)", "S(M):L(O)", "S(O):L(M)",
            "S(O):L(O)", "S(R):L(M)", "S(R):L(O)", "S(R):L(R)")
RELEASED = ("released S(A):L(A)", "released S(A):L(O)", "released S(O):L(O)")
PROGRAMS = ("S(A):L(O)", "S(O):L(O)", "S(R):L(O)")      # by SCIP, on one fold: they take minutes
NESTED = ("S(A):L(A)", "S(A):L(O)", "S(O):L(O)")       # of which the depth is chosen
CLASS_SETS = tuple(f"class_{n}_{k}" for n in (500, 1000, 2000) for k in (3, 5, 7))
DEPTHS = (3, 6, 9, 12, 15)
# lambda of the released code; on cars 2e7, where no residual depends on a target.  Bumps, jobs
# and time are not the paper's: there the penalty is the distance.
STRENGTH = {"class": 1500.0, "scores": 500.0, "cars": 0.0, "seismic": 1.0, "us": 1.0,
            "hts": 1.0}
SETS = {name for name in available() if name.partition("_")[0] in STRENGTH}


def model_for(dataset, max_courses=2):
    """Return the feasible set of a data set of the paper, "seismic_bumps" or "us_employment"."""
    kind = dataset.partition("_")[0]
    if kind == "class":
        return paper_model("class", max_courses=max_courses)
    if kind == "hts":
        return sets.SparseSimplex(4, 15, integer=True)
    if kind == "seismic":
        # no bump and no energy; or one bump at least, sizes that add up, a largest below the sum
        some = sets.Polyhedron([[0, 0, 0, 0, -1, 1]], 0, [[-1, 1, 1, 1, 0, 0]], 0,
                               lower=[1, 0, 0, 0, 2, 2])
        return sets.UnionOf([sets.Box(0, 0, 6), some])
    if kind == "us":
        # the total is all eleven supersectors, goods the first three, private services the next 7
        parts = np.eye(11)
        return sets.Hierarchy([np.ones(11), parts[:3].sum(0), parts[3:10].sum(0), *parts])
    return paper_model(kind)


def infeasible_rows(dataset, Y):
    """Count infeasible rows as the released code does."""
    kind = dataset.partition("_")[0]
    if kind == "class":
        return int(np.sum((Y > 1e-4).sum(axis=1) >= 3))
    if kind == "scores":
        return int(np.sum(((Y[:, 1] < 50 - 1e-6) & (Y[:, 2] > 1e-4))
                          | ((Y[:, 1] + Y[:, 2] < 110 - 1e-6) & (Y[:, 0] > 1e-4))))
    if kind == "cars":
        return int(np.sum((Y[:, 0] == 0) & (Y[:, 1] > 0)))
    return int(np.sum(~model_for(dataset).contains(Y)))


def make_variant(variant, feasible, max_depth, strength, builder="correct", medoid="criterion",
                 criterion="squared_error"):
    """Return the estimator of a variant such as "S(O):L(M)", with the paper's stopping rules.

    ``criterion`` is the paper's squared error or "absolute_error" (which the penalties of R and the
    released builder do not have), ``builder`` is "correct" (ours), "released" (that of the first
    released code) or "programs" (the same with the paper's programs in place of closed forms, for
    the class data), ``medoid`` is "criterion" (the row of least loss) or "euclidean" (of least mean
    distance, as the released code takes it).
    """
    stopping = dict(max_depth=max_depth, min_samples_split=10, min_samples_leaf=5)
    if variant in RELEASED:
        builder, variant = "released", variant.removeprefix("released ")
    if builder != "correct":
        kind = {"released": ReleasedTree, "programs": ProgramTree}[builder]
        return kind(feasible, variant, medoid, max_depth, strength)
    if variant == "S(A):L(A)":
        return DecisionTreeRegressor(criterion=criterion, random_state=20, **stopping)
    split, leaf = SPLITS[variant[2]], LEAVES[variant[7]]
    released = {"medoid": MEDOID} if medoid == "euclidean" else {}
    if has_signed_residuals(feasible):
        released["penalty"] = RELEASED_PENALTY
    return PaperTreeRegressor(
        feasible, split=released.get(split, split), leaf=released.get(leaf, leaf),
        criterion=criterion, penalty_strength=strength, on_infeasible_targets="keep", **stopping)


def medoid_of(Y, medoid):
    """Return the row that is nearest to all: the least squared error, or mean distance."""
    if medoid == "euclidean":
        return euclidean_medoid(Y)
    return make_loss("squared_error", np.ones(Y.shape[1])).medoid(Y, np.ones(len(Y)), Y)


def any_medoids(model, X, Y):
    """Replace medoid leaves by the medoids among all rows, feasible or not, as the paper does."""
    leaf, value = model.apply(X), model.tree_.value.copy()
    for node in np.unique(leaf):
        value[node] = medoid_of(
            Y[leaf == node], "euclidean" if model.leaf == MEDOID else "criterion")
    return lambda rows: value[model.apply(rows)]


def _measure(model, dataset, feasible, X, Y, train, test, medoids=False,
             criterion="squared_error"):
    model.fit(X[train[:40]], Y[train[:40]])   # compile or load the kernels before the clock starts
    cpu = time.process_time()
    model.fit(X[train], Y[train])
    cpu = time.process_time() - cpu
    predict = any_medoids(model, X[train], Y[train]) if medoids else model.predict
    found = predict(X[test]).reshape(len(test), -1)
    tree = getattr(model, "tree_", None)
    leaves = getattr(tree, "n_leaves", None)
    gap = np.abs(found - Y[test])
    error = {"mae": float(np.mean(gap))} if criterion == "absolute_error" else {
        "mse": float(np.mean(gap ** 2))}
    return {**error, "infeasible": infeasible_rows(dataset, found),
            "outside": int(np.sum(~feasible.contains(found))),
            "seconds": cpu, "leaves": None if leaves is None else int(leaves)}


@validate_params({"dataset": [StrOptions(SETS)]}, prefer_skip_nested_validation=True)
def table(dataset):
    """Return the features and targets of a data set, nominal features as 0/1 columns.

    Of "seismic_bumps" the targets are what the geophones of a coal mine registered in a shift: the
    number of bumps, in all and by size (below 10^3, 10^4 and above), and the logarithms of their
    energy in joules and of the largest (0 for none); the features are the other eight.  Of
    "us_employment" the targets are monthly changes of jobs, in thousands: the total, goods,
    private services, and the eleven supersectors that add up to them.
    """
    if dataset in CLASS_SETS:
        from odtbook.datasets.constrained_generators import grades
        data = grades(*map(int, dataset.split("_")[1:]))
        return data.X, data.y
    from odtbook.datasets import load
    data = load(dataset)
    if dataset == "seismic_bumps":
        column = dict(zip(data.feature_names, data.X.T, strict=True))
        energy, largest = (np.log10(np.maximum(column[name], 1.0))
                           for name in ("energy", "maxenergy"))
        return data.X[:, :8], np.column_stack([
            column["nbumps"], column["nbumps2"], column["nbumps3"],
            column["nbumps4"] + column["nbumps5"], energy, largest])
    return np.asarray(data.one_hot(drop_first=True).X, dtype=np.float64), data.y


def _table(rows):
    columns = rows[0].keys()
    return {name: [row[name] for row in rows] for name in columns}


def _on_folds(dataset, feasible, models, criterion="squared_error", any_row=False, n_folds=5):
    """Return what models measure on the five folds of the paper, by name, a list over the folds.

    With ``any_row`` variants with medoid leaves take infeasible rows too; ``n_folds`` is how many
    of the folds are run.
    """
    X, Y = table(dataset)
    folds = list(KFold(5, shuffle=True, random_state=0).split(X))[:n_folds]
    return {name: _table([
        _measure(model, dataset, feasible, X, Y, train, test,
                 any_row and name.endswith("L(M)"), criterion) for train, test in folds])
            for name, model in models.items()}


def compare_variants(dataset, max_depth=15, max_courses=2, variants=None, builder="correct",
                     medoid="criterion", criterion="squared_error"):
    """Run variants on the five folds of the paper; None for all that the other options have.

    Under ``criterion="absolute_error"`` the error is called ``mae``, and penalties are left out.
    With ``builder="programs"``, which takes minutes, it is ``PROGRAMS`` on the first fold alone.
    """
    feasible = model_for(dataset, max_courses)
    strength = STRENGTH[dataset.partition("_")[0]]
    if variants is None and builder == "programs":
        variants = PROGRAMS
    elif variants is None:
        plain = (builder, medoid) == ("correct", "criterion")
        variants = (*VARIANTS, *RELEASED) if plain else VARIANTS
        if criterion == "absolute_error":
            variants = [variant for variant in VARIANTS if "R" not in variant]
    return _on_folds(dataset, feasible, {
        variant: make_variant(variant, feasible, max_depth, strength, builder, medoid, criterion)
        for variant in variants}, criterion, max_courses == 1 and builder == "correct",
        1 if builder == "programs" else 5)


def check_splits(model, X, Y):
    """Compare every split of a grown tree with every other split of the same rows.

    An independent check of ``split="exact"`` with squared error for a fitted
    ConstrainedTreeRegressor: it knows nothing of the builder and projects the means of the children
    of all candidates.  Returns the numbers of splits and of candidates, and the largest share by
    which a split of the tree costs more than the best one.
    """
    tree, least = model.tree_, model.min_samples_leaf
    cost, path = child_cost("O", model.constraints.project), model.decision_path(X).tocsc()
    candidates, excess = 0, 0.0
    splits = np.flatnonzero(tree.feature >= 0)
    for node in splits:
        rows = path.indices[path.indptr[node]:path.indptr[node + 1]]
        costs = np.concatenate([each for *_, each in _candidates(X[rows], Y[rows], cost, least)])
        left = X[rows, tree.feature[node]] <= tree.threshold[node]
        own = sum(float(cost(Y[rows[side]], side.sum(keepdims=True))[0]) for side in (left, ~left))
        candidates += len(costs)
        excess = max(excess, float(own / costs.min()) - 1 if costs.min() > 0 else own)
    return len(splits), candidates, excess


def enumerate_trees(feasible, X, Y, max_depth, min_samples_leaf=1):
    """Return the least squared error of a tree of some depth, by trying all of them."""
    cost = child_cost("O", feasible.project)
    best = float(cost(Y, np.array([len(Y)]))[0])
    for order, sizes, costs in _candidates(X, Y, cost, min_samples_leaf) if max_depth else ():
        if max_depth == 1:
            best = min(best, costs.min(initial=np.inf))
            continue
        for size in sizes:
            best = min(best, sum(
                enumerate_trees(feasible, X[rows], Y[rows], max_depth - 1, min_samples_leaf)
                for rows in (order[:size], order[size:])))
    return best


def _candidates(X, Y, cost, least):
    """Yield for each feature the rows in its order, the sizes of left children, and the costs."""
    for column in X.T:
        order = np.argsort(column, kind="stable")
        sizes = np.flatnonzero(np.diff(column[order])) + 1
        sizes = sizes[(sizes >= least) & (len(Y) - sizes >= least)]
        if len(sizes):
            yield order, sizes, cost(Y[order], sizes) + cost(Y[order[::-1]], len(Y) - sizes)


def predict_by_depth(model, X):
    """Return what a grown tree predicts when it is cut at every depth from 0 to its own.

    Growth is greedy, so that cutting a deep tree gives the tree of a smaller ``max_depth``.  Shape
    of the array: (depth + 1, n_rows, n_targets).
    """
    tree, node = model.tree_, model.apply(X)
    parent = np.zeros(tree.n_nodes, int)
    for children in (tree.left, tree.right):
        parent[children[tree.feature >= 0]] = np.flatnonzero(tree.feature >= 0)
    found = []
    for depth in range(tree.depth, -1, -1):
        node = np.where(tree.node_depth[node] > depth, parent[node], node)
        found.append(tree.value[node])
    return np.array(found[::-1])


def choose_depth(dataset, max_depth=12, repeats=1, variants=NESTED, max_courses=2):
    """Choose each variant's depth on inner folds and measure it on rows that no choice has seen.

    ``repeats`` is how often the rows are divided into five outer folds; the training rows of each
    are divided into five inner ones.  All ``variants`` are grown by our builder, S(A):L(A) as
    well.  Returns for each the lists ``mse``, ``outside`` (predictions not in the set) and
    ``depth``, one entry per repeat and outer fold.
    """
    X, Y = table(dataset)
    feasible = model_for(dataset, max_courses)
    found = {variant: [] for variant in variants}
    for repeat in range(repeats):
        folds = KFold(5, shuffle=True, random_state=repeat)
        for variant in variants:
            model = ConstrainedTreeRegressor(
                feasible, split=SPLITS[variant[2]], leaf=LEAVES[variant[7]], max_depth=max_depth,
                min_samples_split=10, min_samples_leaf=5, on_infeasible_targets="keep")
            for train, test in folds.split(X):
                errors = np.mean([
                    _errors(model, X, Y, train[a], train[b], max_depth)
                    for a, b in folds.split(train)], axis=0)
                depth = int(errors.argmin())
                predicted = predict_by_depth(model.fit(X[train], Y[train]), X[test])
                predicted = predicted[min(depth, len(predicted) - 1)]
                found[variant].append({
                    "mse": float(np.mean((predicted - Y[test]) ** 2)),
                    "outside": int(np.sum(~feasible.contains(predicted))), "depth": depth})
    return {variant: _table(rows) for variant, rows in found.items()}


def _errors(model, X, Y, train, test, max_depth):
    """Return the mean squared error of every depth from 0 to ``max_depth``."""
    found = predict_by_depth(model.fit(X[train], Y[train]), X[test])
    errors = np.mean((found - Y[test]) ** 2, axis=(1, 2))
    return np.append(errors, np.repeat(errors[-1], max_depth + 1 - len(errors)))


def compare_ensembles(dataset, n_estimators=100, max_courses=2):
    """Run trees and forests on the five folds: projecting the average against averaging trees."""
    feasible = model_for(dataset, max_courses)
    leaf = dict(min_samples_leaf=5, on_infeasible_targets="keep")
    forest = dict(n_estimators=n_estimators, max_features=0.8, random_state=0, **leaf)
    return _on_folds(dataset, feasible, {
        "tree, projected leaves": ConstrainedTreeRegressor(feasible, max_depth=5, **leaf),
        "tree, exact splits": ConstrainedTreeRegressor(feasible, split="exact", max_depth=5,
                                                       **leaf),
        "raw forest": ConstrainedForestRegressor(**forest),
        "forest, average projected": ConstrainedForestRegressor(feasible, **forest),
        "forest, projected trees averaged": ConstrainedForestRegressor(
            feasible, aggregate="average", **forest),
        "boosting, projected": ProjectedRegressor(
            BoostedTrees(n_estimators, min_samples_leaf=5), feasible),
        "tree of scikit-learn, projected": ProjectedRegressor(
            DecisionTreeRegressor(max_depth=5, min_samples_leaf=5, random_state=0), feasible),
    })


def compare_seeds(dataset, max_depth=15, seeds=10):
    """Run scikit-learn's tree with several seeds, which decide nothing but equal splits."""
    feasible = model_for(dataset)
    return _on_folds(dataset, feasible, {
        f"seed {seed}": make_variant("S(A):L(A)", feasible, max_depth, 0.0).set_params(
            random_state=seed) for seed in range(seeds)})


def released_tree(X, Y, side_cost, max_depth, min_leaf=5, min_split=10):
    """Grow a tree as the first released code of the paper does, its slip included.

    A candidate is evaluated with the rows before position i on the left, but its threshold is the
    value at i, so that the tree sends row i (and its equals) left: evaluation and split differ by
    one row.  Every node is split while a candidate is left, without a test of improvement.
    """
    def split(depth, member):
        n, found = len(member), (np.inf, None, None)
        for f in range(X.shape[1]) if depth < max_depth and n >= min_split else ():
            order = np.argsort(X[member, f], kind="stable")
            x, y = X[member, f][order], Y[member][order]
            i = np.arange(min_leaf, n - min_leaf - 1)
            i = i[x[i] != x[i + 1]]
            if not len(i):
                continue
            total = side_cost(y, i) + side_cost(y[::-1], n - i)
            if total.min() < found[0]:
                found = (total.min(), f, x[i[np.argmin(total)]])
        _, f, cut = found
        return None if f is None else (f, cut, X[member, f] <= cut, depth + 1, depth + 1)

    *nodes, members = build(0, len(X), split)
    means = np.array([Y[rows].mean(axis=0) for rows in members])
    return DecisionTree(*nodes, means, n_features=X.shape[1], kind="regression"), members


def child_cost(split, predict, medoid=None):
    """Return the ``side_cost`` of :func:`released_tree` for a way to evaluate splits.

    ``split`` is a letter of the names of the variants; ``predict`` maps the means of children to
    their predictions, and is not used for medoids.
    """
    def cost(y, sizes):
        n = sizes.astype(float)
        sums = np.cumsum(y, axis=0)[sizes - 1]
        squares = np.cumsum((y**2).sum(axis=1))[sizes - 1]
        means = sums / n[:, None]
        if split != "M":
            chosen = predict(means)
        else:
            off = (np.cumsum(cdist(y, y), axis=0)[sizes - 1] if medoid == "euclidean" else
                   cdist(means, y))
            chosen = y[np.argmin(np.where(np.arange(len(y)) < sizes[:, None], off, np.inf), 1)]
        return squares - (sums * means).sum(axis=1) + n * ((means - chosen) ** 2).sum(axis=1)

    return cost


class ReleasedTree:
    """S(A):L(A), S(A):L(O) or S(O):L(O) with the builder of the first released code."""

    def __init__(self, feasible, variant, medoid, max_depth, strength):
        self.feasible, self.variant, self.medoid = feasible, variant, medoid
        self.max_depth, self.strength = max_depth, strength

    def _predict(self, letter, means):
        if letter == "O":
            return self.feasible.project(means)
        if letter == "R":
            coefficients, lower, upper = self.feasible._signed_residuals
            return np.clip(means - 0.5 * self.strength * np.asarray(coefficients), lower, upper)
        return means

    def fit(self, X, Y):
        """Grow the tree."""
        split, leaf = self.variant[2], self.variant[7]
        side_cost = child_cost(split, partial(self._predict, split), self.medoid)
        tree, members = released_tree(X, Y, side_cost, self.max_depth)
        value = np.array([medoid_of(Y[rows], self.medoid) for rows in members]) if leaf == "M" \
            else self._predict(leaf, tree.value)
        self.tree_ = tree.replace(value=value)
        return self

    def predict(self, X):
        """Predict by the leaves."""
        return self.tree_.predict(X)


class ProgramTree(ReleasedTree):
    """The same on class data, with programs for each candidate: SCIP's in place of Gurobi's."""

    def _predict(self, letter, means):
        if letter == "A":
            return means
        strength = self.strength if letter == "R" else None
        return np.array([solve_courses(mean, self.feasible.max_nonzero, strength)
                         for mean in means])


def tidy(records):
    """Unfold records of the study into one row per variant and fold."""
    import pandas as pd
    names = ["dataset", "max_courses", "max_depth"]
    return pd.DataFrame([
        dict(zip((*names, "variant", "fold", *measures), (*setting, variant, fold, *values),
                 strict=True))
        for *setting, variants in records[[*names, "measures"]].itertuples(index=False, name=None)
        for variant, measures in variants.items()
        for fold, values in enumerate(zip(*measures.values(), strict=True))])
