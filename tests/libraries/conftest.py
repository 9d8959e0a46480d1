"""CuPy where the tests of it run: on the host, and, marked ``gpu``, on a GPU."""

from __future__ import annotations

import pytest

from tests.fake_gpu.backend import backend


@pytest.fixture(params=["cupy-host", pytest.param("cupy", marks=pytest.mark.gpu)])
def on(request):
    """CuPy as a library of the judge."""
    pytest.importorskip("cupy", reason="CuPy is not installed")
    library = backend(request.param)
    if library.missing:
        pytest.skip(library.missing)
    assert library.xp is not None  # which puts it on the host
    return library


@pytest.fixture
def cp(on):
    """CuPy itself."""
    import cupy

    return cupy


@pytest.fixture
def host(on):
    """What stands for the device; tests that look at it need no GPU, and can have none."""
    if on.name != "cupy-host":
        pytest.skip("looks at what stands for the device")
    from tests.fake_gpu import cupy_on_host

    return cupy_on_host


@pytest.fixture
def takes_numpy(host, monkeypatch):
    """CuPy on the host that takes arrays of NumPy's, which a GPU refuses."""
    from tests.fake_gpu import host_arrays

    for module in (host, host_arrays):
        monkeypatch.setattr(module, "check", lambda x, axes=-1: None)
