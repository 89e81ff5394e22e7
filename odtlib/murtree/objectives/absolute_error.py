"""Absolute error around the median: not additive, with kernels of its own (Section 4.8.2)."""

from __future__ import annotations

import numpy as np

from .._objectives import cost_addresses
from ..preparation import (
    MAX_EQUAL_ROWS,
    Problem,
    Sums,
    _distinct_columns,
    grouped_rows,
    lines_of,
    packed_rows,
    rounds_off,
    varying_columns,
)


def median(y, weight):
    """Return the weighted median: the middle where it is an interval."""
    order = np.argsort(y, kind="stable")
    reached = np.cumsum(weight[order])
    half = 0.5 * reached[-1]
    first = min(int(np.searchsorted(reached, half, side="left")), len(y) - 1)
    second = min(int(np.searchsorted(reached, half, side="right")), len(y) - 1)
    low, high = y[order[first]], y[order[second]]
    return float(low + 0.5 * (high - low))


def within_groups(y, weight, groups):
    """Return the absolute error of all groups around their medians; groups and targets in order."""
    reached = np.cumsum(weight)
    first = np.flatnonzero(np.diff(groups, prepend=-1))
    number = np.diff(first, append=len(y))
    before = np.repeat(reached[first] - weight[first], number)
    half = np.repeat(0.5 * np.add.reduceat(weight, first), number)
    lower_half = np.clip(half - (reached - weight - before), 0.0, weight)
    y = y - np.repeat(y[first], number)
    return max(0.0, float((weight * y).sum() - 2 * (lower_half * y).sum()))


class AbsoluteError:
    """Absolute error on the rows of one fit; what the search asks for, as other objectives say it.

    Targets are put in order and centred.
    """

    constant = compile_seconds = 0.0

    def __init__(self, y, weight):
        self.y, self.weight = y, weight
        with np.errstate(all="ignore"):
            self.target = y - median(y, weight)
            cost = float((weight * np.abs(self.target)).sum())
        if not np.isfinite(cost) or (cost == 0 and self.target.any()):
            raise ValueError("the loss of y is too large or too small for floating point; divide "
                             "y, or the weights, by a constant.")
        self.scale = cost if cost > 0 else 1.0

    def leaves(self, members):
        """Return costs and values of leaves with some rows each."""
        values = [median(self.y[rows], self.weight[rows]) for rows in members]
        return [float((self.weight[rows] * np.abs(self.y[rows] - value)).sum())
                for rows, value in zip(members, values)], [[value] for value in values]

    def prepared(self, X, *, min_samples_leaf=1, merge_columns=True, clock=None):
        """Return the problem for the search: equal rows become one where their targets are equal.

        What the others cost at the least (equivalent points) is ``least``.
        """
        target, weight = self.target, self.weight
        groups, first = grouped_rows(X)
        order = np.lexsort((target, groups))
        least = within_groups(target[order], weight[order], groups[order])
        new = np.ones(len(order), bool)
        new[1:] = (np.diff(groups[order]) != 0) | (np.diff(target[order]) != 0)
        groups[order], first = np.cumsum(new) - 1, order[new]
        total, size = np.bincount(groups, weight), np.bincount(groups)
        order, merged = np.argsort(target[first], kind="stable"), len(X) - len(first)
        if (weight == 1).all() and merged <= MAX_EQUAL_ROWS * len(first):
            order = np.repeat(order, size[order])
            total = size = np.ones(len(first))
        target, weight, number = target[first[order]], total[order], size[order].astype(float)
        numbers = np.column_stack([weight, weight * target])
        lines, n_counted, of_number, places = lines_of(numbers, number)

        def leaf(rows):
            value = median(target[rows], weight[rows])
            return float((weight[rows] * np.abs(target[rows] - value)).sum()), [value]

        farthest = np.abs(target).max()

        def costs(numbers):             # weight is lost together with the farthest target
            return np.abs(numbers[:, 1]) + farthest * np.abs(numbers[:, 0])

        columns = _distinct_columns(X, clock) if merge_columns else varying_columns(X)
        uneven = not np.array_equal(weight, number) and rounds_off(costs, numbers, 2, self.scale)
        return Problem(
            packed_rows(X, rows=first[order], columns=columns), np.array([len(order)]), columns,
            np.column_stack([lines, target, number]), "sums", 0.0, self.scale,
            {"rows_merged": merged, "columns_merged": X.shape[1] - len(columns)}, least=least,
            sums=Sums(lines.shape[1], n_counted, of_number, np.array([places, [-1, -1]]),
                      (*cost_addresses(absolute=True), 0, 0), 2, False,
                      lambda sums: -sums[1] ** 2 / np.maximum(sums[0], 1e-300), leaf, uneven))
