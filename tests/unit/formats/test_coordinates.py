"""Fiber tensors from and to coordinates, against the slow dense conversions."""

import itertools
import tracemalloc

import numpy as np
import pytest

from finchsched.algebra.dtypes import INT32, INT64
from finchsched.errors import DensifyError, FormatError
from finchsched.formats.checks import check_tensor
from finchsched.formats.coordinates import coordinates_of, count_nonfill, from_coordinates, index_width, sort_order
from finchsched.formats.levels import Dense, SparseList
from finchsched.formats.levels.sparse_coo import coo_levels
from finchsched.formats.numpy_convert import to_dense
from finchsched.settings import config
from strategies import nest

SHAPES = [(), (5,), (0,), (4, 3), (3, 0), (2, 3, 4)]


def nests(rank):
    return [nest("".join(letters)) for letters in itertools.product("dsc", repeat=rank)]


@pytest.mark.parametrize("fill", [0.0, 2.0, float("nan")])
@pytest.mark.parametrize("shape", SHAPES)
def test_any_nest_and_order_from_unsorted_repeated_coordinates(shape, fill):
    rng = np.random.default_rng(len(shape))
    stored = 9 if np.prod(shape) else 0
    at = [rng.integers(0, extent, stored) for extent in shape] if stored else [np.zeros(0, int)] * len(shape)
    val = rng.integers(1, 9, stored).astype(float)
    expected = np.zeros(shape)
    hit = np.zeros(shape, bool)
    for k, value in enumerate(val):
        expected[tuple(c[k] for c in at)] += value
        hit[tuple(c[k] for c in at)] = True
    expected[~hit] = fill
    for levels in nests(len(shape)):
        for perm in itertools.permutations(range(len(shape))):
            made = from_coordinates(at, val, shape, levels, perm, fill=fill)
            check_tensor(made)
            np.testing.assert_array_equal(to_dense(made), expected)
            again = np.full(shape, fill)
            again[coordinates_of(made)] = made.val if shape else made.val[0]
            np.testing.assert_array_equal(again, expected)


def test_arguments_are_neither_changed_nor_shared_for_writing():
    at, val = [np.array([2, 0, 2], np.int16)], np.array([1, 2, 3])
    made = from_coordinates(at, val, (3,), (SparseList(),), (0,), fill=0)
    assert made.val.tolist() == [2, 4]
    assert not made.val.flags.writeable
    assert at[0].tolist() == [2, 0, 2] and val.tolist() == [1, 2, 3] and val.flags.writeable


@pytest.mark.parametrize(
    "levels",
    [(Dense(), Dense()), (Dense(), SparseList()), (SparseList(), Dense()), (SparseList(), SparseList()), coo_levels(2)],
)
@pytest.mark.parametrize("writeable", [True, False])
def test_only_read_only_arguments_are_shared(levels, writeable):
    """The entries are in order, of the types of the buffers, and all of a matrix: none of them needs to be moved."""
    arguments = [np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.arange(4.0)]
    for array in arguments:
        array.setflags(write=writeable)
    made = from_coordinates(arguments[:2], arguments[2], (2, 2), levels, (0, 1), fill=0.0)
    buffers = [buffer for buffer in (*made.pos, *made.crd, made.val) if buffer is not None]
    assert not any(buffer.flags.writeable for buffer in buffers)
    assert all(array.flags.writeable == writeable for array in arguments)
    shared = any(np.shares_memory(buffer, array) for buffer in buffers for array in arguments)
    assert shared == (not writeable)
    check_tensor(made)


@pytest.mark.parametrize(
    "values, added",
    [
        (np.array([1.5, 2.0, 4.0]), 5.5),
        (np.array([1j, 2.0, 4.0]), 4 + 1j),
        (np.array([2.0, 1.0, -2.0]), 0.0),
        (np.array([2**62, 0, 2**62 - 1]), 2**63 - 1),
        (np.array([100, 0, 100], np.int8), -56),
        (np.array([2**63, 0, 5], np.uint64), 2**63 + 5),
        (np.array([True, False, True]), True),
        (np.array([False, True, False]), False),
    ],
)
def test_repeated_coordinates_are_added_up_in_their_own_type(values, added):
    at = [np.array([1, 0, 1]), np.array([0, 1, 0])]
    made = from_coordinates(at, values, (2, 2), (Dense(), SparseList()), (0, 1), fill=values.dtype.type(0).item())
    assert (made.crd[1].tolist(), made.val.tolist()) == ([1, 0], [values[1].item(), added])
    assert made.val.dtype == values.dtype


def test_memory_does_not_grow_with_the_extents():
    at = [np.array([1, 0]), np.array([10**11, 5])]
    tracemalloc.start()
    try:
        from_coordinates(at, np.ones(2), (2, 10**12), (Dense(), SparseList()), (0, 1), fill=0.0)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_narrow_and_unsigned_indices():
    at = [np.array([200, 255, 200], np.uint8), np.array([1, 0, 1], np.uint64)]
    made = from_coordinates(at, np.array([1, 2, 3]), (1000, 1000), (SparseList(), SparseList()), (0, 1), fill=0)
    assert (made.crd[0].tolist(), made.crd[1].tolist(), made.val.tolist()) == ([200, 255], [1, 0], [4, 2])


def test_keys_that_overflow_one_number_are_sorted_all_the_same():
    wide = 1 << 40
    at = [np.array([wide - 1, 0, 7]), np.array([3, wide - 1, 0])]
    made = from_coordinates(at, np.arange(3), (wide, wide), (SparseList(), SparseList()), (0, 1), fill=0)
    assert [c.tolist() for c in coordinates_of(made)] == [[0, 7, wide - 1], [wide - 1, 0, 3]]
    assert made.val.tolist() == [1, 2, 0]


def test_refusals():
    far = [np.array([1 << 33])]
    with pytest.raises(FormatError, match="int64"):
        from_coordinates(far, np.ones(1), (1 << 40,), (SparseList(INT32, INT32),), (0,), fill=0.0)
    with config(densify=100), pytest.raises(DensifyError, match="limit 100"):
        from_coordinates(far, np.ones(1), (1 << 40,), (Dense(),), (0,), fill=0.0)


def test_index_width():
    assert index_width((3,), 5) == INT32
    assert index_width((3,), 1 << 31) == INT64
    assert index_width((), 1) == INT32


@pytest.mark.parametrize("fill, count", [(0.0, 3), (3.0, 1), (float("nan"), 3), (-0.0, 3), (9.0, 4)])
def test_entries_that_differ_from_the_fill(fill, count):
    values = np.array([3.0, 3.0, 1.0, fill])
    if fill == 9.0:
        values[3] = 8.0
    made = from_coordinates([np.arange(4)], values, (4,), (Dense(),), (0,), fill=fill)
    assert count_nonfill(made) == count


@pytest.mark.parametrize("extents", [(2,), (7, 2**16), (2**16, 2**17, 3), (2**31, 2**31), (2**40, 2**40), (3, 5, 2, 4)])
@pytest.mark.parametrize("ordered", ["not", "innermost", "outermost", "all", "backwards"])
def test_sort_order_is_that_of_tuples(extents, ordered):
    rng = np.random.default_rng(5)
    few = [rng.integers(0, extent, 20) for extent in extents]  # so that some entries are equal
    keys = [chosen[rng.integers(0, 20, 500)] for chosen in few]
    by = {"not": None, "innermost": np.argsort(keys[-1]), "all": np.lexsort(keys[::-1])}
    by["backwards"] = by["all"][::-1]
    by["outermost"] = np.argsort(keys[0])
    if by[ordered] is not None:
        keys = [key[by[ordered]] for key in keys]
    order = sort_order(keys, extents)
    assert (order is None) == (ordered == "all" or (ordered in ("innermost", "outermost") and len(extents) == 1))
    np.testing.assert_array_equal(np.arange(500) if order is None else order, np.lexsort(keys[::-1]))


def test_long_runs_of_one_row_are_sorted():
    """They are counted, not merged."""
    rng = np.random.default_rng(6)
    keys = [np.repeat([0, 3], 1500), rng.integers(0, 2**20, 3000)]
    np.testing.assert_array_equal(sort_order(keys, (4, 2**20)), np.lexsort(keys[::-1]))


def test_nothing_and_one_entry_are_in_order():
    assert sort_order([], ()) is None
    assert sort_order([np.array([3])], (5,)) is None
    assert sort_order([np.zeros(0, np.int64)] * 2, (0, 3)) is None
