"""How the columns of a table become the features of a tree, and what a tree asks of the table."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np

from odtlib._validation import check_columns, pandas_frame, warn

CELLS_AT_A_TIME = 2 ** 15       # that are compared together, in the processor's cache
CATEGORY = (bool, int, float, str)      # of these types a category can be written down
INFINITE = {"inf": np.inf, "-inf": -np.inf, None: np.nan}
SCHEMA = {"names": ([str], None), "given": int, "categories": [(None, [CATEGORY])],
          "feature": [int], "lower": [(float, None, "inf", "-inf")],
          "upper": [(float, None, "inf", "-inf")], "missing": [int],
          "spelt": ([({str: (str, None)}, None)], None)}


class Question(NamedTuple):
    """What a feature node asks of a table: a number up to ``high``, or one of ``members``."""

    column: int             # of the table
    high: float             # yes up to it; minus infinity where only a missing value is a yes
    members: tuple | None   # categories that are a yes, however spelt; None in a column of numbers
    gap: bool | None        # the answer where the value is missing; None where it is refused
    yes: int                # the node that follows a yes
    no: int


@dataclass(frozen=True, eq=False)
class Columns:
    """What each feature of a tree is in the columns of the table that was given.

    Feature ``k`` is the number in column ``feature[k]`` where ``lower[k]`` is NaN; else it is 1
    where ``lower[k] < x <= upper[k]`` and 0 elsewhere.  ``x`` is the number in the column, or the
    position of its category; of one that is unknown, no position.
    """

    names: tuple[str, ...] | None       # of the columns; None for a table without names
    n_given: int                        # number of columns
    categories: dict[int, np.ndarray]   # by column; those of numbers are not in it
    feature: np.ndarray                 # the column behind each feature
    lower: np.ndarray
    upper: np.ndarray
    missing: np.ndarray                 # each feature where the value is missing: 1, 0; -1: NaN
    unknown: str = field(default="warn")    # what becomes of an unknown category: "error" raises
    # by column: other spellings, with the category that each stands for, None for no value
    spelt: dict[int, dict[str, str | None]] = field(default_factory=dict)

    def __eq__(self, other):
        return isinstance(other, Columns) and all(
            np.array_equal(mine, other_one, equal_nan=True) if isinstance(mine, np.ndarray)
            else mine == other_one for mine, other_one in zip(self._parts(), other._parts()))

    def _parts(self):
        return (self.names, self.n_given, {j: list(one) for j, one in self.categories.items()},
                self.feature, self.lower, self.upper, self.missing, self.spelt)

    def name(self, column: int) -> str:
        """Return a column as a message names it."""
        return f"{column}" if self.names is None else f"{self.names[column]!r}"

    def chosen(self, X: Any) -> Any:
        """Return a table, rows of text or dicts as a data frame of the columns, by their names.

        None stands for an array of numbers, and a frame that does not have the names.
        """
        if self.names is None:
            return None
        X = pandas_frame(X)
        if not hasattr(X, "iloc"):
            by_name = isinstance(X, list | tuple) and len(X) and isinstance(X[0], dict)
            if not by_name and np.asarray(X).dtype.kind in "biuf":
                return None
            import pandas as pd
            X = pd.DataFrame(X, columns=None if by_name else list(self.names)).infer_objects()
            if not by_name:
                return X
        check_columns(X)
        lost = [name for name in self.names if name not in X.columns]
        if len(lost) == len(self.names):
            return None
        if lost:
            raise ValueError(f"the table has no column {lost[0]!r}; give the columns of the fit.")
        return X[list(self.names)]

    def numbers(self, frame: Any, remedy: str = " as it did in fit") -> np.ndarray:
        """Return a frame of the columns as numbers: NaN where missing, categories as positions."""
        table = np.empty(frame.shape, np.float64)
        for j in range(frame.shape[1]):
            column = frame.iloc[:, j]
            table[:, j] = self._positions(j, column) if j in self.categories else \
                numbers_of(column, self.name(j), remedy)
        self.refuse_infinity(table)
        return table

    def refuse_infinity(self, table: np.ndarray) -> None:
        """Raise ValueError where a number is infinite."""
        if np.isinf(table).any():
            row, j = np.argwhere(np.isinf(table))[0]
            raise ValueError(f"Feature {self.name(j)} has infinity (inf) in row {row}; give a "
                             "finite number, or NaN where it is missing.")

    def _positions(self, j, column):
        """Return the position of each category, NaN where it is missing, -1 where unknown."""
        import pandas as pd
        spelt = self.spelt.get(j)
        try:
            column = column.astype(object)
            column = column.map(lambda cell: spelt.get(cell, cell)) if spelt else column
            positions = pd.Index(self.categories[j], dtype=object).get_indexer(
                pd.Index(column, dtype=object))
        except TypeError:               # unhashable
            raise ValueError(f"Feature {self.name(j)} holds entries that are no categories; pass "
                             "the same columns as in fit.") from None
        missing = column.isna().to_numpy()
        strange = (positions < 0) & ~missing
        if self.unknown != "ignore" and strange.any():
            row = int(np.argmax(strange))
            fault = (f"Feature {self.name(j)} has the category {column.iloc[row]!r} in row {row}, "
                     "which fit did not see; ")
            if self.unknown == "error":
                raise ValueError(fault + "pass handle_unknown='ignore' to give such rows zeros.")
            warn(fault + "such rows count as none of its categories.")
        return np.where(missing, np.nan, positions)

    def encode(self, table: np.ndarray) -> np.ndarray:
        """Return the features of a table of numbers: uint8, or float64 where one is no 0 or 1."""
        n_rows, n_columns = len(table), len(self.feature)
        try:
            out = np.empty((n_rows, n_columns), bool)
        except MemoryError:
            raise MemoryError(f"{n_columns} columns of {n_rows} rows do not fit into memory; give "
                              "a binarizer with fewer cuts, or fewer features.") from None
        has_lower, one = (self.lower > -np.inf).any(), self.missing == 1
        step = max(1, CELLS_AT_A_TIME // max(1, n_columns))
        for start in range(0, n_rows, step):
            values = table[start:start + step].take(self.feature, axis=1)
            cells = out[start:start + step]
            np.less_equal(values, self.upper, out=cells)
            if has_lower:
                cells &= self.lower < values
            if one.any():
                cells |= one & np.isnan(values)
        out, plain = out.view(np.uint8), np.isnan(self.lower)
        unseen = (self.missing < 0) & np.isnan(table).any(axis=0)[self.feature]
        if plain.any() or unseen.any():
            out = out.astype(np.float64)
            out[:, plain] = table[:, self.feature[plain]]
            out[unseen & np.isnan(table[:, self.feature])] = np.nan
        return out

    def question(self, k: int, threshold: float, gap_left: bool | None, left: int,
                 right: int) -> Question:
        """Return what a node asks that sends feature ``k`` left up to a threshold."""
        column, low, high = int(self.feature[k]), float(self.lower[k]), float(self.upper[k])
        if np.isnan(low) or threshold == np.inf and self.missing[k] < 0:
            asked = asks(column, threshold, gap_left, left, right)
            return asked._replace(members=self._spellings(column, [None]) or None) \
                if threshold == np.inf else asked
        if not 0 <= threshold < 1:
            raise ValueError(f"the tree tests a column of zeros and ones at {threshold:g}; it "
                             "has to be at least 0 and below 1.")
        gap = bool(self.missing[k]) if self.missing[k] >= 0 else None if gap_left is None \
            else not gap_left
        if low == np.inf:
            return Question(column, -np.inf, self._spellings(column, [None]) or None, True, right,
                            left)
        if column in self.categories:
            members = [one for at, one in enumerate(self.categories[column]) if low < at <= high]
            others = self._spellings(column, [*members, None] if gap else members)
            return Question(column, -np.inf, (*members, *others), gap, right, left)
        if low == -np.inf:
            return Question(column, high, None, gap, right, left)
        return Question(column, low, None, None if gap is None else not gap, left, right)

    def _spellings(self, column, meant):
        """Return the other spellings of some categories."""
        return tuple(text for text, one in self.spelt.get(column, {}).items() if one in meant)

    def to_plain(self) -> dict[str, Any]:
        """Return what JSON can hold; ValueError for categories that are no text or number."""
        def ends(values):
            return [None if v != v else v if np.isfinite(v) else str(v) for v in values.tolist()]

        categories: list[list | None] = [None] * self.n_given
        for j, known in self.categories.items():
            categories[j] = list(known)
            for one in known:
                if type(one) not in CATEGORY or one != one or one in (np.inf, -np.inf):
                    raise ValueError(
                        f"categories of type {type(one).__name__} in column {self.name(j)} cannot "
                        "be written as JSON or as a program; pickle the model, or turn them into "
                        "text before the fit.")
        return {"names": None if self.names is None else list(self.names), "given": self.n_given,
                "categories": categories, "feature": self.feature.tolist(),
                "lower": ends(self.lower), "upper": ends(self.upper),
                "missing": self.missing.tolist(),
                **({"spelt": [self.spelt.get(j) for j in range(self.n_given)]} if self.spelt
                   else {})}

    @classmethod
    def from_plain(cls, data: dict[str, Any]) -> Self:
        """Return the columns that ``to_plain`` wrote; ValueError if they contradict each other."""
        def ends(values):
            return np.array([INFINITE.get(v, v) if v is None or isinstance(v, str) else v
                             for v in values], np.float64)

        lower, upper = ends(data["lower"]), ends(data["upper"])
        feature, missing = (np.array(data[name], np.int64) for name in ("feature", "missing"))
        given, names, known = data["given"], data["names"], data["categories"]
        spelt = data.get("spelt") or [None] * given
        if not (len(feature) == len(lower) == len(upper) == len(missing)
                and given == len(known) == len(spelt) and (names is None or len(names) == given)):
            raise ValueError("columns: the lists differ in length")
        if len(feature) and not (feature.min() >= 0 and feature.max() < given
                                 and set(missing.tolist()) <= {-1, 0, 1}):
            raise ValueError("columns: feature or missing is out of range")
        for j, one in enumerate(known):
            if one is not None and len(set(one)) < len(one):
                raise ValueError(f"columns: categories[{j}] names one twice")
        of_words = np.array([known[j] is not None for j in feature], bool)
        plain = np.isnan(lower) & np.isnan(upper) & ~of_words
        one_end = (lower == -np.inf) & np.isfinite(upper) | (upper == np.inf) & np.isfinite(lower)
        gaps = (lower == np.inf) & (upper == np.inf) & (missing == 1)
        if not (plain | gaps | np.where(of_words, lower < upper, one_end)).all():
            raise ValueError("columns: lower and upper make no interval")
        return cls(None if names is None else tuple(names), given,
                   {j: np.array([*one, None], object)[:-1] for j, one in enumerate(known)
                    if one is not None},
                   feature, lower, upper, missing.astype(np.int8),
                   spelt={j: one for j, one in enumerate(spelt) if one})


def asks(column: int, threshold: float, gap_left: bool | None, left: int, right: int) -> Question:
    """Return what a node asks that tests a column of numbers."""
    if np.isinf(threshold):
        return Question(column, -np.inf, None, True, right, left)
    return Question(column, float(threshold), None, gap_left, left, right)


def plain_columns(names: tuple[str, ...]) -> Columns:
    """Return the columns of a tree whose features are numbers of a table with these names."""
    n, ends = len(names), np.full(len(names), np.nan)
    return Columns(names, n, {}, np.arange(n), ends, ends, np.full(n, -1, np.int8))


def numbers_of(column: Any, name: str, remedy: str) -> np.ndarray:
    """Return a frame's column as float64, NaN where it is missing; ValueError for other cells."""
    try:
        if column.dtype.kind in "cmM":  # complex numbers, dates and times
            raise TypeError
        return column.to_numpy(np.float64, na_value=np.nan)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"Feature {name} of type {column.dtype} does not hold numbers{remedy}."
                         ) from None


def categories_of(column: Any, name: str) -> np.ndarray | None:
    """Return the sorted categories of a frame's column of text or categories; None of numbers."""
    if not holds_words(column):
        return None
    try:
        present = column.dropna().astype(object).unique()
        known = [one.item() if isinstance(one, np.number | np.bool_ | np.str_) else one
                 for one in sorted(present, key=lambda v: (type(v).__name__, v))]
        return np.array([*known, None], object)[:-1]        # of tuples no table
    except TypeError:               # unhashable, or without an order
        raise ValueError(f"Feature {name} holds entries that are no categories; turn "
                         "them into text or numbers first.") from None


def holds_words(column: Any) -> bool:
    """Return whether a frame's column holds text or categories rather than numbers."""
    pandas = sys.modules["pandas"]
    return isinstance(column.dtype, pandas.CategoricalDtype) or pandas.api.types.infer_dtype(
        column) in ("string", "mixed", "mixed-integer")
