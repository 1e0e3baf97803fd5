"""The kernels on disk, and loading from many threads and processes."""

import os
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from finchsched.backend import cache, load
from finchsched.backend.cache import KernelCache, cache_folder, open_cache
from finchsched.backend.emit import emit
from finchsched.backend.load import load_kernel
from finchsched.backend.trampoline import TRAMPOLINE
from finchsched.errors import CacheFolderError
from unit.backend import sample_kernels as sample

TESTS, SRC = Path(__file__).parents[2], Path(__file__).parents[3] / "src"

LOAD = """
import sys
import numpy as np
from unit.backend import sample_kernels as sample
from finchsched.backend import load
from finchsched.backend.load import load_kernel
assert "numba" not in sys.modules and "llvmlite" not in sys.modules
compiled, original = [], load._compile
load._compile = lambda *arguments: compiled.append(1) or original(*arguments)
A, x, y = sample.random_csr(30, 30, 4, 0), np.arange(30.0), np.zeros(30)
found = load_kernel(sample.spmv(name=sys.argv[1]))
found.call(0, 30, np.zeros(8, np.int64), *sample.buffers_of(A), x, y)
np.testing.assert_allclose(y, A @ x)
assert ("numba" in sys.modules) == bool(compiled)
print(len(compiled))
"""


def start(name, *, seed="random", script=LOAD):
    path = os.pathsep.join([str(SRC), str(TESTS)])
    env = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": seed}
    return subprocess.Popen([sys.executable, "-c", script, name], env=env, stdout=subprocess.PIPE, text=True)


def compilations(process):
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return int(out)


@pytest.fixture
def compile_count(monkeypatch):
    """An empty memory, and a list that grows by one with each compilation."""
    made, original = [], load._compile

    def counted(*arguments):
        made.append(threading.get_ident())
        return original(*arguments)

    monkeypatch.setattr(load, "_compile", counted)
    monkeypatch.setattr(load, "_loaded", {})
    monkeypatch.setattr(load, "_loading", {})
    return made


def forget():
    load._loaded.clear()
    load._loading.clear()


def check(kernel):
    A, x, y = sample.random_csr(30, 30, 4, 0), np.arange(30.0), np.zeros(30)
    kernel.call(0, 30, np.zeros(8, np.int64), *sample.buffers_of(A), x, y)
    np.testing.assert_allclose(y, A @ x)


CALL_C = """
import sys
import numpy as np
from unit.backend import sample_kernels as sample
from finchsched.backend import load
from finchsched.backend.load import load_kernel
compiled, original = [], load._compile
load._compile = lambda *arguments: compiled.append(1) or original(*arguments)
x, outs = np.linspace(0.1, 3, 5), [np.zeros(60), np.zeros(60)]
for backend, out in zip(("numba", "python"), outs):
    load_kernel(sample.functions(), backend=backend).call(0, 5, np.zeros(8, np.int64), 5, x, out)
np.testing.assert_allclose(*outs, rtol=1e-14)
print(len(compiled))
"""


def the_object(folder):
    (path,) = (path for path in folder.glob("*.obj") if not path.name.startswith(TRAMPOLINE))
    return path


def test_a_second_process_does_not_compile(cache_dir):
    assert compilations(start("second", seed="1")) == 1
    assert compilations(start("second", seed="2")) == 0
    assert sorted(p.suffix for p in cache_dir.glob("second_*")) == [".obj", ".py"]


def test_a_loaded_kernel_finds_the_c_library(cache_dir):
    assert compilations(start("", script=CALL_C)) == 1
    assert compilations(start("", script=CALL_C)) == 0


def test_processes_at_once(cache_dir):
    running = [start("together") for _ in range(3)]
    for process in running:
        compilations(process)
    assert compilations(start("together")) == 0
    assert len(list(cache_dir.glob("together_*"))) == 2


def test_memory_then_disk(cache_dir, compile_count):
    first = load_kernel(sample.spmv(), head="one")
    again = load_kernel(sample.spmv(), head="two")
    assert len(compile_count) == 1 and first.call is again.call
    assert again.source.text.startswith("# two\n") and first.source.code == again.source.code
    forget()
    check(load_kernel(sample.spmv()))
    assert len(compile_count) == 1


def test_the_source_is_stored(cache_dir):
    found = load_kernel(sample.spmv(), head="head")
    assert found.path.parent == cache_dir and found.path.name.startswith("spmv_")
    assert found.path.read_text() == emit(sample.spmv()).code
    forget()
    found.path.write_text("tampered")
    assert load_kernel(sample.spmv()).path.read_text() == emit(sample.spmv()).code
    assert load_kernel(sample.spmv(), backend="python").path != found.path


def test_what_the_key_depends_on(compile_count):
    for kernel in (sample.spmv(), sample.spmv(licensed=False), sample.spmv(idx=sample.UINT64), sample.spmv(name="z")):
        load_kernel(kernel)
    assert len(compile_count) == 4


@pytest.mark.parametrize("where", [0, 31, 32, 63, 64, 65, 300, -1])
def test_a_flipped_byte_compiles_again(cache_dir, compile_count, where):
    load_kernel(sample.spmv())
    path = the_object(cache_dir)
    data = bytearray(path.read_bytes())
    data[where] ^= 1
    path.write_bytes(data)
    forget()
    check(load_kernel(sample.spmv()))
    assert len(compile_count) == 2
    forget()
    load_kernel(sample.spmv())
    assert len(compile_count) == 2  # the entry was replaced


@pytest.mark.parametrize("size", [0, 5, 40, 65, 500])
def test_a_truncated_entry_compiles_again(cache_dir, compile_count, size):
    load_kernel(sample.spmv())
    path = the_object(cache_dir)
    path.write_bytes(path.read_bytes()[:size])
    forget()
    check(load_kernel(sample.spmv()))
    assert len(compile_count) == 2


def test_an_entry_that_does_not_load_compiles_again(cache_dir, compile_count):
    found = load_kernel(sample.spmv())
    key = load._key(found.source, sample.spmv(), "numba")
    KernelCache(cache_dir).put_object("spmv", key, b"not a pickle")
    forget()
    check(load_kernel(sample.spmv()))
    assert len(compile_count) == 2


def test_another_entry_under_this_name_is_not_loaded(cache_dir):
    store = open_cache()
    store.put_object("k", "ab" * 32, b"data")
    assert store.get_object("k", "ab" * 32) == b"data"
    other = "ab" * 6 + "cd" * 26  # the same first twelve digits
    assert store.get_object("k", other) is None


def test_one_compilation_from_many_threads(compile_count):
    barrier = threading.Barrier(8)

    def work(n):
        barrier.wait()
        kernel = load_kernel(sample.spmv(name="threads" if n % 2 else "threads_too"))
        check(kernel)
        return kernel.call

    with ThreadPoolExecutor(8) as pool:
        calls = list(pool.map(work, range(8)))
    assert len(compile_count) == 2
    assert len({id(c) for c in calls}) == 2


def test_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("FINCHSCHED_CACHE_DIR", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"
    monkeypatch.delenv("FINCHSCHED_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "finchsched"
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == tmp_path / "home" / ".cache" / "finchsched"
    assert open_cache().folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_a_folder_others_can_write_to_is_refused(cache_dir, mode):
    cache_dir.mkdir()
    cache_dir.chmod(mode)
    with pytest.raises(CacheFolderError, match="others can write"):
        load_kernel(sample.spmv(name=f"refused_{mode}"))
    cache_dir.chmod(0o755)
    assert open_cache() is not None


def test_a_folder_of_another_user_is_refused(cache_dir, monkeypatch):
    open_cache()
    monkeypatch.setattr(os, "geteuid", lambda: 123456)
    with pytest.raises(CacheFolderError, match="belongs to another user"):
        open_cache()


def test_without_a_folder_there_is_one_warning(tmp_path, monkeypatch, compile_count):
    monkeypatch.setattr(cache, "_warned", set())
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FINCHSCHED_CACHE_DIR", str(tmp_path / "file" / "below"))
    with pytest.warns(RuntimeWarning, match="cannot be made"):
        found = load_kernel(sample.spmv())
    check(found)
    assert found.path is None
    forget()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(load_kernel(sample.spmv()))
    assert len(compile_count) == 2


def test_a_folder_that_cannot_be_written(cache_dir, monkeypatch, compile_count):
    monkeypatch.setattr(cache, "_warned", set())

    def refuse(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache.os, "open", refuse)
    with pytest.warns(RuntimeWarning, match="cannot be written"):
        found = load_kernel(sample.spmv())
    check(found)
    assert found.path is None


def test_the_folder_is_bounded(cache_dir):
    store = open_cache()
    for n in range(10):
        path = cache_dir / f"k{n}.obj"
        path.write_bytes(bytes(100))
        os.utime(path, (1e9 + n, 1e9 + n))
    (cache_dir / "someone's file").write_bytes(bytes(5000))
    stale, fresh = cache_dir / "a.tmp", cache_dir / "b.tmp"
    stale.write_bytes(b"")
    fresh.write_bytes(b"")
    os.utime(stale, (1e9, 1e9))
    store.prune(2000)
    assert len(list(cache_dir.glob("*.obj"))) == 10 and not stale.exists() and fresh.exists()
    store.prune(500)
    assert sorted(p.name for p in cache_dir.glob("*.obj")) == ["k6.obj", "k7.obj", "k8.obj", "k9.obj"]
    assert (cache_dir / "someone's file").exists()


def test_loading_counts_as_use(cache_dir):
    store = open_cache()
    store.put_object("k", "ab" * 32, b"data")
    path = the_object(cache_dir)
    os.utime(path, (1e9, 1e9))
    store.get_object("k", "ab" * 32)
    assert path.stat().st_mtime > time.time() - 100


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_can_load(cache_dir):
    script = (
        "import os, threading\n"
        "from unit.backend import sample_kernels as sample\n"
        "from finchsched.backend import load\n"
        "from finchsched.backend.load import load_kernel\n"
        "load_kernel(sample.spmv())\n"
        "load._guard.acquire()\n"  # as if another thread were loading
        "child = os.fork()\n"
        "if child == 0:\n"
        "    load_kernel(sample.dot())\n"
        "    os._exit(0)\n"
        "raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SRC), str(TESTS)])}
    subprocess.run([sys.executable, "-c", script], env=env, check=True, timeout=120)
