"""Libraries in which each call costs a launch, and several calls can be made one.

An element-by-element rule multiplies a cotangent by what it computes of saved values: in NumPy a
few calls, on a device as many launches. A library that can compile such a function says so here,
and is asked when a rule is bound.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from chainrules_py.values.arrays import dispatch_type, is_array_type, is_tracer_type

__all__ = ["Fuser", "fuser_of", "register_fuser"]


class Fuser(Protocol):
    """What a library does with a function of arrays of one dtype, written in words."""

    def together(self, f: Callable[..., Any], n: int) -> Callable[..., Any] | None:
        """The function of n arrays, or numbers, in one launch; None where that gains nothing."""

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
    """What fuses a function of operands of these classes: arrays of one library, and numbers."""
    if not _fusers or any(map(is_tracer_type, classes)):
        return None
    arrays = {cls for cls in classes if is_array_type(dispatch_type(cls))}
    return _fusers.get(arrays.pop()) if len(arrays) == 1 else None
