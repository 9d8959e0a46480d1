"""Alike: whether two values that a program was not given as inputs are the same to a function.

They are, if no code could tell one from the other except by their identity: of one class, with
equal contents in the same order, to the bit, and equal attributes, those that are no fields too.
"""

from __future__ import annotations

import collections
import collections.abc
import enum
import functools
import pickle
import struct
import types
from typing import Any

import numpy as np

from chainrules_py.extend import attributes, fields_of, is_library, is_structure_type

PLAIN = (bool, int, float, complex, str, bytes, type(None))
_HEAP = 1 << 9  # Py_TPFLAGS_HEAPTYPE
"""The flag of classes that Python's code makes."""


def alike(x: Any, y: Any) -> bool:
    """Tell whether two values are the same, or no code could tell one from the other.

    Examples
    --------
    >>> alike([1, "a", {2.0}], [1, "a", {2.0}]), alike([1], [True]), alike(0.0, -0.0)
    (True, False, False)
    """
    try:
        return _alike(x, y)
    except RecursionError:
        return False


def _alike(x: Any, y: Any) -> bool:
    cls = type(x)
    if x is y:
        return True
    if cls is not type(y) or isinstance(x, enum.Enum):
        return False
    if isinstance(x, np.ndarray | np.generic):
        return _alike(_form_of(x), _form_of(y))
    if cls in PLAIN:
        return bits_of(x) == bits_of(y)
    if cls is types.MethodType:
        return x.__self__ is y.__self__ and x.__func__ is y.__func__
    if cls is functools.partial:
        held = all(map(_alike, (x.func, x.args, x.keywords), (y.func, y.args, y.keywords)))
        return held and _attributes_alike(x, y)
    if cls is slice:
        return all(map(_alike, (x.start, x.stop, x.step), (y.start, y.stop, y.step)))
    if isinstance(x, (tuple, list, collections.deque)):
        bounded = len(x) == len(y) and getattr(x, "maxlen", 0) == getattr(y, "maxlen", 0)
        return bounded and all(map(_alike, x, y)) and _attributes_alike(x, y)
    if isinstance(x, dict):
        items = _alike(list(dict.items(x)), list(dict.items(y)))
        return items and made_by(x) is made_by(y) and _attributes_alike(x, y)
    if isinstance(x, _LISTED):
        return _alike(_listed(x), _listed(y)) and _attributes_alike(x, y)
    if isinstance(x, PLAIN):
        of: Any = next(base for base in PLAIN if isinstance(x, base))
        return bits_of(x, of) == bits_of(y, of) and _attributes_alike(x, y)
    if is_library(cls.__module__):
        return bool(x == y) and _kept_alike(x, y) and _attributes_alike(x, y)
    return is_of_python(cls) and _attributes_alike(x, y)


def is_of_python(cls: type) -> bool:
    """Tell whether a class is written in Python, with all of its bases: no object holds more."""
    return all([base is object or base.__flags__ & _HEAP for base in cls.__mro__])


def _form_of(x: Any) -> tuple[Any, ...]:
    """Return what an array or a number of NumPy's is, how it lies in memory, and what it holds."""
    bits = object() if x.dtype.hasobject else x.tobytes()  # what is in it may be another's by now
    attributed = {} if type(x).__module__ == "numpy" else attributes(x)
    return x.shape, x.dtype, x.strides, x.flags.num, bits, attributed


_LISTED = set, frozenset, collections.abc.MappingView, types.MappingProxyType
"""What is equal in any order, and gives what it holds in one."""


def _listed(x: Any) -> list[Any]:
    return [*x.items()] if isinstance(x, types.MappingProxyType) else [*x]


def _kept_alike(x: Any, y: Any) -> bool:
    """Tell whether equal objects of a library would be kept as the same: 1.0 and 1.00 are not."""
    try:
        return pickle.dumps(x) == pickle.dumps(y)
    except Exception:  # nobody can keep it, nor tell
        return False


def bits_of(x: Any, cls: Any = None) -> str:
    """Return a text that plain values have in common that are equal to the bit.

    Examples
    --------
    >>> bits_of(0.0) == bits_of(-0.0), bits_of(float("nan")) == bits_of(-float("nan"))
    (False, False)
    """
    cls = cls or type(x)
    if isinstance(x, (float, complex)) and x != x:  # of which there are two signs, and one text
        return struct.pack("dd", x.real, x.imag).hex()
    return str(cls.__repr__(x))


def _attributes_alike(x: Any, y: Any) -> bool:
    return type(x).__module__ == "builtins" or _alike(attributes(x), attributes(y))


def made_by(x: Any) -> Any:
    """Return what makes the values of keys that a dict has not, if anything does."""
    return getattr(x, "default_factory", None)


def hidden(x: Any) -> dict[str, Any]:
    """Return the attributes of a structure that are no fields of it, as they are seen in it.

    What a cached property has kept is no such: a structure that is put together again computes it.
    """
    found = dict(getattr(x, "__dict__", ()))
    for name in [n for n in found if is_cached(type(x), n)]:
        del found[name]
    if isinstance(x, dict):
        return found if made_by(x) is None else found | {"default_factory": made_by(x)}
    if is_structure_type(type(x)) and not isinstance(x, (tuple, list)):
        for key, _ in fields_of(x):
            found.pop(key, None)
    return found


def is_cached(cls: type, name: str) -> bool:
    """Tell whether an attribute is what a cached property has kept."""
    found: Any = [vars(base)[name] for base in cls.__mro__ if name in vars(base)]
    return bool(found) and isinstance(found[0], functools.cached_property)


class Same:
    """Test whether a value is alike one that was given, the contents of which are watched over."""

    def __init__(self, x: Any) -> None:
        self.x, self._form = x, _form_of(x) if isinstance(x, np.ndarray) else None

    def __call__(self, y: Any) -> bool:
        """Tell whether a value is."""
        if self._form is None:
            return alike(self.x, y)
        return type(y) is type(self.x) and alike(self._form, _form_of(y))


class SameHidden:
    """Test whether the attributes of a structure that are no fields are those of another."""

    def __init__(self, x: Any) -> None:
        self.x = hidden(x)

    def __call__(self, y: Any) -> bool:
        """Tell whether those of a structure are."""
        return alike(self.x, hidden(y))
