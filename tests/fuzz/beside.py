"""Programs on NumPy's arrays that take arrays of other libraries as well.

A program takes x, of NumPy's, which is differentiated, and t, of another library, which is not.
"""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Program = Callable[[Any, Any], Any]

UFUNCS = (
    "add", "subtract", "multiply", "divide", "power", "maximum", "minimum", "hypot", "arctan2",
    "logaddexp", "fmax", "floor_divide", "remainder", "copysign", "heaviside",
)  # fmt: skip
OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lt", "ge", "eq")
IN_PLACE = ("iadd", "isub", "imul", "itruediv", "ipow")


def _written(how: Callable[[Any, Any], Any]) -> Program:
    """Make a program that writes into a copy of x."""

    def program(x: Any, t: Any) -> Any:
        y = x * 1
        how(y, t)
        return y * x

    return program


def _item(where: Any) -> Program:
    return _written(lambda y, t: operator.setitem(y, where, t[where]))


def _right(f: Callable[[Any, Any], Any]) -> Program:
    return lambda x, t: f(x, t)


def _left(f: Callable[[Any, Any], Any]) -> Program:
    return lambda x, t: f(t, x)


def _in_place(operation: Callable[[Any, Any], Any]) -> Program:
    return lambda x, t: operation(x * 1, t)


PROGRAMS: dict[str, Program] = {
    "where": lambda x, t: np.where(x > 0.5, x, t),
    "where left": lambda x, t: np.where(x > 0.5, t, x),
    "where of it": lambda x, t: np.where(t > 2, x * x, 2.0),
    "stack": lambda x, t: np.stack([x, t, x * x]),
    "stack first": lambda x, t: np.stack((t, x), axis=-1),
    "concatenate": lambda x, t: np.concatenate([t, x]),
    "hstack": lambda x, t: np.hstack([x, t]),
    "vstack": lambda x, t: np.vstack([x, t]),
    "column_stack": lambda x, t: np.column_stack([x, t]),
    "block": lambda x, t: np.block([[x, t], [t, x]]),
    "append": lambda x, t: np.append(x, t),
    "append to it": lambda x, t: np.append(t, x),
    "insert": lambda x, t: np.insert(x, 1, t[0]),
    "dot": lambda x, t: np.dot(x, t),
    "dot left": lambda x, t: np.dot(t, x),
    "method dot": lambda x, t: x.dot(t),
    "vdot": lambda x, t: np.vdot(t, x),
    "inner": lambda x, t: np.inner(x, t),
    "outer": lambda x, t: np.outer(x, t),
    "outer left": lambda x, t: np.outer(t, x),
    "ufunc outer": lambda x, t: np.multiply.outer(x, t),
    "matmul": lambda x, t: np.matmul(x, t),
    "matmul left": lambda x, t: np.matmul(t, x),
    "tensordot": lambda x, t: np.tensordot(x, t, 1),
    "einsum": lambda x, t: np.einsum("i,i->i", x, t),
    "einsum left": lambda x, t: np.einsum("i,j", t, x),
    "kron": lambda x, t: np.kron(x, t),
    "cross": lambda x, t: np.cross(x, t),
    "convolve": lambda x, t: np.convolve(x, t),
    "correlate": lambda x, t: np.correlate(t, x, "full"),
    "multi_dot": lambda x, t: np.linalg.multi_dot([x, np.outer(x, t), x]),
    "solve": lambda x, t: np.linalg.solve(np.diag(x), t),
    "interp": lambda x, t: np.interp(x, [0.0, 1.0, 2.0], t),
    "interp in it": lambda x, t: np.interp(t, [0.0, 1.0, 2.0], x),
    "interp keyword": lambda x, t: np.interp(x, [0.0, 1.0, 2.0], fp=t),
    "clip": lambda x, t: np.clip(x, 0.0, t),
    "clip keyword": lambda x, t: np.clip(x, None, a_max=t),
    "method clip": lambda x, t: x.clip(0.0, t),
    "average": lambda x, t: np.average(x, weights=t),
    "average of it": lambda x, t: np.average(t, weights=x),
    "sum where": lambda x, t: np.sum(x, where=t > 2),
    "sum where of it": lambda x, t: np.sum(x * x, where=np.asarray(t > 2)),
    "polyval": lambda x, t: np.polyval(t, x),
    "polyval of it": lambda x, t: np.polyval(x, t),
    "trapezoid": lambda x, t: np.trapezoid(x, t),
    "trapezoid of it": lambda x, t: np.trapezoid(t, x=x),
    "diff": lambda x, t: np.diff(x, prepend=t),
    "gradient": lambda x, t: np.gradient(x, t),
    "select": lambda x, t: np.select([x > 0.5, t > 2], [t, x], 0.0),
    "choose": lambda x, t: np.choose([0, 1, 0], [x, t]),
    "mask": lambda x, t: x[t > 2] ** 2,
    "index": lambda x, t: x[(t > 2) * 1] ** 2,
    "two masks": lambda x, t: np.outer(x, x)[t > 2, :],
    "put mask": _written(lambda y, t: operator.setitem(y, t > 2, 2.0)),
    "set": _written(lambda y, t: operator.setitem(y, slice(None), t)),
    "set item": _written(lambda y, t: operator.setitem(y, 0, t[0])),
    "set part": _item(slice(1, None)),
    "set rest": _written(lambda y, t: operator.setitem(y, Ellipsis, t)),
    "copyto": _written(lambda y, t: np.copyto(y, t)),
    "put": _written(lambda y, t: np.put(y, [0, 2], t)),
    "fill list": _written(lambda y, t: operator.setitem(y, slice(None), [t[0], 1.0, t[2]])),
    "list": lambda x, t: x * [t[0], t[1], t[2]],
    "array": lambda x, t: np.array([x[0], t[0], 1.0], like=x),
    "isclose": lambda x, t: np.isclose(x, t) * x,
    "searchsorted": lambda x, t: np.searchsorted(x, t) * x,
    "take": lambda x, t: np.take(x, (t > 2) * 1),
    "take keyword": lambda x, t: np.take(x, indices=(t > 2) * 1),
    "meshgrid": lambda x, t: np.meshgrid(x, t)[0],
    "broadcast_arrays": lambda x, t: np.broadcast_arrays(x, t)[0] ** 2,
    "allclose": lambda x, t: x if np.allclose(x, t) else x * x,
    "chain": lambda x, t: np.sum((np.multiply(x, t) - x) ** 2),
    "chain of operators": lambda x, t: ((t * x - x * 2.0) ** 2).sum(),
    "sum of product": lambda x, t: np.sum(t * x),
    "item": lambda x, t: x * t[1],
    "item left": lambda x, t: t[1] * x,
    "number": lambda x, t: np.multiply(x[0], t),
    "number operator": lambda x, t: t * x[0],
    "set product": _written(lambda y, t: operator.setitem(y, slice(None), t * y)),
    "stack product": lambda x, t: np.stack([t * x, x]),
    **{f"np.{n}": _right(getattr(np, n)) for n in UFUNCS},
    **{f"np.{n} left": _left(getattr(np, n)) for n in UFUNCS},
    **{n: _right(getattr(operator, n)) for n in OPERATORS},
    **{f"{n} left": _left(getattr(operator, n)) for n in OPERATORS},
    **{n: _in_place(getattr(operator, n)) for n in IN_PLACE},
}
"""Programs by name: ``f(x, t)``."""

NUMBERS = [1.5, 3.25, 2.75]


def _torch(dtype: str) -> Any:
    import torch

    return torch.tensor(NUMBERS, dtype=torch.float64).to(getattr(torch, dtype))


def _jax(dtype: str) -> Any:
    import jax.numpy as jnp

    return jnp.asarray(np.array(NUMBERS).astype(dtype))


def _mlx(dtype: str) -> Any:
    import mlx.core as mx

    return mx.array(np.array(NUMBERS).astype(dtype))


def _strict(dtype: str) -> Any:
    import array_api_strict as xp

    return xp.asarray(np.array(NUMBERS).astype(dtype))


def _pandas(dtype: str) -> Any:
    import pandas as pd

    return pd.Series(NUMBERS).astype(dtype)


OTHERS: dict[str, Callable[[], Any]] = {
    **{f"torch {d}": functools.partial(_torch, d) for d in ("float64", "float32", "int64")},
    **{f"jax {d}": functools.partial(_jax, d) for d in ("float64", "float32", "int32")},
    **{f"mlx {d}": functools.partial(_mlx, d) for d in ("float32", "int32")},
    **{f"strict {d}": functools.partial(_strict, d) for d in ("float64", "float32")},
    "list": lambda: list(NUMBERS),
}
"""What makes arrays of other libraries, by library and dtype."""


@contextlib.contextmanager
def setting(name: str) -> Iterator[None]:
    """Have JAX compute as wide as its array is, whatever others have set."""
    if not name.startswith("jax"):
        yield
        return
    import jax

    with jax.enable_x64(name.endswith("64")):
        yield


def points() -> dict[str, Any]:
    """Give arrays of NumPy's to differentiate in, by dtype."""
    x = np.array([0.35, 0.62, 1.4])
    return {"float64": x, "float32": x.astype(np.float32)}


def seed_of(y: Any, numbers: Any) -> Any:
    """Return a cotangent of y with given numbers, as an array of the library of y."""
    library = type(y).__module__.partition(".")[0]
    if library == "torch":
        import torch

        return torch.tensor(numbers).to(y.dtype)
    if library in ("jax", "jaxlib"):
        import jax.numpy as jnp

        return jnp.asarray(numbers, y.dtype)
    return np.asarray(numbers).astype(y.dtype)[()]
