"""Public signatures have types, and the types are true."""

from __future__ import annotations

import importlib
import inspect
import typing
from types import UnionType

import numpy as np
import pytest
from matplotlib.axes import Axes
from pandas import DataFrame
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import odtbook
import odtlib
from odtbook import exercises, statistics
from odtbook.formulations import model
from odtbook.verdicts import report
from odtlib.binarize import MDLPBinarizer, QuantileBinarizer, ThresholdBinarizer
from odtlib.constrained import sets

MODULES = ["odtlib.binarize", "odtbook.datasets", "odtbook.formulations", "odtlib.plotting",
           "odtbook.figures",
           "odtlib.constrained.sets", "odtlib.policy", "odtbook.published", "odtbook.experiments",
           "odtbook.interactive", "odtbook.verdicts"]
PUBLIC = {name: getattr(odtlib, name) for name in odtlib._HOME} | {
    f"{home}.{name}": getattr(importlib.import_module(home), name)
    for home in MODULES for name in importlib.import_module(home).__all__}
PUBLIC |= {f"{item.__module__}.{item.__name__}": item for item in (
    odtbook.check, statistics.corrected_interval, statistics.critical_difference,
    exercises.Verdict, report.Report, model.Block, model.Solution)}
PUBLIC = {name: item for name, item in PUBLIC.items() if callable(item)}


def functions_of(cls):
    """The constructor, the public methods and the properties of a class, also inherited ones."""
    for base in cls.__mro__:
        if not base.__module__.startswith(("odtlib", "odtbook")):
            continue
        for name, member in tuple(vars(base).items()):
            function = member.fget if isinstance(member, property) else member
            function = getattr(function, "__func__", function)
            if inspect.isfunction(function) and (name == "__init__" or not name.startswith("_")):
                yield name, inspect.unwrap(function)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_parameter_and_every_result_has_a_type(name):
    item = PUBLIC[name]
    for part, function in functions_of(item) if inspect.isclass(item) else [(name, item)]:
        signature = inspect.signature(function)
        first = part != name and "self" not in signature.parameters and "cls"
        bare = [each.name for each in signature.parameters.values()
                if each.annotation is each.empty and each.name not in ("self", first)]
        if part != "__init__" and signature.return_annotation is signature.empty:
            bare.append("return")
        assert not bare, f"{name}.{part}: {bare}"


def accepts(hint, value, owner):
    """Whether a value is of a type."""
    origin = typing.get_origin(hint)
    if hint is typing.Any:
        return True
    if hint is typing.Self:
        return value is owner
    if origin in (typing.Union, UnionType):
        return any(accepts(part, value, owner) for part in typing.get_args(hint))
    return isinstance(value, origin or hint)


X = np.array([[0.0, 2.0], [1.0, 1.0], [2.0, 0.0], [3.0, 1.0]] * 3)
LABELS, TARGETS = np.array([0, 1, 0, 1] * 3), np.array([0.0, 1.0, 2.0, 2.5] * 3)
TREE = odtlib.DecisionTree.from_nested((0, 1.5, 0, (1, 0.5, 1, 0))).with_counts(X, LABELS)
MEANS = odtlib.DecisionTree.from_nested((0, 1.5, 0.5, 1.0), kind="regression", n_features=2)
REPORT = odtlib.SolveReport("heuristic", 2, 1, 3)
ARGUMENTS = {"X": X, "node": 0, "feature": 1, "tree": TREE, "n_targets": 2, "limit": 3,
             "model": DecisionTreeClassifier(max_depth=2).fit(X, LABELS), "text": TREE.to_json()}
OBJECTS = [TREE, MEANS.with_weights(X, TARGETS), REPORT, odtlib.CARTClassifier(max_depth=2),
           odtlib.MurTreeClassifier(2, binarizer="all"), odtlib.MurTreeRegressor(2),
           odtlib.ConstrainedTreeRegressor(sets.Box(0, 1), max_depth=1), MDLPBinarizer(),
           QuantileBinarizer(), ThresholdBinarizer(), sets.Box(0, 1), sets.Simplex(),
           sets.Box(0, 1) & sets.Polyhedron([[1, 1]], 1),
           sets.Indicator(0, 1, 0.2), sets.AtMostKNonzero(1)]


@pytest.mark.parametrize("thing", OBJECTS, ids=lambda thing: type(thing).__name__)
def test_results_are_of_their_types(thing):
    several = isinstance(thing, odtlib.ConstrainedTreeRegressor | sets.FeasibleSet)
    y = np.stack([TARGETS, TARGETS], axis=1) / 3 if several else LABELS
    if hasattr(thing, "fit"):
        thing = clone(thing).fit(X, y)
    known = {**ARGUMENTS, "y": y[0] if isinstance(thing, sets.FeasibleSet) else y}
    here = {"Axes": Axes, "DataFrame": DataFrame, "csr_matrix": csr_matrix,
            "DecisionTreeClassifier": DecisionTreeClassifier,
            "DecisionTreeRegressor": DecisionTreeRegressor}
    called = 0
    for name, function in functions_of(type(thing)):
        wanted = [each.name for each in inspect.signature(function).parameters.values()
                  if each.default is each.empty and each.kind not in (each.VAR_POSITIONAL,
                                                                      each.VAR_KEYWORD)]
        if name == "__init__" or not set(wanted[1:]) <= known.keys():
            continue
        hint = typing.get_type_hints(function, {**function.__globals__, **here})["return"]
        member = getattr(thing, name)
        try:
            given = {key: known[key] for key in wanted[1:]}
            value = member(**given) if callable(member) else member
        except ValueError:      # refused: not for this kind of tree, or a report without one
            continue
        if hint is typing.Self and getattr(member, "__self__", None) is type(thing):
            hint = type(thing)      # a class method makes a new one
        assert accepts(hint, value, thing), f"{name} is a {type(value)}, not {hint}"
        called += 1
    assert called >= 2
