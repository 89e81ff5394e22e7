"""Trees and forests whose every prediction satisfies constraints among the targets."""

from odtlib.constrained import sets
from odtlib.constrained.builder import make_loss
from odtlib.constrained.classifier import ConstrainedTreeClassifier
from odtlib.constrained.ensemble import (
    ConstrainedForestRegressor,
    ProjectedRegressor,
)
from odtlib.constrained.optimal import OptimalConstrainedTreeRegressor
from odtlib.constrained.regressor import ConstrainedTreeRegressor

__all__ = [
    "ConstrainedForestRegressor",
    "ConstrainedTreeClassifier",
    "ConstrainedTreeRegressor",
    "OptimalConstrainedTreeRegressor",
    "ProjectedRegressor",
    "make_loss",
    "sets",
]
