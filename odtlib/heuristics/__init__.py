"""Heuristics: CART, tuned CART, local search over trees, and sampled thresholds."""

from odtlib.heuristics.cart import CARTClassifier, TunedCARTClassifier
from odtlib.heuristics.local_search import LocalSearchTreeClassifier
from odtlib.heuristics.threshold_sampling import sample_splits

__all__ = ["CARTClassifier", "LocalSearchTreeClassifier", "TunedCARTClassifier", "sample_splits"]
