"""Functions with rules as MLX's own differentiable functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_kit import Support, resolved, run_resolved, stated, supported
from chainrules_mlx.engine.call import run
from chainrules_mlx.engine.transform import transformations
from chainrules_mlx.engine.values import as_values, refusing
from chainrules_mlx.namespace import kept
from chainrules_py import NotDifferentiableError
from chainrules_py.extend import made, name_of


def export(f: Callable[..., Any], /) -> Callable[..., Any]:
    """Turn a function with a rule into one that MLX differentiates by it, at every order.

    Parameters
    ----------
    f : callable
        An operation, a function of NumPy's that is aliased to one, a function under `primitive`,
        one with derivatives of its own (`custom_vjp`), or code that is written in words.

    Returns
    -------
    callable
        It takes what f takes, with arrays of MLX's or NumPy's, and gives arrays of MLX's. All
        transformations of MLX apply to it.

    Raises
    ------
    NotDifferentiableError
        Where a value is asked for of what ``mx.vmap`` or ``mx.compile`` trace.
    NoRuleError
        When it is called, if MLX computes an operation not, or a mode is missing.

    Notes
    -----
    A call is a ``mx.custom_function``, whose derivatives are the halves of the rule, run on MLX's
    arrays. Cotangents of complex numbers are adjoints in MLX as they are here.

    Examples
    --------
    >>> import mlx.core as mx, numpy as np
    >>> norm = export(np.linalg.norm)
    >>> mx.grad(norm)(mx.array([3.0, 4.0]))
    array([0.6, 0.8], dtype=float32)
    """
    refusal = (
        f"{name_of(f)} asks for values of what MLX differentiates, by NumPy or for a "
        f"number of Python's, and their derivative would be lost: write the operations of "
        f"chainrules_py.ops, export(np.f) for np.f, or a primitive with a rule"
    )

    def seen(code: Callable[[], Any]) -> Any:
        """Run code whose operations MLX sees, each by itself; what else computes, it does not."""
        with refusing(f, NotDifferentiableError(refusal)):
            return kept(code)

    def exported(*operands: Any, **options: Any) -> Any:
        call = resolved(f, as_values(operands), options)
        return run_resolved(f, call, run, "MLX", _is_asked, seen)

    return made(exported, f, export)  # type: ignore[no-any-return]


def _is_asked(error: Exception) -> bool:
    return isinstance(error, ValueError) and "index mlx array" in str(error)


def supports(f: Callable[..., Any], /, *operands: Any, **options: Any) -> Support:
    """Return which transformations of MLX an exported function supports for these operands.

    Parameters
    ----------
    f : callable
        As `export` takes it.
    *operands, **options
        Of one call, on which each transformation is run.

    Examples
    --------
    >>> import mlx.core as mx
    >>> from chainrules_py import ops as v
    >>> supports(v.sin, mx.array([1.0]))
    Support(grad=True, jvp=True, vmap=True, jit=True, order=inf)
    """
    said = stated(f, operands, options)
    return supported(
        export(f),
        as_values(operands),
        options,
        transformations,
        is_constant=said.order == 0,
        compiled=("compile", "compile of grad"),
    )
