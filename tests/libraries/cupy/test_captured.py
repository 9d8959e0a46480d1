"""A fused function, or a fused rule, sees what it captures as it is now, and not as it was."""

from __future__ import annotations

import collections
import dataclasses
import functools
import types

import numpy as np
import pytest

from chainrules_py import Primitive, primitive, scalar_rule
from chainrules_py import vocabulary as v
from chainrules_py.testing import to_numpy
from chainrules_tape import grad, hvp

X = np.array([0.5, 1.5])
rate = 2.0
settings = types.ModuleType("settings")
settings.rate = 2.0


@pytest.fixture
def fuse(on):
    from chainrules_cupy import fuse

    return fuse


@dataclasses.dataclass
class Settings:
    rate: float = 2.0


class Holder:
    rate = 2.0

    def chain(self, x):
        return self.rate * np.sin(x) + x


def _cell():
    held = 2.0

    def f(x):
        return held * np.sin(x) + x

    def change(value):
        nonlocal held
        held = value

    return f, change


def _global():
    def change(value):
        global rate
        rate = value

    change(2.0)
    return lambda x: rate * np.sin(x) + x, change


def _of_a_module():
    settings.rate = 2.0
    return (
        lambda x: settings.rate * np.sin(x) + x,
        lambda value: setattr(settings, "rate", value),
    )


def _in_a_list():
    rates = [1.0, 2.0]
    return lambda x: rates[-1] * np.sin(x) + x, lambda value: rates.__setitem__(1, value)


def _in_a_dict():
    rates = {"rate": 2.0}
    return (
        lambda x: rates["rate"] * np.sin(x) + x,
        lambda value: rates.__setitem__("rate", value),
    )


def _attribute():
    of = Settings()
    return lambda x: of.rate * np.sin(x) + x, lambda value: setattr(of, "rate", value)


def _of_an_object():
    Holder.rate = 2.0
    of = Holder()
    return lambda x: of.chain(x), lambda value: setattr(of, "rate", value)


def _of_a_function_inside():
    scale, change = _cell()
    return lambda x: scale(x), change


def _of_a_partial():
    of = Settings()
    scaled = functools.partial(lambda of, x: of.rate * np.sin(x) + x, of)
    return lambda x: scaled(x), lambda value: setattr(of, "rate", value)


def _of_a_default():
    def inner(x, rate=2.0):
        return rate * np.sin(x) + x

    def change(value):
        inner.__defaults__ = (value,)

    return lambda x: inner(x), change


def _in_a_deque():
    rates = collections.deque([2.0])
    return lambda x: rates[0] * np.sin(x) + x, lambda value: rates.__setitem__(0, value)


def _in_an_array():
    rates = np.array([1.0, 2.0])
    return lambda x: float(rates[1]) * np.sin(x) + x, lambda value: rates.__setitem__(1, value)


CAPTURES = [
    _in_a_deque,
    _in_an_array,
    _cell,
    _global,
    _of_a_module,
    _in_a_list,
    _in_a_dict,
    _attribute,
    _of_an_object,
    _of_a_function_inside,
    _of_a_partial,
    _of_a_default,
]


@pytest.mark.parametrize("capture", CAPTURES)
def test_a_captured_number_that_changes_is_seen(capture, fuse, on):
    f, change = capture()
    fused, x = fuse(f), on.asarray(X)
    loss = lambda x: np.sum(fused(x))
    gradient = grad(loss)
    for value in (2.0, 5.0, -1.0, 2.0):
        change(value)
        np.testing.assert_allclose(to_numpy(fused(x)), value * np.sin(X) + X)
        np.testing.assert_allclose(to_numpy(gradient(x)), value * np.cos(X) + 1)
        second = hvp(loss, (x,), (v.ones_like(x),))[0]
        np.testing.assert_allclose(to_numpy(second), -value * np.sin(X))


def test_a_zero_with_another_sign_is_another_number(fuse, on):
    of = Settings(0.0)
    fused, x = fuse(lambda x: x / of.rate + np.sin(x)), on.asarray(X)
    with np.errstate(divide="ignore"):
        assert to_numpy(fused(x)).tolist() == [np.inf, np.inf]
        of.rate = -0.0
        assert to_numpy(fused(x)).tolist() == [-np.inf, -np.inf]


def test_an_array_that_stays_is_no_change():
    from chainrules_cupy.captured import Captured

    rates, name = np.array([1.0, 2.0]), ["sin"]
    captured = Captured(lambda x: rates[1] * getattr(np, name[0])(x))
    assert not captured.has_changed()
    rates[0] = 3.0
    assert captured.has_changed()


def test_a_rule_of_the_users_sees_what_its_partials_capture(on):
    of = Settings()
    word: Primitive = primitive(lambda x: of.rate * np.sin(x))
    scalar_rule(word, lambda _y, x: of.rate * v.cos(x) + v.exp(0.0 * x) - 1.0)
    word.implement(lambda x: of.rate * v.sin(x), types=(type(on.asarray(X)),))
    gradient = grad(lambda x: np.sum(word(x)))
    for value in (2.0, 5.0):
        of.rate = value
        np.testing.assert_allclose(to_numpy(gradient(on.asarray(X))), value * np.cos(X))


def test_a_captured_number_that_stays_makes_no_kernel_again(fuse, on):
    from chainrules_cupy import kernels

    of = Settings()
    fused, x = fuse(lambda x: of.rate * np.sin(x) + x), on.asarray(X)
    gradient = grad(lambda x: np.sum(fused(x)))
    gradient(x)
    made = len(kernels.made)
    traced = []
    trace = kernels.trace
    kernels.trace = lambda *given: traced.append(given) or trace(*given)
    try:
        gradient(x)
        assert not traced
        of.rate = 3.0625  # which no other test has
        gradient(x)
        assert traced
    finally:
        kernels.trace = trace
    assert len(kernels.made) > made


def test_what_changes_so_that_nothing_can_be_fused_is_called_as_it_is(fuse, on):
    of = Settings()
    fused, x = fuse(lambda x: np.sin(x) * of.rate), on.asarray(X)
    of.rate = on.asarray([1.0, 2.0])
    np.testing.assert_allclose(to_numpy(fused(x)), np.sin(X) * [1.0, 2.0])


def test_what_changes_all_the_time_is_not_compiled_all_the_time(fuse, on):
    from chainrules_cupy import kernels

    of = Settings()
    fused, x = fuse(lambda x: of.rate * np.sin(x) + x), on.asarray(X)
    gradient = grad(lambda x: np.sum(fused(x)))
    made = []
    for step in range(40):
        of.rate = 1.0 + step
        np.testing.assert_allclose(to_numpy(fused(x)), of.rate * np.sin(X) + X)
        np.testing.assert_allclose(to_numpy(gradient(x)), of.rate * np.cos(X) + 1)
        made.append(len(kernels.made))
    assert made[-1] == made[20] > made[0]


def test_rules_of_the_library_are_not_looked_through_at_each_call(on):
    from chainrules_cupy.captured import Captured

    for word in (v.sin, v.multiply, v.hypot, v.logaddexp):
        assert Captured(word)._seen == []
