"""Made again: what is pickled as the call that made it.

A derivative is a closure, which cannot be pickled. It is made of a function, which can, by its
name, and of values: in another process it is made of these once more.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pickle import PicklingError
from typing import Any, final

from chainrules_py import MutationError, ignore_derivatives
from chainrules_py.extend import by_name, describe, flatten, kind_of, name_of


@final
class Made(functools.partial[Any]):
    """A function that is pickled as the call that made it, or by the name that it has itself."""

    recipe: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]] | None = None

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __reduce__(self) -> Any:
        found: Any = sys.modules.get(getattr(self, "__module__", None) or "")
        name = getattr(self, "__qualname__", "")
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is self:
            return by_name(self)
        if self.recipe is None:  # a copy, which knows other values
            msg = f"{self!r} is a copy within a differentiation, and cannot be pickled"
            raise PicklingError(msg)
        maker, operands, keywords = self.recipe
        return functools.partial(maker, **keywords), operands

    def __repr__(self) -> str:
        of = "" if self.recipe is None else f" of {name_of(self.recipe[1][0])}"
        return f"<{self.func.__name__}{of}>"


def made(
    call: Callable[..., Any], f: Any, maker: Callable[..., Any], *operands: Any, **keywords: Any
) -> Any:
    """Return a function that stands for another, f, and that ``maker(f, *operands)`` made.

    Parameters
    ----------
    call : callable
        What it does.
    f : callable
        Whose name and signature it has.
    maker, operands, keywords
        What makes it again.
    """
    found = Made(call)
    found.recipe = maker, (f, *operands), keywords
    names = ("__module__", "__name__", "__qualname__", "__doc__")
    return functools.update_wrapper(found, f, names, ())


def check_same(f: Any, y: Any, before: list[Any]) -> None:
    """Raise if a function that is run again gave something else than the first time.

    Raises
    ------
    MutationError
        If the `samples` of its result are others.
    """
    if not agree(samples(y), before):
        msg = (
            f"{name_of(f)} gave something else when it was run again for its derivative, "
            f"{describe(y)}; it has to be a function of its arguments: draw random numbers "
            f"outside, and do not write to what it reads"
        )
        raise MutationError(msg)


_SAMPLES = 16


def samples(y: Any) -> list[Any]:
    """Pick some of the numbers in a value, to tell whether another value is the same."""
    leaves, _ = flatten(y)
    found: list[Any] = []
    for x in map(ignore_derivatives, leaves):
        shape = getattr(x, "shape", ())
        found.append((type(x), shape))
        if not shape:
            found.append(x)
        elif all(shape):
            places = {tuple([k * (n - 1) // _SAMPLES for n in shape]) for k in range(_SAMPLES + 1)}
            found += [x[place] for place in sorted(places)]
    return found


def agree(samples: list[Any], others: list[Any]) -> bool:
    """Tell whether two samples are of the same values, up to rounding."""
    return len(samples) == len(others) and all(map(_agree, samples, others))


def _agree(x: Any, y: Any) -> bool:
    if x is y or bool(x == y) or (bool(x != x) and bool(y != y)):
        return True
    close = kind_of(x) in ("real", "complex") and kind_of(y) in ("real", "complex")
    return close and bool(abs(x - y) <= 1e-3 * (abs(x) + abs(y)))
