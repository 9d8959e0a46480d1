"""JAX's arrays as any library's: rules at them, eager and in programs that JAX compiles."""

from __future__ import annotations

import itertools
import operator
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import chainrules_jax
import chainrules_tape
from chainrules_jax.array_types import Concrete
from chainrules_jax.engine.derivative_choice import is_native
from chainrules_jax.engine.value_conversions import conjugate, dense, is_inexact, split
from chainrules_py import (
    AmbiguousRuleError,
    ChainRulesError,
    LinearMap,
    NoTangent,
    NotDifferentiableError,
    Primitive,
    Tangent,
    export,
    frule,
    primitive,
    rrule,
    rule,
)
from chainrules_py import ops as v
from chainrules_py.extend import find_rule
from chainrules_py.tangents.flatten_tangents import flatten_tangent, unflatten_tangent
from chainrules_py.testing import backend
from chainrules_py.testing.cases.calls_from_samples import instances
from chainrules_py.testing.cases.unsupported_operations import unsupported
from chainrules_py.testing.sample_runs import operations_of, two_samples
from chainrules_py.values.pytree import unflatten

pytestmark = pytest.mark.usefixtures("double")


X = np.array([0.4, 1.1, -0.7])


# ------------------------------------------------------------------------------------ by hand


@pytest.mark.parametrize("operation", [operator.mul, operator.sub, operator.matmul])
def test_jaxs_operators_leave_what_is_traced_alone(operation):
    """It answers as an array of NumPy's to a program, which JAX would then compute with."""
    bar = chainrules_tape.grad(lambda x: np.sum(operation(jnp.ones(3), x)))(X)
    assert (
        bar.tolist() == chainrules_tape.grad(lambda x: np.sum(operation(np.ones(3), x)))(X).tolist()
    )


@pytest.mark.parametrize("compile", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_rules_at_arrays_of_jax(near, compile):
    def both(x, t):
        y, pullback = rrule(v.sin, x)
        (bar,) = pullback(t)
        return y, bar, frule((t,), v.sin, x)[1]

    x, t = jnp.asarray(X), jnp.arange(1.0, 4.0)
    y, bar, y_dot = compile(both)(x, t)
    assert all(isinstance(part, jax.Array) for part in (y, bar, y_dot))
    near(y, np.sin(X))
    near(bar, np.cos(X) * t)
    near(y_dot, bar)


@pytest.mark.parametrize("compile", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_broadcasting_dtypes_and_several_operands(near, compile):
    def pulled(x, y):
        z, pullback = rrule(v.multiply, x, y)
        return pullback(jnp.ones(z.shape, z.dtype))

    single = jnp.asarray(X, jnp.float32)
    x_bar, y_bar = compile(pulled)(single, jnp.ones((2, 1), jnp.float32))
    assert (x_bar.dtype, y_bar.dtype) == (jnp.float32, jnp.float32)
    assert (x_bar.shape, y_bar.shape) == ((3,), (2, 1))
    x_bar, y_bar = compile(pulled)(jnp.asarray(X), jnp.asarray(X * 1j))
    assert (x_bar.dtype, y_bar.dtype) == (jnp.float64, jnp.complex128)
    near(x_bar, 0.0)
    near(y_bar, X)


def test_rules_are_found_for_arrays_tracers_and_by_the_name_of_jax(near):
    @primitive
    def doubled(x):
        return 2 * x

    @rule(doubled)
    def doubled_rule(x: jax.Array):
        return 2 * x, (LinearMap(lambda t: 2 * t, lambda t: 2 * t),)

    near(rrule(doubled, jnp.asarray(X))[1](jnp.ones(3))[0], 2.0)
    near(jax.jit(lambda x: rrule(doubled, x)[1](jnp.ones(3))[0])(X), 2.0)
    near(jax.grad(lambda x: doubled(x).sum())(jnp.asarray(X)), 2.0)


def test_operations_in_a_program_of_jax_are_differentiated_by_their_rules(near):
    """Also where JAX has another derivative, or none: strong zeros, ties, a user's rule."""
    near(
        jax.grad(lambda x: v.where(x > 0, v.sqrt(x), 0.0).sum())(jnp.asarray([-1.0, 4.0])),
        [0, 0.25],
    )
    near(jax.grad(lambda x: v.vector_norm(x))(jnp.zeros(2)), 0.0)
    near(jax.grad(lambda x: v.abs(x))(0.0), 0.0)
    near(jax.grad(v.spacing)(1.5), 0.0)
    near(jax.grad(lambda x, y: v.maximum(x, y), (0, 1))(1.0, 1.0), [0.5, 0.5])
    bend = jax.hessian(lambda x: (v.sqrt(x) - 1) ** 2)
    near(bend(1.0), 0.5)

    @primitive
    def tenfold(x):
        return x * 1.0

    @rule(tenfold)
    def tenfold_rule(x):
        return tenfold(x), (LinearMap(lambda t: 10 * t, lambda t: 10 * t),)

    f = lambda x: tenfold(x) ** 2
    near(jax.grad(f)(1.0), 20.0)
    near(jax.hessian(f)(1.0), 200.0)
    near(jax.jit(jax.grad(jax.grad(f)))(1.0), 200.0)


def native():
    """Operations whose derivative is left to JAX."""
    for operation in operations_of():
        if (
            isinstance(operation, Primitive)
            and not operation.variadic
            and len(operation.operands) < 3
        ):
            classes = (Concrete,) * len(operation.operands)
            found = find_rule(operation, classes, chainrules_jax.config)
            if found is None or not found.reverse.recipe.is_elementwise:
                continue
            if is_native(operation, found, operation.implementation(classes)):
                yield operation


@pytest.mark.slow
def test_what_is_left_to_jax_has_the_derivative_of_the_rule():
    """At every point where there might be a kink, and beyond."""
    points = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.0, np.inf, -np.inf])
    operations = list(native())
    assert len(operations) > 15
    for operation in operations:
        grid = [x.ravel() for x in np.meshgrid(*[points] * len(operation.operands))]
        theirs = jax.vmap(jax.grad(lambda *x, f=operation: f(*x), tuple(range(len(grid)))))(*grid)
        ours = jax.vmap(jax.grad(chainrules_jax.export(operation), tuple(range(len(grid)))))(*grid)
        np.testing.assert_allclose(theirs, ours, rtol=1e-12, atol=1e-12, err_msg=operation.__name__)


def test_the_tape_runs_on_arrays_of_jax(near):
    def loss(x):
        return v.sum(v.tanh(x) * x)

    x = jnp.asarray(X)
    bar = chainrules_tape.grad(loss)(x)
    assert isinstance(bar, jax.Array)
    near(bar, jax.grad(loss)(x))
    near(jax.jit(chainrules_tape.grad(loss))(x), bar)
    near(jax.jacfwd(chainrules_tape.grad(loss))(x), jax.hessian(loss)(x))


def test_solutions_are_not_looked_at_in_compiled_programs(near):
    def slope(a):
        _, pullback = rrule(v.root, lambda x, a: x * x - a, jnp.asarray(1.0), a)
        return pullback(1.0)[2]

    by_tape = chainrules_tape.grad(lambda a: v.root(lambda x, a: x * x - a, jnp.asarray(1.0), a))
    for f in (slope, by_tape):
        near(jax.jit(f)(2.0), 0.5 * 2.0**-0.5)


WAVE = np.array([0.3, -0.7]), np.array([0.0, 0.1, 0.4])


def along_wave(y, t, k):
    """Where a damped wave is, to the third power."""
    return v.sum(v.odeint(lambda y, t: v.sin(t) - k * y, y, t) ** 3)


@pytest.mark.parametrize("number", [float, np.float64, jnp.asarray])
def test_what_the_rate_of_an_equation_captured_has_its_cotangent(number, near):
    """Numbers of Python's as well, which JAX has no leaves for."""
    found = chainrules_tape.grad(lambda k: along_wave(*map(jnp.asarray, WAVE), k))(number(0.5))
    near(found, chainrules_tape.grad(along_wave, 2)(*WAVE, 0.5), 1e-7)


@pytest.mark.parametrize("scale", [2.0**60, 2.0**100])
def test_derivatives_of_an_equation_have_any_size(scale, near):
    """Tangents and cotangents are integrated from zeros, at any rate."""
    y, t, k = *map(jnp.asarray, WAVE), jnp.asarray(0.5)
    solve = lambda y, t, k: v.odeint(lambda y, t: v.sin(t) - k * y, y, t + 1.0)
    ys, pull = chainrules_tape.vjp(solve, y, t, k)
    for large, small in zip(pull(scale * ys), pull(ys), strict=True):
        near(large / scale, small, 1e-6)
    push = lambda k_dot: chainrules_tape.jvp(lambda k: solve(y, t, k), (k,), (k_dot,))[1]
    near(push(scale * k) / scale, push(k), 1e-6)


@pytest.mark.slow
def test_the_tape_differentiates_twice_through_an_equation(near):
    """Its variables are no values of JAX's, and its loops do not take them."""

    def slopes(*operands):
        return sum(v.sum(x * x) for x in chainrules_tape.grad(along_wave, (0, 1, 2))(*operands))

    twice = chainrules_tape.grad(slopes, (0, 1, 2))
    for have, want in zip(twice(*map(jnp.asarray, WAVE), 0.5), twice(*WAVE, 0.5), strict=True):
        near(have, want, 1e-6)


def test_writing_to_what_jax_traces_is_refused_by_jax():
    with pytest.raises(TypeError):
        jnp.asarray(X)[0] = 1.0


# --------------------------------------------------------------------------- all samples, under jit


def sampled():
    for operation in operations_of():
        found = [
            i
            for i in instances(operation)
            if i.sample.has_arrays and "jax" not in i.sample.without and not unsupported("jax", i)
        ]
        if found and isinstance(operation, Primitive) and not operation.shape_from_data:
            yield from (pytest.param(i, id=i.name) for i in two_samples(found))


def is_operand(x):
    return isinstance(x, jax.Array)


BY_VALUES = ("complex_outside", "real_if_close", "repeat")
"""Operations whose results have the shape, or the dtype, that the values of some operands say."""


@pytest.mark.slow
@pytest.mark.parametrize("instance", list(sampled()))
def test_samples_in_programs_of_jax(instance):
    """Value and pullback of each operation: eager, compiled, and as JAX pulls back through it."""
    operands, options = instance.build(backend("jax"))
    arrays, layout = split(operands)
    places = [i for i, x in enumerate(arrays) if is_inexact(x)]

    def pulled(*arrays):
        y, pullback = rrule(instance.operation, *unflatten(layout, arrays), **options)
        ys, out = split(y, numbers=True)
        bars = pullback(
            unflatten_tangent(out, [jnp.ones_like(y) if is_inexact(y) else NoTangent() for y in ys])
        )
        parts = flatten_tangent(layout, Tangent.of(tuple, dict(enumerate(bars)), len(bars)))
        return [y for y in ys if is_inexact(y)] + [dense(parts[i], arrays[i]) for i in places]

    def by_jax(*arrays):
        def whole(*xs):
            given = list(arrays)
            for i, x in zip(places, xs, strict=True):
                given[i] = x
            ys, _ = split(instance.operation(*unflatten(layout, given), **options), numbers=True)
            return [y for y in ys if is_inexact(y)]

        ys, pullback = jax.vjp(whole, *[arrays[i] for i in places])
        return ys + [conjugate(bar) for bar in pullback([jnp.ones_like(y) for y in ys])]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = pulled(*arrays)
        try:
            compiled = jax.jit(pulled)(*arrays)
        except (jax.errors.ConcretizationTypeError, NotDifferentiableError):
            assert instance.operation.__name__ in BY_VALUES
            compiled = expected
        theirs = by_jax(*arrays)
    for found in (compiled, theirs):
        for have, want in zip(found, expected, strict=True):
            assert have.dtype == want.dtype
            scale = max(1.0, float(np.max(np.abs(want), initial=0.0)))
            np.testing.assert_allclose(have, want, rtol=1e-9, atol=1e-9 * scale)


@pytest.mark.filterwarnings("ignore:Bitwise inversion:DeprecationWarning")  # ~True, from 3.12 on
@pytest.mark.parametrize("given", [(2.0,), (2,), (True,), (2, 2.0), (1j,)])
def test_no_operation_of_numbers_alone_is_ambiguous(given):
    operations = [operation for operation in vars(v).values() if isinstance(operation, Primitive)]
    computed = []
    for operation in operations:
        for n in range(1, 5):
            try:
                operation(*itertools.islice(itertools.cycle(given), n))
            except AmbiguousRuleError as error:
                pytest.fail(str(error))
            except (ChainRulesError, TypeError, ValueError, ArithmeticError, IndexError):
                continue
            computed.append(operation)
    assert {v.stack, v.negative} <= {*computed}


def test_a_scan_with_whole_numbers_in_its_state_is_differentiated_by_the_tape():
    scan = export(v.scan, to="jax")
    step = lambda state, y: ((state[0] + 1, state[1] * y), (state[1], state[0]))
    f = lambda x: v.sum(scan(step, (0, 1.0), x)[1][0])
    x = jnp.arange(1.0, 4.0)
    assert np.array_equal(chainrules_tape.grad(f)(x), jax.grad(f)(x))
    assert np.array_equal(jax.grad(f)(x), [3.0, 1.0, 0.0])


APART = {"hidden": [v.strong_multiply, v.logaddexp_share], "used": [v.pow, v.logaddexp, v.xlogy]}
APART["used"] += [v.xlog1py, v.rel_entr, v.kl_div, v.divide, v.multiply, v.atan2]
APART["used"] += [v.i0e, v.i1e, v.sinc, v.entr]


def _partial(grad, operation, order):
    f = lambda *xs: operation(*xs)
    for i in order:
        f = grad(lambda *xs, f=f: v.sum(f(*xs)), i)
    return f


@pytest.mark.filterwarnings("ignore::chainrules_py.LostDerivativeWarning")  # a product's, twice
@pytest.mark.filterwarnings("ignore::chainrules_py.DegeneracyWarning")  # of atan2 at 0
@pytest.mark.parametrize("operation", [w for each in APART.values() for w in each], ids=str)
def test_partials_of_all_orders_are_the_rules_where_something_is_0_or_equal(operation):
    n, points = len(operation.operands), [0.0, 1.0, -0.5, 2.0]
    xs = [np.array(c) for c in zip(*itertools.product(points, repeat=n), strict=True)]
    for order in [o for m in (1, 2, 3) for o in itertools.product(range(n), repeat=m)]:
        with np.errstate(all="ignore"):
            want = _partial(chainrules_tape.grad, operation, order)(*xs)
            have = _partial(jax.grad, operation, order)(*map(jnp.asarray, xs))
        known = np.isfinite(want)
        assert known.any()
        assert np.allclose(have[known], want[known], rtol=1e-9, atol=1e-12), order


def test_a_rule_that_multiplies_strongly_has_second_derivatives():
    @primitive
    def squared(x):
        return x * x

    @rrule.register(squared)
    def _(x):
        return squared(x), lambda g: (v.strong_multiply(g, 2.0 * x),)

    f = lambda x: (export(squared, to="jax")(x) - 4.0) ** 2
    for found in (jax.hessian(f), jax.jit(jax.hessian(f)), jax.grad(jax.grad(f))):
        assert found(2.0) == 32.0


@pytest.mark.parametrize("name", ["sqrtm", "logm"])
def test_functions_of_matrices_that_scipy_computes(name, near):
    linalg = pytest.importorskip("scipy.linalg", reason="SciPy is not installed")
    native = getattr(linalg, name)
    f = export(native, to="jax")
    a, u = np.array([[4.0, 1.0], [0.5, 3.0]]), np.array([[0.3, -0.2], [1.0, 0.5]])
    near(f(a), native(a))
    loss = lambda a: jnp.sum(jnp.sin(f(a)))
    slope = (np.sum(np.sin(native(a + 1e-6 * u))) - np.sum(np.sin(native(a - 1e-6 * u)))) / 2e-6
    for grad in (jax.grad(loss), jax.jit(jax.grad(loss))):
        near(np.sum(grad(a) * u), slope, 1e-7)
    curved = (jax.grad(loss)(a + 1e-6 * u) - jax.grad(loss)(a - 1e-6 * u)) / 2e-6
    near(jax.jvp(jax.grad(loss), (a,), (u,))[1], curved, 1e-7)
    with pytest.raises(Exception, match="give a complex one"):
        export(linalg.sqrtm, to="jax")(-a)


# ----------------------------------------------------------------------- values that are hidden

ROWS = np.array([[0.7, 1.1, 0.3, 2.3], [0.5, 3.1, 0.4, 1.9]])
HIDDEN = {
    "average": lambda f, x: f(np.average)(x, weights=x * x),
    "cov": lambda f, x: f(np.cov)(x, aweights=x),
    "polymul": lambda f, x: f(np.polymul)(x, x[:2]),
    "quantile": lambda f, x: f(np.quantile)(x, x[:2] / 7),
    "logsumexp": lambda f, x: f(pytest.importorskip("scipy.special").logsumexp)(x, b=x),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_a_check_of_values_is_left_out_where_they_are_hidden(name, near):
    pytest.importorskip("scipy", reason="SciPy is not installed")
    ours = lambda x: HIDDEN[name](lambda f: export(f, to="jax"), x)
    theirs = lambda x: HIDDEN[name](lambda f: f, x)
    near(jax.vmap(ours)(ROWS), [theirs(x) for x in ROWS])
    near(jax.jit(ours)(ROWS[0]), theirs(ROWS[0]))
    total, d = lambda x: jnp.sum(jnp.sin(ours(x))), 1e-6
    for x, slope in zip(ROWS, jax.vmap(jax.jit(jax.grad(total)))(ROWS), strict=True):
        moved = [
            np.sum(np.sin(theirs(x + s))) - np.sum(np.sin(theirs(x - s))) for s in d * np.eye(4)
        ]
        near(slope, np.array(moved) / (2 * d), 1e-7)


def test_values_that_are_differentiated_are_checked():
    average = export(np.average, to="jax")
    for f in (average, jax.grad(average)):
        with pytest.raises(ZeroDivisionError, match="sum to zero"):
            f(jnp.asarray(X), weights=0 * jnp.asarray(X))
    with pytest.raises(ValueError, match="must be in the range"):
        jax.grad(lambda q: export(np.quantile, to="jax")(X, q))(1.5)


@pytest.mark.parametrize("name", ["pdtrik", "nbdtrin", "nctdtrit"])
def test_a_solution_of_scipys_has_no_derivative_in_jax(name):
    """Its steps follow the order of the derivative, which JAX does not tell: 0 was wrong."""
    native = getattr(pytest.importorskip("scipy.special"), name)
    pytest.importorskip("chainrules_scipy")
    with pytest.raises(NotDifferentiableError, match=r"counts the orders.*root"):
        jax.grad(export(native, to="jax"))(*[0.4, 0.3, 0.6][: native.nin])
