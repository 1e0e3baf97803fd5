"""NumPy's einsum notation: against np.einsum, against the oracle, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import finchsched.api as fs
from finchsched.api.einsum_numpy import parse_numpy
from finchsched.errors import DtypeError, EinsumSyntaxError, IndexNameError, ShapeMismatchError
from finchsched.formats.levels import Dense, SparseList
from finchsched.formats.numpy_convert import from_dense
from oracle.einsum_oracle import evaluate_numpy
from oracle.masked_array import MaskedArray, compare


def operand(seed: int, shape: tuple[int, ...], dtype: Any = np.float64) -> MaskedArray:
    rng = np.random.default_rng(seed)
    return MaskedArray.from_mask(rng.integers(-3, 4, shape).astype(dtype), rng.random(shape) < 0.6)


def tensor(array: MaskedArray) -> fs.Tensor:
    rank = array.ndim
    levels = (*(Dense(),) * (rank - 1), SparseList()) if rank else ()
    return fs.Tensor(from_dense(array.values, levels, range(rank), fill=array.fill.item(), mask=array.stored))


TEXTS = [
    ("ij,jk->ik", [(3, 4), (4, 2)]),
    (" ij , jk -> k i ", [(3, 4), (4, 2)]),
    ("ij,kj", [(3, 4), (2, 4)]),
    ("ba", [(3, 4)]),
    ("aB", [(3, 4)]),
    ("ij,ij->", [(3, 4), (3, 4)]),
    ("i,j,k->kij", [(2,), (3,), (4,)]),
    ("ii", [(3, 3)]),
    ("ii->i", [(3, 3)]),
    ("iij->j", [(3, 3, 2)]),
    ("ij,jk,ki->", [(3, 3), (3, 3), (3, 3)]),
    ("...ij,...jk->...ik", [(2, 2, 3), (2, 3, 2)]),
    ("...ij,jk", [(2, 2, 3), (3, 2)]),
    ("i...,...->...i", [(3, 2, 4), (4,)]),
    ("i...->i...", [(3,)]),
    (",ij->ij", [(), (2, 3)]),
    ("ij,jk->ik", [(3, 0), (0, 2)]),
    ("ij->", [(0, 3)]),
    ("ij,jk->ik", [(1, 1), (1, 1)]),
]


@pytest.mark.parametrize(("text", "shapes"), TEXTS)
@pytest.mark.parametrize("dtype", [np.bool, np.int64, np.float32, np.float64])
def test_agrees_with_the_oracle(text: str, shapes: list[tuple[int, ...]], dtype: Any) -> None:
    operands = [operand(seed, shape, dtype) for seed, shape in enumerate(shapes)]
    expected = evaluate_numpy(text, *operands)
    result = fs.einsum(text, *map(tensor, operands))
    assert result.dtype == expected.dtype == dtype
    compare(result.to_numpy(), expected, rtol=0, atol=0)
    if dtype is not np.bool:
        compare(np.einsum(text, *(x.values for x in operands)), expected, rtol=0, atol=0)


def test_mixed_types_are_cast_to_one_first() -> None:
    a, b, c = operand(0, (3,), np.int64), operand(1, (3,), np.float32), operand(2, (3,), np.float32)
    result = fs.einsum("i,i,i->i", tensor(b), tensor(c), tensor(a))
    assert result.dtype == np.float64
    compare(result.to_numpy(), evaluate_numpy("i,i,i->i", b, c, a), rtol=0, atol=0)


def test_dtype_casts_operands() -> None:
    a = operand(0, (3, 3), np.int64)
    result = fs.einsum("ij,ij->", tensor(a), tensor(a), dtype=np.float64)
    assert result.dtype == np.float64
    assert result.item() == float((a.values**2).sum())


def test_numbers_and_lists_are_operands() -> None:
    np.testing.assert_array_equal(fs.einsum(",i->i", 2, [1, 2]).to_numpy(), [2, 4])
    np.testing.assert_array_equal(fs.einsum(",i->i", 0.5, np.ones(2, np.float32)).to_numpy(), [0.5, 0.5])
    assert fs.einsum(",i->i", 0.5, np.ones(2, np.float32)).dtype == np.float32


def test_formats_alone_or_by_name() -> None:
    a = np.eye(3)
    assert fs.einsum("ij->ji", a, formats="csr").nnz == 3
    assert fs.einsum("ij->ji", a, formats={"out": "csc"}).format == "csc"


@pytest.mark.parametrize(
    ("text", "shapes", "error", "message"),
    [
        ("ij,jk->ik", [(3, 4)], IndexNameError, "names 2 operands, given were 1"),
        ("ijk->i", [(3, 4)], IndexNameError, "operand 0 has 2 axes, found 3 letters"),
        ("i->i", [(3, 4)], IndexNameError, "operand 0 has 2 axes, found 1 letters"),
        ("...ijk", [(3, 4)], IndexNameError, "operand 0 has 2 axes, found 3 letters"),
        ("ij->k", [(3, 4)], IndexNameError, "output index k appears in no operand"),
        ("ij->ii", [(3, 4)], IndexNameError, "output index i comes twice"),
        ("...i->i", [(3, 4)], IndexNameError, "the output needs an ellipsis"),
        ("i1", [(3, 4)], EinsumSyntaxError, "found '1', expected letters"),
        ("i..j", [(3, 4)], EinsumSyntaxError, "found '.', expected letters"),
        ("......", [(3, 4)], EinsumSyntaxError, "found '.'"),
        ("ij->i->j", [(3, 4)], EinsumSyntaxError, "found '-'"),
        ("é", [(3,)], EinsumSyntaxError, "found 'é'"),
        ("ij,jk->ik", [(3, 4), (5, 2)], ShapeMismatchError,
         "index j has extent 4 in operand 0 (axis 1) and 5 in operand 1 (axis 0)"),
        ("ij,jk->ik", [(3, 4), (1, 2)], ShapeMismatchError, "index j has extent 4"),
        ("ii", [(3, 4)], ShapeMismatchError, "index i has extent 3 in operand 0 (axis 0) and 4 in operand 0 (axis 1)"),
    ],
)  # fmt: skip
def test_refused(text: str, shapes: list[tuple[int, ...]], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        fs.einsum(text, *(np.ones(shape) for shape in shapes))


def test_refused_operand() -> None:
    with pytest.raises(DtypeError, match="operand 0 is a str"):
        fs.einsum("i", "abc")


@given(st.text("ijk,.-> ", max_size=12), st.lists(st.sampled_from([(2,), (2, 2), (2, 2, 2)]), min_size=1, max_size=3))
def test_any_text_does_what_numpy_does(text: str, shapes: list[tuple[int, ...]]) -> None:
    """Refused where NumPy refuses, and equal where it is not; NumPy reads a repeated ellipsis more freely."""
    arrays = [np.arange(np.prod(shape), dtype=np.int64).reshape(shape) for shape in shapes]
    try:
        expected = np.einsum(text, *arrays)
    except ValueError:
        with pytest.raises((EinsumSyntaxError, IndexNameError, ShapeMismatchError)):
            fs.einsum(text, *arrays)
        return
    np.testing.assert_array_equal(fs.einsum(text, *arrays).to_numpy(), expected)


def test_equal_texts_are_one_program() -> None:
    assert parse_numpy("ij,jk->ik", (2, 2)) is parse_numpy("ij,jk->ik", (2, 2))
    assert parse_numpy(" ij,jk -> ik", (2, 2)) == parse_numpy("ij,jk->ik", (2, 2))
