"""A shorter way through numba's compiler, for kernels that need few of its conveniences.

Compiling takes seconds, and most of them go into what kernels have no use for: passes for closures,
context managers and array expressions; finding out again and again what ``a + b`` means; indices
that count from the end of an array; optimising each function by itself and once more in each that
calls it.  Less to compile is less to run, too.

A variable in a kernel must not index from the end of an array (with ``NUMBA_BOUNDSCHECK=1`` that
raises an error); a kernel must not raise, and owns no memory.  One that needs a pass that is left
out does not compile.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import BaseNativeLowering, NativeLowering
from numba.core.typing.context import BaseContext
from numba.np.arrayobj import load_item, store_item

# By name: a pass that a version of numba does not have is not missed.
SUPERFLUOUS = {
    "WithLifting", "InlineClosureLikes", "MakeFunctionToJitFunction", "InlineInlinables",
    "InlineOverloads", "RewriteSemanticConstants", "RewriteDynamicRaises",
    "FindLiterallyCalls", "LiteralUnroll", "LiteralPropagationSubPipelinePass",
    "NopythonRewrites", "NoPythonSupportedFeatureValidation", "AnnotateTypes",
    "DumpParforDiagnostics", "IRLegalization",
}
MEMINFO, PARENT, N_ITEMS, ITEM_SIZE, DATA, SHAPE, STRIDES = range(7)     # fields of an array
START, STOP, STEP = range(3)                                             # fields of a range
LONG = 200      # blocks of a function that steers others: it is compiled for size, not for speed


class RememberingContext:
    """A typing context that remembers the types of operators and of numba's own functions.

    Numba tries some dozens of implementations anew for each ``a + b``.
    """

    _remembered = {}

    def __init__(self, context):
        self._context = context

    def __getattr__(self, name):
        return getattr(self._context, name)

    def _remember(self, resolve, *arguments):
        """Return ``resolve(context, *arguments)``, found out once."""
        key = self._context, resolve, arguments
        if key not in self._remembered:
            found = resolve(self._context, *arguments)
            if found is None:
                return None
            self._remembered[key] = found
        return self._remembered[key]

    def resolve_function_type(self, function, arguments, keywords):
        if isinstance(function, types.Dispatcher) or keywords:
            return self._context.resolve_function_type(function, arguments, keywords)
        return self._remember(_resolve_call, function, tuple(arguments))

    def resolve_getitem(self, value, index):
        return self._remember(BaseContext.resolve_getitem, value, index)

    def resolve_setitem(self, target, index, value):
        return self._remember(BaseContext.resolve_setitem, target, index, value)


def _resolve_call(context, function, arguments):
    return context.resolve_function_type(function, arguments, {})


def _kinds(index_type):
    """Return the types of all indices in brackets."""
    return index_type.types if isinstance(index_type, types.BaseTuple) else (index_type,)


class KernelLower(Lower):
    """Numba's lowering with few instructions for elements of C-contiguous arrays and ``range``."""

    def lower_function_body(self):
        if len(self.blocks) > LONG:
            self.function.attributes.add("optsize")
        return super().lower_function_body()

    def _in_place(self, array_type, index_type):
        """Tell whether an array is contiguous and its indices are integers, none of them ``-1``."""
        kinds = _kinds(index_type)
        return (isinstance(array_type, types.Array) and array_type.layout == "C"
                and 0 < len(kinds) <= array_type.ndim
                and all(isinstance(kind, types.Integer)
                        and getattr(kind, "literal_value", 0) >= 0 for kind in kinds))

    def _address(self, array_type, array, index_type, index):
        """Return the address of an element or a subarray, and the number of indices."""
        kinds, numbers = _kinds(index_type), (index,)
        if isinstance(index_type, types.BaseTuple):
            numbers = cgutils.unpack_tuple(self.builder, index)
        place = None
        for axis in range(array_type.ndim):
            size = self.builder.extract_value(array, [SHAPE, axis])
            if axis > 0:
                place = self.builder.mul(place, size)
            if axis < len(numbers):
                number = self.context.cast(self.builder, numbers[axis], kinds[axis], types.intp)
                if self.context.enable_boundscheck:
                    cgutils.do_boundscheck(self.context, self.builder, number, size, axis)
                place = number if axis == 0 else self.builder.add(place, number)
        return self.builder.gep(self.builder.extract_value(array, DATA), [place]), len(numbers)

    def lower_getitem(self, resty, expr, value, index, signature):
        array_type, index_type = self.typeof(value.name), self.typeof(index.name)
        if not self._in_place(array_type, index_type):
            return super().lower_getitem(resty, expr, value, index, signature)
        builder, array = self.builder, self.loadvar(value.name)
        address, depth = self._address(array_type, array, index_type, self.loadvar(index.name))
        if depth == array_type.ndim:
            item = load_item(self.context, builder, array_type, address)
            return self.context.cast(builder, item, signature.return_type, resty)
        view = ir.Constant(self.context.get_value_type(resty), None)
        n_items = None
        for axis in range(array_type.ndim - depth):
            size = builder.extract_value(array, [SHAPE, depth + axis])
            n_items = size if n_items is None else builder.mul(n_items, size)
            view = builder.insert_value(view, size, [SHAPE, axis])
            stride = builder.extract_value(array, [STRIDES, depth + axis])
            view = builder.insert_value(view, stride, [STRIDES, axis])
        view = builder.insert_value(view, n_items, N_ITEMS)
        view = builder.insert_value(view, builder.extract_value(array, ITEM_SIZE), ITEM_SIZE)
        return builder.insert_value(view, address, DATA)

    def lower_setitem(self, target_var, index_var, value_var, signature):
        array_type, index_type = self.typeof(target_var.name), self.typeof(index_var.name)
        if (not self._in_place(array_type, index_type)
                or len(_kinds(index_type)) < array_type.ndim):
            return super().lower_setitem(target_var, index_var, value_var, signature)
        address, _ = self._address(array_type, self.loadvar(target_var.name), index_type,
                                   self.loadvar(index_var.name))
        value = self.context.cast(self.builder, self.loadvar(value_var.name),
                                  self.typeof(value_var.name), array_type.dtype)
        return store_item(self.context, self.builder, array_type, value, address)

    def lower_expr(self, resty, expr):
        """Count from start to stop in a ``range``, without the number of steps."""
        kind = self.typeof(expr.value.name) if expr.op in ("getiter", "iternext") else None
        builder = self.builder
        if isinstance(kind, types.RangeType):
            limits = self.loadvar(expr.value.name)
            start, stop, step = (builder.extract_value(limits, field)
                                 for field in (START, STOP, STEP))
            iterator = ir.Constant(self.context.get_value_type(resty), None)
            iterator = builder.insert_value(iterator, cgutils.alloca_once_value(builder, start),
                                            START)
            iterator = builder.insert_value(iterator, stop, STOP)
            return builder.insert_value(iterator, step, STEP)
        if isinstance(kind, types.RangeIteratorType):
            iterator = self.loadvar(expr.value.name)
            place, stop, step = (builder.extract_value(iterator, field)
                                 for field in (START, STOP, STEP))
            number = builder.load(place)
            compare = builder.icmp_signed if kind.yield_type.signed else builder.icmp_unsigned
            goes_on = builder.select(builder.icmp_signed(">", step, step.type(0)),
                                     compare("<", number, stop), compare(">", number, stop))
            builder.store(builder.add(number, step), place)
            pair = ir.Constant(self.context.get_value_type(resty), None)
            return builder.insert_value(builder.insert_value(pair, number, 0), goes_on, 1)
        return super().lower_expr(resty, expr)

    def lower_binop(self, resty, expr, op):
        """Do without implementations for constant operands; LLVM simplifies those anyway."""
        signature = self.fndesc.calltypes[expr]
        operands = [self.context.cast(self.builder, self.loadvar(operand.name),
                                      self.typeof(operand.name), kind)
                    for operand, kind in zip((expr.lhs, expr.rhs), signature.args, strict=True)]
        function = self.context.typing_context.resolve_value_type(op)
        try:
            implementation = self.context.get_function(function, signature)
        except KeyError:                 # numba has learnt more kinds of operands since
            function.get_call_type(self.context.typing_context, signature.args, {})
            implementation = self.context.get_function(function, signature)
        result = implementation(self.builder, operands)
        return self.context.cast(self.builder, result, signature.return_type, resty)

    def alloca_lltype(self, name, lltype, datamodel=None):
        """Note nothing for debuggers."""
        return cgutils.alloca_once(self.builder, lltype, name=name, zfill=False)

    def storevar(self, value, name, argidx=None):
        """Note nothing for debuggers, and let go of nothing."""
        self._alloca_var(name, self.typeof(name))
        if name in self._singly_assigned_vars and not self._disable_sroa_like_opt:
            self._blk_local_varmap[name] = value
        else:
            self.builder.store(value, self.getvar(name))

    def delvar(self, name):
        """Leave a deleted variable alone: kernels own no memory."""


class KernelLibrary(JITCodeLibrary):
    """The code of a kernel, optimised and turned into machine code only where it is called.

    Numba does both for each function and once more for each that calls it.
    """

    _is_machine_code = False

    @property
    def codegen(self):
        return self._codegen if self._is_machine_code else self

    def set_env(self, name, environment):
        """Keep no environment: a function within others does not call Python."""

    def _optimize_functions(self, ll_module):
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self):
        """Leave it for :meth:`_make_machine_code`."""

    def _finalize_final_module(self):
        self._finalized = True

    def _make_machine_code(self):
        self._ensure_finalized()
        if not self._is_machine_code:
            self._is_machine_code = True
            super()._optimize_final_module()
            self._final_module.verify()
            super()._finalize_final_module()

    def get_pointer_to_function(self, name):
        self._ensure_finalized()
        if not any(function.name == name for function in self.get_defined_functions()):
            return 0
        self._make_machine_code()
        return super().get_pointer_to_function(name)

    def serialize_using_object_code(self):
        self._make_machine_code()
        return super().serialize_using_object_code()


@register_pass(mutates_CFG=True, analysis_only=False)
class KernelLowering(BaseNativeLowering):
    """The pass that lowers with :class:`KernelLower` into a :class:`KernelLibrary`."""

    _name = "kernel_lowering"

    @property
    def lowering_class(self):
        return KernelLower

    def run_pass(self, state):
        state.library = KernelLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return super().run_pass(state)


class KernelCompiler(CompilerBase):
    """Numba's compiler without the passes named in ``SUPERFLUOUS``; see ``pipeline_class``."""

    def __init__(self, typing_context, *arguments):
        super().__init__(RememberingContext(typing_context), *arguments)

    def define_pipelines(self):
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [(KernelLowering if kind is NativeLowering else kind, description)
                         for kind, description in passes.passes
                         if kind.__name__ not in SUPERFLUOUS]
        passes.finalize()
        return [passes]
