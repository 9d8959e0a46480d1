"""Solutions and their derivatives, against differences, closed forms, and JAX."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest

from chainrules_py import (
    Config,
    ConvergenceError,
    ForwardMode,
    NoRuleError,
    NotDifferentiableError,
    ReverseMode,
    Tangent,
    ZeroTangent,
    frule,
    rrule,
)
from chainrules_py.ops import fixed_point, linear_solve, minimize, odeint, root
from chainrules_py.testing.cases.coordinates import Coordinates
from chainrules_py.testing.cases.differences import derivative
from chainrules_tape import Tape, grad, jvp, vjp
from chainrules_tape.rule_config import config

RNG = np.random.default_rng(3)
M = RNG.standard_normal((3, 3)) + 4.0 * np.eye(3)
P = RNG.standard_normal(3)


@dataclasses.dataclass
class Spring:
    stiffness: np.ndarray
    load: float
    name: str = "spring"

    def residual(self, x):
        return self.stiffness * x + x**3 - self.load


# ------------------------------------------------------------------------------ in every nesting


def test_square_root_to_third_order():
    def f(a):
        return root(lambda x: x * x - a, 1.0)

    def along(f):
        return lambda a: jvp(f, (a,), (1.0,))[1]

    expected = [2.0, 1 / 4, -1 / 32, 3 / 256]
    assert f(4.0) == expected[0]
    for first in (grad, along):
        assert first(f)(4.0) == pytest.approx(expected[1], rel=1e-13)
        for second in (grad, along):
            assert second(first(f))(4.0) == pytest.approx(expected[2], rel=1e-13)
            for third in (grad, along):
                assert third(second(first(f)))(4.0) == pytest.approx(expected[3], rel=1e-12)


ROOTS = {
    "parameters": (lambda p: root(lambda x, p: M @ x + x**3 - p, np.zeros(3), p), P),
    "captured": (lambda p: root(lambda x: M @ x + x**3 - p, np.zeros(3)), P),
    "both": (lambda p, q: root(lambda x, p: M @ x + q * x**3 - p, np.zeros(3), p), P, 2.0),
    "start": (lambda x0, p: root(lambda x: M @ x + x**3 - p, x0), np.ones(3), P),
    "dict": (
        lambda p: root(
            lambda z, p: {"a": M @ z["a"] - p * z["b"], "b": 2.0 * z["b"] - p[0] + z["a"][1] ** 2},
            {"a": np.zeros(3), "b": 0.5},
            p,
        ),
        P,
    ),
    "structure of parameters": (
        lambda s, c: root(lambda x, s: s.residual(x) * c["scale"][0], np.zeros(3), s),
        Spring(np.array([1.0, 2.0, 3.0]), 1.5),
        {"scale": (2.0, 3.0)},
    ),
    "bound method": (
        lambda s: root(s.residual, np.zeros(3)),
        Spring(np.array([1.0, 2.0, 3.0]), 1.5),
    ),
    "partial": (
        lambda p, q: root(functools.partial(lambda p, x, q: M @ x + q * x - p, p, q=q), P),
        P,
        2.0,
    ),
    "matrix unknown": (
        lambda a: root(lambda x: x @ x - a, np.eye(2)),
        np.array([[4.0, 1.0], [0.5, 3.0]]),
    ),
    "Python numbers": (
        lambda a, b: root(lambda z: (z[0] ** 2 + z[1] - a, z[0] - b * z[1]), (1.0, 1.0)),
        3.0,
        0.5,
    ),
    "a number, and NumPy's function of it": (
        lambda m, e: root(lambda x: x - e * np.sin(x) - m, m),
        1.0,
        0.3,
    ),
    "a number's array, and Python's function of it": (
        lambda a: root(lambda x: 0.0 + (x * x - a), np.array(1.0)),
        2.0,
    ),
    "0-d array": (lambda a: root(lambda x: x**3 - a, np.array(1.0)), np.array(2.0)),
    "mixed": (
        lambda a: root(lambda z: [z[0] * a - z[1], z[1] ** 3 - a], [np.ones(2), 1.0]),
        2.0,
    ),
    "gmres": (
        lambda p: root(lambda x: M @ x + x**3 - p, np.zeros(3), linear_solver="gmres"),
        P,
    ),
    "independent": (
        lambda a, b: root(lambda x: a * x**3 + x - b, np.zeros(5), batch=1),
        np.arange(1.0, 6.0),
        np.linspace(-2.0, 2.0, 5),
    ),
    "independent vectors": (
        lambda b: root(lambda x: x @ M.T + x**3 - b, np.zeros((4, 3)), batch=1),
        RNG.standard_normal((4, 3)),
    ),
    "solution of a solution": (
        lambda a: root(lambda x: x * x - root(lambda y: y**3 - a * x, 1.0), 1.5),
        2.0,
    ),
    "complex": (
        lambda a: root(lambda z: z * z * z - a, 1.0 + 1.0j),
        1.0 + 2.0j,
    ),
    "not holomorphic": (
        lambda a: root(lambda z: z + 0.3 * np.conj(z) * z - a, np.array([0.5 + 0.1j, 0.0])),
        np.array([1.0 + 0.5j, 0.3 - 0.2j]),
    ),
}


@pytest.mark.parametrize("case", sorted(ROOTS))
def test_root(case, right):
    f, *operands = ROOTS[case]
    right(f, *operands)


SYMMETRIC = M @ M.T

SOLVES = {
    "captured": (lambda a, b: linear_solve(lambda y: a @ y, b), M, P),
    "parameter": (lambda a, b: linear_solve(lambda y, a: a @ y, b, a), M, P),
    "gmres": (lambda a, b: linear_solve(lambda y: a @ y, b, solver="gmres"), M, P),
    "cg": (
        lambda a, b: linear_solve(lambda y: a @ (a.T @ y), b, solver="cg"),
        M,
        P,
    ),
    "symmetric": (
        lambda a, b: linear_solve(lambda y: a @ (a.T @ y), b, solver="gmres", symmetric=True),
        M,
        P,
    ),
    "solver of one's own": (
        lambda a, b: linear_solve(lambda y: a @ y, b, solver=by_columns),
        M,
        P,
    ),
    "structure": (
        lambda a, b: linear_solve(
            lambda y: {"u": a @ y["u"] + y["v"], "v": 3.0 * y["v"] - y["u"][0]}, b
        ),
        M,
        {"u": P, "v": 1.5},
    ),
    "matrix unknown": (lambda a, b: linear_solve(lambda y: a @ y + y @ a.T, b), M, M.T),
    "independent": (
        lambda a, b: linear_solve(lambda y: np.einsum("nij,nj->ni", a, y), b, batch=1),
        M + np.arange(4.0).reshape(4, 1, 1) * np.eye(3),
        RNG.standard_normal((4, 3)),
    ),
    "complex": (
        lambda a, b: linear_solve(lambda y: a @ y, b),
        M + 1j * M.T,
        P + 1j,
    ),
    "linear over the reals": (
        lambda a, b: linear_solve(lambda y: a @ y + 0.5 * np.conj(y), b, solver="gmres"),
        M + 1j * M.T,
        P + 1j,
    ),
    "number": (lambda a, b: linear_solve(lambda y: a * y, b), 2.0, 3.0),
}


def by_columns(matvec, b):
    a = np.stack([matvec(e) for e in np.eye(b.size)], axis=1)
    return np.linalg.solve(a, b)


@pytest.mark.parametrize("case", sorted(SOLVES))
def test_linear_solve(case, right):
    f, *operands = SOLVES[case]
    right(f, *operands)


POINTS = {
    "captured": (lambda p: fixed_point(lambda x: 0.3 * np.tanh(M @ x) + p, np.zeros(3)), P),
    "parameter": (lambda p: fixed_point(lambda x, p: np.cos(p * x), 1.0, p), 0.7),
    "newton": (
        lambda p: fixed_point(lambda x: 0.3 * np.tanh(M @ x) + p, np.zeros(3), solver="newton"),
        P,
    ),
    "structure": (
        lambda p: fixed_point(
            lambda z: (0.5 * np.sin(z[1]) + p, 0.5 * np.cos(z[0])), (np.zeros(3), np.zeros(3))
        ),
        P,
    ),
    "independent": (
        lambda p: fixed_point(lambda x: 0.5 * np.cos(p * x), np.zeros(4), batch=1),
        np.arange(1.0, 5.0) / 3,
    ),
}


@pytest.mark.parametrize("case", sorted(POINTS))
def test_fixed_point(case, right):
    f, *operands = POINTS[case]
    right(f, *operands)


MINIMA = {
    "quartic": (
        lambda p: minimize(lambda x: np.sum((x - p) ** 4) + np.sum(np.exp(p * x) + x**2), P),
        P,
    ),
    "number": (lambda a, b: minimize(lambda x, a: (x - a) ** 2 + b * np.exp(x), 0.0, a), 3.0, 0.1),
    "Rosenbrock": (
        lambda a, b: minimize(
            lambda x: (a - x[0]) ** 2 + b * (x[1] - x[0] ** 2) ** 2, np.array([-1.2, 1.0])
        ),
        1.0,
        100.0,
    ),
    "structure": (
        lambda p: minimize(
            lambda z: np.sum((z["u"] - p) ** 2) + z["v"] ** 2 * (1 + np.sum(z["u"] ** 2)) + z["v"],
            {"u": np.zeros(3), "v": 0.0},
        ),
        P,
    ),
}


@pytest.mark.parametrize("case", sorted(MINIMA))
def test_minimize(case, right):
    f, *operands = MINIMA[case]
    right(f, *operands, second_rtol=1e-5)


def test_minimize_of_many_unknowns():
    p = np.linspace(1.0, 2.0, 400)

    def f(p):
        return minimize(lambda x: np.sum((x - p) ** 2) + 0.1 * np.sum(x**2), 0.0 * p)

    np.testing.assert_allclose(f(p), p / 1.1, rtol=1e-8)
    np.testing.assert_allclose(grad(lambda p: np.sum(f(p)))(p), 1 / 1.1, rtol=1e-8)


# ---------------------------------------------------------------------- against another library


def test_as_jax_custom_root():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy

    def theirs(p):
        def f(x):
            return jnp.asarray(M) @ x + jnp.sin(x) * p - p**2

        def newton(f, x):
            for _ in range(20):
                x = x - jnp.linalg.solve(jax.jacobian(f)(x), f(x))
            return x

        x = jax.lax.custom_root(
            f, jnp.zeros(3), newton, lambda g, y: jnp.linalg.solve(jax.jacobian(g)(y), y)
        )
        return jnp.sum(jnp.cos(x))

    def ours(p):
        return np.sum(np.cos(root(lambda x: M @ x + np.sin(x) * p - p**2, np.zeros(3))))

    np.testing.assert_allclose(grad(ours)(P), jax.grad(theirs)(jnp.asarray(P)), rtol=1e-10)
    expected = jax.jacfwd(jax.jacfwd(theirs))(jnp.asarray(P))
    for n, e in enumerate(np.eye(3)):
        np.testing.assert_allclose(jvp(grad(ours), (P,), (e,))[1], expected[n], rtol=1e-9)


def test_a_batch_is_the_loop_over_it():
    b = RNG.standard_normal((6, 3))

    def alone(b):
        return root(lambda x: M @ x + x**3 - b, np.zeros(3))

    def together(b):
        return root(lambda x: x @ M.T + x**3 - b, np.zeros((6, 3)), batch=1)

    y, pullback = vjp(together, b)
    y_bar = RNG.standard_normal((6, 3))
    for i in range(6):
        one, pull = vjp(alone, b[i])
        np.testing.assert_allclose(y[i], one, rtol=1e-13)
        np.testing.assert_allclose(pullback(y_bar)[0][i], pull(y_bar[i])[0], rtol=1e-10)


def test_large_batch_of_numbers_needs_no_matrix():
    a = np.linspace(1.0, 9.0, 5000)
    y, pullback = vjp(lambda a: root(lambda x: x * x - a, np.ones(5000), batch=1), a)
    np.testing.assert_allclose(y, np.sqrt(a), rtol=1e-14)
    np.testing.assert_allclose(pullback(np.ones(5000))[0], 0.5 / np.sqrt(a), rtol=1e-12)


def test_large_linear_system_by_products():
    n = 2000
    d = np.linspace(1.0, 2.0, n)

    def f(c):
        def matvec(y):
            around = np.concatenate([y[1:], y[:1]]) + np.concatenate([y[-1:], y[:-1]])
            return d * y + c * around

        return np.sum(linear_solve(matvec, np.ones(n)) ** 2)

    h = 1e-5
    assert grad(f)(0.2) == pytest.approx((f(0.2 + h) - f(0.2 - h)) / (2 * h), rel=1e-7)


# --------------------------------------------------------------------------------------- dtypes


@pytest.mark.parametrize(
    "f",
    [
        lambda p: root(lambda x: x**3 + x - p, np.zeros(3, np.float32)),
        lambda p: fixed_point(lambda x: np.float32(0.3) * np.tanh(x) + p, np.zeros(3, np.float32)),
        lambda p: linear_solve(lambda y: p * y, np.ones(3, np.float32)),
        lambda p: minimize(lambda x: np.sum((x - p) ** 2 + x**4), np.zeros(3, np.float32)),
    ],
)
def test_float32_is_kept(f):
    p = np.array([1.0, 2.0, 3.0], np.float32)
    y, pullback = vjp(f, p)
    bar = pullback(np.ones(3, np.float32))[0]
    assert y.dtype == bar.dtype == np.float32
    expected = (
        vjp(f, p.astype(float))[1](np.ones(3))[0] if f(p.astype(float)).dtype == float else bar
    )
    np.testing.assert_allclose(bar, expected, rtol=1e-4)


def test_integers_are_where_to_start():
    assert root(lambda x: x * x - 4.0, 1) == 2.0
    np.testing.assert_allclose(root(lambda x: x * x - 4.0, np.array([1, 3])), [2.0, 2.0])
    assert grad(lambda a: root(lambda x: x * x - a, 1))(4.0) == pytest.approx(0.25)


# ------------------------------------------------------------------- the solver is never traced


class Counting:
    """A solver of somebody's own, which says how often it ran, and on what."""

    def __init__(self):
        self.calls = 0
        self.seen = set()

    def __call__(self, f, x0):
        self.calls += 1
        optimize = pytest.importorskip("scipy.optimize")
        found = optimize.root(f, x0, tol=1e-13)
        self.seen.add(type(f(found.x)))
        return found.x


def test_solver_runs_once_and_on_plain_values():
    solver = Counting()

    def f(p):
        return np.sum(root(lambda x: M @ x + x**3 - p, np.zeros(3), solver=solver) ** 2)

    y, pullback = vjp(f, P)
    assert solver.calls == 1
    first = pullback(1.0)[0]
    pullback(2.0)
    assert solver.calls == 1
    assert solver.seen == {np.ndarray}
    np.testing.assert_allclose(
        first, grad(lambda p: np.sum(root(lambda x: M @ x + x**3 - p, np.zeros(3)) ** 2))(P)
    )
    jvp(f, (P,), (P,))
    assert solver.calls == 2
    jvp(grad(f), (P,), (P,))
    assert solver.calls == 3  # one value, whatever the order
    assert y == f(P)


def test_iterations_are_not_recorded():
    with Tape(persistent=True) as tape:
        p = tape.variable(P)
        root(lambda x: M @ x + x**3 - p, np.zeros(3))
    assert len(tape) == 2  # the input, and the operation


def test_linear_solvers_are_given_the_operator_and_its_transpose():
    given = []

    def solver(matvec, b):
        given.append(np.stack([matvec(e) for e in np.eye(3)], axis=1))
        return np.linalg.solve(given[-1], b)

    grad(lambda b: np.sum(linear_solve(lambda y: M @ y, b, solver=solver)))(P)
    np.testing.assert_allclose(given, [M, M.T])


def test_transpose_solve():
    def forward(matvec, b):
        return np.linalg.solve(M, b)

    def backward(matvec, b):
        return np.linalg.solve(M.T, b)

    def f(b):
        return np.sum(
            linear_solve(lambda y: M @ y, b, solver=forward, transpose_solve=backward) ** 2
        )

    y = np.linalg.solve(M, P)
    np.testing.assert_allclose(grad(f)(P), np.linalg.solve(M.T, 2 * y))
    np.testing.assert_allclose(
        jvp(grad(f), (P,), (P,))[1], np.linalg.solve(M.T, 2 * np.linalg.solve(M, P))
    )


def test_solver_that_forgets_the_transpose_is_noticed():
    def forward(matvec, b):
        return np.linalg.solve(M, b)

    with pytest.raises(ConvergenceError, match="transpose_solve"):
        grad(lambda b: np.sum(linear_solve(lambda y: M @ y, b, solver=forward)))(P)


# ----------------------------------------------------------------- where there is no derivative


@pytest.mark.parametrize("mode", [grad, lambda f: lambda a: jvp(f, (a,), (1.0,))])
@pytest.mark.parametrize(
    "f",
    [
        lambda a: root(lambda x: (x - 1.0) ** 2 - a, 3.0, solver=lambda f, x0: 1.0),
        lambda a: root(lambda x: (x - 1.0) ** 2 - a, 3.0),
        lambda a: root(lambda x: (x - 1.0) ** 3 - a, 3.0, max_steps=100),
        lambda a: np.sum(
            root(
                lambda x: np.array([1.0, 1.0]) * (x[0] + x[1]) - a,
                np.zeros(2),
                solver=lambda f, x0: x0,
            )
        ),
        lambda a: fixed_point(lambda x: x + 0.0 * a, 1.0),
        lambda a: minimize(lambda x: (x - 1.0) ** 4 + a * x, 1.0, solver=lambda f, x0: 1.0),
    ],
)
def test_singular_jacobian_is_reported(f, mode):
    with pytest.raises(NotDifferentiableError, match="singular at the solution"):
        mode(f)(0.0)


# -------------------------------------------------------------------------------------- engines


def test_rules_reach_the_engine_through_the_config():
    def f(x, a):
        return x * x - a

    with pytest.raises(NoRuleError):
        rrule(Config(), root, f, 1.0, 4.0)
    y, pullback = rrule(config, root, f, 1.0, 4.0)
    assert y == 2.0
    _, x0_bar, a_bar = pullback(1.0)
    assert x0_bar == ZeroTangent()
    assert a_bar == pytest.approx(0.25)
    y, y_dot = frule((ZeroTangent(), ZeroTangent(), 1.0), config, root, f, 1.0, 4.0)
    assert y_dot == pytest.approx(0.25)


def test_function_is_an_operand_with_a_cotangent():
    @dataclasses.dataclass
    class Quadratic:
        a: float

        def __call__(self, x):
            return x * x - self.a

    _, pullback = rrule(config, root, Quadratic(4.0), 1.0)
    f_bar, _ = pullback(1.0)
    assert type(f_bar) is Tangent[Quadratic]
    assert f_bar.a == pytest.approx(0.25)
    gradient = grad(lambda f: root(f, 1.0))(Quadratic(4.0))
    assert gradient.a == pytest.approx(0.25)


def test_gradients_of_gradients_on_one_tape():
    with Tape(differentiable=True) as tape:
        a = tape.variable(4.0)
        slope = tape.grad(root(lambda x, a: x * x - a, 1.0, a), a)
        bend = tape.grad(slope, a)
    assert slope.value == pytest.approx(1 / 4)
    assert bend.value == pytest.approx(-1 / 32)


class Step:
    """An object of an unregistered class: its numbers are constants unless they are traced."""

    def __init__(self, rate):
        self.rate = rate

    def __call__(self, x, p):
        return 0.5 * np.cos(self.rate * x) * p


@pytest.mark.parametrize(
    "solved",
    [
        lambda step, p: fixed_point(step, 0.3, p),
        lambda step, p: root(step, 1.3, p),
        lambda step, p: linear_solve(lambda x: step(0.0, 1.0) * x, p),
        lambda step, p: odeint(step, p, np.array([0.0, 0.7]))[-1],
    ],
)
def test_an_object_is_a_function_of_which_the_numbers_are_constants(solved):
    h = 1e-5
    for f, x in ((lambda p: solved(Step(0.8), p), 0.7), (lambda r: solved(Step(r), 0.7), 0.8)):
        assert grad(f)(x) == pytest.approx((f(x + h) - f(x - h)) / (2 * h), abs=1e-8)
        assert jvp(f, (x,), (1.0,))[1] == pytest.approx(grad(f)(x))


class Hidden:
    """Its class's attributes are not searched."""

    a = None

    def __call__(self, x):
        return x * x - type(self).a


def test_hidden_value_is_an_error_and_no_zero():
    def f(a):
        Hidden.a = a
        return root(Hidden(), 1.0)

    with pytest.raises(NotDifferentiableError, match="pass the value as a parameter"):
        grad(f)(4.0)


class Differences(Config):
    """An engine that knows differences alone, and serves one mode."""

    def __init__(self, mode):
        self.capabilities = frozenset([mode])

    def _matrix(self, f, operands):
        of, y = Coordinates(operands), f(*operands)
        out = Coordinates(y)

        def along(e):
            return derivative(lambda t: out.vector(f(*of.moved(t * e))))[0]

        return y, of, out, np.stack([along(e) for e in np.eye(of.size)], axis=1)

    def frule_via_ad(self, tangents, f, /, *operands):
        y, of, out, jacobian = self._matrix(f, operands)
        return y, out.tangent(jacobian @ of.vector(tangents))

    def rrule_via_ad(self, f, /, *operands):
        y, of, out, jacobian = self._matrix(f, operands)

        def pullback(y_bar):
            bar = of.tangent(jacobian.T @ out.vector(y_bar))
            return tuple([bar[i] for i in range(len(operands))])

        return y, pullback


@dataclasses.dataclass
class Cubic:
    a: np.ndarray

    def __call__(self, x, b=0.0):
        return self.a * x + x**3 - b


@pytest.mark.parametrize(
    "operation, operands, options",
    [
        (root, (Cubic(np.array([1.0, 2.0])), np.zeros(2), P[:2]), {}),
        (root, (Cubic(np.array([1.0, 2.0])), np.zeros(2), P[:2]), {"linear_solver": "gmres"}),
        (fixed_point, (Cubic(np.array([0.3, 0.2])), np.full(2, 0.1), np.array([0.1, -0.1])), {}),
        (linear_solve, (lambda y, a: a @ y, P, M), {}),
        (linear_solve, (lambda y, a: a @ (a.T @ y), P, M), {"solver": "cg"}),
    ],
)
def test_any_engine_will_do(operation, operands, options):
    """Each half needs one mode, of whatever engine the config is of."""
    y, pullback = rrule(config, operation, *operands, **options)
    of = Coordinates(operands)
    u = RNG.standard_normal(of.size)
    t = of.tangent(u)
    tangents = tuple([t[i] for i in range(len(operands))])
    _, expected = frule(tangents, config, operation, *operands, **options)
    _, y_dot = frule(tangents, Differences(ForwardMode), operation, *operands, **options)
    np.testing.assert_allclose(y_dot, expected, rtol=1e-8)
    _, theirs = rrule(Differences(ReverseMode), operation, *operands, **options)
    bars = of.vector(theirs(np.ones_like(y)))
    np.testing.assert_allclose(bars, of.vector(pullback(np.ones_like(y))), rtol=1e-7, atol=1e-9)


def test_without_a_config_the_installed_engine_serves():
    _, pullback = rrule(root, lambda x, a: x * x - a, 1.0, 4.0)
    assert pullback(1.0)[2] == pytest.approx(0.25)
    _, y_dot = frule((ZeroTangent(), ZeroTangent(), 1.0), root, lambda x, a: x * x - a, 1.0, 4.0)
    assert y_dot == pytest.approx(0.25)


def turned(z):
    return dict(reversed(z.items()))


SOLVED = {
    "root": lambda p, turned: root(
        lambda z: turned({"a": z["a"] ** 2 - p, "b": z["b"] - z["a"]}), {"a": 1.0, "b": 1.0}
    ),
    "fixed_point": lambda p, turned: fixed_point(
        lambda z: turned({"a": 0.5 * z["a"], "b": 0.3 * z["b"] + p}), {"a": 1.0, "b": 1.0}
    ),
    "linear_solve": lambda p, turned: linear_solve(
        lambda z: turned({"a": 2.0 * z["a"], "b": p * z["b"] + z["a"]}), {"a": 1.0, "b": 1.0}
    ),
    "a solver of one's own": lambda p, turned: root(
        lambda z: {"a": z["a"] - 2.0 * p, "b": z["b"] - p},
        {"a": 1.0, "b": 1.0},
        solver=lambda residual, z: turned({"a": 2.0 * 3.0, "b": 3.0}),
    ),
}


@pytest.mark.parametrize("solve", SOLVED.values(), ids=SOLVED)
def test_functions_may_return_the_keys_of_a_dict_in_any_order(solve):
    def f(turn):
        return lambda p: (lambda z: z["a"] + 10.0 * z["b"])(solve(p, turn))

    for of in (lambda f: f(3.0), lambda f: grad(f)(3.0), lambda f: jvp(f, (3.0,), (1.0,))[1]):
        assert of(f(turned)) == pytest.approx(of(f(dict)), rel=1e-12)


def test_nothing_to_solve_for():
    assert root(lambda x: x, np.zeros((0, 2))).shape == (0, 2)
    assert linear_solve(lambda y: y, ()) == ()
    y, pullback = vjp(lambda p: root(lambda x: x * p, np.zeros(0)), 2.0)
    assert pullback(y) == (0.0,)


# ------------------------------------------------------------------- what happens after the call


def in_a_loop(operation):
    """A sum over calls whose functions name what the loop rebinds, directly and through another."""

    def f(a):
        total = 0.0
        for k in (1.0, 2.0, 3.0):

            def helper(x):
                return k * x  # noqa: B023

            total = total + operation(helper, lambda x: k * x, a)  # noqa: B023
        return total

    return f


LOOPS = {
    "root": lambda g, h, a: root(lambda x: g(x) * x + h(x) - a, 1.0),
    "root, parameter": lambda g, h, a: root(lambda x, a: g(x) * x + h(x) - a, 1.0, a),
    "fixed_point": lambda g, h, a: fixed_point(lambda x: 0.1 * np.sin(g(x) + h(x)) + a, 1.0),
    "minimize": lambda g, h, a: minimize(lambda x: (x - a) ** 2 + g(x) * x + h(x) ** 4, 0.0),
    "linear_solve": lambda g, h, a: linear_solve(lambda y, a: g(y) + a * h(y), a, a * a),
    "odeint": lambda g, h, a: odeint(
        lambda y, t, a: -a * g(y) + t * h(y), 1.0, np.array([0.0, 0.3]), a, rtol=1e-9, atol=1e-9
    )[-1],
}


@pytest.mark.parametrize("case", sorted(LOOPS))
def test_backward_sees_the_names_as_they_were(case, right):
    """By the time of the backward pass, and of the one through that, the loop is over."""
    right(in_a_loop(LOOPS[case]), 1.7, rtol=1e-7)


@pytest.mark.parametrize("start", [1.0, np.float64(1.0), np.float32(1.0), np.array(1.0)], ids=repr)
def test_what_starts_as_a_number_is_one(start):
    """And no array without axes, which has no hash."""
    found = {
        "minimize": minimize(lambda x: (x - 2.0) ** 2, start),
        "linear_solve": linear_solve(lambda x: 0.5 * x, start),
        "root": root(lambda x: x - 2.0, start),
        "fixed_point": fixed_point(lambda x: 0.5 * x + 1.0, start),
    }
    for name, y in found.items():
        assert y == pytest.approx(2.0, rel=1e-5), name
        assert isinstance(start, np.ndarray) or hash(y) == hash(float(y)), name


def test_a_minimum_of_nothing():
    assert minimize(lambda x: np.sum(x * x), np.zeros(0)).shape == (0,)


def test_what_is_no_fixed_point_or_minimum_is_told():
    with pytest.raises(ValueError, match=r"of float64\[2\] it made float64\[3\]"):
        fixed_point(lambda x: np.ones(3), np.ones(2))
    with pytest.raises(NotDifferentiableError, match="return the number alone"):
        minimize(lambda x: (np.sum(x * x), 3), np.ones(2))
