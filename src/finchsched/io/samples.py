"""Matrices that are at hand: those that come with the package, and a folder of larger ones if there is one."""

import os
from pathlib import Path

__all__ = ["DATA_VARIABLE", "data_folder", "sample_path"]

DATA_VARIABLE = "FINCHSCHED_DATA"


def sample_path(name: str) -> Path:
    """The path of a matrix that comes with the package.  Raises FileNotFoundError naming those there are."""
    folder = Path(__file__).parent.parent / "data"
    path = folder / name
    if not path.is_file():
        known = ", ".join(sorted(p.name for p in folder.glob("*.mtx*")))
        raise FileNotFoundError(f"no sample matrix is called {name!r}; there are {known}")
    return path


def data_folder() -> Path:
    """The folder of larger data sets: $FINCHSCHED_DATA, else `shared/data` beside the repository.

    It may not exist.
    """
    named = os.environ.get(DATA_VARIABLE)
    return Path(named) if named else (Path(__file__).parent / "../../../../shared/data").resolve()
