"""What exists to repeat a paper: searches as printed, programs as subproblems, variants of cuts."""

from odtbook.published.candidates import GeneratedSplitsClassifier
from odtbook.published.murtree import PaperSearch, dl85_search
from odtbook.published.separation import row_cuts, violated_point
from odtbook.published.subproblems import Subproblems, pricing
from odtbook.published.sweep import Sweep

__all__ = ["GeneratedSplitsClassifier", "PaperSearch", "Subproblems", "Sweep", "dl85_search",
           "pricing", "row_cuts", "violated_point"]
