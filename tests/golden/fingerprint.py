"""Fingerprint of what bits depend on: Python, NumPy, SciPy, their BLAS, the processor, libm."""

from __future__ import annotations

import functools
import math
import platform
from typing import Any

import numpy as np
import scipy
import scipy.special

from tests.golden.draws import digest
from tests.golden.store import Fingerprint


@functools.cache
def fingerprint() -> Fingerprint:
    """Return the versions, and a hash of a few plain computations.

    Loops of NumPy's and kernels of OpenBLAS are chosen by the processor and round differently, so
    equal versions are not enough to compare bits.
    """
    with np.errstate(all="ignore"):
        computed = b"".join(map(bytes, _computed()))
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "computations": f"{digest(computed):08x}",
    }


def _computed() -> list[Any]:
    rng = np.random.default_rng(0)
    real, other = rng.uniform(0.1, 0.9, (2, 37, 37))
    found: list[Any] = []
    for dtype in (np.float64, np.float32, np.complex128, np.complex64):
        x, y = real.astype(dtype), other.astype(dtype)
        if np.iscomplexobj(x):
            x = x + x.dtype.type(1j) * y
        names = "sin cos tan exp log sqrt tanh arctan arcsinh expm1 log1p sinh arcsin abs square"
        found += [getattr(np, name)(x) for name in names.split()]
        found += [x**y, x / y, np.sum(x), np.sum(x, 0), np.mean(x, 1), np.prod(x, 0), np.cumsum(x)]
        found += [x @ y, x @ y[0], x[0] @ y, x.T @ y, x[:3, :3] @ y[:3, :3], np.vdot(x, y)]
        found += [np.einsum("ij,jk->ik", x, y), np.linalg.norm(x), np.fft.fft(x)]
        for n in (3, 8, 37):
            a = x[:n, :n] + n * np.eye(n, dtype=dtype)
            positive = a @ a.conj().T
            found += [np.linalg.solve(a, y[:n]), np.linalg.inv(a), np.linalg.det(a)]
            found += [np.linalg.cholesky(positive), *np.linalg.eigh(positive), *np.linalg.qr(a)]
            found += [*np.linalg.svd(a), *np.linalg.eig(a), np.linalg.lstsq(a, y[:n])[0]]
    found += [scipy.special.gamma(real), scipy.special.erf(real), scipy.special.jv(1.5, real)]
    found += [np.hypot(real, other), np.arctan2(real, other), np.logaddexp(real, other)]
    numbers = [f(x) for f in (math.sin, math.exp, math.log, math.atanh) for x in real[0].tolist()]
    return [np.ascontiguousarray(x) for x in [*found, np.array(numbers)]]
