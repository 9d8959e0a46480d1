"""Saving of a program as a module that needs only NumPy.

Objects that the source names become lines: functions of NumPy and SciPy by their names, arrays by
their values. A few functions of this package have a text here; a program that uses others is
refused.
"""

from __future__ import annotations

import ast
import builtins
import importlib.util
import os
import re
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from chainrules_compile.compile_one_call import CompiledProgram
from chainrules_compile.constant_source import Constants
from chainrules_compile.errors import MISS, RecordingError
from chainrules_compile.scope import Scope
from chainrules_py.extend import Space, describe

_ANSWERS = """def {name}(x, y):
    return type(x) is type(y) and not isinstance(x, numpy.ndarray) and bool(x == y)
"""
_QUOTIENT = """def {name}(x, y):
    with numpy.errstate(all="ignore"):
        return numpy.divide(x, y)
"""
_STRONG = """def {name}(c, p):
    with numpy.errstate(all="ignore"):
        product = numpy.multiply(c, p)
    return numpy.where((c == 0) & ~numpy.isfinite(p), product.dtype.type(0), product)[()]
"""
_STACKED = """def {name}(*parts, back):
    rows = [*parts[:-1], *parts[-1]][:: -1 if back else 1]
    return (numpy.stack if type(rows[0]) is numpy.ndarray else numpy.array)(rows)
"""
_TEXTS = {
    "equal": _ANSWERS,
    "rows_of": "def {name}(x, *, first, last):\n    return list(x[first:last])\n",
    "stacked_rows": _STACKED,
    "divide_numpy": _QUOTIENT,
    "strong_multiply_numpy": _STRONG,
    "expand_dims_numpy": "{name} = numpy.expand_dims\n",
    "broadcast_to_numpy": (
        "def {name}(x, *, shape):\n    return numpy.array(numpy.broadcast_to(x, shape))\n"
    ),
    "conj_numpy": "{name} = numpy.conj\n",
    "real_numpy": "{name} = numpy.real\n",
    "solve_again_numpy": "{name} = numpy.linalg.solve\n",
    "inv_again_numpy": "{name} = numpy.linalg.inv\n",
    "sum_transpose_numpy": (
        "def {name}(y_bar, x, *, axis, keepdims):\n"
        "    kept = keepdims or axis is None\n"
        "    y_bar = y_bar if kept else numpy.expand_dims(y_bar, axis)\n"
        "    return numpy.array(numpy.broadcast_to(y_bar, x.shape))\n"
    ),
    "concat_numpy": "def {name}(*xs, axis=0):\n    return numpy.concatenate(xs, axis)\n",
}
"""Source texts of functions of this package, by their names."""


def _summed(result: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """Return the text of a sum over the axes along which a shape was broadcast to another."""
    extra = len(result) - len(shape)
    axes = [i for i, n in enumerate(result) if i < extra or n != shape[i - extra]]
    return f".sum({tuple(axes)}).reshape({shape})[()]"


_MADE: dict[str, Callable[..., str]] = {
    "sums": lambda result, shape: f"lambda t: t{_summed(result, shape)}",
    "dots": lambda result, shape, _: f"lambda t, p: (t * p){_summed(result, shape)}",
    "rolled_places": lambda n, shift: f"numpy.roll(numpy.arange({n}), {shift})",
}
"""Texts of functions that a factory makes for given shapes, by the name of the factory."""


def module_of(name: str, source: str, scope: Scope) -> str:
    """Return the text of a module that contains a program.

    Raises
    ------
    RecordingError
        If the program uses an object that cannot be saved.
    """
    miss = scope.name(MISS, "MISS")
    asked = r"    if (not \(  # guards\n(        [^\n]*\n)+    \):|[^\n]*are_apart\w*\([^\n]*)\n"
    source = re.sub(asked + rf"        return {miss}\n", "", source)
    head, body = source.split("\n", 1)
    refusal = 'raise ValueError("recorded for other arguments; record it anew")'
    body = re.sub(rf"\breturn {miss}$", refusal, body, flags=re.MULTILINE)
    used = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    constants, lines = Constants(), list[str]()
    for key in sorted(used & scope.keys() - {name}):
        x = scope[key]
        if x is MISS or x is None or getattr(builtins, key, None) is x:
            continue
        text = _line(constants, key, x, scope)
        if text != key:
            lines.append(text if "\n" in text else f"{key} = {text}\n")
    imports = constants.imports | {"numpy"}
    if name in {module.partition(".")[0] for module in imports}:
        refuse(f"the name of a module, {name}, for its function", None)
    said = f'"""{name}: recorded, simplified and written by chainrules_compile."""\n\n'
    imported = "".join([f"import {module}\n" for module in sorted(imports)])
    return f"{said}{imported}\n{''.join(lines)}\n\n{head.replace(', /', '')}\n{body}"


def _line(constants: Constants, name: str, x: Any, scope: Scope) -> str:
    """Return an expression for an object, or lines that define its name."""
    if name in scope.recipes:
        factory, args = scope.recipes[name]
        if factory.__name__ in _MADE:
            return _MADE[factory.__name__](*args)
    x = getattr(x, "public", x) if type(x) is types.FunctionType else x
    # Of an array that only gives its shape, a program keeps the space.
    text = constants.text(np.zeros(x.shape, x.dtype) if type(x) is Space else x)
    if text is None and type(x) is types.FunctionType and x.__module__.startswith("chainrules_"):
        text = _TEXTS.get(x.__name__, "").format(name=name)
    return text or refuse(name, x)


def unchanged(programs: Sequence[CompiledProgram], name: str) -> CompiledProgram:
    """Return the newest program that matches what the function captures now.

    Raises
    ------
    RecordingError
        If there is none: a program would mix old and new captured values.
    """
    for program in programs:
        if not program.guards.changed():
            return program
    raise RecordingError(
        f"what {name} captures, or a rule that it calls, has changed since it was called last, and "
        f"some of it is in the program; call it again, and save it then"
    )


def write_module(path: Path, text: str) -> None:
    """Write a module, and delete the bytecode that Python cached for the previous one.

    Python compares sources by size and by modification time in seconds.
    """
    path.write_text(text, encoding="utf-8")
    for old in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        old.unlink(missing_ok=True)
    Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)


def written(path: Any, write: Callable[[Path], object], folder: str = "") -> None:
    """Write to a file, or to a folder if `folder` describes what is written to it.

    Raises
    ------
    RecordingError
        If the path cannot be written to.
    """
    wanted = "a folder, as 'energy_grad'" if folder else "a file, as 'energy_grad.py'"
    place = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(place, str) or not place or "\0" in place:
        said = describe(path) if place is None else repr(place)
        raise RecordingError(
            f"save takes where to write to, and {said} is not a path; name {wanted}"
        )
    if folder and place.endswith(".py"):
        raise RecordingError(
            f"{folder} is saved as a folder, not as {place}; name one, or compile it for the "
            f"target 'numpy', and save that"
        )
    try:
        write(Path(place))
    except OSError as error:
        raise RecordingError(
            f"nothing can be written to {place!r} ({error.strerror}); name {wanted}, that may be"
        ) from error


def refuse(name: str, x: Any) -> NoReturn:
    """Raise for an object that cannot be saved.

    Raises
    ------
    RecordingError
        Always; the message contains the name.
    """
    what = "" if x is None else f", {describe(x)} of {getattr(x, '__module__', 'no module')},"
    raise RecordingError(
        f"the program uses {name}{what} which a module that needs NumPy alone cannot have; keep "
        f"the compiled function itself"
    )
