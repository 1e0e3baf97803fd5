"""Which facts have to do with a question: fewer assumptions make a question quicker to decide."""

from collections.abc import Sequence

from finchsched.ast.node import distinct
from finchsched.ast.proof import Fact
from finchsched.prove.canonical import marked_name

__all__ = ["facts_about"]


def facts_about(question: Fact, facts: Sequence[Fact]) -> tuple[Fact, ...]:
    """The facts that share a symbol or an array with the question, directly or through each other, each once.

    They keep their order.  O(facts² + their distinct parts).
    """
    names = [_names(fact) for fact in facts]
    reached = _names(question)
    picked: set[int] = set()
    grew = True
    while grew:
        grew = False
        for number, own in enumerate(names):
            if number not in picked and not reached.isdisjoint(own):
                picked.add(number)
                reached |= own
                grew = True
    return tuple(dict.fromkeys(fact for number, fact in enumerate(facts) if number in picked))


def _names(fact: Fact) -> set[str]:
    return {name for node in distinct(fact) if (name := marked_name(node)) is not None}
