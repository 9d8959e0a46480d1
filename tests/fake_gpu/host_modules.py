"""Functions beside CuPy's own module, on the host: atomic additions, and solvers."""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.fake_gpu import host_arrays, host_names
from tests.fake_gpu.host_arrays import down, host, memory, up


def install_scatter() -> None:
    """Put what adds into an array, or keeps the largest, in place of the kernels that do."""
    cupyx: Any = importlib.import_module("cupyx")

    def scatter(name: str, by_numpy: Callable[..., None]) -> Callable[..., None]:
        def call(a: Any, slices: Any, value: Any) -> None:
            memory.launch()
            for x, axes in ((a, -1), (slices, 64), (value, -1)):
                host_arrays.check(x, axes)
            if a.dtype.name not in host_names.ATOMIC:
                msg = f"{name} does not support the type {a.dtype}"
                raise TypeError(msg)
            by_numpy(host(a), down(slices), down(value))

        call.__name__ = name
        return call

    for name, by_numpy in (
        ("scatter_add", np.add.at),
        ("scatter_max", np.maximum.at),
        ("scatter_min", np.minimum.at),
    ):
        setattr(cupyx, name, scatter(name, by_numpy))


def install_scipy_linalg() -> None:
    """Put another module in place of ``cupyx.scipy.linalg``, which needs cuBLAS to be imported."""
    scipy_linalg = importlib.import_module("scipy.linalg")
    module = types.ModuleType("cupyx.scipy.linalg", "CuPy's, on the host.")

    def solve_triangular(
        a: Any,
        b: Any,
        trans: Any = 0,
        lower: bool = False,
        unit_diagonal: bool = False,
        overwrite_b: bool = False,
        check_finite: bool = False,
    ) -> Any:
        for x in (a, b):
            host_arrays.check(x)
        if a.ndim != 2 or a.shape[0] != a.shape[1]:
            msg = "expected square matrix"
            raise ValueError(msg)
        if len(a) != len(b):
            msg = "incompatible dimensions"
            raise ValueError(msg)
        y = scipy_linalg.solve_triangular(host(a), host(b), trans, lower, unit_diagonal)
        return up(y.astype(np.result_type(host(a), host(b)), copy=False))

    def expm(a: Any) -> Any:
        host_arrays.check(a)
        if a.ndim != 2 or a.shape[0] != a.shape[1]:
            msg = "expected a square matrix"
            raise ValueError(msg)
        return up(scipy_linalg.expm(host(a)))

    def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
        host_arrays.check(a)
        if a.ndim != 2:
            msg = f"{a.ndim}-dimensional array given. The array must be two-dimensional"
            raise np.linalg.LinAlgError(msg)
        memory.launch()
        return up(scipy_linalg.lu_factor(host(a)))

    functions: tuple[Any, ...] = (lu_factor, expm, solve_triangular)
    scope = {**globals(), "__name__": module.__name__}  # as which they stand in a traceback
    for f in functions:
        made = types.FunctionType(f.__code__, scope, f.__name__, f.__defaults__, f.__closure__)
        setattr(module, f.__name__, made)
    sys.modules[module.__name__] = module
    importlib.import_module("cupyx.scipy").linalg = module  # type: ignore[attr-defined]
