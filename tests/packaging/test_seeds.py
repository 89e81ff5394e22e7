"""What tests/conftest.py makes of ``parametrize("seed", range(n))``."""

from types import SimpleNamespace

import pytest
from scale import SCALE

from tests.conftest import pytest_pyfunc_call

TRIED = []


@pytest.mark.parametrize("other", "ab")
@pytest.mark.parametrize("seed", range(3))
def test_seeds_are_tried_in_one_test(seed, other):
    TRIED.append((other, seed))


@pytest.mark.parametrize("seed", range(3))
def test_a_fixture_is_made_for_each_seed(seed, tmp_path):
    TRIED.append((tmp_path.name, seed))


def test_every_seed_was_tried():
    seeds = range(3 * SCALE)
    assert TRIED[:2 * len(seeds)] == [(other, seed) for other in "ab" for seed in seeds]
    folders, found = zip(*TRIED[2 * len(seeds):], strict=True)
    assert found == tuple(seeds) and len(set(folders)) == len(seeds)


def test_a_failure_names_its_seed():
    item = SimpleNamespace(obj=lambda seed, shift: 1 / (seed - shift),
                           funcargs={"seed": range(4), "shift": 2, "unused": None})
    with pytest.raises(ZeroDivisionError) as failed:
        pytest_pyfunc_call(item)
    assert failed.value.__notes__ == ["with seed = 2"]
    assert pytest_pyfunc_call(SimpleNamespace(obj=None, funcargs={"seed": 4})) is None
