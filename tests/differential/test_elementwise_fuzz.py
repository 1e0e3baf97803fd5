"""Random 8 x 8 matrices: `A * B`, `A + B` and sums, by the tool that also runs a million of them."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import finchsched as fs

TOOL = Path(__file__).resolve().parents[2] / "tools" / "fuzz_elementwise.py"


@pytest.fixture(scope="module")
def fuzz() -> ModuleType:
    """The tool as a module."""
    spec = importlib.util.spec_from_file_location("fuzz_elementwise", TOOL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_two_thousand_cases(fuzz: ModuleType) -> None:
    problems: list[str] = []
    assert fuzz.run(2000, seed=1, report=problems.append) == (2000, 0), problems
    assert 2000 // fuzz.BATCH >= 4


def test_plain_kernels_give_the_same(fuzz: ModuleType) -> None:
    problems: list[str] = []
    with fs.config(backend="python"):
        assert fuzz.run(200, seed=2, report=problems.append) == (200, 0), problems


def test_the_tool_counts_and_says_so() -> None:
    done = subprocess.run([sys.executable, TOOL, "--cases", "5000"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "5000 passed, 0 failed\n"), done.stderr


def test_cases_are_not_trivial(fuzz: ModuleType) -> None:
    pairs = list(fuzz.batch(0, 0))
    assert len(pairs) == fuzz.BATCH
    counts = {int(a.stored.sum()) for a, _ in pairs}
    assert 0 in counts and 64 in counts and len(counts) > 30
    assert any((a.stored & (a.values == 0)).any() for a, _ in pairs)
    assert any((a.values != a.values).any() for a, _ in pairs)


@pytest.mark.parametrize(
    "name, wrong",
    {
        "A * B": lambda a, b: a + b,
        "A + B": lambda a, b: a + 2 * b,
        "A.sum()": lambda a, b: b.sum(),
    }.items(),
)
def test_a_wrong_operation_is_found(fuzz: ModuleType, name: str, wrong: object) -> None:
    problems: list[str] = []
    passed, failed = fuzz.run(100, operations={**fuzz.OPERATIONS, name: wrong}, report=problems.append)
    assert passed + failed == 100 and failed > 50
    assert problems[0].startswith("seed 0, batch 0") and f"{name}: found" in problems[0]


def test_an_error_is_a_failure(fuzz: ModuleType) -> None:
    problems: list[str] = []
    assert fuzz.run(3, operations={"A @ x": lambda a, b: a @ [1.0]}, report=problems.append) == (0, 3)
    assert "ShapeMismatchError" in problems[0]
