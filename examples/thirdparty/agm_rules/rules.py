"""The arithmetic-geometric mean M(a, b), by Gauss's formula.

M = π (a + b) / 4 K(m) with m = ((a - b) / (a + b))², K the complete elliptic integral, and
dK/dm = (K - R_D(0, 1 - m, 1) / 3) / 2 (1 - m), which is smooth at a = b.
"""

import scipy.special

from chainrules_py import primitive, scalar_rule
from chainrules_py.extend import alias
from chainrules_py.testing import Sample, enter_samples


@primitive
def agm(x1, x2, /):  # as SciPy calls them
    """Return the mean that arithmetic and geometric means have in common, in the end."""
    return scipy.special.agm(x1, x2)


def relative_slope(a, b):
    """Return (dK/dm) / K times 4 (a - b) / (a + b)³."""
    m = ((a - b) / (a + b)) ** 2
    k = scipy.special.ellipk(m)
    dk = (k - scipy.special.elliprd(0.0, 1.0 - m, 1.0) / 3.0) / (2.0 * (1.0 - m))
    return dk / k * 4.0 * (a - b) / (a + b) ** 3


scalar_rule(
    agm,
    lambda y, a, b: y / (a + b) - y * relative_slope(a, b) * b,
    lambda y, a, b: y / (a + b) + y * relative_slope(a, b) * a,
)
alias(scipy.special.agm, to=agm)  # calls of SciPy's own function are seen, and are this one
enter_samples(agm, Sample(2.0, 0.5), Sample(1.0, 1.0))
