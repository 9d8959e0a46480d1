"""Fields of the classes of noted values, by the class of what they stand for."""

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
    """Raise: a number is a key, or a member of a set.

    Raises
    ------
    UnhashableError
        With the line to write.
    """
    msg = (
        f"{describe(x.payload)} of a function that is being compiled cannot be a key of a dict or "
        f"a member of a set: it is another at the next call; name the argument in static="
    )
    raise UnhashableError(msg)


def rounded(x: Noted, digits: Any = None) -> Any:
    """Round a number, as Python does."""
    return x.recorder.ask(round, x) if digits is None else x.recorder.call(round, (x, digits), {})


def refuse_setting(name: str, instead: str) -> Any:
    """Return what refuses to set an attribute of an array."""

    def refuse(x: Noted, value: Any) -> NoReturn:
        msg = (
            f"{name} of an array is set in a function that is being compiled; write {instead} "
            f"instead"
        )
        raise RecordingError(msg)

    return refuse


def set_part(name: str, x: Noted, y: Any) -> None:
    """Write to the real or the imaginary part of an array."""
    member_of(x, name)[...] = y


OF_ARRAYS = {
    "shape": "x = x.reshape(shape)",
    "strides": "x = x.copy(), and index it",
    "dtype": "x = x.view(dtype)",
    "flat": "x.reshape(-1)[:] = y",
}
"""Attributes of arrays that people set, and what to write instead."""
PARTS = ("real", "imag")

STATIC = frozenset(
    ("shape", "ndim", "dtype", "size", "itemsize", "nbytes", "flags", "strides", "device")
)
"""Attributes that the class, the dtype, the shape and the layout of an argument settle."""


def fields_of(cls: type) -> dict[str, Any]:
    """Return what the class of noted values has, by the class of what they stand for.

    Members stand one by one. CPython up to 3.12 forgets for good that a class inherits a
    ``__getattr__``, where an instance is asked for an attribute while an exception is under way, as
    SciPy's functions in C do after a noted value raised: the next method of an array was none.
    """
    fields: dict[str, Any] = {
        name: property(functools.partial(member_of, name=name))
        for name in dir(cls)
        if not (name.startswith("__") or hasattr(Noted, name))
    }
    for name in STATIC.intersection(dir(cls)):
        fields[name] = property(operator.attrgetter(f"payload.{name}"))
    if type_info(cls).is_array:
        for name, instead in OF_ARRAYS.items():
            of = fields.get(name, property(functools.partial(member_of, name=name)))
            fields[name] = of.setter(refuse_setting(name, instead))
        for name in PARTS:
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
        fields["__iter__"] = None  # or what has items is a sequence: to NumPy a shape is empty then
    if cls in stood_for or cls is np.bool_:
        fields["__class__"] = property(shown_class)
    return fields | {"__slots__": (), "__dispatch_type__": cls, "payload_type": cls}


def opaque_fields(cls: type) -> dict[str, Any]:
    """Return what the class has that stands for objects which nobody looks into."""

    def look(x: Noted, name: str) -> NoReturn:
        msg = f"{name} of {describe(x.payload)} is asked for, which is another in each call"
        raise RecordingError(msg)

    known: dict[str, Any] = {"__getattr__": look, "__class__": property(shown_class)}
    known |= {"__slots__": (), "__module__": Noted.__module__}
    return {**known, "__dispatch_type__": cls, "payload_type": cls}


def shown_class(x: Any) -> type:
    """Return the class of a noted value as `isinstance` asks for it.

    To people's code, and to NumPy's for them, it is that of what it stands for; engines and other
    libraries have to know that it is none of these.
    """
    frame: Any = sys._getframe(1)
    while (name := frame.f_globals.get("__name__", "")) in _ON_BEHALF:
        frame = frame.f_back
    stands = name.partition(".")[0] in ("functools", "numpy") or not is_library(name)
    return x.__dispatch_type__ if stands else type(x)


_ON_BEHALF = ("abc", "typing")
ROUNDINGS = {"__trunc__": math.trunc, "__floor__": math.floor, "__ceil__": math.ceil}
