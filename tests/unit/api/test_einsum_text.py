"""The einsum notation with names: what it accepts, what it refuses and in which words, what it means."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import finchsched.api as fs
from finchsched.api.binding import bind
from finchsched.api.build_logic import build_logic
from finchsched.api.einsum_program import Access, Constant, IndexValue, Operation
from finchsched.api.einsum_text import parse_einsum
from finchsched.api.functions import _einsum_graph
from finchsched.api.planning import linearize
from finchsched.ast.validate_logic import validate_logic
from finchsched.errors import (
    DtypeError,
    EinsumSyntaxError,
    FinchschedError,
    FormatError,
    IndexNameError,
    ShapeMismatchError,
)
from finchsched.formats.levels import Dense, SparseList
from finchsched.formats.numpy_convert import from_dense
from finchsched.interpret.logic import run_logic
from oracle.einsum_oracle import evaluate
from oracle.masked_array import MaskedArray, compare

INF = float("inf")


def tensor(array: MaskedArray) -> fs.Tensor:
    """The same tensor with the same places stored."""
    rank = array.ndim
    if array.stored.all():
        levels: Any = (Dense(),) * rank
    else:
        levels = (*(Dense(),) * (rank - 1), SparseList()) if rank else ()
    return fs.Tensor(from_dense(array.values, levels, range(rank), fill=array.fill.item(), mask=array.stored))


def interpreted(text: str, **operands: Any) -> Any:
    """The Masked result of the emitted Logic IR."""
    named = {name: tensor(x) if isinstance(x, MaskedArray) else x for name, x in operands.items()}
    roots = (_einsum_graph(text, (), None, None, named),)
    built, program = build_logic(roots), linearize(roots)
    validate_logic(built.plan)
    slots, values = bind(built, program.tensors, program.scalars)
    extents = {f: n if slot == "" else slots[slot].shape[n] for f, (slot, n) in built.extents.items()}
    return run_logic(built.plan, slots, values, extents)[0]


def sparse(seed: int, shape: tuple[int, ...], fill: Any = 0, dtype: Any = np.float64, density: float = 0.5) -> Any:
    rng = np.random.default_rng(seed)
    return MaskedArray.from_mask(rng.integers(-3, 4, shape).astype(dtype), rng.random(shape) < density, fill)


# ---------------------------------------------------------------------------------------------- parsing


def test_parse_product() -> None:
    program = parse_einsum("C[i,j] += A[i,k] * B[k,j]")
    a, b = Access(0, ("i", "k"), 10), Access(1, ("k", "j"), 19)
    assert (program.output, program.left, program.reduction) == ("C", ("i", "j"), "add")
    assert program.expr == Operation("mul", (a, b), 10)
    assert program.operands == ("A", "B")
    assert program.reduced == ("k",)


@pytest.mark.parametrize(
    ("symbol", "reduction"),
    [("=", ""), ("+=", "add"), ("*=", "mul"), ("min=", "min"), ("max=", "max"), ("and=", "and"), ("or=", "or")],
)
@pytest.mark.parametrize("blank", ["", " ", "\n  "])
def test_reductions(symbol: str, reduction: str, blank: str) -> None:
    assert parse_einsum(f"y[i]{blank}{symbol}{blank}A[i]").reduction == reduction


@pytest.mark.parametrize("text", ["s += A[i]", "s[] += A[i]", "s[ ] += A[i]", " s[]+=A[i]"])
def test_results_without_axes(text: str) -> None:
    assert parse_einsum(text).left == ()


@pytest.mark.parametrize("text", ["s = c", "s = c[]", "s = c [ ]"])
def test_scalars_and_0d_tensors_by_name(text: str) -> None:
    expr = parse_einsum(text).expr
    assert isinstance(expr, Access)
    assert expr.index == ()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("-1", -1),
        ("2 ** 3", 8),
        ("1 / 4", 0.25),
        ("7 // 2", 3),
        ("True and False", False),
        ("1 < 2 < 3", True),
        ("-inf", -INF),
        ("min(3, 1, 2)", 1),
        ("where(True, 2, 3)", 2),
        ("1e3", 1000.0),
        ("abs(-2.5)", 2.5),
    ],
)
def test_constants_fold(text: str, value: Any) -> None:
    expr = parse_einsum(f"s = {text}").expr
    assert expr == Constant(value)
    assert type(expr.value) is type(value)  # type: ignore[union-attr]


def test_nan_is_a_literal() -> None:
    expr = parse_einsum("s = nan").expr
    assert isinstance(expr, Constant)
    assert np.isnan(expr.value)


def test_index_as_value() -> None:
    assert parse_einsum("y[i] = A[i] * i").expr == Operation("mul", (Access(0, ("i",), 7), IndexValue("i", 14)), 7)


@pytest.mark.parametrize(
    ("text", "op"),
    [
        ("y[i] += A[i] + B[i]", "add"),
        ("y[i] min= A[i] + B[i]", "minplus_add"),
        ("y[i] max= A[i] + B[i]", "maxplus_add"),
    ],
)
def test_plus_takes_the_reductions_meaning(text: str, op: str) -> None:
    expr = parse_einsum(text).expr
    assert isinstance(expr, Operation)
    assert expr.op == op


def test_precedence_is_pythons() -> None:
    same = [
        ("a + b * c", "a + (b * c)"),
        ("a - b - c", "(a - b) - c"),
        ("-a ** b", "-(a ** b)"),
        ("a ** b ** c", "a ** (b ** c)"),
        ("a & b == c", "(a & b) == c"),
        ("a or b and c", "a or (b and c)"),
        ("not a == b", "not (a == b)"),
    ]
    for one, two in same:
        assert shape_of(parse_einsum(f"s = {one}").expr) == shape_of(parse_einsum(f"s = {two}").expr)


def shape_of(term: Any) -> Any:
    return (term.op, *map(shape_of, term.args)) if isinstance(term, Operation) else type(term).__name__


# ---------------------------------------------------------------------------------------------- refusals

REFUSED = [
    ("C[i,j]", EinsumSyntaxError, "found no assignment", 0),
    ("C[i,j] == A[i,j]", EinsumSyntaxError, "found no assignment", 0),
    ("C[i,j] -= A[i,j]", EinsumSyntaxError, "found no assignment", 0),
    ("C[i,1] = A[i,j]", EinsumSyntaxError, "found '1' among the output's indices", 4),
    ("C[i,] = A[i]", EinsumSyntaxError, "found ''", 4),
    ("C[i,i] = A[i,i]", IndexNameError, "output index i comes twice", 4),
    ("C[i] =", EinsumSyntaxError, "found nothing after the assignment", 6),
    ("C[i] = A[i] +", EinsumSyntaxError, "cannot read the expression", None),
    ("C[i] = A[i] B[i]", EinsumSyntaxError, "cannot read the expression", None),
    ("C[i] = A[i)", EinsumSyntaxError, "cannot read the expression", None),
    ("C[i] = A[0]", EinsumSyntaxError, "an index must be a name", 9),
    ("C[i] = A[i+1]", EinsumSyntaxError, "an index must be a name", 9),
    ("C[i] = A[i:]", EinsumSyntaxError, "an index must be a name", 9),
    ("C[i] = A[i][i]", EinsumSyntaxError, "only an operand by name", 7),
    ("C[i] = i[i]", IndexNameError, "i is both an index and an operand", 7),
    ("C[i] = A[i] @ B[i]", EinsumSyntaxError, "BinOp is not part of", 7),
    ("C[i] = (lambda: 1)", EinsumSyntaxError, "Lambda is not part of", 8),
    ("C[i] = A[i] if A[i] else 1", EinsumSyntaxError, "IfExp is not part of", 7),
    ("C[i] = A[i] is 1", EinsumSyntaxError, "Is is not part of", 7),
    ("C[i] = 'x'", EinsumSyntaxError, "'x' is not a literal", 7),
    ("C[i] = A[i] + 'x'", EinsumSyntaxError, "'x' is not a literal", 14),
    ("C[i] = A[i] + 18446744073709551616", EinsumSyntaxError, "does not fit int64", 14),
    ("C[i] = foo(A[i])", EinsumSyntaxError, "no operator is called 'foo'", 7),
    ("C[i] = np.abs(A[i])", EinsumSyntaxError, "a call is an operator's name", 7),
    ("C[i] = sqrt(x=A[i])", EinsumSyntaxError, "a call is an operator's name", 7),
    ("C[i] = sqrt(A[i], 2)", EinsumSyntaxError, "sqrt takes 1 arguments, found 2", 7),
    ("C[i] = min(A[i])", EinsumSyntaxError, "min takes 2 arguments, found 1", 7),
    ("C[i] = A[i,j]", IndexNameError, "index j is not on the left, and = does not reduce", 7),
    ("C[i,k] = A[i]", IndexNameError, "output index k appears in no operand", 4),
    ("C[i] += k * A[i]\n+ B[k)", EinsumSyntaxError, "cannot read", None),
    ("C[i] = 10 ** 1000 + A[i]", EinsumSyntaxError, "cannot evaluate the constant", 7),
]


@pytest.mark.parametrize(("text", "error", "message", "column"), REFUSED)
def test_refused_text(text: str, error: type[Exception], message: str, column: int | None) -> None:
    with pytest.raises(error, match=re.escape(message)) as caught:
        parse_einsum(text)
    shown, caret = str(caught.value).splitlines()[1:3]
    assert shown == "    " + text.replace("\n", " ")
    assert caret.strip() == "^"
    if column is not None:
        assert caret.index("^") == 4 + column


@pytest.mark.parametrize("text", ["s = " + "(" * 500 + "a" + ")" * 500, "s = " + "a + " * 5000 + "a"])
def test_deep_text_is_refused_or_read(text: str) -> None:
    with contextlib.suppress(EinsumSyntaxError):
        parse_einsum(text)


@given(st.text("CAij[](),+-*/= 01.<&|~:'\"#\n", max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(FinchschedError):
        parse_einsum(text)


A34 = np.ones((3, 4))


@pytest.mark.parametrize(
    ("text", "operands", "error", "message"),
    [
        ("y[i] += A[i,j] * x[j]", {"A": A34, "x": np.ones(3)}, ShapeMismatchError,
         "index j has extent 4 in A (axis 1) and 3 in x (axis 0)"),
        ("y[i] += A[i,j] * x[j]", {"A": A34, "x": np.ones(1)}, ShapeMismatchError, "does not stretch an extent of 1"),
        ("t += A[i,i]", {"A": A34}, ShapeMismatchError, "index i has extent 3 in A (axis 0) and 4 in A (axis 1)"),
        ("y[i] += A[i]", {"A": A34}, IndexNameError, "A has 2 axes (shape (3, 4)), found 1 index (i)"),
        ("y[i] = x[i] + A", {"A": A34, "x": np.ones(3)}, IndexNameError, "found no indices"),
        ("y[i] = x[i] + c[i]", {"c": 2.0, "x": np.ones(3)}, IndexNameError, "c is a scalar and takes no indices"),
        ("y[i] = x[i] * d", {"x": np.ones(3)}, IndexNameError, "d is neither an operand nor an index"),
        ("y[i] = x[i] * i", {"x": np.ones(3), "i": 2}, IndexNameError, "i is both an index and an operand"),
        ("y[i] = x[i]", {"x": np.ones(3), "z": 2}, IndexNameError, "z is given, but the text does not use it"),
        ("y[i] = x[i]", {"x": "abc"}, DtypeError, "x is a str"),
        ("y[i] = -x[i]", {"x": np.ones(3, bool)}, DtypeError, "neg is not defined for bool"),
        ("y[i] = x[i] & x[i]", {"x": np.ones(3)}, DtypeError, "and is not defined for float64"),
    ],
)  # fmt: skip
def test_refused_operands(text: str, operands: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        fs.einsum(text, **operands)


def test_wrong_ways_to_call() -> None:
    with pytest.raises(EinsumSyntaxError, match="given by name"):
        fs.einsum("y[i] = x[i]", np.ones(3))
    with pytest.raises(EinsumSyntaxError, match="found no assignment, but operands x"):
        fs.einsum("i->i", x=np.ones(3))
    with pytest.raises(EinsumSyntaxError, match="dtype= is for"):
        fs.einsum("y[i] = x[i]", x=np.ones(3), dtype=float)
    with pytest.raises(FormatError, match="formats names 'z'"):
        fs.einsum("y[i] = x[i]", x=np.ones(3), formats={"z": "dense"})
    with pytest.raises(FormatError, match="found the format 'cSr2'"):
        fs.einsum("y[i] = x[i]", x=np.ones(3), formats={"y": "cSr2"})


# ---------------------------------------------------------------------------------------------- meaning


@pytest.mark.parametrize(
    "text",
    [
        "C[i,k] += A[i,j] * B[j,k]",
        "C[k,i] += A[i,j] * B[j,k]",
        "y[i] += A[i,j]",
        "y[] += A[i,j] * A[i,j]",
        "y[i] *= A[i,j]",
        "y[i] min= A[i,j] + x[j]",
        "y[i] max= A[i,j] + x[j]",
        "y[j] and= A[i,j]",
        "y[j] or= A[i,j]",
        "C[i,j] = A[i,j] * x[j] + 2",
        "C[i,j] = A[i,j] * (i - j)",
        "C[i,j] = where(A[i,j] > 0, A[i,j], -x[j])",
        "C[i,j] = 0 < A[i,j] <= x[j]",
        "C[i,j] = not A[i,j] or x[j] and c",
        "C[i,j] = min(A[i,j], x[j], c)",
        "C[i,j] = sqrt(abs(A[i,j])) / x[j]",
        "C[i,j] = A[i,j] // 2 + A[i,j] % 3",
        "C[i,j] = A[i,j] ** 2",
        "C[i,j] += A[i,j] * c",
        "y[] = c * 2 + 1",
        "y[i] = i + 0 * A[i,i]",
    ],
)
@pytest.mark.parametrize("fill", [0.0, INF, 2.5])
@pytest.mark.parametrize("seed", [0, 1])
def test_text_agrees_with_the_oracle(text: str, fill: float, seed: int) -> None:
    every = {"A": sparse(seed, (4, 4), fill), "B": sparse(seed + 9, (4, 3)), "x": sparse(seed + 5, (4,)), "c": 1.5}
    operands = {name: x for name, x in every.items() if re.search(rf"\b{name}\b", text.split("=", 1)[1])}
    check(text, operands)


def check(text: str, operands: dict[str, Any]) -> None:
    expected = evaluate(text, operands)
    result = interpreted(text, **operands)
    assert result.values.dtype == expected.dtype
    compare(result.values, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("extents", [(0, 3), (3, 0), (0, 0), (1, 1), (1, 3)])
@pytest.mark.parametrize("symbol", ["+=", "*=", "min=", "max=", "or=", "and="])
def test_empty_and_unit_extents(extents: tuple[int, int], symbol: str) -> None:
    check(f"y[i] {symbol} A[i,j]", {"A": sparse(3, extents)})
    check(f"y[] {symbol} A[i,j]", {"A": sparse(3, extents)})


def test_a_reduction_over_nothing_has_the_initial_value_as_fill() -> None:
    result = interpreted("y[i] min= A[i,j]", A=sparse(3, (3, 0)))
    assert result.fill == INF
    assert not result.stored.any()


def test_bools_widen_in_this_notation() -> None:
    A = sparse(1, (4, 4), False, np.bool)
    for text in ("y[i] += A[i,j]", "y[i] *= A[i,j]", "y[i] += A[i,j] * A[i,j]", "C[i,j] = A[i,j] * A[j,i] + A[i,i]"):
        check(text, {"A": A})


def test_weak_literals_keep_float32() -> None:
    A = sparse(1, (4, 4), 0, np.float32)
    assert interpreted("C[i,j] = 2 * 3 * A[i,j] + 0.5", A=A).values.dtype == np.float32
    assert interpreted("C[i,j] = c * 3 * A[i,j]", A=A, c=2.5).values.dtype == np.float32
    assert interpreted("C[i,j] = c * A[i,j]", A=A, c=np.float64(2.5)).values.dtype == np.float64
    check("C[i,j] = c * d * A[i,j] + c", {"A": A, "c": 2.5, "d": 3})


LEAVES = [
    "A[i,j]",
    "B[i,j]",
    "N[i,j]",
    "M[i,j]",
    "A[j,i]",
    "x[i]",
    "x[j]",
    "u",
    "c",
    "i",
    "j",
    "2",
    "-1",
    "0.5",
    "True",
]


def _node(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds(
            "({} {} {})".format, children, st.sampled_from(["+", "-", "*", "/", "<", "==", ">=", "&", "|"]), children
        ),
        st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), children, children),
        st.builds("{}({})".format, st.sampled_from(["abs", "-", "not "]), children),
        st.builds("where({}, {}, {})".format, children, children, children),
    )


EXPRESSIONS = st.recursive(st.sampled_from(LEAVES), _node, max_leaves=6)


@given(EXPRESSIONS, st.sampled_from(["y[]", "y[i]", "y[j,i]"]), st.sampled_from(["+=", "*=", "min=", "max=", "or="]),
       st.sampled_from([0, INF, -INF]), st.integers(0, 5))  # fmt: skip
def test_random_expressions_agree_with_the_oracle(expr: str, left: str, symbol: str, fill: Any, seed: int) -> None:
    every: dict[str, Any] = {
        "A": sparse(seed, (3, 3), fill),
        "B": sparse(seed + 1, (3, 3), 1, np.float32),
        "N": sparse(seed + 2, (3, 3), 0, np.int64),
        "M": sparse(seed + 3, (3, 3), False, np.bool),
        "x": sparse(seed + 4, (3,)),
        "u": MaskedArray.from_dense(2.0),
        "c": 1.5,
    }
    text = f"{left} {symbol} {expr}"
    used = {name: x for name, x in every.items() if re.search(rf"\b{name}\b", expr)}
    try:
        expected = evaluate(text, used)
    except (ValueError, TypeError):
        with pytest.raises(FinchschedError):
            interpreted(text, **used)
        return
    assume(np.isfinite(expected.fill) or symbol != "*=")
    try:
        result = interpreted(text, **used)
    except DtypeError:
        assume(False)
    compare(result.values, expected, rtol=1e-4, atol=1e-5)
