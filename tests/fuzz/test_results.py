"""Results of functions with rules are differentiated, or refused: never constants."""

import math

import numpy as np
import pytest

from chainrules_kit.custom_derivatives import custom_vjp
from chainrules_py import (
    LinearMap,
    NotDifferentiableError,
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
from tests.fuzz import results
from tests.fuzz.generators import GENERATORS, judge

pytestmark = pytest.mark.filterwarnings("ignore")  # of other libraries


@pytest.mark.slow
def test_all_of_them():
    judge("results", range(GENERATORS["results"].size() or 0))


def _stated(body, give=None):
    f = custom_vjp(body)
    give = give or f
    f.defvjp(lambda x: (give(x), x), lambda x, bar: (v.cos(x) * bar,))
    return f


@pytest.mark.parametrize("kind", ["objects", "record", "bfloat16"])
@pytest.mark.parametrize("form", ["defvjp", "defjvp", "scalar_rule", "rule"])
def test_what_hides_in_a_result_is_refused_by_frule_and_rrule(kind, form):
    if kind == "bfloat16":
        pytest.importorskip("ml_dtypes")
    make = results.KINDS[kind]
    f = results.FORMS[form](lambda x: make(np.sin(x)), lambda t: t)
    with pytest.raises(NotDifferentiableError):
        rrule(f, results.X)
    with pytest.raises(NotDifferentiableError):
        frule((results.X,), f, results.X)


@pytest.mark.parametrize("form", results.FORMS)
@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn"])
def test_numbers_that_jax_has_and_numpy_has_not(form, name):
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    x = jnp.asarray(results.X, jnp.float32).astype(name)
    f = results.FORMS[form](lambda x: np.sin(np.asarray(x)), lambda t: t)
    g = export(f, to="jax")
    due = np.cos(results.X)
    found = [
        jax.grad(lambda x: g(x).sum())(x),
        jax.jvp(g, (x,), (jnp.ones_like(x),))[1],
    ]
    if form not in ("frule", "defjvp", "defjvps"):
        found.append(rrule(f, x)[1](jnp.ones_like(x))[0])
    for t in found:
        assert np.allclose(np.asarray(t, float), due, atol=0.1)


@pytest.mark.parametrize("form", results.FORMS)
def test_bodies_of_numpy_are_called_back_with_float32_by_torch(form):
    torch = pytest.importorskip("torch")
    x = torch.tensor(results.X, dtype=torch.bfloat16)
    if form == "defvjp_of_the_body":
        pytest.skip("its rule calls NumPy itself")
    g = export(results.FORMS[form](lambda x: np.sin(x), lambda t: t), to="torch")
    assert g(x).dtype is torch.bfloat16
    found = [
        torch.func.grad(lambda x: g(x).sum())(x),
        torch.func.jvp(g, (x,), (torch.ones_like(x),))[1],
        torch.autograd.grad(g(x.requires_grad_()).sum(), x)[0],
    ]
    for t in found:
        assert np.allclose(t.float().numpy(), np.cos(results.X), atol=2e-2)


def test_numpy_is_not_given_numbers_of_bfloat16_by_mlx():
    mx = pytest.importorskip("mlx.core")
    x = mx.array(results.X).astype(mx.bfloat16)
    g = export(_stated(lambda x: np.sin(x)), to="mlx")
    for run in (g, mx.grad(lambda x: g(x).sum()), mx.vmap(g), mx.compile(g)):
        with pytest.raises(NotDifferentiableError, match="has no bfloat16"):
            run(x)


def test_a_result_without_arrays_is_one_in_mlx():
    mx = pytest.importorskip("mlx.core")
    f = export(_stated(lambda x: f"{len(x)} of them"), to="mlx")
    assert f(mx.ones(2)) == "2 of them"
    assert mx.grad(lambda x: (f(x), x.sum())[1])(mx.ones(2)).tolist() == [1.0, 1.0]


def test_numbers_that_nobody_computes_with_are_no_operands():
    x = np.array([0.5, 1.0], object)

    @primitive
    def double(x):
        return x + x

    scalar_rule(double, lambda _y, x: 2.0)
    with pytest.raises(NotDifferentiableError, match="no derivative is known in its elements"):
        rrule(double, x)[1](x)
    with pytest.raises(NotDifferentiableError, match="no derivative is known in its elements"):
        frule((x,), double, x)


@pytest.mark.parametrize("kind", ["objects", "tensor"])
def test_what_jit_of_jax_does_not_see_in_the_result_of_a_body_is_refused(kind):
    pytest.importorskip("jax")
    assert results.verdict(kind, "defvjp_of_the_body", "jax, jit") == ""


def test_texts_and_counts_are_constants():
    @primitive
    def described(x):
        return np.sin(x), np.array(["a", "b"]), np.array([1, None], object), 3

    @rule(described)
    def described_rule(x):
        return described(x), (LinearMap(None, lambda bar, x: v.cos(x) * bar[0], x),)

    y, pullback = rrule(described, results.X)
    assert np.allclose(pullback(Tangent[tuple](np.ones(2)))[0], np.cos(results.X))
    assert y[3] == 3


def test_an_elementwise_rule_is_not_about_a_list():
    f = primitive(lambda x: [np.sin(x)])
    scalar_rule(f, lambda _y, x: v.cos(x))
    with pytest.raises(RuleError, match="is of one array or number"):
        rrule(f, results.X)
    with pytest.raises(RuleError, match="is of one array or number"):
        frule((results.X,), f, results.X)


def test_an_array_of_a_library_that_pytorch_does_not_differentiate_is_refused():
    torch = pytest.importorskip("torch")
    jnp = pytest.importorskip("jax.numpy")
    g = export(_stated(lambda x: jnp.sin(np.asarray(x))), to="torch")
    with pytest.raises(NotDifferentiableError, match="of another library"):
        torch.func.grad(lambda x: x.sum() + float(g(x)[0]))(torch.tensor(results.X))


def test_numbers_that_a_rule_gives_by_numpy_are_tensors():
    torch = pytest.importorskip("torch")
    x = torch.tensor(results.X, requires_grad=True)
    for give in (
        lambda x: math.fsum(np.sin(x)),
        lambda x: np.sin(x),
        lambda x: np.sum(np.sin(np.asarray(x))),
    ):
        f = _stated(lambda x: v.sum(x), give)
        y = export(f, to="torch")(x)
        assert isinstance(y, torch.Tensor)
        assert torch.allclose(torch.autograd.grad(y.sum(), x)[0], torch.cos(x))
