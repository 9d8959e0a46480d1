"""Compiler that records a function, with its derivatives, as a straight-line NumPy program."""

from chainrules_compile.compile_one_call import CompiledProgram
from chainrules_compile.compiled import Compiled, compile
from chainrules_compile.errors import RecordingError, RecordingWarning

__all__ = ["Compiled", "CompiledProgram", "RecordingError", "RecordingWarning", "compile"]

chainrules_contract = 1
