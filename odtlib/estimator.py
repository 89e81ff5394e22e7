"""Base classes of all estimators: validation, prediction, fitted attributes."""

from __future__ import annotations

import sys
from copy import copy
from math import ceil
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import ClassifierMixin, RegressorMixin, clone, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from odtlib._validation import (
    EXACT,
    MOST,
    NUMBERS,
    REMEDY,
    WithParameters,
    check_columns,
    check_labels,
    check_length,
    check_order_of_labels,
    check_targets_given,
    checked,
    checked_weight,
    class_weights,
    coded,
    costs_of_rows,
    groups_of_rows,
    numeric_targets,
    pandas_frame,
    plain_copy,
    ready_rows,
    ready_targets,
    refuse_array,
    set_features,
    warn,
    weighted_rows,
    with_plain_parameters,
)
from odtlib._validation import SearchOptions as SearchOptions
from odtlib.binarize import (
    AutoBinarizer,
    MDLPBinarizer,
    QuantileBinarizer,
    ThresholdBinarizer,
    _WordColumns,
)
from odtlib.certify import Certificate
from odtlib.columns import holds_words
from odtlib.missing import DoubledColumns
from odtlib.report import Clock, SolveReport
from odtlib.text import visible
from odtlib.tree import DecisionTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from scipy.sparse import csr_matrix
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

BINARIZERS = {"auto": AutoBinarizer, "mdlp": MDLPBinarizer, "quantile": QuantileBinarizer,
              "all": ThresholdBinarizer}
MANY_CATEGORIES = 30    # of one feature: more are worth a warning


class Outcome(NamedTuple):
    """Result of ``_solve``."""

    tree: DecisionTree
    report: SolveReport
    answer: Any = None      # to a question beyond the fit, such as the tree of every node budget


def _for_whole_rows(tree):
    """Return a tree that decides alike where no value is missing, and knows of no missing ones."""
    return tree.replace(threshold=np.minimum(tree.threshold, np.finfo(float).max),
                        missing_left=None)


class DescribedParameters:
    """Mixin of all estimators: the HTML diagram shows the text of each parameter."""

    def _get_params_html(self, *arguments, **options):
        parameters = super()._get_params_html(*arguments, **options)
        if not getattr(parameters, "doc_link", None):
            parameters.doc_link = "#"    # scikit-learn shows a text only where it has a link
        return parameters


class _TreeEstimator(DescribedParameters, WithParameters):
    """Validate, compile, call ``_solve``, and wrap the tree that it returns.

    A subclass defines ``_solve(X, y, sample_weight, **task) -> Outcome``, where ``X`` is
    C-contiguous and of one of ``_row_types``, ``y`` is ready for kernels, ``sample_weight`` is a
    float64 vector of positive numbers or None, and ``task`` is what a method other than ``fit``
    asks for; and ``_warm_up`` with the same arguments, which compiles its kernels.  What makes
    columns of a data frame with words is ``binarizer_``; a tree that stays over its columns has
    ``_tree_over_columns``.
    """

    tree_: DecisionTree
    report_: SolveReport

    _parameter_constraints = {
        "max_depth": [Interval(Integral, 0, None, closed="left"), None],
        "max_nodes": [Interval(Integral, 0, None, closed="left"), None],
        "max_leaf_nodes": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left"),
                             Interval(Real, 0, 1, closed="neither")],
        "split_penalty": [Interval(Real, 0, None, closed="left")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "start": [StrOptions({"cart", "local-search"}), HasMethods("predict"), None],
        "memory_limit": [Interval(Real, 0, None, closed="neither"), None],
        "n_jobs": [Interval(Integral, None, -1, closed="right"),
                   Interval(Integral, 1, None, closed="left"), None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    _row_types = EXACT
    _tree_over_columns = False
    _solves_frames = False        # True: data frames with words reach _solve unchanged
    _accepts_missing = False      # True: NaN in X is a missing value
    _doubles_missing = False      # True: _solve gets features with missing values twice, filled in
    _numbers_rows = False         # True: _solve is told which given rows have weight, as ``used``
    # "bits": sparse X of zeros and ones becomes uint8; "any": float64.
    _sparse: str | None = None

    @property
    def _has_all_columns(self):
        return True               # False: a limit left features without columns

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the tree.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Training rows; with missing values (NaN), or sparse, where the estimator takes that.
            Text and categories of a data frame are asked one against the rest.
        y : array, shape (n_rows,)
            Labels of any type, or targets; shape (n_rows, n_outputs) for several targets.
        sample_weight : array, shape (n_rows,), optional
            Weight of every row (default: 1), from 1e-100 to 1e100.  A row of weight zero is left
            out; its label is still one of ``classes_``.

        Returns
        -------
        self
            With ``tree_`` and ``report_``.

        Raises
        ------
        ValueError
            If the data or a parameter cannot be used; the message says what to do instead.
        """
        self._fit(X, y, sample_weight)
        return self

    @with_plain_parameters
    def _fit(self, X, y, sample_weight, protected=None, costs=None, **task):
        """Fit, set the fitted attributes, and return the answer to the task.

        ``protected`` holds the group of each row, where an estimator has a limit on disparity, and
        ``costs`` the cost of each label for each row, where one minimises costs.
        """
        by_row = {}
        if protected is not None:
            by_row["protected"] = groups_of_rows(protected)
        if costs is not None:
            by_row["costs"] = costs_of_rows(costs)
        X, targets, weight, used = self._training_arrays(X, y, sample_weight)
        if costs is not None:
            check_order_of_labels("costs", costs, self.classes_)
        for name, values in by_row.items():
            check_length(name, values, len(used))
            task[name] = values[used]
        if self._numbers_rows:
            task["used"] = used
        doubled = self._doubled_columns(X)
        rows = X if doubled is None else doubled.rows
        if rows.shape[1] == 0:
            rows = np.zeros((len(rows), 1))     # kernels read the rows from the order of a column
        compile_seconds = self._warm_up(rows, targets, weight, **task)
        tree, report, answer = Outcome(*self._solve(rows, targets, weight, **task))
        if doubled is not None:
            tree = doubled.folded(tree)
        if X.shape[1] == 0:
            tree = tree.replace(n_features=0)
        report.compile_seconds += compile_seconds
        if not self._has_all_columns:
            report._leave_open()
        tree = self._completed(tree)
        if tree.kind == "regression" and tree.weight is None:
            tree = self._with_weights(tree, self._rows_of_tree(X), targets, weight)
        self.tree_ = report.tree = tree
        report.evaluate = Certificate(self._objective_terms(), by_row.get("costs"),
                                      getattr(self, "feature_names_in_", None))
        report.binarizer = self.binarizer_ if self._tree_over_columns else None
        self.report_ = report
        return answer

    def _with_weights(self, tree, rows, targets, weight):
        """Return a regression tree with the weight and the impurity of the rows at each node."""
        return tree.with_weights(rows, targets, weight)

    def _objective_terms(self):
        """Return the parameters that define the objective, among others."""
        return self.get_params(deep=False)

    def _doubled_columns(self, X):
        """Return the columns for a search over thresholds where values are missing, or None.

        The starting tree, in the copy that a fit works on, is written over them.
        """
        if not self._doubles_missing or not np.isnan(X).any():
            return None
        doubled = DoubledColumns(X)
        tree = self._given_tree() if hasattr(self, "start") else None
        if isinstance(tree, DecisionTree):
            self.start = doubled.widened(tree)
        return doubled

    def _completed(self, tree):
        """Return a tree of the solver with what it lacks: labels, names, a side for NaN."""
        changes = {}
        if tree.kind == "classification":
            changes["classes"] = self.classes_.copy()
            chosen = getattr(self, "criterion", getattr(self, "objective", "gini"))
            if getattr(chosen, "criterion", chosen) in ("entropy", "log_loss"):
                changes["criterion"] = "entropy"
        if self._accepts_missing and tree.missing_left is None:
            changes["missing_left"] = np.full(tree.n_nodes, -1, np.int8)
        if not self._tree_over_columns:
            if hasattr(self, "feature_names_in_"):
                changes["feature_names"] = tuple(map(str, self.feature_names_in_))
        elif hasattr(self.binarizer_, "columns_"):
            changes["columns"] = self.binarizer_.columns_
            if tree.feature_names is None:
                changes["feature_names"] = tuple(self.binarizer_.get_feature_names_out())
        return tree._with(**changes)

    def _training_arrays(self, X, y, sample_weight):
        """Validate; return rows, targets for kernels, weights or None, and the rows left in."""
        X, y = self._check_training_data(X, y)
        if not self._solves_frames:
            X = self._without_words(X)
        weight = checked_weight(X, sample_weight)
        if getattr(self, "class_weight", None) is not None:
            weight = np.ones(len(y)) if weight is None else weight
            used = weight > 0
            weight[used] *= class_weights(self.class_weight, np.ravel(y)[used])
        X, targets, weight, used = weighted_rows(X, self._check_targets(y), weight)
        self._count_rows_per_leaf(len(targets))
        return X, targets, weight, used

    def _without_words(self, X):
        """Return rows as numbers: each category of a data frame as a column of zeros and ones."""
        for name in ("binarizer_", "_tree_over_columns"):
            vars(self).pop(name, None)
        if not hasattr(X, "columns"):
            return X
        self.binarizer_, self._tree_over_columns = _WordColumns(handle_unknown="warn").fit(X), True
        warn_of_columns(self, X)
        return self._whole(self.binarizer_.transform(X))

    def _whole(self, X):
        """Return rows made of a data frame; refuse missing values where the estimator does."""
        X = np.asarray(X)       # a frame where scikit-learn's ``transform_output`` says so
        if not self._accepts_missing and np.isnan(X).any():
            row, k = np.argwhere(np.isnan(X))[0]
            name = self.binarizer_.columns_.name(self.binarizer_.feature_[k])
            raise ValueError(f"row {row}, column {name} of X holds NaN; {REMEDY}.")
        return X

    def _count_rows_per_leaf(self, n_rows):
        """Make a share of the rows a number, in the copy that a fit works on."""
        if isinstance(getattr(self, "min_samples_leaf", 1), float):
            self.min_samples_leaf = ceil(self.min_samples_leaf * n_rows)

    def _compile_kernels(self, X, y, sample_weight=None):
        """Compile what a fit to such data calls, and return the seconds that it took."""
        copied, *arrays = self._plain_data(X, y, sample_weight)
        return copied._warm_up(*arrays)

    def _plain_data(self, X, y, sample_weight=None):
        """Return a copy with plain parameters, and what a fit would give to ``_solve``."""
        copied = plain_copy(self)
        return copied, *copied._training_arrays(X, y, sample_weight)[:3]

    def _warm_up(self, X, y, sample_weight):
        """Compile what ``_solve`` calls for such data; return the seconds that it took."""
        return 0.0

    def _depth_within(self, n_rows):
        """Return ``max_depth``, no larger than ``n_rows`` rows can reach."""
        largest_depth = max(0, n_rows - 1)
        return largest_depth if self.max_depth is None else min(int(self.max_depth), largest_depth)

    def _depth_in_words(self):
        """Return what a proof says of ``max_depth``."""
        unlimited = self.max_depth is None or self.max_depth >= MOST
        return "any depth" if unlimited else f"depth {self.max_depth}"

    @property
    def _split_limit(self):
        """The number of feature nodes that both of its limits allow; None for no limit."""
        limits = (("max_nodes", 0), ("max_leaf_nodes", 1))
        return min((int(getattr(self, name)) - more for name, more in limits
                    if getattr(self, name, None) is not None), default=None)

    def _node_budget(self, n_rows):
        """Return the maximum number of feature nodes of a tree whose leaves all hold rows."""
        depth, nodes = self._depth_within(n_rows), max(0, n_rows - 1)
        if depth <= nodes.bit_length():
            nodes = min(nodes, 2**depth - 1)
        limit = self._split_limit
        return nodes if limit is None else min(nodes, limit)

    def _given_tree(self):
        """Return ``start``: None, a word, or a tree over the columns that a solver searches.

        A tree that knows what it asks of the table is written over the columns of this fit.
        """
        start, made = self.start, getattr(self, "binarizer_", None)
        if start is None or isinstance(start, str):
            return start
        given, ours = isinstance(start, DecisionTree), isinstance(start, _TreeEstimator)
        if ours:
            check_is_fitted(start, "tree_")
            self._check_names_of(start)
        elif not given and not hasattr(start, "tree_"):
            raise ValueError(f"start is a {type(start).__name__}; use None, a word, a "
                             "DecisionTree, or a fitted tree estimator of odtlib or scikit-learn.")
        tree = start if given else start.tree_ if ours else DecisionTree.from_sklearn(start)
        over_columns = getattr(start, "_tree_over_columns", tree.columns is not None)
        if not over_columns and (given or made is None):
            return tree
        if hasattr(made, "columns_"):
            if not over_columns or tree.columns is not None and (
                    tree.columns.names == made.columns_.names):
                return made.to_columns(tree)
        elif made is not None and tree.feature_names and tree.feature_names == names_of(made):
            return tree
        raise ValueError(f"start is a {type(start).__name__} whose tree tests columns that its "
                         "binariser made, and this fit makes others; give one with the same "
                         "binarizer, one whose tree tests features, or a DecisionTree over these "
                         "columns.")

    def _check_names_of(self, start):
        """Refuse an estimator that was fitted to other columns."""
        theirs, mine = (list(getattr(one, "feature_names_in_", ())) for one in (start, self))
        if theirs and mine and theirs != mine:
            raise ValueError(f"start was fitted to the columns {theirs[:5]} and X has {mine[:5]}; "
                             "give the same columns in the same order.")

    def _given_start(self):
        """Return ``start`` as above, a tree as one for rows in which nothing is missing."""
        tree = self._given_tree()
        return _for_whole_rows(tree) if isinstance(tree, DecisionTree) else tree

    def _start_word(self):
        """Return what the report says of ``start``."""
        return self.start if self.start is None or isinstance(self.start, str) else "tree"

    def _keeps_frame(self, X):
        return hasattr(X, "iloc") and hasattr(X, "columns") and any(
            getattr(kind, "kind", "O") not in "biufcmM" and holds_words(X.iloc[:, j])
            for j, kind in enumerate(X.dtypes))

    def _check_training_data(self, X, y):
        X = pandas_frame(X)
        rows = ready_rows(X, self._row_types, self._accepts_missing)
        targets = None if rows is None else ready_targets(y, len(rows), self._target_options)
        if targets is not None:
            set_features(self, X)               # nothing can be wrong
            return rows, targets
        if not self._keeps_frame(X):
            return checked(self, X, y, missing=self._accepts_missing, types=self._row_types,
                           **self._target_options)
        check_columns(X)
        check_targets_given(y, is_regressor(self))
        validate_data(self, X, y, skip_check_array=True)
        if len(X) == 0:
            raise ValueError("X has no rows; a tree needs at least one.")
        if not self._target_options:
            y = column_or_1d(y, warn=True)
        check_length("y", y, len(X))
        return X, y

    def _check_rows(self, X):
        X = pandas_frame(X)
        if self._tree_over_columns and hasattr(X, "iloc"):
            check_columns(X)
            if len(X) == 0:
                raise ValueError("X has no rows; give at least one.")
            return validate_data(self, X, reset=False, skip_check_array=True)
        if self._tree_over_columns and hasattr(self.binarizer_, "columns_") \
                and self.binarizer_.categories_:
            refuse_array(self)
        return checked(self, X, reset=False, missing=self._accepts_missing, types=NUMBERS)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._accepts_missing
        tags.input_tags.categorical = True
        tags.input_tags.sparse = self._sparse is not None
        return tags

    def _to_tree_columns(self, X):
        if not self._tree_over_columns:
            return X
        exact = hasattr(X, "columns") or X.dtype == np.float64      # as the binariser was fitted
        return self._whole(self.binarizer_.transform(X if exact else X.astype(np.float64)))

    def _rows_of_tree(self, X):
        """Return the rows that ``_solve`` got as the tree takes them."""
        return X

    def _tree_rows(self, X):
        check_is_fitted(self, "tree_")
        return self._to_tree_columns(self._check_rows(X))

    def predict(self, X: ArrayLike) -> np.ndarray:
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

    def apply(self, X: ArrayLike) -> np.ndarray:
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

    def decision_path(self, X: ArrayLike) -> csr_matrix:
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

    def get_depth(self) -> int:
        """Return the depth of the fitted tree: the number of splits on its longest path.

        Returns
        -------
        int
        """
        check_is_fitted(self, "tree_")
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves of the fitted tree.

        Returns
        -------
        int
        """
        check_is_fitted(self, "tree_")
        return self.tree_.n_leaves

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of the impurity that the splits of each feature remove, as in scikit-learn.

        One number per feature; where the binariser does not know which feature a column comes
        from, one per column.
        """
        check_is_fitted(self, "tree_")
        importances = self.tree_.feature_importances()
        if not self._tree_over_columns or not hasattr(self.binarizer_, "feature_"):
            return importances
        return np.bincount(self.binarizer_.feature_, importances, minlength=self.n_features_in_)

    def to_sklearn(self, X: ArrayLike | None = None
                   ) -> DecisionTreeClassifier | DecisionTreeRegressor | Pipeline:
        """Return the fitted tree as a scikit-learn estimator, for tools that are made for those.

        Where the tree tests columns that the binariser made, such as those of categories, it is a
        pipeline of binariser and tree.  Its step ``"tree"`` is what ``plot_tree``, SHAP or ONNX
        take, on rows of ``pipeline[:-1].transform(X)``.

        skl2onnx (1.20) sends missing values to the right child of every split, whatever a tree of
        scikit-learn says.  Tools that take only numbers as labels, such as dtreeviz, read
        ``tree_.replace(classes=None).to_sklearn()``, whose labels are positions in ``classes_``.

        Parameters
        ----------
        X : array, shape (n_rows, n_features), optional
            Rows to check; see :meth:`odtlib.DecisionTree.to_sklearn`.

        Returns
        -------
        sklearn.tree.DecisionTreeClassifier, sklearn.tree.DecisionTreeRegressor or Pipeline
        """
        check_is_fitted(self, "tree_")
        if self._tree_over_columns:
            maker, tree = copy(self.binarizer_), self.tree_
            maker._keeps_gaps = True
            if tree.feature_names and "pandas" in sys.modules and hasattr(maker, "set_output"):
                maker.set_output(transform="pandas")    # with the names that the tree knows
            else:
                tree = tree.replace(feature_names=None)
            return Pipeline([("columns", maker), ("tree", tree.to_sklearn(
                None if X is None else self.binarizer_.transform(X)))])
        return self.tree_.to_sklearn(X)

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the fitted tree with matplotlib.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw (default: a new figure of fitting size).
        **options
            Passed to :func:`odtlib.plotting.draw_tree`.

        Returns
        -------
        matplotlib.axes.Axes
        """
        check_is_fitted(self, "tree_")
        return self.tree_.plot(ax, **options)

    def verify(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
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
        X = self._check_rows(X)
        return self.report_.verify(X, y, sample_weight)


class TreeClassifier(ClassifierMixin, _TreeEstimator):
    """Base class of the classifiers; a subclass defines ``_solve``."""

    classes_: np.ndarray
    _target_options = {}

    def _check_targets(self, y):
        self.classes_, codes = coded(y, check_labels)
        return codes

    @property
    def n_outputs_(self) -> int:
        """Number of outputs, which is 1."""
        check_is_fitted(self, "tree_")
        return 1

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        check_is_fitted(self, "classes_")
        return len(self.classes_)

    def predict_log_proba(self, X: ArrayLike) -> np.ndarray:
        """Return the logarithm of :meth:`predict_proba`; minus infinity for a share of zero.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Rows like those of the fit.

        Returns
        -------
        array, shape (n_rows, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
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


class SeveralTargets:
    """Mixin of the estimators that predict several targets at once."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class TreeRegressor(SeveralTargets, RegressorMixin, _TreeEstimator):
    """Base class of the regressors, one target or several; a subclass defines ``_solve``."""

    _target_options = {"multi_output": True, "y_numeric": True}

    def _check_targets(self, y):
        y = numeric_targets(y)
        self.n_outputs_ = 1 if y.ndim == 1 else y.shape[1]
        return np.ascontiguousarray(y.reshape(len(y), -1))


class SingleTargetRegressor(TreeRegressor):
    """Base class of the regressors that predict one target only."""

    _target_options = {"y_numeric": True}

    def _check_targets(self, y):
        return numeric_targets(column_or_1d(y))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags


def _estimator_has(method):
    """Return the condition that a meta-estimator's estimator, by default a tree, has a method."""
    return lambda self: self.estimator is None or hasattr(self.estimator, method)


class OverEstimator:
    """Mixin of the meta-estimators: the shape of the tree that is their fitted ``estimator_``."""

    @available_if(_estimator_has("get_depth"))
    def get_depth(self) -> int:
        """Return the depth of the estimator's tree; only where the estimator has it.

        Returns
        -------
        int
        """
        check_is_fitted(self, "estimator_")
        return self.estimator_.get_depth()

    @available_if(_estimator_has("get_n_leaves"))
    def get_n_leaves(self) -> int:
        """Return the number of leaves of the estimator's tree; only where the estimator has it.

        Returns
        -------
        int
        """
        check_is_fitted(self, "estimator_")
        return self.estimator_.get_n_leaves()

    @property
    def feature_importances_(self) -> np.ndarray:
        """Importance of each feature for the estimator; only where the estimator has it."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.feature_importances_


def warn_of_columns(model, X):
    """Warn where a binariser of odtlib made columns that the user should know of."""
    binarizer = model.binarizer_
    if not hasattr(binarizer, "columns_"):
        return
    names = getattr(model, "feature_names_in_", range(model.n_features_in_))
    for j, categories in binarizer.categories_.items():
        if len(categories) > MANY_CATEGORIES:
            warn(f"feature {visible(names[j])} has {len(categories)} categories, one column for "
                 "each; leave it out if it identifies the rows, or merge the rare ones.")
    varies = X.nunique().to_numpy() > 1 if hasattr(X, "nunique") else (X != X[0]).any(axis=0)
    made = np.bincount(binarizer.feature_, minlength=len(varies)) > 0
    lost = [visible(names[j]) for j in np.flatnonzero(varies & ~made)]
    if 2 * len(lost) > varies.sum():
        shown = ", ".join(lost[:3]) + (", ..." if len(lost) > 3 else "")
        warn(f"{type(binarizer).__name__} made no column of {len(lost)} of {varies.sum()} features "
             f"({shown}), and features that help only in combination are lost; "
             "binarizer='auto' keeps every feature.")


def names_of(transformer):
    """Return the names of the columns that a transformer makes, None where it has none."""
    named = getattr(transformer, "get_feature_names_out", None)
    return None if named is None else tuple(map(str, named()))


def _zeros_and_ones(X):
    """Return rows of 0/1 features as uint8, the same memory where they are, None for others."""
    some = X[:64]                       # tells nearly always
    if X.dtype == bool:
        return X.view(np.uint8)
    if X.dtype == np.uint8:
        return X if X.max(initial=0) <= 1 else None
    if not ((some == 0) | (some == 1)).all():
        return None
    with np.errstate(invalid="ignore"):
        narrow = X.astype(np.uint8, copy=False)
    same = narrow is X or np.array_equal(narrow, X)
    return narrow if same and narrow.max(initial=0) <= 1 else None


class BinarisingMixin:
    """Mixin of the estimators that work on 0/1 columns, with a parameter ``binarizer``."""

    _row_types = NUMBERS
    _sparse = "bits"
    _solves_frames = True

    @property
    def _has_all_columns(self):
        return getattr(self.binarizer_, "complete_", True)

    def _most_copies(self, n_rows):
        """Return how many rows, with copies, the binariser may see."""
        return 20 * n_rows

    def _columns(self, X, y, sample_weight, clock=None):
        """Return the 0/1 columns of the training rows; sets ``binarizer_``.

        The binariser sees a row with a whole weight so many times; other weights do not move cuts.
        One of odtlib stops when the clock has expired.
        """
        self.binarizer_, self._tree_over_columns = None, False
        if not hasattr(X, "columns"):
            columns = _zeros_and_ones(X)
            if columns is not None:
                return columns
            X = X.astype(np.float64, copy=False)
        if self.binarizer is None:
            raise ValueError("binarizer=None needs features that are 0 or 1 and X has others; "
                             "give binarizer='all' or another one.")
        chosen = self.binarizer
        self.binarizer_ = BINARIZERS[chosen](handle_unknown="warn") \
            if isinstance(chosen, str) else clone(chosen)
        X = self._named(X)
        frame = hasattr(X, "columns")
        seen_X, seen_y, seen_weight = X, y, sample_weight
        if (sample_weight is not None and np.all(sample_weight == np.floor(sample_weight))
                and sample_weight.sum() <= self._most_copies(len(y))):
            seen = np.repeat(np.arange(len(y)), sample_weight.astype(np.int64))
            seen_X = X.iloc[seen] if frame else X[seen]
            seen_y, seen_weight = y[seen], None
        if hasattr(self.binarizer_, "_fit_until"):
            clock = clock or Clock()
            self.binarizer_._fit_until(clock, seen_X, seen_y, sample_weight=seen_weight,
                                       regression=is_regressor(self))
            columns = self.binarizer_._encode_until(clock, X)
            if hasattr(self, "feature_names_in_"):      # it saw an array made of a frame of numbers
                self.binarizer_.feature_names_in_ = self.feature_names_in_
        else:
            columns = self.binarizer_.fit(seen_X, seen_y).transform(X)
            if issparse(columns):
                raise ValueError("the binarizer made a sparse table; give one that makes an array, "
                                 "by sparse_output=False or encode='onehot-dense'.")
            columns = np.asarray(columns)
            if not np.all((columns == 0) | (columns == 1)):
                raise ValueError("the binarizer made columns that are not 0/1; give one that does.")
        if self._has_all_columns:
            warn_of_columns(self, X)
        self._tree_over_columns = frame or not hasattr(self.binarizer_, "to_original")
        return columns.astype(np.uint8, copy=False)

    def _named(self, X):
        """Return rows as a frame where the transformer has their names, or may want them."""
        if hasattr(X, "columns") or not hasattr(self, "feature_names_in_") or (
                hasattr(self.binarizer_, "_fit_until")
                and not hasattr(self.binarizer_, "feature_names_in_")):
            return X
        import pandas as pd
        return pd.DataFrame(X, columns=self.feature_names_in_)

    def _to_tree_columns(self, X):
        """As in the base class; NaN where a row misses what no row of the fit missed."""
        if not self._tree_over_columns or not hasattr(self.binarizer_, "missing_"):
            return super()._to_tree_columns(self._named(X) if self._tree_over_columns else X)
        return self.binarizer_._encode(X)

    def _rows_of_tree(self, X):
        return self._to_tree_columns(X)

    def _in_features(self, tree):
        """Write a tree over the columns in the original features, or name its columns."""
        if self._tree_over_columns:
            tree = tree.replace(feature_names=names_of(self.binarizer_))
        elif self.binarizer_ is not None:
            tree = self.binarizer_.to_original(tree)
        return tree

