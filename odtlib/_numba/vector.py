"""Vectors of numbers as values of compiled code: the few operations that the kernels need.

Numba widens small integers to 64 bits, which costs four to eight times the throughput in counting
kernels.  Here a vector of ``lanes`` integers of ``bits`` bits, or of floats, is a type of its own;
every function below becomes one LLVM instruction, or two, and LLVM splits it where the processor's
registers are smaller.
Indices are not checked: callers are kernels.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

LANES = 32      # counters of 16 bits in a 512-bit register


class VectorType(types.Type):
    """The type of a vector of ``lanes`` signed integers of ``bits`` bits, or of doubles."""

    def __init__(self, lanes, bits, real=False):
        self.lanes, self.bits, self.real = lanes, bits, real
        super().__init__(name=f"vector<{lanes} x {'f' if real else 'i'}{bits}>")

    @property
    def llvm(self):
        return ir.VectorType(ir.DoubleType() if self.real else ir.IntType(self.bits), self.lanes)


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
        vector = VectorType(lanes, array.dtype.bitwidth, isinstance(array.dtype, types.Float))

        def generate(context, builder, signature, args):
            address = _address(context, builder, signature.args[0], args[0], args[1])
            address = builder.bitcast(address, vector.llvm.as_pointer())
            return builder.load(address, align=array.dtype.bitwidth // 8)
        return vector(array, types.intp), generate
    return load


load8 = _loader(8)     # 8 neighbouring elements of an array, from `index` on
load32 = _loader(32)   # 32 of them
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
    """Read one element as int64 or float64, without the check for negative indices."""
    def generate(context, builder, signature, args):
        value = builder.load(_address(context, builder, signature.args[0], args[0], args[1]))
        if array.dtype.bitwidth == 64:
            return value
        widen = builder.sext if array.dtype.signed else builder.zext
        return widen(value, ir.IntType(64))
    number = types.float64 if isinstance(array.dtype, types.Float) else types.int64
    return number(array, types.intp), generate


@intrinsic
def write(typing, array, index, number):
    """Write one integer, cut to the size of an element, without the check for negative indices."""
    def generate(context, builder, signature, args):
        address = _address(context, builder, signature.args[0], args[0], args[1])
        bits = array.dtype.bitwidth
        value = args[2] if bits == 64 else builder.trunc(args[2], ir.IntType(bits))
        builder.store(value, address)
        return context.get_dummy_value()
    return types.void(array, types.intp, types.int64), generate


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
    return vector(vector, types.float64 if vector.real else types.int64), generate


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
            name = "f" + operation if first.real else operation
            return getattr(builder, name)(args[0], args[1])
        return first(first, second), generate
    return apply


add = _binary("add")
subtract = _binary("sub")
multiply = _binary("mul")
divide = _binary("div")              # of floats
bitwise_and = _binary("and_")


@intrinsic
def times(typing, value, factor):
    """Return a number or the lanes of a vector times a number; times None it is as it was."""
    def generate(context, builder, signature, args):
        if factor == types.none:
            return args[0]
        number = args[1]
        if isinstance(value, VectorType):
            if value.bits < 64:
                number = builder.trunc(number, ir.IntType(value.bits))
            number = _spread(builder, number, value.llvm)
        return builder.mul(args[0], number)
    return value(value, factor), generate


def _call(builder, name, result, args):
    """Call an LLVM intrinsic, declared in the module at its first use."""
    kind = ir.FunctionType(result, [arg.type for arg in args])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)


def _named(name):
    @intrinsic
    def apply(typing, first, second):
        def generate(context, builder, signature, args):
            if first.real:                       # numbers only, as in all kernels
                below = builder.fcmp_ordered("<", *args)
                return builder.select(below, *(args if name.endswith("min") else args[::-1]))
            return _call(builder, f"{name}.v{first.lanes}i{first.bits}", first.llvm, args)
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


@intrinsic
def any_above(typing, first, second):
    """Return whether any lane of ``first`` is larger than that of ``second``."""
    def generate(context, builder, signature, args):
        lanes = builder.icmp_signed(">", *args)
        word = builder.bitcast(lanes, ir.IntType(first.lanes))
        return builder.icmp_unsigned("!=", word, ir.Constant(word.type, 0))
    return types.boolean(first, second), generate


@intrinsic
def element_bits(typing, array):
    """Return how many bits an element of an array has."""
    def generate(context, builder, signature, args):
        return ir.Constant(ir.IntType(64), array.dtype.bitwidth)
    return types.int64(array), generate


@intrinsic
def population_count(typing, vector):
    """Return the number of set bits of every lane."""
    def generate(context, builder, signature, args):
        return _call(builder, f"llvm.ctpop.v{vector.lanes}i{vector.bits}", vector.llvm, args)
    return vector(vector), generate


@intrinsic
def count_in_bytes(typing, vector):
    """Return the number of set bits of every byte, each in its place."""
    def generate(context, builder, signature, args):
        n_bytes = vector.lanes * vector.bits // 8
        kind = ir.VectorType(ir.IntType(8), n_bytes)
        counts = _call(builder, f"llvm.ctpop.v{n_bytes}i8", kind, [builder.bitcast(args[0], kind)])
        return builder.bitcast(counts, vector.llvm)
    return vector(vector), generate


@intrinsic
def sum_of_bytes(typing, vector):
    """Return the sum of the bytes of every lane."""
    def generate(context, builder, signature, args):
        def constant(number):
            return ir.Constant(vector.llvm, [number] * vector.lanes)

        total, bits = args[0], 8
        while bits < vector.bits:                # neighbouring fields of so many bits become one
            low = constant(sum((2 ** bits - 1) << k for k in range(0, vector.bits, 2 * bits)))
            high = builder.and_(builder.lshr(total, constant(bits)), low)
            total = builder.add(builder.and_(total, low), high)
            bits *= 2
        return total
    return vector(vector), generate


maximum_unsigned = _named("llvm.umax")


@intrinsic
def to_floats(typing, vector):
    """Turn whole numbers of 64 bits into floats."""
    kind = VectorType(vector.lanes, 64, True)

    def generate(context, builder, signature, args):
        return builder.sitofp(args[0], kind.llvm)
    return kind(vector), generate


@intrinsic
def largest_float(typing, vector):
    """Return the largest of the floats of a vector."""
    def generate(context, builder, signature, args):
        name = f"llvm.vector.reduce.fmax.v{vector.lanes}f64"
        kind = ir.FunctionType(vector.llvm.element, [vector.llvm])
        function = cgutils.get_or_insert_function(builder.module, kind, name)
        return builder.call(function, args, fastmath=("nnan",))
    return types.float64(vector), generate


def _reduction(name):
    @intrinsic
    def apply(typing, vector):
        def generate(context, builder, signature, args):
            narrow = _call(builder, f"llvm.vector.reduce.{name}.v{vector.lanes}i{vector.bits}",
                           vector.llvm.element, args)
            return builder.sext(narrow, ir.IntType(64))
        return types.int64(vector), generate
    return apply


largest = _reduction("smax")
smallest = _reduction("smin")


@intrinsic
def add_where(typing, vector, bits, byte, term):
    """Add ``term`` in the lanes whose bit is set in ``bits``, from ``byte`` on."""
    def generate(context, builder, signature, args):
        address = _address(context, builder, signature.args[1], args[1], args[2])
        kind = ir.IntType(vector.lanes)
        word = builder.load(builder.bitcast(address, kind.as_pointer()), align=1)
        mask = builder.bitcast(word, ir.VectorType(ir.IntType(1), vector.lanes))
        zeros = ir.Constant(vector.llvm, [0] * vector.lanes)
        plus = builder.fadd if vector.real else builder.add
        return plus(args[0], builder.select(mask, args[3], zeros))
    return vector(vector, bits, types.intp, term), generate


@intrinsic
def store_lane_bits(typing, bits, byte, vector, position):
    """Write bit ``position`` of all 32 lanes as four bytes of ``bits`` from ``byte`` on."""
    def generate(context, builder, signature, args):
        lane_type = ir.IntType(vector.bits)
        one = builder.shl(ir.Constant(lane_type, 1), builder.trunc(args[3], lane_type))
        tested = builder.and_(args[2], _spread(builder, one, vector.llvm))
        mask = builder.icmp_unsigned("!=", tested, ir.Constant(vector.llvm, [0] * vector.lanes))
        address = _address(context, builder, signature.args[0], args[0], args[1])
        builder.store(builder.bitcast(mask, ir.IntType(32)),
                      builder.bitcast(address, ir.IntType(32).as_pointer()), align=1)
        return context.get_dummy_value()
    return types.void(bits, types.intp, vector, types.int64), generate


@intrinsic
def keep_where_enough(typing, value, first, second, bound):
    """Return ``value`` in the lanes where both numbers, unsigned, reach ``bound``, else zero."""
    def generate(context, builder, signature, args):
        reaches = builder.fcmp_ordered if value.real else builder.icmp_unsigned
        enough = builder.and_(reaches(">=", args[1], args[3]), reaches(">=", args[2], args[3]))
        return builder.select(enough, args[0], ir.Constant(value.llvm, [0] * value.lanes))
    return value(value, first, second, bound), generate


def _interleaving(start):
    @intrinsic
    def interleave(typing, first, second):
        half = first.lanes // 2
        mask = [lane for k in range(start * half, (start + 1) * half)
                for lane in (k, k + first.lanes)]

        def generate(context, builder, signature, args):
            constant = ir.Constant(ir.VectorType(ir.IntType(32), first.lanes), mask)
            return builder.shuffle_vector(args[0], args[1], constant)
        return first(first, second), generate
    return interleave


interleave_low = _interleaving(0)      # lanes 0, 1 ... of both vectors in turn
interleave_high = _interleaving(1)     # lanes 16, 17 ... of both vectors in turn


@intrinsic
def lowest_bit(typing, word):
    """Return the position of the lowest set bit of a positive number."""
    def generate(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))
    return types.int64(types.int64), generate


@intrinsic
def bits_of(typing, number):
    """Return the 64 bits of a float."""
    def generate(context, builder, signature, args):
        return builder.bitcast(args[0], ir.IntType(64))
    return types.uint64(types.float64), generate


@intrinsic
def fetch_add(typing, counter):
    """Return the first number of an array and add one to it, atomically."""
    def generate(context, builder, signature, args):
        place = _address(context, builder, signature.args[0], args[0],
                         ir.Constant(ir.IntType(64), 0))
        return builder.atomic_rmw("add", place, ir.Constant(ir.IntType(64), 1), "monotonic")
    return types.int64(counter), generate


@intrinsic
def prefetch(typing, array, index):
    """Ask for the cache line of an element, which will be read a little later."""
    def generate(context, builder, signature, args):
        address = builder.bitcast(_address(context, builder, signature.args[0], *args),
                                  ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address.type, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(function, [address, *(ir.Constant(number, k) for k in (0, 3, 1))])
        return context.get_dummy_value()
    return types.void(array, types.intp), generate


@intrinsic
def call_at(typing, address, arguments):
    """Call the compiled function at ``address`` with a tuple of arguments; it returns nothing.

    The search calls its kernels so: which kernel runs is data, hence one compiled search serves
    every objective, and the compiler never re-optimises a kernel inside the search.  The kernel
    may take an array for one of another element type; the array's length is then not to be used.
    """
    def generate(context, builder, signature, args):
        argument_types = tuple(signature.args[1])
        values = cgutils.unpack_tuple(builder, args[1])
        convention = context.call_conv
        pointer = convention.get_function_type(types.none, argument_types).as_pointer()
        convention.call_function(builder, builder.inttoptr(args[0], pointer), types.none,
                                 argument_types, values)
        return context.get_dummy_value()
    return types.void(types.int64, arguments), generate


def address_of(kernel, signature):
    """Compile a kernel for the exact types that :func:`call_at` will pass; return its address.

    The kernel returns nothing; its address is valid as long as the process lives.
    """
    if config.DISABLE_JIT:
        raise RuntimeError("MurTree's kernels cannot run without numba's compiler; unset "
                           "NUMBA_DISABLE_JIT.")
    compiled = kernel.get_compile_result(types.void(*signature))
    return compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)


@intrinsic
def popcount(typing, word):
    """Count the ones of a 64-bit word."""
    def generate(context, builder, signature, args):
        return _call(builder, "llvm.ctpop.i64", ir.IntType(64), args)
    return types.int64(types.uint64), generate


def pack(flags):
    """Pack truth values (n_sets, n_rows) into words (n_sets, n_words), the lowest bit first."""
    flags = np.atleast_2d(np.asarray(flags, bool))
    n_words = -(-flags.shape[1] // 64)
    padded = np.zeros((len(flags), n_words * 64), np.uint8)
    padded[:, :flags.shape[1]] = flags
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)
