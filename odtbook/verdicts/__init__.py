"""Verdicts: every table, figure and statement of the papers, judged by our records."""

from .reproduction import reproduce

__all__ = ["reproduce"]
