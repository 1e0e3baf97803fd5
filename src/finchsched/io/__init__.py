"""Reading and writing tensor files."""

from finchsched.io.canonical import coordinates_to_csr
from finchsched.io.entries import CoordinateArray
from finchsched.io.frostt import read_frostt, write_frostt
from finchsched.io.kinds import file_kind, has_known_suffix
from finchsched.io.matrix_market import read_matrix_market
from finchsched.io.matrix_market_write import write_matrix_market
from finchsched.io.npz import read_npz
from finchsched.io.samples import DATA_VARIABLE, data_folder, sample_path
from finchsched.io.scipy_npz import write_scipy_npz
from finchsched.io.tensor_npz import write_tensor_npz

__all__ = [
    "DATA_VARIABLE",
    "CoordinateArray",
    "coordinates_to_csr",
    "data_folder",
    "file_kind",
    "has_known_suffix",
    "read_frostt",
    "read_matrix_market",
    "read_npz",
    "sample_path",
    "write_frostt",
    "write_matrix_market",
    "write_scipy_npz",
    "write_tensor_npz",
]
