"""What functions use from outside: no gradient is lost, and each iteration has its own version."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from chainrules_kit.custom_derivatives import augmented_rule, custom_jvp, custom_vjp, user_grad
from chainrules_py import RuleError, TracerError, primitive, scalar_rule
from chainrules_py import ops as v
from chainrules_py.primitives.closures.convert import settled
from chainrules_tape import Tape, grad, jvp, linearize

X = np.array([0.3, -1.2, 2.0])


def scaled(w, form):
    """x -> w x, of which no form says what its derivative in w is."""
    if form == "vjp":
        f = custom_vjp(lambda x: w * x)
        f.defvjp(lambda x: (f(x), None), lambda r, g: (w * g,))
        return f
    if form == "residual":
        f = custom_vjp(lambda x: 1.0 * x)
        f.defvjp(lambda x: (1.0 * x, (w,)), lambda r, g: (r[0] * g,))
        return f
    if form == "jvp":
        f = custom_jvp(lambda x: w * x)
        f.defjvp(lambda p, t: (f(*p), w * t[0]))
        return f
    if form == "tangent":
        f = custom_jvp(lambda x: 1.0 * x)
        f.defjvp(lambda p, t: (p[0], w * t[0]))
        return f
    if form == "region":
        return lambda x: user_grad(x)(lambda x: (w * x, lambda g: (w * g,)))
    if form == "pair":

        @primitive
        def f(x):
            return w * x

        augmented_rule(f, lambda x: (w * x, ()), lambda g: (w * g,))
        return f
    assert form == "constructor"

    @primitive
    def g(x):
        return w * x

    scalar_rule(g, lambda y, x: w)
    return g


CAPTURES = ["vjp", "residual", "jvp", "tangent", "region", "pair", "constructor"]


@pytest.mark.parametrize("form", CAPTURES)
def test_a_gradient_is_never_lost_through_a_captured_variable(form):
    def loss(x, w):
        return scaled(w, form)(x)

    def on_a_tape(**keywords):
        with Tape(**keywords) as tape:
            x, w = tape.variable(2.0), tape.variable(3.0)
            return tape.grad(loss(x, w), [x, w])

    takes = [
        lambda: grad(loss, (0, 1))(2.0, 3.0),
        lambda: jvp(loss, (2.0, 3.0), (1.0, 1.0)),
        lambda: on_a_tape(),
        lambda: on_a_tape(persistent=True),
        lambda: on_a_tape(differentiable=True),
    ]
    if form in ("residual", "tangent"):  # whose value does not depend on it
        del takes[2:]
    for take in takes:
        said = "(gradient|derivative) would be lost|was used after the grad"
        with pytest.raises(TracerError, match=said):
            take()


def test_a_tangent_that_a_rule_captured_does_not_leave_its_level():
    """It would be a constant to every level outside: a zero derivative, without an operation."""

    def loss(x, w):
        @primitive
        def f(x):
            return x * 1.0

        scalar_rule(f, lambda _y, _x: w)
        return f(x)

    with pytest.raises(TracerError, match="a rule captured"):
        jvp(loss, (3.0, 2.0), (1.0, 1.0))
    with pytest.raises(TracerError, match="a rule captured"):
        jvp(lambda z: jvp(loss, (z, z), (1.0, 1.0))[1], (3.0,), (1.0,))
    assert jvp(lambda x: loss(x, 2.0), (3.0,), (1.0,)) == (3.0, 2.0)


@pytest.mark.parametrize("form", CAPTURES)
def test_a_variable_that_only_outer_levels_trace_may_be_captured(form):
    factor = 1.0 if form in ("residual", "tangent") else 3.0

    def slope(w):
        return grad(lambda x: scaled(w, form)(x))(2.0)

    assert slope(3.0) == 3.0
    assert grad(slope)(3.0) == 1.0
    found = grad(lambda w: scaled(w, form)(2.0), unused="zero")(3.0)
    assert found == (0.0 if factor == 1.0 else 2.0)


@pytest.mark.parametrize("form", ["jvp", "vjp"])
def test_a_rule_may_differentiate_other_functions_to_any_order(form):
    """The levels that a rule begins lie above the one that traces it; they lose nothing."""

    @primitive
    def cube(x):
        return x**3

    augmented_rule(cube, lambda x: (x**3, (x,)), lambda x, g: (3.0 * x**2 * g,))

    def third(x):  # 6, by way of a second derivative inside
        return grad(grad(cube))(x)

    f = custom_jvp(third)
    if form == "jvp":
        f.defjvp(lambda p, t: (f(*p), grad(grad(grad(cube)))(p[0]) * t[0]))
    else:
        f.defvjp(lambda x: (third(x), x), lambda x, g: (g * grad(grad(grad(cube)))(x),))
    assert grad(lambda x: f(x) ** 2)(2.0) == pytest.approx(2 * 12.0 * 6.0)
    assert jvp(f, (2.0,), (1.0,)) == (12.0, 6.0)
    assert grad(grad(lambda x: f(x) ** 2))(2.0) == pytest.approx(72.0)


def test_what_the_backward_function_alone_captures_is_named():
    def loss(x, w):
        f = custom_vjp(lambda x: 1.0 * x)
        f.defvjp(lambda x: (x, None), lambda r, g: (w * g,))
        return f(x)

    with pytest.raises(TracerError) as caught:
        grad(loss, (0, 1))(2.0, 3.0)
    assert any("w (captured by <lambda>)" in note for note in caught.value.__notes__)


def test_a_function_that_is_held_fixed_is_searched_as_well():
    @custom_vjp(nondiff_argnums=0)
    def app(f, x):
        return f(x)

    app.defvjp(lambda f, x: (f(x), x), lambda f, x, g: (g,))
    with pytest.raises(TracerError, match="depends on a value that is being differentiated"):
        grad(lambda x, w: app(lambda t: w * t, x), (0, 1))(2.0, 3.0)


# ------------------------------------------------------------------- the version of each iteration


@custom_vjp(nondiff_argnums=0)
def applied(f, x):
    return f(x)


applied.defvjp(lambda f, x: (f(x), None), lambda f, r, g: (g * f(1.0),))


def chain(x, ws, form):
    """x times every w, in a loop: each call has to keep its own w, and its own i."""
    for i in range(len(ws)):
        w = ws[i]
        if form == "held fixed":
            x = applied(lambda x: ws[i] * x, x)  # noqa: B023
        elif form == "region":

            @user_grad(x)
            def x(x):
                return w * x, lambda g: (ws[i] * g,)  # noqa: B023

        else:
            f = custom_vjp(lambda x: w * x)  # noqa: B023
            again = form == "recomputed"
            f.defvjp(lambda x: (w * x, None), lambda r, g: (ws[i] * g,), recompute=again)  # noqa: B023
            x = f(x)
    return x


@pytest.mark.parametrize("form", ["region", "vjp", "recomputed", "held fixed"])
def test_a_backward_function_sees_the_names_of_its_own_iteration(form):
    ws = [2.0, 3.0, 5.0]
    assert grad(lambda x: chain(x, ws, form) ** 2)(1.0) == pytest.approx(2 * 30.0**2)
    assert jvp(lambda x: chain(x, ws, form), (1.0,), (1.0,)) == (30.0, 30.0)
    assert grad(grad(lambda x: chain(x, ws, form) ** 2))(1.0) == pytest.approx(2 * 30.0**2)


@pytest.mark.parametrize("form", ["region", "vjp", "jvp", "jvps"])
def test_a_function_that_was_linearized_keeps_its_names(form):
    """It is pushed through after the loop."""
    ws = [2.0, 3.0, 5.0]

    def total(x):
        for i in range(3):
            if form == "jvp":
                f = custom_jvp(lambda x: ws[i] * x)  # noqa: B023
                f.defjvp(lambda p, t: (ws[i] * p[0], ws[i] * t[0]))  # noqa: B023
                x = f(x)
            elif form == "jvps":
                f = custom_jvp(lambda x: ws[i] * x)  # noqa: B023
                f.defjvps(lambda t, y, x: ws[i] * t)  # noqa: B023
                x = f(x)
        return x if form in ("jvp", "jvps") else chain(x, ws, form)

    y, push = linearize(total, 1.0)
    assert (y, push(1.0), push(2.0)) == (30.0, 30.0, 60.0)


def test_a_function_keeps_all_that_it_is():
    """Defaults, names, what is still to be defined, and functions inside it."""
    factor = 2.0

    def f(x, y=3.0, *, z=5.0):
        return [later(x + y + z + factor) for _ in range(1)]

    now = settled(f)
    factor = 20.0

    def later(x):
        return -x

    assert now(1.0) == [-11.0]
    assert now(1.0, 0.0, z=0.0) == [-3.0]
    assert (now.__name__, now.__qualname__, now.__module__) == (
        f.__name__,
        f.__qualname__,
        __name__,
    )


def test_a_region_in_a_loop_leaves_nothing_behind():
    class Array(np.ndarray):
        pass

    seen = []

    def loss(x):
        y = 0.0
        for i in range(3):
            scratch = np.arange(3.0).view(Array)
            seen.append(weakref.ref(scratch))

            @user_grad(x[i])
            def part(x):
                return x * 2.0, lambda g: (g * float(scratch[2]),)  # noqa: B023

            y = y + part
        return y

    gc.collect()
    gc.disable()
    try:
        assert np.array_equal(grad(loss)(X), [2.0, 2.0, 2.0])
        assert [r() for r in seen] == [None] * 3
    finally:
        gc.enable()


def test_a_region_says_what_it_has_to_return():
    with pytest.raises(RuleError, match=r"has to return \(y, pullback\)"):
        grad(lambda x: user_grad(x)(lambda x: x * x))(2.0)
    with pytest.raises(RuleError, match="a tuple of 1"):
        grad(lambda x: user_grad(x)(lambda x: (x, lambda g: g)))(2.0)


def test_a_region_that_nobody_differentiates_is_plain_code():
    assert user_grad(2.0, 3.0)(lambda x, y: (x * y, None)) == 6.0


def captured_whole(x):
    a = np.array([x[0] ** 2, x[2]])
    return np.sum(v.root(lambda y: y**3 - a, np.ones(2)))


def captured_in_an_object(x):
    class Oscillator:
        def __init__(self):
            self.matrix = np.array([[0.0, 1.0], [-x[0], x[1]]])

        def rate(self, y, t):
            return self.matrix @ y

    return np.sum(v.odeint(Oscillator().rate, np.array([1.0, 0.5]), np.array([0.0, 1.0])))


def captured_beside_others(x):
    held = {"matrix": np.array([[x[0], 0.2], [0.1, x[2]]]), "plain": np.eye(2)}
    return np.sum(v.fixed_point(lambda y: 0.1 * held["matrix"] @ y + held["plain"][0], np.ones(2)))


def given_to_a_root(x):
    a = np.array([x[0] ** 2, x[2]])
    return np.sum(v.root(lambda y, a: y**3 - a, a + 1.0, a))


def given_to_an_ode(x):
    times, a = np.array([0.0, 1.0]), np.array([x[0], x[1]])
    return np.sum(v.odeint(lambda y, t, a: a * y, np.array([1.0, x[2]]), times, a))


@pytest.mark.parametrize(
    "f",
    [
        captured_whole,
        captured_in_an_object,
        captured_beside_others,
        given_to_a_root,
        given_to_an_ode,
    ],
)
def test_an_array_of_traced_numbers_may_be_captured(f):
    """What was captured was not found in it, and the function gave what is traced."""
    slope, h = grad(f)(X), 1e-5
    truth = [(f(X + step) - f(X - step)) / (2 * h) for step in h * np.eye(3)]
    np.testing.assert_allclose(slope, truth, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(jvp(f, (X,), (X,))[1], slope @ X)
