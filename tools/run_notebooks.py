"""Execute every notebook of notebooks/ and fail on the first error in each, or where a notebook has no code.

The files stay as they are: notebooks are kept without outputs.

    python tools/run_notebooks.py [NOTEBOOK ...]
"""

import argparse
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
CELL_TIMEOUT_SECONDS = 300


def problem_of(path: Path) -> str | None:
    """What is wrong with the notebook, or None when it runs to its end."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    if not any(cell.cell_type == "code" and cell.source.strip() for cell in notebook.cells):
        return "it has no code cell"
    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT_SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
    )
    try:
        client.execute()
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        return str(error)
    return None


def main() -> int:
    """Run the notebooks named on the command line, or all of them; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notebooks", nargs="*", type=Path, help="default: all of notebooks/")
    paths = parser.parse_args().notebooks or sorted(FOLDER.glob("*.ipynb"))
    if not paths:
        print(f"no notebook in {FOLDER}", file=sys.stderr)
        return 1
    failures = 0
    for path in paths:
        start = time.perf_counter()
        problem = problem_of(path)
        print(f"{path.name}: {'FAILED' if problem else 'ok'}, {time.perf_counter() - start:.1f} s", flush=True)
        if problem:
            failures += 1
            print(problem, file=sys.stderr, flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
