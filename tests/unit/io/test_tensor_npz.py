"""Our own archives: every format, element type and fill comes back to the bit; nothing untrue is believed."""

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finchsched.ast.format import Level
from finchsched.errors import DtypeError, FileFormatError, FinchschedError
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.formats.levels import Dense, SparseList
from finchsched.io.npz import read_npz
from finchsched.io.tensor_npz import write_tensor_npz
from tensors_for_files import DTYPES, fills_of, formats, same_tensor, tensor

CSR = (Dense(), SparseList())


def _round_trip(folder: Path, t: FiberTensor, *, compressed: bool = True) -> FiberTensor:
    write_tensor_npz(folder / "a.npz", t, compressed=compressed)
    return read_npz(folder / "a.npz")


def _changed(folder: Path, changes: dict[str, Any]) -> Path:
    """A file of a csr matrix with some arrays replaced, or left out (None)."""
    path = folder / "a.npz"
    write_tensor_npz(path, tensor(np.float64, (3, 4), CSR, (0, 1)))
    with np.load(path) as loaded:
        arrays = {name: loaded[name] for name in loaded} | changes
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    return path


@pytest.mark.parametrize("levels, perm", [layout for rank in range(4) for layout in formats(rank)])
def test_formats(tmp_path: Path, levels: tuple[Level, ...], perm: tuple[int, ...]) -> None:
    t = tensor(np.float64, (3, 4, 2)[: len(perm)], levels, perm)
    again = _round_trip(tmp_path, t, compressed=False)
    assert again.type is t.type
    assert same_tensor(again, t)
    assert not any(buffer.flags.writeable for buffer in (*again.pos, *again.crd, again.val) if buffer is not None)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("compressed", [True, False])
def test_element_types_and_fills(tmp_path: Path, dtype: np.dtype[Any], compressed: bool) -> None:
    for fill in fills_of(dtype):
        for shape in ((5, 7), (0, 3), (3, 0)):
            t = tensor(dtype, shape, CSR, (1, 0), fill)
            assert same_tensor(_round_trip(tmp_path, t, compressed=compressed), t)


def test_a_shape_beyond_32_bits_without_entries(tmp_path: Path) -> None:
    t = FiberTensor(
        tensor(np.int64, (1, 1), (SparseList(), SparseList()), (0, 1)).type,
        (2**62, 2**40),
        0,
        (np.zeros(2, np.int64), np.zeros(1, np.int64)),
        (np.zeros(0, np.int64), np.zeros(0, np.int64)),
        np.zeros(0, np.int64),
    )
    assert same_tensor(_round_trip(tmp_path, t), t)


def test_the_same_tensor_gives_the_same_bytes(tmp_path: Path) -> None:
    t = tensor(np.float64, (5, 7), CSR, (0, 1))
    for compressed in (True, False):
        write_tensor_npz(tmp_path / "a.npz", t, compressed=compressed)
        write_tensor_npz(tmp_path / "b.npz", t, compressed=compressed)
        assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_the_other_byte_order(tmp_path: Path) -> None:
    t = tensor(np.float64, (3, 4), CSR, (0, 1))
    assert t.crd[1] is not None
    swapped = {"val": t.val.astype(">f8"), "crd_1": t.crd[1].astype(">i8"), "shape": np.array([3, 4], ">i8")}
    assert same_tensor(read_npz(_changed(tmp_path, swapped)), t)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dtype(tmp_path: Path, dtype: str) -> None:
    t = tensor(np.float32, (3, 4), CSR, (0, 1), np.inf)
    write_tensor_npz(tmp_path / "a.npz", t)
    again = read_npz(tmp_path / "a.npz", np.dtype(dtype))
    assert (again.val.dtype, again.fill) == (dtype, np.inf)
    np.testing.assert_array_equal(again.val, t.val.astype(dtype))
    with pytest.raises(DtypeError, match=r"a.npz: found the value .*, which int64 cannot hold"):
        read_npz(tmp_path / "a.npz", np.dtype(np.int64))


def test_a_fill_that_dtype_cannot_hold(tmp_path: Path) -> None:
    empty = FiberTensor(
        tensor(np.float64, (2,), (SparseList(),), (0,), np.nan).type,
        (2,),
        np.nan,
        (np.zeros(2, np.int64),),
        (np.zeros(0, np.int64),),
        np.zeros(0),
    )
    write_tensor_npz(tmp_path / "a.npz", empty)
    with pytest.raises(DtypeError, match="found the value nan, which int64 cannot hold"):
        read_npz(tmp_path / "a.npz", np.dtype(np.int64))


BAD_ARRAYS: dict[str, tuple[dict[str, Any], str]] = {
    "newer version": ({"finchsched": 2}, r"found version 2 of the layout, expected 1\nhint: a newer finchsched"),
    "no version": ({"finchsched": -1}, r"found version -1 .*\nhint: the file may be damaged"),
    "a text as version": ({"finchsched": "1"}, r"array 'finchsched' with element type <U1"),
    "no values": ({"val": None}, r"found no array 'val' in it"),
    "no shape": ({"shape": None}, r"found no array 'shape' in it"),
    "two axes of values": ({"val": np.zeros((2, 2))}, r"the array 'val' with element type float64 and 2 axes"),
    "values of texts": ({"val": np.array(["a"])}, r"the array 'val' with element type <U1"),
    "too few values": ({"val": np.zeros(1)}, r"val must have \d elements"),
    "a fill of another type": ({"fill": 1}, r"the array 'fill' with element type int64"),
    "a list of fills": ({"fill": [0.0]}, r"the array 'fill' with element type float64 and 1 axes"),
    "unknown level": ({"levels": "Tree(Element(False: bool))"}, r"the levels 'Tree(.|\n)*no level is called"),
    "broken levels": ({"levels": "Dense("}, r"cannot read the levels 'Dense\('"),
    "more after the levels": ({"levels": "Element(False: bool) 1"}, r"cannot read the levels"),
    "no levels": ({"levels": ""}, r"cannot read the levels ''"),
    "a level of no tensor": (
        {"levels": "Dense(SparseByteMap[int64](Element(False: bool)))"},
        r"cannot be held in a SparseByteMap level",
    ),
    "wrong index type": (
        {"levels": "Dense(SparseList[int32,int64](Element(False: bool)))"},
        r"level 1: pos must have the element type int32; found int64",
    ),
    "a number as index type": ({"levels": "Dense(SparseList[3,4](Element(False: bool)))"}, r"must be int32 or int64"),
    "wrong number of levels": ({"levels": "Dense(Element(False: bool))"}, r"needs as many extents"),
    "wrong order of axes": (
        {"levels": "Dense(SparseList[int64,int64](Element(False: bool))) perm (1, 1)"},
        r"perm must be a permutation",
    ),
    "negative extent": ({"shape": np.array([3, -4])}, r"extents must not be negative"),
    "smaller extent": ({"shape": np.array([3, 1])}, r"level 1: crd must lie in 0 \.\. 0"),
    "other extent": ({"shape": np.array([2**62, 4])}, r"level 1: pos must have"),
    "one extent": ({"shape": np.array([3])}, r"needs as many extents"),
    "no pointers": ({"pos_1": None}, r"level 1: pos must be an array"),
    "empty pointers": ({"pos_1": np.zeros(0, np.int64)}, r"level 1: pos must have at least one entry"),
    "pointers that fall": ({"pos_1": np.array([0, 5, 2, 6])}, r"level 1: pos must not decrease"),
    "pointers that do not start at 0": ({"pos_1": np.array([1, 2, 3, 4])}, r"level 1: pos must start at 0"),
    "pointers too far": ({"pos_1": np.array([0, 2, 4, 2**60])}, r"level 1"),
    "coordinates of floats": ({"crd_1": np.zeros(5)}, r"the array 'crd_1' with element type float64"),
    "unsorted coordinates": (
        {"pos_1": np.array([0, 0, 0, 2]), "crd_1": np.array([2, 1]), "val": np.zeros(2)},
        r"coordinates must rise strictly inside a fiber; fiber 2",
    ),
    "coordinates for a dense level": ({"crd_0": np.array([2, 1])}, r"level 0 is Dense and has neither"),
}  # fmt: skip


@pytest.mark.parametrize("changes, message", BAD_ARRAYS.values(), ids=BAD_ARRAYS.keys())
def test_arrays_that_make_no_tensor(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = _changed(tmp_path, changes)
    with pytest.raises(FileFormatError, match=message) as raised:
        read_npz(path)
    assert str(raised.value).startswith(f"{path}: ")


def test_an_element_type_that_tensors_do_not_have(tmp_path: Path) -> None:
    with pytest.raises(DtypeError, match=r"a.npz: element type float16 is not supported(.|\n)*hint: dtype="):
        read_npz(_changed(tmp_path, {"val": np.zeros(9, np.float16), "fill": np.float16(0)}))


def test_objects_are_not_unpickled(tmp_path: Path) -> None:
    path = _changed(tmp_path, {})
    with np.load(path) as loaded:
        arrays = {name: loaded[name] for name in loaded}
    np.savez(path, **arrays, extra=np.array([{}], dtype=object))
    with pytest.raises(FileFormatError, match=r"a\.npz: found no complete archive of arrays"):
        read_npz(path)


def test_arrays_of_another_origin(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", images=np.zeros(3), labels=np.zeros(3))
    with pytest.raises(FileFormatError, match=r"found the arrays images, labels, expected(.|\n)*hint: .*numpy\.load"):
        read_npz(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz")
    with pytest.raises(FileFormatError, match="found the arrays nothing"):
        read_npz(tmp_path / "b.npz")


# ---------------------------------------------------------------------------------------------- damaged archives


def _archive(folder: Path, members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> Path:
    path = folder / "a.npz"
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def _npy(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


@pytest.mark.parametrize(
    "members, message",
    [
        ({"a.txt": b"hello"}, "the member 'a.txt' is no array"),
        ({"a.npy": b""}, "EOF|magic"),
        ({"a.npy": b"hello"}, "magic"),
        ({"a.npy": _npy(np.arange(9))[:-8]}, "the array 'a.npy' promises 72 bytes, found 64"),
        ({"a.npy": _npy(np.arange(9)) + b"1"}, "the array 'a.npy' promises 72 bytes, found 73"),
        ({"a.npy": _npy(np.arange(9)).replace(b"(9,)", b"(-9,)")}, "found|header"),
        ({"a.npy": _npy(np.arange(9)).replace(b"(9,), }  ", b"(9**9,), }")}, "header|malformed"),
        ({"a.npy": _npy(np.arange(9)).replace(b"(9,), }         ", b"(999999999,), } ")}, "promises 7999999992 bytes"),
        ({"a.npy": _npy(np.arange(9)).replace(b"'<i8'", b"'<q9'")}, "descr"),
    ],
)
def test_members_that_are_no_arrays(tmp_path: Path, members: dict[str, bytes], message: str) -> None:
    with pytest.raises(FileFormatError, match=f"a.npz: found no complete archive of arrays .*({message})"):
        read_npz(_archive(tmp_path, members))


def test_a_compression_that_numpy_does_not_use(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"the member 'a\.npy' cannot have"):
        read_npz(_archive(tmp_path, {"a.npy": _npy(np.zeros(9))}, zipfile.ZIP_BZIP2))


@pytest.mark.parametrize("data", [b"", b"PK", b"hello", b"\x93NUMPY", b"PK\x05\x06" + b"\xff" * 18, b"PK\x03\x04" * 9])
def test_files_that_are_no_archives(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.npz").write_bytes(data)
    with pytest.raises(FileFormatError, match=r"a\.npz: found no complete archive of arrays"):
        read_npz(tmp_path / "a.npz")


def test_files_that_are_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    write_tensor_npz(path, tensor(np.float64, (3, 4), CSR, (0, 1)))
    whole = path.read_bytes()
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        with pytest.raises(FileFormatError):
            read_npz(path)


@given(st.booleans(), st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 255)), min_size=1, max_size=4))
def test_a_file_with_some_bytes_changed(
    tmp_path_factory: pytest.TempPathFactory, compressed: bool, changes: list[tuple[int, int]]
) -> None:
    """It is refused, or what is read is the tensor that was written: dates and the like do not matter."""
    path = tmp_path_factory.mktemp("changed") / "a.npz"
    t = tensor(np.float64, (3, 4), CSR, (0, 1))
    write_tensor_npz(path, t, compressed=compressed)
    data = bytearray(path.read_bytes())
    for place, change in changes:
        data[place % len(data)] ^= change
    path.write_bytes(data)
    try:
        again = read_npz(path)
    except FinchschedError:
        return
    assert same_tensor(again, t)
