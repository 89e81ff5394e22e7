"""The referee: is this tree the best one?  Answered with a proof, or with a better tree.

What is given is counted again here, row by row and in exact fractions, apart from every solver.
A proof is one that :func:`odtbook.check_certificate.check` has accepted.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import odtlib
from odtbook.check_certificate import NotProved, check
from odtbook.given_trees import NUMBER, RELATIONS, Leaf, given_tree, written
from odtbook.tables.words import listed
from odtlib import DecisionTree
from odtlib.certificate import OptimalityCertificate
from odtlib.schema import brief
from odtlib.text import number_text

__all__ = ["Verdict", "referee"]
KEPT: dict = {}         # the search and the proof of the last question, for further trees
EXACT = 2**49           # units in all weights together: below, sums of floats are exact
ROUNDED = Fraction(1, 10**12), Fraction(1, 10**8)   # of weights that are not, of squared errors
# of squared errors or not, over 0/1 columns or thresholds
SEARCHES = {(False, True): "MurTreeClassifier", (False, False): "ContinuousTreeClassifier",
            (True, True): "MurTreeRegressor", (True, False): "ContinuousTreeRegressor"}
MOST_WORK = 2**39       # products of a check, for one minute or so
DEEPEST = 5             # of a search for squared errors over all thresholds


@dataclass(frozen=True)
class Verdict:
    """What the referee says about a tree; ``str()`` says it in one sentence.

    Attributes
    ----------
    status : {"optimal", "beaten", "open", "outside"}
        ``"optimal"``: a checked certificate proves that no tree within the limits is better.
        ``"beaten"``: ``better`` is.  ``"open"``: neither was found in time.  ``"outside"``: the
        tree is not within the limits itself, or predictions or a number are better than what is
        proved of every tree within them.
    objective : float
        Weighted errors or squared errors of the given tree, plus its price, counted again.
    bound : float
        No tree within the limits has a smaller objective: proved by ``certificate`` where there is
        one; else what the search says, or 0.
    better : DecisionTree or None
        The best tree found, where it is better; for a tree outside the limits, the best within.
    better_objective : float or None
        Its objective, counted in the same way.
    certificate : OptimalityCertificate or None
        The proof of ``bound``, accepted by the checker; ``check`` takes the rows of a positive
        weight with the labels that were given.
    claim : str
        What the checker says is proved, or empty.
    notes : tuple of str
        What is wrong with the report of the package, or could not be looked at.
    sentence : str
        The verdict alone, without the notes.
    """

    status: str
    objective: float
    bound: float
    better: DecisionTree | None = field(default=None, repr=False)
    better_objective: float | None = None
    certificate: OptimalityCertificate | None = field(default=None, repr=False)
    claim: str = field(default="", repr=False)
    notes: tuple[str, ...] = ()
    sentence: str = field(default="", repr=False)

    @property
    def gap(self) -> float:
        """How much smaller the objective of another tree could be: ``objective - bound``."""
        return max(0.0, self.objective - self.bound)

    def __str__(self) -> str:
        return "; ".join([*self.notes, self.sentence])


def referee(tree: Any, X: ArrayLike, y: ArrayLike, *, max_depth: int | None = None,
            max_nodes: int | None = None, min_samples_leaf: int = 1, split_penalty: float = 0.0,
            objective: str | None = None, sample_weight: ArrayLike | None = None,
            time_limit: float = 60.0) -> Verdict:
    """Say whether a tree is the best one for some rows, with a proof or a better tree.

    The trees that count are all within the limits: over the columns where ``X`` has only 0 and 1,
    else over all thresholds of its features.

    Parameters
    ----------
    tree : object
        A :class:`odtlib.DecisionTree`; a fitted estimator of odtlib, scikit-learn, pystreed,
        pycontree, pydl8.5, gosdt, imodels, odtlearn or another package, whose tree is read where
        its form is known, and whose predictions count otherwise; a node of their trees; a tree as
        JSON or as text, or a file of it; nested dictionaries (``feature``, ``threshold``, ``left``,
        ``right``; ``label``); predictions, shape (n_rows,); or the optimum that somebody prints, a
        number: *optimal* is then the proved optimum, *outside* is less, which no tree has.
    X : array or data frame, shape (n_rows, n_features)
        Rows of finite numbers, those of the fit.
    y : array, shape (n_rows,)
        Their labels or targets.
    max_depth : int, optional
        Most tests on a path (default: the depth of the given tree).
    max_nodes : int, optional
        Most feature nodes (default: as many as the depth allows).
    min_samples_leaf : int, default=1
        Least number of rows in each leaf.
    split_penalty : float, default=0.0
        Price of each feature node, in the unit of the weights or squared targets.
    objective : {"errors", "squared_error"}, optional
        What counts (default: squared errors where the targets are no whole numbers).
    sample_weight : array, shape (n_rows,), optional
        Weights of the rows (default: one); a row of weight 0 is left out.
    time_limit : float, default=60.0
        Seconds for the search and the proof.  The check takes more, and where it would take many
        minutes the verdict is "open".  Search and proof of the last question are kept for further
        trees, also where this limit ended them.

    Returns
    -------
    Verdict

    Raises
    ------
    ValueError
        If something of this is not what it should be; it says what.

    Notes
    -----
    Differences are rounding and count as none below 1e-12 of the weights, where these are no
    multiples of one power of two, and below 1e-8 of the squared error of a leaf of all rows.
    """
    begun = time.monotonic()
    try:
        tree = written(tree) if isinstance(tree, str | os.PathLike) else tree
        case, rows = _case(tree, X, y, min_samples_leaf, split_penalty, objective, sample_weight)
        given = given_tree(tree, case.X, rows)
    except RecursionError:
        raise ValueError("the tree is nested too deep to be read; give its predictions.") from None
    own = case.counted(given)
    notes = case.notes(given, own)
    limits = _limits(max_depth, max_nodes, time_limit, own.depth)
    depth = limits["max_depth"]
    model, proof = case.searched(limits, time_limit)
    found = case.counted(given_tree(model.tree_, case.X, case.X), predicted=True)
    if case.broken(found, limits):      # a fault of ours; nobody is accused with it
        found = own
    broken = case.broken(own, limits)
    beaten = own.cost - found.cost > case.tolerance
    bound, certificate, claim, unproved = 0.0, None, "", ""
    if model.max_depth == depth:
        bound = float(model.report_.lower_bound)
        if broken or not beaten:
            if not proof:
                model.time_limit = max(0.1, time_limit - (time.monotonic() - begun))
                proof[:] = case.proof(model)
            certificate, claim = proof
            if certificate is None:
                unproved = f": {claim} The search alone says {number_text(bound)}"
                claim, bound = "", 0.0
            else:
                bound = float(certificate.lower_bound)
    proved = certificate is not None and own.cost - Fraction(bound) <= 2 * case.tolerance
    less = certificate is not None and Fraction(bound) - own.cost > case.tolerance
    status = ("outside" if broken or less else "beaten" if beaten else "optimal" if proved else
              "open")
    better = case.as_given(model.tree_) if status in ("beaten", "outside") and found is not own \
        else None
    cost = {"objective": float(own.cost), "bound": bound,
            "better_objective": float(found.cost) if better is not None else None}
    subject = "the number says" if own.predicted is None else "the tree has"
    sentence = _sentence(status, case, subject, broken or unproved, claim, **cost)
    return Verdict(status, better=better, certificate=certificate, claim=claim, notes=notes,
                   sentence=sentence, **cost)


def _limits(max_depth, max_nodes, time_limit, depth_of_tree):
    """Return the limits on trees, the depth by default that of the tree; refuse other values."""
    for name, limit, found in (("max_depth", max_depth, depth_of_tree),
                               ("max_nodes", max_nodes, 0)):
        if limit is None and found is None:
            raise ValueError("predictions or a number alone do not tell the depth of their tree; "
                             "give max_depth.")
        if limit is not None and (isinstance(limit, bool) or limit != int(limit) or limit < 0):
            raise ValueError(f"{name} is {limit!r}; give a whole number of at least 0.")
    if not time_limit > 0:
        raise ValueError(f"time_limit is {time_limit!r}; give seconds, more than 0.")
    return {"max_depth": depth_of_tree if max_depth is None else int(max_depth),
            "max_nodes": None if max_nodes is None else int(max_nodes)}


def _sentence(status, case, subject, why, claim, objective, bound, better_objective):
    """Return the verdict in words."""
    own, other = f"{subject} {case.words(objective)}", case.words(better_objective or 0.0)
    if status == "outside" and not why:
        return f"the work of no tree within the limits: {own}, and {claim}."
    if status == "outside":
        return f"not within the limits, as {why}" + (
            f"; the best tree found within them has {other}." if better_objective is not None
            else ".")
    if status == "beaten":
        return f"beaten: {own}, and another within the limits has {other}."
    if status == "optimal":
        return f"optimal: {own}, and {claim}" + (
            "." if objective == bound else "; the difference is rounding.")
    return (f"open: {own}, and what is proved is that no tree within the limits has "
            f"less than {number_text(bound)}, a gap of {number_text(max(0, objective - bound))}"
            f"{why}.")


@dataclass(frozen=True)
class Counted:
    """A tree on the rows: its cost, and what its limits are about (None: unknown)."""

    cost: Fraction
    depth: int | None
    n_splits: int | None
    least: int | None       # rows of the smallest leaf
    predicted: np.ndarray | None


@dataclass(frozen=True)
class Case:
    """Rows, labels as numbers of their class or targets, weights, and what counts.

    ``known`` are the labels of all rows, also of those that weigh nothing and were left out.
    """

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    classes: np.ndarray | None
    least: int
    price: float
    names: tuple[str, ...]
    tolerance: Fraction
    known: set[str]

    def as_given(self, tree):
        """Return a tree over these rows with the labels and column names that were given."""
        if self.classes is not None:
            tree = tree.replace(classes=self.classes[tree.classes])
        return tree.replace(feature_names=self.names) if self.names else tree

    def words(self, value):
        """Return a value of the objective in words."""
        if self.price or self.classes is None:
            what = "a cost" if self.price else "a squared error"
            return f"{what} of {number_text(value)}"
        return f"{number_text(value)} error{'s' * (value != 1)}"

    def codes(self, predicted):
        """Return what is predicted as numbers of classes, -1 for none of them, or as numbers."""
        if self.classes is None:
            try:
                return np.asarray(predicted, float)
            except (TypeError, ValueError, OverflowError):
                raise ValueError(f"the tree predicts labels, such as {predicted[0]!r}, and the "
                                 "rows have a quantity; give the rows with the labels that it "
                                 "predicts.") from None
        position = {_key(label): code for code, label in enumerate(self.classes)}
        codes = np.array([position.get(_key(label), -1) for label in predicted], int)
        if not self.known & set(map(_key, predicted)):
            raise ValueError(f"the tree predicts {predicted[0]!r} and other labels that no row "
                             f"has; the rows have {self.classes[:5].tolist()}.")
        return codes

    def loss(self, predicted):
        """Return the weighted errors or squared errors of predictions, exactly."""
        if self.classes is not None:
            wrong = Counter(self.weight[self.codes(predicted) != self.y].tolist())
            return sum((Fraction(w) * number for w, number in wrong.items()), Fraction(0))
        return _squares(self.weight, self.y, self.codes(predicted))

    def counted(self, given, predicted=False):
        """Count what a tree costs and how large it is; ``predicted`` are codes of classes."""
        if given.name == NUMBER:
            return Counted(Fraction(given.loss), None, None, None, None)
        if given.root is None:
            if self.price or self.least > 1:
                raise ValueError("predictions alone do not tell the splits and leaves of their "
                                 "tree; give the tree, or leave out split_penalty and "
                                 "min_samples_leaf.")
            return Counted(self.loss(given.said), None, None, None, given.said)
        values = self.X.astype(np.float32).astype(float) if given.single else self.X
        labels = np.empty(len(self.y), object)
        depth = n_splits = 0
        least, nodes = len(self.y), [(given.root, np.arange(len(self.y)), 0)]
        while nodes:
            node, rows, level = nodes.pop()
            depth = max(depth, level)
            if isinstance(node, Leaf):
                labels[rows] = (self.classes[node.value] if predicted and self.classes is not None
                                else node.value)
                least = min(least, len(rows))
                continue
            n_splits += 1
            if node.relation not in list(RELATIONS):
                raise ValueError(f"a test of the tree says {brief(node.relation)}; it can say "
                                 f"{', '.join(RELATIONS)}.")
            holds = RELATIONS[node.relation](values[rows, self.column(node.feature)],
                                             node.threshold)
            nodes += [(node.yes, rows[holds], level + 1), (node.no, rows[~holds], level + 1)]
        return Counted(self.loss(labels) + Fraction(self.price) * n_splits, depth, n_splits, least,
                       labels)

    def column(self, feature):
        """Return the number of a column, from a number, its name, or a name that ends in one."""
        if isinstance(feature, str) and feature in self.names:
            return self.names.index(feature)
        number = feature
        if isinstance(feature, str):
            digits = re.search(r"(?<!\d)\d{1,9}$", feature, re.ASCII)
            named = feature.isdigit() or feature.strip("0123456789.+-")     # "-1" and "0.5" are not
            number = int(digits[0]) if digits and named else -1
        if isinstance(number, bool) or not isinstance(number, Real) \
                or number not in range(self.X.shape[1]):
            raise ValueError(f"the tree tests {brief(feature)}, which is none of the "
                             f"{self.X.shape[1]} columns of the rows"
                             f"{': ' * bool(self.names)}{listed(self.names, 20)}.")
        return int(number)

    def notes(self, given, own):
        """Say where the predictions or the report of a package are not what its tree says."""
        if given.name == NUMBER:
            return ()
        notes = [f"predict of the {given.name} fails: {given.fault}"] * bool(given.fault)
        if given.root is None and given.name != "the predictions":
            notes.append(f"the tree of the {given.name} cannot be read, so its predictions count")
        elif given.said is not None:
            # A prediction that differs by rounding is the same one.
            said, tree = self.codes(given.said), self.codes(own.predicted)
            spread = 1e-9 * np.ptp(self.y) if self.classes is None else 0.0
            if other := int(np.sum(np.abs(said - tree) > spread)):
                loss = number_text(self.loss(given.said))
                notes.append(f"predict of the {given.name} differs from its tree on {other} of "
                             f"{len(self.y)} rows, and makes {loss} as errors")
        if given.loss is not None and np.all(self.weight == 1):
            loss = self.loss(own.predicted)
            if not abs(given.loss - float(loss)) <= 1e-6 * max(1.0 * (self.classes is not None),
                                                               float(loss)) + self.tolerance:
                notes.append(f"the {given.name} reports {number_text(given.loss)}, and its tree "
                             f"has {number_text(loss)}")
        return tuple(notes)

    def broken(self, counted, limits):
        """Say which limit a tree breaks, or return an empty text."""
        depth, nodes = limits["max_depth"], limits["max_nodes"]
        if counted.depth is None:
            return ""
        if counted.depth > depth:
            return f"the tree has depth {counted.depth} and the limit is {depth}"
        if nodes is not None and counted.n_splits > nodes:
            return f"the tree has {counted.n_splits} feature nodes and the limit is {nodes}"
        if counted.n_splits and self.least > 1 and counted.least < self.least:
            return (f"a leaf of the tree has {counted.least} rows and should have at least "
                    f"{self.least}")
        return ""

    def searched(self, limits, time_limit):
        """Return a fitted search for the best tree within the limits, and a list for its proof."""
        question = hashlib.sha256(repr((self.X.shape, self.least, self.price, self.classes is None,
                                        limits, time_limit)).encode())
        for values in (self.X, self.y, self.weight):
            question.update(np.ascontiguousarray(values))
        if (kept := KEPT.get(question.digest())) is None:
            kept = self.search(limits, 0.5 * time_limit), []
            KEPT.clear()
            KEPT[question.digest()] = kept
        return kept

    def search(self, limits, seconds):
        """Return a fitted search for the best tree within the limits."""
        binary = bool(np.isin(self.X, (0, 1)).all())
        kind, depth = SEARCHES[self.classes is None, binary], limits["max_depth"]
        model = getattr(odtlib, kind)(
            min(depth, DEEPEST) if kind == "ContinuousTreeRegressor" else depth,
            max_nodes=limits["max_nodes"], min_samples_leaf=self.least, time_limit=seconds,
            split_penalty=self.price, **{"binarizer": None} if binary else {})
        return model.fit(self.X, self.y, self.weight)

    def proof(self, model):
        """Return a certificate that the checker accepts and its claim, or None and why not."""
        try:
            certificate = model.certificate(self.X, self.y, self.weight)
        except ValueError as error:
            return None, str(error)
        splits = sum(len(np.unique(column)) - 1 for column in self.X.T)
        sums = 3 if self.classes is None else len(self.classes)
        lines = int(np.sum(certificate.arrays["table"] < 0))    # with all pairs of splits
        if lines * splits**2 * len(self.y) * sums > MOST_WORK:
            return None, f"the check of a certificate over {splits} splits takes too long."
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "proof.npz"
            certificate.save(path)
            try:
                return certificate, check(path, self.X, self.y, self.weight)
            except NotProved as error:
                return None, str(error)


def _case(tree, X, y, least, price, objective, weight):
    """Return what was given as a Case, and the rows for an estimator; refuse what is no such."""
    rows = X
    columns = getattr(tree, "columns", None) if isinstance(tree, DecisionTree) else None
    if columns is not None and hasattr(X, "iloc"):
        X = rows = columns.encode(columns.numbers(columns.chosen(X)))
    theirs = tree.feature_names if isinstance(tree, DecisionTree) else getattr(
        tree, "feature_names_in_", None)
    if theirs is not None and hasattr(X, "columns") and set(X.columns) == set(theirs):
        X = rows = X[list(theirs)]      # trees number the columns in the order of the fit
    names = tuple(map(str, X.columns)) if hasattr(X, "columns") else ()
    X = X.toarray() if hasattr(X, "toarray") else X
    try:
        values = np.asarray(X, float)
    except (TypeError, ValueError):
        words = [name for name in names if X[name].dtype == object]
        raise ValueError(f"the rows have text or gaps{' in ' * bool(words)}{listed(words)}; give "
                         "the columns that the tree tests, as numbers.") from None
    y = np.asarray(y)
    if values.ndim != 2 or y.shape != (len(values),) or not len(y):
        raise ValueError(f"X has shape {values.shape} and y {y.shape}; give (n_rows, n_features) "
                         "and (n_rows,), with at least one row.")
    if not np.isfinite(values).all():
        raise ValueError("the rows have missing or infinite values; fill them in, as a proof "
                         "needs them.")
    if isinstance(least, bool) or least != int(least) or least < 1:
        raise ValueError(f"min_samples_leaf is {least!r}; give a whole number of at least 1.")
    if not 0 <= price < math.inf:
        raise ValueError(f"split_penalty is {price!r}; give a number of at least 0.")
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, float)
    if weight.shape != y.shape or not np.isfinite(weight).all() or weight.min() < 0 or (
            not weight.any()):
        raise ValueError(f"sample_weight has shape {weight.shape}; give a number of at least 0 for "
                         f"each of {len(y)} rows, and not 0 for all.")
    numbers = y.dtype.kind in "biuf"
    if objective is None:
        objective = "squared_error" if y.dtype.kind == "f" and np.any(y % 1 != 0) else "errors"
    if objective not in ("errors", "squared_error"):
        raise ValueError(f"objective is {objective!r}; certificates exist for 'errors' and "
                         "'squared_error'.")
    if numbers and not np.isfinite(y.astype(float)).all() or objective != "errors" and not numbers:
        raise ValueError("y needs a finite number for each row" + " for squared errors" * (
            objective != "errors") + ".")
    used, known = np.flatnonzero(weight > 0), set(map(_key, y.tolist()))
    if len(used) < len(y):
        rows = rows.iloc[used] if hasattr(rows, "iloc") else values[used]
    values, y, weight = values[used], y[used], weight[used]
    total, classes = sum(map(Fraction, weight.tolist())), None
    if objective == "errors":
        classes, y = np.unique(y, return_inverse=True)
        exact = _exact([*set(weight.tolist()), float(price)], total)
        tolerance = Fraction(0) if exact else total * ROUNDED[0]
    else:
        y = y.astype(float)
        mean = np.average(y, weights=weight)
        tolerance = ROUNDED[1] * (_squares(weight, y, np.full(len(y), mean)) + Fraction(price))
    return Case(values, y, weight, classes, int(least), float(price), names, tolerance,
                known), rows


def _key(label):
    """Return a label as a text, in which 1, 1.0 and "1" are the same."""
    label = label.item() if isinstance(label, np.generic) else label
    if isinstance(label, bool | int) or isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label)


def _exact(amounts, total):
    """Tell whether amounts are multiples of one power of two, of which the total has few."""
    parts = [Fraction(amount) for amount in amounts]
    scale = max(part.denominator for part in parts)
    common = math.gcd(*(int(part * scale) for part in parts))
    return total * scale <= EXACT * (common & -common)


def _squares(weight, y, predicted):
    """Return the weighted squared error, exactly."""
    if not np.isfinite(predicted).all():
        raise ValueError("the tree predicts what is no finite number.")
    return sum((Fraction(w) * (Fraction(a) - Fraction(b))**2
                for w, a, b in zip(weight.tolist(), y.tolist(), predicted.tolist())), Fraction(0))
