"""The functional API: which arguments, what comes beside the result, structures, linear maps."""

from __future__ import annotations

import dataclasses
import functools
import gc
import inspect
import re
import weakref
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chainrules_py import (
    LinearMap,
    MutationError,
    NoTangent,
    NotDifferentiableError,
    ProjectionError,
    Tangent,
    TracerError,
    ZeroTangent,
    frule,
    primitive,
    rule,
)
from chainrules_py.values.dispatch_types import Numeric
from chainrules_tape import (
    Tape,
    gauss_newton_vp,
    grad,
    hessian,
    hvp,
    jacobian,
    jvp,
    linearize,
    stop_gradient,
    value_and_grad,
    vjp,
)

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)
jnp = jax.numpy


class Point(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass
class Layer:
    weights: Any
    bias: Any
    name: str = "layer"


# ------------------------------------------------------------------------------ which arguments


def scaled(x, y, scale=3.0, *, power=2, label="none"):
    return scale * x**power + y * label.count("n")


@pytest.mark.parametrize(
    "choice, call, expected",
    [
        ({}, lambda f: f(2.0, 5.0), 12.0),
        ({"argnums": 1}, lambda f: f(2.0, 5.0), 2.0),
        ({"argnums": -1}, lambda f: f(2.0, 5.0), 2.0),
        ({"argnums": -2}, lambda f: f(2.0, 5.0), 12.0),
        ({"argnums": (1, 0)}, lambda f: f(2.0, 5.0), (2.0, 12.0)),
        ({"argnums": [0]}, lambda f: f(2.0, 5.0), (12.0,)),
        ({"argnums": range(2)}, lambda f: f(2.0, 5.0), (12.0, 2.0)),
        ({"argnums": np.int64(1)}, lambda f: f(2.0, 5.0), 2.0),
        ({"argnums": 1}, lambda f: f(2.0, y=5.0), 2.0),
        ({"argnums": 2}, lambda f: f(2.0, 5.0), 4.0),  # left at its default
        ({"argnums": (0, 2)}, lambda f: f(2.0, scale=1.0, y=5.0), (4.0, 4.0)),
        ({"argnames": "x"}, lambda f: f(2.0, 5.0), 12.0),
        ({"argnames": "x"}, lambda f: f(y=5.0, x=2.0), 12.0),
        ({"argnames": "scale"}, lambda f: f(2.0, 5.0), 4.0),
        ({"argnames": ("scale", "y")}, lambda f: f(2.0, y=5.0), (4.0, 2.0)),
        ({"argnames": ("y",)}, lambda f: f(2.0, y=5.0), (2.0,)),
        ({"argnums": 0, "argnames": "y"}, lambda f: f(2.0, y=5.0), (12.0, 2.0)),
        ({"argnums": (0,), "argnames": ("scale",)}, lambda f: f(2.0, 5.0, 1.0), (4.0, 4.0)),
        ({"argnums": 0}, lambda f: f(2.0, 5.0, power=3, label="nn"), 36.0),
        ({"argnames": "power"}, lambda f: f(2.0, 5.0, power=1.0), 6.0 * np.log(2.0)),
        ({"argnames": ("y", "label")}, lambda f: f(2.0, 5.0), (2.0, NoTangent())),
    ],
)
def test_arguments_are_chosen_by_position_and_by_name(choice, call, expected):
    for derivative in (grad, jacobian):
        found = call(derivative(scaled, **choice))
        if isinstance(expected, tuple) and isinstance(expected[-1], NoTangent):
            assert found == expected
        else:
            assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    "choice, call, message",
    [
        ({"argnums": 5}, lambda f: f(2.0, 5.0), "argument 5 of .*scaled.*2 by position"),
        ({"argnums": -3}, lambda f: f(2.0, 5.0), "argument -3"),
        ({"argnums": -1}, lambda f: f(2.0, y=5.0), "counts from the end.*argnames"),
        ({"argnums": (0, 0)}, lambda f: f(2.0, 5.0), "named twice"),
        ({"argnums": (0, -2)}, lambda f: f(2.0, 5.0), "named twice"),
        ({"argnums": 0, "argnames": "x"}, lambda f: f(2.0, 5.0), "named twice"),
        ({"argnames": "z"}, lambda f: f(2.0, 5.0), r"argument 'z' of .*takes \(x, y, scale"),
        ({"argnames": "y"}, lambda f: f(2.0), "argument 'y' of .*was not given"),
    ],
)
def test_an_argument_that_is_not_there_is_an_error(choice, call, message):
    for derivative in (grad, value_and_grad, jacobian, hessian):
        with pytest.raises(NotDifferentiableError, match=message):
            call(derivative(scaled, **choice))


@pytest.mark.parametrize(
    "choice, message",
    [
        ({"argnums": "x"}, "write argnames='x'"),
        ({"argnums": True}, "positions are integers"),
        ({"argnums": 1.0}, "positions are integers"),
        ({"argnums": ()}, "both empty"),
        ({"argnames": ()}, "both empty"),
        ({"argnames": (0,)}, "positions go to argnums"),
    ],
)
def test_what_is_no_choice_is_an_error_at_once(choice, message):
    for derivative in (grad, value_and_grad, jacobian, hessian):
        with pytest.raises(NotDifferentiableError, match=message):
            derivative(scaled, **choice)


def test_the_function_itself_is_what_is_differentiated():
    with pytest.raises(NotDifferentiableError, match="is not a function"):
        grad(scaled(1.0, 2.0))


def test_signatures_are_seen_through_derivatives_and_partials():
    assert grad(grad(scaled, argnames="x"), argnames="scale")(2.0, 5.0) == 4.0
    fixed = functools.partial(scaled, y=1.0, scale=2.0)
    assert grad(fixed, argnames="scale")(3.0) == 9.0


class Dispatching:
    @functools.singledispatchmethod
    def loss(self, a, b):
        return np.sum(a * b**2)


def test_a_method_chosen_by_type_takes_positions_and_keywords():
    """Its signature names self as well, so a name would be taken for the argument after it."""
    f, x, y = Dispatching().loss, np.array([1.0, 2.0]), np.array([3.0, 5.0])
    assert grad(f, argnames="b")(x, b=y) == pytest.approx(2 * x * y)
    assert grad(f, argnums=1)(x, y) == pytest.approx(2 * x * y)
    for which in ("a", "b"):
        with pytest.raises(NotDifferentiableError, match=r"write argnums=0 or 1$"):
            grad(f, argnames=which)(x, y)


def test_static_arguments_may_be_anything():
    marker = object()

    def f(x, option, g, nothing, *, mode, table):
        assert (option, nothing, mode, table["k"]) == ("text", None, marker, {1, 2})
        return g(x) * 2.0

    found = grad(f)(0.5, "text", np.sin, None, mode=marker, table={"k": {1, 2}})
    assert found == pytest.approx(2 * np.cos(0.5))
    assert grad(f, argnums=(1, 0, 3, 2))(
        0.5, "text", np.sin, None, mode=marker, table={"k": {1, 2}}
    ) == (NoTangent(), found, NoTangent(), NoTangent())


# ------------------------------------------------------------------------------ what comes beside


def with_aux(x):
    h = np.tanh(x)
    return np.sum(h * h), {"hidden": h, "first": x[:2], "same": x, "n": 3, "text": "t"}


def test_aux_comes_back_as_plain_values_of_its_own():
    x = np.array([0.1, 0.2, 0.3])
    slope, aux = grad(with_aux, has_aux=True)(x)
    (value, again), same = value_and_grad(with_aux, has_aux=True)(x)
    assert value == pytest.approx(np.sum(np.tanh(x) ** 2))
    assert np.all(slope == same)
    for found in (aux, again):
        assert type(found["hidden"]) is np.ndarray
        assert np.all(found["hidden"] == np.tanh(x))
        assert (found["n"], found["text"]) == (3, "t")
        for key in ("hidden", "first", "same"):
            assert not np.may_share_memory(found[key], x)
            found[key] += 1.0
    assert np.all(x == [0.1, 0.2, 0.3])


def test_aux_of_every_function_of_the_api():
    x = np.array([0.1, 0.2, 0.3])
    y, pullback, aux = vjp(with_aux, x, has_aux=True)
    assert np.all(aux["hidden"] == np.tanh(x))
    assert pullback(1.0)[0] == pytest.approx(grad(lambda x: with_aux(x)[0])(x))
    y2, y_dot, aux = jvp(with_aux, (x,), (np.ones(3),), has_aux=True)
    assert np.all(aux["hidden"] == np.tanh(x))
    y3, push, aux = linearize(with_aux, x, has_aux=True)
    assert np.all(aux["hidden"] == np.tanh(x))
    assert y == y2 == y3
    assert push(np.ones(3)) == pytest.approx(y_dot)
    for mode in ("forward", "reverse", "auto"):
        J, aux = jacobian(with_aux, mode=mode, has_aux=True)(x)
        assert np.all(aux["hidden"] == np.tanh(x))
        assert np.allclose(J, pullback(1.0)[0])
    H, aux = hessian(with_aux, has_aux=True)(x)
    assert type(aux["hidden"]) is np.ndarray
    assert np.all(aux["hidden"] == np.tanh(x))
    assert np.allclose(H, hessian(lambda x: with_aux(x)[0])(x))


def test_aux_keeps_the_tracers_of_outer_levels():
    def outer(x):
        slope, aux = grad(lambda y: (y * y * x, y * x), has_aux=True)(x)
        return slope * aux  # 2 x² · x²

    assert grad(outer)(2.0) == 8 * 2.0**3
    assert jvp(outer, (2.0,), (1.0,))[1] == 8 * 2.0**3


def test_has_aux_without_aux_is_an_error():
    for derivative in (grad, value_and_grad, jacobian, hessian):
        with pytest.raises(NotDifferentiableError, match=r"returns \(result, aux\)"):
            derivative(lambda x: x * x, has_aux=True)(2.0)


# ------------------------------------------------------------------------------ linearize


def test_linearize_runs_the_function_once():
    runs = []

    def f(x, scale):
        runs.append(1)
        return np.sin(x) * scale, np.sum(x)

    x = np.array([0.1, 0.5, -0.3])
    y, push = linearize(f, x, 2.0)
    assert y[1] == np.sum(x)
    for t, s in [(np.ones(3), 0.0), (np.array([1.0, 0, 2]), 3.0), (np.zeros(3), 1.0)]:
        wanted = jvp(f, (x, 2.0), (t, s))[1]
        runs.clear()
        y_dot = push(t, s)
        assert not runs
        assert y_dot[0] == pytest.approx(wanted[0], rel=1e-14)
        assert y_dot[1] == pytest.approx(wanted[1])
    assert push(ZeroTangent(), ZeroTangent())[0].tolist() == [0.0, 0.0, 0.0]


def test_linearize_frees_its_memory_when_the_push_is_dropped():
    kept = []

    @primitive
    def watched(x):
        return 2.0 * x

    @rule(watched)
    def watched_rule(x):
        saved = np.ones(3)
        kept.append(weakref.ref(saved))
        return 2.0 * x, (LinearMap(lambda t, _: 2.0 * t, lambda t, _: 2.0 * t, saved),)

    gc.disable()  # no cycles: nothing is left for the collector
    try:
        _, push = linearize(lambda x: np.sum(watched(x) * x), np.ones(3))
        assert kept[0]() is not None
        assert push(np.ones(3)) == 12.0
        del push
        assert kept[0]() is None
    finally:
        gc.enable()


def test_linearize_drops_what_the_result_does_not_depend_on():
    x = np.ones(3)
    _, push = linearize(lambda x: (np.exp(x), np.sin(x))[1], x)
    assert len(push.args[0].tape.order) == 1


def test_linearize_of_rules_of_one_half():
    @primitive
    def pushed_only(x):
        """The square."""

    pushed_only.implement(lambda x: x * x, types=(Numeric,))

    @frule.register(pushed_only)
    def pushed_only_frule(tangents, x):
        return x * x, 2 * x * tangents[0]

    y, push = linearize(lambda x: pushed_only(x) * 3.0, 2.0)
    assert (y, push(1.0), push(2.0)) == (12.0, 12.0, 24.0)
    x = np.array([1.0, 2.0])
    assert np.all(jacobian(pushed_only, mode="forward")(x) == np.diag(2 * x))
    assert np.all(jacobian(pushed_only)(x) == np.diag(2 * x))
    assert np.all(jacobian(pushed_only, mode="reverse")(x) == np.diag(2 * x))


def test_a_value_that_escapes_linearize_is_refused():
    kept = []
    linearize(lambda x: kept.append(x) or x * x, 1.0)
    with pytest.raises(TracerError, match="linearize"):
        kept[0] * 2.0


def test_a_push_checks_its_tangents():
    _, push = linearize(lambda x, s: x * 2.0, np.ones(3), "text")
    with pytest.raises(ProjectionError):
        push(np.ones(4), NoTangent())
    with pytest.raises(ProjectionError, match="one tangent for each primal"):
        push(np.ones(3))
    with pytest.raises(ProjectionError, match="one tangent for each primal"):
        jvp(lambda x: x, 1.0, 1.0)


def test_a_push_sees_that_an_array_was_written_to():
    x, scale = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    for array in (x, scale):
        _, push = linearize(lambda x: np.sin(x) * x * scale, x)
        push(np.ones(2))
        array += 1.0
        with pytest.raises(MutationError):
            push(np.ones(2))


def test_push_and_pullback_nest():
    x, t = np.array([0.3, 0.7]), np.array([1.0, -2.0])
    f = lambda x: np.sin(x) * x[0]
    along = lambda x: np.sum(linearize(f, x)[1](t))
    by_jvp = lambda x: np.sum(jvp(f, (x,), (t,))[1])
    assert grad(along)(x) == pytest.approx(grad(by_jvp)(x), rel=1e-13)
    assert jvp(along, (x,), (t,))[1] == pytest.approx(jvp(by_jvp, (x,), (t,))[1], rel=1e-13)
    assert linearize(along, x)[1](t) == pytest.approx(jvp(by_jvp, (x,), (t,))[1], rel=1e-13)
    in_direction = lambda t: np.sum(linearize(f, x)[1](t) ** 2)
    J = jacobian(f)(x)
    assert grad(in_direction)(t) == pytest.approx(2 * J.T @ (J @ t), rel=1e-13)


# ------------------------------------------------------------------------------ structures


def test_structures_come_back_in_their_form():
    layer = Layer(np.ones((2, 2)), np.zeros(2))
    point = Point(1.0, {"a": [np.ones(2), 3, "text"]})

    def f(layer, point):
        h = layer.weights @ point.y["a"][0] + layer.bias
        return np.sum(h * h) * point.x

    of_layer, of_point = grad(f, argnums=(0, 1))(layer, point)
    assert isinstance(of_layer, Tangent[Layer])
    assert np.all(of_layer.weights == 4.0)
    assert of_layer.name is NoTangent()
    assert isinstance(of_point, Tangent[Point])
    assert of_point.x == 8.0
    assert type(of_point.y) is dict
    assert of_point.y["a"][1] == 0.0
    assert of_point.y["a"][2] is NoTangent()
    moved = layer - 0.5 * of_layer
    assert isinstance(moved, Layer)
    assert np.all(moved.weights == -1.0)


def test_products_with_the_hessian_of_a_dataclass():
    layer = Layer(np.array([[0.2, -0.3], [0.4, 0.1]]), np.array([0.3, 0.5]))
    v = Tangent[Layer](weights=np.ones((2, 2)), bias=np.array([1.0, -1.0]))
    f = lambda layer: np.sum(np.tanh(layer.weights @ np.array([1.0, 2.0]) + layer.bias))
    (product,) = hvp(f, (layer,), (v,))
    _, by_jvp = jvp(grad(f), (layer,), (v,))
    assert isinstance(product, Tangent[Layer])
    assert isinstance(by_jvp, Tangent[Layer])
    step = 1e-6
    ahead = grad(f)(layer + step * v)
    behind = grad(f)(layer - step * v)
    for field in ("weights", "bias"):
        difference = (getattr(ahead, field) - getattr(behind, field)) / (2 * step)
        assert getattr(product, field) == pytest.approx(difference, rel=1e-7)
        assert getattr(by_jvp, field) == pytest.approx(getattr(product, field), rel=1e-13)
    (again,) = vjp(grad(f), layer)[1](v)  # the Hessian is symmetric
    assert again.weights == pytest.approx(product.weights, rel=1e-13)


LEAVES = st.sampled_from(
    [1.5, -0.5, np.float64(0.7), np.array(0.3), np.array([0.2, -0.4]), np.array([[1.0], [0.5]])]
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner),
        st.tuples(inner, inner),
        st.lists(inner, min_size=1, max_size=2),
        st.dictionaries(st.sampled_from("ab"), inner, min_size=1),
        st.builds(Point, inner, inner),
    ),
    max_leaves=5,
)


def _to_jax(tree):
    return jax.tree_util.tree_map(jnp.asarray, tree)


def _leaves(t):
    if isinstance(t, Tangent):
        return [leaf for _, part in t.fields() for leaf in _leaves(part)]
    if isinstance(t, dict):
        return [leaf for key in sorted(t) for leaf in _leaves(t[key])]
    if isinstance(t, (tuple, list)):
        return [leaf for part in t for leaf in _leaves(part)]
    return [t]


def _total(xp, tree):
    """Some function of everything in a structure, in NumPy and in JAX."""
    return sum(
        xp.sum(xp.sin(xp.asarray(x) if xp is jnp else x) * (k + 1.0))
        for k, x in enumerate(_leaves(tree))
    )


@settings(max_examples=40, deadline=None)
@given(TREES)
def test_gradients_over_structures_agree_with_jax(tree):
    want = jax.grad(lambda t: _total(jnp, t))(_to_jax(tree))
    have = grad(lambda t: _total(np, t))(tree)
    for h, w in zip(_leaves(have), _leaves(want), strict=True):
        assert np.asarray(h) == pytest.approx(np.asarray(w), rel=1e-12)
    ones = jax.tree_util.tree_map(lambda x: np.ones(np.shape(x))[()], tree)
    _, w = jax.jvp(lambda t: _total(jnp, t), (_to_jax(tree),), (_to_jax(ones),))
    assert jvp(lambda t: _total(np, t), (tree,), (ones,))[1] == pytest.approx(float(w), rel=1e-12)
    assert linearize(lambda t: _total(np, t), tree)[1](ones) == pytest.approx(float(w), rel=1e-12)


# ------------------------------------------------------------------------------ products


def energy(x):
    return np.sum(np.sin(x) * x[::-1]) + np.prod(x)


def test_hvp_is_the_derivative_of_the_gradient():
    x, v = np.array([0.3, 0.5, -0.7]), np.array([1.0, -1.0, 2.0])
    (product,) = hvp(energy, (x,), (v,))
    h = 1e-5
    difference = (grad(energy)(x + h * v) - grad(energy)(x - h * v)) / (2 * h)
    assert product == pytest.approx(difference, rel=1e-8)
    assert product == pytest.approx(hessian(energy)(x) @ v, rel=1e-13)
    with pytest.raises(NotDifferentiableError, match="one real number"):
        hvp(np.sin, (x,), (v,))


def test_hvp_in_some_arguments_and_of_what_is_constant():
    x, y, v = np.array([0.3, 0.5]), 2.0, np.array([1.0, -1.0])
    f = lambda x, y, n: np.sum(np.sin(x) * y**3) * n
    of_x, of_y, of_n = hvp(f, (x, y, 2), (v, ZeroTangent(), ZeroTangent()))
    assert of_x == pytest.approx(-np.sin(x) * v * 16.0)
    assert of_y == pytest.approx(np.sum(np.cos(x) * v) * 24.0)
    assert of_n == pytest.approx(np.sum(np.cos(x) * v) * 8.0)
    assert hvp(lambda x: 3.0, (x,), (v,))[0].tolist() == [0.0, 0.0]
    assert hvp(lambda x: np.sum(x), (x,), (v,))[0].tolist() == [0.0, 0.0]


def test_hvp_of_complex_numbers_is_over_the_plane():
    z, v = np.array([0.3 + 0.2j, -0.5j]), np.array([1.0 - 1j, 0.5 + 2j])
    f = lambda z: np.sum(np.abs(np.exp(z)) ** 2 + np.real(z * z * z))
    (product,) = hvp(f, (z,), (v,))
    h = 1e-5
    difference = (grad(f)(z + h * v) - grad(f)(z - h * v)) / (2 * h)
    assert product == pytest.approx(difference, rel=1e-8)


def test_gauss_newton_is_the_hessian_of_the_loss_between_jacobians():
    A = np.array([[1.0, 2.0], [0.5, -1.0], [0.3, 0.1]])
    x, v = np.array([0.4, -0.2]), np.array([1.0, 3.0])
    f = lambda x: np.tanh(A @ x)
    loss = lambda y: np.sum(np.exp(y) * y[0])
    J, H = jacobian(f)(x), hessian(loss)(f(x))
    assert gauss_newton_vp(f, loss, (x,), (v,))[0] == pytest.approx(J.T @ H @ J @ v, rel=1e-13)


def test_gauss_newton_of_structures():
    model = lambda p: {"y": p["w"] * np.array([1.0, 2.0]) + p["b"]}
    loss = lambda out: 0.5 * np.sum(out["y"] ** 2)
    (product,) = gauss_newton_vp(model, loss, ({"w": 3.0, "b": 1.0},), ({"w": 1.0, "b": 0.0},))
    assert product == {"w": 5.0, "b": 3.0}


# ------------------------------------------------------------------------------ stop_gradient


def test_stop_gradient_at_every_order():
    f = lambda x: x * x * stop_gradient(x * x)
    assert grad(f)(3.0) == 2 * 3.0 * 9.0
    assert grad(grad(f))(3.0) == 2 * 9.0
    assert grad(grad(grad(f)))(3.0) == 0.0
    assert jvp(grad(f), (3.0,), (1.0,))[1] == 18.0
    assert hessian(f)(3.0) == 18.0
    assert linearize(stop_gradient, 3.0)[1](1.0) == 0.0


def test_stop_gradient_of_structures():
    tree = {"w": [np.ones(2), 2.0], "name": "text", "f": np.sin}
    held = stop_gradient(tree)
    held["w"][0] *= 2.0
    assert (tree["w"][0] == 1.0).all()
    assert (held["w"][1:], held["name"], held["f"]) == ([2.0], "text", np.sin)

    def f(w):
        held = stop_gradient({"w": [w, Point(w * w, "text")], "f": np.sin})
        assert type(held["w"][0]) is np.ndarray
        assert held["w"][1].y == "text"
        return np.sum(held["w"][1].x * w)

    assert np.all(grad(f)(np.array([2.0, 3.0])) == [4.0, 9.0])


# ------------------------------------------------------------------------------ refusals


def test_integers_count_as_numbers_and_booleans_do_not():
    assert grad(lambda n: n * n * 1.0)(3) == 6.0
    found = grad(lambda n: np.sum(n * n * 1.0))(np.array([1, 2]))
    assert found.dtype == np.float64
    assert np.all(found == [2.0, 4.0])
    assert grad(lambda x, flag: x if flag else -x, argnums=(0, 1))(2.0, True) == (1.0, NoTangent())


@pytest.mark.parametrize("f", [lambda x: x > 0, lambda x: 3, lambda x: "text", lambda x: None])
def test_a_result_without_a_number_has_no_gradient(f):
    with pytest.raises(NotDifferentiableError, match="one real number"):
        grad(f)(1.0)
    with pytest.raises(NotDifferentiableError, match="no real or complex number"):
        jacobian(f)(1.0)


@pytest.mark.parametrize("transform", [grad, value_and_grad, jacobian, hessian])
def test_what_a_transformation_gives_has_the_signature_of_the_function(transform):
    def f(x, y=1.0, *, z=2):
        return x * y * z

    assert inspect.getfullargspec(transform(f)) == inspect.getfullargspec(f)
    assert inspect.signature(transform(f)) == inspect.signature(f)
    assert not hasattr(transform(max), "__signature__")  # which has none


@pytest.mark.parametrize("z", [0.3 + 1j, np.complex128(0.3 + 1j), np.array(0.3 + 1j)], ids=repr)
@pytest.mark.parametrize("f", [np.real, lambda z: z.real, lambda z: np.real(z * z)])
def test_the_gradient_in_a_complex_number_is_complex(f, z):
    slope = grad(f)(z)
    assert np.iscomplexobj(slope)
    assert slope == vjp(f, z)[1](1.0)[0]
    assert slope == grad(lambda z: np.sum(f(z)))(np.array([z]))[0]


@pytest.mark.parametrize("f", [np.real, np.imag, abs, np.abs, lambda z: z.real, lambda z: z.imag])
def test_gradients_in_complex_numbers_are_complex(f):
    z = 3.0 + 4.0j
    slope = grad(f)(z)
    assert isinstance(slope, complex)
    np.testing.assert_allclose(slope, grad(lambda z: f(z[0]))(np.array([z]))[0])


def test_what_gives_no_number_is_named_with_its_line():
    def loss(x):
        x * x

    where = f"{__file__}:{loss.__code__.co_firstlineno}"
    with pytest.raises(NotDifferentiableError, match=re.escape(f"loss ({where}) returned None")):
        grad(loss)(1.0)


AT = np.array([1.0, 2.0])
OF_A_NUMBER = {
    "product": lambda y: np.sum(AT * y),
    "choice": lambda y: np.sum(np.where(AT > 1.0, AT, y * y)),
    "broadcast": lambda y: np.sum(np.broadcast_to(y, (3,)) ** 2),
    "shape": lambda y: np.sum(np.reshape(y, (1, 1)) ** 2),
    "repeated": lambda y: np.sum(np.repeat(y, 3) ** 2),
    "outer product": lambda y: np.sum(np.outer(AT, y)),
    "appended": lambda y: np.sum(np.append(AT, y) ** 2),
    "written": lambda y: _written_to(AT * 1.0, y),
}


def _written_to(z, y):
    z = z + np.zeros_like(y, shape=())
    z[0] = y
    return np.sum(z * z)


@pytest.mark.parametrize("cls", [np.float64, np.float32, np.float16, np.complex128])
@pytest.mark.parametrize("name", OF_A_NUMBER)
def test_the_gradient_of_a_number_of_numpy_is_one(name, cls):
    f, h = OF_A_NUMBER[name], 1e-6
    real = lambda y: np.real(f(y))
    slope = (real(2.0 + h) - real(2.0 - h)) / (2 * h)
    y, pullback = vjp(real, cls(2))
    with Tape() as tape:
        at = tape.variable(cls(2))
        loss = real(at)
    for g in (grad(real)(cls(2)), pullback(np.ones_like(y)[()])[0], tape.grad(loss, at)):
        assert isinstance(g, np.generic)
        assert np.real(g) == pytest.approx(slope, rel=1e-3)
