"""Numbers in text, parsed a column at a time without a loop over them.

Tokens are found by their edges; eight digits at a time are folded into a number inside one 64-bit word (the three
multiplications of Lemire's "Number parsing at a gigabyte per second", 2021).  A decimal number whose digits and power
of ten are exact in the widest floating point type is one division or multiplication away from its value; others are
left to Python's `float`.  Every function answers None rather than guess.
"""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["REAL", "Kind", "Table", "bulk_columns", "find_table", "real_number"]

Kind: TypeAlias = Literal["index", "integer", "real"]
_Words: TypeAlias = NDArray[np.uint64]
_Places: TypeAlias = NDArray[np.int64]

REAL = re.compile(rb"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[ed][+-]?[0-9]+)?|inf(?:inity)?|nan)", re.IGNORECASE)
"""What is a real number: as in C and Python, with Fortran's d for the exponent too."""

_FRONT = 32  # spaces before the text, so that the bytes before a token's end can be loaded whatever its length
_MOST_INTEGER_DIGITS = 18  # below 10**18 nothing overflows
_MOST_DIGITS = 19  # below 10**19 fits uint64
_MOST_EXPONENT_DIGITS = 4


def _word(byte: int) -> np.uint64:
    return np.uint64(int.from_bytes(bytes([byte]) * 8, "little"))


_ZEROS, _SIXES, _HIGH = _word(ord("0")), _word(6), _word(0xF0)
_EIGHT, _SIXTEEN, _THIRTY_TWO, _BITS = np.uint64(8), np.uint64(16), np.uint64(32), np.uint64(64)
_PAIRS, _QUADS = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0000FFFF0000FFFF)
_TENS, _HUNDREDS, _MYRIADS = np.uint64(10 * 2**8 + 1), np.uint64(100 * 2**16 + 1), np.uint64(10**4 * 2**32 + 1)

# The widest floating point type whose layout is known: x87's, with 64 bits of significand, else float64.
_X87 = np.finfo(np.longdouble).nmant == 63 and sys.byteorder == "little"
_WIDE: Any = np.longdouble if _X87 else np.float64
_EXACT_MANTISSA = np.uint64(2**64 - 1 if _X87 else 2**53)
_EXACT_POWER = 27 if _X87 else 22  # 5**27 < 2**64 and 5**22 < 2**53
_POWERS = np.multiply.accumulate(np.array([1] + [10] * _EXACT_POWER, dtype=_WIDE))
_INTEGER_POWERS = 10 ** np.arange(_MOST_DIGITS + 1, dtype=np.uint64)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A text of rows with `width` tokens each: where they start and end, row by row.

    `text` is the text after _FRONT spaces and before at least one, `words` the same bytes as little-endian words.
    """

    width: int
    text: NDArray[np.uint8]
    words: _Words
    starts: _Places
    ends: _Places


def find_table(data: bytes, width: int) -> Table | None:
    """The tokens of `data`, or None unless every line has `width` of them or is blank.

    White space is space, tab, CR and LF; other control bytes count as white space too, so `data` must have none.
    """
    padded = b"".join((b" " * _FRONT, data, b" " * (16 - len(data) % 8)))
    text = np.frombuffer(padded, np.uint8)
    solid = text > ord(" ")
    edges = np.flatnonzero(solid[1:] != solid[:-1]) + 1
    starts, ends = edges[0::2], edges[1::2]
    if len(starts) % width or not _lines_hold(text, starts, ends, width):
        return None
    return Table(width, text, np.frombuffer(padded, "<u8"), starts, ends)


def _lines_hold(text: NDArray[np.uint8], starts: _Places, ends: _Places, width: int) -> bool:
    """Whether each line has `width` tokens or none."""
    line_ends = np.flatnonzero(text == ord("\n"))
    rows = len(starts) // width
    if len(line_ends) in (rows, rows - 1):  # no blank lines: one line end after each row, but for the last
        after, before = ends[width - 1 :: width][: len(line_ends)], starts[width::width]
        return bool((line_ends >= after).all() and (line_ends[: len(before)] < before).all())
    counts = np.diff(np.searchsorted(starts, np.append(line_ends, len(text))), prepend=0)
    return bool(np.all((counts == width) | (counts == 0)))


def bulk_columns(table: Table, kinds: Sequence[Kind]) -> list[NDArray[Any]] | None:
    """An array a column, which may be a view with steps: int64 for integers, float64 for reals.

    None if a token needs a closer look.
    """
    if "real" not in kinds:  # in one go
        values = _integers(table, table.starts, table.ends)
        return None if values is None else [values[number :: table.width] for number in range(table.width)]
    columns: list[NDArray[Any]] = []
    marks = _Marks.of(table.text)
    for number, kind in enumerate(kinds):
        starts, ends = table.starts[number :: table.width], table.ends[number :: table.width]
        if kind == "real":
            column = _reals(table, marks, starts, ends)
        else:
            column = _integers(table, starts, ends)
        if column is None:
            return None
        columns.append(column)
    return columns


# ---------------------------------------------------------------------------------------------- integers


def _integers(table: Table, starts: _Places, ends: _Places) -> NDArray[Any] | None:
    starts, negative = _signs(table.text, starts)
    counts = ends - starts
    if len(counts) == 0:
        return np.empty(0, np.int64)
    if counts.min() < 1 or counts.max() > _MOST_INTEGER_DIGITS:
        return None
    digits, odd = _digits(table.words, ends, counts)
    if odd.any():
        return None
    values = digits.view(np.int64)
    return values if negative is None else np.where(negative, -values, values)


def _signs(text: NDArray[np.uint8], starts: _Places) -> tuple[_Places, NDArray[np.bool] | None]:
    """Where the digits start after a sign, and which tokens have a minus; None if no token has a sign."""
    first = text[starts]
    negative = first == ord("-")
    signed = negative | (first == ord("+"))
    return (starts + signed, negative) if signed.any() else (starts, None)


def _digits(words: _Words, ends: _Places, counts: _Places) -> tuple[_Words, NDArray[np.bool]]:
    """The numbers that the `counts` bytes before `ends` spell, modulo 2**64, and whether some byte is no digit."""
    longest = int(counts.max(initial=0))
    total, odd = _up_to_eight_digits(words, ends, counts if longest <= 8 else np.minimum(counts, 8))
    for done in range(8, min(longest, 24), 8):
        left = np.clip(counts - done, 0, 8)
        more, strange = _up_to_eight_digits(words, ends - done, left)
        more *= np.uint64(10**done)
        total += more
        odd |= strange
    return total, odd if longest <= 24 else odd | (counts > 24)


def _up_to_eight_digits(words: _Words, ends: _Places, counts: _Places) -> tuple[_Words, NDArray[np.bool]]:
    """The same for 0 to 8 bytes; no bytes spell 0."""
    skipped = ((8 - counts) << 3).view(np.uint64)
    chunk = _load(words, ends - 8)
    chunk ^= _ZEROS  # digits become their values, 0 to 9
    chunk >>= skipped  # a shift by 64 gives 0
    chunk <<= skipped
    high = chunk + _SIXES
    high |= chunk
    high &= _HIGH
    odd = high != 0
    chunk *= _TENS
    chunk >>= _EIGHT
    chunk &= _PAIRS
    chunk *= _HUNDREDS
    chunk >>= _SIXTEEN
    chunk &= _QUADS
    chunk *= _MYRIADS
    chunk >>= _THIRTY_TWO
    return chunk, odd


def _load(words: _Words, at: _Places) -> _Words:
    """The eight bytes from `at` on, the first one lowest."""
    index = at >> 3
    shift = ((at & 7) << 3).view(np.uint64)
    low: _Words = words[index]
    low >>= shift
    high = words[index + 1]
    high <<= _BITS - shift  # nothing is left of it where the shift is 0
    low |= high
    return low


# ---------------------------------------------------------------------------------------------- reals


@dataclass(frozen=True, slots=True, eq=False)
class _Marks:
    """Where the points and the letters of exponents stand in a text."""

    points: _Places
    exponents: _Places

    @staticmethod
    def of(text: NDArray[np.uint8]) -> "_Marks":
        lower = text | 0x20
        letters = (lower == ord("e")) | (lower == ord("d"))
        return _Marks(np.flatnonzero(text == ord(".")), np.flatnonzero(letters))


def _reals(table: Table, marks: _Marks, starts: _Places, ends: _Places) -> NDArray[np.float64] | None:
    digits, negative = _signs(table.text, starts)
    stop = _first_of(marks.exponents, digits, ends)
    point = _first_of(marks.points, digits, stop)
    mantissa, scale, odd = _mantissa(table.words, digits, point, stop)
    if len(marks.exponents):
        written = stop < ends
        exponent, strange = _exponents(table, stop[written], ends[written])
        scale[written] += exponent
        odd[written] |= strange
    odd |= (mantissa > _EXACT_MANTISSA) | (np.abs(scale) > _EXACT_POWER)
    scale[odd] = 0
    values, inexact = _scaled(mantissa, scale)
    if negative is not None:
        np.negative(values, out=values, where=negative)
    for k in np.flatnonzero(odd | inexact).tolist():
        token = table.text[starts[k] : ends[k]].tobytes()
        if not REAL.fullmatch(token):
            return None
        values[k] = real_number(token)
    return values


def real_number(token: bytes) -> float:
    """The value of a token that `REAL` matches, rounded correctly."""
    return float(token.lower().replace(b"d", b"e"))


def _first_of(marks: _Places, starts: _Places, ends: _Places) -> _Places:
    """The first mark inside each token, else the token's end."""
    if len(marks) == 0:
        return ends
    if len(marks) == len(starts) and ((marks >= starts) & (marks < ends)).all():
        return marks
    found: _Places = np.append(marks, np.iinfo(np.int64).max)[np.searchsorted(marks, starts)]
    return np.minimum(found, ends)


def _mantissa(
    words: _Words, starts: _Places, point: _Places, stop: _Places
) -> tuple[_Words, _Places, NDArray[np.bool]]:
    """(mantissa, power of ten, whether it is not to be trusted) of the digits from `starts` to `stop`."""
    whole, fraction = point - starts, np.maximum(stop - point - 1, 0)
    count = whole + fraction
    number, odd = _digits(words, point, whole)
    below, strange = _digits(words, stop, fraction)
    odd |= strange
    odd |= (count < 1) | (count > _MOST_DIGITS)
    number *= _INTEGER_POWERS[np.minimum(fraction, _MOST_DIGITS)]
    number += below
    return number, -fraction, odd


def _exponents(table: Table, letters: _Places, ends: _Places) -> tuple[_Places, NDArray[np.bool]]:
    """The exponents after the letters, and whether they are not to be trusted."""
    starts, negative = _signs(table.text, letters + 1)
    counts = ends - starts
    number, odd = _up_to_eight_digits(table.words, ends, np.clip(counts, 0, _MOST_EXPONENT_DIGITS))
    odd |= (counts < 1) | (counts > _MOST_EXPONENT_DIGITS)
    values = number.view(np.int64)
    return values if negative is None else np.where(negative, -values, values), odd


def _scaled(mantissa: _Words, scale: _Places) -> tuple[NDArray[np.float64], NDArray[np.bool]]:
    """mantissa * 10**scale, rounded once, and where it was not: twice, through a value halfway between two floats.

    All mantissas and powers are exact in the wide type, so the wide result is rounded correctly.  Rounding it again
    goes wrong only if it lies halfway between two float64, which the lower 11 bits of its significand show.
    """
    wide = mantissa.astype(_WIDE)
    down = scale < 0
    if down.all():
        wide /= _POWERS[-scale]
    else:
        power = _POWERS[np.abs(scale)]
        np.divide(wide, power, out=wide, where=down)
        np.multiply(wide, power, out=wide, where=~down)
    if not _X87:
        return wide, np.zeros(len(wide), np.bool)
    significand = wide.view(np.uint64)[0::2]
    return wide.astype(np.float64), (significand & np.uint64(0x7FF)) == np.uint64(0x400)
