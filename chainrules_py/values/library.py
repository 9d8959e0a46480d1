"""Library facts: what an array library states about the arrays of one class, in one object.

The core knows no library. Whoever brings one says with `Library` where its functions are found;
all else is optional, and without it derivatives are the same and cost more.
"""

from __future__ import annotations

import abc
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, final

from chainrules_py.errors import RuleError, describe
from chainrules_py.values.arrays import Array

Shape: TypeAlias = tuple[int, ...]


@final
class Memory(NamedTuple):
    """Memory of a library's arrays that can be written to, as the library describes it.

    An engine that records a call keeps arrays that the program can still reach and write to.

    Parameters
    ----------
    owner : callable
        ``owner(x)`` is what holds the memory of x: x itself, or the array that x is a view of.
    layout : callable
        ``layout(x)`` is something to compare with ``==``: how the elements lie in memory, on which
        it depends whether reshaping gives a view.
    laid_out : callable
        ``laid_out(x, like)`` is a copy of x whose elements lie as those of an array of its shape
        do; as near as can be, where that one is a view of a part of another.
    fingerprint : callable
        ``fingerprint(x, full)`` is something small to compare with ``==`` later. With ``full`` it
        differs wherever a byte does; without, its cost does not depend on the size of x.
    lock : callable, optional
        ``lock(x, locks)`` makes x read-only, appends to a list a call without arguments that undoes
        it, and returns what owns the memory; it appends nothing where x was read-only before. None
        where x cannot be locked.
    read_only : callable, optional
        ``read_only(x)`` is a view of x that cannot be written to.
    overlap : callable, optional
        ``overlap(x, y)`` tells whether they have an element in common; by default, whether they
        have one owner.
    lock_all : callable, optional
        ``lock_all(xs, locks)`` locks many arrays by a few calls in C, as ``lock`` does, with one
        call that undoes it, and returns those that it has locked.
    contents : callable, optional
        ``contents(xs)`` is a list of something to compare, one for each of many small arrays.

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
    lock_all: Callable[[Sequence[Any], list[Any]], list[Any]] | None = None
    contents: Callable[[Sequence[Any]], list[Any]] | None = None


@final
class Library(NamedTuple):
    """What an array library states about its arrays; all but the namespace is optional.

    Subclasses follow their base in ``namespace``, ``kind``, ``devices``, ``by_operations``,
    ``reads`` and ``memory``. The rest holds for arrays of exactly the class that it is registered
    with.

    Parameters
    ----------
    namespace : module
        Where the functions of the array-API standard are found for them.
    kind : type
        The abstract class that stands for the library, from `lazy_array_type`; `Array` by default.
    devices : bool
        Whether a cotangent has to be moved to the device of its primal. Not where the library does
        so itself, or where its tracers have none.
    by_operations : bool
        Whether functions of other libraries, as ``np.sort``, compute such arrays by the operation
        that they are, where they are traced. By themselves they may do what the library would not.
    memory : Memory, optional
        Whose memory an array is, and whether it has changed; of arrays that can be written to.
    mutable : callable, optional
        ``mutable(x)`` says whether in-place addition may write into x: a plain buffer, writable,
        and no two of its elements share memory, as they do in a broadcast view.
    own : callable, optional
        ``own(x, theirs)`` is an array that a person may write to: x, or a copy if x is read-only,
        broadcast, or shares memory with one of ``theirs``.
    scalar : callable, optional
        ``scalar(x)`` is the number in a 0-d array, as one of the class of `register_scalar_type`,
        without waiting for a device.
    finite : callable, optional
        ``finite(x)`` says *at once* whether all elements are finite, and False if it does not know.
        On a device the answer would have to be waited for, and of a graph there is none yet: such
        a library has no such function.
    floats : tuple of type
        Classes of its real scalars: ``finite`` and what is in ``adjoint`` take them as well.
    sums : callable, optional
        ``sums(result, shape)`` of two shapes makes what sums arrays of the first, and returns new
        ones of the second, which was broadcast to it.
    dots : callable, optional
        ``dots(result, shape, other)`` makes what is given two arrays whose product it sums like
        this: one of the first shape, and one of the third, which is the first or was broadcast to
        it. None where the product has to be made.
    half : mapping of callable to callable
        What computes a pull of a ``rule`` with fewer calls, by that pull, for one operand of this
        class. It takes what the pull takes, traced cotangents and batches among them.
    adjoint : mapping of callable to callable
        What computes a transpose of a ``linear_rule``, or an adjoint of a ``bilinear_rule``, with
        fewer calls, for operands of this class and cotangents of it or of ``floats``. Both mappings
        are asked when a rule is bound, so that they can be filled when the rule is first seen.
    reads : tuple of type
        Classes of other libraries' arrays that it takes beside its own, to answer with its own, as
        JAX and Dask take NumPy's. A tangent that is given as one of these becomes one of its own.
    objects : dtype, optional
        Of arrays whose elements are objects of Python's, which may be traced.
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


def check_library(library: Library) -> None:
    """Raise for a field that is not what it has to be, of a library or of its memory.

    Raises
    ------
    RuleError
        With the field.
    """
    for fields, fits, what in _FIELDS:
        for field in fields.split():
            _check(library, field, fits(getattr(library, field)), what)
    _check(library, "dots", library.dots is None or library.sums is not None, "beside sums")
    for field, given in () if library.memory is None else library.memory._asdict().items():
        optional = given is None and field in Memory._field_defaults
        _check(library.memory, field, optional or callable(given), "callable")


def _is_namespace(space: Any) -> bool:
    of_python = (space if isinstance(space, type) else type(space)).__module__ == "builtins"
    return isinstance(space, types.ModuleType) or not (of_python or isinstance(space, Mapping))


_Test: TypeAlias = Callable[[Any], bool]
_CLASSES: _Test = lambda x: type(x) is tuple and all([isinstance(cls, type) for cls in x])
_FIELDS: tuple[tuple[str, _Test, str], ...] = (
    ("mutable own scalar finite sums dots", lambda x: x is None or callable(x), "callable"),
    ("namespace", _is_namespace, "the module of the functions"),
    (
        "kind",
        lambda x: isinstance(x, abc.ABCMeta) and issubclass(x, Array),  # type: ignore[misc]
        "Array, or made by lazy_array_type",
    ),
    ("floats reads", _CLASSES, "a tuple of classes"),
    ("half adjoint", lambda x: isinstance(x, Mapping), "a mapping"),
    ("memory", lambda x: x is None or type(x) is Memory, "a Memory"),
    ("devices by_operations", lambda x: type(x) is bool, "True or False"),
)
"""Fields of a library, whether a value fits, and what it has to be."""


def _check(of: Any, field: str, fits: bool, what: str) -> None:
    if not fits:
        given = describe(getattr(of, field))
        msg = f"{type(of).__name__}({field}={given}): {field} has to be {what}"
        raise RuleError(msg)
