"""Values for JAX: arrays, zeros, conjugates, and structures."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.core
import jax.numpy as jnp
import numpy as np

from chainrules_jax.array_types import Concrete
from chainrules_kit import is_constant_of_another
from chainrules_py import is_zero, register_structure
from chainrules_py import ops as v
from chainrules_py.extend import (
    TreeDef,
    deliver,
    flatten,
    partition,
    unflatten,
)

COMPUTED: dict[Any, Callable[..., Any]] = {}
"""Functions that compute operations of traced arrays in place of their implementation."""

OURS: set[Any] = set()
"""Operations whose derivative in JAX is missing or differs, though ours has no singular point."""

JAXS: set[Any] = {v.solve}
"""Operations whose core rule equals JAX's own, which reuses its factorisation."""


def is_value(x: Any) -> bool:
    """Return whether a value is a JAX array or tracer."""
    return isinstance(x, (Concrete, jax.core.Tracer))


@functools.cache
def _moves(dtype: Any) -> bool:
    return jnp.issubdtype(dtype, jnp.inexact)


def is_inexact(x: Any) -> bool:
    """Return whether an array, or its type, is of real or complex dtype."""
    return _moves(x.dtype)


_NUMBERS = {float, complex, int, bool}


def _is_literal(x: Any) -> bool:
    """Return whether a value is one of JAX's literal numbers in programs.

    Without compilation, functions receive these for Python numbers. They have a dtype and a JAX
    type, but no other attributes of arrays.
    """
    return isinstance(x, (int, float, complex)) and hasattr(x, "aval")


def split(
    x: Any, *, numbers: bool = False, others: Sequence[Any] = ()
) -> tuple[list[Any], TreeDef]:
    """Split a value into arrays and a layout; with ``numbers``, Python numbers become arrays.

    They get the dtype that they have beside ``others``.
    """
    leaves, layout = partition(x, _is_number_or_value if numbers else is_value)
    if numbers:
        leaves = [leaf if is_value(leaf) else as_beside(leaf, others) for leaf in leaves]
    return leaves, layout


def as_beside(x: Any, others: Sequence[Any]) -> Any:
    """Convert a Python number to an array, of the dtype that it has beside other arrays."""
    given = [*filter(is_inexact, others)]
    if type(x) in (float, complex) and given:
        return jnp.asarray(x, jnp.result_type(*given, x))
    return jnp.asarray(x)


def settled(arrays: Sequence[Any]) -> Sequence[Any]:
    """Convert weakly typed arrays to the dtype that they have beside the others.

    JAX tracks weak types, and NumPy, which receives the arrays, does not.
    """
    real = [*filter(is_inexact, arrays)]
    strong = [x.dtype for x in real if not jax.typeof(x).weak_type] if len(real) > 1 else []
    if not strong or len(strong) == len(real):
        return arrays
    return [
        jax.lax.convert_element_type(x, jnp.result_type(*strong, x))
        if is_inexact(x) and jax.typeof(x).weak_type
        else x
        for x in arrays
    ]


def _is_number_or_value(x: Any) -> bool:
    if isinstance(x, (np.ndarray, np.generic)):
        return x.dtype == bool or jnp.issubdtype(x.dtype, np.number)  # no strings, and no objects
    return is_value(x) or type(x) in _NUMBERS or _is_literal(x)


def as_values(operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Convert NumPy arrays among operands to JAX arrays.

    Beside arrays, Python numbers stay numbers, which do not change the dtype. Without arrays,
    floats and complex numbers become arrays, and integers only if there are no others: beside them
    they may be counts.
    """
    operands = tuple(map(_converted, operands))
    if any(map(is_value, flatten(operands)[0])):
        return operands
    classes = set(map(type, operands)) & {float, complex} or {int}
    return tuple([jnp.asarray(x) if type(x) in classes else x for x in operands])


def _converted(x: Any) -> Any:
    if is_value(x) or type(x) in _NUMBERS:
        return x
    learn(x)
    leaves, layout = partition(
        x,
        lambda y: (
            is_numpy(y, "fciub")
            or _is_literal(y)
            or is_constant_of_another(y, (Concrete, jax.core.Tracer))
        ),
    )
    # Literals inside structures become Python numbers, which are static.
    given = [+y if _is_literal(y) and y is not x else jnp.asarray(y) for y in leaves]
    return unflatten(layout, given) if leaves else x


def is_numpy(x: Any, kinds: str) -> bool:
    """Return whether a value is an array or scalar of NumPy's of one of these kinds."""
    return isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in kinds


_known: set[type] = {float, int, complex, bool, str, type(None)}


def learn(x: Any) -> bool:
    """Register classes in a value that are JAX pytrees, and unknown to us, as structures.

    Returns
    -------
    bool
        Whether there are any.
    """
    new = {type(y): y for y in flatten(x)[0] if type(y) not in _known}
    pytrees = [c for c, y in new.items() if not jax.tree_util.all_leaves([y])]
    for cls in pytrees:
        register_structure(
            cls,
            lambda x: list(enumerate(_children(x)[0])),
            lambda x, values: jax.tree_util.tree_unflatten(_children(x)[1], list(values)),
        )
    _known.update(new)  # now that other threads see them as structures
    return bool(pytrees) and (learn(x) or True)


def _children(x: Any) -> Any:
    """Return the values that a node of a tree holds directly."""
    return jax.tree_util.tree_flatten(x, is_leaf=lambda y: y is not x)


def conjugate(t: Any) -> Any:
    """Conjugate a cotangent: JAX's are those of the transpose, ours those of the adjoint."""
    return jnp.conj(t) if t.dtype.kind == "c" else t


def dense(t: Any, aval: Any) -> Any:
    """Convert a tangent to the array that JAX takes, of this shape and dtype."""
    t = deliver(t)
    if is_zero(t):
        t = jnp.zeros(aval.shape, aval.dtype)
    elif not (is_value(t) and t.dtype == aval.dtype and t.shape == aval.shape):
        t = jnp.broadcast_to(jnp.asarray(t, aval.dtype), aval.shape)
    return t
