"""Operands of every kind beside what is differentiated: what NumPy gives, or an error of ours.

A program is one call with an array or number and one other operand, on either side. What plain
NumPy gives is the value, its differences are the derivative, in every mode.
"""

import array
import collections
import ctypes
import datetime as dt
import decimal
import enum
import fractions
import itertools
import logging
import operator
import random
import types
import warnings
from typing import NamedTuple

import numpy as np
import pytest

from chainrules_py import ChainRulesError, TracerError, ignore_derivatives
from chainrules_tape import grad, jacobian, jvp, linearize, value_and_grad


class Member(enum.IntEnum):
    TWO = 2


class Flag(enum.IntFlag):
    TWO = 2


class Name(enum.Enum):
    TWO = 2


class Derived(float):
    """A number of a class of its own."""


class Turned(float):
    """A number that computes otherwise, where Python asks it."""

    def __mul__(self, other):
        return other * 7.0

    __rmul__ = __rsub__ = __mul__
    __rpow__ = __mul__  # pyright: ignore[reportAssignmentType]


class Rotation(complex):
    """A complex number of a class of its own."""


class Listed(list):
    """A list of a class of its own."""


class Point(NamedTuple):
    a: float
    b: float
    c: float
    d: float


class Read:
    """What NumPy reads as an array."""

    def __array__(self, dtype=None, copy=None):
        return np.arange(1.0, 5.0)


class ReadFirst(Read):
    """The same, with an operator that NumPy does not ask for."""

    def __rmul__(self, other):
        return other * 10.0

    __radd__ = __rsub__ = __rmul__


class Sequence:
    """What has a length, and entries."""

    def __len__(self):
        return 4

    def __getitem__(self, i):
        if i >= 4:
            raise IndexError
        return i + 1.0


class Whole:
    """Operators that see an element in NumPy, and would see the whole array in Python."""

    def __rsub__(self, other):
        return other - np.mean(other)

    def __rmul__(self, other):
        return other * np.size(other)

    def __rtruediv__(self, other):
        return other / np.max(other)

    def __mul__(self, other):
        return NotImplemented


class Quiet(Whole):
    """The same operators, which NumPy leaves to it."""

    __array_ufunc__ = None


class Heavy(Whole):
    """The same, in the older way."""

    __array_priority__ = 10.0


class Bigger:
    """What compares by itself, element by element."""

    def __eq__(self, other):
        return bool(other > 1)

    __lt__ = __ge__ = __eq__
    __hash__ = None  # pyright: ignore[reportAssignmentType]


class Unit(np.lib.mixins.NDArrayOperatorsMixin):
    """What computes NumPy's functions itself."""

    def __init__(self, value):
        self.value = value

    def __array_ufunc__(self, ufunc, method, *operands, **keywords):
        plain = [x.value if isinstance(x, Unit) else x for x in operands]
        return getattr(ufunc, method)(*plain, **keywords)


FOUR = (1.0, 2.0, 3.0, 4.0)
OTHERS = {
    "None": None, "text": "a", "bytes": b"a", "dict": {1: 2}, "set": {1}, "a class": int,
    "a function": len, "Ellipsis": ..., "Decimal": decimal.Decimal("0.5"),
    "Fraction": fractions.Fraction(1, 2), "object": object(), "slice": slice(1),
    "a namespace": types.SimpleNamespace(a=1), "timedelta": dt.timedelta(1),
    "a member of Enum": Name.TWO, "IntEnum": Member.TWO, "IntFlag": Flag.TWO,
    "a float's class": Derived(1.5), "a float that turns": Turned(1.5),
    "a complex's class": Rotation(1.5j), "bigger": Bigger(), "whole": Whole(), "quiet": Quiet(),
    "heavy": Heavy(), "unit": Unit(np.arange(1.0, 5.0)), "range": range(1, 5),
    "namedtuple": Point(*FOUR), "a list's class": Listed(FOUR), "deque": collections.deque(FOUR),
    "array.array": array.array("d", FOUR), "bytearray": bytearray(b"abcd"),
    "memoryview": memoryview(np.arange(4.0).data), "UserList": collections.UserList(FOUR),
    "read": Read(), "read first": ReadFirst(), "sequence": Sequence(),
    "ctypes": (ctypes.c_double * 4)(*FOUR), "poly1d": np.poly1d(FOUR), "list": [*FOUR],
    "tuple": FOUR, "texts": ["a", "b", "c", "d"], "empty": range(0), "float": 0.5, "True": True,
    "float64": np.float64(0.5), "array": np.arange(1.0, 5.0),
}  # fmt: skip
X = np.array([0.5, 0.2, 1.7, 1.1])
POINTS = {"array": X, "Python's": 0.5, "NumPy's": np.float64(0.5), "no axes": np.array(0.5)}
_OPERATORS = "add sub mul truediv floordiv mod pow matmul eq ne lt le gt ge and_"
_FUNCTIONS = (
    "multiply maximum hypot arctan2 power dot inner append isclose equal less greater "
    "array_equal array_equiv isin"
)
CALLS = {name: getattr(operator, name) for name in _OPERATORS.split()} | {
    name: getattr(np, name) for name in _FUNCTIONS.split()
}
CALLS |= {
    "divmod": lambda x, y: divmod(x, y)[1],
    "where": lambda x, y: np.where(X > 1, x, y),
    "clip": lambda x, y: np.clip(x, 0.3, max=y),
    "initial": lambda x, y: np.sum(x, initial=y),
    "linspace": lambda x, y: np.linspace(x, y, 3),
    "equal lists": lambda x, y: np.sum(x) * (1 + np.array_equal([x], [y])),
    "put": lambda x, y: _written(x, 0, y),
    "put all": lambda x, y: _written(x, ..., y),
    "read at": lambda x, y: x[y],
    "put at": lambda x, y: _written(x, y, 2.0),
    "add in place": lambda x, y: operator.iadd(x * 1.0, y),
}
MODES = ("grad", "jvp", "linearize", "grad of jvp")


def _written(x, where, value):
    buffer = x * 1.0
    buffer[where] = value
    return buffer


def sample(n=None):
    """List some programs, always the same, or all."""
    every = list(itertools.product(OTHERS, CALLS, POINTS, (False, True), MODES))
    return every if n is None else random.Random(0).sample(every, n)


def _loss(y):
    """A number that depends on all of a result; NotImplemented for what holds no real numbers."""
    y = y.value if isinstance(y, Unit) else y
    dtype = getattr(y, "dtype", None)
    if dtype is None and not isinstance(y, (int, float, complex)):
        return NotImplemented
    if dtype is not None and dtype.kind not in "biufc":
        return NotImplemented
    waves = np.sin(1.0 * y)
    weights = np.cos(np.arange(1.0, 1.0 + np.size(y))).reshape(np.shape(y))
    return np.sum(np.real(waves) * weights) + np.sum(np.imag(waves))


def verdict(other, call, point, swapped, mode):
    """Say what is wrong with a program; an empty text for what is right, or refused."""
    y, x = OTHERS[other], POINTS[point]
    call = CALLS[call]
    f = (lambda x: _loss(call(y, x))) if swapped else (lambda x: _loss(call(x, y)))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            behind, want, ahead = f(_moved(x, -H)), f(x), f(_moved(x, H))
        except Exception:
            return ""  # what NumPy refuses
        if NotImplemented in (behind, want, ahead):
            return ""
        want_dot = (ahead - behind) / (2 * H)
        try:
            found, found_dot = _both(f, x, mode)
        except Exception as error:
            ours = isinstance(error, ChainRulesError) or str(error).startswith("Fraction")
            return "" if ours else f"{type(error).__name__}: {error}"
    if not np.allclose(found, want, equal_nan=True):
        return f"{found}, where NumPy gives {want}"
    smooth = abs(ahead - want - (want - behind)) < 1e-3 * H
    if smooth and not np.allclose(found_dot, want_dot, rtol=1e-4, atol=1e-4, equal_nan=True):
        return f"the derivative is {found_dot}, that of differences {want_dot}"
    return ""


H = 1e-5


def _moved(x, step):
    return np.asarray(x + step) if isinstance(x, np.ndarray) else x + step


def _both(f, x, mode):
    """Return the value and the derivative along ones."""
    ones = np.ones_like(x) if isinstance(x, np.ndarray) else 1.0
    if mode == "grad":
        value, slope = value_and_grad(f)(x)
        return value, np.sum(slope)
    if mode == "jvp":
        return jvp(f, (x,), (ones,))
    if mode == "linearize":
        value, push = linearize(f, x)
        return value, push(ones)
    seen = []

    def along(x):
        value, slope = jvp(f, (x,), (ones,))
        seen.append((getattr(value, "value", value), getattr(slope, "value", slope)))
        return slope + 0.0 * np.sum(x)

    value_and_grad(along)(x)
    return seen[-1]


def judge(programs):
    """Raise on programs whose value or derivative is another than NumPy's, in silence."""
    wrong = [f"{program}: {said}" for program in programs if (said := verdict(*program))]
    assert not wrong, f"{len(wrong)}\n" + "\n".join(wrong[:40])


def test_some_operands():
    judge(sample(700))


@pytest.mark.slow
def test_all_operands():
    judge(sample())


# ------------------------------------------------------------------ what is NaN, and left out

AT, ALONG = np.array([0.9, 0.2, 1.7, 1.1]), np.array([0.3, -0.2, 0.5, 0.7])
FOUR = (1.0, 2.0, 3.0, 4.0)
IGNORING = {
    "nanmax": np.nanmax,
    "nanmin": np.nanmin,
    "nanmedian": np.nanmedian,
    "nanquantile": lambda v: np.nanquantile(v, [0.3, 0.6]),
    "many of nanquantile": lambda v: np.nanquantile(v, np.linspace(0.1, 0.9, 12)),
    "inverted_cdf": lambda v: np.nanquantile(v, 0.5, method="inverted_cdf"),
    "weights": lambda v: np.nanquantile(v, 0.5, weights=FOUR, method="inverted_cdf"),
    "fmax": lambda v: np.fmax(v, 0.5),
    "fmin": lambda v: np.fmin(0.5, v),
    "fmax of both": lambda v: np.fmax(v, v[::-1]),
    "fmax.reduce": np.fmax.reduce,
    "fmin.reduce": np.fmin.reduce,
    "nansum": np.nansum,
    "nanmean": np.nanmean,
    "nanstd": np.nanstd,
    "nanprod": np.nanprod,
    "nancumsum": np.nancumsum,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", IGNORING)
def test_an_entry_that_is_left_out_gives_nothing_in_any_mode(name):
    loss = lambda x: np.sum(np.cos(IGNORING[name](np.where(x > 1.5, np.nan, x) ** 2)))
    slope = lambda x: np.sum(grad(loss)(x) * ALONG)
    along = lambda x: jvp(loss, (x,), (ALONG,))[1]
    h = 1e-5
    want = (loss(AT + h * ALONG) - loss(AT - h * ALONG)) / (2 * h)
    found = [slope(AT), along(AT), linearize(loss, AT)[1](ALONG)]
    found.append(jacobian(loss, mode="forward")(AT) @ ALONG)
    np.testing.assert_allclose(found, want, rtol=1e-6, atol=1e-8)
    want = (slope(AT + h * ALONG) - slope(AT - h * ALONG)) / (2 * h)
    found = [grad(slope)(AT) @ ALONG, grad(along)(AT) @ ALONG]
    found += [jvp(slope, (AT,), (ALONG,))[1], jvp(along, (AT,), (ALONG,))[1]]
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-6)


# ------------------------------------------------------------------------- texts for a log


def test_a_log_shows_values_that_are_being_differentiated(logged):
    def loss(x):
        logging.getLogger("training").warning("%s: %.2f", x[0], ignore_derivatives(x)[1])
        return np.sum(x**2)

    assert list(grad(loss)(np.array([1.5, 2.0]))) == [3.0, 4.0]
    assert list(jvp(loss, (np.array([1.5, 2.0]),), (np.ones(2),))) == [6.25, 7.0]
    assert logged == ["Variable(1.5): 2.00", "Dual(1.5): 2.00"]


@pytest.mark.parametrize("text", ["%.3f", "%d", "%5.1e", "%x"])
def test_a_text_by_percent_is_refused_with_the_line_to_write(text):
    with pytest.raises(TracerError, match=r"ignore_derivatives\("):
        grad(lambda x: (text % x, x)[1])(1.5)
