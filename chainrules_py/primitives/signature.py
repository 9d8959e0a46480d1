"""The parameters of a function, read from its code.

``inspect.signature`` gives the same and more, and takes 15 us each time. The import of the core
reads the parameters of every operation, partial and rule, and has to stay cheaper than that of
NumPy.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, final

from chainrules_py.errors import RuleError, describe


@final
class _Required:
    """Placeholder for the default of a parameter that has none."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED = _Required()
"""Placeholder for the default of a required parameter."""

_VARIADIC = 0x04  # the flags that `inspect` calls CO_VARARGS and CO_VARKEYWORDS
_KEYWORDS = 0x08


@final
class Parameters(NamedTuple):
    """Parameters of a function, by kind.

    Attributes
    ----------
    positional : tuple of str
        The names before ``*``.
    by_position_only : bool
        Whether none of these can be passed by name, so that a ``/`` may follow them.
    variadic : str or None
        The name of ``*operands``.
    keyword_only : tuple of str
        The names after ``*``.
    keywords : str or None
        The name of ``**keywords``.
    defaults : dict
        The default of each parameter that has one.
    """

    positional: tuple[str, ...]
    by_position_only: bool
    variadic: str | None
    keyword_only: tuple[str, ...]
    keywords: str | None
    defaults: dict[str, Any]

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in the order of `inspect.signature`."""
        variadic, keywords = [() if n is None else (n,) for n in (self.variadic, self.keywords)]
        return (*self.positional, *variadic, *self.keyword_only, *keywords)


def result_name(operands: Sequence[str]) -> str:
    """Return the name of the result in a line to write: y, or z beside an operand y."""
    return next(name for name in ("y", "z", "w", "result") if name not in operands)


def parameters_of(function: Callable[..., Any]) -> Parameters:
    """Return the parameters of a function from its code, or by `inspect` for other callables.

    Examples
    --------
    >>> found = parameters_of(lambda x, y=2, /, *rest, axis, keepdims=False: None)
    >>> found.positional, found.variadic, found.keyword_only, found.defaults
    (('x', 'y'), 'rest', ('axis', 'keepdims'), {'y': 2, 'keepdims': False})
    """
    if type(function) is not types.FunctionType or function.__dict__:  # it may be a wrapper
        wrapped = getattr(function, "__wrapped__", None)
        if type(wrapped) is types.FunctionType and not hasattr(function, "__signature__"):
            return parameters_of(wrapped)  # as `inspect` does, at a twentieth of its cost
        return (_of_c if type(function) is types.BuiltinFunctionType else _inspected)(function)
    code = function.__code__
    names, n, m = code.co_varnames, code.co_argcount, code.co_kwonlyargcount
    end = n + m
    variadic = keywords = None
    if code.co_flags & _VARIADIC:
        variadic = names[end]
        end += 1
    if code.co_flags & _KEYWORDS:
        keywords = names[end]
    given = function.__defaults__ or ()
    defaults = dict(zip(names[n - len(given) : n], given, strict=True))
    defaults.update(function.__kwdefaults__ or {})
    return Parameters(
        names[:n], code.co_posonlyargcount == n, variadic, names[n : n + m], keywords, defaults
    )


_TOLD: dict[int, tuple[Callable[..., Any], Callable[..., Any]]] = {}  # by id


def tell_parameters(function: Callable[..., Any], like: Callable[..., Any]) -> None:
    """Register a function with the parameters of a compiled one, which has no signature."""
    _TOLD[id(function)] = function, like


def told(function: Callable[..., Any]) -> Any:
    """Return the function that `tell_parameters` registered for a compiled one, or None."""
    return _TOLD.get(id(function), (None, None))[1]


def _inspected(function: Callable[..., Any]) -> Parameters:
    import inspect

    each: Any = type(inspect.Parameter.VAR_KEYWORD)
    kinds: dict[Any, list[str]] = {kind: [] for kind in each}
    defaults: dict[str, Any] = {}
    if not callable(function):
        raise RuleError(f"expected a function, got {describe(function)}")
    try:
        signature = inspect.signature(told(function) or function)
    except ValueError:
        raise RuleError(
            f"{function!r} has no signature to read; write a function that says what it takes, or "
            f"run python -O if this is python -OO, which removes signatures with the docstrings"
        ) from None
    for p in signature.parameters.values():
        kinds[p.kind].append(p.name)
        if p.default is not p.empty:
            defaults[p.name] = p.default
    only, either, variadic, keyword_only, keywords = kinds.values()
    return Parameters(
        (*only, *either),
        not either,
        next(iter(variadic), None),
        tuple(keyword_only),
        next(iter(keywords), None),
        defaults,
    )


_of_c = functools.lru_cache(256)(_inspected)


def of_operands(function: Any, called: Callable[..., Any] | None = None) -> Any:
    """Return a function; for a ufunc, a function of its operands alone, without NumPy's options.

    It calls the ufunc, or ``called`` if given.
    """
    if not hasattr(function, "nin"):
        return function
    names = ", ".join([f"x{i + 1}" for i in range(function.nin)])
    space = {"__name__": __name__, "ufunc": called or function}
    made = eval(f"lambda {names}, /: ufunc({names})", space)  # noqa: S307 - our own text
    made.__name__ = made.__qualname__ = function.__name__
    made.__doc__ = function.__doc__
    return made


def bind_call(
    name: str, signature: Any, operands: tuple[Any, ...], options: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Bind a call to an operation's signature; return operands, and options with defaults.

    Raises
    ------
    TypeError
        If it does not match; the message shows the call, with options by name.
    """
    try:
        bound = signature.bind(*operands, **options)
    except TypeError as error:
        shown = [
            f"{p.name}=..." if p.kind is p.KEYWORD_ONLY else str(p).partition(":")[0]
            for p in signature.parameters.values()
        ]
        raise TypeError(f"{name}(): {error}; write {name}({', '.join(shown)})") from None
    bound.apply_defaults()
    return bound.args, bound.kwargs
