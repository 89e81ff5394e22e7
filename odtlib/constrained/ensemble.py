"""Ensembles with feasible predictions: average or add first, project last.

The feasible prediction of least squared error is the projection of the conditional mean, so a
forest should estimate that mean as well as it can and project once.  An average of feasible trees
is feasible for convex sets only.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from odtlib._validation import (
    checked,
    checked_weight,
    warn,
    weighted_rows,
    with_plain_parameters,
)
from odtlib.constrained.regressor import (
    SHARED,
    ConstrainedTreeRegressor,
    prepare_targets,
    stated_problem,
)
from odtlib.constrained.sets.base import FeasibleSet
from odtlib.estimator import DescribedParameters, OverEstimator, SeveralTargets, TreeRegressor
from odtlib.report import Clock


class _ProjectedPredictions(SeveralTargets, DescribedParameters, RegressorMixin, BaseEstimator):
    """Validate, let the subclass learn and predict anything, and project.

    A subclass defines ``_learn(X, Y, sample_weight)`` and ``_raw(X)``, which returns predictions
    of shape (n_rows, n_targets).
    """

    @with_plain_parameters
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from rows and targets; what is predicted later keeps the constraints.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Training rows: numbers, without missing values.
        y : array, shape (n_rows,) or (n_rows, n_targets)
            Targets.
        sample_weight : array, shape (n_rows,), optional
            Weight of every row (default: one each); a row of weight zero is left out.

        Returns
        -------
        self
        """
        X, y = checked(self, X, y, multi_output=True, y_numeric=True)
        self._single = np.ndim(y) == 1
        Y = TreeRegressor._check_targets(self, y).copy()
        X, Y, sample_weight, _ = weighted_rows(X, Y, checked_weight(X, sample_weight))
        self._feasible, loss, _ = stated_problem(self, Y, sample_weight)
        self.target_weights_ = loss.weights
        self._learn(X, Y, sample_weight)
        return self

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict, and project on the feasible set.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Rows like those of the fit.

        Returns
        -------
        array, shape (n_rows,) or (n_rows, n_targets)
            Feasible, unless a forest averages projected trees and the set is not convex.
        """
        check_is_fitted(self, "target_weights_")
        Y = self._raw(checked(self, X, reset=False))
        if getattr(self, "aggregate", "project") == "project":
            Y = self._feasible.project(Y, self.target_weights_)
        return Y[:, 0] if self._single else Y


@dataclass(eq=False, repr=False)
class ConstrainedForestRegressor(_ProjectedPredictions):
    """Grow a random forest whose every prediction is feasible, for any set.

    Parameters
    ----------
    constraints : FeasibleSet, optional
        A set of :mod:`odtlib.constrained.sets`; None allows every vector.
    n_estimators : int, default=100
        Number of trees.
    aggregate : {"project", "average"}, default="project"
        "project" averages unconstrained leaves and projects the average: feasible for any set.
        "average" averages trees whose leaves are projected, for comparison: feasible only for
        convex sets.
    split : {"mean", "exact"}, default="mean"
        How splits are evaluated, see :class:`ConstrainedTreeRegressor`.
    bootstrap : bool, default=True
        Whether each tree sees a sample of the rows, drawn with replacement.
    max_depth : int, optional
        Maximum depth of the tree.  None for no limit.
    min_samples_split : int, default=2
        Minimum number of samples that a node needs to be split.
    min_samples_leaf : int or float, default=1
        Minimum number of samples per leaf.  A float is a share of the training rows.
    max_features : int or float, default=1.0
        Number of features drawn at each node, or their share.
    target_weights : None, "standardize" or array of shape (n_targets,), default=None
        Weight of each target in the loss and in the projection.
    on_infeasible_targets : {"raise", "project", "keep"}, default="raise"
        What to do with training targets outside the set.
    tol : float, default=1e-6
        Tolerance of the check of the training targets.
    time_limit : float, optional
        Time limit in seconds; None for no limit.  The trees grown by then make the forest, with a
        warning that says how many they are; a single one may be cut short.
    n_jobs : int, optional
        Number of threads; None means 1 and -1 all processors.
    random_state : int, RandomState instance, optional
        Seed of the random choices.
    verbose : int, default=0
        Verbosity: 0 is silent, 1 shows progress.

    Attributes
    ----------
    estimators_ : list of ConstrainedTreeRegressor
    target_weights_ : array, shape (n_targets,)
    """

    _parameter_constraints = {
        **SHARED,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "aggregate": [StrOptions({"project", "average"})],
        "split": [StrOptions({"mean", "exact"})],
        "bootstrap": ["boolean"],
        "max_features": [Interval(Integral, 1, None, closed="left"),
                         Interval(Real, 0, 1, closed="right")],
        **{name: ConstrainedTreeRegressor._parameter_constraints[name]
           for name in ("max_depth", "min_samples_split", "min_samples_leaf", "time_limit",
                        "n_jobs", "random_state", "verbose")},
    }

    constraints: FeasibleSet | None = None
    _: KW_ONLY
    n_estimators: int = 100
    aggregate: str = "project"
    split: str = "mean"
    bootstrap: bool = True
    max_depth: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: float = 1
    max_features: float = 1.0
    target_weights: str | ArrayLike | None = None
    on_infeasible_targets: str = "raise"
    tol: float = 1e-6
    time_limit: float | None = None
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

    def _learn(self, X, Y, sample_weight):
        from joblib import Parallel, delayed

        def tree(**options):
            return ConstrainedTreeRegressor(
                self.constraints, split=self.split,
                leaf="mean" if self.aggregate == "project" else "project",
                target_weights=self.target_weights_, max_depth=self.max_depth,
                min_samples_split=self.min_samples_split, min_samples_leaf=self.min_samples_leaf,
                max_features=self.max_features, on_infeasible_targets="keep", tol=self.tol,
                **options)

        tree()._warm_up(X, Y, sample_weight)
        clock = Clock(self.time_limit)
        Y, _ = prepare_targets(self, Y, self._feasible, self.target_weights_)
        random = check_random_state(self.random_state)
        seeds = [random.randint(2**31) for _ in range(int(self.n_estimators))]

        def one(number):
            """Grow a tree; return None where time is over, but for the first."""
            if number > 0 and clock.expired:
                return None
            rows = np.arange(len(X))
            draw = np.random.RandomState(seeds[number])
            if self.bootstrap:
                rows = draw.randint(len(X), size=len(X))
            limit = None if self.time_limit is None else max(clock.remaining, 1e-9)
            grown = tree(random_state=draw.randint(2**31), time_limit=limit).fit(
                X[rows], Y[rows], None if sample_weight is None else sample_weight[rows])
            if grown.report_.ended == "interrupted":
                raise KeyboardInterrupt              # it ends the forest, not a tree of it
            return None if number > 0 and grown.report_.ended == "time_limit" else grown

        grown = Parallel(n_jobs=self.n_jobs, prefer="threads", verbose=self.verbose)(
            delayed(one)(number) for number in range(len(seeds)))
        self.estimators_ = [each for each in grown if each is not None]
        if len(self.estimators_) < len(seeds):
            warn(f"the time limit ended the forest after {len(self.estimators_)} of {len(seeds)} "
                 "trees; give more time, or fewer or smaller trees.")

    def _raw(self, X):
        total = sum(tree.tree_.value[tree.tree_.apply(X)] for tree in self.estimators_)
        return total / len(self.estimators_)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Mean importance of each feature in the trees that have splits, as in scikit-learn."""
        check_is_fitted(self, "estimators_")
        trees = [tree.feature_importances_ for tree in self.estimators_ if tree.tree_.n_splits]
        mean = np.mean([np.zeros(self.n_features_in_)] if not trees else trees, axis=0)
        return mean / mean.sum() if mean.any() else mean


@dataclass(eq=False, repr=False)
class ProjectedRegressor(OverEstimator, MetaEstimatorMixin, _ProjectedPredictions):
    """Project the predictions of any regressor: the baseline that every claim must beat.

    Parameters
    ----------
    estimator : regressor, optional
        Anything with ``fit`` and ``predict`` for several targets (default: scikit-learn's
        ``DecisionTreeRegressor``).
    constraints : FeasibleSet, optional
        A set of :mod:`odtlib.constrained.sets`; None allows every vector.
    target_weights : None, "standardize" or array of shape (n_targets,), default=None
        Weight of each target in the projection.

    Attributes
    ----------
    estimator_ : regressor
        The fitted clone.
    """

    _parameter_constraints = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        **{name: SHARED[name] for name in ("constraints", "target_weights")},
    }

    estimator: BaseEstimator | None = None
    constraints: FeasibleSet | None = None
    _: KW_ONLY
    target_weights: str | ArrayLike | None = None

    def _learn(self, X, Y, sample_weight):
        estimator = DecisionTreeRegressor(random_state=0) if self.estimator is None else \
            clone(self.estimator)
        options = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.estimator_ = estimator.fit(X, Y[:, 0] if self._single else Y, **options)

    def _raw(self, X):
        return np.asarray(self.estimator_.predict(X), dtype=np.float64).reshape(len(X), -1)
