"""Random einsum programs with operands in random formats, from hypothesis or from a seed."""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol, TypeVar

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from finchsched.algebra.dtypes import INT32, Scalar
from finchsched.api.functions import einsum, lazy
from finchsched.api.graph import GraphNode, format_node
from finchsched.api.lazy import reads_sparse
from finchsched.api.tensor import Tensor
from finchsched.ast.format import Level
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.formats.levels import Dense, SparseCOO, SparseList
from finchsched.formats.levels.sparse_coo import coo_levels
from finchsched.formats.numpy_convert import from_dense, stored_mask, to_dense
from oracle.masked_array import MaskedArray

T = TypeVar("T")

INF, NAN = float("inf"), float("nan")
LETTERS = "ijkl"
POINTS = 160
"""Most index tuples of a program: the oracle visits each."""
DTYPES = (
    *("float64", "float64", "int64", "float32", "bool", "complex128"),
    *("int8", "uint8", "int16", "uint16", "int32", "uint32", "uint64", "complex64"),
)
SCALARS = (2, 1, 0, 0.5, -1.5, True, INF, NAN, 1 + 2j, np.int8(-3), np.uint64(2), np.float32(0.5))
FACTORS = 25
"""Most factors of one product: with more, a float would overflow, and then the order of factors counts."""


class Choices(Protocol):
    """Where choices come from."""

    def pick(self, items: Sequence[T]) -> T:
        """One of several; the first is the simplest."""

    def percent(self, chance: int) -> bool:
        """True in `chance` of 100 cases."""


class Drawn:
    """Choices of hypothesis."""

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        self.draw = draw

    def pick(self, items: Sequence[T]) -> T:
        found: T = self.draw(st.sampled_from(list(items)))
        return found

    def percent(self, chance: int) -> bool:
        return bool(self.draw(st.integers(0, 99)) >= 100 - chance)


class Seeded:
    """Choices of a random generator."""

    def __init__(self, seed: int | str) -> None:
        self.random = random.Random(seed)

    def pick(self, items: Sequence[T]) -> T:
        return self.random.choice(items)

    def percent(self, chance: int) -> bool:
        return self.random.randrange(100) < chance


@dataclass(frozen=True, slots=True, eq=False)
class Operand:
    """A tensor as values, a mask of what to store, and a format."""

    values: NDArray[Any]
    mask: NDArray[np.bool]
    fill: Scalar
    levels: tuple[Level, ...]
    perm: tuple[int, ...]

    def tensor(self) -> FiberTensor:
        return from_dense(self.values, self.levels, self.perm, fill=self.fill, mask=self.mask)

    def __repr__(self) -> str:
        values = f"np.array({self.values.tolist()}, {self.values.dtype.name!r}).reshape({self.values.shape})"
        mask = f"np.array({self.mask.tolist()}, bool).reshape({self.values.shape})"
        return f"Operand({values}, {mask}, {self.fill!r}, nest({letters_of(self.levels)!r}), {self.perm})"


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """An einsum with its operands.  output: levels and storage order of the result, if the user asks for them.

    Its repr, with `from strategies import *`, makes it again.
    """

    text: str
    operands: Mapping[str, Operand]
    scalars: Mapping[str, Scalar]
    output: tuple[tuple[Level, ...], tuple[int, ...]] | None = None

    def graph(self) -> GraphNode:
        """The graph that the front end makes of it."""
        given = {name: Tensor(operand.tensor()) for name, operand in self.operands.items()}
        named: dict[str, Any] = {name: lazy(tensor) for name, tensor in given.items()}
        node: GraphNode = einsum(self.text, **named, **self.scalars).node
        if self.output is None:
            return node
        return format_node(node, *self.output, not reads_sparse(node))

    def for_oracle(self) -> dict[str, Any]:
        """Operands as the oracle takes them."""
        tensors = {name: operand.tensor() for name, operand in self.operands.items()}
        return {name: MaskedArray(to_dense(t), stored_mask(t), t.fill) for name, t in tensors.items()} | dict(
            self.scalars
        )

    def __repr__(self) -> str:
        operands = ", ".join(f"{name!r}: {operand!r}" for name, operand in self.operands.items())
        output = None if self.output is None else f"(nest({letters_of(self.output[0])!r}), {self.output[1]})"
        return f"Program({self.text!r}, {{{operands}}}, {dict(self.scalars)!r}, {output})"


def nest(letters: str) -> tuple[Level, ...]:
    """Levels by letter: d is Dense, s and S are SparseLists of narrow and of wide indices, a run of c is one list of
    coordinates.
    """
    made: dict[str, tuple[Level, ...]] = {"d": (Dense(),), "s": (SparseList(INT32, INT32),), "S": (SparseList(),)}
    parts = re.findall("c+|.", letters)
    return tuple(level for part in parts for level in made.get(part) or coo_levels(len(part), INT32, INT32))


def letters_of(levels: Sequence[Level]) -> str:
    """What `nest` reads."""
    return "".join(
        "d" if level.stores_all else "c" if isinstance(level, SparseCOO) else "S" if level == SparseList() else "s"
        for level in levels
    )


# ---------------------------------------------------------------------------------------------- programs


@dataclass(frozen=True, slots=True)
class _Term:
    """A piece of text.  kind: what its type is, one of b, i, f and c.  atom: it needs no parentheses."""

    text: str
    kind: str
    atom: bool = True

    @property
    def bool(self) -> bool:
        return self.kind == "b"

    @property
    def complex(self) -> bool:
        return self.kind == "c"

    def __str__(self) -> str:
        return self.text if self.atom else f"({self.text})"


class _Author:
    """Writes one program."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.pick, self.percent = choices.pick, choices.percent
        self.reduction = self.pick(("+", "+", "+", "min", "max", "*"))
        count = self.pick((1, 2, 3, 4))
        self.extents = {letter: self.pick((2, 3, 4, 5, 2, 3, 1, 0)) for letter in LETTERS[:count]}
        self.operands: dict[str, Operand] = {}
        self.scalars: dict[str, Scalar] = {}

    def program(self) -> Program:
        names = "ABC"[: self.pick((1, 2, 2, 3, 3))]
        reads = {name: self.indices() for name in names}
        used = list(dict.fromkeys(letter for read in reads.values() for letter in read))
        left = [letter for letter in used if self.percent(55)]
        left = self.shuffled(left)
        self.limit(left, used)
        for name, read in reads.items():
            self.operands[name] = self.operand(tuple(self.extents[letter] for letter in read))
        terms = [self.access(name, read) for name, read in reads.items()]
        terms += self.again(reads)
        while len(terms) > 1:
            one = terms.pop(self.pick(range(len(terms))))
            other = terms.pop(self.pick(range(len(terms))))
            terms.append(self.wrapped(self.joined(one, other), used))
        term = self.wrapped(terms[0], used) if len(reads) == 1 else terms[0]
        if term.complex and self.reduction in ("min", "max"):
            term = _Term(f"{self.pick(('real', 'imag', 'abs'))}({term.text})", "f")
        operator = self.reduction if len(left) < len(used) or self.percent(30) else ""
        subscript = f"[{','.join(left)}]" if left else ""
        output = self.format(len(left)) if self.percent(50) else None
        return Program(f"R{subscript} {operator}= {term.text}", self.operands, self.scalars, output)

    def indices(self) -> tuple[str, ...]:
        rank = min(self.pick((1, 2, 2, 3, 0)), 3)
        if self.percent(12):
            return tuple(self.pick(list(self.extents)) for _ in range(rank))
        return tuple(self.shuffled(list(self.extents))[:rank])

    def shuffled(self, items: list[T]) -> list[T]:
        rest, done = list(items), []
        while rest:
            done.append(rest.pop(self.pick(range(len(rest)))))
        return done

    def limit(self, left: list[str], used: list[str]) -> None:
        """Make extents smaller until the oracle can visit every point, and a product its factors."""
        reduced = [letter for letter in used if letter not in left]
        while prod(self.extents[letter] for letter in used) > POINTS:
            self.shrink(used)
        while self.reduction == "*" and prod(self.extents[letter] for letter in reduced) > FACTORS:
            self.shrink(reduced)

    def shrink(self, letters: list[str]) -> None:
        widest = max(letters, key=lambda letter: self.extents[letter])
        self.extents[widest] -= 1

    # -- operands -------------------------------------------------------------------------------------------------

    def operand(self, shape: tuple[int, ...]) -> Operand:
        dtype = np.dtype(self.pick(DTYPES))
        rng = np.random.default_rng(self.pick(range(1 << 12)))
        mask = np.asarray(rng.random(shape) < self.pick((0.5, 0.3, 0.7, 0.0, 1.0)))
        levels, perm = self.format(len(shape))
        return Operand(self.values(dtype, shape, rng), mask, self.fill(dtype), levels, perm)

    def format(self, rank: int) -> tuple[tuple[Level, ...], tuple[int, ...]]:
        letters = "".join(self.pick("dsscS") for _ in range(rank))
        perm = list(range(rank)) if self.percent(50) else self.shuffled(list(range(rank)))
        return nest(letters), tuple(perm)

    def values(self, dtype: np.dtype[Any], shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[Any]:
        """Small multiples of a half, zeros among them, so that sums are exact whatever their order."""
        if dtype.kind == "b":
            return np.asarray(rng.random(shape) < 0.6)
        span = 2 if self.reduction == "*" else 3
        drawn = rng.integers(0 if dtype.kind == "u" else -span, span + 1, shape)
        if dtype.kind == "c":
            return np.asarray(drawn + 1j * rng.integers(-1, 2, shape), dtype)
        values = np.asarray(drawn.astype(dtype))
        if dtype.kind in "iu" and self.percent(12):
            info = np.iinfo(dtype)
            return np.asarray(np.where(rng.random(shape) < 0.3, rng.choice([info.min, info.max], shape), values), dtype)
        if dtype.kind == "f":
            values = np.asarray(values / 2 if self.percent(40) else values, dtype)
            if self.percent(12):
                odd = rng.choice([NAN, INF, -INF], shape)
                values = np.asarray(np.where(rng.random(shape) < 0.3, odd, values), dtype)
        return values

    def fill(self, dtype: np.dtype[Any]) -> Scalar:
        if dtype.kind == "b":
            return self.percent(10)
        if dtype.kind in "iu":
            return 0 if self.percent(75) else self.pick((1, 2, 3, int(np.iinfo(dtype).max)))
        if dtype.kind == "c":
            return self.pick((0j,) * 6 + (1 + 0j, 1j, -1 + 2j, complex(NAN, 0.0)))
        if self.reduction in ("min", "max") and self.percent(60):
            return INF if self.reduction == "min" else -INF
        return self.pick((0.0,) * 10 + (INF, -INF, 1.0, -1.0, 1.5, 2.5, NAN, -0.0))

    # -- expressions ----------------------------------------------------------------------------------------------

    def access(self, name: str, read: tuple[str, ...]) -> _Term:
        text = f"{name}[{','.join(read)}]" if read else name
        return _Term(text, self.operands[name].values.dtype.kind.replace("u", "i"))

    def again(self, reads: dict[str, tuple[str, ...]]) -> list[_Term]:
        """Sometimes one more read of an operand, with its indices in another order where the extents allow it."""
        if len(reads) == 3 or not self.percent(15):
            return []
        name = self.pick(list(reads))
        other = tuple(self.shuffled(list(reads[name])))
        same = [self.extents[letter] for letter in other] == [self.extents[letter] for letter in reads[name]]
        return [self.access(name, other if same else reads[name])]

    def joined(self, one: _Term, other: _Term) -> _Term:
        both = max(one.kind, other.kind, key="bifc".index)
        match self.pick("***++-m^<&"):
            case "m" | "^" as choice if both != "c":
                return _Term(f"{'min' if choice == 'm' else 'max'}({one.text}, {other.text})", both)
            case "<":
                signs = ("==", "!=") if both == "c" else ("<", "==", "!=", ">=")
                return _Term(f"{one} {self.pick(signs)} {other}", "b", atom=False)
            case "&" | "m" | "^":
                return _Term(f"logical_{self.pick(('and', 'or', 'xor'))}({one.text}, {other.text})", "b")
            case "-" if both == "b":
                return _Term(f"{one} * {other}", both, atom=False)
            case operator:
                return _Term(f"{one} {operator} {other}", both, atom=False)

    def wrapped(self, term: _Term, used: list[str]) -> _Term:
        """Sometimes beside an index, a mask, a constant or a scalar."""
        if not self.percent(30):
            return term
        kind = self.pick(("mask", "where", "index", "constant", "scalar", "function"))
        if kind in ("mask", "where", "index") and not used:
            return term
        match kind:
            case "mask":
                return _Term(f"{term} * ({self.comparison(used)})", term.kind, atom=False)
            case "where":
                number = "i" if term.bool else term.kind
                if self.percent(50):
                    return _Term(f"where({self.comparison(used)}, {term.text}, {self.pick((0, 1))})", number)
                return _Term(f"where({self.comparison(used)}, {term.text}, {term} * 2)", number)
            case "index":
                number = "f" if term.kind == "i" else term.kind  # beside uint64 it is float64
                return _Term(f"{term} {self.pick('*+')} {self.pick(used)}", number, atom=False)
            case "constant":
                return _Term(
                    f"{term} {self.pick('*+-')} {self.pick((2, 1, 0, 0.5))}", _wider(term.kind, "f"), atom=False
                )
            case "function":
                return self.function(term)
            case _:
                name = "st"[len(self.scalars) % 2]
                self.scalars[name] = value = self.pick(SCALARS)
                if term.complex and not np.isfinite(value):
                    self.scalars[name] = value = 2
                kind = term.kind if value is True else _wider(term.kind, "c" if isinstance(value, complex) else "f")
                return _Term(f"{term} {self.pick('*+')} {name}", kind, atom=False)

    def function(self, term: _Term) -> _Term:
        """A function whose results are exact."""
        real = {"abs": "f", "real": "f", "imag": "f", "isnan": "b", "isfinite": "b", "logical_not": "b"}
        same = ["conj", "square"] if term.complex else ["floor", "trunc", "square"] if not term.bool else ["floor"]
        name = self.pick([*real, *same, *(["sign", "negative"] if term.kind in "if" else [])])
        kind = term.kind if name in same or term.bool else real.get(name, term.kind)
        return _Term(f"{name}({term.text})", real[name] if real.get(name) == "b" else kind)

    def comparison(self, used: list[str]) -> str:
        one, operator = self.pick(used), self.pick(("<", "<=", "==", "!=", ">", ">="))
        match self.pick("iin+"):
            case "n":
                return f"{one} {operator} {self.pick((0, 1, 2, -1, 7))}"
            case "+":
                return f"{one} {operator} {self.pick(used)} {self.pick('+-')} {self.pick((1, 2))}"
            case _:
                return f"{one} {operator} {self.pick(used)}"


def _wider(one: str, other: str) -> str:
    """The kind of a result of arithmetic."""
    return max(one, other, key="bifc".index)


def random_program(choices: Choices) -> Program:
    """One program."""
    return _Author(choices).program()


@st.composite
def programs(draw: Callable[[Any], Any]) -> Program:
    """Programs, for hypothesis."""
    return random_program(Drawn(draw))
