"""MurTree: optimal trees over 0/1 predicates by dynamic programming and search.

A reader follows it in this order: :mod:`preparation <odtlib.murtree.preparation>` (what the search
sees), ``_kernels`` (the depth-two algorithm on frequency counts), ``_weights`` (the
same on sums), ``_cache``, ``_search`` (Eq. 1 on an explicit stack), ``solver`` (slices, limits,
the tree), ``weighting`` (other objectives as errors of weighted rows), ``run`` (one fit) and
``classifier``; ``options`` holds the switches.  Any other objective is a file in ``objectives``:
``_sums`` and ``_additive`` are its kernels under the same search, ``additive`` is its fit, and
``regressor`` the estimator.  Other tasks are in ``extensions``: ``good_trees`` asks a search for
all trees within a tolerance of the optimum, and ``fronts`` (errors of both classes, fairness) has
one of its own.
"""

from odtlib.murtree.classifier import MurTreeClassifier
from odtlib.murtree.objectives.survival import SurvivalTree
from odtlib.murtree.options import MurTreeSearch
from odtlib.murtree.regressor import MurTreeRegressor

__all__ = ["MurTreeClassifier", "MurTreeRegressor", "MurTreeSearch", "SurvivalTree"]
