"""Classes of recorded values, registered with the facts that their libraries state.

A rule that NumPy computes with fewer calls is computed in the same way here, so that a program has
the same bits as the engine without it.
"""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from chainrules_compile.internal_functions import dot_to, is_finite, sum_to
from chainrules_compile.recorded_type_members import fields_of, opaque_fields
from chainrules_compile.recorded_values import Noted, Subscripts, plain
from chainrules_compile.statistics_steps import PULLBACKS
from chainrules_py import Primitive
from chainrules_py.extend import Library, Lock, Memory, aliases, register_array_type, see, type_info
from chainrules_py.ops.engine_operations import read
from chainrules_py.program import Value

METADATA: frozenset[Any] = frozenset(
    (
        np.shape,
        np.ndim,
        np.size,
        np.result_type,
        np.can_cast,
        np.common_type,
        np.iscomplexobj,
        np.isrealobj,
    )
)
"""NumPy functions of metadata, which are not recorded: their results are constants."""
SHAPED_BY_DATA: frozenset[Any] = frozenset(
    (
        np.nonzero,
        np.flatnonzero,
        np.argwhere,
        np.where,
        np.unique,
        np.unique_values,
        np.unique_counts,
        np.unique_inverse,
        np.unique_all,
        np.compress,
        np.extract,
        np.repeat,
        np.delete,
        np.bincount,
        np.union1d,
        np.intersect1d,
        np.setdiff1d,
        np.setxor1d,
        np.trim_zeros,
        np.roots,
        np.poly1d,
        np.arange,
        np.ndarray.nonzero,
        np.ndarray.compress,
        np.ndarray.repeat,
        np.histogram,
        np.histogram_bin_edges,
        np.linalg.eig,
        np.linalg.eigvals,
        np.linalg.lstsq,
        np.real_if_close,
        np.lib.scimath.sqrt,
        np.lib.scimath.log,
        np.lib.scimath.log2,
        np.lib.scimath.log10,
        np.lib.scimath.logn,
        np.lib.scimath.power,
        np.lib.scimath.arccos,
        np.lib.scimath.arcsin,
        np.lib.scimath.arctanh,
    )
)
"""NumPy functions whose results have a shape, or a dtype, that depends on numbers."""
JOINING = frozenset((np.concatenate, np.stack, np.vstack, np.hstack, np.column_stack, np.take))
"""Functions whose integer arrays are elements or indices, not sizes."""
OPERATIONS_SHAPED_BY_DATA = frozenset(("complex_outside", "nonzero", "repeat"))
"""Names of operations whose result form depends on numbers for some operands or implementations."""
OF_ONE_FORM = frozenset(
    ("expm", "expm_frechet", "lambertw", "lu_factor", "polygamma", "solve_sylvester", "zeta")
)
"""Names of operations that SciPy computes and whose result form does not depend on numbers."""


def is_settled(function: Any) -> bool:
    """Return whether the shape and dtype of a result depend only on those of the operands.

    They may not where they are unknown: for a library function that is not an operation, an
    operation that another library than NumPy computes, or a user-defined operation.
    """
    if isinstance(function, Primitive):
        if function.shape_from_data or function is read:
            return False
        computing = _computing(function)
        data = function.__name__ in OPERATIONS_SHAPED_BY_DATA or computing in SHAPED_BY_DATA
        return not data and _is_ours(function, computing)
    return function in METADATA or function in _OF_ELEMENTS or _is_stated(function)


def is_foreign(function: Any) -> bool:
    """Return whether the form, layout and memory of a result are unknown.

    NumPy functions whose form depends on numbers are known: they return new arrays, in C order.
    """
    if isinstance(function, Primitive):
        return function is not read and not _is_ours(function, _computing(function))
    home = getattr(getattr(function, "__objclass__", function), "__module__", None) or ""
    return not (home.partition(".")[0] in _HOMES or is_settled(function))


def _computing(operation: Any) -> Any:
    """Return the implementation of an operation for NumPy arrays."""
    classes = (np.ndarray,) * max(len(operation.operands), 1)
    found = operation.implementation(classes)
    if found is None and see(operation, classes):  # no array was seen yet
        found = operation.implementation(classes)
    return found


@functools.lru_cache(maxsize=4096)
def _is_ours(operation: Any, computing: Any) -> bool:
    """Return whether this package defines and computes an operation, perhaps by NumPy."""
    home = operation.__module__
    if operation.opaque or not home.startswith("chainrules_") or home.endswith(".higher_order"):
        return False
    known = type(computing) is np.ufunc or operation.__name__ in OF_ONE_FORM
    return known or (getattr(computing, "__module__", None) or "").partition(".")[0] in _HOMES


@functools.lru_cache(maxsize=4096)
def _is_stated(function: Any) -> bool:
    if function in SHAPED_BY_DATA:
        return False
    see(function, ())
    if function in aliases:
        operation = aliases[function].operation
        return isinstance(operation, Primitive) and is_settled(operation)
    # Operators, ufuncs and their methods, and attributes.
    if isinstance(function, np.ufunc | types.BuiltinFunctionType | operator.attrgetter):
        return True
    return (getattr(function, "__module__", None) or "").startswith("chainrules_")


_HOMES = frozenset(
    (
        *("numpy", "builtins", "_operator", "operator"),
        *("chainrules_numpy", "chainrules_kit.fallbacks", "chainrules_py"),
    )
)
"""Modules whose functions return new arrays; exceptions for the form are in `SHAPED_BY_DATA`."""
_OF_ELEMENTS = frozenset((np.ndarray.item, np.ndarray.tolist, np.generic.item, np.generic.tolist))
"""Methods that return Python numbers, whose class depends on the dtype."""


def has_form(function: Any, values: tuple[Value, ...]) -> bool:
    """Return `is_settled` for a call; False if integers among its operands may be sizes."""
    if not is_settled(function):
        return False
    if type(function) is np.ufunc or isinstance(function, Primitive):
        return True
    for x in values:  # it may be a count, or a width
        whole = getattr(x.dtype, "kind", "O") in "iu"  # other libraries' dtypes have none
        if whole and not (x.shape and function in JOINING):
            return getattr(function, "__module__", "") == "_operator"
    return True


class _Noting(Mapping[Callable[..., Any], Callable[..., Any]]):
    """Mapping from functions of rules to library functions that are recorded as one call."""

    def __init__(self, functions: Mapping[Callable[..., Any], Callable[..., Any]]) -> None:
        self.functions = functions  # which may grow

    def __getitem__(self, key: Callable[..., Any]) -> Callable[..., Any]:
        function, steps = self.functions[key], PULLBACKS.get(key)

        def noting(*operands: Any, **options: Any) -> Any:
            if steps is not None and (y := steps(*operands)) is not None:
                return y
            for x in operands:
                if isinstance(x, Noted):
                    return x.recorder.call(function, operands, options)
            return function(*operands, **options)

        return noting

    def __iter__(self) -> Iterator[Callable[..., Any]]:
        return iter(self.functions)

    def __len__(self) -> int:
        return len(self.functions)


def memory_of(stated: Memory) -> Memory:
    """Return the facts about memory that a library states, for recorded arrays."""
    overlap = stated.overlap

    def asked(x: Any, y: Any) -> bool:
        for each in (x, y):
            if isinstance(each, Noted):
                each.recorder.overlaps = True
        return overlap(plain(x), plain(y))  # type: ignore[misc]

    return Memory(
        owner=lambda x: x.recorder.owner(stated.owner(x.payload)),
        layout=lambda x: stated.layout(plain(x)),
        laid_out=lambda x, like: x.recorder.laid_out(x, like),
        fingerprint=lambda x, full: (stated.fingerprint(x.payload, full), x.recorder.writes(x)),
        lock=None if stated.lock is None else lambda x, locks: stated.lock(x.payload, locks),  # type: ignore[misc]
        read_only=None if stated.read_only is None else lambda x: x.recorder.read_only(x),
        overlap=None if overlap is None else asked,
    )


def library_of(cls: type, floats: tuple[type, ...]) -> Library:
    """Return the facts that a library states about its arrays, for recorded arrays."""
    stated = type_info(cls).library
    sums, dots, mutable, own = stated.sums, stated.dots, stated.mutable, stated.own

    test: Any = stated.finite

    def finite(t: Any) -> bool:
        if not isinstance(t, Noted):
            return bool(test(t))
        return bool(t.recorder.call(is_finite, (t,), {"like": cls}))

    def noted_sums(result: Any, shape: Any) -> Callable[[Any], Any]:
        return lambda t: t.recorder.call(sum_to, (t,), {"result": result, "shape": shape})

    def noted_dots(result: Any, shape: Any, other: Any) -> Callable[[Any, Any], Any] | None:
        options = {"result": result, "shape": shape}
        if dots(result, shape, other) is None:  # type: ignore[misc]
            return None

        def noting(t: Any, p: Any) -> Any:
            recorder = t.recorder if isinstance(t, Noted) else p.recorder
            return recorder.call(dot_to, (t, p), options)

        return noting

    return stated._replace(
        memory=None if stated.memory is None else memory_of(stated.memory),
        own=None if own is None else lambda x, theirs: x.recorder.own(own, x, theirs),
        scalar=None if stated.scalar is None else lambda x: x[()],
        finite=None if stated.finite is None else finite,
        mutable=None if mutable is None else lambda x: mutable(x.payload),
        floats=floats,
        sums=None if sums is None else noted_sums,
        dots=None if dots is None else noted_dots,
        half=_Noting(stated.half),
        adjoint=_Noting(stated.adjoint),
    )


class _Classes(dict[type, type[Noted]]):
    """Class of recorded values for each type of array or number, created at first use."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = Lock()

    def __missing__(self, cls: type) -> type[Noted]:
        with self._lock:
            see(None, (cls,))
            home = type_info(cls).zero_d_type
            if cls not in self and home is not cls and home not in self:
                self[home] = self._made(home)  # which registers the classes of its numbers as well
            if cls not in self:
                self[cls] = self._made(cls)
            return self[cls]

    def _made(self, cls: type) -> type[Noted]:
        info = type_info(cls)
        bases: tuple[type, ...] = (Subscripts,) if info.is_array else ()
        fields = {**fields_of(cls), "__module__": Noted.__module__}
        made: Any = type(cls.__name__, (*bases, Noted), fields)
        if info.is_array and info.library.namespace is not None:
            for number in info.library.floats:
                if number not in self:
                    self[number] = self._made(number)
            floats = tuple([self[number] for number in info.library.floats])
            register_array_type(made, library_of(cls, floats))
        noted: type[Noted] = made
        return noted


classes = _Classes()


@functools.cache
def opaque_class(cls: Any) -> type[Noted]:
    """Return the class of recorded values for opaque objects of a class."""
    made: type[Noted] = type(cls.__name__, (Noted,), opaque_fields(cls))
    return made
