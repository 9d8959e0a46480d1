"""Conversion of operators to functions of several arguments; names and attributes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

Function = Callable[..., Any]


def unary_to_nary(operator: Function) -> Function:
    """Convert ``operator(fun, x)`` to the form ``operator(fun, argnum=0)(*args, **options)``."""

    @functools.wraps(operator)
    def nary(fun: Function, argnum: Any = 0, *rest: Any, **settings: Any) -> Function:
        if not isinstance(argnum, (int, tuple, list)):
            raise TypeError(
                f"argnum is an int or a tuple of such, and not {argnum!r}; "
                f"write {operator.__name__}(f)(x)"
            )

        def call(*args: Any, **options: Any) -> Any:
            if isinstance(argnum, int):
                place = argnum % len(args) if argnum < 0 else argnum

                def unary(x: Any) -> Any:
                    return fun(*args[:place], x, *args[place + 1 :], **options)

                x = args[place]
            else:
                places: tuple[int, ...] = tuple(argnum)

                def unary(x: Any) -> Any:
                    given = dict(zip(places, x, strict=True))
                    return fun(*[given.get(i, a) for i, a in enumerate(args)], **options)

                x = tuple([args[i] for i in places])
            return operator(wraps(fun)(unary), x, *rest, **settings)

        call.__name__ = f"{get_name(operator)}_of_{get_name(fun)}_wrt_argnum_{argnum}"
        call.__doc__ = f"{operator.__name__} of {get_name(fun)} in argument {argnum}."
        return call

    return nary


def get_name(fun: Function) -> str:
    """Return the name of a function."""
    return getattr(fun, "__name__", "[unknown name]")


def get_doc(fun: Function) -> str:
    """Return the docstring of a function."""
    return getattr(fun, "__doc__", None) or ""


def wraps(
    fun: Function, namestr: str = "{fun}", docstr: str = "{doc}", **operations: Any
) -> Function:
    """Give a function the name and docstring of another one (a decorator)."""

    def decorate(f: Function) -> Function:
        f.__name__ = namestr.format(fun=get_name(fun), **operations)
        f.__doc__ = docstr.format(fun=get_name(fun), doc=get_doc(fun), **operations)
        return f

    return decorate


def first_of(modules: tuple[ModuleType, ...], name: str) -> Any:
    """Return the attribute of the first module that has it."""
    return getattr(next((m for m in modules if hasattr(m, name)), modules[-1]), name)
