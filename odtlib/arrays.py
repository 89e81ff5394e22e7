"""What NumPy does not do as the solvers need it."""

from __future__ import annotations

import numpy as np


def distinct_rows(table):
    """Return the distinct rows in order, the first place of each, and which one each row is.

    ``np.unique(axis=0)`` compares rows through Python code: Ctrl-C in it becomes a TypeError.
    """
    order = np.lexsort(table.T[::-1]) if table.size else np.arange(len(table))
    ordered = table[order]
    new = np.ones(len(table), bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    which = np.empty(len(table), np.int64)
    which[order] = np.cumsum(new) - 1
    return ordered[new], order[new], which
