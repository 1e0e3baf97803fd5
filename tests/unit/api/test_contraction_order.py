"""The order of contractions: its cost, and the graphs that come of it."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import finchsched as fs
from finchsched.api.contraction_order import Contraction, Factor, choose_order, nest_cost
from finchsched.api.graph import GraphNode, topological
from finchsched.api.order_contractions import order_contractions

N = 1000


def contraction(
    text: str, extents: dict[str, int], stored: dict[int, int] | None = None, limit: int = 1 << 40
) -> Contraction:
    """`text` in NumPy's notation; `stored`: the entries of each sparse operand, by number."""
    inputs, out = text.split("->")
    factors = [Factor(tuple(part), (stored or {}).get(n)) for n, part in enumerate(inputs.split(","))]
    return Contraction(tuple(factors), tuple(out), tuple(extents.items()), limit)


def square(letters: str, n: int = N) -> dict[str, int]:
    return dict.fromkeys(letters, n)


@pytest.mark.parametrize(
    "text, stored, path",
    [
        ("ij,jk,k->i", {}, ((1, 2),)),
        ("i,ij,jk->k", {}, ((0, 1),)),
        ("ij,jk,k->i", {0: 3000, 1: 3000}, ((1, 2),)),
        ("ij,jk,kl->il", {}, ((0, 1),)),
        ("ij,ik,jk->ij", {0: 3000}, ()),
        ("ijk,jr,kr->ir", {0: 50000}, ()),
        ("ij,jk,ki->", {0: 3000, 1: 3000, 2: 3000}, ()),
        ("i,i,i->i", {}, ()),
        ("i,j,k->ijk", {}, ()),
    ],
    ids=str,
)
def test_the_order(text: str, stored: dict[int, int], path: tuple[tuple[int, int], ...]) -> None:
    assert choose_order(contraction(text, square("ijklr"), stored))[1] == path


def test_a_tiny_operand_keeps_the_nest() -> None:
    """Ten entries meet ten rows of a dense matrix; all of the matrix times the vector is more."""
    assert choose_order(contraction("ij,jk,k->i", square("ijk"), {0: 10}))[1] == ()


def test_a_long_chain_goes_from_the_vector() -> None:
    cost, path = choose_order(contraction("ab,bc,cd,de,ef,f->a", square("abcdef")))
    assert len(path) == 4 and cost < 50 * N * N


def test_no_large_dense_intermediate() -> None:
    extents = {**square("ik", 10**6), "j": 1, "l": 1}
    assert choose_order(contraction("ij,jk,kl->il", extents, limit=10**9))[1] != ((0, 1),)


def test_bounds() -> None:
    extents = tuple(square("ijk").items())
    assert nest_cost([Factor(("i", "j"), None), Factor(("j", "k"), None)], extents) == N**3
    assert nest_cost([Factor(("i", "j"), 50), Factor(("j", "k"), None)], extents) == 50 * N
    assert nest_cost([Factor(("i", "j"), 50), Factor(("j", "k"), 7)], extents) == 350
    assert nest_cost([Factor((), None)], extents) == 1


# ------------------------------------------------------------------------------------------------ graphs


def einsums(array: Any) -> list[GraphNode]:
    """The einsums of a graph after ordering, arguments first."""
    (root,) = order_contractions((array.node,), topological((array.node,)))
    return [n for n in topological((root,)) if n.kind == "einsum"]


def matrices(dtype: Any = float) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    a, b = (fs.lazy(sp.random_array((40, 40), density=0.2, format="csr", rng=rng).astype(dtype)) for _ in range(2))
    return a, b, fs.lazy(np.arange(40).astype(dtype))


def dense(array: Any) -> Any:
    return array.node.data.val.reshape(-1) if array.ndim == 1 else fs.compute(array).to_numpy()


def test_three_operands() -> None:
    a, b, v = matrices()
    y = fs.einsum("ij,jk,k->i", a, b, v)
    assert [len(n.args) for n in einsums(y)] == [2, 2]
    np.testing.assert_allclose(fs.compute(y).to_numpy(), dense(a) @ (dense(b) @ dense(v)))


def test_named_operands_keep_their_names() -> None:
    a, b, v = matrices()
    plan = fs.plan("y[i] += A[i,j] * B[j,k] * v[k]", A=a, B=b, v=v)
    assert set(plan.operands) == {"A", "B", "v"}
    expected = dense(a) @ (dense(b) @ dense(v))
    np.testing.assert_allclose(plan.run().to_numpy(), expected)
    np.testing.assert_allclose(plan.run(v=2 * dense(v)).to_numpy(), 2 * expected)


@pytest.mark.parametrize("setting, count", [("strict", 1), ("sum", 1), ("algebra", 2)])
def test_the_setting(setting: str, count: int) -> None:
    with fs.config(reassociate=setting):
        assert len(einsums(fs.einsum("ij,jk,k->i", *matrices()))) == count
        assert len(einsums(fs.einsum("ij,jk,k->i", *matrices(int)))) == 2


def test_a_chain_of_products() -> None:
    a, b, v = matrices()
    for y, expected in (
        (a @ b @ v, dense(a) @ (dense(b) @ dense(v))),
        ((a @ b).T @ v, dense(b).T @ (dense(a).T @ dense(v))),
        (v @ (a @ b @ a.T), ((dense(v) @ dense(a)) @ dense(b)) @ dense(a).T),
    ):
        found = einsums(y)
        assert all(1 in (len(n.shape), *(len(arg.shape) for arg in n.args)) for n in found)
        np.testing.assert_allclose(fs.compute(y).to_numpy(), expected)


def test_a_product_that_is_read_twice_is_computed_once() -> None:
    a, b, v = matrices()
    c = a @ b
    roots = (c.node, (c @ v).node)
    assert order_contractions(roots, topological(roots)) == roots
    assert len(einsums(c @ v + c.sum())) == 2


@pytest.mark.parametrize("dtype", [bool, int, np.float32])
def test_types(dtype: Any) -> None:
    a, b, v = matrices(dtype)
    y = fs.compute(fs.einsum("ij,jk,k->i", a, b, v))
    expected = dense(a) @ (dense(b) @ dense(v))
    assert y.dtype == expected.dtype
    np.testing.assert_allclose(y.to_numpy(), expected, rtol=1e-5)


def test_operands_of_several_types() -> None:
    a, b, _ = matrices()
    _, _, v = matrices(int)
    y = fs.einsum("ij,jk,k->i", a, b, v)
    assert len(einsums(y)) == 2
    np.testing.assert_allclose(fs.compute(y).to_numpy(), dense(a) @ (dense(b) @ dense(v)))
    scaled = fs.einsum(",ij,jk,k->i", 2, a, b, v)
    np.testing.assert_allclose(fs.compute(scaled).to_numpy(), 2 * (dense(a) @ (dense(b) @ dense(v))))


def test_letters_that_come_twice() -> None:
    a, b, _ = matrices()
    y = fs.einsum("ij,jk,kk->i", a, b, a)
    np.testing.assert_allclose(fs.compute(y).to_numpy(), np.einsum("ij,jk,kk->i", dense(a), dense(b), dense(a)))
    z = fs.einsum("ii->i", (a @ b) @ a)
    np.testing.assert_allclose(fs.compute(z).to_numpy(), np.diag(dense(a) @ dense(b) @ dense(a)))


def test_other_reductions_stay() -> None:
    a, b, v = matrices()
    for text in (
        "y[i] min= A[i,j] + B[j,k] + v[k]",
        "y[i] += A[i,j] * B[j,k] + v[k]",
        "y[i] max= A[i,j] * B[j,k] * v[k]",
    ):
        assert len(einsums(fs.einsum(text, A=a, B=b, v=v))) == 1


def test_a_very_long_chain() -> None:
    a, _, v = matrices()
    y, expected = v, dense(v)
    chain = a
    for _ in range(30):
        chain = chain @ a
    y = chain @ v
    for _ in range(31):
        expected = dense(a) @ expected
    np.testing.assert_allclose(fs.compute(y).to_numpy(), expected)
