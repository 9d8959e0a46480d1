"""Calls of functions written for NumPy arrays with values that another engine differentiates.

The differentiable arguments are joined into one vector, and the results that are arrays or NumPy's
numbers are split from one: between them the function is a primitive of one operand that other
engines call back. Its derivatives are those of the installed engine, and are primitives of this
kind too, so that all orders exist.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any, final

import numpy as np

from chainrules_py import (
    Array,
    NotDifferentiableError,
    RuleError,
    ZeroTangent,
    frule,
    primitive,
    rrule,
)
from chainrules_py import ops as v
from chainrules_py.extend import (
    TreeDef,
    any_engine,
    called_beside,
    describe,
    flatten,
    inside,
    name_of,
    namespace_of,
    plain,
    type_info,
    unflatten,
    untraced,
)

Run = Callable[[Any], Any]
Shapes = tuple[tuple[int, ...], ...]


@primitive
def by_numpy(x: Array, /, *, run: Run, shapes: Shapes) -> Any:
    """Return a vector that NumPy computes from a vector, which joins arrays of these shapes."""
    return run(x)


@rrule.register(by_numpy)
def by_numpy_rrule(x: Array, *, run: Run, shapes: Shapes) -> Any:
    """Pull back by the installed engine: ``(x, ȳ) -> x̄`` is a function of this kind too."""
    n = x.shape[0]
    y = by_numpy(x, run=run, shapes=shapes)
    is_real = _kind(y) == "f"

    def pulled(both: Any) -> Any:
        y_bar = v.real(both[n:]) if is_real else both[n:]
        if isinstance(run, _Program) and type(y_bar) is np.ndarray:
            return run.pulled(both[:n], y_bar)
        return any_engine.rrule_via_ad(run, both[:n])[1](y_bar)[0]

    both = (*shapes, tuple(y.shape))
    return y, lambda y_bar: (by_numpy(v.concat(x, y_bar, axis=0), run=pulled, shapes=both),)


@frule.register(by_numpy)
def by_numpy_frule(tangents: Any, x: Array, *, run: Run, shapes: Shapes) -> Any:
    """Push by the installed engine: ``(x, ẋ) -> ẏ`` is a function of this kind too."""
    n = x.shape[0]
    pushed = lambda both: any_engine.frule_via_ad((both[n:],), run, both[:n])[1]
    both = v.concat(x, tangents[0], axis=0)
    return by_numpy(x, run=run, shapes=shapes), by_numpy(both, run=pushed, shapes=2 * shapes)


def called_by_numpy(f: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Call a function that computes with NumPy arrays on values of another engine.

    Parameters
    ----------
    f : callable
        A function that takes NumPy arrays, also traced ones, and returns arrays or structures.
    args, options
        Arrays of the other engine, also in structures, and any other arguments of the function.

    Returns
    -------
    same as the function gives
        Its arrays and NumPy's numbers are arrays of the other engine; all else is unchanged.
    """
    leaves, treedef = flatten((args, options))
    moving = [
        v.reshape(x, shape=(-1,)) if hasattr(x, "dtype") else np.reshape(x, -1)  # a Python number
        for x in leaves
        if _moves(x)
    ]
    program = _Program(f, leaves, treedef)
    if not moving:
        x = next(filter(is_hosted, leaves))
        raise NotDifferentiableError(
            f"{name_of(f)} computes with NumPy, and nothing that it is given is floating-point: "
            f"pass {describe(x)} as floating-point numbers"
        )
    shapes = tuple([like.shape for like in program.given if like is not None])
    return program.result(by_numpy(v.concat(*moving, axis=0), run=program, shapes=shapes))


def is_hosted(x: Any) -> bool:
    """Return whether a value belongs to another engine."""
    return type_info(type(x)).host is not None


CONSTANT = (
    *(np.ndarray, np.generic, np.dtype, type, ModuleType, float, int, complex, str, type(None)),
)
"""Classes whose instances belong to no other engine and hold none of its values."""


@final
class _Program:
    """Function of a vector that holds all floating-point arguments of a call."""

    def __init__(self, f: Callable[..., Any], leaves: list[Any], treedef: TreeDef) -> None:
        self.f, self.treedef = f, treedef
        for x in leaves:
            known = isinstance(x, CONSTANT) or is_hosted(x)
            if not known and any(map(is_hosted, inside(x))):
                raise NotDifferentiableError(
                    f"{describe(x)} holds a value of another engine, and {name_of(f)} computes "
                    f"with NumPy: write what makes {describe(x)} in one function with it, and call "
                    f"chainrules_scipy.by_numpy(function)"
                )
        self.given = [_Like(x) if _moves(x) else None for x in leaves]
        self.leaves = [
            None if _moves(x) else np.asarray(untraced(x)) if is_hosted(x) else x for x in leaves
        ]
        self.found: list[Any] = []
        self.layout: TreeDef | None = None
        self.is_recorded = any([getattr(type(plain(x)), "__asked_again__", False) for x in leaves])
        self.recorded: list[Any] | None = None
        self.promised: list[Any] = []

    def __call__(self, x: Any) -> Any:
        """Compute the vector of the results that enter it.

        A compiled program holds all other results as constants, and checks the length of the
        vector, which is longer where they differ from those that were recorded.
        """
        ys, layout, found = self._computed(x)
        for first, y in zip(self.promised, found, strict=False):
            if type(first) is type(y) is _Like and first.place < y.place:
                raise RuleError(
                    f"{name_of(self.f)} gives {y.name} for these numbers, and gave {first.name} "
                    f"for the numbers that it was tried on: return {y.name} in each case, or pass "
                    f"{y.name}"
                )
        floats = [np.reshape(y if _kind(y) else np.asarray(y, float), -1) for y in ys]
        vector = np.concatenate(floats) if floats else np.zeros(0)
        compares = self.is_recorded and type(x) is np.ndarray
        now = [layout, *map(_compared, found)] if compares else self.recorded
        if self.layout is None or (self.recorded is None and type(x) is np.ndarray):
            self.layout, self.found, self.recorded = layout, found, now
        return vector if now == self.recorded else np.append(vector, 0.0)

    @property
    def constants(self) -> list[Any]:
        """The parts of the result that a compiled program holds as constants."""
        return [np.asarray(x).tolist() for x in self.found if type(x) is not _Like]

    def pulled(self, x: Any, y_bar: Any) -> Any:
        """Pull a cotangent back, with structural zeros for its zero parts, which avoids 0 / 0."""
        ys, pull = any_engine.rrule_via_ad(lambda x: self._computed(x)[0], x)
        vector = _Vector(y_bar)
        bars = [(_kind(y), vector.next(_Like(y), np)) for y in ys]
        return pull(tuple([t if kind and np.any(t) else ZeroTangent() for kind, t in bars]))[0]

    def _computed(self, x: Any) -> tuple[tuple[Any, ...], TreeDef, list[Any]]:
        """Return the results for the vector, and the structure and leaves of the whole result."""
        vector = _Vector(x)
        pairs = zip(self.given, self.leaves, strict=True)
        args, options = unflatten(
            self.treedef, [leaf if like is None else vector.next(like, np) for like, leaf in pairs]
        )
        # NumPy is the library in which lists become arrays.
        leaves, layout = flatten(called_beside(np, self.f, *args, **options))
        found = [_Like(y) if self._enters(y) else y for y in leaves]
        firsts = self.found if len(self.found) == len(found) else found
        # A result of SciPy's without a derivative at the first call is in the vector at none.
        lacks = [hasattr(type(first), "__outside__") for first in firsts]
        for y, lack in zip(found, lacks, strict=True):
            if not (lack or isinstance(y, (_Like, *CONSTANT))):
                raise NotDifferentiableError(
                    f"{name_of(self.f)} gives {describe(y)}, and computes with NumPy, so that "
                    f"only arrays and numbers come out of it: write what takes its result in one "
                    f"function with it, and call chainrules_scipy.by_numpy(function)"
                )
        ys = [y for y, lack in zip(leaves, lacks, strict=True) if self._enters(y) and not lack]
        return tuple(ys), layout, found

    def _enters(self, y: Any) -> bool:
        """Return whether a result is in the vector: positions and masks are, unless recorded.

        An engine that traces would keep those of the numbers that it traced with.
        """
        is_array = isinstance(y, (np.ndarray, np.generic)) and y.dtype.kind in "biu"
        return _kind(y) != "" or (is_array and not self.is_recorded)

    def result(self, y: Any) -> Any:
        """Return the result of the function, with its floating-point parts from a vector."""
        assert self.layout is not None
        self.promised = self.found  # later calls of traced programs give the same
        vector, space = _Vector(y), namespace_of(type(y))
        return unflatten(
            self.layout, [vector.next(x, space) if type(x) is _Like else x for x in self.found]
        )


@final
class _Like:
    """Shape and dtype of a value in a vector."""

    def __init__(self, x: Any) -> None:
        self.shape: tuple[int, ...] = tuple(getattr(x, "shape", ()))
        self.name = dtype_name(x)
        self.place = place_of(x)


@final
class _Vector:
    """Vector that is split into parts."""

    def __init__(self, x: Any) -> None:
        self.x, self.at = x, 0

    def next(self, like: _Like, space: Any) -> Any:
        """Return the next part, in the shape and dtype of ``like``."""
        x, at = self.x, self.at
        self.at += math.prod(like.shape)
        part = v.reshape(x[at : self.at], shape=like.shape) if like.shape else x[at]
        if like.place < 3 and _kind(x) == "c":
            part = v.real(part)
        known = getattr(space, like.name, None)
        return (
            part if known is None or dtype_name(part) == like.name else v.astype(part, dtype=known)
        )


def _compared(x: Any) -> Any:
    """Return a value that is equal for results of the same form and, but for floats, bits."""
    if isinstance(x, (np.ndarray, np.generic)):
        return type(x), x.shape, x.dtype, x.tobytes()
    return (x.shape, x.name) if type(x) is _Like else (type(x), x)


def _moves(x: Any) -> bool:
    return is_hosted(x) and _kind(x) != ""


def _class(x: Any) -> type:
    """Return the class of a value; of a number that is recorded, the number's."""
    cls: type = getattr(type(x), "__dispatch_type__", type(x))
    return cls


def dtype_name(x: Any) -> str:
    """Return the name of a dtype, which libraries spell as ``torch.float32`` or ``float32``."""
    dtype = getattr(x, "dtype", "complex128" if issubclass(_class(x), complex) else "float64")
    return str(getattr(dtype, "name", dtype)).rpartition(".")[2]


def place_of(x: Any) -> int:
    """Return the place of a dtype among booleans, whole, real, complex and no numbers."""
    name = dtype_name(x)
    return [*[kind in name for kind in ("bool", "int", "float", "complex")], True].index(True)


def _kind(x: Any) -> str:
    """Return "f" for real and "c" for complex floating-point values, otherwise ""."""
    if not (hasattr(x, "dtype") or issubclass(_class(x), (float, complex))):
        return ""
    return ("", "", "f", "c", "")[place_of(x)]
