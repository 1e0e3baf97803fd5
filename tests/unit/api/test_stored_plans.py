"""Plans that another process has compiled."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import finchsched.api as fs
from finchsched.api import planning, stored_plans
from finchsched.api.planning import linearize, plan_cache
from finchsched.api.stored_plans import plan_digest
from finchsched.autoschedule import driver
from finchsched.backend import load
from finchsched.settings import config

SRC = Path(__file__).parents[3] / "src"

PROGRAM = """
import sys
import numpy as np
import finchsched as fs
A, x = np.arange(12.0).reshape(3, 4), np.array([1.0, 2.0, 0.0, -1.0])
y = fs.einsum("y[i] += A[i,j] * x[j]", A=A, x=x)
z = (fs.lazy(A) * 2.5 + 1).sum(axis=0)
w = fs.plan(z)
np.testing.assert_allclose(y.to_numpy(), A @ x)
np.testing.assert_allclose(w.run().to_numpy(), (A * 2.5 + 1).sum(axis=0))
compiler = "finchsched.autoschedule.driver" in sys.modules
print("numba" in sys.modules, compiler)
assert "for i" in w.loops and w.executable.kernel_files and "lambda" not in repr(w)
assert "finchsched.autoschedule.driver" in sys.modules
"""


def run(folder, **extra):
    env = {**os.environ, "PYTHONPATH": str(SRC), "FINCHSCHED_CACHE_DIR": str(folder), **extra}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_a_second_process_neither_compiles_nor_plans(tmp_path):
    assert run(tmp_path, PYTHONHASHSEED="1") == ["True", "True"]
    assert run(tmp_path, PYTHONHASHSEED="2") == ["False", "False"]
    for path in tmp_path.glob("plan_*.obj"):
        path.unlink()
    assert run(tmp_path) == ["False", "True"]  # planned again, kernels from disk
    for path in tmp_path.glob("make_*.obj"):
        path.unlink()
    assert run(tmp_path) == ["True", "True"]
    assert run(tmp_path) == ["False", "False"]


# ---------------------------------------------------------------------------------------------- in one process


@pytest.fixture(autouse=True)
def plans_on_disk(tmp_path, monkeypatch):
    """A folder of their own, the real compiler, and nothing in memory, kernels included; gives the folder."""
    folder = tmp_path / "plans"
    monkeypatch.setenv("FINCHSCHED_CACHE_DIR", str(folder))
    monkeypatch.setattr(load, "_loaded", {})
    monkeypatch.setattr(load, "_loading", {})
    monkeypatch.setattr(planning, "restore_plan", stored_plans.restore_plan)
    monkeypatch.setattr(planning, "store_plan", stored_plans.store_plan)
    monkeypatch.setattr(planning, "load_compiler", lambda: driver.compile_logic)
    plan_cache.clear()
    yield folder
    plan_cache.clear()


@pytest.fixture
def compiled(monkeypatch):
    """A list that grows with each program that is compiled."""
    made, original = [], planning.compile_graph

    def counted(roots):
        made.append(roots)
        return original(roots)

    monkeypatch.setattr(planning, "compile_graph", counted)
    return made


def matrix(seed=0, n=6):
    rng = np.random.default_rng(seed)
    return sp.csr_array(rng.random((n, n)) * (rng.random((n, n)) < 0.5))


def product(seed=0):
    A = matrix(seed)
    found = (fs.asarray(A) * fs.asarray(A)).to_scipy().toarray()
    np.testing.assert_allclose(found, A.toarray() ** 2)
    return found


def test_from_disk(compiled):
    product()
    plan_cache.clear()
    product(1)
    assert len(compiled) == 1


def test_a_plan_without_its_kernels_is_not_stored(plans_on_disk, compiled):
    product()
    for path in plans_on_disk.iterdir():
        path.unlink()
    plan_cache.clear()
    product()  # the kernel is in memory, and in no folder
    assert not list(plans_on_disk.glob("plan_*"))
    assert len(compiled) == 2


# ---------------------------------------------------------------------------------------------- damaged entries


@pytest.fixture
def plan_file(plans_on_disk, compiled):
    """The file of the one stored plan, which is known to be used as long as nobody touches it."""
    product()
    (path,) = plans_on_disk.glob("plan_*.obj")
    plan_cache.clear()
    product()
    assert len(compiled) == 1
    plan_cache.clear()
    return path


@pytest.mark.parametrize("where", [0, 31, 32, 63, 64, 200, -1])
def test_a_flipped_byte_plans_again(plan_file, compiled, where):
    good = plan_file.read_bytes()
    damaged = bytearray(good)
    damaged[where] ^= 1
    plan_file.write_bytes(damaged)
    product(1)
    assert len(compiled) == 2
    assert plan_file.read_bytes() == good


@pytest.mark.parametrize("size", [0, 5, 40, 65, 500])
def test_a_truncated_plan_is_made_again(plan_file, compiled, size):
    plan_file.write_bytes(plan_file.read_bytes()[:size])
    product(1)
    assert len(compiled) == 2


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_to_is_not_read(plan_file, compiled, mode):
    plan_file.chmod(mode)
    product(1)
    assert len(compiled) == 2


@pytest.mark.parametrize("data", [b"no pickle", pickle.dumps({"a": 1})])
def test_an_entry_of_another_form_plans_again(plan_file, compiled, data):
    key = plan_file.read_bytes()[32:64].hex()
    stored_plans.open_cache().put_object("plan", key, data)
    product(1)
    assert len(compiled) == 2


@pytest.mark.parametrize("damage", ["flipped", "gone"])
def test_a_plan_with_a_damaged_kernel_is_made_again(plan_file, plans_on_disk, compiled, damage):
    (kernel,) = plans_on_disk.glob("make_*.obj")
    data = bytearray(kernel.read_bytes())
    data[200] ^= 1
    kernel.write_bytes(data) if damage == "flipped" else kernel.unlink()
    product(1)
    assert len(compiled) == 2


def test_a_plan_shows_what_it_is_although_it_came_from_disk(compiled):
    a = fs.lazy(matrix())
    first = fs.plan(a * a)
    shown = (first.logic, first.loops, first.kernel_source, first.explain(), repr(first), first.names)
    plan_cache.clear()
    again = fs.plan(a * a)
    np.testing.assert_allclose(again.run().to_scipy().toarray(), matrix().toarray() ** 2)
    assert len(compiled) == 1
    assert (again.logic, again.loops, again.kernel_source, again.explain(), repr(again), again.names) == shown
    assert len(compiled) == 2
    another = again.run(**{name: matrix(1) for name in again.operands})
    np.testing.assert_allclose(another.to_scipy().toarray(), matrix(1).toarray() ** 2)


def test_it_shows_the_plan_of_the_settings_that_it_was_made_under():
    x = fs.lazy(np.ones(8))
    plans = {}
    for _ in range(2):
        for mode in ("strict", "algebra"):
            with config(reassociate=mode):
                made = fs.plan(x.sum())
            plans.setdefault(mode, []).append(made.executable.executable.phases[0].lowered.kernel.licensed)
        plan_cache.clear()
    assert plans == {"strict": [False, False], "algebra": [True, True]}


def test_python_kernels_are_not_stored(plans_on_disk):
    with config(backend="python"):
        fs.asarray(matrix()) * fs.asarray(matrix(1))
    assert not list(plans_on_disk.glob("plan_*"))


def test_scalars_and_several_results(compiled):
    for _ in range(2):
        plan_cache.clear()
        a = fs.lazy(matrix())
        twice, total = fs.compute(a * 2.5, (a * 2.5).sum())
        np.testing.assert_allclose(twice.to_scipy().toarray(), matrix().toarray() * 2.5)
        np.testing.assert_allclose(float(total), matrix().sum() * 2.5)
    assert len(compiled) == 1


def test_a_result_that_grows_too_large_is_planned_with_wide_indices(monkeypatch, compiled):
    from finchsched.backend import output

    a = fs.asarray(matrix())
    a @ a
    plan_cache.clear()
    original = output._most
    monkeypatch.setattr(output, "_most", lambda level: 3 if original(level) < 2**31 else original(level))
    found = a @ a
    assert len(compiled) == 2  # the stored plan asked for it
    np.testing.assert_allclose(found.to_scipy().toarray(), (matrix() @ matrix()).toarray())
    assert found.data.type.levels[1].pos.name == "int64"


def test_nothing_is_stored_without_a_folder(tmp_path, monkeypatch, compiled):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FINCHSCHED_CACHE_DIR", str(tmp_path / "file" / "below"))
    monkeypatch.setattr("finchsched.backend.cache._warned", set())
    with pytest.warns(RuntimeWarning, match="cannot be made"):
        product()
    plan_cache.clear()
    product()
    assert len(compiled) == 2


# ---------------------------------------------------------------------------------------------- digests


def digest_of(*exprs):
    return plan_digest(linearize([expr.node for expr in exprs]).key)


def test_digests_tell_programs_apart():
    a, x = fs.lazy(matrix()), fs.lazy(np.ones(6))
    other = fs.lazy(matrix(1))
    exprs = [a @ x, a * a, a * other, a + a, a * 0.0, a * -0.0, a * 1, a * 1.0, a * True, a.sum(), a.sum(axis=0), a.T]
    exprs += [fs.einsum("C[i,j] = A[i,j]", A=a), fs.einsum("C[j,i] = A[i,j]", A=a), a.asformat("csc")]
    exprs += [fs.lazy(fs.asarray(matrix(), fill_value=fill)) * 1 for fill in (np.inf, -np.inf)]
    assert len({digest_of(expr) for expr in exprs}) == len({linearize([e.node]).key for e in exprs})
    assert digest_of(a * other) == digest_of(fs.lazy(matrix(2)) * fs.lazy(matrix(3)))
    with config(reassociate="strict"):
        strict = digest_of(a @ x)
    assert strict != digest_of(a @ x)


def test_digests_depend_on_the_package_and_the_tools(monkeypatch):
    a = fs.lazy(matrix())
    before = digest_of(a * a)
    with monkeypatch.context() as patch:
        patch.setattr(stored_plans, "toolchain", lambda: "another processor")
        assert digest_of(a * a) != before
    with monkeypatch.context() as patch:
        patch.setattr(stored_plans, "_package", lambda: "another version")
        assert digest_of(a * a) != before
    assert digest_of(a * a) == before


def test_what_has_no_text_has_no_digest():
    assert plan_digest(((object(),),)) is None
    assert plan_digest((1,)) != plan_digest((True,)) != plan_digest((1.0,))
    assert plan_digest(("a, b",)) != plan_digest(("a", "b"))
    assert plan_digest((("a",), "b")) != plan_digest(("a", ("b",)))
