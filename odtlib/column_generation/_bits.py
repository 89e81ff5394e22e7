"""Bit sets of rows: one LLVM instruction counts a word."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def popcount(typing, word):
    """Count the ones of a 64-bit word."""
    def generate(context, builder, signature, args):
        kind = ir.IntType(64)
        count = builder.module.globals.get("llvm.ctpop.i64")
        if count is None:
            count = ir.Function(builder.module, ir.FunctionType(kind, [kind]), "llvm.ctpop.i64")
        return builder.call(count, [args[0]])
    return types.int64(types.uint64), generate


@intrinsic
def lowest_bit(typing, word):
    """Return the position of the lowest one of a word that is not zero."""
    def generate(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))
    return types.int64(types.uint64), generate


def pack(flags):
    """Pack truth values into words, the first into the lowest bit.

    Parameters
    ----------
    flags : array of bool, shape (n_sets, n_rows)
        One line a set.

    Returns
    -------
    array of uint64, shape (n_sets, ceil(n_rows / 64))
    """
    flags = np.atleast_2d(np.asarray(flags, bool))
    n_words = -(-flags.shape[1] // 64)
    padded = np.zeros((len(flags), n_words * 64), np.uint8)
    padded[:, :flags.shape[1]] = flags
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)
