"""Constants of saved programs: expressions that give them where there is NumPy alone.

An expression gives the bits that there were: infinities, NaN, signs of zeros, dtypes, the order of
an array's axes. Its names are those of modules, which are imported, and nothing else.
"""

from __future__ import annotations

import base64
import builtins
import functools
import inspect
import math
import operator
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from chainrules_compile.calls import Apart, Under
from chainrules_py.extend import LEAF, Space, TreeDef
from chainrules_py.vocabulary.views import Index

KNOWN = ("numpy", "scipy")
_HOMES = ("numpy", "numpy.linalg", "scipy.special", "math", "operator")
_INDEX = '''class NAME(tuple):
    """An index, with holes for arrays."""

    HOLE = ("array",)

    def join(self, arrays):
        """Return the index with arrays in the holes."""
        rest = iter(arrays)
        return tuple([self._entry(e, rest) if type(e) is tuple else e for e in self])

    def _entry(self, e, rest):
        if e[0] == "array":
            return next(rest)
        return slice(*e[1:]) if e[0] is slice else e[1]
'''
_UNDER = '''def NAME(function, errors):
    """Return a function that is called with NumPy's errors handled in a way of its own."""

    def call(*operands, **options):
        with numpy.errstate(**errors):
            return function(*operands, **options)

    return call
'''
_SHORT = 64
"""Up to so many elements an array is written as numbers."""
_SEVERAL = (tuple, list, set, frozenset, dict, slice, range, Index, types.GenericAlias)
_DESCRIPTORS = (types.MethodDescriptorType, types.GetSetDescriptorType, types.WrapperDescriptorType)


class Constants:
    """Expressions of constants, with the imports and the lines that they need.

    Attributes
    ----------
    imports : set of str
        The modules that are named.
    lines : list of str
        What stands above the program, in order.
    done : dict
        The names that have been given, with their objects.
    taken : set of str
        Names that are not to be given.
    """

    def __init__(self) -> None:
        self.imports: set[str] = set()
        self.lines: list[str] = []
        self.done: dict[str, Any] = {}
        self.taken: set[str] = set()
        self._sources: dict[str, str] = {}

    def text(self, x: Any) -> str | None:
        """Return an expression that gives an object; or None."""
        cls = type(x)
        if x is None or x is ... or x is NotImplemented or cls in (bool, str, bytes):
            return repr(x)
        if cls is int:
            return repr(x) if abs(x) < 1 << 64 else hex(x)
        if cls is float:
            return _float(x)
        if cls is complex:
            return f"complex({_float(x.real)}, {_float(x.imag)})"
        if isinstance(x, types.ModuleType):
            return self._module(x)
        if isinstance(x, (np.ndarray, np.generic, np.dtype, Space)):
            return self._of_numpy(x)
        if cls in _SEVERAL:
            return self._structure(x)
        if cls is functools.partial:
            return self._call("functools.partial", x.func, *x.args, **x.keywords)
        if cls is Under:
            return self._under(x)
        if cls is Apart:
            return self._apart(x)
        return self._callable(x)

    def function(self, x: Any) -> str | None:
        """Return an expression that gives a function; or None."""
        return self.text(x)

    def known(self, name: str) -> str:
        """Return the name of something in a module, which is imported."""
        self.imports.add(name.rpartition(".")[0])
        return name

    def once(self, name: str, source: str) -> str:
        """Return the name of what a text defines, which is written once."""
        if source not in self._sources:
            self._sources[source] = found = self.unused(name, source)
            self.lines.append(source.replace("NAME", found))
        return self._sources[source]

    def unused(self, name: str, x: Any) -> str:
        """Return a name that nothing has, for an object."""
        base, n = name, 1
        while name in self.done or name in self.taken:
            n += 1
            name = f"{base}_{n}"
        self.done[name] = x
        return name

    def _call(self, function: str, *operands: Any, **options: Any) -> str | None:
        texts = [self.text(x) for x in operands]
        given = {name: self.text(x) for name, x in options.items()}
        if None in texts or None in given.values():
            return None
        words = [*map(str, texts), *[f"{name}={text}" for name, text in given.items()]]
        return f"{self.known(function)}({', '.join(words)})"

    def _under(self, x: Under) -> str | None:
        function, errors = self.function(x.function), self.text(dict(x.errors))
        if function is None or errors is None:
            return None
        self.imports.add("numpy")
        return f"{self.once('under', _UNDER)}({function}, {errors})"

    def _apart(self, x: Apart) -> str | None:
        names = [f"x{i}" for i in range(x.tree.num_leaves)]
        operands, options = x.tree.children
        rest = iter(names)
        given = [self._built(each, rest) for each in operands.children]
        keywords = [self._built(each, rest) for each in options.children]
        function = self.function(x.function)
        if None in (function, *given, *keywords):
            return None
        words = [f"{key}={text}" for key, text in zip(options.keys, keywords, strict=True)]
        return f"(lambda {', '.join(names)}: {function}({', '.join([*map(str, given), *words])}))"

    def _built(self, tree: TreeDef, leaves: Iterator[str]) -> str | None:
        """Return an expression that puts leaves together, in Python's own containers; or None."""
        if tree is LEAF:
            return next(leaves)
        if tree.structure is None:
            return self.text(tree.like)
        parts = [self._built(each, leaves) for each in tree.children]
        if None in parts or tree.cls not in (tuple, list, dict):
            return None
        if tree.cls is dict:
            pairs = [(self.text(key), part) for key, part in zip(tree.keys, parts, strict=True)]
            whole = all([key is not None for key, _ in pairs])
            return f"{{{', '.join([f'{key}: {part}' for key, part in pairs])}}}" if whole else None
        inner = ", ".join(map(str, parts))
        return f"[{inner}]" if tree.cls is list else f"({inner}{',' * (len(parts) == 1)})"

    def _callable(self, x: Any) -> str | None:
        owner, module = getattr(x, "__self__", None), getattr(x, "__module__", None)
        if type(x) is operator.attrgetter:
            return self.known("operator.attrgetter") + f"{x.__reduce__()[1]}"
        if isinstance(owner, np.ufunc):
            found = self.text(owner)
            return found and f"{found}.{x.__name__}"
        if isinstance(x, _DESCRIPTORS):
            found = self.text(x.__objclass__)
            return found and f"{found}.{x.__name__}"
        if isinstance(x, types.MethodType):
            found = self.text(owner)
            return found and f"{found}.{x.__name__}"
        if isinstance(x, np.ufunc):
            module = "numpy"
        if callable(x) and module:
            found = self._named(str(module), getattr(x, "__name__", ""), x)
            return found or self._within(str(module), x)
        return None

    def _module(self, x: types.ModuleType) -> str | None:
        if not is_known(x.__name__):
            return None
        self.imports.add(x.__name__)
        return x.__name__

    def _structure(self, x: Any) -> str | None:
        cls = type(x)
        if cls in (slice, range):
            return self._call(f"builtins.{cls.__name__}", x.start, x.stop, x.step)
        if cls is types.GenericAlias:
            origin, args = self.text(x.__origin__), self.text(x.__args__)
            return origin and args and f"{origin}[{args}]"
        if cls is dict:
            pairs = [(self.text(key), self.text(y)) for key, y in x.items()]
            whole = all([key is not None and y is not None for key, y in pairs])
            return f"{{{', '.join([f'{key}: {y}' for key, y in pairs])}}}" if whole else None
        texts = [self.text(y) for y in x]
        if None in texts:
            return None
        inner = ", ".join(map(str, texts))
        if cls is Index:
            comma = "," * (len(texts) == 1)
            return f"{self.once('Index', _INDEX)}(({inner}{comma}))"
        if cls in (set, frozenset):
            members = "".join([f"{text}, " for text in sorted(map(str, texts))])
            return self.known(f"builtins.{cls.__name__}") + f"(({members}))"
        if cls is list:
            return f"[{inner}]"
        return f"({inner}{',' * (len(texts) == 1)})"

    # ------------------------------------------------------------------------------------- NumPy's

    def _of_numpy(self, x: Any) -> str | None:
        if isinstance(x, np.dtype):
            return self._dtype(x)
        if isinstance(x, Space):
            facts = {"shape": x.shape, "ndim": x.ndim, "size": x.size, "dtype": x.dtype}
            return self._call("types.SimpleNamespace", **facts)
        if type(x) is np.ndarray:
            return self._array(x)
        if vars(np).get(type(x).__name__) is not type(x) or x.dtype.hasobject:
            return None
        if type(x) in (np.str_, np.bytes_):  # of which arrays leave zeros at the end out
            return self.known(f"numpy.{type(x).__name__}") + f"({x.item()!r})"
        if x.dtype.kind in "iub" or (x.dtype.char in "efd" and np.isfinite(x)):
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
        # Products and sums have other bits in another order of the axes.
        order = sorted(range(x.ndim), key=lambda axis: -abs(x.strides[axis]))
        if not x.flags.c_contiguous and order != [*range(x.ndim)]:
            found = self._array(np.ascontiguousarray(x.transpose(order)))
            return found and f"{found}.transpose({np.argsort(order).tolist()})"
        if x.dtype.char not in "efd" and x.dtype.kind not in "iub":
            return self._bytes(x)
        if x.size <= _SHORT and bool(np.all(np.isfinite(x))):
            return self.known("numpy.array") + f"({x.tolist()!r}, {x.dtype.str!r})"
        first: Any = x.flat[0]
        # By their bytes: 0.0 and -0.0 are equal, and two arrays.
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

    def _within(self, module: str, x: Any) -> str | None:
        """Return the name of a function in a class, or of an object that its module has made."""
        if module not in sys.modules or not (is_known(module) and is_reached(module)):
            return None
        found: Any = sys.modules[module]
        name = getattr(x, "__qualname__", "")
        if not name:
            names = [key for key, y in vars(found).items() if y is x]
            return self.known(f"{module}.{names[0]}") if names else None
        for part in name.split("."):
            found = getattr(found, part, None)
        if not is_same(module, found, x):
            return None
        self.imports.add(module)
        return f"{module}.{name}"


def _float(x: float) -> str:
    if math.isfinite(x):
        return repr(x)
    return f'{"-" if math.copysign(1.0, x) < 0 else ""}float("{abs(x)}")'


def is_known(module: str) -> bool:
    """Tell whether a module is there wherever NumPy and SciPy are."""
    base = module.partition(".")[0]
    return base in KNOWN or base in sys.stdlib_module_names


def public_part(module: str) -> str:
    """Return the module in which people find what one has that begins with an underscore."""
    parts = module.split(".")
    return ".".join(parts[: next((i for i, part in enumerate(parts) if part[0] == "_"), None)])


def is_reached(module: str) -> bool:
    """Tell whether a module is what its name gives: a function of it may have taken its place."""
    root, *rest = module.split(".")
    found: Any = sys.modules.get(root)
    for part in rest:
        found = getattr(found, part, None)
    return found is sys.modules[module]


def is_same(home: str, found: Any, x: Any) -> bool:
    """Tell whether something is an object, or stands for it while SciPy's are replaced."""
    if found is x or not (home.startswith("scipy") and callable(found)):
        return found is x
    return inspect.unwrap(found) is inspect.unwrap(x)


def is_builtin(name: str, x: Any) -> bool:
    """Tell whether a name of Python's own means an object."""
    return getattr(builtins, name, None) is x
