"""Nodes: hash, structural equality, literals, pickles, rebuilding."""

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, field

import numpy as np
import pytest
from hypothesis import given

from finchsched.algebra.dtypes import BOOL, FLOAT32, FLOAT64, INT64
from finchsched.algebra.operators import operator
from finchsched.ast.logic import Field, MapJoin
from finchsched.ast.node import Node, children, field_names, rebuild, walk
from finchsched.ast.scalar import Call, Literal, Size, Value
from ir_strategies import loop_programs, plans

NAN = float("nan")
DEPTH = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class Noted(Node):
    """A node with provenance."""

    arg: Node
    note: str = field(default="", kw_only=True, compare=False)


def deep(leaf: Node, depth: int = DEPTH) -> Node:
    for _ in range(depth):
        leaf = Call(operator("neg"), (leaf,))
    return leaf


# ---------------------------------------------------------------------------------------------- equality and hash


def test_equal_structure_is_equal() -> None:
    one, other = (Call(operator("add"), (Size("i"), Literal(1, INT64))) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    assert len({one, other}) == 1


def test_every_part_counts() -> None:
    base = Call(operator("add"), (Size("i"), Literal(1, INT64)))
    others = [
        Call(operator("mul"), base.args),
        Call(base.op, base.args[::-1]),
        Call(base.op, base.args[:1]),
        Call(base.op, (*base.args, Size("i"))),
        Call(base.op, (Size("j"), Literal(1, INT64))),
        Call(base.op, (Size("i"), Literal(1, FLOAT64))),
        MapJoin(base.op, base.args),
    ]
    assert all(base != other for other in others)
    assert len({base, *others}) == 8


def test_the_class_counts() -> None:
    assert Field("i") != Size("i")
    assert len({Field("i"), Size("i")}) == 2
    assert Field("i") != "i"


def test_five_literals() -> None:
    found = {Literal(value, FLOAT64) for value in (1, 1.0, True, 0.0, -0.0)}
    assert len(found) == 5
    assert Literal(0, INT64) != Literal(False, INT64)


def test_nan_is_itself_whatever_its_payload() -> None:
    payload = np.array([0x7FF8000000000123], np.uint64).view(np.float64)[0].item()
    assert Literal(NAN, FLOAT64) == Literal(payload, FLOAT64) == Literal(-NAN, FLOAT64)
    assert len({Literal(NAN, FLOAT64), Literal(payload, FLOAT64)}) == 1
    assert Literal(NAN, FLOAT64) != Literal(NAN, FLOAT32)
    assert Literal(NAN, FLOAT64) != Literal(float("inf"), FLOAT64)


def test_nodes_inside_tuples_are_compared_by_literal_too() -> None:
    zero, minus = (Call(operator("neg"), (Literal(value, FLOAT64),)) for value in (0.0, -0.0))
    assert zero != minus
    assert Call(operator("neg"), (Literal(NAN, FLOAT64),)) == Call(operator("neg"), (Literal(NAN, FLOAT64),))


def test_provenance_stands_outside() -> None:
    assert Noted(Size("i"), note="here") == Noted(Size("i"), note="there")
    assert hash(Noted(Size("i"), note="here")) == hash(Noted(Size("i")))
    assert field_names(Noted) == ("arg",)


def test_equality_looks_beyond_equal_hashes() -> None:
    one, other = Size("i"), Size("j")
    object.__setattr__(other, "_hash", hash(one))
    assert one != other


def test_nodes_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        Size("i").index = "j"  # type: ignore[misc]  # that is the point
    with pytest.raises((AttributeError, TypeError)):
        Size("i").extra = 1  # type: ignore[attr-defined]  # slots


# ---------------------------------------------------------------------------------------------- children, rebuilding


def test_children_and_walk_are_in_field_order() -> None:
    inner = Call(operator("add"), (Size("i"), Size("j")))
    outer = Call(operator("mul"), (inner, Value("v", INT64, "finite")))
    assert list(children(outer)) == [inner, Value("v", INT64, "finite")]
    assert list(walk(outer)) == [outer, inner, Size("i"), Size("j"), Value("v", INT64, "finite")]
    assert list(children(Literal(1, INT64))) == []


def test_rebuilding_with_the_same_children_gives_the_same_object() -> None:
    node = Call(operator("add"), (Size("i"), Size("j")))
    assert rebuild(node, list(children(node))) is node
    assert rebuild(node, [Size("i"), node.args[1]]) is not node
    assert rebuild(node, [Size("i"), node.args[1]]) == node
    assert rebuild(node, [Size("k"), Size("j")]) == Call(node.op, (Size("k"), Size("j")))


def test_rebuilding_keeps_provenance() -> None:
    assert rebuild(Noted(Size("i"), note="here"), [Size("j")]).note == "here"  # type: ignore[attr-defined]  # a Noted


def test_replace() -> None:
    node = Value("v", INT64, "finite")
    assert node.replace(name="v") is node
    assert node.replace(kind="one") == Value("v", INT64, "one")
    assert Noted(Size("i"), note="here").replace(arg=Size("j")).note == "here"


@given(plans())
def test_plans_rebuild_to_themselves(plan: Node) -> None:
    for node in walk(plan):
        assert rebuild(node, list(children(node))) is node
        fresh = [copy.copy(child) for child in children(node)]
        assert rebuild(node, fresh) == node


# ---------------------------------------------------------------------------------------------- pickle


@given(loop_programs())
def test_programs_pickle(program: Node) -> None:
    again = pickle.loads(pickle.dumps(program))
    assert again == program
    assert hash(again) == hash(program)


@pytest.mark.parametrize("value", [1, 1.0, True, 0.0, -0.0, NAN])
def test_literals_pickle_as_what_they_are(value: float) -> None:
    dtype = BOOL if value is True else FLOAT64 if isinstance(value, float) else INT64
    again = pickle.loads(pickle.dumps(Literal(value, dtype)))
    assert again == Literal(value, dtype)
    assert type(again.value) is type(value)


def test_provenance_is_pickled() -> None:
    assert pickle.loads(pickle.dumps(Noted(Size("i"), note="here"))).note == "here"


def test_shared_nodes_stay_shared() -> None:
    shared = Size("i")
    again = pickle.loads(pickle.dumps(Call(operator("add"), (shared, shared))))
    assert again.args[0] is again.args[1]


def test_deep_trees() -> None:
    one, other = deep(Size("i")), deep(Size("i"))
    assert one == other
    assert one != deep(Size("j"))
    assert sum(1 for _ in walk(one)) == DEPTH + 1
    assert pickle.loads(pickle.dumps(one)) == one
    assert copy.copy(one) == one
