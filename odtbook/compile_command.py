"""The command ``odt compile``: compile every kernel ahead, so that first fits start at once.

It fits every estimator once on a few rows, several at a time, and numba keeps the machine code on
disk. What it does not reach is compiled by the first caller, and an estimator that fails here fails
in its own tests.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
import warnings
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from odtbook.estimators import NAMES, class_of
from odtbook.lifetime import end_with

TIME_LIMIT = 1.0  # seconds: some solvers would not end on the small problem


def estimators() -> list[tuple[str, dict]]:
    """Return the names of all estimators, with arguments of fits that reach all kernels."""
    return [*((name, {}) for name in NAMES), ("MurTreeClassifier", {"objective": "f1"}),
            ("MurTreeClassifier", {"search": "paper"}),
            ("ConstrainedTreeRegressor", {"criterion": "absolute_error", "split": "exact"})]


def small_problem(kind: str, n_classes: int = 2):
    """Return a few rows of labels, or of targets between zero and one, one or two per row."""
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


def fit(name: str, options: dict) -> tuple[str, bool]:
    """Fit an estimator; return a line that says how long it took, and whether it failed."""
    what = " ".join([name, *(f"{key}={value}" for key, value in options.items())])
    started = time.process_time()
    if options.get("search") == "paper":
        from odtbook.published import PaperSearch

        options = {"search": PaperSearch()}
    warnings.simplefilter("ignore")                 # of what so small a problem does not have
    try:
        estimator = class_of(name)(**options_of(name), **options)
        if "max_depth" in estimator.get_params():
            deepest = 2 if name == "ContinuousTreeRegressor" else 3
            estimator.set_params(max_depth=deepest)
        if "time_limit" in estimator.get_params():
            estimator.set_params(time_limit=TIME_LIMIT)
        if name.endswith("Classifier"):
            for n_classes in (2, 3) if options.get("objective") != "f1" else (2,):
                X, y = small_problem("classifier", n_classes)
                estimator.fit(X, y).predict(X)
            if name == "MurTreeClassifier" and not options:       # by kernels of their own
                estimator.set_params(time_limit=None)             # a busy computer may need more
                estimator.good_trees(X, y, tolerance=0)
                estimator.pareto_front(X, y % 2)
            if not options:                # an objective that counts errors takes whole weights
                estimator.fit(X, y, sample_weight=np.linspace(1, 2, len(y)))
        else:
            several = "Constrained" in name or "Projected" in name
            X, y = small_problem("constrained" if several else "regressor")
            estimator.fit(X, y).predict(X)
    except Exception as error:  # see the docstring of the module
        return f"{what}: not compiled ahead ({type(error).__name__}: {str(error)[:100]})", True
    return f"{what}: {time.process_time() - started:.1f} CPU s", False


def fit_all(jobs: list[tuple[str, dict]]) -> bool:
    """Fit one estimator after the other, and print a line for each; return whether one failed."""
    failures = False
    for job in jobs:
        line, failed = fit(*job)
        print(line, flush=True)
        failures |= failed
    return failures


def lanes(jobs: list[tuple[str, dict]]) -> list[list[tuple[str, dict]]]:
    """Divide fits such that those of different lanes call different kernels."""
    found = {}
    for job in jobs:
        package = class_of(job[0]).__module__.split(".")[1]
        lane = package if package in ("murtree", "constrained") else "other"
        found.setdefault(lane, []).append(job)
    return sorted(found.values(), key=len, reverse=True)


def add_parser(commands) -> None:
    """Add ``compile`` to the subcommands of ``odt``."""
    parser = commands.add_parser("compile", help="compile all kernels ahead, once per installation")
    parser.set_defaults(command=compile_command)
    parser.add_argument("names", nargs="*", metavar="ESTIMATOR",
                        help="only what these estimators need (default: all)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N",
                        help="processes that compile at a time (default: 1)")


def compile_command(options) -> int:
    """Compile, with a line per estimator; exit status 1 if one could not be fitted."""
    if options.jobs < 1:
        raise ValueError(f"--jobs {options.jobs} is not a number of processes; use 1 or more.")
    jobs = [job for job in estimators() if not options.names or job[0] in options.names]
    if unknown := set(options.names) - {name for name, _ in jobs}:
        raise ValueError(f"there is no estimator {unknown.pop()!r}; the names are "
                         f"{', '.join(dict(estimators()))}.")
    print("Compiling the kernels of all estimators takes about two CPU minutes.", flush=True)
    workers = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, mp_context=workers, initializer=end_with,
                             initargs=(os.getpid(),)) as pool:
        try:
            # the first fit alone: it compiles what all estimators predict with
            failed = started(pool.submit, fit_all, jobs[:1]).result()
            return int(any([failed, *started(pool.map, fit_all, lanes(jobs[1:]))]))
        except KeyboardInterrupt:
            for process in multiprocessing.active_children():
                process.terminate()
            raise


def started(submit, *work):
    """Submit work to processes that do not hear Ctrl-C; one that imports would print where."""
    heard = {signal.SIGINT} if hasattr(signal, "pthread_sigmask") else None     # not on Windows
    if heard:
        signal.pthread_sigmask(signal.SIG_BLOCK, heard)
    try:
        return submit(*work)
    finally:
        if heard:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, heard)
