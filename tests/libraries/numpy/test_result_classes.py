"""What a traced call gives has the class, dtype and shape that NumPy gives: programs ask for them.

Each call that was entered is made with its operands as they are, and with numbers in their place:
scalars of NumPy's, arrays without axes, numbers of Python's.
"""

import numpy as np
import pytest

from chainrules_py import NotDifferentiableError, TracerError, UnsupportedKeywordError
from chainrules_tape import jvp, vjp
from tests.surface.calls import names_with_calls, surface_calls
from tests.surface.point import Point, leaves

pytestmark = pytest.mark.filterwarnings("ignore")
REFUSED = (NotDifferentiableError, TracerError, UnsupportedKeywordError)
PYTHON = (bool, int, float, complex, str)
GROUPS = 6


def number(x):
    """The first element; of an empty array, the array."""
    return np.reshape(x, -1)[0] if np.size(x) else x


KINDS = {
    "as it is": lambda x: x,
    "a scalar": lambda x: number(x) if np.shape(x) == () else x,
    "without axes": lambda x: np.asarray(x) if np.shape(x) == () else x,
    "Python's": lambda x: np.asarray(x).item() if np.shape(x) == () else x,
    "one scalar": number,
    "one without axes": lambda x: np.asarray(number(x)),
    "one of Python's": lambda x: np.asarray(number(x)).item() if np.size(x) else x,
}


def class_of(y):
    """What a program can learn of a value by asking; a number of Python's may be NumPy's."""
    if isinstance(y, np.ndarray):
        return np.ndarray, y.dtype, y.shape
    if isinstance(y, np.generic):
        return np.generic, y.dtype
    found = next((cls for cls in PYTHON if isinstance(y, cls)), None)
    return (np.generic, np.dtype(found)) if found in (bool, float, complex) else found


def asked(f):
    """What a function gives, and what a traced call of it gives; None where there is none."""

    def answers(*xs):
        return [class_of(y) for y in leaves(f(*xs))]

    def run(*xs):
        found = []

        def traced(*xs):
            found.append(answers(*xs))
            return 0.0

        with np.errstate(all="ignore"):
            try:
                plain = answers(*xs)
            except Exception:  # no call of NumPy's
                return None
            try:
                vjp(traced, *xs)
            except Exception:  # none that is differentiated
                return None
        return found[0], plain

    return run


KNOWN = ("quantile", "percentile", "nanquantile", "nanpercentile")
"""Of one number with weights NumPy gives an array."""


def wrong(names):
    for call in [call for name in names for call in surface_calls(name)]:
        point = Point(call)
        if not point.xs:
            continue
        seen = set()
        for kind, made in KINDS.items():
            xs = [made(x) for x in point.xs]
            key = tuple([(type(x), np.shape(x)) for x in xs])
            if key in seen or (call.name in KNOWN and "weights" in point.keywords):
                continue
            seen.add(key)
            answers = asked(point.value)(*xs)
            if answers is not None and answers[0] != answers[1]:
                yield f"{call}, {kind}: {answers[0][:3]} for {answers[1][:3]}"


@pytest.mark.parametrize("group", range(GROUPS))
def test_one_call_in_six(group):
    assert not [*wrong(names_with_calls()[group :: 6 * GROUPS])]


@pytest.mark.slow
@pytest.mark.parametrize("group", range(6 * GROUPS))
def test_every_call(group):
    assert not [*wrong(names_with_calls()[group :: 6 * GROUPS])]


# ---------------------------------------------------------------------------- dtype= and initial=

REDUCTIONS = {
    f.__name__: f
    for f in (np.sum, np.prod, np.nansum, np.nanprod, np.cumsum, np.cumprod, np.nancumsum,
              np.nancumprod)
} | {
    f"{f.__name__}.{way}": getattr(f, way)
    for f in (np.add, np.multiply, np.maximum)
    for way in ("reduce", "accumulate")
} | {
    f"ndarray.{name}": lambda x, name=name, **options: getattr(x, name)(**options)
    for name in ("sum", "prod", "cumsum", "cumprod")
}  # fmt: skip
DTYPES = [*np.typecodes["AllInteger"], "?", "e", "f", "d", "D"]
NUMBERS = np.array([[200.7, 100.2], [3.9, -2.5]])


@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_dtype_is_that_of_the_sums(name):
    """What is summed in eight bits wraps in eight, in the value that is differentiated as well."""
    f, judged = REDUCTIONS[name], 0
    with np.errstate(all="ignore"):
        for given in ("b", "B", "h", "l", "f", "d"):
            x = NUMBERS.astype("l").astype(given) if given in "bBhl" else NUMBERS.astype(given)
            for dtype in DTYPES:
                try:
                    due = f(x, dtype=dtype)
                except TypeError:  # of the function
                    continue
                scale = np.linspace(1.0, 2.0, np.size(due)).reshape(np.shape(due))
                total = lambda x, scale=scale, dtype=dtype: np.sum(scale * f(x, dtype=dtype))
                if due.dtype.kind == "c":
                    total = lambda x, total=total: np.real(total(x))
                try:
                    (y, pull), (z, _) = vjp(total, x), jvp(total, (x,), (np.ones((2, 2)),))
                    pull(y)
                except REFUSED:
                    continue
                assert y == z == total(x) or np.isnan(y), (given, dtype)
                answers = asked(lambda x, dtype=dtype: f(x, dtype=dtype))(x)
                assert answers[0] == answers[1], (given, dtype)
                judged += 1
    assert judged > 5


@pytest.mark.parametrize("f", [np.prod, np.nanprod, np.multiply.reduce])
@pytest.mark.parametrize("where", [True, [False, True, True]])
def test_products_begin_with_their_initial(f, where):
    """So none overflows that NumPy's does not."""
    x, s = np.array([1e200, 3e200, 1e-100]), 1e-300
    y, pull = vjp(lambda x, s: f(x, initial=s, where=where), x, s)
    assert y == f(x, initial=s, where=where) > 0
    x_bar, s_bar = pull(1.0)
    assert np.allclose(x_bar, np.where(where, y / x, 0.0), rtol=1e-12)
    assert np.isclose(s_bar, y / s, rtol=1e-12) or s_bar == y / s


def test_they_begin_with_it_along_some_axes():
    x = np.arange(1.0, 13.0).reshape(2, 3, 2)
    for axis in (None, 0, 1, -1, (0, 2), (1, 2, 0)):
        y, pull = vjp(lambda x, axis=axis: np.prod(x, axis=axis, initial=2.5, keepdims=True), x)
        assert np.allclose(y, np.prod(x, axis=axis, initial=2.5, keepdims=True), rtol=1e-14)
        assert np.allclose(pull(np.ones_like(y))[0], y / x, rtol=1e-13)


def raised(f, *xs):
    try:
        f(*xs)
    except Exception as error:
        return type(error)
    return None


@pytest.mark.parametrize("f", [
    lambda x: np.cumsum(x, axis=(0,)), lambda x: np.cumprod(x, axis=(0,)),
    lambda x: x.cumsum(axis=[0]),
    lambda x: np.sum(x, initial=1j), lambda x: np.prod(x, initial=1j),
])  # fmt: skip
def test_what_numpy_refuses_is_refused(f):
    x = np.ones((2, 2))
    assert raised(f, x) is TypeError
    assert issubclass(raised(vjp, f, x), (TypeError, TracerError))


@pytest.mark.parametrize("ord", [None, 1, -1, 2, np.inf, "fro", "nuc"])
def test_norms_of_whole_numbers_are_real(ord):
    x = np.array([[1, 2], [3, -4]])
    found = asked(lambda x: np.linalg.norm(x, ord))(x)
    assert found[0] == found[1]
