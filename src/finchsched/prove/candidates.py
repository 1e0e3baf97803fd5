"""Counterexamples without Z3: a few small values, each evaluated before it is believed.

First what the search proposes, then fixed patterns.  Elements that get no value take their neighbour's, so that an
array is nondecreasing, or one more for each step, so that it rises.
"""

from collections.abc import Iterator, Sequence

from finchsched.ast.node import distinct
from finchsched.ast.proof import Fact, Refuted, Symbol
from finchsched.prove.affine import Atoms, Key, Monomial
from finchsched.prove.evaluate import CannotEvaluate, Values, is_counterexample

__all__ = ["find_counterexample", "model_of", "symbols_of"]

_MAX_FIXED_SYMBOLS = 40


def find_counterexample(
    fact: Fact, assumptions: tuple[Fact, ...], proposals: Sequence[dict[Monomial, int]], atoms: Atoms
) -> Refuted | None:
    """The first of the candidates under which the assumptions hold and the fact does not."""
    names = symbols_of((fact, *assumptions))
    for symbols, elements in _candidates(names, proposals, atoms):
        for missing in (_like_neighbour, _rising):
            values = Values(symbols, dict(elements), missing)
            try:
                if is_counterexample(fact, assumptions, values):
                    return Refuted(model_of(names, values))
            except CannotEvaluate:
                break
            if values.elements == elements:
                break  # no element was missing
    return None


def model_of(names: Sequence[str], values: Values) -> tuple[tuple[str, int], ...]:
    """The values of symbols and of the elements that were read, in canonical order: symbols first, all sorted."""
    symbols = [(name, values.symbol(name)) for name in sorted(names)]
    return (*symbols, *[(f"{array}[{index}]", value) for (array, index), value in sorted(values.read.items())])


def symbols_of(facts: Sequence[Fact]) -> list[str]:
    """The names of the symbols in facts, sorted."""
    return sorted({node.name for fact in facts for node in distinct(fact) if isinstance(node, Symbol)})


Candidate = tuple[dict[str, int], dict[tuple[str, int], int]]


def _candidates(names: list[str], proposals: Sequence[dict[Monomial, int]], atoms: Atoms) -> Iterator[Candidate]:
    for proposal in proposals:
        yield _proposed(names, proposal, atoms)
    if len(names) <= _MAX_FIXED_SYMBOLS:
        for value in (0, 1, 2):
            yield dict.fromkeys(names, value), {}
        yield {name: position for position, name in enumerate(names)}, {}


def _proposed(names: list[str], proposal: dict[Monomial, int], atoms: Atoms) -> Candidate:
    """Symbols as proposed, 0 where nothing restricts them; elements at the values of their indices."""
    symbols = dict.fromkeys(names, 0)
    elements: dict[tuple[str, int], int] = {}
    for number, atom in enumerate(atoms.table):
        if atom.kind == "symbol" and atom.name in symbols:
            symbols[atom.name] = proposal.get((number,), 0)
    for number, atom in enumerate(atoms.table):
        if atom.kind == "element" and (number,) in proposal:
            elements.setdefault((atom.name, _value(atom.args[0], proposal)), proposal[(number,)])
    return symbols, elements


def _value(poly: Key, proposal: dict[Monomial, int]) -> int:
    total = 0
    for monomial, coefficient in poly:
        term = coefficient
        for atom in monomial:
            term *= proposal.get((atom,), 0)
        total += term
    return total


def _like_neighbour(values: Values, array: str, index: int) -> int:
    """The value of the nearest element to the left, else to the right, else 0."""
    found = _neighbour(values, array, index)
    return found[1] if found is not None else 0


def _rising(values: Values, array: str, index: int) -> int:
    """As far from the neighbour's value as from the neighbour."""
    found = _neighbour(values, array, index)
    return found[1] + index - found[0] if found is not None else index


def _neighbour(values: Values, array: str, index: int) -> tuple[int, int] | None:
    known = [(i, value) for (name, i), value in values.elements.items() if name == array]
    left = max((pair for pair in known if pair[0] < index), default=None)
    return left if left is not None else min((pair for pair in known if pair[0] > index), default=None)
