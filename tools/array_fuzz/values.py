"""Random values and masks.  All are multiples of 1/4, so that sums and products of few are not rounded."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from array_fuzz.forms import Spec

__all__ = ["DOMAINS", "draw", "fills"]

Array = NDArray[Any]

DOMAINS = {
    "any": "with the extremes of integers, and NaN, infinities and -0.0",
    "signless": "the same, without -0.0",
    "finite": "small numbers",
    "count": "small numbers from 0 on",
    "powers": "0 and powers of 2, so that long products are exact",
}

_FILLS: dict[str, dict[str, tuple[Any, ...]]] = {
    "any": {
        "b": (False, False, True),
        "i": (0, 0, 0, 1, -1, 100),
        "u": (0, 0, 0, 1, 200),
        "f": (0.0, 0.0, 0.0, 0.0, 1.0, -1.0, -0.0, 2.5, np.nan, np.inf, -np.inf),
        "c": (0j, 0j, 0j, 1 + 0j, 2.5 - 1j, complex(np.nan, 0.0)),
    },
    "finite": {
        "b": (False, False, True),
        "i": (0, 0, 1, -1),
        "u": (0, 0, 1),
        "f": (0.0, 0.0, 0.0, 1.0, -1.0, 2.5),
        "c": (0j, 0j, 1 + 0j, 2.5 - 1j),
    },
    "count": {"b": (False,), "i": (0, 0, 1), "u": (0, 0, 1), "f": (0.0, 0.0, 1.0, 2.5), "c": (0j,)},
    "powers": {"b": (False, True), "i": (0, 1, -1), "u": (0, 1), "f": (0.0, 1.0, -1.0, 0.5), "c": (0j, 1 + 0j, 1j)},
}


def fills(dtype: Any, domain: str) -> tuple[Any, ...]:
    """The fills of a domain, likely ones more than once."""
    kind = np.dtype(dtype).kind
    if domain == "signless":
        return tuple(fill for fill in _FILLS["any"][kind] if str(fill) != "-0.0")
    return _FILLS[domain][kind]


def draw(rng: np.random.Generator, spec: Spec, cases: int) -> tuple[Array, NDArray[np.bool]]:
    """(values, which of them to store) of a batch; the fill where nothing is stored."""
    shape = (cases, *spec.shape)
    each = (cases, *(1,) * len(spec.shape))
    density = rng.choice([0.0, 0.1, 0.3, 0.6, 1.0], p=[0.05, 0.3, 0.3, 0.3, 0.05], size=each)
    stored = rng.random(shape) < density
    values = _powers(rng, spec, shape) if spec.domain == "powers" else _quarters(rng, spec, shape)
    if spec.domain in ("any", "signless"):
        odd = _odd(spec)
        where = (rng.random(shape) < 0.1) & (rng.random(each) < 0.25)
        if odd:
            values[where] = rng.choice(np.array(odd, spec.numpy), size=int(where.sum()))
    values[~stored] = spec.numpy_fill
    return values, stored


def _odd(spec: Spec) -> tuple[Any, ...]:
    match spec.numpy.kind:
        case "f":
            odd: tuple[Any, ...] = (np.nan, np.inf, -np.inf, -0.0)
            return odd[:-1] if spec.domain == "signless" else odd
        case "c":
            return (complex(np.nan, 1.0), complex(0.0, np.nan))
        case "i" | "u":
            return (np.iinfo(spec.numpy).min, np.iinfo(spec.numpy).max)
        case _:
            return ()


def _quarters(rng: np.random.Generator, spec: Spec, shape: tuple[int, ...]) -> Array:
    least = 0 if spec.domain == "count" or spec.numpy.kind == "u" else -8
    drawn: Array = rng.integers(least, 9, shape)
    match spec.numpy.kind:
        case "b":
            drawn = rng.random(shape) < 0.7
        case "f":
            drawn = drawn / 4
        case "c":
            drawn = drawn / 4 + 1j * (rng.integers(least, 9, shape) / 4)
    return np.asarray(drawn.astype(spec.numpy))


def _powers(rng: np.random.Generator, spec: Spec, shape: tuple[int, ...]) -> Array:
    choices: dict[str, tuple[Any, ...]] = {
        "b": (False, True, True, True),
        "i": (0, 1, 1, -1, 2, -3),
        "u": (0, 1, 1, 2, 3),
        "f": (0.0, 1.0, 1.0, -1.0, 2.0, 0.5, -2.0),
        "c": (0j, 1 + 0j, 1 + 0j, 1j, -1 + 0j, 2j, -0.5 + 0j),
    }
    return np.asarray(rng.choice(np.array(choices[spec.numpy.kind], spec.numpy), size=shape))
