"""Whether kernels are seen to stay inside their buffers, and are not once a bound is off by one."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from finchsched.ast.kernel import ONE, Apply, For, Load, Memset, Search, SortRange, Store
from finchsched.ast.loop import LoopProgram
from finchsched.ast.node import Node, walk
from finchsched.ast.parse_loop import parse_loop
from finchsched.ast.proof import Proof, Unknown
from finchsched.formats.levels import Dense, SparseByteMap, SparseCOO, SparseList
from finchsched.formats.unfurl import plus
from finchsched.passes.lower.check_bounds import check_bounds
from finchsched.passes.lower.kernel_terms import binary, compare
from finchsched.passes.lower.lower_nest import lower_nest
from finchsched.passes.lower.signature import LoweredNest
from finchsched.rewrite import PostWalk, rewrite
from golden_file import load_pairs

VOCABULARY = {"Dense": Dense, "SparseList": SparseList, "SparseCOO": SparseCOO, "SparseByteMap": SparseByteMap}
CSR = "Dense(SparseList[int32,int32](Element(0.0: float64)))"
DCSR = "SparseList[int32,int32](SparseList[int32,int32](Element(0.0: float64)))"
CSF = f"Dense(SparseList[int32,int32]({CSR[6:]})"
MATRIX, VECTOR = "Dense(Dense(Element(0.0: float64)))", "Dense(Element(0.0: float64))"


def lowered(inputs: dict[str, str], output: str, assembly: str, loops: str, stmt: str) -> LoweredNest:
    lines = [f"input {name}: {format_}" for name, format_ in inputs.items()]
    target = stmt[0]
    lines += [f"output {target}: {output}", f"nest {target} by {assembly}:"]
    lines += [f"{'    ' * (n + 1)}for {index}:" for n, index in enumerate(loops)]
    lines += [f"{'    ' * (len(loops) + 1)}{stmt}", f"return {target}"]
    program = parse_loop("\n".join(lines) + "\n", VOCABULARY)
    assert isinstance(program, LoopProgram)
    (nest,) = program.nests
    return lower_nest(nest, "f", reassociate="strict")


PROVED = {
    "a product with a vector": lowered({"A": CSR, "x": VECTOR}, VECTOR, "dense", "ij", "y[i] += A[i, j] * x[j]"),
    "of DCSR": lowered({"A": DCSR, "x": VECTOR}, VECTOR, "dense", "ij", "y[i] += A[i, j] * x[j]"),
    "of CSF": lowered({"A": CSF, "X": MATRIX}, MATRIX, "dense", "ijk", "Y[i, j] += A[i, j, k] * X[j, k]"),
    "a union that appends": lowered({"A": CSR, "B": CSR}, CSR, "append", "ij", "C[i, j] = A[i, j] + B[i, j]"),
    "an intersection that appends": lowered({"A": CSR, "B": CSR}, CSR, "append", "ij", "C[i, j] = A[i, j] * B[i, j]"),
    "three lists": lowered(
        {"A": CSR, "B": CSR, "D": CSR}, VECTOR, "dense", "ij", "y[i] += A[i, j] * B[i, j] * D[i, j]"
    ),
    "a triangle": lowered({"A": CSR}, VECTOR, "dense", "ij", "y[i] += where(j <= i, A[i, j], 0.0: float64)"),
    "a band": lowered(
        {"A": MATRIX},
        VECTOR,
        "dense",
        "ij",
        "y[i] += where((j <= i + 1: int64) & (j >= i - 1: int64), A[i, j], 0.0: float64)",
    ),
    "shared coordinates": lowered({"A": CSR, "X": MATRIX}, CSR, "shared", "ij", "C[i, j] = A[i, j] * X[i, j]"),
    "dense times dense": lowered({"A": MATRIX, "B": MATRIX}, MATRIX, "dense", "ikj", "C[i, j] += A[i, k] * B[k, j]"),
}


def unproved(nest: LoweredNest) -> list[Proof]:
    return [proof for proof in check_bounds(nest) if not proof.is_proved]


@pytest.mark.parametrize("name", PROVED)
def test_every_access_is_proved(name: str) -> None:
    nest = PROVED[name]
    proofs = check_bounds(nest)
    assert [proof.what for proof in proofs if not proof.is_proved] == []
    buffers = {n.buffer.name for n in walk(nest.kernel.body) if isinstance(n, Load | Store)} - {"status"}
    assert buffers <= {proof.what.split()[-1] for proof in proofs}


def one_further(loop: For) -> For:
    return loop.replace(hi=plus(loop.hi, ONE))


def one_earlier(store: Store) -> Store:
    return store.replace(index=binary("sub", store.index, ONE))


def not_strictly(test: Apply) -> Apply:
    return compare("le", *test.args)


FAULTS: dict[str, tuple[type[Node], Callable[[Node], bool], Callable[..., Node]]] = {
    "a loop runs once more": (For, lambda _: True, one_further),
    "a store is one place earlier": (Store, lambda node: not re.search("status|pos", node.buffer.name), one_earlier),  # type: ignore[attr-defined]
    "a test lets the end through": (Apply, lambda node: node.op.name == "lt", not_strictly),  # type: ignore[attr-defined]
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", PROVED)
def test_a_fault_is_not_proved(name: str, fault: str) -> None:
    """Each place by itself, except tests between coordinates, which choose a branch and guard nothing."""
    nest = PROVED[name]
    kind, applies, change = FAULTS[fault]
    places = [n for n in dict.fromkeys(walk(nest.kernel.body)) if isinstance(n, kind) and applies(n)]
    guards = [n for n in places if not (fault.startswith("a test") and not _tests_position(n))]
    for place in guards:
        assert unproved(replace(nest, kernel=nest.kernel.replace(body=changed(nest, place, change)))), place


def changed(nest: LoweredNest, place: Node, change: Callable[..., Node]) -> Node:
    """The kernel's body with one statement or test changed."""
    found = rewrite(nest.kernel.body, PostWalk(lambda node, _: change(node) if node == place else None))
    assert found != nest.kernel.body
    return found


def _tests_position(test: Node) -> bool:
    """Whether a comparison asks if a position, or room, is left."""
    assert isinstance(test, Apply)
    return "_p" in str(test.args[0]) and "_end" in str(test.args[1]) and "cap" not in str(test)


def test_accesses_of_levels_without_a_model_are_unknown_not_forgotten() -> None:
    rows = "Dense(SparseByteMap[int32](Element(0.0: float64)))"
    nest = lowered({"A": rows}, VECTOR, "dense", "ij", "y[i] += A[i, j]")
    found = [proof for proof in unproved(nest) if "A_" in proof.what]
    assert found
    assert all(isinstance(proof.verdict, Unknown) for proof in found)


def test_golden_kernels_have_an_answer_for_every_buffer() -> None:
    """No statement of Kernel IR is skipped: each buffer that a kernel touches is asked about."""
    for pair in load_pairs("lower/lower_nest.txt"):
        program = parse_loop(pair.before, VOCABULARY)
        assert isinstance(program, LoopProgram)
        (nest,) = program.nests
        made = lower_nest(nest, "f", reassociate="strict")
        nodes = list(walk(made.kernel.body))
        touched = {n.buffer.name for n in nodes if isinstance(n, Load | Store | Search | SortRange | Memset)}
        touched |= {n.scratch.name for n in nodes if isinstance(n, SortRange)}
        touched -= {"status"}
        assert touched <= {proof.what.split()[-1] for proof in check_bounds(made)}, pair.name
