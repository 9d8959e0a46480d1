"""Both modes for functions of one argument, and the vector spaces of values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import chainrules_tape as tape
from chainrules_autograd.tree_map import conjugated, is_complex, leaves, tree_map
from chainrules_py.extend import flatten, unflatten

Function = Callable[..., Any]


def make_vjp(fun: Function, x: Any) -> tuple[Function, Any]:
    """Return the pullback of a function at a point, and its value there.

    Examples
    --------
    >>> vjp, y = make_vjp(lambda x: x**2, 3.0)
    >>> vjp(1.0), y
    (6.0, 9.0)
    """
    ans, pull = tape.vjp(fun, x)
    return lambda g: conjugated(pull(conjugated(g))[0]), ans


def make_jvp(fun: Function, x: Any) -> Function:
    """Return a function that pushes a tangent forward, and returns the value and the tangent.

    Examples
    --------
    >>> make_jvp(lambda x: x**2, 3.0)(1.0)
    (9.0, 6.0)
    """
    return lambda v: tape.jvp(fun, (x,), (v,))


class VSpace:
    """Vector space of a value: an array, a number, or a container of these.

    Examples
    --------
    >>> vspace((np.ones((2, 3)), 1.0)).size
    7
    """

    def __init__(self, value: Any) -> None:
        self.value = value

    @property
    def shape(self) -> Any:
        """Shape of an array; for a container, a container of the spaces of its entries."""
        if isinstance(self.value, (tuple, list, dict)):
            return tree_map(vspace, self.value)
        return np.shape(self.value)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of an array."""
        return np.result_type(self.value)

    @property
    def size(self) -> int:
        """Number of real components."""
        return sum([np.size(x) * (2 if is_complex(x) else 1) for x in leaves(self.value)])

    @property
    def iscomplex(self) -> bool:
        """Whether it contains a complex number."""
        return any([is_complex(x) for x in leaves(self.value)])

    def zeros(self) -> Any:
        """Return the zero vector."""
        return tree_map(np.zeros_like, self.value)

    def ones(self) -> Any:
        """Return ones; 1 + 1j for complex numbers."""
        return tree_map(
            lambda x: np.ones_like(x) * (1 + 1j) if is_complex(x) else np.ones_like(x), self.value
        )

    def randn(self) -> Any:
        """Return normal deviates, drawn from NumPy's global generator as in autograd."""

        def drawn(x: Any) -> Any:
            draw = np.random.randn(*np.shape(x))  # noqa: NPY002
            return draw + 1j * np.random.randn(*np.shape(x)) if is_complex(x) else draw  # noqa: NPY002

        return tree_map(drawn, self.value)

    def standard_basis(self) -> Iterator[Any]:
        """Yield unit vectors; for complex numbers, those along 1 and along i."""
        parts, tree = flatten(self.value)
        for i, x in enumerate(parts):
            for at in np.ndindex(np.shape(x)):
                for unit in (1.0, 1j) if is_complex(x) else (1.0,):
                    zeros = [np.zeros(np.shape(y), np.result_type(y)) for y in parts]
                    zeros[i][at] = unit
                    yield unflatten(tree, zeros)

    def add(self, x: Any, y: Any) -> Any:
        """Add two vectors."""
        return tree_map(lambda x, y: x + y, x, y)

    def mut_add(self, x: Any, y: Any) -> Any:
        """Add two vectors; despite autograd's name, nothing is written to."""
        return y if x is None else self.add(x, y)

    def scalar_mul(self, x: Any, a: Any) -> Any:
        """Multiply by a number."""
        return tree_map(lambda x: x * a, x)

    def inner_prod(self, x: Any, y: Any) -> Any:
        """Return the real inner product; complex numbers count as two real ones."""
        pairs = zip(leaves(x), leaves(y), strict=True)
        return sum([np.sum(np.real(np.conj(a) * b)) for a, b in pairs])

    def covector(self, x: Any) -> Any:
        """Return the cotangent of a vector: its conjugate."""
        return conjugated(x)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VSpace) and _told(self.value) == _told(other.value)

    def __hash__(self) -> int:
        return hash(repr(_told(self.value)))

    def __repr__(self) -> str:
        return f"VSpace({_told(self.value)!r})"


def _told(value: Any) -> Any:
    return tree_map(lambda x: (np.shape(x), "complex" if is_complex(x) else "real"), value)


def vspace(value: Any) -> VSpace:
    """Return the vector space of a value."""
    return VSpace(value)
