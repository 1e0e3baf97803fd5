"""coordinates_to_csr against SciPy and by hand."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from finchsched.errors import DtypeError, FormatError
from finchsched.io import coordinates_to_csr


def _lists(shape: tuple[int, int], row: Any, col: Any, values: Any) -> tuple[list[int], list[int], list[Any]]:
    pos, crd, val = coordinates_to_csr(shape, np.array(row, dtype=np.int64), np.array(col, dtype=np.int64), values)
    return pos.tolist(), crd.tolist(), val.tolist()


def test_sorts_rows_and_columns_and_keeps_explicit_zeros() -> None:
    result = _lists((4, 9), [3, 0, 3, 0], [1, 8, 0, 2], np.array([1.0, 2.0, 0.0, 4.0]))
    assert result == ([0, 2, 2, 2, 4], [2, 8, 0, 1], [4.0, 2.0, 0.0, 1.0])


@pytest.mark.parametrize(
    "values, summed",
    [
        (np.array([1.5, 2.0, 4.0]), 5.5),
        (np.array([1j, 2.0, 4.0]), 4 + 1j),
        (np.array([2**62, 0, 2**62 - 1]), 2**63 - 1),
        (np.array([100, 0, 100], dtype=np.int8), -56),
        (np.array([2**63, 0, 5], dtype=np.uint64), 2**63 + 5),
        (np.array([True, False, True]), True),
        (np.array([False, True, False]), False),
    ],
)
def test_repeated_coordinates_are_summed_in_their_own_dtype(values: np.ndarray[Any, Any], summed: Any) -> None:
    pos, crd, val = coordinates_to_csr((2, 2), np.array([1, 0, 1]), np.array([0, 1, 0]), values)
    assert (pos.tolist(), crd.tolist(), val.tolist()) == ([0, 1, 2], [1, 0], [values[1].item(), summed])
    assert val.dtype == values.dtype


def test_a_sum_that_cancels_stays_stored() -> None:
    assert _lists((1, 1), [0, 0], [0, 0], np.array([2.0, -2.0])) == ([0, 1], [0], [0.0])


@given(st.integers(0, 6), st.integers(0, 6), st.data())
def test_agrees_with_scipy(rows: int, cols: int, data: st.DataObject) -> None:
    """Integer values, so that sums are exact in any order."""
    n = data.draw(st.integers(0, 30 if rows * cols else 0))
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    row, col = (random.integers(0, max(extent, 1), n) for extent in (rows, cols))
    values = random.integers(-9, 10, n)
    pos, crd, val = coordinates_to_csr((rows, cols), row, col, values)
    if n:
        csr = scipy.sparse.coo_array((values, (row, col)), shape=(rows, cols)).tocsr()
        csr.sort_indices()
        assert pos.tolist() == csr.indptr.tolist()
        assert crd.tolist() == csr.indices.tolist()
        assert val.tolist() == csr.data.tolist()
    else:
        assert (pos.tolist(), crd.size, val.size) == ([0] * (rows + 1), 0, 0)


@pytest.mark.parametrize("row, col", [([0, 0, 1], [0, 2, 1]), ([1, 0, 0], [1, 2, 0]), ([0, 0, 0], [1, 1, 2])])
def test_arguments_are_neither_changed_nor_shared(row: list[int], col: list[int]) -> None:
    """In order, out of order, and with a repetition; int32 is the dtype of the result, where sharing would be easy."""
    arrays = [np.array(row, dtype=np.int32), np.array(col, dtype=np.int32), np.array([1.0, 2.0, 3.0])]
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    results = coordinates_to_csr((2, 3), *arrays)
    for array, old in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, old)
        assert not any(np.shares_memory(array, result) for result in results)
    assert all(result.flags.writeable for result in results)


@pytest.mark.parametrize("cols, width", [(2**31 - 1, np.int32), (2**31, np.int64)])
def test_index_width(cols: int, width: type) -> None:
    pos, crd, _ = coordinates_to_csr((2, cols), np.array([1, 0]), np.array([cols - 1, 0]), np.ones(2))
    assert pos.dtype == crd.dtype == width
    assert crd.tolist() == [0, cols - 1]


@pytest.mark.parametrize("integer", [int, np.int64])
def test_keys_that_do_not_fit_int64_are_not_built(integer: type) -> None:
    """row * columns + column reaches 2**65 here; wrapped around it would order the rows wrongly."""
    shape = (integer(8), integer(2**62))
    assert _lists(shape, [5, 2, 7, 2], [3, 2**62 - 1, 0, 1], np.array([1, 2, 3, 4])) == (
        [0, 0, 0, 2, 2, 2, 3, 3, 4],
        [1, 2**62 - 1, 3, 0],
        [4, 2, 1, 3],
    )


def test_narrow_and_unsigned_indices() -> None:
    row, col = np.array([200, 255, 200], dtype=np.uint8), np.array([1, 0, 1], dtype=np.uint64)
    pos, crd, val = coordinates_to_csr((1000, 1000), row, col, np.array([1, 2, 3]))
    assert (pos[200], pos[201], pos[255], pos[256], pos[1000]) == (0, 1, 1, 2, 2)
    assert (crd.tolist(), val.tolist()) == ([1, 0], [4, 2])


def test_memory_does_not_grow_with_the_number_of_columns() -> None:
    tracemalloc.start()
    try:
        _lists((2, 10**12), [1, 0], [10**11, 5], np.ones(2))
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "shape, row, col, values, message",
    [
        ((2, 2), [0, 2], [0, 0], [1.0, 1.0], r"row\[1\] is 2; expected 0 <= row < 2"),
        ((2, 2), [0, 1], [0, -1], [1.0, 1.0], r"col\[1\] is -1; expected 0 <= col < 2"),
        ((2, 2), [0, 1], [0], [1.0, 1.0], r"shapes \(2,\), \(1,\) and \(2,\); expected one length"),
        ((2, 2), [[0]], [[0]], [[1.0]], r"shapes \(1, 1\), .*; expected one length"),
        ((2, -1), [], [], [], r"shape is \(2, -1\); expected sizes from 0"),
        ((2, 2**63), [], [], [], r"expected sizes from 0 to 9223372036854775807"),
    ],
)
def test_bad_coordinates_are_refused(shape: tuple[int, int], row: Any, col: Any, values: Any, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        coordinates_to_csr(shape, np.array(row, dtype=np.int64), np.array(col, dtype=np.int64), np.array(values))


def test_bad_dtypes_are_refused() -> None:
    one = np.array([0])
    with pytest.raises(DtypeError, match=r"row and col have dtypes float64 and int64; expected integers"):
        coordinates_to_csr((1, 1), np.array([0.0]), one, one)
    with pytest.raises(DtypeError, match=r"values have dtype object; expected bool or a number"):
        coordinates_to_csr((1, 1), one, one, np.array([None]))
