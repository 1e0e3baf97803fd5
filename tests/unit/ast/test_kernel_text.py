"""Printed Kernel IR: what it looks like, that it comes back as it was, and what the parser refuses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finchsched.algebra.dtypes import BOOL, FLOAT32, FLOAT64, INT32, INT64, UINT8, UINT32, UINT64
from finchsched.algebra.operators import OPERATORS, operator
from finchsched.ast.kernel import (
    HI,
    LO,
    ONE,
    STATUS,
    Apply,
    Buffer,
    Cast,
    Comment,
    Const,
    For,
    If,
    Kernel,
    Load,
    Memset,
    Return,
    Search,
    Seq,
    Set,
    SortRange,
    Store,
    Var,
    While,
)
from finchsched.ast.parse_kernel import parse_kernel
from finchsched.ast.print_kernel import print_kernel, statement_line
from finchsched.errors import IRSyntaxError

EVERY_STATEMENT = """\
kernel every(n: uint64, a: float32, ptr: uint64[], idx: mut uint32[], tmp: mut uint32[], y: mut float32[]) licensed:
    # every statement, and a # in a comment
    #
    y[0 .. n] = 0.0: float32
    for i: uint64 in uint64(lo) .. uint64(hi):
        p: uint64 = ptr[i]
        end: uint64 = ptr[i + 1]
        while p < end:
            acc: float32 = a * y[p] + a
            y[p] = where(isnan(acc), -1.5: float32, max(acc, a))
            p = p + 1
        if (p == end) & ((end > 0) | (n != 3)):
            pass
        elif n - (p - end) >= 2:
            return 7: int64
        elif n - p - end <= 2:
            block:
                return 8: int64
        else:
            sort(idx[p .. end], tmp)
            block:
                pass
    q: uint64 = search(idx[0 .. n], 5: uint32)
    if not(True) ^ False:
        x: float64 = neg(inf) / -inf // nan % 1e-05 * minplus_add(2.0, -0.0)
    status[0] = int64(q)"""


def test_every_statement_is_read_and_printed_unchanged():
    kernel = parse_kernel(EVERY_STATEMENT)
    assert isinstance(kernel, Kernel) and kernel.licensed
    assert print_kernel(kernel) == EVERY_STATEMENT
    assert parse_kernel(print_kernel(kernel)) == kernel


def test_types_stand_at_first_mentions_and_where_they_change():
    p, q, x = Var("p", UINT64), Var("p", INT64), Buffer("x", FLOAT64, True)
    seq = Seq((Set(p, ONE), Set(p, p), Set(q, q), Store(x, p, Load(x, p)), Store(x, p, Load(x, p))))
    assert print_kernel(seq).split("\n") == [
        "block:",
        "    p: uint64 = 1",
        "    p = p",
        "    p: int64 = p",
        "    x: mut float64[][p: uint64] = x[p]",
        "    x[p] = x[p]",
    ]


@pytest.mark.parametrize(
    "text, node",
    [
        ("lo", LO),
        ("status", STATUS),
        ("x: float64[]", Buffer("x", FLOAT64, False)),
        ("x: mut uint8[]", Buffer("x", UINT8, True)),
        ("status[hi: uint64]", Load(STATUS, Var("hi", UINT64))),
        ("`if`: bool", Var("if", BOOL)),
        ("`a b\\`\\n`: bool", Var("a b`\n", BOOL)),
        ("ß: bool", Var("ß", BOOL)),
        ("3", Const(3, UINT64)),
        ("-3", Const(-3, UINT64)),
        ("3: float64", Const(3, FLOAT64)),
        ("1e+22", Const(1e22, FLOAT64)),
        ("-inf: float32", Const(float("-inf"), FLOAT32)),
        ("True: uint8", Const(True, UINT8)),
        ("float32(lo)", Cast(LO, FLOAT32)),
        ("to_float32(lo)", Apply(operator("to_float32"), (LO,), FLOAT32)),
        ("add(lo, hi): int32", Apply(operator("add"), (LO, HI), INT32)),
        ("add(): int32", Apply(operator("add"), (), INT32)),
        ("lo < hi", Apply(operator("lt"), (LO, HI), BOOL)),
        ("return lo", Return(LO)),
        ("#  two", Comment(" two")),
        ("# a\\nb\\\\n ", Comment("a\nb\\n ")),
        ("sort: bool = True", Set(Var("sort", BOOL), Const(True, BOOL))),
    ],
)
def test_pieces_on_their_own(text, node):
    assert print_kernel(node) == text
    assert parse_kernel(text) == node


def test_several_statements_make_a_seq():
    assert parse_kernel("a: bool = True\n\na = a\r\n") == Seq(
        (Set(Var("a", BOOL), Const(True, BOOL)), Set(Var("a", BOOL), Var("a", BOOL)))
    )


def test_operators_may_be_called_by_name():
    assert parse_kernel("add(lo, mul(hi, hi))") == parse_kernel("(lo + ((hi) * hi))")


def test_very_deep_expressions():
    deep = LO
    for n in range(10_000):
        deep = [
            Apply(operator("sub"), (deep, LO), INT64),
            Apply(operator("sub"), (LO, deep), INT64),
            Apply(operator("neg"), (deep,), INT64),
            Cast(deep, INT64),
        ][n % 4]
    assert parse_kernel(print_kernel(deep)) == deep
    assert len(statement_line(Kernel("f", (), (), Seq(()), False), Return(deep))) == 100


@pytest.mark.parametrize(
    "text, line, column, problem",
    [
        ("", 1, 1, "empty"),
        ("x", 1, 1, "variable 'x' has no type yet"),
        ("x[0]", 1, 1, "buffer 'x' has no type yet"),
        ("x: float16", 1, 4, "expected an element type, found 'float16'"),
        ("x: mut float64 = 1.0", 1, 16, "expected '[]'"),
        ("x: float64[0]", 1, 11, "expected the end of the line"),
        ("lo + ", 1, 6, "expected an expression, found the end of the line"),
        ("lo + * hi", 1, 6, "expected an expression, found '*'"),
        ("-lo", 1, 2, "expected a number after '-'"),
        ("(lo", 1, 4, "expected ')'"),
        ("status[0)", 1, 9, "expected ']'"),
        ("add(lo, hi", 1, 11, "expected ')'"),
        ("lo, hi", 1, 3, "expected the end of the line"),
        ("lo < hi < lo", 1, 9, "comparisons do not chain"),
        ("lo < hi + lo == lo", 1, 14, "comparisons do not chain"),
        ("quux(lo)", 1, 1, "no operator or type is called 'quux'"),
        ("add(lo)", 1, 1, "operator add has no result type for (int64)"),
        ("1.0 & 2.0", 1, 5, "operator and has no result type for (float64, float64)"),
        ("int64(lo, hi)", 1, 1, "a cast takes one argument, not 2"),
        ("1: float64[]", 1, 1, "a constant has no buffer type"),
        ("lo = 1 # one", 1, 8, "'#' begins no word"),
        ("lo = 1 = 2", 1, 8, "expected the end of the line, found '='"),
        ("lo[0] = 1", 1, 1, "buffer 'lo' has no type yet"),
        ("\tlo = lo", 1, 1, "begins no word"),
        ("`lo = lo", 1, 1, "begins no word"),
        ("else:\n    pass", 1, 1, "no statement begins with 'else'"),
        ("if True:\nlo = lo", 1, 9, "expected an indented line under this one"),
        ("if True:", 1, 9, "expected an indented line"),
        ("if True: lo = lo", 1, 10, "expected an element type, found 'lo'"),
        ("if True\n    pass", 1, 8, "expected ':'"),
        ("while True:\n    pass\n    lo = lo", 3, 5, "indented without a reason"),
        ("lo = lo\n  hi = hi", 2, 3, "indented without a reason"),
        ("  lo = lo\nhi = hi", 2, 1, "expected the end of the text"),
        ("for status[0] in 0 .. 1:\n    pass", 1, 5, "expected a variable, but 'status' is a buffer"),
        ("for i: uint64 in 0:\n    pass", 1, 19, "expected '..'"),
        ("for 1 in 0 .. 1:\n    pass", 1, 5, "expected a name, found '1'"),
        ("q: uint64 = search(lo: int64[0 .. 1], 1)", 1, 20, "expected a buffer, but 'lo' is a variable"),
        ("sort(status[0 .. 1], zzz)", 1, 22, "buffer 'zzz' has no type yet"),
        ("kernel (x: uint64):\n    pass", 1, 8, "expected the name of the kernel"),
        ("kernel f(x: uint64[], n: uint64):\n    pass", 1, 23, "scalars stand before buffers"),
        ("kernel f(n: uint64 m: uint64):\n    pass", 1, 20, "expected ','"),
        ("kernel f():\n    pass\nkernel g():\n    pass", 3, 1, "expected the end of the text"),
        ("kernel f():\n    lo", 2, 7, "expected '='"),
    ],
)
def test_the_parser_refuses_with_line_column_and_caret(text, line, column, problem):
    with pytest.raises(IRSyntaxError) as caught:
        parse_kernel(text)
    message = str(caught.value)
    assert message.startswith(f"line {line}, column {column}: ")
    assert problem in message
    shown, caret = message.split("\n")[1:3]
    assert shown == text.split("\n")[line - 1]
    assert caret == " " * (column - 1) + "^"


# Random programs: well formed, not valid.  Names collide on purpose, and some are words of the language.

DTYPES = st.sampled_from([BOOL, INT32, INT64, UINT8, UINT32, UINT64, FLOAT32, FLOAT64])
NAMES = st.one_of(
    st.sampled_from("i j x lo hi status sort search add float64 mut licensed block if in inf".split()),
    st.text(max_size=3),
)
VARS = st.builds(Var, NAMES, DTYPES)
BUFFERS = st.builds(Buffer, NAMES, DTYPES, st.booleans())
VALUES = st.one_of(st.booleans(), st.integers(), st.floats())
OPS = st.sampled_from([*OPERATORS.values()])


def applies(exprs):
    any_apply = st.builds(Apply, OPS, st.lists(exprs, max_size=3).map(tuple), DTYPES)
    infix = st.sampled_from([op for op in OPERATORS.values() if op.arity == 2])
    numbers = st.one_of(st.builds(Const, VALUES, st.just(INT64)), st.just(LO))
    return st.one_of(
        any_apply,
        st.builds(Apply, infix, st.tuples(exprs, exprs), DTYPES),
        st.builds(Apply, infix, st.tuples(numbers, numbers), st.sampled_from([INT64, BOOL])),
    )


EXPRS = st.recursive(
    st.one_of(VARS, st.builds(Const, VALUES, DTYPES)),
    lambda exprs: st.one_of(st.builds(Load, BUFFERS, exprs), st.builds(Cast, exprs, DTYPES), applies(exprs)),
    max_leaves=8,
)
SIMPLE = st.one_of(
    st.builds(Set, VARS, EXPRS),
    st.builds(Store, BUFFERS, EXPRS, EXPRS),
    st.builds(Search, VARS, BUFFERS, EXPRS, EXPRS, EXPRS),
    st.builds(SortRange, BUFFERS, EXPRS, EXPRS, BUFFERS),
    st.builds(Memset, BUFFERS, EXPRS, EXPRS, EXPRS),
    st.builds(Return, EXPRS),
    st.builds(Comment, st.text(max_size=6)),
)


def seqs(statements):
    return st.builds(Seq, st.lists(statements, max_size=3).map(tuple))


STATEMENTS = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        seqs(inner),
        st.builds(For, VARS, EXPRS, EXPRS, seqs(inner)),
        st.builds(While, EXPRS, seqs(inner)),
        st.builds(If, EXPRS, seqs(inner), seqs(inner)),
    ),
    max_leaves=6,
)
KERNELS = st.builds(
    Kernel,
    NAMES,
    st.lists(VARS, max_size=3).map(tuple),
    st.lists(BUFFERS, max_size=3).map(tuple),
    seqs(STATEMENTS),
    st.booleans(),
)


@given(st.one_of(EXPRS, BUFFERS, STATEMENTS, KERNELS))
def test_what_is_printed_is_read_back(node):
    assert parse_kernel(print_kernel(node)) == node


@given(st.text(alphabet="ifelsx01:=[]().,+-<`# \n", max_size=30))
def test_the_parser_raises_nothing_but_syntax_errors(text):
    try:
        node = parse_kernel(text)
    except IRSyntaxError:
        return
    assert parse_kernel(print_kernel(node)) == node
