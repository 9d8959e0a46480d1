"""Results with numbers that an engine does not see: right, or refused, and never a constant.

Arrays of objects, other libraries' arrays and dtypes, texts, in every form of rule and engine.
What is no array, number or structure is a constant (docs/promises.md).
"""

import fractions
import importlib
import math
import warnings

import numpy as np
import pytest

from chainrules_kit.custom_derivatives import augmented_rule, custom_jvp, custom_vjp
from chainrules_py import (
    ChainRulesError,
    LinearMap,
    NoTangent,
    RuleError,
    Tangent,
    export,
    frule,
    primitive,
    rrule,
    rule,
    scalar_rule,
)
from chainrules_py import ops as v
from chainrules_tape import grad, jvp

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning")

X = np.array([0.5, 1.0])
SLOPES = 2 * X + np.cos(X)
OBJECTS = np.frompyfunc(math.sin, 1, 1)


def numbers(x):
    return np.sin(np.asarray(x, dtype=float))


def total(x):
    return float(numbers(x).sum())


BODIES = {
    "an array of objects": lambda x: OBJECTS(np.asarray(x, dtype=float)),
    "an array with fields": lambda x: np.array([(total(x),)], dtype=[("a", float)]),
    "a fraction beside": lambda x: (numbers(x), fractions.Fraction(total(x))),
    "objects beside": lambda x: [numbers(x), OBJECTS(np.asarray(x, dtype=float))],
    "more digits": lambda x: numbers(x).astype(np.longdouble),
    "a text beside": lambda x: (numbers(x), "text"),
    "texts beside": lambda x: (numbers(x), np.array(["a", "b"])),
    "None beside": lambda x: (numbers(x), None),
}
RIGHT = {"a text beside", "texts beside", "None beside"}
"""Bodies of which a rule that pulls is used."""


def first(g):
    """The cotangent of the array that most bodies give, alone or before others."""
    return g[0] if isinstance(g, (Tangent, tuple, list)) else g


def by_custom_vjp(body):
    f = custom_vjp(lambda x: body(x))
    f.defvjp(lambda x: (f(x), x), lambda x, g: (v.cos(x) * first(g),))
    return f


def by_custom_jvp(body):
    f = custom_jvp(lambda x: body(x))
    f.defjvp(lambda xs, dots: (f(*xs), v.cos(xs[0]) * dots[0]))
    return f


def by_scalar_rule(body):
    f = primitive(lambda x: body(x))
    scalar_rule(f, lambda _y, x: v.cos(x))
    return f


def by_rule(body):
    f = primitive(lambda x: body(x))
    rule(f)(
        lambda x: (f(x), (LinearMap(lambda t, c: t * c, lambda t, c: t * c, v.cos(x)),)),
    )
    return f


def by_frule(body):
    f = primitive(lambda x: body(x))
    frule.register(f)(lambda dots, x: (f(x), v.cos(x) * dots[0]))
    return f


def by_rrule(body):
    f = primitive(lambda x: body(x))
    rrule.register(f)(lambda x: (f(x), lambda g: (v.cos(x) * first(g),)))
    return f


def by_augmented_rule(body):
    f = primitive(lambda x: body(x))
    augmented_rule(f, lambda x: (f(x), (v.cos(x),)), lambda c, g: (c * first(g),))
    return f


FORMS = [
    by_custom_vjp,
    by_custom_jvp,
    by_scalar_rule,
    by_rule,
    by_frule,
    by_rrule,
    by_augmented_rule,
]
PULLS = (by_custom_vjp, by_rrule, by_augmented_rule)


def used(y):
    """A number that depends on everything in a result."""
    if isinstance(y, (list, tuple)):
        return sum(used(part) for part in y)
    if y is None or isinstance(y, str) or getattr(getattr(y, "dtype", None), "kind", "") == "U":
        return 0.0
    if isinstance(y, fractions.Fraction):
        return float(y)
    if isinstance(y, memoryview):
        return float(np.sum(np.asarray(y)))
    if getattr(getattr(y, "dtype", None), "names", None):
        return float(y["a"].sum())
    return y.sum()


def by_tape(f):
    return grad(lambda x: np.sum(x**2) + used(f(x)))(X)


def by_dual_numbers(f):
    return jvp(lambda x: np.sum(x**2) + used(f(x)), (X,), (X,))[1]


def by_rrule_itself(f):
    y, pullback = rrule(f, X)
    return 2 * X + pullback(ones(y))[0]


def ones(y):
    if isinstance(y, (list, tuple)):
        return type(y)(map(ones, y))
    return np.ones_like(y) if isinstance(y, np.ndarray) and y.dtype.kind == "f" else y


def by_frule_itself(f):
    return first(frule((X,), f, X)[1]).sum() + 2 * X @ X


def by_autograd(f):
    autograd, f = importlib.import_module("autograd"), export(f, to="autograd")
    return autograd.grad(lambda x: (x**2).sum() + used(f(x)))(X)


def by_autograd_forwards(f):
    autograd, f = importlib.import_module("autograd"), export(f, to="autograd")
    return autograd.make_jvp(lambda x: (x**2).sum() + used(f(x)))(X)(X)[1]


def torch_and(f):
    return importlib.import_module("torch"), export(f, to="torch")


def by_backward(f):
    torch, f = torch_and(f)
    x = torch.tensor(X, requires_grad=True)
    return torch.autograd.grad((x**2).sum() + used(f(x)), x)[0]


def by_torch_func(f):
    torch, f = torch_and(f)
    return torch.func.grad(lambda x: (x**2).sum() + used(f(x)))(torch.tensor(X))


def by_torch_forwards(f):
    torch, f = torch_and(f)
    x = torch.tensor(X)
    return torch.func.jvp(lambda x: (x**2).sum() + used(f(x)), (x,), (x,))[1]


def by_jax(f):
    jax, f = importlib.import_module("jax"), export(f, to="jax")
    with jax.enable_x64(True):
        return jax.grad(lambda x: (x**2).sum() + used(f(x)))(jax.numpy.asarray(X))


def by_jax_forwards(f):
    jax, f = importlib.import_module("jax"), export(f, to="jax")
    with jax.enable_x64(True):
        x = jax.numpy.asarray(X)
        return jax.jvp(lambda x: (x**2).sum() + used(f(x)), (x,), (x,))[1]


ENGINES = [
    by_tape,
    by_dual_numbers,
    by_rrule_itself,
    by_frule_itself,
    by_autograd,
    by_autograd_forwards,
    by_backward,
    by_torch_func,
    by_torch_forwards,
    by_jax,
    by_jax_forwards,
]
UNKNOWN = {(e, "more digits"): (TypeError,) for e in (by_jax, by_jax_forwards)}
"""Errors of JAX's own, of numbers that it has not; and of an index that no array has."""
UNKNOWN[by_tape, "an array with fields"] = (IndexError,)
NAMES = {"by_autograd": "autograd", "by_jax": "jax", "by_torch": "torch", "by_backward": "torch"}


def check(engine, body, form):
    """Raise for a wrong number, or an error that is not ours."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = engine(form(BODIES[body]))
    except (ChainRulesError, *UNKNOWN.get((engine, body), ())):
        backwards = "forwards" not in engine.__name__ and engine not in (
            by_dual_numbers,
            by_frule_itself,
        )
        assert not (body in RIGHT and form in PULLS and backwards)
        return
    want = SLOPES if np.shape(found) else SLOPES @ X
    np.testing.assert_allclose(np.asarray(found), want, rtol=1e-6)


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize(
    "engine",
    [pytest.param(e, marks=pytest.mark.slow if "jax" in e.__name__ else ()) for e in ENGINES],
)
def test_no_number_is_a_constant(engine, body):
    for name, module in NAMES.items():
        if engine.__name__.startswith(name):
            pytest.importorskip(module)
    for form in FORMS:
        check(engine, body, form)


@pytest.mark.parametrize("body", ["an array of objects", "texts beside"])
def test_no_number_is_a_constant_in_jax(body):
    pytest.importorskip("jax")
    check(by_jax, body, by_custom_vjp)


def test_a_scalar_rule_is_of_one_array():
    f = by_scalar_rule(BODIES["None beside"])
    with pytest.raises(RuleError, match="is of one array or number"):
        rrule(f, X)
    with pytest.raises(RuleError, match="is of one array or number"):
        frule((X,), f, X)


def test_an_array_of_another_library_is_refused():
    jax, torch = pytest.importorskip("jax"), pytest.importorskip("torch")
    f = by_custom_vjp(lambda x: jax.numpy.sin(jax.numpy.asarray(np.asarray(x))))
    with pytest.raises(ChainRulesError, match="return an array like them, or NumPy's"):
        by_torch_func(f)
    f = by_custom_vjp(lambda x: torch.sin(torch.tensor(np.asarray(x))))
    with pytest.raises(ChainRulesError, match="return an array like them, or NumPy's"):
        by_jax(f)


@pytest.mark.parametrize("form", FORMS)
def test_numbers_that_numpy_has_not_pass_its_bodies_in_torch(form):
    torch = pytest.importorskip("torch")
    f = export(form(np.sin), to="torch")
    x = torch.tensor([0.5, 1.0, 2.0], dtype=torch.bfloat16)
    for found in (
        torch.func.grad(lambda x: f(x).sum())(x),
        torch.func.jvp(f, (x,), (torch.ones_like(x),))[1],
        torch.vmap(torch.func.grad(f))(x),
        torch.autograd.grad(f(x.requires_grad_()).sum(), x)[0],
    ):
        assert found.dtype is torch.bfloat16
        torch.testing.assert_close(found, torch.cos(x.detach()))


@pytest.mark.parametrize("form", FORMS)
def test_they_are_refused_in_mlx(form):
    mx = pytest.importorskip("mlx.core")
    f = export(form(np.sin), to="mlx")
    x = mx.array([0.5, 1.0]).astype(mx.bfloat16)
    with pytest.raises(ChainRulesError, match="which has no bfloat16"):
        mx.grad(lambda x: f(x).sum())(x)


class Gain:
    def __init__(self, gain):
        self.gain = gain

    @primitive
    def scaled(self, x):
        return self.gain * x


@rule(Gain.scaled)
def gain_scaled_rule(self: Gain, x):
    times = lambda t, gain: gain * t
    return self.gain * x, (NoTangent(), LinearMap(times, times, self.gain))


def test_an_object_that_holds_what_torch_differentiates_is_refused():
    """The rule gives it no cotangent, so that half of the gradient was lost."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    scaled, x = export(Gain.scaled, to="torch"), torch.tensor(2.0, requires_grad=True)
    refused = pytest.raises(
        ChainRulesError, match="Gain holds a value that is being differentiated"
    )
    for y in (x, torch.tensor(3.0)):
        with refused:
            scaled(Gain(x), y)
        with refused:
            torch.func.grad(lambda x, y=y: scaled(Gain(x), y))(torch.tensor(2.0))
    with torch.no_grad():
        assert scaled(Gain(x), x) == 4.0
    for gain in (3.0, torch.tensor(3.0), x.detach() + 1.0):
        assert torch.autograd.grad(scaled(Gain(gain), x), x)[0] == 3.0
        assert torch.func.jacfwd(lambda x, gain=gain: scaled(Gain(gain), x))(x.detach()) == 3.0
