"""All trees within a tolerance of the optimum (the Rashomon set), counted without listing them.

For a subproblem, that is a set of rows and a depth, a *histogram* tells how many trees have ``m``
feature nodes and ``e`` errors, up to a budget for each ``m``: what the tolerance leaves when the
rest of the tree is as good as it can be, which the search of MurTree tells.  The histogram of a
node is the sum over its splits of the convolutions of those of both children.  Where they are dense
they are computed as products of whole numbers, whose digits are the counts, so that Python's
integers keep them exact.  The tree of any rank follows from the histograms from the root down (Xin
et al., 2022, list the trees instead).

Errors are whole numbers here.  Weights that are not whole are rounded to multiples of a unit which
is as small as floats add up exactly.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import Counter, namedtuple
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate

import numpy as np
from sklearn.utils import check_random_state

from odtlib._numba.warm import warm_up
from odtlib.fit import Pace
from odtlib.report import Clock, TimeUp
from odtlib.tolerance import PROOF
from odtlib.tree import DecisionTree
from odtlib.trees import penalised_errors

from ..options import MurTreeSearch
from ..preparation import MANY_ROWS, grouped_rows, pair_sums, prepare, set_name
from ..solver import Solver, warm_up_search
from ._good_kernels import all_pairs, count_two
from .fronts import DepthwiseRun

EXACT = 2 ** 52             # floats up to this add up exactly
ENTRIES = 2 ** 12           # of the table in which the kernel counts, at least
FEW_PAIRS = 400_000         # of columns, over all rows: to count them takes less time than to bound

OptimalTrees = namedtuple("OptimalTrees", "count trees errors complete")
GoodSize = namedtuple("GoodSize", "objective n_splits count")
GoodRoot = namedtuple("GoodRoot", "feature count left right")
_Split = namedtuple("_Split", "column one zero counts_1 counts_0 shared")


def product(pairs):
    """Return the histogram of the trees whose children come from any of the pairs of histograms."""
    pairs = [pair for pair in pairs if all(pair)]
    if not pairs:
        return {}
    starts = [[min(e for _, e in side) for side in pair] for pair in pairs]
    low = min(map(sum, starts))
    span = max(sum(max(e for _, e in side) for side in pair) for pair in pairs) - low + 1
    if sum(len(one) * len(zero) for one, zero in pairs) < span:
        histogram = {}
        for one, zero in pairs:
            for (m_1, e_1), count_1 in one.items():
                for (m_0, e_0), count_0 in zero.items():
                    size = m_1 + m_0 + 1, e_1 + e_0
                    histogram[size] = histogram.get(size, 0) + count_1 * count_0
        return histogram
    trees = sum(sum(one.values()) * sum(zero.values()) for one, zero in pairs)
    width = (trees.bit_length() + 7) // 8

    def number(side, start):
        digits = bytearray(width * ((max(side)[0] + 1) * span))
        for (m, e), count in side.items():
            position = width * (m * span + e - start)
            digits[position:position + width] = count.to_bytes(width, "little")
        return int.from_bytes(digits, "little")

    total = 0
    for pair, start in zip(pairs, starts, strict=True):
        total += number(pair[0], start[0]) * number(pair[1], start[1]) \
            << 8 * width * (sum(start) - low)
    digits = total.to_bytes(-(-total.bit_length() // (8 * width)) * width, "little")
    histogram = {}
    for position in range(0, len(digits), width):
        if count := int.from_bytes(digits[position:position + width], "little"):
            m, e = divmod(position // width, span)
            histogram[m + 1, low + e] = count
    return histogram


class _Counting:
    """Histograms of the subproblems of one data set, over some of its columns.

    ``classes`` has the weight of each class in each row, in units of ``unit``, and last the number
    of rows behind it.  ``bounds`` tells for each split of some rows what its children cost at
    least, (2, columns, feature nodes).  A *budget* has, for each number of feature nodes that a
    tree may have, the most that one of so many may cost.
    """

    def __init__(self, bits, classes, bounds, columns, *, unit, min_leaf, penalty, slack, clock):
        self.bits, self.classes, self.bounds = bits, classes, bounds
        self.columns = np.array(columns, np.int64)
        self.bits_of_columns = bits if len(columns) == bits.shape[1] else bits[:, self.columns]
        self.unit, self.min_leaf, self.penalty = unit, min_leaf, penalty
        self.slack, self.clock, self.pace = slack, clock, Pace()
        self.tie = 0.0 if unit == 1 else slack / unit
        entries = max(ENTRIES, 1 << (4 * len(columns) + 4).bit_length())
        self.table = np.full(entries, -1), np.zeros(entries, np.int64)
        self.known, self.options, self.latest = {}, {}, (None, [])

    def over(self, columns):
        """Return the counting without the other columns."""
        return _Counting(self.bits, self.classes, self.bounds, columns, unit=self.unit,
                         min_leaf=self.min_leaf, penalty=self.penalty, slack=self.slack,
                         clock=Clock())

    def name(self, rows, depth):
        """Return a subproblem as a key that no other one has."""
        return set_name(rows, len(self.bits)), depth

    def leaf(self, rows):
        """Return the errors of a leaf and the classes that it may predict."""
        return self.leaf_of(self.classes[rows].sum(axis=0))

    def leaf_of(self, sums):
        """Return the same, given the sums of the classes."""
        sums = sums[:-1].tolist()
        largest_weight = max(sums)
        classes = [k for k, of in enumerate(sums) if of >= largest_weight - self.tie]
        return int(sum(sums) - largest_weight), classes

    def cost(self, size):
        """Return the cost of a tree with ``size = (feature nodes, errors)``."""
        return self.unit * size[1] + self.penalty * size[0]

    def within(self, counts, budget):
        """Return the part of a histogram that a budget leaves."""
        return {size: count for size, count in counts.items() if count and size[0] < len(budget)
                and self.cost(size) <= budget[size[0]] + self.slack}

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

    def near(self, rows, depth, budget):
        """Return the columns that may split a node within a budget, by their positions.

        Before them the bits of all columns, and the sums of the classes where each has a one, after
        them what the children cost at least.
        """
        bits, classes = self.bits_of_columns[rows], self.classes[rows]
        single = bits.T @ classes
        sides = np.stack([single, classes.sum(axis=0) - single])
        if len(budget) == 2:                                 # both children are leaves
            weights = sides[:, :, :-1]
            low = self.unit * (weights.sum(axis=2) - weights.max(axis=2))[:, :, None]
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
        splits, total = [], self.classes[rows].sum(axis=0)
        _, single, near, low = self.near(rows, depth, budget)
        budgets_0, budgets_1 = self.left(budget, low, low.shape[2] - 1)
        fits = (low[0, :, :budgets_1.shape[1]] <= budgets_1 + self.slack).any(axis=1)
        for k in np.flatnonzero(fits).tolist():
            self.clock.check()
            position, budget_1, budget_0 = near[k], budgets_1[k], budgets_0[k]
            column = int(self.columns[position])
            has = self.bits[rows, column] == 1
            one, zero = rows[has], rows[~has]
            counts_1 = self.within(self.histogram(one, depth - 1, budget_1), budget_1)
            counts_0 = self.within(self.histogram(zero, depth - 1, budget_0), budget_0)
            if not counts_1 or not counts_0:
                continue
            leaf_1, leaf_0, shared = min(counts_1), min(counts_0), {}
            if leaf_1[0] == leaf_0[0] == 0:          # two leaves of one class are no split
                classes = [set(self.leaf_of(sums)[1])
                           for sums in (single[position], total - single[position])]
                shared = {(1, leaf_1[1] + leaf_0[1]): len(set.intersection(*classes))}
            splits.append(_Split(column, one, zero, counts_1, counts_0, shared))
        return splits

    def combined(self, splits, budget):
        """Return the histogram of the trees that begin with one of these splits."""
        counts = Counter(product([(split.counts_1, split.counts_0) for split in splits]))
        for split in splits:
            counts.subtract(split.shared)
        return self.within(counts, budget)

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
        if 0 < depth <= 2 and len(budget) > 1:
            counts = self.shallow(rows, depth, budget)
        else:
            errors, classes = self.leaf(rows)
            counts = {(0, errors): len(classes)}
            self.latest = name, self.splits(rows, depth, budget)
            counts |= self.combined(self.latest[1], budget)
        self.known[name] = budget, counts
        return counts

    def shallow(self, rows, depth, budget):
        """Return the histogram of a node of depth one or two, from its counts of pairs."""
        if len(rows) * len(self.columns) ** 2 < FEW_PAIRS:
            pairs, single, total = all_pairs(self.bits_of_columns, self.classes, rows)
            roots = np.arange(len(self.columns))
        else:
            classes, total = self.classes[rows], self.classes[rows].sum(axis=0)
            bits, single, roots, _ = self.near(rows, depth, budget)
            pairs = np.zeros((0, 0, 0))
            if depth == 2:
                pairs = pair_sums(bits, classes, self.clock, roots)
        budget_by_size = np.full(4, -np.inf)
        budget_by_size[:len(budget)] = budget[:4] + self.slack
        (names, counts), histogram, first = self.table, {}, -1
        while True:
            names.fill(-1)
            first = self.pace.slice(
                lambda work, first=first: count_two(
                    pairs, single, roots, total, self.min_leaf, depth, self.unit, self.penalty,
                    budget_by_size, self.tie, first, work, names, counts),
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
            return (split.column, *[(a, b) for a in zeros for b in ones if a != b][rank])
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
        errors, classes = self.leaf(rows)
        counts = {None: self.within({(0, errors): len(classes)}, budget)}
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

    def __init__(self, counting: _Counting, depth: int, nodes: int, optimum: float,
                 tolerance: float, built: Callable) -> None:
        self.optimum, self.tolerance = float(optimum), float(tolerance)
        self._counting, self._depth, self._rows = counting, depth, np.arange(len(counting.bits))
        self._budget = np.full(nodes + 1, optimum + tolerance)
        counts = counting.within(counting.histogram(self._rows, depth, self._budget), self._budget)
        self._resolution = PROOF * counting.unit * counting.classes[:, :-1].sum()
        self._sizes = sorted(counts, key=lambda size: (
            round(counting.cost(size) / self._resolution), size))
        self._numbers = [counts[size] for size in self._sizes]
        self._ends = list(accumulate(self._numbers))
        self.count = self._ends[-1]
        self._built = built

    @property
    def n_features(self) -> int:
        """Number of features, as in ``tree.n_features``."""
        return self._built(0).n_features

    def __len__(self) -> int:
        """Return the number of trees."""
        return self.count

    def __getitem__(self, rank: int) -> DecisionTree:
        """Return the tree of a rank."""
        if isinstance(rank, slice):
            return [self[k] for k in range(*rank.indices(min(self.count, sys.maxsize)))]
        rank = int(rank)
        rank += self.count if rank < 0 else 0
        if not 0 <= rank < self.count:
            raise IndexError(f"there are {self.count} trees.")
        position = bisect_right(self._ends, rank)
        rank -= self._ends[position - 1] if position else 0
        size = self._sizes[position]
        return self._built(self._counting.tree(self._rows, self._depth, size, rank))

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
        counts = {}
        for size, count in zip(self._sizes, self._numbers, strict=True):
            cost = self._counting.cost(size)
            name = round(cost / self._resolution), size[0]      # sums of floats may differ a little
            first, before = counts.get(name, (cost, 0))
            counts[name] = first, before + count
        return [GoodSize(float(cost), m, count) for (_, m), (cost, count) in counts.items()]

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
        counting, features = self._counting, {None: None, **self._features()}
        errors, classes = counting.leaf(self._rows)
        entries = {}
        if alone := counting.within({(0, errors): len(classes)}, self._budget):
            entries[None] = sum(alone.values()), Counter(), Counter()
        for split in counting.splits(self._rows, self._depth, self._budget) if self._depth else ():
            total = sum(counting.combined([split], self._budget).values())
            sides = []
            for rows, other in ((split.zero, split.counts_1), (split.one, split.counts_0)):
                least = min(map(counting.cost, other))
                room = counting.left(self._budget, np.full(1 << self._depth, least),
                                     (1 << self._depth - 1) - 1)
                side = Counter()
                for column, counts in counting.by_root(rows, self._depth - 1, room).items():
                    whole = counting.within(product([(counts, other)]), self._budget)
                    side[features[column]] += sum(whole.values())
                side[None] -= sum(counting.within(split.shared, self._budget).values())
                sides.append(+side)
            feature = features[split.column]
            before = entries.get(feature, (0, Counter(), Counter()))
            entries[feature] = total + before[0], sides[0] + before[1], sides[1] + before[2]
        roots = [GoodRoot(feature, *entry) for feature, entry in entries.items() if entry[0]]
        return sorted(roots, key=lambda root: -root.count)


class GoodTreesRun(DepthwiseRun):
    """One fit that counts all good trees."""

    def __init__(self, model, columns, y, sample_weight, clock, what, tolerance):
        super().__init__(model, columns, y, sample_weight, clock, what)
        self.penalty, self.tolerance = float(model.split_penalty), float(tolerance)
        if sample_weight is None and len(y) >= MANY_ROWS:
            sample_weight = self.weight                  # so that equal rows are one
        problem = prepare(columns, y, self.n_classes, sample_weight,
                          min_samples_leaf=model.min_samples_leaf, merge_rows=False,
                          merge_columns=False)
        clock.leave_out(warm_up_search(problem.kernel))
        self.solver = Solver(problem, max(1, self.depth), max(1, self.nodes),
                             split_penalty=self.penalty, min_samples_leaf=model.min_samples_leaf,
                             search=MurTreeSearch(memory_limit=self.memory_limit))
        groups, first = grouped_rows(problem.rows)
        self.group, self.columns_of = groups, problem.columns
        unit, slack = 1.0, self.solver.slack
        if self.fit.scale > EXACT or (problem.weights[:, 0] % 1).any():
            unit = 2.0 ** np.ceil(np.log2(self.fit.scale / EXACT))
            slack += len(problem.rows) * unit
        classes = np.zeros((len(first), self.n_classes + 1))
        np.add.at(classes, (groups, self.solver.row_class), np.rint(problem.weights[:, 0] / unit))
        np.add.at(classes[:, -1], groups, problem.weights[:, 1])
        self.counting = _Counting(
            problem.rows[first].astype(np.float64), classes, self.bounds,
            range(len(problem.columns) if self.n_classes > 1 else 0), unit=unit,
            min_leaf=model.min_samples_leaf, penalty=self.penalty, slack=slack, clock=clock)
        self.good = None

    def counters(self, tree):
        return {**self.solver.counted(), "subproblems": len(self.counting.known)}

    def constants(self):
        """Return the best tree that is one leaf: no other is better on all rows."""
        return [self.built(int(np.bincount(self.y, self.weight).argmax()))]

    def evaluate(self):
        return partial(penalised_errors, split_penalty=self.penalty)

    def bounds(self, rows, depth, budget):
        """Return what each child of each split of some of the different rows costs at least.

        By its feature nodes, (2, columns, nodes), exact where the tree may be within the budget.
        """
        member = np.zeros(len(self.counting.bits), bool)
        member[rows] = True
        nodes, within = 2 ** depth - 1, budget + self.counting.slack
        limited = self.nodes < 2 ** self.depth - 1
        if limited:
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
        return least if limited else least.repeat(2 ** (depth - 1), axis=2)

    def over_columns(self, nested):
        """Turn nested tuples over the columns of the problem into a tree over the given ones."""
        return self.built(nested, self.columns_of)

    def count(self, depth):
        """Count all good trees; the best of them becomes the incumbent."""
        # A leaf is counted after the limit too.
        if not self.solver.solve(depth, self.nodes, clock=self.clock if depth else None):
            raise TimeUp
        good = GoodTrees(self.counting, depth, min(self.nodes, 2 ** depth - 1),
                         self.solver.value(), self.tolerance, self.over_columns)
        best = good[0]
        self.good = good                         # only now that no limit has ended the count
        self.counting.clock = self.clock = Clock()      # what is asked later has no limit
        self.update_incumbent(best, "one tree")

    def solve(self, depth, nodes):
        if depth == self.depth:
            self.count(depth)

    def answer(self):
        """Return the trees, over the given columns; None where a limit ended the count."""
        if self.depth == 0:
            self.count(0)
        return self.good


def warm_up_good_trees():
    """Compile the kernel; return the seconds that it took."""
    def run():
        pairs, single, total = all_pairs(np.zeros((1, 0)), np.ones((1, 2)), np.zeros(1, np.int64))
        count_two(pairs, single, np.zeros(0, np.int64), total, 1, 1,
                  1.0, 0.0, np.ones(4), 0.0, -1, 1, np.full(8, -1), np.zeros(8, np.int64))

    return warm_up("all good trees", count_two, run)
