"""Select the arguments to differentiate with respect to, and check arguments and results."""

from __future__ import annotations

import contextlib
import inspect
import operator
from collections.abc import Callable, Collection, Sequence
from types import FunctionType
from typing import Any, TypeAlias, final

from chainrules_py import NotDifferentiableError, space
from chainrules_py.extend import (
    Space,
    Tracer,
    describe,
    forgets,
    holds,
    holds_numbers,
    kind_of,
    name_of,
    refuse_labelled,
    type_info,
    where_defined,
)

Numbers: TypeAlias = int | Sequence[int] | None
Names: TypeAlias = str | Sequence[str] | None


@final
class Arguments:
    """Arguments of a function that it is differentiated with respect to.

    Parameters
    ----------
    what : str
        The name of the transformation, for messages.
    f : callable
        The function.
    numbers : int, sequence of int or None
        Positions; negative ones count from the last positional argument of the call.
    names : str, sequence of str or None
        Names. Without numbers and names, the first argument is chosen.
    by_name : bool
        Whether results are returned in a dict, by the names of the arguments.
    misspelled : collection of str
        Keywords that the transformation does not take.
    """

    __slots__ = ("alone", "by_name", "f", "first", "names", "names_of_chosen", "numbers")

    def __init__(
        self,
        what: str,
        f: Callable[..., Any],
        numbers: Numbers,
        names: Names,
        by_name: bool = False,
        misspelled: Collection[str] = (),
    ) -> None:
        for name in misspelled:
            import difflib  # only needed for a mistyped name

            meant = difflib.get_close_matches(name, ("argnums", "argnames", "has_aux"))
            write = f"did you mean {meant[0]}?" if meant else f"help({what}) lists what it takes"
            raise TypeError(f"{what}() got an unexpected keyword argument {name!r}; {write}")
        self.f, self.by_name = f, by_name
        if not callable(f):
            raise NotDifferentiableError(
                f"{describe(f)} is not a function, so it has no derivative; write {what}(f)(x) for "
                f"that of f at x"
            )
        if numbers is None:
            numbers = 0 if names is None else ()
        one = not isinstance(numbers, (tuple, list, range))
        self.numbers = tuple([_whole(n, what) for n in ([numbers] if one else numbers)])  # type: ignore[union-attr]
        self.names = (names,) if isinstance(names, str) else tuple(names or ())
        if wrong := [n for n in self.names if not isinstance(n, str)]:
            raise NotDifferentiableError(
                f"argnames holds {wrong[0]!r}; names are strings, positions go to argnums"
            )
        if not self.numbers and not self.names:
            raise NotDifferentiableError(
                "argnums and argnames are both empty; name an argument to differentiate in"
            )
        self.alone = (one and not self.names) or (isinstance(names, str) and not self.numbers)
        self.names_of_chosen: tuple[int | str, ...] = (*self.numbers, *self.names)
        in_front = self.numbers == tuple(range(len(self.numbers))) and not self.names
        self.first = len(self.numbers) if in_front else 0

    def places(self, operands: tuple[Any, ...], keywords: dict[str, Any]) -> list[int | str]:
        """Locate the chosen arguments in a call; add defaults of missing ones to the keywords."""
        found = [self._place(which, len(operands), keywords) for which in self.names_of_chosen]
        if twice := [p for p in found if found.count(p) > 1]:
            raise NotDifferentiableError(
                f"argument {twice[0]!r} of {name_of(self.f)} is named twice in argnums and "
                f"argnames; once is all"
            )
        return found

    def _place(self, which: int | str, count: int, keywords: dict[str, Any]) -> int | str:
        """Locate one argument in a call with ``count`` positional arguments."""
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
                raise NotDifferentiableError(
                    f"argnums={which} counts from the end, and {f} was called with arguments by "
                    f"keyword ({given}); write argnames= instead"
                )
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
        more = f" to {count - 1}" * (count > 2) + " or 1" * (count == 2)
        names = [*keywords, *(positional if isinstance(which, str) else ())]
        write = (
            f"argnames={names[0]!r}" if names else f"argnums=0{more}" if count else "it in the call"
        )
        raise NotDifferentiableError(
            f"argument {which!r} of {f}, in which the derivative is taken, was not given: {f} "
            f"takes ({', '.join(known)}), and got {count} by position and {given or 'none'} by "
            f"keyword; write {write}"
        )

    def _parameters(self) -> dict[str, inspect.Parameter]:
        # The function of a `singledispatchmethod` is bound, but wraps one that is not.
        followed = hasattr(self.f, "dispatch") or not hasattr(self.f, "register")
        try:
            return dict(inspect.signature(self.f, follow_wrapped=followed).parameters)
        except (TypeError, ValueError):
            return {}

    def _positional(self) -> list[str]:
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        return [n for n, p in self._parameters().items() if p.kind in kinds]

    def pick(
        self, operands: tuple[Any, ...], keywords: dict[str, Any]
    ) -> tuple[tuple[Any, ...], Callable[..., Any]]:
        """Return the chosen arguments of a call, and the function of them alone."""
        f, first = self.f, self.first
        if not keywords and 0 < first <= len(operands):
            rest = operands[first:]
            return operands[:first], (lambda *xs: f(*xs, *rest)) if rest else f
        keywords = dict(keywords)
        places = self.places(operands, keywords)
        xs = tuple([operands[p] if isinstance(p, int) else keywords[p] for p in places])
        # Keep no reference to the chosen ones: arrays without other references may be written to.
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
                raise NotDifferentiableError(
                    f"by_name: argnums={self.numbers} of {name_of(self.f)} counts from the end, or "
                    f"an argument that has no name; write argnames="
                )
            keys = [named[n] if isinstance(n, int) else n for n in self.names_of_chosen]
            return dict(zip(keys, results, strict=True))
        return results[0] if self.alone else results


def _whole(n: Any, what: str) -> int:
    with contextlib.suppress(TypeError):
        if not isinstance(n, bool):
            return operator.index(n)
    if isinstance(n, str):
        raise NotDifferentiableError(f"argnums holds {n!r}; write argnames={n!r}")
    raise NotDifferentiableError(
        f"argnums holds {describe(n)}; positions are integers; for the derivative at x call the "
        f"result: {what}(f)(x)"
    )


# ------------------------------------------------------------ values that can vary


class _Numbers(dict[type, bool]):
    """Whether a class is of numbers without memory, of Python or of a library."""

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
"""Classes that are frequent in programs of scalars, and are therefore tested first."""


def can_vary(xs: Sequence[Any]) -> list[bool]:
    """Return which leaves are, or hold, numbers that can be differentiated with respect to."""
    try:
        if _varying.issuperset([(type(x), getattr(x, "dtype", None)) for x in xs]):
            return [True] * len(xs)
    except TypeError:  # a dtype of another library that has no hash
        pass
    return list(map(_can_vary, xs))


def _can_vary(x: Any) -> bool:
    if not numbers[type(x)] and kind_of(x) not in ("real", "complex", "int"):
        _check_no_numbers(x)
        return False
    with contextlib.suppress(TypeError):
        _varying.add((type(x), getattr(x, "dtype", None)))
    return True


_varying: set[tuple[type, Any]] = set()
forgets(lambda: (_varying, numbers))


def check_varies(leaves: list[Any], vary: list[bool]) -> None:
    """Raise if there are leaves and none of them can be differentiated with respect to."""
    if leaves and not any(vary):
        held = ", ".join(dict.fromkeys(map(describe, leaves)))
        raise NotDifferentiableError(
            f"there are no numbers that a derivative could be taken in, only {held}: give "
            f"floats or arrays of floats, or choose another argument by argnums="
        )


def _check_no_numbers(x: Any) -> None:
    """Raise for a leaf that holds numbers without a known derivative: it would count as constant.

    Iterators are not searched: they raise at once, because they may yield anything.
    """
    refuse_labelled(x)
    if hasattr(type(x), "__next__") or holds_numbers(x):
        library = type(x).__module__.partition(".")[0]
        if library in ("autograd", "jax", "torch", "mlx"):
            instead = (
                f"it is traced by {library}; write that derivative by grad too, after "
                "'from chainrules_tape import grad'"
            )
        elif getattr(getattr(x, "dtype", None), "names", None):
            instead = "give its fields, {name: x[name] for name in x.dtype.names}"
        elif forms := [form for name, form in _FORMS if hasattr(type(x), name)]:
            instead = f"give {forms[0]}"
        else:
            fields = [f"{name}: object" for name in getattr(x, "__dict__", {})]
            of_fields = f"a @dataclasses.dataclass with {', '.join(fields) or 'its numbers'}"
            instead = f"write {type(x).__name__} as {of_fields}"
        raise NotDifferentiableError(
            f"{describe(x)} holds numbers that no derivative is known in: {instead}"
        )


_FORMS = (
    ("magnitude", "x.magnitude, the numbers of this quantity without its unit"),
    ("dtype", "an array of a floating type, as np.asarray(x, float)"),
    ("as_integer_ratio", "a float, as float(x)"),
    ("readline", "its numbers, as np.loadtxt(x)"),
    ("model_dump", "a dict of them, as x.model_dump()"),
    ("keys", "a dict of them, as dict(x)"),
    ("__iter__", "a list of them, as list(x)"),
)
"""Members of classes that hold numbers, and what to give in place of an instance."""


# ------------------------------------------------------------------------------------ results

_EXACT = (bool, int, float, complex, str, bytes, range, type(None), type(...))


def split_aux(f: Any, answer: Any) -> tuple[Any, Any]:
    """Split the result of a function with ``has_aux``, ``(result, aux)``, into these two."""
    if type(answer) is tuple and len(answer) == 2:
        return answer
    raise NotDifferentiableError(
        f"has_aux says that {name_of(f)} returns (result, aux), and it returned "
        f"{describe(answer)}; return a tuple of these two"
    )


def refuse_hidden(f: Any, what: str, leaves: Sequence[Any], level: Any) -> None:
    """Raise if a result holds a tracer of this differentiation elsewhere than in its leaves.

    Parameters
    ----------
    f : callable or None
        The function that returned it; None for a loss.
    what : str
        The name of the part of the result.
    leaves
        Its leaves, with plain values for tracers that are leaves.
    level
        The level of the differentiation.

    Raises
    ------
    NotDifferentiableError
        If an object, function or iterator holds a tracer of this differentiation, or a leaf is a
        tracer of one that is over.
    """
    for x in leaves:
        is_over = issubclass(type(x), Tracer) and x.is_over
        if is_over or (
            _may_hide(x) and holds(x, lambda y: issubclass(type(y), Tracer) and _is_of(y, level))
        ):
            whole = f"{what} of {name_of(f)} ({where_defined(f)})" if f else "the loss"
            raise NotDifferentiableError(
                f"{whole} has {describe(x)}, which "
                + (
                    "an earlier call made, whose differentiation is over: compute it in this call, "
                    "and store ignore_derivatives(y) where a value y is kept for later"
                    if is_over
                    else f"holds what is being differentiated where no derivative sees it: "
                    f"{_without(type(x), f)}"
                )
            )


def _without(cls: type, f: Any) -> str:
    """Return the remedy for a result of a class: a function may have it by a table it reads."""
    with contextlib.suppress(TypeError, ValueError):  # it is no function of Python
        read = inspect.getclosurevars(f)
        for name, x in {**read.globals, **read.nonlocals}.items():
            if type(x) is cls and hasattr(cls, "values"):
                return f"write {name}.values for {name}, a {cls.__name__}"
    return (
        "call it, and return what it gives"
        if cls is FunctionType
        else "return the numbers or arrays themselves, or a dataclass of them"
    )


def _may_hide(x: Any) -> bool:
    """Return whether a leaf may hold other values."""
    cls = type(x)
    if cls in _EXACT or issubclass(cls, Tracer) or hasattr(cls, "__outside__"):
        return False
    info = type_info(cls)
    if info.is_array or info.is_number or info.host is not None:
        return bool(getattr(getattr(x, "dtype", None), "hasobject", False))
    return True


def _is_of(x: Any, level: Any) -> bool:
    """Return whether a value is a tracer of a level, or has a payload that is."""
    inner = below(x, level)
    return issubclass(type(inner), Tracer) and inner.level == level


def below(x: Any, level: int) -> Any:
    """Return the payload of a tracer of a higher level; other values unchanged."""
    while issubclass(type(x), Tracer) and x.level > level:
        x = x.__payload__
    return x


def check_scalar(y: Any, what: str, f: Any, leaves: Sequence[Any]) -> None:
    """Raise unless a result is one real number.

    Parameters
    ----------
    y
        The result.
    what : str
        The public function that needs one.
    f : callable or None
        The function that returned it; None for the loss of a tape.
    leaves
        The leaves that it is differentiated with respect to.
    """
    of = space(y)
    if type(of) is Space and of.kind == "real" and of.size == 1:
        return
    if (made := getattr(f, "recipe", None)) is not None and made[0].__name__ == "grad":
        raise NotDifferentiableError(
            f"{what} needs one real number, and grad({name_of(f)}) returned {describe(y)}: write "
            f"hessian({name_of(f)}) for all second derivatives"
        )
    said = f"{name_of(f)} ({where_defined(f)}) returned" if f else "the loss is"
    msg = f"{what} needs one real number, and {said} {describe(y)}"
    raise NotDifferentiableError(f"{msg}: {_instead(y, of, what, f, leaves)}")


def _instead(y: Any, of: Any, what: str, f: Any, leaves: Sequence[Any]) -> str:
    """Return the remedy for a result that is not one real number."""
    if y is None:
        return "did you forget return?"
    has_aux, name = what in ("grad", "value_and_grad"), name_of(f).replace("<lambda>", "f")
    if type(y) in (tuple, list, dict):
        return (
            f"write {what}({name}, has_aux=True)"
            if has_aux and type(y) is tuple and len(y) == 2
            else "return the number alone"
        )
    if type(of) is not Space or of.kind == "none":
        if hasattr(type(y), "magnitude"):
            return "return y.magnitude, the number of this quantity without its unit"
        constant = "a comparison has no derivative: return the number that is compared"
        return constant if kind_of(y) == "bool" else "return a number, as np.sum(...) gives"
    if of.size != 1:
        return "take np.sum(...) of it" + f", or write jacobian({name}), its matrix" * has_aux
    if of.kind != "int":
        return "return its real part, np.real(...)"
    if not any([kind_of(x) in ("real", "complex") for x in leaves]):
        return "a whole number does not change by a little: give floats (3.0 for 3)"
    return (
        "a comparison, or a count, gives a whole number, whose derivative is zero; write "
        "max(0.0, x) for max(0, x), and 0.0 for another 0 that is meant as a real number"
    )


def unit(y: Any, what: str, f: Any, leaves: Sequence[Any] = ()) -> Any:
    """Return the unit cotangent of a result that has to be one real number."""
    cls = type(y)
    if cls in units:
        return units[cls]
    check_scalar(y, what, f, leaves)
    of = space(y)
    if of.dtype is not None and not type_info(of.like).is_number:
        return of.zeros() + 1
    found = 1.0 if of.dtype is None else of.like(1)
    if type_info(cls).is_number:  # all of a class share it, because it cannot be written to
        units[cls] = found
    return found


units: dict[type, Any] = {}
"""The `unit` of each class of numbers."""
forgets(lambda: (units,))
