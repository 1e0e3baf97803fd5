"""Laws of operators as data, and what is known of them."""

from dataclasses import dataclass

from finchsched.algebra.dtypes import Scalar

__all__ = ["KINDS", "Law", "LawResult"]

KINDS = (
    "identity",
    "annihilator",
    "associative",
    "commutative",
    "idempotent",
    "distributes_over",
    "inverse",
    "monotone",
)


@dataclass(frozen=True, slots=True)
class Law:
    """A law of one operator.

    kind: of KINDS.  operator: by name.  other: the other operator of a law about two ("distributes_over", "inverse").
    value: the scalar of an identity or annihilator.  side: "both", "left" or "right".
    """

    kind: str
    operator: str
    other: str = ""
    value: Scalar | None = None
    side: str = "both"


@dataclass(frozen=True, slots=True)
class LawResult:
    """What is known of a law in one element type.

    status: "proved", "tested", "refuted", "refuted under overflow" or "assumed".  theory: in which it was decided.
    counterexample: values of the law's variables, by name, where it fails.
    """

    law: Law
    dtype: str
    status: str
    theory: str
    seconds: float
    counterexample: tuple[tuple[str, Scalar], ...] = ()
