"""Make a failing program smaller, as long as it fails: less text, smaller tensors, plainer formats and values."""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from strategies import Operand, Program, nest


def reduce_program(program: Program, fails: Callable[[Program], bool]) -> Program:
    """The smallest program found, greedily; `fails` must not raise."""
    found = True
    while found:
        found = False
        for smaller in _smaller(program):
            if fails(smaller):
                program, found = smaller, True
                break
    return program


def _smaller(program: Program) -> Iterator[Program]:
    yield from _with_less_text(program)
    yield from _with_less_data(program)
    if program.output is not None:
        yield replace(program, output=None)
    for name, operand in program.operands.items():
        for plainer in _plainer(operand):
            yield replace(program, operands={**program.operands, name: plainer})
    for name, value in program.scalars.items():
        if value != 2:
            yield replace(program, scalars={**program.scalars, name: 2})


def _with_less_text(program: Program) -> Iterator[Program]:
    """One operation replaced by one of its arguments, or by 1."""
    head, _, right = re.fullmatch(r"(.*?(?<![=<>!])(=))(?!=)(.*)", program.text).groups()  # type: ignore[union-attr]  # it was parsed
    tree = ast.parse(right.strip(), mode="eval")
    nodes = [n for n in ast.walk(tree) if isinstance(n, ast.BinOp | ast.Call | ast.Compare)]
    for node in nodes:
        for part in [c for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr)][::-1]:
            text = ast.unparse(_Replace(node, part).visit(ast.parse(right.strip(), mode="eval")))
            yield from _with_text(program, f"{head} {text}")


class _Replace(ast.NodeTransformer):
    """Replaces what prints like `old`."""

    def __init__(self, old: ast.expr, new: ast.expr) -> None:
        self.old, self.new = ast.dump(old), new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if ast.dump(node) == self.old else self.generic_visit(node)


def _with_text(program: Program, text: str) -> Iterator[Program]:
    """The program with another text, without the operands it no longer has; nothing if an output index is lost."""
    used = set(re.findall(r"\b[A-Zst]\b", text.partition("=")[2]))
    operands = {name: operand for name, operand in program.operands.items() if name in used}
    scalars = {name: value for name, value in program.scalars.items() if name in used}
    if operands:
        yield replace(program, text=text, operands=operands, scalars=scalars)


def _with_less_data(program: Program) -> Iterator[Program]:
    """One coordinate of one index left out everywhere."""
    reads = re.findall(r"([ABC])\[([^\]]*)\]", program.text.partition("=")[2])
    extents: dict[str, int] = {}
    for name, letters in reads:
        extents.update(zip(letters.split(","), program.operands[name].values.shape, strict=True))
    for letter, extent in extents.items():
        for gone in range(extent - 1, -1, -1):
            operands = dict(program.operands)
            for name, letters in dict(reads).items():
                operand = operands[name]
                for axis, here in enumerate(letters.split(",")):
                    if here == letter:
                        values, mask = (np.delete(x, gone, axis) for x in (operand.values, operand.mask))
                        operand = replace(operand, values=values, mask=mask)
                operands[name] = operand
            yield replace(program, operands=operands)


def _plainer(operand: Operand) -> Iterator[Operand]:
    rank = len(operand.levels)
    if operand.perm != tuple(range(rank)):
        yield replace(operand, perm=tuple(range(rank)))
    for number, level in enumerate(operand.levels):
        for letter in "ds":
            plain = nest(letter)[0]
            if level != plain and not level.stores_all:
                yield replace(operand, levels=(*operand.levels[:number], plain, *operand.levels[number + 1 :]))
    if operand.fill not in (0, 0.0) or str(operand.fill) == "-0.0":
        yield replace(operand, fill=type(operand.fill)(0))
    if operand.values.dtype != np.float64:
        yield replace(operand, values=operand.values.real.astype(np.float64), fill=float(np.real(operand.fill)))
    for at in np.argwhere(operand.mask):
        mask = operand.mask.copy()
        mask[tuple(at)] = False
        yield replace(operand, mask=mask)
    for at in np.argwhere(operand.mask & (operand.values != 1)):
        values = operand.values.copy()
        values[tuple(at)] = 1
        yield replace(operand, values=values)
