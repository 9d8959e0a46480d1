"""Solutions of ``scipy.optimize``, differentiated by the equation that they fulfil.

SciPy finds the solution, of plain values. Its derivatives, in the arguments and in what the
function holds, are those of the word `root` or `minimize`: they do not depend on how it was found.
"""

import functools

from chainrules_scipy.optimize.least import (
    EQUATIONS,
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
from chainrules_scipy.optimize.roots import (
    bisect,
    brenth,
    brentq,
    fixed_point,
    fsolve,
    newton,
    ridder,
    root,
    root_scalar,
    toms748,
)
from chainrules_scipy.rows import attribute

__all__ = [
    "bisect",
    "brenth",
    "brentq",
    "curve_fit",
    "fixed_point",
    "fsolve",
    "isotonic_regression",
    "least_squares",
    "leastsq",
    "linear_sum_assignment",
    "linprog",
    "lsq_linear",
    "minimize",
    "minimize_scalar",
    "newton",
    "nnls",
    "ridder",
    "root",
    "root_scalar",
    "toms748",
]

_OTHERS = EQUATIONS | FOLLOWED | SEARCHES


__getattr__ = functools.partial(attribute, __name__, _OTHERS)
