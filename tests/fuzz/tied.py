"""Arguments with a list, a dict or an object that stands twice, or that the function knows besides.

A program changes it by one of its names and reads it by another. What plain Python gives for the
program is the truth; or there is an error.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_py import MutationError
from chainrules_tape import (
    grad,
    hvp,
    jacobian,
    jvp,
    linearize,
    value_and_grad,
    vjp,
)


@dataclasses.dataclass
class Layer:
    w: Any
    b: Any = 1.0


class Entries(dict):  # type: ignore[type-arg]
    """A dict of somebody's own."""


def _w() -> Any:
    return np.array([0.5, -1.2, 2.3])


HOLDERS: dict[str, Callable[[], Any]] = {
    "dict": lambda: {"w": _w(), "b": 1.0},
    "list": lambda: [_w(), 1.0],
    "object": lambda: Layer(_w()),
    "own dict": lambda: Entries(w=_w(), b=1.0),
    "ordered": lambda: collections.OrderedDict(w=_w(), b=1.0),
    "with a default": lambda: collections.defaultdict(float, w=_w(), b=1.0),
    "a list in a dict": lambda: {"w": [_w()], "b": 1.0},
    "a dict in a tuple": lambda: ({"w": _w(), "b": 1.0},),
}


def _inside(d: Any) -> Any:
    return d[0] if isinstance(d, tuple) else d


def _get(d: Any, name: str) -> Any:
    d = _inside(d)
    if isinstance(d, Layer):
        return getattr(d, name)
    found = d[0 if name == "w" else 1] if isinstance(d, list) else d[name]
    return found[0] if isinstance(found, list) else found


def _set(d: Any, name: str, value: Any) -> None:
    d = _inside(d)
    if isinstance(d, Layer):
        setattr(d, name, value)
    elif isinstance(d, list):
        d[0 if name == "w" else 1] = value
    elif isinstance(d[name], list):
        d[name][0] = value
    else:
        d[name] = value


def _augment(d: Any) -> None:
    d = _inside(d)
    if isinstance(d, Layer):
        d.b += 1.0
    else:
        d[1 if isinstance(d, list) else "b"] += 1.0


def _fresh(d: Any) -> None:
    """Take all out, and put something else in."""
    w = _get(d, "w")
    d = _inside(d)
    if isinstance(d, Layer):
        vars(d).update(w=w * 2.0, b=3.0)
    elif isinstance(d, list):
        d.clear()
        d.extend([w * 2.0, 3.0])
    else:
        nested = isinstance(d["w"], list)
        d.clear()
        d.update(w=[w * 2.0] if nested else w * 2.0, b=3.0)


def _there_and_back(d: Any) -> None:
    w = _get(d, "w")
    _set(d, "w", w * 2.0)
    _set(d, "w", w)


CHANGES: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda d: None,
    "the array": lambda d: _set(d, "w", _get(d, "w") * 2.0),
    "another array": lambda d: _set(d, "w", np.ones(3)),
    "a number": lambda d: _set(d, "b", 4.0),
    "added to": _augment,
    "all of it": _fresh,
    "there and back": _there_and_back,
}


def _read(d: Any) -> Any:
    return np.sum(_get(d, "w") ** 2) * _get(d, "b")


Program = Callable[..., Any]

PLACES: dict[str, Callable[[Any, Any], tuple[Program, tuple[Any, ...]]]] = {
    # a holder that is there twice, and what to do with it by the first of its names
    "two entries": lambda d, c: (lambda p: (c(p["a"]), _read(p["z"]))[1], ({"a": d, "z": d},)),
    "two items": lambda d, c: (lambda p: (c(p[0]), _read(p[1]))[1], ([d, d],)),
    "two fields": lambda d, c: (lambda p: (c(p.w), _read(p.b))[1], (Layer(d, d),)),
    "the later": lambda d, c: (lambda p: (c(p[1]), _read(p[0]))[1], ((d, d),)),
    "deeper": lambda d, c: (
        lambda p: (c(p["a"]["b"]), _read(p["z"]))[1],
        ({"a": {"b": d}, "z": d},),
    ),
    "two arguments": lambda d, c: (lambda a, z: (c(a), _read(z))[1], (d, d)),
    "captured": lambda d, c: (lambda a: (c(a), _read(d))[1], (d,)),
    "captured, changed": lambda d, c: (lambda a: (c(d), _read(a))[1], (d,)),
    "a default": lambda d, c: (lambda a, z=d: (c(a), _read(z))[1], (d,)),
    "an attribute": lambda d, c: (Known(d, c), (d,)),
    "once": lambda d, c: (lambda p: (c(p["a"]), _read(p["a"]))[1], ({"a": d},)),
    "one of two": lambda d, c: (
        lambda p: (c(p["a"]), _read(p["a"]) * p["x"][0] * p["y"][0])[1],
        ({"a": d, "x": (x := [2.0]), "y": x},),
    ),
}


class Known:
    """A function that knows its argument by an attribute of its own."""

    def __init__(self, d: Any, change: Any) -> None:
        self.d, self.change = d, change

    def __call__(self, a: Any) -> Any:
        self.change(a)
        return _read(self.d)


FREE = ("once", "one of two")
"""Places where a change is seen by all names that there are."""


def _ones(primals: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(map(_as_ones, primals))


def _as_ones(x: Any) -> Any:
    """Return a tangent of a structure that is one everywhere, in the form that `jvp` takes."""
    return grad(lambda p: _total(p))(x)


def _total(p: Any) -> Any:
    if isinstance(p, (float, np.ndarray)) or hasattr(p, "__payload__"):
        return np.sum(p)
    parts = p.values() if isinstance(p, dict) else [p.w, p.b] if isinstance(p, Layer) else p
    return sum([_total(part) for part in parts])


DOORS: dict[str, Callable[[Program, tuple[Any, ...]], Any]] = {
    "value_and_grad": lambda f, xs: value_and_grad(f)(*xs)[0],
    "of all": lambda f, xs: value_and_grad(f, tuple(range(len(xs))))(*xs)[0],
    "of the last": lambda f, xs: value_and_grad(f, -1)(*xs)[0],
    "vjp": lambda f, xs: vjp(f, *xs)[0],
    "jvp": lambda f, xs: jvp(f, xs, _ones(xs))[0],
    "linearize": lambda f, xs: linearize(f, *xs)[0],
    "jacobian": lambda f, xs: _value_by(lambda g: jacobian(g)(*xs), f),
    "hvp": lambda f, xs: _value_by(lambda g: hvp(g, xs, _ones(xs)), f),
    "of another": lambda f, xs: jvp(lambda t: grad(lambda s: f(*xs) * s)(t), (1.0,), (1.0,))[0],
    "inside": lambda f, xs: value_and_grad(lambda t: value_and_grad(f)(*xs)[0] * t)(1.0)[0],
}  # fmt: skip
"""The value of the function, as a differentiation has it."""


def _value_by(door: Callable[[Program], Any], f: Program) -> Any:
    seen: list[Any] = []

    def noting(*xs: Any) -> Any:
        y = f(*xs)
        seen.append(getattr(y, "__payload__", y))
        return y

    door(noting)
    value = seen[0]
    while hasattr(value, "__payload__"):
        value = value.__payload__
    return value


def verdict(holder: str, change: str, place: str, door: str) -> str:
    """Tell what is wrong with the value under a differentiation; nothing, if it is an error."""
    f, xs = PLACES[place](HOLDERS[holder](), CHANGES[change])
    want = f(*xs)
    f, xs = PLACES[place](HOLDERS[holder](), CHANGES[change])  # the plain program has changed it
    free = place in FREE or change == "nothing"
    try:
        found = DOORS[door](f, xs)
    except MutationError as error:
        return f"refused: {error}" if free else ""
    return "" if np.allclose(found, want) else f"{found!r}, and {want!r} in Python"
