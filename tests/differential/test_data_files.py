"""Every file of the data folder is read as its manifest says, and comes back from every kind of file that can hold it.

Files of more than MOST_STORED entries are only read, unless FINCHSCHED_LARGE_FILES is set: writing takes longer.
"""

import gzip
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from numpy.typing import NDArray

import finchsched as fs
from differential.image_files import read_image
from finchsched.algebra.dtypes import ELEMENT_DTYPES
from finchsched.errors import DtypeError, FileFormatError
from finchsched.formats.coordinates import coordinates_of
from tensors_for_files import same_values

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("FINCHSCHED_DATA", ROOT.parent / "shared" / "data"))
MOST_STORED = 100_000 if "FINCHSCHED_LARGE_FILES" not in os.environ else 10**9
SUPPORTED = [dtype.name for dtype in ELEMENT_DTYPES]

REFUSED = {"matrix_fp32": r"line 7: found '-inf' as integer value, expected an integer\nhint: .*field real"}
"""The header says integer, but values include inf."""

UNSIGNED = ("matrix_uint64",)
"""Files of the field integer with a value up to 2**64 - 1; the manifest says int64."""

Entries = tuple[tuple[int, ...], list[NDArray[Any]], NDArray[Any]]


def _described(*kinds: str) -> list[Any]:
    if not (DATA / "manifest.json").is_file():
        return [pytest.param(None, marks=pytest.mark.skip(reason=f"no data sets in {DATA}: set FINCHSCHED_DATA"))]
    described = json.loads((DATA / "manifest.json").read_text(encoding="utf-8"))["datasets"]
    return [pytest.param(d, id=d["name"]) for d in described if not kinds or d["format"] in kinds]


def _canonical(t: fs.Tensor) -> Entries:
    """Shape, coordinates sorted by axis, and values."""
    coordinates = coordinates_of(t.data)
    order = np.lexsort(coordinates[::-1])
    return t.shape, [coordinate[order] for coordinate in coordinates], t.data.val[order]


def _same(a: Entries, b: Entries) -> bool:
    coordinates = all(np.array_equal(x, y) for x, y in zip(a[1], b[1], strict=True))
    return a[0] == b[0] and coordinates and same_values(a[2], b[2])


def _dtype(described: dict[str, Any]) -> str:
    if described["name"] in UNSIGNED:
        return "uint64"
    return "float64" if described["dtype"] == "pattern" else str(described["dtype"])


def _skip_unsupported(dtype: str, path: Path) -> None:
    """Where tensors do not have the element type yet, the file must be refused for that."""
    if dtype not in SUPPORTED:
        with pytest.raises(DtypeError, match=rf"{path.name}: element type {dtype} is not supported"):
            fs.read(path)
        pytest.skip(f"tensors of {dtype} are not supported yet")


def _check_round_trips(folder: Path, t: fs.Tensor) -> None:
    """Through every kind of file that can hold the tensor."""
    entries = _canonical(t)
    ways: list[tuple[str, dict[str, Any], dict[str, Any]]] = [("a.npz", {"compressed": False}, {})]
    if t.format != "dense":  # of a dense tensor, SciPy's files hold what is not zero
        ways.append(("b.npz", {"scipy": True}, {}))
    if t.dtype != "complex128":
        ways.append(("a.tns", {}, {"shape": t.shape, "dtype": t.dtype}))
    if t.ndim == 2:
        ways += [("a.mtx", {}, {"dtype": t.dtype}), ("b.mtx.gz", {"symmetry": "auto"}, {"dtype": t.dtype})]
    for name, writing, reading in ways:
        fs.write(folder / name, t, **writing)
        again = fs.read(folder / name, **reading)
        assert _same(_canonical(again), entries), name
        if name != "a.tns":
            assert again.format == t.format, name


@pytest.mark.parametrize("described", _described("matrix-market"))
def test_matrices(described: dict[str, Any], tmp_path: Path) -> None:
    path, dtype = DATA / described["path"], _dtype(described)
    if described["name"] in REFUSED:
        with pytest.raises(FileFormatError, match=REFUSED[described["name"]]):
            fs.read(path)
        t = fs.read(path, dtype="float64")
        assert (t.shape, t.nnz) == (tuple(described["shape"]), described["nnz"])
        return
    _skip_unsupported(dtype, path)
    t = fs.read(path)
    assert (t.shape, t.nnz, t.dtype) == (tuple(described["shape"]), described["nnz"], dtype)
    assert t.format == ("dense" if described["layout"] == "array" else "csr")
    if described["scipy_mmread"]:
        theirs = sp.csr_array(_scipys(path, described))
        theirs.sum_duplicates()
        np.testing.assert_array_equal(np.repeat(np.arange(t.shape[0]), np.diff(theirs.indptr)), _stored(t)[0])
        np.testing.assert_array_equal(theirs.indices, _stored(t)[1])
        np.testing.assert_array_equal(theirs.data, _stored(t)[2])
    if t.nnz <= MOST_STORED:
        _check_round_trips(tmp_path, t)


def _scipys(path: Path, described: dict[str, Any]) -> Any:
    read = scipy.io.mmread(path)
    return sp.coo_array(read) if described["layout"] == "array" else read


def _stored(t: fs.Tensor) -> list[NDArray[Any]]:
    """Rows, columns and values by rows; of a dense tensor, of what is not zero."""
    _, coordinates, values = _canonical(t)
    kept = values != 0 if t.format == "dense" else np.ones(len(values), bool)
    return [*(coordinate[kept] for coordinate in coordinates), values[kept]]


@pytest.mark.parametrize("described", _described("frostt"))
def test_tensors(described: dict[str, Any], tmp_path: Path) -> None:
    path, shape, dtype = DATA / described["path"], tuple(described["shape"]), described["dtype"]
    t = fs.read(path, shape=shape, dtype=dtype)
    assert (t.shape, t.nnz, t.dtype, t.format) == (shape, described["nnz"], dtype, "csf")
    inferred = fs.read(path)
    assert (inferred.nnz, inferred.dtype) == (t.nnz, "float64")
    assert all(small <= large for small, large in zip(inferred.shape, shape, strict=True))
    if described["shape_from"] == "largest index in the file":
        assert inferred.shape == shape
    np.testing.assert_array_equal(inferred.data.val, t.data.val)
    if t.nnz <= MOST_STORED:
        text = (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode()
        rows = [line.split() for line in text.splitlines() if line.strip() and not line.startswith("#")]
        coordinates = np.array([[int(word) - 1 for word in row[:-1]] for row in rows]).T
        order = np.lexsort(coordinates[::-1])
        values = np.array([float(row[-1]) for row in rows]).astype(dtype)
        assert described["duplicate_entries"] == 0
        assert _same(_canonical(t), (shape, list(coordinates[:, order]), values[order]))
        _check_round_trips(tmp_path, t)


@pytest.mark.parametrize("described", _described("idx", "npz", "csv", "png"))
def test_images(described: dict[str, Any], tmp_path: Path) -> None:
    """They are no tensor files; what is in them comes back from those that are."""
    path = DATA / described["path"]
    wanted = r"found the arrays images, expected" if path.suffix == ".npz" else r"a name that ends in none of"
    with pytest.raises(FileFormatError, match=wanted):
        fs.read(path)
    samples = read_image(path, described["format"])
    assert (samples.shape, samples.dtype) == (tuple(described["shape"]), described["dtype"])
    assert np.count_nonzero(samples) == described["nnz"]
    if samples.size > 5 * MOST_STORED:
        samples = samples[: max(1, 5 * MOST_STORED * len(samples) // samples.size)]
    held = samples if described["dtype"] in SUPPORTED else samples.astype(np.int64)
    dense = fs.asarray(held)
    fs.write(tmp_path / "a.npz", dense)
    np.testing.assert_array_equal(fs.read(tmp_path / "a.npz").to_numpy(), samples)
    fs.write(tmp_path / "b.npz", dense, scipy=True)
    sparse = fs.read(tmp_path / "b.npz")
    assert sparse.nnz == np.count_nonzero(samples)
    if sparse.nnz <= MOST_STORED:
        _check_round_trips(tmp_path, sparse)


@cache
def _listed() -> set[str]:
    return {param.values[0]["path"] for param in _described()}


def test_every_file_is_described(data_dir: Path) -> None:
    """So that none is left out above."""
    found = {p.relative_to(data_dir).as_posix() for p in data_dir.rglob("*") if p.is_file()}
    assert found - _listed() == {"README.md", "SHA256SUMS", "manifest.json"}
    kinds = {param.values[0]["format"] for param in _described()}
    assert kinds == {"matrix-market", "frostt", "idx", "npz", "csv", "png"}
