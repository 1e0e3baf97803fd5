"""The base of all IR nodes: frozen, hashed once at construction, compared by structure without recursion.

A node is a frozen, slotted dataclass whose fields are nodes, tuples of nodes, operators, names or plain scalars.
Scalars are compared by type and value (`finchsched.algebra.dtypes.scalar_key`), so `Literal(1)` and `Literal(1.0)`
differ and NaN equals NaN.  A keyword-only field declared with `compare=False` is provenance and stands outside
equality and hash.
"""

from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any, Self

from finchsched.algebra.dtypes import scalar_key

__all__ = ["Node", "children", "derive", "distinct", "field_names", "rebuild", "rebuild_postorder", "walk"]


class Node:
    """A node of an IR.  Subclass with `@dataclass(frozen=True, slots=True, eq=False)`."""

    __slots__ = ("_children", "_facts", "_hash", "_key")
    _children: tuple["Node", ...] | None
    _facts: dict[str, Any] | None
    _hash: int
    _key: tuple[Any, ...]

    def __post_init__(self) -> None:
        """Compute the hash from the class name and the structural fields."""
        key = tuple([_field_key(getattr(self, name)) for name in field_names(type(self))])
        object.__setattr__(self, "_key", key)
        object.__setattr__(self, "_hash", hash((type(self).__name__, key)))
        object.__setattr__(self, "_facts", None)
        object.__setattr__(self, "_children", None)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Node) or self._hash != other._hash:
            return False
        stack: list[tuple[Any, Any]] = [(self, other)]
        while stack:
            a, b = stack.pop()
            if a is b:
                continue
            if isinstance(a, Node):
                if type(a) is not type(b) or a._hash != b._hash:
                    return False
                stack.extend(zip(a._key, b._key, strict=True))
            elif isinstance(a, tuple):
                if not isinstance(b, tuple) or len(a) != len(b):
                    return False
                stack.extend(zip(a, b, strict=True))
            elif a != b:
                return False
        return True

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed; the same object when nothing differs."""
        names = _all_field_names(type(self))
        values = {name: changes.get(name, getattr(self, name)) for name in names}
        if all(values[name] is getattr(self, name) for name in names):
            return self
        return type(self)(**values)

    def __reduce__(self) -> tuple[Any, ...]:
        return (rebuild_postorder, (_postorder_table(self),))


def derive(root: Node, name: str, rule: Callable[[Node], Any], *, through: Any = None) -> Any:
    """The fact `name` of a node, by `rule`, which may ask for the same fact of the node's children with `known`.

    Facts are kept on the nodes they belong to and derived children first, so depth costs no recursion.  Only children
    of the class `through` (by default all) have the fact.
    """
    if root._facts is not None and name in root._facts:
        return root._facts[name]
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        facts = node._facts
        if facts is not None and name in facts:
            continue
        if not ready:
            stack.append((node, True))
            stack.extend((c, False) for c in children(node) if through is None or isinstance(c, through))
            continue
        found = rule(node)
        if node._facts is None:
            object.__setattr__(node, "_facts", {name: found})
        else:
            node._facts[name] = found
    assert root._facts is not None
    return root._facts[name]


def _field_key(value: Any) -> Any:
    if isinstance(value, bool | int | float | complex):
        return scalar_key(value)
    return value


_structural: dict[type, tuple[str, ...]] = {}
_all: dict[type, tuple[str, ...]] = {}


def field_names(cls: type[Node]) -> tuple[str, ...]:
    """Names of the structural fields of a node class, in order."""
    names = _structural.get(cls)
    if names is None:
        names = _structural[cls] = tuple(f.name for f in fields(cls) if f.compare)  # type: ignore[arg-type]  # a dataclass
    return names


def _all_field_names(cls: type[Node]) -> tuple[str, ...]:
    names = _all.get(cls)
    if names is None:
        names = _all[cls] = tuple(f.name for f in fields(cls))  # type: ignore[arg-type]  # a dataclass
    return names


def children(node: Node) -> tuple[Node, ...]:
    """The child nodes of `node`, in field order; worked out once per node."""
    found = node._children
    if found is None:
        found = tuple(_find_children(node))
        object.__setattr__(node, "_children", found)
    return found


def _find_children(node: Node) -> Iterator[Node]:
    for value in node._key:
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple):
            for item in value:
                if isinstance(item, Node):
                    yield item


def walk(node: Node) -> Iterator[Node]:
    """All nodes under `node`, parents before children, left to right, without recursion."""
    stack = [node]
    while stack:
        here = stack.pop()
        yield here
        below = here._children  # as `children` does, without a call: a tenth of planning is spent here
        if below is None:
            below = children(here)
        if below:
            stack.extend(below[::-1])


def distinct(root: Node) -> list[Node]:
    """The nodes under `root`, each object once, children before parents, left to right."""
    found: list[Node] = []
    seen: set[int] = set()
    stack = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            found.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(children(node)))
    return found


def rebuild(node: Node, new_children: list[Node]) -> Node:
    """`node` with its children replaced in the order of `children`; the same object if none changed."""
    old = children(node)
    if len(old) != len(new_children):
        raise ValueError(
            f"{type(node).__name__} has {len(old)} children; found {len(new_children)} to take their place"
        )
    if all(a is b for a, b in zip(old, new_children, strict=True)):
        return node
    supply = iter(new_children)
    values: dict[str, Any] = {}
    for name in _all_field_names(type(node)):
        value = getattr(node, name)
        if isinstance(value, Node):
            value = next(supply)
        elif isinstance(value, tuple) and any(isinstance(item, Node) for item in value):
            value = tuple(next(supply) if isinstance(item, Node) else item for item in value)
        values[name] = value
    return type(node)(**values)


def _postorder_table(root: Node) -> list[tuple[type[Node], list[Any]]]:
    """Rows (class, field values); a child stands as the index of its row, so pickling a deep tree does not recurse."""
    index: dict[int, int] = {}
    table: list[tuple[type[Node], list[Any]]] = []
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if id(node) in index:
            continue
        if not ready:
            stack.append((node, True))
            stack.extend((child, False) for child in children(node))
            continue
        row = [_flatten(getattr(node, name), index) for name in _all_field_names(type(node))]
        index[id(node)] = len(table)
        table.append((type(node), row))
    return table


def _flatten(value: Any, index: dict[int, int]) -> Any:
    if isinstance(value, Node):
        return ("node", index[id(value)])
    if isinstance(value, tuple):
        return ("tuple", [_flatten(item, index) for item in value])
    return ("plain", value)


def _unflatten(value: Any, built: list[Node]) -> Any:
    kind, payload = value
    if kind == "node":
        return built[payload]
    if kind == "tuple":
        return tuple(_unflatten(item, built) for item in payload)
    return payload


def rebuild_postorder(table: list[tuple[type[Node], list[Any]]]) -> Node:
    """The node that `Node.__reduce__` took apart."""
    built: list[Node] = []
    for cls, row in table:
        values = {name: _unflatten(v, built) for name, v in zip(_all_field_names(cls), row, strict=True)}
        built.append(cls(**values))
    return built[-1]
