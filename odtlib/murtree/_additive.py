"""What leaves cost by an additive objective: the kernels that ask its compiled ``leaf_cost``.

An objective's own code is one kernel that costs 32 leaves, and perhaps one that bounds a row; both
are called by their address, in ``shape``.  The four leaves of eight pairs of splits lie in
``sides`` together, number by number, so that the loop over them can be vectorised.

Arguments are those of :mod:`odtlib.murtree._sums`, where more is said of them; arrays are flat:

- ``shape`` (int64): the constants of the search.
- ``n_rows``: int, the rows of the node; ``n_members``: int, those that count, the first ones of
  ``lists`` (int64).
- ``local_bits`` (uint8): the features of each row; ``amounts`` (float64, n_lines + 2, n_rows):
  their lines, own costs, and what each can cost at the most.
- ``n_active``, ``width``: int, the columns of the node, and the length of a line of them.
- ``pairs`` (float64, n_lines, n_active, width) and ``singles`` (float64, n_lines + 2, width; then
  the sums over all rows): the sums of the members; ``square``: int, n_active * width.
- ``sides`` (float64): the costs of both sides of each root, and room; ``room`` and ``costs``: int,
  where the numbers of 32 leaves begin there, and behind them their costs (but see
  :func:`cost_rows`).
- ``n_free``: int, how many numbers of the objective are not only added.  From ``LINE_OF`` on
  ``shape`` has the line of each, then that of its last digits or -1.
"""

from __future__ import annotations

import numba
import numpy as np
from numba import types
from numba.core.errors import NumbaError

from odtlib._numba import sources
from odtlib._numba.compiler import ADDRESSED, INNER, OPTIONS, njit
from odtlib._numba.vector import (
    add,
    call_at,
    keep_where_enough,
    load8,
    minimum,
    smallest_float,
    spread_like,
    store,
    strided,
    subtract,
    zeros_like,
)

from ._kernels import LEAF_0, LEAF_1, MIN_LEAF, SPLIT_0, SPLIT_1
from ._sums import (
    ADDS_LAST,
    COST,
    COSTS,
    LEAVES,
    LINE_OF,
    N_LINES,
    N_SUMS,
    NOTHING,
    NUMBER,
    ROW_BOUND,
    SPARE,
    behind,
)

_I64, _F64, _U8 = types.int64[::1], types.float64[::1], types.uint8[::1]
SCORING = (_I64, _U8, _F64, types.int64, _I64, types.int64, _F64, _F64, types.int64, types.int64,
           _F64)
OF_ROWS = (_I64, _F64, types.int64, _I64, types.int64, _F64)
OWN = (_F64, types.int64)


# The kernels of one objective: made of its functions ---------------------------------------------


def costing(leaf_cost, n_sums):
    """Make the kernel that costs 32 leaves, given their sums: ``costs(sides, start)``."""
    def costs(sides, start):
        # A view, as an index that might be negative keeps the loop from being vectorised.
        """Write the costs of 32 leaves behind their sums, which lie number by number.

        ``sides`` is (n,) float64, and ``start`` (int) where they begin.
        """
        results = strided(sides, start + LEAVES * n_sums, np.int64(LEAVES), np.int64(1))
        for m in range(LEAVES):
            results[m] = leaf_cost(strided(sides, start + m, n_sums, np.int64(LEAVES)))
    return costs


def bounding(row_bound, n_sums):
    """Make the kernel that bounds a row: ``bound(sides, start)``."""
    def bound(sides, start):
        """Write the bound of a row behind its numbers, the least and the greatest ones of all.

        ``sides`` is (n,) float64, and ``start`` (int) where they begin.
        """
        sides[start + 3 * n_sums] = row_bound(
            strided(sides, start, n_sums, np.int64(1)),
            strided(sides, start + n_sums, n_sums, np.int64(1)),
            strided(sides, start + 2 * n_sums, n_sums, np.int64(1)))
    return bound


class CacheByName(sources.KernelCache):
    """The compiled code of a kernel whose name tells what it was made for.

    Numba would look for it under what it holds, which is another object in each process.
    """

    def _index_key(self, signature, codegen):
        return signature, codegen.magic_tuple()


def compiled(make, function, n_sums):
    """Compile a kernel made for a function; one of odtlib itself is kept on disk."""
    inner = numba.njit(getattr(function, "py_func", function), error_model="numpy", nogil=True,
                       forceinline=True, no_cpython_wrapper=True)
    n_arguments = 1 if make is costing else 3
    inner.compile(n_arguments * (types.Array(types.float64, 1, "A"),))   # by itself, with memory
    kind = inner.nopython_signatures[0].return_type
    if not isinstance(kind, types.Number):
        raise NumbaError(f"it returns {kind}")
    kernel = make(inner, n_sums)
    kernel.__qualname__ = f"{make.__name__}_{function.__qualname__}_{n_sums}"
    made = numba.njit(**{**ADDRESSED, "cache": False})(kernel)
    source = function.__module__.startswith("odtlib.") and sources.stamp(function.__module__)
    if source and not numba.config.DISABLE_JIT:
        made._cache = CacheByName(kernel, source)
    return made


# The kernels of all objectives -------------------------------------------------------------------


@njit(**OPTIONS)
def cost_rows(address, sums, n_sums, n_leaves, room, result):
    """Write the costs of leaves, given their sums, by the kernel at an address.

    ``address`` (int) is that of :func:`costing`'s kernel, ``sums``, (n_leaves * n_sums,) float64,
    are ``n_sums`` (int) for each of ``n_leaves`` (int), and ``result``, (n_leaves,) float64, is
    written.  ``room``, float64,
    has places for 32 * (n_sums + 1) numbers.
    """
    for first in range(0, n_leaves, LEAVES):
        n = min(n_leaves - first, LEAVES)
        for c in range(n_sums):
            for m in range(LEAVES):
                room[LEAVES * c + m] = sums[(first + min(m, n - 1)) * n_sums + c]
        call_at(address, (room, np.int64(0)))
        for m in range(n):
            result[first + m] = room[LEAVES * n_sums + m]


@njit(**INNER)
def ask(shape, sides, room):
    """Cost the 32 leaves in ``room``, without the last number of each where that is only added.

    ``shape``, ``sides`` and ``room`` are those of the module's docstring.
    """
    last, zero = room + LEAVES * (shape[N_SUMS] - 1), zeros_like(load8(sides, room))
    if shape[ADDS_LAST]:
        for m in range(0, LEAVES, 8):
            store(sides, last + m, zero)
    call_at(shape[COSTS], (sides, room))


@njit(**INNER)
def lay_out(shape, n_free, pairs, singles, square, width, i, k, sides, room):
    """Write the sums of the four leaves of roots ``i`` and ``k .. k + 7``, number by number.

    ``n_free`` numbers from ``room`` on: leaves 11, 10, 01, 00, eight of each.  ``i`` and ``k`` are
    int; the other arguments are those of the module's docstring.
    """
    last, zero = (shape[N_LINES] + 2) * width, zeros_like(load8(sides, room))
    for c in range(n_free):
        both, only_i, only_k, none = zero, zero, zero, zero
        for part in range(2):
            line = shape[LINE_OF + part * n_free + c]
            if line < 0:
                break
            with_i, whole = singles[line * width + i], singles[last + line]
            of_both = load8(pairs, line * square + i * width + k)
            of_k = subtract(load8(singles, line * width + k), of_both)
            both, only_k = add(both, of_both), add(only_k, of_k)
            only_i = add(only_i, subtract(spread_like(zero, with_i), of_both))
            none = add(none, subtract(spread_like(zero, whole - with_i), of_k))
        place = room + LEAVES * c
        store(sides, place, both)
        store(sides, place + 8, only_i)
        store(sides, place + 16, only_k)
        store(sides, place + 24, none)


@njit(**INNER)
def compare(shape, pairs, singles, square, width, i, k, sides, costs, mine_1, mine_0):
    """Take the costs of 32 leaves where they are better and every leaf is large enough.

    ``i`` and ``k`` (int) are the root and the first of eight others.  Return the best of root ``i``
    with each of these, in side 1 and in side 0, or ``mine_1`` and ``mine_0``, eight float64 each,
    where they are better; those of the others are in ``sides``.  The other arguments are those of
    the module's docstring.
    """
    number, last = shape[NUMBER], (shape[N_LINES] + 2) * width
    n11 = load8(pairs, number * square + i * width + k)
    n1 = singles[number * width + i]
    n10, n01 = subtract(spread_like(n11, n1), n11), subtract(load8(singles, number * width + k),
                                                             n11)
    n00 = subtract(spread_like(n11, singles[last + number] - n1), n01)
    bound, never = spread_like(n11, np.float64(shape[MIN_LEAF])), spread_like(n11, np.inf)
    f11, f10 = load8(sides, costs), load8(sides, costs + 8)
    f01, f00 = load8(sides, costs + 16), load8(sides, costs + 24)
    best_1, best_0 = SPLIT_1 * width + k, SPLIT_0 * width + k
    store(sides, best_1, minimum(keep_where_enough(add(f11, f01), n11, n01, bound, never),
                                 load8(sides, best_1)))
    store(sides, best_0, minimum(keep_where_enough(add(f10, f00), n10, n00, bound, never),
                                 load8(sides, best_0)))
    return (minimum(keep_where_enough(add(f11, f10), n11, n10, bound, never), mine_1),
            minimum(keep_where_enough(add(f01, f00), n01, n00, bound, never), mine_0))


@njit(**INNER)
def cost_sides(shape, n_free, singles, n_active, width, sides, room, costs):
    """Write what both sides of every root cost, as leaves and split once, and all rows together.

    The costs of splits are in ``sides`` already, but for the rows' own.  The arguments are those of
    the module's docstring.
    """
    n_lines, tiny, half = shape[N_LINES], sides[room - SPARE + NOTHING], LEAVES // 2
    last = (n_lines + 2) * width
    for first in range(0, n_active + 1, half):
        for c in range(n_free):
            place = room + LEAVES * c
            for m in range(half):                # behind the last column come all rows
                with_m, without = 0.0, 0.0
                for part in range(2):
                    line = shape[LINE_OF + part * n_free + c]
                    if line >= 0:
                        one = singles[line * width + first + m] if first + m < n_active else \
                            singles[last + line]
                        with_m += one
                        without += singles[last + line] - one
                sides[place + m], sides[place + half + m] = with_m, without
        ask(shape, sides, room)
        for m in range(min(half, n_active + 1 - first)):
            i, whole = first + m, singles[last + n_lines]
            own = singles[n_lines * width + i] if i < n_active else whole
            leaf_1, leaf_0 = own + sides[costs + m], whole - own + sides[costs + half + m]
            leaf_1, leaf_0 = leaf_1 if leaf_1 > tiny else 0.0, leaf_0 if leaf_0 > tiny else 0.0
            if i == n_active:
                sides[room - SPARE + COST] = leaf_1
                break
            split_1, split_0 = (own + sides[SPLIT_1 * width + i],
                                whole - own + sides[SPLIT_0 * width + i])
            sides[LEAF_1 * width + i], sides[LEAF_0 * width + i] = leaf_1, leaf_0
            sides[SPLIT_1 * width + i] = min(leaf_1, split_1 if split_1 > tiny else 0.0)
            sides[SPLIT_0 * width + i] = min(leaf_0, split_0 if split_0 > tiny else 0.0)


@njit(**ADDRESSED)
def score(shape, local_bits, amounts, n_rows, lists, n_members, pairs, singles, n_active, width,
          sides):
    """Write the costs of both sides of every root, as leaves and split once; see ``_sums.score``.

    Two columns have the same four leaves whichever comes first, so column ``i`` is compared with
    those from ``i`` on, eight at a time.  The arguments are those of the module's docstring.
    """
    n_sums, square, room = shape[N_SUMS], n_active * width, behind(shape) + SPARE
    n_free, costs = n_sums - shape[ADDS_LAST], room + LEAVES * n_sums
    never = spread_like(zeros_like(load8(sides, room)), np.inf)
    for k in range(0, width, 8):
        store(sides, SPLIT_1 * width + k, never)
        store(sides, SPLIT_0 * width + k, never)
    number, last = shape[NUMBER], (shape[N_LINES] + 2) * width
    for i in range(n_active):
        n1 = singles[number * width + i]
        if n1 == 0 or n1 == singles[last + number]:      # it splits nothing
            continue
        mine_1, mine_0 = never, never
        for k in range(i // 8 * 8, n_active, 8):
            lay_out(shape, n_free, pairs, singles, square, width, i, k, sides, room)
            ask(shape, sides, room)
            mine_1, mine_0 = compare(shape, pairs, singles, square, width, i, k, sides, costs,
                                     mine_1, mine_0)
        sides[SPLIT_1 * width + i] = min(sides[SPLIT_1 * width + i], smallest_float(mine_1))
        sides[SPLIT_0 * width + i] = min(sides[SPLIT_0 * width + i], smallest_float(mine_0))
    cost_sides(shape, n_free, singles, n_active, width, sides, room, costs)


@njit(**ADDRESSED)
def cost_of_leaf(shape, amounts, n_rows, lists, n_members, sides):
    """Write what a leaf with the listed rows costs, from those rows alone.

    That stands behind the lines of ``sides``.  The arguments are those of the module's docstring.
    """
    n_sums, room = shape[N_SUMS], behind(shape) + SPARE
    n_free, own = n_sums - shape[ADDS_LAST], 0.0
    for m in range(n_members):
        own += amounts[shape[N_LINES] * n_rows + lists[m]]
    for c in range(n_free):
        total = 0.0
        for part in range(2):
            line = shape[LINE_OF + part * n_free + c]
            for m in range(n_members if line >= 0 else 0):
                total += amounts[line * n_rows + lists[m]]
        for m in range(LEAVES):
            sides[room + LEAVES * c + m] = total
    ask(shape, sides, room)
    value = own + sides[room + LEAVES * n_sums]
    sides[room - SPARE + COST] = value if value > sides[room - SPARE + NOTHING] else 0.0


@njit(**INNER)
def number_of(shape, n_free, c, amounts, n_rows, r):
    """Return number ``c`` of row ``r`` (int) of the node.

    ``shape``, ``n_free``, ``amounts`` and ``n_rows`` are those of the module's docstring.
    """
    rest = shape[LINE_OF + n_free + c]
    return (amounts[shape[LINE_OF + c] * n_rows + r]
            + (amounts[rest * n_rows + r] if rest >= 0 else 0.0))


@njit(**ADDRESSED)
def bound_rows(shape, amounts, n_rows, lists, n_members, sides):
    """Write into ``amounts`` what each row costs at the most, beside what it costs anyhow.

    The objective learns in which range the numbers of the rows are, each for one of the first.  The
    arguments are those of the module's docstring; all rows of the node count.
    """
    n_sums, own, room = shape[N_SUMS], shape[N_LINES] * n_rows, behind(shape) + SPARE
    n_free, least, greatest = n_sums - shape[ADDS_LAST], room + n_sums, room + 2 * n_sums
    for c in range(3 * n_sums):
        sides[room + c] = 0.0
    for c in range(n_free):
        low, high = np.inf, -np.inf
        for r in range(n_rows):
            value = (number_of(shape, n_free, c, amounts, n_rows, r)
                     / number_of(shape, n_free, 0, amounts, n_rows, r))
            low, high = min(low, value), max(high, value)
        sides[least + c], sides[greatest + c] = low, high
    for r in range(n_rows):
        for c in range(n_free):
            sides[room + c] = number_of(shape, n_free, c, amounts, n_rows, r)
        call_at(shape[ROW_BOUND], (sides, room))
        amounts[own + n_rows + r] = amounts[own + r] + sides[room + 3 * n_sums]
