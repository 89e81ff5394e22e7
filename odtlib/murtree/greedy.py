"""CART over 0/1 columns from sums of single columns: quick where pairs of columns take too long."""

from __future__ import annotations

import numpy as np

from odtlib._numba.compiler import OPTIONS, njit

CELLS_AT_A_TIME = 2 ** 22       # of the columns, between two looks at the clock
MOST_CELLS = 2 ** 25            # that a split looks at where it is late
GRACE = 0.3                     # seconds for a CART after a limit


def gini(sums):
    """Return the Gini impurity of leaves times their weight, given the sums of classes, (K, n)."""
    total = sums.sum(axis=0)
    return total - (sums ** 2).sum(axis=0) / np.maximum(total, 1e-300)


@njit(**OPTIONS)
def sum_columns(columns, table, rows, inside):
    """Add up the numbers of rows by the columns in which they have a 1.

    ``columns``: (n_rows, n_columns) uint8; ``table``: (n_rows, K) float64, the numbers, mostly 0
    where they stand for classes; ``rows``: int64, the rows that count; ``inside``: (K, n_columns)
    float64, to which the sums are added.
    """
    for row in rows:
        for k in range(table.shape[1]):
            amount = table[row, k]
            if amount != 0:
                for column in range(columns.shape[1]):
                    inside[k, column] += amount * columns[row, column]


def cart(columns, amounts, number, depth, min_leaf, leaf, rows, clock=None, impurity=gini):
    """Grow a tree from the root down, by what both sides of a split cost as leaves; nested tuples.

    ``impurity`` gives that, given the sums of ``amounts`` (n_rows, K), and ``number`` says for how
    many rows each is; ``leaf`` gives cost and prediction of some rows.
    It stops ``GRACE`` seconds after the limit of the clock.  Of very many columns it knows evenly
    fewer where there is a clock.
    """
    def late():
        limit = None if clock is None else clock.time_limit
        return limit is not None and clock.elapsed > limit + GRACE

    every = 1 if clock is None else max(1, len(rows) * columns.shape[1] // MOST_CELLS)
    given, columns = columns, np.ascontiguousarray(columns[:, ::every], np.uint8)
    table, rows = np.column_stack([amounts, number]).astype(np.float64), rows.astype(np.int64)
    step = max(1, CELLS_AT_A_TIME // max(1, columns.shape[1]))

    def grow(rows, depth):
        cost, prediction = leaf(rows)
        if depth == 0 or cost <= 0 or columns.shape[1] == 0 or late():
            return prediction
        inside = np.zeros((table.shape[1], columns.shape[1]))
        for first in range(0, len(rows), step):
            if late():
                return prediction
            sum_columns(columns, table, rows[first:first + step], inside)
        outside = table[rows].sum(axis=0)[:, None] - inside
        cost = impurity(inside[:-1]) + impurity(outside[:-1])
        cost[np.minimum(inside[-1], outside[-1]) < min_leaf] = np.inf
        column = int(np.argmin(cost))
        if cost[column] == np.inf:
            return prediction
        has = given[rows, every * column] == 1
        zero, one = (grow(child_rows, depth - 1) for child_rows in (rows[~has], rows[has]))
        return prediction if zero == one == prediction else (every * column, zero, one)

    return grow(rows, depth)
