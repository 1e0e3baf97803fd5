"""Sentences about a compiled program for `explain`: how each result is assembled, and what memory a run takes."""

from collections.abc import Iterator, Mapping

from finchsched.backend.compiled_phase import CompiledPhase
from finchsched.backend.estimate_memory import estimate_memory
from finchsched.backend.executable import Executable
from finchsched.formats.fiber_tensor import FiberTensor
from finchsched.passes.lower.signature import Bound, Entries, Extent, Least, Product, Total

__all__ = ["bound_text", "memory_remarks", "remarks"]


def remarks(executable: Executable) -> tuple[str, ...]:
    """A sentence per phase."""
    return tuple(_phase(phase) for phase in executable.phases)


def memory_remarks(executable: Executable, tensors: Mapping[str, FiberTensor]) -> tuple[str, ...]:
    """What a run on these operands takes, a sentence for each phase and one for all that is held at once."""
    found = estimate_memory(executable, dict(tensors))
    results = set(executable.results)
    sentences = [f"operands take {_bytes(found.operands)}"]
    for room in found.rooms:
        role = "" if room.target in results else ", freed after its last use"
        first = "at first, and more if it turns out larger" if room.grows else "at most"
        scratch = f", and {_bytes(room.scratch)} of scratch while it is made" if room.scratch else ""
        sentences.append(f"{room.target} takes {_bytes(room.nbytes)} {first}{role}{scratch}")
    bound = "about" if any(room.grows for room in found.rooms) else "at most"
    sentences.append(f"all that is held at the same time: {bound} {_bytes(found.peak)}")
    return tuple(sentences)


def _bytes(count: int) -> str:
    """A number of bytes with a unit, as `3.4 MB`."""
    amount, unit = float(count), "bytes"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"


def _phase(phase: CompiledPhase) -> str:
    lowered = phase.lowered
    name = phase.target.name
    match lowered.nest.assembly:
        case "dense":
            start = "every element is written" if lowered.covered else "filled first, then updated in place"
            return f"{name} is dense: {start}"
        case "shared":
            return f"{name} has the stored coordinates of {phase.source_name} and shares its index arrays: values only"
        case "scatter":
            return f"{name} is {phase.source_name} in another storage order: a counting sort in two passes"
        case "sort":
            if phase.facts.reduction:
                return f"{name} is made of its terms in whatever order they come: listed, sorted, then reduced"
            return f"{name} is {phase.source_name} in another storage order: listed, then sorted"
        case _:
            rooms = [bound_text(room) for room in lowered.rooms if room is not None]
            how = "grown while it runs, up to" if lowered.guessed else "allocated with room for"
            row = ", through a workspace of one dense row" if phase.workspaces else ""
            return f"{name} is appended{row}: {how} {', '.join(rooms)} coordinates, then trimmed"


def bound_text(bound: Bound) -> str:
    """A bound as a formula."""
    match bound:
        case Extent(index):
            return f"size({index})"
        case Entries(tensor, level):
            return f"entries({tensor}, {level})"
        case Total(parts):
            return "(" + " + ".join(bound_text(p) for p in parts) + ")"
        case Least(parts):
            return "min(" + ", ".join(dict.fromkeys(bound_text(p) for p in _flat(parts))) + ")"
        case Product(parts):
            return " * ".join(bound_text(p) for p in parts) or "1"


def _flat(parts: tuple[Bound, ...]) -> Iterator[Bound]:
    """The parts of a Least, those of a Least inside it included."""
    for part in parts:
        if isinstance(part, Least):
            yield from _flat(part.parts)
        else:
            yield part
