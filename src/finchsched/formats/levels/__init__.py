"""Storage levels, one file each."""

from finchsched.formats.levels.dense import Dense
from finchsched.formats.levels.sparse_byte_map import SparseByteMap
from finchsched.formats.levels.sparse_coo import SparseCOO
from finchsched.formats.levels.sparse_list import SparseList

__all__ = ["Dense", "SparseByteMap", "SparseCOO", "SparseList"]
