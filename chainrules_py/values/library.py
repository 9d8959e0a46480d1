"""Library facts: what an array library states about the arrays of one class.

The core knows no library. A backend registers one with `Library`, which has to give its namespace;
all else is optional, and without it derivatives are the same but slower.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, final

from chainrules_py.values.dispatch_types import Array

Shape: TypeAlias = tuple[int, ...]


@final
class Memory(NamedTuple):
    """How to inspect and lock the memory of a library's writable arrays.

    An engine that records a call keeps arrays that the program can still reach and write to.

    Parameters
    ----------
    owner : callable
        ``owner(x)`` is the object that owns the memory of x: x itself, or the array that x is a
        view of.
    layout : callable
        ``layout(x)`` is a value to compare with ``==``: the memory layout of x, which decides
        whether reshaping gives a view.
    laid_out : callable
        ``laid_out(x, like)`` is a copy of x in the memory layout of ``like``, an array of the same
        shape; an approximate one if ``like`` is a view of part of another array.
    fingerprint : callable
        ``fingerprint(x, full)`` is a small value to compare with ``==`` later. With ``full`` it
        changes if any byte does; without, its cost does not depend on the size of x.
    lock : callable, optional
        ``lock(x, locks)`` makes x read-only, appends to ``locks`` a call without arguments that
        undoes it, and returns the owner of the memory. It appends nothing if x was read-only
        before, and returns None if x cannot be locked.
    read_only : callable, optional
        ``read_only(x)`` is a view of x that cannot be written to.
    overlap : callable, optional
        ``overlap(x, y)`` is whether x and y have an element in common; by default, whether they
        have the same owner.
    lock_all : callable, optional
        ``lock_all(xs, locks)`` locks many arrays in a few C calls, as ``lock`` does, appends one
        call that undoes it, and returns two lists: the arrays that it locked, and those that are
        parts of other arrays, and cannot be locked.
    contents : callable, optional
        ``contents(xs)`` is a list of values to compare, one for each of many small arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from chainrules_py.values.type_info import type_info
    >>> x = np.arange(4.0)
    >>> memory = type_info(np.ndarray).memory
    >>> memory.owner(x[1:]) is x, memory.layout(x) == memory.layout(x[::2])
    (True, False)
    >>> before = memory.fingerprint(x, False)
    >>> x[1] = 5.0
    >>> memory.fingerprint(x, False) == before
    False
    """

    owner: Callable[[Any], Any]
    layout: Callable[[Any], Any]
    laid_out: Callable[[Any, Any], Any]
    fingerprint: Callable[[Any, bool], Any]
    lock: Callable[[Any, list[Any]], Any] | None = None
    read_only: Callable[[Any], Any] | None = None
    overlap: Callable[[Any, Any], bool] | None = None
    lock_all: Callable[[Sequence[Any], list[Any]], tuple[list[Any], list[Any]]] | None = None
    contents: Callable[[Sequence[Any]], list[Any]] | None = None


@final
class Library(NamedTuple):
    """What an array library states about its arrays; all but the namespace is optional.

    Subclasses inherit ``namespace``, ``kind``, ``devices``, ``by_operations``, ``reads`` and
    ``memory``. The rest applies to arrays of exactly the registered class.

    Parameters
    ----------
    namespace : module
        The namespace of the functions of the array-API standard for these arrays.
    kind : type
        The abstract class of the library's arrays, from `lazy_array_type`; `Array` by default.
    devices : bool
        Whether a cotangent has to be moved to the device of its primal. False if the library does
        so itself, or its tracers have no device.
    by_operations : bool
        Whether functions of other libraries, such as ``np.sort``, run as the operation they
        correspond to when these arrays are traced. Run directly, they may behave unlike the
        library's own.
    memory : Memory, optional
        For writable arrays: which memory they share, and whether it has changed.
    mutable : callable, optional
        ``mutable(x)`` is whether in-place addition may write into x: a plain, writable buffer in
        which no two elements share memory, as they do in a broadcast view.
    own : callable, optional
        ``own(x, theirs)`` is an array that the user may write to: x, or a copy if x is read-only,
        broadcast, or shares memory with one of ``theirs``.
    scalar : callable, optional
        ``scalar(x)`` is the number in a 0-d array, of the class from `register_scalar_type`,
        without waiting for a device.
    finite : callable, optional
        ``finite(x)`` is whether all elements are finite, *without waiting*; False if that is
        unknown. A library whose arrays are on a device or in a graph does not define it.
    floats : tuple of type
        Classes of its real scalars: ``finite`` and the functions in ``adjoint`` take them as well.
    sums : callable, optional
        ``sums(result, shape)`` makes a function that sums arrays of the shape ``result`` to new
        arrays of ``shape``, which broadcasts to it.
    dots : callable, optional
        ``dots(result, shape, other)`` makes a function that sums the product of two arrays to
        ``shape`` in the same way: one of the shape ``result``, and one of the shape ``other``,
        which equals it or broadcasts to it. None if the product has to be formed.
    half : mapping of callable to callable
        For a pull of a ``rule``, a function that computes it with fewer calls, for one operand of
        this class. It takes what the pull takes, traced cotangents and batches included.
    adjoint : mapping of callable to callable
        For a transpose of a ``linear_rule``, or an adjoint of a ``bilinear_rule``, a function that
        computes it with fewer calls, for operands of this class and cotangents of it or of
        ``floats``. Both mappings are read when a rule is bound, so that they can be filled when the
        rule is first seen.
    reads : tuple of type
        Classes of other libraries' arrays that its functions accept beside its own, with results of
        its own, as JAX and Dask accept NumPy's. A tangent of one of these is converted to its own.
    objects : dtype, optional
        The dtype of arrays whose elements are Python objects, which may be traced.
    """

    namespace: Any
    kind: type = Array
    devices: bool = True
    by_operations: bool = False
    memory: Memory | None = None
    mutable: Callable[[Any], bool] | None = None
    own: Callable[[Any, tuple[Any, ...]], Any] | None = None
    scalar: Callable[[Any], Any] | None = None
    finite: Callable[[Any], bool] | None = None
    floats: tuple[type, ...] = ()
    sums: Callable[[Shape, Shape], Callable[[Any], Any]] | None = None
    dots: Callable[[Shape, Shape, Shape], Callable[[Any, Any], Any] | None] | None = None
    half: Mapping[Callable[..., Any], Callable[..., Any]] = {}
    adjoint: Mapping[Callable[..., Any], Callable[..., Any]] = {}
    reads: tuple[type, ...] = ()
    objects: Any = None


def is_namespace(space: Any) -> bool:
    """Return whether an object may hold functions: a module, or an object of a class."""
    of_python = (space if isinstance(space, type) else type(space)).__module__ == "builtins"
    return isinstance(space, types.ModuleType) or not (of_python or isinstance(space, Mapping))
