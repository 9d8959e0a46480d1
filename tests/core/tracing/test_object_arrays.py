"""Arrays of objects whose elements are traced: what they compute, join, and refuse."""

import math
import re
import subprocess
import sys

import numpy as np
import pytest

from chainrules_py import MutationError, TracerError
from chainrules_py import ops as v
from chainrules_py.extend import flatten
from chainrules_py.tracing.object_arrays import objects
from chainrules_tape import Tape, grad, hessian, hvp, jacobian, jvp, linearize, vjp
from chainrules_tape.tools import taylor

X = np.array([1.2, 0.5, 0.7])
P = np.arange(6.0).reshape(2, 3)
LINE = rf"{re.escape(__file__)}:\d+ makes an array of objects"


def turned(t, make=np.array):
    c, s = np.cos(t), np.sin(t)
    return make([[c, -s], [s, c]])


def stacked(rows):
    return np.stack([np.stack(row) if isinstance(row, list) else row for row in rows])


def _filled(make, x):
    r = make([x[0], x[1]])
    r += 1
    r *= x[2]
    return np.sum(r)


def _masked(make, x):
    r = make([x[0], x[1]])
    return np.sum(np.where(r < 1, 0.0, r) ** 2)


def _written(make, x):
    b = np.zeros(2, like=x)
    b[:] = make([x[1], x[0]])
    b += make([x[0], x[0]])
    return np.sum(b**2)


PROGRAMS = {
    "plain matrix": lambda make, x: np.sum(turned(x[0], make) @ P * P),
    "traced vector": lambda make, x: np.sum(turned(x[0], make) @ x[:2]),
    "from the left": lambda make, x: np.sum(x[:2] @ turned(x[0], make)),
    "dot": lambda make, x: np.sum(x[:2].dot(turned(x[0], make))),
    "einsum": lambda make, x: np.einsum("ij,j->", turned(x[0], make), x[:2]),
    "solve": lambda make, x: np.sum(np.linalg.solve(turned(x[0], make), x[:2])),
    "functions": lambda make, x: np.sum(np.exp(np.sin(make([x[0], x[1] * x[2]]))) ** 1.5),
    "rows": lambda make, x: np.sum(np.sin(make([x, 2 * x])) @ X),
    "list beside": lambda make, x: np.sum(x[:2] * make([x[2], 3.0])),
    "stack of them": lambda make, x: np.sum(np.stack([make([x[0], 1.0]), x[:2]]) ** 2),
    "interp": lambda make, x: np.interp(x[1], np.array([0.0, 1.0]), make([x[0], x[2]])),
    "inner gradient": lambda make, x: np.sum(grad(lambda y: np.sum(y**3))(make([x[0], x[1]]))),
    "root": lambda make, x: np.sum(
        v.root(lambda z: make([z[0] ** 3 + x[0] * z[0], z[1] + z[0] * x[1]]) - 1.0, X[:2])
    ),
    "root alone": lambda make, x: np.sum(
        v.root(lambda z, x: make([z[0] ** 3 + x[0] * z[0] - 1, z[1] - z[0] * x[1]]), X[:2], x)
    ),
    "fixed point": lambda make, x: np.sum(
        v.fixed_point(lambda z: make([np.cos(z[1]) * x[1], 0.5 * z[0]]), X[:2])
    ),
    "odeint": lambda make, x: np.sum(
        v.odeint(lambda y, t: make([-x[0] * y[0], x[1] * y[0]]), X[:2], np.array([0.0, 1.0]))
    ),
    "in place": _filled,
    "mask": _masked,
    "written": _written,
}
DOORS = {
    "grad": grad,
    "vjp": lambda f: lambda x: vjp(f, x)[1](1.0)[0],
    "jvp": lambda f: lambda x: jvp(f, (x,), (X[::-1].copy(),)),
    "linearize": lambda f: lambda x: linearize(f, x)[1](X[::-1].copy()),
    "hessian": hessian,
    "hvp": lambda f: lambda x: hvp(f, (x,), (X,)),
    "grad of grad": lambda f: grad(lambda x: np.sum(grad(f)(x) * X)),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_as_with_stack(name, door):
    f = PROGRAMS[name]
    found = DOORS[door](lambda x: f(np.array, x))(X)
    truth = DOORS[door](lambda x: f(stacked, x))(X)
    for have, want in zip(np.atleast_1d(found), np.atleast_1d(truth), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-13, atol=1e-13)
    assert not objects


@pytest.mark.parametrize("t", [0.3, np.float64(0.3), np.array(0.3)], ids=repr)
def test_of_numbers_of_each_class(t):
    found = grad(lambda t: np.sum(turned(t) @ P * P))(t)
    np.testing.assert_allclose(found, grad(lambda t: np.sum(turned(t, stacked) @ P * P))(t))


def filled(x):
    y = np.empty((2, 2), object)
    y[0, 0], y[0, 1] = x[0] ** 2, x[1] * x[2]
    y[1, 0], y[1, 1] = 1.0, np.sin(x[1])
    return y


@pytest.mark.parametrize(
    "held", [lambda y: y, lambda y: (y, [y]), lambda y: {"y": y}], ids=["alone", "list", "dict"]
)
def test_results_that_the_function_filled_are_joined(held):
    """NumPy does not look up how to convert what is assigned to an element."""
    x, way, h = np.array([0.3, 1.0, 2.0]), np.array([0.5, -0.2, 0.3]), 1e-6
    ends = [filled(x + s * h * way).astype(float) for s in (1, -1)]
    truth = (ends[0] - ends[1]) / (2 * h)
    f = lambda x: held(filled(x))
    slopes = flatten(jacobian(f)(x))[0]
    dots = flatten(jvp(f, (x,), (way,))[1])[0]
    series = flatten(taylor(f, x, way, 1)[1])[0]
    for found in [*[s @ way for s in slopes], *dots, *series]:
        np.testing.assert_allclose(found, truth, rtol=1e-7, atol=1e-9)
    assert all([y.dtype == float for y in flatten(vjp(f, x)[0])[0]])


def test_results_are_joined():
    f = lambda x: {"a": np.array([x[0] * x[1], x[2], 1.0])}
    (y, pullback), (_, push) = vjp(f, X), linearize(f, X)
    assert y["a"].dtype == float
    assert y["a"].tolist() == f(X)["a"].tolist()
    assert pullback({"a": np.array([1.0, 2.0, 3.0])})[0].tolist() == [X[1], X[0], 2.0]
    assert push(np.ones(3))["a"].tolist() == [X[0] + X[1], 1.0, 0.0]
    assert jacobian(lambda x: np.array([x[0], x[0] * 2]))(X).tolist() == [[1, 0, 0], [2, 0, 0]]


@pytest.mark.parametrize("makes", [np.array, np.asarray])
def test_elements_that_are_arrays_without_axes(makes):
    f = lambda x: np.array([makes(x[0] * 2), makes(np.mean(x)), 1.0])
    slopes = [[2.0, 0.0, 0.0], [1 / 3] * 3, [0.0] * 3]
    for found, truth in [
        (jacobian(f)(X), slopes),
        (linearize(f, X)[1](np.ones(3)), [2.0, 1.0, 0.0]),
        (jvp(lambda x: x * f(x), (X,), (X,))[1], 2 * X * f(X) - [0, 0, X[2]]),
        (grad(lambda x: (np.sum(x), f(x)), has_aux=True)(X)[1], f(X)),
    ]:
        np.testing.assert_allclose(found, truth, rtol=1e-14)


def test_numpys_functions_of_elements_in_a_process_that_met_no_array():
    program = (
        "import numpy as np\nfrom chainrules_tape import grad\n"
        "print(grad(lambda x: np.sum(np.exp(np.array([x, 2 * x]))))(0.5))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stderr == ""
    assert math.isclose(float(done.stdout), math.exp(0.5) + 2 * math.exp(1.0))


@pytest.mark.parametrize("options", [{}, {"differentiable": True}, {"persistent": True}])
def test_on_a_tape(options):
    with Tape(**options) as tape:
        x = tape.variable(X)
        loss = np.sum(turned(x[0]) @ x[:2])
        slope = tape.grad(loss, x) if options else None
    slope = tape.grad(loss, x) if slope is None else slope
    truth = grad(lambda x: np.sum(turned(x[0], stacked) @ x[:2]))(X)
    np.testing.assert_allclose(getattr(slope, "value", slope), truth, rtol=1e-14)
    assert not objects


# ---------------------------------------------------------------------------------- what is refused


REFUSED = {
    "dtype": lambda x: np.sum(np.array([x[0], x[1]], dtype=float)),
    "float buffer": lambda x: np.zeros(2).__setitem__(0, np.array([x[0]])[0]),
    "complex elements": lambda x: np.real(np.sum(np.array([x[0] * 1j, x[1] * 1j]))),
    "times i": lambda x: np.sum((np.array([x[0], x[1]]) * 1j).imag),
    "times complex array": lambda x: np.sum((np.array([x[0], x[1]]) * np.array([1j, 2j])).imag),
    "root of a negative": lambda x: np.sum((np.array([(-1.0), x[0] * -1.0]) * 1j).imag),
    "NaN is not itself": lambda x: np.sum((r := np.array([x[0] * np.nan, x[1]])) * (r != r)),
    "maximum of NaN": lambda x: np.max(np.array([x[1], x[0] * np.nan])),
    "sorted NaN": lambda x: np.sort(np.array([x[1], x[0] * np.nan, x[2]]))[0],
    "float": lambda x: float(np.array([x[0]])[0]),
    "mean of all": lambda x: np.mean(np.array([x[0], x[1]])),
    "out of clip": lambda x: np.clip(x, 0.4, 0.6, out=np.full(3, x[0])),
}


@pytest.mark.parametrize("door", [grad, lambda f: lambda x: jvp(f, (x,), (x,))])
@pytest.mark.parametrize("name", REFUSED)
def test_what_would_be_another_number_is_refused(name, door):
    with pytest.raises(TracerError), np.errstate(all="ignore"):
        door(REFUSED[name])(X)
    assert not objects


def test_a_narrow_number_beside_a_float():
    f = lambda x: np.sum(np.array([x[0], x[1]]) * np.array([0.1, 0.2]))
    with pytest.raises(TracerError, match="64 bits.*" + LINE):
        grad(f)(X.astype(np.float32))
    alone = lambda x: x[0] * 0.1
    assert grad(alone)(X.astype(np.float32)).dtype == np.float32
    with pytest.raises(TracerError, match="64 bits.*" + LINE):
        grad(lambda x: np.sum(np.array([x, np.float16(1.5)])))(0.7)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("f", [np.asarray, np.array, np.asanyarray, np.ascontiguousarray])
def test_an_array_without_elements_becomes_plain(f, dtype):
    x = np.ones((0, 3), dtype)
    y, pullback = vjp(lambda x: np.concatenate([f(x), x]), x)
    assert (y.shape, y.dtype) == ((0, 3), x.dtype)
    assert pullback(y)[0].shape == x.shape


def test_large_arrays_are_refused():
    many = np.linspace(0.1, 1.0, 101)
    with pytest.raises(TracerError, match=r"cannot convert .* to array"):
        grad(lambda x: np.sum(np.array(x)))(many)
    assert (
        grad(lambda x: np.sum(np.array(x) ** 2))(many[:100]).tolist() == (2 * many[:100]).tolist()
    )


NUMPYS_OWN = {
    "isnan": lambda r: np.isnan(r).any() * 0.0 + r[0],
    "det": np.linalg.det,
    "inv": lambda r: np.sum(np.linalg.inv(r)),
    "fft": lambda r: np.sum(np.abs(np.fft.fft(r))),
    "solve": lambda r: np.sum(np.linalg.solve(r, np.ones(2))),
    "function of a plain element": lambda r: np.sum(np.sin(r)),
}


@pytest.mark.parametrize("door", [grad, lambda f: lambda x: jvp(f, (x,), (x,))])
@pytest.mark.parametrize("name", NUMPYS_OWN)
def test_errors_of_numpys_own_name_the_line(name, door):
    with pytest.raises(TracerError) as error:
        door(lambda x: NUMPYS_OWN[name](np.array([[x[0], x[1]], [1.0, x[2]]])))(X)
    assert __file__ in str(error.value)
    assert "use np.stack(" in str(error.value)


def test_a_test_for_the_method_makes_no_array():
    def f(x):
        assert hasattr(x, "__array__")
        y = np.asarray(x)
        return np.sum(x) * np.all(np.isfinite(y))

    with pytest.raises(TracerError, match=r"np\.asarray\(x\)\n  use x"):
        grad(f)(X)


def test_an_error_on_a_tape_names_the_line():
    with pytest.raises(TracerError) as error, Tape() as tape:  # noqa: PT012
        x = tape.variable(X)
        np.isnan(np.array([x[0], x[1]]))
    line = test_an_error_on_a_tape_names_the_line.__code__.co_firstlineno + 3
    assert f"{__file__}:{line}: np.array(" in str(error.value)
    assert "use np.stack([x[0], x[1]])" in str(error.value)
    assert not objects


def test_comparisons_of_nan_elsewhere_are_as_ever():
    assert grad(lambda x: np.where(x[0] * np.nan > 0, 0.0, x[1]))(X).tolist() == [0, 1, 0]


@pytest.mark.parametrize("make", [np.asarray, np.asanyarray, np.ascontiguousarray])
@pytest.mark.parametrize("shape", [(3,), (3, 1)])
def test_a_write_to_what_numpy_would_not_copy_is_refused(make, shape):
    def unseen(x):
        y = (x * x).reshape(shape)
        make(y)[0] = 5.0
        return np.sum(y)

    for of in (grad(unseen), lambda x: vjp(unseen, x), lambda x: jvp(unseen, (x,), (x,))):
        with pytest.raises((MutationError, ValueError), match="read-only"):
            of(X)


def test_what_numpy_copies_may_be_written_to():
    def written(x, make):
        y = make(x * x)
        y[0] = 5.0
        return np.sum(y * x)

    for make in (np.array, lambda y: np.asarray(y, dtype=object), lambda y: np.asarray(y).copy()):
        np.testing.assert_allclose(grad(written)(X, make), [5.0, 3 * X[1] ** 2, 3 * X[2] ** 2])


def test_what_numpy_copies_stays_as_it_was_when_the_array_is_written_to():
    def kept(x, make):
        y = x * x
        rows = make(y)
        y[0] = 5.0
        return np.sum(rows * y)

    for make in (lambda y: np.array([y, y]), lambda y: np.asarray(y).copy(), np.array):
        rows = 2.0 if make(X).ndim == 2 else 1.0
        truth = rows * np.array([10.0, 4 * X[1] ** 2, 4 * X[2] ** 2]) * X
        np.testing.assert_allclose(grad(kept)(X, make), truth)


def _scaled_by_a_list(x):
    a = x[:2] * 1.5
    a *= [x[1], 2.0]
    return np.sum(a)


def _raised_to_a_list(x):
    a = x[:2] * 1.5
    a **= [x[1], 2.0]
    return np.sum(a)


def _added_to_a_tuple(x):
    a = x[:2] * x[1]
    a += (x[1], 2.0)
    return np.sum(a)


IN_PLACE = {
    _scaled_by_a_list: lambda x: np.sum(x[:2] * 1.5 * np.stack([x[1], 2.0])),
    _raised_to_a_list: lambda x: np.sum((x[:2] * 1.5) ** np.stack([x[1], 2.0])),
    _added_to_a_tuple: lambda x: np.sum(x[:2] * x[1] + np.stack([x[1], 2.0])),
}


@pytest.mark.parametrize("f", IN_PLACE)
def test_a_list_of_traced_numbers_in_place(f):
    """The search for what to write asked itself again."""
    np.testing.assert_allclose(grad(f)(X), grad(IN_PLACE[f])(X))


WRITING = {
    "copyto": lambda v, y: np.copyto(v, y),
    "copyto by keywords": lambda v, y: np.copyto(src=y, dst=v, where=[True, False]),
    "put": lambda v, y: np.put(v, [1], y[:1]),
    "putmask": lambda v, y: np.putmask(v, v > 0.6, y),
    "place": lambda v, y: np.place(v, v > 0.1, y),
    "put_along_axis": lambda v, y: np.put_along_axis(v, np.array([1]), y[:1], axis=0),
    "add.at": lambda v, y: np.add.at(v, [0, 0], y),
    "subtract.at": lambda v, y: np.subtract.at(v, [0, 1], y),
    "a copy": lambda v, y: np.copyto(v, np.array([y[1], y[0]])),
}


@pytest.mark.parametrize("name", WRITING)
@pytest.mark.parametrize("make", [lambda x: np.array([x[0], x[1]]), lambda x: np.array(x[:2])])
def test_functions_that_write_write_to_the_array_itself(name, make):
    def written(x, y):
        v = make(x)
        WRITING[name](v, y)
        return np.sum(v**3)

    y = np.array([0.4, 1.1])
    (value, pull), h = vjp(written, X, y), 1e-6
    assert value == written(X, y)
    for place, bar in enumerate(pull(1.0)):
        for i, step in enumerate(h * np.eye(len(bar))):
            ends = [[X, y] for _ in range(2)]
            ends[0][place], ends[1][place] = ends[0][place] + step, ends[1][place] - step
            truth = (written(*ends[0]) - written(*ends[1])) / (2 * h)
            assert bar[i] == pytest.approx(truth, abs=1e-8)


def test_a_bool_of_numpy_meets_every_number():
    f = lambda x: np.sum(np.array([x[0], 1.0])) + x[0] * np.True_
    np.testing.assert_array_equal(grad(f)(X), [2.0, 0.0, 0.0])
