"""The depth-two kernels against counting by hand, for every kernel and at block boundaries."""

from functools import cache

import numpy as np
import pytest
from numba import njit

from odtlib.murtree._kernels import STRIP_WORDS, WORDS_PER_BYTE, count_pairs, count_strip
from odtlib.murtree._objectives import choose_kernel
from odtlib.murtree._search import UNKNOWN, subtract_keys
from odtlib.murtree.preparation import prepare
from odtlib.murtree.solver import Solver
from tests.murtree.building import build

BY_BIT = ", by bit"         # the groups of a kernel, where they are not the classes
KERNELS = ["two classes, 16 bits", "two classes, 32 bits", "classes, 16 bits", "classes, 32 bits",
           *(f"{kernel} bits{by}" for by in ("", BY_BIT) for kernel in
             ("two weighted classes, 16", "two weighted classes, 32", "weighted classes, 16",
              "weighted classes, 32", "weighted classes, 64")),
           "whole weights, 16 bits", "whole weights, 32 bits", "weights"]
# Groups whose counts are added, and those whose counts are taken off; None: one each, once.
GROUPS = [None, (1, 1), (1, 0), (0, 1), (3, 2), (2, 0), (0, 3)]


def front(X, y, weight, n_classes, min_leaf=1):
    """Return the best scores with at most 0, 1, 2, 3 feature nodes and depth two.

    The rows of each leaf are counted for all pairs of columns at once, on both sides of both.
    """
    sides = np.hstack([1.0 - X, X])
    given = np.stack([sides.T @ (sides * (weight * (y == c))[:, None]) for c in range(n_classes)])
    cost = (given.sum(axis=0) - given.max(axis=0)).reshape(2, X.shape[1], 2, X.shape[1])
    rows = (sides.T @ sides).reshape(cost.shape)
    allowed = (rows >= min_leaf).all(axis=2)             # (side, column, column below it)
    pairs = np.where(allowed, cost.sum(axis=2), np.inf).min(axis=2)
    leaves = np.einsum("sisi->si", cost)
    splits = np.minimum(leaves, pairs)
    both = (np.einsum("sisi->si", rows) >= min_leaf).all(axis=0)
    sums = np.bincount(y, weights=weight, minlength=n_classes)
    best = [sums.sum() - sums.max()]
    for children in (leaves.sum(axis=0), np.minimum(splits[0] + leaves[1], leaves[0] + splits[1]),
                     splits.sum(axis=0)):
        best.append(np.where(both, children, np.inf).min())
    return np.minimum.accumulate(best)


def data(rng, n_rows, n_columns, n_classes):
    X = (rng.random((n_rows, n_columns)) < rng.random(n_columns)).astype(np.uint8)
    y = (X[:, 0] + X[:, -1] * (rng.random(n_rows) < 0.8) + (rng.random(n_rows) < 0.2)) % n_classes
    return X, y.astype(np.int64)


def check_front(X, y, n_classes, kernel, weight=None, min_leaf=1, rel=0.0):
    """Compare the optima of depth two, with at most 0, 1, 2, 3 feature nodes, with brute force."""
    ones = np.ones(len(y)) if weight is None else weight
    for nodes, expected in enumerate(front(X, y, ones, n_classes, min_leaf)):
        search = solver(X, y, n_classes, kernel, 2, nodes, weight, min_samples_leaf=min_leaf)
        assert search.solve(2, nodes)
        assert search.value() == pytest.approx(expected, rel=rel, abs=0.0)


def solver(X, y, n_classes, kernel, depth, nodes, weight=None, **options):
    min_leaf = options.get("min_samples_leaf", 1)
    problem = prepare(X, y, n_classes, weight, merge_rows=False, min_samples_leaf=min_leaf)
    problem.kernel, problem.class_weights = kernel.removesuffix(BY_BIT), None
    if "weighted" in kernel and BY_BIT not in kernel:
        last = np.cumsum(problem.class_sizes) - 1
        problem.class_weights = problem.weights[last, 0].astype(int)
    return build(Solver, problem, depth, nodes, **options)


@njit
def pairs(*arguments):
    count_pairs(*arguments)


@njit
def strip(*arguments):
    count_strip(*arguments)


@njit
def keys_from_sibling(*arguments):
    return subtract_keys(*arguments)


def packed(rows, n_words, bits, element):
    """Return rows, in whole words, as blocks, and one vector more."""
    blocks = np.packbits(rows.reshape(n_words, bits, rows.shape[1]), axis=1, bitorder="little")
    blocks = np.ascontiguousarray(blocks.transpose(0, 2, 1)).view(element).ravel()
    return np.append(blocks, np.zeros(32, element))


def grouped(rng, start, middle, stop, groups):
    """Return factors, where groups begin, the groups' numbers, and how often each word counts."""
    added, less = groups or (1, 1)
    begins = [start]
    for number, end in ((added, middle), (less, stop)):
        cuts = np.sort(rng.integers(begins[-1], end + 1, number))
        begins += [*cuts[1:], end][:number]
    factors = np.ones(added + less, np.int64) if groups is None else rng.integers(
        1, 100, added + less)
    often = np.repeat(factors, np.diff(begins))
    words = np.zeros(2 * (stop + len(begins)), np.int64)
    words[:len(begins)] = begins
    words[len(words) // 2 + start:len(words) // 2 + start + len(often)] = often
    signs = np.repeat(np.repeat([1, -1], [added, less]), np.diff(begins))
    return None if groups is None else factors, words, (0, added, added + less), often * signs


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("element", [np.uint16, np.uint32, np.int64])
def test_pairwise_counts_of_any_number_of_words(element, groups):
    rng, bits = np.random.default_rng(4), 8 * np.dtype(element).itemsize
    for width, n_active, first, second in [
            (32, 32, 0, 0), (32, 1, 1, 0), (64, 40, 0, 3), (64, 64, WORDS_PER_BYTE, 1),
            (32, 30, WORDS_PER_BYTE + 1, WORDS_PER_BYTE), (96, 90, 3, 2 * WORDS_PER_BYTE),
            (64, 33, 3 * WORDS_PER_BYTE - 1, 40), (32, 32, 2000, 100)]:
        if groups is not None and 0 in groups:
            first, second = (first * (groups[0] > 0), second * (groups[1] > 0))
        n_words = first + second
        rows = rng.random((n_words * bits, width)) < rng.choice([0.05, 0.5, 1.0], width)
        rows[:, n_active:] = False
        factors, words, numbers, often = grouped(rng, 0, first, n_words, groups)
        counts = np.full(width * width + 2048, 77, element)
        pairs(factors, packed(rows, n_words, bits, element), width, n_active, words, *numbers,
              counts, 0, width * width)
        rows = rows.astype(np.int64)
        expected = rows.T @ (rows * np.repeat(often, bits)[:, None])
        assert np.array_equal(counts[:width * width].reshape(width, width),
                              expected.astype(element))


@pytest.mark.parametrize("element", [np.uint16, np.uint32, np.int64])
@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("seed", range(10))
def test_a_strip_of_pairwise_counts(element, groups, seed):
    rng, bits = np.random.default_rng(seed), 8 * np.dtype(element).itemsize
    width = int(rng.choice([32, 64, 96]))
    n_active = int(rng.integers(1, width + 1))
    start, middle, stop = np.sort(rng.integers(0, STRIP_WORDS + 1, 3))
    if groups is not None and 0 in groups:
        middle = start if groups[0] == 0 else stop
    factors, words, numbers, often = grouped(rng, start, middle, stop, groups)
    rows = rng.random((stop * bits, width)) < rng.choice([0.05, 0.5, 1.0], width)
    counts = np.full(32 * width + 40, 77, element)
    for first in range(0, width, 32):
        strip(factors, packed(rows, stop, bits, element), width, n_active, words, *numbers, first,
              counts, 8)
        part = rows[start * bits:].astype(np.int64)
        expected = part[:, :n_active].T @ (part[:, first:first + 32]
                                           * np.repeat(often, bits)[:, None])
        found = counts[8:8 + 32 * n_active].reshape(n_active, 32)
        assert np.array_equal(found, expected.astype(element))
        assert (counts[:8] == 77).all() and (counts[8 + 32 * n_active:] == 77).all()


@pytest.mark.parametrize("seed", range(5))
def test_keys_of_a_node_from_its_sibling(seed):
    rng = np.random.default_rng(seed)
    below, above = rng.integers(0, 2**64, (2, 40), np.uint64)
    for name, keyed in rng.integers(0, 6, (30, 2)):
        keys = below.copy()
        known = keys_from_sibling(name, keyed, above, keys)
        assert known == (name // 2 == keyed // 2)
        sibling = known and name != keyed
        assert np.array_equal(keys, above - below if sibling else below)
    assert not keys_from_sibling(0, UNKNOWN, above, below)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("shape", [(1, 1), (15, 31), (16, 32), (33, 33), (90, 40), (70, 65),
                                   (2000, 33)])
def test_fronts_of_a_node(kernel, shape):
    rng = np.random.default_rng(shape[0])
    n_classes = 2 if "two" in kernel else 3
    check_front(*data(rng, *shape, n_classes), n_classes, kernel)


@cache
def fronts_of_children(n_rows, n_classes):
    X, y = data(np.random.default_rng(n_rows), n_rows, 34, n_classes)
    ones = np.ones(n_rows)
    return X, y, [(front(X[one], y[one], ones[one], n_classes),
                   front(X[~one], y[~one], ones[~one], n_classes))
                  for one in (X[:, j] == 1 for j in range(34)) if 0 < one.sum() < n_rows]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n_rows", [75, 1500, 4000])
def test_fronts_of_both_children(kernel, n_rows):
    """Depth three with every node budget is a root over two fronts."""
    n_classes = 2 if "two" in kernel else 4
    X, y, fronts = fronts_of_children(n_rows, n_classes)
    for nodes in (3, 4, 5, 6, 7):
        expected = min(one[a] + zero[nodes - 1 - a] for one, zero in fronts
                       for a in range(max(0, nodes - 4), min(4, nodes)))
        search = solver(X, y, n_classes, kernel, 3, nodes)
        assert search.solve(3, nodes)
        assert search.value() == expected


@pytest.mark.parametrize("kernel", [kernel for kernel in KERNELS if "two" not in kernel])
@pytest.mark.parametrize("min_leaf", [2, 7, 25])
def test_minimum_leaf_size(kernel, min_leaf):
    rng = np.random.default_rng(min_leaf)
    check_front(*data(rng, 80, 12, 3), 3, kernel, min_leaf=min_leaf)


@pytest.mark.parametrize("n_rows", [40, 130, 1500])
@pytest.mark.parametrize("largest, bits", [(40, 16), (2 ** 20, 32)])
@pytest.mark.parametrize("min_leaf", [1, 4])
def test_whole_weights_are_summed(n_rows, largest, bits, min_leaf):
    rng = np.random.default_rng(n_rows)
    for n_classes in (2, 3):
        X, y = data(rng, n_rows, 40, n_classes)
        weight = rng.integers(largest // 2, largest, n_rows).astype(float)
        check_front(X, y, n_classes, f"whole weights, {bits} bits", weight, min_leaf)
        check_front(X, y, n_classes, f"weighted classes, {bits} bits{BY_BIT}", weight, min_leaf)
        if n_classes == 2 and min_leaf == 1:
            half = 16 if weight.sum() < 2 ** 15 else 32
            check_front(X, y, 2, f"two weighted classes, {half} bits{BY_BIT}", weight)


def test_weights_are_summed():
    rng = np.random.default_rng(5)
    X, y = data(rng, 60, 33, 3)
    weight = rng.random(60) * np.array([1e-6, 1.0, 1e6])[rng.integers(0, 3, 60)]
    check_front(X, y, 3, "weights", weight, rel=1e-12)


@pytest.mark.parametrize("n_rows", [40, 1500, 4000])     # in strips, in squares, in blocks
@pytest.mark.parametrize("classes", [(1, 1), (2, 3), (70_000, 1), (1, 90_000), (123_457, 98_765)])
def test_counts_times_the_weights_of_two_classes(n_rows, classes):
    rng = np.random.default_rng(n_rows)
    X, y = data(rng, n_rows, 35, 2)
    classes = np.minimum(classes, 2 ** 31 // n_rows - 1)
    weight = classes[y].astype(float)
    problem = prepare(X, y, 2, weight, merge_rows=False)
    assert problem.kernel == "two weighted classes, 32 bits" or 2 * n_rows >= weight.sum()
    check_front(X, y, 2, "two weighted classes, 32 bits", weight)


@pytest.mark.parametrize("n_rows", [40, 1500, 4000])
@pytest.mark.parametrize("largest", [1, 9, 2 ** 18, 2 ** 36])
@pytest.mark.parametrize("min_leaf", [1, 3, 20])
def test_counts_times_the_weights_of_several_classes(n_rows, largest, min_leaf):
    rng = np.random.default_rng(n_rows)
    for n_classes in (2, 3, 5) if min_leaf > 1 else (3, 5):
        X, y = data(rng, n_rows, 35, n_classes)
        classes = rng.integers(1, largest + 1, n_classes)
        weight = classes[y].astype(float)
        for bits in (32, 64) if weight.sum() < 2 ** 31 else (64,):
            check_front(X, y, n_classes, f"weighted classes, {bits} bits", weight, min_leaf)


@pytest.mark.parametrize("factor, min_leaf, kernel", [
    (2 ** 25, 1, "two weighted classes, 32 bits"), (2 ** 28, 1, "weighted classes, 64 bits"),
    (5, 2, "weighted classes, 32 bits"), (2 ** 28, 2, "weighted classes, 64 bits"),
    (2 ** 52, 2, "weights"), (5.5, 2, "weights")])
def test_class_weights_have_the_kernel_that_holds_their_sum(factor, min_leaf, kernel):
    X, y = data(np.random.default_rng(0), 60, 8, 2)
    weight = np.where(y == 1, factor, 1)
    assert prepare(X, y, 2, weight, min_samples_leaf=min_leaf).kernel == kernel


def test_counts_beyond_16_bits():
    """More rows of a class than 16 bits can count: the kernel changes and the score is right."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (140_000, 3)).astype(np.uint8)
    y = ((X[:, 0] ^ X[:, 1]) ^ (rng.random(140_000) < 0.1)).astype(np.int64)
    problem = prepare(X, y, 2, merge_rows=False)
    assert problem.kernel == "two classes, 32 bits"
    search = build(Solver, problem, 2, 3)
    assert search.solve(2, 3)
    assert search.value() == (y != (X[:, 0] ^ X[:, 1])).sum()


@pytest.mark.parametrize("sizes, min_leaf, weight, kernel", [
    ((32_767, 32_767), 1, 0, "two classes, 16 bits"),
    ((32_768, 5), 1, 0, "two classes, 32 bits"),
    ((40_000, 5), 2, 0, "classes, 16 bits"),
    ((30_000, 30_000, 5_535), 1, 0, "classes, 16 bits"),
    ((30_000, 30_000, 5_536), 1, 0, "classes, 32 bits"),
    ((300, 300), 1, 32_767, "two weighted classes, 16 bits"),
    ((300, 300), 1, 32_768, "two weighted classes, 32 bits"),
    ((600, 600), 2, 65_535, "weighted classes, 16 bits"),
    ((500, 500, 500), 1, 65_536, "weighted classes, 32 bits"),
    ((120, 120), 1, 15_360, "two weighted classes, 16 bits"),
    ((120, 120), 1, 15_361, "whole weights, 16 bits"),
    ((120, 119), 1, 15_000, "whole weights, 16 bits"),
    ((5, 5), 1, 65_535, "whole weights, 16 bits"),
    ((5, 5), 1, 65_536, "whole weights, 32 bits"),
    ((5, 5), 1, 2 ** 31, "weights"),
    ((5, 5), 1, np.inf, "weights"),
])
def test_the_narrowest_exact_kernel_is_chosen(sizes, min_leaf, weight, kernel):
    assert choose_kernel(np.array(sizes), min_leaf, weight) == kernel
