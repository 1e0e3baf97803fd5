"""Kernels built by hand, as lowering would build them."""

import numpy as np
import scipy.sparse as sp

from finchsched.algebra.dtypes import FLOAT64, INT64, UINT64, DType
from finchsched.algebra.operators import operator, result_type
from finchsched.ast.kernel import (
    HI,
    LO,
    ONE,
    STATUS,
    ZERO,
    Apply,
    Buffer,
    Cast,
    Comment,
    Const,
    For,
    If,
    Kernel,
    Load,
    Return,
    Search,
    Seq,
    Set,
    SortRange,
    Store,
    Var,
    While,
    dtype_of,
)
from finchsched.errors import DtypeError

FIRST, LAST = Cast(LO, UINT64), Cast(HI, UINT64)


def call(name, *args, dtype=None):
    """`Apply` with the result type that the operator has."""
    op = operator(name)
    return Apply(op, args, dtype or _result(op, [dtype_of(arg) for arg in args]))


def _result(op, dtypes):
    try:
        return result_type(op, *dtypes)[1]
    except DtypeError:  # the emitter has to refuse it
        return dtypes[-1]


def pos(name):
    return Var(name, UINT64)


def index(expr):
    return Cast(expr, UINT64)


def next_of(expr):
    return call("add", expr, ONE)


def step(var):
    return Set(var, next_of(var))


def spmv(licensed=True, idx=INT64, name="spmv"):
    ptr, crd, val = Buffer("A_ptr", idx, False), Buffer("A_idx", idx, False), Buffer("A_val", FLOAT64, False)
    x, y = Buffer("x_val", FLOAT64, False), Buffer("y_val", FLOAT64, True)
    i, p, acc = pos("i"), pos("p"), Var("acc", FLOAT64)
    term = call("mul", Load(val, p), Load(x, index(Load(crd, p))))
    row = For(p, index(Load(ptr, i)), index(Load(ptr, next_of(i))), Seq((Set(acc, call("add", acc, term)),)))
    body = Seq((Set(acc, Const(0.0, FLOAT64)), row, Store(y, i, acc)))
    return Kernel(name, (), (ptr, crd, val, x, y), Seq((For(i, FIRST, LAST, body),)), licensed)


def dot(licensed=True):
    x, y, out = Buffer("x", FLOAT64, False), Buffer("y", FLOAT64, False), Buffer("out", FLOAT64, True)
    i, acc = pos("i"), Var("acc", FLOAT64)
    loop = For(i, FIRST, LAST, Seq((Set(acc, call("add", acc, call("mul", Load(x, i), Load(y, i)))),)))
    return Kernel("dot", (), (x, y, out), Seq((Set(acc, Const(0.0, FLOAT64)), loop, Store(out, ZERO, acc))), licensed)


def union(idx=INT64):
    """C = A + B by rows, three branches; status[1] is the number of entries."""
    a_ptr, a_idx, a_val = Buffer("A_ptr", idx, False), Buffer("A_idx", idx, False), Buffer("A_val", FLOAT64, False)
    b_ptr, b_idx, b_val = Buffer("B_ptr", idx, False), Buffer("B_idx", idx, False), Buffer("B_val", FLOAT64, False)
    c_ptr, c_idx, c_val = Buffer("C_ptr", idx, True), Buffer("C_idx", idx, True), Buffer("C_val", FLOAT64, True)
    i, a, a_end, b, b_end, c = map(pos, "i a a_end b b_end c".split())
    ia, ib = Var("ia", idx), Var("ib", idx)

    def put(coordinate, value, *moved):
        return Seq((Store(c_idx, c, coordinate), Store(c_val, c, value), *map(step, moved)))

    def rest(p, end, crd, val):
        return While(call("lt", p, end), put(Load(crd, p), Load(val, p), p, c))

    only_one = If(call("lt", ia, ib), put(ia, Load(a_val, a), a), put(ib, Load(b_val, b), b))
    both = put(ia, call("add", Load(a_val, a), Load(b_val, b)), a, b)
    merge = Seq(
        (Set(ia, Load(a_idx, a)), Set(ib, Load(b_idx, b)), If(call("eq", ia, ib), both, Seq((only_one,))), step(c))
    )
    row = Seq(
        (
            Set(a, index(Load(a_ptr, i))),
            Set(a_end, index(Load(a_ptr, next_of(i)))),
            Set(b, index(Load(b_ptr, i))),
            Set(b_end, index(Load(b_ptr, next_of(i)))),
            Comment("both rows have entries left"),
            While(call("and", call("lt", a, a_end), call("lt", b, b_end)), merge),
            rest(a, a_end, a_idx, a_val),
            rest(b, b_end, b_idx, b_val),
            Store(c_ptr, next_of(i), Cast(c, idx)),
        )
    )
    body = Seq((Set(c, ZERO), For(i, FIRST, LAST, row), Store(STATUS, ONE, Cast(c, INT64)), Return(Const(7, INT64))))
    return Kernel("union", (), (a_ptr, a_idx, a_val, b_ptr, b_idx, b_val, c_ptr, c_idx, c_val), body, True)


def sort(dtype: DType = INT64):
    """Sort keys[lo:hi]."""
    keys, scratch = Buffer("keys", dtype, True), Buffer("scratch", dtype, True)
    return Kernel("sort_range", (), (keys, scratch), Seq((SortRange(keys, FIRST, LAST, scratch),)), False)


def search(dtype=INT64):
    """out[i] = first position of keys[i] in values[start:stop]."""
    scalars = (pos("start"), pos("stop"))
    values, keys, out = Buffer("values", dtype, False), Buffer("keys", UINT64, False), Buffer("out", UINT64, True)
    i, found = pos("i"), pos("found")
    body = Seq((Search(found, values, *scalars, Load(keys, i)), Store(out, i, found)))
    return Kernel("search", scalars, (values, keys, out), Seq((For(i, FIRST, LAST, body),)), False)


def functions():
    """out[k * n + i] = f_k(x[i]) for functions that are calls into the C library, and some that are not."""
    x, out = Buffer("x", FLOAT64, False), Buffer("out", FLOAT64, True)
    i, n = pos("i"), pos("n")
    values = [call(name, Load(x, i)) for name in "exp log sin cos tanh sqrt floor sign".split()]
    values += [call(name, Load(x, i), Const(0.7, FLOAT64)) for name in "pow mod floordiv min".split()]
    places = [call("add", call("mul", n, Const(k, UINT64)), i) for k in range(len(values))]
    body = Seq(tuple(Store(out, place, value) for place, value in zip(places, values, strict=True)))
    return Kernel("functions", (n,), (x, out), Seq((For(i, FIRST, LAST, body),)), False)


def random_csr(rows, columns, per_row, seed):
    rng = np.random.default_rng(seed)
    entries = rows * per_row
    where = (rng.integers(0, rows, entries), rng.integers(0, columns, entries))
    matrix = sp.csr_array((rng.random(entries), where), shape=(rows, columns))
    matrix.sum_duplicates()
    matrix.sort_indices()
    return matrix


def buffers_of(matrix):
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data
