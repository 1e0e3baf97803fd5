"""Plain NumPy behind the adapter: a check of the cases themselves, not of any sparse library.

Loop programs are run one iteration at a time in the order given and the schedule is ignored, which
is what every legal schedule must agree with. Cases about huge shapes fail here by design.
"""

import itertools
import re

import numpy as np
from base import XP, BaseAdapter, Unsupported


class NumpyDense(BaseAdapter):
    name = "numpy"
    version = np.__version__
    xp = XP(np)

    def asarray(self, dense, fill_value=0):
        return np.array(dense)

    def from_coo(self, coords, data, shape, fill_value=0):
        data = np.asarray(data)
        n = 1
        for d in shape:
            n *= int(d)
        if n > 10**8:
            raise MemoryError("dense adapter: shape too large")
        coords = np.asarray(coords)
        if not shape:
            return np.asarray(data.sum(dtype=data.dtype) if data.size else data.dtype.type(fill_value))
        out = np.full(shape, fill_value, dtype=data.dtype)
        idx = tuple(c.astype(np.int64) for c in coords)
        seen = np.zeros(shape, bool)
        seen[idx] = True
        out[seen] = 0
        np.add.at(out, idx, data)
        return out

    def from_csr(self, indptr, indices, data, shape):
        rows = np.repeat(np.arange(shape[0]), np.diff(indptr))
        return self.from_coo(np.stack([rows, indices]), data, shape)

    def to_dense(self, x):
        return np.asarray(x)

    def nnz(self, x):
        return int(np.count_nonzero(x))

    def fill_value(self, x):
        raise Unsupported("fill_value")

    def run_schedule(self, prog, arrays, outs, steps):
        env = {k: np.array(v[1]) for k, v in arrays.items()}
        env.update({k: np.array(v[1]) for k, v in outs.items()})
        for p in prog:
            stmt = re.sub(r"\[\]", "[()]", p["stmt"])
            code = compile(stmt, "stmt", "exec")
            guard = compile(p["where"], "where", "eval") if p.get("where") else None
            names = [n for n, _ in p["loops"]]
            for pt in itertools.product(*(range(e) for _, e in p["loops"])):
                env.update(zip(names, pt, strict=True))
                if guard is None or eval(guard, {}, env):
                    exec(code, {}, env)
        return {k: env[k] for k in outs}


fs = NumpyDense()
