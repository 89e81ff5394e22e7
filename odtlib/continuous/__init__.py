"""Exact trees over all thresholds of numeric features, no binarisation."""

from odtlib.continuous.classifier import ContinuousTreeClassifier

__all__ = ["ContinuousTreeClassifier"]
