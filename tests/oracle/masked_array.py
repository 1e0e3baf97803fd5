"""Dense values beside a mask that says which of them are stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Scalar: TypeAlias = bool | int | float | complex | np.generic
Array: TypeAlias = NDArray[Any]


class CsrLike(Protocol):
    """What is read of a scipy CSR matrix or array."""

    shape: tuple[int, ...]
    indptr: Array
    indices: Array
    data: Array


def same_value(left: Any, right: Any) -> bool:
    """Equality where NaN equals NaN (any payload) and 0.0 equals -0.0."""
    return bool(left == right) or bool(left != left and right != right)


def cast_fill(fill: Scalar, dtype: np.dtype[Any]) -> Any:
    """`fill` as a scalar of `dtype`; ValueError when a bool or integer dtype cannot hold it."""
    if dtype.kind == "c" or (dtype.kind == "f" and not np.iscomplexobj(fill)):
        return dtype.type(fill)
    try:
        with np.errstate(all="ignore"):
            cast = dtype.type(fill)
    except (OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"dtype {dtype} cannot hold the fill {fill!r}") from error
    if not same_value(cast, fill):
        raise ValueError(f"dtype {dtype} cannot hold the fill {fill!r}")
    return cast


@dataclass(frozen=True, slots=True, eq=False)
class MaskedArray:
    """A tensor as the oracle sees it.

    `stored` has the shape of `values`; where it is False the coordinate is structural and `values` holds `fill`,
    a scalar of the dtype of `values`.  A stored value may equal the fill and stays stored.
    """

    values: Array
    stored: NDArray[np.bool]
    fill: Any

    def __post_init__(self) -> None:
        if self.stored.dtype != np.bool or self.stored.shape != self.values.shape:
            raise ValueError(f"the mask must be bool of shape {self.values.shape}")
        object.__setattr__(self, "fill", cast_fill(self.fill, self.values.dtype))
        for value in self.values[~self.stored]:
            if not same_value(value, self.fill):
                raise ValueError(f"an unstored entry holds {value!r}, not the fill {self.fill!r}")

    @classmethod
    def from_dense(cls, values: ArrayLike, fill: Scalar = 0) -> MaskedArray:
        """Every coordinate stored."""
        array = np.array(values)
        return cls(array, np.ones(array.shape, np.bool), fill)

    @classmethod
    def from_mask(cls, values: ArrayLike, stored: ArrayLike, fill: Scalar = 0) -> MaskedArray:
        """Stored where `stored` is True; what `values` holds elsewhere is replaced by the fill."""
        array, mask = np.array(values), np.array(stored, np.bool)
        if mask.shape != array.shape:
            raise ValueError(f"the mask has shape {mask.shape}, the values {array.shape}")
        array[~mask] = cast_fill(fill, array.dtype)
        return cls(array, mask, fill)

    @classmethod
    def from_csr(cls, matrix: CsrLike) -> MaskedArray:
        """Fill 0; explicit zeros are stored; duplicates add up (bool: or); rows need not be sorted."""
        values = np.zeros(matrix.shape, matrix.data.dtype)
        stored = np.zeros(matrix.shape, np.bool)
        for row in range(matrix.shape[0]):
            for position in range(int(matrix.indptr[row]), int(matrix.indptr[row + 1])):
                at = (row, int(matrix.indices[position]))
                value = matrix.data[position]
                values[at] = np.add(values[at], value) if stored[at] else value
                stored[at] = True
        return cls(values, stored, 0)

    @classmethod
    def unstored(cls, shape: Sequence[int], fill: Scalar, dtype: np.dtype[Any]) -> MaskedArray:
        """Nothing stored anywhere."""
        return cls(np.full(tuple(shape), fill, dtype), np.zeros(tuple(shape), np.bool), fill)

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents, outermost index first."""
        return tuple(self.values.shape)

    @property
    def ndim(self) -> int:
        """The number of indices."""
        return self.values.ndim

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the values and of the fill."""
        return self.values.dtype


def close(got: Any, want: Any, rtol: float, atol: float) -> bool:
    """`same_value`, or two finite floats or complex numbers with |got - want| <= atol + rtol * |want|."""
    if same_value(got, want):
        return True
    if not {np.asarray(got).dtype.kind, np.asarray(want).dtype.kind} & set("fc"):
        return False
    if not (np.isfinite(got) and np.isfinite(want)):
        return False
    with np.errstate(all="ignore"):
        return bool(abs(np.complex128(got) - np.complex128(want)) <= atol + rtol * abs(np.complex128(want)))


def compare(result_values: ArrayLike, expected: MaskedArray, *, rtol: float, atol: float) -> None:
    """AssertionError naming the shapes, or the first coordinate in C order whose values differ, with both values.

    The sign of a zero and the payload of a NaN do not count; infinities must match exactly, and so must integers
    and bools whatever the tolerances.  Dtype, mask and fill are not compared.
    """
    result = np.asarray(result_values)
    if result.shape != expected.shape:
        raise AssertionError(f"shape {result.shape}, expected {expected.shape}")
    for at in product(*map(range, expected.shape)):
        got, want = result[at], expected.values[at]
        if not close(got, want, rtol, atol):
            kind = "stored" if expected.stored[at] else "structural"
            raise AssertionError(f"at {at}: got {got!r}, expected {want!r} ({kind})")
