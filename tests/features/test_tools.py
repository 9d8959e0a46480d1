"""Features of the tools above the engines, each as a small program."""

from __future__ import annotations

import collections.abc
import contextlib
import json
import math
import warnings
from typing import NamedTuple

import numpy as np
import pytest

import chainrules_py.ops as v
from chainrules_py import (
    LostDerivativeWarning,
    NotDifferentiableError,
    RuleError,
    TracerError,
    explain,
    export,
    primitive,
)
from chainrules_py.testing import check_rule
from chainrules_tape import debug_nans, grad, hessian, jacobian, jvp, value_and_grad, vjp
from chainrules_tape.tools import (
    NumericDerivativeWarning,
    chainrules_jl_functions,
    derive_rule,
    numeric_rule,
    profile,
    taylor,
    text_rule,
    vmap,
)
from tests.features.rows import feature

RNG = np.random.default_rng(0)
A = np.array([0.3, 1.0, 2.0])
S = RNG.standard_normal((3, 3))
S = S @ S.T + np.eye(3)
D = RNG.standard_normal(3)


# ------------------------------------------------------------------------------ many examples


def loss(layers, x, y):
    for w, b in layers:
        x = np.tanh(w @ x + b)
    z = x - np.max(x)
    return np.sum((z - np.log(np.sum(np.exp(z)))) * y)


@feature(30, "a batching rule: most follow, others are called one by one", page="tools",
         best="PyTorch: vmap; JAX: batching rules")  # fmt: skip
def test_gradients_of_each_example():
    layers = [(RNG.standard_normal((n, m)), RNG.standard_normal(n)) for m, n in ((4, 6), (6, 3))]
    xs, ys = RNG.standard_normal((5, 4)), RNG.standard_normal((5, 3))
    found = vmap(grad(loss), (None, 0, 0))(layers, xs, ys)
    each = [grad(loss)(layers, x, y) for x, y in zip(xs, ys, strict=True)]
    for k in range(2):
        for j in range(2):
            np.testing.assert_allclose(found[k][j], np.stack([e[k][j] for e in each]), rtol=1e-12)


EXAMPLES = [
    lambda x: np.sum(x, axis=0),
    lambda x: np.linalg.inv(x @ x.T + np.eye(4)),
    lambda x: np.sort(x, axis=0),
    lambda x: x[1:, 0] * x[0, 1],
    lambda x: np.where(x > 0, x, 0.1 * x).mean(),
    lambda x: np.linalg.svd(x, compute_uv=False),
    lambda x: np.logaddexp.reduce(x.ravel()),
    lambda x: x.T.reshape(2, 6)[::-1],
    lambda x: np.stack([x, x * 2]).sum(axis=(1, 2)),
    lambda x: np.concatenate([x, np.ones((1, 3))]) + np.arange(5.0)[:, None],
    lambda x: len(x) * sum(row[0] for row in x),
    lambda x: np.std(x, axis=0) + np.median(x),
    lambda x: np.cumsum(x, axis=1) / np.linalg.norm(x),
    lambda x: np.outer(x[0], x[1]) @ x[2] + x[0] @ x[1],
    lambda x: x @ np.ones(3) + np.sum(np.ones(4) @ x),
    lambda x: x**2 + x.size + x.ndim if x.shape == (4, 3) else x,
    lambda x: np.log(np.sum(np.exp(x - np.max(x)))),
    lambda x: x if x[0, 0] > 0 else 2.0 * x,
]


@pytest.mark.parametrize("k", range(len(EXAMPLES)))
def test_a_map_is_its_loop(k):
    f = EXAMPLES[k]
    xs = RNG.standard_normal((6, 4, 3))
    found = vmap(f)(xs)
    np.testing.assert_allclose(found, np.stack([f(x) for x in xs]), rtol=1e-12)
    slope = grad(lambda xs: np.sum(vmap(f)(xs)))(xs)
    each = [grad(lambda x: np.sum(f(x)))(x) for x in xs]
    np.testing.assert_allclose(slope, np.stack(each), rtol=1e-9, atol=1e-12)


def slopes_of(f, x):
    steps = 1e-6 * np.eye(x.size)
    return np.stack([(f(x + s) - f(x - s)) / 2e-6 for s in steps], axis=-1)


ALONG = {
    "sum": np.sum,
    "sum of method": lambda s, axis: s.sum(axis),
    "sum, axis kept": lambda s, axis: np.sum(s, axis=axis, keepdims=True),
    "nanmean": np.nanmean,
    "prod": np.prod,
    "max": np.max,
    "max, axis kept": lambda s, axis: np.max(s, axis=axis, keepdims=True),
    "ptp": np.ptp,
    "cumsum": np.cumsum,
    "squeeze": np.squeeze,
    "take": lambda s, axis: np.take(s, 0, axis=axis),
    "take of several": lambda s, axis: np.take(s, [0, 0], axis=axis),
    "repeat": lambda s, axis: np.repeat(s, 3, axis=axis),
}


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("name", ALONG)
def test_a_number_along_an_axis(name, axis):
    # NumPy accepts an axis of a number; that of the examples or directions is not meant.
    f, ts = lambda s: ALONG[name](s * s - s, axis), np.array([1.5, 2.0, 3.0])
    np.testing.assert_array_equal(vmap(f)(ts), np.stack([f(t) for t in ts]))
    g = lambda x: np.append(x, f(x[0] * x[1]))
    x = ts[:2]
    slopes = slopes_of(g, x)
    np.testing.assert_allclose(
        grad(lambda ts: np.sum(vmap(f)(ts) ** 2))(ts),
        np.diag(slopes_of(lambda ts: np.array([np.sum(f(t) ** 2) for t in ts]), ts)),
        rtol=1e-6,
    )
    for mode in ("auto", "forward", "reverse"):
        np.testing.assert_allclose(jacobian(g, mode=mode)(x), slopes, rtol=1e-6)
    pushed = jvp(g, (x,), (np.eye(2),), batched=True)[1]
    (pulled,) = vjp(g, x)[1](np.eye(len(slopes)), batched=True)
    np.testing.assert_allclose(pushed.T, slopes, rtol=1e-6)
    np.testing.assert_allclose(pulled, slopes, rtol=1e-6)


@pytest.mark.parametrize(
    "f",
    [
        grad(lambda x: np.sum(np.sin(x))),
        np.sort,
        lambda x: np.linalg.inv(np.diag(x)) @ x.reshape(-1),
        lambda x: x * 3.0 if isinstance(x[0], float) else None,
        lambda x: np.zeros_like(x),
    ],
)
def test_no_example(f):
    assert vmap(f)(np.zeros((0, 3))).shape == (0, 3)
    assert vmap(f, 0, 1)(np.zeros((0, 3))).shape == (3, 0)
    assert grad(lambda x: np.sum(x) + np.sum(vmap(f)(x)))(np.zeros((0, 3))).shape == (0, 3)


@pytest.mark.parametrize(
    "f, x",
    [(np.sort, np.ones(3)), (np.linalg.inv, np.eye(3)), (lambda x: x.reshape(-1), np.ones(3))],
)
def test_no_direction(f, x):
    none = np.zeros((0, *x.shape))
    assert vjp(f, x)[1](none, batched=True)[0].shape == none.shape
    assert jvp(f, (x,), (none,), batched=True)[1].shape == none.shape


class Pair(NamedTuple):
    x: object
    y: object


def test_arrays_by_keyword_count_examples_in_front():
    """As in JAX; a number is the same for all."""
    xs, ys = np.arange(6.0).reshape(2, 3).T, np.array([2.0, -1.0, 0.5])
    f = lambda x, y=0.0, power=1: np.sum(x) ** power * y if y > 0 else y
    expected = [f(x, y, 2) for x, y in zip(xs, ys, strict=True)]
    np.testing.assert_array_equal(vmap(f)(xs, y=ys, power=2), expected)
    np.testing.assert_array_equal(vmap(f, 1)(xs.T, power=2, y=ys), expected)
    product = lambda x, y: np.sum(np.sin(x) * y)
    slopes = vmap(grad(product))(xs, y=ys)
    np.testing.assert_allclose(slopes, np.cos(xs) * ys[:, None], rtol=1e-15)


def test_axes_of_fields():
    pair = Pair(np.arange(3.0), 2.0)
    for axes in ((0, None), Pair(0, None)):
        np.testing.assert_array_equal(vmap(lambda p: p.x * p.y, (axes,))(pair), [0.0, 2.0, 4.0])


@pytest.mark.parametrize(
    "axes, match",
    [(("a",), "'a', which is no axis"), ((1.5,), "no axis"), (({"x": 0},), "no axis"),
     (((0.5,),), "no axis"), ((0, (1, 0)), "one integer"), ((0, None), "one integer"),
     (((0, 0), 0, np.array(2.0)), r"0 for float64\[\], which has no such axis"),
     (((0, 1), 0, np.ones(3)), "no such axis"), ((0, 0, np.ma.ones(3)), "MaskedArray")],
)  # fmt: skip
def test_axes_that_are_none(axes, match):
    with pytest.raises(NotDifferentiableError, match=match):
        vmap(lambda x, *_: x, *axes[:2])(np.ones((3, 4)), *axes[2:])


@pytest.mark.parametrize("s", [np.ones(4), np.array(2.0)])
def test_an_array_by_keyword_that_is_the_same_for_all_is_captured(s):
    f, xs = lambda x, *, s: x * np.sum(s), np.ones((2, 3))
    with pytest.raises(NotDifferentiableError, match=r"write vmap\(lambda x: f\(x, s=s\)\)\(x\)"):
        vmap(f)(xs, s=s)
    np.testing.assert_array_equal(vmap(lambda x: f(x, s=s))(xs), xs * np.sum(s))


@pytest.mark.parametrize("x", [[1.0, 2.0], range(2), (1.0, 2.0)])
def test_a_list_of_examples_is_given_as_an_array(x):
    with pytest.raises(NotDifferentiableError, match=r"write np.array\(x\)"):
        vmap(lambda a: a * 2)(x)
    with pytest.raises(NotDifferentiableError, match=r"\[2\], float64\[3\]; write in_axes"):
        vmap(lambda a, b, c: a)(np.ones(2), np.ones(3), x)


def test_maps_nest():
    bent = lambda x: np.sum(np.sin(x) * x @ x)
    xs = RNG.standard_normal((4, 3))
    each = np.stack([hessian(bent)(x) for x in xs])
    np.testing.assert_allclose(vmap(hessian(bent))(xs), each, rtol=1e-10)
    inner = vmap(lambda x: vmap(lambda y: x @ y)(xs))(xs)
    np.testing.assert_allclose(inner, xs @ xs.T)
    assert vmap(lambda x, y: x * y, (1, None), 1)(np.ones((3, 4)), 2.0).shape == (3, 4)
    pushed = jvp(vmap(bent), (xs,), (xs,))[1]
    np.testing.assert_allclose(pushed, np.stack([jvp(bent, (x,), (x,))[1] for x in xs]))
    with pytest.raises(NotDifferentiableError, match="same examples"):
        vmap(lambda x, y: x)(np.ones(3), np.ones(4))


# --------------------------------------------------------------------------------- Taylor


def nested(f, x, d, order):
    """Taylor coefficients by nested forward mode."""

    def derivative(k):
        if k == 0:
            return lambda t: f(x + t * d)
        lower = derivative(k - 1)
        return lambda t: jvp(lower, (t,), (1.0,))[1]

    return [derivative(k)(0.0) / math.factorial(k) for k in range(order + 1)]


PROGRAMS = [
    lambda x: np.cos(x) * np.exp(x) + np.sin(x),
    lambda x: np.log(x) / (1 + x * x) + 2 / (1 + x),
    lambda x: x**3 + x**2.5 + x**-1.5 + x**x,
    lambda x: np.tanh(x) + np.tan(x / 3) + np.sqrt(x) + np.arctan(x) + np.arcsin(x / 4),
    lambda x: np.abs(x - 0.5) + np.maximum(x, 0.7) * x + np.clip(x, 0.6, 1.2) * x,
    lambda x: S @ x + np.outer(x, x) @ x,
    lambda x: np.linalg.inv(S + np.diag(x)),
    lambda x: np.linalg.cholesky(S + np.outer(x, x)),
    lambda x: np.linalg.eigh(S + np.outer(x, x))[0] + np.linalg.norm(x),
    lambda x: np.linalg.det(S + np.diag(x)) + np.prod(x),
    lambda x: np.where(x > 1, x * x, np.sin(x)) + np.logaddexp(x, x * x),
    lambda x: np.sort(x)[::-1] * np.cumsum(x) + np.var(x),
    lambda x: (x - x[0]) ** 2 + np.stack([x, 2 * x, x * x])[2],
    lambda x: np.ones(3) * (x > 0),
    lambda x: np.exp(np.concatenate([x, x > 1.0])),
    lambda x: np.sin(np.where(x > 1.0, x, True)) + np.stack([x, x > 1.0])[1],
    lambda x: np.pad(x * x, 1, constant_values=True),
]


@feature(
    66, "Taylor rules, and nesting for the rest", page="tools", best="JAX: jax.experimental.jet"
)
@pytest.mark.parametrize("k", range(len(PROGRAMS)))
def test_taylor_coefficients_are_those_of_nested_derivatives(k):
    f, x = PROGRAMS[k], A + 0.3
    for found, expected in zip(taylor(f, x, D, 4), nested(f, x, D, 4), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


SLOPES = {
    "two elements of many": lambda x: x[0] ** 2 * x[1] + np.sin(x[1]),
    "parts": lambda x: np.sum(x[:2] ** 2 * x[3]) + np.sum(np.cumsum(x)[4:6] ** 3),
    "a buffer": lambda x: np.sum(np.sin(written_in_parts(x, np.zeros_like(x))) * x),
    "an array of numbers": lambda x: np.sum(np.sin(written_in_parts(x, x * 1)) * x),
}


def written_in_parts(x, y):
    y[1:] = x[:-1] ** 2
    y[0] += x[2] * y[1]
    y *= x
    part = y[2:5]
    part += x[0]
    y[3] = 1.0
    return y


@pytest.mark.parametrize("name", SLOPES)
def test_gradients_of_parts_have_series(name):
    x = np.linspace(0.3, 1.2, 20)
    slope, d = grad(SLOPES[name]), np.cos(x)
    for found, expected in zip(taylor(slope, x, d, 3), nested(slope, x, d, 3), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
    h = 1e-5
    rise = (slope(x + h * d) - slope(x - h * d)) / (2 * h)
    np.testing.assert_allclose(taylor(slope, x, d, 1)[1], rise, rtol=1e-7, atol=1e-8)


def test_taylor_in_other_differentiation():
    f = lambda x: np.sum(np.sin(x) * np.exp(x))
    slope = jacobian(lambda x: nested(f, x, D, 3)[3])(A)
    np.testing.assert_allclose(grad(lambda x: taylor(f, x, D, 3)[3])(A), slope, rtol=1e-10)
    second = nested(grad(f), A, D, 2)[2]
    np.testing.assert_allclose(taylor(grad(f), A, D, 2)[2], second, rtol=1e-10)
    assert taylor(lambda p: p["a"] * p["b"], {"a": 2.0, "b": 3.0}, {"a": 1.0, "b": 1.0}, 2) == [
        6.0,
        5.0,
        1.0,
    ]
    curve = taylor(np.square, A, [D, A], 2)
    np.testing.assert_allclose(curve[2], D * D + 2 * A * A)
    product, point, d = lambda p: p[0][0] * p[0][1], [[2.0, 3.0]], [[1.0, 1.0]]
    assert taylor(product, point, d, 2) == taylor(product, point, [d], 2) == [6.0, 5.0, 1.0]
    tenth = taylor(np.exp, 0.0, 1.0, 10)[10] * math.factorial(10)
    assert tenth == pytest.approx(1.0, rel=1e-14)
    assert taylor(np.exp, 0.0, 1.0, np.int64(1)) == [1.0, 1.0]
    for order in (1.5, True, -1):
        with pytest.raises(NotDifferentiableError, match="whole order"):
            taylor(np.exp, 0.0, 1.0, order)


@pytest.mark.parametrize("block", [contextlib.nullcontext, debug_nans])
def test_a_function_runs_once(block):
    draws = np.random.default_rng(0)
    slope = np.random.default_rng(0).normal()
    with block():
        assert taylor(lambda n: n * draws.normal(), 3, 1.0, 1) == [3 * slope, slope]


# ------------------------------------------------------------------- rules from elsewhere


@feature(73, "an aggregate's rule made from its program", page="tools",
         best="PyTorch: AOTAutograd; PyTensor: OpFromGraph")  # fmt: skip
def test_a_rule_is_derived_from_a_program():
    body = lambda x, p: np.sum(np.tanh(x * p["w"])) + p["b"]
    p = {"w": A, "b": 1.0}
    operation = derive_rule(body, (A, p))
    assert operation(A, p) == body(A, p)
    for found, expected in zip(
        grad(operation, (0, 1))(A, p), grad(body, (0, 1))(A, p), strict=True
    ):
        for x, y in zip(v_leaves(found), v_leaves(expected), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12)
    pushed = jvp(operation, (A, p), (A, p))[1]
    np.testing.assert_allclose(pushed, jvp(body, (A, p), (A, p))[1], rtol=1e-12)
    bent = hessian(lambda x: operation(x, p))(A)
    np.testing.assert_allclose(bent, hessian(lambda x: body(x, p))(A), rtol=1e-12)
    assert "derive_rule" in repr(explain(operation, A, p)) or "test_tools" in repr(
        explain(operation, A, p)
    )
    with pytest.raises(RuleError, match="samples"):
        derive_rule(body)
    jax = pytest.importorskip("jax")
    square = derive_rule(lambda x: np.sum(x * x), (A,))
    slope = jax.grad(lambda x: export(square, to="jax")(x))(jax.numpy.ones(3))
    assert slope.tolist() == [2.0] * 3


def v_leaves(x):
    return list(x.values()) if isinstance(x, dict) else [x]


def test_a_derived_rule_follows_what_its_program_looks_up():
    scale = 2.0
    scaled = derive_rule(lambda x: scale * x, (1.0,))
    scale = 5.0
    assert value_and_grad(scaled)(1.0) == (5.0, 5.0)
    assert jvp(scaled, (1.0,), (1.0,)) == (5.0, 5.0)


@feature(21, "a rule stated as text", page="tools", best="PyTorch: derivatives.yaml")
def test_a_rule_is_text():
    @primitive
    def wave(x, a):
        return a * v.sin(x)

    text_rule(wave, x="y_bar * a * cos(x)", a="sum(y_bar * sin(x))")
    check_rule(wave, A, 2.0)
    bent = hessian(lambda x: np.sum(wave(x, 2.0)))(A)
    np.testing.assert_allclose(bent, np.diag(-2 * np.sin(A)))

    @primitive
    def positive(x):
        return v.where(x > 0, x, 0.0)

    text_rule(positive, x="where(greater(x, 0), y_bar, 0)")
    assert grad(lambda x: np.sum(positive(x)))(np.array([-1.0, 1.0])).tolist() == [0.0, 1.0]


FORMULAS = {
    "solve": ("solve(S, y_bar)", np.linalg.solve),
    "solve_triangular": (
        "solve_triangular(S, y_bar, upper=True)",
        lambda s, x: np.linalg.solve(np.triu(s), x),
    ),
    "negative": ("negative(y_bar)", lambda s, x: -x),
    "positive": ("positive(y_bar)", lambda s, x: x),
    "deg2rad": ("deg2rad(y_bar)", lambda s, x: x * math.pi / 180),
    "dot": ("dot(S, y_bar)", np.dot),
    "tensordot": ("tensordot(S, y_bar, axes=1)", np.dot),
    "vecdot": ("vecdot(S, y_bar)", np.dot),
    "inner": ("inner(y_bar, S)", np.dot),
    "a sign, a sum and a tuple": (
        "-permute_dims(y_bar + 2.0 * y_bar, axes=(0,))",
        lambda s, x: -3 * x,
    ),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_operations_that_are_linear_in_one_operand_are_formulas(name):
    text, plain = FORMULAS[name]

    @primitive
    def f(x, S):
        return x

    text_rule(f, x=text, S="0")
    np.testing.assert_allclose(vjp(lambda x: f(x, S), A)[1](D)[0], plain(S, D))


@pytest.mark.parametrize(
    "text",
    [
        "y_bar**2",
        "y_bar * y_bar",
        "cos(y_bar)",
        "1.0",
        "y_bar * __import__('os')",
        "y_bar * foo(x)",
        "x.real * y_bar",
        "y_bar + 1",
        "y_bar if x else y_bar",
        "where(x, y_bar, 1)",
        "(lambda: y_bar)()",
        "y_bar * z",
        "1 / y_bar",
        "solve(y_bar, x)",
        "dot(y_bar, y_bar)",
        "y_bar +",
        "",
    ],
)
def test_what_is_no_linear_formula_is_refused(text):
    @primitive
    def f(x):
        return x

    with pytest.raises(RuleError, match="text_rule"):
        text_rule(f, x=text)


@feature("N6", "a numeric rule, on request and with a warning", page="tools",
         best="requested in autograd, JAX")  # fmt: skip
def test_a_numeric_rule_warns_once_and_is_right_or_an_error():
    smooth = numeric_rule(lambda x, y: np.sin(x) * np.cumsum(x) + y)
    slope = grad(lambda x: np.sum(smooth(x, 2.0) ** 2))
    with pytest.warns(NumericDerivativeWarning, match="finite steps") as caught:
        found = slope(A)
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(slope(A), found)  # a second warning would be an error
    plain = grad(lambda x: np.sum((np.sin(x) * np.cumsum(x) + 2.0) ** 2))(A)
    np.testing.assert_allclose(found, plain, rtol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumericDerivativeWarning)
        real = numeric_rule(lambda x: np.abs(x) * x)  # wrong along imaginary steps
        for x in (A, -A):
            np.testing.assert_allclose(jvp(real, (x,), (A,))[1], 2 * np.abs(x) * A, rtol=1e-9)
        with pytest.raises(NotDifferentiableError, match="too few digits"):
            hessian(lambda x: np.sum(smooth(x, 1.0)))(A)
        with pytest.raises(NotDifferentiableError, match="not smooth"):
            grad(numeric_rule(lambda x: abs(x)))(0.0)
        with pytest.raises(NotDifferentiableError, match="real numbers"):
            vjp(real, A * 1j)[1](A * 1j)
        with pytest.raises(NotDifferentiableError, match="of one array or number"):
            grad(numeric_rule(lambda x: {"a": np.sum(x), "b": (x, 3)}))(A)


@pytest.mark.filterwarnings("ignore:the derivative of:UserWarning")
def test_a_numeric_rule_of_complex_results_has_both_parts():
    wave = numeric_rule(lambda x: np.exp(1j * x) * x)
    slope = lambda x: np.exp(1j * x) * (1 + 1j * x)
    np.testing.assert_allclose(jvp(wave, (A,), (D,))[1], slope(A) * D, rtol=1e-8)
    y_bar = slope(D)
    (pulled,) = vjp(wave, A)[1](y_bar)
    np.testing.assert_allclose(pulled, np.real(np.conj(y_bar) * slope(A)), rtol=1e-8)
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    x = jax.numpy.ones(2)
    pushed = jax.jvp(export(wave, to="jax"), (x,), (x,))[1]
    np.testing.assert_allclose(pushed, [slope(1.0)] * 2, rtol=1e-6)


@pytest.mark.filterwarnings("ignore:the derivative of:UserWarning")
def test_a_numeric_rule_at_the_end_of_a_domain():
    slope = grad(numeric_rule(lambda x: math.log(x)))(1e-3)
    assert slope == pytest.approx(1e3, rel=1e-8)
    with pytest.raises(NotDifferentiableError, match="sparsity=pattern"):
        jacobian(numeric_rule(lambda x: x**2), sparsity="detect")(A)


def numeric_in_torch(f, x):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    f, x = export(f, to="torch"), torch.tensor(x)
    whole, ones = lambda a: f(a).sum(), torch.ones_like(x)
    yield torch.func.grad(whole)(x)
    yield torch.func.jvp(f, (x,), (ones,))[1]
    yield torch.func.vmap(torch.func.grad(f))(x)
    leaf = x.requires_grad_()
    yield torch.autograd.grad(whole(leaf), leaf)[0]
    yield lambda: torch.func.hessian(whole)(x)


def numeric_in_jax(f, x):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    f = export(f, to="jax")
    whole = lambda a: f(a).sum()
    yield jax.grad(whole)(x)
    yield jax.jit(jax.grad(whole))(x)
    yield jax.jvp(f, (x,), (np.ones_like(x),))[1]
    yield jax.vmap(jax.grad(f))(x)
    yield lambda: jax.hessian(whole)(x)


def numeric_in_autograd(f, x):
    autograd = pytest.importorskip("autograd", reason="autograd is not installed")
    f = export(f, to="autograd")
    whole = lambda a: f(a).sum()
    yield autograd.grad(whole)(x)
    yield autograd.make_jvp(f)(x)(np.ones_like(x))[1]
    yield lambda: autograd.hessian(whole)(x)


@pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:__array_wrap__:DeprecationWarning")  # NumPy's, of tensors
@pytest.mark.parametrize("of", [numeric_in_torch, numeric_in_jax, numeric_in_autograd])
def test_a_numeric_rule_is_exported(of):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumericDerivativeWarning)
        *first, second = of(numeric_rule(lambda x: np.sin(x) * x), A)
        for found in first:
            np.testing.assert_allclose(np.asarray(found), np.cos(A) * A + np.sin(A), rtol=1e-6)
        with pytest.raises(NotDifferentiableError, match="too few digits"):
            second()


# --------------------------------------------------------------------------------- profiles


@feature(83, "time and memory of each rule", page="tools", best="Chainer: TimerHook")
def test_rules_are_profiled():
    def f(x):
        for _ in range(3):
            x = np.tanh(S @ x)
        return np.sum(x)

    expected = grad(f)(A)
    with profile() as p:
        np.testing.assert_array_equal(grad(f)(A), expected)
    rows = {row.rule: row for row in p.by_rule()}
    assert {"matmul", "tanh", "sum"} == {*rows}
    assert (rows["tanh"].calls, rows["tanh"].pulls) == (3, 3)
    assert rows["tanh"].nbytes == 3 * 2 * A.nbytes  # operands and results
    assert all(row.forward > 0.0 and row.backward > 0.0 for row in p.rows)
    assert any("np.tanh(S @ x)" in row.where for row in p.rows)
    assert json.loads(p.json())[0].keys() >= {"rule", "where", "forward", "backward"}
    assert p.svg().count("<rect") >= len(p.rows)
    assert "tanh" in repr(p)
    grad(f)(A)
    assert {row.rule: row.calls for row in p.by_rule()}["tanh"] == 3


def test_a_profile_has_what_a_profile_inside_has():
    with profile() as outer, profile() as inner:
        grad(lambda x: np.sum(np.sin(x)))(A)
    assert inner.rows == outer.rows
    assert {row.rule for row in inner.rows} == {"sin", "sum"}


@pytest.mark.parametrize("where", [slice(1, 3), 1, np.array([0, 2])])
def test_writes_are_profiled(where):
    def f(x):
        y = np.zeros_like(x)
        for k in range(20):
            y[where] = k * x[where]
        return np.sum(y**2)

    expected = grad(f)(A)
    with profile() as p:
        np.testing.assert_array_equal(grad(f)(A), expected)
    (row,) = [row for row in p.by_rule() if row.rule == "put_at"]
    assert (row.calls, row.pulls) == (20, 20)
    assert min(row.forward, row.backward) > 0.0
    assert {row.where.partition(": ")[2] for row in p.rows if row.rule == "put_at"} == {
        "y[where] = k * x[where]"
    }


# ------------------------------------------------------------------- ChainRules.jl's functions


@pytest.mark.parametrize("name", ["sinpi", "cospi", "tanpi", "sind", "cosd"])
def test_functions_of_one_number(name):
    f, x, h = getattr(chainrules_jl_functions, name), 0.37, 1e-6
    assert grad(f)(x) == pytest.approx((f(x + h) - f(x - h)) / (2 * h), rel=1e-6)
    bent = (grad(f)(x + h) - grad(f)(x - h)) / (2 * h)
    assert grad(grad(f))(x) == pytest.approx(bent, rel=1e-5)


@pytest.mark.parametrize("x", [0.0, 0.5, 1.0, 1.5, 2.0, -0.5, -1.0])
def test_pieces_meet_with_all_derivatives(x):
    s, c, pi = np.sin(np.pi * x), np.cos(np.pi * x), np.pi
    for f, expected in (
        (chainrules_jl_functions.sinpi, (s, pi * c, -(pi**2) * s)),
        (chainrules_jl_functions.cospi, (c, -pi * s, -(pi**2) * c)),
    ):
        found = f(x), grad(f)(x), grad(grad(f))(x)
        np.testing.assert_allclose(found, expected, atol=1e-12)


def differences(f, x):
    found = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        e = np.zeros_like(x)
        e[place] = 1e-6
        found[place] = (f(x + e) - f(x - e)) / 2e-6
    return found


OTHERS = [
    lambda x: chainrules_jl_functions.foldl(lambda c, a: c * a + a, x, 1.0),
    lambda x: np.sum(chainrules_jl_functions.accumulate(lambda c, a: c * a + a, x, 1.0)),
    lambda x: chainrules_jl_functions.evalpoly(x[0], x),
    lambda x: np.sum(chainrules_jl_functions.symmetric(np.outer(x, x * x)) * S * S),
    lambda x: np.sum(
        chainrules_jl_functions.triangular(np.outer(x, x * x), lower=True, unit=True) * S
    ),
    lambda x: np.sum(
        np.real(chainrules_jl_functions.hermitian(np.outer(x, x * x) * (1 + 1j)) * (S + 2j))
    ),
    lambda x: chainrules_jl_functions.logdet(S + np.outer(x, x)),
]


@feature("27", "functions that users of ChainRules.jl look for", page="features",
         best="ChainRules.jl: 92 groups of functions")  # fmt: skip
@pytest.mark.parametrize("k", range(len(OTHERS)))
def test_functions_of_arrays(k):
    np.testing.assert_allclose(grad(OTHERS[k])(A), differences(OTHERS[k], A), rtol=1e-6, atol=1e-7)


def test_a_logarithm_of_no_positive_determinant():
    with pytest.raises(NotDifferentiableError, match="positive determinant"):
        chainrules_jl_functions.logdet(-np.eye(3))


def test_a_derived_rule_is_transformed_by_jax():
    jax = pytest.importorskip("jax")
    swish = lambda x: x / (1 + v.exp(-x))
    f = export(derive_rule(swish, (np.ones(3),)), to="jax")
    theirs = lambda x: x / (1 + jax.numpy.exp(-x))
    for transformed in (
        lambda f: jax.vmap(jax.grad(f))(np.array([0.3, -1.0])),
        lambda f: jax.hessian(f)(0.3),
        lambda f: jax.jit(jax.grad(f))(0.3),
    ):
        np.testing.assert_allclose(transformed(f), transformed(theirs), rtol=1e-4)


def test_an_axis_of_results_that_does_not_exist():
    by_value = lambda x: x if x[0] > 0 else -x
    for f, axis in ((lambda x: 2.0 * x, 5), (np.sum, 1), (by_value, 5), (lambda x: 2.0, -2)):
        for n in (3, 0)[: 1 + (f is not by_value)]:
            with pytest.raises(NotDifferentiableError, match=f"out_axes={axis} .*write out_axes=0"):
                vmap(f, 0, axis)(np.ones((n, 4)))
    assert vmap(lambda x: 2.0 * x, 0, -1)(np.ones((3, 4))).shape == (4, 3)


@pytest.mark.parametrize(
    "f", [lambda x: x if x > 0 else -x, lambda x: float(x) * x, lambda x: RNG.random() * x]
)
def test_no_example_of_what_looks_at_values(f):
    with pytest.raises(NotDifferentiableError, match="there is no example"):
        vmap(f)(np.zeros(0))


def _in_rows(x):
    b = np.zeros((2, 3))
    b = b + np.zeros_like(x, shape=b.shape)
    b[0] = x
    return np.sum(b**2)


@pytest.mark.parametrize(
    "f", [np.multiply, np.add, np.divide, np.power, lambda a, t: np.sum(a * t), np.dot]
)
def test_an_array_of_objects_that_another_level_traces_meets_a_series(f):
    def first(a):
        return taylor(lambda t: f(np.array([a, a]), t), np.full(2, 3.0), np.ones(2), 1)[1]

    def plain(a):
        return taylor(lambda t: f(np.full(2, a), t), np.full(2, 3.0), np.ones(2), 1)[1]

    value, slope = jvp(first, (5.0,), (1.0,))
    np.testing.assert_allclose(value, plain(5.0))
    np.testing.assert_allclose(slope, (plain(5.001) - plain(4.999)) / 2e-3, rtol=1e-5, atol=1e-8)


def test_a_series_of_plain_objects_is_refused():
    with pytest.raises(NotDifferentiableError, match=r"np.asarray\(x, float\)"):
        taylor(lambda t: t * np.array([2.0, 3.0], dtype=object), np.ones(2), np.ones(2), 1)


def test_a_series_that_is_written_to_a_buffer_is_made_of_its_parts():
    with pytest.raises(TracerError, match=r"b = np\.stack\(\[\.\.\.\]\), or np\.concatenate"):
        taylor(_in_rows, A, D, 2)
    stacked = taylor(lambda x: np.sum(np.stack([x, np.zeros(3)]) ** 2), A, D, 2)
    np.testing.assert_allclose(stacked, nested(_in_rows, A, D, 2), rtol=1e-12)


def test_a_series_that_was_refused_is_told_of():
    def f(x):
        try:
            return math.log(x) + x**2
        except Exception:
            return x

    with pytest.warns(LostDerivativeWarning, match="caught an error"):
        assert taylor(f, 2.0, 1.0, 2) == [2.0, 1.0, 0.0]


OF_EACH = {
    "grad": lambda f: vmap(grad(f)),
    "value_and_grad": lambda f: lambda xs: vmap(value_and_grad(f))(xs)[1],
    "hessian": lambda f: vmap(hessian(f)),
    "jvp": lambda f: vmap(lambda x: jvp(f, (x,), (x,))[1]),
    "grad of all": lambda f: grad(lambda xs: np.sum(vmap(f)(xs))),
}


@pytest.mark.parametrize("name", OF_EACH)
def test_derivatives_of_many_examples_call_the_function_once(name):
    calls = []

    def f(x):
        calls.append(None)
        return np.sum(np.sin(x) ** 2 * x)

    xs = np.linspace(0.1, 2.0, 12).reshape(4, 3)
    found = OF_EACH[name](f)(xs)
    assert len(calls) == 1
    alone = [OF_EACH[name](f)(x[None])[0] for x in xs]
    np.testing.assert_allclose(found, alone, rtol=1e-13)


TESTS_OF_ONE = {
    "isinstance": lambda x: isinstance(x, np.ndarray),
    "a number": lambda x: isinstance(x, (int, float)),
    "np.isscalar": np.isscalar,
    "__len__": lambda x: hasattr(x, "__len__"),
    "Iterable": lambda x: isinstance(x, collections.abc.Iterable),
    "is_integer": lambda x: hasattr(x, "is_integer"),
    "np.shape": lambda x: np.shape(x) == (),
    "np.ndim": lambda x: np.ndim(x) > 0,
    "nbytes": lambda x: x.nbytes > 8,
}


@pytest.mark.parametrize("name", TESTS_OF_ONE)
@pytest.mark.parametrize("of", [lambda f: f, grad, hessian, lambda f: grad(grad(f))])
@pytest.mark.parametrize("xs", [np.array([1.0, 2.0]), np.array([[1.0, 2.0], [3.0, 4.0]])])
def test_an_example_is_what_a_loop_gives(name, of, xs):
    f = of(lambda x: np.sum(x**3 if TESTS_OF_ONE[name](x) else x**2))
    if of in (grad, hessian) or xs.ndim == 1:
        np.testing.assert_array_equal(vmap(f)(xs), [f(x) for x in xs])


def test_many_examples_are_no_outer_differentiation():
    """Roots at zero, their squares, and what depends on nothing are as for each example."""
    for f in (lambda x: np.cos(np.sqrt(x)), lambda x: np.sqrt(x) ** 2):
        np.testing.assert_array_equal(vmap(grad(f))(np.array([0.0, 1.0]))[0], grad(f)(0.0))
    length = lambda x: np.linalg.norm(x) ** 2
    bend = hessian(lambda xs: np.sum(vmap(length)(xs)))(np.zeros((2, 3)))
    np.testing.assert_array_equal(bend.reshape(6, 6), 2 * np.eye(6))
    with pytest.warns(LostDerivativeWarning, match="depends on nothing"):
        vmap(grad(lambda x: 3.0))(np.ones((2, 2)))
    with pytest.raises(ValueError, match="transpose"):
        vmap(lambda x: x.mT)(np.ones((2, 3)))


def _element_by_ellipsis(x):
    c = x * 1.0
    y = c[0, ...]
    y *= 3.0
    return np.sum(c * c)


def _written_by_another_name(x):
    y = np.where(x[0] > 0, x[0], 0.0)
    z = y
    y *= x[1]
    return z


def _copy_in_a_list(x):
    t = np.copy(x[0])
    kept = [t]
    t += x[1]
    return kept[0]


@pytest.mark.parametrize(
    "f", [_element_by_ellipsis, _written_by_another_name, _copy_in_a_list], ids=lambda f: f.__name__
)
def test_an_array_without_axes_of_each_example_is_written_to(f):
    """NumPy gives such arrays there, and numbers elsewhere."""
    told = lambda x: isinstance(np.copy(x[0]), np.ndarray) * x[0]
    np.testing.assert_array_equal(vmap(told)(np.ones((3, 2))), np.ones(3))
    xs = np.arange(1.0, 7.0).reshape(3, 2)
    np.testing.assert_array_equal(vmap(f)(xs), [f(x) for x in xs])
    slopes = [grad(f)(x) for x in xs]
    np.testing.assert_array_equal(vmap(grad(f))(xs), slopes)
    np.testing.assert_array_equal(grad(lambda xs: np.sum(vmap(f)(xs)))(xs), slopes)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(x, axis=1),
        lambda x: np.sum(x, axis=(0,)),
        lambda x: np.squeeze(x, axis=3),
        lambda x: x @ x,
        lambda x: np.matmul(x, x),
        lambda x: np.sum(x * [1.0, 2.0]),
    ],
)
def test_what_a_number_cannot_be_asked_no_example_can(f):
    for derivative in (lambda f: f, grad):
        with pytest.raises((TypeError, ValueError, TracerError)):
            vmap(derivative(f))(np.array([1.0, 2.0, 3.0]))


@primitive
def _sign_in_python(x):
    return 0 if x > 0 else -0.0


def test_a_dtype_is_that_of_each_example():
    f = lambda x: np.sum(np.isrealobj(np.emath.sqrt(x)) * x * x)
    xs = np.array([-1.0, 4.0])
    np.testing.assert_array_equal(vmap(f)(xs), [f(x) for x in xs])
    np.testing.assert_array_equal(vmap(grad(f))(xs), [grad(f)(x) for x in xs])


def test_pythons_numbers_are_those_of_each_example():
    signs = vmap(lambda x: np.copysign(1.0, _sign_in_python(x)))(np.array([1.0, -2.0]))
    assert signs.tolist() == [1.0, -1.0]
    positive = primitive(lambda x: int(np.sum(x > 0)))
    ones = np.array([[1, 2], [1, -2]], np.float32)
    assert vmap(lambda x: positive(x) * x)(ones).dtype == np.float32
