"""The cache of solved and bounded subproblems (Section 4.5 of the MurTree paper).

A subproblem is a set of rows (or, with other caches, a branch or its closure), a depth and a number
of feature nodes.  Its key has 128 bits: the sum of two random 64-bit words per row, mixed with
depth and node budget.  An entry takes four words: the two of the key, the value (a lower bound, or
the optimum), and a word of details.  The table is a set of buckets of eight entries; in a full
bucket the shallowest entry makes room, so the table may stay small without being wrong.

Threads share a table without locks: the words of the key are kept combined with value and details,
so an entry that two threads wrote at once fits no key and is as good as absent.

Arguments that mean the same in all kernels:

- ``table``: (4 * n_entries,) uint64, the entries; their number is a power of two, at least eight.
  ``values``: the same memory as float64.
- ``low``, ``high``: uint64, the two words of a key.
- ``value``: float64, the bound or optimum; ``word``: uint64, the details, 0 where there is none.
- ``depth``, ``budget``: int64 below 2^12, the levels and feature nodes that a tree may have at
  most.
- ``level``: int64, the depth of the subproblem's root, or 0 where that does not matter, plus 4,096
  times a number for the columns that its trees may test.
"""

from __future__ import annotations

import numpy as np

from odtlib._numba.compiler import INNER, OPTIONS, njit
from odtlib._numba.vector import bits_of, prefetch

BUCKET = 8
ENTRY = 4
ODD_1 = np.uint64(0x9E3779B97F4A7C15)
ODD_2 = np.uint64(0xBF58476D1CE4E5B9)


@njit(**INNER)
def problem_key(low, high, depth, budget, level):
    """Return the key of the subproblem over the rows with key ``(low, high)``, as two uint64.

    ``depth``, ``budget`` and ``level`` are those of the module's docstring.
    """
    tag = np.uint64((level * 4096 + depth) * 65536 + budget + 1)
    low = (low ^ (tag * ODD_1)) * ODD_2
    low ^= low >> np.uint64(29)
    high = (high + tag * ODD_2) * ODD_1
    high ^= high >> np.uint64(31)
    return low | np.uint64(1), high


@njit(**INNER)
def checksum(value, word):
    """Return, as two uint64, what the two words of a key are combined with.

    ``value`` and ``word`` are those of the module's docstring.
    """
    bits = bits_of(value)
    return bits ^ word, (bits * ODD_1) ^ word


@njit(**INNER)
def find(table, values, low, high):
    """Return value and details of an entry; details are 0 if there is none.

    ``table``, ``values``, ``low`` and ``high`` are those of the module's docstring; the key is that
    of :func:`problem_key`.
    """
    n_buckets = np.uint64(len(table) // (BUCKET * ENTRY))
    first = np.int64((low >> np.uint64(20)) & (n_buckets - np.uint64(1))) * BUCKET * ENTRY
    for slot in range(first, first + BUCKET * ENTRY, ENTRY):
        value, word = values[slot + 2], table[slot + 3]
        if word == np.uint64(0):
            break
        seal_low, seal_high = checksum(value, word)
        if table[slot] ^ seal_low == low and table[slot + 1] ^ seal_high == high:
            return value, word
    return 0.0, np.uint64(0)


@njit(**INNER)
def prefetch_entries(table, low):
    """Ask for the memory where :func:`find` will look first for a key of first word ``low``.

    ``table`` is that of the module's docstring.
    """
    n_buckets = np.uint64(len(table) // (BUCKET * ENTRY))
    first = np.int64((low >> np.uint64(20)) & (n_buckets - np.uint64(1))) * BUCKET * ENTRY
    prefetch(table, first)
    prefetch(table, first + BUCKET)


@njit(**OPTIONS)
def find_problem(table, values, row_key, depth, budget, level):
    """Return value and details of a subproblem, given the key of its rows; see :func:`find`.

    ``row_key``, (2,) uint64, is the sum of the words of the rows; ``table``, ``values``, ``depth``,
    ``budget`` and ``level`` are those of the module's docstring.
    """
    low, high = problem_key(row_key[0], row_key[1], depth, budget, level)
    return find(table, values, low, high)


@njit(**INNER)
def pack_details(exact, depth, feature, budget, size):
    """Return, as uint64, what an entry knows besides its value.

    ``exact`` (0 or 1) tells whether that is the optimum, ``feature`` (int64) is the column of the
    root (-1 for a leaf, -2 for unknown), ``budget`` the node budget of its child 1, and ``size``
    that of the tree; ``depth`` is that of the module's docstring.
    """
    return np.uint64(exact + (depth << 1) + ((feature + 2) << 13) + (budget << 39) + (size << 51))


@njit(**INNER)
def depth_of(word):
    """Return, as uint64, the depth of an entry with details ``word`` (uint64)."""
    return (word >> np.uint64(1)) & np.uint64(0xFFF)


def root_of(word):
    """Return the feature of an entry and the node budget of its child 1, as Python integers."""
    return (word >> 13 & 0x3FFFFFF) - 2, word >> 39 & 0xFFF


@njit(**INNER)
def is_exact(word):
    """Tell whether the value of an entry with details ``word`` (uint64) is the optimum."""
    return (word & np.uint64(1)) != np.uint64(0)


@njit(**INNER)
def write_entry(table, values, slot, low, high, value, word):
    """Write an entry.

    ``slot`` (int64) is where it begins in ``table``; the other arguments, ``values``, ``low``,
    ``high``, ``value`` and ``word``, are those of the module's docstring.
    """
    seal_low, seal_high = checksum(value, word)
    table[slot], table[slot + 1] = low ^ seal_low, high ^ seal_high
    values[slot + 2], table[slot + 3] = value, word


@njit(**INNER)
def store_entry(table, values, low, high, value, word):
    """Enter a bound or an optimum; return 1 if that filled an empty slot, else 0.

    ``table``, ``values``, ``low``, ``high``, ``value`` and ``word`` are those of the module's
    docstring.
    """
    n_buckets = np.uint64(len(table) // (BUCKET * ENTRY))
    first = np.int64((low >> np.uint64(20)) & (n_buckets - np.uint64(1))) * BUCKET * ENTRY
    victim, shallowest = first, np.uint64(0x1000)
    for slot in range(first, first + BUCKET * ENTRY, ENTRY):
        old_value, old = values[slot + 2], table[slot + 3]
        if old == np.uint64(0):
            write_entry(table, values, slot, low, high, value, word)
            return 1
        seal_low, seal_high = checksum(old_value, old)
        if table[slot] ^ seal_low == low and table[slot + 1] ^ seal_high == high:
            if not is_exact(old) and (is_exact(word) or value > old_value):
                write_entry(table, values, slot, low, high, value, word)
            return 0
        depth = depth_of(old)
        if depth < shallowest:
            victim, shallowest = slot, depth
    if shallowest <= depth_of(word):
        write_entry(table, values, victim, low, high, value, word)
    return 0


@njit(**OPTIONS)
def move_entries(old, old_values, table, values):
    """Enter everything from one table into another; return the number of slots filled.

    ``table`` and ``values`` are those of the module's docstring; ``old`` and ``old_values`` are
    such a table to read from.
    """
    filled = 0
    for slot in range(0, len(old), ENTRY):
        value, word = old_values[slot + 2], old[slot + 3]
        if word != np.uint64(0):
            seal_low, seal_high = checksum(value, word)
            filled += store_entry(table, values, old[slot] ^ seal_low, old[slot + 1] ^ seal_high,
                           value, word)
    return filled
