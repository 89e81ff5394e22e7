"""Check what a user gives, as scikit-learn does; say what is wrong, where, and what to do."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Hashable
from dataclasses import replace
from functools import cache, wraps
from inspect import signature
from numbers import Integral, Real
from operator import is_
from typing import Any, Self
from unicodedata import is_normalized, normalize

import numpy as np
from scipy.sparse import issparse
from sklearn import get_config, set_config
from sklearn.base import BaseEstimator, is_regressor
from sklearn.utils._param_validation import Interval, validate_parameter_constraints
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d, validate_data

from odtlib.arrays import LARGEST, SMALLEST, fault_of_number, given_numbers, is_missing

INSIDE = {"odtlib", "odtbook", "sklearn", "joblib"}
REMEDY = "replace it or leave such rows out"
# Types that rows keep: the first is what all others become.
EXACT: list[type] = [np.float64]
NUMBERS: list[type] = [np.float64, np.float32, np.bool_, np.uint8, np.int8, np.int16,
                       np.int32, np.int64]
MOST_THREADS = max(64, os.cpu_count() or 1)     # more are of no use
NUMBERS_BY_KEY = {"class_weight", "min_recall", "min_precision"}
LISTS_OF_NUMBERS = {"split_penalty", "target_weights", "feature_costs"}
MOST = 2 ** 53      # no number of rows, nodes or steps is larger, and floats still count exactly


def plain(name, value, constraints=()):
    """Return a number of any type as a plain Python number, and anything else as it is.

    ``constraints`` are those that scikit-learn validates: they say whether the parameter is whole,
    and a whole number without an upper limit is lowered to ``MOST``.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, np.bool_):
        value = bool(value)
    intervals = {(limit.type, limit.right is None) for limit in constraints
                 if isinstance(limit, Interval)}
    if not isinstance(value, Real) or (isinstance(value, bool) and not intervals):
        return value
    if isinstance(value, Integral):
        if (Integral, True) in intervals:
            return min(int(value), MOST_THREADS if name == "n_jobs" else MOST)
        if (Integral, False) in intervals or not intervals:
            return int(value)
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name} is larger than 1e308; give a smaller number.") from None


def plain_numbers(name, values):
    """Return numbers in a dict, list or array as plain ones; anything else as it is.

    Lists without an entry are refused, and numbers by key that are not finite.
    """
    if name in LISTS_OF_NUMBERS and hasattr(values, "__len__"):
        numbers = given_numbers(name, values)
        if not numbers.size:
            raise ValueError(f"{name} is empty; give at least one value, or leave it out.")
        return numbers.tolist()
    if isinstance(values, dict) and name in NUMBERS_BY_KEY:
        for key, number in values.items():
            fault = fault_of_number(number)
            if fault is None and not np.isfinite(float(number)):
                fault = _name_of(float(number))
            if fault is not None:
                raise ValueError(f"{name} holds {fault} for {key!r}; give a finite number.")
    if isinstance(values, dict):
        return {key: plain(name, number) for key, number in values.items()}
    if not isinstance(values, list | np.ndarray) and type(values) is not tuple or name == "cv":
        return values        # folds are no numbers
    if not np.size(values) if isinstance(values, np.ndarray) else not values:
        raise ValueError(f"{name} is empty; give at least one value, or leave it out.")
    if isinstance(values, np.ndarray):
        return values.astype(np.float64) if values.dtype.kind == "f" else values
    if all(isinstance(value, Real) for value in values):
        return [plain(name, value) for value in values]
    return [plain_numbers(name, value) if isinstance(value, dict) else value for value in values]


def plain_copy(estimator):
    """Return a copy of an estimator, or of an object of options, with plain Python numbers."""
    constraints = getattr(estimator, "_parameter_constraints", {})
    copied = object.__new__(type(estimator))
    vars(copied).update(vars(estimator))
    defaults = estimator._defaults() if isinstance(estimator, WithParameters) else {}
    for name, value in estimator.get_params(deep=False).items():
        if value is None or type(value) is str or value is defaults.get(name):
            continue
        if getattr(value, "is_options", False):
            value = plain_copy(value)
        setattr(copied, name, plain(name, plain_numbers(name, value), constraints.get(name, ())))
    return copied


class WithParameters(BaseEstimator):
    """An object with parameters, whose names are read from the signature once."""

    @classmethod
    @cache
    def _get_param_names(cls):
        return super()._get_param_names()

    @classmethod
    @cache
    def _defaults(cls):
        return {name: parameter.default
                for name, parameter in signature(cls.__init__).parameters.items()}

    def _validate_params(self):
        defaults = self._defaults()
        given = {name: value for name, value in self.get_params(deep=False).items()
                 if value is not defaults[name]}        # a default needs no check
        validate_parameter_constraints(self._parameter_constraints, given, type(self).__name__)


class SearchOptions(WithParameters):
    """Base of the options of a search: a dataclass that scikit-learn can clone, tune and print."""

    is_options = True
    _parameter_constraints: dict = {}

    def __post_init__(self):
        validate_parameter_constraints(
            self._parameter_constraints,
            {name: plain(name, value, self._parameter_constraints.get(name, ()))
             for name, value in self.get_params(deep=False).items()},
            type(self).__name__)

    def set_params(self, **params: Any) -> Self:
        """Change options, as scikit-learn does: ``search__lookahead`` is one of an estimator.

        Parameters
        ----------
        **params
            Options by name.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If an option does not exist, or has a value that does not exist; nothing is changed
            then.
        """
        unknown = set(params) - set(self.get_params(deep=False))
        if not unknown:
            replace(self, **params)
        return super().set_params(**params)


def raise_ctrl_c(error, handled):
    """Raise KeyboardInterrupt if an error is what a library made of one.

    NumPy's comparison of records and ``Condition.wait`` do so.  ``handled`` is the exception, or
    None, that the caller was handling before.
    """
    while error is not None and error is not handled:
        if isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        error = error.__cause__ or error.__context__


def keeps_configuration(method):
    """Leave scikit-learn's configuration as it was, which Ctrl-C within its own fits may not."""
    @wraps(method)
    def run(*arguments, **options):
        config = get_config()
        try:
            return method(*arguments, **options)
        finally:
            if get_config() != config:
                set_config(**config)

    return run


def with_plain_parameters(fit):
    """Validate the parameters, and let a method read them as plain Python numbers.

    It works on a copy of the estimator, whose own parameters stay what ``get_params`` gave; what
    the method sets is set on the estimator afterwards.
    """
    @wraps(fit)
    @keeps_configuration
    def run(self, *arguments, **options):
        copied, handled = plain_copy(self), sys.exc_info()[1]
        try:
            if not get_config()["skip_parameter_validation"]:
                copied._validate_params()
            result = fit(copied, *arguments, **options)
        except Exception as error:
            raise_ctrl_c(error, handled)
            raise
        parameters = self._get_param_names()
        vars(self).update({name: value for name, value in vars(copied).items()
                           if name not in parameters})
        for name in vars(self).keys() - vars(copied).keys():     # of the columns of an earlier fit
            delattr(self, name)
        return self if result is copied else result

    return run


def checked(estimator, X, *y, missing=False, types=EXACT, **options):
    """Return rows, of the first of the types if not of another, and with ``y`` also the targets.

    ``missing`` allows NaN in the rows; options are those of scikit-learn's ``validate_data``.
    """
    X = pandas_frame(X)
    check_columns(X)
    check_values("X", X)
    if y:
        check_targets_given(y[0], is_regressor(estimator))
    sparse = getattr(estimator, "_sparse", None)        # "bits" or "any"; see _TreeEstimator
    if issparse(X) and sparse is not None:
        options["ensure_all_finite"] = "allow-nan" if missing else True
        return _dense(estimator, X, *y, bits=sparse == "bits", **options)
    try:
        return validate_data(estimator, X, *y, dtype=types, order="C",
                             ensure_all_finite="allow-nan" if missing else True, **options)
    except (TypeError, ValueError, OverflowError) as error:
        if hasattr(X, "toarray"):       # sparse: scikit-learn's own sentence will do
            raise
        fault = fault_of_rows(X, missing)
        if fault is None and y and y[0] is not None:
            fault = _fault_of_targets(len(X), y[0], is_regressor(estimator))
        if fault is None:
            raise
        raise (TypeError if isinstance(error, TypeError) else ValueError)(fault) from None


def _dense(estimator, X, *y, bits, **options):
    """Return sparse rows as an array: one byte for each of zeros and ones, or eight for numbers."""
    X = X.tocsr()
    if bits:
        if not X.has_canonical_format:      # an entry that stands twice is the sum of both
            X = X.copy()
            X.sum_duplicates()
        if not ((X.data == 0) | (X.data == 1)).all():
            raise ValueError("X is sparse and holds values other than 0 and 1; give X.toarray(), "
                             "whose features are tested at thresholds.")
    validated = validate_data(estimator, X, *y, accept_sparse="csr", dtype=None, **options)
    X, *y = validated if y else (validated,)
    X = X.astype(np.uint8 if bits else np.float64).toarray(order="C")
    return (X, *y) if y else X


def pandas_frame(X):
    """Return a frame as one of pandas: polars' as well, names in Unicode's normal form NFC.

    So text and categories are treated equally, and a name is the same however it was typed.
    """
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        if {type(kind).__name__ for kind in X.dtypes} == {"SparseDtype"}:
            X = X.sparse.to_dense()     # as a frame with other columns becomes
        names = list(X.columns)
        normal = [normal_name(name) for name in names]
        return X if all(map(is_, names, normal)) else X.set_axis(normal, axis=1)
    if hasattr(X, "iloc") or not hasattr(X, "get_columns"):
        return X
    import pandas as pd
    columns = {}
    for name, column in zip(X.columns, X.get_columns()):
        wide = "128" in str(column.dtype)       # whole numbers that NumPy has no type for
        columns[name] = np.asarray(column.to_list(), object) if wide else column.to_numpy()
        if columns[name].ndim > 1:
            raise ValueError(f"column {name!r} of X holds records; give each part a column of its "
                             "own.")
    return pandas_frame(pd.DataFrame(columns))


def ready_rows(X, types, missing=False):
    """Return rows as an array of the first of the types, if not of another; else None.

    Only rows in which nothing can be wrong: of numbers that are all finite, or NaN if it may be
    ``missing``.
    """
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        check_columns(X)
        if not all(isinstance(kind, np.dtype) and kind.kind in "biuf" for kind in set(X.dtypes)) \
                or set(map(type, X.columns)) != {str}:
            return None
        X = X.to_numpy()
    if type(X) is not np.ndarray or X.ndim != 2 or X.size == 0 or X.dtype.kind not in "biuf":
        return None
    X = np.asarray(X, X.dtype if X.dtype in types else types[0], order="C")
    return X if sums_up(X) or missing and not np.isinf(X).any() else None


def ready_targets(y, n_rows, options):
    """Return labels, or with ``options`` targets, as an array if nothing can be wrong, else None.

    ``options`` are those of scikit-learn's ``validate_data``.
    """
    values = np.asarray(y) if hasattr(y, "iloc") and hasattr(y, "dtype") else y
    if (type(values) is not np.ndarray or values.shape[:1] != (n_rows,) or values.size == 0
            or values.ndim > 1 + ("multi_output" in options)):
        return None
    ready = not options and is_text(values) or (
        values.dtype == y.dtype and values.dtype.kind in ("biuf" if options else "biu")
        and sums_up(values))
    return values if ready else None


def set_features(estimator, X):
    """Set what scikit-learn's ``validate_data`` sets for an array, or a frame with names."""
    estimator.n_features_in_ = X.shape[1]
    vars(estimator).pop("feature_names_in_", None)
    if hasattr(X, "columns"):
        estimator.feature_names_in_ = np.array(X.columns, object)


def sums_up(values):
    """Return whether an array surely has no NaN and no infinite number, from its sum."""
    if values.dtype.kind != "f":
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()))


def normal_name(name):
    """Return a name in Unicode's normal form NFC; what is no text, and most text, as it is."""
    if not isinstance(name, str) or is_normalized("NFC", name):
        return name
    return normalize("NFC", name)


def check_columns(X):
    """Refuse a data frame that has no columns, or two of one name."""
    names = getattr(X, "columns", None)
    if names is not None and len(names) == 0:
        raise ValueError("X has no columns; give at least one feature.")
    if names is not None and len(set(names)) < len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise ValueError(f"X has two columns named {str(twice)!r}; rename one of them.")


def check_values(name, values, numeric=True):
    """Refuse what NumPy would read as other numbers: masked entries, and dates and times."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(f"{name} has masked entries; replace them or leave such rows out.")
    if getattr(getattr(values, "dtype", None), "names", None):
        raise ValueError(f"{name} holds records; give an array of plain values.")
    if getattr(getattr(values, "dtype", None), "kind", "") == "c" and name != "X":
        raise ValueError(f"Complex data not supported: {name} holds complex numbers; give real "
                         "ones.")
    if not numeric or hasattr(values, "toarray"):
        return
    types = getattr(values, "dtypes", ()) if hasattr(values, "columns") else \
        [getattr(values, "dtype", None)]
    kinds = {getattr(kind, "kind", "O") for kind in types}
    times = kinds & {"M", "m"}
    if not times and "O" in kinds:
        objects = values if not hasattr(values, "columns") else \
            values.loc[:, [kind == np.dtype(object) for kind in values.dtypes]]
        try:
            objects = np.asarray(objects)
        except (TypeError, ValueError):
            return                      # rows that differ in length are refused elsewhere
        times = objects.dtype.kind in "mM" or (objects.dtype.kind == "O" and any(
            isinstance(value, np.datetime64 | np.timedelta64) for value in objects.ravel()))
    if times:
        raise ValueError(f"{name} holds dates or times; turn them into numbers first, such as days "
                         "since a first day.")


def check_targets_given(y, numeric=False):
    """Refuse labels or targets that are sparse, or that are missing in some row."""
    if issparse(y):
        raise ValueError("y is sparse; give y.toarray().")
    check_values("y", y, numeric)
    try:
        values = np.asarray(y, None if hasattr(y, "dtype") else object)
        values = values.reshape(len(values), -1)
    except (TypeError, ValueError):
        return                          # refused elsewhere, in other words
    if is_text(values):
        return
    if values.dtype.kind == "O":
        for row, value in enumerate(values[:, 0] if values.shape[1] else ()):
            if not isinstance(value, Hashable | list):
                raise ValueError(f"row {row} of y holds an object of type {type(value).__name__}; "
                                 "give one label or number.")
    if hasattr(y, "isna"):
        bad = np.asarray(y.isna()).reshape(values.shape)
    else:
        bad = _missing(values)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        value = values[row, column]
        name = "NaN" if isinstance(value, float) else f"a missing value ({value})"
        raise ValueError(f"row {row} of y holds {name}; {REMEDY}.")
    if not hasattr(y, "dtype") and len({isinstance(value, str) for value in values.flat}) > 1:
        raise ValueError(_mixed(_kinds(values)))        # NumPy would make text of all


def _missing(values):
    """Return which values of an array are missing."""
    if values.dtype.kind == "O":
        return np.frompyfunc(is_missing, 1, 1)(values).astype(bool)
    return values != values             # NaN and NaT


def one_column(name, values, **options):
    """Return one value for each row as a vector, by scikit-learn's function with its options."""
    shape = np.shape(values)
    if len(shape) != 1 and shape[1:] != (1,):
        raise ValueError(f"{name} has shape {shape}; give one value for each row.")
    return column_or_1d(values, **options)


def groups_of_rows(protected):
    """Return the group of each row; refuse missing ones, and groups that cannot be told apart."""
    values = one_column("protected", protected)
    missing = _missing(values)
    if missing.any():
        raise ValueError(f"row {np.argmax(missing)} of protected holds a missing value; give every "
                         "row a group.")
    try:
        np.unique(values)
    except TypeError:
        raise ValueError("protected holds values of several types; give all groups as text, or all "
                         "as numbers.") from None
    return values


def costs_of_rows(costs):
    """Return the cost of each label for each row as float64; refuse what is no such table."""
    costs = given_numbers("costs", costs)
    if costs.ndim != 2:
        raise ValueError(f"costs has shape {costs.shape}; give one row per row of X, and one "
                         "column per label.")
    bad = ~np.isfinite(costs).all(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        odd = costs[row][~np.isfinite(costs[row])][0]
        raise ValueError(f"row {row} of costs holds {_name_of(odd)}; give finite numbers.")
    return costs


def check_order_of_labels(name, table, labels):
    """Refuse a data frame whose columns are named after the labels, in another order."""
    names, labels = list(getattr(table, "columns", ())), labels.tolist()
    if names != labels and set(names) == set(labels):
        raise ValueError(f"the columns of {name} are {names[:5]} and the labels {labels[:5]}; give "
                         "them in the order of the labels.")


def fault_of_rows(X, missing):
    """Return what is wrong with rows of features, None where that is not known."""
    if X is None or isinstance(X, str | bytes | dict | set):
        return (f"X is of type {type(X).__name__}; give rows of numbers, in an array, a data frame "
                "or a list of lists.")
    try:
        table = np.asarray(X)
    except ValueError:
        return "the rows of X differ in length; give each the same features."
    if table.ndim != 2:
        wrong = f"Expected 2D array, got {table.ndim}D array instead: X has shape {table.shape}"
        return (f"{wrong}. Reshape your data with X.reshape(-1, 1) if it is one feature, or with "
                "X.reshape(1, -1) if it is one row." if table.ndim == 1 else
                f"{wrong}; give it one row per sample and one column per feature.")
    if table.dtype.kind == "c":
        return ("Complex data not supported: X holds complex numbers; give their real and "
                "imaginary parts as two features.")
    names = [repr(str(name)) for name in X.columns] if hasattr(X, "columns") else \
        range(table.shape[1])
    for name, column in zip(names, table.T):
        row, what = _first_fault(column, missing)
        if row is not None:
            remedy = ("encode it as numbers first, for example with "
                      "sklearn.preprocessing.OneHotEncoder" if what.startswith("text") else
                      "turn the column into numbers or text" if what.startswith("an object")
                      else REMEDY)
            return f"row {row}, column {name} of X holds {what}; {remedy}."
    return None


def _first_fault(values, missing=False):
    """Return position and description of the first entry that is no finite number, or None twice.

    With ``missing`` NaN counts as a number.
    """
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        for row, value in enumerate(values):
            try:
                float(value)
            except (TypeError, ValueError, OverflowError):
                fault = fault_of_number(value)
                return row, fault if not fault.startswith("an object") else (
                    f"{fault}, and each entry of this argument must be a number or a string that "
                    "reads as a number")
        return None, None
    bad = np.isinf(numbers) if missing else ~np.isfinite(numbers)
    row = int(np.argmax(bad)) if bad.any() else None
    return row, None if row is None else _name_of(numbers[row])


def _name_of(number):
    return "NaN" if np.isnan(number) else "infinity (inf)" if np.isinf(number) else f"{number:g}"


def _fault_of_targets(n_rows, y, numeric):
    """Return what is wrong with labels or targets, None where that is not known."""
    try:
        y = np.asarray(y)
    except ValueError:
        return "the rows of y differ in length; give each the same targets."
    if y.ndim == 0:
        return None
    if len(y) != n_rows:
        return (f"X and y have inconsistent numbers of samples, {n_rows} and {len(y)}; give one "
                "label or target per row.")
    if y.size == 0 or not numeric and y.dtype.kind != "f":
        return None
    for column in y.reshape(len(y), -1).T:
        row, what = _first_fault(column)
        if row is not None:
            return f"row {row} of y holds {what}; " + (
                "a regressor needs numbers." if what.startswith("text") else f"{REMEDY}.")
    return None


def check_length(name, values, n_rows):
    """Refuse an array that has not one entry for each row."""
    if len(values) != n_rows:
        raise ValueError(f"X and {name} have inconsistent numbers of samples, {n_rows} and "
                         f"{len(values)}; give one entry of {name} per row.")


def _kinds(y):
    """Return the names of the types of labels."""
    return sorted({type(label).__name__ for label in np.ravel(np.asarray(y, object))})


def _mixed(kinds):
    return (f"Unknown label type: y mixes labels of type {', '.join(kinds)}; give labels of one "
            "type, and leave rows without a label out.")


def refuse_array(model):
    """Refuse rows without column names, which a model or binariser of words cannot read."""
    raise ValueError(f"{type(model).__name__} was fitted on a data frame with categories; pass a "
                     "data frame with the same columns, not an array.")


def check_labels(y):
    """Refuse labels that are no classes."""
    try:
        check_classification_targets(y)
    except ValueError:
        kinds = _kinds(y)
        if len(kinds) > 1:
            raise ValueError(_mixed(kinds)) from None
        if getattr(getattr(y, "dtype", None), "kind", "") == "O":
            raise ValueError(f"Unknown label type: y holds objects of type {kinds[0]}; give labels "
                             "as text, whole numbers or truth values.") from None
        raise


def is_text(values):
    """Return whether all values of an array are text."""
    return values.dtype.kind == "U" or values.dtype.kind == "O" and \
        set(map(type, values.ravel().tolist())) == {str}


def coded(y, check):
    """Return the labels, sorted, and the position of each entry among them, as int64.

    ``check`` looks at what may be no labels; it warns where they seem targets of a regression.
    """
    plain = isinstance(y, np.ndarray) and (y.dtype.kind in "biU" or is_text(y))
    if not plain:
        check(y)
    labels, codes = encoded(np.asarray(y).ravel())
    if plain and 2 * len(labels) > len(y):
        check(y)
    return labels, codes.astype(np.int64, copy=False)


def encoded(y):
    """Return the labels of a vector, sorted, and the position of each entry among them."""
    if is_text(y):
        labels = sorted(set(y.tolist()))            # quicker than to sort the rows
        place = {label: k for k, label in enumerate(labels)}
        return np.array(labels, y.dtype), np.array([place[label] for label in y.tolist()])
    if y.dtype.kind in "bi" and len(y):
        whole = y.astype(np.int64, copy=False)
        low, high = int(whole.min()), int(whole.max())
        if high - low <= len(y):                    # quicker than to sort
            present = np.bincount(whole - low) > 0
            if present.all():                       # 0, 1, ... beside the least
                return np.arange(low, high + 1).astype(y.dtype), whole - low
            return ((np.flatnonzero(present) + low).astype(y.dtype),
                    (np.cumsum(present) - 1)[whole - low])
    return np.unique(y, return_inverse=True)


def numeric_targets(y):
    """Return targets as float64; refuse text, NaN, and what is too large for its square."""
    try:
        numbers = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        numbers = np.full(len(y), np.nan)
    if not np.isfinite(numbers).all():
        raise ValueError(_fault_of_targets(len(y), y, True))
    for largest in np.abs(numbers).reshape(len(numbers), -1).max(axis=0, initial=0.0):
        if largest > LARGEST:
            raise ValueError(f"y holds values up to {largest:g}; divide it by a number so that "
                             f"none exceeds {LARGEST:g}.")
        if 0 < largest < SMALLEST:
            raise ValueError(f"y holds no value above {largest:g}; multiply it by a number so that "
                             f"some reach {SMALLEST:g}.")
    return numbers


def checked_weight(X, sample_weight):
    """Return the weight of every row as a vector of numbers that are not negative, or None."""
    if sample_weight is None:
        return None
    if type(sample_weight) is np.ndarray and sample_weight.shape == (X.shape[0],) \
            and sample_weight.dtype.kind in "biuf":
        weight = sample_weight.astype(np.float64)
        if weight.min() >= 0 and 0 < weight.max() < np.inf:
            return weight
    check_values("sample_weight", sample_weight)
    try:
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True,
                                      copy=True)
        if not weight.any():            # scikit-learn says so from 1.8 on
            raise ValueError
        return weight
    except (TypeError, ValueError, OverflowError):
        fault = _fault_of_weights(len(X), sample_weight)
        if fault is None:
            raise
        raise ValueError(fault) from None


def _fault_of_weights(n_rows, sample_weight):
    given = np.asarray(sample_weight, None if hasattr(sample_weight, "dtype") else object)
    if given.ndim and given.shape != (n_rows,):
        return (f"sample_weight.shape is {given.shape} and X has {n_rows} rows; give one weight "
                "per row.")
    row, what = _first_fault(given.ravel())
    if row is None:
        if given.ndim == 0 and isinstance(sample_weight, np.ndarray):
            return None     # scikit-learn's own sentence will do
        weight = given.ravel().astype(np.float64)
        if weight.min() < 0:
            row = int(np.argmax(weight < 0))
            what = _name_of(weight[row])
    if row is not None:
        return (f"row {row} of sample_weight holds {what}; give finite numbers that are not "
                "negative.")
    return None if weight.any() else \
        "sample_weight is zero for every row; give at least one non-zero weight."


def weighted_rows(X, y, weight):
    """Leave out the rows of weight zero; weights of one become None."""
    used = np.ones(len(y), bool) if weight is None else weight > 0
    if weight is None:
        return X, y, None, used
    if not used.any():
        raise ValueError("sample_weight is zero for every row; give at least one non-zero weight.")
    if weight[used].min() < SMALLEST or weight.max() > LARGEST:
        raise ValueError(f"sample_weight holds values from {weight[used].min():g} to "
                         f"{weight.max():g}; multiply all by one number so that they lie between "
                         f"{SMALLEST:g} and {LARGEST:g} (zero leaves a row out).")
    if not used.all():
        X = X.iloc[used] if hasattr(X, "iloc") else X[used]
        y, weight = y[used], weight[used]
    return X, y, None if np.all(weight == 1.0) else weight, used


def class_weights(class_weight, y):
    """Return the weight that the class of each row gives it, as scikit-learn's trees take it."""
    if class_weight is None:
        return np.ones(len(y))
    if isinstance(class_weight, list) and not all(isinstance(one, dict | str)
                                                  for one in class_weight):
        raise ValueError(f"class_weight is {class_weight}; give a dict of weights for each "
                         "target, or 'balanced'.")
    if isinstance(class_weight, list) and len(class_weight) == len(np.transpose(y)):
        return np.prod([class_weights(one, column) for one, column in zip(class_weight, y.T)],
                       axis=0)
    if isinstance(class_weight, dict) and np.ndim(y) == 1:
        labels, position = np.unique(y, return_inverse=True)    # scikit-learn takes "01" for 1
        lost = [label for label in labels.tolist() if label not in class_weight]
        if lost and len(labels) - len(lost) < len(class_weight):
            raise ValueError(f"the classes {lost} are not in class_weight, whose keys are "
                             f"{list(class_weight)}; its keys must be labels of y.")
        weight = np.array([class_weight.get(label, 1.0) for label in labels.tolist()], float)[
            position]
    else:
        weight = compute_sample_weight(class_weight, y)
    if (weight < 0).any():
        raise ValueError("class_weight holds a negative number; give weights of at least 0.")
    return weight


def warn(message):
    """Warn at the line outside odtlib, scikit-learn and joblib from which the call came."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in INSIDE:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)
