"""Python code run in a fresh interpreter, for what can be measured once a process."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["run_child"]


def run_child(code: str, *, timeout: float = 900.0, **environment: str) -> Mapping[str, Any]:
    """The JSON that `code` prints as its last line.

    Errors: RuntimeError with the last line of the child's error output when it fails or takes over `timeout` seconds.
    """
    search = [str(Path(__file__).resolve().parents[2]), *filter(None, sys.path)]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(search)} | environment
    try:
        done = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired as late:
        raise RuntimeError(f"the child took over {timeout:g} s") from late
    if done.returncode != 0:
        said = "".join(done.stderr.strip().splitlines()[-1:])[:300]
        raise RuntimeError(f"the child ended with status {done.returncode}: {said}")
    found: Mapping[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
