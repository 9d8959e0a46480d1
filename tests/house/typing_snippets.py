"""Read by mypy and pyright only, never run.

Each line whose comment says ``rejected:`` must be an error of both, and no other line may be one.
"""

from chainrules_py import (
    LinearMap,
    bilinear_rule,
    linear_rule,
    non_differentiable,
    primitive,
    rule,
    scalar_rule,
)
from chainrules_py.values.arrays import Array
from chainrules_py.vocabulary import (
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


grad(area)(2.0, 3.0)
grad(area, argnums=(0, 1))(2.0, 3.0, unit="km")
grad(area)(2.0)  # rejected: height is missing
grad(area)(2.0, 3.0, unite="km")  # rejected: no such option
value_and_grad(area)(2.0, height="no")  # rejected: height is a number
size: float = value_and_grad(area)(2.0, 3.0)[0]
text: str = value_and_grad(area)(2.0, 3.0)[0]  # rejected: it is a number
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
