import pytest


@pytest.fixture(autouse=True)
def cache_dir(tmp_path, monkeypatch):
    """A cache folder of its own for each test."""
    folder = tmp_path / "kernels"
    monkeypatch.setenv("FINCHSCHED_CACHE_DIR", str(folder))
    return folder
