"""What `explain` shows of a compiled plan.  It runs the compiler, not the interpreter of this folder."""

import importlib
import re
from typing import Any

import numpy as np
import pytest

import finchsched as fs
from finchsched.api import planning

A = fs.read(fs.sample_path("west0067.mtx"))


@pytest.fixture(autouse=True)
def compiler(interpreter: None, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = importlib.import_module("finchsched.autoschedule.driver")
    monkeypatch.setattr(planning, "load_compiler", lambda: driver.compile_logic)


def sections(*args: Any, **named: Any) -> dict[str, str]:
    parts = re.split(r"^== (.*) ==$", fs.explain(*args, **named), flags=re.MULTILINE)
    return {title: text.strip() for title, text in zip(parts[1::2], parts[2::2], strict=True)}


def test_sections_of_a_fused_product() -> None:
    a, x, y = fs.lazy(A), fs.lazy(np.ones((67, 4))), fs.lazy(np.ones((67, 4)))
    found = sections(fs.plan(a * (x @ y.T)))
    assert list(found)[:2] == ["Program", "Operands"]
    assert list(found)[-5:] == ["Decisions", "Loops", "Kernel", "Proofs", "Memory"]
    assert "S[f0, f1]" in found["After isolate_aggregates"]
    assert found["After fuse_producers"].count(":=") == 1
    assert "push_fields" in found["Passes that changed nothing"]


def test_a_pass_shows_only_the_lines_it_changed() -> None:
    found = sections("S[i,j] = 2.0 * A[i,j]", A=A)
    assert "slot A" in found["Program"]
    assert all("slot" not in text for title, text in found.items() if title.startswith("After"))
    assert "t0 = A" in found["After normalize_names: new names"]


def test_decisions_name_format_order_and_assembly() -> None:
    decisions = sections("y[i] += A[i,j] * x[j]", A=A, x=np.ones(67))["Decisions"].splitlines()
    assert decisions == [
        "- result r0 (y): dense, float64, loops in the order i, j",
        "- r0 is dense: every element is written",
    ]


def test_the_kernel_is_shown_without_its_head_and_with_its_file() -> None:
    plan = fs.plan("y[i] += A[i,j]", A=A)
    kernel = sections(plan)["Kernel"]
    assert not any(line.startswith("#") for line in kernel.splitlines())
    assert "def make_r0(" in kernel
    assert kernel.splitlines()[-1] == f"kept in {plan.executable.kernel_files[0]}"


def test_memory_of_the_bound_operands() -> None:
    memory = sections("y[i] += A[i,j]", A=A)["Memory"].splitlines()
    assert memory[0] == "- operands take 3.8 kB"
    assert memory[1] == "- r0 takes 536 bytes at most"
    assert memory[-1] == "- all that is held at the same time: at most 4.3 kB"
    assert "more if it turns out larger" in sections("C[i,j] += A[i,k] * A[k,j]", A=A)["Memory"]


def test_proofs_say_what_they_license_and_which_guards_stay() -> None:
    found = sections("y[i] += where(j <= i, A[i,j], 0.0)", A=A)
    assert list(found)[-3:] == ["Kernel", "Proofs", "Memory"]
    assert found["Proofs"].splitlines() == [
        "- no overflow after a mask's bound: f0 < 9223372036854775807, proved by ranges",
        "- no lower clamp of f1_stop: 0 <= f0 + 1, proved by ranges",
        "- no search for t0_p1: 0 <= 0, proved by folding",
        "- not licensed: no upper clamp of f1_stop: f0 + 1 <= n_f1, "
        "refuted: f0 = 0, hi = 1, lo = 0, n_f0 = 1, n_f1 = 0",
        "- not licensed: no search for t0_p1_end: n_f1 <= f1_stop, "
        "refuted: f0 = 0, f1_stop = 1, hi = 1, lo = 0, n_f0 = 1, n_f1 = 2",
        "- make_r0: 6 of 6 accesses are proved to be in bounds",
    ]


def test_accesses_that_are_not_proved_to_be_in_bounds_are_named() -> None:
    found = sections("B[j,i] = A[i,j]", A=A, formats={"B": "csr"})["Proofs"]
    assert (
        found
        == "- make_r0: 12 of 14 accesses are proved to be in bounds; not where it stores to r0_crd1, stores to r0_val"
    )
