"""Vectors of numbers as values of compiled code: the few operations that the kernels need.

Numba widens small integers to 64 bits, which costs four to eight times the throughput in counting
kernels.  Here a vector of ``lanes`` integers of ``bits`` bits, or of floats, is a type of its own;
every function below becomes one LLVM instruction, or two, and LLVM splits it where the processor's
registers are smaller. Indices are not checked: callers are kernels.

Arguments of the operations that refer to this docstring:

- ``array``: one-dimensional and contiguous, of integers of 8 to 64 bits or of float64; ``index``:
  int, an element of it.
- ``vector``: lanes of such elements; what an operation returns is of its type if nothing else is
  said.  ``first`` and ``second`` are two of one type, taken lane by lane.
- ``number``: int64, or float64 for floats, cut to the size of a lane or element.
"""

from __future__ import annotations

import inspect

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model
from numba.np.arrayobj import populate_array

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


def _operation(result=lambda first, *others: first(first, *others)):
    """Make an intrinsic of a function that emits its instructions.

    ``result`` returns its signature for given types of operands.  The function takes the builder of
    LLVM, the types of the operands, and their values, an array as its address; what returns None
    makes nothing.
    """
    def decorate(emit):
        def resolve(typing, *operands):
            def generate(context, builder, signature, args):
                values = [context.make_array(kind)(context, builder, value).data
                          if isinstance(kind, types.Array) else value
                          for kind, value in zip(signature.args, args)]
                made = emit(builder, operands[0], *values)
                return context.get_dummy_value() if made is None else made
            return result(*operands), generate

        names = list(inspect.signature(emit).parameters.values())
        resolve.__name__, resolve.__doc__ = emit.__name__, emit.__doc__
        resolve.__signature__ = inspect.Signature([names[0], *names[2:]])    # without the type
        return intrinsic(resolve)
    return decorate


def _at(builder, array, index, kind):
    """Return the address of an element as one of values of another type."""
    return builder.bitcast(builder.gep(array, [index]), kind.as_pointer())


def _constant(kind, number):
    """Return a vector with a number in every lane."""
    return ir.Constant(kind, [number] * kind.count)


def _spread(builder, scalar, kind):
    undefined = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(undefined, scalar, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, undefined,
                                  _constant(ir.VectorType(ir.IntType(32), kind.count), 0))


def _filled(builder, kind, number):
    """Return a vector of a type with a number of 64 bits, cut to its size, in every lane."""
    if kind.bits < 64:
        number = builder.trunc(number, ir.IntType(kind.bits))
    return _spread(builder, number, kind.llvm)


def _call(builder, name, result, *args, **options):
    """Call an LLVM intrinsic, declared in the module at its first use."""
    kind = ir.FunctionType(result, [arg.type for arg in args])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args,
                        **options)


def _loader(lanes):
    def of(array):
        return VectorType(lanes, array.dtype.bitwidth, isinstance(array.dtype, types.Float))

    @_operation(lambda array, index: of(array)(array, types.intp))
    def load(builder, kind, array, index):
        """Return neighbours in ``array`` from ``index`` on; see the module's docstring."""
        return builder.load(_at(builder, array, index, of(kind).llvm),
                            align=kind.dtype.bitwidth // 8)
    return load


load8 = _loader(8)     # 8 neighbouring elements of an array, from `index` on
load32 = _loader(32)   # 32 of them
load64 = _loader(64)   # 64 of them


@_operation(lambda array, index, vector: types.void(array, types.intp, vector))
def store(builder, kind, array, index, vector):
    """Write a vector to an array of the same element size, from ``index`` on.

    ``array``, ``index`` and ``vector`` are those of the module's docstring.
    """
    builder.store(vector, _at(builder, array, index, vector.type), align=kind.dtype.bitwidth // 8)


@_operation(lambda array, index: (types.float64 if isinstance(array.dtype, types.Float) else
                                  types.int64)(array, types.intp))
def read(builder, kind, array, index):
    """Return one element as int64 or float64, without the check for negative indices.

    ``array`` and ``index`` are those of the module's docstring.
    """
    value = builder.load(builder.gep(array, [index]))
    if kind.dtype.bitwidth == 64:
        return value
    return (builder.sext if kind.dtype.signed else builder.zext)(value, ir.IntType(64))


@_operation(lambda array, index, number: types.void(array, types.intp, types.int64))
def write(builder, kind, array, index, number):
    """Write one integer, cut to the size of an element, without the check for negative indices.

    ``array``, ``index`` and ``number`` are those of the module's docstring.
    """
    bits = kind.dtype.bitwidth
    builder.store(number if bits == 64 else builder.trunc(number, ir.IntType(bits)),
                  builder.gep(array, [index]))


@_operation()
def zeros_like(builder, kind, vector):
    """Return a vector of zeros of the same type as ``vector``."""
    return _constant(kind.llvm, 0)


@_operation(lambda vector, number: vector(vector, types.float64 if vector.real else types.int64))
def spread_like(builder, kind, vector, number):
    """Return a vector of the same type as ``vector`` that holds ``number`` in every lane.

    ``number`` is that of the module's docstring.
    """
    return _filled(builder, kind, number)


@_operation()
def widen_like(builder, kind, vector, narrow):
    """Sign-extend ``narrow`` to the lane size of ``vector``.

    ``narrow`` is a vector of as many smaller integers.
    """
    return builder.sext(narrow, kind.llvm)


def _binary(operation):
    @_operation()
    def apply(builder, kind, first, second):
        """Return ``first`` and ``second`` combined lane by lane; see the module's docstring."""
        return getattr(builder, "f" + operation if kind.real else operation)(first, second)
    return apply


add = _binary("add")
subtract = _binary("sub")
multiply = _binary("mul")
divide = _binary("div")              # of floats
bitwise_and = _binary("and_")


@_operation(lambda factors, index, value: value(factors, types.intp, value))
def times(builder, kind, factors, index, value):
    """Return an element times a number, or times the lanes of a vector; without array, these alone.

    ``factors`` is an array of int64 or None, ``index`` an int, the element of it, and ``value`` an
    int64 or a vector of integers.
    """
    if kind == types.none:
        return value
    factor, whole = builder.load(builder.gep(factors, [index])), value.type
    if isinstance(whole, ir.VectorType):
        if whole.element.width < 64:
            factor = builder.trunc(factor, whole.element)
        factor = _spread(builder, factor, whole)
    return builder.mul(value, factor)


def _named(name):
    @_operation()
    def apply(builder, kind, first, second):
        """Return the smaller or larger of ``first`` and ``second`` in each lane.

        They are vectors of one type, of integers or of floats without NaN.
        """
        if kind.real:                            # numbers only, as in all kernels
            below = builder.fcmp_ordered("<", first, second)
            return builder.select(below, *((first, second) if name.endswith("min") else
                                           (second, first)))
        return _call(builder, f"{name}.v{kind.lanes}i{kind.bits}", kind.llvm, first, second)
    return apply


minimum = _named("llvm.smin")
maximum = _named("llvm.smax")
maximum_unsigned = _named("llvm.umax")


@_operation()
def keep_where_at_least(builder, kind, value, measure, bound, otherwise):
    """Return ``value`` in the lanes where ``measure >= bound``, else ``otherwise``.

    All are vectors of signed integers, of one number of lanes.
    """
    return builder.select(builder.icmp_signed(">=", measure, bound), value, otherwise)


@_operation(lambda first, second: types.boolean(first, second))
def any_above(builder, kind, first, second):
    """Return, as a bool, whether any lane of ``first`` is larger than that of ``second``.

    Both are vectors of signed integers of one type.
    """
    word = builder.bitcast(builder.icmp_signed(">", first, second), ir.IntType(kind.lanes))
    return builder.icmp_unsigned("!=", word, ir.Constant(word.type, 0))


@_operation(types.int64)
def element_bits(builder, kind, array):
    """Return how many bits an element of ``array`` has, as int64."""
    return ir.Constant(ir.IntType(64), kind.dtype.bitwidth)


@_operation()
def population_count(builder, kind, vector):
    """Return the number of set bits of every lane of ``vector``, which is of integers."""
    return _call(builder, f"llvm.ctpop.v{kind.lanes}i{kind.bits}", kind.llvm, vector)


@_operation()
def count_in_bytes(builder, kind, vector):
    """Return the number of set bits of every byte of ``vector``, of integers, each in its place."""
    n_bytes = kind.lanes * kind.bits // 8
    of_bytes = ir.VectorType(ir.IntType(8), n_bytes)
    counts = _call(builder, f"llvm.ctpop.v{n_bytes}i8", of_bytes, builder.bitcast(vector, of_bytes))
    return builder.bitcast(counts, kind.llvm)


@_operation()
def sum_of_bytes(builder, kind, vector):
    """Return the sum of the bytes of every lane of ``vector``, which is of integers."""
    bits = 8
    while bits < kind.bits:                      # neighbouring fields of so many bits become one
        low = _constant(kind.llvm,
                        sum((2 ** bits - 1) << k for k in range(0, kind.bits, 2 * bits)))
        high = builder.and_(builder.lshr(vector, _constant(kind.llvm, bits)), low)
        vector = builder.add(builder.and_(vector, low), high)
        bits *= 2
    return vector


@_operation(lambda vector: VectorType(vector.lanes, 64, True)(vector))
def to_floats(builder, kind, vector):
    """Turn ``vector``, whole numbers of 64 bits, into one of as many float64."""
    return builder.sitofp(vector, ir.VectorType(ir.DoubleType(), kind.lanes))


@_operation(types.float64)
def smallest_float(builder, kind, vector):
    """Return the smallest of the floats of ``vector``, which has no NaN."""
    return _call(builder, f"llvm.vector.reduce.fmin.v{kind.lanes}f64", ir.DoubleType(), vector,
                 fastmath=("nnan",))


def _reduction(name):
    @_operation(types.int64)
    def apply(builder, kind, vector):
        """Return, as int64, the largest or smallest lane of ``vector``, signed integers."""
        return builder.sext(_call(builder, f"llvm.vector.reduce.{name}.v{kind.lanes}i{kind.bits}",
                                  kind.llvm.element, vector), ir.IntType(64))
    return apply


largest = _reduction("smax")
smallest = _reduction("smin")


@_operation(lambda vector, bits, byte, term: vector(vector, bits, types.intp, term))
def add_where(builder, kind, vector, bits, byte, term):
    """Return ``vector`` plus ``term`` in the lanes whose bit is set in ``bits``, from ``byte`` on.

    ``term`` is of the type of ``vector``.  ``bits`` is an array of bytes, whose byte ``byte`` (int)
    has the first lane in its lowest bit.
    """
    word = builder.load(_at(builder, bits, byte, ir.IntType(kind.lanes)), align=1)
    mask = builder.bitcast(word, ir.VectorType(ir.IntType(1), kind.lanes))
    plus = builder.fadd if kind.real else builder.add
    return plus(vector, builder.select(mask, term, _constant(kind.llvm, 0)))


@_operation(lambda bits, byte, vector, position: types.void(bits, types.intp, vector, types.int64))
def store_lane_bits(builder, kind, bits, byte, vector, position):
    """Write bit ``position`` of all 32 lanes as four bytes of ``bits`` from ``byte`` on.

    ``bits`` is an array of bytes, ``byte`` (int) a place in it, ``vector`` 32 integers, and
    ``position`` an int64 below their number of bits.
    """
    lane = vector.type.element
    one = builder.shl(ir.Constant(lane, 1), builder.trunc(position, lane))
    tested = builder.and_(vector, _spread(builder, one, vector.type))
    mask = builder.icmp_unsigned("!=", tested, _constant(vector.type, 0))
    word = ir.IntType(32)
    builder.store(builder.bitcast(mask, word), _at(builder, bits, byte, word), align=1)


@_operation()
def keep_where_enough(builder, kind, value, first, second, bound, otherwise):
    """Return ``value`` where ``first`` and ``second`` both reach ``bound``, else ``otherwise``.

    All are vectors of one type; integers count as unsigned.
    """
    reaches = builder.fcmp_ordered if kind.real else builder.icmp_unsigned
    enough = builder.and_(reaches(">=", first, bound), reaches(">=", second, bound))
    return builder.select(enough, value, otherwise)


def _interleaving(start):
    @_operation()
    def interleave(builder, kind, first, second):
        """Return half of the lanes of ``first`` and ``second``, one of each in turn."""
        half = kind.lanes // 2
        mask = [lane for k in range(start * half, (start + 1) * half)
                for lane in (k, k + kind.lanes)]
        return builder.shuffle_vector(
            first, second, ir.Constant(ir.VectorType(ir.IntType(32), kind.lanes), mask))
    return interleave


interleave_low = _interleaving(0)      # lanes 0, 1 ... of both vectors in turn
interleave_high = _interleaving(1)     # lanes 16, 17 ... of both vectors in turn


@_operation(lambda word: types.int64(types.int64))
def lowest_bit(builder, kind, word):
    """Return the position of the lowest set bit of ``word``, an int64 that is not 0."""
    return builder.cttz(word, ir.Constant(ir.IntType(1), 1))


@_operation(lambda number: types.uint64(types.float64))
def bits_of(builder, kind, number):
    """Return the 64 bits of ``number``, a float64, as uint64."""
    return builder.bitcast(number, ir.IntType(64))


@_operation(types.int64)
def fetch_add(builder, kind, counter):
    """Return the first number of ``counter``, an array of int64, and add one to it, atomically."""
    place = builder.gep(counter, [ir.Constant(ir.IntType(64), 0)])
    return builder.atomic_rmw("add", place, ir.Constant(ir.IntType(64), 1), "monotonic")


@_operation(lambda array, index: types.void(array, types.intp))
def prefetch(builder, kind, array, index):
    """Ask for the cache line of an element, which will be read a little later.

    ``array`` and ``index`` are those of the module's docstring.
    """
    _call(builder, "llvm.prefetch.p0i8", ir.VoidType(), _at(builder, array, index, ir.IntType(8)),
          *(ir.Constant(ir.IntType(32), number) for number in (0, 3, 1)))


@_operation(lambda word: types.int64(types.uint64))
def popcount(builder, kind, word):
    """Return the number of ones of ``word``, a uint64, as int64."""
    return _call(builder, "llvm.ctpop.i64", ir.IntType(64), word)


@intrinsic
def strided(typing, array, start, count, stride):
    """Return ``count`` numbers of an array of floats, ``stride`` apart, as a view of them.

    ``array`` is contiguous, of float64; ``start`` (int64) is the first element of the view.
    """
    view_type = types.Array(types.float64, 1, "A")

    def generate(context, builder, signature, args):
        source = context.make_array(signature.args[0])(context, builder, args[0])
        view, size = context.make_array(view_type)(context, builder), ir.Constant(args[1].type, 8)
        populate_array(view, builder.gep(source.data, [args[1]]), [args[2]],
                       [builder.mul(args[3], size)], size, None)
        return view._getvalue()
    return view_type(array, *3 * [types.int64]), generate


@intrinsic
def call_at(typing, address, arguments):
    """Call the compiled function at ``address`` with a tuple of arguments; it returns nothing.

    ``address`` (int64) comes from :func:`address_of`, and ``arguments`` must be of the types that
    it was compiled for.  The search calls its kernels so: which kernel runs is data, hence one
    compiled search serves every objective, and the compiler never re-optimises a kernel inside the
    search.  The kernel may take an array for one of another element type; the array's length is
    then not to be used.
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


def pack(flags):
    """Pack truth values (n_sets, n_rows) into words (n_sets, n_words), the lowest bit first."""
    flags = np.atleast_2d(np.asarray(flags, bool))
    n_words = -(-flags.shape[1] // 64)
    padded = np.zeros((len(flags), n_words * 64), np.uint8)
    padded[:, :flags.shape[1]] = flags
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)
