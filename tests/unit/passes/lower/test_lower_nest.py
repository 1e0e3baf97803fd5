"""Golden pairs of `lower_nest`: Loop IR to kernel text; the loops and the kernel are run in their interpreters."""

from collections.abc import Callable

import numpy as np
import pytest

from everywhere import extents_of, interpret_nest, run_nest
from finchsched.ast.loop import Access, Index, LoopProgram, Nest, Tensor
from finchsched.ast.node import walk
from finchsched.ast.parse_kernel import parse_kernel
from finchsched.ast.parse_loop import parse_loop
from finchsched.ast.print_kernel import print_kernel
from finchsched.ast.scalar import Literal
from finchsched.ast.validate_kernel import validate_kernel
from finchsched.ast.validate_loop import validate_loop
from finchsched.errors import LoweringError
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.formats.levels import Dense, SparseByteMap, SparseCOO, SparseList
from finchsched.formats.numpy_convert import from_dense, to_dense
from finchsched.passes.lower.lower_nest import lower_nest
from golden_file import GoldenPair, load_pairs

PAIRS = load_pairs("lower/lower_nest.txt")
VOCABULARY = {"Dense": Dense, "SparseList": SparseList, "SparseCOO": SparseCOO, "SparseByteMap": SparseByteMap}


def parsed(text: str) -> LoopProgram:
    program = parse_loop(text, VOCABULARY)
    assert isinstance(program, LoopProgram)
    validate_loop(program)
    return program


def random_inputs(program: LoopProgram, extents: dict[str, int], seed: int) -> dict[str, FiberTensor]:
    """A tensor for each input; every second seed stores NaN and infinities."""
    rng = np.random.default_rng(seed)
    reads = {n.tensor: n for n in walk(program) if isinstance(n, Access)}
    made = {}
    for tensor in program.inputs:
        shape = tuple(extents[i.name] for i in reads[tensor].index if isinstance(i, Index))
        made[tensor.name] = random_tensor(tensor, shape, rng, odd=seed % 2 == 1)
    return made


def random_tensor(tensor: Tensor, shape: tuple[int, ...], rng: np.random.Generator, *, odd: bool) -> FiberTensor:
    fill = tensor.type.fill
    assert isinstance(fill, Literal)
    values = rng.integers(-2, 3, shape).astype(tensor.type.dtype.numpy)
    if odd:
        values = np.where(rng.random(shape) < 0.2, rng.choice([np.nan, np.inf, -np.inf], shape), values)
    mask = rng.random(shape) < 0.5
    return from_dense(values, tensor.type.levels, tensor.type.perm, fill=fill.value, mask=mask)


def the_nest(program: LoopProgram) -> Nest:
    (nest,) = program.nests
    return nest


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_text(pair: GoldenPair, golden: Callable[[GoldenPair, str], None]) -> None:
    nest = the_nest(parsed(pair.before))
    kernel = lower_nest(nest, f"make_{nest.target.name}", reassociate="algebra").kernel
    golden(pair, print_kernel(kernel))
    validate_kernel(kernel)
    assert parse_kernel(print_kernel(kernel)) == kernel
    assert lower_nest(nest, f"make_{nest.target.name}", reassociate="algebra").kernel == kernel


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_meaning(pair: GoldenPair) -> None:
    program = parsed(pair.before)
    nest = the_nest(program)
    for seed in range(8):
        sizes = ((4, 3, 5), (2, 6, 3), (1, 1, 1), (5, 0, 2), (0, 3, 2), (3, 3, 3), (6, 5, 4), (2, 2, 7))[seed]
        extents = dict(zip("ijk", sizes, strict=True))
        held = random_inputs(program, extents, seed)
        want = interpret_nest(nest, held, {}, extents_of(nest, held))
        got = run_nest(nest, held, {})
        np.testing.assert_allclose(to_dense(got), to_dense(want), rtol=1e-12, err_msg=f"extents {extents}")
        assert got.fill == want.fill


DISCORDANT = """
input A: Dense(SparseList[int32,int32](Element(0.0: float64)))
output y: Dense(Element(0.0: float64))
nest y by dense:
    for j:
        for i:
            y[i] += A[i, j]
return y
"""


def test_refuses_a_nest_that_does_not_follow_the_storage() -> None:
    with pytest.raises(LoweringError, match=r"loop j reaches level 1 of A before the levels above it"):
        lower_nest(the_nest(parsed(DISCORDANT)), "make_y", reassociate="strict")


def test_only_licensed_nests_may_be_reassociated() -> None:
    nests = {pair.name: the_nest(parsed(pair.before)) for pair in PAIRS}
    product = next(nest for name, nest in nests.items() if name.startswith("SpMV:"))
    total = next(nest for name, nest in nests.items() if name == "row sums")
    smallest = next(nest for name, nest in nests.items() if "min-plus" in name)
    licences = {
        policy: [lower_nest(nest, "f", reassociate=policy).kernel.licensed for nest in (product, total, smallest)]
        for policy in ("strict", "sum", "algebra")
    }
    assert licences == {
        "strict": [False, False, False],
        "sum": [False, True, False],
        "algebra": [True, True, False],
    }
