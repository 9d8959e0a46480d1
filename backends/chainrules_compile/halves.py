"""Functions in results, as the pullback of ``vjp``: what they give is a program of its own.

One program gives all else of the result. A function in it is called by another, which computes
what leads to it anew: so it holds no intermediate values, and its arguments may be of any form.
"""

from __future__ import annotations

import functools
import inspect
import threading
import types
from collections.abc import Callable, Iterable
from typing import Any, final

import numpy as np

from chainrules_bridge.reach import Reach
from chainrules_compile.alike import PLAIN, alike
from chainrules_compile.captures import Captures, is_made
from chainrules_compile.noted import Noted
from chainrules_compile.parameters import parameters_of
from chainrules_py import MutationError, Primitive
from chainrules_py.extend import Made, Tracer, flatten, inside, type_info, unflatten

_MOST = 32
"""How many arguments can be static by their places."""


class GivesFunctions(Exception):  # noqa: N818 (it is no error: there are two programs)
    """The result of a function holds functions that it has made."""


@final
class Part:
    """Stands in a result for a function, which has a number in it."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __repr__(self) -> str:
        return f"<function {self.number} of the result>"


@final
class Halves:
    """Function whose results hold functions, as two that are compiled.

    A program calls a function of a result as long as that changes nothing that was made with it:
    it makes all of it anew. What counts, fills a list or writes to a buffer is found when the
    program is recorded, as the function is called beside it; then plain functions stay.

    Attributes
    ----------
    values : Compiled
        Gives the results, with a `Part` for each function.
    given : Compiled
        Gives what such a function gives: it takes its number, what it is given, and the arguments.
    keeps : bool
        Whether a function of some result was found to change something, or may be.
    names : frozenset of str
        The attributes of functions of results.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        static: frozenset[int | str],
        make: Callable[[Any, frozenset[int | str]], Any],
        stay: Callable[[str], None],
    ) -> None:
        @functools.wraps(f)
        def values(*args: Any, **keywords: Any) -> Any:
            return apart(f(*args, **keywords))[0]

        def given(number: int, xs: Any, options: Any, /, *args: Any, **keywords: Any) -> Any:
            return apart(f(*args, **keywords))[1][number](*xs, **options)

        names = parameters_of(f, _MOST, ())
        places = [names.index(x) if x in names else x for x in static]
        given.__name__ = f"given_by_{getattr(f, '__name__', 'call')}"
        self._f, self._stay, self.keeps = f, stay, False
        self.names = frozenset[str]()
        self._plain = _Plain()
        self.values = make(values, static)
        self.given = make(
            given, frozenset((0, *static, *[x + 3 for x in places if isinstance(x, int)]))
        )
        self.values.beside, self.given.beside = self._values, self._given

    def _values(self, /, *args: Any, **keywords: Any) -> Any:
        """Call the plain function beside the program of what is no function in its results."""
        y = self._f(*args, **keywords)
        rest, functions = apart(y)
        if not _are_noted(args, keywords):
            self._plain.result = (y,)
            self.names = self.names.union(*map(dir, functions))
            if _share(y, functions, args, keywords):
                self.stay("looks up what is beside it, and may be written to")
        return rest

    def _given(self, number: int, xs: Any, options: Any, /, *args: Any, **keywords: Any) -> Any:
        """Call a plain function of a result beside its program."""
        functions = apart(self._f(*args, **keywords))[1]
        if _are_noted(xs, options, args, keywords):
            return functions[number](*xs, **options)
        y, changes = _looked_at(functions[number], xs, options)
        if changes:
            self.stay(f"changes {changes} when it is called")
        if changes or self.given.as_it_is:
            self._plain.called = (functions, y)
        return y

    def __call__(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Return the result, with functions that call the other program."""
        self._plain.result = ()
        y = self.values(*args, **keywords)
        result, self._plain.result = self._plain.result, ()
        if result and self.keeps:
            return result[0]
        fits = [p.fits for p in self.values.programs if p.fits(*args, **keywords)]
        if not fits:  # which is no program
            return result[0] if result else self._f(*args, **keywords)
        leaves, tree = flatten(y)
        made = _Made(self, fits[0], args, keywords)
        return unflatten(tree, [Given(made, x.number) if type(x) is Part else x for x in leaves])

    def functions(self, args: Any, keywords: Any) -> list[Callable[..., Any]]:
        """Return the functions of a result as they are without programs."""
        return apart(self._f(*args, **keywords))[1]

    def called(self, number: int, xs: Any, options: Any, args: Any, keywords: Any) -> Any:
        """Return what a function gives, and all functions of the result if a plain one was called.

        Returns
        -------
        tuple of (list of callable or None, object)
            The functions, of which one was called; and what that gave.
        """
        self._plain.called = None
        y = self.given(number, xs, options, *args, **keywords)
        found, self._plain.called = self._plain.called, None
        return found or (None, y)

    def stay(self, why: str) -> None:
        """Have everything run as it is from now on."""
        if not self.keeps:
            self.keeps = True
            self._stay(f"is no program, and runs as it is: a function in its result {why}")


class _Plain(threading.local):
    """What plain functions gave that were called beside programs."""

    result: tuple[Any, ...] = ()
    called: tuple[list[Callable[..., Any]], Any] | None = None


@final
class _Made:
    """What the functions of one result were made of."""

    def __init__(
        self, halves: Halves, fits: Callable[..., bool], args: Any, keywords: dict[str, Any]
    ) -> None:
        self.halves, self.args, self.keywords = halves, args, keywords
        self.functions: list[Callable[..., Any]] | None = None
        self._fits = fits
        self._leaves, self._tree = flatten((args, keywords))
        self._nests = not _ENTIRE.issuperset(map(type, (*args, *keywords.values())))
        self._prints = prints(self._leaves)

    def call(self, number: int, xs: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Call a function: its program, as long as there is one."""
        keeps = self.functions is not None or self.halves.keeps
        if keeps or _are_noted(*xs, *options.values()):
            return self.plain()[number](*xs, **options)
        self._check()
        found, y = self.halves.called(number, xs, options, self.args, self.keywords)
        if found is not None:  # another thread may have found some meanwhile
            self.functions = found
        return y

    def plain(self) -> list[Callable[..., Any]]:
        """Return the functions as they are without programs; from now on they are called."""
        if self.functions is None:
            self._check()
            self.functions = self.halves.functions(self.args, self.keywords)
        return self.functions

    def _check(self) -> None:
        same = True
        if self._nests:
            leaves, tree = flatten((self.args, self.keywords))
            same = tree == self._tree and all(map(_is_same, leaves, self._leaves))
        same = same and prints(self._leaves) == self._prints
        if not (same and self._fits(*self.args, **self.keywords)):
            msg = (
                "an argument of the compiled function that gave this function, or what that looks "
                "up, was written to since, or is another by now; write to a copy, or call it again"
            )
            raise MutationError(msg)


@final
class Given:
    """Function that a compiled function gave.

    Raises
    ------
    MutationError
        If an argument, or what the function captured, was written to since.
    """

    __slots__ = ("_made", "_number")

    def __init__(self, made: _Made, number: int) -> None:
        self._made, self._number = made, number

    def __call__(self, /, *xs: Any, **options: Any) -> Any:
        """Call the program of what the function gives."""
        return self._made.call(self._number, xs, options)

    def __getattr__(self, name: str) -> Any:
        if name not in self._made.halves.names or (name[:2] == "__" and name not in _TOLD):
            msg = f"{self!r} has no attribute {name!r}"
            raise AttributeError(msg)
        return getattr(self._made.plain()[self._number], name)

    def __reduce__(self) -> Any:
        return _itself, (self._made.plain()[self._number],)

    def __repr__(self) -> str:
        return f"<function {self._number} of what {self._made.halves.given!r} is of>"


_TOLD = {"__name__", "__qualname__", "__defaults__", "__kwdefaults__", "__self__", "__func__"}
"""What is told of a function by its attributes, as of a plain one."""


def _itself(f: Any) -> Any:
    """Return a function: what a copy of a `Given` is."""
    return f


def prints(leaves: Iterable[Any]) -> list[Any]:
    """Return what tells whether the arrays among some values were written to."""
    found = []
    for leaf in leaves:
        memory = type_info(type(leaf)).memory
        if memory is not None:
            found.append(memory.fingerprint(leaf, True))
    return found


def _is_same(x: Any, y: Any) -> bool:
    return x is y or (type(x) in PLAIN and alike(x, y))


def _are_noted(*given: Any) -> bool:
    """Tell whether some values are recorded, or being differentiated."""
    if _ENTIRE.issuperset(map(type, given)):
        return False
    return any([isinstance(x, (Noted, Tracer)) for x in flatten(given)[0]])


_ENTIRE = {np.ndarray, *PLAIN}
"""Classes of values that hold no others."""


def _is_ours(f: Any) -> bool:
    """Tell whether a function is a derivative, which keeps nothing."""
    return is_made(f) or str(getattr(f, "__module__", "")).startswith("chainrules_")


def _looked_at(f: Callable[..., Any], xs: Any, options: Any) -> tuple[Any, str]:
    """Call a function; return what it gives, and what that has changed, or may have."""
    if _is_ours(f):
        return f(*xs, **options), ""
    captures = Captures((f,))
    before = captures.state()
    y = f(*xs, **options)
    iterator = captures.iterator()
    hidden = [*captures.reach.generators, *([] if iterator is None else [iterator])]
    return y, ", ".join([*before.changed(), *[f"a {type(x).__qualname__}" for x in hidden]])


def _share(y: Any, functions: list[Any], args: Any, keywords: Any) -> bool:
    """Tell whether functions of a result look up what is beside them, and can be written to."""
    theirs = Reach([f for f in functions if not _is_ours(f)])
    given = {*map(id, flatten((args, keywords))[0])}
    held = {id(place.x) for place in theirs.places if not isinstance(place.x, _DEFINED)}
    made = {*map(id, functions)}
    beside = [x for x in inside(y, lambda x: id(x) in made) if id(x) not in given]
    arrays = [x for x in beside if isinstance(x, np.ndarray)]
    return any([id(x) in held for x in beside]) or any(
        [np.may_share_memory(x, other) for x in arrays for other in theirs.arrays]
    )


_DEFINED = types.FunctionType, types.ModuleType, type


def apart(y: Any) -> tuple[Any, list[Callable[..., Any]]]:
    """Return a result with a `Part` for each function that was made for it, and these."""
    leaves, tree = flatten(y)
    functions: list[Callable[..., Any]] = []
    for i, x in enumerate(leaves):
        if may_be_made(x) and is_function(x):
            leaves[i] = Part(len(functions))
            functions.append(x)
    return unflatten(tree, leaves), functions


def may_be_made(x: Any) -> bool:
    """Tell whether a part of a result is a function that may have been made for it."""
    if not callable(x) or isinstance(x, (type, Primitive, np.ufunc, types.BuiltinFunctionType)):
        return False
    # Its name tells nothing: `functools.wraps` gives it another's.
    return not isinstance(x, types.FunctionType) or bool(x.__code__.co_flags & inspect.CO_NESTED)


def is_function(x: Any) -> bool:
    """Tell whether calling is all that a value is for: a spline can be called, and is an object.

    A method of an array is the array's, which is another one at each call.
    """
    if isinstance(x, types.MethodType):
        return not isinstance(x.__self__, Noted)
    return isinstance(x, _FUNCTIONS) and x.__module__ != Noted.__module__


_FUNCTIONS = types.FunctionType, functools.partial, type(functools.lru_cache(abs)), Made
