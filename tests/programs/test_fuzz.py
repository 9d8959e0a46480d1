"""Random programs, as people write NumPy: the tape against differences, and against JAX.

Each is five to fifteen lines drawn from tables: operators, functions, methods, subscripts, writes
in place, loops over rows, and the calls that were entered for every one of NumPy's names and every
operation. The gradient, the derivative along a direction and the product with the Hessian are
compared with differences of the program, and the nestings of the modes with each other.

A failure shows the smallest program that fails. `make test-nightly` runs twenty thousand; with
another ``CHAINRULES_SEED`` in the environment, others.
"""

from __future__ import annotations

import os
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, seed, settings

from chainrules_py import (
    MutationError,
    TracerError,
    ignore_derivatives,
    primitive,
    rule,
    scalar_rule,
)
from chainrules_py import ops as v
from chainrules_py.tangents.linear_map import LinearMap
from chainrules_py.tangents.zeros import is_zero
from chainrules_tape import (
    Tape,
    checkpoint,
    grad,
    hessian,
    hvp,
    jacobian,
    jvp,
    linearize,
    value_and_grad,
)
from tests.fuzz.calls import CALLS
from tests.fuzz.lines import is_real
from tests.fuzz.makers import of_one
from tests.fuzz.programs import check_program, programs
from tests.fuzz.tables import LINES
from tests.surface.point import parts

ALL = (*LINES, CALLS, CALLS)
SEED = int(os.environ.get("CHAINRULES_SEED", "0"))
CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def fuzz(number, examples, lines=ALL, judge=check_program, least=0.7, phases=tuple(Phase), **how):
    """Check so many programs, the same ones in every run; most of them have to be judged."""
    judged = []

    @seed(1000 * SEED + number)
    @settings(
        max_examples=examples,
        phases=phases,
        deadline=None,
        database=None,
        suppress_health_check=CHECKS,
    )
    @given(programs(lines=lines))
    def check(program):
        judged.append(judge(program, **how))

    check()
    assert np.mean(judged) >= least, "too few of the programs were a truth to compare with"


@pytest.mark.parts(3)
@pytest.mark.parametrize(
    "number", [*range(3), *[pytest.param(n, marks=pytest.mark.slow) for n in range(3, 8)]]
)
def test_programs(number):
    """A thousand, of which 375 at each change; of one in four the second derivatives as well."""
    fuzz(number, 95, LINES, second=number % 4 == 0)
    fuzz(100 + number, 30, second=number % 4 == 0)


def test_programs_in_jax():
    """Of these lines JAX has all."""
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        fuzz(200, 2, tuple(f for f in LINES if f is not LINES[5]), second=False, jax=True)


@pytest.mark.parametrize("number", range(2))
def test_every_way_to_ask_says_the_same(number):
    fuzz(300 + number, 30, judge=check_entries, least=0.5)


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


@pytest.mark.nightly
@pytest.mark.parametrize("number", range(10))
def test_every_way_to_ask_says_the_same_of_two_thousand(number):
    fuzz(4000 + number, 200, judge=check_entries, least=0.5)


# --------------------------------------------------------------------------- every way to ask


def check_entries(program):
    """Tapes of each kind, linearization, checkpoints, structures, Jacobians and Hessians agree."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            _check_entries(program)
        except (MutationError, TracerError, ValueError) as error:
            # What is written to where the derivative would be lost is refused by each of them.
            if type(error) is ValueError and "read-only" not in str(error):
                raise
            return False
    return True


def _check_entries(program):
    xs, rng = program.leaves, np.random.default_rng(0)
    ts = tuple([direction(x, rng) for x in xs])
    places = tuple(range(len(xs)))
    bars, (_, y_dot) = grad(program, places)(*xs), jvp(program, xs, ts)

    _, push = linearize(program, *xs)
    same(push(*ts), y_dot, "linearize")
    same(push(*ts), y_dot, "linearize, asked again")
    for bar, found in zip(bars, grad(checkpoint(program), places)(*xs), strict=True):
        same(found, bar, "checkpoint")
    found = grad(lambda params: program(params["x"], *params["more"]))(
        {"x": xs[0], "more": list(xs[1:])}
    )
    for bar, part in zip(bars, [found["x"], *found["more"]], strict=True):
        same(part, bar, "a dict of arrays")
    for kind in ({}, {"persistent": True}, {"differentiable": True}):
        with Tape(**kind) as tape:
            variables = [tape.variable(x) for x in xs]
            gradients = tape.grad(program(*variables), variables)
        for bar, part in zip(bars, gradients, strict=True):
            part = getattr(part, "value", part)
            same(np.zeros_like(bar) if is_zero(part) else part, bar, f"Tape({kind})")

    if any(map(np.iscomplexobj, xs)):
        return  # whose Jacobian is asked for in another way
    real = [i for i, y in enumerate(program.values(*xs)) if np.asarray(y).dtype.kind == "f"]
    f = lambda *xs: program.values(*xs)[real[-1]]
    jacobians = [jacobian(f, places, mode=mode)(*xs) for mode in ("forward", "reverse")]
    for ahead, back in zip(*jacobians, strict=True):
        same(ahead, back, "jacobian, forward and reverse")
    for row, product in zip(hessian(program, places)(*xs), hvp(program, xs, ts), strict=True):
        total = sum(
            np.sum(np.asarray(block) * t, axis=tuple(range(-np.ndim(t), 0)))
            for block, t in zip(row, ts, strict=True)
        )
        same(total, product, "hessian")


def direction(x, rng):
    t = rng.standard_normal(np.shape(x))
    t = t + 1j * rng.standard_normal(np.shape(x)) if np.iscomplexobj(x) else t
    return t if isinstance(x, np.ndarray) else t.item()


def same(found, truth, what):
    size = max(1.0, float(np.max(np.abs(truth), initial=0.0)))
    np.testing.assert_allclose(found, truth, rtol=1e-8, atol=1e-8 * size, err_msg=what)


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
scalar_rule(wrong_second, lambda y, x: v.cos(ignore_derivatives(x)))


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
        fuzz(0, 20, lines, phases=[Phase.generate])


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


def test_members_of_numbers_of_pythons():
    for x in (2.0, np.float64(2.0)):
        assert grad(lambda x: (1j * x * 1j).real ** 2)(x) == 4.0
        assert grad(lambda x: (1j * x).imag * x.real + (1j * x).conjugate().imag)(x) == 3.0


def test_reshaped_broadcast_is_a_copy():
    """Of a small array, what broadcasting gives is filled, and has strides that NumPy's has not."""

    def f(x):
        y = np.sin(x)
        rows = np.broadcast_to(y, (2, 2)).reshape(-1)
        y[...] = x
        return np.sum(rows * np.arange(4.0)) + np.sum(y)

    x = np.array([0.5, -0.9])
    with pytest.raises(MutationError, match="copy"):
        value_and_grad(f)(x)
    squares = grad(lambda x: np.sum(np.broadcast_to(x, (2, 2)).reshape(-1) ** 2))
    same(squares(x), 4 * x, "without a write")


def test_number_of_a_traced_call_is_a_part_of_it():
    """What stands for a float of Python's has no dtype; programs lost the results that were one."""
    found = []

    def f(x):
        found.extend(parts([x, v.root(lambda y, p: y**3 + y - p, 0.5, x)]))
        return x

    grad(f)(0.3)
    assert len(found) == 2


def test_pushing_several_directions_through_a_linspace_to_a_number():
    x = np.array([1.0, 2.0])
    for f in (lambda x: np.linspace(x, 3.0, 4), lambda x: np.linspace(0, x, 3, axis=-1)):
        same(jacobian(f, mode="forward")(x), jacobian(f, mode="reverse")(x), "linspace")


def test_cotangent_of_an_imaginary_part_keeps_its_dtype():
    """As above, and then no array takes it."""
    x = np.array(0.5)
    with Tape(differentiable=True) as tape:
        variable = tape.variable(x)
        slope = tape.grad(np.sin(variable[None].reshape(()).imag) + variable * variable, variable)
        bend = tape.grad(slope, variable)
    assert (slope.value, bend.value) == (1.0, 2.0)
