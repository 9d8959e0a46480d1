"""Zeros, and the base of all tangents that are neither arrays nor numbers."""

from __future__ import annotations

import functools
import linecache
import operator
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Final, NoReturn, Self, final

from chainrules_py.errors import NoRuleError, describe
from chainrules_py.values.caller_frames import caller
from chainrules_py.values.structure import is_structure_type


@final
class Algebra:
    """Functions behind the operators of tangents: those of `chainrules_py.tangents.arithmetic`.

    That module imports the classes of tangents, and therefore sets these functions itself.
    """

    __slots__ = ()

    add: ClassVar[Callable[[Any, Any], Any]]
    scale: ClassVar[Callable[[Any, Any], Any]]
    divide: ClassVar[Callable[[Any, Any], Any]]
    move: ClassVar[Callable[[Any, Any], Any]]


class AbstractTangent:
    """Base of the tangents that are neither arrays nor numbers.

    Its operators are the algebra of tangents for users: ``t + t``, ``2 * t``, ``t / 3``, and
    ``params - lr * t``, which rebuilds ``params``, a structure of any kind.

    Notes
    -----
    Arrays and numbers on the left defer to these operators, with one exception: an array of
    ``array_api_strict`` raises ``TypeError``, as the standard requires. Write the tangent first,
    or call the function.

    Examples
    --------
    >>> from chainrules_py import Tangent
    >>> (1.0, 2.0) - 0.5 * Tangent[tuple](1.0, 4.0)
    (0.5, 0.0)
    """

    __slots__ = ()
    _by_identity: ClassVar[bool] = True  # it compares unequal to every array

    def __array_ufunc__(self, ufunc: Any, method: str, *xs: Any, **options: Any) -> Any:
        """Compute NumPy's sums and multiples, and ``a += t``, by the operators; refuse others."""
        name = ufunc.__name__
        if self._by_identity and name in ("equal", "not_equal"):
            return (xs[0] is xs[1]) is (name == "equal")
        if name not in _OPERATORS or method != "__call__" or options.keys() - {"out"}:
            return self.__refused__()
        if options:
            alone = options["out"][0] is xs[0] and name in ("add", "subtract")
            return self._added_in_place(xs[0], ufunc) if alone else self.__refused__()
        found = _by_operator(name, *xs)
        return self.__refused__() if found is NotImplemented else found

    def _added_in_place(self, x: Any, ufunc: Any) -> Any:
        """Add to an array, or subtract from it, in place."""
        return self.__refused__()

    def __refused__(self, *_: Any, **__: Any) -> NoReturn:
        """Raise where a tangent is used as an array, and say what to write instead."""
        raise TypeError(
            f"{describe(self)} is not an array; write t.w or t['w'] for its entry w, + and * for "
            f"sums and multiples, unthunk(t) for a thunk, and is_zero(t) before"
        )

    __array__ = __refused__  # NumPy would otherwise wrap it in an array of objects

    def __add__(self, other: Any) -> Any:
        structured = is_structure_type(type(other))
        return Algebra.move(other, self) if structured else Algebra.add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return Algebra.add(self, Algebra.scale(other, -1))

    def __rsub__(self, other: Any) -> Any:
        if is_structure_type(type(other)):
            return Algebra.move(other, Algebra.scale(self, -1))
        return Algebra.add(other, Algebra.scale(self, -1))

    def __neg__(self) -> Any:
        return Algebra.scale(self, -1)

    def __mul__(self, other: Any) -> Any:
        return Algebra.scale(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return Algebra.divide(self, other)

    def __rtruediv__(self, other: Any) -> NoReturn:
        raise TypeError(
            f"cannot divide {describe(other)} by {describe(self)}: a tangent is linear, so it is"
            " never a divisor; unthunk it if you mean the number behind a thunk"
        )


def in_operation(operation: Any, classes: tuple[type, ...]) -> Callable[..., Any] | None:
    """Return the operator that computes an operation of zero tangents, which have no shape.

    None for user-defined functions, which may take zeros directly.

    Raises
    ------
    NoRuleError
        If there is no such operator; the message says what to write instead.
    """
    if not operation.__module__.startswith("chainrules_"):
        return None
    found = _BY_OPERATIONS.get(operation.__name__)
    if found is None:
        raise NoRuleError(
            f"nothing computes {operation.__name__} of a zero tangent, which has no shape; ask "
            f"is_zero first, or write operators (t + x), which take it"
        )
    return found


def _by_operator(name: str, x: Any, y: Any) -> Any:
    """Compute by the operator of the tangent operand, without trying the other operand's."""
    straight, reflected = _OPERATORS[name]
    return getattr(x, straight)(y) if isinstance(x, AbstractTangent) else getattr(y, reflected)(x)


_OPERATORS = {
    "add": ("__add__", "__radd__"),
    "subtract": ("__sub__", "__rsub__"),
    "multiply": ("__mul__", "__rmul__"),
    "divide": ("__truediv__", "__rtruediv__"),
}


_BY_OPERATIONS: Final[dict[str, Callable[..., Any]]] = {
    **{name: functools.partial(_by_operator, name) for name in _OPERATORS},
    "strong_multiply": functools.partial(_by_operator, "multiply"),
    "negative": operator.neg,
}


class Summand(AbstractTangent):
    """Base of tangents of one array that define their own addition: `Rows`."""

    __slots__ = ()
    dense: Any
    added_to: Any
    plus: Any
    times: Any


class AbstractZero(AbstractTangent):
    """Base of the two zero tangents, `ZeroTangent` and `NoTangent`."""

    __slots__ = ()
    __in_operation__: ClassVar[Callable[..., Any]] = staticmethod(in_operation)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __reduce__(self) -> tuple[type[Self], tuple[()]]:
        return type(self), ()

    def _added_in_place(self, x: Any, ufunc: Any) -> Any:
        return x


@final
class ZeroTangent(AbstractZero):
    """The zero tangent: no derivative flows here.

    There is one instance, so that ``t is ZeroTangent()`` holds even after copying and pickling.

    Examples
    --------
    >>> ZeroTangent() + 2.0, 3 * ZeroTangent(), ZeroTangent() is ZeroTangent()
    (2.0, ZeroTangent(), True)
    """

    __slots__ = ()

    def __new__(cls) -> ZeroTangent:
        """Return the one instance."""
        return ZERO


@final
class NoTangent(AbstractZero):
    """The tangent of a value that cannot be perturbed: an index, a mask, a string, a flag.

    There is one instance. It adds nothing, as `ZeroTangent` does, and records that no derivative
    can flow.

    Examples
    --------
    >>> NoTangent() + ZeroTangent(), NoTangent() * ZeroTangent()
    (NoTangent(), ZeroTangent())
    """

    __slots__ = ()

    def __new__(cls) -> NoTangent:
        """Return the one instance."""
        return NONE


ZERO: Final[ZeroTangent] = object.__new__(ZeroTangent)
NONE: Final[NoTangent] = object.__new__(NoTangent)
ZEROS: Final = frozenset((ZeroTangent, NoTangent))
"""The classes of the zeros, for checks at every call: `is_zero` would add a Python frame."""


class NotImplementedTangent(AbstractTangent):
    """A tangent that a rule does not implement: it propagates, and raises when a user would get it.

    A rule can therefore leave out a derivative, which is an error only for a program that needs it.

    Parameters
    ----------
    reason : str
        A sentence for the error: which derivative is missing, and what to do instead.

    Examples
    --------
    >>> from chainrules_py.tangents.user_tangent_checks import deliver
    >>> t = NotImplementedTangent("besselj has no derivative in its order")
    >>> 1.0 + 2 * t
    NotImplementedTangent('besselj has no derivative in its order')
    >>> deliver(t)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    chainrules_py.errors.NotDifferentiableError: a rule does not implement the derivative ...
    """

    __slots__ = ("reason", "where")
    dtype: Final = None  # equals no array's dtype, in the check whether a tangent fits
    shape: Final = ()
    __iter__: Final = None
    fact: ClassVar[str] = "a rule does not implement the derivative that is taken here: "

    def __init__(self, reason: str) -> None:
        self.reason: Final = reason
        of = caller()
        self.where: Final = of.f_code.co_filename, of.f_lineno

    @property
    def said(self) -> str:
        """The text of the error, with the line of the rule."""
        place = (
            f"\n  {':'.join(map(str, self.where))}: {linecache.getline(*self.where).strip()}"
            f"\n  write it in place of {type(self).__name__}(...)"
        )
        return f"{self.fact}{self.reason}{place * bool(self.fact)}"

    def __getitem__(self, key: Any) -> NotImplementedTangent:
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.reason!r})"

    def __reduce__(self) -> tuple[type[NotImplementedTangent], tuple[str]]:
        return type(self), (self.reason,)


@final
class UndefinedTangent(NotImplementedTangent):
    """A mathematically undefined tangent: it propagates, and raises when a user would get it.

    It is not zero: a rule returns it for an operand in which the function has no derivative at all,
    such as a number of degrees of freedom that a distribution rounds.

    Parameters
    ----------
    reason : str
        A sentence for the error: why there is no derivative.

    Examples
    --------
    >>> t = UndefinedTangent("the order of a polynomial is a whole number")
    >>> 2.0 + t, isinstance(t, NotImplementedTangent)
    (UndefinedTangent('the order of a polynomial is a whole number'), True)
    """

    __slots__ = ()
    fact: ClassVar[str] = ""


def missing(ts: Iterable[Any]) -> NotImplementedTangent | None:
    """Return the first of some tangents that is not implemented, or None."""
    return next((t for t in ts if isinstance(t, NotImplementedTangent)), None)


def is_zero(t: object) -> bool:
    """Return whether a tangent is one of the two zeros; arrays of zeros are not.

    Examples
    --------
    >>> is_zero(ZeroTangent()), is_zero(NoTangent()), is_zero(0.0)
    (True, True, False)
    """
    return type(t) in ZEROS
