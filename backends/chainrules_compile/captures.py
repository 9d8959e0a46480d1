"""Captures: what a function sees besides its arguments, and whether it is still the same.

What that is, is asked of `chainrules_py.extend.Reach`: all that the garbage collector can come to,
by names that the code uses. It is looked at when the function has been recorded. What the function
changes itself, whenever it is called, is its own business.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import sys
import types
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from chainrules_bridge.reach import Reach, global_names
from chainrules_compile.asked import asks_class
from chainrules_compile.comparing import NOTHING, looking, testing
from chainrules_compile.entropy import watching_entropy
from chainrules_compile.errors import MISS, Importing, RecordingError, Traced, Unfit
from chainrules_compile.held import Held, details, holding, memories
from chainrules_compile.noted import Noted
from chainrules_compile.scope import Scope, identifier
from chainrules_compile.state import State
from chainrules_py import Primitive
from chainrules_py.extend import Tracer, content, describe, is_library, states, type_info

_MOST = 10_000
"""How many functions are looked at."""
_STATES = {"state", "get_state", "getstate", "__getstate__", "__reduce__"}
"""Names by which a generator of random numbers is asked for its state."""
_OUTSIDE = {code for name, code in dis.opmap.items() if name.endswith(("_GLOBAL", "_NAME"))}
"""Instructions that look up a name outside of their function."""


class Captures:
    """All that can be reached from a function, and what of it may change.

    Parameters
    ----------
    roots : iterable
        The function, and what else is called, or asked, as it stands.

    Attributes
    ----------
    arrays : dict
        From the id of an array to its name.
    """

    def __init__(self, roots: Iterable[Any]) -> None:
        self._roots = tuple(roots)
        self.reach: Reach
        self._values: list[Any]
        self._look()
        self._functions = functions_from([*self._roots, *self._values])
        self._first = {*map(id, self._functions)}
        if any([place.fills for place in self.reach.places]):
            self._look(*self._functions)

    def _look(self, *besides: Any) -> None:
        # These first: what is come to by an object of a library counts for less.
        self._first = {*map(id, besides)}
        roots = (*besides, *self._roots)
        self.reach = Reach(roots, stores=True)
        if "__subclasses__" in self.reach.names:
            self.reach = Reach((*roots, *subclasses(self.reach.defined)), stores=True)
        found = [*self.reach.values()]
        self._values = [x for _, x in found]
        self._known: dict[int, Any] = {id(x): path for path, x in found}
        self._known |= dict.fromkeys(map(id, self._roots))
        self.arrays = {id(x): named(self._known.get(id(x))) or "f" for x in self.reach.arrays}

    def ask_identity(self) -> bool:
        """Tell whether code that is reached may ask which values are one object."""
        return any([asks_identity(f.__code__) for f in self._functions])

    def check(self) -> None:
        """Raise if what was reached lets the function be no program.

        Raises
        ------
        Traced
            If a value is being differentiated, or noted for a program: nothing is said of it.
        Unfit
            If code asks for the exact class of numbers, or looks up an iterator, an object to
            which a weak reference alone leads, or one of which nobody can tell what it holds.
        """
        if any([issubclass(type(x), (Tracer, Noted)) for x in self._values]):
            msg = "what it captured is being differentiated, or noted for another program"
            raise Traced(msg)
        if name := next((f.__qualname__ for f in self._functions if asks_class(f)), ""):
            msg = (
                f"{name} asks for the class of a value by type(x), and a value that is noted shows "
                f"one of its own; write isinstance(x, float)"
            )
            raise Unfit(msg)
        iterator = self.iterator()
        if iterator is not None:
            name = type(iterator).__qualname__
            msg = f"it looks up a {name}, which gives something else each time"
            raise Unfit(msg)
        if asked := self._asked_of():
            msg = f"it looks up {asked}, and nobody can tell whether that is as it was"
            raise Unfit(msg)
        for x in self.reach.weak:
            info = type_info(type(x))
            if x is not None and (info.memory or not is_library(type(x).__module__)):
                msg = (
                    f"it looks up {describe(x)} by a weak reference, and a program would keep it "
                    f"alive"
                )
                raise Unfit(msg)

    def _asked_of(self) -> str:
        """Return what is looked up that changes where nobody sees it, if there is anything."""
        if self.reach.closed:
            return f"a {type(self.reach.closed[0]).__qualname__}"
        names = {name for f in self._functions for name in code_names(f.__code__)}
        if "cache_info" in names and any([hasattr(x, "cache_info") for x in self._values]):
            return "how often a memory was asked"
        if self.reach.generators and not _STATES.isdisjoint(names):
            return "the state of a random generator"
        if any([isinstance(x, weakref.finalize) for x in self._values]):
            return "whether something is alive"
        if "pop" in names and any([type(place.x) is set for place in self.reach.places]):
            return "which element a set gives"
        return ""

    def has(self, x: Any) -> bool:
        """Tell whether a value was reached."""
        return id(x) in self._known or isinstance(x, (Primitive, np.ufunc))

    def state(self) -> State:
        """Return what everything that was reached holds."""
        return State(self.reach.places, self.reach.arrays, memories(self._values))

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Raise at the end if random numbers were drawn, and have them drawn again."""
        generators, shared = self.reach.generators, self.reach.may_draw()
        put_back = states(generators, shared)
        before, modules = dict(map(drawn, put_back)), len(sys.modules)
        with watching_entropy() as asked:
            yield
        now = dict(map(drawn, states(generators, shared)))  # of more, maybe
        if asked or any([now[key] != state for key, state in before.items()]):
            for put in put_back:
                put()
            if len(sys.modules) > modules:
                msg = "random numbers are drawn while modules are imported"
                raise Importing(msg, once=True)  # by these, maybe
            if not asked and not generators and "random" not in self.reach.names:
                msg = "a library that it calls draws random numbers, as SciPy to estimate a norm"
                raise Unfit(msg)
            msg = (
                "a function that is being compiled draws random numbers, which would be the same "
                "at each call; draw them outside, and pass them as an argument"
            )
            raise RecordingError(msg)

    def iterator(self) -> Any:
        """Return an iterator that was reached, if there is one: what it gives is gone then."""
        return next((x for x in self._values if hasattr(type(x), "__next__")), None)

    # --------------------------------------------------------------- what is compared at each call

    def hold(self, words: Iterable[Primitive[..., Any]]) -> set[Primitive[..., Any]]:
        """Note what can be reached by now, from the rules of words that were called as well.

        Returns
        -------
        set of Primitive
            The words that were called, or can be.
        """
        values = self._values
        found = [x for x in values if isinstance(x, Primitive)]
        rules = [f for word in {*words, *found} for f in stated(word)]
        known = [*rules, *self._roots, *values, *[place.x for place in self.reach.places]]
        functions = functions_from(known)
        again = rules or not self._first.issuperset(map(id, functions))
        if again or not self.reach.lasts():
            self._look(*functions, *rules)
        made = {id(d) for x in (*self._roots, *self._values) if is_made(x) for d in dicts_of(x)}
        values = self._values
        kept = memories(values)
        self._held = [
            holding(place, id(place.x) in kept)
            for place in self.reach.places
            if place.mark is not None and not is_made(place.x) and id(place.x) not in made
            if type(place.x) is not types.FunctionType or place.mark == "."
        ]
        self._held += map(holding_function, functions)
        self._held += details(self.reach, values, functions)
        self._prints = []
        for x in self.reach.arrays:
            memory = None if hasattr(x, "recorder") else type_info(type(x)).memory
            if memory is not None:
                self._prints.append((x, memory.fingerprint, memory.fingerprint(x, False)))
        return {*words, *found}

    def settle(self) -> None:
        """Leave to libraries what they remember since, as the function was called once more."""
        for held in self._held:
            if held.fills:
                held.own.update(held.changes())

    def lines(self, scope: Scope) -> list[str]:
        """Return the statement that returns ``MISS`` where something has changed."""
        if not (self._held or self._prints):
            return []
        of = weakref.ref(scope)  # which has the test

        def put(quicker: Callable[[], bool]) -> None:
            to = of()
            if to is not None:
                to[name] = quicker

        test = testing(self._held, self._prints, put)
        scope.tests.append(test)
        name: str = scope.name(test, "captured_has_changed")
        scope.large = [(x, look, _by_parts(x, look)) for x, look, _ in self._prints if _is_large(x)]
        miss = scope.name(MISS, "MISS")
        return [f"if {name}():\n        return {miss}"]


def has_changed(scope: Scope) -> bool:
    """Tell whether what a program looks at before it runs is no more as it was recorded."""
    return any([test() for test in scope.tests]) or any(
        [_by_parts(x, look) != before for x, look, before in scope.large]
    )


_LARGE = 10**6
"""Of arrays with more elements a fingerprint is of a sample."""


def _is_large(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.size > _LARGE


def _by_parts(x: np.ndarray, look: Callable[[Any, bool], Any]) -> list[Any]:
    """Return the fingerprints of all parts of a large array."""
    flat = x.ravel("K")
    return [look(flat[i : i + _LARGE], False) for i in range(0, flat.size, _LARGE)]


def drawn(put: Any) -> tuple[Any, str]:
    """Return which generator it is, and its state as a text."""
    with np.printoptions(threshold=sys.maxsize):
        return (repr(put.func), id(put.args[0]) if len(put.args) > 2 else 0), repr(put.args[-1])


def stated(word: Primitive[..., Any]) -> tuple[Any, ...]:
    """Return the functions that people stated as rules of a word."""
    found = [s for s in word.stated[0] if not s.source.is_ours]
    return tuple([f for s in found if s.recipe is not None for f in s.recipe.functions])


def is_made(x: Any) -> bool:
    """Tell whether a value is a derivative of ours, which never comes to be another's."""
    return isinstance(x, functools.partial) and type(x).__module__.startswith("chainrules_")


def dicts_of(x: Any) -> tuple[Any, ...]:
    """Return the dicts that a derivative was made with."""
    recipe = getattr(x, "recipe", None)
    return (x.keywords, *([] if recipe is None else recipe[2:]))


def named(path: Any) -> str:
    """Return a name for what stands at a path of `Reach`."""
    numbers = ""
    while path is not None and path[0] is not None:
        path, _, key = path
        if isinstance(key, str) and key:
            return identifier(key) + numbers
        numbers = f"_{key}{numbers}" if isinstance(key, int) else numbers
    return numbers


def subclasses(known: Iterable[Any]) -> list[type]:
    """Return all subclasses of some classes, to which code may come by asking for them."""
    waiting, found = [x for x in known if isinstance(x, type)], dict[int, type]()
    while waiting:
        cls: Any = waiting.pop()
        for each in type.__subclasses__(cls):
            if id(each) not in found:
                found[id(each)] = each
                waiting.append(each)
    return [*found.values()]


def functions_from(known: Iterable[Any]) -> list[types.FunctionType]:
    """Return the functions of programs among some values, and those that these look up."""
    waiting, found = [*known], dict[int, types.FunctionType]()
    while waiting and len(found) < _MOST:
        f = waiting.pop()
        if (
            type(f) is types.FunctionType
            and id(f) not in found
            and not is_library(f.__module__ or "")
        ):
            found[id(f)] = f
            waiting += [x for *_, x in looked_up(f)]
    return [*found.values()]


@functools.lru_cache(maxsize=1024)
def asks_identity(code: types.CodeType) -> bool:
    """Tell whether code compares objects by identity, as ``is``, ``in`` and ``id`` do.

    Comparing with a constant, as None, asks nothing of arrays.
    """
    if "id" in code.co_names or "is_" in code.co_names or "index" in code.co_names:
        return True
    before = ""
    for step in dis.get_instructions(code):
        if step.opname == "CONTAINS_OP" or (step.opname == "IS_OP" and before != "LOAD_CONST"):
            return True
        before = step.opname
    return any([isinstance(c, types.CodeType) and asks_identity(c) for c in code.co_consts])


def looked_up(f: types.FunctionType) -> list[tuple[Any, Any, Any]]:
    """Return what a function looks up: a scope, a name and what it stands for; a cell has none."""
    found: list[Any] = [(None, cell, content(cell, NOTHING)) for cell in f.__closure__ or ()]
    found += [(f.__globals__, n, f.__globals__.get(n, NOTHING)) for n in outside_names(f)]
    for _, _, module in tuple(found):
        if type(module) is types.ModuleType and not is_library(module.__name__):
            scope = vars(module)
            found += [(scope, n, scope[n]) for n in code_names(f.__code__) if n in scope]
    for x in (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()):
        found.append((None, None, x))
    return found


def outside_names(f: types.FunctionType) -> dict[str, None]:
    """Return the names that a function looks up among its globals, by texts as well."""
    return dict.fromkeys((*loaded(f.__code__), *global_names(f)))


def holding_function(f: types.FunctionType) -> Held:
    """Return what is compared of a function."""
    code, defaults, others = f.__code__, f.__defaults__, {**(f.__kwdefaults__ or {})}
    found = looked_up(f)
    cells = [(cell, x) for scope, cell, x in found if scope is None and cell is not None]
    names = [each for each in found if each[0] is not None]

    scopes = [
        looking(scope, [each for each in names if each[0] is scope])
        for scope in {id(scope): scope for scope, *_ in names}.values()
    ]

    def same() -> bool:
        for cell, x in cells:
            try:
                if cell.cell_contents is not x:
                    return False
            except ValueError:  # it is empty
                if x is not NOTHING:
                    return False
        for is_as_it_was in scopes:
            if not is_as_it_was():
                return False
        if f.__code__ is not code or f.__defaults__ is not defaults:
            return False
        now = f.__kwdefaults__
        if not now:
            return not others
        return len(now) == len(others) and all([now.get(k, cells) is x for k, x in others.items()])

    def read() -> dict[Any, Any]:
        now: dict[Any, Any] = {i: content(cell, NOTHING) for i, (cell, _) in enumerate(cells)}
        now |= {(i, n): scope.get(n, NOTHING) for i, (scope, n, _) in enumerate(names)}
        now |= {("keyword", k): x for k, x in (f.__kwdefaults__ or {}).items()}
        return now | {"code": f.__code__, "defaults": f.__defaults__}

    plain = None if others else (f, code, defaults, cells, names)
    return Held(same, read, read(), False, set(), function=plain)


@functools.lru_cache(maxsize=1024)
def code_names(code: types.CodeType) -> tuple[str, ...]:
    """List the names that a function and those inside it look up outside, or as attributes."""
    names = dict.fromkeys(code.co_names)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            names.update(dict.fromkeys(code_names(inner)))
    return tuple(names)


@functools.lru_cache(maxsize=1024)
def loaded(code: types.CodeType) -> tuple[str, ...]:
    """List the names that a function and those inside it look up outside, and no attributes."""
    found = [each for each in dis.get_instructions(code) if each.opcode in _OUTSIDE]
    names = {each.argval: None for each in found}
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            names.update(dict.fromkeys(loaded(inner)))
    return tuple(names)
