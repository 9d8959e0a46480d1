"""The transformations of JAX, for `supports` and tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from chainrules_kit import Transformation, Transformations, nestings


def _rows(z: Any, u: Any) -> Any:
    """Stack two different rows, so that a result for the wrong one is detected."""
    return jnp.stack([z + u / 64, z])


def _scanned(f: Callable[..., Any], z: Any) -> Any:
    return jax.lax.scan(lambda c, x: (c + f(x), None), 0.0, jnp.stack([z, z]))[0] / 2


_jax: Any = jax  # its stubs omit what it decorates
transformations = Transformations(
    {
        **nestings(_jax.grad, lambda f, z, u: _jax.jvp(f, (z,), (u,))[1]),
        "jit": Transformation("value", lambda f, z, u: _jax.jit(f)(z)),
        "vmap": Transformation("value", lambda f, z, u: _jax.vmap(f)(_rows(z, u))[1]),
        "jit of grad": Transformation("gradient", lambda f, z, u: _jax.jit(_jax.grad(f))(z), "jit"),
        "vmap of grad": Transformation(
            "gradient", lambda f, z, u: _jax.vmap(_jax.grad(f))(_rows(z, u))[1], "vmap"
        ),
        "grad of vmap": Transformation(
            "gradient",
            lambda f, z, u: _jax.grad(lambda zs: jnp.sum(_jax.vmap(f)(zs)))(_rows(z, u))[1],
            "vmap",
        ),
        "linearize": Transformation("slope", lambda f, z, u: _jax.linearize(f, z)[1](u)),
        "scan": Transformation(
            "gradient", lambda f, z, u: _jax.grad(lambda z: _scanned(f, z))(z), "jit"
        ),
        "checkpoint": Transformation(
            "gradient", lambda f, z, u: _jax.grad(_jax.checkpoint(f))(z), "jit"
        ),
    },
    jnp.asarray,
    lambda: _jax.enable_x64(True),
)
