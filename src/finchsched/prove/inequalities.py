"""Linear inequalities over the integers: Fourier-Motzkin elimination within a budget, tightened by common divisors.

A row is a polynomial that is at least 0, an equation one that is 0; monomials are treated as variables of their own.
`solve` says "none" only where no integers satisfy all (sound, as every derived row follows from the others); where it
finds no contradiction it proposes values, nearest to 0, which whoever asks must check: a bound may have been given up,
and a product need not be the product of its factors.

Source: G. B. Dantzig and B. C. Eaves, "Fourier-Motzkin Elimination and Its Dual" (1973); the tightening is that of
W. Pugh, "The Omega Test" (1991).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from finchsched.prove.affine import Monomial, Poly, add, content, scale

__all__ = ["Bounds", "Contradiction", "Solution", "lower_bounds", "solve"]

_MAX_ROWS = 240
_MAX_BITS = 512

Row = tuple[tuple[Monomial, int], ...]
Rows = dict[Row, int]
"""Inequalities by their coefficients, with the constant; of two with equal coefficients the smaller constant stands."""


class Contradiction(Exception):
    """No integers satisfy the rows."""


@dataclass(slots=True)
class Solution:
    """How variables were eliminated, in order.  An equation has the coefficient ±1 for its variable."""

    steps: list[tuple[Monomial, Poly | None, list[tuple[Row, int]]]] = field(default_factory=list)
    complete: bool = True

    def values(self) -> dict[Monomial, int] | None:
        """Integers for the eliminated variables, each the nearest to 0 that its rows allow; None if there is none."""
        found: dict[Monomial, int] = {}
        for variable, equation, rows in reversed(self.steps):
            if equation is not None:
                rest = _value(((m, c) for m, c in equation.items() if m != variable), found)
                found[variable] = -rest * equation[variable]
                continue
            low, high = None, None
            for row, number in rows:
                factor = dict(row)[variable]
                rest = _value(((m, c) for m, c in row if m != variable), found) + number
                if factor > 0:
                    bound = -(rest // factor)
                    low = bound if low is None else max(low, bound)
                else:
                    bound = rest // -factor
                    high = bound if high is None else min(high, bound)
            if low is not None and high is not None and low > high:
                return None
            found[variable] = _nearest_to_zero(low, high)
        return found


def solve(rows: Iterable[Poly], equations: Iterable[Poly]) -> Solution:
    """Eliminate every variable.  Raises Contradiction if no integers satisfy all of them."""
    solution = Solution()
    kept = _use_equations(list(rows), [e for e in equations if e], solution)
    table: Rows = {}
    for row in kept:
        _insert(table, row)
    while table:
        _eliminate(table, _cheapest(table), solution)
    return solution


def lower_bounds(rows: Iterable[Poly], rounds: int = 3) -> dict[Monomial, int]:
    """Lower bounds of variables that follow from the rows by interval arithmetic."""
    low: dict[Monomial, int] = {}
    high: dict[Monomial, int] = {}
    _narrow_all(list(rows), low, high, rounds)
    return low


class Bounds:
    """What can be read off rows and equations without eliminating anything."""

    def __init__(self, rows: Iterable[Poly], equations: Iterable[Poly]) -> None:
        listed = [*rows, *equations, *[scale(e, -1) for e in equations]]
        self._table: Rows = {}
        self._low: dict[Monomial, int] = {}
        self._high: dict[Monomial, int] = {}
        try:
            for row in listed:
                _insert(self._table, row)
        except Contradiction:
            pass  # found again by `solve`
        _narrow_all(listed, self._low, self._high, 3)

    def exclude(self, poly: Poly) -> bool:
        """Whether a polynomial is negative, by a single row or by the bounds of its variables."""
        most = poly.get((), 0)
        divisor = content(c for m, c in poly.items() if m)
        if divisor == 0:
            return most < 0
        opposite = self._table.get(tuple(sorted((m, -c // divisor) for m, c in poly.items() if m)))
        if opposite is not None and opposite + most // divisor < 0:
            return True
        for monomial, c in poly.items():
            if monomial:
                bound = (self._high if c > 0 else self._low).get(monomial)
                if bound is None:
                    return False
                most += c * bound
        return most < 0


def _narrow_all(rows: list[Poly], low: dict[Monomial, int], high: dict[Monomial, int], rounds: int) -> None:
    for _ in range(rounds):
        if not any([_narrow(row, low, high) for row in rows]):
            return


def _narrow(row: Poly, low: dict[Monomial, int], high: dict[Monomial, int]) -> bool:
    """Bounds of each variable of a row, from the bounds of the others."""
    changed = False
    for variable, factor in row.items():
        if not variable:
            continue
        most = row.get((), 0)
        for other, c in row.items():
            if other and other != variable:
                bound = (high if c > 0 else low).get(other)
                if bound is None:
                    break
                most += c * bound
        else:
            if factor > 0:
                changed |= _improve(low, variable, -(most // factor), max)
            else:
                changed |= _improve(high, variable, most // -factor, min)
    return changed


def _improve(bounds: dict[Monomial, int], variable: Monomial, value: int, better: Callable[[int, int], int]) -> bool:
    old = bounds.get(variable)
    new = value if old is None else better(old, value)
    bounds[variable] = new
    return old != new


def _nearest_to_zero(low: int | None, high: int | None) -> int:
    if low is not None and low > 0:
        return low
    return high if high is not None and high < 0 else 0


def _value(terms: Iterable[tuple[Monomial, int]], found: dict[Monomial, int]) -> int:
    return sum(c * (found.get(m, 0) if m else 1) for m, c in terms)


def _use_equations(rows: list[Poly], equations: list[Poly], solution: Solution) -> list[Poly]:
    """Solve each equation for a variable with coefficient ±1 and put it into the rest; the others become two rows."""
    waiting = equations
    while waiting:
        reduced = [e for e in map(_reduced, waiting) if e]
        chosen = next((e for e in reduced if _unit(e) is not None), None)
        if chosen is None:
            waiting = reduced
            break
        variable = _unit(chosen)
        assert variable is not None
        solution.steps.append((variable, chosen, []))
        waiting = [_substitute(e, variable, chosen) for e in reduced if e is not chosen]
        rows = [_substitute(row, variable, chosen) for row in rows]
    return rows + waiting + [scale(e, -1) for e in waiting]


def _reduced(equation: Poly) -> Poly:
    """An equation divided by the common divisor of its coefficients, which must divide its constant."""
    divisor = content(c for m, c in equation.items() if m)
    number = equation.get((), 0)
    if divisor == 0:
        if number:
            raise Contradiction
        return {}
    if number % divisor:
        raise Contradiction
    return {m: c // divisor for m, c in equation.items()}


def _unit(equation: Poly) -> Monomial | None:
    """A variable with coefficient ±1: of the shortest and latest, so that products and intermediate values go first."""
    return max((m for m, c in equation.items() if m and abs(c) == 1), default=None)


def _substitute(poly: Poly, variable: Monomial, equation: Poly) -> Poly:
    factor = poly.get(variable)
    if factor is None:
        return poly
    return add(poly, scale(equation, -factor * equation[variable]))


def _insert(table: Rows, poly: Poly) -> None:
    divisor = content(c for m, c in poly.items() if m)
    number = poly.get((), 0)
    if divisor == 0:
        if number < 0:
            raise Contradiction
        return
    row = tuple(sorted((m, c // divisor) for m, c in poly.items() if m))
    number //= divisor
    old = table.get(row)
    if old is None or number < old:
        table[row] = number
        opposite = table.get(tuple((m, -c) for m, c in row))
        if opposite is not None and opposite + number < 0:
            raise Contradiction


def _cheapest(table: Rows) -> Monomial:
    """The variable whose elimination makes fewest rows."""
    above: dict[Monomial, int] = {}
    below: dict[Monomial, int] = {}
    for row in table:
        for monomial, c in row:
            side = above if c > 0 else below
            side[monomial] = side.get(monomial, 0) + 1
    return min(
        sorted({**above, **below}), key=lambda m: above.get(m, 0) * below.get(m, 0) - above.get(m, 0) - below.get(m, 0)
    )


def _eliminate(table: Rows, variable: Monomial, solution: Solution) -> None:
    """Replace the rows that have a variable by all sums of two in which it cancels."""
    ups: list[tuple[Row, int, int]] = []
    downs: list[tuple[Row, int, int]] = []
    for row, number in table.items():
        for monomial, c in row:
            if monomial == variable:
                (ups if c > 0 else downs).append((row, number, abs(c)))
    solution.steps.append((variable, None, [(row, number) for row, number, _ in ups + downs]))
    for row, _, _ in ups + downs:
        del table[row]
    for up, n, c in ups:
        for down, m, d in downs:
            if len(table) >= _MAX_ROWS:
                solution.complete = False  # rows left out: a contradiction may be missed, none is invented
                return
            joined = add(scale({**dict(up), (): n}, d), scale({**dict(down), (): m}, c))
            if all(value.bit_length() <= _MAX_BITS for value in joined.values()):
                _insert(table, {monomial: value for monomial, value in joined.items() if value})
