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


def aligned(n_bytes, dtype):
    """Return zeros that fill whole cache lines of 64 bytes, at least so many bytes in all."""
    n_bytes = -(-n_bytes // 64) * 64
    raw = np.zeros(n_bytes + 63, np.uint8)
    start = -raw.__array_interface__["data"][0] % 64
    return raw[start:start + n_bytes].view(dtype)
