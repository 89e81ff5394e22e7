"""What exists to repeat a paper: searches as printed, programs as subproblems, variants of cuts."""

from odtbook.published.candidates import GeneratedSplitsClassifier
from odtbook.published.cart import cart_star
from odtbook.published.column_management import ManagedColumns
from odtbook.published.constrained import PaperTreeRegressor, paper_model, solve_courses
from odtbook.published.murtree import PaperSearch, dl85_search
from odtbook.published.random_paths import (
    PathPool,
    RandomPaths,
    SampledColumns,
    heuristic_pricing,
)
from odtbook.published.separation import row_cuts, violated_point
from odtbook.published.subproblems import Subproblems, pricing
from odtbook.published.sweep import Sweep

__all__ = ["GeneratedSplitsClassifier", "ManagedColumns", "PaperSearch", "PaperTreeRegressor",
           "PathPool", "RandomPaths", "SampledColumns", "Subproblems", "Sweep", "cart_star",
           "dl85_search", "heuristic_pricing", "paper_model", "pricing", "row_cuts",
           "solve_courses", "violated_point"]
