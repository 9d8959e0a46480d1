"""Functions among the operands of a rule, which captured what is traced, and the rule drops that.

Forms x ways to capture x engines and transformations: the number, or our refusal.
"""

import functools
import importlib
import itertools

import numpy as np
import pytest

from chainrules_kit.custom_derivatives import augmented_rule, custom_jvp, custom_vjp
from chainrules_py import (
    ChainRulesError,
    LinearMap,
    NoTangent,
    ReverseMode,
    ZeroTangent,
    add_tangents,
    export,
    frule,
    primitive,
    rrule,
    rule,
)
from chainrules_py.extend import HigherOrder
from chainrules_py.ops import stack
from chainrules_tape import grad, jvp

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning")


def by_vjp(zero):
    @custom_vjp
    def apply(f, x):
        return f(x)

    bar = None if zero is NoTangent else zero()
    apply.defvjp(lambda f, x: (apply(f, x), x), lambda x, y_bar: (bar, 9.0 * y_bar * x * x))
    return apply


def by_jvp(_):
    @custom_jvp
    def apply(f, x):
        return f(x)

    apply.defjvp(lambda xs, ts: (apply(*xs), 9.0 * xs[1] ** 2 * ts[1]))
    return apply


def by_jvps(_):
    @custom_jvp
    def apply(f, x):
        return f(x)

    apply.defjvps(None, lambda t, _y, _f, x: 9.0 * x * x * t)
    return apply


def by_augmented(zero):
    @primitive
    def apply(f: object, x):
        return f(x)

    augmented_rule(apply, lambda f, x: (f(x), (x,)), lambda x, b: (zero(), 9.0 * b * x * x))
    return apply


def by_frule(_):
    @primitive
    def apply(f: object, x):
        return f(x)

    @frule.register(apply)
    def apply_frule(ts, f: object, x):
        return apply(f, x), 9.0 * x * x * ts[1]

    return apply


def by_rrule(zero):
    @primitive
    def apply(f: object, x):
        return f(x)

    @rrule.register(apply)
    def apply_rrule(f: object, x):
        return apply(f, x), lambda y_bar: (zero(), 9.0 * y_bar * x * x)

    return apply


def by_rule(zero):
    @primitive
    def apply(f: object, x):
        return f(x)

    times = lambda t, slope: slope * t

    @rule(apply)
    def apply_rule(f: object, x):
        return apply(f, x), (zero(), LinearMap(times, times, 9.0 * x * x))

    return apply


def by_higher_order(zero):
    @HigherOrder
    def apply(f, x):
        return f(x)

    @rrule.register(apply, requires=ReverseMode)
    def apply_rrule(config, f: object, x):
        y, pull = config.rrule_via_ad(lambda f, x: f(x), f, x)
        return y, lambda y_bar: (zero(), pull(y_bar)[1])

    return apply


def in_dict(zero):
    @custom_vjp
    def apply(held, x):
        return held["f"](x)

    bar = None if zero is NoTangent else zero()
    apply.defvjp(lambda d, x: (apply(d, x), x), lambda x, y_bar: (bar, 9.0 * y_bar * x * x))
    return apply


FORMS = (
    by_vjp, by_jvp, by_jvps, by_augmented, by_frule, by_rrule, by_rule, by_higher_order, in_dict,
)  # fmt: skip
ZEROS = (ZeroTangent, NoTangent)


class Call:
    def __init__(self, w):
        self.w = w

    def __call__(self, x):
        return self.w * x**3


CAPTURES = {
    "closure": lambda w: lambda x: w * x**3,
    "partial": lambda w: functools.partial(lambda w, x: w * x**3, w),
    "object": Call,
    "method": lambda w: Call(w).__call__,
}


def tape_doors():
    yield lambda e, at: grad(lambda w: e(w, at(w, 1.0)))(3.0)
    yield lambda e, at: jvp(lambda w: e(w, at(w, 1.0)), (3.0,), (1.0,))[1]


def torch_doors():
    torch = importlib.import_module("torch")
    one, three = torch.tensor(1.0), torch.tensor(3.0)

    def backward(e, at):
        w = three.clone().requires_grad_()
        return torch.autograd.grad(e(w, at(w, one)), w)[0]

    yield backward
    yield lambda e, at: torch.func.grad(lambda w: e(w, at(w, one)))(three)
    yield lambda e, at: torch.func.jvp(lambda w: e(w, at(w, one)), (three,), (one,))[1]


def jax_doors():
    jax = importlib.import_module("jax")
    yield lambda e, at: jax.grad(lambda w: e(w, at(w, 1.0)))(3.0)
    yield lambda e, at: jax.jit(jax.grad(lambda w: e(w, at(w, 1.0))))(3.0)
    yield lambda e, at: jax.jvp(lambda w: e(w, at(w, 1.0)), (3.0,), (1.0,))[1]


def autograd_doors():
    autograd = importlib.import_module("autograd")
    yield lambda e, at: autograd.grad(lambda w: e(w, at(w, 1.0)))(3.0)
    yield lambda e, at: autograd.make_jvp(lambda w: e(w, at(w, 1.0)))(3.0)(1.0)[1]


def mlx_doors():
    mx = importlib.import_module("mlx.core")
    one, three = mx.array(1.0), mx.array(3.0)
    yield lambda e, at: mx.grad(lambda w: e(w, at(w, one)))(three).item()
    yield lambda e, at: mx.jvp(lambda w: e(w, at(w, one)), [three], [one])[1][0].item()


DOORS = {
    "tape": tape_doors,
    "torch": torch_doors,
    "jax": jax_doors,
    "autograd": autograd_doors,
    "mlx": mlx_doors,
}
PLACES = {"const": (lambda _, one: one, 1.0), "both": (lambda w, _: w / 3.0, 4.0)}


def run_all(engine, forms, captures):
    """Run all calls of ``w * x**3``, for its derivative in w."""
    if engine != "tape":
        pytest.importorskip("mlx.core" if engine == "mlx" else engine)
    wrong = []
    for form, zero, how in itertools.product(forms, ZEROS, captures):
        operation = form(zero)
        apply = operation if engine == "tape" else export(operation, to=engine)
        hold = (lambda f: {"f": f}) if form is in_dict else lambda f: f
        call = lambda w, x, how=how, a=apply, hold=hold: a(hold(CAPTURES[how](w)), x)
        for (place, (at, want)), (n, door) in itertools.product(
            PLACES.items(), enumerate(DOORS[engine]())
        ):
            try:
                have = float(door(call, at))
            except ChainRulesError:
                continue
            except Exception as error:
                have = repr(error)
            if not isinstance(have, float) or abs(have - want) > 1e-4:
                wrong.append((form.__name__, zero.__name__, how, place, n, have))
    assert not wrong, wrong


@pytest.mark.parametrize("engine", DOORS)
def test_no_gradient_of_what_a_function_captured_is_lost(engine):
    run_all(engine, (by_vjp, by_jvp, by_higher_order, in_dict), ("closure",))


@pytest.mark.slow
@pytest.mark.parametrize("engine", DOORS)
def test_no_gradient_of_what_a_function_captured_is_lost_in_any_form(engine):
    run_all(engine, FORMS, CAPTURES)


# ---------------------------------------------------------- forward mode of what states reverse


def each_of_page():
    @HigherOrder
    def each(f, x):
        return stack(*[f(t) for t in x])

    @rrule.register(each, requires=ReverseMode)
    def each_rrule(config, f: object, x):
        ys, pulls = zip(*[config.rrule_via_ad(lambda f, t: f(t), f, t) for t in x], strict=True)

        def pullback(y_bar):
            pairs = [pull(t) for pull, t in zip(pulls, y_bar, strict=True)]
            f_bar = functools.reduce(add_tangents, [pair[0] for pair in pairs])
            return f_bar, stack(*[pair[1] for pair in pairs])

        return stack(*ys), pullback

    return each


X = np.array([1.0, 3.0, 0.5], np.float32)


def test_the_page_s_own_example_in_forward_mode_of_autograd():
    autograd = pytest.importorskip("autograd", reason="autograd is not installed")
    anp, each = importlib.import_module("autograd.numpy"), export(each_of_page(), to="autograd")
    f = lambda w: anp.sum(each(lambda t: w * t**2, X * w))
    np.testing.assert_allclose(autograd.make_jvp(f)(2.0)(1.0)[1], 12.0 * np.sum(X**2))
    along = lambda x: autograd.make_jvp(lambda x: anp.sum(each(lambda t: t**3, x)))(x)(X)[1]
    np.testing.assert_allclose(autograd.grad(along)(X), 6.0 * X * X, rtol=1e-6)


def test_the_page_s_own_example_in_forward_mode_of_mlx():
    mx = pytest.importorskip("mlx.core", reason="MLX is not installed")
    each, x = export(each_of_page(), to="mlx"), mx.array(X)
    f = lambda w: each(lambda t: w * t**2, x * w).sum()
    have = mx.jvp(f, [mx.array(2.0)], [mx.array(1.0)])[1][0].item()
    np.testing.assert_allclose(have, 12.0 * np.sum(X**2), rtol=1e-6)


@pytest.mark.parametrize("bend", [lambda b: b * b, lambda b: abs(b), lambda b: b + 1.0])
def test_a_pullback_that_is_not_linear_is_not_transposed_by_numbers(bend):
    autograd = pytest.importorskip("autograd", reason="autograd is not installed")

    @HigherOrder
    def apply(f, x):
        return f(x)

    @rrule.register(apply, requires=ReverseMode)
    def apply_rrule(config, f: object, x):
        y, pull = config.rrule_via_ad(lambda f, x: f(x), f, x)
        return y, lambda y_bar: tuple([bend(t) if i else t for i, t in enumerate(pull(y_bar))])

    f = export(apply, to="autograd")
    along = autograd.make_jvp(lambda x: f(lambda t: t**2, x))
    with pytest.raises(ChainRulesError, match="transpose"):
        along(2.0)(1.0)
