"""From claims about Kernel IR to the prover's facts: machine integers to unbounded ones.

Kernel variables become symbols.  A kernel's unsigned integers are coordinates, positions and extents, which levels and
shapes keep in 0 .. 2**63; so a conversion between them and int64 changes nothing.  Arithmetic may wrap around: each
operation of a claim has its own obligation that it does not, and where that cannot be shown nothing is.
"""

from collections.abc import Callable, Collection, Sequence

from finchsched.algebra.dtypes import INT64, UINT64, DType
from finchsched.ast.kernel import Apply, Cast, Const, KernelExpr, Var
from finchsched.ast.node import Node, distinct
from finchsched.ast.proof import (
    Compare,
    Fact,
    IntTerm,
    Largest,
    Number,
    Product,
    Proof,
    Proved,
    Smallest,
    Sum,
    Symbol,
    Unknown,
    Verdict,
)
from finchsched.passes.lower.decisions import Claim
from finchsched.prove.obligations import in_range
from finchsched.prove.prover import default_prover

__all__ = ["ask"]

_LIMITS = {INT64: (Number(-(1 << 63)), Number(1 << 63)), UINT64: (Number(0), Number(1 << 64))}
_COORDINATES = (Number(0), Number(1 << 63))


def ask(what: str, claim: Claim, given: Sequence[Claim]) -> Proof:
    """A claim as a question, with what is given about the variables in it, and its answer."""
    question = _Translation(claim)
    known = [each for each in map(_Translation, given) if each.complete]
    coordinates = frozenset().union(question.unsigned, *(each.unsigned for each in known))
    plain = tuple(each.fact for each in known if not each.obligations)
    # A claim with arithmetic says the same of unbounded integers if it is known not to wrap around.
    near = _about(question.fact, tuple(each.fact for each in known))
    exact = tuple(
        each.fact
        for each in known
        if each.obligations and each.fact in near and not _first_unproved(each.obligations, plain, coordinates)
    )
    for obligation in _first_unproved(question.obligations, plain + exact, coordinates):
        assumptions = _assumptions(obligation, plain + exact, coordinates)
        return Proof(what, obligation, assumptions, Unknown("an integer may exceed 64 bits"))
    assumptions = _assumptions(question.fact, plain + exact, coordinates)
    if not question.complete:
        return Proof(what, question.fact, assumptions, Unknown("it has a part that is not integer arithmetic"))
    return Proof(what, question.fact, assumptions, _holds(question.fact, assumptions))


def _holds(fact: Fact, assumptions: tuple[Fact, ...]) -> Verdict:
    return default_prover().holds(fact, assumptions, use_z3=False)


def _first_unproved(
    obligations: Sequence[Fact], facts: tuple[Fact, ...], coordinates: Collection[str]
) -> tuple[Fact, ...]:
    """The first obligation that does not follow; nothing if all do."""
    for obligation in obligations:
        if not isinstance(_holds(obligation, _assumptions(obligation, facts, coordinates)), Proved):
            return (obligation,)
    return ()


def _assumptions(question: Fact, facts: tuple[Fact, ...], coordinates: Collection[str]) -> tuple[Fact, ...]:
    """What may be relied on: facts that have to do with the question, and the range of every coordinate in them."""
    about = _about(question, facts)
    names = {name for fact in (question, *about) for name in _symbols(fact)}
    return (*(in_range(Symbol(name), *_COORDINATES) for name in sorted(names) if name in coordinates), *about)


class _Translation:
    """A claim as a fact.

    obligations: that no operation in it wraps around.  unsigned: names of its coordinates, positions and extents.
    complete: everything in it is integer arithmetic.
    """

    def __init__(self, claim: Claim) -> None:
        self.obligations: list[Fact] = []
        self.unsigned: set[str] = set()
        self.complete = True
        name, left, right = claim
        self.fact = Compare(name, self._term(left), self._term(right))

    def _term(self, expr: KernelExpr) -> IntTerm:
        match expr:
            case Const(value, _) if isinstance(value, int):
                return Number(int(value))
            case Var(name, dtype) if dtype in _LIMITS:
                if dtype == UINT64:
                    self.unsigned.add(name)
                return Symbol(name)
            case Cast(inner, dtype) if dtype in _LIMITS:
                return self._term(inner)
            case Apply(op, args, dtype) if dtype in _LIMITS and op.name in _TERMS:
                return self._applied(op.name, [self._term(arg) for arg in args], dtype)
            case _:
                self.complete = False
                return Number(0)

    def _applied(self, name: str, args: list[IntTerm], dtype: DType) -> IntTerm:
        term = _TERMS[name](args)
        if name not in ("min", "max"):
            self.obligations.append(in_range(term, *_LIMITS[dtype]))
        return term


def _difference(args: list[IntTerm]) -> IntTerm:
    return Sum((args[0], Product((Number(-1), args[1]))))


_TERMS: dict[str, Callable[[list[IntTerm]], IntTerm]] = {
    "add": lambda args: Sum(tuple(args)),
    "sub": _difference,
    "mul": lambda args: Product(tuple(args)),
    "min": lambda args: Smallest(tuple(args)),
    "max": lambda args: Largest(tuple(args)),
}


def _about(question: Node, known: tuple[Fact, ...]) -> tuple[Fact, ...]:
    """The facts that share a symbol with the question, directly or through each other, in their order."""
    reached = set(_symbols(question))
    picked: set[int] = set()
    grew = True
    while grew:
        grew = False
        for number, fact in enumerate(known):
            if number not in picked and not reached.isdisjoint(own := _symbols(fact)):
                picked.add(number)
                reached.update(own)
                grew = True
    return tuple(dict.fromkeys(fact for number, fact in enumerate(known) if number in picked))


def _symbols(node: Node) -> list[str]:
    return [each.name for each in distinct(node) if isinstance(each, Symbol)]
