"""Compiled programs: a function, with its derivatives, becomes a straight line of NumPy calls."""

from chainrules_compile.compiled import Compiled
from chainrules_compile.compiled import compile_ as compile
from chainrules_compile.errors import RecordingError, RecordingWarning
from chainrules_compile.folder import CacheInfo
from chainrules_compile.kept import cache_info
from chainrules_compile.making import CompiledProgram

__all__ = [
    "CacheInfo", "Compiled", "CompiledProgram", "RecordingError", "RecordingWarning",
    "cache_info", "compile",
]  # fmt: skip
