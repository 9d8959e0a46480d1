"""What an exported function keeps to in JAX: structures, options, zeros, dtypes, errors, counts."""

from __future__ import annotations

import dataclasses
import re
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import chainrules_tape
from chainrules_jax import export, supports
from chainrules_kit.custom_derivatives import custom_vjp
from chainrules_py import (
    LinearMap,
    NoRuleError,
    NoTangent,
    NotDifferentiableError,
    RuleError,
    Tangent,
    TracerError,
    UnsupportedKeywordError,
    frule,
    non_differentiable,
    primitive,
    rrule,
    rule,
    scalar_rule,
)
from chainrules_py import ops as v
from chainrules_py.engines import export as core_export
from chainrules_py.ops import strict

pytestmark = pytest.mark.usefixtures("double")


X = np.array([0.4, 1.1, -0.7])


# --------------------------------------------------------------------------- one call, many forms


def test_export_of_the_core_finds_this_engine(near):
    near(jax.grad(core_export.export(v.sin, to="jax"))(0.3), np.cos(0.3))
    both = core_export.export(v.sin, to=["jax"])
    near(jax.grad(both["jax"])(0.3), np.cos(0.3))


def test_what_is_exported_may_be_an_operation_an_alias_a_method_or_code(near):
    @primitive
    def tripled(x):
        return 3 * x

    class Model:
        def __init__(self, w):
            self.w = w

        def __call__(self, x):
            return v.sum(v.tanh(self.w * x))

    slope = 1 - np.tanh(X) ** 2
    for f in (
        lambda x: v.tanh(x).sum(),
        lambda x: v.sum(v.tanh(x)),
        lambda x: export(np.sum)(export(np.tanh)(x)),
        Model(1.0),
    ):
        near(jax.grad(export(f))(jnp.asarray(X)), slope)
    near(jax.grad(export(tripled))(2.0), 3.0)  # no rule: JAX goes through the body
    near(export(np.ndarray.sum)(jnp.asarray(X)), X.sum())


def test_options_are_static_and_go_by_name_as_in_numpy(near):
    a = jnp.asarray(np.arange(6.0).reshape(2, 3) ** 2)
    total = export(np.sum)
    assert total(a, axis=0, keepdims=True).shape == (1, 3)
    mean = jax.jit(lambda a: jax.grad(lambda a: export(np.mean)(a, axis=(0, 1)))(a))
    near(mean(a), np.full((2, 3), 1 / 6))
    where = np.array([[True, False, True], [False, True, True]])
    near(jax.grad(lambda a: total(a, where=where))(a), where * 1.0)
    near(jax.jit(lambda a: export(np.linalg.norm)(a, ord="fro"))(a), np.linalg.norm(a))
    with pytest.raises(UnsupportedKeywordError, match="out"):
        total(a, out=np.zeros(3))


def test_numbers_arrays_of_numpy_and_of_jax(near):
    power = export(np.power)
    near(jax.grad(power)(2.0, 3), 12.0)
    near(jax.grad(power, 1)(2.0, 3.0), 8 * np.log(2.0))
    near(jax.grad(lambda x: power(x, 2).sum())(X), 2 * X)
    near(jax.jit(jax.vmap(jax.grad(power), (0, None)))(X, 2), 2 * X)
    single = jnp.asarray(X, jnp.float32)
    assert power(single, 2.0).dtype == jnp.float32
    assert jax.grad(lambda x: power(x, 2.0).sum())(single).dtype == jnp.float32


@dataclasses.dataclass
class Line:
    slope: object
    offset: object
    name: str = "line"


jax.tree_util.register_dataclass(Line, ["slope", "offset"], ["name"])


@primitive
def on_line(line, x):
    """A structure is an operand."""
    return line.slope * x + line.offset


@rule(on_line)
def on_line_rule(line: Line, x):
    """Its tangent is one of the structure."""
    push_line = lambda t, line, x: t.slope * x + t.offset
    pull_line = lambda y_bar, line, x: Tangent[Line](slope=y_bar * x, offset=y_bar)
    push, pull = lambda t, line: line.slope * t, lambda t, line: line.slope * t
    return line.slope * x + line.offset, (
        LinearMap(push_line, pull_line, line, x),
        LinearMap(push, pull, line),
    )


def test_structures_as_operands(near):
    f = export(on_line)
    line = Line(jnp.asarray(2.0), jnp.asarray(-1.0))
    for g in (jax.grad(lambda line, x: f(line, x).sum(), (0, 1)),):
        for of in (g, jax.jit(g)):
            bar, x_bar = of(line, jnp.asarray(X))
            assert isinstance(bar, Line)
            near(bar.slope, X.sum())
            near(bar.offset, 3.0)
            near(x_bar, 2.0)
    ones = Line(jnp.asarray(1.0), jnp.asarray(0.5))
    near(jax.jvp(lambda line: f(line, X), (line,), (ones,))[1], X + 0.5)
    hessian = jax.hessian(lambda line: (f(line, X) ** 2).sum())(line)
    near(hessian.slope.slope, 2 * (X @ X))
    near(hessian.slope.offset, 2 * X.sum())
    lines = Line(jnp.arange(3.0), jnp.ones(3))
    near(jax.vmap(f)(lines, jnp.asarray(X)), np.arange(3) * X + 1)


def test_structures_of_lists_and_dicts(near):
    def loss(params, x):
        for layer in params["layers"]:
            x = v.tanh(x @ layer["w"] + layer["b"])
        return v.sum(x * params["scale"])

    rng = np.random.default_rng(0)
    layers = [{"w": rng.normal(size=(3, 3)), "b": rng.normal(size=3)} for _ in range(2)]
    params = {"layers": layers, "scale": 0.5}
    bars = jax.jit(jax.grad(export(loss)))(params, X)
    y, y_dot = jax.jvp(lambda p: export(loss)(p, X), (params,), (bars,))
    assert jax.tree.structure(bars) == jax.tree.structure(params)
    near(y, loss(params, X))
    step = lambda h: loss(jax.tree.map(lambda p, b: np.asarray(p + h * b), params, bars), X)
    near(y_dot, (step(1e-5) - step(-1e-5)) / 2e-5, 1e-8)


def test_several_outputs_keep_their_type(near):
    a = jnp.asarray([[2.0, 1.0], [0.5, 3.0]])
    svd = export(np.linalg.svd)
    assert type(svd(a)) is type(jnp.linalg.svd(a))
    u, s, vh = jax.jit(svd)(a)
    near((u * s) @ vh, a)
    bar = jax.grad(lambda a: svd(a)[1][0])(a)  # u and vh have no cotangent here
    near(bar, jnp.outer(u[:, 0], vh[0]))
    sign, log = export(np.linalg.slogdet)(a)
    near((sign, log), np.linalg.slogdet(np.asarray(a)))
    near(jax.grad(lambda a: export(np.linalg.slogdet)(a)[1])(a), np.linalg.inv(a).T)


# -------------------------------------------------------------------------- zeros, both ways


def test_integers_have_tangents_of_no_size(near):
    def f(x, k):
        return v.multiply(x, k)

    exported = export(f)
    k = jnp.asarray([1, 2, 3])
    bars = jax.grad(lambda x, k: exported(x, k).sum(), (0, 1), allow_int=True)(X, k)
    near(bars[0], k)
    assert bars[1].dtype == jax.dtypes.float0
    none = np.zeros(3, jax.dtypes.float0)
    _, y_dot = jax.jvp(exported, (jnp.asarray(X), k), (jnp.ones(3), none))
    near(y_dot, k)
    places = export(np.argsort)
    _, y_dot = jax.jvp(places, (jnp.asarray(X),), (jnp.ones(3),))
    assert y_dot.dtype == jax.dtypes.float0
    _, pullback = jax.vjp(lambda x: (places(x), export(np.sort)(x)), jnp.asarray(X))
    none = np.zeros(3, jax.dtypes.float0)
    near(pullback((none, jnp.arange(3.0)))[0], [1.0, 2.0, 0.0])


def test_a_floating_result_beside_an_integer_one(near):
    @primitive
    def largest(x):
        return v.max(x), v.argmax(x)

    @rule(largest)
    def largest_rule(x):
        i = v.argmax(x)
        at = v.where(v.equal(v.arange_like(x, stop=3), i), 1.0, 0.0)
        push = lambda t, at: Tangent.of(tuple, {0: v.sum(at * t), 1: NoTangent()}, 2)
        pull = lambda bar, at: at * bar[0]
        return (v.max(x), i), (LinearMap(push, pull, at),)

    f = export(largest)
    y, i = jax.jit(f)(X)
    assert (float(y), int(i)) == (1.1, 1)
    near(jax.grad(lambda x: f(x)[0])(X), [0.0, 1.0, 0.0])
    _, (y_dot, none) = jax.jvp(f, (jnp.asarray(X),), (jnp.arange(3.0),))
    near(y_dot, 1.0)
    assert none.dtype == jax.dtypes.float0


def test_constant_functions_have_zeros_and_not_errors(near):
    f = export(lambda x: v.floor(x) * x)
    near(jax.grad(lambda x: f(x).sum())(X), np.floor(X))
    near(jax.grad(lambda x: export(np.floor)(x).sum())(X), 0.0)
    near(jax.jvp(export(np.sign), (X,), (np.ones(3),))[1], 0.0)

    @primitive
    def stopped(x):
        return x * 1.0

    non_differentiable(stopped)
    near(jax.jit(jax.grad(lambda x: (export(stopped)(x) * x).sum()))(X), X)


def test_operands_that_are_not_differentiated_cost_nothing(near):
    asked = []

    @primitive
    def scaled(a, x):
        return a * x

    @rule(scaled)
    def scaled_rule(a, x):
        def of_a(bar, x):
            asked.append("a")
            return bar * x

        def of_x(bar, a):
            asked.append("x")
            return bar * a

        return a * x, (LinearMap(of_a, of_a, x), LinearMap(of_x, of_x, a))

    f = export(scaled)
    near(jax.grad(f, 1)(2.0, 3.0), 2.0)
    assert asked == ["x"]
    jax.jvp(lambda a: f(a, 3.0), (2.0,), (1.0,))
    assert asked == ["x", "a"]


def test_batches_of_calls_of_unequal_axes(near):
    f, rows, ys = export(np.hypot), np.arange(1.0, 7.0).reshape(2, 3), np.array([2.0, 5.0])
    want = np.hypot(rows, ys[:, None])
    near(jax.vmap(f)(rows, ys), want)
    near(jax.vmap(f, (1, 0))(rows.T, ys), want)
    near(jax.vmap(f, (None, 0))(rows[0], ys), np.hypot(rows[0], ys[:, None]))
    near(jax.vmap(jax.vmap(f, (0, None)))(rows, ys), want)
    slope = jax.grad(lambda rows, ys: jax.vmap(f)(rows, ys).sum(), (0, 1))(rows, ys)
    near(slope[0], rows / want)
    near(slope[1], (ys[:, None] / want).sum(1))


# -------------------------------------------------------------------- complex numbers and dtypes

Z = np.array([0.4 + 0.3j, 1.1 - 0.2j])
W = np.array([[0.9 - 0.1j, 0.2 + 0.5j], [0.3j, 1.4]])


@pytest.mark.parametrize(
    "ours, theirs, operands",
    [
        (np.exp, jnp.exp, (Z,)),
        (np.multiply, jnp.multiply, (Z, Z[::-1])),
        (np.conj, jnp.conj, (Z,)),
        (np.real, jnp.real, (Z,)),
        (np.matmul, jnp.matmul, (W, Z)),
        (np.linalg.inv, jnp.linalg.inv, (W,)),
        (np.linalg.solve, jnp.linalg.solve, (W, Z)),
        (np.fft.fft, jnp.fft.fft, (Z,)),
        (lambda x: v.multiply(x, Z), lambda x: jnp.multiply(x, Z), (X[:2],)),
    ],
)
def test_complex_numbers_follow_the_convention_of_jax(near, ours, theirs, operands):
    operands = tuple(map(jnp.asarray, operands))
    y, pullback = jax.vjp(export(ours), *operands)
    _, theirs_back = jax.vjp(theirs, *operands)
    bar = (y * (0.3 - 0.7j) + 1).astype(y.dtype) if jnp.iscomplexobj(y) else y + 1
    for have, want in zip(pullback(bar), theirs_back(bar), strict=True):
        assert have.dtype == want.dtype
        near(have, want)
    ts = tuple([(x * (1 - 2j)).astype(x.dtype) if jnp.iscomplexobj(x) else x for x in operands])
    near(jax.jvp(export(ours), operands, ts)[1], jax.jvp(theirs, operands, ts)[1])


def test_holomorphic_gradient_is_the_derivative(near):
    near(jax.grad(export(np.sin), holomorphic=True)(0.3 + 0.2j), np.cos(0.3 + 0.2j))
    loss = lambda f: lambda z: jnp.abs(f(z)) ** 2
    near(jax.grad(loss(export(np.exp)))(0.3 + 0.2j), jax.grad(loss(jnp.exp))(0.3 + 0.2j))


def test_cotangents_of_real_operands_are_real_and_single_stays_single():
    single, complex_one = jnp.float32(0.5), jnp.asarray(0.3 + 1j)
    f = export(np.multiply)
    bar = jax.grad(lambda x: jnp.real(f(x, complex_one)))(single)
    assert bar.dtype == jnp.float32
    y, y_dot = jax.jvp(export(np.sin), (single,), (jnp.float32(1.0),))
    assert (y.dtype, y_dot.dtype) == (jnp.float32, jnp.float32)
    for dtype in (jnp.float16, jnp.bfloat16):
        x = jnp.asarray([0.5, 1.0], dtype)
        assert jax.grad(lambda x: export(np.tanh)(x).sum())(x).dtype == dtype


def test_without_double_precision(near):
    with jax.enable_x64(False):
        x = jnp.asarray(X)
        assert x.dtype == jnp.float32
        bar = jax.jit(jax.grad(lambda x: export(np.linalg.norm)(x)))(x)
        assert bar.dtype == jnp.float32
        near(bar, X / np.linalg.norm(X), 1e-6)


# ---------------------------------------------------------------------------------------- errors


def test_a_mode_that_nobody_states_is_the_transpose_of_the_other(near):
    @primitive
    def backward_only(x):
        return x * x

    @rrule.register(backward_only)
    def backward_only_rrule(x):
        return x * x, lambda y_bar: (2 * x * y_bar,)

    @primitive
    def forward_only(x):
        return x * x

    @frule.register(forward_only)
    def forward_only_frule(tangents, x):
        return x * x, 2 * x * tangents[0]

    f, g = export(backward_only), export(forward_only)
    near(jax.jit(jax.grad(f))(3.0), 6.0)
    near(jax.jvp(g, (3.0,), (1.0,))[1], 6.0)
    near(jax.jit(jax.vmap(lambda x: jax.jvp(g, (x,), (1.0,))[1]))(X), 2 * X)
    for run in (lambda: jax.jvp(f, (3.0,), (1.0,))[1], lambda: jax.jit(jax.jacfwd(f))(3.0)):
        near(run(), 6.0)
    for run in (lambda: jax.grad(g)(3.0), lambda: jax.jit(jax.grad(g))(3.0)):
        near(run(), 6.0)
    near(jax.vmap(jax.jit(lambda x: jax.jvp(f, (x,), (1.0,))[1]))(X), 2 * X)


def test_an_opaque_function_without_a_rule_is_an_error():
    @primitive
    def secret(x):
        return np.asarray(x) * 2

    secret.opaque = True
    with pytest.raises(NoRuleError, match="secret"):
        jax.grad(export(secret))(1.0)


def test_code_that_calls_numpy_says_what_to_write():
    with pytest.raises(NotDifferentiableError, match=r"chainrules_py.export\(np.sin, to='jax'\)"):
        jax.grad(export(lambda x: np.sin(x)))(1.0)


def test_a_rule_in_numpy_is_called_back(near):
    @primitive
    def by_numpy(x):
        return np.sin(np.asarray(x))

    scalar_rule(by_numpy, lambda y, x: np.cos(np.asarray(x)))
    near(jax.grad(export(by_numpy))(0.5), np.cos(0.5))
    near(jax.jit(export(by_numpy))(0.5), np.sin(0.5))
    near(jax.jit(jax.grad(export(by_numpy)))(0.5), np.cos(0.5))


def test_errors_in_a_half_name_the_call_and_the_rule():
    @primitive
    def broken(x):
        return x * 1.0

    def pull(y_bar):
        raise FloatingPointError("not today")

    @rule(broken)
    def broken_rule(x):
        return x * 1.0, (LinearMap(lambda t: t, pull),)

    with pytest.raises(FloatingPointError) as caught:
        jax.grad(export(broken))(1.0)
    note = "\n".join(caught.value.__notes__)
    assert "pulling a cotangent back through broken" in note
    assert re.search(r"test_jax\.py:\d+", note)


def test_a_rule_that_gives_another_value_is_an_error():
    @primitive
    def pair(x):
        return x, x

    @rule(pair)
    def pair_rule(x):
        return x, (LinearMap(lambda t: t, lambda t: t),)

    with pytest.raises(RuleError, match="pair gives 2 arrays, and its rule 1"):
        jax.grad(jax.jit(lambda x: export(pair)(x)[0]))(1.0)


def test_traced_values_that_a_function_captured_are_not_lost():
    def total(a):
        @primitive
        def scaled(x):
            return a * x

        scalar_rule(scaled, lambda _y, x: 1.0)
        return export(scaled)(2.0 * a)

    with pytest.raises(TracerError, match=r"scaled depends on a .*that gradient would be lost"):
        jax.grad(total)(3.0)


def test_custom_functions_whose_operand_is_held_fixed(near):
    @custom_vjp(nondiff_argnums=(1,))
    def scaled(x, n):
        return x * n

    scaled.defvjp(lambda x, n: (x * n, None), lambda n, _, y_bar: (y_bar * n,))
    near(jax.grad(export(scaled))(1.0, 3.0), 3.0)
    with pytest.raises(NotDifferentiableError, match="held fixed"):
        jax.grad(export(scaled), 1)(1.0, 3.0)


# --------------------------------------------------------------------------------------- reports

COMPLEX = np.array([[1.0, 0.3j], [0.2 - 0.5j, 2.0]])


def turned(u):
    """Matrices on a line."""
    return jnp.asarray(COMPLEX) * u + jnp.eye(2) * jnp.sin(u)


@pytest.mark.slow
@pytest.mark.parametrize(
    "second",
    [
        lambda f, u: jax.jvp(jax.grad(f), (u,), (1.0,))[1],
        lambda f, u: jax.grad(jax.grad(f))(u),
    ],
    ids=["forward over reverse", "reverse over reverse"],
)
def test_derivatives_of_gradients_are_reported_only_where_they_depend_on_a_choice(near, second):
    """A part of them may, where the whole does not: the tangents of cotangents."""
    svd = export(np.linalg.svd)

    def of_sizes(u):
        return jnp.sum(jnp.abs(svd(turned(u)).Vh) ** 2 * jnp.arange(4.0).reshape(2, 2))

    def by_differences(f, u, h=1e-4):
        return (f(u + h) - 2 * f(u) + f(u - h)) / h**2

    with strict():
        near(second(of_sizes, 0.7), by_differences(of_sizes, 0.7), 1e-6)
        with pytest.raises(NotDifferentiableError, match="which singular vectors"):
            second(lambda u: jnp.sum(svd(turned(u)).Vh.real), 0.7)
    # Reported where the gradient is computed, whatever it is of.
    with strict(), pytest.raises(NotDifferentiableError, match="which singular vectors"):
        jax.grad(lambda u: jax.jvp(lambda u: jnp.sum(svd(turned(u)).Vh.real), (u,), (1.0,))[1])(0.7)


# ------------------------------------------------------------------------ what runs, how often


def counting_rule():
    counts = SimpleNamespace(value=0, rule=0, push=0, pull=0)

    @primitive
    def counted(x):
        counts.value += 1
        return v.sin(x)

    @rule(counted)
    def counted_rule(x):
        counts.rule += 1

        def push(t, c):
            counts.push += 1
            return c * t

        def pull(y_bar, c):
            counts.pull += 1
            return v.conj(c) * y_bar

        return v.sin(x), (LinearMap(push, pull, v.cos(x)),)

    return export(counted), counts


def test_both_halves_of_a_rule_are_used(near):
    f, counts = counting_rule()
    near(jax.jvp(f, (0.3,), (1.0,))[1], np.cos(0.3))
    assert (counts.rule, counts.push, counts.pull, counts.value) == (1, 1, 0, 0)
    near(jax.grad(f)(0.3), np.cos(0.3))
    assert (counts.rule, counts.push, counts.pull, counts.value) == (2, 1, 1, 0)
    near(jax.jacfwd(jax.grad(f))(0.3), -np.sin(0.3))
    near(jax.grad(jax.jacfwd(f))(0.3), -np.sin(0.3))
    before = counts.rule
    g = jax.jit(jax.grad(f))
    for at in (0.1, 0.2, 0.3):
        near(g(at), np.cos(at))
    assert counts.rule <= before + 2  # traced once, not run again


def test_a_forward_half_by_numpy_needs_no_reverse_half(near):

    @primitive
    def squared(x):
        return np.asarray(x) ** 2

    @frule.register(squared)
    def squared_frule(tangents, x):
        return squared(x), 2 * np.asarray(x) * np.asarray(tangents[0])

    y, y_dot = jax.jvp(export(squared), (jnp.array([3.0]),), (jnp.array([1.0]),))
    near(y, [9.0])
    near(y_dot, [6.0])
    near(jax.jacfwd(export(squared))(3.0), 6.0)


def test_separate_statements_are_both_used(near):
    used = []

    @primitive
    def squared(x):
        return x * x

    @frule.register(squared)
    def squared_frule(tangents, x):
        used.append("frule")
        return x * x, 2 * x * tangents[0]

    @rrule.register(squared)
    def squared_rrule(x):
        used.append("rrule")
        return x * x, lambda y_bar: (2 * x * y_bar,)

    f = export(squared)
    for transform, expected in ((jax.grad, ["rrule"]), (jax.jacfwd, ["rrule", "frule"])):
        near(transform(f)(3.0), 6.0)
        assert used == expected
        used.clear()
    near(jax.hessian(f)(3.0), 2.0)
    near(jax.jacrev(jax.jacfwd(f))(3.0), 2.0)
    near(jax.jit(jax.grad(jax.grad(f)))(3.0), 2.0)
    assert {*used} == {"frule", "rrule"}


def lapack_calls(f, *operands):
    """Calls of LAPACK in a compiled program."""
    text = jax.jit(f).lower(*operands).compile().as_text()
    return len(re.findall(r'custom_call_target="lapack', text))


@pytest.mark.parametrize("name", ["cholesky", "inv", "solve", "eigh", "svd"])
def test_compiled_programs_factor_as_often_as_those_of_jax(name):
    a = jnp.asarray([[2.0, 0.3, 0.1], [0.3, 1.5, 0.2], [0.1, 0.2, 1.0]])
    operands = (a, a[0]) if name == "solve" else (a,)

    def loss(f):
        return lambda *xs: sum([jnp.sum(y * y) for y in jax.tree.leaves(f(*xs))])

    ours, theirs = export(getattr(np.linalg, name)), getattr(jnp.linalg, name)
    have = lapack_calls(jax.value_and_grad(loss(ours)), *operands)
    assert 0 < have <= lapack_calls(jax.value_and_grad(loss(theirs)), *operands)


@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_reads_the_triangle_that_numpy_reads(upper):
    a = np.array([[4.0, 0.3 + 0.2j, 0.1], [0.5 - 0.1j, 3.0, 0.2j], [0.4, 0.7j, 2.0]])
    ours = v.cholesky(jnp.asarray(a), upper=upper)
    np.testing.assert_allclose(ours, np.linalg.cholesky(a, upper=upper), rtol=1e-6)


def test_gmres_takes_products_that_jax_computes():
    a = jnp.asarray([[4.0, 1.0, 0.0], [0.5, 3.0, 1.0], [0.0, 0.2, 2.0]])
    b = jnp.asarray([1.0, 2.0, 3.0])
    found = v.linear_solve(lambda x: a @ x, b, solver="gmres")
    np.testing.assert_allclose(found, jnp.linalg.solve(a, b), rtol=1e-5)


# --------------------------------------------------------------------------------- what it can do


def test_supports_reads_statements_and_tries_calls():
    everything = {"grad": True, "jvp": True, "vmap": True, "jit": True, "order": np.inf}
    assert supports(v.sin)._asdict() == everything
    assert supports(np.sin, 0.5)._asdict() == everything
    assert supports(np.floor).order == 0
    assert supports(np.floor, 1.5).order == 0
    assert not supports(v.bincount).jit

    @primitive
    def backward_only(x):
        return x * x

    @rrule.register(backward_only)
    def backward_only_rrule(x):
        return x * x, lambda y_bar: (2 * x * y_bar,)

    for found in (supports(backward_only), supports(backward_only, 1.0)):
        assert (found.grad, found.jvp) == (True, True)

    @primitive
    def by_numpy(x):
        return np.sin(np.asarray(x))

    scalar_rule(by_numpy, lambda y, x: np.cos(np.asarray(x)))
    found = supports(by_numpy, 1.0)
    # Body and rule are called back.
    assert (found.jit, found.grad, found.vmap, found.order) == (True, True, True, 1)


def test_integers_of_python_that_jax_carries_are_data(near):
    f = lambda n, x: export(np.power)(x, n)
    bars = jax.grad(f, argnums=(0, 1), allow_int=True)(3, 2.0)
    assert bars[0].dtype == jax.dtypes.float0
    near(bars[1], 12.0)


def test_what_jax_has_traced_keeps_its_rules():
    square = primitive(lambda x: x * x)

    def state(slope, **how):
        half = lambda t, x: slope * x * t
        rule(square, **how)(lambda x: (square(x), (LinearMap(half, half, x),)))

    state(2.0)
    f = export(square)
    forms = [f, jax.jit(f), jax.checkpoint(f)]
    assert [float(jax.grad(g)(1.0)) for g in forms] == [2.0, 2.0, 2.0]
    state(10.0, override=True)
    assert [float(jax.grad(g)(1.0)) for g in forms] == [10.0, 2.0, 2.0]


METHODS = {
    "T": lambda x: x @ x.T,
    "reshape": lambda x: x.reshape(-1)[1:],
    "reshape, in Fortran's order": lambda x: x.reshape((3, 2), order="F") @ x,
    "transpose": lambda x: x.transpose(1, 0)[1:],
    "copy": lambda x: x.copy(),
    "mean": lambda x: x.mean(axis=0).clip(2.0, 4.0),
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_of_arrays_have_derivatives_in_other_engines(near, name):
    f = lambda x: np.sum(METHODS[name](x) ** 3)
    x = np.arange(1.0, 7.0).reshape(2, 3)
    slope, bent = chainrules_tape.grad(f), lambda x: chainrules_tape.hvp(f, (x,), (x,))
    for compiled in (lambda f: f, jax.jit):
        near(compiled(slope)(jnp.asarray(x)), slope(x))
        near(compiled(bent)(jnp.asarray(x)), bent(x))
