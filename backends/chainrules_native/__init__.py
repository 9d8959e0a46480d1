"""Native programs: what `chainrules_compile` records, written as C and compiled by the system."""

from chainrules_native.cache import cache_info
from chainrules_native.folder import CacheInfo
from chainrules_native.writer import write

__all__ = ["CacheInfo", "cache_info", "write"]
