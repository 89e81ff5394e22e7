"""Whatever is given, every public estimator does what it means or says in a sentence why not."""

import inspect
from numbers import Integral

import numpy as np
import pytest
from hostile import (
    PARAMETERS,
    fault_of,
    public_classes,
    rows_given,
    targets_given,
    weights_given,
)
from sklearn.base import BaseEstimator, is_regressor
from sklearn.utils import get_tags

from odtbook.studies.boosting import BoostedTrees
from odtlib._validation import SearchOptions
from tests.estimators import PUBLIC, made, rows

OPTIONS = public_classes(SearchOptions)
ESTIMATORS = {name: kind for name, kind in public_classes(BaseEstimator).items()
              if name not in OPTIONS and hasattr(kind, "fit") and kind is not BoostedTrees
              and (name in PUBLIC or hasattr(kind, "transform"))}
# What is taken, beside what holds the same numbers.
ROWS = {"1e+308 in it", "-1e+308 in it", "1e-320 in it", f"{2.0 ** 63} in it", "object int 18446",
        "one row", "bools", "levels of names", "categories", "index twice", "sparse frame"}
MISSING = {"nan in it", "object NoneType None", "object str nan", "NA"}
SPARSE = {f"sparse {kind}" for kind in ("csr", "coo", "dia", "bsr", "0/1", "NaN")}
LABELS = {"one class", "categories", "floats as classes", "bools", "int8", "longdouble", "float16",
          "negative", "huge classes"}
CLASSES = {"times", "spans", "huge text", "text in it", "only text"}
NUMBERS = {f"{where}{value}{after}" for value in (2 ** 64, 1e-320, 0.5, True)
           for where, after in (("", " in it"), ("only ", ""))} | {"fractions"}
SEVERAL = {"two columns", "frame of two"}
WEIGHTS = {"0.0 in it", "True in it", "numbers as text"}
WORK = ("n_estimators", "max_restarts", "n_trees", "n_bins")


def model_of(name, **options):
    return made(name, **options) if name in PUBLIC else ESTIMATORS[name](**options)


def table_of(name):
    X, y = rows(name if name in PUBLIC else "CARTClassifier")
    return X[:8], y[:8]


def answered(model, X, y, weight=None):
    """Fit, and return what a fitted model says of the rows; all it says must go together."""
    if weight is None:
        model.fit(X, y)
    else:
        model.fit(X, y, weight)
    repr(model)
    if hasattr(model, "transform"):
        return np.asarray(model.transform(X), float)
    if hasattr(model, "verify"):
        assert model.verify(X, y, weight) == pytest.approx(model.report_.objective)
    model.score(X, y)
    return np.asarray(model.predict(X))


def faults(answers, taken):
    """Return what is wrong with the answers, of functions by name and whether all is as usual."""
    found, usual = [], None
    for name, (call, same) in answers.items():
        fault, answer = fault_of(call)
        if fault is not None:
            found.append(f"{name}: {fault}")
        elif same and (answer is None or (usual is not None
                                          and not np.array_equal(answer, usual))):
            found.append(f"{name}: {'refused' if answer is None else 'another answer'}")
        elif answer is not None and not same and name not in taken:
            found.append(f"{name}: taken")
        usual = answer if usual is None and same else usual
    return "\n".join(found)


def all_rows(X):
    return {"as it is": (X, True), **rows_given(X)}


def rows_taken(model):
    tags = get_tags(model).input_tags
    return ROWS | (MISSING if tags.allow_nan else set()) | (SPARSE if tags.sparse else set())


def values_for(kind, parameter):
    """Return hostile values, without those that are callables, or take much work, on purpose."""
    known = callable in kind._parameter_constraints.get(parameter, ())
    return [value for value in PARAMETERS
            if not (known and callable(value))
            and not (parameter in WORK and isinstance(value, Integral))]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_rows(name):
    X, y = table_of(name)
    taken = rows_taken(model_of(name))
    assert faults({kind: (lambda X=table, y=y[:1] if kind == "one row" else y:
                          answered(model_of(name), X, y), same)
                   for kind, (table, same) in all_rows(X).items()}, taken) == ""


@pytest.mark.parametrize("name", ESTIMATORS)
def test_rows_to_predict(name):
    X, y = table_of(name)
    models = [model_of(name).fit(X, y)]
    frame = rows_given(X)["frame"][0]
    models.append(model_of(name).fit(frame, y))
    if models[0].__sklearn_tags__().input_tags.categorical:
        models.append(model_of(name).fit(frame.assign(f0=np.where(X[:, 0] > 1, "a", "b")), y))
    taken = rows_taken(models[0])
    for number, model in enumerate(models):
        ask = model.transform if hasattr(model, "transform") else model.predict
        tables = all_rows(X)
        assert faults({kind: (lambda X=table, ask=ask: np.asarray(ask(X)), same and number == 0)
                       for kind, (table, same) in tables.items()},
                      taken if number == 0 else tables) == ""


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name in PUBLIC])
def test_targets(name):
    X, y = table_of(name)
    taken = LABELS | (NUMBERS if is_regressor(model_of(name)) else CLASSES)
    tags = get_tags(model_of(name)).target_tags
    taken |= SEVERAL if tags.multi_output else set()
    targets = {"as they are": (y, True), **targets_given(y)}
    assert faults({kind: (lambda y=given: answered(model_of(name), X, y), same)
                   for kind, (given, same) in targets.items()}, taken) == ""


@pytest.mark.parametrize("name", [name for name, kind in ESTIMATORS.items()
                                  if "sample_weight" in inspect.signature(kind.fit).parameters])
def test_weights(name):
    X, y = table_of(name)
    weights = {"as they are": (np.ones(len(y)), True), **weights_given(len(y))}
    assert faults({kind: (lambda weight=given: answered(model_of(name), X, y, weight), same)
                   for kind, (given, same) in weights.items()}, WEIGHTS) == ""


def refused(calls):
    faults = {name: fault_of(call)[0] for name, call in calls.items()}
    return "\n".join(f"{name}: {fault}" for name, fault in faults.items() if fault is not None)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_parameters(name):
    X, y = table_of(name)
    kind = ESTIMATORS[name]
    limit = {"time_limit": 5.0} if "time_limit" in kind._get_param_names() else {}
    assert refused({f"{parameter}={value!r:.40}":
                    lambda options={**limit, parameter: value}: answered(
                        model_of(name, **options), X, y)
                    for parameter in kind._get_param_names() if parameter != "verbose"
                    for value in values_for(kind, parameter)}) == ""


def holder(kind):
    """Return the name of an estimator that takes options of a kind, and of the parameter."""
    for name, estimator in ESTIMATORS.items():
        for parameter, allowed in estimator._parameter_constraints.items():
            if kind in (allowed if isinstance(allowed, list) else []):
                return name, parameter
    return "MurTreeClassifier", "search"


@pytest.mark.parametrize("name", OPTIONS)
def test_options(name):
    kind = OPTIONS[name]
    estimator, holding = holder(kind)
    X, y = table_of(estimator)
    if not inspect.signature(kind).parameters:
        return
    assert refused({f"{parameter}={value!r:.40}":
                    lambda options={parameter: value}: answered(
                        model_of(estimator, **{holding: kind(**options)}), X, y)
                    for parameter in kind._get_param_names()
                    for value in values_for(kind, parameter)}) == ""
