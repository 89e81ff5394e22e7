"""MurTree: optimal trees over 0/1 predicates by dynamic programming and search.

A reader follows it in this order: :mod:`preparation <odtlib.murtree.preparation>` (what the search
sees), ``_kernels`` (the depth-two algorithm on frequency counts), ``_weights`` (the
same on sums), ``_cache``, ``_search`` (Eq. 1 on an explicit stack), ``solver`` (slices, limits,
the tree) and ``classifier``.  Regression is ``_regression_kernels`` under the same search, and
``regressor``.  Other questions are searches of their own: ``fronts`` and ``_front_kernels`` (F1 and
fairness), ``levels`` (penalties by level) and ``all_trees``; ``questions`` puts them together.
"""

from odtlib.murtree.classifier import MurTreeClassifier
from odtlib.murtree.regressor import MurTreeRegressor

__all__ = ["MurTreeClassifier", "MurTreeRegressor"]
