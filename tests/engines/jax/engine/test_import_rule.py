"""Functions of JAX as rules for others, and ours where JAX's stood."""

from __future__ import annotations

import collections
import dataclasses
import functools
import pickle
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import chainrules_tape
from chainrules_compile import compile
from chainrules_jax import export, import_rule
from chainrules_jax.engine.import_rule import _entered, _left
from chainrules_py import (
    LinearMap,
    NoTangent,
    NotDifferentiableError,
    RuleError,
    explain,
    frule,
    primitive,
    rrule,
    rule,
    scalar_rule,
)
from chainrules_py import ops as v
from chainrules_py.testing import check_rule
from chainrules_tape import checkpoint, grad, hvp, jacobian, jvp

pytestmark = pytest.mark.usefixtures("double")


X = np.array([0.4, 1.1, -0.7])
M = np.array([[1.0, 0.3], [-0.2, 0.7]])


# ---------------------------------------------------------------------------------- import_rule


def test_a_function_of_jax_is_a_rule_in_numpy(near):
    softplus = import_rule(jax.nn.softplus)
    y, pullback = rrule(softplus, X)
    assert isinstance(y, np.ndarray)
    near(y, np.log1p(np.exp(X)))
    (bar,) = pullback(np.ones(3))
    assert isinstance(bar, np.ndarray)
    assert bar.flags.writeable
    near(bar, 1 / (1 + np.exp(-X)))
    near(frule((np.ones(3),), softplus, X)[1], bar)
    assert isinstance(grad(softplus)(0.3), float)


@pytest.mark.slow
@pytest.mark.parametrize(
    "f, operands",
    [
        (jax.nn.gelu, (X,)),
        (lambda a, b: jnp.linalg.solve(a, b), (M, X[:2])),
        (lambda z: jnp.exp(z) * jnp.conj(z), (X + 0.5j,)),
    ],
)
def test_it_passes_the_judge(f, operands):
    check_rule(import_rule(f), *operands)


def along(f):
    return lambda x: jvp(f, (x,), (1.0,))[1]


@pytest.mark.parametrize("one", [grad, along])
@pytest.mark.parametrize("two", [grad, along])
def test_second_order_on_the_tape(near, one, two):
    cubed = import_rule(lambda x: x**3)
    near(one(two(lambda x: cubed(x) * x))(2.0), 48.0)


@pytest.mark.slow
@pytest.mark.parametrize("three", [grad, along])
@pytest.mark.parametrize("one", [grad, along])
@pytest.mark.parametrize("two", [grad, along])
def test_third_order_on_the_tape(near, one, two, three):
    cubed = import_rule(lambda x: x**3)
    near(one(two(three(lambda x: cubed(x) * x)))(2.0), 48.0)


def test_single_precision_stays_and_double_is_not_cut_off(near):
    with jax.enable_x64(False):
        tanh = import_rule(jnp.tanh)
        assert rrule(tanh, X.astype(np.float32))[0].dtype == np.float32
        y, pullback = rrule(tanh, X)
        assert y.dtype == np.float64
        near(pullback(np.ones(3))[0], 1 - np.tanh(X) ** 2)


def test_options_several_operands_and_structures(near):
    def scaled(params, x, *, power=2):
        return params["w"] * x**power, x.sum()

    f = import_rule(scaled)
    y, _ = f({"w": 3.0}, X, power=3)
    near(y, 3 * X**3)
    bar, x_bar = chainrules_tape.vjp(lambda p, x: f(p, x)[0], {"w": 3.0}, X)[1](np.ones(3))
    near(bar["w"], (X**2).sum())
    near(x_bar, 6 * X)
    g = import_rule(jnp.power, operands=2)
    near(grad(lambda x: g(x, 2.0))(3.0), 6.0)


def test_arrays_of_other_libraries_without_a_copy():
    torch = pytest.importorskip("torch")
    x = torch.arange(64.0, dtype=torch.float64)
    y, pullback = rrule(import_rule(lambda x: x * 2), x)
    assert isinstance(y, torch.Tensor)
    assert isinstance(pullback(torch.ones_like(x))[0], torch.Tensor)
    entered = _entered(x)
    assert entered.unsafe_buffer_pointer() == x.data_ptr()
    assert _left(entered, (x,)).data_ptr() == x.data_ptr()


def test_it_is_marked_and_never_preferred(near):
    imported = import_rule(jax.nn.silu)
    assert "import_rule of JAX" in repr(explain(imported, X))

    @primitive
    def silu(x):
        return x * v.expit(x)

    filled = import_rule(jax.nn.silu, to=silu)
    assert filled is silu
    near(grad(lambda x: silu(x).sum())(X), grad(lambda x: imported(x).sum())(X))
    scalar_rule(silu, lambda y, x: 7.0)  # any rule of ours comes first
    near(grad(lambda x: silu(x).sum())(X), 7.0)
    with pytest.raises(RuleError, match=r"import_rule\(sin, to=sin\): there is"):
        import_rule(jnp.sin, to=v.sin)
    with pytest.raises(RuleError, match="say how many operands="):
        import_rule(lambda *xs: xs[0])


def test_imported_and_exported_again(near):
    f = export(import_rule(jnp.tanh))
    near(jax.jit(jax.grad(f))(0.3), 1 - np.tanh(0.3) ** 2)
    near(jax.hessian(f)(0.3), jax.hessian(jnp.tanh)(0.3))


@jax.custom_vjp
def product(x, c):
    return x**3 * c**2


product.defvjp(
    lambda x, c: (x**3 * c**2, (x, c)),
    lambda saved, bar: (
        3 * saved[0] ** 2 * saved[1] ** 2 * bar,
        2 * saved[0] ** 3 * saved[1] * bar,
    ),
)


def test_a_function_with_reverse_mode_alone(near):
    f, plain = import_rule(product), lambda x, c: x**3 * c**2
    both = lambda g: (
        jvp(g, (X, 2 * X), (X, np.ones(3)))[1],
        hvp(lambda x: np.sum(g(x, X)), (X,), (np.ones(3),))[0],
        jacobian(lambda c: g(X, c), mode="forward")(X),
        grad(lambda c: np.sum(jvp(lambda x: g(x, c), (X,), (X,))[1]))(X),
    )
    for have, want in zip(both(f), both(plain), strict=True):
        near(have, want)


def test_a_function_with_forward_mode_alone(near):
    body = lambda state: (state[0] + 1, state[1] * state[1])
    f = import_rule(lambda x: jax.lax.while_loop(lambda s: s[0] < 2, body, (0, x))[1])
    with pytest.raises(NotDifferentiableError, match=r'as jacobian\(f, mode="forward"\)'):
        grad(lambda x: np.sum(f(x)))(X)
    near(jacobian(f, mode="forward")(X), np.diag(4 * X**3))


def powers(x, p=2.0):
    return (x**p).sum()


def powers_by_name(x, *, p=2.0):
    return (x**p).sum()


@pytest.mark.parametrize("f", [powers, powers_by_name])
def test_a_default_of_what_is_mapped_is_no_operand(near, f):
    for transformed in (jax.vmap(f), jax.jit(jax.vmap(f)), jax.checkpoint(f)):
        imported = import_rule(transformed)
        near(grad(lambda x, g=imported: np.sum(g(x)))(M), 2 * M)
    near(grad(import_rule(f))(X, p=3.0), 3 * X**2)


def test_a_key_of_jax_is_an_operand_without_a_derivative(near):
    key = jax.random.key(0)
    f = import_rule(lambda key, x: x * jax.random.normal(key, x.shape))
    drawn = jax.random.normal(key, (3,))
    near(grad(lambda x: np.sum(f(key, x)))(X), drawn)
    near(jax.grad(lambda x: f(key, x).sum())(jnp.asarray(X)), drawn)
    near(jax.jit(jax.grad(lambda x, k: f(k, x).sum()))(jnp.asarray(X), key), drawn)


def test_a_key_of_jax_is_a_result(near):
    f = import_rule(lambda key, x: (jax.random.fold_in(key, 1), x**2))
    key = jax.random.key(0)
    assert f(key, X)[0] == jax.random.fold_in(key, 1)
    near(grad(lambda x: np.sum(f(key, x)[1]))(X), 2 * X)


noisy = lambda x, s: x * s + jax.random.normal(jax.random.key(0), (2,))
drawn = lambda key, s: s * jax.random.normal(key, (2,))
drawn_at = lambda key, x, i: x[i] * jax.random.normal(key, (2,))
ONES, KEY = np.ones(2, np.float32), jax.random.key(0)


@pytest.mark.parametrize(
    "f, operands, argnums",
    [
        (noisy, (ONES, 2.0), 0),
        (noisy, (ONES, np.float32(2.0)), (0, 1)),
        (noisy, (ONES, np.array([3, -4])), 0),
        (noisy, (ONES.astype(np.complex64), 2.0), 0),
        (drawn, (KEY, 2.0), 1),
        (drawn_at, (KEY, ONES, np.array([1, 0])), 1),
    ],
)
def test_a_random_number_has_the_precision_that_it_has_in_jax(f, operands, argnums):
    with jax.enable_x64(False):
        imported = import_rule(f)
        have, want = imported(*operands), np.asarray(f(*operands))
        assert have.dtype == want.dtype
        np.testing.assert_allclose(have, want, rtol=1e-6)
        loss = lambda g: lambda *xs: abs(g(*xs) ** 2).sum()
        slope, again = (grad(g, argnums) for g in (loss(imported), checkpoint(loss(imported))))
        want = jax.tree.leaves(jax.grad(loss(f), argnums)(*operands))
        for take in (slope, again, slope if operands[0] is KEY else compile(slope)):
            for a, b in zip(jax.tree.leaves(take(*operands)), want, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-5)


def replaced(x):
    return jnp.tanh(x)


def test_what_is_imported_is_pickled_under_the_name_of_its_function(monkeypatch):
    imported = import_rule(replaced)
    monkeypatch.setitem(globals(), "replaced", imported)
    assert pickle.loads(pickle.dumps(imported)) is imported


@pytest.mark.parametrize("large", [2**40, np.array([2**40, -(2**40)])])
def test_integers_that_need_64_bits_keep_them_beside_floats(large):
    with jax.enable_x64(False):
        np.testing.assert_array_equal(
            import_rule(lambda x, n: x + n)(0 * ONES, large), 0 * ONES + large
        )


def test_an_array_is_no_option_and_is_bound_beforehand(near):
    mask = np.array([True, False, True])
    softmax = import_rule(jax.nn.softmax)
    for run in (softmax, grad(lambda x, where: softmax(x, where=where)[0])):
        with pytest.raises(NotDifferentiableError) as raised:
            run(X, where=mask)
        assert "where of softmax" in str(raised.value)
    said = str(raised.value).partition("make it an operand, ")[2]
    by_message = eval(said, {"import_rule": import_rule, "softmax": jax.nn.softmax})
    want = 1 / (1 + np.exp(X[2] - X[0]))  # of two entries
    for f in (
        lambda x: by_message(x, where=mask),
        import_rule(functools.partial(jax.nn.softmax, where=mask)),
    ):
        near(f(X)[0], want)
        near(grad(lambda x, f=f: f(x)[0])(X), want * (1 - want) * np.array([1.0, 0.0, -1.0]))


class Own(np.ndarray):
    """A class of arrays."""


class Named(NamedTuple):
    w: list[float]


class Layer:
    def __init__(self, w):
        self.params = {"w": w}

    def __call__(self, x):
        return x**3 * self.params["w"]


@pytest.mark.parametrize(
    "f",
    [
        lambda w: lambda x: x**3 * w,
        lambda w: lambda x, *, by=w: x**3 * by,
        lambda w: functools.partial(lambda w, x: x**3 * w, w),
        Layer,
        lambda w: Layer(w).__call__,
    ],
    ids=["cell", "default", "partial", "object", "method"],
)
def test_a_write_to_an_array_that_it_captured_is_seen(f, near):
    w = np.ones(3)
    g = import_rule(f(w))
    for factor in (1.0, 5.0):
        w[:] = factor
        near(g(X), factor * X**3)
        near(grad(lambda x: np.sum(g(x)))(X), factor * 3 * X**2)
        near(hvp(lambda x: np.sum(g(x)), X, np.ones(3)), factor * 6 * X)
        near(jvp(g, (X,), (np.ones(3),))[1], factor * 3 * X**2)


def entered(c, key, value):
    c[key] = value


@pytest.mark.parametrize(
    "held, change, factor",
    [
        (collections.OrderedDict(a=2.0), lambda c: entered(c, "a", 5.0), lambda c: c["a"]),
        (collections.defaultdict(int, a=2.0), lambda c: entered(c, "b", 5.0), lambda c: len(c)),
        (Named([2.0]), lambda c: c.w.append(5.0), lambda c: c.w[-1]),
        (np.ones(1).view(Own), lambda c: entered(c, 0, 5.0), lambda c: np.asarray(c)[0]),
        (np.array([[1.0, 2.0]]), lambda c: setattr(c, "shape", (2, 1)), lambda c: len(c)),
    ],
    ids=["OrderedDict", "defaultdict", "named tuple", "subclass of ndarray", "shape"],
)
@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")
def test_a_change_to_a_container_that_it_captured_is_seen(held, change, factor, near):
    g = import_rule(lambda x: x**3 * factor(held))
    near(g(X), factor(held) * X**3)
    before = factor(held)
    change(held)
    assert factor(held) != before
    near(g(X), factor(held) * X**3)
    near(grad(lambda x: np.sum(g(x)))(X), factor(held) * 3 * X**2)


@pytest.mark.parametrize("around", [lambda f: f, jax.jit])
def test_a_key_is_an_operand(around):
    @primitive
    def noisy(key, x):
        return x**2 + jax.random.normal(key, x.shape)

    @rule(noisy)
    def noisy_rule(key, x):
        return noisy(key, x), (
            NoTangent(),
            LinearMap(lambda t, x: 2.0 * x * t, lambda t, x: 2.0 * x * t, x),
        )

    slope = around(jax.grad(lambda key, x: export(noisy)(key, x).sum(), 1))
    np.testing.assert_allclose(slope(jax.random.key(0), jnp.asarray(X)), 2.0 * X)


# ------------------------------------------------------------------------- pytrees of JAX alone


def state_class():
    """Make a class of a pytree that nobody has seen yet, with a constant beside its array."""

    @jax.tree_util.register_pytree_node_class
    class State:
        def __init__(self, a, power=2):
            self.a, self.power = a, power

        def tree_flatten(self):
            return (self.a,), self.power

        @classmethod
        def tree_unflatten(cls, power, children):
            return cls(*children, power)

    return State


HOLDS = {
    "itself": (lambda s: s, lambda y: y),
    "tuple": (lambda s: (1.0, s), lambda y: y[1]),
    "dict": (lambda s: {"s": [s]}, lambda y: y["s"][0]),
}


@pytest.mark.parametrize("hold, read", HOLDS.values(), ids=HOLDS)
def test_what_a_pytree_holds_in_a_result_is_differentiated(near, hold, read):
    State = state_class()
    f = import_rule(lambda x: (x**3, hold(State(x**2))))

    def loss(x):
        y, held = f(x)
        return np.sum(y) + np.sum(read(held).a)

    near(grad(loss)(X), 3 * X**2 + 2 * X)
    near(jvp(loss, (X,), (X,))[1], np.sum(3 * X**3 + 2 * X**2))
    near(hvp(loss, X, np.ones(3)), 6 * X + 2)
    assert isinstance(read(f(X)[1]).a, np.ndarray)


def test_what_a_pytree_holds_in_the_result_of_an_exported_import_is_differentiated(near):
    State = state_class()
    f = export(import_rule(lambda x: State(x**2)))
    near(jax.grad(lambda x: jnp.sum(f(x).a))(jnp.asarray(X)), 2 * X)


@pytest.mark.parametrize("hold, read", HOLDS.values(), ids=HOLDS)
def test_what_a_pytree_holds_among_the_operands_is_differentiated(near, hold, read):
    State = state_class()
    f = import_rule(lambda h: jnp.sum(read(h).a ** read(h).power))
    for power in (3, 2, 3):  # a constant of the pytree is compared by value
        loss = lambda x, n=power: f(hold(State(x, n)))
        near(grad(loss)(X), power * X ** (power - 1))
        near(jvp(loss, (X,), (X,))[1], np.sum(power * X**power))
        near(hvp(loss, X, np.ones(3)), power * (power - 1) * X ** (power - 2))


def test_a_partial_of_jax_is_an_operand(near):
    f = import_rule(lambda p, x: jnp.sum(p(x)))
    loss = lambda w: f(jax.tree_util.Partial(jnp.multiply, w), X)
    near(grad(loss)(X), X)
    with jax.enable_x64(False):
        assert f(jax.tree_util.Partial(jnp.multiply, X), X) == pytest.approx(X @ X, rel=1e-15)


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Fixed:
    w: Any
    n: Any = dataclasses.field(default=False, metadata={"static": True})


def scaled_by(p):
    return jnp.sum(p.w**3) if p.n is False else jnp.sum((1.5 if p.n is True else p.n) * p.w**3)


STATIC = [(False, 1.0), (True, 1.5), (3, 3.0), (0.25, 0.25)]


@pytest.mark.parametrize("n, factor", STATIC)
def test_a_static_field_is_a_constant(near, n, factor):
    f = import_rule(lambda d: scaled_by(d["b"]) * d["a"])
    loss = lambda x, n=n: f({"b": Fixed(x, n), "a": 2})
    grad(lambda x: loss(x, 7))(X)  # of which nothing stays
    near(loss(X), 2 * factor * np.sum(X**3))
    near(grad(loss)(X), 6 * factor * X**2)
    near(jvp(loss, (X,), (X,))[1], 6 * factor * np.sum(X**3))
    near(hvp(loss, X, np.ones(3)), 12 * factor * X)
    near(grad(lambda a: f({"b": Fixed(X, n), "a": a}))(2), factor * np.sum(X**3))


def test_a_static_truth_value_has_no_tangent_and_stays_in_results(near):
    f = import_rule(scaled_by)
    bar = grad(f)(Fixed(X, True))
    near(bar.w, 4.5 * X**2)
    assert isinstance(bar.n, NoTangent)
    double = import_rule(lambda p: Fixed(2 * p.w, p.n))
    assert double(Fixed(X, True)).n is True
    near(grad(lambda x: np.sum(double(Fixed(x, 0.5)).w))(X), np.full(3, 2.0))


@pytest.mark.parametrize("n", [3, 0.25])
@pytest.mark.parametrize(
    "run",
    [
        lambda f, n: grad(f)(Fixed(X, n)),
        lambda f, n: grad(lambda n: f(Fixed(X, n)))(n),
        lambda f, n: jvp(lambda n: f(Fixed(X, n)), (n,), (1.0,)),
    ],
)
def test_a_derivative_in_a_static_number_is_refused(run, n):
    with pytest.raises(NotDifferentiableError, match="n is a static field of a JAX pytree"):
        run(import_rule(scaled_by), n)


def test_an_error_of_the_function_in_reverse_mode_stays(near):
    @jax.custom_vjp
    def broken(x):
        return x**2

    def backward(_, bar):
        raise ValueError("not today")

    broken.defvjp(lambda x: (x**2, x), backward)
    with pytest.raises(ValueError, match="not today"):
        grad(lambda x: np.sum(import_rule(broken)(x)))(X)
