"""finchsched behind the neutral interface of the cases.  Thin: nothing here hides a wrong answer of the library."""

from base import XP, BaseAdapter

import finchsched


class Finchsched(BaseAdapter):
    name = "finchsched"
    version = finchsched.__version__
    xp = XP(finchsched)

    def asarray(self, dense, fill_value=0):
        """A tensor that stores what differs from the fill, sparsely unless it has no axes."""
        tensor = finchsched.asarray(dense, fill_value=fill_value)
        return tensor.asformat("csr" if tensor.ndim == 2 else "csf" if tensor.ndim else "dense")

    def dense(self, dense):
        return finchsched.asarray(dense)

    def from_coo(self, coords, data, shape, fill_value=0):
        return finchsched.from_coo(coords, data, shape, fill_value=fill_value)

    def from_csr(self, indptr, indices, data, shape):
        return finchsched.from_csr(indptr, indices, data, shape)

    def to_dense(self, x):
        return x.to_numpy() if isinstance(x, finchsched.Tensor) else x

    def nnz(self, x):
        return x.nnz

    def fill_value(self, x):
        return x.fill_value

    def lazy(self, x):
        return finchsched.lazy(x)

    def compute(self, x):
        return finchsched.compute(x)

    def read_mtx(self, path):
        return finchsched.read(path)

    def write_mtx(self, path, x):
        finchsched.write(path, x)

    def read_tns(self, path, shape=None):
        return finchsched.read(path, shape=shape)


fs = Finchsched()
