"""What is ours beside what is SciPy's: the value is SciPy's, or there is none.

SciPy's function, or object, of the plain values says what options and arguments mean, and raises
where it does. A result whose value is not SciPy's is refused, so that no derivative is that of
something else.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_py import NotDifferentiableError, UnsupportedKeywordError, primitive
from chainrules_py import vocabulary as v
from chainrules_py.extend import Tracer, flatten, inside, type_info, untraced, varies
from chainrules_scipy import precision
from chainrules_scipy.other_engines import in_our_words
from chainrules_scipy.precision import is_asked_again
from chainrules_scipy.recorded import as_recorded
from chainrules_scipy.results import unstated
from chainrules_scipy.rows import array_of, in_kind_of, readable, reject


class Beside:
    """What stands for an object of SciPy's, which is beside it.

    Attributes
    ----------
    theirs
        SciPy's object of the plain values; None of what is a step of something else alone.
    """

    theirs: Any = None
    _holds_traced = True

    def __init_subclass__(cls) -> None:
        # Python up to 3.12 forgets one that is inherited: see `chainrules_compile.fields`.
        cls.__getattr__ = cls.__getattr__  # type: ignore[method-assign]

    def __getattr__(self, name: str) -> Any:
        """Look at SciPy's object for what ours has not: numbers of it have no derivative."""
        found = getattr(self.theirs, name) if name[0] != "_" else None
        if name[0] == "_":
            raise AttributeError(name)
        what = f"{type(self.theirs).__name__}(...).{name}"
        if callable(found):
            reject(f"{what}() has no derivative here; make the object anew, of what it is made of")
        return unstated(what, found, self._traced())

    def __aside__(self, payload: Callable[[Any], Any]) -> Any:
        """Return SciPy's object in aux, which has no derivative, if nothing is traced outside."""
        held = [varies(payload(y)) for y in self._traced()]
        return self.theirs if held and not any(held) and self.theirs is not None else self

    def _traced(self) -> list[Any]:
        return [y for y in inside(self, ours=True) if isinstance(y, Tracer)]


def plainly(x: Any) -> Any:
    """Return an argument with the plain numbers of what is traced, and SciPy's objects of ours."""
    return precision.plainly(x, lambda y: y.theirs if isinstance(y, Beside) else readable(y))


def of_both(
    function: Callable[..., Any],
    theirs: Callable[..., Any],
    args: tuple[Any, ...],
    options: dict[str, Any],
    tolerance: float = 1e-6,
) -> Any:
    """Compute what ours gives, of SciPy's value."""
    known = theirs(*map(plainly, args), **{k: plainly(x) for k, x in options.items()})
    with in_our_words((function, args, options)):
        return alike(function(*args, **options), known, theirs, tolerance)


def agreeing(theirs: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """Have a function look at SciPy's; of arrays on a device it does not, which would be copied.

    A program that is being written down calls SciPy's function, and asks at each call.
    """

    @functools.wraps(function)
    def both(*args: Any, **options: Any) -> Any:
        if isinstance(options.get("output"), Tracer):  # SciPy would write into its numbers
            refuse_output(theirs.__name__, options["output"])
        leaves = [*map(untraced, flatten((args, options))[0])]
        if any(map(is_asked_again, leaves)):
            known = _called_again(theirs, args, options)
            return alike(function(*args, **options), known, theirs, 1e-6)
        if any(type_info(type(x)).host is not None for x in leaves):
            return function(*args, **options)
        return of_both(function, theirs, args, options)

    return both


def _called_again(theirs: Callable[..., Any], args: Any, options: dict[str, Any]) -> Any:
    """Call SciPy's function of values that are asked again, without a derivative."""
    plain = [precision.plainly(x, precision.asked) for x in args]
    named = {k: precision.plainly(x, precision.asked) for k, x in options.items()}
    run = as_recorded(theirs, tuple(plain), named)
    return (theirs if run is None else run)(*plain, **named)


OTHER, SAME, NEAR = range(3)


@primitive
def agreement(value: Any, known: Any, *, tolerance: float) -> Any:
    """Tell whether values are those that are known: others, the same to the last digits, or near.

    The same are NaN and infinities among them.
    """
    with np.errstate(all="ignore"):
        gap, size = np.max(np.abs(known - value), initial=0.0), np.max(np.abs(known), initial=0.0)
    if gap <= 1e-13 * size:  # where all are numbers; else it is NaN
        return np.intp(SAME)
    size = np.max(np.abs(known), initial=0.0, where=np.isfinite(known))
    if not np.allclose(
        value, known, rtol=tolerance, atol=0.1 * tolerance * size + 1e-12, equal_nan=True
    ):
        return np.intp(OTHER)
    return np.intp(
        NEAR if np.max(np.abs(gap_between(value, known)), initial=0.0) > 1e-13 * size else SAME
    )


@primitive
def gap_between(value: Any, known: Any) -> Any:
    """Return what known values have more, where they are finite."""
    dtype = np.asarray(value).dtype
    gap = np.zeros(np.shape(known), dtype)
    return np.subtract(known, value, out=gap, where=np.isfinite(known)).astype(dtype)


for _question in (agreement, gap_between):
    _question.opaque = True  # a program calls it as it is


def alike(found: Any, known: Any, theirs: Any, tolerance: float) -> Any:
    """Return what was found, in the shape of SciPy's and of its values, if that is what they are.

    Raises
    ------
    NotDifferentiableError
        If it has others.
    """
    if isinstance(found, Beside):
        found.theirs = known
        return found
    if isinstance(known, (list, tuple)):
        return type(known)(
            alike(f, k, theirs, tolerance) for f, k in zip(found, known, strict=True)
        )
    if not (is_asked_again(known) or isinstance(known, (np.ndarray, np.number, float))):
        return found
    if isinstance(known, np.ndarray) and known.dtype.kind == "b":
        return known  # truths have no derivative
    value = precision.asked(found)
    if np.shape(value) != np.shape(known) and np.size(value) == np.size(known):
        found = v.reshape(array_of(found), shape=np.shape(known))
        value = precision.asked(found)
    same = np.shape(value) == np.shape(known)
    how = int(agreement(value, known, tolerance=tolerance)) if same else OTHER
    if how != OTHER:
        found = precision.of_precision(found, np.result_type(known))
        if how == NEAR:
            gap = gap_between(value, known)
            found = found + gap.astype(np.result_type(precision.asked(found)))
        return in_kind_of(found, known)
    name = getattr(theirs, "__qualname__", type(theirs).__name__)
    both = "" if is_asked_again(value) else f" ({value} for {known})"
    msg = f"{name} has another value here than SciPy's{both}: so it has no "
    raise NotDifferentiableError(msg + "derivative that could be trusted; use another option")


def refuse_output(name: str, output: Any) -> None:
    """Refuse an array in which plain numbers would be written."""
    if isinstance(output, (np.ndarray, Tracer)):
        reject(
            f"{name}(output=...) is not for traced values; take what it returns",
            UnsupportedKeywordError,
        )
