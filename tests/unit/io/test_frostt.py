"""FROSTT text: what is read, what is written, and what is refused with its line."""

import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from finchsched.ast.format import Level
from finchsched.errors import DtypeError, FileFormatError, FormatError
from finchsched.formats.coordinates import from_coordinates
from finchsched.formats.levels import Dense, SparseList
from finchsched.io.entries import CoordinateArray, sparse_tensor
from finchsched.io.frostt import read_frostt, write_frostt
from finchsched.io.text_source import BLOCK_BYTES
from tensors_for_files import DTYPES, formats, same_tensor, same_values, tensor

REAL_DTYPES = [dtype for dtype in DTYPES if dtype.kind != "c"]
CSF = (SparseList(), SparseList(), SparseList())


def _write(folder: Path, text: str | bytes, name: str = "a.tns") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def _listed(found: CoordinateArray) -> list[tuple[Any, ...]]:
    return list(zip(*(coordinate.tolist() for coordinate in found.coordinates), found.values.tolist(), strict=True))


TEXT = "# a comment\n1 2 3 1.5\n\n  # another\n2\t1 1  -2e3\r\n1 2 3 0\n"


def test_entries_comments_and_blank_lines(tmp_path: Path) -> None:
    found = read_frostt(_write(tmp_path, TEXT))
    assert found.shape == (2, 2, 3)
    assert found.values.dtype == np.float64
    assert all(coordinate.dtype == np.int64 for coordinate in found.coordinates)
    assert _listed(found) == [(0, 1, 2, 1.5), (1, 0, 0, -2000.0), (0, 1, 2, 0.0)]


def test_a_given_shape(tmp_path: Path) -> None:
    path = _write(tmp_path, TEXT)
    assert read_frostt(path, (2, 5, 10**12)).shape == (2, 5, 10**12)
    assert read_frostt(path, np.array([2, 2, 3])).shape == (2, 2, 3)
    with pytest.raises(FileFormatError, match=r"a\.tns, line 5: found coordinate 1 of 2, expected 1 to 1"):
        read_frostt(path, (1, 5, 5))
    with pytest.raises(FileFormatError, match=r"line 2: found 4 words in '1 2 3 1\.5', expected 2 coordinates and a"):
        read_frostt(path, (2, 2))


@pytest.mark.parametrize("shape", [(), (2, -1, 3), (2, "x", 3), 3, (2, 2, 2**63)])
def test_shapes_that_are_none(tmp_path: Path, shape: Any) -> None:
    with pytest.raises(FormatError, match="shape must"):
        read_frostt(_write(tmp_path, TEXT), shape)


@pytest.mark.parametrize("text", ["", "\n\n", "# only\n# comments"])
@pytest.mark.parametrize("dtype", [None, np.dtype(np.int64), np.dtype(np.float32)])
def test_no_entries(tmp_path: Path, text: str, dtype: np.dtype[Any] | None) -> None:
    path = _write(tmp_path, text)
    with pytest.raises(FileFormatError, match=r"a\.tns: found no entries, so .* unknown\nhint: pass shape="):
        read_frostt(path, None, dtype)
    found = read_frostt(path, (4, 0, 2), dtype)
    assert (found.shape, _listed(found)) == ((4, 0, 2), [])
    assert found.values.dtype == (dtype or np.float64)


@pytest.mark.parametrize("rank", [1, 2, 5, 9])
def test_any_number_of_axes(tmp_path: Path, rank: int) -> None:
    line = " ".join(str(axis + 1) for axis in range(rank))
    found = read_frostt(_write(tmp_path, f"{line} 7\n{line} 8"))
    assert found.shape == tuple(range(1, rank + 1))
    assert _listed(found) == [(*range(rank), 7.0), (*range(rank), 8.0)]


@pytest.mark.parametrize(
    "values, dtype, expected",
    [
        ("9007199254740993 -5", "int64", [9007199254740993, -5]),
        ("9007199254740993 -5", "float64", [9007199254740992.0, -5.0]),
        ("18446744073709551615 0", "uint64", [2**64 - 1, 0]),
        ("0 1", "bool", [False, True]),
        ("1.5 nan", "float32", [1.5, np.nan]),
        ("1.5D+01 -inf", "float64", [15.0, -np.inf]),
        ("1 2", "complex128", [1 + 0j, 2 + 0j]),
    ],
)
def test_dtype(tmp_path: Path, values: str, dtype: str, expected: list[Any]) -> None:
    path = _write(tmp_path, "".join(f"{k + 1} {value}\n" for k, value in enumerate(values.split())))
    found = read_frostt(path, None, np.dtype(dtype))
    assert found.values.dtype == dtype
    np.testing.assert_array_equal(found.values, expected)


@pytest.mark.parametrize("value, dtype", [("2", "bool"), ("-1", "uint64"), ("18446744073709551615", "int64")])
def test_values_that_a_dtype_cannot_hold(tmp_path: Path, value: str, dtype: str) -> None:
    with pytest.raises(DtypeError, match=rf"a\.tns: found the value {value}, which {dtype} cannot hold"):
        read_frostt(_write(tmp_path, f"1 1 {value}\n"), None, np.dtype(dtype))


def test_integers_on_both_sides_of_what_64_bits_hold(tmp_path: Path) -> None:
    count = BLOCK_BYTES // 4
    path = _write(tmp_path, "1 18446744073709551615\n" + "1 1\n" * count + "1 -1\n")
    with pytest.raises(DtypeError, match="found values below 0 and above"):
        read_frostt(path, None, np.dtype(np.int64))
    path = _write(tmp_path, "1 18446744073709551615\n" + "1 1\n" * count + "1 3\n")
    values = read_frostt(path, None, np.dtype(np.uint64)).values
    assert (int(values[0]), int(values[-1]), len(values)) == (2**64 - 1, 3, count + 2)


BAD_TEXTS = {
    "one word": ("7\n", r"line 1: found '7', expected coordinates, each from 1, and a value"),
    "too few": (
        "1 1 1 5\n1 1 5\n",
        r"line 2: found 3 words in '1 1 5', expected 4 a line \(coordinate 1, coordinate 2",
    ),
    "too many": ("# c\n1 5\n\n1 1 5\n", r"line 4: found 3 words in '1 1 5', expected 2 a line \(coordinate 1, value\)"),
    "zero": ("1 1 1\n\n0 1 1\n", r"line 3: found coordinate 1 of 0, expected a coordinate from 1 on\nhint: .* from 1$"),
    "negative": ("1 1 1\n1 -1 1\n", r"line 2: found coordinate 2 of -1, expected a coordinate from 1 on$"),
    "fraction": ("1 1.5 1\n", r"line 1: found '1\.5' as coordinate 2, expected an integer$"),
    "huge": (
        "1 9223372036854775808 1\n",
        r"line 1: found '9223372036854775808' as coordinate 2, .* to 9223372036854775",
    ),
    "word": ("1 1 one\n", r"line 1: found 'one' as value, expected a number"),
    "header": ("3\n2 2 2\n1 1 1 5\n", r"line 1: found '3', expected coordinates"),
    "Matrix Market": ("%%MatrixMarket matrix coordinate real general\n", r"line 1: found '%%MatrixMarket' as coord"),
    "comment after data": ("1 1 5 # c\n", r"line 1: found '5' as coordinate 3|found '#' as coordinate"),
}


@pytest.mark.parametrize("text, message", BAD_TEXTS.values(), ids=BAD_TEXTS.keys())
def test_bad_text_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = _write(tmp_path, text)
    with pytest.raises(FileFormatError, match=message) as raised:
        read_frostt(path)
    assert str(raised.value).startswith(f"{path}, line ")


def test_integers_must_be_written_as_such(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"line 1: found '1\.0' as integer value, expected an integer\nhint"):
        read_frostt(_write(tmp_path, "1 1.0\n"), None, np.dtype(np.int64))


def test_a_file_of_several_blocks_and_a_broken_line_in_the_last(tmp_path: Path) -> None:
    count = 3 * BLOCK_BYTES // 10
    lines = [f"{k + 1} 1 {k}.5" for k in range(count)]
    found = read_frostt(_write(tmp_path, "\n".join(lines)))
    np.testing.assert_array_equal(found.coordinates[0], np.arange(count))
    np.testing.assert_array_equal(found.values, np.arange(count) + 0.5)
    with pytest.raises(FileFormatError, match=rf"line {count + 1}: found 2 words"):
        read_frostt(_write(tmp_path, "\n".join([*lines, "1 1"])))
    with pytest.raises(FileFormatError, match=rf"line {count + 1}: found coordinate 2 of 2, expected 1 to 1"):
        read_frostt(_write(tmp_path, "\n".join([*lines, "1 2 1"])), (count, 1))


@pytest.mark.parametrize("kept", [5, 30, -3])
def test_truncated_gzip_is_refused(tmp_path: Path, kept: int) -> None:
    data = gzip.compress(TEXT.encode())
    with pytest.raises(FileFormatError, match="damaged or truncated gz data"):
        read_frostt(_write(tmp_path, data[:kept], "a.tns.gz"))


# ---------------------------------------------------------------------------------------------- writing


@pytest.mark.parametrize("dtype", REAL_DTYPES, ids=str)
@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz"])
def test_element_types(tmp_path: Path, dtype: Any, suffix: str) -> None:
    t = tensor(dtype, (4, 3, 5), CSF, (0, 1, 2))
    path = tmp_path / f"a.tns{suffix}"
    write_frostt(path, t, comment="two\nlines")
    again = sparse_tensor(read_frostt(path, t.shape, np.dtype(dtype)), (CSF, (0, 1, 2)), "")
    assert same_tensor(again, t)
    plain = read_frostt(path, t.shape)
    np.testing.assert_array_equal(plain.values, t.val.astype(np.float64))


@pytest.mark.parametrize("levels, perm", [layout for rank in (1, 2, 3) for layout in formats(rank)])
def test_formats(tmp_path: Path, levels: tuple[Level, ...], perm: tuple[int, ...]) -> None:
    t = tensor(np.float64, (3, 4, 2)[: len(perm)], levels, perm)
    write_frostt(tmp_path / "a.tns", t)
    found = read_frostt(tmp_path / "a.tns", t.shape)
    again = from_coordinates(found.coordinates, found.values, found.shape, levels, perm, fill=0.0)
    assert same_tensor(again, t)


def test_text(tmp_path: Path) -> None:
    t = sparse_tensor(CoordinateArray((2, 3), (np.array([0, 1]), np.array([2, 0])), np.array([0.1, -7])), None, "")
    write_frostt(tmp_path / "a.tns", t, comment="hello")
    assert (tmp_path / "a.tns").read_text() == "# hello\n1 3 0.1\n2 1 -7.0\n"


def test_what_a_file_cannot_hold(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"a\.tns: a \.tns file holds one axis or more, this tensor has none"):
        write_frostt(tmp_path / "a.tns", tensor(np.float64, (), (), ()))
    with pytest.raises(FormatError, match=r"a\.tns: a \.tns file has the fill 0, this tensor has inf"):
        write_frostt(tmp_path / "a.tns", tensor(np.float64, (2, 3), (Dense(), SparseList()), (0, 1), np.inf))
    assert os.listdir(tmp_path) == []
    dense = tensor(np.float64, (2, 3), (Dense(), Dense()), (0, 1), np.inf)
    write_frostt(tmp_path / "a.tns", dense)
    assert same_values(read_frostt(tmp_path / "a.tns").values, dense.val)


@pytest.mark.skipif(np.dtype(complex) not in DTYPES, reason="tensors of complex numbers are not supported yet")
def test_complex_numbers(tmp_path: Path) -> None:
    with pytest.raises(DtypeError, match=r"a\.tns: a \.tns file holds real numbers, this tensor is complex128"):
        write_frostt(tmp_path / "a.tns", tensor(complex, (2, 3, 4), CSF, (0, 1, 2)))
