"""The script that compiles ahead: what a change has made stale is compiled again."""

import os
import runpy
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "compile_kernels.py"


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(SCRIPT))


@pytest.fixture(scope="module")
def forget(script):
    return script["forget_stale_kernels"]


@pytest.mark.parametrize(("changed", "left"), [
    ("one/_callee.py", {"two"}),                 # its callers are in the same package
    ("_shared.py", set()),                       # everybody may call it
    ("one/door.py", {"one", "two"}),             # compiles nothing
    ("one/_caller.py", {"two"}),
    (None, {"one", "two"}),
])
def test_a_changed_source_makes_its_package_stale(forget, tmp_path, changed, left):
    for name in ("_shared.py", "one/_callee.py", "one/_caller.py", "two/_kernels.py"):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("from numba import njit\n")
        os.utime(file, (1000, 1000))
    (tmp_path / "one" / "door.py").write_text("import numpy\n")
    for package in ("one", "two"):
        index = tmp_path / package / "__pycache__" / "_caller.search-1.py311.nbi"
        index.parent.mkdir()
        index.write_bytes(b"")
        os.utime(index, (2000, 2000))
    if changed:
        os.utime(tmp_path / changed, (3000, 3000))
    assert forget(tmp_path) == 2 - len(left)
    assert {index.parent.parent.name for index in tmp_path.rglob("*.nbi")} == left


def test_seconds_of_a_method_leave_out_those_that_it_calls(script):
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
