"""Functions in results, as the pullback of ``vjp``: what they give is a program of its own.

One program gives all else of the result. A function in it is called by another, which computes
what leads to it anew: so it holds no intermediate values, and its arguments may be of any form.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any, final

import numpy as np

from chainrules_compile.entry import parameters_of
from chainrules_compile.noted import Noted
from chainrules_py import MutationError, Primitive
from chainrules_py.extend import Made, flatten, type_info, unflatten

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

    Attributes
    ----------
    values : Compiled
        Gives the results, with a `Part` for each function.
    given : Compiled
        Gives what such a function gives: it takes its number, what it is given, and the arguments.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        static: frozenset[int | str],
        make: Callable[[Any, frozenset[int | str]], Any],
    ) -> None:
        @functools.wraps(f)
        def values(*args: Any, **keywords: Any) -> Any:
            return apart(f(*args, **keywords))[0]

        def given(number: int, xs: Any, options: Any, /, *args: Any, **keywords: Any) -> Any:
            return apart(f(*args, **keywords))[1][number](*xs, **options)

        names = parameters_of(f, _MOST, ())
        places = [names.index(x) if x in names else x for x in static]
        given.__name__ = f"given_by_{getattr(f, '__name__', 'call')}"
        self._f = f
        self.values = make(values, static)
        self.given = make(
            given, frozenset((0, *static, *[x + 3 for x in places if isinstance(x, int)]))
        )

    def __call__(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Return the result, with functions that call the other program."""
        y = self.values(*args, **keywords)
        fits = [p.fits for p in self.values.programs if p.fits(*args, **keywords)]
        if not fits:
            return self._f(*args, **keywords)  # which is no program
        leaves, tree = flatten(y)
        call = functools.partial(Given, self.given, fits[0], args, keywords)
        return unflatten(tree, [call(x.number) if type(x) is Part else x for x in leaves])


@final
class Given:
    """Function that a compiled function gave.

    Raises
    ------
    MutationError
        If an argument, or what the function captured, was written to since.
    """

    __slots__ = ("_args", "_call", "_fits", "_keywords", "_number", "_prints")

    def __init__(
        self,
        call: Callable[..., Any],
        fits: Callable[..., bool],
        args: tuple[Any, ...],
        keywords: dict[str, Any],
        number: int,
    ) -> None:
        self._call, self._fits, self._number = call, fits, number
        leaves, tree = flatten((args, keywords))
        self._args, self._keywords = unflatten(tree, leaves)
        self._prints = prints((args, keywords))

    def __call__(self, *xs: Any, **options: Any) -> Any:
        """Call the program of what the function gives."""
        args, keywords = self._args, self._keywords
        if prints((args, keywords)) != self._prints or not self._fits(*args, **keywords):
            msg = (
                "an argument of the compiled function that gave this function, or an array that it "
                "captured, was written to since; write to a copy, or call it again"
            )
            raise MutationError(msg)
        return self._call(self._number, xs, options, *args, **keywords)

    def __repr__(self) -> str:
        return f"<function {self._number} of what {self._call!r} is of>"


def prints(x: Any) -> list[Any]:
    """Return what tells whether the arrays in a structure were written to."""
    found = []
    for leaf in flatten(x)[0]:
        memory = type_info(type(leaf)).memory
        if memory is not None:
            found.append(memory.fingerprint(leaf, True))
    return found


def apart(y: Any) -> tuple[Any, list[Callable[..., Any]]]:
    """Return a result with a `Part` for each function that was made for it, and these."""
    leaves, tree = flatten(y)
    functions: list[Callable[..., Any]] = []
    for i, x in enumerate(leaves):
        if is_made(x) and is_function(x):
            leaves[i] = Part(len(functions))
            functions.append(x)
    return unflatten(tree, leaves), functions


def is_made(x: Any) -> bool:
    """Tell whether a part of a result is a function that may have been made for it."""
    if not callable(x) or isinstance(x, (type, Primitive, np.ufunc, types.BuiltinFunctionType)):
        return False
    return not (isinstance(x, types.FunctionType) and "<locals>" not in x.__qualname__)


def is_function(x: Any) -> bool:
    """Tell whether calling is all that a value is for: a spline can be called, and is an object.

    A method of an array is the array's, which is another one at each call.
    """
    if isinstance(x, types.MethodType):
        return not isinstance(x.__self__, Noted)
    return isinstance(x, _FUNCTIONS) and x.__module__ != Noted.__module__


_FUNCTIONS = types.FunctionType, functools.partial, type(functools.lru_cache(abs)), Made
