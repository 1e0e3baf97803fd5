"""Rules: pure functions from a node to its replacement, and the context they run in."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from finchsched.ast.names import Names
from finchsched.ast.node import Node

__all__ = ["Firing", "Rewriter", "Rule", "RuleContext", "rule"]


@dataclass(frozen=True, slots=True)
class Firing:
    """One application of a rule: what stood there and what took its place."""

    rule: str
    before: Node
    after: Node


@dataclass(slots=True)
class RuleContext:
    """What a rule may use: fresh names, and the trace in which the engine records firings."""

    names: Names = field(default_factory=Names)
    trace: list[Firing] = field(default_factory=list)
    budget: int = 100_000


class Rewriter(Protocol):
    """Anything that maps a node to its replacement, or None where it does not apply."""

    def __call__(self, node: Node, ctx: RuleContext, /) -> Node | None:
        """The replacement, or None."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A named rewrite rule.  Returning None or the node itself means: does not apply here."""

    name: str
    function: Callable[[Node, RuleContext], Node | None]

    def __call__(self, node: Node, ctx: RuleContext) -> Node | None:
        """Apply the rule at `node` and record it."""
        after = self.function(node, ctx)
        if after is None or after == node:
            return None
        ctx.trace.append(Firing(self.name, node, after))
        return after


def rule(function: Callable[[Node, RuleContext], Node | None]) -> Rule:
    """Make a rule of a pure function made of one `match`."""
    return Rule(function.__name__, function)
