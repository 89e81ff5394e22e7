"""Read a template's parameters and refuse unknown or wrong ones before anything runs."""

from __future__ import annotations

import ast
import contextlib
import json
import re
from functools import lru_cache
from importlib import import_module
from inspect import signature
from pathlib import Path

import numpy as np

from odtbook.tables import is_file, read_table
from odtbook.tables.words import suggestion
from odtlib.schema import ANY, brief, check, read_json

from .book import find_notebook
from .records import COLUMNS

LARGEST_VALUE = 10_000   # bytes of a parameter
NOTEBOOK = {"cells": [{"cell_type": str, "source": (str, [str]), "metadata": {str: ANY}, str: ANY}],
            str: ANY}


class Template:
    """A notebook with a parameters cell: what a run of an experiment executes.

    The cell is tagged ``parameters`` and holds one assignment per line.  A comment
    ``# one of: "cart", "local-search"`` limits a parameter to these values, ``# a key of methods``
    to the keys of a dictionary that the notebook makes, and ``# at least 0, at most 1`` a number;
    all hold for each entry of a list.  A parameter called ``dataset`` takes the name of a known
    data set or the path of a CSV file.  Integers pass for floats; a parameter whose default is None
    takes any plain value.
    """

    def __init__(self, name, beside=None, notebook=None):
        self.path = find_notebook(name, beside) if notebook is None else Path(name)
        self.notebook = read_notebook(self.path) if notebook is None else notebook
        cell = parameters_cell(self.notebook)
        if cell is None:
            raise ValueError(f"{self.path.name} has no cell tagged 'parameters'; tag the one that "
                             "assigns its parameters.")
        self.defaults, self.choices, self.ranges = _read_parameters(
            _source(cell), self.path, self._statements())

    def complete(self, parameters):
        """Check parameters and fill in the defaults."""
        for name, value in parameters.items():
            if name not in self.defaults:
                raise ValueError(f"{self.path.name} has no parameter {name!r}"
                                 f"{suggestion(name, self.defaults)}; it has "
                                 f"{', '.join(self.defaults)}.")
            self._check_value(name, value)
        return {name: _as_default(parameters.get(name, default), default)
                for name, default in self.defaults.items()}

    def _check_value(self, name, value):
        default, allowed = self.defaults[name], self.choices.get(name)
        try:
            check(value, ANY, name)
            if len(json.dumps(value, ensure_ascii=False).encode()) > LARGEST_VALUE:
                raise ValueError(f"{name} = {brief(value)} has more than {LARGEST_VALUE} bytes")
        except ValueError as error:     # also of text that has no UTF-8
            raise ValueError(f"{self.path.name}: {error}.") from None
        several = isinstance(default, list)
        if not any(_same_kind(value, other)
                   for other in (not several and allowed) or [default]):
            wanted = "a plain value" if default is None else f"{type(default).__name__}"
            raise ValueError(f"{self.path.name}: {name} = {brief(value)} is "
                             f"{type(value).__name__}; give {wanted}, like its default "
                             f"{default!r}.")
        low, high, said = self.ranges.get(name, (-np.inf, np.inf, ""))
        for one in value if several else [value]:
            if allowed and one not in allowed:
                raise ValueError(f"{self.path.name}: {name} = {brief(one)} is not one of "
                                 f"{', '.join(map(repr, allowed))}{suggestion(one, allowed)}.")
            if said and one is not None and not (
                    isinstance(one, int | float) and low <= one <= high):
                raise ValueError(f"{self.path.name}: {name} = {brief(one)} is out of range; give "
                                 f"{said}.")
        if name == "dataset" and not allowed:
            check_dataset(value)

    def refuse_values(self, points):
        """Raise ValueError for a value that is refused by what the notebook gives it to."""
        from sklearn.utils._param_validation import validate_parameter_constraints
        takers = self._takers()
        for name, value in {f"{pair}": pair for point in points for pair in point.items()}.values():
            for taker, parameter in takers.get(name, ()):
                try:
                    validate_parameter_constraints(
                        {parameter: _constraints(taker)[parameter]}, {parameter: value},
                        taker.__name__)
                except ValueError as error:
                    raise ValueError(f"{self.path.name}: {error}") from None

    def _takers(self):
        """Return what takes each parameter as it is, and says what it takes, with its name there.

        They are classes, and functions that scikit-learn's ``validate_params`` guards.
        """
        from odtlib.estimator import TreeClassifier
        known, takers = {}, {}
        for node in self._statements():     # imports of a cell come before what they are used in
            if isinstance(node, ast.ImportFrom) and f"{node.module}".startswith(
                    ("odtlib", "odtbook.formulations", "odtbook.studies", "sklearn")):
                module = import_module(node.module)
                known |= {one.asname or one.name: getattr(module, one.name, None)
                          for one in node.names}
            taker = known.get(node.func.id) if isinstance(node, ast.Call) and isinstance(
                node.func, ast.Name) else None
            if constraints := _constraints(taker):
                given = [*zip(signature(taker).parameters, node.args),
                         *((word.arg, word.value) for word in node.keywords)]
                for parameter, value in given:
                    if isinstance(value, ast.Name) and value.id in self.defaults and \
                            parameter in constraints:
                        takers.setdefault(value.id, []).append((taker, parameter))
        for name in set(TreeClassifier._parameter_constraints).difference(self.choices):
            takers.setdefault(name, [(TreeClassifier, name)])       # what all estimators take
        return takers

    def _statements(self):
        """Yield every part of the code of the notebook, cell by cell."""
        for cell in self.notebook["cells"]:
            with contextlib.suppress(SyntaxError):      # of text, and of magics
                yield from ast.walk(ast.parse(_source(cell)))


def _constraints(taker):
    """Return what a class or function says that its parameters may be; nothing where it does not.
    """
    return getattr(taker, "_parameter_constraints", None) or getattr(
        taker, "_skl_parameter_constraints", {})


def read_notebook(path):
    """Return the JSON of a notebook; refuse a file that is none."""
    text = read_json(path.read_bytes(), path.name)
    try:
        check(text, NOTEBOOK, "")
    except ValueError as error:
        raise ValueError(f"{path.name} is no notebook: {error}.") from None
    return text


def check_dataset(name):
    """Raise ValueError unless ``name`` is a known data set, or a table that can be read."""
    if is_file(name):
        if not Path(name).is_file():
            raise ValueError(f"there is no file {name!r}; paths count from the working folder.")
        if reason := _unusable(name, Path(name).stat().st_mtime_ns):
            raise ValueError(f"{name}: {reason}")
        return
    from odtbook.datasets.catalogue import find
    find(name)


@lru_cache(maxsize=8)
def _unusable(path, changed):
    """Return why no tree can be learned from a table, read once for all runs of a grid.

    ``changed`` is when the file was.
    """
    return read_table(path).report.unusable


def code_cell(name, source, tags=()):
    """Return a cell of code, without outputs."""
    return {"cell_type": "code", "id": name, "metadata": {"tags": list(tags)}, "outputs": [],
            "execution_count": None, "source": source}


def parameters_cell(notebook):
    """Return the cell tagged ``parameters``, or None."""
    return next((cell for cell in notebook["cells"]
                 if "parameters" in cell["metadata"].get("tags", ())), None)


def _source(cell):
    return "".join(cell["source"])


def _read_parameters(source, path, code):
    """Return defaults, values to choose from, and ranges, by the parameters; ``code`` is all."""
    defaults, choices, ranges, keys = {}, {}, {}, {}
    try:
        statements = ast.parse(source).body
    except (MemoryError, RecursionError, SyntaxError, ValueError) as error:
        raise ValueError(f"{path.name}: the parameters cell is not Python: {error}.") from None
    for statement in statements:
        try:
            (target,) = statement.targets
            name, value = target.id, ast.literal_eval(statement.value)
        except (AttributeError, ValueError):
            raise ValueError(f"{path.name}: line {statement.lineno} of the parameters cell is not "
                             "a plain assignment like `max_depth = 3`; move other code to the "
                             "next cell.") from None
        if name in COLUMNS:
            raise ValueError(f"{path.name}: a parameter cannot be called {name!r}, records have "
                             "a column of this name; choose another.")
        defaults[name] = value
        line = source.splitlines()[statement.end_lineno - 1]
        if limits := re.search(r"#\s*(at least ([\d.]*\d)(?:, at most ([\d.]*\d))?)", line):
            ranges[name] = float(limits[2]), float(limits[3] or "inf"), limits[1]
        if table := re.search(r"#\s*a key of (\w+)", line):
            keys[name] = table[1]
        if comment := re.search(r"#\s*one of:(.*)", line):
            try:
                choices[name] = ast.literal_eval(f"[{comment[1]}]")
            except (SyntaxError, ValueError):
                raise ValueError(f"{path.name}: the values after {comment[0][:20]!r} are not a "
                                 "list like `2, 3`.") from None
    for node in code if keys else ():
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
            choices |= {name: [key.value for key in node.value.keys
                               if isinstance(key, ast.Constant)]
                        for name, table in keys.items() if ast.unparse(node.targets[0]) == table}
    return defaults, choices, ranges


def _same_kind(value, default):
    if default is None:
        return value is None or isinstance(value, bool | int | float | str)
    if isinstance(default, bool) or isinstance(value, bool):
        return isinstance(default, bool) and isinstance(value, bool)
    if isinstance(default, float):
        return isinstance(value, int | float)
    if isinstance(default, list) and default:
        return isinstance(value, list) and all(_same_kind(one, default[0]) for one in value)
    return isinstance(value, type(default))


def _as_default(value, default):
    # 60 and 60.0 are the same run, so they must give the same key
    return float(value) if isinstance(default, float) else value
