"""What shape and dtype a result has is asked anew where it hangs on numbers, of every function.

A program asks how large the results of a function are, and of which kind, and computes with the
answers; compiled, it is called with other numbers of the same shapes and dtypes.
"""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
import scipy.special

from chainrules_compile import RecordingError, RecordingWarning, compile
from chainrules_compile.writers.shortcuts import takes_whole_numbers
from chainrules_py.extend import flatten
from chainrules_tape import grad, hessian, jvp, value_and_grad
from tests.engines.compile.shadow import same
from tests.surface.calls import names_with_calls, surface_calls
from tests.surface.point import Point

pytestmark = pytest.mark.filterwarnings("ignore")

KINDS = "biufcOSUMmV?"
CALLS = [call for name in names_with_calls("numpy") for call in surface_calls(name)]


def form_of(y):
    """Return a number that says which shapes and kinds the leaves of a result have."""
    said = 0.0
    for i, leaf in enumerate(flatten(y)[0]):
        if hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
            for axis, n in enumerate(leaf.shape):
                said += (i + 1) * (axis + 2) * n
            said += 1000.0 * (i + 1) * KINDS.index(leaf.dtype.kind)
    return said


def numbers_like(x):
    """Yield arrays of the same shape and dtype: apart, the same, ordered, with zeros and signs."""
    line = np.arange(1.0, x.size + 1.0).reshape(x.shape).astype(x.dtype)
    yield line
    yield np.zeros_like(x)
    yield -line
    yield np.where(np.arange(x.size).reshape(x.shape) % 2 == 0, x, 0)
    yield np.round(x * 2)
    yield np.where(np.arange(x.size).reshape(x.shape) % 2 == 1, x.dtype.type("nan"), x)


def points(xs):
    yield xs
    arrays = [list(numbers_like(x)) if isinstance(x, np.ndarray) else [x] * 6 for x in xs]
    yield from map(list, zip(*arrays, strict=True))
    yield xs


def answer(f, xs):
    try:
        return f(*[np.copy(x) if isinstance(x, np.ndarray) else x for x in xs])
    except RecordingError:
        raise
    except Exception as error:  # of NumPy, for these numbers
        return type(error)


def check(call, differentiated):
    """Return how many answers were compared."""
    point = Point(call)
    if not point.xs:
        return 0

    def program(*xs):
        said = form_of(point.value(*xs))
        return sum([np.sum(np.abs(x) ** 2) for x in xs]) * said + said

    places = tuple(range(len(point.xs)))
    plain = value_and_grad(program, argnums=places) if differentiated else program
    compiled = compile(plain)
    compared = 0
    for xs in points(point.xs):
        want = answer(plain, xs)
        try:
            have = answer(compiled, xs)
        except RecordingError:
            continue
        if isinstance(want, type):
            continue  # by a call that nobody needs, maybe, which the program leaves out
        for a, b in itertools.zip_longest(flatten(have)[0], flatten(want)[0]):
            np.testing.assert_array_equal(a, b, err_msg=f"{call} at {xs}")
        compared += 1
    return compared


UFUNCS = [f for f in map(np.__dict__.get, np.__all__) if isinstance(f, np.ufunc) and f.nin == 2]
METHODS = {
    "reduce": lambda f, x: f.reduce(x, axis=0),
    "accumulate": lambda f, x: f.accumulate(x),
    "reduceat": lambda f, x: f.reduceat(x, [0, 1]),
    "outer": lambda f, x: f.outer(x, x),
}


@pytest.mark.parametrize("method", METHODS)
def test_methods_of_ufuncs(method):
    for f in UFUNCS:
        for start in (np.array([[1.0, 2.0], [3.0, 0.5]]), np.array([[3, 1], [2, 5]])):
            use = lambda x, f=f: METHODS[method](f, x)
            compiled = compile(use)
            for x in (start, start[::-1].copy()):
                want = answer(use, [x])
                if isinstance(want, type):
                    break
                np.testing.assert_array_equal(answer(compiled, [x]), want, err_msg=str(f))


@pytest.mark.parametrize("differentiated", [False, True], ids=["value", "gradient"])
@pytest.mark.parametrize("call", CALLS[::150], ids=str)
def test_forms_of_results_are_asked_anew(call, differentiated):
    check(call, differentiated)


@pytest.mark.slow
@pytest.mark.parametrize("differentiated", [False, True], ids=["value", "gradient"])
@pytest.mark.parametrize("call", CALLS, ids=str)
def test_forms_of_all_results_are_asked_anew(call, differentiated):
    check(call, differentiated)


MIXED = {
    f.__name__: f
    for home in (np, scipy.special)
    for f in vars(home).values()
    if isinstance(f, np.ufunc) and f.nin > 1 and takes_whole_numbers(f)
}
NUMBERS_OF = {
    "list": lambda x: sum(x.tolist()),
    "items": lambda x: x.item(0) + x.item(-1) * np.sum(x),
    "one": lambda x: np.sum(x).item() * 2,
    "lists in lists": lambda x: [[2 * each for each in row] for row in x.reshape(2, -1).tolist()],
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if i % 6 else [])
        for i, name in enumerate(sorted(MIXED))
    ],
)
def test_whole_numbers_stay_such_where_a_ufunc_takes_them(name):
    """As the order of a polynomial or of a Bessel function: it may be computed otherwise."""
    f, rows = MIXED[name], np.linspace(0.1, 0.9, 8)
    for whole in range(1, f.nin):
        numbers = [2] * whole + [0.4] * (f.nin - whole - 1)
        for call in (lambda x: f(*numbers, x), lambda x: f(x, *numbers)):  # noqa: B023
            for x in (rows, rows.astype(np.float32)):
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore", DeprecationWarning)
                    warnings.simplefilter("error", RecordingWarning)
                    try:
                        wanted = call(x / 2)
                    except TypeError:
                        continue
                    compiled = compile(call)
                    compiled(x)
                    assert same(compiled(x / 2), wanted), numbers


@pytest.mark.parametrize("name", NUMBERS_OF)
@pytest.mark.parametrize("dtype", [float, np.float32, complex])
def test_numbers_of_python_s_that_arrays_give(name, dtype):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RecordingWarning)
        compiled, f = compile(NUMBERS_OF[name]), NUMBERS_OF[name]
        for x in (np.zeros(6, dtype), np.arange(6).astype(dtype) / 3):
            assert same(compiled(x), f(x))
    assert len(compiled.programs) == 1


class Degrees(float):
    """A number that computes otherwise."""

    def __add__(self, other):
        return Degrees((float(self) + float(other)) % 360)


class Twice(complex):
    """Another."""

    def __mul__(self, other):
        return complex(self) * 2 * other


class Label(float):
    """A number that computes as its base does."""


OF_OWN_NUMBERS = {
    "plain": lambda x, d: np.sum(x) * (d + 350.0),
    "doubled": lambda x, d: (d + d) * x[0],
    "grad": lambda x, d: grad(lambda y: np.sum(y * y) * abs(d + 355.0))(x),
    "jvp": lambda x, d: jvp(lambda y: np.sum(y) * d, (x,), (x,)),
    "hessian": lambda x, d: hessian(lambda y: np.sum(y * y) * abs(d + 355.0))(x),
}


@pytest.mark.parametrize("name", OF_OWN_NUMBERS)
@pytest.mark.parametrize("cls", [Degrees, Twice, Label])
def test_numbers_of_somebody_s_class(name, cls):
    f, x = OF_OWN_NUMBERS[name], np.array([1.0, 2.0])
    compiled = compile(f)
    for number in (5.0, 20.0, 5.0):
        assert same(compiled(x, cls(number)), f(x, cls(number)))
