"""Everything that a fit calls is compiled before its clock starts."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest

from odtlib import ConstrainedTreeRegressor
from odtlib._numba import warm
from odtlib.constrained import builder, sets

SCRIPT = """
import numpy as np
from odtlib import _tree_kernels, constrained as c
from odtlib.constrained import _growth, _lazy, _projections, sets
from odtbook.published import PaperTreeRegressor as paper, _medoid_kernels

def compiled():
    kernels = [kernel for module in (_growth, _lazy, _projections, _tree_kernels, _medoid_kernels)
               for kernel in vars(module).values() if hasattr(kernel, "signatures")]
    return {(kernel.py_func.__qualname__, str(one)) for kernel in kernels for one in
            kernel.signatures}

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(60, 3)), rng.normal(size=(60, 3))
weight = rng.uniform(1, 2, 60)
weight.setflags(write=False)
tree, optimal = c.ConstrainedTreeRegressor, c.OptimalConstrainedTreeRegressor
closed, pieces = sets.AtMostKNonzero(1, 0, 5), sets.Polyhedron([[1, 1, 1]], [1], lower=0)
keep = dict(on_infeasible_targets="keep", max_depth=2)
"""


MODELS = [
    """tree(**keep), tree(closed, split="exact", ccp_alpha=0.01, max_features=1, **keep),
       tree(closed, split="penalty", leaf="penalty", min_samples_split=np.int8(5), **keep),
       tree(sets.Simplex(1.0), split="exact", target_weights="standardize", **keep)""",
    """tree(pieces, split="exact", **keep), tree(pieces, split="penalty", leaf="penalty", **keep),
       tree(split="medoid", leaf="medoid", **keep),
       tree(pieces, split="exact", criterion="absolute_error", **keep),
       tree(closed, split="exact", criterion="absolute_error", **keep)""",
    """paper(split="euclidean-medoid", **keep),
       paper(split="euclidean-medoid", leaf="euclidean-medoid", max_features=1, **keep)""",
    "optimal(closed, **keep), optimal(closed, min_samples_leaf=np.int8(2), **keep)",
    "optimal(pieces, **keep), optimal(pieces, min_samples_leaf=np.int8(2), **keep)",
]

WATCH = """
def watch(models):
    seconds = []
    for model in models:
        solve = model._solve
        def watched(X, Y, sample_weight, solve=solve):
            before = compiled()
            solved = solve(X, Y, sample_weight)
            print(sorted(compiled() - before))
            return solved
        model._solve = watched
        for weights in (None, weight):
            seconds.append(model.fit(X, Y, weights).report_.compile_seconds)
    print(seconds[0] > 0.0, set(seconds[1:]))
"""


def in_processes_of_their_own(scripts, setup):
    """Run each script in a process that has fitted nothing before; return what each prints.

    Where the system has ``fork`` one process does the setup for all.
    """
    if hasattr(os, "fork"):
        calls = [f"""
if os.fork() == 0:
    exec({script!r})
    sys.stdout.flush()
    os._exit(0)
assert os.wait()[1] == 0
print("next", flush=True)
""" for script in scripts]
        programs = ["\n".join(["import os, sys", setup, *calls])]
    else:
        programs = [f"{setup}\n{script}\nprint('next')" for script in scripts]
    found = "".join(subprocess.run([sys.executable, "-c", program], capture_output=True,
                                   text=True, check=True).stdout for program in programs)
    return found.split("next\n")[:-1]


def test_no_kernel_is_compiled_after_the_clock_started():
    """In processes that have fitted nothing before; compiled kernels may be on disk."""
    found = in_processes_of_their_own([f"watch([{models}])" for models in MODELS], SCRIPT + WATCH)
    for models, text in zip(MODELS, found, strict=True):
        lines = text.splitlines()
        assert lines[-1] == "True {0.0}", models
        assert len(lines) > 1 and set(lines[:-1]) == {"[]"}, models


@pytest.mark.parametrize("options", [
    {"constraints": sets.AtMostKNonzero(1, 0, 5)},
    {"constraints": sets.Polyhedron([[1, 1, 1]], [1], lower=0), "split": "exact"},
])
def test_compiling_for_longer_than_the_time_limit_takes_nothing_from_it(options, monkeypatch):
    """By a clock that jumps a thousand seconds whenever the compilation calls kernels."""
    passed, clock, grow_small = 0.0, time.perf_counter, builder._grow_small

    def slow(*arguments):
        nonlocal passed
        passed += 1000.0
        return grow_small(*arguments)

    monkeypatch.setattr(builder, "_grow_small", slow)
    monkeypatch.setattr(time, "perf_counter", lambda: clock() + passed)
    monkeypatch.setattr(warm, "_warm", set())
    random = np.random.default_rng(0)
    X, Y = random.normal(size=(60, 3)), random.normal(size=(60, 3))
    first, second = (ConstrainedTreeRegressor(
        on_infeasible_targets="keep", max_depth=2, time_limit=500, **options).fit(X, Y)
        for _ in range(2))
    assert first.report_.compile_seconds >= 1000.0 and second.report_.compile_seconds == 0.0
    assert first.report_.status == second.report_.status == "heuristic"
    assert first.report_.seconds < 500.0
    assert first.tree_ == second.tree_ and first.tree_.depth == 2


@pytest.mark.slow
def test_a_first_fit_with_an_empty_cache_has_its_whole_time_limit(tmp_path):
    """It compiles for longer than the limit, and still grows the tree of the second fit."""
    script = SCRIPT + """
fitted = [tree(pieces, split="exact", time_limit=4, **keep).fit(X, Y) for _ in range(2)]
print([model.report_.status for model in fitted], fitted[0].tree_ == fitted[1].tree_,
      [model.report_.compile_seconds > 0 for model in fitted])
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                           check=True, env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)})
    assert found.stdout == "['heuristic', 'heuristic'] True [True, False]\n"
    assert "compiling constrained trees by lazy search" in found.stderr
