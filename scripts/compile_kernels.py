"""Compile the kernels into numba's cache on disk, so that tests and chapters start warm.

Fits every estimator once on a few rows, several at a time. It is only a head start: what it does
not reach is compiled by the first caller, and an estimator that fails here fails in its own tests.

With --measure it compiles everything into empty folders instead, one process after the other, and
prints the CPU seconds of every method as the table ``SECONDS`` of odtlib/_numba/warm.py.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np

import odtlib

TIME_LIMIT = 1.0  # seconds: some solvers would not end on the small problem


def forget_stale_kernels(package: Path) -> int:
    """Delete compiled kernels older than a source that they may have taken in; count them.

    For itself numba looks at the file of a kernel alone, not at those of the kernels that it calls.
    """
    @cache
    def changed(folder):
        return max((file.stat().st_mtime for file in folder.glob("*.py")
                    if "numba" in file.read_text(encoding="utf-8")), default=0.0)

    stale = [index for index in package.rglob("*.nbi") if index.stat().st_mtime < max(
        changed(package), changed(index.parent.parent))]
    for index in stale:
        index.unlink()
    return len(stale)


def small_problem(kind: str, n_classes: int = 2):
    """Return a few rows of labels, or of targets between zero and one, one or two a row."""
    random = np.random.default_rng(0)
    X = random.integers(0, 6, size=(40, 3)).astype(float)
    if kind == "regressor":
        return X, random.random(40)
    if kind == "constrained":
        return X, random.random((40, 2))
    return X, np.arange(40) % n_classes


def options_of(name: str) -> dict:
    """Return the arguments without which an estimator cannot be fitted."""
    if "Constrained" in name or "Projected" in name:
        from odtlib.constrained import sets

        top = 2.0 if name == "ConstrainedTreeClassifier" else 1.0
        return {"constraints": sets.Box(0.0, top)}
    return {}


def fit(name: str, **options) -> str:
    started = time.process_time()
    try:
        estimator = getattr(odtlib, name)(**options_of(name), **options)
        if "max_depth" in estimator.get_params():
            deepest = 2 if name == "ContinuousTreeRegressor" else 3
            estimator.set_params(max_depth=deepest)
        if "time_limit" in estimator.get_params():
            estimator.set_params(time_limit=TIME_LIMIT)
        if name.endswith("Classifier"):
            for n_classes in (2, 3) if options.get("objective") != "f1" else (2,):
                X, y = small_problem("classifier", n_classes)
                estimator.fit(X, y).predict(X)
            estimator.fit(X, y, sample_weight=np.linspace(1, 2, len(y)))
        else:
            several = "Constrained" in name or "Projected" in name
            X, y = small_problem("constrained" if several else "regressor")
            estimator.fit(X, y).predict(X)
    except Exception as error:  # see the docstring of the module
        return f"{name}: not compiled ahead ({type(error).__name__}: {str(error)[:100]})"
    return f"{name}: {time.process_time() - started:.1f} s"


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
    name, options = job
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = folder      # numba reads it when it is imported
        from odtlib._numba import warm as _warm
        seconds = {}
        _warm.warm_up = recorded(_warm.warm_up, time.process_time, seconds)
        print(fit(name, **options), file=sys.stderr, flush=True)
    return seconds


def table(seconds: dict, known: dict) -> str:
    """Write measured seconds as Python; a method that was not measured keeps its number."""
    lines = [f'    "{method}": {max(1, round(seconds[method]))},' if method in seconds else
             f'    "{method}": {before},   # not measured' for method, before in known.items()]
    return "\n".join(["SECONDS = {", *lines, "}"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--measure", action="store_true",
                        help="print the seconds of a cold compilation of each method")
    options = parser.parse_args()
    names = [name for name in odtlib.__all__ if name.endswith(("Classifier", "Regressor"))]
    workers = multiprocessing.get_context("spawn")
    if options.measure:
        from odtlib._numba import warm as _warm
        jobs = [*((name, {}) for name in names), ("MurTreeClassifier", {"objective": "f1"})]
        seconds = {}
        with ProcessPoolExecutor(1, mp_context=workers, max_tasks_per_child=1) as pool:
            for found in pool.map(measure, jobs):
                for method, taken in found.items():
                    seconds[method] = max(taken, seconds.get(method, 0.0))
        print(table(seconds, _warm.SECONDS))
        return 0
    forget_stale_kernels(Path(odtlib.__file__).parent)
    with ProcessPoolExecutor(options.jobs, mp_context=workers) as pool:
        for line in pool.map(fit, names):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
