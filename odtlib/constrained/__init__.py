"""Trees and forests whose every prediction satisfies constraints among the targets."""

from odtlib.constrained import sets
from odtlib.constrained.regressor import ConstrainedTreeRegressor

__all__ = ["ConstrainedTreeRegressor", "sets"]
