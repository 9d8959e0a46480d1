"""A library that has the array-API standard, under types of its own, and nothing else.

It stands for those that nobody here has heard of, as MLX and ndonnx are: its arrays are known to no
backend, its functions take no arrays but these, and no function that the standard lacks is there.
Behind it is array-api-strict, on the device that is not the default.
"""

from __future__ import annotations

import types

import array_api_strict as strict

from chainrules_py.extend import Tracer

DEVICE = strict.Device("device1")


class Array:
    """An array of the library."""

    __slots__ = ("_x",)

    def __init__(self, x):
        self._x = x

    shape = property(lambda self: self._x.shape)
    ndim = property(lambda self: self._x.ndim)
    size = property(lambda self: self._x.size)
    dtype = property(lambda self: self._x.dtype)
    device = property(lambda self: self._x.device)
    T = property(lambda self: Array(self._x.T))
    mT = property(lambda self: Array(self._x.mT))  # noqa: N815

    def to_device(self, device):
        return Array(self._x.to_device(device))

    def __array_namespace__(self, *, api_version=None):
        return NAMESPACE

    def __repr__(self):
        return f"fourth.{self._x!r}"


def _method(name):
    def method(self, *others):
        known = (Array, int, float, complex, bool, slice, tuple, type(None), type(...))
        if not all(isinstance(x, known) and not isinstance(x, Tracer) for x in others):
            return NotImplemented
        result = getattr(self._x, name)(*map(bare, others))
        return result if result is NotImplemented else wrapped(result)

    method.__name__ = name
    return method


_OPERATORS = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"),
    *("and", "or", "xor", "lshift", "rshift"),
)
for _name in _OPERATORS:
    for _form in (f"__{_name}__", f"__r{_name}__"):
        setattr(Array, _form, _method(_form))
for _name in (
    *("neg", "pos", "abs", "invert", "getitem", "eq", "ne", "lt", "le", "gt", "ge"),
    *("bool", "int", "float", "complex", "index"),
):
    setattr(Array, f"__{_name}__", _method(f"__{_name}__"))
Array.__hash__ = None


def bare(x):
    """What is inside of arrays, also of those in sequences."""
    if isinstance(x, Array):
        return x._x
    if isinstance(x, (list, tuple)):
        return type(x)(map(bare, x))
    return x


def wrapped(x):
    """What the library gives for an array of the other, also for several."""
    if isinstance(x, strict._array_object.Array):
        return Array(x)
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return x._make(map(wrapped, x))
    if isinstance(x, (list, tuple)):
        return type(x)(map(wrapped, x))
    return x


_MAKERS = ("arange", "asarray", "empty", "eye", "full", "linspace", "ones", "zeros")


def _function(f):
    def function(*args, **keywords):
        for x in args:
            foreign = type(x).__module__.partition(".")[0] in ("numpy", "array_api_strict")
            if foreign and not isinstance(x, (strict._dtypes.DType, strict.Device)):
                raise TypeError(f"{f.__name__} takes no {type(x)}")
        if f.__name__ in _MAKERS and keywords.get("device") is None:
            keywords["device"] = DEVICE
        keywords = {k: bare(x) for k, x in keywords.items()}
        return wrapped(f(*map(bare, args), **keywords))

    function.__name__ = f.__name__
    return function


def _namespace(space, name):
    made = types.ModuleType(name)
    for part in space.__all__:
        thing = getattr(space, part)
        if isinstance(thing, types.ModuleType):
            setattr(made, part, _namespace(thing, f"{name}.{part}"))
        else:
            plain = callable(thing) and not isinstance(thing, type) and part != "isdtype"
            setattr(made, part, _function(thing) if plain else thing)
    return made


NAMESPACE = _namespace(strict, "fourth")
