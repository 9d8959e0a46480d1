"""Options and methods of SciPy's, traced: the value of each call is SciPy's, or it is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.interpolate

import chainrules_scipy
from chainrules_py import NotDifferentiableError
from chainrules_scipy.result_checks import agreeing
from chainrules_scipy.source_copies import followed
from chainrules_tape import grad, jvp
from tests.libraries.scipy.options import (
    distributions,
    interpolate,
    kinds,
    ndimage,
    shapes,
    signal,
    systems,
)
from tests.libraries.scipy.options.judge import judged

MODULES = (distributions, interpolate, kinds, ndimage, shapes, signal, systems)
PARTS = {f.__name__: f for of in MODULES for f in of.ALL}
SOME = {
    "pieces": 2999,
    "univariate": 997,
    "filters": 997,
    "places": 499,
    "scattered": 151,
    "designs": 149,
    "forms": 149,
    "kinds": 29,
    "powers": 7,
    "attributes": 11,
    "scales": 397,
    "frozen": 397,
    "discrete": 97,
    "systems": 61,
    "inputs": 11,
}


def _wrong(calls):
    """Return what differs; a call may be refused."""
    return [line for call in calls for line in judged(call) if "]: refused" not in line]


@pytest.mark.parametrize("name", PARTS)
def test_some_calls(name):
    assert not _wrong(itertools.islice(PARTS[name](), 7, None, SOME.get(name, 97)))


@pytest.mark.parametrize(
    "name",
    [
        *("cspline1d d", "cspline1d smooth F", "qspline1d D", "tf2ss fD"),
        *("diagsvd D", "pade d", "pade D"),
    ],
)
def test_calls_whose_arrays_are_joined_by_r_(name):
    """Of traced values, NumPy's own makes an array of objects, and refuses complex ones."""
    assert not [line for call in kinds.kinds() if call.name == name for line in judged(call)]


def test_slices_beside_traced_values_are_joined_by_r_():
    f = lambda x: np.r_[x[0], 1:3, 0:1:3j, x]
    y, slope = jvp(followed(f), (np.array([2.0, 5.0]),), (np.array([3.0, 7.0]),))
    np.testing.assert_array_equal(y, f(np.array([2.0, 5.0])))
    np.testing.assert_array_equal(slope, [3.0, 0, 0, 0, 0, 0, 3.0, 7.0])
    with pytest.raises(NotDifferentiableError, match=r"np\.asarray"):
        jvp(followed(lambda x: np.r_["-1", x]), (np.ones(2),), (np.ones(2),))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(23))
@pytest.mark.parametrize("name", PARTS)
def test_calls(name, start):
    assert not _wrong(itertools.islice(PARTS[name](), start, None, 23))


@pytest.mark.parametrize(
    "name, call",
    [
        ("roots of two", lambda q: scipy.interpolate.PPoly(q.reshape(2, 1, 2), [0.0, 1.0]).roots()),
        ("constant pieces", lambda q: scipy.interpolate.PPoly(0 * q[None], np.arange(5.0)).roots()),
    ],
)
def test_refusals(name, call):
    """What has no derivative says so, and gives no number without one."""
    with (
        chainrules_scipy.install(),
        pytest.raises(NotDifferentiableError, match="no derivative here"),
    ):
        grad(lambda q: np.sum(call(q)))(np.arange(1.0, 5.0))


def test_another_value_is_refused():
    sine = agreeing(np.cos, lambda x: np.sin(x))
    with pytest.raises(NotDifferentiableError, match="another value here than SciPy's"):
        grad(sine)(0.3)
    assert grad(agreeing(np.sin, lambda x: np.sin(x)))(0.0) == 1.0
