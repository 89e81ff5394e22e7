"""What NumPy does not do as the solvers need it."""

from __future__ import annotations

from decimal import Decimal
from numbers import Real

import numpy as np

SMALLEST, LARGEST = 1e-100, 1e100   # of weights and targets: their squares are still numbers


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


def is_missing(value):
    """Return whether a value is None, NaN, NaT or pandas' NA."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or (
        isinstance(value, float) and value != value)


def fault_of_number(value):
    """Return what a value is, if it is no real number that a float holds; None if it is one."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, str):
        return f"text ({str(value)!r})"
    if not isinstance(value, (Real, Decimal, np.bool_)) or isinstance(value, np.timedelta64):
        return f"a missing value ({value})" if is_missing(value) else \
            f"an object of type {type(value).__name__}"
    try:
        float(value)
    except OverflowError:
        return "a number larger than 1e308"
    except ValueError:              # a signalling NaN
        return "NaN"
    return None


def given_numbers(name, values):
    """Return the numbers of a parameter, of whatever type and shape, as float64.

    ValueError names the first entry that is none: text, bytes, a date, a complex number.
    """
    array = np.asarray(values, None if hasattr(values, "dtype") else object)
    if array.dtype.kind not in "biuf":
        for entry in array.ravel():
            fault = fault_of_number(entry)
            if fault is not None:
                raise ValueError(f"{name} holds {fault}; give numbers.")
    with np.errstate(over="ignore"):        # what is too large becomes infinite
        return np.array(array, np.float64)
