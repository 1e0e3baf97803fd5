"""Facts about integers that a compiler wants proved, and what a prover says of them.

Grammar (generated from the dataclasses):

    Number(value: int)
    Symbol(name: str)
    ElementOf(array: str, index: IntTerm)
    Sum(args: tuple[IntTerm, ...])
    Product(args: tuple[IntTerm, ...])
    Quotient(dividend: IntTerm, divisor: IntTerm)
    Remainder(dividend: IntTerm, divisor: IntTerm)
    Smallest(args: tuple[IntTerm, ...])
    Largest(args: tuple[IntTerm, ...])
    Compare(name: str, left: IntTerm, right: IntTerm)
    And(facts: tuple[Fact, ...])
    Or(facts: tuple[Fact, ...])
    Not(fact: Fact)
    Implies(premise: Fact, conclusion: Fact)
    Nondecreasing(array: str, lo: IntTerm, hi: IntTerm)
    StrictlyRising(array: str, lo: IntTerm, hi: IntTerm)
    Within(array: str, lo: IntTerm, hi: IntTerm, low: IntTerm, high: IntTerm)

Terms are mathematical integers, unbounded: that a machine integer does not wrap around is a fact like any other.
Division rounds down, as Python's; a fact with a division by 0 is never proved.  Arrays are integer arrays such as a
level's `pos` and `crd`; what their level promises about them are facts (`Nondecreasing`, ...), half-open in
`lo .. hi`.
"""

from dataclasses import dataclass
from typing import TypeAlias

from finchsched.ast.node import Node

__all__ = [
    "And",
    "Compare",
    "ElementOf",
    "Fact",
    "Implies",
    "IntTerm",
    "Largest",
    "Nondecreasing",
    "Not",
    "Number",
    "Or",
    "Product",
    "Proof",
    "Proved",
    "Quotient",
    "Refuted",
    "Remainder",
    "Smallest",
    "StrictlyRising",
    "Sum",
    "Symbol",
    "Unknown",
    "Verdict",
    "Within",
]


@dataclass(frozen=True, slots=True, eq=False)
class Number(Node):
    """A constant."""

    value: int


@dataclass(frozen=True, slots=True, eq=False)
class Symbol(Node):
    """An integer known by name only: an extent, a loop's index, a position, a size parameter."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class ElementOf(Node):
    """The element of an integer array at an index."""

    array: str
    index: "IntTerm"


@dataclass(frozen=True, slots=True, eq=False)
class Sum(Node):
    """The sum of the arguments; 0 of none."""

    args: tuple["IntTerm", ...]


@dataclass(frozen=True, slots=True, eq=False)
class Product(Node):
    """The product of the arguments; 1 of none."""

    args: tuple["IntTerm", ...]


@dataclass(frozen=True, slots=True, eq=False)
class Quotient(Node):
    """The quotient, rounded down."""

    dividend: "IntTerm"
    divisor: "IntTerm"


@dataclass(frozen=True, slots=True, eq=False)
class Remainder(Node):
    """The remainder that belongs to `Quotient`, with the sign of the divisor."""

    dividend: "IntTerm"
    divisor: "IntTerm"


@dataclass(frozen=True, slots=True, eq=False)
class Smallest(Node):
    """The smallest of one or more arguments."""

    args: tuple["IntTerm", ...]


@dataclass(frozen=True, slots=True, eq=False)
class Largest(Node):
    """The largest of one or more arguments."""

    args: tuple["IntTerm", ...]


@dataclass(frozen=True, slots=True, eq=False)
class Compare(Node):
    """`left <name> right`, for a name among eq, ne, lt, le, gt, ge."""

    name: str
    left: "IntTerm"
    right: "IntTerm"


@dataclass(frozen=True, slots=True, eq=False)
class And(Node):
    """All of the facts; true for none."""

    facts: tuple["Fact", ...]


@dataclass(frozen=True, slots=True, eq=False)
class Or(Node):
    """At least one of the facts; false for none."""

    facts: tuple["Fact", ...]


@dataclass(frozen=True, slots=True, eq=False)
class Not(Node):
    """The fact is false."""

    fact: "Fact"


@dataclass(frozen=True, slots=True, eq=False)
class Implies(Node):
    """If the premise holds, so does the conclusion."""

    premise: "Fact"
    conclusion: "Fact"


@dataclass(frozen=True, slots=True, eq=False)
class Nondecreasing(Node):
    """`array[a] <= array[b]` for all `lo <= a <= b < hi`."""

    array: str
    lo: "IntTerm"
    hi: "IntTerm"


@dataclass(frozen=True, slots=True, eq=False)
class StrictlyRising(Node):
    """`array[a] < array[b]` for all `lo <= a < b < hi`."""

    array: str
    lo: "IntTerm"
    hi: "IntTerm"


@dataclass(frozen=True, slots=True, eq=False)
class Within(Node):
    """`low <= array[a] < high` for all `lo <= a < hi`."""

    array: str
    lo: "IntTerm"
    hi: "IntTerm"
    low: "IntTerm"
    high: "IntTerm"


IntTerm: TypeAlias = Number | Symbol | ElementOf | Sum | Product | Quotient | Remainder | Smallest | Largest
Fact: TypeAlias = Compare | And | Or | Not | Implies | Nondecreasing | StrictlyRising | Within


@dataclass(frozen=True, slots=True)
class Proved:
    """The fact follows from the assumptions.  by: "folding", "ranges", "lemma" or "z3"."""

    by: str


@dataclass(frozen=True, slots=True)
class Refuted:
    """There is a counterexample: values of symbols, and of array elements as "crd[3]", in canonical order."""

    model: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Unknown:
    """Neither could be shown within the limits.  Never licenses anything."""

    reason: str


Verdict: TypeAlias = Proved | Refuted | Unknown


@dataclass(frozen=True, slots=True)
class Proof:
    """A question and its answer, as it stands in a trace.  what: the decision it was asked for, in words."""

    what: str
    fact: Fact
    assumptions: tuple[Fact, ...]
    verdict: Verdict

    @property
    def is_proved(self) -> bool:
        """Whether the decision is licensed."""
        return isinstance(self.verdict, Proved)
