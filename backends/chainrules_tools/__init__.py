"""Tools above the engines."""

from chainrules_tools.batching import vmap
from chainrules_tools.series import taylor

__all__ = ["taylor", "vmap"]
