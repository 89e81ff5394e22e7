"""Seeds are tried within one test, more of them on the larger scale; sets; a clock; a process."""

import inspect
import os

import numpy as np
import pytest
from interrupt import Child
from scale import SCALE

from odtbook.datasets import load
from odtbook.lifetime import end_with
from odtlib.report import Clock

if "PYTEST_XDIST_WORKER" in os.environ:
    end_with(os.getppid())


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc):
    """Let ``parametrize("seed", range(n))`` be one test of SCALE times n seeds.

    Thousands of tests of a millisecond would take longer to report than to run.  A test that also
    takes a fixture, which a new seed may need anew, remains one for each seed.
    """
    marks = metafunc.definition.own_markers
    given = {name.strip() for mark in marks if mark.name == "parametrize"
             for name in (mark.args[0].split(",") if isinstance(mark.args[0], str)
                          else mark.args[0])}
    in_one = inspect.signature(metafunc.function).parameters.keys() <= given
    for place, mark in enumerate(marks):
        if mark.name == "parametrize" and mark.args[0] == "seed" and \
                isinstance(mark.args[1], range):
            seeds = mark.args[1]
            seeds = range(seeds.start, seeds.start + SCALE * len(seeds) * seeds.step, seeds.step)
            several = pytest.param(seeds, id=f"{len(seeds)} seeds")
            marks[place] = pytest.mark.parametrize("seed", [several] if in_one else seeds).mark


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Call a test of several seeds for each of them; a failure names the seed."""
    seeds = pyfuncitem.funcargs.get("seed")
    if not isinstance(seeds, range):
        return None
    others = {name: pyfuncitem.funcargs[name]
              for name in inspect.signature(pyfuncitem.obj).parameters if name != "seed"}
    for seed in seeds:
        try:
            pyfuncitem.obj(seed=seed, **others)
        except Exception as error:
            error.add_note(f"with seed = {seed}")
            raise
    return True


@pytest.fixture
def time_left(monkeypatch):
    """Let deep searches over all thresholds give way at once; clocks go on until ``[0]`` is 0."""
    left = [1e5]
    monkeypatch.setattr(Clock, "remaining", property(
        lambda self: np.inf if self.time_limit is None else min(left[0], self.time_limit * 1e9)))
    for module in ("solver", "regressor"):
        monkeypatch.setattr(f"odtlib.continuous.{module}.TURN", 0.0)
    monkeypatch.setattr("odtlib.continuous.classifier.LOCAL", 0.0)
    return left


@pytest.fixture
def load_unshipped():
    """Load a set whose licence does not let us ship it; skip the test where there is none."""

    def load_or_skip(name):
        try:
            return load(name, download=False)
        except FileNotFoundError:
            pytest.skip(f"the licence of {name} is not stated, and no file of it is here")

    return load_or_skip


@pytest.fixture(scope="module")
def child():
    """A process for the scripts of a module's tests."""
    process = Child()
    yield process
    process.end()
