"""What is transposed is linear, which is seen by what it gives."""

import numpy as np
import pytest

from chainrules_kit.custom_derivatives import augmented_rule
from chainrules_py import (
    NotDifferentiableError,
    NotImplementedTangent,
    ZeroTangent,
    frule,
    ignore_derivatives,
    primitive,
    rrule,
)
from chainrules_tape import checkpoint, grad, jvp, linearize, stop_gradient
from chainrules_tape.tools import vmap

X, T = np.array([0.7, 0.2, -0.4]), np.array([1.3, 0.1, 2.0])

LINEAR = {
    "a product": lambda b, x: b * np.cos(x),
    "a quotient": lambda b, x: b / x,
    "a sum of products": lambda b, x: np.sum(b) * x,
    "a condition on the point": lambda b, x: np.where(x > 0, b, 0.0),
    "a system that is solved": lambda b, x: np.linalg.solve(np.diag(x), b),
    "einsum": lambda b, x: np.einsum("i,i->i", b, x),
    "slices that are joined": lambda b, x: np.concatenate([b[1:], b[:1]]),
    "entries one by one": lambda b, x: np.stack([2.0 * c for c in b]),
    "a decision by its shape": lambda b, x: np.cumsum(b) if np.ndim(b) and len(b) > 1 else b,
    "zeros in its shape": lambda b, x: np.zeros_like(b) + b,
    "parts and conjugates": lambda b, x: np.real(np.conj(b)),
}
OTHERS = {
    "clip": lambda b, x: np.clip(b, -1.0, 1.0),
    "minimum": lambda b, x: np.minimum(b, 1.0),
    "where": lambda b, x: np.where(b > 0, b, 0.0),
    "multiply": lambda b, x: b * b,
    "divide": lambda b, x: x / b,
    "abs": lambda b, x: abs(b),
    "sign": lambda b, x: np.sign(b),
    "vector_norm": lambda b, x: b / np.linalg.norm(b),
    "add": lambda b, x: b + np.floor(b),
    "a constant": lambda b, x: 2.0 * b + x,
    "a decision": lambda b, x: b if np.sum(b) > 0 else 2.0 * b,
    "an operation without a derivative": lambda b, x: np.floor(b),
    "remainder": lambda b, x: b % 1.0,
    "fmod": lambda b, x: np.fmod(b, 1.0),
}
FIXED = {
    "alone": stop_gradient,
    "in every engine": ignore_derivatives,
    "what a function gives": ignore_derivatives(lambda b: 2.0 * b),
    "in a list": lambda b: stop_gradient([b])[0],
    "beside itself": lambda b: 2.0 * b - stop_gradient(b),
    "as a factor": lambda b: b * np.max(np.abs(stop_gradient(b))),
    "in a gradient": lambda b: grad(lambda z: np.sum(z * stop_gradient(z)))(b),
    "in a tangent": lambda b: jvp(lambda z: z * stop_gradient(z), (b,), (b,))[1],
    "in a checkpoint": checkpoint(lambda b: 2.0 * stop_gradient(b)),
    "in a map": lambda b: vmap(stop_gradient)(b),
}
OTHERS |= {
    f"taken to be constant, {name}": lambda b, x, take=take: np.cos(x) * take(b)
    for name, take in FIXED.items()
}


def pulled(pull):
    @primitive
    def f(x):
        return np.sin(x)

    @rrule.register(f)
    def f_rrule(x):
        return np.sin(x), lambda y_bar: (pull(y_bar, x),)

    return f


def pushed(push):
    @primitive
    def f(x):
        return np.sin(x)

    @frule.register(f)
    def f_frule(tangents, x):
        return np.sin(x), push(tangents[0], x)

    return f


@pytest.mark.parametrize("name", LINEAR)
def test_a_pull_or_push_that_is_linear_is_transposed(name):
    half, back = LINEAR[name], np.array([1.0, -2.0, 0.5])
    inner = np.vdot(T, half(back, X))
    assert np.vdot(jvp(pulled(half), (X,), (T,))[1], back) == pytest.approx(inner)
    assert np.vdot(grad(lambda x: np.sum(T * pushed(half)(x)))(X), back) == pytest.approx(inner)


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("name", OTHERS)
def test_one_that_is_not_is_an_error_that_says_what_to_state(name):
    f, g = pulled(OTHERS[name]), pushed(OTHERS[name])
    with pytest.raises(
        NotDifferentiableError, match=r"not linear in the cotangent.*\n.*rule: "
    ) as e:
        jvp(f, (X,), (T,))
    assert "@frule.register(f)" in str(e.value)
    with pytest.raises(NotDifferentiableError, match=r"not linear in the cotangent"):
        linearize(f, X)
    with pytest.raises(NotDifferentiableError, match=r"not linear in the tangent"):
        grad(lambda x: np.sum(g(x)))(X)


def test_it_is_asked_in_every_nesting():
    f = pulled(lambda b, x: b * np.cos(x))
    assert jvp(lambda x: jvp(f, (x,), (1.0,))[1], (0.7,), (1.0,))[1] == pytest.approx(-np.sin(0.7))
    assert grad(lambda x: jvp(f, (x,), (1.0,))[1])(0.7) == pytest.approx(-np.sin(0.7))
    g = pulled(lambda b, x: b * abs(b))
    with pytest.raises(NotDifferentiableError, match=r"not linear"):
        grad(lambda x: jvp(g, (x,), (1.0,))[1])(0.7)


def zeros_written(b, x):
    y = np.zeros(3, like=b)
    y[1:] = b[:-1]
    y[0] += 2.0 * b[2]
    y *= x
    return y


def named_twice(b, x):
    y = b * 1.0
    z = y
    z += 3.0 * b
    return y


def summed_up(b, x):
    y = 0.0
    for k in range(3):
        y += np.roll(b, k) * x
    return y


def through_a_view(b, x):
    y = b * 1.0
    z = y[1:]
    z *= 2.0
    return y


def beside_a_view(b, x):
    y = b * 1.0
    z = y[1:]
    y *= 2.0
    return np.sum(z) * x


@pytest.mark.parametrize(
    "half", [zeros_written, named_twice, summed_up, through_a_view, beside_a_view]
)
def test_it_may_write_to_arrays_of_its_own(half):
    back = np.array([1.0, -2.0, 0.5])
    expected = np.vdot(T, half(back, X))
    assert np.vdot(jvp(pulled(half), (X,), (T,))[1], back) == pytest.approx(expected)
    assert np.vdot(grad(lambda x: np.sum(T * pushed(half)(x)))(X), back) == pytest.approx(expected)


def ones_written(b, x):
    y = np.ones(3, like=b)
    y[1:] = b[1:]
    return y


def test_a_constant_that_it_writes_is_an_error():
    with pytest.raises(NotDifferentiableError, match="not linear"):
        jvp(pulled(ones_written), (X,), (T,))


def test_a_rule_of_an_operation_that_saves_more_than_it_uses_is_no_hindrance():
    @primitive
    def times(a, b):
        return a * b

    augmented_rule(times, lambda a, b: (a * b, (a, b)), lambda a, b, y: (y * b, y * a))
    half = lambda b, x: times(b, np.cos(x))
    assert np.allclose(jvp(pulled(half), (X,), (T,))[1], T * np.cos(X))
    with pytest.raises(NotDifferentiableError, match="not linear"):
        jvp(pulled(lambda b, x: times(b, b)), (X,), (T,))


def test_a_derivative_that_a_pull_does_not_implement_is_an_error_with_its_reason():
    """It was said to be not linear."""

    @primitive
    def power(a, x):
        return a * x

    @rrule.register(power)
    def power_rule(a, x):
        return a * x, lambda y_bar: (NotImplementedTangent("no derivative in the order"), y_bar * a)

    for push in (
        lambda: jvp(power, (2.0, 3.0), (1.0, 1.0)),
        lambda: frule((1.0, 1.0), power, 2.0, 3.0),
    ):
        with pytest.raises(NotDifferentiableError, match="no derivative in the order"):
            push()
    assert frule((ZeroTangent(), 1.0), power, 2.0, 3.0)[1] == 2.0


def test_a_rule_that_calls_its_function_on_the_tangent_is_an_error():
    """JAX transposes the body there; here a function with a rule has no other derivative."""
    matrix = np.arange(9.0).reshape(3, 3)

    @primitive
    def product(x):
        return matrix @ x

    @frule.register(product)
    def product_frule(tangents, x):
        return product(x), product(tangents[0])

    assert np.array_equal(jvp(product, (X,), (T,))[1], matrix @ T)
    with pytest.raises(
        NotDifferentiableError, match=r"calls product .*@rrule\.register\(product\)"
    ):
        grad(lambda x: np.sum(product(x)))(X)
    rrule.register(product)(lambda x: (product(x), lambda y_bar: (matrix.T @ y_bar,)))
    pulled = grad(lambda x: np.sum(product(x)))(X)
    assert np.vdot(pulled, T) == pytest.approx(np.sum(matrix @ T))  # the adjoint identity
