"""Whole derivatives: every layout and mode against JAX, and batches against loops."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chainrules_py import LinearMap, NoTangent, NotDifferentiableError, Tangent, primitive, rule
from chainrules_py import ops as v
from chainrules_py.registry.bind import batched_tangents
from chainrules_tape import grad, hessian, hook, hvp, jacobian, jvp, linearize, vjp

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)
jnp = jax.numpy

MODES = ("forward", "reverse", "auto")
RNG = np.random.default_rng(7)
A, B = RNG.standard_normal((3, 4)), RNG.standard_normal((2, 3))


def leaves(t: Any) -> list[Any]:
    if isinstance(t, Tangent):
        return [leaf for _, part in t.fields() for leaf in leaves(part)]
    if isinstance(t, dict):
        return [leaf for key in sorted(t) for leaf in leaves(t[key])]
    if isinstance(t, (tuple, list)):
        return [leaf for part in t for leaf in leaves(part)]
    return [t]


def assert_same(have: Any, want: Any, rel: float = 1e-11) -> None:
    have, want = leaves(have), leaves(want)
    assert len(have) == len(want)
    for h, w in zip(have, want, strict=True):
        assert np.shape(h) == np.shape(w)
        assert np.asarray(h) == pytest.approx(np.asarray(w), rel=rel, abs=1e-12)


# ------------------------------------------------------------------------------ functions and modes

FUNCTIONS = {
    "elementwise": lambda xp, x: xp.sin(x) * xp.exp(-x) / (1.0 + x * x),
    "broadcast": lambda xp, x: x[:, None] * x[None, :] + x,
    "product": lambda xp, x: xp.tanh(xp.asarray(B) @ xp.tanh(xp.asarray(A) @ x)),
    "outer": lambda xp, x: xp.outer(x, xp.sin(x)),
    "number": lambda xp, x: xp.sum(x**3) * x[0],
    "of no elements": lambda xp, x: x[:0] * 2.0,
    "slices": lambda xp, x: x[1:] * x[:-1] + x[::2][:1],
    "gathered": lambda xp, x: x[xp.asarray([0, 2, 2, 1])] * x[3],
    "joined": lambda xp, x: xp.concatenate([x, xp.stack([x[0] * x[1], x[2]])]),
    "reshaped": lambda xp, x: xp.transpose(xp.reshape(x, (2, 2)), (1, 0))[None] * x[0],
    "reduced": lambda xp, x: xp.mean(xp.reshape(x, (2, 2)) ** 2, axis=0),
    "kept": lambda xp, x: xp.sum(xp.reshape(x, (2, 2)) ** 2, axis=-1, keepdims=True),
    "accumulated": lambda xp, x: xp.cumsum(x * x),
    "extremes": lambda xp, x: xp.stack([xp.max(x), xp.min(x), xp.prod(x), xp.var(x), xp.std(x)]),
    "chosen": lambda xp, x: xp.where(x > 0, x * x, xp.sin(x)) + xp.where(x > 0, x, 0.0),
    "clipped": lambda xp, x: xp.clip(x, -0.5, 0.5) + xp.maximum(x, 0.1),
    "sorted": lambda xp, x: xp.sort(x) * xp.flip(x) + xp.roll(x, 1),
    "tiled": lambda xp, x: xp.tile(x, 2) * xp.repeat(x, 2),
    "inverse": lambda xp, x: xp.linalg.inv(xp.reshape(x, (2, 2)) + 3.0 * xp.eye(2)),
    "solved": lambda xp, x: xp.linalg.solve(xp.reshape(x, (2, 2)) + 3.0 * xp.eye(2), x[:2]),
    "determinant": lambda xp, x: xp.linalg.slogdet(xp.reshape(x, (2, 2)) + 3.0 * xp.eye(2))[1],
    "triangle": lambda xp, x: xp.tril(xp.outer(x, x)) + xp.diag(x),
    "constant": lambda xp, x: xp.ones(3) + 0.0 * xp.sum(x[:0]),
    "power": lambda xp, x: (x * x + 1.0) ** x,
    "einsum": lambda xp, x: xp.einsum("i,j,ij->j", x, x, xp.outer(x, x)),
    "norms": lambda xp, x: xp.stack([xp.linalg.norm(x), xp.linalg.norm(x, ord=1), x[0]]),
    "padded": lambda xp, x: xp.pad(x * x, (1, 2)),
    "transformed": lambda xp, x: xp.real(xp.fft.fft(x)) * xp.abs(xp.fft.rfft(x))[0],
    "dot": lambda xp, x: xp.dot(x, x) * xp.dot(xp.asarray(A), x),
    "tensordot": lambda xp, x: xp.tensordot(xp.outer(x, x), xp.reshape(x, (2, 2)).ravel(), 1),
}
X = np.array([0.4, -0.3, 0.9, 0.2])


@functools.cache
def by_jax(name):
    return np.asarray(jax.jacrev(lambda x: FUNCTIONS[name](jnp, x))(X))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_jacobians_agree_with_jax(name, mode):
    assert_same(jacobian(lambda x: FUNCTIONS[name](np, x), mode=mode)(X), by_jax(name))


def differences(f, x, step=1e-5):
    """The derivative of an array by differences, its last axis that of x."""
    along = [f(x + step * e) - f(x - step * e) for e in np.eye(x.size)]
    return np.stack(along, axis=-1) / (2 * step)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_hessians_are_the_derivatives_of_jacobians(name):
    f = lambda x: FUNCTIONS[name](np, x)
    have = hessian(f)(X)
    assert have == pytest.approx(differences(jacobian(f), X), rel=1e-6, abs=1e-7)
    assert have == pytest.approx(np.swapaxes(have, -1, -2), rel=1e-10, abs=1e-12)
    total = hessian(lambda x: np.sum(f(x) * f(x)))(X)
    assert total == pytest.approx(differences(grad(lambda x: np.sum(f(x) * f(x))), X), rel=1e-6)
    assert total == pytest.approx(total.T, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("name", ["elementwise", "product", "solved"])
def test_hessians_agree_with_jax(name):
    f = FUNCTIONS[name]
    assert_same(hessian(lambda x: f(np, x))(X), jax.hessian(lambda x: f(jnp, x))(X), rel=1e-9)


@pytest.mark.parametrize("name", ["elementwise", "product", "broadcast", "gathered", "solved"])
def test_every_nesting_of_modes_gives_the_hessian(name):
    f = lambda x: np.sum(FUNCTIONS[name](np, x) ** 2)
    want = hessian(f)(X)
    for outer, inner in itertools.product(MODES, MODES):
        assert_same(jacobian(jacobian(f, mode=inner), mode=outer)(X), want)
    assert_same(jacobian(grad(f))(X), want)
    t = np.array([1.0, -2.0, 0.5, 3.0])
    assert_same(grad(lambda x: np.sum(grad(f)(x) * t))(X), want @ t)
    assert_same(grad(lambda x: np.sum(jacobian(f)(x) * t))(X), want @ t)
    third = jvp(hessian(f), (X,), (t,))[1]
    h = 1e-5
    difference = (hessian(f)(X + h * t) - hessian(f)(X - h * t)) / (2 * h)
    assert third == pytest.approx(difference, rel=1e-6, abs=1e-6)
    assert_same(linearize(hessian(f), X)[1](t), third)
    assert_same(
        jvp(grad(lambda x: hvp(f, (x,), (t,))[0] @ t), (X,), (t,))[1],
        linearize(grad(lambda x: t @ hessian(f)(x) @ t), X)[1](t),
        rel=1e-9,
    )
    pulled = vjp(hessian(f), X)[1](np.outer(t, t))[0]
    assert_same(pulled, grad(lambda x: t @ hessian(f)(x) @ t)(X))


# ------------------------------------------------------------------------------ layouts


class Pair(NamedTuple):
    left: Any
    right: Any


def of_tree(xp, t):
    w, (b, s) = t["w"], t["rest"]
    return {"h": xp.tanh(w @ b) * s, "n": [xp.sum(w) * s, b]}


TREE = {"w": A[:2, :3], "rest": [np.array([0.1, 0.2, -0.4]), np.float64(1.5)]}


@pytest.mark.parametrize("mode", MODES)
def test_structure_of_results_of_structures_of_arguments(mode):
    have = jacobian(lambda t: of_tree(np, t), mode=mode)(TREE)
    want = jax.jacrev(lambda t: of_tree(jnp, t))(jax.tree_util.tree_map(jnp.asarray, TREE))
    assert have.keys() == {"h", "n"}
    assert have["n"][1]["rest"][0] == pytest.approx(np.eye(3))
    assert_same(have, want)


def test_hessian_of_structures():
    f = lambda xp, t: xp.sum(xp.tanh(t["w"] @ t["rest"][0]) * t["rest"][1] ** 2)
    have = hessian(lambda t: f(np, t))(TREE)
    want = jax.hessian(lambda t: f(jnp, t))(jax.tree_util.tree_map(jnp.asarray, TREE))
    assert_same(have, want)
    assert have["w"]["rest"][0].shape == (2, 3, 3)


@pytest.mark.parametrize("mode", MODES)
def test_several_arguments(mode):
    f = lambda x, y: x * y[:2]
    x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0])
    of_x, of_y = jacobian(f, argnums=(0, 1), mode=mode)(x, y)
    assert np.all(of_x == np.diag(y[:2]))
    assert np.all(of_y == np.hstack([np.diag(x), np.zeros((2, 1))]))
    (only,) = jacobian(f, argnums=(1,), mode=mode)(x, y)
    assert np.all(only == of_y)
    (xx, xy), (yx, yy) = hessian(lambda x, y: np.sum(f(x, y) ** 2), argnums=(0, 1))(x, y)
    wanted = jax.hessian(lambda x, y: jnp.sum((x * y[:2]) ** 2), argnums=(0, 1))(x, y)
    assert_same(((xx, xy), (yx, yy)), wanted)


@pytest.mark.parametrize("mode", MODES)
def test_dataclasses_and_namedtuples(mode):
    @dataclasses.dataclass
    class Model:
        w: Any
        name: str
        pair: Pair

    model = Model(np.array([1.0, 2.0]), "m", Pair(2.0, np.array([[3.0]])))
    f = lambda m: Pair(m.w * m.pair.left, np.sum(m.w) * m.pair.right)
    have = jacobian(f, mode=mode)(model)
    assert isinstance(have, Tangent[Pair])
    assert isinstance(have.left, Tangent[Model])
    assert have.left.name is NoTangent()
    assert np.all(have.left.w == np.diag([2.0, 2.0]))
    assert np.all(have.left.pair.left == model.w)
    assert have.left.pair.right.shape == (2, 1, 1)
    assert have.right.w.shape == (1, 1, 2)
    assert np.all(have.right.pair.right == 3.0)
    second = hessian(lambda m: np.sum(f(m).left * m.pair.right))(model)
    assert isinstance(second.w, Tangent[Model])
    assert np.all(second.w.pair.left == 3.0)
    assert np.all(second.pair.left.w == 3.0)
    assert second.name is NoTangent()


@pytest.mark.parametrize("mode", MODES)
def test_numbers_without_any_array(mode):
    f = lambda p: [p["a"] * p["b"], p["a"] ** 2, 3.0]
    have = jacobian(f, mode=mode)({"a": 2.0, "b": 5.0})
    assert have == [{"a": 5.0, "b": 2.0}, {"a": 4.0, "b": 0.0}, {"a": 0.0, "b": 0.0}]
    assert all(type(x) is float for x in leaves(have))
    assert jacobian(lambda x: x * x, mode=mode)(3.0) == 6.0
    assert hessian(lambda p: p[0] ** 2 * p[1])([2.0, 3.0]) == [[6.0, 4.0], [4.0, 0.0]]


@pytest.mark.parametrize("mode", MODES)
def test_numbers_beside_arrays(mode):
    f = lambda x, s, t: (x * s + t, s * t, np.sum(x) * t)
    x = np.array([1.0, 2.0])
    (a, b, c) = jacobian(f, argnums=(0, 1, 2), mode=mode)(x, 3.0, 4.0)
    assert np.all(a[0] == 3 * np.eye(2))
    assert np.all(a[1] == x)
    assert np.all(a[2] == 1.0)
    assert np.all(b[0] == 0.0)
    assert b[0].shape == (2,)
    assert b[1:] == (4.0, 3.0)
    assert type(b[1]) is float
    assert np.all(c[0] == 4.0)
    assert c[1:] == (0.0, 3.0)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "x", [0.3, np.float64(0.3), np.array(0.3), np.array([0.3]), np.ones((1, 1))]
)
def test_single_numbers_of_every_kind(mode, x):
    have = jacobian(np.sin, mode=mode)(x)
    assert np.shape(have) == 2 * np.shape(x)
    assert np.all(have == np.cos(x).reshape(np.shape(have)))
    assert np.shape(hessian(lambda x: np.sum(x * x * x))(x)) == 2 * np.shape(x)
    assert np.all(hessian(lambda x: np.sum(x * x * x))(x) == 6 * np.reshape(x, np.shape(have)))


@pytest.mark.parametrize("mode", MODES)
def test_nothing_in_and_nothing_out(mode):
    empty = np.zeros((0, 2))
    assert jacobian(np.sin, mode=mode)(empty).shape == (0, 2, 0, 2)
    assert jacobian(lambda x: x[:0], mode=mode)(np.ones(3)).shape == (0, 3)
    assert jacobian(lambda x: np.sum(x) * np.ones(3), mode=mode)(empty).shape == (3, 0, 2)
    assert hessian(lambda x: np.sum(x**2))(empty).shape == (0, 2, 0, 2)


@pytest.mark.parametrize("mode", MODES)
def test_what_cannot_be_perturbed(mode):
    f = lambda x: {"y": x * x, "n": 3, "flag": x > 0, "text": "t", "none": None}
    have = jacobian(f, mode=mode)(np.ones(2))
    assert np.all(have.pop("y") == 2 * np.eye(2))
    assert set(have.values()) == {NoTangent()}
    of_n = jacobian(lambda n: n * 2.0, mode=mode)(np.array([1, 2]))
    assert of_n.dtype == np.float64
    assert np.all(of_n == 2 * np.eye(2))


@pytest.mark.parametrize("mode", MODES)
def test_single_precision_stays(mode):
    x = np.array([0.1, 0.2], np.float32)
    assert jacobian(lambda x: np.sin(x) * x[0], mode=mode)(x).dtype == np.float32
    assert hessian(lambda x: np.sum(np.sin(x) * x[0]))(x).dtype == np.float32
    zero = jacobian(lambda p: p["a"] * 2, mode=mode)({"a": np.ones(2), "b": x})["b"]
    assert zero.dtype == (np.float64 if mode == "forward" else np.float32)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "f",
    [lambda x: x, lambda x: (x, x), lambda x: x[:2], lambda x: (x * 2.0, x), lambda x: np.zeros(3),
     lambda x: (x[:2], x[1:]), lambda x: x.reshape(1, 3), lambda x: np.broadcast_to(x, (2, 3))],
)  # fmt: skip
def test_results_are_nobody_elses(f, mode):
    x = np.arange(3.0)
    found = leaves(jacobian(f, mode=mode)(x))
    want = [np.array(J) for J in found]
    for J in found:
        assert J.flags.writeable
        assert not np.may_share_memory(J, x)
    for J, K in itertools.combinations(found, 2):
        assert not np.may_share_memory(J, K)
    for J in found:
        J += 1.0
    assert_same(jacobian(f, mode=mode)(x), want)
    assert np.all(x == np.arange(3.0))


# ------------------------------------------------------------------------------ complex numbers


@pytest.mark.parametrize("mode", MODES)
def test_complex_numbers(mode):
    z = np.array([0.3 + 0.2j, -0.5j, 1.0])
    holomorphic = jacobian(lambda z: np.exp(z) * z[0], mode=mode, holomorphic=True)(z)
    want = jax.jacrev(lambda z: jnp.exp(z) * z[0], holomorphic=True)(z)
    assert_same(holomorphic, want)
    real = lambda z: np.abs(z) ** 2 * np.real(z[0])
    of_real = jacobian(real, mode=mode)(z)
    for i in range(3):
        assert_same(of_real[i], grad(lambda z, i=i: real(z)[i])(z))
    x = np.array([0.3, 0.2])
    curve = jacobian(lambda x: np.exp(1j * x) * x[0], mode=mode)(x)
    assert_same(curve, jax.jacfwd(lambda x: jnp.exp(1j * x) * x[0])(x))
    both = jacobian(lambda x: {"c": np.exp(1j * x), "r": x * x}, mode=mode)(x)
    assert_same(both["c"], np.diag(1j * np.exp(1j * x)))
    assert both["r"].dtype == np.float64
    assert jacobian(lambda z: np.abs(z) ** 2, mode=mode)(1 + 2j) == 2 + 4j
    assert jacobian(lambda z: z * z, mode=mode, holomorphic=True)(1 + 2j) == 2 + 4j
    assert jacobian(lambda x: x * (1 + 2j), mode=mode)(3.0) == 1 + 2j


def test_a_complex_function_says_that_it_is_holomorphic():
    z = np.array([1j, 2.0])
    for mode in MODES:
        with pytest.raises(NotDifferentiableError, match="holomorphic=True"):
            jacobian(np.exp, mode=mode)(z)
    with pytest.raises(NotDifferentiableError, match="hvp"):
        hessian(lambda z: np.sum(np.abs(z) ** 2))(z)


# ------------------------------------------------------------------------------ batches and loops


def test_a_rule_that_takes_one_direction_is_given_them_one_by_one():
    seen = []

    @primitive
    def measured(x):
        return x * x

    def push(t, x):
        seen.append(t.shape)
        return 2.0 * x * t

    def pull(t, x):
        seen.append(t.shape)
        return 2.0 * x * t

    @rule(measured)
    def measured_rule(x):
        return x * x, (LinearMap(push, pull, x),)

    for mode in ("forward", "reverse"):
        seen.clear()
        J = jacobian(lambda x: measured(np.sin(x)), mode=mode)(X)
        assert_same(J, np.diag(2 * np.sin(X) * np.cos(X)))
        assert seen == [(4,)] * 4


def test_a_rule_that_takes_several_directions_is_given_all_at_once():
    seen = []

    @primitive
    def scaled(x, s):
        return x * s

    def half(t, s):
        seen.append(t.shape)
        return t * s

    def push_s(s_dot, x):
        seen.append(s_dot.shape)
        return s_dot * x

    def pull_s(y_bar, x):
        return y_bar * x

    @rule(scaled, batched="broadcast")
    def scaled_rule(x, s):
        return x * s, (LinearMap(half, half, s), LinearMap(push_s, pull_s, x))

    f = lambda x: scaled(np.sin(x), np.sum(x))
    want = jax.jacrev(lambda x: jnp.sin(x) * jnp.sum(x))(X)
    for mode in ("forward", "reverse"):
        seen.clear()
        assert_same(jacobian(f, mode=mode)(X), want)
        assert all(shape[0] == 4 for shape in seen)
        assert len(seen) == (2 if mode == "forward" else 1)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_rule_here_is_given_directions_one_by_one(name, mode, monkeypatch):
    def gather(*_):
        pytest.fail("the directions were taken one by one")

    monkeypatch.setattr(batched_tangents, "gather", gather)
    jacobian(lambda x: FUNCTIONS[name](np, x), mode=mode)(X)


def test_programs_that_fill_a_buffer():
    def f(x):
        buffer = np.zeros((2, 4), like=x)
        for i in range(4):
            buffer[0, i] = x[i] * x[(i + 1) % 4]
        buffer[1] = x**3
        x = x * 1.0
        x += buffer[0]
        x[1:3] *= 2.0
        return x + buffer[1]

    J = jacobian(f, mode="forward")(X)
    assert pytest.approx(jacobian(f, mode="reverse")(X), rel=1e-13) == J
    assert pytest.approx(differences(f, X), rel=1e-8) == J


@pytest.mark.parametrize("device", ["CPU_DEVICE", "device1"])
@pytest.mark.parametrize("mode", MODES)
def test_arrays_of_another_library_on_their_device(mode, device):
    xp = pytest.importorskip("array_api_strict")
    x, a = (xp.asarray(given, device=xp.Device(device)) for given in (X, A))
    f = lambda x, a, s: v.tanh(v.matmul(a, x)) * v.sum(x[:2] * x[2:]) * s
    J, of_s = jacobian(lambda x, s: f(x, a, s), argnums=(0, 1), mode=mode)(x, 2.0)
    want, of_s_wanted = jacobian(lambda x, s: f(x, A, s), argnums=(0, 1), mode=mode)(X, 2.0)
    H = hessian(lambda x: v.sum(f(x, a, 2.0) ** 2))(x)
    for found, wanted in (
        (J, want),
        (of_s, of_s_wanted),
        (H, hessian(lambda x: np.sum(f(x, A, 2.0) ** 2))(X)),
    ):
        assert found.device == xp.Device(device)
        found = np.asarray(found.to_device(xp.Device("CPU_DEVICE"))._array)
        assert found == pytest.approx(wanted, rel=1e-12)


def test_hooks_see_one_direction_at_a_time():
    seen = []

    def f(x):
        y = np.sin(x)
        hook(y, lambda y_bar: seen.append(y_bar.shape) or 2.0 * y_bar)
        return y * y

    J = jacobian(f, mode="reverse")(X)
    assert_same(J, np.diag(4 * np.sin(X) * np.cos(X)))
    assert seen == [(4,)] * 4


BROADCAST = [
    (v.where, (np.array([True, False, True]), np.ones((2, 3)), np.arange(3.0)), {}),
    (v.where, (np.array([[True], [False]]), np.arange(3.0), np.float64(2.0)), {}),
    (v.where, (True, np.arange(3.0), np.ones((2, 1))), {}),
    (v.broadcast_to, (np.arange(3.0),), {"shape": (2, 4, 3)}),
    (v.tile, (np.arange(3.0),), {"repetitions": (2, 2)}),
    (v.tile, (np.ones((2, 3)),), {"repetitions": (2,)}),
    (v.matmul, (np.ones((2, 3)), np.ones((4, 3, 2))), {}),
    (v.matmul, (np.ones((4, 2, 3)), np.ones((3, 2))), {}),
    (v.matmul, (np.arange(3.0), np.ones((4, 3, 2))), {}),
    (v.matmul, (np.ones((4, 2, 3)), np.arange(3.0)), {}),
    (v.matmul, (np.arange(3.0), np.ones((3, 2))), {}),
    (v.matmul, (np.arange(3.0), np.arange(3.0)), {}),
    (v.vecdot, (np.arange(3.0), np.ones((4, 3))), {"axis": -1}),
    (v.getitem, (np.ones((2, 3, 4)),), {"index": v.Index.split((0, slice(None), None, 1))[0]}),
    (v.getitem, (np.ones((2, 3, 4)), np.array([0, 1, 1])), {"index": v.Index((v.Index.HOLE,))}),
    (v.getitem, (np.arange(24.0).reshape(2, 3, 4), np.array([0, 1])),
     {"index": v.Index((0, (slice, None, None, None), v.Index.HOLE))}),
    (v.getitem, (np.ones((2, 3)), np.array([[True, False, True], [False, True, True]])),
     {"index": v.Index((v.Index.HOLE,))}),
    (v.scatter_add, (np.ones((2, 3)), np.arange(3.0)), {"index": v.Index((0,))}),
    (v.scatter_add, (np.ones((2, 3)), np.float64(2.0)), {"index": v.Index((0,))}),
    (v.squeeze, (np.ones((1, 3, 1)),), {"axis": None}),
    (v.sum, (np.float64(2.0) * np.ones(()),), {"axis": None}),
    (v.take, (np.ones((2, 3)), np.array([0, 3])), {"axis": None}),
    (v.roll, (np.ones((2, 3)),), {"shift": 1, "axis": None}),
    (v.concat, (np.ones((2, 3)), np.ones(3)), {"axis": None}),
    (v.repeat, (np.ones((2, 3)), np.int64(2)), {"axis": None}),
    (v.multiply, (np.arange(3.0), np.ones((2, 3))), {}),
    (v.multiply, (np.arange(3.0, dtype=np.float32), np.ones((2, 1))), {}),
    (v.multiply, (np.arange(3), np.ones((2, 1)) * 1j), {}),
    (v.outer, (np.ones((2, 3)), np.arange(2.0)), {}),
    (v.inner, (np.ones((2, 3)), np.arange(3.0)), {}),
    (v.dot, (np.ones((2, 3)), np.ones((4, 3, 5))), {}),
]  # fmt: skip


@pytest.mark.parametrize("operation, operands, options", BROADCAST, ids=lambda x: str(x)[:30])
def test_batches_of_broadcast_operands_are_loops(operation, operands, options):
    check_rule = pytest.importorskip("chainrules_py.testing").check_rule
    report = check_rule(operation, *operands, vary=False, checks=("batched",), **options)
    assert report.verdict("batched") == "passed"


def test_a_wrong_claim_is_found():
    @primitive
    def total(x):
        return v.sum(x)

    def push(t, x):
        return v.flip(v.sum(t, axis=-1))  # nothing of one direction, another order of several

    def pull(t, x):
        return v.expand_dims(t, axis=-1) * v.ones_like(x)

    @rule(total, batched=True)
    def total_rule(x):
        return v.sum(x), (LinearMap(push, pull, x),)

    testing = pytest.importorskip("chainrules_py.testing")
    with pytest.raises(testing.RuleCheckError, match="push of 3 directions at once is not that"):
        testing.check_rule(total, np.ones(3), vary=False, checks=("batched",))


def test_gather_and_direction_are_inverse():
    t = Tangent[tuple](np.arange(6.0).reshape(3, 2), Tangent[dict]({"a": np.arange(3.0)}))
    parts = [batched_tangents.direction(t, i) for i in range(batched_tangents.count(t))]
    assert parts[1][1]["a"] == 1.0
    again = batched_tangents.gather(parts, t)
    assert np.all(again[0] == t[0])
    assert np.all(again[1]["a"] == t[1]["a"])


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.sampled_from(sorted(FUNCTIONS)), min_size=1, max_size=3),
    st.lists(st.sampled_from([(), (1,), (2,), (2, 2), (3,)]), min_size=1, max_size=3),
    st.sampled_from(["forward", "reverse"]),
)
def test_programs_over_structures_agree_in_both_modes_and_with_differences(names, shapes, mode):
    rng = np.random.default_rng(len(names) + 10 * len(shapes))
    tree = {f"x{i}": rng.standard_normal(shape)[()] for i, shape in enumerate(shapes)}

    def program(t):
        flat = np.concatenate([np.reshape(x, (-1,)) for x in t.values()])
        x = np.concatenate([flat * 0.5, np.zeros(4)])[:4] + np.array([0.1, 0.2, 0.3, 0.4])
        for name in names:
            y = np.reshape(FUNCTIONS[name](np, x), (-1,))
            x = np.tanh(np.concatenate([y, np.zeros(4)])[:4]) + 0.3 * x
        return x, next(iter(t.values())) * 2.0

    have = jacobian(program, mode=mode)(tree)
    wanted = jacobian(program, mode="reverse" if mode == "forward" else "forward")(tree)
    assert_same(have, wanted, rel=1e-9)
    for key, x in tree.items():
        at = lambda z, key=key, x=x: {**tree, key: np.reshape(z, np.shape(x))[()]}
        for k in range(2):
            by_steps = differences(lambda z, k=k, at=at: program(at(z))[k], np.reshape(x, (-1,)))
            found = np.reshape(have[k][key], by_steps.shape)
            assert found == pytest.approx(by_steps, rel=1e-6, abs=1e-7)
