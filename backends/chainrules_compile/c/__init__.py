"""Native programs: programs that `chainrules_compile` records, written and compiled as C."""

from chainrules_compile.c.cache import cache_info
from chainrules_compile.c.cache_folder import CacheInfo
from chainrules_compile.c.native_writer import write

__all__ = ["CacheInfo", "cache_info", "write"]
