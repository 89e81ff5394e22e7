"""Which rows of packed 0/1 columns are equal."""

from __future__ import annotations

import numpy as np

from odtlib._numba.compiler import OPTIONS, njit

ODD = np.uint64(0x9E3779B97F4A7C15)


@njit(**OPTIONS)
def group_words(words, slots, groups, first):
    """Write the group of each row, in the order of appearance, and its first row; return how many.

    ``words``, (n_rows, n_words) uint64, are the rows; ``groups``, (n_rows,) int32, and ``first``,
    (n_rows,) int32, are written.  ``slots`` is a hash table: (power of two,) int32 of -1, more than
    the rows.
    """
    n_groups, mask = 0, np.uint64(len(slots) - 1)
    for row in range(len(words)):
        mixed = np.uint64(0)
        for word in range(words.shape[1]):
            mixed = (mixed ^ words[row, word]) * ODD
            mixed ^= mixed >> np.uint64(29)
        slot = np.int64((mixed * ODD >> np.uint64(24)) & mask)
        while slots[slot] >= 0:
            word, other = 0, first[slots[slot]]
            while word < words.shape[1] and words[row, word] == words[other, word]:
                word += 1
            if word == words.shape[1]:
                break
            slot = (slot + 1) & np.int64(mask)
        if slots[slot] < 0:
            slots[slot], first[n_groups] = n_groups, row
            n_groups += 1
        groups[row] = slots[slot]
    return n_groups
