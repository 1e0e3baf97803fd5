"""Adapter for the `sparse` package (pydata/sparse)."""

import numpy as np
import sparse
from base import XP, BaseAdapter, Unsupported


class PydataSparse(BaseAdapter):
    name = "sparse"
    version = sparse.__version__
    xp = XP(sparse)

    def asarray(self, dense, fill_value=0):
        dense = np.asarray(dense)
        return sparse.COO.from_numpy(dense, fill_value=dense.dtype.type(fill_value))

    def from_coo(self, coords, data, shape, fill_value=0):
        data = np.asarray(data)
        return sparse.COO(np.asarray(coords), data, shape=shape, fill_value=data.dtype.type(fill_value))

    def from_csr(self, indptr, indices, data, shape):
        import scipy.sparse as sp

        return sparse.COO.from_scipy_sparse(sp.csr_array((data, indices, indptr), shape=shape))

    def to_dense(self, x):
        return x.todense() if hasattr(x, "todense") else np.asarray(x)

    def nnz(self, x):
        return int(x.nnz) if hasattr(x, "nnz") else int(np.asarray(x).size)

    def fill_value(self, x):
        if not hasattr(x, "fill_value"):
            raise Unsupported("fill_value of a dense result")
        return x.fill_value


fs = PydataSparse()
