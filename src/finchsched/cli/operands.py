"""Operands as words of a command line: `A=file.mtx X=dense:67x16`.

    file.mtx, .tns, .npz     the tensor in a file that finchsched.read takes (text may be compressed: file.mtx.gz)
    sample:NAME              a matrix that comes with the package, such as sample:west0067.mtx
    dense:SHAPE[:DTYPE]      random elements: dense:67x16, dense:1000, dense:4x5x6:float32
    sparse:SHAPE:DENSITY     a random sparse matrix or vector, this share of its entries stored: sparse:1000x1000:0.01
    scalar:NUMBER            a number: scalar:2.5, scalar:3, scalar:true

Random elements depend on the operand's name and on nothing else, so that a command gives the same in every process.
"""

import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from finchsched.algebra.dtypes import Scalar
from finchsched.api import Tensor, asarray, read, sample_path
from finchsched.errors import FinchschedError
from finchsched.io.kinds import has_known_suffix

__all__ = ["Operand", "OperandError", "parse_operand", "parse_operands"]

Operand = Tensor | Scalar

_DTYPES = ("float64", "float32", "int64", "bool")
_RESERVED = ("dtype", "formats")
_SHAPE = re.compile(r"[0-9]{1,18}(x[0-9]{1,18})*", re.ASCII)
_KINDS = "a path ending in .mtx, .tns or .npz, sample:NAME, dense:SHAPE, sparse:SHAPE:DENSITY or scalar:NUMBER"


class OperandError(FinchschedError, ValueError):
    """A word of the command line that says no operand."""


def parse_operands(words: Iterable[str]) -> dict[str, Operand]:
    """The operands by name.  Raises OperandError for a word that says none and for a name that comes twice."""
    found: dict[str, Operand] = {}
    for word in words:
        name, operand = parse_operand(word)
        if name in found:
            raise OperandError(f"operand {name} is given twice")
        found[name] = operand
    return found


def parse_operand(word: str) -> tuple[str, Operand]:
    """(name, operand) of a word `NAME=SPEC`.

    Raises OperandError for anything else, OSError and FileFormatError for a file that cannot be read.
    """
    name, equals, spec = word.partition("=")
    if not equals or not spec:
        raise OperandError(f"found the operand {word!r}, expected NAME=SPEC\nhint: SPEC is {_KINDS}")
    if not name.isidentifier() or name in _RESERVED:
        raise OperandError(f"found {name!r} before = in {word!r}, expected a name of an operand")
    kind, colon, rest = spec.partition(":")
    if has_known_suffix(spec) and kind != "sample":
        return name, read(spec)
    match kind if colon else "":
        case "sample":
            return name, read(sample_path(rest))
        case "dense":
            return name, _dense(name, word, rest)
        case "sparse":
            return name, _sparse(name, word, rest)
        case "scalar":
            return name, _scalar(word, rest)
        case _:
            raise OperandError(f"operand {word!r}: cannot read {spec!r}\nhint: SPEC is {_KINDS}")


def _generator(name: str) -> np.random.Generator:
    return np.random.default_rng(list(name.encode()))


def _shape(word: str, text: str) -> tuple[int, ...]:
    if not _SHAPE.fullmatch(text):
        raise OperandError(f"operand {word!r}: found the shape {text!r}, expected extents joined by x, such as 67x16")
    return tuple(int(extent) for extent in text.split("x"))


def _dense(name: str, word: str, rest: str) -> Tensor:
    text, _, dtype = rest.partition(":")
    shape = _shape(word, text)
    if dtype not in ("", *_DTYPES):
        raise OperandError(f"operand {word!r}: found the type {dtype!r}, expected one of {', '.join(_DTYPES)}")
    rng = _generator(name)
    try:
        match dtype:
            case "int64":
                return asarray(rng.integers(-9, 10, shape))
            case "bool":
                return asarray(rng.integers(0, 2, shape).astype(bool))
            case _:
                return asarray(rng.random(shape).astype(dtype or "float64", copy=False))
    except (MemoryError, ValueError) as error:  # NumPy's ValueError: too many elements or axes
        raise OperandError(f"operand {word!r}: an array of this shape cannot be made: {error}") from error


def _sparse(name: str, word: str, rest: str) -> Tensor:
    text, _, density_text = rest.partition(":")
    shape = _shape(word, text)
    if len(shape) > 2:
        raise OperandError(f"operand {word!r}: found {len(shape)} axes, expected 1 or 2")
    try:
        density = float(density_text)
    except ValueError:
        density = math.nan
    if not 0 <= density <= 1:
        raise OperandError(f"operand {word!r}: found the density {density_text!r}, expected a number from 0 to 1")
    rng = _generator(name)
    total = math.prod(shape)
    try:
        places = np.sort(rng.choice(total, round(density * total), replace=False)) if total else np.zeros(0, np.int64)
        values = rng.random(len(places))
        coordinates: Any = np.unravel_index(places, shape) if total else (places,) * len(shape)
        return asarray(sp.coo_array((values, coordinates), shape=shape))
    except (MemoryError, ValueError, OverflowError) as error:
        raise OperandError(f"operand {word!r}: an array of this shape cannot be made: {error}") from error


def _scalar(word: str, text: str) -> Scalar:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise OperandError(f"operand {word!r}: found {text!r}, expected a number, true or false")
