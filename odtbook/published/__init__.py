"""What exists to repeat a paper: programs as subproblems and published variants of cuts."""

from odtbook.published.separation import PublishedCuts, row_cuts, violated_point
from odtbook.published.subproblems import Subproblems, pricing

__all__ = ["PublishedCuts", "Subproblems", "pricing", "row_cuts", "violated_point"]
