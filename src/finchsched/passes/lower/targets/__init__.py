"""How a nest writes its target: dense, append, shared, scatter and sort (see `finchsched.ast.loop.ASSEMBLIES`).

While loops are lowered, a target is entered level by level.  `enter` gives the statements that go before and after
the body at one coordinate; `assign` gives those for one element.
"""

from finchsched.passes.lower.targets.append import AppendTarget
from finchsched.passes.lower.targets.located import DenseTarget, SharedTarget
from finchsched.passes.lower.targets.make_target import make_target
from finchsched.passes.lower.targets.scatter import ScatterTarget
from finchsched.passes.lower.targets.target import Point, Target

__all__ = ["AppendTarget", "DenseTarget", "Point", "ScatterTarget", "SharedTarget", "Target", "make_target"]
