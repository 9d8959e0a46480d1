"""Calls whose axes, shapes, places, counts and masks are written in another form.

NumPy takes a place as a number of Python's, as one of its own, as an array without axes; places as
a list, a tuple, a range, an array of any width. Where it gives the same value for two forms, the
derivative is the same, and what was given is as it was.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any, final

import numpy as np

from chainrules_py import ChainRulesError
from chainrules_tape import jvp, vjp
from tests.fuzz.widths import entered
from tests.surface.point import Point, leaves


@final
class Indexed:
    """A number that only tells which place it is."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __index__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        return f"Indexed({self.n})"


def _range(x: Any) -> Any:
    items = [int(i) for i in x]
    step = items[1] - items[0] if len(items) > 1 else 1
    found = range(items[0], items[0] + step * len(items), step or 1)
    if list(found) != items:
        raise ValueError
    return found


def _narrow(dtype: str) -> Callable[[Any], Any]:
    def convert(x: Any) -> Any:
        found = np.asarray(x).astype(dtype)
        if not np.array_equal(found, np.asarray(x)):
            raise ValueError
        return found

    return convert


def _single(dtype: str) -> Callable[[Any], Any]:
    return lambda x: _narrow(dtype)(int(x))[()]


def _spread(x: Any) -> Any:
    wide = np.repeat(np.asarray(x), 2)
    wide.flags.writeable = False
    return wide[::2].reshape(np.shape(x))


FORMS: dict[str, Callable[[Any], Any]] = {
    "a number of NumPy's": _single("int64"),
    "a narrow number of NumPy's": _single("int8"),
    "an unsigned number of NumPy's": _single("uint8"),
    "True": lambda x: bool(_single("bool")(x)),
    "True of NumPy's": _single("bool"),
    "a float": lambda x: float(int(x)),
    "an object with __index__": lambda x: Indexed(int(x)),
    "an array without axes": lambda x: np.array(int(x)),
    "a list": lambda x: np.asarray(x).tolist() if np.ndim(x) else [int(x)],
    "a tuple": lambda x: tuple(np.asarray(x).tolist() if np.ndim(x) else [int(x)]),
    "a tuple of NumPy's numbers": lambda x: tuple(np.asarray(x).reshape(-1)),
    "a tuple of arrays without axes": lambda x: tuple([np.array(int(i)) for i in x]),
    "a tuple of objects": lambda x: tuple([Indexed(int(i)) for i in x]),
    "a range": _range,
    "an array": lambda x: np.array(x),
    "a narrow array": _narrow("int8"),
    "an unsigned array": _narrow("uint8"),
    "a wide unsigned array": _narrow("uint64"),
    "booleans": _narrow("bool"),
    "a list of booleans": lambda x: _narrow("bool")(x).tolist(),
    "real numbers": _narrow("float64"),
    "objects": _narrow("object"),
    "every other place of what is not written to": _spread,
}
PLACES = range(6)


def _is_whole(x: Any) -> bool:
    """Tell whether an argument is made of whole numbers or truths."""
    if isinstance(x, (bool, int, np.integer, np.bool_)):
        return True
    if isinstance(x, (list, tuple)):
        return bool(x) and all([isinstance(i, (int, np.integer)) for i in x])
    return type(x) is np.ndarray and x.dtype.kind in "bui"


class _Changed:
    """A function of which one argument of whole numbers is given in another form."""

    def __init__(self, f: Any, place: int, form: Callable[[Any], Any]) -> None:
        self.f, self.place, self.form = f, place, form
        self.given: list[tuple[Any, Any]] = []

    def __call__(self, *operands: Any, **options: Any) -> Any:
        names = [*range(len(operands)), *options]
        values = [*operands, *options.values()]
        whole = [k for k, x in enumerate(values) if _is_whole(x)]
        if self.place >= len(whole):
            raise NothingThereError
        k = whole[self.place]
        try:
            changed = self.form(values[k])
        except (TypeError, ValueError, OverflowError, IndexError):
            raise NothingThereError from None
        self.given.append((changed, copy.deepcopy(changed)))
        values[k] = changed
        n = len(operands)
        named: Any = dict(zip(names[n:], values[n:], strict=True))
        return self.f(*values[:n], **named)

    def was_changed(self) -> bool:
        """Tell whether what was given is another by now."""
        return any([repr(a) != repr(b) for a, b in self.given])


class NothingThereError(Exception):
    """A call has no argument that could be given in that form."""


@functools.cache
def calls() -> tuple[Any, ...]:
    """Every call of a function of NumPy or SciPy that can be differentiated."""
    return tuple([call for call, f in entered() if f is None])


def _parts(point: Point, *xs: Any) -> list[Any]:
    return [y for y in leaves(point.gauged(*xs)) if _is_real(y)]


def _is_real(y: Any) -> bool:
    if isinstance(y, (type, str)):
        return False
    cls = getattr(type(y), "__dispatch_type__", type(y))
    return np.dtype(getattr(y, "dtype", cls)).kind in "fc"


def verdict(number: int, place: int, form: str) -> str:
    """Tell what is wrong with the derivative of a call in another form."""
    call = calls()[number]
    point = Point(call)
    changed = _Changed(point.f, place, FORMS[form])
    other = Point(call, f=changed)
    try:
        truth, value = _parts(point, *point.xs), _parts(other, *other.xs)
    except Exception:
        return ""  # NumPy does not take it
    if not truth or not _same(truth, value) or changed.was_changed():
        return ""  # to NumPy it is something else
    ts = point.directions()
    y_bars = [point.direction(y) for y in truth]
    said = []
    for name, take in (("forward", _forward), ("reverse", _reverse)):
        want = take(point, ts, y_bars)
        found: Any
        try:
            found = take(other, ts, y_bars)
        except (ChainRulesError, TypeError):
            continue  # the form is refused
        except Exception as error:
            found = error
        if not isinstance(found, list) or not _same(want, found):
            said.append(f"{name}: {found!r}, and {want!r} in the plain form")
    if changed.was_changed():
        said.append("an argument was written to")
    return f"{call}: " + "; ".join(said) if said else ""


def _forward(point: Point, ts: Any, _: Any) -> list[Any]:
    return list(jvp(lambda *xs: _parts(point, *xs), tuple(point.xs), tuple(ts))[1])


def _reverse(point: Point, _: Any, y_bars: Any) -> list[Any]:
    return list(vjp(lambda *xs: _parts(point, *xs), *point.xs)[1](y_bars))


def _same(a: list[Any], b: list[Any]) -> bool:
    return len(a) == len(b) and all(
        [np.shape(x) == np.shape(y) and np.allclose(x, y, 1e-9, 1e-12, equal_nan=True)
         for x, y in zip(a, b, strict=True)]
    )  # fmt: skip
