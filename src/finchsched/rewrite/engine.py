"""Strategies: where and how often rules are applied.  Deterministic, with explicit stacks and a budget.

`Rewrite(r)` applies r at the root; `Chain` takes the first rule that applies; `PreWalk` goes parents first and
descends into what a rule made; `PostWalk` goes children first and looks once at what a rule made; `Fixpoint` repeats
until nothing applies.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from finchsched.ast.node import Node, children, rebuild
from finchsched.errors import RewriteError
from finchsched.rewrite.rule import Rewriter, RuleContext

__all__ = ["Chain", "Fixpoint", "Memo", "PostWalk", "PreWalk", "Prestep", "Rewrite", "rewrite"]

N = TypeVar("N", bound=Node)


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The rewriter's result at the root, or the root itself."""

    inner: Rewriter

    def __call__(self, node: Node, ctx: RuleContext) -> Node | None:
        """Apply at the root only."""
        return self.inner(node, ctx)


@dataclass(frozen=True, slots=True)
class Chain:
    """The first rewriter of several that applies."""

    inners: Sequence[Rewriter]

    def __call__(self, node: Node, ctx: RuleContext) -> Node | None:
        """Try each in the order given."""
        for inner in self.inners:
            after = inner(node, ctx)
            if after is not None:
                return after
        return None


@dataclass(frozen=True, slots=True)
class Prestep:
    """Apply `first`, then `then` to what came out."""

    first: Rewriter
    then: Rewriter

    def __call__(self, node: Node, ctx: RuleContext) -> Node | None:
        """None only if neither applies."""
        middle = self.first(node, ctx)
        after = self.then(node if middle is None else middle, ctx)
        return middle if after is None else after


@dataclass(frozen=True, slots=True)
class PostWalk:
    """Children first; each node is offered once after its children are done."""

    inner: Rewriter

    def __call__(self, node: Node, ctx: RuleContext) -> Node | None:
        """One walk over the tree; None if nothing applied."""
        results: list[Node] = []
        stack: list[tuple[Node, int]] = [(node, -1)]
        while stack:
            here, arity = stack.pop()
            if arity < 0:
                kids = children(here)
                stack.append((here, len(kids)))
                stack.extend((kid, -1) for kid in reversed(kids))
                continue
            start = len(results) - arity
            built = rebuild(here, results[start:])
            del results[start:]
            after = self.inner(built, ctx)
            results.append(built if after is None else after)
        return None if results[0] == node else results[0]


@dataclass(frozen=True, slots=True)
class PreWalk:
    """Parents first; what a rule made is descended into, not offered again.

    Raises RewriteError when a rule keeps making what it applies to, one level deeper each time.
    """

    inner: Rewriter

    def __call__(self, node: Node, ctx: RuleContext) -> Node | None:
        """One walk over the tree; None if nothing applied."""
        results: list[Node] = []
        fired, start_of_trace = 0, len(ctx.trace)
        stack: list[tuple[Node, int]] = [(node, -1)]
        while stack:
            here, arity = stack.pop()
            if arity < 0:
                after = self.inner(here, ctx)
                if after is not None:
                    here, fired = after, fired + 1
                if fired > ctx.budget:
                    raise _spent(ctx, start_of_trace)
                kids = children(here)
                stack.append((here, len(kids)))
                stack.extend((kid, -1) for kid in reversed(kids))
                continue
            start = len(results) - arity
            built = rebuild(here, results[start:])
            del results[start:]
            results.append(built)
        return None if results[0] == node else results[0]


@dataclass(frozen=True, slots=True)
class Fixpoint:
    """Repeat until nothing applies.  Raises RewriteError naming the busiest rules when the budget is spent."""

    inner: Rewriter

    def __call__(self, node: Node, ctx: RuleContext) -> Node | None:
        """None if nothing applied at all."""
        start, here = len(ctx.trace), node
        while True:
            after = self.inner(here, ctx)
            if after is None or after == here:
                return None if here == node else here
            here = after
            if len(ctx.trace) - start > ctx.budget:
                raise _spent(ctx, start)


def _spent(ctx: RuleContext, start: int) -> RewriteError:
    """The error for a rewrite without end, with the busiest rules since a point of the trace."""
    busiest = Counter(firing.rule for firing in ctx.trace[start:]).most_common(3)
    names = ", ".join(f"{name} ({count} times)" for name, count in sorted(busiest)) or "unnamed ones"
    return RewriteError(f"no fixpoint after {ctx.budget} rewrites; the rules that keep firing: {names}")


class Memo:
    """Remember the answers of a context-free rewriter by node."""

    __slots__ = ("_answers", "_inner")

    def __init__(self, inner: Rewriter) -> None:
        self._inner = inner
        self._answers: dict[Node, Node | None] = {}

    def __call__(self, node: Node, ctx: RuleContext) -> Node | None:
        """The remembered answer, or a new one."""
        if node not in self._answers:
            self._answers[node] = self._inner(node, ctx)
        return self._answers[node]


def rewrite(node: N, rewriter: Rewriter, ctx: RuleContext | None = None) -> N:
    """`node` after `rewriter`, or `node` itself where it does not apply."""
    after = rewriter(node, ctx or RuleContext())
    return node if after is None else after  # type: ignore[return-value]  # a rewrite keeps the kind of its root
