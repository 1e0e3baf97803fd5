"""What is known at one place of a nest: how far each access is resolved, and the coordinates of the loops around it."""

from dataclasses import dataclass
from typing import TypeAlias

from finchsched.ast.format import storage_order
from finchsched.ast.kernel import ZERO, KernelExpr, Var
from finchsched.ast.loop import Access
from finchsched.ast.looplet import Child
from finchsched.ast.node import Node

__all__ = ["Coords", "Cursor", "Env", "Scope", "cursor_of", "storage"]


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far an access has been resolved: the next level to unfurl, and the position of its fiber there.

    `entered`: for a target, up to which level `Target.enter` has been called.  `end`: inside a coordinate list, where
    the entries end that begin at `position`.  `present`: where that variable is false, nothing is stored.
    """

    level: int
    position: KernelExpr
    entered: int = 0
    end: KernelExpr | None = None
    present: Var | None = None

    @property
    def fiber(self) -> Child:
        """The fiber to unfurl next, as a child of the level above."""
        return Child(self.position, self.end, self.present)

    def descend(self, child: Child) -> "Cursor":
        """The cursor of a child, one level further in."""
        return Cursor(self.level + 1, child.position, self.entered, child.end, child.present)


Env: TypeAlias = dict[Access, Cursor | Var]
"""How far each access is resolved: a cursor, or the variable that holds its value."""

Coords: TypeAlias = dict[str, KernelExpr]
"""The coordinate of each index whose loop has been entered."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What is known at one place of a nest."""

    env: Env
    coords: Coords


def cursor_of(access: Access, env: Env) -> Cursor:
    """How far an access is resolved whose value has not been loaded."""
    found = env.get(access, Cursor(0, ZERO))
    assert isinstance(found, Cursor)
    return found


def storage(access: Access) -> tuple[Node, ...]:
    """The index of each level of an access, outermost first."""
    return storage_order(access.tensor.type, access.index)
