"""Every rule of Kernel IR, by a kernel that keeps it and one that does not."""

import pytest

from finchsched.algebra.dtypes import BOOL, FLOAT64, UINT64
from finchsched.algebra.operators import operator
from finchsched.ast.kernel import (
    ONE,
    Apply,
    Buffer,
    Comment,
    Const,
    Kernel,
    Load,
    Seq,
    Set,
    Var,
)
from finchsched.ast.parse_kernel import parse_kernel
from finchsched.ast.validate_kernel import validate_kernel
from finchsched.errors import ValidationError

HEAD = "kernel f(n: uint64, a: float64, c: bool, ptr: uint64[], y: mut float64[], z: mut uint64[], w: mut uint64[]):\n"


def kernel_of(*lines):
    return parse_kernel(HEAD + "\n".join("    " + line for line in lines))


@pytest.mark.parametrize(
    "body",
    [
        ["pass"],
        ["p: uint64 = n", "y[p] = a"],
        ["if c:", "    p: uint64 = 0", "else:", "    p = 1", "y[p] = a"],
        ["if c:", "    p: uint64 = 0", "else:", "    return 1: int64", "y[p] = a"],
        ["if c:", "    return 1: int64", "elif y[0] < a:", "    p: uint64 = 0", "else:", "    p = 1", "z[p] = p"],
        ["block:", "    p: uint64 = 0", "y[p] = a"],
        ["for i: uint64 in 0 .. n:", "    y[i] = a", "for i in 0 .. n:", "    z[i] = i"],
        ["p: uint64 = 0", "while p < n:", "    p = p + 1", "    t: uint64 = p", "    z[t] = p", "z[p] = n"],
        ["q: uint64 = search(z[0 .. n], ptr[0])", "sort(z[q .. n], w)", "y[q .. n] = 0.0"],
        ["y[0] = where(c, a, y[1]) + sqrt(a) + float64(n) + to_float64(n)"],
        ["t: bool = isnan(a) & (n == 1) | not(c)"],
        ["status[0] = lo", "return hi - lo"],
        ["lo = lo + 1: int64", "n = n + 1"],
        ["# a comment"],
        ["t: float64 = inf", "u: float64 = nan"],
    ],
)
def test_valid(body):
    validate_kernel(kernel_of(*body))


UNASSIGNED = "p is not assigned on every path"


@pytest.mark.parametrize(
    "body, problem",
    [
        # assigned before use, on every path
        (["y[p: uint64] = a"], "y[p] = a: " + UNASSIGNED),
        (["p: uint64 = p"], "p = p: " + UNASSIGNED),
        (["if c:", "    p: uint64 = 0", "y[p] = a"], "y[p] = a: " + UNASSIGNED),
        (["if c:", "    p: uint64 = 0", "else:", "    q: uint64 = 0", "y[p] = a"], UNASSIGNED),
        (["while c:", "    p: uint64 = 0", "y[p] = a"], UNASSIGNED),
        (["for i: uint64 in 0 .. n:", "    p: uint64 = 0", "y[p] = a"], UNASSIGNED),
        (["while c:", "    y[p: uint64] = a", "    p = 0"], UNASSIGNED),
        (["while p: bool:", "    p = c"], UNASSIGNED),
        (["for i: uint64 in 0 .. n:", "    pass", "y[i] = a"], "i is not assigned on every path"),
        (["for i: uint64 in 0 .. i:", "    pass"], "i is not assigned on every path"),
        (["q: uint64 = search(z[0 .. q], 1)"], "q is not assigned on every path"),
        # a loop's variable
        (["for n in 0 .. 1:", "    pass"], "for n in 0 .. 1: n is in use already"),
        (["for i: uint64 in 0 .. 1:", "    for i in 0 .. 1:", "        pass"], "i is in use already"),
        (["for i: uint64 in 0 .. 1:", "    i = 0"], "i is the variable of a loop around"),
        (["for i: uint64 in 0 .. 1:", "    i = search(z[0 .. 1], 0)"], "i is the variable of a loop around"),
        (["for i: int64 in 0 .. 1:", "    pass"], "the variable of a loop is uint64, but i is int64"),
        # one type for a name
        (["p: uint64 = 0", "p: float64 = 0.0"], "p is float64 here and uint64 before"),
        (["t: float64 = n: float64"], "n is float64 here and uint64 before"),
        (["t: int64 = lo", "lo: uint64 = n"], "lo is uint64 here and int64 before"),
        (["for i: uint64 in 0 .. 1:", "    pass", "i: int64 = lo"], "i is int64 here and uint64 before"),
        # types of operations
        (
            ["t: float64 = a + n"],
            "in a: float64 + n: uint64: arguments are (float64, uint64), must be (float64, float64)",
        ),
        (["t: float64 = sqrt(n)"], "arguments are (uint64), must be (float64)"),
        (["t: float64 = where(n, a, a)"], "arguments are (uint64, float64, float64), must be (bool, float64, float64)"),
        (["t: float64 = where(c, a, n)"], "arguments are (bool, float64, uint64)"),
        (["t: int64 = add(lo, n): int64"], "arguments are (int64, uint64)"),
        (["t: float64 = add(n, n): float64"], "add(n: uint64, n): float64 has type uint64, not float64"),
        (["t: float64 = lt(a, a): float64"], "has type bool, not float64"),
        (["t: bool = sub(c, c): bool"], "operator sub is not defined for bool"),
        (["t: float64 = xor(a, a): float64"], "operator xor is not defined for float64"),
        (["t: uint64 = add(n): uint64"], "operator add takes 2 arguments, not 1"),
        # positions
        (["y[lo] = a"], "the index must be uint64, but lo is int64"),
        (["t: float64 = y[hi]"], "the index of y: mut float64[][hi] must be uint64, but is int64"),
        (["for i: uint64 in lo .. n:", "    pass"], "the lower bound must be uint64"),
        (["for i: uint64 in 0 .. hi:", "    pass"], "the upper bound must be uint64"),
        (["y[lo .. n] = a"], "the lower bound must be uint64"),
        (["y[0 .. hi] = a"], "the upper bound must be uint64"),
        (["sort(z[lo .. n], w)"], "the lower bound must be uint64"),
        (["q: uint64 = search(z[0 .. hi], 1)"], "the upper bound must be uint64"),
        (["q: int64 = search(z[0 .. n], 1)"], "q is int64, but the value is uint64"),
        # values
        (["p: int64 = n"], "p is int64, but the value is uint64"),
        (["y[0] = n"], "the value stored to y must be float64, but n: uint64 is uint64"),
        (["y[0 .. n] = 0"], "the value stored to y must be float64, but 0 is uint64"),
        (["q: uint64 = search(z[0 .. n], a)"], "the key sought in z must be uint64"),
        (["return n"], "the code must be int64"),
        (["t: uint64 = -1"], "-1 is not a value of uint64"),
        (["t: uint8 = 256: uint8"], "256 is not a value of uint8"),
        (["t: float64 = 1: float64"], "1 is not a value of float64"),
        (["t: bool = 1: bool"], "1 is not a value of bool"),
        (["t: uint64 = True: uint64"], "True is not a value of uint64"),
        # conditions
        (["if n:", "    pass"], "if n: the condition must be bool"),
        (["while a:", "    pass"], "while a: the condition must be bool"),
        # buffers
        (["ptr[0] = n"], "ptr[0] = n: ptr is not writable"),
        (["ptr[0 .. n] = 0"], "ptr is not writable"),
        (["sort(ptr[0 .. n], w)"], "ptr is not writable"),
        (["sort(z[0 .. n], ptr)"], "ptr is not writable"),
        (["sort(z[0 .. n], z)"], "z cannot be its own scratch"),
        (["sort(z[0 .. n], y)"], "z is uint64, but its scratch y is float64"),
        (["x: mut float64[][0] = a"], "x is not a buffer of the kernel"),
        (["t: float64 = x: float64[][0]"], "x is not a buffer of the kernel"),
        (["q: uint64 = search(x: uint64[][0 .. n], 0)"], "x is not a buffer of the kernel"),
        (["ptr: mut uint64[][0] = n"], "ptr was declared as uint64[], but is mut uint64[] here"),
        (["t: uint64 = y: uint64[][0]"], "y was declared as mut float64[], but is uint64[] here"),
        # names
        (["y: float64 = a"], "y names both a variable and a buffer"),
        (["status: int64 = lo"], "status names both a variable and a buffer"),
        (["for z: uint64 in 0 .. n:", "    pass"], "z names both a variable and a buffer"),
        (["`a b`: bool = c"], "'a b' is not a Python identifier"),
        (["`lambda`: bool = c"], "'lambda' is not a Python identifier"),
        (["ﬁ: bool = c"], "is not a Python identifier"),
    ],
)
def test_refused(body, problem):
    with pytest.raises(ValidationError) as caught:
        validate_kernel(kernel_of(*body))
    assert str(caught.value).startswith("kernel f: ")
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    "head, problem",
    [
        ("kernel f(n: uint64, n: uint64)", "kernel f: two parameters are called n"),
        ("kernel f(n: uint64, n: uint64[])", "two parameters are called n"),
        ("kernel f(x: uint64[], x: float64[])", "two parameters are called x"),
        ("kernel f(lo: int64)", "two parameters are called lo"),
        ("kernel f(hi: int64[])", "two parameters are called hi"),
        ("kernel f(status: mut int64[])", "two parameters are called status"),
        ("kernel f(status: int64)", "two parameters are called status"),
        ("kernel `f g`()", "'f g' is not a Python identifier"),
        ("kernel f(`if`: bool[])", "'if' is not a Python identifier"),
    ],
)
def test_parameters_refused(head, problem):
    with pytest.raises(ValidationError) as caught:
        validate_kernel(parse_kernel(f"{head}:\n    pass"))
    assert problem in str(caught.value)


def test_a_comment_of_two_lines_is_refused():
    with pytest.raises(ValidationError, match="a comment is one line"):
        validate_kernel(Kernel("f", (), (), Seq((Comment("a\nimport os"),)), False))


def test_deep_expressions():
    x = Buffer("x", UINT64, False)
    good = ONE
    for _ in range(10_000):
        good = Load(x, good)
    p = Var("p", UINT64)
    validate_kernel(Kernel("f", (), (x,), Seq((Set(p, good),)), False))
    bad = Apply(operator("eq"), (good, Const(1.0, FLOAT64)), BOOL)
    with pytest.raises(ValidationError, match=r"kernel f: p = x\[x\[.*\.\.\.: in .*\.\.\.: arguments are"):
        validate_kernel(Kernel("f", (), (x,), Seq((Set(p, bad),)), False))
