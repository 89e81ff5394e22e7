"""Print the CPU seconds that each method takes to compile: ``SECONDS`` of odtlib/_numba/warm.py.

It compiles everything into empty folders, one process after the other.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor

from odtbook.compile_command import estimators, fit
from odtbook.lifetime import end_with


def recorded(warm_up, clock, seconds: dict):
    """Return ``warm_up`` that notes the longest time of each method, less those that it calls."""
    inner = [0.0]

    def timed(method, kernel, run, variant=None):
        inner.append(0.0)
        begin = clock()
        answer = warm_up(method, kernel, run, variant)
        taken = clock() - begin
        seconds[method] = max(seconds.get(method, 0.0), taken - inner.pop())
        inner[-1] += taken
        return answer

    return timed


def measure(job) -> dict:
    """Fit an estimator with nothing compiled; return the seconds of each method."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = folder      # numba reads it when it is imported
        from odtlib._numba import warm
        seconds = {}
        warm.warm_up = recorded(warm.warm_up, time.process_time, seconds)
        print(fit(*job)[0], file=sys.stderr, flush=True)
    return seconds


def table(seconds: dict, known: dict) -> str:
    """Write measured seconds as Python; a method that was not measured keeps its number."""
    lines = [f'    "{method}": {max(1, round(seconds[method]))},' if method in seconds else
             f'    "{method}": {before},   # not measured' for method, before in known.items()]
    return "\n".join(["SECONDS = {", *lines, "}"])


def main() -> int:
    from odtlib._numba import warm

    seconds = {}
    workers = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=workers, max_tasks_per_child=1,
                             initializer=end_with, initargs=(os.getpid(),)) as pool:
        for found in pool.map(measure, estimators()):
            for method, taken in found.items():
                seconds[method] = max(taken, seconds.get(method, 0.0))
    print(table(seconds, warm.SECONDS))
    return 0


if __name__ == "__main__":
    sys.exit(main())
