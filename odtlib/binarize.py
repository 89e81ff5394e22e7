"""Turn a table into 0/1 columns: entropy cuts (MDLP), quantiles, both, or all thresholds.

Every column knows where it comes from.  One of a numeric feature is 1 where ``x <= t``, so a tree
over the columns can be written again as a tree over the features (:meth:`to_original`).

A feature with missing values (NaN) in ``fit`` gets each of its columns twice, once with 0 and once
with 1 where the value is missing, and a column that says whether it is missing: a tree over the
columns sends missing values to the better side of each test.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import compress
from numbers import Integral
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import TransformerMixin
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_array,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from odtlib._validation import (
    EXACT,
    WithParameters,
    check_columns,
    check_length,
    check_values,
    coded,
    fault_of_rows,
    pandas_frame,
    ready_rows,
    refuse_array,
    set_features,
    with_plain_parameters,
)
from odtlib.columns import Columns, categories_of
from odtlib.report import MOMENT_CELLS, Clock
from odtlib.text import threshold_text
from odtlib.tree import DecisionTree, midpoint

__all__ = ["AutoBinarizer", "MDLPBinarizer", "QuantileBinarizer", "ThresholdBinarizer"]

# Cuts whose class information entropies differ by less than this are a tie (bits per row); the
# rounding error of the sums below is about 1e-15 bits per row.
ENTROPY_TIE = 1e-12

# Fewest and most even cuts of a feature where the number of columns is limited.
EVEN_CUTS = (3, 31)

# Cells of the columns of a fit that are made before their pace is asked.
CELLS_AT_A_TIME = 2 ** 22

# Of the time that is left so much goes into the columns of a fit: what comes after copies them.
SHARE_OF_TIME = 0.25

# Columns of a fit that has no time for all: the arrays of a search grow with their square.
MOST_OF_SOME = 2000


@dataclass(eq=False, repr=False)
class _Binarizer(TransformerMixin, WithParameters):
    """Read a table, ask the subclass for the cuts of every numeric feature, make the columns."""

    _parameter_constraints = {
        "handle_unknown": [StrOptions({"error", "warn", "ignore"})],
        "ordered_categories": ["boolean"],
    }

    _needs_classes = False      # True: the cuts depend on the classes
    _keeps_numbers = False      # True: numbers become no columns of zeros and ones
    _keeps_gaps = False         # True: transform returns NaN for what handle_unknown would refuse

    _: KW_ONLY
    handle_unknown: str = "error"
    ordered_categories: bool = False

    def _cuts(self, counts, first, clock):
        """Return whether there is a cut before each value of some numeric features, (n_values,).

        The distinct values of the features, ascending, stand one feature after the other; ``first``
        (n_features,) says where each begins, and no cut lies there.  ``counts`` (n_classes,
        n_values) says how many rows of each class have each value (one class when the classes are
        not needed).  When ``clock`` has expired, cuts may be missing.
        """
        raise NotImplementedError

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Find the thresholds and categories of every feature.

        Parameters
        ----------
        X : array-like or pandas DataFrame of shape (n_samples, n_features)
            Numbers; in a data frame also booleans, and text or categories (one-hot columns).
            NaN is a missing value; infinity is refused.
        y : array-like of shape (n_samples,), default=None
            Class labels. Needed by the supervised rules and with ``ordered_categories``, ignored
            by the others.  ``ordered_categories`` takes numbers that are not whole as targets, and
            all others as labels; an estimator says which it has.

        Returns
        -------
        self
        """
        return self._fit_until(Clock(), X, y)

    @with_plain_parameters
    def _fit_until(self, clock, X, y=None, *, sample_weight=None, regression=None):
        """Fit, but leave features of a large table uncut that remain when the clock has expired.

        With ``ordered_categories`` ``y`` may hold several targets, shape (n_samples, n_outputs);
        ``sample_weight`` weighs the means that order the categories and moves no threshold, and
        ``regression`` says whether ``y`` holds targets or labels (None: are its numbers whole?).
        """
        table = self._read(X, reset=True)
        if self._needs_classes:
            codes, n_classes = self._class_codes(y, len(table))
        else:
            codes, n_classes = np.zeros(len(table), np.int64), 1

        if self.ordered_categories and self.categories_:
            worth = self._worth(y, len(table), regression)
            weight = np.ones(len(table)) if sample_weight is None else np.asarray(sample_weight)
            for j in self.categories_:
                table[:, j] = self._put_in_order(j, table[:, j], worth, weight)

        ends, gaps = {}, []           # of the columns of each feature; whether it misses values
        self._neighbours = {}         # of each feature thresholds, and the values beside them
        self.has_all_cuts_ = True
        step = max(1, MOMENT_CELLS // (len(table) * (n_classes + 1)))       # features at a time
        for begin in range(0, table.shape[1], step):
            if clock.expired and table.size > MOMENT_CELLS:
                break
            rows = np.ascontiguousarray(table[:, begin:begin + step].T)
            missing = np.isnan(rows)
            gaps += missing.any(axis=1).tolist()
            some = (begin + np.flatnonzero(~missing.all(axis=1))).tolist()
            ends.update({j: _category_intervals(len(self.categories_[j]), self.ordered_categories)
                         for j in some if j in self.categories_})
            numbers = [j for j in some if j not in self.categories_]
            if numbers:
                rows = rows[np.subtract(numbers, begin)]
                ends.update(self._numeric_intervals(numbers, rows, codes, n_classes, clock))
        self.complete_ = not clock.expired
        if self._keeps_numbers:
            ends.update({j: (np.array([-0.5]), np.array([0.5])) for j, (lower, _) in ends.items()
                         if gaps[j] and not len(lower)})        # one category, or none
        features, gaps = np.array(sorted(ends), np.int64), np.array(gaps, bool)
        lower, upper = (np.concatenate([np.zeros(0), *(ends[j][side] for j in features.tolist())])
                        for side in range(2))
        column = np.repeat(features, [len(ends[j][0]) for j in features.tolist()])
        value = np.full(len(column), -1, np.int8)       # if that of the feature is missing
        if gaps.any() and not self._keeps_numbers:
            # each twice, and one that says whether the value is missing
            twice = np.repeat(np.arange(len(column)), 1 + gaps[column])
            some = features[gaps[features]]
            value = np.append(np.where(gaps[column[twice]], np.diff(twice, prepend=-1) == 0, -1),
                              np.ones(len(some))).astype(np.int8)
            column = np.append(column[twice], some)
            order = np.argsort(column, kind="stable")
            lower, upper = (np.append(end[twice], np.full(len(some), np.inf))[order]
                            for end in (lower, upper))
            column, value = column[order], value[order]
        self.feature_, self.lower_, self.upper_, self.missing_ = column, lower, upper, value

        bound = np.where(self.lower_ == -np.inf, self.upper_, self.lower_)
        self.threshold_ = np.where(np.isin(self.feature_, list(self.categories_)), np.nan, bound)
        return self

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Return the 0/1 columns of ``X``.

        Parameters
        ----------
        X : array-like or pandas DataFrame of shape (n_samples, n_features)
            The same features as in ``fit``.

        Returns
        -------
        ndarray of uint8 of shape (n_samples, n_columns)
            Zero columns when every feature was constant, or had no cut, in ``fit``.
        """
        columns = self._encode(X)
        unseen = np.isnan(columns) if columns.dtype.kind == "f" and not self._keeps_gaps \
            else np.zeros((1, 1), bool)
        if not unseen.any():
            return columns
        if self.handle_unknown == "error":
            row, column = np.argwhere(unseen)[0]
            raise ValueError(
                f"Feature {self._name(self.feature_[column])} has NaN in row {row} and had none in "
                "fit; fill it in, or pass handle_unknown='ignore' to give such rows zeros.")
        return np.where(unseen, 0, columns).astype(np.uint8)

    @property
    def columns_(self) -> Columns:
        """What the columns are, as a tree takes it along."""
        check_is_fitted(self)
        return self._columns(self.feature_, self.lower_, self.upper_, self.missing_)

    def _columns(self, *arrays):
        names = getattr(self, "feature_names_in_", None)
        return Columns(None if names is None else tuple(names.tolist()), self.n_features_in_,
                       self.categories_, *arrays, self.handle_unknown, getattr(self, "spelt_", {}))

    def _encode(self, X):
        """Return the columns, NaN where a row misses what no row missed in fit."""
        return self.columns_.encode(self._read(X, reset=False))

    def _encode_until(self, clock, X):
        """Return the columns of the rows of a fit; where time is short, evenly fewer of them."""
        n_columns = len(self.feature_)
        if clock.time_limit is not None and len(X) * n_columns > CELLS_AT_A_TIME:
            first = max(1, CELLS_AT_A_TIME // n_columns)         # rows to measure the pace by
            begin = clock.elapsed
            self._encode(_safe_indexing(X, slice(first)))
            seconds = (clock.elapsed - begin) / first * len(X)
            share = max(CELLS_AT_A_TIME / (len(X) * n_columns),
                        SHARE_OF_TIME * clock.remaining / seconds)
            if share < 1:
                self._keep_evenly(max(1, min(int(share * n_columns), MOST_OF_SOME)))
        return self._encode(X)

    def _keep_evenly(self, number):
        """Keep so many of the columns, evenly spread over all."""
        kept = np.linspace(0, len(self.feature_) - 1, number).astype(np.int64)
        for name in ("feature_", "lower_", "upper_", "missing_", "threshold_"):
            setattr(self, name, getattr(self, name)[kept])
        self.complete_ = False

    @property
    def column_names_(self) -> np.ndarray:
        """Readable names of the columns; they are made when they are asked for."""
        return self.get_feature_names_out()

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> np.ndarray:
        """Return a readable name for every column, such as ``petal length <= 2.45``.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Feature names to use; by default those seen in ``fit``, else ``x0``, ``x1``, ...

        Returns
        -------
        ndarray of str objects of shape (n_columns,)
            Thresholds are written with as many digits as it takes to separate the training
            values beside them, at least four; so no two columns share a name.
        """
        check_is_fitted(self)
        return self._column_names(_check_feature_names_in(self, input_features))

    def _column_names(self, names):
        written, column_names = {}, []
        for j, lower, upper, missing in zip(
                self.feature_.tolist(), self.lower_.tolist(), self.upper_.tolist(),
                self.missing_.tolist(), strict=True):
            if lower == np.inf:
                column_names.append(f"{names[j]} is missing")
                continue
            if j in self.categories_:
                inside = self.categories_[j][int(lower + 0.5):int(upper + 0.5)]
                text = (f"{names[j]} = {inside[0]}" if len(inside) == 1 else
                        f"{names[j]} in ({', '.join(map(str, inside))})")
            elif j not in self._neighbours:           # a 0/1 feature as it is
                text = str(names[j])
            else:
                if j not in written:
                    written[j] = {t: threshold_text(t, low, high) for t, low, high in
                                  np.column_stack(self._neighbours[j]).tolist()}
                text = f"{names[j]} <= {written[j][upper]}"
            column_names.append(text + (" or missing" if missing == 1 else ""))
        return np.array(column_names, dtype=object)

    def to_original(self, tree: DecisionTree,
                    feature_names: Sequence[str] | None = None) -> DecisionTree:
        """Write a tree over the columns as a tree over the original features.

        A column that is 1 when ``x <= t`` sends the rows with ``x > t`` to the left (its value 0
        is ``<= 0.5``), so the two children change sides; a 0/1 feature keeps them.

        Parameters
        ----------
        tree : DecisionTree
            A tree over the columns of ``transform``; every threshold in [0, 1).
        feature_names : sequence of str, default=None
            Names of the original features; by default those seen in ``fit``, if any.

        Returns
        -------
        DecisionTree
            The same predictions from the original features.  Where categories are among the
            columns, the tree stays over the columns and receives their readable names.
        """
        check_is_fitted(self)
        if tree.n_features > len(self.feature_):
            raise ValueError(
                f"The tree expects {tree.n_features} columns, this binariser makes "
                f"{len(self.feature_)}; pass a tree that was fitted on its output."
            )
        inner = tree.feature >= 0
        if not np.all((tree.threshold[inner] >= 0) & (tree.threshold[inner] < 1)):
            raise ValueError("The tree has a threshold outside [0, 1), but the columns hold only "
                             "0 and 1; pass a tree that was fitted on them (it splits at 0.5).")
        if np.isnan(self.threshold_).any():
            names = _check_feature_names_in(self) if feature_names is None else feature_names
            return tree.replace(feature_names=self._column_names(names),
                                n_features=len(self.feature_))
        if feature_names is None:
            feature_names = getattr(self, "feature_names_in_", None)
        # A column that is 1 for x <= t has no lower bound; its zeros, on the left, are x > t.
        swap = self.lower_ == -np.inf
        missing_left = np.where(self.missing_ < 0, -1, self.missing_ == swap)
        return tree.remap(self.feature_, self.threshold_, swap, self.n_features_in_, feature_names,
                          missing_left if (self.missing_ >= 0).any() else None)

    def to_columns(self, tree: DecisionTree) -> DecisionTree:
        """Rewrite a tree over the original features as a tree over the columns.

        It is the inverse of :meth:`to_original`.  A threshold that is not among the columns is
        replaced by the nearest one of its feature; of columns that differ in missing values that
        one is taken which sends them as the tree does.  Lines in the leaves are left out.

        Parameters
        ----------
        tree : DecisionTree
            A tree over the features of ``fit``, or over columns that another binariser made of
            them.

        Returns
        -------
        DecisionTree

        Raises
        ------
        ValueError
            If the tree splits a feature for which there is no threshold, or asks for categories
            for which there is no column.
        """
        check_is_fitted(self)
        column, sides = np.full((2, tree.n_nodes), -1)
        left, right, threshold = tree.left.copy(), tree.right.copy(), np.full(tree.n_nodes, 0.5)
        for node, asked in tree.questions().items():
            known = self.categories_.get(asked.column, ())
            fits = asked.high == -np.inf if len(known) else asked.members is None
            usable = np.flatnonzero((self.feature_ == asked.column) & fits)
            lower, upper = self.lower_[usable], self.upper_[usable]
            yes = np.isinf(lower) | (asked.high == -np.inf)     # where the column is 1
            distance = np.abs(np.where(np.isinf(lower), upper, lower) - asked.high)
            if asked.members is not None:
                at, among = np.arange(len(known)), [one in asked.members for one in known]
                alike = ((lower[:, None] < at) & (at <= upper[:, None])) == among
                yes = alike.all(axis=1)
                distance = np.where(yes | ~alike.any(axis=1), 0.0, np.inf)
            elif asked.high == -np.inf:
                distance = np.where(lower < np.inf, 1.0, 0.0)
            if asked.gap is not None:
                like = self.missing_[usable] == (yes == asked.gap)
                distance = np.where(like | ~like.any(), distance, np.inf)
            if not len(usable) or distance.min() == np.inf:
                name = tree.feature_name(tree.feature[node])
                raise ValueError(f"the tree splits {name}, for which the binariser made no "
                                 "threshold; give a tree that was grown over the columns.")
            best = np.argmin(distance)
            column[node] = usable[best]
            if np.isnan(lower[best]):       # the numbers themselves
                threshold[node] = asked.high if asked.high > -np.inf else np.inf
            left[node], right[node] = (asked.no, asked.yes) if yes[best] else (asked.yes, asked.no)
            sides[node] = -1 if asked.gap is None else asked.gap != yes[best]
        return tree.replace(
            feature=column, threshold=threshold, left=left, right=right, columns=None,
            n_features=len(self.feature_), feature_names=None, slopes=None,
            missing_left=None if tree.missing_left is None or not self._keeps_gaps else sides)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._needs_classes
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _numeric_intervals(self, features, rows, codes, n_classes, clock):
        """Return lower and upper ends of the columns of some numeric features, by feature.

        ``rows`` (n_features, n_rows) holds their values, of each at least one that is not missing.
        """
        zero, one = rows == 0, rows == 1
        # 0/1 features are kept as they are: 1 when x > 0.5
        kept = (zero | one | np.isnan(rows)).all(axis=1) & zero.any(axis=1) & one.any(axis=1)
        ends = dict.fromkeys(compress(features, kept), (np.array([0.5]), np.array([np.inf])))
        if kept.all():
            return ends
        features, rows = [*compress(features, ~kept)], rows[~kept]
        order = np.argsort(rows, axis=1)
        codes = codes.take(order)
        order += np.arange(0, rows.size, rows.shape[1])[:, None]
        rows = rows.take(order)
        new = np.ones(rows.shape, bool)
        new[:, 1:] = rows[:, 1:] != rows[:, :-1]
        values, place = rows[new], np.cumsum(new).reshape(rows.shape) - 1
        last = place[:, -1]                     # of the values of each feature
        counts = np.bincount((codes * len(values) + place).ravel(),
                             minlength=n_classes * len(values)).reshape(n_classes, len(values))
        known = ~np.isnan(values)               # missing values are last, each another
        if not known.all():
            values, counts, last = values[known], counts[:, known], (np.cumsum(known) - 1)[last]
        first = np.append(0, last[:-1] + 1)
        cut = self._cuts(counts, first, clock)
        cuts = np.flatnonzero(cut)
        self.has_all_cuts_ &= len(cuts) + len(first) == len(values)
        low, high = values[cuts - 1], values[cuts]
        thresholds = midpoint(low, high) + 0.0      # + 0.0: never -0.0
        lower = np.full(len(cuts), -np.inf)
        stop = np.searchsorted(cuts, last, side="right").tolist()
        for j, begin, end in zip(features, [0, *stop], stop):
            own = slice(begin, end)
            ends[j] = lower[own], thresholds[own]
            if begin < end:
                self._neighbours[j] = thresholds[own], low[own], high[own]
        return ends

    def _class_codes(self, y, n_rows):
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: it "
                "places its cuts where the class changes (QuantileBinarizer works without y)."
            )
        if not (isinstance(y, np.ndarray) and y.ndim == 1):
            y = column_or_1d(y, warn=True)
        classes, codes = coded(y, check_classification_targets)
        check_length("y", codes, n_rows)
        return codes, len(classes)

    def _read(self, X, reset):
        """Return the table as float64: categories as positions, missing values as NaN.

        With ``reset`` it sets ``categories_``, the categories of each feature that has some.
        """
        table = ready_rows(X, EXACT, missing=True) if type(X) is np.ndarray else None
        if table is not None:
            if reset:
                set_features(self, X)
                self.categories_ = {}
            if not (self.categories_ or hasattr(self, "feature_names_in_")) \
                    and self.n_features_in_ == X.shape[1]:
                return table
        X = pandas_frame(X)
        check_columns(X)
        pandas = sys.modules.get("pandas")  # a data frame cannot exist before pandas is imported
        if pandas is not None and isinstance(X, pandas.DataFrame):
            validate_data(self, X, reset=reset, skip_check_array=True)
            if reset:
                known = {j: categories_of(X.iloc[:, j], self._name(j)) for j in range(X.shape[1])}
                self.categories_ = {j: one for j, one in known.items() if one is not None}
            table = self._columns(*np.empty((4, 0))).numbers(
                X, "; turn it into numbers or categories first" if reset else
                " as it did in fit; pass the same columns")
            check_array(table, ensure_all_finite=False, estimator=self, input_name="X")
            return table
        if not reset and self.categories_:
            refuse_array(self)
        self.categories_ = {}
        check_values("X", X)
        try:
            table = validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite=False)
        except (TypeError, ValueError, OverflowError) as error:
            if "could not convert string" in str(error):
                fault = (f"{type(self).__name__} found text in an array ({error}); pass a "
                         "pandas DataFrame, whose text columns become categories.")
            else:
                fault = None if hasattr(X, "toarray") else fault_of_rows(X, missing=True)
            if fault is None:
                raise
            raise (TypeError if isinstance(error, TypeError) else ValueError)(fault) from None
        self._columns(*np.empty((4, 0))).refuse_infinity(table)
        return table

    def _worth(self, y, n_rows, regression):
        """Return the numbers by whose means categories are ordered, shape (n_rows, n_numbers)."""
        if y is None:
            raise ValueError("ordered_categories=True needs y, by whose mean the categories of a "
                             "feature are ordered; pass y or leave it at False.")
        y = np.asarray(y)
        check_length("y", y, n_rows)
        if regression is None:
            regression = type_of_target(y).startswith("continuous")
        if regression:
            return y.reshape(n_rows, -1).astype(np.float64)
        labels, codes = np.unique(column_or_1d(y), return_inverse=True)
        return (codes[:, None] == np.arange(len(labels) > 1, len(labels))).astype(np.float64)

    def _put_in_order(self, j, positions, worth, weight):
        """Order the categories of a feature by mean worth; return the positions of the rows.

        Several means, of targets or of shares of classes, are ordered along the axis on which they
        lie farthest apart.
        """
        present = ~np.isnan(positions)
        codes = positions[present].astype(np.int64)
        n_categories = len(self.categories_[j])
        size = np.bincount(codes, weight[present], n_categories)
        means = np.column_stack([np.bincount(codes, weight[present] * one, n_categories)
                                 for one in worth[present].T]) / size[:, None]
        if means.shape[1] > 1:
            middle = size @ means / size.sum()
            axis = np.linalg.svd(np.sqrt(size)[:, None] * (means - middle))[2][0]
            axis *= np.sign(axis[np.argmax(np.abs(axis) > 0.5 * np.abs(axis).max())])
            means = (means - middle) @ axis
        order = np.argsort(means.ravel(), kind="stable")
        self.categories_[j] = self.categories_[j][order]
        moved = positions.copy()
        moved[present] = np.argsort(order)[codes]
        return moved

    def _name(self, j):
        names = getattr(self, "feature_names_in_", None)
        return f"{j}" if names is None else f"{names[j]!r}"


class MDLPBinarizer(_Binarizer):
    """Cut every feature where the classes change, by entropy and a description-length test.

    The supervised rule of Fayyad and Irani (1993): among the boundary points of a feature
    (thresholds between two values that do not both hold one and the same class) take the one with
    the smallest class information entropy; keep it when its information gain exceeds
    ``log2(N - 1) / N + delta / N`` with ``delta = log2(3**k - 2) - (k E - k1 E1 - k2 E2)``, and
    go on in both halves.  ``N`` rows of ``k`` classes have entropy ``E``; 1 and 2 are the halves.
    Of cuts with equal entropy the lowest is taken.  A 0/1 feature is kept as it is.

    Parameters
    ----------
    handle_unknown : {"error", "warn", "ignore"}, default="error"
        What ``transform`` does with a category that ``fit`` did not see, or with a missing value
        where ``fit`` saw none: refuse it, or give it zeros in every column of its feature, with a
        warning for a category if it is "warn".
    ordered_categories : bool, default=False
        Whether the categories of a feature are ordered, and each set of the first few in that
        order becomes a column too; with False columns ask for one category against the rest.  The
        order is that of the weighted mean of the target, or of the share of the second of two
        classes.  For one split of all rows the best subset for squared error, and for the errors
        of two classes, is among them (Fisher, 1958); further down it need not be.  With three or
        more classes, or several targets, categories are ordered along the first principal axis of
        their means (Coppersmith, Hong and Hosking, 1999), which may miss the best subset.

    Attributes
    ----------
    feature_ : ndarray of int of shape (n_columns,)
        The original feature behind each column.
    lower_ : ndarray of float of shape (n_columns,)
        A column is 1 when ``lower < x <= upper``; infinite where the interval has no end.  For a
        categorical feature ``x`` is the position in ``categories_[feature]``.
    upper_ : ndarray of float of shape (n_columns,)
        See ``lower_``.
    threshold_ : ndarray of float of shape (n_columns,)
        The threshold of a column: 0.5 for a 0/1 feature, infinity for one that says whether the
        value is missing, NaN for those of a category.
    column_names_ : ndarray of str of shape (n_columns,)
        Readable names of the columns, those of ``get_feature_names_out()``.
    missing_ : ndarray of int of shape (n_columns,)
        What a column is where the value is missing; -1 for a feature that was never missing in
        ``fit``.
    categories_ : dict of int to ndarray
        The categories of each categorical feature, sorted, or in the order of
        ``ordered_categories``.  Two categories give one column.
    complete_ : bool
        Whether these are all columns; False where time ran out in the fit of an estimator.
    n_features_in_ : int
        Number of features seen by ``fit``.
    feature_names_in_ : ndarray of str
        Names of these features, where ``fit`` saw a data frame.

    References
    ----------
    Fayyad and Irani (1993), Multi-interval discretization of continuous-valued attributes for
    classification learning, IJCAI.

    Fisher (1958), On grouping for maximum homogeneity, JASA 53.  Coppersmith, Hong and Hosking
    (1999), Partitioning nominal attributes in decision trees, Data Mining and Knowledge
    Discovery 3.

    Examples
    --------
    >>> from odtlib.binarize import MDLPBinarizer
    >>> rows = [[1.0], [2.0], [3.0], [10.0], [11.0], [12.0]]
    >>> binarizer = MDLPBinarizer().fit(rows, [0, 0, 0, 1, 1, 1])
    >>> binarizer.get_feature_names_out()
    array(['x0 <= 6.5'], dtype=object)
    """

    _needs_classes = True

    def _cuts(self, counts, first, clock):
        # before[:, i] counts, by class, the rows with a value below value i.
        before = np.zeros((len(counts), counts.shape[1] + 1), np.int64)
        np.cumsum(counts, axis=1, out=before[:, 1:])
        stop = np.append(first[1:], counts.shape[1])
        amounts = np.arange(1.0, (before[:, stop] - before[:, first]).sum(axis=0).max() + 1)
        log_table = np.concatenate([[0.0], amounts * np.log2(amounts)])  # n log2 n

        def bits(rows):
            """Entropy times the number of rows, for class counts on the first axis."""
            return log_table.take(rows.sum(axis=0)) - log_table.take(rows).sum(axis=0)

        cuts, accepted = np.flatnonzero(_boundaries(counts, first)), np.zeros(counts.shape[1], bool)
        part = np.searchsorted(first, cuts, side="right") - 1
        start, stop = first[part], stop[part]
        while len(cuts) and not clock.expired:      # all parts of all features at once
            middle = before.take(cuts, axis=1)
            halves = np.stack([middle - before.take(start, axis=1),
                               before.take(stop, axis=1) - middle], axis=1)
            half_bits, n = bits(halves), halves.sum(axis=(0, 1))
            entropy = half_bits.sum(axis=0) / n
            begin = np.flatnonzero(np.diff(start, prepend=-1))      # of each part
            size = np.diff(begin, append=len(cuts))
            least = np.minimum.reduceat(entropy, begin)
            tied = np.flatnonzero(entropy <= np.repeat(least, size) + ENTROPY_TIE)
            best = tied[np.searchsorted(tied, begin)]
            halves, half_bits, n = halves[:, :, best], half_bits[:, best], n[best]
            whole = halves.sum(axis=1)
            k, k_half = np.count_nonzero(whole, axis=0), np.count_nonzero(halves, axis=0)
            mean, mean_half = bits(whole) / n, half_bits / halves.sum(axis=0)
            delta = np.log2(3.0**k - 2.0) - (k * mean - (k_half * mean_half).sum(axis=0))
            gains = mean - entropy[best] > (np.log2(n - 1.0) + delta) / n
            accepted[cuts[best[gains]]] = True
            cut = np.repeat(np.where(gains, cuts[best], 0), size)
            inside = (cut > 0) & (cuts != cut)
            cuts, cut, start, stop = cuts[inside], cut[inside], start[inside], stop[inside]
            below = cuts < cut
            start, stop = np.where(below, start, cut), np.where(below, cut, stop)
        return accepted


@dataclass(eq=False, repr=False)
class AutoBinarizer(_Binarizer):
    """Cut every feature where MDLP does, and evenly besides: the default of MurTreeClassifier.

    MDLP alone drops a feature that helps only together with another one, such as both sides of an
    exclusive or.  Even cuts keep it: all thresholds of a feature with few values, otherwise cuts
    into bins of about equally many rows.

    Parameters
    ----------
    max_columns : int, default=120
        Number of even cuts that the features share, at least 3 and at most 31 each; those of MDLP
        come on top.
    handle_unknown, ordered_categories
        As in :class:`MDLPBinarizer`.

    Attributes
    ----------
    feature_ : ndarray of int of shape (n_columns,)
        The original feature behind each column; the other attributes, too, are those of
        :class:`MDLPBinarizer`.

    Examples
    --------
    >>> from odtlib.binarize import AutoBinarizer, MDLPBinarizer
    >>> rows, xor = [[1, 5], [1, 6], [2, 5], [2, 6]] * 10, [0, 1, 1, 0] * 10
    >>> len(AutoBinarizer().fit(rows, xor).feature_), len(MDLPBinarizer().fit(rows, xor).feature_)
    (2, 0)
    """

    _parameter_constraints = {
        **_Binarizer._parameter_constraints,
        "max_columns": [Interval(Integral, 1, None, closed="left")],
    }
    _needs_classes = True
    _cuts_by_entropy = MDLPBinarizer._cuts

    max_columns: int = 120

    def _cuts(self, counts, first, clock):
        fewest, most = EVEN_CUTS
        even = max(fewest, min(self.max_columns // self.n_features_in_ - 1, most))
        return (_some_cuts(counts.sum(axis=0), first, even)
                | self._cuts_by_entropy(counts, first, clock))


@dataclass(eq=False, repr=False)
class QuantileBinarizer(_Binarizer):
    """Cut every feature into bins of about equally many rows.

    From the lowest value upwards, each bin ends at the threshold that brings it closest to its
    ideal size: the rows that are left over the bins that are left.  Equal values stay together,
    so a feature with few distinct values gives fewer bins.  This adaptive rule (that of Weka's
    equal-frequency filter) with eight bins gives the binarised sets of the DL8.5 paper whose raw
    tables we have (diabetes, ionosphere).

    Parameters
    ----------
    n_bins : int, default=8
        Maximum number of bins per feature, at least 2: up to ``n_bins - 1`` thresholds.  More
        bins allow finer splits and make the search over trees larger.
    handle_unknown, ordered_categories
        As in :class:`MDLPBinarizer`.

    Attributes
    ----------
    feature_ : ndarray of int of shape (n_columns,)
        The original feature behind each column; the other attributes, too, are those of
        :class:`MDLPBinarizer`.

    Examples
    --------
    >>> from odtlib.binarize import QuantileBinarizer
    >>> rows = [[1.0], [2.0], [3.0], [10.0], [11.0], [12.0]]
    >>> QuantileBinarizer(n_bins=3).fit(rows).threshold_
    array([ 2.5, 10.5])
    """

    _parameter_constraints = {
        **_Binarizer._parameter_constraints,
        "n_bins": [Interval(Integral, 2, None, closed="left")],
    }

    n_bins: int = 8

    def _cuts(self, counts, first, clock):
        return _equal_frequency(counts.sum(axis=0), first, self.n_bins)


@dataclass(eq=False, repr=False)
class ThresholdBinarizer(_Binarizer):
    """Cut every feature at all thresholds: the midpoints between neighbouring distinct values.

    An optimal tree over these columns is optimal over every tree whose splits are ``x <= t``:
    any other threshold sends the training rows the same way as one of these.

    Parameters
    ----------
    thresholds : {"all", "boundary"}, default="all"
        ``"boundary"`` needs ``y`` and leaves out the thresholds between two values that hold one
        and the same class only.  Fewer columns, and the split of least class entropy is still
        among them (Fayyad and Irani, 1992); but an optimal tree of depth two or more may need a
        threshold that was left out.
    handle_unknown, ordered_categories
        As in :class:`MDLPBinarizer`.
    max_thresholds_per_feature : int or None, default=None
        A feature with more thresholds keeps this many, chosen so that the bins between them hold
        about equally many rows.  None keeps all; the number of columns is then up to the number
        of rows times the number of features.

    Attributes
    ----------
    feature_ : ndarray of int of shape (n_columns,)
        The original feature behind each column; the other attributes, too, are those of
        :class:`MDLPBinarizer`.

    Examples
    --------
    >>> from odtlib.binarize import ThresholdBinarizer
    >>> rows = [[1.0], [2.0], [4.0]]
    >>> ThresholdBinarizer().fit_transform(rows)
    array([[1, 1],
           [0, 1],
           [0, 0]], dtype=uint8)
    """

    _parameter_constraints = {
        **_Binarizer._parameter_constraints,
        "thresholds": [StrOptions({"all", "boundary"})],
        "max_thresholds_per_feature": [Interval(Integral, 1, None, closed="left"), None],
    }

    thresholds: str = "all"
    _: KW_ONLY
    max_thresholds_per_feature: int | None = None

    @property
    def _needs_classes(self):
        return self.thresholds == "boundary"

    def _cuts(self, counts, first, clock):
        cut = _boundaries(counts, first) if self._needs_classes else _all_cuts(
            counts.shape[1], first)
        if self.max_thresholds_per_feature is not None:
            cut[first] = True
            bins = np.flatnonzero(cut)
            cut[bins] = _some_cuts(np.add.reduceat(counts.sum(axis=0), bins),
                                   np.searchsorted(bins, first), self.max_thresholds_per_feature)
        return cut


@dataclass(eq=False, repr=False)
class _GivenCuts(_Binarizer):
    """Cut each numeric feature at given thresholds, ``cuts`` by feature."""

    cuts: dict | None = None

    def _numeric_intervals(self, features, rows, codes, n_classes, clock):
        ends = {}
        for j, row in zip(features, rows, strict=True):
            cuts, values = np.unique(self.cuts.get(j, ())), np.unique(row[~np.isnan(row)])
            place = np.searchsorted(values, cuts, side="right")
            inside = (place > 0) & (place < len(values))
            cuts, place = cuts[inside], place[inside]
            ends[j] = np.full(len(cuts), -np.inf), cuts
            self._neighbours[j] = cuts, values[place - 1], values[place]
        return ends


class _WordColumns(_Binarizer):
    """Make 0/1 columns of text and categories; numbers, and missing values, stay what they are."""

    _keeps_numbers = _keeps_gaps = True

    def _numeric_intervals(self, features, rows, codes, n_classes, clock):
        return dict.fromkeys(features, (np.full(1, np.nan), np.full(1, np.nan)))


def _category_intervals(number, in_order):
    """Return lower and upper ends of a categorical feature's columns, in positions."""
    lower = np.arange(number) - 0.5
    upper = lower + 1
    if number < 3:
        return lower[:-1], upper[:-1]        # the second would repeat the first
    if in_order:
        cuts = np.arange(2, number - 1)
        first = 2 * cuts <= number           # the smaller side of the cut gives the name
        lower = np.append(lower, np.where(first, -0.5, cuts - 0.5))
        upper = np.append(upper, np.where(first, cuts - 0.5, number - 0.5))
    return lower, upper


def _all_cuts(n_values, first):
    """Return a cut before each value but the first of a feature."""
    cut = np.ones(n_values, bool)
    cut[first] = False
    return cut


def _boundaries(counts, first):
    """Return the cuts whose two neighbouring values do not hold one and the same class only."""
    cut = _all_cuts(counts.shape[1], first)
    cut[1:] &= np.count_nonzero(counts[:, :-1] + counts[:, 1:], axis=0) > 1
    return cut


def _some_cuts(sizes, first, most):
    """Return all cuts of the features with at most so many, even ones of the others."""
    number = np.diff(first, append=len(sizes))
    return (_equal_frequency(sizes, first, most + 1)
            | _all_cuts(len(sizes), first) & np.repeat(number <= most + 1, number))


def _equal_frequency(sizes, first, n_bins):
    """Return at most ``n_bins - 1`` cuts of each feature that make bins of about equal size.

    ``sizes`` are the rows of every distinct value, of one feature after the other, each of which
    begins at a value ``first``.
    """
    before = np.append(0.0, np.cumsum(sizes))       # rows of the values before each
    last = np.append(first[1:], len(sizes)) - 1     # a cut at most here: the last bin is not empty
    cut, cuts = first, np.zeros(len(sizes), bool)
    for bins_left in range(n_bins, 1, -1):
        if (cut == last).all():
            break
        taken = before[cut]
        ideal = (before[last + 1] - taken) / bins_left
        # The first cut that makes the bin large enough, or the one before if that is closer.
        above = np.searchsorted(before, taken + np.ceil(ideal))
        below = above - 1
        closer = (below > cut) & (ideal - (before[below] - taken) < before[above] - taken - ideal)
        cut = np.where((above > last) | closer, below, above)
        cuts[cut] = True
    cuts[first] = False
    return cuts
