"""Settings of the compiler and the runtime, scoped by context.

`config(densify=2**28)` sets for this thread and everything it starts later; as a context manager it sets for a `with`
block.
"""

from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from typing import Any

__all__ = ["Settings", "config", "current"]

_REASSOCIATE = ("strict", "sum", "algebra")
_BACKENDS = ("numba", "python")


@dataclass(frozen=True, slots=True)
class Settings:
    """What a user can set.

    densify: largest number of elements of a dense array that may be made from sparse operands.
    reassociate: "strict" keeps the order of every floating point sum; "sum" frees the order of sums; "algebra" also
    frees products and sums inside one contraction.
    backend: "numba" compiles kernels; "python" runs the same source uncompiled (slow; for tests and debugging).
    """

    densify: int = 1 << 28
    reassociate: str = "algebra"
    backend: str = "numba"

    def __post_init__(self) -> None:
        if self.reassociate not in _REASSOCIATE:
            raise ValueError(f"reassociate={self.reassociate!r}; expected one of {', '.join(_REASSOCIATE)}")
        if self.backend not in _BACKENDS:
            raise ValueError(f"backend={self.backend!r}; expected one of {', '.join(_BACKENDS)}")
        if type(self.densify) is not int or self.densify < 0:
            raise ValueError(f"densify={self.densify!r}; expected a number of elements, at least 0")


_DEFAULT = Settings()
_settings: ContextVar[Settings] = ContextVar("finchsched_settings", default=_DEFAULT)


def current() -> Settings:
    """The settings in force here."""
    return _settings.get()


def config(**changes: Any) -> Any:
    """Change settings from here on; used in a `with` statement, change them for the block only.

    Raises TypeError for an unknown setting and ValueError for a value that is not allowed.
    """
    known = {f.name for f in fields(Settings)}
    for name in changes:
        if name not in known:
            raise TypeError(f"no setting is called {name!r}; settings are {', '.join(sorted(known))}")
    token = _settings.set(replace(_settings.get(), **changes))
    return _Scope(token)


class _Scope:
    """Undoes a `config` call when its `with` block ends."""

    def __init__(self, token: Any) -> None:
        self._token = token

    def __enter__(self) -> Settings:
        return _settings.get()

    def __exit__(self, *exc: object) -> None:
        _settings.reset(self._token)
