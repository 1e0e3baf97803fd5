"""Plans of programs with host operations as text."""

import numpy as np
import scipy.sparse as sp

import finchsched as fs

A = fs.asarray(sp.csr_array(np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0], [4.0, 5.0, 0.0]])))


def test_texts_of_all_steps() -> None:
    with fs.config(backend="python"):
        plan = fs.plan((fs.lazy(A) * 2)[1:, ::-1].sum(axis=0))
    (_, first), (_, host), (_, last) = plan.steps
    assert first is not None and host is None and last is not None
    assert plan.loops == f"{first.loops}\n\n# s2 is s1[1:, ::-1]\n\n{last.loops}"
    assert "def make_r0" in plan.kernel_source


def test_explain_shows_host_steps() -> None:
    L = fs.lazy(A)
    with fs.config(backend="python"):
        text = fs.explain(fs.concat([L[::2, None, 0], L[np.array([1])][:, :1]]) * 2)
    assert "==== Step 1: s1 is t0[::2, None, 0] ====" in text
    assert "is t0[t1, :] ====" in text
    assert "joined along axis 0 ====" in text
    assert "compile s5, where t0 is s4 ====" in text
    assert "== Kernel ==" in text
