"""All trees within a tolerance of the optimum (the Rashomon set), counted without listing them.

For a subproblem, that is a set of rows and a depth, a *histogram* tells how many trees have ``m``
feature nodes and ``e`` errors, up to a budget for each ``m``: what the tolerance leaves when the
rest of the tree is as good as it can be, which the search of MurTree tells.  The histogram of a
node is the sum over its splits of the convolutions of those of both children.  Where they are dense
they are computed as products of whole numbers, whose digits are the counts, so that Python's
integers keep them exact.  The tree of any rank follows from the histograms from the root down (Xin
et al., 2022, list the trees instead).

Errors are whole numbers here.  Weights that are not whole are rounded to multiples of a unit which
is as small as floats add up exactly, and so are the numbers of an additive objective; what its
leaves cost is rounded to multiples of another.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import Counter, namedtuple
from collections.abc import Iterator, Sequence
from copy import copy
from functools import partial
from itertools import accumulate, islice
from math import fsum
from numbers import Real
from operator import index
from threading import RLock

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from odtlib._numba.warm import warm_up
from odtlib._validation import MOST
from odtlib.fit import Pace, TooLarge
from odtlib.report import Clock, TimeUp
from odtlib.tolerance import PROOF
from odtlib.tree import DecisionTree

from ..options import MurTreeSearch, memory_limit_alone
from ..preparation import (
    EXACT,
    grouped_rows,
    leading_digits,
    pair_sums,
    power_of_two,
    set_name,
)
from ..run import Run
from ._good_kernels import ROUNDED, Leaves, all_pairs, count_two, judge_leaves, room_for

ENTRIES = 2 ** 12           # of the table in which the kernel counts, at least
CELLS = 200_000             # entries that are worked on between two looks at the clock
MOST_FOUND = 2 ** 20        # pairs of entries of one histogram that wait to be added up
MOST_ENTRIES = 2 ** 24      # of all histograms together: with more it takes gigabytes
LONGEST = 2 ** 20           # bits of numbers that Python multiplies without a look at the clock
FEW = 2 ** 10               # pairs of entries that Python adds up as quickly as NumPy does
LONG = 2 ** 17              # bits of numbers whose product takes as long as PAIRS_AT_ONCE pairs
PAIRS_AT_ONCE = 2 ** 14     # of entries, at least
FEW_PAIRS = 400_000         # of columns, over all rows: to count them takes less time than to bound

OptimalTrees = namedtuple("OptimalTrees", "count trees errors complete")
GoodSize = namedtuple("GoodSize", "objective n_splits count")
GoodRoot = namedtuple("GoodRoot", "feature count left right")
_Split = namedtuple("_Split", "column one zero counts_1 counts_0 shared")


def _leaves_and_amounts(problem, solver, nodes):
    """Return what leaves cost, what each row of a problem adds to their sums, and the slack.

    ``nodes`` are those of the largest tree.  Costs that differ by the slack are equal.
    """
    weights, sums, scale = problem.weights, problem.sums, problem.scale
    if sums is None:
        unit, slack = 1.0, solver.slack
        if scale > EXACT or (weights[:, 0] % 1).any():
            unit = power_of_two(scale / EXACT)
            slack += len(weights) * unit
        of_class = np.zeros((len(weights), len(problem.class_sizes)))
        of_class[np.arange(len(weights)), solver.row_class] = np.rint(weights[:, 0] / unit)
        equal = unit == 1 and not problem.lost
        leaves = Leaves(0, 0, float(unit), 0.0 if equal else float(slack / unit))
        return leaves, np.column_stack([of_class, weights[:, 1]]), slack
    amounts = np.column_stack([sums.numbers(weights), weights[:, -2]])
    if not sums.uneven:
        amounts = leading_digits(amounts)
    slack = PROOF * scale
    unit = float(power_of_two(slack / (8 * (nodes + 1))))
    leaves = Leaves(sums.kernels[3], sums.n_sums, unit, 0.0)
    return leaves, np.column_stack([amounts, weights[:, -1]]), slack


class _Counting:
    """Histograms of the subproblems of one solver, over some of its columns.

    ``amounts`` is what each of the different rows adds to the sums of a leaf, as ``leaves`` says,
    and last the number of rows behind it.  A *budget* has, for each number of feature nodes that a
    tree may have, the most that one of so many may cost.  ``depth`` and ``nodes`` limit the trees.
    """

    def __init__(self, solver, depth, nodes, *, min_leaf, clock):
        self.solver, self.depth, self.nodes = solver, min(depth, nodes), nodes
        self.limited = nodes < 2 ** self.depth - 1
        self.min_leaf, self.penalty = min_leaf, solver.penalty
        rows = solver.problem.rows
        self.group, first = grouped_rows(rows)
        self.bits = rows[first].astype(np.float64)
        sums = solver.problem.sums
        self.uneven = sums is not None and sums.uneven     # sums are then of their rows alone
        self.leaves, amounts, self.slack = _leaves_and_amounts(solver.problem, solver, nodes)
        self.amounts = np.zeros((len(first), amounts.shape[1]))
        np.add.at(self.amounts, self.group, amounts)
        # of one class, every tree is a leaf
        p = 0 if self.leaves.address == 0 and amounts.shape[1] == 2 else rows.shape[1]
        self.restrict(range(p), clock)

    def restrict(self, columns, clock):
        """Count trees over these columns alone, within the limit of a clock."""
        self.columns, self.clock, self.pace = np.array(columns, np.int64), clock, Pace()
        self.bits_of_columns = (self.bits if len(columns) == self.bits.shape[1]
                                else self.bits[:, self.columns])
        entries = max(ENTRIES, 1 << (4 * len(columns) + 4).bit_length())
        self.table = np.full(entries, -1), np.zeros(entries, np.int64)
        self.room = room_for(self.leaves, np.zeros((2, 2 * len(columns) + 1,
                                                    self.amounts.shape[1])))
        self.known, self.options, self.latest, self.entries = {}, {}, (None, []), 0

    def over(self, columns):
        """Return the counting without the other columns."""
        other = copy(self)
        other.restrict(columns, Clock())
        return other

    def name(self, rows, depth):
        """Return a subproblem as a key that no other one has."""
        return set_name(rows, len(self.bits)), depth

    def judge(self, sums):
        """Return what leaves cost, in whole units, given their sums, (..., width)."""
        flat = np.ascontiguousarray(sums.reshape(-1, sums.shape[-1]))
        room = room_for(self.leaves, flat[None])
        judge_leaves(self.leaves, room, 0, len(flat))
        return room.cost[0].reshape(sums.shape[:-1])

    def sums(self, rows):
        """Return the sums over some rows, the same in every order of these."""
        if self.uneven:
            return np.array([fsum(column) for column in self.amounts[rows].T])
        return self.amounts[rows].sum(axis=0)

    def leaf(self, rows):
        """Return what a leaf costs, and the classes that it may predict.

        These are [0] where an objective says what a leaf predicts.
        """
        sums = self.sums(rows)
        if self.leaves.address != 0:
            return int(self.judge(sums)), [0]
        weights = sums[:-1].tolist()            # quicker than the kernel for one leaf
        largest = max(weights)
        least = largest - self.leaves.tie
        return int(sum(weights) - largest), [
            label for label, weight in enumerate(weights) if weight >= least]

    def alike(self, one, zero):
        """Return of how many pairs of labels of two leaves with some rows one takes the place."""
        (errors_1, labels_1), (errors_0, labels_0) = self.leaf(one), self.leaf(zero)
        if self.leaves.address == 0:
            return len(set(labels_1) & set(labels_0))
        errors, _ = self.leaf(np.concatenate([one, zero]))
        return int(errors_1 + errors_0 >= errors - ROUNDED)

    def size(self, tree, given, columns):
        """Return feature nodes and errors of a tree over given columns, of which it has some."""
        rows = np.repeat(given[:1], len(self.bits), axis=0)      # the others are constant
        rows[:, columns] = self.bits
        leaf = tree.apply(rows)
        return tree.n_splits, sum(self.leaf(np.flatnonzero(leaf == node))[0]
                                  for node in np.unique(leaf))

    def cost(self, size):
        """Return the cost of a tree with ``size = (feature nodes, errors)``."""
        return self.leaves.unit * size[1] + self.penalty * size[0]

    def within(self, counts, budget):
        """Return the part of a histogram that a budget leaves."""
        unit, penalty, most = self.leaves.unit, self.penalty, (budget + self.slack).tolist()
        return {size: count for size, count in counts.items() if count and size[0] < len(most)
                and unit * size[1] + penalty * size[0] <= most[size[0]]}

    def left(self, budget, low, nodes):
        """Return the budget of a child of up to so many nodes; its sibling costs ``low`` at least.

        ``low`` has the least cost for each number of nodes up to which the sibling may have, as its
        last axis.
        """
        n = low.shape[-1]
        child_budget = np.empty((*low.shape[:-1], min(nodes + 1, len(budget) - 1)))
        for m in range(child_budget.shape[-1]):
            rest = budget[m + 1:m + 1 + n] - self.penalty
            child_budget[..., m] = (rest - low[..., :len(rest)]).max(axis=-1)
        return child_budget

    def bounds(self, rows, depth, budget):
        """Return what each child of each split of some rows costs at least, (2, columns, nodes).

        By its feature nodes, exact where the tree may be within the budget.
        """
        member = np.zeros(len(self.bits), bool)
        member[rows] = True
        nodes, within = 2 ** depth - 1, budget + self.slack
        if self.limited:
            nodes = min(nodes, len(budget) - 1)
            smallest, upper = 0, np.full(self.solver.cost.shape[2], -np.inf)
            upper[:nodes + 1] = within[:nodes + 1]
        else:                  # where no limit is in the way it is enough to know the least of all
            smallest, upper = nodes, within.max()
        least = self.solver.child_bounds(
            depth, nodes, np.nextafter(upper, np.inf), smallest=smallest,
            rows=np.flatnonzero(member[self.group]).astype(np.int32), clock=self.clock)
        if least is None:
            raise TimeUp
        return least if self.limited else least.repeat(2 ** (depth - 1), axis=2)

    def near(self, rows, depth, budget):
        """Return the columns that may split a node within a budget, by their positions.

        Before them the bits of all columns, and the sums of the rows where each has a one, after
        them what the children cost at least.
        """
        bits, amounts = self.bits_of_columns[rows], self.amounts[rows]
        single = bits.T @ amounts
        sides = np.stack([single, amounts.sum(axis=0) - single])
        if len(budget) == 2 and self.uneven:
            low = np.zeros((*sides.shape[:2], 1))
        elif len(budget) == 2:                               # both children are leaves
            low = self.leaves.unit * self.judge(sides)[:, :, None].astype(float)
        else:
            low = self.bounds(rows, depth, budget)[:, self.columns]
        large = sides[:, :, -1].min(axis=0) >= self.min_leaf
        room = budget.max() - self.penalty + self.slack
        near = np.flatnonzero(large & (low[0, :, -1] + low[1, :, -1] <= room))
        return bits, single, near, low[:, near]

    def splits(self, rows, depth, budget):
        """Return the splits of a node that lie on a tree within the budget, with histograms."""
        if len(budget) == 1:
            return []
        splits = []
        _, _, near, low = self.near(rows, depth, budget)
        budgets_0, budgets_1 = self.left(budget, low, low.shape[2] - 1)
        fits = (low[0, :, :budgets_1.shape[1]] <= budgets_1 + self.slack).any(axis=1)
        for k in np.flatnonzero(fits).tolist():
            self.clock.check()
            budget_1, budget_0 = budgets_1[k], budgets_0[k]
            column = int(self.columns[near[k]])
            has = self.bits[rows, column] == 1
            one, zero = rows[has], rows[~has]
            counts_1 = self.within(self.histogram(one, depth - 1, budget_1), budget_1)
            counts_0 = self.within(self.histogram(zero, depth - 1, budget_0), budget_0)
            if not counts_1 or not counts_0:
                continue
            leaf_1, leaf_0, shared = min(counts_1), min(counts_0), {}
            if leaf_1[0] == leaf_0[0] == 0:          # two leaves of one label are no split
                shared = {(1, leaf_1[1] + leaf_0[1]): self.alike(one, zero)}
            splits.append(_Split(column, one, zero, counts_1, counts_0, shared))
        return splits

    def product(self, pairs, budget):
        """Return the histogram of trees whose children come from any of the pairs of histograms.

        It is the part of it that a budget leaves.
        """
        pairs = [pair for pair in pairs if all(pair)]
        if not pairs:
            return {}
        starts = [[min(e for _, e in side) for side in pair] for pair in pairs]
        low = min(map(sum, starts))
        span = max(sum(max(e for _, e in side) for side in pair) for pair in pairs) - low + 1
        trees = sum(sum(one.values()) * sum(zero.values()) for one, zero in pairs)
        width = (trees.bit_length() + 7) // 8
        few, largest = (sum(len(one) * len(zero) for one, zero in pairs),
                        max(max(side)[0] + 1 for pair in pairs for side in pair))
        long = 8 * width * largest * span / LONG      # a product takes this to the power of 1.6
        if few < min(span, FEW):
            histogram = {}
            for one, zero in pairs:
                for (m_1, e_1), count_1 in one.items():
                    for (m_0, e_0), count_0 in zero.items():
                        size = m_1 + m_0 + 1, e_1 + e_0
                        histogram[size] = histogram.get(size, 0) + count_1 * count_0
            return self.within(histogram, budget)
        if few < span or (long > 1 and few < len(pairs) * PAIRS_AT_ONCE * long ** 1.6):
            return self.product_of_few(pairs, budget, np.int64 if trees < 2 ** 62 else object)

        def number(side, start):
            digits = bytearray(width * ((max(side)[0] + 1) * span))
            for (m, e), count in side.items():
                position = width * (m * span + e - start)
                digits[position:position + width] = count.to_bytes(width, "little")
            return int.from_bytes(digits, "little")

        total = 0
        for pair, start in zip(pairs, starts, strict=True):
            total += self.times(number(pair[0], start[0]), number(pair[1], start[1])) \
                << 8 * width * (sum(start) - low)
        digits = total.to_bytes(-(-total.bit_length() // (8 * width)) * width, "little")
        histogram = {}
        for position in range(0, len(digits), width):
            if count := int.from_bytes(digits[position:position + width], "little"):
                m, e = divmod(position // width, span)
                histogram[m + 1, low + e] = count
        return self.within(histogram, budget)

    def times(self, one, other):
        """Return the product of two numbers, with looks at the clock (Karatsuba)."""
        half = max(one.bit_length(), other.bit_length()) // 2
        if 2 * half <= LONGEST or one == 0 or other == 0:
            self.clock.check()
            return one * other
        rest = (1 << half) - 1
        low = self.times(one & rest, other & rest)
        high = self.times(one >> half, other >> half)
        middle = self.times((one & rest) + (one >> half), (other & rest) + (other >> half))
        return low + (middle - low - high << half) + (high << 2 * half)

    @staticmethod
    def refuse_more_than_fit(entries):
        """Raise TooLarge where so many entries of histograms take gigabytes."""
        if entries > MOST_ENTRIES:
            raise TooLarge("the counts need gigabytes; give a smaller tolerance.")

    def product_of_few(self, pairs, budget, exact):
        """Return the same where there are few entries for their range: all pairs of entries.

        ``exact`` is the type of the counts.
        """
        # By feature nodes: errors and counts, and how many of all are not added up yet.
        found, n_found = [[] for _ in budget], 0

        def add_up():
            total = self.entries
            for m, entries in enumerate(found):
                if entries:
                    self.clock.check()
                    errors, numbers = map(np.concatenate, zip(*entries, strict=True))
                    errors, place = np.unique(errors, return_inverse=True)
                    counts = np.zeros(len(errors), exact)
                    np.add.at(counts, place, numbers)
                    found[m] = [(errors, counts)]
                    total += len(errors)
            self.refuse_more_than_fit(total)

        for pair in pairs:
            (m_1, e_1, n_1), (m_0, e_0, n_0) = (
                (*np.array(list(side), np.int64).T, np.array(list(side.values()), exact))
                for side in pair)
            order = np.argsort(e_0, kind="stable")
            m_0, e_0, n_0 = m_0[order], e_0[order], n_0[order]
            room = (budget.max() + self.slack - self.penalty) / self.leaves.unit
            fit = np.searchsorted(e_0, room - e_1, side="right")
            parts = np.cumsum(fit) // CELLS
            for part in np.unique(parts):
                self.clock.check()
                some = np.flatnonzero(parts == part)
                i = np.repeat(some, fit[some])
                j = np.arange(len(i)) - np.repeat(np.cumsum(fit[some]) - fit[some], fit[some])
                m, e = m_1[i] + m_0[j] + 1, e_1[i] + e_0[j]
                for size in np.unique(m[m < len(budget)]):
                    kept = (m == size) & (self.cost((size, e)) <= budget[size] + self.slack)
                    found[size].append((e[kept], n_1[i[kept]] * n_0[j[kept]]))
                    n_found += np.count_nonzero(kept)
                if n_found > MOST_FOUND:
                    add_up()
                    n_found = 0
        add_up()
        histogram = {}
        for m, entries in enumerate(found):
            for errors, counts in entries:
                for first in range(0, len(errors), CELLS):
                    self.clock.check()
                    some = slice(first, first + CELLS)
                    histogram.update(zip(((m, e) for e in errors[some].tolist()),
                                         counts[some].tolist(), strict=True))
        return histogram

    def combined(self, splits, budget):
        """Return the histogram of the trees that begin with one of these splits."""
        counts = self.product([(split.counts_1, split.counts_0) for split in splits], budget)
        for split in splits:
            for size, count in split.shared.items():
                if counts.get(size) == count:
                    del counts[size]
                elif size in counts:
                    counts[size] -= count
        return counts

    def histogram(self, rows, depth, budget):
        """Return ``{(feature nodes, errors): number of trees}`` up to a budget at least."""
        name = self.name(rows, depth)
        if name in self.known:
            known_budget, counts = self.known[name]
            if (len(known_budget) >= len(budget)
                    and (known_budget[:len(budget)] >= budget - self.slack).all()):
                return counts
            longest = np.full(max(len(known_budget), len(budget)), -np.inf)
            for one in known_budget, budget:
                longest[:len(one)] = np.maximum(longest[:len(one)], one)
            budget = longest
        if 0 < depth <= 2 and len(budget) > 1 and not self.uneven:
            counts = self.shallow(rows, depth, budget)
        else:
            errors, labels = self.leaf(rows)
            counts = {(0, errors): len(labels)}
            self.latest = name, self.splits(rows, depth, budget)
            counts |= self.combined(self.latest[1], budget)
        self.entries += len(counts) - (len(self.known[name][1]) if name in self.known else 0)
        self.refuse_more_than_fit(self.entries)
        self.known[name] = budget, counts
        return counts

    def shallow(self, rows, depth, budget):
        """Return the histogram of a node of depth one or two, from its counts of pairs."""
        if len(rows) * len(self.columns) ** 2 < FEW_PAIRS:
            pairs, single, total = all_pairs(self.bits_of_columns, self.amounts, rows)
            roots = np.arange(len(self.columns))
        else:
            amounts, total = self.amounts[rows], self.amounts[rows].sum(axis=0)
            bits, single, roots, _ = self.near(rows, depth, budget)
            pairs = np.zeros((0, 0, 0))
            if depth == 2:
                pairs = pair_sums(bits, amounts, self.clock, roots)
        budget_by_size = np.full(4, -np.inf)
        budget_by_size[:len(budget)] = budget[:4] + self.slack
        (names, counts), histogram, first = self.table, {}, -1
        while True:
            names.fill(-1)
            first = self.pace.slice(
                lambda work, first=first: count_two(
                    pairs, single, roots, total, self.leaves, self.room, self.min_leaf, depth,
                    self.penalty, budget_by_size, first, work, names, counts),
                lambda first: first < 0)
            used = np.flatnonzero(names >= 0)
            for name, count in zip(names[used].tolist(), counts[used].tolist(), strict=True):
                size = name & 3, name >> 2
                histogram[size] = histogram.get(size, 0) + count
            if first < 0:
                return histogram
            self.clock.check()

    def tree(self, rows, depth, size, rank):
        """Return the tree of a rank among those of a subproblem with a size, as nested tuples."""
        if size[0] == 0:
            return self.leaf(rows)[1][rank]
        name = (*self.name(rows, depth), size)
        if name not in self.options:
            self.options[name] = self.choices(rows, depth, size)
        choices, ends = self.options[name]
        position = bisect_right(ends, rank)
        split, size_1, size_0 = choices[position]
        rank -= ends[position - 1] if position else 0
        if size[0] == 1:
            zeros, ones = self.leaf(split.zero)[1], self.leaf(split.one)[1]
            pairs = [(a, b) for a in zeros for b in ones if a != b or self.leaves.address != 0]
            return (split.column, *pairs[rank])
        rank_1, rank_0 = divmod(rank, split.counts_0[size_0])
        return (split.column, self.tree(split.zero, depth - 1, size_0, rank_0),
                self.tree(split.one, depth - 1, size_1, rank_1))

    def choices(self, rows, depth, size):
        """Return the splits and sizes of both children that make a size; ends of their ranks."""
        choices, numbers = [], []
        budget = np.full(size[0] + 1, -np.inf)
        budget[-1] = self.cost(size)
        latest_name, splits = self.latest        # those of all rows, after the count
        if depth <= 2 or latest_name != self.name(rows, depth):
            splits = self.splits(rows, depth, budget)
        for split in splits:
            for size_1, count_1 in sorted(split.counts_1.items()):
                size_0 = size[0] - 1 - size_1[0], size[1] - size_1[1]
                count = count_1 * split.counts_0.get(size_0, 0)
                if size[0] == 1:
                    count -= split.shared.get(size, 0)
                if count > 0:
                    choices.append((split, size_1, size_0))
                    numbers.append(count)
        return choices, list(accumulate(numbers))

    def by_root(self, rows, depth, budget):
        """Return the histogram of each root: a column, or None for a leaf."""
        errors, labels = self.leaf(rows)
        counts = {None: self.within({(0, errors): len(labels)}, budget)}
        if depth > 0:
            counts |= {split.column: self.combined([split], budget)
                       for split in self.splits(rows, depth, budget)}
        return counts


class GoodTrees(Sequence):
    """All trees within a tolerance of the optimum, in the order of what they cost.

    :meth:`MurTreeClassifier.good_trees` returns it.  ``good[k]`` is the tree of rank ``k``: the
    cheaper first, of equal ones those with fewer feature nodes, then in the order of the features.
    Trees are made when they are asked for.

    Attributes
    ----------
    count : int
        Number of trees, exact; ``len`` works up to ``sys.maxsize``.
    optimum : float
        Objective of the best tree.
    tolerance : float
        How much more a tree may cost.
    """

    count: int
    optimum: float
    tolerance: float

    def __init__(self, counting: _Counting, run: Run, best: DecisionTree,
                 tolerance: float) -> None:
        self.optimum, self.tolerance = run.convert(run.cost(best)), float(tolerance)
        self._counting, self._run, self._finished = counting, run, run.rows.as_given
        self._alone = RLock()           # threads would share one search
        self._depth, self._rows = counting.depth, np.arange(len(counting.bits))
        # From what the run says an objective's constant may have taken all digits.
        least = counting.cost(counting.size(best, run.columns, run.problem.columns))
        self._budget = np.full(counting.nodes + 1, least + tolerance / run.unit)
        counts = counting.histogram(self._rows, self._depth, self._budget)
        counts = counting.within(counts, self._budget)
        self._resolution = PROOF * run.problem.scale
        nodes, errors = np.array(list(counts), np.int64).T
        steps = np.rint(counting.cost((nodes, errors)) / self._resolution)
        order = np.lexsort((errors, nodes, steps))
        self._sizes = list(zip(nodes[order].tolist(), errors[order].tolist(), strict=True))
        self._numbers = [counts[size] for size in self._sizes]
        self._ends = list(accumulate(self._numbers))
        self.count = self._ends[-1]

    @property
    def n_features(self) -> int:
        """Number of features, as in ``tree.n_features``."""
        return self._built(0).n_features

    def _built(self, nested):
        """Return nested tuples over the columns of the problem as a fit would its tree."""
        return self._finished(self._run.as_written(nested))

    def __reduce__(self):
        """Refuse: addresses of compiled code mean nothing in another process."""
        raise TypeError("good trees cannot be pickled or copied, as they are made by a search of "
                        "this process; pickle the trees themselves, good[:100] for instance.")

    def __repr__(self):
        return f"<GoodTrees: {self.count:,} within {self.tolerance:g} of {self.optimum:g}>"

    def __len__(self) -> int:
        """Return the number of trees."""
        return self.count

    def __getitem__(self, rank: int) -> DecisionTree:
        """Return the tree of a rank."""
        if isinstance(rank, slice):
            return [self[k] for k in range(*rank.indices(self.count))]
        rank = index(rank)
        rank += self.count if rank < 0 else 0
        if not 0 <= rank < self.count:
            raise IndexError(f"there are {self.count} trees.")
        position = bisect_right(self._ends, rank)
        rank -= self._ends[position - 1] if position else 0
        size = self._sizes[position]
        with self._alone:
            nested = self._counting.tree(self._rows, self._depth, size, rank)
        return self._built(nested)

    def __iter__(self) -> Iterator[DecisionTree]:
        """Yield the trees in order."""
        rank = 0
        while rank < self.count:
            yield self[rank]
            rank += 1

    def sizes(self) -> list[GoodSize]:
        """Count the trees by objective and number of feature nodes.

        Returns
        -------
        list of GoodSize
            ``(objective, n_splits, count)`` in the order of the trees.
        """
        counts, run = {}, self._run
        for size, count in zip(self._sizes, self._numbers, strict=True):
            cost = self._counting.cost(size)
            name = round(cost / self._resolution), size[0]      # sums of floats may differ a little
            first, before = counts.get(name, (cost, 0))
            counts[name] = first, before + count
        least = self._counting.cost(self._sizes[0])
        return [GoodSize(self.optimum if cost - least <= self._resolution else
                         float(run.convert(run.problem.offset + cost)), m, count)
                for (_, m), (cost, count) in counts.items()]

    def sample(self, n: int, random_state: int | np.random.RandomState | None = None
               ) -> list[DecisionTree]:
        """Draw trees uniformly, with replacement.

        Parameters
        ----------
        n : int
            Number of trees.
        random_state : int or RandomState, optional
            Seed.

        Returns
        -------
        list of DecisionTree
        """
        random, drawn = check_random_state(random_state), []
        bits = self.count.bit_length()
        while len(drawn) < n:
            rank = int.from_bytes(random.bytes((bits + 7) // 8), "little") % 2 ** bits
            if rank < self.count:            # so that every rank is as likely
                drawn.append(self[rank])
        return drawn

    def _features(self):
        """Return the feature that each column tests."""
        return {column: int(self._built((column, 0, 1)).feature[0])
                for column in self._counting.columns.tolist()}

    def importance(self) -> np.ndarray:
        """Compute the share of the trees that test each feature.

        Exact: the trees without the feature are counted, which for each feature takes about as
        long as counting all trees.  A feature that every good tree tests has 1.

        Returns
        -------
        array, shape (n_features,)
        """
        features = self._features()
        shares = np.zeros(self.n_features)
        for feature in sorted(set(features.values())):
            rest = self._counting.over([column for column, of in features.items() if of != feature])
            with self._alone:
                counts = rest.within(rest.histogram(self._rows, self._depth, self._budget),
                                     self._budget)
            shares[feature] = (self.count - sum(counts.values())) / self.count
        return shares

    def roots(self) -> list[GoodRoot]:
        """Count the trees by the feature at the root, and below it by those of its children.

        Returns
        -------
        list of GoodRoot
            ``(feature, count, left, right)``, the most frequent first; ``left`` and ``right`` say
            how many of these trees have which feature in the left and right child of the root.
            The feature of a leaf is None.
        """
        with self._alone:
            return self._roots(self._counting, {None: None, **self._features()})

    def _roots(self, counting, features):
        errors, labels = counting.leaf(self._rows)
        entries = {}
        if alone := counting.within({(0, errors): len(labels)}, self._budget):
            entries[None] = sum(alone.values()), Counter(), Counter()
        for split in counting.splits(self._rows, self._depth, self._budget) if self._depth else ():
            total = sum(counting.combined([split], self._budget).values())
            sides = []
            for rows, other in ((split.zero, split.counts_1), (split.one, split.counts_0)):
                least = min(map(counting.cost, other))
                low = np.full(min(1 << self._depth, len(self._budget)), least)
                room = counting.left(self._budget, low, (1 << self._depth - 1) - 1)
                side = Counter()
                for column, counts in counting.by_root(rows, self._depth - 1, room).items():
                    whole = counting.product([(counts, other)], self._budget)
                    side[features[column]] += sum(whole.values())
                side[None] -= sum(counting.within(split.shared, self._budget).values())
                sides.append(+side)
            feature = features[split.column]
            before = entries.get(feature, (0, Counter(), Counter()))
            entries[feature] = total + before[0], sides[0] + before[1], sides[1] + before[2]
        roots = [GoodRoot(feature, *entry) for feature, entry in entries.items() if entry[0]]
        return sorted(roots, key=lambda root: -root.count)


class GoodTreesRun:
    """A run of some kind, and after it the count of all good trees."""

    def __init__(self, kind, tolerance, *data, **options):
        self.search, self.tolerance, self.good = kind(*data, **options), tolerance, None

    def run(self):
        """Search and count; return the best of the trees, and the report."""
        run, fit = self.search, self.search.fit
        best = run.solved()
        tree = run.rows.as_given(best)
        if fit.ended == "optimal":
            fit.ended = "heuristic"
            with fit.stops():
                counting = _Counting(run.solver, run.depth, run.nodes, clock=run.clock,
                                     min_leaf=run.model.min_samples_leaf)
                good = GoodTrees(counting, run, best, self.tolerance)
                counting.clock, tree = Clock(), good[0]     # what is asked later has no limit
                fit.counters["subproblems"] = len(counting.known)
                self.good, fit.ended = good, "optimal"
        return tree, fit.report()

    def answer(self):
        """Return the trees; None where a limit ended the count."""
        return self.good


class GoodTreesMixin:
    """Questions about all trees that are optimal, or nearly."""

    def _counts(self, kind, what, tolerance, columns):
        """Return the kind of a run that counts, its search, and the columns, which it keeps."""
        search = MurTreeSearch(memory_limit=memory_limit_alone(self, what), merge_rows=False,
                               merge_columns=False)
        return partial(GoodTreesRun, kind, tolerance), search, columns.copy()

    def optimal_trees(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *,
                      limit: int = 1000) -> OptimalTrees:
        """Count and list all trees of least objective: :meth:`good_trees` without a tolerance.

        Two trees differ if they are written differently: another column, another order, another
        class in a leaf where classes tie.  ``max_nodes`` keeps splits out that save nothing: give
        the ``n_splits`` of a fit with ``MurTreeSearch(minimise_nodes=True)`` for the smallest trees
        only.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Training rows.
        y : array, shape (n_rows,)
            As for ``fit``.
        sample_weight : array, shape (n_rows,), optional
            Non-negative weight of every row (default: one each).
        limit : int, default=1000
            Maximum number of trees that are listed; all are counted.

        Returns
        -------
        OptimalTrees
            ``(count, trees, errors, complete)``; with ``complete=False`` a limit ended the
            search and there may be more.
        """
        if limit < 1:
            raise ValueError(f"limit is {limit}; ask for at least one tree.")
        good = self._good_trees(X, y, sample_weight, "optimal_trees", 0.0)
        if good is None:
            return OptimalTrees(1, [self.tree_], self.report_.objective, False)
        return OptimalTrees(good.count, list(islice(good, min(int(limit), MOST))),
                            self.report_.objective, True)

    def good_trees(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *,
                   tolerance: float) -> GoodTrees:
        """Count all trees within a tolerance of the optimum, and give access to each of them.

        The set is also called the Rashomon set (Xin et al., 2022).  It has the trees within the
        limits whose objective, ``split_penalty`` for each feature node included, exceeds the least
        by ``tolerance`` at most.  Where errors are minimised a leaf predicts a class with the
        largest weight among its rows; where classes tie, each makes a tree.  By an additive
        objective a leaf predicts what that says, and costs count as equal up to 1e-9 of those of
        one leaf.  Two trees differ if they are written differently.  Splits that lead to two leaves
        of one class, or whose leaves cost no less than one, and empty leaves, are not counted.  The
        estimator is fitted too: ``tree_`` is the first of the trees.

        Parameters
        ----------
        X : array or data frame, shape (n_rows, n_features)
            Training rows.
        y : array, shape (n_rows,)
            As for ``fit``.
        sample_weight : array, shape (n_rows,), optional
            Non-negative weight of every row (default: one each).
        tolerance : float
            How much more than the optimum a tree may cost, in the unit of ``report_.objective``.
            Time and memory grow with the subproblems that lie on good trees and their different
            costs, not with the number of trees.

        Returns
        -------
        GoodTrees
            A sequence of trees in the order of their objective, with its ``count``.

        Raises
        ------
        TimeoutError
            If a limit of time or memory ended the count; ``tree_`` is then the best tree that was
            found.
        KeyboardInterrupt
            If Ctrl-C did; as above.
        """
        if not (isinstance(tolerance, Real) and 0 <= tolerance <= sys.float_info.max):
            raise ValueError(f"tolerance is {tolerance!r}; give a number of at least 0, in the "
                             "unit of report_.objective.")
        good = self._good_trees(X, y, sample_weight, "good_trees", tolerance)
        if good is None:
            if self.report_.ended == "interrupted":
                raise KeyboardInterrupt
            ended = self.report_.ended.replace("_", " ")
            raise TimeoutError(f"good_trees was ended ({ended}) before all trees were counted; "
                               "give a smaller tolerance, a smaller max_depth, a larger "
                               "split_penalty or more time.")
        return good

    def _good_trees(self, X, y, sample_weight, task, tolerance):
        """Fit and count all trees within a tolerance; None where a limit ended the count."""
        good = self._fit(X, y, sample_weight, task=task, tolerance=tolerance)
        if good is None or not self._has_all_columns:
            return None
        fitted, as_given = copy(self), good._finished      # the trees stay those of this fit
        good._finished = lambda tree: fitted._finished(as_given(tree))
        return good


def warm_up_good_trees():
    """Compile the kernel; return the seconds that it took."""
    def run():
        leaves = Leaves(0, 0, 1.0, 0.0)
        pairs, single, total = all_pairs(np.zeros((1, 0)), np.ones((1, 2)), np.zeros(1, np.int64))
        room = room_for(leaves, np.zeros((2, 1, 2)))
        judge_leaves(leaves, room, 0, 1)
        count_two(pairs, single, np.zeros(0, np.int64), total, leaves, room, 1, 1, 0.0, np.ones(4),
                  -1, 1, np.full(8, -1), np.zeros(8, np.int64))

    return warm_up("all good trees", count_two, run)
