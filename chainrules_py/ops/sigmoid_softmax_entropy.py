"""Operations for logistic functions, entropies and losses, and power transforms.

They have SciPy's names, and the same operands in the same order.
"""

from typing import Any

from chainrules_py.primitives.primitive import primitive
from chainrules_py.values.dispatch_types import Array, Numeric

__all__ = [
    "boxcox",
    "boxcox1p",
    "cosm1",
    "entr",
    "exp10",
    "expit",
    "exprel",
    "huber",
    "inv_boxcox",
    "inv_boxcox1p",
    "kl_div",
    "log_expit",
    "log_softmax",
    "logit",
    "logsumexp",
    "pseudo_huber",
    "rel_entr",
    "softmax",
    "xlog1py",
    "xlogy",
]


# ---------------------------------------------------------------------------------- logistic


@primitive
def expit(x: Numeric, /) -> Any:
    """Compute the logistic function 1 / (1 + exp(-x))."""


@primitive
def logit(p: Numeric, /) -> Any:
    """Compute log(p / (1 - p)), the inverse of `expit`."""


log_expit = expit.alike("log_expit", "Compute the logarithm of `expit`.")


@primitive
def logsumexp(x: Array, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Compute the logarithm of the sum of exponentials along one, several or all axes."""


@primitive
def softmax(x: Array, /, *, axis: Any = None) -> Any:
    """Compute exp(x) divided by its sum along one, several or all axes."""


log_softmax = softmax.alike("log_softmax", "Compute the logarithm of `softmax`.")


# ---------------------------------------------------------------------------------- information


@primitive
def xlogy(x: Numeric, y: Numeric, /) -> Any:
    """Compute x log(y), and 0 where x is 0."""


xlog1py = xlogy.alike("xlog1py", "x log(1 + y), and 0 where x is 0.")
entr = expit.alike("entr", "-x log(x), 0 at 0, and minus infinity below.")
rel_entr = xlogy.alike(
    "rel_entr", "x log(x / y), 0 where x is 0, and infinity outside of x, y >= 0."
)
kl_div = xlogy.alike("kl_div", "x log(x / y) - x + y, and infinity outside of x, y >= 0.")


@primitive
def huber(delta: Numeric, r: Numeric, /) -> Any:
    """Compute r² / 2 up to |r| = delta, and its tangent line beyond."""


pseudo_huber = huber.alike("pseudo_huber", "δ² (√(1 + (r/δ)²) - 1).")


# ---------------------------------------------------------------------------------- powers


@primitive
def boxcox(x: Numeric, lmbda: Numeric, /) -> Any:
    """Compute (x^λ - 1) / λ, and log(x) for λ = 0."""


boxcox1p = boxcox.alike("boxcox1p", "((1 + x)^λ - 1) / λ, and log(1 + x) for λ = 0.")


@primitive
def inv_boxcox(y: Numeric, lmbda: Numeric, /) -> Any:
    """Compute (1 + λ y)^(1/λ), and exp(y) for λ = 0."""


inv_boxcox1p = inv_boxcox.alike("inv_boxcox1p", "(1 + λ y)^(1/λ) - 1, and exp(y) - 1 for λ = 0.")
exprel = expit.alike("exprel", "(exp(x) - 1) / x, and 1 at 0.")
exp10 = expit.alike("exp10", "Compute the power 10ˣ.")
cosm1 = expit.alike("cosm1", "cos(x) - 1, exact to the last digits also near 0.")
