"""Put the reader's own data through every method."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from odtbook.estimators import class_of

from .book import need_name
from .measure import read_data, run

if TYPE_CHECKING:
    from pandas import DataFrame

# name in the table -> public class
METHODS = {
    "CART": "CARTClassifier",
    "tuned CART": "TunedCARTClassifier",
    "local search": "LocalSearchTreeClassifier",
    "OCT": "OCTClassifier",
    "flow OCT": "FlowOCTClassifier",
    "BinOCT": "BinOCTClassifier",
    "column generation": "ColumnGenerationClassifier",
    "restricted optimum": "RestrictedTreeClassifier",
    "MurTree": "MurTreeClassifier",
    "all thresholds": "ContinuousTreeClassifier",
}


def compare(data: str | Path | DataFrame, target: str | None = None, *, max_depth: int = 3,
            time_limit: float | None = 60.0, test_size: float = 0.25, random_state: int = 0,
            methods: Sequence[str] | None = None) -> DataFrame:
    """Fit every method on one data set and tabulate how each fares.

    Parameters
    ----------
    data : str, pathlib.Path or pandas.DataFrame
        Path of a table or a data frame, read by :func:`~odtbook.tables.read_table`, whose report is
        printed; or the name of a known data set.  A method that takes no gaps gets the median and
        a column that says where, one that takes no text one 0/1 column per value.
    target : str, optional
        Column of the labels (default: the last).
    max_depth : int, default=3
        Maximum depth of the tree; with each further level the exact methods take many times longer.
    time_limit : float or None, default=60.0
        Seconds for each method that takes a limit; it then shows its best tree so far and the
        status ``time_limit``.
    test_size : float, default=0.25
        Share of the rows kept for testing, drawn so that the classes have the same shares as in all
        rows.
    random_state : int, default=0
        Seed of this draw and of the methods; other seeds show how much of the test accuracy is
        chance.
    methods : list of str, optional
        Names of :data:`METHODS` (default: all).

    Returns
    -------
    pandas.DataFrame
        One row per method: training and testing accuracy, depth, leaves, wall seconds, status.
        A method that cannot take the data has the status "failed", one whose package is not
        installed "left out", and one that Ctrl-C stopped "interrupted", as are those after it;
        ``error`` says why, and what to install.  Rows that are finished are never lost.

    Raises
    ------
    ValueError
        If the data cannot be read or have no classes, or a method is unknown.

    Examples
    --------
    >>> from odtbook import experiments
    >>> table = experiments.compare("my.csv", target="label")    # doctest: +SKIP
    >>> print(table)                                             # doctest: +SKIP
    """
    import pandas as pd
    for method in methods or ():
        need_name("method", method, METHODS)
    dataset = read_data(data, target)
    if dataset.task == "regression":
        raise ValueError("the target is a quantity, and compare fits classifiers; `odt try` fits "
                         "trees to quantities, too.")
    parts = _split(np.asarray(dataset.y), test_size, random_state)
    rows = []
    for name in methods or METHODS:
        settings = {"max_depth": max_depth, "time_limit": time_limit,
                    "random_state": random_state}
        estimator = class_of(METHODS[name])()
        estimator.set_params(**{parameter: value for parameter, value in settings.items()
                                if parameter in estimator.get_params()})
        try:
            record = {**run(estimator, dataset, parts), "error": ""}
        except ModuleNotFoundError as error:
            record = {"status": "left out", "error": str(error)}
        except KeyboardInterrupt:
            rows += [{"method": rest, "status": "interrupted", "error": "stopped by Ctrl-C"}
                     for rest in list(methods or METHODS)[len(rows):]]
            break
        except Exception as error:      # whatever one method dies of, the others have their rows
            record = {"status": "failed", "error": f"{error}" if isinstance(error, ValueError)
                      else f"{type(error).__name__}: {error}"}
        rows.append({"method": name, **record})
    columns = ["train_accuracy", "test_accuracy", "depth", "leaves", "wall_seconds", "status"]
    table = pd.DataFrame(rows).set_index("method")
    if (table["error"] != "").any():
        columns.append("error")
    return table.reindex(columns=columns)


def _split(y, test_size, random_state):
    from sklearn.model_selection import train_test_split
    counts = np.unique(y, return_counts=True)[1]
    enough = counts.min() >= 2 and len(counts) <= min(test_size, 1 - test_size) * len(y)
    return train_test_split(np.arange(len(y)), test_size=test_size, random_state=random_state,
                            stratify=y if enough else None)
