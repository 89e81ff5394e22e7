"""Verdicts: every table, figure and statement of the papers, judged by our records."""

from . import patel2023
from .report import cells_of, reproduce, runs_of, side_by_side

__all__ = ["cells_of", "patel2023", "reproduce", "runs_of", "side_by_side"]
