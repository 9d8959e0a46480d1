"""A library that nobody here has heard of, brought by the standard alone: what the page shows."""

from __future__ import annotations

import importlib.util
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from chainrules_py import NoRuleError, rrule
from chainrules_py import ops as v
from chainrules_py.testing import to_numpy
from chainrules_py.testing.cases.backends import Backend, backend
from chainrules_py.testing.cases.calls_from_samples import instances
from chainrules_py.testing.cases.coordinates import Coordinates
from chainrules_py.testing.sample_runs import operations_of
from chainrules_py.values.structure import fields_of, is_structure_type
from chainrules_tape import grad, hvp, jacobian, jvp, value_and_grad

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "bring-an-array-library.md"


def load(name):
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


fourth = load("fourth")
xp = fourth.NAMESPACE


def shown():
    """The lines of the page that bring a library."""
    found = re.search(r"<!-- fourth library -->\n+```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return [line for line in found[1].splitlines() if line.strip()]


def bring():
    """Run them, with this library in the place of the one that they name."""
    exec("\n".join(shown()), {"yours": type("yours", (), {"Array": fourth.Array, "xp": xp})})


bring()


def asarray(x):
    return fourth.Array(fourth.strict.asarray(np.asarray(x), device=fourth.DEVICE))


def numbers(x):
    if is_structure_type(type(x)):
        return [n for _, field in fields_of(x) for n in numbers(field)]
    if isinstance(x, fourth.Array):
        assert x.device == fourth.DEVICE
        return [to_numpy(x._x)]
    return [x] if isinstance(x, (np.ndarray, np.generic)) else []


class Fourth(Backend):
    xp = xp
    device = fourth.DEVICE

    def asarray(self, x):
        return asarray(x)


FOURTH = Fourth("fourth", "array_api_strict")


def test_it_takes_ten_lines_at_most():
    assert len(shown()) <= 10


def test_without_them_it_is_no_array():
    class Array(fourth.Array):
        __slots__ = ()

        def __add__(self, other):
            return NotImplemented

    with pytest.raises(NoRuleError):
        rrule(v.sin, Array(asarray([1.0])._x))


W, X = np.linspace(-1.0, 1.0, 4), np.random.default_rng(0).standard_normal((5, 4))
PROGRAMS = {
    "elementwise": lambda w, x: v.sum(v.tanh(x * w) ** 2 + v.exp(-x) / (1.0 + w * w)),
    "matmul": lambda w, x: v.sum((x @ w) ** 3),
    "softmax": lambda w, x: v.sum(v.log_softmax(x * w, axis=1)[:, 0]),
    "log-likelihood": lambda w, x: v.sum(v.logaddexp(x @ w, 0.0 * w[0])),
    "slices": lambda w, x: v.sum(v.sin(x[1:, :2] * w[2:] - x[:-1, 2:])),
    "steps": lambda w, x: v.sum(x[::-2, 1] * w[0]) + x[-1, -1],
    "places": lambda w, x: v.sum(v.take(x, asarray([0, 0, 3]), axis=0) @ w),
    "sort": lambda w, x: v.sum(v.sort(x, axis=0)[:2, :] * w),
    "solve": lambda w, x: v.sum(v.solve(v.matrix_transpose(x) @ x, w)),
    "writes": lambda w, x: written(w, x),
}


def written(w, x):
    z = x * w
    z[1:3] = w
    z[0, 0] = 2.0
    z *= z
    return v.sum(z)


def numpys(f):
    """The same program of NumPy's arrays: places are NumPy's."""

    def program(w, x):
        global asarray
        ours, asarray = asarray, np.asarray
        try:
            return f(w, x)
        finally:
            asarray = ours

    return program


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_have_the_derivatives_of_numpy(name):
    f, g = PROGRAMS[name], numpys(PROGRAMS[name])
    w, x = asarray(W), asarray(X)
    value, slopes = value_and_grad(f, (0, 1))(w, x)
    expected, bars = value_and_grad(g, (0, 1))(W, X)
    assert isinstance(value, fourth.Array)
    for a, b in zip([value, *slopes], [expected, *bars], strict=True):
        np.testing.assert_allclose(numbers(a)[0], b, rtol=1e-11, atol=1e-12)
    forward = jvp(f, (w, x), (w, x))[1]
    np.testing.assert_allclose(numbers(forward)[0], jvp(g, (W, X), (W, X))[1], rtol=1e-11)
    bent = hvp(lambda w: f(w, x), (w,), (w,))
    np.testing.assert_allclose(
        numbers(bent[0])[0], hvp(lambda w: g(w, X), (W,), (W,))[0], atol=1e-11
    )


def test_jacobians():
    found = jacobian(lambda w: v.sin(asarray(X) @ w))(asarray(W))
    np.testing.assert_allclose(numbers(found)[0], np.cos(X @ W)[:, None] * X, rtol=1e-12)


def test_operators_with_numbers_and_arrays_from_both_sides():
    x = asarray(W)
    found = grad(lambda w: v.sum((2.0 - w) * x + x * w - w / 4 + (x - w) ** 2))(x)
    np.testing.assert_allclose(
        numbers(found)[0], grad(lambda w: np.sum((2.0 - w) * W + W * w - w / 4 + (W - w) ** 2))(W)
    )


@pytest.mark.parametrize("s", [2.0, asarray(2.0)], ids=["float", "array"])
def test_traced_numbers_stand_on_either_side_of_arrays(s):
    x = asarray(W)
    found = grad(lambda s: v.sum(x * s - s * s * x + (x - s) ** 2 + x / s))(s)
    wanted = np.sum(W - 4.0 * W - 2.0 * (W - 2.0) - W / 4.0)
    np.testing.assert_allclose(numbers(found)[0], wanted)


# ------------------------------------------------------------------- what the standard covers

_LINALG = (v.matmul, v.vecdot, v.tensordot, v.matrix_transpose, v.inv, v.solve, v.det, v.cholesky)
COVERED = (
    *(v.add, v.multiply, v.divide, v.pow, v.sin, v.tanh, v.exp, v.log, v.sqrt, v.abs, v.hypot),
    *(v.maximum, v.where, v.clip_below, v.logaddexp, v.atan2, v.square, v.sign, v.expm1),
    *(v.sum, v.prod, v.max, v.mean, v.cumulative_sum, v.vector_norm, v.logsumexp, v.softmax),
    *(
        v.reshape,
        v.permute_dims,
        v.broadcast_to,
        v.flip,
        v.roll,
        v.tile,
        v.repeat,
        v.pad,
        v.squeeze,
    ),
    *(v.getitem, v.scatter_add, v.put_at, v.take, v.take_along_axis, v.put_along_axis_add),
    *(v.concat, v.stack, v.sort, v.order_statistics, v.diagonal, v.trace, v.einsum, v.fft, v.irfft),
    *_LINALG,
)
REFUSALS = (NoRuleError, TypeError, ValueError, IndexError, AttributeError)


def agree(instance):
    """Value and cotangents as NumPy has them; False if the library has no such function."""
    sample = instance.sample
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        operands, options = instance.build(backend("numpy"))
        expected, back = rrule(instance.operation, *operands, **options)
        try:
            operands, options = instance.build(FOURTH)
            y, pullback = rrule(instance.operation, *operands, **options)
            seed = np.random.default_rng(0).standard_normal(Coordinates(expected).size)
            bars = pullback(mirrored(Coordinates(expected).tangent(seed)))
            found = numbers(sample.gauge(y) if sample.gauge else y)
        except REFUSALS:
            return False
        wanted = numbers(sample.gauge(expected) if sample.gauge else expected)
        others = back(Coordinates(expected).tangent(seed))
    for a, b in zip(found, wanted, strict=False):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)
    if sample.gauge is None:
        for bar, other in zip(bars, others, strict=True):
            for a, b in zip(numbers(bar), numbers(other), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
    return True


def mirrored(t):
    if is_structure_type(type(t)) or hasattr(t, "fields"):
        raise TypeError("of one result")
    return asarray(t) if isinstance(t, (np.ndarray, np.generic)) else t


def samples(operation):
    found = [i for i in instances(operation) if i.sample.has_arrays]
    return [i for i in found if "array_api_strict" not in i.sample.without]


@pytest.mark.parametrize("operation", COVERED, ids=lambda operation: operation.__name__)
def test_operation_has_the_numbers_of_numpy(operation):
    done = [agree(i) for i in samples(operation)[:4]]
    assert any(done)


@pytest.mark.slow
@pytest.mark.parametrize("operation", operations_of(), ids=lambda operation: operation.__name__)
def test_no_operation_has_other_numbers_than_numpy(operation):
    for instance in samples(operation):
        agree(instance)
