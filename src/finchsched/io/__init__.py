"""Reading and writing tensor files."""

from finchsched.io.canonical import coordinates_to_csr
from finchsched.io.matrix_market import CoordinateMatrix, DenseMatrix, read_matrix_market
from finchsched.io.samples import DATA_VARIABLE, data_folder, sample_path

__all__ = [
    "DATA_VARIABLE",
    "CoordinateMatrix",
    "DenseMatrix",
    "coordinates_to_csr",
    "data_folder",
    "read_matrix_market",
    "sample_path",
]
