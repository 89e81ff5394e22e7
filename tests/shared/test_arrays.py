"""Distinct rows, against NumPy's own answer, and arrays in whole cache lines."""

import numpy as np
import pytest

from odtlib.arrays import aligned, distinct_rows


@pytest.mark.parametrize("kind", [np.bool_, np.uint8, np.int64, np.uint64, np.float64])
def test_distinct_rows_are_those_of_numpy(kind):
    random = np.random.default_rng(0)
    for _ in range(200):
        table = random.integers(0, 3, (random.integers(0, 30), random.integers(1, 5)))
        table = np.where(table == 2, np.inf, -table) if kind is np.float64 else table.astype(kind)
        expected = np.unique(table, axis=0, return_index=True, return_inverse=True)
        for one, other in zip(distinct_rows(table), expected, strict=True):
            np.testing.assert_array_equal(one, other.reshape(one.shape))
        assert distinct_rows(table)[0].dtype == table.dtype


def test_rows_without_columns_are_equal():
    rows, first, which = distinct_rows(np.zeros((4, 0)))
    assert rows.shape == (1, 0) and first.tolist() == [0] and which.tolist() == [0] * 4


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int64])
def test_aligned_arrays_fill_whole_cache_lines(kind):
    for n_bytes in (1, 63, 64, 65, 1000):
        array = aligned(n_bytes, kind)
        assert array.dtype == kind and not array.any()
        assert array.ctypes.data % 64 == 0 and array.nbytes % 64 == 0
        assert n_bytes <= array.nbytes < n_bytes + 64
