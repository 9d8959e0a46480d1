"""Functions of every kind that Python has, given to operations that call them.

What such a function captured is found, whatever it is made of: the derivative is that of the plain
program, or there is an error. Asked with the function itself, and with a function that calls it.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import operator
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from chainrules_py import ChainRulesError
from tests.fuzz.operations import CALLED, CALLS, DOORS, U, W

F = Callable[..., Any]
"""``f(a, x)``, of which a is being differentiated."""


class Held:
    """An object of somebody's own that holds a."""

    def __init__(self, f: F, a: Any) -> None:
        self.f, self.a = f, a

    def method(self, x: Any, *rest: Any) -> Any:
        return self.f(self.a, x)

    __call__ = __mul__ = __getitem__ = method
    half = functools.partialmethod(method)

    @functools.cached_property
    def made(self) -> Any:
        return lambda x, *rest: self.f(self.a, x)

    @property
    def property(self) -> Any:
        return lambda x, *rest: self.f(self.a, x)

    @functools.singledispatchmethod
    def dispatched(self, x: Any, *rest: Any) -> Any:
        return self.f(self.a, x)

    @dispatched.register
    def _(self, x: str, *rest: Any) -> Any:
        return x

    def __getattr__(self, name: str) -> Any:
        if name != "anything":
            raise AttributeError(name)
        return self.method


@dataclasses.dataclass
class Data:
    """A dataclass that is called."""

    f: F
    a: Any

    def __call__(self, x: Any, *rest: Any) -> Any:
        return self.f(self.a, x)


class Slotted:
    """An object without a ``__dict__``."""

    __slots__ = ("a", "f")

    def __init__(self, f: F, a: Any) -> None:
        self.f, self.a = f, a

    def __call__(self, x: Any, *rest: Any) -> Any:
        return self.f(self.a, x)


class Meta(type):
    """A class whose classes compute where they are called."""

    def __call__(cls: Any, x: Any, *rest: Any) -> Any:
        return cls.f(cls.a, x)


class Module(types.ModuleType):
    """A module that is called."""

    def __call__(self, x: Any, *rest: Any) -> Any:
        return self.f(self.a, x)


class Computed:
    """A class of which an object is the number that it computes."""

    def __new__(cls, f: F, a: Any, x: Any, *rest: Any) -> Any:
        return f(a, x)


def _plain(f: F, a: Any) -> F:
    return lambda x, *rest: f(a, x)


def _decorated(decorator: Callable[[F], F]) -> Callable[[F, Any], F]:
    return lambda f, a: decorator(_plain(f, a))


def _dispatched(f: F, a: Any) -> Any:
    @functools.singledispatch
    def stated(x: Any, *rest: Any) -> Any:
        return f(a, x)

    stated.register(str, lambda x, *rest: x)
    return stated


def _dispatched_on_numbers(f: F, a: Any) -> Any:
    @functools.singledispatch
    def stated(x: Any, *rest: Any) -> Any:
        raise TypeError

    for kind in (float, np.ndarray, np.floating):
        stated.register(kind, lambda x, *rest: f(a, x))
    return stated


def _dispatched_before(f: F, a: Any) -> Any:
    found = _dispatched(f, a)
    found.dispatch(float)
    return found


def _wrapped(g: F) -> F:
    @functools.wraps(g)
    def wrapper(*given: Any) -> Any:
        return g(*given)

    return wrapper


def _through_wrapped(g: F) -> F:
    wrapper = _wrapped(g)
    return lambda *given: wrapper.__wrapped__(*given)  # type: ignore[attr-defined]


def _attribute(f: F, a: Any) -> F:
    def stated(x: Any, *rest: Any) -> Any:
        return f(stated.a, x)  # type: ignore[attr-defined]

    stated.a = a  # type: ignore[attr-defined]
    return stated


def _meta(f: F, a: Any) -> Any:
    return Meta("Made", (), {"f": staticmethod(f), "a": a})


def _module(f: F, a: Any) -> Any:
    module: Any = Module("made")
    module.f, module.a = f, a
    return module


def _default(f: F, a: Any) -> F:
    return lambda x, *rest, a=a: f(a, x)


def _static(f: F, a: Any) -> Any:
    return type("Made", (), {"f": staticmethod(_plain(f, a))}).f  # type: ignore[attr-defined]


def _class_method(f: F, a: Any) -> Any:
    return type("Made", (), {"a": a, "f": classmethod(lambda c, x, *rest: f(c.a, x))}).f  # type: ignore[attr-defined]


def _context(f: F, a: Any) -> Any:
    @contextlib.contextmanager
    def stated(x: Any) -> Iterator[Any]:
        yield f(a, x)

    def run(x: Any, *rest: Any) -> Any:
        with stated(x) as y:
            return y

    return run


def _generated(f: F, a: Any) -> F:
    def stated(x: Any) -> Iterator[Any]:
        yield f(a, x)

    return lambda x, *rest: next(stated(x))


def _reference(f: F, a: Any) -> F:
    held = Held(f, a)
    found = weakref.WeakMethod(held.method)
    return lambda x, *rest, held=held: found()(x)  # type: ignore[misc]


def _looked_up(make: Callable[[Any], Any], take: Callable[[Any], Any]) -> Callable[[F, Any], F]:
    def stated(f: F, a: Any) -> F:
        held = make(a)
        return lambda x, *rest: f(take(held), x)

    return stated


def _asked(f: F, a: Any) -> F:
    found = _dispatched(f, a)
    return lambda x, *rest: found.dispatch(float)(x)


def _called_method(f: F, a: Any) -> F:
    call = operator.methodcaller("method", a)
    held = Held(f, a)
    return lambda x, *rest: call(held)


def _weak(a: Any) -> Any:
    held = {"a": Held(print, a)}
    return held, weakref.WeakValueDictionary(held)


def _objects(a: Any) -> Any:
    found = np.empty(1, object)
    found[0] = Held(print, a)
    return found


CALLABLES: dict[str, Callable[[F, Any], Any]] = {
    "function": _plain,
    "default": _default,
    "partial": lambda f, a: functools.partial(f, a),
    "partial, by name": lambda f, a: functools.partial(lambda x, *rest, a: f(a, x), a=a),
    "partial of a partial": lambda f, a: functools.partial(functools.partial(f), a),
    "method": lambda f, a: Held(f, a).method,
    "method of C": lambda f, a: functools.partial(Held(f, a).__mul__),
    "partialmethod": lambda f, a: Held(f, a).half,
    "cached property": lambda f, a: Held(f, a).made,
    "property": lambda f, a: Held(f, a).property,
    "singledispatchmethod": lambda f, a: Held(f, a).dispatched,
    "__getattr__": lambda f, a: Held(f, a).anything,
    "object": Held,
    "dataclass": Data,
    "slots": Slotted,
    "class of a class": _meta,
    "__new__": lambda f, a: functools.partial(Computed, f, a),
    "module": _module,
    "static method": _static,
    "class method": _class_method,
    "singledispatch": _dispatched,
    "singledispatch, on numbers": _dispatched_on_numbers,
    "singledispatch, called before": _dispatched_before,
    "singledispatch, found": lambda f, a: _dispatched(f, a).dispatch(float),
    "singledispatch, asked": _asked,
    "lru_cache": _decorated(functools.lru_cache),
    "cache": _decorated(functools.cache),
    "cache of a": _looked_up(lambda a: functools.cache(lambda: a), lambda found: found()),
    "wraps": _decorated(_wrapped),
    "__wrapped__": _decorated(_through_wrapped),
    "attribute of a function": _attribute,
    "np.vectorize": _decorated(np.vectorize),
    "np.frompyfunc": _decorated(lambda g: np.frompyfunc(lambda x: g(x), 1, 1)),
    "context manager": _context,
    "generator": _generated,
    "weak method": _reference,
    "methodcaller": _called_method,
    "attrgetter": _looked_up(lambda a: types.SimpleNamespace(a=a), operator.attrgetter("a")),
    "itemgetter": _looked_up(lambda a: [a], operator.itemgetter(0)),
    "get": _looked_up(lambda a: {"a": a}.get, lambda get: get("a")),
    "__getitem__": _looked_up(lambda a: [a].__getitem__, lambda get: get(0)),
    "proxy": _looked_up(lambda a: types.MappingProxyType({"a": a}), lambda d: d["a"]),
    "values": _looked_up(lambda a: {"a": a}.values(), lambda d: next(iter(d))),
    "chain map": _looked_up(lambda a: collections.ChainMap({}, {"a": a}), lambda d: d["a"]),
    "deque": _looked_up(lambda a: collections.deque([a]), lambda d: d[0]),
    "weak values": _looked_up(_weak, lambda held: held[1]["a"].a),
    "product": _looked_up(lambda a: a, lambda a: functools.reduce(operator.mul, [a, 1.0])),
    "frozen set": _looked_up(lambda a: frozenset([Held(print, a)]), lambda s: next(iter(s)).a),
    "object array": _looked_up(_objects, lambda o: o[0].a),
    "memory": _looked_up(lambda a: iter([a]).__reduce__, lambda r: r()[1][0][0]),
    "cell": _looked_up(lambda a: types.CellType(a), lambda c: c.cell_contents),
}  # fmt: skip
"""By name, what makes a function of one parameter of ``f`` and ``a``."""


def _program(operation: str, kind: str, called: bool) -> Callable[[Any], Any]:
    def program(w: Any) -> Any:
        f = CALLABLES[kind](CALLED[operation], w[0] + 1.0)
        given = (lambda x, *rest: f(x)) if called else f
        return CALLS[operation](given, w) * w[2]

    return program


def verdict(operation: str, kind: str, called: bool, door: str) -> str:
    """Tell what is wrong with a value or derivative; the empty text if nothing is."""
    f = _program(operation, kind, called)
    try:
        due, h = f(W.copy()), 1e-5
        slope = (f(W + h * U) - f(W - h * U)) / (2 * h)
    except (ChainRulesError, TypeError, ValueError):  # minimize traces, a cache takes no array
        return ""
    try:
        found = DOORS[door](f)
    except ChainRulesError:
        return ""
    close = np.allclose(np.array(found, float), [due, slope], rtol=1e-4, atol=1e-6)
    return "" if close else f"{found} for {due, slope}"
