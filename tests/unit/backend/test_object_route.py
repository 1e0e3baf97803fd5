"""Kernels as object files: compiled by Numba's front end and LLVM, loaded and called without Numba."""

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from finchsched.algebra.dtypes import DType
from finchsched.ast.kernel import Buffer, Kernel, Seq, Var
from finchsched.backend import load, object_compiler, object_loader
from finchsched.backend.adaptor import adaptor_ir, argument_kinds, native_types
from finchsched.backend.emit import KernelSource, emit
from finchsched.backend.load import load_kernel
from finchsched.backend.object_compiler import ObjectRouteError, compile_object
from finchsched.backend.object_loader import ObjectLoadError, load_object
from finchsched.backend.trampoline import layout_is_known, pack_slots
from unit.backend import sample_kernels as sample

COPY = """
import numpy as np

def copy(lo, hi, status, s, x, out):
    out[np.uint64(0)] = s
    out[np.uint64(1)] = x[np.uint64(1)]
    status[np.uint64(0)] = lo - hi
"""

VALUES = {
    "bool": (True, [False, True]),
    "int8": (-128, [1, -7]),
    "int16": (-(2**15), [1, -7]),
    "int32": (-(2**31), [1, -7]),
    "int64": (-(2**63), [1, 2**62]),
    "uint8": (255, [1, 200]),
    "uint16": (2**16 - 1, [1, 2]),
    "uint32": (2**32 - 1, [1, 2]),
    "uint64": (2**64 - 1, [1, 2**63]),
    "float32": (float(np.float32(0.1)), [1, -0.0]),
    "float64": (-0.1, [1, np.inf]),
    "complex64": (complex(np.complex64(0.1 - 2j)), [1, 3j]),
    "complex128": (0.1 - 2j, [1, 3j]),
}


def copying(dtype):
    s, x, out = Var("s", dtype), Buffer("x", dtype, False), Buffer("out", dtype, True)
    return Kernel("copy", (s,), (x, out), Seq(()), False)


def forget():
    load._loaded.clear()
    load._loading.clear()


@pytest.fixture(autouse=True)
def empty_memory(monkeypatch):
    monkeypatch.setattr(load, "_loaded", {})
    monkeypatch.setattr(load, "_loading", {})


def product(function):
    A, x, y = sample.random_csr(30, 30, 4, 0), np.arange(30.0), np.zeros(30)
    function(0, 30, np.zeros(8, np.int64), *sample.buffers_of(A), x, y)
    return y


# ---------------------------------------------------------------------------------------------- the calling convention


@pytest.mark.parametrize("trampoline", [True, False])
@pytest.mark.parametrize("name", VALUES)
def test_every_element_type_goes_through(name, trampoline, monkeypatch):
    kernel, (scalar, elements) = copying(DType(name)), VALUES[name]
    data = compile_object(KernelSource("copy", COPY, COPY), kernel, f"copy_{name}")
    monkeypatch.setattr(object_loader, "layout_is_known", lambda: trampoline)
    call = load_object(data, f"copy_{name}", argument_kinds(kernel), None)
    x, out, status = np.array(elements, name), np.zeros(2, name), np.zeros(2, np.int64)
    for value in (scalar, out.dtype.type(scalar)):
        out[:] = 0
        call(-5, 7, status, value, x, out)
        assert out.tobytes() == np.array([scalar, elements[1]], name).tobytes()
        assert status[0] == -12


def test_slots():
    x = np.arange(3.0)
    packed = pack_slots(b"iabufc", (-1, x, True, 2**64 - 1, 0.5, 1 - 2j))
    floats = np.array([0.5, 1, -2]).view(np.uint64).tolist()
    assert packed.tolist() == [2**64 - 1, x.ctypes.data, 3, 1, 2**64 - 1, *floats]


@pytest.mark.parametrize("trampoline", [True, False])
def test_wrong_arguments_are_refused(trampoline, monkeypatch):
    kernel = sample.dot()
    data = compile_object(emit(kernel), kernel, "dot_refused")
    monkeypatch.setattr(object_loader, "layout_is_known", lambda: trampoline)
    call = load_object(data, "dot_refused", argument_kinds(kernel), None)
    x, out, status = np.ones(4), np.zeros(1), np.zeros(2, np.int64)
    for arguments in [
        (),
        (0, 4, status, x, x),
        (0, 4, status, x, x, out, out),
        (0, 4, status, x, [1.0] * 4, out),
        (0, 4, status, x, None, out),
        (0, 4, status, x, np.ones((2, 2)), out),
        (0, 4, status, x, np.array(1.0), out),
        ("0", 4, status, x, x, out),
        (x, 4, status, x, x, out),
    ]:
        with pytest.raises((TypeError, ValueError)):
            call(*arguments)
    call(0, 4, status, x, x, out)
    assert out.tolist() == [4.0]


def test_a_subclass_of_arrays_is_an_array():
    class Marked(np.ndarray):
        pass

    kernel = sample.dot()
    call = load_object(compile_object(emit(kernel), kernel, "dot_marked"), "dot_marked", argument_kinds(kernel), None)
    out = np.zeros(1)
    call(0, 3, np.zeros(2, np.int64), np.arange(3.0).view(Marked), np.ones(3), out)
    assert out.tolist() == [3.0]


def test_the_layout_is_found_here():
    assert layout_is_known()


def test_arguments_survive_many_calls():
    """Reference counts: a call neither loses nor keeps its arguments, nor None."""
    call = load_kernel(sample.dot()).call
    x, out, status = np.ones(4), np.zeros(1), np.zeros(2, np.int64)
    before = [sys.getrefcount(x), sys.getrefcount(out), sys.getrefcount(None)]
    for _ in range(1000):
        assert call(0, 4, status, x, x, out) is None
    after = [sys.getrefcount(x), sys.getrefcount(out), sys.getrefcount(None)]
    assert before[:2] == after[:2] and abs(after[2] - before[2]) < 500


def test_the_interpreter_runs_meanwhile():
    """Another thread makes progress between entry to a kernel and return from it; a kernel that kept the interpreter
    lock would stop it.  Only what happens strictly inside the call counts, and only that it happens.
    """
    keys = np.random.default_rng(0).permutation(2_000_000)
    scratch, status = np.zeros_like(keys), np.zeros(8, np.int64)
    call, span, ticks = load_kernel(sample.sort()).call, [], []

    def work():
        entered = time.perf_counter()
        call(0, len(keys), status, keys, scratch)
        span.append((entered, time.perf_counter()))

    thread = threading.Thread(target=work)
    thread.start()
    while thread.is_alive():
        time.sleep(0.001)
        ticks.append(time.perf_counter())
    ((entered, left),) = span
    assert sum(entered < tick < left for tick in ticks) > 2
    assert (keys == np.arange(len(keys))).all()


# ---------------------------------------------------------------------------------------------- Numba


def test_kernels_here_are_object_files(monkeypatch):
    """The pinned expectations hold for the Numba that is installed: nothing falls back."""

    def refuse(*_, **__):
        raise AssertionError("fell back to Numba's own machine code")

    monkeypatch.setattr(load, "compile_result", refuse)
    for kernel in (sample.spmv(), sample.union(), sample.sort(), sample.search(), sample.functions()):
        load_kernel(kernel)


def test_native_types():
    kernel = copying(DType("complex64"))
    array = ["ptr", "ptr", "i64", "i64", "ptr", "i64", "i64"]
    assert native_types(kernel) == ["ptr", "ptr", "i64", "i64", *array, "float", "float", *array, *array]
    assert argument_kinds(kernel) == b"iiacaa"
    assert "fptrunc double %wide4 to float" in adaptor_ir(kernel, "native", "k")


def test_an_object_is_the_same_in_every_process():
    script = (
        "import hashlib\n"
        "from unit.backend import sample_kernels as sample\n"
        "from finchsched.backend.emit import emit\n"
        "from finchsched.backend.object_compiler import compile_object\n"
        "for kernel in (sample.spmv(), sample.functions()):\n"
        "    print(hashlib.sha256(compile_object(emit(kernel), kernel, 'k')).hexdigest())\n"
    )
    from unit.backend.test_cache import start

    found = {start("", seed=seed, script=script).communicate(timeout=120)[0] for seed in ("1", "2")}
    assert len(found) == 1 and len(found.pop().split()) == 2


OTHER_NUMBAS = {
    "no such attribute": ("kernel_flags", AttributeError("Flags")),
    "no such module": ("short_pipeline", ImportError("numba.core")),
    "other arguments": ("kernel_flags", TypeError("Flags() takes no arguments")),
}


@pytest.mark.parametrize("case", OTHER_NUMBAS)
def test_with_another_numba_kernels_are_what_it_makes(case, monkeypatch, cache_dir):
    name, error = OTHER_NUMBAS[case]
    expected = product(load_kernel(sample.spmv()).call)
    for path in cache_dir.iterdir():
        path.unlink()
    forget()

    def differs(*_):
        raise error

    monkeypatch.setattr(object_compiler, name, differs)
    assert product(load_kernel(sample.spmv()).call).tolist() == expected.tolist()
    (stored,) = cache_dir.glob("spmv_*.obj")
    assert stored.read_bytes()[64:65] == b"P"
    forget()
    monkeypatch.setattr(load, "_compile", None)  # from here on it must come from disk
    assert product(load_kernel(sample.spmv()).call).tolist() == expected.tolist()


def test_other_native_arguments_are_noticed(monkeypatch):
    monkeypatch.setattr(object_compiler, "native_types", lambda kernel: ["i32"])
    with pytest.raises(ObjectRouteError, match="passes arguments as"):
        compile_object(emit(sample.dot()), sample.dot(), "k")
    np.testing.assert_allclose(
        product(load_kernel(sample.spmv()).call), sample.random_csr(30, 30, 4, 0) @ np.arange(30)
    )


def test_a_kernel_that_would_allocate_is_refused():
    code = "import numpy as np\n\n\ndef dot(lo, hi, status, x, y, out):\n    out[np.uint64(0)] = np.empty(3)[0]\n"
    with pytest.raises(Exception, match=r"empty") as caught:
        compile_object(KernelSource("dot", code, code), sample.dot(), "k")
    assert not isinstance(caught.value, ObjectRouteError)


# ---------------------------------------------------------------------------------------------- symbols


def test_a_call_of_what_only_numba_has_is_not_an_object(monkeypatch, cache_dir):
    monkeypatch.setattr(object_compiler, "_LIBRARY", object_compiler._LIBRARY - {"tanh"})
    with pytest.raises(ObjectRouteError, match="calls tanh"):
        compile_object(emit(sample.functions()), sample.functions(), "k")
    x, outs = np.linspace(0.1, 3, 5), [np.zeros(60), np.zeros(60)]
    for backend, out in zip(("numba", "python"), outs, strict=True):
        load_kernel(sample.functions(), backend=backend).call(0, 5, np.zeros(8, np.int64), 5, x, out)
    np.testing.assert_allclose(*outs, rtol=1e-14)


MISSING = """
declare double @finchsched_no_such_function(double)
define i64 @lost(ptr %slots) {
  %r = call double @finchsched_no_such_function(double 1.0)
  %i = fptosi double %r to i64
  ret i64 %i
}
"""


def object_with_a_missing_symbol():
    import llvmlite.binding as llvm

    machine = object_loader.target_machine()
    return machine.emit_object(llvm.parse_assembly(MISSING))


def test_a_missing_symbol_is_an_error_of_ours():
    with pytest.raises(ObjectLoadError, match="lost"):
        load_object(object_with_a_missing_symbol(), "lost", b"iia", None)
    with pytest.raises(ObjectLoadError):
        load_object(compile_object(emit(sample.dot()), sample.dot(), "there"), "not_there", b"iia", None)


def test_an_object_that_cannot_be_linked_falls_back(monkeypatch, cache_dir):
    monkeypatch.setattr(load, "compile_object", lambda *_: object_with_a_missing_symbol())
    A, x = sample.random_csr(30, 30, 4, 0), np.arange(30.0)
    np.testing.assert_allclose(product(load_kernel(sample.spmv()).call), A @ x)
    (stored,) = cache_dir.glob("spmv_*.obj")
    assert stored.read_bytes()[64:65] == b"P"


# ---------------------------------------------------------------------------------------------- threads and processes


def test_compiling_and_loading_in_threads():
    kernels = [sample.spmv(name=f"spmv_{n}") for n in range(3)]
    barrier = threading.Barrier(6)

    def work(n):
        barrier.wait()
        return product(load_kernel(kernels[n % 3]).call).tolist()

    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(work, range(6)))
    assert results == [results[0]] * 6


def test_calls_in_threads_do_not_mix():
    call = load_kernel(sample.dot()).call

    def work(n):
        x, out = np.full(1000, float(n)), np.zeros(1)
        for _ in range(200):
            call(0, 1000, np.zeros(2, np.int64), x, np.ones(1000), out)
            assert out[0] == 1000 * n
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))


def test_the_reader_of_an_entry_imports_no_compiler(cache_dir):
    load_kernel(sample.dot())
    (stored,) = cache_dir.glob("dot_*.obj")
    key = stored.read_bytes()[32:64].hex()
    script = (
        "import sys\n"
        "import numpy as np\n"
        "from finchsched.backend.cache import open_cache\n"
        "from finchsched.backend.stored_kernel import restore_kernel\n"
        f"call = restore_kernel(open_cache(), 'dot', {key!r}, {argument_kinds(sample.dot())!r})\n"
        "out = np.zeros(1)\n"
        "call(0, 4, np.zeros(2, np.int64), np.ones(4), np.ones(4), out)\n"
        "assert out[0] == 4\n"
        "assert not {'numba', 'finchsched.backend.emit', 'finchsched.ast.kernel'} & set(sys.modules)\n"
    )
    from unit.backend.test_cache import SRC

    subprocess.run([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": str(SRC)}, check=True)
