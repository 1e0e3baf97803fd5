"""Questions in canonical names and order, so that neither a user's names nor the order of assumptions matters.

Names are numbered as they are met in the fact, then in the assumptions, which are sorted by their shape: what they say
with the names of the fact numbered and all others blank.  Where shapes are equal the names as given decide.  The text
of a question lists its distinct parts once each, so it is linear in the size of the term as it is held in memory.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from finchsched.ast.node import Node, distinct, field_names
from finchsched.ast.proof import ElementOf, Fact, Nondecreasing, Refuted, StrictlyRising, Symbol, Within

__all__ = ["Question", "canonical", "marked_name"]

_WITH_ARRAY = (ElementOf, Nondecreasing, StrictlyRising, Within)


@dataclass(frozen=True, slots=True)
class Question:
    """A fact and assumptions in canonical names.

    names: of each canonical name, the one as given.  digest: sha256 of the text, equal for questions that differ in
    names and order only.
    """

    fact: Fact
    assumptions: tuple[Fact, ...]
    names: dict[str, str]
    digest: str

    def as_given(self, refuted: Refuted) -> Refuted:
        """A counterexample in the names as given, symbols before elements, both sorted."""
        symbols: list[tuple[str, int]] = []
        elements: list[tuple[str, int, int]] = []
        for name, value in refuted.model:
            array, bracket, index = name.partition("[")
            if bracket:
                elements.append((self.names[array], int(index[:-1]), value))
            else:
                symbols.append((self.names[name], value))
        return Refuted((*sorted(symbols), *[(f"{array}[{index}]", value) for array, index, value in sorted(elements)]))


def canonical(fact: Fact, assumptions: Sequence[Fact]) -> Question:
    """The canonical form of a question; assumptions that are repeated are taken once."""
    numbers: dict[str, str] = {}
    _number(fact, numbers)
    in_fact = dict(numbers)
    ordered = sorted(
        dict.fromkeys(assumptions),
        key=lambda a: (_text(a, lambda name: in_fact.get(name, "?")), _text(a, lambda name: name)),
    )
    for assumption in ordered:
        _number(assumption, numbers)
    known: dict[Node, Node] = {}
    renamed = [_rename(each, numbers, known) for each in (fact, *ordered)]
    digest = sha256("\n\n".join(_text(each, lambda name: name) for each in renamed).encode()).hexdigest()
    names = {short: name.partition(" ")[2] for name, short in numbers.items()}
    return Question(renamed[0], tuple(renamed[1:]), names, digest)


def marked_name(node: Node) -> str | None:
    """The name of a symbol or array in a node, marked by its kind: an array may be called as a symbol is."""
    if isinstance(node, Symbol):
        return f"symbol {node.name}"
    if isinstance(node, _WITH_ARRAY):
        return f"array {node.array}"
    return None


def _number(fact: Fact, numbers: dict[str, str]) -> None:
    for node in distinct(fact):
        name = marked_name(node)
        if name is not None and name not in numbers:
            numbers[name] = f"{'v' if isinstance(node, Symbol) else 'a'}{len(numbers):06}"


def _text(fact: Fact, name_of: Callable[[str], str]) -> str:
    """A line for each distinct part; parts that were listed before are referred to by line."""
    lines: dict[int, int] = {}
    found: list[str] = []
    for node in distinct(fact):
        words = [type(node).__name__]
        name = marked_name(node)
        if name is not None:
            words.append(name_of(name))
        for field in field_names(type(node)):
            value = getattr(node, field)
            if isinstance(value, Node):
                words.append(f"@{lines[id(value)]}")
            elif isinstance(value, tuple):
                words.append(f"({' '.join(f'@{lines[id(item)]}' for item in value)})")
            elif name is None:
                words.append(value if isinstance(value, str) else hex(value))
        lines[id(node)] = len(found)
        found.append(" ".join(words))
    return "\n".join(found)


def _rename(fact: Fact, numbers: dict[str, str], known: dict[Node, Node]) -> Fact:
    for node in distinct(fact):
        if node in known:
            continue
        changes: dict[str, object] = {}
        for field in field_names(type(node)):
            value = getattr(node, field)
            if isinstance(value, Node):
                changes[field] = known[value]
            elif isinstance(value, tuple):
                changes[field] = tuple(known[item] for item in value)
        name = marked_name(node)
        if name is not None:
            changes["name" if isinstance(node, Symbol) else "array"] = numbers[name]
        known[node] = node.replace(**changes)
    return known[fact]  # type: ignore[return-value]  # a fact renamed is a fact
