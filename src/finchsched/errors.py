"""One tree of errors; each class also derives from the builtin that a user would catch.

A message says what was found and what was expected in the user's own names, and ends with a `hint:` line where one
helps.
"""

import builtins

__all__ = [
    "CacheFolderError",
    "DensifyError",
    "DtypeError",
    "EinsumSyntaxError",
    "FileFormatError",
    "FinchschedError",
    "FormatError",
    "FusionError",
    "IRSyntaxError",
    "IndexError",
    "IndexNameError",
    "KernelError",
    "LazyValueError",
    "LoweringError",
    "NeedsWideIndices",
    "RewriteError",
    "ShapeMismatchError",
    "ValidationError",
]


class FinchschedError(Exception):
    """The root of every error that finchsched raises on purpose."""


class EinsumSyntaxError(FinchschedError, ValueError):
    """An einsum text that cannot be read."""


class IndexNameError(FinchschedError, ValueError):
    """An index that is unknown, unbound, or used a wrong number of times."""


class IndexError(FinchschedError, builtins.IndexError):
    """A subscript that the array does not have: out of bounds, too many axes, a mask of another shape.

    It has the builtin's name, as what is raised here reads like NumPy's.
    """


class ShapeMismatchError(FinchschedError, ValueError):
    """Two operands disagree about the extent of an index."""


class DtypeError(FinchschedError, TypeError):
    """An element type that is not supported, or an operation that it does not have."""


class FormatError(FinchschedError, ValueError):
    """A storage format, or buffers that break what their format promises."""


class DensifyError(FinchschedError, MemoryError):
    """A dense array would have to be made, and it is larger than the limit in the settings."""


class FileFormatError(FinchschedError, ValueError):
    """A file that is malformed, truncated, or says something about itself that is not true."""


class IRSyntaxError(FinchschedError, ValueError):
    """Printed IR that cannot be parsed; the message has line, column and a caret."""


class ValidationError(FinchschedError, ValueError):
    """A program that breaks a rule of its IR."""


class RewriteError(FinchschedError, RuntimeError):
    """A rewrite that did not finish within its budget."""


class LazyValueError(FinchschedError, TypeError):
    """A value was asked of a lazy array, which has none before it is computed."""


class FusionError(LazyValueError):
    """A function that cannot be compiled as one program: its control flow depends on the values of arrays."""


class LoweringError(FinchschedError, RuntimeError):
    """A program for which no kernel can be made."""


class KernelError(FinchschedError, RuntimeError):
    """A kernel reported that it could not finish."""


class NeedsWideIndices(KernelError):
    """The result has more entries than 32-bit positions can count; the plan must be made again with wide indices.

    Users never see it: whoever runs a plan makes it again.
    """


class CacheFolderError(FinchschedError, OSError):
    """The folder of the kernel cache cannot be trusted or written."""
