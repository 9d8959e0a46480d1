"""Prints: hashes of functions and of all that they can come to, the same in each process.

Two functions have one print if no code could tell what they compute from the other: equal bytecode,
captured values, globals, classes, attributes, helpers and their helpers; and equal versions of the
libraries that they name. What has no print that another process could find again is refused, and
everything that refers to it with it.
"""

from __future__ import annotations

import collections
import dis
import enum
import functools
import hashlib
import importlib.machinery
import operator
import os
import sys
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Any, final

import numpy as np

from chainrules_compile.alike import PLAIN, Same, SameHidden, bits_of, is_of_python, made_by
from chainrules_compile.captures import stated
from chainrules_py import Primitive
from chainrules_py.extend import Cache, attributes, is_library

_DESCRIPTORS = (
    *(types.MethodDescriptorType, types.WrapperDescriptorType, types.GetSetDescriptorType),
    *(types.MemberDescriptorType, types.ClassMethodDescriptorType),
)
_OF_CLASSES = frozenset(
    [
        "__dict__",
        "__weakref__",
        "__module__",
        "__doc__",
        "__annotations__",
        "__abstractmethods__",
        "_abc_impl",
        "__dataclass_fields__",
        "__dataclass_params__",
        "__firstlineno__",
        "__static_attributes__",
    ]
)
"""What classes have that says nothing of what they compute."""


class UnsaidError(Exception):
    """A value has no print that another process would find again."""


@final
class Prints:
    """Prints of values, one after another, and the values themselves by their numbers.

    Attributes
    ----------
    values : list
        What was visited, in an order that is the same in each process.
    """

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._places: dict[int, int] = {}
        self._hash = hashlib.blake2b(digest_size=20)
        self._names: set[str] = set()
        self._modules: dict[str, set[str]] = {}
        self._owners: dict[int, int] = {}

    def fork(self) -> Prints:
        """Return one that goes on from here by itself."""
        other = Prints()
        other.values, other._places = [*self.values], {**self._places}
        other._hash, other._names = self._hash.copy(), {*self._names}
        other._modules = {name: {*done} for name, done in self._modules.items()}
        other._owners = {**self._owners}
        return other

    def place(self, x: Any) -> int | None:
        """Return the number of a value that was visited."""
        return self._places.get(id(x))

    def of(self, values: Iterable[Any]) -> str:
        """Visit values, and all that they come to, and return the print of everything so far.

        Raises
        ------
        UnsaidError
            If something has none.
        """
        try:
            for x in values:
                self.visit(x)
            self._visit_modules()
        except RecursionError as error:
            raise UnsaidError from error
        return self._hash.hexdigest()

    def _say(self, *texts: Any) -> None:
        said = "\0".join(map(str, texts)).encode("utf-8", "surrogatepass")
        self._hash.update(b"%d:" % len(said))
        self._hash.update(said)

    def _visit_modules(self) -> None:
        """Visit what code may name of people's modules, until there is nothing more."""
        more = True
        while more:
            more = False
            for name, done in list(self._modules.items()):
                scope = vars(sys.modules[name])
                for key in sorted((self._names & scope.keys()) - done):
                    done.add(key)
                    more = True
                    self._say("in", name, key)
                    self.visit(scope[key])

    # ---------------------------------------------------------------------------------- each value

    def visit(self, x: Any) -> None:
        """Say what a value is, and visit what it holds."""
        cls = type(x)
        if cls in PLAIN or x is ... or x is NotImplemented or cls in (range, slice):
            if cls is str:
                self._names.add(x)
            if cls is slice:
                self._say("slice")
                self._all((x.start, x.stop, x.step))
            else:
                self._say(cls.__name__, bits_of(x))
            return
        known = self._places.get(id(x))
        if known is not None:
            self._say("again", known)
            return
        self._places[id(x)] = len(self.values)
        self.values.append(x)
        for classes, say in _SAID:
            if issubclass(cls, classes):
                say(self, x)
                return
        self._object(x)

    def _all(self, values: Iterable[Any]) -> None:
        found = tuple(values)
        self._say(len(found))
        for x in found:
            self.visit(x)

    def _code(self, x: types.CodeType) -> None:
        if not all(map(is_library, named_in(x)["IMPORT_NAME"])):
            raise UnsaidError
        names = (x.co_names, x.co_varnames, x.co_freevars, x.co_cellvars)
        counts = (x.co_argcount, x.co_posonlyargcount, x.co_kwonlyargcount, x.co_flags)
        self._say("code", x.co_name, names, counts, x.co_code.hex(), x.co_exceptiontable.hex())
        self._names.update(x.co_names)
        self._all(x.co_consts)

    def _function(self, f: types.FunctionType) -> None:
        home = f.__globals__.get("__name__") or ""
        if is_library(home):
            self._library(home, f.__code__.co_qualname)
            if f.__closure__:
                self._all([*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).items()])
                self._all(f.__closure__)
            return
        self._say("function", f.__name__)
        self.visit(f.__code__)
        self._all((f.__defaults__, f.__kwdefaults__, vars(f)))
        self._all(f.__closure__ or ())
        for name in sorted(named_in(f.__code__)["LOAD_GLOBAL"]):
            if name in f.__globals__:
                self._say("global", name)
                self.visit(f.__globals__[name])

    def _library(self, module: str, name: str) -> None:
        self._say("library", module, name, version_of(module))

    def _cell(self, x: types.CellType) -> None:
        try:
            found = x.cell_contents
        except ValueError:
            self._say("empty")
        else:
            self._say("cell")
            self.visit(found)

    def _partial(self, x: Any) -> None:
        self._say("partial")
        self._all((type(x), x.func, x.args, x.keywords, getattr(x, "recipe", None)))

    def _method(self, x: Any) -> None:
        self._say("method")
        self._all((x.__func__, x.__self__))

    def _property(self, x: Any) -> None:
        self._say("property")
        self._all((x.fget, x.fset, x.fdel))

    def _wrapping(self, x: Any) -> None:
        self._say(type(x).__name__)
        self.visit(x.func if isinstance(x, functools.cached_property) else x.__func__)

    def _module(self, x: types.ModuleType) -> None:
        if is_library(x.__name__):
            self._library(x.__name__, "")
        else:
            self._say("module", x.__name__)
            if sys.modules.get(x.__name__) is not x:
                raise UnsaidError
            self._modules.setdefault(x.__name__, set())

    def _class(self, x: type) -> None:
        if is_library(x.__module__):
            self._library(x.__module__, x.__qualname__)
            return
        self._say("class", x.__qualname__)
        self._all((type(x), *x.__bases__))
        for name, member in sorted(vars(x).items()):
            if name not in _OF_CLASSES:
                self._say(name)
                self.visit(member)

    def _descriptor(self, x: Any) -> None:
        self._say("descriptor", x.__name__)
        self.visit(x.__objclass__)

    def _builtin(self, x: Any) -> None:
        owner = x.__self__
        if owner is None or isinstance(owner, types.ModuleType):
            self._library(x.__module__ or "builtins", x.__qualname__)
        else:
            self._say("bound", x.__name__)
            self.visit(owner)

    def _ufunc(self, x: np.ufunc) -> None:
        named_by = module_of(x)
        self._library(named_by, x.__name__)

    def _primitive(self, x: Primitive[..., Any]) -> None:
        if is_library(x.__module__):
            self._library(x.__module__, x.__qualname__)
        else:
            self._say("primitive", x.__qualname__, x.shape_from_data)
            self._all((x.__wrapped__, dict(x.options)))
        self._all(stated(x))

    def _array(self, x: np.ndarray) -> None:
        if type(x) is not np.ndarray or x.dtype.hasobject:
            raise UnsaidError
        self._say("array", x.dtype.descr, x.shape, x.strides, x.flags.writeable)
        owner: Any = x
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        number = self._owners.setdefault(id(owner), len(self._owners))
        self.values.append(owner)  # so that its id is not given again
        start, own = x.__array_interface__["data"][0], owner.__array_interface__["data"][0]
        self._say(number, start - own)
        self._hash.update(x.tobytes())

    def _number(self, x: np.generic) -> None:
        if x.dtype.hasobject:
            raise UnsaidError
        self._say("number", x.dtype.str, x.tobytes().hex())

    def _dtype(self, x: np.dtype[Any]) -> None:
        if x.hasobject:
            raise UnsaidError
        self._say("dtype", x.descr, x.alignment)

    def _dict(self, x: Any) -> None:
        self._say("dict")
        self._all((type(x), made_by(x)))
        items = list(dict.items(x)) if isinstance(x, dict) else list(x.items())
        self._all([y for pair in items for y in pair])
        self._attributes(x)

    def _sequence(self, x: Any) -> None:
        self._say("sequence")
        self._all((type(x), *x))
        self._attributes(x)

    def _set(self, x: Any) -> None:
        found = sorted([(type(y).__name__, bits_of(y)) for y in x if type(y) in PLAIN])
        if len(found) != len(x):
            raise UnsaidError
        self._names.update([y for y in x if type(y) is str])
        self._say("set", found)
        self.visit(type(x))
        self._attributes(x)

    def _reduced(self, x: Any) -> None:
        self._say(type(x).__name__)
        self._all(x.__reduce__()[1])

    def _enumeration(self, x: enum.Enum) -> None:
        self._say("member", x.name)
        self.visit(type(x))

    def _same(self, x: Any) -> None:
        self._say("same")
        self.visit(x.x)

    def _object(self, x: Any) -> None:
        """Say what an object of people's, or of this library, holds."""
        cls = type(x)
        ours = cls.__module__.startswith("chainrules_") and not isinstance(x, Cache)
        if not is_of_python(cls) or not (ours or not is_library(cls.__module__)):
            name = getattr(x, "__name__", None)
            if name is None or not callable(x):
                raise UnsaidError
            self._library(module_of(x), name)
            return
        self._say("object")
        self.visit(cls)
        self._attributes(x)

    def _attributes(self, x: Any) -> None:
        if type(x).__module__ != "builtins":
            found = attributes(x)
            for name in sorted(found):
                self._say("attribute", name)
                self.visit(found[name])


_SAID: tuple[tuple[Any, Any], ...] = (
    (types.CodeType, Prints._code),
    (types.FunctionType, Prints._function),
    (types.CellType, Prints._cell),
    (Primitive, Prints._primitive),
    (functools.partial, Prints._partial),
    (types.MethodType, Prints._method),
    (property, Prints._property),
    ((staticmethod, classmethod, functools.cached_property), Prints._wrapping),
    (types.ModuleType, Prints._module),
    (type, Prints._class),
    (_DESCRIPTORS, Prints._descriptor),
    (types.BuiltinFunctionType, Prints._builtin),
    (np.ufunc, Prints._ufunc),
    (np.ndarray, Prints._array),
    (np.generic, Prints._number),
    (np.dtype, Prints._dtype),
    (enum.Enum, Prints._enumeration),
    ((dict, types.MappingProxyType), Prints._dict),
    ((tuple, list, collections.deque), Prints._sequence),
    ((set, frozenset), Prints._set),
    ((operator.attrgetter, operator.itemgetter, operator.methodcaller), Prints._reduced),
    ((Same, SameHidden), Prints._same),
)
"""By the class of a value what says what it is."""


@functools.lru_cache(maxsize=1024)
def named_in(code: types.CodeType) -> dict[str, set[str]]:
    """Return the globals that code looks up, and the modules that it imports, those inside too."""
    found: dict[str, set[str]] = {"LOAD_GLOBAL": set(), "IMPORT_NAME": set()}
    for each in dis.get_instructions(code):
        name = "LOAD_GLOBAL" if each.opname == "LOAD_NAME" else each.opname
        if name in found:
            found[name].add(str(each.argval))
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            for name, names in named_in(inner).items():
                found[name] |= names
    return found


def module_of(x: Any) -> str:
    """Return the module of a library where something stands under its own name.

    Raises
    ------
    UnsaidError
        If there is none.
    """
    name = getattr(x, "__name__", "")
    known = (getattr(x, "__module__", None) or "", "numpy", "numpy.linalg", "scipy.special")
    for home in known:
        module = sys.modules.get(home)
        if module is not None and is_library(home) and vars(module).get(name) is x:
            return home
    raise UnsaidError


@functools.cache
def version_of(module: str) -> str:
    """Return the version of the library that a module is of; of ours, which files it has."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names:
        return sys.version
    found: Any = sys.modules.get(top)
    if top.startswith("chainrules_"):
        return stamp(str(Path(found.__file__).parent)) if found is not None else ""
    return str(getattr(found, "__version__", ""))


@functools.cache
def stamp(folder: str) -> str:
    """Return a hash of the names, sizes and times of the files of a package."""
    found = []
    suffixes = tuple(importlib.machinery.SOURCE_SUFFIXES)
    for place, _, names in os.walk(folder):
        for name in names:
            if name.endswith(suffixes):
                facts = os.stat(os.path.join(place, name))
                relative = os.path.relpath(place, folder)
                found.append((relative, name, facts.st_size, facts.st_mtime_ns))
    return hashlib.sha256(repr(sorted(found)).encode()).hexdigest()


@functools.cache
def _beside() -> dict[str, str]:
    folders = Path(__file__).parent.parent.glob("chainrules_*/")
    return {each.name: stamp(str(each)) for each in folders}


def versions() -> list[tuple[str, str]]:
    """Return the versions of Python, NumPy, and all packages of ours, loaded so far or not."""
    mine = _beside()
    loaded = {n for n in sys.modules if n.startswith("chainrules_") and "." not in n}
    ours = {name: version_of(name) for name in loaded - mine.keys()} | mine
    return [*[(name, version_of(name)) for name in ("sys", "numpy")], *sorted(ours.items())]
