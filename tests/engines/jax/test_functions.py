"""Operations that take functions, in JAX: solutions, loops, equations, and their captures."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from chainrules_jax import export
from chainrules_py import NotDifferentiableError
from chainrules_py import ops as v

pytestmark = pytest.mark.usefixtures("double")


RTOL = 1e-10
"""What is solved for is right to that."""


def along(f):
    return lambda a: jax.jvp(f, (a,), (1.0,))[1]


NESTINGS = {
    "forward over reverse": lambda f: along(jax.grad(f)),
    "reverse over forward": lambda f: jax.grad(along(f)),
    "reverse over reverse": lambda f: jax.grad(jax.grad(f)),
    "forward over forward": lambda f: along(along(f)),
}

A = 1.7
TRUTH = {
    # The value, and the first two derivatives, in a at A.
    "root": (A**0.5, 0.5 * A**-0.5, -0.25 * A**-1.5),
    "linear_solve": (2 / A, -2 / A**2, 4 / A**3),
    "minimize": (np.log(A), 1 / A, -1 / A**2),
    "map": (3 * np.sin(A), 3 * np.cos(A), -3 * np.sin(A)),
    "reduce": (A**3, 3 * A**2, 6 * A),
    "scan": (A**3 + A + A**2 + 1, 3 * A**2 + 1 + 2 * A, 6 * A + 2),
    "odeint": (np.exp(-0.5 * A), -0.5 * np.exp(-0.5 * A), 0.25 * np.exp(-0.5 * A)),
}


def total(found):
    return found[0] + v.sum(found[1])


def by_operands(name, sin=v.sin, exp=v.exp):
    """A function of the parameter that is handed in as an operand."""
    ones = np.ones(3)
    return {
        "root": lambda a: v.root(lambda x, a: x * x - a, 1.0 + 0 * a, a),
        "linear_solve": lambda a: v.linear_solve(lambda x, a: a * x, 2.0 + 0 * a, a),
        "minimize": lambda a: v.minimize(lambda x, a: exp(x) - a * x, 0.1 + 0 * a, a),
        "map": lambda a: v.map(lambda x: sin(x), a * ones).sum(),
        "reduce": lambda a: v.reduce(lambda s, x: s * x, a * ones, 1.0 + 0 * a),
        "scan": lambda a: total(v.scan(lambda s, x: (s * x, s), 1.0 + 0 * a, a * ones)),
        "odeint": lambda a: v.odeint(
            lambda y, t, a: -a * y, 1.0 + 0 * a, np.array([0.0, 0.5]), a, rtol=1e-12, atol=1e-12
        )[1],
    }[name]


def by_capture(name, sin=v.sin, exp=v.exp):
    """The same with the parameter captured by the function that is handed in."""
    ones = np.ones(3)
    return {
        "root": lambda a: v.root(lambda x: x * x - a, jnp.asarray(1.0)),
        "linear_solve": lambda a: v.linear_solve(lambda x: a * x, jnp.asarray(2.0)),
        "minimize": lambda a: v.minimize(lambda x: exp(x) - a * x, jnp.asarray(0.1)),
        "map": lambda a: v.map(lambda x: sin(a * x), ones).sum(),
        "scan": lambda a: total(
            v.scan(lambda s, x: (s * x * a, s), jnp.asarray(1.0), jnp.asarray(ones))
        ),
        "reduce": lambda a: v.reduce(lambda s, x: s * x * a, jnp.asarray(ones), jnp.asarray(1.0)),
        "odeint": lambda a: v.odeint(
            lambda y, t: -a * y, jnp.asarray(1.0), np.array([0.0, 0.5]), rtol=1e-12, atol=1e-12
        )[1],
    }[name]


def by_captured_operations_of_jax(name):
    return by_capture(name, jnp.sin, jnp.exp)


FORMS = (by_operands, by_capture, by_captured_operations_of_jax)


def forms():
    """Those that capture operations stand for the others, which are slow; one of each operation."""
    for name in TRUTH:
        for form in FORMS:
            short = name not in ("odeint", "minimize")
            quick = form is by_capture and short
            quick |= (name, form) == ("map", by_captured_operations_of_jax)
            yield pytest.param(name, form, marks=() if quick else pytest.mark.slow)


@pytest.mark.parametrize("name, form", list(forms()))
def test_value_and_gradient(near, name, form):
    f = export(form(name))
    y, slope, _ = TRUTH[name]
    rtol = 1e-8 if name in ("odeint", "minimize") else 1e-10
    near(jax.value_and_grad(f)(A), (y, slope), rtol)
    near(along(f)(A), slope, rtol)


@pytest.mark.slow
@pytest.mark.parametrize("nesting", NESTINGS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", TRUTH)
def test_second_order(near, name, form, nesting):
    f = export(form(name))
    rtol = 1e-6 if name in ("odeint", "minimize") else 1e-9
    second = NESTINGS[nesting](f)
    near(second(A), TRUTH[name][2], rtol)
    near(jax.jit(second)(A), TRUTH[name][2], rtol)
    near(jax.vmap(second)(jnp.asarray([A, A])), [TRUTH[name][2]] * 2, rtol)


@pytest.mark.parametrize("nesting", ["forward over reverse", "reverse over reverse"])
def test_second_order_of_a_captured_parameter(near, nesting):
    near(jax.jit(NESTINGS[nesting](export(by_capture("root"))))(A), TRUTH["root"][2])


def test_values_captured_in_structures_defaults_and_methods(near):
    class Spring:
        def __init__(self, k):
            self.params = {"k": k}

        def force(self, x):
            return self.params["k"] * x - 6.0

    def by_default(k):
        def force(x, k=k):
            return k * x - 6.0

        return force

    for made in (lambda k: Spring(k).force, by_default):
        f = lambda k, made=made: v.root(made(k), jnp.asarray(1.0))
        near(jax.grad(f)(2.0), -1.5)
        near(jax.jit(jax.grad(f))(2.0), -1.5)
        near(jax.jvp(f, (2.0,), (1.0,))[1], -1.5)


def test_structures_and_batches(near):
    def equations(x, p):
        return {"u": x["u"] * p["a"] - x["w"], "w": x["w"] + x["u"] - p["b"]}

    def total(p):
        x = v.root(equations, {"u": jnp.asarray(0.0), "w": jnp.asarray(0.0)}, p)
        return x["u"] * x["w"]

    p = {"a": 2.0, "b": jnp.asarray(3.0)}
    # u = b / (1 + a), w = a b / (1 + a)
    bars = jax.jit(jax.grad(total))(p)
    near(bars["b"], 2 * 3.0 * 2.0 / 9)
    near(bars["a"], 9.0 * (1 - 2.0) / 27)
    each = jax.vmap(lambda b: total({"a": 2.0, "b": b}))(jnp.arange(1.0, 4.0))
    near(each, np.arange(1.0, 4.0) ** 2 * 2 / 9)


def test_what_does_not_converge_in_a_compiled_program_is_not_a_number():
    f = lambda a: v.root(lambda x: x * x + a, jnp.asarray(1.0))
    assert np.isnan(jax.jit(f)(1.0))


def test_a_solver_that_looks_at_values_is_refused_under_jit(near):
    def bisect(residual, x):
        low, high = 0.0, 4.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if residual(jnp.asarray(middle)) < 0 else (low, middle)
        return jnp.asarray(low)

    f = lambda a: v.root(lambda x: x * x - a, jnp.asarray(1.0), solver=bisect)
    near(jax.grad(f)(A), TRUTH["root"][1])
    with pytest.raises(NotDifferentiableError, match="root looks at values"):
        jax.jit(f)(A)


@pytest.mark.parametrize("f", [export(v.sin), export(np.linalg.norm)], ids=["sin", "norm"])
def test_nothing_that_is_traced_is_kept(f):
    """JAX remembers what it was given to call, and with it what that held."""
    with jax.checking_leaks():
        jax.jit(jax.grad(lambda x: jnp.sum(f(x))))(jnp.array([0.3, 1.2]))


@pytest.mark.parametrize("form", [by_operands, by_capture])
@pytest.mark.parametrize("name", ["root", "linear_solve"])
def test_nothing_that_functions_capture_is_kept(near, name, form):
    with jax.checking_leaks():
        near(jax.jit(jax.grad(export(form(name))))(A), TRUTH[name][1])


def test_the_third_derivative_of_tanh_at_zero():
    # The slope's formula with abs(x) is for values that no engine traces.
    f = jax.grad(jax.grad(jax.grad(export(v.tanh))))
    np.testing.assert_allclose([f(0.0), f(0.3)], [-2.0, -1.3643061061], rtol=1e-6)


def test_scan_is_one_loop_of_jax():
    xs = jnp.ones((100, 3))

    def f(a):
        return jnp.sum(v.scan(lambda s, x: (v.sin(s * a) + x, s), jnp.zeros(3), xs)[1])

    for g in (f, jax.grad(f), jax.grad(jax.grad(f))):
        assert len(str(jax.make_jaxpr(g)(2.0))) < 8000
        assert "scan[" in str(jax.make_jaxpr(g)(2.0))
    carried = v.scan(lambda s, x: (s + x, s), 0, jnp.ones(3))  # which is no integer afterwards
    assert carried[0] == 3.0


HELD = {}


def solved(a, b):
    HELD["a"] = a
    return export(v.root)(lambda x, b: x * x - HELD["a"] * b, 1.0, b)


def decayed(a, b):
    HELD["a"] = a
    ys = export(v.odeint)(lambda y, t, b: -HELD["a"] * b * y, jnp.ones(1), jnp.array([0, 1]), b)
    return ys[-1, 0]


@pytest.mark.parametrize("around", [lambda f: f, jax.jit], ids=["eager", "jit"])
@pytest.mark.parametrize(
    "f, truth",
    [(solved, 6**0.5), pytest.param(decayed, np.exp(-6.0), marks=pytest.mark.slow)],
)
def test_a_value_that_a_function_looks_up_anywhere_has_its_derivative(f, truth, around, near):
    """It is found by tracing, where no cell or field of the function has it."""
    near(around(f)(jnp.asarray(2.0), 3.0), truth, 1e-6)
    slope = 3 * (0.5 / truth if f is solved else -truth)
    near(around(jax.grad(f))(2.0, 3.0), slope, 1e-6)
    near(jax.grad(around(f))(2.0, 3.0), slope, 1e-6)


def test_a_value_that_is_mapped_over_is_no_number_for_a_solver():
    with pytest.raises(NotDifferentiableError, match="root looks at values"):
        jax.vmap(lambda a: solved(a, 3.0))(jnp.ones(2))
