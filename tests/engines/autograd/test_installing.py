"""What autograd is given that it lacks, and what is taken from it."""

import functools

import autograd
import autograd.numpy as anp
import numpy as np
import pytest
from autograd import grad, hessian, make_jvp
from autograd.core import primitive_jvps, primitive_vjps

import chainrules_autograd as adapter
from chainrules_autograd.installing import LEFT
from chainrules_py import NoRuleError, RuleError, frule, primitive, rrule, rules_for
from chainrules_py import vocabulary as v
from chainrules_py.primitives.plugins import Layer
from chainrules_py.primitives.rows.alias import aliases
from chainrules_py.testing.data.differences import derivative
from chainrules_tape import grad as tape_grad
from chainrules_tape import jvp as tape_jvp
from tests.surface.names import listed_names

X = np.array([0.3, -0.7, 1.2, 2.5])
A = np.array([[2.0, 0.3, 0.1], [0.4, 1.5, -0.2], [0.0, 0.3, 1.1]])


def everything():
    """All that is written to by `install`."""
    spaces = (anp, anp.linalg, anp.fft)
    return [dict(vars(space)) for space in spaces] + [dict(primitive_vjps), dict(primitive_jvps)]


@pytest.fixture
def installed():
    before = everything()
    with adapter.install() as found:
        yield found
    after = everything()
    for a, b in zip(before, after, strict=True):
        assert a.keys() == b.keys()
        assert all(a[name] is b[name] for name in a)


def test_how_much_there_is(installed):
    assert len(installed.names) > 140
    assert repr(installed) == f"<installed in autograd.numpy: {len(installed.names)} functions>"


def test_what_is_whole_stays_as_it_is():
    both = [
        f for f in vars(anp).values() if callable(f) and f in primitive_vjps and f in primitive_jvps
    ]
    before = [(f, primitive_vjps[f], primitive_jvps[f]) for f in both]
    reverse = {f: vjp for f, vjp in primitive_vjps.items() if f not in primitive_jvps}
    with adapter.install():
        assert all(primitive_vjps[f] is a and primitive_jvps[f] is b for f, a, b in before)
        assert all(primitive_vjps[f] is vjp for f, vjp in reverse.items())
        assert anp.linalg.solve in reverse


def test_nothing_that_has_a_derivative_is_left_out(installed):
    for listed in listed_names():
        path, _, name = listed.name.rpartition(".")
        theirs = getattr(getattr(anp, path, None) if path else anp, name, None)
        wrapped = getattr(theirs, "_is_autograd_primitive", False)
        if wrapped and listed.answer == "derivative" and listed.name not in LEFT:
            assert theirs in primitive_vjps, listed.name
            assert theirs in primitive_jvps, listed.name


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
def test_functions_that_autograd_lacks(name, installed):
    f, native = find(anp, name), find(np, name)
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


@pytest.mark.parametrize(
    "call",
    [
        anp.linalg.det,
        anp.linalg.inv,
        lambda a: anp.linalg.eigh(a + a.T)[0],
        lambda a: anp.linalg.slogdet(a)[1],
        lambda a: anp.linalg.svd(a, full_matrices=False)[1],
        lambda a: anp.linalg.solve(a, A[0]),
        lambda a: anp.real(anp.fft.fft(a)),
    ],
)
def test_forward_modes_that_autograd_lacks(call, installed):
    u = A.T + 1.0
    truth, _ = derivative(lambda t: call(A + t * u))
    assert np.allclose(make_jvp(call)(A)(u)[1], truth)
    # Forward over the reverse mode of autograd's own.
    found = make_jvp(lambda a: grad(lambda a: anp.sum(anp.sin(call(a))))(a))(A)(u)[1]
    truth, _ = derivative(lambda t: grad(lambda a: anp.sum(anp.sin(call(a))))(A + t * u))
    assert np.allclose(found, truth, atol=1e-8)


def test_forward_modes_of_special_functions():
    special = pytest.importorskip("autograd.scipy.special")
    x = np.array([0.5, 1.5])
    with pytest.raises(NotImplementedError):
        make_jvp(special.gammaln)(x)(x)
    with adapter.install():
        for f in (special.gammaln, special.erf, special.expit, special.j0):
            want = autograd.elementwise_grad(f)(x)
            assert np.allclose(make_jvp(f)(x)(np.ones(2))[1], want)


def test_names_that_were_imported_before():
    from autograd.numpy import cumprod

    with pytest.raises(NotImplementedError):
        grad(lambda x: anp.sum(cumprod(x)))(X)
    with adapter.install():
        want = grad(lambda x: anp.sum(anp.cumprod(x)))(X)
        assert np.allclose(grad(lambda x: anp.sum(cumprod(x)))(X), want)
        assert np.allclose(grad(lambda x: anp.sum(np.cbrt(x)))(X), np.cbrt(X) / X / 3)
        parts = grad(lambda x: anp.sum(anp.linalg.qr(anp.reshape(x, (2, 2)))[1]))
        assert np.all(np.isfinite(parts(X)))
    with pytest.raises(NotImplementedError):
        grad(lambda x: anp.sum(cumprod(x)))(X)


def test_what_is_asked_for_is_replaced():
    before = anp.sum
    masked = lambda x: anp.sum(x, where=np.array([True, False, True, True]))
    with adapter.install("sum", "linalg.norm") as installed:
        assert installed.names == ("sum", "linalg.norm")
        assert np.array_equal(grad(masked)(X), [1, 0, 1, 1])
        # At zero we have a derivative, autograd has none.
        assert np.array_equal(grad(anp.linalg.norm)(np.zeros(3)), np.zeros(3))
        assert aliases[np.sum] is not None
    assert anp.sum is before


def test_functions_of_ones_own():
    with adapter.install(softmax=v.softmax):
        found = autograd.jacobian(anp.softmax)(X)
        y = v.softmax(X)
        assert np.allclose(found, np.diag(y) - np.outer(y, y))
    assert not hasattr(anp, "softmax")


def test_unknown_names_install_nothing():
    before = anp.sum
    with pytest.raises(NoRuleError, match=r"numpy\.nothing"):
        adapter.install("sum", "nothing")
    assert anp.sum is before


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
    assert "test_installing.py" in one.where

    @primitive
    def bare(x):
        return np.tanh(x)

    assert adapter.import_rule(anp.tanh, operands=1, to=bare) is bare
    assert tape_grad(bare)(0.3) == pytest.approx(1 - np.tanh(0.3) ** 2)
    with pytest.raises(RuleError, match="there is <rule sin"):
        adapter.import_rule(anp.sin, operands=1, to=v.sin)
    with pytest.raises(RuleError, match="operands="):
        adapter.import_rule(anp.sin)
