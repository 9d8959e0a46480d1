"""Compiled programs: a function, with its derivatives, becomes a straight line of NumPy calls."""

from chainrules_compile.building import CompiledProgram
from chainrules_compile.compiled import Compiled
from chainrules_compile.compiled import compile_ as compile
from chainrules_compile.errors import RecordingError, RecordingWarning

__all__ = ["Compiled", "CompiledProgram", "RecordingError", "RecordingWarning", "compile"]

chainrules_contract = 1
