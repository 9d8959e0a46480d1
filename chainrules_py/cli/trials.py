"""One value and one gradient in each library and engine: what ``chainrules doctor`` runs.

Every trial computes the norm of (3, 4), which is 5, and its gradient, (0.6, 0.8). Its first half
makes the array, and is the library's own; its second half uses ours.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

from chainrules_py import export
from chainrules_py import vocabulary as v

POINT, VALUE, GRADIENT = [3.0, 4.0], 5.0, [0.6, 0.8]
_Trial = tuple[Callable[[], Any], Callable[[Any], tuple[Any, Any]]]


def _make(module: str, name: str = "asarray") -> Callable[[], Any]:
    """Return what makes an array by a function of a library, and computes with it."""

    def make() -> Any:
        x = getattr(importlib.import_module(module), name)(POINT)
        _numbers(x * x)
        return x

    return make


def _numpy_array() -> Any:
    import numpy as np

    return np.array(POINT)


def _dask_array() -> Any:
    return importlib.import_module("dask.array").from_array(_numpy_array())


def _torch_leaf() -> Any:
    return importlib.import_module("torch").tensor(POINT, requires_grad=True)


# ------------------------------------------------------------------------- gradients of the tape


def _by_tape(x: Any, f: Callable[[Any], Any] = v.vector_norm) -> tuple[Any, Any]:
    from chainrules_tape import value_and_grad

    return value_and_grad(f)(x)


def _by_numpy(x: Any) -> tuple[Any, Any]:
    import numpy as np

    return _by_tape(x, np.linalg.norm)


def _by_pandas(x: Any) -> tuple[Any, Any]:
    return _by_tape(x, lambda x: (x * x).sum() ** 0.5)


def _by_scipy(x: Any) -> tuple[Any, Any]:
    """Compute the norm as exp(log(|x|²) / 2)."""
    from scipy.special import xlogy

    return _by_tape(x, lambda x: v.exp(xlogy(0.5, v.sum(x * x))))


def _by_root(x: Any) -> tuple[Any, Any]:
    """Compute the norm as the root of y² = |x|²."""
    return _by_tape(x, lambda x: v.root(lambda y, x: y * y - v.sum(x * x), 4.0, x))


# ----------------------------------------------------------------- gradients of the other engines


def _autograd(x: Any) -> tuple[Any, Any]:
    engine: Any = importlib.import_module("autograd")
    f = export(v.vector_norm, to="autograd")
    return f(x), engine.grad(f)(x)


def _jax(x: Any) -> tuple[Any, Any]:
    import jax

    return jax.value_and_grad(export(v.vector_norm, to="jax"))(x)


def _mlx(x: Any) -> tuple[Any, Any]:
    import mlx.core as mx

    return mx.value_and_grad(export(v.vector_norm, to="mlx"))(x)


def _mygrad(x: Any) -> tuple[Any, Any]:
    y = export(v.vector_norm, to="mygrad")(x)
    y.backward()
    return y, x.grad


def _pytensor(x: Any) -> tuple[Any, Any]:
    pytensor: Any = importlib.import_module("pytensor")
    symbol = pytensor.tensor.dvector()
    y = export(v.vector_norm, to="pytensor")(symbol)
    both = pytensor.function([symbol], [y, pytensor.grad(y, symbol)], mode="FAST_COMPILE")
    value, gradient = both(x)
    return value, gradient


def _thunder(x: Any) -> tuple[Any, Any]:
    import thunder  # pyright: ignore[reportMissingImports]

    from chainrules_engines.thunder import executor

    f = export(v.vector_norm, to="thunder")
    y = thunder.jit(f, executors=[executor])(x)
    y.backward()
    return y.detach(), x.grad


def _tinygrad(x: Any) -> tuple[Any, Any]:
    y = export(v.vector_norm, to="tinygrad")(x)
    return y, y.gradient(x)[0]


def _torch(x: Any) -> tuple[Any, Any]:
    y = export(v.vector_norm, to="torch")(x)
    y.backward()
    return y.detach(), x.grad


TRIALS: dict[tuple[str, str], _Trial] = {
    ("backends", "array_api_strict"): (_make("array_api_strict"), _by_tape),
    ("backends", "autograd"): (_numpy_array, _autograd),
    ("backends", "cupy"): (_make("cupy"), _by_tape),
    ("backends", "dask"): (_dask_array, _by_tape),
    ("backends", "jax"): (_make("jax.numpy"), _by_tape),
    ("backends", "jaxlib"): (_make("jax.numpy"), _by_tape),
    ("backends", "mlx"): (_make("mlx.core", "array"), _by_tape),
    ("backends", "numpy"): (_numpy_array, _by_numpy),
    ("backends", "pandas"): (_make("pandas", "Series"), _by_pandas),
    ("backends", "scipy"): (_numpy_array, _by_scipy),
    ("backends", "tinygrad"): (_make("tinygrad", "Tensor"), _by_tape),
    ("backends", "torch"): (_make("torch", "tensor"), _by_tape),
    ("engines", "tape"): (_numpy_array, _by_tape),
    ("exporters", "autograd"): (_numpy_array, _autograd),
    ("exporters", "jax"): (_make("jax.numpy"), _jax),
    ("exporters", "mlx"): (_make("mlx.core", "array"), _mlx),
    ("exporters", "mygrad"): (_make("mygrad", "tensor"), _mygrad),
    ("exporters", "pytensor"): (_numpy_array, _pytensor),
    ("exporters", "thunder"): (_torch_leaf, _thunder),
    ("exporters", "tinygrad"): (_make("tinygrad", "Tensor"), _tinygrad),
    ("exporters", "torch"): (_torch_leaf, _torch),
    ("words", "jax"): (_make("jax.numpy"), _by_tape),
    ("words", "jaxlib"): (_make("jax.numpy"), _by_tape),
    ("words", "numpy"): (_numpy_array, _by_scipy),
    ("words", "chainrules_py.vocabulary.higher_order"): (_numpy_array, _by_root),
}
"""The trials, by the kind of what is announced and by what it is announced for."""


def tried(kind: str, name: str) -> str:
    """Run a trial, and say what came of it.

    Returns
    -------
    str
        ``"works"``; ``"is imported"`` where there is no trial; ``"does not run here: ..."`` where
        the library itself fails; ``"broken: ..."`` where ours does.

    Examples
    --------
    >>> tried("engines", "tape")
    'works'
    """
    if (kind, name) not in TRIALS:
        return "is imported"
    make, differentiate = TRIALS[kind, name]
    try:
        x = make()
    except Exception as error:  # whatever a library raises
        return f"does not run here: {_said(error)}"
    try:
        value, gradient = differentiate(x)
        found = _numbers(value) + _numbers(gradient)
    except Exception as error:
        return f"broken: a gradient raises {_said(error)}"
    if not _are_near(found, [VALUE, *GRADIENT]):
        return f"broken: the norm of (3, 4) and its gradient are {found}"
    return "works"


def _numbers(x: Any) -> list[float]:
    x = x.compute() if hasattr(x, "compute") else x
    x = x.tolist() if hasattr(x, "tolist") else x
    try:
        return [float(x)]
    except (TypeError, ValueError):
        return [float(x[i]) for i in range(len(POINT))]


def _are_near(found: list[float], expected: list[float]) -> bool:
    near = [math.isclose(a, b, rel_tol=1e-4) for a, b in zip(found, expected, strict=False)]
    return len(found) == len(expected) and all(near)


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
