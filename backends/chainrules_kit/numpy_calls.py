"""Calls of functions written for NumPy arrays with values that another engine differentiates.

The differentiable arguments are joined into one vector, those of whole numbers and booleans into
another, and the results that are arrays or NumPy's numbers are split from one: between them the
function is a primitive of two operands that other engines call back. Its derivatives are those of
the installed engine, and are primitives of this kind too, so that all orders exist.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any, final

import numpy as np

from chainrules_py import (
    Array,
    NoTangent,
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
    joined,
    name_of,
    namespace_of,
    plain,
    type_info,
    unflatten,
    untraced,
)

Run = Callable[[Any, Any], Any]
Shapes = tuple[tuple[int, ...], ...]


@primitive
def by_numpy(x: Array, i: Array, /, *, run: Run, shapes: Shapes) -> Any:
    """Return a vector that NumPy computes from a vector, which joins arrays of these shapes.

    The second vector joins whole numbers and booleans.
    """
    return run(widened(x), i)


@rrule.register(by_numpy)
def by_numpy_rrule(x: Array, i: Array, *, run: Run, shapes: Shapes) -> Any:
    """Pull back by the installed engine: ``(x, ȳ) -> x̄`` is a function of this kind too."""
    n = x.shape[0]
    y = by_numpy(x, i, run=run, shapes=shapes)
    is_real = float_kind(y) == "f"

    def pulled(both: Any, i: Any) -> Any:
        y_bar = v.real(both[n:]) if is_real else both[n:]
        if isinstance(run, Program) and type(y_bar) is np.ndarray:
            return run.pulled(both[:n], i, y_bar)
        return any_engine.rrule_via_ad(lambda x: run(x, i), both[:n])[1](y_bar)[0]

    both = (*shapes, tuple(y.shape))

    return y, lambda y_bar: (
        by_numpy(v.concat(x, y_bar, axis=0), i, run=pulled, shapes=both),
        NoTangent(),
    )


@frule.register(by_numpy)
def by_numpy_frule(tangents: Any, x: Array, i: Array, *, run: Run, shapes: Shapes) -> Any:
    """Push by the installed engine: ``(x, ẋ) -> ẏ`` is a function of this kind too."""
    n = x.shape[0]

    def pushed(both: Any, i: Any) -> Any:
        return any_engine.frule_via_ad((both[n:],), lambda x: run(x, i), both[:n])[1]

    both = v.concat(x, tangents[0], axis=0)
    return (
        by_numpy(x, i, run=run, shapes=shapes),
        by_numpy(both, i, run=pushed, shapes=2 * shapes),
    )


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
    program = Program(f, leaves, treedef)
    moving, whole = [
        [
            v.reshape(x, shape=(-1,)) if hasattr(x, "dtype") else np.reshape(x, -1)  # a number
            for x, like in zip(leaves, program.given, strict=True)
            if like is not None and like.is_whole is is_whole
        ]
        for is_whole in (False, True)
    ]
    if not moving:
        x = next(filter(is_hosted, leaves))
        raise NotDifferentiableError(
            f"{name_of(f)} computes with NumPy, and nothing that it is given is floating-point: "
            f"pass {describe(x)} as floating-point numbers"
        )
    shapes = tuple([x.shape for x in program.given if x is not None and not x.is_whole])
    joint = v.concat(*moving, axis=0), _whole(whole)
    return program.result(by_numpy(*joint, run=program, shapes=shapes))


def _whole(parts: list[Any]) -> Any:
    """Join arrays of whole numbers and booleans, of which all digits are kept."""
    if not parts:
        return np.zeros(1, int)  # one element, as no result is given for empty operands
    space, is_long = namespace_of(type(parts[0])), [dtype_name(x).endswith("64") for x in parts]
    dtype = space.int64 if any(is_long) else space.int32
    return v.concat(*[v.astype(x, dtype=dtype) for x in parts], axis=0)


def is_hosted(x: Any) -> bool:
    """Return whether a value belongs to another engine."""
    return type_info(type(x)).host is not None


CONSTANT = (
    *(np.ndarray, np.generic, np.dtype, type, ModuleType, float, int, complex, str, type(None)),
)
"""Classes whose instances belong to no other engine and hold none of its values."""


@final
class Program:
    """Function of a vector that holds all floating-point arguments of a call.

    A second vector holds its whole numbers and booleans.

    Attributes
    ----------
    first : tuple
        The structure and the parts of the result of the first call, the arrays as `Like`.
    """

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
        self.given = [Like(x) if _moves(x) else None for x in leaves]
        self.leaves = [
            None if _moves(x) else np.asarray(untraced(x)) if is_hosted(x) else x for x in leaves
        ]
        self.first: tuple[TreeDef | None, list[Any]] = None, []
        self.is_recorded = any([getattr(type(plain(x)), "__asked_again__", False) for x in leaves])
        self.recorded: list[Any] | None = None

    def __call__(self, x: Any, i: Any) -> Any:
        """Compute the vector of the results that enter it.

        A compiled program holds all other results as constants, and checks the length of the
        vector, which is longer where they differ from those that were recorded.
        """
        ys, layout, found = self._computed(x, i)
        floats = [np.reshape(y if float_kind(y) else np.asarray(y, float), -1) for y in ys]
        vector = np.concatenate(floats) if floats else np.zeros(0)
        compares = self.is_recorded and type(x) is np.ndarray
        now = [layout, *map(_compared, found)] if compares else self.recorded
        if self.first[0] is None or (self.recorded is None and compares):
            self.first, self.recorded = (layout, found), now
        return vector if now == self.recorded else np.append(vector, 0.0)

    @property
    def constants(self) -> list[Any]:
        """The parts of the result that a compiled program holds as constants."""
        return [np.asarray(x).tolist() for x in self.first[1] if type(x) is not Like]

    def pulled(self, x: Any, i: Any, y_bar: Any) -> Any:
        """Pull a cotangent back, with structural zeros for its zero parts, which avoids 0 / 0."""
        ys, pull = any_engine.rrule_via_ad(lambda x: self._computed(x, i)[0], x)
        vector = _Vector(y_bar)
        bars = [(float_kind(y), vector.next(Like(y), np)) for y in ys]
        return pull(tuple([t if kind and np.any(t) else ZeroTangent() for kind, t in bars]))[0]

    def _computed(self, x: Any, i: Any) -> tuple[tuple[Any, ...], TreeDef, list[Any]]:
        """Return the results for the vectors, and the structure and leaves of the whole result."""
        vectors = _Vector(x), _Vector(i)
        pairs = zip(self.given, self.leaves, strict=True)
        args, options = unflatten(
            self.treedef,
            [y if like is None else vectors[like.is_whole].next(like, np) for like, y in pairs],
        )
        # NumPy is the library in which lists become arrays.
        leaves, layout = flatten(called_beside(np, self.f, *args, **options))
        leaves = [*map(joined, leaves)]
        found = [Like(y) if self._enters(y) else y for y in leaves]
        firsts = self.first[1] if len(self.first[1]) == len(found) else found
        for y, first in zip(found, firsts, strict=True):
            if not (type(y) is Like or _is_constant(y) or _is_outside(first)):
                raise NotDifferentiableError(
                    f"{name_of(self.f)} gives {describe(y)}, and computes with NumPy, so that "
                    f"only arrays and numbers come out of it: write what takes its result in one "
                    f"function with it, and call chainrules_scipy.by_numpy(function)"
                )
        # A result that does not enter at the first call, as some of SciPy's, enters at none.
        ys = [y for y, first in zip(leaves, firsts, strict=True) if type(first) is Like]
        is_plain = type(x) is np.ndarray
        if self.first[0] is not None and not (self.is_recorded and is_plain):  # a compiler compares
            now = [
                y
                for y, first in zip(found, firsts, strict=True)
                if type(first) is Like or ((is_plain or place_of(y) > 1) and not _is_outside(first))
            ]
            # The classes of results may differ where SciPy's function is traced.
            of = (lambda tree: tree) if is_plain else _keys
            self._check_form(now, is_same=of(layout) == of(self.first[0]))
        return tuple(ys), layout, found

    def _check_form(self, results: list[Any], *, is_same: bool) -> None:
        """Check that the results have the form of those of the first call, which others know.

        Raises
        ------
        RuleError
            If they differ, since a vector would be split in other places than it was joined.
        """
        first, now = ([y for y in ys if type(y) is Like] for ys in (self.first[1], results))
        if not is_same or len(now) != len(first) or not all(map(Like.holds, first, now)):
            gives, gave = (", ".join(map(str, likes)) for likes in (now, first))
            raise RuleError(
                f"{name_of(self.f)} gives {gives} for these numbers, and gave {gave} for those "
                f"that it was first called with: where a program is traced or mapped, as by jit "
                f"and vmap, return the same parts, shapes and dtypes for all numbers, as "
                f"solve_ivp does with t_eval="
            )

    def _enters(self, y: Any) -> bool:
        """Return whether a result is in the vector: positions and masks are, unless recorded.

        An engine that traces would keep those of the numbers that it traced with.
        """
        is_array = isinstance(y, (np.ndarray, np.generic)) and y.dtype.kind in "biu"
        return float_kind(y) != "" or (is_array and not self.is_recorded)

    def result(self, y: Any) -> Any:
        """Return the result of the function, with its floating-point parts from a vector."""
        layout, found = self.first
        assert layout is not None
        vector, space = _Vector(y), namespace_of(type(y))
        return unflatten(layout, [vector.next(x, space) if type(x) is Like else x for x in found])


@final
class Like:
    """Shape and dtype of a value in a vector."""

    def __init__(self, x: Any) -> None:
        self.shape: tuple[int, ...] = tuple(getattr(x, "shape", ()))
        self.dtype = dtype_name(x)
        self.place = place_of(x)
        self.is_whole = self.place < 2

    def holds(self, y: Like) -> bool:
        """Return whether a value like y has this shape, and no wider kind of numbers."""
        return self.shape == y.shape and self.place >= y.place

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


@final
class _Vector:
    """Vector that is split into parts."""

    def __init__(self, x: Any) -> None:
        self.x, self.at = x, 0

    def next(self, like: Like, space: Any) -> Any:
        """Return the next part, in the shape and dtype of ``like``."""
        x, at = self.x, self.at
        self.at += math.prod(like.shape)
        part = v.reshape(x[at : self.at], shape=like.shape) if like.shape else x[at]
        if like.place < 3 and float_kind(x) == "c":
            part = v.real(part)
        known = getattr(space, like.dtype, None)
        return (
            part if known is None or dtype_name(part) == like.dtype else v.astype(part, dtype=known)
        )


def _keys(layout: TreeDef) -> list[Any]:
    """Return the keys of the dicts in a structure, at all levels."""
    inner = [key for child in layout.children for key in _keys(child)]
    return [*layout.keys, *inner] if layout.cls is dict else inner


def _is_outside(y: Any) -> bool:
    """Return whether a value is SciPy's, of a result's part that has no derivative."""
    return hasattr(type(y), "__outside__")


def _compared(x: Any) -> Any:
    """Return a value that is equal for results of the same form and, but for floats, bits."""
    if isinstance(x, (np.ndarray, np.generic)):
        return type(x), x.shape, x.dtype, x.tobytes()
    return (x.shape, x.dtype) if type(x) is Like else (type(x), x)


def _moves(x: Any) -> bool:
    return is_hosted(x) and (float_kind(x) != "" or (hasattr(x, "dtype") and place_of(x) < 2))


def _is_constant(y: Any) -> bool:
    """Return whether a result is no number that can be differentiated, and holds none."""
    return isinstance(y, CONSTANT) and not (
        isinstance(y, np.ndarray) and y.dtype.hasobject and any(map(float_kind, y.flat))
    )


def _class(x: Any) -> type:
    """Return the class of a value; of a number that is recorded, the number's."""
    return getattr(type(x), "__dispatch_type__", type(x))


def dtype_name(x: Any) -> str:
    """Return the name of a dtype, which libraries spell as ``torch.float32`` or ``float32``."""
    dtype = getattr(x, "dtype", "complex128" if issubclass(_class(x), complex) else "float64")
    return str(getattr(dtype, "name", dtype)).rpartition(".")[2]


def place_of(x: Any) -> int:
    """Return the place of a dtype among booleans, whole, real, complex and no numbers."""
    name = dtype_name(x)
    return [*[kind in name for kind in ("bool", "int", "float", "complex")], True].index(True)


def widened(x: Any) -> Any:
    """Return an array with float32 in place of a floating dtype that NumPy lacks, as bfloat16."""
    return x.astype(np.float32) if float_kind(x) and x.dtype.kind == "V" else x


def float_kind(x: Any) -> str:
    """Return "f" for real and "c" for complex floating-point values, otherwise ""."""
    if not (hasattr(x, "dtype") or issubclass(_class(x), (float, complex))):
        return ""
    return ("", "", "f", "c", "")[place_of(x)]
