"""What becomes a tensor, what is copied, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import finchsched.api as fs
from finchsched.algebra.dtypes import ELEMENT_DTYPES
from finchsched.errors import DtypeError, FileFormatError, FormatError, LazyValueError
from finchsched.formats.checks import check_tensor
from finchsched.formats.numpy_convert import to_dense

D = np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]])


def buffers(t: fs.Tensor) -> list[Any]:
    return [b for b in (*t.data.pos, *t.data.crd, t.data.val) if b is not None]


# ---------------------------------------------------------------------------------------------- SciPy


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.bool, np.int64, np.float32, np.float64])
def test_compressed_matrices_are_viewed(kind: Any, index: Any, dtype: Any) -> None:
    matrix = kind(D.astype(dtype))
    matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    t = fs.asarray(matrix)
    assert t.format == matrix.format
    assert (t.shape, t.dtype, t.nnz, t.fill_value) == ((2, 3), dtype, 3, 0)
    assert np.shares_memory(t.data.val, matrix.data)
    assert np.shares_memory(t.data.crd[1], matrix.indices)
    assert np.shares_memory(t.data.pos[1], matrix.indptr)
    np.testing.assert_array_equal(to_dense(t.data), D.astype(dtype))
    assert matrix.data.flags.writeable


@pytest.mark.parametrize("kind", [sp.coo_array, sp.lil_array, sp.dok_array, sp.bsr_array, sp.dia_array])
def test_other_matrices_become_csr(kind: Any) -> None:
    t = fs.asarray(kind(D))
    assert t.format == "csr"
    check_tensor(t.data)
    np.testing.assert_array_equal(to_dense(t.data), D)


def test_vectors() -> None:
    t = fs.asarray(sp.coo_array(np.array([0.0, 1.0, 0.0, 2.0])))
    assert (t.shape, t.nnz, t.format) == ((4,), 2, "SparseList(Element)")
    np.testing.assert_array_equal(to_dense(t.data), [0, 1, 0, 2])


@pytest.mark.parametrize("dtype", [np.bool, np.int64, np.float64])
def test_unsorted_rows_and_duplicates_are_put_right_in_a_copy(dtype: Any) -> None:
    data = np.array([1, 2, 3, 4]).astype(dtype)
    indices, indptr = np.array([2, 0, 1, 1], np.int32), np.array([0, 2, 4], np.int32)
    before = [x.copy() for x in (data, indices, indptr)]
    matrix = sp.csr_array((data, indices, indptr), shape=(2, 3))
    for array in (matrix.data, matrix.indices, matrix.indptr):
        array.setflags(write=False)
    t = fs.asarray(matrix)
    check_tensor(t.data)
    np.testing.assert_array_equal(to_dense(t.data), np.array([[2, 0, 1], [0, 7, 0]]).astype(dtype))
    assert t.nnz == 3
    for now, then in zip((data, indices, indptr), before, strict=True):
        np.testing.assert_array_equal(now, then)
    assert all(not buffer.flags.writeable for buffer in buffers(t))


@pytest.mark.parametrize("columns, width", [(2**31 - 1, np.int32), (2**31, np.int64)])
def test_unsorted_rows_get_the_narrowest_index_arrays_that_hold_them(columns: int, width: Any) -> None:
    parts = (np.array([1.0, 2.0]), np.array([columns - 1, 0], np.int64), np.array([0, 2, 2]))
    t = fs.asarray(sp.csr_array(parts, shape=(2, columns))).data
    assert all(buffer is None or buffer.dtype == width for buffer in (*t.pos, *t.crd))
    crd = t.crd[1]
    assert crd is not None and (crd.tolist(), t.val.tolist()) == ([0, columns - 1], [2, 1])


def test_unsorted_columns_of_a_csc() -> None:
    matrix = sp.csc_array((np.array([1.0, 2.0]), np.array([1, 0]), np.array([0, 2])), shape=(2, 1))
    np.testing.assert_array_equal(to_dense(fs.asarray(matrix).data), [[2], [1]])


def test_explicit_zeros_stay_stored() -> None:
    matrix = sp.csr_array((np.array([0.0, 2.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    assert fs.asarray(matrix).nnz == 2


def test_spare_room_is_cut_off() -> None:
    matrix = sp.csr_array((2, 2))
    matrix.data, matrix.indices, matrix.indptr = np.ones(5), np.zeros(5, np.int32), np.array([0, 1, 2], np.int32)
    assert fs.asarray(matrix).nnz == 2


def broken(**parts: Any) -> Any:
    matrix = sp.csr_array(D)
    for name, value in parts.items():
        setattr(matrix, name, np.array(value, getattr(matrix, name).dtype))
    return matrix


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"indices": [1, 0, 3]}, "indices must lie in 0 .. 2; found 3 at position 2"),
        ({"indices": [1, -1, 2]}, "found -1 at position 1"),
        ({"indptr": [0, 3, 1]}, "indptr must not decrease; found 3, 1 at 1"),
        ({"indptr": [0, 1, 9]}, "indptr promises 9 entries; found 3 indices"),
        ({"indptr": [1, 1, 3]}, "the first 0"),
        ({"indptr": [0, 3]}, "must have 3 entries"),
        ({"data": [1.0]}, "1 values"),
    ],
)
def test_broken_matrices_are_refused(parts: Any, message: str) -> None:
    with pytest.raises(FormatError, match=re.escape(message)):
        fs.asarray(broken(**parts))


@given(
    st.integers(1, 4),
    st.integers(1, 4),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(-3, 3)), max_size=12),
    st.sampled_from(["csr", "csc"]),
)
def test_any_entries_in_any_order(rows: int, cols: int, entries: list[tuple[int, int, int]], kind: str) -> None:
    entries = [(r % rows, c % cols, v) for r, c, v in entries]
    major, minor, extent = (0, 1, rows) if kind == "csr" else (1, 0, cols)
    order = sorted(range(len(entries)), key=lambda n: entries[n][major])
    indptr = np.searchsorted([entries[n][major] for n in order], np.arange(extent + 1))
    parts = (np.array([float(entries[n][2]) for n in order]), np.array([entries[n][minor] for n in order], int), indptr)
    t = fs.asarray((sp.csr_array if kind == "csr" else sp.csc_array)(parts, shape=(rows, cols)))
    check_tensor(t.data)
    expected = np.zeros((rows, cols))
    for r, c, v in entries:
        expected[r, c] += v
    np.testing.assert_array_equal(to_dense(t.data), expected)
    assert t.nnz == len({(r, c) for r, c, _ in entries})


# ---------------------------------------------------------------------------------------------- NumPy


@given(
    hnp.arrays(
        st.sampled_from([np.bool, np.int64, np.float32, np.float64, np.dtype(">f8"), np.dtype(">i8")]),
        hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3),
    ),
    st.randoms(use_true_random=False),
)
def test_arrays_of_any_layout(array: np.ndarray[Any, Any], random: Any) -> None:
    axes = list(range(array.ndim))
    random.shuffle(axes)
    view = array.transpose(axes)[(slice(None, None, random.choice([1, -1, 2])),) * array.ndim + (...,)]
    t = fs.asarray(view)
    assert t.dtype == view.dtype.newbyteorder("=")
    np.testing.assert_array_equal(t.to_numpy(), view)
    contiguous = view.flags.c_contiguous and view.dtype.isnative and view.size
    assert np.shares_memory(t.data.val, view) == bool(contiguous)


def test_copies() -> None:
    array = np.arange(3.0)
    assert np.shares_memory(fs.asarray(array).data.val, array)
    copied = fs.asarray(array, copy=True)
    assert not np.shares_memory(copied.data.val, array)
    assert not copied.data.val.flags.writeable
    assert array.flags.writeable
    matrix = sp.csr_array(D)
    assert not np.shares_memory(fs.asarray(matrix, copy=True).data.val, matrix.data)
    assert not np.shares_memory(fs.asarray(copied, copy=True).data.val, copied.data.val)
    assert fs.asarray(copied) is copied


def test_strided_arrays_are_copied_and_read_only() -> None:
    t = fs.asarray(np.arange(6.0).reshape(2, 3).T)
    assert not t.data.val.flags.writeable
    assert t.data.type.perm == (0, 1)


def test_matrix_subclass() -> None:
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.matrix([[1.0, 2.0]])
    assert type(fs.asarray(matrix).data.val) is np.ndarray


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(2, np.int64), (2.5, np.float64), (True, np.bool), (np.float32(2), np.float32), (np.int64(2), np.int64)],
)
def test_scalars(value: Any, dtype: Any) -> None:
    t = fs.asarray(value)
    assert (t.shape, t.dtype, t.item()) == ((), dtype, value)


def test_lists() -> None:
    assert fs.asarray([[1, 2], [3, 4]]).dtype == np.int64
    assert fs.asarray([1, 2.5]).dtype == np.float64
    assert fs.asarray([]).shape == (0,)
    assert fs.asarray((True, False)).dtype == np.bool


@pytest.mark.parametrize(
    ("ragged", "message"),
    [
        ([[1, 2], [3]], "found a ragged list ([0] has 2 items, [1] has 1 item)"),
        ([[1], 2], "[0] has 1 item, [1] has no items, it is a number"),
        ([[[1], [2]], [[3], [4, 5]]], "[1][0] has 1 item, [1][1] has 2 items"),
    ],
)
def test_ragged_lists(ragged: Any, message: str) -> None:
    with pytest.raises(FormatError, match=re.escape(message)):
        fs.asarray(ragged)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.ones(2, np.clongdouble), "element type complex256 is not supported"),
        (np.ones(2, np.float16), "element type float16 is not supported"),
        (np.array(["a"]), "element type <U1 is not supported"),
        (np.array([object()]), "element type object is not supported"),
        (np.zeros(2, "M8[s]"), "is not supported"),
        (sp.csr_array(D.astype(np.longdouble)), "element type float128 is not supported"),
        (["a", "b"], "found a list of str objects"),
        ([None], "found a list of NoneType objects"),
        ([2**64, 1], "int"),
        (2**65, "does not fit int64"),
        ("abc", "cannot make a tensor of a str"),
        (None, "cannot make a tensor of a NoneType"),
        ({}, "cannot make a tensor of a dict"),
    ],
)
def test_refused_elements(value: Any, message: str) -> None:
    with pytest.raises(DtypeError, match=re.escape(message)):
        fs.asarray(value)


def test_refused_objects() -> None:
    with pytest.raises(FormatError, match="masked arrays"):
        fs.asarray(np.ma.masked_array([1.0], [True]))
    with pytest.raises(LazyValueError, match="has not been computed"):
        fs.asarray(fs.lazy([1]))


# ---------------------------------------------------------------------------------------------- fills


@pytest.mark.parametrize("fill", [0, 0.0, np.inf, -np.inf, np.float64(np.inf)])
def test_fill_values(fill: Any) -> None:
    t = fs.asarray(sp.csr_array(D), fill_value=fill)
    assert t.fill_value == fill
    assert type(t.fill_value) is float
    np.testing.assert_array_equal(to_dense(t.data), np.where(D == 0, fill, D))
    assert fs.asarray(fs.asarray(sp.csr_array(D)), fill_value=fill).fill_value == fill


@pytest.mark.parametrize(
    ("dtype", "fill"),
    [
        ("float64", 1),
        ("float64", -1),
        ("float64", 2.5),
        ("float64", -0.0),
        ("float64", np.nan),
        ("float32", -np.inf),
        ("bool", True),
        ("int8", -128),
        ("uint64", 2**64 - 1),
        ("int64", np.float64(3.0)),
        ("complex64", 1 + 2j),
        ("complex128", complex(0.0, np.inf)),
        ("complex128", 1),
    ],
)
def test_any_fill(dtype: str, fill: Any) -> None:
    t = fs.asarray(sp.csr_array(D.astype(dtype)), fill_value=fill)
    assert type(t.fill_value) is type(np.dtype(dtype).type(0).item())
    np.testing.assert_equal(np.dtype(dtype).type(t.fill_value), np.dtype(dtype).type(fill))
    np.testing.assert_array_equal(t.to_numpy(), np.where(D == 0, np.dtype(dtype).type(fill), D.astype(dtype)))


@pytest.mark.parametrize(
    ("dtype", "fill"),
    [
        ("bool", 2),
        ("int8", 128),
        ("int8", 1.5),
        ("uint8", -1),
        ("uint64", 2**64),
        ("int64", np.nan),
        ("float32", 1e300),
        ("float64", 1j),
        ("complex64", 1e300),
        ("float64", 10**400),
    ],
)
def test_fills_that_do_not_fit(dtype: str, fill: Any) -> None:
    with pytest.raises(DtypeError, match=f"{dtype} cannot hold the fill"):
        fs.asarray(sp.csr_array(D.astype(dtype)), fill_value=fill)


@pytest.mark.parametrize("dtype", [d.name for d in ELEMENT_DTYPES])
def test_every_element_type(dtype: str) -> None:
    for x in (D.astype(dtype), sp.csr_array(D.astype(dtype)), sp.csc_array(D.astype(dtype)), np.dtype(dtype).type(1)):
        t = fs.asarray(x)
        assert t.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(t.to_numpy(), x.toarray() if sp.issparse(x) else x)
    back = fs.asarray(sp.csr_array(D.astype(dtype))).to_scipy()
    assert back.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(back.toarray(), D.astype(dtype))


def test_a_fill_must_fit_the_element_type() -> None:
    with pytest.raises(DtypeError, match="int64 cannot hold the fill inf"):
        fs.asarray(sp.csr_array(D.astype(np.int64)), fill_value=np.inf)
    with pytest.raises(DtypeError, match="must be a number"):
        fs.asarray(D, fill_value="x")  # type: ignore[arg-type]


# ---------------------------------------------------------------------------------------------- files


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_read(tmp_path: Path) -> None:
    head = "%%MatrixMarket matrix coordinate real general\n"
    t = fs.read(write(tmp_path / "a.mtx", head + "2 3 4\n1 2 1\n2 3 3\n2 1 1\n2 1 1\n"))
    assert (t.format, t.nnz) == ("csr", 3)
    np.testing.assert_array_equal(to_dense(t.data), D)
    dense = fs.read(write(tmp_path / "b.mtx", "%%MatrixMarket matrix array integer general\n2 1\n5\n6\n"))
    assert (dense.format, dense.dtype) == ("dense", np.int64)
    pair = fs.read(write(tmp_path / "c.mtx", "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 2\n"))
    assert (pair.dtype, pair.item()) == (np.complex128, 1 + 2j)
    with pytest.raises(FileFormatError):
        fs.read(write(tmp_path / "d.mtx", "nothing"))
