"""The common door: what every estimator of the house validates, offers and leaves behind."""

from __future__ import annotations

import sys
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, _fit_context, clone
from sklearn.utils._param_validation import Interval
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from odtlib.binarize import MDLPBinarizer, QuantileBinarizer, ThresholdBinarizer

BINARIZERS = {"mdlp": MDLPBinarizer, "quantile": QuantileBinarizer, "all": ThresholdBinarizer}


class _TreeEstimator(BaseEstimator):
    """Validate, call ``_solve``, and wrap the tree that it returns.

    A subclass defines ``_solve(X, y, sample_weight) -> (DecisionTree, SolveReport)``, where ``X``
    is float64 and C-contiguous, ``y`` is ready for kernels, and ``sample_weight`` is a float64
    vector or None.  One that works on columns made by a binariser keeps it in ``binarizer_``; when
    its tree stays over those columns it sets ``_tree_over_columns``.
    """

    _parameter_constraints = {
        "max_depth": [Interval(Integral, 0, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    _tree_over_columns = False
    _accepts_categories = False   # True: data frames with categories reach _solve unchanged

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the tree.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Training rows, without missing values.
        y : array, shape (n_rows,)
            Labels of any type, or targets; shape (n_rows, n_outputs) for several targets.
        sample_weight : array, shape (n_rows,), optional
            Non-negative weight of every row (default: one each).

        Returns
        -------
        self
            With ``tree_`` and ``report_``.

        Raises
        ------
        ValueError
            If the data or a parameter cannot be used; the message says what to do instead.
        """
        X, y = self._check_training_data(X, y)
        targets = self._check_targets(y)
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, dtype=np.float64,
                                          ensure_non_negative=True)
            if np.all(weight == 1.0):
                weight = None
        tree, report = self._solve(X, targets, weight)
        changes = {}
        if tree.kind == "classification":
            changes["classes"] = self.classes_
        names = getattr(self, "feature_names_in_", None)
        if names is not None and not self._tree_over_columns:
            changes["feature_names"] = names
        self.tree_ = tree.replace(**changes)
        report.tree, report.transform = self.tree_, self._to_tree_columns
        self.report_ = report
        return self

    def _keeps_frame(self, X):
        return self._accepts_categories and hasattr(X, "dtypes") and hasattr(X, "columns")

    def _check_training_data(self, X, y):
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is "
                             "None.")
        if not self._keeps_frame(X):
            return validate_data(self, X, y, dtype=np.float64, order="C", **self._target_options)
        validate_data(self, X, skip_check_array=True)
        if len(X) == 0:
            raise ValueError("X has no rows; a tree needs at least one.")
        if not self._target_options:
            y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        return X, y

    def _check_rows(self, X):
        if self._keeps_frame(X):
            return validate_data(self, X, reset=False, skip_check_array=True)
        return validate_data(self, X, reset=False, dtype=np.float64, order="C")

    def _to_tree_columns(self, X):
        return self.binarizer_.transform(X) if self._tree_over_columns else X

    def _tree_rows(self, X):
        check_is_fitted(self, "tree_")
        return self._to_tree_columns(self._check_rows(X))

    def predict(self, X):
        """Predict the label, or the target values, of each row.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Rows like those of the fit.

        Returns
        -------
        array, shape (n_rows,) or (n_rows, n_outputs)
        """
        rows = self._tree_rows(X)
        return self.tree_.predict(rows)

    def apply(self, X):
        """Return the index of the leaf that each row reaches.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Rows like those of the fit.

        Returns
        -------
        array of int, shape (n_rows,)
        """
        rows = self._tree_rows(X)
        return self.tree_.apply(rows)

    def decision_path(self, X):
        """Return which nodes of the tree each row passes.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Rows like those of the fit.

        Returns
        -------
        scipy.sparse.csr_matrix, shape (n_rows, n_nodes)
        """
        rows = self._tree_rows(X)
        return self.tree_.decision_path(rows)

    def verify(self, X, y, sample_weight=None):
        """Recompute the objective of the fit from the tree alone.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            The training rows.
        y : array, shape (n_rows,) or (n_rows, n_outputs)
            Their labels or targets.
        sample_weight : array, shape (n_rows,), optional
            Their weights.

        Returns
        -------
        float
            The objective; see :meth:`odtlib.SolveReport.verify`, which raises if it differs.
        """
        check_is_fitted(self, "tree_")
        return self.report_.verify(self._check_rows(X), y, sample_weight)


class TreeClassifier(ClassifierMixin, _TreeEstimator):
    """What all classifiers of trees offer; a subclass defines ``_solve``."""

    _target_options = {}

    def _check_targets(self, y):
        check_classification_targets(y)
        y = np.asarray(y)
        self.classes_, codes = np.unique(y.ravel(), return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y holds one class only ({self.classes_[0]}); a classifier needs "
                             "rows of at least two classes.")
        return codes.astype(np.int64)

    def predict_proba(self, X):
        """Return the share of each class in the training weight of the leaf reached.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Rows like those of the fit.

        Returns
        -------
        array, shape (n_rows, n_classes)
            Columns in the order of ``classes_``.
        """
        rows = self._tree_rows(X)
        return self.tree_.predict_proba(rows)


class TreeRegressor(RegressorMixin, _TreeEstimator):
    """Base class of the regressors, one target or several; a subclass defines ``_solve``."""

    _target_options = {"multi_output": True, "y_numeric": True}

    def _check_targets(self, y):
        y = np.asarray(y, dtype=np.float64)
        self.n_outputs_ = 1 if y.ndim == 1 else y.shape[1]
        return np.ascontiguousarray(y.reshape(len(y), -1))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class SingleTargetRegressor(TreeRegressor):
    """Base class of the regressors that know one target only."""

    _target_options = {"y_numeric": True}

    def _check_targets(self, y):
        y = column_or_1d(y, dtype=np.float64)
        if not np.isfinite(y).all():
            raise ValueError("y holds NaN or infinity; fill in or drop those rows first.")
        return y

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags


class OverBinaryColumns:
    """Mixin of the estimators that work on 0/1 columns, with a parameter ``binarizer``."""

    def _keeps_frame(self, X):
        return super()._keeps_frame(X) and any(
            getattr(kind, "kind", "O") not in "biuf" for kind in X.dtypes)

    def _most_copies(self, n_rows):
        """Return how many rows, with copies, the binariser may see."""
        return 20 * n_rows

    def _columns(self, X, y, sample_weight):
        """Return the 0/1 columns of the training rows; sets ``binarizer_``.

        The binariser sees a row with a whole weight so many times; other weights do not move cuts.
        """
        frame = self._keeps_frame(X)
        self.binarizer_, self._tree_over_columns = None, False
        if not frame and np.all((X == 0) | (X == 1)):
            return X.astype(np.uint8)
        if self.binarizer is None:
            raise ValueError("binarizer=None needs features that are 0 or 1 and X has others; "
                             "give binarizer='mdlp' or another one.")
        chosen = self.binarizer
        self.binarizer_ = BINARIZERS[chosen]() if isinstance(chosen, str) else clone(chosen)
        seen_X, seen_y = X, y
        if sample_weight is not None:
            whole = np.all(sample_weight == np.floor(sample_weight))
            copies = sample_weight if whole else sample_weight > 0
            if copies.sum() <= self._most_copies(len(y)):
                seen = np.repeat(np.arange(len(y)), copies.astype(np.int64))
                seen_X = X.iloc[seen] if frame else X[seen]
                seen_y = y[seen]
        columns = np.asarray(self.binarizer_.fit(seen_X, seen_y).transform(X))
        if not np.all((columns == 0) | (columns == 1)):
            raise ValueError("the binarizer made columns that are not 0/1; give one that does.")
        self._tree_over_columns = bool(
            frame or not getattr(self.binarizer_, "maps_to_original_", False))
        return columns.astype(np.uint8)

    def _in_features(self, tree):
        """Write a tree over the columns in the original features, or name its columns."""
        if self.binarizer_ is None:
            return tree
        if not self._tree_over_columns:
            return self.binarizer_.to_original(tree)
        names = self.binarizer_.get_feature_names_out()
        return tree.replace(feature_names=tuple(str(name) for name in names),
                            n_features=len(names))


_announced = set()


def announce_compilation(kernel, what, seconds):
    """Say, once a process, that a kernel must be compiled first, and for about how long.

    Parameters
    ----------
    kernel : numba dispatcher
        A kernel with ``cache=True`` that the fit is about to call.
    what : str
        Name of the method, for the message.
    seconds : int
        How long compilation took where it was measured.

    Returns
    -------
    bool
        True if the message was printed: the kernel is neither compiled nor cached on disk.
    """
    if what in _announced or getattr(kernel, "signatures", True):   # True: compiler off
        return False
    _announced.add(what)
    if kernel.stats.cache_path and kernel._cache._cache_file._load_index():
        return False
    print(f"odtlib: compiling {what} once, for about {seconds} s; later runs start at once.",
          file=sys.stderr, flush=True)
    return True
