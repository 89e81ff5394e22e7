"""What a template calls: fit one estimator on one data set, measure it, emit the record."""

from __future__ import annotations

import math
import os
import platform
import sys
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from odtbook.tables import Table, is_file, read_table

from .records import COLUMNS

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

MIME = "application/vnd.odtlib.record+json"
_warm = set()


def run(estimator: BaseEstimator, dataset: Any,
        split: int | tuple[ArrayLike, ArrayLike] | None = None, *,
        sample_weight: ArrayLike | None = None,
        measures: Callable[..., dict[str, float]] | None = None) -> dict[str, Any]:
    """Fit an estimator on a data set and return the record of the run.

    The first fit of its kind in a process is preceded by one on a few rows, so that compiling or
    loading kernels does not count as solving; the time it takes is recorded separately.  An
    estimator of this library compiles its kernels instead, as it does before its own clock starts.

    Parameters
    ----------
    estimator : estimator
        Fitted in place, so that the template can draw ``estimator.tree_`` afterwards.
    dataset : str or Dataset
        Name of a data set; or path of a table whose last column is the label, read by
        :func:`~odtbook.tables.read_table`, whose report is printed; or anything with the
        attributes ``X`` and ``y``.
    split : int or (array, array), optional
        Number of one of the data set's five splits, or row numbers for training and testing.  By
        default all rows are used for training and nothing is tested.
    sample_weight : array, optional
        Weight of each row of the data set; the fit gets those of the training rows.
    measures : callable, optional
        ``measures(estimator, X, y)`` returns a dictionary of numbers; it is called with the
        training and, if there is one, with the testing rows, and the record keeps both under
        ``measures["train"]`` and ``measures["test"]``.

    Returns
    -------
    dict
        A record without what the runner knows (parameters, commit, date).
    """
    from sklearn.base import is_regressor
    data = read_data(dataset) if isinstance(dataset, str) else dataset
    y = np.asarray(data.y)
    train, test = _parts(dataset, split, len(y))
    X = data.suited_to(estimator, train) if isinstance(data, Table) else _frame(data)
    X_train, y_train = X.iloc[train], y[train]
    classes = None if is_regressor(estimator) else len(np.unique(y_train))
    compile_seconds = _warm_up(estimator, X_train, y_train, classes)
    weights = () if sample_weight is None else (np.asarray(sample_weight)[train],)
    wall, cpu = time.perf_counter(), _cpu_seconds()
    estimator.fit(X_train, y_train, *weights)
    wall, cpu = time.perf_counter() - wall, _cpu_seconds() - cpu

    report = getattr(estimator, "report_", None)
    tree = getattr(estimator, "tree_", None)
    scored = {"train": (X_train, y_train)}
    if test is not None:
        scored["test"] = (X.iloc[test], y[test])
    accuracy = {part: None if classes is None else float(np.mean(estimator.predict(Z) == t))
                for part, (Z, t) in scored.items()}
    return record(
        status=getattr(report, "status", "heuristic"),
        started_from=None if getattr(report, "start", None) is None else str(report.start),
        objective=getattr(report, "objective", None),
        bound=getattr(report, "lower_bound", None),
        train_accuracy=accuracy["train"],
        test_accuracy=accuracy.get("test"),
        depth=getattr(tree, "depth", None),
        leaves=getattr(tree, "n_leaves", None),
        splits=getattr(tree, "n_splits", None),
        rows=len(train), features=X.shape[1], classes=classes,
        cpu_seconds=cpu, wall_seconds=wall,
        compile_seconds=compile_seconds + getattr(report, "compile_seconds", 0.0),
        counters=getattr(report, "counters", {}),
        measures={} if measures is None else {part: measures(estimator, *rows)
                                              for part, rows in scored.items()})


def record(**values: Any) -> dict[str, Any]:
    """Return a record of anything that a notebook measured.

    Parameters
    ----------
    **values
        Columns of :data:`~odtbook.experiments.records.COLUMNS`; all others stay empty.  Numbers
        without a column of their own go into ``measures={...}``.  ``status`` defaults to
        "executed": the notebook ran and no solver reported.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        If a name is not a column.
    """
    unknown = set(values) - set(COLUMNS)
    if unknown:
        raise ValueError(f"records have no column {', '.join(sorted(unknown))}; put further "
                         "numbers into measures={...}.")
    empty = {name: {} if isinstance(types[0], dict) else None for name, types in COLUMNS.items()}
    values = {"status": "executed", "versions": _versions(), "processor": _processor(),
              "cores": _cores(), **values}
    return {**empty, **{name: _plain(value, COLUMNS[name][0]) for name, value in values.items()}}


def emit(record: dict[str, Any]) -> None:
    """Hand a record from a notebook to the runner, and show it in one line.

    Parameters
    ----------
    record : dict
        From :func:`run` or :func:`record`.  It travels in the notebook's own output, so that an
        executed notebook carries its record with it.
    """
    from IPython.display import display
    words = [record["status"].replace("_", " ")]
    words += [f"{name.replace('_', ' ')} {record[name]:.4g}" for name in
              ("objective", "bound", "train_accuracy", "test_accuracy", "cpu_seconds")
              if record[name] is not None]
    display({MIME: record, "text/plain": ", ".join(words)}, raw=True)


def read_data(source, target=None):
    """Return a known data set by its name, or read a file or data frame and print how."""
    if isinstance(source, str) and not is_file(source):
        from odtbook.datasets import load
        return load(source)
    table = read_table(source, target)
    print(table.report)
    if table.report.unusable:
        raise ValueError(table.report.unusable)
    return table


def _frame(data):
    import pandas as pd
    if isinstance(data.X, pd.DataFrame):
        return data.X
    names = getattr(data, "feature_names", None)
    if names is None:
        names = [f"x{j}" for j in range(np.shape(data.X)[1])]
    return pd.DataFrame(data.X, columns=[str(name) for name in names])


def _parts(dataset, split, n_rows):
    if split is None:
        return np.arange(n_rows), None
    if not isinstance(split, int):
        return split
    if not isinstance(dataset, str) or is_file(dataset):
        from odtbook.datasets.loading import rule
        return rule(n_rows, split)[:2]
    from odtbook.datasets import splits
    return splits(dataset)[split][:2]


def _warm_up(estimator, X, y, classes):
    """Fit a copy on a few rows of every class; return the seconds it took the first time."""
    from sklearn.base import clone
    if hasattr(estimator, "_compile_kernels"):    # a fit of a few rows would do more than that
        return clone(estimator)._compile_kernels(X, y)
    settings = {name: str(value) for name, value in estimator.get_params(deep=False).items()
                if name not in ("random_state", "time_limit")}
    kind = (type(estimator), tuple(sorted(settings.items())), classes)
    if kind in _warm:
        return 0.0
    few = np.arange(min(len(y), 20))
    if classes is not None:
        order = np.argsort(y, kind="stable")
        starts = np.unique(y[order], return_index=True)[1]
        few = np.unique(np.concatenate([order[s:s + 10] for s in starts]))
    started = time.perf_counter()
    clone(estimator).fit(X.iloc[few], y[few])
    _warm.add(kind)
    return time.perf_counter() - started


def _cpu_seconds():
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def _versions():
    versions = {"python": platform.python_version()}
    from odtlib import __version__
    versions["odtlib"] = __version__
    for name in ("numpy", "numba", "scikit-learn", "highspy", "ortools"):
        if {"scikit-learn": "sklearn"}.get(name, name) in sys.modules:
            versions[name] = metadata.version(name)
    return versions


def _processor():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.partition(":")[2] for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        name = platform.processor() or platform.machine()
    return " ".join(name.split())


def _cores():
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def _plain(value, kind=None):
    """Return a value as JSON can hold it; numbers that are not finite become None."""
    if isinstance(value, dict):
        return {str(name): _plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(entry) for entry in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float | int) and not math.isfinite(value):
        return None
    return float(value) if kind is float and value is not None else value
