"""Words of the command line become operands; anything else is refused by name."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from finchsched.api import Tensor, read, sample_path
from finchsched.cli.operands import OperandError, parse_operand, parse_operands
from finchsched.errors import FinchschedError


def tensor(word: str) -> Tensor:
    _, operand = parse_operand(word)
    assert isinstance(operand, Tensor)
    return operand


@pytest.mark.parametrize(
    ("word", "shape", "dtype"),
    [
        ("A=dense:67x16", (67, 16), "float64"),
        ("A=dense:5", (5,), "float64"),
        ("A=dense:4x5x6:float32", (4, 5, 6), "float32"),
        ("A=dense:3x2:int64", (3, 2), "int64"),
        ("A=dense:3x2:bool", (3, 2), "bool"),
        ("A=dense:0x4", (0, 4), "float64"),
    ],
)
def test_dense(word: str, shape: tuple[int, ...], dtype: str) -> None:
    made = tensor(word)
    assert (made.shape, made.dtype, made.format) == (shape, np.dtype(dtype), "dense")


@pytest.mark.parametrize(
    ("word", "shape", "stored"),
    [
        ("A=sparse:100x50:0.1", (100, 50), 500),
        ("A=sparse:1000:0.25", (1000,), 250),
        ("A=sparse:7x7:1", (7, 7), 49),
        ("A=sparse:7x7:0", (7, 7), 0),
        ("A=sparse:0x7:0.5", (0, 7), 0),
    ],
)
def test_sparse(word: str, shape: tuple[int, ...], stored: int) -> None:
    made = tensor(word)
    assert (made.shape, made.nnz) == (shape, stored)


def test_random_operands_depend_on_their_name_only() -> None:
    first, again, other = (tensor(f"{name}=dense:4x4").to_numpy() for name in ("X", "X", "Y"))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_matrix_of_the_package_by_name_and_by_path() -> None:
    path = sample_path("west0067.mtx")
    expected = read(path).to_scipy().toarray()
    for word in ("A=sample:west0067.mtx", f"A={path}"):
        assert np.array_equal(tensor(word).to_scipy().toarray(), expected)


@pytest.mark.parametrize(
    ("text", "value"), [("2.5", 2.5), ("3", 3), ("-1", -1), ("true", True), ("False", False), ("inf", float("inf"))]
)
def test_scalars_keep_their_type(text: str, value: Any) -> None:
    _, found = parse_operand(f"alpha=scalar:{text}")
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize(
    ("word", "problem"),
    [
        ("A", "expected NAME=SPEC"),
        ("A=", "expected NAME=SPEC"),
        ("A=what", "cannot read 'what'"),
        ("A=dense", "cannot read 'dense'"),
        ("1A=dense:3", "expected a name"),
        ("formats=dense:3", "expected a name"),
        ("A=dense:3y4", "found the shape '3y4'"),
        ("A=dense:", "found the shape ''"),
        ("A=dense:-3x4", "found the shape '-3x4'"),
        ("A=dense:3x4:int7", "found the type 'int7'"),
        ("A=dense:99999999999x99999999999", "cannot be made"),
        ("A=sparse:3x4", "found the density ''"),
        ("A=sparse:3x4:1.5", "found the density '1.5'"),
        ("A=sparse:3x4:nan", "found the density 'nan'"),
        ("A=sparse:3x4x5:0.1", "found 3 axes"),
        ("A=scalar:two", "found 'two'"),
    ],
)
def test_bad_words_are_refused(word: str, problem: str) -> None:
    with pytest.raises(OperandError) as caught:
        parse_operand(word)
    assert problem in str(caught.value)


def test_a_name_comes_once() -> None:
    with pytest.raises(OperandError, match="operand A is given twice"):
        parse_operands(["A=dense:3", "A=dense:4"])


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    broken = tmp_path / "broken.mtx"
    broken.write_text("this is no matrix\n", encoding="utf-8")
    with pytest.raises(FinchschedError):
        parse_operand(f"A={broken}")
    with pytest.raises(FileNotFoundError):
        parse_operand(f"A={tmp_path / 'missing.mtx'}")
    with pytest.raises(FileNotFoundError, match=r"west0067\.mtx"):
        parse_operand("A=sample:missing.mtx")
