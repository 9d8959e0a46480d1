"""Functions that people wrote, by the short way: all that the general way sees to is kept."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_py import (
    LinearMap,
    MutationError,
    NoTangent,
    ProjectionError,
    RuleError,
    TracerError,
    ZeroTangent,
    primitive,
    rrule,
    rule,
    scalar_rule,
)
from chainrules_tape import Tape, grad, jacobian, jvp, vjp

X = np.array([0.3, 0.5, 0.7])
COSINE = np.cos(X)


def sine(slope):
    """The sine of x, times what its body captured; ``slope(y, x)`` is its partial."""
    return lambda w: stated(lambda x: np.sin(x) * w, slope)


def stated(body, slope):
    f = primitive(body)
    scalar_rule(f, slope)
    return f


def pulled(body, pull):
    """A function of one array, with the pullback ``lambda y_bar: (pull(y_bar),)``."""
    f = primitive(body)

    @rrule.register(f)
    def _rule(x: np.ndarray):
        return body(x), lambda y_bar: (pull(y_bar),)

    return f


# -------------------------------------------------------------------------------------- levels

_slope = lambda _y, x: np.cos(x)
CAPTURES = {
    "gradient": lambda: grad(lambda w: np.sum(sine(_slope)(w)(w * X)))(2.0),
    "tangent": lambda: jvp(lambda w: np.sum(sine(_slope)(w)(w * X)), (2.0,), (1.0,)),
    "partial": lambda: grad(
        lambda w: np.sum(stated(np.sin, lambda _y, x: np.cos(x) * w)(X * w))
    )(2.0),
    "the inner of two levels": lambda: grad(lambda w: grad(lambda v: _of_two(v, w))(1.5))(2.0),
}  # fmt: skip


def _of_two(v, w):
    f = primitive(lambda a, b: np.sin(a) * b * v)
    scalar_rule(f, lambda _y, a, b: np.cos(a) * b, lambda _y, a, _b: np.sin(a))
    return np.sum(f(v * X, w * X))


@pytest.mark.parametrize("how", CAPTURES)
def test_what_a_level_captures_of_its_own_is_an_error(how):
    with pytest.raises(TracerError):
        CAPTURES[how]()


def test_the_same_on_a_tape_that_is_differentiated_itself():
    with Tape(differentiable=True) as tape:
        w = tape.variable(2.0)
        with pytest.raises(TracerError, match="depends on w"):
            sine(lambda _y, x: np.cos(x))(w)(w * X)


def test_an_outer_level_may_be_captured():
    def outer(w):
        f = stated(lambda x: np.sin(x) * w, lambda _y, x: np.cos(x) * w)
        return grad(lambda v: np.sum(f(v)))(X)[0]

    assert grad(outer)(2.0) == pytest.approx(COSINE[0])


def test_second_order_through_a_pullback():
    f = primitive(np.sin)

    @rrule.register(f)
    def _rule(x):
        c = np.cos(x)
        return np.sin(x), lambda y_bar: (c * y_bar,)

    second = grad(lambda v: np.sum(grad(lambda u: np.sum(f(u)))(v)))(X)
    np.testing.assert_allclose(second, -np.sin(X))


# ---------------------------------------------------------------------------- what pulls give

DOUBLED = {
    "(2, 3), summed over an axis": (lambda b: np.ones((2, 3)), 2.0 * X + 2.0),
    "complex": (lambda b: b * (1 + 1j), 3.0 * X),
    "float32": (lambda b: b.astype(np.float32), 3.0 * X.astype(np.float32)),
    "whole numbers": (lambda b: np.ones(3, int), 2.0 * X + 1.0),
    "ZeroTangent()": (lambda b: ZeroTangent(), 2.0 * X),
    "NoTangent()": (lambda b: NoTangent(), 2.0 * X),
}
REFUSED = {
    "another shape": (lambda b: np.ones(2), ProjectionError, "shape"),
    "a number": (lambda b: 2.0, ProjectionError, "shape"),
    "None": (lambda b: None, ProjectionError, "gave None"),
    "a list": (lambda b: [1.0, 2.0, 3.0], ProjectionError, "never the tangent"),
    "a text": (lambda b: "abc", ProjectionError, "never a tangent"),
}


@pytest.mark.parametrize("what", DOUBLED)
def test_cotangents_are_brought_to_the_operand(what):
    pull, expected = DOUBLED[what]
    f = pulled(lambda x: x * 2.0, pull)
    g = grad(lambda v: np.sum(f(v) * v))(X)
    np.testing.assert_allclose(g, expected, rtol=1e-7)
    assert g.dtype == X.dtype


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_cotangent_is_refused(what):
    pull, error, match = REFUSED[what]
    f = pulled(lambda x: x * 2.0, pull)
    with pytest.raises(error, match=match):
        grad(lambda v: np.sum(f(v) * v))(X)


def test_a_pullback_gives_a_tuple():
    f = primitive(lambda x: x * 2.0)

    @rrule.register(f)
    def _rule(x: np.ndarray):
        return x * 2.0, lambda y_bar: y_bar

    with pytest.raises(RuleError, match="has to return"):
        grad(lambda v: np.sum(f(v)))(X)


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize(
    "slope, match",
    [
        (lambda _y, _x: np.ones((2, 3)), "more than the elements|another shape|not the shape"),
        (lambda _y, x: 1j * x, "is complex|imaginary part"),
        (lambda _y, _x: "abc", "never a tangent"),
        (lambda _y, _x: None, "never a tangent|None"),
    ],
)
def test_what_is_no_partial_is_refused(mode, slope, match):
    f = stated(lambda x: x * 2.0, slope)
    reverse, forward = grad(lambda v: np.sum(f(v))), lambda x: jvp(f, (x,), (x,))
    with pytest.raises(ProjectionError, match=match):
        (reverse if mode == "reverse" else forward)(X)


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_a_number_s_partial_is_a_number(mode):
    f = stated(lambda x: x * 2.0, lambda _y, x: x * 1j)
    with pytest.raises(ProjectionError, match=r"is complex|imaginary part"):
        grad(f)(2.0) if mode == "reverse" else jvp(f, (2.0,), (1.0,))


def test_whole_numbers_count_as_real_ones():
    f = primitive(lambda x: x * x)

    @rrule.register(f)
    def _rule(x: np.ndarray):
        return x * x, lambda y_bar: (2 * x * y_bar,)

    g = grad(lambda v: np.sum(f(v) * 0.5))(np.array([100, 50], np.int8))
    assert g.tolist() == [100.0, 50.0]


def test_operands_of_other_shapes_than_the_result():
    f = primitive(lambda x, y: x * y)

    @rrule.register(f)
    def _rule(x: np.ndarray, y: np.ndarray):
        return x * y, lambda y_bar: (y_bar * y, y_bar * x)

    a, b = grad(lambda a, b: np.sum(f(a, b)), (0, 1))(X, np.array([[1.0], [2.0]]))
    np.testing.assert_allclose(a, np.full(3, 3.0))
    np.testing.assert_allclose(b, np.full((2, 1), X.sum()))


def test_three_operands():
    f = primitive(lambda x, y, z: x * y + z)
    times = lambda t, y: t * y
    same = lambda t: t

    @rule(f)
    def _rule(x, y, z):
        maps = LinearMap(times, times, y), LinearMap(times, times, x), LinearMap(same, same)
        return x * y + z, maps

    a, b, c = X, X + 1.0, X + 2.0
    loss = lambda a, b, c: np.sum(f(a, b, c) * a)
    found = grad(loss, (0, 1, 2))(a, b, c)
    np.testing.assert_allclose(found, [2 * a * b + c, a * a, a])
    _, y_dot = jvp(f, (a, b, c), (a, b, c))
    np.testing.assert_allclose(y_dot, 2 * a * b + c)


def test_a_jacobian_through_a_zero():
    f = primitive(lambda x, y: x * y)

    @rrule.register(f)
    def _rule(x: np.ndarray, y: np.ndarray):
        return x * y, lambda y_bar: (y_bar * y, ZeroTangent())

    np.testing.assert_allclose(jacobian(lambda a: f(a, a * 2.0))(X), np.diag(2.0 * X))


# -------------------------------------------------------------------------------------- memory


def padded(y_bar):
    return y_bar if y_bar.shape == X.shape else np.concatenate([y_bar, np.zeros(1)])


@pytest.mark.parametrize(
    "body, expected",
    [
        (lambda x: x, [0.0, 112.0, 2.4]),
        (lambda x: x[:2], [0.0, 112.0, 1.4]),
        (lambda x: x.copy(), [0.6, 12.0, 2.4]),
    ],
    ids=["the operand", "a view", "an array of its own"],
)
def test_a_result_that_is_written_to(body, expected):
    f = pulled(body, padded)

    def loss(v):
        v = v * 1.0
        w = f(v)
        w[0] = 10.0 * w[1]
        return np.sum(v * v) + np.sum(w)

    np.testing.assert_allclose(grad(loss)(X), expected)


def test_an_operand_that_is_written_to_after_a_view_was_given():
    f = pulled(lambda x: x[:2], padded)

    def loss(v):
        v = v * 1.0
        w = f(v)
        v[0] = 5.0 * v[1]
        return np.sum(w)

    np.testing.assert_allclose(grad(loss)(X), [0.0, 6.0, 0.0])


def test_a_plain_operand_that_is_written_to_before_the_pull():
    c = np.ones(3)
    f = primitive(lambda x, y: x * y)
    scalar_rule(f, lambda _z, _x, y: y, lambda _z, x, _y: x)
    _, pull = vjp(lambda a: f(a, c), X)
    c[:] = 7.0
    with pytest.raises(MutationError, match="written to"):
        pull(np.ones(3))
