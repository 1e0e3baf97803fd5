"""What every test may use: hypothesis profiles, golden files, the data folder, a kernel cache shared between runs."""

import os
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

from golden_file import GoldenPair, check_pair, update_refusal

ROOT = Path(__file__).resolve().parent.parent
IN_CI = os.environ.get("CI", "").lower() in ("1", "true")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden pairs that differ (by hand only)")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--update-golden"):
        parallel = bool(config.getoption("numprocesses", None)) or hasattr(config, "workerinput")
        if reason := update_refusal(ci=IN_CI, parallel=parallel):
            raise pytest.UsageError(reason)
    _register_hypothesis_profiles()
    _share_kernel_cache()


def _register_hypothesis_profiles() -> None:
    """The tables of [tool.finchsched.hypothesis] in pyproject.toml.  No deadline: a first call compiles."""
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["finchsched"]["hypothesis"]
    for name, table in tables.items():
        hypothesis.settings.register_profile(name, deadline=None, **table)
    hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if IN_CI else "dev"))


def _share_kernel_cache() -> None:
    """Kernels are kept between tests, processes and runs.  Set before anything imports finchsched, for children too."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    folder = Path(tempfile.gettempdir()) / f"finchsched-tests-{user}"
    if "FINCHSCHED_CACHE_DIR" not in os.environ:
        folder.mkdir(mode=0o700, exist_ok=True)
        os.environ["FINCHSCHED_CACHE_DIR"] = str(folder)


@pytest.fixture(scope="session", autouse=True)
def _plans_of_this_process():
    """Plans that earlier runs left on disk would be run in place of what is tested; the tests of them ask for them."""
    from finchsched.api import planning

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planning, "restore_plan", lambda key: None)
        patch.setattr(planning, "store_plan", lambda key, bound, program: None)
        yield


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[GoldenPair, str], None]:
    """`golden(pair, actual)` compares with a golden pair, or rewrites it under --update-golden."""
    update = bool(request.config.getoption("--update-golden"))
    return lambda pair, actual: check_pair(pair, actual, update=update)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of shared data sets: FINCHSCHED_DATA, or ../shared/data beside the repository."""
    folder = Path(os.environ.get("FINCHSCHED_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no data sets in {folder}: set FINCHSCHED_DATA to their folder")
    return folder
