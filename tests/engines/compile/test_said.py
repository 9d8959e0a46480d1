"""What NumPy says of numbers while a program runs: nothing that it does not say of the function.

It may say less, of what nobody needs and of Python's numbers, and the same more often: of what is
made again after the peak of memory, and where outputs that are not finite are computed once more.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from chainrules_compile import RecordingError, compile
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
