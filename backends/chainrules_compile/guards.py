"""Guards: the values that a compiled function looks up, and checks that they are unchanged.

A program is valid while the names in the code of the function refer to the same values: cells,
globals, and attributes, one level deep, of `self` and of other objects in the code. They are
compared by identity; numbers and texts by class and value; containers also by their length, and
small lists and dicts one level deep: what a method of an entry names is an attribute of `self`.
Some elements of each captured array are compared: values computed from it alone are constants.
"""

from __future__ import annotations

import functools
import random
import types
from argparse import Namespace
from collections import deque
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from chainrules_compile.errors import MISS, Traced, Unfit
from chainrules_compile.recorded_values import Noted
from chainrules_compile.scope import Scope
from chainrules_py.extend import (
    LEAF,
    Mode,
    Tracer,
    flatten,
    is_generator,
    is_library,
    made_by_python,
    states,
    type_info,
)

PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)  # compared by value
METHODS = (types.MethodType, types.BuiltinMethodType, types.MethodWrapperType)  # compared by ==
GROWING = (list, dict, set, deque)  # whose length is compared
READ = [each.__getitem__ for each in (dict, list, tuple, deque)]  # of entries that are compared
MOST_BYTES = 1 << 26  # maximum size of an array that is restored
MOST_FOLLOWED = 20_000  # maximum number of objects whose attributes are looked up
MOST = 32  # maximum length of a container whose arrays and numbers are compared
SHARED: dict[str, Any] = {  # random generators
    "np.random": np.random.get_state.__self__,  # type: ignore[attr-defined]
    "Python's random": random.getstate.__self__,  # type: ignore[attr-defined]
}
EACH = 4  # approximate number of elements that are compared along an axis of an array


class Lookup(NamedTuple):
    """A name that code looks up: its text, an owner, a key (None: a cell), and the value.

    The key is an attribute of the owner, or that of an entry of a container.
    """

    name: str
    owner: Any
    key: Any
    value: Any
    is_entry: bool = False

    def now(self) -> Any:
        """Return the current value; the class `Lookup` if there is none."""
        try:
            if self.is_entry:
                return self.owner[self.key]
            return getattr(self.owner, self.key or "cell_contents")
        except (ValueError, LookupError, AttributeError):
            return Lookup

    def is_kept(self) -> bool:
        """Return whether the name has its value; a bound method is made anew at each look-up."""
        value = self.now()
        return value is self.value or (isinstance(value, METHODS) and value == self.value)

    def put_back(self) -> None:
        """Restore the value of the name, if it is stored there and not computed."""
        if self.is_entry:
            self.owner[self.key] = self.value
        elif (
            self.key is None
            or self.key in getattr(self.owner, "__dict__", ())
            or hasattr(getattr(type(self.owner), self.key, None), "__set__")
        ):
            setattr(self.owner, self.key or "cell_contents", self.value)

    def text(self, scope: Scope) -> str:
        """Return the expression that is true while the value is unchanged."""
        owner = scope.name(self.owner, "names" if self.is_entry else "owner")
        value = scope.name(self.value, f"{self.name}_was")
        entry = (
            repr(self.key)
            if type(self.key) in (str, int, type(None))
            else scope.name(self.key, "key")
        )
        key = f"[{entry}]" if self.is_entry else f".{self.key or 'cell_contents'}"
        same = f"{owner}{key} is {value}"
        if not isinstance(self.value, (*PLAIN, *METHODS)):
            return same
        return f"({same} or {scope.name(equal, 'equal')}({owner}{key}, {value}))"


class Guards:
    """Values that the code of a function looks up.

    Parameters
    ----------
    f : callable
        The function.
    given : dict
        Static arguments by their names; their attributes are looked up like those of `self`.

    Attributes
    ----------
    lookups : list of Lookup
        The looked-up names.
    arrays : dict
        The names of the arrays, by id.
    samples : list of tuple
        For each array its name, a view of some elements, and the bytes of these.
    contents : list of tuple
        Of arrays that a recording may write to: their names, themselves, and their bytes.
    moving : list of str
        The names of values that change with each use, such as iterators.
    """

    def __init__(self, f: Any, given: dict[str, Any] = {}) -> None:  # noqa: B006 (only read)
        self._found: dict[Any, Lookup] = {}
        self._followed: set[tuple[int, int]] = set()
        self._packages = {"__main__"}
        self._bound: dict[str, Any] = {}  # owners of methods written in C, and iterators
        self._passed: dict[str, Any] = {}  # defaults, and arguments of partials
        self.arrays: dict[int, str] = {}
        self.samples: list[tuple[str, np.ndarray, bytes]] = []
        self.contents: list[tuple[str, np.ndarray, bytes]] = []  # dropped after the recording
        self._names: set[str] = set()
        self._absent: dict[int, tuple[str, Any, set[str]]] = {}  # owners, and names they lack
        self._selves: list[tuple[str, Any]] = []
        self._follow_all([(f, None)])
        for name, x in given.items():
            inner = [(each, None) for each in self._name(x, name)]
            self._follow_all([*inner, *self._attributes(name, x, self._names)])
        for name, x in [
            *[(x.name, x.value) for x in self._found.values()],
            *self._selves,
            *self._passed.items(),
        ]:
            if is_instance(x):  # functions that it is passed to may look up attributes
                self._follow_all([*self._attributes(name, x, self._names)])
        self.lookups = [*self._found.values()]
        named = {x.name: x.value for x in self.lookups} | given | self._bound | self._passed
        # One that has several names has the first.
        self._generators = dict(
            {
                id(x): (name, x) for name, x in reversed(named.items()) if is_generator(type(x))
            }.values()
        )
        self.moving = [name for name, x in named.items() if is_moving(x)]
        self._lengths = {name: (x, len(x)) for name, x in named.items() if isinstance(x, GROWING)}
        self._states = self._drawing()
        self._undraw = states(self._generators.values(), shared=True)

    def _follow_all(self, waiting: list[tuple[Any, Any]]) -> None:
        """Follow callables, each with its `self`, and the callables that they lead to."""
        while waiting:
            waiting += self._follow(*waiting.pop())
            if len(self._followed) > MOST_FOLLOWED:
                raise Unfit(
                    "its objects make others without end, as a __getattr__ that makes what it "
                    "lacks; pass what they hold as arguments"
                )

    def _follow(self, f: Any, owner: Any) -> Iterator[tuple[Any, Any]]:
        """Record the lookups of a callable; yield the callables in it, each with its `self`."""
        f = f.fget if isinstance(f, property) else f
        if (id(f), id(owner)) in self._followed or not (
            callable(f) or is_moving(f) or is_instance(f) or is_generator(type(f))
        ):
            return
        self._followed.add((id(f), id(owner)))
        if isinstance(f, types.MethodType) and is_written(f.__func__):
            yield f.__func__, f.__self__
        elif isinstance(f, functools.partial):
            recipe = getattr(f, "recipe", None)  # of a derivative: its factory and arguments
            yield from self._pass(
                "argument",
                recipe[1] if recipe else (f.func, *f.args, *f.keywords.values()),
                owner,
            )
        elif isinstance(f, types.FunctionType) and self._is_followed(f.__module__ or ""):
            names = names_in(f.__code__)
            self._names |= names
            for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
                yield from self._note(name, cell, None, names)
            for name in sorted(names & f.__globals__.keys()):
                yield from self._note(name, f.__globals__, name, names)
            self._absent[id(f)] = "", f.__globals__, names - f.__globals__.keys()
            yield from self._pass(
                "default", (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()), None
            )
            self._selves.append(("self", owner))
            yield from [(x, None) for x in self._name(owner, "self") if not isinstance(x, type)]
            yield from self._attributes("self", owner, names)
        elif is_moving(f) or is_generator(type(f)):
            # There may be several generators.
            self._bound.setdefault(
                f"a {type(f).__name__}" + f" ({len(self._bound) + 1})" * is_generator(type(f)), f
            )
        elif isinstance(f, type) and is_own(f):  # of which objects are made
            yield from self._attributes(f.__name__, f, self._names)
            made = [vars(c).items() for c in f.__mro__ if is_own(c)]
            yield from [(y, None) for each in made for key, y in each if key.startswith("__")]
        elif is_instance(f):
            yield from [(method, f) for method in special_methods(type(f))]
        elif (bound := getattr(f, "__self__", None)) is not None and not isinstance(f, type):
            self._bound.setdefault(getattr(f, "__name__", "a method"), bound)  # written in C
        elif callable(wrapped := getattr(f, "__wrapped__", None)):
            yield wrapped, owner

    def _pass(self, name: str, xs: Iterable[Any], owner: Any) -> Iterator[tuple[Any, Any]]:
        """Record values that are passed to a function, and yield them with their `self`."""
        for x in xs:
            self._name(x, name)
            self._passed[f"{name} {len(self._passed) + 1}"] = x
            yield x, owner

    def _is_followed(self, module: str) -> bool:
        """Return whether a module belongs to the package of the compiled function.

        Functions that `exec` made without the name of a module have none, and belong to it.
        """
        if len(self._packages) == 1 and module and not is_library(module):
            self._packages.add(module.partition(".")[0])
        return not module or module.partition(".")[0] in self._packages

    def _note(
        self, name: str, owner: Any, key: Any, names: set[str], found_in: list[Any] | None = None
    ) -> Any:
        """Record a name, and the attributes of its value that the code names.

        What `__getattr__` gives is followed where it is among the values that the object holds:
        it may give objects of its own kind without end.
        """
        lookup = Lookup(name, owner, key, None, type(owner) is dict)
        if (value := lookup.now()) is not Lookup:
            self._found.setdefault((id(owner), key), lookup._replace(value=value))
            yield from [
                (x, None)
                for x in self._name(value, name)
                if found_in is None or any([y is value for y in found_in])
            ]
            yield from self._attributes(name, value, names)

    def _attributes(self, name: str, x: Any, names: set[str]) -> Iterator[tuple[Any, Any]]:
        own = getattr(x, "__dict__", ())
        # The __dict__ of a class is made anew at each look-up.
        for key in sorted(names if is_instance(x) else names - {"__dict__"}) if is_own(x) else ():
            each = [vars(c)[key] for c in type(x).__mro__ if key in vars(c)]
            stated = each[0] if each else None
            inner = getattr(stated, "fget", getattr(stated, "func", stated))
            if (isinstance(stated, types.FunctionType) or inner is not stated) and (
                key not in own or hasattr(type(stated), "__set__")
            ):  # a method, a property
                if getattr(type(x), key, None) is stated:  # an enumeration's property has none
                    self._found.setdefault(
                        (id(type(x)), key), Lookup(f"{name}.{key}", type(x), key, stated)
                    )
                yield inner, x
                if "super" in names:
                    yield from [(getattr(of_a_base, "fget", of_a_base), x) for of_a_base in each]
            else:
                is_stored = key in own or bool(each) or issubclass(type(x), type)  # by a base of it
                inside = [
                    y[key]
                    for y in dict(own).values()
                    if isinstance(y, dict) and key in y and (id(x), key) not in self._found
                ]  # at the first look-up: afterwards what it has made may be there
                yield from self._note(f"{name}.{key}", x, key, set(), None if is_stored else inside)
        theirs = not (is_own(x) or isinstance(x, (types.FunctionType, types.ModuleType)))
        if type(own) is dict and theirs:
            for key in sorted(names & own.keys()):  # of another package's object, as model.coef_
                yield from self._note(f"{name}.{key}", x, key, set())
        if type(own) is dict and is_instance(x):
            once = {
                key
                for c in type(x).__mro__
                for key, stated in vars(c).items()
                if isinstance(stated, functools.cached_property)
            }
            self._absent.setdefault(id(own), (f"{name}.", own, set()))[2].update(
                names - own.keys() - once
            )

    def _name(self, value: Any, name: str) -> list[Any]:
        """Record an array, or the entries of a small container; return it and them."""
        last, found = name.rpartition(".")[2], dict[Any, Any]()
        self._sample(value, name, last)
        if getattr(type(value), "__getitem__", 0) in READ and len(value) <= MOST:
            found = {**value} if isinstance(value, dict) else dict(enumerate(value))
        for key, x in found.items():
            entry = Lookup(f"{name}[{key!r}]", value, key, x, True)
            self._found.setdefault((id(value), Lookup, key), entry)
            self._sample(x, entry.name, f"{last}_{key}")
        return [value, *found.values()]

    def _sample(self, x: Any, whole: str, short: str) -> None:
        """Record an array: its name in the program, and some elements, which are compared."""
        if type_info(type(x)).memory is None or id(x) in self.arrays:
            return
        self.arrays[id(x)] = short
        if isinstance(x, np.ndarray) and x.size:
            steps: Any = [slice(None, None, max(n // EACH, 1)) for n in x.shape]
            part = np.asarray(x)[(*steps, ...)]
            self.samples.append((whole, part, part.tobytes()))
            if x.nbytes <= MOST_BYTES and x.flags.writeable and not x.dtype.hasobject:
                self.contents.append((whole, x, x.tobytes()))

    def check(self) -> None:
        """Raise `Traced` if a looked-up value is traced, `Unfit` if one changes by itself.

        One whose differentiation, or recording, is over is an object like any other.
        """
        if used := [x.name for x in self.lookups if is_in_use(x.value)]:
            raise Traced(
                f"{', '.join(used)} is being differentiated, or recorded for another program"
            )
        if self.moving:
            raise Unfit(
                f"{', '.join(self.moving)} gives something else each time; pass what it gives"
            )

    def _drawing(self) -> dict[str, Any]:
        """Return the states of the random generators, including the global ones."""
        return {name: drawing(x) for name, x in (self._generators | SHARED).items()}

    def changed(self) -> list[str]:
        """Return the names whose values have changed."""
        found = [x.name for x in self.lookups if not equal(x.now(), x.value)]
        found += [name for name, part, seen in self.samples if part.tobytes() != seen]
        found += [name for name, (x, n) in self._lengths.items() if len(x) != n]
        return [*dict.fromkeys(found)]

    def differing(self, others: Guards) -> set[str]:
        """Return the names whose values differ from those of another program."""
        known = {x.name: x.value for x in others.lookups}
        found = {x.name for x in self.lookups if not equal(known.get(x.name), x.value)}
        parts, mine = (
            {name: seen for name, _, seen in each.samples}
            | {name: n for name, (_, n) in each._lengths.items()}
            for each in (others, self)
        )
        return found | {name for name, seen in mine.items() if parts.get(name) != seen}

    def written(self) -> list[str]:
        """Return the names that the function rebound, wrote to, appended to, or drew from."""
        found = [
            of + name for of, owner, names in self._absent.values() for name in names & owner.keys()
        ]
        found += [name for name, x, before in self.contents if x.tobytes() != before]
        found += [
            f"the state of {name}"
            for name, state in self._drawing().items()
            if state != self._states[name]
        ]
        return [*dict.fromkeys([*self.changed(), *found])]

    def stir(self) -> None:
        """Move the shared generators on, so that a function that seeds them changes their state."""
        for x in SHARED.values():
            x.random()
        self._states = self._drawing()

    def put_back(self) -> None:
        """Undo the writes, appends and draws of the recording."""
        for x, n in self._lengths.values():
            while len(x) > n and not isinstance(x, set):
                x.popitem() if isinstance(x, dict) else x.pop()
        for each in [x for x in self.lookups if not x.is_kept()]:
            each.put_back()
        for _, array, before in self.contents:
            if array.tobytes() != before:
                array[...] = np.frombuffer(before, array.dtype).reshape(array.shape)
        for undraw in self._undraw:
            undraw()
        self.contents.clear()

    def line(self, scope: Scope) -> str:
        """Return the statement that returns ``MISS`` if a value has changed."""
        mode, known = scope.name(Mode, "Mode"), [each.get() for each in Mode.every]
        texts = [f"(not {mode}.used or {scope.name(modes_are, 'modes_are')}({known}))"]
        texts += [x.text(scope) for x in self.lookups]
        texts += [
            f"{scope.name(own, 'own')}.keys().isdisjoint({scope.name(lacking, 'lacking')})"
            for of, own, lacking in self._absent.values()
            if of
        ]
        texts += [
            f"{scope.name(part, f'{name}_part')}.tobytes() == {seen!r}"
            for name, part, seen in self.samples
        ]
        texts += [
            f"[*{scope.name(x, k)}] == {scope.name([*x], 'keys')}"  # in the same order
            if isinstance(x, dict) and n <= MOST
            else f"{scope.name(x, k)} == {scope.name({*x}, 'members')}"
            if isinstance(x, set) and n <= MOST
            else f"{scope.name(x, k)}.__len__() == {n}"
            for k, (x, n) in self._lengths.items()
        ]
        miss, test = scope.name(MISS, "MISS"), "\n        and ".join(texts)
        return f"if not (  # guards\n        {test}\n    ):\n        return {miss}"


def drawing(x: Any) -> Any:
    """Return the state of a random generator of NumPy or Python in a comparable form."""
    if isinstance(x, random.Random):
        return x.getstate()
    if isinstance(x, np.random.RandomState):
        state: Any = x.get_state(legacy=False)
    else:
        state = getattr(getattr(x, "bit_generator", x), "state", "")
    return [x.tobytes() if isinstance(x, np.ndarray) else x for x in flatten(state)[0]]


def modes_are(known: list[Any]) -> bool:
    """Return whether all modes are the same as when the function was recorded."""
    return [each.get() for each in Mode.every] == known


def equal(x: Any, y: Any) -> bool:
    """Return whether values are identical, or equal and of one class; arrays must be identical.

    Numbers must have the same bits, also in containers: 0.0 == -0.0, and [1] == [1.0].
    """
    if x is y or type(x) is not type(y) or isinstance(x, (np.ndarray, Tracer, Noted)):
        return x is y
    if isinstance(x, (float, complex, np.inexact)):
        return np.asarray(x).tobytes() == np.asarray(y).tobytes()
    (xs, tree), (ys, other) = flatten(x), flatten(y)
    if tree is not LEAF:
        return tree == other and all(map(equal, xs, ys))
    try:
        return bool(x == y)
    except Exception:  # of a user-defined comparison
        return False


def is_in_use(x: Any) -> bool:
    """Return whether a value belongs to a differentiation, or a recording, that is not over."""
    return (isinstance(x, Tracer) and not x.is_over) or (
        isinstance(x, Noted) and not x.recorder.is_over
    )


def is_moving(x: Any) -> bool:
    """Return whether a value changes with each use: an iterator, a file, or a queue."""
    return hasattr(type(x), "__next__") or hasattr(type(x), "get_nowait")


def is_own(x: Any) -> bool:
    """Return whether a value is user-defined: an object, a class, a function, or a module."""
    if isinstance(x, (types.MethodType, functools.partial)):
        return False
    of = x if isinstance(x, (type, types.FunctionType)) else type(x)
    home = x.__name__ if isinstance(x, types.ModuleType) else of.__module__
    made = home == "builtins" and isinstance(of, type) and made_by_python(of)  # by `exec`
    known = is_library(home or "") and not (made or isinstance(x, (SimpleNamespace, Namespace)))
    return not known and type_info(type(x)).memory is None


def is_written(method: Any) -> bool:
    """Return whether a method is written in Python, itself or what a primitive wraps."""
    return isinstance(getattr(method, "__wrapped__", method), types.FunctionType)


def is_instance(x: Any) -> bool:
    """Return whether a value is an instance of a user-defined class."""
    return is_own(x) and not isinstance(x, (type, types.FunctionType, types.ModuleType))


def special_methods(c: type) -> list[Any]:
    """Return the methods that calls, operators, indices, loops and `with` lead to."""
    return [
        method
        for each in c.__mro__
        if is_own(each)
        for key, method in vars(each).items()
        if key.startswith("__") and is_written(method)
        if key != "__post_init__" and key not in vars(object)  # as __init__, __repr__
    ]


@functools.cache
def names_in(code: types.CodeType) -> set[str]:
    """Return the globals and attributes that a function, or one inside it, names.

    A cell may have the name of a global that the function does not look up.
    """
    inside = [names_in(x) for x in code.co_consts if isinstance(x, types.CodeType)]
    return {*code.co_names}.union(*inside)
