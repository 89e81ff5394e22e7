"""Depth three from the counts of all triples of columns, against the search: CPU seconds.

    python benchmarks/depth_three.py [--sets anneal splice ...] [--made 1000 50] [--rounds 9]

Section 4.3.2 of the MurTree paper leaves open whether depth three deserves an algorithm of its own,
as depth two has.  Here is one for two classes and up to 32,767 rows of each.  It counts every
triple of columns once, over packed rows and with the vector instructions of the search's kernels,
without bounds and without a cache, and gives the least errors for all node budgets up to seven at
once.  It runs in turns with the library's search for the largest budget; both must find the same
optimum.  Both start from the same problem, with redundant rows and columns removed.

``--made`` takes random tables of independent columns instead, with labels from a random tree of
depth five, a tenth of them wrong.  ``--inside`` asks what triples would be worth in a search of
depth four: the time of this search for each node of depth three that it studies, and the mean time
of the triples of the children of up to twenty splits of the root.  ``--check N`` compares all
budgets on N small random tables.

How a triple is counted.  A column and its complement split alike, so every column is stated such
that at most half of the rows have it.  With columns sorted by these numbers, the triple of a, b and
c is counted on the rows that have a, the fewest of the three.  As for pairs, only the difference d
of the two classes matters: the other seven cells of a triple follow from the differences of its
pairs and columns, and for two columns with their values the best third one is known from the
smallest and the largest d.  So counts of triples are used when they are made, and not stored.
"""

import argparse
import time
from functools import partial

import numpy as np
from lookahead import NOISE, made
from turns import Comparison, add_options, forms, timed, wanted

from odtbook.datasets import available, load
from odtlib import MurTreeClassifier, MurTreeSearch
from odtlib._numba.compiler import INNER, OPTIONS, njit
from odtlib._numba.vector import (
    largest,
    load32,
    lowest_bit,
    maximum,
    minimum,
    read,
    smallest,
    spread_like,
    store,
    store_lane_bits,
    subtract,
    zeros_like,
)
from odtlib.murtree._kernels import count_bytes, count_singles, pack_rows, score_two_classes
from odtlib.murtree._search import sort_by_key
from odtlib.murtree.preparation import prepare
from odtlib.murtree.solver import Solver

# Lines of ``extremes`` for each column ``i``: the largest and the smallest ``d`` of the rows that
# have ``i`` and ``j`` and a third column; then of those without ``j``, without ``i``, without both.
N_LINES = 8
SETS = ["anneal", "australian-credit", "diabetes", "german-credit", "heart-cleveland",
        "hypothyroid", "murtree/ionosphere", "kr-vs-kp", "mushroom", "pendigits", "splice-1",
        "vehicle", "vote", "yeast", "HTRU_2", "biodeg", "magic04", "spambase",
        "heart-statlog-un_", "promoters-un_"]
MADE = [(100, 20), (100, 200), (1000, 50), (1000, 200), (5000, 100), (20000, 20), (20000, 200)]
MADE_DEPTH = 5


@njit(**INNER)
def class_difference(blocks, width, b, first, start, middle, stop):
    """Count, for 32 columns, the rows with column ``b`` of the first class minus the second."""
    return subtract(count_bytes(blocks, width, b, first, start, middle),
                    count_bytes(blocks, width, b, first, middle, stop))


@njit(**INNER)
def rows_with(blocks, width, column, first_word, last_word, row, rows, found):
    """List the rows of some words, the first of which is ``row``, that have a column."""
    for w in range(first_word, last_word):
        bits = np.int64(blocks[w * width + column])
        while bits != 0:
            rows[found] = row + lowest_bit(bits)
            found += 1
            bits &= bits - 1
        row += 16
    return found


@njit(**INNER)
def widen(extremes, place, width, d11, d10, d01, d00):
    """Let the extremes of 32 pairs of columns know of one more third column for each pair."""
    line = place
    for d in (d11, d10, d01, d00):
        store(extremes, line, maximum(load32(extremes, line), d))
        store(extremes, line + width, minimum(load32(extremes, line + width), d))
        line += 2 * width


@njit(**INNER)
def widen_one(extremes, place, width, most, least):
    """Let the extremes of one pair of columns know of 32 third columns."""
    extremes[place] = max(np.int64(extremes[place]), largest(most))
    extremes[place + width] = min(np.int64(extremes[place + width]), smallest(least))


@njit(**OPTIONS)
def lay_out(given_bits, n_columns, width, size_0, n_rows, rows, given, blocks, row_bits, ends,
            counts, ones, order):
    """State every column such that few rows have it, and sort the columns by their number."""
    row_bytes, start = width // 8, np.int64(0)
    words_0 = pack_rows(given_bits, row_bytes, rows, start, size_0, given, width, start)
    words = pack_rows(given_bits, row_bytes, rows, size_0, n_rows, given, width, words_0)
    ends[0], ends[1], ends[2] = 0, words_0, words
    for c in range(2):
        count_singles(None, given, width, ends, c, c + 1, counts, c * width)
    for j in range(n_columns):
        number = np.int64(counts[j]) + np.int64(counts[width + j])
        order[j], ones[j] = j, max(number, n_rows - number)
    sort_by_key(order, ones, n_columns)              # the rarest last
    for k in range(n_columns):
        j = order[k]
        number = np.int64(counts[j]) + np.int64(counts[width + j])
        ones[k] = min(number, n_rows - number)
        for w in range(words):
            row = 16 * w if w < words_0 else size_0 + 16 * (w - words_0)
            stop = size_0 if w < words_0 else n_rows
            turned = (np.int64(1) << min(16, stop - row)) - 1 if 2 * number > n_rows else 0
            blocks[w * width + k] = np.int64(given[w * width + j]) ^ turned
    for w in range(words):
        row = 16 * w if w < words_0 else size_0 + 16 * (w - words_0)
        stop = size_0 if w < words_0 else n_rows
        for first in range(0, width, 32):
            block = load32(blocks, w * width + first)
            for bit in range(min(16, stop - row)):
                store_lane_bits(row_bits, ((row + bit) * width + first) // 8, block, bit)


@njit(**OPTIONS)
def count_triples(row_bits, n_columns, width, size_0, n_rows, blocks, child_rows, child_blocks,
                  singles, pairs, extremes):
    """Fill ``singles`` and ``pairs`` with the differences, and ``extremes`` from all triples."""
    row_bytes, start = width // 8, np.int64(0)
    words_0 = (size_0 + 15) // 16
    words = words_0 + (n_rows - size_0 + 15) // 16
    zero = zeros_like(load32(singles, 0))
    for b in range(n_columns):
        for first in range(0, width, 32):
            store(pairs, b * width + first,
                  class_difference(blocks, width, b, first, start, words_0, words))
        singles[b] = pairs[b * width + b]
    for a in range(n_columns - 1, -1, -1):
        inner = max(32, (a + 31) // 32 * 32)         # columns before a
        found_0 = rows_with(blocks, width, a, start, words_0, start, child_rows, start)
        found = rows_with(blocks, width, a, words_0, words, size_0, child_rows, found_0)
        middle = pack_rows(row_bits, row_bytes, child_rows, start, found_0, child_blocks, inner,
                           start)
        stop = pack_rows(row_bits, row_bytes, child_rows, found_0, found, child_blocks, inner,
                         middle)
        of_a, d_a = a * N_LINES * width, read(singles, a)
        for b in range(a):
            of_b = b * N_LINES * width
            d_b, d_ab = read(singles, b), read(pairs, a * width + b)
            both = spread_like(zero, d_ab)
            only_a, only_b = spread_like(zero, d_a - d_ab), spread_like(zero, d_b - d_ab)
            most_11, least_11, most_10, least_10 = zero, zero, zero, zero
            most_01, least_01, most_00, least_00 = zero, zero, zero, zero
            for first in range(0, b + 1, 32):
                # A cell is named by its values of a, b and c; c are the columns from first on.
                d_ac, d_bc = load32(pairs, a * width + first), load32(pairs, b * width + first)
                d111 = class_difference(child_blocks, inner, b, first, start, middle, stop)
                d110, d101 = subtract(both, d111), subtract(d_ac, d111)
                d011 = subtract(d_bc, d111)
                d100, d010 = subtract(only_a, d101), subtract(only_b, d011)
                d001 = subtract(subtract(load32(singles, first), d_ac), d011)
                widen(extremes, of_a + first, width, d111, d110, d011, d010)
                widen(extremes, of_b + first, width, d111, d110, d101, d100)
                most_11, least_11 = maximum(most_11, d111), minimum(least_11, d111)
                most_10, least_10 = maximum(most_10, d101), minimum(least_10, d101)
                most_01, least_01 = maximum(most_01, d011), minimum(least_01, d011)
                most_00, least_00 = maximum(most_00, d001), minimum(least_00, d001)
            place = of_b + a                         # seen from b, the values change places
            widen_one(extremes, place, width, most_11, least_11)
            widen_one(extremes, place + 2 * width, width, most_01, least_01)
            widen_one(extremes, place + 4 * width, width, most_10, least_10)
            widen_one(extremes, place + 6 * width, width, most_00, least_00)


@njit(**OPTIONS)
def best_trees(n_columns, width, n_rows, difference, ones, singles, pairs, extremes,
               line, best_by_size, errors):
    """Read the least number of errors for each node budget from 0 to 7 off the extremes."""
    lines = N_LINES * width
    for a in range(n_columns):                       # from either column a pair is the same
        for b in range(a):
            for k in range(N_LINES):
                other = k ^ 6 if 2 <= k < 6 else k
                p, q = a * lines + k * width + b, b * lines + other * width + a
                best = max(extremes[p], extremes[q]) if k % 2 == 0 else min(extremes[p],
                                                                            extremes[q])
                extremes[p] = extremes[q] = best
    errors[:] = (n_rows - abs(difference)) // 2
    for a in range(n_columns):
        for j in range(n_columns):
            line[j] = singles[j] - pairs[a * width + j]
        rows_1, d_a = np.int64(ones[a]), read(singles, a)
        score_two_classes(extremes, a * lines, width, n_columns, pairs, a * width, d_a, rows_1,
                          best_by_size, 0)
        score_two_classes(extremes, a * lines + 4 * width, width, n_columns, line, 0,
                          difference - d_a, n_rows - rows_1, best_by_size, 4)
        for size_1 in range(4):
            for size_0 in range(4):
                budget = size_1 + size_0 + 1
                errors[budget] = min(errors[budget],
                                     best_by_size[size_1] + best_by_size[4 + size_0])
    for budget in range(1, 8):
        errors[budget] = min(errors[budget], errors[budget - 1])


def by_triples(problem):
    """Return the least errors for the node budgets 0 to 7, from the counts of all triples."""
    n_rows, n_columns = problem.rows.shape
    size_0 = problem.class_sizes[0]
    width = max(32, (n_columns + 31) // 32 * 32)
    given_bits = np.zeros((n_rows, width // 8), np.uint8)
    packed = np.packbits(problem.rows, axis=1, bitorder="little")
    given_bits[:, :packed.shape[1]] = packed
    row_bits = np.empty(n_rows * width // 8, np.uint8)
    given, blocks, child_blocks = np.zeros((3, (n_rows // 16 + 2) * width), np.uint16)
    rows = np.arange(n_rows, dtype=np.int32)
    counts, ones, order = np.zeros(2 * width, np.int16), np.zeros(width), np.zeros(width, np.int64)
    lay_out(given_bits.ravel(), n_columns, width, size_0, n_rows, rows, given, blocks, row_bits,
            np.zeros(3, np.int64), counts, ones, order)
    singles, line = np.zeros((2, width), np.int16)
    pairs = np.zeros(n_columns * width, np.int16)
    extremes = np.zeros(n_columns * N_LINES * width, np.int16)
    count_triples(row_bits, n_columns, width, size_0, n_rows, blocks, rows, child_blocks, singles,
                  pairs, extremes)
    errors = np.zeros(8, np.int64)
    best_trees(n_columns, width, n_rows, 2 * size_0 - n_rows, ones, singles, pairs, extremes, line,
               np.zeros(8), errors)
    return errors


def by_search(problem, depth=3, **options):
    """Return the least errors of a tree of this depth, and the counters of the search."""
    nodes = 2 ** depth - 1
    solver = Solver(problem, depth, nodes, search=MurTreeSearch(**options))
    solver.solve(depth, nodes)
    return int(solver.incumbent()), solver.counted()


def check(n_tables):
    """Compare all node budgets with the search on small tables, many with columns alike."""
    rng = np.random.default_rng(0)
    for _ in range(n_tables):
        n_rows, n_columns = rng.integers(2, 200), rng.integers(1, 70)
        X = (rng.random((n_rows, n_columns)) < rng.random(n_columns)).astype(np.uint8)
        if rng.random() < 0.3:
            X.sort(axis=1)                           # nested, as thresholds are
        y = rng.integers(0, 2, n_rows)
        if rng.random() < 0.5:
            y = (X[:, 0] ^ X[:, -1] ^ (rng.random(n_rows) < NOISE)).astype(np.int64)
        problem = prepare(X, y, 2, merge_columns=rng.random() < 0.5)
        if problem.rows.size and len(np.unique(y)) == 2:
            known = [int(entry.objective - problem.offset)
                     for entry in MurTreeClassifier(3).path(X, y)]
            known += [known[-1]] * (8 - len(known))
            found = by_triples(problem).tolist()
            if found != known:
                raise SystemExit(f"{n_rows} x {n_columns}: {found} by triples, {known} by search")
    print(f"all budgets agree on {n_tables} random tables")


def shortest(solve, rounds):
    """Return the least CPU time of several runs."""
    taken = []
    for _ in range(rounds):
        started = time.process_time()
        solve()
        taken.append(time.process_time() - started)
    return min(taken)


def compare_inside(options):
    """Compare the nodes that a search of depth four leaves to depth three with their triples."""
    table = Comparison("a node of depth three inside depth four", 4, "triples", options)
    for name, X, y in load_sets(options):
        problem = prepare(X, y, 2)
        nodes, classes = (by_search(problem, 4)[1]["nodes"] - 1,
                          np.repeat([0, 1], problem.class_sizes))
        p, children = problem.rows.shape[1], []
        for j in np.linspace(0, p - 1, min(p, 20)).astype(int):
            for side in (0, 1):
                has = problem.rows[:, j] == side
                child = prepare(problem.rows[has], classes[has], 2, merge_rows=False)
                if child.rows.size:
                    children.append(shortest(partial(by_triples, child), options.rounds))
        if nodes:
            search = shortest(partial(by_search, problem, 4), options.rounds) / nodes
            means = [(seconds, np.nan) for seconds in (search, np.mean(children))]
            table.add(name, problem.rows.shape, *(lambda mean=mean: mean for mean in means))
    table.summary()


def load_sets(options):
    """Yield name, table and classes of the problems that were asked for."""
    if options.made is not None:
        for shape in [options.made] if options.made else MADE:
            yield f"made {shape[0]} x {shape[1]}", *made(*shape, MADE_DEPTH)
        return
    for name in available("murtree"):
        if not name.endswith("_derived") and wanted(name, options):
            data = load(name)
            X, y = np.asarray(data.X).astype(np.uint8), np.unique(data.y, return_inverse=True)[1]
            for mark, rows, labels in forms(X, y, options.seeds):
                yield name + mark, rows, labels


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser, rounds=9)
    parser.set_defaults(sets=SETS)
    parser.add_argument("--made", type=int, nargs="*", metavar="N",
                        help="rows and columns of a random table (default: several)")
    parser.add_argument("--inside", action="store_true", help="ask about a search of depth four")
    parser.add_argument("--check", type=int, metavar="N", help="compare on N random tables")
    options = parser.parse_args()
    if options.check:
        check(options.check)
        return
    if options.inside:
        compare_inside(options)
        return
    table = Comparison("errors", 3, "triples", options)
    for name, X, y in load_sets(options):
        problem = prepare(X, y, 2)
        by_triples(problem)         # compiles
        by_search(problem)
        table.add(name, problem.rows.shape,
                  partial(timed, lambda problem: by_search(problem)[0], problem),
                  partial(timed, lambda problem: by_triples(problem)[7], problem))
    table.summary()


if __name__ == "__main__":
    main()
