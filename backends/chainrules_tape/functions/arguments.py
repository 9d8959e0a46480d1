"""Arguments of a call that a derivative is taken in: which are chosen, and which can vary."""

from __future__ import annotations

import contextlib
import inspect
import operator
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, TypeAlias, final

from chainrules_py import NotDifferentiableError
from chainrules_py.extend import (
    Tracer,
    describe,
    forgets,
    holds_numbers,
    kind_of,
    name_of,
    refuse_labelled,
    type_info,
)

Numbers: TypeAlias = int | Sequence[int] | None
Names: TypeAlias = str | Sequence[str] | None


@final
class Arguments:
    """The arguments of a function that are differentiated in.

    Parameters
    ----------
    what : str
        What they are chosen for: the name of a transformation.
    f : callable
        The function.
    numbers : int, sequence of int or None
        By position; of the positional arguments given where it counts from the end.
    names : str, sequence of str or None
        By name. Without numbers or names, the first argument is meant.
    by_name : bool
        Whether results are delivered in a dict, by the names of the arguments.
    """

    __slots__ = ("alone", "by_name", "f", "first", "names", "names_of_chosen", "numbers")

    def __init__(
        self,
        what: str,
        f: Callable[..., Any],
        numbers: Numbers,
        names: Names,
        by_name: bool = False,
    ) -> None:
        self.f = f
        self.by_name = by_name
        if not callable(f):
            msg = f"{f!r} is not a function, so it has no derivative; pass the function itself"
            raise NotDifferentiableError(msg)
        if numbers is None:
            numbers = 0 if names is None else ()
        one = not isinstance(numbers, (tuple, list))
        self.numbers = tuple([_whole(n, what) for n in ([numbers] if one else numbers)])  # type: ignore[union-attr]
        self.names = (names,) if isinstance(names, str) else tuple(names or ())
        if wrong := [n for n in self.names if not isinstance(n, str)]:
            msg = f"argnames holds {wrong[0]!r}; names are strings, positions go to argnums"
            raise NotDifferentiableError(msg)
        if not self.numbers and not self.names:
            msg = "argnums and argnames are both empty; name an argument to differentiate in"
            raise NotDifferentiableError(msg)
        single = (one and not self.names) or (isinstance(names, str) and not self.numbers)
        self.alone = single
        self.names_of_chosen: tuple[int | str, ...] = (*self.numbers, *self.names)
        in_front = self.numbers == tuple(range(len(self.numbers))) and not self.names
        self.first = len(self.numbers) if in_front else 0

    def places(self, operands: tuple[Any, ...], keywords: dict[str, Any]) -> list[int | str]:
        """Where they are in a call; keywords are completed where one is left at its default."""
        found = [self._place(which, len(operands), keywords) for which in self.names_of_chosen]
        if twice := [p for p in found if found.count(p) > 1]:
            what = f"argument {twice[0]}" if isinstance(twice[0], int) else repr(twice[0])
            msg = f"{what} of {name_of(self.f)} is named twice in argnums and argnames; once is all"
            raise NotDifferentiableError(msg)
        return found

    def _place(self, which: int | str, count: int, keywords: dict[str, Any]) -> int | str:
        """Where one is in a call with so many positional arguments."""
        place, name = -1, str(which)
        if isinstance(which, int):
            place = which + count if which < 0 else which
            if 0 <= place < count and not (which < 0 and keywords):
                return place
        elif which in keywords:
            return which
        known, positional = self._parameters(), self._positional()
        f, given = name_of(self.f), ", ".join(keywords)
        if isinstance(which, int):
            if which < 0 and not {*positional}.isdisjoint(keywords):
                msg = (
                    f"argnums={which} counts from the end, and {f} was called with arguments by "
                    f"keyword ({given}); write argnames= instead"
                )
                raise NotDifferentiableError(msg)
            name = positional[which] if 0 <= which < len(positional) else ""
        elif which in positional:
            place = positional.index(which)
        if 0 <= place < count:
            return place
        parameter = known.get(name)
        named = parameter is not None and parameter.kind is not parameter.POSITIONAL_ONLY
        if parameter is not None and named and parameter.default is not parameter.empty:
            keywords.setdefault(name, parameter.default)
        if name in keywords:
            return name
        write = f"argnames={next(iter(keywords))!r}" if keywords else "another argnames="
        msg = (
            f"argument {which!r} of {f}, in which the derivative is taken, was not given: {f} "
            f"takes ({', '.join(known)}), and was called with {count} positional arguments and "
            f"({given}) by keyword; argnums counts from 0, or write {write}"
        )
        raise NotDifferentiableError(msg)

    def _parameters(self) -> dict[str, inspect.Parameter]:
        try:
            return dict(inspect.signature(self.f).parameters)
        except (TypeError, ValueError):
            return {}

    def _positional(self) -> list[str]:
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        return [n for n, p in self._parameters().items() if p.kind in kinds]

    def pick(
        self, operands: tuple[Any, ...], keywords: dict[str, Any]
    ) -> tuple[tuple[Any, ...], Callable[..., Any]]:
        """Pick the chosen arguments of a call, and build the function of them alone."""
        f, first = self.f, self.first
        if not keywords and 0 < first <= len(operands):
            rest = operands[first:]
            return operands[:first], (lambda *xs: f(*xs, *rest)) if rest else f
        keywords = dict(keywords)
        places = self.places(operands, keywords)
        xs = tuple([operands[p] if isinstance(p, int) else keywords[p] for p in places])
        # What is known besides the chosen ones: these may be written to, if nobody else has them.
        others = [None if i in places else x for i, x in enumerate(operands)]
        keywords |= dict.fromkeys([p for p in places if not isinstance(p, int)])

        def of_chosen(*xs: Any) -> Any:
            full, named = list(others), dict(keywords)
            for p, x in zip(places, xs, strict=True):
                if isinstance(p, int):
                    full[p] = x
                else:
                    named[p] = x
            return f(*full, **named)

        return xs, of_chosen

    def deliver(self, results: tuple[Any, ...]) -> Any:
        """Return one result for one argument, a tuple for several, or a dict by name."""
        if self.by_name:
            named = self._positional()
            if any([isinstance(n, int) and not 0 <= n < len(named) for n in self.names_of_chosen]):
                msg = (
                    f"by_name: the argument that argnums={self.numbers} counts of "
                    f"{name_of(self.f)} has no name; write argnames="
                )
                raise NotDifferentiableError(msg)
            keys = [named[n] if isinstance(n, int) else n for n in self.names_of_chosen]
            return dict(zip(keys, results, strict=True))
        return results[0] if self.alone else results


def _whole(n: Any, what: str) -> int:
    with contextlib.suppress(TypeError):
        if not isinstance(n, bool):
            return operator.index(n)
    hint = (
        "names go to argnames"
        if isinstance(n, str)
        else f"positions are integers; for the derivative at x call the result: {what}(f)(x)"
    )
    msg = f"argnums holds {n!r}; {hint}"
    raise NotDifferentiableError(msg)


# ------------------------------------------------------------ what a derivative can be taken in


class _Numbers(dict[type, bool]):
    """Whether classes are of real numbers that have no memory: of Python's, or of a library's."""

    def __missing__(self, cls: type) -> bool:
        info = type_info(cls)
        found = self[cls] = cls in (float, int, complex) or (
            info.is_number
            and issubclass(cls, float)
            and hasattr(cls, "dtype")
            and info.memory is None
            and info.host is None
            and not issubclass(cls, Tracer)
        )
        return found


numbers = _Numbers()
"""What programs of scalars have thousands of, so that they are recognised first."""


def can_vary(x: Any) -> bool:
    """Tell whether a leaf is a number, or holds numbers, that a derivative can be taken in."""
    cls = type(x)
    try:
        if numbers[cls] or (cls, getattr(x, "dtype", None)) in _varying:
            return True
        key = cls, getattr(x, "dtype", None)
    except TypeError:  # of somebody else's, with no hash
        key = cls, None
    if kind_of(x) not in ("real", "complex", "int") or isinstance(x, Enum):
        _check_no_numbers(x)
        return False
    _varying.add(key)
    return True


_varying: set[tuple[type, Any]] = set()
forgets(lambda: (_varying, numbers))


def check_varies(leaves: list[Any], vary: list[bool]) -> None:
    """Raise if there are leaves, and a derivative can be taken in none of them."""
    if leaves and not any(vary):
        held = ", ".join(dict.fromkeys(map(describe, leaves)))
        msg = (
            f"there are no numbers that a derivative could be taken in, only {held}: choose "
            f"other arguments (argnums), or make arrays of floating numbers of these"
        )
        raise NotDifferentiableError(msg)


def _check_no_numbers(x: Any) -> None:
    """Raise for what holds numbers of which no derivative is known: they would count as fixed.

    What gives its parts one by one is not looked into: it may give any.
    """
    refuse_labelled(x)
    if hasattr(type(x), "__next__") or holds_numbers(x):
        cls, library = type(x).__name__, type(x).__module__.partition(".")[0]
        if library in ("autograd", "jax", "torch", "mlx"):
            instead = f"it is traced by {library}: take all derivatives by one engine"
        elif hasattr(x, "dtype"):
            instead = "give an array of a floating type, as np.asarray(x, float)"
        elif library == "builtins":
            instead = "give a float, a list, or an array"
        else:
            instead = f"declare {cls} with @dataclass and annotated fields"
        msg = f"{describe(x)} holds numbers that no derivative is known in: {instead}"
        raise NotDifferentiableError(msg)
