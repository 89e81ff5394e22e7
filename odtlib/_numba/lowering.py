"""A shorter way through numba's compiler, for kernels that need few of its conveniences.

Compiling takes seconds, and most of them go into what kernels have no use for: passes for closures,
context managers and array expressions; finding out again and again what ``a + b`` means; optimising
each function by itself and once more in each that calls it.

A kernel must not raise, and owns no memory.  One that needs a pass that is left out does not
compile.
"""

from __future__ import annotations

from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import BaseNativeLowering, NativeLowering
from numba.core.typing.context import BaseContext

# By name: a pass that a version of numba does not have is not missed.
SUPERFLUOUS = {
    "WithLifting", "InlineClosureLikes", "MakeFunctionToJitFunction", "InlineInlinables",
    "InlineOverloads", "RewriteSemanticConstants", "RewriteDynamicRaises",
    "FindLiterallyCalls", "LiteralUnroll", "LiteralPropagationSubPipelinePass",
    "NopythonRewrites", "NoPythonSupportedFeatureValidation", "AnnotateTypes",
    "DumpParforDiagnostics", "IRLegalization",
}
LONG = 200      # blocks of a function that steers others: it is compiled for size, not for speed


class RememberingContext:
    """A typing context that remembers what numba finds out anew for each ``a + b``."""

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


class KernelLower(Lower):
    """Numba's lowering, which has LLVM compile a very long function for size."""

    def lower_function_body(self):
        if len(self.blocks) > LONG:
            self.function.attributes.add("optsize")
        return super().lower_function_body()


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
