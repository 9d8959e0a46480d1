"""Solvers and integrators that compute the operations that take functions, for every library.

`root`, `fixed_point`, `minimize`, `linear_solve` and `odeint` are computed here; the package is
imported when one of them is first used. Nothing in it is differentiated, except the steps of
`runge_kutta`: the rules of the operations, in the core, state the derivatives of a solution
independently of how it was found. An engine that runs these methods as its own loops takes their
parts from here.

The package also has the transpose of a linear function, which the core uses for rules that state
one mode.
"""

from chainrules_kit.solvers.dense import Coordinates
from chainrules_kit.solvers.implementations import fixed_point, linear_solve, minimize, odeint, root
from chainrules_kit.solvers.root_finding import SMALL
from chainrules_kit.solvers.rule_transposition import transpose
from chainrules_kit.solvers.runge_kutta import Tableau, rate_of, tableau

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
