"""`read` and `write`: what a file's name says, and options that do not fit it."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import finchsched as fs
from finchsched.algebra.dtypes import FLOAT32
from finchsched.errors import DensifyError, DtypeError, FileFormatError, FormatError
from tensors_for_files import DTYPES, same_tensor

BANNER = "%%MatrixMarket matrix coordinate "
TEXT_SUFFIXES = ["", ".gz", ".bz2", ".xz", ".GZ"]


@pytest.fixture(autouse=True)
def _uncompiled() -> Any:
    with fs.config(backend="python"):
        yield


def _file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def _sample() -> fs.Tensor:
    return fs.asarray(sp.csr_array(np.array([[0, 1.5, 0], [0, 0, 0], [2.0, 0, -0.1]])))


@pytest.mark.parametrize("suffix", [f".{kind}{suffix}" for kind in ("mtx", "MTX", "tns") for suffix in TEXT_SUFFIXES])
def test_text(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    fs.write(path, _sample(), comment="a comment")
    again = fs.read(str(path))
    assert again.format == "csr"
    np.testing.assert_array_equal(again.to_numpy(), _sample().to_numpy())
    assert again.nnz == 3


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_archives(tmp_path: Path, compressed: bool, dtype: Any) -> None:
    t = fs.asarray(np.array([[0, 1, 0], [0, 0, 1]], dtype)).asformat("csc")
    fs.write(tmp_path / "a.npz", t, compressed=compressed)
    assert same_tensor(fs.read(tmp_path / "a.npz").data, t.data)
    fs.write(tmp_path / "b.npz", t, compressed=compressed, scipy=True)
    assert sp.load_npz(tmp_path / "b.npz").format == "csc"
    again = fs.read(tmp_path / "b.npz")
    assert (again.format, again.dtype) == ("csc", t.dtype)
    np.testing.assert_array_equal(again.to_numpy(), t.to_numpy())


def test_default_formats(tmp_path: Path) -> None:
    assert fs.read(_file(tmp_path, "a.mtx", BANNER + "real general\n2 3 1\n1 1 5\n")).format == "csr"
    array = "%%MatrixMarket matrix array real general\n2 1\n1\n2\n"
    assert fs.read(_file(tmp_path, "a.mtx", array)).format == "dense"
    assert fs.read(_file(tmp_path, "a.tns", "1 1 5\n")).format == "csr"
    assert fs.read(_file(tmp_path, "a.tns", "1 1 1 5\n")).format == "csf"
    assert fs.read(_file(tmp_path, "a.tns", "1 5\n")).format == "SparseList(Element)"


def test_a_matrix_of_mostly_empty_rows_has_no_pointers_for_them(tmp_path: Path) -> None:
    for rows, expected in ((2**20, "csr"), (2**20 + 17, "dcsr"), (10**15, "dcsr")):
        t = fs.read(_file(tmp_path, "a.mtx", BANNER + f"real general\n{rows} 3 1\n{rows} 1 5\n"))
        assert (t.format, t.shape, t.nnz) == (expected, (rows, 3), 1)
    with fs.config(densify=10):
        assert fs.read(_file(tmp_path, "a.mtx", BANNER + "real general\n11 3 1\n1 1 5\n")).format == "dcsr"


@pytest.mark.parametrize("format", ["csr", "csc", "dcsr", "dcsc", "dense", "SparseList(Dense(Element)), perm=(1, 0)"])
@pytest.mark.parametrize("name", ["a.mtx", "b.mtx", "a.tns", "a.npz", "b.npz"])
def test_formats(tmp_path: Path, format: str, name: str) -> None:
    t = _sample()
    fs.write(tmp_path / name, t.asformat("dense") if name == "b.mtx" else t, scipy=name == "b.npz")
    again = fs.read(tmp_path / name, format=format)
    assert again.format == format
    np.testing.assert_array_equal(again.to_numpy(), t.to_numpy())


def test_dense_formats_have_a_limit(tmp_path: Path) -> None:
    path = _file(tmp_path, "a.mtx", BANNER + "real general\n1000000000 1000000000 1\n1 1 5\n")
    with pytest.raises(DensifyError):
        fs.read(path, format="dense")
    with pytest.raises(FormatError, match="found the format 'x', expected one of"):
        fs.read(path, format="x")


@pytest.mark.parametrize("dtype", ["float32", np.float32, np.dtype("float32"), FLOAT32])
def test_dtype(tmp_path: Path, dtype: Any) -> None:
    text = BANNER + "real general\n2 2 1\n1 1 0.1\n"
    for path in (_file(tmp_path, "a.mtx", text), _file(tmp_path, "a.tns", "1 1 0.1\n")):
        t = fs.read(path, dtype=dtype)
        assert (t.dtype, t.data.val.tolist()) == ("float32", [float(np.float32(0.1))])
    fs.write(tmp_path / "a.npz", t)
    assert fs.read(tmp_path / "a.npz", dtype=float).dtype == "float64"


def test_bool_patterns(tmp_path: Path) -> None:
    t = fs.asarray(sp.csr_array(np.array([[True, False], [True, True]])))
    fs.write(tmp_path / "a.mtx", t, symmetry="general")
    assert "pattern" in (tmp_path / "a.mtx").read_text()
    assert same_tensor(fs.read(tmp_path / "a.mtx", dtype=bool).data, t.data)
    assert fs.read(tmp_path / "a.mtx").dtype == "float64"


def test_types_that_are_none(tmp_path: Path) -> None:
    path = _file(tmp_path, "a.mtx", BANNER + "real general\n2 2 1\n1 1 0.1\n")
    for dtype in ("float16", "nothing", "O", "M8[s]", object()):
        with pytest.raises(DtypeError, match="element type"):
            fs.read(path, dtype=dtype)
    with pytest.raises(DtypeError, match=r"a\.mtx: found the value 0\.1, which int64 cannot hold"):
        fs.read(path, dtype="int64")


def test_shape(tmp_path: Path) -> None:
    path = _file(tmp_path, "a.tns", "1 1 0.1\n")
    assert fs.read(path, shape=(3, 4)).shape == (3, 4)
    fs.write(tmp_path / "a.mtx", fs.read(path))
    with pytest.raises(FormatError, match=r"a\.mtx: shape= is for \.tns files; a \.mtx file says its own shape"):
        fs.read(tmp_path / "a.mtx", shape=(3, 4))


@pytest.mark.parametrize("name", ["a", "a.txt", "a.mtx.zip", "a.gz", ".mtx.npz.gz", "mtx", "a.npy", ""])
def test_names_that_say_nothing(tmp_path: Path, name: str) -> None:
    for use in (lambda path: fs.read(path), lambda path: fs.write(path, _sample())):
        with pytest.raises(FileFormatError, match=r"found a name that ends in none of \.mtx, \.tns, \.npz\nhint: "):
            use(tmp_path / name)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "name, options, owners",
    [
        ("a.tns", {"symmetry": "auto"}, r"symmetry= is for \.mtx files"),
        ("a.npz", {"symmetry": "auto"}, r"symmetry= is for \.mtx files"),
        ("a.npz", {"comment": "x"}, r"comment= is for \.mtx and \.tns files"),
        ("a.mtx", {"compressed": False}, r"compressed= is for \.npz files"),
        ("a.mtx.gz", {"scipy": True}, r"scipy= is for \.npz files"),
    ],
)
def test_options_of_other_files(tmp_path: Path, name: str, options: dict[str, Any], owners: str) -> None:
    with pytest.raises(FormatError, match=rf"{name}: {owners}"):
        fs.write(tmp_path / name, _sample(), **options)
    assert os.listdir(tmp_path) == []


def test_what_is_no_tensor(tmp_path: Path) -> None:
    for thing in (np.zeros(3), fs.lazy(_sample()), None):
        with pytest.raises(DtypeError, match=rf"cannot write a {type(thing).__name__}\nhint: "):
            fs.write(tmp_path / "a.npz", thing)  # type: ignore[arg-type]


def test_any_tensor_in_an_archive(tmp_path: Path) -> None:
    for t in (fs.asarray(3.5), fs.asarray(np.arange(24).reshape(2, 3, 4)), _sample() + 1, _sample().T):
        fs.write(tmp_path / "a.npz", t)
        again = fs.read(tmp_path / "a.npz")
        assert same_tensor(again.data, t.data) and again.format == t.format


@pytest.mark.parametrize("name", ["none.mtx", "none.tns.gz", "none.npz"])
def test_missing_files(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileNotFoundError, match=name):
        fs.read(tmp_path / name)
