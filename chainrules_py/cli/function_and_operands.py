"""Functions, operands and modules from the arguments of a command line."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import re
import sys
import traceback
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

SHAPE = re.compile(r"(?P<dtype>(?:float|complex|int|uint)\d+|bool)\[(?P<shape>[\d,\s]*)\]")


def function_named(path: str) -> Any:
    """Return the object at a dotted path: ``numpy.matmul``, ``chainrules_py.ops.sin``.

    Raises
    ------
    LookupError
        If no part of it can be imported, if a module raises, or if a name is missing.

    Examples
    --------
    >>> function_named("numpy.linalg.det").__name__
    'det'
    """
    path = re.sub(r"^np(?=\.|$)", "numpy", path)
    parts = path.split(".")
    if not all([part.isidentifier() for part in parts]):
        raise LookupError(f"{path!r} names nothing in Python; write package.module.function")
    sys.path.insert(0, "")
    try:
        for cut in range(len(parts), 0, -1):
            module = ".".join(parts[:cut])
            try:
                found = importlib.import_module(module)
            except (Exception, SystemExit) as error:  # a module may raise anything
                missing = error.name if isinstance(error, ModuleNotFoundError) else None
                if missing is not None and f"{module}.".startswith(f"{missing}."):
                    continue
                raise LookupError(raised(module, error)) from error
            for name in parts[cut:]:
                found = _member(found, name, ".".join(parts[:cut]))
            return found
    finally:
        sys.path.remove("")
    raise LookupError(
        f"no module {parts[0]!r} can be imported; install it, or run this where it is"
    )


def function_in(place: str) -> Any:
    """Return a function of a script, ``script.py:function``, or the object at a dotted path.

    For a script without a function's name, it is the only function that the script defines.

    Raises
    ------
    LookupError
        If the script or function does not exist, or the script raises.
    """
    if is_script(place):
        module = script(place)
        own = [x for x in vars(module).values() if getattr(x, "__module__", "") == module.__name__]
        names = [x.__name__ for x in own if callable(x) and hasattr(x, "__name__")]
        if len(names) != 1:
            listed = ", ".join(names) or "none"
            raise LookupError(
                f"{place} defines several functions or none ({listed}); write {place}:function"
            )
        return getattr(module, names[0])
    path, colon, name = place.rpartition(":")
    if not colon:
        return function_named(place)
    found: Any = script(path)
    for part in name.split("."):
        found = _member(found, part, path, f"write {path}:function, of one that it defines")
    return found


def _member(owner: Any, name: str, place: str, write: str = "is it in another module?") -> Any:
    if not hasattr(owner, name):
        meant = difflib.get_close_matches(name, [n for n in dir(owner) if n[0] != "_"], 1)
        write = f"did you mean {meant[0]!r}?" if meant else write
        raise LookupError(f"{place} has no {name!r}; {write}")
    return getattr(owner, name)


def is_script(place: str) -> bool:
    """Return whether the argument is the path of a script, without a function's name."""
    return place.endswith(".py") and ":" not in place


def script(path: str) -> types.ModuleType:
    """Run a script as a module of its name, and return the module.

    Raises
    ------
    LookupError
        If the script does not exist, or raises.
    """
    if not Path(path).is_file():
        raise LookupError(f"there is no file {path!r}; write path/to/script.py:function")
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None:
        raise LookupError(f"{path} is no script of Python; write path/to/script.py:function")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(Path(path).resolve().parent))
    known = sys.modules.setdefault(spec.name, module)  # its rules and classes are found by it
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # a script may raise anything
        if known is module:
            del sys.modules[spec.name]
        raise LookupError(raised(path, error)) from error
    return module


def raised(place: str, error: BaseException) -> str:
    """Return the message that a user's program raised an error, with the line."""
    own = [
        f" at {frame.f_code.co_filename}:{line}"
        for frame, line in traceback.walk_tb(error.__traceback__)
        if not frame.f_globals.get("__name__", "").startswith(("chainrules_", "importlib"))
        and not frame.f_code.co_filename.startswith("<")
    ]
    at = own[-1] if own else ""
    return f"{place} raises {type(error).__name__}{at}: {error}"


def operands_of(texts: Iterable[str]) -> tuple[Any, ...]:
    """Read operands: ``float64[3,2]`` draws an array; anything else is an expression with ``np``.

    Raises
    ------
    ValueError
        If an operand is neither.

    Examples
    --------
    >>> [np.shape(x) for x in operands_of(["float64[3,2]", "np.ones(4)", "2.0"])]
    [(3, 2), (4,), ()]
    """
    rng, found = np.random.default_rng(0), []
    for text in texts:
        try:
            found.append(_operand(text, rng))
        except Exception as error:  # an expression may raise anything
            raise ValueError(
                f"the operand {text!r} cannot be read ({type(error).__name__}: {error}); write a "
                f"shape, float64[3,2], or an expression with np, 'np.ones(3)'"
            ) from error
    return tuple(found)


def _operand(text: str, rng: Any) -> Any:
    found = SHAPE.fullmatch(text.strip())
    if found is None:
        return eval(text, {"np": np})  # noqa: S307 - the user's own command line
    shape = tuple([int(n) for n in found["shape"].replace(" ", "").split(",") if n])
    dtype = np.dtype(found["dtype"])
    if dtype.kind in "iub":
        return rng.integers(0, 2 if dtype.kind == "b" else 5, shape).astype(dtype)
    drawn = rng.uniform(0.2, 0.8, shape)
    return (drawn + 1j * rng.uniform(0.2, 0.8, shape) if dtype.kind == "c" else drawn).astype(dtype)
