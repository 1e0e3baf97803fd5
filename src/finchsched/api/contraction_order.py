"""In which order to contract a product of three and more operands: pair by pair, or in one loop nest.

Costs are bounds on the number of steps, from extents and stored entries, plus STORE for each entry of an intermediate
result.  They are no estimates: two matrices with n entries each meet in about as many products if these are spread
evenly, but in n**2 where one has a full column and the other a full row.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import TypeAlias

__all__ = ["STORE", "Contraction", "Factor", "Path", "choose_order", "contracted", "nest_cost"]

STORE = 4
EXHAUSTIVE = 5
"""Up to so many factors all orders are compared; of more, the pair with the cheapest result goes first."""

Extents: TypeAlias = tuple[tuple[str, int], ...]
Path: TypeAlias = tuple[tuple[int, int], ...]
"""Pairs to contract, by place among the factors; a result comes last, its factors go.  What is left is one nest."""


@dataclass(frozen=True, slots=True)
class Factor:
    """An operand of a product: the letter of each axis, and a bound on its stored entries, None if it is dense."""

    letters: tuple[str, ...]
    stored: int | None


@dataclass(frozen=True, slots=True)
class Contraction:
    """A sum over products of `factors`; the letters that are not in `out` are reduced.

    limit: no dense intermediate result may have more elements.
    """

    factors: tuple[Factor, ...]
    out: tuple[str, ...]
    extents: Extents
    limit: int


def contracted(factors: Sequence[Factor], pair: tuple[int, int], out: Sequence[str]) -> tuple[str, ...]:
    """The letters of the product of a pair: those that others or the result have, too."""
    others = {c for n, factor in enumerate(factors) if n not in pair for c in factor.letters}
    both = dict.fromkeys(factors[pair[0]].letters + factors[pair[1]].letters)
    return tuple(c for c in both if c in others or c in out)


def nest_cost(factors: Sequence[Factor], extents: Extents) -> int:
    """A bound on the iterations of one loop nest: every letter is bound by a sparse factor or runs over its extent."""
    sizes = dict(extents)
    letters = dict.fromkeys(c for factor in factors for c in factor.letters)
    sparse = [(frozenset(f.letters), f.stored) for f in factors if f.stored is not None]
    best = math.prod(sizes[c] for c in letters)
    for count in range(1, len(sparse) + 1):
        for cover in combinations(sparse, count):
            bound = frozenset[str]().union(*(held for held, _ in cover))
            free = math.prod(sizes[c] for c in letters if c not in bound)
            best = min(best, free * math.prod(stored for _, stored in cover))
    return best


@lru_cache(maxsize=1024)
def choose_order(whole: Contraction) -> tuple[int, Path]:
    """(the least cost, how to reach it); an empty path is one nest."""
    best = nest_cost(whole.factors, whole.extents), Path()
    found = []
    for pair in combinations(range(len(whole.factors)), 2) if len(whole.factors) > 2 else ():
        step = _step(whole, pair)
        if step is not None:
            found.append((step[0], pair, step[1]))
    if len(whole.factors) > EXHAUSTIVE:
        found = sorted(found, key=lambda each: each[0])[:1]
    for cost, pair, rest in found:
        if cost < best[0]:
            further, path = choose_order(rest)
            best = min(best, (cost + further, (pair, *path)), key=lambda each: each[0])
    return best


def _step(whole: Contraction, pair: tuple[int, int]) -> tuple[int, Contraction] | None:
    """(the cost of contracting a pair, what is left to do), or None if its result may be too large."""
    sizes = dict(whole.extents)
    factors = [whole.factors[n] for n in pair]
    out = contracted(whole.factors, pair, whole.out)
    iterations = nest_cost(factors, whole.extents)
    size = math.prod(sizes[c] for c in out)
    sparse = all(f.stored is not None or not set(f.letters) & set(out) for f in factors)
    if size > whole.limit and not sparse:
        return None
    # A result of one axis is stored densely.
    stored = iterations if sparse and len(out) > 1 and iterations < size else None
    rest = (*(f for n, f in enumerate(whole.factors) if n not in pair), Factor(out, stored))
    entries = size if stored is None else stored
    return iterations + STORE * entries, Contraction(rest, whole.out, whole.extents, whole.limit)
