"""NumPy's einsum notation, `ij,jk->ik`: a sum of one product.

Blanks count for nothing.  Without `->` the output has the letters that occur once, sorted, after the axes of
ellipses.  A letter repeated in one operand reads its diagonal.  An ellipsis stands for the remaining axes, aligned at
the last one, and broadcast: an operand that has the extent 1 there where another has more is read at its only
coordinate (`einsum_numpy_node`).  No extent of a letter is stretched.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from finchsched.algebra.dtypes import DType
from finchsched.api.einsum_program import Access, EinsumProgram, Operation, Term, mark
from finchsched.api.graph import GraphNode, einsum_node, view_node
from finchsched.errors import EinsumSyntaxError, IndexNameError

__all__ = ["einsum_numpy_node", "parse_numpy"]


def einsum_numpy_node(text: str, args: tuple[GraphNode, ...], dtype: DType | None = None) -> GraphNode:
    """The einsum `text` of these operands, cast to `dtype` first.

    Raises what `parse_numpy` does, and ShapeMismatchError for a letter of two extents and for axes under an ellipsis
    that do not broadcast.
    """
    program = parse_numpy(text, tuple([len(arg.shape) for arg in args]))
    if "..." not in text:
        return einsum_node(program, args, dtype)
    extents: dict[str, int] = {}
    for access in program.reads:
        for name, extent in zip(access.index, args[access.operand].shape, strict=True):
            if name.startswith(".") and extent != 1:
                extents.setdefault(name, extent)
    kept = [
        [a for a, name in enumerate(access.index) if arg.shape[a] != 1 or name not in extents]
        for access, arg in zip(program.reads, args, strict=True)
    ]
    if all(len(axes) == len(access.index) for axes, access in zip(kept, program.reads, strict=True)):
        return einsum_node(program, args, dtype)
    terms = [tuple([access.index[a] for a in axes]) for axes, access in zip(kept, program.reads, strict=True)]
    narrow = _program(program.text, terms, [access.at for access in program.reads], program.left)
    return einsum_node(narrow, tuple(map(view_node, args, kept)), dtype)


_BROKEN_ELLIPSIS = re.compile(r"\.\s+\.")


@lru_cache(maxsize=512)
def parse_numpy(text: str, ranks: tuple[int | None, ...]) -> EinsumProgram:
    """The program of `text` for operands of these ranks (None: a scalar).

    Raises EinsumSyntaxError for text outside the notation, IndexNameError for a wrong number of operands or letters and
    for output letters that are unknown or come twice.
    """
    broken = _BROKEN_ELLIPSIS.search(text)
    if broken is not None:
        raise EinsumSyntaxError(mark(text, broken.start(), "found blanks inside an ellipsis, expected three dots"))
    shown = "".join(text.split())
    inputs, arrow, output = shown.partition("->")
    parts = inputs.split(",")
    if len(parts) != len(ranks):
        raise IndexNameError(mark(shown, 0, f"the text names {len(parts)} operands, given were {len(ranks)}"))
    starts = [sum(len(part) + 1 for part in parts[:number]) for number in range(len(parts))]
    for part, start in zip(parts, starts, strict=True):
        _check_letters(shown, part, start)
    spread = [_spread(shown, starts[n], n, part, ranks[n] or 0) for n, part in enumerate(parts)]
    terms = [_names(part, count) for part, count in zip(parts, spread, strict=True)]
    if arrow:
        at = len(inputs) + 2
        _check_letters(shown, output, at)
        if "..." not in output and max(spread) > 0:
            raise IndexNameError(
                mark(shown, at, f"the output needs an ellipsis for {max(spread)} axes of the operands")
            )
        left = _names(output, max(spread))
        _check_output(shown, at, left, terms)
    else:
        left = _implicit_output(terms, max(spread))
    return _program(shown, terms, starts, left)


def _program(
    text: str, terms: Sequence[tuple[str, ...]], starts: Sequence[int], left: tuple[str, ...]
) -> EinsumProgram:
    reads = tuple(Access(n, term, starts[n]) for n, term in enumerate(terms))
    expr: Term = reads[0]
    for access in reads[1:]:
        expr = Operation("mul", (expr, access), access.at)
    operands = tuple(f"operand {n}" for n in range(len(terms)))
    return EinsumProgram(text, "out", left, "add", expr, operands, True, (0,) * len(left), reads)


def _check_letters(text: str, part: str, start: int) -> None:
    """Letters, and at most one ellipsis of three dots."""
    position = 0
    seen = False
    while position < len(part):
        if part.startswith("...", position) and not seen:
            seen = True
            position += 3
        elif part[position].isascii() and part[position].isalpha():
            position += 1
        else:
            problem = f"found {part[position]!r}, expected letters and at most one ellipsis per operand"
            raise EinsumSyntaxError(mark(text, start + position, problem))


def _spread(text: str, start: int, number: int, part: str, rank: int) -> int:
    """How many axes the operand's ellipsis stands for."""
    letters = len(part.replace("...", ""))
    if letters > rank or ("..." not in part and letters != rank):
        problem = f"operand {number} has {rank} axes, found {letters} letters"
        raise IndexNameError(mark(text, start, problem))
    return rank - letters


def _names(part: str, count: int) -> tuple[str, ...]:
    """One name per axis; the k-th last axis under an ellipsis is called `...k`."""
    before, ellipsis, after = part.partition("...")
    return (*before, *(f"...{k}" for k in reversed(range(count)) if ellipsis), *after)


def _check_output(text: str, at: int, left: tuple[str, ...], terms: Sequence[tuple[str, ...]]) -> None:
    known = {name for term in terms for name in term}
    for number, name in enumerate(left):
        if name not in known:
            raise IndexNameError(mark(text, at, f"output index {name} appears in no operand"))
        if name in left[:number]:
            raise IndexNameError(mark(text, at, f"output index {name} comes twice"))


def _implicit_output(terms: Sequence[tuple[str, ...]], spread: int) -> tuple[str, ...]:
    flat = [name for term in terms for name in term]
    once = sorted(name for name in dict.fromkeys(flat) if flat.count(name) == 1 and not name.startswith("."))
    return (*(f"...{k}" for k in reversed(range(spread))), *once)
