"""Vectors of integers as values of compiled code: the few operations that the kernels need.

Numba widens small integers to 64 bits, which costs four to eight times the throughput in counting
kernels.  Here a vector of ``lanes`` integers of ``bits`` bits is a type of its own; every function
below becomes one LLVM instruction, and LLVM splits it where the processor's registers are smaller.
Indices are not checked: callers are kernels.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model


class VectorType(types.Type):
    """The type of a vector of ``lanes`` signed integers of ``bits`` bits."""

    def __init__(self, lanes, bits):
        self.lanes, self.bits = lanes, bits
        super().__init__(name=f"vector<{lanes} x i{bits}>")

    @property
    def llvm(self):
        return ir.VectorType(ir.IntType(self.bits), self.lanes)


@register_model(VectorType)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager, fe_type):
        super().__init__(manager, fe_type, fe_type.llvm)


def _address(context, builder, array_type, array, index):
    return builder.gep(context.make_array(array_type)(context, builder, array).data, [index])


def _spread(builder, scalar, llvm_type):
    undefined = ir.Constant(llvm_type, ir.Undefined)
    first = builder.insert_element(undefined, scalar, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), llvm_type.count), [0] * llvm_type.count)
    return builder.shuffle_vector(first, undefined, zeros)


def _loader(lanes):
    @intrinsic
    def load(typing, array, index):
        vector = VectorType(lanes, array.dtype.bitwidth)

        def generate(context, builder, signature, args):
            address = _address(context, builder, signature.args[0], args[0], args[1])
            address = builder.bitcast(address, vector.llvm.as_pointer())
            return builder.load(address, align=array.dtype.bitwidth // 8)
        return vector(array, types.intp), generate
    return load


load32 = _loader(32)   # 32 neighbouring elements of an array, from `index` on
load64 = _loader(64)   # 64 of them


@intrinsic
def store(typing, array, index, vector):
    """Write a vector to an array of the same element size, from ``index`` on."""
    def generate(context, builder, signature, args):
        address = _address(context, builder, signature.args[0], args[0], args[1])
        address = builder.bitcast(address, vector.llvm.as_pointer())
        builder.store(args[2], address, align=vector.bits // 8)
        return context.get_dummy_value()
    return types.void(array, types.intp, vector), generate


@intrinsic
def read(typing, array, index):
    """Read one element as int64, without the check for negative indices."""
    def generate(context, builder, signature, args):
        value = builder.load(_address(context, builder, signature.args[0], args[0], args[1]))
        if array.dtype.bitwidth == 64:
            return value
        widen = builder.sext if array.dtype.signed else builder.zext
        return widen(value, ir.IntType(64))
    return types.int64(array, types.intp), generate


@intrinsic
def zeros_like(typing, vector):
    """Return a vector of zeros of the same type."""
    def generate(context, builder, signature, args):
        return ir.Constant(vector.llvm, [0] * vector.lanes)
    return vector(vector), generate


@intrinsic
def spread_like(typing, vector, number):
    """Return a vector of the same type that holds ``number`` in every lane."""
    def generate(context, builder, signature, args):
        scalar = args[1]
        if vector.bits < 64:
            scalar = builder.trunc(scalar, ir.IntType(vector.bits))
        return _spread(builder, scalar, vector.llvm)
    return vector(vector, types.int64), generate


@intrinsic
def widen_like(typing, vector, narrow):
    """Sign-extend ``narrow`` to the lane size of ``vector``."""
    def generate(context, builder, signature, args):
        return builder.sext(args[1], vector.llvm)
    return vector(vector, narrow), generate


def _binary(operation):
    @intrinsic
    def apply(typing, first, second):
        def generate(context, builder, signature, args):
            return getattr(builder, operation)(args[0], args[1])
        return first(first, second), generate
    return apply


add = _binary("add")
subtract = _binary("sub")
bitwise_and = _binary("and_")


def _named(name):
    @intrinsic
    def apply(typing, first, second):
        def generate(context, builder, signature, args):
            llvm = first.llvm
            full_name = f"{name}.v{first.lanes}i{first.bits}"
            function = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(llvm, [llvm, llvm]), full_name)
            return builder.call(function, args)
        return first(first, second), generate
    return apply


minimum = _named("llvm.smin")
maximum = _named("llvm.smax")


@intrinsic
def keep_where_at_least(typing, value, measure, bound, otherwise):
    """Return ``value`` in the lanes where ``measure >= bound``, else ``otherwise``."""
    def generate(context, builder, signature, args):
        mask = builder.icmp_signed(">=", args[1], args[2])
        return builder.select(mask, args[0], args[3])
    return value(value, measure, bound, otherwise), generate
