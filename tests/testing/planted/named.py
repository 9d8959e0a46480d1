"""Plants that are wrong at one number, or length, alone, which their code names in some way."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_py import LinearMap, Tangent, primitive, rrule, rule
from tests.testing.planted import elsewhere_named
from tests.testing.planted.build import Plant, Right, halves, pair, slope
from tests.testing.planted.draws import normal, positive

FEW = np.array([1.25, 2.25, 0.5])
ROWS = np.array([[1.0, 2.0, 0.5], [0.25, -1.0, 3.0]])
SPECIAL, FACTORS = (29.0, 37.0), {37.0: 2.0, 41.0: 3.0}
SEVERAL = np.array([19.0, 23.0, 37.0])


class Limits:
    knee = 37.0


class Knee:
    """An object that is called, and that holds the number."""

    def __init__(self, place: float) -> None:
        self.place = place

    def __call__(self, x):
        return x == self.place

    def held(self, x):
        return x == self.place


def at_knee(x):
    return x == 37.0


def deeper(x):
    return at_knee(x)


def matched(x):
    match float(x):
        case 37.0:
            return True
        case _:
            return False


def sine_but(test: Callable[[Any], Any]) -> Any:
    """The sine, with a derivative that is off by 2 where a test says so, element by element."""
    return slope(np.sin, lambda _y, x: np.cos(x) * np.where(test(x), 2.0, 1.0))


def with_cell(place: float) -> Any:
    return sine_but(lambda x: x == place)


def each(test: Callable[[float], bool]) -> Any:
    return sine_but(lambda x: np.reshape([bool(test(float(n))) for n in np.ravel(x)], np.shape(x)))


def all_or_nothing(test: Callable[[Any], Any]) -> Any:
    """The sine, with a derivative that is off by 2 where a test of the whole array says so."""
    return slope(np.sin, lambda _y, x: np.cos(x) * (2.0 if test(x) else 1.0))


NUMBERS: dict[str, Callable[[Any], Any]] = {
    "written": lambda x: x == 37.0,
    "negative": lambda x: x == -4.0,
    "one": lambda x: x == 1.0,
    "whole": lambda x: x == 37,
    "tiny": lambda x: x == 1e-5,
    "difference": lambda x: (x - 37.0) == 0.0,
    "unequal": lambda x: ~(x != 37.0),
    "default": lambda x, n=37.0: x == n,
    "keyword": lambda x, *, n=37.0: x == n,
    "helper": lambda x: at_knee(x),
    "helper of a helper": deeper,
    "helper of another file": elsewhere_named.is_special,
    "constant of another file": lambda x: x == elsewhere_named.PLACE,
    "attribute": lambda x: x == Limits.knee,
    "attribute of an object": Knee(37.0),
    "method": Knee(37.0).held,
    "partial": functools.partial(np.equal, 37.0),
    "close to": lambda x: np.isclose(x, 37.0),
    "equal by name": lambda x: np.equal(x, 37.0),
    "one of several": lambda x: np.isin(x, (29.0, 37.0)),
    "one of several of the module": lambda x: np.isin(x, SPECIAL),
    "in an array": lambda x: np.isin(x, SEVERAL),
    "of a library": lambda x: x == np.pi,
}
EACH: dict[str, Callable[[float], Any]] = {
    "in": lambda x: x in (29.0, 37.0),
    "in a set": lambda x: x in {29.0, 37.0},
    "in a tuple of the module": lambda x: x in SPECIAL,
    "in a dictionary": lambda x: x in FACTORS,
    "looked up": lambda x: {29.0: True, 37.0: True}.get(x, False),
    "match": matched,
    "near by math": lambda x: math.isclose(x, 37.0),
}
ARRAYS: dict[str, Callable[[Any], Any]] = {
    "all": lambda x: np.all(x == 37.0),
    "any": lambda x: np.any(x == 37.0),
    "first": lambda x: np.ravel(x)[0] == 37.0,
    "last": lambda x: np.ravel(x)[-1:] == 37.0,
    "largest": lambda x: np.max(x, initial=-np.inf) == 37.0,
}
COUNTS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "len": (lambda x: np.ndim(x) and len(x) == 5, FEW),
    "len of two": (lambda x: np.ndim(x) and len(x) == 2, FEW),
    "size": (lambda x: np.size(x) == 7, FEW),
    "size of a matrix": (lambda x: np.size(x) == 10, ROWS),
    "rows": (lambda x: np.shape(x)[:1] == (5,), ROWS),
    "rows, one by one": (lambda x: np.ndim(x) and x.shape[0] == 5, ROWS),
    "columns": (lambda x: np.shape(x)[-1:] == (7,), ROWS),
    "rows in a tuple": (lambda x: np.ndim(x) and x.shape[0] in (5, 9), ROWS),
    "many": (lambda x: np.ndim(x) and x.shape[-1] == 100, FEW),
    "axes": (lambda x: np.ndim(x) == 3, FEW),
    "five axes": (lambda x: np.ndim(x) == 5, FEW),
}


def summed(factor: Callable[[Any], Any]) -> Any:
    """A sum of squares, whose derivative is off by a factor of the array."""
    return halves(
        lambda x: np.sum(x * x),
        lambda t, x: np.sum(2.0 * factor(x) * x * t),
        lambda t, x: 2.0 * factor(x) * x * t,
    )


def in_blocks(length: int, keeps_rest: bool) -> Any:
    """A sum of squares, with a derivative block by block that loses what is behind the blocks."""

    def slope_of(x):
        x_bar = np.zeros(x.shape)
        if keeps_rest:
            for i in range(0, x.shape[-1], length):
                x_bar[..., i : i + length] = 2.0 * x[..., i : i + length]
        else:
            x_bar[..., :64] = 2.0 * x[..., :64]
        return x_bar

    @primitive
    def f(x, /):
        return np.sum(x * x)

    @rule(f)
    def f_rule(x: np.ndarray):
        p = slope_of(x)
        return f(x), (LinearMap(lambda t: np.sum(p * t), lambda t: p * t),)

    return f


def whole_blocks(x):
    """The derivative of a sum of squares, of whole blocks of 48 alone, if there is one."""
    rest = x.shape[-1] % 48 if np.ndim(x) and x.shape[-1] > 47 else 0
    p = 2.0 * x
    if rest:
        p[..., -rest:] = 0.0
    return p


def every_other(x):
    """The derivative of a sum of squares, where the second block of 16 is forgotten."""
    p = 2.0 * x
    for i in range(16, x.shape[-1] if np.ndim(x) else 0, 16):
        p[..., i : i + 16] = 0.0
    return p


def of_squares(slope_of: Callable[[Any], Any]) -> Any:
    return halves(
        lambda x: np.sum(x * x),
        lambda t, x: np.sum(slope_of(x) * t),
        lambda t, x: slope_of(x) * t,
    )


def of_dictionary(test: Callable[[Any], Any]) -> Any:
    """sin(a) b of a dictionary, with a derivative that is off by 2 where a test says so."""

    @primitive
    def f(d, /):
        return np.sin(d["a"]) * d["b"]

    @rrule.register(f)
    def f_rrule(d: dict):
        def pull(t):
            a = t * np.cos(d["a"]) * d["b"] * np.where(test(d["a"]), 2.0, 1.0)
            return (Tangent[dict](a=a, b=t * np.sin(d["a"])),)

        return f(d), pull

    return f


def ordered(pull: Callable[[Any, Any], Any]) -> Any:
    """The axes of an array in another order, with a pull of ``(t, axes)``."""

    @primitive
    def f(x, /, *, axes=None):
        return np.transpose(x, axes)

    @rrule.register(f)
    def f_rrule(x: np.ndarray, *, axes):
        return f(x, axes=axes), lambda t: (pull(t, axes),)

    return f


def back(t, axes):
    return np.transpose(t, None if axes is None else tuple(np.argsort(axes)))


def of_dtype(test: Callable[[Any], Any]) -> Any:
    return slope(
        np.sin, lambda _y, x: np.cos(x) * x.dtype.type(2.0 if test(np.asarray(x).dtype) else 1.0)
    )


WRONG: dict[str, Plant] = {
    **{
        f"at one number, {way}": Plant(sine_but(test), (FEW,), "number ")
        for way, test in NUMBERS.items()
    },
    **{f"at one number, {way}": Plant(each(test), (FEW,), "number ") for way, test in EACH.items()},
    **{
        f"at one number, {way} of an array": Plant(all_or_nothing(test), (FEW,), "number ")
        for way, test in ARRAYS.items()
    },
    "at one number, of a cell": Plant(with_cell(37.0), (FEW,), "number "),
    "at one number, of a matrix": Plant(with_cell(37.0), (ROWS,), "number "),
    "at one number of Python": Plant(with_cell(37.0), (0.5,), "number "),
    "at one number of many": Plant(with_cell(37.0), (np.linspace(0.5, 1.5, 300),), "number "),
    "at one number of a dictionary": Plant(
        of_dictionary(lambda x: x == 37.0), ({"a": FEW, "b": FEW + 0.25},), "number 37"
    ),
    "at one number of the second": Plant(
        pair(
            lambda a, b: np.sin(a) * b,
            lambda _y, a, b: np.cos(a) * b,
            lambda _y, a, b: np.sin(a) * np.where(b == 37.0, 2.0, 1.0),
        ),
        (FEW, FEW + 0.25),
        "number ",
    ),
    "at one number, named by the function": Plant(
        slope(
            lambda x: np.where(x == 37.0, np.sin(x), np.sin(x)),
            lambda _y, x: np.cos(x) * np.where(x == 5.0 + 32.0 * np.ones(()), 2.0, 1.0),
        ),
        (FEW,),
        "number ",
    ),
    **{
        f"at one count, {way}": Plant(
            summed(lambda x, test=test: 2.0 if test(x) else 1.0), (x,), "(at another|wrong only for"
        )
        for way, (test, x) in COUNTS.items()
    },
    "order of axes, not turned back": Plant(
        ordered(lambda t, axes: np.transpose(t, axes)), (ROWS,), "axes=", {"axes": (1, 0)}
    ),
    "order of axes, by default": Plant(
        ordered(lambda t, axes: np.transpose(t, axes)), (ROWS,), "axes="
    ),
    "order of three axes": Plant(
        ordered(lambda t, axes: np.transpose(t, axes)), (ROWS[None],), "axes=", {"axes": (0, 2, 1)}
    ),
    "float16, by its name": Plant(of_dtype(lambda d: d == np.float16), (FEW,), "dtype float16"),
    "half precision by a word": Plant(
        of_dtype(lambda d: d.name == "float16"), (FEW,), "dtype float16"
    ),
    "behind the first block": Plant(in_blocks(64, False), (FEW,), "another length: 129"),
    "behind whole blocks": Plant(of_squares(whole_blocks), (FEW,), "another length"),
    "in the second block": Plant(of_squares(every_other), (FEW,), "another length"),
}


def relu_at(n: float) -> Any:
    return slope(lambda x: np.maximum(x, n), lambda _y, x: np.where(x > n, 1.0, 0.0))


RIGHT: dict[str, Right] = {
    "kink at a number": Right(relu_at(37.0), normal((3,))),
    "kink at a number, of a matrix": Right(relu_at(1.0), normal((2, 3))),
    "jump at a number": Right(
        slope(lambda x: np.where(x >= 37.0, x, 0.0), lambda _y, x: np.where(x >= 37.0, 1.0, 0.0)),
        normal((3,)),
    ),
    "slope between both at a number": Right(
        slope(lambda x: np.abs(x - 37.0), lambda _y, x: np.sign(x - 37.0)), normal((3,))
    ),
    "another value at one number": Right(
        slope(lambda x: np.where(x == 1.0, 5.0, x * x), lambda _y, x: 2.0 * x), normal((3,))
    ),
    "pole at a number": Right(slope(lambda x: 1.0 / (x - 2.0), lambda y, _x: -y * y), normal((3,))),
    "hole at a number that is filled": Right(
        slope(
            lambda x: np.where(x == 1.0, 1.0, np.log(x) / np.where(x == 1.0, 2.0, x - 1.0)),
            lambda y, x: np.where(x == 1.0, -0.5, (1.0 / x - y) / np.where(x == 1.0, 2.0, x - 1.0)),
        ),
        positive((3,)),
    ),
    "order of axes, turned back": Right(ordered(back), normal((2, 3)), {"axes": (1, 0)}),
    "order of axes by default, turned back": Right(ordered(back), normal((2, 3))),
    "half precision named": Right(
        slope(np.sin, lambda _y, x: np.cos(x).astype(np.float16 if x.dtype == "f2" else x.dtype)),
        normal((3,)),
    ),
    "sum in blocks": Right(in_blocks(16, True), normal((3,))),
    "knee with a smooth passage": Right(
        slope(
            lambda x: np.where(np.abs(x) <= 1.0, 0.5 * x * x, np.abs(x) - 0.5),
            lambda _y, x: np.clip(x, -1.0, 1.0),
        ),
        normal((3,)),
    ),
    "power of numbers of a table": Right(
        slope(
            lambda x: sum(c * x**k for k, c in enumerate(SEVERAL)),
            lambda _y, x: sum(k * c * x ** (k - 1) for k, c in enumerate(SEVERAL) if k),
        ),
        normal((3,)),
    ),
    "square root from a number on": Right(
        slope(
            lambda x: np.sqrt(np.maximum(x - 1.0, 0.0)),
            lambda y, x: np.where(x > 1.0, 0.5 / np.where(x > 1.0, y, 1.0), 0.0),
        ),
        positive((3,)),
    ),
}
