"""Result formats: what the mask rule lets be skipped is compressed."""

import pytest

from finchsched.algebra.dtypes import INT32, INT64
from finchsched.ast.format import TensorType
from finchsched.ast.parse_logic import parse_logic
from finchsched.autoschedule.output_format import choose_output_type, index_dtype, with_index_width
from finchsched.formats.levels import Dense, SparseCOO, SparseList
from finchsched.formats.levels.sparse_coo import coo_levels
from finchsched.passes.loop.query_form import QueryForm, query_form

ZERO = "0.0: float64"
NESTS = {
    "d": "Dense(Element({fill}))",
    "s": "SparseList[int32,int32](Element({fill}))",
    "": "Element({fill})",
    "dd": "Dense(Dense(Element({fill})))",
    "ds": "Dense(SparseList[int32,int32](Element({fill})))",
    "sd": "SparseList[int32,int32](Dense(Element({fill})))",
    "ss": "SparseList[int32,int32](SparseList[int32,int32](Element({fill})))",
    "c": "SparseCOO[int32,int32,0,1](Element({fill}))",
    "cc": "SparseCOO[int32,int32,0,2](SparseCOO[int32,int32,1,2](Element({fill})))",
    "dss": "Dense(SparseList[int32,int32](SparseList[int32,int32](Element({fill}))))",
}


def form(body: str, out: str = "", **formats: str) -> QueryForm:
    """`C[...] := ...`; a format is letters of levels, "T" for columns first, then a fill if it is not 0."""
    lines = []
    for name, given in formats.items():
        nest, _, fill = given.partition(" ")
        perm = " perm (1, 0)" if nest.endswith("T") else ""
        lines.append(f"slot {name}: {NESTS[nest.removesuffix('T')].format(fill=fill or ZERO)}{perm}")
    head = body.partition("]")[0].count(",") + 1 if not body.startswith("[]") else 0
    lines.append(f"alias C: {NESTS['d' * head if head < 3 else 'dss'].format(fill=out or ZERO)}")
    plan = parse_logic(
        "\n".join([*lines, f"C{body}", "return C"]), {"Dense": Dense, "SparseList": SparseList, "SparseCOO": SparseCOO}
    )
    return query_form(plan.bodies[0])  # type: ignore[attr-defined]  # a plan


def shape(made: QueryForm) -> tuple[str, tuple[int, ...]]:
    found = choose_output_type(made, wide=False)
    return "".join("d" if level.stores_all else "s" for level in found.levels), found.perm


PAIR = "[i, j] := Reorder(MapJoin({op}, A[i, j], B[i, j]), [i, j])"
PRODUCT = "[i, j] := Reorder(Aggregate(add, 0.0: float64, MapJoin(mul, A[i, k], B[k, j]), [k]), [i, j])"


@pytest.mark.parametrize(
    ("made", "want"),
    [
        (form(PAIR.format(op="mul"), A="ds", B="ds"), "ds"),
        (form(PAIR.format(op="mul"), A="ds", B="dd"), "ds"),
        (form(PAIR.format(op="mul"), A="dd", B="ds"), "ds"),
        (form(PAIR.format(op="mul"), A="dd", B="dd"), "dd"),
        (form(PAIR.format(op="add"), A="ds", B="ds"), "ds"),
        (form(PAIR.format(op="add"), A="ds", B="dd"), "dd"),
        (form(PAIR.format(op="mul"), A="ss", B="ds"), "ss"),
        (form(PAIR.format(op="add"), A="ss", B="ss"), "ss"),
        (form(PAIR.format(op="mul"), A="sd", B="dd"), "sd"),
        (form(PAIR.format(op="truediv"), A="dd", B="ds"), "dd"),
        (form(PAIR.format(op="min"), "inf: float64", A="ds inf: float64", B="ds inf: float64"), "ds"),
        (form(PAIR.format(op="minplus_add"), "inf: float64", A="ds inf: float64", B="dd"), "ds"),
        (form(PAIR.format(op="add"), "inf: float64", A="ds inf: float64", B="dd"), "dd"),
        (form(PAIR.format(op="mul"), A="ds 1.0: float64", B="dd"), "dd"),
        (form(PRODUCT, A="ds", B="ds"), "ds"),
        (form(PRODUCT, A="ss", B="ds"), "ss"),
        (form(PRODUCT, A="dd", B="dd"), "dd"),
        (form("[i, j] := Reorder(MapJoin(mul, A[i], B[j]), [i, j])", A="s", B="d"), "sd"),
        (form("[i, j] := Reorder(MapJoin(mul, A[i], B[j]), [i, j])", A="d", B="d"), "dd"),
    ],
)
def test_levels(made: QueryForm, want: str) -> None:
    assert shape(made) == (want, tuple(range(len(want))))


@pytest.mark.parametrize(
    ("made", "want"),
    [
        (form(PRODUCT, A="dsT", B="dsT"), ("ds", (1, 0))),
        (form(PRODUCT, A="ssT", B="ssT"), ("ss", (1, 0))),
        (form(PRODUCT, A="ds", B="dsT"), ("ds", (0, 1))),
        (form(PRODUCT, A="dsT", B="ds"), ("ds", (0, 1))),
        (form(PRODUCT, A="dsT", B="dd"), ("dd", (0, 1))),
        (form(PRODUCT, A="ss", B="dsT"), ("ss", (0, 1))),
        (form(PAIR.format(op="add"), A="sd", B="sd"), ("sd", (0, 1))),
        (form(PAIR.format(op="add"), A="ssT", B="ds"), ("ss", (1, 0))),
        (form(PAIR.format(op="add"), A="dsT", B="ds"), ("ds", (1, 0))),
        (form(PAIR.format(op="add"), A="ds", B="ss"), ("ds", (0, 1))),
    ],
)
def test_results_of_operands_in_different_orders_stay_sparse(
    made: QueryForm, want: tuple[str, tuple[int, ...]]
) -> None:
    assert shape(made) == want


@pytest.mark.parametrize(
    ("body", "formats", "want"),
    [
        ("[i, j] := Reorder(MapJoin(neg, A[i, j]), [i, j])", {"A": "dsT"}, ("ds", (1, 0))),
        (PRODUCT, {"A": "dd", "B": "ds"}, ("dd", (1, 0))),
        ("[i, j] := Reorder(MapJoin(mul, A[i, j], B[i, j]), [i, j])", {"A": "dd", "B": "dsT"}, ("ds", (1, 0))),
        ("[j, i] := Reorder(MapJoin(neg, A[i, j]), [j, i])", {"A": "ds"}, ("ds", (1, 0))),
        ("[i, j] := Reorder(MapJoin(mul, A[i, j], B[i, j]), [i, j])", {"A": "ds", "B": "dsT"}, None),
    ],
)
def test_storage_order_is_that_of_the_first_sparse_operand(
    body: str, formats: dict[str, str], want: tuple[str, tuple[int, ...]] | None
) -> None:
    found = shape(form(body, **formats))
    assert found == want if want else found[1] == (0, 1)


@pytest.mark.parametrize("formats", [{"A": "s", "B": "s"}, {"A": "d", "B": "s"}])
def test_results_of_one_axis_and_of_none_are_dense(formats: dict[str, str]) -> None:
    assert shape(form("[i] := Reorder(MapJoin(mul, A[i], B[i]), [i])", **formats)) == ("d", (0,))
    total = form("[] := Reorder(Aggregate(add, 0.0: float64, MapJoin(mul, A[i], B[i]), [i]), [])", **formats)
    assert shape(total) == ("", ())


def test_a_shared_pattern_keeps_the_index_types_of_its_operand() -> None:
    wide = "Dense(SparseList[int64,int32](Element(0.0: float64)))"
    text = f"slot A: {wide}\nslot x: Dense(Element(0.0: float64))\nalias C: Dense(Dense(Element(0.0: float64)))\n"
    text += "C[i, j] := Reorder(MapJoin(mul, A[i, j], x[j]), [i, j])\nreturn C"
    plan = parse_logic(text, {"Dense": Dense, "SparseList": SparseList})
    found = choose_output_type(query_form(plan.bodies[0]), wide=False)  # type: ignore[attr-defined]  # a plan
    assert found.levels == (Dense(), SparseList(INT64, INT32))


@pytest.mark.parametrize(("wide", "want"), [(False, INT32), (True, INT64)])
def test_index_widths(wide: bool, want: object) -> None:
    assert index_dtype(wide) == want
    made = form(PAIR.format(op="add"), A="ds", B="ds")
    assert choose_output_type(made, wide=wide).levels == (Dense(), SparseList(want, want))  # type: ignore[arg-type]  # a DType


def test_the_format_asked_for_is_kept_but_for_fill_and_widths() -> None:
    body = (
        "[i, j] := Reformat(SparseList[int64,int64](Dense(Element(0.0: float64))) perm (1, 0), "
        "Reorder(MapJoin(add, A[i, j], B[i, j]), [i, j]))"
    )
    made = form(body, A="ds", B="ds")
    found = choose_output_type(made, wide=False)
    assert found == TensorType((SparseList(INT32, INT32), Dense()), (1, 0), made.alias.type.dtype, made.alias.type.fill)


def test_with_index_width_leaves_dense_levels_alone() -> None:
    kind = form(PAIR.format(op="add"), A="ds", B="ds").accesses()[0].tensor.type
    assert with_index_width(kind, True).levels == (Dense(), SparseList(INT64, INT64))
    assert with_index_width(kind, False) == kind


SCALED = "[i, j] := Reorder(MapJoin(mul, A[i, j], 2.0: float64), [i, j])"
ROWS = "[i] := Reorder(Aggregate(add, 0.0: float64, A[i, j], [j]), [i])"


def test_lists_of_coordinates() -> None:
    """A list is compressed along all of its axes; a result with its pattern is a list too."""
    assert choose_output_type(form(SCALED, A="cc"), wide=True).levels == coo_levels(2, INT32, INT32)
    assert choose_output_type(form(PAIR.format(op="mul"), A="cc", B="dd"), wide=False).levels == coo_levels(
        2, INT32, INT32
    )
    assert shape(form(PAIR.format(op="add"), A="cc", B="cc")) == ("ss", (0, 1))
    assert shape(form(PAIR.format(op="add"), A="cc", B="ds")) == ("ds", (0, 1))
    assert shape(form(PAIR.format(op="add"), A="cc", B="dd")) == ("dd", (0, 1))


@pytest.mark.parametrize(
    ("made", "huge", "want"),
    [
        (form(ROWS, A="cc"), {"A": (0,)}, "s"),
        (form(ROWS, A="cc"), {"A": (1,)}, "d"),
        (form(ROWS, A="ds"), {"A": (0,)}, "s"),
        (form(ROWS, A="dd"), {"A": (0,)}, "d"),
        (form("[i, j] := Reorder(MapJoin(mul, A[i], B[j]), [i, j])", A="c", B="c"), {"A": (0,)}, "ss"),
        (form("[i] := Reorder(MapJoin(add, A[i], 1.0: float64), [i])", "1.0: float64", A="c"), {"A": (0,)}, "s"),
    ],
    ids=str,
)
def test_huge_axes_are_compressed_where_the_mask_rule_allows(
    made: QueryForm, huge: dict[str, tuple[int, ...]], want: str
) -> None:
    found = choose_output_type(made, wide=False, huge=huge)
    assert "".join("d" if level.stores_all else "s" for level in found.levels) == want
