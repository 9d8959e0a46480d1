"""CuPy on the host fails where CuPy fails, and computes what NumPy does elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fake_gpu.backend import backend
from tests.fake_gpu.cupy_on_host import device, host, memory
from tests.fake_gpu.syncs import count_syncs

cupy = pytest.importorskip("cupy")
ON = backend("cupy-host")
if ON.missing:
    pytest.skip(ON.missing, allow_module_level=True)
ON.prepare()
X = np.arange(6.0).reshape(2, 3)


@pytest.fixture
def x():
    return cupy.asarray(X)


def test_arrays_are_cupys_own(x):
    assert type(x) is cupy.ndarray
    assert type(np.sin(x)) is type(x.sum()) is type(x[0, 0]) is cupy.ndarray
    np.testing.assert_array_equal(cupy.sin(x).get(), np.sin(X))
    np.testing.assert_array_equal(np.sum(x, axis=0).get(), X.sum(0))


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda x: cupy.sum(x, where=x > 0), TypeError),
        (lambda x: cupy.sum(x, initial=1.0), TypeError),
        (lambda x: cupy.vecdot(x, x), AttributeError),
        (lambda x: cupy.linalg.vector_norm(x), AttributeError),
        (lambda x: np.vecdot(x, x), TypeError),
        (lambda x: np.asarray(x), TypeError),
        (lambda x: x + np.ones(3), TypeError),
        (lambda x: np.ones(3) * x, TypeError),
        (lambda x: cupy.concatenate([x, np.ones((1, 3))]), TypeError),
        (lambda x: cupy.sin([1.0, 2.0]), TypeError),
        (lambda x: cupy.sum(x, axis=2), np.exceptions.AxisError),
        (lambda x: cupy.sin(x, where=True), TypeError),
        (lambda x: x.astype("float32", casting="safe"), TypeError),
        (lambda x: x.__setitem__(0, np.ones(3)), ValueError),
    ],
)
def test_what_cupy_refuses_is_refused(call, error, x):
    with pytest.raises(error):
        call(x)


def test_places_may_be_numpys(x):
    places = np.array([1, 0, 1])
    for y in (x[:, places], x.take(places, 1), cupy.take(x, places, 1), x[:, [1, 0, 1]]):
        np.testing.assert_array_equal(y.get(), X[:, places])
    x[0, places] = 7.0
    np.testing.assert_array_equal(host(x)[0], [7, 7, 2])


def test_views_are_views(x):
    x[0][...] = 7.0
    x.T[2, 1] = 8.0
    np.testing.assert_array_equal(host(x), [[7, 7, 7], [3, 4, 8]])
    assert x[0].base is x
    x += 1
    assert float(x[1, 2]) == 9.0


def test_kernels_run_from_their_text(x):
    kernel = cupy.ElementwiseKernel(
        "T a, T b", "T y, bool z", "const T v = sin(a); y = v * b; z = a > b", "try_it"
    )
    y, z = kernel(x, x[1])
    np.testing.assert_array_equal(y.get(), np.sin(X) * X[1])
    np.testing.assert_array_equal(z.get(), X[1] < X)
    total = cupy.ReductionKernel("T a, T b", "T y", "a * b", "a + b", "y = a", "0", "try_sum")
    np.testing.assert_array_equal(total(x, x, axis=0).get(), (X * X).sum(0))
    with pytest.raises(TypeError, match="mismatched"):
        kernel(x, x.astype("float32"))
    with pytest.raises(NotImplementedError):
        cupy.ElementwiseKernel("T a", "T y", "y = a ? a : -a", "unread")(x)


def test_what_brings_values_to_the_host_is_counted(x):
    with count_syncs() as seen:
        float(x[0, 0]), bool(x[0, 1] > 0), x.get(), x.tolist(), cupy.sum(x)
    assert set(seen) == {"__float__", "__bool__", "get", "tolist"}
    with count_syncs() as seen:
        pass
    assert seen == []


def test_memory_is_counted_and_given_back():
    before = memory.live
    a = cupy.zeros(1000)
    assert memory.live >= before + a.nbytes
    del a
    assert memory.live == before


def test_devices_do_not_mix(x):
    with device(1):
        y = cupy.ones(3)
    assert (x.device.id, y.device.id) == (0, 1)
    with pytest.raises(ValueError, match="device"):
        cupy.add(x, y)
