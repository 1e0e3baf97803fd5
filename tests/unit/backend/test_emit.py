"""The text of kernels."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from finchsched.algebra.dtypes import BOOL, FLOAT32, FLOAT64, INT64, UINT64
from finchsched.ast.kernel import (
    ONE,
    STATUS,
    ZERO,
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
    Seq,
    Set,
    Store,
    Var,
    While,
)
from finchsched.backend.emit import emit
from finchsched.backend.load import load_kernel
from finchsched.errors import LoweringError
from unit.backend import sample_kernels as sample
from unit.backend.sample_kernels import FIRST, LAST, call, pos

X, Y, OUT = Buffer("x", FLOAT64, False), Buffer("y", FLOAT64, False), Buffer("out", FLOAT64, True)
I, J = pos("i"), pos("j")


def kernel(*body, buffers=(X, Y, OUT), scalars=(), name="k"):
    return Kernel(name, scalars, buffers, Seq(body), False)


def body_of(k):
    """The lines of the function, without its `def`."""
    lines = emit(k).text.splitlines()
    start = next(n for n, line in enumerate(lines) if line.endswith("):"))
    return "\n".join(line.removeprefix("    ") for line in lines[start + 1 :])


def run(k, *arrays, scalars=(), hi=1):
    """Run compiled and as Python on copies; the (equal) contents of the arrays afterwards, and status."""
    results = []
    for backend in ("numba", "python"):
        copies, status = [a.copy() for a in arrays], np.zeros(8, np.int64)
        load_kernel(k, backend=backend).call(0, hi, status, *scalars, *copies)
        results.append([*copies, status])
    for compiled, plain in zip(*results, strict=True):
        np.testing.assert_array_equal(compiled, plain)
    return results[0]


SPMV = """\
# y = A @ x
#   A: csr

import numpy as np

U = np.uint64
F = np.float64
F_0 = F(0.0)
U_1 = U(1)


def spmv(lo, hi, status, A_ptr, A_idx, A_val, x_val, y_val):
    for i in range(U(lo), U(hi)):
        acc = F_0
        for p in range(U(A_ptr[i]), U(A_ptr[i + U_1])):
            acc = acc + A_val[p] * x_val[U(A_idx[p])]
        y_val[i] = acc
"""


def test_text_and_code():
    source = emit(sample.spmv(), head="y = A @ x\n  A: csr")
    assert source.text == SPMV
    assert source.code == SPMV[SPMV.index("import") :]
    assert source.name == "spmv"


def test_comments_are_for_readers_only():
    source = emit(sample.union(), head="C = A + B")
    assert "    # both rows have entries left\n" in source.text
    assert "#" not in source.code
    assert emit(sample.union()).code == source.code


def test_else_if_chains_are_elif():
    assert "elif ia < ib:" in body_of(sample.union())


def test_precedence():
    a, b, c = Load(X, I), Load(Y, I), Var("c", FLOAT64)

    def stored(value):
        text = body_of(kernel(Set(c, Const(2.0, FLOAT64)), Set(I, ZERO), Store(OUT, I, value)))
        return text.splitlines()[-1].removeprefix("out[i] = ")

    assert stored(call("add", call("add", a, b), c)) == "x[i] + y[i] + c"
    assert stored(call("add", a, call("add", b, c))) == "x[i] + (y[i] + c)"
    assert stored(call("mul", call("add", a, b), c)) == "(x[i] + y[i]) * c"
    assert stored(call("sub", a, call("sub", b, c))) == "x[i] - (y[i] - c)"
    assert stored(call("pow", call("neg", a), call("neg", b))) == "power(-x[i], -y[i])"
    assert stored(call("neg", call("pow", a, b))) == "-power(x[i], y[i])"
    assert stored(call("min", call("add", a, b), c)) == "minimum(x[i] + y[i], c)"
    both = call("and", call("lt", a, b), call("or", call("lt", b, c), call("lt", a, c)))
    assert stored(call("where", both, a, call("where", call("not", both), b, c))) == (
        "x[i] if x[i] < y[i] and (y[i] < c or x[i] < c) else y[i] "
        "if not (x[i] < y[i] and (y[i] < c or x[i] < c)) else c"
    )


def test_truth_values_that_are_stored_are_not_words():
    out = Buffer("out", BOOL, True)
    a, b = call("lt", Load(X, ZERO), Load(Y, ZERO)), call("gt", Load(X, ZERO), Load(Y, ZERO))
    k = kernel(Store(out, ZERO, call("or", a, call("not", b))), buffers=(X, Y, out))
    assert body_of(k) == "out[U_0] = (x[U_0] < y[U_0]) | ~(x[U_0] > y[U_0])"
    assert run(k, np.array([1.0]), np.array([2.0]), np.array([False]))[2][0]


def test_deep_expressions_get_names():
    deep = Load(X, ZERO)
    for _ in range(5000):
        deep = call("neg", call("sub", Const(1.0, FLOAT64), deep))
    k = kernel(Store(OUT, ZERO, deep))
    assert max(line.count("(") for line in emit(k).code.splitlines()) <= 21
    status, out = np.zeros(8, np.int64), np.zeros(1)
    load_kernel(k, backend="python").call(0, 1, status, np.array([3.0]), np.zeros(1), out)
    assert out[0] == 3.0 - 5000


def sum_of(expr, depth):
    for _ in range(depth):
        expr = call("neg", expr)
    return expr


def test_branches_that_need_statements_stay_guarded():
    """A deep branch of `where`, right side of `and`, and a deep condition of While: loads stay behind their tests."""
    n, size = pos("n"), pos("size")
    deep = sum_of(Load(X, n), 30)
    inside = call("lt", n, size)
    where = call("where", inside, deep, Const(-1.0, FLOAT64))
    guarded = call("and", inside, call("lt", Const(0.0, FLOAT64), deep))
    k = kernel(
        Set(n, ZERO),
        Set(J, ZERO),
        While(guarded, Seq((Set(n, call("add", n, ONE)),))),
        If(call("or", call("ge", n, size), call("eq", Const(0.0, FLOAT64), deep)), Seq((Set(J, ONE),)), Seq(())),
        Store(OUT, ZERO, where),
        Store(STATUS, ONE, Cast(call("add", n, call("mul", J, Const(100, UINT64))), INT64)),
        scalars=(size,),
    )
    text = body_of(k)
    assert "while True:" in text and "else:\n    t_" in text and "if not test" in text
    for data, count in (([1.0, 2.0, 3.0], 103), ([1.0, -4.0, 3.0], 1), ([], 100)):
        size_of = len(data)
        _, _, out, status = run(k, np.array(data), np.zeros(1), np.zeros(1), scalars=(size_of,))
        assert status[1] == count
        assert out[0] == (-1.0 if count >= 100 else -4.0)


def test_a_chain_whose_condition_needs_statements():
    deep = sum_of(Load(X, ZERO), 21)
    zero = Const(0.0, FLOAT64)
    mark = [Seq((Store(OUT, ZERO, Const(float(v), FLOAT64)),)) for v in range(4)]
    last = If(call("lt", Load(Y, ZERO), zero), mark[2], mark[3])
    k = kernel(If(call("eq", Load(X, ZERO), zero), mark[0], Seq((If(call("lt", deep, zero), mark[1], Seq((last,))),))))
    for x, y, expected in ((0.0, 0.0, 0), (5.0, 0.0, 1), (-5.0, -1.0, 2), (-5.0, 1.0, 3)):
        assert run(k, np.array([x]), np.array([y]), np.zeros(1))[2][0] == expected


def test_empty_blocks():
    k = kernel(
        For(I, FIRST, LAST, Seq((Comment("nothing"),))),
        If(call("lt", Load(X, ZERO), Load(Y, ZERO)), Seq(()), Seq((Store(OUT, ZERO, Load(X, ZERO)),))),
    )
    assert body_of(k).count("pass") == 2
    assert run(k, np.array([4.0]), np.array([2.0]), np.zeros(1))[2][0] == 4.0


def test_memset_and_return():
    k = kernel(Memset(OUT, ONE, LAST, call("add", Load(X, ZERO), Load(Y, ZERO))), Return(Const(3, INT64)))
    *_, out, status = run(k, np.array([1.0]), np.array([2.0]), np.zeros(5), hi=4)
    assert out.tolist() == [0, 3, 3, 3, 0] and status[0] == 3


def test_return_leaves_the_kernel():
    early = If(call("gt", Load(X, ZERO), Load(Y, ZERO)), Seq((Return(Const(9, INT64)),)), Seq(()))
    k = kernel(early, Store(OUT, ZERO, Const(1.0, FLOAT64)))
    *_, out, status = run(k, np.array([3.0]), np.array([2.0]), np.zeros(1))
    assert out[0] == 0 and status[0] == 9


def test_awkward_names_are_changed():
    u, one, kw, odd = Var("U", FLOAT64), Var("U_1", FLOAT64), Var("for", FLOAT64), Var("a-b", FLOAT64)
    same_as_kernel, shadow = Var("k", FLOAT64), Var("range", FLOAT64)
    names = (u, one, kw, odd, same_as_kernel, shadow)
    sets = [Set(v, Const(float(n), FLOAT64)) for n, v in enumerate(names)]
    total = u
    for v in names[1:]:
        total = call("add", total, v)
    k = kernel(*sets, For(I, ZERO, ONE, Seq((Store(OUT, I, total),))))
    assert run(k, np.zeros(1), np.zeros(1), np.zeros(1))[2][0] == 15


def test_constants_of_every_kind():
    values = [0.0, -0.0, 1.0, -2.5, 0.1, 1e-5, 1e22, 1.7976931348623157e308, 5e-324, float("inf"), float("-inf")]
    k = kernel(*(Store(OUT, Const(n, UINT64), Const(v, FLOAT64)) for n, v in enumerate(values)))
    out = run(k, np.zeros(1), np.zeros(1), np.ones(len(values)))[2]
    np.testing.assert_array_equal(out, values)
    assert np.signbit(out[1]) and not np.signbit(out[0])
    text = emit(k).code
    for line in ("F_m2p5 = F(-2.5)", "F_0p1 = F(0.1)", "F_1em05 = F(1e-05)", 'F_minf = F("-inf")', "F_m0 = F(-0.0)"):
        assert f"\n{line}\n" in text


@pytest.mark.parametrize(
    "make, message",
    [
        (
            lambda: kernel(Set(I, call("add", Const(1, INT64), I, dtype=UINT64))),
            "argument of add is int64, expected float64",
        ),
        (lambda: kernel(Store(OUT, Const(0, INT64), Load(X, ZERO))), "index of out is int64, expected uint64"),
        (lambda: kernel(Set(I, Load(X, ZERO))), "value of i is float64, expected uint64"),
        (lambda: kernel(Store(X, ZERO, Load(Y, ZERO))), "read-only"),
        (lambda: kernel(If(I, Seq(()), Seq(()))), "condition is uint64, expected bool"),
        (lambda: kernel(Store(OUT, ZERO, Const(1.0, FLOAT32))), "element of out is float32"),
        (lambda: kernel(Set(Var("i", INT64), Const(0, INT64)), Set(I, ZERO)), "i has two types"),
        (lambda: kernel(Store(Buffer("z", FLOAT64, True), ZERO, Load(X, ZERO))), "not parameters: z"),
        (lambda: kernel(buffers=(X, X)), "two parameters of one name"),
        (lambda: kernel(Set(I, Const(-1, UINT64))), "constant -1 does not fit uint64"),
        (lambda: kernel(Store(OUT, ZERO, call("xor", Load(X, ZERO), Load(Y, ZERO)))), "xor is not defined for float64"),
        (
            lambda: kernel(Store(OUT, ZERO, call("sign", Const(True, BOOL), dtype=FLOAT64))),
            "sign is not defined for bool",
        ),
        (lambda: kernel(name="for"), "cannot be called 'for'"),
    ],
)
def test_kernels_that_are_refused(make, message):
    with pytest.raises(LoweringError, match=message):
        emit(make())


SHOW = """
import hashlib
from unit.backend import sample_kernels as sample
from finchsched.backend.emit import emit
for k in (sample.spmv(), sample.union(), sample.sort(), sample.search()):
    print(hashlib.sha256(emit(k, head="x").text.encode()).hexdigest())
"""


def test_the_same_bytes_under_any_hash_seed():
    tests, src = Path(__file__).parents[2], Path(__file__).parents[3] / "src"
    texts = set()
    for seed in ("0", "1", "4711"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join([str(src), str(tests)])}
        done = subprocess.run([sys.executable, "-c", SHOW], env=env, capture_output=True, text=True, check=True)
        texts.add(done.stdout)
    assert len(texts) == 1
