"""Peak memory of one action, measured in a child process of its own."""

import json
import resource
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from finchsched.bench.child import run_child

MEBI = 1 << 20

_CHILD = """\
from finchsched.bench.memory import print_usage, restart_peak, peak_bytes
{setup}
restart_peak()
baseline = peak_bytes()
{action}
print_usage(baseline)
"""


@dataclass(frozen=True, slots=True)
class Usage:
    """MiB of resident memory of a child process.

    `baseline`: before the action, with modules loaded and inputs made; `peak`: the highest while it ran; `ru_maxrss`:
    getrusage's figure for the whole child.  On Linux that one also counts what the parent held when it forked, so
    `peak` comes from VmHWM, which starts anew with the program.
    """

    baseline: float
    peak: float
    ru_maxrss: float

    @property
    def extra(self) -> float:
        """MiB the action added to the baseline."""
        return self.peak - self.baseline


def child_usage(setup: str, action: str, *, timeout: float = 900.0) -> Usage:
    """Run the two pieces of Python in a fresh interpreter; only what `action` does counts against the baseline.

    Errors: RuntimeError with the last line of the child's error output when it fails or takes over `timeout` seconds.
    """
    code = _CHILD.format(setup=setup, action=action)
    return Usage(**run_child(code, timeout=timeout))


def restart_peak() -> None:
    """Let the kernel forget this process's peak so far, where it can (Linux); elsewhere the baseline is a peak too."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def peak_bytes() -> int:
    """Peak resident bytes of this process: VmHWM on Linux, else `ru_maxrss`."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return _ru_maxrss()
    marks = [int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")]
    return 1024 * marks[0] if marks else _ru_maxrss()


def print_usage(baseline: int) -> None:
    """Write this process's usage as one line of JSON (the child's last act)."""
    print(json.dumps(asdict(Usage(baseline / MEBI, peak_bytes() / MEBI, _ru_maxrss() / MEBI))))


def _ru_maxrss() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
