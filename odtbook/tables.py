"""Read a person's own table: features, labels, and a report of what was done to it and why.

pandas reads the cells as text; this module decides what they mean.  skrub would be the other way:
its ``Cleaner`` leaves decimal commas and identifiers alone and says nothing of what it did.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import os
import pickle
import re
import sys
import time
import unicodedata
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from odtlib.requirements import needs

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike
    from sklearn.base import BaseEstimator
    from sklearn.compose import ColumnTransformer

__all__ = ["Report", "Table", "is_file", "read_table"]

OTHER = "(other)"
HANDED = "ODTLIB_TABLE"     # names the file of a table that was read already
#: Signs that steer a terminal, and those that turn the direction of a line.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
#: Cells that stand for no value, beside the empty cell.
GAPS = {"na", "n/a", "#n/a", "#na", "nan", "<na>", "null", "none", "nil", "?", "-", "--", ".", "–",
        "#value!", "#div/0!", "#ref!", "#name?", "#null!", "#num!", "inf", "-inf", "+inf",
        "infinity", "-infinity", "missing"}
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars",
              ":": "colons", "^": "carets", " ": "blanks"}
SAID = re.compile(r"sep=(.)", re.I)     # Excel's first line, which names the separator
FILES = re.compile(
    r"\.((csv|tsv|txt|tab|data|dat)(\.(gz|zip|bz2|xz))?|parquet|pq|feather|xls[xm]?|ods|dta|json|"
    r"jsonl|ndjson|arff|zip)$", re.I)
OTHER_FORMATS = re.compile(r'(\[?\s*\{\s*"|<!doctype|<html|<\?xml|%PDF)', re.I)
IDENTIFIER = re.compile(
    r"(^|[^a-z])(id|ids|uuid|guid|key|index|idx|number|num|nr|no|code|row|record)$|^id([^a-z]|$)|"
    r"^unnamed", re.I)
SENTINELS = (-9999, -999, -99, 999, 9999, 99999)
SIGNS = re.compile(r"^([+-]?)[€$£¥]\s*|\s*[€$£¥%]$")
ACCOUNTED = re.compile(r"\((?=.*\d)([^()]+)\)|((?=.*\d).*[^\s-])-")   # (5) and 5-, for -5
FRANCS = re.compile(r"(?<=\d)[.,][-–]+$")
UNIT = re.compile(
    r"([A-Z]{3}\s|[€$£¥]\s?)?([-+]?[\d.,' ]*\d)(\s?[^\W\d_]{1,7}\d?|\s?°[CF]?|\s?[€$£¥%])?")
PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.I)
GROUPED = {mark: re.compile(rf"[+-]?\d{{1,3}}({re.escape(mark)}\d{{3}})+")
           for mark in (".", "'", " ")}
GROUPED[","] = re.compile(r"[+-]?\d{1,3}((,\d{3})+|(,\d{2})+,\d{3})")     # 1,234,567; 12,34,567
ATTRIBUTE = re.compile(r"""^\s*@attribute\s+('(?:[^'\\]|\\.)*'|"[^"]*"|\S+)""", re.I | re.M)
MARKS = str.maketrans({**dict.fromkeys("\u00a0\u202f\u2009", " "), "\u2212": "-", "’": "'"})
TIME = re.compile(r"(\d{1,3}):([0-5]\d)(:[0-5]\d(?:\.\d+)?)?(?:\s?([ap])\.?m\.?)?", re.I)
MINUTES = re.compile(r"(\d{1,3}):([0-5]\d\.\d+)")
SPAN = re.compile(r"P(?=.*\d)(\d+D)?(T(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?|"
                  r"(\d+(\.\d+)?\s*(d|days?|h|hrs?|hours?|m|min|mins|minutes?|s|secs?|seconds?)\b\s*)+",
                  re.I)
# Day, month and year: of numbers alone the year has four digits, or all have two, or there are
# slashes, since 1.2.10 is more often a version.
DATE = re.compile(
    r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|\d\d[-.]\d\d[-.]\d\d|"
    r"\d{1,2}/\d{1,2}/\d\d|\d{1,2}[-/. ]+[A-Za-z]{3,9}[-/., ]+(\d{4}|\d\d)|"
    r"([A-Za-z]{3,9},? )?[A-Za-z]{3,9}\.? \d{1,2},? \d{4})(?=$|[T ,])")
COMPACT = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")
PAIR = re.compile(r"[-+]?\d+(\.\d+)?\s?[/x×;,–-]\s?[-+]?\d+(\.\d+)?")
VERSION = re.compile(r"(^|[^a-z])(version|release|ver)([^a-z]|$)", re.I)
COMMA_NUMBER = re.compile(r"[+-]?\d+(\.\d{3})*(,\d+)?")
MOST_BYTES, LONGEST = 2**28, 60         # of an unpacked file; of a cell that may be a number
FEW_ROWS, MANY_NUMBERS, FEW_NUMBERS, MANY_LEVELS = 20, 20, 5, 30
ORANGE = re.compile(r"|[cdst]|continuous|discrete|string|time|\S+( \S+)+", re.I)
FLAGS = re.compile(r"|c|m|i|class|meta|ignore|\S+=\S+", re.I)
EVENT = re.compile(r"(^|[^a-z])(event|cens\w*|status|death|dead|died|arrest|failure)$", re.I)
DURATION = re.compile(r"(^|[^a-z])(time|weeks?|days|duration|futime|survtime|lifetime)$", re.I)
TRUTH = "holds true and false, read as 1 and 0."
RULE = re.compile(r"[-=:+]{2,}")
LEADING_ZERO = re.compile(r"0\d+")
NOT_PLAIN = re.compile(r"^0\d|[_e]", re.I | re.M)      # in one of many lines
NESTED = (list, dict, set, tuple, np.ndarray)
MOST_EXACT = 2.0**53        # beyond it float64 does not tell whole numbers apart


def printable(text: str) -> str:
    """Return text with the signs that steer a terminal or a line's direction written as escapes."""
    return CONTROL.sub(lambda sign: sign[0].encode("unicode_escape").decode(), text)


class Lines(list):
    """Sentences, which a notebook shows as a list and a terminal one below the other.

    A notebook shows the first ``large`` of them in large letters.
    """

    def __init__(self, lines: Iterable[str] = (), *, large: int = 0) -> None:
        super().__init__(map(printable, lines))
        self.large = large

    def __repr__(self):
        return "\n".join(f"- {line}" for line in self)

    def _repr_html_(self):
        first, rest = self[:self.large], self[self.large:]
        return "".join(f'<p class="large"><big>{escape(line)}</big></p>' for line in first) + (
            "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in rest) + "</ul>") * bool(rest)


@dataclass
class Report:
    """What was done to a table and why, one sentence after the other.

    Attributes
    ----------
    lines : list of str
        The sentences; those of a column begin with its name in quotes.
    columns : dict of str to str
        What became of each column of the source: "target", "number", "category", "date",
        or "dropped".
    unusable : str
        Why no tree can be learned from the table; empty where one can.
    together : list of str
        Columns that may say which rows belong together.
    """

    lines: list[str] = field(default_factory=list)
    columns: dict[str, str] = field(default_factory=dict)
    unusable: str = ""
    together: list[str] = field(default_factory=list)

    def say(self, sentence: str, column: str | None = None) -> None:
        """Add a sentence, about a column if one is named."""
        self.lines.append(sentence if column is None else f"{column!r} {sentence}")

    def __str__(self) -> str:
        return repr(Lines(self.lines))

    def _repr_html_(self):
        return Lines(self.lines)._repr_html_()


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
        gaps = self.X[[name for name in self.X.columns if name not in self.categories]].isna()
        if (tags.categorical or not self.categories) and (
                tags.allow_nan or not gaps.to_numpy().any()):
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
    report = Report()
    if isinstance(path_or_frame, str | Path):
        _refuse_address(path_or_frame)
        frame = _read_file(Path(path_or_frame), target, report, pd)
    else:
        frame = _as_frame(path_or_frame, report, pd)
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
            f"there is no column {target!r}; the columns are "
            f"{', '.join(name[:60] for name in frame.columns[:30])}"
            + (f" and {len(frame.columns) - 30} more" if len(frame.columns) > 30 else "")
            + (f". It stands in row {above[0]} below the names: delete the lines above it."
               if above else "."))
    report.columns = dict.fromkeys(frame.columns, "dropped")
    report.columns[target] = "target"
    for name in drop:
        if (name := _named(name, frame)) not in frame.columns or name == target:
            raise ValueError(f"drop: {name!r} is " + (
                "the target." if name == target else "no column; the columns are "
                f"{', '.join(frame.columns[:30])}."))
        report.say("is dropped, as asked.", name)
        frame = frame.drop(columns=name)
    together = None
    if groups is not None:
        groups = _named(groups, frame)
        if groups not in frame.columns or groups == target:
            raise ValueError(f"groups: {groups!r} is no column beside the target.")
        together = pd.Series([f"row {i}" if cell is None else f"={cell}" for i, cell in
                              enumerate(_cells(frame[groups], pd)[0])], frame.index)
        frame = frame.drop(columns=groups)
        report.columns[groups] = "groups"
    commas = _has_decimal_commas(frame)
    frame, y, task = _labels(frame, target, task, report, pd, commas)
    rows = frame.index.to_numpy()
    if together is not None:
        together = together[rows].to_numpy(str)
        report.say(f"says which rows belong together ({len(set(together)):,} groups) and is no "
                   "feature.", groups)
    frame = frame.reset_index(drop=True)
    features, origins = _features(frame, report, pd, commas)
    whole = features.assign(**{"the target": y})
    again = int(whole.duplicated().sum())
    copies = bool(together is None and again and _tells_rows_apart(features))
    if copies:
        together = whole.groupby(list(whole.columns), dropna=False, sort=False).ngroup().to_numpy(
            str)
    _judge(features, y, task, target, report, again, copies)
    return Table(features, y, report, task, target, rows, together, origins,
                 time.perf_counter() - begun)


def _named(name, frame):
    """Return the column that a name means, however its letters are composed; else the name."""
    name = " ".join(str(name).split())
    plain = unicodedata.normalize("NFC", name)
    same = [c for c in frame.columns if unicodedata.normalize("NFC", c) == plain]
    return name if name in frame.columns or len(same) != 1 else same[0]


def table_of(dataset: str, target: str | None = None, **options: Any) -> Table:
    """Read the table of a file, or a data set of the book by its name.

    A table that :func:`handed` left for this very question is not read again.

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
    if HANDED in os.environ:
        asked, begun, table = pickle.loads(Path(os.environ[HANDED]).read_bytes())
        if asked == (dataset, target, options):
            table.seconds = time.time() - begun
            return table
    if not Path(dataset).suffix and not Path(dataset).exists():
        from odtbook.datasets import available, load
        if dataset in available():
            data = load(dataset, as_frame=True)
            return read_table(data.X.assign(label=data.y), target or "label", **options)
    return read_table(dataset, target, **options)


@contextmanager
def handed(table: Table, dataset: str, begun: float, **options: Any) -> Iterator[None]:
    """Leave a table to the processes that are started meanwhile, which need not read it again.

    Parameters
    ----------
    table : Table
    dataset : str
        Its source, as :func:`table_of` is given it, and the ``options`` likewise.
    begun : float
        ``time.time()`` from which on its seconds count.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder) / "table.pickle"
        path.write_bytes(pickle.dumps(((dataset, table.target, options), begun, table)))
        os.environ[HANDED] = str(path)
        try:
            yield
        finally:
            del os.environ[HANDED]


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


def _count(number, thing, things=None):
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def _listed(values, most=3):
    shown = ", ".join(repr(value if len(str(value)) <= LONGEST else f"{value[:LONGEST]}…")
                      for value in values[:most])
    return shown + (f" and {len(values) - most} more" if len(values) > most else "")


# From a file to a frame of text ------------------------------------------------------------------

def _read_file(path, target, report, pd):
    if not path.exists():
        raise FileNotFoundError(2, "there is no such file", str(path))
    if path.is_dir():
        raise ValueError(f"{path} is a folder; give a file.")
    if (read := READERS.get(path.suffix.lower())) is not None:
        return _as_frame(read(path, pd), report, pd)
    text = _sheet(path, report, pd) if path.suffix.lower() in SHEETS else \
        _decoded(_unpacked(path, report), report)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        report.say(f"The file holds {_count(text.count(chr(0)), 'zero byte')}, which "
                   f"{'is' if text.count(chr(0)) == 1 else 'are'} left out.")
        text = text.replace("\0", "")
    odd = sum(text.count(chr(code)) for code in range(32) if code not in (9, 10, 12, 26))
    if odd > 0.01 * len(text) + 1 or OTHER_FORMATS.match(text.lstrip()[:200]):
        raise ValueError(f"{path.name} is no table of text with a line per case; save the table as "
                         "CSV and give that file.")
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        raise ValueError(f"{path.name} is empty; give a table with a row of names and a row per "
                         "case.")
    longest = csv.field_size_limit(2**31 - 1)
    try:
        dialect, first = _layout(lines, report)
        return _text_frame(text, dialect, first, target, report, pd)
    except csv.Error as error:
        raise ValueError(f"{path.name} is no table of text ({error}).") from None
    finally:
        csv.field_size_limit(longest)


def _by_reader(name, extra, **options):
    """Return a reader of pandas that says in a sentence what it cannot read."""
    def read(path, pd):
        needs(extra, "tables", f"{path.suffix} files") if extra else None
        try:
            return getattr(pd, name)(path, **options)
        except Exception as error:      # whatever a broken file leads to
            raise ValueError(f"{path.name} is not a whole file of its kind ({error}).") from None
    return read


def _arff(path, pd):
    """Return the cells of an ARFF file as text; scipy's reader knows no quotes and no text."""
    head, *data = re.split(r"(?im)^\s*@data\b.*\n?", path.read_text("utf-8", "replace"), maxsplit=1)
    names = [name.strip("'\"").replace("\\", "") for name in ATTRIBUTE.findall(head)]
    lines = [line for line in "".join(data).splitlines() if line.strip() and line.strip()[0] != "%"]
    quote = '"' if "'" not in "".join(lines) else "'"
    rows = list(csv.reader(lines, quotechar=quote, escapechar="\\", skipinitialspace=True))
    wrong = next((k for k, row in enumerate(rows, 1) if len(row) != len(names)), None)
    if not names or not data or wrong:
        raise ValueError(f"{path.name} is no ARFF file that can be read (" + (
            f"row {wrong} of its data has {len(rows[wrong - 1])} cells for {len(names)} attributes"
            if names and wrong else "it has no attributes, or no data") + "); save it as CSV.")
    return pd.DataFrame(rows, columns=names)


READERS = {
    **dict.fromkeys((".parquet", ".pq"), _by_reader("read_parquet", "pyarrow")),
    ".feather": _by_reader("read_feather", "pyarrow"),
    ".dta": _by_reader("read_stata", None, order_categoricals=False),
    **dict.fromkeys((".jsonl", ".ndjson"), _by_reader("read_json", None, lines=True)),
    ".json": _by_reader("read_json", None),
    ".arff": _arff}
SHEETS = (".xlsx", ".xlsm")


def _sheet(path, report, pd):
    """Return the cells of the first sheet of a spreadsheet that has any, as text with commas."""
    sheets = _by_reader("read_excel", "openpyxl", sheet_name=None, header=None, dtype=object)(
        path, pd)
    filled = [name for name, sheet in sheets.items() if sheet.notna().to_numpy().any()]
    if len(filled) > 1:
        report.say(f"The table is the sheet {filled[0]!r}; the others are not read.")
    return sheets[filled[0]].dropna(how="all").to_csv(index=False, header=False) if filled else ""


def _unpacked(path, report):
    """Return the bytes of a file, unpacked if need be, of at most MOST_BYTES."""
    data = path.read_bytes()
    try:
        for mark, module in ((b"\x1f\x8b", gzip), (b"BZh", bz2), (b"\xfd7zXZ", lzma)):
            if data.startswith(mark):
                with module.open(path) as file:
                    return _bounded(file, path)
        if not data.startswith(b"PK\x03\x04"):
            return data
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist()
                     if not name.endswith("/") and not name.startswith("__MACOSX/")]
            if len(names) != 1:
                raise ValueError(f"{path.name} is an archive of {len(names)} files; give one "
                                 "table.")
            report.say(f"The table is {names[0]!r} of the archive.")
            with archive.open(names[0]) as file:
                return _bounded(file, path)
    except (OSError, EOFError, RuntimeError, NotImplementedError, zlib.error, lzma.LZMAError,
            zipfile.BadZipFile):
        raise ValueError(f"{path.name} cannot be unpacked; unpack it, and give the table "
                         "in it.") from None


def _bounded(file, path):
    if len(data := file.read(MOST_BYTES + 1)) > MOST_BYTES:
        raise ValueError(f"{path.name} holds more than {MOST_BYTES >> 20} MB; unpack it, and give "
                         "a part of the table in it.")
    return data


def _decoded(data, report):
    """Return the text of a file, and report an encoding that is not plain UTF-8."""
    for mark, name in ((b"\xff\xfe\0\0", "utf-32"), (b"\0\0\xfe\xff", "utf-32"),
                       (b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"),
                       (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            report.say(f"The file begins with a byte order mark and is read as "
                       f"{name.removesuffix('-sig').upper()}.")
            return _replaced(data, name, report)
    for name, nulls in (("utf-16-le", data[1:2000:2]), ("utf-16-be", data[:2000:2])):
        if 2 * nulls.count(0) > len(nulls):     # every other byte of Latin letters
            report.say("The file has no byte order mark and is read as UTF-16.")
            return _replaced(data, name, report)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    from charset_normalizer import from_bytes
    found = from_bytes(data[:200_000], cp_isolation=[
        "cp1252", "cp1250", "cp1251", "cp1253", "shift_jis", "gb18030", "big5", "euc_kr"]).best()
    name = "cp1252" if found is None else found.encoding
    report.say(f"The file is not UTF-8; its letters are read as {name}, which is a guess.")
    return _replaced(data, name, report)


def _replaced(data, name, report):
    """Return text, with a sign in place of what is none in the encoding."""
    text = data.decode(name, errors="replace")
    if lost := text.count("\ufffd"):
        report.say(f"{_count(lost, 'letter')} could not be read and "
                   f"{'is' if lost == 1 else 'are'} shown as '\ufffd'.")
    return text


def _layout(lines, report):
    """Return the options of the csv reader, and how many lines precede the names."""
    said = SAID.fullmatch(lines[0].strip("\ufeff \n"))
    if said:
        report.say(f"The first line says that the separator is {said[1]!r}.")
    sample = lines[:200]
    options = [{}]
    if any('\\"' in line for line in sample):
        options.append({"doublequote": False, "escapechar": "\\"})
    best = None
    for separator in said[1] if said else SEPARATORS:
        if separator == " " and best is not None:
            break       # between words, too: only where nothing else separates
        for dialect in options:
            dialect = {"delimiter": separator, **dialect}
            if separator == " ":
                dialect["skipinitialspace"] = True
            rows = list(csv.reader(map(str.strip, sample) if separator == " " else sample,
                                   **dialect))
            counts = [len(row) for row in rows]
            full = [row for row in rows if len(row) == max(counts)]
            if len(full) > 1 and not any(row[-1].strip() for row in full):
                # a separator at the end of every line but that of the names
                counts = [count - (count == max(counts)) for count in counts]
            width, times = Counter(counts).most_common(1)[0]
            certain = separator in ":^ "      # these are in times and words, too
            if width > 1 and (not certain or times == len(counts) > 2 or said):
                # The separator that divides most lines alike; of equal ones the one with more
                # fields.
                score = (times / len(counts), width)
                if best is None or score > best[0]:
                    best = score, dialect, counts, width
    if best is None:
        return {"delimiter": said[1] if said else ","}, int(bool(said))
    _, dialect, counts, width = best
    separator = dialect["delimiter"]
    if separator != "," and not said:
        report.say(f"The fields are separated by {SEPARATORS[separator]}.")
    if "escapechar" in dialect:
        report.say("Quotes inside fields are written with a backslash.")
    first = max(counts.index(width), int(bool(said)))
    if first > bool(said):
        report.say(f"The first {_count(first, 'line')} of the file, before the row of names, "
                   f"{'is' if first == 1 else 'are'} skipped: {_listed(lines[:first], 2)}.")
    names = lines[first].split(separator)
    if len(names) > 1 and all(re.fullmatch(r"'.*'", name.strip()) for name in names):
        report.say("The fields are in single quotes.")
        dialect["quotechar"] = "'"
    return dialect, first


def _text_frame(text, dialect, first, target, report, pd):
    """Return the cells as text; NaN where a line has too few fields."""
    if dialect["delimiter"] == " ":
        text = "\n".join(map(str.strip, text.split("\n")))
    rows = csv.reader(io.StringIO(text), **dialect)
    rows = [row for row in rows if row and (len(row) > 1 or row[0].strip())][first:]
    rows = _mended(rows, text, dialect, first, report)
    above = _lines_above(rows, target)
    if above:
        report.say(f"{_count(above, 'line')} above the one that names the target "
                   f"{'is' if above == 1 else 'are'} left out: "
                   f"{_listed([' '.join(' '.join(row).split()) for row in rows[:above]], 2)}.")
        rows = rows[above:]
    names = rows[0]
    if len(rows) > 3 and all(ORANGE.fullmatch(_short(cell.strip())) for cell in rows[1]) and all(
            FLAGS.fullmatch(cell.strip()) for cell in rows[2]):
        report.say("The second and third line say of which kind the columns are, as Orange writes "
                   "them, and are left out.")
        rows = [names, *rows[3:]]
    if all(PLAIN.fullmatch(name.strip()) for name in names) and len(rows) > 1:
        without = "holds numbers only"
    elif len(rows) > FEW_ROWS and any(PLAIN.fullmatch(name.strip()) for name in names) and all(
            PLAIN.fullmatch(name.strip()) or DATE.match(name.strip()) or
            name in {row[j] for row in rows[1:] if len(row) > j} for j, name in enumerate(names)):
        without = "holds values such as those below it"
    else:
        without = ""
    if without:
        report.say(f"The first line {without}, so it is read as a row, and the columns are "
                   "called column1, column2, ….")
        names = [f"column{j + 1}" for j in range(len(names))]
    else:
        rows = rows[1:]
    width = len(names)
    while width > 1 and not names[width - 1].strip() and not any(
            "".join(row[width - 1:]).strip() for row in rows):
        width -= 1      # a separator at the end of every line
    if width < len(names):
        report.say(f"{_count(len(names) - width, 'column')} without name and values at the end "
                   f"{'is' if len(names) - width == 1 else 'are'} left out.")
        rows = [row[:width] if len(row) <= len(names) else row for row in rows]
    again = [i for i, row in enumerate(rows) if row == names]
    ruled = [i for i, row in enumerate(rows)
             if any(row) and all(RULE.fullmatch(cell.strip()) for cell in row if cell)]
    for lines, what in ((again, "the names once more"), (ruled, "dashes alone")):
        if lines:
            report.say(f"{_count(len(lines), 'line')} with {what} left out: "
                       f"row {', '.join(map(str, lines[:5]))}{', …' * (len(lines) > 5)}.")
    out = {*again, *ruled}
    kept = [row for i, row in enumerate(rows) if len(row) == width and i not in out]
    ragged = [i for i, row in enumerate(rows) if len(row) != width and i not in out]
    if ragged:
        report.say(f"{_count(len(ragged), 'row')} with more or fewer than {width} fields "
                   f"{'is' if len(ragged) == 1 else 'are'} left out: rows "
                   f"{', '.join(str(i) for i in ragged[:5])}{', …' if len(ragged) > 5 else ''} "
                   "(the first is row 0).")
    index = np.setdiff1d(np.arange(len(rows)), [*ragged, *out])
    frame = pd.DataFrame(kept, columns=_names(names[:width], report), index=index, dtype=object)
    return frame


def _lines_above(rows, target):
    """Return how many lines stand above the names: of two lines of them the target is in one."""
    def words(row):
        return [" ".join(cell.split()) for cell in row]
    if target is None or target in words(rows[0]):
        return 0
    found = [i for i, row in enumerate(rows) if target in words(row)]
    return found[0] if len(found) == 1 and found[0] <= 5 and not any(
        map(PLAIN.fullmatch, words(rows[found[0]]))) else 0


def _mended(rows, text, dialect, first, report):
    """Return the rows without a separator behind the last field, and read anew if a quote is open.

    A quote that is never closed swallows the lines below it into one field.
    """
    width = len(rows[0])
    mark = dialect["delimiter"]
    if width > 1 and any(
            sum(line.count(mark) == width - 1 for line in cell.split("\n")[1:-1]) > 1
            for row in rows for cell in row if "\n" in cell) and not _quotes_match(text, dialect):
        report.say("A quote is opened and not closed, so quotes are read as letters.")
        rows = csv.reader(io.StringIO(text), **dialect, quoting=csv.QUOTE_NONE)
        rows = [row for row in rows if row and (len(row) > 1 or row[0].strip())][first:]
    longer = [len(row) == width + 1 and not row[-1].strip() for row in rows]
    if any(longer) and rows[0][-1].strip():
        report.say(f"{_count(sum(longer), 'row')} with a separator behind the last field: it is "
                   "left out.")
        rows = [row[:-1] if long else row for row, long in zip(rows, longer)]
    return rows


def _quotes_match(text, dialect):
    """Tell whether each quote that opens a field is closed before the next separator."""
    try:
        for _ in csv.reader(io.StringIO(text), **dialect, strict=True):
            pass
    except csv.Error:
        return False
    return True


def _names(names, report):
    """Return the names of the columns as text without blanks around, each once."""
    clean, seen = [], Counter()
    every = {" ".join(str(given).split()) for given in names}
    for j, given in enumerate(names):
        name = " ".join(str(given).strip("\ufeff").split()) or f"column{j + 1}"
        seen[name] += 1
        new = name
        while seen[name] > 1 and (new in every or new in clean):
            new = f"{name}.{seen[name]}"
            seen[name] += new in every or new in clean
        if seen[name] > 1:
            report.say(f"is the name of more than one column; this one is called {new!r}.", name)
        elif not str(given).strip():
            report.say(f"Column {j + 1} has no name and is called {new!r}.")
        clean.append(new)
    return clean


def _as_frame(frame, report, pd):
    """Return a frame of pandas, of whatever kind its columns are."""
    if not isinstance(frame, pd.DataFrame | pd.Series) and hasattr(frame, "to_pandas") and \
            hasattr(frame, "schema") and not hasattr(frame, "get_columns"):
        frame = frame.to_pandas()       # a table of Arrow
    if not isinstance(frame, pd.DataFrame):
        if not hasattr(frame, "get_columns"):
            raise ValueError(f"a {type(frame).__name__} is no table; give the path of a file, a "
                             "pandas or polars data frame, or a table of Arrow.")
        frame = pd.DataFrame({name: column.to_list() for name, column
                              in zip(frame.columns, frame.get_columns())},
                             columns=list(frame.columns))
    frame = frame.copy(deep=False)
    plain_index = isinstance(frame.index, pd.RangeIndex) or (
        frame.index.name is None and frame.index.dtype.kind in "iu")
    if not plain_index:
        report.say("The index of the frame is no feature and is left out.")
    frame.columns = _names([" ".join(map(str, name)) if isinstance(name, tuple) else name
                            for name in frame.columns], report)
    return frame.reset_index(drop=True)


# From cells to numbers, categories and dates -----------------------------------------------------

def _short(text):
    """Return a text that may be a number or a date; no longer one is, nor is it looked at."""
    return text if len(text) <= LONGEST else ""


def _cells(column, pd):
    """Return a column as objects, gaps as None; and the marks that were read as gaps."""
    kind = column.dtype
    if isinstance(kind, pd.CategoricalDtype):
        column = column.astype(object)
    values = column.astype(object).to_numpy(dtype=object, na_value=None)
    marks = Counter()
    cells = np.empty(len(values), object)
    for i, value in enumerate(values):
        if isinstance(value, bytes):
            value = value.decode(errors="replace")
        elif isinstance(value, NESTED):
            value = str(value.tolist() if isinstance(value, np.ndarray) else value)
        if isinstance(value, str):
            value = value.strip()
            if not value or value.lower() in GAPS:
                marks[value] += 1
                value = None
        elif hasattr(value, "to_timestamp"):
            value = value.to_timestamp()        # of a span, its beginning
        elif value is not None and (value != value or value in (np.inf, -np.inf)):
            if value == value:
                marks["infinity"] += 1
            value = None
        cells[i] = value
    return cells, marks


def _number(column, pd):
    """Return a column that pandas already holds as numbers, as float64; None for others."""
    kind = column.dtype
    if isinstance(kind, pd.CategoricalDtype) or not (
            pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_bool_dtype(kind)):
        return None
    if pd.api.types.is_complex_dtype(kind):
        return None
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _has_decimal_commas(frame):
    """Tell whether a column of text holds numbers whose commas cannot divide thousands."""
    for name in frame.columns:
        texts = [_short(text.strip()) for text in frame[name].head(500) if isinstance(text, str)]
        texts = [SIGNS.sub(r"\1", text) for text in texts if text and text.lower() not in GAPS]
        numbers = [text for text in texts if COMMA_NUMBER.fullmatch(text)]
        if len(numbers) > 0.9 * len(texts) and any(
                "," in text and not GROUPED[","].fullmatch(text) for text in numbers):
            return True
    return False


def _plain_numbers(column):
    """Return a column of plain numbers and empty cells as numbers, else None; quickly."""
    cells = column.to_numpy(dtype=object)
    all_numbers = np.full(len(cells), np.nan)
    try:
        known = (cells != "").astype(bool)
        if NOT_PLAIN.search("\n".join(cells[known])):
            return None
        numbers = all_numbers[known] = np.fromiter(map(float, cells[known]), np.float64)
    except (TypeError, ValueError):
        return None
    return all_numbers if len(numbers) and np.isfinite(numbers).all() else None


def _parsed(texts, commas_everywhere):
    """Return text cells as numbers (NaN where a cell is none), and how the marks were read.

    ``commas_everywhere`` says that another column has decimal commas without doubt.
    """
    bare, units = _without_signs([_short(text).translate(MARKS) for text in texts])
    guess = False
    both = [text for text in bare if "," in text and "." in text]
    commas = [text for text in bare if "," in text]
    how = []
    if both:
        ends = Counter("," if text.rfind(",") > text.rfind(".") else "." for text in both)
        decimal = ends.most_common(1)[0][0]
    elif commas_everywhere:
        points = [text for text in bare if "." in text]
        decimal = "," if commas or points and all(
            GROUPED["."].fullmatch(text) for text in points) else "."
    elif commas:
        thousands = all(GROUPED[","].fullmatch(text) for text in commas) and not any(
            text.startswith("0") for text in commas)
        decimal = "." if thousands else ","
        guess = thousands and not any(text.count(",") > 1 for text in commas)
    else:
        decimal = "."
    group = "." if decimal == "," else ","
    if decimal == "," and commas:
        how.append("decimal commas")
    numbers = np.full(len(bare), np.nan)
    for i, text in enumerate(bare):
        whole, mark, rest = text.partition(decimal)
        for sign in (group, "'", " "):
            if sign in whole and GROUPED[sign].fullmatch(whole):
                whole = whole.replace(sign, "")
                word = {" ": "blanks", "'": "apostrophes", ",": "commas", ".": "points"}[sign]
                if f"{word} between thousands" not in how:
                    how.append(f"{word} between thousands")
        text = whole + ("." + rest if mark else "")
        if PLAIN.fullmatch(text) and np.isfinite(value := float(text)):
            numbers[i] = value
            if decimal == "," and "." in text and not mark and "decimal points" not in how:
                how.append("decimal points")
    if any("e" in text.lower() for text, number in zip(bare, numbers) if number == number):
        how.append("powers of ten written by e")
    how += units
    if guess and how:
        how[-1] += " (a guess: decimal commas are as possible)"
    return numbers, how


def _without_signs(texts):
    """Return numbers without the sign of a currency or unit, and what was left out."""
    bare, said = texts, []
    negative = [bool(ACCOUNTED.fullmatch(text)) for text in texts]
    if any(negative) and not all(negative):
        bare = [ACCOUNTED.sub(r"-\1\2", text) if minus else text
                for text, minus in zip(texts, negative)]
        said.append("(1) or 1- as -1")
    if any(FRANCS.search(text) for text in bare):
        bare = [FRANCS.sub("", text) for text in bare]
        said.append("'.-' for no cents")
    signs = [{at[0].strip("+- ") for at in SIGNS.finditer(text)} for text in bare]
    if len(found := set().union(*signs)) == 1:
        bare = [SIGNS.sub(r"\1", text) for text in bare]
        said.append(f"the unit {found.pop()!r} left out"
                    + (", which not all cells have" if not all(signs) else ""))
    units = _units(bare)
    if len(units) == 1 and (unit := units.pop()):
        bare = [at[2] if (at := UNIT.fullmatch(text)) else text for text in bare]
        said.append(f"the unit {unit!r} left out")
    return bare, said


def _units(texts):
    """Return the units of cells that are a number and a unit each; none where they are not."""
    found = [at for text in texts if (at := UNIT.fullmatch(text)) and not PLAIN.fullmatch(text)]
    if len(found) <= 0.9 * len(texts):
        return set()
    return {" ".join(filter(None, (at[1] and at[1].strip(), at[3] and at[3].strip())))
            for at in found}


def _dates(texts, pd):
    """Return text cells as dates, NaT where one is none, and the order of day, month and year.

    None where most of them do not look like dates.
    """
    texts = [_short(text) for text in texts]
    if 2 * sum(bool(DATE.match(text)) for text in texts) <= len(texts):
        return None
    texts = pd.Series(texts, dtype=object)
    looks = texts.str.match(DATE)
    year_first = texts.str.match(r"\d{4}[-/.]")
    pairs = texts[~year_first].str.extract(r"^(\d{1,2})[-/.](\d{1,2})[-/.]").dropna().astype(int)
    most = [0, 0] if pairs.empty else pairs.max().tolist()
    day_first = not (most[1] > 12 >= most[0])
    orders = ["year-month-day"] if year_first.any() else []
    if len(pairs):
        guess = max(most) <= 12
        orders.append(("day first" if day_first else "month first")
                      + (", which is a guess: month first is as possible" if guess else ""))
    if texts.str.contains(r":\d\d(?:\.\d+)?\s?[+-]\d\d:?\d\d$").any():
        orders.append("times in UTC")
    found = pd.Series(pd.NaT, index=texts.index, dtype="datetime64[us, UTC]")
    for part, first in ((looks & year_first, False), (looks & ~year_first, day_first)):
        if part.any():
            found[part] = pd.to_datetime(texts[part], errors="coerce", utc=True, format="mixed",
                                         dayfirst=first)
    return found, " and ".join(orders) or "with months by name"


def _missing(values):
    from pandas import isna
    return isna(values)


def _gaps_line(values, marks):
    gaps = np.count_nonzero(_missing(values))
    if not gaps:
        return ""
    known = [mark for mark in marks if mark]
    how = f", some written {_listed(known)}" if known else ""
    return f"{_count(gaps, 'gap')} in {_count(len(values), 'row')}{how}"


@dataclass
class _Read:
    """A column as it was understood: kind, values, and sentences about it."""

    kind: str                   # "number", "category", "date", "empty"
    values: np.ndarray
    says: list
    whole: bool = False         # a number that is whole everywhere
    origin: Any = None


def _understand(column, pd, commas=False):
    """Decide what the cells of one column are."""
    if isinstance(column.dtype, pd.CategoricalDtype) and column.cat.ordered and \
            len(column.cat.categories) > 2:
        said = ", ".join(f"{k}: {name}" for k, name in enumerate(column.cat.categories))
        read = _as_number(column.cat.codes.where(column.notna(), np.nan), [
            f"has categories in an order and is read as their numbers ({said})."], Counter())
        read.origin = [str(name) for name in column.cat.categories]
        return read
    numbers = _number(column, pd)
    if numbers is not None and _are_compact_dates(numbers):
        return _compact_dates(numbers, pd)
    if numbers is not None and not _too_large(numbers, column.to_numpy()):
        infinite = int(np.isinf(numbers).sum())
        numbers = np.where(np.isinf(numbers), np.nan, numbers)
        return _as_number(numbers, [TRUTH] if pd.api.types.is_bool_dtype(column.dtype) else [],
                          Counter({"infinity": infinite} if infinite else {}))
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return _as_date(column, "", pd)
    plain = None if commas or VERSION.search(str(column.name)) else _plain_numbers(column)
    if plain is not None:
        if _are_compact_dates(plain):
            return _compact_dates(plain, pd)
        if not _too_large(plain, column.to_numpy()):
            return _as_number(plain, [], Counter())
    cells, marks = _cells(column, pd)
    present = np.array([cell is not None for cell in cells], bool)
    if not present.any():
        return _Read("empty", cells, [])
    held = cells[present]
    kinds = {type(value) for value in held}
    if all(hasattr(value, "year") for value in held):
        return _as_date(pd.Series([pd.Timestamp(v) if v is not None else pd.NaT for v in cells]),
                        "", pd)

    def spread(values):
        """Return the numbers of the cells that hold something, and NaN for the others."""
        numbers = np.full(len(cells), np.nan)
        numbers[present] = values
        return numbers

    if all(isinstance(value, timedelta) for value in held):
        return _as_number(spread(held / timedelta(days=1)), ["holds spans of time, read as days."],
                          marks)
    if kinds == {bool}:
        return _as_number(spread(held), [TRUTH], marks)
    texts, spellings = _one_spelling([str(value) for value in held])
    different = list(dict.fromkeys(texts))
    place = {text: k for k, text in enumerate(different)}
    each = np.array([place[text] for text in texts])
    numbers, how = _parsed(different, commas)
    is_number = ~np.isnan(numbers)[each]
    share = np.mean(is_number)
    wrong = sorted(np.array(different, object)[np.isnan(numbers)])
    reason = _no_quantity(column.name, different, texts, numbers, spellings)
    if reason is None and (share > 0.9 or share > 0.5 and len(wrong) <= 3 and
                           len(different) > 10 + len(wrong)):
        says = [f"is read as numbers with {' and '.join(how)}."] if how else []
        if wrong:
            says.append(f"holds numbers, and {_count(int((~is_number).sum()), 'cell')} "
                        f"with {_listed(wrong)}, read as gaps.")
        zeros = sum(bool(LEADING_ZERO.fullmatch(text)) for text in texts)
        if zeros:
            says.append(f"holds {_count(zeros, 'number')} written with a 0 in front, which is left "
                        "out.")
        return _as_number(spread(numbers[each]), says, marks)
    timed = _times([_short(text) for text in different]) if reason is None else None
    if timed is not None:
        return _as_number(spread(np.array(timed[0])[each]), [timed[1]], marks)
    found = _dates(different, pd) if reason is None else None
    if found is not None:
        parsed = found[0].iloc[each]
        wrong = sorted(np.array(different, object)[found[0].isna()])
        missed = int(parsed.isna().sum())
        if missed < len(texts) * (0.2 if len(wrong) <= 3 else 0.05):
            dates = pd.Series(pd.NaT, index=range(len(cells)), dtype="datetime64[us, UTC]")
            dates[np.flatnonzero(present)] = parsed.to_numpy()
            says = [f"holds dates, and {_count(missed, 'cell')} with {_listed(wrong)}, read as "
                    "gaps."] if wrong else []
            return _as_date(dates, f" ({found[1]})", pd, says)
    words = np.empty(len(cells), object)
    words[present] = texts
    says = _why_words(column, texts, different, is_number, reason)
    if spellings:
        says.append(f"has values that differ by capital letters alone ({_listed(spellings)}), "
                    "read as one each, as it is written most often.")
    gaps = _gaps_line(words, marks)
    return _Read("category", words, [*says, f"has {gaps}."] if gaps else says)


def _why_words(column, texts, different, is_number, reason):
    """Return sentences on cells that are read as words and might have been meant as numbers."""
    says = [] if reason is None else [reason]
    if column.dtype.kind == "O" and not {*map(type, column)}.isdisjoint(NESTED):
        says.append("holds lists or records, read as words; give each part a column of its own.")
    units = _units([_short(text) for text in different])
    if len(units - {""}) > 1 and len(units) <= 5:
        says.append(f"holds numbers with different signs or words ({_listed(sorted(units))}), so "
                    "they are read as words; if these are units, write all in one.")
    elif sum(n for text, n in Counter(texts).items() if PAIR.fullmatch(_short(text))) > \
            0.9 * len(texts):
        says.append(f"holds two numbers in a cell, such as {texts[0]!r}, so they are read as "
                    "words; if they are quantities, give each a column of its own.")
    elif reason is None and np.mean(is_number) > 0.2:
        wrong = sorted({text for text, good in zip(texts, is_number) if not good})
        says.append(f"holds numbers in {int(is_number.sum()):,} of {_count(len(texts), 'cell')} "
                    f"and words in the others ({_listed(wrong)}), so all are read as words.")
    return says


def _no_quantity(name, different, texts, numbers, spellings):
    """Return why cells that look like numbers are words, or None."""
    if VERSION.search(str(name)) and not np.isnan(numbers).all():
        return "is of versions by its name, so they are read as words."
    zeros = sum(n for text, n in Counter(texts).items() if LEADING_ZERO.fullmatch(text))
    alike = zeros >= len(texts) / 10 or len(set(map(len, different))) == 1
    if zeros and alike and np.isfinite(numbers).mean() > 0.9:
        return "holds digits that begin with 0, so they are read as words."
    if _too_large(numbers, different):
        return ("holds whole numbers that are too large to be told apart as numbers, so they are "
                "read as words.")
    return None


def _too_large(numbers, cells):
    """Tell whether different cells are the same whole number, since it is beyond float64."""
    large = np.abs(numbers) >= MOST_EXACT
    return bool(large.any()) and len(set(np.asarray(cells)[large].tolist())) > \
        len(set(numbers[large].tolist()))


def _are_compact_dates(numbers):
    """Tell whether all numbers are dates such as 20240131."""
    known = numbers[~np.isnan(numbers)]
    if not len(known) or not (1.9e7 < known.min() <= known.max() < 2.1e7):
        return False
    return all(COMPACT.fullmatch(f"{value:.10g}") for value in np.unique(known))


def _compact_dates(numbers, pd):
    """Return dates that are written as one number."""
    dates = pd.to_datetime(pd.Series([None if value != value else f"{value:.0f}"
                                      for value in numbers], dtype=object),
                           format="%Y%m%d", errors="coerce")
    says = [f"holds {_count(bad, 'cell')} that {'is' if bad == 1 else 'are'} no day of the "
            "calendar, read as gaps."] if (bad := int(
                (dates.isna() & ~np.isnan(numbers)).sum())) else []
    return _as_date(dates, " written as one number (year, month, day)", pd, says)


def _times(texts):
    """Return times of day or spans of time as numbers, and a sentence; None where one is none."""
    if all(SPAN.fullmatch(text) for text in texts):
        from pandas import to_timedelta
        try:
            spans = to_timedelta(np.array([re.sub(r"(?i)\bhrs?\b", "h", text) if text[0] != "P"
                                           else text for text in texts], object))
        except ValueError:
            return None
        return spans.total_seconds() / 86_400, "holds spans of time, read as days."
    found = [MINUTES.fullmatch(text) for text in texts]
    if all(found):
        return [int(at[1]) + float(at[2]) / 60 for at in found], \
            "holds minutes and seconds and is read as minutes."
    found = [TIME.fullmatch(text) for text in texts]
    if not all(found):
        return None
    hours = [int(at[1]) % 12 + 12 * (at[4] in "pP") if at[4] else int(at[1]) for at in found]
    return [hour + int(at[2]) / 60 + float((at[3] or ":0")[1:]) / 3600
            for hour, at in zip(hours, found)], (
        "holds times of day and is read as hours." if max(hours) < 24 else
        "holds spans of time, hours first, and is read as hours.")


def _one_spelling(texts):
    """Write words that differ by capital letters alone as most often; also those that did."""
    counts, best = Counter(texts), {}
    for text in sorted(counts):
        key = text.casefold()
        if len(text) > 1 and counts[text] > counts.get(best.get(key), 0):
            best[key] = text
    others = [text for text in sorted(counts) if best.get(text.casefold(), text) != text]
    # Keys and genes (AA, Aa, aa) have letters that count.
    if not others or len(counts) > len(texts) / 2 or max(map(len, counts)) < 3:
        return texts, []
    return [best.get(text.casefold(), text) for text in texts], others


def _as_number(numbers, says, marks):
    numbers = np.asarray(numbers, np.float64)
    present = numbers[~np.isnan(numbers)]
    if not len(present):
        return _Read("empty", numbers, says)
    gaps = _gaps_line(numbers, marks)
    says = [*says, f"has {gaps}."] if gaps else says
    for value in SENTINELS:
        rest = present[present != value]
        times = len(present) - len(rest)
        if times and len(rest) and not rest.min() - np.ptp(rest) <= value <= \
                rest.max() + np.ptp(rest):
            says.append(f"holds {value} {_count(times, 'time')}, far from its other values; it is "
                        "read as a number; if it stands for a gap, empty these cells.")
    return _Read("number", numbers, says, bool(np.all(present == np.floor(present))))


def _as_date(dates, words, pd, says=()):
    dates = pd.to_datetime(dates).reset_index(drop=True)
    if dates.dt.tz is not None:
        words = words or f" (times of {dates.dt.tz})"
        dates = dates.dt.tz_localize(None)      # the time on the clock of that place
    first = dates.min()
    first = first if first is pd.NaT else first.normalize()
    days = (dates - first).dt.total_seconds().to_numpy() / 86_400
    if np.isnan(days).all():
        return _Read("empty", days, [])
    says = [f"holds dates{words} and is read as days since {first:%Y-%m-%d}.", *says]
    open_ended = int((dates.dt.year == 9999).sum())
    if open_ended:
        says.append(f"holds the year 9999 in {_count(open_ended, 'row')}; it is read as a date; if "
                    "it stands for none, empty these cells.")
    gaps = _gaps_line(days, {})
    return _Read("date", days, [*says, f"has {gaps}."] if gaps else says, origin=first)


# The target --------------------------------------------------------------------------------------

def _labels(frame, target, task, report, pd, commas):
    """Return the frame without the target and the rows that lack it, the labels, and the task."""
    if task not in (None, "classification", "regression"):
        raise ValueError(f"task is {task!r}; use 'classification', 'regression' or None.")
    read = _understand(frame[target], pd, commas)
    numeric = read.kind in ("number", "date")
    for sentence in read.says:
        if " gap" not in sentence or "read as gaps" in sentence:
            report.say(sentence, target)
    values = read.values
    known = ~_missing(values)
    if not known.all() and len(known):
        report.say(f"{_count(int((~known).sum()), 'row')} without a value of {target!r} "
                   f"{'is' if (~known).sum() == 1 else 'are'} left out.")
    frame, values = frame.drop(columns=target)[known], values[known]
    if not numeric:
        if task == "regression":
            raise ValueError(f"{target!r} holds words, such as {values[0]!r}; regression needs "
                             "numbers." if len(values) else f"{target!r} holds no numbers.")
        return frame, np.array([str(value) for value in values], object).astype(str), \
            "classification"
    values = values.astype(np.float64)
    distinct = len(np.unique(values))
    if task is None:
        quantity = distinct > (MANY_NUMBERS if read.whole else FEW_NUMBERS)
        task = "regression" if quantity else "classification"
        if quantity:
            report.say(f"holds {distinct:,} different numbers and is read as a quantity "
                       "(regression); with task=\"classification\" each number is a class.", target)
        elif distinct > 2:
            report.say(f"holds {distinct} different {'whole ' if read.whole else ''}numbers and "
                       f"is read as {distinct} "
                       "classes; with task=\"regression\" it is a quantity.", target)
    if task == "regression":
        return frame, values, task
    return frame, values.astype(np.int64) if np.all(values == np.floor(values)) and len(values) \
        else np.array([f"{value:g}" for value in values], str), task


# The features ------------------------------------------------------------------------------------

def _features(frame, report, pd, commas):
    """Return the features that are kept; say why each of the others is not."""
    n = len(frame)
    columns, seen, origins = {}, {}, {}
    for name in frame.columns:
        read = _understand(frame[name], pd, commas)
        reason = _why_dropped(name, read, n)
        if reason is None and n:
            key = (read.kind, (read.values if read.kind != "category" else
                               pd.factorize(read.values, use_na_sentinel=False)[0]).tobytes())
            twin = seen.setdefault(key, name)
            if twin != name:
                reason = f"says the same as {twin!r} in every row and is dropped."
        if reason is not None:
            for sentence in [*read.says * (read.kind == "category"), reason]:
                report.say(sentence, name)
            continue
        for sentence in read.says:
            report.say(sentence, name)
        report.columns[name] = read.kind
        values = read.values
        if read.origin is not None:
            origins[name] = read.origin
            report.columns[name] = "date" if read.kind == "date" else "category"
        if read.kind == "category":
            values = _merged(name, values, report)
        elif read.kind == "number" and read.whole and n >= FEW_ROWS and \
                len(np.unique(values)) == n:
            report.say("holds a different whole number in each row; it is read as a number; drop "
                       "it if it is an identifier.", name)
        columns[name] = pd.Series(values, dtype=object if read.kind == "category" else np.float64)
    return pd.DataFrame(columns, index=range(n)), origins


def _why_dropped(name, read, n):
    """Return why a column is no feature, or None."""
    if n == 0:
        return None
    if read.kind == "empty":
        return "holds no value in any row and is dropped."
    present = read.values[~_missing(read.values)]
    gaps, distinct = n - len(present), len(set(present.tolist()))
    if distinct == 1 and not gaps:
        return f"is {present[0]!r} in every row and is dropped." if read.kind == "category" else \
            f"is {present[0]:g} in every row and is dropped."
    if read.kind == "category":
        if distinct > max(10, len(present) / 4) and (
                words := np.mean([len(value.split()) for value in present])) >= 4:
            return (f"holds sentences ({words:.0f} words on average, {distinct:,} different ones) "
                    "and is dropped; turn it into numbers first, for example by "
                    "sklearn.feature_extraction.text.TfidfVectorizer.")
        if len(present) >= FEW_ROWS and distinct > 0.9 * len(present):
            return (f"has a value of its own in nearly every row ({distinct:,} values in "
                    f"{n:,} rows), so it identifies the row and is dropped.")
    if read.kind == "number" and read.whole and n >= FEW_ROWS and distinct > 0.95 * n and not gaps:
        span = present.max() - present.min() + 1
        if IDENTIFIER.search(str(name)) or span == n == distinct:
            return (f"numbers the rows ({distinct:,} values in {n:,} rows), so it identifies the "
                    "row and is dropped.")
    if read.kind == "number" and n >= FEW_ROWS and IDENTIFIER.search(str(name)) and \
            np.mean(np.diff(read.values) == 1) > 0.9:
        return "goes up by one from row to row, so it numbers the rows and is dropped."
    return None


def _merged(name, values, report):
    """Return categories with the rare ones under one name, where there are at least two."""
    counts = Counter(value for value in values if value is not None)
    fewest = min(5, max(2, len(values) // 20))
    rare = sorted(value for value, count in counts.items() if count < fewest)
    if len(rare) > 1 and len(counts) > 2:
        report.say(f"has {_count(len(rare), 'value')} with fewer than {fewest} rows "
                   f"({_listed(rare)}), read together as {OTHER!r}.", name)
        gone = set(rare)
        values = np.array([OTHER if value in gone else value for value in values], object)
        counts = Counter(value for value in values if value is not None)
    elif rare:
        report.say(f"has the value {rare[0]!r} in {_count(counts[rare[0]], 'row')} only.", name)
    if len(counts) > MANY_LEVELS:
        report.say(f"is read as categories and has {len(counts)} of them, one 0/1 column each.",
                   name)
    return values


def _tells_rows_apart(X):
    """Tell whether a number has so many values that equal rows are copies of one."""
    return (X.select_dtypes("number").nunique() >= max(10, len(X) / 10)).any()


def _judge(X, y, task, target, report, again, copies):
    """Say whether a tree can be learned, and what to know before one is.

    ``again`` rows equal an earlier one, and ``copies`` says whether such rows are one group.
    """
    n, classes = len(y), Counter(y.tolist())
    if n == 0:
        report.unusable = "The table has no rows with a label."
    elif X.shape[1] == 0:
        report.unusable = f"There is no column to predict {target!r} from."
    elif len(classes) == 1:
        report.unusable = f"{target!r} is {next(iter(classes))!r} in every row: nothing to predict."
    elif task == "classification" and len(classes) > n / 2:
        report.unusable = (f"{target!r} has {len(classes):,} classes in {n:,} rows: too few rows "
                           "of each to learn from.")
    if report.unusable:
        report.say(report.unusable)
        return
    if task == "classification":
        rare = sorted((str(label) for label, count in classes.items() if count < 5))
        if rare:
            report.say(f"has fewer than five rows of {_count(len(rare), 'class', 'classes')} "
                       f"({_listed(rare)}); little can be learned about "
                       f"{'it' if len(rare) == 1 else 'them'}.", target)
    if again:
        report.say(f"{_count(again, 'row')} of {n:,} {'is' if again == 1 else 'are'} the same as "
                   "an earlier one in every column"
                   + "; they count as copies, and are never both learned from and tested on"
                   * copies + ".")
    alike = X.duplicated(keep=False).to_numpy()
    if task == "classification" and alike.any():
        seen = X[alike].assign(**{"the target": y[alike]}).value_counts(dropna=False, sort=False)
        most = seen.groupby(level=list(range(X.shape[1])), dropna=False, sort=False).max().sum()
        right = np.ceil(1000 * (n - alike.sum() + most) / n) / 10
        if right <= 99:
            report.say("differs between rows that agree in every feature, so no model of these "
                       f"features is right on more than {right:.1f} % of the rows.", target)
    for name in X.columns:
        found = _gives_away(X[name], y, task)
        if found:
            report.say(f"alone tells {target!r} {found}; if it is known only afterwards, leave it "
                       "out (--drop).", name)
        elif EVENT.search(target) and DURATION.search(name):
            report.say(f"may be, by its name, the time until {target!r}; then it is known only "
                       "afterwards, and should be left out (--drop).", name)
        if X[name].dtype == object and (IDENTIFIER.search(name) or _fixes_another(X, name)):
            report.say("may say which rows belong together; --groups keeps them together.", name)
            report.together.append(name)
    if task == "regression" and (parts := _sum_of(X, y)):
        report.say(f"is a sum of {_listed(parts, 5)}, each times a number, in every row; if they "
                   "are known only afterwards, leave them out (--drop).", target)
    if n < 50:
        report.say(f"{n} rows are very few: any accuracy below is a rough guess.")
    report.say(f"Read: {_count(n, 'row')}, {_count(X.shape[1], 'feature')}, target {target!r} "
               + (f"with {len(classes)} classes." if task == "classification" else
                  "as a quantity."))


def _fixes_another(X, name):
    """Tell whether a column of words, such as persons, has one number per value elsewhere."""
    counts = X[name].value_counts()
    if not 10 <= len(counts) <= len(X) / 2 or counts.min() < 2:
        return False
    numbers = X.select_dtypes("number")
    parts = numbers.groupby(X[name])
    same = ((parts.max() - parts.min()).max() == 0) & (numbers.nunique() > len(counts) / 2)
    return bool(same.any())


def _sum_of(X, y):
    """Return the columns of numbers of which a quantity is a weighted sum, but for rounding."""
    numbers = X.select_dtypes("number")
    numbers = numbers.loc[:, numbers.notna().all() & (numbers.abs().max() < 1e100)]
    if not 2 <= numbers.shape[1] <= len(y) / 10 or np.ptp(y) == 0:
        return []
    spread, y = numbers.std(ddof=0), y - y.mean()
    scaled = ((numbers - numbers.mean()) / spread.where(spread > 0, 1)).to_numpy()
    weights = np.linalg.lstsq(scaled, y, rcond=None)[0]
    if np.var(y - scaled @ weights) > 1e-9 * np.var(y):
        return []
    return [name for name, weight in zip(numbers, weights) if abs(weight) > 1e-3 * np.std(y)]


def _gives_away(column, y, task):
    """Return in words how well one column alone tells the target, if it hardly errs; else "".

    Words by what is most frequent beside each, numbers by one cut, a quantity by its order.
    """
    known = column.notna().to_numpy()
    n, values, y = int(known.sum()), column[known], y[known]
    if n < max(10, len(known) / 2):
        return ""
    if task == "regression":
        if column.dtype == object:
            y = values.__class__(y, values.index)
            rest = np.var(y - y.groupby(values).transform("mean")) / np.var(y)
            return f"nearly (it explains {100 * (1 - rest):.1f} % of the variance)" \
                if rest <= 0.03 and values.nunique() <= n / 10 else ""
        same = abs(values.corr(column.__class__(y, values.index), method="spearman"))
        return f"nearly (rank correlation {same:.3f})" if same >= 0.97 else ""
    codes = np.unique(y, return_inverse=True)[1]
    order = np.argsort(values.to_numpy(), kind="stable") if column.dtype != object else None
    if column.dtype == object or len(np.unique(values)) <= max(2, n / 10):
        by = np.unique(values.astype(str) if column.dtype == object else values,
                       return_inverse=True)[1]
        if by.max() + 1 > max(2, n / 10):
            return ""
        seen = np.zeros((by.max() + 1, codes.max() + 1), int)
        np.add.at(seen, (by, codes), 1)
        if np.count_nonzero(seen) == len(seen):
            return "in every row"
        right, how = int(seen.max(axis=1).sum()), ""
    if order is not None:
        below = np.cumsum(np.eye(codes.max() + 1, dtype=np.int32)[codes[order]], axis=0)
        ends = np.flatnonzero(np.diff(values.to_numpy()[order]))
        if not len(ends):
            return ""
        hits = below[ends].max(axis=1) + (below[-1] - below[ends]).max(axis=1)
        right = int(hits.max())
        cut = values.to_numpy()[order][ends[hits.argmax()]]
        how = f" (one cut, at {cut:g})"
    wrong, base = n - right, n - int(np.bincount(codes).max())
    if wrong > 0.1 * base or base < 10:
        return ""
    return f"in {right:,} of {n:,} rows{how}" if wrong else f"in every row{how}"
