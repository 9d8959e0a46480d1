"""What is looked at again, closer by: right rules pass there, and wrong ones do not."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_py import vocabulary as v
from chainrules_py.testing import RuleCheckError, check_rule
from tests.testing.planted.build import halves, slope

AT_ONCE = ("push", "adjoint")


def stairs(step):
    """Numbers with a jump at each whole one, and a slope."""
    return slope(lambda x: np.floor(x) + x, lambda _y, x: 0.0 * x + step)


@pytest.mark.parametrize("x", [[1e6 + 0.3, 0.5], [1e8 + 0.25], [3e3 + 0.75, -2.5e6 - 0.4]])
def test_jumps_closer_by_than_the_steps(x):
    check_rule(stairs(1.0), np.asarray(x))
    with pytest.raises(RuleCheckError, match="factor 3"):
        check_rule(stairs(3.0), np.asarray(x))


@pytest.mark.parametrize("small", [1e-8, 1e-4, 1.0])
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
