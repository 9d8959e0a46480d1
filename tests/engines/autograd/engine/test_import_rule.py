"""Functions that autograd lacks, exported to it, and functions of autograd's as rules."""

import functools

import autograd
import autograd.numpy as anp
import autograd.scipy.special
import numpy as np
import pytest
from autograd import grad, hessian, make_jvp

import chainrules_autograd as adapter
from chainrules_py import RuleError, frule, primitive, rrule, rules_for
from chainrules_py import ops as v
from chainrules_py.primitives.plugins import Layer
from chainrules_py.testing.cases.differences import derivative
from chainrules_tape import grad as tape_grad
from chainrules_tape import jvp as tape_jvp

X = np.array([0.3, -0.7, 1.2, 2.5])
A = np.array([[2.0, 0.3, 0.1], [0.4, 1.5, -0.2], [0.0, 0.3, 1.1]])

CALLS = {
    "median": lambda f, x: f(x),
    "quantile": lambda f, x: f(x, 0.3),
    "cumprod": lambda f, x: f(x),
    "nanmean": lambda f, x: f(x),
    "interp": lambda f, x: f(x, np.array([-2.0, 0.0, 3.0]), np.array([1.0, 0.0, 9.0])),
    "convolve": lambda f, x: f(x, x[:2]),
    "polyval": lambda f, x: f(x[:2], x[2:]),
    "trapezoid": lambda f, x: f(x, dx=0.5),
    "cov": lambda f, x: f(anp.reshape(x, (2, 2))),
    "block": lambda f, x: f([[x, x * x], [x, 1.0 + x]]),
    "average": lambda f, x: f(x, weights=x * x),
    "linalg.qr": lambda f, x: f(A[:2, :2] + anp.reshape(x, (2, 2)))[1],
    "linalg.svdvals": lambda f, x: f(anp.reshape(x, (2, 2))),
    "linalg.eigvals": lambda f, x: f(A[:2, :2] + 0.1 * anp.reshape(x, (2, 2))),
    "linalg.multi_dot": lambda f, x: f([A[:2, :2], anp.reshape(x, (2, 2)), A[:2, :2]]),
    "take_along_axis": lambda f, x: f(x, np.array([0, 0, 3]), 0),
    "concat": lambda f, x: f([x, x * x]),
    "cbrt": lambda f, x: f(x),
    "vdot": lambda f, x: f(x, x * x),
    "apply_along_axis": lambda f, x: f(lambda row: anp.sum(row**2), 0, x),
}


def find(space, name):
    for part in name.split("."):
        space = getattr(space, part)
    return space


@pytest.mark.parametrize("name", CALLS)
def test_functions_that_autograd_lacks(name):
    native = find(np, name)
    f = adapter.export(native)
    call = CALLS[name]

    def loss(x):
        return anp.sum(anp.sin(anp.real(call(f, x))))

    u = np.array([1.0, -0.5, 0.25, 2.0])
    truth, _ = derivative(lambda t: np.sum(np.sin(np.real(call(native, X + t * u)))))
    assert np.array_equal(call(f, X), call(native, X))
    assert np.sum(grad(loss)(X) * u) == pytest.approx(float(truth), abs=1e-9)
    assert make_jvp(loss)(X)(u)[1] == pytest.approx(float(truth), abs=1e-9)
    truth, _ = derivative(lambda t: np.sum(grad(loss)(X + t * u) * u))
    assert make_jvp(lambda x: anp.sum(grad(loss)(x) * u))(X)(u)[1] == pytest.approx(
        float(truth), abs=1e-8
    )
    assert u @ hessian(loss)(X) @ u == pytest.approx(float(truth), abs=1e-8)


eigh, slogdet, svd, fft = map(
    adapter.export, (np.linalg.eigh, np.linalg.slogdet, np.linalg.svd, np.fft.fft)
)
solve = adapter.export(np.linalg.solve)


@pytest.mark.parametrize(
    "call",
    [
        adapter.export(np.linalg.det),
        adapter.export(np.linalg.inv),
        lambda a: eigh(a + a.T)[0],
        lambda a: slogdet(a)[1],
        lambda a: svd(a, full_matrices=False)[1],
        lambda a: solve(a, A[0]),
        lambda a: anp.real(fft(a)),
    ],
)
def test_forward_modes_that_autograd_lacks(call):
    u = A.T + 1.0
    truth, _ = derivative(lambda t: call(A + t * u))
    assert np.allclose(make_jvp(call)(A)(u)[1], truth)
    found = make_jvp(lambda a: grad(lambda a: anp.sum(anp.sin(call(a))))(a))(A)(u)[1]
    truth, _ = derivative(lambda t: grad(lambda a: anp.sum(anp.sin(call(a))))(A + t * u))
    assert np.allclose(found, truth, atol=1e-8)


def test_where_autograd_has_no_derivative():
    total, norm = adapter.export(np.sum), adapter.export(np.linalg.norm)
    masked = lambda x: total(x, where=np.array([True, False, True, True]))
    assert np.array_equal(grad(masked)(X), [1, 0, 1, 1])
    assert np.array_equal(grad(norm)(np.zeros(3)), np.zeros(3))
    found, y = autograd.jacobian(adapter.export(v.softmax))(X), v.softmax(X)
    assert np.allclose(found, np.diag(y) - np.outer(y, y))


# ------------------------------------------------------------------------------- the other way


def wave(x, y, phase=0.5):
    return anp.sin(x * y + phase) * y


def test_imported_rules():
    f = adapter.import_rule(wave)
    y = np.array([1.0, 2.0, -1.0, 0.5])
    assert np.array_equal(f(X, y), wave(X, y))
    pullback = rrule(f, X, y)[1]
    c = np.cos(X * y + 0.5)
    assert np.allclose(pullback(np.ones(4))[0], c * y * y)
    assert np.allclose(pullback(np.ones(4))[1], c * X * y + np.sin(X * y + 0.5))
    assert np.allclose(frule((X, 0 * X), f, X, y, phase=1.0)[1], np.cos(X * y + 1.0) * y * y * X)


@pytest.mark.parametrize("operands", [(X, X * X), (0.4, X), (X + 0.5j, X), (0.4, 0.5)])
def test_imported_rules_of_any_order(operands):
    f = adapter.import_rule(wave)

    def loss(t):
        y = f(operands[0] * t, operands[1] + t)
        return v.sum(v.real(y) + 0.5 * v.imag(y))

    g = loss
    for n in range(3):
        truth, error = derivative(lambda t, g=g: np.asarray(g(0.7 + t)))
        allowed = max(1e-7 * max(1.0, abs(truth)), 50 * error)
        assert abs(tape_grad(g)(0.7) - truth) <= allowed
        assert abs(tape_jvp(g, (0.7,), (1.0,))[1] - truth) <= allowed
        g = tape_grad(g) if n % 2 else lambda t, g=g: tape_jvp(g, (t,), (1.0,))[1]


@pytest.mark.parametrize("name", ["linalg.inv", "fft.fft", "linalg.solve"])
def test_imported_functions_without_a_forward_mode_have_the_transpose(name):
    f = functools.reduce(getattr, name.split("."), anp)
    a = np.random.default_rng(0).standard_normal((3, 3)) + 3 * np.eye(3)
    xs = (a, a.T) if name == "linalg.solve" else (a,)
    imported = adapter.import_rule(f, operands=len(xs))
    pushed = tape_jvp(lambda x: imported(x, *xs[1:]), (a,), (a.T,))[1]
    near = lambda t: f(a + t * a.T, *xs[1:])
    np.testing.assert_allclose(pushed, (near(1e-6) - near(-1e-6)) / 2e-6, atol=1e-7)


@autograd.extend.primitive
def product(x, y):
    return x * y**2


autograd.extend.defvjp(
    product, lambda _, x, y: lambda g: g * y**2, lambda _, x, y: lambda g: 2 * g * x * y
)


@pytest.mark.parametrize(
    "f", [product, autograd.scipy.special.gammaln, anp.multiply, anp.linalg.inv, anp.sum]
)
def test_primitives_of_autograd_have_the_operands_of_what_they_wrap(f):
    imported = adapter.import_rule(f)
    xs = (A + 1.0, A.T + 2.0)[: len(imported.operands)]

    def along(t):
        return v.sum(imported(*[x + t * v.cos(x) for x in xs]) ** 2)

    truth, error = derivative(lambda t: np.asarray(along(t)))
    assert imported.__name__ == f.__name__
    assert abs(tape_grad(along)(0.0) - truth) <= max(1e-7 * abs(truth), 50 * error)


def test_an_attribute_of_an_object_is_no_function_that_autograd_wraps():
    class Scaled:
        def __init__(self, fun):
            self.fun = fun

        def __call__(self, x, scale=1.0):
            return self.fun(x, x) * scale

    imported = adapter.import_rule(Scaled(anp.multiply))
    slope = tape_grad(lambda x: v.sum(imported(x, scale=3.0)))
    np.testing.assert_allclose(slope(X), 6.0 * X)


def test_imported_rules_of_several_results():
    f = adapter.import_rule(lambda x: (anp.sum(x), x * x), operands=1)
    assert np.allclose(
        tape_grad(lambda x: f(x)[0] * v.sum(f(x)[1]))(X), np.sum(X**2) + 2 * X * np.sum(X)
    )


def test_imported_rules_take_other_libraries():
    torch = pytest.importorskip("torch")
    f = adapter.import_rule(wave)
    x = torch.tensor(X)
    y = f(x, x)
    assert isinstance(y, torch.Tensor)
    assert np.allclose(y.numpy(), wave(X, X))


def test_autograd_sees_through_its_own():
    f = adapter.export(adapter.import_rule(wave))
    want = grad(lambda x: anp.sum(wave(x, x)))(X)
    assert np.allclose(grad(lambda x: anp.sum(f(x, x)))(X), want)


def test_imported_rules_come_last():
    f = adapter.import_rule(wave)
    (one, two) = rules_for(f)
    assert one.layer == two.layer == Layer.ENGINE
    assert "import_rule(wave)" in repr(one.source)
    assert "test_import_rule.py" in one.where

    @primitive
    def bare(x):
        return np.tanh(x)

    assert adapter.import_rule(anp.tanh, operands=1, to=bare) is bare
    assert tape_grad(bare)(0.3) == pytest.approx(1 - np.tanh(0.3) ** 2)
    with pytest.raises(RuleError, match="there is <rule sin"):
        adapter.import_rule(anp.sin, operands=1, to=v.sin)
    with pytest.raises(RuleError, match="operands="):
        adapter.import_rule(anp.einsum)
