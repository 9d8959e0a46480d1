"""Rules exported to autograd: the battery in both modes to order 3, and how calls are made."""

import contextlib
import itertools
import math
import warnings

import autograd
import autograd.numpy as anp
import numpy as np
import pytest
from autograd import elementwise_grad, grad, jacobian, make_jvp
from autograd.builtins import tuple as as_tuple
from autograd.core import make_vjp
from autograd.numpy.numpy_boxes import ArrayBox

import chainrules_autograd as adapter
from chainrules_kit import Support
from chainrules_py import (
    LinearMap,
    NoRuleError,
    NotDifferentiableError,
    TracerError,
    UnsupportedKeywordError,
    ZeroTangent,
    frule,
    primitive,
    rule,
    scalar_rule,
)
from chainrules_py import ops as v
from chainrules_py.extend import Thunk, find_rule
from chainrules_py.testing.cases.differences import derivative
from chainrules_tape import grad as tape_grad
from tests.engines.battery import CONSTANT, ONE_MODE, Entry, points
from tests.engines.battery import softplus as user_softplus

X = np.array([0.3, -0.7, 1.2])
Z = np.array([0.3 + 0.4j, -0.7 + 0.2j])


# --------------------------------------------------------------------------------- the battery


def along(f, us, mode):
    """The derivative of a function of several along a direction, as a function of the same."""

    def reverse(*xs):
        bars = grad(lambda t: f(*t))(as_tuple(xs))
        # The gradient is the conjugate of ours, so nothing is conjugated here.
        return sum([anp.sum(anp.real(bar * u)) for bar, u in zip(bars, us, strict=True)], 0.0)

    def forward(*xs):
        return make_jvp(lambda t: f(*t))(as_tuple(xs))(as_tuple(us))[1]

    return reverse if mode == "r" else forward


def line(f, xs, us):
    """A function of several on a line, as one of a number."""
    return lambda t: np.asarray(f(*[x + t * u for x, u in zip(xs, us, strict=True)]))


def directions(point):
    rng = np.random.default_rng(1)

    def direction(x):
        u = rng.standard_normal(np.shape(x))
        u = u + 1j * rng.standard_normal(np.shape(x)) if np.iscomplexobj(x) else u
        return u if isinstance(x, np.ndarray) else u.item()

    return tuple(map(direction, point.xs))


def check(point, order):
    """Each nesting of the modes against differences of the one before, which is checked by then."""
    us = directions(point)
    exported = adapter.export(point.entry.f)
    f = point.loss(exported)
    y = point.call(exported, *point.xs)
    want = point.call(point.entry.f, *point.xs)
    assert np.all([np.array_equal(a, b) for a, b in zip(_flat(y), _flat(want), strict=True)])
    nested = {"": f}
    for n in range(1, order + 1):
        before = nested["f" * (n - 1)]
        truth, error = derivative(line(before, point.xs, us))
        names = map("".join, itertools.product("rf", repeat=n))
        nested = {name: along(nested[name[1:]], us, name[0]) for name in names}
        for name, g in nested.items():
            found = g(*point.xs)
            allowed = max(1e-7 * max(1.0, abs(truth)), 50 * error)
            assert abs(found - truth) <= allowed, (name, found, truth)


def _flat(y):
    return [part for entry in y for part in _flat(entry)] if isinstance(y, tuple) else [y]


@pytest.mark.filterwarnings("ignore:Output seems independent of input")
@pytest.mark.parametrize("point", points(), ids=lambda p: p.name)
def test_battery(point):
    check(point, point.entry.order)


@pytest.mark.filterwarnings("ignore:Output seems independent of input")
def test_what_nothing_flows_through_is_zero():
    f = adapter.export(CONSTANT.f)
    assert np.array_equal(grad(lambda x: anp.sum(f(x)))(X), np.zeros(3))
    y, y_dot = make_jvp(f)(X)(np.ones(3))
    assert np.array_equal(y, np.floor(X))
    assert np.array_equal(y_dot, np.zeros(3))


def test_a_missing_mode_is_the_transpose_of_the_other():
    f = adapter.export(ONE_MODE["reverse"].f)
    assert np.allclose(grad(lambda x: anp.sum(f(x)))(X), 2 * X)
    assert np.allclose(make_jvp(f)(X)(np.ones(3))[1], 2 * X)
    f = adapter.export(ONE_MODE["forward"].f)
    assert np.allclose(make_jvp(f)(X)(np.ones(3))[1], 2 * X)
    assert np.allclose(grad(lambda x: anp.sum(f(x)))(X), 2 * X)


def test_without_any_rule():
    @primitive
    def unknown(x):
        """What nobody computes."""

    with pytest.raises(NoRuleError, match="unknown"):
        grad(adapter.export(unknown))(1.0)


def test_a_body_is_looked_into():
    @primitive
    def cube(x):
        return x * x * x

    f = adapter.export(cube)
    assert grad(grad(f))(2.0) == pytest.approx(12.0)


# --------------------------------------------------------------------------------- how one calls


def test_options_and_keywords():
    total = adapter.export(np.sum)
    a = np.arange(6.0).reshape(2, 3)
    calls = (
        lambda x: total(x, 0),
        lambda x: total(x, axis=0),
        lambda x: total(x, axis=0, keepdims=True),
        lambda x: total(a=x, axis=-2),
        lambda x: total(x, axis=0, where=np.array([[True, False, True]] * 2)),
    )
    for call in (*calls, *calls):  # the second time what was learned at the first is used
        found = grad(lambda x, f=call: anp.sum(anp.sin(f(x))))(a)
        truth, _ = derivative(lambda t, f=call: np.sum(np.sin(f(a + t * (a + 1)))))
        assert np.sum(found * (a + 1)) == pytest.approx(float(truth))


def test_options_of_equal_value_and_another_type_are_others():
    @primitive
    def scaled(x, /, *, by=1):
        return x * (2.0 if by is True else 3.0)

    @rule(scaled)
    def scaled_rule(x, *, by=1):
        factor = 2.0 if by is True else 3.0
        return scaled(x, by=by), (LinearMap(lambda t: factor * t, lambda t: factor * t),)

    f = adapter.export(scaled)
    for by, want in ((True, 2.0), (1, 3.0), (True, 2.0), (1, 3.0)):
        assert grad(f)(1.0, by=by) == want


def test_refused_keywords_and_options_that_move():
    with pytest.raises(UnsupportedKeywordError, match="out"):
        grad(lambda x: adapter.export(np.sum)(x, out=np.zeros(())))(X)
    with pytest.raises(NotDifferentiableError, match="axis of sum is an option"):
        grad(lambda t: anp.sum(adapter.export(v.sum)(X, axis=t)))(0.0)


def test_nothing_that_moves_is_the_library_itself():
    assert adapter.export(np.median)(X) == np.median(X)
    assert adapter.export(np.sum)(X, out=np.zeros(())) == np.sum(X)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("f", [np.exp, np.cumsum, lambda x: v.multiply(x, x)])
def test_single_precision_is_kept(f, dtype):
    x = (X if dtype == "float32" else Z).astype(dtype)
    exported = adapter.export(f)
    y, y_dot = make_jvp(exported)(x)(np.ones_like(x))
    assert y.dtype == y_dot.dtype == x.dtype
    found = grad(lambda x: anp.sum(anp.real(exported(x))))(x)
    assert found.dtype == x.dtype


@pytest.mark.parametrize("x", [0.4, np.float64(0.4), np.array(0.4), np.array([0.4]), np.zeros(0)])
def test_numbers_and_small_arrays(x):
    for f, own in ((v.sin, anp.sin), (np.sin, anp.sin), (np.square, anp.square)):
        g = adapter.export(f)
        assert np.array_equal(elementwise_grad(g)(x), elementwise_grad(own)(x))
        want = elementwise_grad(elementwise_grad(own))(x)
        assert np.allclose(elementwise_grad(elementwise_grad(g))(x), want, atol=1e-15)


def test_numbers_are_computed_by_the_function_that_was_called():
    values = np.random.default_rng(0).uniform(-2, 2, 200).tolist()
    tanh = adapter.export(np.tanh)
    for x in values:
        y = make_vjp(tanh, x)[1]
        assert y == np.tanh(x)


@pytest.mark.parametrize("f", [np.sin, np.exp, np.abs, np.real, np.conj, np.square, np.angle])
def test_the_convention_for_complex_numbers_is_that_of_autograd(f):
    ours, own = adapter.export(f), getattr(anp, f.__name__)

    def loss(g, weights):
        return lambda x: anp.sum(anp.real(weights * anp.sin(g(x))))

    for weights in (np.array([1.0, 2.0]), np.array([1.0 + 2.0j, -0.5j])):
        assert np.allclose(grad(loss(ours, weights))(Z), grad(loss(own, weights))(Z))


def test_real_operands_of_complex_functions_have_real_gradients():
    fft = adapter.export(np.fft.fft)
    found = grad(lambda x: anp.sum(anp.abs(fft(x)) ** 2))(X)
    assert found.dtype == np.float64
    assert np.allclose(found, 2 * len(X) * X)


def test_integers_and_masks_are_data():
    take = adapter.export(np.take)
    found = grad(lambda x: anp.sum(anp.sin(take(x, np.array([0, 0, 2])))))(X)
    assert np.allclose(found, np.cos(X) * [2, 0, 1])
    choose = adapter.export(np.where)
    found = grad(lambda x: anp.sum(choose(x > 0, x * x, 3.0)))(X)
    assert np.allclose(found, np.where(X > 0, 2 * X, 0))


def test_results_of_several_parts():
    svd = adapter.export(np.linalg.svd)
    a = np.random.default_rng(0).standard_normal((3, 2))
    result = svd(a, full_matrices=False)
    assert type(result) is type(np.linalg.svd(a))
    found = grad(lambda a: anp.sum(svd(a, full_matrices=False).S ** 2))(a)
    assert np.allclose(found, 2 * a)
    y_dot = make_jvp(lambda a: svd(a, full_matrices=False)[1])(a)(a)[1]
    assert np.allclose(y_dot, np.linalg.svd(a)[1])
    sign, logdet = adapter.export(np.linalg.slogdet)(a[:2])
    assert (sign, logdet) == tuple(np.linalg.slogdet(a[:2]))


def test_lists_of_boxes():
    stack = adapter.export(np.stack)
    found = grad(lambda x: anp.sum(stack([x, 2 * x, anp.sin(x)]) ** 2))(X)
    assert np.allclose(found, 2 * X + 8 * X + 2 * np.sin(X) * np.cos(X))


def test_dicts_and_lists_in_and_out():
    def model(params, x):
        hidden = v.tanh(v.matmul(params["W"], x) + params["b"][0])
        return {"mean": v.mean(hidden), "all": [hidden, params["b"][0]]}

    f = adapter.export(model)
    params = {"W": np.ones((2, 3)), "b": [np.zeros(2)]}
    found = grad(lambda p: f(p, X)["mean"] + anp.sum(f(p, X)["all"][1]))(params)
    slope = 1 - np.tanh(np.sum(X)) ** 2
    assert np.allclose(found["W"], 0.5 * slope * X * np.ones((2, 1)))
    assert np.allclose(found["b"][0], 0.5 * slope + 1)


def test_methods_with_rules():
    class Line:
        def __init__(self, slope):
            self.slope = slope

        @primitive
        def at(self, x):
            return self.slope * x

    scalar = Line(3.0)
    assert grad(adapter.export(scalar.at))(2.0) == 3.0


def test_several_traces_at_once():
    power = adapter.export(v.pow)
    f = lambda x: grad(lambda y: power(x, y) * x)(2.0)  # x³ log x
    assert grad(f)(1.5) == pytest.approx(3 * 1.5**2 * math.log(1.5) + 1.5**2)
    assert make_jvp(f)(1.5)(1.0)[1] == pytest.approx(grad(f)(1.5))


def test_jacobian_hessian_and_checkpoint():
    solve = adapter.export(np.linalg.solve)
    a = np.array([[2.0, 0.3], [0.1, 1.5]])
    b = np.array([1.0, -2.0])
    assert np.allclose(jacobian(lambda b: solve(a, b))(b), np.linalg.inv(a))
    quadratic = lambda b: 0.5 * anp.dot(b, solve(a, b))
    inverse = np.linalg.inv(a)
    assert np.allclose(autograd.hessian(quadratic)(b), (inverse + inverse.T) / 2)
    kept = autograd.checkpoint(lambda b: anp.sum(solve(a, b) ** 2))
    want = grad(lambda b: anp.sum(anp.linalg.solve(a, b) ** 2))(b)
    assert np.allclose(grad(kept)(b), want)


def test_results_are_boxes_of_autograd():
    seen = []
    sin, svd = adapter.export(v.sin), adapter.export(np.linalg.svd)

    def f(x):
        y, parts = sin(x), svd(anp.reshape(x, (3, 1)))
        seen.extend([y, *parts])
        return anp.sum(y) + anp.sum(parts[1])

    grad(f)(X)
    assert [type(y) for y in seen] == [ArrayBox] * 4


def test_traces_that_take_no_derivatives_see_the_call():
    from autograd.misc.tracers import const_graph

    exp = adapter.export(np.exp)
    f = const_graph(lambda x: exp(x) * 2.0)
    assert np.allclose(f(X), 2 * np.exp(X))
    assert np.allclose(f(X + 1), 2 * np.exp(X + 1))


# ----------------------------------------------------------------------------- no rule is lost


@pytest.fixture
def planted():
    """A rule that is wrong by a factor of ten, so that its use shows."""

    @primitive
    def identity(x):
        return x * 1.0

    scalar_rule(identity, lambda _y, _x: 10.0)
    return identity


@pytest.mark.parametrize("modes", ["rr", "rf", "fr", "ff"])
def test_a_rule_of_ones_own_counts_at_second_order(planted, modes):
    f = adapter.export(planted)
    one = lambda g: lambda x: make_jvp(g)(x)(1.0)[1]
    by = {"r": grad, "f": one}
    g = lambda x: f(x) * f(x)  # by the rule: 2 x 10, then 2 x 10 x 10
    assert by[modes[0]](by[modes[1]](g))(3.0) == pytest.approx(200.0)


def test_operations_take_boxes_as_they_are():
    found = grad(lambda x: v.sum(v.multiply(v.sin(x), anp.cos(x))))(X)
    assert np.allclose(found, np.cos(2 * X))


def test_a_rule_that_comes_later_counts():
    @primitive
    def doubled(x):
        return 2.0 * x

    f = adapter.export(doubled)
    assert grad(f)(1.0) == 2.0
    scalar_rule(doubled, lambda _y, _x: 5.0)
    assert grad(f)(1.0) == 5.0


# ------------------------------------------------------------------------ functions that are given


def test_what_functions_captured_is_not_lost():
    root = adapter.export(v.root)
    f = lambda a: root(lambda x: x * x - a, 1.0)  # a box of autograd's, from outside
    assert grad(f)(2.0) == pytest.approx(0.5 / math.sqrt(2))
    assert grad(grad(f))(2.0) == pytest.approx(-0.25 * 2**-1.5)
    assert make_jvp(grad(f))(2.0)(1.0)[1] == pytest.approx(-0.25 * 2**-1.5)


def test_functions_may_be_written_in_autograd():
    root = adapter.export(v.root)
    f = lambda a: root(lambda x, a: anp.exp(x) - a * anp.cos(x), 0.5, a)
    x = f(2.0)
    slope = math.cos(x) / (math.exp(x) + 2.0 * math.sin(x))
    assert grad(f)(2.0) == pytest.approx(slope)
    truth, _ = derivative(lambda t: grad(f)(2.0 + t))
    assert grad(grad(f))(2.0) == pytest.approx(float(truth))


def test_what_no_search_finds_raises():
    hidden = {}

    class Opaque:
        def __getattr__(self, name):
            return hidden[name]

    def f(a):
        hidden["a"] = a
        box = Opaque()
        return adapter.export(v.root)(lambda x: x * x - box.a, 1.0)

    with pytest.raises(NotDifferentiableError, match="it is not found"):
        grad(f)(2.0)


# ---------------------------------------------------------------------------------- what it tells


def test_supports():
    both = Support(grad=True, jvp=True, vmap=False, jit=False, order=math.inf)
    assert adapter.supports(v.sin, X) == adapter.supports(np.sum, X, axis=0) == both
    assert adapter.supports(user_softplus, X) == both
    assert adapter.supports(CONSTANT.f, X).order == 0
    assert adapter.supports(ONE_MODE["reverse"].f, X).jvp
    assert adapter.supports(ONE_MODE["forward"].f, X).grad
    assert adapter.supports(lambda x: v.sin(x), 1.0) == both


@pytest.mark.parametrize("entry", [*ONE_MODE.values(), Entry("sin", v.sin, ())])
def test_support_agrees_with_what_happens(entry):
    f, said = adapter.export(entry.f), adapter.supports(entry.f, X)
    for is_there, run in (
        (said.grad, lambda: grad(lambda x: anp.sum(f(x)))(X)),
        (said.jvp, lambda: make_jvp(f)(X)(X)),
    ):
        with contextlib.nullcontext() if is_there else pytest.raises(NoRuleError):
            run()


@pytest.mark.parametrize("asked", [float, int, complex, math.cos, lambda x: x.item()])
def test_what_is_differentiated_becomes_no_plain_number(asked):
    """In a partial, at second order: autograd's boxes said what numbers lack."""

    @primitive
    def wave(x):
        return v.sin(x)

    scalar_rule(wave, lambda _y, x: v.cos(x) * asked(x))
    with pytest.raises(TracerError, match=r"does not become a plain|cannot convert a traced"):
        grad(grad(adapter.export(wave)))(0.3)


def test_plans_do_not_grow_with_calls():
    f = adapter.export(v.sin)
    grad(lambda x: anp.sum(f(x)))(X)
    of_sin = find_rule(v.sin, (np.ndarray,), adapter.config)
    before = len(of_sin.bound)
    for n in range(5):
        grad(lambda x: anp.sum(f(x)))(X + n)
        make_jvp(f)(X)(X)
    assert len(of_sin.bound) <= before + 1


def test_no_warning_comes_from_rules():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grad(
            lambda x: anp.sum(adapter.export(v.fixed_point)(lambda y, a: 0.3 * v.cos(y) + a, X, x))
        )(X)


def test_boxes_in_lists_keep_their_gradients():
    x = np.array([1.0, 2.0, 4.0])
    total = lambda q: anp.sum(adapter.export(np.percentile)(x, [q, 50.0]))
    assert abs(autograd.grad(total)(30.0) - 0.02) < 1e-12
    total = lambda q: anp.sum(adapter.export(np.convolve)([q, 0.1], x))
    assert abs(autograd.grad(total)(2.0) - 7.0) < 1e-12


def _filled(x):
    buffer = np.zeros(3)
    buffer[0] = x[0]
    return v.sum(buffer * x)


def _written(x):
    y = x * 1.0
    y[0] = x[1]
    return v.sum(y * x)


PLAIN = {
    "a buffer": (_filled, "does not become a plain array.*np.stack"),
    "a write": (_written, "written to in place.*np.where"),
    "float": (lambda x: v.sum(x * float(x[0])), "does not become a plain"),
    "an array": (lambda x: v.sum(x * np.array([x[0], 1.0, 2.0])), "np.stack"),
}


@pytest.mark.parametrize("name", PLAIN)
def test_what_autograd_does_not_see_is_refused_with_the_line_to_write(name):
    f, message = PLAIN[name]
    with pytest.raises(TracerError, match=message):
        grad(adapter.export(f))(np.ones(3))
    with pytest.raises(TracerError, match=message):
        make_jvp(adapter.export(f))(np.ones(3))(np.ones(3))


def test_autograd_and_the_tape_do_not_nest_and_say_so():
    of_both = [
        lambda: grad(lambda x: x * tape_grad(lambda y: v.multiply(x, y))(1.0))(3.0),
        lambda: tape_grad(lambda x: grad(lambda y: v.multiply(x, y))(1.0))(2.0),
    ]
    for nested in of_both:
        with pytest.raises(NoRuleError, match="multiply"):
            nested()


def pushed_as_zero():
    f = primitive(lambda x: x * 0.0 + 1.0)
    frule.register(f)(lambda ts, x: (f(x), ZeroTangent()))
    return f


def pushed_as_number():
    f = primitive(lambda x: x * 2.0)
    frule.register(f)(lambda ts, x: (f(x), Thunk(lambda: 2.0 * ts[0])))
    return f


POINTS = (1.3, np.float64(1.3), np.array(1.3), np.array([1.3, -0.4]))
STEPS = {w.__name__: w for w in (v.sign, v.floor, v.ceil, v.round, v.trunc)}
STEPS |= {
    "a heaviside": primitive(lambda x: v.heaviside(x, 0.5)),
    "a tangent of a rule": pushed_as_zero(),
}


@pytest.mark.filterwarnings("ignore:Output seems independent of input")
@pytest.mark.parametrize("name", STEPS)
def test_what_has_steps_has_tangents_that_are_arrays_or_numbers(name):
    f = adapter.export(STEPS[name])
    for x in POINTS:
        for _ in range(3):  # the first call learns what the others do
            for along in (f, lambda x: f(x) * 2.0, lambda x: anp.sum(f(x))):
                _, y_dot = make_jvp(along)(x)(x)
                assert isinstance(y_dot, (float, np.ndarray, np.generic))
                assert not np.any(y_dot)
            total, slope = (lambda x: anp.sum(f(x) * x)), anp.ones_like(x) * f(x)
            np.testing.assert_array_equal(make_jvp(total)(x)(x)[1], anp.sum(slope * x))
            np.testing.assert_array_equal(make_jvp(make_jvp_of(f, x))(x)(x)[1], 0 * x)


def make_jvp_of(f, u):
    return lambda x: make_jvp(f)(x)(u)[1] + 0.0 * x


def test_tangents_that_are_computed_later_are_numbers_when_autograd_has_them():
    f = adapter.export(pushed_as_number())
    for _ in range(3):
        assert make_jvp(f)(1.5)(1.0) == (3.0, 2.0)
