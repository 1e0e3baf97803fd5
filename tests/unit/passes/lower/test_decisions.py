"""What lowering asks the prover: claims as facts, and what proofs do to a kernel."""

import os
import subprocess
import sys

import numpy as np
import pytest

from everywhere import run_nest
from finchsched.algebra.dtypes import FLOAT64, INT64, UINT64
from finchsched.ast.kernel import ZERO, Cast, Const, KernelExpr, Var
from finchsched.ast.loop import Nest, Tensor
from finchsched.ast.node import walk
from finchsched.ast.parse_loop import parse_loop
from finchsched.ast.print_proof import print_fact
from finchsched.ast.proof import Refuted, Unknown
from finchsched.formats.levels import Dense, SparseList
from finchsched.formats.numpy_convert import from_dense
from finchsched.interpret.kernel import OpCount
from finchsched.passes.lower.decisions import Decisions
from finchsched.passes.lower.kernel_terms import binary, cast

I, J, N, M = (Var(name, UINT64) for name in ("i", "j", "n_i", "n_j"))
LARGEST = Const(2**63 - 1, INT64)


def signed(expr: KernelExpr) -> KernelExpr:
    return cast(expr, INT64)


def plus(expr: KernelExpr, number: int) -> KernelExpr:
    return binary("add", expr, Const(number, INT64))


# ---------------------------------------------------------------------------------------------- claims


def test_what_is_given_holds_inside_only() -> None:
    decisions = Decisions()
    with decisions.given(("lt", I, N)):
        assert decisions.proves("inside", ("le", plus(signed(I), 1), signed(N)))
    assert not decisions.proves("outside", ("le", plus(signed(I), 1), signed(N)))


def test_what_is_assumed_is_forgotten_with_what_was_given() -> None:
    decisions = Decisions()
    with decisions.given():
        decisions.assume(("lt", I, N))
        assert decisions.proves("inside", ("le", I, N))
    assert not decisions.proves("outside", ("le", I, N))


def test_coordinates_are_not_negative_but_numbers_may_be() -> None:
    decisions = Decisions()
    assert decisions.proves("a coordinate", ("le", ZERO, I))
    assert not decisions.proves("a number", ("le", Const(0, INT64), Var("a", INT64)))


def test_arithmetic_that_may_wrap_around_proves_nothing() -> None:
    decisions = Decisions()
    with decisions.given(("lt", I, N)):
        assert not decisions.proves("the next but one", ("lt", signed(I), plus(signed(I), 2)))
        assert decisions.proves("the next", ("lt", signed(I), plus(signed(I), 1)))
    verdict = decisions.proofs[0].verdict
    assert verdict == Unknown("an integer may exceed 64 bits")
    assert "i + 2 < 9223372036854775808" in print_fact(decisions.proofs[0].fact)


def test_an_unsigned_difference_below_zero_proves_nothing() -> None:
    decisions = Decisions()
    difference = binary("sub", I, J)
    assert not decisions.proves("wraps around", ("le", difference, I))
    with decisions.given(("le", J, I)):
        assert decisions.proves("does not", ("le", difference, I))


def test_given_arithmetic_counts_only_where_it_is_exact() -> None:
    decisions = Decisions()
    far = plus(signed(I), 5)
    with decisions.given(("lt", far, signed(N))):
        assert not decisions.proves("may have wrapped around", ("lt", I, N))
    with decisions.given(("lt", far, signed(N)), ("lt", I, Const(100, UINT64))):
        assert decisions.proves("has not", ("lt", I, N))


def test_what_is_no_integer_arithmetic_is_unknown() -> None:
    decisions = Decisions()
    value = Cast(Var("x", FLOAT64), INT64)
    assert not decisions.proves("a value", ("le", value, value))
    assert isinstance(decisions.proofs[0].verdict, Unknown)


def test_a_failed_question_that_leaves_no_guard_is_not_remembered() -> None:
    decisions = Decisions()
    assert not decisions.proves("no code", ("le", N, ZERO), guards=False)
    assert decisions.proofs == ()
    assert not decisions.proves("no clamp", ("le", I, N))
    assert isinstance(decisions.proofs[0].verdict, Refuted)


def test_a_question_is_remembered_once() -> None:
    decisions = Decisions()
    for _ in range(3):
        decisions.proves("no clamp", ("le", I, N))
    assert len(decisions.proofs) == 1


def test_constants_at_the_ends_of_int64() -> None:
    decisions = Decisions()
    assert decisions.proves("below", ("lt", Const(-(2**63), INT64), LARGEST))
    assert not decisions.proves("beyond", ("lt", LARGEST, binary("add", LARGEST, Const(1, INT64))))
    assert decisions.proves("an extent fits", ("le", signed(N), LARGEST))


# ---------------------------------------------------------------------------------------------- kernels

TRIANGLE = """
input A: {format}
output y: Dense(Element(0.0: float64))
nest y by dense:
    for i:
        for j:
            y[i] += where(j {comparison} i, A[i, j], 0.0: float64)
return y
"""


def triangle(format_: str, comparison: str) -> Nest:
    program = parse_loop(
        TRIANGLE.format(format=format_, comparison=comparison), {"Dense": Dense, "SparseList": SparseList}
    )
    (nest,) = program.nests  # type: ignore[union-attr]
    return nest


def iterations(nest: Nest, n: int) -> int:
    """Loop bodies entered on a full matrix of n rows and columns."""
    (matrix,) = (node for node in dict.fromkeys(walk(nest)) if isinstance(node, Tensor) and node.name == "A")
    held = {"A": from_dense(np.ones((n, n)), matrix.type.levels, matrix.type.perm, fill=0.0)}
    count = OpCount()
    run_nest(nest, held, {}, count=count)
    return count.iterations


@pytest.mark.parametrize(
    "format_", ["Dense(Dense(Element(0.0: float64)))", "Dense(SparseList[int32,int32](Element(0.0: float64)))"]
)
@pytest.mark.parametrize(("comparison", "visited"), [("<", 0), ("<=", 1), (">", 0), (">=", 1)])
def test_a_triangle_never_visits_the_other_half(format_: str, comparison: str, visited: int) -> None:
    nest = triangle(format_, comparison)
    for n in (5, 10, 20):
        half = n * (n - 1) // 2 + visited * n
        assert iterations(nest, n) == half + n  # and one for each row


# ---------------------------------------------------------------------------------------------- Z3

WITHOUT_Z3 = """
import sys
import numpy as np
import finchsched as fs
from finchsched.bench.data import uniform
from finchsched.bench.kernels import CASES, SPECIAL, Inputs
from finchsched import api

inputs = Inputs(uniform(50, 300))
with fs.config(backend="python"):
    for case in CASES:
        if case.name not in SPECIAL:
            tensors = {name: api.asarray(array) for name, array in case.inputs(inputs).items()}
            fs.explain(api.plan(case.program, **tensors, **({"formats": dict(case.formats)} if case.formats else {})))
    A = fs.asarray(np.eye(4))
    for mask in ("j <= i", "j == i + 1", "(j <= i + 2) & (i <= j + 2)"):
        fs.explain(f"y[i] += where({mask}, A[i,j], 0.0)", A=A)
print("z3" in sys.modules)
"""


def test_lowering_the_kernel_list_and_masks_never_imports_z3(tmp_path: object) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_Z3],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "FINCHSCHED_CACHE_DIR": str(tmp_path)},
    )
    assert done.stdout.split() == ["False"]
