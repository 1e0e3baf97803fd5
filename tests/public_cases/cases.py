"""Small executable cases rewritten from public bug reports (see README.md for the source of each).

Pure Python and NumPy. A case gets an adapter `fs` (adapters/base.py says what it offers) and returns
NumPy values; `expected` is computed with NumPy alone. run.py runs each case in its own process.
"""

import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np


class Raises:
    """Expected outcome: an exception whose class name is one of these."""

    def __init__(self, *names):
        self.names = names


@dataclass
class Case:
    id: str
    category: str
    split: str
    source: str
    title: str
    run: Callable
    expected: Callable
    verify: Callable | None = None  # (got, want) -> None or a line; "slow..." marks a time bound
    check_dtype: bool = False
    rtol: float = 1e-9
    atol: float = 1e-12
    may_raise: tuple = ()  # clean refusals that count as a pass, by class name
    policy: bool = False  # differs from NumPy only by a choice a library may make and state
    timeout: int = 90  # seconds, whole process, import and compilation included
    as_mb: int = 8000  # address-space cap
    max_rss_mb: int = 0  # growth of the peak resident set allowed while the case runs


OPEN = []


def case(id, category, source, title, expected, into=OPEN, split="open", **kw):
    def wrap(run):
        into.append(Case(id, category, split, source, title, run, expected, **kw))
        return run

    return wrap


GH = "https://github.com/"
REFUSE = ("IllegalSchedule",)


def rand(shape, seed, density=0.4, dtype=float, lo=-9, hi=10):
    r = np.random.default_rng(seed)
    a = r.integers(lo, hi, shape) * (r.random(shape) < density)
    return a.astype(dtype)


def outcome(f):
    """'raised' or 'returned': for misuse where any clean Python error will do."""
    try:
        f()
    except Exception as e:
        if type(e).__name__ == "Unsupported":
            raise
        return "raised"
    return "returned"


# ---------------------------------------------------------------- wrong values
@case(
    "wv-outer-accumulate",
    "wrong values",
    GH + "tensor-compiler/taco/issues/309",
    "all-sparse output of a contraction over the outermost index keeps partial sums apart",
    lambda: np.einsum("abc,ade->bcde", rand((5, 4, 3), 1), rand((5, 3, 4), 2)),
)
def _(fs):
    x, y = fs.asarray(rand((5, 4, 3), 1)), fs.asarray(rand((5, 3, 4), 2))
    return fs.to_dense(fs.einsum("abc,ade->bcde", x, y))


@case(
    "wv-self-transpose",
    "wrong values",
    GH + "tensor-compiler/taco/issues/199",
    "one sparse operand read in both index orders in the same expression",
    lambda: [
        rand((6, 6), 3) + rand((6, 6), 3).T,
        rand((6, 6), 3) * rand((6, 6), 3).T,
        rand((6, 6), 3) @ rand((6, 6), 3).T,
    ],
)
def _(fs):
    a = fs.asarray(rand((6, 6), 3))
    t = fs.xp.permute_dims(a, (1, 0))
    return [
        fs.to_dense(fs.xp.add(a, t)),
        fs.to_dense(fs.einsum("ij,ji->ij", a, a)),
        fs.to_dense(fs.einsum("ij,kj->ik", a, a)),
    ]


def _min_fill():
    a = -np.abs(rand((5, 4), 4))
    z, five = np.zeros((5, 4)), np.full((5, 4), 5.0)
    return [np.minimum(a, z), np.minimum(z, a), np.maximum(z, a), np.maximum(a, z), np.minimum(five, a)]


@case(
    "wv-min-of-empty",
    "wrong values",
    GH + "finch-tensor/Finch.jl/issues/101",
    "minimum/maximum against an operand that stores nothing depends on argument order",
    _min_fill,
)
def _(fs):
    a, z = fs.asarray(-np.abs(rand((5, 4), 4))), fs.asarray(np.zeros((5, 4)))
    five = fs.from_coo(np.zeros((2, 0), int), np.zeros(0), (5, 4), fill_value=5.0)
    mn, mx = fs.xp.minimum, fs.xp.maximum
    return [fs.to_dense(v) for v in (mn(a, z), mn(z, a), mx(z, a), mx(a, z), mn(five, a))]


def _ez():
    d = np.zeros((4, 3))
    d[3] = [1.0, 2.0, -1.0]
    return d


@case(
    "wv-stored-zeros",
    "wrong values",
    GH + "scikit-learn/scikit-learn/issues/11495",
    "zeros that are stored count exactly like zeros that are not",
    lambda: [
        (_ez() == 0).sum(axis=0),
        (_ez() != 0).any(axis=1),
        np.where(_ez() == 0, 7.0, _ez()),
        _ez().mean(axis=0),
        _ez() == np.zeros((4, 3)),
        np.stack(np.nonzero(_ez())),
    ],
)
def _(fs):
    a = fs.from_coo([[0, 0, 1, 3, 3, 3], [0, 2, 1, 0, 1, 2]], [0.0, 0.0, -0.0, 1.0, 2.0, -1.0], (4, 3))
    xp, z = fs.xp, fs.asarray(np.zeros((4, 3)))
    return [
        fs.to_dense(x)
        for x in (
            xp.sum(a == 0, axis=0),
            xp.any(a != 0, axis=1),
            xp.where(a == 0, fs.asarray(np.full((4, 3), 7.0)), a),
            xp.mean(a, axis=0),
            a == z,
        )
    ] + [np.stack([fs.to_dense(v) for v in xp.nonzero(a)])]


# ---------------------------------------------------------------- crash on an edge case
@case(
    "edge-0x0-matmul",
    "crash on edge case",
    GH + "DrTimothyAldenDavis/GraphBLAS/issues/112",
    "products with a zero-length dimension",
    lambda: [np.zeros((0, 0)), np.zeros(0), np.zeros((3, 4)), np.zeros((0, 2)), np.float64(0.0)],
)
def _(fs):
    m, v = fs.asarray(np.zeros((0, 0))), fs.asarray(np.zeros(0))
    a, b = fs.asarray(np.zeros((3, 0))), fs.asarray(np.zeros((0, 4)))
    mm = fs.xp.matmul
    return [
        fs.to_dense(x) for x in (mm(m, m), mm(m, v), mm(a, b), mm(m, fs.asarray(np.zeros((0, 2)))), fs.xp.sum(mm(m, m)))
    ]


# ---------------------------------------------------------------- fill value, NaN, inf
@case(
    "fill-prod-sum",
    "fill value / NaN / inf",
    GH + "pydata/sparse/pull/181",
    "product and sum over an axis when the background is not zero",
    lambda: [
        np.prod(1 - rand((9, 6), 5, 0.2), axis=0),
        np.sum(rand((9, 6), 5, 0.2) + 1, axis=1),
        np.sum(rand((9, 6), 5, 0.2) + 1),
    ],
)
def _(fs):
    a = fs.asarray(rand((9, 6), 5, 0.2))
    return [fs.to_dense(x) for x in (fs.xp.prod(1 - a, axis=0), fs.xp.sum(a + 1, axis=1), fs.xp.sum(a + 1))]


def _nan_mat():
    a = rand((4, 4), 6, 0.9, lo=1)
    a[2, 1] = np.nan
    a[0, 3] = np.inf
    return a


def _np_nan_matmul():
    with np.errstate(all="ignore"):
        return np.eye(4) @ _nan_mat()


@case(
    "fill-nan-matmul",
    "fill value / NaN / inf",
    GH + "pydata/sparse/issues/340",
    "a stored NaN or inf meets a background zero in a product",
    _np_nan_matmul,
    policy=True,
    may_raise=("ValueError",),
)
def _(fs):
    return fs.to_dense(fs.xp.matmul(fs.asarray(np.eye(4)), fs.asarray(_nan_mat())))


def _np_inf():
    a, b = rand((4, 5), 7), rand((4, 5), 7)
    b[1, 1] = np.inf
    with np.errstate(all="ignore"):
        return [a * np.inf, np.inf * a, b * 0.0, a + np.nan]


@case(
    "fill-inf-scalar",
    "fill value / NaN / inf",
    GH + "apache/mxnet/issues/15809",
    "times an infinite scalar, times zero with a stored inf, plus NaN",
    _np_inf,
)
def _(fs):
    a, b = rand((4, 5), 7), rand((4, 5), 7)
    b[1, 1] = np.inf
    with np.errstate(all="ignore"):
        s, t = fs.asarray(a), fs.asarray(b)
        return [fs.to_dense(x) for x in (s * np.inf, np.inf * s, t * 0.0, s + np.nan)]


def _np_div():
    a, b = rand((6, 7), 8), rand((6, 7), 9)
    with np.errstate(all="ignore"):
        return [a / b, a / 2, a / (b + 1)]


@case(
    "fill-divide",
    "fill value / NaN / inf",
    GH + "scipy/scipy/issues/6401",
    "sparse over sparse: 0/x, x/0 and 0/0 each in their own place",
    _np_div,
)
def _(fs):
    a, b = fs.asarray(rand((6, 7), 8)), fs.asarray(rand((6, 7), 9))
    with np.errstate(all="ignore"):
        return [fs.to_dense(x) for x in (a / b, a / 2, a / (b + 1))]


def _np_concat():
    n = np.full((2, 3), np.nan)
    n[0, 1] = 4.0
    z = np.zeros((1, 3))
    z[0, 2] = 2.0
    return [np.concatenate([n, z]), np.stack([n[:1], z])]


@case(
    "fill-concat-mixed",
    "fill value / NaN / inf",
    GH + "pydata/xarray/issues/3381",
    "join arrays with different backgrounds (NaN and 0)",
    _np_concat,
)
def _(fs):
    n = fs.from_coo([[0], [1]], [4.0], (2, 3), fill_value=np.nan)
    z = fs.from_coo([[0], [2]], [2.0], (1, 3))
    return [fs.to_dense(fs.xp.concat([n, z], axis=0)), fs.to_dense(fs.xp.stack([n[:1, :], z], axis=0))]


# ---------------------------------------------------------------- integer overflow
_RS = (70010, 130003)
_RC = np.array([[0, 70009, 33000, 51234], [0, 130002, 66001, 7]], dtype=np.int32)


def _reshape_expect():
    flat = [int(i) * _RS[1] + int(j) for i, j in _RC.T]
    w = _RS[0] * _RS[1] // 10
    return {
        "sum": np.float64(10.0),
        "hits": [np.array([[k + 1.0]]) for k in range(4)],
        "where": [(f // w, f % w) for f in flat],
    }


@case(
    "ovf-reshape-2e31",
    "integer overflow",
    GH + "scipy/scipy/issues/12301",
    "reshape with int32 coordinates when the element count passes 2**31",
    lambda: {k: _reshape_expect()[k] for k in ("sum", "hits")},
)
def _(fs):
    a = fs.from_coo(_RC, np.arange(1.0, 5.0), _RS)
    r = fs.xp.reshape(a, (10, _RS[0] * _RS[1] // 10))
    hits = [fs.to_dense(r[i : i + 1, j : j + 1]) for i, j in _reshape_expect()["where"]]
    return {"sum": fs.to_dense(fs.xp.sum(r)), "hits": hits}


def _grid(shape):
    return np.indices(shape).reshape(len(shape), -1)


@case(
    "ovf-narrow-coords",
    "integer overflow",
    GH + "pydata/sparse/pull/948",
    "int16, uint8 and uint64 coordinates whose products or counts do not fit them",
    lambda: [
        np.arange(43890.0).reshape(210, 19, 11).mean(axis=(1, 2)),
        np.arange(648.0).reshape(24, 27).sum(axis=0),
        np.arange(648.0).reshape(8, 81),
        2 * np.arange(648.0).reshape(24, 27),
    ],
)
def _(fs):
    a = fs.from_coo(_grid((210, 19, 11)).astype(np.int16), np.arange(43890.0), (210, 19, 11))
    b = fs.from_coo(_grid((24, 27)).astype(np.uint8), np.arange(648.0), (24, 27))
    c = fs.from_coo(_grid((24, 27)).astype(np.uint64), np.arange(648.0), (24, 27))
    return [
        fs.to_dense(x)
        for x in (fs.xp.mean(a, axis=(1, 2)), fs.xp.sum(b, axis=0), fs.xp.reshape(b, (8, 81)), fs.xp.add(c, b))
    ]


# ---------------------------------------------------------------- duplicates, unsorted
_DC = np.array([[1, 0, 1, 1, 2, 0], [2, 0, 2, 2, 1, 0]])
_DD = np.array([1.0, 2.0, 0.5, -1.0, 3.0, 1.0])


def _dups():
    d = np.zeros((3, 3))
    np.add.at(d, tuple(_DC), _DD)
    return d


@case(
    "dup-multiply-grows",
    "duplicates in COO",
    GH + "pytorch/pytorch/pull/84469",
    "repeated coordinates must add up before a product, and storage must not grow with each product",
    lambda: _dups() ** 8,
    verify=lambda g, w: (
        None
        if np.allclose(g[0], w) and g[1] <= 9
        else (f"{g[1]} stored elements in a 3x3 result" if np.allclose(g[0], w) else f"wrong values {g[0].ravel()}")
    ),
)
def _(fs):
    s = fs.from_coo(_DC, _DD, (3, 3))
    for _i in range(3):
        s = fs.xp.multiply(s, s)
    return fs.to_dense(s), fs.nnz(s)


_CSR = (np.array([0, 3, 3, 5]), np.array([2, 0, 3, 1, 0]), np.array([5.0, 1.0, 2.0, 4.0, 3.0]))


def _csr_dense():
    d = np.zeros((3, 4))
    for i in range(3):
        for p in range(_CSR[0][i], _CSR[0][i + 1]):
            d[i, _CSR[1][p]] += _CSR[2][p]
    return d


@case(
    "uns-csr-readonly",
    "unsorted indices",
    GH + "scipy/scipy/issues/8678",
    "CSR input with unsorted rows in read-only buffers: right values, buffers untouched",
    lambda: [
        _csr_dense(),
        _csr_dense() + rand((3, 4), 10),
        _csr_dense() @ np.arange(4.0),
        _csr_dense()[1:, ::-1],
        _CSR[1].copy(),
    ],
)
def _(fs):
    bufs = [b.copy() for b in _CSR]
    for b in bufs:
        b.flags.writeable = False
    a = fs.from_csr(*bufs, (3, 4))
    return [
        fs.to_dense(a),
        fs.to_dense(fs.xp.add(a, fs.asarray(rand((3, 4), 10)))),
        fs.to_dense(fs.xp.matmul(a, fs.dense(np.arange(4.0)))),
        fs.to_dense(a[1:, ::-1]),
        bufs[1],
    ]


# ---------------------------------------------------------------- empty, zero-size, 0-d
@case(
    "zd-0d-operands",
    "empty / zero-size / 0-d",
    GH + "pydata/sparse/issues/505",
    "0-d sparse scalars in arithmetic and broadcasting",
    lambda: [np.array([2.5, 5.0]), np.array([1.0, 0.0, 2.0]), np.zeros(3), np.float64(6.25)],
)
def _(fs):
    s = fs.from_coo(np.zeros((0, 1), int), [2.5], ())
    z = fs.asarray(np.array(0.0))
    return [
        fs.to_dense(x)
        for x in (
            fs.xp.multiply(s, fs.asarray(np.array([1.0, 2.0]))),
            fs.xp.add(z, fs.asarray(np.array([1.0, 0.0, 2.0]))),
            fs.xp.broadcast_to(z, (3,)),
            fs.xp.multiply(s, s),
        )
    ]


@case(
    "zs-reductions",
    "empty / zero-size / 0-d",
    GH + "finch-tensor/Finch.jl/issues/485",
    "reductions over zero-length and size-one axes",
    lambda: [
        np.zeros(3),
        np.ones(3),
        np.float64(0),
        np.zeros((0, 1)) + 1,
        np.array([0.0]),
        np.array([False] * 3),
        np.array([True] * 3),
        "raised",
    ],
)
def _(fs):
    z, one, col = (fs.asarray(np.zeros(s)) for s in ((0, 3), (1, 1, 1), (0, 1)))
    xp = fs.xp
    b = fs.asarray(np.zeros((0, 3), bool))
    return [
        fs.to_dense(x)
        for x in (
            xp.sum(z, axis=0),
            xp.prod(z, axis=0),
            xp.sum(z),
            col + 1,
            xp.sum(one, axis=(0, 1)),
            xp.any(b, axis=0),
            xp.all(b, axis=0),
        )
    ] + [outcome(lambda: fs.to_dense(fs.compute(xp.max(z, axis=0))))]


@case(
    "zd-full-reduction",
    "empty / zero-size / 0-d",
    GH + "pydata/sparse/issues/921",
    "a full reduction gives a 0-d array of the library, not a NumPy scalar; 0-d zero stores nothing",
    lambda: [True, np.float64(10.0), np.eye(3) * 3.0, 0],
)
def _(fs):
    a = fs.asarray(np.eye(3))
    s = fs.xp.sum(a)
    return [
        not isinstance(s, np.generic) and getattr(s, "ndim", None) == 0 and s.shape == (),
        fs.to_dense(fs.xp.add(s, fs.asarray(np.array(7.0)))),
        fs.to_dense(fs.xp.multiply(a, s)),
        fs.nnz(fs.asarray(np.array(0.0))),
    ]


# ---------------------------------------------------------------- dtype
@case(
    "dt-sum-upcast",
    "dtype promotion",
    GH + "scipy/scipy/issues/2534",
    "sum and prod of narrow integers and bools widen; mean of integers is float64",
    lambda: [
        np.array([[3, 254], [0, 0]], np.uint8).sum(axis=1),
        np.array([[1, 0], [1, 1]], bool).sum(axis=0),
        np.array([[100, 100], [100, 27]], np.int8).sum(),
        np.array([[100, 3]], np.int8).prod(axis=1),
        np.array([[120, 121]], np.int8).mean(axis=1),
        np.array([1.5, 2.5], np.float32).mean(),
    ],
    check_dtype=True,
)
def _(fs):
    xp, a = fs.xp, fs.asarray
    return [
        fs.to_dense(x)
        for x in (
            xp.sum(a(np.array([[3, 254], [0, 0]], np.uint8)), axis=1),
            xp.sum(a(np.array([[1, 0], [1, 1]], bool)), axis=0),
            xp.sum(a(np.array([[100, 100], [100, 27]], np.int8))),
            xp.prod(a(np.array([[100, 3]], np.int8)), axis=1),
            xp.mean(a(np.array([[120, 121]], np.int8)), axis=1),
            xp.mean(a(np.array([1.5, 2.5], np.float32))),
        )
    ]


@case(
    "dt-bool-matmul-256",
    "dtype promotion",
    GH + "scipy/scipy/pull/2607",
    "a boolean product with 256 hits must not wrap to False",
    lambda: np.ones((2, 256), bool) @ np.ones((256, 1), bool),
    may_raise=("TypeError", "ValueError"),
)
def _(fs):
    return fs.to_dense(fs.xp.matmul(fs.asarray(np.ones((2, 256), bool)), fs.asarray(np.ones((256, 1), bool))))


# ---------------------------------------------------------------- broadcasting
_B1, _B2 = rand((1, 3, 1), 11, 0.9), rand((5, 3, 2), 12)


@case(
    "bc-inner-ones",
    "broadcasting",
    GH + "finch-tensor/finch-tensor/issues/64",
    "(1,3,1) times (5,3,2) through the lazy path keeps axis order",
    lambda: [_B1 * _B2, (_B1 + _B2).sum(axis=1), _B1 * _B2[:, 0, 0][:, None, None]],
)
def _(fs):
    a, b = fs.lazy(fs.asarray(_B1)), fs.lazy(fs.asarray(_B2))
    c = fs.lazy(fs.asarray(_B2[:, 0, 0][:, None, None]))
    return [
        fs.to_dense(fs.compute(x))
        for x in (fs.xp.multiply(a, b), fs.xp.sum(fs.xp.add(a, b), axis=1), fs.xp.multiply(a, c))
    ]


# ---------------------------------------------------------------- indexing
_KEYS = [
    (slice(1, None, -1), slice(None)),
    (0, slice(1, None, -1)),
    slice(-10, None),
    slice(10, 2, -3),
    (slice(None, None, -2), slice(3, 0, -1)),
    (slice(5, 2), slice(None)),
    (Ellipsis, None, 1),
    (-1, -1),
]


@case(
    "ix-negative-step",
    "indexing / slicing",
    GH + "pydata/sparse/issues/500",
    "negative steps, out-of-range bounds, an integer beside a reversed slice, newaxis",
    lambda: [rand((5, 4), 13, 0.7)[k] for k in _KEYS],
)
def _(fs):
    a = fs.asarray(rand((5, 4), 13, 0.7))
    return [fs.to_dense(a[k]) for k in _KEYS]


@case(
    "ix-sparse-mask",
    "indexing / slicing",
    GH + "pydata/sparse/issues/304",
    "index with a boolean mask computed from the array itself",
    lambda: [rand((7,), 14, 0.6, int)[rand((7,), 14, 0.6, int) % 2 == 0], rand((4, 5), 15)[rand((4, 5), 15) > 0]],
)
def _(fs):
    s, t = fs.asarray(rand((7,), 14, 0.6, int)), fs.asarray(rand((4, 5), 15))
    return [fs.to_dense(s[s % 2 == 0]), fs.to_dense(t[t > 0])]


@case(
    "ix-mask-length",
    "indexing / slicing",
    GH + "scipy/scipy/issues/19951",
    "a boolean mask of the wrong length is an error, not padded",
    lambda: Raises("IndexError"),
)
def _(fs):
    return fs.to_dense(fs.asarray(rand((5, 5), 16))[np.array([True, False])])


# ---------------------------------------------------------------- reductions
_V = rand((4, 3, 5), 17)


@case(
    "red-var-axes",
    "reductions",
    GH + "dask/dask/issues/7169",
    "var and std over an axis tuple, with keepdims, correction and negative axes",
    lambda: [
        _V.var(axis=(0, 2)),
        _V.var(axis=(0, 2), keepdims=True),
        _V.std(axis=-2, ddof=1),
        _V.sum(axis=(-1, 0), keepdims=True),
        _V.mean(axis=(0, 1, 2), keepdims=True),
    ],
)
def _(fs):
    a, xp = fs.asarray(_V), fs.xp
    return [
        fs.to_dense(x)
        for x in (
            xp.var(a, axis=(0, 2)),
            xp.var(a, axis=(0, 2), keepdims=True),
            xp.std(a, axis=-2, correction=1),
            xp.sum(a, axis=(-1, 0), keepdims=True),
            xp.mean(a, axis=(0, 1, 2), keepdims=True),
        )
    ]


def _partial():
    a = -np.abs(rand((5, 6), 18, 0.5))
    a[2] = [-3, -1, -4, -1, -5, -9]
    return a


@case(
    "red-partial-max",
    "reductions",
    GH + "cupy/cupy/pull/3515",
    "max/min where stored values are all below (or above) the background and only some rows are full",
    lambda: [
        _partial().max(axis=1),
        (-_partial()).min(axis=1),
        _partial().max(),
        (_partial() + 5).min(axis=0),
        (_partial() < 0).all(axis=1),
        (_partial() < 0).any(axis=0),
    ],
)
def _(fs):
    a, xp = fs.asarray(_partial()), fs.xp
    return [
        fs.to_dense(x)
        for x in (
            xp.max(a, axis=1),
            xp.min(-a, axis=1),
            xp.max(a),
            xp.min(a + 5, axis=0),
            xp.all(a < 0, axis=1),
            xp.any(a < 0, axis=0),
        )
    ]


# ---------------------------------------------------------------- einsum
_E1, _E2 = rand((4, 5), 19), rand((4,), 20, 0.9)


@case(
    "es-spaces-implicit",
    "einsum parsing",
    GH + "pydata/sparse/issues/589",
    "blanks in the text, no arrow (alphabetical output), a dtype argument",
    lambda: [
        np.einsum("ij,i->j", _E1, _E2),
        np.einsum("ba", _E1),
        np.einsum("ij,kj", _E1, _E1),
        np.einsum("ij,ij->", _E1, _E1),
    ],
)
def _(fs):
    a, v = fs.asarray(_E1), fs.asarray(_E2)
    i = fs.asarray(_E1.astype(np.int32))
    return [
        fs.to_dense(x)
        for x in (
            fs.einsum(" ij , i -> j ", a, v),
            fs.einsum("ba", a),
            fs.einsum("ij,kj", a, a),
            fs.einsum("ij,ij->", i, i, dtype=np.float64),
        )
    ]


@case(
    "es-extent-mismatch",
    "einsum parsing",
    GH + "numpy/numpy/issues/11541",
    "one letter with two extents, a wrong number of letters, an unknown output letter: all refused",
    lambda: ["raised"] * 5,
)
def _(fs):
    a, b, c = fs.asarray(np.ones((3, 4))), fs.asarray(np.ones((5, 2))), fs.asarray(np.ones((3, 3)))
    return [
        outcome(lambda t=t, o=o: fs.to_dense(fs.compute(fs.einsum(t, *o))))
        for t, o in (("ij,jk->ik", (a, b)), ("ijk->i", (a,)), ("ij->k", (a,)), ("ii->i", (a,)), ("ij,ij->jj", (c, c)))
    ]


_E3 = rand((4, 4, 3), 21)


@case(
    "es-repeated-letter",
    "einsum parsing",
    GH + "pydata/sparse/issues/259",
    "a letter twice in one operand: diagonal, trace, partial trace",
    lambda: [
        np.einsum("iij->ij", _E3),
        np.einsum("iij->j", _E3),
        np.einsum("ii->", _E3[..., 0]),
        np.einsum("ii,ij->j", _E3[..., 0], _E3[..., 1]),
    ],
)
def _(fs):
    a, b, c = fs.asarray(_E3), fs.asarray(_E3[..., 0]), fs.asarray(_E3[..., 1])
    return [
        fs.to_dense(x)
        for x in (fs.einsum("iij->ij", a), fs.einsum("iij->j", a), fs.einsum("ii->", b), fs.einsum("ii,ij->j", b, c))
    ]


# ---------------------------------------------------------------- tensordot
_T1, _T2 = rand((4, 3, 6), 22), rand((3, 4, 2), 23)


@case(
    "td-axis-lists",
    "tensordot / matmul shapes",
    GH + "pydata/sparse/issues/493",
    "axes given as lists in crossed order, negative axes, axes=0 and a 1-d inner product",
    lambda: [
        np.tensordot(_T1, _T2, axes=([1, 0], [0, 1])),
        np.tensordot(_T1, _T2, axes=([-2], [0])),
        np.tensordot(_T2[:, 0], _T2[0], axes=0),
        np.tensordot(_T1[0, 0], _T1[0, 1], axes=1),
    ],
)
def _(fs):
    a, b = fs.asarray(_T1), fs.asarray(_T2)
    td = fs.xp.tensordot
    return [
        fs.to_dense(x)
        for x in (
            td(a, b, axes=([1, 0], [0, 1])),
            td(a, b, axes=([-2], [0])),
            td(fs.asarray(_T2[:, 0]), fs.asarray(_T2[0]), axes=0),
            td(fs.asarray(_T1[0, 0]), fs.asarray(_T1[0, 1]), axes=1),
        )
    ]


# ---------------------------------------------------------------- transposes
def _seven():
    d = np.full((2, 4, 3), 7.0)
    d[0, 1, 2], d[1, 3, 0], d[1, 0, 1] = 1.0, 2.0, 3.0
    return d


@case(
    "tr-cyclic-fill",
    "transposes",
    GH + "finch-tensor/Finch.jl/issues/387",
    "a cyclic axis permutation (not its own inverse) that must also keep the background",
    lambda: [
        _seven().transpose(2, 0, 1),
        _seven().transpose(2, 0, 1).sum(axis=0),
        np.swapaxes(_seven(), 1, 2),
        _seven().transpose(2, 0, 1).transpose(1, 2, 0),
    ],
)
def _(fs):
    a = fs.from_coo([[0, 1, 1], [1, 3, 0], [2, 0, 1]], [1.0, 2.0, 3.0], (2, 4, 3), fill_value=7.0)
    xp = fs.xp
    t = xp.permute_dims(a, (2, 0, 1))
    return [fs.to_dense(x) for x in (t, xp.sum(t, axis=0), xp.matrix_transpose(a), xp.permute_dims(t, (1, 2, 0)))]


# ---------------------------------------------------------------- lazy
_L = rand((3, 2, 3), 24)


@case(
    "lazy-mixed-reuse",
    "lazy evaluation",
    GH + "finch-tensor/Finch.jl/issues/524",
    "a lazy result used with its own reduction, beside eager operands, computed twice; compute of an eager array",
    lambda: [_L + _L.sum(axis=(0, 1)), _L + _L.sum(axis=(0, 1)), _L * _L, np.einsum("ijk,k->ij", _L, _L[0, 0]), _L],
)
def _(fs):
    e = fs.asarray(_L)
    x = fs.lazy(e)
    plan = fs.xp.add(x, fs.xp.sum(x, axis=(0, 1)))
    return [
        fs.to_dense(fs.compute(p))
        for p in (plan, plan, fs.xp.multiply(x, e), fs.einsum("ijk,k->ij", x, fs.asarray(_L[0, 0])), e)
    ]


# ---------------------------------------------------------------- files
def in_file(text, suffix, f):
    with tempfile.TemporaryDirectory() as d:
        p = os.path.join(d, "m" + suffix)
        with open(p, "w") as h:
            h.write(text)
        return f(p)


_MTX = [
    "%%MatrixMarket matrix coordinate real skew-symmetric\n% a comment\n3 3 2\n2 1 4.5\n3 2 -1e-3\n",
    "%%MatrixMarket matrix coordinate pattern general\n%\n% two comments\n\n2 4 3\n1 4\n2 1\n1 2\n",
    "%%MatrixMarket MATRIX Coordinate Real Symmetric\n3 3 4\n1 1 1.0\n2 1 2.0\n3 3 3.0\n3 1 -4\n",
    "%%MatrixMarket matrix coordinate real general\n0 3 0\n",
]


@case(
    "io-mtx-coordinate",
    "IO MatrixMarket / FROSTT",
    GH + "scipy/scipy/issues/20099",
    "MatrixMarket coordinate files: skew-symmetric, pattern with comments and a blank line, symmetric, empty",
    lambda: [
        np.array([[0, -4.5, 0], [4.5, 0, 1e-3], [0, -1e-3, 0]]),
        np.array([[0, 1, 0, 1], [1, 0, 0, 0]]),
        np.array([[1.0, 2, -4], [2, 0, 0], [-4, 0, 3]]),
        np.zeros((0, 3)),
    ],
)
def _(fs):
    return [in_file(t, ".mtx", lambda p: fs.to_dense(fs.read_mtx(p))) for t in _MTX]


_TNS = "# rank 3, one-based\n1 1 1 1.5\n\n3 2 1 -2\n# last\n2 2 4 1e2\n"


def _tns(shape):
    d = np.zeros(shape)
    d[0, 0, 0], d[2, 1, 0], d[1, 1, 3] = 1.5, -2.0, 100.0
    return d


@case(
    "io-tns-extents",
    "IO MatrixMarket / FROSTT",
    GH + "frostt-tensor/frostt-tensor.github.io/issues/14",
    "FROSTT text has no header: extents inferred, or given and larger than any coordinate; comments and blanks",
    lambda: [_tns((3, 2, 4)), _tns((5, 2, 6)), "raised"],
)
def _(fs):
    return [
        in_file(_TNS, ".tns", lambda p: fs.to_dense(fs.read_tns(p))),
        in_file(_TNS, ".tns", lambda p: fs.to_dense(fs.read_tns(p, shape=(5, 2, 6)))),
        in_file(_TNS, ".tns", lambda p: outcome(lambda: fs.read_tns(p, shape=(2, 2, 4)))),
    ]


# ---------------------------------------------------------------- threads
def _thr_np(k):
    a, b = rand((30, 30), 25), rand((30, 30), 26)
    return [(a @ b).sum(axis=0), (a + k * b).max(axis=1), np.einsum("ij,kj->ik", a, b), (a * b).T][k % 4]


@case(
    "th-first-calls",
    "thread-safety",
    GH + "numba/numba/issues/9288",
    "first calls (compilation included) and parallel kernels from several Python threads at once",
    lambda: [_thr_np(k) for k in range(16)],
    timeout=180,
)
def _(fs):
    a, b, xp = fs.asarray(rand((30, 30), 25)), fs.asarray(rand((30, 30), 26)), fs.xp

    def job(k):
        c = k % 4
        if c == 0:
            return fs.to_dense(xp.sum(xp.matmul(a, b), axis=0))
        if c == 1:
            return fs.to_dense(xp.max(a + k * b, axis=1))
        if c == 2:
            return fs.to_dense(fs.einsum("ij,kj->ik", a, b))
        return fs.to_dense(xp.permute_dims(a * b, (1, 0)))

    with ThreadPoolExecutor(4) as ex:
        return list(ex.map(job, range(16)))


# ---------------------------------------------------------------- caching
def _consts(a, where):
    return [
        a * 2,
        a * 3,
        a * 2.5,
        (a > 1),
        (a > 2),
        a**2,
        a**3,
        a.sum(axis=0),
        a.sum(axis=1),
        where(a > 1, a, -a),
        where(a > 1, -a, a),
    ]


@case(
    "ca-constants",
    "caching",
    GH + "numba/numba/issues/6093",
    "kernels that differ only in a constant, an axis or an inner function must not share a cache entry",
    lambda: _consts(rand((5, 5), 27), np.where) * 2,
    timeout=180,
)
def _(fs):
    a = fs.asarray(rand((5, 5), 27))

    def where(c, x, y):
        return fs.xp.where(c, x, y)

    out = []
    for _i in range(2):
        out += [
            a * 2,
            a * 3,
            a * 2.5,
            (a > 1),
            (a > 2),
            a**2,
            a**3,
            fs.xp.sum(a, axis=0),
            fs.xp.sum(a, axis=1),
            where(a > 1, a, -a),
            where(a > 1, -a, a),
        ]
    return [fs.to_dense(x) for x in out]


# ---------------------------------------------------------------- memory
@case(
    "mem-hypersparse",
    "memory blow-up / densify",
    GH + "scipy/scipy/issues/19984",
    "add and compare arrays with a handful of values in dimensions of 2**30 and 2**32",
    lambda: [np.float64(9.0), np.array([[7.0]]), np.int64(2), np.array([[True]])],
    max_rss_mb=800,
    timeout=120,
)
def _(fs):
    a = fs.from_coo([[5, 2**30 - 1], [0, 0]], [1.0, 4.0], (2**30, 1))
    b = fs.from_coo([[77, 2**30 - 1], [0, 0]], [1.0, 3.0], (2**30, 1))
    s = fs.xp.add(a, b)
    c = fs.from_coo([[3, 2**32 - 1], [2, 19]], [1.0, 2.0], (2**32, 20))
    d = fs.from_coo([[4, 2**32 - 1], [2, 19]], [1.0, 2.0], (2**32, 20))
    ne = fs.xp.not_equal(c, d)
    return [
        fs.to_dense(fs.xp.sum(s)),
        fs.to_dense(s[2**30 - 1 :, :]),
        fs.to_dense(fs.xp.sum(ne)),
        fs.to_dense(ne[4:5, 2:3]),
    ]


def _wide():
    r = np.random.default_rng(28)
    return (
        np.stack([r.permutation(30000)[:20000], r.integers(0, 400000, 20000)]),
        r.random(20000),
        r.random((1, 400000)),
    )


@case(
    "mem-row-vector",
    "memory blow-up / densify",
    GH + "scipy/scipy/issues/6981",
    "a 30000 x 400000 sparse array times a dense row: the answer is as sparse as the array",
    lambda: (_wide()[1] * _wide()[2][0, _wide()[0][1]]).sum(),
    max_rss_mb=900,
    timeout=120,
)
def _(fs):
    c, d, v = _wide()
    p = fs.xp.multiply(fs.from_coo(c, d, (30000, 400000)), fs.dense(v))
    return fs.to_dense(fs.xp.sum(p))


_CH = 30000


def _chain():
    r = np.random.default_rng(29)
    rows = np.arange(_CH)
    return rows, r.random(_CH), r.random(_CH), r.random(_CH)


def _chain_expected():
    _, ca, rb, v = _chain()
    return ca * (rb @ v)


@case(
    "mem-chain-order",
    "memory blow-up / densify",
    GH + "py-why/EconML/pull/1057",
    "A @ B is full although A(Bv) is cheap: the three-operand contraction must not form it",
    _chain_expected,
    max_rss_mb=700,
    timeout=120,
    rtol=1e-8,
)
def _(fs):
    rows, ca, rb, v = _chain()
    z = np.zeros_like(rows)
    a, b = fs.from_coo(np.stack([rows, z]), ca, (_CH, _CH)), fs.from_coo(np.stack([z, rows]), rb, (_CH, _CH))
    return fs.to_dense(fs.einsum("ij,jk,k->i", a, b, fs.dense(v)))


# ---------------------------------------------------------------- performance
def _graph():
    r = np.random.default_rng(30)
    e = np.unique(np.sort(r.integers(0, 15000, (30000, 2)), axis=1), axis=0)
    e = e[e[:, 0] != e[:, 1]]
    return np.concatenate([e, e[:, ::-1]]).T


def _triangles():
    g = _graph()
    nb = [set() for _ in range(15000)]
    for i, j in g.T.tolist():
        nb[i].add(j)
    return np.float64(sum(len(nb[i] & nb[j]) for i, j in g.T.tolist()))


@case(
    "pf-triangles",
    "performance cliff",
    GH + "finch-tensor/Finch.jl/issues/751",
    "sum(A * (A @ A)) on a 15000-node graph: time must follow the stored elements, not n*n",
    _triangles,
    timeout=180,
    max_rss_mb=1500,
    verify=lambda g, w: (
        f"got {g[0]}, want {w}" if g[0] != w else f"slow: second call {g[1]:.1f} s, limit 3 s" if g[1] > 3 else None
    ),
)
def _(fs):
    g = _graph()
    a = fs.from_coo(g, np.ones(g.shape[1]), (15000, 15000))
    for _i in range(2):
        t = time.perf_counter()
        x = fs.lazy(a)
        r = fs.to_dense(fs.compute(fs.xp.sum(fs.xp.multiply(x, fs.xp.matmul(x, x)))))
        t = time.perf_counter() - t
    return float(r), t


# ---------------------------------------------------------------- compile time
_R7 = (np.random.default_rng(31).integers(0, 3, (7, 90)), np.random.default_rng(32).random(90))


def _r7():
    d = np.zeros((3,) * 7)
    np.add.at(d, tuple(_R7[0]), _R7[1])
    return d


@case(
    "ct-rank-7",
    "compile time",
    GH + "finch-tensor/Finch.jl/issues/813",
    "build, add, permute and reduce at rank 7 in bounded time, compilation included",
    lambda: [(2 * _r7()).sum(axis=(0, 2, 4, 6)), _r7().transpose(6, 5, 4, 3, 2, 1, 0).sum(axis=(0, 1, 2, 3, 4))],
    timeout=150,
    verify=lambda g, w: (
        next((f"part {i} wrong" for i in (0, 1) if not np.allclose(g[i], w[i])), None)
        or (f"slow: {g[2]:.0f} s, limit 60 s" if g[2] > 60 else None)
    ),
)
def _(fs):
    t = time.perf_counter()
    a = fs.from_coo(_R7[0], _R7[1], (500, 500, 500, 500, 3, 3, 3))
    s = fs.xp.sum(fs.xp.add(a, a), axis=(0, 2, 4, 6))
    p = fs.xp.sum(fs.xp.permute_dims(a, (6, 5, 4, 3, 2, 1, 0)), axis=(0, 1, 2, 3, 4))
    r = [fs.to_dense(s[:3, :3, :]), fs.to_dense(p[:3, :3])]
    return [*r, time.perf_counter() - t]


# ---------------------------------------------------------------- printing
@case(
    "repr-edges",
    "printing / repr",
    GH + "scipy/scipy/issues/20377",
    "repr and str say something short for huge, empty, 0-d and lazy arrays, without densifying",
    lambda: ["ok"] * 5,
    max_rss_mb=300,
)
def _(fs):
    huge = fs.from_coo([[2**40 - 1], [3]], [1.0], (2**40, 2**20))
    xs = [
        huge,
        fs.asarray(np.zeros((0, 3))),
        fs.asarray(np.array(2.0)),
        fs.asarray(np.zeros((3, 3))),
        fs.lazy(fs.asarray(np.eye(2))),
    ]
    return ["ok" if all(0 < len(f(x).strip()) < 4000 for f in (repr, str)) else "bad" for x in xs]


# ---------------------------------------------------------------- user schedules
_SA, _SX = rand((300, 64), 33), rand((64,), 34, 0.9)
_SPMV = {"loops": [("i", 300), ("j", 64)], "stmt": "y[i] += A[i,j] * x[j]"}


def _spmv(fs, steps, fmt="csr", reps=1):
    for _i in range(reps):
        r = fs.run_schedule(
            [dict(_SPMV)], {"A": (fmt, _SA), "x": ("dense", _SX)}, {"y": ("dense", np.zeros(300))}, steps
        )
    return r["y"]


@case(
    "sc-parallel-reduction",
    "user scheduling",
    GH + "apache/tvm/issues/7420",
    "the reduction loop moved outermost and made parallel: refused, or still right",
    lambda: _SA @ _SX,
    may_raise=REFUSE,
)
def _(fs):
    return _spmv(fs, [("reorder", 0, ["j", "i"]), ("parallelize", 0, "j")], "csc", 5)


@case(
    "sc-triangular-reorder",
    "user scheduling",
    GH + "exo-lang/exo/issues/314",
    "swap two loops when the inner one runs up to the outer index: refused, or still the lower triangle",
    lambda: np.tril(rand((9, 5), 35) @ rand((9, 5), 35).T),
    may_raise=REFUSE,
)
def _(fs):
    prog = [{"loops": [("i", 9), ("j", 9), ("k", 5)], "stmt": "C[i,j] += A[i,k] * A[j,k]", "where": "j <= i"}]
    return fs.run_schedule(
        prog,
        {"A": ("dense", rand((9, 5), 35))},
        {"C": ("dense", np.zeros((9, 9)))},
        [
            ("split", 0, "i", "io", "ii", 4),
            ("split", 0, "j", "jo", "ji", 4),
            ("reorder", 0, ["io", "jo", "ii", "ji", "k"]),
        ],
    )["C"]


@case(
    "sc-nested-split",
    "user scheduling",
    GH + "halide/Halide/issues/7764",
    "split 17 by 3, then the inner loop by 5: refused, or no tail skipped or written twice",
    lambda: 2 * np.arange(17.0) + 1,
    may_raise=REFUSE,
)
def _(fs):
    prog = [{"loops": [("i", 17)], "stmt": "y[i] += 2 * x[i]"}]
    return fs.run_schedule(
        prog,
        {"x": ("dense", np.arange(17.0))},
        {"y": ("dense", np.ones(17))},
        [("split", 0, "i", "io", "ii", 3), ("split", 0, "ii", "iio", "iii", 5)],
    )["y"]


@case(
    "sc-legal-accepted",
    "user scheduling",
    GH + "exo-lang/exo/issues/444",
    "tiling a dense product (two splits, then a swap of the inner loops) is legal and must be accepted",
    lambda: rand((8, 6), 36) @ rand((6, 12), 37),
)
def _(fs):
    prog = [{"loops": [("i", 8), ("j", 12), ("k", 6)], "stmt": "C[i,j] += A[i,k] * B[k,j]"}]
    return fs.run_schedule(
        prog,
        {"A": ("dense", rand((8, 6), 36)), "B": ("dense", rand((6, 12), 37))},
        {"C": ("dense", np.zeros((8, 12)))},
        [
            ("split", 0, "j", "jo", "ji", 4),
            ("split", 0, "i", "io", "ii", 4),
            ("reorder", 0, ["io", "jo", "ii", "ji", "k"]),
        ],
    )["C"]


@case(
    "sc-stale-cursor",
    "user scheduling",
    GH + "exo-lang/exo/pull/664",
    "a cursor taken before its loop was split and moved is forwarded or refused, never applied elsewhere",
    lambda: _SA @ _SX,
    may_raise=REFUSE,
)
def _(fs):
    return _spmv(
        fs,
        [
            ("mark", "m", 0, "j"),
            ("reorder", 0, ["j", "i"]),
            ("split", 0, "j", "jo", "ji", 5),
            ("at_mark", "m", "parallelize"),
        ],
        "csc",
        3,
    )


@case(
    "sc-split-after-parallel",
    "user scheduling",
    GH + "NVIDIA/Fuser/issues/246",
    "split a loop that was already made parallel: refused, or every element still done once",
    lambda: _SA @ _SX,
    may_raise=REFUSE,
)
def _(fs):
    return _spmv(fs, [("parallelize", 0, "i"), ("split", 0, "i", "io", "ii", 7)], "csr", 3)


@case(
    "sc-precompute-outer",
    "user scheduling",
    GH + "tensor-compiler/taco/issues/566",
    "a workspace for a sub-expression that depends on fewer indices than the loop it is hoisted over",
    lambda: rand((7, 6), 38) * rand((7, 1), 39, 0.9) * 3.0,
    may_raise=REFUSE,
)
def _(fs):
    prog = [{"loops": [("i", 7), ("j", 6)], "stmt": "q[i,j] += A[i,j] * B[i] * 3.0"}]
    return fs.run_schedule(
        prog,
        {"A": ("csr", rand((7, 6), 38)), "B": ("dense", rand((7, 1), 39, 0.9)[:, 0])},
        {"q": ("dense", np.zeros((7, 6)))},
        [("precompute", 0, "B[i] * 3.0", ["i"], "w")],
    )["q"]


# ---------------------------------------------------------------- streaming stores
_ST = np.arange(4099.0)


@case(
    "st-nontemporal-visible",
    "streaming stores / fences",
    GH + "rust-lang/rust/issues/114582",
    "parallel streaming stores to an odd-sized output, read back at once by the next statement, many times",
    lambda: [3 * _ST, np.float64((3 * _ST).sum())],
)
def _(fs):
    prog = [{"loops": [("i", 4099)], "stmt": "y[i] = 3 * x[i]"}, {"loops": [("j", 4099)], "stmt": "s[0] += y[j]"}]
    for _i in range(20):
        r = fs.run_schedule(
            prog,
            {"x": ("dense", _ST)},
            {"y": ("dense", np.full(4099, -1.0)), "s": ("dense", np.zeros(1))},
            [("parallelize", 0, "i"), ("stream_store", 0, "y")],
        )
        if not np.array_equal(r["y"], 3 * _ST):
            break
    return [r["y"], r["s"][0]]


CASES = OPEN
