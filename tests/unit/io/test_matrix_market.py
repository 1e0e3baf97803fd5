"""What a Matrix Market file means, and that every kind of bad file is refused."""

import bz2
import gzip
import lzma
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
from hypothesis import given
from hypothesis import strategies as st

from finchsched.errors import DtypeError, FileFormatError
from finchsched.io import CoordinateArray, read_matrix_market
from finchsched.io.text_bulk import bulk_columns, find_table
from finchsched.io.text_source import BLOCK_BYTES, LINE_BYTES

BANNER = "%%MatrixMarket matrix coordinate "
REAL = BANNER + "real general\n"
INTEGER = BANNER + "integer general\n"
MAX = np.uint64(2**64 - 1)
LINE_BY_LINE = "\f\n"  # a blank line with white space that is unusual enough to be parsed with care


def _write(folder: Path, text: str | bytes, name: str = "a.mtx") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def _coordinate(folder: Path, header: str, body: str) -> CoordinateArray:
    matrix = read_matrix_market(_write(folder, f"%%MatrixMarket matrix coordinate {header}\n{body}"))
    assert isinstance(matrix, CoordinateArray)
    return matrix


def _array(folder: Path, header: str, body: str) -> list[Any]:
    matrix = read_matrix_market(_write(folder, f"%%MatrixMarket matrix array {header}\n{body}"))
    assert isinstance(matrix, np.ndarray)
    assert matrix.flags.c_contiguous
    return matrix.tolist()


def _dense(matrix: CoordinateArray) -> list[Any]:
    full = np.zeros(matrix.shape, dtype=matrix.values.dtype)
    np.add.at(full, matrix.coordinates, matrix.values)
    return full.tolist()


# ---------------------------------------------------------------------------------------------------------------------
# The data folder


def test_comments_and_blank_lines_in_the_body_change_nothing(data_dir: Path) -> None:
    """SciPy cannot read the jumbled file; it holds the entries of the plain one in another order."""
    plain = read_matrix_market(data_dir / "matrices" / "west0067.mtx")
    jumbled = read_matrix_market(data_dir / "edge" / "west0067_jumbled.mtx")
    assert isinstance(plain, CoordinateArray) and isinstance(jumbled, CoordinateArray)
    assert plain.coordinates[0].tolist() != jumbled.coordinates[0].tolist()
    assert _dense(plain) == _dense(jumbled)


# ---------------------------------------------------------------------------------------------------------------------
# What a header means


@pytest.mark.parametrize(
    "header, body, expected",
    [
        ("real general", "1 1 .5\n1 2 -2e3\n", [[0.5, -2000.0], [0.0, 0.0]]),
        ("double general", "1 1 .5\n1 2 -2d3\n", [[0.5, -2000.0], [0.0, 0.0]]),
        ("integer general", "1 1 5\n1 2 -7\n", [[5, -7], [0, 0]]),
        ("unsigned-integer symmetric", "1 1 0\n2 1 18446744073709551615\n", [[np.uint64(0), MAX], [MAX, np.uint64(0)]]),
        ("complex general", "1 1 5 1\n1 2 -7 0\n", [[5 + 1j, -7 + 0j], [0j, 0j]]),
        ("pattern general", "1 1\n1 2\n", [[1.0, 1.0], [0.0, 0.0]]),
        ("real symmetric", "1 1 5\n2 1 3\n", [[5.0, 3.0], [3.0, 0.0]]),
        ("integer symmetric", "1 1 5\n2 1 3\n", [[5, 3], [3, 0]]),
        ("complex symmetric", "1 1 5 1\n2 1 3 2\n", [[5 + 1j, 3 + 2j], [3 + 2j, 0j]]),
        ("pattern symmetric", "1 1\n2 1\n", [[1.0, 1.0], [1.0, 0.0]]),
        ("real skew-symmetric", "1 1 0\n2 1 3\n", [[0.0, -3.0], [3.0, 0.0]]),
        ("integer skew-symmetric", "1 1 0\n2 1 3\n", [[0, -3], [3, 0]]),
        ("complex skew-symmetric", "1 1 0 0\n2 1 3 2\n", [[0j, -3 - 2j], [3 + 2j, 0j]]),
        ("pattern skew-symmetric", "2 1\n2 1\n", [[0.0, -2.0], [2.0, 0.0]]),
        ("real hermitian", "1 1 5\n2 1 3\n", [[5.0, 3.0], [3.0, 0.0]]),
        ("integer hermitian", "1 1 5\n2 1 3\n", [[5, 3], [3, 0]]),
        ("complex hermitian", "1 1 5 0\n2 1 3 2\n", [[5 + 0j, 3 - 2j], [3 + 2j, 0j]]),
        ("pattern hermitian", "1 1\n2 1\n", [[1.0, 1.0], [1.0, 0.0]]),
    ],
)
def test_coordinate_header(tmp_path: Path, header: str, body: str, expected: list[Any]) -> None:
    matrix = _coordinate(tmp_path, header, "2 2 2\n" + body)
    assert _dense(matrix) == expected
    assert matrix.values.dtype == np.array(expected).dtype
    again = read_matrix_market(_write(tmp_path, f"%MatrixMarket MATRIX coordinate {header.upper()}\n\n2 2 2\n{body}"))
    assert isinstance(again, CoordinateArray) and _dense(again) == expected
    if "d3" not in body:  # SciPy 1.17 reads 2d3 as 2.0
        theirs = scipy.io.mmread(tmp_path / "a.mtx")
        assert (theirs.toarray().tolist(), theirs.dtype) == (expected, matrix.values.dtype)


@pytest.mark.parametrize(
    "header, body, expected",
    [
        ("real general", "2 3\n1\n2\n3\n4\n5\n6\n", [[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]),
        ("integer general", "2 1\n1\n9007199254740993\n", [[1], [9007199254740993]]),
        ("complex general", "1 2\n1 2\n3 4\n", [[1 + 2j, 3 + 4j]]),
        ("real symmetric", "2 2\n1\n2\n3\n", [[1.0, 2.0], [2.0, 3.0]]),
        ("integer symmetric", "3 3\n1\n2\n3\n4\n5\n6\n", [[1, 2, 3], [2, 4, 5], [3, 5, 6]]),
        ("complex symmetric", "2 2\n1 1\n2 2\n3 3\n", [[1 + 1j, 2 + 2j], [2 + 2j, 3 + 3j]]),
        ("real skew-symmetric", "3 3\n1\n2\n3\n", [[0.0, -1.0, -2.0], [1.0, 0.0, -3.0], [2.0, 3.0, 0.0]]),
        ("integer skew-symmetric", "1 1\n", [[0]]),
        ("complex skew-symmetric", "2 2\n1 2\n", [[0j, -1 - 2j], [1 + 2j, 0j]]),
        ("complex hermitian", "2 2\n1 0\n2 2\n3 0\n", [[1 + 0j, 2 - 2j], [2 + 2j, 3 + 0j]]),
        ("real hermitian", "2 2\n1\n2\n3\n", [[1.0, 2.0], [2.0, 3.0]]),
        ("integer hermitian", "2 2\n1\n2\n3\n", [[1, 2], [2, 3]]),
    ],
)
def test_array_header(tmp_path: Path, header: str, body: str, expected: list[Any]) -> None:
    assert _array(tmp_path, header, body) == expected
    assert scipy.io.mmread(tmp_path / "a.mtx").tolist() == expected


def test_upper_and_lower_case_comments_and_line_ends(tmp_path: Path) -> None:
    lines = [
        "%%matrixmarket MATRIX Coordinate Integer GENERAL",
        "%",
        "",
        "  2 3  2",
        "",
        "% c",
        " 1\t3 4 ",
        " % d",
        "2 1 -5",
    ]
    matrix = read_matrix_market(_write(tmp_path, "\r\n".join(lines)))
    assert isinstance(matrix, CoordinateArray)
    assert (matrix.shape, _dense(matrix)) == ((2, 3), [[0, 0, 4], [-5, 0, 0]])


@pytest.mark.parametrize(
    "field, dtype", [("real", np.float64), ("integer", np.int64), ("complex", np.complex128), ("pattern", np.float64)]
)
@pytest.mark.parametrize("body", ["", "\n \n", "% c\n"])
def test_no_entries(tmp_path: Path, field: str, dtype: type, body: str) -> None:
    matrix = _coordinate(tmp_path, f"{field} general", "2 3 0\n" + body)
    assert (matrix.coordinates[0].size, matrix.coordinates[1].size, matrix.values.size) == (0, 0, 0)
    assert (matrix.coordinates[0].dtype, matrix.coordinates[1].dtype, matrix.values.dtype) == (
        np.int64,
        np.int64,
        dtype,
    )


def test_mirrored_entries_follow_the_stored_ones_and_repeated_ones_stay(tmp_path: Path) -> None:
    matrix = _coordinate(tmp_path, "integer symmetric", "3 3 4\n3 1 7\n2 2 0\n1 2 5\n3 1 1\n")
    assert matrix.coordinates[0].tolist() == [2, 1, 0, 2, 0, 1, 0]
    assert matrix.coordinates[1].tolist() == [0, 1, 1, 0, 2, 0, 2]
    assert matrix.values.tolist() == [7, 0, 5, 1, 7, 5, 1]


@pytest.mark.parametrize("ending", ["", "% a comment\n", LINE_BY_LINE])
def test_integers_are_exact_to_the_limits_of_int64(tmp_path: Path, ending: str) -> None:
    values = [2**63 - 1, -(2**63), 2**53 + 1, 10**18, -(10**18), 10**18 - 1, 0]
    body = "".join(f"1 {k + 1} {value}\n" for k, value in enumerate(values))
    matrix = _coordinate(tmp_path, "integer general", f"1 9 9\n{body}1 8 +000000000000000000000012\n1 9 -0\n{ending}")
    assert matrix.values.tolist() == [*values, 12, 0]


@pytest.mark.parametrize("ending", ["", "% a comment\n", LINE_BY_LINE])
def test_reals_are_rounded_as_python_rounds_them(tmp_path: Path, ending: str) -> None:
    texts = ["0.1", "1e23", "-.5", "5.", "+2E-3", "inf", "-Inf", "NaN", "infinity", "4.9406564584124654e-324", "1e999"]
    texts += ["1.0D+3", "-2d-2", "1e0000000000000000000012", "0.00000000000000000000000000123", "-0", "-0.0e5"]
    body = "".join(f"1 {k + 1} {text}\n" for k, text in enumerate(texts))
    matrix = _coordinate(tmp_path, "real general", f"1 {len(texts)} {len(texts)}\n{body}{ending}")
    expected = [float(text.lower().replace("d", "e")) for text in texts]
    np.testing.assert_array_equal(matrix.values, expected)
    np.testing.assert_array_equal(np.signbit(matrix.values), np.signbit(expected))


@given(
    st.lists(
        st.one_of(
            st.floats().map(repr),
            st.floats(width=32).map(repr),
            st.from_regex(r"[+-]?[0-9]{0,22}\.[0-9]{1,22}([eEdD][+-]?[0-9]{1,3})?", fullmatch=True),
            st.from_regex(r"[+-]?[0-9]{1,20}\.?([eEdD][+-]?[0-9]{1,3})?", fullmatch=True),
        ),
        min_size=1,
    )
)
def test_reals_in_bulk(tokens: list[str]) -> None:
    """Every decimal number is rounded once, whichever way it takes."""
    table = find_table("\n".join(tokens).encode(), 1)
    assert table is not None
    (values,) = bulk_columns(table, ["real"]) or [None]
    assert values is not None
    expected = np.array([float(token.lower().replace("d", "e")) for token in tokens])
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(np.signbit(values), np.signbit(expected))


def test_a_sum_of_powers_that_is_almost_halfway_is_rounded_once() -> None:
    """17 digits near the middle of two float64: rounding through a wider type would round some of them twice."""
    middles = [(2**53 + 2 * k + 1) * 2**9 for k in range(2000)]
    tokens = [f"{middle + step}e-{power}" for middle in middles for step in (-1, 0, 1) for power in (0, 7, 22)]
    table = find_table(" \n".join(tokens).encode(), 1)
    assert table is not None
    (values,) = bulk_columns(table, ["real"]) or [None]
    np.testing.assert_array_equal(values, [float(token) for token in tokens])


@pytest.mark.parametrize("ending", ["", LINE_BY_LINE])
def test_integers_that_need_64_unsigned_bits(tmp_path: Path, ending: str) -> None:
    body = f"1 1 18446744073709551615\n1 2 9223372036854775807\n1 3 0\n{ending}"
    matrix = _coordinate(tmp_path, "integer general", "1 3 3\n" + body)
    assert matrix.values.dtype == np.uint64
    assert matrix.values.tolist() == [2**64 - 1, 2**63 - 1, 0]


@pytest.mark.parametrize("last, dtype", [("3", np.uint64), ("-3", None)])
def test_a_large_integer_in_one_block_and_a_negative_one_in_another(tmp_path: Path, last: str, dtype: Any) -> None:
    count = 3 * BLOCK_BYTES // 8
    lines = ["1 1 18446744073709551615", *("1 2 1" for _ in range(count)), f"1 1 {last}"]
    path = _write(tmp_path, f"{INTEGER}1 2 {len(lines)}\n" + "\n".join(lines))
    if dtype is not None:
        matrix = read_matrix_market(path)
        assert isinstance(matrix, CoordinateArray) and matrix.values.dtype == dtype
        assert (int(matrix.values[0]), int(matrix.values[-1])) == (2**64 - 1, 3)
        return
    with pytest.raises(FileFormatError, match=r"line 3: found 18446744073709551615 .* there are negative ones"):
        read_matrix_market(path)


@pytest.mark.parametrize(
    "field, values, dtype, expected",
    [
        ("integer", "-1 3 9007199254740993", "float64", [-1.0, 3.0, 9007199254740992.0]),
        ("integer", "-inf 1.5 99999999999999999999999", "float32", [-np.inf, 1.5, np.float32(1e23)]),
        ("integer", "1 0 1", "bool", [True, False, True]),
        ("integer", "1 0 4", "uint64", [1, 0, 4]),
        ("integer", "1 0 4", "complex128", [1, 0, 4]),
        ("real", "1.0 0e0 -40e-1", "int64", [1, 0, -4]),
        ("real", "0.1 nan 1e300", "float32", [np.float32(0.1), np.nan, np.inf]),
        ("pattern", "   ", "bool", [True, True, True]),
        ("pattern", "   ", "int64", [1, 1, 1]),
    ],
)
def test_dtype(tmp_path: Path, field: str, values: str, dtype: str, expected: list[Any]) -> None:
    body = "".join(f"1 {k + 1} {text}\n" for k, text in enumerate(values.split(" ")[:3]))
    path = _write(tmp_path, f"{BANNER}{field} general\n1 3 3\n{body}")
    matrix = read_matrix_market(path, np.dtype(dtype))
    assert isinstance(matrix, CoordinateArray) and matrix.values.dtype == dtype
    np.testing.assert_array_equal(matrix.values, expected)


@pytest.mark.parametrize(
    "field, value, dtype",
    [
        ("real", "1.5", "int64"),
        ("real", "nan", "int64"),
        ("real", "9223372036854775808", "int64"),
        ("integer", "-1", "uint64"),
        ("integer", "2", "bool"),
        ("integer", "18446744073709551615", "int64"),
        ("complex", "1 2", "float64"),
        ("complex", "1.5 0", "int64"),
    ],
)
def test_values_that_a_dtype_cannot_hold(tmp_path: Path, field: str, value: str, dtype: str) -> None:
    path = _write(tmp_path, f"{BANNER}{field} general\n1 1 1\n1 1 {value}\n")
    with pytest.raises(DtypeError, match=f"a.mtx: found the value .*, which {dtype} cannot hold"):
        read_matrix_market(path, np.dtype(dtype))


@pytest.mark.parametrize("name, compress", [("a.mtx.bz2", bz2.compress), ("a.MTX.XZ", lzma.compress)])
def test_other_compressions(tmp_path: Path, name: str, compress: Any) -> None:
    data = compress(b"%%MatrixMarket matrix coordinate pattern general\n1 2 1\n1 2\n")
    matrix = read_matrix_market(_write(tmp_path, data, name))
    assert isinstance(matrix, CoordinateArray) and _dense(matrix) == [[0.0, 1.0]]
    kind = name.lower().rpartition(".")[2]
    for broken in (data[:-6], data[:12] + b"...." + data[16:], b"plain text"):
        with pytest.raises(FileFormatError, match=f"damaged or truncated {kind} data"):
            read_matrix_market(_write(tmp_path, broken, name))
    with pytest.raises(FileFormatError, match=rf"found {kind}-compressed data.*\nhint: .*ends in \.{kind}"):
        read_matrix_market(_write(tmp_path, data, "b.mtx"))


def test_an_infinite_part_leaves_the_other_part_alone(tmp_path: Path) -> None:
    value = _coordinate(tmp_path, "complex general", "1 1 1\n1 1 2 inf\n").values[0]
    assert (value.real, value.imag) == (2.0, np.inf)


def test_a_file_of_several_blocks(tmp_path: Path) -> None:
    """Blocks end between lines; an odd line in one block does not disturb the others; line numbers go on counting."""
    count = 3 * BLOCK_BYTES // 10
    lines = [f"{k + 1} 1 {k * 7919}" for k in range(count)]
    lines[count // 2] = "% odd\n\n" + lines[count // 2]
    path = _write(tmp_path, f"%%MatrixMarket matrix coordinate integer general\n{count} 1 {count}\n" + "\n".join(lines))
    assert path.stat().st_size > 3 * BLOCK_BYTES
    matrix = read_matrix_market(path)
    assert isinstance(matrix, CoordinateArray)
    np.testing.assert_array_equal(matrix.coordinates[0], np.arange(count))
    np.testing.assert_array_equal(matrix.values, np.arange(count) * 7919)
    lines[-1] = "1 1 x"
    _write(tmp_path, f"%%MatrixMarket matrix coordinate integer general\n{count} 1 {count}\n" + "\n".join(lines))
    with pytest.raises(FileFormatError, match=rf"line {count + 4}: found 'x' as integer value"):
        read_matrix_market(path)


@pytest.mark.parametrize("name", ["a.mtx.gz", "A.MTX.GZ"])
def test_gzip(tmp_path: Path, name: str) -> None:
    text = b"%%MatrixMarket matrix coordinate pattern general\n1 2 1\n1 2\n"
    matrix = read_matrix_market(str(_write(tmp_path, gzip.compress(text), name)))
    assert isinstance(matrix, CoordinateArray) and _dense(matrix) == [[0.0, 1.0]]


_TOKENS = st.one_of(
    st.integers(-3, 12).map(str),
    st.integers(-(2**65), 2**65).map(str),
    st.floats().map(repr),
    st.text(alphabet="0123456789+-.eEinfaINFD_x", min_size=1, max_size=5),
)


@given(
    st.sampled_from(["real", "integer", "complex", "pattern"]),
    st.lists(st.lists(_TOKENS, min_size=2, max_size=4).map(" ".join), min_size=1, max_size=4),
)
def test_bulk_and_line_by_line_agree(tmp_path_factory: pytest.TempPathFactory, field: str, lines: list[str]) -> None:
    """Neither the way of parsing nor a comment changes what is read, or why it is refused."""
    folder = tmp_path_factory.mktemp("agree")
    text = f"%%MatrixMarket matrix coordinate {field} general\n12 12 {len(lines)}\n" + "\n".join(lines) + "\n"
    outcome = _outcome(_write(folder, text))
    for ending in (LINE_BY_LINE, " % c\n"):
        np.testing.assert_equal(_outcome(_write(folder, text + ending)), outcome)


def _outcome(path: Path) -> object:
    try:
        matrix = read_matrix_market(path)
    except FileFormatError as error:
        return str(error)
    assert isinstance(matrix, CoordinateArray)
    return [*matrix.coordinates, matrix.values]


# ---------------------------------------------------------------------------------------------------------------------
# What is refused

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
    matrix = _coordinate(tmp_path, "real general", f"{2**63 - 1} {10**12} 1\n{2**63 - 1} {10**12} 5\n")
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
