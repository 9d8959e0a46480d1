"""Dask: programs that are recorded without computing anything, and sums over blocks."""

from __future__ import annotations

import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
import types
import warnings
from pathlib import Path

import cloudpickle
import dask
import dask.array as da
import numpy as np
import pytest
import scipy.special

import chainrules_tape
from chainrules_dask import map_reduce_grad, row_blocks
from chainrules_py import (
    ChainRulesError,
    MutationError,
    NotDifferentiableError,
    TracerError,
    ZeroTangent,
    frule,
    rrule,
)
from chainrules_py import ops as v
from chainrules_py.tangents.structural import Tangent, map_fields
from chainrules_py.testing.cases.backends import Backend, backend
from chainrules_py.testing.cases.calls_from_samples import instances
from chainrules_py.testing.cases.coordinates import Coordinates
from chainrules_py.testing.sample_runs import operations_of
from chainrules_py.values.structure import fields_of, is_structure_type
from chainrules_tape import grad, hvp, jvp, value_and_grad

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import tests

X = np.random.default_rng(0).standard_normal((40, 6))
W = np.linspace(-1.0, 1.0, 6)


def lazy_x():
    return da.from_array(X, chunks=(7, 4))


def lazy_w():
    return da.from_array(W, chunks=4)


class Counting:
    """A scheduler that counts what it is asked to compute."""

    def __init__(self):
        self.n = 0

    def __call__(self, graph, keys, **keywords):
        self.n += 1
        return dask.get(graph, keys, **keywords)


@pytest.fixture
def computed():
    counting = Counting()
    with dask.config.set(scheduler=counting):
        yield counting


# ------------------------------------------------------------------------------ whole programs


def written(w, x):
    z = x * w
    z[3:5] = z[0:2] * w
    z[::3, ::-2] = 1.0
    z *= 2
    return np.sum(z**2)


def written_by_masks(w, x):
    z = x * w
    z[z > 0.2] = 0.5
    z[z[:, 0] < 0] = np.arange(6.0)
    z[np.arange(40) == 3] = x[7:8] * w
    z[:, [True, False] * 3] = x[:, :3]
    return np.sum(z**2 * x)


def filled(w, x):
    z = np.zeros(6, like=w)
    z[0] = w[1] * 2
    z[1:] = w[:5] ** 2
    return np.sum(z * z * x)


W2, ZERO = da.from_array(W**2), da.from_array(np.array([0]))
PROGRAMS = {
    "elementwise": lambda w, x: np.sum(np.tanh(x * w) ** 2 + np.exp(-x)),
    "operators": lambda w, x: ((x - w) / (1 + w**2)).sum(),
    "matmul": lambda w, x: np.sum((x @ w) ** 3),
    "gram": lambda w, x: np.sum((x.T @ (x * w)) ** 2),
    "dot": lambda w, x: np.dot(x, w).sum() + np.vdot(w, w),
    "tensordot": lambda w, x: np.tensordot(x, w, axes=(1, 0)).sum(),
    "tensordot, axes from the end": lambda w, x: np.sum(
        np.tensordot(x * w, x[..., None], axes=(-2, 0)) ** 2
    ),
    "methods": lambda w, x: np.sum((x * w).copy().dot(w.real) ** 3),
    "einsum": lambda w, x: np.einsum("ij,j,kj->", x, w, x),
    "outer": lambda w, x: np.sum(np.outer(w, w) @ x.T),
    "logistic": lambda w, x: np.sum(np.logaddexp(0.0, x @ w) - (x[:, 0] > 0) * (x @ w)),
    "log-sum-exp": lambda w, x: np.sum(np.log(np.sum(np.exp(x * w), axis=1))),
    "mean, std, var": lambda w, x: np.mean((x * w).std(axis=0)) + np.var(x @ w),
    "norm": lambda w, x: np.linalg.norm(x * w) + np.linalg.norm(x * w, axis=0).sum(),
    "function of Dask's that is made of NumPy's": lambda w, x: (
        da.linalg.norm(x * w) + da.sin(w).sum()
    ),
    "max": lambda w, x: np.sum(np.max(x * w, axis=1)) + np.min(x),
    "prod": lambda w, x: np.prod(1 + 0.01 * x * w),
    "cumsum": lambda w, x: np.sum(np.cumsum(x * w, axis=0) ** 2),
    "where": lambda w, x: np.sum(np.where(x > 0, x * w, w**2)),
    "clip": lambda w, x: np.clip(x * w, -0.5, 0.5).sum(),
    "slices": lambda w, x: np.sum(np.sin(x[1:, :3] * w[:3] - x[:-1, 3:] * w[3:])),
    "steps": lambda w, x: np.sum((x[::-2, 1::3] * w[1::3]) ** 2) + x[-1, 2] * w[0],
    "places": lambda w, x: np.sum(x[:, np.array([0, 0, 2])] * w[np.array([1, 1, 5])]),
    "table of places": lambda w, x: np.sum(w[np.array([[0, 1], [1, 5]])] ** 2) * x[0, 0],
    "lists of places": lambda w, x: (
        np.sum(np.broadcast_to(x[:5][[0]], (3, 6)) ** 2)
        + np.sum(x[:, None, [1, 0]] ** 2)
        + np.sum(np.take(w[:3], [0]) * np.take(x, 2, axis=0) ** 2)
    ),
    "a place in the graph": lambda w, x: np.sum(x[da.argmax(W2)] * w) + np.sum(x[:5][ZERO] ** 2),
    "known masks": lambda w, x: np.sum(x[np.arange(40) % 3 == 0] ** 2 * w[[True] * 6]),
    "concatenate": lambda w, x: np.sum(np.concatenate([x * w, x - w]) ** 3),
    "stack": lambda w, x: np.sum(np.stack([w, w * 2]) @ x.T),
    "reshape": lambda w, x: np.sum((x * w).T.reshape(-1)[7:] ** 2),
    "roll, flip, pad": lambda w, x: (
        np.sum(np.roll(x * w, 3, axis=0) * np.flip(x)) + np.pad(w, 1)[1]
    ),
    "expand, squeeze": lambda w, x: np.sum(np.squeeze(np.expand_dims(w, 0)) * x),
    "diff": lambda w, x: np.sum(np.diff(x * w, axis=0) ** 2),
    "sort, median": lambda w, x: (
        np.sum(np.sort(x * w, axis=0)[:5]) + np.sum(np.median(x * w, axis=0))
    ),
    "fft": lambda w, x: np.sum(np.abs(np.fft.fft(x * w, axis=0)) ** 2),
    "special": lambda w, x: (
        np.sum(scipy.special.erf(x * w)) + np.sum(scipy.special.xlogy(2.0, w + 2))
    ),
    "slogdet": lambda w, x: np.linalg.slogdet((x.T @ (x * w**2)).rechunk(-1))[1],
    "solve": lambda w, x: np.sum(np.linalg.solve((x.T @ x).rechunk(-1), w.rechunk(-1))),
    "pinv": lambda w, x: np.sum(np.linalg.pinv((x * w).rechunk(-1)) ** 2),
    "writes": written,
    "writes by masks": written_by_masks,
    "a buffer that is filled": filled,
    "made like it": lambda w, x: np.sum((np.eye(6, like=w) * w) @ np.arange(6.0, like=w)) * x[0, 0],
    "chunks as they are": lambda w, x: np.sum(x.rechunk(x.chunks) * w) * x.npartitions,
    "functions of other keywords in Dask": lambda w, x: np.sum(
        w * np.nanargmax(x, axis=0) * np.isin(np.round(x[0]), [0, 1])
    ),
    "Bessel function": lambda w, x: np.sum(np.i0(x * w)),
    "float32": lambda w, x: np.sum(x.astype(np.float32) * w),
    "complex": lambda w, x: np.sum(np.abs(np.exp(1j * x) * w - x) ** 2),
}


def close(found, expected):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(
            np.asarray(a), b, rtol=1e-5 if a.dtype == np.float32 else 1e-9, atol=1e-9
        )


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_is_lazy_and_has_the_derivatives_of_numpy(name, computed):
    f = PROGRAMS[name]
    w, x = lazy_w(), lazy_x()
    value, slopes = value_and_grad(f, (0, 1))(w, x)
    _, y_dot = jvp(f, (w, x), (x[0], x))
    assert computed.n == 0
    assert all(isinstance(t, da.Array) for t in (value, *slopes, y_dot))
    value, slopes, y_dot = dask.compute(value, slopes, y_dot)
    assert computed.n == 1
    f = BY_HAND.get(name, f)
    expected, bars = value_and_grad(f, (0, 1))(W, X)
    close([value, *slopes], [expected, *bars])
    close([y_dot], [jvp(f, (W, X), (X[0], X))[1]])


BY_HAND = {
    "a place in the graph": lambda w, x: np.sum(x[0] * w) + np.sum(x[:1] ** 2),
    "chunks as they are": lambda w, x: np.sum(x * w) * 12,
    "function of Dask's that is made of NumPy's": lambda w, x: (
        np.linalg.norm(x * w) + np.sin(w).sum()
    ),
    "slogdet": lambda w, x: np.linalg.slogdet(x.T @ (x * w**2))[1],
    "solve": lambda w, x: np.sum(np.linalg.solve(x.T @ x, w)),
    "pinv": lambda w, x: np.sum(np.linalg.pinv(x * w) ** 2),
}


@pytest.mark.parametrize(
    "name", ["elementwise", "matmul", "methods", "steps", "max", "writes", "sort, median"]
)
def test_second_derivatives_are_lazy_too(name, computed):
    f = PROGRAMS[name]
    found = hvp(lambda w: f(w, lazy_x()), (lazy_w(),), (lazy_w() * 0.5,))
    bent = grad(lambda w: np.sum(grad(lambda w: f(w, lazy_x()))(w) * W))(lazy_w())
    assert computed.n == 0
    close(dask.compute(*found), hvp(lambda w: f(w, X), (W,), (W * 0.5,)))
    close([bent.compute()], [grad(lambda w: np.sum(grad(lambda w: f(w, X))(w) * W))(W)])


@pytest.mark.parametrize("w", [W, 0.5, np.float64(0.5)], ids=["array", "float", "scalar"])
def test_parameters_may_be_numpys(w, computed):
    """Its cotangents are Dask's until they are computed; one that was summed had no device."""
    f = PROGRAMS["elementwise"]
    value, slope = value_and_grad(f)(w, lazy_x())
    assert computed.n == 0
    close(dask.compute(value, slope), value_and_grad(f)(w, X))


def test_gradients_keep_the_chunks_of_the_program():
    """Dask's own recipe for ``x * 2`` moves nothing; nor does its gradient."""
    x = lazy_x()
    slope = grad(lambda x: np.sum(np.sin(x[2:] * 2.0)))(x)
    assert slope.chunks[0] == (2, 5, 7, 7, 7, 7, 5)
    assert grad(lambda x: np.sum(np.sin(x)))(x).chunks == x.chunks


def strided(x):
    z = x * 1
    z[::2] = 2
    return z


DTYPES = {
    "large power": (lambda x: np.float_power(x, 25), [7, 2], "i8"),
    "negative power": (lambda x: np.float_power(x, -2), [7, 2], "i8"),
    "power of float32": (lambda x: np.float_power(x, [2, 1]), [1e20, 2], "f4"),
    "absolute value": (np.fabs, [-128, 3], "i1"),
    "step": (lambda x: np.heaviside(x, 1), [-1, 0], "i8"),
    "strided write": (strided, [1, 2, 3], "c8"),
    "reshape of nothing": (lambda x: np.reshape(x[:0], (0, 3)), [1, 2], "f4"),
    "percentiles": (lambda x: np.percentile(x[:1], [10, 40], axis=0), [1, 2], "f4"),
    "vander": (lambda x: np.vander(x, 3), [1, 2], "f4"),
}


@pytest.mark.parametrize("name", DTYPES)
def test_dtype_is_that_of_numpy(name):
    f, numbers, dtype = DTYPES[name]
    x = np.array(numbers, dtype)
    lazy = da.from_array(x, chunks=1)
    y, expected = jvp(f, (lazy,), (lazy,))[0], f(x)
    assert y.dtype == y.compute().dtype == expected.dtype
    np.testing.assert_array_equal(y, expected)


def test_matrices_may_have_other_chunks_than_right_sides():
    a = np.random.default_rng(0).standard_normal((5, 3, 3)) + 5 * np.eye(3)
    lazy = da.from_array(a, chunks=(2, 3, 3))
    b = da.from_array(a[:, :, :1], chunks=(3, 3, 1))
    f = lambda a, b: np.sum(np.linalg.solve(a, b) ** 2)
    close(grad(f, (0, 1))(lazy, b), grad(f, (0, 1))(a, a[:, :, :1]))
    close([grad(lambda b: f(lazy, b))(lazy)], [grad(lambda b: f(a, b))(a)])


def tasks_of_elements(n):
    def f(x):
        z = np.zeros_like(x, shape=(n,))
        for i in range(n):
            z[i] = x[i] * 2
        return np.sum(z**2)

    slope = grad(f)(da.arange(float(n), chunks=n))
    np.testing.assert_array_equal(slope, 8 * np.arange(n))
    return len(slope.__dask_graph__())


def test_tasks_grow_with_the_elements_that_are_written():
    assert tasks_of_elements(32) < 2.2 * tasks_of_elements(16)


def test_a_structure_of_parameters(computed):
    params = {"w": lazy_w(), "b": 0.5}
    f = lambda p, x: np.sum(np.tanh(x @ p["w"] + p["b"]))
    value, slope = dask.compute(*value_and_grad(f)(params, lazy_x()))
    assert computed.n == 1
    expected, bars = value_and_grad(f)({"w": W, "b": 0.5}, X)
    close([value, slope["w"], slope["b"]], [expected, bars["w"], bars["b"]])


def test_dask_functions_have_the_rules_of_numpys():
    for f, g in ((da.sin, np.sin), (da.sum, np.sum), (da.Array.mean, np.mean)):
        y, pullback = rrule(f, lazy_x())
        expected, back = rrule(g, X)
        close(
            [y.compute(), pullback(da.ones_like(y))[0].compute()],
            [expected, back(np.ones_like(expected))[0]],
        )
    assert frule((lazy_w(),), da.exp, lazy_w())[1].shape == (6,)


# ------------------------------------------------------------------------------------ refusals

MASK = lazy_x() > 0
KNOWN_NOT = lazy_w()[lazy_w() > 0]

REFUSED = {
    "mask": (lambda x: np.sum(x[MASK]), "np.where"),
    "flag": (lambda x: np.sum(x[True]), "x[None]"),
    "several places": (lambda x: np.sum(x[np.array([0, 1]), np.array([1, 2])]), "x[places]"),
    "write at places": (lambda x: written_at(x, np.array([0, 0])), "np.where"),
    "svd": (lambda x: np.sum(np.linalg.svd(x)[1]), "x.compute"),
    "qr": (lambda x: np.sum(np.linalg.qr(x)[1]), "x.compute"),
    "lstsq": (lambda x: np.sum(np.linalg.lstsq(x, x)[0]), "x.compute"),
    "det over chunks": (lambda x: np.linalg.det(x.T @ x), "rechunk"),
    "bincount": (lambda x: np.sum(np.bincount(da.ones(40, dtype=int), x[:, 0])), "np.sum"),
    "da.sum": (lambda x: da.sum(x), "np.sum"),
    "da.tensordot": (lambda x: da.tensordot(x, x, 2), "np.tensordot"),
    "da.map_blocks": (lambda x: da.map_blocks(np.sin, x).sum(), "map_reduce_grad"),
    "float": (lambda x: float(np.sum(x)) * 1.0, "use np.sum(x)"),
    "da.where": (lambda x: np.sum(da.where(x > 0, x, 0.0)), "np.where"),
    "da.concatenate": (lambda x: np.sum(da.concatenate([x, x])), "np.concatenate"),
    "da.stack": (lambda x: np.sum(da.stack([x, x])), "np.stack"),
    "da.einsum": (lambda x: da.einsum("ij->", x), "np.einsum"),
    "da.dot": (lambda x: np.sum(da.dot(lazy_x().T, x)), "np.dot"),
    "da.asarray": (lambda x: np.sum(da.asarray(x)), "; use x"),
    "da.cumsum": (lambda x: np.sum(da.cumsum(x, axis=0)), "use np.cumsum(x, axis=0)"),
    "da.linalg.inv": (lambda x: np.sum(da.linalg.inv(x)), "use np.linalg.inv(x)"),
    "da.fft.fft": (lambda x: np.sum(da.fft.fft(x)), "use np.fft.fft(x)"),
    "write of one traced value by mask": (
        lambda x: written_at(x, MASK, x[0, 0]),
        "np.where(mask, y",
    ),
    "da.from_array": (lambda x: np.sum(da.from_array(x)), "NumPy's functions"),
    "da.reshape": (lambda x: np.sum(da.reshape(x, (-1,))), "np.reshape"),
    "da.std": (lambda x: da.std(x), "np.std"),
    "put_along_axis": (lambda x: put_along(x), "places"),
    "put_along_axis of plain": (lambda x: put_plain(x), "plain"),
    "unknown chunks": (lambda x: np.sum(x[0, 0] * KNOWN_NOT), "compute_chunk_sizes"),
}


def written_at(x, where, y=0.0):
    x[where] = y
    return np.sum(x)


def put_along(x):
    z = x * 1.0
    np.put_along_axis(z, np.array([[0, 1, 2, 3, 4, 5]]), 0.0, axis=0)
    return np.sum(z)


def put_plain(x):
    z = da.zeros((40, 6))
    np.put_along_axis(z, np.zeros((1, 6), int), x[:1], axis=0)
    return np.sum(z * x)


@pytest.mark.parametrize("name", REFUSED)
def test_what_dask_cannot_do_is_refused_with_the_line_to_write(name, computed):
    f, line = REFUSED[name]
    with pytest.raises((ChainRulesError, TypeError, ValueError, AttributeError)) as caught:
        grad(f)(lazy_x())
    text = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
    assert line in text
    assert computed.n == 0 or name == "put_along_axis"


def test_unknown_chunks_are_refused_where_they_come_in():
    with pytest.raises(NotDifferentiableError, match="compute_chunk_sizes"):
        grad(lambda x: np.sum(x * x))(KNOWN_NOT)
    known = lazy_w()[lazy_w() > 0].compute_chunk_sizes()
    close([grad(lambda x: np.sum(x * x))(known).compute()], [2 * W[W > 0]])


def test_masked_chunks_are_refused():
    masked = da.ma.masked_greater(lazy_x(), 0.5)
    for ask in (lambda: grad(np.sum)(masked), lambda: grad(lambda w: np.sum(masked * w))(lazy_w())):
        with pytest.raises(ChainRulesError, match="getmaskarray"):
            ask()


def test_a_write_to_what_was_recorded_is_noticed():
    x = lazy_x()

    def f(w):
        y = np.sum(x * w)
        x[0] = 0.0
        return y

    with pytest.raises(MutationError):
        grad(f)(lazy_w())


def test_gradients_are_arrays_of_their_own():
    w = lazy_w()
    slope = grad(lambda x: np.sum(x * w))(lazy_x()[0])
    slope[0] = 100.0
    close([w.compute()], [W])


# -------------------------------------------------------------------------- operations at samples


class Cut(Backend):
    """Dask with two chunks along each axis."""

    def asarray(self, x):
        x = np.asarray(x)
        return da.from_array(x, chunks=tuple(max(1, (n + 1) // 2) for n in x.shape))


DASK = Cut("dask", "dask.array", namespace="chainrules_dask.namespace")
OURS = (
    *(v.add, v.multiply, v.divide, v.pow, v.hypot, v.maximum, v.clip, v.where, v.erf, v.gammaln),
    *(v.matmul, v.tensordot, v.einsum, v.vecdot, v.sum, v.prod, v.max, v.mean, v.var, v.std),
    *(v.cumulative_sum, v.logsumexp, v.softmax, v.log_softmax, v.vector_norm, v.order_statistics),
    *(v.reshape, v.permute_dims, v.broadcast_to, v.flip, v.roll, v.tile, v.repeat, v.pad),
    *(v.getitem, v.scatter_add, v.put_at, v.take, v.take_along_axis, v.put_along_axis_add),
    *(v.concat, v.stack, v.sort, v.diagonal, v.trace, v.inv, v.slogdet, v.fft, v.irfft),
)
REFUSALS = (ChainRulesError, NotImplementedError, TypeError, ValueError)


def chunked(t):
    if isinstance(t, Tangent):
        return map_fields(chunked, t)
    return da.from_array(np.asarray(t), chunks=-1) if isinstance(t, (np.ndarray, np.generic)) else t


def numbers(x):
    if is_structure_type(type(x)):
        return [n for _, field in fields_of(x) for n in numbers(field)]
    return [np.asarray(x)] if isinstance(x, (np.ndarray, da.Array, np.generic)) else []


def samples(operation):
    return [i for i in instances(operation) if i.sample.has_arrays and operation is not v.to_device]


def agree(instance):
    """Value and cotangents as NumPy has them; False if Dask's arrays are refused."""
    sample = instance.sample
    operands, options = instance.build(backend("numpy"))
    expected, back = rrule(instance.operation, *operands, **options)
    of = Coordinates(expected)
    seed = of.tangent(np.random.default_rng(0).standard_normal(of.size))
    try:
        operands, options = instance.build(DASK)
        y, pullback = rrule(instance.operation, *operands, **options)
        y = sample.gauge(y) if sample.gauge else y
        bars = pullback(chunked(seed))
    except REFUSALS:
        return False
    expected = sample.gauge(expected) if sample.gauge else expected
    for a, b in zip(numbers(y), numbers(expected), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
    for bar, other in zip(bars, back(seed), strict=True):
        for a, b in zip(numbers(bar), numbers(other), strict=True):
            if sample.gauge is None:
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
    return True


@pytest.mark.parametrize("operation", OURS, ids=lambda operation: operation.__name__)
@pytest.mark.filterwarnings("ignore")
def test_operation_has_the_numbers_of_numpy(operation):
    done = [agree(i) for i in samples(operation)[:6]]
    assert any(done)


@pytest.mark.slow
@pytest.mark.parametrize("operation", operations_of(), ids=lambda operation: operation.__name__)
@pytest.mark.filterwarnings("ignore")
def test_no_operation_has_other_numbers_than_numpy(operation):
    for instance in samples(operation):
        agree(instance)


# ---------------------------------------------------------------------------- sums over blocks


def logistic(w, x, y):
    z = x @ w
    return np.sum(np.logaddexp(0.0, z) - y * z)


def labels(x):
    return (x[:, 0] > 0).astype(float)


def test_sum_over_blocks_is_the_gradient_of_all():
    x = da.from_array(X, chunks=(7, 4))
    value, slope = map_reduce_grad(logistic, W, (x, labels(x)))
    expected, bar = value_and_grad(logistic)(W, X, labels(X))
    close([value, slope], [expected, bar])


def test_blocks_of_any_kind():
    expected = value_and_grad(logistic)(W, X, labels(X))
    plain_blocks = [(X[i : i + 10], labels(X[i : i + 10])) for i in range(0, 40, 10)]
    delayed = [tuple(map(dask.delayed, block)) for block in plain_blocks]
    made = [dask.delayed(lambda i: X[i : i + 10])(i) for i in range(0, 40, 10)]
    for blocks in (plain_blocks, iter(plain_blocks), delayed):
        close(map_reduce_grad(logistic, W, blocks), expected)
    close(map_reduce_grad(lambda w, x: logistic(w, x, labels(x)), W, made), expected)
    close(map_reduce_grad(lambda w, x: logistic(w, x, labels(x)), W, lazy_x()), expected)


def test_structures_and_what_else_a_block_gives():
    def loss(p, x):
        z = np.tanh(x @ p["layers"][0] + p["b"])
        return np.sum(z**2), {"n": len(x)}

    params = {"layers": [W], "b": 0.25, "name": "net"}
    (value, aux), slope = map_reduce_grad(loss, params, lazy_x(), has_aux=True)
    (expected, _), bar = value_and_grad(loss, has_aux=True)(params, X)
    close([value, slope["layers"][0], slope["b"]], [expected, bar["layers"][0], bar["b"]])
    assert [part["n"] for part in aux] == [7, 7, 7, 7, 7, 5]
    assert slope.keys() == bar.keys() == {"layers", "b"}  # a text cannot vary


def test_any_engine_with_value_and_grad():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)

    def loss(w, x):
        return (jax.numpy.tanh(x @ w) ** 2).sum()

    value, slope = map_reduce_grad(loss, W, [X[:20], X[20:]], engine=jax)
    close([value, slope], value_and_grad(lambda w: np.sum(np.tanh(X @ w) ** 2))(W))
    close(
        map_reduce_grad(logistic, W, [(X, labels(X))], engine=chainrules_tape),
        value_and_grad(logistic)(W, X, labels(X)),
    )


def sleepy(w, x):
    time.sleep(random.random() * 0.01)  # the parts end in any order
    return np.sum(np.sin(x @ w))


@pytest.mark.parametrize("fan_in", [2, 3, 8])
def test_the_order_of_finishing_changes_no_bit(fan_in):
    blocks = [X * 10.0**k for k in np.linspace(-8, 8, 23)]
    runs = [in_order(blocks, fan_in)]
    for workers in (1, 4, 8):
        with dask.config.set(scheduler="threads", num_workers=workers):
            runs.append(map_reduce_grad(sleepy, W, blocks, fan_in=fan_in))
    runs.append(shuffled(blocks, fan_in))
    bits = {(np.float64(value).tobytes(), slope.tobytes()) for value, slope in runs}
    assert len(bits) == 1


def in_order(blocks, fan_in):
    """The tree, by hand."""
    parts = [value_and_grad(sleepy)(W, x) for x in blocks]
    while len(parts) > 1:
        groups = [parts[i : i + fan_in] for i in range(0, len(parts), fan_in)]
        parts = [(sum_of([p[0] for p in g]), sum_of([p[1] for p in g])) for g in groups]
    return parts[0]


def sum_of(parts):
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def shuffled(blocks, fan_in):
    """By a scheduler that takes whatever task is ready, at random."""

    def run(graph, keys, **_):
        waiting = dict(graph.__dask_graph__())
        found = {}
        while waiting:
            ready = [k for k, task in waiting.items() if task.dependencies <= found.keys()]
            key = random.choice(ready)
            found[key] = waiting.pop(key)(found)
        return [found[k] for k in keys]

    with dask.config.set(scheduler=run):
        return map_reduce_grad(sleepy, W, blocks, fan_in=fan_in)


def test_parts_are_not_written_to():
    """They belong to the scheduler, which may use one twice."""
    shared = np.ones(3)
    _, slope = map_reduce_grad(lambda w, x: np.sum(w * x), W[:3], [shared] * 5)
    np.testing.assert_array_equal(slope, np.full(3, 5.0))
    np.testing.assert_array_equal(shared, np.ones(3))
    assert slope.flags.writeable


def test_rows_are_cut_as_the_first_array_is():
    x = da.ones((10, 4), chunks=(4, 2))
    y = da.arange(10, chunks=5)
    blocks = [[part.compute() for part in block] for block in row_blocks(x, y)]
    assert [[p.shape for p in block] for block in blocks] == [
        [(4, 4), (4,)],
        [(4, 4), (4,)],
        [(2, 4), (2,)],
    ]
    assert blocks[1][1].tolist() == [4, 5, 6, 7]
    unknown = da.arange(10, chunks=5)[da.arange(10, chunks=5) > 2]
    assert [block[1].compute().tolist() for block in row_blocks(unknown, unknown * 2)] == [
        [6, 8],
        [10, 12, 14, 16, 18],
    ]


def test_what_blocks_share_is_made_once():
    made = []

    def make(i):
        made.append(i)
        return np.ones((2, 2))

    x = da.concatenate([da.from_delayed(dask.delayed(make)(i), (2, 2), float) for i in range(3)])
    with dask.config.set(scheduler="synchronous"):
        map_reduce_grad(lambda w, x, y: np.sum(w * x * y), 1.0, (x, x * 2))
    assert sorted(made) == [0, 1, 2]


def test_what_cannot_be_summed_is_refused():
    with pytest.raises(NotDifferentiableError, match="no block"):
        map_reduce_grad(logistic, W, [])
    with pytest.raises(ValueError, match="at least 2"):
        map_reduce_grad(logistic, W, [(X, labels(X))], fan_in=1)
    with pytest.raises(TypeError, match=r"\(Array, ndarray\), of which only some.*chunks="):
        map_reduce_grad(logistic, W, (lazy_x(), labels(X)))
    with pytest.raises(ValueError, match="without axes"):
        row_blocks(da.ones(()))
    with pytest.raises(ValueError, match="lengths 40 and 6"):
        row_blocks(lazy_x(), lazy_w())


def test_the_bar_of_a_local_run(capsys):
    map_reduce_grad(sleepy, W, [X] * 3, progress=True)
    assert "100% Completed" in capsys.readouterr().out
    map_reduce_grad(sleepy, W, [X] * 3)
    assert not capsys.readouterr().out


# ------------------------------------------------------------------------------- on a cluster


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            memory_limit="2GiB",
            silence_logs="CRITICAL",
        )
        with cluster, distributed.Client(cluster) as client:
            yield client


def peak():
    """The most memory that a process has had, in GB."""
    # Not getrusage: a process starts with the maximum of the one that it was forked from.
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1e6


def on_two_processes(client, rows, chunk):
    """Logistic regression on numbers that are drawn where they are used."""
    x = da.random.default_rng(0).standard_normal((rows, 100), chunks=(chunk, 100))
    y = labels(x)
    w = np.linspace(-0.1, 0.1, 100)
    value, slope = map_reduce_grad(logistic, w, (x, y), client=client)
    part = slice(0, chunk)
    near, bar = map_reduce_grad(logistic, w, (x[part], y[part]), client=client)
    x_part, y_part = dask.compute(x[part], y[part], scheduler="synchronous")
    close([near, bar], value_and_grad(logistic)(w, x_part, y_part))
    # The rest are other draws of the same numbers: the mean slope differs by noise alone.
    noise = 6 / np.sqrt(chunk)
    np.testing.assert_allclose(slope / rows, bar / chunk, atol=noise)
    np.testing.assert_allclose(value / rows, near / chunk, atol=noise)
    peaks = client.run(peak).values()
    assert len(peaks) == 2
    assert max(peaks) < 2.0
    return value, slope, max(peaks)


@pytest.mark.filterwarnings("ignore")
def test_logistic_regression_on_two_processes(client):
    on_two_processes(client, 1_000_000, 20_000)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_logistic_regression_on_more_than_a_worker_holds(client, capsys):
    rows = 20_000_000
    *_, most = on_two_processes(client, rows, 100_000)
    with capsys.disabled():
        print(f"\n{rows * 800 / 1e9:.0f} GB of numbers, at most {most:.2f} GB in a worker")


@pytest.mark.filterwarnings("ignore")
def test_a_whole_program_on_two_processes(client):
    x = da.random.default_rng(1).standard_normal((200_000, 20), chunks=(10_000, 20))
    w = np.linspace(-0.1, 0.1, 20)
    value, slope = client.gather(client.compute(value_and_grad(logistic)(w, x, labels(x))))
    close([value, slope], map_reduce_grad(logistic, w, (x, labels(x)), client=client))


@pytest.mark.filterwarnings("ignore")
def test_blocks_may_be_futures(client):
    blocks = [client.submit(np.full, (6,), float(k)) for k in range(4)]
    close(map_reduce_grad(lambda w, x: np.sum(w * x), W, blocks), (6 * np.sum(W), np.full(6, 6.0)))


@pytest.mark.filterwarnings("ignore")
def test_a_worker_that_is_killed_loses_nothing(client, tmp_path):
    there = tmp_path / "was killed"

    def deadly(w, k):
        time.sleep(0.02)  # all workers get some of the parts
        if k == 11 and not there.exists():
            there.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return np.sum(np.sin(w * k))

    value, slope = map_reduce_grad(deadly, W, list(range(24)), client=client, fan_in=3)
    assert there.exists()
    with dask.config.set(scheduler="synchronous"):
        expected, bar = map_reduce_grad(deadly, W, list(range(24)), fan_in=3)
    assert (value, slope.tobytes()) == (expected, bar.tobytes())


@pytest.mark.filterwarnings("ignore")
def test_the_client_of_the_program_is_used_and_its_bar_shown(client, capsys):
    where = map_reduce_grad(
        lambda w, k: (np.sum(w * k), os.getpid()), W, [1, 2, 3], has_aux=True, progress=True
    )[0][1]
    assert os.getpid() not in where
    assert "100% Completed" in capsys.readouterr().out
    with dask.config.set(scheduler="synchronous"):
        here = map_reduce_grad(lambda w, k: (np.sum(w * k), os.getpid()), W, [1], has_aux=True)[0][
            1
        ]
    assert here == [os.getpid()]


def test_an_engine_that_is_none_is_refused_at_once():
    with pytest.raises(NotDifferentiableError, match="value_and_grad"):
        map_reduce_grad(logistic, W, [(X, labels(X))], engine="jaxx")


@pytest.mark.filterwarnings("ignore")
def test_what_cannot_be_sent_is_refused_before_anything_is(client, monkeypatch):
    monkeypatch.setattr(client, "compute", None)
    blocks, lock = [(X, labels(X))], threading.Lock()
    with pytest.raises(TracerError, match="gives the gradient itself"):
        grad(lambda w: map_reduce_grad(logistic, w, blocks, client=client)[0])(W)
    with pytest.raises(pickle.PicklingError, match="the loss of map_reduce_grad"):
        map_reduce_grad(lambda w, x, y: lock and logistic(w, x, y), W, blocks, client=client)


LOCK = threading.Lock()


def made(**members):
    return types.SimpleNamespace(value_and_grad=chainrules_tape.value_and_grad, **members)


def giving(what):
    return types.SimpleNamespace(value_and_grad=lambda _loss: what)


BAD = {
    "a loss that is none": (NotDifferentiableError, {"loss": 3}),
    "blocks that are none": (TypeError, {"blocks": 5}),
    "no blocks": (NotDifferentiableError, {"blocks": ()}),
    "parameters that are to be computed": (TypeError, {"params": dask.delayed(1.0)}),
    "a name in place of a client": (TypeError, {"client": "tcp://somewhere"}),
    "a half": (ValueError, {"fan_in": 2.5}),
    "a numeral": (ValueError, {"fan_in": "8"}),
    "nothing": (ValueError, {"fan_in": None}),
    "not a number": (ValueError, {"fan_in": float("nan")}),
    "a gradient that is none": (NotDifferentiableError, {"engine": giving(3)}),
    "no has_aux": (NotDifferentiableError, {"engine": giving(sum), "has_aux": True}),
    "a lock in the engine": (pickle.PicklingError, {"engine": made(lock=LOCK)}),
    "a lock in the loss": (pickle.PicklingError, {"loss": lambda w, x: LOCK and np.sum(w * x)}),
    "a lock in the parameters": (pickle.PicklingError, {"params": [1.0, LOCK]}),
    "a lock in a block": (pickle.PicklingError, {"blocks": [(X,), (LOCK,)]}),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_call_ends_in_operations(name):
    error, given = BAD[name]
    call = {"loss": lambda w, x: np.sum(w * x), "params": 2.0, "blocks": [X], "engine": made()}
    with (
        dask.config.set(scheduler="processes", num_workers=1),
        pytest.raises(error, match=r"loss|blocks?|param|client|fan_in|engine|function"),
    ):
        map_reduce_grad(**(call | given))


def test_an_engine_that_gives_no_pair():
    with (
        dask.config.set(scheduler="synchronous"),
        pytest.raises(NotDifferentiableError, match="not a pair of a value and a gradient"),
    ):
        map_reduce_grad(logistic, W, [X], engine=giving(lambda *_: 3.0))


@pytest.mark.filterwarnings("ignore")
def test_what_cannot_be_sent_back(client):
    loss = lambda w, x: (np.sum(w * x), threading.Lock())
    with pytest.raises(pickle.PicklingError, match="what the loss returns"):
        map_reduce_grad(loss, W, [X], client=client, has_aux=True)


FIRST = """
import dask.array as da, numpy as np
from chainrules_tape import grad
x = da.ones((4, 2), chunks=2)
print({line}.compute())
"""


@pytest.mark.parametrize(
    "line",
    ["grad(lambda w: np.sum(x @ w))(np.ones(2))", "grad(lambda w: (w * x).sum())(np.ones(2))"],
)
def test_an_operator_is_the_first_that_is_seen_of_dask(line):
    """It gave up: nobody had spoken for Dask's arrays yet."""
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", FIRST.format(line=line)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout.strip() == "[4. 4.]", run.stderr


def test_rules_of_numpy_stay_as_they_are_beside_dask():
    x = np.array([1.0, -2.0])
    assert isinstance(rrule(np.heaviside, x, x)[1](np.ones(2))[0], ZeroTangent)
