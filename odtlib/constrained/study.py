"""The study of Birbil et al. (2024): ten variants, five folds, three kinds of data."""

from __future__ import annotations

import time

import numpy as np
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeRegressor

from odtlib.constrained import sets
from odtlib.constrained._builder import make_loss
from odtlib.constrained.ensemble import (
    ConstrainedBoostingRegressor,
    ConstrainedForestRegressor,
    ProjectedRegressor,
)
from odtlib.constrained.regressor import ConstrainedTreeRegressor

SPLITS = {"A": "mean", "O": "exact", "M": "medoid", "R": "penalty"}
LEAVES = {"A": "mean", "O": "project", "M": "medoid", "R": "penalty"}
VARIANTS = ("S(A):L(A)", "S(A):L(M)", "S(A):L(O)", "S(M):L(M)", "S(M):L(O)", "S(O):L(M)",
            "S(O):L(O)", "S(R):L(M)", "S(R):L(O)", "S(R):L(R)")
CLASS_SETS = tuple(f"class_{n}_{k}" for n in (500, 1000, 2000) for k in (3, 5, 7))
DEPTHS = (3, 6, 9, 12, 15)
STRENGTH = {"class": 1500.0, "scores": 500.0, "cars": 0.0}   # lambda of the released code


def model_for(dataset, max_courses=2):
    """Return the feasible set of a data set of the paper.

    Parameters
    ----------
    dataset : str
        A name of :func:`odtlib.datasets.available` of kind "constrained".
    max_courses : int, default=2
        For class: 1 is the paper's appendix, 2 its introduction and its data.

    Returns
    -------
    FeasibleSet
    """
    kind = dataset.partition("_")[0]
    if kind == "class":
        return sets.paper_model("class", max_courses=max_courses)
    if kind == "hts":
        return sets.SparseSimplex(4, 15, integer=True)
    return sets.paper_model(kind)


def infeasible_rows(dataset, Y):
    """Count infeasible rows as the released code does.

    Parameters
    ----------
    dataset : str
        Name of the data set; for class three or more nonzero grades count, whatever the model.
    Y : array, shape (n_rows, n_targets)
        Predictions.

    Returns
    -------
    int
    """
    kind = dataset.partition("_")[0]
    if kind == "class":
        return int(np.sum((Y > 1e-4).sum(axis=1) >= 3))
    if kind == "scores":
        return int(np.sum(((Y[:, 1] < 50 - 1e-6) & (Y[:, 2] > 1e-4))
                          | ((Y[:, 1] + Y[:, 2] < 110 - 1e-6) & (Y[:, 0] > 1e-4))))
    if kind == "cars":
        return int(np.sum((Y[:, 0] == 0) & (Y[:, 1] > 0)))
    return int(np.sum(~model_for(dataset).contains(Y)))


def make_variant(variant, feasible, max_depth, strength):
    """Return the estimator of a variant such as "S(O):L(M)", with the paper's stopping rules.

    Parameters
    ----------
    variant : str
        One of ``VARIANTS``; "S(A):L(A)" is scikit-learn's tree, as in the paper.
    feasible : FeasibleSet
        The constraints.
    max_depth : int
        Largest depth; the paper also asks for 10 rows to split and 5 in a leaf.
    strength : float
        Lambda of the signed relaxation.

    Returns
    -------
    estimator
    """
    stopping = dict(max_depth=max_depth, min_samples_split=10, min_samples_leaf=5)
    if variant == "S(A):L(A)":
        return DecisionTreeRegressor(random_state=20, **stopping)
    return ConstrainedTreeRegressor(
        feasible, split=SPLITS[variant[2]], leaf=LEAVES[variant[7]], penalty="signed",
        penalty_strength=strength, on_infeasible_targets="keep", **stopping)


def any_medoids(model, X, Y):
    """Replace medoid leaves by the medoids among all rows, feasible or not, as the paper does.

    Parameters
    ----------
    model : ConstrainedTreeRegressor
        Fitted on ``X`` and ``Y``.
    X, Y : arrays
        Training rows.

    Returns
    -------
    callable
        A ``predict``.
    """
    loss, leaf = make_loss("squared_error", np.ones(Y.shape[1])), model.apply(X)
    value = model.tree_.value.copy()
    for node in np.unique(leaf):
        rows = Y[leaf == node]
        value[node] = loss.medoid(rows, np.ones(len(rows)), rows)
    return lambda rows: value[model.apply(rows)]


def _measure(model, dataset, feasible, X, Y, train, test, medoids=False):
    cpu = time.process_time()
    model.fit(X[train], Y[train])
    cpu = time.process_time() - cpu
    predict = any_medoids(model, X[train], Y[train]) if medoids else model.predict
    found = predict(X[test]).reshape(len(test), -1)
    tree = getattr(model, "tree_", None)
    leaves = getattr(tree, "n_leaves", None)
    return {"mse": float(np.mean((found - Y[test]) ** 2)),
            "infeasible": infeasible_rows(dataset, found),
            "outside": int(np.sum(~feasible.contains(found))),
            "seconds": cpu, "leaves": None if leaves is None else int(leaves)}


def _folds(dataset):
    from odtlib.datasets import load
    data = load(dataset)
    X = np.asarray(data.one_hot(drop_first=True).X, dtype=np.float64)
    return X, data.y, list(KFold(5, shuffle=True, random_state=0).split(X))


def _table(rows):
    columns = rows[0].keys()
    return {name: [row[name] for row in rows] for name in columns}


def compare_variants(dataset, max_depth=15, max_courses=2, variants=VARIANTS):
    """Run variants on the five folds of the paper.

    Parameters
    ----------
    dataset : str
        "scores", "cars" or a class set.
    max_depth : int, default=15
        Largest depth.
    max_courses : int, default=2
        For class: 1 is the paper's appendix.  Medoids are then taken among all rows, as in the
        released code, although two thirds of them violate the model.
    variants : sequence of str
        Which of ``VARIANTS``.

    Returns
    -------
    dict of dict
        By variant: lists over the folds of test ``mse``, ``infeasible`` (counted as the released
        code does), ``outside`` (not in the set), ``seconds`` (CPU time of the fit) and ``leaves``.
    """
    X, Y, folds = _folds(dataset)
    feasible = model_for(dataset, max_courses)
    strength = STRENGTH[dataset.partition("_")[0]]
    found = {}
    for variant in variants:
        model = make_variant(variant, feasible, max_depth, strength)
        model.fit(X[:40], Y[:40])   # compile or load the kernels before the clock starts
        found[variant] = _table([
            _measure(model, dataset, feasible, X, Y, train, test,
                     medoids=variant.endswith("L(M)") and max_courses == 1)
            for train, test in folds])
    return found


def compare_ensembles(dataset, n_estimators=100, max_courses=2):
    """Run trees and forests on the five folds: projecting the average against averaging trees.

    Parameters
    ----------
    dataset : str
        As for :func:`compare_variants`, or an hts set.
    n_estimators : int, default=100
        Trees of a forest.
    max_courses : int, default=2
        For class.

    Returns
    -------
    dict of dict
        As :func:`compare_variants`, by method.
    """
    X, Y, folds = _folds(dataset)
    feasible = model_for(dataset, max_courses)
    leaf = dict(min_samples_leaf=5, on_infeasible_targets="keep")
    forest = dict(n_estimators=n_estimators, max_features=0.8, random_state=0, **leaf)
    methods = {
        "tree, projected leaves": ConstrainedTreeRegressor(feasible, max_depth=5, **leaf),
        "tree, exact splits": ConstrainedTreeRegressor(feasible, split="exact", max_depth=5,
                                                       **leaf),
        "raw forest": ConstrainedForestRegressor(**forest),
        "forest, average projected": ConstrainedForestRegressor(feasible, **forest),
        "forest, projected trees averaged": ConstrainedForestRegressor(
            feasible, aggregate="average", **forest),
        "boosting, projected": ConstrainedBoostingRegressor(feasible, n_estimators=n_estimators,
                                                            min_samples_leaf=5),
        "tree of scikit-learn, projected": ProjectedRegressor(
            DecisionTreeRegressor(max_depth=5, min_samples_leaf=5, random_state=0), feasible),
    }
    return {name: _table([_measure(model, dataset, feasible, X, Y, train, test)
                          for train, test in folds]) for name, model in methods.items()}
