"""Classification with constraints among the targets: one label for every feasible combination."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from odtlib._validation import (
    check_labels,
    checked,
    checked_weight,
    class_weights,
    weighted_rows,
    with_plain_parameters,
)
from odtlib.arrays import distinct_rows
from odtlib.constrained.sets import FeasibleSet
from odtlib.estimator import DescribedParameters, OverEstimator, SeveralTargets, _estimator_has
from odtlib.tree import DecisionTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, repr=False)
class ConstrainedTreeClassifier(SeveralTargets, DescribedParameters, OverEstimator,
                                MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Predict several class targets together, only in feasible combinations.

    The reduction of Birbil et al. (2024, section 1): every feasible combination of target values
    seen in training becomes one label of an ordinary classifier.

    Parameters
    ----------
    constraints : FeasibleSet or callable, optional
        A set (for numeric targets), or ``constraints(combination) -> bool`` for one row of target
        values; None allows every combination.
    estimator : classifier, optional
        What learns the labels (default: scikit-learn's ``DecisionTreeClassifier``); any classifier
        of :mod:`odtlib` serves.
    class_weight : dict, list of dicts, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn.  A dict is for one target, a list has a dict for
        each of several, whose weights multiply.  They multiply the weights of the rows;
        "balanced" counts the rows that train.  A combination of weight zero is no label.  Weights
        of whole combinations are the ``class_weight`` of the estimator.
    on_infeasible_targets : {"raise", "drop"}, default="raise"
        What to do with training rows whose combination is not feasible.

    Attributes
    ----------
    combinations_ : array, shape (n_combinations, n_targets)
        The target values behind each label.
    estimator_ : classifier
        The fitted clone; its classes are indices into ``combinations_``.
    classes_ : array or list of arrays
        Classes of each target.
    """

    _parameter_constraints = {
        "constraints": [FeasibleSet, callable, None],
        "estimator": [HasMethods(["fit", "predict"]), None],
        "class_weight": [dict, list, StrOptions({"balanced"}), None],
        "on_infeasible_targets": [StrOptions({"raise", "drop"})],
    }

    constraints: FeasibleSet | Callable | None = None
    _: KW_ONLY
    estimator: BaseEstimator | None = None
    class_weight: dict | list | str | None = None
    on_infeasible_targets: str = "raise"

    def _allowed(self, combinations):
        if self.constraints is None:
            return np.ones(len(combinations), bool)
        if isinstance(self.constraints, FeasibleSet):
            try:
                values = combinations.astype(np.float64)
            except (TypeError, ValueError):
                raise ValueError("a FeasibleSet needs numeric targets; encode the labels as "
                                 "numbers, or pass a callable on one combination.") from None
            return self.constraints.contains(values)
        return np.array([bool(self.constraints(c)) for c in combinations])

    @with_plain_parameters
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Label the feasible combinations and fit the classifier.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Training rows, without missing values.
        y : array, shape (n_rows,) or (n_rows, n_targets)
            Class of each target.
        sample_weight : array, shape (n_rows,), optional
            Weight of every row (default: one each); a row of weight zero is left out.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a training row is not feasible and ``on_infeasible_targets="raise"``, if no
            combination is left, or if ``class_weight`` is given and the estimator's
            ``fit`` takes no ``sample_weight``.
        """
        X, y = checked(self, X, y, multi_output=True)
        for column in y.reshape(len(X), -1).T:
            check_labels(column)
        self._single = np.ndim(y) == 1
        X, y, sample_weight, _ = weighted_rows(X, y, checked_weight(X, sample_weight))
        Y = np.asarray(y).reshape(len(X), -1)
        self.n_outputs_ = Y.shape[1]
        by_target = np.column_stack([np.unique(column, return_inverse=True)[1] for column in Y.T])
        _, first, codes = distinct_rows(by_target)
        combinations = Y[first]
        allowed = self._allowed(combinations)
        rows = allowed[codes]
        if not rows.all():
            worst = int(np.flatnonzero(~rows)[0])
            if self.on_infeasible_targets == "raise":
                raise ValueError(f"{int(np.sum(~rows))} of {len(X)} training rows have an "
                                 f"infeasible combination of targets, the first is row {worst}: "
                                 f"{Y[worst].tolist()}. Pass on_infeasible_targets='drop' to leave "
                                 "them out, or correct the data or the constraints.")
        estimator = DecisionTreeClassifier(random_state=0) if self.estimator is None else \
            clone(self.estimator)
        weight = np.ones(len(X)) if sample_weight is None else sample_weight
        if self.class_weight is not None and rows.any():
            if not has_fit_parameter(estimator, "sample_weight"):
                raise ValueError("class_weight needs an estimator whose fit takes sample_weight, "
                                 f"and that of {type(estimator).__name__} does not; give another "
                                 "estimator, or leave class_weight out.")
            weight = weight.copy()
            weight[rows] *= class_weights(self.class_weight, Y[rows])
        rows &= weight > 0
        kept, labels = np.unique(codes[rows], return_inverse=True)
        if not len(kept):
            raise ValueError("no training row with a weight above zero has a feasible combination "
                             "of targets; correct the data or the constraints.")
        self.combinations_ = combinations[kept]
        classes = [np.unique(column) for column in self.combinations_.T]
        self.classes_ = classes[0] if self._single else classes
        options = {} if np.all(weight[rows] == 1) else {"sample_weight": weight[rows]}
        self.estimator_ = estimator.fit(X[rows], labels, **options)
        return self

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict one feasible combination for each row.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Rows like those of the fit.

        Returns
        -------
        array, shape (n_rows,) or (n_rows, n_targets)
        """
        X = self._rows(X)
        Y = self.combinations_[self.estimator_.predict(X)]
        return Y[:, 0] if self._single else Y

    def _rows(self, X):
        check_is_fitted(self, "estimator_")
        return checked(self, X, reset=False)

    @property
    def n_classes_(self) -> int | list[int]:
        """Number of classes; one number for each of several targets."""
        check_is_fitted(self, "estimator_")
        return len(self.classes_) if self._single else [len(classes) for classes in self.classes_]

    @available_if(_estimator_has("predict_proba"))
    def predict_proba(self, X: ArrayLike) -> np.ndarray | list[np.ndarray]:
        """Return the probability of each class of each target; only where the estimator has it.

        That of a class is the sum over the combinations that hold it.  The most probable classes
        of several targets need not be a feasible combination, nor the one predicted.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Rows like those of the fit.

        Returns
        -------
        array, shape (n_rows, n_classes), or list of such arrays
            Columns in the order of ``classes_``; one array for each of several targets.
        """
        X = self._rows(X)
        by_combination = self.estimator_.predict_proba(X)
        classes = [self.classes_] if self._single else self.classes_
        shares = [by_combination @ (column[:, None] == values)
                  for column, values in zip(self.combinations_.T, classes, strict=True)]
        return shares[0] if self._single else shares

    @available_if(_estimator_has("predict_proba"))
    def predict_log_proba(self, X: ArrayLike) -> np.ndarray | list[np.ndarray]:
        """Return the logarithm of :meth:`predict_proba`; minus infinity for zero.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Rows like those of the fit.

        Returns
        -------
        array, shape (n_rows, n_classes), or list of such arrays
        """
        shares = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(shares) if self._single else [np.log(share) for share in shares]

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the estimator's tree with matplotlib; its labels are combinations.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw (default: a new figure of fitting size).
        **options
            Passed to :func:`odtlib.plotting.draw_tree`.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ValueError
            If the estimator is no tree.
        """
        check_is_fitted(self, "estimator_")
        tree = getattr(self.estimator_, "tree_", None)
        if not isinstance(tree, DecisionTree):
            tree = DecisionTree.from_sklearn(self.estimator_)
        names = getattr(self, "feature_names_in_", None)
        if names is not None and tree.feature_names is None:   # columns of a binariser have names
            tree = tree.replace(feature_names=names)
        return tree.replace(classes=[", ".join(map(str, combination)) for combination
                                     in self.combinations_.tolist()]).plot(ax, **options)

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of rows whose whole combination is right.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Rows.
        y : array, shape (n_rows,) or (n_rows, n_targets)
            True classes.
        sample_weight : array, shape (n_rows,), optional
            Weight of every row.

        Returns
        -------
        float
        """
        predicted = self.predict(X)
        wanted = (*predicted.shape, 1)[:2]
        if np.shape(y) not in (predicted.shape, wanted):
            raise ValueError(f"y has shape {np.shape(y)} and the predictions {predicted.shape}; "
                             "give the true classes of these rows.")
        right = np.asarray(predicted.reshape(wanted) == np.reshape(y, wanted)).all(axis=1)
        return float(np.average(right, weights=checked_weight(predicted, sample_weight)))
