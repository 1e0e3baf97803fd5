"""Reading and writing tensor files."""

from finchsched.io.canonical import coordinates_to_csr
from finchsched.io.matrix_market import CoordinateMatrix, DenseMatrix, read_matrix_market

__all__ = ["CoordinateMatrix", "DenseMatrix", "coordinates_to_csr", "read_matrix_market"]
