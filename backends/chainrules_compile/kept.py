"""Kept programs: what is written of a program to disk, and how another process has it again.

What is read is no more than a program's statements and the objects that these name. What hangs on
arguments, captured values and rules is looked at anew, and has to come to the same checks; and the
function is called beside the program when that is called first, as it is when one is recorded.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import marshal
import operator
import sys
import types
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np

from chainrules_compile.folder import CacheInfo, Folder
from chainrules_compile.halves import Part
from chainrules_compile.layouts import is_compact
from chainrules_compile.outside import member
from chainrules_compile.prints import Prints, UnsaidError, module_of
from chainrules_compile.scope import Scope
from chainrules_py import Primitive
from chainrules_py.extend import LEAF, Space, TreeDef, is_library, structure_of, type_info
from chainrules_py.vocabulary.views import Index

FOLDER = Folder("chainrules_compile", "CHAINRULES_COMPILE_CACHE", ".program")
"""Where programs are kept."""
_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_OF_SPACES = ("device", "dtype", "kind", "like", "ndim", "shape", "size")
_MOST_BYTES = 1 << 24
"""How long an entry is at most."""


def cache_info() -> CacheInfo:
    """Return what was found on disk by this process, and what is there.

    Examples
    --------
    >>> from chainrules_compile import cache_info
    >>> cache_info()  # doctest: +SKIP
    CacheInfo(hits=3, misses=1, entries=17, bytes=412672, folder='/home/me/.cache/...')
    """
    return FOLDER.info()


class Text(NamedTuple):
    """Everything of a program that is written down.

    Attributes
    ----------
    source : str
        Its source, the checks included.
    code : CodeType
        What Python made of that.
    scope : tuple
        The names that the source sees, each with what its object is written as; what is made anew
        is left out.
    words : tuple
        The words that were called.
    rules : str
        The print of what people have stated of them.
    captured : tuple
        The names of the arrays that the function captured, and their numbers among the prints.
    overlaps, in_own_context : bool
        Whether memory that is shared matters, and whether it runs in a context of its own.
    steps : tuple
        How many calls there were after each pass.
    """

    source: str
    code: types.CodeType
    scope: tuple[Any, ...]
    words: tuple[Any, ...]
    rules: str
    captured: tuple[Any, ...]
    overlaps: bool
    in_own_context: bool
    steps: tuple[Any, ...]


@final
class Kept:
    """Place on disk of the program of a call, by the print of all that it hangs on.

    Attributes
    ----------
    stale : bool
        Whether what stood there gave another result than the function.
    """

    def __init__(self, key: str, prints: Prints) -> None:
        self.key = key
        self.prints = prints
        self.stale = False

    def texts(self) -> list[tuple[Path, Text]]:
        """Return the programs that are there, each as it was written."""
        texts = []
        with contextlib.suppress(OSError):
            for path in FOLDER.found(self.key):
                with contextlib.suppress(OSError, ValueError, EOFError, TypeError):
                    texts.append((path, Text(*marshal.loads(path.read_bytes()))))
        return texts

    def keep(self, text: Text) -> None:
        """Write a program down, if that can be."""
        data = marshal.dumps(tuple(text))
        if len(data) <= _MOST_BYTES:
            with contextlib.suppress(OSError), FOLDER.private() as private:
                made = private / "program"
                made.write_bytes(data)
                FOLDER.put(self.key, made)


# ------------------------------------------------------------------------------------ each object


def to_text(x: Any, prints: Prints, scope: Scope | None = None, name: str = "") -> Any:
    """Return what an object is written as: plain, or a kind and what it is made of.

    Raises
    ------
    UnsaidError
        If it cannot be made again.
    """
    each = functools.partial(to_text, prints=prints)
    if scope is not None and name in scope.recipes:
        factory, args = scope.recipes[name]
        return "made", each(factory), each(args)
    cls, place = type(x), prints.place(x)
    if cls in _PLAIN:
        return x
    people = not is_library(getattr(x, "__module__", "") or cls.__module__)
    if place is not None and (people or isinstance(x, np.ndarray)):
        return "seen", place
    if x is ... or x is Index.HOLE or x is LEAF:
        return ("dots" if x is ... else "leaf" if x is LEAF else "hole",)
    for classes, write in _WRITTEN:
        if isinstance(x, classes):
            return write(x, each)
    try:
        return _of(x, each)
    except UnsaidError:  # without a name: it computes a word, most often of Python's numbers
        if scope is not None and id(x) in scope.computing and not people:
            return "computing", *map(each, scope.computing[id(x)])
        for field in _SHORT:
            for key, function in getattr(type_info(np.ndarray).library, field).items():
                if function is x:
                    return "short", field, each(key)
        raise


_SHORT = ("adjoint", "half")
"""Fields of a library that have short ways of its own, by the functions of rules."""


def _of(x: Any, each: Any) -> tuple[Any, ...]:
    """Write what a library has under a name, or an object of it as a member."""
    owner = getattr(x, "__self__", None)
    if isinstance(owner, np.ufunc):
        return "of", each(owner), x.__name__
    if type(x).__module__ == "operator":
        return "operator", type(x).__name__, each(x.__reduce__()[1])
    return "named", *_named(x)


def _items(x: Any, each: Any) -> tuple[Any, ...]:
    if type(x) in (tuple, list):
        return (type(x).__name__, *map(each, x))
    if not hasattr(x, "_fields"):
        raise UnsaidError
    return "fields", each(type(x)), *map(each, x)


def _dtype(x: np.dtype[Any], _: Any) -> tuple[Any, ...]:
    if np.dtype(x.str) != x or x.hasobject:
        raise UnsaidError
    return "dtype", x.str


def _array(x: np.ndarray, each: Any) -> tuple[Any, ...]:
    core = x[tuple([slice(1) if step == 0 else slice(None) for step in x.strides])]
    axes = tuple(sorted(range(x.ndim), key=lambda i: -abs(core.strides[i])))
    laid = core.transpose(axes)
    known = type(x) is np.ndarray and not x.dtype.hasobject
    if not known or not is_compact(core) or not laid.flags.c_contiguous:
        raise UnsaidError
    facts = x.shape, x.flags.writeable
    return "array", each(x.dtype), laid.shape, axes, laid.tobytes(), *facts


def _tree(x: TreeDef, each: Any) -> tuple[Any, ...]:
    if x is LEAF:
        return ("leaf",)
    if x.structure is None or x.structure is not structure_of(x.cls):
        raise UnsaidError
    return "tree", each(x.cls), each(x.like), each(tuple(x.keys)), *map(each, x.children)


_WRITTEN: tuple[tuple[Any, Callable[[Any, Any], tuple[Any, ...]]], ...] = (
    (Index, lambda x, each: ("Index", *map(each, x))),
    ((tuple, list), _items),
    (slice, lambda x, each: ("slice", each(x.start), each(x.stop), each(x.step))),
    (np.dtype, _dtype),
    (np.generic, lambda x, each: ("number", each(x.dtype), x.tobytes())),
    (np.ndarray, _array),
    (Space, lambda x, each: ("space", *[each(getattr(x, name)) for name in _OF_SPACES])),
    (TreeDef, _tree),
    (functools.partial, lambda x, each: ("partial", *map(each, _parts(x)))),
    (types.ModuleType, lambda x, _: ("module", _module(x))),
    (Part, lambda x, _: ("part", x.number)),
    (
        (types.MethodDescriptorType, types.GetSetDescriptorType),
        lambda x, each: ("of", each(x.__objclass__), x.__name__),
    ),
)
"""By the class of an object how it is written."""


def _parts(x: functools.partial[Any]) -> tuple[Any, ...]:
    if type(x) is not functools.partial:
        raise UnsaidError
    return x.func, x.args, tuple(x.keywords.items())


def _module(x: types.ModuleType) -> str:
    if sys.modules.get(x.__name__) is not x or not is_library(x.__name__):
        raise UnsaidError
    return x.__name__


def _named(x: Any) -> tuple[str, str]:
    """Return where a library has an object, or a class or a word a member."""
    module, name = getattr(x, "__module__", None), getattr(x, "__qualname__", None)
    home: Any = sys.modules.get(str(module))
    if module and name and is_library(module) and member(home, name) is x:
        return module, name
    short: str = getattr(x, "__name__", "")
    if getattr(sys.modules["builtins"], short, None) is x:
        return "builtins", short
    vdot: Any = np.vdot
    if x is getattr(vdot, "_implementation", None):
        return "numpy", "vdot._implementation"
    if module and is_library(module):  # of a function that another one made, as it is called there
        for called, y in vars(home).items() if home is not None else ():
            if y is x:
                return module, called
    return module_of(x), short


def from_text(text: Any, prints: Prints) -> Any:
    """Return the object that was written so.

    Raises
    ------
    UnsaidError
        If there is none here.
    """
    if type(text) is not tuple:
        return text
    each = functools.partial(from_text, prints=prints)
    kind, *rest = text
    if kind == "seen":
        return prints.values[rest[0]]
    if kind == "named":
        module, path = rest
        if not is_library(module):
            raise UnsaidError
        found = member(importlib.import_module(module), path)
        if found is None:
            raise UnsaidError
        return found
    return _READ[kind](each, *rest)


def _read_array(each: Any, dtype: Any, laid: Any, axes: Any, data: bytes, *facts: Any) -> Any:
    shape, writeable = facts
    found = np.frombuffer(bytearray(data), each(dtype)).reshape(laid)
    array = found.transpose(np.argsort(axes)) if axes else found
    array = array if array.shape == shape else np.broadcast_to(array, shape)
    array.flags.writeable = writeable and array.base is not None and array.flags.writeable
    return array


def _read_space(each: Any, *parts: Any) -> Any:
    space: Any = object.__new__(Space)
    for name, part in zip(_OF_SPACES, parts, strict=True):
        setattr(space, name, each(part))
    return space


def _read_tree(each: Any, *parts: Any) -> Any:
    cls, like, keys, *children = map(each, parts)
    return TreeDef(structure_of(cls), like, keys, tuple(children), cls)


_READ: dict[str, Callable[..., Any]] = {
    "tuple": lambda each, *parts: tuple(map(each, parts)),
    "list": lambda each, *parts: [*map(each, parts)],
    "fields": lambda each, cls, *parts: each(cls)(*map(each, parts)),
    "Index": lambda each, *parts: Index(map(each, parts)),
    "slice": lambda each, *parts: slice(*map(each, parts)),
    "dots": lambda _: ...,
    "hole": lambda _: Index.HOLE,
    "leaf": lambda _: LEAF,
    "dtype": lambda _, text: np.dtype(text),
    "number": lambda each, dtype, data: np.frombuffer(data, each(dtype))[0],
    "array": _read_array,
    "space": _read_space,
    "tree": _read_tree,
    "operator": lambda each, name, args: getattr(operator, name)(*each(args)),
    "of": lambda each, owner, name: getattr(each(owner), name),
    "partial": lambda each, f, args, keywords: functools.partial(
        each(f), *each(args), **dict(each(keywords))
    ),
    "module": lambda _, name: importlib.import_module(name),
    "computing": lambda each, word, types: each(word).implementation(each(types)),
    "short": lambda each, field, key: getattr(type_info(np.ndarray).library, field)[each(key)],
    "part": lambda _, number: Part(number),
    "made": lambda each, factory, args: each(factory)(*each(args)),
}
"""By the kind of what is written how the object is made."""


def words_to_text(words: Iterable[Primitive[..., Any]], prints: Prints) -> tuple[Any, ...]:
    """Return what words are written as, in an order that is the same in each process."""
    return tuple(sorted([to_text(word, prints) for word in words]))
