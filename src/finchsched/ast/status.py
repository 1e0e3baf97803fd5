"""Status codes that kernels return, for the runtime to act on; 0 is success."""

__all__ = ["GROW", "NEGATIVE_POWER"]

GROW = 1
"""The kernel ran out of room: status[1] is the outermost coordinate to resume at, status[2 + level] what has been
written before it, and status[2 + rank + level] the room it needs."""

NEGATIVE_POWER = 2
"""An integer was raised to a negative power."""
