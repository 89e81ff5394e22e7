"""Feasible sets of target vectors: describe one, project onto it, check vectors against it.

Every node problem of an output-constrained tree is a projection, because

$$\\sum_i \\|y - y_i\\|^2 = n\\,\\|y - \\bar y\\|^2 + \\sum_i \\|\\bar y - y_i\\|^2 ,$$

so a set needs little: ``project``, ``contains`` and ``violation``.  Sets combine: ``a & b`` is the
intersection, ``UnionOf([a, b])`` allows either.  Targets are counted from zero.
"""

from odtlib.constrained.sets.base import FeasibleSet
from odtlib.constrained.sets.base import Intersection as Intersection
from odtlib.constrained.sets.base import Piece as Piece
from odtlib.constrained.sets.logic import Implication, Indicator, MixedBinary, UnionOf
from odtlib.constrained.sets.shapes import (
    Affine,
    AtMostKNonzero,
    Box,
    Custom,
    Hierarchy,
    Polyhedron,
    Simplex,
    SparseSimplex,
)

__all__ = [
    "Affine",
    "AtMostKNonzero",
    "Box",
    "Custom",
    "FeasibleSet",
    "Hierarchy",
    "Implication",
    "Indicator",
    "MixedBinary",
    "Polyhedron",
    "Simplex",
    "SparseSimplex",
    "UnionOf",
]
