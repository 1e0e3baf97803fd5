"""Every kind of bad Matrix Market file is refused, with its line and what was expected."""

import gzip
import tracemalloc
from pathlib import Path

import pytest

from finchsched.errors import FileFormatError
from finchsched.io.entries import CoordinateArray
from finchsched.io.matrix_market import read_matrix_market
from finchsched.io.text_source import BLOCK_BYTES, LINE_BYTES

BANNER = "%%MatrixMarket matrix coordinate "
REAL = BANNER + "real general\n"
INTEGER = BANNER + "integer general\n"


def _write(folder: Path, text: str | bytes, name: str = "a.mtx") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


BAD_TEXTS = {
    "empty file": ("", r"line 1: found an empty file, expected a line like '%%MatrixMarket"),
    "other format": ("1 2 3\n", r"line 1: found '1 2 3', expected a line like .*\nhint: .*not a Matrix Market file"),
    "short banner": (BANNER + "real\n1 1 0\n", r"line 1: found '%%MatrixMarket matrix coordinate real', expected five"),
    "unknown object": ("%%MatrixMarket vector array real general\n1 1\n1\n", r"line 1: found the object 'vector'"),
    "unknown layout": ("%%MatrixMarket matrix csr real general\n", r"layout 'csr', expected coordinate or array"),
    "unknown field": (BANNER + "quad general\n", r"field 'quad', expected real or integer or unsigned-integer or"),
    "unknown symmetry": (BANNER + "real odd\n", r"symmetry 'odd', expected general or symmetric or skew-symmetric or"),
    "array pattern": ("%%MatrixMarket matrix array pattern general\n1 1\n", r"line 1: found an array with .* pattern"),
    "no size line": (REAL + "% only this\n", r"line 2: found the end of the file, expected .*\nhint: .*truncated"),
    "two sizes": (REAL + "2 2\n", r"line 2: found '2 2', expected 3 whole numbers: rows, columns and number of"),
    "three array sizes": ("%%MatrixMarket matrix array real general\n1 1 1\n", r"found '1 1 1', expected 2 whole"),
    "negative size": (REAL + "2 -2 1\n", r"line 2: found '2 -2 1', expected 3 whole numbers"),
    "size in words": (REAL + "two 2 1\n", r"line 2: found 'two 2 1', expected 3 whole numbers"),
    "size over int64": (REAL + "9223372036854775808 1 0\n", r"line 2: .*, expected sizes up to 9223372036854775807"),
    "long size": (REAL + "9" * 5000 + " 1 0\n", r"line 2: found '9{80}\.\.\.', expected sizes up to"),
    "not square": (BANNER + "real symmetric\n2 3 0\n", r"line 2: found 2 rows and 3 columns, expected a square matrix"),
    "truncated": (REAL + "2 2 3\n1 1 1\n", r"line 3: found the end of the file after 1 entries, expected 3 as line 2"),
    "truncated in a line": (REAL + "2 2 3\n1 1 1\n2 2 2", r"line 4: found the end of the file after 2 entries"),
    "two too many": (REAL + "2 2 1\n1 1 1\n2 2 2\n2 2 3\n", r"line 4: found entry number 2, expected 1 as line 2"),
    "too many": (REAL + "2 2 1\n%\n1 1 1\n\n2 2 2\n", r"line 6: found entry number 2, expected 1 as line 2 declares"),
    "row too large": (REAL + "2 3 2\n1 1 1\n3 1 5\n", r"line 4: found row index 3, expected 1 to 2"),
    "column too large": (REAL + "3 2 2\n1 1 1\n3 3 5\n", r"line 4: found column index 3, expected 1 to 2"),
    "zero-based": (REAL + "3 2 1\n0 1 1\n", r"line 3: found row index 0, expected 1 to 3\nhint: indices count from 1"),
    "negative index": (REAL + "3 2 1\n1 -1 1\n", r"line 3: found column index -1, expected 1 to 2"),
    "no rows": (REAL + "0 2 1\n1 1 1\n", r"line 3: found row index 1, expected no entries, as there are no rows"),
    "word": (REAL + "2 2 1\n1 1 one\n", r"line 3: found 'one' as value, expected a number"),
    "two exponents": (REAL + "2 2 1\n1 1 1.5D+03e1\n", r"line 3: found '1.5D\+03e1' as value, expected a number"),
    "underscore": (REAL + "2 2 1\n1 1 1_0\n", r"line 3: found '1_0' as value, expected a number"),
    "two points": (REAL + "2 2 1\n1 1 1.5.5\n", r"line 3: found '1.5.5' as value, expected a number"),
    "not ASCII": (REAL + "2 2 1\n1 1 ١\n", r"line 3: found '\\xd9\\xa1' as value, expected a number"),
    "fractional index": (REAL + "2 2 1\n1.0 1 1\n", r"line 3: found '1.0' as row index, expected an integer"),
    "sign inside": (INTEGER + "2 2 1\n1 1 1-2\n", r"line 3: found '1-2' as integer value, expected an integer"),
    "two signs": (INTEGER + "2 2 1\n1 1 --2\n", r"line 3: found '--2' as integer value, expected an integer"),
    "only a sign": (INTEGER + "2 2 1\n1 1 -\n", r"line 3: found '-' as integer value, expected an integer"),
    "fraction": (INTEGER + "2 2 2\n1 1 1\n1 2 .5\n", r"line 4: found '.5' as integer value.*\nhint: .*the field real"),
    "inf": (INTEGER + "2 2 1\n1 1 inf\n", r"line 3: found 'inf' as integer value, expected an integer\nhint: .*inf"),
    "over int64 and under 0": (
        INTEGER + "2 2 3\n1 1 5\n2 2 9223372036854775808\n1 1 -1\n",
        r"line 4: found 9223372036854775808 as .*, expected .* up to 9223372036854775807, as .* negative.*\nhint",
    ),
    "over uint64": (
        INTEGER + "2 2 1\n1 1 18446744073709551616\n",
        r"line 3: .* to 18446744073709551615\nhint: .* dtype",
    ),
    "under int64": (
        INTEGER + "2 2 1\n1 1 -9223372036854775809\n",
        r"line 3: .* from -9223372036854775808 to .*\nhint: ",
    ),
    "negative under unsigned-integer": (
        BANNER + "unsigned-integer general\n2 2 2\n1 1 3\n1 2 -1\n",
        r"line 4: found -1 as integer value, expected an integer that is not negative",
    ),
    "unsigned skew": (
        BANNER + "unsigned-integer skew-symmetric\n2 2 1\n2 1 3\n",
        r"line 3: found the value 3, expected a value whose mirror image, its negative, fits uint64",
    ),
    "index over int64": (
        REAL + "2 2 1\n9223372036854775808 1 1\n",
        r"line 3: .* as row index, .* to 9223372036854775807$",
    ),
    "endless integer": (INTEGER + "2 2 1\n1 1 " + "7" * 9000 + "\n", r"line 3: found '7{40}\.\.\.' as integer value"),
    "no value": (
        REAL + "2 2 1\n1 1\n",
        r"line 3: found 2 words in '1 1', expected 3 a line \(row index, column index,",
    ),
    "one number too many": (REAL + "2 2 1\n1 1 1 1\n", r"line 3: found 4 words in '1 1 1 1', expected 3 a line"),
    "uneven lines": (INTEGER + "2 2 2\n1 1\n1 1 1 1\n", r"line 3: found 2 words in '1 1', expected 3 a line"),
    "comment after data": (REAL + "2 2 1\n1 1 1 % x\n", r"line 3: found 5 words in '1 1 1 % x', expected 3 a line"),
    "real for complex": (BANNER + "complex general\n1 1 1\n1 1 1\n", r"3 words .*real part, imaginary part\)"),
    "array row a line": ("%%MatrixMarket matrix array real general\n2 1\n1 2\n", r"line 3: found 2 words .* 1 a line"),
    "skew diagonal": (
        BANNER + "real skew-symmetric\n2 2 2\n2 1 1\n2 2 nan\n",
        r"line 4: found the value nan, exp.*zero",
    ),
    "skew minimum": (
        BANNER + "integer skew-symmetric\n2 2 1\n2 1 -9223372036854775808\n",
        r"line 3: found the value -9223372036854775808, expected a value whose mirror image, its negative, fits int64",
    ),
    "skew minimum in an array": (
        "%%MatrixMarket matrix array integer skew-symmetric\n3 3\n5\n\n-9223372036854775808\n6\n",
        r"line 5: found the value -9223372036854775808",
    ),
    "both triangles": (
        BANNER + "pattern symmetric\n3 3 4\n3 1\n% c\n2 1\n2 3\n1 3\n",
        r"line 7: found entry \(1, 3\) besides its mirror image, expected one of the two.*\nhint: .* file is general",
    ),
}


@pytest.mark.parametrize("text, message", BAD_TEXTS.values(), ids=BAD_TEXTS.keys())
def test_bad_text_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = _write(tmp_path, text)
    with pytest.raises(FileFormatError, match=message) as raised:
        read_matrix_market(path)
    assert str(raised.value).startswith(f"{path}, line ")


@pytest.mark.parametrize(
    "header, line",
    [
        ("coordinate real general\n1000000000000 1000000000000 1000000000000", "1 1 1"),
        ("coordinate complex symmetric\n1000000000000 1000000000000 9000000000000000000", "1 1 1 1"),
        ("array real general\n1000000 1000000", "1"),
        ("array integer hermitian\n9000000000000000000 9000000000000000000", "1"),
    ],
)
def test_declared_sizes_are_not_allocated(tmp_path: Path, header: str, line: str) -> None:
    path = _write(tmp_path, f"%%MatrixMarket matrix {header}\n{line}\n{line}\n{line}\n")
    tracemalloc.start()
    try:
        with pytest.raises(
            FileFormatError, match=r"line 5: found the end of the file after 3 entries, expected \d{12,}"
        ):
            read_matrix_market(path)
        assert tracemalloc.get_traced_memory()[1] < 8 * BLOCK_BYTES
    finally:
        tracemalloc.stop()


def test_a_huge_but_true_shape_is_fine(tmp_path: Path) -> None:
    matrix = read_matrix_market(_write(tmp_path, f"{REAL}{2**63 - 1} {10**12} 1\n{2**63 - 1} {10**12} 5\n"))
    assert isinstance(matrix, CoordinateArray)
    assert (matrix.shape, matrix.coordinates[0].tolist(), matrix.coordinates[1].tolist()) == (
        (2**63 - 1, 10**12),
        [2**63 - 2],
        [10**12 - 1],
    )


def test_a_line_without_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=rf"line 1: found a line of over {LINE_BYTES} bytes"):
        read_matrix_market(_write(tmp_path, b"\0" * 3 * LINE_BYTES))
    with pytest.raises(FileFormatError, match=rf"line 4: found a line of over {LINE_BYTES} bytes"):
        read_matrix_market(_write(tmp_path, REAL + "1 1 1\n% c\n%" + " " * 3 * BLOCK_BYTES))


@pytest.mark.parametrize("kept", [5, 30, -9, -3])
def test_truncated_gzip_is_refused(tmp_path: Path, kept: int) -> None:
    data = gzip.compress((REAL + "2 2 2\n1 1 1.2345\n2 2 6.789\n").encode())
    path = _write(tmp_path, data[:kept], "a.mtx.gz")
    with pytest.raises(FileFormatError, match=r"found damaged or truncated gz data .*\nhint: copy or download"):
        read_matrix_market(path)


@pytest.mark.parametrize("position, cause", [(-6, "CRC check failed"), (10, "Error -3 while decompressing")])
def test_damaged_gzip_is_refused(tmp_path: Path, position: int, cause: str) -> None:
    """The checksum, and the type of the first compressed block."""
    data = bytearray(gzip.compress((REAL + "2 2 1\n1 1 1.2345\n").encode()))
    data[position] ^= 0b110
    with pytest.raises(FileFormatError, match=rf"damaged or truncated gz data .*{cause}"):
        read_matrix_market(_write(tmp_path, bytes(data), "a.mtx.gz"))


def test_gzip_and_plain_text_under_the_name_of_the_other(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"hint: .*rename it without \.gz"):
        read_matrix_market(_write(tmp_path, REAL + "1 1 0\n", "a.mtx.gz"))
    with pytest.raises(FileFormatError, match=r"found gz-compressed data.*\nhint: .*ends in \.gz"):
        read_matrix_market(_write(tmp_path, gzip.compress(REAL.encode()), "a.mtx"))


@pytest.mark.parametrize("name", ["missing.mtx", "missing.mtx.gz"])
def test_a_missing_file_is_the_ordinary_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileNotFoundError, match=name):
        read_matrix_market(tmp_path / name)


def test_a_directory_is_the_ordinary_error(tmp_path: Path) -> None:
    with pytest.raises((IsADirectoryError, PermissionError)):
        read_matrix_market(tmp_path)
