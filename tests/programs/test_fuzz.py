"""Random programs, as people write NumPy: the tape against differences, and against JAX.

Each is five to fifteen lines drawn from tables: operators, functions, methods, subscripts, writes
in place, loops over rows, and the calls that were entered for every one of NumPy's names and every
word. The gradient, the derivative along a direction and the product with the Hessian are compared
with differences of the program, and the nestings of the modes with each other.

A failure shows the smallest program that fails. `make test-nightly` runs twenty thousand; with
another ``CHAINRULES_SEED`` in the environment, others.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, seed, settings

from chainrules_py import primitive, rule, scalar_rule
from chainrules_py import vocabulary as v
from chainrules_py.linear import LinearMap
from chainrules_py.testing.program_calls import CALLS
from chainrules_py.testing.program_lines import is_real
from chainrules_py.testing.program_makers import LINES, of_one
from chainrules_py.testing.programs import check_program, programs
from chainrules_tape import grad, jvp

ALL = (*LINES, CALLS, CALLS)
SEED = int(os.environ.get("CHAINRULES_SEED", "0"))
CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def fuzz(number, examples, lines=ALL, **how):
    """Check so many programs, the same ones in every run; nearly all have to be judged."""
    judged = []

    @seed(1000 * SEED + number)
    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=CHECKS)
    @given(programs(lines=lines))
    def check(program):
        judged.append(check_program(program, **how))

    check()
    assert np.mean(judged) > 0.8, "too few of the programs were a truth to compare with"


@pytest.mark.parametrize("number", range(8))
def test_programs(number):
    """A thousand, of which one in four is differentiated twice by differences as well."""
    fuzz(number, 95, LINES, second=number % 4 == 0)
    fuzz(100 + number, 30, second=number % 4 == 0)


def test_programs_in_jax():
    """Of these lines JAX has all."""
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        fuzz(200, 6, tuple(f for f in LINES if f is not LINES[5]), second=False, jax=True)


@pytest.mark.nightly
@pytest.mark.parametrize("number", range(40))
def test_twenty_thousand_programs(number):
    fuzz(1000 + number, 250, LINES)
    fuzz(2000 + number, 250)


@pytest.mark.nightly
@pytest.mark.parametrize("number", range(10))
def test_a_thousand_programs_in_jax(number):
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        fuzz(3000 + number, 100, tuple(f for f in LINES if f is not LINES[5]), jax=True)


# ------------------------------------------------------------------------- what the judge notices


@primitive
def wrong_partial(x):
    return np.sin(x)


@primitive
def wrong_second(x):
    return np.sin(x)


@primitive
def wrong_pull(x):
    return np.sin(x)


scalar_rule(wrong_partial, lambda y, x: 1.001 * v.cos(x))
# Right at first order; what it says of its own derivative is not.
scalar_rule(wrong_second, lambda y, x: v.cos(x.value if hasattr(x, "value") else x))


@rule(wrong_pull)
def wrong_pull_rule(x):
    push, pull = (lambda t, x: v.cos(x) * t), (lambda t, x: 2 * v.cos(x) * t)
    return wrong_pull(x), (LinearMap(push, pull, x),)


@pytest.mark.parametrize(
    "f, what",
    [(wrong_partial, "jvp"), (wrong_pull, "grad"), (wrong_second, "hvp")],
    ids=["partial", "pull", "second"],
)
def test_wrong_rule_is_noticed(f, what):
    lines = ((of_one("f({0})", lambda np, x: f(x), is_real),),)
    with pytest.raises(AssertionError, match=what):
        fuzz(0, 20, lines)


def test_program_is_shown_as_code():
    program = find(
        programs(1, 1), lambda p: len(p.lines) == 1, settings=settings(phases=[Phase.generate])
    )
    shown = str(program).splitlines()
    assert shown[0].startswith("x0 = ")
    assert shown[-1].startswith("v")


# ------------------------------------------------------------------------- what it found


def test_tangent_of_a_product_that_is_a_number_of_pythons():
    """``1j * np.float64(2)`` is a complex of Python's, which has no dtype."""
    y, y_dot = jvp(lambda x: 1j * x, (np.float64(2.0),), (np.float64(1.0),))
    assert (y, y_dot) == (2j, 1j)
    assert grad(lambda x: np.imag(1j * x * x))(np.float64(2.0)) == 4.0
