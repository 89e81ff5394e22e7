"""The ``njit`` of all kernels, and its options: which compiler they take.

The short way through numba (:mod:`odtlib._numba.lowering`) leans on its inner interfaces.  Numba
of a version that it has not been tested with compiles kernels as any other code.
"""

from __future__ import annotations

import numba

from odtlib._numba import sources

TESTED = (0, 61), (0, 68)        # oldest and newest numba
if TESTED[0] <= numba.version_info.short <= TESTED[1]:
    from odtlib._numba.lowering import KernelCompiler as Compiler
else:
    from numba.core.compiler import Compiler

# For kernels that Python calls, that compiled code calls by address, that are part of others, and
# that others do not call: they have so many arguments that to pass them takes long.
OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy", "_nrt": False,
           "no_cfunc_wrapper": True, "pipeline_class": Compiler}
ADDRESSED = {**OPTIONS, "no_cpython_wrapper": True}
INNER = {**ADDRESSED, "cache": False}
INLINED = {**INNER, "forceinline": True}


def njit(**options):
    """Do what ``numba.njit`` does, and let any change of source that a kernel holds be noticed."""
    def decorate(function):
        kernel = numba.njit(**{**options, "cache": False})(function)
        source = sources.stamp(function.__module__) if options.get("cache") else None
        if source and not numba.config.DISABLE_JIT:
            kernel._cache = sources.KernelCache(function, source)
        return kernel
    return decorate
