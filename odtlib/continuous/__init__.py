"""Exact trees over all thresholds of numeric features, no binarisation."""

from odtlib.continuous.classifier import ContinuousTreeClassifier
from odtlib.continuous.regressor import ContinuousTreeRegressor

__all__ = ["ContinuousTreeClassifier", "ContinuousTreeRegressor"]
