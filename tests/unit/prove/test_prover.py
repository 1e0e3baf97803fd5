"""The prover as a whole: its answers, limits, memory, statistics and threads."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from fact_text import fact, facts
from finchsched.ast.proof import Compare, Number, Product, Proved, Quotient, Refuted, Sum, Symbol, Unknown
from finchsched.prove import prover as prover_module
from finchsched.prove import z3_solver
from finchsched.prove.canonical import canonical
from finchsched.prove.memo import DiskMemo, Memo
from finchsched.prove.prover import Prover, default_prover
from finchsched.prove.statistics import table
from unit.prove.corpus import CORPUS

FERMAT = fact("i*i*i + j*j*j != k*k*k"), facts("i > 0", "j > 0", "k > 0")
GUARDED = fact("implies(n != 0, i // n <= i)"), facts("i >= 0")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FINCHSCHED_CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def asked(monkeypatch):
    """The facts that Z3 was asked for."""
    found = []

    def counted(what, given, *, steps):
        found.append(what)
        return z3_solver.ask_z3(what, given, steps=steps)

    monkeypatch.setattr(prover_module, "ask_z3", counted)
    return found


def test_there_is_one_default_prover():
    assert default_prover() is default_prover()


def test_a_limit_that_is_reached_is_the_reason():
    verdict = Prover(memory=False, disk=False, steps=100_000).holds(*FERMAT)
    assert verdict == Unknown("the prover's limit of 100000 steps was reached")


def test_a_larger_limit_is_not_answered_by_the_memory_of_a_smaller_one(folder):
    assert isinstance(Prover(steps=1).holds(*GUARDED), Unknown)
    assert Prover().holds(*GUARDED) == Proved("z3")


def test_what_was_unknown_without_z3_is_asked_with_it(folder):
    prover = Prover()
    for _ in range(2):
        assert isinstance(prover.holds(*GUARDED, use_z3=False), Unknown)
        assert prover.holds(*GUARDED) == Proved("z3")


def test_a_division_by_0_is_never_proved():
    prover = Prover(memory=False, disk=False)
    for text in ("1 // 0 == 1 // 0", "i % 0 == i % 0", "i // n * 0 == 0", "i // (n - n) >= 0 or True_ == True_"):
        assert not isinstance(prover.holds(fact(text)), Proved), text
    assert prover.holds(fact("i // n * 0 == 0"), facts("n >= 1")) == Proved("ranges")


def test_an_undefined_assumption_does_not_hold():
    """So everything follows from it."""
    assert isinstance(Prover(disk=False).holds(fact("i < 0"), facts("i // 0 == 1")), Proved)


@pytest.mark.parametrize("a", [-7, -6, -1, 0, 1, 6, 7])
@pytest.mark.parametrize("b", [-3, -2, -1, 1, 2, 3])
def test_division_is_pythons(a, b):
    """With constants, and with symbols that have these values."""
    right = facts(f"i // d == {a // b} and i % d == {a % b}", f"i // ({b}) == {a // b} and i % ({b}) == {a % b}")
    given = facts(f"i == {a}", f"d == {b}")
    for each in right:
        question = canonical(each, given)
        assert z3_solver.ask_z3(question.fact, question.assumptions) == Proved("z3")
        assert isinstance(Prover(disk=False).holds(each, given), Proved)


def test_an_unknown_comparison_is_an_error():
    with pytest.raises(ValueError, match="no comparison is called 'like'"):
        Prover(disk=False).holds(Compare("like", Symbol("i"), Number(0)))


@pytest.mark.parametrize("use_z3", [False, True])
def test_deep_and_wide_terms(use_z3):
    i = Symbol("i")
    deep = divided = i
    for _ in range(10_000):
        deep = Sum((deep, Number(1)))
        divided = Quotient(Sum((divided, i)), Number(3))
    symbols = tuple(Symbol(f"x{number}") for number in range(10_000))
    wide, narrower = Sum(symbols), Sum(symbols[:300])
    doubled = i
    for _ in range(200):
        doubled = Sum((doubled, doubled))
    squared = i
    for _ in range(60):
        squared = Product((squared, squared))
    prover = Prover(disk=False)
    assert prover.holds(Compare("lt", i, deep), use_z3=use_z3) == Proved("folding")
    assert prover.holds(Compare("eq", narrower, narrower), use_z3=use_z3) == Proved("folding")
    assert isinstance(prover.holds(Compare("lt", wide, i), use_z3=use_z3), Unknown)
    assert prover.holds(Compare("le", i, doubled), facts("i >= 0"), use_z3=use_z3) == Proved("ranges")
    for term in (divided, squared):
        assert isinstance(prover.holds(Compare("lt", i, term), facts("i > 0"), use_z3=use_z3), Unknown | Refuted)


def test_verdicts_of_z3_are_kept_on_disk(folder, asked):
    assert Prover().holds(*GUARDED) == Prover().holds(*GUARDED) == Proved("z3")
    assert len(asked) == 1
    (path,) = folder.glob("*.proof")
    assert path.stat().st_mode & 0o777 == 0o600


def test_counterexamples_on_disk_have_the_names_that_were_asked(folder, asked):
    first = Prover().holds(fact("n % 8 == 0"), facts("n % 4 == 0"))
    again = Prover().holds(fact("rows % 8 == 0"), facts("rows % 4 == 0"))
    assert (first, again) == (Refuted((("n", 4),)), Refuted((("rows", 4),)))
    assert len(asked) == 1


def test_quick_verdicts_are_not_kept_on_disk(folder):
    Prover().holds(fact("i <= n"), facts("i < n"))
    assert not list(folder.iterdir())


@pytest.mark.parametrize("damage", ["flip", "empty", "short", "other question", "not json"])
def test_a_damaged_file_is_ignored_and_written_again(folder, asked, damage):
    Prover().holds(*GUARDED)
    (path,) = folder.glob("*.proof")
    good = path.read_bytes()
    if damage == "other question":
        Prover().holds(fact("n % 8 == 0"), facts("n % 4 == 0"))
        (other,) = set(folder.glob("*.proof")) - {path}
        path.write_bytes(other.read_bytes())
    else:
        bad = {"flip": good[:-3] + b"?" + good[-2:], "empty": b"", "short": good[:20], "not json": b"x\ny"}
        path.write_bytes(bad[damage])
    before = len(asked)
    assert Prover().holds(*GUARDED) == Proved("z3")
    assert len(asked) == before + 1
    assert path.read_bytes() == good


def test_a_file_that_others_can_write_is_not_believed(folder, asked):
    Prover().holds(*GUARDED)
    (path,) = folder.glob("*.proof")
    path.chmod(0o666)
    Prover().holds(*GUARDED)
    assert len(asked) == 2


def test_another_version_of_z3_is_asked_again(folder, asked, monkeypatch):
    Prover().holds(*GUARDED)
    monkeypatch.setattr(prover_module, "z3_version", lambda: "0.0")
    Prover().holds(*GUARDED)
    assert len(asked) == 2


def test_without_a_folder_nothing_is_kept(tmp_path, monkeypatch, asked):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FINCHSCHED_CACHE_DIR", str(tmp_path / "file" / "below"))
    assert Prover().holds(*GUARDED) == Prover().holds(*GUARDED) == Proved("z3")
    assert len(asked) == 2
    assert DiskMemo("1").path("00") is None


def test_memory_forgets_what_was_not_used_longest():
    memo = Memo[str, int](2)
    memo.put("a", 1)
    memo.put("b", 2)
    assert memo.get("a") == 1
    memo.put("c", 3)
    assert (memo.get("a"), memo.get("b"), memo.get("c")) == (1, None, 3)
    memo.clear()
    assert memo.get("a") is None


def test_statistics_count_methods_and_verdicts(folder):
    prover = Prover()
    for _ in range(2):
        prover.holds(fact("1 < 2"))
        prover.holds(fact("i <= n"), facts("i < n"))
        prover.holds(fact("i < n"))
        prover.holds(*GUARDED)
    prover.holds(*GUARDED, use_z3=False)
    Prover().holds(*GUARDED)
    found = prover.statistics
    assert found.questions == 9
    assert found.by_verdict() == {"proved": 6, "refuted": 2, "unknown": 1}
    methods = {method: count for method, count in found.by_method().items() if count}
    assert methods == {"folding": 1, "ranges": 1, "candidate": 1, "z3": 1, "memo": 5}
    assert all(seconds > 0 for seconds in found.seconds.values())
    assert table(found).splitlines()[-1].split()[:4] == ["all", "6", "2", "1"]
    prover.reset_statistics()
    assert prover.statistics.questions == 0
    assert found.questions == 9


def test_a_prover_that_forgets_begins_anew(folder, asked):
    prover = Prover(disk=False)
    for _ in range(2):
        prover.holds(*GUARDED)
        assert prover.statistics.by_method()["z3"] == prover.statistics.questions == 1
        prover.forget()
    assert len(asked) == 2


def test_threads_share_a_prover(folder):
    cases = [case for case in CORPUS if case.verdict != "unknown"]
    expected = [Prover(memory=False, disk=False).holds(c.fact, c.assumptions) for c in cases]
    prover, barrier = Prover(), threading.Barrier(8)

    def ask(worker):
        barrier.wait()
        order = cases[worker:] + cases[:worker]
        found = [prover.holds(c.fact, c.assumptions) for c in order]
        return found[len(cases) - worker :] + found[: len(cases) - worker]

    with ThreadPoolExecutor(8) as pool:
        assert all(found == expected for found in pool.map(ask, range(8)))
    assert prover.statistics.questions == 8 * len(cases)
