"""Reading and writing tensor files."""

import importlib
from typing import TYPE_CHECKING, Any

from finchsched.io.canonical import coordinates_to_csr
from finchsched.io.samples import DATA_VARIABLE, data_folder, sample_path

if TYPE_CHECKING:
    from finchsched.io.matrix_market import CoordinateMatrix, DenseMatrix, read_matrix_market

__all__ = [
    "DATA_VARIABLE",
    "CoordinateMatrix",
    "DenseMatrix",
    "coordinates_to_csr",
    "data_folder",
    "read_matrix_market",
    "sample_path",
]

_READERS = {name: "finchsched.io.matrix_market" for name in ("CoordinateMatrix", "DenseMatrix", "read_matrix_market")}


def __getattr__(name: str) -> Any:
    """Readers are imported when they are first asked for: most programs read no file."""
    if name in _READERS:
        return getattr(importlib.import_module(_READERS[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
