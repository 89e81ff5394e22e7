"""Tables and their checksum: what a data set is, whatever file it came in."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import zipfile
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

LARGEST = 256 * 2**20  # bytes of a file, packed or not; the largest is a tenth of it


class DataError(RuntimeError):
    """A file is not the data set that it should be: truncated, altered, or unreadable."""


class Table(NamedTuple):
    """Features, targets and names, in the order of the source.

    ``X`` is (n, p), float64 or text; ``y`` is (n,) int64 class labels or (n, k) float64 targets.
    """

    X: np.ndarray
    y: np.ndarray
    feature_names: tuple[str, ...] | None = None
    target_names: tuple[str, ...] | None = None


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set as :func:`load` returns it.

    Attributes
    ----------
    name : str
        The name in the catalogue.
    X : ndarray of shape (n_rows, n_features), or DataFrame
        Features: float64, or a DataFrame of text where they are nominal (and with
        ``as_frame=True``).
    y : ndarray
        Class labels, int64 of shape (n_rows,), with the numbers of the source; or, where
        ``task`` is ``"regression"``, targets, float64 of shape (n_rows, n_targets). Series or
        DataFrame with ``as_frame=True``.
    feature_names : tuple of str
        ``x0``, ``x1``, ... where the source gives none.
    target_names : tuple of str
        Names of the classes, in increasing order of their labels; or of the targets.
    description : str
        What the data are, what to know before use, and whom to cite.
    source : str
        Where it comes from.
    licence : str
        Under which licence.
    citation : str
        Whom to cite.
    task : str
        ``"classification"`` or ``"regression"``.
    """

    name: str
    X: Any
    y: Any
    feature_names: tuple[str, ...]
    target_names: tuple[str, ...]
    description: str
    source: str
    licence: str
    citation: str
    task: str

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self.X.shape

    def __repr__(self) -> str:
        rows, features = self.shape
        what = "classes" if self.task == "classification" else "targets"
        return (
            f"Dataset({self.name!r}: {rows} rows, {features} features, "
            f"{len(self.target_names)} {what})"
        )

    def one_hot(self, drop_first: bool = False) -> Dataset:
        """Return the data set with 0/1 columns for its nominal features.

        Parameters
        ----------
        drop_first : bool, default=False
            Leave out the first value (alphabetically) of every feature, as Birbil et al. do; a
            tree can then test that value only as "none of the others".

        Returns
        -------
        Dataset
            ``X`` is float64; its columns are named ``feature=value``. Itself if no feature is
            nominal.
        """
        columns, names = [], []
        for j, name in enumerate(self.feature_names):
            column = self.X.iloc[:, j].to_numpy() if hasattr(self.X, "iloc") else self.X[:, j]
            if column.dtype.kind == "f":
                columns.append(column)
                names.append(name)
                continue
            for value in sorted(set(column))[drop_first:]:
                columns.append((column == value).astype(np.float64))
                names.append(f"{name}={value}")
        if tuple(names) == self.feature_names:
            return self
        return replace(self, X=np.column_stack(columns), feature_names=tuple(names))


def digest(X: np.ndarray, y: np.ndarray) -> str:
    """Compute the SHA-256 of the canonical form of a table.

    The canonical form does not depend on platform, file format or compression. It is the line
    ``odtlib-table 1 <rows> <features> <targets>`` and then, column by column (features first):
    for numbers the byte ``f`` and the values as little-endian IEEE 754 doubles, with -0.0 written
    as 0.0 and every missing value as the same quiet NaN; for text the byte ``s`` and each cell as
    its UTF-8 length in decimal, a colon and its bytes. Names are not part of it.
    """
    targets = y[:, None] if y.ndim == 1 else y
    state = hashlib.sha256(f"odtlib-table 1 {len(X)} {X.shape[1]} {targets.shape[1]}\n".encode())
    for columns in (X, targets):
        for j in range(columns.shape[1]):
            column = columns[:, j]
            if column.dtype.kind in "OU":
                state.update(b"s")
                for cell in column:
                    data = str(cell).encode()
                    state.update(b"%d:" % len(data) + data)
            else:
                values = column.astype("<f8") + 0.0  # -0.0 + 0.0 is 0.0
                values[np.isnan(values)] = np.nan
                state.update(b"f" + values.tobytes())
    return state.hexdigest()


def class_counts(y: np.ndarray) -> dict[str, int]:
    """Count the rows of every class label, labels in increasing order."""
    return {str(label): count for label, count in sorted(Counter(y.tolist()).items())}


def at_most(file, limit: int, what: str) -> bytes:
    """Read a file that is unpacked as it is read; refuse more than ``limit`` bytes."""
    data = file.read(limit + 1)
    if len(data) > limit:
        raise DataError(f"{what} unpacks to more than {limit >> 20} MB")
    return data


def _text(path) -> str:
    """Return the text of a gzipped file."""
    with gzip.open(path) as file:
        return at_most(file, LARGEST, "it").decode()


def _loaded(path):
    """Open an archive of arrays that says how large they are, and that this is not too much."""
    with zipfile.ZipFile(path) as archive:
        if sum(info.file_size for info in archive.infolist()) > LARGEST:
            raise DataError(f"it unpacks to more than {LARGEST >> 20} MB")
    if hasattr(path, "seek"):
        path.seek(0)
    return np.load(path, allow_pickle=False)


def read_rows(path) -> list[list[str]]:
    """Read all rows of a gzipped CSV file as text."""
    return list(csv.reader(io.StringIO(_text(path), newline="")))


def from_rows(path, read) -> Table:
    """Read a gzipped CSV file whose rows, header first, ``read`` makes a table of."""
    return read(read_rows(path))


def numeric_csv(path) -> Table:
    """Read a gzipped CSV file of numbers whose last column ``target`` is the class label."""
    header, *lines = _text(path).splitlines() or [""]
    if not lines:
        raise DataError("it has no rows")
    names = next(csv.reader([header]))
    values = np.loadtxt(lines, delimiter=",", ndmin=2)
    return Table(np.ascontiguousarray(values[:, :-1]), labels(values[:, -1]), tuple(names[:-1]))


def labels(values: np.ndarray) -> np.ndarray:
    """Turn whole-numbered float class labels into int64."""
    codes = values.astype(np.int64)
    if not np.array_equal(codes, values):
        raise DataError("a class label is not a whole number")
    return codes


def packed_bits(path, member: str, label: str = "y") -> Table:
    """Read one 0/1 table of a ``murtree_binary`` archive (features packed eight to a byte)."""
    with _loaded(path) as archive:
        n_features = int(archive[f"{member}.nf"])
        bits = np.unpackbits(archive[f"{member}.X"], axis=1)[:, :n_features]
        return Table(bits.astype(np.float64), archive[f"{member}.{label}"].astype(np.int64))


def arrays(path) -> Table:
    """Read an archive that holds one table as ``X`` and ``y``."""
    with _loaded(path) as archive:
        return Table(archive["X"].astype(np.float64), archive["y"].astype(np.int64))


def numeric_targets(values: np.ndarray, names, n_features: int) -> Table:
    """Split a table of numbers into ``n_features`` features and, to their right, the targets."""
    return Table(
        np.ascontiguousarray(values[:, :n_features]),
        np.ascontiguousarray(values[:, n_features:]),
        tuple(names[:n_features]),
        tuple(names[n_features:]),
    )


def member_targets(path, member: str, n_features: int) -> Table:
    """Read one member of an archive of tables of numbers with several targets."""
    with _loaded(path) as archive:
        values = archive[member]
    names = [f"X{j}" for j in range(1, n_features + 1)]
    names += [f"y{j}" for j in range(1, values.shape[1] - n_features + 1)]
    return numeric_targets(values, names, n_features)


def number_rows(rows: list[list[str]], n_features: int) -> Table:
    """Return the features and targets of a file of numbers."""
    header, *body = rows
    return numeric_targets(np.array(body, dtype=np.float64), header, n_features)


def exam_rows(rows: list[list[str]]) -> Table:
    """The five nominal features and three scores of an exam file."""
    header, *body = rows
    return Table(
        np.array([row[:5] for row in body]),
        np.array([row[5:8] for row in body], dtype=np.float64),
        tuple(header[:5]),
        tuple(header[5:8]),
    )


CAR_FEATURES = (
    "KIDSDRIV AGE HOMEKIDS YOJ INCOME HOME_VAL TRAVTIME BLUEBOOK TIF OLDCLAIM CLM_FREQ MVR_PTS "
    "CAR_AGE"
).split()


def insurance_rows(rows, targets=("TARGET_FLAG", "TARGET_AMT"), first=None) -> Table:
    """The 13 numeric features and two targets of a car insurance file, complete rows only.

    A row with an empty cell in any column is dropped, as the paper's code does, before the
    ``first`` rows are kept. Amounts lose their dollar sign and thousands commas.
    """
    header, *body = rows
    complete = [row for row in body if all(cell not in ("", "NA") for cell in row)][:first]
    position = [header.index(name) for name in (*CAR_FEATURES, *targets)]
    values = [[float(row[j].lstrip("$").replace(",", "")) for j in position] for row in complete]
    return numeric_targets(np.array(values), [*CAR_FEATURES, *targets], len(CAR_FEATURES))
