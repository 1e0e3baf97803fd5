"""Targets whose elements are found by position: dense ones, and those that share an operand's index arrays."""

from dataclasses import dataclass

from finchsched.ast.kernel import KernelExpr
from finchsched.ast.loop import Access
from finchsched.ast.looplet import Looplet
from finchsched.passes.lower.targets.target import Around, Point, Target

__all__ = ["DenseTarget", "SharedTarget"]


@dataclass(slots=True)
class DenseTarget(Target):
    """Every level locates.  The runtime fills the values first, unless every element is written (`covered`)."""

    def enter(self, level: int, child: KernelExpr, point: Point) -> Around:
        """A register at the innermost level if the element is reduced by inner loops."""
        if level + 1 < self.rank:
            return [], []
        self.once = point.single and not point.reduced
        self.covered = point.covering and (point.single or self.op is None)
        return self.around_element(child, point, afresh=point.single)


@dataclass(slots=True)
class SharedTarget(Target):
    """Has exactly one operand's stored coordinates: it follows that operand's cursor and shares its index arrays."""

    model: Access | None = None

    def unfurl(self, level: int, parent: KernelExpr, extent: KernelExpr) -> Looplet | None:
        """The target follows its model instead."""
        return None

    def enter(self, level: int, child: KernelExpr, point: Point) -> Around:
        """A register at the innermost level if the element is reduced by inner loops."""
        if level + 1 < self.rank:
            return [], []
        self.once = not point.reduced
        return self.around_element(child, point, afresh=True)
