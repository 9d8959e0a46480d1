"""Read by mypy and pyright only, never run.

Each line whose comment says ``rejected:`` must be an error of both, and no other line may be one.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chainrules_py import (
    LinearMap,
    bilinear_rule,
    linear_rule,
    non_differentiable,
    primitive,
    rule,
    scalar_rule,
)
from chainrules_py.ops import (
    conj,
    cos,
    divide,
    exp,
    isfinite,
    matmul,
    multiply,
    negative,
    sin,
)
from chainrules_py.values.dispatch_types import Array
from chainrules_tape import checkpoint, grad, hessian, jacobian, value_and_grad

# One partial per operand, each of the result and the operands.
scalar_rule(sin, lambda y, x: cos(x))
scalar_rule(exp, lambda y, _: y, complex="holomorphic")
scalar_rule(divide, lambda z, x, y: 1 / y, lambda z, x, y: negative(z) / y)
scalar_rule(sin, lambda y, x, z: cos(x))  # rejected: sin has one operand
scalar_rule(divide, lambda z, x, y: 1 / y, lambda z, x: z)  # rejected: divide has two operands
scalar_rule(sin, lambda y, x: "no")  # rejected: a partial is an array or a number
scalar_rule(sin, lambda y, x: cos(x), complex="analytic")  # rejected: no such kind

bilinear_rule(
    multiply,
    lambda z_bar, x, y: z_bar * conj(y),
    lambda z_bar, x, y: conj(x) * z_bar,
)
linear_rule(negative, lambda y_bar, x: negative(y_bar))
non_differentiable(isfinite)


@rule(matmul)
def matmul_rule(a: Array, b: Array):
    """C = A B."""
    left = LinearMap(push=lambda a_dot, b: a_dot @ b, pull=lambda y_bar, b: y_bar @ b)
    right = LinearMap(push=lambda b_dot: b_dot, pul=lambda y_bar: y_bar)  # rejected: pull
    return matmul(a, b), (left, right)


# A rule is returned unchanged, so it keeps its type.
matmul_rule(1, "no")  # rejected: operands are arrays


# What derivatives are made of keeps its parameters, for editors and checkers.
def area(width: float, height: float, *, unit: str = "m") -> float:
    return width * height


def area_and_text(width: float, height: float) -> tuple[float, str]:
    return width * height, "square metres"


grad(area)(2.0, 3.0)
grad(area, argnums=(0, 1))(2.0, 3.0, unit="km")
slope: float = grad(area)(2.0, 3.0) + grad(area)(width=2.0, height=3.0)
wrong: str = grad(area)(2.0, 3.0)  # rejected: it is a number
twice: float = grad(grad(area))(2.0, 3.0)
slope_and_text: tuple[float, str] = grad(area_and_text, has_aux=True)(2.0, 3.0)
by_both: Any = grad(area, argnums=(0, 1), unused="none")(2.0, 3.0)
grad(area)(2.0)  # rejected: height is missing
grad(area)(2.0, 3.0, unite="km")  # rejected: no such option
value_and_grad(area)(2.0, height="no")  # rejected: height is a number
size: float = value_and_grad(area)(2.0, 3.0)[0]
text: str = value_and_grad(area)(2.0, 3.0)[0]  # rejected: it is a number
both: tuple[float, float] = value_and_grad(area)(2.0, 3.0)
hessian(area)(2.0, 3.0, 4.0)  # rejected: two numbers
jacobian(area)("no", 3.0)  # rejected: width is a number
area_again = checkpoint(area)
kept: float = area_again(2.0, 3.0)
area_again(2.0, height=None)  # rejected: height is a number


@primitive
def volume(base: float, height: float) -> float:
    return base * height / 3


volume(2.0, 3.0)
volume(2.0)  # rejected: height is missing
grad(volume)(2.0, "no")  # rejected: height is a number


# What has no types gives none, and is no error.
root = grad(lambda x: x * x - 2.0)(1.0) - grad(grad(lambda x: x["a"].sum()))(2.0)
grad(np.sin)(2.0)


# A layer, and a step of its training.
@dataclass
class Layer:
    weights: NDArray[np.float64]
    bias: float

    def loss(self, x: NDArray[np.float64]) -> float:
        return float(np.sum(self.weights * x)) + self.bias


def loss(params: dict[str, NDArray[np.float64]], x: NDArray[np.float64]) -> float:
    return float(np.sum(params["w"] * x))


slopes = grad(loss)({"w": np.ones(2)}, np.ones(2))
weights = np.ones(2) - 0.1 * slopes["w"]
slopes["w"].no_method()  # rejected: an array has no such method
grad(loss)(np.ones(2), np.ones(2))  # rejected: the parameters are a dict
of_layer = grad(Layer.loss)(Layer(np.ones(2), 1.0), np.ones(2))
of_bias: float = of_layer.bias
grad(Layer(np.ones(2), 1.0).loss)(np.ones(2)).sum()
