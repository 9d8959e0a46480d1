"""Namespaces of the classes of recorded values, by the class of the payload."""

from __future__ import annotations

import functools
import math
import operator
import sys
from typing import Any, NoReturn

import numpy as np

from chainrules_compile.errors import RecordingError, UnhashableError
from chainrules_compile.recorded_values import Noted, member_of
from chainrules_py.extend import describe, is_library, stood_for, type_info


def hash_of(x: Noted) -> NoReturn:
    """Raise for a number that is used as a key, or a member of a set.

    Raises
    ------
    UnhashableError
        Always; the message says what to write instead.
    """
    raise UnhashableError(
        f"{describe(x.payload)} of a function that is being compiled cannot be a key of a dict or "
        f"a member of a set: it is another at the next call; make the dict or set outside, or name "
        f"an argument that is not differentiated in static="
    )


def rounded(x: Noted, digits: Any = None) -> Any:
    """Round a number, as Python does."""
    return x.recorder.ask(round, x) if digits is None else x.recorder.call(round, (x, digits), {})


def refuse_setting(name: str, instead: str) -> Any:
    """Return a setter that raises for an attribute of an array."""

    def refuse(x: Noted, value: Any) -> NoReturn:
        raise RecordingError(
            f"{name} of an array is set in a function that is being compiled; write {instead} "
            f"instead"
        )

    return refuse


def refuse_strides(x: Noted) -> NoReturn:
    """Raise because functions that read strides, such as `as_strided`, go on to read memory."""
    raise RecordingError(
        f"a program reads strides of {describe(x.payload)}; take x.T, x[::2] or sliding_window_view"
    )


def set_part(name: str, x: Noted, y: Any) -> None:
    """Write to the real or the imaginary part of an array."""
    member_of(x, name)[...] = y


OF_ARRAYS = {
    "shape": "x = x.reshape(shape)",
    "strides": "x = x.copy(), and index it",
    "dtype": "x = x.view(dtype)",
    "flat": "x.reshape(-1)[:] = y",
}
"""Attributes of arrays that cannot be set, and what to write instead."""

STATIC = frozenset(
    (
        *("shape", "ndim", "dtype", "size", "itemsize", "nbytes", "flags", "device"),
        "__array_namespace__",
    )
)
"""Attributes that are determined by the class, the dtype, the shape and the layout."""


def fields_of(cls: type) -> dict[str, Any]:
    """Return the namespace of the class of recorded values for a class of payloads.

    Members are defined one by one. CPython up to 3.12 forgets permanently that a class inherits
    ``__getattr__`` if an attribute is read while an exception is active, as SciPy's C functions do
    after a recorded value raised: later method look-ups then failed.
    """
    fields: dict[str, Any] = {
        name: property(functools.partial(member_of, name=name))
        for name in dir(cls)
        if not (name.startswith("__") or hasattr(Noted, name))
    }
    for name in STATIC.intersection(dir(cls)):
        fields[name] = property(operator.attrgetter(f"payload.{name}"))
    if type_info(cls).is_array:
        fields["strides"] = property(refuse_strides)
        for name, instead in OF_ARRAYS.items():
            of = fields.get(name, property(functools.partial(member_of, name=name)))
            fields[name] = of.setter(refuse_setting(name, instead))
        for name in ("real", "imag"):
            of = property(functools.partial(member_of, name=name))
            fields[name] = of.setter(functools.partial(set_part, name))
    else:
        fields["__hash__"] = hash_of
        for name, function in ROUNDINGS.items():
            if hasattr(cls, name):
                fields[name] = lambda x, f=function: x.recorder.ask(f, x)
        if hasattr(cls, "__round__"):
            fields["__round__"] = rounded
    if issubclass(cls, np.generic):
        fields["__getitem__"] = lambda x, where: x.recorder.read(x, where)
        fields["__iter__"] = None  # otherwise it is a sequence, and NumPy sees an empty shape
    if cls in stood_for or cls is np.bool_:
        fields["__class__"] = property(shown_class)
    return fields | {"__slots__": (), "__dispatch_type__": cls, "payload_type": cls}


def opaque_fields(cls: type) -> dict[str, Any]:
    """Return the namespace of the class for opaque objects, whose attributes cannot be read."""

    def look(x: Noted, name: str) -> NoReturn:
        raise RecordingError(
            f"a program reads {name} of {describe(x.payload)}, which differs in each call"
        )

    known: dict[str, Any] = {"__getattr__": look, "__class__": property(shown_class)}
    known |= {"__slots__": (), "__module__": Noted.__module__}
    for compares in ("__eq__", "__ne__", "__hash__"):
        known[compares] = lambda x, *_, name=compares: look(x, name)
    return {**known, "__dispatch_type__": cls, "payload_type": cls}


def shown_class(x: Any) -> type:
    """Return the class of a recorded value as `isinstance` reads it.

    User code, also through NumPy, sees the class of the payload; engines and other libraries see
    the class of the recorded value.
    """
    frame: Any = sys._getframe(1)
    while (name := frame.f_globals.get("__name__", "")) in _ON_BEHALF:
        frame = frame.f_back
    stands = name.partition(".")[0] in ("functools", "numpy") or not is_library(name)
    return x.__dispatch_type__ if stands else type(x)


_ON_BEHALF = ("abc", "typing")
ROUNDINGS = {"__trunc__": math.trunc, "__floor__": math.floor, "__ceil__": math.ceil}
