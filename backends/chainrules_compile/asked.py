"""Questions for the exact class of a value, as ``type(x) is float``, in the code of a function.

To `isinstance` and its like a noted value answers as what it stands for; `type` shows its own class
to everybody. What code would do with the other answer cannot be known, so such code is no program.
"""

from __future__ import annotations

import builtins
import dis
import functools
import types
from typing import Any

import numpy as np

from chainrules_py.extend import type_info

_UNKNOWN = object()
_COMPARING = ("IS_OP", "COMPARE_OP", "CONTAINS_OP")
_CALLING = ("PRECALL", "CALL", "KW_NAMES", "PUSH_NULL")
_NEAR = 12
"""How many instructions later a class is compared at most."""


def asks_class(f: types.FunctionType) -> bool:
    """Tell whether a function compares the exact class of what may be noted with another.

    Examples
    --------
    >>> asks_class(lambda x: type(x) is float), asks_class(lambda x: isinstance(x, float))
    (True, False)
    >>> asks_class(lambda x: type(x) is dict), asks_class(lambda x: type(x).__name__)
    (False, False)
    """
    scope = f.__globals__
    if scope.get("type", type) is not type:
        return False
    return any([_asks(code, scope) for code in _with_type(f.__code__)])


@functools.lru_cache(maxsize=1024)
def _with_type(code: types.CodeType) -> list[types.CodeType]:
    """Return the code, and the codes in it, that name `type`."""
    found = [code] if "type" in code.co_names else []
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            found += _with_type(each)
    return found


def _asks(code: types.CodeType, scope: dict[str, Any]) -> bool:
    steps = [step for step in dis.get_instructions(code) if step.opname not in ("CACHE", "NOP")]
    for i, step in enumerate(steps):
        if step.opname == "LOAD_GLOBAL" and step.argval == "type":
            if steps[i + 1].argval in ("self", "cls"):
                continue
            # Of what is called inside of it, the call of `type` cannot be told apart.
            near = enumerate(steps[i : i + _NEAR], i + 1)
            ends = [k for k, s in near if s.opname == "CALL" and s.arg == 1]
            if any([_compares(steps[k : k + _NEAR], code, scope) for k in ends]):
                return True
    return False


def _compares(steps: list[dis.Instruction], code: types.CodeType, scope: dict[str, Any]) -> bool:
    """Tell whether instructions compare the class that was computed just before."""
    loaded: list[Any] = []
    for step in steps:
        name = step.opname
        if name == "LOAD_GLOBAL":
            loaded.append(scope.get(step.argval, getattr(builtins, step.argval, _UNKNOWN)))
        elif name in ("LOAD_ATTR", "LOAD_METHOD"):
            if not loaded:
                return False
            loaded[-1] = getattr(loaded[-1], step.argval, _UNKNOWN)
        elif name == "LOAD_CONST":
            loaded.append(step.argval)
        elif name.startswith("LOAD_"):
            loaded.append(_UNKNOWN)
        elif name in _COMPARING:
            return not loaded or any(map(_may_be_noted, loaded))
        elif name == "BINARY_SUBSCR":
            return not loaded
        elif name.startswith("STORE_"):
            return any([s.opname in _COMPARING for s in dis.get_instructions(code)])
        elif name in _CALLING:
            return bool({"issubclass", "get"} & {*code.co_names}) or type in loaded
        elif not name.startswith(("BUILD_", "COPY", "SWAP")):
            return False
    return False


def _may_be_noted(x: Any) -> bool:
    """Tell whether a noted value may stand for one of a class; of what is no class, it may."""
    if isinstance(x, tuple):
        return any(map(_may_be_noted, x))
    if not isinstance(x, type):
        return x is not None
    info = type_info(x)
    numbers = info.is_array or info.is_number or issubclass(x, (np.generic, np.ndarray))
    return numbers and not issubclass(x, int)
