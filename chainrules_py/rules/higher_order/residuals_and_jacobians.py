"""Functions derived from a function: its residual, its gradient, its Jacobian as an operator.

Their data (the function, a point, parameters) are fields, which an engine opens at each level of
differentiation. Vectors have the structure of the unknown, as user-defined solvers expect.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from chainrules_py.errors import NotDifferentiableError, describe
from chainrules_py.primitives.closures.convert import Operator
from chainrules_py.rule_config import Config
from chainrules_py.tangents.space import Space, space, zero_tangent
from chainrules_py.tangents.structure_leaves import Tree
from chainrules_py.tangents.zeros import ZeroTangent

Function = Callable[..., Any]


def applied(f: Function, *operands: Any) -> Any:
    """Call f with the operands, so that an engine differentiates f as an operand too."""
    return f(*operands)


class Residual(Operator):
    """The residual x - ``f(x, *params)``, whose root is the fixed point of f."""

    FIELDS = ("f",)
    f: Function

    def __call__(self, x: Any, *params: Any) -> Any:
        """Compute the residual, in the structure of x."""
        before, after = Tree(x), Tree(self.f(x, *params))
        if len(before.leaves) != len(after.leaves) or any(
            [
                getattr(b, "shape", ()) not in ((), getattr(a, "shape", ()))
                for a, b in zip(before.leaves, after.leaves, strict=True)
            ]
        ):
            raise ValueError(
                f"a fixed point of f is what f gives back, and of {describe(x)} "
                f"it made {describe(after.like)}"
            )
        return before.build([a - b for a, b in zip(before.leaves, after.leaves, strict=True)])


class Gradient(Operator):
    """The gradient of ``f(x, *params)`` in x, whose root is a stationary point."""

    FIELDS = ("config", "f")
    config: Config
    f: Function

    def __call__(self, x: Any, *params: Any) -> Any:
        """Compute the gradient, in the structure of x."""
        return self.with_value(x, *params)[1]

    def with_value(self, x: Any, *params: Any) -> tuple[Any, Any]:
        """Compute the value and the gradient."""
        y, pullback = self.config.rrule_via_ad(lambda x: self.f(x, *params), x)
        of = space(y)
        if not (type(of) is Space and of.kind == "real" and of.size == 1):
            raise NotDifferentiableError(
                f"minimize is of a function that gives one real number, and this one gave "
                f"{describe(y)}: "
                f"{'take np.sum(...) of it' if type(of) is Space else 'return the number alone'}"
            )
        tree = Tree(x)
        return y, tree.build(tree.read(pullback(zero_tangent(y) + 1.0)[0]))


class _Jacobian(Operator):
    """The Jacobian of ``f(x, *params)`` in x, at a point."""

    FIELDS = ("config", "f", "x", "params")
    config: Config
    f: Function
    x: Any
    params: tuple[Any, ...]


class Pushed(_Jacobian):
    """The Jacobian of ``f(x, *params)`` in x, times a vector in the structure of x."""

    def __call__(self, u: Any) -> Any:
        """Multiply the Jacobian by a vector."""
        tree = Tree(self.x)
        zeros = [ZeroTangent() for _ in self.params]
        tangents = (ZeroTangent(), tree.tangent(Tree(u).leaves), *zeros)
        y, y_dot = self.config.frule_via_ad(tangents, applied, self.f, self.x, *self.params)
        return tree.build(Tree(y).read(y_dot))


class Pulled(_Jacobian):
    """The adjoint Jacobian of ``f(x, *params)`` in x, times a vector: the adjoint of `Pushed`.

    Attributes
    ----------
    matrix : array or None
        Its matrix in real coordinates, if that is known. It is no field: another level of
        differentiation computes its own.
    """

    matrix: Any = None

    @functools.cached_property
    def recorded(self) -> tuple[Tree, Tree, Callable[..., tuple[Any, ...]]]:
        """The point, the value, and the pullback, recorded once for any number of products."""
        y, pullback = self.config.rrule_via_ad(lambda x: self.f(x, *self.params), self.x)
        return Tree(self.x), Tree(y), pullback

    def __call__(self, u: Any) -> Any:
        """Multiply the Jacobian by a vector."""
        x, y, pullback = self.recorded
        return x.build(x.read(pullback(y.tangent(Tree(u).leaves))[0]))
