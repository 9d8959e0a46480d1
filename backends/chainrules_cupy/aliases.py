"""Aliases of CuPy's functions, derived from NumPy's where names and parameters agree."""

from __future__ import annotations

import ast
import functools
import importlib
import itertools
import traceback
from collections.abc import Callable
from typing import Any

import cupy
import numpy as np

from chainrules_cupy._private import OF_COMPOSITES, where_ufunc, with_broadcast
from chainrules_kit import derive, rows_of
from chainrules_py import NotDifferentiableError
from chainrules_py import ops as v
from chainrules_py.extend import (
    Alias,
    Line,
    Tracer,
    advise,
    advisers,
    alias,
    find_tracers,
    later,
    refusers,
    see,
    see_roots,
)

left_out: dict[str, str] = {}
"""NumPy functions with an alias that have none in CuPy, with the reason."""

_UFUNC = {"out": None, "dtype": None, "casting": "same_kind"}
"""The keywords of CuPy's ufuncs."""

_OF_UFUNCS = ("reduce", "accumulate", "outer", "at")
"""Ufunc methods that are skipped: CuPy lacks them, or has them as reductions with aliases."""


def _inside(space: Any, path: str) -> Any:
    try:
        return functools.reduce(getattr, path.split("."), space)
    except AttributeError:
        return None


def derive_all(root: str, space: Any) -> None:
    """Derive an alias for each function of a library from the aliases of another library."""
    for path, row in rows_of(root).items():
        first, _, last = path.partition(".")
        if first == "generic" or last in _OF_UFUNCS:
            continue
        native = _inside(space, path)
        if native is None:
            left_out[f"{root}.{path}"] = "CuPy has no function of this name"
        elif _derived(native, row) is None:
            left_out[f"{root}.{path}"] = "its parameters are others"


def _derived(native: Any, row: Alias) -> Alias | None:
    if isinstance(native, cupy.ufunc):
        operands = [n for n in row.positional if n not in _UFUNC]
        return derive(native, row, parameters=dict.fromkeys(operands) | _UFUNC)
    if not callable(native):  # a property
        return derive(native, row, parameters={"self": None})
    return derive(native, row)


# NumPy's backend registers its aliases.
see(None, (np.ndarray,))
derive_all("numpy", cupy)
# The ufunc that cupy.where calls.
_where = where_ufunc()
if _where is not None:
    _taken = dict.fromkeys(v.where.operands) | _UFUNC
    alias(_where, to=v.where, parameters=_taken, refuse=tuple(_UFUNC))

# The module of a CuPy ufunc is that of its class.
later(
    "chainrules_cupy.cupyx_aliases",
    cupy.ufunc.__module__,
    *OF_COMPOSITES,
)


# ------------------------------------------------------ calls that cannot be intercepted


@functools.wraps(cupy.broadcast, updated=())
def _broadcast(*arrays: Any, of_arrays: Any = cupy.broadcast) -> Any:
    if any([isinstance(x, Tracer) for x in arrays]):  # which the class in Cython would pass over
        raise NotDifferentiableError(
            "cupy.broadcast takes arrays of CuPy's alone, and no traced ones: write "
            "np.broadcast_arrays"
        )
    return of_arrays(*arrays)


for _space in with_broadcast():
    _space.broadcast = _broadcast


def _advice(error: BaseException) -> str | None:
    """Return advice for an error that a CuPy function raised for a traced value, or None."""
    trace = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] in ("cupy", "cupyx"):
            # A Cython frame shows no operands; an AttributeError has its object.
            operands = *frame.f_locals.values(), getattr(error, "obj", None)
            others = "no traced ones" if find_tracers(operands) else None
            if isinstance(error, TypeError) and any([type(x) is np.ndarray for x in operands]):
                others = others or "none of NumPy's"
            if others is None:
                return None
            name = _public(module, frame.f_code.co_name.removeprefix(f"{module}."))
            return f"{name} takes arrays of CuPy's alone, and {others}: write {_instead(name)}"
        trace = trace.tb_next
    return None


def _public(module: str, name: str) -> str:
    """Return the public name of a function, given its name in the module that defines it."""
    spaces = list(itertools.takewhile(lambda part: not part.startswith("_"), module.split(".")))
    inner = ".".join([*spaces[1:], name])
    if spaces[0] == "cupy" and _inside(cupy, inner) is None:
        inner = name
    return f"{spaces[0]}.{inner}"


def _instead(name: str) -> str:
    """Suggest a replacement for a CuPy function."""
    inner = name.partition(".")[2]
    if name.startswith("cupy.") and _inside(np, inner):
        return f"np.{inner}"
    if name.startswith("cupyx.scipy."):
        see_roots({"scipy"})
        if name.removeprefix("cupyx.scipy.") in rows_of("scipy"):
            return f"chainrules_{name.removeprefix('cupyx.')}"
    return "it with NumPy's functions"


advisers.append(_advice)


def _by_numpy(name: str) -> Callable[[Line], str]:
    """Return the advice to call NumPy's function of the same name with the same arguments."""

    def line_of(line: Line) -> str:
        keywords = map(ast.unparse, getattr(line.node, "keywords", ()))
        return f"use np.{name}({', '.join([*line.arguments, *keywords])})"

    return line_of


# Functions that fail where they call another function, of which the advice would be.
for _name in ("angle", "average", "bincount", "isin", "nan_to_num"):
    advise(getattr(cupy, _name), _by_numpy(_name))
advise(importlib.import_module("cupyx").scatter_add, "use np.add.at({0}, {1}, {2})")


def _refuse(error: BaseException) -> None:
    """Replace CuPy's error for a missing device or CUDA library."""
    if isinstance(error, ImportError):
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
        names = [str(frame.f_globals.get("__name__", "")) for frame in frames]
        missing = any([name.startswith("cupy") for name in names])
    else:
        missing = isinstance(error, cupy.cuda.runtime.CUDARuntimeError) and any(
            [reason in str(error) for reason in ("InsufficientDriver", "NoDevice")]
        )
    if missing:
        raise NotDifferentiableError(
            f"CuPy finds no device here, or no library of CUDA's ({str(error).splitlines()[0]}); "
            f"write NumPy's functions, which take arrays of CuPy's and of NumPy's, or run this "
            f"where there is a GPU"
        ) from error


refusers.append(_refuse)
