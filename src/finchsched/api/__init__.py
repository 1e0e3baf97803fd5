"""The front end: tensors with operators, lazy arrays, einsum, plans, and functions under the array API's names.

A public function is listed in the `__all__` of the module it lives in; those modules are listed here, once.
"""

from finchsched.api import creation, elementwise, files, products, rearranging, reductions, views
from finchsched.api.creation import *  # noqa: F403 - a star stands for the names in the module's __all__
from finchsched.api.elementwise import *  # noqa: F403
from finchsched.api.files import *  # noqa: F403
from finchsched.api.functions import asarray, compute, einsum, explain, lazy, plan
from finchsched.api.fuse import Fused, fuse
from finchsched.api.lazy import Lazy
from finchsched.api.plan import Plan
from finchsched.api.products import *  # noqa: F403
from finchsched.api.rearranging import *  # noqa: F403
from finchsched.api.reductions import *  # noqa: F403
from finchsched.api.tensor import Tensor
from finchsched.api.views import *  # noqa: F403
from finchsched.io import sample_path

__all__ = [
    "Fused",
    "Lazy",
    "Plan",
    "Tensor",
    "asarray",
    "compute",
    "einsum",
    "explain",
    "fuse",
    "lazy",
    "plan",
    "sample_path",
]
__all__ += creation.__all__
__all__ += elementwise.__all__
__all__ += files.__all__
__all__ += products.__all__
__all__ += rearranging.__all__
__all__ += reductions.__all__
__all__ += views.__all__
