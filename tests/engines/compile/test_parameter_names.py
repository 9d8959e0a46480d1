"""Names of parameters: those that `inspect` finds, for all that can be called."""

from __future__ import annotations

import functools
import inspect

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_compile.parameter_names import named_parameters
from chainrules_tape import grad, hessian, value_and_grad


def plain(x, y=1.0): ...
def named(x, *, y): ...
def gathering(x, *rest, **more): ...
def positional(x, /, y): ...
@functools.wraps(plain)
def wrapping(*args, **keywords): ...
def stated(*args): ...


stated.__signature__ = inspect.Signature([inspect.Parameter("z", inspect.Parameter.VAR_KEYWORD)])


def wrapping_stated(*args): ...


wrapping_stated.__wrapped__ = stated


class Model:
    def method(self, x, y): ...
    @functools.wraps(plain)
    def wrapping(self, *args): ...
    def __call__(self, w): ...
    @classmethod
    def made(cls, x): ...
    @staticmethod
    def free(x): ...


@functools.wraps(Model().method)
def wrapping_method(*args): ...
def going_round(): ...


going_round.__wrapped__ = going_round


CALLED = {
    **{f.__name__: f for f in (plain, named, gathering, positional, stated)},
    "wrapping": wrapping, "wrapping what states": wrapping_stated, "going round": going_round,
    "method": Model().method, "unbound": Model.method, "class": Model, "object": Model(),
    "method that wraps": Model().wrapping, "class method": Model.made, "static": Model.free,
    "wrapping a method": wrapping_method, "lambda": lambda x, y: x, "C": np.linalg.norm,
    "ufunc": np.sin, "partial": functools.partial(plain, 1.0), "gradient": grad(plain),
    "of both": value_and_grad(plain, argnums=(0, 1)), "compiled": compile(plain), "type": dict,
    "gradient of a method": grad(Model().method), "partial of named": functools.partial(named, y=1),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLED)
def test_names_are_those_that_inspect_finds(name):
    f = CALLED[name]
    try:
        wanted = {p.name: p.kind for p in inspect.signature(f).parameters.values()}
    except (TypeError, ValueError):
        wanted = {}
    assert named_parameters(f) == wanted
    assert list(named_parameters(f)) == list(wanted)


def test_whole_numbers_in_lists_are_asked_by_class_and_value():
    def f(x, kept, also):
        return x * sum(kept) + len(also)

    for kept in ([1, 2, 3, 4, 5], [1, 2, 3, 4, 6], [True, 2, 3, 4, 5], [1.0, 2, 3, 4, 5]):
        for also in (tuple(kept), kept, [np.int64(1), *kept[1:]], [*kept, 2]):
            x, compiled = np.ones(3), compile(f)
            compiled(x, [1, 2, 3, 4, 5], [1, 2, 3, 4, 5])
            y = compiled(x, kept, also)
            assert compiled(x, [*kept], also).tobytes() == y.tobytes() == f(x, kept, also).tobytes()
    given = [1, 2, 3, 4, 5]
    first = compile(f)
    first(x, given, (1, 2, 3, 4, 5))
    assert len(first.programs) == 1
    first(x, [1, 2, 3, 4, 5], (1, 2, 3, 4, 5))
    assert len(first.programs) == 1
    given[0] = 7
    assert first(x, [1, 2, 3, 4, 5], (1, 2, 3, 4, 5))[0] == 20.0
    assert first(x, given, (1, 2, 3, 4, 5))[0] == 26.0
    assert len(first.programs) == 2
    assert "is not int" not in first.source


@pytest.mark.filterwarnings("ignore::chainrules_py.errors.LostDerivativeWarning")
def test_derivatives_by_what_is_not_used_are_zeros_of_their_own(tmp_path):
    def f(xs, y):
        return np.sum(xs[0] * np.tanh(xs[5]))

    for dtype in (np.float64, np.float32):
        xs = [np.full((2, 3), 0.1 * k, dtype) for k in range(7)]
        compiled = compile(value_and_grad(f, argnums=(0, 1)))
        wanted = value_and_grad(f, argnums=(0, 1))(xs, xs[0])
        for _ in range(2):
            value, (slopes, other) = compiled(xs, np.ones((4, 2)))
            assert value == wanted[0]
            for a, b in zip(slopes, wanted[1][0], strict=True):
                assert a.tobytes() == b.tobytes()
                assert a.dtype == b.dtype
                assert a.base is None
                assert a.flags.writeable
                a += 1.0  # another call gives zeros again
            assert other.shape == (4, 2)
            assert not other.any()
            other += 1.0
        assert ".copy()" not in compiled.source
    compiled = compile(value_and_grad(f, argnums=1))
    for _ in range(2):
        slope = compiled(xs[:6], np.ones(3))[1]
        assert not slope.any()
        slope += 1.0


OWN = ("self", "args", "keywords", "f", "number", "xs", "options", "function", "operands", "run")
"""What callables of this library call their own parameters."""


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("target", ["numpy", "c"])
@pytest.mark.parametrize("name", OWN)
def test_keywords_are_no_parameters_of_this_library(name, target):
    """`self` had two values."""

    def f(x, /, **kw):
        with np.errstate(all="ignore"):
            return np.sum(x / (x + kw[name]))

    x = np.array([0.5, -1.25, 4.0])
    for make in (lambda f: f, grad, lambda f: hessian(f), lambda f: value_and_grad(f)):
        compiled = compile(make(f), target=target)
        for y in (x, x * 0.5, x * 3.0):
            found, wanted = (g(x, **{name: y}) for g in (compiled, make(f)))
            pairs = (
                [(found, wanted)]
                if not isinstance(found, tuple)
                else zip(found, wanted, strict=True)
            )
            for one, other in pairs:
                np.testing.assert_allclose(one, other, rtol=1e-12)
        compiled(x, **{name: y})
        assert not compiled.as_it_is
