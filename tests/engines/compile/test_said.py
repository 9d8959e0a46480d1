"""What NumPy says of numbers while a program runs: nothing that it does not say of the function.

It may say less, of what nobody needs and of Python's numbers, and the same more often: of what is
made again after the peak of memory, and where outputs that are not finite are computed once more.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from chainrules_compile import RecordingError, compile
from chainrules_numpy.array_types import finite
from chainrules_tape import value_and_grad
from tests.engines.compile.random_programs import ERRORS, arguments, forms, run


def said(f, xs):
    """Return the kinds of errors that NumPy calls a function for."""
    found = set()
    with np.errstate(all="call", call=lambda kind, _: found.add(kind)):
        f(*xs)
    return found


def scaled(xs, by):
    return [x * by if getattr(x, "dtype", np.dtype(int)).kind == "f" else x for x in xs]


def check(program):
    for f in forms(program):
        compiled = compile(f)
        for xs in arguments(program.leaves):
            for by in (1.0, 1e200, 0.0):
                given = scaled(xs, by)
                try:
                    compiled(*given)
                    wanted = said(f, given)
                except (*ERRORS, RecordingError):
                    continue
                assert said(compiled, given) <= wanted, f"{given}\n{compiled.explain()}"


@pytest.mark.parametrize(
    "start", [500, *[pytest.param(k, marks=pytest.mark.slow) for k in range(501, 521)]]
)
def test_programs_say_nothing_that_their_functions_do_not(start):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(check, 3 if start == 500 else 10, start)


EXTREMES = {
    "ptp": np.ptp,
    "max": np.max,
    "nanmax": np.nanmax,
    "max along an axis": lambda z: np.min(np.reshape(z, (1, 3)), axis=1),
    "pad": lambda z: np.pad(z, 2, mode="maximum"),
    "windows": lambda z: np.lib.stride_tricks.sliding_window_view(z, 2).max(-1),
}


@pytest.mark.parametrize("dtype", ["F", "D"])
@pytest.mark.parametrize("f", EXTREMES.values(), ids=EXTREMES)
def test_nothing_is_said_of_complex_extremes(f, dtype):
    g = value_and_grad(lambda z: np.sum(f(z).real))
    compiled, z = compile(g), np.array([1 + 1j, 2, 3j], dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in (z, z[::-1].copy(), z * 0, z * 1e30):
            for found, wanted in zip(compiled(x), g(x), strict=True):
                np.testing.assert_array_equal(found, wanted)
        assert finite(z)
        assert not finite(np.full(3, np.inf * 1j))
