"""Functions of ``jax.numpy`` exchanged for ours, and back."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, final

import jax.numpy as jnp
import numpy as np

from chainrules_jax.arrays import Concrete
from chainrules_jax.exporting import export
from chainrules_py import Primitive
from chainrules_py import vocabulary as v
from chainrules_py.alias import aliases
from chainrules_py.errors import NoRuleError
from chainrules_py.loading import see

__all__ = ["Installed", "install"]

DEFAULT = ("linalg.eig", "fix")
"""What JAX has no derivative of, or no function at all, and we have."""


@final
class Installed:
    """What `install` exchanged. As a context manager it is removed at the end of the block.

    Attributes
    ----------
    names : tuple of str
        The names in ``jax.numpy``.
    """

    def __init__(self, before: dict[str, Any]) -> None:
        self._before = before

    @property
    def names(self) -> tuple[str, ...]:
        """The names, as long as ours stand there."""
        return tuple(self._before)

    def remove(self) -> None:
        """Put everything back as it was."""
        for name, function in reversed(self._before.items()):
            space, last = _place(jnp, name)
            if function is None:
                delattr(space, last)
            else:
                setattr(space, last, function)
        self._before = {}

    def __enter__(self) -> Installed:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def __repr__(self) -> str:
        return f"<installed in jax.numpy: {', '.join(self.names) or 'nothing'}>"


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
        If NumPy has no function of a name, or we no rule for it. Nothing is exchanged then.

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
    chosen: dict[str, Any] = {}
    for name in names or (() if functions else DEFAULT):
        native = _find(np, name)
        see(native, ())
        if native is None or native not in aliases:
            msg = f"install({name!r}): there is no rule for a function numpy.{name}"
            raise NoRuleError(msg)
        chosen[name] = native
    chosen.update(functions)
    before = {}
    for name, function in chosen.items():
        space, last = _place(jnp, name)
        before[name] = getattr(space, last, None)
        _keep(last, before[name])
        setattr(space, last, export(function))
    return Installed(before)


def _keep(name: str, function: Any) -> None:
    """Have the word of a name computed by JAX's own function, as it was where it stood."""
    word = getattr(v, name, None)
    if isinstance(word, Primitive) and word.implementation(_classes(word)) is function is not None:
        word.implement(functools.wraps(word.__wrapped__)(_passing(function)), types=_classes(word))


def _classes(word: Primitive[..., Any]) -> tuple[type, ...]:
    return (Concrete,) * max(1, len(word.operands))


def _passing(function: Callable[..., Any]) -> Callable[..., Any]:
    def passing(*operands: Any, **options: Any) -> Any:
        return function(*operands, **options)

    return passing


def _place(space: Any, name: str) -> tuple[Any, str]:
    *path, last = name.split(".")
    for part in path:
        space = getattr(space, part)
    return space, last


def _find(space: Any, name: str) -> Any:
    for part in name.split("."):
        space = getattr(space, part, None)
    return space
