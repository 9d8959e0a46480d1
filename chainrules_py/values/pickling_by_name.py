"""Functions and classes that are pickled by name, or as the call that made them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from pickle import PicklingError
from typing import TYPE_CHECKING, Any, NoReturn

from chainrules_py.values.caches import found_by_name, is_lasting

if TYPE_CHECKING:
    import inspect


def by_name(x: Any) -> str:
    """Return the ``__reduce__`` value of an object that its module has by its name."""
    return str(x.__qualname__)


def made_again(
    x: Any, maker: Callable[..., Any], operands: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """Return the ``__reduce__`` value of an object: its own name, or the call that made it."""
    known = found_by_name(x) is x
    return by_name(x) if known else (functools.partial(maker, **keywords), operands)


def checked_name(x: Any, where: str, rules: Iterable[Any]) -> Any:
    """Return the ``__reduce__`` value of an object by name; raise if no module has that name."""
    if not is_lasting(x):
        stated = "".join([f", with {rule!r}," for rule in rules])
        raise PicklingError(
            f"{x!r} ({where}){stated} cannot be pickled: no module has it under its name; define "
            f"it at the top level of a module that can be imported, under the name of its function"
        )
    return by_name(x)


class _of_instances:  # noqa: N801
    """A property of instances only, so that `inspect.signature` of the class does not find it."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            raise AttributeError(self._function.__name__)
        return self._function(instance)


class Made(functools.partial[Any]):
    """A function that is pickled by its own name, or as the call that made it."""

    recipe: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]] | None = None
    returns_other = False
    """Whether its result is not that of the wrapped function, whose annotation it then lacks."""

    @_of_instances
    def __signature__(self) -> inspect.Signature:
        import inspect  # not loaded by the core

        # `inspect.getfullargspec` ignores `__wrapped__`, and treats objects with `__get__` as C.
        try:
            found = inspect.signature(self.__wrapped__)  # type: ignore[attr-defined]
        except ValueError as error:  # of a built-in function
            raise AttributeError(*error.args) from None
        other = self.returns_other
        return found.replace(return_annotation=inspect.Signature.empty) if other else found

    @_of_instances
    def __annotations__(self) -> dict[str, Any]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Return the annotations of the wrapped function's arguments, or all of them."""
        of_f = getattr(self.__wrapped__, "__annotations__", {})  # type: ignore[attr-defined]
        return {k: v for k, v in of_f.items() if k != "return" or not self.returns_other}

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __reduce__(self) -> Any:
        if self.recipe is None:  # a copy within a differentiation
            raise PicklingError(
                f"{self!r} is a copy within a differentiation, and cannot be pickled"
            )
        return made_again(self, *self.recipe)

    def __repr__(self) -> str:
        f = None if self.recipe is None else self.recipe[1][0]
        of = getattr(f, "__qualname__", type(f).__name__).rpartition("<locals>.")[2]
        maker = self.func if self.recipe is None else self.recipe[0]
        name = getattr(maker, "__name__", type(maker).__name__)
        return f"<{name}{'' if f is None else ' of ' + of}>"

    __array_ufunc__ = None

    def _refuse(self, *_: object) -> NoReturn:
        raise TypeError(f"{self!r} is a function, not a number; call it, as in grad(f)(x)")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __pow__ = _refuse


def made(
    call: Callable[..., Any], f: Any, maker: Callable[..., Any], *operands: Any, **keywords: Any
) -> Any:
    """Return a function that represents another, f, and that ``maker(f, *operands)`` made.

    Parameters
    ----------
    call : callable
        The implementation.
    f : callable
        The function whose name and signature it gets.
    maker, operands, keywords
        The call that makes it again when it is unpickled.
    """
    found = Made(call)
    found.recipe = maker, (f, *operands), keywords
    names = ("__module__", "__name__", "__qualname__", "__doc__")
    return functools.update_wrapper(found, f, names, ())
