"""Native programs: what `chainrules_compile` records, written as C and compiled by the system."""

from chainrules_compile.c.cache import cache_info
from chainrules_compile.c.folder import CacheInfo
from chainrules_compile.c.writer import write

__all__ = ["CacheInfo", "cache_info", "write"]
