"""Functions with rules as differentiable JAX functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from chainrules_jax.engine.call_linearization import LEAVES
from chainrules_jax.engine.call_primitive import run
from chainrules_jax.engine.rule_config import config
from chainrules_jax.engine.value_conversions import as_values
from chainrules_kit import (
    Support,
    Transformation,
    Transformations,
    nestings,
    resolved,
    run_resolved,
    stated,
    supported,
)
from chainrules_py import Primitive
from chainrules_py.extend import made, name_of, primal_of, unbind


def export(f: Callable[..., Any], /) -> Callable[..., Any]:
    """Turn a function with a rule into a JAX function, differentiated by the rule at every order.

    Parameters
    ----------
    f : callable
        An operation, a NumPy function that is aliased to one, a function under `primitive`, a
        function with derivatives of its own (`custom_vjp`), or code that is written in operations
        and exported functions: JAX passes its arrays to no NumPy function.

    Returns
    -------
    callable
        It takes arrays of JAX or NumPy, constant ones of other engines, numbers, and structures of
        them, and options by name, which are static; it returns JAX arrays. All transformations of
        JAX apply to it.

    Raises
    ------
    NotDifferentiableError
        If it is transformed in a mode that has no rule.
    UnsupportedKeywordError
        If it is called with a NumPy keyword that has no derivative.

    Notes
    -----
    Forward mode is the pushforward of the rule, and reverse mode its pullback, with the values that
    the rule saved as JAX's residuals, so that neither runs the function again. Cotangents of
    complex numbers are conjugated on entry and on return: JAX's are those of the transpose. A
    Python number beside arrays is static, and does not change their dtype.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, numpy as np
    >>> total = export(np.linalg.norm)
    >>> print(jax.jit(jax.grad(total))(jnp.array([3.0, 4.0])))
    [0.6 0.8]
    """

    def exported(*operands: Any, **options: Any) -> Any:
        operands = as_values(operands)
        if isinstance(f, Primitive):
            return run(f, *f.normalise(operands, options))
        asked = lambda error: isinstance(error, LEAVES)
        return run_resolved(f, resolved(f, operands, options), run, "JAX", asked)

    found = made(exported, f, export)
    found.__name__ = name_of(f)
    return found  # type: ignore[no-any-return]


def supports(f: Callable[..., Any], /, *operands: Any, **options: Any) -> Support:
    """Return which transformations of JAX an exported function supports.

    Parameters
    ----------
    f : callable
        A function, as for `export`.
    *operands, **options
        The arguments of one call, on which each transformation is run, to third order. Without
        operands, the answer follows from the rules of f for any types.

    Returns
    -------
    Support

    Examples
    --------
    >>> from chainrules_py import ops as v
    >>> supports(v.sin)
    Support(grad=True, jvp=True, vmap=True, jit=True, order=inf)
    >>> supports(v.floor, 1.5)
    Support(grad=True, jvp=True, vmap=True, jit=True, order=0)
    """
    if not operands:
        return _stated(f, options)
    return supported(
        export(f),
        as_values(operands),
        options,
        transformations,
        is_constant=not stated(f, operands, options, config).order,
        compiled=("jit",),
    )


def _stated(f: Callable[..., Any], options: dict[str, Any]) -> Support:
    operation = primal_of(unbind(f, ())[0])
    if operation is None:  # code that consists of several operations
        return Support(grad=True, jvp=True, vmap=True, jit=True, order=math.inf)
    operands = (jnp.zeros(()),) * max(1, len(operation.operands))
    shaped = not operation.shape_from_data
    return stated(operation, operands, options, config)._replace(vmap=shaped, jit=shaped)


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
