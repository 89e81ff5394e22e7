"""What a user may give by mistake, and how an answer to it is judged."""

import ast
import functools
import importlib
import inspect
import pkgutil
import traceback
import warnings
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse
import sklearn

import odtbook
import odtlib

OURS = tuple(str(Path(package.__file__).parent) for package in (odtlib, odtbook, sklearn))
HUGE = 10 ** 400

PARAMETERS = [
    "nonsense", "", b"bytes", np.nan, np.inf, -np.inf, -1, 0, -0.5, 1e308, 1e-320, 2 ** 63, HUGE,
    -HUGE, True, 1j, (), [], {}, {"a": 1}, {0: "b"}, [1, "a"], ["nonsense", 3], object(), object,
    len, date(2020, 1, 1), pd.NA, pd.NaT, np.datetime64("NaT"), np.array([1, 2]),
    np.array([np.nan]), np.array(3), np.array([], object), np.float16("nan"), np.int8(-1),
    np.uint64(2 ** 63), np.longdouble("inf"), np.str_("nonsense"), pd.Series([1.0]), None]


def rows_given(X):
    """Return tables by name, and for each whether it holds the numbers of ``X``."""
    frame, changed = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])]), {}

    def with_first(value, dtype=None):
        table = X.astype(dtype or X.dtype)
        table[0, 0] = value
        return table

    wide, locked = np.repeat(X, 2, axis=1), X.copy()
    locked.flags.writeable = False
    records = np.array([tuple(row) for row in X], [(f"f{j}", float) for j in range(X.shape[1])])
    same = {
        "lists": X.tolist(), "tuples": tuple(map(tuple, X.tolist())), "objects": X.astype(object),
        "Fortran": np.asfortranarray(X), "stride": wide[:, ::2], "backwards": X[::-1].copy()[::-1],
        "read-only": locked, "other byte order": X.astype(">f8"), "frame": frame,
        "masked": np.ma.masked_array(X), "nullable": frame.astype("Float64"),
        "frame of objects": frame.astype(object), "arrow strings": X.astype(str),
        **{kind: X.astype(kind) for kind in ("int8", "uint8", "int64", "uint64", "float16",
                                             "float32", "longdouble", ">i4")}}
    for name, dtype in (("time", "datetime64[s]"), ("span", "timedelta64[s]")):
        changed[name] = X.astype(np.int64).astype(dtype)
        changed[f"frame with {name}"] = frame.assign(f0=X[:, 0].astype(np.int64).astype(dtype))
    for value in (np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-320, 2.0 ** 63):
        changed[f"{value} in it"] = with_first(value)
    for value in (None, pd.NA, pd.NaT, HUGE, 2 ** 64, "text", b"bytes", [1.0], {}, date(2020, 1, 1),
                  1j, object(), np.datetime64("NaT"), "nan", "inf", "1e999", np.array([1.0, 2.0])):
        table = X.astype(object)
        table[0, 0] = value
        changed[f"object {type(value).__name__} {str(value)[:5]}"] = table
    changed |= {
        "one dimension": X[:, 0], "no dimension": np.array(3.0), "number": 3.0, "three": X[None],
        "no rows": X[:0], "no columns": X[:, :0], "no frame rows": frame[:0],
        "no frame columns": frame[[]], "one row": X[:1], "None": None, "text": "text",
        "bytes": b"bytes", "dict": {"a": [1.0]}, "set": {1.0}, "generator": (row for row in X),
        "empty list": [], "list of nothing": [[]], "ragged": [[1.0], [2.0, 3.0]],
        "records": records, "complex": X.astype(complex), "matrix": np.asmatrix(X), "bools": X > 1,
        "range": range(9),
        "mask": np.ma.masked_array(X, X == X[0, 0]), "class": object, "function": len,
        "names of two types": frame.set_axis([0, "a", "b"][:X.shape[1]], axis=1),
        "names twice": frame.set_axis(["a"] * X.shape[1], axis=1),
        "levels of names": pd.concat({"a": frame}, axis=1), "series": frame["f0"],
        "categories": frame.assign(f0=frame["f0"].astype("category")),
        "NA": frame.astype("Float64").mask(frame == X[0, 0]), "index twice":
        frame.set_axis([0] * len(X)), "periods": frame.assign(
            f0=pd.period_range("2020-01", periods=len(X), freq="M")),
        "intervals": frame.assign(f0=pd.interval_range(0, periods=len(X))),
        "nested": frame.assign(f0=[[1]] * len(X)), "frame of complex": frame.astype(complex),
        **{f"sparse {kind}": getattr(scipy.sparse, f"{kind}_array")(X)
           for kind in ("csr", "coo", "dia", "bsr")},
        "sparse NaN": scipy.sparse.csr_array(with_first(np.nan)),
        "sparse text": np.array(scipy.sparse.csr_array(X), object),
        "sparse 0/1": scipy.sparse.csc_array((X > 1).astype(float)),
        "sparse frame": frame.astype(pd.SparseDtype(float, 0.0))}
    return {**{name: (table, True) for name, table in same.items()},
            **{name: (table, False) for name, table in changed.items()}}


def targets_given(y):
    """Return labels or targets by name, and for each whether it means what ``y`` means."""
    locked = y.copy()
    locked.flags.writeable = False
    same = {"list": y.tolist(), "tuple": tuple(y.tolist()), "objects": y.astype(object),
            "read-only": locked, "stride": np.repeat(y, 2)[::2], "series": pd.Series(y),
            "other index": pd.Series(y, index=[7] * len(y))}
    changed = {}
    for value in (None, np.nan, np.inf, -np.inf, pd.NA, pd.NaT, HUGE, 2 ** 64, 1e308, 1e-320,
                  "text", b"bytes", [1.0], {}, {1}, date(2020, 1, 1), 1j, object(), 0.5, True,
                  np.datetime64("NaT"), object, (1, 2), np.array([1, 2]), np.float16("nan")):
        mixed = y.astype(object)
        mixed[0] = value
        every = np.empty(len(y), object)
        every[:] = [value] * len(y)
        changed[f"{str(value)[:20]} in it"] = mixed
        changed[f"only {str(value)[:20]}"] = every
    numbers = np.arange(len(y))
    changed |= {
        "short": y[:-1], "long": np.repeat(y, 2), "empty": y[:0], "two columns":
        np.column_stack([y, y]), "row": y[None], "three": y[:, None, None], "no dimension": y[0],
        "None": None, "text": "text", "dict": dict(enumerate(y)), "set": set(y.tolist()),
        "generator": (one for one in y), "number": 3, "class": object, "ragged": [[1], [1, 2]],
        "complex": numbers + 1j, "times": numbers.astype("datetime64[D]"),
        "spans": numbers.astype("timedelta64[D]"), "sparse": scipy.sparse.csr_array(
            (numbers % 2)[:, None]), "no columns": np.zeros((len(y), 0)), "one class": y[:1].repeat(
            len(y)), "categories": pd.Series(y).astype("category"), "fractions": numbers / 7,
        "floats as classes": (numbers % 2).astype(float), "bools": numbers % 2 > 0, "huge classes":
        (numbers % 2).astype(np.uint64) * np.uint64(2 ** 63), "int8": (numbers % 2).astype(np.int8),
        "frame of two": pd.DataFrame({"a": y, "b": y}), "nullable": pd.Series(
            [None, *(numbers[1:] % 2)], dtype="Int64"), "masked": np.ma.masked_array(
            numbers % 2, numbers == 0), "records": np.array([(1, 2.0)] * len(y), "i4,f8"),
        "negative": -(numbers % 2), "longdouble": (numbers % 2).astype(np.longdouble),
        "float16": (numbers % 2).astype(np.float16), "periods": pd.Series(
            pd.period_range("2020-01", periods=len(y), freq="M")), "huge text":
        np.where(numbers % 2, "a" * 10_000, "b"), "bytes": np.where(numbers % 2, b"a", b"b")}
    return {**{name: (targets, True) for name, targets in same.items()},
            **{name: (targets, False) for name, targets in changed.items()}}


def weights_given(n_rows):
    """Return weights by name, and for each whether every row has the same."""
    ones, changed = np.ones(n_rows), {}
    locked = ones.copy()
    locked.flags.writeable = False
    for value in (np.nan, np.inf, -1.0, 1e308, 1e-320, 0.0, None, "text", 1j, HUGE, pd.NA, [1.0],
                  date(2020, 1, 1), object(), True):
        mixed = ones.astype(object)
        mixed[0] = value
        changed[f"{str(value)[:20]} in it"] = mixed
    for value in (np.nan, np.inf, -1.0, 0.0, 1e200, 1e-200):
        changed[f"only {value}"] = np.full(n_rows, value)
    changed |= {
        "short": ones[:-1], "long": np.ones(2 * n_rows), "empty": ones[:0], "columns":
        np.ones((n_rows, 2)), "three": np.ones((n_rows, 1, 1)), "text": "text", "dict": {"a": 1},
        "set": {1.0}, "sparse": scipy.sparse.csr_array(ones[:, None]), "complex": ones * 1j,
        "times": ones.astype(np.int64).astype("datetime64[D]"), "no dimension": np.array(1.0),
        "huge": 1e308, "negative": -1, "generator": (one for one in ones), "class": object,
        "ragged": [[1.0], [1.0, 2.0]], "frame": pd.DataFrame({"a": ones, "b": ones}), "NaN": np.nan,
        "number 0": 0, "numbers as text": ["1"] * n_rows}
    same = {"list": ones.tolist(), "objects": ones.astype(object), "bools": ones > 0, "int8":
            ones.astype(np.int8), "read-only": locked, "stride": np.ones(2 * n_rows)[::2],
            "series": pd.Series(ones, index=[7] * n_rows), "float16": ones.astype(np.float16),
            "longdouble": ones.astype(np.longdouble), "uint64": ones.astype(np.uint64)}
    return {**{name: (weights, True) for name, weights in same.items()},
            **{name: (weights, False) for name, weights in changed.items()}}


def public_classes(kind):
    """Return the public classes of a kind in ``odtlib`` and ``odtbook``, by name."""
    found = {}
    for package in (odtlib, odtbook):
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if any(part.startswith("_") for part in module.name.split(".")):
                continue
            home = importlib.import_module(module.name)
            for name, value in vars(home).items():
                if inspect.isclass(value) and issubclass(value, kind) and name[0] != "_" \
                        and value.__module__ == module.name:
                    found[name] = value
    return found


@functools.cache
def _raising_lines(path):
    tree = ast.parse(Path(path).read_text())
    return {line for node in ast.walk(tree) if isinstance(node, ast.Raise)
            for line in range(node.lineno, node.end_lineno + 1)}


def fault_of(call):
    """Return what is wrong with the way a call refuses its arguments, or None; and its result.

    A refusal is a ValueError or TypeError that we, or scikit-learn's validation, raise on purpose:
    one that comes out of a computation was not foreseen, and its text says nothing to a user.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return None, call()
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{type(error).__name__}: {str(error)[:200]} ({frame.filename}:{frame.lineno})"
        if not isinstance(error, ValueError | TypeError):
            return where, None
        foreseen = frame.filename.startswith(OURS) and frame.lineno in _raising_lines(
            frame.filename)
        return (None if foreseen and len(str(error)) > 15 else where), None
