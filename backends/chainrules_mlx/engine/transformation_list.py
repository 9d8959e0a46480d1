"""The transformations of MLX, for `supports` and tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mlx.core as mx

from chainrules_kit import Transformation, Transformations, nestings
from chainrules_mlx.namespace import asarray

_mx: Any = mx


def _rows(z: Any, u: Any) -> Any:
    """Stack two different rows, so that a result for the wrong one is detected."""
    return _mx.stack([z + u / 64, z])


def _pushed(f: Callable[..., Any], z: Any, u: Any) -> Any:
    return _mx.jvp(f, [z], [u])[1][0]


_table: dict[str, Transformation] = {
    **nestings(_mx.grad, _pushed),
    "vjp": Transformation("gradient", lambda f, z, u: _mx.vjp(f, [z], [_mx.ones_like(f(z))])[1][0]),
    "vmap": Transformation("value", lambda f, z, u: _mx.vmap(f)(_rows(z, u))[1]),
    "vmap of grad": Transformation(
        "gradient", lambda f, z, u: _mx.vmap(_mx.grad(f))(_rows(z, u))[1], "vmap"
    ),
    "grad of vmap": Transformation(
        "gradient",
        lambda f, z, u: _mx.grad(lambda zs: _mx.vmap(f)(zs).sum())(_rows(z, u))[1],
        "vmap",
    ),
    "compile": Transformation("value", lambda f, z, u: _mx.compile(f)(z)),
    "compile of grad": Transformation(
        "gradient", lambda f, z, u: _mx.compile(_mx.grad(f))(z), "compile"
    ),
    "grad of compile": Transformation(
        "gradient", lambda f, z, u: _mx.grad(_mx.compile(f))(z), "compile"
    ),
    "checkpoint": Transformation("gradient", lambda f, z, u: _mx.grad(_mx.checkpoint(f))(z)),
}


def _evaluated(of: Transformation) -> Transformation:
    """Evaluate results: lazy arrays may fail late."""

    def run(f: Callable[..., Any], z: Any, u: Any) -> Any:
        found = of.run(f, z, u)
        _mx.eval(found)
        return found

    return Transformation(of.gives, run, of.within)


transformations = Transformations(
    {name: _evaluated(of) for name, of in _table.items()}, asarray, digits=5e-3
)
