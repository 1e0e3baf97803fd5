"""Names of storage formats, as users write them.

dense         every level Dense, row-major
csr, csc      Dense(SparseList), by rows or by columns
dcsr, dcsc    SparseList(SparseList), by rows or by columns
csf           SparseList at every level
coo           one SparseCOO, a sorted list of coordinates, over all axes
Dense(SparseList(Element))    any nest, outermost level first; the innermost may be left out
Dense(SparseCOO(2)(Element))  a level over two axes

`, perm=(2, 0, 1)` after a nest, `dense`, `csf` or `coo` says which axis each level stores; without it, axes come in
order.
"""

import re

from finchsched.algebra.dtypes import INT32, INT64
from finchsched.ast.format import Level, TensorType, nest_text
from finchsched.errors import FormatError
from finchsched.formats.levels import Dense, SparseCOO, SparseList
from finchsched.formats.levels.sparse_coo import coo_levels

__all__ = ["format_name", "parse_format"]

_PERM = re.compile(r"(.*?)\s*,\s*perm\s*=\s*\(([0-9,\s]*)\)\s*", re.ASCII | re.DOTALL)
_LIST = re.compile(r"SparseCOO\s*\(\s*([0-9]{1,9})\s*\)", re.ASCII)
_MATRICES = {
    "csr": ("ds", (0, 1)),
    "csc": ("ds", (1, 0)),
    "dcsr": ("ss", (0, 1)),
    "dcsc": ("ss", (1, 0)),
}


def parse_format(text: str, rank: int, *, narrow: bool) -> tuple[tuple[Level, ...], tuple[int, ...]]:
    """(levels, perm) of a format for `rank` axes; `narrow`: index arrays are int32, else int64.

    Raises FormatError naming the known formats, or the rank that a format needs.
    """
    if not isinstance(text, str):
        raise FormatError(f'a format is named by a text such as "csr"; found {text!r}')
    index = INT32 if narrow else INT64
    sparse = SparseList(index, index)
    found = _PERM.fullmatch(text)
    nest, perm = (text, tuple(range(rank))) if found is None else (found[1], _parse_perm(text, found[2], rank))
    name = nest.strip().lower()
    if name in _MATRICES:
        if rank != 2:
            raise FormatError(
                f"format {text!r} is for 2 axes; the array has {rank}\nhint: csf and coo are for any number"
            )
        kinds, own = _MATRICES[name]
        if found is not None and perm != own:
            raise FormatError(f"format {text!r}: {name} has perm={own}\nhint: leave perm out, or write the nest")
        return tuple(Dense() if kind == "d" else sparse for kind in kinds), own
    if name == "dense":
        return (Dense(),) * rank, perm
    if name == "csf":
        return (sparse,) * rank, perm
    if name == "coo":
        return coo_levels(rank, index, index), perm
    return _parse_nest(nest, rank, sparse), perm


def _parse_perm(text: str, listed: str, rank: int) -> tuple[int, ...]:
    """The axes in the order in which levels store them.  Raises FormatError unless each comes once."""
    perm = tuple(int(word) for word in listed.replace(",", " ").split())
    if sorted(perm) != list(range(rank)):
        raise FormatError(f"format {text!r}: perm must name each of the {rank} axes once, found {perm}")
    return perm


def _parse_nest(text: str, rank: int, sparse: SparseList) -> tuple[Level, ...]:
    known: dict[str, tuple[Level, ...]] = {
        "Dense": (Dense(),),
        "SparseList": (sparse,),
        "SparseCOO": coo_levels(1, sparse.pos, sparse.crd),
    }
    spelled = _LIST.sub(r"SparseCOO \1", text)
    for axes in map(int, _LIST.findall(text)):
        if not 1 <= axes <= rank:
            raise FormatError(f"format {text!r} has a SparseCOO over {axes} axes; the array has {rank}")
        known[f"SparseCOO {axes}"] = coo_levels(axes, sparse.pos, sparse.crd)
    words = [" ".join(word.split()) for word in spelled.replace(")", "").split("(")]
    if words[-1] == "Element":
        words.pop()
    if spelled.count("(") != spelled.count(")") or any(word not in known for word in words):
        names = ", ".join(("dense", *_MATRICES, "csf", "coo"))
        raise FormatError(
            f"found the format {text!r}, expected one of {names}, or a nest of Dense, SparseList, SparseCOO(n) "
            "such as Dense(SparseList(Element)), perm=(1, 0)"
        )
    levels = tuple(level for word in words for level in known[word])
    if len(levels) != rank:
        raise FormatError(f"format {text!r} has {len(levels)} levels; the array has {rank} axes")
    return levels


def format_name(kind: TensorType) -> str:
    """The short name of a format if it has one, else its nest of levels, with `perm` unless axes are in order."""
    code = "".join("d" if level.stores_all else "s" for level in kind.levels)
    if all(isinstance(level, Dense | SparseList) for level in kind.levels):
        for name, (kinds, perm) in _MATRICES.items():
            if (code, kind.perm) == (kinds, perm):
                return name
        if kind.perm == tuple(range(len(kind.perm))):
            if "s" not in code:
                return "dense"
            if "d" not in code and len(code) > 2:
                return "csf"
    if kind.levels == _whole_list(kind.levels) and kind.perm == tuple(range(len(kind.perm))):
        return "coo"
    nest = nest_text(kind.levels, "Element")
    return nest if kind.perm == tuple(range(len(kind.perm))) else f"{nest}, perm={kind.perm}"


def _whole_list(levels: tuple[Level, ...]) -> tuple[Level, ...]:
    """One coordinate list over all axes, with the index types of the outermost level."""
    outermost = levels[0] if levels else None
    return coo_levels(len(levels), outermost.pos, outermost.crd) if isinstance(outermost, SparseCOO) else ()
