"""Expressions of the constants of saved programs, which need only NumPy, SciPy and the stdlib.

An expression reproduces the bits: infinities, NaN, signs of zeros, dtypes, the order of the axes
of an array. The only names in it are those of modules, which are imported.
"""

from __future__ import annotations

import base64
import inspect
import math
import operator
import sys
import types
from typing import Any

import numpy as np

KNOWN = ("numpy", "scipy")
_HOMES = ("numpy", "numpy.linalg", "scipy.special", "math", "operator")
_SHORT = 64
"""Maximum number of elements of an array that is written as numbers."""
_DESCRIPTORS = (types.MethodDescriptorType, types.GetSetDescriptorType, types.WrapperDescriptorType)


class Constants:
    """Expressions of constants, with the imports that they need.

    Attributes
    ----------
    imports : set of str
        The modules that the expressions name.
    """

    def __init__(self) -> None:
        self.imports: set[str] = set()

    def text(self, x: Any) -> str | None:
        """Return an expression that evaluates to an object; None if there is none."""
        cls = type(x)
        if x is None or x is ... or x is NotImplemented or cls in (bool, str, bytes):
            return repr(x)
        if cls is int:
            return repr(x) if abs(x) < 1 << 64 else hex(x)
        if cls is float:
            return _float(x)
        if cls is complex:
            return f"complex({_float(x.real)}, {_float(x.imag)})"
        if isinstance(x, (np.ndarray, np.generic, np.dtype)):
            return self._of_numpy(x)
        return self._structure(x) if cls in (tuple, list, dict, slice) else self._callable(x)

    def known(self, name: str) -> str:
        """Return a name in a module, and import the module."""
        self.imports.add(name.rpartition(".")[0])
        return name

    def _callable(self, x: Any) -> str | None:
        """Return the expression of a module, a class or a function; None if there is none."""
        owner = getattr(x, "__self__", None)
        if isinstance(x, types.ModuleType):
            return self.known(f"{x.__name__}.")[:-1] if is_known(x.__name__) else None
        if type(x) is operator.attrgetter:
            return self.known("operator.attrgetter") + f"{x.__reduce__()[1]}"
        if isinstance(owner, np.ufunc) or isinstance(x, _DESCRIPTORS):
            found = self.text(owner if isinstance(owner, np.ufunc) else x.__objclass__)
            return found and f"{found}.{x.__name__}"
        module = "numpy" if isinstance(x, np.ufunc) else getattr(x, "__module__", None)
        return self._named(module, getattr(x, "__name__", ""), x) if module else None

    def _structure(self, x: Any) -> str | None:
        cls = type(x)
        parts = (x.start, x.stop, x.step) if cls is slice else x
        texts = [self.text(y) for y in (x.values() if cls is dict else parts)]
        keys = [self.text(key) for key in x] if cls is dict else []
        if None in (*texts, *keys):
            return None
        if cls is dict:
            pairs = zip(keys, texts, strict=True)
            return f"{{{', '.join([f'{key}: {text}' for key, text in pairs])}}}"
        inner = ", ".join(map(str, texts))
        if cls is list:
            return f"[{inner}]"
        return f"slice({inner})" if cls is slice else f"({inner}{',' * (len(texts) == 1)})"

    # ------------------------------------------------------------------------------------- NumPy's

    def _of_numpy(self, x: Any) -> str | None:
        if isinstance(x, np.dtype):
            return self._dtype(x)
        if type(x) is np.ndarray:
            return self._array(x)
        if vars(np).get(type(x).__name__) is not type(x) or x.dtype.hasobject:
            return None
        text = type(x) in (np.str_, np.bytes_)  # arrays drop zeros at their end
        if text or x.dtype.kind in "iub" or (x.dtype.char in "efd" and np.isfinite(x)):
            return self.known(f"numpy.{type(x).__name__}") + f"({x.item()!r})"
        found = self._bytes(np.asarray(x))
        return found and f"{found}[()]"

    def _dtype(self, x: np.dtype) -> str | None:
        for form in (x.str, x.char, x.descr if x.names is not None else x.str):
            try:
                found: Any = np.dtype(form)
            except TypeError:
                continue
            if found == x and found.char == x.char:
                return self.known("numpy.dtype") + f"({form!r})"
        return None

    def _array(self, x: np.ndarray) -> str | None:
        dtype = self._dtype(x.dtype)
        if x.dtype.hasobject or dtype is None or x.dtype.char == "T":
            return None
        if not x.size or not x.itemsize:
            return self.known("numpy.zeros") + f"({x.shape}, {dtype})"
        # Products and sums round differently in another order of the axes.
        order = sorted(range(x.ndim), key=lambda axis: -abs(x.strides[axis]))
        if not x.flags.c_contiguous and order != [*range(x.ndim)]:
            found = self._array(np.ascontiguousarray(x.transpose(order)))
            return found and f"{found}.transpose({np.argsort(order).tolist()})"
        if x.dtype.char not in "efd" and x.dtype.kind not in "iub":
            return self._bytes(x)
        if x.size <= _SHORT and bool(np.all(np.isfinite(x))):
            return self.known("numpy.array") + f"({x.tolist()!r}, {x.dtype.str!r})"
        first: Any = x.flat[0]
        # Compare bytes: 0.0 == -0.0, but their bits differ.
        if np.isfinite(first) and np.full(x.shape, first).tobytes() == x.tobytes():
            return self.known("numpy.full") + f"({x.shape}, {first.item()!r}, {x.dtype.str!r})"
        return self._bytes(x)

    def _bytes(self, x: np.ndarray) -> str | None:
        dtype = self._dtype(x.dtype)
        if dtype is None or x.dtype.hasobject or not x.itemsize:
            return None
        data = base64.b64encode(np.ascontiguousarray(x).tobytes()).decode()
        decoded = self.known("base64.b64decode") + f"({data!r})"
        return self.known("numpy.frombuffer") + f"({decoded}, {dtype}).reshape({x.shape})"

    def _named(self, module: str, name: str, x: Any) -> str | None:
        if x is getattr(vars(np).get(name), "_implementation", self):
            return self.known(f"numpy.{name}")
        for home in (public_part(module), module, module.removeprefix("_"), *_HOMES):
            there = home in sys.modules and is_known(home) and is_reached(home)
            if there and is_same(home, vars(sys.modules[home]).get(name), x):
                return self.known(f"{home}.{name}")
        return None


def _float(x: float) -> str:
    if math.isfinite(x):
        return repr(x)
    return f'{"-" if math.copysign(1.0, x) < 0 else ""}float("{abs(x)}")'


def is_known(module: str) -> bool:
    """Return whether a module is part of NumPy, SciPy or the standard library."""
    base = module.partition(".")[0]
    return base in KNOWN or base in sys.stdlib_module_names


def public_part(module: str) -> str:
    """Return the public module that contains a private one."""
    parts = module.split(".")
    return ".".join(parts[: next((i for i, part in enumerate(parts) if part[0] == "_"), None)])


def is_reached(module: str) -> bool:
    """Return whether importing a name gives the module: a function of that name may shadow it."""
    root, *rest = module.split(".")
    found: Any = sys.modules.get(root)
    for part in rest:
        found = getattr(found, part, None)
    return found is sys.modules[module]


def is_same(home: str, found: Any, x: Any) -> bool:
    """Return whether an object is another, or wraps the same function of SciPy."""
    if found is x or not (home.startswith("scipy") and callable(found)):
        return found is x
    return inspect.unwrap(found) is inspect.unwrap(x)
