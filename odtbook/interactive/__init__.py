"""Pictures to play with, for notebooks and the book: plain SVG and a small script of ours.

``draw_search_tree`` returns parts for ``step_through``; every other function returns a
:class:`Picture`, which a notebook shows as the last value of a cell.  It
carries its script with it, so that it works in a page opened from the disk and in JupyterLab;
without the script, and in print, its drawing stands as it is.  All controls are the browser's own,
reachable by keyboard and by touch.
"""

from .cuts import drag_first_cut
from .pictures import draw_search_tree, explore_tree, step_through
from .steps import step_columns, step_curves, step_partitions, step_search

__all__ = ["drag_first_cut", "draw_search_tree", "explore_tree",
           "step_columns", "step_curves", "step_partitions", "step_search",
           "step_through"]
