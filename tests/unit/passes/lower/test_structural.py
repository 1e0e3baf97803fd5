"""The mask rule in the Simplifier: what is left of an expression, and of a statement, where operands are unstored."""

from itertools import combinations

import numpy as np
import pytest

from finchsched.algebra.dtypes import BOOL, FLOAT64, INT64
from finchsched.algebra.operators import apply, operator
from finchsched.ast.loop import Access, Assign, Block, Define, If, Loop, Stmt
from finchsched.ast.node import Node, walk
from finchsched.ast.parse_loop import parse_loop
from finchsched.ast.scalar import Call, Literal, Value
from finchsched.formats.levels import Dense, SparseByteMap, SparseList
from finchsched.interpret.masked import Masked, map_masked
from finchsched.passes.lower.structural import EMPTY, Simplifier, Structural, is_empty

INF, NAN = float("inf"), float("nan")
VOCABULARY = {"Dense": Dense, "SparseList": SparseList, "SparseByteMap": SparseByteMap}
FILLS = {"A": 0.0, "B": 0.0, "P": INF, "Q": INF, "N": NAN, "O": 1.0, "M": -INF}


def statement(text: str, fill: float = 0.0) -> Stmt:
    """The body of a nest over sparse vectors A, B (fill 0), P, Q (inf), N (nan), O (1), M (-inf)."""
    lines = [f"input {name}: SparseList[int32,int32](Element({value}: float64))" for name, value in FILLS.items()]
    lines += [f"output y: Dense(Element({fill}: float64))", "nest y by dense:", "    for i:"]
    lines += [f"        {line}" for line in text.splitlines()]
    program = parse_loop("\n".join([*lines, "return y"]), VOCABULARY)
    body: Stmt = program.nests[0].body.body  # type: ignore[attr-defined]  # a LoopProgram
    return body


def absent(body: Node, names: str) -> dict[Node, Node]:
    found = {n for n in walk(body) if isinstance(n, Access) and n.tensor.name in names}
    assert {a.tensor.name for a in found} == set(names)
    return {a: Structural(a.tensor.type.fill) for a in found}


def simplified(text: str, names: str, fill: float = 0.0) -> Stmt:
    body = statement(text, fill)
    return Simplifier(Literal(fill, FLOAT64)).stmt(body, absent(body, names))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("y[i] = A[i] * B[i]", "A"),
        ("y[i] = A[i] * B[i]", "B"),
        ("y[i] = A[i] * B[i]", "AB"),
        ("y[i] = A[i] + B[i]", "AB"),
        ("y[i] = A[i] * (B[i] + O[i])", "A"),
        ("y[i] += A[i]", "A"),
        ("y[i] += A[i] * 2.5: float64", "A"),
        ("y[i] += A[i] * $v: float64 ~finite", "A"),
        ("y[i] = A[i] - B[i]", "AB"),
        ("y[i] = abs(A[i])", "A"),
        ("if A[i] != 0.0: float64:\n    y[i] = A[i]", "A"),
        ("y[i] *= O[i]", "O"),
    ],
    ids=str,
)
def test_nothing_happens(text: str, names: str) -> None:
    fill = 1.0 if "*=" in text else 0.0
    assert simplified(text, names, fill) == EMPTY
    assert is_empty(simplified(text, names, fill))


@pytest.mark.parametrize(
    ("text", "names", "want"),
    [
        ("y[i] = A[i] + B[i]", "A", "y[i] = B[i]"),
        ("y[i] = A[i] + B[i]", "B", "y[i] = A[i]"),
        ("y[i] = A[i] - B[i]", "B", "y[i] = A[i]"),
        ("y[i] = A[i] - B[i]", "A", "y[i] = 0.0: float64 - B[i]"),
        ("y[i] = O[i] * B[i]", "O", "y[i] = B[i]"),
        ("y[i] = A[i] * B[i] + O[i]", "B", "y[i] = O[i]"),
        ("y[i] = min(P[i], A[i])", "P", "y[i] = A[i]"),
        ("y[i] += O[i]", "O", "y[i] += 1.0: float64"),
        ("y[i] *= A[i]", "A", "y[i] *= 0.0: float64"),
        ("y[i] = minplus_add(P[i], A[i])", "P", "y[i] = inf: float64"),
        ("y[i] = minplus_add(P[i], A[i])", "A", "y[i] = P[i]"),
        ("y[i] = P[i] + A[i]", "P", "y[i] = inf: float64 + A[i]"),
        ("y[i] = N[i] + A[i]", "N", "y[i] = nan: float64"),
        ("y[i] = min(M[i], A[i])", "M", "y[i] = -inf: float64"),
        ("y[i] = max(M[i], A[i])", "M", "y[i] = A[i]"),
        ("y[i] = A[i] / B[i]", "A", "y[i] = 0.0: float64 / B[i]"),
        ("y[i] = where(A[i] < B[i], A[i], O[i])", "O", "y[i] = where(A[i] < B[i], A[i], 1.0: float64)"),
    ],
    ids=str,
)
def test_what_is_left(text: str, names: str, want: str) -> None:
    assert simplified(text, names) == statement(want)


def test_a_scalar_never_absorbs() -> None:
    for text in ("y[i] = A[i] * 0.0: float64", "y[i] = N[i] + nan: float64", "y[i] = A[i] * $z: float64 ~zero"):
        assert Simplifier(Literal(1.0, FLOAT64)).stmt(statement(text), {}) == statement(text)


def test_a_value_equal_to_the_fill_is_skipped_only_by_overwriting_it() -> None:
    assert simplified("y[i] = P[i]", "P", INF) == EMPTY
    assert not is_empty(simplified("y[i] = P[i]", "P", 0.0))
    assert simplified("y[i] min= P[i]", "P", INF) == EMPTY
    assert not is_empty(simplified("y[i] max= P[i]", "P", -INF))


def test_a_stored_value_that_equals_the_fill_is_kept() -> None:
    assert not is_empty(simplified("y[i] = A[i] + B[i]", "A"))


@pytest.mark.parametrize("name", ["add", "sub", "mul", "min", "max", "minplus_add", "maxplus_add", "truediv", "lt"])
@pytest.mark.parametrize("fill", [0.0, 1.0, INF, -INF, NAN])
@pytest.mark.parametrize("value", [0.0, -2.0, INF, NAN])
def test_one_unstored_operand_beside_a_stored_one_is_the_interpreters_mask_rule(
    name: str, fill: float, value: float
) -> None:
    """For either side: the simplified expression, evaluated with the stored value, is what the interpreter says."""
    op, out = operator(name), BOOL if name == "lt" else FLOAT64
    unstored = Structural(Literal(fill, FLOAT64))
    access = next(n for n in walk(statement("y[i] = A[i]")) if isinstance(n, Access) and n.tensor.name == "A")
    there = Masked(np.array([value]), np.array([True]), 0.0)
    missing = Masked(np.array([fill]), np.array([False]), fill)
    for flip in (False, True):
        args: tuple[Node, ...] = (access, unstored)
        terms = (there, missing)
        if flip:
            args, terms = args[::-1], terms[::-1]
        want = map_masked(op, terms, out)
        simple = Simplifier(Literal(0.0, FLOAT64))
        found = simple.expr(Call(op, (args[0], args[1])), {})
        if isinstance(found, Structural | Literal):
            literal = found.value if isinstance(found, Structural) else found
            assert isinstance(literal, Literal)
            got = literal.value
        else:
            got = _evaluate(found, access, value)
        assert got == want.values[0] or (got != got and want.values[0] != want.values[0]), (name, flip)


def _evaluate(expr: Node, access: Access, value: float) -> float:
    if expr == access:
        return value
    assert isinstance(expr, Call)
    args = [np.float64(value) if arg == access else np.float64(arg.value) for arg in expr.args]  # type: ignore[attr-defined]  # literals
    return apply(expr.op, *args).item()  # type: ignore[no-any-return]


def test_masks_that_are_decided() -> None:
    body = statement("y[i] = A[i] * to_float64(i <= 3: int64)")
    (mask,) = [n for n in walk(body) if isinstance(n, Call) and n.op.name == "le"]
    simple = Simplifier(Literal(0.0, FLOAT64))
    assert simple.stmt(body, {mask: Literal(True, BOOL)}) == statement("y[i] = A[i] * 1.0: float64")
    assert simple.stmt(body, {mask: Literal(False, BOOL)}) == statement("y[i] = A[i] * 0.0: float64")
    chosen = statement("y[i] = where(i <= 3: int64, A[i], B[i])")
    assert simple.stmt(chosen, {mask: Literal(True, BOOL)}) == statement("y[i] = A[i]")
    assert simple.stmt(chosen, {mask: Literal(False, BOOL)}) == statement("y[i] = B[i]")
    guarded = statement("if i <= 3: int64:\n    y[i] = A[i]")
    assert simple.stmt(guarded, {mask: Literal(True, BOOL)}) == statement("y[i] = A[i]")
    assert simple.stmt(guarded, {mask: Literal(False, BOOL)}) == EMPTY


def test_loops_and_blocks_without_effect_disappear() -> None:
    body = statement("for j:\n    for k:\n        y[i] += A[i]")
    assert Simplifier(Literal(0.0, FLOAT64)).stmt(body, absent(body, "A")) == EMPTY
    two = statement("y[i] += A[i]\ny[i] += B[i]")
    assert Simplifier(Literal(0.0, FLOAT64)).stmt(two, absent(two, "A")) == statement("y[i] += B[i]")


PRODUCER = "var s: float64 = 0.0: float64\nfor k:\n    s += B[k]\ny[i] = A[i] * s"


def test_scalars_that_nothing_reads_go_with_their_loops() -> None:
    body = statement(PRODUCER)
    simple = Simplifier(Literal(0.0, FLOAT64), {"s": Literal(0.0, FLOAT64)})
    assert simple.stmt(body, absent(body, "A")) == EMPTY
    kept = simple.stmt(body, {})
    assert isinstance(kept, Block)
    assert [type(s) for s in kept.body] == [Define, Loop, Assign]


def test_nothing_known_changes_nothing() -> None:
    for text in (PRODUCER, "y[i] = A[i] * B[i]", "if A[i] != 0.0: float64:\n    y[i] = A[i]"):
        body = statement(text)
        after = Simplifier(Literal(0.0, FLOAT64), {"s": Literal(0.0, FLOAT64)}).stmt(body, {})
        assert [type(n) for n in walk(after)] == [type(n) for n in walk(body)]
        assert isinstance(after, Block | Assign | If | Loop)


def test_order_of_knowledge_does_not_matter() -> None:
    """Learning of unstored operands one by one or at once leaves the same, where fills keep each other."""
    body = statement("y[i] = A[i] * B[i] + O[i] * A[i]")
    for names in (c for n in (2, 3) for c in combinations("ABO", n)):
        simple, at_once = Simplifier(Literal(0.0, FLOAT64)), absent(body, "".join(names))
        step: Stmt = body
        for name in names:
            known = {a: s for a, s in at_once.items() if isinstance(a, Access) and a.tensor.name == name}
            step = simple.stmt(step, known)
        assert step == simple.stmt(body, at_once), names


def test_integer_products_fold() -> None:
    zero = Structural(Literal(0, INT64))
    simple = Simplifier(Literal(0, INT64))
    found = simple.expr(Call(operator("mul"), (zero, Value("v", INT64, "finite"))), {})
    assert isinstance(found, Structural)
    assert found.value == Literal(0, INT64)
