"""A process for scripts; on the larger scale, tests over seeds take more of them, see scale.py."""

import pytest
from interrupt import Child
from scale import SCALE


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc):
    """Let ``parametrize("seed", range(n))`` be SCALE times as long."""
    if SCALE == 1:
        return
    for place, mark in enumerate(metafunc.definition.own_markers):
        if mark.name == "parametrize" and mark.args[0] == "seed" and \
                isinstance(mark.args[1], range):
            seeds = mark.args[1]
            longer = range(seeds.start, seeds.start + SCALE * len(seeds) * seeds.step, seeds.step)
            more = pytest.mark.parametrize("seed", longer, *mark.args[2:], **mark.kwargs)
            metafunc.definition.own_markers[place] = more.mark


@pytest.fixture(scope="module")
def child():
    """A process for the scripts of a module's tests."""
    process = Child()
    yield process
    process.end()
