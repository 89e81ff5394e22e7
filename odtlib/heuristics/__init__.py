"""Heuristics: CART, tuned CART, local search over trees, and the starts that solvers take."""

from odtlib.heuristics.cart import CARTClassifier, TunedCARTClassifier
from odtlib.heuristics.local_search import LocalSearchTreeClassifier
from odtlib.heuristics.start import starting_tree, warm_up_start
from odtlib.heuristics.threshold_sampling import sample_splits, warm_up_sampling

__all__ = ["CARTClassifier", "LocalSearchTreeClassifier", "TunedCARTClassifier", "sample_splits",
           "starting_tree", "warm_up_sampling", "warm_up_start"]
