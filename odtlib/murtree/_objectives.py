"""The kernels of each objective behind one signature, so that one search can call any of them.

The search hands on the same arrays of 16-bit words whatever the objective; a kernel is compiled to
look at them as the numbers that it needs: counts of 16 bits, counts of 32 bits (for more than
32,767 rows of two classes, or 65,535 rows of several, or so much weight), counts of 64 bits for
large weights of classes, or sums of weights, which are integers of 16 or 32 bits where they fit.
"""

from __future__ import annotations

from functools import cache

from numba import types

from odtlib._numba.vector import address_of

from . import _absolute, _additive, _kernels, _sums, _weights
from ._kernels import CountArrays, SharedArrays
from ._sums import SumArrays
from ._weights import WeightArrays

_I64, _F64 = types.int64[::1], types.float64[::1]
_U16, _I16, _U32, _I32 = (kind[::1] for kind in (types.uint16, types.int16, types.uint32,
                                                 types.int32))
DATA = types.NamedTuple((_I64, types.uint8[::1], types.uint64[::1], _F64, _I64, _I64,
                         types.uint8[::1], _I32, _I64, _I64), SharedArrays)


def _types_of(element, signed=None):
    """Return the type of the arrays that hold counts of a node."""
    signed = element if signed is None else signed
    return types.NamedTuple((element, element, element, signed, signed, element, element, signed),
                            CountArrays)


def _signatures(count_arrays, totals, unsigned):
    """Return the signatures of the six kernels of an objective, for its types of arrays."""
    i64, f64 = types.int64, types.float64
    opening = (_I32, _I64, _I64, i64, i64, DATA, unsigned, _I64, types.uint64[::1], _I64)
    preparing = (_I64, DATA, count_arrays, totals, types.float64[:, ::1], _F64, _I64)
    children = (i64, i64, _I64, i64, i64, DATA, count_arrays, _F64)
    similarity = (i64, totals, i64, i64, f64, f64, _F64, _F64)
    earlier = (i64, i64, totals, i64, i64, i64, totals, i64, i64, _I64, _F64, _F64, _F64, _F64)
    weighing = (totals, i64, i64, types.float64[:, ::1])
    return opening, preparing, children, similarity, earlier, weighing


_TWO_CLASSES = (_kernels.open_node, _kernels.prepare_two_classes, _kernels.children_two_classes,
                _kernels.bound_by_similarity, _kernels.bound_by_earlier_node,
                _kernels.weigh_children)
_TWO_WEIGHTED_CLASSES = (_kernels.open_groups, _kernels.prepare_two_weighted_classes,
                         _kernels.children_two_weighted_classes, *_TWO_CLASSES[3:])
_CLASSES = (_kernels.open_node, _kernels.prepare_classes, _kernels.children_classes,
            *_TWO_CLASSES[3:])
_WEIGHTED_CLASSES = (_kernels.open_groups, _kernels.prepare_weighted_classes,
                     _kernels.children_weighted_classes, *_TWO_CLASSES[3:])
_WEIGHTS = (_weights.open_node, _weights.prepare, _weights.children, *_TWO_CLASSES[3:])
_SUMS = (_sums.open_sums, _sums.prepare_sums, _sums.children_sums, *_TWO_CLASSES[3:])


def _of_counts(kernels, element, signed=None):
    """Return kernels and their signatures where rows are counted in numbers of a type."""
    return kernels, _signatures(_types_of(element, signed), element, _types_of(element))


def _of_sums(kernels, element, kind=WeightArrays):
    """Return kernels and their signatures where numbers of a type are added up."""
    arrays = types.NamedTuple((_I64, *4 * [element], _I64, element, element), kind)
    return kernels, _signatures(arrays, element, arrays)


_OBJECTIVES = {
    "two classes, 16 bits": _of_counts(_TWO_CLASSES, _U16, _I16),
    "two classes, 32 bits": _of_counts(_TWO_CLASSES, _U32, _I32),
    "two weighted classes, 16 bits": _of_counts(_TWO_WEIGHTED_CLASSES, _U16, _I16),
    "two weighted classes, 32 bits": _of_counts(_TWO_WEIGHTED_CLASSES, _U32, _I32),
    "classes, 16 bits": _of_counts(_CLASSES, _U16),
    "classes, 32 bits": _of_counts(_CLASSES, _U32),
    "weighted classes, 16 bits": _of_counts(_WEIGHTED_CLASSES, _U16),
    "weighted classes, 32 bits": _of_counts(_WEIGHTED_CLASSES, _U32),
    "weighted classes, 64 bits": _of_counts(_WEIGHTED_CLASSES, _I64),
    "whole weights, 16 bits": _of_sums(_WEIGHTS, _U16),
    "whole weights, 32 bits": _of_sums(_WEIGHTS, _U32),
    "weights": _of_sums(_WEIGHTS, _F64),
    "sums": _of_sums(_SUMS, _F64, SumArrays),
}
LARGEST_SUM = 2 ** 31       # of weights that are counted in 32 bits, with a sign
# Bytes of an element of the kernel's arrays; and of a word of a block, whose bits are rows.
ELEMENT = {kernel: 2 if "16" in kernel else 4 if "32" in kernel else 8 for kernel in _OBJECTIVES}
ADDING = {"whole weights, 16 bits", "whole weights, 32 bits", "weights", "sums"}   # row by row
# Rows that weigh no more on average, and are so many for each class, are counted bit by bit: fewer
# fill no words, and larger weights have many bits.
SMALL_WEIGHT, ROWS_OF_A_CLASS = 64, 120
WORD = {kernel: 8 if kernel in ADDING else size for kernel, size in ELEMENT.items()}


def choose_kernel(class_sizes, min_leaf, weight, class_weights=None):
    """Return the name of the kernel that is exact for such data, the fastest first.

    ``weight`` is the weight of all rows if it is added up from whole numbers, infinite if from
    others, and 0 where rows are counted.
    """
    n_classes, n_rows = len(class_sizes), sum(class_sizes)
    two = n_classes == 2 and min_leaf == 1
    if class_weights is not None:
        weight = class_weights @ class_sizes
    if class_weights is not None or weight:
        if weight >= LARGEST_SUM:
            return "weights" if class_weights is None else "weighted classes, 64 bits"
        if class_weights is None and (weight > SMALL_WEIGHT * n_rows
                                      or n_rows < ROWS_OF_A_CLASS * n_classes):
            return f"whole weights, {16 if weight < 2 ** 16 else 32} bits"
        small = class_weights is None and weight < 2 ** (15 if two else 16)
        return f"{'two ' if two else ''}weighted classes, {16 if small else 32} bits"
    if two:
        return "two classes, 16 bits" if max(class_sizes) <= 32_767 else "two classes, 32 bits"
    return "classes, 16 bits" if n_rows <= 65_535 else "classes, 32 bits"


@cache
def kernel_addresses(name):
    """Compile or load the kernels of an objective; return their addresses."""
    return tuple(address_of(kernel, signature)
                 for kernel, signature in zip(*_OBJECTIVES[name], strict=True))


@cache
def closure_address(name):
    """Compile or load the kernel that finds closures; return its address."""
    totals = {2: _U16, 4: _U32, 8: _I64}[ELEMENT[name]]
    return address_of(_kernels.add_closure, (types.int64, totals, types.int64, types.int64, _I64,
                                             types.uint64[::1], types.uint64[::1]))


@cache
def cost_addresses(absolute=False):
    """Compile or load what the kernel on sums calls for the costs of leaves; return the addresses.

    They write the costs of both sides of every root, the cost of one leaf, and what rows may cost.
    """
    home = _absolute if absolute else _additive
    return (address_of(home.score, _additive.SCORING),
            address_of(home.cost_of_leaf, _additive.OF_ROWS),
            address_of(home.bound_rows, _additive.OF_ROWS))
