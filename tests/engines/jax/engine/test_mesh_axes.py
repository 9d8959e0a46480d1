"""`jax.shard_map`: what varies over the axes of a mesh, beside what is the same on all devices."""

import subprocess
import sys

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")

import jax.numpy as jnp  # noqa: E402
from jax.sharding import Mesh, PartitionSpec  # noqa: E402

from chainrules_jax import export  # noqa: E402
from chainrules_jax.engine.mesh_axes import varying_axes  # noqa: E402
from chainrules_py import NotDifferentiableError, primitive, rrule  # noqa: E402
from chainrules_py import vocabulary as v  # noqa: E402
from tests.engines.test_results_that_hide import FORMS, by_custom_jvp, by_scalar_rule  # noqa: E402

pytestmark = [
    pytest.mark.skipif(not hasattr(jax, "shard_map"), reason="this JAX has no jax.shard_map"),
    pytest.mark.usefixtures("double"),
]
OWN, SAME = PartitionSpec("i"), PartitionSpec()


@primitive
def weighted(x, w):
    return v.sum(x * w)


rrule.register(weighted)(lambda x, w: (v.sum(x * w), lambda bar: (bar * w, bar * x)))


def each_alone(x, c, sin, weighted):
    return sin(c * x)


def beside_what_is_the_same(x, c, sin, weighted):
    return x * sin(c)


def summed(x, c, sin, weighted):
    return jax.lax.psum(weighted(x, jnp.sin(x) * c), "i") + jnp.zeros_like(x)


def of_a_batch(x, c, sin, weighted):
    return jax.vmap(lambda x: weighted(x, jnp.full(x.shape, c)))(jnp.stack([x, x * x]))


def in_a_loop(x, c, sin, weighted):
    return jax.lax.scan(lambda y, _: (sin(y + c), None), x, None, length=3)[0]


PROGRAMS = (each_alone, beside_what_is_the_same, summed, of_a_batch, in_a_loop)
OURS = export(v.sin), export(weighted)
JAXS = jnp.sin, lambda x, w: jnp.sum(x * w)


def sharded(program, functions, devices):
    whole = jax.shard_map(
        lambda x, c: program(x, c, *functions),
        mesh=Mesh(np.array(jax.devices()[:devices]), ("i",)),
        in_specs=(OWN, SAME),
        out_specs=OWN,
    )
    weights = jnp.cos(jnp.arange(8.0))
    return lambda x, c: jnp.sum((y := whole(x, c)) * weights[: y.size].reshape(y.shape))


def first(f):
    x, c = POINT
    yield from jax.grad(f, (0, 1))(x, c)
    yield jax.jvp(f, (x, c), (x, c))[1]


def further(f):
    x, c = POINT
    yield f(x, c)
    yield from jax.jit(jax.grad(f, (0, 1)))(x, c)
    yield from jax.tree.leaves(jax.hessian(f, (0, 1))(x, c))
    yield jax.vmap(jax.grad(f), (0, None))(jnp.stack([x, x + 1]), c)


POINT = np.linspace(0.2, 1.4, 4), np.array(0.7)


def check(program, transformed, devices=1):
    ours = transformed(sharded(program, OURS, devices))
    for have, want in zip(ours, transformed(sharded(program, JAXS, devices)), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-12, atol=1e-14)


def test_sharded_programs_have_the_derivatives_of_jaxs_own_functions():
    check(beside_what_is_the_same, first)


@pytest.mark.nightly
@pytest.mark.parametrize("transformed", [first, further])
@pytest.mark.parametrize("program", PROGRAMS)
def test_all_transformations(program, transformed):
    check(program, transformed)


def steps(solve):
    """A word that takes steps, of what varies, as a function of one device's part."""
    return jax.grad(lambda x: jnp.sum(jax.shard_map(
        solve, mesh=Mesh(np.array(jax.devices()[:1]), ("i",)), in_specs=OWN, out_specs=OWN
    )(x)))(jnp.array([1.0, 2.0]))  # fmt: skip


ONE = np.ones(2)
SOLVED = {
    "root": (lambda a: v.root(lambda t, a: t**3 - a, ONE, a), lambda a: a ** (-2 / 3) / 3),
    "fixed_point": (
        lambda a: v.fixed_point(lambda t, a: (t + a / t) / 2, ONE, a),
        lambda a: a**-0.5 / 2,
    ),
    "odeint": (
        lambda a: v.odeint(lambda y, t, a: -a * y, ONE, jnp.array([0.0, 0.5, 1.0]), a)[-1],
        lambda a: -np.exp(-a),
    ),
    "linear_solve": (lambda a: v.linear_solve(lambda z: 2 * z, a), lambda a: 0.5 + 0 * a),
    "cg": (lambda a: v.linear_solve(lambda z: 2 * z, a, solver="cg"), lambda a: 0.5 + 0 * a),
    "map": (lambda a: v.map(lambda t: t**3, a), lambda a: 3 * a**2),
}


@pytest.mark.parametrize(
    "word", ["root", *[pytest.param(w, marks=pytest.mark.slow) for w in SOLVED]]
)
def test_what_takes_steps_varies(word):
    solve, slope = SOLVED[word]
    np.testing.assert_allclose(steps(solve), slope(np.array([1.0, 2.0])), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    "solve",
    [
        lambda a: v.minimize(lambda t, a: jnp.sum((t - a) ** 2), ONE, a),
        lambda a: v.linear_solve(lambda z: 2 * z, a, solver="gmres"),
    ],
)
def test_what_jax_solves_itself_is_refused(solve):
    with pytest.raises(NotDifferentiableError, match="check_vma=False"):
        steps(solve)


def varies_over(f):
    """Tell over which axes the results of a function vary, of what is a device's own."""
    found = []

    def each(x):
        y = f(x)
        found.append(varying_axes(jax.typeof(y)))
        return y

    mesh = Mesh(np.array(jax.devices()[:1]), ("i",))
    jax.make_jaxpr(jax.shard_map(each, mesh=mesh, in_specs=OWN, out_specs=OWN))(ONE)
    return found[-1]


@pytest.mark.parametrize("f", [by_scalar_rule(np.sin), by_custom_jvp(np.sin), v.erfcx])
def test_what_numpy_computes_varies(f):
    assert varies_over(export(f)) == {"i"}


def check_numpy(devices):
    """Functions that NumPy computes have one derivative on each device, and not the sum."""
    mesh = Mesh(np.array(jax.devices()[:devices]), ("i",))
    x = np.linspace(0.1, 0.9, 4)
    for form in FORMS:
        f = export(form(np.sin))
        total = jax.shard_map(
            lambda x, f=f: jax.lax.psum(f(x).sum(), "i"), mesh=mesh, in_specs=OWN, out_specs=SAME
        )
        np.testing.assert_allclose(jax.grad(total)(x), np.cos(x), rtol=1e-12)


@pytest.mark.slow
def test_numpy_on_several_devices():
    code = (
        "import os; os.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=2'\n"
        "import jax; jax.config.update('jax_enable_x64', True)\n"
        "from tests.engines.jax.engine.test_mesh_axes import check_numpy\n"
        "check_numpy(2); print(len(jax.devices()), 'devices')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "2 devices\n", done.stderr


@pytest.mark.nightly
def test_on_several_devices():
    code = (
        "import os; os.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=2'\n"
        "import jax; jax.config.update('jax_enable_x64', True)\n"
        "from tests.engines.jax.engine.test_mesh_axes import PROGRAMS, check, first\n"
        "for program in PROGRAMS: check(program, first, 2)\n"
        "print(len(jax.devices()), 'devices')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "2 devices\n", done.stderr
