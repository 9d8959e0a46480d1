"""Functions with rules as differentiable MLX functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_kit import Support, resolved, run_resolved, stated, supported
from chainrules_mlx.engine.call import run
from chainrules_mlx.engine.transformation_list import transformations
from chainrules_mlx.engine.values import as_values, refusing
from chainrules_mlx.namespace import kept
from chainrules_py import NotDifferentiableError
from chainrules_py.extend import made, name_of


def export(f: Callable[..., Any], /) -> Callable[..., Any]:
    """Turn a function with a rule into an MLX function, differentiated by the rule at every order.

    Parameters
    ----------
    f : callable
        An operation, a NumPy function that is aliased to one, a function under `primitive`, a
        function with derivatives of its own (`custom_vjp`), or code that is written in operations.

    Returns
    -------
    callable
        It takes the arguments of f, with arrays of MLX or NumPy, and returns MLX arrays. All
        transformations of MLX apply to it.

    Raises
    ------
    NotDifferentiableError
        If code reads a value that ``mx.vmap`` or ``mx.compile`` trace.
    NoRuleError
        When it is called, if MLX does not compute an operation, or a mode is missing.

    Notes
    -----
    A call is a ``mx.custom_function``, whose derivatives are the halves of the rule, run on MLX
    arrays. Cotangents of complex numbers are adjoints, in MLX as in this library.

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
        """Run code whose operations MLX records one by one, and refuse reads of values."""
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
        A function, as for `export`.
    *operands, **options
        The arguments of one call, on which each transformation is run.

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
