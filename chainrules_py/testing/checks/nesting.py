"""Second derivatives by the installed engine, in every nesting of the two modes.

The loss is a weighted sum of the result plus half the sum of squares, so that it curves even where
the function is linear. It is written in operations, and so runs under any number of levels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from chainrules_py import ops as v
from chainrules_py.testing.cases.coordinates import Coordinates, sizes_of
from chainrules_py.testing.cases.differences import derivative
from chainrules_py.values.structure import rebuild


def inner(of: Coordinates, w: Any, y: Any) -> Any:
    """Compute Re<w, y>, the real inner product of two tangents, or of a tangent and a value."""
    total: Any = None
    for (leaf, a), (_, b) in zip(of.leaves(w), of.leaves(y), strict=True):
        term = v.multiply(v.conj(a), b) if leaf.kind == "complex" else v.multiply(a, b)
        if leaf.kind == "complex":
            term = v.real(term)
        if leaf.shape:
            term = v.sum(term)
        total = term if total is None else v.add(total, term)
    return total


class Loss:
    """Real loss of the result of a call, as a function of the operands that can be perturbed.

    Parameters
    ----------
    f : callable
        The function, with its options.
    operands : tuple
        The operands of the call.
    gauge : callable, optional
        Applied to the result first.
    rng : numpy.random.Generator
        Generator of the weights.
    held : sequence of int
        Indices of the operands that are not perturbed.

    Attributes
    ----------
    sizes : vector
        Typical magnitude of the operands around each coordinate.
    size : float
        Typical magnitude of the loss.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        operands: tuple[Any, ...],
        gauge: Callable[..., Any] | None,
        rng: Any,
        held: Sequence[int] = (),
    ) -> None:
        self.f: Callable[..., Any] = f if gauge is None else lambda *xs: gauge(f(*xs))
        self.operands = operands
        sizes = [0 if i in held else Coordinates(x).size for i, x in enumerate(operands)]
        self.active = [i for i, size in enumerate(sizes) if size]
        self.at = [operands[i] for i in self.active]
        self.numbers = tuple(range(len(self.at)))
        self.inputs = Coordinates(tuple(self.at))
        self.output = Coordinates(self.f(*operands))
        sizes = sizes_of(self.output, self.output.x)
        self.weights = self.output.tangent(rng.standard_normal(self.output.size) / sizes)
        self.sizes = sizes_of(self.inputs, tuple(self.at))
        self.size = 1.0 + float(np.sum(sizes * sizes))

    def __call__(self, *xs: Any) -> Any:
        """Compute the loss at other values of the perturbed operands."""
        full = list(self.operands)
        for i, x in zip(self.active, xs, strict=True):
            full[i] = x
        y = self.f(*full)
        linear = inner(self.output, self.weights, y)
        return v.add(linear, v.multiply(0.5, inner(self.output, y, y)))

    def gradient(self, engine: Any, at: tuple[Any, ...]) -> Any:
        """Compute the gradient as a vector."""
        g = engine.grad(self, self.numbers)(*at)
        return self.inputs.vector(g)

    def products(
        self, engine: Any, u: Any, w: Any, *, reverse_only: bool = False
    ) -> dict[str, Any]:
        """Compute the Hessian times w, or u times that product, in the four nestings of the modes.

        Parameters
        ----------
        engine : module
            With ``grad`` and ``jvp``.
        u, w : vector
            Two directions.
        reverse_only : bool
            Whether there is no forward half, so that only reverse over reverse is possible.

        Returns
        -------
        dict
            The products by the name of the nesting, inner mode last.
        """
        u_dot, w_dot = self._tangents(u), self._tangents(w)
        pulled = self.along(engine, "reverse", self, w_dot)
        twice = self.inputs.vector(engine.grad(pulled, self.numbers)(*self.at))
        if reverse_only:
            return {"reverse over reverse": twice}
        pushed = self.along(engine, "forward", self, w_dot)
        across = self.along(engine, "reverse", self, u_dot)
        return {
            "reverse over reverse": twice,
            "reverse over forward": self.inputs.vector(engine.grad(pushed, self.numbers)(*self.at)),
            "forward over reverse": _number(engine.jvp(across, tuple(self.at), w_dot)[1]),
            "forward over forward": _number(engine.jvp(pushed, tuple(self.at), u_dot)[1]),
        }

    def along(
        self, engine: Any, mode: str, f: Callable[..., Any], dots: tuple[Any, ...]
    ) -> Callable[..., Any]:
        """Return the derivative of a function of the inputs along a direction, in one mode."""
        if mode == "forward":
            return lambda *xs: engine.jvp(f, xs, dots)[1]

        def product(*xs: Any) -> Any:
            g = engine.grad(f, self.numbers)(*xs)
            return inner(self.inputs, dots, rebuild(tuple(self.at), list(g)))

        return product

    def _tangents(self, vector: Any) -> tuple[Any, ...]:
        t = self.inputs.tangent(vector)
        return tuple([t[i] for i in range(len(self.at))])


def _number(x: Any) -> Any:
    return Coordinates(x).vector(x)


def one_difference(loss: Loss, engine: Any, w: Any) -> Any:
    """Compute the Hessian times w by one central difference of the gradient."""
    h = 2.0**-17
    ahead, behind = (loss.gradient(engine, loss.inputs.moved(t * np.asarray(w))) for t in (h, -h))
    return (ahead - behind) / (2 * h)


def second_derivative(loss: Loss, engine: Any, w: Any) -> tuple[Any, Any]:
    """Compute the Hessian times w by differences of the gradient, with an error estimate."""

    def moved(t: float) -> Any:
        try:
            return loss.gradient(engine, loss.inputs.moved(t * np.asarray(w)))
        except (np.linalg.LinAlgError, ArithmeticError, ValueError):
            return np.full_like(loss.sizes, np.nan)  # outside the domain

    return derivative(moved, heights=loss.size / loss.sizes)
