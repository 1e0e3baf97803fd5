"""Axes of 2**30 and more with a handful of entries: nothing may take time or memory in proportion to them."""

import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import finchsched as fs
from finchsched.errors import DensifyError
from finchsched.formats.checks import check_tensor
from finchsched.formats.coordinates import coordinates_of

TALL = (2**32, 20)


@pytest.fixture(autouse=True)
def little_memory() -> Iterator[None]:
    """Uncompiled, with at most 128 MB at a time."""
    tracemalloc.start()
    with fs.config(backend="python"):
        yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 128 << 20


def entries(tensor: fs.Tensor) -> dict[Any, Any]:
    check_tensor(tensor.data)
    at = zip(*(c.tolist() for c in coordinates_of(tensor.data)), strict=True)
    return dict(zip(at, tensor.data.val.tolist(), strict=True))


def tall(*rows: int, format: str | None = None) -> fs.Tensor:
    values = np.arange(1.0, len(rows) + 1)
    return fs.from_coo([rows, [2, 19, 7][: len(rows)]], values, TALL, format=format)


@pytest.mark.parametrize("format", ["coo", "dcsr", "csf, perm=(1, 0)", "csc"])
def test_two_operands(format: str) -> None:
    a, b = tall(3, 2**32 - 1), tall(4, 2**32 - 1, format=format)
    assert entries(a + b) == {(3, 2): 1.0, (4, 2): 1.0, (2**32 - 1, 19): 4.0}
    assert entries(a * b) == {(2**32 - 1, 19): 4.0}
    assert {at for at, differs in entries(a != b).items() if differs} == {(3, 2), (4, 2)}
    assert (a != b).sum().item() == 2
    assert (a + b).sum().item() == 6.0


def test_one_column() -> None:
    a = fs.from_coo([[5, 2**30 - 1], [0, 0]], [1.0, 4.0], (2**30, 1))
    b = fs.from_coo([[77, 2**30 - 1], [0, 0]], [1.0, 3.0], (2**30, 1))
    assert entries(a + b) == {(5, 0): 1.0, (77, 0): 1.0, (2**30 - 1, 0): 7.0}
    assert (a + b).sum().item() == 9.0


def test_reductions_to_one_axis() -> None:
    a = tall(3, 2**32 - 1, 9)
    for format in ("coo", "csc", "SparseCOO(2)(Element), perm=(1, 0)"):
        A = a.asformat(format)
        assert entries(A.sum(axis=1)) == {(3,): 1.0, (9,): 3.0, (2**32 - 1,): 2.0}
        assert A.sum(axis=0).to_numpy()[[2, 7, 19]].tolist() == [1.0, 3.0, 2.0]
        assert entries(A.T.sum(axis=0)) == {(3,): 1.0, (9,): 3.0, (2**32 - 1,): 2.0}


def test_other_storage_orders() -> None:
    a, b = tall(3, 2**32 - 1), tall(2**32 - 1, 3).asformat("csf, perm=(1, 0)")
    assert entries(a.T + b.T) == {(2, 3): 1.0, (19, 2**32 - 1): 2.0, (2, 2**32 - 1): 1.0, (19, 3): 2.0}
    assert entries(a.asformat("SparseCOO(2)(Element), perm=(1, 0)").asformat("dcsr")) == entries(a)


def test_products() -> None:
    a = tall(3, 2**32 - 1)
    assert entries(a.T @ a) == {(2, 2): 1.0, (19, 19): 4.0}
    assert entries(a @ a.T) == {(3, 3): 1.0, (2**32 - 1, 2**32 - 1): 4.0}
    v = fs.from_coo([[3]], [5.0], (2**32,))
    assert (a.T @ v).to_numpy()[2] == 5.0
    assert entries(fs.einsum("R[i,j] = v[i] * v[j]", v=v)) == {(3, 3): 25.0}


def test_what_would_be_dense_is_refused() -> None:
    a = tall(3, 2**32 - 1)
    with pytest.raises(DensifyError, match="more than the limit"):
        a.to_numpy()
    with pytest.raises(DensifyError, match="would need 4294967296 pointers"):
        a.asformat("csr")
    plus_one = a + 1
    assert (plus_one.fill_value, plus_one.nnz) == (1.0, 2)


def test_long_axes_of_full_operands_stay_dense() -> None:
    """An axis is huge only in proportion to what is stored."""
    rows = np.arange(1 << 20)
    full = fs.from_coo([rows, rows % 4], np.ones(1 << 20), (1 << 20, 4), format="coo")
    plan = fs.plan(fs.lazy(full).sum(axis=1))
    assert "output r0: Dense(" in plan.loops
