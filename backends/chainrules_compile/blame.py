"""Blame: who raised an error while a function was recorded, and what was refused before that."""

from __future__ import annotations

import ast
import builtins
import linecache
import sys
import types
from typing import Any

from chainrules_compile.errors import RecordingError
from chainrules_py import ChainRulesError
from chainrules_py.extend import is_library


def blame(error: BaseException, said: list[BaseException]) -> None:
    """Raise what was refused, where others have wrapped it; else have it be the cause of an error.

    What is written in C may go on after a refusal, and raise something else for it.
    """
    if not said or isinstance(error, RecordingError) or any([x is error for x in said]):
        return
    if isinstance(error, ChainRulesError):
        raise said[-1] from error
    if error.__cause__ is None:
        error.__cause__ = said[0]


def place(traceback: types.TracebackType | None) -> str:
    """Return the last line of people's code in a traceback, to stand behind a sentence."""
    found = ""
    while traceback is not None:
        frame = traceback.tb_frame
        if not is_library(frame.f_globals.get("__name__", "")):
            code = frame.f_code
            found = f" (line {traceback.tb_lineno} of {code.co_name}, {code.co_filename})"
        traceback = traceback.tb_next
    return found


def functions_of(traceback: types.TracebackType | None) -> set[str]:
    """Return the names of the functions that an error came through."""
    found = set[str]()
    while traceback is not None:
        found.add(traceback.tb_frame.f_code.co_name)
        traceback = traceback.tb_next
    return found


def raised_in(traceback: types.TracebackType | None) -> str:
    """Return which installed library raised an error, and the line that called it; or nothing.

    What is compiled, as Cython is, has a line in a traceback too, where it has no frame while it
    runs. What is written in C has none: it is what the last line calls.
    """
    line, found, last = "", "", None
    while traceback is not None:
        frame, number = traceback.tb_frame, traceback.tb_lineno
        module = frame.f_globals.get("__name__", "")
        root = module.partition(".")[0]
        if not is_library(module):
            line, found, last = f" in line {number} of {frame.f_code.co_name}", "", traceback
        elif not (found or root == "numpy" or root.startswith("chainrules_")):
            found = root if line or root not in sys.stdlib_module_names else ""
        traceback = traceback.tb_next
    if not found and last is not None:
        found = _library_of(_called(last.tb_frame, last.tb_lasti))
    return found and found + line


def _library_of(f: Any) -> str:
    """Return the installed library that has a function written in C; or nothing."""
    if not isinstance(f, (types.BuiltinFunctionType, types.MethodDescriptorType, type)):
        return ""
    home = getattr(f, "__module__", None) or getattr(getattr(f, "__self__", None), "__name__", "")
    root = str(home).partition(".")[0]
    known = root in ("numpy", "builtins") or root in sys.stdlib_module_names
    return "" if known or root.startswith("chainrules_") or not is_library(str(home)) else root


def _called(frame: types.FrameType, last: int) -> Any:
    """Return what a frame calls by its last instruction, if its text has a name for that."""
    where = list(frame.f_code.co_positions())[last // 2]
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
    if None in where or not lines:
        return None
    start, end, first, beyond = [x or 0 for x in where]
    part = [line.encode() for line in lines[start - 1 : end]]
    if not part:
        return None
    part[-1] = part[-1][:beyond]
    part[0] = part[0][first:]
    try:
        node = ast.parse(b"(" + b"".join(part) + b")", mode="eval").body
    except SyntaxError:
        return None
    return _named(node.func, frame) if isinstance(node, ast.Call) else None


def _named(node: ast.expr, frame: types.FrameType) -> Any:
    """Return what a name, or an attribute of a module, a class or an instance, stands for."""
    if isinstance(node, ast.Name):
        scopes = (frame.f_locals, frame.f_globals, vars(builtins))
        return next((scope[node.id] for scope in scopes if node.id in scope), None)
    if not isinstance(node, ast.Attribute):
        return None
    owner = _named(node.value, frame)
    owner = owner if isinstance(owner, (types.ModuleType, type)) else type(owner)
    return getattr(owner, node.attr, None)
