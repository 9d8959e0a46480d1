"""Functions of ``jax.numpy`` exchanged for ours, and back."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from chainrules_compat.install import Installed, chosen, original
from chainrules_jax import _private
from chainrules_jax.array_types import Concrete, JaxArray
from chainrules_jax.engine.export import export
from chainrules_py import Primitive
from chainrules_py import vocabulary as v
from chainrules_py.extend import made

DEFAULT = ("linalg.eig", "fix")
"""What JAX has no derivative of, or no function at all, and we have."""


def install(*names: str, **functions: Callable[..., Any]) -> Installed:
    """Exchange functions of ``jax.numpy`` for exported ones, or add them, with our derivatives.

    Parameters
    ----------
    *names : str
        As they stand in NumPy and ``jax.numpy``: ``"linalg.eig"``. Called like NumPy's functions.
        By default what JAX lacks.
    **functions : callable
        Others, by the names they get.

    Returns
    -------
    Installed
        Its ``remove()`` puts everything back; so does the end of a ``with`` block.

    Raises
    ------
    NoRuleError
        If NumPy has no function of a name, or we no rule for it. Whatever raises, nothing is
        exchanged then.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> a = jnp.array([[1.0, 2.0], [0.5, 3.0]])
    >>> share = lambda a: jnp.abs(jnp.linalg.eig(a)[1][0, 0])
    >>> with install("linalg.eig"):
    ...     print(jax.grad(share)(a).shape)
    (2, 2)
    >>> jax.grad(share)(a)
    Traceback (most recent call last):
        ...
    NotImplementedError: ...
    """
    installed = Installed(jnp)
    for name, function in chosen(np, names or (() if functions else DEFAULT), functions).items():
        own = original(jnp, name)
        _keep(name.rpartition(".")[2], own)
        installed.attribute(name, _outside(own, function))
    return installed.put()


# Where JAX's functions are computed, and ours by JAX's. Not where functions of the user's are
# called, which may be handed an installed one: the loops, and JAX's transformations.
_INSIDE = (
    *("jax.numpy", "jax.scipy", "jax.nn", "jax.random", *_private.INSIDE),
    *("chainrules_bridge", "chainrules_jax.array_types"),
    *("chainrules_jax.arrays.matrices", "chainrules_jax.arrays.special"),
    *("chainrules_jax.engine.host", "chainrules_jax.engine.item"),
    *("chainrules_jax.engine.linear_pairs", "chainrules_jax.engine.pytrees"),
    *("chainrules_py.primitives", "chainrules_py.registry"),
    *("chainrules_py.composites", "chainrules_fallbacks"),
)


@functools.cache
def _is_inside(module: str) -> bool:
    within = lambda names: any([f"{module}.".startswith(f"{name}.") for name in names])
    return within(_INSIDE) and not within(_private.HANDED)


def _outside(own: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is ours, and JAX's own where JAX or one of our words computes."""
    ours = export(function)
    if not callable(own):
        return ours

    def installed(*operands: Any, **options: Any) -> Any:
        caller = sys._getframe(1).f_globals.get("__name__")
        f = own if type(caller) is str and _is_inside(caller) else ours
        return f(*operands, **options)

    found = made(installed, function, export)
    found.__name__ = ours.__name__
    return found  # type: ignore[no-any-return]


def _keep(name: str, function: Any) -> None:
    """Have the word of a name computed by JAX's own function, as it was where it stood."""
    word = getattr(v, name, None)
    if isinstance(word, Primitive) and word.implementation(_classes(word)) is function is not None:
        types = (JaxArray,) * max(1, len(word.operands))
        word.implement(functools.wraps(word.__wrapped__)(_passing(function)), types=types)


def _classes(word: Primitive[..., Any]) -> tuple[type, ...]:
    return (Concrete,) * max(1, len(word.operands))


def _passing(function: Callable[..., Any]) -> Callable[..., Any]:
    def passing(*operands: Any, **options: Any) -> Any:
        return function(*operands, **options)

    return passing
