"""NumPy's functions on what is traced over CuPy's arrays: all calls, as far as CuPy takes them."""

from __future__ import annotations

import dataclasses
import importlib
import warnings

import hypothesis
import numpy as np
import pytest

from chainrules_py import MutationError
from chainrules_py.testing import to_numpy
from chainrules_py.testing.cases.coordinates import Coordinates
from chainrules_py.testing.cases.unsupported_operations import REASONS, UNSUPPORTED
from chainrules_tape import grad, vjp
from tests.fuzz.calls import CALLS
from tests.fuzz.programs import programs
from tests.fuzz.tables import LINES
from tests.surface.calls import names_with_calls, surface_calls
from tests.surface.point import Point

# Neither is an error: of the elements before and behind a place of a partition no order is said,
# and the edges of a histogram between two numbers are made of these alone.
OTHERWISE = {"partition", "ndarray.partition", "histogram", "roots"}  # roots in another order


def differentiated(point):
    """The value, and the cotangents for one of it."""
    y, pullback = vjp(point, *point.xs)
    of = Coordinates(y)
    return [*y, *pullback(of.tangent(np.linspace(-1.0, 1.0, of.size)))]


def is_error(f):
    """Whether a call raises: what CuPy itself does not take."""
    try:
        f()
    except Exception:
        return True
    return False


def on_device(values, on):
    return tuple([on.asarray(x) if isinstance(x, np.ndarray) else x for x in values])


def computes_another(there, program):
    """Whether CuPy alone gives another number than NumPy, or none.

    What is taken from an array is a view of it there, where NumPy copies a single number: it is
    another one as soon as the array is written to.
    """
    try:
        y = there(*there.leaves)
    except Exception:  # what CuPy does not take by itself
        return True
    wanted = program(*program.leaves)
    return not np.allclose(to_numpy(y), wanted, rtol=1e-6, atol=1e-8, equal_nan=True)


@pytest.mark.usefixtures("takes_numpy")  # lines hold arrays of NumPy's
@pytest.mark.parametrize("examples", [40, pytest.param(1000, marks=pytest.mark.slow)])
def test_random_programs_give_the_gradients_of_numpy(examples, on):
    judged = []

    @hypothesis.seed(examples)
    @hypothesis.settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(programs(lines=(*LINES, CALLS, CALLS)))
    def check(program):
        there = dataclasses.replace(
            program,
            leaves=on_device(program.leaves, on),
            constants=on_device(program.constants, on),
            weights=on_device(program.weights, on),
        )
        places = tuple(range(len(program.leaves)))
        try:
            found = grad(there, places)(*there.leaves)
        except Exception:  # what CuPy does not take
            judged.append(False)
            return
        judged.append(not computes_another(there, program))
        if not judged[-1]:
            return
        try:
            wanted = grad(program, places)(*program.leaves)
        except MutationError:  # an array of NumPy's is read-only where CuPy's is compared
            return
        for have, want in zip(found, wanted, strict=True):
            np.testing.assert_allclose(to_numpy(have), to_numpy(want), rtol=1e-6, atol=1e-8)

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        check()
    assert np.mean(judged) > 0.4


def test_a_number_that_was_taken_is_written_to_with_its_array(on):
    def f(x):
        y = np.sin(x)
        taken = y[0, 0]
        y[...] = x
        return 2.0 * taken

    x = np.array([[0.5]])
    np.testing.assert_allclose(to_numpy(grad(f)(on.asarray(x))), [[2.0]])
    np.testing.assert_allclose(grad(f)(x), 2.0 * np.cos(x))


@pytest.mark.parametrize("name", names_with_calls())
def test_calls_give_the_numbers_of_numpy(name, on, cp):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for call in surface_calls(name):
            point = Point(call)
            if not call.sample.smooth or not point.is_smooth:
                continue
            there = Point(call, change=on.asarray)
            plain = Point(call, change=on.asarray)
            is_taken = not is_error(lambda p=plain: p.value(*p.xs))
            if not is_taken and is_error(lambda p=there: differentiated(p)):
                continue  # where it is traced it may be an error too, but no other number
            for have, want in zip(differentiated(there), differentiated(point), strict=True):
                if name not in OTHERWISE:
                    np.testing.assert_allclose(
                        to_numpy(have), to_numpy(want), rtol=1e-9, atol=1e-9, err_msg=str(call)
                    )
                if (
                    is_taken
                    and name not in OTHERWISE
                    and any(isinstance(x, cp.ndarray) for x in there.xs)
                ):
                    assert isinstance(have, cp.ndarray) or not isinstance(want, np.ndarray)


def test_functions_without_a_row_are_not_cupys(on):
    """Or have other parameters, which one has."""
    from chainrules_cupy.aliases import left_out

    assert {name for name, why in left_out.items() if "parameters" in why} == {
        "numpy.linalg.matmul"
    }


def test_reasons_of_gaps_are_few_and_true(on, cp):
    special = importlib.import_module("cupyx.scipy.special")
    assert {why for gaps in UNSUPPORTED.values() for why in gaps.values()} <= {*REASONS}
    for name, why in UNSUPPORTED["cupy"].items():
        has_it = any(hasattr(space, name) for space in (cp, cp.linalg, special))
        assert has_it == (why != REASONS[0] and name != "unitary_factor"), name
