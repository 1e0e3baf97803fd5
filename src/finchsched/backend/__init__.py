"""Kernel IR to source text, and source text to functions: compiled by Numba, or run as Python on NumPy scalars.

Nothing is imported here: a process that finds its kernels on disk needs neither the emitter nor a compiler.
"""
