"""SciPy's archives: what scipy.sparse writes is read as SciPy reads it, and what is written SciPy reads."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from finchsched.ast.format import Level, is_sparse
from finchsched.errors import DtypeError, FileFormatError, FormatError
from finchsched.formats.coordinates import coordinates_of
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.formats.levels import Dense, SparseList
from finchsched.formats.numpy_convert import to_dense
from finchsched.io.npz import read_npz
from finchsched.io.scipy_npz import write_scipy_npz
from tensors_for_files import DTYPES, formats, same_tensor, same_values, tensor, values_of

FORMATS = ["csr", "csc", "coo", "bsr", "dia"]


def _dense(t: FiberTensor) -> np.ndarray:
    return to_dense(t)


def _matrix(dtype: Any, shape: tuple[int, int] = (6, 8)) -> np.ndarray:
    stored = np.random.default_rng(3).random(shape) < 0.4
    array = np.zeros(shape, dtype)
    array[stored] = values_of(np.dtype(dtype), int(stored.sum()))
    return array


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("container", [sp.coo_array, sp.coo_matrix])
def test_reading(tmp_path: Path, dtype: Any, name: str, container: Any) -> None:
    array = _matrix(dtype)
    sp.save_npz(tmp_path / "a.npz", container(array).asformat(name), compressed=name != "csr")
    t = read_npz(tmp_path / "a.npz")
    assert (t.type.perm, t.val.dtype) == ((1, 0) if name == "csc" else (0, 1), np.dtype(dtype))
    assert isinstance(t.type.levels[0], Dense) and isinstance(t.type.levels[1], SparseList)
    np.testing.assert_array_equal(_dense(t), array)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("shape", [(0, 0), (0, 4), (4, 0), (3, 5)])
def test_empty_matrices(tmp_path: Path, name: str, shape: tuple[int, int]) -> None:
    if name == "bsr":
        made: Any = sp.bsr_array((np.zeros((0, 1, 1)), np.zeros(0, int), np.zeros(shape[0] + 1, int)), shape=shape)
    else:
        made = sp.coo_array(shape).asformat(name)
    sp.save_npz(tmp_path / "a.npz", made)
    t = read_npz(tmp_path / "a.npz")
    assert (t.shape, t.stored) == (shape, 0)


@pytest.mark.parametrize("name", ["csr", "csc", "coo", "bsr"])
def test_stored_zeros_stay(tmp_path: Path, name: str) -> None:
    made = sp.csr_array(np.array([[1.0, 2.0], [3.0, 4.0]])).asformat(name)
    made.data[...] = 0
    sp.save_npz(tmp_path / "a.npz", made)
    assert read_npz(tmp_path / "a.npz").stored == 4


def test_blocks_and_diagonals_in_every_place(tmp_path: Path) -> None:
    array = np.arange(1.0, 49.0).reshape(6, 8)
    for made in (
        *(sp.bsr_array(array, blocksize=size) for size in ((1, 1), (2, 4), (3, 2), (6, 8))),
        sp.dia_array(array),
        sp.dia_array((np.arange(1.0, 31.0).reshape(3, 10), [-5, 0, 7]), shape=(6, 8)),
        sp.dia_array((np.arange(1.0, 7.0).reshape(2, 3), [2, -3]), shape=(6, 8)),
        sp.dia_array((np.arange(1.0, 7.0).reshape(2, 3), [20, -30]), shape=(6, 8)),
    ):
        sp.save_npz(tmp_path / "a.npz", made)
        np.testing.assert_array_equal(_dense(read_npz(tmp_path / "a.npz")), made.toarray())


def test_repeated_and_unsorted_entries(tmp_path: Path) -> None:
    sp.save_npz(tmp_path / "a.npz", sp.coo_array(([1, 2, 3, 4], ([1, 0, 1, 1], [1, 2, 1, 0])), shape=(2, 3)))
    np.testing.assert_array_equal(_dense(read_npz(tmp_path / "a.npz")), [[0, 0, 2], [4, 4, 0]])
    made = sp.csr_array(([1, 2, 3], [2, 0, 2], [0, 3]), shape=(1, 3))
    sp.save_npz(tmp_path / "a.npz", made)
    t = read_npz(tmp_path / "a.npz")
    assert (t.val.tolist(), _dense(t).tolist()) == ([2, 4], [[2, 0, 4]])


def test_one_and_three_axes(tmp_path: Path) -> None:
    for array in (np.array([0.0, 5.0, 0.0, 7.0]), np.arange(24.0).reshape(2, 3, 4) % 5):
        sp.save_npz(tmp_path / "a.npz", sp.coo_array(array))
        t = read_npz(tmp_path / "a.npz")
        assert all(isinstance(level, SparseList) for level in t.type.levels)
        np.testing.assert_array_equal(_dense(t), array)
    sp.save_npz(tmp_path / "a.npz", sp.csr_array(np.array([0.0, 5.0, 0.0, 7.0])))
    np.testing.assert_array_equal(_dense(read_npz(tmp_path / "a.npz")), [0, 5, 0, 7])


def test_a_hypersparse_matrix_has_no_pointers_for_its_rows(tmp_path: Path) -> None:
    made = sp.coo_array(([1.0], ([10**9], [10**12])), shape=(2**40, 2**41))
    sp.save_npz(tmp_path / "a.npz", made)
    t = read_npz(tmp_path / "a.npz")
    assert isinstance(t.type.levels[0], SparseList) and t.nbytes < 1000
    assert [c.tolist() for c in coordinates_of(t)] == [[10**9], [10**12]]


@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_dtype(tmp_path: Path, dtype: str) -> None:
    sp.save_npz(tmp_path / "a.npz", sp.csr_array(np.array([[1, 0], [0, -3]], np.int16)))
    t = read_npz(tmp_path / "a.npz", np.dtype(dtype))
    assert (t.val.dtype, t.val.tolist()) == (dtype, [1, -3])
    with pytest.raises(DtypeError, match="found the value -3, which bool cannot hold"):
        read_npz(tmp_path / "a.npz", np.dtype(bool))
    sp.save_npz(tmp_path / "b.npz", sp.csr_array(np.eye(2, dtype=np.longdouble)))
    with pytest.raises(DtypeError, match=r"b\.npz: element type .* is not supported(.|\n)*hint: dtype="):
        read_npz(tmp_path / "b.npz")
    assert read_npz(tmp_path / "b.npz", np.dtype(float)).val.tolist() == [1.0, 1.0]


# ---------------------------------------------------------------------------------------------- writing


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("compressed", [True, False])
def test_writing_element_types(tmp_path: Path, dtype: Any, compressed: bool) -> None:
    for perm, name in (((0, 1), "csr"), ((1, 0), "csc")):
        t = tensor(dtype, (6, 7), (Dense(), SparseList()), perm)
        write_scipy_npz(tmp_path / "a.npz", t, compressed=compressed)
        theirs = sp.load_npz(tmp_path / "a.npz")
        assert (theirs.format, theirs.shape, theirs.dtype) == (name, (6, 7), np.dtype(dtype))
        assert same_values(theirs.data, t.val)
        np.testing.assert_array_equal(theirs.indices, t.crd[1])
        np.testing.assert_array_equal(theirs.indptr, t.pos[1])


@pytest.mark.parametrize("levels, perm", [layout for rank in (1, 2, 3) for layout in formats(rank)])
def test_writing_formats(tmp_path: Path, levels: tuple[Level, ...], perm: tuple[int, ...]) -> None:
    t = tensor(np.float64, (3, 4, 2)[: len(perm)], levels, perm)
    write_scipy_npz(tmp_path / "a.npz", t)
    theirs = sp.load_npz(tmp_path / "a.npz")
    assert isinstance(theirs, sp.sparray)
    assert theirs.nnz == (t.stored if is_sparse(t.type) else np.count_nonzero(t.val))
    np.testing.assert_array_equal(theirs.toarray(), _dense(t))
    np.testing.assert_array_equal(_dense(read_npz(tmp_path / "a.npz")), _dense(t))


def test_what_scipy_cannot_hold(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"a\.npz: SciPy's arrays have one axis or more"):
        write_scipy_npz(tmp_path / "a.npz", tensor(np.float64, (), (), ()))
    with pytest.raises(FormatError, match=r"a\.npz: SciPy's arrays have the fill 0, this tensor has inf"):
        write_scipy_npz(tmp_path / "a.npz", tensor(np.float64, (2, 3), (Dense(), SparseList()), (0, 1), np.inf))
    assert not list(tmp_path.iterdir())


def test_what_was_read_and_written_is_what_was_there(tmp_path: Path) -> None:
    t = tensor(np.float64, (6, 7), (Dense(), SparseList(*[SparseList().pos] * 2)), (0, 1))
    write_scipy_npz(tmp_path / "a.npz", t)
    again = read_npz(tmp_path / "a.npz")
    write_scipy_npz(tmp_path / "b.npz", again)
    assert same_tensor(read_npz(tmp_path / "b.npz"), again)


# ---------------------------------------------------------------------------------------------- refusals

CSR = {
    "format": b"csr",
    "shape": [2, 3],
    "data": np.arange(3.0),
    "indices": np.array([0, 2, 1]),
    "indptr": np.array([0, 2, 3]),
}
COO = {"format": b"coo", "shape": [2, 3], "data": np.arange(2.0), "row": np.array([0, 1]), "col": np.array([2, 1])}
BSR = {**CSR, "format": b"bsr", "data": np.zeros((3, 1, 1))}
DIA = {"format": b"dia", "shape": [2, 3], "data": np.ones((2, 3)), "offsets": np.array([0, 1])}
BAD_ARRAYS: dict[str, tuple[dict[str, Any], str]] = {
    "unknown format": ({**CSR, "format": b"lil"}, r"found the sparse format 'lil', expected one of csr, csc, bsr"),
    "format of bytes": ({**CSR, "format": b"\xff\xfe"}, r"found the sparse format '\\\\xff\\\\xfe'"),
    "format is a number": ({**CSR, "format": 3}, r"found the sparse format None"),
    "no data": ({k: v for k, v in CSR.items() if k != "data"}, r"found no array 'data'"),
    "no shape": ({k: v for k, v in CSR.items() if k != "shape"}, r"found no array 'shape'"),
    "no indices": ({k: v for k, v in CSR.items() if k != "indices"}, r"found no array 'indices'"),
    "negative shape": ({**CSR, "shape": [2, -3]}, r"found the shape \(2, -3\), expected"),
    "shape of floats": ({**CSR, "shape": [2.0, 3.0]}, r"array 'shape' with element type float64"),
    "no axes": ({**COO, "shape": np.zeros(0, int)}, r"found the shape \(\)"),
    "three axes": ({**CSR, "shape": [2, 3, 1]}, r"found 3 axes .* expected 2 axes of a csr matrix"),
    "one axis of csc": ({**CSR, "format": b"csc", "shape": [3]}, r"found 1 axes .* expected 2 axes of a csc matrix"),
    "texts as data": ({**CSR, "data": np.array(["a", "b", "c"])}, r"array 'data' with element type <U1"),
    "two axes of data": ({**CSR, "data": np.ones((3, 1))}, r"found data of shape \(3, 1\)"),
    "a number as data": ({**CSR, "data": 1.0}, r"indptr promises 3 entries; found 3 indices and 0 values"),
    "floats as indices": ({**CSR, "indices": np.ones(3)}, r"array 'indices' with element type float64"),
    "column too large": ({**CSR, "indices": np.array([0, 3, 1])}, r"found coordinate 3 on axis 1 at entry 1"),
    "negative column": ({**CSR, "indices": np.array([0, -1, 1])}, r"found coordinate -1 on axis 1 at entry 1"),
    "column over int64": ({**CSR, "indices": np.array([0, 2**64 - 1, 1], np.uint64)}, r"found coordinate -1 on axis 1"),
    "pointers fall": ({**CSR, "indptr": np.array([0, 4, 3])}, r"indptr must have 3 entries that rise from 0"),
    "pointers start at 1": ({**CSR, "indptr": np.array([1, 2, 3])}, r"indptr must have 3 entries that rise from 0"),
    "too few pointers": ({**CSR, "indptr": np.array([0, 3])}, r"indptr must have 3 entries .* found 2 entries"),
    "no pointers": ({**CSR, "indptr": np.zeros(0, int)}, r"indptr must have 3 entries .* found 0 entries"),
    "pointers too far": ({**CSR, "indptr": np.array([0, 2, 9])}, r"indptr promises 9 entries; found 3 indices"),
    "huge shape": ({**CSR, "shape": [2**62, 3]}, r"indptr must have 4611686018427387905 entries"),
    "row too large": ({**COO, "row": np.array([0, 2])}, r"found coordinate 2 on axis 0 at entry 1, expected 0 \.\. 1"),
    "uneven coordinates": ({**COO, "row": np.array([0])}, r"found data of shape \(2,\) for 1, 2 coordinates"),
    "coords of one axis": ({**COO, "coords": np.zeros((1, 2), int)}, r"found coordinates of 1 axes, expected 2"),
    "rows of three axes": ({**COO, "shape": [2, 3, 4]}, r"found no array 'coords'"),
    "flat blocks": ({**BSR, "data": np.zeros(3)}, r"blocks of shape \(\) do not fill"),
    "empty blocks": ({**BSR, "data": np.zeros((3, 0, 1))}, r"blocks of shape \(0, 1\) do not fill"),
    "blocks that do not fit": ({**BSR, "data": np.zeros((3, 2, 2))}, r"blocks of shape \(2, 2\) do not fill"),
    "block column too large": ({**BSR, "indices": np.array([0, 3, 1])}, r"found coordinate 3 on axis 1"),
    "flat diagonals": ({**DIA, "data": np.ones(3)}, r"found data of shape \(3,\) for the diagonals \[0, 1\]"),
    "too few diagonals": ({**DIA, "offsets": np.array([0])}, r"found data of shape \(2, 3\) for the diagonals \[0\]"),
    "the same diagonal twice": ({**DIA, "offsets": np.array([1, 1])}, r"for the diagonals \[1, 1\]"),
    "diagonals far out": (
        {**DIA, "offsets": np.array([0, -(2**63)])},
        r"found diagonals from -9223372036854775808 to 0",
    ),
}


@pytest.mark.parametrize("arrays, message", BAD_ARRAYS.values(), ids=BAD_ARRAYS.keys())
def test_arrays_that_make_no_tensor(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(FileFormatError, match=message) as raised:
        read_npz(tmp_path / "a.npz")
    assert str(raised.value).startswith(f"{tmp_path / 'a.npz'}: ")


@pytest.mark.parametrize("arrays", [CSR, COO, BSR, DIA], ids=["csr", "coo", "bsr", "dia"])
def test_the_arrays_that_were_broken_are_fine(tmp_path: Path, arrays: dict[str, Any]) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    np.testing.assert_array_equal(_dense(read_npz(tmp_path / "a.npz")), sp.load_npz(tmp_path / "a.npz").toarray())
