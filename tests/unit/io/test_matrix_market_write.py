"""What is written reads back as the same matrix, by us and by SciPy; nothing half-written is left behind."""

import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
from hypothesis import given
from hypothesis import strategies as st

from finchsched.ast.format import Level, is_sparse
from finchsched.errors import FormatError
from finchsched.formats.coordinates import coordinates_of
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.formats.levels import Dense, SparseList
from finchsched.io import matrix_market_write
from finchsched.io.entries import CoordinateArray, dense_tensor, sparse_tensor
from finchsched.io.matrix_market import read_matrix_market
from finchsched.io.matrix_market_write import write_matrix_market
from tensors_for_files import DTYPES, formats, same_tensor, same_values, tensor

CSR = (Dense(), SparseList())
DENSE = (Dense(), Dense())


def _read(path: Path, like: FiberTensor) -> FiberTensor:
    found = read_matrix_market(path, like.val.dtype)
    if isinstance(found, np.ndarray):
        return dense_tensor(found, "")
    return sparse_tensor(found, (like.type.levels, like.type.perm), "")


def _matrix(rows: list[list[Any]], *, stored: tuple[Level, ...] = DENSE, dtype: Any = None) -> FiberTensor:
    """The matrix; in sparse levels without zeros."""
    array = np.array(rows, dtype)
    if stored == DENSE:
        return dense_tensor(array, "")
    places = np.nonzero(array)
    return sparse_tensor(CoordinateArray(array.shape, places, array[places]), (stored, (0, 1)), "")


@pytest.mark.parametrize("levels, perm", list(formats(2)))
def test_formats(tmp_path: Path, levels: tuple[Level, ...], perm: tuple[int, ...]) -> None:
    """Every stored entry comes back; a dense matrix comes back dense, by rows."""
    t = tensor(np.float64, (3, 5), levels, perm)
    write_matrix_market(tmp_path / "a.mtx", t)
    again = _read(tmp_path / "a.mtx", t)
    if is_sparse(t.type):
        assert same_tensor(again, t)
    else:
        order = np.lexsort(coordinates_of(t)[::-1])
        assert same_values(again.val, t.val[order])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("levels", [CSR, DENSE], ids=["sparse", "dense"])
@pytest.mark.parametrize("shape", [(6, 7), (0, 3), (3, 0), (0, 0)], ids=str)
def test_element_types(tmp_path: Path, dtype: Any, levels: tuple[Level, ...], shape: tuple[int, ...]) -> None:
    t = tensor(dtype, shape, levels, (0, 1))
    write_matrix_market(tmp_path / "a.mtx", t)
    assert same_tensor(_read(tmp_path / "a.mtx", t), t)
    plain = read_matrix_market(tmp_path / "a.mtx")
    values = plain if isinstance(plain, np.ndarray) else plain.values
    kept = {"f": np.float64, "c": np.complex128, "u": np.uint64}.get(t.val.dtype.kind, np.int64)
    if levels == CSR and t.val.dtype == np.bool and not t.stored:
        kept = np.float64  # of the field pattern, as all that is stored is True
    assert values.dtype == kept
    np.testing.assert_array_equal(values.reshape(-1), t.val.astype(kept))
    if levels == CSR or shape[0]:  # SciPy 1.17 divides by zero where an array has no rows
        theirs = scipy.io.mmread(tmp_path / "a.mtx")
        assert theirs.shape == shape
        ours = np.zeros(shape, kept)
        ours[coordinates_of(t)] = t.val
        np.testing.assert_array_equal(theirs if levels == DENSE else theirs.toarray(), ours)


@pytest.mark.parametrize(
    "t, symmetry, comment, expected",
    [
        (
            _matrix([[0.1, 0], [1e23, 0]], stored=CSR),
            "general",
            "",
            "coordinate real general\n2 2 2\n1 1 0.1\n2 1 1e+23\n",
        ),
        (_matrix([[1, 0], [-3, 0]], stored=CSR), "general", "", "coordinate integer general\n2 2 2\n1 1 1\n2 1 -3\n"),
        (
            _matrix([[True, False], [True, False]], stored=CSR),
            "general",
            "",
            "coordinate pattern general\n2 2 2\n1 1\n2 1\n",
        ),
        (_matrix([[True, False]]), "general", "", "array integer general\n1 2\n1\n0\n"),
        (_matrix([[1, 2], [3, 4]]), "general", "", "array integer general\n2 2\n1\n3\n2\n4\n"),
        (_matrix([[1, 2], [2, 4]]), "auto", "", "array integer symmetric\n2 2\n1\n2\n4\n"),
        (_matrix([[0, -2], [2, 0]]), "skew-symmetric", "", "array integer skew-symmetric\n2 2\n2\n"),
        (
            _matrix([[0, -2], [2, 0]], stored=CSR),
            "auto",
            "two\nlines, é",
            "coordinate integer skew-symmetric\n% two\n% lines, é\n2 2 1\n2 1 2\n",
        ),
        (
            _matrix([[1.5, 0], [0, np.nan]], stored=CSR),
            "auto",
            "",
            "coordinate real symmetric\n2 2 2\n1 1 1.5\n2 2 nan\n",
        ),
    ],
)
def test_texts(tmp_path: Path, t: FiberTensor, symmetry: str, comment: str, expected: str) -> None:
    write_matrix_market(tmp_path / "a.mtx", t, symmetry=symmetry, comment=comment)
    assert (tmp_path / "a.mtx").read_text(encoding="utf-8") == "%%MatrixMarket matrix " + expected


def test_a_bool_that_is_stored_and_false(tmp_path: Path) -> None:
    t = tensor(np.bool, (4, 5), CSR, (0, 1))
    assert not t.val.all()
    write_matrix_market(tmp_path / "a.mtx", t)
    assert (tmp_path / "a.mtx").read_text().startswith("%%MatrixMarket matrix coordinate integer general\n")
    assert same_tensor(_read(tmp_path / "a.mtx", t), t)


# ---------------------------------------------------------------------------------------------- symmetry


@st.composite
def _nearly_symmetric(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """A matrix and which entries are stored; often symmetric, skew-symmetric, or nearly so."""
    size = draw(st.integers(1, 4))
    count = size * size
    values = np.array(draw(st.lists(st.integers(-2, 2), min_size=count, max_size=count))).reshape(size, size)
    stored = np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count))).reshape(size, size)
    sign = draw(st.sampled_from([1, -1, 0]))
    if sign:
        lower = np.tril(np.ones((size, size), bool))
        values = np.where(lower, values, sign * values.T)
        stored = np.where(lower, stored, stored.T)
    if sign == -1 and draw(st.booleans()):
        np.fill_diagonal(values, 0)
    return values, stored


@given(_nearly_symmetric(), st.booleans())
def test_symmetry_is_found_where_it_is_and_nowhere_else(
    tmp_path_factory: pytest.TempPathFactory, matrix: tuple[np.ndarray, np.ndarray], dense: bool
) -> None:
    path = tmp_path_factory.mktemp("symmetry") / "a.mtx"
    values, stored = matrix
    if dense:
        stored = np.ones_like(stored)
        t = dense_tensor(values.copy(), "")
    else:
        places = np.nonzero(stored)
        t = sparse_tensor(CoordinateArray(values.shape, places, values[places]), (CSR, (0, 1)), "")
    values = np.where(stored, values, 0)
    balanced = bool((stored == stored.T).all())
    holds = {
        "symmetric": balanced and bool((values == values.T).all()),
        "hermitian": balanced and bool((values == values.T).all()),
        "skew-symmetric": balanced and bool((values == -values.T).all()),
    }
    for symmetry, expected in holds.items():
        if expected:
            write_matrix_market(path, t, symmetry=symmetry)
            assert path.read_text().split("\n")[0].endswith(symmetry)
            assert same_tensor(_read(path, t), t)
        else:
            with pytest.raises(FormatError, match=rf'a.mtx: the matrix is not {symmetry}\nhint: symmetry="auto"'):
                write_matrix_market(path, t, symmetry=symmetry)
    write_matrix_market(path, t, symmetry="auto")
    found = path.read_text().split("\n")[0].split()[-1]
    assert found == ("symmetric" if holds["symmetric"] else "skew-symmetric" if holds["skew-symmetric"] else "general")
    assert same_tensor(_read(path, t), t)


@pytest.mark.skipif(np.dtype(complex) not in DTYPES, reason="tensors of complex numbers are not supported yet")
@pytest.mark.parametrize("stored", [CSR, DENSE])
@pytest.mark.parametrize(
    "rows, expected",
    [
        ([[1, 2 - 1j], [2 + 1j, 3]], "hermitian"),
        ([[1, 2 - 1j], [2 - 1j, 3j]], "symmetric"),
        ([[0, -2 + 1j], [2 - 1j, 0]], "skew-symmetric"),
        ([[1j, 2 - 1j], [2 + 1j, 3]], "general"),
    ],
)
def test_complex_symmetries(tmp_path: Path, rows: list[Any], stored: tuple[Level, ...], expected: str) -> None:
    t = _matrix(rows, stored=stored, dtype=complex)
    write_matrix_market(tmp_path / "a.mtx", t, symmetry="auto")
    assert (tmp_path / "a.mtx").read_text().split("\n")[0].split()[-1] == expected
    np.testing.assert_array_equal(_read(tmp_path / "a.mtx", t).val, t.val)


def test_a_skew_symmetry_that_only_wraps_around_is_none(tmp_path: Path) -> None:
    least = -(2**63)
    t = _matrix([[0, least], [least, 5]], stored=CSR)
    with pytest.raises(FormatError, match="is not skew-symmetric"):
        write_matrix_market(tmp_path / "a.mtx", t, symmetry="skew-symmetric")


def test_explicit_zeros_on_the_diagonal_of_a_skew_symmetric_matrix(tmp_path: Path) -> None:
    index = np.array([0, 1, 1])
    t = sparse_tensor(CoordinateArray((2, 2), (index, index[::-1]), np.array([-7, 0, 7])), (CSR, (0, 1)), "")
    write_matrix_market(tmp_path / "a.mtx", t, symmetry="skew-symmetric")
    assert (tmp_path / "a.mtx").read_text().endswith("\n2 2 2\n2 1 7\n2 2 0\n")
    assert same_tensor(_read(tmp_path / "a.mtx", t), t)


# ---------------------------------------------------------------------------------------------- refusals and files


@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 4)])
def test_other_numbers_of_axes(tmp_path: Path, shape: tuple[int, ...]) -> None:
    t = tensor(np.float64, shape, (SparseList(),) * len(shape), tuple(range(len(shape))))
    with pytest.raises(FormatError, match=rf"a.mtx: a Matrix Market file holds 2 axes, this tensor has {len(shape)}"):
        write_matrix_market(tmp_path / "a.mtx", t)
    assert os.listdir(tmp_path) == []


def test_another_fill(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"a.mtx: a Matrix Market file has the fill 0, this tensor has inf"):
        write_matrix_market(tmp_path / "a.mtx", tensor(np.float64, (2, 3), CSR, (0, 1), np.inf))
    dense = tensor(np.float64, (2, 3), DENSE, (0, 1), np.inf)  # nothing has the fill as its value because of it
    write_matrix_market(tmp_path / "a.mtx", dense)
    assert same_values(_read(tmp_path / "a.mtx", dense).val, dense.val)


def test_an_unknown_symmetry(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="found symmetry='odd', expected auto or general or symmetric or"):
        write_matrix_market(tmp_path / "a.mtx", _matrix([[1]]), symmetry="odd")
    with pytest.raises(FormatError, match="the matrix is not symmetric"):
        write_matrix_market(tmp_path / "a.mtx", _matrix([[1, 2]]), symmetry="symmetric")


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz"])
def test_compression(tmp_path: Path, suffix: str) -> None:
    t = tensor(np.float64, (30, 40), CSR, (0, 1))
    path = tmp_path / f"a.mtx{suffix}"
    write_matrix_market(path, t)
    assert same_tensor(_read(path, t), t)
    before = path.read_bytes()
    write_matrix_market(path, t)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]
    if suffix == ".gz":
        assert gzip.decompress(before).startswith(b"%%MatrixMarket")


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.mtx"
    path.write_text("old")

    def fail(*args: object) -> None:
        raise OSError("no space")

    monkeypatch.setattr(matrix_market_write, "write_rows", fail)
    with pytest.raises(OSError, match="no space"):
        write_matrix_market(path, _matrix([[1]]))
    assert (os.listdir(tmp_path), path.read_text()) == (["a.mtx"], "old")


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_matrix_market(tmp_path / "none" / "a.mtx", _matrix([[1]]))
    (tmp_path / "b.mtx").mkdir()
    with pytest.raises(IsADirectoryError, match=r"b\.mtx is a folder"):
        write_matrix_market(tmp_path / "b.mtx", _matrix([[1]]))
    assert os.listdir(tmp_path) == ["b.mtx"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.mtx").write_text("old")
    (tmp_path / "link.mtx").symlink_to(tmp_path / "real.mtx")
    write_matrix_market(tmp_path / "link.mtx", _matrix([[1]]))
    assert (tmp_path / "link.mtx").is_symlink()
    assert (tmp_path / "real.mtx").read_text().startswith("%%MatrixMarket")
