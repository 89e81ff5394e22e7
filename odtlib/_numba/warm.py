"""Compile the kernels of a method before the clock of a fit starts, and say so."""

from __future__ import annotations

import gc
import threading
import time

from odtlib._numba.sources import KernelCache, say

# Seconds of a cold compilation, as `scripts/measure_compilation.py` measures them on two cores.
# Kernels of odtbook add theirs.
SECONDS = {
    "trees": 1,
    "MurTree": 8,
    "certificates": 2,
    "fronts of trees": 1,
    "all good trees": 3,
    "the local search": 4,
    "threshold sampling": 1,
    "the dynamic program over candidate splits": 7,
    "column generation": 1,
    "the search over all thresholds": 6,
    "the regression sweep": 1,
    "constrained trees": 3,
    "constrained trees by lazy search": 6,
    "optimal constrained trees": 2,
}

_announced, _warm = set(), set()
_lock = threading.RLock()       # a method may warm up another that it begins with


def warm_up(method, kernel, run, variant=None):
    """Compile the kernels of a method, or load them from disk, once per process.

    ``method`` is a key of ``SECONDS``; ``kernel``, with ``cache=True``, is the one that takes
    longest to compile, and tells whether to announce; ``run()`` calls every kernel that a fit may
    call, on a few rows; ``variant`` names the kind of problem, where kernels are compiled anew for
    other types of arrays.  Returns the seconds that it took, 0.0 if it was done before in this
    process.
    """
    with _lock:
        if (method, variant) in _warm:
            return 0.0
        begin, collects = time.perf_counter(), gc.isenabled()
        gc.disable()        # an eighth of the time: compilers make many objects and few cycles
        try:
            announce(method, kernel)
            run()
        finally:
            if collects:
                gc.enable()
        _warm.add((method, variant))
        return time.perf_counter() - begin


def announce(method, kernel):
    """Say, once a process, that a kernel must be compiled first, and for about how long."""
    if method in _announced or getattr(kernel, "signatures", True):   # True: compiler off
        return
    if isinstance(kernel._cache, KernelCache) and kernel._cache.holds_code():
        return
    _announced.add(method)
    later = ("later runs start at once" if kernel.stats.cache_path else
             "later runs will do so again, since no folder for compiled code can be written to; "
             "NUMBA_CACHE_DIR names one")
    say(f"compiling {method} once, for about {SECONDS[method]} s; {later}.")
