"""Verdicts: every table, figure and statement of the papers, judged by our records."""

from .report import cells_of, reproduce

__all__ = ["cells_of", "reproduce"]
