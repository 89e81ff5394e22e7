"""What the notebook of ``odt try`` calls: ask a question of a table, answer it, judge the answer.

Each function makes one part of the page.  Nothing depends on the clock unless a sentence says so.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import warnings
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from html import escape
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import wrap
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import recall_score, roc_auc_score
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    train_test_split,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.class_weight import compute_sample_weight
from threadpoolctl import threadpool_limits

from odtbook.files import write_whole
from odtbook.statistics import corrected_interval
from odtbook.tables import Lines, Table
from odtbook.tables import table_of as table_of
from odtbook.tables.columns import POWERS
from odtbook.tables.words import Unusable, count, listed, one_line, suggestion
from odtlib import MurTreeClassifier, MurTreeRegressor, TunedCARTClassifier, __version__
from odtlib.report import Clock
from odtlib.text import number_text, short_text, threshold_text
from odtlib.tree import DecisionTree

FOLDS, REPEATS = 5, 10                  # fewer than five folds are no verdict
FOR_FOLDS, NO_MORE, LAST = 0.9, 0.97, 1.7   # of the time: folds are planned for; last; need
FOREST = 10_000                         # rows of one of its trees
ATTEMPTS = 5                            # to find out on how many rows
Z = 1.96                                # standard deviations of a 95 % interval
PILOT, TUNED = 500, 1000                # rows of the first fold; rows on which sizes are chosen
LARGEST_PROOF = 5e7                     # rows times questions squared
DEPTH, LEAF, RARE = 4, 5, 0.2           # below this share of a class, accuracy says little
MANY = 10                               # classes: of more a split finds less
TREE, SAME, TUNED_CART, FREE = CARTS = (
    "optimal tree", "CART with as many leaves", "tuned CART", "pruned CART of any size")
TOO_GOOD = 99.0                         # per cent: is a feature known only afterwards?
METRICS = ("accuracy", "balanced accuracy", "cost")
GINI = "the Gini impurity of its leaves (their Brier score, all classes weighing the same)"


@dataclass
class Question:
    """What is asked of a table: how trees are judged, and how large they may be.

    Attributes
    ----------
    table : Table
    metric : {"accuracy", "balanced accuracy", "cost", "R²"}
        What is compared.
    weights : dict, "balanced" or None
        Weights of the classes, for every method.
    costs : dict
        What a mistake on a row of each class costs, by label.
    depths : list of int
        Depths that are tried.
    leaves : int or None
        Most leaves of a tree.
    objectives : list of {"errors", "gini", "squared_error"}
        What the tree may minimise on the training rows; cross-validation chooses one.
    seed : int
        Of the folds, of the draws of rows, and of the forest.
    clock : Clock
        Of the whole trial.
    lines : Lines
        All this in sentences.
    """

    table: Table
    metric: str
    weights: dict[Any, float] | str | None
    costs: dict[Any, float]
    depths: list[int]
    leaves: int | None
    objectives: list[str]
    seed: int
    clock: Clock
    lines: Lines

    @property
    def classes(self) -> bool:
        """Whether the target has classes."""
        return self.table.task == "classification"

    @cached_property
    def columns(self) -> np.ndarray:
        """The rows as scikit-learn's methods take them, but for gaps, which each fold fills."""
        X = self.table.encoder(keep_gaps=True).fit_transform(self.table.X).to_numpy(float)
        gaps = np.isnan(X)
        return np.hstack([_told_apart(X), gaps[:, gaps.any(axis=0)]])

    @cached_property
    def labels(self) -> np.ndarray:
        """The classes, or all values of a quantity."""
        return np.unique(self.table.y)

    @cached_property
    def few(self) -> np.ndarray:
        """Classes of too few rows to measure anything, if there are two others."""
        return too_few(self.table.y)

    def row_weights(self, rows: np.ndarray | slice = slice(None)) -> np.ndarray | None:
        """Return the weights of rows of the table by their classes; None where all weigh one."""
        y = self.table.y[rows]
        if self.weights == "balanced":
            weight = compute_sample_weight("balanced", y)
            return np.where(np.isin(y, self.few), weight.min(), weight)
        if self.weights is None:
            return None
        return np.array([self.weights[label] for label in y.tolist()])  # scikit-learn: "01" is 1

    def score(self, y: np.ndarray, found: np.ndarray, metric: str | None = None,
              counted: np.ndarray | None = None) -> float:
        """Return how good predictions are; more is better, so that a cost is negative.

        Balanced accuracy is of the classes that are ``counted``, by default those of ``y``; R² is
        of the variance of the values that are counted, by default those of the table.
        """
        match metric or self.metric:
            case "R²":
                # of all rows: in a fold they may vary little, where another has an outlier
                return float(1 - np.mean((y - found) ** 2) / (
                    np.var(self.table.y if counted is None else counted) or 1.0))
            case "cost":
                return -float(np.mean([self.costs[label] for label in y.tolist()] * (found != y)))
            case "accuracy":
                return float(np.mean(found == y))
        return recall_score(y, found, average="macro", zero_division=0.0,
                            labels=np.unique(y) if counted is None else counted)


def too_few(y: np.ndarray) -> np.ndarray:
    """Return the classes with fewer rows than folds, of which nothing can be measured.

    None where there are not two others.
    """
    labels, counts = np.unique(y, return_counts=True)
    return labels[(counts < FOLDS) & ((counts >= FOLDS).sum() > 1)]


def ask(table: Table, *, cost: dict | None = None, class_weight: dict | str | None = None,
        metric: str | None = None, max_depth: int | None = None,
        max_leaf_nodes: int | None = None, seed: int = 0, seconds: float = 60.0) -> Question:
    """Say what is asked of a table, with the defaults filled in.

    Parameters
    ----------
    table : Table
        A usable one, from :func:`~odtbook.tables.read_table`.
    cost : dict, optional
        What a mistake costs by the true class, ``{"yes": 5}``; 1 for the others.  These are the
        weights of the classes in every fit, whatever the metric.
    class_weight : dict or "balanced", optional
        Weights of the classes in every fit, where no costs are given.
    metric : {"accuracy", "balanced accuracy", "cost"}, optional
        By default cost where costs are given, balanced accuracy where a class has fewer than 20 %
        of the rows, and accuracy otherwise.
    max_depth : int, optional
        Depth of the trees (default: up to four, chosen by cross-validation).
    max_leaf_nodes : int, optional
        Most leaves of a tree.
    seed : int, default=0
        Of all random choices.
    seconds : float, default=60.0
        About how long the trial may take; most of it is for measuring.

    Returns
    -------
    Question

    Raises
    ------
    ValueError
        If the options contradict each other or the table.
    """
    if table.report.unusable:
        raise Unusable(table.report.unusable)
    _check_numbers(max_depth, max_leaf_nodes, seed, seconds)
    depths = [max_depth] if max_depth else list(range(1, DEPTH + 1))
    limits = [f"a depth of at most {depths[-1]}" + ", chosen by cross-validation," * (
        not max_depth), *[f"at most {max_leaf_nodes} leaves"] * bool(max_leaf_nodes)]
    size = f"Trees have {' and '.join(limits).rstrip(',')}."
    clock = Clock(0.92 * seconds)           # the rest is for writing the page
    clock.start -= min(table.seconds, 0.5 * seconds)
    if table.task == "regression":
        if cost or class_weight or metric:
            raise ValueError(f"{table.target!r} is a quantity, which has no classes to weigh; "
                             "leave --cost, --class-weight and --metric out.")
        lines = ["On the training rows the tree minimises the squared error. What counts is the "
                 f"share of the variance of {table.target!r} that is explained on new rows (R²).",
                 size]
        return Question(table, "R²", None, {}, depths, max_leaf_nodes, ["squared_error"], seed,
                        clock, Lines(lines))
    if metric not in (None, *METRICS):
        raise ValueError(f"--metric is {metric!r}; use {', '.join(map(repr, METRICS))}.")
    if cost and class_weight:
        raise ValueError("--cost and --class-weight both weigh the classes; give one of them.")
    costs = _by_label(cost or {}, table)
    few, n = too_few(table.y), len(table.y)
    labels, counts = np.unique(table.y[~np.isin(table.y, few)], return_counts=True)
    rare, lines = 100 * counts.min() / n, []
    most = min(2**depths[-1], max_leaf_nodes or np.inf)
    if most < len(labels):
        size += f" So they answer with at most {most} of the {len(labels)} classes; " + (
            "--leaves allows more." if max_leaf_nodes == most else "--depth allows more.")
    if metric is None:
        metric = "cost" if cost else "balanced accuracy" if rare < 100 * RARE else "accuracy"
    if metric == "balanced accuracy":
        lines.append(
            "Balanced accuracy is the mean of the classes' shares that are right. The class "
            f"{str(labels[counts.argmin()])!r} has {rare:.1f} % of the rows: always giving the "
            "largest class would be right on "
            f"{100 * counts.max() / n:.1f} % of the rows, at a balanced accuracy of "
            f"{100 / len(labels):.1f} %. A leaf may answer with a rarer class where most of its "
            "rows are of another.")
    weights, loss, objectives = None, "the number of wrong rows", ["errors"]
    if class_weight:
        weights, loss = class_weight, "the weight of the wrong rows"
        if weights != "balanced":
            weights = _by_label(weights, table)
    elif cost or metric == "cost":
        weights, loss = costs, "what its mistakes cost"
    elif metric == "balanced accuracy":     # few rows of a class decide: shares vary less
        weights, objectives = "balanced", ["errors", "gini"]
        loss = f"one minus the balanced accuracy or {GINI}; cross-validation chooses"
    if weights == "balanced" and len(few):
        lines.append(f"Classes of fewer than {FOLDS} rows are no part of this, and a row of theirs "
                     "weighs as one of the largest class.")
    lines += [f"On the training rows the tree minimises {loss}. "
              + "All other methods weigh the classes in the same way. " * bool(weights)
              + f"What counts is the {metric} on new rows.", size]
    if cost:
        lines.append("A mistake costs " + ", ".join(
            f"{short_text(value)} on a row of {str(label)!r}"
            for label, value in costs.items())
            + ". A leaf may answer with a class that most of its rows are not of.")
    return Question(table, metric, weights, costs, depths, max_leaf_nodes, objectives, seed, clock,
                    Lines(lines))


def _check_numbers(max_depth, max_leaf_nodes, seed, seconds):
    """Refuse options of :func:`ask` that are out of range."""
    for option, value, least in (
            ("--depth", max_depth, 1), ("--leaves", max_leaf_nodes, 2), ("--seed", seed, 0)):
        if value is not None and value < least:
            raise ValueError(f"{option} is {value}; give a whole number of at least {least}.")
    if seed >= 2**32:
        raise ValueError(f"--seed is {seed}; give a number below {2**32}.")
    if not 0 < seconds <= 1e9:
        raise ValueError(f"--time is {seconds}; give seconds, more than 0 and up to 1e9.")


def _by_label(given, table):
    """Return {label: number} for all classes, 1 where nothing is given."""
    known, given = {str(label): label for label in np.unique(table.y).tolist()}, dict(given)
    for text, number in given.items():
        if str(text) not in known:
            raise ValueError(f"{table.target!r} has no class {str(text)!r}"
                             f"{suggestion(text, known)}; its classes are "
                             f"{', '.join(list(known)[:20])}.")
        if not 0 < number < np.inf:
            raise ValueError(f"the class {str(text)!r} has a cost or weight of {number}; give a "
                             "number above 0.")
    given = {str(text): float(number) for text, number in given.items()}
    return {label: given.get(text, 1.0) for text, label in known.items()}


# The methods, and how each is tuned --------------------------------------------------------------

def protocol(question: Question, seconds: float, leaves: int = 2) -> dict[str, tuple]:
    """Return every method that is compared: how it is made, and what is chosen from.

    This is the one place that says with which CART the optimal tree is compared.

    Parameters
    ----------
    question : Question
    seconds : float
        For one fit of a method that takes a limit.
    leaves : int, default=2
        Leaves of the optimal tree, which one CART has as well.

    Returns
    -------
    dict of str to (callable, list of dict)
        The callable takes rows and the values of one dict; its estimator is not fitted.
    """
    table, depths, classes = question.table, question.depths, question.classes
    least, large = max(1, min(LEAF, len(table.y) // 20)), len(table.y) > 2000
    draws = {"random_state": question.seed}
    optimal, cart, forest, boosting = (
        (MurTreeClassifier, DecisionTreeClassifier, RandomForestClassifier,
         HistGradientBoostingClassifier) if classes else
        (MurTreeRegressor, DecisionTreeRegressor, RandomForestRegressor,
         HistGradientBoostingRegressor))

    def grown(rows, price=0.0, **limits):
        return cart(min_samples_leaf=least, ccp_alpha=price, **limits, **draws)

    def searched(rows, max_depth, price, objective):
        weight, y = question.row_weights(rows), table.y[rows]
        whole = ((y - y.mean()) ** 2).sum() if not classes else \
            len(y) if weight is None else weight.sum()
        return optimal(max_depth, max_leaf_nodes=question.leaves, min_samples_leaf=least,
                       split_penalty=float(f"{price * whole:.3g}"), time_limit=seconds,
                       **{"objective" if classes else "loss": objective})

    def linear(rows, strength):
        return make_pipeline(StandardScaler(), LogisticRegression(
            C=1 / strength, max_iter=200) if classes else Ridge(strength))

    many = min(1.0, MANY / len(question.labels)) if classes else 1.0     # each weighs little
    sizes = [{"max_depth": d, "price": price * many} for d in depths for price in (0.01, 0.002)]
    return {
        TREE: (searched, [{**size, "objective": objective} for size in sizes
                          for objective in question.objectives]),
        SAME: (lambda rows: grown(      # at a price above any gain, where there is one leaf
            rows, price=2.0 * (leaves < 2), max_leaf_nodes=max(2, leaves)), [{}]),
        TUNED_CART: (lambda rows: TunedCARTClassifier(
            max(depths), min_samples_leaf=least, cv=3, time_limit=seconds, **draws),
            [{}]) if classes else (grown, sizes),
        FREE: (grown, [{"price": price} for price in (0.01, 0.003, 0.001, 0.0)]),
        "logistic regression" if classes else "linear regression": (
            linear, [{"strength": s} for s in (30.0, 1.0)]),
        "forest": (lambda rows, smallest: forest(
            30 if large else 50, min_samples_leaf=smallest, max_samples=min(FOREST, len(rows)),
            max_features="sqrt" if classes else 1 / 3 if large else 1.0, **draws),
            [{"smallest": 5}, {"smallest": 1}]),
        "boosting": (lambda rows, largest: boosting(
            max_iter=50, learning_rate=0.2, max_leaf_nodes=largest, min_samples_leaf=least,
            max_bins=63 if large else 255, **draws),
            [{"largest": 8}, {"largest": 31}]),
    }


def folds_of(y: np.ndarray, n: int, task: str, seed: int,
             groups: np.ndarray | None = None) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return folds with the same shares of classes, and with each group in one of them.

    Parameters
    ----------
    y : array, shape (n_rows,)
        Labels.
    n : int
        Number of folds.
    task : {"classification", "regression"}
    seed : int
        Of the draw.
    groups : array, shape (n_rows,), optional
        Which rows belong together.

    Returns
    -------
    list of (train, test)
        Positions of rows; empty where there are too few rows or groups.
    """
    if len(y if groups is None else np.unique(groups)) < n:
        return []
    stratified = task == "classification" and np.unique(y, return_counts=True)[1].max() >= n
    kind = (StratifiedKFold if groups is None else StratifiedGroupKFold) if stratified else \
        (KFold if groups is None else GroupKFold)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")         # of a rare class that is not in every fold
        return list(kind(n, shuffle=True, random_state=seed).split(np.zeros(len(y)), y, groups))


def drawn(question: Question, rows: np.ndarray, number: int, *draw: int) -> np.ndarray:
    """Return some of the rows, with the same shares of classes, groups whole."""
    if number >= len(rows):
        return rows
    y, groups, state = question.table.y[rows], question.table.groups, _seed(question, *draw)
    if groups is not None:
        split = GroupShuffleSplit(1, train_size=number / len(rows), random_state=state)
        return rows[np.sort(next(split.split(rows, groups=groups[rows]))[0])]
    alike = question.classes and np.unique(y, return_counts=True)[1].min() > 1 and \
        min(number, len(rows) - number) >= len(np.unique(y))
    return np.sort(train_test_split(rows, train_size=number, random_state=state,
                                    stratify=y if alike else None)[0])


def _seed(question, *draw):
    return int(np.random.default_rng([question.seed, *draw]).integers(2**31 - 1))


def _fitted(question, estimator, rows, encoded=None):
    """Fit an estimator to rows of the table; return it, and the rows as it takes them."""
    X, y, weight = question.table.X, question.table.y[rows], question.row_weights(rows)
    if isinstance(estimator, MurTreeClassifier | MurTreeRegressor):
        return estimator.fit(X.iloc[rows], y, weight), X.iloc
    if question.classes and len(np.unique(y)) == 1:
        estimator = DummyClassifier()
    # no class_weight, in which scikit-learn takes the label "01" for 1
    last = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
    if not question.classes:        # scikit-learn's trees see no variance below 2e-16
        estimator = TransformedTargetRegressor(
            estimator, transformer=StandardScaler(), check_inverse=False)
    return estimator.fit(encoded[rows], y, **{f"{last}sample_weight": weight}), encoded


def _choice(question, method, rows, seconds, until, encoded=None, splits=3, most=TUNED, leaves=2):
    """Return the candidate with the best mean score on parts of some rows, and fits not finished.

    Of equal candidates it is the first, which is the smallest.  Those of middle size are fitted
    first, at least one, and the others until the clock says so.
    """
    make, candidates = protocol(question, seconds, leaves)[method]
    few, table, ended = drawn(question, rows, most, 1), question.table, 0
    groups = None if table.groups is None else table.groups[few]
    parts = folds_of(table.y[few], 3, table.task, _seed(question, 2), groups)[:splits]
    if len(candidates) == 1 or not parts:
        return candidates[0], 0
    scores = np.full((len(candidates), len(parts)), -np.inf)
    for k in sorted(range(len(candidates)), key=lambda k: abs(k - len(candidates) // 2)):
        if question.clock.elapsed > until and np.isfinite(scores).any():
            ended += len(parts)
            continue
        for j, (train, test) in enumerate(parts):
            model, X = _fitted(question, make(few[train], **candidates[k]), few[train], encoded)
            ended += _ended(model)
            scores[k, j] = question.score(table.y[few[test]], model.predict(X[few[test]]))
    return candidates[int(np.argmax(scores.mean(axis=1).round(9)))], ended


def _ended(model):
    return getattr(getattr(model, "report_", None), "status", "") == "time_limit"


@contextmanager
def _alone():
    """Keep every model to one thread, and its warnings of columns and rare classes to itself."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# The tree ----------------------------------------------------------------------------------------

@dataclass
class Found:
    """The tree of a question, fitted to all rows.

    Attributes
    ----------
    question : Question
    model : MurTreeClassifier or MurTreeRegressor
    lines : list of str
        What the fit said, and whether the clock decided anything.
    leaf : ndarray of int, shape (n_rows,)
        Node of the leaf of each row.
    """

    question: Question
    model: BaseEstimator
    lines: list[str]
    leaf: np.ndarray

    @property
    def tree(self) -> DecisionTree:
        """The tree with the number of rows of each class in its leaves, whatever they weigh."""
        tree = self.model.tree_
        if not self.question.classes:
            return tree
        table = self.question.table
        gaps = {} if tree.missing_left is None else {      # whatever the rows weigh in the copy
            "missing_left": tree._missing_goes_left().astype(int)}
        return tree.with_counts(table.X, np.searchsorted(tree.classes, table.y), relabel=False
                                ).replace(**gaps)

    @property
    def columns(self) -> np.ndarray:
        """The answers of all rows to the questions of the search, as 0 and 1."""
        X, binariser = self.question.table.X, self.model.binarizer_
        return np.asarray(X if binariser is None else binariser.transform(X))

    @property
    def minimised(self) -> str:
        """What the tree minimises, in words."""
        if not self.question.classes:
            return "squared error"
        return {"errors": "wrong rows" if self.question.weights is None else
                "weight of the wrong rows", "gini": GINI}[self.model.objective]

    def words(self, node: int) -> str:
        """Return what a leaf predicts, and how many training rows bear it out."""
        tree, y = self.model.tree_, self.question.table.y[self.leaf == node]
        if not self.question.classes:
            return f"{short_text(tree.value[node][0])} ({len(y):,} rows)"
        label = tree.classes[tree.label[node]]
        right = int((y == label).sum())
        share = min(round(100 * right / max(len(y), 1)), 99 + (right == len(y)))
        return f"{label} ({right:,} of {len(y):,} rows, {share} %)"


def fit_tree(question: Question) -> Found:
    """Find the optimal tree of all rows, of the depth and price that cross-validation chooses.

    Parameters
    ----------
    question : Question

    Returns
    -------
    Found
    """
    table, clock, lines = question.table, question.clock, []
    rows = np.arange(len(table.y))
    with _alone():                  # compiled before anything is timed
        few, begun = drawn(question, rows, 60, 3), clock.elapsed
        for objective in question.objectives:
            first, _ = _fitted(
                question, protocol(question, 5.0)[TREE][0](few, 2, 0.0, objective), few)
            rows_of = table.X.iloc[few], table.y[few], question.row_weights(few)
            with suppress(ValueError):
                first.certificate(*rows_of)
            with suppress(TimeoutError, MemoryError):
                first.good_trees(*rows_of, tolerance=0)
        clock.leave_out(max(0.0, clock.elapsed - begun - 5))
        chosen, ended = _choice(
            question, TREE, rows, clock.time_limit / 150 / len(question.objectives),
            clock.elapsed + 0.3 * clock.remaining, most=2 * TUNED)
    if ended:
        lines.append(f"The clock ended or left out {ended} of the fits that chose the size of the "
                     "tree; with more time (--time) it may be another.")
    model = protocol(question, round(max(0.5, 0.1 * clock.time_limit), 1))[TREE][0](rows, **chosen)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model, _ = _fitted(question, model, rows)
    said = [*dict.fromkeys(str(w.message) for w in caught if w.category is UserWarning),
            *(note for note in model.report_.notes if not note.startswith("uses "))]
    lines += [f"{line[0].upper()}{line[1:].rstrip('.')}." for line in said]
    if len(rows) > 2 * TUNED:
        lines.append(f"The size of the tree was chosen on {2 * TUNED:,} of the {len(rows):,} rows; "
                     "it is fitted to all of them.")
    return Found(question, model, lines, model.apply(table.X))


def sides(found: Found) -> dict[int, list[tuple]]:
    """Return for each feature node its two branches, yes first.

    Each is (column, what of it is bounded, words, whether gaps go there, child).  Of two conditions
    on a path that bound the same, the later is the tighter one.  What a column equals bounds all
    of it (None).
    """
    table, tree, branches = found.question.table, found.model.tree_, {}
    for node, question in tree.questions().items():
        name = table.feature_names[question.column]
        values = table.X[name].dropna()
        gaps = [len(values) < len(table.X) and question.gap is side for side in (True, False)]
        equal = ""
        if question.members is not None:
            one = f"{question.members[0]}" if len(question.members) == 1 else ""
            equal = one and f"{name} = {one}"
            words = [equal, f"{name} is not {one}"] if one else [
                f"{name} {sign} ({', '.join(map(str, question.members))})"
                for sign in ("in", "not in")]
        elif question.high == -np.inf:
            words, gaps = [f"{name} is missing", f"{name} is known"], [False, False]
        else:
            last = values[values <= question.high].max()
            bound = threshold_text(question.high, last, values[values > question.high].min())
            bound += _last_below(table, name, question.high)
            words = [f"{name} <= {bound}", f"{name} > {bound}"]
        number = question.members is None and question.high > -np.inf
        branches[node] = [
            (question.column, k if number else None if text == equal else text, one_line(text), gap,
             child)
            for k, (text, gap, child) in enumerate(zip(words, gaps, (question.yes, question.no)))]
    return branches


def _last_below(table, name, bound):
    """Return the last day or ordered category below a bound, in brackets; else nothing."""
    if name not in table.origins:
        return ""
    whole = (table.X[name].dropna() % 1 == 0).all()
    return f" ({meant(table, name, bound // 1 if whole else bound)})"


def meant(table: Table, name: str, value: float) -> str:
    """Return what a number in a column stands for: a date, an ordered category, or itself."""
    origin = table.origins.get(name)
    if origin is None:
        return short_text(value)
    if isinstance(origin, list):
        return origin[int(value)]
    when = (origin + pd.Timedelta(days=value)).round("s")
    return f"{when:%Y-%m-%d}" if when == when.normalize() else f"{when:%Y-%m-%d %H:%M}"


def as_written(number: float) -> str:
    """Return a number as a file may have it; of one with more than seven signs four digits."""
    text = number_text(number)
    return text if len(text) <= 7 else short_text(number, 4)


def as_meant(table: Table, X: pd.DataFrame) -> pd.DataFrame:
    """Return rows of the table with their dates and ordered categories as such."""
    return X.assign(**{name: X[name].map(lambda value, name=name: meant(table, name, value),
                                         na_action="ignore") for name in table.origins})


def sentences(found: Found) -> Lines:
    """Return the tree as one sentence per leaf, the yes-branch of each test first."""
    said, paths, branches = [], [(0, ())], sides(found)
    if not branches:
        return Lines(["Nothing beats one leaf: no question pays for itself. Every row gets the "
                      f"same answer, {found.words(0)}."], large=1)
    while paths:
        node, path = paths.pop()
        if node in branches:
            paths += [(branch[-1], (*path, branch)) for branch in branches[node][::-1]]
            continue
        bounds, gaps = {}, {}           # by column; a gap has to pass all conditions on it
        for column, what, text, gap, _ in path:
            if what is None:
                bounds[column] = {}
            bounds.setdefault(column, {})[what] = text
            gaps[column] = gap and gaps.get(column, True)
        texts = [" and ".join(sorted(of.values(), key=lambda text: " <= " in text))
                 for of in bounds.values()]         # from the lower bound to the upper one
        texts = [f"({text} or missing)" if gaps[column] else text
                 for text, column in zip(texts, bounds)]
        said.append(f"If {' and '.join(texts)}, then {found.words(node)}.")
    tree, y = found.model.tree_, found.question.table.y
    if found.question.classes:
        never = np.setdiff1d(y, tree.classes[tree.label[np.unique(found.leaf)]])
        if len(never):
            said.append(f"No row gets the answer {listed(list(map(str, never)))}, which "
                        f"{100 * np.isin(y, never).mean():.2g} % of the rows have.")
    return Lines(said)


class Outline:
    """The tree drawn downwards, for a narrow screen, which a wide one hides."""

    def __init__(self, found: Found) -> None:
        self.found = found

    def __repr__(self):
        return str(self.found.model.tree_)

    def _repr_html_(self):
        branches = sides(self.found)

        def drawn(node):
            if node not in branches:
                return f"<b>{escape(one_line(self.found.words(node)))}</b>"
            return "<ul>" + "".join(
                f"<li>{escape(text + ' or missing' * gap)}{drawn(child)}</li>"
                for _, _, text, gap, child in branches[node]) + "</ul>"
        return f'<div class="outline">{drawn(0)}</div>'


def plain(text: Any) -> str:
    """Return text for the side of a picture: short lines, in which no sign starts a formula."""
    lines = wrap(one_line(str(text)), 36, max_lines=3, placeholder=" ...")
    return "\n".join(lines).replace("$", r"\$")


def asked(found: Found) -> dict[str, list[str]]:
    """Return the questions that the search had, by feature."""
    binariser, table, questions = found.model.binarizer_, found.question.table, {}
    if binariser is None:
        return {name: [name] for name in table.feature_names}
    columns = binariser.get_feature_names_out()
    for j in np.argsort(binariser.feature_, kind="stable"):
        name = table.feature_names[binariser.feature_[j]]
        bound = re.sub("(?<=^ <= )[^ ]+", lambda at, name=name: at[0] + _last_below(
            table, name, float(at[0])), columns[j][len(name):])
        questions.setdefault(name, []).append(name + bound)
    return questions


def used(model: BaseEstimator, table: Table) -> list[str]:
    """Return the names of the features that a tree asks, that of the root first."""
    return list(dict.fromkeys(table.feature_names[question.column]
                              for question in model.tree_.questions().values()))


def certified(found: Found) -> Lines:
    """Write the certificate of the tree, have it checked, and say what is proved.

    Parameters
    ----------
    found : Found

    Returns
    -------
    Lines
        The claim in the checker's own words, with numbers of ten digits, or why there is none.
    """
    model, table, question = found.model, found.question.table, found.question
    report, weight, questions = model.report_, question.row_weights(), asked(found)
    space = (f"tree of depth at most {model.max_depth}"
             + f" and at most {question.leaves} leaves" * (
                 (question.leaves or np.inf) < 2**model.max_depth)
             + f" with at least {model.min_samples_leaf} rows in a leaf" * (
                 model.min_samples_leaf > 1)
             + f" over the {count(sum(map(len, questions.values())), 'question')} below")
    ended = f" The clock ended the search; no {space} costs less than " \
        f"{short_text(report.lower_bound, 10)}." if report.lower_bound > 0 else \
        " The clock ended the search before anything was proved."
    lines = [f"The tree costs {short_text(report.objective, 10)}: {found.minimised}"
             + f", and {short_text(model.split_penalty, 10)} for each split."
             * bool(model.split_penalty)
             + (f" No {space} costs less: this is proved." if report.status == "optimal" else
                f"{ended} With more time (--time) the tree may be better.")]
    size = len(table.y) * sum(map(len, questions.values())) ** 2
    try:
        if size > LARGEST_PROOF or question.clock.remaining < 0.3 * question.clock.time_limit:
            why = "so many rows and questions" if size > LARGEST_PROOF else \
                "so little time (--time)"
            raise ValueError(f"with {why} it may take longer than this page; "
                             "found.model.certificate(table.X, table.y, question.row_weights()) "
                             "writes it in the notebook.")
        with TemporaryDirectory() as folder:
            path = Path(folder) / "proof.npz"
            proof = model.certificate(table.X, table.y, weight)
            proof.save(path)
            claim = _checked(path, found.columns, table.y, weight, model.time_limit)
        claim = re.sub(r"\d+\.\d+", lambda number: short_text(float(number[0]), 10), claim)
        whole = bool(proof.lower_bound >= 0.999 * report.lower_bound)   # the clock may end it, too
        rounded = whole and report.status == "optimal" and not re.search(
            rf"than {re.escape(short_text(report.objective, 10))}\b(?!\.)", claim)
        lines.append(f"The proof was written down{' as far as the time sufficed' * (not whole)}, "
                     "and a program of a page that knows nothing of the search has checked it: "
                     f"{claim}{' (but for rounding)' * rounded}.")
    except ValueError as error:
        lines.append(f"There is no certificate to check: {error}")
    except TimeoutError as error:
        lines.append(str(error))
    lost = [name for name in table.feature_names if name not in questions]
    if hasattr(model.binarizer_, "cuts"):       # which it was given
        lines.append("The questions about numbers are those of a CART tree: with them the tree "
                     "costs less than any that was found with the questions made of every feature.")
    elif lost:
        lines.append(f"No question was made of {', '.join(map(repr, lost))}.")
    return Lines([*lines, *found.lines, "The proof is about the training rows and these questions. "
                  "What the tree is worth on new rows is the next section."])


def _checked(path, X, y, weight, seconds):
    """Return the claim of a certificate, checked in a process of its own, which can be ended.

    A proof of few bytes may refer to many subproblems, so that no size says how long it takes.
    """
    rows = path.with_name("rows.npz")
    np.savez(rows, X=X, y=y, **({} if weight is None else {"sample_weight": weight}))
    program = ("import os, sys, numpy; from odtbook.lifetime import end_with; "
               "end_with(os.getppid()); from odtbook.check_certificate import check; "
               "print(check(sys.argv[1], **numpy.load(sys.argv[2])))")
    try:
        done = subprocess.run([sys.executable, "-c", program, path, rows], encoding="utf-8",
                              capture_output=True, timeout=5 + seconds)
    except subprocess.TimeoutExpired:
        raise TimeoutError("The proof was written down, and is not checked, since checking it "
                           "takes longer than this page.") from None
    if done.returncode:
        raise ValueError(done.stderr.strip().rpartition("\n")[2])
    return done.stdout.strip()


# New rows ----------------------------------------------------------------------------------------

@dataclass
class Judged:
    """What cross-validation measured.

    Attributes
    ----------
    question : Question
    lines : list of str
        How it was measured, or why it was not.
    scores : DataFrame
        One row per round, fold and method: its scores, of which more is better.
    rows : ndarray of int
        Rows of the table that were used; none where there is no verdict.
    found : dict of str to ndarray
        Per method the predictions for them in the first round, by models that did not see them.
    chances : dict of str to ndarray
        Where there are two classes, the probability of the second one likewise.
    trees : list
        The optimal trees of the first round.
    counted : ndarray, optional
        The classes that every fold tests, which balanced accuracy is the mean of; or the values
        of a quantity, whose variance is explained.
    """

    question: Question
    lines: list[str]
    scores: pd.DataFrame
    rows: np.ndarray
    found: dict[str, np.ndarray]
    chances: dict[str, np.ndarray]
    trees: list
    counted: np.ndarray | None = None

    def interval(self, method: str, metric: str, minus: str | float | None = None) -> np.ndarray:
        """Return mean, low and high as they are shown, which is how they are compared.

        Taken off is another method, or a score.

        They are in per cent, rounded to a tenth; costs are rounded to three decimals.  Folds that
        agree prove little where rows are few, so that no interval is narrower than that of as many
        rows of each class, drawn once.
        """
        wide = self.scores.pivot(index=["round", "fold"], columns="method", values=metric)
        other = minus if isinstance(minus, str) else None
        values = (wide[method] - (wide[other] if other else minus or 0)).dropna().to_numpy()
        if len(values) < FOLDS:
            return np.full(3, np.nan)
        scale, digits = (1, 3) if metric == "cost" else (100, 1)
        low = -np.inf if metric in ("cost", "R²") else 0 if minus is None else -100
        mean, (below, above) = values.mean(), self._chance(method, metric, other)
        low_t, high_t = corrected_interval(values, 1 / FOLDS)
        found = np.array([mean, min(low_t, mean - below), max(high_t, mean + above)])
        high = np.inf if minus is not None and metric in ("cost", "R²") else \
            0 if metric == "cost" else 100
        found = np.clip(scale * found, low, high)
        return found.round(digits) + 0.0        # of -0.0

    def _chance(self, method, metric, minus):
        """Return how far below and above the rows of each class leave a metric uncertain.

        By Wilson's interval for each class, that of Bonett and Price for two methods, and the sum
        of their squares (MOVER); AUC as if it were the share of the rarer class.  Rows that belong
        together count as fewer.
        """
        if not self.question.classes:
            return 0.0, 0.0
        table = self.question.table
        y, groups = table.y[self.rows], self.rows if table.groups is None else \
            table.groups[self.rows]
        labels, counts = np.unique(y, return_counts=True)
        if metric == "AUC":
            share = self.scores.groupby("method")["AUC"].mean()[method]
            rarer = y == labels[counts.argmin()]
            n = _independent(self.found[method][rarer] == y[rarer], groups[rarer])
            return np.ravel(share - _wilson(share, n)) * [1, -1]
        falls, ends = counts / counts.sum(), []     # by how much, if all rows of a class are wrong
        if metric == "balanced accuracy":
            labels = self.counted
            falls = np.full(len(labels), 1 / len(labels))
        elif metric == "cost":
            falls = falls * [self.question.costs[label] for label in labels.tolist()]
        for label in labels:
            right = self.found[method][y == label] == label
            if minus is None:
                share = np.mean(right)
                ends.append(share - _wilson(share, _independent(right, groups[y == label])))
                continue
            other = self.found[minus][y == label] == label
            n = _independent(right * 1.0 - other, groups[y == label])
            only, lost = (n * np.mean(a & ~b) + 1 for a, b in ((right, other), (other, right)))
            mean, width = (only - lost) / (n + 2), Z * np.sqrt(
                ((only + lost) / (n + 2) - ((only - lost) / (n + 2)) ** 2) / (n + 2))
            ends.append((only - lost) / n - np.array([mean - width, mean + width]))
        return np.sqrt(np.square(np.array(ends) * falls[:, None]).sum(axis=0))

    def text(self, method: str, metric: str, minus: str | float | None = None) -> str:
        """Return the interval in words."""
        mean, low, high = self.interval(method, metric, minus)
        if np.isnan(mean):
            return "–"
        if metric == "cost" and minus is None:
            mean, low, high = 0.0 - mean, 0.0 - high, 0.0 - low
        digits, unit = (3, "") if metric == "cost" else (1, " %" if minus is None else " points")
        sign = "" if minus is None else "+"
        return f"{mean:{sign}.{digits}f}{unit} ({low:{sign}.{digits}f} to {high:{sign}.{digits}f})"


def _independent(values, groups):
    """Return how many independent values tell as much of their mean, as many as groups at least."""
    away = pd.Series(values - np.mean(values))
    sums = away.groupby(groups).sum()
    rows, most = (away**2).sum(), len(away) / len(sums)
    return len(away) / np.clip((sums**2).sum() / rows if rows else most, 1, most)


def _wilson(share, n):
    """Return the ends of Wilson's interval for a share of n rows."""
    middle, width = (share + Z**2 / (2 * n)) / (1 + Z**2 / n), Z / (1 + Z**2 / n) * np.sqrt(
        share * (1 - share) / n + (Z / (2 * n)) ** 2)
    return np.array([middle - width, middle + width])


def judge(question: Question) -> Judged:
    """Cross-validate every method, with as many rounds of five folds as the time suffices for.

    Where it does not suffice for one round on all rows, a stratified draw of them is used; where
    it does not suffice for one on 500 rows either, the optimal tree is compared with fewer methods,
    CART of the same size being the last; where not even that can be done, there is no verdict.

    Parameters
    ----------
    question : Question

    Returns
    -------
    Judged
    """
    table, n = question.table, len(question.table.y)
    rounds, rows, splits, why = _rounds(question)
    metrics = ["accuracy", "balanced accuracy"] if question.classes else ["R²"]
    metrics += ["cost"] * (question.metric == "cost")
    metrics.sort(key=lambda metric: metric != question.metric)
    labels = question.labels if question.classes else []
    counted = table.y[rows] if not question.classes else np.array([
        label for label in labels if all(
            label in table.y[fold.test] for folds in rounds for fold in folds)])
    left_out = [str(label) for label in labels if label not in counted]
    if question.classes and len(counted) < 2:
        metrics.remove("balanced accuracy")
        if question.metric == "balanced accuracy" and not why:
            why = (f"not each of {FOLDS} folds has a row of {listed(left_out)}, so their balanced "
                   "accuracy says nothing of it.")
    names = list(rounds[0][-1].answers if rounds else protocol(question, 1.0))
    if why:
        return Judged(question, [f"There is no verdict: {why}"], pd.DataFrame(), rows[:0],
                      dict.fromkeys(names, table.y[:0]), {}, [])
    records, ended = [], 0
    for number, folds in enumerate(rounds):
        for k, fold in enumerate(folds):
            ended, y = ended + fold.ended, table.y[fold.test]
            for name in names:
                answer, chance = fold.answers[name]
                record = {"method": name, "round": number, "fold": k, **{
                    metric: question.score(y, answer, metric, counted) for metric in metrics}}
                if chance is not None:
                    record["AUC"] = roc_auc_score(y, chance) if len(counted) == 2 else np.nan
                records.append(record)
    order = np.argsort(np.concatenate([fold.test for fold in rounds[0]]))   # that of the rows
    answers = {name: list(zip(*(fold.answers[name] for fold in rounds[0]))) for name in names}
    found = {name: np.concatenate(said)[order] for name, (said, _) in answers.items()}
    chances = {name: np.concatenate(said)[order] for name, (_, said) in answers.items()
               if all(one is not None for one in said)}
    lines = [f"Cross-validation: {len(rounds)} round{'s' * (len(rounds) > 1)} of {FOLDS} "
             f"{'grouped ' * (table.groups is not None)}folds, as many as the time sufficed for, "
             + (f"on all {n:,} rows." if len(rows) == n else
                f"on a {'stratified ' * question.classes}draw of {len(rows):,} of the {n:,} rows, "
                "since the time did not suffice for all (--time)."),
             "The sizes of all methods are chosen inside the training parts, on "
             f"{splits} part{'s' * (splits > 1)} of at most {TUNED:,} of their rows. In brackets "
             "a 95 % interval that allows for overlapping training rows"
             + f" and for how few rows {'or groups ' * (table.groups is not None)}a class has"
             * question.classes + "."]
    late = [name for name in protocol(question, 1.0) if name not in names]
    if late:
        lines.append(f"The time did not suffice for: {', '.join(late)} (--time).")
    if table.report.together:
        lines.append(f"If {listed(table.report.together)} says which rows belong together, all "
                     "this is too good: --groups keeps them together.")
    if left_out and "balanced accuracy" in metrics:
        lines.append(f"Balanced accuracy leaves {listed(left_out)} out, of which not every fold "
                     "has a row.")
    if 0.8 * len(rows) > FOREST and "forest" in names:
        lines.append(f"Each tree of the forest learns from a draw of {FOREST:,} rows.")
    if ended:
        lines.append(f"The clock ended or left out {count(ended, 'fit')}; with more time (--time) "
                     "the trees may be better.")
    if question.classes:
        largest = np.unique(table.y, return_counts=True)[1].max() / n
        lines.append(f"The largest class has {100 * largest:.1f} % of the rows: so much is right "
                     "without any tree.")
    return Judged(question, lines, pd.DataFrame(records), rows, found, chances,
                  [fold.tree for fold in rounds[0]], counted)


@dataclass
class Fold:
    """What the methods that the time sufficed for say of the test rows of one fold.

    ``seconds`` is what it took, of which ``choosing`` went to the sizes of the methods.
    """

    test: np.ndarray
    answers: dict[str, tuple]
    tree: BaseEstimator
    ended: int
    choosing: float
    seconds: float = 0.0


def _rounds(question):
    """Return the rounds, each a list of folds, their rows, inner splits, and why there are none.

    How many rows the time suffices for is foretold from the folds that were measured; the first is
    on few rows.  A foretold fold is measured before the other four are begun.
    """
    clock, everything = question.clock, np.arange(len(question.table.y))
    n, methods, rounds, splits = len(everything), len(protocol(question, 1.0)), [], 1
    until, end = FOR_FOLDS * clock.time_limit, NO_MORE * clock.time_limit
    few = rows = everything if n <= 2 * PILOT else drawn(question, everything, PILOT, 4)
    with _alone():
        tiny = drawn(question, everything, 60, 3)
        _fold(question, tiny, tiny, 0.05, until, 0)         # loads what is timed
        pilot = _folds(question, few, 0, until if few is everything else
                       2 * until - clock.elapsed, 1, most=1)    # half of the time that is left
        if not pilot:
            return [], few, 1, f"{FOLDS} folds need more rows, or groups."
        # sizes are chosen on few rows, however many there are
        chosen, measured = pilot[0].choosing, {len(few): pilot[0].seconds - pilot[0].choosing}

        def affordable():
            size = _expected(measured, seconds=(until - clock.elapsed) / FOLDS - chosen)
            return n if size > 0.7 * n else int(size) if size > 1.5 * len(few) else len(few)

        for attempt in range(ATTEMPTS):
            last = not rounds and attempt == ATTEMPTS - 1
            size = len(few) if last else affordable()
            if rounds and size < 1.5 * len(rows):
                break
            inner = 3 if (until - clock.elapsed) / FOLDS > 3 * chosen + 2 * _expected(
                measured, rows=n) else 1
            small, begun = size == len(few), clock.elapsed
            some = few if small else drawn(question, everything, size, 4)
            folds = pilot if small and inner == 1 else _folds(
                question, some, 0, until, inner, most=1)
            measured[len(some)] = (1 + (len(folds[0].answers) < methods)) * max(
                1e-3, folds[0].seconds - folds[0].choosing)
            fits = begun + FOLDS * folds[0].seconds < end and len(folds[0].answers) == methods
            if small or (fits and affordable() + len(some) / FOLDS < 1.5 * len(some)):
                folds = _folds(question, some, 0, end, inner, folds)
                if len(folds) == FOLDS:
                    rounds, rows, splits = [folds], some, inner
                elif not rounds:
                    return [], few, 1, (f"the time did not suffice for {FOLDS} folds; give more "
                                        "(--time).")
                measured[len(some)] = max(1e-3, float(np.mean(
                    [fold.seconds - fold.choosing for fold in folds])))
        compared = set(rounds[0][-1].answers)
        spent = sum(fold.seconds for fold in rounds[0])
        while len(rounds) < REPEATS and clock.elapsed + 1.2 * spent < until:
            rounds.append(_folds(question, rows, len(rounds), until, splits))
    return [folds for folds in rounds if len(folds) == FOLDS
            and compared <= set(folds[-1].answers)], rows, splits, ""


def _expected(measured, rows=None, seconds=None):
    """Return how long a fold takes on so many rows, or on how many rows it takes so long.

    By a power of the rows, which two measurements tell.
    """
    known = np.array(sorted(measured.items())[-2:]).T
    power = 0.5 if known.shape[1] == 1 else max(0.4, np.diff(np.log(known[1]))[0] / np.diff(
        np.log(known[0]))[0])
    if seconds is None:
        return known[1, -1] * (rows / known[0, -1]) ** power
    return known[0, -1] * (max(seconds, 0.0) / known[1, -1]) ** (1 / power)


def _folds(question, rows, number, until, splits, known=(), most=FOLDS):
    """Return the folds of a round on some rows, fewer where the clock ends it.

    Each has its share of the time that is left; a method that it is too short for is left out of
    the folds that follow as well.
    """
    table, clock, done = question.table, question.clock, list(known)
    seconds, names = max(0.05, clock.time_limit / 75), None
    for train, test in folds_of(
            table.y[rows], FOLDS, table.task, _seed(question, 5, number),
            None if table.groups is None else table.groups[rows])[len(done):most]:
        begun = clock.elapsed
        if done:
            names = list(done[-1].answers)
            if begun > LAST * clock.time_limit:
                break
        done.append(_fold(question, rows[train], rows[test], seconds, begun + 1.25 * max(
            0.0, until - begun) / (FOLDS - len(done)), splits, names))
        done[-1].seconds = clock.elapsed - begun
    return done


def _fold(question, train, test, seconds, until, splits, names=None):
    """Fit methods and predict, in the order of the protocol, until the time is over.

    The first two, which the verdict is about, do not wait for it.
    """
    table, clock, answers, tree, ended, choosing = (
        question.table, question.clock, {}, None, 0, 0.0)
    both = np.concatenate([train, test])
    encoded = np.empty(question.columns.shape)
    encoded[both] = SimpleImputer(strategy="median", keep_empty_features=True).fit(
        question.columns[train]).transform(question.columns[both])
    for name in names or protocol(question, seconds):
        begun = clock.elapsed
        if begun > until and name not in (TREE, SAME):
            break
        leaves = tree.get_n_leaves() if tree is not None else 2
        chosen, stopped = _choice(question, name, train, seconds / 6, (begun + until) / 2, encoded,
                                  splits, leaves=leaves)
        choosing += clock.elapsed - begun
        make = protocol(question, seconds, leaves)[name][0]
        model, X = _fitted(question, make(train, **chosen), train, encoded)
        ended, tree = ended + stopped + _ended(model), model if name == TREE else tree
        binary = question.classes and len(question.labels) == len(model.classes_) == 2
        chance = model.predict_proba(X[test]).T if binary else None
        if binary and question.weights:         # as it would be if all rows weighed one
            chance = chance / question.row_weights()[
                np.unique(table.y, return_index=True)[1], None]
            chance /= chance.sum(axis=0)
        answers[name] = model.predict(X[test]), chance if chance is None else chance[1]
    return Fold(test, answers, tree, ended, choosing)


def _told_apart(numbers):
    """Return columns from 0 to 2**30: scikit-learn's trees have float32, and see no step of 1e-7.
    """
    numbers = numbers / 2 - np.fmin.reduce(numbers / 2)         # of 1e308 and -1e308, too
    return np.ldexp(numbers, 30 - np.frexp(np.fmax.reduce(numbers, initial=0.0))[1])


def worth(judged: Judged) -> pd.DataFrame:
    """Return what every method is worth on new rows: means and 95 % intervals."""
    return pd.DataFrame({"cost per row" if metric == "cost" else metric: {
        name: judged.text(name, metric) for name in judged.found}
        for metric in judged.scores.columns.drop(["method", "round", "fold"], errors="ignore")})


def pays(judged: Judged) -> Lines:
    """Say whether the optimal tree pays here, by the numbers as they are shown.

    What was measured on the table comes first, and then the rule that was found on others.

    Parameters
    ----------
    judged : Judged

    Returns
    -------
    Lines
    """
    from odtbook.studies import does_it_pay
    question, metric = judged.question, judged.question.metric
    rule = [_rule(question)] if metric == "accuracy" and len(question.depths) > 1 and \
        not question.leaves and not question.weights else []
    if not len(judged.rows):
        return Lines(["Nothing was measured on new rows that could be compared.", *rule])
    y = question.table.y[judged.rows]
    one_answer = max(question.score(y, np.full(len(y), answer), metric, judged.counted)
                     for answer in (np.unique(y) if question.classes else [y.mean()]))
    unit = " saved per row" if metric == "cost" else f" of {metric}"

    def against(name, other):
        """Return how far a method is from another, or from a score, in words; what that means;
        whether it is better (1) or worse (-1); and the most by which it may be ahead.
        """
        _, low, high = judged.interval(name, metric, other)
        sign = int(low > 0) - int(high < 0)
        return judged.text(name, metric, other) + unit, [
            "too little to tell from chance." if low or high else
            "no difference that could be told from chance.", "it is better.",
            "it is worse."][sign], sign, high

    text, means, beats, _ = against(TREE, one_answer)
    said = ["The tree is not seen to beat one leaf. " * (beats < 1)
            + f"The optimal tree differs from one answer for all rows by {text}: {means}"]
    for other in [name for name in CARTS[1:] if name in judged.found]:
        text, means, sign, _ = against(TREE, other)
        said.append(f"The optimal tree differs from {other} by {text}: {means}")
        if rule and other == SAME and (
                ("no, expect nothing" if sign > 0 else "yes, it pays") in rule[0]):
            rule[0] += (" The rows of this table, as measured above, do not bear that out: they "
                        "count more.")
    rest = [name for name in judged.found if name not in CARTS]
    if rest:
        best = max(rest, key=lambda name: judged.interval(name, metric, TREE)[0])
        text, means, sign, high = against(best, TREE)
        open_ = metric != "cost" and sign == 0 and high >= does_it_pay.LIMIT
        said.append(
            f"If nobody needs to read the model, take {best}: it is ahead of the optimal tree by "
            f"{text}." if sign > 0 else
            (f"The best of {', '.join(rest)} is {best}: it" if len(rest) > 1 else best.capitalize())
            + f" differs from the optimal tree by {text}: {means}"
            + f" A gain of {high:.1f} points is not excluded." * bool(open_))
    top = max(judged.found, key=lambda name: judged.interval(name, metric)[0])
    if metric != "cost" and judged.interval(top, metric)[0] >= TOO_GOOD:
        said.append(f"{judged.text(top, metric)} of {metric} ({top}) is rare: check that every "
                    "feature is known before the answer is, and leave the others out (--drop).")
    return Lines([*said, *rule], large=int(beats < 1))


def _rule(question):
    """Return what the book's rule says: a gain on the training rows foretells one on new rows."""
    from odtbook.studies import does_it_pay
    table, clock = question.table, question.clock
    if clock.remaining < 0.02 * clock.time_limit:
        return "There was no time for the fits of the book's rule (--time)."
    size = does_it_pay.LEAVES
    exact = MurTreeClassifier(size - 1, max_leaf_nodes=size, time_limit=max(
        0.5, min(0.1 * clock.time_limit, 0.5 * clock.remaining)))
    cart = make_pipeline(table.encoder(), FunctionTransformer(_told_apart),
                         DecisionTreeClassifier(max_leaf_nodes=size, random_state=0))
    with _alone():
        gain = round(100 * (exact.fit(table.X, table.y).score(table.X, table.y)
                            - cart.fit(table.X, table.y).score(table.X, table.y)), 1)
    tested = does_it_pay.gains(does_it_pay.leaf_table())
    tested = tested[tested["half"] == "tested on"]
    pays, above = gain >= does_it_pay.LIMIT, tested["training"] >= does_it_pay.LIMIT
    like = tested["test"][above if pays else ~above]
    return (
        f"On the training rows, with {size} leaves, the exact tree is right on "
        + (f"{abs(gain):.1f} points {'more' if gain > 0 else 'fewer'} rows than CART. " if gain else
           "as many rows as CART, to a tenth of a point. ")
        + "CART cuts anywhere, and not only where the questions do. " * (gain < 0)
        + "The clock ended the exact search, so more time may gain more. " * _ended(exact)
        + f"The book's rule is that {does_it_pay.LIMIT:.1f} points or more foretell a gain on new "
        f"rows: so it says {'yes, it pays' if pays else 'no, expect nothing'}. Of {len(like)} data "
        f"sets on which the rule was tested and said the same, {int((like > 0).sum())} gained on "
        f"new rows, and the mean gain was {like.mean():+.1f} points.")


def good_trees(found: Found) -> Lines:
    """Say how many trees cost at most one per cent more than the best, and how they begin."""
    question, model, table = found.question, found.model, found.question.table
    if model.report_.status != "optimal":
        return Lines(["Trees within one per cent of the best are not counted, since the clock "
                      "ended the search for the best."])
    again = clone(model).set_params(time_limit=max(0.5, 0.5 * question.clock.remaining))
    try:
        with _alone():
            good = again.good_trees(found.columns, table.y, question.row_weights(),
                                    tolerance=0.01 * model.report_.objective)
    except (TimeoutError, MemoryError):
        return Lines(["Trees within one per cent were too many to count in the time."])
    first = {tree.feature[0] for tree in good[:200] if tree.n_splits}
    if good.count == 1:
        return Lines(["No other tree over these questions costs at most one per cent more than the "
                      "best."])
    return Lines([f"{count(good.count - 1, 'other tree')} over these questions "
                  f"cost{'s' * (good.count == 2)} at most one per cent more than the best; "
                  f"{'all' if good.count <= 200 else 'the first 200'}, the best included, begin "
                  + ("with the same question." if len(first) == 1 else
                     f"with one of {len(first)} questions.")])


def parts(judged: Judged) -> pd.DataFrame:
    """Return the ten parts of the table on which the tree does worst.

    By trees that did not see the rows.  A part is a value of a column of words or a quarter of a
    column of numbers, and has at least 20 rows, or one in twenty; in some of them the tree errs.
    """
    table, rows, worst = judged.question.table, judged.rows, []
    truth, found = table.y[rows], judged.found[TREE]
    error = pd.Series(100.0 * (truth != found) if judged.question.classes else
                      np.abs(truth - found))
    for name in table.feature_names if len(rows) else ():
        values = table.X[name].iloc[rows].reset_index(drop=True)
        known = values.notna()
        if name not in table.categories:
            quarter = pd.qcut(values, 4, labels=False, duplicates="drop").fillna(0)
            ends = values.groupby(quarter).agg(["min", "max"]).itertuples()
            values = quarter.map({k: " to ".join(dict.fromkeys(
                meant(table, name, end) for end in pair)) for k, *pair in ends})
        for value, part in error.groupby(values.astype(object).where(known, "missing")):
            if max(20, len(rows) // 20) <= len(part) < len(rows):
                worst.append((one_line(f"{name}: {value}"), len(part), part.mean()))
    title = "% wrong" if judged.question.classes else "mean absolute error"
    frame = pd.DataFrame(worst, columns=["part", "rows", title]).astype({title: float})
    worst = frame[frame[title] > 0].nlargest(10, title).set_index("part")
    return worst.assign(**{title: worst[title].map(
        "{:.1f}".format if judged.question.classes else lambda error: short_text(error, 4))})


# Take it with you --------------------------------------------------------------------------------

def card(found: Found, judged: Judged, source: str) -> Lines:
    """Return the model card: when and from what the tree was made, and what it is not for."""
    question, table, model = found.question, found.question.table, found.model
    mark = hashlib.sha256(Path(source).read_bytes()).hexdigest() if Path(source).is_file() else "–"
    asks = [repr(name) for name in used(model, table)]
    others = tuple(f"{name!r} " for name in [*used(model, table), table.target]
                   if name not in table.categories)
    read = [line for line in table.report.lines if line.startswith(others)
            and re.search(" read | written ", line)
            and not (line.startswith(repr(table.target)) and " gap" in line)
            and not re.search(f"--task| it is read as a |numbers with {POWERS}", line)]
    return Lines([
        f"Made on {date.today():%Y-%m-%d} by odtlib {__version__}, scikit-learn "
        f"{version('scikit-learn')}, numpy {np.__version__}.",
        f"From {source!r} (SHA-256 {mark}): {len(table.y):,} rows.",
        f"Predicts {table.target!r} from {', '.join(asks) or 'none'} of "
        f"{len(table.feature_names)} features.",
        *[f"It takes and gives values as they were read, and not as the file has them: {line}"
          for line in read],
        f"Minimises {found.minimised}; depth at most {model.max_depth}, at least "
        f"{count(model.min_samples_leaf, 'row')} in a leaf, {short_text(model.split_penalty)} for "
        "each split; " + f"classes weigh: {question.weights or 'alike'}; " * question.classes
        + f"seed {question.seed}.",
        "On new rows: " + (f"{judged.text(TREE, question.metric)} ({question.metric})."
                           if len(judged.rows) else "not measured."),
        "It knows nothing of rows from elsewhere or later. Whether each feature is known when the "
        "answer is needed, and whether it may be used, nobody has checked."])


def exports(found: Found, refused: list[str] | None = None) -> dict[str, str | bytes]:
    """Return the tree as files for others, by their ending.

    They take words as the file has them; other values as they were read, which the card says.
    The shares in the leaves are those of the rows, whatever they weigh.  A scikit-learn tree by
    skops is among them where skops is installed, and one for ONNX where onnx and onnxruntime are;
    why a form is not among them is added to ``refused``.
    """
    found, table, files = _of_the_file(found), found.question.table, {}
    tree = found.tree
    units = {name: f"days since {first:%Y-%m-%d}" for name, first in table.origins.items()
             if not isinstance(first, list)}
    for ending, text in ((".py", lambda: tree.to_python(units)), (".json", tree.to_json),
                         (".js", lambda: tree.to_javascript(units)), (".sql", tree.to_sql),
                         (".dot", tree.to_dot), (".skops", lambda: _skops(found)),
                         (".onnx", lambda: _onnx(found))):
        try:
            files[ending] = text()
        except ImportError:
            pass
        except ValueError as error:     # a label that has no form there
            if refused is not None:
                refused.append(f"There is no {ending} file: {error}")
    return files


def _of_the_file(found):
    """Return the tree and its model for words as the file has them, and not as they were read."""
    model, table = copy(found.model), found.question.table
    spelt = {j: table.spelt[name] for j, name in enumerate(table.feature_names)
             if table.spelt.get(name)}
    if spelt:
        model.binarizer_ = copy(model.binarizer_)
        model.binarizer_.spelt_ = spelt
        model.tree_ = model.tree_.replace(columns=model.binarizer_.columns_)
    return replace(found, model=model)


def _skops(found):
    from skops.io import dumps
    return dumps(found.model.to_sklearn())


def _onnx(found):
    """Return the tree for ONNX, where it answers all rows as the tree does, gaps as well.

    The graph asks the questions of the tree, and takes each column that is asked by its name.
    """
    from onnx import TensorProto, checker, helper
    from onnxruntime import InferenceSession
    tree, table, model, nodes, yes = found.tree, found.question.table, found.model, [], {}
    questions, mark = tree.questions(), "_" * (1 + max(map(len, found.question.table.X)))
    if not questions:
        raise ValueError("the tree asks nothing.")
    columns = {name: TensorProto.STRING if name in table.categories else TensorProto.DOUBLE
               for name in used(model, table)}
    kind = {"U": TensorProto.STRING, "i": TensorProto.INT64, "f": TensorProto.DOUBLE}[
        table.y.dtype.kind]

    def add(operator, *sources, **attributes):
        nodes.append(helper.make_node(operator, sources, [f"{mark}{len(nodes)}"], **attributes))
        return nodes[-1].output[0]

    def constant(*values, kind=TensorProto.DOUBLE):
        return add("Constant", value=helper.make_tensor("", kind, (1, len(values)), values))

    for node, question in questions.items():
        name = table.feature_names[question.column]
        if name in table.categories:        # a gap is an empty text
            words = [*dict.fromkeys([*(question.members or ()), *[""] * bool(question.gap)])]
            yes[node] = add("Cast", add(
                "LabelEncoder", name, domain="ai.onnx.ml", keys_strings=words,
                values_int64s=[1] * len(words), default_int64=0), to=TensorProto.BOOL)
        else:
            yes[node] = add("LessOrEqual", name, constant(question.high))
            if question.gap:
                yes[node] = add("Or", yes[node], add("IsNaN", name))

    def answer(node, leaf):
        if node not in questions:
            return leaf(node)
        return add("Where", yes[node], answer(questions[node].yes, leaf),
                   answer(questions[node].no, leaf))

    if found.question.classes:
        shares = tree.value / tree.value.sum(axis=1, keepdims=True)
        outputs = [(answer(0, lambda node: constant(tree.classes[tree.label[node]], kind=kind)),
                    kind, 1),
                   (answer(0, lambda node: constant(*shares[node])), TensorProto.DOUBLE,
                    len(tree.classes))]
    else:
        outputs = [(answer(0, lambda node: constant(tree.value[node][0])), kind, 1)]
    whole = helper.make_model(helper.make_graph(
        nodes, "tree", [helper.make_tensor_value_info(name, of, [None, 1])
                        for name, of in columns.items()],
        [helper.make_tensor_value_info(name, of, [None, wide]) for name, of, wide in outputs]),
        ir_version=8, opset_imports=[helper.make_opsetid("", 17),
                                     helper.make_opsetid("ai.onnx.ml", 2)])
    checker.check_model(whole)
    session = InferenceSession(whole.SerializeToString(), providers=["CPUExecutionProvider"])
    gaps = [] if model.tree_.missing_left is None else columns
    for rows in (table.X, *(table.X.assign(**{name: np.nan}) for name in gaps)):
        answers = session.run(None, {
            name: rows[[name]].astype(object).fillna("").to_numpy() if name in table.categories else
            rows[[name]].to_numpy(float) for name in columns})[0].ravel()
        other = np.sum(answers != model.predict(rows))
        if other:
            raise ValueError(f"it would answer {other:,} of {len(rows):,} rows otherwise.")
    return whole.SerializeToString()


def hand_over(found: Found, judged: Judged, source: str, output: str | None) -> Lines:
    """Write the tree and its card beside the page, and say what was written.

    Parameters
    ----------
    found : Found
    judged : Judged
    source : str
        Path of the table.
    output : str or None
        Path of the files without ending; None writes nothing.
    """
    if output is None:
        return Lines(["Nothing was written; output=\"my-tree\" writes the files."])
    refused: list[str] = []
    files = {**exports(found, refused), "-card.txt": str(card(found, judged, source))}
    for ending, text in files.items():
        write_whole(Path(f"{output}{ending}"), text)
    return Lines(["Beside this page: " + ", ".join(Path(output).name + end for end in files) + ".",
                  *["The .onnx file takes each feature that the tree asks as a column of its own: "
                    "numbers of 64 bits, and words, of which the empty one is a gap."]
                  * (".onnx" in files), *refused])
