"""Loop orders: what is chosen, that nothing cheaper exists, and which accesses follow an order."""

from itertools import pairwise, permutations

import pytest

from finchsched.ast.format import TensorType
from finchsched.ast.parse_logic import parse_logic
from finchsched.autoschedule.loop_order import choose_loop_order, is_concordant, rotated_levels
from finchsched.autoschedule.output_format import choose_output_type
from finchsched.errors import LoweringError
from finchsched.formats.levels import Dense, SparseList
from finchsched.passes.loop.query_form import QueryForm, query_form

FORMATS = {
    "csr": "Dense(SparseList[int32,int32](Element(0.0: float64)))",
    "csc": "Dense(SparseList[int32,int32](Element(0.0: float64))) perm (1, 0)",
    "dcsr": "SparseList[int32,int32](SparseList[int32,int32](Element(0.0: float64)))",
    "dense": "Dense(Dense(Element(0.0: float64)))",
    "vector": "Dense(Element(0.0: float64))",
    "list": "SparseList[int32,int32](Element(0.0: float64))",
    "scalar": "Element(0.0: float64)",
    "csf": "Dense(SparseList[int32,int32](SparseList[int32,int32](Element(0.0: float64))))",
}


def form(query: str, **formats: str) -> QueryForm:
    """The form of `C[...] := ...` over slots of these formats; C's provisional format stands among them."""
    lines = [f"{'alias' if name == 'C' else 'slot'} {name}: {FORMATS[kind]}" for name, kind in formats.items()]
    plan = parse_logic("\n".join([*lines, f"C{query}", "return C"]), {"Dense": Dense, "SparseList": SparseList})
    return query_form(plan.bodies[0])  # type: ignore[attr-defined]  # a plan


def product(a: str, b: str, c: str = "dense") -> QueryForm:
    return form(
        "[i, j] := Reorder(Aggregate(add, 0.0: float64, MapJoin(mul, A[i, k], B[k, j]), [k]), [i, j])", A=a, B=b, C=c
    )


SPMV = "[i] := Reorder(Aggregate(add, 0.0: float64, MapJoin(mul, A[i, j], x[j]), [j]), [i])"


def order_of(made: QueryForm, target: TensorType | None = None) -> str:
    return "".join(choose_loop_order(made, target or choose_output_type(made, wide=False)).order)


@pytest.mark.parametrize(
    ("made", "want"),
    [
        (form(SPMV, A="csr", x="vector", C="vector"), "ij"),
        (form(SPMV, A="csc", x="vector", C="vector"), "ji"),
        (form(SPMV, A="dcsr", x="vector", C="vector"), "ij"),
        (form(SPMV, A="csc", x="list", C="vector"), "ji"),
        (product("csr", "csr"), "ikj"),
        (product("csc", "csc"), "jki"),
        (product("dense", "dense"), "ikj"),
        (product("csr", "dense"), "ikj"),
    ],
)
def test_orders(made: QueryForm, want: str) -> None:
    assert order_of(made) == want


def test_no_copy_where_an_order_follows_every_operand() -> None:
    for made in (product("csr", "csr"), product("csr", "dense"), form(SPMV, A="csc", x="vector", C="vector")):
        assert choose_loop_order(made, choose_output_type(made, wide=False)).copied == ()


def test_a_copy_where_none_does() -> None:
    made = form("[i, j] := Reorder(MapJoin(add, A[i, j], B[i, j]), [i, j])", A="csr", B="csc", C="dense")
    found = choose_loop_order(made, choose_output_type(made, wide=False))
    assert [access.tensor.name for access in found.copied] == ["B"]
    assert found.order == ("i", "j")


def test_a_transposed_diagonal_needs_no_copy() -> None:
    made = form("[] := Reorder(Aggregate(add, 0.0: float64, A[i, i], [i]), [])", A="csc", C="scalar")
    found = choose_loop_order(made, choose_output_type(made, wide=False))
    assert (found.order, found.copied, found.assembly) == (("i",), (), "dense")


def test_assembly_comes_with_the_order() -> None:
    made = product("csr", "csr")
    assert choose_loop_order(made, choose_output_type(made, wide=False)).assembly == "workspace"
    added = form("[i, j] := Reorder(MapJoin(add, A[i, j], B[i, j]), [i, j])", A="csr", B="csr", C="dense")
    assert choose_loop_order(added, choose_output_type(added, wide=False)).assembly == "append"


def test_the_targets_storage_order_decides_where_it_must() -> None:
    made = form("[i, j] := Reorder(A[i, j], [i, j])", A="csr", C="dense")
    found = choose_loop_order(made, made.alias.type.replace(levels=(SparseList(), SparseList()), perm=(1, 0)))
    assert found.order == ("j", "i")
    assert [access.tensor.name for access in found.copied] == ["A"]


def test_a_target_that_no_order_can_write_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every type that the front end can ask for has an order; one that does not says so."""

    def refuse(*_: object) -> str:
        raise LoweringError("not this way")

    monkeypatch.setattr("finchsched.autoschedule.loop_order.assembly_of", refuse)
    with pytest.raises(LoweringError, match="no loop order can write C as Dense"):
        choose_loop_order(product("csr", "csr"), product("csr", "csr").alias.type)


@pytest.mark.parametrize(
    ("kind", "index", "order", "want"),
    [
        ("csr", "ij", "ij", True),
        ("csr", "ij", "ji", False),
        ("csc", "ij", "ji", True),
        ("csc", "ij", "ij", False),
        ("dense", "ij", "ji", True),
        ("csr", "ii", "i", True),
        ("dcsr", "ii", "i", True),
        ("csr", "ij", "ikj", True),
        ("csr", "ij", "kij", True),
        ("csf", "ijk", "ijk", True),
        ("csf", "ijk", "ikj", False),
        ("csf", "iji", "ij", False),
    ],
)
def test_concordance(kind: str, index: str, order: str, want: bool) -> None:
    comma = ", ".join(index)
    kept = ", ".join(dict.fromkeys(index))
    made = form(f"[] := Reorder(Aggregate(add, 0.0: float64, A[{comma}], [{kept}]), [])", A=kind, C="scalar")
    assert is_concordant(made.accesses()[0], tuple(order)) is want


def test_rotated_levels_follow_the_loops() -> None:
    made = form("[] := Reorder(Aggregate(add, 0.0: float64, A[i, j, k], [i, j, k]), [])", A="csf", C="scalar")
    for order in permutations("ijk"):
        pairs = rotated_levels(made.accesses()[0], order)
        assert tuple(name for name, _ in pairs) == order
        assert [level.stores_all for _, level in pairs] == [True, False, False]


def test_more_than_seven_indices_are_searched_greedily() -> None:
    names = "abcdefghij"
    maps = f"A[{names[0]}, {names[1]}]"
    for one, other in pairwise(names[1:]):
        maps = f"MapJoin(mul, {maps}, A[{one}, {other}])"
    inner = ", ".join(names[1:-1])
    made = form(f"[a, j] := Reorder(Aggregate(add, 0.0: float64, {maps}, [{inner}]), [a, j])", A="csr", C="dense")
    found = choose_loop_order(made, made.alias.type)
    assert sorted(found.order) == sorted(names)
