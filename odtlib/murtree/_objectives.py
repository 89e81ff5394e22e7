"""The kernels of each objective behind one signature, so that one search can call any of them.

The search passes 16-bit arrays; the entries below look at them as the numbers their kernel needs:
counts of 16 bits, counts of 32 bits (for more than 32,767 rows of two classes, or 65,535 rows of
several), or sums of weights.  An entry only unpacks and calls.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numba import njit, types

from . import _kernels, _regression_kernels, _weights
from ._kernels import INNER, N_CLASSES
from .simd import address_of

# What the search hands on: ``data`` (see ``DATA``) and ``native``, the arrays in the kernel's own
# type: blocks of all columns, blocks, pairs, singles, extremes, child blocks, pairs and singles.
_I64, _F64 = types.int64[::1], types.float64[::1]
DATA = types.Tuple((_I64, types.uint8[::1], types.uint64[::1], _F64, _I64, _I64, types.uint8[::1],
                    types.int32[::1], _I64, _I64))
NATIVE = types.UniTuple(types.uint16[::1], 8)
OPEN = (types.int32[::1], _I64, _I64, types.int64, DATA, NATIVE, _I64, types.uint64[::1], _I64)
PREPARE = (_I64, DATA, NATIVE, types.uint16[::1], types.float64[:, ::1], _F64, _I64)
CHILDREN = (types.int64, types.int64, _I64, types.int64, types.int64, DATA, NATIVE, _F64)
CLOSURE = (types.int64, types.uint16[::1], types.int64, types.int64, _I64, DATA, _I64,
           types.uint64[::1], types.uint64[::1])
RELATIVE = (types.int64, types.int64, types.uint16[::1], types.int64, types.int64, _I64,
            types.int64, types.uint16[::1], types.int64, types.int64, _I64, DATA, _I64, _F64, _F64,
            _F64, _F64)
SIMILARITY = (types.int64, types.uint16[::1], types.int64, types.int64, _I64, DATA, types.float64,
              types.float64, _F64, _F64)


@njit(**INNER)
def open_16(rows, starts, candidates, n, data, native, active, keys, found):
    shape, bits, row_keys, weights, counts, slots, local, child_rows, child_start, words = data
    packed, blocks, pairs, singles, extremes, child_blocks, child_pairs, child_singles = native
    _kernels.open_node(rows, starts, candidates, n, shape, bits, row_keys, packed, blocks, local,
                       counts, singles, slots, active, keys, found)


@njit(**INNER)
def open_32(rows, starts, candidates, n, data, native, active, keys, found):
    shape, bits, row_keys, weights, counts, slots, local, child_rows, child_start, words = data
    packed, blocks, pairs, singles, extremes, child_blocks, child_pairs, child_singles = native
    _kernels.open_node(rows, starts, candidates, n, shape, bits, row_keys,
                       packed.view(np.uint32), blocks.view(np.uint32), local, counts,
                       singles.view(np.uint32), slots, active, keys, found)


@njit(**INNER)
def prepare_two_classes_16(starts, data, native, totals, side, front, found):
    shape, bits, row_keys, weights, counts, slots, local, child_rows, child_start, words = data
    packed, blocks, pairs, singles, extremes, child_blocks, child_pairs, child_singles = native
    _kernels.prepare_two_classes(
        starts, shape, blocks, singles.view(np.int16), pairs, child_pairs,
        extremes.view(np.int16), totals, side, front, found)


@njit(**INNER)
def prepare_two_classes_32(starts, data, native, totals, side, front, found):
    shape, bits, row_keys, weights, counts, slots, local, child_rows, child_start, words = data
    packed, blocks, pairs, singles, extremes, child_blocks, child_pairs, child_singles = native
    _kernels.prepare_two_classes(
        starts, shape, blocks.view(np.uint32), singles.view(np.int32), pairs.view(np.uint32),
        child_pairs.view(np.uint32), extremes.view(np.int32), totals.view(np.uint32), side,
        front, found)


@njit(**INNER)
def children_two_classes_16(feature, side, starts, n_active, width, data, native, front):
    shape, bits, row_keys, weights, counts, slots, local, child_rows, child_start, words = data
    packed, blocks, pairs, singles, extremes, child_blocks, child_pairs, child_singles = native
    _kernels.children_two_classes(
        feature, side, starts, n_active, width, shape, blocks, local, pairs, singles.view(np.int16),
        child_rows, child_blocks, child_pairs, child_singles.view(np.int16), child_start, words,
        extremes.view(np.int16), front)


@njit(**INNER)
def children_two_classes_32(feature, side, starts, n_active, width, data, native, front):
    shape, bits, row_keys, weights, counts, slots, local, child_rows, child_start, words = data
    packed, blocks, pairs, singles, extremes, child_blocks, child_pairs, child_singles = native
    _kernels.children_two_classes(
        feature, side, starts, n_active, width, shape, blocks.view(np.uint32), local,
        pairs.view(np.uint32), singles.view(np.int32), child_rows, child_blocks.view(np.uint32),
        child_pairs.view(np.uint32), child_singles.view(np.int32), child_start, words,
        extremes.view(np.int32), front)


@njit(**INNER)
def prepare_classes_16(starts, data, native, totals, side, front, found):
    shape, bits, row_keys, weights, counts, slots, local, child_rows, child_start, words = data
    packed, blocks, pairs, singles, extremes, child_blocks, child_pairs, child_singles = native
    _kernels.prepare_classes(starts, shape, blocks, singles, pairs, child_pairs, extremes,
                             totals, side, front, found)


@njit(**INNER)
def prepare_classes_32(starts, data, native, totals, side, front, found):
    shape, bits, row_keys, weights, counts, slots, local, child_rows, child_start, words = data
    packed, blocks, pairs, singles, extremes, child_blocks, child_pairs, child_singles = native
    _kernels.prepare_classes(
        starts, shape, blocks.view(np.uint32), singles.view(np.uint32), pairs.view(np.uint32),
        child_pairs.view(np.uint32), extremes.view(np.uint32), totals.view(np.uint32), side,
        front, found)


@njit(**INNER)
def children_classes_16(feature, side, starts, n_active, width, data, native, front):
    shape, bits, row_keys, weights, counts, slots, local, child_rows, child_start, words = data
    packed, blocks, pairs, singles, extremes, child_blocks, child_pairs, child_singles = native
    _kernels.children_classes(
        feature, side, starts, n_active, width, shape, blocks, local, pairs, singles, child_rows,
        child_blocks, child_pairs, child_singles, child_start, words, extremes, front)


@njit(**INNER)
def children_classes_32(feature, side, starts, n_active, width, data, native, front):
    shape, bits, row_keys, weights, counts, slots, local, child_rows, child_start, words = data
    packed, blocks, pairs, singles, extremes, child_blocks, child_pairs, child_singles = native
    _kernels.children_classes(
        feature, side, starts, n_active, width, shape, blocks.view(np.uint32), local,
        pairs.view(np.uint32), singles.view(np.uint32), child_rows, child_blocks.view(np.uint32),
        child_pairs.view(np.uint32), child_singles.view(np.uint32), child_start, words,
        extremes.view(np.uint32), front)


@njit(**INNER)
def similarity_16(feature, totals, n_active, width, starts, data, value_1, value_0, bound_1,
                  bound_0):
    _kernels.bound_by_similarity(feature, totals, n_active, width, starts[data[0][N_CLASSES]],
                                 value_1, value_0, bound_1, bound_0)


@njit(**INNER)
def similarity_32(feature, totals, n_active, width, starts, data, value_1, value_0, bound_1,
                  bound_0):
    _kernels.bound_by_similarity(feature, totals.view(np.uint32), n_active, width,
                                 starts[data[0][N_CLASSES]], value_1, value_0, bound_1, bound_0)


@njit(**INNER)
def relative_16(relative, side, parent, parent_active, parent_width, parent_starts, feature,
                totals, n_active, width, starts, data, own, known_1, known_0, bound_1, bound_0):
    n_classes = data[0][N_CLASSES]
    _kernels.bound_by_relative(relative, side, parent, parent_active, parent_width,
                               parent_starts[n_classes], feature, totals, n_active, width,
                               starts[n_classes], own, known_1, known_0, bound_1, bound_0)


@njit(**INNER)
def relative_32(relative, side, parent, parent_active, parent_width, parent_starts, feature,
                totals, n_active, width, starts, data, own, known_1, known_0, bound_1, bound_0):
    n_classes = data[0][N_CLASSES]
    _kernels.bound_by_relative(relative, side, parent.view(np.uint32), parent_active, parent_width,
                               parent_starts[n_classes], feature, totals.view(np.uint32), n_active,
                               width, starts[n_classes], own, known_1, known_0, bound_1, bound_0)


@njit(**INNER)
def open_weights(rows, starts, candidates, n, data, native, active, keys, found):
    shape, bits, row_keys, weights, counts, slots, local, child_rows, child_start, words = data
    packed, blocks, pairs, singles, extremes, child_blocks, child_pairs, child_singles = native
    _weights.open_node(rows, starts, candidates, n, shape, bits, row_keys, weights, local, counts,
                       slots, active, keys, found, blocks.view(np.float64))


@njit(**INNER)
def prepare_weights(starts, data, native, totals, side, front, found):
    shape, bits, row_keys, weights, counts, slots, local, child_rows, child_start, words = data
    packed, blocks, pairs, singles, extremes, child_blocks, child_pairs, child_singles = native
    _weights.prepare(starts, shape, local, counts, singles.view(np.float64),
                     pairs.view(np.float64), totals.view(np.float64), side, front, found,
                     blocks.view(np.float64))


@njit(**INNER)
def children_weights(feature, side, starts, n_active, width, data, native, front):
    shape, bits, row_keys, weights, counts, slots, local, child_rows, child_start, words = data
    packed, blocks, pairs, singles, extremes, child_blocks, child_pairs, child_singles = native
    _weights.children(feature, side, starts, n_active, width, shape, local, pairs.view(np.float64),
                      singles.view(np.float64), child_pairs.view(np.float64),
                      child_singles.view(np.float64), blocks.view(np.float64), counts, front)


@njit(**INNER)
def similarity_weights(feature, totals, n_active, width, starts, data, value_1, value_0, bound_1,
                       bound_0):
    sums = totals.view(np.float64)
    _kernels.bound_by_similarity(feature, sums, n_active, width, sums[(n_active + 1) * width],
                                 value_1, value_0, bound_1, bound_0)


@njit(**INNER)
def relative_weights(relative, side, parent, parent_active, parent_width, parent_starts, feature,
                     totals, n_active, width, starts, data, own, known_1, known_0, bound_1,
                     bound_0):
    above, sums = parent.view(np.float64), totals.view(np.float64)
    _kernels.bound_by_relative(relative, side, above, parent_active, parent_width,
                               above[(parent_active + 1) * parent_width], feature, sums, n_active,
                               width, sums[(n_active + 1) * width], own, known_1, known_0, bound_1,
                               bound_0)


@njit(**INNER)
def closure_16(feature, totals, n_active, width, starts, data, active, literals, sums):
    _kernels.add_closure(feature, totals, n_active, width, starts[data[0][N_CLASSES]], active,
                         literals, sums)


@njit(**INNER)
def closure_32(feature, totals, n_active, width, starts, data, active, literals, sums):
    _kernels.add_closure(feature, totals.view(np.uint32), n_active, width,
                         starts[data[0][N_CLASSES]], active, literals, sums)


_KERNELS = {
    "two classes, 16 bits": (
        open_16, prepare_two_classes_16, children_two_classes_16, similarity_16,
        relative_16),
    "two classes, 32 bits": (
        open_32, prepare_two_classes_32, children_two_classes_32, similarity_32,
        relative_32),
    "classes, 16 bits": (
        open_16, prepare_classes_16, children_classes_16, similarity_16, relative_16),
    "classes, 32 bits": (
        open_32, prepare_classes_32, children_classes_32, similarity_32, relative_32),
    "weights": (
        open_weights, prepare_weights, children_weights, similarity_weights, relative_weights),
    "sums": (_regression_kernels.open_sums, _regression_kernels.prepare_sums,
             _regression_kernels.children_sums, _regression_kernels.similarity_sums,
             relative_weights),
}
# Bytes of an element of the kernel's arrays, and rows in a word of a block.
ELEMENT = {"two classes, 16 bits": 2, "two classes, 32 bits": 4, "classes, 16 bits": 2,
           "classes, 32 bits": 4, "weights": 8, "sums": 8}


def choose_kernel(class_sizes, min_leaf, weighted):
    """Return the name of the kernel that is exact for such data, the fastest first."""
    if weighted:
        return "weights"
    if len(class_sizes) == 2 and min_leaf == 1:
        return "two classes, 16 bits" if max(class_sizes) <= 32_767 else "two classes, 32 bits"
    return "classes, 16 bits" if sum(class_sizes) <= 65_535 else "classes, 32 bits"


@cache
def kernel_addresses(name):
    """Compile or load the kernels of an objective; return their addresses."""
    kernels = _KERNELS[name]
    return tuple(address_of(kernel, signature) for kernel, signature
                 in zip(kernels, (OPEN, PREPARE, CHILDREN, SIMILARITY, RELATIVE), strict=True))


@cache
def closure_address(name):
    """Compile or load the kernel that finds closures; return its address."""
    return address_of({2: closure_16, 4: closure_32}[ELEMENT[name]], CLOSURE)
