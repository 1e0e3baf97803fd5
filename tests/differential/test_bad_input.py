"""Input that makes no sense is refused with an error that names operand, index and sizes; nothing crashes."""

import contextvars
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import finchsched as fs
from finchsched.backend import output
from finchsched.errors import (
    DensifyError,
    DtypeError,
    EinsumSyntaxError,
    FileFormatError,
    FinchschedError,
    FormatError,
    IndexNameError,
    ShapeMismatchError,
)


def matrix(rows: int, columns: int) -> sp.csr_array:
    return sp.random_array((rows, columns), density=0.5, rng=np.random.default_rng(0), format="csr")


A, B = matrix(3, 4), matrix(5, 6)
OPERANDS: dict[str, Any] = {"A": A, "B": B, "x": np.ones(4)}


def caret_target(message: str) -> str:
    """What the caret of a message points at, up to the end of the text."""
    lines = message.split("\n")
    number = next(n for n, line in enumerate(lines) if line.strip() == "^")
    return lines[number - 1][lines[number].index("^") :]


# ---------------------------------------------------------------------------------------------- indices and texts

# text, operands, error, what the caret points at, words of the message
INDICES = [
    ("y[q] += A[i,j]", "A", IndexNameError, "q]", "output index q appears in no operand"),
    ("y[i,i] += A[i,j]", "A", IndexNameError, "i] +=", "output index i comes twice"),
    ("y[i] += A[i,j] * k", "A", IndexNameError, "k", "k is neither an operand nor an index; operands given: A"),
    ("y[i] = A[i,j]", "A", IndexNameError, "A[", "index j is not on the left, and = does not reduce"),
    ("y[i] += A[i]", "A", IndexNameError, "A[", "A has 2 axes (shape (3, 4)), found 1 index (i)"),
    ("y[i] += A[i,j,k]", "A", IndexNameError, "A[", "A has 2 axes (shape (3, 4)), found 3 indices (i, j, k)"),
    ("y[i] += A[i,j] * x", "Ax", IndexNameError, "x", "x has 1 axis (shape (4,)), found no indices"),
    ("y[i] += A[i,j] * Q[j]", "A", IndexNameError, "Q", "Q is neither an operand nor an index; operands given: A"),
    ("y[i] += A[i,j]", "", IndexNameError, "A[", "operands given: none"),
    ("y[i] += A[i,j]", "AB", IndexNameError, "y", "B is given, but the text does not use it"),
    ("y[j] += A[i,j] * A", "A", IndexNameError, "A", "A has 2 axes (shape (3, 4)), found no indices"),
    ("y[A] += A[i,A]", "A", IndexNameError, "A[", "A is both an index and an operand"),
    ("C[i,j] += A[i,k] * B[k,j]", "AB", ShapeMismatchError, "B[", "index k has extent 4 in A (axis 1) and 5 in B"),
    ("C[i,j] = A[i,j] + B[i,j]", "AB", ShapeMismatchError, "B[", "index i has extent 3 in A (axis 0) and 5 in B"),
    ("s[] += A[i,i]", "A", ShapeMismatchError, "A[", "index i has extent 3 in A (axis 0) and 4 in A (axis 1)"),
    ("y[i] += A[j,i] * x[j]", "Ax", ShapeMismatchError, "x[", "index j has extent 3 in A (axis 0) and 4 in x (axis 0)"),
]  # fmt: skip


@pytest.mark.parametrize("text, names, error, at, words", INDICES, ids=[row[0] for row in INDICES])
def test_indices(text: str, names: str, error: type[Exception], at: str, words: str) -> None:
    with pytest.raises(error) as caught:
        fs.einsum(text, **{name: OPERANDS[name] for name in names})
    assert words in str(caught.value)
    assert caret_target(str(caught.value)).startswith(at)


TEXTS = {
    "y[i] +=": "",
    "y[i] += A[i,j": "[i,j",
    "y[i] += A[i,j]]": "]",
    "y[i] += A[i+1,j]": "i+1",
    "y[i] += A[0,j]": "0,j",
    "y[i] += A[i:j]": "i:j",
    "y[i] += foo(A[i,j])": "foo",
    "y[i] += min(A[i,j])": "min",
    "y[i] += A[i,j] if 1 else 2": "A[i,j] if",
    "y[i] += A.T[i,j]": "A.T",
    "y[i] += A[i,j] @ A[i,j]": "A[i,j] @",
    "y[i] += 'a'": "'a'",
    "y[i] += 99999999999999999999 * A[i,j]": "9999",
    "y[i] += A[i,j] * 2**99": "2**99",
    "y[i] += (lambda: 1)()": "(lambda",
    "y[i] += __import__('os')": "__import__",
    "y[i] += A[i,j]; z": "; z",
    "y[1] += A[i,j]": "1]",
    "y[i] -= A[i,j]": "y",
    "y[i] == A[i,j]": "y",
    "y[i] A[i,j]": "y",
    "=": "=",
    "": "",
    "y[i] += " + "(" * 300 + "A[i,j]" + ")" * 300: "(",
}


@pytest.mark.parametrize("text, at", TEXTS.items(), ids=[text[:30] for text in TEXTS])
def test_texts_that_cannot_be_read(text: str, at: str) -> None:
    with pytest.raises(EinsumSyntaxError) as caught:
        fs.einsum(text, A=A)
    target = caret_target(str(caught.value))
    assert target.startswith(at) and (at or not target)


NUMPY_TEXTS = [
    ("ij,j->i", IndexNameError, "the text names 2 operands, given were 1", "ij,"),
    ("ijk->i", IndexNameError, "operand 0 has 2 axes, found 3 letters", "ijk"),
    ("ij->ijk", IndexNameError, "output index k appears in no operand", "ijk"),
    ("ij->ii", IndexNameError, "output index i comes twice", "ii"),
    ("i1->i", EinsumSyntaxError, "found '1', expected letters", "1"),
    ("ij->i->j", EinsumSyntaxError, "found '-', expected letters", "->j"),
    ("i...j...->", EinsumSyntaxError, "at most one ellipsis", "...->"),
    ("ii->i", ShapeMismatchError, "index i has extent 3 in operand 0 (axis 0) and 4 in operand 0 (axis 1)", "ii"),
]


@pytest.mark.parametrize("text, error, words, at", NUMPY_TEXTS, ids=[row[0] for row in NUMPY_TEXTS])
def test_numpy_texts(text: str, error: type[Exception], words: str, at: str) -> None:
    with pytest.raises(error) as caught:
        fs.einsum(text, A)
    assert words in str(caught.value)
    assert caret_target(str(caught.value)).startswith(at)


def test_a_size_conflict_in_numpy_notation_names_operands() -> None:
    with pytest.raises(ShapeMismatchError, match=r"index j has extent 4 in operand 0 \(axis 1\) and 5 in operand 1"):
        fs.einsum("ij,jk->ik", A, B)


# ---------------------------------------------------------------------------------------------- element types

UNSUPPORTED = "float16 longdouble clongdouble O U3 M8[s] m8[s] V4".split()


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_element_types(name: str) -> None:
    array = np.zeros((2, 2), dtype=name)
    with pytest.raises(DtypeError) as caught:
        fs.asarray(array)
    assert f"element type {array.dtype} is not supported; supported are bool, int8, int16, int32, int64, uint8" in str(
        caught.value
    )
    with pytest.raises(DtypeError, match=r"^x: element type"):
        fs.einsum("y[i] += A[i,j] * x[j]", A=A, x=np.zeros(4, dtype=name))


@pytest.mark.parametrize("name", ["longdouble", "clongdouble"])
def test_element_types_of_sparse_matrices(name: str) -> None:
    with pytest.raises(DtypeError, match="is not supported"):
        fs.asarray(sp.csr_array(np.eye(2).astype(name)))
    with pytest.raises(DtypeError, match="is not supported"):
        fs.asarray(A) + A.astype(name)


OBJECTS: dict[str, tuple[Any, type[Exception], str]] = {
    "ragged": ([[1, 2], [3]], FormatError, "ragged list ([0] has 2 items, [1] has 1 item)"),
    "ragged below": ([[[1], [2]], [[3], [4, 5]]], FormatError, "[1][0] has 1 item, [1][1] has 2 items"),
    "ragged number": ([[1, 2], 3], FormatError, "[1] has no items, it is a number"),
    "strings": (["a"], DtypeError, "found a list of str objects"),
    "objects": ([[object(), 1]], DtypeError, "found a list of object objects"),
    "none in a list": ([1, None], DtypeError, "found a list of NoneType objects"),
    "none": (None, DtypeError, "cannot make a tensor of a NoneType"),
    "dict": ({}, DtypeError, "cannot make a tensor of a dict"),
    "string": ("a", DtypeError, "cannot make a tensor of a str"),
    "large number": (2**70, DtypeError, "the number 1180591620717411303424 does not fit int64"),
    "large number in a list": ([2**70], DtypeError, "a number in the list does not fit int64"),
    "masked array": (np.ma.masked_array([1.0, 2.0], [0, 1]), FormatError, "masked arrays are not supported"),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_that_are_no_arrays(name: str) -> None:
    value, error, words = OBJECTS[name]
    with pytest.raises(error) as caught:
        fs.asarray(value)
    assert words in str(caught.value)


def test_an_operand_that_is_no_array_is_named() -> None:
    with pytest.raises(DtypeError, match="x is a str"):
        fs.einsum("y[i] += A[i,j] * x[j]", A=A, x="hello")
    with pytest.raises(DtypeError, match="cannot compute a int"):
        fs.compute(3)
    with pytest.raises(TypeError, match="at least one expression"):
        fs.compute()


FILLS: dict[str, tuple[Any, type[Exception], str]] = {
    "string": ("x", DtypeError, "fill_value must be a number, found 'x'"),
    "complex": (1j, DtypeError, "cannot hold the fill 1j"),
    "list": ([0], DtypeError, r"fill_value must be a number, found [0]"),
}


@pytest.mark.parametrize("name", FILLS)
def test_fill_values(name: str) -> None:
    value, error, words = FILLS[name]
    for operand in (A, A.toarray(), fs.asarray(A)):
        with pytest.raises(error) as caught:
            fs.asarray(operand, fill_value=value)
        assert words in str(caught.value)


def test_a_fill_that_the_element_type_cannot_hold() -> None:
    with pytest.raises(DtypeError, match="int64 cannot hold the fill inf"):
        fs.asarray(A.astype(np.int64), fill_value=np.inf)
    with pytest.raises(DtypeError, match="bool cannot hold the fill"):
        fs.asarray(A.astype(bool), fill_value=-np.inf)


def test_operations_that_a_type_does_not_have() -> None:
    with pytest.raises(DtypeError, match="neg is not defined for bool"):
        -fs.asarray(A.astype(bool))
    with pytest.raises(DtypeError, match=r"1180591620717411303424 does not fit int64"):
        fs.asarray(A.astype(np.int64)) * 2**70
    with pytest.raises(DtypeError, match="'nonsense' is not an element type"):
        fs.asarray(A).astype("nonsense")


# ---------------------------------------------------------------------------------------------- SciPy's indices


def raw(kind: type, shape: tuple[int, int], indptr: Any, indices: Any, data: Any = None, index: Any = np.int32) -> Any:
    """A compressed matrix with buffers that SciPy has not checked; `shape` and indices as for CSR."""
    made = kind(shape if kind is sp.csr_array else shape[::-1])
    made.indptr, made.indices = np.array(indptr, index), np.array(indices, index)
    made.data = np.arange(1.0, len(indices) + 1) if data is None else data
    return made


BROKEN: dict[str, tuple[Any, Any, Any, str]] = {
    "index too large": ([0, 1, 2], [0, 3], None, "indices must lie in 0 .. 2; found 3 at position 1"),
    "index negative": ([0, 1, 2], [0, -1], None, "indices must lie in 0 .. 2; found -1 at position 1"),
    "index huge": ([0, 1, 2], [0, 2**31 - 1], None, "found 2147483647 at position 1"),
    "few pointers": ([0, 1], [0], None, "indptr must have 3 entries, the first 0; found 2 entries"),
    "many pointers": ([0, 1, 1, 1], [0], None, "indptr must have 3 entries, the first 0; found 4 entries"),
    "no pointers": ([], [], None, "indptr must have 3 entries, the first 0; found 0 entries"),
    "pointers fall": ([0, 2, 1], [0, 1], None, "indptr must not decrease; found 2, 1 at 1"),
    "pointers past the end": ([0, 1, 5], [0, 1], None, "indptr promises 5 entries; found 2 indices and 2 values"),
    "pointers start late": ([1, 1, 2], [0, 1], None, "the first 0; found 3 entries, the first 1"),
    "pointer negative": ([0, -1, 2], [0, 1], None, "indptr must not decrease; found 0, -1 at 0"),
    "few values": ([0, 1, 2], [0, 1], np.ones(1), "indptr promises 2 entries; found 2 indices and 1 values"),
    "values with two axes": ([0, 1, 2], [0, 1], np.ones((2, 2)), "one-dimensional"),
}


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("name", BROKEN)
def test_broken_compressed_matrices(name: str, kind: type, index: type) -> None:
    indptr, indices, data, words = BROKEN[name]
    broken = raw(kind, (2, 3), indptr, indices, data, index)
    for use in (fs.asarray, lambda m: fs.lazy(m), lambda m: fs.einsum("s[] += A[i,j]", A=m)):
        with pytest.raises(FormatError) as caught:
            use(broken)
        assert words in str(caught.value)


def test_indices_must_be_integers() -> None:
    with pytest.raises(FormatError, match="one axis of integers; found float64"):
        fs.asarray(raw(sp.csr_array, (2, 3), [0, 1, 2], [0.5, 1.0], index=np.float64))


def coo(shape: tuple[int, ...], *coords: list[int]) -> Any:
    made = sp.coo_array(shape)
    made.coords, made.data = tuple(np.array(c) for c in coords), np.ones(len(coords[0]))
    return made


def bsr(**changes: Any) -> Any:
    made = sp.bsr_array(np.ones((4, 6)), blocksize=(2, 3))
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def lil() -> Any:
    made = sp.lil_array((3, 3))
    made.rows[0], made.data[0] = [7], [1.0]
    return made


def dok() -> Any:
    made = sp.dok_array((3, 3))
    made._dict[5, 0] = 1.0
    return made


OTHERS: dict[str, tuple[Callable[[], Any], str]] = {
    "coo row": (lambda: coo((2, 3), [0, 5], [0, 1]), "axis 0 must lie in 0 .. 1; found 5 at position 1"),
    "coo negative row": (lambda: coo((2, 3), [0, -1], [0, 1]), "axis 0 must lie in 0 .. 1; found -1 at position 1"),
    "coo column": (lambda: coo((2, 3), [0, 1], [0, 9]), "axis 1 must lie in 0 .. 2; found 9 at position 1"),
    "coo in nothing": (lambda: coo((0, 3), [0], [0]), "axis 0 must be absent, as the extent is 0; found 0"),
    "coo lengths": (lambda: coo((2, 3), [0, 1], [0]), "found 1 coordinates on axis 1 and 2 values"),
    "vector": (lambda: coo((5,), [0, 7]), "axis 0 must lie in 0 .. 4; found 7 at position 1"),
    "bsr index": (lambda: bsr(indices=np.array([0, 9, 0, 1], np.int32)), "indices must lie in 0 .. 1; found 9"),
    "bsr pointers": (lambda: bsr(indptr=np.array([0, 2, 99], np.int32)), "indptr promises 99 entries"),
    "bsr blocks": (lambda: bsr(data=np.ones((4, 3, 3))), "blocks of shape (3, 3) do not fill a matrix of shape (4, 6)"),
    "lil": (lil, "indices must lie in 0 .. 2; found 7"),
    "dok": (dok, "SciPy cannot read this dok matrix"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_broken_matrices_in_other_formats(name: str) -> None:
    make, words = OTHERS[name]
    broken = make()
    with pytest.raises(FormatError) as caught:
        fs.asarray(broken)
    assert words in str(caught.value)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array])
def test_unsorted_rows_and_duplicates_are_put_right_in_a_copy(kind: type) -> None:
    given = raw(kind, (2, 3), [0, 3, 5], [2, 0, 2, 1, 0])
    before = [buffer.copy() for buffer in (given.indptr, given.indices, given.data)]
    tensor = fs.asarray(given)
    expected = np.array([[2.0, 0.0, 4.0], [5.0, 4.0, 0.0]])
    assert np.array_equal(tensor.to_numpy(), expected if kind is sp.csr_array else expected.T)
    assert tensor.data.crd[1] is not None and tensor.data.crd[1].tolist() == [0, 2, 0, 1]
    for old, now in zip(before, (given.indptr, given.indices, given.data), strict=True):
        assert np.array_equal(old, now)


# ---------------------------------------------------------------------------------------------- shapes and axes

SHAPES: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "A * B": (lambda a, b: a * b, "shapes (3, 4) and (5, 6) do not broadcast: axis -2 has extents 3 and 5"),
    "A + B": (lambda a, b: a + b, "shapes (3, 4) and (5, 6) do not broadcast: axis -2 has extents 3 and 5"),
    "A + vector": (lambda a, b: a + np.ones(3), "shapes (3, 4) and (3,) do not broadcast: axis -1 has extents 4 and 3"),
    "A @ B": (lambda a, b: a @ b, "shapes (3, 4) and (5, 6): the left operand has 4 columns, the right one 5 rows"),
    "A @ vector": (lambda a, b: a @ np.ones(5), "the left operand has 4 columns, the right one 5 rows"),
    "vector @ A": (lambda a, b: np.ones(5) @ a, "the left operand has 5 columns, the right one 3 rows"),
    "A @ cube": (lambda a, b: a @ np.ones((2, 2, 2)), "shapes (3, 4) and (2, 2, 2): the left operand has 4 columns"),
    "sum axis": (lambda a, b: a.sum(axis=2), "axis 2 does not exist: the shape is (3, 4)"),
    "sum axis twice": (lambda a, b: a.sum(axis=(0, -2)), "axes (0, -2) name an axis twice"),
    "transpose": (lambda a, b: a.transpose(0, 0), "axes must be a permutation of 0 .. 1; found (0, 0)"),
}  # fmt: skip


@pytest.mark.parametrize("wrap", [fs.asarray, fs.lazy])
@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name: str, wrap: Callable[[Any], Any]) -> None:
    operation, words = SHAPES[name]
    with pytest.raises(ShapeMismatchError) as caught:
        operation(wrap(A), wrap(B))
    assert words in str(caught.value)


def test_values_that_a_tensor_does_not_have() -> None:
    tensor = fs.asarray(A)
    for use in (bool, float, int):
        with pytest.raises(FormatError):
            use(tensor)
    with pytest.raises(FormatError, match=r"item\(\) needs one element, this tensor has 12"):
        tensor.item()
    with pytest.raises(ShapeMismatchError, match=r"min of no elements has no value: shape \(0, 3\)"):
        fs.asarray(np.zeros((0, 3))).min()
    for use in (bool, np.asarray):
        with pytest.raises(TypeError, match="it has not been computed"):
            use(fs.lazy(A))


def test_formats() -> None:
    with pytest.raises(FormatError, match=r"found the format 'foo', expected one of dense, csr"):
        fs.asarray(A).asformat("foo")
    with pytest.raises(FormatError, match=r"format 'csr' is for 2 axes; the array has 1"):
        fs.einsum("y[i] += A[i,j]", A=A, formats={"y": "csr"})
    with pytest.raises(FormatError, match=r"formats names 'z'; the result of this einsum is called 'y'"):
        fs.einsum("y[i] += A[i,j]", A=A, formats={"z": "dense"})
    with pytest.raises(FormatError, match="this tensor is dense"):
        fs.asarray([1.0]).to_scipy()
    with pytest.raises(FormatError, match="the fill 0, this tensor has inf"):
        fs.asarray(A, fill_value=np.inf).to_scipy()


# ---------------------------------------------------------------------------------------------- settings and sizes

SETTINGS: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "unknown": ({"nope": 1}, TypeError, "no setting is called 'nope'; settings are backend, densify, reassociate"),
    "backend": ({"backend": "cuda"}, ValueError, "backend='cuda'; expected one of numba, python"),
    "backend none": ({"backend": None}, ValueError, "backend=None; expected one of"),
    "reassociate": ({"reassociate": "x"}, ValueError, "reassociate='x'; expected one of strict, sum, algebra"),
    "densify negative": ({"densify": -1}, ValueError, "densify=-1; expected a number of elements"),
    "densify string": ({"densify": "big"}, ValueError, "densify='big'; expected a number of elements"),
    "densify none": ({"densify": None}, ValueError, "densify=None; expected a number of elements"),
    "densify fraction": ({"densify": 2.5}, ValueError, "densify=2.5; expected a number of elements"),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings(name: str) -> None:
    changes, error, words = SETTINGS[name]
    with pytest.raises(error) as caught:
        contextvars.copy_context().run(fs.config, **changes)
    assert words in str(caught.value)


N = 10**5
HUGE = sp.csr_array(([1.0], ([3], [4])), shape=(N, N))

DENSE_RESULTS: dict[str, Callable[[fs.Tensor], Any]] = {
    "to_numpy": lambda a: a.to_numpy(),
    "asformat": lambda a: a.asformat("dense"),
    "lazy asformat": lambda a: fs.compute(fs.lazy(a).asformat("dense")),
    "formats": lambda a: fs.einsum("B[i,j] = A[i,j]", A=a, formats="dense"),
    "outer product": lambda a: fs.einsum("C[i,j] = x[i] * y[j]", x=np.ones(N), y=np.ones(N)),
    "plus dense": lambda a: a + np.ones(N),
    "over dense": lambda a: a / np.ones(N),
    "asarray": lambda a: np.asarray(a),
    "numpy function": lambda a: np.sin(np.array(a)),
}


@pytest.mark.parametrize("name", DENSE_RESULTS)
def test_large_dense_results_are_refused_before_anything_is_allocated(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    for make in ("empty", "zeros", "filled"):
        original = getattr(output, make)

        def counting(count: int, *rest: Any, original: Any = original) -> Any:
            asked.append(count)
            return original(count, *rest)

        monkeypatch.setattr(output, make, counting)
    with pytest.raises(DensifyError, match="hint: ") as caught:
        DENSE_RESULTS[name](fs.asarray(HUGE))
    assert str(N) in str(caught.value)
    assert max(asked, default=0) <= 2 * N


def test_the_densify_limit_is_what_the_setting_says() -> None:
    eye = fs.asarray(sp.eye_array(100, format="csr"))
    with fs.config(densify=100 * 100):
        assert np.array_equal(eye.to_numpy(), np.eye(100))
    with (
        fs.config(densify=100 * 100 - 1),
        pytest.raises(DensifyError, match="10000 elements, more than the limit 9999"),
    ):
        eye.to_numpy()


def test_numpy_gets_small_dense_arrays_only() -> None:
    assert np.asarray(fs.asarray(sp.csr_array((1024, 1024)))).shape == (1024, 1024)
    with pytest.raises(DensifyError, match=r"sparse tensor of shape \(1025, 1024\)\nhint: call .to_numpy\(\)"):
        np.asarray(fs.asarray(sp.csr_array((1025, 1024))))


# ---------------------------------------------------------------------------------------------- files

BANNER = "%%MatrixMarket matrix coordinate real general\n"
FILE_TEXTS: dict[str, tuple[str, str]] = {
    "empty": ("", "an empty file"),
    "not a matrix": ("hello\n", "not a Matrix Market file"),
    "unknown layout": ("%%MatrixMarket matrix diagonal real general\n1 1 1\n", "layout"),
    "unknown field": ("%%MatrixMarket matrix coordinate quaternion general\n1 1 1\n", "field"),
    "no sizes": (BANNER, "the end of the file"),
    "sizes are words": (BANNER + "two 2 1\n1 1 1.0\n", "whole numbers"),
    "negative sizes": (BANNER + "-2 2 1\n1 1 1.0\n", "whole numbers"),
    "huge sizes": (BANNER + "99999999999999999999 2 1\n1 1 1.0\n", "sizes up to"),
    "truncated": (BANNER + "2 2 3\n1 1 1.0\n2 2 2.0\n", "the end of the file after 2 entries"),
    "promises far too much": (BANNER + "2 2 4000000000000000\n1 1 1.0\n", "the end of the file after 1 entries"),
    "one entry too many": (BANNER + "2 2 1\n1 1 1.0\n2 2 2.0\n", "entry number 2"),
    "row out of range": (BANNER + "2 2 1\n3 1 1.0\n", "row index 3"),
    "column out of range": (BANNER + "2 2 1\n1 9 1.0\n", "column index 9"),
    "index zero": (BANNER + "2 2 1\n0 1 1.0\n", "row index 0"),
    "index negative": (BANNER + "2 2 1\n-1 1 1.0\n", "-1"),
    "value is a word": (BANNER + "2 2 1\n1 1 one\n", "one"),
    "value is missing": (BANNER + "2 2 1\n1 1\n", "1 1"),
    "value too much": (BANNER + "2 2 1\n1 1 1.0 2.0\n", "2.0"),
    "fraction among integers": ("%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 1.5\n", "1.5"),
    "integer too large": (BANNER.replace("real", "integer") + f"1 1 1\n1 1 {2**64}\n", str(2**64)),
    "symmetric but not square": (BANNER.replace("general", "symmetric") + "2 3 1\n1 1 1.0\n", "a square matrix"),
    "both triangles": ("%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 2 1.0\n2 1 1.0\n", "mirror image"),
    "skew diagonal": ("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 1.0\n", "diagonal"),
    "array too short": (BANNER.replace("coordinate", "array") + "2 2\n1.0\n2.0\n", "end of the file after 2 entries"),
}  # fmt: skip


@pytest.mark.parametrize("name", FILE_TEXTS)
def test_broken_files(name: str, tmp_path: Path) -> None:
    text, words = FILE_TEXTS[name]
    path = tmp_path / "broken.mtx"
    path.write_text(text)
    with pytest.raises(FileFormatError) as caught:
        fs.read(path)
    assert "broken.mtx" in str(caught.value) and words in str(caught.value)


def test_broken_compressed_files(tmp_path: Path) -> None:
    whole = gzip.compress((BANNER + "3 3 2\n1 1 1.0\n2 2 2.0\n").encode())
    for name, content in {"cut": whole[:-12], "noise": b"\x00\x01noise", "renamed": BANNER.encode()}.items():
        path = tmp_path / f"{name}.mtx.gz"
        path.write_bytes(content)
        with pytest.raises(FileFormatError, match=f"{name}.mtx.gz"):
            fs.read(path)
    path = tmp_path / "compressed.mtx"
    path.write_bytes(whole)
    with pytest.raises(FileFormatError, match=r"gz-compressed data(.|\n)*\.gz"):
        fs.read(path)


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none\.mtx"):
        fs.read(tmp_path / "none.mtx")
    folder = tmp_path / "folder.mtx"
    folder.mkdir()
    with pytest.raises(OSError, match=str(folder)):
        fs.read(folder)
    with pytest.raises(FileFormatError, match=r"a name that ends in none of \.mtx, \.tns, \.npz"):
        fs.read(tmp_path)


def test_complex_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "complex.mtx"
    path.write_text("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1.0 2.0\n")
    assert fs.read(path).item() == 1 + 2j


def test_every_refusal_is_one_of_the_library() -> None:
    for error in (DensifyError, DtypeError, EinsumSyntaxError, FileFormatError, FormatError, IndexNameError):
        assert issubclass(error, FinchschedError)
    assert issubclass(DensifyError, MemoryError) and issubclass(DtypeError, TypeError)
    assert issubclass(IndexNameError, ValueError) and issubclass(FileFormatError, ValueError)


def test_a_true_file_of_absurdly_many_rows_allocates_no_pointers(tmp_path: Path) -> None:
    path = tmp_path / "tall.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n1000000000000 1 1\n1 1 1\n")
    tall = fs.read(path)
    assert (tall.format, tall.shape, tall.nnz) == ("dcsr", (10**12, 1), 1)
    with pytest.raises(DensifyError, match=r"dense levels of a tensor of shape \(1000000000000, 1\)"):
        fs.read(path, format="csr")
