"""Read a person's own table: features, labels, and a report of what was done to it and why.

pandas reads the cells as text; this module decides what they mean.  skrub would be the other way:
its ``Cleaner`` leaves decimal commas and identifiers alone and says nothing of what it did.
"""

from __future__ import annotations

import os
import re
import sys
import time
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from odtbook.tables.words import Lines as Lines
from odtbook.tables.words import Report, suggestion
from odtbook.tables.words import printable as printable
from odtlib.requirements import needs

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike
    from sklearn.base import BaseEstimator
    from sklearn.compose import ColumnTransformer

__all__ = ["Report", "Table", "is_file", "read_table"]

BEGUN = "ODTLIB_BEGUN"      # when the command began that has a table read, by time.time()
FILES = re.compile(
    r"\.((csv|tsv|txt|tab|data|dat)(\.(gz|zip|bz2|xz))?|parquet|pq|feather|xls[xm]?|ods|dta|json|"
    r"jsonl|ndjson|arff|zip)$", re.I)


@dataclass(eq=False)
class Table:
    """Features and labels, as :func:`read_table` returns them.

    Attributes
    ----------
    X : DataFrame, shape (n_rows, n_features)
        float64 columns with NaN for gaps, and columns of text (object, None for gaps).
    y : ndarray, shape (n_rows,)
        Labels: text or int64; float64 where ``task`` is "regression".
    report : Report
        What was done and why.
    task : str
        "classification" or "regression".
    target : str
        Name of the column of the labels.
    rows : ndarray of int, shape (n_rows,)
        Number of each row in the source; its first row of data is 0.
    groups : ndarray of str, shape (n_rows,), or None
        Which rows belong together; each gap is a group of its own.
    """

    X: pd.DataFrame
    y: np.ndarray
    report: Report
    task: str
    target: str
    rows: np.ndarray
    groups: np.ndarray | None = None
    origins: dict[str, Any] = field(default_factory=dict, repr=False)
    spelt: dict[str, dict[str, str | None]] = field(default_factory=dict, repr=False)
    seconds: float = field(default=0.0, repr=False)     # that reading took

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns of ``X``."""
        return list(self.X.columns)

    @property
    def categories(self) -> list[str]:
        """Names of the columns that hold text."""
        return [name for name in self.X.columns if self.X[name].dtype == object]

    def encoder(self, keep_gaps: bool = False) -> ColumnTransformer:
        """Return scikit-learn's transformer that makes numbers of ``X``.

        Gaps are filled with the median, and a column says where; a text column becomes a column of
        zeros and ones per value, zeros for values that the fit did not see.

        Parameters
        ----------
        keep_gaps : bool, default=False
            Leave gaps of numbers as NaN, for a method that takes them.

        Returns
        -------
        sklearn.compose.ColumnTransformer
            Not fitted; its output is a data frame.
        """
        from sklearn.compose import ColumnTransformer
        from sklearn.impute import SimpleImputer
        from sklearn.preprocessing import OneHotEncoder
        words = self.categories
        numbers = [name for name in self.X.columns if name not in words]
        return ColumnTransformer([
            ("numbers", "passthrough" if keep_gaps else SimpleImputer(
                strategy="median", add_indicator=True, keep_empty_features=True), numbers),
            ("words", OneHotEncoder(drop="if_binary", handle_unknown="ignore", sparse_output=False,
                                    feature_name_combiner=_equals), words),
        ], verbose_feature_names_out=False).set_output(transform="pandas")


    def suited_to(self, estimator: BaseEstimator, train: ArrayLike | None = None) -> pd.DataFrame:
        """Return ``X`` as an estimator takes it: encoded as far as it needs, and no further.

        Parameters
        ----------
        estimator : estimator
            Its tags say whether it takes categories and gaps.
        train : array of int, optional
            Positions of the rows from which medians and categories are learned (default: all).

        Returns
        -------
        DataFrame
        """
        from sklearn.utils import get_tags
        tags = get_tags(estimator).input_tags
        if (tags.categorical or not self.categories) and (
                tags.allow_nan or not self.X.select_dtypes("number").isna().any(axis=None)):
            return self.X
        rows = self.X if train is None else self.X.iloc[train]
        return self.encoder(keep_gaps=tags.allow_nan).fit(rows).transform(self.X)


def _equals(name, value):
    return f"{name} = {'missing' if value is None or value != value else value}"


def read_table(path_or_frame: str | Path | Any, target: str | None = None, *,
               task: str | None = None,
               drop: Sequence[str] = (), groups: str | None = None) -> Table:
    """Read a table of one row per case, and say in words what was done to it.

    Nothing is dropped or guessed without a line in the report.  Dropped are columns that are
    constant, repeat another, identify the row, or hold sentences; and rows without a label or with
    a wrong number of cells.

    Parameters
    ----------
    path_or_frame : str, pathlib.Path, a pandas or polars data frame, or a pyarrow.Table
        A text file of any separator and encoding (``.csv``, ``.tsv``, ``.txt``, also packed as
        ``.gz``, ``.zip``, ``.bz2``, ``.xz``), a Parquet file, or a data frame.
    target : str, optional
        Column to predict (default: the last).
    task : {"classification", "regression"}, optional
        By default decided from the target: more than 20 different whole numbers, or 5 others, are
        a quantity.
    drop : sequence of str, optional
        Columns to leave out.
    groups : str, optional
        Column that says which rows belong together; it is no feature.

    Returns
    -------
    Table

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is no table, or has no such column.
    """
    pd, begun = needs("pandas", "tables", "A table of your own"), time.perf_counter()
    from odtbook.tables import columns, files, whole
    report = Report()
    if isinstance(path_or_frame, str | Path):
        _refuse_address(path_or_frame)
        frame = files.read_file(Path(path_or_frame), target, report)
    else:
        frame = files.as_frame(path_or_frame, report)
    if not len(frame.columns):
        raise ValueError("the table has no columns; give one with a row of names and a row per "
                         "case.")
    if target is None:
        target = frame.columns[-1]
        report.say("is the target, since it is the last column and no other was named.", target)
    target = _named(target, frame)
    if target not in frame.columns:
        above = [i for i, row in enumerate(frame.head(5).itertuples(index=False)) if target in row]
        raise ValueError(
            f"there is no column {target!r}{suggestion(target, frame.columns)}; the columns are "
            f"{', '.join(name[:60] for name in frame.columns[:30])}"
            + (f" and {len(frame.columns) - 30} more" if len(frame.columns) > 30 else "")
            + (f". It stands in row {above[0]} below the names: delete the lines above it."
               if above else "."))
    report.columns = dict.fromkeys(frame.columns, "dropped")
    report.columns[target] = "target"
    for name in drop:
        name = _beside("--drop", name, frame, target)
        report.say("is dropped, as asked.", name)
        frame = frame.drop(columns=name)
    together = None
    if groups is not None:
        groups = _beside("--groups", groups, frame, target)
        together = pd.Series([f"row {i}" if cell is None else f"={cell}" for i, cell in
                              enumerate(columns.cells_of(frame[groups])[0])], frame.index)
        frame = frame.drop(columns=groups)
        report.columns[groups] = "groups"
    commas = columns.has_decimal_commas(frame)
    frame, y, task = whole.labels_of(frame, target, task, report, commas)
    rows = frame.index.to_numpy()
    if together is not None:
        together = together[rows].to_numpy(str)
        report.say(f"says which rows belong together ({len(set(together)):,} groups) and is no "
                   "feature.", groups)
    frame = frame.reset_index(drop=True)
    features, origins, spelt = whole.features_of(frame, report, commas)
    same = whole.alike(features)
    twins = whole.alike(pd.DataFrame({"features": same, "label": y}))
    again = len(y) - len(np.unique(twins))
    copies = bool(together is None and again and whole.tells_rows_apart(features))
    if copies:
        together = twins.astype(str)
    whole.judge(features, y, task, target, report, same, again, copies)
    return Table(features, y, report, task, target, rows, together, origins, spelt,
                 time.perf_counter() - begun)


def _named(name, frame):
    """Return the column that a name means, however its letters are composed; else the name."""
    name = " ".join(str(name).split())
    plain = unicodedata.normalize("NFC", name)
    same = [c for c in frame.columns if unicodedata.normalize("NFC", c) == plain]
    return name if name in frame.columns or len(same) != 1 else same[0]


def _beside(option, name, frame, target):
    """Return the column that an option names, which is not the target."""
    name = _named(name, frame)
    if name == target:
        raise ValueError(f"{option} {name!r} is the target; name another column.")
    if name not in frame.columns:
        others = frame.columns.drop(target)
        raise ValueError(f"{option} {name!r} is no column beside the target"
                         f"{suggestion(name, others)}; those are {', '.join(others[:30])}.")
    return name


def table_of(dataset: str, target: str | None = None, **options: Any) -> Table:
    """Read the table of a file, or a data set of the book by its name.

    Parameters
    ----------
    dataset : str
        A path, or a name that ``odt data list`` shows.
    target : str, optional
        Column to predict.
    **options
        Of :func:`~odtbook.tables.read_table`.

    Returns
    -------
    Table
    """
    source: Any = dataset
    if not Path(dataset).exists():
        from odtbook.datasets import available, load
        if dataset in available():
            data = load(dataset, as_frame=True)
            source, target = data.X.assign(label=data.y), target or "label"
    table = read_table(source, target, **options)
    if BEGUN in os.environ:         # by which the loading of packages counts as well
        table.seconds = time.time() - float(os.environ[BEGUN])
    return table


@contextmanager
def source_of(file: str) -> Iterator[Path]:
    """Give the path of a table, also of one that comes by the standard input (``-``)."""
    _refuse_address(file)
    if file != "-":
        yield Path(file)
        return
    with TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(sys.stdin.buffer.read())
        yield path


def _refuse_address(file):
    if re.match(r"\w{2,}:/", str(file)):         # one letter is a drive of Windows
        raise ValueError(f"addresses are not read; save {file} as a file and give that.")


def is_file(name: str | Path) -> bool:
    """Tell whether a name means a file of a table rather than a data set of the book.

    Parameters
    ----------
    name : str or pathlib.Path
        ``my.csv``; what ends in none of the usual ways counts if it is the path of a file.

    Returns
    -------
    bool
    """
    return bool(FILES.search(str(name))) or len(Path(name).parts) > 1 and Path(name).is_file()
