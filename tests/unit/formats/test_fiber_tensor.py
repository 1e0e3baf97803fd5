"""FiberTensor: what construction refuses, counts, and transposition without moving data."""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from finchsched.algebra.dtypes import BOOL, FLOAT32, FLOAT64, INT32, INT64, UINT8, DType, Scalar
from finchsched.ast.format import Level, TensorType
from finchsched.ast.scalar import Literal, Value
from finchsched.errors import DtypeError, FormatError, ShapeMismatchError
from finchsched.formats.fiber_tensor import FiberTensor, cast_fill, fill_node
from finchsched.formats.levels import Dense, SparseByteMap, SparseList
from finchsched.formats.numpy_convert import from_dense, stored_mask, to_dense

INF, NAN = float("inf"), float("nan")
CSR = (Dense(), SparseList(INT32, INT64))


def csr() -> FiberTensor:
    """[[1, 0, 2], [0, 0, 3]] with int32 pos and int64 crd."""
    kind = TensorType(CSR, (0, 1), FLOAT64, Literal(0.0, FLOAT64))
    pos, crd = np.array([0, 2, 3], np.int32), np.array([0, 2, 2], np.int64)
    return FiberTensor(kind, (2, 3), 0.0, (None, pos), (None, crd), np.array([1.0, 2.0, 3.0]))


def test_counts() -> None:
    t = csr()
    assert (t.ndim, t.stored, t.nbytes) == (2, 3, 3 * 4 + 3 * 8 + 3 * 8)
    assert [t.positions(level) for level in range(3)] == [1, 2, 3]
    assert repr(t) == "FiberTensor(Dense(SparseList(Element(float64))), shape=(2, 3), fill=0.0, stored=3)"


def test_positions_of_a_scalar_and_of_huge_shapes() -> None:
    assert from_dense(np.array(2.0), (), (), fill=0.0).positions(0) == 1
    kind = TensorType((Dense(), Dense(), SparseList()), (0, 1, 2), FLOAT64, Literal(0.0, FLOAT64))
    huge = FiberTensor(
        kind,
        (2**40, 2**40, 1),
        0.0,
        (None, None, np.zeros(1, np.int64)),
        (None, None, np.zeros(0, np.int64)),
        np.zeros(0),
    )
    assert huge.positions(2) == 2**80


def test_it_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        csr().fill = 1.0  # type: ignore[misc]


def test_transpose_shares_every_buffer() -> None:
    t = csr()
    turned = t.transpose((1, 0))
    assert turned.shape == (3, 2) and turned.type.perm == (1, 0)
    assert turned.val is t.val and turned.pos[1] is t.pos[1] and turned.crd[1] is t.crd[1]
    np.testing.assert_array_equal(to_dense(turned), to_dense(t).T)


@pytest.mark.parametrize("axes", [(0, 1, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0), (0, 2, 1)])
@pytest.mark.parametrize("perm", [(0, 1, 2), (1, 2, 0), (2, 1, 0)])
def test_transpose_is_numpys(axes: tuple[int, ...], perm: tuple[int, ...]) -> None:
    array = np.random.default_rng(0).integers(0, 3, (2, 3, 4))
    turned = from_dense(array, (Dense(), SparseList(), Dense()), perm, fill=0).transpose(axes)
    np.testing.assert_array_equal(to_dense(turned), array.transpose(axes))
    np.testing.assert_array_equal(to_dense(turned.transpose(axes)), array.transpose(axes).transpose(axes))


@pytest.mark.parametrize("axes", [(0,), (0, 0), (1, 2), (-1, 0)])
def test_transpose_refuses_what_is_no_permutation(axes: tuple[int, ...]) -> None:
    with pytest.raises(ShapeMismatchError, match="permutation"):
        csr().transpose(axes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shape": (2,)}, "2 levels"),
        ({"shape": (2, -1)}, "negative"),
        ({"pos": (None,)}, "2 levels"),
        ({"pos": (np.zeros(1, np.int32), np.zeros(3, np.int32))}, "level 0 is Dense"),
        ({"pos": (None, None)}, "level 1: pos must be an array of int32; found None"),
        ({"pos": (None, np.zeros(3, np.int64))}, "level 1: pos must have the element type int32"),
        ({"pos": (None, np.zeros(0, np.int32))}, "at least one entry"),
        ({"crd": (None, np.zeros(3, np.int32))}, "level 1: crd must have the element type int64"),
        ({"crd": (None, np.zeros((3, 1), np.int64))}, "one-dimensional"),
        ({"val": np.zeros(3, np.float32)}, "val must have the element type float64"),
        ({"val": np.zeros(6)[::2]}, "contiguous"),
        ({"fill": 0}, "must be a float"),
        ({"fill": np.float64(0.0)}, "must be a float"),
        ({"fill": 2.0}, "the type says that the fill is 0.0"),
        ({"type": TensorType(CSR, (0, 0), FLOAT64, Literal(0.0, FLOAT64))}, "permutation"),
        ({"type": TensorType((Dense(), SparseByteMap()), (0, 1), FLOAT64, Literal(0.0, FLOAT64))}, "SparseByteMap"),
        (
            {"type": TensorType((Dense(), SparseList(UINT8)), (0, 1), FLOAT64, Literal(0.0, FLOAT64))},
            "must be int32 or int64; found uint8",
        ),
    ],
)
def test_construction_refuses(changes: dict[str, object], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        replace(csr(), **changes)


@pytest.mark.parametrize(
    ("value", "dtype", "node"),
    [
        (0.0, FLOAT64, Literal(0.0, FLOAT64)),
        (-0.0, FLOAT64, Literal(0.0, FLOAT64)),
        (0, FLOAT32, Literal(0.0, FLOAT32)),
        (1, INT64, Literal(1, INT64)),
        (INF, FLOAT64, Literal(INF, FLOAT64)),
        (-INF, FLOAT32, Literal(-INF, FLOAT32)),
        (NAN, FLOAT64, Literal(NAN, FLOAT64)),
        (True, BOOL, Literal(True, BOOL)),
        (False, BOOL, Literal(False, BOOL)),
        (2.5, FLOAT64, Value("fill", FLOAT64, "finite")),
        (-1, INT64, Value("fill", INT64, "finite")),
    ],
)
def test_fill_node(value: Scalar, dtype: DType, node: object) -> None:
    assert fill_node(value, dtype) == node


@pytest.mark.parametrize(
    ("value", "dtype"), [(NAN, INT64), (INF, INT64), (0.5, INT64), (2**63, INT64), (2, BOOL), (NAN, BOOL)]
)
def test_cast_fill_refuses_what_the_type_cannot_hold(value: Scalar, dtype: DType) -> None:
    with pytest.raises(DtypeError, match="cannot hold the fill"):
        cast_fill(value, dtype)


def test_cast_fill_rounds_floats() -> None:
    assert cast_fill(0.1, FLOAT32) == float(np.float32(0.1))
    assert type(cast_fill(1.0, INT64)) is int


@pytest.mark.parametrize("levels", [(Dense(),), (SparseList(),)])
def test_a_fill_known_only_when_running(levels: tuple[Level, ...]) -> None:
    t = from_dense(np.array([2.5, 1.0, 2.5]), levels, (0,), fill=2.5)
    assert t.type.fill == Value("fill", FLOAT64, "finite") and t.fill == 2.5
    np.testing.assert_array_equal(to_dense(t), [2.5, 1.0, 2.5])
    np.testing.assert_array_equal(stored_mask(t), [True] * 3 if levels == (Dense(),) else [False, True, False])
