"""What can hold an array where nobody sees it: how it is put there, and how it is read."""

from __future__ import annotations

import array
import collections
import concurrent.futures
import contextvars
import ctypes
import dataclasses
import decimal
import fractions
import functools
import io
import itertools
import operator
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import splu


@dataclasses.dataclass
class Inner:
    """A dataclass of one field."""

    a: Any


class Own:
    """An object with a ``__dict__``."""

    def __init__(self, a: Any) -> None:
        self.a = a


class Slotted:
    """An object without one."""

    __slots__ = ("a",)

    def __init__(self, a: Any) -> None:
        self.a = a

    def method(self) -> Any:
        """Return what it holds."""
        return self.a


class Hiding(NamedTuple):
    """How an array is hidden, and read; None where a copy or a part of it is kept."""

    make: Callable[[Any], Any]
    read: Callable[[Any], Any] | None = None


def captured(w: Any) -> Callable[[], Any]:
    """Return a function that captured w."""
    return lambda: w


def _generated(w: Any) -> Iterator[Any]:
    yield w
    yield w


def _resolved(w: Any) -> Any:
    future: Any = concurrent.futures.Future()
    future.set_result(w)
    return future


def _in_context(w: Any) -> Any:
    variable: Any = contextvars.ContextVar("variable")
    variable.set(w)
    return variable


_called: Callable[[Any], Any] = lambda f: f()
_first, _attribute = operator.itemgetter(0), operator.attrgetter("a")

HIDING: dict[str, Hiding] = {
    "itself": Hiding(lambda w: w, lambda w: w),
    "number": Hiding(lambda w: float(np.sum(w))),
    "list": Hiding(lambda w: [w], _first),
    "dict": Hiding(lambda w: {"a": (w,)}, lambda d: d["a"][0]),
    "dataclass": Hiding(Inner, _attribute),
    "dataclasses": Hiding(lambda w: [Inner(Inner(w))], lambda x: x[0].a.a),
    "object": Hiding(Own, _attribute),
    "vars": Hiding(Own, lambda x: vars(x)["a"]),
    "slots": Hiding(Slotted, _attribute),
    "namespace": Hiding(lambda w: types.SimpleNamespace(a=w), _attribute),
    "deque": Hiding(lambda w: collections.deque([w]), _first),
    "user dict": Hiding(lambda w: collections.UserDict(a=w), operator.itemgetter("a")),
    "chain": Hiding(lambda w: collections.ChainMap({"a": w}), operator.itemgetter("a")),
    "partial": Hiding(lambda w: functools.partial(np.multiply, w), lambda f: f(1.0)),
    "default": Hiding(lambda w: lambda w=w: w, _called),
    "keyword default": Hiding(lambda w: lambda *, w=w: w, _called),
    "closure": Hiding(captured, _called),
    "cache": Hiding(lambda w: functools.lru_cache(captured(w)), _called),
    "method": Hiding(lambda w: Slotted(w).method, _called),
    "method of C": Hiding(lambda w: w.copy, _called),
    "polynomial": Hiding(np.poly1d, lambda p: p.coeffs),
    "object array": Hiding(lambda w: np.array([w, None], object), _first),
    "memoryview": Hiding(memoryview, np.asarray),
    "iterator": Hiding(lambda w: iter([w]), next),
    "flat": Hiding(lambda w: w.flat, np.array),
    "nditer": Hiding(lambda w: Own(np.nditer(w)), lambda x: x.a.operands[0]),
    "cycle": Hiding(lambda w: itertools.cycle([w]), next),
    "map": Hiding(lambda w: map(abs, [w])),
    "generator": Hiding(_generated, next),
    "values": Hiding(lambda w: {0: w}.values(), lambda d: next(iter(d))),
    "proxy": Hiding(lambda w: types.MappingProxyType({0: w}), _first),
    "factory": Hiding(lambda w: collections.defaultdict(captured(w)), operator.itemgetter("k")),
    "array.array": Hiding(lambda w: array.array("d", w)),
    "ctypes": Hiding(lambda w: (ctypes.c_double * 2)(*w)),
    "cell": Hiding(types.CellType, lambda c: c.cell_contents),
    "set": Hiding(lambda w: {float(w[0])}),
    "exception": Hiding(ValueError, lambda e: e.args[0]),
    "future": Hiding(_resolved, lambda f: f.result()),
    "thread": Hiding(lambda w: threading.Thread(args=(w,)), lambda t: t._args[0]),
    "broadcast": Hiding(lambda w: np.broadcast(w, 1.0), lambda b: np.array([y for y, _ in b])),
    "context variable": Hiding(_in_context, lambda v: v.get()),
    "structured array": Hiding(lambda w: np.array([(t,) for t in w], [("a", float)])),
    "factorised": Hiding(lambda w: splu(csc_matrix(np.diag(w)))),
    "bytes": Hiding(lambda w: w.tobytes()),
    "bytearray": Hiding(lambda w: bytearray(w.tobytes())),
    "file in memory": Hiding(lambda w: io.BytesIO(w.tobytes())),
    "decimal": Hiding(lambda w: decimal.Decimal(float(w[0]))),
    "fraction": Hiding(lambda w: fractions.Fraction(float(w[0]))),
    "class": Hiding(lambda w: type("Made", (), {"a": w}), _attribute),
    "base of a class": Hiding(lambda w: type("M", (type("Made", (), {"a": w}),), {}), _attribute),
    "convenience polynomial": Hiding(np.polynomial.Polynomial),
}
