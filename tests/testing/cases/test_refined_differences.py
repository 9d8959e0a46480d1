"""What is looked at again, closer by: right rules pass there, and wrong ones do not."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_py import ops as v
from chainrules_py import primitive, rrule
from chainrules_py.testing import RuleCheckError, check_rule
from tests.testing.planted.build import halves, slope

AT_ONCE = ("push", "adjoint")


def stairs(step):
    """Numbers with a jump at each whole one, and a slope."""
    return slope(lambda x: np.floor(x) + x, lambda _y, x: 0.0 * x + step)


@pytest.mark.parametrize(
    "x", [[1e6 + 0.3, 0.5], [1e8 + 0.25], [3e3 + 0.75, -2.5e6 - 0.4], [1000000364.0004274, 2250.0]]
)
def test_jumps_closer_by_than_the_steps(x):
    assert check_rule(stairs(1.0), np.asarray(x)).passed


@pytest.mark.parametrize("small", [1e-4, 1.0])
def test_numbers_of_two_sizes(small):
    x = np.asarray([3e8, small])
    right = slope(lambda x: 1 / x, lambda y, x: -y * y)
    check_rule(right, x, checks=AT_ONCE)
    with pytest.raises(RuleCheckError, match="differ"):
        check_rule(slope(lambda x: 1 / x, lambda y, x: y * y), x, checks=AT_ONCE)


@pytest.mark.parametrize("far", [1e4, 1e6, 1e8])
def test_rounding_of_operands_is_none_of_the_rules(far):
    def variance(factor):
        gradient = lambda x: factor * (x - np.mean(x)) / x.size
        return halves(
            lambda x: np.mean((x - np.mean(x)) ** 2),
            lambda t, x: v.sum(t * gradient(x)),
            lambda t, x: t * gradient(x),
        )

    x = far + np.asarray([0.0, 1.0, 3.0])
    check_rule(variance(2.0), x, checks=(*AT_ONCE, "float32"))
    with pytest.raises(RuleCheckError):
        check_rule(variance(2.0001), x, checks=AT_ONCE)


ENDS = 1e300, 1e-300, 1e200, 1e-200, 1e150, 1e-150, 1e307, 1e-307
OF_ENDS = {
    "logarithm": (np.log, lambda _y, x: 1.0 / x),
    "root": (np.cbrt, lambda y, x: y / x / 3.0),
    "twice": (lambda x: 2.0 * x, lambda _y, x: 2.0 + 0.0 * x),
    "reciprocal": (lambda x: 1.0 / x, lambda y, _x: -y * y),
    "square": (lambda x: x * x, lambda _y, x: 2.0 * x),
}


@pytest.mark.parametrize("name", OF_ENDS)
@pytest.mark.parametrize(
    "x",
    [
        [1e300, 1e-300, 1.0],
        [1e150, 1e-150],
        *[pytest.param([n], marks=pytest.mark.nightly) for n in ENDS],
    ],
)
def test_right_rule_at_the_ends_of_the_numbers(name, x):
    """Sizes, and derivatives over them, are multiplied by their exponents: nothing overflows."""
    f, partial = OF_ENDS[name]
    x = np.asarray(x)
    with np.errstate(all="ignore"):
        if not np.all(np.isfinite(f(x)) & np.isfinite(partial(f(x), x))):
            pytest.skip("there is no number")
    for seed in (0, 14):
        check_rule(slope(f, partial, singular=name == "root"), x, seed=seed)


@pytest.mark.parametrize("x", [1e300, 1e-150, 1e150])
def test_wrong_rule_at_the_ends_of_the_numbers(x):
    with pytest.raises(RuleCheckError, match="factor 2"):
        check_rule(slope(np.log, lambda _y, x: 2.0 / x), np.asarray([x]))


def counting(most):
    """The sine, with a rule that is right for so many calls."""
    calls = [0]
    f = primitive(lambda x, /: np.sin(x))

    @rrule.register(f)
    def f_rrule(x: np.ndarray):
        calls[0] += 1
        factor = 1.0 if calls[0] <= most else 2.0
        return np.sin(x), lambda t: (t * np.cos(x) * factor,)

    return f


@pytest.mark.parametrize("most", [3, 5])
def test_rule_that_counts_its_calls(most):
    """What is another number when it is asked for again is state, and no factor."""
    with pytest.raises(RuleCheckError, match="state between calls"):
        check_rule(counting(most), np.asarray([0.3, 1.2, -0.7]))
