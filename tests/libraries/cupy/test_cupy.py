"""Programs on CuPy: the numbers of NumPy, on the device, without waiting for it."""

from __future__ import annotations

import gc
import importlib
import re
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.special

import chainrules_scipy.linalg
from chainrules_py import NotDifferentiableError, TracerError, frule, rrule
from chainrules_py import ops as v
from chainrules_py.extend import type_info
from chainrules_py.testing import to_numpy
from chainrules_py.testing.cases.calls_from_samples import instances
from chainrules_py.testing.cases.coordinates import Coordinates
from chainrules_py.testing.cases.unsupported_operations import unsupported
from chainrules_py.testing.sample_runs import operations_of, two_samples
from chainrules_tape import Tape, grad, hessian, hvp, jvp, value_and_grad, vjp
from tests.fake_gpu.syncs import count_syncs

RNG = np.random.default_rng(11)
X, W, B = (RNG.standard_normal(shape) for shape in ((6, 4), (4, 5), (5,)))
PLACES = np.array([5, 0, 0, 3, 5])


def dense(x, w, b):
    return np.sum(np.tanh(x @ w + b) ** 2)


def layer_norm(x, w, b):
    z = x @ w
    z = (z - np.mean(z, axis=-1, keepdims=True)) / np.sqrt(np.var(z, axis=-1, keepdims=True) + 1e-5)
    return np.sum(np.abs(z * b) ** 1.5)


def cross_entropy(x, w, b):
    z = x @ w + b
    z = z - np.max(z, axis=1, keepdims=True)
    return np.sum(np.log(np.sum(np.exp(z), axis=1))) - np.sum(z[:, 2])


def gathered(x, w, b):
    return np.sum(np.take(x, [5, 0, 0, 3, 5], axis=0) ** 3) + np.sum(x[1:, ::2]) + np.sum(w @ b)


def solved(x, w, b):
    a = np.transpose(x) @ x
    return np.sum(np.linalg.solve(a, w) * b) + np.linalg.slogdet(a)[1]


def spectral(x, w, b):
    return np.sum(np.abs(np.fft.rfft(x @ w, axis=0)) * b) + np.sum(np.linalg.svd(w)[1])


def written(x, w, b):
    y = np.zeros_like(x @ w)
    y[0] = b
    y[1:] += x[1:] @ w
    y *= 2.0
    return np.sum(y**3)


def joined(x, w, b):
    z = np.concatenate([x @ w, np.stack([b, b * b])])
    return np.sum(np.cumsum(np.sort(z, axis=0), axis=1) * np.prod(b))


def reduced(x, w, b):
    z = np.einsum("ij,jk->ik", x, w)
    return np.max(z) + np.std(z) + np.linalg.norm(z) + np.sum(np.logaddexp(z, b)) + np.sum(z[z > 0])


PROGRAMS = [dense, layer_norm, cross_entropy, gathered, solved, spectral, written, joined, reduced]
each_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
# A mask's shape is read off its values, and so is where a maximum stands nowhere else.
WAITS = {"reduced": {"get", "nonzero"}}


def close(a, b, rtol=1e-9):
    np.testing.assert_allclose(to_numpy(a), to_numpy(b), rtol=rtol, atol=rtol)


@each_program
def test_gradients_are_those_of_numpy(program, on, cp):
    numbers = (0, 1, 2)
    there = [on.asarray(a) for a in (X, W, B)]
    value, gradient = value_and_grad(program, numbers)(*there)
    expected, wanted = value_and_grad(program, numbers)(X, W, B)
    close(value, expected)
    for have, want, x in zip(gradient, wanted, there, strict=True):
        assert type(have) is cp.ndarray
        assert (have.dtype, have.shape, have.device) == (x.dtype, x.shape, x.device)
        close(have, want)
    tangents = tuple([on.asarray(np.cos(a)) for a in (X, W, B)])
    close(
        jvp(program, tuple(there), tangents)[1],
        jvp(program, (X, W, B), tuple(map(np.cos, (X, W, B))))[1],
    )


@each_program
def test_single_precision_stays(program, on):
    there = [on.asarray(a.astype(np.float32)) for a in (X, W, B)]
    assert all(g.dtype == np.float32 for g in grad(program, (0, 1, 2))(*there))


@pytest.mark.parametrize("program", [dense, layer_norm, gathered], ids=lambda f: f.__name__)
def test_second_order(program, on):
    there = [on.asarray(a) for a in (X, W, B)]
    t = np.sin(W)
    close(
        hvp(lambda w: program(there[0], w, there[2]), (there[1],), (on.asarray(t),))[0],
        hvp(lambda w: program(X, w, B), (W,), (t,))[0],
    )


@pytest.mark.parametrize("number", [0.5, np.float64(0.5), np.float32(0.5)], ids=repr)
def test_numbers_beside_arrays(number, on, cp):
    """Their cotangents stay on the device."""
    loss = lambda s, x: np.sum(np.exp(s * x) + s**2 - x / s)
    with count_syncs() as waited:
        found = grad(loss, (0, 1))(number, on.asarray(X))
    assert not waited
    assert isinstance(found[0], cp.ndarray)
    for have, want in zip(found, grad(loss, (0, 1))(float(number), X), strict=True):
        close(have, want, 1e-6)
    t = (type(number)(1.0), on.asarray(X))
    close(jvp(loss, (number, on.asarray(X)), t)[1], jvp(loss, (0.5, X), (1.0, X))[1], 1e-6)


@pytest.mark.parametrize("number", [np.float64(0.5), np.float32(0.5)], ids=repr)
@pytest.mark.parametrize("f", [lambda s, x: x - s, lambda s, x: s + x])
@pytest.mark.parametrize("x", [X, X[0, 0]])
def test_tangents_of_numbers_beside_arrays_are_cupys(f, x, number, on, cp):
    there = on.asarray(x)
    tangent = jvp(lambda s: f(s, there), (number,), (type(number)(1.0),))[1]
    assert isinstance(tangent, cp.ndarray)
    close(tangent, f(1.5, x) - f(0.5, x))
    close(hessian(lambda s: np.sum(f(s, there) ** 2))(number), 2.0 * np.size(x))


# --------------------------------------------------------------------------- waiting for the device


@each_program
def test_nothing_waits_for_the_device(program, on):
    there = [on.asarray(a) for a in (X, W, B)]
    with count_syncs() as waited:
        value_and_grad(program, (0, 1, 2))(*there)
        y, pullback = vjp(program, *there)
        pullback(y)
        jvp(program, tuple(there), tuple(there))
    assert set(waited) <= WAITS.get(program.__name__, set())


# What a rule, or the operation itself, decides by values: how long a result is, of what dtype it
# is, or when an iteration has come to its end.
BY_VALUES = {
    "bessel_i": "how far up the recurrence begins",
    "bincount": "shape",
    "complex_outside": "dtype",
    "expm": "how often it is squared",
    "fixed_point": "iteration",
    "linear_solve": "iteration",
    "lstsq": "shape",
    "lu_factor": "whether there is a pivot",
    "minimize": "iteration",
    "odeint": "iteration",
    "real_if_close": "dtype",
    "repeat": "shape",
    "root": "iteration",
    "roots": "shape",
}


def ones(x):
    of = Coordinates(x)
    return of.tangent(np.ones(of.size))


def test_no_rule_waits_for_the_device(on):
    waiting = {}
    for operation in operations_of():
        found = [
            i for i in instances(operation) if i.sample.has_arrays and not unsupported("cupy", i)
        ]
        for instance in two_samples(found):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                operands, options = instance.build(on)
                y = operation(*operands, **options)
                y_bar, x_dots = ones(y), tuple([ones(x) for x in operands])
                with count_syncs() as seen:
                    _, pullback = rrule(operation, *operands, **options)
                    pullback(y_bar)
                    frule(x_dots, operation, *operands, **options)
            if seen and not operation.shape_from_data:
                waiting[operation.__name__] = sorted(set(seen))
    assert waiting.keys() <= BY_VALUES.keys(), waiting


def test_the_guard_waits_only_where_all_is_asked_for(on):
    x = on.asarray(X)
    memory = type_info(type(x)).memory
    with count_syncs() as seen:
        assert memory.fingerprint(x, False) == memory.fingerprint(x, False)
    assert not seen
    before = memory.fingerprint(x, True)
    x[0, 0] += 1
    assert memory.fingerprint(x, True) != before
    assert memory.owner(x[1:]) is x


def test_degenerate_points_are_reported_where_somebody_wants_to_know(on):
    from chainrules_cupy import debug
    from chainrules_py import DegeneracyWarning

    a = on.asarray(np.eye(3))
    weights = on.asarray(np.array([1.0, 2.0, 3.0]))
    loss = lambda a: np.sum(np.linalg.eigh(a)[1][:, 0] * weights)  # which vector, nothing says
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grad(loss)(a)
    with debug(), pytest.warns(DegeneracyWarning):
        grad(loss)(a)
    with v.strict(), pytest.raises(NotDifferentiableError):
        grad(loss)(a)


# ----------------------------------------------------------------------------------------- memory


def test_memory_goes_as_the_pass_goes(host, on):
    """Of a chain of 40 operations, at the end of the pass a few arrays are left."""
    x = on.asarray(np.linspace(0.1, 1.0, 10_000))
    size = x.nbytes

    def chain(x):
        for _ in range(40):
            x = np.sin(x) * 1.01
        return np.sum(x)

    grad(chain)(x)  # whatever is kept for good
    gc.collect()
    before = host.memory.live
    tape = Tape()
    leaf = tape.variable(x)
    loss = chain(leaf)
    recorded = host.memory.live - before
    host.memory.peak = host.memory.live
    g = tape.grad(loss, leaf)
    del loss, leaf
    gc.collect()
    assert recorded >= 38 * size
    assert host.memory.peak - before <= recorded + 6 * size
    assert host.memory.live - before <= 2 * size
    assert g.nbytes == size


# ---------------------------------------------------------------------------------------- devices


def test_what_rules_make_is_beside_their_operands(host, on):
    with host.device(1):
        x = on.asarray(X)
    made = [
        v.zeros_like(x),
        v.full_like(x, shape=(2,), fill=1.0),
        v.ones_like(x),
        v.arange_like(x, stop=3),
        v.eye_like(x, rows=2),
        v.to_device(on.asarray(X), device=x.device),
    ]
    assert [a.device.id for a in made] == [1] * len(made)
    assert on.asarray(X).device.id == 0


def test_two_devices_do_not_mix(host, on):
    x = on.asarray(X)
    with host.device(1):
        other = on.asarray(X)
        assert grad(lambda x: np.sum(x * x))(other).device.id == 1
    with pytest.raises(ValueError, match="device"):
        grad(lambda x: np.sum(x * other))(x)
    _, pullback = vjp(lambda x: x * 2.0, x)
    (moved,) = pullback(other)  # a seed is brought to its result's device
    assert moved.device == x.device
    close(moved, 2.0 * X)


@pytest.mark.usefixtures("takes_numpy")  # as in random programs
def test_what_flows_from_the_device_into_a_part_of_a_host_array_is_never_lost(on):
    """A part of a buffer of NumPy's is no place for what is not NumPy's: another is made."""
    c, places = on.asarray(np.array(0.3)), np.array([0, 0])
    element = grad(lambda x: c + np.tanh(np.ravel(x)[places])[0])(0.55)
    assert float(element) == pytest.approx(1 / np.cosh(0.55) ** 2)
    part = grad(lambda x: c + np.reshape(np.tanh(np.ravel(x)[places])[:1], ()))(0.55)
    assert float(part) == pytest.approx(1 / np.cosh(0.55) ** 2)


def test_where_devices_read_each_other_cupy_says_so(host, on, monkeypatch):
    """Every call that mixes them warns, the launches of a pull as well."""
    monkeypatch.setattr(host.memory, "are_peers", True)
    x = on.asarray(X)
    with host.device(1):
        other = on.asarray(X)
    loss = lambda x, y: np.sum(x * y + np.exp(y) - x)
    with pytest.warns(Warning, match="Peer access"):
        gradients = grad(loss, (0, 1))(x, other)
    for have, want in zip(gradients, grad(loss, (0, 1))(X, X), strict=True):
        close(have, want)


def test_everything_is_launched_in_the_thread_of_the_caller(host, on):
    """The current stream is a thread's own; what is launched on another may overtake."""
    import chainrules_cupy

    host.memory.threads.clear()
    grad(dense, (0, 1, 2))(*[on.asarray(a) for a in (X, W, B)])
    assert host.memory.threads == {threading.get_ident()}
    for source in Path(chainrules_cupy.__file__).parent.glob("*.py"):
        assert not re.search(r"stream=|Stream\(|synchronize|threading", source.read_text()), source


@pytest.mark.gpu
def test_a_pass_stays_on_its_stream(cp):
    """While a stream is captured nothing may be launched on another one."""
    from chainrules_py.testing import backend

    on = backend("cupy")
    there = [on.asarray(a) for a in (X, W, B)]
    loss = lambda x, w, b: np.sum(np.tanh(x * x + 1.0) ** 2) + np.sum(w * w) + np.sum(np.exp(b))
    expected = grad(loss, (0, 1, 2))(*there)  # compiles the kernels
    stream = cp.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        found = grad(loss, (0, 1, 2))(*there)
        graph = stream.end_capture()
        graph.launch()
    stream.synchronize()
    for have, want in zip(found, expected, strict=True):
        close(have, want)


# ------------------------------------------------------------------------------------ determinism


def test_sums_in_one_order(on):
    from chainrules_cupy import deterministic

    places = on.asarray(PLACES)
    loss = lambda x: (
        np.sum(x[places] ** 3) + np.sum(np.take_along_axis(x, places[None, :4], 0) ** 2)
    )
    expected = grad(
        lambda x: np.sum(x[PLACES] ** 3) + np.sum(np.take_along_axis(x, PLACES[None, :4], 0) ** 2)
    )(X)
    with deterministic():
        first = grad(loss)(on.asarray(X))
        again = grad(loss)(on.asarray(X))
    np.testing.assert_array_equal(to_numpy(first), to_numpy(again))
    close(first, expected)


@pytest.mark.parametrize("kind", ["list", "numpy", "cupy", "several"])
def test_elements_that_are_read_twice_count_twice(kind, on, cp):
    """CuPy takes lists and NumPy's arrays as places too."""
    places = {
        "list": [5, 0, 0, 3, 5],
        "numpy": PLACES,
        "cupy": on.asarray(PLACES),
        "several": (PLACES, on.asarray(np.array([0, 1, 1, 0, 0]))),
    }[kind]
    plain = (PLACES, np.array([0, 1, 1, 0, 0])) if kind == "several" else PLACES
    close(
        grad(lambda x: np.sum(x[places] ** 3))(on.asarray(X)),
        grad(lambda x: np.sum(x[plain] ** 3))(X),
    )
    if kind != "several":
        close(
            grad(lambda x: np.sum(np.take(x, places, 0) ** 3))(on.asarray(X)),
            grad(lambda x: np.sum(np.take(x, plain, 0) ** 3))(X),
        )


def test_the_last_of_several_writes_stays(on):
    places = on.asarray(np.array([1, 1, 0, 1]))
    pattern, arrays = v.Index.split(places)
    written = v.put_at(
        on.asarray(np.zeros(3)), on.asarray(np.arange(1.0, 5)), *arrays, index=pattern
    )
    np.testing.assert_array_equal(to_numpy(written), [3.0, 4.0, 0.0])


# ------------------------------------------------------------------------- CuPy's own functions

BY_CUPY = {
    "ufunc": lambda cp, x: cp.sum(cp.sin(x) * cp.exp(x) + cp.maximum(x, 0.5)),
    "where": lambda cp, x: cp.sum(cp.where(x > 0, x * x, -x)),
    "reductions": lambda cp, x: cp.mean(x) + cp.std(x) + cp.max(x) + cp.prod(x[0]),
    "manipulation": lambda cp, x: cp.sum(cp.flip(x.T.reshape(6, 4), 0) * x),
    "norm": lambda cp, x: cp.linalg.norm(x) + cp.trace(x[:4]),
    "methods": lambda cp, x: (x.swapaxes(0, 1) @ x).sum(axis=0).cumsum().max(),
    "dot": lambda cp, x: cp.sum(cp.dot(x.T, x)) + cp.sum(cp.outer(x[0], x[1])),
    "deleted by a mask": lambda cp, x: np.sum(np.delete(x[0], x[0] > 0) ** 2),
    "deleted at places": lambda cp, x: np.sum(np.delete(x, cp.asarray([1, 3]), axis=0) ** 2),
    "added": lambda cp, x: changed(np.add, x),
    "subtracted": lambda cp, x: changed(np.subtract, x),
    "in place": lambda cp, x: cp.sum(cp.add(x, x.copy()) / (1.0 + x * x)),
}


def changed(ufunc, x):
    z = 2.0 * x
    for places, value in (([0, 0], 1.0), ([], x[:0]), ((1, [2, 2]), x[0, :2])):
        ufunc.at(z, places, value)
    return np.sum(z**2)


@pytest.mark.parametrize("name", BY_CUPY)
def test_functions_of_cupy_on_what_is_traced(name, on, cp):
    f, g = (lambda x: BY_CUPY[name](cp, x)), (lambda x: BY_CUPY[name](np, x))
    close(grad(f)(on.asarray(X)), grad(g)(X))
    close(jvp(f, (on.asarray(X),), (on.asarray(X),))[1], jvp(g, (X,), (X,))[1])


def test_a_copy_has_second_derivatives(on, cp):
    f = lambda x: np.sum(x.copy() ** 3)
    close(hvp(f, (on.asarray(X),), (on.asarray(X),))[0], hvp(f, (X,), (X,))[0])


@pytest.mark.parametrize(
    "write, instead",
    [
        (lambda cp, x: cp.concatenate([x, x]), "np.concatenate"),
        (lambda cp, x: cp.linalg.solve(x[:4], x[:4]), "np.linalg.solve"),
        (lambda cp, x: cp.pad(x, 1), "np.pad"),
        (lambda cp, x: cp.cumsum(x), "np.cumsum"),
    ],
)
def test_functions_of_cupy_that_cannot_ask_say_what_to_write(write, instead, on, cp):
    for differentiate in (
        lambda: grad(lambda x: np.sum(write(cp, x)))(on.asarray(X)),
        lambda: jvp(lambda x: write(cp, x), (on.asarray(X),), (on.asarray(X),)),
    ):
        with pytest.raises((TypeError, AttributeError, ValueError)) as caught:
            differentiate()
        assert instead in "".join(caught.value.__notes__)


@pytest.mark.parametrize(
    "write", [lambda cp, *xs: cp.broadcast_arrays(*xs), lambda cp, *xs: cp.broadcast(*xs).values]
)
def test_a_broadcast_does_not_pass_over_what_is_traced(write, on, cp):
    x, table = on.asarray(X[0]), on.asarray(X)
    assert [y.shape for y in write(cp, x, table)] == [X.shape, X.shape]
    with pytest.raises(NotDifferentiableError, match=r"write np\.broadcast_arrays"):
        grad(lambda x: np.sum(write(cp, x, table)[0] ** 2))(x)
    g = grad(lambda x: np.sum(np.broadcast_arrays(x, table)[0] ** 2))(x)
    close(g, 2 * len(X) * X[0])


@pytest.mark.parametrize(
    "write, instead",
    [
        (lambda cp, x: cp.nan_to_num(x, nan=1.0), "use np.nan_to_num(x, nan=1.0)"),
        (lambda cp, x: cp.bincount(x.T.shape, weights=x), "use np.bincount(x.T.shape, weights=x)"),
        (lambda cp, x: cp.average(x, weights=x), "use np.average(x, weights=x)"),
        (lambda cp, x: cp.angle(x, deg=True), "use np.angle(x, deg=True)"),
        (lambda cp, x: cp.isin(x, x, invert=True), "use np.isin(x, x, invert=True)"),
    ],
)
def test_functions_of_cupy_are_written_with_all_arguments(write, instead, on, cp):
    with pytest.raises((TracerError, NotDifferentiableError), match=re.escape(instead)):
        vjp(lambda x: write(cp, x), on.asarray(X[0, :2]))


def test_a_sum_at_places_is_written_with_numpys_function(cp, tmp_path):
    """By CuPy's own function, which is another one on the host."""
    program = tmp_path / "sums.py"  # its line is read
    program.write_text("""
import numpy as np, cupyx, chainrules_cupy
from chainrules_tape import grad

try:
    grad(lambda x: cupyx.scatter_add(np.zeros(2), [0], x))(np.ones(2))
except Exception as error:
    print(error)
""")
    assert "use np.add.at(np.zeros(2), [0], x)" in fresh_python(
        f"import runpy; runpy.run_path({str(program)!r}, run_name='__main__')"
    )


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_powers_of_a_vector_have_the_dtype_of_cupy(dtype, on):
    x = X[0].astype(dtype)
    y, pullback = vjp(lambda x: np.vander(x, 3), on.asarray(x))
    assert y.dtype == np.vander(x, 3).dtype
    close(y, np.vander(x, 3))
    assert pullback(y)[0].dtype == dtype


def test_kernels_of_the_users_say_what_to_write(on, cp):
    kernel = cp.ElementwiseKernel("T x", "T y", "y = x * x", "squares")
    with pytest.raises(NotDifferentiableError, match="primitive"):
        grad(lambda x: np.sum(kernel(x)))(on.asarray(X))


@pytest.mark.parametrize(
    "name", ["erf", "gammaln", "xlogy", "expit", "logit", "i0e", "cbrt", "exp2", "expm1", "log1p"]
)
def test_ufuncs_of_cupyx(name, on, cp):
    ours, theirs = (getattr(m, name) for m in (special_of_cupy(), scipy.special))
    given = [np.abs(X) / 4] * ours.nin
    close(
        grad(lambda *xs: np.sum(ours(*xs)))(*map(on.asarray, given)),
        grad(lambda *xs: np.sum(theirs(*xs)))(*given),
    )


def special_of_cupy():
    return importlib.import_module("cupyx.scipy.special")


def test_functions_of_cupyx(on, cp):
    special, x = special_of_cupy(), on.asarray(X)
    y, pullback = rrule(special.softmax, x, axis=1)
    close(y, scipy.special.softmax(X, 1))
    close(pullback(y)[0], rrule(v.softmax, X, axis=1)[1](to_numpy(y))[0])
    with pytest.raises(TypeError) as caught:
        grad(lambda x: np.sum(special.log_softmax(x)))(x)
    assert "chainrules_scipy.special.log_softmax" in "".join(caught.value.__notes__)
    a = on.asarray(X[:4] + 4 * np.eye(4))
    with pytest.raises((TypeError, AttributeError)) as caught:
        grad(lambda a: np.sum(importlib.import_module("cupyx.scipy.linalg").expm(a)))(a)
    assert "chainrules_scipy.linalg.expm" in "".join(caught.value.__notes__)
    close(
        grad(lambda a: np.sum(chainrules_scipy.linalg.expm(a / 8)))(a),
        grad(lambda a: np.sum(chainrules_scipy.linalg.expm(a / 8)))(to_numpy(a)),
    )


def test_rules_of_cupys_own_functions(on, cp):
    x = on.asarray(X)
    for f, g, options in (
        (cp.sin, np.sin, {}),
        (cp.sum, np.sum, {"axis": 0}),
        (cp.linalg.inv, np.linalg.inv, {}),
        (cp.concatenate, np.concatenate, None),
    ):
        given, numbers = (x[:4], X[:4]) if f is cp.linalg.inv else (x, X)
        if options is None:
            close(rrule(f, (x, x))[1](f((x, x)))[0][1], X)
            continue
        y, pullback = rrule(f, given, **options)
        expected, pull = rrule(g, numbers, **options)
        close(y, expected)
        close(pullback(y)[0], pull(expected)[0])


def test_a_keyword_that_cupy_does_not_take_is_none(on, cp):
    from chainrules_py import UnsupportedKeywordError

    with pytest.raises((TypeError, UnsupportedKeywordError), match="where"):
        grad(lambda x: cp.sum(x, where=True))(on.asarray(X))
    mask = on.asarray(X > 0)
    close(grad(lambda x: np.sum(x * x, where=mask))(on.asarray(X)), 2 * X * (X > 0))


def fresh_python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_nothing_imports_cupy_that_speaks_of_other_libraries():
    assert (
        fresh_python(
            "import sys, numpy as np, chainrules_py, chainrules_numpy, chainrules_tape as t;"
            "t.grad(lambda x: np.sum(np.sin(x)))(np.ones(3)); print('cupy' in sys.modules)"
        )
        == "False"
    )


def test_rows_of_ufuncs_that_do_not_say_their_module(cp):
    """As CuPy's, which are looked at here as they are: not on the host."""
    assert (
        fresh_python(
            "from chainrules_py.primitives.plugins import see;"
            "from chainrules_py.primitives.aliases.alias import aliases;"
            "import cupy; see(cupy.sin, [cupy.ndarray]); import cupyx.scipy.special as s;"
            "see(s.erf, [cupy.ndarray]); print(*[aliases[f].operation for f in (cupy.sin, s.erf)])"
        )
        == "<primitive sin> <primitive erf>"
    )


def test_lists_beside_arrays_become_cupys(on, cp):
    close(
        grad(lambda x: np.sum(np.append(x[0], [1.0, 2.0]) ** 2))(on.asarray(X)),
        grad(lambda x: np.sum(np.append(x[0], [1.0, 2.0]) ** 2))(X),
    )
    with pytest.raises(TypeError):  # as without a tape
        grad(lambda x: np.sum(x + np.ones(4)))(on.asarray(X))


@pytest.mark.parametrize("x, axis", [(X[0], None), (X, 1)])
def test_weights_of_numpys_are_brought_to_the_array(x, axis, on, cp):
    w = np.arange(1.0, 5.0)
    f = lambda x: np.sum(np.average(x, axis=axis, weights=w) ** 2)
    close(grad(f)(on.asarray(x)), grad(f)(x))


def test_buffers_are_made_in_the_library_of_what_they_are_like(on, cp):
    """They were NumPy's, into which nothing of CuPy's can be written."""

    def filled(x):
        z = np.zeros(3, like=x)
        z[0] = x[1] * 2
        z[1:] = x[:2] ** 2
        return np.sum(z * z * np.arange(3.0, like=x)) + np.sum(np.eye(4, like=x) * x)

    x = np.arange(1.0, 5.0)
    close(grad(filled)(on.asarray(x)), grad(filled)(x))
    close(hvp(filled, (on.asarray(x),), (on.asarray(x),))[0], hvp(filled, (x,), (x,))[0])
