"""What the driver says of the kernels that it makes."""

import numpy as np
import scipy.sparse as sp

import finchsched.api as fs
from finchsched.settings import config

EYE = sp.csr_array(np.eye(3))


def head_of(plan: fs.Plan) -> list[str]:
    return [line for line in plan.kernel_source.splitlines() if line.startswith("#")]


def test_kernel_heads_tell_operands_results_and_workspaces_apart() -> None:
    with config(backend="python"):
        product = head_of(fs.plan("C[i,j] += A[i,k] * B[k,j]", A=EYE, B=EYE.copy()))
        dense = head_of(fs.plan("y[i] += A[i,j] * x[j]", A=EYE, x=np.ones(3)))
    kinds = [line.split()[1] for line in product if ":" in line and "(" in line]
    assert kinds == ["input", "input", "output", "work"]
    assert not any("work" in line for line in dense)
    assert product[0] == "# r0 = C, t0 = A, t1 = B"
