"""Every sparse format of SciPy, as array and matrix, in and out."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import finchsched as fs
from finchsched.errors import FormatError
from finchsched.formats.checks import check_tensor

FORMATS = ("csr", "csc", "coo", "bsr", "dia", "dok", "lil")
D = np.array([[1.0, 0.0, 2.0, 0.0], [0.0, 0.0, 3.0, 0.0]])
OURS = ("csr", "csc", "coo", "dcsr", "SparseCOO(2)(Element), perm=(1, 0)", "Dense(SparseCOO(Element))")


@pytest.fixture(autouse=True)
def uncompiled() -> Any:
    with fs.config(backend="python"):
        yield


def check(tensor: fs.Tensor, expected: Any) -> None:
    check_tensor(tensor.data)
    np.testing.assert_array_equal(tensor.to_numpy(), expected)


@pytest.mark.parametrize("kind", [sp.coo_array, sp.coo_matrix])
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.bool])
def test_in(kind: Any, format: str, dtype: Any) -> None:
    given = kind(D.astype(dtype)).asformat(format)
    made = fs.asarray(given)
    check(made, D.astype(dtype))
    assert made.dtype == dtype
    assert made.format == ("csc" if format == "csc" else "csr")


@pytest.mark.parametrize("ours", OURS)
@pytest.mark.parametrize("format", FORMATS)
def test_out(ours: str, format: str) -> None:
    made = fs.asarray(D).asformat(ours).to_scipy(format)
    assert isinstance(made, sp.sparray)
    assert made.format == format
    np.testing.assert_array_equal(made.toarray(), D)
    check(fs.asarray(made), D)


@pytest.mark.parametrize(
    ("ours", "format"), [("csr", "csr"), ("csc", "csc"), ("coo", "coo"), ("dcsr", "csr"), ("dcsc", "csr")]
)
def test_the_format_without_being_asked(ours: str, format: str) -> None:
    assert fs.asarray(D).asformat(ours).to_scipy().format == format
    assert fs.asarray(D).asformat(ours).to_scipy("lil").format == "lil"


@pytest.mark.parametrize("width", [np.int32, np.int64])
def test_index_widths_and_read_only_buffers(width: Any) -> None:
    listed = sp.coo_array(D)
    listed.coords = tuple(c.astype(width) for c in listed.coords)
    rows = sp.csr_array(D)
    rows.indices, rows.indptr = rows.indices.astype(width), rows.indptr.astype(width)
    for given in (listed, rows):
        given.data.setflags(write=False)
        check(fs.asarray(given), D)


def test_unsorted_repeated_and_explicit() -> None:
    at = (np.array([1, 0, 1, 0]), np.array([2, 1, 2, 0]))
    listed = sp.coo_array((np.array([1.0, 0.0, 4.0, 2.0]), at), shape=(2, 3))
    made = fs.asarray(listed)
    check(made, [[2.0, 0.0, 0.0], [0.0, 0.0, 5.0]])
    assert made.nnz == 3
    assert listed.data.tolist() == [1.0, 0.0, 4.0, 2.0]
    assert made.to_scipy("coo").data.tolist() == [2.0, 0.0, 5.0]


@pytest.mark.parametrize("shape", [(5,), (2, 3, 4), (3, 1, 2, 2)])
def test_other_numbers_of_axes(shape: tuple[int, ...]) -> None:
    full = np.where(np.arange(np.prod(shape)) % 3 == 1, np.arange(np.prod(shape)), 0).reshape(shape)
    made = fs.asarray(sp.coo_array(full))
    check(made, full)
    assert made.format == ("SparseList(Element)" if len(shape) == 1 else "coo")
    for ours in ("coo", "csf"):
        back = made.asformat(ours).to_scipy()
        assert back.format == "coo"
        assert back.has_canonical_format
        np.testing.assert_array_equal(back.toarray(), full)
    np.testing.assert_array_equal(made.T.to_scipy().toarray(), full.T)


def test_hypersparse_lists_stay_lists() -> None:
    made = fs.asarray(sp.coo_array(([1.0, 2.0], ([0, 2**30], [1, 0])), shape=(2**31 - 1, 3)))
    assert made.format == "coo"
    assert made.to_scipy().nnz == 2


def test_buffers_are_shared_where_formats_agree() -> None:
    made = fs.asarray(D).asformat("coo")
    out = made.to_scipy()
    assert np.shares_memory(out.data, made.data.val)
    assert np.shares_memory(out.coords[1], made.data.crd[1])
    assert not np.shares_memory(made.to_scipy(copy=True).coords[0], made.data.crd[0])


def test_empty_ones() -> None:
    for shape in ((0, 3), (3, 0), (2, 2)):
        for format in ("csr", "coo", "dok", "lil"):
            check(fs.asarray(sp.coo_array(shape).asformat(format)), np.zeros(shape))
    assert fs.zeros((0,)).to_scipy().shape == (0,)


def test_refusals() -> None:
    with pytest.raises(FormatError, match=r"found the format 'ell', expected one of SciPy's: csr"):
        fs.asarray(D).asformat("csr").to_scipy("ell")
    with pytest.raises(FormatError, match="this tensor is dense"):
        fs.asarray(D).to_scipy("coo")
    with pytest.raises(FormatError, match="have the fill 0"):
        fs.ones((2, 2), format="coo").to_scipy()
    with pytest.raises(FormatError, match="SciPy has no bsr arrays of 3 axes"):
        fs.zeros((2, 2, 2)).to_scipy("bsr")
