"""Details of what a function captured that only some code asks for, changed between two calls."""

from __future__ import annotations

import functools
import types
import warnings

import numpy as np
import pytest

from chainrules_compile import RecordingWarning, compile
from chainrules_tape import value_and_grad
from tests.engines.compile.shadow import same

ASKED = {
    "__bool__": (lambda k: 2 if k else 5, lambda s: False),
    "__len__": (lambda k: 2 if k else 5, lambda s: 0),
    "__eq__": (lambda k: 2 if k == 3 else 5, lambda s, other: other == 3),
    "__ne__": (lambda k: 2 if k != 3 else 5, lambda s, other: False),
    "__hash__": (lambda k: 2 if hash(k) == 7 else 5, lambda s: 7),
    "__contains__": (lambda k: 2 if 9 in k else 5, lambda s, x: True),
    "__iter__": (lambda k: sum(k), lambda s: iter([4.0])),
    "__call__": (lambda k: 2 if callable(k) else 5, lambda s: 0),
    "__getattr__": (lambda k: getattr(k, "gone", 5.0), lambda s, name: 2.0),
    "__iadd__": (lambda k: added(k), lambda s, x: 9.0),
}


def added(k):
    k += 1
    return k


def lacking():
    """Return a class with the methods that others fall back on."""

    class K:
        def __getitem__(self, i):
            return [1.0, 2.0][i]

        def __add__(self, other):
            return 3.0

    return K


def kept():
    """Return what is asked of a captured thing, and how it is changed, by names."""

    class Meta(type):
        items = [1.0]  # noqa: RUF012
        k = 1.0
        scale = property(lambda c: c._s)

        def __getitem__(cls, i):
            return cls.items[i]

        def __len__(cls):
            return len(cls.items)

    class P(metaclass=Meta):
        _s = 1.0

    class A:
        k = 1.0

    class B:
        k = 5.0

    class C(A):
        pass

    one, a = C(), np.ones(3)
    box = types.SimpleNamespace(a=1.0)

    @functools.lru_cache
    def remembered(n):
        return box.a * n

    @functools.cache
    def always(n):
        return box.a * n

    def forget(f):
        box.a += 1.0
        f.cache_clear()

    def helper():
        """Help."""

    return {
        "item of a class": (lambda: P[0], lambda: Meta.items.__setitem__(0, 4.0)),
        "length of a class": (lambda: len(P), lambda: Meta.items.append(3.0)),
        "attribute of a metaclass": (lambda: P.k, lambda: setattr(Meta, "k", 2.0)),
        "property of a metaclass": (lambda: P.scale, lambda: setattr(P, "_s", 2.0)),
        "method of a metaclass": (lambda: len(P), lambda: setattr(Meta, "__len__", lambda c: 9)),
        "bases, of an object": (lambda: one.k, lambda: setattr(C, "__bases__", (B,))),
        "bases": (lambda: C.k, lambda: setattr(C, "__bases__", (B,))),
        "subclasses": (
            lambda: len(A.__subclasses__()),
            lambda: box.__setattr__("c", type("D", (A,), {})),
        ),
        "name of a class": (lambda: len(C.__name__), lambda: setattr(C, "__name__", "longer")),
        "name": (lambda: len(helper.__name__), lambda: setattr(helper, "__name__", "f")),
        "text": (
            lambda: len(helper.__doc__ or ""),
            lambda: setattr(helper, "__doc__", "Help others."),
        ),
        "flags": (lambda: 2.0 if a.flags.writeable else 5.0, lambda: a.setflags(write=False)),
        "memory": (lambda: remembered(3), lambda: forget(remembered)),
        "memory without end": (lambda: always(3), lambda: forget(always)),
    }


def check(ask, change, derivative, changes=True):
    f = lambda x: np.sum(x * x) * ask()
    g = value_and_grad(f) if derivative else f
    x = np.arange(1.0, 4.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RecordingWarning)
        compiled = compile(g)
        before = compiled(x)
        assert same(compiled(x), before)
        assert len(compiled.programs) == 1
        change()
        found, wanted = compiled(x), g(x)
        assert same(found, wanted)
        assert same(wanted, before) is not changes
        assert same(compiled(x), wanted)


@pytest.mark.parametrize("derivative", [False, True], ids=["value", "gradient"])
@pytest.mark.parametrize("name", kept())
def test_details_that_change_are_seen(name, derivative):
    check(*kept()[name], derivative)


@pytest.mark.parametrize("derivative", [False, True], ids=["value", "gradient"])
@pytest.mark.parametrize("name", ASKED)
def test_methods_that_a_class_gets_later_are_seen(name, derivative):
    cls, (ask, method) = lacking(), ASKED[name]
    k = cls()
    check(lambda: ask(k), lambda: setattr(cls, name, method), derivative)


def test_functions_of_cython_have_a_class_of_their_own():
    draw = np.random.default_rng(3).random
    check(lambda: 2.0 if callable(draw) else 5.0, lambda: None, False, changes=False)


def test_what_a_function_remembers_besides_is_no_change():
    memory = functools.lru_cache(lambda n: n * 2.0)
    compiled = compile(lambda x: np.sum(x) * memory(3))
    for n in range(5):
        compiled(np.ones(3))
        memory(n + 10)
    assert len(compiled.programs) == 1
