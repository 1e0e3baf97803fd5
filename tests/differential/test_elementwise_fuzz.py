"""Random small arrays through the whole eager interface, by the tool that also runs a million of them."""

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import finchsched as fs
import fuzz_elementwise as fuzz
from array_fuzz.classic import CLASSIC
from array_fuzz.forms import FORMS, Spec, build, read
from array_fuzz.kinds import DTYPES, Draw, Kind
from array_fuzz.model import Batch
from array_fuzz.values import draw
from finchsched.api.planning import plan_cache
from finchsched.formats.checks import check_tensor
from finchsched.formats.numpy_convert import to_dense

TOOL = Path(fuzz.__file__)


@pytest.fixture(autouse=True, scope="module")
def _many_plans() -> Any:
    """There are more plans in this file than the cache holds; the next file starts with an empty one."""
    yield
    plan_cache.clear()


def uncompiled(cases: int, plan: fuzz.Plan, **options: Any) -> tuple[tuple[int, int], list[str]]:
    """(passed, failed) and what was reported."""
    problems: list[str] = []
    with fs.config(backend="python"):
        return fuzz.run(cases, plan, problems.append, **options), problems


@pytest.mark.parametrize("seed", [1, 2])
def test_uncompiled_kinds(seed: int) -> None:
    counts, problems = uncompiled(1500, fuzz.Plan(seed, kinds=0, size=5))
    assert counts == (1500, 0), problems


def test_compiled_kernels_give_the_same() -> None:
    problems: list[str] = []
    assert fuzz.run(1000, fuzz.Plan(0, kinds=20, size=50), problems.append) == (1000, 0), problems


def test_the_tool_counts_and_says_so() -> None:
    arguments = [sys.executable, TOOL, "--cases", "205", "--backend", "python", "--seed", "3"]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "205 passed, 0 failed\n"), done.stderr


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_kinds_cover_types_formats_and_operations() -> None:
    kinds = [fuzz.drawn_kind(0, number) for number in range(1500)]
    specs = [spec for kind in kinds for spec in kind.operands]
    assert {spec.dtype for spec in specs} == set(DTYPES)
    assert {spec.form for spec in specs} >= {form for forms in FORMS.values() for form in forms}
    assert {spec.shape for spec in specs} >= {(8, 8), (1, 8), (8, 1), (0, 3), (2, 3, 4), (8,), ()}
    assert {str(spec.fill) for spec in specs} >= set("0 1 -1 2.5 nan inf -inf -0.0 True".split())
    assert {spec.widths for spec in specs} == {(a, b) for a in ("int32", "int64") for b in ("int32", "int64")}
    families = Counter(kind.text.split("(")[0] for kind in kinds)
    assert len(families) > 120
    assert families.keys() >= {"A @ B", "fs.einsum", "fs.where", "A.astype", "fs.concat", "fs.argmin", "A.T"}


def test_kinds_and_cases_depend_on_seed_and_batch_alone() -> None:
    plan, again = fuzz.Plan(5, kinds=0, size=4), fuzz.Plan(5, kinds=0, size=4)
    assert [str(plan.kind(n)) for n in range(40)] == [str(again.kind(n)) for n in range(40)]
    assert [str(plan.kind(n)) for n in range(24, 40)] != [str(fuzz.Plan(6, kinds=0).kind(n)) for n in range(24, 40)]
    assert str(fuzz.Plan(5, kinds=30).kind(65)) == str(plan.kind(5)) == str(CLASSIC[5])


@pytest.mark.parametrize("rank", FORMS)
def test_arrays_are_built_as_their_format_says(rank: int) -> None:
    rng = np.random.default_rng(rank)
    for form in FORMS[rank]:
        for shape in ((2, 3, 4)[:rank], (0, 3, 2)[:rank], (3, 0, 2)[:rank]):
            spec = Spec("float64", shape, form, 2.5, ("int64", "int32"))
            values, stored = draw(rng, spec, 5)
            tensors, _, mask = build(spec, values, stored)
            for n, tensor in enumerate(tensors):
                found, kept = read(tensor.data)
                np.testing.assert_array_equal(found, values[n])
                np.testing.assert_array_equal(kept, mask[n])
                check_tensor(tensor.data)
                assert (mask[n] | ~stored[n]).all()
            np.testing.assert_array_equal(to_dense(tensors[0].data), values[0])


def test_cases_are_not_trivial() -> None:
    spec = Spec("float64", (8, 8), "csr")
    values, stored = draw(np.random.default_rng(0), spec, 500)
    counts = set(stored.sum(axis=(1, 2)).tolist())
    assert 0 in counts and 64 in counts and len(counts) > 30
    assert (stored & (values == 0)).any()
    assert np.isnan(values).any() and np.isinf(values).any()


WRONG: dict[str, Callable[..., Any]] = {
    "A * B": lambda a, b: a + b,
    "A + B": lambda a, b: a + 2 * b,
    "A.sum()": lambda a: a.sum() + 1,
}


@pytest.mark.parametrize("kind", CLASSIC[:3], ids=lambda kind: kind.text)
def test_a_wrong_operation_is_found(kind: Kind) -> None:
    wrong = replace(kind, run=WRONG[kind.text])
    (passed, failed), problems = uncompiled(100, fuzz.Plan(size=50), kind_of=lambda number: wrong)
    assert passed + failed == 100 and failed > 50
    assert problems[0].startswith(f"{kind.text} with A = float64[8, 8] csr")
    assert "--backend python --seed 0 --kinds 360 --size 50 --batch 0, case" in problems[0]


CSR = (Spec("float64", (8, 8), "csr"),)


@pytest.mark.parametrize(
    ("run", "found"),
    [
        (lambda x: x.astype("float32"), "found float32 of shape (8, 8), expected float64"),
        (lambda x: x[:, :7], "found float64 of shape (8, 7), expected float64 of shape (8, 8)"),
        (lambda x: x.asformat("dense").asformat("csr"), "of a csr result, expected otherwise"),
        (lambda x: fs.asarray(x, fill_value=1.0), "found np.float64(1.0) at"),
        (lambda x: x @ [1.0], "ShapeMismatchError: "),
        (lambda x: 1 / 0, "ZeroDivisionError: "),
    ],
)
def test_every_kind_of_fault_is_found(run: Callable[..., Any], found: str) -> None:
    kind = Kind("itself", CSR, run, lambda x: x)
    (_, failed), problems = uncompiled(50, fuzz.Plan(size=50), kind_of=lambda number: kind)
    assert failed > 10 and found in problems[0]


def test_a_wrong_fill_is_found_where_no_element_has_it() -> None:
    dense = Kind("itself", CSR, lambda x: x, lambda x: Batch(x.values, x.stored, np.float64(1)))
    (_, failed), problems = uncompiled(10, fuzz.Plan(size=10), kind_of=lambda number: dense)
    assert failed == 10 and "found the fill 0.0, expected np.float64(1.0)" in problems[0]


def test_what_must_be_refused_is() -> None:
    def refuse(x: Batch) -> Batch:
        raise TypeError("no such operation")

    accepted = Kind("itself", CSR, lambda x: x, refuse)
    (_, failed), problems = uncompiled(10, fuzz.Plan(size=10), kind_of=lambda number: accepted)
    assert failed == 10 and "not refused, expected TypeError: no such operation" in problems[0]
    refused = Kind("itself", CSR, lambda x: x << 1, refuse)
    assert uncompiled(10, fuzz.Plan(size=10), kind_of=lambda number: refused)[0] == (10, 0)


def test_one_batch_can_be_run_again(capsys: pytest.CaptureFixture[str]) -> None:
    options = "--backend python --seed 4 --kinds 0 --size 6 --batch 31".split()
    assert fuzz.main(options) == 0
    assert capsys.readouterr().out == "6 passed, 0 failed\n"
    assert str(Draw(4, 1, 31).spec()) == str(Draw(4, 1, 31).spec())
