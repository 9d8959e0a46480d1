"""Programs whose functions, given to words that call them, write to what they were not given.

A word that solves calls its function as often as it likes, on plain values: what that leaves behind
has the value and the derivative of the plain program, or there is an error. Counts, flags and texts
are free. The functions that `map` and `reduce` call write where they stand.
"""

from __future__ import annotations

import collections
import contextvars
import dataclasses
import functools
import heapq
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_py import ChainRulesError, MutationError
from chainrules_py.vocabulary import fixed_point, linear_solve, map, minimize, odeint, reduce, root
from chainrules_tape import checkpoint, grad, jvp, linearize, value_and_grad

W, U = np.array([0.3, 1.2, 0.7]), np.array([1.0, -0.5, 2.0])
TIMES = np.array([0.0, 0.5])

Write = Callable[[Any], None]
"""Leaves a value where the program finds it."""

shown: Any = 0.0


class Holder:
    """An object of somebody's own."""

    last: Any = 0.0


@dataclasses.dataclass
class Model:
    """A dataclass that is called, and notes something in a field of its own."""

    a: Any
    word: str
    made: Callable[[Any, Any], Any]
    last: Any = 0.0

    def __call__(self, x: Any, *rest: Any) -> Any:
        y, self.last = CALLED[self.word](self.a, x), self.made(self.a, x)
        return y


def _nonlocal() -> tuple[Write, Callable[[], Any]]:
    last: Any = 0.0

    def write(x: Any) -> None:
        nonlocal last
        last = x

    return write, lambda: last


def _global() -> tuple[Write, Callable[[], Any]]:
    def write(x: Any) -> None:
        global shown
        shown = x

    write(0.0)
    return write, lambda: shown


def _object(write: Callable[[Any, Any], Any]) -> Callable[[], tuple[Write, Callable[[], Any]]]:
    def made() -> tuple[Write, Callable[[], Any]]:
        holder = Holder()
        return functools.partial(_put, write, holder), lambda: holder.last

    return made


def _put(write: Callable[[Any, Any], Any], holder: Any, x: Any) -> None:
    write(holder, x)


def _inside(
    make: Callable[[], Any], write: Callable[[Any, Any], Any], read: Callable[[Any], Any]
) -> Callable[[], tuple[Write, Callable[[], Any]]]:
    def made() -> tuple[Write, Callable[[], Any]]:
        held = make()
        return lambda x: write(held, x), lambda: read(held)

    return made


def _appender() -> tuple[Write, Callable[[], Any]]:
    held: list[Any] = [0.0]
    return held.append, lambda: held[-1]


def _context() -> tuple[Write, Callable[[], Any]]:
    variable = contextvars.ContextVar[Any]("variable", default=0.0)
    return variable.set, variable.get  # type: ignore[return-value]


def _once(held: dict[str, Any], x: Any) -> None:
    if "last" not in held:
        held["last"] = x


def _class(held: Any, x: Any) -> None:
    type(held).last = x


def _last(held: Any) -> Any:
    return held[-1]


PLACES: dict[str, Callable[[], tuple[Write, Callable[[], Any]]]] = {
    "nonlocal": _nonlocal,
    "global": _global,
    "attribute": _object(lambda o, x: setattr(o, "last", x)),
    "__dict__": _object(lambda o, x: o.__dict__.__setitem__("last", x)),
    "vars().update": _object(lambda o, x: vars(o).update(last=x)),
    "class": _inside(lambda: type("Own", (Holder,), {})(), _class, lambda o: o.last),
    "namespace": _inside(
        types.SimpleNamespace, lambda o, x: setattr(o, "last", x), lambda o: o.last
    ),
    "append": _inside(lambda: [0.0], lambda o, x: o.append(x), _last),
    "list.append": _inside(lambda: [0.0], lambda o, x: list.append(o, x), _last),
    "a bound append": _appender,
    "item": _inside(lambda: [0.0], lambda o, x: o.__setitem__(0, x), _last),
    "slice": _inside(lambda: [0.0], lambda o, x: o.__setitem__(slice(None), [x]), _last),
    "nested": _inside(lambda: [[0.0]], lambda o, x: o[0].append(x), lambda o: o[0][-1]),
    "a dict in a list": _inside(
        lambda: [{"": 0.0}], lambda o, x: o.append({"": x}), lambda o: o[-1][""]
    ),
    "deque": _inside(lambda: collections.deque([0.0]), lambda o, x: o.append(x), _last),
    "heap": _inside(list, lambda o, x: heapq.heappush(o, (-len(o), x)), lambda o: o[0][1]),
    "update": _inside(dict, lambda o, x: o.update(last=x), lambda o: o["last"]),
    "setdefault": _inside(dict, lambda o, x: o.setdefault("last", x), lambda o: o["last"]),
    "once": _inside(dict, _once, lambda o: o["last"]),
    "buffer": _inside(lambda: np.zeros(1), lambda o, x: o.__setitem__(0, x), _last),
    "copyto": _inside(lambda: np.zeros(1), lambda o, x: np.copyto(o, x), _last),
    "context variable": _context,
}  # fmt: skip
"""By name where a function may write to: what writes a value there, and what reads it after."""

CALLED: dict[str, Callable[[Any, Any], Any]] = {
    "root": lambda a, x: x * x - a,
    "fixed_point": lambda a, x: 0.5 * np.cos(x) * a,
    "minimize": lambda a, x: (x - a) ** 2,
    "linear_solve": lambda a, x: a * x,
    "odeint": lambda a, x: -a * x,
    "map": lambda a, x: a * x,
    "reduce": lambda a, x: a * x,
}
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "root": lambda f, w: root(f, 1.0),
    "fixed_point": lambda f, w: fixed_point(f, 1.0),
    "minimize": lambda f, w: minimize(f, 0.5),
    "linear_solve": lambda f, w: linear_solve(f, w[1]),
    "odeint": lambda f, w: odeint(f, w[1], TIMES)[-1],
    "map": lambda f, w: np.sum(map(f, w)),
    "reduce": lambda f, w: reduce(lambda s, x: s + f(x), w, 0.0),
}
"""By name the words, with what their functions compute."""

VALUES: dict[str, Callable[[Any, Any], Any]] = {
    "the argument": lambda a, x: 2.0 * x,
    "what it captured": lambda a, x: 3.0 * a,
    "both": lambda a, x: a * x,
    "a count": lambda a, x: 7,
    "a text": lambda a, x: "seen",
}
"""By name what is written."""

KINDS = ("a function", "a function that is helped", "a dataclass")


def _program(word: str, place: str, value: str, kind: str) -> Callable[[Any], Any]:
    made = VALUES[value]

    def program(w: Any) -> Any:
        a = w[0] + 1.0
        write, read = PLACES[place]()
        f: Any
        if kind == "a dataclass":
            f = model = Model(a, word, made)
            read = lambda: model.last
        elif kind == "a function":

            def stated(x: Any, *rest: Any) -> Any:
                write(made(a, x))
                return CALLED[word](a, x)

            f = stated
        else:

            def helper(x: Any) -> Any:
                write(made(a, x))
                return x

            f = lambda x, *rest: CALLED[word](a, helper(x))
        y, left = CALLS[word](f, w), read()
        return y * w[2] if isinstance(left, str) else y * w[2] + left * 2.0

    return program


DOORS: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: (lambda y, g: (y, g @ U))(*value_and_grad(f)(W.copy())),
    "jvp": lambda f: jvp(f, (W.copy(),), (U,)),
    "linearize": lambda f: (lambda y, push: (y, push(U)))(*linearize(f, W.copy())),
    "checkpoint": lambda f: (f(W), grad(checkpoint(f))(W.copy()) @ U),
    "grad of grad": lambda f: (
        f(W), grad(lambda t: np.sum(grad(lambda w: t * f(w))(W.copy()) * U))(1.0)
    ),
}  # fmt: skip


def verdict(word: str, place: str, value: str, kind: str, door: str) -> str:
    """Tell what is wrong with a value or derivative; the empty text if nothing is."""
    f = _program(word, place, value, kind)
    free = word in ("map", "reduce") or (value in ("a count", "a text") and kind != "a dataclass")
    try:
        due, h = f(W.copy()), 1e-5
        slope = (f(W + h * U) - f(W - h * U)) / (2 * h)
    except (ChainRulesError, TypeError, ValueError):  # a buffer takes no text, minimize traces
        due = slope = None
    try:
        found = DOORS[door](f)
    except ChainRulesError as error:
        allowed = isinstance(error, MutationError) or place in ("buffer", "copyto")
        return "" if allowed or not free or due is None else f"{error!r} for {due, slope}"
    except (TypeError, ValueError) as error:
        return "" if due is None else f"{error!r} for {due, slope}"
    if due is None:
        return f"{found} for an error"
    wanted = np.array([due, slope], float)
    close = np.allclose(np.array(found, float), wanted, rtol=1e-4, atol=1e-6)
    return "" if close else f"{found} for {due, slope}"
