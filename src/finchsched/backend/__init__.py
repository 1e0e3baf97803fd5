"""Kernel IR to source text, and source text to functions: compiled by Numba, or run as Python on NumPy scalars."""

from finchsched.backend.emit import KernelSource, emit
from finchsched.backend.load import LoadedKernel, load_kernel

__all__ = ["KernelSource", "LoadedKernel", "emit", "load_kernel"]
