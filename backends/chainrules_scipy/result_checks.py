"""Comparison of results with SciPy's: the value is SciPy's, or an error is raised."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, NoReturn, final

import numpy as np
from scipy.optimize import OptimizeResult

from chainrules_py import NotDifferentiableError, UnsupportedKeywordError, primitive
from chainrules_py import ops as v
from chainrules_py.extend import (
    Line,
    Tracer,
    beside,
    caller,
    flatten,
    inside,
    map_leaves,
    refuse_type,
    told,
    type_info,
    untraced,
    varies,
)
from chainrules_scipy import composites_and_operand_conversions
from chainrules_scipy.composites_and_operand_conversions import (
    array_of,
    asked,
    in_kind_of,
    of_precision,
    readable,
    reject,
    undifferentiated,
)
from chainrules_scipy.host_computation import in_our_words
from chainrules_scipy.installation import is_asked_again, joined_call

# Fields of floats that are not functions of real numbers.
_CONSTANT = {"execution_time", "active_mask"}


class _NoAttributeError(NotDifferentiableError, AttributeError):
    """Error for an attribute of a value without derivative; ``hasattr`` returns False for it."""


@final
class Unstated:
    """A value of a result that depends on differentiated values, but has no derivative.

    Any use of it except a comparison raises an error that says so.

    Attributes
    ----------
    name : str
        The field and its owner, as users write it.
    plain : object
        SciPy's value, without a derivative, for users who take it to be constant.
    of : object
        The differentiated values that it depends on, as far as they are known.
    """

    __slots__ = ("name", "of", "plain")

    def __init__(self, name: str, plain: Any, of: Any = ()) -> None:
        self.name, self.plain, self.of = name, plain, of

    def __outside__(self, payload: Callable[[Any], Any]) -> Any:
        """Return the value outside of a level: SciPy's value, if that was the last level."""
        of = map_leaves(payload, self.of)
        return Unstated(self.name, self.plain, of) if varies(of) or not self.of else self.plain

    def _refuse(self, *_: Any, error: type = NotDifferentiableError, **__: Any) -> NoReturn:
        raise error(
            f"{self.name} depends on what is being differentiated, and its derivative is not "
            "stated: compute it from the solution, or take it to be constant by writing "
            f"{self.name}.plain"
        )

    def __getattr__(self, name: str) -> Any:
        if name[:2] == "__" or not hasattr(self.plain, name):  # as ``hasattr`` expects
            raise AttributeError(name)
        self._refuse(error=_NoAttributeError)

    def __repr__(self) -> str:
        return f"<{self.name}, without a derivative: {self.plain!r}>"


_USES = (
    *("array", "array_ufunc", "array_function", "float", "int", "complex", "index", "bool", "len"),
    *("iter", "getitem", "contains", "call", "neg", "pos", "abs", "round"),
    *(
        side + name
        for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
        for side in ("", "r")
    ),
)
for _name in _USES:
    setattr(Unstated, f"__{_name}__", Unstated._refuse)
for _compare in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
    setattr(
        Unstated,
        f"__{_compare.__name__}__",
        lambda x, y, _compare=_compare: _compare(x.plain, plain(y)),
    )
Unstated.__hash__ = object.__hash__  # type: ignore[method-assign]


refuse_type(
    "chainrules_scipy.result_checks.Unstated",
    "compute it from the solution, or take its .plain to be constant",
)


def plain(x: Any) -> Any:
    """Return SciPy's value of an `Unstated`; other values unchanged."""
    return x.plain if type(x) is Unstated else x


def answer(name: str, found: Any, /, **stated: Any) -> Any:
    """Return a SciPy result in which some fields have derivatives, and no other is a number.

    Parameters
    ----------
    name : str
        The result as users write it, for errors.
    found : OptimizeResult, dict or tuple
        SciPy's result.
    **stated
        Fields with their derivatives; those of a tuple are ``_0`` and so on. If none is traced,
        the result is SciPy's with these fields.

    Returns
    -------
    OptimizeResult or tuple
        With `Unstated` values in place of other real numbers.

    Examples
    --------
    >>> from chainrules_tape import grad
    >>> print(grad(lambda a: answer("found", {"x": 2.0, "nit": 3}, x=a * a).x)(3.0))
    6.0
    """
    of = [x for x in stated.values() if varies(x)]
    # For other engines, NumPy computes plain values before it differentiates.
    lacks = of or beside() is np
    plain: Any = (lambda at, x: unstated(f"{name}{at}", x, of)) if lacks else (lambda _, x: x)
    return (
        tuple([stated.get(f"_{i}", plain(f"[{i}]", x)) for i, x in enumerate(found)])
        if isinstance(found, tuple)
        else OptimizeResult({k: plain(f".{k}", x) for k, x in found.items()} | stated)
    )


def unstated(name: str, x: Any, of: Any = ()) -> Any:
    """Replace by `Unstated` every part of a SciPy result that may depend on the numbers ``of``.

    Examples
    --------
    >>> unstated("found", (3, 0.5, "well"))
    (3, <found[1], without a derivative: 0.5>, 'well')
    """
    if x is None or isinstance(x, (bool, int, str)) or name.rpartition(".")[2] in _CONSTANT:
        return x
    if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "biuSU":
        return x
    if isinstance(x, dict):
        return type(x)({k: unstated(f"{name}.{k}", item, of) for k, item in x.items()})
    if type(x) in (list, tuple):
        items: Any = x
        return type(x)([unstated(f"{name}[{i}]", item, of) for i, item in enumerate(items)])
    return Unstated(name, x, of)


class Beside:
    """Base of the classes that replace a SciPy object, and hold that object too.

    Attributes
    ----------
    theirs
        SciPy's object for the plain values; None for an object that is only a step of another.
    """

    theirs: Any = None
    _holds_traced = True
    __class__: Any = property(lambda self: type(self if self.theirs is None else self.theirs))

    def __init_subclass__(cls) -> None:
        # Python up to 3.12 loses one that is inherited, as is said in
        # `chainrules_compile.recorded_type_members`.
        cls.__getattr__ = cls.__getattr__  # type: ignore[method-assign]

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of SciPy's object that ours lacks; its numbers have no derivative."""
        if name[0] == "_":
            raise AttributeError(name)
        found = getattr(self.theirs, name)
        what = f"{type(self.theirs).__name__}(...).{name}"
        if callable(found):
            instead = {
                "roots": "write brentq(f, a, b) for a root of f between a and b",
                "solve": "write brentq(lambda x: f(x) - y, a, b) for a solution between a and b",
            }.get(name, "make the object anew, of what it is made of")
            reject(f"{what}() has no derivative here; {instead}")
        return unstated(what, found, self._traced())

    def __aside__(self, payload: Callable[[Any], Any]) -> Any:
        """Return the object for aux: SciPy's, which has no derivative, if nothing is traced."""
        held = [varies(payload(y)) for y in self._traced()]
        return self.theirs if held and not any(held) and self.theirs is not None else self

    def _traced(self) -> list[Any]:
        return [y for y in inside(self) if isinstance(y, Tracer)]


def plainly(x: Any) -> Any:
    """Return an argument with plain numbers for traced ones, and SciPy's objects for ours."""
    return composites_and_operand_conversions.plainly(
        x, lambda y: y.theirs if isinstance(y, Beside) else readable(y)
    )


def of_both(
    function: Callable[..., Any],
    theirs: Callable[..., Any],
    args: tuple[Any, ...],
    options: dict[str, Any],
    tolerance: float = 1e-6,
) -> Any:
    """Return our result with SciPy's value."""
    args, options = joined_call(args, options)
    known = theirs(*map(plainly, args), **{k: plainly(x) for k, x in options.items()})
    with in_our_words((function, args, options)):
        return alike(function(*args, **options), known, theirs, tolerance)


def agreeing(theirs: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function compare with SciPy's, except for arrays on a device: it would copy them.

    A program that is being recorded calls SciPy's function, and compares at each call.
    """

    @functools.wraps(function)
    def both(*args: Any, **options: Any) -> Any:
        if isinstance(options.get("output"), Tracer):  # SciPy would write into its numbers
            refuse_output(theirs.__name__, options["output"])
        leaves = [*map(untraced, flatten((args, options))[0])]
        if any(map(is_asked_again, leaves)):
            known = undifferentiated(theirs, *args, **options)
            return alike(function(*args, **options), known, theirs, 1e-6)
        hosted = any(type_info(type(x)).host is not None for x in leaves)
        return function(*args, **options) if hosted else of_both(function, theirs, args, options)

    return both


@primitive
def agreement(value: Any, known: Any, *, tolerance: float) -> Any:
    """Return whether values equal known ones, including infinities and NaN."""
    size = np.max(np.abs(known), initial=0.0, where=np.isfinite(known))
    return np.bool_(
        np.allclose(value, known, tolerance, 0.1 * tolerance * size + 1e-12, equal_nan=True)
    )


@primitive
def gap_between(value: Any, known: Any) -> Any:
    """Return known values minus values, where the known ones are finite."""
    dtype = np.asarray(value).dtype
    gap = np.zeros(np.shape(known), dtype)
    return np.subtract(known, value, out=gap, where=np.isfinite(known)).astype(dtype)


for _question in (agreement, gap_between):
    _question.opaque = True  # a program calls it as a whole


def alike(found: Any, known: Any, theirs: Any, tolerance: float) -> Any:
    """Return our result with SciPy's shape and values, if they agree.

    Raises
    ------
    NotDifferentiableError
        If the values differ.
    """
    if isinstance(found, Beside):
        found.theirs = known
        return found
    if isinstance(known, np.ndarray) and known.dtype.kind == "b":
        return known  # booleans have no derivative
    value = asked(found)
    if np.shape(value) != np.shape(known) and np.size(value) == np.size(known):
        found = v.reshape(array_of(found), shape=np.shape(known))
        value = asked(found)
    if np.shape(value) != np.shape(known) or not agreement(value, known, tolerance=tolerance):
        name = getattr(theirs, "__qualname__", type(theirs).__name__)
        both = "" if is_asked_again(value) else f" ({value} for {known})"
        reject(
            f"{name} has another value here than SciPy's{both}: so it has no derivative that could "
            "be trusted; use another option"
        )
    found = of_precision(found, np.result_type(known))
    gap = gap_between(value, known).astype(np.result_type(asked(found)))
    return in_kind_of(found + gap, known)


def refuse_output(name: str, output: Any) -> None:
    """Raise for an output array, into which plain numbers would be written."""
    if isinstance(output, (np.ndarray, Tracer)):
        reject(
            told(
                f"{name}(output=...) is not for traced values",
                Line(caller()),
                "take what it returns; in place of taylor, nest jvp",
            ),
            UnsupportedKeywordError,
        )
