"""Plans on disk: a program that some process has compiled is run by another without being planned.

An entry lies in the cache of kernels and is protected as they are: the folder is the user's, and the digest of an
entry is checked before anything reads it.  Its name is a digest of the plan key, of the versions and processor that
machine code depends on, and of when each file of this package was last changed.  Whatever does not fit, plan key,
entry or kernels, means that the program is compiled as if there were no entry.
"""

import os
import pickle
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from finchsched.api.binding import Binding, Bound
from finchsched.backend.cache import open_cache
from finchsched.backend.stored_program import RestoredProgram, StoredProgram, restore_program
from finchsched.backend.toolchain import digest, toolchain

__all__ = ["plan_digest", "restore_plan", "store_plan"]

_NAME = "plan"
_ROOT = Path(__file__).parent.parent


class _StoredPlan(NamedTuple):
    binding: Binding
    program: StoredProgram


def restore_plan(key: tuple[Any, ...]) -> tuple[Binding, RestoredProgram] | None:
    """The plan stored under a plan key, ready to run; None if there is none."""
    name = plan_digest(key)
    store = open_cache() if name else None
    data = store.get_object(_NAME, name) if store and name else None
    if store is None or name is None or data is None:
        return None
    try:
        stored: _StoredPlan = pickle.loads(data)  # its digest has been checked
        program = restore_program(stored.program, store)
    except Exception:  # pickle names no closed set of errors; planning again is right after any
        program = None
    if program is None:
        store.drop_object(_NAME, name)
        return None
    return stored.binding, program


def store_plan(key: tuple[Any, ...], bound: Bound, program: StoredProgram) -> None:
    """Store a plan for other processes.

    Nothing is stored if the key or something in the plan cannot be written down, or if a kernel is not in the cache:
    this process may have loaded it before the folder was emptied, or another one named.
    """
    name = plan_digest(key)
    store = open_cache() if name else None
    if store is None or name is None:
        return
    if not all(store.object_path(phase.kernel, phase.key).exists() for phase in program.phases):
        return
    try:
        data = pickle.dumps(_StoredPlan(Binding(bound.slots, bound.values), program), pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, TypeError, AttributeError):
        return
    store.put_object(_NAME, name, data)


def plan_digest(key: tuple[Any, ...]) -> str | None:
    """The name of a plan on disk: the same in every process that would make the same plan.

    None if the key has something that text does not tell apart.
    """
    try:
        text = "".join(_spell(key))
    except TypeError:
        return None
    return digest([text, toolchain(), _package()])


def _spell(value: Any) -> Iterator[str]:
    """A text that only equal values have.  Raises TypeError for a value that is no scalar, tuple or dataclass."""
    if value is None or isinstance(value, bool | int | float | complex | str):
        yield f"{type(value).__name__} {value!r}"
        return
    if isinstance(value, tuple):
        name, parts = "", value
    elif is_dataclass(value) and not isinstance(value, type):
        name = f"{type(value).__module__}.{type(value).__qualname__}"
        parts = tuple(getattr(value, field.name) for field in fields(value) if field.compare)
    else:
        raise TypeError(f"{type(value).__name__} has no text of its own")
    yield f"{name}("
    for part in parts:
        yield from _spell(part)
        yield ","
    yield ")"


@cache
def _package() -> str:
    """Every source file of this package with its size and when it was last changed."""
    return repr(sorted(_files(_ROOT)))


def _files(folder: Path) -> Iterator[tuple[str, int, int, int]]:
    for entry in os.scandir(folder):
        if entry.is_dir():
            yield from _files(Path(entry.path))
        elif entry.name.endswith(".py"):
            status = entry.stat()
            yield entry.path, status.st_size, status.st_mtime_ns, status.st_ctime_ns
