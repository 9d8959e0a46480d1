"""Rules for arrays of a dtype, or on a device: which one is chosen, in every mode and engine."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_py import (
    AmbiguousRuleError,
    Array,
    LinearMap,
    NoRuleError,
    NoTangent,
    RuleError,
    explain,
    export,
    frule,
    opt_out,
    primitive,
    rrule,
    rule,
    unregister,
)
from chainrules_tape import grad, hessian, jacobian, jvp, linearize

X = np.array([0.5, 1.0, 2.0])
DTYPES = (np.float16, np.float32, np.float64, np.complex64, np.complex128)
times = lambda t, c: t * c


def square(*stated):
    """A square whose rules give their own factor, for each of some annotations."""

    @primitive
    def f(x):
        return x * x

    for k, annotation in enumerate(stated, 1):
        rule(f, types=(annotation,))(_with_factor(f, 10.0**k))
    return f


def _with_factor(f, factor):
    def square_rule(x):
        return f(x), (LinearMap(times, times, 2 * factor * x),)

    return square_rule


def factor_of(f, x):
    """The power of ten of the rule that each way of asking uses."""
    x = np.asarray(x)
    real = x.real.astype(x.real.dtype)
    ways = {
        "rrule": rrule(f, x)[1](np.ones_like(x))[0],
        "frule": frule((np.ones_like(x),), f, x)[1],
        "jvp": jvp(f, (x,), (np.ones_like(x),))[1],
        "linearize": linearize(f, x)[1](np.ones_like(x)),
    }
    if x.dtype.kind == "f":
        ways["grad"] = grad(lambda x: np.sum(f(x)))(x)
        ways["second"] = np.diagonal(hessian(lambda x: np.sum(f(x)))(x)) * x
        ways["forward"] = np.diagonal(jacobian(f, mode="forward")(x))
        ways["reverse"] = np.diagonal(jacobian(f, mode="reverse")(x))
        ways["compiled"] = compile(grad(lambda x: np.sum(f(x))))(x)
    found = {k: int(np.round(np.log10(np.abs(w / (2 * real)).max()))) for k, w in ways.items()}
    assert len(set(found.values())) == 1, found
    return found["rrule"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_the_narrowest_kind_is_chosen_whatever_the_order(dtype, order):
    names = [Array, Array[np.inexact], Array[np.float32]]
    f = square(*[names[k] for k in order])
    wanted = 2 if dtype is np.float32 else 1
    if dtype is np.float16:  # which holds no number above 65,504
        f, wanted = square(Array, Array[np.float32]), 0
        assert factor_of(f, X.astype(dtype)) == 1
        return
    assert factor_of(f, X.astype(dtype)) == order.index(wanted) + 1


@pytest.mark.parametrize("order", [1, -1])
def test_a_dtype_is_narrower_than_a_class(order):
    f = square(*[np.ndarray, Array[np.float32]][::order])
    assert factor_of(f, X.astype(np.float32)) == (2 if order == 1 else 1)
    assert factor_of(f, X) == (1 if order == 1 else 2)


@pytest.mark.parametrize("kind", ["float32", np.dtype("float32"), np.float32])
def test_a_dtype_has_many_names(kind):
    assert Array[kind] == Array[np.float32] != Array[np.float64]
    assert Array[float] == Array[np.float64]
    assert "Array[float32]" in repr(explain(square(Array[kind]), X.astype(np.float32)))


def test_devices():
    f = square(Array, Array["cuda"], Array["cpu"])
    assert factor_of(f, X) == 3
    assert factor_of(square(Array, Array["cpu", np.float32]), X) == 1
    assert factor_of(square(Array, Array["cpu", np.float32]), X.astype(np.float32)) == 2


def test_what_fits_no_kind_is_an_error_or_the_rule_for_all():
    f = square(Array[np.float32])
    with pytest.raises(NoRuleError, match=r"float64\[3\]"):
        grad(lambda x: np.sum(f(x)))(X)
    with pytest.raises(AmbiguousRuleError, match="both kinds"):
        grad(lambda x: np.sum(square(Array[np.float64], Array["cpu"])(x)))(X)
    with pytest.raises(RuleError, match="no dtype"):
        Array[str]
    with pytest.raises(RuleError, match="by type alone"):
        opt_out(f, Array[np.float32])
    assert len(unregister(f, Array[np.float32])) == 1


def test_a_rule_of_one_dtype_beside_those_of_the_library():
    @rule(np.sinc)
    def sinc_rule(x: Array[np.float16]):
        return np.sinc(x), (LinearMap(times, times, 7.0 * x),)

    try:
        half = X.astype(np.float16)
        slope = lambda x: grad(lambda x: np.sum(np.sinc(x)))(x)
        assert slope(half).tolist() == (7 * half).tolist()
        assert slope(X)[1] == -1.0
    finally:
        unregister(np.sinc, Array[np.float16])


def test_operands_that_are_not_wanted():
    @primitive
    def g(x, n, y):
        return x**n * y

    @rule(g)
    def g_rule(x: Array[np.float64], n, y):
        power = x**n
        maps = LinearMap(times, times, n * x ** (n - 1) * y), NoTangent()
        return g(x, n, y), (*maps, LinearMap(times, times, power))

    found = grad(lambda x, y: np.sum(g(x, 2, y)), (0, 1))(X, X)
    np.testing.assert_allclose(found, [2 * X * X, X * X])
    np.testing.assert_allclose(grad(lambda y: np.sum(g(X, 2, y)))(X), X * X)


def test_exports():
    f = square(Array, Array[np.float32])
    jax, torch = pytest.importorskip("jax"), pytest.importorskip("torch")
    of_jax, of_torch = export(f, to="jax"), export(f, to="torch")
    assert jax.jit(jax.grad(lambda x: of_jax(x).sum()))(X.astype(np.float32))[0] == 100.0
    for dtype, slope in ((torch.float32, 100.0), (torch.float64, 10.0)):
        assert (
            torch.func.grad(lambda x: of_torch(x).sum())(torch.tensor(X, dtype=dtype))[0] == slope
        )
