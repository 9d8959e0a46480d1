"""What computes operations that take functions: solvers, integrators, for every array library.

`root`, `fixed_point`, `minimize`, `linear_solve` and `odeint` are computed here; the package is
imported when one of them is first used. Nothing in it is differentiated, but for the steps of
`stepping`: the rules of the operations, in the core, say what the derivatives of a solution are,
without how it was found. An engine that runs these methods as loops of its own takes their parts
from here.

Also here is what the core asks for where one mode is stated: its transpose, if it is linear.
"""

from chainrules_kit.solvers.dense import Coordinates
from chainrules_kit.solvers.implementations import fixed_point, linear_solve, minimize, odeint, root
from chainrules_kit.solvers.stepping import Tableau, rate_of, tableau
from chainrules_kit.solvers.systems import SMALL
from chainrules_kit.solvers.transposing import transpose

__all__ = [
    "SMALL",
    "Coordinates",
    "Tableau",
    "fixed_point",
    "linear_solve",
    "minimize",
    "odeint",
    "rate_of",
    "root",
    "tableau",
    "transpose",
]

chainrules_contract = 1
