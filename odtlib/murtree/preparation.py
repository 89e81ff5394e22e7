"""From 0/1 columns, classes and weights to the arrays of the search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache, reduce
from math import lcm
from typing import NamedTuple

import numpy as np

from odtlib.arrays import aligned
from odtlib.report import Clock
from odtlib.tolerance import PROOF

from . import _sums
from ._cache import ENTRY
from ._groups import group_words
from ._kernels import (
    COUNT_PAIRS,
    GROUPS,
    KEYS_FROM_ROWS,
    MERGE_COLUMNS,
    MIN_LEAF,
    N_CLASSES,
    N_COLUMNS,
    N_GROUPS,
    CountArrays,
    SharedArrays,
)
from ._objectives import ELEMENT, LARGEST_SUM, WORD, choose_kernel
from ._search import N_CHOICE, N_COST, N_STATE, Levels, Scratch

GROWTH_FOR_WEIGHTS = 2      # with fewer copies of rows their 16 bits are quicker than class weights
MAX_COPIES = 1.5    # integer weights are written as copies while the rows grow at most this much
FEW_WEIGHTS = 16    # so many different ones are tried for a common unit
LARGEST_RATIO = 2 ** 20     # denominator of the ratio of two weights
LARGEST_COUNT = 2 ** 53     # of class weights; costs are float64
LEAST_COUNT = 2 ** 20       # of a class weight that is rounded: none is lost
ROWS_FOR_A_SUM = 8  # so many rows are counted while the weight of one is added up
CELLS_AT_A_TIME = 2 ** 22      # of the columns
CELLS_IN_CACHE = 2 ** 17
MANY_ROWS = 1500    # of fewer rows equal ones cost less than to find them
PAIRS_AT_A_TIME = 10 ** 9      # pairs of columns of rows: BLAS takes a tenth of a second for them
MAX_EARLIER_NODES = 32     # more of them cost more memory and save hardly a depth-two problem
MAX_EQUAL_ROWS = 0.25      # rows are counted, not summed up, while so few are equal to others
EXACT = 2 ** 52            # floats up to this add up exactly
EPS = np.finfo(float).eps
NOTHING = 1e-13            # costs below this share of a single leaf's are rounding
MANY_LEAVES = 4096         # single rows whose costs are tried for rounding


class Sums(NamedTuple):
    """What an additive objective sums up.

    ``Problem.weights`` then has, for each row, the lines, its own cost, and the number of given
    rows behind it.
    """

    n_lines: int
    n_counted: int           # of the first lines, of zeros and ones
    number: int              # the line with the numbers of rows
    line_of: np.ndarray      # (2, n_free) the line of each number, and of its last digits or -1
    kernels: tuple           # the addresses of the five kernels that cost leaves and bound rows
    n_sums: int              # numbers of the objective
    adds_last: bool          # whether the last of them is among the rows' own costs
    costs: Callable          # of sums of the lines of numbers, (n_free, n): what leaves cost
    leaf: Callable           # of the rows of a leaf: its cost, and what it predicts
    uneven: bool             # whether differences of plain sums may be rounding only

    @property
    def loses(self):
        """Whether differences of the lines may be rounding only, too."""
        return self.uneven and bool((self.line_of[1] < 0).all())

    def numbers(self, weights):
        """Return the numbers of rows, (n_rows, n_free), given their ``Problem.weights``."""
        leading, rest = self.line_of
        return weights[:, leading] + np.where(rest < 0, 0.0, weights[:, rest])


@dataclass
class Problem:
    """Preprocessed data: contradictory rows and redundant columns removed.

    ``offset`` is the cost of the removed rows.
    """

    bits: np.ndarray          # (n, bytes) 0/1 columns, see packed_rows; rows grouped by class
    class_sizes: np.ndarray   # (n_classes,)
    columns: np.ndarray       # (p,) position of each column in the given data
    weights: np.ndarray       # (n, 2) weight of each row and number of given rows behind it
    kernel: str
    offset: float             # score that every tree has: rows that contradict each other
    scale: float              # the largest cost of a tree
    counters: dict
    least: float = 0.0        # no tree over all rows costs less, beside the offset
    lost: float = 0.0         # what a tree may cost more, as weights were rounded down
    class_weights: np.ndarray | None = None     # (n_classes,), if rows of a class weigh alike
    sums: Sums | None = None  # of an additive objective

    @cached_property
    def rows(self):
        """The 0/1 columns as numbers, (n, p)."""
        return np.unpackbits(self.bits, axis=1, count=len(self.columns), bitorder="little")

    def reweighted(self, class_weights):
        """Return the same rows with other weights of their classes, None if that is not all."""
        largest = LARGEST_COUNT if "64" in self.kernel else LARGEST_SUM
        if self.class_weights is None or class_weights @ self.class_sizes >= largest:
            return None
        weights = self.weights.copy()
        weights[:, 0] = np.repeat(class_weights, self.class_sizes)
        return replace(self, weights=weights, class_weights=class_weights,
                       scale=float(weights[:, 0].sum()))

    def parts(self, rows, column):
        """Return those of some rows that lack a column, and those that have it."""
        has = (self.bits[rows, column >> 3] >> (column & 7) & 1).view(bool)
        return rows[~has], rows[has]


@lru_cache(8)
def _kept_words(number, which):
    return np.random.default_rng(20220 + which).integers(0, 2**64, size=number, dtype=np.uint64)


def random_words(number, which=0):
    """Return random words; a few thousand are kept for the next search."""
    few = 1 << max(10, number.bit_length())
    return _kept_words(few, which)[:number] if few <= 2 ** 15 else \
        _kept_words.__wrapped__(number, which)


def packed_rows(X, width=None, rows=None, columns=None):
    """Pack ``X[rows][:, columns]``, all by default, a few rows at a time: Ctrl-C is heard between.

    Rows are filled up with zeros to a width that is a multiple of eight, by default the one that
    the search needs.
    """
    n_columns = X.shape[1] if columns is None else len(columns)
    if width is None:
        width = max(32, (n_columns + 31) // 32 * 32)
        width += 32 if width % 1024 == 0 else 0             # as the kernels' line_width
    packed = np.empty((len(X if rows is None else rows), width // 8), np.uint8)
    step = max(1, CELLS_IN_CACHE // max(1, width, X.shape[1]))
    padded = np.zeros((min(step, len(packed)), width), np.uint8)
    for start in range(0, len(packed), step):
        block = packed[start:start + step]
        some = X[start:start + step] if rows is None else X.take(rows[start:start + step], axis=0)
        padded[:len(block), :n_columns] = (some if n_columns == X.shape[1]
                                           else some.take(columns, axis=1))
        block[:] = np.packbits(padded[:len(block)], bitorder="little").reshape(block.shape)
    return packed


def _group(words):
    """Return the group number of each row of a 2-d array of words, and the first of each group."""
    slots = np.full(1 << len(words).bit_length() + 1, -1, np.int32)
    groups, first = np.empty(len(words), np.int32), np.empty(len(words), np.int32)
    n_groups = group_words(words, slots, groups, first)
    return groups, first[:n_groups].astype(np.int64)


def grouped_rows(columns):
    """Return the group number of each row of 0/1 columns, and the first row of each group."""
    return _group(packed_rows(columns, -(-columns.shape[1] // 64) * 64).view(np.uint64))


def pair_sums(bits, amounts, clock, firsts=slice(None)):
    """Return the sums of each amount, (n, p, p), over the rows that have both columns of a pair.

    ``bits`` is (n_rows, p) and ``amounts`` (n_rows, n); ``firsts`` chooses the first columns of the
    pairs.  The clock is asked after each block.
    """
    left = bits[:, firsts]
    p = left.shape[1], bits.shape[1]
    sums = np.zeros((amounts.shape[1], *p))
    step = max(1, PAIRS_AT_A_TIME // max(1, p[0] * p[1]))
    for c in np.flatnonzero(amounts.any(axis=0)):
        for first in range(0, len(bits), step):
            clock.check()
            weighted = left[first:first + step] * amounts[first:first + step, c:c + 1]
            sums[c] += weighted.T @ bits[first:first + step]
    return sums


def set_name(rows, n_rows):
    """Return a set of rows as a key that no other set has."""
    member = np.zeros(n_rows, bool)
    member[rows] = True
    return np.packbits(member).tobytes()


def varying_columns(columns):
    """Return the columns that split the rows."""
    return np.flatnonzero(columns.min(axis=0, initial=1) != columns.max(axis=0, initial=0))


def _distinct_columns(columns, clock=None):
    """Return the columns that split the rows, one of each group that splits them identically.

    When the clock has expired, all that split them.
    """
    n_rows, n_columns = columns.shape
    if n_rows == 0:
        return np.zeros(0, np.int64)
    bits = np.zeros((n_columns, (n_rows + 63) // 64 * 8), np.uint8)
    step = min(max(CELLS_AT_A_TIME // max(1, n_columns), 1), 128) * 8
    for start in range(0, n_rows, step):         # in blocks that stay in the processor's cache
        if clock is not None and clock.expired:
            return varying_columns(columns)
        # Against its first value a column and its complement look alike.
        block = np.packbits(np.ascontiguousarray((columns[start:start + step] ^ columns[:1]).T),
                            axis=1)
        bits[:, start // 8:start // 8 + block.shape[1]] = block
    first = _group(bits.view(np.uint64))[1]
    return first[bits[first].any(axis=1)]


def total_of(weight):
    """Return what rows weigh together, if in whole numbers; infinity if not, 0 without weights."""
    return 0.0 if weight is None else np.inf if (weight % 1).any() else weight.sum()


def whole_weights(weight):
    """Return weights as whole numbers, and what one of them stands for; None if they are not.

    A few different weights are multiples of a number where that is so up to rounding, as weights
    that balance classes are; others only if they are whole.
    """
    if total_of(weight) < LARGEST_COUNT:
        unit = float(np.gcd.reduce(weight.astype(np.int64)))
        return weight / unit, unit
    for some in (weight[:1000], weight):
        if len(values := np.unique(some)) > FEW_WEIGHTS:
            return None
    ratios = [Fraction(ratio).limit_denominator(LARGEST_RATIO) for ratio in values / values[0]]
    unit = values[0] / lcm(*(ratio.denominator for ratio in ratios))
    if unit < np.finfo(float).tiny:
        return None
    whole = np.rint(weight / unit)
    exact = np.abs(whole * unit - weight) <= 2 * np.spacing(weight)
    return (whole, unit) if exact.all() and whole.sum() < LARGEST_COUNT else None


def rounded_weights(y, weight, n_classes):
    """Return weights of classes as multiples of the last place of their sum, and that unit.

    They are rounded down, so that no tree costs more than it does in fact.  None unless all rows
    of a class weigh the same, and so much that none of them is lost.
    """
    factors = np.ones(n_classes)
    factors[y] = weight
    unit = 2.0 ** np.ceil(np.log2(weight.sum())) / (LARGEST_COUNT / 2)
    if not np.array_equal(weight, factors[y]) or unit < np.finfo(float).tiny \
            or weight.min() < LEAST_COUNT * unit:
        return None
    return np.floor(weight / unit), unit


def weights_of_classes(y, weight, n_classes):
    """Return the weights of the classes, None unless all rows of a class have the same.

    They are whole numbers whose sum costs can hold.
    """
    factors = np.ones(n_classes)
    factors[y] = weight
    if (factors % 1).any() or weight.sum() >= LARGEST_COUNT or (weight != factors[y]).any():
        return None
    return factors.astype(np.int64)


def prepare(X, y, n_classes, sample_weight=None, *, counts=None, min_samples_leaf=1,
            merge_rows=True, merge_columns=True, clock=None, groups=None):
    """Reduce a data set to what the search must see.

    ``counts`` tells how many samples each weighted row is for ``min_samples_leaf`` (default: one),
    and ``groups`` is that of :func:`grouped_rows`, where it is known.
    """
    clock = Clock() if clock is None else clock
    X = np.ascontiguousarray(X, dtype=np.uint8)
    merge_rows = merge_rows and not clock.expired
    y = np.asarray(y, dtype=np.int64)
    n_given = len(X)
    weight = None if sample_weight is None else np.asarray(sample_weight, np.float64)
    scale = float(n_given if weight is None else weight.sum())
    offset, class_weights = 0.0, None
    if len(X) and (weight is not None or (merge_rows and min_samples_leaf == 1)):
        groups, first = grouped_rows(X) if groups is None else groups
        n_groups = len(first)
        cells = groups * np.int64(n_classes) + y
        table = np.bincount(cells, weights=weight, minlength=n_groups * n_classes)
        table = table.reshape(n_groups, n_classes)
        common = reduce(np.minimum, table.T)
        if merge_rows and min_samples_leaf == 1 and np.any(common > 0):
            offset = float(common.sum() * (n_classes - 1))
            table = table - common[:, None]
        else:
            common = np.zeros(n_groups)
        if weight is not None:
            used = np.flatnonzero(table.ravel() > 0)
            left = table.ravel()[used]
            copies = total_of(left) if min_samples_leaf == 1 else np.inf
            if (counts is None and copies > GROWTH_FOR_WEIGHTS * len(y)
                    and len(y) <= ROWS_FOR_A_SUM * len(used)):
                class_weights = weights_of_classes(y, weight, n_classes)
            if class_weights is not None:       # two equal rows do not cancel out, and stay
                offset, number = 0.0, np.ones(len(y))
            else:
                X, y, weight = X[first[used // n_classes]], used % n_classes, left
                if min_samples_leaf == 1:       # the counted row of a group may be cancelled
                    number = np.ones(len(used))
                else:
                    number = np.bincount(cells, counts, n_groups * n_classes)[used].astype(float)
                if copies <= MAX_COPIES * len(used) + 1024:
                    copies, weight = weight.astype(np.int64), None
                    X, y = np.repeat(X, copies, axis=0), np.repeat(y, copies)
        elif offset:
            # Keep in every cell as many rows as are left of it.
            mixed = np.flatnonzero(common[groups] > 0)
            order = mixed[np.argsort(cells[mixed], kind="stable")]
            ordered = cells[order]
            rank = np.arange(len(order)) - np.searchsorted(ordered, ordered)
            kept = np.ones(len(X), bool)
            kept[order[rank < common[groups[order]]]] = False
            X, y = X[kept], y[kept]
    by_class = np.argsort(y.astype(np.int16) if n_classes < 2 ** 15 else y, kind="stable")
    y = y[by_class]
    weights = np.ones((len(X), 2))
    if weight is not None:
        weights[:, 0], weights[:, 1] = weight[by_class], number[by_class]
    columns = _distinct_columns(X, clock) if merge_columns else varying_columns(X)
    class_sizes = np.bincount(y, minlength=n_classes)
    kernel = choose_kernel(class_sizes, min_samples_leaf, total_of(weight), class_weights)
    counters = {"rows_cancelled": n_given - len(X) if weight is None else 0,
                "columns_merged": X.shape[1] - len(columns)}
    return Problem(packed_rows(X, rows=by_class, columns=columns), class_sizes, columns, weights,
                   kernel, offset, scale, counters, class_weights=class_weights)


def lines_of(numbers, count):
    """Return the distinct columns among numbers and count, those of zeros and ones first.

    Also how many these are, where ``count`` is, and where each of ``numbers`` is.
    """
    columns = [count, *numbers.T]
    names = [column.tobytes() for column in columns]
    distinct = dict(zip(names, columns, strict=True))
    counted = [name for name, column in distinct.items() if ((column == 0) | (column == 1)).all()]
    order = counted + [name for name in distinct if name not in counted]
    places = [order.index(name) for name in names]
    return (np.column_stack([distinct[name] for name in order]), len(counted), places[0],
            np.array(places[1:], np.int64))


def power_of_two(number):
    """Return the least power of two that is no smaller than some numbers."""
    return 2.0 ** np.ceil(np.log2(np.maximum(number, np.finfo(float).smallest_subnormal)))


def leading_digits(numbers):
    """Return numbers, (n, K), rounded so that their sums over any rows are exact."""
    step = power_of_two(np.abs(numbers).sum(axis=0) / EXACT)
    return step * np.rint(numbers / step)


def rounds_off(costs, numbers, n_free, scale, share=EPS):
    """Tell whether sums of all rows lose what a leaf with a single row costs.

    ``costs`` gives the costs of leaves; ``numbers`` (n, K) are whole or rounded in the last place.
    ``share`` of the sum of their sizes may be lost.
    """
    whole = np.abs(numbers).sum(axis=0)
    some = np.argsort(np.abs(numbers[:, 0]), kind="stable")[:MANY_LEAVES]
    exact = ~(numbers % 1).any(axis=0) & (whole < 2 ** 53)
    cost = costs(numbers[some])
    for k in np.flatnonzero(~exact[:n_free]):
        for sign in (1, -1):            # a weight may be rounded to nothing, or less
            moved = numbers[some]
            moved[:, k] += sign * 100 * share * whole[k]
            if not (np.abs(costs(moved) - cost) <= PROOF * scale).all():
                return True
    return False


def prepare_sums(X, fitted, *, min_samples_leaf=1, merge_columns=True, clock=None):
    """Reduce a problem with an additive objective to what the search must see.

    Rows with equal columns become one; what each group of them costs at the least, as a leaf of its
    own, is the offset.  Where few are equal and numbers are zeros and ones, which are counted
    quickly, they stay.  With ``merge_columns`` one of several columns is kept that split the rows
    identically.
    """
    groups, first = grouped_rows(X)
    size = np.bincount(groups)
    numbers, n_groups = fitted.numbers, len(first)
    total = np.column_stack([np.bincount(groups, column) for column in numbers.T])
    alone = fitted.costs(total)
    if fitted.objective.ill_conditioned:      # parts that get no slope may cost more than the whole
        alone = np.zeros(n_groups)
    count, binary = size.astype(float), ((numbers == 0) | (numbers == 1)).all(axis=0)
    if binary.any() and len(X) - n_groups <= MAX_EQUAL_ROWS * n_groups:
        order = np.argsort(groups, kind="stable")
        group = groups[order]
        share = (total / count[:, None])[group]
        own, first, number = -(alone / count)[group], order, np.ones(len(X))
        numbers = np.where(binary, numbers[order], share)
    else:
        numbers, own, number = total, -alone, count
    if fitted.adds_last:
        own, numbers = own + numbers[:, -1], np.where(np.arange(numbers.shape[1])
                                                      < numbers.shape[1] - 1, numbers, 0.0)
    n_free = numbers.shape[1] - fitted.adds_last
    leading, rest = numbers[:, :n_free], np.zeros((len(number), n_free))
    uneven = fitted.objective.ill_conditioned or rounds_off(
        fitted.costs, numbers, n_free, fitted.scale)
    if uneven:                           # sums of the leading digits are exact
        if not rounds_off(fitted.costs, numbers, n_free, fitted.scale, len(number) * EPS ** 2):
            leading = leading_digits(leading)
            rest = numbers[:, :n_free] - leading
    split = rest.any(axis=0)
    lines, n_counted, of_number, places = lines_of(
        np.hstack([leading, rest[:, split]]),
        number if min_samples_leaf > 1 else np.ones(len(number)))
    line_of = np.full((2, n_free), -1)
    line_of[0], line_of[1, split] = places[:n_free], places[n_free:]

    def costs(sums):
        every = np.zeros((sums.shape[1], numbers.shape[1]))
        every[:, :n_free] = sums.T
        return fitted.costs(every)

    def leaf(rows):
        sums = numbers[rows].sum(axis=0)
        cost = own[rows].sum() + fitted.costs(sums[None])[0]
        return (float(cost) if cost > NOTHING * fitted.scale else 0.0, sums[:n_free].tolist())

    columns = _distinct_columns(X, clock) if merge_columns else varying_columns(X)
    return Problem(
        packed_rows(X, rows=first, columns=columns), np.array([len(first)]), columns,
        np.column_stack([lines, own, number]), "sums", float(alone.sum() + fitted.constant),
        fitted.scale, {"rows_merged": len(X) - n_groups, "columns_merged":
                       X.shape[1] - len(columns)},
        sums=Sums(lines.shape[1], n_counted, of_number, line_of, fitted.kernels, numbers.shape[1],
                  fitted.adds_last, costs, leaf, uneven))


def likely_kernel(y, n_classes, min_leaf, weight, by_class, costs=None):
    """Return the kernel that :func:`prepare` chooses for most such data, before it is prepared.

    ``by_class`` tells that the objective gives each class a weight, and ``costs``, (n_rows,
    n_classes), are those of labels.
    """
    if costs is not None:
        saved = costs.max(axis=1, keepdims=True) - costs
        y, weight = np.nonzero(saved)[1], saved[saved > 0]
        return choose_kernel(np.bincount(y, minlength=n_classes), 2, total_of(weight))
    if by_class and weight is None:
        return choose_kernel(np.zeros(n_classes), min_leaf, 0.0, np.ones(n_classes))
    whole = None if weight is None or by_class else (
        whole_weights(weight) or rounded_weights(y, weight, n_classes))
    total = 0.0 if weight is None else np.inf if whole is None else whole[0].sum()
    if whole is not None and (min_leaf > 1 or total > GROWTH_FOR_WEIGHTS * len(y)):
        by_class = weights_of_classes(y, whole[0], n_classes)
        if by_class is not None:
            return choose_kernel(np.bincount(y, minlength=n_classes), min_leaf, 0.0, by_class)
    copied = weight is None or min_leaf == 1 and total <= MAX_COPIES * len(y) + 1024
    sizes = np.bincount(y, whole[0] if whole and copied else None, n_classes)
    return choose_kernel(sizes, min_leaf, 0.0 if copied else total)


def groups_of(problem, min_samples_leaf):
    """Return the groups in which rows are counted, as ``shape`` has them, and their sizes."""
    n_classes, sizes = len(problem.class_sizes), problem.class_sizes.tolist()

    def groups(factors, numbers, lines, counts):
        return [*factors, *numbers, *lines, *(len(counts) + 1) * [0]], counts

    if problem.class_weights is not None or "weighted" not in problem.kernel:
        factors = n_classes * [1] if problem.class_weights is None else problem.class_weights
        return groups(factors, n_classes * [1], [*range(n_classes + 1), 0, n_classes], sizes)
    weight, number = problem.weights[:, :2].astype(np.int64).T

    def of_bits(some):
        every = int(np.bitwise_or.reduce(some)) if len(some) else 0
        bits = [1 << bit for bit in range(every.bit_length()) if every >> bit & 1]
        return bits, [int(np.count_nonzero(some & bit)) for bit in bits]

    factors, lines, counts = [], [0], []
    for some in np.split(weight, np.cumsum(sizes)[:-1]):
        bits, of_each = of_bits(some)
        factors, counts = factors + bits, counts + of_each
        lines.append(len(factors))
    if min_samples_leaf == 1:                # each row that a group has is one
        return groups(factors, len(factors) * [1], [*lines, 0, len(factors)], counts)
    bits, of_each = of_bits(number)
    numbers = len(factors) * [0] + bits
    return groups(factors + len(bits) * [0], numbers, [*lines, len(factors), len(numbers)],
                  counts + of_each)


class Workspace:
    """All arrays of a search over one problem, for trees up to a given depth."""

    def __init__(self, problem, max_depth, max_nodes, *, min_samples_leaf, merge_columns,
                 keys_from_rows, cache_entries, count_pairs, earlier_levels):
        n_rows, n_columns = len(problem.bits), len(problem.columns)
        n_classes, width = len(problem.class_sizes), 8 * problem.bits.shape[1]
        levels = max_depth + 1
        element, word = ELEMENT[problem.kernel], WORD[problem.kernel]
        weighted = "weighted" in problem.kernel
        groups, counts = groups_of(problem, min_samples_leaf)
        n_groups, n_parts = len(counts), sum(counts)
        words = n_parts // (8 * word) + n_groups + 1
        blocks = words * width * word
        sums = problem.sums
        if sums is not None:
            square = 8 * (sums.n_lines * width * width + 2048) + 1024
            line = 8 * (sums.n_lines + 2) * (width + 1) + 512
            sides = 8 * (_sums.N_SIDES * width + _sums.SPARE + _sums.LEAVES * (sums.n_sums + 1))
            sizes = (blocks, 8 * (sums.n_lines + 2) * n_rows, square, line, sides,
                     8 * (words * (64 + width + sums.n_counted) + 3 * width), square, line)
        else:                                             # weights have a matrix for numbers too
            adds = "weights" in problem.kernel
            square = ((n_classes + (adds or weighted)) * width * width + 2048) * element
            line = ((n_classes + 2) * width + n_classes + 32) * element
            rows = 16 * n_rows + 64 if adds else blocks
            sizes = (blocks, rows, square, line, 8 * width * element, blocks, square, line)
        ends = np.cumsum([-(-size // 64) * 32 for size in (
            *sizes, levels * ((width + 1) * width + 32) * element)]).tolist()
        whole = aligned(2 * ends[-1], np.uint16)         # each begins with a line of the cache
        *of_node, totals = map(whole.__getitem__, map(slice, [0, *ends], ends))
        node = CountArrays(*of_node)
        self.shape = np.zeros(GROUPS + len(groups) if sums is None
                              else _sums.LINE_OF + sums.line_of.size, np.int64)
        self.shape[[N_CLASSES, N_COLUMNS, MIN_LEAF, MERGE_COLUMNS, KEYS_FROM_ROWS,
                    COUNT_PAIRS]] = (n_classes, width, min_samples_leaf, merge_columns,
                                     keys_from_rows, count_pairs)
        if sums is None:
            self.shape[N_GROUPS], self.shape[GROUPS:] = n_groups, groups
        else:
            self.shape[_sums.N_LINES:] = (sums.n_lines, sums.n_counted, sums.number,
                                          *sums.kernels, sums.n_sums, sums.adds_last,
                                          *sums.line_of.ravel())
            node.sides.view(np.float64)[_sums.N_SIDES * width] = NOTHING * problem.scale
        row_keys = random_words(2 * n_rows + 2)
        self.row_keys = row_keys.reshape(-1, 2)
        slots = 1
        while slots < 4 * width:
            slots *= 2
        shared = SharedArrays(
            self.shape, problem.bits.ravel(), row_keys, problem.weights.ravel(),
            np.zeros(width, np.int64), np.zeros(slots, np.int64),
            np.zeros(n_parts * width // 8 + 64, np.uint8), np.zeros(n_parts + 1, np.int32),
            np.zeros(n_groups + 1, np.int64), np.zeros(2 * max(words, n_groups + 1), np.int64))
        budgets = min(max_nodes, 2 ** (max_depth - 1)) + 1
        self.levels = Levels(
            state=np.zeros((levels, N_STATE), np.int64),
            cost=np.zeros((levels, N_COST, max_nodes + 1)),
            choice=np.zeros((levels, N_CHOICE, max_nodes + 1), np.int64),
            exact=np.zeros((levels, 2, max_nodes + 1), np.int64), leaf=np.zeros(levels),
            keys=np.zeros((levels, 2), np.uint64), child_key=np.zeros((levels, 4), np.uint64),
            rows=np.zeros((levels, n_rows + 1), np.int32),
            class_start=np.zeros((levels, n_classes + 1), np.int64),
            active=np.zeros((levels + 1, width), np.int64),
            order=np.zeros((levels, width), np.int64),
            bound=np.zeros((levels, 2, budgets, width)), leaf_cost=np.zeros((levels, 2, width)),
            limit=np.full((levels, 2, width), np.inf),
            totals=totals.reshape(levels, -1),
            column_keys=np.zeros((levels, 2 * (width + 32)), np.uint64))
        self.levels.active[0, :n_columns] = np.arange(n_columns)
        self.scratch = Scratch(
            key=np.zeros(width), side_cost=np.zeros((5, width)), best_by_size=np.zeros(8),
            node_shape=np.zeros(2, np.int64), shuffle=np.zeros(width),
            literals=random_words(4 * width, 1), shared=shared, node=node,
            read=np.zeros((2, 3), np.int64))
        # Not for nodes of many budgets: they are few, and memory grows with the budgets.
        kept = max(1, min(max_nodes, 2 ** max(max_depth - 2, 0), 8))
        n_earlier_nodes = max(1, min(MAX_EARLIER_NODES, 2 * n_columns))
        self.earlier = (np.zeros((earlier_levels, kept, n_earlier_nodes, 2, width)),
                        np.zeros((earlier_levels, n_earlier_nodes, 2 + kept), np.int64),
                        np.zeros((levels, width), np.int64), np.zeros(width, np.int64))
        self.table = np.zeros(cache_entries * ENTRY, np.uint64)
