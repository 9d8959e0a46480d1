"""What is a view in NumPy, and is written to: NumPy's value, or an error.

Every call of the surface is made on arrays that were computed; then its results are written to, or
the arrays. What NumPy gives for the same program is the truth, whatever NumPy calls a view.
"""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

from chainrules_py.errors import ChainRulesError, TracerError
from chainrules_py.extend import Tracer, flatten
from chainrules_tape import jvp, value_and_grad
from tests.surface.calls import names_with_calls, surface_calls
from tests.surface.point import Point

# NumPy's private ufuncs that copy, where the functions that they stand for give views.
COPIES = ("_core.umath.real", "_core.umath.imag")
NAMES = [name for name in names_with_calls() if not name.startswith(("scipy", *COPIES))]


def assigned(parts, ys):
    for p in parts:
        p[...] = p * 3.0 + 1.0


def scaled(parts, ys):
    for p in parts:
        p *= 3.0


def below(parts, ys):
    for y in ys:
        y[...] = y * 2.0 - 0.25


WRITES = [assigned, scaled, below]


def has_axes(x):
    return (
        isinstance(x, (np.ndarray, Tracer)) and getattr(x, "ndim", 0) > 0 and x.dtype.kind in "fc"
    )


def total(parts):
    """Weigh the elements of arrays, so that none can stand for another."""
    y = 0.0
    for k, p in enumerate(parts):
        weights = np.cos(np.arange(p.size) + k).reshape(p.shape)
        y = y + np.sum(np.real(p * weights))
    return y


def program(call, write, goes_on=False):
    """Write; a program that goes on does so where what it writes to is read-only."""

    def run(*xs):
        ys = [x * 1.0 for x in xs]
        parts = list(filter(has_axes, flatten(call(*ys))[0]))
        ys = list(filter(has_axes, ys))
        try:
            write(parts, ys)
        except ValueError as error:
            if not (goes_on and "read-only" in str(error)):
                raise
        return total([*ys, *parts])

    return run


def wrong(call, xs, write, tangents):
    """Say what is wrong with a program; None where NumPy itself refuses it."""
    run, goes_on = program(call, write), False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            truth = run(*xs)
        except (ValueError, TypeError, RuntimeError) as error:
            if "read-only" not in str(error):
                return None
            run, goes_on = program(call, write, True), True
            truth = run(*xs)
        for how in ("reverse", "forward"):
            try:
                if how == "reverse":
                    found = value_and_grad(run, tuple(range(len(xs))))(*xs)[0]
                else:
                    found = jvp(run, tuple(xs), tuple(tangents))[0]
            except ChainRulesError:
                continue
            except ValueError as error:  # of what broadcasting gave
                if "read-only" in str(error) and not goes_on:
                    continue
                raise
            if not np.allclose(found, truth, rtol=1e-6, equal_nan=True):
                return f"{write.__name__}, {how} mode: {found}, and NumPy gives {truth}"
    return ""


def is_moved(point):
    return any(isinstance(x, np.ndarray) and x.ndim for x in point.xs)


def judge(write, which):
    """Judge some of the calls of the surface; return how many NumPy takes."""
    points = [Point(call) for name in NAMES for call in surface_calls(name)]
    points = [p for p in points if "float32" not in str(p.call) and is_moved(p)]
    found = [(p, wrong(p.value, p.xs, write, p.directions())) for p in points[which]]
    failures = [f"{p.call}: {said}" for p, said in found if said]
    assert not failures, "\n".join(failures[:5])
    return sum(said is not None for _, said in found)


@pytest.mark.parametrize("k", range(len(WRITES)))
def test_every_call_of_the_surface(k):
    assert judge(WRITES[k], slice(k, None, len(WRITES))) > 1000


@pytest.mark.nightly
@pytest.mark.parametrize("write", WRITES)
def test_every_call_with_every_write(write):
    assert judge(write, slice(None)) > 3000


X = np.arange(1.0, 10.0).reshape(3, 3) / 7.0
MORE = {
    "einsum, a diagonal": lambda y: np.einsum("ii->i", y),
    "einsum, axes": lambda y: np.einsum("ij->ji", y),
    "einsum, as it is": lambda y: np.einsum("...->...", y),
    "einsum, lists": lambda y: np.einsum(y, [0, 1], [1, 0]),
    "einsum, a list of a diagonal": lambda y: np.einsum(y, [0, 0], [0]),
    "einsum, optimized": lambda y: np.einsum("ij->ji", y, optimize=True),
    "astype": lambda y: y.astype(float, copy=False),
    "astype, another": lambda y: y.astype(np.float32, copy=False),
    "array": lambda y: np.array(y, copy=None, like=y),
    "meshgrid": lambda y: np.meshgrid(y[0], y[1], copy=False),
    "meshgrid, sparse": lambda y: np.meshgrid(y[0], y[1], copy=False, sparse=True),
    "to_device": lambda y: y.to_device("cpu"),
    "ix_": lambda y: np.ix_(y[0], y[1]),
    "asfortranarray": lambda y: np.asfortranarray(y.T, like=y),
    "rot90": lambda y: [np.rot90(y, k) for k in range(5)],
    "conjugate": lambda y: np.conjugate(y, dtype=np.float64),
    "flip of no axis": lambda y: np.flip(y, axis=()),
    "reshape, Fortran": lambda y: np.reshape(y, 9, order="F"),
    "ravel of the transposed": lambda y: y.T.ravel("F"),
    "sum over no axis": lambda y: np.sum(y, axis=()),
    "one piece": lambda y: np.array_split(y, 1),
    "one array": lambda y: np.concatenate([y]),
    "broadcast": lambda y: np.broadcast_arrays(y, 1.0)[0],
    "coefficients": lambda y: np.poly1d(y[0]).coeffs,
    "nothing deleted": lambda y: np.delete(y, [], axis=0),
    "the first power": lambda y: np.linalg.matrix_power(y, 1),
    "along an axis": lambda y: np.apply_along_axis(lambda row: row, 0, y),
    "differences of order 0": lambda y: np.diff(y, n=0),
    "parts of parts": lambda y: y.T[1:].reshape(-1)[::2],
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("name", MORE)
def test_more_calls_that_may_give_views(name, write):
    assert not wrong(MORE[name], [X], write, [np.ones_like(X)])


# ------------------------------------------------------------------------ attributes assigned to

ASSIGNED = {
    "shape": (3, 3, 1),
    "dtype": np.int64,
    "strides": (8, 8),
    "real": 2.0,
    "imag": 2.0,
    "flat": 2.0,
    "T": 2.0,
    "data": 2.0,
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", ASSIGNED)
def test_attributes_of_a_traced_array_are_not_assigned_to(name):
    def f(x):
        y = x * 1.0
        setattr(y, name, ASSIGNED[name])
        return np.sum(y)

    for how in (value_and_grad(f), lambda x: jvp(f, (x,), (x,))):
        with pytest.raises(TracerError, match=f"{name} of .* is assigned to.*; write "):
            how(X)


def test_a_view_of_all_is_a_view():
    def f(x):
        y = x * 1.0
        y.view()[0] = 2.0
        return np.sum(y * y)

    value, bar = value_and_grad(f)(X)
    assert value == f(X)
    np.testing.assert_array_equal(bar, 2.0 * X * [[0.0], [1.0], [1.0]])


@pytest.mark.parametrize(
    "read",
    [
        lambda y: y.view(np.ndarray),
        lambda y: y.view(type=np.ndarray),
        lambda y: np.ravel(y, order="K"),
        lambda y: y.ravel("A"),
        lambda y: y.reshape(-1, order="A"),
        lambda y: y.flatten("K"),
        lambda y: y[:, :2].ravel("K"),
        lambda y: y[::2].ravel("A"),
        lambda y: y.T[1:].ravel("K"),
    ],
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_elements_in_the_order_of_memory(read, order):
    def f(x):
        y = x * x
        part = read(y)
        part[1] *= 3.0
        return total([y, part])

    x = np.array(X + 1.0, order=order)
    value, bar = value_and_grad(f)(x)
    assert value == f(x)
    slope = (f(1.000001 * x) - f(0.999999 * x)) / 2e-6
    np.testing.assert_allclose(np.sum(bar * x), slope, rtol=1e-6)
    np.testing.assert_allclose(jvp(f, (x,), (x,))[1], slope, rtol=1e-6)


@pytest.mark.parametrize(
    "call, write",
    [
        (lambda x: np.broadcast_to(x, (2, 3, 3)).ravel("K"), "write order='C'"),
        (lambda x: x.view(np.int64), r"ignore_derivatives(x).view(np.int64)"),
        (lambda x: (1j * x).view(float), "np.stack([(1j * x).real, (1j * x).imag], -1)"),
        (lambda x: (2 * x).flat[::2], "write x.ravel()"),
        (lambda x: np.tile(x, (4, 4)).astype(object), "use np.tile(x, (4, 4))"),
    ],
)
def test_what_reads_memory_names_its_line(call, write):
    with pytest.raises(ChainRulesError, match=f"(?s)test_views_written.*{re.escape(write)}"):
        value_and_grad(lambda x: np.sum(call(x)))(X)


def test_objects_of_a_traced_array():
    f = lambda x: np.sum(x.astype(object) ** 2)
    np.testing.assert_array_equal(value_and_grad(f)(X[0])[1], 2.0 * X[0])


@pytest.mark.parametrize(
    "copied",
    [
        lambda x: x.copy(order="F"),
        lambda x: x.T.copy("K"),
        lambda x: x.T.copy("A"),
        lambda x: np.copy(x, order="F"),
        lambda x: x.astype(float, order="F"),
        lambda x: np.full_like(x, x[0, 1], order="F"),
        lambda x: np.full(x.shape, x[0, 1], order="F", like=x),
        lambda x: np.zeros_like(x, order="F"),
        lambda x: np.ones_like(x.T, order="C").T,
        lambda x: np.zeros_like(x.T, order="A", subok=False).T,
        lambda x: np.exp(x, order="f"),
        lambda x: np.divmod(x + 0.3, 2.0, order="F")[1],
        lambda x: np.clip(x.T, 0.0, None, order="C").T,
    ],
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_copy_has_the_order_that_is_asked_for(copied, order):
    def f(x):
        y = copied(x)
        y.ravel(order)[1] = x[1, 1] ** 2
        y.reshape(-1)[4] *= 3.0
        return y * x[0, 0]

    x = np.arange(6.0).reshape(2, 3) + 1.0
    value, slope = jvp(f, (x,), (x,))
    np.testing.assert_array_equal(value, f(x))
    np.testing.assert_allclose(slope, (f(1.000001 * x) - f(0.999999 * x)) / 2e-6, rtol=1e-6)
