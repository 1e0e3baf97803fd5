"""Arrays inside tuples, lists and dicts, to any depth: what functions of arrays take and give."""

from collections.abc import Callable
from typing import Any

__all__ = ["map_leaves"]


def map_leaves(change: Callable[[Any], Any], value: Any) -> Any:
    """`value` with `change` applied to everything in it that is no tuple, list or dict.

    Named tuples keep their class, dicts their keys and order.

    >>> map_leaves(lambda n: n + 1, {"a": (1, [2]), "b": 3})
    {'a': (2, [3]), 'b': 4}
    """
    match value:
        case dict():
            return {key: map_leaves(change, item) for key, item in value.items()}
        case list():
            return [map_leaves(change, item) for item in value]
        case tuple() if hasattr(value, "_fields"):
            return type(value)(*(map_leaves(change, item) for item in value))
        case tuple():
            return tuple(map_leaves(change, item) for item in value)
        case _:
            return change(value)
