"""The strategy for each kind of assembly."""

from finchsched.algebra.operators import Operator
from finchsched.ast.loop import Access
from finchsched.ast.names import Names
from finchsched.passes.lower.targets.append import AppendTarget
from finchsched.passes.lower.targets.located import DenseTarget, SharedTarget
from finchsched.passes.lower.targets.scatter import ScatterTarget
from finchsched.passes.lower.targets.target import Target

__all__ = ["make_target"]


def make_target(access: Access, assembly: str, op: Operator | None, names: Names) -> Target:
    """The strategy for a nest's target."""
    match assembly:
        case "dense":
            return DenseTarget(access, op, names)
        case "append":
            return AppendTarget(access, op, names)
        case "sort":
            return AppendTarget(access, op, names, unsorted=True)
        case "shared":
            return SharedTarget(access, op, names)
        case _:
            return ScatterTarget(access, op, names)
