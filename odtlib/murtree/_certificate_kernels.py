"""Which children of a node a certificate lists: the kernel of its writer."""

from __future__ import annotations

from odtlib._numba.compiler import INNER, OPTIONS, njit


@njit(**INNER)
def refer(k, side, order, totals, first, last, similar, bound, free, below, source):
    """Let the child ``side`` of split ``k`` bound those of all splits, where that is better."""
    n_active = len(order)
    alone, rows = totals[n_active, k], totals[n_active, n_active]
    for j in range(n_active):
        both, rows_j = totals[k, j], totals[n_active, j]
        for other in range(2):
            if j == k and other == side:
                lacks = 0.0
            elif not similar:
                continue
            elif side == 1:             # the rows that it has and the other child has not
                lacks = alone - both if other == 1 else both
            else:
                lacks = rows - alone - (rows_j - both) if other == 1 else rows_j - both
            gain = 0.0
            for n in range(max(1, first), last + 1):    # a leaf is counted anyhow
                gain += max(bound[side, n, k] - lacks, free[other, n, j]) - below[other, n, j]
            if gain > 0:
                source[other, j] = 2 * k + side
                for n in range(max(1, first), last + 1):
                    below[other, n, j] = max(bound[side, n, k] - lacks, free[other, n, j])


@njit(**INNER)
def enough(k, one, zero, low, high, first, last, price, target):
    """Tell whether bounds on both children of a split prove the target for all sizes."""
    for n in range(low, high + 1):
        for a in range(first, last + 1):
            b = n - 1 - a
            if first <= b <= last and price + one[1, a, k] + zero[0, b, k] < target[n]:
                return False
    return True


@njit(**OPTIONS)
def choose_children(order, totals, low, high, first, last, similar, price, target, bound, free,
                    below, source, listed):
    """Choose the children of a node that a certificate lists, so that all splits are bounded.

    ``target`` has the bound to prove for each node budget from ``low`` to ``high``, ``bound``,
    (2, n_budgets, n_active), what is known of child 0 and child 1 of each split, for budgets from
    ``first`` to ``last``.  ``listed``, (2, n_active), says which of them are lines already, and
    then which ones are to be.  ``totals`` has the weight of the rows that share two columns, with
    those of each column and of all in the last row.  ``free`` and, at first, ``below`` hold what
    needs no line; ``below`` receives what the lines give, ``source`` their numbers: ``2 * split +
    side``.
    """
    for k in range(len(order)):
        for side in range(2):
            if listed[side, k]:
                refer(k, side, order, totals, first, last, similar, bound, free, below,
                      source)
    for place in range(len(order)):
        k = order[place]
        if enough(k, below, below, low, high, first, last, price, target):
            continue
        if enough(k, bound, below, low, high, first, last, price, target):
            listed[1, k] = True
        elif enough(k, below, bound, low, high, first, last, price, target):
            listed[0, k] = True
        else:
            listed[0, k] = listed[1, k] = True
        for side in range(2):
            if listed[side, k]:
                refer(k, side, order, totals, first, last, similar, bound, free, below,
                      source)
