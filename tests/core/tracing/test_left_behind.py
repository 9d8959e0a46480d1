"""A rule that leaves its operand somewhere: the derivative of the derivative is not lost."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from chainrules_py import TracerError, primitive, rrule
from chainrules_tape import grad, hessian, hvp, jvp

X = np.array([1.0, 2.0, 3.0])
SCALE = 3.0
KEPT: dict[str, Any] = {}
LAST: Any = None


class Holder:
    x: Any = None


HOLDER, LISTED = Holder(), [None]


def _in_a_dict(x: Any) -> Any:
    KEPT["x"] = x
    return lambda: KEPT["x"]


def _in_an_attribute(x: Any) -> Any:
    HOLDER.x = x
    return lambda: HOLDER.x


def _in_a_list(x: Any) -> Any:
    LISTED[0] = x
    return lambda: LISTED[0]


def _in_a_name(x: Any) -> Any:
    global LAST
    LAST = x
    return lambda: LAST


def _in_a_name_by_its_text(x: Any) -> Any:
    globals()["LA" + "ST".strip()] = x
    return lambda: LAST


def _in_a_name_by_setattr(x: Any) -> Any:
    setattr(sys.modules[__name__], "LAST", x)  # noqa: B010
    return lambda: LAST


def _in_a_name_by_update(x: Any) -> Any:
    vars(sys.modules[__name__]).update(LAST=x)
    return lambda: LAST


def _maker() -> Any:
    last: Any = None

    def leave(x: Any) -> Any:
        nonlocal last
        last = x
        return lambda: last

    return leave


_in_a_cell = _maker()


def squared(leave: Any) -> Any:
    """The square, whose rule leaves its operand where ``leave`` puts it."""

    @primitive
    def f(x):
        return x * x

    @rrule.register(f)
    def f_rrule(x):
        found = leave(x)
        return f(x), lambda y_bar: (2 * found() * y_bar * SCALE / SCALE,)

    return f


TWICE = {
    "reverse over reverse": lambda f: grad(lambda x: np.sum(grad(lambda x: np.sum(f(x)))(x)))(X),
    "forward over reverse": lambda f: jvp(grad(lambda x: np.sum(f(x))), (X,), (X,))[1],
    "reverse over forward": lambda f: hvp(lambda x: np.sum(f(x)), (X,), (X,)),
    "hessian": lambda f: hessian(lambda x: np.sum(f(x)))(X),
}


@pytest.mark.parametrize("call", TWICE)
@pytest.mark.parametrize(
    "leave",
    [
        _in_a_dict,
        _in_an_attribute,
        _in_a_list,
        _in_a_name,
        _in_a_name_by_its_text,
        _in_a_name_by_setattr,
        _in_a_name_by_update,
    ],
)
def test_the_second_derivative_raises(leave, call):
    f = squared(leave)
    np.testing.assert_allclose(grad(lambda x: np.sum(f(x)))(X), 2 * X)
    with pytest.raises(TracerError, match="the derivative of the derivative would be lost"):
        TWICE[call](f)


@pytest.mark.parametrize(
    "leave", [_in_a_dict, _in_an_attribute, _in_a_list, _in_a_name, _in_a_cell]
)
def test_so_it_does_at_a_number(leave):
    f = squared(leave)
    assert grad(f)(3.0) == 6.0
    with pytest.raises(TracerError, match="would be lost"):
        grad(grad(f))(3.0)


@pytest.mark.parametrize("call", TWICE)
def test_what_a_pullback_closes_over_is_right(call):
    @primitive
    def f(x):
        return x * x

    @rrule.register(f)
    def f_rrule(x):
        return f(x), lambda y_bar: (2 * x * y_bar * SCALE / SCALE,)

    right = {"hessian": 2 * np.eye(3), "reverse over reverse": np.full(3, 2.0)}.get(call, 2 * X)
    found = TWICE[call](f)
    np.testing.assert_allclose(found[0] if type(found) is tuple else found, right)


def test_a_name_of_a_number_that_is_equal_is_no_operand():
    f = primitive(lambda x: SCALE * x * x)

    @rrule.register(f)
    def f_rrule(x):
        return f(x), lambda y_bar: (2 * SCALE * x * y_bar,)

    assert grad(grad(f))(SCALE) == 6.0


class Model:
    """What a rule closes over, of which another method names the array that is differentiated."""

    scale = 2.0

    def ruled(self) -> Any:
        f = primitive(lambda x: self.scale * x * x)

        @rrule.register(f)
        def f_rrule(x):
            return f(x), lambda y_bar: (2 * self.scale * x * y_bar,)

        return f

    def shown(self) -> Any:
        return f"at {X}"


@pytest.mark.parametrize("call", TWICE)
def test_a_name_that_no_code_gives_a_value_may_be_the_operand(call):
    found = TWICE[call](Model().ruled())
    right = {"hessian": 4 * np.eye(3), "reverse over reverse": np.full(3, 4.0)}.get(call, 4 * X)
    np.testing.assert_allclose(found[0] if type(found) is tuple else found, right)
