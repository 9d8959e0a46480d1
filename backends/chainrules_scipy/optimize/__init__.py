"""Solutions of ``scipy.optimize``, differentiated by the equation that they fulfil.

SciPy finds the solution, of plain values. Its derivatives, in the arguments and in what the
function holds, are those of the word `root` or `minimize`: they do not depend on how it was found.
"""

import functools

from chainrules_scipy.optimize.least import (
    FOLLOWED,
    SEARCHES,
    curve_fit,
    isotonic_regression,
    least_squares,
    leastsq,
    linear_sum_assignment,
    linprog,
    lsq_linear,
    minimize,
    minimize_scalar,
    nnls,
)
from chainrules_scipy.optimize.roots import ROOTS
from chainrules_scipy.rows import attribute

__all__ = [
    "curve_fit",
    "isotonic_regression",
    "least_squares",
    "leastsq",
    "linear_sum_assignment",
    "linprog",
    "lsq_linear",
    "minimize",
    "minimize_scalar",
    "nnls",
]

_OTHERS = ROOTS | FOLLOWED | SEARCHES


__getattr__ = functools.partial(attribute, __name__, _OTHERS)
