"""Compiling ahead: it reaches every kernel."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from odtbook.cli import main
from odtbook.compile_command import estimators, lanes
from odtbook.estimators import NAMES, class_of
from odtlib._numba import warm

SCRIPT = Path(__file__).parents[2] / "scripts" / "measure_compilation.py"


def test_seconds_of_a_method_leave_out_those_that_it_calls():
    script = runpy.run_path(str(SCRIPT))
    now, seconds = 0.0, {}

    def warm_up(method, kernel, run, variant):
        nonlocal now
        now += {"trees": 1.0, "the search": 4.0, "other": 0.2}[method]
        if run is not None:
            run()

    timed = script["recorded"](warm_up, lambda: now, seconds)
    timed("the search", None, lambda: timed("trees", None, None))
    timed("trees", None, None, variant=1)
    timed("other", None, None)
    assert seconds == pytest.approx({"trees": 1.0, "the search": 4.0, "other": 0.2})
    known = {"trees": 9, "the search": 9, "other": 9, "unknown": 7}
    assert eval(script["table"](seconds, known).removeprefix("SECONDS = ")) == {
        "trees": 1, "the search": 4, "other": 1, "unknown": 7}


@pytest.mark.parametrize(("name", "variants", "fits"), [
    ("CARTClassifier", [""], "M(max_depth=4).fit(X, y, sample_weight=X[:, 3]).predict(X)"),
    pytest.param("MurTreeClassifier", ["", " objective=f1", " search=paper"],
                 "M(max_depth=4).fit(X, y, sample_weight=X[:, 3]); M(objective='f1').fit(X, y)",
                 marks=pytest.mark.slow),
])
def test_after_it_no_first_fit_compiles_anything(name, variants, fits, tmp_path):
    """The compiled kernels are on disk, where the processes that come after find them."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path),
                   "PYTHONPATH": os.pathsep.join(sys.path)}

    def run(*command):
        return subprocess.run([sys.executable, *command], env=environment, check=True,
                              capture_output=True, text=True)

    lines = run("-m", "odtbook", "compile", name).stdout.splitlines()[1:]
    assert [re.sub(r": \d+\.\d CPU s$", "", line) for line in lines] == [
        name + variant for variant in variants]
    compiled = {path.name for path in tmp_path.rglob("*.nbc")}
    assert compiled
    script = (f"import numpy as np; from odtlib import {name} as M\n"
              "X = np.random.default_rng(1).integers(0, 9, (60, 4)) / 4; y = X[:, 0] > X[:, 1]\n")
    assert run("-c", script + fits).stderr == ""          # nothing announced
    assert {path.name for path in tmp_path.rglob("*.nbc")} == compiled


def test_fits_ask_for_no_kernel_that_it_left_out():
    """In one process: neither compiled nor read from disk, which needs no empty cache to be seen.

    The empty cache of the test above is filled with MurTree's kernels in `make test-all` only.
    """
    script = """
import numpy as np
from numba.core.caching import Cache
from odtbook.compile_command import estimators, fit
from odtlib import ConstrainedTreeRegressor as C, MurTreeClassifier as M
from odtlib.constrained.sets import Polyhedron

asked, load = [], Cache.load_overload

def recorded(self, signature, context):
    asked.append(f"{self.cache_path} {signature}")
    return load(self, signature, context)

Cache.load_overload = recorded
X = np.random.default_rng(1).integers(0, 9, (60, 4)) / 4
y = X[:, 0] > X[:, 1]
for name, options in estimators():
    if name in ("MurTreeClassifier", "ConstrainedTreeRegressor"):
        print(fit(name, options)[1])
print(len(asked) > 5)
asked.clear()
M(max_depth=4).fit(X, y, sample_weight=X[:, 3])
M(objective="f1").fit(X, y)
M(max_depth=2).good_trees(X, y, tolerance=1)
C(Polyhedron([[1, 1]], [1]), split="exact", on_infeasible_targets="keep").fit(X, X[:, :2])
print(asked)
"""
    answer = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True,
                            text=True)
    assert answer.stdout.splitlines() == ["False"] * 5 + ["True", "[]"]


@pytest.mark.slow
def test_two_processes_compile_nothing_twice(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_DEBUG_CACHE": "1"}
    run = subprocess.run([sys.executable, "-m", "odtbook", "compile", "--jobs", "2"],
                         env=environment, check=True, capture_output=True, text=True)
    saved = re.findall(r"data saved to '(.*)'", run.stdout)
    assert len(saved) > 100
    assert len(set(saved)) == len(saved)
    announced = re.findall(r"odtlib: compiling (.*) once", run.stderr)
    assert sorted(announced) == sorted(warm.SECONDS)


def test_fits_of_different_lanes_share_no_kernels():
    """MurTree and the constrained trees have kernels of their own; all others are in one lane."""
    divided = lanes(estimators())
    assert sorted(map(str, (job for lane in divided for job in lane))) == sorted(
        map(str, estimators()))
    homes = [{class_of(name).__module__.split(".")[1] for name, _ in lane} for lane in divided]
    assert len(homes) == 3 and {"murtree"} in homes and {"constrained"} in homes


def test_every_estimator_is_fitted():
    fitted = {name for name, _ in estimators()}
    assert fitted == set(NAMES)


@pytest.mark.parametrize(("arguments", "message"), [
    (["NoSuchTree"], "there is no estimator 'NoSuchTree'; the names are CARTClassifier,"),
    (["--jobs", "0"], "--jobs 0 is not a number of processes"),
])
def test_wrong_arguments_are_one_sentence(capsys, arguments, message):
    assert main(["compile", *arguments]) == 2
    assert message in capsys.readouterr().err
