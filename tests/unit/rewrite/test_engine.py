"""Strategies: order of visits, depth, fixpoints, memory, and the trace they leave."""

import subprocess
import sys
from collections.abc import Callable

import pytest

from finchsched.algebra.dtypes import INT64
from finchsched.algebra.operators import operator
from finchsched.ast.node import Node, walk
from finchsched.ast.scalar import Call, Literal, Size, Value
from finchsched.errors import RewriteError
from finchsched.rewrite import (
    Chain,
    Fixpoint,
    Memo,
    PostWalk,
    Prestep,
    PreWalk,
    Rewrite,
    Rule,
    RuleContext,
    rewrite,
    rule,
)

DEPTH = 10_000
ADD, NEG, MUL = (operator(name) for name in ("add", "neg", "mul"))


def number(value: int) -> Literal:
    return Literal(value, INT64)


def add(*args: Node) -> Call:
    return Call(ADD, args)


def deep(leaf: Node, depth: int = DEPTH) -> Node:
    node = leaf
    for _ in range(depth):
        node = Call(NEG, (node,))
    return node


@rule
def increment(node: Node, ctx: RuleContext) -> Node | None:
    match node:
        case Literal(value, dtype):
            return Literal(value + 1, dtype)
        case _:
            return None


@rule
def fold_add(node: Node, ctx: RuleContext) -> Node | None:
    match node:
        case Call(op, (Literal(a, dtype), Literal(b, _))) if op == ADD:
            return Literal(a + b, dtype)
        case _:
            return None


@rule
def unfold_three(node: Node, ctx: RuleContext) -> Node | None:
    match node:
        case Literal(3, _):
            return add(number(1), number(2))
        case _:
            return None


@rule
def drop_double_neg(node: Node, ctx: RuleContext) -> Node | None:
    match node:
        case Call(op, (Call(inner, (arg,)),)) if op == inner == NEG:
            return arg
        case _:
            return None


def visited(strategy: Callable[[Rule], object], node: Node) -> list[Node]:
    """The nodes that a strategy offers to its rule, in order."""
    seen: list[Node] = []
    rewrite(node, strategy(Rule("look", lambda here, _: seen.append(here))))  # type: ignore[arg-type,func-returns-value]  # append gives None
    return seen


# ---------------------------------------------------------------------------------------------- visits

ONE, TWO, THREE = number(1), number(2), number(3)
TREE = add(add(ONE, TWO), THREE)


def test_order_of_visits() -> None:
    assert visited(Rewrite, TREE) == [TREE]
    assert visited(PreWalk, TREE) == [TREE, TREE.args[0], ONE, TWO, THREE]
    assert visited(PostWalk, TREE) == [ONE, TWO, TREE.args[0], THREE, TREE]


def test_rewrite_looks_at_the_root_only() -> None:
    assert Rewrite(increment)(TREE, RuleContext()) is None
    assert rewrite(ONE, Rewrite(increment)) == TWO


def test_post_walk_sees_rewritten_children() -> None:
    assert rewrite(TREE, PostWalk(fold_add)) == number(6)


def test_pre_walk_descends_into_what_it_made_without_offering_it_again() -> None:
    assert rewrite(TREE, PreWalk(unfold_three)) == add(add(ONE, TWO), add(ONE, TWO))
    assert rewrite(TREE, PreWalk(fold_add)) == add(THREE, THREE)


def test_pre_walk_stops_a_rule_that_keeps_making_what_it_applies_to() -> None:
    wrap = Rule("wrap", lambda node, _: Call(NEG, (node,)) if isinstance(node, Size) else None)
    with pytest.raises(RewriteError, match=r"wrap \(51 times\)"):
        rewrite(Size("i"), PreWalk(wrap), RuleContext(budget=50))


def test_chain_takes_the_first_rule_that_applies() -> None:
    assert rewrite(THREE, Chain((fold_add, unfold_three, increment))) == add(ONE, TWO)
    assert rewrite(THREE, Chain((increment, unfold_three))) == number(4)
    assert Chain(())(THREE, RuleContext()) is None


def test_prestep_applies_both_in_turn() -> None:
    both = Prestep(Rewrite(unfold_three), PostWalk(increment))
    assert rewrite(THREE, both) == add(TWO, THREE)
    assert rewrite(TWO, both) == THREE
    assert both(Size("i"), RuleContext()) is None
    assert Prestep(Rewrite(unfold_three), Rewrite(increment))(THREE, RuleContext()) == add(ONE, TWO)


def test_strategies_that_change_nothing_give_none_and_the_same_object() -> None:
    for strategy in (Rewrite(fold_add), PreWalk(drop_double_neg), PostWalk(drop_double_neg), Fixpoint(drop_double_neg)):
        assert strategy(add(Size("i"), ONE), RuleContext()) is None
    kept = add(Size("i"), ONE)
    assert rewrite(kept, PostWalk(drop_double_neg)) is kept
    identity = Rule("identity", lambda node, _: node)
    ctx = RuleContext()
    assert PostWalk(identity)(TREE, ctx) is None
    assert not ctx.trace


def test_untouched_parts_stay_the_same_objects() -> None:
    left = add(Size("i"), Size("j"))
    after = rewrite(add(left, THREE), PostWalk(increment))
    assert isinstance(after, Call)
    assert after.args[0] is left


# ---------------------------------------------------------------------------------------------- fixpoints


def test_fixpoint_repeats_until_nothing_applies() -> None:
    assert rewrite(deep(ONE, 7), Fixpoint(Rewrite(drop_double_neg))) == deep(ONE, 1)
    assert rewrite(deep(ONE, 8), Fixpoint(Rewrite(drop_double_neg))) == ONE


def test_a_cycle_names_its_rules() -> None:
    ctx = RuleContext(budget=100)
    with pytest.raises(RewriteError, match=r"no fixpoint after 100 rewrites.*fold_add.*unfold_three") as caught:
        Fixpoint(Rewrite(Chain((unfold_three, fold_add))))(THREE, ctx)
    assert "increment" not in str(caught.value)


def test_the_budget_counts_only_this_fixpoint() -> None:
    ctx = RuleContext(budget=3)
    for _ in range(5):
        assert Fixpoint(Rewrite(drop_double_neg))(deep(ONE, 4), ctx) == ONE


def test_growth_without_end_stops() -> None:
    grow = Rule("grow", lambda node, _: add(node, node) if isinstance(node, Size) else Call(NEG, (node,)))
    with pytest.raises(RewriteError, match="grow"):
        Fixpoint(Rewrite(grow))(Size("i"), RuleContext(budget=50))


# ---------------------------------------------------------------------------------------------- memory and trace


def test_memo_asks_once_per_node_and_remembers_none() -> None:
    asked: list[Node] = []

    def count(node: Node, ctx: RuleContext) -> Node | None:
        asked.append(node)
        return increment(node, ctx)

    memo = Memo(count)
    same = add(add(ONE, ONE), add(ONE, ONE))
    assert rewrite(same, PostWalk(memo)) == add(add(TWO, TWO), add(TWO, TWO))
    assert asked == [ONE, add(TWO, TWO), add(add(TWO, TWO), add(TWO, TWO))]
    assert rewrite(same, PostWalk(memo)) == add(add(TWO, TWO), add(TWO, TWO))
    assert len(asked) == 3


def test_memo_keeps_apart_what_python_calls_equal() -> None:
    memo = Memo(Rule("type", lambda node, _: Value(type(node.value).__name__, node.dtype, "one")))  # type: ignore[attr-defined]  # literals only
    names = [memo(Literal(value, INT64), RuleContext()).name for value in (1, True)]  # type: ignore[union-attr]
    assert names == ["int", "bool"]


def test_the_trace_has_every_firing_in_order() -> None:
    ctx = RuleContext()
    rewrite(TREE, PostWalk(fold_add), ctx)
    assert [(f.rule, f.before, f.after) for f in ctx.trace] == [
        ("fold_add", add(ONE, TWO), THREE),
        ("fold_add", add(THREE, THREE), number(6)),
    ]


# ---------------------------------------------------------------------------------------------- depth


@pytest.mark.parametrize("strategy", [PreWalk, PostWalk, lambda r: Fixpoint(PostWalk(r))], ids=["pre", "post", "fix"])
def test_deep_nodes(strategy: Callable[[Rule], Callable[[Node, RuleContext], Node | None]]) -> None:
    stop = Rule("stop", lambda node, _: TWO if node == ONE else None)
    assert strategy(stop)(deep(ONE), RuleContext()) == deep(TWO)


def test_deep_nodes_collapse() -> None:
    assert rewrite(deep(ONE), PostWalk(drop_double_neg)) == ONE
    assert rewrite(deep(ONE, 401), Fixpoint(PreWalk(drop_double_neg))) == Call(NEG, (ONE,))


# ---------------------------------------------------------------------------------------------- determinism

SCRIPT = """
from finchsched.algebra.dtypes import INT64
from finchsched.algebra.operators import operator
from finchsched.ast.scalar import Call, Literal, Value
from finchsched.rewrite import PostWalk, Rule, RuleContext, rewrite

def name(node, ctx):
    return Value(ctx.names.fresh("x"), INT64, "finite") if isinstance(node, Literal) else None

tree = Literal(0, INT64)
for n in range(40):
    tree = Call(operator("add"), (tree, Literal(n % 7, INT64)))
ctx = RuleContext()
print(repr(rewrite(tree, PostWalk(Rule("name", name)), ctx)), [f.after.name for f in ctx.trace])
"""


def test_two_hash_seeds_give_the_same_tree_names_and_trace() -> None:
    texts = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "4711")
    ]
    assert texts[0] == texts[1]
    assert "x_41" in texts[0]


def test_walk_is_what_rules_see() -> None:
    assert visited(PreWalk, TREE) == list(walk(TREE))
