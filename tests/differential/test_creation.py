"""Tensors from coordinates, compressed rows, constants and at random: values, formats, refusals."""

from typing import Any

import numpy as np
import pytest

import finchsched as fs
from finchsched.errors import DensifyError, DtypeError, FormatError, ShapeMismatchError
from finchsched.formats.checks import check_tensor

INDEX_TYPES = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]


@pytest.fixture(autouse=True)
def uncompiled() -> Any:
    with fs.config(backend="python"):
        yield


def check(tensor: fs.Tensor, expected: Any) -> None:
    check_tensor(tensor.data)
    expected = np.asarray(expected)
    assert (tensor.shape, tensor.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(tensor.to_numpy(), expected)


# ---------------------------------------------------------------------------------------------- coordinates


@pytest.mark.parametrize("shape", [(5,), (4, 3), (2, 3, 4), (2, 1, 3, 2)])
@pytest.mark.parametrize("format", [None, "coo", "csf", "dense"])
def test_unsorted_and_repeated_coordinates(shape: tuple[int, ...], format: str | None) -> None:
    rng = np.random.default_rng(len(shape))
    coords = np.stack([rng.integers(0, extent, 9) for extent in shape])
    data = rng.integers(1, 5, 9).astype(float)
    expected = np.zeros(shape)
    np.add.at(expected, tuple(coords), data)
    before = coords.copy(), data.copy()
    check(fs.from_coo(coords, data, shape, format=format), expected)
    check(fs.from_coo(tuple(coords), data, shape, format=format), expected)
    np.testing.assert_array_equal(coords, before[0])
    np.testing.assert_array_equal(data, before[1])


@pytest.mark.parametrize("dtype", INDEX_TYPES)
def test_coordinates_of_any_integer_type(dtype: Any) -> None:
    coords = np.array([[2, 0, 126], [1, 0, 1]], dtype)
    made = fs.from_coo(coords, [1.0, 2.0, 3.0], (127, 2))
    assert [made.to_numpy()[at] for at in ((2, 1), (0, 0), (126, 1))] == [1.0, 2.0, 3.0]
    assert made.nnz == 3
    with pytest.raises(FormatError, match=r"axis 0 must lie in 0 .. 125; found 126 at position 2"):
        fs.from_coo(coords, 1.0, (126, 2))


def test_no_coordinate_wraps_around() -> None:
    big = np.array([2**64 - 1], np.uint64)
    with pytest.raises(FormatError, match=f"found {2**64 - 1} at position 0"):
        fs.from_coo([big], [1.0], (2**63 - 1,))
    with pytest.raises(FormatError, match=r"axis 0 must lie in 0 .. 4; found -1"):
        fs.from_coo([np.array([-1], np.int8)], [1.0], (5,))
    with pytest.raises(FormatError, match=f"must fit int64; found {2**64 - 1}"):
        fs.from_csr([0, 1], big, [1.0], (1, 3))
    wide = fs.from_coo([np.array([2**40], np.uint64)], [1.0], (2**41,))
    assert wide.data.crd[0].tolist() == [2**40]  # type: ignore[union-attr]  # a sparse vector


@pytest.mark.parametrize(
    ("shape", "entries", "format"),
    [
        ((), 1, "dense"),
        ((2**40,), 1, "SparseList(Element)"),
        ((100, 100), 3, "csr"),
        ((2**30, 20), 3, "coo"),
        ((20, 2**40), 3, "csr"),
        ((3, 4, 5), 3, "coo"),
    ],
)
def test_the_default_format(shape: tuple[int, ...], entries: int, format: str) -> None:
    coords = np.zeros((len(shape), entries), int)
    assert fs.from_coo(coords, 1.0, shape).format == format


def test_shapes() -> None:
    assert fs.from_coo([[1, 3], [0, 2]], 1.0).shape == (4, 3)
    assert fs.from_coo([[1, 3]], 1.0, 4).shape == (4,)
    check(fs.from_coo(np.zeros((0, 1), int), [2.5], ()), 2.5)
    check(fs.from_coo(np.zeros((0, 2), int), [2.5, 1.0], ()), 3.5)
    check(fs.from_coo(np.zeros((2, 0), int), np.zeros(0), (5, 4), fill_value=5.0), np.full((5, 4), 5.0))
    check(fs.from_coo(np.zeros((2, 0)), np.zeros(0), (0, 4)), np.zeros((0, 4)))


def test_elements() -> None:
    check(fs.from_coo([[0, 0, 1]], [True, True, False], (3,)), [True, False, False])
    check(fs.from_coo([[0, 2, 0]], 3, (3,)), [6, 0, 3])
    check(fs.from_coo([[0]], np.ones(1, np.float32), (2,)), np.array([1, 0], np.float32))
    check(fs.from_coo([[1]], [2 + 1j], (3,), fill_value=1j), [1j, 2 + 1j, 1j])
    check(fs.from_coo([[1, 1]], np.array([200, 100], np.uint8), (2,)), np.array([0, 44], np.uint8))
    kept = fs.from_coo([[0, 1]], [0.0, 7.0], (3,), fill_value=7.0)
    assert (kept.nnz, kept.fill_value) == (2, 7.0)
    check(kept, [0.0, 7.0, 7.0])


def test_buffers_are_not_shared() -> None:
    coords, data = np.array([[0, 1, 2], [0, 1, 2]]), np.ones(3)
    for format in ("coo", "csr", "csf"):
        made = fs.from_coo(coords, data, (3, 3), format=format)
        for buffer in (*made.data.pos, *made.data.crd, made.data.val):
            if buffer is not None:
                assert not np.shares_memory(buffer, coords)
                assert not np.shares_memory(buffer, data)
                assert not buffer.flags.writeable
    assert data.flags.writeable


@pytest.mark.parametrize(
    ("coords", "data", "shape", "message"),
    [
        ([[0.5]], [1.0], (2,), "axis 0 must be integers; found float64"),
        ([[0], [1]], [1.0], (2,), r"coordinates on 2 axes do not fit the shape \(2,\)"),
        ([[0, 1], [1]], [1.0, 2.0], (2, 2), "found 1 coordinates on axis 1 and 2 values"),
        ([[0, 1]], [1.0], (2,), r"one value for each of the 2 entries; found shape \(1,\)"),
        ([[0]], [[1.0]], (2,), r"one value for each of the 1 entries; found shape \(1, 1\)"),
        ([0, 1], [1.0, 2.0], (2,), "axis 0 must be one-dimensional"),
        (3, [1.0], (2,), r"must have the shape \(axes, entries\)"),
        ([[0]], [1.0], (0,), "be absent, as the extent is 0"),
        (np.zeros((1, 0), int), np.zeros(0), None, "the shape of no entries is not known"),
    ],
)
def test_coordinates_that_are_refused(coords: Any, data: Any, shape: Any, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        fs.from_coo(coords, data, shape)


def test_other_refusals() -> None:
    with pytest.raises(ShapeMismatchError, match="must lie in"):
        fs.from_coo([[0]], [1.0], (-1,))
    with pytest.raises(ShapeMismatchError, match="made of integers"):
        fs.zeros((2.5,))
    with pytest.raises(DtypeError, match="object"):
        fs.from_coo([[0]], np.array([None]), (1,))
    with pytest.raises(DtypeError, match="fill_value must be a number"):
        fs.from_coo([[0]], [1.0], (1,), fill_value="x")  # type: ignore[arg-type]
    with pytest.raises(DtypeError, match=r"int64 cannot hold the fill 0\.5"):
        fs.from_coo([[0]], [1], (1,), fill_value=0.5)
    with pytest.raises(FormatError, match="is for 2 axes"):
        fs.from_coo([[0]], [1.0], (1,), format="csr")


# ---------------------------------------------------------------------------------------------- compressed


def test_compressed_rows_and_columns() -> None:
    indptr, indices, data = np.array([0, 2, 3]), np.array([0, 2, 1]), np.array([1.0, 2.0, 3.0])
    rows = fs.from_csr(indptr, indices, data, (2, 3))
    check(rows, [[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
    assert np.shares_memory(rows.data.val, data)
    check(fs.from_csc(indptr, indices, data, (3, 2)), rows.to_numpy().T)
    check(fs.from_csr([0, 3], [2, 0, 2], [1.0, 2.0, 4.0], (1, 3)), [[2.0, 0.0, 5.0]])
    check(fs.from_csr([0, 0], [], [], (1, 3)), np.zeros((1, 3)))
    read_only = [array.copy() for array in (indptr, indices, data)]
    for array in read_only:
        array.setflags(write=False)
    check(fs.from_csr(*read_only, (2, 3)), rows.to_numpy())
    with pytest.raises(FormatError, match=r"indices must lie in 0 .. 1; found 2"):
        fs.from_csr(indptr, indices, data, (2, 2))
    with pytest.raises(FormatError, match="csr is for 2 axes"):
        fs.from_csr(indptr, indices, data, (2,))


# ---------------------------------------------------------------------------------------------- constants


FORMATS = {0: ["dense"], 1: ["dense", "coo", "csf"], 2: ["dense", "csr", "csc", "coo"], 3: ["dense", "csf", "coo"]}


@pytest.mark.parametrize("shape", [(), (4,), (2, 3), (2, 0, 3)])
def test_constants(shape: tuple[int, ...]) -> None:
    for format in (None, *FORMATS[len(shape)]):
        check(fs.zeros(shape, format=format), np.zeros(shape))
        check(fs.empty(shape, np.int64, format=format), np.zeros(shape, np.int64))
        check(fs.ones(shape, np.float32, format=format), np.ones(shape, np.float32))
        check(fs.full(shape, 7, format=format), np.full(shape, 7))
        check(fs.full(shape, 2.5, format=format), np.full(shape, 2.5))
        made = fs.full(shape, True, format=format)
        check(made, np.full(shape, True))
        if format is not None:
            assert made.format == fs.zeros(shape, format=format).format


def test_constants_store_nothing_in_sparse_formats() -> None:
    for made in (fs.zeros((2**40, 5)), fs.ones((2**40, 5), format="coo"), fs.full((2**40,), 2, format="csf")):
        assert made.nnz == 0
        check_tensor(made.data)
    with pytest.raises(DensifyError, match="dense levels"):
        fs.ones((2**40, 5))
    with pytest.raises(FormatError, match="must be one number"):
        fs.full((2,), [1.0, 2.0])


def test_like() -> None:
    sparse = fs.random((4, 3), 0.5, rng=0, format="csc", dtype=np.float32)
    assert fs.zeros_like(sparse).format == fs.ones_like(sparse).format == "csc"
    check(fs.ones_like(sparse), np.ones((4, 3), np.float32))
    check(fs.zeros_like(sparse, np.int64), np.zeros((4, 3), np.int64))
    check(fs.full_like(np.zeros((2, 2)), 3), np.full((2, 2), 3.0))
    assert fs.full_like(sparse, 2, format="coo").format == "coo"
    check(fs.empty_like(sparse), np.zeros((4, 3), np.float32))


@pytest.mark.parametrize(
    ("n", "m", "k"), [(3, None, 0), (3, 5, 1), (5, 3, -2), (2, 2, 7), (0, 3, 0), (4, 2, 1), (3, 3, -3)]
)
def test_eye(n: int, m: int | None, k: int) -> None:
    check(fs.eye(n, m, k), np.eye(n, m, k))
    check(fs.eye(n, m, k, np.int64, format="coo"), np.eye(n, m, k, np.int64))


# ---------------------------------------------------------------------------------------------- random


@pytest.mark.parametrize("shape", [(), (100,), (30, 40), (5, 6, 7), (0, 4)])
@pytest.mark.parametrize("density", [0.0, 0.01, 0.3, 0.7, 1.0])
def test_random_counts(shape: tuple[int, ...], density: float) -> None:
    made = fs.random(shape, density, rng=1)
    check_tensor(made.data)
    size = int(np.prod(shape))
    assert shape == () or made.nnz == round(density * size)
    assert shape == () or np.count_nonzero(made.to_numpy()) == made.nnz
    again = fs.random(shape, density, rng=1)
    np.testing.assert_array_equal(made.to_numpy(), again.to_numpy())


def test_random_of_huge_shapes() -> None:
    for shape, density in (((2**40, 2**20), 2.0**-55), ((2**62, 2**62, 2**62), 2.0**-181)):
        made = fs.random(shape, density, rng=np.random.default_rng(3))
        check_tensor(made.data)
        assert made.nnz == 32


def test_random_elements() -> None:
    assert fs.random((9, 9), 0.5, rng=2, dtype=bool).to_numpy().sum() == round(81 * 0.5)
    integers = fs.random((9, 9), 0.5, rng=2, dtype=np.int64)
    assert integers.data.val.min() >= 1
    assert integers.data.val.max() <= 9
    values = fs.random((99, 99), 0.5, rng=2, dtype=np.float32).data.val
    assert 0 < values.min() < 0.1 < 0.9 < values.max() <= 1
    assert fs.random((9, 9), 0.5, rng=2, fill_value=1.0).fill_value == 1.0
    for density in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match=r"density must lie in 0 .. 1"):
            fs.random((2, 2), density)


def test_every_entry_is_equally_likely() -> None:
    rng = np.random.default_rng(5)
    for density in (0.1, 0.25, 0.6):
        hits = sum(fs.random((4, 5), density, rng=rng, format="coo").to_numpy() != 0 for _ in range(400))
        assert np.abs(hits / 400 - density).max() < 0.12
