"""Library facts: what an array library states about itself, class by class.

- Which function says *at once* whether all elements are finite. On a device the answer would have
  to be waited for, and of a graph there is none yet: of these nobody asks.
- What makes one launch of several calls. An element-by-element rule multiplies a cotangent by what
  it computes of saved values: in NumPy a few calls, on a device as many launches. A library that
  can compile such a function is asked when a rule is bound.
- Which arrays an engine may add into, and how an array becomes one that a person may write to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from chainrules_py.values.arrays import dispatch_type, is_array_type, is_tracer_type

__all__ = [
    "Fuser",
    "finite_test",
    "finite_tests",
    "fuser_of",
    "is_mutable_destination",
    "mutable_tests",
    "owners",
    "register_finite",
    "register_fuser",
    "register_mutable",
    "register_owner",
]

P = TypeVar("P")

finite_tests: dict[type, Callable[[Any], bool]] = {}
"""What asks, by the class of the array."""


def register_finite(cls: type, test: Callable[[Any], bool]) -> None:
    """Register the test that tells whether all elements of arrays of a class are finite."""
    finite_tests[cls] = test


def finite_test(classes: tuple[type, ...]) -> Callable[[Any], bool] | None:
    """Find the test of whether results of such operands are finite, or None."""
    tests = [finite_tests.get(cls) for cls in classes if cls not in (int, float)]
    return tests[0] if tests and None not in tests else None


class Fuser(Protocol):
    """Fuser of a library, for functions of arrays of one dtype, written in words."""

    def together(self, f: Callable[..., Any], n: int) -> Callable[..., Any] | None:
        """Fuse a function of n arrays, or numbers, into one launch; None if that gains nothing."""

    def summed(self, f: Callable[..., Any], n: int) -> Callable[..., Any] | None:
        """``(plan, *arrays) -> plan(f(*arrays))`` in one launch, or None.

        The plan is a `chainrules_py.tangents.sum_to_shape.Unbroadcast`.
        """

    def lazily(self, half: Callable[..., Any], y_bar: Any, *saved: Any) -> Any:
        """``half(y_bar, *saved)``, whatever it does, with as few launches as can be."""


_fusers: dict[type, Fuser] = {}


def register_fuser(cls: type, fuser: Fuser) -> None:
    """Say what makes one launch of a function of arrays of this class."""
    _fusers[cls] = fuser


def fuser_of(classes: tuple[type, ...]) -> Fuser | None:
    """Find the fuser for operands of these classes: arrays of one library, and numbers."""
    if not _fusers or any(map(is_tracer_type, classes)):
        return None
    arrays = {cls for cls in classes if is_array_type(dispatch_type(cls))}
    return _fusers.get(arrays.pop()) if len(arrays) == 1 else None


mutable_tests: dict[type, Callable[[Any], bool]] = {}
"""What tells of an array whether it is a plain buffer, by its class."""


def register_mutable(cls: type[P], test: Callable[[P], bool]) -> None:
    """Declare which arrays of a library in-place addition may write into.

    Parameters
    ----------
    cls : type
        The array class; its subclasses are not covered.
    test : callable
        Says of an array whether it is a plain buffer: writable, and no two of its elements share
        memory, as they do in a broadcast view.

    Examples
    --------
    >>> import array
    >>> register_mutable(array.array, lambda x: x.typecode == "d")
    >>> is_mutable_destination(array.array("d", [1.0]))
    True
    """
    mutable_tests[cls] = test


def is_mutable_destination(x: Any) -> bool:
    """Say whether in-place addition may write into an array, *if* it is the engine's own.

    Examples
    --------
    >>> is_mutable_destination(2.0), is_mutable_destination((1.0, 2.0))
    (False, False)
    """
    test = mutable_tests.get(type(x))
    return test is not None and test(x)


owners: dict[type, Callable[[Any, tuple[Any, ...]], Any]] = {}
"""Functions that make an array a person's own to write to, by its class."""


def register_owner(cls: type, own: Callable[[Any, tuple[Any, ...]], Any]) -> None:
    """Say how an array is made one that a person may write to: ``own(x, theirs)``.

    It returns x itself, or a copy if x is read-only, broadcast, or shares memory with ``theirs``.
    """
    owners[cls] = own
