"""Linear rules that state nothing of an operand, and rules that say that nothing flows."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_py import (
    NotDifferentiableError,
    ZeroTangent,
    frule,
    linear_rule,
    non_differentiable,
    primitive,
    rrule,
)
from chainrules_tape import grad, jvp, linearize

X, M, WHOLE = np.array([1.0, 2.0]), np.array([3.0, -4.0]), np.array([3, -4])
ZERO = ZeroTangent()


def stated(other):
    @primitive
    def masked(x, m):
        return x * m

    linear_rule(masked, lambda bar, x, m: bar * m, other)
    return masked


DOORS = {
    "grad": lambda f, m: grad(lambda m: np.sum(f(X, m)), unused="zero")(m),
    "grad of both": lambda f, m: grad(lambda x, m: np.sum(f(x, m)), (0, 1))(X, m)[1],
    "jvp": lambda f, m: jvp(lambda m: f(X, m), (m,), (M,))[1],
    "jvp of both": lambda f, m: jvp(f, (X, m), (0.0 * X, M))[1],
    "linearize": lambda f, m: linearize(lambda m: f(X, m), m)[1](M),
    "rrule": lambda f, m: rrule(f, X, m)[1](X)[1],
    "frule": lambda f, m: frule((ZERO, M), f, X, m)[1],
    "grad of grad": lambda f, m: grad(lambda m: np.sum(grad(lambda x: np.sum(f(x, m)))(X)))(m),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_real_number_that_nothing_is_stated_of_is_refused(door):
    """It would be a zero that nobody said."""
    with pytest.raises(NotDifferentiableError, match=r"gives None for .*\[2\].*ZeroTangent\(\)"):
        DOORS[door](stated(None), M)


@pytest.mark.parametrize("door", [*DOORS][:-1])
@pytest.mark.parametrize("other, m", [(None, WHOLE), (ZERO, WHOLE), (ZERO, M)])
def test_whole_numbers_are_no_matter_and_zero_may_be_said(door, other, m):
    found = DOORS[door](stated(other), m)
    if hasattr(found, "dtype"):
        assert not found.any()


def test_what_is_not_differentiated_in_is_left_alone():
    f = stated(None)
    np.testing.assert_array_equal(grad(lambda x: np.sum(f(x, M)))(X), M)
    np.testing.assert_array_equal(jvp(lambda x: f(x, M), (X,), (X,))[1], X * M)


def test_a_rule_without_a_transpose_is_refused():
    @primitive
    def f(x, m):
        return x * m

    for others in ((None, None), (None, ZERO)):
        with pytest.raises(Exception, match="gives no derivative"):
            linear_rule(f, *others)
    non_differentiable(f)
