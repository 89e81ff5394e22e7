"""Read the tree of any package: by its nodes, by its text, or by its predictions alone."""

from __future__ import annotations

import math
import numbers
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from odtlib import DecisionTree
from odtlib.schema import read_json

RELATIONS = {"<=": np.less_equal, "<": np.less, ">=": np.greater_equal, ">": np.greater,
             "==": np.equal, "=": np.equal}
IDLE = r"[|\s+\\'`─│├└-]*"      # what stands before the words of a line
LEAF_LINE = re.compile(r"(?:class|label|value|predict\w*)\s*[:=]?\s*\[?([^\]]+?)\]?\s*$|"
                       r"(?:yes:|no:)\s+(\S+)(?:\s+\[.*\])?$|(\S+)\s+\[.*\]$", re.I)
TEST_LINE = re.compile(r"(?:(?:if|yes:|no:|split on)\s+)?(.+?)\s*(<=|>=|==|<|>|=)\s*"
                       r"([-+.\w]+)\W*$", re.I)
COLUMN_LINE = re.compile(r"(.+?)\s+not satisfied$", re.I)
CHILDREN = (("left", "right"), ("left_child", "right_child"), ("true", "false"))
NUMBER = "numbers"      # a Given of this name is no tree, but the optimum that somebody prints
NO_TREE = ("give a DecisionTree, a fitted estimator, the tree of another package, its JSON or "
           "text, a file of these, predictions, or a number")
NO_TEXT = "give its JSON, or the text that a package prints of it"


class Leaf(NamedTuple):
    """What a leaf predicts."""

    value: Any


class Test(NamedTuple):
    """A test of a column; rows for which it holds go to ``yes``."""

    feature: int | str
    relation: str
    threshold: float
    yes: Leaf | Test
    no: Leaf | Test


class Given(NamedTuple):
    """A tree as it was given.

    ``root`` is None where there are predictions alone; ``said`` is what the package predicts for
    the rows, ``loss`` what it reports as its errors or squared errors, each None where it is
    silent.  ``single`` says that values are rounded to float32 before they are compared.
    """

    name: str
    root: Leaf | Test | None
    said: np.ndarray | None = None
    loss: float | None = None
    single: bool = False
    fault: str = ""         # of predict


def given_tree(tree: Any, X: np.ndarray, rows: Any) -> Given:
    """Return a tree in one form, whatever package it is of.

    Parameters
    ----------
    tree : object
        See :func:`odtbook.referee.referee`.
    X : array of float, shape (n_rows, n_features)
        The rows as numbers.
    rows : array or data frame
        The same rows as they were given, for the ``predict`` of an estimator.

    Returns
    -------
    Given

    Raises
    ------
    ValueError
        If there is neither a tree nor a prediction in it.
    """
    if isinstance(tree, Given):
        return tree
    if isinstance(tree, DecisionTree):
        if tree.slopes is None:
            return Given("the tree", _of_arrays(tree, 0, _labels_of(tree)))
        return Given("the tree", None, np.asarray(tree.predict(rows)))
    if isinstance(tree, Leaf | Test | dict):
        return Given("the tree", _of_nodes(tree, "the tree"))
    if isinstance(tree, numbers.Real) and not isinstance(tree, bool):
        if not math.isfinite(tree):
            raise ValueError(f"{tree!r} is no optimum; {NO_TREE}.")
        return Given(NUMBER, None, loss=tree)
    if isinstance(tree, list | tuple | np.ndarray) or hasattr(tree, "to_numpy"):
        if np.shape(tree) != (len(X),):
            raise ValueError(f"the predictions have shape {np.shape(tree)} and there are {len(X)} "
                             f"rows; {NO_TREE}.")
        return Given("the predictions", None, np.asarray(tree))
    name = type(tree).__name__
    if not callable(getattr(tree, "predict", None)) or (
            hasattr(tree, "is_leaf_node") and not hasattr(tree, "fit")):
        try:
            return Given(name, node_of(tree))
        except (AttributeError, TypeError, ValueError):
            raise ValueError(f"a {name} is no tree that the referee can read; {NO_TREE}.") from None
    root, single = _of_estimator(tree, X)
    said, fault = None, ""
    try:
        said = np.asarray(tree.predict(rows)).ravel()
        if len(said) != len(X):
            said, fault = None, f"it returns {len(said)} values for {len(X)} rows"
    except Exception as error:      # whatever a package that is not fitted, or of other rows, does
        fault = str(error)
    if fault and root is None:
        raise ValueError(f"predict of the {name} fails: {fault}; give a fitted estimator, and the "
                         "rows as it takes them.")
    return Given(name, root, said, _reported_loss(tree, len(X)), single, fault)


def _of_estimator(model, X):
    """Return the tree of a fitted estimator or None, and whether it rounds values to float32."""
    while not hasattr(model, "tree_") and hasattr(model, "estimator_"):     # a wrapper of imodels
        model = model.estimator_
    if getattr(model, "binarizer_", None) is not None and not np.isin(X, (0, 1)).all() and (
            not isinstance(getattr(model, "tree_", None), DecisionTree)):
        return None, False      # its tree tests columns that are not these
    inner = getattr(model, "tree_", None)
    try:
        if isinstance(inner, DecisionTree):
            root = None if inner.slopes is not None or inner.n_features != X.shape[1] else (
                _of_arrays(inner, 0, _labels_of(inner)))
            return root, False
        if hasattr(inner, "children_left"):
            values = np.asarray(inner.value)
            if values.ndim == 1:        # pytrees: numbers of classes
                return _of_arrays(inner, 0, model.classes_[values.astype(int)]), False
            labels = (model.classes_[values[:, 0].argmax(axis=1)] if hasattr(model, "classes_")
                      else values[:, 0, 0])
            return _of_arrays(inner, 0, labels), True
        if inner is None and callable(getattr(model, "get_tree", None)):
            inner = model.get_tree()
        if inner is None and getattr(model, "trees_", None):
            inner = model.trees_[0]
        classes = getattr(inner, "classes", None)
        return node_of(getattr(inner, "tree", inner), classes), False
    except (AttributeError, KeyError, IndexError, TypeError, ValueError, RecursionError):
        return None, False      # its predictions remain


def _labels_of(tree):
    return tree.value[:, 0] if tree.kind == "regression" else tree.classes[tree.label]


def _of_arrays(tree, node, labels):
    """Return the tree below a node of a DecisionTree or a scikit-learn tree."""
    if tree.children_left[node] < 0:
        return Leaf(labels[node])
    return Test(int(tree.feature[node]), "<=", float(tree.threshold[node]),
                _of_arrays(tree, tree.children_left[node], labels),
                _of_arrays(tree, tree.children_right[node], labels))


def _of_nodes(node, name):
    """Return the tree below a node; refuse in words what is none."""
    try:
        return node_of(node)
    except (StopIteration, KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise ValueError(f"{name} is no tree: a node needs a feature, perhaps a threshold, and "
                         "left and right (or true and false), a leaf a label, value or "
                         "prediction.") from None


def node_of(node, classes=None):
    """Return the tree below a node of a package, an object or a dictionary.

    Without a threshold a node tests whether a 0/1 column is 1.  STreeD has the rows of 0 on the
    left; DL8.5 and GOSDT have those of 1 there, or call the sides true and false.
    """
    if isinstance(node, Leaf | Test):
        return node
    inside = node if isinstance(node, dict) else _attributes(node)
    yes, no = next(((inside[one], inside[two]) for one, two in CHILDREN
                    if inside.get(one) is not None and inside.get(two) is not None), (None, None))
    if yes is None:
        if any(inside.get(side) is not None for sides in CHILDREN for side in sides):
            raise ValueError("a node with one side")
        value = next(inside[key] for key in ("prediction", "label", "value", "class")
                     if inside.get(key) is not None)
        if np.size(value) != 1:         # else each row of the leaf could have a label of its own
            raise ValueError("several values")
        return Leaf(value if classes is None else classes[value])
    feature = next(inside[key] for key in ("feature", "feat") if inside.get(key) is not None)
    yes, no = node_of(yes, classes), node_of(no, classes)
    if inside.get("threshold") is not None:
        threshold = float(inside["threshold"])
        if math.isnan(threshold):
            raise ValueError("a threshold that is no number")
        return Test(feature, inside.get("relation", "<="), threshold, yes, no)
    if inside.get("reference") is not None:
        reference = {"true": 1, "false": 0}.get(str(inside["reference"]), inside["reference"])
        return Test(feature, inside.get("relation", "=="), float(reference), yes, no)
    if inside.get("zero_first"):
        yes, no = no, yes
    return Test(feature, "==", 1.0, yes, no)


def _attributes(node):
    """Return what a node of pystreed, pycontree or gosdt says, by the names of ``node_of``."""
    if hasattr(node, "get_split_feature"):
        if node.is_leaf_node():
            return {"label": node.get_label()}
        return {"feature": node.get_split_feature(), "threshold": node.get_split_threshold(),
                "left": node.get_left(), "right": node.get_right()}
    if hasattr(node, "is_leaf_node"):
        if node.is_leaf_node():
            return {"label": node.label}
        return {"feature": node.feature, "left": node.left_child, "right": node.right_child,
                "zero_first": True}
    return vars(node)


def _reported_loss(model, n_rows):
    """Return the errors or squared errors that a package reports of its own tree, or None."""
    if hasattr(model, "fit_result") and not getattr(model, "cost_complexity", 0):   # STreeD
        score = float(model.fit_result.score())
        return n_rows * (1.0 - score if hasattr(model, "classes_") else score)
    if hasattr(model, "error_") and isinstance(getattr(model, "tree_", None), dict):    # DL8.5
        return float(model.error_)
    if getattr(model, "trees_", None):      # GOSDT: shares of the rows, by leaf
        losses = _losses(getattr(model.trees_[0], "tree", None))
        return n_rows * float(sum(losses)) if losses else None
    plain = {"split_penalty": 0.0, "class_weight": None, "objective": "errors",
             "criterion": "squared_error", "loss": "squared_error"}
    if hasattr(model, "report_") and hasattr(model, "split_penalty") and all(
            np.array_equal(getattr(model, name, kept), kept) for name, kept in plain.items()):
        return float(model.report_.objective)
    return None


def _losses(node):
    """Return what each leaf below a node of gosdt loses."""
    if hasattr(node, "left_child"):
        return _losses(node.left_child) + _losses(node.right_child)
    return [node.loss] if hasattr(node, "loss") else []


def written(tree):
    """Return the tree of a text, or of a file."""
    text = str(tree)
    if isinstance(tree, os.PathLike) or ("\n" not in text and not text.lstrip().startswith("{")
                                         and os.path.exists(text)):
        try:
            text = Path(tree).read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise ValueError(f"{tree} is no tree in UTF-8; {NO_TEXT}.") from None
    if not text.lstrip().startswith("{"):
        return _of_text(text)
    read = read_json(text, "the tree")
    if "format" in read:
        return DecisionTree.from_json(text)
    return _of_nodes(read, "the JSON")


def _of_text(text):
    """Return a printed tree: a test and, indented below it, its sides; the second after ``else``.

    Numbers are as exact as they are printed.
    """
    lines = []
    for line in text.splitlines():
        words = line[re.match(IDLE, line).end():].rstrip()
        if words:
            lines.append((len(line) - len(line.lstrip("|\t +\\'`─│├└-")), words))

    def below():
        indent, words = lines.pop(0)
        if leaf := LEAF_LINE.match(words):
            return Leaf(_number(leaf[1] or leaf[2] or leaf[3]))
        column, test = COLUMN_LINE.match(words), TEST_LINE.match(words)
        if column:
            feature, relation, threshold = column[1], "==", 0.0
        elif test:
            feature, relation, threshold = test[1], test[2], float(test[3])
        else:
            raise ValueError(words)
        yes = below()
        if lines and lines[0][0] == indent:     # the opposite of the test
            lines.pop(0)
        return Test(feature, relation, threshold, yes, below())

    try:
        root = below()
        if lines:
            raise ValueError(lines[0][1])
        return root
    except IndexError:
        raise ValueError(f"the text of the tree ends where a test or a leaf belongs; {NO_TEXT}."
                         ) from None
    except ValueError as error:
        raise ValueError(f"the text is no tree: {str(error)[:60]!r} is neither a test nor a leaf "
                         f"where one belongs; {NO_TEXT}.") from None


def _number(text):
    try:
        return float(text)
    except ValueError:
        return text.strip()
