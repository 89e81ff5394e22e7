"""Compile the kernels into numba's cache on disk, so that tests and chapters start warm.

Fits every estimator once on a few rows, several at a time. It is only a head start: what it does
not reach is compiled by the first caller, and an estimator that fails here fails in its own tests.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
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


def fit(name: str) -> str:
    started = time.process_time()
    try:
        estimator = getattr(odtlib, name)(**options_of(name))
        if "max_depth" in estimator.get_params():
            deepest = 2 if name == "ContinuousTreeRegressor" else 3
            estimator.set_params(max_depth=deepest)
        if "time_limit" in estimator.get_params():
            estimator.set_params(time_limit=TIME_LIMIT)
        if name.endswith("Classifier"):
            for n_classes in (2, 3):
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    jobs = parser.parse_args().jobs
    forget_stale_kernels(Path(odtlib.__file__).parent)
    names = [name for name in odtlib.__all__ if name.endswith(("Classifier", "Regressor"))]
    workers = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=workers) as pool:
        for line in pool.map(fit, names):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
