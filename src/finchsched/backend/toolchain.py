"""What machine code depends on beside its source: versions, processor, settings.  Numba is not imported."""

import hashlib
import importlib.util
import os
import platform
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np

from finchsched.errors import KernelError

__all__ = ["digest", "toolchain"]

_ABI = 1
"""Counts up when the form of a kernel's slots, or of a stored entry, changes."""


def digest(parts: Iterable[str]) -> str:
    """The hexadecimal sha256 of some texts; no two lists of texts have the same."""
    found = hashlib.sha256()
    for part in parts:
        data = part.encode()
        found.update(len(data).to_bytes(8, "little") + data)
    return found.hexdigest()


@cache
def toolchain() -> str:
    """Versions of what makes and runs kernels, the processor, and Numba's settings, as text."""
    import llvmlite
    import llvmlite.binding as llvm

    python = f"{platform.python_implementation()} {platform.python_version()}"
    processor = [llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()]
    settings = sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_"))
    return repr([_ABI, python, np.__version__, llvmlite.__version__, _numba_version(), processor, settings])


def _numba_version() -> str:
    """The file in which Numba states its version: reading it takes no time, importing Numba a third of a second."""
    spec = importlib.util.find_spec("numba")
    if spec is None or spec.origin is None:
        raise KernelError('Numba is not installed\nhint: fs.config(backend="python") runs kernels without it, slowly')
    return (Path(spec.origin).parent / "_version.py").read_text(encoding="utf-8")
