"""Boosted trees, to be wrapped in a :class:`~odtlib.ProjectedRegressor`."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from odtlib import ConstrainedTreeRegressor


class BoostedTrees(RegressorMixin, BaseEstimator):
    """Boost unconstrained trees for squared error.

    The mean of the targets (``start_``) and a share ``learning_rate`` of each of ``n_estimators``
    trees (``estimators_``) are added up.
    """

    def __init__(self, n_estimators=100, learning_rate=0.1, max_depth=3, min_samples_leaf=1):
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf

    def fit(self, X, y, sample_weight=None):
        """Add trees to the mean, each grown on the residuals."""
        residuals = np.asarray(y, dtype=np.float64)
        self.start_ = np.average(residuals, axis=0, weights=sample_weight)
        residuals = residuals - self.start_
        self.estimators_ = []
        for _ in range(self.n_estimators):
            tree = ConstrainedTreeRegressor(
                max_depth=self.max_depth, min_samples_leaf=self.min_samples_leaf, random_state=0)
            tree.fit(X, residuals, sample_weight)
            residuals = residuals - self.learning_rate * tree.predict(X)
            self.estimators_.append(tree)
        return self

    def predict(self, X):
        """Add the trees to the mean."""
        return self.start_ + self.learning_rate * sum(
            tree.predict(X) for tree in self.estimators_)
