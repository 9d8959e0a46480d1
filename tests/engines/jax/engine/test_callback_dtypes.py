"""Bodies that compute with NumPy give one dtype, whether JAX traces the call or not."""

import itertools

import numpy as np
import pytest

from chainrules_jax import callback, export
from chainrules_py import ops as v
from chainrules_py import primitive, scalar_rule

jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = jax.numpy

pytestmark = pytest.mark.usefixtures("double")

BODIES = {
    "operator": lambda x, y: np.sin(x) * y,
    "function": lambda x, y: np.multiply(np.sin(x), y),
    "array": lambda x, y: np.sin(np.asarray(x)) * np.asarray(y),
    "array of its own": lambda x, y: np.sin(x * np.arange(2) + 0 * y),
    "operations": lambda x, y: v.sin(x) * y,
}
XS = {
    name: (lambda dtype: lambda: jnp.ones(2, dtype))(name)
    for name in ("float32", "bfloat16", "float16", "float64")
}
YS = {
    **XS,
    "whole": lambda: jnp.arange(2),
    "short": lambda: jnp.arange(2, dtype="int16"),
    "mask": lambda: jnp.ones(2, bool),
    "number": lambda: 2.5,
    "count": lambda: 3,
    "array that gives way": lambda: jnp.asarray(0.5),
}
DOORS = {
    "jit": lambda f, x, y: jax.jit(f)(x, y),
    "jit of a closure": lambda f, x, y: jax.jit(lambda x: f(x, y))(x),
    "jvp": lambda f, x, y: jax.jvp(lambda x: f(x, y), (x,), (x,))[0],
    "linearize": lambda f, x, y: jax.linearize(lambda x: f(x, y), x)[0],
    "vmap": lambda f, x, y: jax.vmap(lambda x: f(x, y))(x[None]),
    "checkpoint": lambda f, x, y: jax.vjp(jax.checkpoint(lambda x: f(x, y)), x)[0],
    "eval_shape": jax.eval_shape,
}


def exported(body):
    f = primitive(lambda x, y: body(x, y))
    scalar_rule(f, lambda _z, x, y: v.cos(x) * y, lambda _z, x, y: v.sin(x))
    return export(f)


def judge(body, x, y):
    # Where NumPy is handed a number of Python's as an array, or one beside bfloat16, it is wider.
    doors = dict(DOORS)
    if y == "number" and (body == "array" or x == "bfloat16"):
        del doors["jit"], doors["eval_shape"]
    f, x, y = exported(BODIES[body]), XS[x](), YS[y]()
    want = f(x, y)
    for name, door in doors.items():
        have = door(f, x, y)
        assert have.dtype == want.dtype, name
        if name == "jit" and x.dtype in (np.float32, np.float64):
            np.testing.assert_allclose(np.asarray(have), np.asarray(want), rtol=1e-6)


@pytest.mark.parametrize("body", BODIES)
def test_every_door_gives_one_dtype(body):
    """Called back, NumPy makes doubles of single numbers beside whole ones, and JAX does not."""
    for x, y in (("float32", "whole"), ("bfloat16", "short"), ("float32", "number")):
        judge(body, x, y)


@pytest.mark.slow
@pytest.mark.parametrize("body", BODIES)
def test_every_door_gives_one_dtype_of_all(body):
    for x, y in itertools.product(XS, YS):
        judge(body, x, y)


@pytest.mark.parametrize("y", ["whole", "number", "array that gives way"])
def test_checkpoints_of_gradients_are_differentiated(y):
    """JAX was given single numbers and doubles for one value: lax.mul raised."""
    f, x, y = exported(BODIES["operator"]), jnp.ones(2, "float32"), YS[y]()
    slope = jax.grad(lambda x: jnp.sum(f(x, y) ** 2))
    have = jax.grad(lambda x: jax.checkpoint(slope)(x).sum())(x)
    np.testing.assert_allclose(have, np.cos(2.0) * 2.0 * np.asarray(y) ** 2 * x, rtol=1e-5)


def test_the_switch_for_doubles_between_calls():
    f = primitive(lambda x: np.cumsum(np.asarray(x), dtype=np.float64))
    scalar_rule(f, lambda _y, x: v.cos(x))
    x = jnp.ones(2, "float16")
    for wide in (False, True, False):
        with jax.enable_x64(wide):
            found = [run(export(f))(x) for run in (jax.jit, lambda f: f, jax.jit)]
            assert {y.dtype for y in found} == {np.dtype("float64" if wide else "float32")}


def test_numbers_of_pythons_have_the_dtype_of_the_operands():
    f = primitive(lambda x: float(np.sin(np.asarray(x))))
    scalar_rule(f, lambda _y, x: v.cos(x))
    for dtype in ("float32", "float16", "float64"):
        x = jnp.asarray(0.5, dtype)
        for run in (lambda f, x: f(x), *[lambda f, x, d=d: d(f)(x) for d in (jax.jit,)]):
            assert run(export(f), x).dtype == x.dtype
    given = primitive(lambda x, y: np.sin(x) * y)
    callback(given)
    assert jax.jit(given)(jnp.ones(2, "float32"), 2.5).dtype == np.float32
