"""Random programs, compiled: as they are, and with their derivatives, at all kinds of arguments.

A program is called again with other numbers, of which some take another branch and some are
undefined, infinite or zero, with arrays that lie otherwise or cannot be written to, with the same
array for several arguments, and from eight threads at once. It gives what it gives without
`compile`, to rounding; what it is given stays as it is.

Run it for some seconds, for the record: ``python -m tests.engines.compile.random_programs 300 0``,
and with ``c`` after these for the programs in C.
"""

from __future__ import annotations

import collections
import concurrent.futures
import functools
import itertools
import sys
import time
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

import chainrules_tape as ct
from chainrules_compile import RecordingError, compile
from chainrules_py import ChainRulesError
from chainrules_py.extend import flatten
from tests.engines.compile.shadow import alike
from tests.fuzz.programs import programs

ERRORS = (ArithmeticError, ValueError, TypeError, ChainRulesError)
SAID = collections.Counter()
TARGET = "numpy"


def moved(x, factor):
    return x * type(x.flat[0])(factor) if isinstance(x, np.ndarray) else type(x)(x * factor)


def in_fortran_order(x):
    return np.asfortranarray(x) if np.ndim(x) else x


def with_gaps(x):
    if not isinstance(x, np.ndarray) or not x.ndim:
        return x
    wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
    wide[..., ::2] = x
    return wide[..., ::2]


def backwards(x):
    return x[::-1].copy()[::-1] if isinstance(x, np.ndarray) and x.ndim else x


def aliased(xs):
    """Give each array to all arguments of its kind."""
    first = {}
    kinds = [(type(x), np.shape(x), getattr(x, "dtype", None)) for x in xs]
    return tuple([first.setdefault(kind, x) for kind, x in zip(kinds, xs, strict=True)])


def transposed(xs):
    """Give square matrices as views of one another."""
    first = aliased(xs)
    return tuple(
        [
            y.T if x is not y and np.ndim(y) == 2 and len({*y.shape}) == 1 else x
            for x, y in zip(xs, first, strict=True)
        ]
    )


def arguments(xs):
    """Give the arguments that a program is called with, in turn."""
    yield xs
    for factor in (1.0, 1.25, -0.5):
        yield tuple([moved(x, factor) for x in xs])
    for lying in (in_fortran_order, with_gaps, backwards):
        yield tuple(map(lying, xs))
    yield aliased(xs)
    yield transposed(xs)
    yield xs


def put_first(x, value):
    """Return a copy with a value in the first place, or the value; whole numbers stay."""
    if not isinstance(x, np.ndarray):
        return type(x)(value) if isinstance(x, (float, np.floating)) else x
    x = x.copy()
    if x.dtype.kind in "fc" and x.size:
        x.flat[0] = value
    return x


def unwritable(x):
    x = x.copy() if isinstance(x, np.ndarray) else x
    if isinstance(x, np.ndarray):
        x.flags.writeable = False
    return x


def extremes(xs):
    """Give arguments that cannot be written to, and those that are undefined, infinite, or zero."""
    yield tuple(map(unwritable, xs))
    for value in (np.nan, np.inf, -np.inf, 0.0):
        yield tuple([put_first(x, value) for x in xs])


def forms(program):
    """Give the program, with a branch, and its derivatives."""
    xs, places = program.leaves, tuple(range(len(program.leaves)))
    ts = tuple([np.ones_like(x) if isinstance(x, np.ndarray) else x * 0 + 1 for x in xs])
    pivot = np.sum(np.real(xs[0])) * 1.1

    def branching(*xs):
        y = program(*xs)
        return y * 2.0 if np.sum(np.real(xs[0])) < pivot else y - 1.0

    yield program
    yield ct.value_and_grad(branching, places)
    yield lambda *xs: ct.jvp(program, xs, ts)
    yield lambda *xs: ct.hvp(program, xs, ts)


def compared(f, compiled, xs, equal=None):
    """Compare one call; False where it is refused."""
    equal = equal or functools.partial(alike, f, xs, {})
    kept = [np.array(x) for x in xs]
    try:
        wanted = f(*xs)
    except ERRORS as error:
        SAID["raises"] += 1
        with pytest.raises((type(error), RecordingError)):
            compiled(*xs)
        return True
    try:
        found = compiled(*xs)
    except RecordingError:
        SAID["refused"] += 1
        return False
    assert equal(found, wanted), f"{found} for {wanted}\n{compiled.source}"
    unchanged = [np.array_equal(x, y, equal_nan=True) for x, y in zip(kept, xs, strict=True)]
    assert all(unchanged), "an argument was written to"
    leaves = [x for x in flatten(found)[0] if isinstance(x, np.ndarray)]
    given = [x for x in xs if isinstance(x, np.ndarray)]
    for i, x in enumerate(leaves):
        assert not any([np.shares_memory(x, y) for y in (*leaves[:i], *given)]), "shared memory"
    SAID["equal"] += 1
    return True


def check_compiled(program):
    """Compare a program and its derivatives, compiled, with those that it has otherwise."""
    for f in forms(program):
        compiled = compile(f, target=TARGET)
        given = itertools.chain(arguments(program.leaves), extremes(program.leaves))
        if not all(compared(f, compiled, xs) for xs in given):
            continue


def check_loose(program):
    """Compare a program that need not have the bits: with half of the digits, of the largest."""
    for f in forms(program):
        compiled = compile(f, target=TARGET)
        for xs in arguments(program.leaves):
            try:
                wanted = f(*xs)
                found = compiled(*xs)
            except (*ERRORS, RecordingError):
                continue
            assert alike(f, xs, {}, found, wanted), f"{found} for {wanted}\n{compiled.source}"
            SAID["close"] += 1


def check_in_threads(program):
    """Compare calls from eight threads at once."""
    given = list(arguments(program.leaves))
    for f in forms(program):
        try:
            wanted = [f(*xs) for xs in given]
        except ERRORS:
            continue
        compiled = compile(f, target=TARGET)

        def work(i, f=f, compiled=compiled, wanted=wanted):
            for k in range(len(given)):
                k = (k + i) % len(given)
                try:
                    found = compiled(*given[k])
                except RecordingError:
                    return
                assert alike(f, given[k], {}, found, wanted[k]), compiled.source

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))


def run(check, n, start=0):
    @seed(start)
    @settings(
        max_examples=n,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(programs(3, 8))
    def checking(program):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            warnings.filterwarnings("error", message="(.|\n)*a defect of chainrules_compile")
            check(program)

    checking()


if __name__ == "__main__":
    TARGET = sys.argv[3] if len(sys.argv) > 3 else TARGET
    end, turn, begun = time.monotonic() + float(sys.argv[1]), int(sys.argv[2]), 0
    checks = {0: check_in_threads, 5: check_loose}
    while time.monotonic() < end:
        run(checks.get(turn % 10, check_compiled), 10, turn)
        turn += 1
        begun += 10
    print(begun, "programs", dict(SAID))
