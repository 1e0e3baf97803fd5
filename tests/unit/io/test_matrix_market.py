"""What a Matrix Market file means, and that every kind of bad file is refused."""

import bz2
import gzip
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
from hypothesis import given
from hypothesis import strategies as st

from finchsched.errors import DtypeError, FileFormatError
from finchsched.io.entries import CoordinateArray
from finchsched.io.matrix_market import read_matrix_market
from finchsched.io.text_source import BLOCK_BYTES

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
