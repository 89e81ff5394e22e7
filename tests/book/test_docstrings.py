"""Docstrings and signatures of the public names agree."""

import dataclasses
import importlib
import inspect
import re

import pytest

import odtlib
from odtbook.estimators import NAMES

MODULES = ["odtlib.binarize", "odtbook.datasets", "odtbook.formulations", "odtlib.plotting",
           "odtbook.figures",
           "odtbook.experiments", "odtbook.interactive", "odtlib.constrained.sets"]


def import_if_there(home):
    """Import a module of odtlib; None if it does not exist (yet)."""
    try:
        return importlib.import_module(home)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("odtlib"):
            return None
        raise


def public_names():
    """Yield (module, name) of everything public that has a docstring of its own."""
    for name, home in odtlib._HOME.items():
        if import_if_there(home):
            yield home, name
    for home in MODULES:
        for name in getattr(import_if_there(home), "__all__", []):
            item = getattr(importlib.import_module(home), name)
            error = inspect.isclass(item) and issubclass(item, Exception)
            if not error and (inspect.isclass(item) or inspect.isfunction(item)):
                yield home, name


PUBLIC = sorted(set(public_names()))
each_public_name = pytest.mark.parametrize(("home", "name"), PUBLIC)


def documented_parameters(docstring, section="Parameters"):
    """The names in a section of a docstring in numpydoc form, or None where it has none."""
    lines = inspect.cleandoc(docstring).splitlines()
    for start, line in enumerate(lines[:-1]):
        if line.strip() == section and set(lines[start + 1].strip()) == {"-"}:
            break
    else:
        return None
    names = []
    for position in range(start + 2, len(lines)):
        line = lines[position]
        following = lines[position + 1] if position + 1 < len(lines) else ""
        if following and set(following.strip()) == {"-"} and len(following.strip()) > 3:
            break
        if line and not line.startswith(" "):
            head = line.split(" : ")[0].rstrip(" :")
            names += [name.strip().lstrip("*") for name in head.split(",")]
    return names


def signature_parameters(function):
    parameters = list(inspect.signature(function).parameters.values())
    return [p.name for p in parameters if p.name not in {"self", "cls"}]


def public_methods(cls):
    for name, member in vars(cls).items():
        if name.startswith("_"):
            continue
        function = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
        if inspect.isfunction(function):
            yield name, function


def check(name, docstring, function, *, required):
    assert docstring, f"{name} has no docstring"
    first = inspect.cleandoc(docstring).splitlines()[0]
    assert first.endswith("."), f"{name}: the first line is not a sentence: {first!r}"
    expected = signature_parameters(function)
    documented = documented_parameters(docstring)
    if documented is None and dataclasses.is_dataclass(function):
        documented = documented_parameters(docstring, "Attributes")
    if documented is None:
        assert not (required and expected), f"{name}: parameters {expected} are not described"
    else:
        assert documented == expected, f"{name}: described {documented}, signature {expected}"


@each_public_name
def test_docstring_agrees_with_signature(home, name):
    item = getattr(importlib.import_module(home), name)
    if inspect.isclass(item):
        check(name, item.__doc__, item, required=True)
        for method, function in public_methods(item):
            check(f"{name}.{method}", function.__doc__, function, required=False)
    else:
        check(name, item.__doc__, item, required=True)


@pytest.mark.parametrize(
    ("home", "name"),
    [(home, name) for home, name in PUBLIC if name in {*odtlib._HOME, *NAMES} or name.islower()],
)
def test_first_word_is_a_verb(home, name):
    word = inspect.cleandoc(getattr(importlib.import_module(home), name).__doc__).split()[0]
    assert not re.search(r"^(A|An|The|This)$|[^s]s$", word), f"begins with {word!r}"


WORDING = {
    "max_depth": "Maximum depth of the tree.",
    "max_nodes": "Maximum number of feature nodes; None for no limit.",
    "max_leaf_nodes": "Maximum number of leaves; None for no limit.",
    "min_samples_leaf": "Minimum number of samples per leaf.",
    "split_penalty": "Cost of one split, in the unit of ``report_.objective``.",
    "ccp_alpha": "Complexity parameter of minimal cost-complexity pruning, as in scikit-learn.",
    "class_weight": "Weights of the classes, as in scikit-learn.",
    "start": "Warm start: None, a word, a :class:`DecisionTree` or a fitted tree estimator.",
    "constraint_form": "Form of the constraints.",
    "min_samples_split": "Minimum number of samples that a node needs to be split",
    "max_disparity": "Maximum difference in the shares of rows predicted as ``classes_[1]``",
    "disparity": '"demographic-parity" compares shares of all rows of a group, "equal-opportunity"',
    "on_infeasible_targets": "What to do with training",
    "target_weights": "Weight of each target in the",
    "binarizer": "How features that are not 0/1 become 0/1 columns;",
    "time_limit": "Time limit in seconds; None for no limit.",
    "memory_limit": "Memory limit in megabytes; None for no limit.",
    "n_jobs": "Number of threads; None means 1 and -1 all processors.",
    "random_state": "Seed of the random choices.",
    "verbose": "Verbosity: 0 is silent, 1 shows progress.",
}
RETIRED = {"sparsity", "complexity", "leaf_penalty", "class_costs", "rows", "threads"}
ESTIMATORS = [(home, name) for home, name in PUBLIC
              if name in NAMES]


def parameter_texts(docstring):
    """The text of each parameter in a docstring in numpydoc form, as one line without quotes."""
    texts, names, inside = {}, [], False
    lines = inspect.cleandoc(docstring).splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if following and set(following) == {"-"}:
            inside = line == "Parameters"
        elif inside and line and not line.startswith((" ", "-")):
            names = [name.strip().lstrip("*") for name in line.split(" : ")[0].split(",")]
            texts.update(dict.fromkeys(names, ""))
        elif inside and line.startswith(" "):
            texts.update({name: f"{texts[name]} {line.strip()}" for name in names})
    return {name: text.strip().replace("``", "") for name, text in texts.items()}


@pytest.mark.parametrize(("home", "name"), ESTIMATORS)
def test_shared_parameters_have_one_name_and_one_wording(home, name):
    item = getattr(importlib.import_module(home), name)
    texts = parameter_texts(item.__doc__)
    retired = RETIRED & set(signature_parameters(item))
    assert not retired, f"{name} has {sorted(retired)}"
    for parameter in WORDING.keys() & texts.keys():
        wording = WORDING[parameter].replace("``", "")
        if not texts[parameter].startswith(wording):
            raise AssertionError(f"{name}, {parameter}: the text begins with "
                                 f"{texts[parameter][:len(wording)]!r}, not {wording!r}")
