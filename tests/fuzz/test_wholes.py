"""Rules stated in every form compute with the real numbers that whole operands are."""

import random

import numpy as np
import pytest

from chainrules_kit.custom_derivatives import custom_jvp, custom_vjp
from chainrules_py import LinearMap, NoTangent, primitive, rrule, rule
from chainrules_tape import grad, jvp
from tests.fuzz.wholes import DOORS, ENGINES, IN_K, TAPE, everything, wrong

pytestmark = pytest.mark.filterwarnings("ignore")  # NumPy's, of what wraps at the first run


def judge(draws):
    """Raise on derivatives that are not those of the same numbers in float64."""
    found = [f"{draw}: {said}" for draw in draws if (said := wrong(*draw))]
    assert not found, "\n".join(found[:5])


def test_on_the_tape():
    judge(random.Random(0).sample(everything((*TAPE, *IN_K)), 300))


def test_in_other_engines():
    for engine in ("torch", "jax", "autograd"):
        pytest.importorskip(engine)
    judge(random.Random(1).sample(everything(ENGINES), 60))


@pytest.mark.slow
def test_all_of_them():
    for engine in ("torch", "jax", "autograd"):
        pytest.importorskip(engine)
    judge(everything(DOORS))


WIDE = np.linspace(0.5, 2.0, 300)


def stated(forward):
    """State the derivative of a function of x and k, linear in x, by the factor that it saves."""
    g = custom_vjp(lambda x, k: forward(x, k)[0])
    g.defvjp(forward, lambda factor, bar: (factor(bar), None))
    h = custom_jvp(lambda x, k: forward(x, k)[0])
    h.defjvps(lambda t, y, x, k: forward(t, k)[0], None)
    p = primitive(lambda x, k: forward(x, k)[0])

    @rule(p)
    def p_rule(x, k):
        y, pull = forward(x, k)
        return y, (LinearMap(lambda t: forward(t, k)[0], pull), NoTangent())

    return g, h, p


def at_places(x, k):
    def pull(bar):
        full = np.zeros(300, like=bar)
        full[k] = bar
        return full

    return x[k] * 2.0, lambda bar: 2.0 * pull(bar)


def of_a_hash(x, k):
    factor = (k * np.uint32(2654435761) >> np.uint32(7)) % np.uint32(17)
    return x * factor, lambda bar: bar * factor


def of_lengths(x, k):
    factor = np.repeat(np.arange(1.0, 4.0), k)
    return x * factor, lambda bar: bar * factor


def of_truths(x, k):
    factor = (k > 3) + (k > 5)  # one of truths, and no two
    return x * factor, lambda bar: bar * factor


TAKEN = {
    "places": (at_places, np.array([3, 250, 7], np.uint8)),
    "places, wide": (at_places, np.array([3, 250, 7])),
    "a hash": (of_a_hash, np.arange(300, dtype=np.uint32)),
    "lengths": (of_lengths, np.array([100, 50, 150], np.uint8)),
    "truths": (of_truths, np.arange(300).astype(np.int16) % 9),
    "a mask": (of_truths, np.arange(300) % 2 == 0),
}


@pytest.mark.parametrize("name", TAKEN)
def test_what_is_no_number_to_vary_stays_whole(name):
    forward, k = TAKEN[name]
    value, pull = forward(WIDE, k)
    for f in stated(forward):
        assert np.array_equal(f(WIDE, k), value)
        found = grad(lambda x, f=f: np.sum(f(x, k)))(WIDE)
        assert np.array_equal(found, pull(np.ones_like(value)))
        assert np.array_equal(jvp(lambda x, f=f: f(x, k), (WIDE,), (WIDE,))[1], value)


def placed(x, k):
    hot = np.arange(300) == k[:, None]  # which takes any number

    def pull(bar):
        full = np.zeros(300, like=bar)
        full[k] = bar
        return full * 2.0

    return np.sum(hot * x, axis=1) * 2.0, pull


def test_places_that_only_the_second_half_takes_stay_whole():
    k = np.array([3, 250, 7], np.uint8)
    want = np.zeros(300)
    want[k] = 2.0
    g = custom_vjp(lambda x, k: placed(x, k)[0])
    g.defvjp(placed, lambda pull, bar: (pull(bar), None))
    h = custom_vjp(lambda x, k: placed(x, k)[0], nondiff_argnums=1)
    h.defvjp(lambda x, k: (placed(x, k)[0], x), lambda k, x, bar: (placed(x, k)[1](bar),))
    p = primitive(lambda x, k: placed(x, k)[0])

    @rrule.register(p)
    def p_rrule(x, k):
        y, pull = placed(x, k)
        return y, lambda bar: (pull(bar), NoTangent())

    for f in (g, h, p):
        assert np.array_equal(grad(lambda x, f=f: np.sum(f(x, k)))(WIDE), want)
        assert np.array_equal(jvp(lambda x, f=f: f(x, k), (WIDE,), (WIDE,))[1], 2 * WIDE[k])


def test_of_what_is_drawn_the_derivative_is_that_of_the_value():
    rng = np.random.default_rng(0)

    def forward(x, k):
        mask = rng.random(300) < 0.5
        return x * mask * (k * 1.0), lambda bar: bar * mask * (k * 1.0)

    k = np.full(300, 3, np.uint8)
    g, _, p = stated(forward)
    for f in (g, p):
        seen = []

        def total(x, f=f, seen=seen):
            y = f(x, k)
            seen.append(np.array(getattr(y, "__payload__", y)))
            return np.sum(y)

        found = grad(total)(WIDE)
        assert np.allclose(found * WIDE, seen[0])
