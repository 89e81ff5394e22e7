"""A shorter way through numba's compiler, for kernels that need few of its conveniences.

Compiling takes seconds, most of them in Python, and a function runs through some twenty passes.
Kernels have no closures, context managers, array expressions or literal unrolling, so the passes
for these are left out.  A kernel that does need one of them fails to compile.
"""

from __future__ import annotations

from numba.core.compiler import CompilerBase, DefaultPassBuilder

# By name: a pass that a version of numba does not have is not missed.
SUPERFLUOUS = {
    "WithLifting", "InlineClosureLikes", "MakeFunctionToJitFunction", "InlineInlinables",
    "InlineOverloads", "RewriteSemanticConstants", "RewriteDynamicRaises", "DeadBranchPrune",
    "FindLiterallyCalls", "LiteralUnroll", "LiteralPropagationSubPipelinePass",
    "NopythonRewrites", "NoPythonSupportedFeatureValidation", "AnnotateTypes",
    "DumpParforDiagnostics",
}


class KernelCompiler(CompilerBase):
    """Numba's compiler without the passes named in ``SUPERFLUOUS``; see ``pipeline_class``."""

    def define_pipelines(self):
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [(kind, what) for kind, what in passes.passes
                         if kind.__name__ not in SUPERFLUOUS]
        passes.finalize()
        return [passes]
