"""The grammar block at the top of a node file, generated from the dataclasses in it."""

import ast
import inspect
from types import ModuleType

from finchsched.ast.node import Node

__all__ = ["grammar_of"]


def grammar_of(module: ModuleType) -> str:
    """One line per node class of `module`, in the order of the file: `Name(field: annotation, ...)`.

    Annotations stand as written, without quotes and under the names that imported types have at home.
    """
    tree = ast.parse(inspect.getsource(module))
    homes = {
        alias.asname: alias.name
        for statement in tree.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
        if alias.asname is not None
    }
    return "\n".join(
        f"{statement.name}({', '.join(_fields(statement, homes))})"
        for statement in tree.body
        if isinstance(statement, ast.ClassDef) and _is_node(getattr(module, statement.name))
    )


def _is_node(cls: type[object]) -> bool:
    return issubclass(cls, Node) and hasattr(cls, "__dataclass_fields__")


def _fields(statement: ast.ClassDef, homes: dict[str, str]) -> list[str]:
    """The positional fields of a dataclass: structure, not provenance."""
    return [
        f"{part.target.id}: {_annotation(part.annotation, homes)}"
        for part in statement.body
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name) and not _stands_outside(part)
    ]


def _stands_outside(part: ast.AnnAssign) -> bool:
    keyword_only = isinstance(part.value, ast.Call) and any(k.arg == "kw_only" for k in part.value.keywords)
    return keyword_only or ast.unparse(part.annotation).startswith("ClassVar")


def _annotation(annotation: ast.expr, homes: dict[str, str]) -> str:
    text = ast.unparse(_HomeNames(homes).visit(annotation))
    return text.replace("'", "")


class _HomeNames(ast.NodeTransformer):
    def __init__(self, homes: dict[str, str]) -> None:
        self.homes = homes

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self.homes.get(node.id, node.id), node.ctx)
