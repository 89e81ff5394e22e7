"""Kernels compiled the short way: against Python, with every kind of index, range and operator."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numba import njit

from odtlib._numba.compiler import INNER, OPTIONS

KERNEL = {**OPTIONS, "cache": False}


def read_and_write(one, two, three, small, unsigned):
    total = 0.0
    for i in range(len(one)):
        one[i] += i
        for j in range(two.shape[1]):
            two[i, j] = two[i, j] + one[i] * j
            three[i, j, 1] -= two[i, j]
            total += three[i, j, 0] + three[i][j][2] + two[(i, j)]
    total += one[small] + two[small, unsigned] + three[unsigned, small, small]
    one[unsigned], two[unsigned, 0] = total, 7
    return total


def views(one, two, three, small, unsigned):
    row, block, line = two[small], three[unsigned], three[small, unsigned]
    row[1] = -3.0
    block[0, 1], line[2] = 4.0, 5.0
    part = line[1:3]
    part[0] = row.sum() + block.size + line.shape[0] + len(two) + block.shape[1]
    two[unsigned, :] = row[1]
    one[1:], one[-1], block[0, -1] = line[0], two[-1, 1] + three[-1][0, -2], 9.0
    return part[0] + block[1][1] + two.T[1, 0] + one[::2][1]


def ranges(one, two, three, small, unsigned):
    total, last = 0, -1
    for step in (-3, -2, -1, 1, 2, 3):
        for start in range(-2, 3):
            for stop in range(-4, 5):
                for k in range(start, stop, step):
                    total = 31 * total % 10_007 + k * step + 5
                    last = k
                    k += 100                                  # does not disturb the loop
                total += len(range(start, stop, step))
    for k in range(unsigned):
        total += k
    for k in range(small, 10):
        if k == 4:
            continue
        if k > 7:
            break
        total += k * k
    else:
        total = -1
    for _ in range(small, small):
        last = 1_000
    return total * 1_000 + last


def operators(one, two, three, small, unsigned):
    whole, real, total = np.int64(small) - 9, one[1], 0.0
    for divisor in (-3, -1, 2, 5):
        total += whole // divisor + whole % divisor + real // divisor + real % divisor
        total += whole / divisor + (whole << 2) + (whole >> 1) + (whole & divisor)
        total += (whole | divisor) + (whole ^ divisor) + divisor ** 2 + real ** 3
        total += 2 ** (divisor + 3)
        if whole < divisor or not real >= divisor and divisor != 2:
            total -= abs(min(whole, divisor)) + max(real, divisor)
    whole += 3
    whole *= -2
    whole -= 1
    whole //= 4
    return total + whole + ~whole + -real + (unsigned + 1) * (not whole == 3)


def narrow(flags, counts, levels):
    found = np.uint8(250) + np.int64(0)
    for i in range(flags.shape[0]):
        flags[i, 0] = not flags[i, 0]
        found += flags[i, 0] and flags[i, 1]
        if i > 1:
            late = i * 2                                      # not defined on every way
            found += late
        levels[np.int8(i)] = counts[i] - 4.75
    counts[1] = 3.9
    return found + counts[1] + counts[np.int8(2)]


def arguments(seed):
    rng = np.random.default_rng(seed)
    return [rng.integers(-9, 9, 4).astype(float), rng.normal(size=(4, 3)),
            rng.integers(-9, 9, (4, 3, 3)).astype(float), np.int32(rng.integers(0, 3)),
            np.uint64(rng.integers(0, 3))]


@pytest.mark.parametrize("function", [read_and_write, views, ranges, operators])
@pytest.mark.parametrize("layout", ["contiguous", "strided"])
def test_a_kernel_does_what_python_does(function, layout):
    kernel = njit(**KERNEL)(function)
    for seed in range(20):
        ours = arguments(seed)
        if layout == "strided":
            ours[:3] = [np.repeat(array, 2, axis=-1)[..., ::2] for array in ours[:3]]
        theirs = [array.copy() for array in ours]
        theirs[3:] = int(theirs[3]), int(theirs[4])
        assert kernel(*ours) == pytest.approx(function(*theirs), rel=1e-12)
        for a, b in zip(ours[:3], theirs, strict=False):
            np.testing.assert_allclose(a, b, rtol=1e-12)


def test_narrow_numbers_and_variables_that_come_and_go():
    kernel = njit(**KERNEL)(narrow)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        ours = [rng.random((4, 2)) < 0.5, rng.integers(-9, 9, 4).astype(np.int16),
                np.zeros(4, np.int8)]
        theirs = [array.copy() for array in ours]
        assert kernel(*ours) == narrow(*theirs)
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_function_within_kernels_gets_no_machine_code_of_its_own():
    @njit(**INNER)
    def inner(array, k):
        array[k] += 1
        return array[k]

    @njit(**KERNEL)
    def outer(array):
        return inner(array, 0) + inner(array, 1)

    assert outer(np.zeros(2)) == 2
    for kernel, has_code in ((inner, False), (outer, True)):
        for compiled in kernel.overloads.values():
            assert compiled.library._is_machine_code == has_code


MODULE = """
import numpy as np
from numba import njit
{change}
from odtlib._numba.compiler import INNER, OPTIONS

@njit(**INNER)
def inner(array, k):
    return array[k] * 2

@njit(**OPTIONS)
def outer(array):
    return inner(array, 0) + inner(array, 1)

if __name__ == "__main__":
    import mine
    print(mine.outer(np.array([3.0, 4.0])), sum(mine.outer.stats.cache_hits.values()),
          OPTIONS["pipeline_class"].__name__)
"""


def run(folder, change=""):
    (folder / "mine.py").write_text(MODULE.format(change=change))
    os.utime(folder / "mine.py", (10 ** 9, 10 ** 9))
    return subprocess.run([sys.executable, "mine.py"], cwd=folder, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path),
                               "NUMBA_CACHE_DIR": str(folder / "cache")}, check=True).stdout.split()


def test_kernels_come_back_from_the_cache_on_disk(tmp_path):
    assert run(tmp_path) == ["14.0", "0", "KernelCompiler"]
    assert run(tmp_path) == ["14.0", "1", "KernelCompiler"]


def test_a_numba_that_was_not_tested_compiles_as_usual(tmp_path):
    change = ("import numba; numba.version_info = numba.version_info._replace(short=(9, 9))\n"
              "import sys; sys.modules['odtlib._numba.lowering'] = None")       # cannot be imported
    assert run(tmp_path, change) == ["14.0", "0", "Compiler"]
