"""Functions that compute with NumPy, called back from programs that JAX traces."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from chainrules_jax.array_types import Concrete, JaxArray, is_traced
from chainrules_jax.engine.rule_config import config
from chainrules_jax.engine.value_conversions import COMPUTED, as_beside, is_value, settled, split
from chainrules_kit import by_numpy, check_promised, tried
from chainrules_py import NoRuleError, NotDifferentiableError, Primitive, RuleError, Scalar
from chainrules_py import ops as v
from chainrules_py.extend import (
    Rule,
    TreeDef,
    brought_home,
    check_result,
    find_rule,
    partition,
    see,
    unflatten,
    where_defined,
)

Body = Callable[..., Any]


def callback(
    f: Primitive[..., Any],
    /,
    *,
    result: Callable[..., Any] | None = None,
    vectorized: bool = False,
) -> None:
    """Declare that a primitive computes with NumPy, also for JAX arrays.

    Its body is called with NumPy arrays, and its results are converted to JAX arrays; in programs
    that JAX traces, through ``jax.pure_callback``. A rule may call further primitives of this kind.

    Parameters
    ----------
    f : Primitive
        A function whose operands and results are arrays and numbers.
    result : callable, optional
        ``result(*operands, **options)`` returns arrays, or ``jax.ShapeDtypeStruct``, with the
        structure, shapes and dtypes of the result of f. It is called with ``jax.ShapeDtypeStruct``
        for arrays. Without it, f is tried on numbers of these shapes where JAX traces.
    vectorized : bool
        Whether f takes arrays with further leading axes. If so, ``jax.vmap`` passes the whole batch
        at once instead of one slice after the other. Operands of a function with an elementwise
        rule then have the same number of axes.

    Raises
    ------
    RuleError
        If f is not a primitive with a body.

    Examples
    --------
    >>> import jax, numpy as np
    >>> from chainrules_jax import export
    >>> from chainrules_py import primitive, scalar_rule
    >>> from chainrules_py.ops import expit
    >>> @primitive
    ... def softplus(x):
    ...     return np.logaddexp(0, x).astype(x.dtype)
    >>> scalar_rule(softplus, lambda _y, x: expit(x))
    >>> callback(softplus, result=lambda x: x, vectorized=True)
    >>> print(jax.vmap(jax.grad(export(softplus)))(np.zeros(3, np.float32)))
    [0.5 0.5 0.5]
    """
    if not isinstance(f, Primitive) or not f.has_body:
        raise RuleError(
            f"callback() is of a primitive whose body computes with NumPy, and {f!r} "
            f"({where_defined(f)}) is none; write @primitive above a function with a body"
        )
    compute_by(f, called_back(f, f.__wrapped__, result, vectorized))


def compute_by(operation: Primitive[..., Any], computed: Body) -> None:
    """Register a function for an operation with a JAX array among its operands."""
    COMPUTED[operation] = computed = functools.wraps(operation.__wrapped__)(computed)
    operand: Any = JaxArray | Scalar | np.ndarray
    other: Any = Scalar | np.ndarray
    n = len(operation.operands)
    rows = [(*[other] * first, JaxArray, *[operand] * (n - first - 1)) for first in range(n)]
    for types in [(*[operand] * n, JaxArray)] if operation.variadic else rows:
        operation.implement(computed, types=types)


def called_back(
    f: Primitive[..., Any],
    body: Body,
    result: Callable[..., Any] | None,
    vectorized: bool,
    *,
    eager: bool = False,
    elementwise: bool = False,
) -> Body:
    """Turn a function of NumPy arrays into one of JAX arrays; ``eager``: dtypes of eager calls."""
    see(f, (np.ndarray,))  # NumPy's backend may not be loaded yet

    def computed(*operands: Any, **options: Any) -> Any:
        leaves, layout = split(operands)
        leaves = list(settled(leaves))
        if not any(map(is_traced, leaves)):
            given = unflatten(layout, [np.asarray(x) for x in leaves])
            found, out = partition(body(*given, **options), _is_numpy)
            return unflatten(out, [jnp.array(x) for x in found])
        if elementwise or (
            vectorized and is_elementwise(find_rule(f, classes_of(operands), config))
        ):
            n = max([x.ndim for x in leaves])  # so that the axis of a batch is in front of all
            leaves = [jnp.expand_dims(x, tuple(range(n - x.ndim))) for x in leaves]
        avals = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in leaves]
        given = unflatten(layout, avals)
        if result is None:
            y = _eagerly(f, body, leaves, layout, options) if eager else None
            y = tried(f, body, given, options, "chainrules_jax") if y is None else y
            check_result(brought_home(y, tuple(leaves)))  # else a constant in a traced program
            found, out = partition(y, _is_numpy)
            shapes = [_aval(y, leaves) for y in found]
        else:
            like, out = partition(result(*given, **options), _has_shape)
            shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in like]

        def kernel(*arrays: Any) -> list[Any]:
            given = unflatten(layout, [np.asarray(x) for x in arrays])
            ys = [*map(np.asarray, partition(body(*given, **options), _is_numpy)[0])]
            check_promised(f, ys, shapes, avals, options, batched=vectorized)
            return [y.astype(s.dtype, copy=False) for y, s in zip(ys, shapes, strict=True)]

        mapped = "broadcast_all" if vectorized else "sequential"
        return unflatten(out, jax.pure_callback(kernel, shapes, *leaves, vmap_method=mapped))

    return computed


def classes_of(operands: tuple[Any, ...]) -> tuple[type, ...]:
    """Return the classes of operands, of traced arrays that of arrays."""
    return tuple([Concrete if is_value(x) else type(x) for x in operands])


def is_elementwise(rule: Rule | None) -> bool:
    """Return whether a batch of calls is, by their rule, one call with a further axis."""
    stated = () if rule is None else (rule.forward, rule.reverse)
    return bool(stated) and all([s is not None and s.recipe.is_elementwise for s in stated])


def _eagerly(
    f: Primitive[..., Any],
    body: Body,
    leaves: Sequence[Any],
    layout: TreeDef,
    options: dict[str, Any],
) -> Any:
    """Return what a body returns for JAX arrays in an eager call; None if it takes none.

    NumPy promotes float32 beside integers to float64, where JAX keeps float32.
    """

    def given(x: Any, like: Any) -> Any:
        is_count = not like.shape and jax.typeof(like).weak_type  # a Python number, or like one
        return x.item() if is_count and x.dtype.kind == "i" else jnp.asarray(x)

    def on_arrays(*arrays: Any, **options: Any) -> Any:
        given_ = [given(x, like) for x, like in zip(arrays, leaves, strict=True)]
        return body(*unflatten(layout, given_), **options)

    with contextlib.suppress(NoRuleError, NotDifferentiableError), jax.ensure_compile_time_eval():
        avals = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in leaves]
        return tried(f, on_arrays, avals, options, "chainrules_jax")
    return None


def _aval(y: Any, operands: Sequence[Any]) -> Any:
    """Return shape and dtype of a result; Python numbers have the dtype of the operands."""
    y = as_beside(y, operands) if type(y) in (float, complex) else y
    y = y if is_value(y) else np.asarray(y)
    return jax.ShapeDtypeStruct(y.shape, jax.dtypes.canonicalize_dtype(y.dtype))


def _is_numpy(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.generic, float, complex, int)) or is_value(x)


def _has_shape(x: Any) -> bool:
    return hasattr(x, "shape") and hasattr(x, "dtype")


def like_one_element(body: Body) -> Callable[..., Any]:
    """Make the `result` of an elementwise function; its dtypes come from empty arrays."""

    def result(*operands: Any, **options: Any) -> Any:
        shape = jnp.broadcast_shapes(*[getattr(x, "shape", ()) for x in operands])
        none = [np.zeros(0, x.dtype) if hasattr(x, "dtype") else x for x in operands]
        found, out = partition(body(*none, **options), _has_shape)
        return unflatten(
            out,
            [
                jax.ShapeDtypeStruct(
                    shape, jax.dtypes.canonicalize_dtype(y.dtype, allow_extended_dtype=False)
                )
                for y in found
            ],
        )

    return result


def _by_scipy(operation: Primitive[..., Any]) -> None:
    """Compute a function of one matrix by SciPy, with a result of the matrix's dtype."""

    def body(x: np.ndarray) -> Any:
        y = operation.plain_implementation((np.ndarray,))(x)
        if np.iscomplexobj(y) and not np.iscomplexobj(x):
            raise ValueError(
                f"{operation.__name__} of a real matrix is complex here; give a complex one"
            )
        return y

    compute_by(operation, called_back(operation, body, lambda x: x, vectorized=False))


_by_scipy(v.sqrtm)
_by_scipy(v.logm)
callback(by_numpy)
