"""Programs that write: two to four names for parts of one array, in the hands of whom there is.

Some are arguments, some of these are differentiated in, and some are known from outside, held by
one of the many things that can hold a value. A program writes through some, and reads them all.
What NumPy gives for it is the truth.
"""

from __future__ import annotations

import collections
import contextvars
import functools
import itertools
import random
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from chainrules_py import MutationError, primitive
from chainrules_tape import jvp, linearize, value_and_grad, vjp
from tests.fuzz.smaller import simpler, without_one

Read = Callable[[], Any]

PARTS: dict[str, Callable[[Any], Any]] = {
    "all": lambda b: b,
    "a view of all": lambda b: b[:],
    "first rows": lambda b: b[:3],
    "last rows": lambda b: b[2:],
    "other rows": lambda b: b[3:],
    "even rows": lambda b: b[::2],
    "odd rows": lambda b: b[1::2],
    "reversed": lambda b: b[::-1],
    "transposed": lambda b: b.T,
    "a copy": lambda b: b.copy(),
}


def _doubled(x: Any) -> None:
    x *= 2.0


def _first_row(x: Any) -> None:
    x[0] = 3.0


def _through_a_view(x: Any) -> None:
    row = x[..., 1]
    row += 1.0


def _with_out(x: Any) -> None:
    np.multiply(x, 0.5, out=x)


def _its_own(x: Any) -> None:
    x[0] = x[1] * 2.0


WRITES: dict[str, Callable[[Any], None]] = {
    "x *= 2.0": _doubled,
    "x[0] = 3.0": _first_row,
    "x[..., 1] += 1.0": _through_a_view,
    "np.multiply(x, 0.5, out=x)": _with_out,
    "x[0] = x[1] * 2.0": _its_own,
}
ROLES = ("differentiated", "argument", "keyword", "captured")


# ---------------------------------------------------------- what holds an array, and gives it


def _attribute_of_itself(w: Any) -> Read:
    def get() -> Any:
        return get.w  # type: ignore[attr-defined]

    get.w = w  # type: ignore[attr-defined]
    return get


class _Holder:
    """An object that has an array, and gives it in one of many ways."""

    def __init__(self, w: Any) -> None:
        self._w = w

    def __getattr__(self, name: str) -> Any:
        if name == "dynamic":
            return self._w
        raise AttributeError(name)

    @property
    def computed(self) -> Any:
        return self._w

    def __getitem__(self, key: int) -> Any:
        return self._w

    def __call__(self) -> Any:
        return self._w


class _Slotted:
    __slots__ = ("w",)
    w: Any


def _iterated(w: Any) -> Read:
    kept = [w]

    class Iterated:
        def __iter__(self) -> Any:
            return iter(kept)

    them = Iterated()
    return lambda: next(iter(them))


def _described(w: Any) -> Read:
    class Descriptor:
        def __get__(self, x: Any, cls: Any = None) -> Any:
            return w

    made: Any = type("Described", (), {"w": Descriptor()})()
    return lambda: made.w


def _of_class(w: Any) -> Read:
    cls = type("Class", (), {"w": w})
    return lambda: cls.w  # type: ignore[attr-defined]


def _of_module(w: Any) -> Read:
    module = types.ModuleType("holding")
    module.w = w  # type: ignore[attr-defined]
    return lambda: module.w


def _slotted(w: Any) -> Read:
    made = _Slotted()
    made.w = w
    return lambda: made.w


def _by_generator(w: Any) -> Read:
    def forever() -> Any:
        while True:
            yield w

    it = forever()
    return lambda: next(it)


def _variable(w: Any) -> Read:
    variable = contextvars.ContextVar("variable", default=None)
    variable.set(w)
    return variable.get


def _local(w: Any) -> Read:
    local = threading.local()
    local.w = w
    return lambda: local.w


def _objects(w: Any) -> Read:
    array = np.empty(1, object)
    array[0] = w
    return lambda: array[0]


def _default(w: Any) -> Read:
    def get(w: Any = w) -> Any:
        return w

    return get


def _in_primitive(w: Any) -> Read:
    held = primitive(lambda z: w + 0.0 * z)
    return lambda: held(0.0)


def _by_name(keep: Callable[[Any], Any], read: Callable[[Any], Any]) -> Callable[[Any], Read]:
    def made(w: Any) -> Read:
        kept = keep(w)
        return lambda: read(kept)

    return made


HELD: dict[str, Callable[[Any], Read]] = {
    "a closure": lambda w: lambda: w,
    "an attribute of the function": _attribute_of_itself,
    "a default": _default,
    "__iter__": _iterated,
    "a descriptor": _described,
    "a class": _of_class,
    "a module": _of_module,
    "slots": _slotted,
    "a generator": _by_generator,
    "a context variable": _variable,
    "a thread's own": _local,
    "an object array": _objects,
    "a primitive": _in_primitive,
    "__getattr__": _by_name(_Holder, lambda o: o.dynamic),
    "a property": _by_name(_Holder, lambda o: o.computed),
    "__getitem__": _by_name(_Holder, lambda o: o[0]),
    "__call__": _Holder,
    "vars": _by_name(_Holder, lambda o: vars(o)["_w"]),
    "getattr": _by_name(_Holder, lambda o: getattr(o, "_" + "w")),
    "a list": _by_name(lambda w: [w], lambda o: o[0]),
    "a list in a dict": _by_name(lambda w: {"a": [w]}, lambda o: o["a"][0]),
    "a set": _by_name(lambda w: {_Holder(w)}, lambda o: next(iter(o))[0]),
    "a deque": _by_name(lambda w: collections.deque([w]), lambda o: o[0]),
    "a UserDict": _by_name(lambda w: collections.UserDict(w=w), lambda o: o["w"]),
    "a ChainMap": _by_name(lambda w: collections.ChainMap({"w": w}), lambda o: o["w"]),
    "a mapping proxy": _by_name(lambda w: types.MappingProxyType({"w": w}), lambda o: o["w"]),
    "a namespace": _by_name(lambda w: types.SimpleNamespace(w=w), lambda o: o.w),
    "a method of a dict": _by_name(lambda w: {"w": w}.get, lambda get: get("w")),
    "a cached function": _by_name(lambda w: functools.cache(lambda: w), lambda f: f()),
    "a partial": lambda w: functools.partial(np.asarray, w),
    "an iterator": _by_name(itertools.repeat, next),
    "a reference": _by_name(weakref.ref, lambda reference: reference()),
    "a view of memory": _by_name(memoryview, np.asarray),
}


# ------------------------------------------------------------------------------------ programs


class Name(NamedTuple):
    """A name for a part of the array: who has it, and what holds it if it is no argument."""

    part: str
    role: str
    way: str


class Program(NamedTuple):
    """Names for parts of one array, and what is done through them: each is written to or read."""

    door: str
    names: tuple[Name, ...]
    steps: tuple[tuple[int, str], ...]

    def run(self, how: Any) -> Any:
        """Run it by a door: ``how(function, primals, arguments, keywords)``."""
        base = np.arange(1.0, 37.0).reshape(6, 6) / 8.0
        arrays = [PARTS[name.part](base) for name in self.names]

        def of(role: str) -> list[int]:
            return [k for k, name in enumerate(self.names) if name.role == role]

        arguments = [*of("differentiated"), *of("argument")]
        captured = {k: arrays[k] for k in of("captured")}
        held = {k: HELD[self.names[k].way](arrays[k]) for k in of("held")}
        steps, n = self.steps, len(self.names)

        def f(*xs: Any, **keywords: Any) -> Any:
            known = {**captured, **{k: read() for k, read in held.items()}}
            known.update(zip(arguments, xs, strict=True))
            known.update({int(name[1:]): x for name, x in keywords.items()})
            total = 0.0
            for k, write in steps:
                if write:
                    WRITES[write](known[k])
                else:
                    total = total + np.sum(known[k] * known[k])
            for k in range(n):
                total = total + (k + 1.0) * np.sum(np.sin(known[k]))
            return total

        named = {f"k{k}": arrays[k] for k in of("keyword")}
        primals = [arrays[k] for k in of("differentiated")]
        return how(f, primals, [arrays[k] for k in of("argument")], named)


def program(seed: int) -> Program:
    """Draw a program."""
    chance = random.Random(seed)
    n = chance.randint(2, 4)
    roles = ["differentiated", *chance.choices(ROLES, k=n - 1)]
    drawn = [Name(chance.choice([*PARTS]), role, chance.choice([*HELD])) for role in roles]
    steps: list[tuple[int, str]] = []
    for _ in range(chance.randint(1, 3)):
        k = chance.randrange(n)
        steps += [(k, "")] if chance.random() < 0.5 else []
        steps.append((k, chance.choice([*WRITES])))
    return Program([*DOORS][seed % len(DOORS)], tuple(drawn), tuple(steps))


def smaller(p: Program) -> Iterator[Program]:
    """List programs with less in them: a step, a name, or what is the first of its table."""
    yield from (p._replace(steps=steps) for steps in without_one(p.steps))
    last = len(p.names) - 1
    if last > 1 and all(k != last for k, _ in p.steps):
        yield p._replace(names=p.names[:-1])
    for k, name in enumerate(p.names):
        for simple in simpler(name, ([*PARTS], [name.role], [*HELD])):
            yield p._replace(names=(*p.names[:k], Name(*simple), *p.names[k + 1 :]))
    yield from (p._replace(door=door) for (door,) in simpler((p.door,), ([*DOORS],)))


def _plain(f: Any, xs: Any, rest: Any, named: Any) -> Any:
    return f(*xs, *rest, **named)


def _by_grad(f: Any, xs: Any, rest: Any, named: Any) -> Any:
    return value_and_grad(f, tuple(range(len(xs))))(*xs, *rest, **named)[0]


def _by_vjp(f: Any, xs: Any, rest: Any, named: Any) -> Any:
    y, pull = vjp(lambda *xs: f(*xs, *rest, **named), *xs)
    pull(1.0)
    return y


def _by_jvp(f: Any, xs: Any, rest: Any, named: Any) -> Any:
    return jvp(lambda *xs: f(*xs, *rest, **named), tuple(xs), tuple(map(np.ones_like, xs)))[0]


def _by_linearize(f: Any, xs: Any, rest: Any, named: Any) -> Any:
    y, push = linearize(lambda *xs: f(*xs, *rest, **named), *xs)
    push(*map(np.ones_like, xs))
    return y


def _twice(f: Any, xs: Any, rest: Any, named: Any) -> Any:
    def inner(*xs: Any) -> Any:
        return value_and_grad(f)(*xs, *rest, **named)[0]

    return value_and_grad(inner)(*xs)[0]


DOORS: dict[str, Any] = {
    "grad": _by_grad, "vjp": _by_vjp, "jvp": _by_jvp, "linearize": _by_linearize, "twice": _twice,
}  # fmt: skip


def outcome(p: Program) -> str:
    """Run a program: it is "right" or "refused", or what is wrong with it."""
    expected = p.run(_plain)
    try:
        found = p.run(DOORS[p.door])
    except MutationError:
        return "refused"
    close = np.allclose(found, expected, rtol=1e-12)
    return "right" if close else f"{p}: {found}, and NumPy gives {expected}"


def verdict(p: Program) -> str:
    """Tell what is wrong with a program; nothing, if it is right or refused."""
    found = outcome(p)
    return "" if found in ("right", "refused") else found
