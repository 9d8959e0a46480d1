"""Every transformation of JAX over many exported rules, against differences of NumPy's values."""

from __future__ import annotations

import functools
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from chainrules_jax import callback, export
from chainrules_jax.engine import call_linearization, call_primitive, linear_primitive
from chainrules_kit.custom_derivatives import custom_jvp, custom_vjp
from chainrules_py import LinearMap, primitive, rule, scalar_rule
from chainrules_py import ops as v
from chainrules_py.extend import Cache
from chainrules_py.testing.cases.differences import derivative

pytestmark = pytest.mark.usefixtures("double")


# ------------------------------------------------------------------------------------ the rules

rng = np.random.default_rng(7)


def x(*shape, low=0.3, high=1.7):
    """Distinct numbers in no order."""
    n = int(np.prod(shape, dtype=int))
    at = low + (high - low) * (np.arange(n) + rng.uniform(0.2, 0.8, n)) / n
    return rng.permutation(at).reshape(shape)


def z(*shape):
    return x(*shape) + 1j * x(*shape, low=-1.0, high=0.8)


def matrix(n=2):
    return x(n, n, low=-0.4, high=0.4) + np.diag(np.arange(1.0, n + 1))


@primitive
def swish(x, slope):
    """The user's own function, in words."""
    return x * v.expit(slope * x)


@rule(swish)
def swish_rule(x, slope):
    """Both halves, which save what they need."""
    s = v.expit(slope * x)
    first = s + slope * x * s * (1 - s)
    second = x * x * s * (1 - s)
    push, pull = lambda t, p: p * t, lambda t, p: v.conj(p) * t
    return x * s, (LinearMap(push, pull, first), LinearMap(push, pull, second))


@primitive
def cubed(x):
    """Computed by NumPy alone."""
    return np.asarray(x) ** 3


@primitive
def squared(x):
    """Computed by NumPy alone."""
    return np.asarray(x) ** 2


scalar_rule(cubed, lambda _y, x: 3.0 * squared(x))
scalar_rule(squared, lambda _y, x: 2.0 * x)
callback(cubed, result=lambda x: x, vectorized=True)
callback(squared, result=lambda x: x)


@custom_vjp
def halved(x):
    """A function with its own derivative."""
    return 0.5 * x * x


halved.defvjp(lambda x: (0.5 * x * x, x), lambda x, y_bar: (x * y_bar,))


def equation(u, a):
    return u**3 + a * u - 2.0


ROWS, _ = v.Index.split(([2, 0, 2], slice(1, None)), np.asarray)


def contraction(u, a):
    return 0.5 * v.cos(a * u)


CASES = {
    # A lambda is given what exports a function: nothing, where NumPy computes.
    # elementwise
    "sin": (v.sin, x(3)),
    "exp": (np.exp, x(3)),
    "log": (np.log, x(3)),
    "sqrt": (np.sqrt, x(3)),
    "tanh": (v.tanh, x(3)),
    "multiply": (np.multiply, x(2, 2), x(2)),
    "divide": (v.divide, x(2), x(2, 1)),
    "power": (np.power, x(3), x(3)),
    "hypot": (np.hypot, x(3), x(3)),
    "arctan2": (np.arctan2, x(3), x(3)),
    "logaddexp": (np.logaddexp, x(3), x(3)),
    "maximum": (np.maximum, x(3), x(3)),
    "abs of complex": (np.abs, z(3)),
    "exp of complex": (np.exp, z(2)),
    "multiply of complex": (np.multiply, z(2), z(2)),
    "conj": (np.conj, z(2)),
    # special functions, one of them JAX's own, one called back
    "gammaln": (v.gammaln, x(3)),
    "erfcx": (v.erfcx, x(3)),
    # reductions
    "sum": (lambda e, x: e(np.sum)(x, axis=0), x(2, 2)),
    "mean": (np.mean, x(2, 2)),
    "prod": (np.prod, x(4)),
    "var": (np.var, x(4)),
    "logsumexp": (v.logsumexp, x(4)),
    "max": (np.max, x(4)),
    "cumsum": (np.cumsum, x(3)),
    "cumprod": (np.cumprod, x(3)),
    "median": (np.median, x(4)),
    # order and places
    "sort": (np.sort, x(5)),
    "getitem": (lambda e, x: v.getitem(x, np.array([2, 0, 2]), index=ROWS), x(3, 2)),
    "getitem by rows": (lambda e, x: v.index(x, slice(None, None, -1)), x(3, 2)),
    "where": (lambda e, x, y: e(np.where)(np.array([True, False, True]), x, y), x(3), x(3)),
    "take_along_axis": (lambda e, x: e(np.take_along_axis)(x, np.array([[1], [0]]), 1), x(2, 2)),
    "concatenate": (lambda e, x, y: e(np.concatenate)([x, y]), x(2), x(3)),
    "transpose": (np.transpose, x(2, 3)),
    "pad": (lambda e, x: e(np.pad)(x, 1, mode="reflect"), x(4)),
    "interp": (np.interp, x(2, low=0.3, high=0.9), np.array([0.0, 1.0, 2.0]), x(3)),
    # products
    "matmul": (np.matmul, x(2, 3), x(3, 2)),
    "matmul of complex": (np.matmul, z(2, 2), z(2)),
    "einsum": (lambda e, x, y: e(np.einsum)("ij,kj->ik", x, y), x(2, 2), x(2, 2)),
    "tensordot": (lambda e, x, y: e(np.tensordot)(x, y, 1), x(2, 2), x(2)),
    # linear algebra
    "inv": (np.linalg.inv, matrix()),
    "solve": (np.linalg.solve, matrix(), x(2)),
    "solve of complex": (np.linalg.solve, matrix() + 1j * matrix(), z(2)),
    "det": (np.linalg.det, matrix(3)),
    "slogdet": (lambda e, a: e(np.linalg.slogdet)(a)[1], matrix(3)),
    "cholesky": (lambda e, a: e(np.linalg.cholesky)(a @ a.T + np.eye(2)), matrix()),
    "qr": (lambda e, a: e(np.linalg.qr)(a)[1], x(3, 2)),
    "svd": (lambda e, a: e(np.linalg.svd)(a)[1], x(2, 3)),
    "svd, vectors": (lambda e, a: abs(e(np.linalg.svd)(a, full_matrices=False)[0]), x(3, 2)),
    "svd of complex": (lambda e, a: abs(e(np.linalg.svd)(a)[2]), z(2, 2)),
    "eigh": (lambda e, a: e(np.linalg.eigh)(a + a.T)[0], matrix()),
    "eigh, vectors": (lambda e, a: abs(e(np.linalg.eigh)(a + a.T)[1]), matrix()),
    "eig": (lambda e, a: abs(e(np.linalg.eig)(a)[1]), matrix()),
    "norm": (np.linalg.norm, x(3)),
    "pinv": (np.linalg.pinv, x(3, 2)),
    "fft": (np.fft.fft, z(3)),
    "irfft": (np.fft.irfft, z(3)),
    # of the user
    "swish": (swish, x(3), 1.3),
    "cubed": (cubed, x(3)),
    "halved": (halved, x(3)),
    # of functions
    "root": (lambda e, a: v.root(equation, 1.0 + 0 * a, a), x(2)),
    "fixed_point": (lambda e, a: v.fixed_point(contraction, 0.5 + 0 * a, a), x(2)),
    "linear_solve": (lambda e, a, b: v.linear_solve(lambda u, a: a @ u, b, a), matrix(), x(2)),
    "map": (lambda e, a, b: v.map(lambda u: u * v.sin(b * u), a), x(3), x()),
    "odeint": (
        lambda e, y, a: v.odeint(
            lambda y, t, a: -a * y, y, np.array([0.0, 0.3]), a, rtol=1e-11, atol=1e-11
        ),
        x(2),
        x(),
    ),
}
LOOSE = {"odeint": 1e-5}
"""What is computed to a tolerance is right to one."""


class Problem:
    """A rule as a function of a vector of real numbers, and what is known of it without JAX."""

    def __init__(self, name):
        f, *operands = CASES[name]
        self.operands = [np.asarray(a) for a in operands]
        given = getattr(f, "__name__", "") == "<lambda>"
        self.f = functools.partial(f, lambda g: g) if given else f
        self.exported = export(functools.partial(f, export) if given else f)
        self.rtol = LOOSE.get(name, 1e-7)
        self.u = np.concatenate([self.flat(np, a) for a in self.operands])
        self.size = self.plain(self.u).size
        local = np.random.default_rng(3)
        self.t = local.standard_normal(self.u.size)
        self.weights = local.standard_normal(self.size)

    @staticmethod
    def flat(xp, y):
        y = xp.asarray(y)
        if xp.iscomplexobj(y):
            return xp.concatenate([y.real.ravel(), y.imag.ravel()])
        return y.ravel()

    def operands_of(self, u):
        found, start = [], 0
        for a in self.operands:
            n = a.size
            part = u[start : start + n].reshape(a.shape)
            if np.iscomplexobj(a):
                part = part + 1j * u[start + n : start + 2 * n].reshape(a.shape)
                start += n
            start += n
            found.append(part)
        return found

    def plain(self, u):
        """The value, by NumPy."""
        return self.flat(np, self.f(*self.operands_of(u)))

    def whole(self, u):
        """The value, exported."""
        return self.flat(jnp, self.exported(*self.operands_of(u)))

    def loss(self, u):
        y = self.whole(u)
        return self.weights @ y + 0.5 * (y @ y)

    def near(self, have, want):
        want = np.asarray(want)
        scale = max(1.0, float(np.max(np.abs(want), initial=0.0)))
        np.testing.assert_allclose(have, want, rtol=self.rtol, atol=self.rtol * scale)

    @functools.cached_property
    def jacobian(self):
        """By differences of NumPy's values."""
        eye = np.eye(self.u.size)
        return np.stack([derivative(lambda h, e=e: self.plain(self.u + h * e))[0] for e in eye], 1)

    @functools.cached_property
    def gradient(self):
        return self.jacobian.T @ (self.weights + self.plain(self.u))

    @functools.cached_property
    def hessian(self):
        """By differences of the gradient, which is compared with differences itself."""
        self.near(np.asarray(jax.grad(self.loss)(self.u)), self.gradient)
        slope = jax.jit(jax.grad(self.loss))
        eye = np.eye(self.u.size)
        found = [derivative(lambda h, e=e: np.asarray(slope(self.u + h * e)))[0] for e in eye]
        return np.stack(found, 1)

    @property
    def several(self):
        return self.u + 0.01 * np.arange(3)[:, None] * self.t


def in_jit(p):
    p.near(jax.jit(p.whole)(p.u), p.plain(p.u))


def in_grad(p):
    p.near(jax.grad(p.loss)(p.u), p.gradient)


def in_jvp(p):
    y, y_dot = jax.jvp(p.whole, (p.u,), (p.t,))
    p.near(y, p.plain(p.u))
    p.near(y_dot, p.jacobian @ p.t)


def in_vmap(p):
    p.near(jax.vmap(p.whole)(p.several), [p.plain(u) for u in p.several])


def in_jit_of_grad(p):
    p.near(jax.jit(jax.grad(p.loss))(p.u), p.gradient)


def in_vmap_of_grad(p):
    each = [jax.grad(p.loss)(u) for u in p.several]
    p.near(each[0], p.gradient)
    p.near(jax.vmap(jax.grad(p.loss))(p.several), each)


def in_grad_of_vmap(p):
    together = jax.grad(lambda us: jnp.sum(jax.vmap(p.loss)(us) * jnp.arange(1.0, 4.0)))
    each = [n * jax.grad(p.loss)(u) for n, u in enumerate(p.several, 1)]
    p.near(together(p.several), each)


def in_forward_over_reverse(p):
    p.near(jax.jacfwd(jax.grad(p.loss))(p.u), p.hessian)


def in_reverse_over_forward(p):
    p.near(jax.jacrev(jax.jacfwd(p.loss))(p.u), p.hessian)


def in_reverse_over_reverse(p):
    p.near(jax.jacrev(jax.grad(p.loss))(p.u), p.hessian)


def in_linearize(p):
    y, push = jax.linearize(p.whole, p.u)
    p.near(y, p.plain(p.u))
    p.near(push(p.t), p.jacobian @ p.t)
    (transposed,) = jax.linear_transpose(push, p.u)(p.weights)
    p.near(transposed, p.jacobian.T @ p.weights)


def in_scan(p):
    def total(us):
        return jax.lax.scan(lambda sum, u: (sum + p.loss(u), None), 0.0, us)[0]

    p.near(jax.grad(total)(p.several), [jax.grad(p.loss)(u) for u in p.several])


def in_checkpoint(p):
    p.near(jax.grad(jax.checkpoint(p.loss))(p.u), p.gradient)


def in_check_grads(p):
    if p.rtol == 1e-7:
        check_grads(p.loss, (p.u,), order=3, modes=("fwd", "rev"), rtol=2e-3, atol=2e-3)
    else:
        check_grads(p.loss, (p.u,), order=1, modes=("fwd", "rev"), rtol=1e-2, atol=1e-2)


def in_halves(p):
    """Forward mode pushes and does not pull, reverse mode pulls and does not push."""
    counted = SimpleNamespace(pushed=0, pulled=0)

    def counting(forward, backward, *rest):
        def push(*args):
            counted.pushed += 1
            return forward(*args)

        def pull(*args):
            counted.pulled += 1
            return backward(*args)

        return linear_primitive.LinearPair(push, pull, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(call_linearization, "LinearPair", counting)
        patch.setattr(call_primitive, "_programs", Cache())  # which keeps the pairs of equal calls
        whole = lambda u: p.whole(u)
        pushed = jax.jvp(whole, (p.u,), (p.t,))[1]
        assert not counted.pulled
        forward, counted.pushed = counted.pushed, 0
        pulled = jax.vjp(whole, p.u)[1](p.weights)[0]
        assert not counted.pushed
    assert (forward > 0) == (counted.pulled > 0)
    p.near(p.weights @ pushed, pulled @ p.t)


BATTERY = {
    "jit": in_jit,
    "grad": in_grad,
    "jvp": in_jvp,
    "vmap": in_vmap,
    "jit(grad)": in_jit_of_grad,
    "vmap(grad)": in_vmap_of_grad,
    "grad(vmap)": in_grad_of_vmap,
    "forward over reverse": in_forward_over_reverse,
    "reverse over forward": in_reverse_over_forward,
    "reverse over reverse": in_reverse_over_reverse,
    "linearize": in_linearize,
    "scan": in_scan,
    "checkpoint": in_checkpoint,
    "check_grads": in_check_grads,
    "halves": in_halves,
}

QUICK = {
    "jit": "svd of complex",
    "grad": "sort",
    "jvp": "cholesky",
    "vmap": "getitem",
    "jit(grad)": "root",
    "vmap(grad)": "swish",
    "grad(vmap)": "logsumexp",
    "forward over reverse": "norm",
    "reverse over forward": "multiply of complex",
    "reverse over reverse": "halved",
    "linearize": "einsum",
    "scan": "solve",
    "checkpoint": "power",
    "check_grads": "cubed",
    "halves": "linear_solve",
}
"""What `make test` runs of it; the whole is slow."""


@functools.cache
def problem(name):
    return Problem(name)


def chosen():
    for name in CASES:
        for transformation in BATTERY:
            marks = () if QUICK[transformation] == name else pytest.mark.slow
            yield pytest.param(name, transformation, marks=marks)


# At third order the gauge's report is heard where differences are taken through the derivatives.
@pytest.mark.filterwarnings("ignore::chainrules_py.errors.DegeneracyWarning")
@pytest.mark.parts(4)
@pytest.mark.parametrize("name, transformation", list(chosen()))
def test_battery(name, transformation):
    BATTERY[transformation](problem(name))


def test_a_custom_jvp_is_pulled_back_at_every_order():
    """The pullback that was kept is filled again, after its residuals were handed over."""

    @custom_jvp
    def height(x):
        return v.sqrt(x * x + 1.0)

    @height.defjvp
    def height_jvp(primals, tangents):
        (x,), (t,) = primals, tangents
        y = height(x)
        return y, x / y * t

    slope = jax.grad(export(height))
    h = np.sqrt(1.09)
    assert slope(0.3) == pytest.approx(0.3 / h)
    assert jax.grad(slope)(0.3) == pytest.approx(h**-3)
    assert jax.grad(jax.grad(slope))(0.3) == pytest.approx(-0.9 * h**-5)
