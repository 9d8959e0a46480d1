"""Solutions of ``scipy.optimize``, differentiated by the equation that they fulfil.

SciPy finds the solution, of plain values. Its derivatives, in the arguments and in what the
function holds, are those of the word `root` or `minimize`: they do not depend on how it was found.
"""

from chainrules_scipy.optimize.least import curve_fit, least_squares, minimize, minimize_scalar
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

__all__ = [
    "bisect",
    "brenth",
    "brentq",
    "curve_fit",
    "fixed_point",
    "fsolve",
    "least_squares",
    "minimize",
    "minimize_scalar",
    "newton",
    "ridder",
    "root",
    "root_scalar",
    "toms748",
]
