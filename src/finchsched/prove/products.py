"""Products of inequalities, for addresses such as `i*m + j`.

From `i < n` and `m >= 0` follows `i*m + m <= n*m`, which linear reasoning cannot find.  A row is multiplied by a
product of values that are not negative if every product that comes out is one that the query speaks of.
"""

from collections.abc import Iterable
from itertools import combinations

from finchsched.prove.affine import Monomial, Poly
from finchsched.prove.inequalities import lower_bounds

__all__ = ["products"]

_MAX_PRODUCTS = 60


def products(rows: list[Poly]) -> list[Poly]:
    """Rows that follow from two others by multiplication."""
    present = dict.fromkeys(m for row in rows for m in row if len(m) > 1)
    if not present:
        return []
    factors = _factors(present)
    present.update(dict.fromkeys(factors))
    low = lower_bounds(rows)
    found: list[Poly] = []
    for factor in factors:
        if _is_square(factor):
            found.append({factor: 1})
        if any(low.get((atom,), -1) < 0 for atom in factor):
            continue
        found.append({factor: 1})
        for row in rows:
            product = {tuple(sorted(m + factor)): c for m, c in row.items()}
            if any(len(m) > 1 for m in product) and all(len(m) < 2 or m in present for m in product):
                found.append(product)
        if len(found) > _MAX_PRODUCTS:
            break
    return [row for row in found if any(row)]


def _is_square(monomial: Monomial) -> bool:
    return all(monomial.count(atom) % 2 == 0 for atom in monomial)


def _factors(present: Iterable[Monomial]) -> list[Monomial]:
    """Proper parts of the products, short ones first."""
    found: dict[Monomial, None] = {}
    for monomial in present:
        for size in range(1, len(monomial)):
            found.update(dict.fromkeys(combinations(monomial, size)))
        found[monomial] = None
    return sorted(found, key=lambda m: (len(m), m))
