"""finchsched: an autoscheduling compiler for sparse, structured and dense arrays."""

from finchsched import api, errors
from finchsched.api import *  # noqa: F403 - everything that finchsched.api lists is public
from finchsched.settings import config
from finchsched.version import __version__

__all__ = ["__version__", "config", "errors"]
__all__ += api.__all__
