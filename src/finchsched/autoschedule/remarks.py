"""Sentences about a compiled program for `explain`: how each result is assembled, and what memory it takes."""

from finchsched.backend.executable import Executable
from finchsched.backend.phase import Phase
from finchsched.passes.lower.signature import Bound, Entries, Extent, Least, Product, Total

__all__ = ["bound_text", "remarks"]


def remarks(executable: Executable) -> tuple[str, ...]:
    """A sentence per phase, and one about what is held at the same time."""
    sentences = [_phase(phase) for phase in executable.phases]
    temporaries = [name for done in executable.last_use for name in done]
    held = f"temporaries {', '.join(temporaries)}, each freed after its last use" if temporaries else "no temporaries"
    sentences.append(f"peak memory: operands, results with their room, {held}")
    return tuple(sentences)


def _phase(phase: Phase) -> str:
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
        case _:
            rooms = [bound_text(room) for room in lowered.rooms if room is not None]
            how = "grown while it runs, up to" if lowered.resumable else "allocated with room for"
            row = ", through a workspace of one dense row" if phase.has_workspace else ""
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
            return "min(" + ", ".join(bound_text(p) for p in parts) + ")"
        case Product(parts):
            return " * ".join(bound_text(p) for p in parts) or "1"
