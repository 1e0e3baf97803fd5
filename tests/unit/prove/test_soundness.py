"""Random questions against every small case: never a wrong Proved, and every Refuted is right.

The texts of facts are evaluated by Python itself, which shares nothing with the prover: `eval` with a division by 0 as
undefined.  A fact that is undefined does not hold.
"""

import random
from itertools import product

import pytest

from fact_text import fact
from finchsched.ast.proof import Proved, Refuted, Unknown, Verdict
from finchsched.prove.canonical import canonical
from finchsched.prove.evaluate import Values
from finchsched.prove.prover import Prover
from finchsched.prove.z3_solver import ask_z3

BOX = range(-3, 4)
SYMBOLS = ("i", "j", "n")
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


class Elements:
    """An array by its values at 0, 1, 2; elsewhere by those a model gives."""

    def __init__(self, values):
        self.values = values

    def __getitem__(self, index):
        if index not in self.values:
            raise KeyError(index)
        return self.values[index]


def nondecreasing(array, lo, hi):
    return all(array[a] <= array[a + 1] for a in range(lo, hi - 1))


def rising(array, lo, hi):
    return all(array[a] < array[a + 1] for a in range(lo, hi - 1))


def within(array, lo, hi, low, high):
    return all(low <= array[a] < high for a in range(lo, hi))


def holds(text, names):
    """True if defined and true; None if it reads an element that has no value."""
    functions = {"nondecreasing": nondecreasing, "rising": rising, "within": within}
    try:
        return bool(eval(text, functions, names))
    except ZeroDivisionError:
        return False
    except KeyError:
        return None


def random_term(rng, depth, arrays):
    choice = rng.randrange(9) if depth else rng.randrange(2)
    if choice == 0:
        return str(rng.randint(-3, 4))
    if choice == 1 or (choice == 8 and not arrays):
        return rng.choice(SYMBOLS)
    if choice == 8:
        return f"x[{random_term(rng, depth - 1, arrays)}]"
    a, b = random_term(rng, depth - 1, arrays), random_term(rng, depth - 1, arrays)
    return {
        2: f"({a} + {b})",
        3: f"({a} - {b})",
        4: f"({a} * {b})",
        5: f"({a} // {b})",
        6: f"({a} % {b})",
        7: f"{rng.choice(('min', 'max'))}({a}, {b})",
    }[choice]


def random_fact(rng, depth, arrays):
    choice = rng.randrange(7) if depth else 0
    if choice == 4:
        a, b = random_fact(rng, depth - 1, arrays), random_fact(rng, depth - 1, arrays)
        return f"({a} {rng.choice(('and', 'or'))} {b})"
    if choice == 5:
        return f"(not {random_fact(rng, depth - 1, arrays)})"
    if choice == 6 and arrays:
        return random_promise(rng)
    size = rng.choice((1, 1, 2))
    return f"({random_term(rng, size, arrays)} {rng.choice(COMPARISONS)} {random_term(rng, size, arrays)})"


def random_promise(rng):
    lo, hi = rng.choice(("0", "i", "j")), rng.choice(("n", "2", "3", "j + 1"))
    name = rng.choice(("nondecreasing", "rising", "within"))
    return f"within(x, {lo}, {hi}, 0, n)" if name == "within" else f"{name}(x, {lo}, {hi})"


def questions(seed, count, arrays):
    rng = random.Random(seed)
    for _ in range(count):
        given = [random_fact(rng, 1, arrays) for _ in range(rng.randrange(4))]
        if rng.random() < 0.6:
            given.append(f"({rng.choice(SYMBOLS)} >= {rng.randint(0, 1)})")
        yield random_fact(rng, 2, arrays), given


def small_cases(arrays):
    for numbers in product(BOX, repeat=len(SYMBOLS)):
        names = dict(zip(SYMBOLS, numbers, strict=True))
        if not arrays:
            yield names
    if arrays:
        rng = random.Random(0)
        for _ in range(600):
            names = {name: rng.randint(-1, 3) for name in SYMBOLS}
            yield {**names, "x": Elements({at: rng.randint(-2, 4) for at in range(-12, 13)})}
        for values in product(range(3), repeat=3):
            for numbers in product(range(4), repeat=3):
                yield {**dict(zip(SYMBOLS, numbers, strict=True)), "x": Elements(dict(enumerate(values)))}


def is_counterexample(what, given, names):
    return all(holds(text, names) is True for text in given) and holds(what, names) is False


def check(verdict: Verdict, what, given, cases):
    label = f"{what}  given  {given}: {verdict}"
    if isinstance(verdict, Proved):
        wrong = next((names for names in cases if is_counterexample(what, given, names)), None)
        assert wrong is None, f"{label}\nbut {wrong}"
    elif isinstance(verdict, Refuted):
        values = Values.of_model(verdict.model)
        elements = Elements({index: value for (_, index), value in values.elements.items()})
        names = {**dict.fromkeys(SYMBOLS, 0), **values.symbols, "x": elements}
        assert is_counterexample(what, given, names), label
    else:
        assert verdict.reason


@pytest.mark.parametrize("arrays", [False, True], ids=["symbols", "arrays"])
def test_quick_methods(arrays):
    prover = Prover(disk=False)
    cases = list(small_cases(arrays))
    found = {Proved: 0, Refuted: 0, Unknown: 0}
    for what, given in questions(11, 500, arrays):
        verdict = prover.holds(fact(what), [fact(text) for text in given], use_z3=False)
        check(verdict, what, given, cases)
        found[type(verdict)] += 1
    assert found[Proved] > 20
    assert found[Refuted] > 100


@pytest.mark.parametrize("arrays", [False, True], ids=["symbols", "arrays"])
def test_z3(arrays):
    cases = list(small_cases(arrays))
    found = {Proved: 0, Refuted: 0, Unknown: 0}
    for what, given in questions(13, 60, arrays):
        question = canonical(fact(what), [fact(text) for text in given])
        verdict = ask_z3(question.fact, question.assumptions, steps=200_000)
        if isinstance(verdict, Refuted):
            verdict = question.as_given(verdict)
        check(verdict, what, given, cases)
        found[type(verdict)] += 1
    assert found[Proved] > 3
    assert found[Refuted] > 20
