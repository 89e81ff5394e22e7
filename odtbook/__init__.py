"""The course and its experiments: runner, records, verdicts, exercises and interactive pictures.

It builds on :mod:`odtlib`, which knows nothing of it.
"""

from __future__ import annotations


def __getattr__(name):
    # Loaded on first use: the checker needs NumPy, the command line does not.
    if name == "check":
        from odtbook.exercises import check
        return check
    raise AttributeError(f"module 'odtbook' has no attribute {name!r}")
