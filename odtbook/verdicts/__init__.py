"""Verdicts: what each table and figure of the papers claims, judged by our records."""

from . import patel2023
from .report import cells_of, count_sentence, judge, runs_of, side_by_side

__all__ = ["cells_of", "count_sentence", "judge", "patel2023", "runs_of", "side_by_side"]
