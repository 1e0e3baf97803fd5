"""The estimate against what the runtime really allocates."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from finchsched.api.functions import asarray, plan
from finchsched.backend.estimate_memory import estimate_memory
from finchsched.backend.output import Run

A = sp.random_array((40, 30), density=0.1, random_state=np.random.default_rng(0), format="csr")
B = sp.random_array((40, 30), density=0.2, random_state=np.random.default_rng(1), format="csr")
X, Y = np.ones((40, 5)), np.ones((30, 5))

ONE_PHASE: dict[str, dict[str, Any]] = {
    "y[i] += A[i,j]": {"A": A},
    "S[i,j] += A[i,j] * X[i,k] * Y[j,k]": {"A": A, "X": X, "Y": Y},
    "C[i,j] = A[i,j] + B[i,j]": {"A": A, "B": B},
    "C[i,j] = A[i,j] * B[i,j]": {"A": A, "B": B},
    "C[i,k] += A[i,j] * B[k,j]": {"A": A, "B": B.tocsc()},
}
SEVERAL = {
    "C[i,j] = A[i,j] + B[i,j]": {"A": A.tocsc(), "B": B},
    "C[i,k] += A[i,j] * B[k,j]": {"A": A, "B": B},
}
SLACK = 16  # a counting sort has an offset or two more than its result


def allocations(made: Any) -> list[tuple[int, int]]:
    """(estimated, allocated) bytes of each phase's target."""
    compiled = made.executable
    held = {new: made.operands[old] for new, old in compiled.names if old in made.operands}
    rooms = estimate_memory(compiled.executable, held).rooms
    pairs = []
    for phase, room in zip(compiled.executable.phases, rooms, strict=True):
        sizes = {name: held[t].shape[axis] if t else axis for name, (t, axis) in phase.extents.items()}
        output = phase.output.allocate(Run(held, {}, sizes))
        shared = phase.lowered.nest.assembly == "shared"
        index = 0 if shared else sum(b.nbytes for b in (*output.pos, *output.crd) if b is not None)
        pairs.append((room.nbytes, output.val.nbytes + index))
        phase.run(held, {})
    return pairs


def planned(text: str, operands: dict[str, Any]) -> Any:
    return plan(text, **{name: asarray(value) for name, value in operands.items()})


@pytest.mark.parametrize("text", ONE_PHASE)
def test_one_phase_is_estimated_exactly(text: str) -> None:
    [(estimated, allocated)] = allocations(planned(text, ONE_PHASE[text]))
    assert estimated == allocated


@pytest.mark.parametrize("text", SEVERAL)
def test_later_phases_are_estimated_from_above(text: str) -> None:
    pairs = allocations(planned(text, SEVERAL[text]))
    assert len(pairs) > 1
    for estimated, allocated in pairs:
        assert allocated <= estimated + SLACK


def test_the_peak_counts_operands_once_and_scratch() -> None:
    made = planned("C[i,j] += A[i,k] * A[k,j]", {"A": A[:30]})
    compiled = made.executable
    found = estimate_memory(compiled.executable, {"t0": made.operands["A"]})
    [room] = found.rooms
    assert found.operands == made.operands["A"].nbytes
    assert room.grows and room.scratch == 30 * (8 + 1 + 4 + 4)
    assert found.peak == found.operands + room.nbytes + room.scratch
