"""Writes: whether functions may write in place to what they are given.

Most of what people state computes new arrays, and its code shows it. What does more, or calls what
has no code, may write: then what it is given is compared before and after.
"""

from __future__ import annotations

import functools
import itertools
import sys
import types
from collections.abc import Iterable
from typing import Any

from chainrules_py.primitives.closures.contents import is_library, is_of_library
from chainrules_py.primitives.closures.reach import Reach, Walk
from chainrules_py.primitives.primitive import Primitive

_STEPS = ("STORE_SUBSCR", "STORE_SLICE", "CALL_FUNCTION_EX")
_WRITING = {
    "at", "byteswap", "copyto", "eval", "exec", "fill", "fill_diagonal", "getattr", "itemset",
    "partition", "place", "put", "put_along_axis", "putmask", "resize", "setfield", "setflags",
    "shuffle", "sort", "copy", "out", "output", "overwrite_a", "overwrite_b", "overwrite_x",
    "__setitem__", "setitem", "iadd", "iand", "ifloordiv", "ilshift", "imatmul", "imod", "imul",
    "ior", "ipow", "irshift", "isub", "itruediv", "ixor",
}  # fmt: skip
"""Functions, methods and options of libraries that write to an operand."""
_PLAIN = {*sys.stdlib_module_names, "__main__"} - {"ctypes", "_ctypes"}
_PLAIN |= {"numpy", "scipy", "cupy", "torch", "jax", "jaxlib", "autograd", "dask", "pandas"}
"""Libraries whose functions write to no operand, but by those names."""
_FOLLOWED = (types.FunctionType, types.MethodType, type, Primitive, functools.partial)
"""Callables of which the code is looked at."""


def may_write(functions: Iterable[Any], places: bool = False) -> bool:
    """Tell whether functions, or what they call, may write to an operand; no if none can.

    With ``places`` also by naming one, as the last operand, as the place for a ufunc's result: more
    code looks like that.

    Examples
    --------
    >>> import numpy as np
    >>> may_write([np.exp]), may_write([np.copyto])
    (False, True)
    """
    walk = Walk(Reach(()))
    walk.over(functions)
    roots = {name.partition(".")[0] for name in walk.reach.libraries}
    foreign = [root for root in roots - _PLAIN if root[:11] != "chainrules_"]
    found = walk.seen.values()
    if not walk.reach.whole or foreign or any(map(_writes, found)):
        return True
    return places and any([_gives_place(f) for f in found if type(f) is types.FunctionType])


def _writes(x: Any) -> bool:
    if type(x) is types.FunctionType:
        return not is_of_library(x) and _code_writes(x.__code__)
    if not callable(x) or isinstance(x, _FOLLOWED):
        return False
    module = getattr(x, "__module__", None) or type(x).__module__
    return _is_writing(getattr(x, "__name__", "")) or not is_library(module)


@functools.lru_cache(maxsize=4096)
def _code_writes(code: types.CodeType) -> bool:
    """Tell whether code has a step that writes, or that assigns what is another function's."""
    import dis  # which imports inspect

    given = [c for c in code.co_consts if type(c) is tuple]  # the names of options among them
    if any([type(n) is str and _is_writing(n) for n in itertools.chain(code.co_names, *given)]):
        return True
    for step in dis.get_instructions(code):
        name = step.opname
        if name in _STEPS or (name == "STORE_DEREF" and step.argval in code.co_freevars):
            return True
        if name == "BINARY_OP" and step.argrepr.endswith("="):
            return True
    return any([isinstance(c, types.CodeType) and _code_writes(c) for c in code.co_consts])


def _gives_place(f: types.FunctionType) -> bool:
    """Tell whether a function may name a place for a result as the last operand of a ufunc."""
    import dis

    code = f.__code__
    steps = [step for step in dis.get_instructions(code) if step.opname.startswith("CALL")]
    most = max([step.arg or 0 for step in steps], default=0)
    known = [f.__globals__[name] for name in code.co_names if name in f.__globals__]
    modules = [vars(x) for x in known if type(x) is types.ModuleType]
    known += [module[name] for module in modules for name in code.co_names if name in module]
    return any([type(x).__name__ == "ufunc" and most > x.nin for x in known])


def _is_writing(name: str) -> bool:
    """Tell whether a name is that of what writes; PyTorch's end in _, Python's begin with __i."""
    by_form = (name[-1:] == "_" and name[:1] != "_") or (name[:3] == "__i" and name != "__init__")
    return by_form or name in _WRITING


@functools.lru_cache(maxsize=4096)
def updated(code: types.CodeType) -> frozenset[str]:
    """Name what code captured, and computes anew from itself (``s = 2.0 * s``)."""
    import dis

    found, read = set[str](), set[str]()
    for step in dis.get_instructions(code):
        read = set() if step.starts_line else read
        if step.argval in code.co_freevars:
            if step.opname == "STORE_DEREF" and step.argval in read:
                found.add(step.argval)
            read.add(step.argval)
    return frozenset(found)
