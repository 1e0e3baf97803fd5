"""check_tensor: every promise of a level, broken one at a time; and rows_sorted_unique against a plain loop."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finchsched.algebra.dtypes import FLOAT64, INT32, INT64
from finchsched.ast.format import TensorType
from finchsched.ast.scalar import Literal
from finchsched.errors import FormatError
from finchsched.formats.checks import check_tensor, rows_sorted_unique
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.formats.levels import Dense, SparseList

DCSR = TensorType((SparseList(INT32, INT64), SparseList(INT64, INT32)), (1, 0), FLOAT64, Literal(0.0, FLOAT64))


def dcsr(
    pos0: tuple[int, ...] = (0, 2),
    crd0: tuple[int, ...] = (1, 3),
    pos1: tuple[int, ...] = (0, 2, 3),
    crd1: tuple[int, ...] = (0, 2, 1),
    stored: int = 3,
) -> FiberTensor:
    """Columns 1 and 3 of a 3 by 5 matrix."""
    pos = (np.array(pos0, np.int32), np.array(pos1, np.int64))
    crd = (np.array(crd0, np.int64), np.array(crd1, np.int32))
    return FiberTensor(DCSR, (3, 5), 0.0, pos, crd, np.zeros(stored))


def test_a_good_tensor_passes() -> None:
    check_tensor(dcsr())
    check_tensor(dcsr(pos0=(0, 0), crd0=(), pos1=(0,), crd1=(), stored=0))
    check_tensor(dcsr(pos1=(0, 0, 3), crd1=(0, 1, 2)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pos0": (0, 1, 2)}, "level 0: pos must have 2 entries for 1 fibers; found 3"),
        ({"pos0": (1, 2)}, "level 0: pos must start at 0; found 1"),
        ({"pos0": (0, 3)}, "level 0: crd must have 3 entries, as pos ends; found 2"),
        ({"crd0": (3, 1)}, "level 0: .* rise strictly .* fiber 0 has 3 before 1 at position 0"),
        ({"crd0": (1, 5)}, "level 0: crd must lie in 0 .. 4; found 5 at position 1"),
        ({"pos1": (0, 4, 3)}, "level 1: pos must not decrease; found 4, 3 at fiber 1"),
        ({"pos1": (0, -1, 3)}, "level 1: pos must not decrease; found 0, -1 at fiber 0"),
        ({"pos1": (0, 3)}, "level 1: pos must have 3 entries for 2 fibers"),
        ({"crd1": (0, 2, 3)}, "level 1: crd must lie in 0 .. 2; found 3 at position 2"),
        ({"crd1": (0, -1, 1)}, "level 1: crd must lie in 0 .. 2; found -1 at position 1"),
        ({"crd1": (2, 2, 1)}, "level 1: .* fiber 0 has 2 twice at position 0"),
        ({"pos1": (0, 1, 3), "crd1": (2, 2, 1)}, "level 1: .* fiber 1 has 2 before 1 at position 1"),
        ({"stored": 2}, "val must have 3 elements"),
    ],
)
def test_a_broken_promise_is_named(changes: dict[str, tuple[int, ...]], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        check_tensor(dcsr(**changes))  # type: ignore[arg-type]


def test_dense_tensors_need_all_their_values() -> None:
    kind = TensorType((Dense(), Dense()), (0, 1), FLOAT64, Literal(0.0, FLOAT64))
    check_tensor(FiberTensor(kind, (2, 3), 0.0, (None, None), (None, None), np.zeros(6)))
    with pytest.raises(FormatError, match="val must have 6 elements"):
        check_tensor(FiberTensor(kind, (2, 3), 0.0, (None, None), (None, None), np.zeros(5)))


def test_an_axis_of_extent_zero_stores_nothing() -> None:
    kind = TensorType((Dense(), SparseList()), (0, 1), FLOAT64, Literal(0.0, FLOAT64))
    one = np.array([0], np.int64)
    bad = FiberTensor(kind, (1, 0), 0.0, (None, np.array([0, 1], np.int64)), (None, one), np.zeros(1))
    with pytest.raises(FormatError, match="level 1: crd must lie in"):
        check_tensor(bad)


@given(st.lists(st.lists(st.integers(0, 4), max_size=4), max_size=5))
def test_rows_sorted_unique(rows: list[list[int]]) -> None:
    pos = np.cumsum([0, *map(len, rows)]).astype(np.int32)
    crd = np.array([c for row in rows for c in row], np.int64)
    assert rows_sorted_unique(pos, crd) == all(row == sorted(set(row)) for row in rows)
