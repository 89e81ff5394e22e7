"""MurTree: optimal trees over 0/1 predicates by dynamic programming and search.

A reader follows it in this order: :mod:`preparation <odtlib.murtree.preparation>` (what the search
sees), ``simd`` and ``_kernels`` (the depth-two algorithm on frequency counts), ``_weights`` (the
same on sums), ``_cache``, ``_search`` (Eq. 1 on an explicit stack), ``solver`` (slices, limits,
the tree) and ``classifier``.
"""

from odtlib.murtree.classifier import MurTreeClassifier

__all__ = ["MurTreeClassifier"]
