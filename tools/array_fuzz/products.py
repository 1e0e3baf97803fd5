"""Kinds of contractions: `@`, einsums in NumPy's notation and with names, over sums and other semirings."""

import re
from functools import partial
from typing import Any

import numpy as np

import finchsched as fs
from array_fuzz.kinds import COMPLEX, DTYPES, Draw, Kind
from array_fuzz.model import Batch, folded, map_axes, pointwise, reduced
from oracle.einsum_oracle import CALLS, Operator

__all__ = ["einsums", "matmuls", "named_einsums"]

EXTENTS = {"i": 8, "j": 5, "k": 6, "l": 3}

MATMULS = (
    *(("ij", "jk", "ik"),) * 4,
    *(("ij", "j", "i"), ("i", "ij", "j"), ("i", "i", ""), ("lij", "ljk", "lik"), ("lij", "jk", "lik")),
)
EINSUMS = (
    *("ij,jk->ik", "ij,kj->ik", "ji,jk->ki", "ij,ij->", "ij,ij->i", "ij,ji->ij", "ij,j->ij", "i,j->ij", "ij->ji"),
    *("ii->i", "ii->", "ijl->", "ijl->jl", "ijl,jk->ikl", "ijl,l->ij", "lij,lik->jk"),
)
NAMED = (
    *("C[i,j] min= A[i,k] + B[k,j]", "C[i,j] max= A[i,k] + B[k,j]", "C[i,j] max= A[i,k] * B[k,j]"),
    *("C[i,j] min= max(A[i,k], B[k,j])", "C[i,j] max= min(A[i,k], B[j,k])", "C[i] min= A[i,j] + B[j]"),
    *("C[i,j] += A[i,j] * B[j,i]", "C[] += A[i,j] * B[i,j]", "C[i,j] += A[i,k] * B[k,j]", "C[j] += A[i,j] + B[i]"),
    *("C[i,j] = A[i,j] + B[j,i]", "C[i,j,l] = A[i,j] * B[l]", "C[i] += A[i,i] * B[i]", "C[i,k] max= A[i,j,k] + B[j]"),
)
LOGICAL = ("C[i,j] or= A[i,k] and B[k,j]", "C[i] and= A[i,j] or B[j]", "C[i,j] or= A[i,k] & B[k,j]")


def _shape(letters: str, extents: dict[str, int]) -> tuple[int, ...]:
    return tuple(extents[letter] for letter in letters)


def _extents(draw: Draw, square: bool) -> dict[str, int]:
    extents = {letter: draw.pick((0, 1)) if draw.percent(6) else extent for letter, extent in EXTENTS.items()}
    return dict.fromkeys(extents, extents["i"]) if square else extents


def _operands(draw: Draw, shapes: list[tuple[int, ...]], dtypes: list[str], domain: str = "any") -> list[Any]:
    first = draw.spec(shapes[0], dtypes, domain)
    second = first.dtype if draw.percent(70) else dtypes
    return [first, *(draw.spec(shape, second, domain) for shape in shapes[1:])]


def _at_letters(batch: Batch, letters: str, whole: str) -> Batch:
    """The batch over all index letters, extent 1 where it does not have one; a repeated letter takes the diagonal."""
    rows = "".join(dict.fromkeys(letters))
    order = [letter for letter in whole if letter in rows]

    def moved(array: Any) -> Any:
        found = np.einsum(f"Z{letters}->Z{''.join(order)}", array)
        return found.reshape(len(array), *(found.shape[order.index(c) + 1] if c in order else 1 for c in whole))

    return map_axes(batch, moved)


def contraction(
    terms: list[str], out: str, operator: Operator, reduction: str, keeping: bool, *batches: Batch
) -> Batch:
    """`out[...] reduction= operator(terms)` at every index tuple, then reduced."""
    whole = out + "".join(sorted(set("".join(terms)) - set(out)))
    over = range(len(out), len(whole))
    common = np.result_type(*(batch.values.dtype for batch in batches)) if keeping else None
    spread = []
    for batch, letters in zip(batches, terms, strict=True):
        found = _at_letters(batch, letters, whole)
        if common is not None:
            found = Batch(found.values.astype(common), found.stored, common.type(found.fill))
        spread.append(found)
    joined = spread[0] if len(spread) == 1 else pointwise(operator, *spread, reduction=reduction)
    if not reduction:
        return joined
    return reduced(joined, folded(reduction, keeping), tuple(over), False)


def matmuls(draw: Draw) -> Kind:
    """`A @ B`, in NumPy's ranks."""
    left, right, out = draw.pick(MATMULS)
    extents = _extents(draw, False)
    a, b = _operands(draw, [_shape(left, extents), _shape(right, extents)], DTYPES, "any")
    expect = partial(contraction, [left, right], out, CALLS["multiply"], "+", True)
    return Kind("A @ B", (a, b), lambda x, y: x @ y, expect)


def einsums(draw: Draw) -> Kind:
    """An einsum in NumPy's notation."""
    text = draw.pick(EINSUMS)
    inputs, out = text.split("->")
    terms = inputs.split(",")
    extents = _extents(draw, False)
    specs = _operands(draw, [_shape(term, extents) for term in terms], DTYPES)
    expect = partial(contraction, terms, out, CALLS["multiply"], "+", True)
    return Kind(f"fs.einsum({text!r}, A, B)", tuple(specs), partial(fs.einsum, text), expect)


def named_einsums(draw: Draw) -> Kind:
    """An einsum with names: over a semiring, with reads in another order, without a reduction."""
    logical = draw.percent(15)
    text = draw.pick(LOGICAL if logical else NAMED)
    head, reduction, terms = _parsed(text)
    square = "[j,i]" in text or "[i,i]" in text or "A[i,k], B[j,k]" in text
    extents = _extents(draw, square)
    if reduction in ("min", "max"):
        extents = {letter: max(extent, 1) for letter, extent in extents.items()}
        specs = _operands(draw, [_shape(t, extents) for t in terms], [d for d in DTYPES if d not in COMPLEX])
        if draw.percent(50) and specs[0].dtype.startswith("float"):
            fill = np.inf if reduction == "min" else -np.inf
            specs = [draw.spec(s.shape, specs[0].dtype, fill=fill) for s in specs]
    else:
        dtypes = ["bool"] if logical else DTYPES
        specs = _operands(draw, [_shape(t, extents) for t in terms], dtypes, "finite")
    expect = partial(contraction, terms, head, _operator(text), reduction, False)
    return Kind(f"fs.einsum({text!r})", tuple(specs), lambda x, y: fs.einsum(text, A=x, B=y), expect)


def _parsed(text: str) -> tuple[str, str, list[str]]:
    """(letters of the result, the reduction, letters of each operand)."""
    found = re.match(r"C\[([^]]*)\] (\+|min|max|or|and)?=(.*)", text)
    assert found is not None
    terms = re.findall(r"[AB]\[([^]]*)\]", found[3])
    return found[1].replace(",", ""), found[2] or "", [term.replace(",", "") for term in terms]


def _operator(text: str) -> Operator:
    right = text.split("= ", 1)[1]
    for sign, name in {
        "max(": "max",
        "min(": "min",
        " + ": "add",
        " * ": "multiply",
        " and ": "logical_and",
        " or ": "logical_or",
        " & ": "bitwise_and",
    }.items():
        if sign in right:
            return CALLS[name]
    raise ValueError(text)
