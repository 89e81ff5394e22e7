"""Column generation over paths, and exact solutions of the problem that it restricts."""

from odtlib.column_generation.classifier import ColumnGenerationClassifier
from odtlib.column_generation.options import (
    ColumnGenerationSearch,
    ThresholdSampling,
    TreeLimits,
)
from odtlib.column_generation.restricted import RestrictedTreeClassifier, optimum

__all__ = ["ColumnGenerationClassifier", "ColumnGenerationSearch", "RestrictedTreeClassifier",
           "ThresholdSampling", "TreeLimits", "optimum"]
